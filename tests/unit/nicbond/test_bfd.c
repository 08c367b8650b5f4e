#include "nicbond/bfd.h"

#include "supervisord/base/rng.h"
#include "tests/unit/check.h"

#include <string.h>

#define US(us_) ((int64_t)(us_)*1000)
#define MS(ms_) ((int64_t)(ms_)*1000000)
#define AT(ns_) ((hf_time){ns_})

enum { MY = 0xa0a0, YOUR = 0xb0b0, BEGIN_MS = 100000 };
#define BEGIN MS(BEGIN_MS)

static const struct bfd_timing fast = {10000, 10000, 3}; /* 3 x 10 ms */

/* ---- the table ---- */

START_TEST(every_pair_is_decided)
{
    struct bfd_rule rule =
        bfd_rule((enum bfd_state)(_i / BFD_EVENTS), (enum bfd_event)(_i % BFD_EVENTS));

    ck_assert_int_ne(rule.verdict, BFD_UNDECIDED);
    ck_assert_ptr_nonnull(rule.why);
}
END_TEST

/* RFC 5880, 6.8.6, its pseudo code, written down once more. */
struct cell {
    enum bfd_state was, heard, next;
    enum bfd_diag diag;
};

static const struct cell cells[] = {
    {BFD_ADMIN_DOWN, BFD_ADMIN_DOWN, BFD_ADMIN_DOWN, BFD_DIAG_NONE},
    {BFD_ADMIN_DOWN, BFD_DOWN, BFD_ADMIN_DOWN, BFD_DIAG_NONE},
    {BFD_ADMIN_DOWN, BFD_INIT, BFD_ADMIN_DOWN, BFD_DIAG_NONE},
    {BFD_ADMIN_DOWN, BFD_UP, BFD_ADMIN_DOWN, BFD_DIAG_NONE},
    {BFD_DOWN, BFD_ADMIN_DOWN, BFD_DOWN, BFD_DIAG_NONE},
    {BFD_DOWN, BFD_DOWN, BFD_INIT, BFD_DIAG_NONE},
    {BFD_DOWN, BFD_INIT, BFD_UP, BFD_DIAG_NONE},
    {BFD_DOWN, BFD_UP, BFD_DOWN, BFD_DIAG_NONE},
    {BFD_INIT, BFD_ADMIN_DOWN, BFD_DOWN, BFD_DIAG_NEIGHBOUR},
    {BFD_INIT, BFD_DOWN, BFD_INIT, BFD_DIAG_NONE},
    {BFD_INIT, BFD_INIT, BFD_UP, BFD_DIAG_NONE},
    {BFD_INIT, BFD_UP, BFD_UP, BFD_DIAG_NONE},
    {BFD_UP, BFD_ADMIN_DOWN, BFD_DOWN, BFD_DIAG_NEIGHBOUR},
    {BFD_UP, BFD_DOWN, BFD_DOWN, BFD_DIAG_NEIGHBOUR},
    {BFD_UP, BFD_INIT, BFD_UP, BFD_DIAG_NONE},
    {BFD_UP, BFD_UP, BFD_UP, BFD_DIAG_NONE},
};
enum { CELLS = sizeof cells / sizeof cells[0] };

START_TEST(what_is_heard_leads_where_the_rfc_says)
{
    const struct cell *cell = &cells[_i];
    struct bfd_rule rule =
        bfd_rule(cell->was, (enum bfd_event)(BFD_HEARD_ADMIN_DOWN + (unsigned)cell->heard));

    ck_assert_int_eq(rule.verdict == BFD_GO, cell->next != cell->was);
    if (rule.verdict == BFD_GO) {
        ck_assert_int_eq(rule.next, cell->next);
        ck_assert_int_eq(rule.diag, cell->diag);
    }
}
END_TEST

START_TEST(silence_ends_only_what_had_begun)
{
    ck_assert_int_eq(bfd_rule(BFD_DOWN, BFD_SILENCE).verdict, BFD_STAY);
    ck_assert_int_eq(bfd_rule(BFD_ADMIN_DOWN, BFD_SILENCE).verdict, BFD_STAY);
    ck_assert_int_eq(bfd_rule(BFD_INIT, BFD_SILENCE).next, BFD_DOWN);
    ck_assert_int_eq(bfd_rule(BFD_UP, BFD_SILENCE).next, BFD_DOWN);
    ck_assert_int_eq(bfd_rule(BFD_UP, BFD_SILENCE).diag, BFD_DIAG_SILENCE);
}
END_TEST

/* ---- one session, with a hand-made peer ---- */

static struct bfd fresh(const struct bfd_timing *timing)
{
    struct bfd b;

    bfd_init(&b, timing, MY, 1, AT(BEGIN));
    return b;
}

static struct bfd_packet says(enum bfd_state state)
{
    return (struct bfd_packet){.state = state,
                               .multiplier = 3,
                               .my = YOUR,
                               .your = MY,
                               .min_tx_us = 10000,
                               .min_rx_us = 10000};
}

static void hear(struct bfd *b, struct bfd_packet packet, int64_t at)
{
    struct bfd_changes changes;

    ck_assert_int_eq(bfd_receive(b, &packet, AT(at), &changes), BFD_DROP_NONE);
}

static void tick(struct bfd *b, int64_t at)
{
    struct bfd_changes changes;

    bfd_tick(b, AT(at), &changes);
}

static struct bfd_packet sends(struct bfd *b, int64_t at)
{
    struct bfd_packet out;

    ck_assert(bfd_send(b, AT(at), &out));
    return out;
}

static bool is_quiet(struct bfd *b, int64_t at)
{
    struct bfd_packet out;

    return !bfd_send(b, AT(at), &out);
}

/* Up since `at`, its question answered, nothing due. */
static struct bfd up_at(const struct bfd_timing *timing, int64_t at)
{
    struct bfd b = fresh(timing);
    struct bfd_packet packet = says(BFD_INIT);

    hear(&b, packet, at);
    ck_assert_int_eq(b.state, BFD_UP);
    ck_assert(sends(&b, at).poll);
    packet.state = BFD_UP;
    packet.final = true;
    hear(&b, packet, at);
    ck_assert(!b.is_polling);
    ck_assert(is_quiet(&b, at));
    return b;
}

START_TEST(the_first_packet_goes_at_once_and_says_little)
{
    struct bfd b = fresh(&fast);
    struct bfd_packet first = sends(&b, BEGIN);

    ck_assert_int_eq(first.state, BFD_DOWN);
    ck_assert_uint_eq(first.my, MY);
    ck_assert_uint_eq(first.your, 0);
    ck_assert_uint_eq(first.min_tx_us, BFD_SLOW_US);
    ck_assert_uint_eq(first.min_rx_us, 10000);
    ck_assert_uint_eq(first.min_echo_us, 0);
    ck_assert_uint_eq(first.multiplier, 3);
    ck_assert(!first.poll && !first.final && !first.demand);
}
END_TEST

/* Shortest and longest distance of a thousand packets, in 1/1000 of the interval. */
struct spread {
    int64_t least, most;
};

static struct spread spread_of(struct bfd *b, int64_t interval, bool is_kept_alive)
{
    struct spread s = {INT64_MAX, 0};
    int64_t at = bfd_due_at(b).ns;

    sends(b, at);
    for (int n = 0; n < 1000; n++) {
        int64_t next = bfd_due_at(b).ns;
        int64_t share = (next - at) * 1000 / interval;

        ck_assert(is_quiet(b, next - 1));
        s.least = share < s.least ? share : s.least;
        s.most = share > s.most ? share : s.most;
        at = next;
        if (is_kept_alive)
            hear(b, says(BFD_UP), at);
        sends(b, at);
    }
    return s;
}

START_TEST(it_speaks_once_a_second_until_it_is_up)
{
    struct bfd b = fresh(&fast);
    struct spread s = spread_of(&b, MS(1000), false);

    ck_assert_int_ge(s.least, 750);
    ck_assert_int_le(s.most, 1000);
}
END_TEST

START_TEST(intervals_are_shortened_by_up_to_a_quarter)
{
    struct bfd b = up_at(&fast, BEGIN);
    struct spread s = spread_of(&b, MS(10), true);

    ck_assert_int_ge(s.least, 750);
    ck_assert_int_le(s.least, 760);
    ck_assert_int_le(s.most, 1000);
    ck_assert_int_ge(s.most, 990);
}
END_TEST

START_TEST(with_a_multiplier_of_one_by_a_tenth_at_least)
{
    struct bfd_timing lonely = {10000, 10000, 1};
    struct bfd b = up_at(&lonely, BEGIN);
    struct spread s = spread_of(&b, MS(10), true);

    ck_assert_int_ge(s.least, 750);
    ck_assert_int_le(s.least, 760);
    ck_assert_int_le(s.most, 900);
    ck_assert_int_ge(s.most, 890);
}
END_TEST

START_TEST(the_same_seed_gives_the_same_intervals)
{
    struct bfd a = fresh(&fast);
    struct bfd b = fresh(&fast);
    struct bfd other;

    bfd_init(&other, &fast, MY, 2, AT(BEGIN));
    sends(&a, BEGIN);
    sends(&b, BEGIN);
    sends(&other, BEGIN);
    ck_assert_int_eq(bfd_due_at(&a).ns, bfd_due_at(&b).ns);
    ck_assert_int_ne(bfd_due_at(&a).ns, bfd_due_at(&other).ns);
}
END_TEST

START_TEST(the_slower_side_governs_the_interval)
{
    struct bfd b = up_at(&fast, BEGIN);
    struct bfd_packet packet = says(BFD_UP);

    packet.min_rx_us = 40000;
    hear(&b, packet, BEGIN + MS(1));
    ck_assert_int_ge(bfd_due_at(&b).ns, b.sent.ns + MS(30));
    ck_assert_int_le(bfd_due_at(&b).ns, b.sent.ns + MS(40));
    /* And faster again: counted from the packet before, not from now. */
    packet.min_rx_us = 1;
    hear(&b, packet, BEGIN + MS(9));
    ck_assert_int_le(bfd_due_at(&b).ns, BEGIN + MS(10));
}
END_TEST

START_TEST(a_peer_that_wants_nothing_gets_nothing_but_news)
{
    struct bfd b = up_at(&fast, BEGIN);
    struct bfd_packet packet = says(BFD_UP);

    packet.min_rx_us = 0;
    packet.min_tx_us = 1000000;
    hear(&b, packet, BEGIN + MS(1));
    ck_assert_int_eq(bfd_due_at(&b).ns, BFD_NEVER.ns);
    ck_assert(is_quiet(&b, BEGIN + MS(2000)));
    packet.poll = true;
    hear(&b, packet, BEGIN + MS(2000));
    ck_assert(sends(&b, BEGIN + MS(2000)).final);
    packet.poll = false;
    packet.state = BFD_DOWN;
    hear(&b, packet, BEGIN + MS(2001));
    ck_assert_int_eq(sends(&b, BEGIN + MS(2001)).state, BFD_DOWN);
    ck_assert(is_quiet(&b, BEGIN + MS(4000)));
}
END_TEST

START_TEST(demand_of_a_peer_stops_us_only_while_both_are_up)
{
    struct bfd b = up_at(&fast, BEGIN);
    struct bfd_packet packet = says(BFD_UP);

    packet.demand = true;
    hear(&b, packet, BEGIN + MS(1));
    ck_assert_int_eq(bfd_due_at(&b).ns, BFD_NEVER.ns);
    /* A question of ours is asked all the same. */
    bfd_retime(&b, &(struct bfd_timing){20000, 10000, 3});
    ck_assert(sends(&b, BEGIN + MS(20)).poll);
    ck_assert_int_le(bfd_due_at(&b).ns, BEGIN + MS(40));
    packet.state = BFD_INIT;
    hear(&b, packet, BEGIN + MS(20));
    ck_assert_int_lt(bfd_due_at(&b).ns, BFD_NEVER.ns);
}
END_TEST

/* ---- detection ---- */

START_TEST(the_detection_time_is_theirs_by_our_need)
{
    struct bfd b = up_at(&fast, BEGIN);
    struct bfd_packet packet = says(BFD_UP);

    packet.multiplier = 5;
    packet.min_tx_us = 7000;
    hear(&b, packet, BEGIN);
    ck_assert_int_eq(bfd_detection_ns(&b), MS(50));
    packet.min_tx_us = 70000;
    hear(&b, packet, BEGIN);
    ck_assert_int_eq(bfd_detection_ns(&b), MS(350));
    packet.multiplier = 255;
    packet.min_tx_us = UINT32_MAX;
    hear(&b, packet, BEGIN);
    ck_assert_int_eq(bfd_detection_ns(&b), US(UINT32_MAX) * 255);
}
END_TEST

START_TEST(silence_is_judged_at_its_nanosecond)
{
    struct bfd b = up_at(&fast, BEGIN);
    struct bfd_changes changes;

    ck_assert_int_eq(bfd_silent_at(&b).ns, BEGIN + MS(30));
    tick(&b, BEGIN + MS(30) - 1);
    ck_assert_int_eq(b.state, BFD_UP);
    bfd_tick(&b, AT(BEGIN + MS(33)), &changes);
    ck_assert_uint_eq(changes.count, 1);
    ck_assert_int_eq(changes.change[0].was, BFD_UP);
    ck_assert_int_eq(changes.change[0].now, BFD_DOWN);
    ck_assert_int_eq(changes.change[0].diag, BFD_DIAG_SILENCE);
    ck_assert_int_eq(changes.change[0].at.ns, BEGIN + MS(30));
    ck_assert_int_eq(bfd_view(&b).peer, BFD_PEER_SILENT);
    ck_assert_uint_eq(bfd_view(&b).falls, 1);
    /* The peer hears of it at once, if it hears. */
    ck_assert_int_eq(sends(&b, BEGIN + MS(33)).diag, BFD_DIAG_SILENCE);
}
END_TEST

START_TEST(an_answer_in_time_counts_however_late_it_is_read)
{
    struct bfd b = up_at(&fast, BEGIN);

    /* The loop was away for 200 ms; these were waiting. */
    for (int64_t ms = 29; ms < 200; ms += 29)
        hear(&b, says(BFD_UP), BEGIN + MS(ms));
    tick(&b, BEGIN + MS(200));
    ck_assert_int_eq(b.state, BFD_UP);
    ck_assert_uint_eq(b.falls, 0);
}
END_TEST

START_TEST(an_arrival_never_goes_back)
{
    struct bfd b = up_at(&fast, BEGIN);

    hear(&b, says(BFD_UP), BEGIN + MS(20));
    hear(&b, says(BFD_UP), BEGIN + MS(10));
    ck_assert_int_eq(b.heard.ns, BEGIN + MS(20));
    ck_assert_int_eq(bfd_silent_at(&b).ns, BEGIN + MS(50));
}
END_TEST

/* The wall clock reads 50 s at the stamp; ours 90 to 100 ms after BEGIN while the packet waits. */
START_TEST(a_step_of_the_wall_clock_moves_no_arrival_out_of_its_round)
{
    const hf_time empty = AT(BEGIN + MS(90)), now = AT(BEGIN + MS(100));
    const hf_wall stamp = {MS(50000)};
    hf_wall hour_on = {stamp.ns + MS(3600000)}, hour_back = {stamp.ns - MS(3600000)};
    hf_wall true_wall = {stamp.ns + MS(4)};

    ck_assert_int_eq(bfd_arrival(stamp, true_wall, now, empty).ns, BEGIN + MS(96));
    ck_assert_int_eq(bfd_arrival(stamp, hour_on, now, empty).ns, empty.ns);
    ck_assert_int_eq(bfd_arrival(stamp, hour_back, now, empty).ns, now.ns);
    ck_assert_int_eq(bfd_arrival(stamp, true_wall, empty, now).ns, empty.ns);
    ck_assert_int_eq(bfd_arrival((hf_wall){0}, (hf_wall){INT64_MAX}, now, empty).ns, empty.ns);
}
END_TEST

START_TEST(an_answer_out_of_time_does_not_hide_the_silence)
{
    struct bfd b = up_at(&fast, BEGIN);
    struct bfd_packet packet = says(BFD_DOWN);
    struct bfd_changes changes;

    ck_assert_int_eq(bfd_receive(&b, &packet, AT(BEGIN + MS(31)), &changes), BFD_DROP_NONE);
    ck_assert_uint_eq(changes.count, 2);
    ck_assert_int_eq(changes.change[0].event, BFD_SILENCE);
    ck_assert_int_eq(changes.change[0].at.ns, BEGIN + MS(30));
    ck_assert_int_eq(changes.change[1].now, BFD_INIT);
    ck_assert_int_eq(changes.change[1].at.ns, BEGIN + MS(31));
}
END_TEST

START_TEST(after_a_silence_the_peer_is_a_stranger)
{
    struct bfd b = up_at(&fast, BEGIN);
    struct bfd_packet packet = says(BFD_UP);

    packet.min_rx_us = 0;
    packet.demand = true;
    hear(&b, packet, BEGIN);
    tick(&b, BEGIN + MS(30));
    ck_assert_uint_eq(sends(&b, BEGIN + MS(30)).your, 0);
    /* It may have forgotten that it wanted nothing: it is called again and again. */
    ck_assert_int_le(bfd_due_at(&b).ns, BEGIN + MS(1030));
}
END_TEST

START_TEST(the_reason_of_a_failure_is_told_until_it_is_up_again)
{
    struct bfd b = up_at(&fast, BEGIN);

    tick(&b, BEGIN + MS(30));
    hear(&b, says(BFD_DOWN), BEGIN + MS(40));
    ck_assert_int_eq(sends(&b, BEGIN + MS(40)).state, BFD_INIT);
    ck_assert_int_eq(b.told.diag, BFD_DIAG_SILENCE);
    hear(&b, says(BFD_INIT), BEGIN + MS(41));
    ck_assert_int_eq(sends(&b, BEGIN + MS(41)).diag, BFD_DIAG_NONE);
}
END_TEST

/* ---- 6.8.6: what is not for this session ---- */

START_TEST(a_packet_for_another_session_is_not_heard)
{
    struct bfd b = up_at(&fast, BEGIN);
    struct bfd_packet packet = says(BFD_DOWN);
    struct bfd_changes changes;

    packet.your = MY + 1;
    ck_assert_int_eq(bfd_receive(&b, &packet, AT(BEGIN + MS(1)), &changes), BFD_DROP_DISCRIMINATOR);
    packet = says(BFD_INIT);
    packet.your = 0;
    ck_assert_int_eq(bfd_receive(&b, &packet, AT(BEGIN + MS(1)), &changes), BFD_DROP_YOUR);
    ck_assert_int_eq(b.state, BFD_UP);
    ck_assert_int_eq(b.heard.ns, BEGIN);
}
END_TEST

START_TEST(a_peer_that_began_anew_is_believed)
{
    struct bfd b = up_at(&fast, BEGIN);
    struct bfd_packet packet = says(BFD_DOWN);

    packet.your = 0;
    packet.my = YOUR + 1;
    hear(&b, packet, BEGIN + MS(1));
    ck_assert_int_eq(b.state, BFD_DOWN);
    ck_assert_int_eq(b.diag, BFD_DIAG_NEIGHBOUR);
    ck_assert_uint_eq(sends(&b, BEGIN + MS(1)).your, YOUR + 1);
}
END_TEST

START_TEST(who_is_switched_off_does_not_listen_and_says_so)
{
    struct bfd b = up_at(&fast, BEGIN);
    struct bfd_packet packet = says(BFD_UP);
    struct bfd_changes changes;

    bfd_apply(&b, BFD_DISABLE, AT(BEGIN + MS(1)), &changes);
    ck_assert_uint_eq(changes.count, 1);
    ck_assert_int_eq(sends(&b, BEGIN + MS(1)).state, BFD_ADMIN_DOWN);
    ck_assert_int_eq(b.told.diag, BFD_DIAG_ADMIN);
    packet.poll = true;
    ck_assert_int_eq(bfd_receive(&b, &packet, AT(BEGIN + MS(2)), &changes), BFD_DROP_DISABLED);
    ck_assert(is_quiet(&b, BEGIN + MS(2)));
    ck_assert_int_eq(bfd_view(&b).peer, BFD_PEER_UNKNOWN);
    /* Once a second for whoever missed it. */
    ck_assert_int_le(bfd_due_at(&b).ns, BEGIN + MS(1001));
    bfd_apply(&b, BFD_ENABLE, AT(BEGIN + MS(50)), &changes);
    ck_assert_int_eq(sends(&b, BEGIN + MS(50)).state, BFD_DOWN);
    hear(&b, says(BFD_DOWN), BEGIN + MS(51));
    ck_assert_int_eq(b.state, BFD_INIT);
}
END_TEST

/* ---- poll sequences ---- */

START_TEST(a_question_is_answered_at_once_and_never_with_one)
{
    struct bfd b = up_at(&fast, BEGIN);
    struct bfd_packet packet = says(BFD_UP);
    struct bfd_packet answer;

    bfd_retime(&b, &(struct bfd_timing){20000, 20000, 3});
    sends(&b, BEGIN);
    packet.poll = true;
    hear(&b, packet, BEGIN);
    answer = sends(&b, BEGIN);
    ck_assert(answer.final);
    ck_assert(!answer.poll);
    ck_assert(is_quiet(&b, BEGIN));
    ck_assert(sends(&b, BEGIN + MS(20)).poll);
}
END_TEST

START_TEST(slower_begins_with_the_answer)
{
    struct bfd b = up_at(&fast, BEGIN);
    struct bfd_packet packet = says(BFD_UP);
    struct bfd_packet question;

    bfd_retime(&b, &(struct bfd_timing){50000, 10000, 3});
    question = sends(&b, BEGIN);
    ck_assert(question.poll);
    ck_assert_uint_eq(question.min_tx_us, 50000);
    ck_assert_int_le(bfd_due_at(&b).ns, BEGIN + MS(10));
    ck_assert(sends(&b, BEGIN + MS(10)).poll);
    packet.final = true;
    hear(&b, packet, BEGIN + MS(10));
    ck_assert_int_ge(bfd_due_at(&b).ns, BEGIN + MS(10) + US(37500));
    ck_assert(!sends(&b, BEGIN + MS(60)).poll);
}
END_TEST

START_TEST(a_faster_peer_is_expected_with_the_answer)
{
    struct bfd_timing slow = {50000, 50000, 3};
    struct bfd b = up_at(&slow, BEGIN);
    struct bfd_packet packet = says(BFD_UP);

    ck_assert_int_eq(bfd_detection_ns(&b), MS(150));
    bfd_retime(&b, &fast);
    ck_assert_int_eq(bfd_detection_ns(&b), MS(150));
    ck_assert_uint_eq(sends(&b, BEGIN + MS(1)).min_rx_us, 10000);
    /* Faster sending may begin at once. */
    ck_assert_int_le(bfd_due_at(&b).ns, BEGIN + MS(11));
    packet.final = true;
    hear(&b, packet, BEGIN + MS(2));
    ck_assert_int_eq(bfd_detection_ns(&b), MS(30));
}
END_TEST

START_TEST(the_answer_to_an_older_question_ends_no_newer_one)
{
    struct bfd b = up_at(&fast, BEGIN);
    struct bfd_packet packet = says(BFD_UP);

    bfd_retime(&b, &(struct bfd_timing){50000, 10000, 3});
    sends(&b, BEGIN);
    bfd_retime(&b, &(struct bfd_timing){70000, 10000, 3});
    sends(&b, BEGIN);
    packet.final = true;
    hear(&b, packet, BEGIN);
    ck_assert(b.is_polling);
    ck_assert_int_le(bfd_due_at(&b).ns, BEGIN + MS(10));
    hear(&b, packet, BEGIN + MS(1));
    ck_assert(!b.is_polling);
}
END_TEST

START_TEST(a_new_multiplier_needs_no_question)
{
    struct bfd b = up_at(&fast, BEGIN);

    bfd_retime(&b, &(struct bfd_timing){10000, 10000, 5});
    ck_assert(!b.is_polling);
    ck_assert_uint_eq(sends(&b, BEGIN).multiplier, 5);
}
END_TEST

/* ---- what the judge is told ---- */

START_TEST(a_peer_that_says_farewell_has_not_failed)
{
    struct bfd b = up_at(&fast, BEGIN);

    hear(&b, says(BFD_ADMIN_DOWN), BEGIN + MS(1));
    ck_assert_int_eq(b.state, BFD_DOWN);
    ck_assert_int_eq(b.diag, BFD_DIAG_NEIGHBOUR);
    ck_assert_int_eq(bfd_view(&b).peer, BFD_PEER_LEFT);
    tick(&b, BEGIN + MS(5000));
    ck_assert_int_eq(bfd_view(&b).peer, BFD_PEER_LEFT);
    hear(&b, says(BFD_DOWN), BEGIN + MS(6000));
    ck_assert_int_eq(bfd_view(&b).peer, BFD_PEER_COMING);
}
END_TEST

START_TEST(a_peer_that_does_not_hear_us_is_deaf_not_silent)
{
    struct bfd b = up_at(&fast, BEGIN);
    struct bfd_packet packet = says(BFD_DOWN);

    packet.diag = BFD_DIAG_SILENCE;
    packet.your = 0;
    packet.min_tx_us = BFD_SLOW_US;
    for (int64_t s = 0; s < 10; s++) {
        hear(&b, packet, BEGIN + MS(1000 * s));
        tick(&b, BEGIN + MS(1000 * s + 999));
        ck_assert_int_eq(bfd_view(&b).peer, BFD_PEER_DEAF);
    }
    tick(&b, BEGIN + MS(12000));
    ck_assert_int_eq(bfd_view(&b).peer, BFD_PEER_SILENT);
}
END_TEST

START_TEST(a_peer_that_never_was_up_is_unknown)
{
    struct bfd b = fresh(&fast);

    ck_assert_int_eq(bfd_view(&b).peer, BFD_PEER_UNKNOWN);
    hear(&b, says(BFD_DOWN), BEGIN);
    ck_assert_int_eq(bfd_view(&b).peer, BFD_PEER_COMING);
    tick(&b, BEGIN + MS(5000));
    ck_assert_int_eq(bfd_view(&b).peer, BFD_PEER_UNKNOWN);
}
END_TEST

START_TEST(without_our_interface_silence_says_nothing)
{
    struct bfd b = up_at(&fast, BEGIN);
    struct bfd_changes changes;

    bfd_apply(&b, BFD_PATH_LOST, AT(BEGIN + MS(1)), &changes);
    ck_assert_int_eq(b.state, BFD_DOWN);
    ck_assert_int_eq(b.diag, BFD_DIAG_PATH);
    ck_assert_int_eq(bfd_view(&b).peer, BFD_PEER_UNKNOWN);
    tick(&b, BEGIN + MS(1000));
    ck_assert_int_eq(bfd_view(&b).peer, BFD_PEER_UNKNOWN);
}
END_TEST

START_TEST(a_fabric_is_silent_since_its_last_witness)
{
    struct bfd s[4] = {up_at(&fast, BEGIN), up_at(&fast, BEGIN), up_at(&fast, BEGIN), fresh(&fast)};
    struct bfd_summary sum;

    hear(&s[1], says(BFD_UP), BEGIN + MS(20));
    hear(&s[2], says(BFD_ADMIN_DOWN), BEGIN + MS(25));
    bfd_summarize(s, 4, true, &sum);
    ck_assert_uint_eq(sum.peers, 4);
    ck_assert_uint_eq(sum.up, 2);
    ck_assert_uint_eq(sum.left, 1);
    ck_assert_int_eq(sum.silent_since.ns, 0);
    tick(&s[0], BEGIN + MS(40));
    tick(&s[1], BEGIN + MS(40));
    bfd_summarize(s, 4, true, &sum);
    ck_assert_uint_eq(sum.up, 1);
    ck_assert_uint_eq(sum.silent, 1);
    ck_assert_int_eq(sum.silent_since.ns, 0);
    tick(&s[1], BEGIN + MS(60));
    bfd_summarize(s, 4, true, &sum);
    ck_assert_uint_eq(sum.up, 0);
    ck_assert_uint_eq(sum.silent, 2);
    ck_assert_int_eq(sum.silent_since.ns, BEGIN + MS(20));
    ck_assert_int_eq(sum.peer[2].peer, BFD_PEER_LEFT);
    ck_assert_int_eq(sum.peer[3].peer, BFD_PEER_UNKNOWN);
}
END_TEST

START_TEST(nobody_was_ever_up_is_no_silence)
{
    struct bfd s[2] = {fresh(&fast), fresh(&fast)};
    struct bfd_summary sum;

    tick(&s[0], BEGIN + MS(60000));
    bfd_summarize(s, 2, true, &sum);
    ck_assert_int_eq(sum.silent_since.ns, 0);
    ck_assert_uint_eq(sum.up, 0);
}
END_TEST

/* ---- two sessions over a wire that loses, delays and is cut ---- */

enum { QUEUE = 256 };

struct wire {
    struct bfd end[2];
    struct {
        int64_t at;
        uint32_t to;
        struct bfd_packet packet;
    } queue[QUEUE];
    uint32_t count;
    int64_t now, delay;
    uint32_t loss;  /* permille */
    bool is_cut[2]; /* towards that end */
    uint32_t ups[2], polls[2], sent[2];
    struct hf_rng rng;
};

static void wire_begin(struct wire *w, const struct bfd_timing *a, const struct bfd_timing *b,
                       uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->rng = hf_rng_seeded(seed);
    w->now = BEGIN;
    w->delay = US(50);
    bfd_init(&w->end[0], a, MY, seed, AT(BEGIN));
    bfd_init(&w->end[1], b, YOUR, seed + 1, AT(BEGIN));
}

static void wire_note(struct wire *w, uint32_t end, const struct bfd_changes *changes)
{
    for (uint32_t i = 0; i < changes->count; i++)
        w->ups[end] += changes->change[i].now == BFD_UP;
}

static void wire_deliver(struct wire *w)
{
    struct bfd_changes changes;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < w->count; i++) {
        if (w->queue[i].at > w->now) {
            w->queue[kept++] = w->queue[i];
            continue;
        }
        bfd_receive(&w->end[w->queue[i].to], &w->queue[i].packet, AT(w->queue[i].at), &changes);
        wire_note(w, w->queue[i].to, &changes);
    }
    w->count = kept;
}

static void wire_send(struct wire *w, uint32_t from)
{
    struct bfd_packet packet;
    uint8_t bytes[BFD_PACKET_BYTES];
    uint32_t to = 1 - from;

    if (!bfd_send(&w->end[from], AT(w->now), &packet))
        return;
    ck_assert(!(packet.poll && packet.final));
    w->sent[from]++;
    w->polls[from] += packet.poll;
    if (w->is_cut[to] || hf_rng_permille(&w->rng, w->loss))
        return;
    bfd_packet_encode(&packet, bytes);
    ck_assert_uint_lt(w->count, QUEUE);
    ck_assert_int_eq(bfd_packet_decode(bytes, sizeof bytes, &w->queue[w->count].packet),
                     BFD_DROP_NONE);
    w->queue[w->count].at = w->now + w->delay;
    w->queue[w->count++].to = to;
}

static int64_t wire_next(const struct wire *w)
{
    int64_t next = bfd_next_at(&w->end[0]).ns;
    int64_t other = bfd_next_at(&w->end[1]).ns;

    next = other < next ? other : next;
    for (uint32_t i = 0; i < w->count; i++)
        next = w->queue[i].at < next ? w->queue[i].at : next;
    return next;
}

static void wire_run(struct wire *w, int64_t ns)
{
    int64_t until = w->now + ns;
    struct bfd_changes changes;

    for (;;) {
        int64_t next = wire_next(w);

        if (next > until)
            break;
        w->now = next > w->now ? next : w->now;
        wire_deliver(w);
        for (uint32_t end = 0; end < 2; end++) {
            bfd_tick(&w->end[end], AT(w->now), &changes);
            wire_note(w, end, &changes);
            wire_send(w, end);
        }
    }
    w->now = until;
}

static bool is_wire_up(const struct wire *w)
{
    return w->end[0].state == BFD_UP && w->end[1].state == BFD_UP;
}

START_TEST(two_sessions_are_up_after_two_round_trips)
{
    struct wire w;

    wire_begin(&w, &fast, &fast, 1);
    wire_run(&w, 4 * w.delay + 1);
    ck_assert(is_wire_up(&w));
    wire_run(&w, MS(1000));
    ck_assert(is_wire_up(&w));
    ck_assert_uint_eq(w.ups[0], 1);
    /* Questions end with their answers, and then 10 ms less a quarter at most. */
    ck_assert_uint_le(w.polls[0], 3);
    ck_assert_uint_ge(w.sent[0], 100);
    ck_assert_uint_le(w.sent[0], 140);
}
END_TEST

START_TEST(a_cut_wire_is_found_on_both_sides_in_time)
{
    struct wire w;

    wire_begin(&w, &fast, &fast, (uint64_t)_i);
    wire_run(&w, MS(500));
    w.is_cut[0] = w.is_cut[1] = true;
    wire_run(&w, MS(19));
    ck_assert(is_wire_up(&w));
    wire_run(&w, MS(12));
    for (uint32_t end = 0; end < 2; end++) {
        ck_assert_int_eq(w.end[end].state, BFD_DOWN);
        ck_assert_int_eq(bfd_view(&w.end[end]).peer, BFD_PEER_SILENT);
    }
    w.is_cut[0] = w.is_cut[1] = false;
    wire_run(&w, MS(1001));
    ck_assert(is_wire_up(&w));
}
END_TEST

START_TEST(half_a_wire_is_no_wire)
{
    struct wire w;

    wire_begin(&w, &fast, &fast, (uint64_t)_i);
    wire_run(&w, MS(500));
    w.is_cut[1] = true;
    wire_run(&w, MS(40));
    ck_assert_int_eq(w.end[1].state, BFD_DOWN);
    ck_assert_int_ne(w.end[0].state, BFD_UP);
    ck_assert_int_eq(bfd_view(&w.end[0]).peer, BFD_PEER_DEAF);
    ck_assert_int_eq(bfd_view(&w.end[1]).peer, BFD_PEER_SILENT);
    wire_run(&w, MS(10000));
    ck_assert(!is_wire_up(&w));
    ck_assert_uint_eq(w.ups[0], 1);
    w.is_cut[1] = false;
    wire_run(&w, MS(1001));
    ck_assert(is_wire_up(&w));
}
END_TEST

START_TEST(a_lossy_wire_comes_up_and_ends_its_questions)
{
    struct bfd_timing patient = {10000, 10000, 20};
    struct wire w;

    wire_begin(&w, &patient, &patient, (uint64_t)_i);
    w.loss = 300;
    wire_run(&w, MS(20000));
    /* 0.3^20: once in 10^10 intervals. */
    ck_assert(is_wire_up(&w));
    ck_assert_uint_eq(w.end[0].falls + w.end[1].falls, 0);
    bfd_retime(&w.end[0], &(struct bfd_timing){30000, 30000, 20});
    wire_run(&w, MS(1000));
    ck_assert(!w.end[0].is_polling);
    ck_assert_uint_eq(w.end[1].their_min_tx_us, 30000);
    ck_assert_int_eq(bfd_detection_ns(&w.end[1]), MS(600));
}
END_TEST

START_TEST(a_hopeless_wire_flaps_and_recovers)
{
    struct wire w;

    wire_begin(&w, &fast, &fast, (uint64_t)_i);
    w.loss = 600;
    wire_run(&w, MS(30000));
    ck_assert_uint_gt(w.end[0].falls, 0);
    w.loss = 0;
    wire_run(&w, MS(3100));
    ck_assert(is_wire_up(&w));
}
END_TEST

START_TEST(unequal_timings_are_negotiated)
{
    struct bfd_timing slow = {200000, 50000, 5};
    struct wire w;

    wire_begin(&w, &fast, &slow, 7);
    wire_run(&w, MS(2000));
    ck_assert(is_wire_up(&w));
    ck_assert_int_eq(bfd_detection_ns(&w.end[0]), MS(5 * 200));
    ck_assert_int_eq(bfd_detection_ns(&w.end[1]), MS(3 * 50));
    w.sent[0] = w.sent[1] = 0;
    wire_run(&w, MS(10000));
    ck_assert_uint_ge(w.sent[0], 200);
    ck_assert_uint_le(w.sent[0], 267);
    ck_assert_uint_ge(w.sent[1], 50);
    ck_assert_uint_le(w.sent[1], 67);
}
END_TEST

START_TEST(a_restarted_end_is_up_again_within_a_second)
{
    struct wire w;

    wire_begin(&w, &fast, &fast, (uint64_t)_i);
    wire_run(&w, MS(500));
    bfd_init(&w.end[1], &fast, YOUR + 1, 99, AT(w.now));
    wire_run(&w, MS(1001));
    ck_assert(is_wire_up(&w));
    ck_assert_uint_eq(w.end[0].your, YOUR + 1);
}
END_TEST

/* ---- properties ---- */

static struct bfd_packet random_packet(struct hf_rng *rng)
{
    static const uint32_t times[] = {0, 1, 10000, 50000, 1000000, UINT32_MAX};

    return (struct bfd_packet){.diag = (uint8_t)hf_rng_below(rng, 32),
                               .state = (enum bfd_state)hf_rng_below(rng, BFD_STATES),
                               .poll = hf_rng_permille(rng, 100),
                               .final = hf_rng_permille(rng, 100),
                               .demand = hf_rng_permille(rng, 100),
                               .multiplier = (uint8_t)hf_rng_between(rng, 1, 255),
                               .my = (uint32_t)hf_rng_between(rng, 1, 3),
                               .your =
                                   hf_rng_permille(rng, 900) ? MY : (uint32_t)hf_rng_below(rng, 2),
                               .min_tx_us = times[hf_rng_below(rng, 6)],
                               .min_rx_us = times[hf_rng_below(rng, 6)]};
}

static void random_step(struct bfd *b, struct hf_rng *rng, int64_t now)
{
    struct bfd_packet packet = random_packet(rng);
    struct bfd_changes changes = {0};

    switch (hf_rng_below(rng, 12)) {
    case 0:
        bfd_apply(b, BFD_DISABLE, AT(now), &changes);
        break;
    case 1:
    case 2:
        bfd_apply(b, BFD_ENABLE, AT(now), &changes);
        break;
    case 3:
        bfd_apply(b, BFD_PATH_LOST, AT(now), &changes);
        break;
    case 4:
        bfd_retime(b, &(struct bfd_timing){(uint32_t)hf_rng_between(rng, 1, 100000),
                                           (uint32_t)hf_rng_between(rng, 1, 100000),
                                           (uint8_t)hf_rng_between(rng, 1, 255)});
        break;
    case 5:
        bfd_tick(b, AT(now), &changes);
        break;
    default:
        bfd_receive(b, &packet, AT(now), &changes);
        break;
    }
    for (uint32_t i = 0; i < changes.count; i++)
        ck_assert_int_ne(changes.change[i].was, changes.change[i].now);
}

/* Each call ends with bfd_check(). */
START_TEST(random_packets_break_no_invariant)
{
    struct hf_rng rng = hf_rng_seeded(1000 + (uint64_t)_i);
    struct bfd b = fresh(&fast);
    int64_t now = BEGIN;

    for (int n = 0; n < 20000; n++) {
        struct bfd_packet packet;

        now += hf_rng_between(&rng, 0, hf_rng_permille(&rng, 50) ? MS(5000) : MS(5));
        random_step(&b, &rng, now);
        if (!bfd_send(&b, AT(now), &packet))
            continue;
        ck_assert(!(packet.poll && packet.final));
        ck_assert(is_quiet(&b, now));
        ck_assert_int_gt(bfd_due_at(&b).ns, now);
    }
}
END_TEST

enum { ARRIVALS = 400, VERDICTS = 4 * ARRIVALS };

struct verdicts {
    uint32_t count;
    struct bfd_change change[VERDICTS];
};

static void collect(struct verdicts *v, const struct bfd_changes *changes)
{
    for (uint32_t i = 0; i < changes->count; i++) {
        ck_assert_uint_lt(v->count, VERDICTS);
        v->change[v->count++] = changes->change[i];
    }
}

/* The same arrivals, looked at in every millisecond or in fits and starts up to 300 ms apart. */
static void live(const struct bfd_packet *packets, const int64_t *arrivals, struct hf_rng *rng,
                 int64_t pause_max, struct verdicts *v)
{
    struct bfd b = fresh(&fast);
    struct bfd_changes changes;
    int64_t now = BEGIN;
    uint32_t next = 0;

    v->count = 0;
    while (next < ARRIVALS) {
        now += hf_rng_between(rng, MS(1), pause_max);
        for (; next < ARRIVALS && arrivals[next] <= now; next++) {
            bfd_receive(&b, &packets[next], AT(arrivals[next]), &changes);
            collect(v, &changes);
        }
        bfd_tick(&b, AT(now), &changes);
        collect(v, &changes);
    }
}

START_TEST(the_verdict_does_not_depend_on_when_one_looks)
{
    struct hf_rng rng = hf_rng_seeded(77 + (uint64_t)_i);
    struct bfd_packet packets[ARRIVALS];
    int64_t arrivals[ARRIVALS];
    struct verdicts prompt, late;
    int64_t at = BEGIN;

    for (uint32_t i = 0; i < ARRIVALS; i++) {
        at += hf_rng_between(&rng, MS(5), MS(33));
        arrivals[i] = at;
        packets[i] = says((enum bfd_state)hf_rng_between(&rng, BFD_INIT, BFD_UP));
    }
    live(packets, arrivals, &rng, MS(1), &prompt);
    live(packets, arrivals, &rng, MS(300), &late);
    ck_assert_uint_gt(prompt.count, 2);
    /* The end may be seen by one only: up to the shorter of both. */
    for (uint32_t i = 0; i < prompt.count && i < late.count; i++) {
        ck_assert_int_eq(prompt.change[i].at.ns, late.change[i].at.ns);
        ck_assert_int_eq(prompt.change[i].now, late.change[i].now);
    }
    ck_assert_uint_le(prompt.count, late.count + 1);
    ck_assert_uint_le(late.count, prompt.count + 1);
}
END_TEST

START_TEST(everything_has_a_name)
{
    for (int s = 0; s < BFD_STATES; s++)
        ck_assert_str_ne(bfd_state_name((enum bfd_state)s), "?");
    for (uint8_t d = 0; d < BFD_DIAGS; d++)
        ck_assert_str_ne(bfd_diag_name(d), "?");
    for (int p = 0; p < BFD_PEERS; p++)
        ck_assert_str_ne(bfd_peer_name((enum bfd_peer)p), "?");
    ck_assert_str_eq(bfd_state_name(BFD_STATES), "?");
    ck_assert_str_eq(bfd_diag_name(31), "?");
    ck_assert_str_eq(bfd_peer_name(BFD_PEERS), "?");
}
END_TEST

START_TEST(a_session_without_a_discriminator_cannot_be)
{
    struct bfd b;

    bfd_init(&b, &fast, 0, 1, AT(BEGIN));
}
END_TEST

HF_TEST_MAIN(
    "nicbond/bfd", HF_LOOP(every_pair_is_decided, 0, BFD_STATES *BFD_EVENTS),
    HF_LOOP(what_is_heard_leads_where_the_rfc_says, 0, CELLS),
    HF_CASE(silence_ends_only_what_had_begun),
    HF_CASE(the_first_packet_goes_at_once_and_says_little),
    HF_CASE(it_speaks_once_a_second_until_it_is_up),
    HF_CASE(intervals_are_shortened_by_up_to_a_quarter),
    HF_CASE(with_a_multiplier_of_one_by_a_tenth_at_least),
    HF_CASE(the_same_seed_gives_the_same_intervals), HF_CASE(the_slower_side_governs_the_interval),
    HF_CASE(a_peer_that_wants_nothing_gets_nothing_but_news),
    HF_CASE(demand_of_a_peer_stops_us_only_while_both_are_up),
    HF_CASE(the_detection_time_is_theirs_by_our_need), HF_CASE(silence_is_judged_at_its_nanosecond),
    HF_CASE(an_answer_in_time_counts_however_late_it_is_read), HF_CASE(an_arrival_never_goes_back),
    HF_CASE(a_step_of_the_wall_clock_moves_no_arrival_out_of_its_round),
    HF_CASE(an_answer_out_of_time_does_not_hide_the_silence),
    HF_CASE(after_a_silence_the_peer_is_a_stranger),
    HF_CASE(the_reason_of_a_failure_is_told_until_it_is_up_again),
    HF_CASE(a_packet_for_another_session_is_not_heard), HF_CASE(a_peer_that_began_anew_is_believed),
    HF_CASE(who_is_switched_off_does_not_listen_and_says_so),
    HF_CASE(a_question_is_answered_at_once_and_never_with_one),
    HF_CASE(slower_begins_with_the_answer), HF_CASE(a_faster_peer_is_expected_with_the_answer),
    HF_CASE(the_answer_to_an_older_question_ends_no_newer_one),
    HF_CASE(a_new_multiplier_needs_no_question), HF_CASE(a_peer_that_says_farewell_has_not_failed),
    HF_CASE(a_peer_that_does_not_hear_us_is_deaf_not_silent),
    HF_CASE(a_peer_that_never_was_up_is_unknown),
    HF_CASE(without_our_interface_silence_says_nothing),
    HF_CASE(a_fabric_is_silent_since_its_last_witness), HF_CASE(nobody_was_ever_up_is_no_silence),
    HF_CASE(two_sessions_are_up_after_two_round_trips),
    HF_LOOP(a_cut_wire_is_found_on_both_sides_in_time, 0, 20),
    HF_LOOP(half_a_wire_is_no_wire, 0, 20),
    HF_LOOP(a_lossy_wire_comes_up_and_ends_its_questions, 0, 20),
    HF_LOOP(a_hopeless_wire_flaps_and_recovers, 0, 20), HF_CASE(unequal_timings_are_negotiated),
    HF_LOOP(a_restarted_end_is_up_again_within_a_second, 0, 20),
    HF_LOOP(random_packets_break_no_invariant, 0, 20),
    HF_LOOP(the_verdict_does_not_depend_on_when_one_looks, 0, 20), HF_CASE(everything_has_a_name),
    HF_ABORTS(a_session_without_a_discriminator_cannot_be))
