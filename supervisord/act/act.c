#include "supervisord/act/act.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/log.h"
#include "supervisord/base/str.h"
#include "supervisord/door/door.h"
#include "supervisord/model/names.h"

static const hf_time never = {INT64_MAX};

enum order_state {
    ORDER_FREE = 0,
    ORDER_WAITING, /* for its agent or its content */
    ORDER_SENT,
    ORDER_OWED, /* ended; the answer found no room in the outbox */
    ORDER_ANSWERED,
};

struct order {
    enum order_state state;
    struct hf_effect fx;
    struct hf_digest content; /* WAITING for it; zeros: not for a content */
    enum hf_outcome outcome;
};

struct timer {
    bool is_used, has_fired, is_owed;
    struct hf_effect fx;
    hf_time at;
};

struct act {
    struct act_ports ports;
    uint32_t own_nodeid;
    bool is_synced;
    unsigned orders_count; /* slots not FREE */
    struct order order[HF_EFFECTS_MAX];
    struct timer timer[ACT_TIMERS_MAX];
    hf_time retry_at;
    uint64_t full;

    bool has_host, vm_fresh, vm_known, link_fit, config_same;
    struct hf_report_host host;
    char vm_why[HF_REASON_MAX + 1];
    bool has_told_facts;
    struct hf_event facts; /* as last submitted */
    hf_time facts_at;

    bool has_told_inventory;
    struct hf_event inventory; /* as last submitted */
    uint64_t asked_seq;        /* engine's, when the VM agent was last asked what runs here */
    uint64_t told_seq;         /* that of the inventory last submitted */
};

enum hf_code act_open(struct act **out, uint32_t own_nodeid, const struct act_ports *ports,
                      struct hf_err *err)
{
    struct act *a = calloc(1, sizeof *a);

    if (a == NULL)
        return hf_err_set(err, HF_EFULL, "act: no memory");
    a->ports = *ports;
    a->own_nodeid = own_nodeid;
    a->retry_at = a->facts_at = never;
    (void)hf_str_copy(a->vm_why, sizeof a->vm_why, "no report yet");
    *out = a;
    return HF_OK;
}

void act_close(struct act *a)
{
    free(a);
}

/* ---- events of ours ---- */

static bool submit(struct act *a, const struct hf_event *ev, hf_time now)
{
    struct hf_err err;

    if (a->ports.submit(a->ports.user, ev, &err) == HF_OK)
        return true;
    a->full++;
    a->retry_at = hf_time_add_ms(now, ACT_RETRY_MS);
    return false;
}

static bool same_effect(const struct hf_effect *a, const struct hf_effect *b)
{
    if (a->type != b->type || !hf_token_same(a->token, b->token))
        return false;
    switch (a->type) {
    case HF_FX_FENCE:
    case HF_FX_POWER_ON:
        return hf_node_same(a->u.fence.target, b->u.fence.target) &&
               a->u.fence.level == b->u.fence.level;
    case HF_FX_VM_START:
    case HF_FX_VM_STOP:
        return a->u.vm.uid == b->u.vm.uid && a->u.vm.start_no == b->u.vm.start_no;
    case HF_FX_TIMER:
        return a->u.timer.after_ms == b->u.timer.after_ms;
    case HF_FX_HOLD: /* the lease's, not ours */
    case HF_FX_DISARM:
    case HF_FX_TYPES:
        break;
    }
    return false;
}

/* ---- timers ---- */

static struct timer *timer_find(struct act *a, struct hf_token token)
{
    for (unsigned i = 0; i < ACT_TIMERS_MAX; i++)
        if (a->timer[i].is_used && hf_token_same(a->timer[i].fx.token, token))
            return &a->timer[i];
    return NULL;
}

static struct timer *timer_free(struct act *a)
{
    for (unsigned i = 0; i < ACT_TIMERS_MAX; i++)
        if (!a->timer[i].is_used)
            return &a->timer[i];
    return NULL;
}

static void timers_purge(struct act *a)
{
    const struct engine *e = a->ports.engine(a->ports.user);

    for (unsigned i = 0; i < ACT_TIMERS_MAX; i++)
        if (a->timer[i].is_used && (e == NULL || !engine_is_live(e, a->timer[i].fx.token)))
            a->timer[i].is_used = false;
}

/* A timer that is armed again keeps its time; one that has fired says so again: its first word may
 * have been lost with a view. */
static void timer_arm(struct act *a, const struct hf_effect *fx, hf_time now)
{
    struct timer *t = timer_find(a, fx->token);

    if (t != NULL && same_effect(&t->fx, fx)) {
        if (t->has_fired) {
            t->is_owed = true;
            a->retry_at = now;
        }
        return;
    }
    if (t == NULL)
        t = timer_free(a);
    if (t == NULL) {
        timers_purge(a);
        t = timer_free(a);
    }
    if (t == NULL) {
        a->full++;
        hf_error("timer table full: a timer of %u ms is not run here", fx->u.timer.after_ms);
        return;
    }
    *t =
        (struct timer){.is_used = true, .fx = *fx, .at = hf_time_add_ms(now, fx->u.timer.after_ms)};
}

static void timer_fire(struct act *a, struct timer *t, hf_time now)
{
    const struct engine *e = a->ports.engine(a->ports.user);
    struct hf_event ev;

    t->has_fired = true;
    t->is_owed = false;
    if (e == NULL || !engine_is_live(e, t->fx.token)) {
        t->is_used = false;
        return;
    }
    memset(&ev, 0, sizeof ev);
    ev.type = HF_EV_EXPIRED;
    ev.u.expired.timer = t->fx.token;
    if (!submit(a, &ev, now))
        t->is_owed = true;
}

/* ---- orders ---- */

static struct order *order_find(struct act *a, struct hf_token token)
{
    if (a->orders_count == 0)
        return NULL;
    for (unsigned i = 0; i < HF_EFFECTS_MAX; i++)
        if (a->order[i].state != ORDER_FREE && hf_token_same(a->order[i].fx.token, token))
            return &a->order[i];
    return NULL;
}

static struct order *order_take(struct act *a)
{
    for (unsigned i = 0; i < HF_EFFECTS_MAX; i++)
        if (a->order[i].state == ORDER_FREE) {
            a->orders_count++;
            return &a->order[i];
        }
    return NULL;
}

static bool is_for_runner(const struct order *o)
{
    return o->fx.type == HF_FX_FENCE || o->fx.type == HF_FX_POWER_ON;
}

static enum hf_agent_kind order_agent(const struct order *o)
{
    return is_for_runner(o) ? HF_AGENT_FENCE : HF_AGENT_VM;
}

static void owe(struct act *a, struct order *o, hf_time now)
{
    struct hf_event ev;

    memset(&ev, 0, sizeof ev);
    ev.type = HF_EV_DONE;
    ev.u.done.effect = o->fx.token;
    ev.u.done.outcome = o->outcome;
    o->state = submit(a, &ev, now) ? ORDER_ANSWERED : ORDER_OWED;
}

static void answer(struct act *a, struct order *o, enum hf_outcome outcome, uint32_t took_ms,
                   const char *why, hf_time now)
{
    o->outcome = outcome;
    owe(a, o, now); /* first: people can wait, the group cannot */
    a->ports.outcome(a->ports.user, &o->fx, outcome, took_ms, why);
}

/* The content as sealed memory, or -1: then the order waits for it. */
static int ride_of(struct act *a, struct order *o, const struct hf_digest *digest)
{
    size_t len;
    const void *bytes = a->ports.content(a->ports.user, digest, &len);
    struct hf_err err;
    int fd = -1;

    if (bytes == NULL) {
        o->content = *digest;
        a->ports.want(a->ports.user, digest);
        return -1;
    }
    memset(&o->content, 0, sizeof o->content);
    if (door_memory("holdfast-content", bytes, len, &fd, &err) != HF_OK) {
        hf_error("content for an agent: %s", err.text);
        return -1;
    }
    return fd;
}

static void send_fence(struct act *a, struct order *o, const struct engine *e, hf_time now)
{
    const struct hf_group *group = engine_group(e).group;
    struct hf_report report = {.kind = HF_REPORT_FENCE};
    int ride;

    HF_ASSERT(o->fx.u.fence.target.ix < group->nodes_count);
    ride = ride_of(a, o, &group->config);
    if (ride < 0) {
        answer(a, o, HF_OUT_GAVE_UP, 0, "the running configuration's text is not here yet", now);
        return;
    }
    report.u.fence.token = o->fx.token;
    report.u.fence.level = o->fx.u.fence.level;
    report.u.fence.power_on = o->fx.type == HF_FX_POWER_ON;
    report.u.fence.deadline_ms = group->policy.fence_deadline_ms;
    (void)hf_str_copy(report.u.fence.target, sizeof report.u.fence.target,
                      group->nodes[o->fx.u.fence.target.ix].name);
    o->state = ORDER_SENT;
    if (!a->ports.tell(a->ports.user, HF_AGENT_FENCE, &report, ride))
        answer(a, o, HF_OUT_GAVE_UP, 0, "the fence runner is not connected", now);
    close(ride);
}

static void send_start(struct act *a, struct order *o, const struct engine *e,
                       const struct hf_vm_def *def)
{
    struct hf_report report = {.kind = HF_REPORT_START};
    int ride = ride_of(a, o, &def->xml);

    if (ride < 0)
        return;
    report.u.start.token = o->fx.token;
    report.u.start.uid = o->fx.u.vm.uid;
    report.u.start.start_no = o->fx.u.vm.start_no;
    report.u.start.deadline_ms = engine_group(e).group->policy.start_deadline_ms;
    report.u.start.memory_mib = def->memory_mib;
    report.u.start.xml = def->xml;
    (void)hf_str_copy(report.u.start.name, sizeof report.u.start.name, def->name);
    if (a->ports.tell(a->ports.user, HF_AGENT_VM, &report, ride))
        o->state = ORDER_SENT;
    close(ride);
}

static void send_stop(struct act *a, struct order *o, const struct engine *e,
                      const struct hf_vm_def *def)
{
    struct hf_report report = {.kind = HF_REPORT_STOP};

    report.u.stop.token = o->fx.token;
    report.u.stop.uid = o->fx.u.vm.uid;
    report.u.stop.start_no = o->fx.u.vm.start_no;
    report.u.stop.grace_ms = o->fx.u.vm.grace_ms;
    report.u.stop.deadline_ms =
        o->fx.u.vm.grace_ms + engine_group(e).group->policy.stop_deadline_ms;
    (void)hf_str_copy(report.u.stop.name, sizeof report.u.stop.name, def->name);
    if (a->ports.tell(a->ports.user, HF_AGENT_VM, &report, -1))
        o->state = ORDER_SENT;
}

/* Sends it if that is possible now; it stays WAITING otherwise. */
static void order_send(struct act *a, struct order *o, hf_time now)
{
    const struct engine *e = a->ports.engine(a->ports.user);
    hf_vm vm;

    if (e == NULL)
        return;
    if (is_for_runner(o)) {
        send_fence(a, o, e, now);
        return;
    }
    vm = engine_vm_by_uid(e, o->fx.u.vm.uid);
    if (vm.ix == HF_NO_VM.ix)
        return; /* removed in the same moment: not live any more, and dropped as such */
    if (o->fx.type == HF_FX_VM_START)
        send_start(a, o, e, engine_vm(e, vm).def);
    else
        send_stop(a, o, e, engine_vm(e, vm).def);
}

static void order_drop(struct act *a, struct order *o)
{
    struct hf_report report = {.kind = HF_REPORT_DROP};

    report.u.drop.token = o->fx.token;
    (void)a->ports.tell(a->ports.user, order_agent(o), &report, -1);
    o->state = ORDER_FREE;
    a->orders_count--;
}

static void orders_purge(struct act *a, const struct engine *e)
{
    for (unsigned i = 0; a->orders_count > 0 && i < HF_EFFECTS_MAX; i++)
        if (a->order[i].state != ORDER_FREE &&
            (e == NULL || !engine_is_live(e, a->order[i].fx.token)))
            order_drop(a, &a->order[i]);
}

void act_effect(struct act *a, const struct hf_effect *fx, hf_time now)
{
    struct order *o;

    if (fx->type == HF_FX_TIMER) {
        timer_arm(a, fx, now);
        return;
    }
    o = order_find(a, fx->token);
    if (o != NULL && !same_effect(&o->fx, fx)) {
        order_drop(a, o); /* a token that means something else now */
        o = NULL;
    }
    if (o == NULL) {
        o = order_take(a);
        if (o == NULL) {
            a->full++;
            hf_error("order table full: an order is not performed");
            return;
        }
        *o = (struct order){.state = ORDER_WAITING, .fx = *fx};
    } else if (o->state == ORDER_SENT || o->state == ORDER_OWED) {
        return; /* under way */
    } else {
        o->state = ORDER_WAITING; /* still wanted although answered: the agent tells it again */
    }
    order_send(a, o, now);
}

void act_arrived(struct act *a, const struct hf_digest *digest, hf_time now)
{
    for (unsigned i = 0; a->orders_count > 0 && i < HF_EFFECTS_MAX; i++)
        if (a->order[i].state == ORDER_WAITING && hf_digest_equal(&a->order[i].content, digest))
            order_send(a, &a->order[i], now);
}

/* ---- what the node sees ---- */

static hf_node own_node(const struct act *a, const struct engine *e)
{
    return e == NULL ? HF_NO_NODE : engine_node_by_id(e, a->own_nodeid);
}

static bool same_facts(const struct hf_event *a, const struct hf_event *b)
{
    return a->u.facts.memory_mib == b->u.facts.memory_mib && a->u.facts.cores == b->u.facts.cores &&
           a->u.facts.vm_watch_known == b->u.facts.vm_watch_known &&
           a->u.facts.link_fit == b->u.facts.link_fit &&
           a->u.facts.config_same == b->u.facts.config_same &&
           a->u.facts.hardware == b->u.facts.hardware;
}

static void tell_facts(struct act *a, bool even_if_same, hf_time now)
{
    struct hf_event ev;

    if (!a->is_synced)
        return;
    memset(&ev, 0, sizeof ev);
    ev.type = HF_EV_FACTS;
    ev.u.facts.memory_mib = a->has_host ? a->host.memory_mib : 0;
    ev.u.facts.cores = a->has_host ? a->host.cores : 0;
    ev.u.facts.vm_watch_known = a->vm_fresh && a->vm_known;
    ev.u.facts.link_fit = a->link_fit;
    ev.u.facts.config_same = a->config_same;
    ev.u.facts.hardware = a->has_host ? a->host.hardware : 0;
    if (a->has_told_facts && !even_if_same && same_facts(&ev, &a->facts))
        return;
    if (!submit(a, &ev, now)) {
        a->facts_at = a->retry_at;
        return;
    }
    a->facts = ev;
    a->has_told_facts = true;
    a->facts_at = hf_time_add_ms(now, ACT_FACTS_MS);
}

static bool same_inventory(const struct hf_event *a, const struct hf_event *b)
{
    if (a->u.inventory.count != b->u.inventory.count)
        return false;
    for (unsigned i = 0; i < a->u.inventory.count; i++)
        if (a->u.inventory.vm[i].uid != b->u.inventory.vm[i].uid ||
            a->u.inventory.vm[i].start_no != b->u.inventory.vm[i].start_no)
            return false;
    return true;
}

void act_ask(struct act *a)
{
    const struct engine *e = a->ports.engine(a->ports.user);
    struct hf_report report = {.kind = HF_REPORT_ASK};

    if (e == NULL)
        return;
    report.u.ask.as_of = engine_as_of(e);
    a->asked_seq = engine_seq(e);
    (void)a->ports.tell(a->ports.user, HF_AGENT_VM, &report, -1);
}

static uint64_t inventory_due(const struct act *a)
{
    const struct engine *e = a->ports.engine(a->ports.user);
    hf_node self = own_node(a, e);

    return hf_node_is(self) ? engine_inventory_due(e, self) : 0;
}

/* The group waits for this node's word: it joins, or a VM may run here that is not at home here. */
static void ask_if_due(struct act *a)
{
    if (a->is_synced && inventory_due(a) > a->asked_seq)
        act_ask(a);
}

/* Away from the group an inventory is not kept: it would be old when it is applied. The agent is
 * asked again after the next synchronisation, and every few seconds anyhow. */
static void tell_inventory(struct act *a, const struct hf_report *report, hf_time now)
{
    struct hf_event ev;

    if (!a->is_synced)
        return;
    memset(&ev, 0, sizeof ev);
    ev.type = HF_EV_INVENTORY;
    ev.u.inventory.as_of = report->u.inventory.as_of;
    ev.u.inventory.count = report->u.inventory.count;
    memcpy(ev.u.inventory.vm, report->u.inventory.vm,
           report->u.inventory.count * sizeof ev.u.inventory.vm[0]);
    if (a->has_told_inventory && inventory_due(a) <= a->told_seq &&
        same_inventory(&ev, &a->inventory))
        return;
    if (!submit(a, &ev, now))
        return;
    a->told_seq = engine_as_of_seq(report->u.inventory.as_of);
    a->inventory = ev;
    a->has_told_inventory = true;
}

/* Submitted at any time: a crash seen during a change of view must not be lost. */
static void tell_vm(struct act *a, const struct hf_report *report, hf_time now)
{
    struct hf_event ev;

    memset(&ev, 0, sizeof ev);
    ev.type = HF_EV_VM;
    ev.u.vm.uid = report->u.vm.uid;
    ev.u.vm.start_no = report->u.vm.start_no;
    ev.u.vm.seen = report->u.vm.seen;
    a->has_told_inventory = false; /* the next inventory tells the whole, also if this is lost */
    (void)submit(a, &ev, now);
}

static void send_vm_list(struct act *a)
{
    const struct engine *e = a->ports.engine(a->ports.user);
    struct hf_report report = {.kind = HF_REPORT_VMS};

    if (e == NULL)
        return;
    for (uint16_t i = 0; i < HF_VMS_MAX; i++) {
        struct hf_vm_view vm = engine_vm(e, (hf_vm){i});

        if (!vm.is_used)
            continue;
        report.u.vms.uid = vm.uid;
        (void)hf_str_copy(report.u.vms.name, sizeof report.u.vms.name, vm.def->name);
        if (!a->ports.tell(a->ports.user, HF_AGENT_VM, &report, -1))
            return;
    }
    memset(&report.u, 0, sizeof report.u);
    report.u.vms.is_last = true;
    (void)a->ports.tell(a->ports.user, HF_AGENT_VM, &report, -1);
}

/* ---- agents ---- */

void act_agent_joined(struct act *a, enum hf_agent_kind kind, hf_time now)
{
    if (kind == HF_AGENT_HOST)
        return;
    if (kind == HF_AGENT_VM) {
        send_vm_list(a);
        act_ask(a);
    }
    for (unsigned i = 0; a->orders_count > 0 && i < HF_EFFECTS_MAX; i++) {
        struct order *o = &a->order[i];

        if (o->state == ORDER_SENT && order_agent(o) == kind)
            o->state = ORDER_WAITING; /* its agent may have lost it */
        if (o->state == ORDER_WAITING && order_agent(o) == kind)
            order_send(a, o, now);
    }
}

static void fencer_gone(struct act *a, hf_time now)
{
    for (unsigned i = 0; a->orders_count > 0 && i < HF_EFFECTS_MAX; i++)
        if (a->order[i].state == ORDER_SENT && is_for_runner(&a->order[i]))
            answer(a, &a->order[i], HF_OUT_GAVE_UP, 0, "the fence runner went away", now);
}

void act_agent_changed(struct act *a, enum hf_agent_kind kind, bool is_connected, bool is_fresh,
                       hf_time now)
{
    if (kind == HF_AGENT_VM) {
        a->vm_fresh = is_fresh;
        if (!is_connected)
            a->vm_known = false; /* it tells again after hello */
    }
    if (kind == HF_AGENT_HOST && !is_fresh)
        a->has_host = false;
    if (kind == HF_AGENT_FENCE && !is_connected)
        fencer_gone(a, now);
    tell_facts(a, false, now);
}

static void told_done(struct act *a, enum hf_agent_kind kind, const struct hf_report *report,
                      hf_time now)
{
    struct order *o = order_find(a, report->u.done.token);
    struct hf_report drop = {.kind = HF_REPORT_DROP};

    if (o != NULL && order_agent(o) == kind) {
        if (o->state == ORDER_SENT)
            answer(a, o, report->u.done.outcome, report->u.done.took_ms, report->u.done.why, now);
        return;
    }
    drop.u.drop.token = report->u.done.token; /* nobody waits for it any more */
    (void)a->ports.tell(a->ports.user, kind, &drop, -1);
}

static void told_progress(struct act *a, const struct hf_report *report)
{
    const struct order *o = order_find(a, report->u.progress.token);

    if (o != NULL)
        a->ports.progress(a->ports.user, &o->fx, report->u.progress.phase, report->u.progress.pid);
}

void act_told(struct act *a, enum hf_agent_kind kind, const struct hf_report *report, hf_time now)
{
    if (report->kind == HF_REPORT_DONE && kind != HF_AGENT_HOST) {
        told_done(a, kind, report, now);
    } else if (report->kind == HF_REPORT_PROGRESS && kind != HF_AGENT_HOST) {
        told_progress(a, report);
    } else if (report->kind == HF_REPORT_HOST && kind == HF_AGENT_HOST) {
        a->host = report->u.host;
        a->has_host = true;
        tell_facts(a, false, now);
    } else if (report->kind == HF_REPORT_INVENTORY && kind == HF_AGENT_VM) {
        tell_inventory(a, report, now);
    } else if (report->kind == HF_REPORT_VM && kind == HF_AGENT_VM) {
        tell_vm(a, report, now);
    } else if (report->kind == HF_REPORT_WATCH && kind == HF_AGENT_VM) {
        a->vm_known = report->u.watch.known;
        (void)hf_str_copy(a->vm_why, sizeof a->vm_why, report->u.watch.why);
        tell_facts(a, false, now);
    } else {
        hf_warning("an agent of kind %d sent a report of kind %d", (int)kind, (int)report->kind);
    }
}

void act_link(struct act *a, bool is_fit, hf_time now)
{
    a->link_fit = is_fit;
    tell_facts(a, false, now);
}

void act_config(struct act *a, bool is_same, hf_time now)
{
    a->config_same = is_same;
    tell_facts(a, false, now);
}

/* ---- the group ---- */

void act_resync(struct act *a, hf_time now)
{
    a->is_synced = true;
    orders_purge(a, a->ports.engine(a->ports.user));
    timers_purge(a);
    a->has_told_facts = false;
    a->has_told_inventory = false;
    tell_facts(a, true, now);
    send_vm_list(a);
    a->told_seq = 0;
    act_ask(a);
}

void act_apart(struct act *a)
{
    a->is_synced = false;
}

void act_stepped(struct act *a, const struct hf_event *ev, const struct engine_out *out,
                 hf_time now)
{
    const struct engine *e = a->ports.engine(a->ports.user);

    (void)now;
    if (!out->applied)
        return;
    orders_purge(a, e);
    if (ev->type == HF_EV_ORDER &&
        (ev->u.order.type == HF_ORDER_VM_ADD || ev->u.order.type == HF_ORDER_VM_REMOVE))
        send_vm_list(a);
    ask_if_due(a);
}

static void pay(struct act *a, hf_time now)
{
    a->retry_at = never;
    for (unsigned i = 0; a->orders_count > 0 && i < HF_EFFECTS_MAX; i++)
        if (a->order[i].state == ORDER_OWED)
            owe(a, &a->order[i], now);
    for (unsigned i = 0; i < ACT_TIMERS_MAX; i++)
        if (a->timer[i].is_used && a->timer[i].is_owed)
            timer_fire(a, &a->timer[i], now);
}

void act_tick(struct act *a, hf_time now)
{
    if (hf_time_reached(now, a->retry_at))
        pay(a, now);
    for (unsigned i = 0; i < ACT_TIMERS_MAX; i++)
        if (a->timer[i].is_used && !a->timer[i].has_fired && hf_time_reached(now, a->timer[i].at))
            timer_fire(a, &a->timer[i], now);
    if (a->is_synced && hf_time_reached(now, a->facts_at))
        tell_facts(a, true, now);
}

hf_time act_deadline(const struct act *a)
{
    hf_time next = a->retry_at;

    for (unsigned i = 0; i < ACT_TIMERS_MAX; i++)
        if (a->timer[i].is_used && !a->timer[i].has_fired && a->timer[i].at.ns < next.ns)
            next = a->timer[i].at;
    if (a->is_synced && a->facts_at.ns < next.ns)
        next = a->facts_at;
    return next;
}

struct act_view act_look(const struct act *a)
{
    struct act_view view = {
        .orders = a->orders_count, .vm_watch_known = a->vm_fresh && a->vm_known, .full = a->full};

    for (unsigned i = 0; i < ACT_TIMERS_MAX; i++)
        view.timers += a->timer[i].is_used;
    (void)hf_str_copy(view.vm_watch_why, sizeof view.vm_watch_why, a->vm_why);
    return view;
}
