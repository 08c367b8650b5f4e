#include "fencing/plan.h"
#include "tests/unit/check.h"

START_TEST(one_device_off_and_read_off_is_done)
{
    struct plan p;

    plan_begin(&p, 1);
    ck_assert_int_eq(p.phase, PLAN_SWITCHING);
    ck_assert_int_eq(plan_off_ended(&p, 0, true), PLAN_VERIFYING);
    ck_assert_int_eq(plan_status_ended(&p, 0, PROOF_READS_OFF), PLAN_DONE);
}
END_TEST

START_TEST(no_feed_is_read_before_every_feed_is_off)
{
    struct plan p;

    plan_begin(&p, 2);
    ck_assert_int_eq(plan_off_ended(&p, 1, true), PLAN_SWITCHING);
    ck_assert_int_eq(plan_status_ended(&p, 1, PROOF_READS_OFF), PLAN_SWITCHING);
    ck_assert(!p.is_verified[1]);
    ck_assert_int_eq(plan_off_ended(&p, 0, true), PLAN_VERIFYING);
    ck_assert_int_eq(plan_status_ended(&p, 1, PROOF_READS_OFF), PLAN_VERIFYING);
    ck_assert_int_eq(plan_status_ended(&p, 0, PROOF_READS_OFF), PLAN_DONE);
}
END_TEST

START_TEST(one_failed_off_fails_the_level)
{
    struct plan p;

    plan_begin(&p, 2);
    (void)plan_off_ended(&p, 0, true);
    ck_assert_int_eq(plan_off_ended(&p, 1, false), PLAN_FAILED);
    ck_assert_int_eq(plan_off_ended(&p, 1, true), PLAN_FAILED);
    ck_assert_int_eq(plan_status_ended(&p, 0, PROOF_READS_OFF), PLAN_FAILED);
}
END_TEST

START_TEST(a_lagging_device_is_asked_again_but_not_for_ever)
{
    struct plan p;

    plan_begin(&p, 1);
    (void)plan_off_ended(&p, 0, true);
    for (int i = 1; i < PLAN_STATUS_TRIES; i++)
        ck_assert_int_eq(plan_status_ended(&p, 0, PROOF_READS_ON), PLAN_VERIFYING);
    ck_assert_int_eq(plan_status_ended(&p, 0, PROOF_UNREADABLE), PLAN_FAILED);
}
END_TEST

START_TEST(a_lagging_device_may_still_prove_it)
{
    struct plan p;

    plan_begin(&p, 1);
    (void)plan_off_ended(&p, 0, true);
    (void)plan_status_ended(&p, 0, PROOF_READS_ON);
    ck_assert_int_eq(plan_status_ended(&p, 0, PROOF_READS_OFF), PLAN_DONE);
}
END_TEST

START_TEST(giving_up_does_not_undo_a_proof)
{
    struct plan p;

    plan_begin(&p, 1);
    ck_assert_int_eq(plan_give_up(&p), PLAN_FAILED);
    plan_begin(&p, 1);
    (void)plan_off_ended(&p, 0, true);
    (void)plan_status_ended(&p, 0, PROOF_READS_OFF);
    ck_assert_int_eq(plan_give_up(&p), PLAN_DONE);
}
END_TEST

START_TEST(a_level_without_devices_is_our_own_mistake)
{
    struct plan p;

    plan_begin(&p, 0);
}
END_TEST

START_TEST(switching_on_wants_every_feed_to_read_on)
{
    struct plan p;

    plan_begin_on(&p, 2);
    (void)plan_off_ended(&p, 0, true);
    ck_assert_int_eq(plan_off_ended(&p, 1, true), PLAN_VERIFYING);
    ck_assert_int_eq(plan_status_ended(&p, 0, PROOF_READS_ON), PLAN_VERIFYING);
    ck_assert_int_eq(plan_status_ended(&p, 1, PROOF_READS_OFF), PLAN_VERIFYING); /* lags */
    ck_assert_int_eq(plan_status_ended(&p, 1, PROOF_READS_ON), PLAN_DONE);
    plan_begin_on(&p, 1);
    ck_assert_int_eq(plan_off_ended(&p, 0, false), PLAN_FAILED);
    plan_begin_on(&p, 1);
    (void)plan_off_ended(&p, 0, true);
    for (int i = 1; i < PLAN_STATUS_TRIES; i++)
        ck_assert_int_eq(plan_status_ended(&p, 0, PROOF_READS_OFF), PLAN_VERIFYING);
    ck_assert_int_eq(plan_status_ended(&p, 0, PROOF_UNREADABLE), PLAN_FAILED);
}
END_TEST

START_TEST(a_device_that_reads_on_is_never_proof_of_death)
{
    struct plan p;

    plan_begin_on(&p, 1); /* what an earlier order wanted must not outlive it */
    plan_begin(&p, 1);
    (void)plan_off_ended(&p, 0, true);
    ck_assert_int_eq(plan_status_ended(&p, 0, PROOF_READS_ON), PLAN_VERIFYING);
}
END_TEST

HF_TEST_MAIN("fencing/plan", HF_CASE(one_device_off_and_read_off_is_done),
             HF_CASE(no_feed_is_read_before_every_feed_is_off),
             HF_CASE(one_failed_off_fails_the_level),
             HF_CASE(a_lagging_device_is_asked_again_but_not_for_ever),
             HF_CASE(a_lagging_device_may_still_prove_it), HF_CASE(giving_up_does_not_undo_a_proof),
             HF_ABORTS(a_level_without_devices_is_our_own_mistake),
             HF_CASE(switching_on_wants_every_feed_to_read_on),
             HF_CASE(a_device_that_reads_on_is_never_proof_of_death))
