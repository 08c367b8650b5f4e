#include "supervisord/base/assert.h"
#include "supervisord/base/guard.h"
#include "tests/unit/check.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int counted;

static int count(void)
{
    return ++counted;
}

START_TEST(a_true_condition_is_evaluated_once)
{
    HF_ASSERT(count() == 1);
    ck_assert_int_eq(counted, 1);
}
END_TEST

START_TEST(a_false_condition_aborts)
{
    HF_ASSERT(counted == 1);
}
END_TEST

START_TEST(what_can_never_be_aborts)
{
    HF_NEVER("a seventh day");
}
END_TEST

/* A child fails the assert with `fd` as its stderr; true if it died of SIGABRT. */
static bool aborts_with_stderr(int fd)
{
    int status = 0;
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        dup2(fd, STDERR_FILENO);
        HF_ASSERT(counted == 7);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

START_TEST(the_place_and_the_condition_are_told)
{
    char text[600] = "";
    int fds[2];

    ck_assert_int_eq(pipe(fds), 0);
    ck_assert(aborts_with_stderr(fds[1]));
    ck_assert_int_gt(read(fds[0], text, sizeof text - 1), 0);
    ck_assert_ptr_nonnull(strstr(text, "tests/unit/supervisord/base/test_assert.c:"));
    ck_assert_ptr_nonnull(strstr(text, "assertion failed: counted == 7\n"));
}
END_TEST

START_TEST(a_full_stderr_does_not_keep_it_from_aborting)
{
    static char block[4096];
    int fds[2];

    ck_assert_int_eq(pipe(fds), 0);
    for (int filled = 0; filled < 65536; filled += (int)sizeof block)
        ck_assert_int_eq(write(fds[1], block, sizeof block), sizeof block);
    ck_assert(aborts_with_stderr(fds[1]));
}
END_TEST

/* ---- guards ---- */

static void fails_or_not(void *argument)
{
    int *calls = argument;
    *calls += 1;
    HF_ASSERT(*calls != 2);
    *calls += 100;
}

START_TEST(a_guard_is_left_where_an_assertion_fails_and_holds_again_the_next_time)
{
    int calls = 0;
    ck_assert(hf_guard_run(fails_or_not, &calls));
    ck_assert_int_eq(calls, 101);
    calls = 1;
    ck_assert(!hf_guard_run(fails_or_not, &calls));
    ck_assert_int_eq(calls, 2);
    ck_assert(hf_guard_run(fails_or_not, &calls));
    ck_assert_int_eq(calls, 103);
}
END_TEST

START_TEST(behind_a_guard_an_assertion_aborts_again)
{
    int calls = 1;
    ck_assert(!hf_guard_run(fails_or_not, &calls));
    HF_ASSERT(calls == 0);
}
END_TEST

HF_TEST_MAIN("base/assert", HF_CASE(a_true_condition_is_evaluated_once),
             HF_ABORTS(a_false_condition_aborts), HF_ABORTS(what_can_never_be_aborts),
             HF_CASE(the_place_and_the_condition_are_told),
             HF_CASE(a_full_stderr_does_not_keep_it_from_aborting),
             HF_CASE(a_guard_is_left_where_an_assertion_fails_and_holds_again_the_next_time),
             HF_ABORTS(behind_a_guard_an_assertion_aborts_again))
