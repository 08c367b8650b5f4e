#include "nicbond/flip.h"

#include "supervisord/base/assert.h"

static bool has_failed(enum flip_rung rung)
{
    return rung == FLIP_RUNG_ABSENT || rung == FLIP_RUNG_REFUSED || rung == FLIP_RUNG_LATE;
}

static bool is_open(enum flip_rung rung)
{
    return rung == FLIP_RUNG_WANTED || rung == FLIP_RUNG_OUT;
}

/* The methods in the order of the ladder. */
static const enum hf_flip_method ladder[] = {HF_FLIP_VF_LINK, HF_FLIP_LINK, HF_FLIP_GUEST,
                                             HF_FLIP_PF_DOWN, HF_FLIP_UNPLUG};
enum { LADDER = sizeof ladder / sizeof ladder[0] };

/* Has this rung's turn come? */
static bool is_due(const struct flip *f, enum hf_flip_method method)
{
    switch (method) {
    case HF_FLIP_VF_LINK:
    case HF_FLIP_LINK:
    case HF_FLIP_GUEST:
        return true;
    case HF_FLIP_PF_DOWN:
        return !f->what.is_gentle && has_failed(f->rung[HF_FLIP_VF_LINK]);
    case HF_FLIP_UNPLUG:
        return !f->what.is_gentle && has_failed(f->rung[HF_FLIP_VF_LINK]) &&
               has_failed(f->rung[HF_FLIP_PF_DOWN]) && has_failed(f->rung[HF_FLIP_LINK]) &&
               has_failed(f->rung[HF_FLIP_GUEST]);
    case HF_FLIP_NONE:
    case HF_FLIP_GUEST_BOND:
    case HF_FLIP_METHODS:
        break;
    }
    return false;
}

static uint32_t deadline_ms(const struct flip *f, enum hf_flip_method method)
{
    return method == HF_FLIP_UNPLUG ? FLIP_UNPLUG_MS : f->what.rung_ms;
}

static void advance(struct flip *f, hf_time now)
{
    for (unsigned i = 0; i < LADDER; i++) {
        enum hf_flip_method method = ladder[i];

        if (f->rung[method] != FLIP_RUNG_READY || !is_due(f, method))
            continue;
        f->rung[method] = FLIP_RUNG_WANTED;
        f->until[method] =
            hf_time_add_ms(now, method == HF_FLIP_LINK ? FLIP_QUEUE_MS : deadline_ms(f, method));
    }
}

static uint32_t us_since(hf_time then, hf_time now)
{
    int64_t us = (now.ns - then.ns) / 1000;

    if (us < 0)
        return 0;
    return us >= UINT32_MAX ? UINT32_MAX - 1 : (uint32_t)us;
}

void flip_begin(struct flip *f, const struct flip_case *what, hf_time now)
{
    bool is_vf = what->kind == HF_LEG_VF;
    bool is_virtio = what->kind == HF_LEG_BRIDGE || what->kind == HF_LEG_MACVTAP;
    bool has[HF_FLIP_METHODS] = {[HF_FLIP_VF_LINK] = is_vf && what->has_vf_link,
                                 [HF_FLIP_PF_DOWN] = is_vf,
                                 [HF_FLIP_GUEST] = what->has_helper,
                                 [HF_FLIP_LINK] = is_virtio,
                                 [HF_FLIP_UNPLUG] = what->may_unplug && (is_vf || is_virtio)};

    HF_ASSERT(what->epoch != 0);
    HF_ASSERT(what->from != what->to);
    *f = (struct flip){.is_running = true, .what = *what};
    f->record = (struct hf_flip){.epoch = what->epoch,
                                 .uid = what->uid,
                                 .from = what->from,
                                 .to = what->to,
                                 .cause = what->cause,
                                 .judged_us = us_since(what->since, what->judged),
                                 .ordered_us = UINT32_MAX,
                                 .confirmed_us = UINT32_MAX,
                                 .wall_ns = what->wall.ns};
    for (unsigned i = 0; i < LADDER; i++)
        f->rung[ladder[i]] = has[ladder[i]] ? FLIP_RUNG_READY : FLIP_RUNG_ABSENT;
    advance(f, now);
}

bool flip_wants(const struct flip *f, enum hf_flip_method method)
{
    return f->is_running && f->rung[method] == FLIP_RUNG_WANTED;
}

void flip_ordered(struct flip *f, enum hf_flip_method method, hf_time now)
{
    HF_ASSERT(flip_wants(f, method));
    f->rung[method] = FLIP_RUNG_OUT;
    f->until[method] = hf_time_add_ms(now, deadline_ms(f, method));
    if (!f->has_ordered)
        f->record.ordered_us = us_since(f->what.since, now);
    f->has_ordered = true;
    if (!f->has_done)
        f->record.method = method;
}

bool flip_answered(struct flip *f, enum hf_flip_method method, enum flip_rung how, hf_time now)
{
    HF_ASSERT(how == FLIP_RUNG_DONE || how == FLIP_RUNG_REFUSED || how == FLIP_RUNG_LATE);
    if (!f->is_running || !is_open(f->rung[method]))
        return false;
    f->rung[method] = how;
    if (how == FLIP_RUNG_DONE) {
        if (!f->has_done)
            f->record.method = method;
        f->has_done = true;
        f->done_at = now;
    }
    advance(f, now);
    return true;
}

void flip_escalate(struct flip *f, hf_time now)
{
    if (!f->is_running)
        return;
    f->what.is_gentle = false;
    advance(f, now);
}

void flip_ease(struct flip *f)
{
    static const enum hf_flip_method harsh[] = {HF_FLIP_PF_DOWN, HF_FLIP_UNPLUG};

    if (!f->is_running)
        return;
    f->what.is_gentle = true;
    for (unsigned i = 0; i < sizeof harsh / sizeof harsh[0]; i++) {
        if (f->rung[harsh[i]] == FLIP_RUNG_WANTED)
            f->rung[harsh[i]] = FLIP_RUNG_READY;
    }
}

static bool has_open(const struct flip *f)
{
    for (unsigned i = 0; i < LADDER; i++) {
        if (is_open(f->rung[ladder[i]]))
            return true;
    }
    return false;
}

static bool has_late(const struct flip *f)
{
    for (unsigned i = 0; i < LADDER; i++) {
        if (f->rung[ladder[i]] == FLIP_RUNG_LATE)
            return true;
    }
    return false;
}

static hf_time confirm_until(const struct flip *f)
{
    return f->what.can_confirm ? hf_time_add_ms(f->done_at, FLIP_CONFIRM_MS) : f->done_at;
}

bool flip_tick(struct flip *f, hf_time now, enum bond_event *how)
{
    if (!f->is_running)
        return false;
    for (unsigned i = 0; i < LADDER; i++) {
        if (is_open(f->rung[ladder[i]]) && hf_time_reached(now, f->until[ladder[i]]))
            (void)flip_answered(f, ladder[i], FLIP_RUNG_LATE, now);
    }
    if (has_open(f))
        return false;
    if (f->has_done && !hf_time_reached(now, confirm_until(f)))
        return false;
    *how = f->has_done   ? BOND_EV_FLIP_UNKNOWN
           : has_late(f) ? BOND_EV_DEADLINE
                         : BOND_EV_FLIP_FAILED;
    return true;
}

hf_time flip_deadline(const struct flip *f)
{
    hf_time first = {INT64_MAX};

    if (!f->is_running)
        return first;
    for (unsigned i = 0; i < LADDER; i++) {
        if (is_open(f->rung[ladder[i]]) && f->until[ladder[i]].ns < first.ns)
            first = f->until[ladder[i]];
    }
    if (first.ns != INT64_MAX)
        return first;
    return f->has_done ? confirm_until(f) : (hf_time){0};
}

uint32_t flip_us(const struct flip *f, hf_time then)
{
    return us_since(f->what.since, then);
}

enum hf_flip_outcome flip_confirmed(const struct flip *f)
{
    return f->has_ordered ? HF_FLIP_FLIPPED : HF_FLIP_ALREADY;
}

void flip_end(struct flip *f, enum hf_flip_outcome outcome, bool is_confirmed, hf_time now)
{
    f->is_running = false;
    f->record.outcome = outcome;
    if (is_confirmed)
        f->record.confirmed_us = us_since(f->what.since, now);
    if (is_confirmed && !f->has_ordered)
        f->record.method = HF_FLIP_GUEST_BOND;
}

bool flip_is_worth_repeating(const struct flip *f)
{
    return !f->has_done;
}

const char *flip_rung_name(enum flip_rung rung)
{
    static const char *const names[FLIP_RUNGS] = {
        [FLIP_RUNG_ABSENT] = "absent", [FLIP_RUNG_READY] = "ready", [FLIP_RUNG_WANTED] = "wanted",
        [FLIP_RUNG_OUT] = "out",       [FLIP_RUNG_DONE] = "done",   [FLIP_RUNG_REFUSED] = "refused",
        [FLIP_RUNG_LATE] = "late"};

    return (unsigned)rung < FLIP_RUNGS ? names[rung] : "?";
}
