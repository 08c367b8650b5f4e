#include "supervisord/base/clock.h"
#include "tests/unit/check.h"

#include <time.h>

START_TEST(now_is_boot_time_and_does_not_go_back)
{
    struct timespec at;
    hf_time first = hf_clock_now(), last = first;

    ck_assert_int_eq(clock_gettime(CLOCK_BOOTTIME, &at), 0);
    ck_assert_int_le(first.ns, at.tv_sec * 1000000000LL + at.tv_nsec);
    ck_assert_int_gt(first.ns + 10000000000LL, at.tv_sec * 1000000000LL + at.tv_nsec);
    for (int i = 0; i < 10000; i++) {
        hf_time next = hf_clock_now();

        ck_assert_int_ge(next.ns, last.ns);
        last = next;
    }
    ck_assert_int_gt(last.ns, first.ns);
}
END_TEST

START_TEST(wall_is_nanoseconds_since_1970)
{
    struct timespec at;
    hf_wall wall = hf_clock_wall();

    ck_assert_int_eq(clock_gettime(CLOCK_REALTIME, &at), 0);
    ck_assert_int_le(wall.ns / 1000000000LL, at.tv_sec);
    ck_assert_int_ge(wall.ns / 1000000000LL, at.tv_sec - 10);
}
END_TEST

START_TEST(times_add_and_subtract_in_milliseconds)
{
    hf_time t = {5 * HF_NS_PER_MS};

    ck_assert_int_eq(hf_time_add_ms(t, 7).ns, 12 * HF_NS_PER_MS);
    ck_assert_int_eq(hf_time_add_ms(t, -7).ns, -2 * HF_NS_PER_MS);
    ck_assert_int_eq(hf_time_since_ms(hf_time_add_ms(t, 250), t), 250);
    ck_assert_int_eq(hf_time_since_ms(t, hf_time_add_ms(t, 250)), -250);
    ck_assert_int_eq(hf_time_since_ms((hf_time){t.ns + HF_NS_PER_MS - 1}, t), 0);
}
END_TEST

START_TEST(a_deadline_is_reached_at_its_instant)
{
    hf_time deadline = {100};

    ck_assert(!hf_time_reached((hf_time){99}, deadline));
    ck_assert(hf_time_reached((hf_time){100}, deadline));
    ck_assert(hf_time_reached((hf_time){101}, deadline));
}
END_TEST

HF_TEST_MAIN("base/clock",
             HF_CASE(now_is_boot_time_and_does_not_go_back),
             HF_CASE(wall_is_nanoseconds_since_1970),
             HF_CASE(times_add_and_subtract_in_milliseconds),
             HF_CASE(a_deadline_is_reached_at_its_instant))
