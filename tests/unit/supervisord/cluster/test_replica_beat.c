#include "tests/unit/supervisord/cluster/bus.h"

#include "supervisord/cluster/replica_internal.h"

/* Make one node's state differ from the others', as a fault in memory would. */
static void corrupt(unsigned i, uint32_t by)
{
    struct engine_out *out = malloc(sizeof *out);
    struct hf_event ev = facts(900000 + by);

    ck_assert_ptr_nonnull(out);
    ev.seq = engine_seq(replica_state(bus.host[i].r)) + 1;
    engine_step(replica_state(bus.host[i].r), &ev, out);
    bus.host[i].r->has_shadow = false;
    free(out);
    bus.ignores_divergence = true;
}

/* ---- divergence ---- */

START_TEST(the_odd_one_of_three_stops_and_the_others_go_on)
{
    bus_form(3);
    corrupt(1, 1);
    run_ms(1000);
    ck_phase(0, REPLICA_SYNCED);
    ck_phase(1, REPLICA_STOPPED);
    ck_phase(2, REPLICA_SYNCED);
    ck_assert_ptr_nonnull(strstr(bus.host[1].why, "diverged"));
    ck_assert_int_eq(replica_deadline(bus.host[1].r).ns, INT64_MAX);
}
END_TEST

START_TEST(two_that_disagree_both_freeze)
{
    bus_form(3);
    kill_daemon(2);
    run_ms(500);
    corrupt(1, 1);
    run_ms(1000);
    ck_phase(0, REPLICA_FROZEN);
    ck_phase(1, REPLICA_FROZEN);
    ck_assert_ptr_nonnull(strstr(bus.host[0].why, "diverged"));
}
END_TEST

START_TEST(three_that_all_disagree_all_freeze)
{
    bus_form(3);
    corrupt(1, 1);
    corrupt(2, 2);
    run_ms(1000);
    for (unsigned i = 0; i < 3; i++)
        ck_phase(i, REPLICA_FROZEN);
}
END_TEST

START_TEST(a_stopped_one_sends_and_accepts_nothing_more)
{
    struct hf_event ev = facts(1);
    uint64_t sent;

    bus_form(3);
    corrupt(1, 1);
    run_ms(1000);
    sent = bus.mcasts[GROUP_BEAT];
    ck_assert_int_eq(submit(1, &ev, 1), HF_ECLOSED);
    bus.host[0].is_paused = bus.host[2].is_paused = true;
    run_ms(1000);
    ck_assert_uint_eq(bus.mcasts[GROUP_BEAT], sent);
    cut("aab");
    run_ms(100);
    ck_phase(1, REPLICA_STOPPED);
}
END_TEST

/* ---- the lease ---- */

START_TEST(our_newest_beat_is_echoed_within_two_beats)
{
    bus_form(3);
    run_ms(2000);
    for (unsigned i = 0; i < 3; i++) {
        struct replica_view v = replica_look(bus.host[i].r);

        ck_assert_int_ge(v.newest_echoed.ns, hf_time_add_ms(bus.now, -250).ns);
        ck_assert_int_le(v.newest_echoed.ns, bus.now.ns);
    }
}
END_TEST

START_TEST(alone_no_beat_is_echoed_any_more)
{
    hf_time last;

    bus_form(3);
    run_ms(2000);
    cut("aab");
    run_ms(100);
    last = replica_look(bus.host[2].r).newest_echoed;
    run_ms(3000);
    ck_assert_int_eq(replica_look(bus.host[2].r).newest_echoed.ns, last.ns);
    ck_assert_int_gt(replica_look(bus.host[0].r).newest_echoed.ns, last.ns);
}
END_TEST

START_TEST(a_beat_kept_in_a_stopped_corosync_does_not_count_as_new_when_it_comes_out)
{
    hf_time stopped_at;

    bus_form(3);
    run_ms(1000);
    bus.host[2].holds_out = true;
    stopped_at = bus.now;
    run_ms(600);
    bus.host[2].holds_out = false;
    for (size_t k = 0; k < bus.host[2].kept_count; k++)
        spread(bus.host[2].kept[k], 2);
    settle();
    /* All came out now, but each counts from when it was sent. */
    ck_assert_int_le(replica_look(bus.host[2].r).newest_echoed.ns, stopped_at.ns);
}
END_TEST

START_TEST(with_five_nodes_one_echo_is_no_majority)
{
    hf_time last;

    bus_form(5);
    run_ms(1000);
    last = replica_look(bus.host[0].r).newest_echoed;
    for (unsigned i = 2; i < 5; i++)
        bus.host[i].is_paused = true;
    run_ms(500);
    ck_assert_int_le(replica_look(bus.host[0].r).newest_echoed.ns, last.ns + 200 * HF_NS_PER_MS);
}
END_TEST

/* ---- mute peers ---- */

START_TEST(a_mute_member_is_reported_by_the_lowest_once)
{
    bus_form(3);
    run_ms(500);
    bus.host[2].is_paused = true;
    run_ms(900);
    ck_assert_uint_eq(bus.host[0].beat_events, 0);
    run_ms(800);
    ck_assert_uint_eq(bus.host[0].beat_events, 1);
    ck_assert_uint_eq(bus.host[0].beat_event.from.ix, 0);
    ck_assert_uint_eq(bus.host[0].beat_event.u.beat.node.ix, 2);
    ck_assert(!bus.host[0].beat_event.u.beat.heard);
    run_ms(5000);
    ck_assert_uint_eq(bus.host[0].beat_events, 1);
}
END_TEST

static bool no_events_from_the_first(const struct item *item, int from, int to)
{
    return to < 0 && from == 0 && type_of(item) == GROUP_EVENT;
}

START_TEST(the_next_in_rank_reports_when_the_lowest_cannot)
{
    bus_form(3);
    run_ms(500);
    bus.drop = no_events_from_the_first;
    bus.host[2].is_paused = true;
    run_ms(3000);
    ck_assert_uint_eq(bus.host[1].beat_events, 1);
    ck_assert_uint_eq(bus.host[1].beat_event.from.ix, 1);
}
END_TEST

START_TEST(a_member_that_beats_again_is_reported_as_heard)
{
    bus_form(3);
    run_ms(500);
    bus.host[2].is_paused = true;
    run_ms(2000);
    ck_assert(!bus.host[0].beat_event.u.beat.heard);
    bus.host[2].is_paused = false;
    run_ms(2500);
    ck_assert_uint_eq(bus.host[0].beat_events, 2);
    ck_assert(bus.host[0].beat_event.u.beat.heard);
    ck_phase(2, REPLICA_SYNCED);
}
END_TEST

START_TEST(the_first_that_beats_again_is_reported_at_once_by_the_second)
{
    bus_form(3);
    run_ms(500);
    bus.host[0].is_paused = true;
    run_ms(2000);
    ck_assert_uint_eq(bus.host[1].beat_events, 1);
    bus.host[0].is_paused = false;
    run_ms(300);
    ck_assert_uint_eq(bus.host[1].beat_events, 2);
    ck_assert(bus.host[1].beat_event.u.beat.heard);
    ck_assert_uint_eq(bus.host[1].beat_event.from.ix, 1);
}
END_TEST

START_TEST(one_whose_own_beats_do_not_come_back_accuses_nobody)
{
    bus_form(3);
    run_ms(500);
    bus.host[0].holds_out = true; /* its corosync takes, but nothing comes out */
    bus.host[2].is_paused = true;
    bus.host[1].is_paused = true;
    run_ms(4000);
    ck_assert_uint_eq(replica_look(bus.host[0].r).queued, 0);
    ck_assert_uint_eq(bus.host[0].beat_events, 0);
}
END_TEST

START_TEST(after_our_own_pause_nobody_is_accused)
{
    bus_form(3);
    run_ms(500);
    bus.host[0].is_paused = true;
    /* The others are powered down in the meantime, as far as deliveries go: nothing is queued. */
    bus.host[1].is_paused = bus.host[2].is_paused = true;
    run_ms(10000);
    for (unsigned i = 0; i < 3; i++)
        bus.host[i].is_paused = false;
    run_ms(1500);
    for (unsigned i = 0; i < 3; i++) {
        ck_phase(i, REPLICA_SYNCED);
        ck_assert_uint_eq(bus.host[i].beat_events, 0);
    }
}
END_TEST

HF_TEST_MAIN("cluster/replica_beat", HF_CASE(the_odd_one_of_three_stops_and_the_others_go_on),
             HF_CASE(two_that_disagree_both_freeze), HF_CASE(three_that_all_disagree_all_freeze),
             HF_CASE(a_stopped_one_sends_and_accepts_nothing_more),
             HF_CASE(our_newest_beat_is_echoed_within_two_beats),
             HF_CASE(alone_no_beat_is_echoed_any_more),
             HF_CASE(a_beat_kept_in_a_stopped_corosync_does_not_count_as_new_when_it_comes_out),
             HF_CASE(with_five_nodes_one_echo_is_no_majority),
             HF_CASE(a_mute_member_is_reported_by_the_lowest_once),
             HF_CASE(the_next_in_rank_reports_when_the_lowest_cannot),
             HF_CASE(a_member_that_beats_again_is_reported_as_heard),
             HF_CASE(the_first_that_beats_again_is_reported_at_once_by_the_second),
             HF_CASE(one_whose_own_beats_do_not_come_back_accuses_nobody),
             HF_CASE(after_our_own_pause_nobody_is_accused))
