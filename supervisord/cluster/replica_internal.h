/* replica_internal.h - one replica's fields, shared inside supervisord/cluster/replica*.c only.
 * Who does what: replica.c the doors, replica_greet.c rounds and the choice of the state,
 * replica_copy.c its transfer, replica_sync.c agreement and the first step of a view,
 * replica_apply.c events, acknowledgements, effects, replica_outbox.c own events,
 * replica_beat.c beats, divergence, mute peers, replica_send.c what goes out next. */
#ifndef SUPERVISORD_CLUSTER_REPLICA_INTERNAL_H
#define SUPERVISORD_CLUSTER_REPLICA_INTERNAL_H

#include "supervisord/base/assert.h"
#include "supervisord/cluster/replica.h"
#include "supervisord/wire/event.h"
#include "supervisord/wire/group.h"

enum {
    MEMBERS_MAX = 32,      /* group members looked at; configured nodes are at most 8 */
    RING_MAX = 64,         /* totem node ids looked at */
    NUMBERS_KEPT = 64,     /* send times of own multicasts, HF_IN_FLIGHT_MAX and as many probes */
    ROOM_FOR_CONTROL = 4,  /* of the messages in flight: never taken by events, state or sides */
    BEATS_KEPT = 4,        /* deliveries of each node's beats that are compared */
    LOADS_MAX = 3,         /* refused snapshots in one membership before we keep quiet */
    AGREEMENTS_MAX = 3,    /* agreements without a majority in one membership before freezing */
    AGREEMENTS_PAUSE = 10, /* greeting times until they try once more, and so on */
    DAMAGED_MAX = 3,       /* from one that has not greeted: more is noise, not loss */
    OUTBOX_BYTES = 512 << 10, /* own events waiting: most are under 100 bytes */
    SMALL_CHUNK = 1000,       /* from the second round on: passes where large packets are lost */
};

_Static_assert(NUMBERS_KEPT >= 2 * HF_IN_FLIGHT_MAX, "send times of everything in flight");

#define REPLICA_NEVER ((hf_time){INT64_MAX})

/* What we do; the phase is what we tell. */
enum stage {
    STAGE_OUT = 0, /* apart or stopped */
    STAGE_GREET,   /* waiting for hellos */
    STAGE_AGREE,   /* waiting for every greeted member to hold the chosen state */
    STAGE_SYNCED,
    STAGE_FROZEN,  /* greeted, no majority (or the group disagrees about its state) */
    STAGE_OUTSIDE, /* the others go on without us */
    STAGE_DOUBT,   /* we may have missed a message: nothing counts until the next round */
};

struct member {
    uint32_t nodeid, pid;
    bool is_foreign;  /* speaks a version we do not */
    uint32_t damaged; /* messages from it, in this membership */
    bool has_hello;   /* in this round */
    bool is_counted;  /* greeted, in the state's group, same rules: takes part if it agrees */
    bool has_ready, is_ok;
    struct hf_boot boot; /* from its hello */
    uint64_t incarnation;
    struct group_hello hello;
    uint64_t oldest;     /* from its ready */
    bool is_participant; /* of the synchronised session */
    hf_node node;        /* when participant */
    uint64_t acked;      /* everything up to here is applied there, in this session */
    uint64_t echoed_no;  /* our newest beat that it says was delivered to it */
};

/* Last event applied of each node's daemon: part of the replicated state. */
struct stream {
    struct hf_boot boot;
    uint64_t incarnation;
    uint64_t last;
};

struct outbox_entry {
    uint64_t sender_seq, cookie;
    uint64_t applied_at; /* engine sequence number; 0 = not applied yet */
    uint32_t at, len;
};

struct outbox {
    struct outbox_entry entry[HF_OUTBOX_MAX];
    uint32_t head, count;  /* ring; the oldest is entry[head] */
    uint32_t next;         /* offset from head of the next one to multicast */
    uint32_t bytes_tail;   /* end of the newest one's bytes */
    uint64_t next_seq;     /* of the next submission */
    uint64_t again_number; /* first multicast number of the last going back */
    hf_time resend_due;    /* REPLICA_NEVER while nothing waits for its delivery */
};

/* One delivery of a beat: the digests that participants computed there. */
struct beat_point {
    uint64_t no;     /* 0 = empty */
    uint64_t digest; /* ours */
    hf_nodes reported;
    uint64_t by[HF_NODES_MAX];
};

struct beats {
    uint64_t next_no;
    hf_time next_due;           /* the next beat of ours */
    hf_time look_due;           /* the next look at the others: an answered beat does not move it */
    hf_time sent[NUMBERS_KEPT]; /* by beat number */
    uint64_t delivered_no;      /* newest of ours delivered back in this session */
    hf_time newest_echoed;
    struct beat_point point[HF_NODES_MAX][BEATS_KEPT];
    uint64_t newest_no[HF_NODES_MAX];
    hf_time heard[HF_NODES_MAX];
    hf_time back_since[HF_NODES_MAX];
    hf_time said[HF_NODES_MAX]; /* when we last submitted something about it */
    hf_nodes muted;             /* by applied events of this session */
};

struct counters {
    uint64_t resent, dropped_old_view, dropped_bad, dropped_gap, duplicates, foreign;
};

struct replica {
    struct replica_settings settings;
    struct hf_group file;
    struct replica_ports ports;

    enum replica_phase phase;
    enum stage stage;
    hf_time now_last, stage_due;
    bool was_in_view; /* a view has been seen: too late for replica_restore */

    /* the membership */
    struct hf_view view;
    uint64_t members_hash;
    uint32_t round;
    uint32_t ring_count, members_count, ghosts;
    uint32_t ring[RING_MAX];
    struct member members[MEMBERS_MAX];
    struct member *self;
    unsigned loads_refused, agreements_failed;

    /* the choice at the end of a greeting */
    struct member *donor;
    uint8_t configured; /* nodes of the chosen state's group */
    bool is_forming;    /* nobody brought a state: from the file */
    bool is_cold;       /* no lineage is carried alive by a majority */
    bool was_frozen;    /* no majority since the last synchronised view */
    bool is_holding;    /* our hello waits for members who may just be coming */
    bool is_late;       /* outside only because our hello or ready came too late */
    uint64_t lineage;   /* a new one, when cold or forming; else 0 */
    uint64_t epoch;     /* promised to this session */
    uint64_t promised;  /* highest ever promised */

    /* the state */
    enum group_state_kind kind;
    bool is_replaced;   /* not yet told through ports.replaced */
    unsigned engine_ix; /* which of the two engines is the state; the other is spare */
    hf_node self_node;
    struct stream streams[HF_NODES_MAX];
    uint64_t digest_seq, digest_kept; /* engine digest, kept until the next step */
    bool has_digest, has_shadow;

    /* the transfer */
    bool is_copying;                         /* somebody lacks the state */
    bool has_chosen;                         /* we hold it */
    hf_time ready_sent;                      /* our READY of this session */
    uint32_t snap_total, snap_at, snap_have; /* donor: next to send; others: received */

    /* acknowledgements and effects */
    uint64_t stable;   /* applied on a majority of the configured nodes, in this session */
    uint64_t released; /* our orders up to here have been released in this session */
    uint64_t ordered;  /* newest step with an order of ours */
    bool owes_all;     /* after a sync: whatever is still wanted of us comes again */

    /* what goes out */
    bool wants_hello, wants_ready, ready_ok, wants_go[GROUP_WAITS];
    uint64_t wants_ack; /* 0 = none */
    bool wants_beat;
    bool is_sending;
    uint64_t number_next, number_delivered;
    hf_time number_sent[NUMBERS_KEPT];
    hf_time probed;

    struct outbox outbox;
    struct beats beats;
    struct counters counters;
    /* Large: never cleared as a whole. */
    size_t at_engine[2], at_snap, at_outbox;
    struct hf_event event;
    struct engine_out out;
    struct hf_effect pending[HF_EFFECTS_MAX];
    uint8_t message[HF_GROUP_MESSAGE_MAX];
    _Alignas(8) uint8_t arena[]; /* two engines, a snapshot, the outbox's bytes */
};

/* replica.c */
struct engine *replica_state(struct replica *r); /* the current one, also when forming */
/* The other one, to load a state into, or in the same state as the current one, to try events on:
 * whoever asks for the spare ends the shadow. */
struct engine *replica_spare(struct replica *r);
struct engine *replica_shadow(struct replica *r);
void replica_state_swapped(struct replica *r); /* after a swap: what is derived is stale */
uint8_t *replica_snap_bytes(struct replica *r);
uint8_t *replica_outbox_bytes(struct replica *r);
void replica_enter(struct replica *r, enum stage stage, enum replica_phase phase, const char *why);
struct group_session replica_session(const struct replica *r);
unsigned replica_majority(const struct replica *r); /* of the configured nodes */
bool replica_ring_has(const struct replica *r, uint32_t nodeid);
uint64_t replica_digest(struct replica *r); /* of state and streams */
uint64_t replica_engine_digest(struct replica *r);
uint64_t replica_digest_of(uint64_t engine_digest, const struct stream streams[HF_NODES_MAX]);
void replica_doubt(struct replica *r, const char *why);
void replica_stop(struct replica *r, const char *why);

/* replica_greet.c */
void greet_begin(struct replica *r, hf_time now); /* this round, from its start */
void greet_again(struct replica *r, hf_time now); /* the next round */
void greet_hello(struct replica *r, struct member *m, const struct group_header *h,
                 const struct group_hello *hello, hf_time now);
void greet_end(struct replica *r, hf_time now);
void greet_go(struct replica *r, const struct group_go *go, hf_time now);
void greet_foreign(struct replica *r, struct member *m, uint16_t version, hf_time now);
void greet_tick(struct replica *r, hf_time now);

/* replica_copy.c */
size_t copy_bytes_max(void);
void copy_pack(struct replica *r); /* the donor: state into snap bytes */
void copy_chunk(struct replica *r, const struct member *m, const struct group_snap *snap,
                hf_time now);

/* replica_sync.c */
void sync_hold(struct replica *r, bool is_ok); /* we hold (or cannot take) the state */
void sync_ready(struct replica *r, struct member *m, const struct group_ready *ready, hf_time now);
void sync_conclude(struct replica *r, hf_time now); /* with whoever is ready */

/* replica_apply.c */
void apply_step(struct replica *r, bool is_mine, uint64_t cookie); /* r->event, seq filled in */
void apply_event(struct replica *r, struct member *m, const struct group_header *h,
                 const struct group_event *message, hf_time now);
void apply_acked(struct replica *r, struct member *m, uint64_t seq, hf_time now);
void apply_release(struct replica *r, hf_time now);
void apply_pending_timers(struct replica *r);

/* replica_outbox.c */
void outbox_init(struct outbox *o);
enum hf_code outbox_add(struct replica *r, const struct hf_event *ev, uint64_t cookie, hf_time now,
                        struct hf_err *err);
uint64_t outbox_oldest(const struct outbox *o);
const struct outbox_entry *outbox_peek(const struct outbox *o); /* next to multicast */
void outbox_sent(struct replica *r, hf_time now);
uint64_t outbox_applied(struct replica *r, uint64_t sender_seq, uint64_t engine_seq, hf_time now);
void outbox_stable(struct replica *r, uint64_t engine_seq);
void outbox_go_back(struct replica *r, hf_time now);
void outbox_gap(struct replica *r, uint64_t number, hf_time now);
void outbox_synced(struct replica *r, uint64_t last, uint64_t engine_seq, hf_time now);

/* replica_beat.c */
void beat_synced(struct replica *r, hf_time now);
void beat_fill(struct replica *r, struct group_beat *beat, hf_time now);
void beat_delivered(struct replica *r, struct member *m, const struct group_beat *beat,
                    hf_time now);
void beat_applied(struct replica *r, const struct hf_event *ev);
void beat_tick(struct replica *r, hf_time now);
void beat_paused(struct replica *r, hf_time now);

/* replica_send.c */
uint32_t send_in_flight(const struct replica *r);
bool send_has_room(const struct replica *r, uint32_t spare);
void send_all(struct replica *r, hf_time now);
void send_side(struct replica *r, const void *bytes, size_t len, hf_time now);
void send_delivered(struct replica *r, uint64_t number);
void send_forget(struct replica *r); /* the connection is gone */
hf_time send_due(const struct replica *r);

#endif
