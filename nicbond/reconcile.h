/* reconcile.h - what was meant, what is, and what follows: the ledger and the flips of this host
 * against its VFs as read and its VMs as they run. PURE. At start, after a PF's reset, when VMs
 * come and go. Every finding is a repair that makes the world as it was meant, or a report for
 * people. Refuses to repair on a guess: a VF that could not be read, an owner that may still run, a
 * setting that somebody else made are reported and left alone. */
#ifndef NICBOND_RECONCILE_H
#define NICBOND_RECONCILE_H

#include "nicbond/flips.h"
#include "nicbond/ledger.h"

enum {
    RECONCILE_PFS_MAX = HF_FABRICS_MAX,
    RECONCILE_LEGS_MAX = 2 * HF_VMS_MAX, /* a leg a fabric for each VM */
    /* Of one look. What does not fit is found by the next, after these were repaired. */
    RECONCILE_ITEMS_MAX = 512,
};

/* A PF as it is. */
struct reconcile_pf {
    char pci[HF_PCI_NAME_MAX + 1];
    bool is_read; /* false: not there, or it does not answer: nothing below is known */
    bool is_up;
    /* Since the last look, or nobody knows (at start): driver or card may have forgotten settings.
     */
    bool was_reset;
    uint16_t count; /* VFs */
    struct {
        char pci[HF_PCI_NAME_MAX + 1];
        bool is_known; /* `config` is what the kernel told */
        struct vf_config config;
    } vf[VF_COUNT_MAX];
};

/* A leg of a VM that runs here, by its process or by libvirt's status file, or that is being
 * started (its VFs are prepared before it has a process). */
struct reconcile_leg {
    hf_vm_uid uid;     /* 0: not one of ours; then `vm` tells who */
    uint32_t start_no; /* 0: of ours, but which start is not known: it may be any */
    char vm[HF_NAME_MAX + 1];
    char vf[HF_PCI_NAME_MAX + 1]; /* "" = not a VF: only its MAC counts */
    uint8_t mac[VF_MAC_BYTES];
};

struct reconcile_view {
    const struct ledger *ledger; /* NULL: not readable; then VFs are only reported on */
    const struct flips *flips;
    uint64_t epoch_first; /* flips with lower epochs are a dead process's; those here are running */
    const struct reconcile_pf *pf;
    uint16_t pfs;
    const struct reconcile_leg *leg;
    uint16_t legs;
    bool is_certain; /* all of them are among the legs. False: nobody's end is believed */
};

enum reconcile_kind {
    /* repairs */
    RECONCILE_PF_UP = 0,  /* a dead flip put the PF down: up */
    RECONCILE_LINK_AUTO,  /* a dead flip set the VF's link to disable: auto */
    RECONCILE_FLIP_CLOSE, /* after those: nothing is off any more */
    RECONCILE_RESTORE,    /* its owner is gone: what is still as that owner wanted it, as before */
    RECONCILE_RELEASE,    /* its owner and the VF are gone: released, nothing to restore */
    RECONCILE_REASSERT,   /* its owner runs and `fields` are not as wanted: told again */
    RECONCILE_DONE,       /* its owner runs, all is as wanted, the ledger did not know yet */
    /* reports */
    RECONCILE_TWO_OWNERS,    /* one VF, two running VMs */
    RECONCILE_TWO_MACS,      /* one MAC, two VFs that must not share it */
    RECONCILE_STRAY_MAC,     /* a free VF has a running VM's MAC: it takes its frames */
    RECONCILE_UNRECORDED,    /* a running VM uses a VF that the ledger does not give to it */
    RECONCILE_VF_VANISHED,   /* a running VM's VF is not there any more */
    RECONCILE_VF_UNKNOWN,    /* the kernel does not tell about a VF that is owned */
    RECONCILE_DRIFT,         /* not as wanted, and not for us to change */
    RECONCILE_LINK_FORCED,   /* a free VF's link is forced on or off, and not by us */
    RECONCILE_FLIPS_DAMAGED, /* what running flips switched off does not read */
    RECONCILE_KINDS
};

struct reconcile_item {
    enum reconcile_kind kind;
    hf_fabric fabric; /* of LINK_AUTO, PF_UP, FLIP_CLOSE, FLIPS_DAMAGED */
    uint64_t epoch;   /* of those: the dead flip's */
    char pf[HF_PCI_NAME_MAX + 1], vf[HF_PCI_NAME_MAX + 1]; /* "" = none */
    uint16_t number;                                       /* of the VF */
    hf_vm_uid uid, other; /* whom it concerns; 0 = nobody of ours */
    uint32_t start_no;
    vf_fields fields;        /* of REASSERT, DRIFT */
    struct vf_config config; /* what to make it: RESTORE, REASSERT; what it is: the reports */
    const char *why;         /* a sentence part, never NULL */
};

struct reconcile_result {
    uint16_t count;
    uint16_t left_out; /* found, and no room */
    struct reconcile_item item[RECONCILE_ITEMS_MAX];
};

/* A setting that is not as its owner wanted is told again only after a reset, or when that owner's
 * preparation was cut: otherwise somebody changed it on purpose, which is drift and reported. A
 * trusted guest's MAC is its own affair unless it has none.
 * Repairs come in an order in which each can be done after the one before. */
void reconcile_look(const struct reconcile_view *view, struct reconcile_result *result);

const char *reconcile_kind_name(enum reconcile_kind kind); /* stable key: "stray-mac" */
bool reconcile_is_repair(enum reconcile_kind kind);

/* May this VM take these VFs now? At a start, before vf_prepare(). False: *why says who has one. */
bool reconcile_may_take(const struct reconcile_view *view, hf_vm_uid uid, const char *vf,
                        const uint8_t mac[VF_MAC_BYTES], const char **why);

#endif
