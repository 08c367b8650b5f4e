#include "supervisord/base/err.h"
#include "tests/unit/check.h"

#include <string.h>

START_TEST(set_keeps_code_and_text)
{
    struct hf_err err;

    ck_assert_int_eq(hf_err_set(&err, HF_EIO, "open %s: %d", "/x", 7), HF_EIO);
    ck_assert_int_eq(err.code, HF_EIO);
    ck_assert_str_eq(err.text, "open /x: 7");
}
END_TEST

START_TEST(wrap_prefixes_and_returns_the_code)
{
    struct hf_err err;

    hf_err_set(&err, HF_EIO, "open /dev/watchdog: busy");
    ck_assert_int_eq(hf_err_wrap(&err, "arm %s", "self-fence"), HF_EIO);
    ck_assert_int_eq(hf_err_wrap(&err, "start"), HF_EIO);
    ck_assert_str_eq(err.text, "start: arm self-fence: open /dev/watchdog: busy");
}
END_TEST

START_TEST(wrap_may_quote_the_text_it_wraps)
{
    struct hf_err err;

    hf_err_set(&err, HF_EBAD, "why");
    hf_err_wrap(&err, "[%s]", err.text);
    ck_assert_str_eq(err.text, "[why]: why");
}
END_TEST

START_TEST(a_long_text_is_cut_at_the_end)
{
    struct hf_err err;
    char long_text[1000];

    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    hf_err_set(&err, HF_EINVAL, "%s", long_text);
    ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
    hf_err_wrap(&err, "outer");
    ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
    ck_assert_int_eq(strncmp(err.text, "outer: xxx", 10), 0);
    hf_err_wrap(&err, "%s", long_text);
    ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
}
END_TEST

START_TEST(every_code_has_its_own_name)
{
    for (int a = 0; a < HF_CODES; a++) {
        ck_assert_str_ne(hf_code_name((enum hf_code)a), "unknown");
        for (int b = 0; b < a; b++)
            ck_assert_str_ne(hf_code_name((enum hf_code)a), hf_code_name((enum hf_code)b));
    }
    ck_assert_str_eq(hf_code_name(HF_CODES), "unknown");
    ck_assert_str_eq(hf_code_name((enum hf_code)250), "unknown");
    ck_assert_str_eq(hf_code_name(HF_EINVAL), "invalid");
    ck_assert_str_eq(hf_code_name(HF_EIO), "io");
}
END_TEST

HF_TEST_MAIN("base/err",
             HF_CASE(set_keeps_code_and_text),
             HF_CASE(wrap_prefixes_and_returns_the_code),
             HF_CASE(wrap_may_quote_the_text_it_wraps),
             HF_CASE(a_long_text_is_cut_at_the_end),
             HF_CASE(every_code_has_its_own_name))
