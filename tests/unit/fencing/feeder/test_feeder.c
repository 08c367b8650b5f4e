/* The real holdfast-feeder under the fake watchdog, with this program as its daemon. */
/* LINK: supervisord/door supervisord/wire */
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "fencing/feeder/feed.h"
#include "supervisord/door/door.h"
#include "supervisord/wire/report.h"
#include "tests/fakes/watchdog/record.h"
#include "tests/unit/check.h"

enum {
    W = 1000, /* the shortest timeout there is, so that tests are quick */
    L = 600,
    LATE = 400, /* a loaded machine; far below what a wrong rule would show */
    PATIENCE = 8000,
};

static char root[] = "/dev/shm/hf-feeder-XXXXXX"; /* a device is below /dev */
static char bin[PATH_MAX];
static struct watchdog_record *record;
static pid_t feeder, hardware;
static int door = -1, client = -1;

/* What the next LEASE says. */
static struct hf_report lease;
/* The newest report. */
static struct hf_report seen;

static const char *in_root(const char *name)
{
    static char path[4][256];
    static unsigned next;

    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", root, name);
    return path[next];
}

static void make_file(const char *name)
{
    FILE *file = fopen(in_root(name), "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fclose(file), 0);
}

static int64_t now_ms(void)
{
    return hf_clock_now().ns / HF_NS_PER_MS;
}

/* ---- processes ---- */

/* Programs of the build lie beside the folder of the unit tests. */
static void find_programs(void)
{
    ssize_t len = readlink("/proc/self/exe", bin, sizeof bin - 1);

    ck_assert_int_gt(len, 0);
    bin[len] = '\0';
    *strrchr(bin, '/') = '\0';
    *strrchr(bin, '/') = '\0';
    strcat(bin, "/bin");
}

static const char *program(const char *name)
{
    static char path[2][PATH_MAX + 64];
    static unsigned next;

    next = (next + 1) % 2;
    snprintf(path[next], sizeof path[next], "%s/%s", bin, name);
    return path[next];
}

static pid_t spawn(char *const argv[], bool is_faked)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (is_faked) {
        setenv("LD_PRELOAD", program("fake_watchdog.so"), 1);
        setenv("FAKE_WATCHDOG", in_root("record"), 1);
        setenv("FAKE_WATCHDOG_DEVICE", in_root("watchdog0"), 1);
        setenv("FAKE_WATCHDOG_STOP_FILE", in_root("stop"), 1);
        /* The fake comes before the sanitizer, and an undumpable process cannot be searched. */
        setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
    }
    execv(argv[0], argv);
    _exit(127);
}

static void start_feeder(void)
{
    char *argv[] = {(char *)(uintptr_t)program("holdfast-feeder"), "--door",
                    (char *)(uintptr_t)in_root("door"), NULL};

    feeder = spawn(argv, true);
}

static void start_hardware(void)
{
    char *argv[] = {(char *)(uintptr_t)program("fake-watchdog-hardware"),
                    (char *)(uintptr_t)in_root("record"), "/bin/true", NULL};

    hardware = spawn(argv, false);
}

static void end(pid_t *pid, int sig)
{
    if (*pid <= 0)
        return;
    kill(*pid, sig);
    waitpid(*pid, NULL, 0);
    *pid = 0;
}

static void setup(void)
{
    struct hf_err err;

    signal(SIGPIPE, SIG_IGN);
    find_programs();
    strcpy(root + sizeof root - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    make_file("watchdog0");
    record = watchdog_record_map(in_root("record"));
    ck_assert_ptr_nonnull(record);
    ck_assert_int_eq(door_listen(in_root("door"), NULL, &door, &err), HF_OK);
    lease = (struct hf_report){.kind = HF_REPORT_LEASE};
    lease.u.lease.wants_armed = true;
    lease.u.lease.timeout_ms = W;
    lease.u.lease.lease_ms = L;
    strcpy(lease.u.lease.device, in_root("watchdog0"));
}

static void teardown(void)
{
    char command[128];

    end(&feeder, SIGKILL);
    end(&hardware, SIGKILL);
    close(client);
    close(door);
    snprintf(command, sizeof command, "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
}

/* ---- the daemon's side ---- */

static bool take_report(int wait_ms)
{
    struct pollfd fd = {.fd = client, .events = POLLIN};
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    struct hf_err err;
    size_t len;

    if (poll(&fd, 1, wait_ms) <= 0)
        return false;
    ck_assert_int_eq(door_receive(client, bytes, sizeof bytes, &len, NULL, &err), HF_OK);
    ck_assert_int_eq(report_decode(bytes, len, &seen, &err), HF_OK);
    return true;
}

static void accept_feeder(void)
{
    struct pollfd fd = {.fd = door, .events = POLLIN};
    struct door_peer peer;
    struct hf_err err;

    ck_assert_int_eq(poll(&fd, 1, PATIENCE), 1);
    ck_assert_int_eq(door_accept(door, NULL, &client, &peer, &err), HF_OK);
    ck_assert(take_report(PATIENCE));
    ck_assert_int_eq(seen.kind, HF_REPORT_HELLO);
    ck_assert_int_eq(seen.u.hello.agent, HF_AGENT_FEEDER);
    ck_assert_uint_eq(seen.u.hello.pid, (uint32_t)peer.pid);
}

static void say(void)
{
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    struct hf_err err;

    ck_assert_int_eq(door_send(client, bytes, report_encode(&lease, bytes), -1, &err), HF_OK);
}

/* A beat that was sent now. */
static void beat(void)
{
    lease.u.lease.sent_ns = hf_clock_now().ns;
    say();
}

/* Beats every 100 ms until the feeder says this, or not. */
static bool says_while_beating(enum hf_watchdog state, int64_t ms)
{
    int64_t until = now_ms() + ms;

    while (now_ms() < until) {
        beat();
        while (take_report(100))
            if (seen.kind == HF_REPORT_WATCHDOG && seen.u.watchdog.state == state)
                return true;
    }
    return false;
}

/* Without any beat. */
static bool says(enum hf_watchdog state, const char *why)
{
    int64_t until = now_ms() + PATIENCE;

    while (now_ms() < until)
        if (take_report(100) && seen.kind == HF_REPORT_WATCHDOG && seen.u.watchdog.state == state &&
            strstr(seen.u.watchdog.why, why) != NULL)
            return true;
    return false;
}

static void arm(void)
{
    start_feeder();
    accept_feeder();
    ck_assert(says_while_beating(HF_WD_ARMED, PATIENCE));
}

/* Time itself is what is waited for: what must not happen has this long to happen. */
static void pass(int ms)
{
    ck_assert_int_eq(poll(NULL, 0, ms), 0);
}

#define UNTIL(condition_)                                                                          \
    do {                                                                                           \
        int64_t until_ = now_ms() + PATIENCE;                                                      \
        while (!(condition_)) {                                                                    \
            ck_assert_msg(now_ms() < until_, "%s", #condition_);                                   \
            pass(10);                                                                              \
        }                                                                                          \
    } while (0)

static int64_t sent_ms(void)
{
    return lease.u.lease.sent_ns / HF_NS_PER_MS;
}

/* No ping after this. */
static void never_pinged_after(int64_t ms)
{
    ck_assert_int_lt(record->last_ping_ns / HF_NS_PER_MS, ms);
}

/* ---- arming ---- */

START_TEST(nothing_is_opened_before_the_daemon_speaks)
{
    start_feeder();
    accept_feeder();
    ck_assert(says(HF_WD_UNKNOWN, "not said yet"));
    pass(300);
    ck_assert_uint_eq(record->opens, 0);
}
END_TEST

START_TEST(it_arms_last)
{
    start_feeder();
    accept_feeder();
    say();
    ck_assert(says(HF_WD_DISARMED, "armed last"));
    lease.u.lease.hold_until_ns = hf_clock_now().ns + 5000 * HF_NS_PER_MS;
    say();
    ck_assert(says(HF_WD_DISARMED, "a hold keeps fed"));
    ck_assert_uint_eq(record->opens, 0);
    lease.u.lease.hold_until_ns = 0;
    ck_assert(says_while_beating(HF_WD_ARMED, PATIENCE));
    ck_assert_uint_eq(record->opens, 1);
    ck_assert_uint_eq(record->is_armed, 1);
    ck_assert_uint_eq(record->timeout_s, W / 1000);
    ck_assert_uint_eq(seen.u.watchdog.timeout_ms, W);
    ck_assert_uint_eq(seen.u.watchdog.lease_ms, L);
    ck_assert_str_eq(seen.u.watchdog.identity, "Fake Hardware Watchdog");
    ck_assert_str_eq(seen.u.watchdog.why, "");
    ck_assert(!seen.u.watchdog.was_reset);
}
END_TEST

START_TEST(a_beat_from_the_future_arms_nothing)
{
    start_feeder();
    accept_feeder();
    lease.u.lease.sent_ns = hf_clock_now().ns + 60000 * HF_NS_PER_MS;
    say();
    ck_assert(says(HF_WD_DISARMED, "armed last"));
    pass(300);
    ck_assert_uint_eq(record->opens, 0);
}
END_TEST

START_TEST(what_the_driver_rounds_up_is_what_is_told)
{
    setenv("FAKE_WATCHDOG_ROUND", "2", 1);
    arm();
    ck_assert_uint_eq(seen.u.watchdog.timeout_ms, 2 * W);
    ck_assert_ptr_nonnull(strstr(seen.u.watchdog.why, "2 s of 1 s"));
}
END_TEST

START_TEST(a_reset_by_the_watchdog_is_told)
{
    setenv("FAKE_WATCHDOG_MODE", "wasreset", 1);
    arm();
    ck_assert(seen.u.watchdog.was_reset);
}
END_TEST

START_TEST(a_busy_device_names_its_holder)
{
    int held = open(in_root("watchdog0"), O_RDONLY | O_CLOEXEC);
    char holder[64];

    ck_assert_int_ge(held, 0);
    setenv("FAKE_WATCHDOG_MODE", "busy", 1);
    prctl(PR_SET_NAME, "holder");
    snprintf(holder, sizeof holder, "is held by holder (pid %d)", (int)getpid());
    start_feeder();
    accept_feeder();
    ck_assert(says_while_beating(HF_WD_BUSY, PATIENCE));
    ck_assert_ptr_nonnull(strstr(seen.u.watchdog.why, holder));
    close(held);
}
END_TEST

START_TEST(a_device_that_is_not_there_is_absent)
{
    strcat(lease.u.lease.device, "7");
    start_feeder();
    accept_feeder();
    ck_assert(says_while_beating(HF_WD_ABSENT, PATIENCE));
}
END_TEST

START_TEST(a_software_watchdog_is_refused_without_starting_it)
{
    setenv("FAKE_WATCHDOG_IDENTITY", "Software Watchdog", 1);
    start_feeder();
    accept_feeder();
    ck_assert(says_while_beating(HF_WD_SOFT, PATIENCE));
    ck_assert_uint_eq(record->opens, 0);
}
END_TEST

START_TEST(a_software_watchdog_that_sysfs_does_not_show_is_stopped_at_once)
{
    setenv("FAKE_WATCHDOG_IDENTITY", "Software Watchdog", 1);
    setenv("FAKE_WATCHDOG_MODE", "nosysfs", 1);
    start_feeder();
    accept_feeder();
    ck_assert(says_while_beating(HF_WD_SOFT, PATIENCE));
    ck_assert_uint_eq(record->opens, 1);
    ck_assert_uint_eq(record->clean_closes, 1);
    ck_assert_uint_eq(record->is_armed, 0);
}
END_TEST

START_TEST(a_software_watchdog_can_be_allowed)
{
    setenv("FAKE_WATCHDOG_IDENTITY", "Software Watchdog", 1);
    lease.u.lease.allow_softdog = true;
    arm();
    ck_assert_str_eq(seen.u.watchdog.identity, "Software Watchdog");
}
END_TEST

static const struct {
    const char *mode, *why;
} broken[] = {
    {"noop", "does not move"}, /* W is 2 s for this one: a second must show */
    {"noset", "cannot be set"},        {"nomagic", "MAGICCLOSE"},
    {"nostart", "Input/output error"}, {"noping", "takes no ping"},
};

START_TEST(a_device_that_does_not_obey_is_broken_and_not_armed)
{
    setenv("FAKE_WATCHDOG_MODE", broken[_i].mode, 1);
    lease.u.lease.timeout_ms = 2 * W;
    start_feeder();
    accept_feeder();
    ck_assert(says_while_beating(HF_WD_BROKEN, PATIENCE));
    ck_assert_ptr_nonnull(strstr(seen.u.watchdog.why, broken[_i].why));
    ck_assert_uint_eq(seen.u.watchdog.timeout_ms, 0);
    ck_assert_uint_eq(record->owner, 0);
}
END_TEST

START_TEST(a_device_is_tried_before_it_counts)
{
    lease.u.lease.timeout_ms = 2 * W;
    start_feeder();
    accept_feeder();
    ck_assert(says_while_beating(HF_WD_DISARMED, PATIENCE));
    UNTIL((beat(), record->opens == 1));
    ck_assert(says_while_beating(HF_WD_ARMED, PATIENCE));
    ck_assert_int_ge(now_ms() - record->opened_ns / HF_NS_PER_MS, W);
    ck_assert_uint_eq(seen.u.watchdog.timeout_ms, 2 * W);
}
END_TEST

/* ---- feeding ---- */

START_TEST(it_is_fed_while_beats_come)
{
    uint32_t pings;

    arm();
    start_hardware();
    pings = record->pings;
    ck_assert(!says_while_beating(HF_WD_DISARMED, 2 * W));
    ck_assert_uint_ge(record->pings - pings, FEED_PARTS);
    ck_assert_uint_le(record->pings - pings, 2 * FEED_PARTS + 1);
    ck_assert_uint_eq(record->has_fired, 0);
}
END_TEST

START_TEST(a_daemon_that_spins_lets_it_fire_in_time)
{
    arm();
    start_hardware();
    beat();
    ck_assert(says(HF_WD_ARMED, "about to be reset"));
    UNTIL(record->has_fired);
    never_pinged_after(sent_ms() + L + LATE / 4);
    ck_assert_int_lt(record->fired_ns / HF_NS_PER_MS, sent_ms() + L + W + LATE);
    ck_assert_uint_eq(record->clean_closes, 0);
}
END_TEST

START_TEST(a_daemon_that_is_gone_lets_it_fire_in_time)
{
    arm();
    start_hardware();
    beat();
    close(client);
    close(door);
    client = door = -1;
    UNTIL(record->pings > 0 && now_ms() > sent_ms() + L / 2);
    ck_assert_int_ge(record->last_ping_ns / HF_NS_PER_MS, sent_ms());
    UNTIL(record->has_fired);
    never_pinged_after(sent_ms() + L + LATE / 4);
    ck_assert_int_lt(record->fired_ns / HF_NS_PER_MS, sent_ms() + L + W + LATE);
}
END_TEST

START_TEST(stalled_between_check_and_ping_it_pings_once_too_often)
{
    uint32_t pings;
    int status;

    arm();
    beat();
    make_file("stop");
    ck_assert_int_eq(waitpid(feeder, &status, WUNTRACED), feeder);
    ck_assert(WIFSTOPPED(status));
    UNTIL(now_ms() > sent_ms() + L + 100);
    pings = record->pings;
    kill(feeder, SIGCONT);
    UNTIL(record->pings == pings + 1);
    pass(W);
    ck_assert_uint_eq(record->pings, pings + 1);
}
END_TEST

START_TEST(a_feeder_that_is_stopped_lets_it_fire)
{
    arm();
    start_hardware();
    kill(feeder, SIGSTOP);
    UNTIL((beat(), record->has_fired));
    kill(feeder, SIGCONT);
}
END_TEST

START_TEST(a_feeder_that_is_killed_lets_it_fire)
{
    arm();
    start_hardware();
    end(&feeder, SIGKILL);
    UNTIL(record->has_fired);
    ck_assert_int_lt(record->fired_ns, record->last_ping_ns + (W + LATE) * HF_NS_PER_MS);
}
END_TEST

START_TEST(a_late_lease_feeds_again)
{
    uint32_t pings;

    arm();
    start_hardware();
    ck_assert(says(HF_WD_ARMED, "about to be reset"));
    pings = record->pings;
    beat();
    UNTIL(record->pings > pings);
    ck_assert(!says_while_beating(HF_WD_DISARMED, 2 * W));
    ck_assert_uint_eq(record->has_fired, 0);
}
END_TEST

START_TEST(a_lease_that_became_longer_does_not_stretch)
{
    arm();
    lease.u.lease.lease_ms = 20 * L;
    beat();
    ck_assert(says(HF_WD_ARMED, "another lease"));
    ck_assert_uint_eq(seen.u.watchdog.lease_ms, L);
    ck_assert(says(HF_WD_ARMED, "about to be reset"));
    never_pinged_after(sent_ms() + L + LATE / 4);
}
END_TEST

START_TEST(a_hold_feeds_until_a_daemon_says_that_there_is_none)
{
    arm();
    start_hardware();
    ck_assert(!seen.u.watchdog.is_held);
    lease.u.lease.hold_until_ns = hf_clock_now().ns + 20000 * HF_NS_PER_MS;
    say();
    ck_assert(says(HF_WD_ARMED, "")); /* at once: the daemon may go now */
    ck_assert(seen.u.watchdog.is_held);
    close(client);
    client = -1;
    accept_feeder(); /* a new daemon, which has not spoken */
    UNTIL(now_ms() > sent_ms() + L + 2 * W);
    ck_assert_uint_eq(record->has_fired, 0);
    ck_assert(says(HF_WD_ARMED, ""));
    ck_assert(seen.u.watchdog.is_held);
    lease.u.lease.hold_until_ns = 0;
    say();
    ck_assert(says(HF_WD_ARMED, "about to be reset"));
    ck_assert(!seen.u.watchdog.is_held);
    UNTIL(record->has_fired);
}
END_TEST

START_TEST(words_that_make_no_sense_change_nothing)
{
    arm();
    ck_assert_int_eq(send(client, "\1\377garbage", 9, MSG_NOSIGNAL), 9);
    close(client);
    client = -1;
    accept_feeder();
    ck_assert(says_while_beating(HF_WD_ARMED, PATIENCE));
    ck_assert_uint_eq(record->opens, 1);
}
END_TEST

/* ---- the end ---- */

START_TEST(what_is_not_wanted_any_more_is_stopped_cleanly)
{
    arm();
    start_hardware();
    lease.u.lease.wants_armed = false;
    say();
    ck_assert(says(HF_WD_DISARMED, ""));
    ck_assert_uint_eq(record->is_armed, 0);
    ck_assert_uint_eq(record->clean_closes, 1);
    pass(W + LATE);
    ck_assert_uint_eq(record->has_fired, 0);
    lease.u.lease.wants_armed = true;
    ck_assert(says_while_beating(HF_WD_ARMED, PATIENCE));
    ck_assert_uint_eq(record->opens, 2);
}
END_TEST

START_TEST(what_cannot_be_stopped_is_fed_without_a_lease)
{
    uint32_t pings;

    setenv("FAKE_WATCHDOG_MODE", "nowayout", 1);
    arm();
    ck_assert_ptr_nonnull(strstr(seen.u.watchdog.why, "nowayout"));
    lease.u.lease.wants_armed = false;
    say();
    ck_assert(says(HF_WD_DISARMED, "cannot be stopped"));
    UNTIL(now_ms() > sent_ms() + L);
    pings = record->pings;
    UNTIL(record->pings > pings + 2);
    ck_assert_uint_eq(record->is_armed, 1);
}
END_TEST

START_TEST(sigterm_leaves_an_armed_device_armed)
{
    int status;

    arm();
    kill(feeder, SIGTERM);
    ck_assert_int_eq(waitpid(feeder, &status, 0), feeder);
    feeder = 0;
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    ck_assert_uint_eq(record->is_armed, 1);
    ck_assert_uint_eq(record->clean_closes, 0);
}
END_TEST

START_TEST(a_new_feeder_takes_over_what_runs)
{
    arm();
    end(&feeder, SIGKILL);
    close(client);
    client = -1;
    arm();
    ck_assert_uint_eq(record->opens, 2);
}
END_TEST

START_TEST(a_new_feeder_stops_what_runs_and_nobody_wants)
{
    arm();
    end(&feeder, SIGKILL);
    close(client);
    client = -1;
    ck_assert_uint_eq(record->is_armed, 1);
    start_feeder();
    accept_feeder();
    lease.u.lease.wants_armed = false;
    say();
    UNTIL(record->is_armed == 0);
    ck_assert(says(HF_WD_DISARMED, ""));
}
END_TEST

HF_TEST_MAIN_WITH(
    "fencing/feeder/feeder", setup, teardown, HF_CASE(nothing_is_opened_before_the_daemon_speaks),
    HF_CASE(it_arms_last), HF_CASE(a_beat_from_the_future_arms_nothing),
    HF_CASE(what_the_driver_rounds_up_is_what_is_told), HF_CASE(a_reset_by_the_watchdog_is_told),
    HF_CASE(a_busy_device_names_its_holder), HF_CASE(a_device_that_is_not_there_is_absent),
    HF_CASE(a_software_watchdog_is_refused_without_starting_it),
    HF_CASE(a_software_watchdog_that_sysfs_does_not_show_is_stopped_at_once),
    HF_CASE(a_software_watchdog_can_be_allowed),
    HF_LOOP(a_device_that_does_not_obey_is_broken_and_not_armed, 0,
            sizeof broken / sizeof broken[0]),
    HF_CASE(a_device_is_tried_before_it_counts), HF_CASE(it_is_fed_while_beats_come),
    HF_CASE(a_daemon_that_spins_lets_it_fire_in_time),
    HF_CASE(a_daemon_that_is_gone_lets_it_fire_in_time),
    HF_CASE(stalled_between_check_and_ping_it_pings_once_too_often),
    HF_CASE(a_feeder_that_is_stopped_lets_it_fire), HF_CASE(a_feeder_that_is_killed_lets_it_fire),
    HF_CASE(a_late_lease_feeds_again), HF_CASE(a_lease_that_became_longer_does_not_stretch),
    HF_CASE(a_hold_feeds_until_a_daemon_says_that_there_is_none),
    HF_CASE(words_that_make_no_sense_change_nothing),
    HF_CASE(what_is_not_wanted_any_more_is_stopped_cleanly),
    HF_CASE(what_cannot_be_stopped_is_fed_without_a_lease),
    HF_CASE(sigterm_leaves_an_armed_device_armed), HF_CASE(a_new_feeder_takes_over_what_runs),
    HF_CASE(a_new_feeder_stops_what_runs_and_nobody_wants))
