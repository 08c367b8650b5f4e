/* timer.c - armed timers and their tokens. A timer is a duration: every shell runs its own and says
 * when it ran out. The first word counts, except for safety timers, whose end can cost a host or a
 * second copy: a majority of the configured nodes must have waited, and one fast clock shortens
 * nothing. */
#include "supervisord/engine/internal.h"

void timer_arm(struct step *s, struct timer *t, enum purpose purpose, uint32_t after_ms)
{
    HF_ASSERT(purpose > FOR_NOTHING && purpose < PURPOSES);
    HF_ASSERT(after_ms > 0);
    struct hf_effect *fx = step_effect(s, HF_FX_TIMER, HF_NO_NODE);
    fx->u.timer.after_ms = after_ms;
    *t = (struct timer){fx->token, after_ms, (uint8_t)purpose, 0};
}

void timer_clear(struct timer *t)
{
    *t = (struct timer){0};
}

bool timer_is_safety(enum purpose purpose)
{
    return purpose == FOR_GRACE || purpose == FOR_STARTUP || purpose == FOR_SAFE_TIME ||
           purpose == FOR_HOLD || purpose == FOR_STOP_DEADLINE;
}

uint32_t backoff_ms(const uint32_t *list, uint8_t count, uint32_t nth)
{
    HF_ASSERT(count > 0 && count <= HF_BACKOFFS_MAX);
    HF_ASSERT(nth > 0);
    return list[nth > count ? count - 1u : nth - 1];
}

static bool is_due(const struct timer *t, struct hf_token token)
{
    return t->purpose != FOR_NOTHING && hf_token_same(t->token, token);
}

/* Count a vote; true when the timer has run out for the group. It is cleared then. */
static bool ran_out(struct step *s, struct timer *t, hf_node from)
{
    t->votes |= hf_bit(from);
    unsigned needed = timer_is_safety(t->purpose) ? s->e->group.nodes_count / 2u + 1 : 1;
    if (hf_nodes_count(t->votes) < needed) {
        step_answer(s, true, HF_WHY_VOTE_COUNTED);
        return false;
    }
    timer_clear(t);
    return true;
}

/* A timer that runs beside the life of a node ran out for the group. */
static void side_timer(struct step *s, uint8_t n, enum purpose purpose)
{
    struct node *node = &s->e->nodes[n];
    s->needs_review = true;
    if (purpose == FOR_MAINTENANCE) {
        maintenance_end(s, n, HF_WHY_MAINTENANCE_EXPIRED);
    } else if (purpose == FOR_SAFE_TIME) {
        watchdog_time_over(s, n);
    } else if (purpose == FOR_HOLD) {
        node->hold_order = (struct hf_token){0};
        step_note_node(s, n, node->state, HF_WHY_HOLD_OVER, 0);
    } else if (purpose == FOR_FLAP) {
        node->returns = 0;
    } else {
        HF_ASSERT(purpose == FOR_SETTLE);
        step_note_node(s, n, node->state, HF_WHY_SETTLED, 0);
    }
}

static bool node_timer(struct step *s, uint8_t n, hf_node from, struct hf_token token)
{
    struct node *node = &s->e->nodes[n];
    struct timer *beside[] = {&node->maintenance, &node->safe,   &node->hold,
                              &node->flap,        &node->settle, NULL};
    struct timer *t = is_due(&node->timer, token) ? &node->timer : NULL;
    for (unsigned i = 0; beside[i]; i++)
        if (is_due(beside[i], token))
            t = beside[i];
    if (!t)
        return false;
    enum purpose purpose = t->purpose;
    if ((purpose == FOR_GRACE || purpose == FOR_SAFE_TIME) && from.ix == n) {
        step_answer(s, false, HF_WHY_ALREADY); /* who speaks is no witness to his own silence */
        return true;
    }
    if (!ran_out(s, t, from))
        return true;
    if (t != &node->timer) {
        side_timer(s, n, purpose);
        return true;
    }
    if (purpose == FOR_GRACE) {
        if (node_apply(s, n, HF_NE_GRACE_OVER, HF_WHY_GRACE_OVER, 0))
            vm_node_lost(s, n);
    } else {
        fence_timer(s, n, purpose);
    }
    s->needs_review = true;
    return true;
}

static bool vm_timer(struct step *s, struct vm *v, hf_node from, struct hf_token token)
{
    struct timer *t = is_due(&v->legs.timer, token) ? &v->legs.timer : &v->timer;
    if (!is_due(t, token))
        return false;
    enum purpose purpose = t->purpose;
    if (!ran_out(s, t, from))
        return true;
    if (purpose == FOR_LEGS)
        nic_wait_over(s, v);
    else if (purpose == FOR_START_DEADLINE)
        vm_apply(s, v, HF_VE_START_UNKNOWN, HF_WHY_START_DEADLINE);
    else if (purpose == FOR_STOP_DEADLINE)
        vm_apply(s, v, HF_VE_STOP_UNPROVED, HF_WHY_STOP_UNPROVED);
    else
        vm_apply(s, v, HF_VE_TIMER, purpose == FOR_STABLE ? HF_WHY_STABLE : HF_WHY_BACKOFF_OVER);
    s->needs_review = true;
    return true;
}

void timer_expired(struct step *s, hf_node from, struct hf_token token)
{
    struct engine *e = s->e;
    if (is_due(&e->startup, token)) {
        if (ran_out(s, &e->startup, from)) {
            step_note_group(s, HF_WHY_STARTUP_GRACE_OVER, 0);
            s->needs_review = true;
        }
        return;
    }
    if (is_due(&e->storm, token)) {
        ran_out(s, &e->storm, from);
        e->storm_count = 0;
        return;
    }
    FOR_EACH_NODE (e, n)
        if (node_timer(s, n, from, token))
            return;
    FOR_EACH_VM (e, v)
        if (vm_timer(s, v, from, token))
            return;
    step_answer(s, false, HF_WHY_STALE_TOKEN);
}
