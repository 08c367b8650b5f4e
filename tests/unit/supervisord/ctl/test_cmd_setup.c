/* LINK: supervisord/ctl/cli */
/* `holdfast setup corosync` and `config check` as programs: what they write, what they refuse, and
 * that a real corosync takes the file and is found without a fault. */
#include "tests/unit/supervisord/a_corosync.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>

static const char cluster[] = "cluster {\n    name: colo\n}\n"
                              "node n1 {\n    id: 1\n    fence_level_1: a\n}\n"
                              "fence_device a {\n    agent: fence_dummy\n}\n";

static char folder[64], program[512], conf[128], out_file[128];
static char said[65536], wrong[65536]; /* of the last run */

static void set_up(void)
{
    ck_assert_msg(built_program("holdfast", program), "holdfast is not built");
    strcpy(folder, "/tmp/holdfast-setup-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(conf, sizeof conf, "%s/holdfast.conf", folder);
    (void)snprintf(out_file, sizeof out_file, "%s/corosync.conf", folder);
    put_file(conf, cluster, sizeof cluster - 1, 0644);
}

static void tear_down(void)
{
    (void)unlink(conf);
    (void)unlink(out_file);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void take(int fd, char *text, size_t cap)
{
    ssize_t len = pread(fd, text, cap - 1, 0);

    ck_assert_int_ge(len, 0);
    text[len] = '\0';
    close(fd);
}

/* The exit code of `holdfast` with these words, ended by NULL. */
static int run_words(const char *first, ...)
{
    const char *argv[32] = {program, first}, *env[] = {"LANG=C", "PATH=/usr/bin:/bin", NULL};
    int fds[2], state = 0;
    unsigned count = 2;
    va_list args;
    pid_t pid;

    va_start(args, first);
    while (argv[count - 1] != NULL && count < 32)
        argv[count++] = va_arg(args, const char *);
    va_end(args);
    for (unsigned i = 0; i < 2; i++) {
        fds[i] = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        ck_assert_int_ge(fds[i], 0);
    }
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        (void)dup2(fds[0], STDOUT_FILENO);
        (void)dup2(fds[1], STDERR_FILENO);
        (void)execve(program, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)env);
        _exit(127);
    }
    ck_assert_int_eq(waitpid(pid, &state, 0), pid);
    take(fds[0], said, sizeof said);
    take(fds[1], wrong, sizeof wrong);
    ck_assert(WIFEXITED(state));
    return WEXITSTATUS(state);
}

#define run(...) run_words(__VA_ARGS__, (const char *)NULL)
#define setup(...)                                                                                 \
    run("setup", "corosync", "--config", conf, "--profile", "fast", "--ring0", "n1=127.0.0.1",     \
        "--ring1", "n1=127.0.0.2", "--key", A_COROSYNC_KEY, __VA_ARGS__)

START_TEST(without_an_output_the_file_comes_out_and_the_steps_beside_it)
{
    ck_assert_int_eq(setup("--output", "-"), 0);
    ck_assert_int_eq(strncmp(said, "# corosync.conf of the group colo", 33), 0);
    ck_assert_ptr_nonnull(strstr(said, "\n    token: 500\n"));
    ck_assert_ptr_nonnull(strstr(said, "\n    keyfile: " A_COROSYNC_KEY "\n"));
    ck_assert_ptr_nonnull(strstr(said, "\n    wait_for_all: 1\n"));
    ck_assert_ptr_null(strstr(said, "Next:"));
    ck_assert_ptr_nonnull(strstr(wrong, "corosync-keygen -k " A_COROSYNC_KEY));
    ck_assert_ptr_nonnull(strstr(wrong, "cancel_wait_for_all"));
    ck_assert_int_eq(setup("--wait-for-all", "no"), 0);
    ck_assert_ptr_nonnull(strstr(said, "\n    wait_for_all: 0\n"));
    ck_assert_ptr_null(strstr(wrong, "cancel_wait_for_all"));
}
END_TEST

START_TEST(a_file_is_written_whole_and_never_over_another)
{
    struct stat st;

    ck_assert_int_eq(setup("--output", out_file), 0);
    ck_assert_ptr_nonnull(strstr(said, "Next:"));
    ck_assert_int_eq(stat(out_file, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0644);
    ck_assert_uint_eq(st.st_nlink, 1);
    put_file(out_file, "mine\n", 5, 0600);
    ck_assert_int_eq(setup("--output", out_file), 1);
    ck_assert_ptr_nonnull(strstr(wrong, "is there already: give --force to replace it"));
    ck_assert_int_eq(stat(out_file, &st), 0);
    ck_assert_int_eq((int)st.st_size, 5);
    ck_assert_int_eq(setup("--output", out_file, "--force"), 0);
    ck_assert_int_eq(stat(out_file, &st), 0);
    ck_assert_int_gt((int)st.st_size, 500);
    ck_assert_int_eq(setup("--output", "/nonexistent/x"), 1);
    ck_assert_ptr_nonnull(strstr(wrong, "write /nonexistent/x: No such file or directory"));
}
END_TEST

START_TEST(bad_requests_are_refused_before_anything_is_written)
{
    ck_assert_int_eq(
        run("setup", "corosync", "--config", conf, "--ring0", "n1=a", "--ring1", "n1=b"), 2);
    ck_assert_ptr_nonnull(strstr(wrong, "give --profile fast or --profile safe"));
    ck_assert_int_eq(
        run("setup", "corosync", "--config", conf, "--profile", "fast", "--ring0", "n1=a"), 2);
    ck_assert_ptr_nonnull(strstr(wrong, "--ring1 none does with one"));
    ck_assert_int_eq(run("setup", "corosync", "--config", conf, "--profile", "fast", "--ring0",
                         "n1=a", "--ring1", "n2=b"),
                     2);
    ck_assert_ptr_nonnull(strstr(wrong, "the cluster file has no node 'n2'"));
    ck_assert_int_eq(setup("--wait-for-all", "maybe"), 2);
    ck_assert_int_eq(setup("--key", "relative"), 2);
    ck_assert_int_eq(setup("--key", "/a\nb: c"), 2);
    ck_assert_int_eq(run("setup", "corosync", "--config", "/nonexistent"), 2);
    ck_assert_int_eq(run("setup", "corosync", "--json"), 2);
    ck_assert_int_eq(run("setup", "x"), 2);
}
END_TEST

START_TEST(a_lease_too_short_for_the_profile_is_warned_of)
{
    static const char text[] = "cluster {\n name: c\n}\nwatchdog {\n use: yes\n lease: 2s\n}\n"
                               "node n1 {\n id: 1\n}\n";

    put_file(conf, text, sizeof text - 1, 0644);
    ck_assert_int_eq(setup("--output", "-"), 0);
    ck_assert_ptr_nonnull(strstr(wrong, "lease of 2000 ms is too short"));
    ck_assert_ptr_nonnull(strstr(wrong, "2600 ms or more"));
}
END_TEST

START_TEST(a_node_that_cannot_be_proved_dead_is_warned_of)
{
    static const char text[] = "cluster {\n name: c\n}\nnode n1 {\n id: 1\n}\n";

    put_file(conf, text, sizeof text - 1, 0644);
    ck_assert_int_eq(run("config", "check", conf), 0);
    ck_assert_ptr_nonnull(strstr(said, "warning: node 'n1' cannot be fenced: nothing that runs "
                                       "there is ever restarted elsewhere"));
    ck_assert_int_eq(run("config", "check", "--json", conf), 0);
    ck_assert_ptr_nonnull(strstr(said, "\"warnings\":"));
}
END_TEST

/* ---- against a file, and against nothing that runs ---- */

START_TEST(a_bad_corosync_file_is_named_line_by_line)
{
    static const char text[] = "totem {\n    version: 2\n}\nnodelist {\n    node {\n"
                               "        ring0_addr: a\n        nodeid: 1\n    }\n}\n";

    put_file(out_file, text, sizeof text - 1, 0644);
    ck_assert_int_eq(run("config", "check", conf, "--corosync", out_file), 1);
    ck_assert_ptr_nonnull(strstr(said, "  refused  totem.crypto_cipher: none, not aes256"));
    ck_assert_ptr_nonnull(strstr(said, "  risk     nodelist: node 'n1' has one link only"));
    ck_assert_ptr_nonnull(strstr(said, "  advice   quorum.wait_for_all: off"));
    ck_assert_int_eq(run("config", "check", conf, "--corosync", out_file, "--json"), 1);
    ck_assert_ptr_nonnull(strstr(said, "\"severity\":"));
    put_file(out_file, "totem {\n", 8, 0644);
    ck_assert_int_eq(run("config", "check", conf, "--corosync", out_file), 2);
    ck_assert_ptr_nonnull(strstr(wrong, ":1: the file ends inside a section"));
    ck_assert_int_eq(run("config", "check", conf, "--corosync", "/nonexistent"), 2);
    ck_assert_int_eq(run("config", "check", conf, "--corosync", "no"), 0);
}
END_TEST

/* ---- with corosync ---- */

/* Until `holdfast config check` finds it running; its exit code. */
static int check_when_running(void)
{
    for (unsigned i = 0; i < 100; i++) {
        int code = run("config", "check", conf, "--corosync", out_file);

        if (strstr(said, "running corosync 3.") != NULL)
            return code;
        (void)poll(NULL, 0, 50); /* it has no event for it */
    }
    return -1;
}

START_TEST(a_real_corosync_takes_the_file_and_is_found_without_a_fault)
{
    pid_t corosync;
    int code;

    if (has_no_corosync("setup corosync with a real one"))
        return;
    ck_assert_int_eq(setup("--output", out_file), 0);
    corosync = start_corosync_with(out_file);
    code = check_when_running();
    ck_assert_msg(code == 0, "%d: %s%s", code, said, wrong);
    ck_assert_ptr_nonnull(strstr(said, "corosync.conf: as profile 'fast' wants it"));
    ck_assert_msg(strstr(said, ": as profile 'fast' wants it\nrunning corosync 3.") != NULL, "%s",
                  said);
    ck_assert_ptr_null(strstr(said, "deviation"));

    ck_assert_int_eq(kill(corosync, SIGSTOP), 0);
    ck_assert_int_eq(run("config", "check", conf, "--corosync", out_file), 1);
    ck_assert_msg(strstr(said, "running corosync: not compared: corosync does not answer within 3 "
                               "s") != NULL,
                  "%s", said);
    ck_assert_int_eq(kill(corosync, SIGCONT), 0);
    kill_corosync(corosync);
    ck_assert_int_eq(run("config", "check", conf, "--corosync", out_file), 0);
    ck_assert_ptr_nonnull(strstr(said, "running corosync: there is none"));
}
END_TEST

HF_TEST_MAIN_WITH("ctl/cmd_setup", set_up, tear_down,
                  HF_CASE(without_an_output_the_file_comes_out_and_the_steps_beside_it),
                  HF_CASE(a_file_is_written_whole_and_never_over_another),
                  HF_CASE(bad_requests_are_refused_before_anything_is_written),
                  HF_CASE(a_lease_too_short_for_the_profile_is_warned_of),
                  HF_CASE(a_node_that_cannot_be_proved_dead_is_warned_of),
                  HF_CASE(a_bad_corosync_file_is_named_line_by_line),
                  HF_CASE(a_real_corosync_takes_the_file_and_is_found_without_a_fault))
