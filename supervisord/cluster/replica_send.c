/* What goes out next, never more than HF_IN_FLIGHT_MAX at a time. */
#include "supervisord/cluster/replica_internal.h"

uint32_t send_in_flight(const struct replica *r)
{
    return (uint32_t)(r->number_next - 1 - r->number_delivered);
}

bool send_has_room(const struct replica *r, uint32_t spare)
{
    return send_in_flight(r) + spare < HF_IN_FLIGHT_MAX;
}

void send_delivered(struct replica *r, uint64_t number)
{
    /* The order of one sender is kept: what was sent before this one and did not come is lost. */
    if (number > r->number_delivered && number < r->number_next)
        r->number_delivered = number;
}

void send_forget(struct replica *r)
{
    r->number_delivered = r->number_next - 1;
}

static struct hf_writer begin(struct replica *r, enum group_type type)
{
    struct group_header h = {.type = type,
                             .view = r->view,
                             .boot = r->settings.boot,
                             .incarnation = r->settings.incarnation,
                             .number = r->number_next};
    struct hf_writer w = hf_writer_on(r->message, sizeof r->message);

    group_put_header(&w, &h);
    return w;
}

static void end(struct replica *r, const struct hf_writer *w, hf_time now)
{
    HF_ASSERT(!w->bad);
    HF_ASSERT(send_in_flight(r) < NUMBERS_KEPT);
    group_seal(r->message, w->len);
    r->number_sent[r->number_next % NUMBERS_KEPT] = now;
    r->number_next++;
    r->ports.mcast(r->ports.user, r->message, w->len);
}

static void send_hello(struct replica *r, hf_time now)
{
    const struct hf_group *group = &r->file;
    struct group_hello hello = {.session = replica_session(r),
                                .ruleset = HF_RULESET,
                                .config = r->file.config,
                                .kind = r->kind,
                                .promised = r->promised};
    struct hf_writer w = begin(r, GROUP_HELLO);

    if (r->kind != GROUP_STATE_NONE) {
        struct hf_group_view view = engine_group(replica_state(r));

        group = view.group;
        hello.lineage = view.lineage;
        hello.epoch = view.epoch;
        hello.seq = view.seq;
        hello.digest = replica_digest(r);
        if (hello.promised < view.epoch)
            hello.promised = view.epoch;
    }
    hello.nodes_count = group->nodes_count;
    for (size_t i = 0; i < group->nodes_count; i++)
        hello.nodeids[i] = group->nodes[i].nodeid;
    group_put_hello(&w, &hello);
    end(r, &w, now);
}

static void send_go(struct replica *r, struct group_session session, enum group_wait wait,
                    hf_time now)
{
    struct group_go go = {session, wait};
    struct hf_writer w = begin(r, GROUP_GO);

    group_put_go(&w, &go);
    end(r, &w, now);
}

static void send_ready(struct replica *r, hf_time now)
{
    struct group_ready ready = {.session = replica_session(r),
                                .is_ok = r->ready_ok,
                                .epoch = r->epoch,
                                .oldest = outbox_oldest(&r->outbox)};
    struct hf_writer w = begin(r, GROUP_READY);

    group_put_ready(&w, &ready);
    r->ready_sent = now;
    end(r, &w, now);
}

static void send_ack(struct replica *r, hf_time now)
{
    struct group_ack ack = {replica_session(r), r->wants_ack};
    struct hf_writer w = begin(r, GROUP_ACK);

    group_put_ack(&w, &ack);
    end(r, &w, now);
}

static void send_beat(struct replica *r, hf_time now)
{
    struct group_beat beat;
    struct hf_writer w = begin(r, GROUP_BEAT);

    beat_fill(r, &beat, now);
    group_put_beat(&w, &beat);
    end(r, &w, now);
}

static void send_chunk(struct replica *r, hf_time now)
{
    uint32_t left = r->snap_total - r->snap_at;
    uint32_t most = r->round == 0 ? GROUP_CHUNK_MAX : SMALL_CHUNK;
    struct group_snap snap = {.session = replica_session(r),
                              .total = r->snap_total,
                              .offset = r->snap_at,
                              .len = left < most ? left : most,
                              .bytes = replica_snap_bytes(r) + r->snap_at};
    struct hf_writer w = begin(r, GROUP_SNAP);

    group_put_snap(&w, &snap);
    r->snap_at += snap.len;
    end(r, &w, now);
}

static void send_event(struct replica *r, const struct outbox_entry *entry, hf_time now)
{
    struct group_event event = {.sender_seq = entry->sender_seq,
                                .bytes = replica_outbox_bytes(r) + entry->at,
                                .len = entry->len};
    struct hf_writer w = begin(r, GROUP_EVENT);

    group_put_event(&w, &event);
    outbox_sent(r, now);
    end(r, &w, now);
}

void send_side(struct replica *r, const void *bytes, size_t len, hf_time now)
{
    struct hf_writer w = begin(r, GROUP_SIDE);

    hf_put_bytes(&w, bytes, len);
    end(r, &w, now);
}

/* ---- the order of things ---- */

static bool take(bool *wanted)
{
    bool was = *wanted;

    *wanted = false;
    return was;
}

static bool send_control(struct replica *r, hf_time now)
{
    if (take(&r->wants_hello)) {
        send_hello(r, now);
        return true;
    }
    for (size_t i = 0; i < GROUP_WAITS; i++) {
        if (take(&r->wants_go[i])) {
            send_go(r, replica_session(r), (enum group_wait)i, now);
            return true;
        }
    }
    if (take(&r->wants_ready)) {
        send_ready(r, now);
        return true;
    }
    if (r->stage == STAGE_SYNCED && r->wants_ack != 0) {
        send_ack(r, now);
        r->wants_ack = 0;
        return true;
    }
    if (r->stage == STAGE_SYNCED && take(&r->wants_beat)) {
        send_beat(r, now);
        return true;
    }
    return false;
}

static bool send_bulk(struct replica *r, hf_time now)
{
    const struct outbox_entry *entry = outbox_peek(&r->outbox);

    if (r->stage == STAGE_AGREE && r->donor == r->self && r->snap_at < r->snap_total) {
        send_chunk(r, now);
        return true;
    }
    if (r->stage == STAGE_SYNCED && entry != NULL) {
        send_event(r, entry, now);
        return true;
    }
    return false;
}

hf_time send_due(const struct replica *r)
{
    hf_time oldest = r->number_sent[(r->number_delivered + 1) % NUMBERS_KEPT];
    hf_time from = r->probed.ns > oldest.ns ? r->probed : oldest;

    if (send_has_room(r, 0) || send_in_flight(r) >= NUMBERS_KEPT)
        return REPLICA_NEVER;
    return hf_time_add_ms(from, r->settings.resend_ms);
}

/* Everything in flight may have been lost, and then nothing would ever make room again. A message
 * that nobody heeds shows by its delivery that the ones before it are gone. */
static void probe(struct replica *r, hf_time now)
{
    struct group_session nobody = {0, 0};

    if (!hf_time_reached(now, send_due(r)))
        return;
    r->probed = now;
    send_go(r, nobody, GROUP_WAIT_HELLOS, now);
}

void send_all(struct replica *r, hf_time now)
{
    if (r->stage == STAGE_OUT || r->is_sending)
        return;
    r->is_sending = true;
    while (send_has_room(r, 0) && send_control(r, now))
        continue;
    while (send_has_room(r, ROOM_FOR_CONTROL) && send_bulk(r, now))
        continue;
    probe(r, now);
    r->is_sending = false;
}
