#include "supervisord/base/uuid.h"
#include "tests/unit/fencing/runner/daemon.h"

static const char guid[] = " a1 23 45 67 89 ab cd ef a1 23 45 67 89 ab cd 01\n";
static const char uuid[] = "a1234567-89ab-cdef-a123-456789abcd01";

/* n1 has one device of this agent; its second level two of another kind. */
static const char *bmc_of(const char *agent, const char *more)
{
    static char text[4096];
    int len = snprintf(text, sizeof text,
                       "cluster {\n name: test\n}\n"
                       "fence_device bmc {\n agent: %s\n credentials: secret\n"
                       " params {\n ip: 10.0.0.1\n lanplus: 1\n plug: %s\n record: %s\n%s }\n}\n"
                       "fence_device bmc2 {\n agent: fence_ipmilan\n credentials: secret\n"
                       " params {\n ip: 10.0.0.2\n lanplus: 1\n plug: %s\n }\n}\n"
                       "fence_device pdu {\n agent: fence_ok\n params {\n plug: %s\n }\n}\n"
                       "node n1 {\n id: 1\n fence_level_1: bmc\n}\n"
                       "node n2 {\n id: 2\n fence_level_1: pdu, bmc2\n}\n",
                       agent, world_path("plug"), world_path("record"), more, world_path("plug2"),
                       world_path("plug2"));

    ck_assert_int_lt(len, (int)sizeof text);
    return text;
}

static void test(const char *target, uint8_t level, uint32_t number, uint32_t ms, const char *text)
{
    struct hf_report report = {.kind = HF_REPORT_TEST};

    report.u.test.number = number;
    report.u.test.level = level;
    report.u.test.deadline_ms = ms;
    strcpy(report.u.test.target, target);
    send_with(&report, text);
}

static struct hf_report tested(uint32_t number)
{
    struct hf_report report = wait_for(HF_REPORT_TESTED);

    ck_assert_uint_eq(report.u.tested.number, number);
    ck_assert_ptr_null(strstr(report.u.tested.why, "hunter2"));
    return report;
}

static void put_guid(const char *text)
{
    world_write("agents/guid", text);
}

struct row {
    const char *agent;
    enum hf_path found;
    const char *why; /* a part of the sentence */
};

static const struct row rows[] = {
    {"fence_ok", HF_PATH_OK, "d1: reads on"},
    {"fence_alreadyoff", HF_PATH_OK, "d1: reads off"},
    {"fence_login", HF_PATH_DENIED, "d1: exit 3: "},
    {"fence_unreachable", HF_PATH_UNREACHABLE, "Connection timed out"},
    {"fence_hang", HF_PATH_UNREACHABLE, "d1: no answer within its deadline"},
    {"fence_flood", HF_PATH_BROKEN, "d1: printed more than 64 KiB"},
    {"fence_100mb", HF_PATH_BROKEN, "d1: printed more than 64 KiB"},
    {"fence_lie", HF_PATH_BROKEN, "d1: exit 0: Status: OFF"},
    {"fence_badargs", HF_PATH_BROKEN, "d1: exit 2"},
    {"fence_vague", HF_PATH_BROKEN, "Unable to obtain correct plug status"},
    {"fence_absent", HF_PATH_BROKEN, "No such file or directory"},
    {"fence_blab", HF_PATH_DENIED, "with password ***"},
};

START_TEST(every_fault_of_a_path_has_its_name)
{
    struct hf_report report;

    test("n1", 0, 9, strcmp(rows[_i].agent, "fence_hang") == 0 ? 1000 : 10000,
         agents_of(rows[_i].agent, "fence_ok"));
    report = tested(9);
    ck_assert_msg(report.u.tested.found == rows[_i].found, "%s: %d, %s", rows[_i].agent,
                  (int)report.u.tested.found, report.u.tested.why);
    ck_assert_msg(strstr(report.u.tested.why, rows[_i].why) != NULL, "%s", report.u.tested.why);
    ck_assert_uint_eq(report.u.tested.hardware, 0);
    ck_assert_str_eq(world_read("plug"), "on");
}
END_TEST

START_TEST(a_test_never_switches_anything)
{
    test("n1", 1, 1, 10000, agents_of("fence_ok", "fence_ok"));
    ck_assert_int_eq(tested(1).u.tested.found, HF_PATH_OK);
    test("n1", 0, 2, 10000, agents_of("fence_ok", "fence_ok"));
    ck_assert_int_eq(tested(2).u.tested.found, HF_PATH_OK);
    ck_assert_ptr_nonnull(strstr(world_read("record"), "stdin: action=status\n"));
    ck_assert_ptr_null(strstr(world_read("record"), "stdin: action=o"));
    ck_assert_str_eq(world_read("plug"), "on");
    ck_assert_str_eq(world_read("plug2"), "on");
}
END_TEST

START_TEST(what_cannot_be_configured_is_broken)
{
    test("n1", 0, 1, 5000, agents_of("../../bin/fence_ok", "fence_ok"));
    ck_assert_int_eq(tested(1).u.tested.found, HF_PATH_BROKEN);
    test("n1", 0, 2, 5000, agents_of("/usr/sbin/fence_ok", "fence_ok"));
    ck_assert_int_eq(tested(2).u.tested.found, HF_PATH_BROKEN);
    test("n9", 0, 3, 5000, agents_of("fence_ok", "fence_ok"));
    ck_assert_int_eq(tested(3).u.tested.found, HF_PATH_BROKEN);
    test("n2", 3, 4, 5000, agents_of("fence_ok", "fence_ok"));
    ck_assert_int_eq(tested(4).u.tested.found, HF_PATH_BROKEN);
}
END_TEST

static void expect_broken(uint32_t number, const char *part)
{
    struct hf_report report;

    test("n1", 0, number, 5000, agents_of("fence_ok", "fence_ok"));
    report = tested(number);
    ck_assert_int_eq(report.u.tested.found, HF_PATH_BROKEN);
    ck_assert_msg(strstr(report.u.tested.why, part) != NULL, "%s", report.u.tested.why);
}

START_TEST(unfit_credentials_are_broken_and_nothing_runs)
{
    static const mode_t modes[] = {0644, 0640, 0604};
    struct hf_err err;

    for (uint32_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        ck_assert_int_eq(chmod(world_path("cred/secret"), modes[i]), 0);
        expect_broken(i, "must be 0600");
    }
    ck_assert_int_eq(chmod(world_path("cred/secret"), 0600), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(world_path("cred/secret"), 12345, 12345), 0);
        expect_broken(4, "owned by uid 12345");
        ck_assert_int_eq(chown(world_path("cred/secret"), 0, 0), 0);
    }
    world_write("cred/secret", "action=off\n");
    expect_broken(5, "expected one of username, password");
    ck_assert_int_eq(unlink(world_path("cred/secret")), 0);
    expect_broken(6, "No such file or directory");
    ck_assert_int_ne(access(world_path("record"), F_OK), 0); /* no agent was started */
    ck_assert_int_eq(runner_go_on(r, hf_clock_now(), &err), HF_OK);
}
END_TEST

START_TEST(an_agent_that_others_may_write_is_broken)
{
    ck_assert_int_eq(chmod(world_path("agents/fence_ok"), 0777), 0);
    expect_broken(1, "others than its owner may write it");
    ck_assert_int_ne(access(world_path("record"), F_OK), 0);
}
END_TEST

START_TEST(a_bmc_tells_which_host_it_switches)
{
    const char *record;
    struct hf_report report;
    uint64_t hardware;

    world_agent("fence_ok", "fence_ipmilan");
    put_guid(guid);
    test("n1", 0, 1, 10000, bmc_of("fence_ipmilan", "cipher: 3\n"));
    report = tested(1);
    ck_assert_int_eq(report.u.tested.found, HF_PATH_OK);
    ck_assert(hf_uuid_number(uuid, &hardware));
    ck_assert_uint_eq(report.u.tested.hardware, hardware);
    ck_assert_str_eq(report.u.tested.why, "bmc: reads on");
    record = world_read("agents/ipmitool.record");
    ck_assert_ptr_nonnull(strstr(record, "argv: -v -I lanplus -H 10.0.0.1 -U admin -C 3 "
                                         "-L ADMINISTRATOR -N 2 -f /dev/stdin raw 0x06 0x37\n"));
    ck_assert_ptr_nonnull(strstr(record, "stdin: hunter2\nenv: PATH="));
    ck_assert_ptr_null(strstr(strstr(record, "env: ") + 1, "env: "));
}
END_TEST

START_TEST(a_bmc_that_does_not_tell_works_all_the_same)
{
    struct hf_report report;

    world_agent("fence_ok", "fence_ipmilan");
    world_write("agents/ipmitool.words", "Get System GUID: Invalid command\n");
    test("n1", 0, 1, 10000, bmc_of("fence_ipmilan", ""));
    report = tested(1);
    ck_assert_int_eq(report.u.tested.found, HF_PATH_OK);
    ck_assert_uint_eq(report.u.tested.hardware, 0);
    ck_assert_ptr_nonnull(strstr(report.u.tested.why, "bmc: reads on, does not tell its host"));
    put_guid(" 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n");
    test("n1", 0, 2, 10000, bmc_of("fence_ipmilan", ""));
    report = tested(2);
    ck_assert_int_eq(report.u.tested.found, HF_PATH_OK);
    ck_assert_uint_eq(report.u.tested.hardware, 0);
    ck_assert_int_eq(unlink(world_path("agents/ipmitool")), 0);
    test("n1", 0, 3, 10000, bmc_of("fence_ipmilan", ""));
    report = tested(3);
    ck_assert_int_eq(report.u.tested.found, HF_PATH_OK);
    ck_assert_uint_eq(report.u.tested.hardware, 0);
}
END_TEST

struct vague {
    const char *words;
    enum hf_path found;
};

/* ipmitool 1.8.19 -v against a simulated BMC. */
static const struct vague vague[] = {
    {"> RAKP 2 HMAC is invalid\n", HF_PATH_DENIED},
    {"RAKP 2 message indicates an error : unauthorized name\n", HF_PATH_DENIED},
    {"Activate Session command failed\n", HF_PATH_DENIED},
    {"Get Auth Capabilities error\n", HF_PATH_UNREACHABLE},
    {"something new\n", HF_PATH_BROKEN},
};

START_TEST(where_the_agent_is_vague_the_bmc_is_asked_why)
{
    world_agent("fence_vague", "fence_ipmilan");
    world_write("agents/ipmitool.words", vague[_i].words);
    test("n1", 0, 1, 10000, bmc_of("fence_ipmilan", ""));
    ck_assert_int_eq(tested(1).u.tested.found, vague[_i].found);
}
END_TEST

START_TEST(a_privilege_that_cannot_switch_is_denied_before_it_is_needed)
{
    struct hf_report report;

    world_agent("fence_ok", "fence_ipmilan");
    test("n1", 0, 1, 10000, bmc_of("fence_ipmilan", "privlvl: user\n"));
    report = tested(1);
    ck_assert_int_eq(report.u.tested.found, HF_PATH_DENIED);
    ck_assert_str_eq(report.u.tested.why,
                     "bmc: privlvl user can read the power, not switch it off");
    test("n1", 0, 2, 10000, bmc_of("fence_ipmilan", "privlvl: operator\n"));
    ck_assert_int_eq(tested(2).u.tested.found, HF_PATH_OK);
}
END_TEST

START_TEST(a_level_takes_the_host_of_the_device_that_tells)
{
    struct hf_report report;
    uint64_t hardware;

    world_agent("fence_ok", "fence_ipmilan");
    put_guid(guid);
    test("n2", 0, 1, 10000, bmc_of("fence_ipmilan", ""));
    report = tested(1);
    ck_assert_int_eq(report.u.tested.found, HF_PATH_OK);
    ck_assert(hf_uuid_number(uuid, &hardware));
    ck_assert_uint_eq(report.u.tested.hardware, hardware);
    ck_assert_str_eq(report.u.tested.why, "pdu: reads on; bmc2: reads on");
    ck_assert_int_eq(unlink(world_path("agents/fence_ok")), 0);
    test("n2", 0, 2, 10000, bmc_of("fence_ipmilan", ""));
    report = tested(2);
    ck_assert_int_eq(report.u.tested.found, HF_PATH_BROKEN);
    ck_assert_ptr_eq(strstr(report.u.tested.why, "pdu: "), report.u.tested.why);
}
END_TEST

static pid_t held_pid(void)
{
    hf_time until = hf_time_add_ms(hf_clock_now(), 10000);

    while (access(world_path("plug.pid"), F_OK) != 0 || world_read("plug.pid")[0] == '\0') {
        ck_assert(!hf_time_reached(hf_clock_now(), until));
        turn(10);
    }
    return (pid_t)atoi(world_read("plug.pid"));
}

START_TEST(an_order_ends_the_test_of_its_target)
{
    struct hf_report report;
    pid_t held;

    ck_assert_int_eq(mkfifo(world_path("plug.hold"), 0600), 0);
    test("n1", 0, 1, 60000, agents_of("fence_held", "fence_ok"));
    held = held_pid();
    order("n1", 0, 7, 10000, agents_of("fence_ok", "fence_ok"));
    report = tested(1);
    ck_assert_int_eq(report.u.tested.found, HF_PATH_UNKNOWN);
    ck_assert(world_wait_gone(held, 5000));
    ck_assert_int_eq(outcome_of(7), HF_OUT_DONE);
}
END_TEST

START_TEST(during_an_order_its_target_is_not_tested_and_others_are)
{
    struct hf_report report;

    ck_assert_int_eq(mkfifo(world_path("plug.hold"), 0600), 0);
    order("n1", 0, 7, 60000, agents_of("fence_held", "fence_ok"));
    (void)held_pid();
    test("n1", 0, 1, 5000, agents_of("fence_held", "fence_ok"));
    report = tested(1);
    ck_assert_int_eq(report.u.tested.found, HF_PATH_UNKNOWN);
    ck_assert_ptr_nonnull(strstr(report.u.tested.why, "an order against this node"));
    test("n2", 0, 2, 15000, agents_of("fence_held", "fence_ok"));
    ck_assert_int_eq(tested(2).u.tested.found, HF_PATH_OK);
}
END_TEST

/* SCHED_IDLE is 5 in field 41 of /proc/PID/stat. */
static int policy_of(pid_t pid)
{
    char path[64], text[1024];
    const char *at;
    int field = 2, policy = -1;
    size_t len;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    len = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[len] = '\0';
    for (at = strrchr(text, ')'); at != NULL && field < 41; at = strchr(at + 1, ' '))
        field++;
    ck_assert_ptr_nonnull(at);
    ck_assert_int_eq(sscanf(at, "%d", &policy), 1);
    return policy;
}

START_TEST(a_test_waits_for_spare_time_and_then_not_for_ever)
{
    pid_t held;
    hf_time until;

    ck_assert_int_eq(mkfifo(world_path("plug.hold"), 0600), 0);
    test("n1", 0, 1, 4000, agents_of("fence_held", "fence_ok"));
    held = held_pid();
    ck_assert_int_eq(policy_of(held), 5);
    until = hf_time_add_ms(hf_clock_now(), 3500);
    while (policy_of(held) == 5 && !hf_time_reached(hf_clock_now(), until))
        turn(100);
    ck_assert_int_eq(policy_of(held), 0);
    ck_assert_int_eq(tested(1).u.tested.found, HF_PATH_UNREACHABLE);
}
END_TEST

START_TEST(an_order_is_never_run_with_spare_time)
{
    ck_assert_int_eq(mkfifo(world_path("plug.hold"), 0600), 0);
    order("n1", 0, 7, 10000, agents_of("fence_held", "fence_ok"));
    ck_assert_int_eq(policy_of(held_pid()), 0);
}
END_TEST

START_TEST(a_test_asked_again_replaces_the_older_one)
{
    ck_assert_int_eq(mkfifo(world_path("plug.hold"), 0600), 0);
    test("n1", 0, 1, 60000, agents_of("fence_held", "fence_ok"));
    (void)held_pid();
    test("n1", 0, 2, 10000, agents_of("fence_ok", "fence_ok"));
    ck_assert_int_eq(tested(1).u.tested.found, HF_PATH_UNKNOWN);
    ck_assert_int_eq(tested(2).u.tested.found, HF_PATH_OK);
}
END_TEST

/* A node more than may be, so to say: with two levels each, five nodes have ten paths. */
START_TEST(more_tests_than_nodes_are_not_begun)
{
    static char text[8192];
    struct hf_report report;
    size_t len = (size_t)snprintf(text, sizeof text, "cluster {\n name: test\n}\n");

    for (int i = 0; i < 10; i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "fence_device d%d {\n agent: fence_held\n"
                                " params {\n plug: %s\n feed: %d\n }\n}\n",
                                i, world_path("plug"), i);
    for (int i = 0; i < 5; i++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                "node n%d {\n id: %d\n fence_level_1: d%d\n"
                                " fence_level_2: d%d\n}\n",
                                i + 1, i + 1, 2 * i, 2 * i + 1);
    ck_assert_uint_lt(len, sizeof text);
    ck_assert_int_eq(mkfifo(world_path("plug.hold"), 0600), 0);
    for (uint32_t i = 0; i < RUNNER_TESTS_MAX + 1; i++) {
        char target[3] = {'n', (char)('1' + i / 2), '\0'};

        test(target, (uint8_t)(i % 2), i + 1, 60000, text);
    }
    report = tested(RUNNER_TESTS_MAX + 1);
    ck_assert_int_eq(report.u.tested.found, HF_PATH_UNKNOWN);
    ck_assert_str_eq(report.u.tested.why, "too many tests at a time");
}
END_TEST

START_TEST(without_a_daemon_no_test_runs)
{
    struct hf_err err;
    enum hf_code code = HF_OK;
    pid_t held;

    ck_assert_int_eq(mkfifo(world_path("plug.hold"), 0600), 0);
    test("n1", 0, 1, 60000, agents_of("fence_held", "fence_ok"));
    held = held_pid();
    ck_assert_int_eq(shutdown(daemon_end, SHUT_RDWR), 0);
    for (int i = 0; i < 10 && code == HF_OK; i++)
        code = runner_go_on(r, hf_clock_now(), &err);
    ck_assert_int_eq(code, HF_ECLOSED);
    runner_disconnect(r);
    ck_assert(world_wait_gone(held, 5000));
}
END_TEST

START_TEST(no_descriptor_is_left_behind)
{
    int before = dup(daemon_end), after;

    close(before);
    world_agent("fence_ok", "fence_ipmilan");
    put_guid(guid);
    test("n2", 0, 1, 10000, bmc_of("fence_ipmilan", ""));
    ck_assert_int_eq(tested(1).u.tested.found, HF_PATH_OK);
    after = dup(daemon_end);
    close(after);
    ck_assert_int_eq(before, after);
}
END_TEST

HF_TEST_MAIN_WITH(
    "fencing/runner/trial", setup, teardown,
    HF_LOOP(every_fault_of_a_path_has_its_name, 0, sizeof rows / sizeof rows[0]),
    HF_CASE(a_test_never_switches_anything), HF_CASE(what_cannot_be_configured_is_broken),
    HF_CASE(unfit_credentials_are_broken_and_nothing_runs),
    HF_CASE(an_agent_that_others_may_write_is_broken), HF_CASE(a_bmc_tells_which_host_it_switches),
    HF_CASE(a_bmc_that_does_not_tell_works_all_the_same),
    HF_LOOP(where_the_agent_is_vague_the_bmc_is_asked_why, 0, sizeof vague / sizeof vague[0]),
    HF_CASE(a_privilege_that_cannot_switch_is_denied_before_it_is_needed),
    HF_CASE(a_level_takes_the_host_of_the_device_that_tells),
    HF_CASE(an_order_ends_the_test_of_its_target),
    HF_CASE(during_an_order_its_target_is_not_tested_and_others_are),
    HF_CASE(a_test_waits_for_spare_time_and_then_not_for_ever),
    HF_CASE(an_order_is_never_run_with_spare_time),
    HF_CASE(a_test_asked_again_replaces_the_older_one),
    HF_CASE(more_tests_than_nodes_are_not_begun), HF_CASE(without_a_daemon_no_test_runs),
    HF_CASE(no_descriptor_is_left_behind))
