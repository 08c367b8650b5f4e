#include <string.h>

#include "fencing/verdict.h"
#include "tests/unit/check.h"

struct row {
    enum exec_end end;
    int code;
    const char *out, *errors;
    enum hf_path found;
};

static const struct row rows[] = {
    {EXEC_EXITED, 0, "Status: ON\n", "", HF_PATH_OK},
    {EXEC_EXITED, 2, "Status: OFF\n", "", HF_PATH_OK},
    {EXEC_EXITED, 0, "Status: ON\n", "warning: password in clear text\n", HF_PATH_OK},
    /* contradictions and nonsense */
    {EXEC_EXITED, 0, "Status: OFF\n", "", HF_PATH_BROKEN},
    {EXEC_EXITED, 2, "Status: ON\n", "", HF_PATH_BROKEN},
    {EXEC_EXITED, 2, "", "", HF_PATH_BROKEN},
    {EXEC_EXITED, 0, "", "", HF_PATH_BROKEN},
    {EXEC_EXITED, 0, "", "login ok\n", HF_PATH_BROKEN},
    {EXEC_EXITED, 77, "", "no route to host\n", HF_PATH_BROKEN},
    {EXEC_EXITED, 126, "", "cannot execute this program\n", HF_PATH_BROKEN},
    /* statuses that say it */
    {EXEC_EXITED, 3, "", "", HF_PATH_DENIED},
    {EXEC_EXITED, 10, "", "", HF_PATH_DENIED},
    {EXEC_EXITED, 11, "", "", HF_PATH_DENIED},
    {EXEC_EXITED, 4, "", "", HF_PATH_UNREACHABLE},
    {EXEC_EXITED, 5, "", "", HF_PATH_UNREACHABLE},
    /* fence-agents 4.12 end with 1 and say it in words */
    {EXEC_EXITED, 1, "", "ERROR: Unable to connect/login to fencing device\n", HF_PATH_DENIED},
    {EXEC_EXITED, 1, "", "ERROR: Failed: You have to set login password\n", HF_PATH_DENIED},
    {EXEC_EXITED, 1, "",
     "Failed: The user does not have the correct privileges to do the requested action.\n",
     HF_PATH_DENIED},
    {EXEC_EXITED, 1, "", "ERROR: Connection lost\n", HF_PATH_UNREACHABLE},
    {EXEC_EXITED, 1, "", "ERROR: Connection timed out\n", HF_PATH_UNREACHABLE},
    {EXEC_EXITED, 1, "", "ssh: connect to host login port 22: Connection refused\n",
     HF_PATH_UNREACHABLE},
    {EXEC_EXITED, 1, "Max retries exceeded with url: /redfish/v1\n", "", HF_PATH_UNREACHABLE},
    {EXEC_EXITED, 1, "", "ERROR: Please use '-h' for usage\n", HF_PATH_BROKEN},
    {EXEC_EXITED, 1, "", "", HF_PATH_BROKEN},
    {EXEC_EXITED, 8, "", "Unable to obtain correct plug status\n", HF_PATH_BROKEN},
    /* other ends */
    {EXEC_LATE, 9, "Status: ON\n", "", HF_PATH_UNREACHABLE},
    {EXEC_FLOODED, 9, "Status: ON\n", "", HF_PATH_BROKEN},
    {EXEC_SIGNALED, 11, "Status: ON\n", "", HF_PATH_BROKEN},
    {EXEC_KILLED, 9, "Status: ON\n", "", HF_PATH_UNKNOWN},
    {EXEC_RUNNING, 0, "Status: ON\n", "", HF_PATH_UNKNOWN},
    {EXEC_NEVER, 0, "", "", HF_PATH_UNKNOWN},
};

static struct verdict_run run_of(const struct row *row)
{
    return (struct verdict_run){.end = row->end,
                                .code = row->code,
                                .out = row->out,
                                .errors = row->errors,
                                .out_len = strlen(row->out),
                                .errors_len = strlen(row->errors)};
}

START_TEST(a_status_run_has_one_verdict)
{
    struct verdict_run run = run_of(&rows[_i]);

    ck_assert_int_eq(verdict_of_status(&run), rows[_i].found);
}
END_TEST

START_TEST(every_end_and_every_exit_status_is_decided)
{
    for (int end = EXEC_NEVER; end < EXEC_ENDS; end++) {
        struct verdict_run run = {.end = (enum exec_end)end, .code = _i, .out = "", .errors = ""};
        enum hf_path found = verdict_of_status(&run);

        ck_assert_int_ne(found, HF_PATH_OK); /* silence is never a path that works */
        ck_assert_int_ne(found, HF_PATH_WRONG_HOST);
        ck_assert_int_lt(found, HF_PATHS);
    }
}
END_TEST

START_TEST(only_a_catch_all_status_without_known_words_is_vague)
{
    struct row vague = {EXEC_EXITED, 1, "", "plug status or plug is not available\n", 0};
    struct verdict_run run = run_of(&vague);

    ck_assert(verdict_is_vague(&run));
    run.code = 8;
    ck_assert(verdict_is_vague(&run));
    run.code = 2;
    ck_assert(!verdict_is_vague(&run));
    run.code = 3;
    ck_assert(!verdict_is_vague(&run));
    run.code = 1;
    run.end = EXEC_FLOODED;
    ck_assert(!verdict_is_vague(&run));
    run.end = EXEC_EXITED;
    run.errors = "Connection timed out";
    run.errors_len = strlen(run.errors);
    ck_assert(!verdict_is_vague(&run));
}
END_TEST

static const struct row questions[] = {
    {EXEC_EXITED, 1, "", "> RAKP 2 HMAC is invalid\n", HF_PATH_DENIED},
    {EXEC_EXITED, 1, "", "Get Auth Capabilities error\n", HF_PATH_UNREACHABLE},
    {EXEC_EXITED, 1, "", "curl: (7) Failed to connect to 10.0.0.1 port 443\n", HF_PATH_UNREACHABLE},
    {EXEC_EXITED, 22, "", "curl: (22) The requested URL returned error: 401\n", HF_PATH_DENIED},
    {EXEC_EXITED, 22, "", "curl: (22) The requested URL returned error: 404\n", HF_PATH_UNKNOWN},
    {EXEC_EXITED, 0, "", "RAKP 2 HMAC is invalid\n", HF_PATH_UNKNOWN}, /* it answered */
    {EXEC_LATE, 9, "", "", HF_PATH_UNREACHABLE},
    {EXEC_FLOODED, 9, "", "login", HF_PATH_UNKNOWN},
    {EXEC_KILLED, 9, "", "", HF_PATH_UNKNOWN},
};

START_TEST(a_question_without_an_answer_says_why_or_nothing)
{
    struct verdict_run run = run_of(&questions[_i]);

    ck_assert_int_eq(verdict_of_question(&run), questions[_i].found);
}
END_TEST

START_TEST(a_file_of_ours_is_broken_and_our_own_trouble_is_unknown)
{
    ck_assert_int_eq(verdict_of_error(HF_ENOENT), HF_PATH_BROKEN);
    ck_assert_int_eq(verdict_of_error(HF_EACCESS), HF_PATH_BROKEN);
    ck_assert_int_eq(verdict_of_error(HF_EINVAL), HF_PATH_BROKEN);
    ck_assert_int_eq(verdict_of_error(HF_EIO), HF_PATH_UNKNOWN);
    for (int code = 0; code < HF_CODES; code++)
        ck_assert_int_ne(verdict_of_error((enum hf_code)code), HF_PATH_OK);
}
END_TEST

struct privilege {
    const char *key, *value;
    bool is_enough;
};

static const struct privilege privileges[] = {
    {"privlvl", "user", false},    {"privlvl", "callback", false},
    {"privlvl", "operator", true}, {"privlvl", "administrator", true},
    {"username", "user", true},    {"ip", "callback", true},
};

START_TEST(a_privilege_that_only_reads_is_not_enough)
{
    struct exec_param params[2] = {{"ip", "10.0.0.1"}, {privileges[_i].key, privileges[_i].value}};

    ck_assert_int_eq(verdict_privilege(params, 2) == NULL, privileges[_i].is_enough);
    ck_assert_ptr_null(verdict_privilege(params, 1));
    ck_assert_ptr_null(verdict_privilege(params, 0));
}
END_TEST

struct level {
    uint8_t count;
    struct verdict_device device[3];
    struct verdict_level level;
};

static const struct level levels[] = {
    {1, {{HF_PATH_OK, 0}}, {HF_PATH_OK, 0, 0, 0, false}},
    {1, {{HF_PATH_OK, 7}}, {HF_PATH_OK, 7, 0, 0, false}},
    {1, {{HF_PATH_DENIED, 0}}, {HF_PATH_DENIED, 0, 0, 0, false}},
    {2, {{HF_PATH_OK, 0}, {HF_PATH_OK, 7}}, {HF_PATH_OK, 7, 0, 0, false}},
    {2, {{HF_PATH_OK, 7}, {HF_PATH_DENIED, 0}}, {HF_PATH_DENIED, 7, 1, 0, false}},
    {2, {{HF_PATH_BROKEN, 0}, {HF_PATH_DENIED, 0}}, {HF_PATH_BROKEN, 0, 0, 0, false}},
    {2, {{HF_PATH_UNKNOWN, 0}, {HF_PATH_OK, 0}}, {HF_PATH_UNKNOWN, 0, 0, 0, false}},
    {2, {{HF_PATH_OK, 0}, {HF_PATH_UNKNOWN, 0}}, {HF_PATH_UNKNOWN, 0, 1, 0, false}},
    {2, {{HF_PATH_UNKNOWN, 0}, {HF_PATH_DENIED, 0}}, {HF_PATH_DENIED, 0, 1, 0, false}},
    {2, {{HF_PATH_OK, 7}, {HF_PATH_OK, 7}}, {HF_PATH_OK, 7, 0, 0, false}},
    {2, {{HF_PATH_OK, 7}, {HF_PATH_OK, 8}}, {HF_PATH_BROKEN, 7, 0, 1, true}},
    {3, {{HF_PATH_OK, 0}, {HF_PATH_OK, 7}, {HF_PATH_OK, 8}}, {HF_PATH_BROKEN, 7, 1, 2, true}},
    {3, {{HF_PATH_DENIED, 0}, {HF_PATH_OK, 7}, {HF_PATH_OK, 8}}, {HF_PATH_BROKEN, 7, 1, 2, true}},
};

START_TEST(a_level_is_as_good_as_its_weakest_device)
{
    const struct verdict_level *want = &levels[_i].level;
    struct verdict_level got = verdict_of_level(levels[_i].device, levels[_i].count);

    ck_assert_int_eq(got.found, want->found);
    ck_assert_uint_eq(got.hardware, want->hardware);
    ck_assert_uint_eq(got.device, want->device);
    ck_assert_uint_eq(got.other, want->other);
    ck_assert_int_eq(got.is_torn, want->is_torn);
}
END_TEST

HF_TEST_MAIN("fencing/verdict",
             HF_LOOP(a_status_run_has_one_verdict, 0, sizeof rows / sizeof rows[0]),
             HF_LOOP(every_end_and_every_exit_status_is_decided, 0, 256),
             HF_CASE(only_a_catch_all_status_without_known_words_is_vague),
             HF_LOOP(a_question_without_an_answer_says_why_or_nothing, 0,
                     sizeof questions / sizeof questions[0]),
             HF_CASE(a_file_of_ours_is_broken_and_our_own_trouble_is_unknown),
             HF_LOOP(a_privilege_that_only_reads_is_not_enough, 0,
                     sizeof privileges / sizeof privileges[0]),
             HF_LOOP(a_level_is_as_good_as_its_weakest_device, 0, sizeof levels / sizeof levels[0]))
