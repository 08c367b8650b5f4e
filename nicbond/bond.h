/* bond.h - where one VM's traffic is, and what to do when one of its two legs dies or comes back.
 * PURE: a table, no clock, no I/O. One struct per VM with a leg in both fabrics.
 * The table speaks of the *active* leg, by which the VM's traffic goes as far as we know, and of
 * the *other* one; which fabric that is changes with every flip and with nothing else. So there is
 * no cell in which a leg that came back draws the traffic: it becomes a spare.
 * Refuses to guess: a flip that nobody confirmed ends in BOND_DOUBT, not in a wish. */
#ifndef NICBOND_BOND_H
#define NICBOND_BOND_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/model/nic.h"

enum bond_state {
    BOND_UNSURE = 0, /* both legs carry; by which one the traffic goes is not known */
    BOND_PAIR,       /* the other leg is ready: a spare */
    BOND_HELD,       /* the other leg is back, but its hold-down runs: a spare in need */
    BOND_ALONE,      /* the other leg is dead: no spare */
    BOND_FLIPPING,   /* the active leg is dead, orders to leave it are out */
    BOND_MOVING,     /* both carry, orders to leave the active leg are out */
    BOND_DOUBT,      /* orders ended without proof; the active leg was dead then */
    BOND_LOST,       /* both legs are dead */
    BOND_STATES
};

enum bond_event {
    BOND_EV_ACTIVE_DOWN = 0,
    BOND_EV_ACTIVE_HELD, /* came back, hold-down runs */
    BOND_EV_ACTIVE_UP,
    BOND_EV_OTHER_DOWN,
    BOND_EV_OTHER_HELD,
    BOND_EV_OTHER_UP,
    BOND_EV_SEEN_ACTIVE, /* the guest, or the leg's own counters, say: the traffic is there */
    BOND_EV_SEEN_OTHER,
    BOND_EV_FLIP_DONE,    /* confirmed */
    BOND_EV_FLIP_FAILED,  /* every method that exists was refused */
    BOND_EV_FLIP_UNKNOWN, /* carried out, and nobody confirmed it */
    BOND_EV_DEADLINE,     /* the orders did not end in time */
    BOND_EV_AGAIN,        /* a flip that did not work is due for another try */
    BOND_EV_ORDERED,      /* an operator wants the traffic on the other leg */
    BOND_EVENTS
};

/* What a leg is worth. */
enum bond_level { BOND_LEG_DOWN = 0, BOND_LEG_HELD, BOND_LEG_UP };

enum bond_act {
    BOND_ACT_NONE = 0,
    BOND_ACT_FLIP,     /* leave the active leg, by every method */
    BOND_ACT_MOVE,     /* leave it by methods that hurt nobody else */
    BOND_ACT_ESCALATE, /* the flip under way goes on by every method */
    BOND_ACT_DONE,     /* end the flip: flipped */
    BOND_ACT_FAILED,   /* end the flip: failed; orders still out are dropped */
    BOND_ACT_UNKNOWN,  /* end the flip: unknown */
    BOND_ACT_RESTORE,  /* let the leg that is back carry at once */
    BOND_ACT_NO_SPARE, /* tell people: the next failure is an outage */
    BOND_ACT_LOST,     /* tell people: this VM is cut off */
    BOND_ACTS
};

enum bond_verdict {
    BOND_UNDECIDED = 0, /* nobody thought of it: a test fails */
    BOND_GO,
    BOND_SWAP, /* GO, and the other leg is the active one from now on */
    BOND_STAY
};

/* `next` PAIR stands for PAIR, HELD or ALONE, by what the other leg is worth then. */
struct bond_rule {
    enum bond_verdict verdict;
    enum bond_state next;
    enum bond_act act;
    const char *why;
};

struct bond {
    enum bond_state state;
    hf_fabric active; /* UNSURE: a guess */
    enum bond_level level[HF_FABRICS_MAX];
    uint64_t epoch; /* of the newest flip; 0 = none yet */
};

/* What came of an event. */
struct bond_step {
    enum bond_event event;
    enum bond_act act;
    enum bond_state was, now;
    hf_fabric was_active, active; /* before and after it */
    const char *why;
};

struct bond_rule bond_rule(enum bond_state state, enum bond_event event);

/* A VM appears. `active` HF_FABRICS_MAX: not known; then it is known at once when only one leg
 * carries. */
void bond_start(struct bond *bond, hf_fabric active, const enum bond_level level[HF_FABRICS_MAX]);
/* A leg is worth this now. `epoch_next` is taken if a flip begins by it (act FLIP). */
void bond_leg(struct bond *bond, hf_fabric leg, enum bond_level level, uint64_t epoch_next,
              struct bond_step *step);
/* The traffic was seen on this leg. */
void bond_seen(struct bond *bond, hf_fabric leg, uint64_t epoch_next, struct bond_step *step);
/* A flip ended: one of FLIP_DONE, FLIP_FAILED, FLIP_UNKNOWN, DEADLINE. False: it was not this one;
 * nothing happened. */
bool bond_ended(struct bond *bond, uint64_t epoch, enum bond_event how, struct bond_step *step);
/* Another try of a flip that ended without proof. */
void bond_again(struct bond *bond, uint64_t epoch_next, struct bond_step *step);
/* An operator wants it on `to`. Refused with the reason when act is not MOVE. */
void bond_order(struct bond *bond, hf_fabric to, uint64_t epoch_next, struct bond_step *step);

/* The leg that is not the active one. */
static inline hf_fabric bond_other(const struct bond *bond)
{
    return (hf_fabric)(1 - bond->active);
}
/* The active leg as it may be told: HF_FABRICS_MAX while it is not known. */
hf_fabric bond_known(const struct bond *bond);
bool bond_is_flipping(const struct bond *bond);
void bond_check(const struct bond *bond);

const char *bond_state_name(enum bond_state state); /* "flipping" */

_Static_assert(HF_FABRICS_MAX == 2, "a pair has an active and an other leg");

#endif
