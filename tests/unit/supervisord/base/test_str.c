#include "supervisord/base/str.h"
#include "supervisord/base/rng.h"
#include "tests/unit/check.h"

#include <string.h>

START_TEST(copy_ends_and_tells_a_cut)
{
    char out[4];

    ck_assert(hf_str_copy(out, sizeof out, ""));
    ck_assert_str_eq(out, "");
    ck_assert(hf_str_copy(out, sizeof out, "abc"));
    ck_assert_str_eq(out, "abc");
    ck_assert(!hf_str_copy(out, sizeof out, "abcd"));
    ck_assert_str_eq(out, "abc");
    ck_assert(!hf_str_copy(out, 1, "a"));
    ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(copy_to_nowhere_is_our_mistake)
{
    char out[1] = "";

    (void)hf_str_copy(out, 0, "");
}
END_TEST

START_TEST(names_are_plain)
{
    static const char *const good[] = {"a", "Z", "0", "node-1", "vm_2.lab", "a--__..", "0a"};
    static const char *const bad[] = {"",    "-a",  ".a",  "_a",   "a b",      "a/b",
                                      "a%b", "a\n", "a\"", "a\\b", "\xc3\xa4", "a\xc3\xa4"};

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_msg(hf_str_is_name(good[i], 31), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!hf_str_is_name(bad[i], 31), "%s", bad[i]);
}
END_TEST

/* _i: every byte, second in the name. */
START_TEST(only_these_bytes_make_a_name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    char text[] = {'a', (char)_i, 'a', '\0'};

    ck_assert_int_eq(hf_str_is_name(text, 31), strchr(allowed, _i) != NULL);
}
END_TEST

START_TEST(a_name_has_at_most_max_characters)
{
    ck_assert(hf_str_is_name("abcd", 4));
    ck_assert(!hf_str_is_name("abcde", 4));
    ck_assert(!hf_str_is_name("a", 0));
}
END_TEST

START_TEST(what_is_made_printable_steers_no_terminal)
{
    char text[] = "a ~\x1b[2J\n\x7f\xc3\xa9\x80\xff.";

    hf_str_make_printable(text);
    ck_assert_str_eq(text, "a ~?[2J??????.");
    text[0] = '\0';
    hf_str_make_printable(text);
    ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(decimals_are_read_up_to_max)
{
    uint64_t v = 7;

    ck_assert(hf_str_to_u64("0", 0, &v));
    ck_assert_uint_eq(v, 0);
    ck_assert(hf_str_to_u64("007", 10, &v));
    ck_assert_uint_eq(v, 7);
    ck_assert(hf_str_to_u64("65535", 65535, &v));
    ck_assert_uint_eq(v, 65535);
    ck_assert(hf_str_to_u64("18446744073709551615", UINT64_MAX, &v));
    ck_assert_uint_eq(v, UINT64_MAX);
}
END_TEST

START_TEST(what_is_no_decimal_or_too_large_is_refused)
{
    static const char *const bad[] = {"",    "-1",  "+1",  " 1",  "1 ",    "1a",
                                      "0x1", "1.0", "1e3", "100", "10000", "18446744073709551616"};
    uint64_t v = 42;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!hf_str_to_u64(bad[i], 99, &v), "%s", bad[i]);
    ck_assert(!hf_str_to_u64("18446744073709551616", UINT64_MAX, &v));
    ck_assert(!hf_str_to_u64("99999999999999999999999999", UINT64_MAX, &v));
    ck_assert(!hf_str_to_u64("1", 0, &v));
    ck_assert_uint_eq(v, 42);
}
END_TEST

struct duration {
    const char *text;
    uint64_t ms;
    const char *shown;
};
static const struct duration durations[] = {
    {"0s", 0, "0s"},
    {"0ms", 0, "0s"},
    {"1ms", 1, "1ms"},
    {"250ms", 250, "250ms"},
    {"5s", 5000, "5s"},
    {"1500ms", 1500, "1500ms"},
    {"60s", 60000, "1min"},
    {"3min", 180000, "3min"},
    {"90min", 5400000, "90min"},
    {"2h", 7200000, "2h"},
    {"48h", 172800000, "48h"},
    {"18446744073709551615ms", UINT64_MAX, "18446744073709551615ms"},
    {"5124095576030h", 5124095576030 * 3600000ULL, "5124095576030h"},
};
enum { DURATIONS = sizeof durations / sizeof durations[0] };

START_TEST(a_hex_digit_has_its_value)
{
    static const char digits[] = "0123456789abcdef";

    for (int c = -128; c < 128; c++) {
        const char *at = c > 0 ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

        ck_assert_int_eq(hf_str_hex_digit((char)c), at != NULL ? (int)(at - digits) : -1);
    }
}
END_TEST

START_TEST(durations_go_there_and_back)
{
    char shown[24];
    uint64_t ms = 1;

    ck_assert(hf_str_to_ms(durations[_i].text, &ms));
    ck_assert_uint_eq(ms, durations[_i].ms);
    hf_str_from_ms(ms, shown);
    ck_assert_str_eq(shown, durations[_i].shown);
    ck_assert(hf_str_to_ms(shown, &ms));
    ck_assert_uint_eq(ms, durations[_i].ms);
}
END_TEST

START_TEST(a_duration_without_its_unit_is_refused)
{
    static const char *const bad[] = {"",     "5",   "s",   "ms",  "5 s", " 5s", "5s ",
                                      "-5s",  "+5s", "5S",  "5m",  "5d",  "5sec", "1.5s",
                                      "1h5s", "5mss", "18446744073709551616ms",
                                      "18446744073709551615s", "5124095576031h"};
    uint64_t ms = 42;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!hf_str_to_ms(bad[i], &ms), "%s", bad[i]);
    ck_assert_uint_eq(ms, 42);
}
END_TEST

START_TEST(every_duration_is_read_back_as_shown)
{
    struct hf_rng rng = hf_rng_seeded(1);

    for (int i = 0; i < 20000; i++) {
        uint64_t ms = hf_rng_next(&rng) >> hf_rng_below(&rng, 64);
        uint64_t back = 0;
        char shown[24];

        hf_str_from_ms(ms, shown);
        ck_assert(hf_str_to_ms(shown, &back));
        ck_assert_uint_eq(back, ms);
    }
}
END_TEST

START_TEST(distance_counts_edits)
{
    ck_assert_uint_eq(hf_str_distance("", ""), 0);
    ck_assert_uint_eq(hf_str_distance("abc", "abc"), 0);
    ck_assert_uint_eq(hf_str_distance("", "abc"), 3);
    ck_assert_uint_eq(hf_str_distance("abc", ""), 3);
    ck_assert_uint_eq(hf_str_distance("kitten", "sitting"), 3);
    ck_assert_uint_eq(hf_str_distance("sitting", "kitten"), 3);
    ck_assert_uint_eq(hf_str_distance("saturday", "sunday"), 3);
    ck_assert_uint_eq(hf_str_distance("priorty", "priority"), 1);
    ck_assert_uint_eq(hf_str_distance("ab", "ba"), 2);
}
END_TEST

START_TEST(distance_ends_at_63_characters)
{
    char a[65], b[65];

    memset(a, 'a', sizeof a);
    memset(b, 'b', sizeof b);
    a[63] = b[63] = '\0';
    ck_assert_uint_eq(hf_str_distance(a, a), 0);
    ck_assert_uint_eq(hf_str_distance(a, b), 63);
    a[63] = 'a';
    a[64] = '\0';
    ck_assert_uint_eq(hf_str_distance(a, a), HF_STR_FAR);
    ck_assert_uint_eq(hf_str_distance(a, ""), HF_STR_FAR);
    ck_assert_uint_eq(hf_str_distance("", a), HF_STR_FAR);
}
END_TEST

/* Encodes what may be encoded; the length, 0 for surrogates. */
static size_t encode(uint32_t c, char out[5])
{
    memset(out, 0, 5);
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return c >= 0xd800 && c < 0xe000 ? 0 : 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

START_TEST(every_character_is_utf8_and_none_of_its_beginnings)
{
    char bytes[5];

    for (uint32_t c = 1; c <= 0x10ffff; c++) {
        size_t len = encode(c, bytes);

        if (hf_str_utf8(bytes) != len)
            ck_abort_msg("U+%04X: %zu", c, hf_str_utf8(bytes));
        for (size_t cut = 1; cut < len; cut++) {
            bytes[len - cut] = '\0';
            if (hf_str_utf8(bytes) != 0)
                ck_abort_msg("U+%04X cut by %zu", c, cut);
        }
    }
}
END_TEST

START_TEST(what_is_not_utf8_is_told)
{
    static const char *const bad[] = {
        "",
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xe0\x80\x80",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "\xc3"
        "a",
        "\xe2\x82"
        "a",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(hf_str_utf8(bad[i]) == 0, "%zu", i);
    ck_assert_uint_eq(hf_str_utf8("\xe2\x82\xac rest"), 3);
}
END_TEST

START_TEST(versions_are_compared_as_numbers)
{
    static const struct {
        const char *text;
        bool is_from_3_1_6;
    } cases[] = {
        {"3.1.6", true},        {"3.1.7", true}, {"3.1.7.4-ab12", true},
        {"3.1.10", true},       {"3.2", true},   {"4", true},
        {"3.10.0", true},       {"3.1.5", false}, {"3.1", false},
        {"3", false},           {"2.9.9", false}, {"", false},
        {"v3.1.7", false},      {".3.1.7", false}, {"3..7", false},
        {"-3.1.7", false},      {"99999999999999999999999.0.0", true},
        {"3.1.99999999999999999999999999", true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(hf_str_is_version_from(cases[i].text, 3, 1, 6) == cases[i].is_from_3_1_6,
                      "%s", cases[i].text);
}
END_TEST

HF_TEST_MAIN("base/str",
             HF_CASE(copy_ends_and_tells_a_cut),
             HF_ABORTS(copy_to_nowhere_is_our_mistake),
             HF_CASE(names_are_plain),
             HF_LOOP(only_these_bytes_make_a_name, 1, 256),
             HF_CASE(a_name_has_at_most_max_characters),
             HF_CASE(what_is_made_printable_steers_no_terminal),
             HF_CASE(decimals_are_read_up_to_max),
             HF_CASE(what_is_no_decimal_or_too_large_is_refused),
             HF_LOOP(durations_go_there_and_back, 0, DURATIONS),
             HF_CASE(a_hex_digit_has_its_value), HF_CASE(a_duration_without_its_unit_is_refused),
             HF_CASE(every_duration_is_read_back_as_shown),
             HF_CASE(distance_counts_edits),
             HF_CASE(distance_ends_at_63_characters),
             HF_CASE(every_character_is_utf8_and_none_of_its_beginnings),
             HF_CASE(what_is_not_utf8_is_told),
             HF_CASE(versions_are_compared_as_numbers))
