/* daemon.h - for the runner's tests: a runner on the fake agents, and the daemon's end of its door.
 */
#ifndef TESTS_UNIT_FENCING_RUNNER_DAEMON_H
#define TESTS_UNIT_FENCING_RUNNER_DAEMON_H

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

static inline const char *agents_of(const char *first, const char *second)
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

static inline void setup(void)
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
    settings.tools = settings.agents;
    r = calloc(1, sizeof *r);
    ck_assert_ptr_nonnull(r);
    runner_init(r, &settings);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
                     0);
    daemon_end = pair[1];
    ck_assert_int_eq(runner_connect(r, pair[0], &err), HF_OK);
}

static inline void teardown(void)
{
    runner_disconnect(r);
    free((void *)(uintptr_t)r->settings.credentials);
    free(r);
    close(daemon_end);
    world_teardown();
}

/* With the configuration as a rider. */
static inline void send_with(const struct hf_report *report, const char *text)
{
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    struct hf_err err;
    int ride = -1;

    ck_assert_int_eq(door_memory("config", text, strlen(text), &ride, &err), HF_OK);
    ck_assert_int_eq(door_send(daemon_end, bytes, report_encode(report, bytes), ride, &err), HF_OK);
    close(ride);
}

static inline struct hf_report order_of(const char *target, uint8_t level, uint64_t seq,
                                        uint32_t ms)
{
    struct hf_report report = {.kind = HF_REPORT_FENCE};

    report.u.fence.token = (struct hf_token){seq, 1};
    report.u.fence.level = level;
    report.u.fence.deadline_ms = ms;
    strcpy(report.u.fence.target, target);
    return report;
}

static inline void order(const char *target, uint8_t level, uint64_t seq, uint32_t ms,
                         const char *text)
{
    struct hf_report report = order_of(target, level, seq, ms);

    send_with(&report, text);
}

static inline void drop(uint64_t seq)
{
    struct hf_report report = {.kind = HF_REPORT_DROP};
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    struct hf_err err;

    report.u.drop.token = (struct hf_token){seq, 1};
    ck_assert_int_eq(door_send(daemon_end, bytes, report_encode(&report, bytes), -1, &err), HF_OK);
}

/* One turn of the runner's loop, waiting at most ms. */
static inline void turn(int64_t ms)
{
    struct pollfd fds[RUNNER_FDS_MAX];
    struct hf_err err;
    hf_time deadline;
    size_t count = runner_poll(r, fds, &deadline);

    ck_assert_int_ge(poll(fds, count, (int)ms), 0);
    ck_assert_int_eq(runner_go_on(r, hf_clock_now(), &err), HF_OK);
}

static inline bool receive(struct hf_report *report)
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

static inline struct hf_report wait_for(enum hf_report_kind kind)
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

static inline enum hf_outcome outcome_of(uint64_t seq)
{
    struct hf_report report = wait_for(HF_REPORT_DONE);

    ck_assert_uint_eq(report.u.done.token.seq, seq);
    ck_assert_ptr_null(strstr(report.u.done.why, "hunter2"));
    return report.u.done.outcome;
}

#endif
