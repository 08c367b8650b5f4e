#include "supervisord/wire/event.h"

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"

#include <string.h>

_Static_assert(HF_EVENT_TYPES <= UINT8_MAX, "an event type is one byte");
_Static_assert(HF_REASONS <= UINT16_MAX, "a reason is two bytes");
_Static_assert(HF_VMS_MAX * 8 + 64 <= HF_EVENT_BYTES_MAX, "an inventory of every VM fits");

enum { PRIORITY_MAX = 1000 }; /* model/group.h */

/* ---- leaves ---- */

static void put_bool(struct hf_writer *w, bool v)
{
    hf_put_u8(w, v ? 1 : 0);
}

static bool get_bool(struct hf_reader *r)
{
    return hf_get_enum(r, 2) == 1;
}

static void put_node(struct hf_writer *w, hf_node node)
{
    hf_put_u8(w, node.ix);
}

static hf_node get_node_or_none(struct hf_reader *r)
{
    hf_node node = {hf_get_u8(r)};

    if (!hf_node_is(node) && node.ix != HF_NO_NODE.ix)
        r->bad = true;
    return node;
}

static hf_node get_node(struct hf_reader *r)
{
    return (hf_node){hf_get_enum(r, HF_NODES_MAX)};
}

static void put_token(struct hf_writer *w, struct hf_token token)
{
    hf_put_u64(w, token.seq);
    hf_put_u32(w, token.nth);
}

/* An answer without a token answers nothing. */
static struct hf_token get_token(struct hf_reader *r)
{
    struct hf_token token;

    token.seq = hf_get_u64(r);
    token.nth = hf_get_u32(r);
    if (!hf_token_is(token))
        r->bad = true;
    return token;
}

static hf_vm_uid get_uid(struct hf_reader *r)
{
    hf_vm_uid uid = hf_get_u32(r);

    if (uid == 0)
        r->bad = true;
    return uid;
}

static void get_name(struct hf_reader *r, char out[HF_NAME_MAX + 1], bool may_be_empty)
{
    hf_get_str(r, out, HF_NAME_MAX + 1);
    if (out[0] == '\0' && may_be_empty)
        return;
    if (!hf_str_is_name(out, HF_NAME_MAX))
        r->bad = true;
}

/* ---- one pair per type ---- */

static void put_members(struct hf_writer *w, const struct hf_event *ev)
{
    hf_put_u32(w, ev->u.members.view.leader);
    hf_put_u64(w, ev->u.members.view.seq);
    hf_put_u64(w, ev->u.members.epoch);
    hf_put_u64(w, ev->u.members.lineage);
    put_bool(w, ev->u.members.cold);
    for (size_t i = 0; i < HF_NODES_MAX; i++) {
        const struct hf_member *m = &ev->u.members.node[i];

        put_bool(w, m->present);
        put_bool(w, m->in_ring);
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
    ev->u.members.cold = get_bool(r);
    for (size_t i = 0; i < HF_NODES_MAX; i++) {
        struct hf_member *m = &ev->u.members.node[i];

        m->present = get_bool(r);
        m->in_ring = get_bool(r);
        hf_get_bytes(r, m->boot.id, sizeof m->boot.id);
        m->incarnation = hf_get_u64(r);
    }
}

static void put_facts(struct hf_writer *w, const struct hf_event *ev)
{
    hf_put_u32(w, ev->u.facts.memory_mib);
    hf_put_u16(w, ev->u.facts.cores);
    put_bool(w, ev->u.facts.vm_watch_known);
    put_bool(w, ev->u.facts.link_fit);
    put_bool(w, ev->u.facts.config_same);
}

static void get_facts(struct hf_reader *r, struct hf_event *ev)
{
    ev->u.facts.memory_mib = hf_get_u32(r);
    ev->u.facts.cores = hf_get_u16(r);
    ev->u.facts.vm_watch_known = get_bool(r);
    ev->u.facts.link_fit = get_bool(r);
    ev->u.facts.config_same = get_bool(r);
}

static void put_inventory(struct hf_writer *w, const struct hf_event *ev)
{
    HF_ASSERT(ev->u.inventory.count <= HF_VMS_MAX);
    hf_put_u64(w, ev->u.inventory.as_of);
    hf_put_u16(w, ev->u.inventory.count);
    for (size_t i = 0; i < ev->u.inventory.count; i++) {
        hf_put_u32(w, ev->u.inventory.vm[i].uid);
        hf_put_u32(w, ev->u.inventory.vm[i].start_no);
    }
}

static void get_inventory(struct hf_reader *r, struct hf_event *ev)
{
    uint16_t count;

    ev->u.inventory.as_of = hf_get_u64(r);
    count = hf_get_u16(r);
    if (count > HF_VMS_MAX)
        r->bad = true;
    if (r->bad)
        return;
    ev->u.inventory.count = count;
    for (size_t i = 0; i < count; i++) {
        ev->u.inventory.vm[i].uid = get_uid(r);
        ev->u.inventory.vm[i].start_no = hf_get_u32(r);
    }
}

static void put_vm(struct hf_writer *w, const struct hf_event *ev)
{
    hf_put_u32(w, ev->u.vm.uid);
    hf_put_u32(w, ev->u.vm.start_no);
    hf_put_u8(w, (uint8_t)ev->u.vm.seen);
}

static void get_vm(struct hf_reader *r, struct hf_event *ev)
{
    ev->u.vm.uid = get_uid(r);
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
    put_node(w, def->preferred);
    hf_put_u8(w, def->restarts_here);
    hf_put_u8(w, def->restarts_max);
    hf_put_u32(w, def->stop_grace_ms);
}

static void get_def(struct hf_reader *r, struct hf_vm_def *def)
{
    get_name(r, def->name, false);
    hf_get_bytes(r, def->xml.b, sizeof def->xml.b);
    def->xml_bytes = hf_get_u32(r);
    def->memory_mib = hf_get_u32(r);
    def->priority = hf_get_u16(r);
    get_name(r, def->apart, true);
    get_name(r, def->together, true);
    def->allowed = hf_get_u8(r);
    def->preferred = get_node_or_none(r);
    def->restarts_here = hf_get_u8(r);
    def->restarts_max = hf_get_u8(r);
    def->stop_grace_ms = hf_get_u32(r);
    if (def->xml_bytes > HF_XML_MAX || def->memory_mib == 0 || def->priority > PRIORITY_MAX)
        r->bad = true;
}

static void put_order(struct hf_writer *w, const struct hf_event *ev)
{
    hf_put_u8(w, (uint8_t)ev->u.order.type);
    put_node(w, ev->u.order.node);
    hf_put_u32(w, ev->u.order.uid);
    hf_put_u32(w, ev->u.order.ms);
    put_bool(w, ev->u.order.wants_run);
    hf_put_str(w, ev->u.order.who);
    hf_put_str(w, ev->u.order.reason);
    if (ev->u.order.type == HF_ORDER_VM_ADD)
        put_def(w, &ev->u.order.def);
}

static void get_order(struct hf_reader *r, struct hf_event *ev)
{
    ev->u.order.type = (enum hf_order_type)hf_get_enum(r, HF_ORDERS);
    if (ev->u.order.type == 0)
        r->bad = true;
    ev->u.order.node = get_node_or_none(r);
    ev->u.order.uid = hf_get_u32(r);
    ev->u.order.ms = hf_get_u32(r);
    ev->u.order.wants_run = get_bool(r);
    hf_get_str(r, ev->u.order.who, sizeof ev->u.order.who);
    hf_get_str(r, ev->u.order.reason, sizeof ev->u.order.reason);
    if (ev->u.order.type == HF_ORDER_VM_ADD)
        get_def(r, &ev->u.order.def);
}

/* ---- events ---- */

void event_encode(const struct hf_event *ev, struct hf_writer *w)
{
    hf_put_u8(w, (uint8_t)ev->type);
    put_node(w, ev->from);
    switch (ev->type) {
    case HF_EV_MEMBERS:
        put_members(w, ev);
        return;
    case HF_EV_FACTS:
        put_facts(w, ev);
        return;
    case HF_EV_INVENTORY:
        put_inventory(w, ev);
        return;
    case HF_EV_VM:
        put_vm(w, ev);
        return;
    case HF_EV_BEAT:
        put_node(w, ev->u.beat.node);
        put_bool(w, ev->u.beat.heard);
        return;
    case HF_EV_EXPIRED:
        put_token(w, ev->u.expired.timer);
        return;
    case HF_EV_DONE:
        put_token(w, ev->u.done.effect);
        hf_put_u8(w, (uint8_t)ev->u.done.outcome);
        return;
    case HF_EV_ORDER:
        put_order(w, ev);
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
        get_inventory(r, ev);
        return;
    case HF_EV_VM:
        get_vm(r, ev);
        return;
    case HF_EV_BEAT:
        ev->u.beat.node = get_node(r);
        ev->u.beat.heard = get_bool(r);
        return;
    case HF_EV_EXPIRED:
        ev->u.expired.timer = get_token(r);
        return;
    case HF_EV_DONE:
        ev->u.done.effect = get_token(r);
        ev->u.done.outcome = (enum hf_outcome)hf_get_enum(r, HF_OUTCOMES);
        return;
    case HF_EV_ORDER:
        get_order(r, ev);
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
    ev->from = get_node_or_none(r);
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
    put_token(w, fx->token);
    put_node(w, fx->actor);
    hf_put_u8(w, (uint8_t)fx->type);
    switch (fx->type) {
    case HF_FX_FENCE:
        put_node(w, fx->u.fence.target);
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
    put_node(w, change->node);
    hf_put_u16(w, (uint16_t)change->why);
    hf_put_u32(w, change->detail);
}

void decision_encode(const struct engine_out *out, struct hf_writer *w)
{
    HF_ASSERT(out->effects_count <= HF_EFFECTS_MAX);
    HF_ASSERT(out->changes_count <= HF_CHANGES_MAX);
    put_bool(w, out->applied);
    hf_put_u16(w, (uint16_t)out->why);
    hf_put_u32(w, out->effects_count);
    for (size_t i = 0; i < out->effects_count; i++)
        put_effect(w, &out->effects[i]);
    hf_put_u32(w, out->changes_count);
    for (size_t i = 0; i < out->changes_count; i++)
        put_change(w, &out->changes[i]);
}
