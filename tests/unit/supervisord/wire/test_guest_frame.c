#include "supervisord/wire/guest_frame.h"

#include <string.h>

#include "supervisord/base/crc.h"
#include "tests/unit/check.h"

/* ---- messages ---- */

static struct hf_guest_slave a_slave(const char *name, uint8_t number)
{
    struct hf_guest_slave slave = {.index = number,
                                   .mac = {{2, 0, 0, 0, 0, number}},
                                   .perm_mac = {{2, 0, 0, 0, 1, number}},
                                   .link = (enum hf_guest_link)(number % HF_GUEST_LINKS),
                                   .is_active = number == 3,
                                   .has_carrier = number != 2,
                                   .failures = 70000u + number};

    (void)strcpy(slave.name, name);
    return slave;
}

static struct hf_guest_message a_message(enum hf_guest_kind kind)
{
    struct hf_guest_message m = {.kind = kind};

    switch (kind) {
    case HF_GUEST_HELLO:
        memset(m.u.hello.boot_id, 0xab, sizeof m.u.hello.boot_id);
        (void)strcpy(m.u.hello.program, "0.1.0");
        break;
    case HF_GUEST_BOND:
        m.u.bond.events_lost = 7;
        m.u.bond.monotonic_ns = 123456789012345;
        m.u.bond.wall_ns = -1;
        m.u.bond.bond = (struct hf_guest_bond){.name = "bond0",
                                               .index = 9,
                                               .mode = 1,
                                               .primary_reselect = 2,
                                               .fail_over_mac = 1,
                                               .miimon_ms = 20,
                                               .arp_interval_ms = 0,
                                               .has_carrier = true,
                                               .active = 1,
                                               .slaves_count = 2};
        m.u.bond.bond.slave[0] = a_slave("eth0", 2);
        m.u.bond.bond.slave[1] = a_slave("eth1", 3);
        break;
    case HF_GUEST_EVENT:
        m.u.event.event = 3;
        (void)strcpy(m.u.event.name, "bond0");
        m.u.event.monotonic_ns = 1;
        m.u.event.wall_ns = INT64_MAX;
        break;
    case HF_GUEST_ACK:
        m.u.ack.number = UINT64_MAX;
        m.u.ack.outcome = HF_GUEST_REFUSED;
        m.u.ack.sys_errno = 22;
        m.u.ack.took_us = 1500;
        m.u.ack.active = (hf_mac){{2, 0, 0, 0, 1, 2}};
        break;
    case HF_GUEST_SET_ACTIVE:
        m.u.set_active.number = 4711;
        m.u.set_active.mac = (hf_mac){{2, 0, 0, 0, 1, 3}};
        break;
    case HF_GUEST_ASK:
        m.u.ask.void_to = 4710;
        break;
    case HF_GUEST_KINDS:
        break;
    }
    return m;
}

static void same(const struct hf_guest_message *a, const struct hf_guest_message *b)
{
    uint8_t one[GUEST_FRAME_MAX], other[GUEST_FRAME_MAX];
    size_t len = guest_frame_encode(a, one);

    ck_assert_uint_eq(guest_frame_encode(b, other), len);
    ck_assert_mem_eq(one, other, len);
}

/* How many messages come out of these bytes, put in one go or in pieces. */
static unsigned feed(struct guest_stream *stream, const uint8_t *bytes, size_t len, size_t piece,
                     struct hf_guest_message *last)
{
    struct hf_guest_message m;
    unsigned count = 0;

    while (len > 0) {
        size_t now = len < piece ? len : piece;
        size_t taken = guest_stream_put(stream, bytes, now);

        ck_assert_uint_gt(taken, 0);
        bytes += taken;
        len -= taken;
        while (guest_stream_next(stream, &m)) {
            *last = m;
            count++;
        }
    }
    return count;
}

/* The header's CRC after somebody changed what it covers. */
static void seal(uint8_t *frame, size_t len)
{
    uint32_t crc =
        hf_crc32c(hf_crc32c(0, frame + 4, 4), frame + GUEST_FRAME_HEAD, len - GUEST_FRAME_HEAD);

    for (unsigned i = 0; i < 4; i++)
        frame[8 + i] = (uint8_t)(crc >> (8 * i));
}

/* ---- cases ---- */

START_TEST(every_message_comes_back_as_it_was)
{
    struct guest_stream stream = {.len = 0};
    struct hf_guest_message m = a_message((enum hf_guest_kind)_i), back;
    uint8_t frame[GUEST_FRAME_MAX];
    size_t len = guest_frame_encode(&m, frame);

    ck_assert_uint_eq(feed(&stream, frame, len, len, &back), 1);
    same(&m, &back);
    ck_assert_uint_eq(stream.len, 0);
    ck_assert_uint_eq(stream.skipped, 0);
    ck_assert_uint_eq(feed(&stream, frame, len, 1, &back), 1);
    same(&m, &back);
}
END_TEST

START_TEST(the_longest_message_fills_a_frame)
{
    struct hf_guest_message m = a_message(HF_GUEST_BOND);
    uint8_t frame[GUEST_FRAME_MAX];

    (void)strcpy(m.u.bond.bond.name, "fifteen-letters");
    m.u.bond.bond.slaves_count = HF_GUEST_SLAVES_MAX;
    for (uint8_t i = 0; i < HF_GUEST_SLAVES_MAX; i++)
        m.u.bond.bond.slave[i] = a_slave("fifteen-letters", i);
    ck_assert_uint_eq(guest_frame_encode(&m, frame), GUEST_FRAME_MAX);
}
END_TEST

START_TEST(a_frame_with_one_wrong_bit_is_no_message)
{
    struct hf_guest_message m = a_message(HF_GUEST_BOND), back;
    uint8_t frame[GUEST_FRAME_MAX];
    size_t len = guest_frame_encode(&m, frame);
    const uint8_t rest[2 * GUEST_FRAME_MAX] = {0};

    for (size_t bit = 0; bit < 8 * len; bit++) {
        struct guest_stream stream = {.len = 0};

        frame[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        ck_assert_uint_eq(feed(&stream, frame, len, len, &back), 0);
        /* A length that grew waits for bytes; they do not make it true. */
        ck_assert_uint_eq(feed(&stream, rest, sizeof rest, sizeof rest, &back), 0);
        ck_assert_uint_eq(stream.refused, 0);
        frame[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
}
END_TEST

START_TEST(what_is_no_frame_is_skipped)
{
    static const uint8_t noise[] = "no frame, \xf5\x48\x46\x47 nor this \xf5\x48\x46";
    struct hf_guest_message m = a_message(HF_GUEST_HELLO), back;
    uint8_t bytes[2 * sizeof noise + GUEST_FRAME_MAX];
    size_t len = 0;

    memcpy(bytes, noise, sizeof noise);
    len = sizeof noise + guest_frame_encode(&m, bytes + sizeof noise);
    memcpy(bytes + len, noise, sizeof noise);
    len += sizeof noise;
    for (size_t piece = 1; piece <= len; piece++) {
        struct guest_stream stream = {.len = 0};

        ck_assert_uint_eq(feed(&stream, bytes, len, piece, &back), 1);
        same(&m, &back);
        ck_assert_uint_ge(stream.skipped, sizeof noise);
    }
}
END_TEST

START_TEST(a_frame_inside_a_broken_one_is_found)
{
    struct guest_stream stream = {.len = 0};
    struct hf_guest_message m = a_message(HF_GUEST_ACK), back;
    uint8_t bytes[3 * GUEST_FRAME_MAX];
    size_t len;

    /* The helper ended after half a BOND, and another one began. */
    m = a_message(HF_GUEST_BOND);
    len = guest_frame_encode(&m, bytes) / 2;
    m = a_message(HF_GUEST_ACK);
    for (unsigned i = 0; i < 5; i++)
        len += guest_frame_encode(&m, bytes + len);
    ck_assert_uint_eq(feed(&stream, bytes, len, len, &back), 5);
    same(&m, &back);
}
END_TEST

START_TEST(a_length_that_lies_holds_nothing_back_for_ever)
{
    struct guest_stream stream = {.len = 0};
    struct hf_guest_message m = a_message(HF_GUEST_BOND), back;
    uint8_t bytes[2 * GUEST_FRAME_MAX];
    size_t len = GUEST_FRAME_HEAD;

    (void)guest_frame_encode(&m, bytes);
    m = a_message(HF_GUEST_ACK);
    len += guest_frame_encode(&m, bytes + len);
    ck_assert_uint_eq(feed(&stream, bytes, len, len, &back), 0);
    ck_assert(guest_stream_is_partial(&stream));
    guest_stream_give_up(&stream);
    ck_assert(guest_stream_next(&stream, &back));
    same(&m, &back);
    ck_assert(!guest_stream_is_partial(&stream));
    guest_stream_give_up(&stream);
    ck_assert_uint_eq(stream.skipped, GUEST_FRAME_HEAD);
}
END_TEST

START_TEST(another_version_is_counted_and_passed_over)
{
    struct guest_stream stream = {.len = 0};
    struct hf_guest_message m = a_message(HF_GUEST_ACK), back;
    uint8_t bytes[2 * GUEST_FRAME_MAX];
    size_t len = guest_frame_encode(&m, bytes);

    bytes[4] = HF_GUEST_VERSION + 1;
    seal(bytes, len);
    len += guest_frame_encode(&m, bytes + len);
    ck_assert_uint_eq(feed(&stream, bytes, len, len, &back), 1);
    ck_assert_uint_eq(stream.other_version, 1);
    ck_assert_uint_eq(stream.skipped, 0);
}
END_TEST

/* One byte of a sound frame, and what would make it a lie. */
static const struct lie {
    enum hf_guest_kind kind;
    size_t at; /* in the body */
    uint8_t byte;
} lies[] = {
    {HF_GUEST_HELLO, 17, '\n'}, /* a name with a line end */
    {HF_GUEST_HELLO, 17, '/'},
    {HF_GUEST_HELLO, 17, 0x80},
    {HF_GUEST_HELLO, 16, 16},    /* a name longer than the message */
    {HF_GUEST_BOND, 26 + 15, 2}, /* a carrier that is neither */
    {HF_GUEST_BOND, 26 + 16, 2}, /* the third of two slaves is active */
    {HF_GUEST_BOND, 26 + 17, 5}, /* more slaves than there may be */
    {HF_GUEST_BOND, 26 + 17, 1}, /* bytes left over */
    {HF_GUEST_EVENT, 1, 4},
    {HF_GUEST_ACK, 8, 0}, /* no outcome */
    {HF_GUEST_ACK, 8, HF_GUEST_OUTCOMES},
};

START_TEST(a_sound_frame_with_a_lie_is_refused_whole)
{
    const struct lie *lie = &lies[_i];
    struct guest_stream stream = {.len = 0};
    struct hf_guest_message m = a_message(lie->kind), back;
    uint8_t frame[GUEST_FRAME_MAX];
    size_t len = guest_frame_encode(&m, frame);

    ck_assert_uint_lt(GUEST_FRAME_HEAD + lie->at, len);
    frame[GUEST_FRAME_HEAD + lie->at] = lie->byte;
    seal(frame, len);
    ck_assert_uint_eq(feed(&stream, frame, len, len, &back), 0);
    ck_assert_uint_eq(stream.refused, 1);
    ck_assert_uint_eq(stream.skipped, 0);
}
END_TEST

START_TEST(a_kind_that_is_none_is_refused)
{
    struct guest_stream stream = {.len = 0};
    struct hf_guest_message m = a_message(HF_GUEST_ASK), back;
    uint8_t frame[GUEST_FRAME_MAX];
    size_t len = guest_frame_encode(&m, frame);

    frame[5] = _i == 0 ? 0 : HF_GUEST_KINDS;
    seal(frame, len);
    ck_assert_uint_eq(feed(&stream, frame, len, len, &back), 0);
    ck_assert_uint_eq(stream.refused, 1);
}
END_TEST

START_TEST(a_name_of_the_kernel_is_cleaned_before_it_goes)
{
    struct hf_guest_message m = a_message(HF_GUEST_EVENT), back;
    uint8_t frame[GUEST_FRAME_MAX];
    struct guest_stream stream = {.len = 0};
    size_t len;

    (void)strcpy(m.u.event.name, "b\x01\xc3\xa4/0");
    len = guest_frame_encode(&m, frame);
    ck_assert_uint_eq(feed(&stream, frame, len, len, &back), 1);
    ck_assert_str_eq(back.u.event.name, "b????0");
}
END_TEST

START_TEST(a_flood_of_beginnings_never_fills_the_stream)
{
    struct guest_stream stream = {.len = 0};
    struct hf_guest_message m = a_message(HF_GUEST_BOND), back;
    uint8_t bytes[64 * GUEST_FRAME_HEAD];

    for (unsigned i = 0; i < 64; i++) {
        uint8_t frame[GUEST_FRAME_MAX];

        (void)guest_frame_encode(&m, frame);
        memcpy(bytes + i * GUEST_FRAME_HEAD, frame, GUEST_FRAME_HEAD);
    }
    for (unsigned i = 0; i < 100; i++)
        ck_assert_uint_eq(feed(&stream, bytes, sizeof bytes, sizeof bytes, &back), 0);
    ck_assert_uint_lt(stream.len, GUEST_FRAME_MAX);
}
END_TEST

START_TEST(who_says_what_is_settled)
{
    bool is_guests = _i <= HF_GUEST_ACK;

    ck_assert_int_eq(guest_frame_is_guests((enum hf_guest_kind)_i), is_guests);
}
END_TEST

START_TEST(every_outcome_has_a_name)
{
    ck_assert_str_ne(guest_frame_outcome_name((enum hf_guest_outcome)_i), "?");
    ck_assert_str_eq(guest_frame_outcome_name(HF_GUEST_OUTCOMES), "?");
}
END_TEST

HF_TEST_MAIN("wire/guest_frame",
             HF_LOOP(every_message_comes_back_as_it_was, HF_GUEST_HELLO, HF_GUEST_KINDS),
             HF_CASE(the_longest_message_fills_a_frame),
             HF_CASE(a_frame_with_one_wrong_bit_is_no_message),
             HF_CASE(what_is_no_frame_is_skipped), HF_CASE(a_frame_inside_a_broken_one_is_found),
             HF_CASE(a_length_that_lies_holds_nothing_back_for_ever),
             HF_CASE(another_version_is_counted_and_passed_over),
             HF_LOOP(a_sound_frame_with_a_lie_is_refused_whole, 0, sizeof lies / sizeof lies[0]),
             HF_LOOP(a_kind_that_is_none_is_refused, 0, 2),
             HF_CASE(a_name_of_the_kernel_is_cleaned_before_it_goes),
             HF_CASE(a_flood_of_beginnings_never_fills_the_stream),
             HF_LOOP(who_says_what_is_settled, HF_GUEST_HELLO, HF_GUEST_KINDS),
             HF_LOOP(every_outcome_has_a_name, HF_GUEST_DONE, HF_GUEST_OUTCOMES))
