#include "supervisord/base/buf.h"

#include "supervisord/base/assert.h"

#include <string.h>

struct hf_writer hf_writer_on(void *bytes, size_t cap)
{
    return (struct hf_writer){.at = bytes, .cap = cap};
}

struct hf_reader hf_reader_on(const void *bytes, size_t len)
{
    /* Nothing may be NULL, and NULL + 0 is undefined: nothing gets an address too. */
    return (struct hf_reader){.at = bytes != NULL ? bytes : "", .len = bytes != NULL ? len : 0};
}

/* Count len bytes as written. Their place, or NULL when measuring or full. */
static uint8_t *reserve(struct hf_writer *w, size_t len)
{
    uint8_t *place = NULL;

    HF_ASSERT(len <= SIZE_MAX - w->len);
    if (w->at != NULL) {
        if (w->len <= w->cap && len <= w->cap - w->len)
            place = w->at + w->len;
        else
            w->bad = true;
    }
    w->len += len;
    return place;
}

void hf_put_u8(struct hf_writer *w, uint8_t v)
{
    uint8_t *place = reserve(w, 1);

    if (place != NULL)
        place[0] = v;
}

void hf_put_u16(struct hf_writer *w, uint16_t v)
{
    uint8_t *place = reserve(w, 2);

    if (place == NULL)
        return;
    for (unsigned i = 0; i < 2; i++)
        place[i] = (uint8_t)(v >> (8 * i));
}

void hf_put_u32(struct hf_writer *w, uint32_t v)
{
    uint8_t *place = reserve(w, 4);

    if (place == NULL)
        return;
    for (unsigned i = 0; i < 4; i++)
        place[i] = (uint8_t)(v >> (8 * i));
}

void hf_put_u64(struct hf_writer *w, uint64_t v)
{
    uint8_t *place = reserve(w, 8);

    if (place == NULL)
        return;
    for (unsigned i = 0; i < 8; i++)
        place[i] = (uint8_t)(v >> (8 * i));
}

void hf_put_bytes(struct hf_writer *w, const void *bytes, size_t len)
{
    uint8_t *place = reserve(w, len);

    if (place != NULL && len > 0)
        memcpy(place, bytes, len);
}

void hf_put_str(struct hf_writer *w, const char *text)
{
    size_t len = strlen(text);

    HF_ASSERT(len <= UINT8_MAX);
    hf_put_u8(w, (uint8_t)len);
    hf_put_bytes(w, text, len);
}

/* The next len bytes, or NULL and bad for good. */
static const uint8_t *take(struct hf_reader *r, size_t len)
{
    const uint8_t *place;

    if (r->bad || r->pos > r->len || len > r->len - r->pos) {
        r->bad = true;
        return NULL;
    }
    place = r->at + r->pos;
    r->pos += len;
    return place;
}

uint8_t hf_get_u8(struct hf_reader *r)
{
    const uint8_t *place = take(r, 1);

    return place != NULL ? place[0] : 0;
}

static uint64_t get_little_endian(struct hf_reader *r, unsigned bytes_count)
{
    const uint8_t *place = take(r, bytes_count);
    uint64_t v = 0;

    if (place == NULL)
        return 0;
    for (unsigned i = 0; i < bytes_count; i++)
        v |= (uint64_t)place[i] << (8 * i);
    return v;
}

uint16_t hf_get_u16(struct hf_reader *r)
{
    return (uint16_t)get_little_endian(r, 2);
}

uint32_t hf_get_u32(struct hf_reader *r)
{
    return (uint32_t)get_little_endian(r, 4);
}

uint64_t hf_get_u64(struct hf_reader *r)
{
    return get_little_endian(r, 8);
}

void hf_get_bytes(struct hf_reader *r, void *out, size_t len)
{
    const uint8_t *place = take(r, len);

    if (len == 0)
        return;
    if (place != NULL)
        memcpy(out, place, len);
    else
        memset(out, 0, len);
}

void hf_get_str(struct hf_reader *r, char *out, size_t cap)
{
    size_t len = hf_get_u8(r);
    const uint8_t *place = take(r, len);

    HF_ASSERT(cap > 0);
    out[0] = '\0';
    if (place == NULL)
        return;
    if (len >= cap) {
        r->bad = true;
        return;
    }
    for (size_t i = 0; i < len; i++) {
        if (place[i] < 0x20 || place[i] == 0x7f) {
            r->bad = true;
            return;
        }
    }
    if (len > 0)
        memcpy(out, place, len);
    out[len] = '\0';
}

uint8_t hf_get_enum(struct hf_reader *r, uint8_t limit)
{
    uint8_t v = hf_get_u8(r);

    if (r->bad || v >= limit) {
        r->bad = true;
        return 0;
    }
    return v;
}

bool hf_reader_ended(const struct hf_reader *r)
{
    return !r->bad && r->pos == r->len;
}
