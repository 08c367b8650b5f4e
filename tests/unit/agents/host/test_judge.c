#include "agents/host/judge.h"

#include "tests/unit/check.h"

static const struct hf_report_host calm = {.boot = {{1}},
                                           .memory_mib = 8000,
                                           .available_mib = 6000,
                                           .cores = 8,
                                           .psi_cpu_centi = 0,
                                           .psi_memory_centi = UINT32_MAX,
                                           .psi_io_centi = 10,
                                           .clock_synchronised = true};

static enum judge_host_word after(struct hf_report_host sample, int64_t ms)
{
    struct judge_host history = {.has_told = true, .told_at = {0}, .told = calm};

    return judge_host(&history, &sample, hf_time_add_ms((hf_time){0}, ms));
}

START_TEST(quiet_until_the_period_then_a_report)
{
    struct judge_host nothing = {.has_told = false};

    ck_assert_int_eq(judge_host(&nothing, &calm, (hf_time){0}), JUDGE_HOST_FIRST);
    ck_assert_int_eq(after(calm, JUDGE_HOST_PERIOD_MS - 1), JUDGE_HOST_QUIET);
    ck_assert_int_eq(after(calm, JUDGE_HOST_PERIOD_MS), JUDGE_HOST_PERIOD);
}
END_TEST

START_TEST(what_matters_is_told_at_once_and_the_rest_is_not)
{
    struct hf_report_host s = calm;

    s.memory_mib = 4000;
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_SIZE);
    s = calm;
    s.boot.id[0] = 2;
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_SIZE);
    s = calm;
    s.hardware = 7;
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_SIZE);
    s = calm;
    s.clock_synchronised = false;
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_CLOCK);
    s = calm;
    s.psi_io_centi = JUDGE_HOST_PSI_CENTI;
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_PRESSURE);
    s = calm;
    s.psi_memory_centi = 0; /* known now, and low */
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_QUIET);
    s = calm;
    s.available_mib = 5000;
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_MEMORY);
    s.available_mib = 5001;
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_QUIET);
    s = calm;
    s.load_centi = 10000;
    s.boottime_ns = 1;
    ck_assert_int_eq(after(s, 1), JUDGE_HOST_QUIET);
}
END_TEST

HF_TEST_MAIN("agents/host/judge", HF_CASE(quiet_until_the_period_then_a_report),
             HF_CASE(what_matters_is_told_at_once_and_the_rest_is_not))
