/* Whatever comes in whatever order, two replicas agree and every invariant holds. */
#include "supervisord/base/rng.h"
#include "tests/unit/supervisord/engine/trio.h"

static struct hf_rng rng;
static struct hf_token known[64];

static uint64_t below(uint64_t limit)
{
    return hf_rng_below(&rng, limit);
}

static struct hf_token some_token(void)
{
    return known[below(64)];
}

static void random_members(struct hf_event *ev)
{
    ev->from = HF_NO_NODE;
    ev->u.members.cold = below(20) == 0;
    for (uint8_t n = 0; n < t.e.group.nodes_count; n++) {
        struct hf_member *m = &t.member[n];
        if (below(3) == 0) {
            m->present = below(4) != 0;
            m->in_ring = m->present || below(2);
            if (below(3) == 0)
                m->incarnation++;
            if (below(5) == 0)
                m->boot.id[0]++;
        }
    }
    memcpy(ev->u.members.node, t.member, sizeof t.member);
}

static void random_order(struct hf_event *ev)
{
    ev->u.order.type = (enum hf_order_type)(1 + below(HF_ORDERS - 1));
    ev->u.order.node = HF_NO_NODE;
    if (below(4))
        ev->u.order.node.ix = (uint8_t)below(t.e.group.nodes_count);
    ev->u.order.uid = (hf_vm_uid)(t.e.uid_last ? 1 + below(t.e.uid_last) : 0);
    if (ev->u.order.type != HF_ORDER_VM_ADD)
        return;
    char name[16];
    snprintf(name, sizeof name, "v%u", (unsigned)below(12));
    ev->u.order.def = a_vm(name);
    ev->u.order.wants_run = below(2);
    ev->u.order.def.memory_mib = (uint32_t)(1 + below(30000));
    ev->u.order.def.legs = (hf_legs)below(1 << HF_FABRICS_MAX);
    if (below(2))
        strcpy(ev->u.order.def.apart, below(2) ? "x" : "y");
    if (below(4) == 0)
        strcpy(ev->u.order.def.together, "z");
}

static void random_vm(struct hf_event *ev)
{
    ev->u.vm.uid = (hf_vm_uid)(t.e.uid_last ? 1 + below(t.e.uid_last) : 1);
    struct vm *v = vm_of_uid(&t.e, ev->u.vm.uid);
    ev->u.vm.start_no = v && below(4) ? v->start_no : (uint32_t)below(3);
    ev->u.vm.seen = (enum hf_seen)below(HF_SEENS);
    if (v && v->home != 0xff && below(4))
        ev->from.ix = v->home;
}

static void random_nics(struct hf_event *ev)
{
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        ev->u.nics.pf[f].state = below(2) ? HF_PF_UP : (enum hf_pf)below(HF_PFS);
        ev->u.nics.pf[f].cause = (enum hf_nic_cause)below(HF_NIC_CAUSES);
    }
}

static void random_legs(struct hf_event *ev)
{
    ev->u.legs.uid = (hf_vm_uid)(t.e.uid_last ? 1 + below(t.e.uid_last) : 1);
    struct vm *v = vm_of_uid(&t.e, ev->u.legs.uid);
    ev->u.legs.start_no = v && below(4) ? v->running_no : (uint32_t)below(3);
    ev->u.legs.has = (hf_legs)below(1 << HF_FABRICS_MAX);
    ev->u.legs.up = (hf_legs)below(1 << HF_FABRICS_MAX) & ev->u.legs.has;
    ev->u.legs.active = (hf_fabric)below(HF_FABRICS_MAX + 1);
    if (v && v->home != 0xff && below(4))
        ev->from.ix = v->home;
}

static struct hf_event random_event(void)
{
    struct hf_event ev = {.type = (enum hf_event_type)(1 + below(HF_EVENT_TYPES - 1))};
    ev.from.ix = (uint8_t)below(t.e.group.nodes_count);
    switch (ev.type) {
    case HF_EV_MEMBERS:
        random_members(&ev);
        break;
    case HF_EV_FACTS:
        ev.u.facts.memory_mib = (uint32_t)(below(4) ? 65536 : 0);
        ev.u.facts.vm_watch_known = below(8) != 0;
        ev.u.facts.link_fit = below(8) != 0;
        break;
    case HF_EV_INVENTORY:
        for (struct vm *v = t.e.vms; v < t.e.vms + t.e.slots_end; v++)
            if (v->is_used && ((v->possible & bit_of(ev.from.ix)) ? below(8) : !below(20)))
                ev.u.inventory.vm[ev.u.inventory.count++] =
                    (struct hf_vm_seen){v->uid, below(6) ? v->start_no : 0};
        break;
    case HF_EV_VM:
        random_vm(&ev);
        break;
    case HF_EV_BEAT:
        ev.u.beat.node.ix = (uint8_t)below(HF_NODES_MAX);
        ev.u.beat.heard = below(2);
        break;
    case HF_EV_EXPIRED:
        ev.u.expired.timer = some_token();
        break;
    case HF_EV_DONE: {
        ev.u.done.effect = some_token();
        ev.u.done.outcome = (enum hf_outcome)below(HF_OUTCOMES);
        break;
    }
    case HF_EV_ORDER:
        random_order(&ev);
        break;
    case HF_EV_ATTEST:
        ev.u.attest.state = (enum hf_watchdog)below(HF_WATCHDOGS);
        ev.u.attest.is_held = !below(4);
        ev.u.attest.timeout_ms = below(2) ? 10000 : 1 + (uint32_t)below(60000);
        ev.u.attest.lease_ms = below(2) ? 5000 : 1 + (uint32_t)below(60000);
        ev.u.attest.identity[0] = (char)('a' + below(3));
        break;
    case HF_EV_PATH:
        ev.u.path.target.ix = (uint8_t)below(HF_NODES_MAX);
        ev.u.path.level = (uint8_t)below(HF_FENCE_LEVELS_MAX);
        ev.u.path.found = (enum hf_path)below(HF_PATHS);
        ev.u.path.hardware = below(3);
        break;
    case HF_EV_NICS:
        random_nics(&ev);
        break;
    case HF_EV_LEGS:
        random_legs(&ev);
        break;
    case HF_EVENT_TYPES:
        break;
    }
    return ev;
}

/* Answer a live order as its actor would: pure chance hardly ever finds a token. */
static void remember(void)
{
    static struct hf_effect fx[HF_EFFECTS_MAX];
    hf_node n = {(uint8_t)below(t.e.group.nodes_count)};
    uint32_t count = engine_pending(&t.e, n, fx);
    for (uint32_t i = 0; i < count; i++)
        known[below(64)] = fx[i].token;
}

START_TEST(two_replicas_agree_whatever_comes)
{
    static struct engine twin;
    static struct engine_out twin_out;
    rng = hf_rng_seeded(1000u + (uint64_t)_i);
    form(_i % 2 ? 3 : 5);
    memcpy(&twin, &t.e, sizeof twin);
    for (int k = 0; k < 4000; k++) {
        remember();
        struct hf_event ev = random_event();
        ev.seq = engine_seq(&t.e) + 1;
        engine_step(&t.e, &ev, &t.out);
        engine_step(&twin, &ev, &twin_out);
        ck_assert_uint_eq(t.out.effects_count, twin_out.effects_count);
        for (uint32_t i = 0; i < t.out.effects_count; i++)
            if (t.out.effects[i].type == HF_FX_VM_START) {
                struct vm *v = vm(t.out.effects[i].u.vm.uid);
                ck_assert_uint_eq(v->possible, bit_of(t.out.effects[i].actor.ix));
            }
        if (k % 64 == 0)
            ck_assert_uint_eq(engine_digest(&t.e), engine_digest(&twin));
    }
    uint8_t bytes[2][sizeof(struct engine)];
    size_t len = engine_save(&t.e, bytes[0], sizeof bytes[0]);
    static struct engine back;
    struct hf_err err;
    ck_assert_msg(engine_load(&back, bytes[0], len, &err) == HF_OK, "%s", err.text);
    ck_assert_uint_eq(engine_save(&back, bytes[1], sizeof bytes[1]), len);
    ck_assert_mem_eq(bytes[0], bytes[1], len);
}
END_TEST

HF_TEST_MAIN("engine/step", HF_LOOP(two_replicas_agree_whatever_comes, 0, 40))
