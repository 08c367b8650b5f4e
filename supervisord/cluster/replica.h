/* replica.h - one member of the replicated engine: who takes part, from which state, in which
 * order. Pure: it is told what corosync delivers and what time it is, and answers through ports.
 * The daemon and the simulator run the same object. It never blocks, never allocates, never acts on
 * a view it is not quorate in, and trusts no byte of a message. The protocol is told in
 * cluster/README.md. */
#ifndef SUPERVISORD_CLUSTER_REPLICA_H
#define SUPERVISORD_CLUSTER_REPLICA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/err.h"
#include "supervisord/engine/engine.h"
#include "supervisord/model/group.h"

struct replica; /* replica_size() bytes, 8-aligned */
size_t replica_size(void);

enum replica_phase {
    REPLICA_APART = 0, /* no corosync, or not joined: nothing is known */
    REPLICA_GREETING,  /* a new membership: hellos are on their way */
    REPLICA_COPYING,   /* the donor sends the state */
    REPLICA_FROZEN,    /* greeted, but not a majority: no state changes at all */
    REPLICA_SYNCED,    /* quorate, same state as every participant: events apply */
    REPLICA_STOPPED,   /* diverged or unknown version: out for good, a person must look */
    REPLICA_PHASES
};

struct replica_settings {
    uint32_t nodeid; /* own corosync node id */
    struct hf_boot boot;
    uint64_t incarnation;        /* rises with every start within a boot (CLOCK_BOOTTIME ns) */
    const struct hf_group *file; /* own cluster file: copied */
    uint32_t beat_ms, mute_after_ms;
    uint32_t hello_wait_ms; /* a member that has not greeted by then is left out; 1000 */
    uint32_t resend_ms;     /* an own message not delivered back by then goes again; 2000 */
};

/* One CPG group member as corosync reports it. */
struct replica_peer {
    uint32_t nodeid, pid;
};

struct replica_ports {
    void *user;
    /* Give bytes (<= HF_GROUP_MESSAGE_MAX) to corosync. At most HF_IN_FLIGHT_MAX are outstanding;
     * when none of them comes back, one probe more every resend_ms, up to twice as many. */
    void (*mcast)(void *user, const void *bytes, size_t len);
    /* An event was applied to the engine (also refused ones). is_mine: it was submitted here, with
     * `cookie`. `e` is the state after it; borrowed, as ev and out are, for the call. Comes a
     * second time for the same cookie when a partition took the first one back with all its
     * effects. */
    void (*stepped)(void *user, const struct engine *e, const struct hf_event *ev,
                    const struct engine_out *out, bool is_mine, uint64_t cookie);
    /* A whole state was taken over (a snapshot, the disk's, or a fresh one): journal it, reread
     * everything derived from it. */
    void (*replaced)(void *user, const struct engine *e);
    /* This order may be performed now: it is ours, we are quorate, a majority of the configured
     * nodes has acknowledged it. Also called for a timer at once, with token and duration.
     * May be called again for the same token: idempotent. */
    void (*effect)(void *user, const struct hf_effect *fx);
    /* After every synchronisation, before the effects that are still wanted come again: whatever is
     * not engine_is_live() must be dropped. */
    void (*resync)(void *user, const struct engine *e);
    void (*phase)(void *user, enum replica_phase was, enum replica_phase now, const char *why);
    /* A side message (blobs) from a member, in total order, also from ourselves. */
    void (*side)(void *user, uint32_t nodeid, const uint8_t *bytes, size_t len);
    /* An event of ours was applied while we were away: it is part of the state that was taken over,
     * but its decisions were not seen here. NULL allowed. */
    void (*absorbed)(void *user, uint64_t cookie);
};

/* Ready, apart. ports is copied. HF_EINVAL: file without us, or a zero duration. */
enum hf_code replica_init(struct replica *r, const struct replica_settings *settings,
                          const struct replica_ports *ports, struct hf_err *err);
/* Before the first view: the state found on disk (engine_save bytes). HF_EBAD: it is not used. */
enum hf_code replica_restore(struct replica *r, const uint8_t *bytes, size_t len,
                             struct hf_err *err);

/* ---- what corosync says ---- */

/* CPG membership changed, or the totem ring: `peers` is the CPG group's member list, `ring` the
 * totem ring's node ids of the view. A peer whose nodeid is not in the ring is a ghost: not
 * counted. */
void replica_members(struct replica *r, struct hf_view view, const struct replica_peer *peers,
                     size_t peers_count, const uint32_t *ring, size_t ring_count, hf_time now);
void replica_deliver(struct replica *r, uint32_t nodeid, uint32_t pid, const uint8_t *bytes,
                     size_t len, hf_time now);
/* The connection to corosync is gone (or was not there yet). */
void replica_apart(struct replica *r, hf_time now);

/* ---- what the node wants ---- */

/* Queue an event of ours (ev->seq ignored, ev->from set here). HF_EFULL: the outbox is full.
 * It is applied once, in the order submitted, or lost only with this daemon. cookie comes back. */
enum hf_code replica_submit(struct replica *r, const struct hf_event *ev, uint64_t cookie,
                            hf_time now, struct hf_err *err);
/* Multicast a side message (<= HF_GROUP_MESSAGE_MAX - 128), unacknowledged; HF_EAGAIN when too many
 * are in flight: call again after the next delivery. */
enum hf_code replica_side(struct replica *r, const void *bytes, size_t len, hf_time now,
                          struct hf_err *err);
/* Call at replica_deadline() or later. */
void replica_tick(struct replica *r, hf_time now);
hf_time replica_deadline(const struct replica *r);

/* ---- views ---- */

struct replica_view {
    enum replica_phase phase;
    struct hf_view view;
    uint32_t round;        /* of greeting in this membership */
    hf_nodes participants; /* by node index of the running configuration */
    uint32_t ghosts;       /* CPG members outside the ring */
    uint32_t in_flight, queued;
    uint64_t resent, dropped_old_view, dropped_bad, dropped_gap, duplicates;
    hf_time newest_echoed;       /* send time of our newest beat echoed by another participant */
    hf_time heard[HF_NODES_MAX]; /* when each node's last beat was delivered */
};
const struct engine *replica_engine(const struct replica *r); /* NULL when it has no state */
struct replica_view replica_look(const struct replica *r);

#endif
