/* checker_death.c - what is physically so when a node counts as dead, is fed, or is shot. */
#include <string.h>

#include "supervisord/model/names.h"
#include "tests/sim/checker.h"
#include "tests/sim/sim.h"

/* ---- S2: nothing of the boot that the group knew can be left ---- */

static uint32_t boot_number(const struct hf_boot *boot)
{
    uint32_t number;
    memcpy(&number, &boot->id[4], sizeof number);
    return number;
}

static bool is_proof(enum hf_reason why)
{
    return why == HF_WHY_PROOF_FENCE || why == HF_WHY_PROOF_WATCHDOG ||
           why == HF_WHY_PROOF_OPERATOR || why == HF_WHY_PROOF_REJOIN;
}

/* The boot that this replica means: a newer one that took part only where nobody else heard of it
 * is not in its history. */
static void check_proof(struct sim *s, const struct engine *e, const struct hf_change *c)
{
    const struct host *h = &s->world.host[c->ix];
    const struct hf_boot meant = engine_node(e, sim_node_at(c->ix)).boot;
    uint32_t boot = boot_number(&meant);
    if (!is_proof(c->why) || boot == 0)
        return;
    s->check.proofs[c->why == HF_WHY_PROOF_FENCE      ? HF_PROOF_FENCE
                    : c->why == HF_WHY_PROOF_WATCHDOG ? HF_PROOF_WATCHDOG
                    : c->why == HF_WHY_PROOF_OPERATOR ? HF_PROOF_OPERATOR
                                                      : HF_PROOF_REJOIN]++;
    if (!h->is_on || h->boots != boot || c->why == HF_WHY_PROOF_REJOIN)
        return;
    if (c->why == HF_WHY_PROOF_WATCHDOG && h->dog.kind == DOG_DEAF)
        s->shows_limit = true; /* a device that takes every ping and does nothing */
    sim_fail(s, "S2: node %u counts as dead (%s) while its boot %u goes on", c->ix,
             hf_reason_name(c->why), h->boots);
}

void checker_members(struct sim *s, const struct hf_event *ev)
{
    for (unsigned n = 0; n < s->opt.nodes; n++) {
        const struct hf_member *m = &ev->u.members.node[n];
        struct checker_fence *f = &s->check.fence[n];
        if (!m->present)
            continue;
        uint32_t boot = boot_number(&m->boot);
        f->is_attested = f->is_attested && boot == f->boot;
        f->boot = boot;
        f->has_left = false;
    }
}

/* Everybody who held the newest steps is away, but for one whose disk did not keep them: two faults
 * at once, of which a majority cannot know. */
void checker_forgets(struct sim *s, const struct hf_event *ev)
{
    for (unsigned n = 0; n < s->opt.nodes && ev->seq <= s->check.max_seq; n++)
        if (ev->u.members.node[n].present && s->node[n].forgot)
            s->shows_limit = true;
}

void checker_attested(struct sim *s, const struct hf_event *ev)
{
    if (ev->from.ix < s->opt.nodes)
        s->check.fence[ev->from.ix].is_attested = ev->u.attest.state == HF_WD_ARMED;
}

/* ---- S8: not too many without a person ---- */

/* The guard counts in windows that begin with a fence; two of them side by side let twice as many
 * through, and no more. One clock's word ends a window: with one that runs away this says nothing.
 */
static void check_storm(struct sim *s, hf_node target)
{
    const struct hf_policy *p = &s->opt.policy;
    struct checker *c = &s->check;
    unsigned count = 0;
    if (!sim_clocks_are_fair(s))
        return;
    c->incident[c->incidents++ % CHECKER_INCIDENTS] = s->now;
    for (unsigned i = 0; i < CHECKER_INCIDENTS; i++)
        if (c->incident[i] != 0 && s->now - c->incident[i] < SIM_MS(p->storm_window_ms) * 98 / 100)
            count++;
    if (count > 2u * p->storm_fences)
        sim_fail(s, "S8: node %u is the %uth that is to be fenced within %u ms, the limit is %u",
                 target.ix, count, p->storm_window_ms, p->storm_fences);
}

void checker_storm_over(struct sim *s)
{
    memset(s->check.incident, 0, sizeof s->check.incident);
}

/* ---- changes of a node, each once ---- */

static void learn_path(struct sim *s, const struct hf_event *ev, const struct hf_change *c)
{
    struct checker_fence *f = &s->check.fence[c->ix];
    bool is_ok = c->why == HF_WHY_PATH_OK;
    unsigned level = (is_ok ? c->detail : c->detail / 100) - 1;
    if (level >= HF_FENCE_LEVELS_MAX)
        return;
    if (is_ok)
        f->wrong_seq[level] = 0;
    else if (c->detail % 100 == HF_PATH_WRONG_HOST)
        f->wrong_seq[level] = ev->seq;
}

void checker_node_change(struct sim *s, const struct engine *e, const struct hf_event *ev,
                         const struct hf_change *c)
{
    bool is_order = ev->type == HF_EV_ORDER && ev->u.order.type == HF_ORDER_FENCE;
    struct checker_fence *f;
    if (c->subject != HF_SUBJECT_NODE || c->ix >= s->opt.nodes)
        return;
    f = &s->check.fence[c->ix];
    if (c->now == HF_NODE_DEAD && c->was != HF_NODE_DEAD)
        check_proof(s, e, c);
    if (c->now == HF_NODE_FENCING && c->was != HF_NODE_FENCING && !f->ordered && !is_order)
        check_storm(s, sim_node_at(c->ix));
    if (c->why == HF_WHY_PATH_OK || c->why == HF_WHY_PATH_FAILED)
        learn_path(s, ev, c);
    if (c->why == HF_WHY_LEFT_IN_ORDER) {
        f->has_left = true;
        faults_at_leave(s, sim_node_at(c->ix));
    }
    if (c->was == HF_NODE_FENCING && c->now != HF_NODE_FENCING && f->on_since > f->ordered_at)
        f->ordered = false; /* it was on again before the order was over */
    if (c->now == HF_NODE_JOINING)
        f->has_left = false;
}

void checker_holds(struct sim *s, hf_node n, uint32_t ms)
{
    s->check.fence[n.ix].held_since = s->now;
    s->check.fence[n.ix].held_until = s->now + SIM_MS((int64_t)ms) * 98 / 100;
}

void checker_shot(struct sim *s, const struct hf_effect *fx, bool is_excused)
{
    hf_node target = fx->u.fence.target;
    const struct checker_fence *f = &s->check.fence[target.ix];
    uint64_t wrong_seq = f->wrong_seq[fx->u.fence.level % HF_FENCE_LEVELS_MAX];
    if (wrong_seq != 0 && fx->token.seq > wrong_seq)
        sim_fail(s, "S8: level %u of node %u is used though its devices answer for another host",
                 fx->u.fence.level, target.ix);
    if (is_excused)
        return;
    if (f->has_left)
        sim_fail(s, "S8: node %u left in order and is fenced", target.ix);
    bool forgot = s->check.last_cold > f->held_since; /* who may forget, may */
    if (s->now < f->held_until && !forgot && sim_clocks_are_fair(s))
        sim_fail(s, "S8: node %u is fenced in its announced absence", target.ix);
}

/* ---- S7: the watchdog ---- */

/* Seen from outside: once a majority has formed a ring without this node, nobody can echo what it
 * sends from then on. Whatever it sent before keeps it fed for one lease, and a ping that was
 * checked just before may come almost one timeout late. */
void checker_dog_fed(struct sim *s, hf_node n, const struct feed_verdict *v, bool is_late)
{
    const struct feed_device *device = &s->world.host[n.ix].feeder.device;
    int64_t since = s->totem.excluded_since[n.ix];
    int64_t most = SIM_MS((int64_t)device->lease_ms + (is_late ? device->timeout_ms : 0));
    bool is_exempt = v->want == FEED_UNSTOPPABLE || v->cover == FEED_HOLD;
    s->check.pings++;
    if (since == 0 || is_exempt || s->now - since <= most + most / 100 + SIM_MS(100))
        return;
    sim_fail(s, "S7: node %u feeds its watchdog %lld ms after a majority went on without it", n.ix,
             (long long)((s->now - since) / HF_NS_PER_MS));
}

/* A feeder that runs and means to feed is never too late for its own device. */
void checker_dog_fires(struct sim *s, hf_node n)
{
    const struct host *h = &s->world.host[n.ix];
    const struct dog_feeder *f = &h->feeder;
    if (f->is_alive && !f->is_paused && f->device.is_open && f->verdict.rule == FEED_PING &&
        h->dog.kind == DOG_GOOD)
        sim_fail(s, "S7: the watchdog of node %u fires though its feeder runs (%s)", n.ix,
                 f->verdict.why);
}
