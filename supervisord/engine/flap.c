/* flap.c - who comes back again and again, and who leaves in order.
 * A node that has returned twice without a quiet window between gets no VM until it has stayed for
 * a while, longer each time; one that returns for ever gets none until an operator says so. What
 * runs on it stays: moving it would be one more interruption. */
#include "supervisord/engine/internal.h"

static uint32_t settle_ms(const struct hf_policy *p, uint8_t returns)
{
    uint64_t ms = p->settle_ms;
    for (uint8_t i = 2; i < returns && ms < p->flap_window_ms; i++)
        ms *= 2;
    return ms < p->flap_window_ms ? (uint32_t)ms : p->flap_window_ms;
}

void flap_returned(struct step *s, uint8_t n)
{
    struct node *node = &s->e->nodes[n];
    const struct hf_policy *p = &s->e->group.policy;
    if (node->returns < UINT8_MAX)
        node->returns++;
    timer_arm(s, &node->flap, FOR_FLAP, p->flap_window_ms);
    if (node->returns < 2)
        return;
    uint32_t ms = settle_ms(p, node->returns);
    timer_arm(s, &node->settle, FOR_SETTLE, ms);
    step_note_node(s, n, node->state, HF_WHY_SETTLING, ms);
    if (node->returns < p->returns_max || node->is_passive)
        return;
    node->is_passive = true;
    step_note_node(s, n, node->state, HF_WHY_PASSIVE, node->returns);
}

void flap_forgive(struct step *s, uint8_t n)
{
    struct node *node = &s->e->nodes[n];
    node->returns = 0;
    node->is_passive = false;
    timer_clear(&node->flap);
    timer_clear(&node->settle);
    s->needs_review = true;
}

/* ---- leaving ---- */

void leave_over(struct node *n)
{
    n->is_leaving = n->has_left = false;
}

/* Maintenance begins and ends here alone. */
void maintenance_begin(struct step *s, uint8_t n, uint32_t ms)
{
    struct node *node = &s->e->nodes[n];
    uint32_t most = s->e->group.policy.maintenance_max_ms;
    node->in_maintenance = true;
    timer_arm(s, &node->maintenance, FOR_MAINTENANCE, ms && ms < most ? ms : most);
    s->needs_review = true;
}

void maintenance_end(struct step *s, uint8_t n, enum hf_reason why)
{
    struct node *node = &s->e->nodes[n];
    bool is_here = node->has_left && node->is_present; /* nobody has switched it off (seed 73213) */
    bool is_away = why == HF_WHY_MAINTENANCE_EXPIRED && !is_here;
    node->in_maintenance = node->is_leaving = false;
    timer_clear(&node->maintenance);
    if (!is_away) /* else it has still left with notice */
        leave_over(node);
    if (is_here)
        node_apply(s, n, HF_NE_JOIN, HF_WHY_JOINED, 0);
    s->needs_review = true;
    step_note_node(s, n, node->state, why, 0);
}

void leave_order(struct step *s, uint8_t n)
{
    struct node *node = &s->e->nodes[n];
    node->is_leaving = true;
    maintenance_begin(s, n, 0);
    step_note_node(s, n, node->state, HF_WHY_LEAVING, 0);
}

static bool is_empty(const struct engine *e, uint8_t n)
{
    for (const struct vm *v = e->vms; v < e->vms + e->slots_end; v++)
        if (v->is_used && ((v->possible & bit_of(n)) || v->target == n))
            return false;
    return true;
}

/* Empty: from here on nothing of ours can run there, so its going needs no proof. */
void leave_review(struct step *s)
{
    FOR_EACH_NODE (s->e, n) {
        struct node *node = &s->e->nodes[n];
        if (!node->is_leaving || node->has_left || !is_empty(s->e, n))
            continue;
        if (node_apply(s, n, HF_NE_LEAVE, HF_WHY_LEFT_IN_ORDER, 0))
            node->has_left = true;
    }
}
