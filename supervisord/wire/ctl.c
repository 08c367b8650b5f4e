#include "supervisord/wire/ctl.h"

#include "supervisord/base/assert.h"
#include "supervisord/base/buf.h"
#include "supervisord/wire/fields.h"

#include <string.h>

static void put_def(struct hf_writer *w, const struct hf_ctl_request *request)
{
    const struct hf_vm_def *def = &request->order.def;
    uint8_t allowed = 0;

    hf_put_str(w, def->name);
    hf_put_u32(w, def->memory_mib);
    hf_put_u16(w, def->priority);
    hf_put_str(w, def->apart);
    hf_put_str(w, def->together);
    hf_put_u8(w, def->restarts_here);
    hf_put_u8(w, def->restarts_max);
    hf_put_u32(w, def->stop_grace_ms);
    hf_put_str(w, request->order.preferred);
    while (allowed < HF_NODES_MAX && request->order.allowed[allowed][0] != '\0')
        allowed++;
    hf_put_u8(w, allowed);
    for (uint8_t i = 0; i < allowed; i++)
        hf_put_str(w, request->order.allowed[i]);
    hf_put_u8(w, def->legs);
}

size_t ctl_encode(const struct hf_ctl_request *request, uint8_t out[HF_CTL_REQUEST_MAX])
{
    struct hf_writer w = hf_writer_on(out, HF_CTL_REQUEST_MAX);

    hf_put_u8(&w, HF_CTL_VERSION);
    hf_put_u8(&w, (uint8_t)request->verb);
    hf_put_str(&w, request->node);
    hf_put_str(&w, request->vm);
    hf_put_u64(&w, request->after);
    fields_put_bool(&w, request->follow);
    if (request->verb == HF_CTL_FENCE_TEST)
        hf_put_u8(&w, request->level);
    if (request->verb == HF_CTL_FAILBACK)
        hf_put_u8(&w, request->fabric);
    if (request->verb == HF_CTL_WHY)
        hf_put_u8(&w, request->is_nic ? (uint8_t)(request->fabric + 1) : 0);
    if (request->verb == HF_CTL_ORDER) {
        hf_put_u8(&w, (uint8_t)request->order.type);
        hf_put_u32(&w, request->order.ms);
        fields_put_bool(&w, request->order.wants_run);
        hf_put_str(&w, request->order.reason);
        if (request->order.type == HF_ORDER_VM_ADD)
            put_def(&w, request);
    }
    HF_ASSERT(!w.bad);
    return w.len;
}

static void get_def(struct hf_reader *r, struct hf_ctl_request *request)
{
    struct hf_vm_def *def = &request->order.def;
    uint8_t allowed;

    fields_get_name(r, def->name);
    def->memory_mib = hf_get_u32(r);
    def->priority = hf_get_u16(r);
    fields_get_name_or_none(r, def->apart);
    fields_get_name_or_none(r, def->together);
    def->restarts_here = hf_get_u8(r);
    def->restarts_max = hf_get_u8(r);
    def->stop_grace_ms = hf_get_u32(r);
    def->preferred = HF_NO_NODE;
    fields_get_name_or_none(r, request->order.preferred);
    allowed = hf_get_enum(r, HF_NODES_MAX + 1);
    for (uint8_t i = 0; i < allowed; i++)
        fields_get_name(r, request->order.allowed[i]);
    def->legs = hf_get_enum(r, 1 << HF_FABRICS_MAX);
    if (def->memory_mib == 0 || def->priority > HF_PRIORITY_MAX)
        r->bad = true;
}

static void get_order(struct hf_reader *r, struct hf_ctl_request *request)
{
    request->order.type = (enum hf_order_type)fields_get_enum_from_1(r, HF_ORDERS);
    request->order.ms = hf_get_u32(r);
    request->order.wants_run = fields_get_bool(r);
    hf_get_str(r, request->order.reason, sizeof request->order.reason);
    if (request->order.type == HF_ORDER_VM_ADD)
        get_def(r, request);
}

/* One byte: 0 = no NIC, else the fabric from 1. */
static void get_why(struct hf_reader *r, struct hf_ctl_request *request)
{
    uint8_t fabric = hf_get_enum(r, HF_FABRICS_MAX + 1);

    request->is_nic = fabric > 0;
    request->fabric = request->is_nic ? (hf_fabric)(fabric - 1) : 0;
}

enum hf_code ctl_decode(const uint8_t *bytes, size_t len, struct hf_ctl_request *request,
                        struct hf_err *err)
{
    struct hf_reader r = hf_reader_on(bytes, len);
    uint8_t version = hf_get_u8(&r);
    uint8_t verb = hf_get_enum(&r, HF_CTL_VERBS);

    memset(request, 0, sizeof *request);
    if (!r.bad && version != HF_CTL_VERSION)
        return hf_err_set(err, HF_EBAD, "request: version %u, this daemon speaks %d", version,
                          HF_CTL_VERSION);
    if (r.bad || verb == 0)
        return hf_err_set(err, HF_EBAD, "request: unknown verb");
    request->verb = (enum hf_ctl_verb)verb;
    fields_get_name_or_none(&r, request->node);
    fields_get_name_or_none(&r, request->vm);
    request->after = hf_get_u64(&r);
    request->follow = fields_get_bool(&r);
    if (request->verb == HF_CTL_FENCE_TEST) {
        request->level = hf_get_enum(&r, HF_FENCE_LEVELS_MAX + 1);
        r.bad = r.bad || request->level == 0;
    }
    if (request->verb == HF_CTL_FAILBACK)
        request->fabric = hf_get_enum(&r, HF_FABRICS_MAX);
    if (request->verb == HF_CTL_WHY)
        get_why(&r, request);
    if (request->verb == HF_CTL_ORDER)
        get_order(&r, request);
    if (!hf_reader_ended(&r))
        return hf_err_set(err, HF_EBAD, "request: malformed (%zu bytes)", len);
    return HF_OK;
}
