/* agent.h - the frame of every agent: the door to the daemon, a loop, and what survives both.
 * An agent outlives the daemon: it reconnects for ever (50 ms to 2 s between tries), says hello,
 * tells its whole truth and the results of orders again. It never judges the daemon and never ends
 * because of it. One thread owns the frame; other threads reach it only through a descriptor it
 * watches. */
#ifndef AGENTS_AGENT_H
#define AGENTS_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/err.h"
#include "supervisord/wire/report.h"

#define AGENT_DOOR "/run/holdfast/agent.sock"

struct agent;

/* What a kind of agent does. All calls come from agent_run's thread; none may block. */
struct agent_calls {
    /* Connected, hello is sent: put everything the daemon must know. */
    void (*joined)(void *user, hf_time now);
    /* A record of the daemon. `ride` is a descriptor the callee owns now, or -1. */
    void (*told)(void *user, const struct hf_report *report, int ride, hf_time now);
    /* A watched descriptor is readable (or was: check). */
    void (*ready)(void *user, int fd, hf_time now);
    /* After every round of the loop. Returns when to be called again at the latest. */
    hf_time (*tick)(void *user, hf_time now);
};

struct agent_setup {
    enum hf_agent_kind kind;
    const char *door;               /* path, borrowed for ever */
    int stop_fd;                    /* borrowed; readable = end (a signalfd, an eventfd) */
    const char *notify;             /* systemd's NOTIFY_SOCKET, or NULL; borrowed */
    uint32_t watchdog_ms;           /* systemd's WATCHDOG_USEC in ms, 0 = none */
    const struct agent_calls *calls;
    void *user;
};

/* Self-health, for logs and tests. */
struct agent_health {
    uint64_t rounds, connects, refused; /* refused: records of the daemon that did not decode */
    uint64_t progress_dropped;
    int64_t longest_round_ms;           /* a round that took long delays every order behind it */
};

enum hf_code agent_open(struct agent **agent, const struct agent_setup *setup, struct hf_err *err);
void agent_close(struct agent *agent);
/* Until stop_fd is readable. HF_EIO when the loop itself cannot go on. */
enum hf_code agent_run(struct agent *agent, struct hf_err *err);

enum hf_code agent_watch(struct agent *agent, int fd, struct hf_err *err);
/* Before the descriptor is closed. */
void agent_unwatch(struct agent *agent, int fd);

/* Queue a report; it is sent in this round or as soon as the daemon is there and reads. */
void agent_put(struct agent *agent, const struct hf_report *report);
/* This order ended already? Then its result is told again and the caller is done. */
bool agent_repeat(struct agent *agent, struct hf_token token);
bool agent_is_connected(const struct agent *agent);
struct agent_health agent_health(const struct agent *agent);

#endif
