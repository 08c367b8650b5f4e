#include "supervisord/config/findings.h"

#include <string.h>

#include "tests/unit/check.h"

static struct findings list;

static void set_up(void)
{
    list.count = 0;
}

static void tear_down(void)
{
}

START_TEST(a_finding_has_its_severity_key_and_text)
{
    findings_add(&list, FINDING_RISK, "nic_a", "%s has %u VFs", "ens1f0", 8u);
    findings_add(&list, FINDING_ADVICE, "sfc", "%s", "old");
    ck_assert_uint_eq(list.count, 2);
    ck_assert_int_eq((int)list.finding[0].severity, FINDING_RISK);
    ck_assert_str_eq(list.finding[0].key, "nic_a");
    ck_assert_str_eq(list.finding[0].text, "ens1f0 has 8 VFs");
    ck_assert_str_eq(list.finding[1].text, "old");
}
END_TEST

START_TEST(nothing_of_others_steers_a_terminal)
{
    findings_add(&list, FINDING_RISK, "totem.keyfile", "there is no %s", "/etc/\x1b]0;x\x07\n\xff");
    ck_assert_str_eq(list.finding[0].text, "there is no /etc/?]0;x???");
}
END_TEST

START_TEST(what_is_too_long_is_cut_and_ends)
{
    char text[2 * FINDING_TEXT_MAX], key[2 * FINDING_KEY_MAX];

    memset(text, 't', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    findings_add(&list, FINDING_ADVICE, key, "%s", text);
    ck_assert_uint_eq(strlen(list.finding[0].text), FINDING_TEXT_MAX);
    ck_assert_uint_eq(strlen(list.finding[0].key), FINDING_KEY_MAX);
}
END_TEST

START_TEST(a_full_list_takes_no_more)
{
    for (unsigned i = 0; i < FINDINGS_MAX; i++)
        findings_add(&list, FINDING_ADVICE, "x", "%u", i);
    ck_assert_uint_eq(list.count, FINDINGS_MAX);
    findings_add(&list, FINDING_UNFIT, "y", "one more");
    ck_assert_uint_eq(list.count, FINDINGS_MAX);
    ck_assert_str_eq(list.finding[FINDINGS_MAX - 1].key, "x");
}
END_TEST

START_TEST(more_than_advice_is_bad)
{
    ck_assert(!findings_are_bad(&list));
    findings_add(&list, FINDING_ADVICE, "x", "x");
    ck_assert(!findings_are_bad(&list));
    findings_add(&list, _i == 0 ? FINDING_RISK : FINDING_UNFIT, "x", "x");
    findings_add(&list, FINDING_ADVICE, "x", "x");
    ck_assert(findings_are_bad(&list));
}
END_TEST

START_TEST(every_severity_has_a_name_of_its_own)
{
    ck_assert_str_eq(finding_severity_name(FINDING_ADVICE), "advice");
    ck_assert_str_eq(finding_severity_name(FINDING_RISK), "risk");
    ck_assert_str_eq(finding_severity_name(FINDING_UNFIT), "refused");
    ck_assert_str_eq(finding_severity_name(FINDING_SEVERITIES), "?");
}
END_TEST

HF_TEST_MAIN_WITH("config/findings", set_up, tear_down,
                  HF_CASE(a_finding_has_its_severity_key_and_text),
                  HF_CASE(nothing_of_others_steers_a_terminal),
                  HF_CASE(what_is_too_long_is_cut_and_ends), HF_CASE(a_full_list_takes_no_more),
                  HF_LOOP(more_than_advice_is_bad, 0, 2),
                  HF_CASE(every_severity_has_a_name_of_its_own))
