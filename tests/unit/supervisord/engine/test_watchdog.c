/* Time as a proof, and absences that were announced. */
#include "tests/unit/supervisord/engine/trio.h"

enum { LEASE = 3000, TIMEOUT = 5000, SAFE = 3000 + 2 * 5000 + 130 + 1000 };

static void attest_held(uint8_t n, enum hf_watchdog state, uint32_t timeout_ms, uint32_t lease_ms,
                        bool is_held, uint64_t hold_seq)
{
    struct hf_event ev = {.from = {n}, .type = HF_EV_ATTEST};
    ev.u.attest.state = state;
    ev.u.attest.timeout_ms = timeout_ms;
    ev.u.attest.lease_ms = lease_ms;
    ev.u.attest.is_held = is_held;
    ev.u.attest.hold_seq = hold_seq;
    strcpy(ev.u.attest.identity, "iTCO_wdt");
    step(ev);
}

static void attest(uint8_t n, enum hf_watchdog state)
{
    bool is_armed = state == HF_WD_ARMED;
    attest_held(n, state, is_armed ? TIMEOUT : 0, is_armed ? LEASE : 0, false, 0);
}

static struct timer *safe(uint8_t n)
{
    return &t.e.nodes[n].safe;
}

/* A VM on node 2, whose watchdog is armed and whose BMC dies with it. */
static hf_vm_uid lost_with_its_bmc(void)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    attest(2, HF_WD_ARMED);
    host_gone(2);
    return uid;
}

START_TEST(an_attested_watchdog_proves_death_after_its_time)
{
    hf_vm_uid uid = lost_with_its_bmc();
    ck_node(2, HF_NODE_FENCING);
    ck_assert_int_eq(safe(2)->purpose, FOR_SAFE_TIME);
    ck_assert_uint_eq(safe(2)->after_ms, SAFE);
    struct hf_token token = safe(2)->token;
    expired(0, token);
    ck_node(2, HF_NODE_FENCING);
    ck_state(uid, HF_VM_WAITING);
    expired(1, token);
    ck_node(2, HF_NODE_DEAD);
    ck_assert_int_eq(t.e.nodes[2].proof, HF_PROOF_WATCHDOG);
    ck_state(uid, HF_VM_STARTING);
    ck_assert(!hf_token_is(t.e.nodes[2].order));
}
END_TEST

START_TEST(one_fast_clock_shortens_nothing)
{
    hf_vm_uid uid = lost_with_its_bmc();
    struct hf_token token = safe(2)->token;
    for (unsigned i = 0; i < 5; i++)
        expired(1, token);
    ck_state(uid, HF_VM_WAITING);
}
END_TEST

START_TEST(a_failed_fence_does_not_begin_the_wait_anew)
{
    lost_with_its_bmc();
    struct hf_token token = safe(2)->token;
    result(0, t.e.nodes[2].order, HF_OUT_GAVE_UP);
    ck_node(2, HF_NODE_FENCING);
    ck_assert(hf_token_same(safe(2)->token, token));
}
END_TEST

START_TEST(a_fence_that_succeeds_first_ends_the_wait)
{
    hf_vm_uid uid = lost_with_its_bmc();
    struct hf_token token = safe(2)->token;
    result(0, t.e.nodes[2].order, HF_OUT_DONE);
    ck_assert_int_eq(t.e.nodes[2].proof, HF_PROOF_FENCE);
    ck_state(uid, HF_VM_STARTING);
    ck_assert(!engine_is_live(&t.e, token));
}
END_TEST

START_TEST(a_node_that_returns_is_not_declared_dead)
{
    hf_vm_uid uid = lost_with_its_bmc();
    struct hf_token token = safe(2)->token;
    t.member[2].present = t.member[2].in_ring = true;
    members(false);
    expired(0, token);
    expired(1, token);
    ck_node(2, HF_NODE_JOINING);
    inventory(2, (hf_vm_uid[]){uid, 0});
    ck_state(uid, HF_VM_RUNNING);
}
END_TEST

START_TEST(a_host_whose_ring_turns_has_not_been_reset)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    attest(2, HF_WD_ARMED);
    daemon_gone(2);
    struct hf_token grace = t.e.nodes[2].timer.token;
    expired(0, grace);
    expired(1, grace);
    ck_node(2, HF_NODE_FENCING);
    struct hf_token token = safe(2)->token;
    expired(0, token);
    expired(1, token);
    ck_node(2, HF_NODE_FENCING);
    ck_state(uid, HF_VM_WAITING);
    ck_assert_int_eq(safe(2)->purpose, FOR_SAFE_TIME);
    ck_assert(!hf_token_same(safe(2)->token, token));
}
END_TEST

START_TEST(without_an_armed_watchdog_time_proves_nothing)
{
    static const enum hf_watchdog not_armed[] = {HF_WD_UNKNOWN, HF_WD_UNUSED, HF_WD_DISARMED,
                                                 HF_WD_ABSENT,  HF_WD_BUSY,   HF_WD_SOFT,
                                                 HF_WD_BROKEN};
    for (size_t i = 0; i < sizeof not_armed / sizeof *not_armed; i++) {
        form(3);
        running_on(a_vm("a"), 2);
        attest(2, HF_WD_ARMED);
        attest(2, not_armed[i]);
        host_gone(2);
        ck_assert_int_eq(safe(2)->purpose, FOR_NOTHING);
    }
}
END_TEST

START_TEST(a_wait_uses_what_was_read_back_and_the_owners_longer_time)
{
    form(3);
    running_on(a_vm("a"), 2);
    attest_held(2, HF_WD_ARMED, 2 * TIMEOUT, LEASE, false, 0);
    ck_assert_uint_eq(engine_node(&t.e, (hf_node){2}).safe_ms, 24230);
    t.e.group.policy.safe_time_ms = 40000;
    host_gone(2);
    ck_assert_uint_eq(safe(2)->after_ms, 40000);
}
END_TEST

START_TEST(a_new_boot_or_a_cold_start_has_attested_nothing)
{
    form(3);
    running_on(a_vm("a"), 2);
    attest(2, HF_WD_ARMED);
    boots(2, 2);
    members(false);
    ck_assert_uint_eq(engine_node(&t.e, (hf_node){2}).safe_ms, 0);
    attest(2, HF_WD_ARMED);
    members(true);
    ck_assert_uint_eq(engine_node(&t.e, (hf_node){2}).safe_ms, 0);
}
END_TEST

START_TEST(a_new_daemon_leaves_the_watchdog_as_attested)
{
    form(3);
    running_on(a_vm("a"), 2);
    attest(2, HF_WD_ARMED);
    daemon_gone(2);
    t.member[2].present = true;
    t.member[2].incarnation++;
    members(false);
    ck_assert_uint_eq(engine_node(&t.e, (hf_node){2}).safe_ms, SAFE);
}
END_TEST

START_TEST(who_is_condemned_but_here_is_not_proved_dead_by_time)
{
    form(3);
    running_on(a_vm("a"), 2);
    attest(2, HF_WD_ARMED);
    order(HF_ORDER_FENCE, 2, 0);
    ck_node(2, HF_NODE_FENCING);
    ck_assert_int_eq(safe(2)->purpose, FOR_NOTHING);
    host_gone(2);
    ck_assert_int_eq(safe(2)->purpose, FOR_SAFE_TIME);
}
END_TEST

START_TEST(a_watchdog_is_closed_only_when_the_group_knows)
{
    form(3);
    attest(2, HF_WD_ARMED);
    ck_assert(!engine_wants_watchdog(&t.e, (hf_node){2}));
    attest(2, HF_WD_DISARMED);
    const struct hf_effect *fx = effect(HF_FX_DISARM, 0);
    ck_assert_ptr_nonnull(fx);
    ck_assert_uint_eq(fx->actor.ix, 2);
    ck_assert(engine_is_live(&t.e, fx->token));
    struct hf_token token = fx->token;
    attest(2, HF_WD_ARMED);
    ck_assert(!engine_is_live(&t.e, token));
}
END_TEST

START_TEST(a_watchdog_is_wanted_where_a_vm_may_be)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    ck_assert(engine_wants_watchdog(&t.e, (hf_node){2}));
    ck_assert(!engine_wants_watchdog(&t.e, (hf_node){1}));
    order(HF_ORDER_DISARM, HF_NO_NODE.ix, 0);
    ck_assert(!engine_wants_watchdog(&t.e, (hf_node){2}));
    order(HF_ORDER_ARM, HF_NO_NODE.ix, 0);
    t.e.group.nodes[2].has_watchdog = false;
    ck_assert(!engine_wants_watchdog(&t.e, (hf_node){2}));
    (void)uid;
}
END_TEST

START_TEST(without_fence_devices_a_watchdog_is_enough_to_arm_and_to_recover)
{
    struct hf_group g = a_group(3);
    struct hf_err err;
    g.nodes[2].fence_levels = 0;
    memset(&t, 0, sizeof t);
    ck_assert_int_eq(engine_init(&t.e, &g, &err), HF_OK);
    for (uint8_t n = 0; n < 3; n++)
        boots(n, 1);
    members(false);
    for (uint8_t n = 0; n < 3; n++)
        ready(n);
    ck_assert(t.e.nodes[2].cannot_fence);
    order(HF_ORDER_ARM, HF_NO_NODE.ix, 0);
    ck_assert(t.out.applied);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    attest(2, HF_WD_ARMED);
    ck_assert(!t.e.nodes[2].cannot_fence);
    host_gone(2);
    ck_node(2, HF_NODE_LOST);
    struct hf_token token = safe(2)->token;
    expired(0, token);
    expired(1, token);
    ck_state(uid, HF_VM_STARTING);
}
END_TEST

/* ---- holds ---- */

START_TEST(an_announced_absence_shoots_nobody)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    attest(2, HF_WD_ARMED);
    hold(2, 30000);
    const struct hf_effect *fx = effect(HF_FX_HOLD, 0);
    ck_assert_ptr_nonnull(fx);
    ck_assert_uint_eq(fx->u.hold.ms, 30000);
    host_gone(2);
    ck_node(2, HF_NODE_SILENT);
    ck_state(uid, HF_VM_RUNNING);
    ck_assert_uint_eq(t.e.nodes[2].timer.after_ms, 30000);
    t.member[2].present = t.member[2].in_ring = true;
    t.member[2].incarnation++;
    members(false);
    inventory(2, (hf_vm_uid[]){uid, 0});
    ck_node(2, HF_NODE_MEMBER);
    ck_state(uid, HF_VM_RUNNING);
    ck_assert_uint_eq(t.e.nodes[2].returns, 0);
}
END_TEST

/* A corosync that is upgraded comes and goes more than once (seed 112370). */
START_TEST(who_comes_and_goes_within_its_hold_is_not_shot)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    hold(2, 30000);
    host_gone(2);
    t.member[2].present = t.member[2].in_ring = true;
    members(false);
    ck_node(2, HF_NODE_JOINING);
    host_gone(2);
    ck_node(2, HF_NODE_SILENT);
    ck_state(uid, HF_VM_RUNNING);
    ck_assert_ptr_null(effect(HF_FX_FENCE, 0));
    t.member[2].present = t.member[2].in_ring = true;
    members(false);
    inventory(2, (hf_vm_uid[]){uid, 0});
    ck_node(2, HF_NODE_MEMBER);
    host_gone(2); /* it had come back for good: this is another absence */
    ck_node(2, HF_NODE_FENCING);
}
END_TEST

START_TEST(what_is_away_with_notice_is_not_condemned)
{
    form(3);
    struct hf_vm_def def = a_vm("a");
    def.preferred = (hf_node){2};
    hf_vm_uid uid = add(def, true);
    hold(2, 30000);
    host_gone(2);
    ck_node(2, HF_NODE_SILENT);
    vm(uid)->cause = CAUSE_RECOVERY;
    expired(0, vm(uid)->timer.token);            /* its start has a deadline */
    struct hf_token stop = vm(uid)->timer.token; /* and the stop that makes sure */
    expired(0, stop);
    expired(1, stop);
    ck_state(uid, HF_VM_WAITING);
    ck_node(2, HF_NODE_SILENT);
    ck_assert_ptr_null(effect(HF_FX_FENCE, 0));
    struct hf_token held = t.e.nodes[2].hold.token;
    expired(0, held);
    expired(1, held);
    ck_node(2, HF_NODE_FENCING);
}
END_TEST

START_TEST(a_hold_ends_and_then_the_node_is_lost)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    hold(2, 30000);
    daemon_gone(2);
    struct hf_token held = t.e.nodes[2].hold.token, grace = t.e.nodes[2].timer.token;
    expired(0, held);
    expired(1, held);
    ck_node(2, HF_NODE_SILENT);
    expired(0, grace);
    ck_node(2, HF_NODE_SILENT);
    expired(1, grace);
    ck_node(2, HF_NODE_FENCING);
    ck_state(uid, HF_VM_WAITING);
}
END_TEST

START_TEST(a_feeder_on_hold_is_waited_for_as_long_as_it_may_feed)
{
    form(3);
    running_on(a_vm("a"), 2);
    attest(2, HF_WD_ARMED);
    hold(2, 30000);
    ck_assert_uint_eq(engine_node(&t.e, (hf_node){2}).safe_ms, hf_safe_time_ms(30000, TIMEOUT));
    /* It has not heard of the hold yet: its word ends nothing. */
    attest_held(2, HF_WD_ARMED, TIMEOUT, LEASE, false, 0);
    ck_assert_uint_eq(t.e.nodes[2].hold_ms, 30000);
    attest_held(2, HF_WD_ARMED, TIMEOUT, LEASE, true, t.e.nodes[2].hold_seq);
    ck_assert_uint_eq(t.e.nodes[2].hold_ms, 30000);
    attest_held(2, HF_WD_ARMED, TIMEOUT, LEASE, false, t.e.nodes[2].hold_seq);
    ck_assert(t.out.applied);
    ck_assert_uint_eq(engine_node(&t.e, (hf_node){2}).safe_ms, SAFE);
}
END_TEST

START_TEST(a_hold_that_a_cold_start_forgot_is_counted_as_the_longest)
{
    form(3);
    running_on(a_vm("a"), 2);
    attest(2, HF_WD_ARMED);
    hold(2, 30000);
    members(true);
    attest_held(2, HF_WD_ARMED, TIMEOUT, LEASE, true, 0);
    ck_assert_uint_eq(engine_node(&t.e, (hf_node){2}).safe_ms, hf_safe_time_ms(60000, TIMEOUT));
    attest_held(2, HF_WD_ARMED, TIMEOUT, LEASE, false, 0);
    ck_assert_uint_eq(engine_node(&t.e, (hf_node){2}).safe_ms, SAFE);
}
END_TEST

START_TEST(a_hold_is_bounded_and_only_for_who_is_here)
{
    form(3);
    hold(2, 3600000);
    ck_assert_uint_eq(t.e.nodes[2].hold_ms, 60000);
    host_gone(1);
    order(HF_ORDER_HOLD, 1, 0);
    ck_assert_int_eq(t.out.why, HF_WHY_NOT_PRESENT);
}
END_TEST

START_TEST(what_is_pending_comes_again_with_the_same_token)
{
    form(3);
    running_on(a_vm("a"), 2);
    attest(2, HF_WD_ARMED);
    hold(2, 20000);
    static struct hf_effect fx[HF_EFFECTS_MAX];
    uint32_t count = engine_pending(&t.e, (hf_node){2}, fx), holds = 0, timers = 0;
    for (uint32_t i = 0; i < count; i++) {
        holds += fx[i].type == HF_FX_HOLD && hf_token_same(fx[i].token, t.e.nodes[2].hold_order) &&
                 fx[i].u.hold.ms == 20000;
        timers += fx[i].type == HF_FX_TIMER && hf_token_same(fx[i].token, t.e.nodes[2].hold.token);
    }
    ck_assert_uint_eq(holds, 1);
    ck_assert_uint_eq(timers, 1);
}
END_TEST

HF_TEST_MAIN("engine/watchdog", HF_CASE(an_attested_watchdog_proves_death_after_its_time),
             HF_CASE(one_fast_clock_shortens_nothing),
             HF_CASE(a_failed_fence_does_not_begin_the_wait_anew),
             HF_CASE(a_fence_that_succeeds_first_ends_the_wait),
             HF_CASE(a_node_that_returns_is_not_declared_dead),
             HF_CASE(a_host_whose_ring_turns_has_not_been_reset),
             HF_CASE(without_an_armed_watchdog_time_proves_nothing),
             HF_CASE(a_wait_uses_what_was_read_back_and_the_owners_longer_time),
             HF_CASE(a_new_boot_or_a_cold_start_has_attested_nothing),
             HF_CASE(a_new_daemon_leaves_the_watchdog_as_attested),
             HF_CASE(who_is_condemned_but_here_is_not_proved_dead_by_time),
             HF_CASE(a_watchdog_is_closed_only_when_the_group_knows),
             HF_CASE(a_watchdog_is_wanted_where_a_vm_may_be),
             HF_CASE(without_fence_devices_a_watchdog_is_enough_to_arm_and_to_recover),
             HF_CASE(an_announced_absence_shoots_nobody),
             HF_CASE(who_comes_and_goes_within_its_hold_is_not_shot),
             HF_CASE(what_is_away_with_notice_is_not_condemned),
             HF_CASE(a_hold_ends_and_then_the_node_is_lost),
             HF_CASE(a_feeder_on_hold_is_waited_for_as_long_as_it_may_feed),
             HF_CASE(a_hold_that_a_cold_start_forgot_is_counted_as_the_longest),
             HF_CASE(a_hold_is_bounded_and_only_for_who_is_here),
             HF_CASE(what_is_pending_comes_again_with_the_same_token))
