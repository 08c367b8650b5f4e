#include "nicbond/flip_text.h"

#include "tests/unit/check.h"

static const hf_time start = {1000000000000LL};
static struct flip flip;
static char text[FLIP_TEXT_MAX];

static hf_time after(int64_t us)
{
    return (hf_time){start.ns + 1000 * us};
}

/* From a dead leg to the other one. */
static void begin(enum hf_nic_cause cause, int64_t judged_us)
{
    struct flip_case what = {.epoch = 7,
                             .uid = 3,
                             .to = 1,
                             .cause = cause,
                             .kind = HF_LEG_VF,
                             .since = start,
                             .judged = after(judged_us),
                             .rung_ms = 200};

    flip_begin(&flip, &what, after(judged_us));
}

static const char *ended(enum hf_flip_outcome outcome, bool is_confirmed, int64_t us)
{
    flip_end(&flip, outcome, is_confirmed, after(us));
    flip_text(&flip, text);
    return text;
}

START_TEST(a_confirmed_flip_tells_all_three)
{
    begin(HF_NIC_BFD, 310);
    flip_ordered(&flip, HF_FLIP_PF_DOWN, after(420));
    (void)flip_answered(&flip, HF_FLIP_PF_DOWN, FLIP_RUNG_DONE, after(1800));
    ck_assert_str_eq(ended(HF_FLIP_FLIPPED, true, 9000),
                     "judged 310 us, ordered 420 us, confirmed 9000 us");
}
END_TEST

START_TEST(what_nobody_confirmed_says_so_and_when_it_was_carried_out)
{
    begin(HF_NIC_CARRIER, 0);
    flip_ordered(&flip, HF_FLIP_PF_DOWN, after(0));
    (void)flip_answered(&flip, HF_FLIP_PF_DOWN, FLIP_RUNG_DONE, after(1800));
    ck_assert_str_eq(ended(HF_FLIP_UNKNOWN, false, 3001800),
                     "judged at once, ordered at once, carried out 1800 us, not confirmed");
}
END_TEST

START_TEST(what_was_not_carried_out_is_not_told_as_such)
{
    begin(HF_NIC_CARRIER, 5);
    flip_ordered(&flip, HF_FLIP_PF_DOWN, after(6));
    (void)flip_answered(&flip, HF_FLIP_PF_DOWN, FLIP_RUNG_REFUSED, after(1800));
    ck_assert_str_eq(ended(HF_FLIP_FAILED, false, 1800),
                     "judged 5 us, ordered 6 us, not confirmed");
}
END_TEST

START_TEST(a_flip_without_an_order_or_a_failure_has_no_figures_of_them)
{
    begin(HF_NIC_CARRIER, 0);
    ck_assert_str_eq(ended(HF_FLIP_ALREADY, true, 12),
                     "judged at once, nothing ordered, confirmed 12 us");
    begin(HF_NIC_CARRIER, 7); /* another VM's flip had put the PF down */
    (void)flip_answered(&flip, HF_FLIP_PF_DOWN, FLIP_RUNG_DONE, after(9));
    ck_assert_str_eq(ended(HF_FLIP_UNKNOWN, false, 12), "judged 7 us, off already, not confirmed");
    begin(HF_NIC_NONE, 0);
    ck_assert_str_eq(ended(HF_FLIP_FAILED, false, 12), "nothing ordered, not confirmed");
}
END_TEST

START_TEST(the_longest_figures_fit)
{
    begin(HF_NIC_CARRIER, (int64_t)UINT32_MAX * 2);
    flip_ordered(&flip, HF_FLIP_PF_DOWN, after((int64_t)UINT32_MAX * 2));
    (void)flip_answered(&flip, HF_FLIP_PF_DOWN, FLIP_RUNG_DONE, after((int64_t)UINT32_MAX * 2));
    ck_assert_str_eq(ended(HF_FLIP_UNKNOWN, false, (int64_t)UINT32_MAX * 2),
                     "judged 4294967294 us, ordered 4294967294 us, carried out 4294967294 us, "
                     "not confirmed");
}
END_TEST

HF_TEST_MAIN("nicbond/flip_text", HF_CASE(a_confirmed_flip_tells_all_three),
             HF_CASE(what_nobody_confirmed_says_so_and_when_it_was_carried_out),
             HF_CASE(what_was_not_carried_out_is_not_told_as_such),
             HF_CASE(a_flip_without_an_order_or_a_failure_has_no_figures_of_them),
             HF_CASE(the_longest_figures_fit))
