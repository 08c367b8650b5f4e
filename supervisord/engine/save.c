/* save.c - the whole state as portable bytes, and back. Loading trusts nothing: every enum, index
 * and count is checked, and a state that breaks an invariant is refused. */
#include <string.h>

#include "supervisord/base/buf.h"
#include "supervisord/base/hash.h"
#include "supervisord/engine/internal.h"

enum { SAVE_VERSION = 4 };

static void put_token(struct hf_writer *w, struct hf_token t)
{
    hf_put_u64(w, t.seq);
    hf_put_u32(w, t.nth);
}

static void put_timer(struct hf_writer *w, const struct timer *t)
{
    hf_put_u8(w, t->purpose);
    if (t->purpose == FOR_NOTHING)
        return;
    put_token(w, t->token);
    hf_put_u32(w, t->after_ms);
    hf_put_u8(w, t->votes);
}

static void put_list(struct hf_writer *w, const uint32_t *list, uint8_t count)
{
    hf_put_u8(w, count);
    for (uint8_t i = 0; i < count; i++)
        hf_put_u32(w, list[i]);
}

static void put_group(struct hf_writer *w, const struct hf_group *g)
{
    hf_put_str(w, g->name);
    hf_put_u8(w, g->nodes_count);
    for (uint8_t n = 0; n < g->nodes_count; n++) {
        hf_put_str(w, g->nodes[n].name);
        hf_put_u32(w, g->nodes[n].nodeid);
        hf_put_u8(w, g->nodes[n].fence_levels);
        hf_put_u32(w, g->nodes[n].reserve_mib);
        hf_put_u8(w, g->nodes[n].has_watchdog);
        hf_put_u8(w, g->nodes[n].fabrics);
    }
    const struct hf_policy *p = &g->policy;
    hf_put_u32(w, p->silent_grace_ms);
    hf_put_u32(w, p->startup_grace_ms);
    hf_put_u32(w, p->fence_deadline_ms);
    hf_put_u32(w, p->start_deadline_ms);
    hf_put_u32(w, p->stop_deadline_ms);
    hf_put_u32(w, p->stable_ms);
    hf_put_u32(w, p->maintenance_max_ms);
    hf_put_u32(w, p->hold_max_ms);
    hf_put_u32(w, p->safe_time_ms);
    hf_put_u32(w, p->settle_ms);
    hf_put_u32(w, p->flap_window_ms);
    hf_put_u32(w, p->leg_move_ms);
    hf_put_u32(w, p->storm_window_ms);
    hf_put_u8(w, p->storm_fences);
    hf_put_u8(w, p->returns_max);
    put_list(w, p->fence_retry_ms, p->fence_retry_count);
    put_list(w, p->restart_backoff_ms, p->restart_backoff_count);
    hf_put_bytes(w, g->config.b, sizeof g->config.b);
}

/* Watchdog, fence paths and returns of a node. */
static void put_beside(struct hf_writer *w, const struct node *n)
{
    hf_put_u8(w, n->attest.state);
    hf_put_u32(w, n->attest.timeout_ms);
    hf_put_u32(w, n->attest.lease_ms);
    hf_put_u16(w, n->attest.version);
    hf_put_str(w, n->attest.identity);
    put_timer(w, &n->safe);
    put_timer(w, &n->hold);
    hf_put_u32(w, n->hold_ms);
    hf_put_u64(w, n->hold_seq);
    put_token(w, n->hold_order);
    put_token(w, n->disarm_order);
    put_token(w, n->power_order);
    for (uint8_t l = 0; l < HF_FENCE_LEVELS_MAX; l++) {
        hf_put_u8(w, n->path[l].found);
        hf_put_u64(w, n->path[l].hardware);
        hf_put_u64(w, n->path[l].recorded);
        hf_put_u8(w, n->path[l].is_wrong);
    }
    for (uint8_t f = 0; f < HF_FABRICS_MAX; f++) {
        hf_put_u8(w, n->pf[f].state);
        hf_put_u8(w, n->pf[f].cause);
    }
    hf_put_u64(w, n->hardware);
    put_timer(w, &n->flap);
    put_timer(w, &n->settle);
    hf_put_u8(w, n->returns);
    hf_put_u8(w, (uint8_t)(n->attest.is_held | n->cannot_fence << 1 | n->is_passive << 2 |
                           n->is_leaving << 3 | n->has_left << 4 | n->reads_off << 5));
}

static void put_node(struct hf_writer *w, const struct node *n)
{
    hf_put_u8(w, n->state);
    hf_put_u8(w, n->proof);
    hf_put_u8(w, n->why);
    hf_put_u8(w, n->sentence);
    hf_put_u8(w, (uint8_t)(n->is_present | n->in_ring << 1 | n->in_maintenance << 2 |
                           n->vm_watch_known << 3 | n->link_fit << 4 | n->config_same << 5));
    hf_put_bytes(w, n->boot.id, sizeof n->boot.id);
    hf_put_u64(w, n->incarnation);
    hf_put_u64(w, n->since_seq);
    hf_put_u64(w, n->came_seq);
    hf_put_u32(w, n->memory_mib);
    hf_put_u16(w, n->cores);
    put_timer(w, &n->timer);
    put_timer(w, &n->maintenance);
    put_token(w, n->order);
    hf_put_u8(w, n->executor);
    hf_put_u8(w, n->level);
    hf_put_u16(w, n->attempts);
    put_beside(w, n);
}

static void put_def(struct hf_writer *w, const struct hf_vm_def *d)
{
    hf_put_str(w, d->name);
    hf_put_bytes(w, d->xml.b, sizeof d->xml.b);
    hf_put_u32(w, d->xml_bytes);
    hf_put_u32(w, d->memory_mib);
    hf_put_u16(w, d->priority);
    hf_put_str(w, d->apart);
    hf_put_str(w, d->together);
    hf_put_u8(w, d->allowed);
    hf_put_u8(w, d->preferred.ix);
    hf_put_u8(w, d->restarts_here);
    hf_put_u8(w, d->restarts_max);
    hf_put_u32(w, d->stop_grace_ms);
    hf_put_u8(w, d->legs);
}

static void put_legs(struct hf_writer *w, const struct legs *l)
{
    hf_put_u8(w, l->has);
    hf_put_u8(w, l->up);
    hf_put_u8(w, l->active);
    hf_put_u32(w, l->start_no);
    hf_put_u8(w, l->noted);
    hf_put_u8(w, l->is_overdue);
    put_timer(w, &l->timer);
}

static void put_vm(struct hf_writer *w, const struct vm *v)
{
    hf_put_u8(w, v->state);
    hf_put_u8(w, v->desire);
    hf_put_u8(w, v->cause);
    hf_put_u8(w, v->seen);
    hf_put_u8(w, v->why);
    hf_put_u8(w, v->home);
    hf_put_u8(w, v->target);
    hf_put_u8(w, v->possible);
    hf_put_u8(w, v->avoid);
    hf_put_u8(w, v->failures);
    hf_put_u8(w, v->failures_here);
    hf_put_u8(w, v->failed_on);
    hf_put_u8(w, v->is_cleared);
    hf_put_u32(w, v->uid);
    hf_put_u32(w, v->start_no);
    hf_put_u32(w, v->running_no);
    hf_put_u64(w, v->since_seq);
    hf_put_u64(w, v->doubt_seq);
    put_token(w, v->order);
    put_timer(w, &v->timer);
    put_token(w, v->stray_order);
    hf_put_u8(w, v->stray_on);
    put_legs(w, &v->legs);
    put_def(w, &v->def);
}

static void put_engine(struct hf_writer *w, const struct engine *e)
{
    hf_put_u16(w, SAVE_VERSION);
    hf_put_u32(w, HF_RULESET);
    put_group(w, &e->group);
    hf_put_u64(w, e->seq);
    hf_put_u64(w, e->epoch);
    hf_put_u64(w, e->lineage);
    hf_put_u32(w, e->view.leader);
    hf_put_u64(w, e->view.seq);
    hf_put_u8(w, e->present);
    hf_put_u8(w, e->is_armed);
    put_timer(w, &e->startup);
    put_timer(w, &e->storm);
    hf_put_u8(w, e->storm_count);
    hf_put_u8(w, e->in_storm);
    hf_put_u32(w, e->uid_last);
    FOR_EACH_NODE (e, n)
        put_node(w, &e->nodes[n]);
    hf_put_u16(w, e->vms_count);
    for (uint16_t i = 0; i < e->slots_end; i++)
        if (e->vms[i].is_used) {
            hf_put_u16(w, i);
            put_vm(w, &e->vms[i]);
        }
    hf_put_u32(w, e->skipped);
    hf_put_u64(w, e->skipped_seq);
}

size_t engine_save(const struct engine *e, uint8_t *bytes, size_t cap)
{
    struct hf_writer w = hf_writer_on(bytes, cap);
    put_engine(&w, e);
    return w.len;
}

size_t engine_save_max(void)
{
    /* Encoded fields are never wider than their struct, and each of the at most three strings of an
     * item is led by one byte in place of its NUL. */
    return sizeof(struct engine) + 64;
}

uint64_t engine_digest(const struct engine *e)
{
    uint8_t bytes[sizeof(struct engine) + 64];
    size_t len = engine_save(e, bytes, sizeof bytes);
    HF_ASSERT(len <= sizeof bytes);
    return hf_hash(HF_HASH_START, bytes, len);
}

/* ---- and back ---- */

static struct hf_token get_token(struct hf_reader *r)
{
    struct hf_token t = {.seq = hf_get_u64(r)};
    t.nth = hf_get_u32(r);
    return t;
}

static struct timer get_timer(struct hf_reader *r)
{
    struct timer t = {.purpose = hf_get_enum(r, PURPOSES)};
    if (t.purpose == FOR_NOTHING)
        return t;
    t.token = get_token(r);
    t.after_ms = hf_get_u32(r);
    t.votes = hf_get_u8(r);
    if (!hf_token_is(t.token) || t.after_ms == 0)
        r->bad = true;
    return t;
}

static uint8_t get_list(struct hf_reader *r, uint32_t list[HF_BACKOFFS_MAX])
{
    uint8_t count = hf_get_enum(r, HF_BACKOFFS_MAX + 1);
    for (uint8_t i = 0; i < count; i++)
        list[i] = hf_get_u32(r);
    return count;
}

/* A node index or "none". */
static uint8_t get_node_ix(struct hf_reader *r, const struct engine *e)
{
    uint8_t ix = hf_get_u8(r);
    if (ix != HF_NO_NODE.ix && ix >= e->group.nodes_count)
        r->bad = true;
    return ix;
}

static hf_nodes get_nodes(struct hf_reader *r, const struct engine *e)
{
    hf_nodes set = hf_get_u8(r);
    if (set & (hf_nodes) ~((1u << e->group.nodes_count) - 1))
        r->bad = true;
    return set;
}

static void get_group(struct hf_reader *r, struct hf_group *g)
{
    hf_get_str(r, g->name, sizeof g->name);
    g->nodes_count = hf_get_enum(r, HF_NODES_MAX + 1);
    for (uint8_t n = 0; n < g->nodes_count; n++) {
        hf_get_str(r, g->nodes[n].name, sizeof g->nodes[n].name);
        g->nodes[n].nodeid = hf_get_u32(r);
        g->nodes[n].fence_levels = hf_get_enum(r, HF_FENCE_LEVELS_MAX + 1);
        g->nodes[n].reserve_mib = hf_get_u32(r);
        g->nodes[n].has_watchdog = hf_get_enum(r, 2);
        g->nodes[n].fabrics = hf_get_enum(r, 1 << HF_FABRICS_MAX);
    }
    struct hf_policy *p = &g->policy;
    p->silent_grace_ms = hf_get_u32(r);
    p->startup_grace_ms = hf_get_u32(r);
    p->fence_deadline_ms = hf_get_u32(r);
    p->start_deadline_ms = hf_get_u32(r);
    p->stop_deadline_ms = hf_get_u32(r);
    p->stable_ms = hf_get_u32(r);
    p->maintenance_max_ms = hf_get_u32(r);
    p->hold_max_ms = hf_get_u32(r);
    p->safe_time_ms = hf_get_u32(r);
    p->settle_ms = hf_get_u32(r);
    p->flap_window_ms = hf_get_u32(r);
    p->leg_move_ms = hf_get_u32(r);
    p->storm_window_ms = hf_get_u32(r);
    p->storm_fences = hf_get_u8(r);
    p->returns_max = hf_get_u8(r);
    p->fence_retry_count = get_list(r, p->fence_retry_ms);
    p->restart_backoff_count = get_list(r, p->restart_backoff_ms);
    hf_get_bytes(r, g->config.b, sizeof g->config.b);
}

static void get_beside(struct hf_reader *r, struct node *n)
{
    n->attest.state = hf_get_enum(r, HF_WATCHDOGS);
    n->attest.timeout_ms = hf_get_u32(r);
    n->attest.lease_ms = hf_get_u32(r);
    n->attest.version = hf_get_u16(r);
    hf_get_str(r, n->attest.identity, sizeof n->attest.identity);
    n->safe = get_timer(r);
    n->hold = get_timer(r);
    n->hold_ms = hf_get_u32(r);
    n->hold_seq = hf_get_u64(r);
    n->hold_order = get_token(r);
    n->disarm_order = get_token(r);
    n->power_order = get_token(r);
    for (uint8_t l = 0; l < HF_FENCE_LEVELS_MAX; l++) {
        n->path[l].found = hf_get_enum(r, HF_PATHS);
        n->path[l].hardware = hf_get_u64(r);
        n->path[l].recorded = hf_get_u64(r);
        n->path[l].is_wrong = hf_get_enum(r, 2);
    }
    for (uint8_t f = 0; f < HF_FABRICS_MAX; f++) {
        n->pf[f].state = hf_get_enum(r, HF_PFS);
        n->pf[f].cause = hf_get_enum(r, HF_NIC_CAUSES);
    }
    n->hardware = hf_get_u64(r);
    n->flap = get_timer(r);
    n->settle = get_timer(r);
    n->returns = hf_get_u8(r);
    uint8_t bits = hf_get_enum(r, 1 << 6);
    n->attest.is_held = bits & 1;
    n->cannot_fence = bits >> 1 & 1;
    n->is_passive = bits >> 2 & 1;
    n->is_leaving = bits >> 3 & 1;
    n->has_left = bits >> 4 & 1;
    n->reads_off = bits >> 5 & 1;
}

static void get_node(struct hf_reader *r, const struct engine *e, struct node *n)
{
    n->state = hf_get_enum(r, HF_NODE_STATES);
    n->proof = hf_get_enum(r, HF_PROOFS);
    n->why = hf_get_enum(r, HF_REASONS);
    n->sentence = hf_get_enum(r, SENTENCES);
    uint8_t bits = hf_get_enum(r, 1 << 6);
    n->is_present = bits & 1;
    n->in_ring = bits >> 1 & 1;
    n->in_maintenance = bits >> 2 & 1;
    n->vm_watch_known = bits >> 3 & 1;
    n->link_fit = bits >> 4 & 1;
    n->config_same = bits >> 5 & 1;
    hf_get_bytes(r, n->boot.id, sizeof n->boot.id);
    n->incarnation = hf_get_u64(r);
    n->since_seq = hf_get_u64(r);
    n->came_seq = hf_get_u64(r);
    n->memory_mib = hf_get_u32(r);
    n->cores = hf_get_u16(r);
    n->timer = get_timer(r);
    n->maintenance = get_timer(r);
    n->order = get_token(r);
    n->executor = get_node_ix(r, e);
    n->level = hf_get_enum(r, HF_FENCE_LEVELS_MAX);
    n->attempts = hf_get_u16(r);
    get_beside(r, n);
}

static void get_def(struct hf_reader *r, const struct engine *e, struct hf_vm_def *d)
{
    hf_get_str(r, d->name, sizeof d->name);
    hf_get_bytes(r, d->xml.b, sizeof d->xml.b);
    d->xml_bytes = hf_get_u32(r);
    d->memory_mib = hf_get_u32(r);
    d->priority = hf_get_u16(r);
    hf_get_str(r, d->apart, sizeof d->apart);
    hf_get_str(r, d->together, sizeof d->together);
    d->allowed = get_nodes(r, e);
    d->preferred.ix = get_node_ix(r, e);
    d->restarts_here = hf_get_u8(r);
    d->restarts_max = hf_get_u8(r);
    d->stop_grace_ms = hf_get_u32(r);
    d->legs = hf_get_enum(r, 1 << HF_FABRICS_MAX);
}

static void get_legs(struct hf_reader *r, struct legs *l)
{
    l->has = hf_get_enum(r, 1 << HF_FABRICS_MAX);
    l->up = hf_get_enum(r, 1 << HF_FABRICS_MAX);
    l->active = hf_get_enum(r, HF_FABRICS_MAX + 1);
    l->start_no = hf_get_u32(r);
    l->noted = hf_get_enum(r, 1 << HF_FABRICS_MAX);
    l->is_overdue = hf_get_enum(r, 2);
    l->timer = get_timer(r);
}

static void get_vm(struct hf_reader *r, const struct engine *e, struct vm *v)
{
    v->is_used = true;
    v->state = hf_get_enum(r, HF_VM_STATES);
    v->desire = hf_get_enum(r, HF_DESIRES);
    v->cause = hf_get_enum(r, CAUSES);
    v->seen = hf_get_enum(r, HF_SEENS);
    v->why = hf_get_enum(r, HF_REASONS);
    v->home = get_node_ix(r, e);
    v->target = get_node_ix(r, e);
    v->possible = get_nodes(r, e);
    v->avoid = get_nodes(r, e);
    v->failures = hf_get_u8(r);
    v->failures_here = hf_get_u8(r);
    v->failed_on = get_node_ix(r, e);
    v->is_cleared = hf_get_enum(r, 2);
    v->uid = hf_get_u32(r);
    v->start_no = hf_get_u32(r);
    v->running_no = hf_get_u32(r);
    v->since_seq = hf_get_u64(r);
    v->doubt_seq = hf_get_u64(r);
    v->order = get_token(r);
    v->timer = get_timer(r);
    v->stray_order = get_token(r);
    v->stray_on = get_node_ix(r, e);
    get_legs(r, &v->legs);
    get_def(r, e, &v->def);
}

static void get_vms(struct hf_reader *r, struct engine *e)
{
    uint16_t count = hf_get_u16(r);
    uint16_t next = 0; /* slots come in ascending order: none twice */
    for (uint16_t i = 0; i < count && !r->bad; i++) {
        uint16_t slot = hf_get_u16(r);
        if (slot < next || slot >= HF_VMS_MAX) {
            r->bad = true;
            return;
        }
        get_vm(r, e, &e->vms[slot]);
        next = (uint16_t)(slot + 1);
    }
    e->vms_count = count;
    e->slots_end = slots_end_of(e);
}

static enum hf_code get_engine(struct hf_reader *r, struct engine *e, struct hf_err *err)
{
    uint16_t version = hf_get_u16(r);
    uint32_t ruleset = hf_get_u32(r);
    if (version != SAVE_VERSION || ruleset != HF_RULESET)
        return hf_err_set(err, HF_EBAD, "state of format %u, ruleset %u: this is %d, %u", version,
                          ruleset, SAVE_VERSION, HF_RULESET);
    get_group(r, &e->group);
    if (r->bad)
        return hf_err_set(err, HF_EBAD, "state: its group does not decode");
    enum hf_code code = group_check(&e->group, err);
    if (code != HF_OK)
        return hf_err_wrap(err, "state");
    e->seq = hf_get_u64(r);
    e->epoch = hf_get_u64(r);
    e->lineage = hf_get_u64(r);
    e->view.leader = hf_get_u32(r);
    e->view.seq = hf_get_u64(r);
    e->present = get_nodes(r, e);
    e->is_armed = hf_get_enum(r, 2);
    e->startup = get_timer(r);
    e->storm = get_timer(r);
    e->storm_count = hf_get_u8(r);
    e->in_storm = hf_get_enum(r, 2);
    e->uid_last = hf_get_u32(r);
    for (uint8_t n = 0; n < HF_NODES_MAX; n++)
        e->nodes[n].executor = HF_NO_NODE.ix;
    FOR_EACH_NODE (e, n)
        get_node(r, e, &e->nodes[n]);
    get_vms(r, e);
    e->skipped = hf_get_u32(r);
    e->skipped_seq = hf_get_u64(r);
    if (!hf_reader_ended(r))
        return hf_err_set(err, HF_EBAD, "state: does not decode at byte %zu of %zu", r->pos,
                          r->len);
    return HF_OK;
}

static const char *twins(const struct engine *e)
{
    for (uint16_t i = 0; i < e->slots_end; i++)
        for (uint16_t k = 0; k < i; k++)
            if (e->vms[i].is_used && e->vms[k].is_used &&
                (e->vms[i].uid == e->vms[k].uid ||
                 strcmp(e->vms[i].def.name, e->vms[k].def.name) == 0))
                return "two VMs share a uid or a name";
    return NULL;
}

enum hf_code engine_load(struct engine *e, const uint8_t *bytes, size_t len, struct hf_err *err)
{
    struct hf_reader r = hf_reader_on(bytes, len);
    memset(e, 0, sizeof *e);
    enum hf_code code = get_engine(&r, e, err);
    if (code != HF_OK) {
        memset(e, 0, sizeof *e);
        return code;
    }
    const char *fault = engine_fault(e);
    fault = fault ? fault : twins(e);
    if (fault) {
        memset(e, 0, sizeof *e);
        return hf_err_set(err, HF_EBAD, "state: %s", fault);
    }
    return HF_OK;
}
