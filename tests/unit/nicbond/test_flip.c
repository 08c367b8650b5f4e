#include "nicbond/flip.h"

#include "tests/unit/check.h"

static const hf_time start = {1000000000000LL};

static hf_time at(int64_t ms)
{
    return hf_time_add_ms(start, ms);
}

static struct flip_case a_case(enum hf_leg_kind kind)
{
    return (struct flip_case){.epoch = 7,
                              .uid = 3,
                              .from = 0,
                              .to = 1,
                              .cause = HF_NIC_CARRIER,
                              .kind = kind,
                              .has_vf_link = true,
                              .can_confirm = true,
                              .since = {start.ns - 3000000},
                              .judged = {start.ns - 1000000},
                              .wall = {42},
                              .rung_ms = 200};
}

static unsigned wanted(const struct flip *f)
{
    unsigned set = 0;

    for (unsigned m = 0; m < HF_FLIP_METHODS; m++)
        set |= flip_wants(f, (enum hf_flip_method)m) ? 1u << m : 0;
    return set;
}

#define ONLY(method) (1u << (method))

START_TEST(switch_and_helper_begin_beside_each_other)
{
    struct flip_case what = a_case(HF_LEG_VF);
    struct flip f;

    what.has_helper = true;
    flip_begin(&f, &what, start);
    ck_assert_uint_eq(wanted(&f), ONLY(HF_FLIP_VF_LINK) | ONLY(HF_FLIP_GUEST));
    what.kind = HF_LEG_BRIDGE;
    flip_begin(&f, &what, start);
    ck_assert_uint_eq(wanted(&f), ONLY(HF_FLIP_LINK) | ONLY(HF_FLIP_GUEST));
    what.kind = HF_LEG_MACVTAP;
    what.has_helper = false;
    flip_begin(&f, &what, start);
    ck_assert_uint_eq(wanted(&f), ONLY(HF_FLIP_LINK));
}
END_TEST

START_TEST(a_driver_without_link_state_begins_with_the_pf)
{
    struct flip_case what = a_case(HF_LEG_VF);
    struct flip f;

    what.has_vf_link = false;
    flip_begin(&f, &what, start);
    ck_assert_uint_eq(wanted(&f), ONLY(HF_FLIP_PF_DOWN));
}
END_TEST

START_TEST(a_refused_rung_gives_way_at_once)
{
    struct flip_case what = a_case(HF_LEG_VF);
    struct flip f;

    flip_begin(&f, &what, start);
    flip_ordered(&f, HF_FLIP_VF_LINK, at(1));
    ck_assert(flip_answered(&f, HF_FLIP_VF_LINK, FLIP_RUNG_REFUSED, at(2)));
    ck_assert_uint_eq(wanted(&f), ONLY(HF_FLIP_PF_DOWN));
}
END_TEST

START_TEST(a_late_rung_gives_way_at_its_deadline)
{
    struct flip_case what = a_case(HF_LEG_VF);
    enum bond_event how;
    struct flip f;

    flip_begin(&f, &what, start);
    flip_ordered(&f, HF_FLIP_VF_LINK, start);
    ck_assert(!flip_tick(&f, at(199), &how));
    ck_assert_uint_eq(wanted(&f), 0);
    ck_assert(!flip_tick(&f, at(200), &how));
    ck_assert_uint_eq(wanted(&f), ONLY(HF_FLIP_PF_DOWN));
    /* Its answer after that changes nothing. */
    ck_assert(!flip_answered(&f, HF_FLIP_VF_LINK, FLIP_RUNG_DONE, at(201)));
}
END_TEST

START_TEST(what_no_worker_takes_is_late_too)
{
    struct flip_case what = a_case(HF_LEG_BRIDGE);
    enum bond_event how;
    struct flip f;

    flip_begin(&f, &what, start);
    ck_assert(!flip_tick(&f, at(FLIP_QUEUE_MS - 1), &how)); /* others' turn */
    ck_assert(flip_tick(&f, at(FLIP_QUEUE_MS), &how));
    ck_assert_int_eq(how, BOND_EV_DEADLINE);
    ck_assert_uint_eq(f.record.ordered_us, UINT32_MAX);
}
END_TEST

START_TEST(a_deadline_begins_with_the_order)
{
    struct flip_case what = a_case(HF_LEG_BRIDGE);
    enum bond_event how;
    struct flip f;

    flip_begin(&f, &what, start);
    flip_ordered(&f, HF_FLIP_LINK, at(1500));
    ck_assert(!flip_tick(&f, at(1699), &how));
    ck_assert(flip_tick(&f, at(1700), &how));
    ck_assert_int_eq(how, BOND_EV_DEADLINE);
}
END_TEST

START_TEST(unplugging_is_last_and_only_where_it_is_allowed)
{
    struct flip_case what = a_case(HF_LEG_VF);
    enum bond_event how;
    struct flip f;

    what.has_helper = what.may_unplug = true;
    flip_begin(&f, &what, start);
    (void)flip_answered(&f, HF_FLIP_VF_LINK, FLIP_RUNG_REFUSED, at(1));
    (void)flip_answered(&f, HF_FLIP_PF_DOWN, FLIP_RUNG_REFUSED, at(2));
    ck_assert_uint_eq(wanted(&f), ONLY(HF_FLIP_GUEST));
    (void)flip_answered(&f, HF_FLIP_GUEST, FLIP_RUNG_LATE, at(3));
    ck_assert_uint_eq(wanted(&f), ONLY(HF_FLIP_UNPLUG));
    (void)flip_answered(&f, HF_FLIP_UNPLUG, FLIP_RUNG_REFUSED, at(4));
    ck_assert(flip_tick(&f, at(4), &how));
    ck_assert_int_eq(how, BOND_EV_DEADLINE); /* the helper may still do it */
    what.may_unplug = what.has_helper = false;
    flip_begin(&f, &what, start);
    (void)flip_answered(&f, HF_FLIP_VF_LINK, FLIP_RUNG_REFUSED, at(1));
    (void)flip_answered(&f, HF_FLIP_PF_DOWN, FLIP_RUNG_REFUSED, at(2));
    ck_assert(flip_tick(&f, at(2), &how));
    ck_assert_int_eq(how, BOND_EV_FLIP_FAILED);
}
END_TEST

START_TEST(a_gentle_flip_touches_nobody_else)
{
    struct flip_case what = a_case(HF_LEG_VF);
    enum bond_event how;
    struct flip f;

    what.is_gentle = what.may_unplug = true;
    flip_begin(&f, &what, start);
    (void)flip_answered(&f, HF_FLIP_VF_LINK, FLIP_RUNG_REFUSED, at(1));
    ck_assert_uint_eq(wanted(&f), 0);
    ck_assert(flip_tick(&f, at(1), &how));
    flip_begin(&f, &what, start);
    (void)flip_answered(&f, HF_FLIP_VF_LINK, FLIP_RUNG_REFUSED, at(1));
    flip_escalate(&f, at(1));
    ck_assert_uint_eq(wanted(&f), ONLY(HF_FLIP_PF_DOWN));
}
END_TEST

START_TEST(a_flip_whose_leg_came_back_is_gentle_until_it_dies_again)
{
    struct flip_case what = a_case(HF_LEG_VF);
    enum bond_event how;
    struct flip f;

    what.may_unplug = true;
    flip_begin(&f, &what, start);
    flip_ordered(&f, HF_FLIP_VF_LINK, start);
    flip_ease(&f);
    (void)flip_answered(&f, HF_FLIP_VF_LINK, FLIP_RUNG_REFUSED, at(1));
    ck_assert_uint_eq(wanted(&f), 0);
    ck_assert(flip_tick(&f, at(1), &how));
    ck_assert_int_eq(how, BOND_EV_FLIP_FAILED);
    flip_escalate(&f, at(2));
    ck_assert_uint_eq(wanted(&f), ONLY(HF_FLIP_PF_DOWN));
    flip_ease(&f); /* and what has not left yet stays here */
    ck_assert_uint_eq(wanted(&f), 0);
    flip_escalate(&f, at(3));
    flip_ordered(&f, HF_FLIP_PF_DOWN, at(3));
    flip_ease(&f);
    ck_assert(flip_answered(&f, HF_FLIP_PF_DOWN, FLIP_RUNG_REFUSED, at(4)));
    ck_assert_uint_eq(wanted(&f), 0);
    flip_end(&f, HF_FLIP_FAILED, false, at(5));
    flip_ease(&f);
    ck_assert(!f.is_running);
}
END_TEST

START_TEST(what_was_carried_out_waits_to_be_confirmed)
{
    struct flip_case what = a_case(HF_LEG_VF);
    enum bond_event how;
    struct flip f;

    flip_begin(&f, &what, start);
    flip_ordered(&f, HF_FLIP_VF_LINK, at(1));
    (void)flip_answered(&f, HF_FLIP_VF_LINK, FLIP_RUNG_DONE, at(2));
    ck_assert(!flip_tick(&f, at(1 + FLIP_CONFIRM_MS), &how));
    ck_assert_int_eq(flip_deadline(&f).ns, at(2 + FLIP_CONFIRM_MS).ns);
    ck_assert(flip_tick(&f, at(2 + FLIP_CONFIRM_MS), &how));
    ck_assert_int_eq(how, BOND_EV_FLIP_UNKNOWN);
    what.can_confirm = false;
    flip_begin(&f, &what, start);
    (void)flip_answered(&f, HF_FLIP_VF_LINK, FLIP_RUNG_DONE, at(2));
    ck_assert(flip_tick(&f, at(2), &how));
    ck_assert_int_eq(how, BOND_EV_FLIP_UNKNOWN);
}
END_TEST

START_TEST(the_record_counts_from_the_first_sign)
{
    struct flip_case what = a_case(HF_LEG_VF);
    struct flip f;

    flip_begin(&f, &what, start);
    flip_ordered(&f, HF_FLIP_VF_LINK, at(1));
    (void)flip_answered(&f, HF_FLIP_VF_LINK, FLIP_RUNG_DONE, at(2));
    flip_end(&f, flip_confirmed(&f), true, at(20));
    ck_assert_int_eq(f.record.outcome, HF_FLIP_FLIPPED);
    ck_assert_int_eq(f.record.method, HF_FLIP_VF_LINK);
    ck_assert_uint_eq(f.record.judged_us, 2000);
    ck_assert_uint_eq(f.record.ordered_us, 4000);
    ck_assert_uint_eq(f.record.confirmed_us, 23000);
    ck_assert_int_eq(f.record.wall_ns, 42);
    ck_assert(!f.is_running);
}
END_TEST

START_TEST(a_guest_that_was_quicker_than_any_order_is_already_there)
{
    struct flip_case what = a_case(HF_LEG_VF);
    struct flip f;

    flip_begin(&f, &what, start);
    flip_end(&f, flip_confirmed(&f), true, at(1));
    ck_assert_int_eq(f.record.outcome, HF_FLIP_ALREADY);
    ck_assert_int_eq(f.record.method, HF_FLIP_GUEST_BOND);
    ck_assert_uint_eq(f.record.ordered_us, UINT32_MAX);
}
END_TEST

START_TEST(the_first_method_that_was_carried_out_is_named)
{
    struct flip_case what = a_case(HF_LEG_VF);
    struct flip f;

    what.has_helper = true;
    flip_begin(&f, &what, start);
    flip_ordered(&f, HF_FLIP_VF_LINK, start);
    flip_ordered(&f, HF_FLIP_GUEST, start);
    (void)flip_answered(&f, HF_FLIP_GUEST, FLIP_RUNG_DONE, at(2));
    (void)flip_answered(&f, HF_FLIP_VF_LINK, FLIP_RUNG_DONE, at(5));
    ck_assert_int_eq(f.record.method, HF_FLIP_GUEST);
    ck_assert(!flip_is_worth_repeating(&f));
}
END_TEST

HF_TEST_MAIN("nicbond/flip", HF_CASE(switch_and_helper_begin_beside_each_other),
             HF_CASE(a_driver_without_link_state_begins_with_the_pf),
             HF_CASE(a_refused_rung_gives_way_at_once),
             HF_CASE(a_late_rung_gives_way_at_its_deadline),
             HF_CASE(what_no_worker_takes_is_late_too), HF_CASE(a_deadline_begins_with_the_order),
             HF_CASE(unplugging_is_last_and_only_where_it_is_allowed),
             HF_CASE(a_gentle_flip_touches_nobody_else),
             HF_CASE(a_flip_whose_leg_came_back_is_gentle_until_it_dies_again),
             HF_CASE(what_was_carried_out_waits_to_be_confirmed),
             HF_CASE(the_record_counts_from_the_first_sign),
             HF_CASE(a_guest_that_was_quicker_than_any_order_is_already_there),
             HF_CASE(the_first_method_that_was_carried_out_is_named))
