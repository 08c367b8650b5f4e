#include "tests/unit/supervisord/cluster/bus.h"

/* ---- events ---- */

START_TEST(events_apply_once_in_the_order_submitted_and_the_cookie_comes_back)
{
    bus_form(3);
    for (uint64_t k = 1; k <= 100; k++)
        tell_facts(1, (uint32_t)k, k);
    run_ms(300);
    ck_assert_uint_eq(bus.host[1].mine_count, 100);
    for (size_t k = 0; k < 100; k++)
        ck_assert_uint_eq(bus.host[1].mine[k], k + 1);
    ck_assert_uint_eq(bus.host[0].mine_count, 0);
    ck_assert_uint_eq(engine_node(replica_engine(bus.host[2].r), (hf_node){1}).memory_mib, 100);
    ck_assert_uint_eq(replica_look(bus.host[1].r).queued, 0);
}
END_TEST

START_TEST(a_full_outbox_is_a_named_refusal)
{
    struct hf_event ev = facts(1);
    unsigned taken = 0;

    bus_open(3);
    load(0, NULL);
    while (taken < 5000 && submit(0, &ev, taken) == HF_OK)
        taken++;
    ck_assert_uint_eq(taken, HF_OUTBOX_MAX);
    ck_assert_int_eq(submit(0, &ev, 1), HF_EFULL);
}
END_TEST

START_TEST(large_events_fill_the_outbox_by_bytes_and_leave_it_again)
{
    struct hf_event ev = {.type = HF_EV_INVENTORY};
    unsigned taken = 0;

    bus_form(3);
    ev.u.inventory.count = HF_VMS_MAX;
    for (unsigned k = 0; k < HF_VMS_MAX; k++)
        ev.u.inventory.vm[k].uid = 1000 + k;
    bus.host[0].holds_out = true;
    while (taken < 5000 && submit(0, &ev, taken) == HF_OK)
        taken++;
    ck_assert_uint_gt(taken, 200);
    ck_assert_uint_lt(taken, HF_OUTBOX_MAX);
    bus.host[0].holds_out = false;
    for (size_t k = 0; k < bus.host[0].kept_count; k++)
        spread(bus.host[0].kept[k], 0);
    run_ms(3000);
    ck_assert_uint_eq(bus.host[0].mine_count, taken);
    /* Round and round the ring of bytes. */
    for (unsigned k = 0; k < 600; k++) {
        ev.u.inventory.count = (uint16_t)(k % HF_VMS_MAX);
        ck_assert_int_eq(submit(0, &ev, k), HF_OK);
        if (k % 50 == 0)
            run_ms(300);
    }
    run_ms(1000);
    ck_assert_uint_eq(bus.host[0].mine_count, taken + 600);
}
END_TEST

START_TEST(never_more_in_flight_than_allowed_and_all_arrive)
{
    bus_form(3);
    bus.host[0].holds_out = true;
    for (uint64_t k = 1; k <= 200; k++)
        tell_facts(0, (uint32_t)k, k);
    settle();
    ck_assert_uint_le(replica_look(bus.host[0].r).in_flight, HF_IN_FLIGHT_MAX);
    ck_assert_uint_ge(replica_look(bus.host[0].r).queued, 200 - HF_IN_FLIGHT_MAX);
    bus.host[0].holds_out = false;
    for (size_t k = 0; k < bus.host[0].kept_count; k++)
        spread(bus.host[0].kept[k], 0);
    run_ms(1000);
    ck_assert_uint_eq(bus.host[0].mine_count, 200);
    ck_assert_uint_le(bus.in_flight_most, HF_IN_FLIGHT_MAX);
}
END_TEST

static unsigned lose_left;

static bool lose_events(const struct item *item, int from, int to)
{
    if (to >= 0 || from != 0 || type_of(item) != GROUP_EVENT || lose_left == 0)
        return false;
    lose_left--;
    return true;
}

START_TEST(an_accepted_message_that_corosync_drops_is_sent_again)
{
    bus_form(3);
    bus.drop = lose_events;
    lose_left = 1;
    tell_facts(0, 5, 55);
    run_ms(1900);
    ck_assert_uint_eq(bus.host[0].mine_count, 0);
    run_ms(300);
    ck_assert_uint_eq(bus.host[0].mine_count, 1);
    ck_assert_uint_eq(replica_look(bus.host[0].r).resent, 1);
}
END_TEST

START_TEST(a_sender_that_sees_its_own_gap_goes_back_at_once)
{
    bus_form(3);
    bus.drop = lose_events;
    lose_left = 1;
    for (uint64_t k = 1; k <= 10; k++)
        tell_facts(0, (uint32_t)k, k);
    settle();
    ck_assert_uint_eq(bus.host[0].mine_count, 10);
    for (size_t k = 0; k < 10; k++)
        ck_assert_uint_eq(bus.host[0].mine[k], k + 1);
    ck_assert_uint_gt(replica_look(bus.host[0].r).dropped_gap, 0);
    ck_assert_uint_le(replica_look(bus.host[0].r).resent, 10);
    ck_assert_uint_eq(engine_node(replica_engine(bus.host[2].r), (hf_node){0}).memory_mib, 10);
}
END_TEST

START_TEST(a_message_delivered_twice_applies_once)
{
    bus_form(3);
    bus.doubles = 30;
    for (uint64_t k = 1; k <= 10; k++)
        tell_facts(0, (uint32_t)k, k);
    run_ms(300);
    ck_assert_uint_eq(bus.host[0].mine_count, 10);
    ck_assert_uint_gt(replica_look(bus.host[0].r).duplicates, 0);
    ck_assert_uint_eq(digest_of(0), digest_of(2));
}
END_TEST

static bool lose_all_of_the_first(const struct item *item, int from, int to)
{
    (void)item;
    return to < 0 && from == 0;
}

START_TEST(everything_in_flight_lost_does_not_block_for_ever)
{
    bus_form(3);
    bus.drop = lose_all_of_the_first;
    for (uint64_t k = 1; k <= 100; k++)
        tell_facts(0, (uint32_t)k, k);
    run_ms(10000);
    ck_assert_uint_ge(replica_look(bus.host[0].r).in_flight, HF_IN_FLIGHT_MAX);
    ck_assert_uint_le(replica_look(bus.host[0].r).in_flight, 2 * HF_IN_FLIGHT_MAX);
    bus.drop = NULL;
    run_ms(10000);
    ck_assert_uint_eq(bus.host[0].mine_count, 100);
    ck_assert_uint_eq(digest_of(0), digest_of(1));
}
END_TEST

START_TEST(what_a_stopped_corosync_kept_is_ignored_in_the_new_view)
{
    uint64_t before;

    bus_form(3);
    bus.host[2].holds_out = true;
    tell_facts(2, 4321, 9);
    cut("aab");
    run_ms(1000);
    cut("aaa");
    before = replica_look(bus.host[0].r).dropped_old_view;
    bus.host[2].holds_out = false;
    for (size_t k = 0; k < bus.host[2].kept_count; k++)
        spread(bus.host[2].kept[k], 2);
    ck_assert_uint_gt(bus.host[2].kept_count, 0);
    settle();
    ck_assert_uint_gt(replica_look(bus.host[0].r).dropped_old_view, before);
    run_ms(5000);
    for (unsigned i = 0; i < 3; i++)
        ck_phase(i, REPLICA_SYNCED);
    ck_assert_uint_eq(bus.host[2].mine_count, 1);
    ck_assert_uint_eq(engine_node(replica_engine(bus.host[0].r), (hf_node){2}).memory_mib, 4321);
}
END_TEST

static bool not_to_the_third(const struct item *item, int from, int to)
{
    return to == 2 && from == 2 && type_of(item) == GROUP_EVENT;
}

START_TEST(an_event_applied_while_we_were_cut_off_is_absorbed_not_repeated)
{
    uint64_t seq;

    bus_form(3);
    bus.drop = not_to_the_third;
    bus.host[2].is_paused = true;
    tell_facts(2, 777, 31);
    settle();
    seq = seq_of(0);
    ck_assert_uint_eq(engine_node(replica_engine(bus.host[0].r), (hf_node){2}).memory_mib, 777);
    bus.drop = NULL;
    cut("aab");
    run_ms(500);
    bus.host[2].is_paused = false;
    cut("aaa");
    run_ms(500);
    ck_phase(2, REPLICA_SYNCED);
    ck_assert_uint_eq(bus.host[2].mine_count, 0);
    ck_assert_uint_eq(bus.host[2].absorbed, 1);
    ck_assert_uint_eq(bus.host[2].absorbed_cookie, 31);
    ck_assert_uint_eq(seq_of(0), seq + 2); /* two views, no repetition */
}
END_TEST

/* An event message from node 1's address, whole and of this view, with `inner` as its event. */
static void forge(uint64_t incarnation, const uint8_t *inner, size_t inner_len)
{
    struct item item = {.nodeid = 1, .pid = bus.host[0].pid};
    struct group_header h = {.type = GROUP_EVENT, .incarnation = incarnation, .number = 1};
    struct group_event event = {.sender_seq = 1, .bytes = inner, .len = inner_len};
    uint8_t bytes[2000];
    struct hf_writer w = hf_writer_on(bytes, sizeof bytes);

    h.view = replica_look(bus.host[0].r).view;
    h.boot.id[0] = 1;
    group_put_header(&w, &h);
    group_put_event(&w, &event);
    group_seal(bytes, w.len);
    item.bytes = bytes;
    item.len = w.len;
    spread(&item, 0);
    settle();
}

static void forge_event(uint64_t incarnation, const struct hf_event *ev)
{
    uint8_t inner[1000];
    struct hf_writer w = hf_writer_on(inner, sizeof inner);

    event_encode(ev, &w);
    ck_assert(!w.bad);
    forge(incarnation, inner, w.len);
}

START_TEST(whole_bytes_that_are_no_event_are_skipped_by_everybody_alike)
{
    bus_form(3);
    forge(100, (const uint8_t *)"\x7fjunk", 5);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(replica_look(bus.host[i].r).dropped_bad, 1);
        ck_phase(i, REPLICA_SYNCED);
    }
}
END_TEST

START_TEST(nobody_may_submit_a_membership)
{
    struct hf_event ev = {.type = HF_EV_MEMBERS, .from = HF_NO_NODE};
    uint64_t seq;

    bus_form(3);
    seq = seq_of(1);
    forge_event(100, &ev);
    ck_assert_uint_eq(seq_of(1), seq);
    ck_assert_uint_eq(replica_look(bus.host[1].r).dropped_bad, 1);
}
END_TEST

START_TEST(an_event_of_an_older_daemon_of_that_node_does_not_apply)
{
    struct hf_event ev = facts(1);
    uint64_t seq;

    bus_form(3);
    seq = seq_of(1);
    forge_event(99, &ev);
    ck_assert_uint_eq(seq_of(1), seq);
    forge_event(100, &ev); /* the same from the daemon that is there does */
    ck_assert_uint_eq(seq_of(1), seq + 1);
}
END_TEST

static bool damage_to_the_second;

static bool damage(const struct item *item, int from, int to)
{
    if (damage_to_the_second && to == 1 && from == 0 && type_of(item) == GROUP_EVENT) {
        item->bytes[item->len - 1] ^= 0x10;
        damage_to_the_second = false;
    }
    return false;
}

START_TEST(a_member_that_alone_got_a_damaged_message_greets_again_and_catches_up)
{
    bus_form(3);
    bus.drop = damage;
    damage_to_the_second = true;
    tell_facts(0, 10, 1);
    tell_facts(0, 11, 2);
    run_ms(3000);
    ck_assert(!damage_to_the_second);
    for (unsigned i = 0; i < 3; i++) {
        ck_phase(i, REPLICA_SYNCED);
        ck_assert_uint_eq(digest_of(i), digest_of(0));
        ck_assert_uint_eq(replica_look(bus.host[i].r).participants, 7);
    }
    ck_assert_uint_eq(replica_look(bus.host[1].r).dropped_bad, 1);
    ck_assert_uint_eq(engine_node(replica_engine(bus.host[1].r), (hf_node){0}).memory_mib, 11);
}
END_TEST

static bool is_foreign_now;

static bool make_foreign(const struct item *item, int from, int to)
{
    if (is_foreign_now && from == 2 && to < 0) {
        item->bytes[4] = 0x63;
        group_seal(item->bytes, item->len);
    }
    return false;
}

START_TEST(a_participant_that_changes_to_an_unknown_version_stops_us)
{
    bus_form(3);
    bus.drop = make_foreign;
    is_foreign_now = true;
    tell_facts(2, 10, 1);
    settle();
    ck_phase(0, REPLICA_STOPPED);
    ck_assert_ptr_nonnull(strstr(bus.host[0].why, "version 99"));
}
END_TEST

START_TEST(a_newcomer_of_an_unknown_version_is_left_out_and_stops_nobody)
{
    bus_open(3);
    bus.drop = make_foreign;
    is_foreign_now = true;
    join(0);
    join(1);
    run_ms(500);
    join(2);
    run_ms(300);
    ck_phase(0, REPLICA_SYNCED);
    ck_phase(1, REPLICA_SYNCED);
    ck_assert_uint_eq(replica_look(bus.host[0].r).participants, 3);
}
END_TEST

/* ---- effects ---- */

START_TEST(an_order_is_performed_by_its_actor_alone_and_once)
{
    bus_form(3);
    all_ready();
    add_and_start(0, "v1", 1);
    run_ms(1000);
    ck_assert_uint_eq(orders(0, HF_FX_VM_START), 0);
    ck_assert_uint_eq(orders(1, HF_FX_VM_START), 1);
    ck_assert_uint_eq(orders(2, HF_FX_VM_START), 0);
}
END_TEST

static bool nobody_acks(const struct item *item, int from, int to)
{
    (void)from;
    return to < 0 && (type_of(item) == GROUP_ACK || type_of(item) == GROUP_BEAT);
}

static bool only_own_ack(const struct item *item, int from, int to)
{
    return to < 0 && from != 1 && (type_of(item) == GROUP_ACK || type_of(item) == GROUP_BEAT);
}

START_TEST(no_effect_before_a_majority_has_acknowledged_the_order)
{
    bus_form(3);
    all_ready();
    run_ms(500);
    bus.drop = only_own_ack;
    add_and_start(0, "v1", 1);
    run_ms(900);
    ck_assert_uint_eq(orders(1, HF_FX_VM_START), 0);
    bus.drop = NULL;
    run_ms(300);
    ck_assert_uint_eq(orders(1, HF_FX_VM_START), 1);
}
END_TEST

START_TEST(with_five_nodes_two_acknowledgements_are_not_enough)
{
    bus_form(5);
    all_ready();
    run_ms(500);
    bus.drop = nobody_acks;
    add_and_start(0, "v1", 1);
    ck_assert_uint_eq(orders(1, HF_FX_VM_START), 0);
    bus.drop = NULL;
    run_ms(300);
    ck_assert_uint_eq(orders(1, HF_FX_VM_START), 1);
}
END_TEST

START_TEST(an_order_not_acknowledged_before_a_cut_is_not_performed_by_the_minority)
{
    bus_form(3);
    all_ready();
    run_ms(500);
    bus.drop = only_own_ack;
    add_and_start(1, "v1", 1);
    bus.drop = NULL;
    cut("aba");
    run_ms(5000);
    ck_phase(1, REPLICA_FROZEN);
    ck_assert_uint_eq(orders(1, HF_FX_VM_START), 0);
}
END_TEST

static struct hf_effect order_no(unsigned i, unsigned nth)
{
    for (size_t k = 0; k < bus.host[i].fx_count; k++)
        if (bus.host[i].fx[k].type == HF_FX_VM_START && nth-- == 0)
            return bus.host[i].fx[k];
    ck_abort_msg("no such order");
    return (struct hf_effect){0};
}

START_TEST(what_is_still_wanted_comes_again_after_a_resync_and_only_once_acknowledged)
{
    bus_form(3);
    all_ready();
    add_and_start(0, "v1", 1);
    run_ms(500);
    ck_assert_uint_eq(orders(1, HF_FX_VM_START), 1);
    kill_daemon(2);
    run_ms(500);
    ck_assert_uint_eq(orders(1, HF_FX_VM_START), 2);
    ck_assert(hf_token_same(order_no(1, 0).token, order_no(1, 1).token));
    ck_assert_uint_ge(bus.host[1].resynced, 2);
    ck_assert(!bus.host[1].was_effect_early);
}
END_TEST

START_TEST(a_restarted_actor_gets_its_orders_again)
{
    bus_form(3);
    all_ready();
    add_and_start(0, "v1", 1);
    run_ms(500);
    kill_daemon(1);
    run_ms(300);
    join(1);
    run_ms(500);
    ck_phase(1, REPLICA_SYNCED);
    ck_assert_uint_eq(orders(1, HF_FX_VM_START), 1);
}
END_TEST

START_TEST(a_timer_is_released_at_once_to_everybody)
{
    bus_form(3);
    all_ready();
    run_ms(500);
    bus.drop = nobody_acks;
    add_and_start(0, "v1", 1);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(orders(i, HF_FX_VM_START), 0);
        ck_assert_uint_ge(orders(i, HF_FX_TIMER), 1);
    }
}
END_TEST

/* ---- side messages ---- */

START_TEST(a_side_message_reaches_every_member_also_the_sender)
{
    struct hf_err err;
    uint8_t bytes[10000];

    bus_form(3);
    memset(bytes, 7, sizeof bytes);
    ck_assert_int_eq(replica_side(bus.host[0].r, bytes, sizeof bytes, bus.now, &err), HF_OK);
    ck_assert_int_eq(replica_side(bus.host[0].r, bytes, HF_GROUP_MESSAGE_MAX, bus.now, &err),
                     HF_EINVAL);
    settle();
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(bus.host[i].sides, 1);
        ck_assert_uint_eq(bus.host[i].side_last, 7);
    }
}
END_TEST

START_TEST(too_many_side_messages_are_refused_until_some_were_delivered)
{
    struct hf_err err;
    unsigned taken = 0;

    bus_form(3);
    settle();
    while (taken < 100 && replica_side(bus.host[0].r, "x", 1, bus.now, &err) == HF_OK)
        taken++;
    ck_assert_uint_lt(taken, HF_IN_FLIGHT_MAX);
    ck_assert_int_eq(err.code, HF_EAGAIN);
    settle();
    ck_assert_int_eq(replica_side(bus.host[0].r, "x", 1, bus.now, &err), HF_OK);
}
END_TEST

HF_TEST_MAIN("cluster/replica_apply",
             HF_CASE(events_apply_once_in_the_order_submitted_and_the_cookie_comes_back),
             HF_CASE(a_full_outbox_is_a_named_refusal),
             HF_CASE(large_events_fill_the_outbox_by_bytes_and_leave_it_again),
             HF_CASE(never_more_in_flight_than_allowed_and_all_arrive),
             HF_CASE(an_accepted_message_that_corosync_drops_is_sent_again),
             HF_CASE(a_sender_that_sees_its_own_gap_goes_back_at_once),
             HF_CASE(a_message_delivered_twice_applies_once),
             HF_CASE(everything_in_flight_lost_does_not_block_for_ever),
             HF_CASE(what_a_stopped_corosync_kept_is_ignored_in_the_new_view),
             HF_CASE(an_event_applied_while_we_were_cut_off_is_absorbed_not_repeated),
             HF_CASE(whole_bytes_that_are_no_event_are_skipped_by_everybody_alike),
             HF_CASE(nobody_may_submit_a_membership),
             HF_CASE(an_event_of_an_older_daemon_of_that_node_does_not_apply),
             HF_CASE(a_member_that_alone_got_a_damaged_message_greets_again_and_catches_up),
             HF_CASE(a_participant_that_changes_to_an_unknown_version_stops_us),
             HF_CASE(a_newcomer_of_an_unknown_version_is_left_out_and_stops_nobody),
             HF_CASE(an_order_is_performed_by_its_actor_alone_and_once),
             HF_CASE(no_effect_before_a_majority_has_acknowledged_the_order),
             HF_CASE(with_five_nodes_two_acknowledgements_are_not_enough),
             HF_CASE(an_order_not_acknowledged_before_a_cut_is_not_performed_by_the_minority),
             HF_CASE(what_is_still_wanted_comes_again_after_a_resync_and_only_once_acknowledged),
             HF_CASE(a_restarted_actor_gets_its_orders_again),
             HF_CASE(a_timer_is_released_at_once_to_everybody),
             HF_CASE(a_side_message_reaches_every_member_also_the_sender),
             HF_CASE(too_many_side_messages_are_refused_until_some_were_delivered))
