/* loop.h - holdfast-guest at work: hears the kernel, answers the host, carries out its orders.
 * One thread, nothing waits but the kernel's answer to a request. Idle it does nothing at all: it
 * wakes for a link message, a question of the host, or to look for a port that is not there. */
#ifndef AGENTS_GUEST_LOOP_H
#define AGENTS_GUEST_LOOP_H

#include "agents/guest/channel.h"
#include "agents/guest/netlink.h"

enum {
    LOOP_DUMP_AGAIN_MS = 1000, /* after a dump that failed */
    LOOP_DUMP_OLD_MS = 60000,  /* a picture that old is made anew when the host asks */
    LOOP_HEAR_MAX = 32,        /* datagrams a round */
    LOOP_READS_MAX = 8,        /* pieces of the host's words a round */
    LOOP_WORDS_MAX = 100, /* EVENT and BOND messages a second: a fifth of what the host bears */
    LOOP_EVENTS_MAX = 4,  /* descriptors that epoll can name */
};

struct loop {
    const char *wanted; /* bond_view(); borrowed */
    int epoll_fd, signal_fd;
    struct netlink netlink;
    struct bond_table table;
    struct channel channel;
    uint8_t boot_id[16];
    bool must_dump;
    hf_time dump_at; /* not before */
    hf_time dumped_at;
    struct hf_guest_bond bond; /* the picture of the table; owes_bond: it is not told yet */
    bool owes_hello, owes_bond;
    uint32_t events_lost;
    uint32_t words; /* it may still say */
    hf_time words_at;
    bool has_order;
    uint64_t order_number;
    hf_mac order_mac;
    hf_time order_at;
    char complaint[120]; /* about the channel: said once */
};

/* Blocks SIGTERM and SIGINT: loop_run() ends by them. wanted is borrowed. */
enum hf_code loop_open(struct loop *loop, const struct channel_where *where, const char *wanted,
                       const char *boot_id_path, struct hf_err *err);
void loop_run(struct loop *loop);
void loop_close(struct loop *loop);

#endif
