/* plan.h - one level against one node: which device next, when it is done, when to give up.
 * Pure: it is told how runs ended and says what to run. Switching on again is the same order of
 * work: where this says off, read on. All devices of a level are switched off
 * together (two feeds of one host), and only when every `off` has succeeded is each one asked: a
 * feed that is read too early proves nothing about the host. Refuses to continue after a failed
 * `off`: the sooner the level has failed, the sooner the next one begins. */
#ifndef FENCING_PLAN_H
#define FENCING_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "fencing/proof.h"
#include "supervisord/model/limits.h"

enum {
    /* A device may lag behind its own answer. Three runs are about half a second of interpreter
     * starts: enough for a BMC's sensor, short against any deadline. */
    PLAN_STATUS_TRIES = 3,
};

enum plan_phase {
    PLAN_SWITCHING = 0, /* `off` runs are out */
    PLAN_VERIFYING,     /* every `off` succeeded; `status` runs are out */
    PLAN_DONE,          /* every device reads off: proof */
    PLAN_FAILED,
    PLAN_PHASES
};

struct plan {
    enum plan_phase phase;
    enum proof_verdict wanted; /* what every device must read in the end */
    uint8_t devices_count;
    bool is_off[HF_FENCE_DEVICES_MAX];      /* its `off` succeeded */
    bool is_verified[HF_FENCE_DEVICES_MAX]; /* and it reads off */
    uint8_t tries[HF_FENCE_DEVICES_MAX];    /* `status` runs that did not read off */
};

/* devices_count 1..HF_FENCE_DEVICES_MAX. Every device's `off` is to be started. */
void plan_begin(struct plan *p, uint8_t devices_count);
/* The opposite: every device's `on` is to be started, and every device must read on. */
void plan_begin_on(struct plan *p, uint8_t devices_count);
/* The `off` run of a device ended; accepted: proof_off_accepted(), false for a killed one. When the
 * phase becomes PLAN_VERIFYING every device's `status` is to be started. */
enum plan_phase plan_off_ended(struct plan *p, uint8_t device, bool accepted);
/* The `status` run of a device ended. While the phase stays PLAN_VERIFYING and the device is not
 * verified, its `status` is to be started again. */
enum plan_phase plan_status_ended(struct plan *p, uint8_t device, enum proof_verdict verdict);
/* The deadline passed, or the order was dropped: PLAN_DONE stays done. */
enum plan_phase plan_give_up(struct plan *p);

#endif
