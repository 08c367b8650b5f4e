#include "supervisord/base/crc.h"
#include "supervisord/base/rng.h"
#include "tests/unit/check.h"

#include <string.h>

struct vector {
    uint8_t bytes[48];
    size_t len;
    uint32_t crc;
};

/* RFC 3720 appendix B.4, and the check value "123456789" of the CRC catalogue. The RFC prints the
 * bytes in the order they are sent: aa 36 91 8a is 0x8a9136aa. */
static struct vector vector(int i)
{
    static const uint8_t scsi_read[48] = {
        0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0,    0, 0,    0,    0, 0, 0, 0,
        0x14, 0,    0, 0, 0, 0, 4, 0, 0,    0, 0,    0x14, 0, 0, 0, 0x18,
        0x28, 0,    0, 0, 0, 0, 0, 0, 0x02, 0, 0,    0,    0, 0, 0, 0};
    struct vector v = {.len = 32};

    switch (i) {
    case 0:
        v.crc = 0x8a9136aa;
        break;
    case 1:
        memset(v.bytes, 0xff, 32);
        v.crc = 0x62a8ab43;
        break;
    case 2:
        for (uint8_t b = 0; b < 32; b++)
            v.bytes[b] = b;
        v.crc = 0x46dd794e;
        break;
    case 3:
        for (uint8_t b = 0; b < 32; b++)
            v.bytes[b] = (uint8_t)(31 - b);
        v.crc = 0x113fdb5c;
        break;
    case 4:
        memcpy(v.bytes, scsi_read, 48);
        v.len = 48;
        v.crc = 0xd9963a56;
        break;
    default:
        memcpy(v.bytes, "123456789", 9);
        v.len = 9;
        v.crc = 0xe3069283;
        break;
    }
    return v;
}
enum { VECTORS = 6 };

START_TEST(published_vectors_hold)
{
    struct vector v = vector(_i);

    ck_assert_uint_eq(hf_crc32c(0, v.bytes, v.len), v.crc);
    ck_assert_uint_eq(hf_crc32c_by_table(0, v.bytes, v.len), v.crc);
}
END_TEST

START_TEST(cuts_do_not_matter)
{
    struct vector v = vector(_i);

    for (size_t cut = 0; cut <= v.len; cut++) {
        uint32_t crc = hf_crc32c(0, v.bytes, cut);

        ck_assert_uint_eq(hf_crc32c(crc, v.bytes + cut, v.len - cut), v.crc);
    }
}
END_TEST

START_TEST(nothing_changes_nothing)
{
    ck_assert_uint_eq(hf_crc32c(0, NULL, 0), 0);
    ck_assert_uint_eq(hf_crc32c(0x1234, NULL, 0), 0x1234);
}
END_TEST

static uint32_t bit_by_bit(const uint8_t *bytes, size_t len)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

/* Every byte value meets every table entry, at every alignment, in both ways. */
START_TEST(instruction_table_and_definition_agree)
{
    struct hf_rng rng = hf_rng_seeded(1);
    uint8_t bytes[600];

    for (int round = 0; round < 500; round++) {
        size_t start = hf_rng_below(&rng, 9), len = hf_rng_below(&rng, 580);
        uint32_t wanted;

        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (uint8_t)hf_rng_next(&rng);
        wanted = bit_by_bit(bytes + start, len);
        ck_assert_uint_eq(hf_crc32c(0, bytes + start, len), wanted);
        ck_assert_uint_eq(hf_crc32c_by_table(0, bytes + start, len), wanted);
    }
}
END_TEST

HF_TEST_MAIN("base/crc",
             HF_LOOP(published_vectors_hold, 0, VECTORS),
             HF_LOOP(cuts_do_not_matter, 0, VECTORS),
             HF_CASE(nothing_changes_nothing),
             HF_CASE(instruction_table_and_definition_agree))
