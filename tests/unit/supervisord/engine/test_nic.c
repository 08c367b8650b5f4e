/* What follows from dead NICs, which is little: S6. Each case reads as what happened. */
#include "tests/unit/supervisord/engine/trio.h"

static struct hf_vm_def legged(const char *name)
{
    struct hf_vm_def def = a_vm(name);
    def.legs = 3;
    def.stop_grace_ms = 90000;
    return def;
}

static void all_up(void)
{
    for (uint8_t n = 0; n < t.e.group.nodes_count; n++)
        pfs(n, HF_PF_UP, HF_PF_UP);
}

static bool waits(hf_vm_uid uid)
{
    return vm(uid)->legs.timer.purpose == FOR_LEGS;
}

static enum hf_rule refused(hf_vm_uid uid, uint8_t n)
{
    return engine_placement(&t.e, engine_vm_by_uid(&t.e, uid)).refused[n];
}

static struct hf_vm_view view(hf_vm_uid uid)
{
    return engine_vm(&t.e, engine_vm_by_uid(&t.e, uid));
}

/* Its wait is over, and its stop proved. */
static void moves(hf_vm_uid uid)
{
    expired(0, vm(uid)->legs.timer.token);
    ck_state(uid, HF_VM_STOPPING);
    result(vm(uid)->home, vm(uid)->order, HF_OUT_DONE);
    ck_state(uid, HF_VM_STARTING);
    result(vm(uid)->home, vm(uid)->order, HF_OUT_DONE);
    ck_state(uid, HF_VM_RUNNING);
}

/* ---- what is told ---- */

START_TEST(what_a_pf_is_worth_is_noted_when_it_changes)
{
    form(3);
    pfs(1, HF_PF_UP, HF_PF_DOWN);
    ck_assert(noted(HF_WHY_PF_UP));
    ck_assert(noted(HF_WHY_PF_DOWN));
    ck_assert_uint_eq(t.out.changes[1].detail, 100 + HF_NIC_BFD);
    ck_assert_uint_eq(t.out.changes[1].ix, 1);
    pfs(1, HF_PF_UP, HF_PF_DOWN);
    ck_assert_int_eq(t.out.why, HF_WHY_ALREADY);
    ck_assert_uint_eq(t.out.changes_count, 0);
    ck_assert_int_eq(engine_node(&t.e, (hf_node){1}).pf[1].state, HF_PF_DOWN);
    ck_assert_int_eq(engine_node(&t.e, (hf_node){1}).pf[1].cause, HF_NIC_BFD);
}
END_TEST

START_TEST(a_new_daemon_has_said_nothing_of_its_pfs_yet)
{
    form(3);
    all_up();
    t.member[1].incarnation++;
    members(false);
    ck_assert_int_eq(engine_node(&t.e, (hf_node){1}).pf[0].state, HF_PF_UNKNOWN);
    ck_assert_int_eq(engine_node(&t.e, (hf_node){2}).pf[0].state, HF_PF_UP);
    host_gone(2);
    ck_assert_int_eq(engine_node(&t.e, (hf_node){2}).pf[0].state, HF_PF_UNKNOWN);
}
END_TEST

START_TEST(legs_of_another_run_or_another_nodes_vm_are_refused)
{
    form(3);
    hf_vm_uid uid = running_on(legged("a"), 1);
    struct hf_event ev = {.from = {1}, .type = HF_EV_LEGS};
    ev.u.legs = (struct hf_vm_legs_seen){uid, vm(uid)->running_no + 1, 3, 3, 0};
    step(ev);
    ck_assert_int_eq(t.out.why, HF_WHY_STALE_INCARNATION);
    ev.from.ix = 2;
    ev.u.legs.start_no--;
    step(ev);
    ck_assert_int_eq(t.out.why, HF_WHY_STALE_INCARNATION);
    ev.from.ix = 1;
    ev.u.legs.uid = 99;
    step(ev);
    ck_assert_int_eq(t.out.why, HF_WHY_NO_SUCH_VM);
    ck_assert_uint_eq(view(uid).legs.has, 0);
    legs(uid, 3, 1);
    ck_assert(t.out.applied);
    ck_assert_uint_eq(view(uid).legs.up, 1);
    legs(uid, 3, 1);
    ck_assert_int_eq(t.out.why, HF_WHY_ALREADY);
}
END_TEST

/* ---- one leg: no VM is touched ---- */

START_TEST(a_vm_with_one_leg_alive_is_degraded_and_left_alone)
{
    form(3);
    all_up();
    hf_vm_uid uid = running_on(legged("a"), 1);
    legs(uid, 3, 3);
    pfs(1, HF_PF_DOWN, HF_PF_UP);
    ck_assert(noted(HF_WHY_DEGRADED));
    ck_assert(view(uid).is_degraded);
    ck_assert_uint_eq(view(uid).legs.dead, 1);
    ck_assert_int_eq(view(uid).legs.why, HF_WHY_NONE);
    ck_assert(!waits(uid));
    legs(uid, 3, 2);
    ck_assert(!waits(uid));
    ck_assert_uint_eq(t.out.effects_count, 0);
    ck_state(uid, HF_VM_RUNNING);
    pfs(1, HF_PF_HOLD, HF_PF_UP);
    legs(uid, 3, 3);
    ck_assert(noted(HF_WHY_LEGS_WHOLE));
    ck_assert(!view(uid).is_degraded);
}
END_TEST

START_TEST(a_vm_without_declared_legs_is_nobodys_business)
{
    form(3);
    all_up();
    hf_vm_uid uid = running_on(a_vm("a"), 1);
    legs(uid, 3, 0);
    pfs(1, HF_PF_DOWN, HF_PF_DOWN);
    ck_assert(!waits(uid));
    ck_assert(!view(uid).is_degraded);
    ck_assert_int_eq(refused(uid, 1), HF_RULE_NONE);
}
END_TEST

START_TEST(a_wait_ends_when_a_leg_comes_back)
{
    form(3);
    all_up();
    hf_vm_uid uid = running_on(legged("a"), 1);
    pfs(1, HF_PF_DOWN, HF_PF_DOWN);
    ck_assert(waits(uid));
    struct hf_token token = vm(uid)->legs.timer.token;
    pfs(1, HF_PF_DOWN, HF_PF_HOLD);
    ck_assert(!waits(uid));
    expired(0, token);
    ck_assert_int_eq(t.out.why, HF_WHY_STALE_TOKEN);
    ck_state(uid, HF_VM_RUNNING);
}
END_TEST

/* ---- no leg here, one elsewhere ---- */

START_TEST(without_a_leg_it_is_moved_when_that_has_lasted)
{
    form(3);
    all_up();
    hf_vm_uid uid = running_on(legged("a"), 1);
    pfs(1, HF_PF_DOWN, HF_PF_DOWN);
    ck_assert(noted(HF_WHY_NO_LEG));
    ck_assert_uint_eq(effect(HF_FX_TIMER, 0)->u.timer.after_ms, 5000);
    ck_assert_int_eq(view(uid).legs.why, HF_WHY_NO_LEG);
    ck_state(uid, HF_VM_RUNNING);
    expired(2, vm(uid)->legs.timer.token);
    ck_assert(noted(HF_WHY_LEGS_MOVE));
    ck_state(uid, HF_VM_STOPPING);
    ck_assert_uint_eq(effect(HF_FX_VM_STOP, 0)->u.vm.grace_ms, 5000);
    ck_assert_uint_ne(vm(uid)->target, 1);
    result(1, vm(uid)->order, HF_OUT_DONE);
    ck_state(uid, HF_VM_STARTING);
    ck_assert_uint_ne(vm(uid)->home, 1);
}
END_TEST

START_TEST(legs_that_do_not_carry_count_like_dead_pfs)
{
    form(3);
    all_up();
    hf_vm_uid uid = running_on(legged("a"), 1);
    legs(uid, 3, 0);
    ck_assert(waits(uid));
    legs(uid, 3, 2);
    ck_assert(!waits(uid));
    legs(uid, 1, 0); /* it was started without the other one */
    ck_assert(waits(uid));
}
END_TEST

START_TEST(a_fabric_that_is_down_everywhere_moves_nobody)
{
    form(3);
    all_up();
    hf_vm_uid uid = running_on(legged("a"), 1);
    pfs(0, HF_PF_DOWN, HF_PF_HOLD);
    pfs(2, HF_PF_DOWN, HF_PF_UNKNOWN);
    pfs(1, HF_PF_DOWN, HF_PF_DOWN);
    ck_assert(noted(HF_WHY_FABRIC_DOWN));
    ck_assert(!waits(uid));
    ck_assert_int_eq(view(uid).legs.why, HF_WHY_FABRIC_DOWN);
    pfs(2, HF_PF_DOWN, HF_PF_UP);
    ck_assert(waits(uid));
    pfs(2, HF_PF_DOWN, HF_PF_DOWN);
    ck_assert(!waits(uid));
}
END_TEST

START_TEST(nobody_moves_it_while_disarmed)
{
    form(3);
    all_up();
    hf_vm_uid uid = running_on(legged("a"), 1);
    pfs(1, HF_PF_DOWN, HF_PF_DOWN);
    order(HF_ORDER_DISARM, HF_NO_NODE.ix, 0);
    ck_assert(!waits(uid));
    ck_assert_int_eq(view(uid).legs.why, HF_WHY_DISARMED);
    order(HF_ORDER_ARM, HF_NO_NODE.ix, 0);
    ck_assert(waits(uid));
}
END_TEST

START_TEST(what_we_stopped_comes_back_also_when_disarmed_meanwhile)
{
    form(3);
    all_up();
    hf_vm_uid uid = running_on(legged("a"), 1);
    pfs(1, HF_PF_DOWN, HF_PF_DOWN);
    expired(0, vm(uid)->legs.timer.token);
    order(HF_ORDER_DISARM, HF_NO_NODE.ix, 0);
    result(1, vm(uid)->order, HF_OUT_DONE);
    ck_state(uid, HF_VM_STARTING);
}
END_TEST

START_TEST(a_stop_for_its_legs_that_cannot_be_proved_shoots_nobody)
{
    form(3);
    all_up();
    hf_vm_uid uid = running_on(legged("a"), 1);
    pfs(1, HF_PF_DOWN, HF_PF_DOWN);
    expired(0, vm(uid)->legs.timer.token);
    result(1, vm(uid)->order, HF_OUT_GAVE_UP);
    ck_state(uid, HF_VM_WAITING);
    ck_node(1, HF_NODE_MEMBER);
    ck_assert_ptr_null(effect(HF_FX_FENCE, 0));
}
END_TEST

START_TEST(unknown_moves_nobody)
{
    form(3);
    all_up();
    hf_vm_uid uid = running_on(legged("a"), 1);
    legs(uid, 3, 0);
    ck_assert(waits(uid));
    pfs(1, HF_PF_UNKNOWN, HF_PF_UNKNOWN);
    ck_assert(!waits(uid));
    ck_assert_uint_eq(view(uid).legs.has, 0);
    ck_assert(!view(uid).is_degraded);
    pfs(1, HF_PF_UNKNOWN, HF_PF_DOWN);
    ck_assert(!waits(uid));
}
END_TEST

START_TEST(who_cannot_be_told_to_stop_it_keeps_it)
{
    form(3);
    all_up();
    hf_vm_uid uid = running_on(legged("a"), 1);
    struct hf_event ev = {.from = {1}, .type = HF_EV_FACTS};
    ev.u.facts.memory_mib = 65536;
    ev.u.facts.link_fit = true;
    step(ev);
    pfs(1, HF_PF_DOWN, HF_PF_DOWN);
    ck_assert(!waits(uid));
    ck_assert_int_eq(view(uid).legs.why, HF_WHY_WATCH_UNKNOWN);
    facts(1);
    ck_assert(waits(uid));
    daemon_gone(1);
    ck_assert(!waits(uid));
}
END_TEST

START_TEST(it_goes_round_no_more_often_than_it_may_be_restarted)
{
    form(3);
    all_up();
    struct hf_vm_def def = legged("a");
    def.restarts_max = 2;
    hf_vm_uid uid = running_on(def, 0);
    pfs(0, HF_PF_DOWN, HF_PF_DOWN);
    moves(uid);
    uint8_t second = vm(uid)->home;
    ck_assert_uint_ne(second, 0);
    pfs(0, HF_PF_UP, HF_PF_UP);
    pfs(second, HF_PF_DOWN, HF_PF_DOWN);
    moves(uid);
    uint8_t third = vm(uid)->home;
    ck_assert_uint_ne(third, 0); /* not back to where it failed while there is another */
    ck_assert_uint_ne(third, second);
    pfs(third, HF_PF_DOWN, HF_PF_DOWN);
    ck_assert(!waits(uid));
    ck_assert_int_eq(view(uid).legs.why, HF_WHY_RESTART_LIMIT);
    expired(0, vm(uid)->timer.token); /* stable long enough: forgiven */
    ck_assert(waits(uid));
}
END_TEST

START_TEST(without_a_place_it_runs_on_until_there_is_one)
{
    form(3);
    all_up();
    struct hf_vm_def def = legged("a");
    def.allowed = 1u << 1 | 1u << 2;
    hf_vm_uid uid = running_on(def, 1);
    order(HF_ORDER_DRAIN, 2, 0);
    pfs(1, HF_PF_DOWN, HF_PF_DOWN);
    expired(0, vm(uid)->legs.timer.token);
    ck_assert(noted(HF_WHY_NO_NODE));
    ck_state(uid, HF_VM_RUNNING);
    ck_assert_int_eq(view(uid).legs.why, HF_WHY_NO_NODE);
    order(HF_ORDER_UNDRAIN, 2, 0);
    ck_state(uid, HF_VM_STOPPING);
    ck_assert_uint_eq(vm(uid)->target, 2);
}
END_TEST

/* The group may have stood still since: what it knows of legs is as old as its last view. */
START_TEST(a_new_view_hears_of_legs_before_it_moves_anybody)
{
    form(3);
    all_up();
    hf_vm_uid uid = running_on(legged("a"), 1);
    pfs(1, HF_PF_DOWN, HF_PF_DOWN);
    struct hf_token before = vm(uid)->legs.timer.token;
    members(false);
    ck_assert(waits(uid));
    expired(1, before);
    ck_assert_int_eq(t.out.why, HF_WHY_STALE_TOKEN);
    ck_state(uid, HF_VM_RUNNING);
    expired(1, vm(uid)->legs.timer.token);
    ck_state(uid, HF_VM_STOPPING);
}
END_TEST

START_TEST(nor_does_a_new_view_move_who_had_no_place)
{
    form(3);
    all_up();
    struct hf_vm_def def = legged("a");
    def.allowed = 1u << 1 | 1u << 2;
    hf_vm_uid uid = running_on(def, 1);
    order(HF_ORDER_DRAIN, 2, 0);
    pfs(1, HF_PF_DOWN, HF_PF_DOWN);
    expired(0, vm(uid)->legs.timer.token);
    ck_assert(vm(uid)->legs.is_overdue);
    members(false);
    ck_assert(waits(uid));
    order(HF_ORDER_UNDRAIN, 2, 0);
    ck_state(uid, HF_VM_RUNNING);
    expired(0, vm(uid)->legs.timer.token);
    ck_state(uid, HF_VM_STOPPING);
}
END_TEST

START_TEST(any_leg_is_better_than_none)
{
    form(3);
    hf_vm_uid uid = running_on(legged("a"), 1);
    pfs(2, HF_PF_UP, HF_PF_DOWN); /* and of node 0 nothing is known */
    pfs(1, HF_PF_DOWN, HF_PF_DOWN);
    expired(0, vm(uid)->legs.timer.token);
    ck_state(uid, HF_VM_STOPPING);
    ck_assert_uint_eq(vm(uid)->target, 2);
}
END_TEST

/* ---- where it is started ---- */

START_TEST(rule_4_not_where_a_pf_it_needs_is_dead)
{
    form(3);
    all_up();
    hf_vm_uid uid = add(legged("a"), false);
    pfs(0, HF_PF_UP, HF_PF_DOWN);
    pfs(1, HF_PF_ABSENT, HF_PF_UP);
    ck_assert_int_eq(refused(uid, 0), HF_RULE_4_LEGS);
    ck_assert_int_eq(refused(uid, 1), HF_RULE_4_LEGS);
    ck_assert_int_eq(refused(uid, 2), HF_RULE_NONE);
    order(HF_ORDER_VM_START, HF_NO_NODE.ix, uid);
    ck_assert_uint_eq(vm(uid)->home, 2);
    ck_assert(!noted(HF_WHY_PLACED_DEGRADED));
}
END_TEST

START_TEST(a_vm_of_the_other_fabric_may_go_there)
{
    form(3);
    struct hf_vm_def def = legged("a");
    def.legs = 2;
    all_up();
    pfs(0, HF_PF_DOWN, HF_PF_UP);
    hf_vm_uid uid = add(def, false);
    ck_assert_int_eq(refused(uid, 0), HF_RULE_NONE);
}
END_TEST

START_TEST(rather_degraded_than_not_at_all)
{
    form(3);
    pfs(0, HF_PF_DOWN, HF_PF_DOWN);
    pfs(1, HF_PF_DOWN, HF_PF_UP);
    pfs(2, HF_PF_DOWN, HF_PF_DOWN);
    hf_vm_uid uid = add(legged("a"), true);
    ck_assert_uint_eq(vm(uid)->home, 1);
    ck_assert_int_eq(vm(uid)->why, HF_WHY_PLACED_DEGRADED);
    ck_assert_int_eq(refused(uid, 0), HF_RULE_4_LEGS);
    result(1, vm(uid)->order, HF_OUT_DONE);
    ck_assert(view(uid).is_degraded);
    pfs(1, HF_PF_DOWN, HF_PF_DOWN);
    hf_vm_uid other = add(legged("b"), true);
    ck_state(other, HF_VM_STARTING);
}
END_TEST

START_TEST(nobody_knows_anything_of_nics_and_vms_start_all_the_same)
{
    form(3);
    hf_vm_uid uid = running(legged("a"));
    uint8_t was = vm(uid)->home;
    host_gone(was);
    result(t.e.nodes[was].executor, t.e.nodes[was].order, HF_OUT_DONE);
    ck_state(uid, HF_VM_STARTING);
    ck_assert_int_eq(vm(uid)->why, HF_WHY_PLACED);
}
END_TEST

START_TEST(unknown_and_held_down_pfs_rank_behind_those_that_are_up)
{
    form(3);
    pfs(1, HF_PF_HOLD, HF_PF_UP);
    hf_vm_uid uid = add(legged("a"), false);
    ck_assert_int_eq(refused(uid, 0), HF_RULE_NONE);
    ck_assert_uint_eq(engine_placement(&t.e, engine_vm_by_uid(&t.e, uid)).pick.ix, 1);
    pfs(2, HF_PF_SUSPECT, HF_PF_UP);
    ck_assert_uint_eq(engine_placement(&t.e, engine_vm_by_uid(&t.e, uid)).pick.ix, 2);
    pfs(0, HF_PF_UP, HF_PF_UP);
    ck_assert_uint_eq(engine_placement(&t.e, engine_vm_by_uid(&t.e, uid)).pick.ix, 0);
}
END_TEST

START_TEST(a_crash_brings_it_back_where_its_legs_are_alive)
{
    form(3);
    all_up();
    hf_vm_uid uid = running_on(legged("a"), 1);
    pfs(1, HF_PF_UP, HF_PF_DOWN);
    seen(1, uid, vm(uid)->running_no, HF_SEEN_CRASHED);
    ck_state(uid, HF_VM_STARTING);
    ck_assert_uint_ne(vm(uid)->home, 1);
}
END_TEST

START_TEST(nothing_is_moved_to_where_it_would_be_worse)
{
    form(3);
    all_up();
    hf_vm_uid uid = running_on(legged("a"), 1);
    pfs(0, HF_PF_UP, HF_PF_DOWN);
    pfs(2, HF_PF_DOWN, HF_PF_UP);
    order(HF_ORDER_VM_MOVE, 2, uid);
    ck_assert_int_eq(t.out.why, HF_WHY_BAD_TARGET);
    order(HF_ORDER_DRAIN, 1, 0);
    ck_state(uid, HF_VM_RUNNING);
    pfs(1, HF_PF_DOWN, HF_PF_UP); /* now it would not */
    ck_state(uid, HF_VM_STOPPING);
}
END_TEST

START_TEST(a_node_without_a_nic_in_a_fabric_of_others_has_none)
{
    form(3);
    t.e.group.nodes[0].fabrics = 1;
    all_up();
    hf_vm_uid uid = add(legged("a"), false);
    ck_assert_int_eq(refused(uid, 0), HF_RULE_4_LEGS);
    ck_assert_uint_eq(engine_placement(&t.e, engine_vm_by_uid(&t.e, uid)).dead[0], 2);
    t.e.group.nodes[1].fabrics = t.e.group.nodes[2].fabrics = 1; /* nobody has one there */
    ck_assert_int_eq(refused(uid, 0), HF_RULE_NONE);
}
END_TEST

HF_TEST_MAIN("engine/nic", HF_CASE(what_a_pf_is_worth_is_noted_when_it_changes),
             HF_CASE(a_new_daemon_has_said_nothing_of_its_pfs_yet),
             HF_CASE(legs_of_another_run_or_another_nodes_vm_are_refused),
             HF_CASE(a_vm_with_one_leg_alive_is_degraded_and_left_alone),
             HF_CASE(a_vm_without_declared_legs_is_nobodys_business),
             HF_CASE(a_wait_ends_when_a_leg_comes_back),
             HF_CASE(without_a_leg_it_is_moved_when_that_has_lasted),
             HF_CASE(legs_that_do_not_carry_count_like_dead_pfs),
             HF_CASE(a_fabric_that_is_down_everywhere_moves_nobody),
             HF_CASE(nobody_moves_it_while_disarmed),
             HF_CASE(what_we_stopped_comes_back_also_when_disarmed_meanwhile),
             HF_CASE(a_stop_for_its_legs_that_cannot_be_proved_shoots_nobody),
             HF_CASE(unknown_moves_nobody), HF_CASE(who_cannot_be_told_to_stop_it_keeps_it),
             HF_CASE(it_goes_round_no_more_often_than_it_may_be_restarted),
             HF_CASE(without_a_place_it_runs_on_until_there_is_one),
             HF_CASE(a_new_view_hears_of_legs_before_it_moves_anybody),
             HF_CASE(nor_does_a_new_view_move_who_had_no_place),
             HF_CASE(any_leg_is_better_than_none), HF_CASE(rule_4_not_where_a_pf_it_needs_is_dead),
             HF_CASE(a_vm_of_the_other_fabric_may_go_there),
             HF_CASE(rather_degraded_than_not_at_all),
             HF_CASE(nobody_knows_anything_of_nics_and_vms_start_all_the_same),
             HF_CASE(unknown_and_held_down_pfs_rank_behind_those_that_are_up),
             HF_CASE(a_crash_brings_it_back_where_its_legs_are_alive),
             HF_CASE(nothing_is_moved_to_where_it_would_be_worse),
             HF_CASE(a_node_without_a_nic_in_a_fabric_of_others_has_none))
