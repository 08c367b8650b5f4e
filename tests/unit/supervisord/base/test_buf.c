#include "supervisord/base/buf.h"
#include "tests/unit/check.h"

#include <string.h>

/* One of everything; SAMPLE_LEN bytes. */
static void put_sample(struct hf_writer *w)
{
    hf_put_u8(w, 0x01);
    hf_put_u16(w, 0x0302);
    hf_put_u32(w, 0x07060504);
    hf_put_u64(w, 0x0f0e0d0c0b0a0908);
    hf_put_bytes(w, "\x10\x11", 2);
    hf_put_str(w, "abc");
    hf_put_str(w, "");
}
enum { SAMPLE_LEN = 1 + 2 + 4 + 8 + 2 + 4 + 1 };
static const uint8_t sample[SAMPLE_LEN] = "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d"
                                          "\x0e\x0f\x10\x11\x03"
                                          "abc\x00";

START_TEST(fields_are_little_endian_in_order)
{
    uint8_t bytes[SAMPLE_LEN];
    struct hf_writer w = hf_writer_on(bytes, sizeof bytes);

    put_sample(&w);
    ck_assert(!w.bad);
    ck_assert_uint_eq(w.len, SAMPLE_LEN);
    ck_assert_mem_eq(bytes, sample, SAMPLE_LEN);
}
END_TEST

START_TEST(what_was_put_is_got)
{
    struct hf_reader r = hf_reader_on(sample, sizeof sample);
    uint8_t two[2];
    char text[4];

    ck_assert_uint_eq(hf_get_u8(&r), 0x01);
    ck_assert_uint_eq(hf_get_u16(&r), 0x0302);
    ck_assert_uint_eq(hf_get_u32(&r), 0x07060504);
    ck_assert_uint_eq(hf_get_u64(&r), 0x0f0e0d0c0b0a0908);
    hf_get_bytes(&r, two, 2);
    ck_assert_mem_eq(two, "\x10\x11", 2);
    hf_get_str(&r, text, sizeof text);
    ck_assert_str_eq(text, "abc");
    ck_assert(!hf_reader_ended(&r));
    hf_get_str(&r, text, sizeof text);
    ck_assert_str_eq(text, "");
    ck_assert(hf_reader_ended(&r));
}
END_TEST

START_TEST(measuring_counts_and_is_never_bad)
{
    struct hf_writer w = hf_writer_on(NULL, 0);

    put_sample(&w);
    ck_assert_uint_eq(w.len, SAMPLE_LEN);
    ck_assert(!w.bad);
}
END_TEST

/* _i: every capacity that is too small. */
START_TEST(a_full_writer_is_bad_and_stays_inside)
{
    uint8_t bytes[SAMPLE_LEN + 8];
    struct hf_writer w = hf_writer_on(bytes, (size_t)_i);

    memset(bytes, 0xee, sizeof bytes);
    put_sample(&w);
    ck_assert(w.bad);
    ck_assert_uint_eq(w.len, SAMPLE_LEN);
    for (size_t i = (size_t)_i; i < sizeof bytes; i++)
        ck_assert_uint_eq(bytes[i], 0xee);
}
END_TEST

START_TEST(after_a_field_that_did_not_fit_nothing_more_is_written)
{
    uint8_t bytes[4] = {0xee, 0xee, 0xee, 0xee};
    struct hf_writer w = hf_writer_on(bytes, sizeof bytes);

    hf_put_u8(&w, 1);
    hf_put_u64(&w, 2);
    hf_put_u8(&w, 3);
    ck_assert(w.bad);
    ck_assert_mem_eq(bytes, "\x01\xee\xee\xee", 4);
}
END_TEST

START_TEST(a_string_of_255_fits_and_one_of_256_is_our_mistake)
{
    char text[257];
    char back[256];
    uint8_t bytes[256];
    struct hf_writer w = hf_writer_on(bytes, sizeof bytes);
    struct hf_reader r = hf_reader_on(bytes, sizeof bytes);

    memset(text, 'x', sizeof text);
    text[255] = '\0';
    hf_put_str(&w, text);
    ck_assert(!w.bad);
    hf_get_str(&r, back, sizeof back);
    ck_assert(hf_reader_ended(&r));
    ck_assert_str_eq(back, text);
    text[255] = 'x';
    text[256] = '\0';
    hf_put_str(&w, text); /* aborts */
}
END_TEST

/* Reads the sample from its first `len` bytes; the reader after it. */
static struct hf_reader read_prefix(size_t len, bool *zeros_from_the_cut)
{
    uint8_t *bytes = malloc(len > 0 ? len : 1); /* exact, so that a sanitizer sees a read past it */
    struct hf_reader r;
    uint8_t two[2] = {9, 9};
    char text[4] = "zz";
    bool zero = true;

    ck_assert_ptr_nonnull(bytes);
    memcpy(bytes, sample, len);
    r = hf_reader_on(bytes, len);
    /* Each value is checked only if the reader was bad after it. */
#define ZERO_IF_BAD(value) (zero = (value) == 0 || !r.bad ? zero : false)
    ZERO_IF_BAD(hf_get_u8(&r));
    ZERO_IF_BAD(hf_get_u16(&r));
    ZERO_IF_BAD(hf_get_u32(&r));
    ZERO_IF_BAD(hf_get_u64(&r));
    hf_get_bytes(&r, two, 2);
    ZERO_IF_BAD(two[0] | two[1]);
    hf_get_str(&r, text, sizeof text);
    ZERO_IF_BAD(text[0]);
    hf_get_str(&r, text, sizeof text);
    ZERO_IF_BAD(text[0]);
#undef ZERO_IF_BAD
    free(bytes);
    *zeros_from_the_cut = zero;
    return r;
}

/* _i: every length that is too short. */
START_TEST(a_short_reader_is_bad_and_returns_zeros)
{
    bool zeros = false;
    struct hf_reader r = read_prefix((size_t)_i, &zeros);

    ck_assert(r.bad);
    ck_assert(zeros);
    ck_assert(!hf_reader_ended(&r));
}
END_TEST

START_TEST(a_bad_reader_stays_bad)
{
    struct hf_reader r = hf_reader_on("\x01\x02\x03", 3);
    uint8_t byte = 5;

    ck_assert_uint_eq(hf_get_u32(&r), 0);
    ck_assert_uint_eq(hf_get_u8(&r), 0);
    hf_get_bytes(&r, &byte, 1);
    ck_assert_uint_eq(byte, 0);
    ck_assert_uint_eq(hf_get_enum(&r, 200), 0);
    ck_assert(r.bad);
}
END_TEST

START_TEST(nothing_may_be_read_from_nothing)
{
    struct hf_reader r = hf_reader_on(NULL, 0);
    uint8_t byte = 5;

    hf_get_bytes(&r, NULL, 0);
    ck_assert(hf_reader_ended(&r));
    hf_get_bytes(&r, &byte, 1);
    ck_assert(r.bad);
    ck_assert_uint_eq(byte, 0);
}
END_TEST

START_TEST(a_reader_at_its_end_has_nothing_left)
{
    struct hf_reader r = hf_reader_on("ab", 2);
    uint8_t wanted[1];

    (void)hf_get_u8(&r);
    r.len = 1;
    hf_get_bytes(&r, wanted, 1);
    ck_assert(r.bad);
}
END_TEST

START_TEST(a_string_must_fit_its_place)
{
    char text[4] = "zzz";
    struct hf_reader fits = hf_reader_on("\x03"
                                         "abc",
                                         4);
    struct hf_reader too_long = hf_reader_on("\x04"
                                             "abcd",
                                             5);

    hf_get_str(&fits, text, sizeof text);
    ck_assert(!fits.bad);
    ck_assert_str_eq(text, "abc");
    hf_get_str(&too_long, text, sizeof text);
    ck_assert(too_long.bad);
    ck_assert_str_eq(text, "");
}
END_TEST

/* _i: every byte. Controls and NUL are refused, all else, UTF-8 included, passes. */
START_TEST(a_string_holds_no_controls)
{
    uint8_t bytes[4] = {3, 'a', (uint8_t)_i, 'b'};
    struct hf_reader r = hf_reader_on(bytes, sizeof bytes);
    char text[8] = "zz";
    bool is_control = _i < 0x20 || _i == 0x7f;

    hf_get_str(&r, text, sizeof text);
    ck_assert_int_eq(r.bad, is_control);
    ck_assert_uint_eq(strlen(text), is_control ? 0 : 3);
}
END_TEST

START_TEST(an_enum_is_below_its_limit)
{
    struct hf_reader r = hf_reader_on("\x00\x04\x05", 3);

    ck_assert_uint_eq(hf_get_enum(&r, 5), 0);
    ck_assert_uint_eq(hf_get_enum(&r, 5), 4);
    ck_assert(!r.bad);
    ck_assert_uint_eq(hf_get_enum(&r, 5), 0);
    ck_assert(r.bad);
}
END_TEST

START_TEST(bytes_left_over_are_not_an_end)
{
    struct hf_reader r = hf_reader_on("ab", 2);

    ck_assert_uint_eq(hf_get_u8(&r), 'a');
    ck_assert(!hf_reader_ended(&r));
    ck_assert_uint_eq(hf_get_u8(&r), 'b');
    ck_assert(hf_reader_ended(&r));
}
END_TEST

HF_TEST_MAIN("base/buf",
             HF_CASE(fields_are_little_endian_in_order),
             HF_CASE(what_was_put_is_got),
             HF_CASE(measuring_counts_and_is_never_bad),
             HF_LOOP(a_full_writer_is_bad_and_stays_inside, 0, SAMPLE_LEN),
             HF_CASE(after_a_field_that_did_not_fit_nothing_more_is_written),
             HF_ABORTS(a_string_of_255_fits_and_one_of_256_is_our_mistake),
             HF_LOOP(a_short_reader_is_bad_and_returns_zeros, 0, SAMPLE_LEN),
             HF_CASE(a_bad_reader_stays_bad),
             HF_CASE(nothing_may_be_read_from_nothing),
             HF_CASE(a_reader_at_its_end_has_nothing_left),
             HF_CASE(a_string_must_fit_its_place),
             HF_LOOP(a_string_holds_no_controls, 0, 256),
             HF_CASE(an_enum_is_below_its_limit),
             HF_CASE(bytes_left_over_are_not_an_end))
