/* netlink.h - the guest's kernel: link messages as they come, the state of links when asked, and
 * the one thing that is ever changed, a bond's active slave.
 * A request takes the kernel's RTNL lock: while a driver holds it (a VF whose controller is dying,
 * for seconds) the request waits, and with it this process. Nothing else in the guest does. */
#ifndef AGENTS_GUEST_NETLINK_H
#define AGENTS_GUEST_NETLINK_H

#include "agents/guest/bond.h"
#include "supervisord/base/err.h"

enum {
    NETLINK_READ_MAX = 32 << 10, /* the kernel's largest link message: NLMSG_GOODSIZE, netlink.h */
    NETLINK_ANSWER_MS = 1000,    /* the kernel answers in the call itself; this is for a lost one */
};

struct netlink {
    int listen_fd; /* for poll(): RTNLGRP_LINK */
    int ask_fd;
    uint32_t number; /* of the newest request */
    _Alignas(8) uint8_t bytes[NETLINK_READ_MAX];
};

enum hf_code netlink_open(struct netlink *n, struct hf_err *err);
void netlink_close(struct netlink *n);

/* All links: the table is made anew. After an error it may not be whole. */
enum hf_code netlink_dump(struct netlink *n, struct bond_table *table, struct hf_err *err);
/* One link. HF_ENOENT: there is none any more. */
enum hf_code netlink_read(struct netlink *n, uint32_t index, struct bond_table *table,
                          struct hf_err *err);
/* 0, or the kernel's errno. */
int netlink_set_active(struct netlink *n, uint32_t bond, uint32_t slave);

/* What the kernel told on its own since. One datagram; `heard` is called for each sound message.
 * HF_EAGAIN: nothing there. HF_EFULL: messages were lost, dump again. */
enum hf_code netlink_hear(struct netlink *n, struct bond_table *table,
                          void (*heard)(void *user, const struct bond_heard *heard), void *user,
                          struct hf_err *err);

#endif
