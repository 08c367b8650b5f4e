/* digest.h - SHA-256 names for contents (domain XML, configuration), by nettle. */
#ifndef SUPERVISORD_BASE_DIGEST_H
#define SUPERVISORD_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_digest {
    uint8_t b[32];
};

struct hf_digest hf_digest_of(const void *bytes, size_t len);

static inline bool hf_digest_equal(const struct hf_digest *a, const struct hf_digest *b)
{
    return __builtin_memcmp(a->b, b->b, sizeof a->b) == 0;
}

/* 64 lower-case hex digits and a NUL. */
void hf_digest_hex(const struct hf_digest *d, char out[65]);
/* Exactly 64 hex digits of either case; out is untouched otherwise. */
bool hf_digest_from_hex(const char *hex, struct hf_digest *out);

#endif
