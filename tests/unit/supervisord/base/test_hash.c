#include "supervisord/base/hash.h"
#include "tests/unit/check.h"

#include <string.h>

/* The values cross the wire between versions: they may only change with the ruleset version.
 * Computed by a separate program from the definition in hash.c. */
#define GOLDEN_A 0xfc63dc4c7a6230c0ULL
#define GOLDEN_8 0x3919eeb037f8083cULL
#define GOLDEN_21 0x4c86041dfc16c7f0ULL

START_TEST(nothing_changes_nothing)
{
    ck_assert_uint_eq(hf_hash(HF_HASH_START, NULL, 0), HF_HASH_START);
}
END_TEST

START_TEST(values_are_pinned)
{
    ck_assert_uint_eq(hf_hash(HF_HASH_START, "a", 1), GOLDEN_A);
    ck_assert_uint_eq(hf_hash(HF_HASH_START, "abcdefgh", 8), GOLDEN_8);
    ck_assert_uint_eq(hf_hash(HF_HASH_START, "holdfast keeps VMs up", 21), GOLDEN_21);
}
END_TEST

START_TEST(every_single_bit_matters)
{
    uint8_t bytes[41];
    uint64_t was;

    memset(bytes, 0, sizeof bytes);
    was = hf_hash(HF_HASH_START, bytes, sizeof bytes);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_uint_ne(hf_hash(HF_HASH_START, bytes, sizeof bytes), was);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}
END_TEST

/* Plain FNV over words fails this: the top bits of two words cancel out. */
START_TEST(two_bits_never_cancel)
{
    uint8_t bytes[24];
    uint64_t was;

    memset(bytes, 0, sizeof bytes);
    was = hf_hash(HF_HASH_START, bytes, sizeof bytes);
    for (size_t a = 0; a < 8 * sizeof bytes; a++) {
        bytes[a / 8] ^= (uint8_t)(1 << a % 8);
        for (size_t b = 0; b < a; b++) {
            bytes[b / 8] ^= (uint8_t)(1 << b % 8);
            ck_assert_uint_ne(hf_hash(HF_HASH_START, bytes, sizeof bytes), was);
            bytes[b / 8] ^= (uint8_t)(1 << b % 8);
        }
        bytes[a / 8] ^= (uint8_t)(1 << a % 8);
    }
}
END_TEST

START_TEST(length_matters)
{
    static const uint8_t zeros[32];

    for (size_t a = 0; a <= sizeof zeros; a++)
        for (size_t b = 0; b < a; b++)
            ck_assert_uint_ne(hf_hash(HF_HASH_START, zeros, a), hf_hash(HF_HASH_START, zeros, b));
}
END_TEST

START_TEST(alignment_does_not_matter)
{
    uint8_t bytes[64];

    for (size_t shift = 0; shift < 16; shift++) {
        memcpy(bytes + shift, "holdfast keeps VMs up", 21);
        ck_assert_uint_eq(hf_hash(HF_HASH_START, bytes + shift, 21), GOLDEN_21);
    }
}
END_TEST

HF_TEST_MAIN("base/hash",
             HF_CASE(nothing_changes_nothing),
             HF_CASE(values_are_pinned),
             HF_CASE(every_single_bit_matters),
             HF_CASE(two_bits_never_cancel),
             HF_CASE(length_matters),
             HF_CASE(alignment_does_not_matter))
