/* trial.c - an event that breaks an assertion of ours costs a decision, never a machine: it is
 * tried on a shadow of the state first. What it would have said is lost, and nobody knows what that
 * was, so nothing is started or fenced by itself until a person has looked and arms again. */
#include <string.h>

#include "supervisord/base/guard.h"
#include "supervisord/engine/internal.h"

struct trial {
    struct engine *shadow;
    const struct hf_event *ev;
    struct engine_out *out;
};

static void run(void *argument)
{
    const struct trial *t = argument;
    engine_step(t->shadow, t->ev, t->out);
}

bool engine_try(struct engine *shadow, const struct hf_event *ev, struct engine_out *out)
{
    struct trial t = {shadow, ev, out};
    return hf_guard_run(run, &t);
}

/* As little of the engine as can be: what is wrong with the state is not known. Fences that run go
 * on, their targets are lost already. */
static void skip(struct engine *e, const struct hf_event *ev, struct engine_out *out)
{
    struct step s = {.e = e, .out = out};
    HF_ASSERT(ev->type != HF_EV_MEMBERS); /* a view that is not known cannot be decided in */
    out->effects_count = out->changes_count = 0;
    e->seq = ev->seq;
    e->skipped_seq = ev->seq;
    if (e->skipped < UINT32_MAX)
        e->skipped++;
    e->is_armed = false;
    step_answer(&s, false, HF_WHY_SKIPPED);
    step_note_group(&s, HF_WHY_SKIPPED, ev->type);
}

void engine_step_tried(struct engine *e, struct engine *shadow, const struct hf_event *ev,
                       struct engine_out *out)
{
    if (engine_try(shadow, ev, out)) {
        engine_step(e, ev, out);
        return;
    }
    skip(e, ev, out);
    memcpy(shadow, e, sizeof *e);
}
