/* nics.h - what this node's nicbond says: to the group when it is news, to operators on demand.
 * The group hears of states and of legs, never of counters, and the newest word counts: what goes
 * to and fro is told less and less often, until it has been quiet. A nicbond that is gone or mute
 * has said nothing new; after a while nobody knows what its PFs are worth, and nothing is ever
 * failed by that. An operator's order for a VM that runs elsewhere goes to the member where it
 * does. Does no I/O of its own, decides nothing. */
#ifndef SUPERVISORD_ACT_NICS_H
#define SUPERVISORD_ACT_NICS_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/err.h"
#include "supervisord/engine/engine.h"
#include "supervisord/wire/report.h"

enum {
    NICS_PAUSE_MS = 250, /* between two words about the same PFs or VM; doubled when it changes */
    NICS_PAUSE_MAX_MS = 4000, /* again and again, up to this */
    NICS_QUIET_MS = 10000,    /* unchanged for so long: told at once again */
    NICS_AGAIN_MS = 2000,     /* a word that was not applied is told again */
    NICS_GRACE_MS = 10000,    /* nicbond gone: a restart takes a second or two */
    NICS_ORDER_MS = 8000,     /* as long as an operator waits for a flip (ctl/server.h) */
    NICS_ORDERS_MAX = 16,     /* operators' orders under way */
    NICS_FLIPS_MAX = 64,      /* kept for a look at them */
};

/* An order to another member's nicbond, or on behalf of one. */
struct nics_order {
    uint32_t number; /* this node's; 0 = free */
    uint32_t asker_nodeid, asker_number;
    uint64_t cookie; /* an operator of ours waits for it; 0 = another member's */
    hf_time until;
};

struct nics_ports {
    void *user;
    const struct engine *(*engine)(void *user); /* NULL: none */
    enum hf_code (*submit)(void *user, const struct hf_event *ev, struct hf_err *err);
    /* To nicbond. False: it is not connected. */
    bool (*tell)(void *user, const struct hf_report *report);
    /* An order for a VM on that member: its nics_asked(). */
    void (*ask)(void *user, hf_node member, uint32_t number, hf_vm_uid uid, hf_fabric to);
    /* A flip ended here: for everybody's history, and the asker's nics_answered(). asker 0: nobody
     * asked. flip NULL: what was asked for cannot be done, nicbond is gone. */
    void (*flipped)(void *user, const struct hf_flip *flip, uint32_t asker_nodeid, uint32_t number);
    /* What an operator of ours asked for has ended; NULL: it could not be done. */
    void (*answered)(void *user, uint64_t cookie, const struct hf_flip *flip);
};

/* How often something was told lately. */
struct nics_pace {
    hf_time told_at; /* 0 = never */
    uint32_t pause_ms;
    bool is_waiting; /* told, and not in the state yet */
};

struct nics_vm {
    struct hf_vm_legs legs; /* uid 0: free */
    struct hf_vm_legs_seen told;
    struct nics_pace pace;
    bool is_old; /* of the nicbond before */
};

struct nics {
    struct nics_ports ports;
    uint32_t own_nodeid;
    bool is_synced;
    bool has_agent;  /* connected, and it speaks */
    hf_time gone_at; /* has_agent is false since; 0 = never had one */
    hf_time came_at;
    bool has_word;
    hf_time word_at;
    uint8_t count;
    struct hf_pf_facts pf[HF_FABRICS_MAX];
    struct hf_pf_verdict told[HF_FABRICS_MAX];
    struct nics_pace pace;
    struct nics_vm vm[HF_VMS_MAX];
    uint16_t flips_count;
    struct hf_flip flip[NICS_FLIPS_MAX]; /* the oldest first */
    uint32_t last_number;
    struct nics_order order[NICS_ORDERS_MAX];
    hf_time next_at;                    /* look through everything then */
    struct hf_vm_legs look[HF_VMS_MAX]; /* nics_legs() fills it */
    hf_wall since[HF_NODES_MAX][HF_FABRICS_MAX];
};

void nics_init(struct nics *n, uint32_t own_nodeid, const struct nics_ports *ports);
/* nicbond's connection: said hello anew, or gone, mute, and speaking again. */
void nics_joined(struct nics *n, hf_time now);
void nics_agent(struct nics *n, bool is_here, hf_time now);
/* NICS, LEGS or FLIP. */
void nics_told(struct nics *n, const struct hf_report *report, hf_time now);
void nics_group(struct nics *n, bool is_synced, hf_time now);
/* After every step of the engine: `changes` may tell of PFs. */
void nics_stepped(struct nics *n, const struct engine_out *out, hf_time now, hf_wall wall);
/* At nics_deadline(). */
void nics_turn(struct nics *n, hf_time now);
hf_time nics_deadline(const struct nics *n);

/* An operator wants a VM's traffic on leg `to`; answered by the `answered` port with `cookie` (not
 * 0). HF_EINVAL: it does not run, or has no such leg. HF_EAGAIN: its nicbond is not there.
 * HF_EFULL: too many wait. */
enum hf_code nics_failback(struct nics *n, hf_vm_uid uid, hf_fabric to, uint64_t cookie,
                           hf_time now, struct hf_err *err);
/* The same from another member. */
void nics_asked(struct nics *n, uint32_t asker_nodeid, uint32_t number, hf_vm_uid uid, hf_fabric to,
                hf_time now);
/* Another member has told how what we asked for ended. */
void nics_answered(struct nics *n, uint32_t number, const struct hf_flip *flip);

/* The legs of the VMs here, packed: valid until the next call. Returns how many. */
uint16_t nics_legs(struct nics *n, const struct hf_vm_legs **legs);

#endif
