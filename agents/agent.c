#include "agents/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "agents/outbox.h"
#include "supervisord/base/log.h"
#include "supervisord/door/door.h"

enum {
    BACKOFF_MS_MIN = 50,   /* a restarted daemon is found again before anybody looks */
    BACKOFF_MS_MAX = 2000, /* a daemon that stays away costs nothing */
    STEADY_MS = 2000,      /* a connection this old resets the back-off */
    ROUND_EVENTS = 64,
    ROUND_RECORDS = 64,    /* per round, so that a flood does not starve pidfds */
    SLOW_ROUND_MS = 200,   /* worth a warning: nothing in a round may block */
};

struct agent {
    struct agent_setup setup;
    int epoll_fd, timer_fd, door_fd; /* door_fd -1: not connected */
    bool is_blocked;                 /* the daemon does not read: wait for room */
    bool is_running;
    bool was_told_lost;              /* one line per loss, not per try */
    uint32_t interest;               /* of door_fd in epoll */
    uint32_t backoff_ms;
    hf_time connected_at, retry_at, notify_at;
    struct agent_health health;
    struct agent_outbox outbox;
};

/* ---- descriptors ---- */

enum hf_code agent_watch(struct agent *agent, int fd, struct hf_err *err)
{
    struct epoll_event ev = {.events = EPOLLIN, .data = {.fd = fd}};

    if (epoll_ctl(agent->epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0)
        return hf_err_set(err, HF_EIO, "watch descriptor %d: %s", fd, strerror(errno));
    return HF_OK;
}

void agent_unwatch(struct agent *agent, int fd)
{
    (void)epoll_ctl(agent->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

/* ---- the door ---- */

static void lose(struct agent *agent, hf_time now, const char *why)
{
    if (agent->door_fd >= 0) {
        agent_unwatch(agent, agent->door_fd);
        close(agent->door_fd);
        agent->door_fd = -1;
        if (hf_time_since_ms(now, agent->connected_at) >= STEADY_MS)
            agent->backoff_ms = BACKOFF_MS_MIN;
    }
    if (!agent->was_told_lost)
        hf_warning("daemon: no connection: %s", why);
    agent->was_told_lost = true;
    agent->retry_at = hf_time_add_ms(now, agent->backoff_ms);
    agent->backoff_ms *= 2;
    if (agent->backoff_ms > BACKOFF_MS_MAX)
        agent->backoff_ms = BACKOFF_MS_MAX;
}

static enum hf_code say_hello(struct agent *agent, struct hf_err *err)
{
    struct hf_report hello = {.kind = HF_REPORT_HELLO};
    uint8_t bytes[HF_REPORT_BYTES_MAX];

    hello.u.hello.agent = agent->setup.kind;
    hello.u.hello.pid = (uint32_t)getpid();
    return door_send(agent->door_fd, bytes, report_encode(&hello, bytes), -1, err);
}

static void try_connect(struct agent *agent, hf_time now)
{
    struct hf_err err;

    if (agent->door_fd >= 0 || !hf_time_reached(now, agent->retry_at))
        return;
    if (door_connect(agent->setup.door, &agent->door_fd, &err) != HF_OK) {
        lose(agent, now, err.text);
        return;
    }
    agent->connected_at = now;
    agent->interest = EPOLLIN;
    agent->is_blocked = false;
    if (agent_watch(agent, agent->door_fd, &err) != HF_OK || say_hello(agent, &err) != HF_OK) {
        lose(agent, now, err.text);
        return;
    }
    agent->was_told_lost = false;
    agent->health.connects++;
    hf_info("daemon: connected at %s", agent->setup.door);
    agent_outbox_reconnected(&agent->outbox);
    agent->setup.calls->joined(agent->setup.user, now);
}

static void receive(struct agent *agent, hf_time now)
{
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    struct hf_report report;
    struct hf_err err;
    size_t len;
    int ride;

    for (int i = 0; i < ROUND_RECORDS && agent->door_fd >= 0; i++) {
        enum hf_code code;

        if (!agent_outbox_has_room(&agent->outbox))
            return;
        code = door_receive(agent->door_fd, bytes, sizeof bytes, &len, &ride, &err);
        if (code == HF_EAGAIN)
            return;
        if (code == HF_OK && report_decode(bytes, len, &report, &err) != HF_OK) {
            code = err.code;
            if (ride >= 0)
                close(ride);
        }
        if (code != HF_OK) {
            agent->health.refused += code == HF_EBAD;
            lose(agent, now, err.text);
            return;
        }
        if (report.kind == HF_REPORT_DROP)
            agent_outbox_forget(&agent->outbox, report.u.drop.token);
        agent->setup.calls->told(agent->setup.user, &report, ride, now);
    }
}

static void send_waiting(struct agent *agent, hf_time now)
{
    struct hf_err err;
    const uint8_t *bytes;
    size_t len;

    while (agent->door_fd >= 0 && (bytes = agent_outbox_next(&agent->outbox, &len)) != NULL) {
        enum hf_code code = door_send(agent->door_fd, bytes, len, -1, &err);

        agent->is_blocked = code == HF_EAGAIN;
        if (code == HF_EAGAIN)
            return;
        if (code != HF_OK) {
            lose(agent, now, err.text);
            return;
        }
        agent_outbox_sent(&agent->outbox);
    }
}

/* Wait for what can happen next at the door: a record if there is room for its result, space in the
 * socket if something waits. */
static void set_interest(struct agent *agent)
{
    uint32_t wanted = (agent_outbox_has_room(&agent->outbox) ? (uint32_t)EPOLLIN : 0u) |
                      (agent->is_blocked ? (uint32_t)EPOLLOUT : 0u);
    struct epoll_event ev = {.events = wanted, .data = {.fd = agent->door_fd}};

    if (agent->door_fd < 0 || wanted == agent->interest)
        return;
    if (epoll_ctl(agent->epoll_fd, EPOLL_CTL_MOD, agent->door_fd, &ev) == 0)
        agent->interest = wanted;
}

/* ---- systemd: ready, and alive as long as the loop turns ---- */

static void notify(struct agent *agent, hf_time now)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *text = agent->notify_at.ns == 0 ? "READY=1\nWATCHDOG=1" : "WATCHDOG=1";
    size_t len;
    int fd;

    if (agent->setup.notify == NULL || !hf_time_reached(now, agent->notify_at))
        return;
    agent->notify_at = agent->setup.watchdog_ms > 0
                           ? hf_time_add_ms(now, agent->setup.watchdog_ms / 3)
                           : (hf_time){INT64_MAX};
    len = strlen(agent->setup.notify);
    if (len == 0 || len >= sizeof address.sun_path)
        return;
    memcpy(address.sun_path, agent->setup.notify, len);
    if (address.sun_path[0] == '@')
        address.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    (void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
    close(fd);
}

/* ---- the loop ---- */

static void set_timer(struct agent *agent, hf_time at)
{
    struct itimerspec when = {.it_value = {.tv_sec = at.ns / 1000000000LL,
                                           .tv_nsec = at.ns % 1000000000LL}};

    if (at.ns <= 0)
        when.it_value = (struct timespec){.tv_nsec = 1};
    (void)timerfd_settime(agent->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static hf_time earlier(hf_time a, hf_time b)
{
    return a.ns < b.ns ? a : b;
}

/* What follows every batch of events: reconnect, decide, send, and set the clock for the next. */
static void end_round(struct agent *agent, hf_time began)
{
    hf_time now = hf_clock_now();
    hf_time next;
    int64_t took;

    try_connect(agent, now);
    next = agent->setup.calls->tick(agent->setup.user, now);
    send_waiting(agent, now);
    set_interest(agent);
    notify(agent, now);
    if (agent->door_fd < 0)
        next = earlier(next, agent->retry_at);
    if (agent->setup.notify != NULL)
        next = earlier(next, agent->notify_at);
    set_timer(agent, next);
    agent->health.rounds++;
    took = hf_time_since_ms(hf_clock_now(), began);
    if (took > SLOW_ROUND_MS)
        hf_warning("a round of the loop took %lld ms", (long long)took);
    if (took > agent->health.longest_round_ms)
        agent->health.longest_round_ms = took;
}

static void dispatch(struct agent *agent, const struct epoll_event *ev, hf_time now)
{
    uint64_t expirations;

    if (ev->data.fd == agent->setup.stop_fd) {
        agent->is_running = false;
    } else if (ev->data.fd == agent->timer_fd) {
        (void)!read(agent->timer_fd, &expirations, sizeof expirations);
    } else if (ev->data.fd == agent->door_fd) {
        if ((ev->events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
            receive(agent, now);
        agent->is_blocked = agent->is_blocked && (ev->events & EPOLLOUT) == 0;
    } else {
        agent->setup.calls->ready(agent->setup.user, ev->data.fd, now);
    }
}

enum hf_code agent_run(struct agent *agent, struct hf_err *err)
{
    struct epoll_event events[ROUND_EVENTS];
    hf_time began = hf_clock_now();

    agent->is_running = true;
    end_round(agent, began);
    while (agent->is_running) {
        int count = epoll_wait(agent->epoll_fd, events, ROUND_EVENTS, -1);

        if (count < 0 && errno != EINTR)
            return hf_err_set(err, HF_EIO, "epoll_wait: %s", strerror(errno));
        began = hf_clock_now();
        for (int i = 0; i < count; i++)
            dispatch(agent, &events[i], began);
        end_round(agent, began);
    }
    return HF_OK;
}

enum hf_code agent_open(struct agent **agent, const struct agent_setup *setup, struct hf_err *err)
{
    struct agent *a = calloc(1, sizeof *a);

    if (a == NULL)
        return hf_err_set(err, HF_EIO, "agent: out of memory");
    a->setup = *setup;
    a->door_fd = -1;
    a->backoff_ms = BACKOFF_MS_MIN;
    agent_outbox_init(&a->outbox);
    a->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    a->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (a->epoll_fd < 0 || a->timer_fd < 0)
        hf_err_set(err, HF_EIO, "agent: epoll and timer: %s", strerror(errno));
    else if (agent_watch(a, a->timer_fd, err) == HF_OK &&
             agent_watch(a, setup->stop_fd, err) == HF_OK) {
        *agent = a;
        return HF_OK;
    }
    agent_close(a);
    return err->code;
}

void agent_close(struct agent *agent)
{
    if (agent->door_fd >= 0)
        close(agent->door_fd);
    if (agent->epoll_fd >= 0)
        close(agent->epoll_fd);
    if (agent->timer_fd >= 0)
        close(agent->timer_fd);
    free(agent);
}

/* ---- for the kinds ---- */

void agent_put(struct agent *agent, const struct hf_report *report)
{
    if (!agent_outbox_put(&agent->outbox, report))
        hf_error("agent: no room for a report of kind %d", (int)report->kind);
}

bool agent_repeat(struct agent *agent, struct hf_token token)
{
    return agent_outbox_repeat(&agent->outbox, token);
}

bool agent_is_connected(const struct agent *agent)
{
    return agent->door_fd >= 0;
}

struct agent_health agent_health(const struct agent *agent)
{
    struct agent_health health = agent->health;

    health.progress_dropped = agent->outbox.dropped;
    return health;
}
