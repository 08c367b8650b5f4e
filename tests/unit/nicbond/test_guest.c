#include "nicbond/guest.h"

#include <string.h>

#include "tests/unit/check.h"

#define MAC_A ((hf_mac){{0x52, 0x54, 0, 0, 0, 0xa}})
#define MAC_B ((hf_mac){{0x52, 0x54, 0, 0, 0, 0xb}})

enum { FAILOVER = 3, NOTIFY_PEERS = 4, ASK_BYTES = GUEST_FRAME_HEAD + 8 };

struct rig {
    struct guest guest;
    hf_time now;
};

static struct rig begin(void)
{
    struct rig rig = {.now = {1000 * HF_NS_PER_MS}};

    guest_init(&rig.guest, rig.now);
    guest_joined(&rig.guest, rig.now);
    return rig;
}

static void later(struct rig *rig, int64_t ms)
{
    rig->now = hf_time_add_ms(rig->now, ms);
}

/* ---- the guest's part ---- */

static void say(struct rig *rig, const struct hf_guest_message *m)
{
    uint8_t frame[GUEST_FRAME_MAX];
    size_t len = guest_frame_encode(m, frame);

    ck_assert(guest_take(&rig->guest, frame, len, rig->now));
}

static void say_hello(struct rig *rig, uint8_t boot)
{
    struct hf_guest_message m = {.kind = HF_GUEST_HELLO};

    memset(m.u.hello.boot_id, boot, sizeof m.u.hello.boot_id);
    say(rig, &m);
}

static struct hf_guest_message a_bond(uint8_t active)
{
    struct hf_guest_message m = {.kind = HF_GUEST_BOND};
    struct hf_guest_bond *bond = &m.u.bond.bond;

    (void)strcpy(bond->name, "bond0");
    bond->mode = 1;
    bond->active = active;
    bond->slaves_count = 2;
    (void)strcpy(bond->slave[0].name, "eth0");
    (void)strcpy(bond->slave[1].name, "eth1");
    bond->slave[0].perm_mac = MAC_A;
    bond->slave[1].perm_mac = MAC_B;
    bond->slave[0].has_carrier = bond->slave[1].has_carrier = true;
    return m;
}

static void say_bond(struct rig *rig, uint8_t active)
{
    const struct hf_guest_message m = a_bond(active);

    say(rig, &m);
}

static void say_ack(struct rig *rig, uint64_t number, enum hf_guest_outcome outcome, hf_mac active)
{
    const struct hf_guest_message m = {
        .kind = HF_GUEST_ACK,
        .u.ack = {.number = number, .outcome = outcome, .took_us = 42, .active = active}};

    say(rig, &m);
}

/* The next message to the guest. */
static bool told(struct rig *rig, struct guest_stream *stream, struct hf_guest_message *m)
{
    size_t len;
    const uint8_t *bytes = guest_out(&rig->guest, &len);

    if (bytes != NULL) {
        ck_assert_uint_eq(guest_stream_put(stream, bytes, len), len);
        guest_sent(&rig->guest, len);
    }
    return guest_stream_next(stream, m);
}

static struct rig begin_with_helper(void)
{
    struct rig rig = begin();
    struct guest_stream stream = {.len = 0};
    struct hf_guest_message m;

    ck_assert(told(&rig, &stream, &m));
    ck_assert_int_eq(m.kind, HF_GUEST_ASK);
    say_hello(&rig, 1);
    say_bond(&rig, 0);
    ck_assert(rig.guest.has_helper && rig.guest.has_bond);
    return rig;
}

static void order(struct rig *rig, uint64_t number, hf_mac mac)
{
    struct hf_err err;

    ck_assert_int_eq(guest_order_active(&rig->guest, number, mac, rig->now, &err), HF_OK);
}

/* ---- what it says ---- */

START_TEST(a_connection_is_no_helper)
{
    struct rig rig = begin();
    struct hf_err err;

    ck_assert(rig.guest.is_connected && !rig.guest.has_helper);
    ck_assert_int_eq(guest_order_active(&rig.guest, 1, MAC_B, rig.now, &err), HF_EAGAIN);
    /* Nor is the end of somebody's words, before a hello. */
    say_bond(&rig, 0);
    ck_assert(!rig.guest.has_helper);
    ck_assert(hf_mac_is_none(guest_active_mac(&rig.guest)));
    say_hello(&rig, 1);
    ck_assert(rig.guest.has_helper);
}
END_TEST

START_TEST(the_active_slave_is_known_by_its_mac)
{
    struct rig rig = begin_with_helper();

    ck_assert(guest_is_on(&rig.guest, MAC_A));
    ck_assert(!guest_is_on(&rig.guest, MAC_B));
    ck_assert(guest_can_use(&rig.guest, MAC_B));
    say_bond(&rig, 1);
    ck_assert(guest_is_on(&rig.guest, MAC_B));
    say_bond(&rig, HF_GUEST_NONE);
    ck_assert(!guest_is_on(&rig.guest, MAC_B));
    ck_assert(!guest_is_on(&rig.guest, (hf_mac){{0}}));
}
END_TEST

START_TEST(a_slave_without_link_cannot_be_used)
{
    struct rig rig = begin_with_helper();
    struct hf_guest_message m = a_bond(0);

    m.u.bond.bond.slave[1].link = HF_GUEST_LINK_DOWN;
    say(&rig, &m);
    ck_assert(!guest_can_use(&rig.guest, MAC_B));
    m = a_bond(0);
    m.u.bond.bond.slave[1].has_carrier = false;
    say(&rig, &m);
    ck_assert(!guest_can_use(&rig.guest, MAC_B));
    ck_assert(!guest_can_use(&rig.guest, (hf_mac){{9}}));
}
END_TEST

START_TEST(an_address_in_use_names_a_slave_if_it_is_its_own)
{
    struct rig rig = begin_with_helper();
    struct hf_guest_message m = a_bond(1);

    m.u.bond.bond.slave[1].mac = (hf_mac){{2, 7}};
    say(&rig, &m);
    ck_assert(guest_is_on(&rig.guest, (hf_mac){{2, 7}}));
    m.u.bond.bond.slave[0].mac = (hf_mac){{2, 7}};
    say(&rig, &m);
    ck_assert(!guest_is_on(&rig.guest, (hf_mac){{2, 7}}));
    ck_assert(!guest_can_use(&rig.guest, (hf_mac){{2, 7}}));
    ck_assert(guest_is_on(&rig.guest, MAC_B));
}
END_TEST

START_TEST(no_bond_is_a_state)
{
    struct rig rig = begin_with_helper();
    struct hf_guest_message m = {.kind = HF_GUEST_BOND};

    m.u.bond.bond.active = HF_GUEST_NONE;
    say(&rig, &m);
    ck_assert(rig.guest.has_helper && !rig.guest.has_bond);
    ck_assert(!guest_is_on(&rig.guest, MAC_A));
}
END_TEST

START_TEST(a_failover_keeps_both_clocks)
{
    struct rig rig = begin_with_helper();
    struct hf_guest_message m = {
        .kind = HF_GUEST_EVENT,
        .u.event = {.event = FAILOVER, .name = "bond0", .monotonic_ns = 77, .wall_ns = 88}};

    later(&rig, 5);
    say(&rig, &m);
    ck_assert(rig.guest.has_failover && !rig.guest.has_peers_told);
    ck_assert_int_eq(rig.guest.failover_at.ns, rig.now.ns);
    ck_assert_int_eq(rig.guest.failover_mono_ns, 77);
    ck_assert_int_eq(rig.guest.failover_wall_ns, 88);
    m.u.event.event = NOTIFY_PEERS;
    say(&rig, &m);
    ck_assert(rig.guest.has_peers_told);
    ck_assert_uint_eq(rig.guest.events, 2);
}
END_TEST

START_TEST(a_rebooted_guest_is_a_new_one)
{
    struct rig rig = begin_with_helper();

    say_hello(&rig, 1);
    ck_assert(rig.guest.has_bond);
    ck_assert_uint_eq(rig.guest.counters.restarts, 0);
    say_hello(&rig, 2);
    ck_assert(rig.guest.has_helper && !rig.guest.has_bond);
    ck_assert_uint_eq(rig.guest.counters.restarts, 1);
}
END_TEST

START_TEST(a_lost_connection_forgets_all)
{
    struct rig rig = begin_with_helper();

    guest_left(&rig.guest, rig.now);
    ck_assert(!rig.guest.is_connected && !rig.guest.has_helper && !rig.guest.has_bond);
    guest_joined(&rig.guest, rig.now);
    ck_assert(!rig.guest.has_helper);
}
END_TEST

START_TEST(what_only_a_host_says_is_refused)
{
    struct rig rig = begin_with_helper();
    const struct hf_guest_message ask = {.kind = HF_GUEST_ASK};

    say(&rig, &ask);
    ck_assert_uint_eq(rig.guest.counters.refused, 1);
}
END_TEST

/* ---- questions and silence ---- */

START_TEST(a_helper_is_asked_after_a_second_and_gone_after_three)
{
    struct rig rig = begin_with_helper();
    struct guest_stream stream = {.len = 0};
    struct hf_guest_message m;
    hf_time end = hf_time_add_ms(rig.now, GUEST_SILENT_MS), next;
    unsigned asked = 0;

    while (!hf_time_reached(rig.now, end)) {
        ck_assert(rig.guest.has_helper);
        next = guest_tick(&rig.guest, rig.now);
        ck_assert_int_gt(next.ns, rig.now.ns);
        while (told(&rig, &stream, &m))
            asked++;
        rig.now = next;
    }
    (void)guest_tick(&rig.guest, rig.now);
    ck_assert(!rig.guest.has_helper);
    ck_assert_uint_eq(asked, 1);
    /* No order is open: what lies there may stay. */
    ck_assert(!guest_is_stale(&rig.guest, rig.now));
    say_hello(&rig, 1);
    ck_assert(rig.guest.has_helper);
}
END_TEST

START_TEST(an_absent_helper_is_asked_rarely)
{
    struct rig rig = begin();
    hf_time end = hf_time_add_ms(rig.now, 10 * GUEST_ASK_AGAIN_MS);
    unsigned ticks = 0;
    size_t len, sent = 0;

    while (!hf_time_reached(rig.now, end)) {
        hf_time next = guest_tick(&rig.guest, rig.now);

        ck_assert_int_gt(next.ns, rig.now.ns);
        (void)guest_out(&rig.guest, &len);
        sent += len;
        guest_sent(&rig.guest, len);
        rig.now = next;
        ticks++;
    }
    ck_assert_uint_le(ticks, 11);
    ck_assert_uint_le(sent, 11 * ASK_BYTES);
}
END_TEST

START_TEST(an_order_does_not_wait_for_tomorrows_helper)
{
    struct rig rig = begin_with_helper();

    order(&rig, 5, MAC_B);
    later(&rig, GUEST_SILENT_MS - 1);
    ck_assert(!guest_is_stale(&rig.guest, rig.now));
    later(&rig, 1);
    ck_assert(guest_is_stale(&rig.guest, rig.now));
    guest_left(&rig.guest, rig.now);
    guest_joined(&rig.guest, rig.now);
    ck_assert(!guest_is_stale(&rig.guest, hf_time_add_ms(rig.now, 10 * GUEST_SILENT_MS)));
}
END_TEST

/* ---- orders ---- */

START_TEST(an_order_goes_out_and_its_answer_comes_back)
{
    struct rig rig = begin_with_helper();
    struct guest_stream stream = {.len = 0};
    struct guest_answer answer;
    struct hf_guest_message m;

    order(&rig, 5, MAC_B);
    ck_assert(told(&rig, &stream, &m));
    ck_assert_int_eq(m.kind, HF_GUEST_SET_ACTIVE);
    ck_assert_uint_eq(m.u.set_active.number, 5);
    ck_assert(hf_mac_is_equal(m.u.set_active.mac, MAC_B));
    ck_assert(!guest_answer(&rig.guest, &answer));
    later(&rig, 3);
    say_ack(&rig, 5, HF_GUEST_DONE, MAC_B);
    ck_assert(guest_answer(&rig.guest, &answer));
    ck_assert_int_eq(answer.result, GUEST_DONE);
    ck_assert_uint_eq(answer.number, 5);
    ck_assert_uint_eq(answer.took_us, 42);
    ck_assert_uint_eq(answer.round_us, 3000);
    ck_assert(!guest_answer(&rig.guest, &answer));
    /* The answer alone moves nothing in the picture: the bond is told by BOND. */
    ck_assert(guest_is_on(&rig.guest, MAC_A));
}
END_TEST

static const struct judged {
    enum hf_guest_outcome said;
    hf_mac active;
    enum guest_result result;
} judged[] = {
    {HF_GUEST_DONE, {{0x52, 0x54, 0, 0, 0, 0xb}}, GUEST_DONE},
    {HF_GUEST_ALREADY, {{0x52, 0x54, 0, 0, 0, 0xb}}, GUEST_ALREADY},
    {HF_GUEST_DONE, {{0x52, 0x54, 0, 0, 0, 0xa}}, GUEST_LIED},
    {HF_GUEST_ALREADY, {{0}}, GUEST_LIED},
    {HF_GUEST_NO_BOND, {{0}}, GUEST_REFUSED},
    {HF_GUEST_NO_SLAVE, {{0x52, 0x54, 0, 0, 0, 0xa}}, GUEST_REFUSED},
    {HF_GUEST_AMBIGUOUS, {{0}}, GUEST_REFUSED},
    {HF_GUEST_REFUSED, {{0}}, GUEST_REFUSED},
    {HF_GUEST_UNCONFIRMED, {{0}}, GUEST_REFUSED},
    {HF_GUEST_SUPERSEDED, {{0}}, GUEST_LIED},
};

START_TEST(every_answer_is_judged)
{
    struct rig rig = begin_with_helper();
    struct guest_answer answer;

    order(&rig, 5, MAC_B);
    say_ack(&rig, 5, judged[_i].said, judged[_i].active);
    ck_assert(guest_answer(&rig.guest, &answer));
    ck_assert_int_eq(answer.result, judged[_i].result);
    ck_assert_int_eq(answer.outcome, judged[_i].said);
    ck_assert_uint_eq(rig.guest.counters.lies, judged[_i].result == GUEST_LIED);
}
END_TEST

START_TEST(silence_is_late_and_a_late_answer_is_nobodys)
{
    struct rig rig = begin_with_helper();
    struct guest_answer answer;
    hf_time next;

    order(&rig, 5, MAC_B);
    next = guest_tick(&rig.guest, rig.now);
    ck_assert_int_eq(hf_time_since_ms(next, rig.now), GUEST_ORDER_MS);
    later(&rig, GUEST_ORDER_MS - 1);
    (void)guest_tick(&rig.guest, rig.now);
    ck_assert(!guest_answer(&rig.guest, &answer));
    later(&rig, 1);
    (void)guest_tick(&rig.guest, rig.now);
    ck_assert(guest_answer(&rig.guest, &answer));
    ck_assert_int_eq(answer.result, GUEST_LATE);
    ck_assert_int_eq(answer.outcome, 0);
    ck_assert_uint_eq(rig.guest.counters.late, 1);
    say_ack(&rig, 5, HF_GUEST_DONE, MAC_B);
    ck_assert(!guest_answer(&rig.guest, &answer));
    ck_assert_uint_eq(rig.guest.counters.lies, 0);
    later(&rig, GUEST_SILENT_MS);
    ck_assert(!guest_is_stale(&rig.guest, rig.now));
}
END_TEST

START_TEST(a_late_order_is_taken_back)
{
    struct rig rig = begin_with_helper();
    struct guest_stream stream = {.len = 0};
    struct hf_guest_message m;

    order(&rig, 5, MAC_B);
    later(&rig, GUEST_ORDER_MS);
    (void)guest_tick(&rig.guest, rig.now);
    ck_assert(told(&rig, &stream, &m));
    ck_assert_int_eq(m.kind, HF_GUEST_SET_ACTIVE);
    ck_assert(told(&rig, &stream, &m));
    ck_assert_int_eq(m.kind, HF_GUEST_ASK);
    ck_assert_uint_eq(m.u.ask.void_to, 5);
    /* And again to whoever is there after a new connection. */
    guest_left(&rig.guest, rig.now);
    guest_joined(&rig.guest, rig.now);
    ck_assert(told(&rig, &stream, &m));
    ck_assert_uint_eq(m.u.ask.void_to, 5);
    /* A question beside an open order leaves it alone, whatever its number is. */
    say_hello(&rig, 1);
    order(&rig, 4, MAC_A);
    later(&rig, GUEST_ORDER_MS - 1);
    (void)guest_tick(&rig.guest, rig.now);
    ck_assert(told(&rig, &stream, &m));
    ck_assert_int_eq(m.kind, HF_GUEST_SET_ACTIVE);
    while (told(&rig, &stream, &m))
        ck_assert_uint_eq(m.u.ask.void_to, 0);
}
END_TEST

START_TEST(an_answered_order_is_not_taken_back)
{
    struct rig rig = begin_with_helper();
    struct guest_stream stream = {.len = 0};
    struct hf_guest_message m;

    order(&rig, 5, MAC_B);
    ck_assert(told(&rig, &stream, &m));
    say_ack(&rig, 5, HF_GUEST_DONE, MAC_B);
    later(&rig, GUEST_ASK_MS);
    (void)guest_tick(&rig.guest, rig.now);
    ck_assert(told(&rig, &stream, &m));
    ck_assert_int_eq(m.kind, HF_GUEST_ASK);
    ck_assert_uint_eq(m.u.ask.void_to, 0);
}
END_TEST

START_TEST(answers_to_what_nobody_ordered_are_counted)
{
    struct rig rig = begin_with_helper();
    struct guest_answer answer;

    say_ack(&rig, 1, HF_GUEST_DONE, MAC_B);
    ck_assert_uint_eq(rig.guest.counters.lies, 1);
    order(&rig, 5, MAC_B);
    say_ack(&rig, 6, HF_GUEST_DONE, MAC_B);
    ck_assert_uint_eq(rig.guest.counters.lies, 2);
    say_ack(&rig, 4, HF_GUEST_DONE, MAC_B);
    ck_assert(!guest_answer(&rig.guest, &answer));
    say_ack(&rig, 5, HF_GUEST_DONE, MAC_B);
    ck_assert(guest_answer(&rig.guest, &answer));
}
END_TEST

START_TEST(a_later_order_takes_the_place_of_an_open_one)
{
    struct rig rig = begin_with_helper();
    struct guest_answer answer;

    order(&rig, 5, MAC_B);
    order(&rig, 6, MAC_A);
    ck_assert(guest_answer(&rig.guest, &answer));
    ck_assert_uint_eq(answer.number, 5);
    ck_assert_int_eq(answer.result, GUEST_GONE);
    say_ack(&rig, 5, HF_GUEST_SUPERSEDED, MAC_A);
    ck_assert(!guest_answer(&rig.guest, &answer));
    say_ack(&rig, 6, HF_GUEST_ALREADY, MAC_A);
    ck_assert(guest_answer(&rig.guest, &answer));
    ck_assert_int_eq(answer.result, GUEST_ALREADY);
    ck_assert_uint_eq(rig.guest.counters.lies, 0);
}
END_TEST

START_TEST(a_broken_connection_ends_an_order)
{
    struct rig rig = begin_with_helper();
    struct guest_answer answer;
    size_t len;

    order(&rig, 5, MAC_B);
    guest_left(&rig.guest, rig.now);
    ck_assert(guest_answer(&rig.guest, &answer));
    ck_assert_int_eq(answer.result, GUEST_GONE);
    /* And it is not told to whoever comes next. */
    guest_joined(&rig.guest, rig.now);
    (void)guest_out(&rig.guest, &len);
    ck_assert_uint_eq(len, ASK_BYTES);
}
END_TEST

START_TEST(a_guest_that_reads_nothing_gets_no_more_orders)
{
    struct rig rig = begin_with_helper();
    struct hf_err err;
    enum hf_code code = HF_OK;
    unsigned orders = 0;

    while (code == HF_OK && orders < 1000)
        code = guest_order_active(&rig.guest, ++orders, MAC_B, rig.now, &err);
    ck_assert_int_eq(code, HF_EAGAIN);
    ck_assert_uint_le(orders, GUEST_OUT_MAX / GUEST_FRAME_HEAD);
}
END_TEST

/* ---- floods and noise ---- */

START_TEST(a_flood_is_muted_longer_and_longer)
{
    struct rig rig = begin_with_helper();
    static const uint8_t noise[2048];
    uint32_t expected = GUEST_MUTE_MS;

    for (unsigned flood = 0; flood < 10; flood++) {
        unsigned rounds = 0;

        while (guest_take(&rig.guest, noise, sizeof noise, rig.now) && rounds < 1000)
            rounds++;
        ck_assert_uint_le(rounds, GUEST_BYTES_PER_S / sizeof noise);
        ck_assert_uint_eq(rig.guest.counters.floods, flood + 1);
        ck_assert_uint_eq(guest_mute_ms(&rig.guest, rig.now), expected);
        guest_left(&rig.guest, rig.now);
        later(&rig, expected);
        guest_joined(&rig.guest, rig.now);
        expected = 2 * expected < GUEST_MUTE_MAX_MS ? 2 * expected : GUEST_MUTE_MAX_MS;
    }
    /* A minute of peace after the last mute, and it begins small again. */
    later(&rig, GUEST_MUTE_MAX_MS);
    ck_assert_uint_eq(guest_mute_ms(&rig.guest, rig.now), GUEST_MUTE_MS);
}
END_TEST

START_TEST(a_busy_guest_is_no_flood)
{
    struct rig rig = begin_with_helper();

    /* Both links flap at 10 Hz, a minute long: 120 messages a second. */
    for (unsigned i = 0; i < 60 * 120; i++) {
        if (i % 3 == 0)
            later(&rig, 25);
        say_bond(&rig, (uint8_t)(i % 2));
    }
    ck_assert_uint_eq(rig.guest.counters.floods, 0);
    ck_assert_uint_eq(rig.guest.counters.messages, 60 * 120 + 2);
}
END_TEST

START_TEST(noise_keeps_nobody_alive)
{
    struct rig rig = begin_with_helper();
    static const uint8_t noise[64] = {0xf5, 0x48};

    for (unsigned i = 0; i < 100; i++) {
        later(&rig, GUEST_SILENT_MS / 50);
        ck_assert(guest_take(&rig.guest, noise, sizeof noise, rig.now));
        (void)guest_tick(&rig.guest, rig.now);
    }
    ck_assert(!rig.guest.has_helper);
    ck_assert_uint_ge(rig.guest.counters.skipped, 99 * sizeof noise);
}
END_TEST

START_TEST(half_a_frame_costs_its_patience_and_no_more)
{
    struct rig rig = begin_with_helper();
    struct hf_guest_message m = a_bond(1);
    uint8_t frame[GUEST_FRAME_MAX];
    hf_time next;

    (void)guest_frame_encode(&m, frame);
    ck_assert(guest_take(&rig.guest, frame, GUEST_FRAME_HEAD + 4, rig.now));
    m.kind = HF_GUEST_EVENT;
    memset(&m.u, 0, sizeof m.u);
    say(&rig, &m);
    ck_assert_uint_eq(rig.guest.events, 0);
    next = guest_tick(&rig.guest, rig.now);
    ck_assert_int_eq(hf_time_since_ms(next, rig.now), GUEST_PARTIAL_MS);
    rig.now = next;
    (void)guest_tick(&rig.guest, rig.now);
    ck_assert_uint_eq(rig.guest.events, 1);
    ck_assert_uint_eq(rig.guest.counters.skipped, GUEST_FRAME_HEAD + 4);
}
END_TEST

START_TEST(frames_in_pieces_lose_nothing_to_impatience)
{
    struct rig rig = begin_with_helper();
    const struct hf_guest_message m = a_bond(1);
    uint8_t bytes[8 * GUEST_FRAME_MAX];
    size_t len = 0;

    for (unsigned i = 0; i < 8; i++)
        len += guest_frame_encode(&m, bytes + len);
    /* Every piece ends inside of a frame, and each frame takes less than its patience. */
    for (size_t i = 0; i < len; i++) {
        if (i % 4 == 0)
            later(&rig, 3);
        ck_assert(guest_take(&rig.guest, bytes + i, 1, rig.now));
        (void)guest_tick(&rig.guest, rig.now);
    }
    ck_assert_uint_eq(rig.guest.counters.messages, 2 + 8);
    ck_assert_uint_eq(rig.guest.counters.skipped, 0);
}
END_TEST

START_TEST(every_result_has_a_name)
{
    ck_assert_str_ne(guest_result_name((enum guest_result)_i), "?");
}
END_TEST

HF_TEST_MAIN("nicbond/guest", HF_CASE(a_connection_is_no_helper),
             HF_CASE(the_active_slave_is_known_by_its_mac),
             HF_CASE(a_slave_without_link_cannot_be_used),
             HF_CASE(an_address_in_use_names_a_slave_if_it_is_its_own), HF_CASE(no_bond_is_a_state),
             HF_CASE(a_failover_keeps_both_clocks), HF_CASE(a_rebooted_guest_is_a_new_one),
             HF_CASE(a_lost_connection_forgets_all), HF_CASE(what_only_a_host_says_is_refused),
             HF_CASE(a_helper_is_asked_after_a_second_and_gone_after_three),
             HF_CASE(an_absent_helper_is_asked_rarely),
             HF_CASE(an_order_does_not_wait_for_tomorrows_helper),
             HF_CASE(an_order_goes_out_and_its_answer_comes_back),
             HF_LOOP(every_answer_is_judged, 0, sizeof judged / sizeof judged[0]),
             HF_CASE(silence_is_late_and_a_late_answer_is_nobodys),
             HF_CASE(a_late_order_is_taken_back), HF_CASE(an_answered_order_is_not_taken_back),
             HF_CASE(answers_to_what_nobody_ordered_are_counted),
             HF_CASE(a_later_order_takes_the_place_of_an_open_one),
             HF_CASE(a_broken_connection_ends_an_order),
             HF_CASE(a_guest_that_reads_nothing_gets_no_more_orders),
             HF_CASE(a_flood_is_muted_longer_and_longer), HF_CASE(a_busy_guest_is_no_flood),
             HF_CASE(noise_keeps_nobody_alive),
             HF_CASE(half_a_frame_costs_its_patience_and_no_more),
             HF_CASE(frames_in_pieces_lose_nothing_to_impatience),
             HF_LOOP(every_result_has_a_name, GUEST_DONE, GUEST_RESULTS))
