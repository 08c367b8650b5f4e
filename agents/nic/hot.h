/* hot.h - the counters of one PF that are read every millisecond, on descriptors that stay open.
 * Read without the RTNL lock (net/core/net-sysfs.c): carrier_down_count, carrier_up_count, flags,
 * operstate, queues/tx-N/tx_timeout, statistics. carrier_down_count moves within
 * netif_carrier_off() itself, before anybody is told (net/sched/sch_generic.c); `carrier` and
 * RTM_GETLINK would wait for whoever holds RTNL, 10 s with a dying card.
 * A round costs one read while all is well; the rest is read in turn.
 *
 * There is no attribute that tells the carrier without RTNL and without delay: it is derived. Every
 * change moves one of the two counters, so their difference tells the carrier once it is known for
 * one moment: from a netlink message with both counters, or from operstate when the counters have
 * stood still for longer than linkwatch may sit on it. */
#ifndef AGENTS_NIC_HOT_H
#define AGENTS_NIC_HOT_H

#include "agents/nic/judge.h"
#include "agents/nic/parse.h"
#include "agents/nic/probe.h"
#include "supervisord/base/err.h"

enum {
    HOT_QUEUES_MAX = 128, /* sfc has one a core; queues beyond are told by the log alone */
    HOT_ERRORS_MAX = 4,
    HOT_UP_MS = 8,     /* nothing hangs on it while the carrier is on */
    HOT_FLAGS_MS = 16, /* an operator's hand; a netlink message is as quick */
    HOT_QUEUE_MS = 8,  /* one queue a turn: 128 take the second that the watchdog's 5 s leave */
    HOT_SLOW_MS = 1000,
    /* linkwatch tells at most once a second (net/core/link_watch.c: linkwatch_nextevent + HZ). */
    HOT_STILL_MS = 2000,
};

struct hot {
    struct nic_place place;
    int down_fd, up_fd, flags_fd, operstate_fd;
    int error_fd[HOT_ERRORS_MAX];
    int queue_fd[HOT_QUEUES_MAX];
    uint16_t queues_count, queue_next;
    uint64_t queue_timeouts[HOT_QUEUES_MAX], tx_timeouts, errors;
    bool has_errors;
    hf_time up_at, flags_at, queue_at, slow_at; /* next looks */
    hf_time moved_at;                           /* a carrier counter moved */
    int64_t downs, ups;
    enum nic_fact is_admin_up;
    bool has_base; /* base is ups - downs while there is carrier */
    bool is_base_sure;
    int64_t base;
};

/* Open what there is. HF_ENOENT when there is no network device of this name. */
enum hf_code hot_open(struct hot *hot, const char *root, const struct nic_place *place, hf_time now,
                      struct hf_err *err);
void hot_close(struct hot *hot);
/* One round: fills the counters, admin state and carrier of the sample. False when the device is
 * gone: is_seen is then false, and it is to be looked for. */
bool hot_read(struct hot *hot, hf_time now, struct nic_sample *sample);
/* A netlink message about this device. */
void hot_learn(struct hot *hot, const struct nic_link *link, hf_time now);

#endif
