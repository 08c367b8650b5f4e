/* agents.h - the daemon's end of the agent door: one connection per kind of agent.
 * Only root or our own user may be an agent (members of the group `holdfast` may not). A newer
 * agent of a kind replaces the older one. What an agent sends is decoded here and handed up; one
 * that sends bytes that are no report, or does not read what it is sent, is dropped and comes back
 * by itself. An agent that is silent too long is stale: its data become unknown, never "stopped" or
 * "failed". Never blocks. */
#ifndef SUPERVISORD_ACT_AGENTS_H
#define SUPERVISORD_ACT_AGENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/err.h"
#include "supervisord/door/door.h"
#include "supervisord/wire/report.h"

enum {
    AGENTS_HELLO_MS = 2000, /* connected and has not said which kind it is */
    AGENTS_NEWCOMERS_MAX = 8,
    AGENTS_HOST_STALE_MS = 15000,  /* three of its periods of 5 s */
    AGENTS_ASK_MS = 10000,         /* the VM agent is asked for its inventory so often */
    AGENTS_VM_STALE_MS = 30000,    /* three of those */
    AGENTS_FEEDER_STALE_MS = 6000, /* three of its periods of 2 s */
    AGENTS_NIC_STALE_MS = 6000,    /* the same */
    /* The list of every VM, its end, and every order there can be. */
    AGENTS_QUEUE_MAX = HF_VMS_MAX + 1 + HF_EFFECTS_MAX,
};

struct agents_ports {
    void *user;
    void (*watch)(void *user, int fd, bool write_too); /* again for the same fd: changed */
    void (*unwatch)(void *user, int fd);               /* before it is closed */
    /* It said hello: send it what it must know. */
    void (*joined)(void *user, enum hf_agent_kind kind, hf_time now);
    /* Connection gone, fresh again or stale: look at agents_look(). */
    void (*changed)(void *user, enum hf_agent_kind kind, hf_time now);
    void (*told)(void *user, enum hf_agent_kind kind, const struct hf_report *report, hf_time now);
    /* It is time to ask the VM agent for its inventory again. */
    void (*ask)(void *user, hf_time now);
};

struct agents;

/* listen_fd is borrowed, and watched from now on. */
enum hf_code agents_open(struct agents **out, int listen_fd, const char *group,
                         const struct agents_ports *ports, struct hf_err *err);
void agents_close(struct agents *a);

/* A watched descriptor is ready. Unknown ones are ignored. */
void agents_ready(struct agents *a, int fd, hf_time now);
/* Take over a connected socket (tests, and agents_ready itself). */
void agents_adopt(struct agents *a, int fd, const struct door_peer *peer, hf_time now);
/* Send one report, and `ride` (borrowed, -1: none) with it. False: no such agent is connected. */
bool agents_tell(struct agents *a, enum hf_agent_kind kind, const struct hf_report *report,
                 int ride);
void agents_tick(struct agents *a, hf_time now);
hf_time agents_deadline(const struct agents *a);

struct agents_view {
    bool is_connected, is_fresh;
    pid_t pid;
    hf_wall since; /* of this combination */
    char why[HF_REASON_MAX + 1];
};
struct agents_view agents_look(const struct agents *a, enum hf_agent_kind kind);

#endif
