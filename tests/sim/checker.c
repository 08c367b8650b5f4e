/* checker.c - see checker.h. Every rule says what it compares; a rule that cannot be judged from
 * physical truth is not here. */
#include "tests/sim/checker.h"

#include <stdlib.h>
#include <string.h>

#include "supervisord/base/hash.h"
#include "supervisord/model/names.h"
#include "supervisord/wire/event.h"
#include "tests/sim/sim.h"

enum {
    DIGEST_EVERY = 8, /* a digest costs a whole save: every so many steps */
    DECISION_BYTES = 1 << 16,
    STEPS_A_MINUTE = 4000, /* measured: the busiest fault storms stay below a quarter of it */
    START_SLACK = 4,       /* results that came late or twice count as failures of their own */
};

void checker_open(struct sim *s)
{
    struct checker_step *step = calloc(CHECKER_STEPS, sizeof *step);
    if (step == NULL)
        abort();
    s->check = (struct checker){.step = step};
    for (unsigned n = 0; n < HF_NODES_MAX; n++)
        s->check.fence[n].on_since = 1;
}

void checker_close(struct sim *s)
{
    free(s->check.step);
}

/* ---- S1, S2 and restart limits: what physically happens to VMs ---- */

static bool lock_holds(struct sim *s, hf_node other, hf_vm_uid uid, struct hf_token token)
{
    const struct vm_process *p = &s->world.host[other.ix].vm[uid];
    /* A person started it and the order is older than the engine's knowledge of that: nobody can
     * know better, and the image's lock refuses the second start. */
    if (p->start_no != 0 || (p->known_seq != 0 && p->known_seq < token.seq))
        return false;
    faults_count(s, FAULT_T4);
    return true;
}

/* Placement: what physically runs on n, was ordered there, and is known to the state. */
static void check_place(struct sim *s, hf_node n, hf_vm_uid uid, struct hf_token token)
{
    const struct checker_vm *v = &s->check.vm[uid];
    uint32_t used = v->def.memory_mib;
    uint64_t drained = s->check.fence[n.ix].drained_seq;
    if (drained != 0 && token.seq > drained)
        sim_fail(s, "P1: vm %u is started on node %u, which is in maintenance", uid, n.ix);
    if (v->def.allowed != 0 && !hf_nodes_has(v->def.allowed, n))
        sim_fail(s, "P3: vm %u is started on node %u, where its owner does not allow it", uid,
                 n.ix);
    for (hf_vm_uid other = 1; other < SIM_VMS_MAX; other++) {
        const struct checker_vm *o = &s->check.vm[other];
        const struct vm_process *p = &s->world.host[n.ix].vm[other];
        if (!o->is_added || o->was_relearned || !p->is_running || p->start_no == 0)
            continue;
        used += o->def.memory_mib;
        if (v->def.apart[0] != '\0' && strcmp(v->def.apart, o->def.apart) == 0)
            sim_fail(s, "P3: vm %u is started beside vm %u of its group on node %u", uid, other,
                     n.ix);
    }
    if (used + s->group.nodes[n.ix].reserve_mib > s->opt.memory_mib)
        sim_fail(s, "P6: vm %u is started on node %u beyond its memory", uid, n.ix);
}

bool checker_vm_starts(struct sim *s, hf_node n, hf_vm_uid uid, uint32_t start_no,
                       struct hf_token token)
{
    struct checker_vm *v = &s->check.vm[uid];
    hf_nodes others = (hf_nodes)(world_running_on(s, uid) & ~hf_bit(n));
    bool by_hand = !hf_token_is(token);
    if (others != 0) {
        if (lock_holds(s, hf_nodes_first(others), uid, token))
            return false;
        sim_fail(s,
                 "S1: vm %u is started on node %u (start %u, order %llu.%u) while it runs on "
                 "node %u",
                 uid, n.ix, start_no, (unsigned long long)token.seq, token.nth,
                 hf_nodes_first(others).ix);
        return false;
    }
    if (!by_hand && v->last_start_no != 0 && !hf_node_same(v->last_host, n) &&
        !(v->is_over && v->over_told)) {
        sim_fail(s,
                 "S2: vm %u is started on node %u although nothing proves that it ended on "
                 "node %u",
                 uid, n.ix, v->last_host.ix);
        return false;
    }
    if (!by_hand && v->is_added) {
        if (!v->was_relearned)
            check_place(s, n, uid, token);
        if (v->started_at != 0 && v->is_over == false)
            v->bad_starts = 0;
        if (++v->bad_starts > v->def.restarts_max + 1u + START_SLACK && sim_clocks_are_fair(s))
            sim_fail(s, "L3: vm %u is started %u times without ever being stable; its limit is %u",
                     uid, v->bad_starts, v->def.restarts_max);
    }
    v->last_host = n;
    v->last_start_no = start_no;
    v->is_over = v->over_told = false;
    v->started_at = s->now;
    v->ended_on_purpose = by_hand;
    s->check.starts++;
    v->starts++;
    return true;
}

void checker_vm_ended(struct sim *s, hf_node n, hf_vm_uid uid, enum vm_end how)
{
    struct checker_vm *v = &s->check.vm[uid];
    if (s->now - v->started_at >= SIM_MS(s->opt.policy.stable_ms) || how == VM_END_POWER ||
        how == VM_END_ORDERED || how == VM_END_SELF)
        v->bad_starts = 0;
    if (hf_node_same(v->last_host, n)) {
        v->is_over = true;
        v->over_told = how == VM_END_POWER;
    }
    v->crashes += how == VM_END_SELF; /* told as one when the blip is over */
    v->ended_on_purpose = how == VM_END_SHUTDOWN || how == VM_END_BY_HAND ||
                          v->ended_on_purpose; /* held: nobody starts it again but a person */
    v->crashes += how == VM_END_CRASH;
}

void checker_vm_stops(struct sim *s, hf_vm_uid uid, struct hf_token order, bool gave_up)
{
    struct checker_vm *v = &s->check.vm[uid];
    static const struct hf_token none;

    v->late_ends += gave_up;
    v->end_token = gave_up ? none : order;
}

void checker_vm_started(struct sim *s, hf_vm_uid uid, struct hf_token order)
{
    s->check.vm[uid].start_token = order;
}

/* The group hears how an order ended. A start that is refused as stale was too late and is undone:
 * it has failed. A stop that is refused as stale: the VM was found running and at home again, and
 * the end that the group will see is one it did not order. */
static void learn_end(struct sim *s, const struct hf_event *ev, bool counts)
{
    for (hf_vm_uid uid = 1; uid < SIM_VMS_MAX; uid++) {
        struct checker_vm *v = &s->check.vm[uid];
        if (hf_token_is(v->start_token) && hf_token_same(v->start_token, ev->u.done.effect)) {
            v->crashes += !counts;
            v->start_token = (struct hf_token){0};
        }
        if (!hf_token_is(v->end_token) || !hf_token_same(v->end_token, ev->u.done.effect))
            continue;
        v->late_ends += !counts;
        v->end_token = (struct hf_token){0};
    }
}

static void vm_told(struct sim *s, hf_node n, hf_vm_uid uid)
{
    struct checker_vm *v = &s->check.vm[uid];
    if (hf_node_same(v->last_host, n) && v->is_over)
        v->over_told = true;
}

void checker_told(struct sim *s, hf_node n, const struct node_report *r)
{
    if (r->type == HF_EV_VM && r->seen != HF_SEEN_RUNNING && r->seen != HF_SEEN_UNKNOWN)
        vm_told(s, n, r->uid);
    if (r->type == HF_EV_DONE && r->uid != 0 && r->outcome != HF_OUT_GAVE_UP)
        vm_told(s, n, r->uid);
    if (r->type == HF_EV_INVENTORY) {
        bool runs[SIM_VMS_MAX] = {false};
        for (unsigned i = 0; i < r->count; i++)
            runs[r->vm[i].uid] = true;
        for (hf_vm_uid uid = 1; uid < SIM_VMS_MAX; uid++)
            if (!runs[uid])
                vm_told(s, n, uid);
    }
}

void checker_start_failed(struct sim *s, hf_vm_uid uid)
{
    s->check.vm[uid].crashes++;
}

void checker_host_off(struct sim *s, hf_node n)
{
    for (hf_vm_uid uid = 1; uid < SIM_VMS_MAX; uid++)
        if (hf_node_same(s->check.vm[uid].last_host, n) && s->check.vm[uid].is_over)
            s->check.vm[uid].over_told = true; /* whatever its agent knew, nothing runs there */
}

void checker_host_on(struct sim *s, hf_node n)
{
    struct checker_fence *f = &s->check.fence[n.ix];
    bool is_fencing = false; /* somebody has not heard that it is on: the order stands meanwhile */
    for (unsigned i = 0; i < s->opt.nodes; i++)
        is_fencing |= s->check.node_state[i][n.ix] == HF_NODE_FENCING;
    f->is_proved = false;
    f->ordered = f->ordered && is_fencing;
    f->on_since = s->now;
}

void checker_stop_unproved(struct sim *s, hf_node n)
{
    s->check.fence[n.ix].excused_until = s->now + SIM_MS(3600000LL);
}

void checker_stop_proved(struct sim *s, hf_node n)
{
    struct checker_fence *f = &s->check.fence[n.ix];
    int64_t late = SIM_MS(s->opt.policy.stop_deadline_ms) * 8 / 10 - SIM_MS(2LL * s->opt.report_ms);
    if (f->stop_at != 0 && s->now - f->stop_at >= late)
        f->excused_until = s->now + SIM_MS(600000); /* the news may come too late */
    f->stop_at = 0;
    for (hf_vm_uid uid = 1; uid < SIM_VMS_MAX; uid++)
        if (s->world.host[n.ix].op[uid].kind == VM_OP_STOP)
            f->stop_at = s->now - SIM_MS(s->opt.policy.stop_deadline_ms) / 2;
}

/* ---- S4, S12: what every replica does at the same place ---- */

static uint64_t decision_hash(const struct engine_out *out)
{
    static uint8_t bytes[DECISION_BYTES];
    struct hf_writer w = hf_writer_on(bytes, sizeof bytes);
    decision_encode(out, &w);
    return hf_hash(HF_HASH_START, bytes, w.len < sizeof bytes ? w.len : sizeof bytes);
}

static hf_vm_uid uid_of(const struct engine *e, const char *name)
{
    hf_vm vm = engine_vm_by_name(e, name);
    return vm.ix < HF_VMS_MAX ? engine_vm(e, vm).uid : 0;
}

static void forget_holds(struct sim *s, hf_node n)
{
    for (unsigned i = 0; i < CHECKER_STEPS; i++) {
        s->check.step[i].holds &= (hf_nodes)~hf_bit(n);
        s->check.step[i].said[n.ix] = 0;
    }
}

/* Is this view over for n's corosync, though n does not know it yet? */
static bool has_left(const struct sim *s, hf_node n, struct hf_view view)
{
    const struct corosync *c = &s->totem.coro[n.ix];
    return c->ring >= RINGS_MAX || !hf_view_same(s->totem.ring[c->ring].id, view) ||
           s->totem.ring[c->ring].is_stalled;
}

static hf_nodes said_by(const struct checker_step *step, uint64_t said)
{
    hf_nodes nodes = 0;
    for (unsigned i = 0; said != 0 && i < HF_NODES_MAX; i++)
        if (step->said[i] == said)
            nodes |= hf_bit(sim_node_at(i));
    return nodes;
}

static void learn_step(const struct engine *e, const struct hf_event *ev,
                       const struct engine_out *out, struct checker_step *step)
{
    if (ev->type != HF_EV_ORDER || !out->applied)
        return;
    step->is_order = true;
    step->order = (uint8_t)ev->u.order.type;
    step->wants_run = ev->u.order.wants_run;
    step->node = ev->u.order.node;
    step->uid =
        ev->u.order.type == HF_ORDER_VM_ADD ? uid_of(e, ev->u.order.def.name) : ev->u.order.uid;
}

/* The record of this place begins anew with what n did. Beyond a hole at the end of a ring there
 * may be as many branches as nodes, and their members do them in turns: who had done this one is
 * not forgotten over another (seed 21667), nor is one of them alone the step's because it was done
 * before its node was cut off (seed 55291). */
static void begin_step(struct sim *s, hf_node n, const struct engine *e, const struct hf_event *ev,
                       const struct engine_out *out, const struct checker_step *now)
{
    struct checker_step *step = &s->check.step[ev->seq % CHECKER_STEPS];
    struct checker_step was = *step;
    bool is_same_place =
        was.seq == now->seq && was.epoch == now->epoch && hf_view_same(was.view, now->view);
    *step = *now;
    if (is_same_place) {
        hf_nodes same = said_by(&was, now->said[n.ix]);
        memcpy(step->said, was.said, sizeof step->said);
        step->did = (hf_nodes)((was.decision == now->decision ? was.did : 0) | same);
        step->holds = same;
        if (said_by(&was, was.within) != 0)
            step->within = was.within;
    }
    learn_step(e, ev, out, step);
}

/* Another branch than the recorded one? Within the view there is one only. */
static bool is_branch(struct sim *s, hf_node n, const struct checker_step *step,
                      const struct checker_step *now)
{
    bool differs_within =
        !now->is_beyond && said_by(step, step->within) != 0 && step->within != now->said[n.ix];
    return (step->is_beyond || now->is_beyond) && !differs_within && !sim_is_majority(s, step->did);
}

/* True: n is the one that makes it a majority. */
static bool compare_step(struct sim *s, hf_node n, const struct engine *e,
                         const struct hf_event *ev, const struct engine_out *out)
{
    struct checker_step *step = &s->check.step[ev->seq % CHECKER_STEPS];
    struct hf_group_view group = engine_group(e);
    struct checker_step now = {.seq = ev->seq,
                               .epoch = group.epoch,
                               .lineage = group.lineage,
                               .view = group.view,
                               .decision = decision_hash(out),
                               .digest = ev->seq % DIGEST_EVERY == 0 ? engine_digest(e) : 0,
                               .is_beyond = has_left(s, n, group.view)};
    now.said[n.ix] = now.decision ^ now.digest;
    now.within = now.is_beyond ? 0 : now.said[n.ix];
    bool is_same_place =
        step->seq == ev->seq && step->epoch == group.epoch && hf_view_same(step->view, group.view);
    bool differs = step->decision != now.decision || step->digest != now.digest;
    /* Beyond a hole at the end of a ring everybody has his own messages only: they say nothing of
     * who did this step within the view (seeds 60165, 120143). */
    bool is_anew = differs && is_branch(s, n, step, &now);
    if (!is_same_place || step->holds == 0 || is_anew) {
        /* A step of an abandoned history; but the newest lineage is nobody's past, whatever epochs
         * a node has that was away when it began (seed 55147). */
        bool is_newest = group.lineage == s->check.lineage && step->lineage != group.lineage;
        if (step->seq == ev->seq && step->epoch > group.epoch && step->holds != 0 && !is_newest)
            return false;
        begin_step(s, n, e, ev, out, &now);
        differs = false;
    }
    bool was_majority = sim_is_majority(s, step->did);
    if (differs && now.is_beyond)
        return false;
    step->did |= hf_bit(n);
    step->holds |= hf_bit(n);
    step->said[n.ix] = now.said[n.ix];
    if (!now.is_beyond)
        step->within = now.within;
    if (differs && ev->type == HF_EV_MEMBERS)
        checker_forgets(s, ev); /* its epoch may have been promised before, and forgotten */
    if (step->decision != now.decision)
        sim_fail(s, "S4: node %u decides differently at epoch %llu seq %llu", n.ix,
                 (unsigned long long)group.epoch, (unsigned long long)ev->seq);
    else if (step->digest != now.digest)
        sim_fail(s, "S4: node %u has another state at epoch %llu seq %llu", n.ix,
                 (unsigned long long)group.epoch, (unsigned long long)ev->seq);
    return !was_majority && sim_is_majority(s, step->did);
}

/* At this step; a replica that comes to it late ends no maintenance that has begun since. */
static void maintenance_ended(struct sim *s, unsigned n, uint64_t seq)
{
    struct checker_fence *f = &s->check.fence[n];
    if (f->undrained_seq < seq)
        f->undrained_seq = seq;
    if (f->drained_seq <= seq)
        f->drained_seq = 0;
}

/* An order is learned when a majority has it. One that a single node had applied comes over with
 * that node's state, and so does the end of what it had begun, if that was decided since: then
 * nothing begins any more (seed 139546). */
static void maintenance_begins(struct sim *s, hf_node n, uint64_t seq)
{
    if (hf_node_is(n) && seq > s->check.fence[n.ix].undrained_seq)
        s->check.fence[n.ix].drained_seq = seq;
}

static void check_change(struct sim *s, hf_node n, uint64_t seq, const struct hf_change *c)
{
    uint8_t *was = NULL;
    if (c->subject == HF_SUBJECT_NODE && c->ix < s->opt.nodes)
        was = &s->check.node_state[n.ix][c->ix];
    else if (c->subject == HF_SUBJECT_VM && c->ix < HF_VMS_MAX)
        was = &s->check.vm_state[n.ix][c->ix];
    if (was == NULL)
        return;
    if (c->why == HF_WHY_ADDED)
        *was = c->was;
    if (c->subject == HF_SUBJECT_NODE &&
        (c->why == HF_WHY_MAINTENANCE_EXPIRED || c->why == HF_WHY_UNDRAINED))
        maintenance_ended(s, c->ix, seq);
    if (*was != c->was)
        sim_fail(s, "S12: node %u says %s %u was %u, but it had become %u", n.ix,
                 hf_subject_name(c->subject), c->ix, c->was, *was);
    *was = c->now;
    s->check.changes++;
}

static void say_change(struct sim *s, hf_node n, const struct hf_event *ev,
                       const struct hf_change *c)
{
    bool is_vm = c->subject == HF_SUBJECT_VM;
    bool is_node = c->subject == HF_SUBJECT_NODE;
    const char *was = is_vm     ? hf_vm_state_name((enum hf_vm_state)c->was)
                      : is_node ? hf_node_state_name((enum hf_node_state)c->was)
                                : "";
    const char *now = is_vm     ? hf_vm_state_name((enum hf_vm_state)c->now)
                      : is_node ? hf_node_state_name((enum hf_node_state)c->now)
                                : "";
    SAY(s, n.ix, "  #%llu %s %u: %s -> %s (node %d) %s %u", (unsigned long long)ev->seq,
        hf_subject_name(c->subject), is_vm ? c->uid : c->ix, was, now,
        hf_node_is(c->node) ? c->node.ix : -1, hf_reason_name(c->why), c->detail);
}

/* ---- what people asked for ---- */

static void learn_vm(struct sim *s, const struct hf_vm_def *def, hf_vm_uid uid, bool run)
{
    if (uid == 0 || uid >= SIM_VMS_MAX)
        return;
    struct checker_vm *v = &s->check.vm[uid];
    if (!s->world.vm[uid].is_known)
        *v = (struct checker_vm){.last_host = HF_NO_NODE, .is_over = true, .over_told = true};
    v->is_added = true;
    v->wants_run = run;
    v->def = *def;
    s->world.vm[uid].is_known = true;
}

static const struct hf_vm_def *def_of(const struct engine *e, hf_vm_uid uid)
{
    hf_vm vm = engine_vm_by_uid(e, uid);
    return vm.ix < HF_VMS_MAX ? engine_vm(e, vm).def : NULL;
}

static void learn_order(struct sim *s, const struct engine *e, const struct checker_step *step)
{
    struct checker_vm *v = step->uid < SIM_VMS_MAX ? &s->check.vm[step->uid] : NULL;
    const struct hf_vm_def *def = def_of(e, step->uid);
    switch ((enum hf_order_type)step->order) {
    case HF_ORDER_VM_ADD:
        if (def != NULL)
            learn_vm(s, def, step->uid, step->wants_run);
        return;
    case HF_ORDER_VM_REMOVE:
        if (v != NULL)
            v->is_added = v->wants_run = false;
        return;
    case HF_ORDER_VM_START:
        if (v != NULL) {
            v->wants_run = true;
            /* The group may get to know of an order only after somebody's hand. */
            v->ended_on_purpose = world_runs_by_hand(s, step->uid);
            v->bad_starts = v->crashes = v->late_ends = 0;
        }
        return;
    case HF_ORDER_VM_STOP:
        if (v != NULL)
            v->wants_run = false;
        return;
    case HF_ORDER_FENCE:
        if (hf_node_is(step->node)) {
            s->check.fence[step->node.ix].ordered = true;
            s->check.fence[step->node.ix].ordered_at = s->now;
        }
        return;
    case HF_ORDER_VM_MOVE:
        if (v != NULL)
            v->bad_starts = 0;
        return;
    case HF_ORDER_DRAIN:
    case HF_ORDER_LEAVE:
        maintenance_begins(s, step->node, step->seq);
        return;
    case HF_ORDER_ARM:
    case HF_ORDER_DISARM:
        checker_storm_over(s);
        return;
    case HF_ORDER_UNDRAIN: /* ends it by its change */
    case HF_ORDER_CONFIRM:
    case HF_ORDER_HOLD:
    case HF_ORDER_POWER_ON:
    case HF_ORDERS:
        return;
    }
}

/* Steps were lost with all who held them (crashes with a torn journal, a cold start): what people
 * are known to want is what the group still knows. The one place where the engine is asked. */
static void relearn(struct sim *s, const struct engine *e, uint64_t seq)
{
    for (unsigned n = 0; n < s->opt.nodes; n++) {
        struct checker_fence *f = &s->check.fence[n];
        f->drained_seq = 0;
        if (f->undrained_seq >= seq) /* an end in the history that is gone: none from here on */
            f->undrained_seq = seq - 1;
        f->is_attested = f->has_left = false;
        memset(f->wrong_seq, 0, sizeof f->wrong_seq);
    }
    checker_storm_over(s);
    for (hf_vm_uid uid = 1; uid < SIM_VMS_MAX; uid++) {
        hf_vm vm = engine_vm_by_uid(e, uid);
        struct checker_vm *v = &s->check.vm[uid];
        if (vm.ix >= HF_VMS_MAX) {
            v->is_added = v->wants_run = false;
            continue;
        }
        struct hf_vm_view view = engine_vm(e, vm);
        learn_vm(s, view.def, uid, view.desire == HF_WANT_RUNNING);
        v->bad_starts = 0;
        v->was_relearned = v->has_target = true;
        if (view.state == HF_VM_HELD)
            v->ended_on_purpose = true;
        if (view.state == HF_VM_FAILED)
            v->crashes = v->def.restarts_max;
        else if (view.failures > v->crashes)
            v->crashes = view.failures; /* a person's start that forgave them is forgotten, too */
    }
}

/* The group (a majority) has learnt that a fence run ended well. */
static void learn_proof(struct sim *s, const struct hf_event *ev)
{
    for (unsigned n = 0; n < s->opt.nodes; n++) {
        struct checker_fence *f = &s->check.fence[n];
        if (!hf_token_same(f->token, ev->u.done.effect) || s->world.host[n].is_on ||
            hf_token_same(f->proved, f->token))
            continue;
        f->proved = f->token;
        f->is_proved = true;
        f->proved_at = s->now;
    }
}

/* The engine is told of a VM started by hand. */
static void learn_by_hand(struct sim *s, const struct hf_event *ev)
{
    struct host *h = hf_node_is(ev->from) ? &s->world.host[ev->from.ix] : NULL;
    if (h == NULL)
        return;
    if (ev->type == HF_EV_VM && ev->u.vm.seen == HF_SEEN_RUNNING && ev->u.vm.start_no == 0 &&
        ev->u.vm.uid < SIM_VMS_MAX && h->vm[ev->u.vm.uid].known_seq == 0)
        h->vm[ev->u.vm.uid].known_seq = ev->seq;
    for (unsigned i = 0; ev->type == HF_EV_INVENTORY && i < ev->u.inventory.count; i++) {
        const struct hf_vm_seen *seen = &ev->u.inventory.vm[i];
        if (seen->start_no == 0 && seen->uid < SIM_VMS_MAX && h->vm[seen->uid].known_seq == 0)
            h->vm[seen->uid].known_seq = ev->seq;
    }
}

static void say_step(struct sim *s, hf_node n, const struct hf_event *ev,
                     const struct engine_out *out)
{
    static const char *const types[] = {"?",    "members", "facts", "inventory", "vm",
                                        "beat", "expired", "done",  "order",     "attest",
                                        "path", "nics",    "legs"};
    SAY(s, n.ix, "#%llu %s from %d%s %s", (unsigned long long)ev->seq,
        ev->type < HF_EVENT_TYPES ? types[ev->type] : "?", hf_node_is(ev->from) ? ev->from.ix : -1,
        out->applied ? "" : " NOT APPLIED:", hf_reason_name(out->why));
    for (uint32_t i = 0; i < out->changes_count; i++)
        say_change(s, n, ev, &out->changes[i]);
}

static void learn_once(struct sim *s, const struct engine *e, uint64_t seq)
{
    struct checker_step *step = &s->check.step[seq % CHECKER_STEPS];
    if (step->is_learned)
        return;
    step->is_learned = true;
    s->check.order_steps++;
    learn_order(s, e, step);
}

/* Orders that one node had applied and a majority got with its state: in their order. What nobody
 * alive holds is of a history that is gone. */
static void learn_taken_over(struct sim *s, const struct engine *e)
{
    uint64_t last = engine_seq(e);
    uint64_t first = last > CHECKER_STEPS ? last - CHECKER_STEPS + 1 : 1;
    for (uint64_t seq = first; seq <= last; seq++) {
        const struct checker_step *step = &s->check.step[seq % CHECKER_STEPS];
        if (step->seq == seq && step->is_order && !step->is_learned && step->holds != 0 &&
            sim_is_majority(s, step->did))
            learn_once(s, e, seq);
    }
}

/* A daemon that was stopped reads the end of a view that the others have long left: what it decides
 * there nobody performs, and it cannot know what is so now (seed 42890). */
static bool is_over(const struct sim *s, const struct hf_event *ev,
                    const struct hf_group_view *group)
{
    const struct checker_step *step = &s->check.step[ev->seq % CHECKER_STEPS];
    return (step->seq == ev->seq && step->epoch > group->epoch) ||
           (group->lineage == s->check.lineage && group->epoch < s->check.epoch);
}

void checker_stepped(struct sim *s, hf_node n, const struct engine *e, const struct hf_event *ev,
                     const struct engine_out *out)
{
    const struct hf_group_view group = engine_group(e);
    const struct checker_step *known = &s->check.step[ev->seq % CHECKER_STEPS];
    bool is_same_place = known->seq == ev->seq && known->epoch == group.epoch &&
                         hf_view_same(known->view, group.view);
    /* Whose holders are gone may come anew; or a replica that was paused reads it late. */
    bool is_anew = known->holds == 0 && !has_left(s, n, group.view);
    bool is_first = ev->seq > s->check.max_seq || !is_same_place || is_anew;
    /* Another history than the one that had come further, or one that may have forgotten steps. */
    bool is_torn = ev->type == HF_EV_MEMBERS && is_first &&
                   (ev->u.members.cold || ev->seq <= s->check.max_seq);
    s->check.steps_minute++;
    if (out->effects_count > HF_EFFECTS_MAX || out->changes_count > HF_CHANGES_MAX)
        sim_fail(s, "S14: node %u decides more than its tables hold", n.ix);
    if (s->log.is_on && is_first)
        say_step(s, n, ev, out);
    if (is_torn)
        checker_forgets(s, ev);
    if (ev->type == HF_EV_MEMBERS && is_first && ev->u.members.lineage != 0)
        s->check.lineage = group.lineage;
    if (ev->type == HF_EV_MEMBERS && is_first && !has_left(s, n, group.view))
        s->check.epoch = group.epoch;
    bool is_agreed = compare_step(s, n, e, ev, out);
    bool is_past = is_over(s, ev, &group);
    for (uint32_t i = 0; i < out->changes_count; i++) {
        check_change(s, n, ev->seq, &out->changes[i]);
        if (is_first)
            checker_node_change(s, e, ev, &out->changes[i]);
        if (is_first && !is_past)
            checker_vm_change(s, e, &out->changes[i]);
    }
    if (ev->type == HF_EV_MEMBERS && is_first)
        checker_members(s, ev);
    if (ev->type == HF_EV_ATTEST && out->applied)
        checker_attested(s, ev);
    learn_by_hand(s, ev);
    const struct checker_step *step = &s->check.step[ev->seq % CHECKER_STEPS];
    /* What a minority alone has read is nobody's once it is cut off. */
    if (ev->type == HF_EV_DONE && out->applied && ev->u.done.outcome == HF_OUT_DONE &&
        step->seq == ev->seq && sim_is_majority(s, step->did))
        learn_proof(s, ev);
    if (ev->type == HF_EV_DONE)
        learn_end(s, ev, out->applied);
    if (is_agreed && step->is_order)
        learn_once(s, e, ev->seq);
    if (is_torn) {
        s->check.last_cold = s->now;
        relearn(s, e, ev->seq);
        s->check.max_seq = ev->seq;
    }
    if (ev->seq > s->check.max_seq)
        s->check.max_seq = ev->seq;
}

void checker_replaced(struct sim *s, hf_node n, const struct engine *e)
{
    uint64_t seq = engine_seq(e);
    forget_holds(s, n);
    for (unsigned i = 0; i < CHECKER_STEPS; i++)
        if (s->check.step[i].seq != 0 && s->check.step[i].seq <= seq)
            s->check.step[i].did |= hf_bit(n);
    learn_taken_over(s, e);
    for (unsigned i = 0; i < s->opt.nodes; i++)
        s->check.node_state[n.ix][i] = (uint8_t)engine_node(e, sim_node_at(i)).state;
    for (unsigned i = 0; i < HF_VMS_MAX; i++)
        s->check.vm_state[n.ix][i] = (uint8_t)engine_vm(e, (hf_vm){(uint16_t)i}).state;
}

void checker_daemon_gone(struct sim *s, hf_node n)
{
    forget_holds(s, n);
    checker_phase(s, n, REPLICA_APART);
}

void checker_phase(struct sim *s, hf_node n, enum replica_phase now)
{
    struct checker_fence *f = &s->check.fence[n.ix];
    bool is_synced = now == REPLICA_SYNCED && !s->node[n.ix].is_paused;
    if (is_synced)
        f->held_until = 0; /* it is back */
    if (is_synced)
        faults_at_return(s, n);
    if (!is_synced)
        f->synced_since = 0;
    else if (f->synced_since == 0)
        f->synced_since = s->now;
    if (now == REPLICA_STOPPED)
        sim_fail(s, "S4: node %u stops itself: its state is not the group's", n.ix);
}

/* ---- S3, S8, S9, S11: what may be performed ---- */

static void check_fence(struct sim *s, hf_node n, const struct hf_effect *fx)
{
    hf_node target = fx->u.fence.target;
    struct checker_fence *f = &s->check.fence[target.ix];
    int64_t stable = SIM_MS(2LL * s->opt.mute_after_ms + 10000);
    bool is_same = hf_token_same(f->token, fx->token);
    if (is_same)
        return; /* the same order again: the shell does it once */
    if (f->stop_at != 0 && s->now - f->stop_at >= SIM_MS(s->opt.policy.stop_deadline_ms) * 8 / 10)
        f->excused_until = s->now + SIM_MS(600000); /* a sentence: its retries belong to it */
    bool stop_open =
        f->stop_at != 0 && s->now - f->stop_at >= SIM_MS(s->opt.policy.stop_deadline_ms) * 8 / 10;
    if (f->synced_since != 0 && s->now - f->synced_since > stable && !f->ordered && !stop_open &&
        s->now > f->excused_until && (s->node[n.ix].view_ring >> target.ix & 1u) &&
        totem_members(s, target) == s->node[n.ix].view_ring)
        sim_fail(s, "S8: node %u fences node %u, a stable member since %lld ms", n.ix, target.ix,
                 (long long)((s->now - f->synced_since) / HF_NS_PER_MS));
    if (f->is_proved && !f->ordered && s->check.last_cold < f->proved_at)
        sim_fail(s, "S8: node %u is fenced again although it was proved off and has not been on",
                 target.ix);
    checker_shot(s, fx, f->ordered || stop_open || s->now <= f->excused_until);
    hf_nodes left = (hf_nodes)(s->node[n.ix].view_ring & ~hf_bit(target));
    if (!sim_is_majority(s, left))
        sim_fail(s, "S9: fencing node %u leaves node %u without a majority", target.ix, n.ix);
    int64_t gap = s->now - f->at;
    uint32_t pause = s->opt.policy.fence_retry_ms[0];
    for (unsigned i = 1; i < s->opt.policy.fence_retry_count; i++)
        if (s->opt.policy.fence_retry_ms[i] < pause)
            pause = s->opt.policy.fence_retry_ms[i];
    f->quick = f->at != 0 && gap < SIM_MS(pause) / 2 ? f->quick + 1 : 0;
    if (f->quick > 2u * s->opt.fence_levels + s->opt.nodes + 4u && sim_clocks_are_fair(s))
        sim_fail(s, "L4: node %u is fenced %u times in a row without a pause", target.ix, f->quick);
    f->token = fx->token;
    f->at = s->now;
    s->check.fences++;
    f->count++;
}

void checker_effect(struct sim *s, hf_node n, const struct hf_effect *fx)
{
    const struct checker_step *step = &s->check.step[fx->token.seq % CHECKER_STEPS];
    const struct engine *e = node_engine(s, n);
    if (fx->type == HF_FX_TIMER)
        return;
    if (!hf_node_same(fx->actor, n))
        sim_fail(s, "node %u is given an order of node %u", n.ix, fx->actor.ix);
    if (!sim_is_majority(s, s->node[n.ix].view_ring))
        sim_fail(s, "S3: node %u performs order %llu.%u without quorum", n.ix,
                 (unsigned long long)fx->token.seq, fx->token.nth);
    if (step->seq == fx->token.seq && !sim_is_majority(s, step->did))
        sim_fail(s, "S3: node %u performs order %llu.%u which only %02x have", n.ix,
                 (unsigned long long)fx->token.seq, fx->token.nth, step->did);
    if (e == NULL || engine_seq(e) < fx->token.seq)
        sim_fail(s, "S11: node %u performs an order before its step is journalled", n.ix);
    if (fx->type == HF_FX_FENCE)
        check_fence(s, n, fx);
    if (fx->type == HF_FX_VM_STOP && s->check.fence[n.ix].stop_at == 0)
        s->check.fence[n.ix].stop_at = s->now;
}

/* ---- S14, L3 ---- */

void checker_minute(struct sim *s)
{
    uint32_t each = s->check.steps_minute / s->opt.nodes;
    if (each > s->check.busiest_minute)
        s->check.busiest_minute = each;
    if (each > STEPS_A_MINUTE)
        sim_fail(s, "L3: %u steps a node in one minute", each);
    s->check.steps_minute = 0;
    for (unsigned n = 0; n < s->opt.nodes; n++) {
        if (!s->node[n].is_alive)
            continue;
        struct replica_view view = replica_look(s->node[n].replica);
        if (view.in_flight > 2 * HF_IN_FLIGHT_MAX || view.queued > HF_OUTBOX_MAX)
            sim_fail(s, "S14: node %u has %u in flight and %u queued", n, view.in_flight,
                     view.queued);
    }
}

/* ---- L1, L2 ---- */

static bool is_group_one(struct sim *s, hf_nodes core, char *why, size_t cap)
{
    uint64_t digest = 0;
    for (unsigned n = 0; n < s->opt.nodes; n++) {
        if ((core >> n & 1u) == 0)
            continue;
        const struct engine *e = node_engine(s, sim_node_at(n));
        if (e == NULL || s->node[n].phase != REPLICA_SYNCED) {
            snprintf(why, cap, "L2: node %u is not synchronised", n);
            return false;
        }
        if (digest != 0 && digest != engine_digest(e)) {
            snprintf(why, cap, "L2: node %u has another state", n);
            return false;
        }
        digest = engine_digest(e);
    }
    return true;
}

/* Damped, and with reason: it has been out of the group within the window in which returns count.
 * Lost and damaged messages go on in a healed group, so it may be again (seed 53292). */
static bool is_damped(const struct sim *s, hf_node n, const struct engine *e)
{
    int64_t window = SIM_MS((int64_t)s->opt.policy.flap_window_ms);
    return engine_node(e, n).is_settling && s->now - s->check.fence[n.ix].synced_since < window;
}

/* Could this VM run on n, by what is physically there? */
static bool has_room(struct sim *s, const struct checker_vm *v, hf_node n, const struct engine *e)
{
    uint32_t used = 0;
    if (v->def.allowed != 0 && !hf_nodes_has(v->def.allowed, n))
        return false;
    if (engine_node(e, n).in_maintenance || is_damped(s, n, e))
        return false;
    for (hf_vm_uid uid = 1; uid < SIM_VMS_MAX; uid++) {
        const struct checker_vm *w = &s->check.vm[uid];
        bool is_here = s->world.host[n.ix].vm[uid].is_running;
        if (!w->is_added || w == v)
            continue;
        if (is_here)
            used += w->def.memory_mib;
        if (is_here && v->def.apart[0] != '\0' && strcmp(v->def.apart, w->def.apart) == 0)
            return false;
        if (!is_here && v->def.together[0] != '\0' && world_running_on(s, uid) != 0 &&
            strcmp(v->def.together, w->def.together) == 0)
            return false;
    }
    uint32_t total = s->opt.memory_mib - s->group.nodes[n.ix].reserve_mib;
    return used + v->def.memory_mib <= total;
}

static bool is_held(const struct engine *e, hf_vm_uid uid)
{
    hf_vm vm = engine_vm_by_uid(e, uid);
    return vm.ix < HF_VMS_MAX && engine_vm(e, vm).state == HF_VM_HELD;
}

static bool is_excused(struct sim *s, hf_vm_uid uid, hf_nodes core, const struct engine *e)
{
    const struct checker_vm *v = &s->check.vm[uid];
    struct hf_vm_view view = engine_vm(e, engine_vm_by_uid(e, uid));
    if (view.state == HF_VM_FAILED)
        /* A stop that was given up, or whose order was dead, and that comes true late is told as an
         * end that nobody ordered: for the engine a crash. Stops in time do not count. One less
         * than the limit, because a crash just before a person's start may be told just after it.
         */
        return v->crashes + v->late_ends >= v->def.restarts_max;
    if (view.state != HF_VM_UNPLACEABLE)
        return false;
    for (unsigned n = 0; n < s->opt.nodes; n++)
        if ((core >> n & 1u) && has_room(s, v, sim_node_at(n), e))
            return false;
    return true;
}

/* The VM may be on a host that takes part, stays broken, and cannot tell: a failed monitor kills no
 * host. */
static bool is_mute_about(const struct sim *s, hf_vm_uid uid, hf_nodes core, const struct engine *e)
{
    hf_nodes possible = engine_vm(e, engine_vm_by_uid(e, uid)).possible;
    for (unsigned n = 0; n < s->opt.nodes; n++)
        if (((unsigned)(possible & ~core) >> n & 1u) && s->node[n].phase == REPLICA_SYNCED &&
            (!world_watch_known(s, sim_node_at(n)) || s->world.host[n].vm[uid].is_stuck))
            return true;
    return false;
}

/* No device, and nothing attested: only a person's word, and nobody gives it here. */
static bool is_unprovable(const struct sim *s, hf_vm_uid uid, hf_nodes core, const struct engine *e)
{
    hf_nodes possible = engine_vm(e, engine_vm_by_uid(e, uid)).possible;
    for (unsigned n = 0; n < s->opt.nodes; n++)
        if (((unsigned)(possible & ~core) >> n & 1u) && s->group.nodes[n].fence_levels == 0 &&
            !s->check.fence[n].is_attested)
            return true;
    return false;
}

bool checker_is_content(struct sim *s, hf_nodes core, char *why, size_t cap)
{
    if (!is_group_one(s, core, why, cap))
        return false;
    const struct engine *e = node_engine(s, hf_nodes_first(core));
    for (hf_vm_uid uid = 1; uid < SIM_VMS_MAX; uid++) {
        const struct checker_vm *v = &s->check.vm[uid];
        bool runs = world_running_on(s, uid) != 0;
        if (!v->is_added || v->ended_on_purpose || runs == v->wants_run)
            continue;
        if (v->was_relearned && is_held(e, uid))
            continue; /* its start was in a history that is gone: found running, a person decides */
        if (!v->wants_run && (world_running_on(s, uid) & core) == 0)
            continue; /* on a host that stays broken: nobody shoots for a stop */
        if (v->wants_run && (is_excused(s, uid, core, e) || is_mute_about(s, uid, core, e) ||
                             is_unprovable(s, uid, core, e)))
            continue;
        struct hf_vm_view view = engine_vm(e, engine_vm_by_uid(e, uid));
        snprintf(why, cap, "L1: vm %u should %s; the engine says %s (%s), possible %02x", uid,
                 v->wants_run ? "run" : "be stopped", hf_vm_state_name(view.state),
                 hf_reason_name(view.why), view.possible);
        return false;
    }
    return checker_legs_content(s, core, e, has_room, why, cap);
}
