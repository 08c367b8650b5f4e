/* runner.h - fence orders and self-tests from the daemon, performed: several targets at a time.
 * It decides nothing about nodes: it is told a target and a level, reads that level's devices from
 * the configuration text that rides on the order, and answers once. An order switches off (or on
 * again, when it says so), a test only asks. Refuses to work for nobody: when the daemon's
 * connection is gone, its runs are killed, since no one could use their result. */
#ifndef FENCING_RUNNER_RUNNER_H
#define FENCING_RUNNER_RUNNER_H

#include <poll.h>
#include <stdbool.h>

#include "fencing/exec.h"
#include "fencing/identity.h"
#include "fencing/plan.h"
#include "fencing/verdict.h"
#include "supervisord/base/clock.h"
#include "supervisord/base/err.h"
#include "supervisord/config/config.h"
#include "supervisord/wire/report.h"

enum {
    RUNNER_TESTS_MAX = HF_NODES_MAX, /* one level of every node at a time; more are not begun */
    RUNNER_FDS_MAX = (HF_NODES_MAX * 2 + RUNNER_TESTS_MAX) * HF_FENCE_DEVICES_MAX * EXEC_FDS + 2,
    RUNNER_QUEUE_MAX = 64, /* answers for a daemon that is slow to read; more ends the connection */
};

struct runner_settings {
    const char *agents;      /* /usr/sbin */
    const char *credentials; /* /etc/holdfast/fence.d */
    const char *tools;       /* /usr/bin: ipmitool and curl, for self-tests */
};

struct runner_device {
    struct hf_fence_device def;
    struct exec_run off;    /* or on, in an order that is_power_on */
    struct exec_run status; /* spawned early and fed only after every off */
};

struct runner_order {
    bool is_used;
    bool is_power_on;
    struct hf_token token;
    char target[HF_NAME_MAX + 1];
    uint8_t level;
    hf_time began, deadline;
    struct plan plan;
    bool off_told[HF_FENCE_DEVICES_MAX];
    struct runner_device device[HF_FENCE_DEVICES_MAX];
};

enum runner_stage {
    RUNNER_ASKING = 0,  /* the agent's status is under way */
    RUNNER_IDENTIFYING, /* which host does it switch? */
    RUNNER_TRIED,
};

struct runner_trial {
    struct hf_fence_device def;
    enum runner_stage stage;
    enum identity_way way; /* while identifying */
    struct verdict_device result;
    char why[HF_REASON_MAX + 1];
    struct exec_run run;
};

struct runner_test {
    bool is_used, is_hurried;
    uint32_t number;
    char target[HF_NAME_MAX + 1];
    uint8_t level, devices_count;
    hf_time began, deadline;
    hf_time hurry_at; /* until then with spare processor time only */
    struct runner_trial device[HF_FENCE_DEVICES_MAX];
};

struct runner { /* large (megabytes, most never touched): calloc it */
    struct runner_settings settings;
    int door; /* -1: no daemon */
    unsigned queue_count;
    struct hf_report queue[RUNNER_QUEUE_MAX];
    struct hf_config config; /* scratch of one order's start */
    struct runner_order order[HF_NODES_MAX];
    struct runner_test test[RUNNER_TESTS_MAX];
};

/* r is zeroed memory; settings' strings are kept. */
void runner_init(struct runner *r, const struct runner_settings *settings);
/* A new connection to the daemon: says hello. The runner owns the descriptor. */
enum hf_code runner_connect(struct runner *r, int door, struct hf_err *err);
/* The daemon is gone: every run is killed. */
void runner_disconnect(struct runner *r);
/* One order against `target` as text[len] says. Answers through the door, also when it cannot. */
void runner_fence(struct runner *r, const struct hf_report *fence, const char *text, size_t len,
                  hf_time now);
/* One self-test: `status` of every device of a level, and which host it switches; never off. Runs
 * with processor time that nobody else wants, at first. An order against its target ends it. */
void runner_test(struct runner *r, const struct hf_report *test, const char *text, size_t len,
                 hf_time now);
/* Descriptors to wait for, and the next deadline (INT64_MAX ns: none). */
size_t runner_poll(const struct runner *r, struct pollfd fds[RUNNER_FDS_MAX], hf_time *deadline);
/* Read orders, drive runs, send answers. HF_ECLOSED or HF_EBAD: the daemon's connection is over;
 * call runner_disconnect(). */
enum hf_code runner_go_on(struct runner *r, hf_time now, struct hf_err *err);

#endif
