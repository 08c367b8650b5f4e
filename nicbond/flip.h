/* flip.h - the ladder: by which methods, and in which order, one VM's traffic is driven off a leg.
 * PURE: it says what is wanted and is told what came of it; nicbond.c orders. All memory is the
 * caller's; nothing here waits.
 *
 *   at once, beside each other    the switch of its leg (VF link, or link of a virtio NIC), and the
 *                                 guest's helper
 *   when the switch was refused   PF down, where the leg is a VF
 *   or is late
 *   when nothing above worked     hot-unplug
 *
 * A rung that is late may still be carried out: nothing is known, the next rung begins. The end is
 * one of bond.h's four: done is what was confirmed by somebody who sees the traffic, never that an
 * order was accepted. */
#ifndef NICBOND_FLIP_H
#define NICBOND_FLIP_H

#include <stdbool.h>
#include <stdint.h>

#include "nicbond/bond.h"
#include "supervisord/base/clock.h"
#include "supervisord/model/nic.h"

enum {
    /* The last order is carried out: so long somebody may still confirm. A guest bond looks every
     * miimon (100 ms by default) and an igbvf driver keeps it for 1.2 s more. */
    FLIP_CONFIRM_MS = 3000,
    /* Links of virtio NICs go through libvirt one by one, four at a time: so long the last of a
     * host's VMs may wait for its turn. Its own deadline begins with the order. */
    FLIP_QUEUE_MS = 2000,
    /* Unplugging needs the guest's consent (ACPI or PCIe hotplug: 5 s by the button's rule). */
    FLIP_UNPLUG_MS = 6000,
};

enum flip_rung {
    FLIP_RUNG_ABSENT = 0, /* this leg has no such method */
    FLIP_RUNG_READY,      /* its turn has not come */
    FLIP_RUNG_WANTED,     /* to be ordered now; its deadline runs */
    FLIP_RUNG_OUT,        /* ordered */
    FLIP_RUNG_DONE,       /* carried out */
    FLIP_RUNG_REFUSED,    /* certainly not carried out */
    FLIP_RUNG_LATE,       /* nobody knows */
    FLIP_RUNGS
};

/* What a flip begins with. */
struct flip_case {
    uint64_t epoch;
    hf_vm_uid uid;
    hf_fabric from, to;
    enum hf_nic_cause cause;
    enum hf_leg_kind kind; /* of the leg it leaves */
    bool has_vf_link;      /* VF: its PF's driver is not known to refuse link states */
    bool has_helper;       /* a holdfast-guest speaks */
    bool can_confirm;      /* somebody could see where the traffic is */
    bool may_unplug;
    bool is_gentle;        /* nothing that touches other VMs or takes a device away */
    hf_time since, judged; /* first sign, verdict */
    hf_wall wall;          /* of `since` */
    uint32_t order;        /* number of the operator's order; 0 = none */
    uint32_t rung_ms;      /* deadline of a rung */
};

struct flip {
    bool is_running;
    bool has_ordered, has_done;
    struct flip_case what;
    enum flip_rung rung[HF_FLIP_METHODS];
    hf_time until[HF_FLIP_METHODS];
    hf_time done_at;       /* of the newest rung that was carried out */
    struct hf_flip record; /* as it will be told */
};

/* Begins it, over whatever was there; what is wanted at once is WANTED then. */
void flip_begin(struct flip *f, const struct flip_case *what, hf_time now);
bool flip_wants(const struct flip *f, enum hf_flip_method method);
/* A wanted rung has left us. */
void flip_ordered(struct flip *f, enum hf_flip_method method, hf_time now);
/* How it ended: DONE, REFUSED or LATE. Of a rung that is neither wanted nor out: ignored, false. */
bool flip_answered(struct flip *f, enum hf_flip_method method, enum flip_rung how, hf_time now);
/* The leg that carries died under a gentle flip. */
void flip_escalate(struct flip *f, hf_time now);
/* The leg that it leaves carries again: from here on it is a gentle one. What is out stays out. */
void flip_ease(struct flip *f);
/* Deadlines. True: it ends, *how says how; the owner then calls flip_end(). */
bool flip_tick(struct flip *f, hf_time now, enum bond_event *how);
/* Earliest moment flip_tick() has something to do; INT64_MAX ns: not running. */
hf_time flip_deadline(const struct flip *f);
/* It is over; the record is complete then. `is_confirmed`: the traffic is on the other leg. */
void flip_end(struct flip *f, enum hf_flip_outcome outcome, bool is_confirmed, hf_time now);
/* From the first sign to then, at most UINT32_MAX - 1. */
uint32_t flip_us(const struct flip *f, hf_time then);
/* FLIPPED, or ALREADY when nothing had been ordered. */
enum hf_flip_outcome flip_confirmed(const struct flip *f);
/* May another try help? Yes when some rung was late or refused and none was carried out. */
bool flip_is_worth_repeating(const struct flip *f);

const char *flip_rung_name(enum flip_rung rung); /* "late" */

#endif
