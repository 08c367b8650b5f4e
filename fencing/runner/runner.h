/* runner.h - fence orders from the daemon, performed: several targets at a time, one run each.
 * It decides nothing about nodes: it is told a target and a level, reads that level's devices from
 * the configuration text that rides on the order, and answers once. Refuses to work for nobody:
 * when the daemon's connection is gone, its runs are killed, since no one could use their result.
 * Never blocks but in runner_wait(). */
#ifndef FENCING_RUNNER_RUNNER_H
#define FENCING_RUNNER_RUNNER_H

#include <poll.h>
#include <stdbool.h>

#include "fencing/exec.h"
#include "fencing/plan.h"
#include "supervisord/base/clock.h"
#include "supervisord/base/err.h"
#include "supervisord/config/config.h"
#include "supervisord/wire/report.h"

enum {
    RUNNER_FDS_MAX = HF_NODES_MAX * HF_FENCE_DEVICES_MAX * 2 * EXEC_FDS + 2,
    RUNNER_QUEUE_MAX = 64, /* answers for a daemon that is slow to read; more ends the connection */
};

struct runner_settings {
    const char *agents;      /* /usr/sbin */
    const char *credentials; /* /etc/holdfast/fence.d */
};

struct runner_device {
    struct hf_fence_device def;
    struct exec_run off, status; /* status is spawned early and fed only after every off */
};

struct runner_order {
    bool is_used;
    struct hf_token token;
    char target[HF_NAME_MAX + 1];
    uint8_t level;
    hf_time began, deadline;
    struct plan plan;
    bool off_told[HF_FENCE_DEVICES_MAX];
    struct runner_device device[HF_FENCE_DEVICES_MAX];
};

struct runner { /* large (megabytes, most never touched): calloc it */
    struct runner_settings settings;
    int door; /* -1: no daemon */
    unsigned queue_count;
    struct hf_report queue[RUNNER_QUEUE_MAX];
    struct hf_config config; /* scratch of one order's start */
    struct runner_order order[HF_NODES_MAX];
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
/* Descriptors to wait for, and the next deadline (INT64_MAX ns: none). */
size_t runner_poll(const struct runner *r, struct pollfd fds[RUNNER_FDS_MAX], hf_time *deadline);
/* Read orders, drive runs, send answers. HF_ECLOSED or HF_EBAD: the daemon's connection is over;
 * call runner_disconnect(). */
enum hf_code runner_go_on(struct runner *r, hf_time now, struct hf_err *err);

#endif
