#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervisord/act/agents.h"
#include "tests/unit/check.h"

static struct agents *a;
static hf_time now = {7000000000};
static int watched[64];
static unsigned watched_count, joined, changed, told;
static enum hf_report_kind last_told;
static bool wants_write;

static void watch(void *user, int fd, bool write_too)
{
    (void)user;
    wants_write = write_too;
    for (unsigned i = 0; i < watched_count; i++)
        if (watched[i] == fd)
            return;
    watched[watched_count++] = fd;
}

static void unwatch(void *user, int fd)
{
    (void)user;
    for (unsigned i = 0; i < watched_count; i++)
        if (watched[i] == fd) {
            watched[i] = watched[--watched_count];
            return;
        }
    ck_abort_msg("descriptor %d was not watched", fd);
}

static void on_joined(void *user, enum hf_agent_kind kind, hf_time at)
{
    (void)user;
    (void)kind;
    (void)at;
    joined++;
}

static void on_changed(void *user, enum hf_agent_kind kind, hf_time at)
{
    (void)user;
    (void)kind;
    (void)at;
    changed++;
}

static void on_told(void *user, enum hf_agent_kind kind, const struct hf_report *report, hf_time at)
{
    (void)user;
    (void)kind;
    (void)at;
    told++;
    last_told = report->kind;
}

static void on_ask(void *user, hf_time at)
{
    struct hf_report report = {.kind = HF_REPORT_ASK};

    (void)user;
    (void)at;
    (void)agents_tell(a, HF_AGENT_VM, &report, -1);
}

static void setup(void)
{
    struct agents_ports ports = {NULL, watch, unwatch, on_joined, on_changed, on_told, on_ask};
    struct hf_err err;

    ck_assert_int_eq(agents_open(&a, -1, NULL, &ports, &err), HF_OK);
}

static void teardown(void)
{
    agents_close(a);
    ck_assert_uint_eq(watched_count, 0);
}

/* Returns the agent's end. */
static int come(uid_t uid)
{
    struct door_peer peer = {.pid = 4711, .uid = uid, .in_group = true};
    int pair[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
                     0);
    agents_adopt(a, pair[0], &peer, now);
    return pair[1];
}

static void turn(void)
{
    int fds[64];
    unsigned count = watched_count;

    memcpy(fds, watched, sizeof fds);
    for (unsigned i = 0; i < count; i++)
        agents_ready(a, fds[i], now);
}

static void say(int fd, const struct hf_report *report)
{
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    size_t len = report_encode(report, bytes);

    ck_assert_int_eq(send(fd, bytes, len, MSG_NOSIGNAL), (ssize_t)len);
    turn();
}

static void hello(int fd, enum hf_agent_kind kind)
{
    struct hf_report report = {.kind = HF_REPORT_HELLO};

    report.u.hello.agent = kind;
    report.u.hello.pid = 4711;
    say(fd, &report);
}

static void watch_report(int fd)
{
    struct hf_report report = {.kind = HF_REPORT_WATCH};

    report.u.watch.known = true;
    say(fd, &report);
}

static bool is_closed(int fd)
{
    char byte;

    return recv(fd, &byte, 1, 0) == 0;
}

START_TEST(hello_makes_an_agent)
{
    int fd = come(0);

    ck_assert(!agents_look(a, HF_AGENT_VM).is_connected);
    hello(fd, HF_AGENT_VM);
    ck_assert(agents_look(a, HF_AGENT_VM).is_connected);
    ck_assert(agents_look(a, HF_AGENT_VM).is_fresh);
    ck_assert_uint_eq(joined, 1);
    watch_report(fd);
    ck_assert_uint_eq(told, 1);
    close(fd);
    turn();
    ck_assert(!agents_look(a, HF_AGENT_VM).is_connected);
    ck_assert_uint_eq(changed, 2);
}
END_TEST

START_TEST(a_stranger_is_no_agent)
{
    int fd = come(12345);

    ck_assert(is_closed(fd));
    close(fd);
}
END_TEST

START_TEST(what_does_not_begin_with_hello_is_shown_out)
{
    int fd = come(0);

    if (_i == 0)
        watch_report(fd);
    else {
        ck_assert_int_eq(send(fd, "\1\377\0junk", 7, 0), 7);
        turn();
    }
    ck_assert(is_closed(fd));
    close(fd);
}
END_TEST

START_TEST(a_mute_newcomer_is_shown_out_in_time)
{
    int fd = come(0);

    ck_assert_int_eq(agents_deadline(a).ns, hf_time_add_ms(now, AGENTS_HELLO_MS).ns);
    now = hf_time_add_ms(now, AGENTS_HELLO_MS);
    agents_tick(a, now);
    ck_assert(is_closed(fd));
    close(fd);
}
END_TEST

START_TEST(newcomers_are_bounded)
{
    int fds[AGENTS_NEWCOMERS_MAX + 1];

    for (unsigned i = 0; i <= AGENTS_NEWCOMERS_MAX; i++)
        fds[i] = come(0);
    ck_assert(is_closed(fds[AGENTS_NEWCOMERS_MAX]));
    for (unsigned i = 0; i <= AGENTS_NEWCOMERS_MAX; i++)
        close(fds[i]);
}
END_TEST

START_TEST(a_newer_agent_replaces_the_older_one)
{
    int first = come(0), second;

    hello(first, HF_AGENT_VM);
    second = come(0);
    hello(second, HF_AGENT_VM);
    ck_assert(is_closed(first));
    ck_assert(agents_look(a, HF_AGENT_VM).is_connected);
    watch_report(second);
    ck_assert_uint_eq(told, 1);
    close(first);
    close(second);
}
END_TEST

START_TEST(bad_bytes_end_the_connection_and_nothing_else)
{
    int fd = come(0), host = come(0);

    hello(fd, HF_AGENT_VM);
    hello(host, HF_AGENT_HOST);
    ck_assert_int_eq(send(fd, "\1\5", 2, 0), 2);
    turn();
    ck_assert(is_closed(fd));
    ck_assert(!agents_look(a, HF_AGENT_VM).is_connected);
    ck_assert(agents_look(a, HF_AGENT_HOST).is_connected);
    close(fd);
    close(host);
}
END_TEST

START_TEST(an_agent_may_not_speak_as_the_daemon)
{
    struct hf_report report = {.kind = HF_REPORT_ASK};
    int fd = come(0);

    hello(fd, HF_AGENT_VM);
    say(fd, &report);
    ck_assert(is_closed(fd));
    ck_assert_uint_eq(told, 0);
    close(fd);
}
END_TEST

/* A feeder that is broken or taken over cannot tell what became of VMs, nor of fence orders. */
START_TEST(an_agent_may_not_speak_for_another)
{
    struct hf_report done = {.kind = HF_REPORT_DONE}, watchdog = {.kind = HF_REPORT_WATCHDOG};
    int feeder = come(0), fencer = come(0);

    done.u.done.token = (struct hf_token){1, 1};
    hello(feeder, HF_AGENT_FEEDER);
    hello(fencer, HF_AGENT_FENCE);
    say(feeder, &watchdog);
    say(fencer, &done);
    ck_assert_uint_eq(told, 2);
    say(feeder, &done);
    ck_assert(is_closed(feeder));
    say(fencer, &watchdog);
    ck_assert(is_closed(fencer));
    ck_assert_uint_eq(told, 2);
    close(feeder);
    close(fencer);
}
END_TEST

START_TEST(a_silent_host_agent_turns_stale_and_fresh_again)
{
    struct hf_report report = {.kind = HF_REPORT_HOST};
    int fd = come(0);

    report.u.host.memory_mib = 1000;
    hello(fd, HF_AGENT_HOST);
    now = hf_time_add_ms(now, AGENTS_HOST_STALE_MS - 1);
    agents_tick(a, now);
    ck_assert(agents_look(a, HF_AGENT_HOST).is_fresh);
    now = hf_time_add_ms(now, 1);
    agents_tick(a, now);
    ck_assert(!agents_look(a, HF_AGENT_HOST).is_fresh);
    ck_assert(agents_look(a, HF_AGENT_HOST).is_connected);
    say(fd, &report);
    ck_assert(agents_look(a, HF_AGENT_HOST).is_fresh);
    close(fd);
}
END_TEST

START_TEST(a_vm_agent_is_asked_and_stale_when_it_does_not_answer)
{
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    struct hf_report report;
    struct hf_err err;
    int fd = come(0);

    hello(fd, HF_AGENT_VM);
    for (unsigned i = 0; i < 3; i++) {
        ssize_t len;

        now = hf_time_add_ms(now, AGENTS_ASK_MS);
        agents_tick(a, now);
        len = recv(fd, bytes, sizeof bytes, 0);
        ck_assert_int_gt(len, 0);
        ck_assert_int_eq(report_decode(bytes, (size_t)len, &report, &err), HF_OK);
        ck_assert_int_eq(report.kind, HF_REPORT_ASK);
    }
    ck_assert(!agents_look(a, HF_AGENT_VM).is_fresh);
    close(fd);
}
END_TEST

START_TEST(what_an_agent_does_not_read_waits_and_then_ends_it)
{
    struct hf_report report = {.kind = HF_REPORT_VMS};
    int fd = come(0);
    unsigned sent = 0;
    uint8_t bytes[HF_REPORT_BYTES_MAX];

    report.u.vms.uid = 1;
    strcpy(report.u.vms.name, "vm1");
    hello(fd, HF_AGENT_VM);
    while (!wants_write && agents_tell(a, HF_AGENT_VM, &report, -1))
        sent++;
    ck_assert(wants_write);
    while (recv(fd, bytes, sizeof bytes, 0) > 0)
        ;
    turn();
    ck_assert(!wants_write); /* the rest went out */
    ck_assert_int_gt(recv(fd, bytes, sizeof bytes, 0), 0);
    for (sent = 0; sent < 4 * AGENTS_QUEUE_MAX; sent++)
        if (!agents_tell(a, HF_AGENT_VM, &report, -1))
            break;
    ck_assert_uint_lt(sent, 4 * AGENTS_QUEUE_MAX);
    ck_assert(!agents_look(a, HF_AGENT_VM).is_connected);
    close(fd);
}
END_TEST

START_TEST(nobody_there_is_said)
{
    struct hf_report report = {.kind = HF_REPORT_ASK};

    ck_assert(!agents_tell(a, HF_AGENT_VM, &report, -1));
    ck_assert_str_eq(agents_look(a, HF_AGENT_FENCE).why, "never connected");
}
END_TEST

HF_TEST_MAIN_WITH("act/agents", setup, teardown, HF_CASE(hello_makes_an_agent),
                  HF_CASE(a_stranger_is_no_agent),
                  HF_LOOP(what_does_not_begin_with_hello_is_shown_out, 0, 2),
                  HF_CASE(a_mute_newcomer_is_shown_out_in_time), HF_CASE(newcomers_are_bounded),
                  HF_CASE(a_newer_agent_replaces_the_older_one),
                  HF_CASE(bad_bytes_end_the_connection_and_nothing_else),
                  HF_CASE(an_agent_may_not_speak_as_the_daemon),
                  HF_CASE(an_agent_may_not_speak_for_another),
                  HF_CASE(a_silent_host_agent_turns_stale_and_fresh_again),
                  HF_CASE(a_vm_agent_is_asked_and_stale_when_it_does_not_answer),
                  HF_CASE(what_an_agent_does_not_read_waits_and_then_ends_it),
                  HF_CASE(nobody_there_is_said))
