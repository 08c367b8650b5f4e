/* Placement: the rules by their numbers, then the preferences in order. */
#include "tests/unit/supervisord/engine/trio.h"

static enum hf_rule refused(hf_vm_uid uid, uint8_t n)
{
    return engine_placement(&t.e, engine_vm_by_uid(&t.e, uid)).refused[n];
}

START_TEST(rule_1_a_ready_member_not_in_maintenance)
{
    form(3);
    hf_vm_uid uid = add(a_vm("a"), false);
    ck_assert_int_eq(refused(uid, 1), HF_RULE_NONE);
    order(HF_ORDER_DRAIN, 1, 0);
    ck_assert_int_eq(refused(uid, 1), HF_RULE_1_MEMBER);
    order(HF_ORDER_UNDRAIN, 1, 0);
    ck_assert_int_eq(refused(uid, 1), HF_RULE_NONE);
    struct hf_event ev = {.from = {1}, .type = HF_EV_FACTS};
    ev.u.facts.link_fit = true;
    step(ev);
    ck_assert_int_eq(refused(uid, 1), HF_RULE_1_MEMBER);
}
END_TEST

START_TEST(rule_2_no_proof_pending)
{
    form(3);
    hf_vm_uid uid = add(a_vm("a"), false);
    host_gone(2);
    ck_assert_int_eq(refused(uid, 0), HF_RULE_2_PROOF);
}
END_TEST

START_TEST(rule_3_allowed_apart_together)
{
    form(3);
    struct hf_vm_def def = a_vm("only");
    def.allowed = 1u << 2;
    hf_vm_uid uid = running(def);
    ck_assert_uint_eq(vm(uid)->home, 2);
    def = a_vm("master");
    strcpy(def.apart, "mq");
    hf_vm_uid master = running(def);
    strcpy(def.name, "slave");
    hf_vm_uid slave = running(def);
    ck_assert_uint_ne(vm(master)->home, vm(slave)->home);
    ck_assert_int_eq(refused(slave, vm(master)->home), HF_RULE_3_AFFINITY);
    def = a_vm("gw");
    strcpy(def.together, "desk");
    hf_vm_uid gw = running(def);
    strcpy(def.name, "risk");
    hf_vm_uid risk = running(def);
    ck_assert_uint_eq(vm(gw)->home, vm(risk)->home);
}
END_TEST

START_TEST(rule_6_memory_with_reserve_and_promises)
{
    form(3);
    struct hf_vm_def def = a_vm("big");
    def.memory_mib = 65536 - 1024;
    hf_vm_uid big = running_on(def, 1);
    hf_vm_uid small = add(a_vm("small"), false);
    ck_assert_int_eq(refused(small, 1), HF_RULE_6_MEMORY);
    ck_assert_int_eq(refused(small, 0), HF_RULE_NONE);
    strcpy(def.name, "bigger");
    def.memory_mib = 65536;
    hf_vm_uid bigger = add(def, true);
    ck_state(bigger, HF_VM_UNPLACEABLE);
    for (uint8_t n = 0; n < 3; n++)
        ck_assert_int_eq(refused(bigger, n), HF_RULE_6_MEMORY);
    (void)big;
}
END_TEST

START_TEST(an_unplaceable_vm_starts_when_room_comes)
{
    form(3);
    struct hf_vm_def def = a_vm("a");
    def.allowed = 1u << 1;
    strcpy(def.apart, "x");
    hf_vm_uid first = running(def);
    strcpy(def.name, "b");
    hf_vm_uid second = add(def, true);
    ck_state(second, HF_VM_UNPLACEABLE);
    order(HF_ORDER_VM_STOP, 0xff, first);
    result(1, vm(first)->order, HF_OUT_DONE);
    ck_state(second, HF_VM_STARTING);
}
END_TEST

START_TEST(load_is_spread_and_the_lowest_id_decides)
{
    form(3);
    char name[8];
    unsigned count[3] = {0};
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof name, "v%d", i);
        count[vm(running(a_vm(name)))->home]++;
        if (i == 0)
            ck_assert_uint_eq(count[0], 1);
    }
    for (int n = 0; n < 3; n++)
        ck_assert_uint_eq(count[n], 3);
}
END_TEST

START_TEST(higher_priority_starts_first)
{
    form(3);
    hf_vm_uid low, high;
    struct hf_vm_def def = a_vm("low");
    def.priority = 10;
    low = running_on(def, 2);
    def = a_vm("high");
    def.priority = 900;
    high = running_on(def, 2);
    host_gone(2);
    result(0, t.e.nodes[2].order, HF_OUT_DONE);
    ck_assert_uint_eq(effect(HF_FX_VM_START, 0)->u.vm.uid, high);
    ck_assert_uint_eq(effect(HF_FX_VM_START, 1)->u.vm.uid, low);
}
END_TEST

START_TEST(a_drain_moves_what_has_a_place_and_leaves_the_rest_running)
{
    form(3);
    struct hf_vm_def def = a_vm("pinned");
    def.allowed = 1u << 1;
    hf_vm_uid pinned = running(def), free_one = running_on(a_vm("free"), 1);
    order(HF_ORDER_DRAIN, 1, 0);
    ck_state(pinned, HF_VM_RUNNING);
    ck_state(free_one, HF_VM_STOPPING);
    result(1, vm(free_one)->order, HF_OUT_DONE);
    ck_state(free_one, HF_VM_STARTING);
    ck_assert_uint_ne(vm(free_one)->home, 1);
}
END_TEST

START_TEST(maintenance_ends_by_itself)
{
    form(3);
    order(HF_ORDER_DRAIN, 1, 0);
    expired(0, t.e.nodes[1].maintenance.token);
    ck_assert(!t.e.nodes[1].in_maintenance);
    ck_assert_int_eq(t.out.changes[0].why, HF_WHY_MAINTENANCE_EXPIRED);
}
END_TEST

START_TEST(a_move_without_a_place_is_refused_before_anything_stops)
{
    form(3);
    struct hf_vm_def def = a_vm("a");
    strcpy(def.apart, "x");
    running_on(def, 0);
    strcpy(def.name, "b");
    hf_vm_uid b = running_on(def, 1);
    order(HF_ORDER_VM_MOVE, 0, b);
    ck_assert_int_eq(t.out.why, HF_WHY_BAD_TARGET);
    ck_state(b, HF_VM_RUNNING);
    order(HF_ORDER_VM_MOVE, 2, b);
    result(1, vm(b)->order, HF_OUT_DONE);
    ck_assert_uint_eq(vm(b)->home, 2);
}
END_TEST

HF_TEST_MAIN("engine/place", HF_CASE(rule_1_a_ready_member_not_in_maintenance),
             HF_CASE(rule_2_no_proof_pending), HF_CASE(rule_3_allowed_apart_together),
             HF_CASE(rule_6_memory_with_reserve_and_promises),
             HF_CASE(an_unplaceable_vm_starts_when_room_comes),
             HF_CASE(load_is_spread_and_the_lowest_id_decides),
             HF_CASE(higher_priority_starts_first),
             HF_CASE(a_drain_moves_what_has_a_place_and_leaves_the_rest_running),
             HF_CASE(maintenance_ends_by_itself),
             HF_CASE(a_move_without_a_place_is_refused_before_anything_stops))
