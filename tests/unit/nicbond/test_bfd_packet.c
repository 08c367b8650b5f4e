#include "nicbond/bfd_packet.h"

#include "supervisord/base/rng.h"
#include "tests/unit/check.h"

#include <string.h>

/* Up, multiplier 3, everything different. */
static const uint8_t golden[BFD_PACKET_BYTES] = {
    0x23, 0xe8, 3,    24,   /* version 1, diagnostic 3; up, P, C */
    0x11, 0x22, 0x33, 0x44, /* my discriminator */
    0x55, 0x66, 0x77, 0x88, /* your discriminator */
    0x00, 0x00, 0x27, 0x10, /* desired min tx: 10 ms */
    0x00, 0x00, 0xc3, 0x50, /* required min rx: 50 ms */
    0x00, 0x0f, 0x42, 0x40, /* required min echo rx: 1 s */
};

static const struct bfd_packet golden_packet = {.diag = BFD_DIAG_NEIGHBOUR,
                                                .state = BFD_UP,
                                                .poll = true,
                                                .is_independent = true,
                                                .multiplier = 3,
                                                .my = 0x11223344,
                                                .your = 0x55667788,
                                                .min_tx_us = 10000,
                                                .min_rx_us = 50000,
                                                .min_echo_us = 1000000};

static bool is_same(const struct bfd_packet *a, const struct bfd_packet *b)
{
    return a->diag == b->diag && a->state == b->state && a->poll == b->poll &&
           a->final == b->final && a->demand == b->demand &&
           a->is_independent == b->is_independent && a->multiplier == b->multiplier &&
           a->my == b->my && a->your == b->your && a->min_tx_us == b->min_tx_us &&
           a->min_rx_us == b->min_rx_us && a->min_echo_us == b->min_echo_us;
}

START_TEST(a_known_packet_reads_and_writes_as_the_rfc_draws_it)
{
    struct bfd_packet packet;
    uint8_t bytes[BFD_PACKET_BYTES];

    ck_assert_int_eq(bfd_packet_decode(golden, sizeof golden, &packet), BFD_DROP_NONE);
    ck_assert(is_same(&packet, &golden_packet));
    bfd_packet_encode(&golden_packet, bytes);
    ck_assert_mem_eq(bytes, golden, sizeof golden);
}
END_TEST

/* One byte of the golden packet changed, or its end cut. */
struct bad {
    size_t at;
    uint8_t byte;
    size_t len;
    enum bfd_drop drop;
};

static const struct bad bads[] = {
    {3, 24, 23, BFD_DROP_SHORT},     {3, 24, 0, BFD_DROP_SHORT},
    {3, 25, 24, BFD_DROP_SHORT}, /* longer than what came */
    {3, 255, 24, BFD_DROP_SHORT},    {0, 0x03, 24, BFD_DROP_VERSION},
    {0, 0x43, 24, BFD_DROP_VERSION}, {3, 23, 24, BFD_DROP_LENGTH},
    {3, 0, 24, BFD_DROP_LENGTH},     {1, 0xec, 24, BFD_DROP_LENGTH}, /* A: 26 at least */
    {2, 0, 24, BFD_DROP_MULTIPLIER}, {1, 0xe9, 24, BFD_DROP_MULTIPOINT},
};

START_TEST(a_packet_that_breaks_a_rule_is_dropped_by_that_rule)
{
    const struct bad *bad = &bads[_i];
    struct bfd_packet packet = {.my = 7};
    uint8_t bytes[BFD_PACKET_BYTES];

    memcpy(bytes, golden, sizeof bytes);
    bytes[bad->at] = bad->byte;
    ck_assert_int_eq(bfd_packet_decode(bytes, bad->len, &packet), bad->drop);
    ck_assert_uint_eq(packet.my, 7);
}
END_TEST

START_TEST(a_sender_without_a_discriminator_is_dropped)
{
    struct bfd_packet packet;
    uint8_t bytes[BFD_PACKET_BYTES];

    memcpy(bytes, golden, sizeof bytes);
    memset(bytes + 4, 0, 4);
    ck_assert_int_eq(bfd_packet_decode(bytes, sizeof bytes, &packet), BFD_DROP_MY);
}
END_TEST

START_TEST(only_down_and_admin_down_may_not_know_our_discriminator)
{
    struct bfd_packet packet;
    uint8_t bytes[BFD_PACKET_BYTES];

    memcpy(bytes, golden, sizeof bytes);
    memset(bytes + 8, 0, 4);
    bytes[1] = (uint8_t)(_i << 6);
    ck_assert_int_eq(bfd_packet_decode(bytes, sizeof bytes, &packet),
                     _i == BFD_DOWN || _i == BFD_ADMIN_DOWN ? BFD_DROP_NONE : BFD_DROP_YOUR);
}
END_TEST

START_TEST(authentication_is_refused_and_bytes_behind_are_not)
{
    struct bfd_packet packet;
    uint8_t bytes[40] = {0};

    memcpy(bytes, golden, sizeof golden);
    ck_assert_int_eq(bfd_packet_decode(bytes, sizeof bytes, &packet), BFD_DROP_NONE);
    bytes[3] = sizeof bytes;
    ck_assert_int_eq(bfd_packet_decode(bytes, sizeof bytes, &packet), BFD_DROP_NONE);
    bytes[1] |= 0x04;
    ck_assert_int_eq(bfd_packet_decode(bytes, sizeof bytes, &packet), BFD_DROP_AUTH);
}
END_TEST

START_TEST(random_bytes_are_dropped_or_mean_what_they_say)
{
    struct hf_rng rng = hf_rng_seeded(5880);
    uint32_t used = 0;

    for (uint32_t n = 0; n < 200000; n++) {
        uint8_t bytes[BFD_PACKET_BYTES];
        uint8_t again[BFD_PACKET_BYTES];
        struct bfd_packet packet;

        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)hf_rng_next(&rng);
        /* Most of them plausible, or hardly any would pass. */
        if (hf_rng_permille(&rng, 900)) {
            bytes[0] = (uint8_t)(0x20 | (bytes[0] & 0x1f));
            bytes[1] &= 0xfa;
            bytes[3] = BFD_PACKET_BYTES;
        }
        if (bfd_packet_decode(bytes, sizeof bytes, &packet) != BFD_DROP_NONE)
            continue;
        used++;
        bfd_packet_encode(&packet, again);
        ck_assert_mem_eq(bytes, again, sizeof bytes);
    }
    ck_assert_uint_gt(used, 100000);
}
END_TEST

START_TEST(every_drop_has_a_name)
{
    ck_assert_str_ne(bfd_drop_name((enum bfd_drop)_i), "?");
    ck_assert_str_eq(bfd_drop_name(BFD_DROPS), "?");
}
END_TEST

START_TEST(a_packet_without_a_discriminator_is_not_written)
{
    struct bfd_packet packet = golden_packet;
    uint8_t bytes[BFD_PACKET_BYTES];

    packet.my = 0;
    bfd_packet_encode(&packet, bytes);
}
END_TEST

HF_TEST_MAIN("nicbond/bfd_packet", HF_CASE(a_known_packet_reads_and_writes_as_the_rfc_draws_it),
             HF_LOOP(a_packet_that_breaks_a_rule_is_dropped_by_that_rule, 0,
                     sizeof bads / sizeof bads[0]),
             HF_CASE(a_sender_without_a_discriminator_is_dropped),
             HF_LOOP(only_down_and_admin_down_may_not_know_our_discriminator, 0, BFD_STATES),
             HF_CASE(authentication_is_refused_and_bytes_behind_are_not),
             HF_CASE(random_bytes_are_dropped_or_mean_what_they_say),
             HF_LOOP(every_drop_has_a_name, 0, BFD_DROPS),
             HF_ABORTS(a_packet_without_a_discriminator_is_not_written))
