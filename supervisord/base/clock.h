/* clock.h - time as a type that cannot be mixed with integers.
 * Nobody else asks the system for the time. Pure code gets hf_time as a parameter. */
#ifndef SUPERVISORD_BASE_CLOCK_H
#define SUPERVISORD_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds of CLOCK_BOOTTIME of this host: counts over suspend, never steps. Not comparable
 * between hosts. */
typedef struct {
    int64_t ns;
} hf_time;

/* Wall clock, for humans and exports only; never for a decision. Nanoseconds since 1970 UTC. */
typedef struct {
    int64_t ns;
} hf_wall;

#define HF_NS_PER_MS 1000000LL

hf_time hf_clock_now(void);
hf_wall hf_clock_wall(void);
/* CLOCK_MONOTONIC: what other programs measure with and some calls of libc wait by. For records and
 * those calls only, never for our own deadlines. */
int64_t hf_clock_monotonic_ns(void);

static inline hf_time hf_time_add_ms(hf_time t, int64_t ms)
{
    return (hf_time){t.ns + ms * HF_NS_PER_MS};
}
static inline int64_t hf_time_since_ms(hf_time now, hf_time then)
{
    return (now.ns - then.ns) / HF_NS_PER_MS;
}
static inline bool hf_time_reached(hf_time now, hf_time deadline)
{
    return now.ns >= deadline.ns;
}

#endif
