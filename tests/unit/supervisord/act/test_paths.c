/* Self-tests of the fence paths, against an engine and a runner that answer what they are told. */
#include <string.h>

#include "supervisord/act/paths.h"
#include "tests/unit/supervisord/engine/trio.h"

enum { MAX = 64 };

static struct paths p;
static hf_time now;
static struct hf_report asked[MAX];
static unsigned asked_count, news_count;
static struct hf_event said[MAX];
static unsigned said_count;
static uint64_t answered;
static const struct hf_report *answer;
static bool runner_takes;

static const struct engine *port_engine(void *user)
{
    (void)user;
    return &t.e;
}

static enum hf_code port_submit(void *user, const struct hf_event *ev, struct hf_err *err)
{
    (void)user;
    (void)err;
    said[said_count++] = *ev;
    return HF_OK;
}

static bool port_tell(void *user, const struct hf_report *report)
{
    (void)user;
    ck_assert_int_eq(report->kind, HF_REPORT_TEST);
    ck_assert_uint_lt(asked_count, MAX);
    asked[asked_count++] = *report;
    return runner_takes;
}

static void port_tested(void *user, uint64_t cookie, const struct hf_report *tested)
{
    (void)user;
    answered = cookie;
    answer = tested;
}

static void port_news(void *user, hf_node target, uint8_t level, const struct hf_report *tested)
{
    (void)user;
    (void)target;
    (void)level;
    (void)tested;
    news_count++;
}

/* `self` is this node: the lowest other member tests. */
static void begin(uint32_t self_nodeid)
{
    static const struct paths_ports ports = {NULL,      port_engine, port_submit,
                                             port_tell, port_tested, port_news};

    form(3);
    now = (hf_time){1000000000};
    runner_takes = true;
    paths_init(&p, self_nodeid, &ports);
    paths_runner(&p, true, now);
    paths_group(&p, true, now);
}

static void pass(uint32_t ms)
{
    for (hf_time end = hf_time_add_ms(now, ms); now.ns < end.ns;) {
        now = hf_time_add_ms(now, 100);
        if (hf_time_reached(now, paths_deadline(&p)))
            paths_turn(&p, now);
    }
}

static struct hf_report found(enum hf_path path, uint64_t hardware)
{
    struct hf_report report = {.kind = HF_REPORT_TESTED};

    report.u.tested.number = asked[asked_count - 1].u.test.number;
    report.u.tested.found = path;
    report.u.tested.hardware = hardware;
    strcpy(report.u.tested.why, "bmc-n2: exit 3: Unable to connect");
    return report;
}

static void tells(enum hf_path path, uint64_t hardware)
{
    struct hf_report report = found(path, hardware);

    paths_told(&p, &report, now);
}

static void apply(void)
{
    for (unsigned i = 0; i < said_count; i++) {
        said[i].from = (hf_node){0};
        step(said[i]);
    }
    said_count = 0;
}

START_TEST(the_first_member_tests_the_others_at_once_one_at_a_time)
{
    begin(1);
    pass(100);
    ck_assert_uint_eq(asked_count, 1);
    ck_assert_str_eq(asked[0].u.test.target, "n2");
    pass(5000);
    ck_assert_uint_eq(asked_count, 1);
    tells(HF_PATH_OK, 0);
    pass(500);
    ck_assert_uint_eq(asked_count, 2);
    ck_assert_str_eq(asked[1].u.test.target, "n3");
}
END_TEST

START_TEST(the_second_tests_the_first_and_the_third_nobody)
{
    begin(2);
    pass(300);
    ck_assert_uint_eq(asked_count, 1);
    ck_assert_str_eq(asked[0].u.test.target, "n1");
    asked_count = 0;
    begin(3);
    pass(PATHS_EVERY_MS * 2);
    ck_assert_uint_eq(asked_count, 0);
}
END_TEST

START_TEST(every_minute_again_and_only_news_goes_to_the_group)
{
    begin(2);
    pass(300);
    tells(HF_PATH_OK, 7);
    ck_assert_uint_eq(said_count, 1);
    ck_assert_uint_eq(said[0].u.path.target.ix, 0);
    ck_assert_uint_eq(said[0].u.path.hardware, 7);
    apply();
    pass(PATHS_EVERY_MS + 500);
    ck_assert_uint_eq(asked_count, 2);
    tells(HF_PATH_OK, 7);
    ck_assert_uint_eq(said_count, 0);
    pass(PATHS_EVERY_MS + 500);
    tells(HF_PATH_UNKNOWN, 0); /* an order came first */
    ck_assert_uint_eq(said_count, 0);
    pass(PATHS_EVERY_MS + 500);
    tells(HF_PATH_DENIED, 0);
    ck_assert_uint_eq(said_count, 1);
    ck_assert_uint_eq(news_count, 2);
    ck_assert_str_eq(paths_why(&p, (hf_node){0}, 0), "bmc-n2: exit 3: Unable to connect");
}
END_TEST

START_TEST(a_device_that_answers_well_for_another_host_is_no_news_for_ever)
{
    begin(2);
    t.e.nodes[0].hardware = 5;
    pass(300);
    tells(HF_PATH_OK, 7);
    apply();
    ck_assert_int_eq(engine_node(&t.e, (hf_node){0}).path[0], HF_PATH_WRONG_HOST);
    pass(PATHS_EVERY_MS + 500);
    tells(HF_PATH_OK, 7);
    ck_assert_uint_eq(said_count, 0);
    pass(PATHS_EVERY_MS + 500);
    tells(HF_PATH_OK, 5);
    apply();
    ck_assert_int_eq(engine_node(&t.e, (hf_node){0}).path[0], HF_PATH_OK);
}
END_TEST

START_TEST(an_operators_test_comes_first_and_is_answered)
{
    struct hf_err err;

    begin(3);
    ck_assert_int_eq(paths_test(&p, (hf_node){1}, 0, 42, now, &err), HF_OK);
    pass(200);
    ck_assert_uint_eq(asked_count, 1);
    ck_assert_str_eq(asked[0].u.test.target, "n2");
    tells(HF_PATH_UNREACHABLE, 0);
    ck_assert_uint_eq(answered, 42);
    ck_assert_ptr_nonnull(answer);
    ck_assert_int_eq(paths_test(&p, (hf_node){1}, 1, 43, now, &err), HF_EINVAL);
    ck_assert_int_eq(paths_test(&p, (hf_node){9}, 0, 43, now, &err), HF_EINVAL);
}
END_TEST

START_TEST(nobody_waits_for_ever_for_a_test)
{
    struct hf_err err;

    begin(3);
    ck_assert_int_eq(paths_test(&p, (hf_node){1}, 0, 42, now, &err), HF_OK);
    pass(3 * PATHS_DEADLINE_MS);
    ck_assert_uint_eq(answered, 42);
    ck_assert_ptr_null(answer);
    ck_assert_int_eq(paths_test(&p, (hf_node){1}, 0, 43, now, &err), HF_OK);
    pass(100);
    paths_runner(&p, false, now);
    ck_assert_uint_eq(answered, 43);
    ck_assert_int_eq(paths_test(&p, (hf_node){1}, 0, 44, now, &err), HF_EAGAIN);
    tells(HF_PATH_OK, 0); /* of a test that was given up */
    ck_assert_uint_eq(said_count, 0);
}
END_TEST

START_TEST(operators_tests_are_bounded)
{
    struct hf_err err;

    begin(3);
    for (unsigned i = 0; i < PATHS_ASKED_MAX; i++)
        ck_assert_int_eq(paths_test(&p, (hf_node){1}, 0, 1 + i, now, &err), HF_OK);
    ck_assert_int_eq(paths_test(&p, (hf_node){1}, 0, 99, now, &err), HF_EFULL);
}
END_TEST

START_TEST(a_failover_is_not_disturbed_by_tests)
{
    begin(1);
    t.e.nodes[0].path[0].found = t.e.nodes[1].path[0].found = t.e.nodes[2].path[0].found =
        HF_PATH_OK;
    running_on(a_vm("a"), 2);
    paths_group(&p, true, now);
    host_gone(2);
    pass(PATHS_SETTLE_MS + 3000);
    ck_assert_uint_eq(asked_count, 0);
    result(0, t.e.nodes[2].order, HF_OUT_DONE);
    pass(PATHS_SETTLE_MS + 1000);
    ck_assert_uint_eq(asked_count, 1);
}
END_TEST

START_TEST(who_is_being_fenced_is_not_tested)
{
    begin(1);
    running_on(a_vm("a"), 2);
    host_gone(2);
    ck_node(2, HF_NODE_FENCING);
    pass(PATHS_EVERY_MS / 2);
    ck_assert_uint_eq(asked_count, 0);
}
END_TEST

HF_TEST_MAIN("act/paths", HF_CASE(the_first_member_tests_the_others_at_once_one_at_a_time),
             HF_CASE(the_second_tests_the_first_and_the_third_nobody),
             HF_CASE(every_minute_again_and_only_news_goes_to_the_group),
             HF_CASE(a_device_that_answers_well_for_another_host_is_no_news_for_ever),
             HF_CASE(an_operators_test_comes_first_and_is_answered),
             HF_CASE(nobody_waits_for_ever_for_a_test), HF_CASE(operators_tests_are_bounded),
             HF_CASE(a_failover_is_not_disturbed_by_tests),
             HF_CASE(who_is_being_fenced_is_not_tested))
