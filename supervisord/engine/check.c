/* check.c - what is true after every step, whatever happened. The numbers are README.md's. */
#include "supervisord/engine/internal.h"

#define RULE(condition, words)                                                                     \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return words;                                                                          \
    } while (0)

static const char *node_timer_fault(const struct node *n)
{
    switch ((enum purpose)n->timer.purpose) {
    case FOR_NOTHING:
        return NULL;
    case FOR_GRACE:
        return n->state == HF_NODE_SILENT ? NULL : "I7 a grace runs for a node that is not silent";
    case FOR_FENCE_DEADLINE:
        return n->state == HF_NODE_FENCING && hf_token_is(n->order)
                   ? NULL
                   : "I7 a fence deadline runs without an order";
    case FOR_FENCE_RETRY:
        return n->state == HF_NODE_FENCING && !hf_token_is(n->order)
                   ? NULL
                   : "I7 a fence pause runs beside an order";
    case FOR_GONE:
        return n->state == HF_NODE_FENCING && n->reads_off && !hf_token_is(n->order)
                   ? NULL
                   : "I7 a ring is watched for a node that nobody has switched off";
    case FOR_POWER_ON:
        return n->state == HF_NODE_DEAD && hf_token_is(n->power_order)
                   ? NULL
                   : "I7 a power-on is awaited that nobody was told to do";
    case FOR_SAFE_TIME:
    case FOR_HOLD:
    case FOR_SETTLE:
    case FOR_FLAP:
    case FOR_STORM:
    case FOR_MAINTENANCE:
    case FOR_STARTUP:
    case FOR_LEGS:
    case FOR_BACKOFF:
    case FOR_START_DEADLINE:
    case FOR_STOP_DEADLINE:
    case FOR_STABLE:
    case PURPOSES:
        break;
    }
    return "I7 a node has a timer that is not a node's";
}

static bool is_for(const struct timer *t, enum purpose purpose)
{
    return t->purpose == FOR_NOTHING || t->purpose == purpose;
}

/* What runs beside the life of a node. */
static const char *beside_fault(const struct node *n)
{
    RULE(n->in_maintenance == (n->maintenance.purpose == FOR_MAINTENANCE),
         "I8 maintenance without an end");
    RULE(!n->is_leaving || n->in_maintenance, "I8 a leave without an end");
    RULE(is_for(&n->safe, FOR_SAFE_TIME) && is_for(&n->hold, FOR_HOLD) &&
             is_for(&n->flap, FOR_FLAP) && is_for(&n->settle, FOR_SETTLE),
         "I7 a node's side timer is for something else");
    bool is_awaited = n->state == HF_NODE_LOST || n->state == HF_NODE_FENCING;
    RULE(n->safe.purpose == FOR_NOTHING || (is_awaited && n->attest.state == HF_WD_ARMED),
         "I10 a watchdog is waited for that is not armed, or whose node is not lost");
    RULE(n->attest.state != HF_WD_ARMED || (n->attest.timeout_ms > 0 && n->attest.lease_ms > 0),
         "I10 an armed watchdog without figures");
    RULE(n->safe.purpose == FOR_NOTHING ||
             n->safe.after_ms >= hf_safe_time_ms(n->attest.lease_ms, n->attest.timeout_ms),
         "I10 the wait for a watchdog is too short");
    RULE(!n->has_left || n->state == HF_NODE_ABSENT, "I11 a node that left in order is here");
    RULE(!hf_token_is(n->power_order) || n->timer.purpose == FOR_POWER_ON,
         "I7 a power-on has no deadline");
    return NULL;
}

static const char *node_fault(const struct engine *e, const struct node *n)
{
    RULE(n->state < HF_NODE_STATES, "a node's state is none");
    bool is_here = n->state == HF_NODE_JOINING || n->state == HF_NODE_MEMBER;
    RULE(!is_here || n->is_present, "I1 a member takes no part in the view");
    RULE(!n->is_present || hf_nodes_has(e->present, (hf_node){(uint8_t)(n - e->nodes)}),
         "I1 the set of participants is not the nodes'");
    RULE(n->state == HF_NODE_FENCING || !hf_token_is(n->order),
         "I2 a fence order lives on for a node that is not being fenced");
    RULE(!hf_token_is(n->order) || n->executor < e->group.nodes_count,
         "I2 a fence order has no executor");
    RULE(!hf_token_is(n->order) || &e->nodes[n->executor] != n, "I2 a node fences itself");
    const char *fault = beside_fault(n);
    return fault ? fault : node_timer_fault(n);
}

static const char *vm_timer_fault(const struct vm *v)
{
    switch ((enum purpose)v->timer.purpose) {
    case FOR_NOTHING:
        return v->state == HF_VM_STARTING || v->state == HF_VM_STOPPING
                   ? "I7 an order has no deadline"
                   : NULL;
    case FOR_BACKOFF:
        return v->state == HF_VM_PLACING || v->state == HF_VM_WAITING
                   ? NULL
                   : "I7 a back-off runs for a VM that is not waiting";
    case FOR_START_DEADLINE:
        return v->state == HF_VM_STARTING ? NULL : "I7 a start deadline runs without a start";
    case FOR_STOP_DEADLINE:
        return v->state == HF_VM_STOPPING ? NULL : "I7 a stop deadline runs without a stop";
    case FOR_STABLE:
        return v->state == HF_VM_RUNNING ? NULL : "I7 stability is awaited of a VM that is off";
    case FOR_GRACE:
    case FOR_FENCE_DEADLINE:
    case FOR_FENCE_RETRY:
    case FOR_GONE:
    case FOR_MAINTENANCE:
    case FOR_STARTUP:
    case FOR_SAFE_TIME:
    case FOR_HOLD:
    case FOR_SETTLE:
    case FOR_FLAP:
    case FOR_POWER_ON:
    case FOR_STORM:
    case FOR_LEGS:
    case PURPOSES:
        break;
    }
    return "I7 a VM has a timer that is not a VM's";
}

static const char *home_fault(const struct engine *e, const struct vm *v)
{
    RULE(v->home < e->group.nodes_count, "I4 a VM's home is no node");
    RULE(v->possible & bit_of(v->home), "I4 a VM's home is not among its possible nodes");
    uint8_t state = e->nodes[v->home].state;
    RULE(state == HF_NODE_JOINING || state == HF_NODE_MEMBER || state == HF_NODE_SILENT ||
             v->state == HF_VM_HELD,
         "I4 a VM's home is lost, being fenced or dead, and it does not wait for proof");
    return NULL;
}

/* A VM with a leg alive is left alone (S6): nobody even begins to wait. */
static const char *legs_fault(const struct engine *e, const struct vm *v)
{
    const struct legs *l = &v->legs;
    RULE(is_for(&l->timer, FOR_LEGS), "I7 the timer of a VM's legs is for something else");
    RULE((l->up & ~l->has) == 0, "I12 a leg carries that is not there");
    RULE(l->has == 0 || v->home != HF_NO_NODE.ix, "I12 legs are known of a VM that is nowhere");
    if (l->timer.purpose == FOR_NOTHING && !l->is_overdue)
        return NULL;
    RULE(l->timer.purpose == FOR_NOTHING || !l->is_overdue, "I12 a wait that is over runs");
    RULE(v->state == HF_VM_RUNNING && v->def.legs != 0 && nic_dead_here(e, v) == v->def.legs,
         "I12 a move is awaited for a VM with a leg alive");
    return NULL;
}

static const char *vm_fault(const struct engine *e, const struct vm *v, hf_nodes clean)
{
    RULE(v->state < HF_VM_STATES && v->desire < HF_DESIRES, "a VM's state is none");
    RULE(v->uid > 0 && v->uid <= e->uid_last, "a VM's uid was never given");
    RULE(!(v->possible & clean), "I3 a VM may be running on a node that is proved dead");
    bool is_on_home = vm_is_on_home(v);
    bool has_order = v->state == HF_VM_STARTING || v->state == HF_VM_STOPPING;
    RULE(hf_token_is(v->order) == has_order, "I5 an order lives on, or one is missing");
    if (is_on_home || v->home != HF_NO_NODE.ix) {
        RULE(is_on_home || v->state == HF_VM_HELD, "I4 a VM has a home it is not on");
        const char *fault = home_fault(e, v);
        if (fault)
            return fault;
    }
    bool is_nowhere = v->state == HF_VM_PLACING || v->state == HF_VM_UNPLACEABLE;
    RULE(!is_nowhere || v->possible == 0, "I6 a VM looks for a place and may be running");
    RULE(v->state != HF_VM_WAITING || v->possible != 0, "I6 a VM waits for proof of nothing");
    RULE(v->target == HF_NO_NODE.ix || vm_is_on_its_way(v),
         "I13 a VM that goes nowhere has a target");
    RULE(!hf_token_is(v->stray_order) || v->stray_on < e->group.nodes_count,
         "I5 a stray's order has no actor");
    const char *fault = legs_fault(e, v);
    return fault ? fault : vm_timer_fault(v);
}

const char *engine_fault(const struct engine *e)
{
    hf_nodes clean = 0;
    RULE(e->epoch == 0 || hf_nodes_count(e->present) * 2 > e->group.nodes_count,
         "I1 a view that is not a majority decided");
    RULE(is_for(&e->startup, FOR_STARTUP) && is_for(&e->storm, FOR_STORM),
         "I7 a timer of the group is for something else");
    FOR_EACH_NODE (e, n) {
        const char *fault = node_fault(e, &e->nodes[n]);
        if (fault)
            return fault;
        if (e->nodes[n].state == HF_NODE_DEAD || e->nodes[n].state == HF_NODE_ABSENT)
            clean |= bit_of(n);
    }
    uint16_t used = 0;
    for (const struct vm *v = e->vms; v < e->vms + e->slots_end; v++) {
        if (!v->is_used)
            continue;
        used++;
        const char *fault = vm_fault(e, v, clean);
        if (fault)
            return fault;
    }
    RULE(used == e->vms_count, "I9 the count of VMs is wrong");
    return NULL;
}

void engine_check(const struct engine *e)
{
    const char *fault = engine_fault(e);
    if (__builtin_expect(fault != NULL, 0))
        hf_assert_failed(fault, __FILE__, __LINE__);
}
