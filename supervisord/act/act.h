/* act.h - this node's part: perform the orders that are its own, run the timers, tell what it sees.
 * Orders come from the engine by way of the replica, which calls act_effect() only when they may be
 * performed. Each is known by its token, may come again, and is dropped when the engine does not
 * want it any more. Answers and observations go back as events, never as decisions. What an agent
 * does not say is unknown. Does no I/O of its own: agents, contents and the group are behind ports.
 */
#ifndef SUPERVISORD_ACT_ACT_H
#define SUPERVISORD_ACT_ACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/err.h"
#include "supervisord/engine/engine.h"
#include "supervisord/wire/report.h"

enum {
    ACT_FACTS_MS = 30000, /* unchanged facts are told again so often */
    ACT_RETRY_MS = 100,   /* an event that found the replica's outbox full */
    /* Every timer the engine can have armed, and as many that are over but not yet forgotten. */
    ACT_TIMERS_MAX = 2 * HF_EFFECTS_MAX,
};

struct act_ports {
    void *user;
    /* The state as it is now; NULL: none. */
    const struct engine *(*engine)(void *user);
    /* replica_submit(). */
    enum hf_code (*submit)(void *user, const struct hf_event *ev, struct hf_err *err);
    /* agents_tell(). */
    bool (*tell)(void *user, enum hf_agent_kind kind, const struct hf_report *report, int ride);
    /* A content by digest; NULL: not here, then want() asks for it and act_arrived() tells. */
    const void *(*content)(void *user, const struct hf_digest *digest, size_t *len);
    void (*want)(void *user, const struct hf_digest *digest);
    /* For the histories of all members. */
    void (*progress)(void *user, const struct hf_effect *order, enum hf_progress phase,
                     uint32_t pid);
    void (*outcome)(void *user, const struct hf_effect *order, enum hf_outcome outcome,
                    uint32_t took_ms, const char *why);
};

struct act;

enum hf_code act_open(struct act **out, uint32_t own_nodeid, const struct act_ports *ports,
                      struct hf_err *err);
void act_close(struct act *a);

/* ---- the group ---- */

/* In replica_ports.effect. */
void act_effect(struct act *a, const struct hf_effect *fx, hf_time now);
/* In replica_ports.resync: orders and timers that are not live any more are dropped; facts and
 * inventory are told anew. Until act_apart() events are submitted as they come. */
void act_resync(struct act *a, hf_time now);
/* The replica is not synchronised: only what must not be lost is submitted. */
void act_apart(struct act *a);
/* In replica_ports.stepped. */
void act_stepped(struct act *a, const struct hf_event *ev, const struct engine_out *out,
                 hf_time now);
/* A content is here. */
void act_arrived(struct act *a, const struct hf_digest *digest, hf_time now);

/* ---- the node ---- */

/* Ask the VM agent what runs here, as of now. */
void act_ask(struct act *a);
void act_agent_joined(struct act *a, enum hf_agent_kind kind, hf_time now);
void act_agent_changed(struct act *a, enum hf_agent_kind kind, bool is_connected, bool is_fresh,
                       hf_time now);
void act_told(struct act *a, enum hf_agent_kind kind, const struct hf_report *report, hf_time now);
/* Is corosync fit; is our file the running configuration. */
void act_link(struct act *a, bool is_fit, hf_time now);
void act_config(struct act *a, bool is_same, hf_time now);

/* Call at act_deadline() or later. */
void act_tick(struct act *a, hf_time now);
hf_time act_deadline(const struct act *a);

struct act_view {
    unsigned orders, timers;
    bool vm_watch_known;
    char vm_watch_why[HF_REASON_MAX + 1]; /* the agent's words when it does not know */
    uint64_t full; /* events that found the outbox full, timers that found no slot */
};
struct act_view act_look(const struct act *a);

#endif
