/* loop.h - the hot loop: a round every poll period, and one for everything that comes in between.
 * Reads counters on open descriptors, listens, judges, decides, gives orders away. It makes no
 * request that takes RTNL, calls neither ethtool nor libvirt, allocates nothing and writes no disk;
 * what it did in a round is bounded. Its own lateness is measured. */
#ifndef NICBOND_LOOP_H
#define NICBOND_LOOP_H

#include "agents/nic/watch.h"
#include "nicbond/bfd_socket.h"
#include "nicbond/nicbond.h"
#include "nicbond/note.h"
#include "supervisord/config/config.h"

enum {
    LOOP_LATE_US = 5000,  /* a round this late is told */
    LOOP_NICS_MS = 2000,  /* the daemon hears of the PFs so often */
    LOOP_WANTS_MS = 1000, /* between two requests for workers */
    LOOP_LATE_TOLD_MS = 10000,
    LOOP_EVENTS = 64,
    LOOP_REST_MS = 20, /* link messages may come by the thousand: one look for all of that time */
};

struct loop_setup {
    const struct hf_config *config; /* for loop_open only */
    hf_node node;
    const char *root, *kmsg; /* of sysfs; borrowed */
    int note_fd, stop_fd;    /* borrowed */
    uint64_t epoch_first, epoch_end;
    const struct flips *left; /* what an earlier run left off */
    bool may_unplug;
};

struct loop_lateness {
    uint64_t rounds, late; /* late: by LOOP_LATE_US and more */
    uint32_t worst_us;
    uint64_t sum_us;
};

/* BFD of one fabric. */
struct loop_bfd {
    bool is_used;
    struct bfd_socket socket;
    uint32_t interval_us;
    uint8_t node[BFD_PEERS_MAX]; /* which node a peer is; 0xff: none, a switch */
    uint32_t peers_count;
    hf_time next;
    hf_time look_at, looked; /* at which device gets what arrives at the PF */
    int fd[BFD_SOCKET_FDS];  /* as they are in the epoll of BFD */
    uint32_t fds_count;
    uint64_t opened;
};

struct loop {
    struct loop_setup setup;
    uint32_t poll_us;
    unsigned fabrics_count;
    int epoll_fd, bfd_fd; /* bfd_fd: of BFD's sockets, looked at every round, waits for none */
    bool is_ending;
    struct watch watch;
    struct loop_bfd bfd[HF_FABRICS_MAX];
    struct nic_place place[HF_FABRICS_MAX]; /* as nicbond knows it */
    bool is_ours[HF_FABRICS_MAX];           /* as the judge knows it */
    hf_time nics_at, wants_at, late_told_at;
    struct loop_lateness lateness;
    struct nicbond nicbond;
};

/* `loop` is large: not on a stack. missing: what cannot be listened to; "" when nothing. */
enum hf_code loop_open(struct loop *loop, const struct loop_setup *setup, hf_time now,
                       char missing[200], struct hf_err *err);
void loop_close(struct loop *loop, hf_time now);
/* Until stop_fd is readable. */
enum hf_code loop_run(struct loop *loop, struct hf_err *err);

#endif
