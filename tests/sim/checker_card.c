/* checker_card.c - the judge of NICs: S6 (a VM with a leg alive is not touched for the other one),
 * P4 (no VM goes where its PFs are dead while another host would do), L6 (without a leg here and
 * with one elsewhere, it is moved). PFs are judged by what is physically so, and only when it has
 * been so for longer than anybody may take to hear of it. */
#include "supervisord/model/names.h"
#include "tests/sim/checker.h"
#include "tests/sim/sim.h"

/* From a physical change to the last replica that may still decide without it: nicbond's look, its
 * record's way, a daemon's pause and the pace of its words, held and resent messages, a stalled
 * corosync; and a nicbond that hangs is found out after 6 s, and given 10 s more. */
static int64_t lag(const struct sim *s)
{
    const struct sim_options *o = &s->opt;
    return SIM_MS(2LL * o->report_ms + 2LL * o->mute_after_ms + 8LL * o->resend_ms +
                  30LL * o->token_ms + 2LL * NICS_PAUSE_MAX_MS + 40000);
}

static bool is_dead_for(const struct sim *s, hf_node n, hf_fabric f, int64_t ns)
{
    int64_t since = s->world.host[n.ix].card.dead_since[f];
    return since != 0 && s->now - since > ns;
}

static bool is_alive_for(const struct sim *s, hf_node n, hf_fabric f, int64_t ns)
{
    int64_t since = s->world.host[n.ix].card.alive_since[f];
    return since != 0 && s->now - since > ns;
}

static bool needs(const struct hf_vm_def *def, hf_fabric f)
{
    return def->legs >> f & 1u;
}

/* ---- S6 ---- */

static bool may_be_seen_by(const struct sim *s, hf_node n, const struct hf_vm_def *def)
{
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if (needs(def, f) && !is_dead_for(s, n, f, lag(s)))
            return true;
    return false;
}

static void check_move(struct sim *s, hf_vm_uid uid, const struct hf_vm_def *def, hf_node home)
{
    bool is_seen = false;
    s->check.leg_moves++;
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if (needs(def, f) && is_alive_for(s, home, f, lag(s)))
            sim_fail(
                s,
                "S6: vm %u is moved from node %u, where its leg in fabric %c has carried for "
                "%lld s",
                uid, home.ix, 'a' + f,
                (long long)((s->now - s->world.host[home.ix].card.alive_since[f]) / 1000000000));
    for (unsigned i = 0; i < s->opt.nodes; i++)
        is_seen = is_seen || (i != home.ix && may_be_seen_by(s, sim_node_at(i), def));
    if (!is_seen)
        sim_fail(s, "S6: vm %u is moved from node %u though its fabrics are down everywhere", uid,
                 home.ix);
}

/* ---- P4 ---- */

/* While the group stands still nobody hears anything: what has become of PFs meanwhile is told a
 * moment after its first step, and recovery does not wait for that (seed 9958). */
static bool is_heard(const struct sim *s, hf_node n)
{
    const struct sim_options *o = &s->opt;
    int64_t since = s->check.fence[n.ix].synced_since;
    return since != 0 &&
           s->now - since > SIM_MS(2LL * o->report_ms + 8LL * o->resend_ms + 30LL * o->token_ms);
}

static unsigned dead_on(const struct sim *s, hf_node n, const struct hf_vm_def *def)
{
    unsigned count = 0;
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        count += needs(def, f) && is_dead_for(s, n, f, lag(s));
    return is_heard(s, n) ? count : 0;
}

static bool is_whole(const struct sim *s, hf_node n, const struct hf_vm_def *def)
{
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if (needs(def, f) && !is_alive_for(s, n, f, lag(s)))
            return false;
    return card_is_watched(s, n, lag(s)) && is_heard(s, n);
}

/* By every rule but the fourth; what the state says of members and memory is not in question here.
 */
static bool would_do(const struct sim *s, const struct engine *e, hf_node n,
                     const struct hf_vm_def *def)
{
    struct hf_node_view view = engine_node(e, n);
    uint64_t used = (uint64_t)s->group.nodes[n.ix].reserve_mib + view.promised_mib;
    return view.state == HF_NODE_MEMBER && view.is_present && !view.in_maintenance &&
           view.vm_watch_known && !view.is_settling && !view.is_passive && !view.is_leaving &&
           !s->check.fence[n.ix].ordered && s->now > s->check.fence[n.ix].excused_until &&
           (def->allowed == 0 || hf_nodes_has(def->allowed, n)) &&
           view.memory_mib >= used + def->memory_mib;
}

/* What the state says of a PF, in the order of the engine's README. */
static unsigned rank(const struct engine *e, hf_node n, hf_fabric f)
{
    static const uint8_t ranks[HF_PFS] = {
        [HF_PF_DOWN] = 0, [HF_PF_ABSENT] = 0,  [HF_PF_UNKNOWN] = 1,
        [HF_PF_HOLD] = 2, [HF_PF_SUSPECT] = 3, [HF_PF_UP] = 4};
    return ranks[engine_node(e, n).pf[f].state];
}

/* No needed PF of b is worse, and one is better. */
static bool has_better_pfs(const struct engine *e, hf_node b, hf_node a,
                           const struct hf_vm_def *def)
{
    bool is_better = false;
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        if (!needs(def, f))
            continue;
        if (rank(e, b, f) < rank(e, a, f))
            return false;
        is_better = is_better || rank(e, b, f) > rank(e, a, f);
    }
    return is_better;
}

static void check_placed(struct sim *s, const struct engine *e, const struct hf_vm_view *vm,
                         hf_node on)
{
    const struct hf_vm_def *def = vm->def;
    unsigned dead = dead_on(s, on, def);
    bool is_free = vm->failures == 0 && !s->check.vm[vm->uid].has_target;
    if (def->apart[0] != '\0' || def->together[0] != '\0')
        return;
    for (unsigned i = 0; i < s->opt.nodes; i++) {
        hf_node other = sim_node_at(i);
        if (i == on.ix || !would_do(s, e, other, def))
            continue;
        if (dead != 0 && card_is_watched(s, on, lag(s)) && is_whole(s, other, def))
            sim_fail(s,
                     "P4: vm %u is placed on node %u, where %u of its PFs are dead, and not on "
                     "node %u",
                     vm->uid, on.ix, dead, i);
        if (is_free && has_better_pfs(e, other, on, def))
            sim_fail(s, "P4: vm %u is placed on node %u though node %u has better PFs", vm->uid,
                     on.ix, i);
    }
}

void checker_vm_change(struct sim *s, const struct engine *e, const struct hf_change *c)
{
    hf_vm ix = {c->ix};
    struct hf_vm_view vm = engine_vm(e, ix);
    if (c->subject != HF_SUBJECT_VM || !s->opt.has_nics || !vm.is_used || vm.uid != c->uid ||
        vm.def->legs == 0 || !hf_node_is(c->node) || c->uid >= SIM_VMS_MAX)
        return;
    struct checker_vm *v = &s->check.vm[c->uid];
    if (c->why == HF_WHY_LEGS_MOVE || c->why == HF_WHY_OPERATOR_MOVE || c->why == HF_WHY_DRAIN_MOVE)
        v->has_target = true;
    if (c->why == HF_WHY_LEGS_MOVE) {
        check_move(s, c->uid, vm.def, c->node);
        v->crashes++; /* a move that was due counts like a failure there (seed 20759) */
    }
    if (c->why == HF_WHY_PLACED || c->why == HF_WHY_PLACED_DEGRADED)
        check_placed(s, e, &vm, c->node);
    if (c->now == HF_VM_STARTING)
        v->has_target = false;
}

/* ---- L6 ---- */

static bool has_no_leg(const struct sim *s, hf_node n, const struct hf_vm_def *def)
{
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if (needs(def, f) && s->world.host[n.ix].card.alive_since[f] != 0)
            return false;
    return true;
}

static bool has_a_leg(const struct sim *s, hf_node n, const struct hf_vm_def *def)
{
    return !has_no_leg(s, n, def);
}

bool checker_legs_content(struct sim *s, hf_nodes core, const struct engine *e,
                          checker_has_room *has_room, char *why, size_t cap)
{
    for (hf_vm_uid uid = 1; s->opt.has_nics && uid < SIM_VMS_MAX; uid++) {
        const struct checker_vm *v = &s->check.vm[uid];
        hf_node on = hf_nodes_first(world_running_on(s, uid));
        hf_vm ix = engine_vm_by_uid(e, uid);
        if (!v->is_added || v->def.legs == 0 || !hf_node_is(on) || !hf_nodes_has(core, on) ||
            !hf_vm_is(ix) || !has_no_leg(s, on, &v->def))
            continue;
        struct hf_vm_view view = engine_vm(e, ix);
        if (view.state != HF_VM_RUNNING || view.failures >= v->def.restarts_max)
            continue; /* held, or moved too often already */
        if (view.possible & ~hf_bit(on))
            continue; /* perhaps a copy runs on a host that stays lost: nobody shoots it for a NIC
                       */
        for (unsigned i = 0; i < s->opt.nodes; i++) {
            hf_node other = sim_node_at(i);
            if (hf_node_same(other, on) || !hf_nodes_has(core, other) ||
                !has_a_leg(s, other, &v->def) || !has_room(s, v, other, e))
                continue;
            (void)snprintf(why, cap,
                           "L6: vm %u has no leg on node %u and would have one on node %u "
                           "(%s; %s)",
                           uid, on.ix, i, hf_reason_name(view.legs.why),
                           hf_rule_text(engine_placement(e, ix).refused[i]));
            return false;
        }
    }
    return true;
}
