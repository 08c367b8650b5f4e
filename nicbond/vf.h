/* vf.h - what is done to VFs, through the kernel's rtnetlink: read, set, verify; prepare one for a
 * VM's start and give it back after; put right what reconcile.h found.
 *
 * FOR HELPERS ONLY. Every rtnetlink request takes the kernel's RTNL lock within send(), cannot be
 * interrupted there, and may wait for a card's controller for 10 s and more (sfc: one command a
 * VF). So these calls have deadlines for what they repeat, but the process that makes them can
 * hang: its parent kills it and calls the outcome unknown.
 *
 * Never assumed: a VF is as wanted when it was read back as wanted. */
#ifndef NICBOND_VF_H
#define NICBOND_VF_H

#include "nicbond/ledger_file.h"
#include "nicbond/reconcile.h"
#include "nicbond/vf_config.h"
#include "nicbond/vf_message.h"

enum {
    /* i40e waits 300 ms for a VF in reset and then answers EAGAIN, ice 800 ms and EBUSY; a VF just
     * made may answer EINVAL for a moment (kernel 6.12, and field reports). */
    VF_RETRY_MS = 100,
    VF_RETRY_FOR_MS = 2000,
    VF_ANSWER_WAIT_MS = 1000, /* the answer is there when send() returns; a second is a lost one */
};

/* How an order went. */
enum vf_answer {
    VF_DONE = 0,
    VF_UNSUPPORTED, /* EOPNOTSUPP: this driver has no such operation */
    VF_BUSY,        /* EAGAIN, EBUSY: later, perhaps */
    VF_GONE,        /* ENODEV: no such PF */
    VF_REFUSED,     /* anything else the kernel said; err names it */
    VF_UNKNOWN,     /* no answer, or none that can be read */
    VF_ANSWERS
};
const char *vf_answer_name(enum vf_answer answer); /* "not supported by the driver" */

/* The orders, so that tests have a card of their own. err is set unless VF_DONE. */
struct vf_port {
    void *user;
    enum vf_answer (*read)(void *user, int32_t ifindex, struct vf_list *list, struct hf_err *err);
    enum vf_answer (*set)(void *user, int32_t ifindex, uint16_t vf, enum vf_field field,
                          const struct vf_config *wanted, struct hf_err *err);
    enum vf_answer (*link)(void *user, int32_t ifindex, const uint16_t *vfs, uint16_t count,
                           enum vf_link link, struct hf_err *err);
    enum vf_answer (*admin)(void *user, int32_t ifindex, bool is_up, struct hf_err *err);
    /* Wait; false: stop, nobody needs the result any more. */
    bool (*wait)(void *user, uint32_t ms);
};

/* ---- rtnetlink ---- */

struct vf_netlink {
    int fd;
    int stop_fd; /* readable or closed at the other end: stop waiting; -1 = none; borrowed */
    uint32_t seq;
    uint8_t *answer; /* VF_ANSWER_MAX */
};

enum hf_code vf_netlink_open(struct vf_netlink *n, int stop_fd, struct hf_err *err);
void vf_netlink_close(struct vf_netlink *n);
/* Borrows n. */
struct vf_port vf_netlink_port(struct vf_netlink *n);

/* ---- a PF, by sysfs: takes no lock ---- */

struct vf_pf {
    char pci[HF_PCI_NAME_MAX + 1], name[HF_IFNAME_MAX + 1];
    int32_t ifindex;
    uint16_t count;                             /* virtfnN there are, 0.. without a gap */
    char vf[VF_COUNT_MAX][HF_PCI_NAME_MAX + 1]; /* their PCI addresses */
    bool has_driver[VF_COUNT_MAX];
};

/* `pf` is a PCI address; sys is "/sys". HF_ENOENT: no such device, or it has no network interface.
 * HF_EBAD: what stands there is not what the kernel writes. */
enum hf_code vf_scan(const char *sys, const char *pf, struct vf_pf *out, struct hf_err *err);
/* Without its interface: one whose driver is gone can still have VFs. */
enum hf_code vf_scan_vfs(const char *sys, const char *pf, struct vf_pf *out, struct hf_err *err);

/* ---- a VF and its owner ---- */

struct vf_order {
    const struct vf_pf *pf;
    uint16_t number;
    hf_vm_uid uid;
    uint32_t start_no;
    struct vf_config wanted; /* of prepare */
};

/* Before a VM's start: intended in the ledger, told to the card, read back, done in the ledger. The
 * VF may not be in use by any running VM: the caller has looked. link is told to be auto whatever
 * wanted says. A field that the driver does not know is no failure when the VF is as wanted
 * without it; *unsupported names them, for people. Idempotent.
 * HF_EAGAIN: the PF is down, or busy for VF_RETRY_FOR_MS. HF_ENOENT: no such VF. HF_EINVAL:
 * refused, the text says which field. HF_EACCESS: as of ledger_intend(). After an error the ledger
 * has the intention: vf_release() or the next reconciliation takes it back. */
enum hf_code vf_prepare(const struct vf_port *port, struct ledger_file *ledger,
                        const struct vf_order *order, vf_fields *unsupported, struct hf_err *err);
/* A VM was found running with a VF that nobody prepared (libvirt has set MAC and VLAN by itself):
 * into the ledger as it is, so that guards and later looks know whose it is. Changes nothing on the
 * card. Its original counts as no MAC and no VLAN; a link that is not auto is intended to be, which
 * the next reconciliation does. Errors as of vf_prepare(). */
enum hf_code vf_adopt(const struct vf_port *port, struct ledger_file *ledger,
                      const struct vf_order *order, struct hf_err *err);
/* After its end: as it was before, read back, released in the ledger. What is not as its owner
 * wanted it any more was changed by somebody since (libvirt restores MAC and VLAN itself, a reset
 * forgets) and is left alone; a link that is off is switched on again. HF_EACCESS: it is another
 * owner's by now and was not touched. HF_ENOENT: nobody's; also when the VF is not there any more,
 * which releases it. Idempotent. */
enum hf_code vf_release(const struct vf_port *port, struct ledger_file *ledger,
                        const struct vf_order *order, struct hf_err *err);

/* Fields of one VF told, with retries, and read back. *unsupported: those the driver has no
 * operation for. HF_EINVAL: some are still not as wanted; the text says which. HF_EAGAIN: busy, or
 * it could not be read back. */
enum hf_code vf_write(const struct vf_port *port, const struct vf_pf *pf, uint16_t number,
                      vf_fields fields, const struct vf_config *wanted, vf_fields *unsupported,
                      struct hf_err *err);

/* One repair of reconcile.h done. flips_fd: for what a dead flip left. Reports: HF_OK, nothing is
 * done. */
enum hf_code vf_repair(const struct vf_port *port, struct ledger_file *ledger, int flips_fd,
                       const struct vf_pf *pf, const struct reconcile_item *item,
                       struct hf_err *err);

#endif
