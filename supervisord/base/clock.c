#include "supervisord/base/clock.h"

#include "supervisord/base/assert.h"

#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec at;
    int failed = clock_gettime(id, &at);

    /* Fails only for a clock the kernel does not know; CLOCK_BOOTTIME came with Linux 2.6.39. */
    HF_ASSERT(failed == 0);
    return at.tv_sec * 1000 * HF_NS_PER_MS + at.tv_nsec;
}

hf_time hf_clock_now(void)
{
    return (hf_time){read_clock(CLOCK_BOOTTIME)};
}

hf_wall hf_clock_wall(void)
{
    return (hf_wall){read_clock(CLOCK_REALTIME)};
}

int64_t hf_clock_monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}
