/* guard.h - may a person or a script take a PF's VFs away now? numvfs changes, unbinding, resets
 * and firmware updates of a PF are refused while one of its VFs has a user: a process with its vfio
 * device open, an owner in the ledger, a host interface that is up, or one that is in another
 * network namespace. The kernel itself does not protect them: writing 0 to sriov_numvfs makes qemu
 * take the VF out of its guest, and blocks until it has; a reset cuts every VM on the card.
 * Refuses when it cannot know: what it could not read may be a user. The answer is of this moment;
 * nothing is locked by it. Reads files only; takes no RTNL; waits for nothing. */
#ifndef NICBOND_GUARD_H
#define NICBOND_GUARD_H

#include <sys/types.h>

#include "nicbond/ledger.h"
#include "supervisord/base/err.h"

enum {
    GUARD_USERS_MAX = 16,        /* kept with their names; the others are counted */
    GUARD_PROCESSES_MAX = 65536, /* a host with more is not certain */
    GUARD_FILES_MAX = 65536,     /* open ones of one process: the same */
};

enum guard_act {
    GUARD_NUMVFS = 0, /* of this PF */
    GUARD_UNBIND,     /* of this PF */
    GUARD_RESET,      /* its controller serves every function of the card */
    GUARD_FIRMWARE,   /* the same */
    GUARD_ACTS
};
const char *guard_act_name(enum guard_act act); /* "numvfs" */
/* False: no such word. */
bool guard_act_of(const char *name, enum guard_act *act);

struct guard_where {
    const char *sys, *proc; /* "/sys", "/proc" */
    const char *ledger;     /* LEDGER_FOLDER */
};

enum guard_use {
    GUARD_VFIO = 0,  /* a process has its device open */
    GUARD_LEDGER,    /* a VM owns it, though no process has it open: being started, or just gone */
    GUARD_NETDEV,    /* an interface of this host is up on it */
    GUARD_ELSEWHERE, /* it is driven, and shows no interface: in another namespace, or not known */
    GUARD_USES
};

struct guard_user {
    enum guard_use use;
    char pf[HF_PCI_NAME_MAX + 1], vf[HF_PCI_NAME_MAX + 1];
    uint16_t number;
    pid_t pid; /* of VFIO */
    /* VFIO: the VM, or the program; NETDEV: the interface; ELSEWHERE: the driver. */
    char name[HF_NAME_MAX + 1];
    hf_vm_uid uid; /* of LEDGER */
    uint32_t start_no;
};

struct guard_users {
    unsigned count; /* all of them: may exceed GUARD_USERS_MAX */
    struct guard_user user[GUARD_USERS_MAX];
};

/* HF_OK: nobody uses it, go ahead (and users->count is 0). HF_EACCESS: refused, the text names the
 * first users. HF_ENOENT: no such PF. HF_EIO, HF_EBAD: not known, which is a refusal, too. `pf` is
 * an interface or a PCI address. */
enum hf_code guard_look(const struct guard_where *where, enum guard_act act, const char *pf,
                        struct guard_users *users, struct hf_err *err);

/* The command: argv = {"numvfs", "enp1s0f0"}. A line for people into text[cap]. Returns its exit
 * status: 0 allowed, 1 refused, 2 not known or not a command. */
int guard_command(const struct guard_where *where, int argc, char *const *argv, char *text,
                  size_t cap);

#endif
