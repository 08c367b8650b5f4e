#include "supervisord/base/rng.h"
#include "tests/unit/check.h"

/* The reference implementation's first numbers from the state 1 2 3 4, as rand_xoshiro and others
 * publish them. */
START_TEST(the_generator_is_xoshiro256_starstar)
{
    static const uint64_t wanted[] = {11520, 0, 1509978240, 1215971899390074240};
    struct hf_rng r = {{1, 2, 3, 4}};

    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(hf_rng_next(&r), wanted[i]);
}
END_TEST

/* splitmix64 of 1234567 begins with 6457827717110365317 (Rosetta Code's check value). */
START_TEST(the_seed_goes_through_splitmix64)
{
    struct hf_rng r = hf_rng_seeded(1234567);

    ck_assert_uint_eq(r.s[0], 6457827717110365317ULL);
    ck_assert_uint_eq(hf_rng_next(&r), 0x30a3a1c363600467ULL);
    r = hf_rng_seeded(0);
    ck_assert_uint_eq(hf_rng_next(&r), 0x99ec5f36cb75f2b4ULL);
    ck_assert_uint_eq(hf_rng_next(&r), 0xbf6e1f784956452aULL);
}
END_TEST

START_TEST(two_generators_do_not_meet)
{
    struct hf_rng a = hf_rng_seeded(5), b = hf_rng_seeded(5), c = hf_rng_seeded(6);

    for (int i = 0; i < 100; i++) {
        uint64_t from_a = hf_rng_next(&a);

        ck_assert_uint_eq(from_a, hf_rng_next(&b));
        ck_assert_uint_ne(from_a, hf_rng_next(&c));
    }
}
END_TEST

START_TEST(below_is_uniform_and_below)
{
    enum { SIDES = 7, THROWS = 70000 };
    struct hf_rng r = hf_rng_seeded(2);
    unsigned seen[SIDES] = {0};

    for (int i = 0; i < THROWS; i++) {
        uint64_t v = hf_rng_below(&r, SIDES);

        ck_assert_uint_lt(v, SIDES);
        seen[v]++;
    }
    for (int i = 0; i < SIDES; i++) { /* 10 000 each, standard deviation 93: five of them */
        ck_assert_uint_gt(seen[i], 9535);
        ck_assert_uint_lt(seen[i], 10465);
    }
    ck_assert_uint_eq(hf_rng_below(&r, 1), 0);
}
END_TEST

/* With 3/4 of the range a plain remainder would give the lower third twice as often as the rest. */
START_TEST(below_is_uniform_for_a_huge_limit)
{
    enum { THROWS = 30000 };
    const uint64_t limit = 3ULL << 62;
    struct hf_rng r = hf_rng_seeded(3);
    unsigned low = 0;

    for (int i = 0; i < THROWS; i++) {
        uint64_t v = hf_rng_below(&r, limit);

        ck_assert_uint_lt(v, limit);
        low += v < 1ULL << 62 ? 1 : 0;
    }
    ck_assert_uint_gt(low, 9592); /* 10 000, standard deviation 82 */
    ck_assert_uint_lt(low, 10408);
}
END_TEST

START_TEST(below_nothing_is_our_mistake)
{
    struct hf_rng r = hf_rng_seeded(1);

    (void)hf_rng_below(&r, 0);
}
END_TEST

START_TEST(between_includes_both_ends)
{
    struct hf_rng r = hf_rng_seeded(4);
    unsigned seen[5] = {0};

    for (int i = 0; i < 1000; i++) {
        int64_t v = hf_rng_between(&r, -2, 2);

        ck_assert_int_ge(v, -2);
        ck_assert_int_le(v, 2);
        seen[v + 2]++;
    }
    for (int i = 0; i < 5; i++)
        ck_assert_uint_gt(seen[i], 100);
    ck_assert_int_eq(hf_rng_between(&r, 9, 9), 9);
}
END_TEST

START_TEST(between_spans_all_integers)
{
    struct hf_rng r = hf_rng_seeded(4);
    unsigned negative = 0;

    for (int i = 0; i < 1000; i++)
        negative += hf_rng_between(&r, INT64_MIN, INT64_MAX) < 0 ? 1 : 0;
    ck_assert_uint_gt(negative, 400);
    ck_assert_uint_lt(negative, 600);
    ck_assert_int_ge(hf_rng_between(&r, INT64_MAX - 1, INT64_MAX), INT64_MAX - 1);
}
END_TEST

START_TEST(between_turned_around_is_our_mistake)
{
    struct hf_rng r = hf_rng_seeded(1);

    (void)hf_rng_between(&r, 2, 1);
}
END_TEST

START_TEST(permille_is_never_sometimes_always)
{
    struct hf_rng r = hf_rng_seeded(6);
    unsigned hits = 0;

    for (int i = 0; i < 10000; i++) {
        ck_assert(!hf_rng_permille(&r, 0));
        ck_assert(hf_rng_permille(&r, 1000));
        ck_assert(hf_rng_permille(&r, 5000));
        hits += hf_rng_permille(&r, 250) ? 1 : 0;
    }
    ck_assert_uint_gt(hits, 2283); /* 2 500, standard deviation 43 */
    ck_assert_uint_lt(hits, 2717);
}
END_TEST

START_TEST(permille_takes_one_number_whatever_n)
{
    struct hf_rng a = hf_rng_seeded(7), b = hf_rng_seeded(7);

    (void)hf_rng_permille(&a, 0);
    (void)hf_rng_permille(&b, 1000);
    ck_assert_uint_eq(hf_rng_next(&a), hf_rng_next(&b));
}
END_TEST

HF_TEST_MAIN("base/rng",
             HF_CASE(the_generator_is_xoshiro256_starstar),
             HF_CASE(the_seed_goes_through_splitmix64),
             HF_CASE(two_generators_do_not_meet),
             HF_CASE(below_is_uniform_and_below),
             HF_CASE(below_is_uniform_for_a_huge_limit),
             HF_ABORTS(below_nothing_is_our_mistake),
             HF_CASE(between_includes_both_ends),
             HF_CASE(between_spans_all_integers),
             HF_ABORTS(between_turned_around_is_our_mistake),
             HF_CASE(permille_is_never_sometimes_always),
             HF_CASE(permille_takes_one_number_whatever_n))
