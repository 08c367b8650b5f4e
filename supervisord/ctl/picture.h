/* picture.h - what this node knows, as one JSON document.
 * Engine state, group membership and the node's own shell (agents, corosync link, journal, cluster
 * file) become text; nothing is decided here. The "needs you" list is computed here and nowhere
 * else: every way in which the group is not well, since when, and what to type next. Field by field
 * in ctl/README.md. */
#ifndef SUPERVISORD_CTL_PICTURE_H
#define SUPERVISORD_CTL_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/json.h"
#include "supervisord/config/config.h"
#include "supervisord/engine/engine.h"
#include "supervisord/report/history.h"
#include "supervisord/wire/ctl.h"
#include "supervisord/wire/report.h"

/* A picture of 8 nodes and 256 VMs with long names stays below it (tested); the server's scratch.
 */
enum { PICTURE_BYTES_MAX = 2 << 20 };

struct ctl_agent {
    bool is_expected; /* false: not part of this node's set-up, not shown */
    bool is_connected;
    bool is_fresh;               /* its reports come in time, and (vm) libvirt answers it */
    hf_wall since;               /* of the present connected/fresh combination; 0 = not known */
    char why[HF_REASON_MAX + 1]; /* when not well: "libvirt: connect: Connection refused" */
};

enum { CTL_LINK_NOTES_MAX = 8 }; /* a person reads no more of one node's network */

struct ctl_link_note {
    bool is_error;
    char text[HF_REASON_MAX + 1];
};

struct ctl_link { /* corosync, as holdfast-link reads it */
    bool is_connected;
    hf_wall since;    /* of is_connected; 0 = not known */
    char version[32]; /* "3.1.7", "" = not known */
    bool crypto_known, crypto_on;
    uint32_t token_ms, consensus_ms; /* runtime values; 0 = not known */
    bool votes_known, votes_quorate; /* votequorum's own opinion */
    uint32_t votes_expected;
    bool is_fit;                 /* what this node reports in its facts */
    char why[HF_REASON_MAX + 1]; /* when not fit or not connected */
    /* What is wrong beside that: links, pauses, waiting for all. Whole sentences. */
    unsigned notes_count;
    struct ctl_link_note notes[CTL_LINK_NOTES_MAX];
};

/* The replica's phases in its own words (replica.h); the daemon translates, because this folder
 * does not know the cluster layer. */
enum ctl_phase {
    CTL_PHASE_APART = 0,
    CTL_PHASE_GREETING,
    CTL_PHASE_COPYING,
    CTL_PHASE_FROZEN,
    CTL_PHASE_SYNCED,
    CTL_PHASE_STOPPED,
    CTL_PHASES
};

/* What this node's own test of one fence level of a node found last. */
struct ctl_path {
    hf_time tested; /* 0 = never from here */
    uint32_t took_ms;
    const char *why; /* the device and what it said; may be NULL */
};

/* What this node's nicbond told last. It alone knows counters, BFD and methods; of other nodes the
 * engine knows states. */
struct ctl_nics {
    bool is_told; /* some report about PFs came from the present nicbond */
    hf_time told; /* the newest one */
    uint8_t count;
    struct hf_pf_facts pf[HF_FABRICS_MAX];
    uint16_t legs_count;
    const struct hf_vm_legs *legs; /* of the VMs here */
    uint16_t flips_count;
    const struct hf_flip *flips; /* that ended here, the oldest first */
    /* When the engine's state of a node's PF was seen to change; 0 = not known. */
    hf_wall since[HF_NODES_MAX][HF_FABRICS_MAX];
};

/* What this node's host agent told last of one file system. */
struct ctl_room {
    const char *path;    /* NULL: nobody tells */
    struct hf_room room; /* kib 0: not known */
    hf_wall since;       /* of is_low; 0 = never seen to change */
};

/* Everything that the daemon knows beside the engine. Zero it, then fill in what is known. */
struct ctl_shell {
    hf_time now;
    hf_wall wall;
    const struct engine *engine; /* NULL: no state */
    const char *node;            /* own name; never NULL */
    const char *group;           /* group name of the file; never NULL */
    uint64_t incarnation;

    enum ctl_phase phase;
    hf_wall phase_since;
    char phase_why[HF_REASON_MAX + 1];
    hf_nodes participants;
    uint32_t ghosts, in_flight, queued;
    hf_time heard[HF_NODES_MAX]; /* last beat by node index; 0 = never */

    struct ctl_agent agent[HF_AGENT_KINDS]; /* by enum hf_agent_kind; [0] unused */
    struct ctl_link link;
    struct ctl_nics nics;
    struct ctl_room room[HF_ROOMS];

    bool journal_broken; /* records are lost: disk full, hung or refused */
    hf_wall journal_since;
    char journal_why[HF_REASON_MAX + 1];
    uint64_t journal_lost; /* records not written */

    const struct hf_config *config; /* own cluster file, when it is the running one; else NULL */
    struct ctl_path path[HF_NODES_MAX][HF_FENCE_LEVELS_MAX];
    const char *watchdog_why; /* own feeder's words when it is not armed; may be NULL */
    const char *running_text; /* canonical text of the running configuration; NULL: none */
    size_t running_text_len;
    bool file_differs;                /* own cluster file is not the running configuration */
    bool file_bad;                    /* own cluster file cannot be read or parsed any more */
    char file_why[HF_REASON_MAX + 1]; /* the parser's words */
    const char *file_path;            /* may be NULL */
};

const char *ctl_phase_name(enum ctl_phase phase); /* "synced"; "?" out of range */
const char *ctl_agent_name(enum hf_agent_kind kind);

/* The whole document of HF_CTL_STATUS. j->full: it did not fit. */
void picture_status(const struct ctl_shell *shell, const struct history *h, struct hf_json *j);
/* The document of HF_CTL_WHY about a node, VM or NIC: its entry of the status document, its trail
 * (at most PICTURE_TRAIL_MAX records, oldest first) and, for a VM, the placement rules now. A name
 * that is no node's and no VM's may be a PF's. False, and nothing written: there is no such
 * subject. */
enum { PICTURE_TRAIL_MAX = 64 };
bool picture_why(const struct ctl_shell *shell, const struct history *h,
                 const struct hf_ctl_request *request, struct hf_json *j);
/* How long a node's announced absence may still last. False: it began before this daemon's time. */
bool picture_hold_left(const struct ctl_shell *shell, const struct history *h, const char *name,
                       const struct hf_node_view *node, int64_t *left_ms);
/* Is this node in a position to order anything: synced, with a state. */
bool picture_is_quorate(const struct ctl_shell *shell);

#endif
