#include "agents/nic/judge.h"

#include <string.h>

#include "supervisord/model/names.h"
#include "tests/unit/check.h"

static const struct nic_limits limits = {.hold_down_ms = 30000, .hold_down_max_ms = 600000};

/* A PF and its clock. */
struct bench {
    struct judge_nic judge;
    struct nic_sample sample;
    struct nic_verdict verdict;
    hf_time now;
};

static void step(struct bench *b, int64_t ms)
{
    b->now = hf_time_add_ms(b->now, ms);
    judge_nic_step(&b->judge, &b->sample, b->now, &b->verdict);
}

static void hear(struct bench *b, enum nic_signal signal)
{
    judge_nic_hear(&b->judge, signal, b->now);
}

/* Everything is known and well, and judged so. */
static struct bench well(void)
{
    struct bench b = {.now = {1000000000}};

    judge_nic_init(&b.judge, &limits);
    b.sample = (struct nic_sample){.is_seen = true,
                                   .is_present = NIC_YES,
                                   .has_driver = NIC_YES,
                                   .is_admin_up = NIC_YES,
                                   .has_carrier = NIC_YES,
                                   .takes_part_in_lacp = NIC_YES,
                                   .is_hot = NIC_NO,
                                   .is_optics_bad = NIC_NO,
                                   .has_bare_vf = NIC_NO,
                                   .is_sister_dead = NIC_NO,
                                   .has_errors = true,
                                   .carrier_downs = 3,
                                   .bfd = {.peers = 2, .up = 2}};
    step(&b, 1);
    return b;
}

static void is(const struct bench *b, enum hf_pf state, enum hf_nic_cause cause)
{
    ck_assert_msg(b->verdict.state == state && b->verdict.cause == cause,
                  "is %s because of %s, should be %s because of %s", hf_pf_name(b->verdict.state),
                  hf_nic_cause_name(b->verdict.cause), hf_pf_name(state), hf_nic_cause_name(cause));
}

START_TEST(every_state_and_event_is_decided)
{
    struct nic_rule rule =
        judge_nic_rule((enum hf_pf)(_i / NIC_EVS), (enum nic_event)(_i % NIC_EVS));

    ck_assert_int_ne(rule.ruling, NIC_UNDECIDED);
    ck_assert_ptr_nonnull(rule.why);
    /* Only a hold ends, and a dead PF comes back through one. */
    if (_i % NIC_EVS == NIC_EV_RESTED)
        ck_assert_int_eq(rule.ruling, _i / NIC_EVS == HF_PF_HOLD ? NIC_GO : NIC_BUG);
    if (rule.ruling == NIC_GO && judge_nic_is_dead((enum hf_pf)(_i / NIC_EVS)))
        ck_assert(rule.next == HF_PF_HOLD || judge_nic_is_dead(rule.next));
    if (rule.ruling == NIC_GO && rule.next == HF_PF_HOLD)
        ck_assert_int_eq(rule.act, NIC_ACT_HOLD);
}
END_TEST

START_TEST(every_signal_is_decided)
{
    struct nic_signal_rule rule = judge_nic_signal((enum nic_signal)_i);

    ck_assert_ptr_nonnull(rule.why);
    ck_assert_uint_ne(rule.sets | rule.clears, 0);
    ck_assert_uint_eq(rule.sets & rule.clears, 0);
}
END_TEST

START_TEST(every_cause_that_can_be_marked_can_be_cleared)
{
    uint32_t sets = 0, clears = 0;

    for (unsigned s = 0; s < NIC_SIGNALS; s++) {
        sets |= judge_nic_signal((enum nic_signal)s).sets;
        clears |= judge_nic_signal((enum nic_signal)s).clears;
    }
    ck_assert_uint_eq(sets, clears);
    /* All of the vocabulary but what a hold is called. */
    ck_assert_uint_eq(sets, ((1u << HF_NIC_CAUSES) - 1) & ~(1u << HF_NIC_RETURNING) &
                                ~(1u << HF_NIC_FLAPPING));
}
END_TEST

START_TEST(a_first_look_needs_no_hold)
{
    struct bench b = well();

    is(&b, HF_PF_UP, HF_NIC_NONE);
    ck_assert(b.verdict.has_changed);
    step(&b, 1);
    ck_assert(!b.verdict.has_changed);
}
END_TEST

START_TEST(nothing_known_is_unknown)
{
    struct bench b = {.now = {1}};

    judge_nic_init(&b.judge, &limits);
    step(&b, 1);
    is(&b, HF_PF_UNKNOWN, HF_NIC_NONE);
    ck_assert(!b.verdict.has_changed);
}
END_TEST

START_TEST(a_lost_carrier_comes_back_through_a_hold)
{
    struct bench b = well();
    hf_time fell;

    b.sample.carrier_downs++;
    b.sample.has_carrier = NIC_NO;
    step(&b, 1);
    fell = b.now;
    is(&b, HF_PF_DOWN, HF_NIC_CARRIER);
    ck_assert_int_eq(b.verdict.since.ns, fell.ns);
    step(&b, 5000);
    ck_assert_int_eq(b.verdict.since.ns, fell.ns);
    b.sample.has_carrier = NIC_YES;
    step(&b, 1);
    is(&b, HF_PF_HOLD, HF_NIC_RETURNING);
    ck_assert_uint_eq(b.verdict.hold_ms, 30000);
    step(&b, 29999);
    is(&b, HF_PF_HOLD, HF_NIC_RETURNING);
    ck_assert_uint_eq(b.verdict.hold_ms, 1);
    step(&b, 1);
    is(&b, HF_PF_UP, HF_NIC_NONE);
}
END_TEST

START_TEST(a_glitch_between_two_looks_is_a_fall)
{
    struct bench b = well();

    b.sample.carrier_downs++; /* gone and back: traffic was lost */
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_CARRIER);
    step(&b, 1);
    is(&b, HF_PF_HOLD, HF_NIC_RETURNING);
}
END_TEST

START_TEST(a_fall_whose_carrier_nobody_can_tell_stays)
{
    struct bench b = well();

    b.sample.carrier_downs++;
    b.sample.has_carrier = NIC_NOT_KNOWN;
    step(&b, 1);
    step(&b, 3600000);
    is(&b, HF_PF_DOWN, HF_NIC_CARRIER);
}
END_TEST

START_TEST(a_driver_that_counts_anew_has_not_fallen)
{
    struct bench b = well();

    b.sample.carrier_downs = 0;
    step(&b, 1);
    is(&b, HF_PF_UP, HF_NIC_NONE);
    b.sample.carrier_downs = 1;
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_CARRIER);
}
END_TEST

/* What only the card or its driver can repair. */
static const struct {
    enum nic_signal signal;
    enum hf_nic_cause cause;
    enum nic_signal heals[6];
    unsigned heals_count;
} lasting[] = {
    {NIC_SIGNAL_AER_BEGIN, HF_NIC_AER, {NIC_SIGNAL_AER_RECOVERED, NIC_SIGNAL_BOUND}, 2},
    {NIC_SIGNAL_AER_FAILED, HF_NIC_AER_FAILED, {NIC_SIGNAL_AER_RECOVERED, NIC_SIGNAL_BOUND}, 2},
    {NIC_SIGNAL_MC_TIMEOUT, HF_NIC_MC_TIMEOUT, {NIC_SIGNAL_MC_ANSWERS, NIC_SIGNAL_BOUND}, 2},
    {NIC_SIGNAL_MC_ASSERT, HF_NIC_MC_ASSERT, {NIC_SIGNAL_MC_ANSWERS, NIC_SIGNAL_ADDED}, 2},
    {NIC_SIGNAL_TOO_MANY_RESETS, HF_NIC_DISABLED, {NIC_SIGNAL_BOUND, NIC_SIGNAL_FORGIVEN}, 2},
    {NIC_SIGNAL_DISABLED, HF_NIC_DISABLED, {NIC_SIGNAL_BOUND, NIC_SIGNAL_ADDED}, 2},
    {NIC_SIGNAL_VSWITCH_LOST, HF_NIC_VSWITCH, {NIC_SIGNAL_BOUND, NIC_SIGNAL_FORGIVEN}, 2},
    {NIC_SIGNAL_CONFIG_GONE,
     HF_NIC_CONFIG_GONE,
     {NIC_SIGNAL_AER_RECOVERED, NIC_SIGNAL_BOUND, NIC_SIGNAL_MC_ANSWERS},
     3},
};
enum { LASTING = sizeof lasting / sizeof lasting[0] };

START_TEST(carrier_alone_never_heals_a_card)
{
    struct bench b = well();

    hear(&b, lasting[_i].signal);
    step(&b, 1);
    is(&b, HF_PF_DOWN, lasting[_i].cause);
    /* A carrier that goes and comes for an hour, everything else well. */
    for (unsigned i = 0; i < 60; i++) {
        b.sample.has_carrier = i % 2 == 0 ? NIC_NO : NIC_YES;
        step(&b, 60000);
        is(&b, HF_PF_DOWN, lasting[_i].cause);
    }
    for (unsigned i = 0; i < lasting[_i].heals_count; i++) {
        struct bench again = b;

        hear(&again, lasting[_i].heals[i]);
        step(&again, 1);
        is(&again, HF_PF_HOLD, HF_NIC_RETURNING);
    }
}
END_TEST

START_TEST(a_controller_is_believed_only_what_it_answered_afterwards)
{
    struct bench b = well();

    b.sample.answered_at = b.now; /* begun before, answered late */
    hear(&b, NIC_SIGNAL_MC_TIMEOUT);
    step(&b, 100);
    is(&b, HF_PF_DOWN, HF_NIC_MC_TIMEOUT);
    hear(&b, NIC_SIGNAL_RESET);
    b.sample.answered_at = b.now;
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_MC_TIMEOUT);
    b.sample.answered_at = b.now;
    step(&b, 1);
    is(&b, HF_PF_HOLD, HF_NIC_RETURNING);
}
END_TEST

START_TEST(resets_and_stalls_heal_by_calm)
{
    static const struct {
        enum nic_signal signal;
        enum hf_nic_cause cause;
        int64_t calm_ms;
    } kinds[] = {{NIC_SIGNAL_RESET, HF_NIC_RESET, NIC_RESET_CALM_MS},
                 {NIC_SIGNAL_TX_STALLED, HF_NIC_TX_TIMEOUT, NIC_TX_CALM_MS}};
    struct bench b = well();

    hear(&b, kinds[_i].signal);
    step(&b, 5000);
    is(&b, HF_PF_DOWN, kinds[_i].cause);
    hear(&b, kinds[_i].signal); /* calm is counted from the last one */
    step(&b, kinds[_i].calm_ms - 1);
    is(&b, HF_PF_DOWN, kinds[_i].cause);
    step(&b, 1);
    is(&b, HF_PF_HOLD, HF_NIC_RETURNING);
}
END_TEST

START_TEST(a_counted_stall_is_one_too)
{
    struct bench b = well();

    b.sample.tx_timeouts = 1;
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_TX_TIMEOUT);
}
END_TEST

/* Fall after so long in the state it is in, and come back at once. */
static uint32_t fall_and_return(struct bench *b, int64_t after_ms)
{
    step(b, after_ms);
    b->sample.has_carrier = NIC_NO;
    step(b, 1);
    ck_assert_int_eq(b->verdict.state, HF_PF_DOWN);
    b->sample.has_carrier = NIC_YES;
    step(b, 1);
    ck_assert_int_eq(b->verdict.state, HF_PF_HOLD);
    return b->verdict.hold_ms;
}

START_TEST(hold_down_doubles_up_to_its_cap)
{
    static const uint32_t wanted[] = {30000, 60000, 120000, 240000, 480000, 600000, 600000};
    struct bench b = well();

    for (unsigned i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        ck_assert_uint_eq(fall_and_return(&b, 2000), wanted[i]);
        is(&b, HF_PF_HOLD, i == 0 ? HF_NIC_RETURNING : HF_NIC_FLAPPING);
    }
}
END_TEST

START_TEST(a_fall_soon_after_its_hold_is_a_repeat_and_a_late_one_is_not)
{
    struct bench b = well();

    ck_assert_uint_eq(fall_and_return(&b, 2000), 30000);
    step(&b, 30000);
    is(&b, HF_PF_UP, HF_NIC_NONE);
    ck_assert_uint_eq(fall_and_return(&b, 29000), 60000);
    step(&b, 60000);
    is(&b, HF_PF_UP, HF_NIC_NONE);
    ck_assert_uint_eq(fall_and_return(&b, 60001), 30000);
    is(&b, HF_PF_HOLD, HF_NIC_RETURNING);
}
END_TEST

START_TEST(a_bouncing_plug_has_fallen_once)
{
    struct bench b = well();

    for (unsigned i = 0; i < 9; i++)
        ck_assert_uint_eq(fall_and_return(&b, 100), 30000);
    /* Ten times a second and no end: it doubles once a second. */
    for (unsigned i = 0; i < 10; i++)
        (void)fall_and_return(&b, 100);
    is(&b, HF_PF_HOLD, HF_NIC_FLAPPING);
    ck_assert_uint_eq(b.verdict.hold_ms, 60000);
}
END_TEST

static void gravest_of(enum nic_signal a, enum nic_signal z)
{
    uint32_t sets_a = judge_nic_signal(a).sets & ~1u, sets_z = judge_nic_signal(z).sets & ~1u;
    struct bench b = well(), swapped = b;
    uint32_t suspects =
        1u << HF_NIC_OPTICS | 1u << HF_NIC_HOT | 1u << HF_NIC_ERRORS | 1u << HF_NIC_VF_DRIVER;

    if (sets_a == 0 || sets_z == 0)
        return;
    hear(&b, a);
    hear(&b, z);
    step(&b, 1);
    hear(&swapped, z);
    hear(&swapped, a);
    step(&swapped, 1);
    ck_assert_int_eq(b.verdict.cause, swapped.verdict.cause);
    ck_assert_uint_eq(1u << b.verdict.cause, sets_a > sets_z ? sets_a : sets_z);
    if (((sets_a | sets_z) & ~suspects) == 0)
        ck_assert_int_eq(b.verdict.state, HF_PF_SUSPECT);
    else
        ck_assert(judge_nic_is_dead(b.verdict.state));
}

START_TEST(the_gravest_cause_wins)
{
    for (unsigned a = 0; a < NIC_SIGNALS; a++)
        for (unsigned z = 0; z < NIC_SIGNALS; z++)
            gravest_of((enum nic_signal)a, (enum nic_signal)z);
}
END_TEST

START_TEST(what_still_carries_is_only_suspect)
{
    struct bench b = well();

    b.sample.is_hot = NIC_YES;
    step(&b, 1);
    is(&b, HF_PF_SUSPECT, HF_NIC_HOT);
    b.sample.has_bare_vf = NIC_YES;
    step(&b, 1);
    is(&b, HF_PF_SUSPECT, HF_NIC_VF_DRIVER);
    ck_assert(b.verdict.has_changed);
    b.sample.is_hot = b.sample.has_bare_vf = NIC_NO;
    b.sample.is_optics_bad = NIC_YES;
    step(&b, 1);
    is(&b, HF_PF_SUSPECT, HF_NIC_OPTICS);
    b.sample.is_optics_bad = NIC_NO;
    step(&b, 1);
    is(&b, HF_PF_UP, HF_NIC_NONE);
    b.sample.takes_part_in_lacp = NIC_NO;
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_LACP);
}
END_TEST

START_TEST(one_silent_peer_condemns_nobody)
{
    struct bench b = well();

    b.sample.bfd = (struct nic_bfd){.peers = 2, .up = 1, .silent = 1, .heard_elsewhere = 1};
    step(&b, 1);
    is(&b, HF_PF_UP, HF_NIC_NONE); /* the other one is heard: this NIC works */
    b.sample.bfd = (struct nic_bfd){.peers = 1, .up = 0, .silent = 1};
    step(&b, 1);
    is(&b, HF_PF_SUSPECT, HF_NIC_BFD);
    step(&b, 3600000);
    is(&b, HF_PF_SUSPECT, HF_NIC_BFD);
    b.sample.bfd = (struct nic_bfd){.peers = 1, .up = 1};
    step(&b, 1);
    is(&b, HF_PF_UP, HF_NIC_NONE);
}
END_TEST

START_TEST(two_silent_peers_or_one_that_lives_condemn)
{
    static const struct nic_bfd silence[] = {
        {.peers = 2, .up = 0, .silent = 2},
        {.peers = 1, .up = 0, .silent = 1, .heard_elsewhere = 1},
        {.peers = 4, .up = 0, .silent = 1, .heard_elsewhere = 1}, /* three were never heard */
    };
    struct bench b = well();

    b.sample.bfd = silence[_i];
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_BFD);
    /* The other fabric falls silent as well, sessions go: nobody is heard here for all that. */
    b.sample.bfd.heard_elsewhere = 0;
    step(&b, 1);
    b.sample.bfd.silent = 1;
    step(&b, 1);
    b.sample.bfd = (struct nic_bfd){.peers = 0};
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_BFD);
    b.sample.bfd = (struct nic_bfd){.peers = 2, .up = 1, .silent = 1};
    step(&b, 1);
    is(&b, HF_PF_HOLD, HF_NIC_RETURNING);
}
END_TEST

START_TEST(peers_that_were_never_heard_say_nothing)
{
    struct bench b = well();

    b.sample.bfd = (struct nic_bfd){.peers = 3};
    step(&b, 1);
    is(&b, HF_PF_UP, HF_NIC_NONE);
}
END_TEST

START_TEST(a_peer_that_dies_is_not_heard_since)
{
    hf_time here = {1000000000};
    uint32_t interval_us = 10000;

    ck_assert(!judge_nic_is_heard_since(here, here, interval_us));
    ck_assert(!judge_nic_is_heard_since(here, hf_time_add_ms(here, 10), interval_us));
    ck_assert(!judge_nic_is_heard_since(here, hf_time_add_ms(here, 19), interval_us));
    ck_assert(judge_nic_is_heard_since(here, hf_time_add_ms(here, 20), interval_us));
    ck_assert(!judge_nic_is_heard_since(hf_time_add_ms(here, 5), here, interval_us));
}
END_TEST

START_TEST(not_knowing_kills_nothing_and_heals_nothing)
{
    struct bench b = well(), dead = well();

    b.sample.is_seen = false;
    step(&b, 1);
    is(&b, HF_PF_UNKNOWN, HF_NIC_NONE);
    b.sample.is_seen = true;
    step(&b, 1);
    is(&b, HF_PF_UP, HF_NIC_NONE);

    dead.sample.has_carrier = NIC_NO;
    step(&dead, 1);
    dead.sample = (struct nic_sample){.is_seen = false};
    step(&dead, 3600000);
    is(&dead, HF_PF_DOWN, HF_NIC_CARRIER);
    ck_assert(!dead.verdict.has_changed);
}
END_TEST

START_TEST(who_cannot_tell_the_carrier_has_not_seen_it)
{
    struct bench b = well();

    b.sample.has_carrier = NIC_NOT_KNOWN;
    step(&b, 1);
    is(&b, HF_PF_UNKNOWN, HF_NIC_NONE);
}
END_TEST

START_TEST(a_hold_counts_only_what_is_seen)
{
    struct bench b = well();

    (void)fall_and_return(&b, 2000);
    step(&b, 20000);
    b.sample.is_seen = false;
    step(&b, 1);
    is(&b, HF_PF_HOLD, HF_NIC_RETURNING);
    b.sample.is_seen = true;
    step(&b, 29999);
    is(&b, HF_PF_HOLD, HF_NIC_RETURNING);
    step(&b, 1);
    is(&b, HF_PF_UP, HF_NIC_NONE);
}
END_TEST

START_TEST(a_device_that_is_gone_is_absent_and_one_put_in_is_held)
{
    struct bench b = well();

    b.sample.is_present = NIC_NO;
    b.sample.is_seen = false;
    step(&b, 1);
    is(&b, HF_PF_ABSENT, HF_NIC_REMOVED);
    ck_assert(judge_nic_is_dead(b.verdict.state));
    b.sample.is_present = NIC_YES;
    b.sample.has_driver = NIC_NO;
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_UNBOUND);
    b.sample.has_driver = NIC_YES;
    b.sample.is_seen = true;
    step(&b, 1);
    is(&b, HF_PF_HOLD, HF_NIC_RETURNING);
}
END_TEST

START_TEST(what_we_switched_off_ourselves_is_no_cause)
{
    struct bench b = well();

    b.sample.bfd = (struct nic_bfd){.peers = 2, .up = 0, .silent = 2};
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_BFD);
    b.sample.is_admin_ours = true;
    b.sample.is_admin_up = b.sample.has_carrier = NIC_NO;
    b.sample.carrier_downs++;
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_BFD);
    b.sample.is_admin_ours = false;
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_BFD); /* its flags are looked at now and then */
    b.sample.bfd = (struct nic_bfd){.peers = 2, .up = 2};
    step(&b, NIC_SETTLE_MS);
    is(&b, HF_PF_DOWN, HF_NIC_ADMIN); /* somebody else's hand */
    b.sample.is_admin_up = b.sample.has_carrier = NIC_YES;
    step(&b, 1);
    is(&b, HF_PF_HOLD, HF_NIC_RETURNING);
}
END_TEST

/* Put down for a PCIe error, from which the card recovers while it is down. */
static struct bench put_down(void)
{
    struct bench b = well();

    hear(&b, NIC_SIGNAL_AER_BEGIN);
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_AER);
    b.sample.is_admin_ours = true;
    b.sample.is_admin_up = b.sample.has_carrier = NIC_NO;
    b.sample.carrier_downs++;
    step(&b, 1);
    hear(&b, NIC_SIGNAL_AER_RECOVERED);
    step(&b, 1);
    return b;
}

START_TEST(what_we_switched_off_is_not_up_whatever_recovers)
{
    struct bench b = put_down();

    is(&b, HF_PF_DOWN, HF_NIC_AER); /* what it was dead of: nobody can see whether it still is */
    for (unsigned i = 0; i < 60; i++) {
        step(&b, 60000);
        ck_assert(!b.verdict.has_changed);
    }
    is(&b, HF_PF_DOWN, HF_NIC_AER);
    b.sample.is_seen = false; /* nor when it cannot be read */
    b.sample.is_admin_up = b.sample.has_carrier = NIC_NOT_KNOWN;
    step(&b, 60000);
    is(&b, HF_PF_DOWN, HF_NIC_AER);
}
END_TEST

START_TEST(a_pf_that_carries_is_not_down_because_we_ordered_it)
{
    struct bench b = well();

    hear(&b, NIC_SIGNAL_AER_BEGIN);
    b.sample.is_admin_ours = true; /* refused, or still with a worker */
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_AER);
    hear(&b, NIC_SIGNAL_AER_RECOVERED);
    step(&b, 1);
    is(&b, HF_PF_HOLD, HF_NIC_RETURNING);
    /* Now it is carried out. */
    b.sample.is_admin_up = b.sample.has_carrier = NIC_NO;
    b.sample.carrier_downs++;
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_ADMIN);
    b.sample.is_admin_ours = false;
    b.sample.is_admin_up = b.sample.has_carrier = NIC_YES;
    step(&b, 1);
    is(&b, HF_PF_HOLD, HF_NIC_RETURNING); /* it did not flap */
    ck_assert_uint_eq(b.verdict.hold_ms, 30000);
}
END_TEST

/* Whatever it was: a leg of a PF that is off carries nothing. */
START_TEST(what_we_switch_off_is_down_and_has_not_failed)
{
    struct bench b = well();

    if (_i == 1) {
        b.sample.is_hot = NIC_YES;
        step(&b, 1);
        is(&b, HF_PF_SUSPECT, HF_NIC_HOT);
    }
    if (_i == 2)
        b.sample.has_carrier = NIC_NOT_KNOWN;
    b.sample.is_admin_ours = true;
    b.sample.is_admin_up = NIC_NO;
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_ADMIN);
    ck_assert_int_eq(b.verdict.since.ns, b.now.ns);
    b.sample.is_admin_ours = false;
    b.sample.is_admin_up = b.sample.has_carrier = NIC_YES;
    step(&b, 1);
    is(&b, HF_PF_HOLD, HF_NIC_RETURNING);
    ck_assert_uint_eq(b.verdict.hold_ms, 30000);
    step(&b, 1);
    /* A fall now is the first one. */
    ck_assert_uint_eq(fall_and_return(&b, 2000), 30000);
}
END_TEST

START_TEST(what_our_own_switch_does_to_the_carrier_is_no_fall)
{
    struct bench b = put_down();

    step(&b, 30000);
    b.sample.is_admin_ours = false; /* told before the flags are read again */
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_AER);
    ck_assert(!b.verdict.has_changed);
    b.sample.is_admin_up = NIC_YES;
    b.sample.carrier_downs++;
    step(&b, 2000); /* it looks for its link partner */
    is(&b, HF_PF_DOWN, HF_NIC_AER);
    b.sample.carrier_downs++;
    b.sample.has_carrier = NIC_YES;
    step(&b, 1);
    is(&b, HF_PF_HOLD, HF_NIC_RETURNING);
    ck_assert_uint_eq(b.verdict.hold_ms, 30000);
    step(&b, 30000);
    is(&b, HF_PF_UP, HF_NIC_NONE);
    /* From its first carrier on every loss counts. */
    b.sample.carrier_downs++;
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_CARRIER);
}
END_TEST

START_TEST(a_loss_after_the_first_carrier_counts_at_once)
{
    struct bench b = put_down();

    b.sample.is_admin_ours = false;
    b.sample.is_admin_up = b.sample.has_carrier = NIC_YES;
    step(&b, 1);
    is(&b, HF_PF_HOLD, HF_NIC_RETURNING);
    b.sample.carrier_downs++;
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_CARRIER);
}
END_TEST

START_TEST(a_wire_that_was_lost_meanwhile_is_noticed)
{
    struct bench b = put_down();

    b.sample.is_admin_ours = false;
    b.sample.is_admin_up = NIC_YES;
    step(&b, NIC_SETTLE_MS - 1);
    is(&b, HF_PF_DOWN, HF_NIC_AER);
    step(&b, 1);
    is(&b, HF_PF_DOWN, HF_NIC_CARRIER);
    step(&b, 3600000);
    is(&b, HF_PF_DOWN, HF_NIC_CARRIER);
    b.sample.has_carrier = NIC_YES;
    step(&b, 1);
    is(&b, HF_PF_HOLD, HF_NIC_RETURNING);
}
END_TEST

START_TEST(both_ports_share_the_fate_of_their_controller)
{
    struct bench a = well(), z = well();

    hear(&a, NIC_SIGNAL_MC_TIMEOUT);
    step(&a, 1);
    ck_assert(a.verdict.is_card_dead);
    z.sample.is_sister_dead = a.verdict.is_card_dead ? NIC_YES : NIC_NO;
    step(&z, 1);
    is(&z, HF_PF_DOWN, HF_NIC_SISTER);
    ck_assert(!z.verdict.is_card_dead); /* it lost it by hearsay: no circle */
    hear(&a, NIC_SIGNAL_MC_ANSWERS);
    step(&a, 1);
    z.sample.is_sister_dead = a.verdict.is_card_dead ? NIC_YES : NIC_NO;
    step(&z, 1);
    is(&z, HF_PF_HOLD, HF_NIC_RETURNING);
    /* A wire is a port's own. */
    a = well();
    a.sample.has_carrier = NIC_NO;
    step(&a, 1);
    ck_assert(!a.verdict.is_card_dead);
}
END_TEST

START_TEST(a_card_is_known_by_serial_else_by_slot)
{
    ck_assert(judge_nic_same_card("X1", "0000:01:00.0", "X1", "0000:02:00.0"));
    ck_assert(!judge_nic_same_card("X1", "0000:01:00.0", "X2", "0000:01:00.1"));
    ck_assert(judge_nic_same_card("", "0000:01:00.0", "", "0000:01:00.1"));
    ck_assert(judge_nic_same_card("X1", "0000:01:00.0", "", "0000:01:00.1"));
    ck_assert(!judge_nic_same_card("", "0000:01:00.0", "", "0000:01:01.0"));
    ck_assert(!judge_nic_same_card("", "", "", ""));
}
END_TEST

START_TEST(errors_count_by_the_second)
{
    struct bench b = well();

    b.sample.errors = NIC_ERRORS_LIMIT - 1;
    step(&b, NIC_ERRORS_WINDOW_MS);
    is(&b, HF_PF_UP, HF_NIC_NONE);
    b.sample.errors += NIC_ERRORS_LIMIT;
    step(&b, 1);
    is(&b, HF_PF_UP, HF_NIC_NONE); /* the second is not over */
    step(&b, NIC_ERRORS_WINDOW_MS);
    is(&b, HF_PF_SUSPECT, HF_NIC_ERRORS);
    step(&b, NIC_ERRORS_CALM_MS - 1);
    is(&b, HF_PF_SUSPECT, HF_NIC_ERRORS);
    step(&b, NIC_ERRORS_WINDOW_MS);
    is(&b, HF_PF_UP, HF_NIC_NONE);
    b.sample.errors = 0; /* counts anew */
    step(&b, NIC_ERRORS_WINDOW_MS);
    is(&b, HF_PF_UP, HF_NIC_NONE);
    b.sample.errors = 40; /* in ten seconds: four a second */
    step(&b, 10 * NIC_ERRORS_WINDOW_MS);
    is(&b, HF_PF_UP, HF_NIC_NONE);
}
END_TEST

/* An assert of check writes a record each time: too slow for a walk. */
static void must(bool claim, const char *what)
{
    if (!claim)
        ck_abort_msg("%s", what);
}

/* Any signals and samples: no way from dead to up but through a whole hold, no dead PF without a
 * cause, no cause of one that is well. */
START_TEST(any_history_keeps_the_promises)
{
    uint64_t seed = (uint64_t)_i * 7919 + 1;
    struct bench b = well();
    enum hf_pf was = HF_PF_UP;
    hf_time held_at = {0};

    for (unsigned i = 0; i < 5000; i++) {
        uint64_t r;

        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        r = seed >> 33;
        if (r % 5 == 0)
            hear(&b, (enum nic_signal)(r / 5 % NIC_SIGNALS));
        b.sample.is_seen = r % 11 != 0;
        b.sample.is_present = (enum nic_fact)(r % 17 == 0 ? r / 17 % 3 : NIC_YES);
        b.sample.has_driver = (enum nic_fact)(r % 19 == 0 ? r / 19 % 3 : NIC_YES);
        b.sample.has_carrier = (enum nic_fact)(r % 13 == 0 ? r / 13 % 3 : NIC_YES);
        b.sample.is_sister_dead = (enum nic_fact)(r % 23 == 0 ? r / 23 % 3 : NIC_NO);
        b.sample.carrier_downs += r % 31 == 0;
        if (r % 41 == 0)
            b.sample.is_admin_ours = !b.sample.is_admin_ours;
        b.sample.is_admin_up = (enum nic_fact)(r % 43 == 0 ? r / 43 % 3 : NIC_YES);
        b.sample.bfd =
            (struct nic_bfd){.peers = 2, .up = (uint8_t)(r % 29 != 0), .silent = (uint8_t)(r % 3)};
        if (r % 37 == 0)
            hear(&b, NIC_SIGNAL_FORGIVEN);
        step(&b, (int64_t)(r % 20000));
        must(b.verdict.state < HF_PFS, "a state");
        must(b.verdict.cause < HF_NIC_CAUSES, "a cause");
        if (b.sample.is_admin_ours && b.sample.is_admin_up != NIC_YES)
            must(judge_nic_is_dead(b.verdict.state), "what we switched off is dead");
        if (judge_nic_is_dead(was) && !judge_nic_is_dead(b.verdict.state)) {
            must(b.verdict.state == HF_PF_HOLD, "dead comes back through a hold");
            held_at = b.now;
        }
        if (was == HF_PF_HOLD && (b.verdict.state == HF_PF_UP || b.verdict.state == HF_PF_SUSPECT))
            must(hf_time_since_ms(b.now, held_at) >= limits.hold_down_ms, "a whole hold");
        must((b.verdict.cause == HF_NIC_NONE) ==
                 (b.verdict.state == HF_PF_UP || b.verdict.state == HF_PF_UNKNOWN),
             "a cause where something is wrong, and only there");
        must(b.verdict.hold_ms <= limits.hold_down_max_ms, "the cap");
        must((b.verdict.since.ns != 0) == judge_nic_is_dead(b.verdict.state), "since");
        must(b.verdict.why != NULL, "a reason");
        was = b.verdict.state;
    }
}
END_TEST

HF_TEST_MAIN("agents/nic/judge", HF_LOOP(every_state_and_event_is_decided, 0, HF_PFS *NIC_EVS),
             HF_LOOP(every_signal_is_decided, 0, NIC_SIGNALS),
             HF_CASE(every_cause_that_can_be_marked_can_be_cleared),
             HF_CASE(a_first_look_needs_no_hold), HF_CASE(nothing_known_is_unknown),
             HF_CASE(a_lost_carrier_comes_back_through_a_hold),
             HF_CASE(a_glitch_between_two_looks_is_a_fall),
             HF_CASE(a_fall_whose_carrier_nobody_can_tell_stays),
             HF_CASE(a_driver_that_counts_anew_has_not_fallen),
             HF_LOOP(carrier_alone_never_heals_a_card, 0, LASTING),
             HF_CASE(a_controller_is_believed_only_what_it_answered_afterwards),
             HF_LOOP(resets_and_stalls_heal_by_calm, 0, 2), HF_CASE(a_counted_stall_is_one_too),
             HF_CASE(hold_down_doubles_up_to_its_cap),
             HF_CASE(a_fall_soon_after_its_hold_is_a_repeat_and_a_late_one_is_not),
             HF_CASE(a_bouncing_plug_has_fallen_once), HF_CASE(the_gravest_cause_wins),
             HF_CASE(what_still_carries_is_only_suspect), HF_CASE(one_silent_peer_condemns_nobody),
             HF_LOOP(two_silent_peers_or_one_that_lives_condemn, 0, 3),
             HF_CASE(peers_that_were_never_heard_say_nothing),
             HF_CASE(a_peer_that_dies_is_not_heard_since),
             HF_CASE(not_knowing_kills_nothing_and_heals_nothing),
             HF_CASE(who_cannot_tell_the_carrier_has_not_seen_it),
             HF_CASE(a_hold_counts_only_what_is_seen),
             HF_CASE(a_device_that_is_gone_is_absent_and_one_put_in_is_held),
             HF_CASE(what_we_switched_off_ourselves_is_no_cause),
             HF_CASE(what_we_switched_off_is_not_up_whatever_recovers),
             HF_CASE(a_pf_that_carries_is_not_down_because_we_ordered_it),
             HF_LOOP(what_we_switch_off_is_down_and_has_not_failed, 0, 3),
             HF_CASE(what_our_own_switch_does_to_the_carrier_is_no_fall),
             HF_CASE(a_loss_after_the_first_carrier_counts_at_once),
             HF_CASE(a_wire_that_was_lost_meanwhile_is_noticed),
             HF_CASE(both_ports_share_the_fate_of_their_controller),
             HF_CASE(a_card_is_known_by_serial_else_by_slot), HF_CASE(errors_count_by_the_second),
             HF_LOOP(any_history_keeps_the_promises, 0, 8))
