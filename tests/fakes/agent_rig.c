#include "tests/fakes/agent_rig.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "supervisord/door/door.h"

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "agent rig: %s\n", what);
        abort();
    }
}

void rig_open(struct agent_rig *rig)
{
    struct hf_err err;

    memset(rig, 0, sizeof *rig);
    strcpy(rig->folder, "/tmp/hf-agent-XXXXXX");
    must(mkdtemp(rig->folder) != NULL, "folder");
    (void)snprintf(rig->door, sizeof rig->door, "%s/agent.sock", rig->folder);
    rig->fd = -1;
    rig->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    must(rig->stop_fd >= 0, "eventfd");
    must(door_listen(rig->door, NULL, &rig->listen_fd, &err) == HF_OK, err.text);
}

struct agent_setup rig_setup(const struct agent_rig *rig, enum hf_agent_kind kind,
                             const struct agent_calls *calls, void *user)
{
    return (struct agent_setup){.kind = kind,
                                .door = rig->door,
                                .stop_fd = rig->stop_fd,
                                .calls = calls,
                                .user = user};
}

static void *run(void *user)
{
    struct agent_rig *rig = user;
    struct hf_err err = {.text = ""};

    must(agent_run(rig->agent, &err) == HF_OK, err.text);
    return NULL;
}

static bool wait_for(int fd, int ms)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};

    return poll(&one, 1, ms) == 1;
}

static void greet(struct agent_rig *rig, enum hf_agent_kind kind)
{
    struct hf_report hello;
    struct door_peer peer;
    struct hf_err err;

    must(wait_for(rig->listen_fd, RIG_WAIT_MS), "the agent does not connect");
    must(door_accept(rig->listen_fd, NULL, &rig->fd, &peer, &err) == HF_OK, "accept");
    hello = rig_await(rig, ~0u);
    must(hello.kind == HF_REPORT_HELLO, "the first record is not hello");
    must(hello.u.hello.agent == kind, "another kind of agent");
    must(hello.u.hello.pid == (uint32_t)getpid(), "another pid");
}

void rig_run(struct agent_rig *rig, enum hf_agent_kind kind)
{
    must(pthread_create(&rig->thread, NULL, run, rig) == 0, "thread");
    greet(rig, kind);
}

void rig_restart(struct agent_rig *rig, enum hf_agent_kind kind)
{
    close(rig->fd);
    greet(rig, kind);
}

void rig_stop(struct agent_rig *rig)
{
    static const uint64_t one = 1;

    must(write(rig->stop_fd, &one, sizeof one) == sizeof one, "stop");
    must(pthread_join(rig->thread, NULL) == 0, "join");
}

void rig_close(struct agent_rig *rig)
{
    agent_close(rig->agent);
    close(rig->fd);
    close(rig->listen_fd);
    close(rig->stop_fd);
    unlink(rig->door);
}

void rig_send(struct agent_rig *rig, const struct hf_report *report, int ride)
{
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    struct hf_err err;

    must(door_send(rig->fd, bytes, report_encode(report, bytes), ride, &err) == HF_OK, err.text);
    if (ride >= 0)
        close(ride);
}

static bool next(struct agent_rig *rig, struct hf_report *report, int ms)
{
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    struct hf_err err = {.text = ""};
    size_t len;

    if (!wait_for(rig->fd, ms))
        return false;
    must(door_receive(rig->fd, bytes, sizeof bytes, &len, NULL, &err) == HF_OK, err.text);
    must(report_decode(bytes, len, report, &err) == HF_OK, err.text);
    return true;
}

struct hf_report rig_await(struct agent_rig *rig, uint32_t kinds)
{
    struct hf_report report;

    do
        must(next(rig, &report, RIG_WAIT_MS), "a report did not come in time");
    while ((kinds & 1u << report.kind) == 0);
    return report;
}

bool rig_is_quiet(struct agent_rig *rig, uint32_t kinds, int ms)
{
    hf_time until = hf_time_add_ms(hf_clock_now(), ms);
    struct hf_report report;
    int64_t left;

    while ((left = hf_time_since_ms(until, hf_clock_now())) > 0) {
        if (next(rig, &report, (int)left) && (kinds & 1u << report.kind) != 0)
            return false;
    }
    return true;
}
