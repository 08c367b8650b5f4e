/* lease.h - this node's side of its watchdog: what the feeder is told, what the group is told of
 * it, and the end of the node's VMs when the lease is over. The lease runs from the sending of the
 * newest own beat that the group has echoed; nothing that arrives later can stretch it. The
 * watchdog is armed last and closed only when everybody knows that it does not count any more. Does
 * no I/O of its own, decides nothing about other nodes. */
#ifndef SUPERVISORD_ACT_LEASE_H
#define SUPERVISORD_ACT_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/err.h"
#include "supervisord/engine/engine.h"
#include "supervisord/model/group.h"
#include "supervisord/wire/report.h"

enum {
    LEASE_SEND_MS = 500,      /* the feeder is told again so often, whatever happens */
    LEASE_WATCH_MS = 100,     /* while armed: the end of the lease is noticed so soon */
    LEASE_RELEASE_MS = 10000, /* a VM that comes back at once needs no closing and opening */
    LEASE_AGAIN_MS = 2000,    /* an attestation that was not applied is told again */
    LEASE_PAUSED_MS = 250,    /* a turn so late: we were not running */
    LEASE_GRACE_MS = 500,     /* then the group has so long to echo before our VMs end */
};

struct lease_ports {
    void *user;
    const struct engine *(*engine)(void *user); /* NULL: none */
    enum hf_code (*submit)(void *user, const struct hf_event *ev, struct hf_err *err);
    /* To the feeder (LEASE) or the VM agent (SELF_STOP). False: not connected. */
    bool (*tell)(void *user, enum hf_agent_kind kind, const struct hf_report *report);
};

struct lease {
    struct lease_ports ports;
    uint32_t own_nodeid;
    struct hf_watchdog_conf conf;
    bool is_synced, is_fit;
    hf_time synced_at; /* the last synchronisation; a beat sent later is this session's */
    hf_time echoed;    /* sending time of the newest echoed beat; 0 = none yet */
    bool has_feeder;
    struct hf_report feeder;  /* its last word, kept when it is gone */
    struct hf_token hold;     /* performed */
    hf_time hold_until;       /* 0 = no hold */
    struct hf_token disarmed; /* performed */
    bool is_releasing;        /* told the group that it does not count */
    bool is_released;         /* the group knows: the feeder may close */
    hf_time unwanted_since;   /* 0 = wanted */
    hf_time send_at, told_at;
    struct hf_event told;
    hf_time turn, awake_since;
    bool has_stopped; /* our VMs, for this end of the lease */
};

void lease_init(struct lease *l, uint32_t own_nodeid, const struct hf_watchdog_conf *conf,
                const struct lease_ports *ports);

/* The feeder's connection, and its reports. */
void lease_feeder(struct lease *l, bool is_connected, hf_time now);
void lease_told(struct lease *l, const struct hf_report *watchdog, hf_time now);
/* HF_FX_HOLD and HF_FX_DISARM of ours. */
void lease_effect(struct lease *l, const struct hf_effect *fx, hf_time now);
/* The group: synchronised or not, with a fit link and the group's own configuration. */
void lease_group(struct lease *l, bool is_synced, bool is_fit, hf_time now);
/* Sending time of our newest beat that was delivered back and echoed by a majority. */
void lease_echoed(struct lease *l, hf_time sent, hf_time now);
/* After every step, and at lease_deadline(). */
void lease_turn(struct lease *l, hf_time now);
hf_time lease_deadline(const struct lease *l);

struct lease_view {
    bool has_feeder;
    enum hf_watchdog state;
    const char *why, *identity;
    uint32_t timeout_ms, lease_ms;
    hf_time expires;    /* 0 = no lease yet */
    hf_time hold_until; /* 0 = no hold */
    bool was_reset;     /* this boot follows a reset by the watchdog */
};
struct lease_view lease_look(const struct lease *l);

#endif
