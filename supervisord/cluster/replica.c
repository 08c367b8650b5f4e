/* The doors of the replica: what corosync says, what the node wants, what can be seen. */
#include "supervisord/cluster/replica_internal.h"

#include "supervisord/base/hash.h"

#include <string.h>

static size_t aligned(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

size_t replica_size(void)
{
    return sizeof(struct replica) + 2 * aligned(engine_size()) + aligned(copy_bytes_max()) +
           OUTBOX_BYTES;
}

/* ---- the state ---- */

struct engine *replica_state(struct replica *r)
{
    return (struct engine *)(void *)(r->arena + r->at_engine[r->engine_ix]);
}

static struct engine *other_engine(struct replica *r)
{
    return (struct engine *)(void *)(r->arena + r->at_engine[1 - r->engine_ix]);
}

struct engine *replica_spare(struct replica *r)
{
    r->has_shadow = false;
    return other_engine(r);
}

struct engine *replica_shadow(struct replica *r)
{
    if (!r->has_shadow)
        memcpy(other_engine(r), replica_state(r), engine_size());
    r->has_shadow = true;
    return other_engine(r);
}

uint8_t *replica_snap_bytes(struct replica *r)
{
    return r->arena + r->at_snap;
}

uint8_t *replica_outbox_bytes(struct replica *r)
{
    return r->arena + r->at_outbox;
}

const struct engine *replica_engine(const struct replica *r)
{
    if (r->kind == GROUP_STATE_NONE)
        return NULL;
    return (const struct engine *)(const void *)(r->arena + r->at_engine[r->engine_ix]);
}

void replica_state_swapped(struct replica *r)
{
    r->engine_ix = 1 - r->engine_ix;
    r->has_digest = r->has_shadow = false;
    r->is_replaced = true;
    r->self_node = engine_node_by_id(replica_state(r), r->settings.nodeid);
}

uint64_t replica_engine_digest(struct replica *r)
{
    uint64_t seq = engine_seq(replica_state(r));

    if (!r->has_digest || r->digest_seq != seq) {
        r->digest_kept = engine_digest(replica_state(r));
        r->digest_seq = seq;
        r->has_digest = true;
    }
    return r->digest_kept;
}

uint64_t replica_digest_of(uint64_t engine_digest, const struct stream streams[HF_NODES_MAX])
{
    uint8_t bytes[8 + HF_NODES_MAX * 32];
    struct hf_writer w = hf_writer_on(bytes, sizeof bytes);

    hf_put_u64(&w, engine_digest);
    for (size_t i = 0; i < HF_NODES_MAX; i++) {
        hf_put_bytes(&w, streams[i].boot.id, sizeof streams[i].boot.id);
        hf_put_u64(&w, streams[i].incarnation);
        hf_put_u64(&w, streams[i].last);
    }
    HF_ASSERT(!w.bad);
    return hf_hash(HF_HASH_START, bytes, w.len);
}

uint64_t replica_digest(struct replica *r)
{
    return replica_digest_of(replica_engine_digest(r), r->streams);
}

/* ---- phases ---- */

struct group_session replica_session(const struct replica *r)
{
    return (struct group_session){r->members_hash, r->round};
}

unsigned replica_majority(const struct replica *r)
{
    return r->configured / 2u + 1u;
}

void replica_enter(struct replica *r, enum stage stage, enum replica_phase phase, const char *why)
{
    enum replica_phase was = r->phase;

    r->stage = stage;
    r->phase = phase;
    if (was != phase)
        r->ports.phase(r->ports.user, was, phase, why);
}

void replica_stop(struct replica *r, const char *why)
{
    r->stage_due = REPLICA_NEVER;
    replica_enter(r, STAGE_OUT, REPLICA_STOPPED, why);
}

void replica_doubt(struct replica *r, const char *why)
{
    if (r->stage == STAGE_OUT || r->stage == STAGE_DOUBT)
        return;
    r->wants_go[GROUP_WAIT_AGAIN] = true;
    r->stage_due = hf_time_add_ms(r->now_last, r->settings.hello_wait_ms);
    replica_enter(r, STAGE_DOUBT, REPLICA_GREETING, why);
}

/* Called long after our deadline: we were paused, not the peers silent. */
static void note_time(struct replica *r, hf_time now)
{
    hf_time due = replica_deadline(r);

    r->now_last = now;
    if (due.ns == REPLICA_NEVER.ns || hf_time_since_ms(now, due) <= r->settings.mute_after_ms / 2)
        return;
    beat_paused(r, now);
    if (r->stage_due.ns != REPLICA_NEVER.ns)
        r->stage_due = hf_time_add_ms(now, r->settings.hello_wait_ms);
}

/* ---- start ---- */

static enum hf_code check_settings(const struct replica_settings *s, struct hf_err *err)
{
    if (s->beat_ms == 0 || s->mute_after_ms == 0 || s->hello_wait_ms == 0 || s->resend_ms == 0)
        return hf_err_set(err, HF_EINVAL, "replica: a duration is zero");
    if (s->file->nodes_count == 0 || s->file->nodes_count > HF_NODES_MAX)
        return hf_err_set(err, HF_EINVAL, "replica: %u nodes in the cluster file",
                          s->file->nodes_count);
    for (size_t i = 0; i < s->file->nodes_count; i++)
        if (s->file->nodes[i].nodeid == s->nodeid)
            return HF_OK;
    return hf_err_set(err, HF_EINVAL, "replica: node id %u is not in the cluster file", s->nodeid);
}

enum hf_code replica_init(struct replica *r, const struct replica_settings *settings,
                          const struct replica_ports *ports, struct hf_err *err)
{
    if (check_settings(settings, err) != HF_OK)
        return err->code;
    memset(r, 0, offsetof(struct replica, event));
    r->settings = *settings;
    r->file = *settings->file;
    r->settings.file = &r->file;
    r->ports = *ports;
    r->at_engine[0] = 0;
    r->at_engine[1] = aligned(engine_size());
    r->at_snap = 2 * aligned(engine_size());
    r->at_outbox = r->at_snap + aligned(copy_bytes_max());
    r->stage_due = REPLICA_NEVER;
    r->self_node = HF_NO_NODE;
    r->number_next = 1;
    r->beats.next_no = 1;
    outbox_init(&r->outbox);
    return HF_OK;
}

enum hf_code replica_restore(struct replica *r, const uint8_t *bytes, size_t len,
                             struct hf_err *err)
{
    if (r->was_in_view || r->kind != GROUP_STATE_NONE)
        return hf_err_set(err, HF_EINVAL, "restore: there is a state or a view already");
    if (engine_load(replica_spare(r), bytes, len, err) != HF_OK)
        return hf_err_wrap(err, "restore");
    replica_state_swapped(r);
    r->kind = GROUP_STATE_STORED;
    r->promised = engine_group(replica_state(r)).epoch;
    return HF_OK;
}

/* ---- membership ---- */

bool replica_ring_has(const struct replica *r, uint32_t nodeid)
{
    for (uint32_t i = 0; i < r->ring_count; i++)
        if (r->ring[i] == nodeid)
            return true;
    return false;
}

static bool is_before(const struct replica_peer *a, const struct replica_peer *b)
{
    return a->nodeid != b->nodeid ? a->nodeid < b->nodeid : a->pid < b->pid;
}

/* Peers inside the ring, by (nodeid, pid). The ghosts are counted, the surplus ignored. */
static uint32_t sort_peers(struct replica *r, const struct replica_peer *peers, size_t count,
                           struct replica_peer sorted[MEMBERS_MAX])
{
    uint32_t n = 0;

    r->ghosts = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t at;

        if (!replica_ring_has(r, peers[i].nodeid)) {
            r->ghosts++;
            continue;
        }
        if (n == MEMBERS_MAX && !is_before(&peers[i], &sorted[n - 1]))
            continue;
        if (n < MEMBERS_MAX)
            n++;
        for (at = n - 1; at > 0 && is_before(&peers[i], &sorted[at - 1]); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = peers[i];
    }
    return n;
}

static uint64_t hash_members(struct hf_view view, const struct replica_peer *sorted, uint32_t count)
{
    uint8_t bytes[16 + MEMBERS_MAX * 8];
    struct hf_writer w = hf_writer_on(bytes, sizeof bytes);

    hf_put_u32(&w, view.leader);
    hf_put_u64(&w, view.seq);
    for (uint32_t i = 0; i < count; i++) {
        hf_put_u32(&w, sorted[i].nodeid);
        hf_put_u32(&w, sorted[i].pid);
    }
    HF_ASSERT(!w.bad);
    return hf_hash(HF_HASH_START, bytes, w.len);
}

/* Two processes of one node: nobody can say which one is its daemon, so neither is counted until
 * one has left. */
static void take_members(struct replica *r, const struct replica_peer *sorted, uint32_t count)
{
    r->members_count = 0;
    r->self = NULL;
    r->donor = NULL;
    for (uint32_t i = 0; i < count; i++) {
        bool is_double = (i > 0 && sorted[i - 1].nodeid == sorted[i].nodeid) ||
                         (i + 1 < count && sorted[i + 1].nodeid == sorted[i].nodeid);
        struct member *m = &r->members[r->members_count];

        if (is_double)
            continue;
        memset(m, 0, sizeof *m);
        m->nodeid = sorted[i].nodeid;
        m->pid = sorted[i].pid;
        m->node = HF_NO_NODE;
        if (m->nodeid == r->settings.nodeid)
            r->self = m;
        r->members_count++;
    }
}

void replica_members(struct replica *r, struct hf_view view, const struct replica_peer *peers,
                     size_t peers_count, const uint32_t *ring, size_t ring_count, hf_time now)
{
    struct replica_peer sorted[MEMBERS_MAX];
    uint64_t hash;
    uint32_t count;

    note_time(r, now);
    if (r->phase == REPLICA_STOPPED)
        return;
    r->was_in_view = true;
    r->ring_count = (uint32_t)(ring_count < RING_MAX ? ring_count : RING_MAX);
    for (uint32_t i = 0; i < r->ring_count; i++)
        r->ring[i] = ring[i];
    count = sort_peers(r, peers, peers_count, sorted);
    hash = hash_members(view, sorted, count);
    if (r->stage != STAGE_OUT && hash == r->members_hash)
        return;
    r->view = view;
    r->members_hash = hash;
    r->round = 0;
    r->loads_refused = r->agreements_failed = 0;
    take_members(r, sorted, count);
    if (r->self == NULL) {
        r->stage_due = REPLICA_NEVER;
        replica_enter(r, STAGE_OUT, REPLICA_APART, "this node is not in the group");
        return;
    }
    greet_begin(r, now);
    send_all(r, now);
}

void replica_apart(struct replica *r, hf_time now)
{
    note_time(r, now);
    if (r->phase == REPLICA_STOPPED)
        return;
    r->members_count = 0;
    r->self = r->donor = NULL;
    r->stage_due = REPLICA_NEVER;
    send_forget(r);
    replica_enter(r, STAGE_OUT, REPLICA_APART, "takes no part in corosync's group");
}

/* ---- deliveries ---- */

static struct member *find_member(struct replica *r, uint32_t nodeid, uint32_t pid)
{
    for (uint32_t i = 0; i < r->members_count; i++)
        if (r->members[i].nodeid == nodeid && r->members[i].pid == pid)
            return &r->members[i];
    return NULL;
}

static bool is_ours(const struct replica *r, const struct group_header *h, uint32_t nodeid)
{
    return nodeid == r->settings.nodeid && hf_boot_same(&h->boot, &r->settings.boot) &&
           h->incarnation == r->settings.incarnation;
}

/* A message of a round that we have not reached: we missed how it began. */
static bool is_ahead(struct replica *r, struct group_session session, hf_time now)
{
    if (session.members_hash != r->members_hash || session.round <= r->round)
        return false;
    r->round = session.round;
    greet_begin(r, now);
    replica_doubt(r, "missed the beginning of a round");
    return true;
}

static void deliver_hello(struct replica *r, struct member *m, const struct group_header *h,
                          struct hf_reader *body, hf_time now)
{
    struct group_hello hello;
    struct hf_err err;

    if (group_get_hello(body, &hello, &err) != HF_OK)
        r->counters.dropped_bad++;
    else if (!is_ahead(r, hello.session, now))
        greet_hello(r, m, h, &hello, now);
}

static void deliver_go(struct replica *r, struct hf_reader *body, hf_time now)
{
    struct group_go go;
    struct hf_err err;

    if (group_get_go(body, &go, &err) != HF_OK)
        r->counters.dropped_bad++;
    else if (!is_ahead(r, go.session, now))
        greet_go(r, &go, now);
}

static void deliver_ready(struct replica *r, struct member *m, struct hf_reader *body, hf_time now)
{
    struct group_ready ready;
    struct hf_err err;

    if (group_get_ready(body, &ready, &err) != HF_OK)
        r->counters.dropped_bad++;
    else if (!is_ahead(r, ready.session, now))
        sync_ready(r, m, &ready, now);
}

static void deliver_snap(struct replica *r, struct member *m, struct hf_reader *body, hf_time now)
{
    struct group_snap snap;
    struct hf_err err;

    if (group_get_snap(body, &snap, &err) != HF_OK)
        r->counters.dropped_bad++;
    else if (!is_ahead(r, snap.session, now))
        copy_chunk(r, m, &snap, now);
}

static void deliver_event(struct replica *r, struct member *m, const struct group_header *h,
                          struct hf_reader *body, hf_time now)
{
    struct group_event message;
    struct hf_err err;

    if (group_get_event(body, &message, &err) != HF_OK)
        r->counters.dropped_bad++;
    else
        apply_event(r, m, h, &message, now);
}

static void deliver_ack(struct replica *r, struct member *m, struct hf_reader *body, hf_time now)
{
    struct group_ack ack;
    struct hf_err err;

    if (group_get_ack(body, &ack, &err) != HF_OK)
        r->counters.dropped_bad++;
    else if (!is_ahead(r, ack.session, now) && group_session_same(ack.session, replica_session(r)))
        apply_acked(r, m, ack.seq, now);
}

static void deliver_beat(struct replica *r, struct member *m, struct hf_reader *body, hf_time now)
{
    struct group_beat beat;
    struct hf_err err;

    if (group_get_beat(body, &beat, &err) != HF_OK)
        r->counters.dropped_bad++;
    else if (!is_ahead(r, beat.session, now) &&
             group_session_same(beat.session, replica_session(r)))
        beat_delivered(r, m, &beat, now);
}

static void deliver(struct replica *r, struct member *m, const struct group_header *h,
                    struct hf_reader *body, hf_time now)
{
    switch (h->type) {
    case GROUP_HELLO:
        deliver_hello(r, m, h, body, now);
        return;
    case GROUP_GO:
        deliver_go(r, body, now);
        return;
    case GROUP_READY:
        deliver_ready(r, m, body, now);
        return;
    case GROUP_SNAP:
        deliver_snap(r, m, body, now);
        return;
    case GROUP_EVENT:
        deliver_event(r, m, h, body, now);
        return;
    case GROUP_ACK:
        deliver_ack(r, m, body, now);
        return;
    case GROUP_BEAT:
        deliver_beat(r, m, body, now);
        return;
    case GROUP_SIDE:
        r->ports.side(r->ports.user, m->nodeid, body->at + body->pos, body->len - body->pos);
        return;
    case GROUP_TYPES:
        break;
    }
    HF_ASSERT(h->type < GROUP_TYPES);
}

/* Damage reaches us alone: what the others took from this message we have missed. But somebody who
 * never greets and only sends noise must not keep the group greeting. */
static void deliver_damaged(struct replica *r, struct member *m)
{
    r->counters.dropped_bad++;
    if (m == NULL)
        return;
    if (m->damaged < DAMAGED_MAX || m->has_hello)
        replica_doubt(r, "a member's message arrived damaged");
    if (m->damaged < DAMAGED_MAX)
        m->damaged++;
}

void replica_deliver(struct replica *r, uint32_t nodeid, uint32_t pid, const uint8_t *bytes,
                     size_t len, hf_time now)
{
    struct group_header h;
    struct hf_reader body;
    uint16_t version;
    struct member *m;
    enum group_opened opened = group_open(bytes, len, &h, &body, &version);

    note_time(r, now);
    if (opened == GROUP_OPENED && is_ours(r, &h, nodeid))
        send_delivered(r, h.number);
    if (r->stage == STAGE_OUT)
        return;
    m = find_member(r, nodeid, pid);
    switch (opened) {
    case GROUP_DAMAGED:
        deliver_damaged(r, m);
        break;
    case GROUP_FOREIGN:
        if (m != NULL)
            greet_foreign(r, m, version, now);
        break;
    case GROUP_OPENED:
        if (m == NULL || !hf_view_same(h.view, r->view))
            r->counters.dropped_old_view++;
        else
            deliver(r, m, &h, &body, now);
        break;
    }
    send_all(r, now);
}

/* ---- what the node wants ---- */

enum hf_code replica_submit(struct replica *r, const struct hf_event *ev, uint64_t cookie,
                            hf_time now, struct hf_err *err)
{
    if (r->phase == REPLICA_STOPPED)
        return hf_err_set(err, HF_ECLOSED, "this replica has stopped");
    if (outbox_add(r, ev, cookie, now, err) != HF_OK)
        return err->code;
    send_all(r, now);
    return HF_OK;
}

enum hf_code replica_side(struct replica *r, const void *bytes, size_t len, hf_time now,
                          struct hf_err *err)
{
    if (len == 0 || len > HF_GROUP_MESSAGE_MAX - 128)
        return hf_err_set(err, HF_EINVAL, "side message of %zu bytes", len);
    if (r->stage == STAGE_OUT || !send_has_room(r, ROOM_FOR_CONTROL))
        return hf_err_set(err, HF_EAGAIN, "side message: not in a group, or too many in flight");
    send_side(r, bytes, len, now);
    return HF_OK;
}

void replica_tick(struct replica *r, hf_time now)
{
    note_time(r, now);
    if (r->stage == STAGE_OUT)
        return;
    greet_tick(r, now);
    if (r->stage == STAGE_SYNCED) {
        if (hf_time_reached(now, r->outbox.resend_due))
            outbox_go_back(r, now);
        beat_tick(r, now);
    }
    send_all(r, now);
}

static hf_time earlier(hf_time a, hf_time b)
{
    return a.ns < b.ns ? a : b;
}

hf_time replica_deadline(const struct replica *r)
{
    hf_time due = REPLICA_NEVER;

    if (r->stage == STAGE_OUT)
        return due;
    due = earlier(r->stage_due, send_due(r));
    if (r->stage == STAGE_SYNCED)
        due = earlier(due,
                      earlier(earlier(r->beats.next_due, r->beats.look_due), r->outbox.resend_due));
    return due;
}

/* ---- views ---- */

struct replica_view replica_look(const struct replica *r)
{
    struct replica_view v = {
        .phase = r->phase,
        .view = r->view,
        .round = r->round,
        .ghosts = r->ghosts,
        .in_flight = send_in_flight(r),
        .queued = r->outbox.count - r->outbox.next,
        .resent = r->counters.resent,
        .dropped_old_view = r->counters.dropped_old_view,
        .dropped_bad = r->counters.dropped_bad,
        .dropped_gap = r->counters.dropped_gap,
        .duplicates = r->counters.duplicates,
        .newest_echoed = r->beats.newest_echoed,
    };

    for (uint32_t i = 0; i < r->members_count; i++)
        if (r->members[i].is_participant)
            v.participants |= hf_bit(r->members[i].node);
    memcpy(v.heard, r->beats.heard, sizeof v.heard);
    return v;
}
