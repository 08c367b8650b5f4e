/* Events in the total order, acknowledgements, and effects that a majority has seen ordered. */
#include "supervisord/cluster/replica_internal.h"

static void release_timers(struct replica *r, const struct hf_effect *effects, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (effects[i].type == HF_FX_TIMER)
            r->ports.effect(r->ports.user, &effects[i]);
}

void apply_pending_timers(struct replica *r)
{
    uint32_t count = engine_pending(replica_state(r), r->self_node, r->pending);

    release_timers(r, r->pending, count);
}

void apply_step(struct replica *r, bool is_mine, uint64_t cookie)
{
    struct engine *e = replica_state(r);
    uint64_t seq = r->event.seq;

    engine_step_tried(e, replica_shadow(r), &r->event, &r->out);
    beat_applied(r, &r->event);
    r->ports.stepped(r->ports.user, e, &r->event, &r->out, is_mine, cookie);
    for (uint32_t i = 0; i < r->out.effects_count; i++) {
        const struct hf_effect *fx = &r->out.effects[i];

        if (fx->type == HF_FX_TIMER)
            continue;
        r->wants_ack = seq;
        if (hf_node_same(fx->actor, r->self_node))
            r->ordered = seq;
    }
    release_timers(r, r->out.effects, r->out.effects_count);
}

/* ---- events ---- */

static bool is_from_participant(const struct replica *r, const struct member *m,
                                const struct group_header *h)
{
    return r->stage == STAGE_SYNCED && m->is_participant && hf_boot_same(&h->boot, &m->boot) &&
           h->incarnation == m->incarnation;
}

void apply_event(struct replica *r, struct member *m, const struct group_header *h,
                 const struct group_event *message, hf_time now)
{
    struct hf_reader reader = hf_reader_on(message->bytes, message->len);
    struct stream *s;
    struct hf_err err;
    uint64_t cookie = 0, seq;
    bool is_good;

    if (!is_from_participant(r, m, h))
        return;
    s = &r->streams[m->node.ix];
    if (message->sender_seq <= s->last) {
        r->counters.duplicates++;
        return;
    }
    if (message->sender_seq != s->last + 1) {
        r->counters.dropped_gap++;
        if (m == r->self)
            outbox_gap(r, h->number, now);
        return;
    }
    /* Whole, but not an event: everybody skips it alike, or its sender would be stuck for ever. */
    is_good = event_decode(&reader, &r->event, &err) == HF_OK && r->event.type != HF_EV_MEMBERS;
    s->last = message->sender_seq;
    seq = engine_seq(replica_state(r)) + (is_good ? 1 : 0);
    if (m == r->self)
        cookie = outbox_applied(r, message->sender_seq, seq, now);
    if (!is_good) {
        r->counters.dropped_bad++;
        return;
    }
    r->event.from = m->node;
    r->event.seq = seq;
    apply_step(r, m == r->self, cookie);
}

/* ---- acknowledgements ---- */

/* What a majority of the configured nodes has applied: the majority-th largest. */
static uint64_t majority_acked(const struct replica *r)
{
    uint64_t best = 0;

    for (uint32_t i = 0; i < r->members_count; i++) {
        uint64_t seq = r->members[i].acked;
        unsigned reached = 0;

        if (!r->members[i].is_participant || seq <= best)
            continue;
        for (uint32_t k = 0; k < r->members_count; k++)
            if (r->members[k].is_participant && r->members[k].acked >= seq)
                reached++;
        if (reached >= replica_majority(r))
            best = seq;
    }
    return best;
}

/* A daemon that was paused reads what was said meanwhile in order: acknowledgements first, and only
 * then what took the order away, or the change of view. So orders are held until the group has
 * shown that it heard us lately: our READY of this session, or an own beat that a majority echoed.
 */
static bool is_fresh(const struct replica *r, hf_time now)
{
    hf_time last = r->beats.newest_echoed;

    if (r->ready_sent.ns > last.ns)
        last = r->ready_sent;
    return hf_time_since_ms(now, last) <= r->settings.mute_after_ms;
}

/* Our orders up to `stable` that are still wanted, each once a session. */
void apply_release(struct replica *r, hf_time now)
{
    uint64_t from = r->released;
    uint32_t count;

    if (r->released == r->stable || !is_fresh(r, now))
        return;

    r->released = r->stable;
    if (!r->owes_all && r->ordered <= from)
        return;
    r->owes_all = false;
    count = engine_pending(replica_state(r), r->self_node, r->pending);
    for (uint32_t i = 0; i < count; i++) {
        const struct hf_effect *fx = &r->pending[i];

        if (fx->type != HF_FX_TIMER && fx->token.seq > from && fx->token.seq <= r->stable)
            r->ports.effect(r->ports.user, fx);
    }
}

void apply_acked(struct replica *r, struct member *m, uint64_t seq, hf_time now)
{
    uint64_t stable;

    if (r->stage != STAGE_SYNCED || !m->is_participant || seq <= m->acked ||
        seq > engine_seq(replica_state(r)))
        return;
    m->acked = seq;
    stable = majority_acked(r);
    if (stable <= r->stable)
        return;
    r->stable = stable;
    outbox_stable(r, stable);
    apply_release(r, now);
}
