#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fencing/runner/runner.h"
#include "supervisord/door/door.h"
#include "tests/unit/check.h"
#include "tests/unit/fencing/world.h"

static struct runner *r;
static int daemon_end;

static const char *agents_of(const char *first, const char *second)
{
    static char text[4096];
    int len = snprintf(text, sizeof text,
                       "cluster {\n name: test\n}\n"
                       "fence_device d1 {\n agent: %s\n credentials: secret\n"
                       " params {\n plug: %s\n record: %s\n }\n}\n"
                       "fence_device d2 {\n agent: %s\n params {\n plug: %s\n }\n}\n"
                       "fence_device feed1 {\n agent: %s\n params {\n plug: %s\n feed: 1\n }\n}\n"
                       "fence_device feed2 {\n agent: %s\n params {\n plug: %s\n feed: 2\n }\n}\n"
                       "node n1 {\n id: 1\n fence_level_1: d1\n"
                       " fence_level_2: feed1, feed2\n}\n"
                       "node n2 {\n id: 2\n fence_level_1: d2\n}\n",
                       first, world_path("plug"), world_path("record"), second, world_path("plug2"),
                       first, world_path("plug"), second, world_path("plug2"));

    ck_assert_int_lt(len, (int)sizeof text);
    return text;
}

static void setup(void)
{
    static struct runner_settings settings;
    struct hf_err err;
    int pair[2];

    world_setup();
    world_write("plug", "on");
    world_write("plug2", "on");
    world_write("cred/secret", "username=admin\npassword=hunter2\n");
    settings.agents = world_agents();
    settings.credentials = strdup(world_path("cred"));
    r = calloc(1, sizeof *r);
    ck_assert_ptr_nonnull(r);
    runner_init(r, &settings);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
                     0);
    daemon_end = pair[1];
    ck_assert_int_eq(runner_connect(r, pair[0], &err), HF_OK);
}

static void teardown(void)
{
    runner_disconnect(r);
    free((void *)(uintptr_t)r->settings.credentials);
    free(r);
    close(daemon_end);
    world_teardown();
}

static void order(const char *target, uint8_t level, uint64_t seq, uint32_t ms, const char *text)
{
    struct hf_report report = {.kind = HF_REPORT_FENCE};
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    struct hf_err err;
    int ride = -1;

    report.u.fence.token = (struct hf_token){seq, 1};
    report.u.fence.level = level;
    report.u.fence.deadline_ms = ms;
    strcpy(report.u.fence.target, target);
    ck_assert_int_eq(door_memory("config", text, strlen(text), &ride, &err), HF_OK);
    ck_assert_int_eq(door_send(daemon_end, bytes, report_encode(&report, bytes), ride, &err),
                     HF_OK);
    close(ride);
}

static void drop(uint64_t seq)
{
    struct hf_report report = {.kind = HF_REPORT_DROP};
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    struct hf_err err;

    report.u.drop.token = (struct hf_token){seq, 1};
    ck_assert_int_eq(door_send(daemon_end, bytes, report_encode(&report, bytes), -1, &err), HF_OK);
}

/* One turn of the runner's loop, waiting at most ms. */
static void turn(int64_t ms)
{
    struct pollfd fds[RUNNER_FDS_MAX];
    struct hf_err err;
    hf_time deadline;
    size_t count = runner_poll(r, fds, &deadline);

    ck_assert_int_ge(poll(fds, count, (int)ms), 0);
    ck_assert_int_eq(runner_go_on(r, hf_clock_now(), &err), HF_OK);
}

static bool receive(struct hf_report *report)
{
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    struct hf_err err;
    size_t len;
    int ride = -1;
    enum hf_code code = door_receive(daemon_end, bytes, sizeof bytes, &len, &ride, &err);

    if (code == HF_EAGAIN)
        return false;
    ck_assert_int_eq(code, HF_OK);
    ck_assert_int_eq(report_decode(bytes, len, report, &err), HF_OK);
    return true;
}

static struct hf_report wait_for(enum hf_report_kind kind)
{
    hf_time until = hf_time_add_ms(hf_clock_now(), 15000);
    struct hf_report report;

    while (!hf_time_reached(hf_clock_now(), until)) {
        while (receive(&report))
            if (report.kind == kind)
                return report;
        turn(20);
    }
    ck_abort_msg("no report of kind %d", (int)kind);
    return report;
}

static enum hf_outcome outcome_of(uint64_t seq)
{
    struct hf_report report = wait_for(HF_REPORT_DONE);

    ck_assert_uint_eq(report.u.done.token.seq, seq);
    ck_assert_ptr_null(strstr(report.u.done.why, "hunter2"));
    return report.u.done.outcome;
}

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
                  HF_CASE(without_a_daemon_nothing_runs),
                  HF_CASE(bytes_that_are_no_report_end_the_connection),
                  HF_CASE(no_descriptor_is_left_behind))
