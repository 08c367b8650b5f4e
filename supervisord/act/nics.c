#include "supervisord/act/nics.h"

#include <string.h>

static const hf_time never = {INT64_MAX};

void nics_init(struct nics *n, uint32_t own_nodeid, const struct nics_ports *ports)
{
    memset(n, 0, sizeof *n);
    n->ports = *ports;
    n->own_nodeid = own_nodeid;
    n->next_at = never;
}

static const struct engine *state(const struct nics *n)
{
    return n->ports.engine(n->ports.user);
}

static hf_node self(const struct nics *n, const struct engine *e)
{
    return engine_node_by_id(e, n->own_nodeid);
}

static void soon(struct nics *n, hf_time at)
{
    if (at.ns < n->next_at.ns)
        n->next_at = at;
}

static struct nics_vm *vm_of(struct nics *n, hf_vm_uid uid)
{
    for (unsigned i = 0; i < HF_VMS_MAX; i++)
        if (n->vm[i].legs.uid == uid)
            return &n->vm[i];
    return NULL;
}

/* ---- pace ---- */

/* May it be told now? If not, when: the newest word counts then. */
static bool may_tell(struct nics *n, const struct nics_pace *pace, bool is_again, hf_time now)
{
    uint32_t wait_ms = is_again ? (uint32_t)NICS_AGAIN_MS : pace->pause_ms;
    hf_time at;

    if (pace->told_at.ns == 0)
        return true;
    at = hf_time_add_ms(pace->told_at, wait_ms);
    if (hf_time_reached(now, at))
        return true;
    soon(n, at);
    return false;
}

static void was_told(struct nics_pace *pace, bool is_again, hf_time now)
{
    bool was_quiet = pace->told_at.ns == 0 || hf_time_since_ms(now, pace->told_at) >= NICS_QUIET_MS;

    if (was_quiet)
        pace->pause_ms = NICS_PAUSE_MS;
    else if (!is_again && pace->pause_ms < NICS_PAUSE_MAX_MS)
        pace->pause_ms *= 2;
    pace->told_at = now;
}

/* ---- to the group ---- */

static bool is_same_verdict(const struct hf_pf_verdict a[HF_FABRICS_MAX],
                            const struct hf_pf_verdict b[HF_FABRICS_MAX])
{
    for (unsigned f = 0; f < HF_FABRICS_MAX; f++)
        if (a[f].state != b[f].state || a[f].cause != b[f].cause)
            return false;
    return true;
}

static void tell_pfs(struct nics *n, const struct engine *e, hf_node me, hf_time now)
{
    const struct hf_node_def *def = &engine_group(e).group->nodes[me.ix];
    struct hf_node_view node = engine_node(e, me);
    struct hf_event ev;
    struct hf_err err;
    bool is_again;

    memset(&ev, 0, sizeof ev);
    ev.type = HF_EV_NICS;
    for (uint8_t f = 0; f < HF_FABRICS_MAX && n->has_word && f < n->count; f++)
        if (def->fabrics >> f & 1u)
            ev.u.nics.pf[f] = (struct hf_pf_verdict){n->pf[f].state, n->pf[f].cause};
    if (is_same_verdict(ev.u.nics.pf, node.pf)) {
        n->pace.is_waiting = false;
        return;
    }
    is_again = n->pace.is_waiting && is_same_verdict(ev.u.nics.pf, n->told);
    if (!may_tell(n, &n->pace, is_again, now))
        return;
    if (n->ports.submit(n->ports.user, &ev, &err) != HF_OK) {
        soon(n, hf_time_add_ms(now, NICS_PAUSE_MS));
        return;
    }
    was_told(&n->pace, is_again, now);
    memcpy(n->told, ev.u.nics.pf, sizeof n->told);
    n->pace.is_waiting = true;
    soon(n, hf_time_add_ms(now, NICS_AGAIN_MS));
}

static bool is_same_legs(const struct hf_vm_legs_seen *a, const struct hf_vm_legs_seen *b)
{
    return a->start_no == b->start_no && a->has == b->has && a->up == b->up &&
           a->active == b->active;
}

static void tell_legs(struct nics *n, const struct hf_vm_view *vm, hf_time now)
{
    struct nics_vm *own = vm_of(n, vm->uid);
    struct hf_vm_legs_seen known = {vm->uid, vm->running_no, vm->legs.has, vm->legs.up,
                                    vm->legs.active};
    struct hf_event ev;
    struct hf_err err;
    bool is_again;

    if (own == NULL || !n->has_word || own->legs.start_no != vm->running_no)
        return; /* not looked at yet, or it is another run that nicbond told of */
    memset(&ev, 0, sizeof ev);
    ev.type = HF_EV_LEGS;
    ev.u.legs =
        (struct hf_vm_legs_seen){vm->uid, own->legs.start_no, own->legs.has, own->legs.up,
                                 own->legs.has ? own->legs.active : (hf_fabric)HF_FABRICS_MAX};
    if (is_same_legs(&ev.u.legs, &known)) {
        own->pace.is_waiting = false;
        return;
    }
    is_again = own->pace.is_waiting && is_same_legs(&ev.u.legs, &own->told);
    if (!may_tell(n, &own->pace, is_again, now))
        return;
    if (n->ports.submit(n->ports.user, &ev, &err) != HF_OK) {
        soon(n, hf_time_add_ms(now, NICS_PAUSE_MS));
        return;
    }
    was_told(&own->pace, is_again, now);
    own->told = ev.u.legs;
    own->pace.is_waiting = true;
    soon(n, hf_time_add_ms(now, NICS_AGAIN_MS));
}

/* ---- what is old ---- */

static void forget_words(struct nics *n)
{
    n->has_word = false;
    n->count = 0;
    memset(n->pf, 0, sizeof n->pf);
    memset(n->vm, 0, sizeof n->vm);
}

/* A nicbond that came anew has told of every VM long since: what it left out is not here. */
static void forget_old(struct nics *n)
{
    for (unsigned i = 0; i < HF_VMS_MAX; i++)
        if (n->vm[i].is_old) {
            n->vm[i].is_old = false;
            n->vm[i].legs.has = n->vm[i].legs.up = 0;
        }
}

static void age(struct nics *n, hf_time now)
{
    hf_time over;

    if (!n->has_agent && n->gone_at.ns != 0 && n->has_word) {
        over = hf_time_add_ms(n->gone_at, NICS_GRACE_MS);
        if (hf_time_reached(now, over))
            forget_words(n);
        else
            soon(n, over);
    }
    if (n->has_agent && n->came_at.ns != 0) {
        over = hf_time_add_ms(n->came_at, NICS_GRACE_MS);
        if (hf_time_reached(now, over)) {
            forget_old(n);
            n->came_at = (hf_time){0};
        } else {
            soon(n, over);
        }
    }
}

static void age_orders(struct nics *n, hf_time now)
{
    for (unsigned i = 0; i < NICS_ORDERS_MAX; i++) {
        struct nics_order *order = &n->order[i];

        if (order->number == 0)
            continue;
        if (hf_time_reached(now, order->until))
            *order = (struct nics_order){0}; /* who asked has stopped waiting by himself */
        else
            soon(n, order->until);
    }
}

void nics_turn(struct nics *n, hf_time now)
{
    const struct engine *e = state(n);
    hf_node me;

    if (!hf_time_reached(now, n->next_at))
        return;
    n->next_at = never;
    age(n, now);
    age_orders(n, now);
    if (!n->is_synced || e == NULL)
        return;
    me = self(n, e);
    if (!hf_node_is(me))
        return;
    tell_pfs(n, e, me, now);
    for (uint16_t i = 0; i < HF_VMS_MAX; i++) {
        struct hf_vm_view vm = engine_vm(e, (hf_vm){i});

        if (vm.is_used && hf_node_same(vm.home, me))
            tell_legs(n, &vm, now);
    }
}

hf_time nics_deadline(const struct nics *n)
{
    return n->next_at;
}

/* ---- nicbond ---- */

void nics_agent(struct nics *n, bool is_here, hf_time now)
{
    if (n->has_agent == is_here)
        return;
    n->has_agent = is_here;
    if (!is_here)
        n->gone_at = now;
    soon(n, now);
}

void nics_joined(struct nics *n, hf_time now)
{
    n->has_agent = true;
    n->came_at = now;
    for (unsigned i = 0; i < HF_VMS_MAX; i++)
        n->vm[i].is_old = n->vm[i].legs.uid != 0;
    soon(n, now);
}

static void take_legs(struct nics *n, const struct hf_vm_legs *legs)
{
    struct nics_vm *own;

    if (legs->uid == 0)
        return; /* not one of ours */
    own = vm_of(n, legs->uid);
    if (own == NULL)
        own = vm_of(n, 0);
    if (own == NULL)
        return; /* more VMs than there can be: of the others nothing is known */
    own->legs = *legs;
    own->is_old = false;
}

/* Gone from here, and the group knows: its place is free. */
static void sweep(struct nics *n)
{
    const struct engine *e = state(n);

    for (unsigned i = 0; i < HF_VMS_MAX && e != NULL; i++) {
        hf_vm vm = n->vm[i].legs.uid != 0 ? engine_vm_by_uid(e, n->vm[i].legs.uid) : HF_NO_VM;
        bool is_here = hf_vm_is(vm) && hf_node_same(engine_vm(e, vm).home, self(n, e));

        if (n->vm[i].legs.uid != 0 && n->vm[i].legs.has == 0 && !is_here)
            n->vm[i] = (struct nics_vm){0};
    }
}

static void keep_flip(struct nics *n, const struct hf_flip *flip)
{
    if (n->flips_count == NICS_FLIPS_MAX) {
        memmove(&n->flip[0], &n->flip[1], (NICS_FLIPS_MAX - 1) * sizeof n->flip[0]);
        n->flips_count--;
    }
    n->flip[n->flips_count++] = *flip;
}

static struct nics_order *order_of(struct nics *n, uint32_t number)
{
    for (unsigned i = 0; i < NICS_ORDERS_MAX; i++)
        if (n->order[i].number == number)
            return &n->order[i];
    return NULL;
}

static void take_flip(struct nics *n, uint32_t number, const struct hf_flip *flip)
{
    struct nics_order *found = number != 0 ? order_of(n, number) : NULL;
    struct nics_order order = found != NULL ? *found : (struct nics_order){0};

    keep_flip(n, flip);
    if (found != NULL)
        *found = (struct nics_order){0};
    n->ports.flipped(n->ports.user, flip, order.asker_nodeid, order.asker_number);
    if (order.cookie != 0)
        n->ports.answered(n->ports.user, order.cookie, flip);
}

void nics_told(struct nics *n, const struct hf_report *report, hf_time now)
{
    if (report->kind == HF_REPORT_FLIP) {
        take_flip(n, report->u.flip.number, &report->u.flip.flip);
        return;
    }
    if (report->kind == HF_REPORT_NICS) {
        n->has_word = true;
        n->word_at = now;
        n->count = report->u.nics.count;
        memcpy(n->pf, report->u.nics.pf, sizeof n->pf);
    } else if (report->kind == HF_REPORT_LEGS) {
        sweep(n);
        take_legs(n, &report->u.legs);
    } else {
        return;
    }
    soon(n, now);
    nics_turn(n, now);
}

/* ---- the group ---- */

/* What was told is not in the state, and not on its way there either. */
static void told_nothing(struct nics *n)
{
    n->pace.is_waiting = false;
    for (unsigned i = 0; i < HF_VMS_MAX; i++)
        n->vm[i].pace.is_waiting = false;
}

void nics_group(struct nics *n, bool is_synced, hf_time now)
{
    if (is_synced && !n->is_synced)
        told_nothing(n);
    n->is_synced = is_synced;
    soon(n, now);
}

static bool is_about_pfs(enum hf_reason why)
{
    return why >= HF_WHY_PF_UNKNOWN && why <= HF_WHY_PF_ABSENT;
}

void nics_stepped(struct nics *n, const struct engine_out *out, hf_time now, hf_wall wall)
{
    for (uint32_t i = 0; i < out->changes_count; i++) {
        const struct hf_change *c = &out->changes[i];

        if (c->subject == HF_SUBJECT_VM && c->was != c->now)
            soon(n, now); /* it may have come here */
        if (c->subject != HF_SUBJECT_NODE || c->ix >= HF_NODES_MAX)
            continue;
        if (is_about_pfs(c->why) && c->detail / 100 < HF_FABRICS_MAX)
            n->since[c->ix][c->detail / 100] = wall;
        if (is_about_pfs(c->why))
            soon(n, now); /* what was said of legs before may be forgotten */
        if (c->was == c->now)
            continue;
        if (c->ix == self(n, state(n)).ix)
            told_nothing(n); /* who came anew has told nothing yet */
        soon(n, now);
    }
}

/* ---- operators ---- */

static struct nics_order *new_order(struct nics *n, hf_time now)
{
    struct nics_order *order = order_of(n, 0);

    if (order == NULL)
        return NULL;
    if (++n->last_number == 0)
        n->last_number = 1;
    *order =
        (struct nics_order){.number = n->last_number, .until = hf_time_add_ms(now, NICS_ORDER_MS)};
    soon(n, order->until);
    return order;
}

static bool tell_order(struct nics *n, uint32_t number, hf_vm_uid uid, hf_fabric to)
{
    struct hf_report report = {.kind = HF_REPORT_NIC_ORDER};

    report.u.nic_order.number = number;
    report.u.nic_order.uid = uid;
    report.u.nic_order.to = to;
    return n->has_agent && n->ports.tell(n->ports.user, &report);
}

enum hf_code nics_failback(struct nics *n, hf_vm_uid uid, hf_fabric to, uint64_t cookie,
                           hf_time now, struct hf_err *err)
{
    const struct engine *e = state(n);
    hf_vm ix = e != NULL ? engine_vm_by_uid(e, uid) : HF_NO_VM;
    struct hf_vm_view vm;
    struct nics_order *order;

    if (!hf_vm_is(ix) || engine_vm(e, ix).state != HF_VM_RUNNING)
        return hf_err_set(err, HF_EINVAL, "it does not run");
    vm = engine_vm(e, ix);
    if (to >= HF_FABRICS_MAX || !((vm.def->legs | vm.legs.has) >> to & 1u))
        return hf_err_set(err, HF_EINVAL, "it has no leg there");
    order = new_order(n, now);
    if (order == NULL)
        return hf_err_set(err, HF_EFULL, "%d such orders wait: try again later", NICS_ORDERS_MAX);
    order->cookie = cookie;
    if (!hf_node_same(vm.home, self(n, e))) {
        n->ports.ask(n->ports.user, vm.home, order->number, uid, to);
        return HF_OK;
    }
    if (tell_order(n, order->number, uid, to))
        return HF_OK;
    *order = (struct nics_order){0};
    return hf_err_set(err, HF_EAGAIN, "nicbond is not connected on this node");
}

void nics_asked(struct nics *n, uint32_t asker_nodeid, uint32_t number, hf_vm_uid uid, hf_fabric to,
                hf_time now)
{
    struct nics_order *order = new_order(n, now);

    if (order != NULL) {
        order->asker_nodeid = asker_nodeid;
        order->asker_number = number;
        if (tell_order(n, order->number, uid, to))
            return;
        *order = (struct nics_order){0};
    }
    n->ports.flipped(n->ports.user, NULL, asker_nodeid, number);
}

void nics_answered(struct nics *n, uint32_t number, const struct hf_flip *flip)
{
    struct nics_order *order = number != 0 ? order_of(n, number) : NULL;
    uint64_t cookie = order != NULL ? order->cookie : 0;

    if (cookie == 0)
        return; /* nobody waits for it any more */
    *order = (struct nics_order){0};
    n->ports.answered(n->ports.user, cookie, flip);
}

uint16_t nics_legs(struct nics *n, const struct hf_vm_legs **legs)
{
    uint16_t count = 0;

    for (unsigned i = 0; i < HF_VMS_MAX; i++)
        if (n->vm[i].legs.uid != 0 && n->vm[i].legs.has != 0)
            n->look[count++] = n->vm[i].legs;
    *legs = n->look;
    return count;
}
