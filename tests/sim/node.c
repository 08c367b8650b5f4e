/* node.c - see node.h. The order of the shell's contract (STYLE section 3): step, journal, publish,
 * perform. Results of agents are kept and told again to a restarted daemon. */
#include "tests/sim/node.h"

#include <stdlib.h>
#include <string.h>

#include "supervisord/base/assert.h"
#include "tests/sim/replay.h"
#include "tests/sim/sim.h"

enum {
    STALLED_MS_MAX = 20, /* a daemon's loop may lag so much behind its timers */
    RETRY_MS = 1000,     /* what found its outbox full; a daemon tries sooner */
};

hf_time node_clock(const struct sim *s, hf_node n)
{
    int64_t seen = s->now - s->skipped;
    return (hf_time){s->world.host[n.ix].clock_offset + seen +
                     seen / 1000000 * s->opt.skew_ppm[n.ix]};
}

int64_t node_true_ns(const struct sim *s, hf_node n, int64_t ns)
{
    int64_t ppm = s->opt.skew_ppm[n.ix];
    return ns - ns / (1000000 + ppm) * ppm;
}

const struct engine *node_engine(const struct sim *s, hf_node n)
{
    const struct sim_node *d = &s->node[n.ix];
    return d->is_alive ? replica_engine(d->replica) : NULL;
}

/* One turn of the daemon's loop for the watchdog, as daemon_lease() of the real one. */
static void lease_loop(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    struct replica_view view = replica_look(d->replica);
    bool is_fit = !d->link_unfit && !d->config_differs;
    hf_time now = node_clock(s, n);
    if (!d->lease.conf.is_used)
        return;
    lease_echoed(&d->lease, view.newest_echoed, now);
    if (d->lease.is_synced != (view.phase == REPLICA_SYNCED) || d->lease.is_fit != is_fit)
        lease_group(&d->lease, view.phase == REPLICA_SYNCED, is_fit, now);
    else
        lease_turn(&d->lease, now);
}

/* The daemon looks every tenth of a second while it is armed. Here only while that can matter: when
 * the lease is nearly over, or something is being settled. */
static void lease_later(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    if (!d->lease.conf.is_used)
        return;
    hf_time now = node_clock(s, n);
    struct lease_view look = lease_look(&d->lease);
    bool is_armed = look.state == HF_WD_ARMED;
    hf_time at = hf_time_add_ms(now, 2000);
    if (is_armed && look.expires.ns - SIM_MS(300) < at.ns)
        at = (hf_time){look.expires.ns - SIM_MS(300)};
    if (at.ns < now.ns + SIM_MS(LEASE_WATCH_MS))
        at.ns = now.ns + SIM_MS(LEASE_WATCH_MS);
    int64_t event_at = s->now + node_true_ns(s, n, at.ns - now.ns);
    if (d->lease_at != 0 && d->lease_at <= event_at)
        return; /* looks again then */
    d->lease_at = event_at;
    queue_push(
        &s->queue,
        (struct sim_event){.at = event_at, .kind = SIM_LEASE, .node = n.ix, .gen = ++d->lease_gen});
}

static void paths_later(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    hf_time deadline = paths_deadline(&d->paths);
    hf_time now = node_clock(s, n);
    if (deadline.ns == INT64_MAX)
        return;
    int64_t wait = deadline.ns > now.ns ? deadline.ns - now.ns : 0;
    int64_t at = s->now + node_true_ns(s, n, wait) + 1000;
    if (d->paths_at != 0 && d->paths_at <= at)
        return;
    d->paths_at = at;
    queue_push(&s->queue, (struct sim_event){
                              .at = at, .kind = SIM_PATHS, .node = n.ix, .gen = ++d->paths_gen});
}

/* What nicbond said last is told when the pause is over, and again until it is so. */
static void nics_later(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    hf_time deadline = nics_deadline(&d->nics);
    hf_time now = node_clock(s, n);
    if (deadline.ns == INT64_MAX)
        return;
    int64_t wait = deadline.ns > now.ns ? deadline.ns - now.ns : 0;
    int64_t at = s->now + node_true_ns(s, n, wait) + 1000;
    if (d->nics_at != 0 && d->nics_at <= at)
        return;
    d->nics_at = at;
    queue_push(&s->queue,
               (struct sim_event){.at = at, .kind = SIM_NICS, .node = n.ix, .gen = ++d->nics_gen});
}

void node_reschedule(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    if (!d->is_alive || d->is_paused)
        return;
    lease_loop(s, n);
    lease_later(s, n);
    paths_later(s, n);
    nics_later(s, n);
    hf_time deadline = replica_deadline(d->replica);
    hf_time now = node_clock(s, n);
    int64_t wait = deadline.ns > now.ns ? deadline.ns - now.ns : 0;
    if (deadline.ns == INT64_MAX || wait > SIM_MS(3600 * 1000LL))
        wait = SIM_MS(3600 * 1000LL);
    int64_t at = s->now + node_true_ns(s, n, wait) + 1000;
    if (at == d->tick_at)
        return;
    d->tick_at = at;
    queue_push(&s->queue,
               (struct sim_event){.at = at, .kind = SIM_TICK, .node = n.ix, .gen = ++d->tick_gen});
}

/* ---- the replica's ports ---- */

static void port_mcast(void *user, const void *bytes, size_t len)
{
    struct sim_node *d = user;
    totem_mcast(d->sim, d->me, bytes, len);
}

static void store(struct sim_node *d, const struct engine *e)
{
    size_t need = engine_save(e, d->saved, engine_save_max());
    HF_ASSERT(need <= engine_save_max());
    uint8_t *old = d->stored;
    d->stored = d->saved;
    d->saved = old;
    d->saved_len = d->stored_len;
    d->stored_len = need;
    d->is_damaged = false;
    d->unsaved = 0;
}

/* The group needs to know what runs here, as of now. */
static void ask_if_due(struct sim_node *d, const struct engine *e)
{
    uint64_t due = engine_inventory_due(e, d->me);
    if (due <= d->asked)
        return;
    d->asked = engine_seq(e);
    node_facts(d->sim, d->me);
    world_tell_inventory(d->sim, d->me);
}

static void port_stepped(void *user, const struct engine *e, const struct hf_event *ev,
                         const struct engine_out *out, bool is_mine, uint64_t cookie)
{
    struct sim_node *d = user;
    struct sim *s = d->sim;
    if (is_mine && cookie != 0) {
        if (cookie <= d->cookie_done)
            sim_fail(s, "S4: node %u's event %llu is applied twice", d->me.ix,
                     (unsigned long long)cookie);
        if (d->cookie_done != 0 && cookie > d->cookie_done + 1)
            sim_fail(s, "S12: node %u's event %llu is applied, the one before it never was",
                     d->me.ix, (unsigned long long)cookie);
        d->cookie_done = cookie;
    }
    sim_busy(s);
    s->steps++;
    if (d->journal != NULL)
        replay_write_event(d->journal, e, ev, out);
    checker_stepped(s, d->me, e, ev, out);
    if (ev->type == HF_EV_MEMBERS)
        d->forgot = false;
    if (ev->type == HF_EV_MEMBERS) {
        paths_group(&d->paths, true, node_clock(s, d->me));
        nics_group(&d->nics, true, node_clock(s, d->me));
    }
    nics_stepped(&d->nics, out, node_clock(s, d->me), (hf_wall){s->now});
    ask_if_due(d, e);
    if (++d->unsaved > s->opt.journal_lag && !d->disk_hangs)
        store(d, e);
}

static void port_replaced(void *user, const struct engine *e)
{
    struct sim_node *d = user;
    sim_busy(d->sim);
    SAY(d->sim, d->me.ix, "takes over the state at seq %llu", (unsigned long long)engine_seq(e));
    if (d->journal != NULL)
        replay_write_snapshot(d->journal, e);
    checker_replaced(d->sim, d->me, e);
    d->asked = 0;
    if (!d->disk_hangs)
        store(d, e);
}

static void arm(struct sim_node *d, const struct hf_effect *fx)
{
    struct sim *s = d->sim;
    int free_ix = -1;
    for (int i = 0; i < HF_EFFECTS_MAX; i++) {
        if (hf_token_same(d->timer[i].token, fx->token))
            return;
        if (free_ix < 0 && !hf_token_is(d->timer[i].token))
            free_ix = i;
    }
    if (free_ix < 0) {
        sim_fail(s, "S14: node %u has more than %d timers", d->me.ix, HF_EFFECTS_MAX);
        return;
    }
    struct node_timer *t = &d->timer[free_ix];
    int64_t wait = node_true_ns(s, d->me, SIM_MS(fx->u.timer.after_ms));
    t->token = fx->token;
    t->is_due = false;
    t->gen++;
    t->at = s->now + wait + sim_us(s, 100, 5000);
    queue_push(&s->queue, (struct sim_event){.at = t->at,
                                             .kind = SIM_TIMER,
                                             .node = d->me.ix,
                                             .a = (uint16_t)free_ix,
                                             .gen = t->gen});
}

static void fence(struct sim_node *d, const struct hf_effect *fx)
{
    struct sim *s = d->sim;
    int slot = -1;
    for (int i = 0; i < NODE_FENCES_MAX; i++) {
        struct node_fence *f = &d->fence[i];
        if (f->is_used && hf_token_same(f->token, fx->token)) {
            if (f->is_over) /* ordered again: tell again */
                node_report(s, d->me,
                            (struct node_report){
                                .type = HF_EV_DONE, .token = f->token, .outcome = f->outcome});
            return;
        }
        if (!f->is_used || f->is_over)
            slot = slot < 0 || (d->fence[slot].is_used && !f->is_used) ? i : slot;
    }
    if (slot < 0) {
        sim_fail(s, "S14: node %u has more than %d fence runs", d->me.ix, NODE_FENCES_MAX);
        return;
    }
    struct node_fence *f = &d->fence[slot];
    *f = (struct node_fence){.is_used = true,
                             .token = fx->token,
                             .target = fx->u.fence.target,
                             .level = fx->u.fence.level,
                             .is_power_on = fx->type == HF_FX_POWER_ON,
                             .gen = f->gen + 1};
    SAY(s, d->me.ix, "%s node %u at level %u", f->is_power_on ? "switches on" : "fences",
        f->target.ix, f->level);
    world_fence(s, d->me, f->target, f->level, (uint32_t)slot, f->gen, f->is_power_on);
}

static void keep(struct sim_node *d, const struct hf_effect *fx)
{
    for (uint32_t i = 0; i < d->given_count; i++)
        if (hf_token_same(d->given[i].token, fx->token))
            return;
    if (d->given_count == HF_EFFECTS_MAX) {
        sim_fail(d->sim, "S14: node %u owes more than %d orders", d->me.ix, HF_EFFECTS_MAX);
        return;
    }
    d->given[d->given_count++] = *fx;
}

static void forget_given(struct sim_node *d, const struct engine *e)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < d->given_count; i++)
        if (engine_is_live(e, d->given[i].token))
            d->given[kept++] = d->given[i];
    d->given_count = kept;
}

static void perform(struct sim_node *d, const struct hf_effect *fx)
{
    struct sim *s = d->sim;
    checker_effect(s, d->me, fx);
    switch (fx->type) {
    case HF_FX_FENCE:
        fence(d, fx);
        faults_at_fence(s, d->me, fx->u.fence.target);
        return;
    case HF_FX_VM_START:
    case HF_FX_VM_STOP:
        SAY(s, d->me.ix, "order %llu.%u: %s vm %u, start %u", (unsigned long long)fx->token.seq,
            fx->token.nth, fx->type == HF_FX_VM_START ? "start" : "stop", fx->u.vm.uid,
            fx->u.vm.start_no);
        if (d->given_count > 64)
            forget_given(d, replica_engine(d->replica));
        keep(d, fx);
        world_vm_order(s, d->me, fx);
        if (fx->type == HF_FX_VM_START)
            faults_at_start(s, d->me);
        return;
    case HF_FX_POWER_ON:
        fence(d, fx);
        return;
    case HF_FX_HOLD:
    case HF_FX_DISARM:
        SAY(s, d->me.ix, "order %llu.%u: %s", (unsigned long long)fx->token.seq, fx->token.nth,
            fx->type == HF_FX_HOLD ? "hold" : "the watchdog may be closed");
        lease_effect(&d->lease, fx, node_clock(s, d->me));
        if (fx->type == HF_FX_HOLD)
            faults_at_hold(s, d->me, fx);
        return;
    case HF_FX_TIMER:
    case HF_FX_TYPES:
        break;
    }
    sim_fail(s, "node %u is given an effect of type %d", d->me.ix, (int)fx->type);
}

void node_perform(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    uint32_t count = d->late_count;
    d->late_count = 0;
    for (uint32_t i = 0; i < count && d->is_alive && d->phase == REPLICA_SYNCED; i++)
        if (engine_is_live(replica_engine(d->replica), d->late[i].token))
            perform(d, &d->late[i]);
}

/* Never from within a delivery: after a pause the next message may take the order back. */
static void port_effect(void *user, const struct hf_effect *fx)
{
    struct sim_node *d = user;
    struct sim *s = d->sim;
    sim_busy(s);
    if (fx->type == HF_FX_TIMER) {
        arm(d, fx);
        return;
    }
    for (uint32_t i = 0; i < d->late_count; i++)
        if (hf_token_same(d->late[i].token, fx->token))
            return;
    if (d->late_count == HF_EFFECTS_MAX) {
        sim_fail(s, "S14: node %u is given more than %d orders at once", d->me.ix, HF_EFFECTS_MAX);
        return;
    }
    d->late[d->late_count++] = *fx;
}

static void port_resync(void *user, const struct engine *e)
{
    struct sim_node *d = user;
    struct sim *s = d->sim;
    sim_busy(s);
    for (int i = 0; i < HF_EFFECTS_MAX; i++)
        if (hf_token_is(d->timer[i].token) && !engine_is_live(e, d->timer[i].token)) {
            d->timer[i].token = (struct hf_token){0};
            d->timer[i].gen++;
        }
    forget_given(d, e);
    d->cookie_done = 0;
    d->asked = engine_seq(e);
    node_facts(s, d->me);
    world_tell_inventory(s, d->me);
}

static void port_phase(void *user, enum replica_phase was, enum replica_phase now, const char *why)
{
    static const char *const names[] = {"apart",  "greeting", "copying",
                                        "frozen", "synced",   "STOPPED"};
    struct sim_node *d = user;
    sim_busy(d->sim);
    SAY(d->sim, d->me.ix, "%s -> %s: %s", names[was], names[now], why);
    d->phase = now;
    if (now != REPLICA_SYNCED) {
        paths_group(&d->paths, false, node_clock(d->sim, d->me));
        nics_group(&d->nics, false, node_clock(d->sim, d->me));
    }
    checker_phase(d->sim, d->me, now);
}

static void port_side(void *user, uint32_t nodeid, const uint8_t *bytes, size_t len)
{
    (void)user;
    (void)nodeid;
    (void)bytes;
    (void)len;
}

/* ---- the watchdog and the fence paths: ports of the daemon's own objects ---- */

static const struct engine *port_engine(void *user)
{
    const struct sim_node *d = user;
    return replica_engine(d->replica);
}

static enum hf_code port_submit(void *user, const struct hf_event *ev, struct hf_err *err)
{
    struct sim_node *d = user;
    enum hf_code code =
        replica_submit(d->replica, ev, d->cookie + 1, node_clock(d->sim, d->me), err);
    if (ev->type == HF_EV_ATTEST)
        faults_at_attest(d->sim, d->me);
    d->cookie += code == HF_OK; /* without a break: what is taken is applied, in this order */
    return code;
}

static bool port_tell(void *user, enum hf_agent_kind kind, const struct hf_report *report)
{
    struct sim_node *d = user;
    if (kind == HF_AGENT_FEEDER)
        return dog_told(d->sim, d->me, report);
    return world_self_stop(d->sim, d->me);
}

/* The fence runner tries one level: how long it takes and what it finds is the device's affair. */
static bool port_test(void *user, const struct hf_report *test)
{
    struct sim_node *d = user;
    struct sim *s = d->sim;
    hf_node target = engine_node_by_name(replica_engine(d->replica), test->u.test.target);
    d->tested = (struct hf_report){.kind = HF_REPORT_TESTED};
    d->tested.u.tested.number = test->u.test.number;
    int64_t takes = world_test(s, target, test->u.test.level, test->u.test.deadline_ms, &d->tested);
    queue_push(&s->queue, (struct sim_event){.at = s->now + takes,
                                             .kind = SIM_TESTED,
                                             .node = d->me.ix,
                                             .b = test->u.test.number,
                                             .gen = d->gen});
    return true;
}

static void port_tested(void *user, uint64_t cookie, const struct hf_report *tested)
{
    (void)user;
    (void)cookie;
    (void)tested;
}

static void port_news(void *user, hf_node target, uint8_t level, const struct hf_report *tested)
{
    struct sim_node *d = user;
    SAY(d->sim, d->me.ix, "fence path of node %u, level %u: found %d", target.ix, level,
        (int)tested->u.tested.found);
}

static bool port_nic(void *user, const struct hf_report *report)
{
    (void)user;
    (void)report;
    return false; /* operators' failbacks are not simulated */
}

static void port_ask(void *user, hf_node member, uint32_t number, hf_vm_uid uid, hf_fabric to)
{
    (void)user;
    (void)member;
    (void)number;
    (void)uid;
    (void)to;
}

static void port_flipped(void *user, const struct hf_flip *flip, uint32_t asker, uint32_t number)
{
    (void)user;
    (void)flip;
    (void)asker;
    (void)number;
}

static void port_answered(void *user, uint64_t cookie, const struct hf_flip *flip)
{
    (void)user;
    (void)cookie;
    (void)flip;
}

static void open_objects(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    uint32_t nodeid = s->group.nodes[n.ix].nodeid;
    struct hf_watchdog_conf conf = {.is_used = s->opt.has_watchdog,
                                    .timeout_ms = s->opt.wd_timeout_ms,
                                    .lease_ms = s->opt.lease_ms,
                                    .device = "/dev/watchdog"};
    lease_init(&d->lease, nodeid, &conf,
               &(struct lease_ports){d, port_engine, port_submit, port_tell});
    paths_init(
        &d->paths, nodeid,
        &(struct paths_ports){d, port_engine, port_submit, port_test, port_tested, port_news});
    nics_init(&d->nics, nodeid,
              &(struct nics_ports){d, port_engine, port_submit, port_nic, port_ask, port_flipped,
                                   port_answered});
    d->dog_waits = false;
    d->lease_at = d->paths_at = d->nics_at = 0;
}

/* ---- the daemon's life ---- */

void node_open(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    *d = (struct sim_node){.sim = s, .me = n};
    d->replica = malloc(replica_size());
    d->report = calloc(NODE_REPORTS_MAX, sizeof *d->report);
    d->given = calloc(HF_EFFECTS_MAX, sizeof *d->given);
    d->late = calloc(HF_EFFECTS_MAX, sizeof *d->late);
    d->timer = calloc(HF_EFFECTS_MAX, sizeof *d->timer);
    d->stored = malloc(engine_save_max());
    d->saved = malloc(engine_save_max());
    if (!d->replica || !d->report || !d->given || !d->late || !d->timer || !d->stored || !d->saved)
        abort();
}

void node_close(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    free(d->replica);
    free(d->report);
    free(d->given);
    free(d->late);
    free(d->timer);
    free(d->stored);
    free(d->saved);
}

/* The daemon's cluster file: one node's may differ. */
static void file_of(const struct sim *s, hf_node n, struct hf_group *file)
{
    *file = s->group;
    if (s->node[n.ix].config_differs)
        file->config.b[0] ^= 1;
}

void node_daemon_start(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    struct hf_err err;
    struct hf_group file;
    if (d->is_alive || !s->world.host[n.ix].is_up)
        return;
    sim_busy(s);
    file_of(s, n, &file);
    d->is_alive = true;
    d->is_paused = false;
    d->is_connected = false;
    if (!d->keeps_pid)
        d->pid = 1000 + d->gen * 8 + n.ix;
    d->keeps_pid = false;
    d->gen++;
    open_objects(s, n);
    d->view_ring = 0;
    d->incarnation = (uint64_t)node_clock(s, n).ns;
    d->phase = REPLICA_APART;
    d->tick_at = 0;
    d->given_count = d->late_count = d->report_count = d->report_first = 0;
    d->unsaved = 0;
    d->cookie_done = 0;
    for (int i = 0; i < HF_EFFECTS_MAX; i++) {
        d->timer[i].token = (struct hf_token){0};
        d->timer[i].gen++;
    }
    struct replica_settings settings = {
        .nodeid = s->group.nodes[n.ix].nodeid,
        .boot = world_boot(s, n),
        .incarnation = d->incarnation,
        .file = &file,
        .beat_ms = s->opt.beat_ms,
        .mute_after_ms = s->opt.mute_after_ms,
        .hello_wait_ms = s->opt.hello_wait_ms,
        .resend_ms = s->opt.resend_ms,
    };
    struct replica_ports ports = {.user = d,
                                  .mcast = port_mcast,
                                  .stepped = port_stepped,
                                  .replaced = port_replaced,
                                  .effect = port_effect,
                                  .resync = port_resync,
                                  .phase = port_phase,
                                  .side = port_side};
    if (replica_init(d->replica, &settings, &ports, &err) != HF_OK) {
        sim_fail(s, "node %u: replica_init: %s", n.ix, err.text);
        return;
    }
    if (d->stored_len > 0 && replica_restore(d->replica, d->stored, d->stored_len, &err) != HF_OK)
        SAY(s, n.ix, "stored state refused: %s", err.text);
    SAY(s, n.ix, "daemon starts, pid %u", d->pid);
    node_connect_soon(s, n);
    if (s->world.host[n.ix].agent_alive)
        node_agent_connected(s, n);
    dog_daemon_up(s, n);
    card_daemon_up(s, n);
    paths_runner(&d->paths, true, node_clock(s, n));
    node_reschedule(s, n);
}

void node_daemon_kill(struct sim *s, hf_node n, bool is_torn)
{
    struct sim_node *d = &s->node[n.ix];
    if (!d->is_alive)
        return;
    sim_busy(s);
    const struct engine *e = replica_engine(d->replica);
    if (!is_torn && !d->disk_hangs && e != NULL)
        store(d, e);
    d->forgot = d->forgot || ((d->disk_hangs || is_torn) && d->unsaved > 0);
    SAY(s, n.ix, "daemon dies");
    d->is_alive = d->is_paused = d->is_connected = false;
    d->gen++;
    d->tick_gen++;
    d->tick_at = 0;
    d->phase = REPLICA_APART;
    d->report_count = d->report_first = 0;
    checker_daemon_gone(s, n);
    totem_disconnect(s, n);
    if (!s->world.host[n.ix].is_up) /* its fence runs die with the host, not with the daemon */
        for (int i = 0; i < NODE_FENCES_MAX; i++)
            d->fence[i] = (struct node_fence){.gen = d->fence[i].gen + 1};
}

void node_daemon_pause(struct sim *s, hf_node n)
{
    if (!s->node[n.ix].is_alive || s->node[n.ix].is_paused)
        return;
    sim_busy(s);
    SAY(s, n.ix, "daemon is paused");
    s->node[n.ix].is_paused = true;
    checker_phase(s, n, REPLICA_APART);
}

void node_daemon_resume(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    if (!d->is_alive || !d->is_paused)
        return;
    sim_busy(s);
    SAY(s, n.ix, "daemon goes on");
    d->is_paused = false;
    d->tick_at = d->lease_at = d->paths_at = d->nics_at = 0;
    card_daemon_resumes(s, n);
    checker_phase(s, n, d->phase);
    if (d->dog_waits) {
        d->dog_waits = false;
        queue_push(&s->queue, (struct sim_event){.at = s->now + sim_us(s, 1, 2000),
                                                 .kind = SIM_DOG_SAYS,
                                                 .node = n.ix,
                                                 .gen = d->gen});
    }
    for (int i = 0; i < HF_EFFECTS_MAX; i++)
        if (hf_token_is(d->timer[i].token) && d->timer[i].is_due)
            queue_push(&s->queue, (struct sim_event){.at = s->now + sim_us(s, 1, 2000),
                                                     .kind = SIM_TIMER,
                                                     .node = n.ix,
                                                     .a = (uint16_t)i,
                                                     .gen = d->timer[i].gen});
    node_reschedule(s, n);
    totem_client_wake(s, n);
    if (d->report_count > 0 && !d->has_report_event) {
        d->has_report_event = true;
        queue_push(&s->queue, (struct sim_event){.at = s->now + sim_us(s, 1, 2000),
                                                 .kind = SIM_REPORT,
                                                 .node = n.ix});
    }
    if (!d->is_connected)
        node_connect_soon(s, n);
}

/* ---- its corosync ---- */

void node_apart(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    if (!d->is_alive || !d->is_connected)
        return;
    d->is_connected = false;
    d->view_ring = 0;
    d->retries = 0;
    replica_apart(d->replica, node_clock(s, n)); /* a paused loop learns it when it goes on; it can
                                                    do nothing before */
    node_reschedule(s, n);
    node_connect_soon(s, n);
}

void node_connect_soon(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    int64_t most = d->retries < 5 ? 100 << d->retries : 5000;
    queue_push(&s->queue, (struct sim_event){.at = s->now + sim_ms(s, 5, most),
                                             .kind = SIM_CONNECT,
                                             .node = n.ix,
                                             .gen = d->gen});
}

static void connect_now(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    struct corosync *c = &s->totem.coro[n.ix];
    if (!d->is_alive || d->is_connected || d->is_paused)
        return;
    if (!c->is_alive || c->is_paused) {
        d->retries++;
        if (c->is_paused)
            node_connect_soon(s, n); /* a dead one calls when it is back */
        return;
    }
    sim_busy(s);
    d->is_connected = true;
    d->retries = 0;
    totem_connect(s, n, d->pid);
}

/* ---- agents ---- */

static void report_later(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    if (d->has_report_event || d->report_count == 0)
        return;
    int64_t at = d->report[d->report_first].at;
    d->has_report_event = true;
    queue_push(&s->queue, (struct sim_event){.at = at > s->now ? at : s->now + 1000,
                                             .kind = SIM_REPORT,
                                             .node = n.ix});
}

void node_report(struct sim *s, hf_node n, struct node_report report)
{
    struct sim_node *d = &s->node[n.ix];
    int copies = sim_chance(s, s->opt.repeat_permille) && report.type != HF_EV_FACTS ? 2 : 1;
    if (!d->is_alive)
        return;
    sim_busy(s);
    while (copies-- > 0) {
        if (d->report_count == NODE_REPORTS_MAX) {
            SAY(s, n.ix, "the agents' records overflow: connection closed");
            world_agent_kill(s, n);
            queue_push(&s->queue, (struct sim_event){.at = s->now + sim_ms(s, 50, 20000),
                                                     .kind = SIM_AGENT_UP,
                                                     .node = n.ix,
                                                     .gen = s->world.host[n.ix].agent_gen});
            return;
        }
        report.at = s->now + sim_ms(s, 0, s->opt.report_ms);
        d->report[(d->report_first + d->report_count++) % NODE_REPORTS_MAX] = report;
    }
    report_later(s, n);
}

void node_facts(struct sim *s, hf_node n)
{
    node_report(s, n,
                (struct node_report){.type = HF_EV_FACTS, .watch_known = world_watch_known(s, n)});
}

void node_agent_connected(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    if (!d->is_alive)
        return;
    bool facts_first = sim_chance(s, 500);
    if (facts_first)
        node_facts(s, n);
    world_tell_inventory(s, n);
    if (!facts_first)
        node_facts(s, n);
    uint32_t newest = d->results < NODE_RESULTS_MAX ? d->results : NODE_RESULTS_MAX;
    for (uint32_t i = 0; i < newest && sim_chance(s, 500); i++)
        node_report(s, n, d->result[(d->results - 1 - i) % NODE_RESULTS_MAX]);
    for (uint32_t i = 0; i < d->given_count; i++) {
        struct hf_effect fx = d->given[i];
        if (engine_is_live(replica_engine(d->replica), fx.token) && d->phase == REPLICA_SYNCED)
            world_vm_order(s, n, &fx);
    }
}

void node_agent_lost(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    if (!d->is_alive)
        return;
    node_facts(s, n);
}

static void fill(const struct sim *s, hf_node n, const struct node_report *r, struct hf_event *ev)
{
    memset(ev, 0, sizeof *ev);
    ev->type = r->type;
    ev->from = n;
    switch (r->type) {
    case HF_EV_FACTS:
        ev->u.facts.memory_mib = s->opt.memory_mib;
        ev->u.facts.cores = 32;
        ev->u.facts.vm_watch_known = r->watch_known;
        ev->u.facts.link_fit = !s->node[n.ix].link_unfit;
        ev->u.facts.hardware = world_hardware(n);
        ev->u.facts.config_same = !s->node[n.ix].config_differs;
        return;
    case HF_EV_INVENTORY:
        ev->u.inventory.as_of = r->as_of;
        ev->u.inventory.count = r->count;
        memcpy(ev->u.inventory.vm, r->vm, r->count * sizeof r->vm[0]);
        return;
    case HF_EV_VM:
        ev->u.vm.uid = r->uid;
        ev->u.vm.start_no = r->start_no;
        ev->u.vm.seen = r->seen;
        return;
    case HF_EV_DONE:
        ev->u.done.effect = r->token;
        ev->u.done.outcome = r->outcome;
        return;
    case HF_EV_MEMBERS:
    case HF_EV_BEAT:
    case HF_EV_EXPIRED:
    case HF_EV_ORDER:
    case HF_EV_ATTEST:
    case HF_EV_PATH:
    case HF_EV_NICS:
    case HF_EV_LEGS:
    case HF_EVENT_TYPES:
        break;
    }
    HF_ASSERT(r->type == HF_EV_DONE);
}

static enum hf_code submit(struct sim *s, hf_node n, const struct hf_event *ev)
{
    struct sim_node *d = &s->node[n.ix];
    struct hf_err err;
    enum hf_code code = port_submit(d, ev, &err);
    if (code != HF_OK)
        SAY(s, n.ix, "submit refused: %s", err.text);
    node_reschedule(s, n);
    return code;
}

void node_submit(struct sim *s, hf_node n, const struct hf_event *ev)
{
    sim_busy(s);
    (void)submit(s, n, ev);
}

/* What finds the outbox full is told when it has room again, as act.c does: the group may wait for
 * just this (seed 28623: a list that nobody sent again, and a node that joined for ever). */
static void take_report(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    struct node_report *r = &d->report[d->report_first];
    struct hf_event ev;
    d->has_report_event = false;
    if (!d->is_alive || d->is_paused || d->report_count == 0)
        return;
    if (r->at > s->now) {
        report_later(s, n);
        return;
    }
    sim_busy(s);
    if (!r->is_read)
        checker_told(s, n, r);
    fill(s, n, r, &ev);
    r->is_read = true;
    if (submit(s, n, &ev) == HF_EFULL) {
        r->at = s->now + SIM_MS(RETRY_MS);
    } else {
        d->report_first = (d->report_first + 1) % NODE_REPORTS_MAX;
        d->report_count--;
    }
    report_later(s, n);
}

bool node_order(struct sim *s, hf_node n, const struct hf_event *order)
{
    struct sim_node *d = &s->node[n.ix];
    if (!d->is_alive || d->is_paused || d->phase != REPLICA_SYNCED)
        return false;
    sim_busy(s);
    struct hf_event ev = *order;
    ev.u.order.as_of = engine_as_of(replica_engine(d->replica));
    (void)submit(s, n, &ev);
    return true;
}

/* ---- what comes due ---- */

static void timer_due(struct sim *s, const struct sim_event *ev)
{
    hf_node n = sim_node_at(ev->node);
    struct sim_node *d = &s->node[n.ix];
    struct node_timer *t = &d->timer[ev->a];
    if (ev->gen != t->gen || !d->is_alive || !hf_token_is(t->token))
        return;
    t->is_due = d->is_paused;
    if (d->is_paused)
        return;
    sim_busy(s);
    const struct engine *e = replica_engine(d->replica);
    if (e != NULL && engine_is_live(e, t->token)) {
        struct hf_event expired = {.type = HF_EV_EXPIRED, .from = n};
        expired.u.expired.timer = t->token;
        if (submit(s, n, &expired) == HF_EFULL) {
            struct sim_event again = *ev;
            again.at = s->now + SIM_MS(RETRY_MS);
            queue_push(&s->queue, again);
            return;
        }
    }
    t->token = (struct hf_token){0};
    t->gen++;
}

void node_clock_jumps(struct sim *s, hf_node n, int64_t ns)
{
    struct sim_node *d = &s->node[n.ix];
    sim_busy(s);
    SAY(s, n.ix, "its clock jumps %lld ms ahead", (long long)(ns / HF_NS_PER_MS));
    s->world.host[n.ix].clock_offset += ns;
    int64_t early = node_true_ns(s, n, ns);
    for (int i = 0; i < HF_EFFECTS_MAX; i++) {
        struct node_timer *t = &d->timer[i];
        if (!hf_token_is(t->token) || t->is_due)
            continue;
        t->at = t->at - early > s->now ? t->at - early : s->now + 1000;
        queue_push(
            &s->queue,
            (struct sim_event){
                .at = t->at, .kind = SIM_TIMER, .node = n.ix, .a = (uint16_t)i, .gen = ++t->gen});
    }
    d->tick_at = d->lease_at = d->paths_at = d->nics_at = 0;
    node_reschedule(s, n);
    dog_clock_jumped(s, n);
}

bool node_is_steady(const struct sim *s, hf_node n)
{
    const struct sim_node *d = &s->node[n.ix];
    if (!d->is_alive || !d->lease.conf.is_used)
        return true;
    struct lease_view look = lease_look(&d->lease);
    bool is_settling = look.state == HF_WD_ARMED && d->lease.unwanted_since.ns != 0;
    return !is_settling && look.hold_until.ns <= node_clock(s, n).ns;
}

static void lease_due(struct sim *s, const struct sim_event *ev)
{
    struct sim_node *d = &s->node[ev->node];
    if (ev->gen != d->lease_gen || !d->is_alive || d->is_paused)
        return;
    d->lease_at = 0;
    node_reschedule(s, d->me);
}

static void paths_due(struct sim *s, const struct sim_event *ev)
{
    struct sim_node *d = &s->node[ev->node];
    if (ev->gen != d->paths_gen || !d->is_alive || d->is_paused)
        return;
    d->paths_at = 0;
    paths_turn(&d->paths, node_clock(s, d->me));
    node_reschedule(s, d->me);
}

static void nics_due(struct sim *s, const struct sim_event *ev)
{
    struct sim_node *d = &s->node[ev->node];
    if (ev->gen != d->nics_gen || !d->is_alive || d->is_paused)
        return;
    d->nics_at = 0;
    nics_turn(&d->nics, node_clock(s, d->me));
    node_reschedule(s, d->me);
}

static void test_due(struct sim *s, const struct sim_event *ev)
{
    struct sim_node *d = &s->node[ev->node];
    if (ev->gen != d->gen || !d->is_alive || ev->b != d->tested.u.tested.number)
        return;
    if (d->is_paused) { /* its socket keeps it */
        struct sim_event again = *ev;
        again.at = s->now + SIM_MS(1000);
        queue_push(&s->queue, again);
        return;
    }
    paths_told(&d->paths, &d->tested, node_clock(s, d->me));
    node_reschedule(s, d->me);
}

static void fence_due(struct sim *s, const struct sim_event *ev)
{
    hf_node n = sim_node_at(ev->node);
    struct sim_node *d = &s->node[n.ix];
    struct node_fence *f = &d->fence[ev->a];
    if (ev->gen != f->gen || !f->is_used || f->is_over || !s->world.host[n.ix].is_up)
        return;
    sim_busy(s);
    f->is_over = true;
    f->outcome = (enum hf_outcome)ev->b;
    SAY(s, n.ix, "%s of node %u ends: %s", f->is_power_on ? "power on" : "fence", f->target.ix,
        f->outcome == HF_OUT_DONE      ? (f->is_power_on ? "on" : "off")
        : f->outcome == HF_OUT_REFUSED ? "refused"
                                       : "gave up");
    node_report(s, n,
                (struct node_report){.type = HF_EV_DONE, .token = f->token, .outcome = f->outcome});
}

void node_event(struct sim *s, const struct sim_event *ev)
{
    hf_node n = sim_node_at(ev->node);
    struct sim_node *d = &s->node[n.ix];
    switch (ev->kind) {
    case SIM_TICK:
        if (ev->gen != d->tick_gen || !d->is_alive || d->is_paused)
            return;
        d->tick_at = 0;
        replica_tick(d->replica, node_clock(s, n));
        if (totem_client_is_idle(s, n))
            node_perform(s, n);
        node_reschedule(s, n);
        return;
    case SIM_CONNECT:
        if (ev->gen == d->gen)
            connect_now(s, n);
        return;
    case SIM_REPORT:
        take_report(s, n);
        return;
    case SIM_TIMER:
        timer_due(s, ev);
        return;
    case SIM_FENCE:
        fence_due(s, ev);
        return;
    case SIM_LEASE:
        lease_due(s, ev);
        return;
    case SIM_PATHS:
        paths_due(s, ev);
        return;
    case SIM_TESTED:
        test_due(s, ev);
        return;
    case SIM_NICS:
        nics_due(s, ev);
        return;
    case SIM_DAEMON_UP:
        if (ev->gen == d->gen)
            node_daemon_start(s, n);
        return;
    case SIM_DAEMON_RESUME:
        node_daemon_resume(s, n);
        return;
    default:
        return;
    }
}
