#include "supervisord/cluster/blobs.h"

#include <stdlib.h>
#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/cluster/side.h"

enum { SEND_RETRY_MS = 100 };

static const hf_time never = {INT64_MAX};

struct blob {
    bool is_used;
    bool is_complete;
    bool is_named;    /* by the state; else it goes at unnamed_until */
    bool is_asked;    /* we want it: ask again at ask_at */
    bool is_sending;  /* out_at.. is still to be sent */
    bool is_turn_due; /* somebody asked: we answer at turn_at unless another does */
    struct hf_digest digest;
    uint8_t *bytes; /* malloc'ed; NULL before the first piece */
    uint32_t len, got, out_at;
    uint32_t from; /* nodeid whose pieces we collect */
    hf_time ask_at, turn_at, unnamed_until;
};

struct blobs {
    struct blobs_ports ports;
    size_t bytes;
    uint64_t refused;
    hf_time send_at;
    struct blob blob[HF_BLOBS_MAX];
};

enum hf_code blobs_open(struct blobs **out, const struct blobs_ports *ports, struct hf_err *err)
{
    struct blobs *b = calloc(1, sizeof *b);

    if (b == NULL)
        return hf_err_set(err, HF_EFULL, "blobs: no memory");
    b->ports = *ports;
    b->send_at = never;
    *out = b;
    return HF_OK;
}

static void release(struct blobs *b, struct blob *blob)
{
    if (blob->bytes != NULL)
        b->bytes -= blob->len;
    free(blob->bytes);
    memset(blob, 0, sizeof *blob);
}

void blobs_close(struct blobs *b)
{
    if (b == NULL)
        return;
    for (unsigned i = 0; i < HF_BLOBS_MAX; i++)
        release(b, &b->blob[i]);
    free(b);
}

/* ---- the table ---- */

static struct blob *find(const struct blobs *b, const struct hf_digest *digest)
{
    for (unsigned i = 0; i < HF_BLOBS_MAX; i++)
        if (b->blob[i].is_used && hf_digest_equal(&b->blob[i].digest, digest))
            return (struct blob *)(uintptr_t)&b->blob[i];
    return NULL;
}

static void forget(struct blobs *b, struct blob *blob)
{
    char hex[65];

    if (blob->is_complete) {
        hf_digest_hex(&blob->digest, hex);
        b->ports.forget(b->ports.user, hex);
    }
    release(b, blob);
}

/* The unnamed content that has waited longest gives way. False: everything here is named. */
static bool evict_one(struct blobs *b, const struct blob *but)
{
    struct blob *oldest = NULL;

    for (unsigned i = 0; i < HF_BLOBS_MAX; i++) {
        struct blob *blob = &b->blob[i];

        if (blob->is_used && !blob->is_named && blob != but &&
            (oldest == NULL || blob->unnamed_until.ns < oldest->unnamed_until.ns))
            oldest = blob;
    }
    if (oldest == NULL)
        return false;
    forget(b, oldest);
    return true;
}

static struct blob *find_free(struct blobs *b)
{
    for (unsigned i = 0; i < HF_BLOBS_MAX; i++)
        if (!b->blob[i].is_used)
            return &b->blob[i];
    return NULL;
}

static struct blob *take(struct blobs *b, const struct hf_digest *digest, hf_time now)
{
    struct blob *blob = find(b, digest);

    if (blob != NULL)
        return blob;
    blob = find_free(b);
    if (blob == NULL && evict_one(b, NULL))
        blob = find_free(b);
    if (blob == NULL) {
        b->refused++;
        return NULL;
    }
    blob->is_used = true;
    blob->digest = *digest;
    blob->ask_at = blob->turn_at = never;
    blob->unnamed_until = hf_time_add_ms(now, BLOBS_UNNAMED_MS);
    return blob;
}

static bool reserve(struct blobs *b, struct blob *blob, uint32_t len)
{
    HF_ASSERT(blob->bytes == NULL);
    while (b->bytes + len > HF_BLOB_BYTES_MAX)
        if (!evict_one(b, blob)) {
            b->refused++;
            return false;
        }
    blob->bytes = malloc(len > 0 ? len : 1);
    if (blob->bytes == NULL) {
        b->refused++;
        return false;
    }
    blob->len = len;
    blob->got = 0;
    b->bytes += len;
    return true;
}

static void drop_bytes(struct blobs *b, struct blob *blob)
{
    if (blob->bytes == NULL)
        return;
    b->bytes -= blob->len;
    free(blob->bytes);
    blob->bytes = NULL;
    blob->len = blob->got = 0;
    blob->from = 0;
}

static void completed(struct blob *blob)
{
    blob->is_complete = true;
    blob->is_asked = false;
    blob->got = blob->len;
    blob->ask_at = never;
}

/* ---- ours ---- */

/* NULL: refused, *err says why. */
static struct blob *add(struct blobs *b, const struct hf_digest *digest, const void *bytes,
                        size_t len, hf_time now, struct hf_err *err)
{
    struct blob *blob;

    if (len == 0 || len > HF_XML_MAX) {
        (void)hf_err_set(err, HF_EINVAL, "a content has 1 to %d bytes", (int)HF_XML_MAX);
        return NULL;
    }
    blob = take(b, digest, now);
    if (blob == NULL) {
        (void)hf_err_set(err, HF_EFULL, "no room for another content");
        return NULL;
    }
    if (blob->is_complete)
        return blob;
    drop_bytes(b, blob);
    if (!reserve(b, blob, (uint32_t)len)) {
        release(b, blob);
        (void)hf_err_set(err, HF_EFULL, "no room for %zu bytes of content", len);
        return NULL;
    }
    memcpy(blob->bytes, bytes, len);
    completed(blob);
    return blob;
}

static void keep(const struct blobs *b, const struct blob *blob)
{
    char hex[65];

    hf_digest_hex(&blob->digest, hex);
    b->ports.keep(b->ports.user, hex, blob->bytes, blob->len);
}

static void send_from_start(struct blobs *b, struct blob *blob, hf_time now)
{
    if (!blob->is_sending)
        blob->out_at = 0;
    blob->is_sending = true;
    blob->is_turn_due = false;
    blob->turn_at = never;
    if (b->send_at.ns > now.ns)
        b->send_at = now;
}

enum hf_code blobs_put(struct blobs *b, const void *bytes, size_t len, hf_time now,
                       struct hf_err *err)
{
    struct hf_digest digest = hf_digest_of(bytes, len);
    struct blob *blob = find(b, &digest);
    bool was_here = blob != NULL && blob->is_complete;

    blob = add(b, &digest, bytes, len, now, err);
    if (blob == NULL)
        return err->code;
    blob->unnamed_until = hf_time_add_ms(now, BLOBS_UNNAMED_MS);
    if (!was_here) {
        keep(b, blob);
        b->ports.arrived(b->ports.user, &digest);
    }
    send_from_start(b, blob, now);
    return HF_OK;
}

enum hf_code blobs_load(struct blobs *b, const char *hex, const void *bytes, size_t len,
                        hf_time now, struct hf_err *err)
{
    struct hf_digest name, digest = hf_digest_of(bytes, len);

    if (!hf_digest_from_hex(hex, &name) || !hf_digest_equal(&name, &digest))
        return hf_err_set(err, HF_EBAD, "content %.64s is not what its name says", hex);
    return add(b, &digest, bytes, len, now, err) != NULL ? HF_OK : err->code;
}

const void *blobs_get(const struct blobs *b, const struct hf_digest *digest, size_t *len)
{
    const struct blob *blob = find(b, digest);

    if (blob == NULL || !blob->is_complete)
        return NULL;
    *len = blob->len;
    return blob->bytes;
}

void blobs_keep_all(struct blobs *b)
{
    for (unsigned i = 0; i < HF_BLOBS_MAX; i++)
        if (b->blob[i].is_used && b->blob[i].is_complete)
            keep(b, &b->blob[i]);
}

/* ---- wanting ---- */

void blobs_want(struct blobs *b, const struct hf_digest *digest, hf_time now)
{
    struct blob *blob = take(b, digest, now);

    if (blob == NULL || blob->is_complete || blob->is_asked)
        return;
    blob->is_asked = true;
    blob->ask_at = now;
    blob->unnamed_until = hf_time_add_ms(now, BLOBS_UNNAMED_MS);
}

void blobs_named(struct blobs *b, const struct hf_digest *digests, size_t count, hf_time now)
{
    for (unsigned i = 0; i < HF_BLOBS_MAX; i++) {
        struct blob *blob = &b->blob[i];
        bool is_named = false;

        for (size_t d = 0; blob->is_used && d < count && !is_named; d++)
            is_named = hf_digest_equal(&blob->digest, &digests[d]);
        if (blob->is_named && !is_named)
            blob->unnamed_until = hf_time_add_ms(now, BLOBS_UNNAMED_MS);
        blob->is_named = blob->is_used && is_named;
    }
    for (size_t d = 0; d < count; d++) {
        blobs_want(b, &digests[d], now);
        if (find(b, &digests[d]) != NULL)
            find(b, &digests[d])->is_named = true;
    }
}

static void ask(struct blobs *b, struct blob *blob, hf_time now)
{
    struct side_message m = {.type = SIDE_WANT};
    uint8_t bytes[SIDE_BYTES_MAX];
    struct hf_err err;

    drop_bytes(b, blob); /* whoever sent the pieces so far has stopped: the next one starts over */
    m.u.want.digest = blob->digest;
    if (b->ports.side(b->ports.user, bytes, side_encode(&m, bytes), &err) == HF_OK)
        blob->ask_at = hf_time_add_ms(now, BLOBS_ASK_MS);
    else
        blob->ask_at = hf_time_add_ms(now, SEND_RETRY_MS);
}

/* ---- giving ---- */

/* Returns false when no more can be sent now. */
static bool send_piece(struct blobs *b, struct blob *blob)
{
    struct side_message m = {.type = SIDE_PUT};
    uint32_t left = blob->len - blob->out_at;
    uint8_t bytes[SIDE_BYTES_MAX];
    struct hf_err err;

    m.u.put.digest = blob->digest;
    m.u.put.total = blob->len;
    m.u.put.offset = blob->out_at;
    m.u.put.len = left < SIDE_CHUNK_MAX ? left : SIDE_CHUNK_MAX;
    m.u.put.bytes = blob->bytes + blob->out_at;
    if (b->ports.side(b->ports.user, bytes, side_encode(&m, bytes), &err) != HF_OK)
        return false;
    blob->out_at += m.u.put.len;
    blob->is_sending = blob->out_at < blob->len;
    return true;
}

static void send_pieces(struct blobs *b, hf_time now)
{
    unsigned sent = 0;
    bool open = true;

    for (unsigned i = 0; i < HF_BLOBS_MAX && open && sent < BLOBS_PIECES; i++)
        while (b->blob[i].is_sending && sent < BLOBS_PIECES) {
            open = send_piece(b, &b->blob[i]);
            if (!open)
                break;
            sent++;
        }
    b->send_at = blobs_is_sending(b) ? hf_time_add_ms(now, SEND_RETRY_MS) : never;
}

bool blobs_is_sending(const struct blobs *b)
{
    for (unsigned i = 0; i < HF_BLOBS_MAX; i++)
        if (b->blob[i].is_sending)
            return true;
    return false;
}

/* ---- side messages ---- */

static void asked(struct blobs *b, const struct side_message *m, unsigned rank, hf_time now)
{
    struct blob *blob = find(b, &m->u.want.digest);

    if (blob == NULL || !blob->is_complete || blob->is_sending)
        return;
    blob->is_turn_due = true;
    blob->turn_at = hf_time_add_ms(now, (int64_t)rank * BLOBS_TURN_MS);
}

static void finish(struct blobs *b, struct blob *blob)
{
    struct hf_digest digest = hf_digest_of(blob->bytes, blob->len);

    if (!hf_digest_equal(&digest, &blob->digest)) {
        b->refused++;
        drop_bytes(b, blob); /* asked for again at its time, if it is wanted */
        return;
    }
    completed(blob);
    keep(b, blob);
    b->ports.arrived(b->ports.user, &digest);
}

/* Pieces come in order from one sender, and only its own first piece starts over. Two may send at a
 * time: the first one is listened to until it stops and the content is asked for again. */
static void piece(struct blobs *b, const struct side_message *m, uint32_t nodeid, hf_time now)
{
    struct blob *blob = take(b, &m->u.put.digest, now);

    if (blob == NULL)
        return;
    if (blob->is_complete) {
        blob->is_turn_due = false; /* somebody else answers */
        blob->turn_at = never;
        return;
    }
    if (m->u.put.offset == 0 && (blob->bytes == NULL || blob->from == nodeid)) {
        drop_bytes(b, blob);
        if (!reserve(b, blob, m->u.put.total))
            return;
        blob->from = nodeid;
    }
    if (blob->bytes == NULL || blob->from != nodeid || blob->len != m->u.put.total ||
        blob->got != m->u.put.offset)
        return;
    memcpy(blob->bytes + blob->got, m->u.put.bytes, m->u.put.len);
    blob->got += m->u.put.len;
    blob->unnamed_until = hf_time_add_ms(now, BLOBS_UNNAMED_MS);
    blob->ask_at = blob->is_asked ? hf_time_add_ms(now, BLOBS_ASK_MS) : never;
    if (blob->got == blob->len)
        finish(b, blob);
}

void blobs_side(struct blobs *b, const uint8_t *bytes, size_t len, uint32_t nodeid, unsigned rank,
                bool is_own, hf_time now)
{
    struct side_message m;
    struct hf_err err;

    if (side_decode(bytes, len, &m, &err) != HF_OK) {
        b->refused++;
        return;
    }
    if (!is_own && m.type == SIDE_WANT)
        asked(b, &m, rank, now);
    if (!is_own && m.type == SIDE_PUT)
        piece(b, &m, nodeid, now);
    if (is_own && b->send_at.ns != never.ns)
        b->send_at = now; /* its coming back is the room for the next one */
}

/* ---- time ---- */

void blobs_tick(struct blobs *b, hf_time now)
{
    for (unsigned i = 0; i < HF_BLOBS_MAX; i++) {
        struct blob *blob = &b->blob[i];

        if (!blob->is_used)
            continue;
        if (blob->is_asked && hf_time_reached(now, blob->ask_at))
            ask(b, blob, now);
        if (blob->is_turn_due && hf_time_reached(now, blob->turn_at))
            send_from_start(b, blob, now);
        if (!blob->is_named && !blob->is_sending && hf_time_reached(now, blob->unnamed_until))
            forget(b, blob);
    }
    if (hf_time_reached(now, b->send_at))
        send_pieces(b, now);
}

static hf_time earlier(hf_time a, hf_time b)
{
    return a.ns < b.ns ? a : b;
}

hf_time blobs_deadline(const struct blobs *b)
{
    hf_time next = b->send_at;

    for (unsigned i = 0; i < HF_BLOBS_MAX; i++) {
        const struct blob *blob = &b->blob[i];

        if (!blob->is_used)
            continue;
        if (blob->is_asked)
            next = earlier(next, blob->ask_at);
        if (blob->is_turn_due)
            next = earlier(next, blob->turn_at);
        if (!blob->is_named && !blob->is_sending)
            next = earlier(next, blob->unnamed_until);
    }
    return next;
}

struct blobs_view blobs_look(const struct blobs *b)
{
    struct blobs_view view = {.bytes = b->bytes, .refused = b->refused};

    for (unsigned i = 0; i < HF_BLOBS_MAX; i++) {
        view.count += b->blob[i].is_used && b->blob[i].is_complete;
        view.missing += b->blob[i].is_used && !b->blob[i].is_complete;
    }
    return view;
}
