#include "supervisord/base/rng.h"

#include "supervisord/base/assert.h"

/* xoshiro256** 1.0 and splitmix64 by Blackman and Vigna, https://prng.di.unimi.it (public domain):
 * the algorithms and their constants. */
static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

struct hf_rng hf_rng_seeded(uint64_t seed)
{
    struct hf_rng r;

    for (unsigned i = 0; i < 4; i++)
        r.s[i] = splitmix(&seed);
    return r;
}

static uint64_t rotated_left(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

uint64_t hf_rng_next(struct hf_rng *r)
{
    uint64_t result = rotated_left(r->s[1] * 5, 7) * 9;
    uint64_t t = r->s[1] << 17;

    r->s[2] ^= r->s[0];
    r->s[3] ^= r->s[1];
    r->s[1] ^= r->s[2];
    r->s[0] ^= r->s[3];
    r->s[2] ^= t;
    r->s[3] = rotated_left(r->s[3], 45);
    return result;
}

/* Lemire, "Fast random integer generation in an interval" (2019): the upper half of a product, with
 * the few lower halves that would favour some results drawn again. A draw is refused with less than
 * even chance, so the loop ends; 64 refusals in a row would be a broken generator. */
uint64_t hf_rng_below(struct hf_rng *r, uint64_t limit)
{
    unsigned __int128 product;
    uint64_t refused_below;

    HF_ASSERT(limit > 0);
    product = (unsigned __int128)hf_rng_next(r) * limit;
    if ((uint64_t)product >= limit)
        return (uint64_t)(product >> 64);
    refused_below = -limit % limit;
    for (unsigned tries = 0; (uint64_t)product < refused_below; tries++) {
        HF_ASSERT(tries < 64);
        product = (unsigned __int128)hf_rng_next(r) * limit;
    }
    return (uint64_t)(product >> 64);
}

int64_t hf_rng_between(struct hf_rng *r, int64_t low, int64_t high)
{
    uint64_t span = (uint64_t)high - (uint64_t)low;
    uint64_t drawn;

    HF_ASSERT(low <= high);
    drawn = span == UINT64_MAX ? hf_rng_next(r) : hf_rng_below(r, span + 1);
    return (int64_t)((uint64_t)low + drawn);
}

bool hf_rng_permille(struct hf_rng *r, uint32_t n)
{
    return hf_rng_below(r, 1000) < n;
}
