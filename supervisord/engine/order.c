/* order.c - what operators ask for: granted whole or refused with a reason, never half. */
#include <string.h>

#include "supervisord/engine/internal.h"

static void refuse(struct step *s, enum hf_reason why)
{
    step_answer(s, false, why);
}

static struct vm *free_slot(struct engine *e)
{
    for (uint16_t i = 0; i < HF_VMS_MAX; i++)
        if (!e->vms[i].is_used) {
            if (i >= e->slots_end)
                e->slots_end = (uint16_t)(i + 1);
            return &e->vms[i];
        }
    return NULL;
}

static void vm_add(struct step *s, const struct hf_event *ev)
{
    struct engine *e = s->e;
    const struct hf_vm_def *def = &ev->u.order.def;
    if (hf_vm_is(engine_vm_by_name(e, def->name))) {
        refuse(s, HF_WHY_NAME_TAKEN);
        return;
    }
    if (e->vms_count == HF_VMS_MAX || e->uid_last == UINT32_MAX) {
        refuse(s, HF_WHY_TABLE_FULL);
        return;
    }
    hf_nodes all = (hf_nodes)((1u << e->group.nodes_count) - 1);
    bool knows_preferred =
        def->preferred.ix == HF_NO_NODE.ix || def->preferred.ix < e->group.nodes_count;
    if ((def->allowed & (hf_nodes)~all) || !knows_preferred) {
        refuse(s, HF_WHY_NO_SUCH_NODE);
        return;
    }
    struct vm *v = free_slot(e);
    HF_ASSERT(v != NULL);
    *v = (struct vm){.is_used = true,
                     .desire = HF_WANT_STOPPED,
                     .home = HF_NO_NODE.ix,
                     .target = HF_NO_NODE.ix,
                     .failed_on = HF_NO_NODE.ix,
                     .stray_on = HF_NO_NODE.ix,
                     .why = HF_WHY_ADDED,
                     .since_seq = e->seq,
                     .def = *def};
    v->uid = ++e->uid_last;
    e->vms_count++;
    /* Somebody may have started it by hand before it was ours: every node is asked first. */
    FOR_EACH_NODE (e, n)
        if (e->nodes[n].state != HF_NODE_ABSENT && e->nodes[n].state != HF_NODE_DEAD)
            vm_doubt(s, v, bit_of(n));
    step_note_vm(s, v, v->state, HF_WHY_ADDED, 0);
    if (!ev->u.order.wants_run)
        return;
    v->desire = HF_WANT_RUNNING;
    v->cause = CAUSE_OPERATOR;
    vm_apply(s, v, HF_VE_WANT_RUN, HF_WHY_OPERATOR_START);
}

static void vm_remove(struct step *s, struct vm *v)
{
    bool is_idle = v->state == HF_VM_STOPPED || v->state == HF_VM_HELD ||
                   v->state == HF_VM_FAILED || v->state == HF_VM_UNPLACEABLE;
    if (!is_idle || v->possible != 0) {
        refuse(s, HF_WHY_NOT_STOPPED);
        return;
    }
    step_note_vm(s, v, v->state, HF_WHY_REMOVED, 0);
    *v = (struct vm){0};
    s->e->vms_count--;
    s->e->slots_end = slots_end_of(s->e);
    s->needs_review = true; /* its companions may have room now */
}

static void vm_start(struct step *s, struct vm *v)
{
    bool was_wanted = v->desire == HF_WANT_RUNNING;
    v->desire = HF_WANT_RUNNING;
    v->cause = CAUSE_OPERATOR;
    s->needs_review = true;
    if (!was_wanted)
        vm_forgive(v);
    if (!vm_apply(s, v, HF_VE_WANT_RUN, HF_WHY_OPERATOR_START) && was_wanted)
        refuse(s, HF_WHY_ALREADY);
}

/* Stopped by a person, but known (or feared) on a node that is here: that node can be told. */
static bool stop_where_it_may_be(struct step *s, struct vm *v)
{
    if (v->state != HF_VM_WAITING || v->home != HF_NO_NODE.ix)
        return false;
    FOR_EACH_NODE (s->e, n)
        if ((v->possible & bit_of(n)) && host_is_able(s->e, (hf_node){n})) {
            vm_seen_running(s, v, n, v->start_no);
            return true;
        }
    return false;
}

static void vm_stop(struct step *s, struct vm *v)
{
    bool was_wanted = v->desire == HF_WANT_RUNNING;
    v->desire = HF_WANT_STOPPED;
    v->target = HF_NO_NODE.ix;
    s->needs_review = true; /* a fence may not be needed any more */
    if (!vm_apply(s, v, HF_VE_WANT_STOP, HF_WHY_OPERATOR_STOP) && !stop_where_it_may_be(s, v) &&
        !was_wanted)
        refuse(s, HF_WHY_ALREADY);
}

static void vm_move(struct step *s, struct vm *v, hf_node to)
{
    if (v->state != HF_VM_RUNNING) {
        refuse(s, HF_WHY_NOT_RUNNING);
        return;
    }
    if (to.ix == v->home) {
        refuse(s, HF_WHY_ALREADY);
        return;
    }
    struct load load;
    place_load(s->e, v, &load);
    hf_nodes among = hf_node_is(to) ? hf_bit(to) : (hf_nodes)~bit_of(v->home);
    hf_node pick = place_pick(s->e, v, among, &load);
    if (!hf_node_is(pick)) {
        refuse(s, HF_WHY_BAD_TARGET);
        return;
    }
    v->target = pick.ix;
    v->cause = CAUSE_OPERATOR;
    vm_apply(s, v, HF_VE_MOVE, HF_WHY_OPERATOR_MOVE);
}

static void drain(struct step *s, uint8_t n, uint32_t ms)
{
    struct node *node = &s->e->nodes[n];
    maintenance_begin(s, n, ms);
    step_note_node(s, n, node->state, HF_WHY_DRAINED, node->maintenance.after_ms);
}

static void undrain(struct step *s, uint8_t n)
{
    struct node *node = &s->e->nodes[n];
    if (!node->in_maintenance && !node->is_passive) {
        refuse(s, HF_WHY_ALREADY);
        return;
    }
    flap_forgive(s, n);
    maintenance_end(s, n, HF_WHY_UNDRAINED);
}

/* Armed only when it can keep its promises: every node can be proved dead, no device is another
 * host's, every link present is fit. Armed and in a storm: a person has looked, it goes on. */
static void arm(struct step *s)
{
    struct engine *e = s->e;
    enum hf_reason unfit = path_arm_refusal(e);
    FOR_EACH_NODE (e, n)
        if (unfit == HF_WHY_NONE && e->nodes[n].is_present && !e->nodes[n].link_fit)
            unfit = HF_WHY_LINK_UNFIT;
    if (unfit != HF_WHY_NONE || (e->is_armed && !e->in_storm)) {
        refuse(s, unfit != HF_WHY_NONE ? unfit : HF_WHY_ALREADY);
        return;
    }
    s->needs_review = true;
    e->skipped = 0;
    path_record(e);
    if (e->is_armed) {
        fence_storm_over(e);
        step_note_group(s, HF_WHY_STORM_OVER, 0);
        return;
    }
    e->is_armed = true;
    step_note_group(s, HF_WHY_ARMED, 0);
}

static void disarm(struct step *s)
{
    if (!s->e->is_armed) {
        refuse(s, HF_WHY_ALREADY);
        return;
    }
    s->e->is_armed = false;
    fence_storm_over(s->e);
    FOR_EACH_NODE (s->e, n) {
        if (s->e->nodes[n].state == HF_NODE_FENCING)
            fence_call_off(s, n);
        s->e->nodes[n].sentence = SENTENCE_NONE;
    }
    s->needs_review = true;
    step_note_group(s, HF_WHY_DISARMED, 0);
}

static void fence(struct step *s, uint8_t n)
{
    struct node *node = &s->e->nodes[n];
    if (node->state == HF_NODE_DEAD)
        refuse(s, HF_WHY_ALREADY);
    else if (s->e->group.nodes[n].fence_levels == 0)
        refuse(s, HF_WHY_NO_FENCE_DEVICE);
    else if (!fence_has_usable_level(s->e, n))
        refuse(s, HF_WHY_WRONG_HOST);
    else if (node->is_present && node->state != HF_NODE_FENCING && !fence_keeps_quorum(s->e, n))
        refuse(s, HF_WHY_WOULD_LOSE_QUORUM);
    else
        fence_sentence(s, n, SENTENCE_OPERATOR);
}

static void confirm(struct step *s, uint8_t n)
{
    struct node *node = &s->e->nodes[n];
    bool is_lost = node->state == HF_NODE_LOST || node->state == HF_NODE_FENCING ||
                   node->state == HF_NODE_ABSENT;
    if (node->is_present || node->in_ring || node->state == HF_NODE_SILENT)
        refuse(s, HF_WHY_STILL_HEARD);
    else if (node->state == HF_NODE_DEAD)
        refuse(s, HF_WHY_ALREADY);
    else if (!is_lost)
        refuse(s, HF_WHY_NOT_LOST);
    else
        host_proved(s, n, HF_PROOF_OPERATOR);
}

static void hold(struct step *s, uint8_t n, uint32_t ms)
{
    if (!host_is_able(s->e, (hf_node){n}))
        refuse(s, HF_WHY_NOT_PRESENT);
    else
        watchdog_hold(s, n, ms);
}

static void leave(struct step *s, uint8_t n)
{
    if (s->e->nodes[n].is_leaving)
        refuse(s, HF_WHY_ALREADY);
    else if (!host_is_able(s->e, (hf_node){n}))
        refuse(s, HF_WHY_NOT_PRESENT);
    else
        leave_order(s, n);
}

static void power_on(struct step *s, uint8_t n)
{
    enum hf_reason why = fence_power_on(s, n);
    if (why != HF_WHY_NONE)
        refuse(s, why);
}

static void vm_order(struct step *s, const struct hf_event *ev)
{
    struct vm *v = vm_of_uid(s->e, ev->u.order.uid);
    if (!v) {
        refuse(s, HF_WHY_NO_SUCH_VM);
        return;
    }
    hf_node to = ev->u.order.node;
    if (hf_node_is(to) && to.ix >= s->e->group.nodes_count) {
        refuse(s, HF_WHY_NO_SUCH_NODE);
        return;
    }
    if (ev->u.order.type == HF_ORDER_VM_REMOVE)
        vm_remove(s, v);
    else if (ev->u.order.type == HF_ORDER_VM_START)
        vm_start(s, v);
    else if (ev->u.order.type == HF_ORDER_VM_STOP)
        vm_stop(s, v);
    else
        vm_move(s, v, to);
}

static bool has_come_since(const struct engine *e, const struct hf_event *order, uint8_t n)
{
    return host_as_of_seq(e, order->u.order.as_of) < e->nodes[n].came_seq;
}

static void node_order(struct step *s, const struct hf_event *ev)
{
    uint8_t n = ev->u.order.node.ix;
    if (n >= s->e->group.nodes_count) {
        refuse(s, HF_WHY_NO_SUCH_NODE);
        return;
    }
    bool is_for_life = ev->u.order.type == HF_ORDER_FENCE || ev->u.order.type == HF_ORDER_CONFIRM;
    if (is_for_life && has_come_since(s->e, ev, n)) {
        refuse(s, HF_WHY_BACK_SINCE); /* it has lain in somebody's outbox */
        return;
    }
    if (ev->u.order.type == HF_ORDER_DRAIN)
        drain(s, n, ev->u.order.ms);
    else if (ev->u.order.type == HF_ORDER_UNDRAIN)
        undrain(s, n);
    else if (ev->u.order.type == HF_ORDER_FENCE)
        fence(s, n);
    else if (ev->u.order.type == HF_ORDER_HOLD)
        hold(s, n, ev->u.order.ms);
    else if (ev->u.order.type == HF_ORDER_LEAVE)
        leave(s, n);
    else if (ev->u.order.type == HF_ORDER_POWER_ON)
        power_on(s, n);
    else
        confirm(s, n);
}

/* Given through a node that has been away since, by somebody who saw the group as it was before: a
 * person's drain must not come true when its host thaws. */
static bool is_of_yesterday(const struct engine *e, const struct hf_event *ev)
{
    return ev->u.order.as_of != 0 && has_come_since(e, ev, ev->from.ix);
}

void order_apply(struct step *s, const struct hf_event *ev)
{
    if (is_of_yesterday(s->e, ev)) {
        refuse(s, HF_WHY_BACK_SINCE);
        return;
    }
    switch (ev->u.order.type) {
    case HF_ORDER_VM_ADD:
        vm_add(s, ev);
        break;
    case HF_ORDER_VM_REMOVE:
    case HF_ORDER_VM_START:
    case HF_ORDER_VM_STOP:
    case HF_ORDER_VM_MOVE:
        vm_order(s, ev);
        break;
    case HF_ORDER_DRAIN:
    case HF_ORDER_UNDRAIN:
    case HF_ORDER_FENCE:
    case HF_ORDER_CONFIRM:
    case HF_ORDER_HOLD:
    case HF_ORDER_LEAVE:
    case HF_ORDER_POWER_ON:
        node_order(s, ev);
        break;
    case HF_ORDER_ARM:
        arm(s);
        break;
    case HF_ORDER_DISARM:
        disarm(s);
        break;
    case HF_ORDERS:
        HF_ASSERT(ev->u.order.type != HF_ORDERS);
        break;
    }
}
