/* operator.c - what people ask for, drawn. They confirm a host off only when it is (a wrong word is
 * a marked limit), and give orders only where the daemon takes them. */
#include <stdio.h>
#include <string.h>

#include "supervisord/base/str.h"
#include "tests/sim/faults.h"
#include "tests/sim/operator.h"
#include "tests/sim/sim.h"

static void base(struct hf_event *ev, enum hf_order_type type)
{
    memset(ev, 0, sizeof *ev);
    ev->type = HF_EV_ORDER;
    ev->u.order.type = type;
    ev->u.order.node = HF_NO_NODE;
    ev->u.order.def.preferred = HF_NO_NODE;
    hf_str_copy(ev->u.order.who, sizeof ev->u.order.who, "operator");
    hf_str_copy(ev->u.order.reason, sizeof ev->u.order.reason, "drawn");
}

void operator_add(struct hf_event *ev, const char *name, uint32_t memory_mib)
{
    base(ev, HF_ORDER_VM_ADD);
    ev->u.order.wants_run = true;
    struct hf_vm_def *def = &ev->u.order.def;
    hf_str_copy(def->name, sizeof def->name, name);
    def->xml.b[0] = 1;
    def->xml_bytes = 1000;
    def->memory_mib = memory_mib;
    def->restarts_here = 2;
    def->restarts_max = 4;
    def->stop_grace_ms = 2000;
}

void operator_order(struct hf_event *ev, enum hf_order_type type, hf_node node, hf_vm_uid uid)
{
    base(ev, type);
    ev->u.order.node = node;
    ev->u.order.uid = uid;
}

void operator_draw_vm(struct sim *s, struct hf_event *ev, unsigned number)
{
    char name[16];
    snprintf(name, sizeof name, "vm%u", number);
    operator_add(ev, name, (uint32_t)sim_between(s, 1, 6) * 1024);
    struct hf_vm_def *def = &ev->u.order.def;
    def->priority = (uint16_t)sim_between(s, 0, 1000);
    def->restarts_here = (uint8_t)sim_between(s, 1, 3);
    def->restarts_max = (uint8_t)sim_between(s, 1, 6);
    def->stop_grace_ms = (uint32_t)(sim_chance(s, 300) ? 0 : sim_between(s, 0, 20000));
    if (sim_chance(s, 250))
        hf_str_copy(def->apart, sizeof def->apart, sim_chance(s, 500) ? "red" : "blue");
    else if (sim_chance(s, 150))
        hf_str_copy(def->together, sizeof def->together, "pair");
    if (sim_chance(s, 150))
        def->allowed = (hf_nodes)sim_between(s, 1, sim_all(s));
    if (s->opt.has_nics)
        def->legs = sim_chance(s, 750) ? 3 : (hf_legs)sim_between(s, 0, 2);
    if (sim_chance(s, 200))
        def->preferred = sim_node_at((unsigned)sim_between(s, 0, s->opt.nodes - 1));
}

bool operator_gives(struct sim *s, const struct hf_event *ev)
{
    unsigned start = (unsigned)sim_between(s, 0, s->opt.nodes - 1);
    for (unsigned k = 0; k < s->opt.nodes; k++)
        if (node_order(s, sim_node_at((start + k) % s->opt.nodes), ev))
            return true;
    return false;
}

static hf_vm_uid added(struct sim *s)
{
    hf_vm_uid start = (hf_vm_uid)sim_between(s, 0, SIM_VMS_MAX - 2);
    for (unsigned k = 0; k < SIM_VMS_MAX - 1; k++) {
        hf_vm_uid uid = 1 + (start + k) % (SIM_VMS_MAX - 1);
        if (s->check.vm[uid].is_added)
            return uid;
    }
    return 0;
}

static void confirm(struct sim *s, hf_node n)
{
    struct hf_event ev;
    bool is_true = !s->world.host[n.ix].is_on;
    if (!is_true && !(s->opt.has_liar && sim_chance(s, 200)))
        return;
    operator_order(&ev, HF_ORDER_CONFIRM, n, 0);
    if (!operator_gives(s, &ev) || is_true)
        return;
    SAY(s, n.ix, "a person confirms WRONGLY that it is off");
    s->shows_limit = true;
    faults_count(s, FAULT_O5);
}

void faults_operator(struct sim *s)
{
    static const enum hf_order_type kinds[] = {
        HF_ORDER_VM_START, HF_ORDER_VM_START,  HF_ORDER_VM_STOP, HF_ORDER_VM_MOVE,
        HF_ORDER_VM_MOVE,  HF_ORDER_DRAIN,     HF_ORDER_UNDRAIN, HF_ORDER_ARM,
        HF_ORDER_DISARM,   HF_ORDER_FENCE,     HF_ORDER_CONFIRM, HF_ORDER_CONFIRM,
        HF_ORDER_VM_ADD,   HF_ORDER_VM_REMOVE, HF_ORDER_ARM,     HF_ORDER_ARM,
        HF_ORDER_HOLD,     HF_ORDER_HOLD,      HF_ORDER_LEAVE,   HF_ORDER_POWER_ON,
    };
    enum hf_order_type kind = kinds[sim_between(s, 0, sizeof kinds / sizeof kinds[0] - 1)];
    hf_node n = sim_node_at((unsigned)sim_between(s, 0, s->opt.nodes - 1));
    struct hf_event ev;
    if (kind == HF_ORDER_CONFIRM) {
        confirm(s, n);
        return;
    }
    if (kind == HF_ORDER_VM_ADD) {
        if (s->check.order_steps > SIM_VMS_MAX * 4)
            return;
        operator_draw_vm(s, &ev, (unsigned)sim_between(s, 1, 14));
        ev.u.order.wants_run = sim_chance(s, 700);
    } else {
        operator_order(&ev, kind, n, added(s));
    }
    if (kind == HF_ORDER_VM_MOVE && sim_chance(s, 300))
        ev.u.order.node = HF_NO_NODE;
    if (kind == HF_ORDER_HOLD)
        ev.u.order.ms = sim_chance(s, 200) ? 0 : (uint32_t)sim_between(s, 1000, 120000);
    if (kind == HF_ORDER_DRAIN) {
        ev.u.order.ms = sim_chance(s, 300) ? 0 : (uint32_t)sim_between(s, 10000, 600000);
        if (ev.u.order.ms == 0)
            faults_count(s, FAULT_O7);
    }
    SAY(s, -1, "operator: order %d node %u vm %u", (int)kind, n.ix, ev.u.order.uid);
    operator_gives(s, &ev);
}
