/* rng.h - numbers from a seed that is logged (splitmix64 seeded xoshiro256**). No hidden state.
 * The same seed gives the same numbers on every machine and in every version: old seeds replay.
 * Never for keys or secrets. */
#ifndef SUPERVISORD_BASE_RNG_H
#define SUPERVISORD_BASE_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct hf_rng {
    uint64_t s[4];
};

struct hf_rng hf_rng_seeded(uint64_t seed);
uint64_t hf_rng_next(struct hf_rng *r);
/* Uniform in [0, limit); limit > 0. */
uint64_t hf_rng_below(struct hf_rng *r, uint64_t limit);
/* Uniform in [low, high], both included; low <= high. */
int64_t hf_rng_between(struct hf_rng *r, int64_t low, int64_t high);
/* True with probability n in 1000; always from 1000 on. Takes one number whatever n is. */
bool hf_rng_permille(struct hf_rng *r, uint32_t n);

#endif
