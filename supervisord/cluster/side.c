#include "supervisord/cluster/side.h"

#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/buf.h"
#include "supervisord/wire/fields.h"

static void put_told(struct hf_writer *w, const struct side_message *m)
{
    const struct side_told *told = &m->u.told;

    fields_put_token(w, told->token);
    hf_put_u8(w, (uint8_t)told->subject);
    fields_put_node(w, told->node);
    hf_put_u32(w, told->uid);
    hf_put_u64(w, told->wall_ns);
    hf_put_u64(w, told->boottime_ns);
    if (m->type == SIDE_PROGRESS) {
        hf_put_u8(w, (uint8_t)told->phase);
        hf_put_u32(w, told->pid);
        return;
    }
    hf_put_u8(w, (uint8_t)told->outcome);
    hf_put_u32(w, told->took_ms);
    fields_put_text(w, told->why);
}

static void put_flip(struct hf_writer *w, const struct side_message *m)
{
    fields_put_bool(w, m->u.flip.is_done);
    hf_put_u32(w, m->u.flip.asker_nodeid);
    hf_put_u32(w, m->u.flip.number);
    if (m->u.flip.is_done)
        fields_put_flip(w, &m->u.flip.flip);
}

static void put_nic_order(struct hf_writer *w, const struct side_message *m)
{
    fields_put_node(w, m->u.nic_order.member);
    hf_put_u32(w, m->u.nic_order.number);
    hf_put_u32(w, m->u.nic_order.uid);
    hf_put_u8(w, m->u.nic_order.to);
}

size_t side_encode(const struct side_message *m, uint8_t out[SIDE_BYTES_MAX])
{
    struct hf_writer w = hf_writer_on(out, SIDE_BYTES_MAX);

    hf_put_u8(&w, (uint8_t)m->type);
    switch (m->type) {
    case SIDE_PUT:
        HF_ASSERT(m->u.put.len >= 1);
        HF_ASSERT(m->u.put.len <= SIDE_CHUNK_MAX);
        hf_put_bytes(&w, m->u.put.digest.b, sizeof m->u.put.digest.b);
        hf_put_u32(&w, m->u.put.total);
        hf_put_u32(&w, m->u.put.offset);
        hf_put_u32(&w, m->u.put.len);
        hf_put_bytes(&w, m->u.put.bytes, m->u.put.len);
        break;
    case SIDE_WANT:
        hf_put_bytes(&w, m->u.want.digest.b, sizeof m->u.want.digest.b);
        break;
    case SIDE_PROGRESS:
    case SIDE_OUTCOME:
        put_told(&w, m);
        break;
    case SIDE_FLIP:
        put_flip(&w, m);
        break;
    case SIDE_NIC_ORDER:
        put_nic_order(&w, m);
        break;
    case SIDE_TYPES:
        break;
    }
    HF_ASSERT(!w.bad);
    return w.len;
}

static void get_put(struct hf_reader *r, struct side_message *m)
{
    hf_get_bytes(r, m->u.put.digest.b, sizeof m->u.put.digest.b);
    m->u.put.total = hf_get_u32(r);
    m->u.put.offset = hf_get_u32(r);
    m->u.put.len = hf_get_u32(r);
    m->u.put.bytes = r->at + r->pos;
    if (r->bad || m->u.put.total > HF_XML_MAX || m->u.put.offset > m->u.put.total ||
        m->u.put.len == 0 || m->u.put.len > SIDE_CHUNK_MAX ||
        m->u.put.len > m->u.put.total - m->u.put.offset || m->u.put.len != r->len - r->pos)
        r->bad = true;
    else
        r->pos = r->len;
}

static void get_told(struct hf_reader *r, struct side_message *m)
{
    struct side_told *told = &m->u.told;

    fields_get_token(r, &told->token);
    told->subject = (enum hf_subject)hf_get_enum(r, HF_SUBJECTS);
    told->node = fields_get_node_or_none(r);
    told->uid = hf_get_u32(r);
    told->wall_ns = hf_get_u64(r);
    told->boottime_ns = hf_get_u64(r);
    if (told->subject == HF_SUBJECT_GROUP)
        r->bad = true;
    if (m->type == SIDE_PROGRESS) {
        told->phase = (enum hf_progress)fields_get_enum_from_1(r, HF_PROGRESS_KINDS);
        told->pid = hf_get_u32(r);
        return;
    }
    told->outcome = (enum hf_outcome)hf_get_enum(r, HF_OUTCOMES);
    told->took_ms = hf_get_u32(r);
    hf_get_str(r, told->why, sizeof told->why);
}

static void get_flip(struct hf_reader *r, struct side_message *m)
{
    m->u.flip.is_done = fields_get_bool(r);
    m->u.flip.asker_nodeid = hf_get_u32(r);
    m->u.flip.number = hf_get_u32(r);
    if (m->u.flip.is_done)
        fields_get_flip(r, &m->u.flip.flip);
}

static void get_nic_order(struct hf_reader *r, struct side_message *m)
{
    m->u.nic_order.member = fields_get_node(r);
    m->u.nic_order.number = fields_get_positive(r);
    m->u.nic_order.uid = fields_get_uid(r);
    m->u.nic_order.to = hf_get_enum(r, HF_FABRICS_MAX);
}

enum hf_code side_decode(const uint8_t *bytes, size_t len, struct side_message *m,
                         struct hf_err *err)
{
    struct hf_reader r = hf_reader_on(bytes, len);

    memset(m, 0, sizeof *m);
    m->type = (enum side_type)hf_get_enum(&r, SIDE_TYPES);
    if (m->type == SIDE_PUT)
        get_put(&r, m);
    else if (m->type == SIDE_WANT)
        hf_get_bytes(&r, m->u.want.digest.b, sizeof m->u.want.digest.b);
    else if (m->type == SIDE_PROGRESS || m->type == SIDE_OUTCOME)
        get_told(&r, m);
    else if (m->type == SIDE_FLIP)
        get_flip(&r, m);
    else if (m->type == SIDE_NIC_ORDER)
        get_nic_order(&r, m);
    else
        r.bad = true;
    return hf_reader_ended(&r) ? HF_OK : hf_err_set(err, HF_EBAD, "bad side message");
}
