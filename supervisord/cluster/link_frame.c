#include "supervisord/cluster/link_frame.h"

#include "supervisord/base/assert.h"

static void put_members(struct hf_writer *w, const struct link_frame *f)
{
    HF_ASSERT(f->peers_count <= LINK_PEERS_MAX);
    HF_ASSERT(f->ring_count <= LINK_RING_MAX);
    hf_put_u32(w, f->view.leader);
    hf_put_u64(w, f->view.seq);
    hf_put_u16(w, f->peers_count);
    for (size_t i = 0; i < f->peers_count; i++) {
        hf_put_u32(w, f->peers[i].nodeid);
        hf_put_u32(w, f->peers[i].pid);
    }
    hf_put_u16(w, f->ring_count);
    for (size_t i = 0; i < f->ring_count; i++)
        hf_put_u32(w, f->ring[i]);
}

static void get_members(struct hf_reader *r, struct link_frame *f)
{
    f->view.leader = hf_get_u32(r);
    f->view.seq = hf_get_u64(r);
    f->peers_count = hf_get_u16(r);
    if (f->peers_count > LINK_PEERS_MAX)
        r->bad = true;
    for (size_t i = 0; !r->bad && i < f->peers_count; i++) {
        f->peers[i].nodeid = hf_get_u32(r);
        f->peers[i].pid = hf_get_u32(r);
    }
    f->ring_count = hf_get_u16(r);
    if (f->ring_count > LINK_RING_MAX)
        r->bad = true;
    for (size_t i = 0; !r->bad && i < f->ring_count; i++)
        f->ring[i] = hf_get_u32(r);
}

static void put_paths(struct hf_writer *w, const struct link_facts *facts)
{
    HF_ASSERT(facts->paths_count <= LINK_PATHS_MAX);
    hf_put_u8(w, facts->paths_count);
    for (size_t i = 0; i < facts->paths_count; i++) {
        hf_put_u32(w, facts->paths[i].nodeid);
        hf_put_u8(w, facts->paths[i].enabled);
        hf_put_u8(w, facts->paths[i].connected);
    }
}

static void get_paths(struct hf_reader *r, struct link_facts *facts)
{
    facts->paths_count = hf_get_u8(r);
    if (facts->paths_count > LINK_PATHS_MAX)
        r->bad = true;
    for (size_t i = 0; !r->bad && i < facts->paths_count; i++) {
        struct link_path *path = &facts->paths[i];

        path->nodeid = hf_get_u32(r);
        path->enabled = hf_get_u8(r);
        path->connected = hf_get_u8(r);
        if ((path->connected & ~path->enabled) != 0)
            r->bad = true;
    }
}

static void put_facts(struct hf_writer *w, const struct link_facts *facts)
{
    hf_put_u32(w, facts->nodeid);
    hf_put_u32(w, facts->token_ms);
    hf_put_u32(w, facts->consensus_ms);
    hf_put_u32(w, facts->expected_votes);
    hf_put_u32(w, facts->node_votes);
    hf_put_u32(w, facts->total_votes);
    hf_put_u8(w, (uint8_t)facts->quorate);
    hf_put_u8(w, (uint8_t)facts->wait_for_all);
    hf_put_u8(w, (uint8_t)facts->is_waiting);
    hf_put_u32(w, facts->pauses.count);
    hf_put_u32(w, facts->pauses.last_ms);
    hf_put_u32(w, facts->pauses.worst_ms);
    hf_put_u64(w, facts->pauses.last_at);
    put_paths(w, facts);
    hf_put_str(w, facts->version);
    hf_put_str(w, facts->cipher);
    hf_put_str(w, facts->hash);
}

static void get_facts(struct hf_reader *r, struct link_facts *facts)
{
    facts->nodeid = hf_get_u32(r);
    facts->token_ms = hf_get_u32(r);
    facts->consensus_ms = hf_get_u32(r);
    facts->expected_votes = hf_get_u32(r);
    facts->node_votes = hf_get_u32(r);
    facts->total_votes = hf_get_u32(r);
    facts->quorate = (enum link_known)hf_get_enum(r, LINK_KNOWNS);
    facts->wait_for_all = (enum link_known)hf_get_enum(r, LINK_KNOWNS);
    facts->is_waiting = (enum link_known)hf_get_enum(r, LINK_KNOWNS);
    facts->pauses.count = hf_get_u32(r);
    facts->pauses.last_ms = hf_get_u32(r);
    facts->pauses.worst_ms = hf_get_u32(r);
    facts->pauses.last_at = hf_get_u64(r);
    get_paths(r, facts);
    hf_get_str(r, facts->version, sizeof facts->version);
    hf_get_str(r, facts->cipher, sizeof facts->cipher);
    hf_get_str(r, facts->hash, sizeof facts->hash);
}

static void get_bytes(struct hf_reader *r, struct link_frame *f)
{
    f->bytes = r->at + r->pos;
    f->len = r->bad ? 0 : r->len - r->pos;
    if (f->len == 0 || f->len > HF_GROUP_MESSAGE_MAX)
        r->bad = true;
    else
        r->pos = r->len;
}

void link_frame_put(struct hf_writer *w, const struct link_frame *f)
{
    hf_put_u8(w, (uint8_t)f->type);
    switch (f->type) {
    case LINK_MCAST:
        hf_put_bytes(w, f->bytes, f->len);
        return;
    case LINK_MEMBERS:
        put_members(w, f);
        return;
    case LINK_DELIVER:
        hf_put_u32(w, f->nodeid);
        hf_put_u32(w, f->pid);
        hf_put_bytes(w, f->bytes, f->len);
        return;
    case LINK_FACTS:
        put_facts(w, &f->facts);
        return;
    case LINK_LOST:
        hf_put_str(w, f->why);
        return;
    case LINK_FRAME_TYPES:
        break;
    }
    HF_ASSERT(f->type < LINK_FRAME_TYPES);
}

static void get_body(struct hf_reader *r, struct link_frame *f)
{
    switch (f->type) {
    case LINK_MCAST:
        get_bytes(r, f);
        return;
    case LINK_MEMBERS:
        get_members(r, f);
        return;
    case LINK_DELIVER:
        f->nodeid = hf_get_u32(r);
        f->pid = hf_get_u32(r);
        get_bytes(r, f);
        return;
    case LINK_FACTS:
        get_facts(r, &f->facts);
        return;
    case LINK_LOST:
        hf_get_str(r, f->why, sizeof f->why);
        return;
    case LINK_FRAME_TYPES:
        break;
    }
    r->bad = true;
}

enum hf_code link_frame_get(const uint8_t *bytes, size_t len, struct link_frame *f,
                            struct hf_err *err)
{
    struct hf_reader r = hf_reader_on(bytes, len);

    f->type = (enum link_frame_type)hf_get_enum(&r, LINK_FRAME_TYPES);
    get_body(&r, f);
    if (!hf_reader_ended(&r))
        return hf_err_set(err, HF_EBAD, "link frame of %zu bytes, type %d: does not decode", len,
                          (int)f->type);
    return HF_OK;
}
