/* method.h - the orders by which traffic is driven off a leg, one file per method: method_vflink.c,
 * method_pfdown.c, method_link.c, method_unplug.c for the two kinds of worker processes, and
 * method_guest.c for the one that needs no worker. Here are the bytes between the hot loop and a
 * worker; helper.h carries them.
 * A method never confirms a flip: it tells whether its order was carried out. */
#ifndef NICBOND_METHOD_H
#define NICBOND_METHOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agents/nic/judge.h"
#include "nicbond/flip.h"
#include "nicbond/flips.h"
#include "nicbond/guest_socket.h"
#include "nicbond/vf.h"
#include "supervisord/base/err.h"
#include "supervisord/model/nic.h"

enum method_job {
    METHOD_VF_LINK = 1, /* rtnetlink worker: links of VFs of one PF, in one message */
    METHOD_PF_ADMIN,    /* rtnetlink worker: the PF down or up */
    METHOD_PROBE,       /* rtnetlink worker: RTM_GETLINK and nothing else: how long does it take? */
    METHOD_LOOK,        /* rtnetlink worker: what the card tells about itself (look.h) */
    METHOD_LINK,        /* virt worker: the link of a virtio NIC */
    METHOD_UNPLUG,      /* virt worker: take a NIC out of its VM */
    METHOD_JOBS
};

/* For the rtnetlink worker. */
struct method_pf {
    enum method_job job;
    hf_fabric fabric;
    uint64_t epoch; /* of the order: rises with every one */
    int32_t ifindex;
    uint32_t budget_ms; /* what is to be repeated is given up then */
    bool is_off;        /* VF_LINK: disable, else auto. PF_ADMIN: down, else up */
    char pci[HF_PCI_NAME_MAX + 1];
    char name[HF_IFNAME_MAX + 1];  /* LOOK */
    uint16_t vfs_count;            /* VF_LINK: 1.. */
    uint16_t vf[VF_COUNT_MAX];     /* the most important first */
    uint8_t off[VF_COUNT_MAX / 8]; /* every VF of this PF that is off once this is done */
    bool is_down;                  /* and so is the PF */
};

/* For the virt worker. */
struct method_vm {
    enum method_job job;
    bool is_off; /* LINK: down, else up */
    char name[HF_NAME_MAX + 1];
    hf_mac mac; /* of the NIC, as in the domain's XML */
};

/* How it ended. `vf` in the order of the request. */
struct method_done {
    enum flip_rung rung; /* DONE, REFUSED or LATE; VF_LINK: of all of them */
    bool is_unsupported; /* REFUSED: this driver has no such operation */
    uint32_t took_us;    /* of the request alone, in the worker */
    uint16_t vfs_count;
    uint8_t vf[VF_COUNT_MAX]; /* VF_LINK: enum flip_rung of each */
    char why[HF_REASON_MAX + 1];
};

size_t method_pf_encode(const struct method_pf *order, uint8_t *bytes, size_t cap);
bool method_pf_decode(const uint8_t *bytes, size_t len, struct method_pf *order);
size_t method_vm_encode(const struct method_vm *order, uint8_t *bytes, size_t cap);
bool method_vm_decode(const uint8_t *bytes, size_t len, struct method_vm *order);
size_t method_done_encode(const struct method_done *done, uint8_t *bytes, size_t cap);
bool method_done_decode(const uint8_t *bytes, size_t len, struct method_done *done);

/* ---- in the rtnetlink worker; each may block for as long as the kernel likes ---- */

/* Does this driver know the link state of VFs? NIC_NOT_KNOWN for a driver that is not in the table:
 * it is tried, and its refusal is remembered. */
enum nic_fact method_vflink_is_known(const char *driver);
/* Written down, then one message for all; when the kernel refuses it, one for each. */
void method_vflink_run(const struct vf_port *port, int flips_fd, const struct method_pf *order,
                       struct method_done *done);
void method_pfdown_run(const struct vf_port *port, int flips_fd, const struct method_pf *order,
                       struct method_done *done);
/* The worker's life: serve orders on HELPER_FD. */
enum hf_code method_pf_serve(const char *state_folder, const char *root, struct hf_err *err);

/* ---- in the virt worker; pure: libxml2 on memory ---- */

/* The XML of the NIC with this MAC out of a live domain's, with its link set: what libvirt wants to
 * be told. *out is malloc'ed. HF_ENOENT: no such NIC. HF_EINVAL: it is a hostdev one, whose link
 * cannot be set (libvirt: "cannot change config of 'hostdev' network interface type"). */
enum hf_code method_link_xml(const char *domain, size_t len, hf_mac mac, bool is_off, char **out,
                             struct hf_err *err);
/* The file that says that we, and no operator, have switched this NIC off. */
void method_link_mark(const char *state_folder, const char *name, hf_mac mac, char *path,
                      size_t cap);
/* The XML of that NIC, unchanged: what libvirt wants to be told to take it out. */
enum hf_code method_unplug_xml(const char *domain, size_t len, hf_mac mac, char **out,
                               struct hf_err *err);

/* ---- in the hot loop ---- */

/* Order the guest's helper onto the leg with this MAC. READY: there is no helper that could take
 * it; OUT: its answer comes by method_guest_answer(). */
enum flip_rung method_guest_order(struct guest_socket *guest, uint64_t epoch, hf_mac mac,
                                  hf_time now);
/* What its answer is worth to the ladder. */
enum flip_rung method_guest_worth(const struct guest_answer *answer);

#endif
