/* world.c - see world.h. An agent is honest: it tells what it sees, late or twice, and says that it
 * does not know when it does not. It sends a complete inventory only while no create of its host is
 * under way: with one on its way, "these and no others run here" would be a guess. */
#include "tests/sim/world.h"

#include <string.h>

#include "supervisord/wire/report.h"
#include "tests/sim/sim.h"

enum { ASK_EVERY_MS = 10000 }; /* AGENTS_ASK_MS of the daemon */

/* An agent may give up a little before or after the engine does. */
static int64_t own_deadline(struct sim *s, uint32_t ms)
{
    return SIM_MS((int64_t)ms) * sim_between(s, 800, 1050) / 1000;
}

static void push(struct sim *s, enum sim_kind kind, hf_node n, int64_t delay, uint16_t a,
                 uint32_t gen)
{
    queue_push(&s->queue,
               (struct sim_event){
                   .at = s->now + delay, .kind = (uint8_t)kind, .node = n.ix, .a = a, .gen = gen});
}

void world_open(struct sim *s)
{
    memset(&s->world, 0, sizeof s->world);
    for (unsigned n = 0; n < s->opt.nodes; n++) {
        struct host *h = &s->world.host[n];
        h->is_on = h->is_up = h->agent_alive = true;
        h->boots = 1;
        h->clock_offset = sim_between(s, 1, 1000000) * HF_NS_PER_MS;
        for (unsigned l = 0; l < HF_FENCE_LEVELS_MAX; l++)
            h->wired[l] = (uint8_t)n;
        h->dog.kind = s->opt.wd_kind[n];
        dog_host_up(s, sim_node_at(n));
        card_host_up(s, sim_node_at(n));
    }
    card_open(s);
}

uint64_t world_hardware(hf_node n)
{
    return 1000u + n.ix;
}

struct hf_boot world_boot(const struct sim *s, hf_node n)
{
    struct hf_boot boot = {{0}};
    boot.id[0] = 0xb0;
    boot.id[1] = n.ix;
    memcpy(&boot.id[4], &s->world.host[n.ix].boots, sizeof(uint32_t));
    return boot;
}

hf_nodes world_running_on(const struct sim *s, hf_vm_uid uid)
{
    hf_nodes on = 0;
    for (unsigned n = 0; n < s->opt.nodes; n++)
        if (s->world.host[n].vm[uid].is_running)
            on |= hf_bit(sim_node_at(n));
    return on;
}

bool world_runs_by_hand(const struct sim *s, hf_vm_uid uid)
{
    for (unsigned n = 0; n < s->opt.nodes && uid < SIM_VMS_MAX; n++)
        if (s->world.host[n].vm[uid].is_running && s->world.host[n].vm[uid].start_no == 0)
            return true;
    return false;
}

/* ---- power ---- */

void world_power_off(struct sim *s, hf_node n, const char *why)
{
    struct host *h = &s->world.host[n.ix];
    if (!h->is_on)
        return;
    sim_busy(s);
    SAY(s, n.ix, "POWER OFF (%s)", why);
    h->is_on = h->is_up = false;
    h->gen++;
    for (hf_vm_uid uid = 1; uid < SIM_VMS_MAX; uid++) {
        h->vm[uid].is_stuck = false;
        if (h->vm[uid].is_running)
            world_vm_end(s, n, uid, VM_END_POWER);
        h->op[uid] = (struct vm_op){.gen = h->op[uid].gen + 1};
        h->create[uid] = (struct vm_create){.gen = h->create[uid].gen + 1};
        h->started[uid] = (struct hf_token){0};
    }
    dog_power_off(s, n);
    card_power_off(s, n);
    s->node[n.ix].results = 0; /* what an agent remembers is of one boot */
    h->no_forks = false;
    checker_host_off(s, n);
    h->agent_alive = h->agent_paused = false;
    h->agent_gen++;
    h->libvirt = LIBVIRT_OK;
    node_daemon_kill(s, n, true);
    totem_stop(s, n, false);
}

void world_power_on(struct sim *s, hf_node n, int64_t boot_ns)
{
    struct host *h = &s->world.host[n.ix];
    if (h->is_on)
        return;
    sim_busy(s);
    h->is_on = true;
    h->boots++;
    h->clock_offset = sim_between(s, 1, 1000000) * HF_NS_PER_MS;
    checker_host_on(s, n);
    SAY(s, n.ix, "power on, boot %u", h->boots);
    push(s, SIM_HOST_UP, n, boot_ns, 0, h->gen);
}

void world_host_up(struct sim *s, hf_node n)
{
    struct host *h = &s->world.host[n.ix];
    h->is_up = true;
    SAY(s, n.ix, "system is up");
    totem_start(s, n);
    dog_host_up(s, n);
    card_host_up(s, n);
    push(s, SIM_DAEMON_UP, n, sim_ms(s, 10, 3000), 0, s->node[n.ix].gen);
    push(s, SIM_AGENT_UP, n, sim_ms(s, 10, 3000), 0, h->agent_gen);
}

/* ---- fencing ---- */

static void fence_ends(struct sim *s, hf_node actor, uint32_t slot, uint32_t gen, int64_t delay,
                       enum hf_outcome outcome)
{
    queue_push(&s->queue, (struct sim_event){.at = s->now + delay,
                                             .kind = SIM_FENCE,
                                             .node = actor.ix,
                                             .a = (uint16_t)slot,
                                             .b = outcome,
                                             .gen = gen});
}

/* The device's own part of a run: does it act, after how long, and what does it say? */
static void fence_run(struct sim *s, hf_node target, hf_node wired, int64_t run, bool power_on)
{
    struct host *h = &s->world.host[wired.ix];
    if (!hf_node_same(wired, target)) {
        faults_count(s, FAULT_H12);
        s->shows_limit = true; /* swapped since the last test: nobody can know */
        SAY(s, wired.ix, "is what the devices of node %u really switch", target.ix);
    }
    queue_push(&s->queue, (struct sim_event){.at = s->now + run / 2,
                                             .kind = power_on ? SIM_POWER_ON : SIM_POWER_OFF,
                                             .node = wired.ix,
                                             .gen = h->gen});
}

void world_fence(struct sim *s, hf_node actor, hf_node target, uint8_t level, uint32_t slot,
                 uint32_t gen, bool power_on)
{
    struct host *h = &s->world.host[target.ix];
    unsigned at = level < HF_FENCE_LEVELS_MAX ? level : 0;
    enum bmc_mood mood = h->bmc[at];
    hf_node wired = sim_node_at(h->wired[at]);
    int64_t run = sim_ms(s, 200, s->opt.bmc_ms);
    int64_t deadline = own_deadline(s, s->opt.policy.fence_deadline_ms);
    if (s->world.host[actor.ix].no_forks) {
        faults_count(s, FAULT_P14);
        fence_ends(s, actor, slot, gen, sim_ms(s, 1, 20), HF_OUT_GAVE_UP);
        return;
    }
    if (mood == BMC_SLOW)
        run += sim_ms(s, 2000, s->opt.policy.fence_deadline_ms);
    switch (mood) {
    case BMC_OK:
    case BMC_SLOW:
        if (run < deadline || sim_chance(s, 500)) /* off may work although the answer is late */
            fence_run(s, target, wired, run, power_on);
        fence_ends(s, actor, slot, gen, run < deadline ? run : deadline,
                   run < deadline ? HF_OUT_DONE : HF_OUT_GAVE_UP);
        return;
    case BMC_HUNG:
    case BMC_DEAD:
        faults_count(s, FAULT_H10);
        fence_ends(s, actor, slot, gen, deadline, HF_OUT_GAVE_UP);
        return;
    case BMC_REFUSES:
        faults_count(s, FAULT_H11);
        fence_ends(s, actor, slot, gen, sim_ms(s, 100, 1500), HF_OUT_REFUSED);
        return;
    case BMC_LIES:
        s->shows_limit = s->shows_limit || (h->is_on && !power_on);
        fence_ends(s, actor, slot, gen, run, HF_OUT_DONE);
        return;
    }
}

int64_t world_test(struct sim *s, hf_node target, uint8_t level, uint32_t deadline_ms,
                   struct hf_report *tested)
{
    static const enum hf_path found[] = {
        [BMC_OK] = HF_PATH_OK,
        [BMC_SLOW] = HF_PATH_OK,
        [BMC_HUNG] = HF_PATH_UNREACHABLE,
        [BMC_REFUSES] = HF_PATH_DENIED,
        [BMC_DEAD] = HF_PATH_UNREACHABLE,
        [BMC_LIES] = HF_PATH_OK,
    };
    const struct host *h = &s->world.host[target.ix];
    enum bmc_mood mood = h->bmc[level];
    tested->u.tested.found = found[mood];
    if (found[mood] == HF_PATH_OK)
        tested->u.tested.hardware = world_hardware(sim_node_at(h->wired[level]));
    if (found[mood] == HF_PATH_UNREACHABLE)
        return SIM_MS(deadline_ms);
    return sim_ms(s, 100, mood == BMC_SLOW ? 5000 : 500);
}

/* ---- the VM agent's words ---- */

static bool is_watching(const struct host *h)
{
    return h->is_up && h->agent_alive;
}

bool world_watch_known(const struct sim *s, hf_node n)
{
    const struct host *h = &s->world.host[n.ix];
    return is_watching(h) && h->libvirt != LIBVIRT_HUNG;
}

static void tell_seen(struct sim *s, hf_node n, hf_vm_uid uid, uint32_t start_no, enum hf_seen seen)
{
    struct node_report r = {.type = HF_EV_VM, .uid = uid, .start_no = start_no, .seen = seen};
    struct sim_node *d = &s->node[n.ix];
    if (!is_watching(&s->world.host[n.ix]) || !s->world.host[n.ix].agent_fresh)
        return;
    if (seen == HF_SEEN_CRASHED) /* may be told again, late */
        d->result[d->results++ % NODE_RESULTS_MAX] = r;
    node_report(s, n, r);
}

static void tell_done(struct sim *s, hf_node n, hf_vm_uid uid, struct hf_token token,
                      enum hf_outcome outcome)
{
    struct node_report r = {.type = HF_EV_DONE, .uid = uid, .token = token, .outcome = outcome};
    struct sim_node *d = &s->node[n.ix];
    SAY(s, n.ix, "agent: order %llu.%u for vm %u: %s", (unsigned long long)token.seq, token.nth,
        uid,
        outcome == HF_OUT_DONE      ? "done"
        : outcome == HF_OUT_REFUSED ? "refused"
                                    : "gave up");
    d->result[d->results++ % NODE_RESULTS_MAX] = r;
    if (is_watching(&s->world.host[n.ix]))
        node_report(s, n, r);
}

static bool is_creating(const struct host *h)
{
    for (hf_vm_uid uid = 1; uid < SIM_VMS_MAX; uid++)
        if (h->create[uid].is_going)
            return true;
    return false;
}

void world_tell_inventory(struct sim *s, hf_node n)
{
    struct host *h = &s->world.host[n.ix];
    const struct engine *e = node_engine(s, n);
    struct node_report r = {.type = HF_EV_INVENTORY, .as_of = e != NULL ? engine_as_of(e) : 0};
    if (!world_watch_known(s, n))
        return;
    if (is_creating(h)) {
        h->agent_fresh = false; /* told when the create has ended */
        return;
    }
    h->agent_fresh = true;
    for (hf_vm_uid uid = 1; uid < SIM_VMS_MAX; uid++)
        if (h->vm[uid].is_running)
            r.vm[r.count++] = (struct hf_vm_seen){uid, h->vm[uid].start_no};
    SAY(s, n.ix, "agent: inventory of %u", r.count);
    node_report(s, n, r);
}

static void inventory_if_owed(struct sim *s, hf_node n)
{
    struct host *h = &s->world.host[n.ix];
    if (is_watching(h) && !h->agent_fresh)
        world_tell_inventory(s, n);
}

void world_agent_kill(struct sim *s, hf_node n)
{
    struct host *h = &s->world.host[n.ix];
    if (!h->agent_alive)
        return;
    sim_busy(s);
    SAY(s, n.ix, "vm agent dies");
    h->agent_alive = h->agent_fresh = false;
    h->agent_gen++;
    for (hf_vm_uid uid = 1; uid < SIM_VMS_MAX; uid++)
        h->op[uid] = (struct vm_op){.gen = h->op[uid].gen + 1};
    node_agent_lost(s, n);
}

void world_agent_up(struct sim *s, hf_node n)
{
    struct host *h = &s->world.host[n.ix];
    if (!h->is_up || h->agent_alive)
        return;
    sim_busy(s);
    h->agent_alive = true;
    h->agent_fresh = false;
    SAY(s, n.ix, "vm agent is back");
    node_agent_connected(s, n);
}

/* ---- qemu ---- */

static void run(struct sim *s, hf_node n, hf_vm_uid uid, uint32_t start_no)
{
    struct host *h = &s->world.host[n.ix];
    struct vm_process *p = &h->vm[uid];
    *p = (struct vm_process){
        .is_running = true, .start_no = start_no, .since = s->now, .gen = p->gen + 1};
    SAY(s, n.ix, "vm %u RUNS here, start %u", uid, start_no);
    card_vm_changed(s, n);
    if (s->world.vm[uid].is_crashy)
        queue_push(&s->queue, (struct sim_event){.at = s->now + sim_ms(s, 50, 20000),
                                                 .kind = SIM_VM_END,
                                                 .node = n.ix,
                                                 .a = (uint16_t)uid,
                                                 .b = VM_END_CRASH,
                                                 .gen = p->gen});
}

void world_vm_end(struct sim *s, hf_node n, hf_vm_uid uid, enum vm_end how)
{
    static const char *const words[] = {
        "crashes",    "shuts itself down", "is destroyed by hand",
        "is stopped", "loses power",       "is ended by its own host"};
    struct vm_process *p = &s->world.host[n.ix].vm[uid];
    if (!p->is_running || p->is_stuck)
        return;
    sim_busy(s);
    SAY(s, n.ix, "vm %u %s", uid, words[how]);
    uint32_t start_no = p->start_no;
    p->is_running = false;
    p->gen++;
    checker_vm_ended(s, n, uid, how);
    card_vm_changed(s, n);
    switch (how) {
    case VM_END_CRASH:
        tell_seen(s, n, uid, start_no, HF_SEEN_CRASHED);
        return;
    case VM_END_SHUTDOWN:
        tell_seen(s, n, uid, start_no, HF_SEEN_SHUTDOWN);
        return;
    case VM_END_BY_HAND:
        tell_seen(s, n, uid, start_no, HF_SEEN_DESTROYED);
        return;
    case VM_END_ORDERED:
        /* The order may be dead, and then nobody hears its result: the daemon asks its agent every
         * few seconds and tells what has changed. */
        push(s, SIM_ASK, n, sim_ms(s, 0, ASK_EVERY_MS), 0, 0);
        return;
    case VM_END_SELF:
        tell_seen(s, n, uid, start_no, HF_SEEN_CRASHED);
        return;
    case VM_END_POWER:
        return;
    }
}

bool world_self_stop(struct sim *s, hf_node n)
{
    struct host *h = &s->world.host[n.ix];
    if (!is_watching(h))
        return false;
    sim_busy(s);
    SAY(s, n.ix, "the lease is over: the agent ends every VM");
    s->check.self_stops++;
    for (hf_vm_uid uid = 1; uid < SIM_VMS_MAX; uid++)
        if (h->vm[uid].is_running && h->vm[uid].start_no != 0)
            push(s, SIM_SELF_STOP, n, sim_ms(s, 5, 1000), (uint16_t)uid, h->vm[uid].gen);
    return true;
}

void world_vm_by_hand(struct sim *s, hf_node n, hf_vm_uid uid)
{
    struct host *h = &s->world.host[n.ix];
    if (!h->is_up || world_running_on(s, uid) != 0)
        return;
    for (unsigned i = 0; i < s->opt.nodes; i++)
        if (s->world.host[i].create[uid].is_going)
            return;
    sim_busy(s);
    SAY(s, n.ix, "a person starts vm %u by hand", uid);
    if (!checker_vm_starts(s, n, uid, 0, (struct hf_token){0}))
        return;
    run(s, n, uid, 0);
    tell_seen(s, n, uid, 0, HF_SEEN_RUNNING);
}

static void op_end(struct sim *s, hf_node n, hf_vm_uid uid, enum hf_outcome outcome)
{
    struct vm_op *op = &s->world.host[n.ix].op[uid];
    struct hf_token token = op->token;
    bool told = op->gave_up;
    bool is_start = op->kind == VM_OP_START;
    *op = (struct vm_op){.gen = op->gen + 1};
    if (told)
        return;
    if (is_start && outcome != HF_OUT_DONE)
        checker_start_failed(s, uid);
    else if (is_start)
        checker_vm_started(s, uid, token);
    tell_done(s, n, uid, token, outcome);
}

static void create(struct sim *s, hf_node n, hf_vm_uid uid)
{
    struct host *h = &s->world.host[n.ix];
    struct vm_op *op = &h->op[uid];
    struct vm_create *c = &h->create[uid];
    h->started[uid] = op->token;
    *c = (struct vm_create){
        .is_going = true, .token = op->token, .start_no = op->start_no, .gen = c->gen + 1};
    int64_t takes = sim_ms(s, 100, s->opt.libvirt_ms);
    if (h->libvirt == LIBVIRT_SLOW)
        takes += sim_ms(s, 1000, 30000);
    push(s, SIM_VM_CREATED, n, takes, (uint16_t)uid, c->gen);
}

static void order_start(struct sim *s, hf_node n, const struct hf_effect *fx)
{
    struct host *h = &s->world.host[n.ix];
    hf_vm_uid uid = fx->u.vm.uid;
    struct vm_op *op = &h->op[uid];
    struct vm_process *p = &h->vm[uid];
    *op = (struct vm_op){
        .kind = VM_OP_START, .token = fx->token, .start_no = fx->u.vm.start_no, .gen = op->gen + 1};
    if (h->create[uid].is_going)
        return; /* an older create: its end decides */
    if (!p->is_running && hf_token_same(op->token, h->started[uid])) {
        op_end(s, n, uid, HF_OUT_DONE); /* never twice; it has ended since, and that is told */
        tell_seen(s, n, uid, op->start_no, HF_SEEN_CRASHED);
        return;
    }
    if (p->is_running) {
        bool is_it = p->start_no == op->start_no;
        if (!is_it)
            tell_seen(s, n, uid, p->start_no, HF_SEEN_RUNNING);
        op_end(s, n, uid, is_it ? HF_OUT_DONE : HF_OUT_GAVE_UP);
        return;
    }
    create(s, n, uid);
    push(s, SIM_VM_DEADLINE, n, own_deadline(s, s->opt.policy.start_deadline_ms), (uint16_t)uid,
         op->gen);
}

static void order_stop(struct sim *s, hf_node n, const struct hf_effect *fx)
{
    struct host *h = &s->world.host[n.ix];
    hf_vm_uid uid = fx->u.vm.uid;
    struct vm_op *op = &h->op[uid];
    if (op->kind == VM_OP_START && !op->gave_up)
        checker_start_failed(s, uid); /* too slow for the group */
    *op = (struct vm_op){
        .kind = VM_OP_STOP, .token = fx->token, .start_no = fx->u.vm.start_no, .gen = op->gen + 1};
    int64_t takes = sim_ms(s, 5, 300) + sim_ms(s, 0, fx->u.vm.grace_ms);
    if (h->libvirt == LIBVIRT_HUNG)
        takes += sim_ms(s, 3000, 8000); /* the ladder ends at SIGKILL through the pidfd */
    push(s, SIM_VM_STOPPED, n, takes, (uint16_t)uid, op->gen);
    push(s, SIM_VM_DEADLINE, n, own_deadline(s, fx->u.vm.grace_ms + s->opt.policy.stop_deadline_ms),
         (uint16_t)uid, op->gen);
}

void world_vm_order(struct sim *s, hf_node n, const struct hf_effect *fx)
{
    struct host *h = &s->world.host[n.ix];
    hf_vm_uid uid = fx->u.vm.uid;
    if (uid >= SIM_VMS_MAX || !is_watching(h))
        return;
    if (hf_token_same(h->op[uid].token, fx->token))
        return;
    sim_busy(s);
    if (fx->type == HF_FX_VM_START)
        order_start(s, n, fx);
    else
        order_stop(s, n, fx);
}

static void created(struct sim *s, hf_node n, hf_vm_uid uid)
{
    struct host *h = &s->world.host[n.ix];
    struct vm_create c = h->create[uid];
    struct vm_op *op = &h->op[uid];
    if (h->libvirt == LIBVIRT_HUNG) {
        h->create[uid].is_waiting = true;
        return;
    }
    h->create[uid] = (struct vm_create){.gen = c.gen + 1};
    bool is_ordered = op->kind == VM_OP_START && hf_token_same(op->token, c.token);
    bool lacks_vf = h->card.refuses_vfs && s->check.vm[uid].def.legs != 0;
    bool fails =
        h->libvirt == LIBVIRT_REFUSES || s->world.vm[uid].refuses || h->no_forks || lacks_vf;
    if (lacks_vf)
        faults_count(s, FAULT_N6);
    if (fails || h->vm[uid].is_running || !checker_vm_starts(s, n, uid, c.start_no, c.token)) {
        if (is_ordered)
            op_end(s, n, uid, h->vm[uid].is_running ? HF_OUT_GAVE_UP : HF_OUT_REFUSED);
    } else {
        run(s, n, uid, c.start_no);
        if (op->kind != VM_OP_START || op->gave_up)
            tell_seen(s, n, uid, c.start_no, HF_SEEN_RUNNING);
        if (is_ordered)
            op_end(s, n, uid, HF_OUT_DONE);
    }
    if (op->kind == VM_OP_START) { /* came while the older create was under way */
        struct hf_effect fx = {.token = op->token, .type = HF_FX_VM_START};
        fx.u.vm.uid = uid;
        fx.u.vm.start_no = op->start_no;
        order_start(s, n, &fx);
    }
    inventory_if_owed(s, n);
}

static void stopped(struct sim *s, hf_node n, hf_vm_uid uid)
{
    struct host *h = &s->world.host[n.ix];
    struct vm_process *p = &h->vm[uid];
    if (p->is_stuck || h->create[uid].is_going) {
        push(s, SIM_VM_STOPPED, n, SIM_MS(500), (uint16_t)uid, h->op[uid].gen);
        return;
    }
    if (p->is_running) {
        checker_vm_stops(s, uid, h->op[uid].token, h->op[uid].gave_up);
        world_vm_end(s, n, uid, VM_END_ORDERED);
    }
    checker_stop_proved(s, n);
    if (h->op[uid].gave_up) /* said "not known" before: now it is */
        world_tell_inventory(s, n);
    op_end(s, n, uid, HF_OUT_DONE);
}

static void deadline(struct sim *s, hf_node n, hf_vm_uid uid)
{
    struct vm_op *op = &s->world.host[n.ix].op[uid];
    if (op->gave_up)
        return;
    if (op->kind == VM_OP_STOP)
        checker_stop_unproved(s, n);
    else
        checker_start_failed(s, uid);
    op->gave_up = true;
    tell_done(s, n, uid, op->token, HF_OUT_GAVE_UP);
}

void world_libvirt(struct sim *s, hf_node n, enum libvirt_mood mood)
{
    struct host *h = &s->world.host[n.ix];
    bool was_known = world_watch_known(s, n);
    sim_busy(s);
    h->libvirt = mood;
    for (hf_vm_uid uid = 1; uid < SIM_VMS_MAX && mood != LIBVIRT_HUNG; uid++) {
        struct vm_create *c = &h->create[uid];
        if (c->is_going && c->is_waiting) {
            c->is_waiting = false;
            push(s, SIM_VM_CREATED, n, sim_ms(s, 50, 2000), (uint16_t)uid, c->gen);
        }
    }
    if (was_known == world_watch_known(s, n) || !is_watching(h))
        return;
    node_facts(s, n);
    if (world_watch_known(s, n))
        world_tell_inventory(s, n);
}

void world_event(struct sim *s, const struct sim_event *ev)
{
    hf_node n = sim_node_at(ev->node);
    struct host *h = &s->world.host[n.ix];
    hf_vm_uid uid = ev->a;
    switch (ev->kind) {
    case SIM_POWER_OFF:
        if (ev->gen == h->gen)
            world_power_off(s, n, "its BMC was told so");
        return;
    case SIM_POWER_ON:
        if (ev->gen == h->gen)
            world_power_on(s, n, sim_ms(s, s->opt.boot_ms_min, s->opt.boot_ms_max));
        return;
    case SIM_SELF_STOP:
        if (ev->gen == h->vm[uid].gen)
            world_vm_end(s, n, uid, VM_END_SELF);
        return;
    case SIM_HOST_UP:
        if (ev->gen == h->gen && h->is_on)
            world_host_up(s, n);
        return;
    case SIM_VM_CREATED:
        if (ev->gen == h->create[uid].gen && h->create[uid].is_going)
            created(s, n, uid);
        return;
    case SIM_VM_DEADLINE:
        if (ev->gen == h->op[uid].gen && h->op[uid].kind != VM_OP_NONE)
            deadline(s, n, uid);
        return;
    case SIM_VM_STOPPED:
        if (ev->gen == h->op[uid].gen && h->op[uid].kind == VM_OP_STOP)
            stopped(s, n, uid);
        return;
    case SIM_VM_END:
        if (ev->gen == h->vm[uid].gen)
            world_vm_end(s, n, uid, (enum vm_end)ev->b);
        return;
    case SIM_ASK:
        if (s->node[n.ix].phase == REPLICA_SYNCED && !s->node[n.ix].is_paused)
            world_tell_inventory(s, n);
        return;
    case SIM_AGENT_UP:
        if (ev->gen == h->agent_gen)
            world_agent_up(s, n);
        return;
    default:
        return;
    }
}
