/* guest.h - one VM's holdfast-guest, seen from its host: bytes and time in, what the guest says and
 * how an order ended out. Pure: the socket is guest_socket.h's.
 * Everything a guest says is a claim of somebody who may be hostile. It confirms or does not
 * confirm a flip of that very VM; nothing else follows from it. The VM works without a helper, and
 * so do we. */
#ifndef NICBOND_GUEST_H
#define NICBOND_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/err.h"
#include "supervisord/wire/guest_frame.h"

enum {
    GUEST_ORDER_MS = 200,       /* the deadline of every method of a flip */
    GUEST_ASK_MS = 1000,        /* between two questions */
    GUEST_ASK_AGAIN_MS = 30000, /* of one that was not answered */
    GUEST_SILENT_MS = 3000,     /* two seconds after a question: there is no helper */
    GUEST_PARTIAL_MS = 100,     /* that the rest of a frame may take; a healthy one takes < 1 ms */
    /* A guest whose links both flap at 10 Hz says 30 KiB a second (estimate: 120 messages). */
    GUEST_BYTES_PER_S = 64 << 10,
    GUEST_MUTE_MS = 1000, /* after the first flood, doubled with every further one */
    GUEST_MUTE_MAX_MS = 60000,
    GUEST_OUT_MAX = 4 * GUEST_FRAME_MAX, /* orders and questions not yet taken by the socket */
};

/* How an order ended. */
enum guest_result {
    GUEST_DONE = 1, /* the guest says so, and names the slave that was ordered */
    GUEST_ALREADY,  /* it says that it was on that slave before */
    GUEST_REFUSED,  /* it says why not: outcome, sys_errno. Nothing was changed. */
    GUEST_LATE,     /* no answer in time: it may still do it */
    GUEST_GONE,     /* the connection broke, or a later order took its place: the same */
    GUEST_LIED,     /* its answer contradicts itself: worth no more than none */
    GUEST_RESULTS
};

struct guest_answer {
    uint64_t number;
    hf_mac mac; /* ordered */
    enum guest_result result;
    enum hf_guest_outcome outcome; /* its own word; 0 = none */
    uint32_t sys_errno;
    uint32_t took_us;  /* by its own word */
    uint32_t round_us; /* from the order to its end here */
};

struct guest_counters {
    uint64_t bytes, messages;
    uint64_t skipped;       /* bytes that were no frame */
    uint32_t refused;       /* frames that were no message, or no guest's */
    uint32_t other_version; /* of the protocol: an older or newer helper */
    uint32_t floods;        /* times it was muted */
    uint32_t lies;          /* answers nobody asked for, or that contradict themselves */
    uint32_t orders, late;
    uint32_t restarts; /* HELLO with another boot id than before */
};

/* Fields up to `own` are for everybody to read. */
struct guest {
    bool is_connected; /* to qemu: says nothing about a helper */
    bool has_helper;   /* it spoke on this connection, and within GUEST_SILENT_MS */
    bool has_bond;     /* and told of a bond, which is: */
    struct hf_guest_bond bond;
    hf_time bond_at;       /* heard */
    int64_t bond_guest_ns; /* the guest's CLOCK_MONOTONIC when it read that state */
    bool has_failover;     /* its kernel announced one (IFLA_EVENT_BONDING_FAILOVER): */
    hf_time failover_at;   /* heard */
    int64_t failover_mono_ns, failover_wall_ns; /* the guest's clocks */
    bool has_peers_told; /* IFLA_EVENT_NOTIFY_PEERS (gratuitous ARP), the same */
    hf_time peers_told_at;
    uint32_t events; /* of any kind */
    struct guest_counters counters;

    struct {
        struct guest_stream stream;
        hf_time heard_at, ask_at, partial_at; /* ask_at: of the next question */
        bool is_partial;
        bool knows_boot;
        uint8_t boot_id[16];
        int64_t credit; /* bytes it may still send */
        hf_time credit_at;
        uint32_t mute_ms; /* of the next flood */
        hf_time calm_at;  /* mute_ms begins anew then */
        uint64_t void_to; /* the newest order, if nobody waits for it any more */
        bool has_order, has_answer;
        bool is_unanswered; /* the newest order; also when its deadline has passed */
        hf_time ordered_at;
        struct guest_answer order, answer;
        uint8_t out[GUEST_OUT_MAX];
        size_t out_len;
    } own;
};

void guest_init(struct guest *guest, hf_time now);

/* The shell has connected, or lost the connection. */
void guest_joined(struct guest *guest, hf_time now);
void guest_left(struct guest *guest, hf_time now);
/* Bytes from the guest. False: it floods. The shell closes the connection and does not come back
 * for guest_mute_ms(). */
bool guest_take(struct guest *guest, const uint8_t *bytes, size_t len, hf_time now);
uint32_t guest_mute_ms(struct guest *guest, hf_time now);
/* Bytes to the guest, NULL when there are none; and that so many of them went. */
const uint8_t *guest_out(const struct guest *guest, size_t *len);
void guest_sent(struct guest *guest, size_t len);
/* Questions and deadlines. When to be called again. */
hf_time guest_tick(struct guest *guest, hf_time now);
/* It was given an order and is silent: what lies unread between us is to be thrown away, for an
 * order must not wait for a helper that starts tomorrow. The shell closes and connects again. */
bool guest_is_stale(const struct guest *guest, hf_time now);

/* Order: make the slave with this permanent MAC the active one. One order at a time: an open one
 * ends as GUEST_GONE, and its answer is lost if it was not taken. HF_EAGAIN: there is no helper, or
 * it reads nothing. Ends within GUEST_ORDER_MS: guest_answer() says how. */
enum hf_code guest_order_active(struct guest *guest, uint64_t number, hf_mac mac, hf_time now,
                                struct hf_err *err);
/* Takes the answer, once. */
bool guest_answer(struct guest *guest, struct guest_answer *answer);

/* Does the guest say that it is on this slave? False also when it says nothing. */
bool guest_is_on(const struct guest *guest, hf_mac mac);
/* The active slave's permanent MAC; none: not known, no bond, no active slave. */
hf_mac guest_active_mac(const struct guest *guest);
/* Has the bond a slave with this MAC, and is its link up by the guest's word? */
bool guest_can_use(const struct guest *guest, hf_mac mac);

const char *guest_result_name(enum guest_result result);

#endif
