/* internal.h - the engine's state and what its files share. Nobody else includes it (tests may).
 * Rules of the folder: decide first, then change, then emit; states change only in node_apply() and
 * vm_apply(); possible sets change only in vm.c. */
#ifndef SUPERVISORD_ENGINE_INTERNAL_H
#define SUPERVISORD_ENGINE_INTERNAL_H

#include "supervisord/base/assert.h"
#include "supervisord/engine/engine.h"

/* What an armed timer is for; its subject is where it is kept. */
enum purpose {
    FOR_NOTHING = 0,
    FOR_GRACE,          /* node silent: safety, a majority must have waited */
    FOR_FENCE_DEADLINE, /* node: the executor had its time */
    FOR_FENCE_RETRY,    /* node: back-off between attempts */
    FOR_GONE,           /* node: reads off; it must leave the ring, too */
    FOR_MAINTENANCE,    /* node */
    FOR_STARTUP,        /* group: safety, a majority must have waited */
    FOR_BACKOFF,        /* VM */
    FOR_START_DEADLINE, /* VM */
    FOR_STOP_DEADLINE,  /* VM */
    FOR_STABLE,         /* VM */
    FOR_SAFE_TIME,      /* node lost: its watchdog; safety, a majority must have waited */
    FOR_HOLD,           /* node: announced absence; safety, likewise */
    FOR_SETTLE,         /* node: no VMs until it has stayed */
    FOR_FLAP,           /* node: its returns are forgotten then */
    FOR_POWER_ON,       /* node: the executor had its time */
    FOR_STORM,          /* group: fences are forgotten then */
    FOR_LEGS,           /* VM: none of its legs carries; moved then */
    PURPOSES
};

struct timer {
    struct hf_token token;
    uint32_t after_ms;
    uint8_t purpose; /* FOR_NOTHING: not armed */
    hf_nodes votes;  /* who said it ran out; counted for safety timers */
};

/* Why a node has to die though it may be present. */
enum sentence { SENTENCE_NONE = 0, SENTENCE_OPERATOR, SENTENCE_ESCALATED, SENTENCES };

/* What a node said of its watchdog: in force until it says otherwise, also over its death. */
struct attest {
    uint8_t state; /* enum hf_watchdog */
    bool is_held;
    uint32_t timeout_ms, lease_ms; /* > 0 when armed */
    uint16_t version;
    char identity[HF_WATCHDOG_NAME_MAX + 1];
};

/* One fence level as its last self-test found it. */
struct path {
    uint8_t found;     /* enum hf_path */
    uint64_t hardware; /* what its devices say they switch; 0 = they do not tell */
    uint64_t recorded; /* the same, when the group was armed */
    bool is_wrong;     /* it answered for another host, and for this one not since */
};

struct pf {
    uint8_t state; /* enum hf_pf */
    uint8_t cause; /* enum hf_nic_cause */
};

struct node {
    uint8_t state; /* enum hf_node_state */
    uint8_t proof; /* enum hf_proof */
    uint8_t why;   /* enum hf_reason */
    uint8_t sentence;
    bool is_present; /* takes part in the view */
    bool in_ring;
    bool in_maintenance;
    bool vm_watch_known, link_fit, config_same;
    struct hf_boot boot; /* of its last participation; zeros before */
    uint64_t incarnation;
    uint64_t since_seq;
    uint64_t came_seq; /* when it last began to take part */
    uint32_t memory_mib;
    uint16_t cores;
    struct timer timer;       /* grace, fence deadline or fence retry */
    struct timer maintenance; /* runs beside it */
    struct hf_token order;    /* live fence order */
    uint8_t executor;         /* node index, 0xff none */
    uint8_t level;
    uint16_t attempts; /* finished without proof, in this absence */
    bool reads_off;    /* its devices say so; proof when it has left the ring */

    struct attest attest;
    struct timer safe; /* runs beside fencing, from the loss on */
    struct timer hold;
    uint32_t hold_ms;  /* longest hold that its feeder may still keep to; 0 = none */
    uint64_t hold_seq; /* of the newest one */
    struct hf_token hold_order, disarm_order; /* its own to perform */
    struct hf_token power_order;              /* live power-on order, of `executor` */

    struct path path[HF_FENCE_LEVELS_MAX];
    uint64_t hardware; /* hash of its own system UUID; 0 = not known */
    bool cannot_fence; /* as last told */

    struct timer flap, settle;
    uint8_t returns; /* in a row, none of them a window apart */
    bool is_passive;
    bool is_leaving, has_left;
    struct pf pf[HF_FABRICS_MAX];
};

/* Who wants the VM to run now: what an operator asked for goes on while disarmed. */
enum cause { CAUSE_OPERATOR = 0, CAUSE_RECOVERY, CAUSES };

/* Of a VM on its home, as its node told last. Nothing of it survives a change of home. */
struct legs {
    hf_legs has, up; /* of the run with start_no; has = 0: not known */
    uint8_t active;
    uint32_t start_no;
    hf_legs noted;   /* dead ones, as last told */
    bool is_overdue; /* the wait is over, and there was no place */
    struct timer timer;
};

struct vm {
    bool is_used;
    uint8_t state; /* enum hf_vm_state */
    uint8_t desire;
    uint8_t cause;
    uint8_t seen;
    uint8_t why;
    uint8_t home;      /* node index where it starts, runs or stops; 0xff none */
    uint8_t target;    /* node index a move is meant for; 0xff none */
    hf_nodes possible; /* where it may be running: the heart of "never two" */
    hf_nodes avoid;    /* nodes where it failed too often since it was stable */
    uint8_t failures, failures_here;
    uint8_t failed_on; /* node index of the last failure; 0xff none */
    bool is_cleared;   /* the stop under way makes sure of a start that nobody knows the end of */
    hf_vm_uid uid;
    uint32_t start_no;   /* of the last order */
    uint32_t running_no; /* of what runs on home; 0 = not ours */
    uint64_t since_seq;
    uint64_t doubt_seq; /* of the last step that put a node into `possible` by our own decision: an
                         * inventory made before it says nothing about that */
    struct hf_token order; /* live start (STARTING) or stop (STOPPING) order for home */
    struct timer timer;
    struct hf_token stray_order; /* stop order for a copy that must not be */
    uint8_t stray_on;            /* node index; 0xff none */
    struct legs legs;
    struct hf_vm_def def;
};

struct engine {
    struct hf_group group;
    uint64_t seq, epoch;
    uint64_t
        lineage; /* also in every token: sequence numbers may be given again after a cold start */
    struct hf_view view;
    hf_nodes present;
    bool is_armed;
    struct timer startup; /* armed: the grace after a cold start runs */
    struct timer storm;   /* armed: fences are counted */
    uint8_t storm_count;
    bool in_storm;        /* too many: none more without an operator */
    uint32_t skipped;     /* events that the engine could not digest, since it was last armed */
    uint64_t skipped_seq; /* the newest of them */
    hf_vm_uid uid_last;
    uint16_t vms_count, slots_end; /* used slots; all used ones are below slots_end */
    struct node nodes[HF_NODES_MAX];
    struct vm vms[HF_VMS_MAX];
};

/* One step in progress. */
struct step {
    struct engine *e;
    struct engine_out *out;
    uint32_t nth;      /* tokens given out */
    bool needs_review; /* placement, fencing or drains may have changed */
};

/* step.c */
struct hf_token step_token(struct step *s);
struct hf_effect *step_effect(struct step *s, enum hf_effect_type type, hf_node actor);
void step_answer(struct step *s, bool applied, enum hf_reason why);
void step_note_node(struct step *s, uint8_t n, uint8_t was, enum hf_reason why, uint32_t detail);
void step_note_vm(struct step *s, struct vm *v, uint8_t was, enum hf_reason why, uint32_t detail);
void step_note_group(struct step *s, enum hf_reason why, uint32_t detail);

/* timer.c */
void timer_arm(struct step *s, struct timer *t, enum purpose purpose, uint32_t after_ms);
void timer_clear(struct timer *t);
bool timer_is_safety(enum purpose purpose);
void timer_expired(struct step *s, hf_node from, struct hf_token token);
uint32_t backoff_ms(const uint32_t *list, uint8_t count,
                    uint32_t nth); /* nth from 1; last repeats */

/* host.c: the node table */
enum rule_verdict { RULE_UNDECIDED = 0, RULE_GO, RULE_STAY, RULE_BUG };
struct node_rule {
    uint8_t verdict, next;
    const char *why;
};
const struct node_rule *node_rule(enum hf_node_state state, enum hf_node_event event);
bool node_apply(struct step *s, uint8_t n, enum hf_node_event event, enum hf_reason why,
                uint32_t detail);
void host_members(struct step *s, const struct hf_event *ev);
void host_facts(struct step *s, const struct hf_event *ev);
void host_beat(struct step *s, const struct hf_event *ev);
void host_inventory(struct step *s, const struct hf_event *ev);
/* Proof that everything that ran on n before is gone. */
void host_proved(struct step *s, uint8_t n, enum hf_proof proof);
void host_stays(struct step *s, uint8_t n); /* it left in order, and runs something of ours */
uint64_t host_as_of_seq(const struct engine *e, uint64_t stamp); /* 0: of another lineage */
bool host_may_speak(const struct engine *e, hf_node n);          /* its reports count */
bool host_is_able(const struct engine *e, hf_node n);            /* it can be given orders */

/* vm.c: the VM table */
enum vm_act {
    ACT_NONE = 0,
    ACT_FORGET_HOME, /* it is somewhere we cannot see: only `possible` tells */
    ACT_START,       /* order it on the placed home */
    ACT_STOP,        /* order it off its home, with the owner's grace */
    ACT_KILL,        /* order it off its home at once: nobody knows what it is */
    ACT_RUNS,        /* it runs on its home: deadline off, stability watch on */
    ACT_ENDED,       /* it ended on its home by itself or by hand */
    ACT_FAILED_ONCE, /* count, back off, give up at the limit */
    ACT_RESET,       /* an operator decides: counters forgotten */
    ACT_STABLE,      /* counters forgotten by time */
    ACT_AFTER_STOP,  /* off and proved: where next depends on what is wanted */
    ACT_AFTER_CLEAR, /* proved nowhere: where next depends on what is wanted */
    ACT_ESCALATE,    /* cannot be proved stopped */
    ACT_HOLD_HERE,   /* runs where we did not put it */
    ACT_STOP_SOON,   /* order it off its home: its guest has nobody to say goodbye to */
    VM_ACTS
};
struct vm_rule {
    uint8_t verdict, next, act;
    const char *why;
};
const struct vm_rule *vm_rule(enum hf_vm_state state, enum hf_vm_event event);
bool vm_apply(struct step *s, struct vm *v, enum hf_vm_event event, enum hf_reason why);
void vm_report(struct step *s, const struct hf_event *ev);
void vm_seen_running(struct step *s, struct vm *v, uint8_t n, uint32_t start_no);
void vm_seen_gone(struct step *s, struct vm *v, uint8_t n, uint32_t start_no, enum hf_seen how);
void vm_not_listed(struct step *s, struct vm *v, uint8_t n, uint64_t as_of);
void vm_forgive(struct vm *v); /* an operator has decided anew: failures are forgotten */
void vm_doubt(struct step *s, struct vm *v, hf_nodes where);
void vm_node_lost(struct step *s, uint8_t n);
void vm_doubt_all(struct step *s); /* after a cold start: any of them may run anywhere */
void vm_node_rejoined(struct step *s, uint8_t n);
void vm_node_proved(struct step *s, uint8_t n);
bool vm_done(struct step *s, const struct hf_event *ev); /* false: token is none of a VM's */
bool vm_is_on_home(const struct vm *v);                  /* starting, running or stopping */
bool vm_is_on_its_way(const struct vm *v);               /* where a target says where it goes */
struct vm *vm_of_uid(struct engine *e, hf_vm_uid uid);

/* fence.c */
void fence_review(struct step *s);
void fence_doubt(struct step *s, uint8_t n); /* what a device read may have changed since */
void fence_left_ring(struct step *s, uint8_t n);
bool fence_done(struct step *s, const struct hf_event *ev);
void fence_forget(struct node *n); /* the absence is over: order, timer, attempts */
void fence_pardon(struct step *s);
void fence_call_off(struct step *s, uint8_t n);
void fence_sentence(struct step *s, uint8_t n, enum sentence sentence);
bool fence_keeps_quorum(const struct engine *e, uint8_t target);
void fence_timer(struct step *s, uint8_t n, enum purpose purpose);
bool fence_has_usable_level(const struct engine *e, uint8_t n);
hf_nodes fence_able(const struct engine *e, uint8_t target);
hf_node fence_executor(const struct engine *e, uint8_t target);
void fence_storm_over(struct engine *e);
enum hf_reason fence_power_on(struct step *s, uint8_t n); /* HF_WHY_NONE: ordered */

/* watchdog.c: time as proof, and announced absences */
void watchdog_attest(struct step *s, const struct hf_event *ev);
void watchdog_forget(struct node *n); /* a new boot, or a past nobody remembers */
uint32_t watchdog_safe_ms(const struct engine *e, uint8_t n); /* 0: time proves nothing */
void watchdog_time_over(struct step *s, uint8_t n);
void watchdog_review(struct step *s);
void watchdog_hold(struct step *s, uint8_t n, uint32_t ms);
void watchdog_back(struct node *n); /* it takes part again: nobody waits for it any more */

/* path.c: could it be fenced if it had to be? */
void path_tested(struct step *s, const struct hf_event *ev);
bool path_is_usable(const struct node *n, uint8_t level); /* not another host's */
bool path_may_work(const struct node *n, uint8_t levels); /* some level is not known to fail */
bool path_can_fence(const struct engine *e, uint8_t n);
enum hf_reason path_arm_refusal(const struct engine *e);
void path_record(struct engine *e);
void path_review(struct step *s);

/* flap.c: who comes back again and again; who leaves in order */
void flap_returned(struct step *s, uint8_t n);
void flap_forgive(struct step *s, uint8_t n);
void leave_order(struct step *s, uint8_t n);
void leave_over(struct node *n);
void maintenance_begin(struct step *s, uint8_t n, uint32_t ms); /* 0: the policy's maximum */
void maintenance_end(struct step *s, uint8_t n, enum hf_reason why);
void leave_review(struct step *s);

/* nic.c: what follows from dead NICs, which is little */
void nic_told(struct step *s, const struct hf_event *ev);
void nic_legs_told(struct step *s, const struct hf_event *ev);
void nic_forget(struct engine *e, uint8_t n); /* what it said of its NICs is of the past */
void nic_view_began(struct step *s);          /* whoever waits to be moved waits anew */
void nic_review(struct step *s);
void nic_wait_over(struct step *s, struct vm *v);
hf_legs nic_dead_on(const struct engine *e, const struct vm *v, uint8_t n); /* if it ran there */
hf_legs nic_dead_here(const struct engine *e, const struct vm *v); /* it runs, on its home */
unsigned nic_worth(const struct engine *e, const struct vm *v, uint8_t n); /* more is better */
enum hf_reason nic_why_stays(const struct engine *e, const struct vm *v);

/* place.c */
struct load { /* of every node, for one review */
    uint32_t promised_mib[HF_NODES_MAX];
    uint16_t vms[HF_NODES_MAX];
};
void place_load(const struct engine *e, const struct vm *except, struct load *load);
/* May v run on n, among these? */
enum hf_rule place_rule(const struct engine *e, const struct vm *v, uint8_t n, hf_nodes among,
                        const struct load *load);
hf_node place_pick(const struct engine *e, const struct vm *v, hf_nodes among,
                   const struct load *load);
void place_review(struct step *s);
void drain_review(struct step *s);

/* order.c */
void order_apply(struct step *s, const struct hf_event *ev);

/* check.c: the first broken invariant in words, or NULL. engine_check() asserts NULL, engine_load()
 * refuses with the words. */
const char *engine_fault(const struct engine *e);

/* A stamp of an inventory: 2^44 events are 5 000 years at a hundred a second. */
enum { AS_OF_SEQ_BITS = 44 };
#define AS_OF_SEQ_MASK ((1ULL << AS_OF_SEQ_BITS) - 1)

/* view.c */
uint16_t slots_end_of(const struct engine *e); /* one past the last used slot */
enum hf_code group_check(const struct hf_group *group, struct hf_err *err);

#define FOR_EACH_NODE(e, n) for (uint8_t n = 0; n < (e)->group.nodes_count; n++)
#define FOR_EACH_VM(e, v)                                                                          \
    for (struct vm *v = (e)->vms; v < (e)->vms + (e)->slots_end; v++)                              \
        if (v->is_used)

static inline hf_legs leg_of(hf_fabric f)
{
    return (hf_legs)(1u << f);
}

static inline hf_nodes bit_of(uint8_t n)
{
    return hf_bit((hf_node){n});
}

#endif
