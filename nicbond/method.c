#include "nicbond/method.h"

#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/buf.h"
#include "supervisord/base/str.h"

/* ---- orders ---- */

size_t method_pf_encode(const struct method_pf *order, uint8_t *bytes, size_t cap)
{
    struct hf_writer w = hf_writer_on(bytes, cap);

    hf_put_u8(&w, (uint8_t)order->job);
    hf_put_u8(&w, order->fabric);
    hf_put_u64(&w, order->epoch);
    hf_put_u32(&w, (uint32_t)order->ifindex);
    hf_put_u32(&w, order->budget_ms);
    hf_put_u8(&w, order->is_off);
    hf_put_u8(&w, order->is_down);
    hf_put_str(&w, order->pci);
    hf_put_str(&w, order->name);
    hf_put_bytes(&w, order->off, sizeof order->off);
    hf_put_u16(&w, order->vfs_count);
    for (unsigned i = 0; i < order->vfs_count; i++)
        hf_put_u16(&w, order->vf[i]);
    HF_ASSERT(!w.bad);
    return w.len;
}

bool method_pf_decode(const uint8_t *bytes, size_t len, struct method_pf *order)
{
    struct hf_reader r = hf_reader_on(bytes, len);

    *order = (struct method_pf){0};
    order->job = (enum method_job)hf_get_enum(&r, METHOD_JOBS);
    order->fabric = hf_get_enum(&r, HF_FABRICS_MAX);
    order->epoch = hf_get_u64(&r);
    order->ifindex = (int32_t)hf_get_u32(&r);
    order->budget_ms = hf_get_u32(&r);
    order->is_off = hf_get_enum(&r, 2) != 0;
    order->is_down = hf_get_enum(&r, 2) != 0;
    hf_get_str(&r, order->pci, sizeof order->pci);
    hf_get_str(&r, order->name, sizeof order->name);
    hf_get_bytes(&r, order->off, sizeof order->off);
    order->vfs_count = hf_get_u16(&r);
    if (r.bad || order->vfs_count > VF_COUNT_MAX || order->ifindex <= 0)
        return false;
    for (unsigned i = 0; i < order->vfs_count; i++) {
        order->vf[i] = hf_get_u16(&r);
        if (order->vf[i] > VF_NUMBER_MAX)
            return false;
    }
    if (!hf_reader_ended(&r))
        return false;
    if (order->job == METHOD_VF_LINK)
        return order->vfs_count > 0;
    return order->vfs_count == 0 && (order->job == METHOD_PF_ADMIN || order->job == METHOD_PROBE ||
                                     order->job == METHOD_LOOK);
}

size_t method_vm_encode(const struct method_vm *order, uint8_t *bytes, size_t cap)
{
    struct hf_writer w = hf_writer_on(bytes, cap);

    hf_put_u8(&w, (uint8_t)order->job);
    hf_put_u8(&w, order->is_off);
    hf_put_str(&w, order->name);
    hf_put_bytes(&w, order->mac.byte, sizeof order->mac.byte);
    HF_ASSERT(!w.bad);
    return w.len;
}

bool method_vm_decode(const uint8_t *bytes, size_t len, struct method_vm *order)
{
    struct hf_reader r = hf_reader_on(bytes, len);

    *order = (struct method_vm){0};
    order->job = (enum method_job)hf_get_enum(&r, METHOD_JOBS);
    order->is_off = hf_get_enum(&r, 2) != 0;
    hf_get_str(&r, order->name, sizeof order->name);
    hf_get_bytes(&r, order->mac.byte, sizeof order->mac.byte);
    return hf_reader_ended(&r) && hf_str_is_name(order->name, HF_NAME_MAX) &&
           (order->job == METHOD_LINK || order->job == METHOD_UNPLUG);
}

/* ---- answers ---- */

static bool is_end(uint8_t rung)
{
    return rung == FLIP_RUNG_DONE || rung == FLIP_RUNG_REFUSED || rung == FLIP_RUNG_LATE;
}

size_t method_done_encode(const struct method_done *done, uint8_t *bytes, size_t cap)
{
    struct hf_writer w = hf_writer_on(bytes, cap);

    hf_put_u8(&w, (uint8_t)done->rung);
    hf_put_u8(&w, done->is_unsupported);
    hf_put_u32(&w, done->took_us);
    hf_put_u16(&w, done->vfs_count);
    hf_put_bytes(&w, done->vf, done->vfs_count);
    hf_put_str(&w, done->why);
    HF_ASSERT(!w.bad);
    return w.len;
}

bool method_done_decode(const uint8_t *bytes, size_t len, struct method_done *done)
{
    struct hf_reader r = hf_reader_on(bytes, len);

    *done = (struct method_done){0};
    done->rung = (enum flip_rung)hf_get_enum(&r, FLIP_RUNGS);
    done->is_unsupported = hf_get_enum(&r, 2) != 0;
    done->took_us = hf_get_u32(&r);
    done->vfs_count = hf_get_u16(&r);
    if (r.bad || !is_end((uint8_t)done->rung) || done->vfs_count > VF_COUNT_MAX)
        return false;
    hf_get_bytes(&r, done->vf, done->vfs_count);
    hf_get_str(&r, done->why, sizeof done->why);
    for (unsigned i = 0; i < done->vfs_count; i++) {
        if (!is_end(done->vf[i]))
            return false;
    }
    return hf_reader_ended(&r);
}
