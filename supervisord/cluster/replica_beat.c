/* Beats: who is there, whether all compute the same, and how fresh our own place in the group is.
 */
#include "supervisord/cluster/replica_internal.h"

#include <string.h>

void beat_synced(struct replica *r, hf_time now)
{
    struct beats *b = &r->beats;

    memset(b->point, 0, sizeof b->point);
    memset(b->newest_no, 0, sizeof b->newest_no);
    memset(b->said, 0, sizeof b->said);
    for (size_t i = 0; i < HF_NODES_MAX; i++)
        b->heard[i] = b->back_since[i] = now;
    b->delivered_no = 0;
    b->muted = 0;
    b->next_due = b->look_due = now;
}

void beat_paused(struct replica *r, hf_time now)
{
    for (size_t i = 0; i < HF_NODES_MAX; i++)
        if (r->beats.heard[i].ns != 0)
            r->beats.heard[i] = now;
}

static hf_nodes participants(const struct replica *r)
{
    hf_nodes set = 0;

    for (uint32_t i = 0; i < r->members_count; i++)
        if (r->members[i].is_participant)
            set |= hf_bit(r->members[i].node);
    return set;
}

/* ---- sending ---- */

void beat_fill(struct replica *r, struct group_beat *beat, hf_time now)
{
    struct beats *b = &r->beats;

    memset(beat, 0, sizeof *beat);
    beat->session = replica_session(r);
    beat->beat_no = b->next_no++;
    beat->sent_ns = now.ns;
    beat->applied = engine_seq(replica_state(r));
    b->sent[beat->beat_no % NUMBERS_KEPT] = now;
    for (uint32_t i = 0; i < r->members_count; i++) {
        const struct member *m = &r->members[i];

        for (uint64_t back = 0; m->is_participant && back < 2; back++) {
            uint64_t no = b->newest_no[m->node.ix] - back;
            const struct beat_point *p = &b->point[m->node.ix][no % BEATS_KEPT];

            if (b->newest_no[m->node.ix] > back && p->no == no)
                beat->reports[beat->reports_count++] =
                    (struct group_report){m->nodeid, no, p->digest};
        }
    }
}

/* ---- divergence ---- */

static unsigned agree_with(const struct beat_point *p, uint64_t digest)
{
    unsigned count = 0;

    for (size_t n = 0; n < HF_NODES_MAX; n++)
        if ((p->reported & (1u << n)) != 0 && p->by[n] == digest)
            count++;
    return count;
}

/* Every participant judges the same reports in the same order, so all come to the same verdict:
 * a majority of the participants goes on and the odd one stops; no majority, nobody goes on. */
static void judge(struct replica *r, const struct beat_point *p)
{
    hf_nodes all = participants(r);
    unsigned count = hf_nodes_count(all), best = 0;
    uint64_t digest = 0;

    for (size_t n = 0; n < HF_NODES_MAX; n++) {
        if ((p->reported & (1u << n)) != 0 && agree_with(p, p->by[n]) > best) {
            best = agree_with(p, p->by[n]);
            digest = p->by[n];
        }
    }
    if (2 * best > count) {
        if (hf_nodes_has(p->reported, r->self_node) && p->by[r->self_node.ix] != digest)
            replica_stop(r, "diverged: a majority of the group computed another state");
        return;
    }
    if ((p->reported & all) == all) {
        r->stage_due = REPLICA_NEVER;
        replica_enter(r, STAGE_FROZEN, REPLICA_FROZEN,
                      "diverged: the members computed different states and none has a majority");
    }
}

static void take_report(struct replica *r, struct member *m, const struct group_report *report)
{
    hf_node of = engine_node_by_id(replica_state(r), report->nodeid);
    struct beat_point *p;

    if (!hf_node_is(of))
        return;
    if (hf_node_same(of, r->self_node) && report->beat_no > m->echoed_no &&
        report->beat_no < r->beats.next_no)
        m->echoed_no = report->beat_no;
    p = &r->beats.point[of.ix][report->beat_no % BEATS_KEPT];
    if (p->no != report->beat_no || hf_nodes_has(p->reported, m->node))
        return;
    p->reported |= hf_bit(m->node);
    p->by[m->node.ix] = report->digest;
    judge(r, p);
}

/* ---- the lease ---- */

/* Newest own beat that, with ourselves, a majority of the configured nodes says was delivered. */
static void note_echo(struct replica *r)
{
    struct beats *b = &r->beats;
    uint64_t best = 0;

    for (uint32_t i = 0; i < r->members_count; i++) {
        uint64_t no = r->members[i].echoed_no;
        unsigned reached = 0;

        if (!r->members[i].is_participant || no <= best || no > b->delivered_no)
            continue;
        for (uint32_t k = 0; k < r->members_count; k++)
            if (r->members[k].is_participant && r->members[k].echoed_no >= no)
                reached++;
        if (reached >= replica_majority(r))
            best = no;
    }
    if (best + NUMBERS_KEPT > b->next_no && b->sent[best % NUMBERS_KEPT].ns > b->newest_echoed.ns &&
        best > 0)
        b->newest_echoed = b->sent[best % NUMBERS_KEPT];
}

/* ---- delivery ---- */

static void note_delivery(struct replica *r, const struct member *m, uint64_t beat_no, hf_time now)
{
    struct beats *b = &r->beats;
    uint8_t n = m->node.ix;

    if (hf_time_since_ms(now, b->heard[n]) > r->settings.mute_after_ms)
        b->back_since[n] = now;
    b->heard[n] = now;
    if (beat_no <= b->newest_no[n])
        return;
    b->newest_no[n] = beat_no;
    b->point[n][beat_no % BEATS_KEPT] =
        (struct beat_point){.no = beat_no, .digest = replica_engine_digest(r)};
    if (m == r->self)
        b->delivered_no = beat_no;
}

/* Beats come together: one that would be due soon answers the one that is here. An idle ring then
 * stays idle for longer (corosync holds its token for up to 0.18 s, and that time counts when a
 * host is lost), and the answer echoes the other's lease at once. */
static void answer(struct replica *r, const struct member *m, hf_time now)
{
    struct beats *b = &r->beats;

    if (m == r->self || hf_time_since_ms(b->next_due, now) > (int64_t)r->settings.beat_ms / 2)
        return;
    b->next_due = hf_time_add_ms(now, r->settings.beat_ms);
    r->wants_beat = true;
}

void beat_delivered(struct replica *r, struct member *m, const struct group_beat *beat, hf_time now)
{
    if (r->stage != STAGE_SYNCED || !m->is_participant)
        return;
    note_delivery(r, m, beat->beat_no, now);
    for (size_t i = 0; i < beat->reports_count && r->stage == STAGE_SYNCED; i++)
        take_report(r, m, &beat->reports[i]);
    if (r->stage != STAGE_SYNCED)
        return;
    note_echo(r);
    answer(r, m, now);
    apply_acked(r, m, beat->applied, now);
    if (r->stage == STAGE_SYNCED)
        apply_release(r, now);
}

/* ---- mute peers ---- */

void beat_applied(struct replica *r, const struct hf_event *ev)
{
    if (ev->type != HF_EV_BEAT)
        return;
    if (ev->u.beat.heard)
        r->beats.muted &= (hf_nodes)~hf_bit(ev->u.beat.node);
    else
        r->beats.muted |= hf_bit(ev->u.beat.node);
}

static bool is_silent(const struct replica *r, size_t n, hf_time now)
{
    return hf_time_since_ms(now, r->beats.heard[n]) > r->settings.mute_after_ms;
}

/* How many participants that can be heard come before us: they speak first, but nobody about
 * himself. */
static int64_t our_rank(const struct replica *r, size_t about, hf_time now)
{
    hf_nodes all = participants(r);
    int64_t rank = 0;

    for (size_t n = 0; n < r->self_node.ix; n++)
        if (n != about && (all & (1u << n)) != 0 && !is_silent(r, n, now))
            rank++;
    return rank;
}

static void say(struct replica *r, size_t n, bool heard, hf_time now)
{
    struct hf_event ev;
    struct hf_err err;

    if (r->beats.said[n].ns != 0 &&
        hf_time_since_ms(now, r->beats.said[n]) <= r->settings.mute_after_ms)
        return;
    memset(&ev, 0, sizeof ev);
    ev.type = HF_EV_BEAT;
    ev.u.beat.node = (hf_node){(uint8_t)n};
    ev.u.beat.heard = heard;
    /* A full outbox is no loss: the next tick finds the same peer as silent. */
    if (outbox_add(r, &ev, 0, now, &err) == HF_OK)
        r->beats.said[n] = now;
}

static void look_at(struct replica *r, size_t n, hf_time now)
{
    const struct beats *b = &r->beats;
    int64_t wait_ms = (int64_t)r->settings.mute_after_ms;
    int64_t rank = our_rank(r, n, now);
    bool is_muted = (b->muted & (1u << n)) != 0;

    if (is_silent(r, n, now)) {
        if (!is_muted && hf_time_since_ms(now, b->heard[n]) > wait_ms * (1 + rank))
            say(r, n, false, now);
        return;
    }
    if (is_muted && hf_time_since_ms(now, b->back_since[n]) >= wait_ms * rank)
        say(r, n, true, now);
}

void beat_tick(struct replica *r, hf_time now)
{
    struct beats *b = &r->beats;
    hf_nodes all = participants(r);

    if (hf_time_reached(now, b->next_due)) {
        b->next_due = hf_time_add_ms(now, r->settings.beat_ms);
        r->wants_beat = true;
    }
    if (!hf_time_reached(now, b->look_due))
        return;
    b->look_due = hf_time_add_ms(now, r->settings.beat_ms);
    /* Our own beats do not come back: it is our link that is silent, and we say nothing. */
    if (hf_time_since_ms(now, b->heard[r->self_node.ix]) > r->settings.mute_after_ms / 2)
        return;
    for (size_t n = 0; n < HF_NODES_MAX; n++)
        if ((all & (1u << n)) != 0 && n != r->self_node.ix)
            look_at(r, n, now);
}
