/* history.h - the last HISTORY_RECORDS_MAX things that happened, as this node saw them.
 * One gap-free stream per life of the daemon: what the engine changed, what operators ordered (also
 * in vain), which phases an order went through on this node. Read by `events` and `why`. In memory,
 * bounded, oldest first out; the daemon's loop is its only owner. Names are copied: slots are
 * reused.
 *
 * Incidents. A subject (node or VM) that turns bad joins the incident of the node it hangs on (a
 * VM: its home), else the one opened in the same engine step, else it opens one: the id is that
 * engine step's sequence number, so it is the same on every node that saw it begin. It keeps the
 * incident until it is well again; that record still belongs to it. An incident ends when nobody
 * has it. bad:  a node silent, lost, fencing or dead; a VM waiting for proof, unplaceable or
 * failed, or changed by a crash, a lost host, a start or stop that failed. well: a node member (or
 * absent); a VM running, stopped or held. */
#ifndef SUPERVISORD_REPORT_HISTORY_H
#define SUPERVISORD_REPORT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/json.h"
#include "supervisord/engine/engine.h"
#include "supervisord/model/ids.h"
#include "supervisord/model/states.h"
#include "supervisord/wire/report.h"

/* A power cut under 256 VMs writes about 5 records a VM: three of those fit. About 3 MiB. */
enum { HISTORY_RECORDS_MAX = 4096, HISTORY_VERB_MAX = 15, HISTORY_EXE_MAX = 63 };

/* Read together, in this order, by the daemon; monotonic is CLOCK_MONOTONIC, which measurements on
 * one machine share. */
struct history_when {
    hf_time boot;
    int64_t monotonic_ns;
    hf_wall wall;
};

enum history_kind {
    HISTORY_CHANGE = 1, /* the engine: was -> now (equal: a note without a transition) */
    HISTORY_ORDER,      /* an operator's order was applied or refused */
    HISTORY_PROGRESS,   /* a phase of an order began on this node */
    HISTORY_OUTCOME,    /* an order ended on this node, in its agent's words */
    HISTORY_NOTE,       /* of the shell: agent gone, journal broken, phase of the replica */
    HISTORY_AUDIT,      /* somebody asked this node for more than a look: granted or refused */
    HISTORY_FLIP,       /* a VM's traffic went to its other leg, or did not */
    HISTORY_KINDS
};

struct history_record {
    uint64_t seq; /* 1.. without a gap in one life of the daemon */
    struct history_when when;
    uint64_t engine_seq; /* of the step, or the newest one known when it was recorded */
    uint64_t incident;   /* 0 = none */
    enum history_kind kind;
    enum hf_subject subject;
    uint16_t ix;
    hf_vm_uid uid;              /* VM only */
    char name[HF_NAME_MAX + 1]; /* node, VM or group */
    uint8_t was, now;           /* CHANGE: states of the subject */
    enum hf_reason why;         /* CHANGE, ORDER */
    uint32_t detail;
    char node[HF_NAME_MAX + 1];      /* VM: home or target; node: who fences it; "" = none */
    enum hf_order_type order;        /* ORDER */
    bool was_applied;                /* ORDER; AUDIT: granted */
    char who[HF_NAME_MAX + 1];       /* ORDER, AUDIT: "uid-1000" */
    struct hf_token token;           /* PROGRESS, OUTCOME */
    enum hf_progress progress;       /* PROGRESS */
    uint32_t pid;                    /* PROGRESS: qemu's or the fence agent's; AUDIT: the asker's */
    char verb[HISTORY_VERB_MAX + 1]; /* AUDIT: "fence" */
    char exe[HISTORY_EXE_MAX + 1];   /* AUDIT: the asker's program */
    enum hf_outcome outcome;         /* OUTCOME */
    char text[HF_REASON_MAX + 1];    /* ORDER: the operator's reason; else words; "" = none */
    struct hf_flip flip;             /* FLIP */
};

struct history; /* history_size() bytes, 8-aligned */
size_t history_size(void);

/* Empty. life: a number that differs from every earlier life of the daemon (its incarnation). */
void history_init(struct history *h, uint64_t life);
uint64_t history_life(const struct history *h);

/* ---- the daemon records ---- */

/* In replica_ports.stepped: one record for an operator's order and one per change. e: after it. */
void history_step(struct history *h, const struct engine *e, const struct hf_event *ev,
                  const struct engine_out *out, const struct history_when *when);
/* In replica_ports.replaced: names and states are taken over; whoever is bad now is in an incident
 * named after its last transition, and `since` of everybody is only a lower bound. */
void history_replaced(struct history *h, const struct engine *e, const struct history_when *when);
/* An agent reports a phase or the end of an order about a node (fence) or a VM (start, stop; uid),
 * here or on the node that acts (the record's `node`, as the engine's live order says). e may be
 * NULL. Unknown subjects are recorded with an empty name. */
void history_progress(struct history *h, const struct engine *e, enum hf_subject subject,
                      hf_node node, hf_vm_uid uid, struct hf_token token, enum hf_progress progress,
                      uint32_t pid, const struct history_when *when);
void history_outcome(struct history *h, const struct engine *e, enum hf_subject subject,
                     hf_node node, hf_vm_uid uid, struct hf_token token, enum hf_outcome outcome,
                     uint32_t took_ms, const char *text, const struct history_when *when);
/* A flip ended on `node`. e may be NULL. */
void history_flip(struct history *h, const struct engine *e, hf_node node,
                  const struct hf_flip *flip, const struct history_when *when);
/* Something about this node that the engine does not know. name: this node's; text is cut to fit.
 */
void history_note(struct history *h, const struct engine *e, const char *name, const char *text,
                  const struct history_when *when);

/* Somebody asked at this node's admin door for more than a look. name: a node's, a VM's, else it is
 * about the group. Texts are cut to fit. */
struct history_audit {
    const char *name;
    uint32_t uid;
    int32_t pid;
    const char *exe, *verb, *why;
    bool is_granted;
};
void history_audit(struct history *h, const struct engine *e, const struct history_audit *what,
                   const struct history_when *when);

/* ---- and the server reads ---- */

/* 0 when empty. */
uint64_t history_newest(const struct history *h);
uint64_t history_oldest(const struct history *h);
/* NULL: forgotten, or not there yet. Valid until the next record. */
const struct history_record *history_at(const struct history *h, uint64_t seq);
/* When the node or VM slot came into its present state. False: not known at all. */
struct history_since {
    struct history_when when;
    bool is_exact; /* false: it was so already when this daemon took the state over */
};
bool history_since(const struct history *h, enum hf_subject subject, uint16_t ix,
                   struct history_since *since);
/* The name that the VM in this slot has, or had when it was removed; NULL: not known, or the slot
 * is another VM's by now. Valid until the next record. */
const char *history_vm_name(const struct history *h, uint16_t ix, hf_vm_uid uid);
/* The incident that a node or VM slot is in; 0 = none. */
uint64_t history_incident(const struct history *h, enum hf_subject subject, uint16_t ix);

/* One record as a JSON object: described field by field in ctl/README.md. */
void history_json(const struct history_record *record, struct hf_json *j, const char *key);
/* Stable words: "change", ...; "fence-running", ... "?" when out of range. */
const char *history_kind_name(enum history_kind kind);
const char *history_progress_name(enum hf_progress progress);
const char *history_order_name(enum hf_order_type order);
/* A reason, and what its detail says of a NIC: "... (fabric a, it has no carrier)". */
void history_why_text(enum hf_reason r, uint32_t detail, char *out, size_t cap);
/* The record's own sentence part: "its host left the ring", "fence agent started (pid 4711)". */
void history_text(const struct history_record *record, char *out, size_t cap);
/* "2026-11-30T09:31:07.123456789Z". out[40]. */
void history_wall_text(hf_wall wall, char out[40]);

#endif
