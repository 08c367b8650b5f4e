#include "fencing/plan.h"

#include <string.h>

#include "supervisord/base/assert.h"

void plan_begin(struct plan *p, uint8_t devices_count)
{
    HF_ASSERT(devices_count >= 1);
    HF_ASSERT(devices_count <= HF_FENCE_DEVICES_MAX);
    memset(p, 0, sizeof *p);
    p->devices_count = devices_count;
    p->wanted = PROOF_READS_OFF;
}

void plan_begin_on(struct plan *p, uint8_t devices_count)
{
    plan_begin(p, devices_count);
    p->wanted = PROOF_READS_ON;
}

static bool all(const bool *claim, uint8_t count)
{
    for (uint8_t i = 0; i < count; i++)
        if (!claim[i])
            return false;
    return true;
}

enum plan_phase plan_off_ended(struct plan *p, uint8_t device, bool accepted)
{
    HF_ASSERT(device < p->devices_count);
    if (p->phase != PLAN_SWITCHING)
        return p->phase;
    if (!accepted) {
        p->phase = PLAN_FAILED;
        return p->phase;
    }
    p->is_off[device] = true;
    if (all(p->is_off, p->devices_count))
        p->phase = PLAN_VERIFYING;
    return p->phase;
}

enum plan_phase plan_status_ended(struct plan *p, uint8_t device, enum proof_verdict verdict)
{
    HF_ASSERT(device < p->devices_count);
    if (p->phase != PLAN_VERIFYING)
        return p->phase;
    if (verdict != p->wanted) {
        /* A device that read off a moment ago and is not asked again keeps its word: the last
         * question to each one came after every feed was switched off. */
        p->tries[device]++;
        if (p->tries[device] >= PLAN_STATUS_TRIES)
            p->phase = PLAN_FAILED;
        return p->phase;
    }
    p->is_verified[device] = true;
    if (all(p->is_verified, p->devices_count))
        p->phase = PLAN_DONE;
    return p->phase;
}

enum plan_phase plan_give_up(struct plan *p)
{
    if (p->phase != PLAN_DONE)
        p->phase = PLAN_FAILED;
    return p->phase;
}
