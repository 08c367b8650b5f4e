/* legs.h - which VM runs here with which legs, out of libvirt's status files and sysfs, without
 * libvirt: a hung libvirtd hides no VM from us.
 * A status file (/run/libvirt/qemu/NAME.xml) is written by libvirt, root's; what is in it comes
 * from people, and is read as hostile bytes: libxml2 on memory, no network, no DTD, bounded.
 * Parsing is pure. legs_resolve() reads links in sysfs, which takes no RTNL. legs_watch_* tells
 * which names changed (inotify). All of it for the report thread: it allocates and reads files. */
#ifndef NICBOND_LEGS_H
#define NICBOND_LEGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nicbond/guest_socket.h"
#include "supervisord/base/err.h"
#include "supervisord/model/nic.h"

enum {
    LEGS_NICS_MAX = 16, /* of one VM: two fabrics, and what else people give it */
};

#define LEGS_SYS "/sys"

/* <alias name='ua-leg-a'/>: its owner says which leg it is. */
enum legs_mark { LEGS_UNMARKED = 0, LEGS_IN_A, LEGS_IN_B, LEGS_NO_LEG };

/* A NIC of a VM as its XML has it. */
struct legs_nic {
    enum hf_leg_kind kind;
    enum legs_mark mark;
    hf_mac mac;                     /* zeros: a plain <hostdev>, which has none in the XML */
    char pci[HF_PCI_NAME_MAX + 1];  /* VF: its address on this host */
    char device[HF_IFNAME_MAX + 1]; /* virtio: its tap or macvtap on this host */
    bool is_off;                    /* virtio: its link is down by the XML */
};

struct legs_vm {
    char name[HF_NAME_MAX + 1];
    hf_vm_uid uid; /* 0: not one of ours */
    uint32_t start_no;
    uint16_t priority; /* of its mark, if it tells one: higher is flipped first */
    uint8_t nics_count;
    struct legs_nic nic[LEGS_NICS_MAX];
    char guest[GUEST_PATH_MAX + 1]; /* socket of its helper; "" = none */
};

/* One leg, found in a fabric. */
struct legs_leg {
    enum hf_leg_kind kind; /* HF_LEG_NONE: no leg in this fabric */
    hf_mac mac;
    uint16_t vf;                    /* VF: its number in the PF */
    char pci[HF_PCI_NAME_MAX + 1];  /* VF */
    char device[HF_IFNAME_MAX + 1]; /* virtio */
    bool is_off;
};

/* A PF of this host. */
struct legs_pf {
    char name[HF_IFNAME_MAX + 1];  /* "": there is none */
    char pci[HF_PCI_NAME_MAX + 1]; /* "" for a device that is not PCI (veth) */
};

/* Once per process, before any thread uses this. */
void legs_init(void);

/* libvirt's status file into `vm`; name is the file's. HF_EBAD: it is not XML we read, or not a
 * domain's. NICs beyond LEGS_NICS_MAX are left out: HF_EFULL, vm holds the first ones. */
enum hf_code legs_parse(const char *name, const char *xml, size_t len, struct legs_vm *vm,
                        struct hf_err *err);

/* Which of its NICs is the leg in which fabric: a VF whose PF it is, a tap or macvtap above it. The
 * first one found is the leg. A NIC that is marked goes before those that are not, is never the leg
 * of another fabric, and need not be above the PF (the bridge may be one that sysfs does not tell
 * of); but a VF is ordered by its number in the PF, so a VF of another PF is no leg. */
void legs_resolve(const char *sys, const struct legs_vm *vm,
                  const struct legs_pf pf[HF_FABRICS_MAX], struct legs_leg leg[HF_FABRICS_MAX]);

/* ---- files ---- */

/* The status file of `name` read and parsed. HF_ENOENT: there is none, so no such VM runs here. */
enum hf_code legs_read(const char *run, const char *name, struct legs_vm *vm, struct hf_err *err);
/* Names of all status files, in no order, until `each` returns false. HF_EIO. */
enum hf_code legs_each(const char *run, bool (*each)(void *user, const char *name), void *user,
                       struct hf_err *err);

/* Readable when a status file came, changed or went. */
enum hf_code legs_watch_open(const char *run, int *fd, struct hf_err *err);
/* Every event read: `each` for each name; false returned: events were lost (look at all). */
bool legs_watch_read(int fd, void (*each)(void *user, const char *name), void *user);

#endif
