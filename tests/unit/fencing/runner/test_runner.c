#include "tests/unit/fencing/runner/daemon.h"

START_TEST(it_says_hello_first)
{
    struct hf_report report;

    ck_assert(receive(&report));
    ck_assert_int_eq(report.kind, HF_REPORT_HELLO);
    ck_assert_int_eq(report.u.hello.agent, HF_AGENT_FENCE);
    ck_assert_uint_eq(report.u.hello.pid, (uint32_t)getpid());
}
END_TEST

START_TEST(a_fenced_node_is_off_and_told_phase_by_phase)
{
    struct hf_report report;

    order("n1", 0, 7, 10000, agents_of("fence_ok", "fence_ok"));
    report = wait_for(HF_REPORT_PROGRESS);
    ck_assert_int_eq(report.u.progress.phase, HF_PROGRESS_FENCE_RUNNING);
    ck_assert_uint_gt(report.u.progress.pid, 1);
    report = wait_for(HF_REPORT_PROGRESS);
    ck_assert_int_eq(report.u.progress.phase, HF_PROGRESS_FENCE_OFF);
    ck_assert_int_eq(outcome_of(7), HF_OUT_DONE);
    ck_assert_str_eq(world_read("plug"), "off\n");
    ck_assert_ptr_nonnull(strstr(world_read("record"), "stdin: password=hunter2\n"));
}
END_TEST

struct row {
    const char *agent;
    enum hf_outcome outcome;
    const char *plug;
};

static const struct row rows[] = {
    {"fence_ok", HF_OUT_DONE, "off\n"},      {"fence_slow", HF_OUT_DONE, "off\n"},
    {"fence_alreadyoff", HF_OUT_DONE, "on"}, {"fence_lagging", HF_OUT_DONE, "off\n"},
    {"fence_lie", HF_OUT_GAVE_UP, "on"},     {"fence_noeffect", HF_OUT_GAVE_UP, "on"},
    {"fence_login", HF_OUT_GAVE_UP, "on"},   {"fence_flood", HF_OUT_GAVE_UP, "on"},
    {"fence_hang", HF_OUT_GAVE_UP, "on"},    {"fence_badargs", HF_OUT_GAVE_UP, "off\n"},
    {"fence_absent", HF_OUT_REFUSED, "on"},
};

START_TEST(only_a_device_that_reads_off_is_done)
{
    order("n1", 0, 1, 3000, agents_of(rows[_i].agent, "fence_ok"));
    ck_assert_int_eq(outcome_of(1), rows[_i].outcome);
    ck_assert_str_eq(world_read("plug"), rows[_i].plug);
}
END_TEST

START_TEST(a_level_with_two_feeds_needs_both)
{
    order("n1", 1, 1, 10000, agents_of("fence_ok", "fence_ok"));
    ck_assert_int_eq(outcome_of(1), HF_OUT_DONE);
    ck_assert_str_eq(world_read("plug"), "off\n");
    ck_assert_str_eq(world_read("plug2"), "off\n");
    order("n1", 1, 2, 10000, agents_of("fence_ok", "fence_noeffect"));
    world_write("plug2", "on");
    ck_assert_int_eq(outcome_of(2), HF_OUT_GAVE_UP);
}
END_TEST

START_TEST(what_the_configuration_does_not_know_is_refused)
{
    order("n9", 0, 1, 5000, agents_of("fence_ok", "fence_ok"));
    ck_assert_int_eq(outcome_of(1), HF_OUT_REFUSED);
    order("n2", 1, 2, 5000, agents_of("fence_ok", "fence_ok"));
    ck_assert_int_eq(outcome_of(2), HF_OUT_REFUSED);
    order("n1", 0, 3, 5000, "cluster {");
    ck_assert_int_eq(outcome_of(3), HF_OUT_REFUSED);
}
END_TEST

START_TEST(bad_credentials_refuse_the_order_before_anything_runs_off)
{
    world_write("cred/secret", "action=reboot\n");
    order("n1", 0, 1, 5000, agents_of("fence_ok", "fence_ok"));
    ck_assert_int_eq(outcome_of(1), HF_OUT_REFUSED);
    ck_assert_str_eq(world_read("plug"), "on");
}
END_TEST

START_TEST(two_targets_are_fenced_side_by_side)
{
    order("n1", 0, 1, 15000, agents_of("fence_hang", "fence_ok"));
    order("n2", 0, 2, 15000, agents_of("fence_hang", "fence_ok"));
    ck_assert_int_eq(outcome_of(2), HF_OUT_DONE);
}
END_TEST

START_TEST(a_dropped_order_is_killed_and_never_answered)
{
    struct hf_report report;
    pid_t agent;

    order("n1", 0, 1, 60000, agents_of("fence_hang", "fence_ok"));
    report = wait_for(HF_REPORT_PROGRESS);
    agent = (pid_t)report.u.progress.pid;
    drop(1);
    turn(1000);
    ck_assert(world_wait_gone(agent, 5000));
    order("n2", 0, 2, 10000, agents_of("fence_hang", "fence_ok"));
    ck_assert_int_eq(outcome_of(2), HF_OUT_DONE); /* and not an answer to order 1 */
}
END_TEST

START_TEST(a_newer_order_replaces_the_older_one_of_its_target)
{
    order("n1", 0, 1, 60000, agents_of("fence_hang", "fence_ok"));
    (void)wait_for(HF_REPORT_PROGRESS);
    order("n1", 0, 2, 10000, agents_of("fence_ok", "fence_ok"));
    ck_assert_int_eq(outcome_of(2), HF_OUT_DONE);
}
END_TEST

START_TEST(the_same_order_again_starts_nothing)
{
    struct hf_report report;

    order("n1", 0, 1, 60000, agents_of("fence_slow", "fence_ok"));
    order("n1", 0, 1, 60000, agents_of("fence_slow", "fence_ok"));
    report = wait_for(HF_REPORT_PROGRESS);
    ck_assert_int_eq(report.u.progress.phase, HF_PROGRESS_FENCE_RUNNING);
    report = wait_for(HF_REPORT_PROGRESS);
    ck_assert_int_eq(report.u.progress.phase, HF_PROGRESS_FENCE_OFF);
    ck_assert_int_eq(outcome_of(1), HF_OUT_DONE);
}
END_TEST

static void power_on(const char *target, uint8_t level, uint64_t seq, const char *text)
{
    struct hf_report report = order_of(target, level, seq, 5000);

    report.u.fence.power_on = true;
    send_with(&report, text);
}

START_TEST(a_host_is_switched_on_again_and_read)
{
    world_write("plug", "off");
    power_on("n1", 0, 1, agents_of("fence_ok", "fence_ok"));
    ck_assert_int_eq(outcome_of(1), HF_OUT_DONE);
    ck_assert_str_eq(world_read("plug"), "on\n");
    ck_assert_ptr_nonnull(strstr(world_read("record"), "stdin: action=on\n"));
    ck_assert_ptr_null(strstr(world_read("record"), "stdin: action=off\n"));
}
END_TEST

START_TEST(both_feeds_are_switched_on)
{
    world_write("plug", "off");
    world_write("plug2", "off");
    power_on("n1", 1, 1, agents_of("fence_ok", "fence_ok"));
    ck_assert_int_eq(outcome_of(1), HF_OUT_DONE);
    ck_assert_str_eq(world_read("plug"), "on\n");
    ck_assert_str_eq(world_read("plug2"), "on\n");
}
END_TEST

struct on_row {
    const char *agent;
    enum hf_outcome outcome;
};

static const struct on_row on_rows[] = {
    {"fence_ok", HF_OUT_DONE},
    {"fence_noeffect", HF_OUT_GAVE_UP}, /* says so, and reads off */
    {"fence_alreadyoff", HF_OUT_GAVE_UP},
    {"fence_lie", HF_OUT_GAVE_UP},
    {"fence_badargs", HF_OUT_GAVE_UP},
    {"fence_login", HF_OUT_GAVE_UP},
    {"fence_flood", HF_OUT_GAVE_UP},
    {"fence_absent", HF_OUT_REFUSED},
};

START_TEST(only_a_device_that_reads_on_is_on)
{
    world_write("plug", "off");
    power_on("n1", 0, 1, agents_of(on_rows[_i].agent, "fence_ok"));
    ck_assert_int_eq(outcome_of(1), on_rows[_i].outcome);
}
END_TEST

START_TEST(an_agent_outside_its_folder_is_refused)
{
    order("n1", 0, 1, 5000, agents_of("../../bin/fence_ok", "fence_ok"));
    ck_assert_int_eq(outcome_of(1), HF_OUT_REFUSED);
    order("n1", 0, 2, 5000, agents_of("/usr/sbin/fence_ok", "fence_ok"));
    ck_assert_int_eq(outcome_of(2), HF_OUT_REFUSED);
    ck_assert_str_eq(world_read("plug"), "on");
}
END_TEST

START_TEST(an_agent_that_repeats_the_password_is_not_quoted)
{
    struct hf_report report;

    order("n1", 0, 1, 5000, agents_of("fence_blab", "fence_ok"));
    report = wait_for(HF_REPORT_DONE);
    ck_assert_int_eq(report.u.done.outcome, HF_OUT_GAVE_UP);
    ck_assert_ptr_null(strstr(report.u.done.why, "hunter2"));
    ck_assert_ptr_nonnull(strstr(report.u.done.why, "password ***"));
}
END_TEST

START_TEST(without_a_daemon_nothing_runs)
{
    struct hf_report report;
    struct hf_err err;
    enum hf_code code = HF_OK;
    pid_t agent;

    order("n1", 0, 1, 60000, agents_of("fence_hang", "fence_ok"));
    report = wait_for(HF_REPORT_PROGRESS);
    agent = (pid_t)report.u.progress.pid;
    ck_assert_int_eq(shutdown(daemon_end, SHUT_RDWR), 0);
    for (int i = 0; i < 10 && code == HF_OK; i++)
        code = runner_go_on(r, hf_clock_now(), &err);
    ck_assert_int_eq(code, HF_ECLOSED);
    runner_disconnect(r);
    ck_assert(world_wait_gone(agent, 5000));
}
END_TEST

START_TEST(bytes_that_are_no_report_end_the_connection)
{
    struct hf_err err;

    ck_assert_int_eq(send(daemon_end, "\1\377junk", 6, 0), 6);
    ck_assert_int_eq(runner_go_on(r, hf_clock_now(), &err), HF_EBAD);
}
END_TEST

START_TEST(no_descriptor_is_left_behind)
{
    int before = dup(daemon_end), after;

    close(before);
    order("n1", 1, 1, 10000, agents_of("fence_ok", "fence_ok"));
    ck_assert_int_eq(outcome_of(1), HF_OUT_DONE);
    after = dup(daemon_end);
    close(after);
    ck_assert_int_eq(before, after);
}
END_TEST

HF_TEST_MAIN_WITH("fencing/runner", setup, teardown, HF_CASE(it_says_hello_first),
                  HF_CASE(a_fenced_node_is_off_and_told_phase_by_phase),
                  HF_LOOP(only_a_device_that_reads_off_is_done, 0, sizeof rows / sizeof rows[0]),
                  HF_CASE(a_level_with_two_feeds_needs_both),
                  HF_CASE(what_the_configuration_does_not_know_is_refused),
                  HF_CASE(bad_credentials_refuse_the_order_before_anything_runs_off),
                  HF_CASE(two_targets_are_fenced_side_by_side),
                  HF_CASE(a_dropped_order_is_killed_and_never_answered),
                  HF_CASE(a_newer_order_replaces_the_older_one_of_its_target),
                  HF_CASE(the_same_order_again_starts_nothing),
                  HF_CASE(a_host_is_switched_on_again_and_read),
                  HF_CASE(both_feeds_are_switched_on),
                  HF_LOOP(only_a_device_that_reads_on_is_on, 0, sizeof on_rows / sizeof on_rows[0]),
                  HF_CASE(an_agent_outside_its_folder_is_refused),
                  HF_CASE(an_agent_that_repeats_the_password_is_not_quoted),
                  HF_CASE(without_a_daemon_nothing_runs),
                  HF_CASE(bytes_that_are_no_report_end_the_connection),
                  HF_CASE(no_descriptor_is_left_behind))
