/* Could a node be fenced if it had to be, and who must not be. */
#include "tests/unit/supervisord/engine/trio.h"

static void tested_as(uint8_t from, uint8_t target, uint8_t level, enum hf_path found,
                      uint64_t hardware)
{
    struct hf_event ev = {.from = {from}, .type = HF_EV_PATH};
    ev.u.path.target = (hf_node){target};
    ev.u.path.level = level;
    ev.u.path.found = found;
    ev.u.path.hardware = hardware;
    step(ev);
}

static void hardware(uint8_t n, uint64_t number)
{
    struct hf_event ev = {.from = {n}, .type = HF_EV_FACTS};
    ev.u.facts.memory_mib = 65536;
    ev.u.facts.vm_watch_known = ev.u.facts.link_fit = ev.u.facts.config_same = true;
    ev.u.facts.hardware = number;
    step(ev);
}

static void form_disarmed(void)
{
    form(3);
    order(HF_ORDER_DISARM, HF_NO_NODE.ix, 0);
}

START_TEST(a_path_that_fails_is_told_once_and_again_when_it_works)
{
    form(3);
    tested_as(0, 2, 0, HF_PATH_UNREACHABLE, 0);
    ck_assert(noted(HF_WHY_PATH_FAILED));
    ck_assert(noted(HF_WHY_CANNOT_FENCE));
    ck_assert(!engine_node(&t.e, (hf_node){2}).can_be_fenced);
    tested_as(0, 2, 0, HF_PATH_UNREACHABLE, 0);
    ck_assert(!noted(HF_WHY_PATH_FAILED));
    tested_as(0, 2, 0, HF_PATH_OK, 0);
    ck_assert(noted(HF_WHY_PATH_OK));
    ck_assert(noted(HF_WHY_CAN_FENCE));
}
END_TEST

START_TEST(a_path_that_failed_its_test_is_tried_at_the_incident_all_the_same)
{
    form(3);
    running_on(a_vm("a"), 2);
    tested_as(0, 2, 0, HF_PATH_DENIED, 0);
    host_gone(2);
    ck_assert_ptr_nonnull(effect(HF_FX_FENCE, 0));
}
END_TEST

START_TEST(another_hosts_device_is_never_used)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    hardware(2, 22);
    tested_as(0, 2, 0, HF_PATH_OK, 11);
    ck_assert_int_eq(engine_node(&t.e, (hf_node){2}).path[0], HF_PATH_WRONG_HOST);
    ck_assert(noted(HF_WHY_CANNOT_FENCE));
    host_gone(2);
    ck_node(2, HF_NODE_LOST);
    ck_assert_ptr_null(effect(HF_FX_FENCE, 0));
    ck_state(uid, HF_VM_WAITING);
    order(HF_ORDER_FENCE, 2, 0);
    ck_assert_int_eq(t.out.why, HF_WHY_WRONG_HOST);
}
END_TEST

START_TEST(the_level_behind_a_wrong_one_is_used)
{
    form(3);
    t.e.group.nodes[2].fence_levels = 2;
    running_on(a_vm("a"), 2);
    hardware(2, 22);
    tested_as(0, 2, 0, HF_PATH_OK, 11);
    host_gone(2);
    ck_assert_uint_eq(effect(HF_FX_FENCE, 0)->u.fence.level, 1);
    result(0, t.e.nodes[2].order, HF_OUT_GAVE_UP);
    ck_assert_uint_eq(t.e.nodes[2].timer.purpose, FOR_FENCE_RETRY);
    expired(0, t.e.nodes[2].timer.token);
    ck_assert_uint_eq(effect(HF_FX_FENCE, 0)->u.fence.level, 1);
}
END_TEST

START_TEST(between_rounds_there_is_a_pause_wherever_they_begin)
{
    form(3);
    t.e.group.nodes[2].fence_levels = 3;
    running_on(a_vm("a"), 2);
    hardware(2, 22);
    tested_as(0, 2, 0, HF_PATH_OK, 11);
    tested_as(0, 2, 2, HF_PATH_OK, 11);
    host_gone(2);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(effect(HF_FX_FENCE, 0)->u.fence.level, 1);
        result(t.e.nodes[2].executor, t.e.nodes[2].order, HF_OUT_GAVE_UP);
        ck_assert_ptr_null(effect(HF_FX_FENCE, 0));
        ck_assert_uint_eq(t.e.nodes[2].timer.purpose, FOR_FENCE_RETRY);
        expired(0, t.e.nodes[2].timer.token);
    }
}
END_TEST

START_TEST(once_wrong_a_level_stays_unused_until_it_names_this_host)
{
    form(3);
    running_on(a_vm("a"), 2);
    hardware(2, 22);
    tested_as(0, 2, 0, HF_PATH_OK, 11);
    tested_as(0, 2, 0, HF_PATH_DENIED, 0);
    host_gone(2);
    ck_node(2, HF_NODE_LOST);
    tested_as(0, 2, 0, HF_PATH_OK, 22);
    ck_node(2, HF_NODE_FENCING);
}
END_TEST

START_TEST(a_wrong_verdict_ends_when_the_host_itself_says_so)
{
    form(3);
    hardware(2, 22);
    tested_as(0, 2, 0, HF_PATH_OK, 11);
    hardware(2, 11);
    ck_assert_int_eq(engine_node(&t.e, (hf_node){2}).path[0], HF_PATH_OK);
}
END_TEST

START_TEST(who_has_left_can_still_be_switched_off)
{
    form(3);
    order(HF_ORDER_LEAVE, 2, 0);
    ck_node(2, HF_NODE_ABSENT);
    order(HF_ORDER_FENCE, 2, 0);
    ck_node(2, HF_NODE_FENCING);
    ck_assert(!engine_node(&t.e, (hf_node){2}).has_left);
}
END_TEST

START_TEST(a_swapped_map_cannot_be_armed)
{
    form_disarmed();
    tested_as(0, 1, 0, HF_PATH_OK, 22);
    tested_as(0, 2, 0, HF_PATH_OK, 11);
    hardware(1, 11); /* its own word may come after the device's */
    hardware(2, 22);
    order(HF_ORDER_ARM, HF_NO_NODE.ix, 0);
    ck_assert(!t.out.applied);
    ck_assert_int_eq(t.out.why, HF_WHY_WRONG_HOST);
    tested_as(0, 1, 0, HF_PATH_OK, 11);
    tested_as(0, 2, 0, HF_PATH_OK, 22);
    order(HF_ORDER_ARM, HF_NO_NODE.ix, 0);
    ck_assert(t.out.applied);
}
END_TEST

START_TEST(a_device_that_names_another_host_than_when_armed_is_not_used)
{
    form_disarmed();
    tested_as(0, 2, 0, HF_PATH_OK, 22); /* the host itself does not know its number */
    order(HF_ORDER_ARM, HF_NO_NODE.ix, 0);
    tested_as(0, 2, 0, HF_PATH_OK, 33);
    ck_assert_int_eq(engine_node(&t.e, (hf_node){2}).path[0], HF_PATH_WRONG_HOST);
    order(HF_ORDER_DISARM, HF_NO_NODE.ix, 0);
    order(HF_ORDER_ARM, HF_NO_NODE.ix, 0);
    ck_assert_int_eq(t.out.why, HF_WHY_WRONG_HOST);
}
END_TEST

START_TEST(without_any_way_to_prove_a_death_nothing_is_armed)
{
    form_disarmed();
    t.e.group.nodes[2].has_watchdog = false;
    tested_as(0, 2, 0, HF_PATH_DENIED, 0);
    order(HF_ORDER_ARM, HF_NO_NODE.ix, 0);
    ck_assert_int_eq(t.out.why, HF_WHY_PATH_UNFIT);
    t.e.group.nodes[2].fence_levels = 0;
    order(HF_ORDER_ARM, HF_NO_NODE.ix, 0);
    ck_assert_int_eq(t.out.why, HF_WHY_NO_FENCE_DEVICE);
}
END_TEST

START_TEST(who_speaks_to_corosync_unfit_keeps_the_group_from_being_armed)
{
    struct hf_event ev = {.from = {1}, .type = HF_EV_FACTS};

    form_disarmed();
    ev.u.facts.memory_mib = 65536;
    ev.u.facts.vm_watch_known = ev.u.facts.config_same = true;
    step(ev); /* link_fit is false: no encryption, say */
    order(HF_ORDER_ARM, HF_NO_NODE.ix, 0);
    ck_assert(!t.out.applied);
    ck_assert_int_eq(t.out.why, HF_WHY_LINK_UNFIT);
    ck_assert(!engine_group(&t.e).is_armed);
    ev.u.facts.link_fit = true;
    step(ev);
    order(HF_ORDER_ARM, HF_NO_NODE.ix, 0);
    ck_assert(t.out.applied);
    ck_assert(engine_group(&t.e).is_armed);
}
END_TEST

START_TEST(who_would_fence_it_tests_its_paths)
{
    form(3);
    ck_assert_uint_eq(engine_path_tester(&t.e, (hf_node){0}).ix, 1);
    ck_assert_uint_eq(engine_path_tester(&t.e, (hf_node){2}).ix, 0);
    host_gone(0);
    ck_assert_uint_eq(engine_path_tester(&t.e, (hf_node){2}).ix, 1);
    ck_assert(!hf_node_is(engine_path_tester(&t.e, (hf_node){1})) ||
              engine_path_tester(&t.e, (hf_node){1}).ix == 2);
}
END_TEST

/* ---- storms ---- */

START_TEST(too_many_fences_need_a_person)
{
    form(5);
    t.e.group.policy.storm_fences = 1;
    running_on(a_vm("b"), 3);
    hf_vm_uid uid = running_on(a_vm("c"), 4);
    host_gone(3);
    ck_node(3, HF_NODE_FENCING);
    host_gone(4);
    ck_node(4, HF_NODE_LOST);
    ck_assert(noted(HF_WHY_STORM));
    ck_assert(engine_group(&t.e).in_storm);
    ck_state(uid, HF_VM_WAITING);
    ck_node(3, HF_NODE_FENCING); /* what had begun goes on */
    expired(0, t.e.storm.token);
    ck_node(4, HF_NODE_LOST);
    order(HF_ORDER_ARM, HF_NO_NODE.ix, 0);
    ck_assert(t.out.applied);
    ck_assert(noted(HF_WHY_STORM_OVER));
    ck_node(4, HF_NODE_FENCING);
}
END_TEST

START_TEST(an_operators_fence_is_no_storm)
{
    form(5);
    t.e.group.policy.storm_fences = 1;
    running_on(a_vm("b"), 3);
    order(HF_ORDER_FENCE, 4, 0);
    ck_node(4, HF_NODE_FENCING);
    ck_assert_uint_eq(engine_group(&t.e).storm_count, 0);
    result(t.e.nodes[4].executor, t.e.nodes[4].order, HF_OUT_DONE);
    host_gone(4);
    host_gone(3);
    ck_node(3, HF_NODE_FENCING);
}
END_TEST

START_TEST(fences_are_forgotten_after_the_window)
{
    form(5);
    t.e.group.policy.storm_fences = 1;
    running_on(a_vm("b"), 3);
    running_on(a_vm("c"), 4);
    host_gone(3);
    result(t.e.nodes[3].executor, t.e.nodes[3].order, HF_OUT_DONE);
    expired(0, t.e.storm.token);
    host_gone(4);
    ck_node(4, HF_NODE_FENCING);
}
END_TEST

/* ---- on again ---- */

START_TEST(a_dead_node_is_switched_on_by_order_only)
{
    form(3);
    order(HF_ORDER_POWER_ON, 2, 0);
    ck_assert_int_eq(t.out.why, HF_WHY_NOT_DEAD);
    order(HF_ORDER_FENCE, 2, 0);
    result(0, t.e.nodes[2].order, HF_OUT_DONE);
    host_gone(2);
    ck_node(2, HF_NODE_DEAD);
    order(HF_ORDER_POWER_ON, 2, 0);
    const struct hf_effect *fx = effect(HF_FX_POWER_ON, 0);
    ck_assert_ptr_nonnull(fx);
    struct hf_token token = fx->token;
    order(HF_ORDER_POWER_ON, 2, 0);
    ck_assert_int_eq(t.out.why, HF_WHY_ALREADY);
    result(0, token, HF_OUT_DONE);
    ck_assert(noted(HF_WHY_POWER_ON));
    ck_assert(!engine_is_live(&t.e, token));
    ck_node(2, HF_NODE_DEAD);
}
END_TEST

START_TEST(a_power_on_that_hangs_is_given_up)
{
    form(3);
    order(HF_ORDER_FENCE, 2, 0);
    result(0, t.e.nodes[2].order, HF_OUT_DONE);
    host_gone(2);
    order(HF_ORDER_POWER_ON, 2, 0);
    expired(0, t.e.nodes[2].timer.token);
    ck_assert(noted(HF_WHY_POWER_ON_FAILED));
    order(HF_ORDER_POWER_ON, 2, 0);
    ck_assert(t.out.applied);
}
END_TEST

HF_TEST_MAIN(
    "engine/path", HF_CASE(a_path_that_fails_is_told_once_and_again_when_it_works),
    HF_CASE(a_path_that_failed_its_test_is_tried_at_the_incident_all_the_same),
    HF_CASE(another_hosts_device_is_never_used), HF_CASE(the_level_behind_a_wrong_one_is_used),
    HF_CASE(between_rounds_there_is_a_pause_wherever_they_begin),
    HF_CASE(once_wrong_a_level_stays_unused_until_it_names_this_host),
    HF_CASE(a_wrong_verdict_ends_when_the_host_itself_says_so),
    HF_CASE(who_has_left_can_still_be_switched_off), HF_CASE(a_swapped_map_cannot_be_armed),
    HF_CASE(a_device_that_names_another_host_than_when_armed_is_not_used),
    HF_CASE(without_any_way_to_prove_a_death_nothing_is_armed),
    HF_CASE(who_speaks_to_corosync_unfit_keeps_the_group_from_being_armed),
    HF_CASE(who_would_fence_it_tests_its_paths), HF_CASE(too_many_fences_need_a_person),
    HF_CASE(an_operators_fence_is_no_storm), HF_CASE(fences_are_forgotten_after_the_window),
    HF_CASE(a_dead_node_is_switched_on_by_order_only), HF_CASE(a_power_on_that_hangs_is_given_up))
