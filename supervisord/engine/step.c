/* step.c - one event in, one decision out: dispatch, then review what may have become possible. */
#include "supervisord/engine/internal.h"

size_t engine_size(void)
{
    return sizeof(struct engine);
}

/* A step gives out fewer than 4096 tokens; the rest of nth is the lineage's: a result that was
 * meant for a forgotten order with the same sequence number must not be taken for this one's. */
enum { LINEAGE_BITS = (1 << 20) - 1 };
_Static_assert(HF_EFFECTS_MAX < 4096, "tokens of one step");

struct hf_token step_token(struct step *s)
{
    return (struct hf_token){s->e->seq, (uint32_t)(s->e->lineage & LINEAGE_BITS) << 12 | ++s->nth};
}

struct hf_effect *step_effect(struct step *s, enum hf_effect_type type, hf_node actor)
{
    HF_ASSERT(s->out->effects_count < HF_EFFECTS_MAX);
    struct hf_effect *fx = &s->out->effects[s->out->effects_count++];
    fx->token = step_token(s);
    fx->actor = actor;
    fx->type = type;
    return fx;
}

void step_answer(struct step *s, bool applied, enum hf_reason why)
{
    s->out->applied = applied;
    s->out->why = why;
}

static struct hf_change *note(struct step *s)
{
    HF_ASSERT(s->out->changes_count < HF_CHANGES_MAX);
    return &s->out->changes[s->out->changes_count++];
}

void step_note_node(struct step *s, uint8_t n, uint8_t was, enum hf_reason why, uint32_t detail)
{
    *note(s) = (struct hf_change){
        .subject = HF_SUBJECT_NODE,
        .ix = n,
        .was = was,
        .now = s->e->nodes[n].state,
        .node = {s->e->nodes[n].executor},
        .why = why,
        .detail = detail,
    };
}

void step_note_vm(struct step *s, struct vm *v, uint8_t was, enum hf_reason why, uint32_t detail)
{
    *note(s) = (struct hf_change){
        .subject = HF_SUBJECT_VM,
        .ix = (uint16_t)(v - s->e->vms),
        .uid = v->uid,
        .was = was,
        .now = v->state,
        .node = {v->home},
        .why = why,
        .detail = detail,
    };
}

void step_note_group(struct step *s, enum hf_reason why, uint32_t detail)
{
    *note(s) = (struct hf_change){
        .subject = HF_SUBJECT_GROUP, .node = HF_NO_NODE, .why = why, .detail = detail};
}

static void done(struct step *s, const struct hf_event *ev)
{
    if (!fence_done(s, ev) && !vm_done(s, ev))
        step_answer(s, false, HF_WHY_STALE_TOKEN);
}

static void dispatch(struct step *s, const struct hf_event *ev)
{
    switch (ev->type) {
    case HF_EV_MEMBERS:
        host_members(s, ev);
        break;
    case HF_EV_FACTS:
        host_facts(s, ev);
        break;
    case HF_EV_INVENTORY:
        host_inventory(s, ev);
        break;
    case HF_EV_VM:
        vm_report(s, ev);
        break;
    case HF_EV_BEAT:
        host_beat(s, ev);
        break;
    case HF_EV_EXPIRED:
        timer_expired(s, ev->from, ev->u.expired.timer);
        break;
    case HF_EV_DONE:
        done(s, ev);
        break;
    case HF_EV_ORDER:
        order_apply(s, ev);
        break;
    case HF_EV_ATTEST:
        watchdog_attest(s, ev);
        break;
    case HF_EV_PATH:
        path_tested(s, ev);
        break;
    case HF_EV_NICS:
        nic_told(s, ev);
        break;
    case HF_EV_LEGS:
        nic_legs_told(s, ev);
        break;
    case HF_EVENT_TYPES:
        HF_ASSERT(ev->type != HF_EVENT_TYPES);
        break;
    }
}

/* A sender that takes no part in the view is heard, at most, in a late delivery: not counted. */
static bool is_from_participant(const struct engine *e, const struct hf_event *ev)
{
    if (ev->type == HF_EV_MEMBERS)
        return true;
    return ev->from.ix < e->group.nodes_count && hf_nodes_has(e->present, ev->from);
}

void engine_step(struct engine *e, const struct hf_event *ev, struct engine_out *out)
{
    HF_ASSERT(ev->seq == e->seq + 1);
    struct step s = {.e = e, .out = out};
    out->effects_count = out->changes_count = 0;
    e->seq = ev->seq;
    step_answer(&s, true, HF_WHY_NONE);
    if (is_from_participant(e, ev))
        dispatch(&s, ev);
    else
        step_answer(&s, false, HF_WHY_NOT_PRESENT);
    if (s.needs_review) {
        fence_pardon(&s);
        drain_review(&s);
        leave_review(&s);
        place_review(&s);
        nic_review(&s);
        fence_review(&s);
        watchdog_review(&s);
        path_review(&s);
    }
    engine_check(e);
}
