#include "supervisord/wire/ctl.h"

#include "supervisord/base/assert.h"
#include "supervisord/base/buf.h"
#include "supervisord/base/str.h"

#include <string.h>

/* Bounds of a definition that the engine states in model/group.h. */
enum { PRIORITY_MAX = 1000 };

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
}

size_t ctl_encode(const struct hf_ctl_request *request, uint8_t out[HF_CTL_REQUEST_MAX])
{
    struct hf_writer w = hf_writer_on(out, HF_CTL_REQUEST_MAX);

    hf_put_u8(&w, HF_CTL_VERSION);
    hf_put_u8(&w, (uint8_t)request->verb);
    hf_put_str(&w, request->node);
    hf_put_str(&w, request->vm);
    hf_put_u64(&w, request->after);
    hf_put_u8(&w, request->follow);
    if (request->verb == HF_CTL_ORDER) {
        hf_put_u8(&w, (uint8_t)request->order.type);
        hf_put_u32(&w, request->order.ms);
        hf_put_u8(&w, request->order.wants_run);
        hf_put_str(&w, request->order.reason);
        if (request->order.type == HF_ORDER_VM_ADD)
            put_def(&w, request);
    }
    HF_ASSERT(!w.bad);
    return w.len;
}

/* An empty name means that none was given; anything else must be one. */
static void get_name(struct hf_reader *r, char out[HF_NAME_MAX + 1])
{
    hf_get_str(r, out, HF_NAME_MAX + 1);
    if (out[0] != '\0' && !hf_str_is_name(out, HF_NAME_MAX)) {
        out[0] = '\0';
        r->bad = true;
    }
}

static void get_def(struct hf_reader *r, struct hf_ctl_request *request)
{
    struct hf_vm_def *def = &request->order.def;
    uint8_t allowed;

    get_name(r, def->name);
    def->memory_mib = hf_get_u32(r);
    def->priority = hf_get_u16(r);
    get_name(r, def->apart);
    get_name(r, def->together);
    def->restarts_here = hf_get_u8(r);
    def->restarts_max = hf_get_u8(r);
    def->stop_grace_ms = hf_get_u32(r);
    def->preferred = HF_NO_NODE;
    get_name(r, request->order.preferred);
    allowed = hf_get_enum(r, HF_NODES_MAX + 1);
    for (uint8_t i = 0; i < allowed; i++) {
        get_name(r, request->order.allowed[i]);
        if (request->order.allowed[i][0] == '\0')
            r->bad = true;
    }
    if (def->name[0] == '\0' || def->memory_mib == 0 || def->priority > PRIORITY_MAX)
        r->bad = true;
}

static void get_order(struct hf_reader *r, struct hf_ctl_request *request)
{
    uint8_t type = hf_get_enum(r, HF_ORDERS);

    if (type == 0)
        r->bad = true;
    request->order.type = (enum hf_order_type)type;
    request->order.ms = hf_get_u32(r);
    request->order.wants_run = hf_get_enum(r, 2) != 0;
    hf_get_str(r, request->order.reason, sizeof request->order.reason);
    if (request->order.type == HF_ORDER_VM_ADD)
        get_def(r, request);
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
    get_name(&r, request->node);
    get_name(&r, request->vm);
    request->after = hf_get_u64(&r);
    request->follow = hf_get_enum(&r, 2) != 0;
    if (request->verb == HF_CTL_ORDER)
        get_order(&r, request);
    if (!hf_reader_ended(&r))
        return hf_err_set(err, HF_EBAD, "request: malformed (%zu bytes)", len);
    return HF_OK;
}
