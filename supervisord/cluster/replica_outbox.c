/* Own events: kept until a majority has applied them, multicast in order, again after a loss. */
#include "supervisord/cluster/replica_internal.h"

#include <string.h>

void outbox_init(struct outbox *o)
{
    o->head = o->count = o->next = o->bytes_tail = 0;
    o->next_seq = 1;
    o->again_number = 0;
    o->resend_due = REPLICA_NEVER;
}

static struct outbox_entry *entry_at(struct outbox *o, uint32_t offset)
{
    return &o->entry[(o->head + offset) % HF_OUTBOX_MAX];
}

/* Where len contiguous bytes fit behind the newest; false when nowhere. */
static bool find_bytes(struct outbox *o, uint32_t len, uint32_t *at)
{
    uint32_t first;

    if (o->count == 0)
        o->bytes_tail = 0;
    first = o->count == 0 ? 0 : o->entry[o->head].at;
    *at = o->bytes_tail;
    if (o->count == 0 || o->bytes_tail > first) {
        if (len <= OUTBOX_BYTES - o->bytes_tail)
            return true;
        *at = 0;
        return len <= first;
    }
    return len <= first - o->bytes_tail;
}

enum hf_code outbox_add(struct replica *r, const struct hf_event *ev, uint64_t cookie, hf_time now,
                        struct hf_err *err)
{
    struct outbox *o = &r->outbox;
    struct hf_event copy;
    struct outbox_entry *entry;
    uint8_t bytes[HF_EVENT_BYTES_MAX];
    struct hf_writer w = hf_writer_on(bytes, sizeof bytes);
    uint32_t at;

    (void)now;
    HF_ASSERT(ev->type != HF_EV_MEMBERS);
    copy = *ev;
    copy.from = (hf_node){0}; /* the receivers know who sent it */
    event_encode(&copy, &w);
    HF_ASSERT(!w.bad);
    if (o->count == HF_OUTBOX_MAX || !find_bytes(o, (uint32_t)w.len, &at))
        return hf_err_set(err, HF_EFULL, "outbox: %u events are waiting", o->count);
    memcpy(replica_outbox_bytes(r) + at, bytes, w.len);
    entry = entry_at(o, o->count++);
    *entry = (struct outbox_entry){
        .sender_seq = o->next_seq++, .cookie = cookie, .at = at, .len = (uint32_t)w.len};
    o->bytes_tail = at + (uint32_t)w.len;
    return HF_OK;
}

uint64_t outbox_oldest(const struct outbox *o)
{
    return o->count > 0 ? o->entry[o->head].sender_seq : o->next_seq;
}

const struct outbox_entry *outbox_peek(const struct outbox *o)
{
    return o->next < o->count ? &o->entry[(o->head + o->next) % HF_OUTBOX_MAX] : NULL;
}

void outbox_sent(struct replica *r, hf_time now)
{
    struct outbox *o = &r->outbox;

    o->next++;
    if (o->resend_due.ns == REPLICA_NEVER.ns)
        o->resend_due = hf_time_add_ms(now, r->settings.resend_ms);
}

uint64_t outbox_applied(struct replica *r, uint64_t sender_seq, uint64_t engine_seq, hf_time now)
{
    struct outbox *o = &r->outbox;
    uint64_t offset = sender_seq - outbox_oldest(o);
    struct outbox_entry *entry;

    if (sender_seq < outbox_oldest(o) || offset >= o->count)
        return 0;
    entry = entry_at(o, (uint32_t)offset);
    entry->applied_at = engine_seq > 0 ? engine_seq : 1;
    if (o->next <= offset) /* an earlier copy arrived after we had gone back */
        o->next = (uint32_t)offset + 1;
    o->resend_due =
        o->next > offset + 1 ? hf_time_add_ms(now, r->settings.resend_ms) : REPLICA_NEVER;
    return entry->cookie;
}

void outbox_stable(struct replica *r, uint64_t engine_seq)
{
    struct outbox *o = &r->outbox;

    while (o->count > 0) {
        const struct outbox_entry *oldest = entry_at(o, 0);

        if (oldest->applied_at == 0 || oldest->applied_at > engine_seq)
            return;
        HF_ASSERT(o->next > 0);
        o->head = (o->head + 1) % HF_OUTBOX_MAX;
        o->count--;
        o->next--;
    }
}

void outbox_go_back(struct replica *r, hf_time now)
{
    struct outbox *o = &r->outbox;
    uint32_t first = 0;

    (void)now;
    while (first < o->next && entry_at(o, first)->applied_at != 0)
        first++;
    r->counters.resent += o->next - first;
    o->next = first;
    o->again_number = r->number_next;
    o->resend_due = REPLICA_NEVER;
}

void outbox_gap(struct replica *r, uint64_t number, hf_time now)
{
    /* What was on its way when we went back comes in gaps too: those are not news. */
    if (number >= r->outbox.again_number)
        outbox_go_back(r, now);
}

void outbox_synced(struct replica *r, uint64_t last, uint64_t engine_seq, hf_time now)
{
    struct outbox *o = &r->outbox;

    (void)now;
    o->next = 0;
    for (uint32_t i = 0; i < o->count; i++) {
        struct outbox_entry *entry = entry_at(o, i);
        bool was_applied = entry->applied_at != 0;

        if (entry->sender_seq > last) {
            entry->applied_at = 0; /* perhaps taken back with a state that is gone */
            continue;
        }
        entry->applied_at = engine_seq > 0 ? engine_seq : 1;
        o->next = i + 1;
        if (!was_applied && r->ports.absorbed != NULL)
            r->ports.absorbed(r->ports.user, entry->cookie);
    }
    o->again_number = r->number_next;
    o->resend_due = REPLICA_NEVER;
}
