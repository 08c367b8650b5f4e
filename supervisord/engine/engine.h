/* engine.h - which VM runs where, and who must be dead first.
 * Pure and replicated: the same events in the same order give the same state on every node, bit for
 * bit. No clock, no I/O, no allocation, no randomness, no pointers in the state. It never trusts a
 * caller about quorum: a membership that is not a majority changes nothing. Not thread-safe: one
 * owner. The state tables and invariants in prose: engine/README.md. */
#ifndef SUPERVISORD_ENGINE_ENGINE_H
#define SUPERVISORD_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/err.h"
#include "supervisord/model/group.h"
#include "supervisord/model/ids.h"
#include "supervisord/model/nic.h"
#include "supervisord/model/states.h"

/* Replicas with different rules must not decide together. Raise at every change of behaviour. */
#define HF_RULESET 4u

/* ---- events: the total order and nothing else ---- */

enum hf_event_type {
    HF_EV_MEMBERS = 1, /* a quorate view is synchronised; from = HF_NO_NODE */
    HF_EV_FACTS,       /* what the sending node's host agent and link say of it */
    HF_EV_INVENTORY,   /* complete: these VMs and no others run on the sending node */
    HF_EV_VM,          /* one VM on the sending node was seen to change */
    HF_EV_BEAT,        /* a member sees another one's beats stop or come back */
    HF_EV_EXPIRED,     /* the sending node's timer for this token ran out */
    HF_EV_DONE,        /* the sending node finished (or not) the effect with this token */
    HF_EV_ORDER,       /* an operator */
    HF_EV_ATTEST,      /* what the sending node's feeder says of its watchdog */
    HF_EV_PATH,        /* the sending node tried a fence level of another node, without effect */
    HF_EV_NICS,        /* what the sending node's PFs are worth */
    HF_EV_LEGS,        /* which legs of one VM on the sending node carry */
    HF_EVENT_TYPES
};

enum hf_order_type {
    HF_ORDER_VM_ADD = 1,
    HF_ORDER_VM_REMOVE,
    HF_ORDER_VM_START,
    HF_ORDER_VM_STOP,
    HF_ORDER_VM_MOVE, /* node = target, or HF_NO_NODE: anywhere else */
    HF_ORDER_DRAIN,   /* node; ms = until it ends by itself, 0 = the policy's maximum */
    HF_ORDER_UNDRAIN,
    HF_ORDER_ARM,
    HF_ORDER_DISARM,
    HF_ORDER_FENCE,    /* node: power it off, VMs elsewhere */
    HF_ORDER_CONFIRM,  /* node: a person has made sure that it is off */
    HF_ORDER_HOLD,     /* node; ms: its daemon or corosync will be away for so long; VMs run on */
    HF_ORDER_LEAVE,    /* node: drained, and then left alone: its owner will switch it off */
    HF_ORDER_POWER_ON, /* node: proved dead by fencing; switch it on again */
    HF_ORDERS
};

struct hf_member {
    bool present;         /* in CPG and in the totem ring, and said hello in this view */
    bool in_ring;         /* its host is in the totem ring */
    struct hf_boot boot;  /* when present */
    uint64_t incarnation; /* of its daemon; when present; rises with every start */
};

struct hf_vm_seen {
    hf_vm_uid uid;
    uint32_t start_no; /* the start it stems from; 0 = not one of ours */
};

struct hf_pf_verdict {
    enum hf_pf state;
    enum hf_nic_cause cause;
};

struct hf_vm_legs_seen {
    hf_vm_uid uid;
    uint32_t start_no;
    hf_legs has, up;  /* 0: nothing is known of them (any more) */
    hf_fabric active; /* HF_FABRICS_MAX = not known */
};

struct hf_event {
    uint64_t seq; /* place in the total order: exactly last + 1 */
    hf_node from;
    enum hf_event_type type;
    union {
        struct {
            struct hf_view view;
            uint64_t epoch;   /* promised to this view alone (cluster/README.md); the state takes it
                               * when it is above its own + 1. 0: simply one more */
            uint64_t lineage; /* a name for what is decided from here on, when nothing before it is
                               * certain: at a cold or the first view. 0: as before */
            bool cold; /* fewer than a majority kept their memory: something may have been decided
                        * that this state does not know. Nothing is believed but inventories and
                        * proofs */
            struct hf_member node[HF_NODES_MAX];
        } members;
        struct {
            uint32_t memory_mib; /* total; 0 = not known */
            uint16_t cores;
            bool vm_watch_known; /* the VM agent is there and libvirt answers it */
            bool link_fit;       /* corosync is new enough, encrypted, and counts our votes */
            bool config_same;    /* its file equals the running configuration */
            uint64_t hardware;   /* hash of the host's own system UUID; 0 = not known */
        } facts;
        struct {
            uint64_t as_of; /* engine_as_of() of the sender when the agent was asked for it: it
                             * tells nothing of later orders, nor of another lineage's */
            uint16_t count;
            struct hf_vm_seen vm[HF_VMS_MAX];
        } inventory;
        struct {
            hf_vm_uid uid;
            uint32_t start_no;
            enum hf_seen seen;
        } vm;
        struct {
            hf_node node;
            bool heard;
        } beat;
        struct {
            struct hf_token timer;
        } expired;
        struct {
            struct hf_token effect;
            enum hf_outcome outcome;
        } done;
        struct {
            enum hf_order_type type;
            hf_node node;
            hf_vm_uid uid;
            uint32_t ms;
            uint64_t as_of; /* engine_as_of() where it was given: FENCE and CONFIRM are about the
                             * node as it was seen there, not about one that has been back since;
                             * none counts through a node that has. 0: a daemon's own, not asked */
            bool wants_run; /* VM_ADD: start it at once */
            struct hf_vm_def def; /* VM_ADD */
            char who[HF_NAME_MAX + 1];
            char reason[HF_REASON_MAX + 1];
        } order;
        struct {
            enum hf_watchdog state;
            bool is_held;        /* it is fed without a lease, by an announced hold */
            uint64_t hold_seq;   /* of the newest HF_FX_HOLD that this node has performed */
            uint32_t timeout_ms; /* as read back from the driver; when armed, > 0 */
            uint32_t lease_ms;   /* the feeder's own; when armed, > 0 */
            uint16_t version;    /* of the feeder */
            char identity[HF_WATCHDOG_NAME_MAX + 1]; /* the driver's */
        } attest;
        struct {
            hf_node target;
            uint8_t level;
            enum hf_path found;
            uint64_t hardware; /* what the device says it switches; 0 = it does not tell */
        } path;
        struct {
            struct hf_pf_verdict pf[HF_FABRICS_MAX];
        } nics;
        struct hf_vm_legs_seen legs;
    } u;
};

/* ---- what a step decides ---- */

enum hf_effect_type {
    HF_FX_FENCE = 1,
    HF_FX_VM_START,
    HF_FX_VM_STOP,
    HF_FX_TIMER,
    HF_FX_POWER_ON, /* u.fence: switch the target on again, at this level */
    HF_FX_HOLD,     /* u.hold: the actor's watchdog may be fed without a lease for so long */
    HF_FX_DISARM,   /* the actor's watchdog may be closed: everybody knows that it no longer counts
                     */
    HF_FX_TYPES
};

struct hf_effect {
    struct hf_token token;
    hf_node actor; /* HF_NO_NODE: everybody (timers) */
    enum hf_effect_type type;
    union {
        struct {
            hf_node target;
            uint8_t level; /* 0.. */
        } fence;
        struct {
            hf_vm_uid uid;
            uint32_t start_no; /* start: the recovery epoch, rises with every start of this VM */
            uint32_t grace_ms; /* stop: time for the guest to shut down before destroy */
        } vm;
        struct {
            uint32_t after_ms;
        } timer;
        struct {
            uint32_t ms;
        } hold;
    } u;
};

struct hf_change {
    enum hf_subject subject;
    uint16_t ix;      /* node or VM slot */
    hf_vm_uid uid;    /* VM only */
    uint8_t was, now; /* states of the subject; equal = a note without a transition */
    hf_node node;     /* VM: its home or target; node: the executor of a fence */
    enum hf_reason why;
    uint32_t detail; /* attempts, failures, milliseconds: by reason */
};

struct engine_out { /* the caller's, reused; contents valid until the next step */
    bool applied;   /* false: refused or nothing to do, `why` says it */
    enum hf_reason why;
    uint32_t effects_count, changes_count;
    struct hf_effect effects[HF_EFFECTS_MAX];
    struct hf_change changes[HF_CHANGES_MAX];
};

/* ---- the state: opaque but for its size; fields in engine/internal.h ---- */

struct engine; /* engine_size() bytes, 8-aligned, no pointers: memcpy copies it */
size_t engine_size(void);

/* Check and take over `group`: no VM is known, every node absent, disarmed. HF_EINVAL with the
 * reason if it breaks a limit (no nodes, same name or nodeid twice, a zero deadline). */
enum hf_code engine_init(struct engine *e, const struct hf_group *group, struct hf_err *err);

/* Apply one event. Total: cannot fail, cannot block. ev->seq must be engine_seq() + 1, its enums
 * and indexes in range (decoders see to that). */
void engine_step(struct engine *e, const struct hf_event *ev, struct engine_out *out);

/* engine_step for whoever must outlive a mistake of ours. `shadow` is a second engine in the state
 * of `e`, and is again afterwards. It steps first; if an assertion fails in it, the event is
 * skipped: nothing of it reaches the state but that it is counted and the group disarmed. All
 * replicas skip alike, because all fail alike. Not for a view that engine_try did not try. */
void engine_step_tried(struct engine *e, struct engine *shadow, const struct hf_event *ev,
                       struct engine_out *out);
/* Would this event break an assertion of ours? Then false, and `shadow` is worthless. */
bool engine_try(struct engine *shadow, const struct hf_event *ev, struct engine_out *out);

/* What `actor` still owes (its orders, and every armed timer): after a restart, a snapshot or a new
 * view. Same tokens as when ordered, safe to repeat. Returns the count. */
uint32_t engine_pending(const struct engine *e, hf_node actor,
                        struct hf_effect effects[HF_EFFECTS_MAX]);
/* The sequence number that an inventory of `node` must be made after (hf_event, as_of) to be of
 * use: it is joining, or may run a VM that is not at home there. 0: none is needed. The shell asks
 * its agent whenever this is above what it asked for last. */
uint64_t engine_as_of(const struct engine *e); /* a stamp for inventories: lineage and seq */
uint64_t engine_as_of_seq(uint64_t stamp);     /* the sequence number in it */
uint64_t engine_inventory_due(const struct engine *e, hf_node node);
/* Should this node's watchdog be armed: a VM that is ours may be running there. */
bool engine_wants_watchdog(const struct engine *e, hf_node node);
/* Who tries the fence paths of `target` now and then: the member that would fence it first.
 * HF_NO_NODE: nobody can. */
hf_node engine_path_tester(const struct engine *e, hf_node target);
/* Is this order or timer still wanted? An actor drops what is not. */
bool engine_is_live(const struct engine *e, struct hf_token token);

/* Assert every invariant; engine_step calls it last, in all builds. */
void engine_check(const struct engine *e);

/* Portable bytes for a joining node or the disk: returns bytes needed, writes at most cap. */
size_t engine_save(const struct engine *e, uint8_t *bytes, size_t cap);
/* Upper bound of engine_save() for any state. */
size_t engine_save_max(void);
/* Decode what engine_save wrote. Hostile bytes give HF_EBAD and leave *e untouched or
 * re-initialised to nothing usable; a state that breaks an invariant is refused, never asserted on.
 */
enum hf_code engine_load(struct engine *e, const uint8_t *bytes, size_t len, struct hf_err *err);
/* Hash of the saved bytes. Compared in the group; a difference stops the odd node. */
uint64_t engine_digest(const struct engine *e);

/* ---- read-only views, for status, metrics, shells and tests ---- */

struct hf_group_view {
    const struct hf_group *group; /* inside the state: valid until the next step */
    uint64_t seq, epoch;          /* epoch rises with every synchronised view */
    uint64_t lineage; /* decisions of one lineage are known to a majority of those who carry it */
    struct hf_view view;
    hf_nodes present;
    bool is_armed;
    bool in_startup_grace;
    bool in_storm; /* too many fences: no more without an operator (arm) */
    uint8_t storm_count;
    uint16_t vms_count;
    uint32_t skipped;     /* events that could not be digested since the group was last armed */
    uint64_t skipped_seq; /* the newest of them */
};

struct hf_node_view {
    enum hf_node_state state;
    enum hf_proof proof; /* of the last death; HF_PROOF_NONE if none */
    uint64_t since_seq;  /* of the last transition */
    struct hf_boot boot;
    uint64_t incarnation;
    bool is_present;
    bool in_maintenance;
    bool vm_watch_known, link_fit, config_same;
    uint32_t memory_mib;   /* total; 0 = not known */
    uint32_t promised_mib; /* to VMs that run or may run there */
    uint16_t cores;
    hf_node fence_actor; /* while fencing */
    struct hf_token fence_token;
    uint8_t fence_level;
    uint16_t fence_attempts; /* in this absence */
    enum hf_reason why;      /* of the last transition */
    struct {
        enum hf_watchdog state;
        uint32_t timeout_ms, lease_ms;
        uint16_t version;
        const char *identity;   /* inside the state */
        bool is_held;           /* its feeder is, as last attested, on hold */
        struct hf_token disarm; /* its HF_FX_DISARM; {0,0}: none has been given */
    } watchdog;
    uint32_t safe_ms; /* its watchdog proves its death after so long; 0: it cannot */
    bool safe_time_runs;
    enum hf_path path[HF_FENCE_LEVELS_MAX];
    uint64_t
        path_hardware[HF_FENCE_LEVELS_MAX]; /* what its devices said they switch; 0 = nothing */
    bool can_be_fenced;                     /* a fence level not known to fail, or the watchdog */
    bool is_held;                           /* announced away */
    uint32_t hold_ms;  /* longest hold its feeder may still keep to; 0 = none */
    uint64_t hold_seq; /* of the newest hold */
    bool is_leaving, has_left;
    bool is_settling, is_passive; /* gets no VM: came back too often */
    uint8_t returns;
    uint64_t hardware;
    struct hf_pf_verdict pf[HF_FABRICS_MAX]; /* of fabrics it names no NIC in: unknown */
};

struct hf_vm_view {
    bool is_used; /* false: an empty slot */
    hf_vm_uid uid;
    const struct hf_vm_def *def;
    enum hf_vm_state state;
    enum hf_desire desire;
    enum hf_seen seen;     /* last word of its home's agent */
    hf_node home;          /* HF_NO_NODE when it has none */
    hf_nodes possible;     /* where it may be running */
    uint32_t start_no;     /* recovery epoch */
    uint32_t running_no;   /* of what is on its home; 0 = not ours */
    uint8_t failures;      /* since it was last stable */
    struct hf_token order; /* live start or stop order */
    uint64_t since_seq;
    enum hf_reason why;
    struct {
        hf_legs has, up;    /* as its node says; has = 0: it does not */
        hf_fabric active;   /* HF_FABRICS_MAX = not known */
        hf_legs dead;       /* of those it needs: certainly carry nothing where it runs */
        enum hf_reason why; /* all are dead: moved when the time is over (HF_WHY_NO_LEG), or why it
                             * stays. Else HF_WHY_NONE */
    } legs;
    bool is_degraded; /* runs, and not every leg carries */
};

/* Why a VM may or may not go to each node, by the same code that places it. */
struct hf_placement {
    hf_node pick;                       /* where it would go now; HF_NO_NODE: nowhere */
    enum hf_rule refused[HF_NODES_MAX]; /* HF_RULE_NONE: passes */
    uint32_t need_mib, free_mib[HF_NODES_MAX];
    hf_legs dead[HF_NODES_MAX]; /* legs it needs that would carry nothing there */
};

uint64_t engine_seq(const struct engine *e);
struct hf_group_view engine_group(const struct engine *e);
struct hf_node_view engine_node(const struct engine *e, hf_node node);
struct hf_vm_view engine_vm(const struct engine *e, hf_vm vm);
hf_vm engine_vm_by_uid(const struct engine *e, hf_vm_uid uid); /* HF_NO_VM: none */
hf_vm engine_vm_by_name(const struct engine *e, const char *name);
hf_node engine_node_by_name(const struct engine *e, const char *name);
hf_node engine_node_by_id(const struct engine *e, uint32_t nodeid);
struct hf_placement engine_placement(const struct engine *e, hf_vm vm);

#endif
