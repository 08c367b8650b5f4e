/* buf.h - fields to little-endian bytes and back, one by one, never past the end.
 * A writer that runs full and a reader that runs short only set `bad`: check it once at the end.
 * A bad reader returns zeros, so a decoder cannot run wild before the check. */
#ifndef SUPERVISORD_BASE_BUF_H
#define SUPERVISORD_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_writer {
    uint8_t *at; /* borrowed; NULL measures only */
    size_t cap;  /* bytes */
    size_t len;  /* bytes that were or would have been written: may exceed cap */
    bool bad;    /* did not fit (never set while measuring) */
};

struct hf_reader {
    const uint8_t *at; /* borrowed */
    size_t len;
    size_t pos;
    bool bad;
};

struct hf_writer hf_writer_on(void *bytes, size_t cap);
struct hf_reader hf_reader_on(const void *bytes, size_t len);

void hf_put_u8(struct hf_writer *w, uint8_t v);
void hf_put_u16(struct hf_writer *w, uint16_t v);
void hf_put_u32(struct hf_writer *w, uint32_t v);
void hf_put_u64(struct hf_writer *w, uint64_t v);
void hf_put_bytes(struct hf_writer *w, const void *bytes, size_t len);
/* u8 length (0..255) + the characters, without the NUL. text must be shorter than 256. */
void hf_put_str(struct hf_writer *w, const char *text);

uint8_t hf_get_u8(struct hf_reader *r);
uint16_t hf_get_u16(struct hf_reader *r);
uint32_t hf_get_u32(struct hf_reader *r);
uint64_t hf_get_u64(struct hf_reader *r);
/* Copy len bytes out; zeros when short. */
void hf_get_bytes(struct hf_reader *r, void *out, size_t len);
/* Into out[cap], NUL-terminated. Bad when it does not fit or holds a NUL or control character. */
void hf_get_str(struct hf_reader *r, char *out, size_t cap);
/* A u8 that must be below `limit`: bad and 0 otherwise. For enums and indexes. */
uint8_t hf_get_enum(struct hf_reader *r, uint8_t limit);
/* True when nothing went wrong and every byte was used. */
bool hf_reader_ended(const struct hf_reader *r);

#endif
