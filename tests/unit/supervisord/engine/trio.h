/* trio.h - an engine with three nodes (or more) for tests to push around: each helper is one event,
 * and a test reads as what happened. Holds the output of the last step. */
#ifndef TESTS_UNIT_SUPERVISORD_ENGINE_TRIO_H
#define TESTS_UNIT_SUPERVISORD_ENGINE_TRIO_H

#include <string.h>

#include "supervisord/engine/internal.h"
#include "supervisord/model/names.h"
#include "tests/unit/check.h"
#include "tests/unit/supervisord/a_group.h"

struct trio {
    struct engine e;
    struct engine_out out;
    struct hf_member member[HF_NODES_MAX];
};

static struct trio t; /* a case runs in a process of its own */

static inline struct engine_out *step(struct hf_event ev)
{
    ev.seq = engine_seq(&t.e) + 1;
    engine_step(&t.e, &ev, &t.out);
    return &t.out;
}

static inline void members(bool cold)
{
    struct hf_event ev = {.from = HF_NO_NODE, .type = HF_EV_MEMBERS};
    ev.u.members.view = (struct hf_view){1, t.e.view.seq + 4};
    ev.u.members.cold = cold;
    memcpy(ev.u.members.node, t.member, sizeof t.member);
    step(ev);
}

static inline void facts(uint8_t n)
{
    struct hf_event ev = {.from = {n}, .type = HF_EV_FACTS};
    ev.u.facts.memory_mib = 65536;
    ev.u.facts.cores = 16;
    ev.u.facts.vm_watch_known = ev.u.facts.link_fit = ev.u.facts.config_same = true;
    step(ev);
}

/* What runs there: uid list, 0-ended; start numbers are the engine's own. */
static inline void inventory(uint8_t n, const hf_vm_uid *uids)
{
    struct hf_event ev = {.from = {n}, .type = HF_EV_INVENTORY};
    ev.u.inventory.as_of = engine_as_of(&t.e);
    for (; uids && *uids; uids++) {
        struct vm *v = vm_of_uid(&t.e, *uids);
        ev.u.inventory.vm[ev.u.inventory.count++] = (struct hf_vm_seen){*uids, v->start_no};
    }
    step(ev);
}

static inline void boots(uint8_t n, uint8_t boot)
{
    t.member[n] = (struct hf_member){.present = true, .in_ring = true, .incarnation = boot * 100u};
    t.member[n].boot.id[0] = boot;
    t.member[n].boot.id[1] = (uint8_t)(n + 1);
}

static inline void host_gone(uint8_t n)
{
    t.member[n].present = t.member[n].in_ring = false;
    members(false);
}

static inline void daemon_gone(uint8_t n)
{
    t.member[n].present = false;
    members(false);
}

static inline void ready(uint8_t n)
{
    facts(n);
    inventory(n, NULL);
}

static inline void order(enum hf_order_type type, uint8_t n, hf_vm_uid uid)
{
    struct hf_event ev = {.from = {0}, .type = HF_EV_ORDER};
    if (!hf_nodes_has(t.e.present, ev.from))
        ev.from = hf_nodes_first(t.e.present);
    ev.u.order.type = type;
    ev.u.order.node = (hf_node){n};
    ev.u.order.uid = uid;
    ev.u.order.as_of = engine_as_of(&t.e);
    step(ev);
}

/* Every node here tells what runs on it by the engine's own account; tests then have what they set
 * up without somebody else's copies. The last step's effects are those of all of it together. */
static inline void say_all(void)
{
    static struct engine_out kept;
    kept = t.out;
    for (uint8_t n = 0; n < t.e.group.nodes_count; n++) {
        hf_vm_uid uids[HF_VMS_MAX + 1] = {0};
        unsigned count = 0;
        for (uint16_t i = 0; i < t.e.slots_end; i++)
            if (t.e.vms[i].is_used && t.e.vms[i].home == n)
                uids[count++] = t.e.vms[i].uid;
        if (!host_may_speak(&t.e, (hf_node){n}))
            continue;
        inventory(n, uids);
        for (uint32_t k = 0; k < t.out.effects_count; k++)
            kept.effects[kept.effects_count++] = t.out.effects[k];
    }
    t.out.effects_count = kept.effects_count;
    memcpy(t.out.effects, kept.effects, sizeof kept.effects);
    t.out.applied = kept.applied;
    t.out.why = kept.why;
}

static inline hf_vm_uid add(struct hf_vm_def def, bool wants_run)
{
    struct hf_event ev = {.from = hf_nodes_first(t.e.present), .type = HF_EV_ORDER};
    ev.u.order.type = HF_ORDER_VM_ADD;
    ev.u.order.node = HF_NO_NODE;
    ev.u.order.def = def;
    ev.u.order.wants_run = wants_run;
    step(ev);
    if (!t.out.applied)
        return 0;
    hf_vm_uid uid = t.e.uid_last;
    say_all();
    return uid;
}

static inline struct vm *vm(hf_vm_uid uid)
{
    struct vm *v = vm_of_uid(&t.e, uid);
    ck_assert_ptr_nonnull(v);
    return v;
}

/* The nth effect of a type in the last step; NULL when there is none. */
static inline const struct hf_effect *effect(enum hf_effect_type type, uint32_t nth)
{
    for (uint32_t i = 0; i < t.out.effects_count; i++)
        if (t.out.effects[i].type == type && nth-- == 0)
            return &t.out.effects[i];
    return NULL;
}

/* The node itself announces that it will be away. */
static inline void hold(uint8_t n, uint32_t ms)
{
    struct hf_event ev = {.from = {n}, .type = HF_EV_ORDER};
    ev.u.order.type = HF_ORDER_HOLD;
    ev.u.order.node = (hf_node){n};
    ev.u.order.ms = ms;
    ev.u.order.def.preferred = HF_NO_NODE;
    step(ev);
}

static inline void result(uint8_t from, struct hf_token token, enum hf_outcome outcome)
{
    struct hf_event ev = {.from = {from}, .type = HF_EV_DONE};
    ev.u.done.effect = token;
    ev.u.done.outcome = outcome;
    step(ev);
}

static inline void expired(uint8_t from, struct hf_token token)
{
    struct hf_event ev = {.from = {from}, .type = HF_EV_EXPIRED};
    ev.u.expired.timer = token;
    step(ev);
}

static inline void seen(uint8_t from, hf_vm_uid uid, uint32_t start_no, enum hf_seen what)
{
    struct hf_event ev = {.from = {from}, .type = HF_EV_VM};
    ev.u.vm.uid = uid;
    ev.u.vm.start_no = start_no;
    ev.u.vm.seen = what;
    step(ev);
}

/* What node n says of its PFs in fabrics a and b. */
static inline void pfs(uint8_t n, enum hf_pf a, enum hf_pf b)
{
    struct hf_event ev = {.from = {n}, .type = HF_EV_NICS};
    ev.u.nics.pf[0] = (struct hf_pf_verdict){a, a == HF_PF_DOWN ? HF_NIC_CARRIER : HF_NIC_NONE};
    ev.u.nics.pf[1] = (struct hf_pf_verdict){b, b == HF_PF_DOWN ? HF_NIC_BFD : HF_NIC_NONE};
    step(ev);
}

/* What its home says of a VM's legs. */
static inline void legs(hf_vm_uid uid, hf_legs has, hf_legs up)
{
    struct vm *v = vm(uid);
    struct hf_event ev = {.from = {v->home}, .type = HF_EV_LEGS};
    ev.u.legs = (struct hf_vm_legs_seen){uid, v->running_no, has, up, HF_FABRICS_MAX};
    step(ev);
}

static inline bool noted(enum hf_reason why)
{
    for (uint32_t i = 0; i < t.out.changes_count; i++)
        if (t.out.changes[i].why == why)
            return true;
    return false;
}

static inline void beat(uint8_t n, bool heard)
{
    struct hf_event ev = {.from = {n == 0 ? 1 : 0}, .type = HF_EV_BEAT};
    ev.u.beat.node = (hf_node){n};
    ev.u.beat.heard = heard;
    step(ev);
}

/* `nodes` nodes up, ready and armed. */
static inline void form(uint8_t nodes)
{
    struct hf_group g = a_group(nodes);
    struct hf_err err;
    memset(&t, 0, sizeof t);
    ck_assert_int_eq(engine_init(&t.e, &g, &err), HF_OK);
    for (uint8_t n = 0; n < nodes; n++)
        boots(n, 1);
    members(false);
    for (uint8_t n = 0; n < nodes; n++)
        ready(n);
    order(HF_ORDER_ARM, HF_NO_NODE.ix, 0);
    ck_assert(t.out.applied);
}

/* Added and running; returns its uid. Its home is vm(uid)->home. */
static inline hf_vm_uid running(struct hf_vm_def def)
{
    hf_vm_uid uid = add(def, true);
    ck_assert_uint_ne(uid, 0);
    ck_assert_int_eq(vm(uid)->state, HF_VM_STARTING);
    result(vm(uid)->home, vm(uid)->order, HF_OUT_DONE);
    ck_assert_int_eq(vm(uid)->state, HF_VM_RUNNING);
    return uid;
}

static inline hf_vm_uid running_on(struct hf_vm_def def, uint8_t n)
{
    def.preferred = (hf_node){n};
    hf_vm_uid uid = running(def);
    ck_assert_uint_eq(vm(uid)->home, n);
    return uid;
}

#define ck_state(uid_, state_)                                                                     \
    ck_assert_msg(vm(uid_)->state == (state_), "vm is %s, not %s",                                 \
                  hf_vm_state_name(vm(uid_)->state), hf_vm_state_name(state_))
#define ck_node(n_, state_)                                                                        \
    ck_assert_msg(t.e.nodes[n_].state == (state_), "node is %s, not %s",                           \
                  hf_node_state_name(t.e.nodes[n_].state), hf_node_state_name(state_))

#endif
