#include "tests/unit/supervisord/cluster/bus.h"

static unsigned spoil_left;

/* Damaged where the donor read it: the envelope is right, the state is not. */
static bool spoil(const struct item *item, int from, int to)
{
    (void)from;
    if (to == 2 && type_of(item) == GROUP_SNAP && spoil_left > 0) {
        spoil_left--;
        item->bytes[item->len - 1] ^= 0x55; /* of the state, whatever its length */
        group_seal(item->bytes, item->len);
    }
    return false;
}

static void two_then_a_third(void)
{
    bus_open(3);
    join(0);
    join(1);
    run_ms(500);
    all_ready();
    join(2);
}

static void ck_all_alike(void)
{
    for (unsigned i = 0; i < 3; i++) {
        ck_phase(i, REPLICA_SYNCED);
        ck_assert_uint_eq(digest_of(i), digest_of(0));
        ck_assert_uint_eq(replica_look(bus.host[i].r).participants, 7);
    }
}

START_TEST(a_corrupt_snapshot_is_refused_and_asked_for_again)
{
    bus_open(3);
    bus.drop = spoil;
    spoil_left = 1;
    join(0);
    join(1);
    run_ms(500);
    tell_facts(0, 5, 0);
    join(2);
    run_ms(3000);
    ck_assert_uint_eq(spoil_left, 0);
    ck_all_alike();
    ck_assert_uint_ge(bus.host[2].phases[REPLICA_FROZEN], 1);
}
END_TEST

START_TEST(a_snapshot_that_is_always_corrupt_leaves_that_member_out_and_the_others_in_peace)
{
    uint32_t round;

    bus_open(3);
    bus.drop = spoil;
    spoil_left = 1000000;
    join(0);
    join(1);
    run_ms(500);
    join(2);
    run_ms(10000);
    ck_phase(0, REPLICA_SYNCED);
    ck_phase(1, REPLICA_SYNCED);
    ck_phase(2, REPLICA_FROZEN);
    ck_assert_ptr_null(replica_engine(bus.host[2].r));
    round = replica_look(bus.host[0].r).round;
    ck_assert_uint_le(round, 4);
    run_ms(10000);
    ck_assert_uint_eq(replica_look(bus.host[0].r).round, round);
    /* A new membership is a new chance. */
    bus.drop = NULL;
    kill_daemon(2);
    join(2);
    run_ms(1000);
    ck_all_alike();
}
END_TEST

static unsigned chunks_lost;

static bool lose_a_chunk(const struct item *item, int from, int to)
{
    (void)from;
    if (to >= 0 || type_of(item) != GROUP_SNAP || chunks_lost > 0)
        return false;
    chunks_lost++;
    return true;
}

START_TEST(a_lost_chunk_costs_one_wait_and_a_new_round)
{
    bus.drop = NULL;
    two_then_a_third();
    bus.drop = lose_a_chunk;
    run_ms(5000);
    ck_assert_uint_eq(chunks_lost, 1);
    ck_all_alike();
}
END_TEST

static bool lose_large_ones(const struct item *item, int from, int to)
{
    (void)from;
    return to < 0 && item->len > 1200;
}

START_TEST(a_path_that_loses_large_packets_still_carries_the_state)
{
    struct hf_event ev;

    bus_open(3);
    join(0);
    join(1);
    run_ms(500);
    all_ready();
    for (unsigned k = 0; k < 40; k++) {
        char name[10];

        snprintf(name, sizeof name, "v%u", k);
        ev = add_vm(name, k % 2);
        ck_assert_int_eq(submit(0, &ev, 0), HF_OK);
    }
    run_ms(500);
    bus.drop = lose_large_ones;
    join(2);
    run_ms(5000);
    ck_all_alike();
    ck_assert_uint_eq(engine_group(replica_engine(bus.host[2].r)).vms_count, 40);
}
END_TEST

static bool donor_sends_nothing(const struct item *item, int from, int to)
{
    return to < 0 && from == 0 && type_of(item) == GROUP_SNAP;
}

START_TEST(a_donor_that_hangs_leaves_the_copy_to_the_next_one)
{
    two_then_a_third();
    bus.drop = donor_sends_nothing;
    for (unsigned k = 0; k < 10 && phase_of(2) != REPLICA_COPYING; k++)
        settle();
    bus.host[0].is_paused = true;
    run_ms(8000);
    ck_phase(1, REPLICA_SYNCED);
    ck_phase(2, REPLICA_SYNCED);
    ck_assert_uint_eq(digest_of(2), digest_of(1));
    bus.drop = NULL;
    bus.host[0].is_paused = false;
    run_ms(3000);
    ck_all_alike();
}
END_TEST

START_TEST(a_newcomer_during_the_copy_does_not_confuse_it)
{
    bus_open(5);
    join(0);
    join(1);
    join(2);
    run_ms(500);
    all_ready();
    join(3);
    for (unsigned k = 0; k < 6; k++)
        for (unsigned i = 0; i < 5; i++)
            (void)deliver_one(&bus.host[i]);
    join(4);
    run_ms(3000);
    for (unsigned i = 0; i < 5; i++) {
        ck_phase(i, REPLICA_SYNCED);
        ck_assert_uint_eq(digest_of(i), digest_of(0));
    }
}
END_TEST

START_TEST(what_others_know_of_a_sender_is_part_of_the_state)
{
    /* Node 3 copies the state, then the others vanish: an old event of node 1 said again by its
     * same daemon must still be known as applied. */
    bus_form(3);
    tell_facts(0, 1, 1);
    tell_facts(0, 2, 2);
    run_ms(300);
    kill_daemon(2);
    run_ms(300);
    join(2);
    run_ms(300);
    kill_daemon(1);
    run_ms(300);
    bus.doubles = 20;
    tell_facts(0, 3, 3);
    run_ms(300);
    ck_assert_uint_eq(digest_of(2), digest_of(0));
    ck_assert_uint_eq(bus.host[0].mine_count, 3);
    ck_assert_uint_gt(replica_look(bus.host[2].r).duplicates, 0);
}
END_TEST

static bool lose_what_is_ready(const struct item *item, int from, int to)
{
    (void)from;
    return to < 0 && type_of(item) == GROUP_READY;
}

/* The membership stays as it is, so nothing but time makes them try again (seed 115307). */
START_TEST(who_could_not_agree_tries_again_when_the_view_stays)
{
    bus_open(3);
    bus.drop = lose_what_is_ready;
    for (unsigned i = 0; i < 3; i++)
        join(i);
    run_ms(5000);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_ne(phase_of(i), REPLICA_SYNCED);
    bus.drop = NULL;
    run_ms(10000);
    ck_all_alike();
}
END_TEST

HF_TEST_MAIN(
    "cluster/replica_copy", HF_CASE(who_could_not_agree_tries_again_when_the_view_stays),
    HF_CASE(a_corrupt_snapshot_is_refused_and_asked_for_again),
    HF_CASE(a_snapshot_that_is_always_corrupt_leaves_that_member_out_and_the_others_in_peace),
    HF_CASE(a_lost_chunk_costs_one_wait_and_a_new_round),
    HF_CASE(a_path_that_loses_large_packets_still_carries_the_state),
    HF_CASE(a_donor_that_hangs_leaves_the_copy_to_the_next_one),
    HF_CASE(a_newcomer_during_the_copy_does_not_confuse_it),
    HF_CASE(what_others_know_of_a_sender_is_part_of_the_state))
