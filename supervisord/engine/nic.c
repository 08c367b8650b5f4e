/* nic.c - what nodes say of their NICs and of their VMs' legs, and what follows from it. Little
 * does: traffic is moved between legs by nicbond alone, and a VM with one leg alive is never
 * touched. A VM none of whose legs carries is moved, if that has lasted, and if another member sees
 * one of its fabrics: a fabric that is down everywhere is no reason to stop anything. Unknown is a
 * value: what nobody says is neither dead nor alive. */
#include "supervisord/engine/internal.h"

static bool carries_nothing(enum hf_pf state)
{
    switch (state) {
    case HF_PF_DOWN:
    case HF_PF_ABSENT:
        return true;
    case HF_PF_UNKNOWN:
    case HF_PF_UP:
    case HF_PF_SUSPECT:
    case HF_PF_HOLD:
    case HF_PFS:
        return false;
    }
    return false;
}

/* Where the configuration names no NIC though it does elsewhere, there is none. */
static enum hf_pf pf_of(const struct engine *e, uint8_t n, hf_fabric f)
{
    if (e->group.nodes[n].fabrics & leg_of(f))
        return e->nodes[n].pf[f].state;
    FOR_EACH_NODE (e, other)
        if (e->group.nodes[other].fabrics & leg_of(f))
            return HF_PF_ABSENT;
    return HF_PF_UNKNOWN;
}

hf_legs nic_dead_on(const struct engine *e, const struct vm *v, uint8_t n)
{
    hf_legs dead = 0;
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if ((v->def.legs & leg_of(f)) && carries_nothing(pf_of(e, n, f)))
            dead |= leg_of(f);
    return dead;
}

/* Besides its PFs: a leg that it has not, or that does not carry. A word about a PF that nobody can
 * tell the state of is old. */
hf_legs nic_dead_here(const struct engine *e, const struct vm *v)
{
    HF_ASSERT(v->home < e->group.nodes_count);
    hf_legs dead = nic_dead_on(e, v, v->home);
    if (v->legs.has == 0 || v->legs.start_no != v->running_no)
        return dead;
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if ((v->def.legs & leg_of(f) & ~v->legs.up) && pf_of(e, v->home, f) != HF_PF_UNKNOWN)
            dead |= leg_of(f);
    return dead;
}

unsigned nic_worth(const struct engine *e, const struct vm *v, uint8_t n)
{
    static const uint8_t worth[HF_PFS] = {
        [HF_PF_DOWN] = 0, [HF_PF_ABSENT] = 0,   [HF_PF_UNKNOWN] = 8,
        [HF_PF_HOLD] = 9, [HF_PF_SUSPECT] = 10, [HF_PF_UP] = 11,
    }; /* few dead ones count more than anything the others are worth */
    unsigned sum = 0;
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if (v->def.legs & leg_of(f))
            sum += worth[pf_of(e, n, f)];
    return sum;
}

/* ---- what nodes say ---- */

static const uint8_t whys[HF_PFS] = {
    [HF_PF_UNKNOWN] = HF_WHY_PF_UNKNOWN, [HF_PF_UP] = HF_WHY_PF_UP,
    [HF_PF_SUSPECT] = HF_WHY_PF_SUSPECT, [HF_PF_DOWN] = HF_WHY_PF_DOWN,
    [HF_PF_HOLD] = HF_WHY_PF_HOLD,       [HF_PF_ABSENT] = HF_WHY_PF_ABSENT,
};

static void legs_unknown(struct legs *legs)
{
    legs->has = legs->up = 0;
    legs->active = 0;
    legs->start_no = 0;
}

static bool knows_a_pf(const struct node *node)
{
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if (node->pf[f].state != HF_PF_UNKNOWN)
            return true;
    return false;
}

static void forget_legs(struct engine *e, uint8_t n)
{
    FOR_EACH_VM (e, v)
        if (v->home == n)
            legs_unknown(&v->legs);
}

void nic_forget(struct engine *e, uint8_t n)
{
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        e->nodes[n].pf[f] = (struct pf){0};
    forget_legs(e, n);
}

void nic_told(struct step *s, const struct hf_event *ev)
{
    uint8_t n = ev->from.ix;
    struct node *node = &s->e->nodes[n];
    bool has_changed = false, is_known_anew = false;
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        struct pf now = {(uint8_t)ev->u.nics.pf[f].state, (uint8_t)ev->u.nics.pf[f].cause};
        if (!(s->e->group.nodes[n].fabrics & leg_of(f)))
            continue;
        if (now.state == node->pf[f].state && now.cause == node->pf[f].cause)
            continue;
        is_known_anew |= node->pf[f].state == HF_PF_UNKNOWN;
        node->pf[f] = now;
        has_changed = true;
        step_note_node(s, n, node->state, whys[now.state], f * 100u + now.cause);
    }
    if (!has_changed) {
        step_answer(s, false, HF_WHY_ALREADY);
        return;
    }
    s->needs_review = true;
    /* Words about legs from a time when nobody knew the PF are guesses: "no leg carries" of a
     * nicbond that has just begun to look (seed 12736). The daemon tells what differs from ours
     * again. */
    if (is_known_anew || !knows_a_pf(node))
        forget_legs(s->e, n);
}

void nic_legs_told(struct step *s, const struct hf_event *ev)
{
    const struct hf_vm_legs_seen *seen = &ev->u.legs;
    struct vm *v = vm_of_uid(s->e, seen->uid);
    if (!v) {
        step_answer(s, false, HF_WHY_NO_SUCH_VM);
        return;
    }
    if (!host_may_speak(s->e, ev->from)) {
        step_answer(s, false, HF_WHY_NOT_PRESENT);
        return;
    }
    if (v->home != ev->from.ix || seen->start_no != v->running_no) {
        step_answer(s, false, HF_WHY_STALE_INCARNATION);
        return;
    }
    struct legs now = v->legs;
    legs_unknown(&now);
    if (seen->has != 0) {
        now.has = seen->has;
        now.up = seen->up;
        now.active = seen->active;
        now.start_no = seen->start_no;
    }
    if (now.has == v->legs.has && now.up == v->legs.up && now.active == v->legs.active &&
        now.start_no == v->legs.start_no) {
        step_answer(s, false, HF_WHY_ALREADY);
        return;
    }
    v->legs = now;
    s->needs_review = true;
}

/* ---- what follows ---- */

static bool has_no_leg(const struct engine *e, const struct vm *v)
{
    return v->state == HF_VM_RUNNING && v->def.legs != 0 && nic_dead_here(e, v) == v->def.legs;
}

/* Members that see one of its fabrics, in so many words: unknown is not enough, and what was
 * flapping a moment ago is no reason to stop a VM. */
static hf_nodes seen_by(const struct engine *e, const struct vm *v)
{
    hf_nodes nodes = 0;
    FOR_EACH_NODE (e, n) {
        if (n == v->home || e->nodes[n].state != HF_NODE_MEMBER)
            continue;
        for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
            if ((v->def.legs & leg_of(f)) && pf_of(e, n, f) == HF_PF_UP)
                nodes |= bit_of(n);
    }
    return nodes;
}

enum hf_reason nic_why_stays(const struct engine *e, const struct vm *v)
{
    const struct node *home = &e->nodes[v->home];
    if (!e->is_armed || e->group.policy.leg_move_ms == 0)
        return HF_WHY_DISARMED;
    if (e->startup.purpose != FOR_NOTHING)
        return HF_WHY_COLD_START;
    if (home->state != HF_NODE_MEMBER || !home->vm_watch_known)
        return HF_WHY_WATCH_UNKNOWN; /* who cannot be told to stop it: it would only be off */
    if (v->failures >= v->def.restarts_max)
        return HF_WHY_RESTART_LIMIT;
    if (seen_by(e, v) == 0)
        return HF_WHY_FABRIC_DOWN;
    return HF_WHY_NONE;
}

static bool is_to_move(const struct engine *e, const struct vm *v)
{
    return has_no_leg(e, v) && nic_why_stays(e, v) == HF_WHY_NONE;
}

/* It counts like a failure there: not back to that node, and not for ever from node to node. */
static bool move(struct step *s, struct vm *v)
{
    struct load load;
    place_load(s->e, v, &load);
    hf_node to = place_pick(s->e, v, seen_by(s->e, v), &load);
    if (!hf_node_is(to))
        return false;
    v->target = to.ix;
    v->avoid |= bit_of(v->home);
    v->failures++;
    v->cause = CAUSE_OPERATOR; /* what we stop ourselves comes back, armed or not; and a stop that
                                * cannot be proved shoots no host for its NICs */
    return vm_apply(s, v, HF_VE_NO_LEG, HF_WHY_LEGS_MOVE);
}

static void review_wait(struct step *s, struct vm *v)
{
    struct legs *legs = &v->legs;
    uint32_t ms = s->e->group.policy.leg_move_ms;
    if (!is_to_move(s->e, v)) {
        timer_clear(&legs->timer);
        legs->is_overdue = false;
    } else if (legs->is_overdue) {
        if (move(s, v)) /* tried again at every change */
            legs->is_overdue = false;
    } else if (legs->timer.purpose == FOR_NOTHING) {
        timer_arm(s, &legs->timer, FOR_LEGS, ms);
        step_note_vm(s, v, v->state, HF_WHY_NO_LEG, ms);
    }
}

static void tell(struct step *s, struct vm *v)
{
    hf_legs dead = v->state == HF_VM_RUNNING ? nic_dead_here(s->e, v) : 0;
    bool has_changed = dead != v->legs.noted;
    v->legs.noted = dead;
    if (!has_changed || v->state != HF_VM_RUNNING)
        return;
    step_note_vm(s, v, v->state, dead ? HF_WHY_DEGRADED : HF_WHY_LEGS_WHOLE, dead);
    if (dead == v->def.legs && nic_why_stays(s->e, v) != HF_WHY_NONE)
        step_note_vm(s, v, v->state, nic_why_stays(s->e, v), 0);
}

void nic_review(struct step *s)
{
    FOR_EACH_VM (s->e, v) {
        if (v->def.legs == 0)
            continue;
        tell(s, v);
        review_wait(s, v);
    }
}

/* The group may have stood still, and a wait have run out meanwhile: what is known of legs is as
 * old as the last view. It begins anew, and everybody's word has its time to come first (seed
 * 60918). */
void nic_view_began(struct step *s)
{
    FOR_EACH_VM (s->e, v) {
        timer_clear(&v->legs.timer);
        v->legs.is_overdue = false;
    }
}

void nic_wait_over(struct step *s, struct vm *v)
{
    if (!is_to_move(s->e, v) || move(s, v))
        return;
    v->legs.is_overdue = true;
    step_note_vm(s, v, v->state, HF_WHY_NO_NODE, 0);
}
