/* The life of a node. */
#include "tests/unit/supervisord/engine/trio.h"

START_TEST(every_pair_of_state_and_event_is_decided)
{
    const struct node_rule *r = node_rule((enum hf_node_state)(_i / HF_NODE_EVENTS),
                                          (enum hf_node_event)(_i % HF_NODE_EVENTS));
    ck_assert_int_ne(r->verdict, RULE_UNDECIDED);
    ck_assert_ptr_nonnull(r->why);
    ck_assert_uint_lt(r->next, HF_NODE_STATES);
}
END_TEST

START_TEST(a_node_is_a_member_only_after_a_complete_inventory)
{
    struct hf_group g = a_group(3);
    struct hf_err err;
    engine_init(&t.e, &g, &err);
    for (uint8_t n = 0; n < 3; n++)
        boots(n, 1);
    members(false);
    ck_node(0, HF_NODE_JOINING);
    facts(0);
    ck_node(0, HF_NODE_JOINING);
    inventory(0, NULL);
    ck_node(0, HF_NODE_MEMBER);
}
END_TEST

START_TEST(a_minority_changes_nothing)
{
    form(3);
    uint64_t epoch = t.e.epoch;
    t.member[1].present = t.member[2].present = false;
    members(false);
    ck_assert(!t.out.applied);
    ck_assert_int_eq(t.out.why, HF_WHY_NOT_MAJORITY);
    ck_assert_uint_eq(t.e.epoch, epoch);
    ck_node(1, HF_NODE_MEMBER);
}
END_TEST

START_TEST(a_dead_daemon_is_silent_and_its_vm_runs_on)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    daemon_gone(2);
    ck_node(2, HF_NODE_SILENT);
    ck_state(uid, HF_VM_RUNNING);
    ck_assert_ptr_null(effect(HF_FX_FENCE, 0));
    t.member[2].present = true;
    t.member[2].incarnation++;
    members(false);
    ck_node(2, HF_NODE_JOINING);
    inventory(2, (hf_vm_uid[]){uid, 0});
    ck_node(2, HF_NODE_MEMBER);
    ck_state(uid, HF_VM_RUNNING);
}
END_TEST

START_TEST(one_clock_alone_does_not_end_a_grace)
{
    form(3);
    running_on(a_vm("a"), 2);
    daemon_gone(2);
    struct hf_token grace = t.e.nodes[2].timer.token;
    expired(0, grace);
    ck_assert_int_eq(t.out.why, HF_WHY_VOTE_COUNTED);
    expired(0, grace);
    ck_node(2, HF_NODE_SILENT);
    expired(1, grace);
    ck_node(2, HF_NODE_FENCING);
}
END_TEST

START_TEST(a_new_boot_is_proof)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    order(HF_ORDER_DISARM, 0xff, 0);
    host_gone(2);
    ck_state(uid, HF_VM_WAITING);
    boots(2, 2);
    members(false);
    ck_assert_int_eq(t.e.nodes[2].proof, HF_PROOF_REJOIN);
    ck_node(2, HF_NODE_JOINING);
    ck_state(uid, HF_VM_WAITING); /* the new boot may have been told to start it */
    ck_assert_uint_ne(engine_inventory_due(&t.e, (hf_node){2}), 0);
    ready(2);
    ck_assert_uint_eq(vm(uid)->possible, 0);
    ck_state(uid, HF_VM_PLACING);
}
END_TEST

/* Its agent has queued both while nobody heard it: that the VM crashed, and that a person has
 * started it again since (seed 87228). */
START_TEST(old_news_of_a_joining_node_proves_nothing)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    order(HF_ORDER_DISARM, 0xff, 0);
    host_gone(2);
    t.member[2].present = t.member[2].in_ring = true;
    members(false);
    ck_node(2, HF_NODE_JOINING);
    seen(2, uid, vm(uid)->start_no, HF_SEEN_CRASHED);
    ck_assert(!t.out.applied);
    ck_assert_int_eq(t.out.why, HF_WHY_LIST_AWAITED);
    ck_state(uid, HF_VM_WAITING);
    seen(2, uid, 0, HF_SEEN_RUNNING);
    ck_assert_uint_eq(vm(uid)->home, 2);
    facts(2);
    inventory(2, (hf_vm_uid[]){uid, 0});
    ck_assert_uint_eq(vm(uid)->home, 2);
}
END_TEST

/* It was made when the order to start was known and not yet carried out, and lay in an outbox while
 * the VM was started and its node was away (seed 81504). */
START_TEST(a_list_from_before_an_absence_clears_nothing)
{
    struct hf_event list = {.from = {2}, .type = HF_EV_INVENTORY};

    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    order(HF_ORDER_DISARM, 0xff, 0);
    list.u.inventory.as_of = engine_as_of(&t.e);
    host_gone(2);
    t.member[2].present = t.member[2].in_ring = true;
    members(false);
    step(list);
    ck_node(2, HF_NODE_JOINING);
    ck_state(uid, HF_VM_WAITING);
    ready(2);
    ck_assert_uint_eq(vm(uid)->possible, 0);
}
END_TEST

/* Its host is quicker than the ring: no view without it comes in between. */
START_TEST(who_reboots_faster_than_it_is_missed_is_not_told_as_a_daemon_restart)
{
    form(3);
    boots(2, 2);
    members(false);
    ck_assert_int_eq(t.e.nodes[2].proof, HF_PROOF_REJOIN);
    ck_node(2, HF_NODE_JOINING);
    ck_assert_int_eq(engine_node(&t.e, (hf_node){2}).why, HF_WHY_JOINED);
    t.member[2].incarnation++;
    members(false);
    ck_assert_int_eq(engine_node(&t.e, (hf_node){2}).why, HF_WHY_DAEMON_RESTARTED);
}
END_TEST

START_TEST(the_same_boot_is_no_proof_but_its_inventory_is)
{
    form(3);
    hf_vm_uid stays = running_on(a_vm("stays"), 2), gone = running_on(a_vm("gone"), 2);
    order(HF_ORDER_DISARM, 0xff, 0);
    host_gone(2);
    t.member[2].present = t.member[2].in_ring = true;
    members(false);
    ck_state(stays, HF_VM_WAITING);
    ck_state(gone, HF_VM_WAITING);
    facts(2);
    inventory(2, (hf_vm_uid[]){stays, 0});
    ck_state(stays, HF_VM_RUNNING);
    ck_assert_uint_eq(vm(gone)->possible, 0);
}
END_TEST

START_TEST(a_cold_start_waits_for_the_others_before_it_fences)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    boots(0, 2);
    boots(1, 2);
    t.member[2].present = t.member[2].in_ring = false;
    members(true);
    ck_node(2, HF_NODE_LOST);
    ck_state(uid, HF_VM_WAITING);
    ready(0);
    ready(1);
    ck_node(2, HF_NODE_LOST);
    struct hf_token grace = t.e.startup.token;
    expired(0, grace);
    ck_node(2, HF_NODE_LOST);
    expired(1, grace);
    ck_node(2, HF_NODE_FENCING);
}
END_TEST

START_TEST(a_cold_start_with_everybody_back_starts_what_ran)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    for (uint8_t n = 0; n < 3; n++)
        boots(n, 2);
    members(true);
    ck_state(uid, HF_VM_WAITING);
    ready(0);
    ready(1);
    ck_state(uid, HF_VM_WAITING);
    ready(2);
    ck_state(uid, HF_VM_STARTING);
}
END_TEST

START_TEST(a_cold_start_believes_nothing_but_inventories_and_proofs)
{
    form(3);
    hf_vm_uid moved = running_on(a_vm("moved"), 0), stays = running_on(a_vm("stays"), 1);
    t.member[2].present = t.member[2].in_ring = false;
    t.member[1].incarnation++;
    members(true); /* 0 remembers, 1 does not: 1 and 2 may have decided without 0 */
    ck_state(moved, HF_VM_WAITING);
    ck_state(stays, HF_VM_WAITING);
    ck_node(0, HF_NODE_JOINING);
    facts(0);
    facts(1);
    inventory(1, (hf_vm_uid[]){stays, 0});
    inventory(0, NULL);
    ck_state(stays, HF_VM_RUNNING);
    ck_state(moved, HF_VM_WAITING);
    ck_assert_uint_eq(vm(moved)->possible, 1u << 2);
    seen(1, stays, vm(stays)->start_no, HF_SEEN_CRASHED);
    ck_state(stays, HF_VM_WAITING);
    struct hf_token grace = t.e.startup.token;
    expired(0, grace);
    expired(1, grace);
    ck_node(2, HF_NODE_FENCING);
    result(t.e.nodes[2].executor, t.e.nodes[2].order, HF_OUT_DONE);
    ck_state(moved, HF_VM_STARTING);
    ck_state(stays, HF_VM_STARTING);
}
END_TEST

START_TEST(a_mute_daemon_gets_its_grace_and_is_forgiven)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    beat(2, false);
    ck_node(2, HF_NODE_SILENT);
    beat(2, true);
    ck_node(2, HF_NODE_JOINING);
    inventory(2, (hf_vm_uid[]){uid, 0});
    ck_state(uid, HF_VM_RUNNING);
}
END_TEST

START_TEST(nobody_is_witness_to_his_own_silence)
{
    form(3);
    running_on(a_vm("a"), 2);
    beat(2, false);
    struct hf_token grace = t.e.nodes[2].timer.token;
    expired(2, grace);
    expired(0, grace);
    ck_node(2, HF_NODE_SILENT);
    expired(1, grace);
    ck_node(2, HF_NODE_FENCING);
}
END_TEST

START_TEST(who_greets_is_silent_no_more)
{
    form(3);
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    beat(2, false);
    ck_node(2, HF_NODE_SILENT);
    members(false);
    ck_node(2, HF_NODE_JOINING);
    inventory(2, (hf_vm_uid[]){uid, 0});
    ck_node(2, HF_NODE_MEMBER);
}
END_TEST

START_TEST(one_who_beats_after_his_proof_is_told_of)
{
    form(3);
    running_on(a_vm("a"), 2);
    host_gone(2);
    result(t.e.nodes[2].executor, t.e.nodes[2].order, HF_OUT_DONE);
    ck_node(2, HF_NODE_DEAD);
    t.member[2].present = t.member[2].in_ring = true;
    members(false);
    bool told = false;
    for (uint32_t i = 0; i < t.out.changes_count; i++)
        told = told || t.out.changes[i].why == HF_WHY_HEARD_AFTER_PROOF;
    ck_assert(told);
    ck_node(2, HF_NODE_JOINING);
}
END_TEST

START_TEST(a_disk_that_knows_no_view_has_forgotten_the_first_ones)
{
    struct hf_group g = a_group(3);
    struct hf_err err;
    memset(&t, 0, sizeof t);
    ck_assert_int_eq(engine_init(&t.e, &g, &err), HF_OK);
    boots(0, 1);
    boots(1, 1);
    members(true);
    ck_node(2, HF_NODE_LOST);
    ready(0);
    ready(1);
    hf_vm_uid uid = add(a_vm("a"), true);
    ck_state(uid, HF_VM_WAITING); /* the third may run it by a start that was forgotten */
}
END_TEST

HF_TEST_MAIN("engine/host",
             HF_LOOP(every_pair_of_state_and_event_is_decided, 0, HF_NODE_STATES *HF_NODE_EVENTS),
             HF_CASE(a_node_is_a_member_only_after_a_complete_inventory),
             HF_CASE(a_minority_changes_nothing),
             HF_CASE(a_dead_daemon_is_silent_and_its_vm_runs_on),
             HF_CASE(one_clock_alone_does_not_end_a_grace), HF_CASE(a_new_boot_is_proof),
             HF_CASE(old_news_of_a_joining_node_proves_nothing),
             HF_CASE(a_list_from_before_an_absence_clears_nothing),
             HF_CASE(who_reboots_faster_than_it_is_missed_is_not_told_as_a_daemon_restart),
             HF_CASE(the_same_boot_is_no_proof_but_its_inventory_is),
             HF_CASE(a_cold_start_waits_for_the_others_before_it_fences),
             HF_CASE(a_cold_start_with_everybody_back_starts_what_ran),
             HF_CASE(a_cold_start_believes_nothing_but_inventories_and_proofs),
             HF_CASE(a_mute_daemon_gets_its_grace_and_is_forgiven),
             HF_CASE(nobody_is_witness_to_his_own_silence), HF_CASE(who_greets_is_silent_no_more),
             HF_CASE(one_who_beats_after_his_proof_is_told_of),
             HF_CASE(a_disk_that_knows_no_view_has_forgotten_the_first_ones))
