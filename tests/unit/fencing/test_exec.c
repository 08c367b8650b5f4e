#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fencing/exec.h"
#include "fencing/proof.h"
#include "tests/unit/check.h"
#include "tests/unit/fencing/world.h"

static struct exec_run run;

static const struct exec_param *params(void)
{
    static struct exec_param list[2];

    list[0] = (struct exec_param){"plug", world_path("plug")};
    list[1] = (struct exec_param){"record", world_path("record")};
    return list;
}

static void spawn(const char *agent, int64_t deadline_ms)
{
    struct hf_err err;

    exec_init(&run);
    ck_assert_msg(exec_spawn(&run, world_agents(), agent, EXEC_SPARE,
                             hf_time_add_ms(hf_clock_now(), deadline_ms), &err) == HF_OK,
                  "%s", err.text);
}

static void feed(enum exec_action action)
{
    static struct exec_input in;
    struct hf_err err;

    ck_assert_int_eq(exec_input_build(&in, action, params(), 2, "password=hunter2\n", 17, &err),
                     HF_OK);
    exec_feed(&run, &in);
    exec_input_wipe(&in);
}

static void wait_for_end(void)
{
    while (!exec_go_on(&run, hf_clock_now())) {
        struct pollfd fds[EXEC_FDS];
        size_t count = exec_poll(&run, fds);
        int64_t left = hf_time_since_ms(run.deadline, hf_clock_now());

        ck_assert_int_ge(poll(fds, count, left > 0 ? (int)left + 1 : 0), 0);
    }
}

static void do_run(const char *agent, enum exec_action action, int64_t deadline_ms)
{
    spawn(agent, deadline_ms);
    feed(action);
    wait_for_end();
}

START_TEST(off_then_status_reads_off)
{
    world_write("plug", "on");
    do_run("fence_ok", EXEC_STATUS, 10000);
    ck_assert_int_eq(proof_status(run.code, run.out_text, run.out_len), PROOF_READS_ON);
    do_run("fence_ok", EXEC_OFF, 10000);
    ck_assert_int_eq(run.end, EXEC_EXITED);
    ck_assert_int_eq(run.code, 0);
    ck_assert_str_eq(world_read("plug"), "off\n");
    do_run("fence_ok", EXEC_STATUS, 10000);
    ck_assert_int_eq(proof_status(run.code, run.out_text, run.out_len), PROOF_READS_OFF);
}
END_TEST

START_TEST(everything_goes_by_stdin_and_the_action_is_first_and_last)
{
    const char *record;

    ck_assert_int_eq(setenv("HF_LEAK", "hunter2", 1), 0);
    world_write("plug", "on");
    do_run("fence_ok", EXEC_OFF, 10000);
    record = world_read("record");
    ck_assert_ptr_nonnull(strstr(record, "argv: 0\n"));
    ck_assert_ptr_nonnull(strstr(record, "env: PATH=/usr/sbin:/usr/bin:/sbin:/bin\n"));
    ck_assert_ptr_null(strstr(record, "HF_LEAK"));
    ck_assert_ptr_null(strstr(strstr(record, "env: ") + 1, "env: ")); /* and nothing else */
    ck_assert_ptr_nonnull(strstr(record, "\nstdin: action=off\nstdin: plug="));
    ck_assert_str_eq(record + strlen(record) -
                         strlen("stdin: password=hunter2\nstdin: action=off\n"),
                     "stdin: password=hunter2\nstdin: action=off\n");
}
END_TEST

START_TEST(a_run_waits_unfed_and_answers_at_once_when_fed)
{
    struct pollfd fds[EXEC_FDS];

    world_write("plug", "off");
    spawn("fence_ok", 10000);
    ck_assert_int_eq(poll(fds, exec_poll(&run, fds), 300), 0); /* nothing happens unfed */
    ck_assert(!exec_go_on(&run, hf_clock_now()));
    feed(EXEC_STATUS);
    wait_for_end();
    ck_assert_int_eq(proof_status(run.code, run.out_text, run.out_len), PROOF_READS_OFF);
}
END_TEST

START_TEST(on_is_an_action_and_reads_back)
{
    world_write("plug", "off");
    do_run("fence_ok", EXEC_ON, 10000);
    ck_assert_int_eq(run.end, EXEC_EXITED);
    ck_assert_int_eq(run.code, 0);
    ck_assert_str_eq(world_read("plug"), "on\n");
    ck_assert_ptr_nonnull(strstr(world_read("record"), "\nstdin: action=on\nstdin: plug="));
    do_run("fence_ok", EXEC_STATUS, 10000);
    ck_assert_int_eq(proof_status(run.code, run.out_text, run.out_len), PROOF_READS_ON);
}
END_TEST

START_TEST(a_tool_gets_its_words_and_its_stdin)
{
    const char *const argv[] = {"ipmitool", "raw", "a b", "", "$x", NULL};
    const char *const absent[] = {"no_such_tool", NULL};
    static struct exec_input in;
    struct hf_err err;

    exec_init(&run);
    ck_assert_int_eq(exec_spawn_tool(&run, world_agents(), argv, EXEC_IDLE,
                                     hf_time_add_ms(hf_clock_now(), 10000), &err),
                     HF_OK);
    ck_assert(exec_input_add(&in, "hunter2\n", 8));
    exec_feed(&run, &in);
    exec_hurry(&run);
    wait_for_end();
    ck_assert_int_eq(run.end, EXEC_EXITED);
    ck_assert_ptr_nonnull(strstr(world_read("agents/ipmitool.record"), "argv: raw a b  $x\n"));
    ck_assert_ptr_nonnull(strstr(world_read("agents/ipmitool.record"), "stdin: hunter2\n"));
    ck_assert_int_eq(exec_spawn_tool(&run, world_agents(), absent, EXEC_NOW, hf_clock_now(), &err),
                     HF_ENOENT);
    ck_assert_int_eq(chmod(world_path("agents/ipmitool"), 0777), 0);
    ck_assert_int_eq(exec_spawn_tool(&run, world_agents(), argv, EXEC_NOW, hf_clock_now(), &err),
                     HF_EACCESS);
    exec_hurry(&run); /* nothing runs: nothing happens */
}
END_TEST

START_TEST(a_hung_agent_is_killed_with_its_children)
{
    char said[256];
    pid_t child;
    hf_time began = hf_clock_now();

    do_run("fence_hang", EXEC_OFF, 2000);
    ck_assert_int_eq(run.end, EXEC_LATE);
    ck_assert_int_lt(hf_time_since_ms(hf_clock_now(), began), 6000);
    exec_describe(&run, said, sizeof said);
    ck_assert_str_eq(said, "no answer within its deadline");
    child = (pid_t)atoi(world_read("plug.child"));
    ck_assert_int_gt(child, 1);
    ck_assert(world_wait_gone(child, 5000));
}
END_TEST

START_TEST(a_flood_is_cut_and_is_no_proof)
{
    do_run("fence_flood", EXEC_STATUS, 10000);
    ck_assert_int_eq(run.end, EXEC_FLOODED);
    ck_assert_uint_eq(run.out_len + run.errors_len, EXEC_OUTPUT_MAX);
}
END_TEST

START_TEST(a_refused_login_says_so)
{
    char said[256];

    do_run("fence_login", EXEC_OFF, 10000);
    ck_assert_int_eq(run.end, EXEC_EXITED);
    ck_assert_int_eq(run.code, 3);
    exec_describe(&run, said, sizeof said);
    ck_assert_ptr_nonnull(strstr(said, "exit 3: "));
    ck_assert_ptr_nonnull(strstr(said, "Unable to connect/login to fencing device"));
}
END_TEST

START_TEST(words_of_an_agent_are_printable)
{
    char said[64];

    exec_init(&run);
    run.end = EXEC_EXITED;
    run.code = 1;
    memcpy(run.errors_text, "first\n\x1b[31mred\xff\tend\n\n", 20);
    run.errors_len = 20;
    exec_describe(&run, said, sizeof said);
    ck_assert_str_eq(said, "exit 1: ?[31mred"
                           "??"
                           "end");
}
END_TEST

START_TEST(killing_ends_it_and_twice_is_harmless)
{
    spawn("fence_hang", 60000);
    feed(EXEC_OFF);
    exec_kill(&run);
    ck_assert_int_eq(run.end, EXEC_KILLED);
    exec_kill(&run);
    ck_assert_int_eq(run.pidfd, -1);
    ck_assert(exec_go_on(&run, hf_clock_now()));
}
END_TEST

static const char *const bad_names[] = {
    "",          "fence_",    "fence",     "ok", "fence_../x", "fence_OK", "/usr/sbin/fence_ok",
    "fence_a b", "fence_a;b", "xfence_ok",
};

START_TEST(only_fence_agents_are_run)
{
    struct hf_err err;

    exec_init(&run);
    ck_assert_int_eq(
        exec_spawn(&run, world_agents(), bad_names[_i], EXEC_NOW, hf_clock_now(), &err), HF_EINVAL);
    ck_assert_int_eq(run.end, EXEC_NEVER);
}
END_TEST

START_TEST(an_agent_that_others_can_write_is_not_run)
{
    struct hf_err err;
    char path[300];

    exec_init(&run);
    snprintf(path, sizeof path, "%s/fence_ok", world_agents());
    ck_assert_int_eq(chmod(path, 0777), 0);
    ck_assert_int_eq(exec_spawn(&run, world_agents(), "fence_ok", EXEC_NOW, hf_clock_now(), &err),
                     HF_EACCESS);
    ck_assert_int_eq(chmod(path, 0755), 0);
    ck_assert_int_eq(chmod(world_agents(), 0775), 0);
    ck_assert_int_eq(exec_spawn(&run, world_agents(), "fence_ok", EXEC_NOW, hf_clock_now(), &err),
                     HF_EACCESS);
    ck_assert_int_eq(chmod(world_agents(), 0755), 0);
    ck_assert_int_eq(
        exec_spawn(&run, world_agents(), "fence_absent", EXEC_NOW, hf_clock_now(), &err),
        HF_ENOENT);
}
END_TEST

static const struct exec_param bad_params[] = {
    {"action", "reboot"},
    {"option", "reboot"},
    {"method", "cycle"},
    {"a\nb", "x"},
    {"ip", "1\naction=reboot"},
    {"", "x"},
    {"a=b", "c"},
    {"#x", "y"},
};

START_TEST(no_parameter_can_change_the_action)
{
    static struct exec_input in;
    struct hf_err err;

    ck_assert_int_eq(exec_input_build(&in, EXEC_OFF, &bad_params[_i], 1, NULL, 0, &err), HF_EINVAL);
}
END_TEST

START_TEST(too_many_parameters_are_refused_whole)
{
    static struct exec_input in;
    static char lines[EXEC_INPUT_MAX];
    struct hf_err err;

    memset(lines, 'x', sizeof lines);
    ck_assert_int_eq(exec_input_build(&in, EXEC_OFF, NULL, 0, lines, sizeof lines, &err), HF_EFULL);
    ck_assert_uint_eq(in.len, 0);
}
END_TEST

HF_TEST_MAIN_WITH(
    "fencing/exec", world_setup, world_teardown, HF_CASE(off_then_status_reads_off),
    HF_CASE(on_is_an_action_and_reads_back), HF_CASE(a_tool_gets_its_words_and_its_stdin),
    HF_CASE(everything_goes_by_stdin_and_the_action_is_first_and_last),
    HF_CASE(a_run_waits_unfed_and_answers_at_once_when_fed),
    HF_CASE(a_hung_agent_is_killed_with_its_children), HF_CASE(a_flood_is_cut_and_is_no_proof),
    HF_CASE(a_refused_login_says_so), HF_CASE(words_of_an_agent_are_printable),
    HF_CASE(killing_ends_it_and_twice_is_harmless),
    HF_LOOP(only_fence_agents_are_run, 0, sizeof bad_names / sizeof bad_names[0]),
    HF_CASE(an_agent_that_others_can_write_is_not_run),
    HF_LOOP(no_parameter_can_change_the_action, 0, sizeof bad_params / sizeof bad_params[0]),
    HF_CASE(too_many_parameters_are_refused_whole))
