/* The donor's state to whoever lacks it: engine_save bytes and the streams, in chunks. */
#include "supervisord/cluster/replica_internal.h"

#include <string.h>

enum { STREAMS_BYTES = HF_NODES_MAX * 32 };

size_t copy_bytes_max(void)
{
    return 4 + engine_save_max() + STREAMS_BYTES;
}

void copy_pack(struct replica *r)
{
    struct hf_writer w = hf_writer_on(replica_snap_bytes(r), copy_bytes_max());
    size_t len = engine_save(replica_state(r), w.at + 4, engine_save_max());

    HF_ASSERT(len <= engine_save_max());
    hf_put_u32(&w, (uint32_t)len);
    w.len += len;
    for (size_t i = 0; i < HF_NODES_MAX; i++) {
        hf_put_bytes(&w, r->streams[i].boot.id, sizeof r->streams[i].boot.id);
        hf_put_u64(&w, r->streams[i].incarnation);
        hf_put_u64(&w, r->streams[i].last);
    }
    HF_ASSERT(!w.bad);
    r->snap_total = (uint32_t)w.len;
    r->snap_at = 0;
}

/* Into the spare engine; the state changes hands only when all of it is right. */
static enum hf_code unpack(struct replica *r, struct hf_err *err)
{
    struct hf_reader reader = hf_reader_on(replica_snap_bytes(r), r->snap_total);
    struct stream streams[HF_NODES_MAX];
    uint32_t len = hf_get_u32(&reader);

    if (reader.bad || len > r->snap_total || r->snap_total - len != 4 + STREAMS_BYTES)
        return hf_err_set(err, HF_EBAD, "snapshot: lengths do not agree");
    if (engine_load(replica_spare(r), reader.at + reader.pos, len, err) != HF_OK)
        return hf_err_wrap(err, "snapshot");
    reader.pos += len;
    for (size_t i = 0; i < HF_NODES_MAX; i++) {
        hf_get_bytes(&reader, streams[i].boot.id, sizeof streams[i].boot.id);
        streams[i].incarnation = hf_get_u64(&reader);
        streams[i].last = hf_get_u64(&reader);
    }
    if (!r->is_forming &&
        replica_digest_of(engine_digest(replica_spare(r)), streams) != r->donor->hello.digest)
        return hf_err_set(err, HF_EBAD, "snapshot: its digest is not the donor's");
    memcpy(r->streams, streams, sizeof streams);
    return HF_OK;
}

static void refuse(struct replica *r, const char *why)
{
    r->loads_refused++;
    replica_enter(r, STAGE_AGREE, REPLICA_FROZEN, why);
    sync_hold(r, false);
}

static void take_over(struct replica *r)
{
    struct hf_err err;

    if (unpack(r, &err) != HF_OK) {
        refuse(r, err.text);
        return;
    }
    replica_state_swapped(r);
    /* A state that is only being formed is nobody's until the view agrees on it. */
    r->kind = r->is_forming ? GROUP_STATE_NONE : r->donor->hello.kind;
    sync_hold(r, true);
}

void copy_chunk(struct replica *r, const struct member *m, const struct group_snap *snap,
                hf_time now)
{
    if (r->stage != STAGE_AGREE || !group_session_same(snap->session, replica_session(r)) ||
        m != r->donor)
        return;
    r->stage_due = hf_time_add_ms(now, r->settings.hello_wait_ms);
    if (r->has_chosen || r->self->has_ready || r->wants_ready)
        return;
    if (snap->total > copy_bytes_max() || snap->offset != r->snap_have ||
        (snap->offset > 0 && snap->total != r->snap_total)) {
        r->counters.dropped_gap++;
        if ((uint64_t)snap->offset + snap->len == snap->total) /* the last: nothing follows */
            refuse(r, "snapshot: a piece is missing");
        return;
    }
    r->snap_total = snap->total;
    memcpy(replica_snap_bytes(r) + snap->offset, snap->bytes, snap->len);
    r->snap_have += snap->len;
    if (r->snap_have == r->snap_total)
        take_over(r);
}
