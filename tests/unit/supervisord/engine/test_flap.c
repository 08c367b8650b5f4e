/* Who comes back again and again, and who leaves in order. */
#include "tests/unit/supervisord/engine/trio.h"

static void away_and_back(uint8_t n)
{
    host_gone(n);
    t.member[n].present = t.member[n].in_ring = true;
    members(false);
    ready(n);
}

static enum hf_rule rule(hf_vm_uid uid, uint8_t n)
{
    return engine_placement(&t.e, engine_vm_by_uid(&t.e, uid)).refused[n];
}

START_TEST(the_first_return_costs_nothing)
{
    form(3);
    hf_vm_uid uid = add(a_vm("a"), false);
    away_and_back(2);
    ck_assert_uint_eq(t.e.nodes[2].returns, 1);
    ck_assert_int_eq(rule(uid, 2), HF_RULE_NONE);
}
END_TEST

START_TEST(the_second_one_must_stay_before_it_gets_a_vm)
{
    form(3);
    hf_vm_uid uid = add(a_vm("a"), false);
    away_and_back(2);
    away_and_back(2);
    ck_assert_int_eq(rule(uid, 2), HF_RULE_1_MEMBER);
    ck_assert_uint_eq(t.e.nodes[2].settle.after_ms, 10000);
    away_and_back(2);
    ck_assert_uint_eq(t.e.nodes[2].settle.after_ms, 20000);
    expired(0, t.e.nodes[2].settle.token);
    ck_assert_int_eq(rule(uid, 2), HF_RULE_NONE);
}
END_TEST

START_TEST(who_returns_for_ever_gets_nothing_until_a_person_says_so)
{
    form(3);
    hf_vm_uid uid = add(a_vm("a"), false);
    for (unsigned i = 0; i < 4; i++)
        away_and_back(2);
    ck_assert(engine_node(&t.e, (hf_node){2}).is_passive);
    expired(0, t.e.nodes[2].settle.token);
    expired(0, t.e.nodes[2].flap.token);
    ck_assert_int_eq(rule(uid, 2), HF_RULE_1_MEMBER);
    order(HF_ORDER_UNDRAIN, 2, 0);
    ck_assert(t.out.applied);
    ck_assert_int_eq(rule(uid, 2), HF_RULE_NONE);
}
END_TEST

START_TEST(a_quiet_window_forgives)
{
    form(3);
    away_and_back(2);
    expired(1, t.e.nodes[2].flap.token);
    away_and_back(2);
    ck_assert_uint_eq(t.e.nodes[2].returns, 1);
    ck_assert_int_eq(t.e.nodes[2].settle.purpose, FOR_NOTHING);
}
END_TEST

START_TEST(what_runs_there_stays)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    for (unsigned i = 0; i < 4; i++) {
        daemon_gone(2);
        t.member[2].present = true;
        t.member[2].incarnation++;
        members(false);
        facts(2);
        inventory(2, (hf_vm_uid[]){uid, 0});
    }
    ck_assert(engine_node(&t.e, (hf_node){2}).is_passive);
    ck_state(uid, HF_VM_RUNNING);
}
END_TEST

START_TEST(a_cold_start_is_nobodys_return)
{
    form(3);
    for (unsigned i = 0; i < 3; i++)
        members(true);
    ck_assert_uint_eq(t.e.nodes[2].returns, 0);
}
END_TEST

/* ---- leaving ---- */

START_TEST(who_leaves_in_order_is_emptied_first_and_not_fenced)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    order(HF_ORDER_LEAVE, 2, 0);
    ck_assert(t.out.applied);
    ck_state(uid, HF_VM_STOPPING);
    ck_node(2, HF_NODE_MEMBER);
    result(2, vm(uid)->order, HF_OUT_DONE);
    ck_assert_uint_ne(vm(uid)->home, 2);
    ck_node(2, HF_NODE_ABSENT);
    ck_assert(engine_node(&t.e, (hf_node){2}).has_left);
    result(vm(uid)->home, vm(uid)->order, HF_OUT_DONE);
    host_gone(2);
    ck_node(2, HF_NODE_ABSENT);
    ck_assert_ptr_null(effect(HF_FX_FENCE, 0));
    ck_state(uid, HF_VM_RUNNING);
}
END_TEST

START_TEST(who_comes_back_from_leaving_takes_vms_again)
{
    form(3);
    hf_vm_uid uid = add(a_vm("a"), false);
    order(HF_ORDER_LEAVE, 2, 0);
    host_gone(2);
    boots(2, 2);
    members(false);
    ck_node(2, HF_NODE_JOINING);
    ready(2);
    ck_assert(!engine_node(&t.e, (hf_node){2}).in_maintenance);
    ck_assert(!engine_node(&t.e, (hf_node){2}).has_left);
    ck_assert_uint_eq(engine_node(&t.e, (hf_node){2}).returns, 0);
    ck_assert_int_eq(rule(uid, 2), HF_RULE_NONE);
}
END_TEST

START_TEST(who_has_left_and_did_not_go_may_stay)
{
    form(3);
    order(HF_ORDER_LEAVE, 2, 0);
    ck_node(2, HF_NODE_ABSENT);
    order(HF_ORDER_LEAVE, 2, 0);
    ck_assert_int_eq(t.out.why, HF_WHY_ALREADY);
    order(HF_ORDER_UNDRAIN, 2, 0);
    ck_node(2, HF_NODE_JOINING);
    ready(2);
    ck_node(2, HF_NODE_MEMBER);
}
END_TEST

/* The order to leave was given and nobody has switched it off (seed 73213). */
START_TEST(who_has_left_and_is_still_here_when_maintenance_ends_takes_part_again)
{
    form(3);
    hf_vm_uid uid = add(a_vm("a"), false);
    order(HF_ORDER_LEAVE, 2, 0);
    ck_node(2, HF_NODE_ABSENT);
    struct hf_token end = t.e.nodes[2].maintenance.token;
    expired(0, end);
    expired(1, end);
    ck_node(2, HF_NODE_JOINING);
    ready(2);
    ck_node(2, HF_NODE_MEMBER);
    ck_assert_int_eq(rule(uid, 2), HF_RULE_NONE);
}
END_TEST

START_TEST(who_has_left_and_is_away_when_maintenance_ends_has_still_left)
{
    form(3);
    order(HF_ORDER_LEAVE, 2, 0);
    host_gone(2);
    struct hf_token end = t.e.nodes[2].maintenance.token;
    expired(0, end);
    expired(1, end);
    ck_node(2, HF_NODE_ABSENT);
    ck_assert(engine_node(&t.e, (hf_node){2}).has_left);
}
END_TEST

START_TEST(who_has_left_and_runs_something_has_not_left)
{
    form(3);
    hf_vm_uid uid = add(a_vm("a"), false);
    order(HF_ORDER_LEAVE, 2, 0);
    ck_node(2, HF_NODE_ABSENT);
    seen(2, uid, 0, HF_SEEN_RUNNING);
    ck_node(2, HF_NODE_JOINING);
    ck_state(uid, HF_VM_HELD);
    ck_assert_uint_eq(vm(uid)->possible, bit_of(2));
    host_gone(2);
    ck_node(2, HF_NODE_LOST);
}
END_TEST

START_TEST(who_cannot_be_emptied_does_not_leave)
{
    form(3);
    struct hf_vm_def def = a_vm("a");
    def.allowed = bit_of(2);
    hf_vm_uid uid = running_on(def, 2);
    order(HF_ORDER_LEAVE, 2, 0);
    ck_node(2, HF_NODE_MEMBER);
    ck_state(uid, HF_VM_RUNNING);
    host_gone(2);
    ck_node(2, HF_NODE_FENCING);
    ck_assert(!engine_node(&t.e, (hf_node){2}).has_left);
}
END_TEST

START_TEST(what_nobody_runs_needs_no_proof_of_who_left)
{
    form(3);
    struct hf_vm_def def = a_vm("a");
    def.memory_mib = 1u << 20;
    hf_vm_uid uid = add(def, true);
    ck_state(uid, HF_VM_UNPLACEABLE);
    order(HF_ORDER_LEAVE, 2, 0);
    host_gone(2);
    ck_state(uid, HF_VM_UNPLACEABLE);
}
END_TEST

HF_TEST_MAIN("engine/flap", HF_CASE(the_first_return_costs_nothing),
             HF_CASE(the_second_one_must_stay_before_it_gets_a_vm),
             HF_CASE(who_returns_for_ever_gets_nothing_until_a_person_says_so),
             HF_CASE(a_quiet_window_forgives), HF_CASE(what_runs_there_stays),
             HF_CASE(a_cold_start_is_nobodys_return),
             HF_CASE(who_leaves_in_order_is_emptied_first_and_not_fenced),
             HF_CASE(who_comes_back_from_leaving_takes_vms_again),
             HF_CASE(who_has_left_and_did_not_go_may_stay),
             HF_CASE(who_has_left_and_is_still_here_when_maintenance_ends_takes_part_again),
             HF_CASE(who_has_left_and_is_away_when_maintenance_ends_has_still_left),
             HF_CASE(who_has_left_and_runs_something_has_not_left),
             HF_CASE(who_cannot_be_emptied_does_not_leave),
             HF_CASE(what_nobody_runs_needs_no_proof_of_who_left))
