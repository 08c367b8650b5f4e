#include "supervisord/ctl/cmd.h"
#include "supervisord/model/names.h"
#include "tests/unit/check.h"

#include <string.h>
#include <time.h>

START_TEST(ages_are_short_and_never_negative)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {{-5, "0 s"},          {950, "0 s"},     {119999, "119 s"},   {120000, "2 min"},
                 {7199999, "119 min"}, {7200000, "2 h"}, {172799999, "47 h"}, {172800000, "2 d"}};
    char text[24];

    cmd_age(cases[_i].ms, text);
    ck_assert_str_eq(text, cases[_i].text);
}
END_TEST

START_TEST(sizes_come_and_go)
{
    static const struct {
        uint64_t mib;
        const char *text;
    } shown[] = {{512, "512 MiB"}, {1536, "1.5 GiB"}, {262144, "256 GiB"}, {102500, "100 GiB"}};
    char text[24];
    uint32_t mib = 0;

    for (unsigned i = 0; i < 4; i++) {
        cmd_mib(shown[i].mib, text);
        ck_assert_str_eq(text, shown[i].text);
    }
    ck_assert(cmd_to_mib("512MiB", &mib) && mib == 512);
    ck_assert(cmd_to_mib("16g", &mib) && mib == 16384);
    ck_assert(cmd_to_mib("4095TiB", &mib) && mib == 4095u * 1048576u);
    ck_assert(!cmd_to_mib("16", &mib));
    ck_assert(!cmd_to_mib("0G", &mib));
    ck_assert(!cmd_to_mib("4096TiB", &mib));
    ck_assert(!cmd_to_mib("99999999999999999999G", &mib));
    ck_assert(!cmd_to_mib("G", &mib));
    ck_assert(!cmd_to_mib("-1G", &mib));
}
END_TEST

START_TEST(another_day_shows_its_date)
{
    char text[40];

    setenv("TZ", "UTC0", 1);
    cmd_clock("2026-11-30T09:31:07.123456789Z", "2026-11-30T10:00:00Z", true, text);
    ck_assert_str_eq(text, "09:31:07.123");
    cmd_clock("2026-11-29T09:31:07.123456789Z", "2026-11-30T10:00:00Z", false, text);
    ck_assert_str_eq(text, "2026-11-29 09:31:07");
    cmd_clock("yesterday", "2026-11-30T10:00:00Z", false, text);
    ck_assert_str_eq(text, "?");
    setenv("TZ", "CST-8", 1);
    tzset();
    cmd_clock("2026-11-30T09:31:07Z", "2026-11-30T10:00:00Z", false, text);
    ck_assert_str_eq(text, "17:31:07");
}
END_TEST

START_TEST(every_state_has_a_colour)
{
    for (int i = 0; i < HF_NODE_STATES; i++)
        ck_assert_int_ne(cmd_state_style(hf_node_state_name((enum hf_node_state)i)), TABLE_PLAIN);
    for (int i = 0; i < HF_VM_STATES; i++)
        ck_assert_int_ne(cmd_state_style(hf_vm_state_name((enum hf_vm_state)i)), TABLE_PLAIN);
}
END_TEST

HF_TEST_MAIN("ctl/cmd_text", HF_LOOP(ages_are_short_and_never_negative, 0, 8),
             HF_CASE(sizes_come_and_go), HF_CASE(another_day_shows_its_date),
             HF_CASE(every_state_has_a_colour))
