/* vm.c - the life of a VM. `possible` is the set of nodes where it may be running: a start needs it
 * empty, an order adds its node before it leaves, and only a participant's own word about itself or
 * a proof of death takes a node out. */
#include <string.h>

#include "supervisord/engine/internal.h"

/* Without a leg the guest cannot say goodbye to anybody: it gets time to sync its disks. */
enum { SOON_MS = 5000 };

#define GO(next_, act_, why_)                                                                      \
    {                                                                                              \
        RULE_GO, next_, act_, why_                                                                 \
    }
#define STAY(why_)                                                                                 \
    {                                                                                              \
        RULE_STAY, 0, ACT_NONE, why_                                                               \
    }

static const struct vm_rule rules[HF_VM_STATES][HF_VM_EVENTS] =
    {
        [HF_VM_STOPPED] =
            {
                [HF_VE_WANT_RUN] = GO(HF_VM_PLACING, ACT_RESET, "asked for"),
                [HF_VE_WANT_STOP] = STAY("stopped already"),
                [HF_VE_MOVE] = STAY("runs nowhere"),
                [HF_VE_HOME_LOST] = STAY("nobody waits for it"),
                [HF_VE_CLEARED] = STAY("nobody waits for it"),
                [HF_VE_PLACED] = STAY("not wanted"),
                [HF_VE_NO_PLACE] = STAY("not wanted"),
                [HF_VE_STARTED] = STAY("no order is live"),
                [HF_VE_START_REFUSED] = STAY("no order is live"),
                [HF_VE_START_UNKNOWN] = STAY("no order is live"),
                [HF_VE_SEEN_RUNNING] = GO(HF_VM_HELD, ACT_HOLD_HERE, "somebody started it by hand"),
                [HF_VE_SEEN_CRASHED] = STAY("stopped already"),
                [HF_VE_SEEN_ENDED] = STAY("stopped already"),
                [HF_VE_STOPPED] = STAY("stopped already"),
                [HF_VE_STOP_UNPROVED] = STAY("no order is live"),
                [HF_VE_TIMER] = STAY("nothing waits"),
                [HF_VE_NO_LEG] = STAY("runs nowhere"),
            },
        [HF_VM_WAITING] =
            {
                [HF_VE_WANT_RUN] = STAY("starts when it is proved that it runs nowhere"),
                [HF_VE_WANT_STOP] = STAY("stays stopped when it is proved that it runs nowhere"),
                [HF_VE_MOVE] = STAY("nobody knows where it is"),
                [HF_VE_HOME_LOST] = STAY("waits for proof already"),
                [HF_VE_CLEARED] = GO(HF_VM_PLACING, ACT_AFTER_CLEAR, "proved: it runs nowhere"),
                [HF_VE_PLACED] = STAY("no start before proof"),
                [HF_VE_NO_PLACE] = STAY("no start before proof"),
                [HF_VE_STARTED] = STAY("no order is live"),
                [HF_VE_START_REFUSED] = STAY("no order is live"),
                [HF_VE_START_UNKNOWN] = STAY("no order is live"),
                [HF_VE_SEEN_RUNNING] = GO(HF_VM_RUNNING, ACT_RUNS, "found where it was left"),
                [HF_VE_SEEN_CRASHED] = STAY("its set of possible nodes tells"),
                [HF_VE_SEEN_ENDED] = STAY("its set of possible nodes tells"),
                [HF_VE_STOPPED] = STAY("its set of possible nodes tells"),
                [HF_VE_STOP_UNPROVED] = STAY("no order is live"),
                [HF_VE_TIMER] = STAY("nothing waits"),
                [HF_VE_NO_LEG] = STAY("nobody knows where it is"),
            },
        [HF_VM_PLACING] =
            {
                [HF_VE_WANT_RUN] = GO(HF_VM_PLACING, ACT_RESET, "an operator wants it at once"),
                [HF_VE_WANT_STOP] = GO(HF_VM_STOPPED, ACT_RESET, "not wanted any more"),
                [HF_VE_MOVE] = STAY("runs nowhere"),
                [HF_VE_HOME_LOST] = GO(HF_VM_WAITING, ACT_FORGET_HOME,
                                       "a lost node may have been told to start it"),
                [HF_VE_CLEARED] = STAY("known to run nowhere"),
                [HF_VE_PLACED] = GO(HF_VM_STARTING, ACT_START, "a node passes the rules"),
                [HF_VE_NO_PLACE] = GO(HF_VM_UNPLACEABLE, ACT_NONE, "no node passes the rules"),
                [HF_VE_STARTED] = STAY("no order is live"),
                [HF_VE_START_REFUSED] = STAY("no order is live"),
                [HF_VE_START_UNKNOWN] = STAY("no order is live"),
                [HF_VE_SEEN_RUNNING] = GO(HF_VM_HELD, ACT_HOLD_HERE, "somebody started it by hand"),
                [HF_VE_SEEN_CRASHED] = STAY("runs nowhere"),
                [HF_VE_SEEN_ENDED] = STAY("runs nowhere"),
                [HF_VE_STOPPED] = STAY("runs nowhere"),
                [HF_VE_STOP_UNPROVED] = STAY("no order is live"),
                [HF_VE_TIMER] = STAY("placed in this step's review"),
                [HF_VE_NO_LEG] = STAY("runs nowhere"),
            },
        [HF_VM_STARTING] =
            {
                [HF_VE_WANT_RUN] = STAY("being started"),
                [HF_VE_WANT_STOP] = GO(HF_VM_STOPPING, ACT_STOP, "not wanted any more"),
                [HF_VE_MOVE] = STAY("a start is not moved half-way"),
                [HF_VE_HOME_LOST] = GO(HF_VM_WAITING, ACT_FORGET_HOME, "its node left mid-start"),
                [HF_VE_CLEARED] = STAY("an order is live"),
                [HF_VE_PLACED] = STAY("placed already"),
                [HF_VE_NO_PLACE] = STAY("placed already"),
                [HF_VE_STARTED] = GO(HF_VM_RUNNING, ACT_RUNS, "started and verified"),
                [HF_VE_START_REFUSED] = GO(HF_VM_PLACING, ACT_FAILED_ONCE, "certainly not started"),
                [HF_VE_START_UNKNOWN] = GO(HF_VM_STOPPING, ACT_KILL,
                                           "nobody knows whether it runs: made sure that not"),
                [HF_VE_SEEN_RUNNING] = STAY("it counts when it is verified"),
                [HF_VE_SEEN_CRASHED] = STAY("the order's own result tells"),
                [HF_VE_SEEN_ENDED] = STAY("the order's own result tells"),
                [HF_VE_STOPPED] = STAY("no stop was ordered"),
                [HF_VE_STOP_UNPROVED] = STAY("no stop was ordered"),
                [HF_VE_TIMER] = STAY("nothing waits"),
                [HF_VE_NO_LEG] = STAY("a start is not moved half-way"),
            },
        [HF_VM_RUNNING] =
            {
                [HF_VE_WANT_RUN] = STAY("runs already"),
                [HF_VE_WANT_STOP] = GO(HF_VM_STOPPING, ACT_STOP, "an operator wants it off"),
                [HF_VE_MOVE] = GO(HF_VM_STOPPING, ACT_STOP, "off here, then on there"),
                [HF_VE_HOME_LOST] = GO(HF_VM_WAITING, ACT_FORGET_HOME, "its node is gone"),
                [HF_VE_CLEARED] = STAY("it runs"),
                [HF_VE_PLACED] = STAY("it has its place"),
                [HF_VE_NO_PLACE] = STAY("it has its place"),
                [HF_VE_STARTED] = STAY("runs already"),
                [HF_VE_START_REFUSED] = STAY("no order is live"),
                [HF_VE_START_UNKNOWN] = STAY("no order is live"),
                [HF_VE_SEEN_RUNNING] = STAY("as it should"),
                [HF_VE_SEEN_CRASHED] = GO(HF_VM_PLACING, ACT_FAILED_ONCE, "its qemu is gone"),
                [HF_VE_SEEN_ENDED] = GO(HF_VM_HELD, ACT_ENDED, "ended on purpose, not by us"),
                [HF_VE_STOPPED] = STAY("no stop was ordered"),
                [HF_VE_STOP_UNPROVED] = STAY("no stop was ordered"),
                [HF_VE_TIMER] = GO(HF_VM_RUNNING, ACT_STABLE, "ran long enough to forgive"),
                [HF_VE_NO_LEG] =
                    GO(HF_VM_STOPPING, ACT_STOP_SOON, "off here, then on where a leg carries"),
            },
        [HF_VM_STOPPING] =
            {
                [HF_VE_WANT_RUN] = STAY("comes back when it is off"),
                [HF_VE_WANT_STOP] = STAY("stays off when it is off"),
                [HF_VE_MOVE] = STAY("goes there when it is off"),
                [HF_VE_HOME_LOST] = GO(HF_VM_WAITING, ACT_FORGET_HOME, "its node left mid-stop"),
                [HF_VE_CLEARED] = STAY("an order is live"),
                [HF_VE_PLACED] = STAY("not off yet"),
                [HF_VE_NO_PLACE] = STAY("not off yet"),
                [HF_VE_STARTED] = STAY("the start was overtaken"),
                [HF_VE_START_REFUSED] = STAY("the start was overtaken"),
                [HF_VE_START_UNKNOWN] = STAY("the start was overtaken"),
                [HF_VE_SEEN_RUNNING] = STAY("not off yet"),
                [HF_VE_SEEN_CRASHED] = STAY("the order's own result tells"),
                [HF_VE_SEEN_ENDED] = STAY("the order's own result tells"),
                [HF_VE_STOPPED] = GO(HF_VM_STOPPED, ACT_AFTER_STOP, "off, proved"),
                [HF_VE_STOP_UNPROVED] = GO(HF_VM_WAITING, ACT_ESCALATE, "cannot be proved stopped"),
                [HF_VE_TIMER] = STAY("nothing waits"),
                [HF_VE_NO_LEG] = STAY("goes elsewhere when it is off"),
            },
        [HF_VM_UNPLACEABLE] =
            {
                [HF_VE_WANT_RUN] = GO(HF_VM_PLACING, ACT_RESET, "tried again"),
                [HF_VE_WANT_STOP] = GO(HF_VM_STOPPED, ACT_RESET, "not wanted any more"),
                [HF_VE_MOVE] = STAY("runs nowhere"),
                [HF_VE_HOME_LOST] = GO(HF_VM_WAITING, ACT_FORGET_HOME,
                                       "a lost node may have been told to start it"),
                [HF_VE_CLEARED] = STAY("known to run nowhere"),
                [HF_VE_PLACED] = GO(HF_VM_STARTING, ACT_START, "a node passes the rules now"),
                [HF_VE_NO_PLACE] = STAY("still nowhere"),
                [HF_VE_STARTED] = STAY("no order is live"),
                [HF_VE_START_REFUSED] = STAY("no order is live"),
                [HF_VE_START_UNKNOWN] = STAY("no order is live"),
                [HF_VE_SEEN_RUNNING] = GO(HF_VM_HELD, ACT_HOLD_HERE, "somebody started it by hand"),
                [HF_VE_SEEN_CRASHED] = STAY("runs nowhere"),
                [HF_VE_SEEN_ENDED] = STAY("runs nowhere"),
                [HF_VE_STOPPED] = STAY("runs nowhere"),
                [HF_VE_STOP_UNPROVED] = STAY("no order is live"),
                [HF_VE_TIMER] = STAY("nothing waits"),
                [HF_VE_NO_LEG] = STAY("runs nowhere"),
            },
        [HF_VM_HELD] =
            {
                [HF_VE_WANT_RUN] = GO(HF_VM_PLACING, ACT_RESET, "given back to us"),
                [HF_VE_WANT_STOP] = GO(HF_VM_STOPPED, ACT_RESET, "given back to us, off"),
                [HF_VE_MOVE] = STAY("held"),
                [HF_VE_HOME_LOST] = STAY("held: not restarted without a word"),
                [HF_VE_CLEARED] = STAY("held"),
                [HF_VE_PLACED] = STAY("held"),
                [HF_VE_NO_PLACE] = STAY("held"),
                [HF_VE_STARTED] = STAY("no order is live"),
                [HF_VE_START_REFUSED] = STAY("no order is live"),
                [HF_VE_START_UNKNOWN] = STAY("no order is live"),
                [HF_VE_SEEN_RUNNING] = GO(HF_VM_HELD, ACT_HOLD_HERE, "somebody started it by hand"),
                [HF_VE_SEEN_CRASHED] =
                    GO(HF_VM_HELD, ACT_ENDED, "held: its end is its holder's affair"),
                [HF_VE_SEEN_ENDED] =
                    GO(HF_VM_HELD, ACT_ENDED, "held: its end is its holder's affair"),
                [HF_VE_STOPPED] = STAY("no order is live"),
                [HF_VE_STOP_UNPROVED] = STAY("no order is live"),
                [HF_VE_TIMER] = STAY("nothing waits"),
                [HF_VE_NO_LEG] = STAY("held"),
            },
        [HF_VM_FAILED] =
            {
                [HF_VE_WANT_RUN] = GO(HF_VM_PLACING, ACT_RESET, "a person decided"),
                [HF_VE_WANT_STOP] = GO(HF_VM_STOPPED, ACT_RESET, "a person decided"),
                [HF_VE_MOVE] = STAY("runs nowhere"),
                [HF_VE_HOME_LOST] = STAY("a person decides"),
                [HF_VE_CLEARED] = STAY("a person decides"),
                [HF_VE_PLACED] = STAY("a person decides"),
                [HF_VE_NO_PLACE] = STAY("a person decides"),
                [HF_VE_STARTED] = STAY("no order is live"),
                [HF_VE_START_REFUSED] = STAY("no order is live"),
                [HF_VE_START_UNKNOWN] = STAY("no order is live"),
                [HF_VE_SEEN_RUNNING] = GO(HF_VM_HELD, ACT_HOLD_HERE, "somebody started it by hand"),
                [HF_VE_SEEN_CRASHED] = STAY("runs nowhere"),
                [HF_VE_SEEN_ENDED] = STAY("runs nowhere"),
                [HF_VE_STOPPED] = STAY("runs nowhere"),
                [HF_VE_STOP_UNPROVED] = STAY("no order is live"),
                [HF_VE_TIMER] = STAY("nothing waits"),
                [HF_VE_NO_LEG] = STAY("runs nowhere"),
            },
};

const struct vm_rule *vm_rule(enum hf_vm_state state, enum hf_vm_event event)
{
    HF_ASSERT(state < HF_VM_STATES);
    HF_ASSERT(event < HF_VM_EVENTS);
    return &rules[state][event];
}

bool vm_is_on_home(const struct vm *v)
{
    return v->state == HF_VM_STARTING || v->state == HF_VM_RUNNING || v->state == HF_VM_STOPPING;
}

struct vm *vm_of_uid(struct engine *e, hf_vm_uid uid)
{
    FOR_EACH_VM (e, v)
        if (v->uid == uid)
            return v;
    return NULL;
}

/* ---- acts: what belongs to entering a state; v->state is the new one already ---- */

static void drop_order(struct vm *v)
{
    v->order = (struct hf_token){0};
    timer_clear(&v->timer);
}

static void no_home(struct vm *v)
{
    v->legs = (struct legs){0};
    v->home = HF_NO_NODE.ix;
    v->running_no = 0;
    v->seen = HF_SEEN_UNKNOWN;
}

static void order_start(struct step *s, struct vm *v)
{
    HF_ASSERT(v->possible == 0);
    HF_ASSERT(v->home < s->e->group.nodes_count);
    v->possible = bit_of(v->home);
    v->doubt_seq = s->e->seq;
    v->target = HF_NO_NODE.ix;
    v->running_no = ++v->start_no;
    v->seen = HF_SEEN_UNKNOWN;
    struct hf_effect *fx = step_effect(s, HF_FX_VM_START, (hf_node){v->home});
    fx->u.vm.uid = v->uid;
    fx->u.vm.start_no = v->start_no;
    fx->u.vm.grace_ms = 0;
    v->order = fx->token;
    timer_arm(s, &v->timer, FOR_START_DEADLINE, s->e->group.policy.start_deadline_ms);
}

static void order_stop(struct step *s, struct vm *v, uint32_t grace_ms)
{
    HF_ASSERT(v->home < s->e->group.nodes_count);
    struct hf_effect *fx = step_effect(s, HF_FX_VM_STOP, (hf_node){v->home});
    fx->u.vm.uid = v->uid;
    fx->u.vm.start_no = v->running_no;
    fx->u.vm.grace_ms = grace_ms;
    v->order = fx->token;
    timer_arm(s, &v->timer, FOR_STOP_DEADLINE, grace_ms + s->e->group.policy.stop_deadline_ms);
}

void vm_forgive(struct vm *v)
{
    v->failures = v->failures_here = 0;
    v->failed_on = HF_NO_NODE.ix;
    v->avoid = 0;
}

/* It ran, or should have, on its home, and is certainly gone from there. */
static void failed_once(struct step *s, struct vm *v)
{
    uint8_t n = v->home;
    v->possible &= (hf_nodes)~bit_of(n);
    v->failures_here = v->failed_on == n ? (uint8_t)(v->failures_here + 1) : 1;
    v->failed_on = n;
    if (v->failures < UINT8_MAX)
        v->failures++;
    v->cause = CAUSE_RECOVERY;
    drop_order(v);
    no_home(v);
    if (v->failures > v->def.restarts_max) {
        v->state = HF_VM_FAILED;
        v->why = HF_WHY_RESTART_LIMIT;
        return;
    }
    if (v->failures_here > v->def.restarts_here)
        v->avoid |= bit_of(n);
    const struct hf_policy *p = &s->e->group.policy;
    uint32_t ms = backoff_ms(p->restart_backoff_ms, p->restart_backoff_count, v->failures);
    if (ms)
        timer_arm(s, &v->timer, FOR_BACKOFF, ms);
    if (v->possible)
        v->state = HF_VM_WAITING;
}

/* Nothing of it is left anywhere we know of: which state follows from what is wanted. */
static void settle(struct vm *v)
{
    bool wants = v->desire == HF_WANT_RUNNING;
    v->state = wants ? (v->possible ? HF_VM_WAITING : HF_VM_PLACING) : HF_VM_STOPPED;
}

static void runs(struct step *s, struct vm *v)
{
    drop_order(v);
    v->seen = HF_SEEN_RUNNING;
    v->cause = CAUSE_RECOVERY;
    if (v->failures)
        timer_arm(s, &v->timer, FOR_STABLE, s->e->group.policy.stable_ms);
}

static void ended(struct vm *v)
{
    if (v->home != HF_NO_NODE.ix)
        v->possible &= (hf_nodes)~bit_of(v->home);
    drop_order(v);
    no_home(v);
}

/* Off and proved. If it was only made sure of, its start has failed after all: counted as such, or
 * a node that can start nothing would be tried for ever. */
static void after_stop(struct step *s, struct vm *v)
{
    bool has_failed = v->is_cleared && v->desire == HF_WANT_RUNNING;
    v->is_cleared = false;
    if (has_failed) {
        v->state = HF_VM_PLACING;
        failed_once(s, v);
        return;
    }
    ended(v);
    settle(v);
}

static void escalate(struct step *s, struct vm *v)
{
    uint8_t n = v->home;
    drop_order(v);
    no_home(v);
    vm_doubt(s, v, bit_of(n)); /* its node is asked again: the stop may come true late */
    /* A move or a stop that an operator asked for is no reason to shoot a host with other VMs on
     * it: it waits for the agent's word, with an alarm. What recovery cannot do without is. */
    if (v->cause == CAUSE_RECOVERY && v->desire == HF_WANT_RUNNING)
        fence_sentence(s, n, SENTENCE_ESCALATED);
}

/* Given back after a hold: where it is now decides. */
static void take_back(struct step *s, struct vm *v, bool wants_run)
{
    vm_forgive(v);
    timer_clear(&v->timer);
    v->target = HF_NO_NODE.ix;
    if (v->home == HF_NO_NODE.ix) {
        settle(v);
        return;
    }
    if (wants_run) {
        v->state = HF_VM_RUNNING;
        runs(s, v);
        return;
    }
    v->state = HF_VM_STOPPING;
    order_stop(s, v, v->def.stop_grace_ms);
}

static void perform(struct step *s, struct vm *v, enum vm_act act)
{
    switch (act) {
    case ACT_NONE:
        break;
    case ACT_FORGET_HOME:
        drop_order(v);
        no_home(v);
        v->cause = CAUSE_RECOVERY;
        break;
    case ACT_START:
        v->is_cleared = false;
        order_start(s, v);
        break;
    case ACT_STOP:
        order_stop(s, v, v->def.stop_grace_ms);
        break;
    case ACT_KILL:
        order_stop(s, v, 0);
        v->is_cleared = true;
        break;
    case ACT_RUNS:
        runs(s, v);
        break;
    case ACT_ENDED:
        ended(v);
        break;
    case ACT_FAILED_ONCE:
        failed_once(s, v);
        break;
    case ACT_RESET:
        take_back(s, v, v->desire == HF_WANT_RUNNING);
        break;
    case ACT_STABLE:
        vm_forgive(v);
        break;
    case ACT_AFTER_STOP:
        after_stop(s, v);
        break;
    case ACT_AFTER_CLEAR:
        settle(v);
        break;
    case ACT_ESCALATE:
        escalate(s, v);
        break;
    case ACT_HOLD_HERE:
        timer_clear(&v->timer);
        v->seen = HF_SEEN_RUNNING;
        break;
    case ACT_STOP_SOON:
        order_stop(s, v, v->def.stop_grace_ms < SOON_MS ? v->def.stop_grace_ms : SOON_MS);
        break;
    case VM_ACTS:
        HF_ASSERT(act != VM_ACTS);
        break;
    }
}

/* A move that ends elsewhere than on its way (found where it was left, held, given up) is over: its
 * target binds nobody and takes no room (seed 24873). Who still wants it away says so again. */
bool vm_is_on_its_way(const struct vm *v)
{
    return v->state == HF_VM_STOPPING || v->state == HF_VM_WAITING || v->state == HF_VM_PLACING;
}

/* The only place that lets a VM's state change; an act may settle on a neighbour of rule->next. */
bool vm_apply(struct step *s, struct vm *v, enum hf_vm_event event, enum hf_reason why)
{
    const struct vm_rule *rule = vm_rule(v->state, event);
    HF_ASSERT(rule->verdict == RULE_GO || rule->verdict == RULE_STAY);
    if (rule->verdict == RULE_STAY)
        return false;
    uint8_t was = v->state, home = v->home;
    v->state = rule->next;
    v->why = (uint8_t)why;
    v->since_seq = s->e->seq;
    perform(s, v, rule->act);
    if (!vm_is_on_its_way(v))
        v->target = HF_NO_NODE.ix;
    s->needs_review = true;
    step_note_vm(s, v, was, v->why, rule->act == ACT_FAILED_ONCE ? v->failures : 0);
    if (v->home == HF_NO_NODE.ix) /* tell where it was */
        s->out->changes[s->out->changes_count - 1].node = (hf_node){home};
    return true;
}

/* ---- what nodes say ---- */

static void order_stray(struct step *s, struct vm *v, uint8_t n, uint32_t start_no)
{
    if (hf_token_is(v->stray_order) && v->stray_on == n)
        return;
    struct hf_effect *fx = step_effect(s, HF_FX_VM_STOP, (hf_node){n});
    fx->u.vm.uid = v->uid;
    fx->u.vm.start_no = start_no;
    fx->u.vm.grace_ms = 0;
    v->stray_order = fx->token;
    v->stray_on = n;
    step_note_vm(s, v, v->state, HF_WHY_STRAY, n);
}

/* Not there any more: a bit of doubt less, and perhaps the last. */
static void clear_bit(struct step *s, struct vm *v, uint8_t n)
{
    if (!(v->possible & bit_of(n)))
        return;
    v->possible &= (hf_nodes)~bit_of(n);
    if (v->stray_on == n) {
        v->stray_order = (struct hf_token){0};
        v->stray_on = HF_NO_NODE.ix;
    }
    s->needs_review = true;
    if (v->possible == 0)
        vm_apply(s, v, HF_VE_CLEARED, HF_WHY_PROVED_NOWHERE);
}

void vm_seen_running(struct step *s, struct vm *v, uint8_t n, uint32_t start_no)
{
    if (v->home == n) {
        v->seen = HF_SEEN_RUNNING;
        bool is_settled = v->state == HF_VM_RUNNING || v->state == HF_VM_HELD;
        if (is_settled && (start_no == 0 || start_no > v->running_no)) {
            v->running_no = start_no; /* replaced by hand where it belongs: it runs, that is all */
            s->needs_review = true;
        }
        return;
    }
    v->possible |= bit_of(n);
    if (start_no > v->start_no)
        v->start_no =
            start_no; /* a start this state has forgotten: its number is never given again */
    if (vm_is_on_home(v) || (v->state == HF_VM_HELD && v->home != HF_NO_NODE.ix)) {
        order_stray(s, v, n, start_no);
        return;
    }
    if (v->stray_on == n)
        return; /* already ordered off there: the order's result tells */
    bool is_ours = start_no != 0 && start_no == v->start_no;
    v->home = n;
    v->running_no = start_no;
    if (v->state == HF_VM_WAITING && v->desire != HF_WANT_RUNNING) {
        uint8_t was = v->state;
        v->state = HF_VM_STOPPING; /* it was to be stopped when its node was lost */
        v->why = HF_WHY_FOUND_RUNNING;
        v->since_seq = s->e->seq;
        order_stop(s, v, v->def.stop_grace_ms);
        step_note_vm(s, v, was, HF_WHY_FOUND_RUNNING, start_no);
        return;
    }
    vm_apply(s, v, HF_VE_SEEN_RUNNING,
             is_ours || v->state == HF_VM_WAITING ? HF_WHY_FOUND_RUNNING : HF_WHY_STARTED_BY_HAND);
}

void vm_seen_gone(struct step *s, struct vm *v, uint8_t n, uint32_t start_no, enum hf_seen how)
{
    if (v->home != n) {
        /* It may have lain in an outbox while somebody started the VM there by hand (seed 87228).
         */
        if (s->e->nodes[n].state == HF_NODE_JOINING)
            step_answer(s, false, HF_WHY_LIST_AWAITED);
        else if (start_no >=
                 v->start_no) /* else it tells of an older start than the one in doubt */
            clear_bit(s, v, n);
        else
            step_answer(s, false, HF_WHY_STALE_INCARNATION);
        return;
    }
    if (v->state != HF_VM_RUNNING && v->state != HF_VM_HELD) {
        step_answer(s, false, HF_WHY_ALREADY); /* the live order's own result tells */
        return;
    }
    if (start_no != v->running_no) {
        step_answer(s, false, HF_WHY_STALE_INCARNATION);
        return;
    }
    if (how == HF_SEEN_CRASHED)
        vm_apply(s, v, HF_VE_SEEN_CRASHED, HF_WHY_CRASHED);
    else
        vm_apply(s, v, HF_VE_SEEN_ENDED,
                 how == HF_SEEN_SHUTDOWN ? HF_WHY_ENDED_BY_GUEST : HF_WHY_ENDED_BY_HAND);
}

/* A complete list of what runs on n does not have it. */
void vm_not_listed(struct step *s, struct vm *v, uint8_t n, uint64_t as_of)
{
    if (as_of < v->doubt_seq)
        return; /* older than the order it would have to know of */
    if (v->home != n)
        clear_bit(s, v, n);
    else if (v->state == HF_VM_RUNNING || v->state == HF_VM_HELD)
        vm_apply(s, v, HF_VE_SEEN_CRASHED, HF_WHY_CRASHED);
}

void vm_report(struct step *s, const struct hf_event *ev)
{
    struct vm *v = vm_of_uid(s->e, ev->u.vm.uid);
    if (!v) {
        step_answer(s, false, HF_WHY_NO_SUCH_VM);
        return;
    }
    if (ev->u.vm.seen == HF_SEEN_RUNNING)
        host_stays(s, ev->from.ix);
    if (!host_may_speak(s->e, ev->from)) {
        step_answer(s, false, HF_WHY_NOT_PRESENT);
        return;
    }
    uint8_t n = ev->from.ix;
    switch (ev->u.vm.seen) {
    case HF_SEEN_UNKNOWN:
        if (v->home == n)
            v->seen = HF_SEEN_UNKNOWN;
        break;
    case HF_SEEN_RUNNING:
        vm_seen_running(s, v, n, ev->u.vm.start_no);
        break;
    case HF_SEEN_CRASHED:
    case HF_SEEN_DESTROYED:
    case HF_SEEN_SHUTDOWN:
        vm_seen_gone(s, v, n, ev->u.vm.start_no, ev->u.vm.seen);
        break;
    case HF_SEENS:
        HF_ASSERT(ev->u.vm.seen != HF_SEENS);
        break;
    }
}

/* n left without proof. What it may run, it may run on; and what runs nowhere might have been
 * ordered there in its last instant, by a message only it received. */
void vm_node_lost(struct step *s, uint8_t n)
{
    FOR_EACH_VM (s->e, v) {
        if (v->stray_on == n) {
            v->stray_order = (struct hf_token){0};
            v->stray_on = HF_NO_NODE.ix;
        }
        if (v->possible == 0) {
            v->possible = bit_of(n);
            vm_apply(s, v, HF_VE_HOME_LOST, HF_WHY_LAST_INSTANT);
            continue;
        }
        if (v->home != n)
            continue;
        if (!vm_apply(s, v, HF_VE_HOME_LOST, HF_WHY_HOST_LOST))
            no_home(v); /* held by hand: we only forget where */
    }
}

/* It may run there, for all we know: the nodes' inventories tell. */
void vm_doubt(struct step *s, struct vm *v, hf_nodes where)
{
    v->possible |= where;
    v->doubt_seq = s->e->seq;
}

/* Decisions may have been forgotten: a VM may run anywhere, whatever the state says. Each node's
 * inventory or proof takes its bit out again; nothing starts before the last one is gone. */
void vm_doubt_all(struct step *s)
{
    hf_nodes all = (hf_nodes)((1u << s->e->group.nodes_count) - 1);
    FOR_EACH_VM (s->e, v) {
        v->stray_order = (struct hf_token){0};
        v->stray_on = HF_NO_NODE.ix;
        v->possible = all;
        v->doubt_seq = s->e->seq;
        if (!vm_apply(s, v, HF_VE_HOME_LOST, HF_WHY_COLD_START))
            no_home(v);
    }
}

void vm_node_rejoined(struct step *s, uint8_t n)
{
    FOR_EACH_VM (s->e, v) {
        if (!(v->possible & bit_of(n)))
            continue;
        if (v->home == n && !vm_apply(s, v, HF_VE_HOME_LOST, HF_WHY_HOST_LOST))
            no_home(v);
        vm_doubt(s, v, bit_of(n));
    }
}

void vm_node_proved(struct step *s, uint8_t n)
{
    FOR_EACH_VM (s->e, v) {
        if (v->home == n && !vm_apply(s, v, HF_VE_HOME_LOST, HF_WHY_HOST_LOST))
            no_home(v);
        clear_bit(s, v, n);
    }
}

/* ---- results of orders ---- */

static void start_done(struct step *s, struct vm *v, enum hf_outcome outcome)
{
    switch (outcome) {
    case HF_OUT_DONE:
        vm_apply(s, v, HF_VE_STARTED, HF_WHY_STARTED);
        break;
    case HF_OUT_REFUSED:
        vm_apply(s, v, HF_VE_START_REFUSED, HF_WHY_START_REFUSED);
        break;
    case HF_OUT_GAVE_UP:
        vm_apply(s, v, HF_VE_START_UNKNOWN, HF_WHY_START_DEADLINE);
        break;
    case HF_OUTCOMES:
        HF_ASSERT(outcome != HF_OUTCOMES);
        break;
    }
}

static void stray_done(struct step *s, struct vm *v, enum hf_outcome outcome)
{
    uint8_t n = v->stray_on;
    v->stray_order = (struct hf_token){0};
    v->stray_on = HF_NO_NODE.ix;
    if (outcome == HF_OUT_DONE)
        clear_bit(s, v, n);
    else
        fence_sentence(s, n, SENTENCE_ESCALATED); /* two copies run: the one that must not goes */
}

bool vm_done(struct step *s, const struct hf_event *ev)
{
    struct hf_token token = ev->u.done.effect;
    FOR_EACH_VM (s->e, v) {
        if (hf_token_is(v->stray_order) && hf_token_same(v->stray_order, token) &&
            v->stray_on == ev->from.ix) {
            stray_done(s, v, ev->u.done.outcome);
            return true;
        }
        if (!hf_token_is(v->order) || !hf_token_same(v->order, token) || v->home != ev->from.ix)
            continue;
        if (v->state == HF_VM_STARTING)
            start_done(s, v, ev->u.done.outcome);
        else if (ev->u.done.outcome == HF_OUT_DONE)
            vm_apply(s, v, HF_VE_STOPPED, HF_WHY_STOPPED);
        else
            vm_apply(s, v, HF_VE_STOP_UNPROVED, HF_WHY_STOP_UNPROVED);
        return true;
    }
    return false;
}
