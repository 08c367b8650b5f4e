/* When a node must die, and what counts. */
#include "tests/unit/supervisord/engine/trio.h"

START_TEST(a_lost_node_nobody_waits_for_is_left_alone)
{
    form(3);
    running_on(a_vm("a"), 1);
    host_gone(2);
    ck_node(2, HF_NODE_LOST);
    ck_assert_ptr_null(effect(HF_FX_FENCE, 0));
}
END_TEST

START_TEST(a_fence_order_dies_with_the_absence_it_was_for)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    host_gone(2);
    struct hf_token old = t.e.nodes[2].order;
    t.member[2].present = t.member[2].in_ring = true;
    members(false);
    ck_node(2, HF_NODE_JOINING);
    ck_assert(!engine_is_live(&t.e, old));
    result(0, old, HF_OUT_DONE);
    ck_assert_int_eq(t.out.why, HF_WHY_STALE_TOKEN);
    ck_node(2, HF_NODE_JOINING);
    inventory(2, (hf_vm_uid[]){uid, 0});
    ck_state(uid, HF_VM_RUNNING);
}
END_TEST

START_TEST(a_failed_fence_is_no_proof_and_is_tried_by_another_after_a_pause)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    host_gone(2);
    result(0, t.e.nodes[2].order, HF_OUT_GAVE_UP);
    ck_node(2, HF_NODE_FENCING);
    ck_state(uid, HF_VM_WAITING);
    ck_assert_int_eq(t.e.nodes[2].timer.purpose, FOR_FENCE_RETRY);
    ck_assert_uint_eq(t.e.nodes[2].timer.after_ms, 1000);
    expired(1, t.e.nodes[2].timer.token);
    ck_assert_uint_eq(effect(HF_FX_FENCE, 0)->actor.ix, 1);
    result(1, t.e.nodes[2].order, HF_OUT_REFUSED);
    ck_assert_uint_eq(t.e.nodes[2].timer.after_ms, 5000);
    ck_state(uid, HF_VM_WAITING);
}
END_TEST

START_TEST(another_takes_over_when_the_executor_leaves)
{
    form(5);
    hf_vm_uid uid = running_on(a_vm("a"), 4);
    host_gone(4);
    ck_assert_uint_eq(t.e.nodes[4].executor, 0);
    struct hf_token first = t.e.nodes[4].order;
    host_gone(0);
    ck_assert_uint_eq(t.e.nodes[4].executor, 1);
    ck_assert(!engine_is_live(&t.e, first));
    result(1, t.e.nodes[4].order, HF_OUT_DONE);
    ck_state(uid, HF_VM_STARTING);
}
END_TEST

START_TEST(only_the_executors_word_counts)
{
    form(3);
    running_on(a_vm("a"), 2);
    host_gone(2);
    result(1, t.e.nodes[2].order, HF_OUT_DONE);
    ck_assert_int_eq(t.out.why, HF_WHY_STALE_TOKEN);
    ck_node(2, HF_NODE_FENCING);
}
END_TEST

START_TEST(an_operator_may_fence_a_member_but_not_the_quorum)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    order(HF_ORDER_FENCE, 2, 0);
    ck_node(2, HF_NODE_FENCING);
    ck_state(uid, HF_VM_WAITING);
    order(HF_ORDER_FENCE, 1, 0);
    ck_assert_int_eq(t.out.why, HF_WHY_WOULD_LOSE_QUORUM);
    result(0, t.e.nodes[2].order, HF_OUT_DONE);
    ck_node(2, HF_NODE_FENCING); /* reads off, and is still in the ring */
    ck_state(uid, HF_VM_WAITING);
    host_gone(2);
    ck_node(2, HF_NODE_DEAD);
    ck_state(uid, HF_VM_STARTING);
}
END_TEST

/* Devices that lie, or switch another host. */
static hf_vm_uid read_off_but_heard(void)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    order(HF_ORDER_FENCE, 2, 0);
    result(0, t.e.nodes[2].order, HF_OUT_DONE);
    ck_assert_int_eq(t.e.nodes[2].timer.purpose, FOR_GONE);
    return uid;
}

START_TEST(who_reads_off_and_stays_in_the_ring_is_not_dead)
{
    hf_vm_uid uid = read_off_but_heard();
    expired(1, t.e.nodes[2].timer.token);
    ck_node(2, HF_NODE_FENCING);
    ck_assert_int_eq(t.out.changes[0].why, HF_WHY_HEARD_AFTER_PROOF);
    ck_assert_int_eq(t.e.nodes[2].timer.purpose, FOR_FENCE_RETRY);
    ck_state(uid, HF_VM_WAITING);
    host_gone(2); /* much later, and read off no more */
    ck_node(2, HF_NODE_FENCING);
    ck_state(uid, HF_VM_WAITING);
}
END_TEST

START_TEST(a_persons_word_is_about_the_absence_it_was_given_in)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    order(HF_ORDER_DISARM, HF_NO_NODE.ix, 0);
    host_gone(2);
    struct hf_event late = {.from = {1}, .type = HF_EV_ORDER};
    late.u.order.type = HF_ORDER_CONFIRM;
    late.u.order.node = (hf_node){2};
    late.u.order.as_of = engine_as_of(&t.e);
    t.member[2].present = t.member[2].in_ring = true;
    members(false);
    inventory(2, (hf_vm_uid[]){uid, 0});
    host_gone(2);
    step(late); /* it has lain in an outbox meanwhile */
    ck_assert_int_eq(t.out.why, HF_WHY_BACK_SINCE);
    ck_node(2, HF_NODE_LOST);
    late.u.order.type = HF_ORDER_FENCE;
    step(late);
    ck_assert_int_eq(t.out.why, HF_WHY_BACK_SINCE);
    order(HF_ORDER_CONFIRM, 2, 0);
    ck_node(2, HF_NODE_DEAD);
}
END_TEST

START_TEST(an_order_given_through_a_node_that_was_away_since_is_not_obeyed)
{
    form(3);
    struct hf_event late = {.from = {2}, .type = HF_EV_ORDER};
    late.u.order.type = HF_ORDER_DRAIN;
    late.u.order.node = (hf_node){1};
    late.u.order.as_of = engine_as_of(&t.e);
    host_gone(2);
    t.member[2].present = t.member[2].in_ring = true;
    members(false);
    step(late); /* its host was frozen, and sends it now */
    ck_assert(!t.out.applied);
    ck_assert_int_eq(t.out.why, HF_WHY_BACK_SINCE);
    ck_assert(!t.e.nodes[1].in_maintenance);
    late.u.order.as_of = engine_as_of(&t.e); /* given anew */
    step(late);
    ck_assert(t.out.applied);
}
END_TEST

START_TEST(what_was_read_before_a_cold_start_proves_nothing)
{
    hf_vm_uid uid = read_off_but_heard();
    members(true);
    host_gone(2);
    ck_state(uid, HF_VM_WAITING);
    ck_assert_int_ne(t.e.nodes[2].state, HF_NODE_DEAD);
}
END_TEST

START_TEST(an_order_against_a_member_is_withheld_when_another_is_lost)
{
    form(4);
    order(HF_ORDER_FENCE, 3, 0);
    ck_node(3, HF_NODE_FENCING);
    struct hf_token token = t.e.nodes[3].order;
    host_gone(2);
    ck_node(3, HF_NODE_JOINING);
    ck_assert(!engine_is_live(&t.e, token));
}
END_TEST

START_TEST(a_persons_word_counts_only_for_who_is_not_heard)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    order(HF_ORDER_CONFIRM, 2, 0);
    ck_assert_int_eq(t.out.why, HF_WHY_STILL_HEARD);
    daemon_gone(2);
    order(HF_ORDER_CONFIRM, 2, 0);
    ck_assert_int_eq(t.out.why, HF_WHY_STILL_HEARD);
    host_gone(2);
    order(HF_ORDER_CONFIRM, 2, 0);
    ck_assert(t.out.applied);
    ck_node(2, HF_NODE_DEAD);
    ck_state(uid, HF_VM_STARTING);
}
END_TEST

START_TEST(disarming_calls_a_fence_off)
{
    form(3);
    running_on(a_vm("a"), 2);
    host_gone(2);
    struct hf_token token = t.e.nodes[2].order;
    order(HF_ORDER_DISARM, 0xff, 0);
    ck_node(2, HF_NODE_LOST);
    ck_assert(!engine_is_live(&t.e, token));
}
END_TEST

START_TEST(disarming_pardons_a_member)
{
    form(3);
    order(HF_ORDER_FENCE, 2, 0);
    ck_node(2, HF_NODE_FENCING);
    order(HF_ORDER_DISARM, 0xff, 0);
    ck_node(2, HF_NODE_JOINING);
}
END_TEST

START_TEST(a_vm_not_wanted_any_more_needs_nobodys_death)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    host_gone(2);
    ck_node(2, HF_NODE_FENCING);
    order(HF_ORDER_VM_STOP, 0xff, uid);
    ck_node(2, HF_NODE_LOST);
    ck_state(uid, HF_VM_WAITING);
}
END_TEST

START_TEST(a_second_level_follows_at_once)
{
    struct hf_group g = a_group(3);
    struct hf_err err;
    g.nodes[2].fence_levels = 2;
    ck_assert_int_eq(engine_init(&t.e, &g, &err), HF_OK);
    for (uint8_t n = 0; n < 3; n++)
        boots(n, 1);
    members(false);
    for (uint8_t n = 0; n < 3; n++)
        ready(n);
    order(HF_ORDER_ARM, 0xff, 0);
    running_on(a_vm("a"), 2);
    host_gone(2);
    ck_assert_uint_eq(effect(HF_FX_FENCE, 0)->u.fence.level, 0);
    result(0, t.e.nodes[2].order, HF_OUT_GAVE_UP);
    ck_assert_uint_eq(effect(HF_FX_FENCE, 0)->u.fence.level, 1);
    result(t.e.nodes[2].executor, t.e.nodes[2].order, HF_OUT_GAVE_UP);
    ck_assert_ptr_null(effect(HF_FX_FENCE, 0));
    ck_assert_int_eq(t.e.nodes[2].timer.purpose, FOR_FENCE_RETRY);
}
END_TEST

HF_TEST_MAIN("engine/fence", HF_CASE(a_lost_node_nobody_waits_for_is_left_alone),
             HF_CASE(a_fence_order_dies_with_the_absence_it_was_for),
             HF_CASE(a_failed_fence_is_no_proof_and_is_tried_by_another_after_a_pause),
             HF_CASE(another_takes_over_when_the_executor_leaves),
             HF_CASE(only_the_executors_word_counts),
             HF_CASE(an_operator_may_fence_a_member_but_not_the_quorum),
             HF_CASE(who_reads_off_and_stays_in_the_ring_is_not_dead),
             HF_CASE(a_persons_word_is_about_the_absence_it_was_given_in),
             HF_CASE(an_order_given_through_a_node_that_was_away_since_is_not_obeyed),
             HF_CASE(what_was_read_before_a_cold_start_proves_nothing),
             HF_CASE(an_order_against_a_member_is_withheld_when_another_is_lost),
             HF_CASE(a_persons_word_counts_only_for_who_is_not_heard),
             HF_CASE(disarming_calls_a_fence_off), HF_CASE(disarming_pardons_a_member),
             HF_CASE(a_vm_not_wanted_any_more_needs_nobodys_death),
             HF_CASE(a_second_level_follows_at_once))
