/* view.c - a state to begin with, and the read-only views of it. */
#include <string.h>

#include "supervisord/engine/internal.h"

enum hf_code group_check(const struct hf_group *group, struct hf_err *err)
{
    if (group->nodes_count == 0 || group->nodes_count > HF_NODES_MAX)
        return hf_err_set(err, HF_EINVAL, "%u nodes: 1 to %d expected", group->nodes_count,
                          HF_NODES_MAX);
    for (uint8_t n = 0; n < group->nodes_count; n++) {
        if (group->nodes[n].nodeid == 0 || group->nodes[n].nodeid > UINT16_MAX ||
            group->nodes[n].name[0] == '\0')
            return hf_err_set(err, HF_EINVAL, "node %u: no name, or id %u out of 1..65535", n,
                              group->nodes[n].nodeid);
        if (group->nodes[n].fabrics >> HF_FABRICS_MAX)
            return hf_err_set(err, HF_EINVAL, "node %s: a fabric that does not exist",
                              group->nodes[n].name);
        for (uint8_t m = 0; m < n; m++)
            if (strcmp(group->nodes[n].name, group->nodes[m].name) == 0 ||
                group->nodes[n].nodeid == group->nodes[m].nodeid)
                return hf_err_set(err, HF_EINVAL, "node %s: name or id is there twice",
                                  group->nodes[n].name);
    }
    const struct hf_policy *p = &group->policy;
    if (!p->silent_grace_ms || !p->startup_grace_ms || !p->fence_deadline_ms ||
        !p->start_deadline_ms || !p->stop_deadline_ms || !p->stable_ms || !p->maintenance_max_ms ||
        !p->hold_max_ms || !p->settle_ms || !p->flap_window_ms || !p->storm_window_ms)
        return hf_err_set(err, HF_EINVAL, "a deadline or grace of zero");
    if (p->storm_fences == 0 || p->returns_max == 0)
        return hf_err_set(err, HF_EINVAL, "a guard that allows nothing");
    if (p->fence_retry_count == 0 || p->fence_retry_count > HF_BACKOFFS_MAX ||
        p->restart_backoff_count == 0 || p->restart_backoff_count > HF_BACKOFFS_MAX)
        return hf_err_set(err, HF_EINVAL, "a back-off list without or with too many steps");
    for (uint8_t i = 0; i < p->fence_retry_count; i++)
        if (p->fence_retry_ms[i] == 0)
            return hf_err_set(err, HF_EINVAL, "a fence retry without a pause");
    return HF_OK;
}

enum hf_code engine_init(struct engine *e, const struct hf_group *group, struct hf_err *err)
{
    enum hf_code code = group_check(group, err);
    if (code != HF_OK)
        return code;
    memset(e, 0, sizeof *e);
    e->group = *group;
    for (uint8_t n = 0; n < HF_NODES_MAX; n++)
        e->nodes[n].executor = HF_NO_NODE.ix;
    engine_check(e);
    return HF_OK;
}

uint16_t slots_end_of(const struct engine *e)
{
    uint16_t end = HF_VMS_MAX;
    while (end > 0 && !e->vms[end - 1].is_used)
        end--;
    return end;
}

static void add_timer(const struct timer *t, struct hf_effect *effects, uint32_t *count)
{
    if (t->purpose == FOR_NOTHING)
        return;
    HF_ASSERT(*count < HF_EFFECTS_MAX);
    effects[(*count)++] = (struct hf_effect){.token = t->token,
                                             .actor = HF_NO_NODE,
                                             .type = HF_FX_TIMER,
                                             .u.timer.after_ms = t->after_ms};
}

static void add_order(struct hf_token token, enum hf_effect_type type, hf_node actor,
                      struct hf_effect *effects, uint32_t *count)
{
    if (!hf_token_is(token))
        return;
    HF_ASSERT(*count < HF_EFFECTS_MAX);
    effects[(*count)++] = (struct hf_effect){.token = token, .actor = actor, .type = type};
}

static void add_node(const struct engine *e, uint8_t n, hf_node actor, struct hf_effect *effects,
                     uint32_t *count)
{
    const struct node *node = &e->nodes[n];
    const struct timer *timers[] = {&node->timer, &node->maintenance, &node->safe, &node->hold,
                                    &node->flap,  &node->settle,      NULL};
    for (unsigned i = 0; timers[i]; i++)
        add_timer(timers[i], effects, count);
    if (node->executor == actor.ix) {
        uint32_t before = *count;
        add_order(node->order, HF_FX_FENCE, actor, effects, count);
        add_order(node->power_order, HF_FX_POWER_ON, actor, effects, count);
        for (uint32_t i = before; i < *count; i++) {
            effects[i].u.fence.target = (hf_node){n};
            effects[i].u.fence.level = node->level;
        }
    }
    if (actor.ix != n)
        return;
    add_order(node->disarm_order, HF_FX_DISARM, actor, effects, count);
    if (hf_token_is(node->hold_order)) {
        add_order(node->hold_order, HF_FX_HOLD, actor, effects, count);
        effects[*count - 1].u.hold.ms = node->hold.after_ms;
    }
}

static void add_vm(const struct engine *e, const struct vm *v, hf_node actor,
                   struct hf_effect *effects, uint32_t *count)
{
    struct hf_effect fx = {.actor = actor, .u.vm = {.uid = v->uid}};
    if (hf_token_is(v->stray_order) && v->stray_on == actor.ix) {
        HF_ASSERT(*count < HF_EFFECTS_MAX);
        fx.type = HF_FX_VM_STOP;
        fx.token = v->stray_order;
        effects[(*count)++] = fx;
    }
    if (!hf_token_is(v->order) || v->home != actor.ix)
        return;
    HF_ASSERT(*count < HF_EFFECTS_MAX);
    fx.type = v->state == HF_VM_STARTING ? HF_FX_VM_START : HF_FX_VM_STOP;
    fx.token = v->order;
    fx.u.vm.start_no = v->running_no;
    if (fx.type == HF_FX_VM_STOP) /* the deadline was made of it when it was ordered */
        fx.u.vm.grace_ms = v->timer.after_ms - e->group.policy.stop_deadline_ms;
    effects[(*count)++] = fx;
}

uint32_t engine_pending(const struct engine *e, hf_node actor,
                        struct hf_effect effects[HF_EFFECTS_MAX])
{
    uint32_t count = 0;
    add_timer(&e->startup, effects, &count);
    add_timer(&e->storm, effects, &count);
    FOR_EACH_NODE (e, n)
        add_node(e, n, actor, effects, &count);
    for (const struct vm *v = e->vms; v < e->vms + e->slots_end; v++) {
        if (!v->is_used)
            continue;
        add_timer(&v->timer, effects, &count);
        add_timer(&v->legs.timer, effects, &count);
        add_vm(e, v, actor, effects, &count);
    }
    return count;
}

static bool timer_is(const struct timer *t, struct hf_token token)
{
    return t->purpose != FOR_NOTHING && hf_token_same(t->token, token);
}

uint64_t engine_as_of(const struct engine *e)
{
    return e->lineage << AS_OF_SEQ_BITS | (e->seq & AS_OF_SEQ_MASK);
}

uint64_t engine_as_of_seq(uint64_t stamp)
{
    return stamp & AS_OF_SEQ_MASK;
}

uint64_t engine_inventory_due(const struct engine *e, hf_node node)
{
    HF_ASSERT(node.ix < e->group.nodes_count);
    const struct node *n = &e->nodes[node.ix];
    if (!n->is_present)
        return 0;
    uint64_t due = n->state == HF_NODE_JOINING ? n->since_seq : 0;
    for (const struct vm *v = e->vms; v < e->vms + e->slots_end; v++)
        if (v->is_used && hf_nodes_has(v->possible, node) && v->home != node.ix &&
            v->doubt_seq > due)
            due = v->doubt_seq;
    return due;
}

static bool node_has(const struct node *n, struct hf_token token)
{
    return hf_token_same(n->order, token) || hf_token_same(n->power_order, token) ||
           hf_token_same(n->hold_order, token) || hf_token_same(n->disarm_order, token) ||
           timer_is(&n->timer, token) || timer_is(&n->maintenance, token) ||
           timer_is(&n->safe, token) || timer_is(&n->hold, token) || timer_is(&n->flap, token) ||
           timer_is(&n->settle, token);
}

hf_node engine_path_tester(const struct engine *e, hf_node target)
{
    HF_ASSERT(target.ix < e->group.nodes_count);
    return hf_nodes_first(fence_able(e, target.ix));
}

bool engine_is_live(const struct engine *e, struct hf_token token)
{
    if (!hf_token_is(token))
        return false;
    if (timer_is(&e->startup, token) || timer_is(&e->storm, token))
        return true;
    FOR_EACH_NODE (e, n)
        if (node_has(&e->nodes[n], token))
            return true;
    for (const struct vm *v = e->vms; v < e->vms + e->slots_end; v++)
        if (v->is_used && (hf_token_same(v->order, token) || timer_is(&v->timer, token) ||
                           timer_is(&v->legs.timer, token) || hf_token_same(v->stray_order, token)))
            return true;
    return false;
}

uint64_t engine_seq(const struct engine *e)
{
    return e->seq;
}

struct hf_group_view engine_group(const struct engine *e)
{
    return (struct hf_group_view){
        .group = &e->group,
        .seq = e->seq,
        .epoch = e->epoch,
        .lineage = e->lineage,
        .view = e->view,
        .present = e->present,
        .is_armed = e->is_armed,
        .in_startup_grace = e->startup.purpose != FOR_NOTHING,
        .in_storm = e->in_storm,
        .storm_count = e->storm_count,
        .vms_count = e->vms_count,
        .skipped = e->skipped,
        .skipped_seq = e->skipped_seq,
    };
}

struct hf_node_view engine_node(const struct engine *e, hf_node node)
{
    HF_ASSERT(node.ix < e->group.nodes_count);
    const struct node *n = &e->nodes[node.ix];
    struct load load;
    place_load(e, NULL, &load);
    struct hf_node_view view = {
        .state = n->state,
        .proof = n->proof,
        .since_seq = n->since_seq,
        .boot = n->boot,
        .incarnation = n->incarnation,
        .is_present = n->is_present,
        .in_maintenance = n->in_maintenance,
        .vm_watch_known = n->vm_watch_known,
        .link_fit = n->link_fit,
        .config_same = n->config_same,
        .memory_mib = n->memory_mib,
        .promised_mib = load.promised_mib[node.ix],
        .cores = n->cores,
        .fence_actor = {n->executor},
        .fence_token = n->order,
        .fence_level = n->level,
        .fence_attempts = n->attempts,
        .why = n->why,
        .watchdog = {n->attest.state, n->attest.timeout_ms, n->attest.lease_ms, n->attest.version,
                     n->attest.identity, n->attest.is_held, n->disarm_order},
        .safe_ms = watchdog_safe_ms(e, node.ix),
        .safe_time_runs = n->safe.purpose != FOR_NOTHING,
        .can_be_fenced = path_can_fence(e, node.ix),
        .is_held = n->hold.purpose != FOR_NOTHING,
        .hold_ms = n->hold_ms,
        .hold_seq = n->hold_seq,
        .is_leaving = n->is_leaving,
        .has_left = n->has_left,
        .is_settling = n->settle.purpose != FOR_NOTHING,
        .is_passive = n->is_passive,
        .returns = n->returns,
        .hardware = n->hardware,
    };
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        view.pf[f] = (struct hf_pf_verdict){n->pf[f].state, n->pf[f].cause};
    for (uint8_t l = 0; l < HF_FENCE_LEVELS_MAX; l++) {
        view.path[l] = (enum hf_path)n->path[l].found;
        view.path_hardware[l] = n->path[l].hardware;
    }
    return view;
}

/* All its legs are dead where it runs: what becomes of it? */
static enum hf_reason why_legs(const struct engine *e, const struct vm *v, hf_legs dead)
{
    if (v->state != HF_VM_RUNNING || dead == 0 || dead != v->def.legs)
        return HF_WHY_NONE;
    enum hf_reason stays = nic_why_stays(e, v);
    if (stays == HF_WHY_NONE)
        return v->legs.is_overdue ? HF_WHY_NO_NODE : HF_WHY_NO_LEG;
    return stays;
}

struct hf_vm_view engine_vm(const struct engine *e, hf_vm vm)
{
    HF_ASSERT(hf_vm_is(vm));
    const struct vm *v = &e->vms[vm.ix];
    bool is_told = v->legs.has != 0 && v->legs.start_no == v->running_no;
    hf_legs dead = v->is_used && vm_is_on_home(v) ? nic_dead_here(e, v) : 0;
    return (struct hf_vm_view){
        .is_used = v->is_used,
        .uid = v->uid,
        .def = &v->def,
        .state = v->state,
        .desire = v->desire,
        .seen = v->seen,
        .home = {v->home},
        .possible = v->possible,
        .start_no = v->start_no,
        .running_no = v->running_no,
        .failures = v->failures,
        .order = v->order,
        .since_seq = v->since_seq,
        .why = v->why,
        .legs = {is_told ? v->legs.has : 0, is_told ? v->legs.up : 0,
                 is_told ? v->legs.active : HF_FABRICS_MAX, dead, why_legs(e, v, dead)},
        .is_degraded = v->state == HF_VM_RUNNING && dead != 0,
    };
}

hf_vm engine_vm_by_uid(const struct engine *e, hf_vm_uid uid)
{
    for (uint16_t i = 0; i < e->slots_end; i++)
        if (e->vms[i].is_used && e->vms[i].uid == uid)
            return (hf_vm){i};
    return HF_NO_VM;
}

hf_vm engine_vm_by_name(const struct engine *e, const char *name)
{
    for (uint16_t i = 0; i < e->slots_end; i++)
        if (e->vms[i].is_used && strcmp(e->vms[i].def.name, name) == 0)
            return (hf_vm){i};
    return HF_NO_VM;
}

hf_node engine_node_by_name(const struct engine *e, const char *name)
{
    FOR_EACH_NODE (e, n)
        if (strcmp(e->group.nodes[n].name, name) == 0)
            return (hf_node){n};
    return HF_NO_NODE;
}

hf_node engine_node_by_id(const struct engine *e, uint32_t nodeid)
{
    FOR_EACH_NODE (e, n)
        if (e->group.nodes[n].nodeid == nodeid)
            return (hf_node){n};
    return HF_NO_NODE;
}
