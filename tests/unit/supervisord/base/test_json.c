#include "supervisord/base/json.h"
#include "supervisord/base/rng.h"
#include "tests/unit/check.h"

#include <string.h>

static void write_sample(struct hf_json *j)
{
    hf_json_object(j, NULL);
    hf_json_str(j, "vm", "mq-1");
    hf_json_u64(j, "seq", UINT64_MAX);
    hf_json_i64(j, "low", INT64_MIN);
    hf_json_array(j, "legs");
    hf_json_object(j, NULL);
    hf_json_bool(j, "up", true);
    hf_json_end_object(j);
    hf_json_object(j, NULL);
    hf_json_end_object(j);
    hf_json_i64(j, NULL, -7);
    hf_json_array(j, NULL);
    hf_json_end_array(j);
    hf_json_end_array(j);
    hf_json_null(j, "home");
    hf_json_bool(j, "armed", false);
    hf_json_str(j, "why", NULL);
    hf_json_end_object(j);
}
static const char sample[] =
    "{\"vm\":\"mq-1\",\"seq\":18446744073709551615,\"low\":-9223372036854775808,"
    "\"legs\":[{\"up\":true},{},-7,[]],\"home\":null,\"armed\":false,\"why\":null}";

START_TEST(everything_is_written_in_its_place)
{
    char out[400];
    struct hf_json j = hf_json_on(out, sizeof out);

    write_sample(&j);
    ck_assert(hf_json_complete(&j));
    ck_assert_str_eq(out, sample);
    ck_assert_uint_eq(j.len, sizeof sample - 1);
}
END_TEST

/* _i: every capacity that is too small. */
START_TEST(what_does_not_fit_is_full_and_stays_inside)
{
    char out[400];
    struct hf_json j = hf_json_on(out, (size_t)_i);

    memset(out + 1, 0x7e, sizeof out - 1);
    write_sample(&j);
    ck_assert(j.full);
    ck_assert(!hf_json_complete(&j));
    ck_assert_uint_lt(strlen(out), (size_t)_i);
    for (size_t i = (size_t)_i; i < sizeof out; i++)
        ck_assert_int_eq(out[i], 0x7e);
}
END_TEST

START_TEST(the_exact_capacity_is_enough)
{
    char out[sizeof sample];
    struct hf_json j = hf_json_on(out, sizeof out);

    write_sample(&j);
    ck_assert(hf_json_complete(&j));
    ck_assert_str_eq(out, sample);
}
END_TEST

static const char *quoted(const char *text, char *out, size_t cap)
{
    struct hf_json j = hf_json_on(out, cap);

    hf_json_str(&j, NULL, text);
    ck_assert(hf_json_complete(&j));
    return out;
}

START_TEST(strings_are_escaped)
{
    char out[200];

    ck_assert_str_eq(quoted("", out, sizeof out), "\"\"");
    ck_assert_str_eq(quoted("a\"b\\c/d", out, sizeof out), "\"a\\\"b\\\\c/d\"");
    ck_assert_str_eq(quoted("\n\r\t\b\f\x01\x1f\x7f", out, sizeof out),
                     "\"\\n\\r\\t\\u0008\\u000c\\u0001\\u001f\\u007f\"");
    ck_assert_str_eq(quoted("</script><!--", out, sizeof out),
                     "\"\\u003c/script>\\u003c!--\"");
    ck_assert_str_eq(quoted("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x8e\x89", out, sizeof out),
                     "\"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x8e\x89\"");
}
END_TEST

START_TEST(bytes_that_are_not_utf8_become_the_replacement_character)
{
    char out[200];

    ck_assert_str_eq(quoted("a\xff"
                            "b\x80\xc3",
                            out, sizeof out),
                     "\"a\xef\xbf\xbd"
                     "b\xef\xbf\xbd\xef\xbf\xbd\"");
    ck_assert_str_eq(quoted("\xed\xa0\x80", out, sizeof out),
                     "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}
END_TEST

START_TEST(an_open_container_is_not_complete)
{
    char out[50];
    struct hf_json j = hf_json_on(out, sizeof out);

    ck_assert(!hf_json_complete(&j));
    hf_json_array(&j, NULL);
    ck_assert(!hf_json_complete(&j));
    hf_json_end_array(&j);
    ck_assert(hf_json_complete(&j));
}
END_TEST

START_TEST(nesting_goes_as_deep_as_promised)
{
    char out[2 * HF_JSON_DEPTH_MAX + 1];
    struct hf_json j = hf_json_on(out, sizeof out);

    for (int i = 0; i < HF_JSON_DEPTH_MAX; i++)
        hf_json_array(&j, NULL);
    for (int i = 0; i < HF_JSON_DEPTH_MAX; i++)
        hf_json_end_array(&j);
    ck_assert(hf_json_complete(&j));
    ck_assert_uint_eq(j.len, 2 * HF_JSON_DEPTH_MAX);
}
END_TEST

START_TEST(one_deeper_is_our_mistake)
{
    char out[200];
    struct hf_json j = hf_json_on(out, sizeof out);

    for (int i = 0; i <= HF_JSON_DEPTH_MAX; i++)
        hf_json_array(&j, NULL);
}
END_TEST

START_TEST(a_key_in_an_array_is_our_mistake)
{
    char out[50];
    struct hf_json j = hf_json_on(out, sizeof out);

    hf_json_array(&j, NULL);
    hf_json_null(&j, "key");
}
END_TEST

START_TEST(a_value_without_a_key_in_an_object_is_our_mistake)
{
    char out[50];
    struct hf_json j = hf_json_on(out, sizeof out);

    hf_json_object(&j, NULL);
    hf_json_null(&j, NULL);
}
END_TEST

START_TEST(a_second_value_at_the_top_is_our_mistake)
{
    char out[50];
    struct hf_json j = hf_json_on(out, sizeof out);

    hf_json_null(&j, NULL);
    hf_json_null(&j, NULL);
}
END_TEST

START_TEST(closing_an_array_as_an_object_is_our_mistake)
{
    char out[50];
    struct hf_json j = hf_json_on(out, sizeof out);

    hf_json_array(&j, NULL);
    hf_json_end_object(&j);
}
END_TEST

START_TEST(closing_nothing_is_our_mistake)
{
    char out[50];
    struct hf_json j = hf_json_on(out, sizeof out);

    hf_json_end_array(&j);
}
END_TEST

/* A later object at the same depth starts without a comma, a later array takes no keys. */
START_TEST(a_depth_used_twice_starts_anew)
{
    char out[100];
    struct hf_json j = hf_json_on(out, sizeof out);

    hf_json_array(&j, NULL);
    hf_json_object(&j, NULL);
    hf_json_u64(&j, "a", 0);
    hf_json_end_object(&j);
    hf_json_array(&j, NULL);
    hf_json_u64(&j, NULL, 10);
    hf_json_u64(&j, NULL, 2);
    hf_json_end_array(&j);
    hf_json_end_array(&j);
    ck_assert_str_eq(out, "[{\"a\":0},[10,2]]");
}
END_TEST

/* Random bytes in strings, read by somebody else's reader. */
START_TEST(another_program_can_read_it)
{
    static char out[200000];
    struct hf_json j = hf_json_on(out, sizeof out);
    struct hf_rng rng = hf_rng_seeded(11);
    FILE *reader;

    hf_json_array(&j, NULL);
    write_sample(&j);
    for (int i = 0; i < 1000; i++) {
        char text[21];
        size_t len = hf_rng_below(&rng, sizeof text);

        for (size_t k = 0; k < len; k++)
            text[k] = (char)hf_rng_between(&rng, 1, 255);
        text[len] = '\0';
        hf_json_str(&j, NULL, text);
    }
    hf_json_end_array(&j);
    ck_assert(hf_json_complete(&j));

    reader = popen("python3 -c 'import json,sys; d=json.loads(sys.stdin.buffer.read().decode("
                   "\"utf-8\",\"strict\")); sys.exit(0 if len(d)==1001 and "
                   "d[0][\"low\"]==-2**63 and d[0][\"seq\"]==2**64-1 else 1)'",
                   "w");
    ck_assert_ptr_nonnull(reader);
    ck_assert_uint_eq(fwrite(out, 1, j.len, reader), j.len);
    ck_assert_int_eq(pclose(reader), 0);
}
END_TEST

HF_TEST_MAIN("base/json",
             HF_CASE(everything_is_written_in_its_place),
             HF_LOOP(what_does_not_fit_is_full_and_stays_inside, 1, sizeof sample),
             HF_CASE(the_exact_capacity_is_enough),
             HF_CASE(strings_are_escaped),
             HF_CASE(bytes_that_are_not_utf8_become_the_replacement_character),
             HF_CASE(an_open_container_is_not_complete),
             HF_CASE(nesting_goes_as_deep_as_promised),
             HF_ABORTS(one_deeper_is_our_mistake),
             HF_ABORTS(a_key_in_an_array_is_our_mistake),
             HF_ABORTS(a_value_without_a_key_in_an_object_is_our_mistake),
             HF_ABORTS(a_second_value_at_the_top_is_our_mistake),
             HF_ABORTS(closing_an_array_as_an_object_is_our_mistake),
             HF_ABORTS(closing_nothing_is_our_mistake),
             HF_CASE(a_depth_used_twice_starts_anew),
             HF_CASE(another_program_can_read_it))
