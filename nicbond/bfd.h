/* bfd.h - one BFD session (RFC 5880, asynchronous mode) as a function of packets and time. Pure: no
 * socket, no clock, no chance but its seed. Does a peer hear us, and do we hear it?
 * It speaks as the active side, without authentication and without echo; it honours a peer's demand
 * mode and never asks for it. The table of states is in bfd.c.
 * Time is when a packet arrived, not when it was read: the same arrivals give the same verdict
 * whatever the moments at which the owner looks. Hence the owner's duty: read all that has arrived
 * before it calls bfd_tick() with a time. */
#ifndef NICBOND_BFD_H
#define NICBOND_BFD_H

#include <stdbool.h>
#include <stdint.h>

#include "nicbond/bfd_packet.h"
#include "supervisord/base/clock.h"
#include "supervisord/base/rng.h"
#include "supervisord/model/limits.h"

enum {
    BFD_PEERS_MAX = HF_NODES_MAX + 4, /* of one fabric: the nodes, and four switches or routers */
    BFD_SLOW_US = 1000000,            /* RFC 5880, 6.8.3: not faster until it is up */
    BFD_CHANGES_MAX = 2, /* a packet that comes after the silence: two changes in one call */
};

#define BFD_NEVER ((hf_time){INT64_MAX})

/* None of them is 0: an interval of 0 is reserved, or asks a peer for nothing to judge it by. */
struct bfd_timing {
    uint32_t min_tx_us; /* how fast we want to send */
    uint32_t min_rx_us; /* how fast we can take it */
    uint8_t multiplier; /* so many of our intervals without a packet, and the peer gives us up */
};

enum bfd_event {
    BFD_HEARD_ADMIN_DOWN, /* these four in the order of enum bfd_state */
    BFD_HEARD_DOWN,
    BFD_HEARD_INIT,
    BFD_HEARD_UP,
    BFD_SILENCE,   /* the detection time is over */
    BFD_PATH_LOST, /* our interface is gone */
    BFD_DISABLE,   /* an operator, or our end */
    BFD_ENABLE,
    BFD_EVENTS
};

enum bfd_verdict { BFD_UNDECIDED, BFD_GO, BFD_STAY };

struct bfd_rule {
    enum bfd_verdict verdict;
    enum bfd_state next;
    enum bfd_diag diag; /* of BFD_GO: what is told from then on */
    const char *why;
};

/* One transition, for the log. */
struct bfd_change {
    enum bfd_state was, now;
    enum bfd_event event;
    enum bfd_diag diag; /* ours, from now on */
    uint8_t their_diag; /* as last heard */
    hf_time at;
    const char *why;
};

struct bfd_changes {
    uint32_t count;
    struct bfd_change change[BFD_CHANGES_MAX];
};

struct bfd {
    enum bfd_state state;
    enum bfd_diag diag;
    uint32_t my;              /* discriminator */
    struct bfd_timing wanted; /* what we say, but for the slow start */
    struct bfd_timing before; /* while polling: what was in force before the change */
    bool is_polling;          /* P is set until F comes */
    bool is_poll_stale;       /* changed once more: the next F answers the older question */
    bool owes_final;

    /* What the peer said. */
    uint32_t your;
    enum bfd_state their_state;
    uint8_t their_diag, their_multiplier;
    uint32_t their_min_tx_us, their_min_rx_us;
    bool their_demand;
    bool is_heard; /* within the detection time */
    hf_time heard; /* arrival of the newest packet; 0: never */

    bool has_sent;
    hf_time sent;
    uint32_t shortening;    /* of the interval that runs, in 1/10000 */
    struct bfd_packet told; /* sent last, without P and F */

    bool was_up;    /* since it began, or since our interface came back */
    hf_time since;  /* of the state */
    uint32_t falls; /* from up */
    struct hf_rng rng;
};

/* What a peer is worth to the judge. A peer counts against a NIC only if it was up before. */
enum bfd_peer {
    BFD_PEER_UNKNOWN = 0, /* never up since we listen: says nothing about us */
    BFD_PEER_COMING,      /* speaks; the handshake is not over */
    BFD_PEER_UP,
    BFD_PEER_LEFT,   /* said itself that it goes (AdminDown): no failure */
    BFD_PEER_DEAF,   /* speaks, and tells that it no longer hears us */
    BFD_PEER_SILENT, /* was up, and no longer speaks */
    BFD_PEERS
};

struct bfd_view {
    enum bfd_peer peer;
    hf_time since; /* of the session's state */
    hf_time heard; /* arrival of the newest packet; 0: never */
    uint32_t falls;
};

/* A fabric as its peers see it. One silent peer says that this peer is silent, no more. */
struct bfd_summary {
    bool is_open; /* we listen; otherwise the rest is worth nothing */
    uint8_t peers, up, left, deaf, silent;
    hf_time silent_since; /* no peer is up, and one was: when a peer was last heard that had been
                           * up and did not leave. Otherwise 0. */
    struct bfd_view peer[BFD_PEERS_MAX]; /* in the order of the configuration */
};

/* The cell of the table; both arguments in range. */
struct bfd_rule bfd_rule(enum bfd_state state, enum bfd_event event);

/* Down, with the first packet due at once. my: not 0, and no other session's. timing->multiplier
 * not 0. The seed is for jitter only. */
void bfd_init(struct bfd *b, const struct bfd_timing *timing, uint32_t my, uint64_t seed,
              hf_time now);
/* When a packet arrived that the kernel stamped by the wall clock: by its age now, but not before
 * its queue was last seen empty, nor later than now. The wall clock may have stepped meanwhile. */
hf_time bfd_arrival(hf_wall stamp, hf_wall wall, hf_time now, hf_time empty);
/* A decoded packet from this session's peer that arrived then; arrivals in order, one that seems
 * older than its predecessor counts as arrived with it. Anything else than BFD_DROP_NONE: the
 * packet has not been heard. changes: what has changed, in order, if anything. */
enum bfd_drop bfd_receive(struct bfd *b, const struct bfd_packet *packet, hf_time arrived,
                          struct bfd_changes *changes);
/* Everything that arrived up to `now` has been received: is the peer silent? */
void bfd_tick(struct bfd *b, hf_time now, struct bfd_changes *changes);
/* Is a packet due? If so it is in out and counts as sent; a second one is not due at the same
 * time. */
bool bfd_send(struct bfd *b, hf_time now, struct bfd_packet *out);
/* When to call tick and send again, if nothing is received before. */
hf_time bfd_next_at(const struct bfd *b);

/* BFD_PATH_LOST, BFD_DISABLE or BFD_ENABLE. */
void bfd_apply(struct bfd *b, enum bfd_event event, hf_time now, struct bfd_changes *changes);
/* New intervals or multiplier; with a poll sequence where the session is up. */
void bfd_retime(struct bfd *b, const struct bfd_timing *timing);

/* How long silence may last, in nanoseconds, by what was last heard. */
int64_t bfd_detection_ns(const struct bfd *b);
/* When silence is over; BFD_NEVER: nothing has been heard that could end. */
hf_time bfd_silent_at(const struct bfd *b);
/* When the next packet is due; BFD_NEVER: not before something happens. */
hf_time bfd_due_at(const struct bfd *b);

struct bfd_view bfd_view(const struct bfd *b);
void bfd_summarize(const struct bfd *sessions, uint32_t count, bool is_open,
                   struct bfd_summary *out);
/* Invariants; called at the end of everything that changes a session, in all builds. */
void bfd_check(const struct bfd *b);

const char *bfd_state_name(enum bfd_state s); /* "up"; "?" out of range, as all of these */
const char *bfd_diag_name(uint8_t diag);      /* "control detection time expired" */
const char *bfd_peer_name(enum bfd_peer p);   /* "silent" */

#endif
