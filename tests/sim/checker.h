/* checker.h - the judge. It knows what is physically so and what was asked for, and takes nothing
 * from the engine but what every replica did at which place of the order. Rules: README.md. */
#ifndef TESTS_SIM_CHECKER_H
#define TESTS_SIM_CHECKER_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/cluster/replica.h"
#include "supervisord/engine/engine.h"
#include "tests/sim/options.h"
#include "tests/sim/world.h"

enum {
    CHECKER_STEPS = 4096, /* newest places of the order that are remembered */
    CHECKER_INCIDENTS = 16
};

struct checker_step {
    uint64_t seq, epoch, lineage;
    struct hf_view view;
    uint64_t decision, digest;   /* hashes; digest 0 = not taken */
    hf_nodes did;                /* who has ever applied it */
    hf_nodes holds;              /* whose present state stems from it */
    uint64_t said[HF_NODES_MAX]; /* what each of them decided and has; 0 = is not known */
    uint64_t within; /* of them, what was said by a node whose view was not over; 0 = nothing */
    bool is_beyond;  /* recorded by a node whose view was over: perhaps by nobody else */
    bool is_order;   /* an operator's, taken; the checker learns it when a majority has */
    bool is_learned; /* it has */
    bool wants_run;
    uint8_t order;
    hf_node node;
    hf_vm_uid uid;
};

/* One VM as its owner and the world know it. */
struct checker_vm {
    bool is_added;
    bool wants_run;
    bool was_relearned;    /* orders about it may have been lost with a history */
    bool has_target;       /* it was to be moved; until it is placed */
    bool ended_on_purpose; /* last end by hand or by the guest, or started by hand */
    hf_node last_host;     /* of the newest process */
    uint32_t last_start_no;
    bool is_over;   /* that process has ended */
    bool over_told; /* and its host's agent has said so, or its host lost power */
    uint32_t starts;
    uint32_t bad_starts; /* ordered starts since it was stable or an order */
    int64_t started_at;
    uint32_t crashes;
    struct hf_token end_token;   /* of the stop order that ended it, until the group has heard so */
    uint32_t late_ends;          /* ends by a stop whose result came too late to count */
    struct hf_token start_token; /* of a start that went well, until the group has heard so */
    struct hf_vm_def def;
};

struct checker_fence {
    struct hf_token token; /* newest that was performed */
    int64_t at;
    uint32_t count;
    uint32_t quick;         /* attempts in a row without a pause */
    struct hf_token proved; /* the run that was last learnt of: a late reader tells nothing new */
    bool is_proved;         /* the group knows that a run ended well; it has not been on since */
    int64_t proved_at;
    bool ordered; /* an operator wants it */
    int64_t ordered_at;
    int64_t excused_until; /* a stop there could not be proved */
    int64_t stop_at;       /* an order to stop something there is open since; 0 = none */
    int64_t on_since;
    uint64_t drained_seq;                    /* in maintenance since that step; 0 = is not */
    uint64_t undrained_seq;                  /* the newest end of one: no order before it counts */
    int64_t synced_since;                    /* as a participant, without a break; 0 = is not */
    uint32_t boot;                           /* of its newest participation; 0 = never took part */
    bool is_attested;                        /* in that boot: its watchdog is armed */
    bool has_left;                           /* in order, and has not been back */
    int64_t held_since, held_until;          /* it announced to be away; 0 = not, or it is back */
    uint64_t wrong_seq[HF_FENCE_LEVELS_MAX]; /* the level was found to be another host's; 0 = no */
};

struct checker {
    struct checker_step *step; /* by seq % CHECKER_STEPS */
    uint64_t lineage;          /* the newest */
    uint64_t epoch;            /* of the newest view that began */
    struct checker_vm vm[SIM_VMS_MAX];
    struct checker_fence fence[HF_NODES_MAX];
    uint8_t node_state[HF_NODES_MAX][HF_NODES_MAX]; /* [replica][node] last known */
    uint8_t vm_state[HF_NODES_MAX][HF_VMS_MAX];
    uint32_t steps_minute, busiest_minute;
    uint64_t starts, fences, changes, order_steps;
    uint64_t proofs[HF_PROOFS], dog_resets, self_stops, pings;
    uint64_t leg_moves;
    int64_t incident[CHECKER_INCIDENTS]; /* nodes that the group decided to fence by itself */
    uint32_t incidents;
    uint64_t max_seq;
    int64_t last_cold;
};

struct sim;
void checker_open(struct sim *s);
void checker_close(struct sim *s);

/* A qemu process is about to exist. False: it must not (the run has failed or the disk's lock
 * holds). */
bool checker_vm_starts(struct sim *s, hf_node n, hf_vm_uid uid, uint32_t start_no,
                       struct hf_token token);
void checker_vm_ended(struct sim *s, hf_node n, hf_vm_uid uid, enum vm_end how);
/* It was started as ordered, and its agent says so. */
void checker_vm_started(struct sim *s, hf_vm_uid uid, struct hf_token order);
/* It is about to end by this order, about which its agent has perhaps given up already. */
void checker_vm_stops(struct sim *s, hf_vm_uid uid, struct hf_token order, bool gave_up);
/* An agent's record reaches n's daemon: what does it say about VMs that run there no more? */
struct node_report;
void checker_told(struct sim *s, hf_node n, const struct node_report *report);
/* A start ended without a running VM: refused, or nobody knew in time. */
void checker_start_failed(struct sim *s, hf_vm_uid uid);
void checker_host_off(struct sim *s, hf_node n);
void checker_host_on(struct sim *s, hf_node n);
void checker_stop_unproved(struct sim *s, hf_node n);
void checker_stop_proved(struct sim *s, hf_node n);

void checker_stepped(struct sim *s, hf_node n, const struct engine *e, const struct hf_event *ev,
                     const struct engine_out *out);
/* n's daemon is gone, and with it the state it held. */
void checker_daemon_gone(struct sim *s, hf_node n);
void checker_replaced(struct sim *s, hf_node n, const struct engine *e);
void checker_phase(struct sim *s, hf_node n, enum replica_phase now);
void checker_effect(struct sim *s, hf_node n, const struct hf_effect *fx);
/* Of a node, at the first replica that steps there. */
void checker_node_change(struct sim *s, const struct engine *e, const struct hf_event *ev,
                         const struct hf_change *c);
/* Of a VM, likewise: what NICs have to do with it. */
void checker_vm_change(struct sim *s, const struct engine *e, const struct hf_change *c);
void checker_members(struct sim *s, const struct hf_event *ev);
/* A history ends before its newest step. */
void checker_forgets(struct sim *s, const struct hf_event *ev);
void checker_attested(struct sim *s, const struct hf_event *ev);
void checker_storm_over(struct sim *s);
void checker_holds(struct sim *s, hf_node n, uint32_t ms);
/* A fence is performed; is_excused: an operator's, or for a stop that was not proved. */
void checker_shot(struct sim *s, const struct hf_effect *fx, bool is_excused);
/* A ping reaches a running watchdog; a watchdog has run out. */
struct feed_verdict;
/* is_late: it was stopped between its check and its ping. */
void checker_dog_fed(struct sim *s, hf_node n, const struct feed_verdict *v, bool is_late);
void checker_dog_fires(struct sim *s, hf_node n);
void checker_minute(struct sim *s);
/* Does everybody who has no leg where it runs go to where it would have one? */
typedef bool checker_has_room(struct sim *s, const struct checker_vm *v, hf_node n,
                              const struct engine *e);
bool checker_legs_content(struct sim *s, hf_nodes core, const struct engine *e,
                          checker_has_room *has_room, char *why, size_t cap);
/* End of the liveness phase. True: nothing is owed any more. */
bool checker_is_content(struct sim *s, hf_nodes core, char *why, size_t cap);

#endif
