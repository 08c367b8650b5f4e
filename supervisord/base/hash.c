#include "supervisord/base/hash.h"

/* http://www.isthe.com/chongo/tech/comp/fnv/: the 64-bit FNV prime. */
#define FNV_PRIME 0x100000001b3ULL

/* A product carries a difference upwards only, so with whole words a difference in the top bits of
 * two words could cancel out. Folding the upper half back down after each word prevents that. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * FNV_PRIME;
    return hash ^ (hash >> 32);
}

static uint64_t read_word(const uint8_t *at, size_t bytes_count)
{
    uint64_t word = 0;

    for (size_t i = 0; i < bytes_count; i++)
        word |= (uint64_t)at[i] << (8 * i);
    return word;
}

uint64_t hf_hash(uint64_t hash, const void *bytes, size_t len)
{
    const uint8_t *at = bytes;

    for (; len >= 8; at += 8, len -= 8)
        hash = mix(hash, read_word(at, 8));
    /* The length in the unused top byte tells "a" from "a\0". */
    if (len > 0)
        hash = mix(hash, read_word(at, len) | (uint64_t)len << 56);
    return hash;
}
