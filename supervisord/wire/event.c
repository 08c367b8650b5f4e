#include "supervisord/wire/event.h"

#include "supervisord/base/assert.h"
#include "supervisord/wire/fields.h"

#include <string.h>

_Static_assert(HF_EVENT_TYPES <= UINT8_MAX, "an event type is one byte");
_Static_assert(HF_REASONS <= UINT16_MAX, "a reason is two bytes");
_Static_assert(HF_VMS_MAX * 8 + 64 <= HF_EVENT_BYTES_MAX, "an inventory of every VM fits");

/* ---- one pair per type ---- */

static void put_members(struct hf_writer *w, const struct hf_event *ev)
{
    hf_put_u32(w, ev->u.members.view.leader);
    hf_put_u64(w, ev->u.members.view.seq);
    hf_put_u64(w, ev->u.members.epoch);
    hf_put_u64(w, ev->u.members.lineage);
    fields_put_bool(w, ev->u.members.cold);
    for (size_t i = 0; i < HF_NODES_MAX; i++) {
        const struct hf_member *m = &ev->u.members.node[i];

        fields_put_bool(w, m->present);
        fields_put_bool(w, m->in_ring);
        hf_put_bytes(w, m->boot.id, sizeof m->boot.id);
        hf_put_u64(w, m->incarnation);
    }
}

static void get_members(struct hf_reader *r, struct hf_event *ev)
{
    ev->u.members.view.leader = hf_get_u32(r);
    ev->u.members.view.seq = hf_get_u64(r);
    ev->u.members.epoch = hf_get_u64(r);
    ev->u.members.lineage = hf_get_u64(r);
    ev->u.members.cold = fields_get_bool(r);
    for (size_t i = 0; i < HF_NODES_MAX; i++) {
        struct hf_member *m = &ev->u.members.node[i];

        m->present = fields_get_bool(r);
        m->in_ring = fields_get_bool(r);
        hf_get_bytes(r, m->boot.id, sizeof m->boot.id);
        m->incarnation = hf_get_u64(r);
    }
}

static void put_facts(struct hf_writer *w, const struct hf_event *ev)
{
    hf_put_u32(w, ev->u.facts.memory_mib);
    hf_put_u16(w, ev->u.facts.cores);
    fields_put_bool(w, ev->u.facts.vm_watch_known);
    fields_put_bool(w, ev->u.facts.link_fit);
    fields_put_bool(w, ev->u.facts.config_same);
    hf_put_u64(w, ev->u.facts.hardware);
}

static void get_facts(struct hf_reader *r, struct hf_event *ev)
{
    ev->u.facts.memory_mib = hf_get_u32(r);
    ev->u.facts.cores = hf_get_u16(r);
    ev->u.facts.vm_watch_known = fields_get_bool(r);
    ev->u.facts.link_fit = fields_get_bool(r);
    ev->u.facts.config_same = fields_get_bool(r);
    ev->u.facts.hardware = hf_get_u64(r);
}

static void put_vm(struct hf_writer *w, const struct hf_event *ev)
{
    hf_put_u32(w, ev->u.vm.uid);
    hf_put_u32(w, ev->u.vm.start_no);
    hf_put_u8(w, (uint8_t)ev->u.vm.seen);
}

static void get_vm(struct hf_reader *r, struct hf_event *ev)
{
    ev->u.vm.uid = fields_get_uid(r);
    ev->u.vm.start_no = hf_get_u32(r);
    ev->u.vm.seen = (enum hf_seen)hf_get_enum(r, HF_SEENS);
}

static void put_def(struct hf_writer *w, const struct hf_vm_def *def)
{
    hf_put_str(w, def->name);
    hf_put_bytes(w, def->xml.b, sizeof def->xml.b);
    hf_put_u32(w, def->xml_bytes);
    hf_put_u32(w, def->memory_mib);
    hf_put_u16(w, def->priority);
    hf_put_str(w, def->apart);
    hf_put_str(w, def->together);
    hf_put_u8(w, def->allowed);
    fields_put_node(w, def->preferred);
    hf_put_u8(w, def->restarts_here);
    hf_put_u8(w, def->restarts_max);
    hf_put_u32(w, def->stop_grace_ms);
    hf_put_u8(w, def->legs);
}

static void get_def(struct hf_reader *r, struct hf_vm_def *def)
{
    fields_get_name(r, def->name);
    hf_get_bytes(r, def->xml.b, sizeof def->xml.b);
    def->xml_bytes = hf_get_u32(r);
    def->memory_mib = hf_get_u32(r);
    def->priority = hf_get_u16(r);
    fields_get_name_or_none(r, def->apart);
    fields_get_name_or_none(r, def->together);
    def->allowed = hf_get_u8(r);
    def->preferred = fields_get_node_or_none(r);
    def->restarts_here = hf_get_u8(r);
    def->restarts_max = hf_get_u8(r);
    def->stop_grace_ms = hf_get_u32(r);
    def->legs = hf_get_enum(r, 1 << HF_FABRICS_MAX);
    if (def->xml_bytes > HF_XML_MAX || def->memory_mib == 0 || def->priority > HF_PRIORITY_MAX)
        r->bad = true;
}

static void put_order(struct hf_writer *w, const struct hf_event *ev)
{
    hf_put_u8(w, (uint8_t)ev->u.order.type);
    fields_put_node(w, ev->u.order.node);
    hf_put_u32(w, ev->u.order.uid);
    hf_put_u32(w, ev->u.order.ms);
    hf_put_u64(w, ev->u.order.as_of);
    fields_put_bool(w, ev->u.order.wants_run);
    hf_put_str(w, ev->u.order.who);
    hf_put_str(w, ev->u.order.reason);
    if (ev->u.order.type == HF_ORDER_VM_ADD)
        put_def(w, &ev->u.order.def);
}

static void get_order(struct hf_reader *r, struct hf_event *ev)
{
    ev->u.order.type = (enum hf_order_type)fields_get_enum_from_1(r, HF_ORDERS);
    ev->u.order.node = fields_get_node_or_none(r);
    ev->u.order.uid = hf_get_u32(r);
    ev->u.order.ms = hf_get_u32(r);
    ev->u.order.as_of = hf_get_u64(r);
    ev->u.order.wants_run = fields_get_bool(r);
    hf_get_str(r, ev->u.order.who, sizeof ev->u.order.who);
    hf_get_str(r, ev->u.order.reason, sizeof ev->u.order.reason);
    if (ev->u.order.type == HF_ORDER_VM_ADD)
        get_def(r, &ev->u.order.def);
}

static void put_attest(struct hf_writer *w, const struct hf_event *ev)
{
    hf_put_u8(w, (uint8_t)ev->u.attest.state);
    fields_put_bool(w, ev->u.attest.is_held);
    hf_put_u32(w, ev->u.attest.timeout_ms);
    hf_put_u32(w, ev->u.attest.lease_ms);
    hf_put_u16(w, ev->u.attest.version);
    hf_put_u64(w, ev->u.attest.hold_seq);
    fields_put_text(w, ev->u.attest.identity);
}

/* Without a timeout and a lease nobody could say when an armed watchdog has fired. */
static void get_attest(struct hf_reader *r, struct hf_event *ev)
{
    ev->u.attest.state = (enum hf_watchdog)hf_get_enum(r, HF_WATCHDOGS);
    ev->u.attest.is_held = fields_get_bool(r);
    ev->u.attest.timeout_ms = hf_get_u32(r);
    ev->u.attest.lease_ms = hf_get_u32(r);
    ev->u.attest.version = hf_get_u16(r);
    ev->u.attest.hold_seq = hf_get_u64(r);
    hf_get_str(r, ev->u.attest.identity, sizeof ev->u.attest.identity);
    if (ev->u.attest.state == HF_WD_ARMED &&
        (ev->u.attest.timeout_ms == 0 || ev->u.attest.lease_ms == 0))
        r->bad = true;
}

static void put_path(struct hf_writer *w, const struct hf_event *ev)
{
    fields_put_node(w, ev->u.path.target);
    hf_put_u8(w, ev->u.path.level);
    hf_put_u8(w, (uint8_t)ev->u.path.found);
    hf_put_u64(w, ev->u.path.hardware);
}

static void get_path(struct hf_reader *r, struct hf_event *ev)
{
    ev->u.path.target = fields_get_node(r);
    ev->u.path.level = hf_get_enum(r, HF_FENCE_LEVELS_MAX);
    ev->u.path.found = (enum hf_path)hf_get_enum(r, HF_PATHS);
    ev->u.path.hardware = hf_get_u64(r);
}

static void put_nics(struct hf_writer *w, const struct hf_event *ev)
{
    for (size_t f = 0; f < HF_FABRICS_MAX; f++) {
        hf_put_u8(w, (uint8_t)ev->u.nics.pf[f].state);
        hf_put_u8(w, (uint8_t)ev->u.nics.pf[f].cause);
    }
}

static void get_nics(struct hf_reader *r, struct hf_event *ev)
{
    for (size_t f = 0; f < HF_FABRICS_MAX; f++) {
        ev->u.nics.pf[f].state = (enum hf_pf)hf_get_enum(r, HF_PFS);
        ev->u.nics.pf[f].cause = (enum hf_nic_cause)hf_get_enum(r, HF_NIC_CAUSES);
    }
}

static void put_legs(struct hf_writer *w, const struct hf_event *ev)
{
    hf_put_u32(w, ev->u.legs.uid);
    hf_put_u32(w, ev->u.legs.start_no);
    fields_put_legs(w, ev->u.legs.has, ev->u.legs.up, ev->u.legs.active);
}

static void get_legs(struct hf_reader *r, struct hf_event *ev)
{
    ev->u.legs.uid = fields_get_uid(r);
    ev->u.legs.start_no = hf_get_u32(r);
    fields_get_legs(r, &ev->u.legs.has, &ev->u.legs.up, &ev->u.legs.active);
}

/* ---- events ---- */

void event_encode(const struct hf_event *ev, struct hf_writer *w)
{
    hf_put_u8(w, (uint8_t)ev->type);
    fields_put_node(w, ev->from);
    switch (ev->type) {
    case HF_EV_MEMBERS:
        put_members(w, ev);
        return;
    case HF_EV_FACTS:
        put_facts(w, ev);
        return;
    case HF_EV_INVENTORY:
        fields_put_inventory(w, ev->u.inventory.as_of, ev->u.inventory.vm, ev->u.inventory.count);
        return;
    case HF_EV_VM:
        put_vm(w, ev);
        return;
    case HF_EV_BEAT:
        fields_put_node(w, ev->u.beat.node);
        fields_put_bool(w, ev->u.beat.heard);
        return;
    case HF_EV_EXPIRED:
        fields_put_token(w, ev->u.expired.timer);
        return;
    case HF_EV_DONE:
        fields_put_token(w, ev->u.done.effect);
        hf_put_u8(w, (uint8_t)ev->u.done.outcome);
        return;
    case HF_EV_ORDER:
        put_order(w, ev);
        return;
    case HF_EV_ATTEST:
        put_attest(w, ev);
        return;
    case HF_EV_PATH:
        put_path(w, ev);
        return;
    case HF_EV_NICS:
        put_nics(w, ev);
        return;
    case HF_EV_LEGS:
        put_legs(w, ev);
        return;
    case HF_EVENT_TYPES:
        break;
    }
    HF_ASSERT(ev->type < HF_EVENT_TYPES);
}

static void get_body(struct hf_reader *r, struct hf_event *ev)
{
    switch (ev->type) {
    case HF_EV_MEMBERS:
        get_members(r, ev);
        return;
    case HF_EV_FACTS:
        get_facts(r, ev);
        return;
    case HF_EV_INVENTORY:
        fields_get_inventory(r, &ev->u.inventory.as_of, ev->u.inventory.vm, &ev->u.inventory.count);
        return;
    case HF_EV_VM:
        get_vm(r, ev);
        return;
    case HF_EV_BEAT:
        ev->u.beat.node = fields_get_node(r);
        ev->u.beat.heard = fields_get_bool(r);
        return;
    case HF_EV_EXPIRED:
        fields_get_token(r, &ev->u.expired.timer);
        return;
    case HF_EV_DONE:
        fields_get_token(r, &ev->u.done.effect);
        ev->u.done.outcome = (enum hf_outcome)hf_get_enum(r, HF_OUTCOMES);
        return;
    case HF_EV_ORDER:
        get_order(r, ev);
        return;
    case HF_EV_ATTEST:
        get_attest(r, ev);
        return;
    case HF_EV_PATH:
        get_path(r, ev);
        return;
    case HF_EV_NICS:
        get_nics(r, ev);
        return;
    case HF_EV_LEGS:
        get_legs(r, ev);
        return;
    case HF_EVENT_TYPES:
        break;
    }
    r->bad = true;
}

enum hf_code event_decode(struct hf_reader *r, struct hf_event *ev, struct hf_err *err)
{
    memset(ev, 0, sizeof *ev);
    ev->type = (enum hf_event_type)hf_get_enum(r, HF_EVENT_TYPES);
    ev->from = fields_get_node_or_none(r);
    if (r->bad || ev->type == 0)
        return hf_err_set(err, HF_EBAD, "event: unknown type or sender");
    if ((ev->type == HF_EV_MEMBERS) != (ev->from.ix == HF_NO_NODE.ix))
        return hf_err_set(err, HF_EBAD, "event: a sender where none may be, or none");
    get_body(r, ev);
    if (!hf_reader_ended(r))
        return hf_err_set(err, HF_EBAD,
                          "event of type %d: bytes out of range, missing or left over",
                          (int)ev->type);
    return HF_OK;
}

/* ---- decisions ---- */

static void put_effect(struct hf_writer *w, const struct hf_effect *fx)
{
    fields_put_token(w, fx->token);
    fields_put_node(w, fx->actor);
    hf_put_u8(w, (uint8_t)fx->type);
    switch (fx->type) {
    case HF_FX_FENCE:
    case HF_FX_POWER_ON:
        fields_put_node(w, fx->u.fence.target);
        hf_put_u8(w, fx->u.fence.level);
        return;
    case HF_FX_VM_START:
    case HF_FX_VM_STOP:
        hf_put_u32(w, fx->u.vm.uid);
        hf_put_u32(w, fx->u.vm.start_no);
        hf_put_u32(w, fx->u.vm.grace_ms);
        return;
    case HF_FX_TIMER:
        hf_put_u32(w, fx->u.timer.after_ms);
        return;
    case HF_FX_HOLD:
        hf_put_u32(w, fx->u.hold.ms);
        return;
    case HF_FX_DISARM:
        return;
    case HF_FX_TYPES:
        break;
    }
    HF_ASSERT(fx->type < HF_FX_TYPES);
}

static void put_change(struct hf_writer *w, const struct hf_change *change)
{
    hf_put_u8(w, (uint8_t)change->subject);
    hf_put_u16(w, change->ix);
    hf_put_u32(w, change->uid);
    hf_put_u8(w, change->was);
    hf_put_u8(w, change->now);
    fields_put_node(w, change->node);
    hf_put_u16(w, (uint16_t)change->why);
    hf_put_u32(w, change->detail);
}

void decision_encode(const struct engine_out *out, struct hf_writer *w)
{
    HF_ASSERT(out->effects_count <= HF_EFFECTS_MAX);
    HF_ASSERT(out->changes_count <= HF_CHANGES_MAX);
    fields_put_bool(w, out->applied);
    hf_put_u16(w, (uint16_t)out->why);
    hf_put_u32(w, out->effects_count);
    for (size_t i = 0; i < out->effects_count; i++)
        put_effect(w, &out->effects[i]);
    hf_put_u32(w, out->changes_count);
    for (size_t i = 0; i < out->changes_count; i++)
        put_change(w, &out->changes[i]);
}
