/* place.c - numbered rules: where a VM may run, then where it runs best. The same code places,
 * answers `why`, and checks a move before anything is stopped for it. */
#include <string.h>

#include "supervisord/engine/internal.h"

/* Where a VM takes room: everywhere it may be running, and where a move will take it. */
static hf_nodes claims(const struct vm *v)
{
    return (hf_nodes)(v->possible | bit_of(v->target));
}

void place_load(const struct engine *e, const struct vm *except, struct load *load)
{
    *load = (struct load){0};
    for (const struct vm *v = e->vms; v < e->vms + e->slots_end; v++) {
        if (!v->is_used || v == except)
            continue;
        for (hf_nodes left = claims(v); left; left &= (hf_nodes)(left - 1)) {
            uint8_t n = hf_nodes_first(left).ix;
            load->promised_mib[n] += v->def.memory_mib;
            load->vms[n]++;
        }
    }
}

static bool is_ready(const struct engine *e, uint8_t n)
{
    const struct node *node = &e->nodes[n];
    return node->state == HF_NODE_MEMBER && node->is_present && !node->in_maintenance &&
           node->vm_watch_known && node->sentence == SENTENCE_NONE && !node->is_passive &&
           node->settle.purpose == FOR_NOTHING;
}

static bool is_same_group(const char *a, const char *b)
{
    return a[0] != '\0' && strcmp(a, b) == 0;
}

/* Nodes where companions live that can still be joined: a lost one binds nobody. */
static bool passes_affinity(const struct engine *e, const struct vm *v, uint8_t n)
{
    if (v->def.allowed && !(v->def.allowed & bit_of(n)))
        return false;
    if (v->def.apart[0] == '\0' && v->def.together[0] == '\0')
        return true;
    for (const struct vm *o = e->vms; o < e->vms + e->slots_end; o++) {
        if (!o->is_used || o == v)
            continue;
        if (is_same_group(v->def.apart, o->def.apart) && (claims(o) & bit_of(n)))
            return false;
        if (!is_same_group(v->def.together, o->def.together) || !vm_is_on_home(o))
            continue;
        uint8_t there = o->target != HF_NO_NODE.ix ? o->target : o->home;
        if (there != n)
            return false;
    }
    return true;
}

static uint32_t room_mib(const struct engine *e, uint8_t n, const struct load *load)
{
    uint64_t taken = (uint64_t)e->group.nodes[n].reserve_mib + load->promised_mib[n];
    uint32_t total = e->nodes[n].memory_mib; /* 0: not known, so no room */
    return total > taken ? (uint32_t)(total - taken) : 0;
}

static enum hf_rule rule_but_legs(const struct engine *e, const struct vm *v, uint8_t n,
                                  const struct load *load)
{
    if (!is_ready(e, n)) /* rule 1 */
        return HF_RULE_1_MEMBER;
    if (v->possible & (hf_nodes)~bit_of(v->home)) /* rule 2: what runs on its home can be moved */
        return HF_RULE_2_PROOF;
    if (!passes_affinity(e, v, n)) /* rule 3 */
        return HF_RULE_3_AFFINITY;
    if (room_mib(e, n, load) < v->def.memory_mib) /* rule 6 */
        return HF_RULE_6_MEMORY;
    return HF_RULE_NONE;
}

static unsigned dead_on(const struct engine *e, const struct vm *v, uint8_t n)
{
    return (unsigned)__builtin_popcount(nic_dead_on(e, v, n));
}

/* As few dead PFs as on any other node that is asked about and would do, and never more than where
 * it runs: a VM is rather started degraded than not at all, and rather left alone than made worse.
 */
static bool passes_legs(const struct engine *e, const struct vm *v, uint8_t n, hf_nodes among,
                        const struct load *load)
{
    unsigned dead = dead_on(e, v, n);
    if (dead == 0)
        return true;
    if (vm_is_on_home(v) && dead > (unsigned)__builtin_popcount(nic_dead_here(e, v)))
        return false;
    FOR_EACH_NODE (e, other)
        if ((among & bit_of(other)) && dead_on(e, v, other) < dead &&
            rule_but_legs(e, v, other, load) == HF_RULE_NONE)
            return false;
    return true;
}

enum hf_rule place_rule(const struct engine *e, const struct vm *v, uint8_t n, hf_nodes among,
                        const struct load *load)
{
    enum hf_rule rule = rule_but_legs(e, v, n, load);
    bool asks_legs = rule == HF_RULE_NONE || rule == HF_RULE_6_MEMORY; /* rule 4 comes before 6 */
    return asks_legs && !passes_legs(e, v, n, among, load) ? HF_RULE_4_LEGS : rule;
}

/* Preferences, in order: not where it kept failing, where a move wanted it, the best NICs, where it
 * failed only now, its owner's wish, fewest promises, fewest VMs, lowest id. A total order: the
 * last one decides. */
static bool is_better(const struct engine *e, const struct vm *v, uint8_t a, uint8_t b,
                      const struct load *load)
{
    bool a_avoided = v->avoid & bit_of(a), b_avoided = v->avoid & bit_of(b);
    if (a_avoided != b_avoided)
        return b_avoided;
    if ((v->target == a) != (v->target == b))
        return v->target == a;
    unsigned a_worth = nic_worth(e, v, a), b_worth = nic_worth(e, v, b);
    if (a_worth != b_worth)
        return a_worth > b_worth;
    /* After a crash it stays where its owner saw it run, until that node is to be avoided. */
    if ((v->failed_on == a) != (v->failed_on == b))
        return v->failed_on == a;
    if ((v->def.preferred.ix == a) != (v->def.preferred.ix == b))
        return v->def.preferred.ix == a;
    if (load->promised_mib[a] != load->promised_mib[b])
        return load->promised_mib[a] < load->promised_mib[b];
    if (load->vms[a] != load->vms[b])
        return load->vms[a] < load->vms[b];
    return a < b;
}

hf_node place_pick(const struct engine *e, const struct vm *v, hf_nodes among,
                   const struct load *load)
{
    hf_node best = HF_NO_NODE;
    FOR_EACH_NODE (e, n) {
        if (!(among & bit_of(n)) || place_rule(e, v, n, among, load) != HF_RULE_NONE)
            continue;
        if (!hf_node_is(best) || is_better(e, v, n, best.ix, load))
            best = (hf_node){n};
    }
    return best;
}

static bool wants_place(const struct engine *e, const struct vm *v)
{
    if (!v->is_used || (v->state != HF_VM_PLACING && v->state != HF_VM_UNPLACEABLE))
        return false;
    if (v->timer.purpose == FOR_BACKOFF)
        return false;
    bool is_alone =
        v->cause == CAUSE_RECOVERY; /* nobody asked just now: we would act by ourselves */
    return !is_alone || (e->is_armed && e->startup.purpose == FOR_NOTHING);
}

static bool goes_first(const struct vm *a, const struct vm *b)
{
    if (a->def.priority != b->def.priority)
        return a->def.priority > b->def.priority;
    return a->uid < b->uid;
}

/* Slots of the VMs that want a place, restart priority first. Insertion: few, or all equal. */
static uint16_t queue_up(const struct engine *e, uint16_t queue[HF_VMS_MAX])
{
    uint16_t count = 0;
    for (uint16_t i = 0; i < e->slots_end; i++) {
        if (!wants_place(e, &e->vms[i]))
            continue;
        uint16_t at = count++;
        for (; at > 0 && goes_first(&e->vms[i], &e->vms[queue[at - 1]]); at--)
            queue[at] = queue[at - 1];
        queue[at] = i;
    }
    return count;
}

void place_review(struct step *s)
{
    uint16_t queue[HF_VMS_MAX];
    uint16_t count = queue_up(s->e, queue);
    if (count == 0)
        return;
    struct load load;
    place_load(s->e, NULL, &load);
    for (uint16_t i = 0; i < count; i++) {
        struct vm *v = &s->e->vms[queue[i]];
        if (v->target != HF_NO_NODE.ix) { /* its own claim must not stand in its way */
            load.promised_mib[v->target] -= v->def.memory_mib;
            load.vms[v->target]--;
        }
        hf_node pick = place_pick(s->e, v, 0xff, &load);
        if (!hf_node_is(pick)) {
            v->target = HF_NO_NODE.ix;
            vm_apply(s, v, HF_VE_NO_PLACE, HF_WHY_NO_NODE);
            continue;
        }
        v->home = pick.ix;
        bool is_whole = nic_dead_on(s->e, v, pick.ix) == 0;
        vm_apply(s, v, HF_VE_PLACED, is_whole ? HF_WHY_PLACED : HF_WHY_PLACED_DEGRADED);
        load.promised_mib[pick.ix] += v->def.memory_mib;
        load.vms[pick.ix]++;
    }
}

/* A node in maintenance gives its VMs away, as far as there is a place for them beforehand. */
void drain_review(struct step *s)
{
    bool any = false;
    FOR_EACH_NODE (s->e, n)
        any = any || (s->e->nodes[n].in_maintenance && s->e->nodes[n].state == HF_NODE_MEMBER);
    if (!any)
        return;
    FOR_EACH_VM (s->e, v) {
        if (v->state != HF_VM_RUNNING || !s->e->nodes[v->home].in_maintenance ||
            s->e->nodes[v->home].state != HF_NODE_MEMBER)
            continue;
        struct load load;
        place_load(s->e, v, &load);
        hf_node to = place_pick(s->e, v, (hf_nodes)~bit_of(v->home), &load);
        if (!hf_node_is(to))
            continue;
        v->target = to.ix;
        v->cause = CAUSE_OPERATOR;
        vm_apply(s, v, HF_VE_MOVE, HF_WHY_DRAIN_MOVE);
    }
}

struct hf_placement engine_placement(const struct engine *e, hf_vm vm)
{
    HF_ASSERT(vm.ix < e->slots_end && e->vms[vm.ix].is_used);
    const struct vm *v = &e->vms[vm.ix];
    struct load load;
    place_load(e, v, &load);
    struct hf_placement p = {.pick = place_pick(e, v, 0xff, &load), .need_mib = v->def.memory_mib};
    FOR_EACH_NODE (e, n) {
        p.refused[n] = place_rule(e, v, n, 0xff, &load);
        p.free_mib[n] = room_mib(e, n, &load);
        p.dead[n] = nic_dead_on(e, v, n);
    }
    return p;
}
