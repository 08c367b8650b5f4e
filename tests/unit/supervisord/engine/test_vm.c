/* The life of a VM. */
#include "tests/unit/supervisord/engine/trio.h"

START_TEST(every_pair_of_state_and_event_is_decided)
{
    const struct vm_rule *r =
        vm_rule((enum hf_vm_state)(_i / HF_VM_EVENTS), (enum hf_vm_event)(_i % HF_VM_EVENTS));
    ck_assert_int_ne(r->verdict, RULE_UNDECIDED);
    ck_assert_ptr_nonnull(r->why);
    ck_assert_uint_lt(r->next, HF_VM_STATES);
    ck_assert_uint_lt(r->act, VM_ACTS);
}
END_TEST

START_TEST(a_lost_host_is_fenced_and_its_vm_starts_only_after_the_proof)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    host_gone(2);
    ck_state(uid, HF_VM_WAITING);
    ck_node(2, HF_NODE_FENCING);
    const struct hf_effect *fx = effect(HF_FX_FENCE, 0);
    ck_assert_ptr_nonnull(fx);
    ck_assert_uint_eq(fx->u.fence.target.ix, 2);
    ck_assert_uint_eq(fx->actor.ix, 0);
    ck_assert_ptr_null(effect(HF_FX_VM_START, 0));
    result(0, fx->token, HF_OUT_DONE);
    ck_node(2, HF_NODE_DEAD);
    ck_state(uid, HF_VM_STARTING);
    ck_assert_ptr_nonnull(effect(HF_FX_VM_START, 0));
    ck_assert_uint_ne(vm(uid)->home, 2);
}
END_TEST

START_TEST(what_ran_nowhere_waits_too_for_a_lost_node_might_have_been_told)
{
    form(3);
    hf_vm_uid uid = add(a_vm("a"), false);
    host_gone(2);
    ck_state(uid, HF_VM_STOPPED);
    order(HF_ORDER_VM_START, 0xff, uid);
    ck_state(uid, HF_VM_WAITING);
    ck_node(2, HF_NODE_FENCING);
    result(0, t.e.nodes[2].order, HF_OUT_DONE);
    ck_state(uid, HF_VM_STARTING);
}
END_TEST

START_TEST(a_crash_restarts_it_where_it_ran_at_once)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 1);
    seen(1, uid, vm(uid)->start_no, HF_SEEN_CRASHED);
    ck_state(uid, HF_VM_STARTING);
    ck_assert_uint_eq(vm(uid)->home, 1);
    ck_assert_uint_eq(vm(uid)->start_no, 2);
}
END_TEST

static void crash(hf_vm_uid uid)
{
    seen(vm(uid)->home, uid, vm(uid)->start_no, HF_SEEN_CRASHED);
    if (vm(uid)->timer.purpose == FOR_BACKOFF)
        expired(0, vm(uid)->timer.token);
}

START_TEST(repeated_crashes_go_elsewhere_and_end_in_failed)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 1);
    uint8_t home[4];
    for (int i = 0; i < 4; i++) {
        crash(uid);
        home[i] = vm(uid)->home;
        result(vm(uid)->home, vm(uid)->order, HF_OUT_DONE);
    }
    ck_assert_uint_eq(home[0], 1);
    ck_assert_uint_eq(home[1], 1);
    ck_assert_uint_ne(home[2], 1);
    crash(uid);
    ck_state(uid, HF_VM_FAILED);
    ck_assert_uint_eq(vm(uid)->possible, 0);
    order(HF_ORDER_VM_START, 0xff, uid);
    ck_state(uid, HF_VM_STARTING);
    ck_assert_uint_eq(vm(uid)->failures, 0);
}
END_TEST

START_TEST(the_second_crash_waits_out_a_back_off)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 1);
    crash(uid);
    result(1, vm(uid)->order, HF_OUT_DONE);
    seen(1, uid, vm(uid)->start_no, HF_SEEN_CRASHED);
    ck_state(uid, HF_VM_PLACING);
    ck_assert_int_eq(vm(uid)->timer.purpose, FOR_BACKOFF);
    ck_assert_uint_eq(vm(uid)->timer.after_ms, 2000);
}
END_TEST

START_TEST(time_forgives)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 1);
    crash(uid);
    result(1, vm(uid)->order, HF_OUT_DONE);
    ck_assert_int_eq(vm(uid)->timer.purpose, FOR_STABLE);
    expired(2, vm(uid)->timer.token);
    ck_assert_uint_eq(vm(uid)->failures, 0);
    ck_state(uid, HF_VM_RUNNING);
}
END_TEST

START_TEST(unknown_is_neither_stopped_nor_failed)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 1);
    seen(1, uid, 0, HF_SEEN_UNKNOWN);
    ck_state(uid, HF_VM_RUNNING);
    ck_assert_uint_eq(vm(uid)->possible, 1u << 1);
    ck_assert_int_eq(vm(uid)->seen, HF_SEEN_UNKNOWN);
}
END_TEST

START_TEST(word_of_an_older_start_is_refused)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 1);
    crash(uid);
    result(1, vm(uid)->order, HF_OUT_DONE);
    seen(1, uid, 1, HF_SEEN_CRASHED);
    ck_assert_int_eq(t.out.why, HF_WHY_STALE_INCARNATION);
    ck_state(uid, HF_VM_RUNNING);
}
END_TEST

START_TEST(what_a_person_ended_is_held)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 1);
    seen(1, uid, vm(uid)->start_no, HF_SEEN_DESTROYED);
    ck_state(uid, HF_VM_HELD);
    ck_assert_uint_eq(vm(uid)->possible, 0);
    order(HF_ORDER_VM_START, 0xff, uid);
    ck_state(uid, HF_VM_STARTING);
}
END_TEST

START_TEST(what_a_person_started_is_held_and_not_started_twice)
{
    form(3);
    hf_vm_uid uid = add(a_vm("a"), false);
    seen(2, uid, 0, HF_SEEN_RUNNING);
    ck_state(uid, HF_VM_HELD);
    ck_assert_uint_eq(vm(uid)->home, 2);
    order(HF_ORDER_VM_START, 0xff, uid);
    ck_state(uid, HF_VM_RUNNING);
    ck_assert_ptr_null(effect(HF_FX_VM_START, 0));
}
END_TEST

START_TEST(a_second_copy_is_ordered_off_where_it_must_not_be)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 1);
    seen(2, uid, 0, HF_SEEN_RUNNING);
    const struct hf_effect *fx = effect(HF_FX_VM_STOP, 0);
    ck_assert_ptr_nonnull(fx);
    ck_assert_uint_eq(fx->actor.ix, 2);
    ck_state(uid, HF_VM_RUNNING);
    result(2, fx->token, HF_OUT_DONE);
    ck_assert_uint_eq(vm(uid)->possible, 1u << 1);
}
END_TEST

START_TEST(a_start_nobody_knows_of_is_made_sure_to_be_off)
{
    form(3);
    hf_vm_uid uid = add(a_vm("a"), true);
    uint8_t home = vm(uid)->home;
    expired(0, vm(uid)->timer.token);
    ck_state(uid, HF_VM_STOPPING);
    ck_assert_uint_eq(effect(HF_FX_VM_STOP, 0)->actor.ix, home);
    result(home, vm(uid)->order, HF_OUT_DONE);
    ck_state(uid, HF_VM_STARTING);
}
END_TEST

START_TEST(recovery_that_cannot_prove_a_stop_fences_the_host)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    crash(uid);
    expired(0, vm(uid)->timer.token);
    ck_state(uid, HF_VM_STOPPING);
    result(2, vm(uid)->order, HF_OUT_GAVE_UP);
    ck_state(uid, HF_VM_WAITING);
    ck_node(2, HF_NODE_FENCING);
}
END_TEST

/* Seed 124556: one clock, twice as fast, condemned a host that had stopped the VM in time. */
START_TEST(one_clock_does_not_condemn_a_host_for_a_stop)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    crash(uid);
    expired(0, vm(uid)->timer.token);
    ck_state(uid, HF_VM_STOPPING);
    struct hf_token deadline = vm(uid)->timer.token;
    expired(0, deadline);
    ck_assert_int_eq(t.out.why, HF_WHY_VOTE_COUNTED);
    expired(0, deadline);
    ck_state(uid, HF_VM_STOPPING);
    ck_node(2, HF_NODE_MEMBER);
    expired(2, deadline); /* that time is up its own node may say, too */
    ck_state(uid, HF_VM_WAITING);
    ck_node(2, HF_NODE_FENCING);
}
END_TEST

START_TEST(a_stop_proved_after_one_clock_ran_out_counts)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    crash(uid);
    expired(0, vm(uid)->timer.token);
    expired(0, vm(uid)->timer.token);
    result(2, vm(uid)->order, HF_OUT_DONE);
    ck_state(uid, HF_VM_PLACING); /* it was only made sure of: a back-off */
    ck_node(2, HF_NODE_MEMBER);
}
END_TEST

START_TEST(a_move_that_cannot_prove_a_stop_shoots_nobody)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    order(HF_ORDER_VM_MOVE, 0, uid);
    ck_state(uid, HF_VM_STOPPING);
    result(2, vm(uid)->order, HF_OUT_GAVE_UP);
    ck_state(uid, HF_VM_WAITING);
    ck_node(2, HF_NODE_MEMBER);
    seen(2, uid, vm(uid)->start_no, HF_SEEN_DESTROYED);
    ck_state(uid, HF_VM_STARTING);
}
END_TEST

START_TEST(a_stop_that_comes_true_late_is_found_by_asking)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    order(HF_ORDER_VM_MOVE, 0, uid);
    struct hf_token late = vm(uid)->order, deadline = vm(uid)->timer.token;
    expired(0, deadline);
    expired(1, deadline);
    ck_state(uid, HF_VM_WAITING);
    ck_assert_uint_eq(engine_inventory_due(&t.e, (hf_node){2}), engine_seq(&t.e));
    result(2, late, HF_OUT_DONE);
    ck_assert_int_eq(t.out.why, HF_WHY_STALE_TOKEN);
    inventory(2, NULL);
    ck_state(uid, HF_VM_STARTING);
}
END_TEST

START_TEST(a_start_certainly_refused_is_tried_again)
{
    form(3);
    hf_vm_uid uid = add(a_vm("a"), true);
    result(vm(uid)->home, vm(uid)->order, HF_OUT_REFUSED);
    ck_state(uid, HF_VM_STARTING);
    ck_assert_uint_eq(vm(uid)->failures, 1);
}
END_TEST

START_TEST(a_home_lost_mid_start_waits_for_proof)
{
    form(3);
    struct hf_vm_def def = a_vm("a");
    def.preferred = (hf_node){2};
    hf_vm_uid uid = add(def, true);
    ck_assert_uint_eq(vm(uid)->home, 2);
    host_gone(2);
    ck_state(uid, HF_VM_WAITING);
    ck_node(2, HF_NODE_FENCING);
}
END_TEST

START_TEST(disarmed_nothing_is_done_alone)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2), crashes = running_on(a_vm("b"), 1);
    order(HF_ORDER_DISARM, 0xff, 0);
    seen(1, crashes, 1, HF_SEEN_CRASHED);
    ck_state(crashes, HF_VM_PLACING);
    host_gone(2);
    ck_node(2, HF_NODE_LOST);
    ck_state(uid, HF_VM_WAITING);
    order(HF_ORDER_ARM, 0xff, 0);
    ck_node(2, HF_NODE_FENCING);
}
END_TEST

START_TEST(who_stops_and_starts_a_waiting_vm_has_decided_anew)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    vm(uid)->failures = 4;
    host_gone(2);
    ck_state(uid, HF_VM_WAITING);
    order(HF_ORDER_VM_STOP, HF_NO_NODE.ix, uid);
    order(HF_ORDER_VM_START, HF_NO_NODE.ix, uid);
    ck_assert_uint_eq(vm(uid)->failures, 0);
}
END_TEST

START_TEST(a_node_that_can_start_nothing_is_not_tried_for_ever)
{
    form(3);
    struct hf_vm_def def = a_vm("a");
    def.preferred = (hf_node){2};
    hf_vm_uid uid = add(def, true);
    for (unsigned i = 0; i <= def.restarts_here; i++) {
        ck_assert_uint_eq(vm(uid)->home, 2);
        result(2, vm(uid)->order, HF_OUT_GAVE_UP);
        ck_state(uid, HF_VM_STOPPING);
        result(2, vm(uid)->order, HF_OUT_DONE); /* nothing is left there */
        ck_assert_uint_eq(vm(uid)->failures, i + 1);
        if (vm(uid)->timer.purpose == FOR_BACKOFF)
            expired(0, vm(uid)->timer.token);
        say_all();
    }
    ck_state(uid, HF_VM_STARTING);
    ck_assert_uint_ne(vm(uid)->home, 2);
}
END_TEST

/* Seed 24873: its companion was allowed nowhere else, and never started. */
START_TEST(a_move_is_over_when_the_vm_is_found_where_it_was_left)
{
    form(3);
    struct hf_vm_def def = a_vm("b");
    hf_vm_uid uid = running_on(a_vm("a"), 1);
    (void)snprintf(vm(uid)->def.together, sizeof vm(uid)->def.together, "pair");
    (void)snprintf(def.together, sizeof def.together, "pair");
    def.allowed = hf_bit((hf_node){1});
    order(HF_ORDER_VM_MOVE, 2, uid);
    ck_state(uid, HF_VM_STOPPING);
    ck_assert_uint_eq(vm(uid)->target, 2);
    host_gone(1); /* and with it the order to stop it */
    ck_state(uid, HF_VM_WAITING);
    boots(1, 1);
    members(false);
    facts(1);
    inventory(1, (const hf_vm_uid[]){uid, 0});
    ck_state(uid, HF_VM_RUNNING);
    ck_assert_uint_eq(vm(uid)->target, HF_NO_NODE.ix);
    struct load load;
    place_load(&t.e, NULL, &load);
    ck_assert_uint_eq(load.promised_mib[2], 0);
    hf_vm_uid companion = add(def, true);
    ck_state(companion, HF_VM_STARTING);
    ck_assert_uint_eq(vm(companion)->home, 1);
}
END_TEST

START_TEST(who_is_started_by_hand_on_its_way_has_arrived)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 1);
    order(HF_ORDER_VM_MOVE, 2, uid);
    host_gone(1);
    order(HF_ORDER_DISARM, HF_NO_NODE.ix, 0);
    order(HF_ORDER_CONFIRM, 1, 0);
    ck_state(uid, HF_VM_PLACING); /* disarmed, nobody starts it but a person */
    ck_assert_uint_eq(vm(uid)->target, 2);
    seen(0, uid, 0, HF_SEEN_RUNNING);
    ck_state(uid, HF_VM_HELD);
    ck_assert_uint_eq(vm(uid)->target, HF_NO_NODE.ix);
    ck_assert_ptr_null(engine_fault(&t.e));
    vm(uid)->target = 2;
    ck_assert_ptr_nonnull(strstr(engine_fault(&t.e), "I13"));
}
END_TEST

HF_TEST_MAIN("engine/vm",
             HF_LOOP(every_pair_of_state_and_event_is_decided, 0, HF_VM_STATES *HF_VM_EVENTS),
             HF_CASE(a_lost_host_is_fenced_and_its_vm_starts_only_after_the_proof),
             HF_CASE(what_ran_nowhere_waits_too_for_a_lost_node_might_have_been_told),
             HF_CASE(a_crash_restarts_it_where_it_ran_at_once),
             HF_CASE(repeated_crashes_go_elsewhere_and_end_in_failed),
             HF_CASE(the_second_crash_waits_out_a_back_off), HF_CASE(time_forgives),
             HF_CASE(unknown_is_neither_stopped_nor_failed),
             HF_CASE(word_of_an_older_start_is_refused), HF_CASE(what_a_person_ended_is_held),
             HF_CASE(what_a_person_started_is_held_and_not_started_twice),
             HF_CASE(a_second_copy_is_ordered_off_where_it_must_not_be),
             HF_CASE(a_start_nobody_knows_of_is_made_sure_to_be_off),
             HF_CASE(recovery_that_cannot_prove_a_stop_fences_the_host),
             HF_CASE(one_clock_does_not_condemn_a_host_for_a_stop),
             HF_CASE(a_stop_proved_after_one_clock_ran_out_counts),
             HF_CASE(a_move_that_cannot_prove_a_stop_shoots_nobody),
             HF_CASE(a_stop_that_comes_true_late_is_found_by_asking),
             HF_CASE(a_start_certainly_refused_is_tried_again),
             HF_CASE(a_home_lost_mid_start_waits_for_proof),
             HF_CASE(disarmed_nothing_is_done_alone),
             HF_CASE(who_stops_and_starts_a_waiting_vm_has_decided_anew),
             HF_CASE(a_node_that_can_start_nothing_is_not_tried_for_ever),
             HF_CASE(a_move_is_over_when_the_vm_is_found_where_it_was_left),
             HF_CASE(who_is_started_by_hand_on_its_way_has_arrived))
