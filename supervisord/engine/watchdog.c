/* watchdog.c - time as a proof of death: what a node attested of its watchdog, how long the others
 * wait for it, and absences that were announced.
 * Why the wait is enough is told in fencing/README.md. Here it matters that it begins with a loss
 * that every waiter has seen, that a majority has waited, and that only the node itself changes
 * what it attested: a feeder that was killed leaves an armed watchdog behind. */
#include <string.h>

#include "supervisord/engine/internal.h"

void watchdog_forget(struct node *n)
{
    n->attest = (struct attest){0};
    n->hold_ms = 0;
    n->hold_seq = 0;
    n->disarm_order = n->hold_order = (struct hf_token){0};
    timer_clear(&n->safe);
    timer_clear(&n->hold);
}

void watchdog_back(struct node *n)
{
    timer_clear(&n->safe);
    n->hold_order = (struct hf_token){0};
}

uint32_t watchdog_safe_ms(const struct engine *e, uint8_t n)
{
    const struct node *node = &e->nodes[n];
    if (node->attest.state != HF_WD_ARMED)
        return 0;
    /* A feeder on hold keeps to that instead of its lease, and for longer. */
    uint32_t fed_ms = node->hold_ms > node->attest.lease_ms ? node->hold_ms : node->attest.lease_ms;
    uint32_t ms = hf_safe_time_ms(fed_ms, node->attest.timeout_ms);
    return ms > e->group.policy.safe_time_ms ? ms : e->group.policy.safe_time_ms;
}

static bool is_same(const struct attest *a, const struct attest *b)
{
    return a->state == b->state && a->is_held == b->is_held && a->timeout_ms == b->timeout_ms &&
           a->lease_ms == b->lease_ms && a->version == b->version &&
           strcmp(a->identity, b->identity) == 0;
}

void watchdog_attest(struct step *s, const struct hf_event *ev)
{
    uint8_t n = ev->from.ix;
    struct node *node = &s->e->nodes[n];
    struct attest was = node->attest, now = {.state = (uint8_t)ev->u.attest.state,
                                             .is_held = ev->u.attest.is_held,
                                             .timeout_ms = ev->u.attest.timeout_ms,
                                             .lease_ms = ev->u.attest.lease_ms,
                                             .version = ev->u.attest.version};
    memcpy(now.identity, ev->u.attest.identity, sizeof now.identity);
    bool ends_hold = node->hold_ms != 0 && !now.is_held && ev->u.attest.hold_seq >= node->hold_seq;
    if (ends_hold)
        node->hold_ms = 0;
    if (now.is_held && node->hold_ms == 0) /* of a past that this state has forgotten */
        node->hold_ms = s->e->group.policy.hold_max_ms;
    if (is_same(&was, &now) && !ends_hold) {
        step_answer(s, false, HF_WHY_ALREADY);
        return;
    }
    node->attest = now;
    timer_clear(&node->safe); /* a wait that had begun was for other figures */
    s->needs_review = true;
    bool is_armed = now.state == HF_WD_ARMED, was_armed = was.state == HF_WD_ARMED;
    if (is_armed)
        node->disarm_order = (struct hf_token){0};
    if (is_armed && (!was_armed || was.timeout_ms != now.timeout_ms))
        step_note_node(s, n, node->state, HF_WHY_ATTESTED, now.timeout_ms);
    if (!is_armed && was.state != now.state)
        step_note_node(s, n, node->state, HF_WHY_NOT_ATTESTED, now.state);
    if (was_armed && !is_armed)
        node->disarm_order = step_effect(s, HF_FX_DISARM, ev->from)->token;
}

/* Lost, and not merely condemned: who is here only by sentence may well be renewing its lease. */
static bool is_awaited(const struct node *node)
{
    if (node->state == HF_NODE_FENCING)
        return !node->is_present || node->sentence == SENTENCE_NONE;
    return node->state == HF_NODE_LOST;
}

void watchdog_review(struct step *s)
{
    FOR_EACH_NODE (s->e, n) {
        struct node *node = &s->e->nodes[n];
        uint32_t ms = is_awaited(node) ? watchdog_safe_ms(s->e, n) : 0;
        if (ms == 0) {
            timer_clear(&node->safe);
        } else if (node->safe.purpose == FOR_NOTHING) {
            timer_arm(s, &node->safe, FOR_SAFE_TIME, ms);
            step_note_node(s, n, node->state, HF_WHY_SAFE_TIME, ms);
        }
    }
}

/* A host whose ring still turns has not been reset, whatever was attested: no proof, waited anew.
 */
void watchdog_time_over(struct step *s, uint8_t n)
{
    struct node *node = &s->e->nodes[n];
    if (node->in_ring)
        step_note_node(s, n, node->state, HF_WHY_HEARD_AFTER_PROOF, 0);
    else
        host_proved(s, n, HF_PROOF_WATCHDOG);
}

/* The node may be away, host and all, for so long: its VMs run on and nobody is shot for it. The
 * feeder is told when a majority knows. */
void watchdog_hold(struct step *s, uint8_t n, uint32_t ms)
{
    struct node *node = &s->e->nodes[n];
    uint32_t most = s->e->group.policy.hold_max_ms;
    uint32_t hold_ms = ms && ms < most ? ms : most;
    timer_arm(s, &node->hold, FOR_HOLD, hold_ms);
    if (hold_ms > node->hold_ms)
        node->hold_ms = hold_ms;
    struct hf_effect *fx = step_effect(s, HF_FX_HOLD, (hf_node){n});
    fx->u.hold.ms = hold_ms;
    node->hold_order = fx->token;
    node->hold_seq = fx->token.seq;
    step_note_node(s, n, node->state, HF_WHY_HOLD, hold_ms);
}

bool engine_wants_watchdog(const struct engine *e, hf_node node)
{
    HF_ASSERT(node.ix < e->group.nodes_count);
    if (!e->is_armed || !e->group.nodes[node.ix].has_watchdog)
        return false;
    for (const struct vm *v = e->vms; v < e->vms + e->slots_end; v++)
        if (v->is_used && hf_nodes_has(v->possible, node))
            return true;
    return false;
}
