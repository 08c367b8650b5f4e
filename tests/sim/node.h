/* node.h - the shell of one node: the daemon's loop around a real replica. Its timers, its agents'
 * records, its orders, its disk. Simulates what supervisord/main.c wires, decides nothing. */
#ifndef TESTS_SIM_NODE_H
#define TESTS_SIM_NODE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "supervisord/act/lease.h"
#include "supervisord/act/nics.h"
#include "supervisord/act/paths.h"
#include "supervisord/cluster/replica.h"
#include "supervisord/engine/engine.h"
#include "tests/sim/options.h"

enum { NODE_REPORTS_MAX = 256, NODE_RESULTS_MAX = 8, NODE_FENCES_MAX = 16 };

struct node_report {
    enum hf_event_type type; /* FACTS INVENTORY VM DONE; nothing else */
    int64_t at;
    bool is_read; /* by the daemon, whose outbox had no room for it */
    hf_vm_uid uid;
    uint32_t start_no;
    enum hf_seen seen;
    struct hf_token token;
    enum hf_outcome outcome;
    bool watch_known;
    uint64_t as_of; /* INVENTORY: what its daemon had applied when it was made */
    uint8_t count;
    struct hf_vm_seen vm[SIM_VMS_MAX];
};

struct node_timer {
    struct hf_token token; /* none: free */
    uint32_t gen;
    bool is_due; /* ran out while the daemon was paused */
    int64_t at;  /* true time; 0 = not armed */
};

struct node_fence {
    bool is_used, is_over, is_power_on;
    struct hf_token token;
    hf_node target;
    uint8_t level;
    uint32_t gen;
    enum hf_outcome outcome;
};

struct sim_node {
    struct sim *sim;
    hf_node me;
    bool is_alive, is_paused; /* the daemon */
    bool is_connected;        /* to corosync */
    uint32_t pid, gen;
    uint64_t incarnation;
    struct replica *replica;
    enum replica_phase phase;
    uint32_t tick_gen;
    int64_t tick_at;
    uint32_t retries; /* of connecting */
    bool disk_hangs;
    bool is_damaged; /* what is stored is not what was written */
    bool forgot;     /* and it began anew from that; until it holds the group's state again */
    uint8_t *stored; /* the newest state on its disk */
    size_t stored_len, stored_cap;
    uint8_t *saved; /* what was there before */
    size_t saved_len;
    uint32_t unsaved; /* steps since */
    bool config_differs;
    bool link_unfit;    /* corosync does not count our votes as it should */
    bool keeps_pid;     /* the next daemon gets the number of the last one */
    struct lease lease; /* the daemon's own objects */
    struct paths paths;
    struct nics nics;
    bool dog_waits; /* a feeder's record, while the daemon was paused */
    int64_t lease_at, paths_at, nics_at;
    uint32_t lease_gen, paths_gen, nics_gen;
    struct hf_report tested;    /* of the path test under way */
    hf_nodes view_ring;         /* of the newest view its daemon has been told */
    struct node_report *report; /* ring */
    uint32_t report_first, report_count;
    bool has_report_event;
    struct node_report result[NODE_RESULTS_MAX]; /* newest results, told again after a restart */
    uint32_t results;
    struct hf_effect *given; /* orders that may be performed and are still wanted */
    uint32_t given_count;
    struct hf_effect *late; /* given out, to be performed when its corosync has no more for it */
    uint32_t late_count;
    struct node_timer *timer;
    struct node_fence fence[NODE_FENCES_MAX];
    struct replay *journal; /* NULL: none is kept */
    uint64_t asked;         /* the agent was asked for an inventory that is made after this step */
    uint64_t cookie;
    uint64_t cookie_done; /* newest own event applied since the last synchronisation */
};

struct sim;
struct sim_event;
void node_open(struct sim *s, hf_node n);
void node_close(struct sim *s, hf_node n);

void node_daemon_start(struct sim *s, hf_node n);
/* is_torn: the newest records are lost. */
void node_daemon_kill(struct sim *s, hf_node n, bool is_torn);
void node_daemon_pause(struct sim *s, hf_node n);
void node_daemon_resume(struct sim *s, hf_node n);
/* Its corosync is gone. */
void node_apart(struct sim *s, hf_node n);
void node_connect_soon(struct sim *s, hf_node n);
/* An agent's record, on its way with a delay. */
void node_report(struct sim *s, hf_node n, struct node_report report);
void node_agent_connected(struct sim *s, hf_node n);
void node_agent_lost(struct sim *s, hf_node n);
void node_facts(struct sim *s, hf_node n);
/* An operator's order given at this node; false: it is not in a position to take one. */
bool node_order(struct sim *s, hf_node n, const struct hf_event *order);
/* A daemon that says what it should not. */
void node_submit(struct sim *s, hf_node n, const struct hf_event *ev);
/* Its corosync has nothing more for it: perform what is still wanted. */
void node_perform(struct sim *s, hf_node n);
void node_reschedule(struct sim *s, hf_node n);
hf_time node_clock(const struct sim *s, hf_node n);
/* True time that passes while the node's clock advances by `ns`. */
int64_t node_true_ns(const struct sim *s, hf_node n, int64_t ns);
/* Its clock is `ns` further all at once. */
void node_clock_jumps(struct sim *s, hf_node n, int64_t ns);
/* Its engine timers, leases and tests hold no event that quiet must not skip. */
bool node_is_steady(const struct sim *s, hf_node n);
const struct engine *node_engine(const struct sim *s, hf_node n);
void node_event(struct sim *s, const struct sim_event *ev);

#endif
