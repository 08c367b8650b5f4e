#include "tests/unit/supervisord/cluster/bus.h"

/* ---- forming ---- */

START_TEST(three_daemons_with_the_same_file_form_a_group)
{
    bus_form(3);
    for (unsigned i = 0; i < 3; i++) {
        ck_phase(i, REPLICA_SYNCED);
        ck_assert_uint_eq(replica_look(bus.host[i].r).participants, 7);
        ck_assert_uint_eq(seq_of(i), seq_of(0));
        ck_assert_uint_eq(digest_of(i), digest_of(0));
        ck_assert_uint_ge(bus.host[i].resynced, 1);
    }
    ck_assert_uint_eq(bus.host[0].members_event.u.members.node[2].incarnation, 102);
    ck_assert(bus.host[0].members_event.u.members.node[2].in_ring);
    ck_assert_uint_eq(bus.host[0].members_event.u.members.node[1].boot.id[0], 2);
}
END_TEST

START_TEST(one_of_three_forms_nothing)
{
    bus_open(3);
    join(1);
    run_ms(10000);
    ck_phase(1, REPLICA_FROZEN);
    ck_assert_ptr_null(replica_engine(bus.host[1].r));
}
END_TEST

START_TEST(two_of_three_form_a_group_and_the_third_gets_the_state)
{
    bus_open(3);
    join(0);
    join(1);
    run_ms(500);
    ck_phase(0, REPLICA_SYNCED);
    tell_facts(0, 4711, 1);
    run_ms(500);
    join(2);
    run_ms(500);
    ck_phase(2, REPLICA_SYNCED);
    ck_assert_uint_eq(digest_of(2), digest_of(0));
    ck_assert_uint_eq(engine_node(replica_engine(bus.host[2].r), (hf_node){0}).memory_mib, 4711);
    ck_assert_uint_eq(bus.host[2].replaced, 1);
    ck_assert_uint_gt(bus.mcasts[GROUP_SNAP], 0);
}
END_TEST

START_TEST(files_that_differ_form_nothing_without_a_majority_of_one)
{
    struct hf_group other[3];

    bus_open(3);
    for (unsigned i = 0; i < 3; i++) {
        other[i] = bus.file;
        other[i].config.b[0] = (uint8_t)(10 + i);
        load(i, &other[i]);
        join(i);
    }
    run_ms(5000);
    for (unsigned i = 0; i < 3; i++)
        ck_phase(i, REPLICA_FROZEN);
}
END_TEST

START_TEST(a_node_with_another_file_joins_what_the_majority_forms)
{
    struct hf_group other;

    bus_open(3);
    other = bus.file;
    other.config.b[0] = 77;
    snprintf(other.name, sizeof other.name, "elsewhere");
    load(0, &other);
    for (unsigned i = 0; i < 3; i++)
        join(i);
    run_ms(1000);
    for (unsigned i = 0; i < 3; i++) {
        ck_phase(i, REPLICA_SYNCED);
        ck_assert_str_eq(engine_group(replica_engine(bus.host[i].r)).group->name, "colo");
    }
}
END_TEST

START_TEST(a_single_configured_node_is_its_own_majority)
{
    bus_form(1);
    ck_phase(0, REPLICA_SYNCED);
    run_ms(1000);
    ck_assert_int_gt(replica_look(bus.host[0].r).newest_echoed.ns, 0);
}
END_TEST

/* ---- who is counted ---- */

START_TEST(a_ghost_is_not_counted_and_not_waited_for)
{
    struct item item = {.is_members = true,
                        .view = {1, 400},
                        .peers = {{1, 100}, {2, 101}, {3, 55}},
                        .peers_count = 3,
                        .ring = {1, 2},
                        .ring_count = 2};

    bus_open(3);
    load(0, NULL);
    load(1, NULL);
    push(&bus.host[0], copy_of(&item));
    push(&bus.host[1], copy_of(&item));
    run_ms(300);
    ck_phase(0, REPLICA_SYNCED);
    ck_assert_uint_eq(replica_look(bus.host[0].r).ghosts, 1);
    ck_assert(!bus.host[0].members_event.u.members.node[2].present);
    ck_assert(!bus.host[0].members_event.u.members.node[2].in_ring);
}
END_TEST

START_TEST(two_processes_of_one_node_are_not_counted_until_one_has_left)
{
    struct item item = {.is_members = true,
                        .view = {1, 400},
                        .peers = {{1, 100}, {2, 101}, {3, 102}, {3, 999}},
                        .peers_count = 4,
                        .ring = {1, 2, 3},
                        .ring_count = 3};

    bus_open(3);
    for (unsigned i = 0; i < 3; i++) {
        load(i, NULL);
        push(&bus.host[i], copy_of(&item));
    }
    run_ms(1000);
    ck_phase(0, REPLICA_SYNCED);
    ck_assert_uint_eq(replica_look(bus.host[0].r).participants, 3);
    ck_phase(2, REPLICA_APART);
    item.peers_count = 3;
    for (unsigned i = 0; i < 3; i++)
        push(&bus.host[i], copy_of(&item));
    run_ms(1000);
    ck_phase(2, REPLICA_SYNCED);
    ck_assert_uint_eq(replica_look(bus.host[0].r).participants, 7);
}
END_TEST

static bool change_rules(const struct item *item, int from, int to)
{
    if (from == 2 && to < 0 && type_of(item) == GROUP_HELLO) {
        item->bytes[GROUP_HEADER_BYTES + 12] ^= 0x40; /* the ruleset, behind the session */
        group_seal(item->bytes, item->len);
    }
    return false;
}

START_TEST(a_member_that_decides_by_other_rules_is_left_out_and_told)
{
    bus_open(3);
    bus.drop = change_rules;
    for (unsigned i = 0; i < 3; i++)
        join(i);
    run_ms(5000);
    ck_phase(0, REPLICA_SYNCED);
    ck_phase(1, REPLICA_SYNCED);
    ck_phase(2, REPLICA_FROZEN);
    ck_assert_ptr_nonnull(strstr(bus.host[2].why, "other rules"));
    ck_assert_uint_eq(replica_look(bus.host[0].r).participants, 3);
    ck_assert_uint_eq(replica_look(bus.host[0].r).round, 0);
}
END_TEST

START_TEST(noise_from_a_member_that_never_greets_does_not_keep_the_group_greeting)
{
    struct item noise = {.nodeid = 3, .bytes = (uint8_t *)"noise, and no message", .len = 21};

    bus_open(3);
    for (unsigned i = 0; i < 3; i++)
        load(i, NULL);
    bus.host[2].is_paused = true;
    for (unsigned i = 0; i < 3; i++)
        join(i);
    noise.pid = bus.host[2].pid;
    for (unsigned k = 0; k < 50; k++) {
        spread(&noise, 2);
        run_ms(100);
    }
    ck_phase(0, REPLICA_SYNCED);
    ck_phase(1, REPLICA_SYNCED);
    ck_assert_uint_ge(replica_look(bus.host[0].r).dropped_bad, 50);
    ck_assert_uint_le(replica_look(bus.host[0].r).round, 4);
}
END_TEST

START_TEST(a_hung_member_delays_the_others_by_hello_wait_and_no_longer)
{
    bus_open(3);
    for (unsigned i = 0; i < 3; i++)
        load(i, NULL);
    bus.host[2].is_paused = true;
    for (unsigned i = 0; i < 3; i++)
        join(i);
    run_ms(900);
    ck_phase(0, REPLICA_GREETING);
    run_ms(200);
    ck_phase(0, REPLICA_SYNCED);
    ck_phase(1, REPLICA_SYNCED);
    ck_assert_uint_eq(replica_look(bus.host[0].r).participants, 3);
    ck_assert(!bus.host[0].members_event.u.members.node[2].present);
    ck_assert(bus.host[0].members_event.u.members.node[2].in_ring);
}
END_TEST

START_TEST(a_late_hello_makes_everybody_greet_again)
{
    bus_open(3);
    for (unsigned i = 0; i < 3; i++)
        load(i, NULL);
    bus.host[2].is_paused = true;
    for (unsigned i = 0; i < 3; i++)
        join(i);
    run_ms(1500);
    bus.host[2].is_paused = false;
    run_ms(1500);
    for (unsigned i = 0; i < 3; i++) {
        ck_phase(i, REPLICA_SYNCED);
        ck_assert_uint_eq(replica_look(bus.host[i].r).participants, 7);
        ck_assert_uint_eq(replica_look(bus.host[i].r).round, replica_look(bus.host[0].r).round);
    }
    ck_assert_uint_eq(digest_of(2), digest_of(0));
}
END_TEST

/* ---- freezing ---- */

START_TEST(the_minority_freezes_and_the_majority_goes_on)
{
    uint64_t frozen_at;

    bus_form(3);
    cut("aab");
    run_ms(500);
    ck_phase(0, REPLICA_SYNCED);
    ck_phase(1, REPLICA_SYNCED);
    ck_phase(2, REPLICA_FROZEN);
    frozen_at = seq_of(2);
    tell_facts(2, 99, 7);
    tell_facts(0, 42, 8);
    run_ms(5000);
    ck_assert_uint_eq(seq_of(2), frozen_at);
    ck_assert_uint_eq(bus.host[2].mine_count, 0);
    ck_assert_uint_eq(bus.host[0].mine_count, 1);
}
END_TEST

START_TEST(three_alone_all_freeze)
{
    bus_form(3);
    cut("abc");
    run_ms(5000);
    for (unsigned i = 0; i < 3; i++)
        ck_phase(i, REPLICA_FROZEN);
}
END_TEST

START_TEST(a_merge_takes_the_better_state_whole)
{
    bus_form(3);
    cut("aab");
    tell_facts(2, 99, 7);
    run_ms(500);
    tell_facts(0, 42, 8);
    run_ms(500);
    cut("aaa");
    run_ms(500);
    for (unsigned i = 0; i < 3; i++) {
        ck_phase(i, REPLICA_SYNCED);
        ck_assert_uint_eq(digest_of(i), digest_of(0));
        ck_assert_uint_eq(engine_node(replica_engine(bus.host[i].r), (hf_node){0}).memory_mib, 42);
        /* What the minority wanted to say is said now, once. */
        ck_assert_uint_eq(engine_node(replica_engine(bus.host[i].r), (hf_node){2}).memory_mib, 99);
    }
    ck_assert_uint_eq(bus.host[2].mine_count, 1);
    ck_assert_uint_eq(bus.host[2].mine[0], 7);
}
END_TEST

START_TEST(the_epoch_rises_with_every_synchronised_view)
{
    uint64_t first;

    bus_form(3);
    first = engine_group(replica_engine(bus.host[0].r)).epoch;
    cut("aab");
    run_ms(500);
    ck_assert_uint_gt(engine_group(replica_engine(bus.host[0].r)).epoch, first);
}
END_TEST

static bool lose_last_ready(const struct item *item, int from, int to)
{
    /* Node 3's ready reaches node 1 alone: node 1 believes that the view is synchronised. */
    return type_of(item) == GROUP_READY && from == 2 && to > 0;
}

START_TEST(a_state_that_only_one_node_believes_in_loses_to_the_majoritys)
{
    uint64_t phantom_epoch;

    bus_form(3);
    bus.drop = lose_last_ready;
    bus.ring_seq += 4;
    cut("aaa");
    settle();
    ck_phase(0, REPLICA_SYNCED);
    ck_phase(1, REPLICA_GREETING);
    phantom_epoch = engine_group(replica_engine(bus.host[0].r)).epoch;
    for (unsigned k = 0; k < 20; k++)
        tell_facts(0, 1000 + k, k);
    settle();
    bus.drop = NULL;
    cut("abb");
    run_ms(500);
    ck_phase(1, REPLICA_SYNCED);
    ck_assert_uint_gt(engine_group(replica_engine(bus.host[1].r)).epoch, phantom_epoch);
    tell_facts(1, 5555, 50);
    run_ms(500);
    cut("aaa");
    run_ms(500);
    for (unsigned i = 0; i < 3; i++) {
        ck_phase(i, REPLICA_SYNCED);
        ck_assert_uint_eq(engine_node(replica_engine(bus.host[i].r), (hf_node){1}).memory_mib,
                          5555);
        /* Node 1's events were taken back with its state, and said again. */
        ck_assert_uint_eq(engine_node(replica_engine(bus.host[i].r), (hf_node){0}).memory_mib,
                          1019);
    }
}
END_TEST

static bool lose_others_ready(const struct item *item, int from, int to)
{
    return type_of(item) == GROUP_READY && from > 0 && to < 0;
}

START_TEST(nobody_synchronises_while_less_than_a_majority_is_ready)
{
    bus_open(3);
    bus.drop = lose_others_ready;
    for (unsigned i = 0; i < 3; i++)
        join(i);
    for (unsigned k = 0; k < 100; k++) {
        run_ms(100);
        for (unsigned i = 0; i < 3; i++)
            ck_assert_int_ne((int)phase_of(i), (int)REPLICA_SYNCED);
    }
    for (unsigned i = 0; i < 3; i++)
        ck_phase(i, REPLICA_FROZEN);
    bus.drop = NULL;
    bus.ring_seq += 4;
    tell_members('a');
    run_ms(500);
    ck_phase(0, REPLICA_SYNCED);
}
END_TEST

START_TEST(a_pause_while_greeting_hurries_nobody)
{
    bus_open(3);
    for (unsigned i = 0; i < 3; i++)
        load(i, NULL);
    bus.host[2].is_paused = true;
    for (unsigned i = 0; i < 3; i++)
        join(i);
    bus.host[0].is_paused = bus.host[1].is_paused = true;
    run_ms(5000);
    for (unsigned i = 0; i < 3; i++)
        bus.host[i].is_paused = false;
    /* The first to wake is late, not the others: it waits for them once more. */
    replica_tick(bus.host[0].r, bus.now);
    ck_assert_uint_eq(bus.mcasts[GROUP_GO], 0);
    run_ms(500);
    for (unsigned i = 0; i < 3; i++)
        ck_phase(i, REPLICA_SYNCED);
    ck_assert_uint_eq(replica_look(bus.host[0].r).participants, 7);
}
END_TEST

/* ---- losing nodes ---- */

START_TEST(a_daemon_that_leaves_is_absent_in_a_ring_that_its_host_is_in)
{
    bus_form(3);
    kill_daemon(2);
    run_ms(300);
    ck_phase(0, REPLICA_SYNCED);
    ck_assert(!bus.host[0].members_event.u.members.node[2].present);
    ck_assert(bus.host[0].members_event.u.members.node[2].in_ring);
}
END_TEST

START_TEST(a_host_that_leaves_is_out_of_the_ring)
{
    bus_form(3);
    power_off(2);
    run_ms(300);
    ck_phase(0, REPLICA_SYNCED);
    ck_assert(!bus.host[0].members_event.u.members.node[2].present);
    ck_assert(!bus.host[0].members_event.u.members.node[2].in_ring);
}
END_TEST

START_TEST(a_restarted_daemon_comes_back_with_its_new_incarnation)
{
    bus_form(3);
    tell_facts(2, 10, 1);
    run_ms(300);
    kill_daemon(2);
    run_ms(300);
    join(2);
    run_ms(300);
    ck_phase(2, REPLICA_SYNCED);
    ck_assert_uint_eq(bus.host[0].members_event.u.members.node[2].incarnation, 103);
    tell_facts(2, 20, 1);
    run_ms(300);
    ck_assert_uint_eq(engine_node(replica_engine(bus.host[0].r), (hf_node){2}).memory_mib, 20);
}
END_TEST

START_TEST(no_connection_is_apart_and_coming_back_is_a_greeting)
{
    bus_form(3);
    replica_apart(bus.host[1].r, bus.now);
    ck_phase(1, REPLICA_APART);
    ck_assert_int_eq(replica_deadline(bus.host[1].r).ns, INT64_MAX);
    tell_facts(1, 123, 5);
    bus.host[1].pid = bus.pid_next++;
    tell_members('a');
    run_ms(500);
    ck_phase(1, REPLICA_SYNCED);
    ck_assert_uint_eq(engine_node(replica_engine(bus.host[0].r), (hf_node){1}).memory_mib, 123);
}
END_TEST

/* ---- cold starts ---- */

static size_t save_of(unsigned i, uint8_t *bytes, size_t cap)
{
    size_t len = engine_save(replica_engine(bus.host[i].r), bytes, cap);

    ck_assert_uint_le(len, cap);
    return len;
}

START_TEST(a_cold_start_says_so_and_takes_the_newest_state_from_disk)
{
    static uint8_t old[1 << 20], newest[1 << 20];
    size_t old_len, newest_len;
    struct hf_err err;

    bus_form(3);
    old_len = save_of(0, old, sizeof old);
    tell_facts(0, 31, 0);
    run_ms(300);
    newest_len = save_of(0, newest, sizeof newest);
    for (unsigned i = 0; i < 3; i++)
        power_off(i);
    for (unsigned i = 0; i < 3; i++) {
        bus.host[i].is_up = true;
        load(i, NULL);
        ck_assert_int_eq(replica_restore(bus.host[i].r, i == 1 ? newest : old,
                                         i == 1 ? newest_len : old_len, &err),
                         HF_OK);
    }
    bus.ring_seq += 4;
    tell_members('a');
    run_ms(500);
    for (unsigned i = 0; i < 3; i++) {
        ck_phase(i, REPLICA_SYNCED);
        ck_assert_uint_eq(engine_node(replica_engine(bus.host[i].r), (hf_node){0}).memory_mib, 31);
        ck_assert(bus.host[i].members_event.u.members.cold);
        ck_assert_uint_eq(bus.host[i].replaced, 2); /* formed, and once told of the start */
    }
}
END_TEST

START_TEST(a_newer_disk_that_turns_up_after_a_cold_start_loses_to_what_was_decided_since)
{
    static uint8_t old[1 << 20], newest[1 << 20];
    size_t old_len, newest_len;
    struct hf_err err;

    bus_form(3);
    old_len = save_of(0, old, sizeof old);
    for (unsigned k = 0; k < 10; k++) {
        cut(k % 2 == 0 ? "aba" : "aaa");
        tell_facts(0, 100 + k, 0);
        run_ms(500);
    }
    newest_len = save_of(0, newest, sizeof newest);
    for (unsigned i = 0; i < 3; i++)
        power_off(i);
    for (unsigned i = 1; i < 3; i++) { /* their journals were behind */
        bus.host[i].is_up = true;
        load(i, NULL);
        ck_assert_int_eq(replica_restore(bus.host[i].r, old, old_len, &err), HF_OK);
    }
    bus.ring_seq += 4;
    tell_members('a');
    run_ms(500);
    tell_facts(1, 4711, 0);
    run_ms(500);
    load(0, NULL);
    ck_assert_int_eq(replica_restore(bus.host[0].r, newest, newest_len, &err), HF_OK);
    power_on(0);
    run_ms(500);
    for (unsigned i = 0; i < 3; i++) {
        ck_phase(i, REPLICA_SYNCED);
        ck_assert_uint_eq(engine_node(replica_engine(bus.host[i].r), (hf_node){1}).memory_mib,
                          4711);
    }
}
END_TEST

START_TEST(a_state_from_disk_that_is_not_one_is_refused_and_not_used)
{
    uint8_t junk[100] = {1, 2, 3};
    struct hf_err err;

    bus_open(3);
    load(0, NULL);
    ck_assert_int_ne(replica_restore(bus.host[0].r, junk, sizeof junk, &err), HF_OK);
    ck_assert_ptr_null(replica_engine(bus.host[0].r));
    load(1, NULL);
    load(2, NULL);
    tell_members('a');
    run_ms(500);
    ck_phase(0, REPLICA_SYNCED);
}
END_TEST

START_TEST(a_disk_and_an_empty_one_go_on_without_the_third)
{
    static uint8_t bytes[1 << 20];
    struct hf_err err;
    size_t len;

    bus_form(3);
    len = save_of(0, bytes, sizeof bytes);
    for (unsigned i = 0; i < 3; i++)
        power_off(i);
    for (unsigned i = 0; i < 2; i++) {
        bus.host[i].is_up = true;
        load(i, NULL);
    }
    ck_assert_int_eq(replica_restore(bus.host[0].r, bytes, len, &err), HF_OK);
    bus.ring_seq += 4;
    tell_members('a');
    run_ms(500);
    ck_phase(0, REPLICA_SYNCED);
    ck_phase(1, REPLICA_SYNCED);
    ck_assert(bus.host[1].members_event.u.members.cold);
}
END_TEST

START_TEST(frozen_members_wait_for_the_last_one_to_come)
{
    bus_form(3);
    cut("abc");
    run_ms(300);
    ck_phase(0, REPLICA_FROZEN);
    cut("aab");
    run_ms(1500);
    ck_phase(0, REPLICA_GREETING);
    cut("aaa");
    run_ms(300);
    ck_phase(0, REPLICA_SYNCED);
    ck_assert(bus.host[0].members_event.u.members.node[2].present);
    cut("abc");
    run_ms(300);
    cut("aab");
    run_ms(4000);
    ck_phase(0, REPLICA_SYNCED); /* nobody came: they go on */
    ck_assert(!bus.host[0].members_event.u.members.node[2].present);
}
END_TEST

START_TEST(not_cold_when_a_majority_carried_the_state_alive)
{
    bus_form(3);
    power_off(2);
    run_ms(300);
    power_on(2);
    join(2);
    run_ms(300);
    ck_phase(2, REPLICA_SYNCED);
    ck_assert(!bus.host[2].members_event.u.members.cold);
}
END_TEST

START_TEST(a_file_without_us_or_a_zero_duration_is_refused)
{
    struct replica_settings s;
    struct replica_ports ports = {0};
    struct replica *r = malloc(replica_size());
    struct hf_err err;

    bus_open(3);
    s = settings_of(0, 1);
    s.nodeid = 9;
    ck_assert_int_eq(replica_init(r, &s, &ports, &err), HF_EINVAL);
    s = settings_of(0, 1);
    s.beat_ms = 0;
    ck_assert_int_eq(replica_init(r, &s, &ports, &err), HF_EINVAL);
    free(r);
}
END_TEST

HF_TEST_MAIN("cluster/replica", HF_CASE(three_daemons_with_the_same_file_form_a_group),
             HF_CASE(one_of_three_forms_nothing),
             HF_CASE(two_of_three_form_a_group_and_the_third_gets_the_state),
             HF_CASE(files_that_differ_form_nothing_without_a_majority_of_one),
             HF_CASE(a_node_with_another_file_joins_what_the_majority_forms),
             HF_CASE(a_single_configured_node_is_its_own_majority),
             HF_CASE(a_ghost_is_not_counted_and_not_waited_for),
             HF_CASE(two_processes_of_one_node_are_not_counted_until_one_has_left),
             HF_CASE(a_member_that_decides_by_other_rules_is_left_out_and_told),
             HF_CASE(noise_from_a_member_that_never_greets_does_not_keep_the_group_greeting),
             HF_CASE(a_hung_member_delays_the_others_by_hello_wait_and_no_longer),
             HF_CASE(a_late_hello_makes_everybody_greet_again),
             HF_CASE(the_minority_freezes_and_the_majority_goes_on),
             HF_CASE(three_alone_all_freeze), HF_CASE(a_merge_takes_the_better_state_whole),
             HF_CASE(the_epoch_rises_with_every_synchronised_view),
             HF_CASE(a_state_that_only_one_node_believes_in_loses_to_the_majoritys),
             HF_CASE(nobody_synchronises_while_less_than_a_majority_is_ready),
             HF_CASE(a_pause_while_greeting_hurries_nobody),
             HF_CASE(a_daemon_that_leaves_is_absent_in_a_ring_that_its_host_is_in),
             HF_CASE(a_host_that_leaves_is_out_of_the_ring),
             HF_CASE(a_restarted_daemon_comes_back_with_its_new_incarnation),
             HF_CASE(no_connection_is_apart_and_coming_back_is_a_greeting),
             HF_CASE(a_cold_start_says_so_and_takes_the_newest_state_from_disk),
             HF_CASE(a_newer_disk_that_turns_up_after_a_cold_start_loses_to_what_was_decided_since),
             HF_CASE(a_state_from_disk_that_is_not_one_is_refused_and_not_used),
             HF_CASE(a_disk_and_an_empty_one_go_on_without_the_third),
             HF_CASE(frozen_members_wait_for_the_last_one_to_come),
             HF_CASE(not_cold_when_a_majority_carried_the_state_alive),
             HF_CASE(a_file_without_us_or_a_zero_duration_is_refused))
