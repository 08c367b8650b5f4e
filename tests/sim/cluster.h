/* cluster.h - corosync as the members see it: rings, agreed delivery with virtual synchrony, CPG
 * lists, and every way in which that disappoints.
 * A ring stalls when one of its members cannot pass the token; what the token holder sent in that
 * instant may be known to itself only. */
#ifndef TESTS_SIM_CLUSTER_H
#define TESTS_SIM_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/cluster/replica.h"
#include "supervisord/model/ids.h"

enum message_kind {
    MESSAGE_DATA = 1,
    MESSAGE_JOIN,
    MESSAGE_LEAVE,
    MESSAGE_STRANGER_JOIN, /* of a second process on that node */
    MESSAGE_STRANGER_LEAVE
};

struct message {
    uint32_t refs;
    uint32_t len;
    uint32_t nodeid, pid;
    enum message_kind kind;
    uint8_t bytes[];
};

struct message_list {
    struct message **at;
    uint32_t first, count, cap; /* at[first .. count) */
};

struct ring {
    bool is_used;
    struct hf_view id;
    hf_nodes members;
    bool is_stalled;
    bool has_token_event;
    bool last_instant_gone; /* its token holder has spoken */
    uint32_t gen;
    struct message_list log;
};

/* One corosync process. */
struct corosync {
    bool is_alive, is_paused;
    uint8_t ring; /* index; RINGS_MAX = none yet */
    uint32_t got; /* entries of the ring's log received */
    bool has_hole;
    uint64_t newest_seq;          /* of a ring it was in; kept over restarts */
    struct message_list waiting;  /* accepted, without a place */
    int64_t held_until;           /* TRY_AGAIN: nothing is taken from `waiting` before */
    uint32_t lose_next;           /* of its messages, accepted and never sent */
    uint32_t client_pid;          /* connected daemon */
    uint32_t joined_pid;          /* whose join was delivered here */
    uint32_t peers[HF_NODES_MAX]; /* pid by node, 0 = none */
    uint32_t ghosts[HF_NODES_MAX];
    uint32_t strangers[HF_NODES_MAX];
    uint32_t stranger_pid; /* another process here has joined the group */
    uint32_t stranger_words;
    bool loses_large; /* packets beyond the path's size vanish */
    uint32_t gen;     /* of the process */
};

/* What a corosync has for its daemon. */
struct client_item {
    bool is_view;
    struct message *message;
    struct hf_view view;
    hf_nodes ring;
    uint8_t peers_count;
    struct replica_peer peers[3 * HF_NODES_MAX];
};

struct client_queue {
    struct client_item *at;
    uint32_t first, count, cap;
    bool has_event;
};

enum { RINGS_MAX = 32, TOTEM_HEARD_MAX = 16, TOTEM_SMALL_BYTES = 1200 };

struct totem {
    struct ring ring[RINGS_MAX];
    struct corosync coro[HF_NODES_MAX];
    struct client_queue client[HF_NODES_MAX];
    hf_nodes cut[HF_NODES_MAX]; /* cut[a] has b: what a sends does not reach b */
    uint32_t reform_gen;
    bool has_reform;
    int64_t reform_at;
    hf_node stops_after; /* this node's daemon is stopped right after its next message */
    hf_node last_words;  /* cut this node off right after its next message; HF_NO_NODE = off */
    uint8_t last_words_fault;
    struct message *heard[TOTEM_HEARD_MAX]; /* kept by a stranger, to be said again */
    int64_t excluded_since[HF_NODES_MAX];   /* a majority's ring formed without it then; 0 = none */
    uint64_t last_instants, old_views, dropped, ghosts_shown;
};

struct sim;
struct sim_event;
void totem_open(struct sim *s);
void totem_close(struct sim *s);

/* The daemon's side. */
void totem_connect(struct sim *s, hf_node n, uint32_t pid);
void totem_disconnect(struct sim *s, hf_node n); /* the daemon died */
void totem_mcast(struct sim *s, hf_node n, const void *bytes, size_t len);
void totem_client(struct sim *s, hf_node n); /* SIM_CLIENT */
/* It has read everything. */
bool totem_client_is_idle(const struct sim *s, hf_node n);
void totem_client_wake(struct sim *s, hf_node n);

/* Another process on n joins the group under n's node id, says noise or old things, and leaves. */
void totem_stranger_joins(struct sim *s, hf_node n, uint32_t words);
void totem_stranger_speaks(struct sim *s, hf_node n, uint32_t gen); /* SIM_STRANGER */

/* The corosync process. */
void totem_start(struct sim *s, hf_node n);
void totem_stop(struct sim *s, hf_node n, bool is_clean);
void totem_pause(struct sim *s, hf_node n);
void totem_resume(struct sim *s, hf_node n);
void totem_hold(struct sim *s, hf_node n, int64_t until); /* TRY_AGAIN */

/* The wires. */
void totem_cut(struct sim *s, hf_node from, hf_node to, bool is_cut);
void totem_cut_off(struct sim *s, hf_nodes part); /* both ways between part and the rest */
void totem_heal(struct sim *s, hf_nodes among);
void totem_glitch(struct sim *s, hf_node n); /* a new ring with the same members */
void totem_wires_changed(struct sim *s);

void totem_event(struct sim *s, const struct sim_event *ev); /* TOKEN RECEIVE REFORM */
/* Members of the ring n's corosync is in; none when it is in no ring. */
hf_nodes totem_members(const struct sim *s, hf_node n);

#endif
