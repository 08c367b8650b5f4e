/* listen.h - what the kernel and the switches tell by themselves: link messages, uevents, the
 * kernel's log, LLDP frames. Listens only: it asks for nothing, for a request would take the RTNL
 * lock. Never blocks, and reads a bounded number of messages at a time.
 *
 * Whatever was lost (a full socket buffer, a log that ran over) is told as one word: look at
 * everything again. */
#ifndef AGENTS_NIC_LISTEN_H
#define AGENTS_NIC_LISTEN_H

#include "agents/nic/parse.h"
#include "supervisord/base/err.h"

enum {
    LISTEN_FDS = 4,
    /* Messages of one source in one call: 64 take well below a millisecond, so that a flood cannot
     * hold up the loop that polls the counters. */
    LISTEN_BATCH = 64,
    /* One record of /dev/kmsg at most (PRINTKRB_RECORD_MAX and its extended form, 8 KiB), and far
     * above a link message or uevent (UEVENT_BUFFER_SIZE, 2 KiB). */
    LISTEN_BYTES = 32 << 10,
    /* Creating 240 VFs makes a thousand uevents and link messages of about 1 KiB. */
    LISTEN_SOCKET_BYTES = 1 << 20,
};

enum listen_kind {
    LISTEN_LINK = 0,
    LISTEN_UEVENT,
    LISTEN_KMSG,
    LISTEN_LLDP,
    LISTEN_LOST, /* look at everything again */
};

struct listen_word {
    enum listen_kind kind;
    union {
        struct nic_link link;
        struct nic_uevent uevent;
        struct nic_kmsg kmsg;
        struct {
            int32_t ifindex;
            struct nic_lldp lldp;
        } seen;
    } u;
};

struct listen {
    int fd[LISTEN_FDS]; /* for poll; -1: not open */
    uint64_t lost;      /* times that something was lost */
    uint64_t bad;       /* messages that did not parse */
    uint8_t bytes[LISTEN_BYTES];
};

typedef void (*listen_told)(void *user, const struct listen_word *word);

/* Netlink has to open. The kernel's log (kmsg: its path, NULL for none) and LLDP need rights that a
 * test may not have: without them their descriptor is -1, and `missing` says so ("" otherwise). */
enum hf_code listen_open(struct listen *listen, const char *kmsg, char missing[200],
                         struct hf_err *err);
void listen_close(struct listen *listen);
/* Have this interface's LLDP frames let through. Takes the RTNL lock: at start-up only. */
void listen_lldp(struct listen *listen, int32_t ifindex);
/* Tell what has come. To be called when one of the descriptors is readable, or at any time. */
void listen_read(struct listen *listen, listen_told told, void *user);

#endif
