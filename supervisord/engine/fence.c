/* fence.c - when a node must die, who is told to see to it, and what becomes of his answer.
 * Never without need: a lost node is fenced when a VM that is wanted may still run there, a present
 * one only by sentence (an operator, or a VM that cannot be proved stopped). */
#include "supervisord/engine/internal.h"

void fence_forget(struct node *n)
{
    n->order = (struct hf_token){0};
    n->executor = HF_NO_NODE.ix;
    n->level = 0;
    n->attempts = 0;
    n->sentence = SENTENCE_NONE;
    n->power_order = (struct hf_token){0};
    n->reads_off = false;
}

/* Would the group still decide without it, and without the other present nodes being fenced? */
void fence_storm_over(struct engine *e)
{
    e->in_storm = false;
    e->storm_count = 0;
    timer_clear(&e->storm);
}

bool fence_keeps_quorum(const struct engine *e, uint8_t target)
{
    hf_nodes left = e->present & (hf_nodes)~bit_of(target);
    FOR_EACH_NODE (e, n)
        if (e->nodes[n].state == HF_NODE_FENCING || e->nodes[n].state == HF_NODE_DEAD)
            left &= (hf_nodes)~bit_of(n);
    return hf_nodes_count(left) * 2 > e->group.nodes_count;
}

void fence_sentence(struct step *s, uint8_t n, enum sentence sentence)
{
    struct node *node = &s->e->nodes[n];
    if (node->state == HF_NODE_DEAD)
        return;
    node->sentence = (uint8_t)sentence;
    s->needs_review = true;
    step_note_node(s, n, node->state,
                   sentence == SENTENCE_ESCALATED ? HF_WHY_ESCALATED : HF_WHY_FENCE_ORDERED, 0);
}

static bool is_needed_by_vm(const struct engine *e, uint8_t n)
{
    for (const struct vm *v = e->vms; v < e->vms + e->slots_end; v++)
        if (v->is_used && v->state == HF_VM_WAITING && v->desire == HF_WANT_RUNNING &&
            (v->possible & bit_of(n)))
            return true;
    return false;
}

/* What could not be proved stopped there has been proved since: nobody is shot for it. */
void fence_pardon(struct step *s)
{
    FOR_EACH_NODE (s->e, n) {
        struct node *node = &s->e->nodes[n];
        bool is_in_doubt = false;
        if (node->sentence != SENTENCE_ESCALATED)
            continue;
        FOR_EACH_VM (s->e, v)
            if ((v->possible & bit_of(n)) && v->home != n)
                is_in_doubt = true;
        if (is_in_doubt)
            continue;
        if (node->state == HF_NODE_FENCING)
            fence_call_off(s, n);
        node->sentence = SENTENCE_NONE;
    }
}

bool fence_has_usable_level(const struct engine *e, uint8_t n)
{
    for (uint8_t l = 0; l < e->group.nodes[n].fence_levels; l++)
        if (path_is_usable(&e->nodes[n], l))
            return true;
    return false;
}

/* The level itself or the next one after it that is not another host's. */
static uint8_t usable_from(const struct engine *e, uint8_t n, uint8_t level)
{
    uint8_t levels = e->group.nodes[n].fence_levels;
    for (uint8_t i = 0; i < levels; i++) {
        uint8_t l = (uint8_t)((level + i) % levels);
        if (path_is_usable(&e->nodes[n], l))
            return l;
    }
    return level;
}

static bool may_act_alone(const struct engine *e)
{
    return e->is_armed && e->startup.purpose == FOR_NOTHING;
}

static bool is_needed(const struct engine *e, uint8_t n)
{
    const struct node *node = &e->nodes[n];
    if (node->sentence == SENTENCE_OPERATOR)
        return true;
    if (!may_act_alone(e) || !fence_has_usable_level(e, n))
        return false;
    if (node->sentence == SENTENCE_ESCALATED) /* what is away with notice answers later */
        return node->hold.purpose == FOR_NOTHING;
    bool is_away = node->state == HF_NODE_LOST || node->state == HF_NODE_FENCING;
    return is_away && is_needed_by_vm(e, n);
}

/* Who could be told to fence it. */
hf_nodes fence_able(const struct engine *e, uint8_t target)
{
    hf_nodes able = 0;
    FOR_EACH_NODE (e, n)
        if (n != target && e->nodes[n].is_present && host_is_able(e, (hf_node){n}))
            able |= bit_of(n);
    return able;
}

/* The attempt's executor: the lowest able node first, the next one after a failure. */
hf_node fence_executor(const struct engine *e, uint8_t target)
{
    hf_nodes able = fence_able(e, target);
    unsigned count = hf_nodes_count(able);
    for (unsigned skip = count ? e->nodes[target].attempts % count : 0; skip > 0; skip--)
        able &= (hf_nodes)(able - 1);
    return hf_nodes_first(able);
}

/* Fences of our own decision within the window; at the limit a person must look first. */
static void storm_count(struct step *s)
{
    struct engine *e = s->e;
    if (e->storm_count == 0)
        timer_arm(s, &e->storm, FOR_STORM, e->group.policy.storm_window_ms);
    if (e->storm_count < UINT8_MAX)
        e->storm_count++;
}

static bool is_storm(struct step *s, uint8_t n)
{
    struct engine *e = s->e;
    if (e->nodes[n].sentence == SENTENCE_OPERATOR || e->nodes[n].state == HF_NODE_FENCING)
        return false;
    if (!e->in_storm && e->storm_count >= e->group.policy.storm_fences) {
        e->in_storm = true;
        step_note_group(s, HF_WHY_STORM, e->storm_count);
    }
    return e->in_storm;
}

static void order(struct step *s, uint8_t n, enum hf_reason why)
{
    struct node *node = &s->e->nodes[n];
    hf_node by = fence_executor(s->e, n);
    if (!hf_node_is(by) || !fence_has_usable_level(s->e, n))
        return; /* nobody can; reviewed again when somebody joins */
    enum sentence sentence = node->sentence;
    bool is_first = node->state != HF_NODE_FENCING;
    bool was_lost = node->state == HF_NODE_LOST;
    node->executor = by.ix;
    if (is_first) {
        node_apply(s, n, HF_NE_FENCE, why, 0);
        HF_ASSERT(node->state == HF_NODE_FENCING);
        node->sentence = (uint8_t)sentence;
    } else {
        step_note_node(s, n, node->state, why, node->attempts);
    }
    if (is_first && sentence != SENTENCE_OPERATOR)
        storm_count(s);
    node->level = usable_from(s->e, n, node->level);
    struct hf_effect *fx = step_effect(s, HF_FX_FENCE, by);
    fx->u.fence.target = (hf_node){n};
    fx->u.fence.level = node->level;
    node->order = fx->token;
    timer_arm(s, &node->timer, FOR_FENCE_DEADLINE, s->e->group.policy.fence_deadline_ms);
    if (is_first && !was_lost)
        vm_node_lost(s, n);
}

static bool executor_is_able(const struct engine *e, const struct node *node)
{
    hf_node by = {node->executor};
    return hf_node_is(by) && e->nodes[by.ix].is_present && host_is_able(e, by);
}

/* Not needed any more. Who was sentenced though he was here is here again; who was silent is not.
 */
void fence_call_off(struct step *s, uint8_t n)
{
    struct node *node = &s->e->nodes[n];
    bool is_here = node->is_present && node->sentence != SENTENCE_NONE;
    node_apply(s, n, HF_NE_CALLED_OFF, HF_WHY_FENCE_CALLED_OFF, 0);
    if (is_here)
        node_apply(s, n, HF_NE_JOIN, HF_WHY_FENCE_CALLED_OFF, 0);
}

/* Since it was ordered another node has gone: shooting this one would end the quorum. An operator
 * may ask again; what recovery needs is kept for better times. */
static void withhold(struct step *s, uint8_t n)
{
    enum sentence sentence = s->e->nodes[n].sentence;
    fence_call_off(s, n);
    if (sentence == SENTENCE_ESCALATED)
        s->e->nodes[n].sentence = (uint8_t)sentence;
}

static void review(struct step *s, uint8_t n)
{
    struct node *node = &s->e->nodes[n];
    bool is_fencing = node->state == HF_NODE_FENCING;
    bool is_needed_now = is_needed(s->e, n);
    if (is_fencing && !is_needed_now) {
        fence_call_off(s, n);
        return;
    }
    bool is_sentenced = node->sentence != SENTENCE_NONE;
    if (is_fencing && is_sentenced && node->is_present && !fence_keeps_quorum(s->e, n)) {
        withhold(s, n);
        return;
    }
    if (!is_needed_now || node->state == HF_NODE_DEAD || s->e->group.nodes[n].fence_levels == 0)
        return;
    if (!is_fencing) {
        bool may = !node->is_present || fence_keeps_quorum(s->e, n);
        if (may && !is_storm(s, n))
            order(s, n, HF_WHY_FENCE_ORDERED);
        return;
    }
    bool waits = node->timer.purpose == FOR_FENCE_RETRY || node->reads_off;
    if (!waits && !hf_token_is(node->order))
        order(s, n, HF_WHY_FENCE_ORDERED);
    else if (!waits && !executor_is_able(s->e, node))
        order(s, n, HF_WHY_FENCE_TAKEOVER);
}

void fence_review(struct step *s)
{
    FOR_EACH_NODE (s->e, n)
        review(s, n);
}

/* No proof from this attempt: the next usable level at once, and after the last one a pause. */
static void failed(struct step *s, uint8_t n, enum hf_reason why)
{
    struct node *node = &s->e->nodes[n];
    const struct hf_policy *p = &s->e->group.policy;
    enum sentence sentence = node->sentence;
    if (node->attempts < UINT16_MAX)
        node->attempts++;
    uint8_t levels = s->e->group.nodes[n].fence_levels, last = node->level;
    node->level = (uint8_t)(levels ? usable_from(s->e, n, (uint8_t)((last + 1) % levels)) : 0);
    node->order = (struct hf_token){0};
    node->reads_off = false;
    node_apply(s, n, HF_NE_FENCE_FAILED, why, node->attempts);
    node->sentence = (uint8_t)sentence;
    if (node->level <= last)
        timer_arm(s, &node->timer, FOR_FENCE_RETRY,
                  backoff_ms(p->fence_retry_ms, p->fence_retry_count,
                             levels ? (uint32_t)(node->attempts + levels - 1) / levels : 1));
}

/* ---- and on again ---- */

static void powered(struct step *s, uint8_t n, enum hf_reason why)
{
    struct node *node = &s->e->nodes[n];
    node->power_order = (struct hf_token){0};
    node->executor = HF_NO_NODE.ix;
    timer_clear(&node->timer);
    step_note_node(s, n, node->state, why, 0);
}

enum hf_reason fence_power_on(struct step *s, uint8_t n)
{
    struct node *node = &s->e->nodes[n];
    if (node->state != HF_NODE_DEAD || node->is_present)
        return HF_WHY_NOT_DEAD;
    if (!fence_has_usable_level(s->e, n))
        return HF_WHY_NO_FENCE_DEVICE;
    if (hf_token_is(node->power_order))
        return HF_WHY_ALREADY;
    hf_node by = fence_executor(s->e, n);
    if (!hf_node_is(by))
        return HF_WHY_NOT_PRESENT;
    struct hf_effect *fx = step_effect(s, HF_FX_POWER_ON, by);
    fx->u.fence.target = (hf_node){n};
    node->level = usable_from(s->e, n, 0);
    fx->u.fence.level = node->level;
    node->power_order = fx->token;
    node->executor = by.ix;
    timer_arm(s, &node->timer, FOR_POWER_ON, s->e->group.policy.fence_deadline_ms);
    return HF_WHY_NONE;
}

static bool power_done(struct step *s, uint8_t n, const struct hf_event *ev)
{
    struct node *node = &s->e->nodes[n];
    if (!hf_token_is(node->power_order) || !hf_token_same(node->power_order, ev->u.done.effect) ||
        node->executor != ev->from.ix)
        return false;
    powered(s, n, ev->u.done.outcome == HF_OUT_DONE ? HF_WHY_POWER_ON : HF_WHY_POWER_ON_FAILED);
    return true;
}

void fence_timer(struct step *s, uint8_t n, enum purpose purpose)
{
    struct node *node = &s->e->nodes[n];
    if (purpose == FOR_FENCE_DEADLINE && node->state == HF_NODE_FENCING)
        failed(s, n, HF_WHY_FENCE_DEADLINE);
    if (purpose == FOR_GONE)
        failed(s, n, HF_WHY_HEARD_AFTER_PROOF);
    if (purpose == FOR_POWER_ON)
        powered(s, n, HF_WHY_POWER_ON_FAILED);
    s->needs_review = true; /* a retry is ordered there */
}

/* The devices say off. A host that is still in the ring contradicts them: a device may lie, or be
 * another host's. Its leaving is the other half of the proof, and comes within corosync's own time.
 */
static void read_off(struct step *s, uint8_t n)
{
    struct node *node = &s->e->nodes[n];
    if (!node->in_ring) {
        host_proved(s, n, HF_PROOF_FENCE);
        return;
    }
    node->order = (struct hf_token){0};
    node->reads_off = true;
    timer_arm(s, &node->timer, FOR_GONE, s->e->group.policy.silent_grace_ms);
    step_note_node(s, n, node->state, HF_WHY_READS_OFF, 0);
}

void fence_doubt(struct step *s, uint8_t n)
{
    if (s->e->nodes[n].reads_off)
        failed(s, n, HF_WHY_COLD_START);
}

void fence_left_ring(struct step *s, uint8_t n)
{
    struct node *node = &s->e->nodes[n];
    if (node->reads_off && node->state == HF_NODE_FENCING)
        host_proved(s, n, HF_PROOF_FENCE);
}

bool fence_done(struct step *s, const struct hf_event *ev)
{
    FOR_EACH_NODE (s->e, n) {
        struct node *node = &s->e->nodes[n];
        if (power_done(s, n, ev))
            return true;
        if (!hf_token_is(node->order) || !hf_token_same(node->order, ev->u.done.effect))
            continue;
        if (node->executor != ev->from.ix)
            return false;
        if (ev->u.done.outcome == HF_OUT_DONE)
            read_off(s, n);
        else
            failed(s, n, HF_WHY_FENCE_FAILED);
        return true;
    }
    return false;
}
