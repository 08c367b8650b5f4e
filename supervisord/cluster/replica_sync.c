/* Agreement on a state and an epoch, and the first step of a synchronised view. */
#include "supervisord/cluster/replica_internal.h"

#include <string.h>

/* An epoch is promised once: two views that both think they are the majority can then never carry
 * the same one (README.md, "Why a ready round"). */
void sync_hold(struct replica *r, bool is_ok)
{
    r->has_chosen = is_ok;
    r->ready_ok = is_ok;
    r->wants_ready = true;
    if (is_ok && r->promised < r->epoch)
        r->promised = r->epoch;
}

static bool all_are_ready(const struct replica *r)
{
    for (uint32_t i = 0; i < r->members_count; i++)
        if (r->members[i].is_counted && !r->members[i].has_ready)
            return false;
    return true;
}

void sync_ready(struct replica *r, struct member *m, const struct group_ready *ready, hf_time now)
{
    if (r->stage != STAGE_AGREE || !group_session_same(ready->session, replica_session(r)) ||
        !m->is_counted || m->has_ready)
        return;
    m->has_ready = true;
    m->is_ok = ready->is_ok && ready->epoch == r->epoch;
    m->oldest = ready->oldest;
    if (all_are_ready(r))
        sync_conclude(r, now);
}

/* ---- the first step ---- */

/* A new daemon starts a new stream. One that is known continues where the state says, or where the
 * daemon says it must: what it no longer has was settled in a state that is gone. */
static void open_streams(struct replica *r)
{
    for (uint32_t i = 0; i < r->members_count; i++) {
        const struct member *m = &r->members[i];
        struct stream *s;

        if (!m->is_participant)
            continue;
        s = &r->streams[m->node.ix];
        if (!hf_boot_same(&s->boot, &m->boot) || s->incarnation != m->incarnation)
            *s = (struct stream){.boot = m->boot, .incarnation = m->incarnation};
        if (s->last < m->oldest - 1)
            s->last = m->oldest - 1;
    }
}

static void fill_members_event(struct replica *r)
{
    struct hf_event *ev = &r->event;
    const struct hf_group *group = engine_group(replica_state(r)).group;

    memset(ev, 0, sizeof *ev);
    ev->seq = engine_seq(replica_state(r)) + 1;
    ev->from = HF_NO_NODE;
    ev->type = HF_EV_MEMBERS;
    ev->u.members.view = r->view;
    ev->u.members.epoch = r->epoch;
    ev->u.members.lineage = r->lineage;
    ev->u.members.cold = r->is_cold && !r->is_forming; /* before a first view nobody did anything */
    for (size_t i = 0; i < group->nodes_count; i++)
        ev->u.members.node[i].in_ring = replica_ring_has(r, group->nodes[i].nodeid);
    for (uint32_t i = 0; i < r->members_count; i++) {
        const struct member *m = &r->members[i];

        if (!m->is_participant)
            continue;
        ev->u.members.node[m->node.ix].present = true;
        ev->u.members.node[m->node.ix].boot = m->boot;
        ev->u.members.node[m->node.ix].incarnation = m->incarnation;
    }
}

/* The view, as r->event has it. Nothing can be decided in one that the engine cannot take in, and
 * none can be skipped: frozen, by all alike, until the members change or a while has passed. */
static bool view_is_digestible(struct replica *r)
{
    bool is_good = engine_try(replica_shadow(r), &r->event, &r->out);

    r->has_shadow = false; /* a step ahead, or worthless */
    return is_good;
}

static void synchronise(struct replica *r, hf_time now)
{
    uint64_t seq = engine_seq(replica_state(r));

    open_streams(r);
    r->kind = GROUP_STATE_LIVE;
    r->was_frozen = false;
    r->stage_due = REPLICA_NEVER;
    r->stable = r->released = r->ordered = 0;
    r->owes_all = true;
    if (r->is_replaced) {
        r->is_replaced = false;
        r->ports.replaced(r->ports.user, replica_state(r));
    }
    beat_synced(r, now);
    replica_enter(r, STAGE_SYNCED, REPLICA_SYNCED, "a majority holds the same state");
    outbox_synced(r, r->streams[r->self_node.ix].last, seq, now);
    apply_step(r, false, 0);
    r->wants_ack = engine_seq(replica_state(r));
    r->ports.resync(r->ports.user, replica_state(r));
    apply_pending_timers(r);
}

/* ---- the end of the agreement ---- */

static unsigned count_ready(const struct replica *r)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < r->members_count; i++)
        if (r->members[i].is_counted && r->members[i].is_ok)
            count++;
    return count;
}

static void name_participants(struct replica *r)
{
    for (uint32_t i = 0; i < r->members_count; i++) {
        struct member *m = &r->members[i];

        m->node = HF_NO_NODE;
        if (m->is_counted && m->is_ok)
            m->node = engine_node_by_id(replica_state(r), m->nodeid);
        m->is_participant = hf_node_is(m->node);
    }
}

/* The others go on. Greet again unless we have shown that it does not help. */
static void left_behind(struct replica *r, hf_time now)
{
    bool is_hopeless = r->loads_refused >= LOADS_MAX;

    r->is_late = false;
    r->wants_go[GROUP_WAIT_AGAIN] = !is_hopeless;
    r->stage_due = is_hopeless ? REPLICA_NEVER : hf_time_add_ms(now, r->settings.hello_wait_ms);
    replica_enter(r, STAGE_OUTSIDE, REPLICA_FROZEN, "did not hold the group's state in time");
}

static void stand_still(struct replica *r, const char *why, hf_time now)
{
    r->is_late = false;
    r->stage_due = hf_time_add_ms(now, AGREEMENTS_PAUSE * r->settings.hello_wait_ms);
    replica_enter(r, STAGE_FROZEN, REPLICA_FROZEN, why);
}

void sync_conclude(struct replica *r, hf_time now)
{
    if (count_ready(r) < replica_majority(r)) {
        if (++r->agreements_failed < AGREEMENTS_MAX) {
            greet_again(r, now);
            return;
        }
        /* Not for ever: the view may stay as it is, and messages that were lost were lost once
         * (seed 115307: three nodes stood still for an hour). */
        stand_still(r, "no majority could take the state", now);
        return;
    }
    if (!r->self->is_ok) {
        left_behind(r, now);
        return;
    }
    name_participants(r);
    fill_members_event(r);
    if (!view_is_digestible(r)) {
        stand_still(r, "the engine cannot digest this view: a mistake of ours", now);
        return;
    }
    synchronise(r, now);
}
