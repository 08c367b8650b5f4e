#include "supervisord/wire/group.h"

#include "supervisord/base/assert.h"
#include "supervisord/base/crc.h"
#include "supervisord/wire/fields.h"

#include <string.h>

enum {
    MAGIC = 0x31474648, /* "HFG1" */
    LENGTH_AT = 8,
    CRC_AT = 12,
    CHECKED_FROM = 16,
};

/* More views than any group lives to see: a member that promises more must not use up the rest. */
#define EPOCH_LIMIT (1ULL << 62)

/* The CRC covers everything but itself. */
static uint32_t crc_of(const uint8_t *bytes, size_t len)
{
    uint32_t crc = hf_crc32c(0, bytes, CRC_AT);

    return hf_crc32c(crc, bytes + CHECKED_FROM, len - CHECKED_FROM);
}

void group_put_header(struct hf_writer *w, const struct group_header *h)
{
    hf_put_u32(w, MAGIC);
    hf_put_u16(w, GROUP_VERSION);
    hf_put_u16(w, (uint16_t)h->type);
    hf_put_u32(w, 0); /* length */
    hf_put_u32(w, 0); /* CRC */
    hf_put_u32(w, h->view.leader);
    hf_put_u64(w, h->view.seq);
    hf_put_bytes(w, h->boot.id, sizeof h->boot.id);
    hf_put_u64(w, h->incarnation);
    hf_put_u64(w, h->number);
}

void group_seal(uint8_t *bytes, size_t len)
{
    HF_ASSERT(len >= GROUP_HEADER_BYTES);
    HF_ASSERT(len <= HF_GROUP_MESSAGE_MAX);
    struct hf_writer w = hf_writer_on(bytes + LENGTH_AT, 4);
    hf_put_u32(&w, (uint32_t)len);
    w = hf_writer_on(bytes + CRC_AT, 4);
    hf_put_u32(&w, crc_of(bytes, len));
}

enum group_opened group_open(const uint8_t *bytes, size_t len, struct group_header *h,
                             struct hf_reader *body, uint16_t *version)
{
    struct hf_reader r = hf_reader_on(bytes, len);
    uint16_t type;

    memset(h, 0, sizeof *h);
    *version = 0;
    if (len < CHECKED_FROM || len > HF_GROUP_MESSAGE_MAX || hf_get_u32(&r) != MAGIC)
        return GROUP_DAMAGED;
    *version = hf_get_u16(&r);
    type = hf_get_u16(&r);
    if (hf_get_u32(&r) != len || hf_get_u32(&r) != crc_of(bytes, len))
        return GROUP_DAMAGED;
    if (*version != GROUP_VERSION)
        return GROUP_FOREIGN;
    h->view.leader = hf_get_u32(&r);
    h->view.seq = hf_get_u64(&r);
    hf_get_bytes(&r, h->boot.id, sizeof h->boot.id);
    h->incarnation = hf_get_u64(&r);
    h->number = hf_get_u64(&r);
    if (r.bad || type == 0 || type >= GROUP_TYPES)
        return GROUP_DAMAGED;
    h->type = (enum group_type)type;
    *body = r;
    return GROUP_OPENED;
}

/* ---- bodies ---- */

static void put_session(struct hf_writer *w, struct group_session session)
{
    hf_put_u64(w, session.members_hash);
    hf_put_u32(w, session.round);
}

static struct group_session get_session(struct hf_reader *r)
{
    struct group_session session;

    session.members_hash = hf_get_u64(r);
    session.round = hf_get_u32(r);
    return session;
}

static enum hf_code ended(const struct hf_reader *r, const char *what, struct hf_err *err)
{
    if (!hf_reader_ended(r))
        return hf_err_set(err, HF_EBAD, "%s: bytes out of range, missing or left over", what);
    return HF_OK;
}

void group_put_hello(struct hf_writer *w, const struct group_hello *m)
{
    HF_ASSERT(m->nodes_count >= 1 && m->nodes_count <= HF_NODES_MAX);
    put_session(w, m->session);
    hf_put_u32(w, m->ruleset);
    hf_put_bytes(w, m->config.b, sizeof m->config.b);
    hf_put_u8(w, (uint8_t)m->kind);
    hf_put_u64(w, m->lineage);
    hf_put_u64(w, m->epoch);
    hf_put_u64(w, m->seq);
    hf_put_u64(w, m->digest);
    hf_put_u64(w, m->promised);
    hf_put_u8(w, m->nodes_count);
    for (size_t i = 0; i < m->nodes_count; i++)
        hf_put_u32(w, m->nodeids[i]);
}

enum hf_code group_get_hello(struct hf_reader *r, struct group_hello *m, struct hf_err *err)
{
    memset(m, 0, sizeof *m);
    m->session = get_session(r);
    m->ruleset = hf_get_u32(r);
    hf_get_bytes(r, m->config.b, sizeof m->config.b);
    m->kind = (enum group_state_kind)hf_get_enum(r, GROUP_STATE_KINDS);
    m->lineage = hf_get_u64(r);
    m->epoch = hf_get_u64(r);
    m->seq = hf_get_u64(r);
    m->digest = hf_get_u64(r);
    m->promised = hf_get_u64(r);
    m->nodes_count = hf_get_enum(r, HF_NODES_MAX + 1);
    for (size_t i = 0; i < m->nodes_count; i++)
        m->nodeids[i] = hf_get_u32(r);
    if (m->nodes_count == 0 || m->promised < m->epoch || m->promised >= EPOCH_LIMIT)
        r->bad = true;
    return ended(r, "hello", err);
}

void group_put_go(struct hf_writer *w, const struct group_go *m)
{
    put_session(w, m->session);
    hf_put_u8(w, (uint8_t)m->wait);
}

enum hf_code group_get_go(struct hf_reader *r, struct group_go *m, struct hf_err *err)
{
    m->session = get_session(r);
    m->wait = (enum group_wait)hf_get_enum(r, GROUP_WAITS);
    return ended(r, "go", err);
}

void group_put_ready(struct hf_writer *w, const struct group_ready *m)
{
    put_session(w, m->session);
    fields_put_bool(w, m->is_ok);
    hf_put_u64(w, m->epoch);
    hf_put_u64(w, m->oldest);
}

enum hf_code group_get_ready(struct hf_reader *r, struct group_ready *m, struct hf_err *err)
{
    m->session = get_session(r);
    m->is_ok = fields_get_bool(r);
    m->epoch = hf_get_u64(r);
    m->oldest = hf_get_u64(r);
    if (m->oldest == 0)
        r->bad = true;
    return ended(r, "ready", err);
}

void group_put_snap(struct hf_writer *w, const struct group_snap *m)
{
    HF_ASSERT(m->len >= 1 && m->len <= GROUP_CHUNK_MAX);
    put_session(w, m->session);
    hf_put_u32(w, m->total);
    hf_put_u32(w, m->offset);
    hf_put_u32(w, m->len);
    hf_put_bytes(w, m->bytes, m->len);
}

enum hf_code group_get_snap(struct hf_reader *r, struct group_snap *m, struct hf_err *err)
{
    m->session = get_session(r);
    m->total = hf_get_u32(r);
    m->offset = hf_get_u32(r);
    m->len = hf_get_u32(r);
    m->bytes = r->at + r->pos;
    if (r->bad || m->len == 0 || m->len > GROUP_CHUNK_MAX || m->len != r->len - r->pos ||
        m->offset > m->total || m->len > m->total - m->offset)
        return hf_err_set(err, HF_EBAD, "snapshot chunk: lengths do not agree");
    r->pos += m->len;
    return HF_OK;
}

void group_put_event(struct hf_writer *w, const struct group_event *m)
{
    hf_put_u64(w, m->sender_seq);
    hf_put_bytes(w, m->bytes, m->len);
}

enum hf_code group_get_event(struct hf_reader *r, struct group_event *m, struct hf_err *err)
{
    m->sender_seq = hf_get_u64(r);
    m->bytes = r->at + r->pos;
    m->len = r->bad ? 0 : r->len - r->pos;
    if (r->bad || m->sender_seq == 0 || m->len == 0)
        return hf_err_set(err, HF_EBAD, "event message: too short");
    r->pos = r->len;
    return HF_OK;
}

void group_put_ack(struct hf_writer *w, const struct group_ack *m)
{
    put_session(w, m->session);
    hf_put_u64(w, m->seq);
}

enum hf_code group_get_ack(struct hf_reader *r, struct group_ack *m, struct hf_err *err)
{
    m->session = get_session(r);
    m->seq = hf_get_u64(r);
    return ended(r, "ack", err);
}

void group_put_beat(struct hf_writer *w, const struct group_beat *m)
{
    HF_ASSERT(m->reports_count <= GROUP_REPORTS_MAX);
    put_session(w, m->session);
    hf_put_u64(w, m->beat_no);
    hf_put_u64(w, (uint64_t)m->sent_ns);
    hf_put_u64(w, m->applied);
    hf_put_u8(w, m->reports_count);
    for (size_t i = 0; i < m->reports_count; i++) {
        hf_put_u32(w, m->reports[i].nodeid);
        hf_put_u64(w, m->reports[i].beat_no);
        hf_put_u64(w, m->reports[i].digest);
    }
}

enum hf_code group_get_beat(struct hf_reader *r, struct group_beat *m, struct hf_err *err)
{
    memset(m, 0, sizeof *m);
    m->session = get_session(r);
    m->beat_no = hf_get_u64(r);
    m->sent_ns = (int64_t)hf_get_u64(r);
    m->applied = hf_get_u64(r);
    m->reports_count = hf_get_enum(r, GROUP_REPORTS_MAX + 1);
    for (size_t i = 0; i < m->reports_count; i++) {
        m->reports[i].nodeid = hf_get_u32(r);
        m->reports[i].beat_no = hf_get_u64(r);
        m->reports[i].digest = hf_get_u64(r);
    }
    return ended(r, "beat", err);
}
