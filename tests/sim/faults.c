/* faults.c - the swarm of faults. A fault does its harm at once; one that lasts ends by an undo
 * event. The liveness phase cancels what has not begun and repairs a core; the rest stays broken.
 */
#include "tests/sim/faults.h"

#include <stdlib.h>
#include <string.h>

#include "supervisord/base/str.h"
#include "tests/sim/operator.h"
#include "tests/sim/sim.h"

#define FAULT(id_, text_) #id_,
static const char *const ids[FAULTS] = {FAULT_LIST};
#undef FAULT
#define FAULT(id_, text_) text_,
static const char *const texts[FAULTS] = {FAULT_LIST};
#undef FAULT

const char *fault_id(enum fault f)
{
    return f < FAULTS ? ids[f] : "?";
}

const char *fault_text(enum fault f)
{
    return f < FAULTS ? texts[f] : "?";
}

void faults_count(struct sim *s, enum fault f)
{
    s->faults.count[f]++;
}

/* ---- helpers ---- */

static hf_node any_node(struct sim *s)
{
    return sim_node_at((unsigned)sim_between(s, 0, s->opt.nodes - 1));
}

static hf_vm_uid any_running(struct sim *s, hf_node *on)
{
    unsigned start = (unsigned)sim_between(s, 0, SIM_VMS_MAX * s->opt.nodes - 1);
    for (unsigned k = 0; k < SIM_VMS_MAX * s->opt.nodes; k++) {
        unsigned i = (start + k) % (SIM_VMS_MAX * s->opt.nodes);
        *on = sim_node_at(i / SIM_VMS_MAX);
        if (s->world.host[on->ix].vm[i % SIM_VMS_MAX].is_running)
            return i % SIM_VMS_MAX;
    }
    return 0;
}

static void later(struct sim *s, enum sim_kind kind, hf_node n, int64_t delay, uint32_t gen)
{
    queue_push(
        &s->queue,
        (struct sim_event){.at = s->now + delay, .kind = (uint8_t)kind, .node = n.ix, .gen = gen});
}

static void undo_in(struct sim *s, int64_t delay, enum fault f, hf_nodes nodes, uint32_t arg)
{
    for (uint32_t i = 0; i < FAULT_UNDO_MAX; i++) {
        struct fault_undo *u = &s->faults.undo[i];
        if (u->is_used)
            continue;
        *u = (struct fault_undo){true, (uint8_t)f, nodes, arg};
        queue_push(&s->queue,
                   (struct sim_event){.at = s->now + delay, .kind = SIM_UNDO, .a = (uint16_t)i});
        return;
    }
    sim_fail(s, "simulator: more than %d lasting faults", FAULT_UNDO_MAX);
}

static bool undo_is_free(const struct sim *s)
{
    unsigned used = 0;
    for (uint32_t i = 0; i < FAULT_UNDO_MAX; i++)
        used += s->faults.undo[i].is_used;
    return used < FAULT_UNDO_MAX - 8;
}

static int64_t boot_time(struct sim *s)
{
    return sim_ms(s, s->opt.boot_ms_min, s->opt.boot_ms_max);
}

static void daemon_dies(struct sim *s, hf_node n, bool is_torn, int64_t back)
{
    if (!s->node[n.ix].is_alive)
        return;
    node_daemon_kill(s, n, is_torn);
    later(s, SIM_DAEMON_UP, n, back, s->node[n.ix].gen);
}

static void host_dies(struct sim *s, hf_node n, const char *why, int64_t back, enum fault f)
{
    world_power_off(s, n, why);
    undo_in(s, back, f, hf_bit(n), 0);
}

static void cut_off(struct sim *s, enum fault f, hf_nodes part, int64_t lasts)
{
    hf_node n = hf_nodes_first(part);
    if (sim_chance(s, s->opt.last_permille) && hf_nodes_count(part) == 1) {
        s->totem.last_words = n; /* at its next message; a beat will do */
        s->totem.last_words_fault = FAULT_C18;
    } else {
        totem_cut_off(s, part);
    }
    undo_in(s, lasts, f, part, 0);
}

enum { HAND_UPGRADE = 0, HAND_SWITCH_OFF, HAND_JUMP, HAND_CUT, HAND_STOP };

static void hand_in(struct sim *s, uint16_t what, hf_node n, int64_t delay, uint32_t gen)
{
    queue_push(&s->queue,
               (struct sim_event){
                   .at = s->now + delay, .kind = SIM_HAND, .node = n.ix, .a = what, .gen = gen});
}

/* While its daemon is stopped: what was said before, it reads only afterwards. */
static void cut_meanwhile(struct sim *s, hf_node n)
{
    if (sim_chance(s, 250))
        hand_in(s, HAND_CUT, n, sim_ms(s, 5, s->opt.mute_after_ms), s->world.host[n.ix].gen);
}

/* ---- the faults, by group ---- */

/* P2 below the mute limit, P3 far beyond the lease, P4 until somebody looks, or its watchdog does.
 */
static void stop_daemon(struct sim *s, enum fault f, hf_node n)
{
    uint32_t w = dog_actual_ms(s, s->opt.wd_timeout_ms);
    if (f == FAULT_P2 && sim_chance(s, 300)) {
        s->totem.stops_after = n;
        return;
    }
    node_daemon_pause(s, n);
    if (f == FAULT_P4) {
        undo_in(s, sim_ms(s, 60000, 900000), f, hf_bit(n), 0);
        return;
    }
    later(s, SIM_DAEMON_RESUME, n,
          f == FAULT_P2 ? sim_ms(s, 10, s->opt.mute_after_ms)
                        : sim_ms(s, s->opt.mute_after_ms, 120000 + s->opt.lease_ms + w),
          0);
    cut_meanwhile(s, n);
}

static bool fault_process(struct sim *s, enum fault f, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    hf_node on;
    hf_vm_uid uid;
    switch (f) {
    case FAULT_P1:
        daemon_dies(s, n, false, sim_ms(s, 50, 5000));
        return true;
    case FAULT_P2:
    case FAULT_P3:
    case FAULT_P4:
        stop_daemon(s, f, n);
        return true;
    case FAULT_P7:
        daemon_dies(s, n, true, sim_ms(s, 50, 5000));
        return true;
    case FAULT_P8:
        daemon_dies(s, n, true, sim_ms(s, 50, 2000));
        undo_in(s, sim_ms(s, 100, 4000), f, hf_bit(n), 5);
        return true;
    case FAULT_P9:
        world_agent_kill(s, n);
        later(s, SIM_AGENT_UP, n, sim_ms(s, 50, 20000), s->world.host[n.ix].agent_gen);
        return true;
    case FAULT_P13:
    case FAULT_P17:
        uid = any_running(s, &on);
        if (uid != 0)
            world_vm_end(s, on, uid, VM_END_CRASH);
        if (uid != 0 && sim_chance(s, 50)) { /* a person is faster than the group */
            world_vm_by_hand(s, n, uid);
            faults_count(s, FAULT_O4);
        }
        if (uid != 0 && sim_chance(s, 200)) {
            s->world.vm[uid].is_crashy = true;
            undo_in(s, sim_ms(s, 10000, 600000), f, 0, uid);
        }
        return uid != 0;
    case FAULT_P16:
        if (s->world.host[n.ix].libvirt != LIBVIRT_OK || !s->world.host[n.ix].is_up)
            return false;
        world_libvirt(s, n, (enum libvirt_mood)sim_between(s, LIBVIRT_SLOW, LIBVIRT_REFUSES));
        undo_in(s, sim_ms(s, 1000, 180000), f, hf_bit(n), 0);
        return true;
    case FAULT_P18:
        uid = any_running(s, &on);
        if (uid == 0)
            return false;
        s->world.host[on.ix].vm[uid].is_stuck = true;
        undo_in(s, sim_ms(s, 10000, 600000), f, hf_bit(on), uid);
        if (sim_chance(s, 500)) { /* and somebody wants it elsewhere */
            struct hf_event ev;
            operator_order(&ev, HF_ORDER_VM_MOVE, HF_NO_NODE, uid);
            operator_gives(s, &ev);
        }
        return true;
    default:
        (void)d;
        return false;
    }
}

static bool fault_corosync(struct sim *s, enum fault f, hf_node n)
{
    int64_t lasts;
    switch (f) {
    case FAULT_C1:
    case FAULT_C3:
        totem_stop(s, n, f == FAULT_C3);
        undo_in(s, sim_ms(s, 100, f == FAULT_C3 ? 5000 : 60000), f, hf_bit(n), 0);
        return true;
    case FAULT_C2:
        lasts = SIM_MS(s->opt.token_ms) * (int64_t[]){1, 6, 120}[sim_between(s, 0, 2)] / 2;
        totem_pause(s, n);
        later(s, SIM_CORO_RESUME, n, lasts, s->totem.coro[n.ix].gen);
        return true;
    case FAULT_C4:
    case FAULT_C6: /* held longer than the resend time: the same message comes twice */
        totem_hold(s, n,
                   s->now + (f == FAULT_C4 ? sim_ms(s, 10, 1000)
                                           : sim_ms(s, s->opt.resend_ms, 3 * s->opt.resend_ms)));
        return true;
    case FAULT_C5:
        s->totem.coro[n.ix].lose_next += (uint32_t)sim_between(s, 1, 6);
        node_facts(s, n); /* there is always something to tell */
        node_facts(s, n);
        return true;
    case FAULT_C9: /* joins and is gone again at once */
        daemon_dies(s, n, false, sim_ms(s, 1, 100));
        undo_in(s, sim_ms(s, 100, 1500), f, hf_bit(n), 0);
        return true;
    case FAULT_C15:
        totem_glitch(s, n);
        undo_in(s, sim_ms(s, 100, 4000), f, hf_bit(n), (uint32_t)sim_between(s, 0, 6));
        return true;
    default:
        return false;
    }
}

static bool fault_wires(struct sim *s, enum fault f, hf_node n)
{
    hf_node other = sim_node_at((n.ix + 1u) % s->opt.nodes);
    int64_t lasts = sim_ms(s, 200, sim_chance(s, 500) ? 10000 : 300000);
    switch (f) {
    case FAULT_C10:
        cut_off(s, f, hf_bit(n), lasts);
        return true;
    case FAULT_C18:
        s->totem.last_words = n;
        s->totem.last_words_fault = FAULT_C18;
        s->faults.count[FAULT_C18]--; /* counted when it comes to pass */
        faults_operator(s);
        undo_in(s, lasts, f, hf_bit(n), 0);
        return true;
    case FAULT_C11:
        for (unsigned i = 0; i < s->opt.nodes; i++)
            s->totem.cut[i] = (hf_nodes)(sim_all(s) & ~hf_bit(sim_node_at(i)));
        totem_wires_changed(s);
        undo_in(s, lasts, f, sim_all(s), 0);
        return true;
    case FAULT_C12:
        totem_cut(s, n, other, true);
        totem_cut(s, other, n, true);
        totem_wires_changed(s);
        undo_in(s, lasts, f, hf_bit(n) | hf_bit(other), 0);
        return true;
    case FAULT_C13:
        totem_cut(s, n, other, true);
        if (sim_chance(s, 500))
            s->totem.cut[n.ix] |= (hf_nodes)(sim_all(s) & ~hf_bit(n));
        totem_wires_changed(s);
        undo_in(s, lasts, f, sim_all(s), 0);
        return true;
    case FAULT_C14:
        totem_cut_off(s, hf_bit(n));
        undo_in(s, SIM_MS(s->opt.token_ms) * sim_between(s, 2, 40) / 10, f, hf_bit(n),
                (uint32_t)sim_between(s, 2, 20));
        return true;
    default:
        return false;
    }
}

static bool fault_host(struct sim *s, enum fault f, hf_node n)
{
    struct host *h = &s->world.host[n.ix];
    int64_t off = sim_ms(s, 1000, 600000);
    switch (f) {
    case FAULT_H1:
        for (unsigned i = 0; i < HF_FENCE_LEVELS_MAX; i++)
            if (i == 0 || sim_chance(s, 300))
                h->bmc[i] = BMC_DEAD;
        host_dies(s, n, "power lost, BMC too", off, f);
        return true;
    case FAULT_H2:
        host_dies(s, n, "power lost", off, f);
        return true;
    case FAULT_H3:
    case FAULT_H9:
        if (!h->is_on)
            return false;
        world_power_off(s, n, "reset");
        world_power_on(s, n, f == FAULT_H9 ? sim_ms(s, 500, 3000) : boot_time(s));
        return true;
    case FAULT_H4:
    case FAULT_H5:
    case FAULT_K4:
        totem_pause(s, n);
        node_daemon_pause(s, n);
        dog_pause(s, n);
        off = f == FAULT_H4 ? sim_ms(s, 60000, 900000) : sim_ms(s, 1000, 30000);
        later(s, SIM_FEEDER_RESUME, n, off + sim_us(s, 0, 20000), h->feeder.gen);
        later(s, SIM_DAEMON_RESUME, n, off, 0);
        later(s, SIM_CORO_RESUME, n, off + sim_us(s, 0, 20000), s->totem.coro[n.ix].gen);
        return true;
    case FAULT_H10:
    case FAULT_H11:
        for (unsigned i = 0; i < s->opt.fence_levels; i++)
            if (sim_chance(s, 600))
                h->bmc[i] = f == FAULT_H11 ? BMC_REFUSES
                                           : (enum bmc_mood)sim_between(s, BMC_SLOW, BMC_HUNG);
        if (s->opt.has_liar && sim_chance(s, 300))
            h->bmc[0] = BMC_LIES;
        undo_in(s, sim_ms(s, 10000, 900000), f, hf_bit(n), 0);
        if (sim_chance(s, 300)) /* and now it is needed */
            cut_off(s, FAULT_C10, hf_bit(n), sim_ms(s, 10000, 300000));
        return true;
    case FAULT_H13:
    case FAULT_H14:
    case FAULT_H15:
        s->faults.follow = (uint8_t)f;
        s->faults.follow_nodes = hf_bit(n);
        if (f == FAULT_H14)
            cut_off(s, FAULT_C10, hf_bit(n), sim_ms(s, 20000, 120000));
        else
            host_dies(s, n, "power lost", off, FAULT_H2);
        return true;
    case FAULT_H17:
        for (unsigned i = 0; i < s->opt.nodes; i++) {
            world_power_off(s, sim_node_at(i), "site power lost");
            undo_in(s, sim_ms(s, 1000, 120000), f, hf_bit(sim_node_at(i)), 0);
        }
        return true;
    default:
        return false;
    }
}

/* One disk at a time: with more, nobody has the state any more. */
static bool disk_may_lie(const struct sim *s)
{
    for (unsigned i = 0; i < s->opt.nodes; i++)
        if (s->node[i].is_damaged || s->node[i].stored_len == 0)
            return false;
    return true;
}

static void disk_lies(struct sim *s, hf_node n, const uint8_t *bytes, size_t len)
{
    struct sim_node *d = &s->node[n.ix];
    d->is_damaged = d->forgot = true;
    if (len > 0)
        memcpy(d->stored, bytes, len);
    d->stored_len = len;
    d->disk_hangs = true; /* or it would be written anew before anybody reads it */
    undo_in(s, sim_ms(s, 1000, 5000), FAULT_T6, hf_bit(n), 0);
    daemon_dies(s, n, true, sim_ms(s, 50, 5000));
}

/* Somebody keeps a copy of a node's state and puts it in a node's place much later. */
static bool replay_old_state(struct sim *s, hf_node n)
{
    struct fault_state *f = &s->faults;
    const struct sim_node *d = &s->node[n.ix];
    if (f->old_len == 0 && d->stored_len > 0) {
        f->old = malloc(d->stored_len);
        if (f->old == NULL)
            abort();
        memcpy(f->old, d->stored, d->stored_len);
        f->old_len = d->stored_len;
        return false;
    }
    if (f->old_len == 0 || !disk_may_lie(s))
        return false;
    disk_lies(s, n, f->old, f->old_len);
    return true;
}

static bool fault_disk(struct sim *s, enum fault f, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    switch (f) {
    case FAULT_T5:
        if (!disk_may_lie(s))
            return false;
        /* A damaged record is found by its CRC and not used: nothing is left, or an older copy. */
        if (d->saved_len > 0 && sim_chance(s, 500))
            disk_lies(s, n, d->saved, d->saved_len);
        else
            disk_lies(s, n, NULL, 0);
        return true;
    case FAULT_T6:
        d->disk_hangs = true;
        undo_in(s, sim_ms(s, 10000, 120000), f, hf_bit(n), 0);
        return true;
    case FAULT_M9:
        return replay_old_state(s, n);
    default:
        return false;
    }
}

static bool fault_rest(struct sim *s, enum fault f, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    hf_node on;
    hf_vm_uid uid;
    switch (f) {
    case FAULT_C19:
        for (unsigned i = 0; i < s->opt.nodes; i++)
            daemon_dies(s, sim_node_at(i), sim_chance(s, 500), sim_ms(s, 50, 20000));
        return true;
    case FAULT_O1:
        d->config_differs = true;
        daemon_dies(s, n, false, sim_ms(s, 50, 2000));
        undo_in(s, sim_ms(s, 10000, 300000), f, hf_bit(n), 0);
        return true;
    case FAULT_O4:
        uid = any_running(s, &on);
        if (uid != 0 && sim_chance(s, 500)) {
            world_vm_end(s, on, uid, sim_chance(s, 500) ? VM_END_BY_HAND : VM_END_SHUTDOWN);
            return true;
        }
        uid = (hf_vm_uid)sim_between(s, 1, s->opt.vms);
        if (!s->world.vm[uid].is_known || world_running_on(s, uid) != 0)
            return false;
        world_vm_by_hand(s, n, uid);
        return true;
    case FAULT_O9:
        if (!s->node[n.ix].is_alive)
            return false;
        node_daemon_kill(s, n, false);
        totem_stop(s, n, true);
        host_dies(s, n, "shut down", sim_ms(s, 1000, 120000), f);
        return true;
    default:
        return false;
    }
}

static void clock_jumps(struct sim *s, hf_node n)
{
    node_clock_jumps(s, n, sim_ms(s, 100, sim_chance(s, 500) ? 10000 : 3600000));
}

/* A watchdog that is open cannot be taken away or break unseen: it is found so after a reset. */
static bool dog_spoiled(struct sim *s, enum fault f, hf_node n)
{
    struct host *h = &s->world.host[n.ix];
    if (!s->opt.has_watchdog || !h->is_on)
        return false;
    if (h->dog.is_running) {
        world_power_off(s, n, "reset");
        world_power_on(s, n, boot_time(s));
    }
    h->dog.kind = f == FAULT_H7
                      ? DOG_BUSY
                      : (uint8_t[]){DOG_ABSENT, DOG_SOFT, DOG_STUCK}[sim_between(s, 0, 2)];
    if (f == FAULT_H6 && s->opt.has_liar && sim_chance(s, 300))
        h->dog.kind = DOG_DEAF;
    undo_in(s, sim_ms(s, 30000, 900000), f, hf_bit(n), 0);
    return true;
}

static void swap_devices(struct sim *s, hf_node a, hf_node b)
{
    for (unsigned l = 0; l < HF_FENCE_LEVELS_MAX; l++) {
        s->world.host[a.ix].wired[l] = b.ix;
        s->world.host[b.ix].wired[l] = a.ix;
    }
}

static bool fault_watchdog(struct sim *s, enum fault f, hf_node n)
{
    struct host *h = &s->world.host[n.ix];
    hf_node other = sim_node_at((n.ix + 1u) % s->opt.nodes);
    int64_t w = SIM_MS(dog_actual_ms(s, s->opt.wd_timeout_ms));
    switch (f) {
    case FAULT_P5:
        if (!h->feeder.is_alive)
            return false;
        dog_kill(s, n, sim_chance(s, 500) ? sim_ms(s, 50, 1000) : sim_between(s, w / 2, 3 * w));
        if (sim_chance(s, 300)) { /* and it does not come back */
            h->feeder_fails = true;
            undo_in(s, sim_ms(s, 30000, 900000), f, hf_bit(n), 0);
        }
        return true;
    case FAULT_P6:
        if (!h->feeder.device.is_open || h->feeder.is_paused)
            return false;
        h->feeder.stops_at_ping = true;
        later(s, SIM_FEEDER_RESUME, n, sim_between(s, w / 5, w + w / 4), h->feeder.gen);
        if (sim_chance(s, 600)) /* and it is the last one */
            cut_off(s, FAULT_C10, hf_bit(n), sim_ms(s, 10000, 300000));
        return true;
    case FAULT_H6:
    case FAULT_H7:
        return dog_spoiled(s, f, n);
    case FAULT_H12:
        if (h->wired[0] != n.ix || s->world.host[other.ix].wired[0] != other.ix)
            return false;
        swap_devices(s, n, other);
        undo_in(s, sim_ms(s, 70000, 900000), f, hf_bit(n) | hf_bit(other), 0);
        return true;
    case FAULT_K1:
        if (sim_chance(s, 400)) { /* just when the others wait for somebody */
            cut_off(s, FAULT_C10, hf_bit(other), sim_ms(s, 10000, 300000));
            hand_in(s, HAND_JUMP, n,
                    SIM_MS(s->opt.token_ms) * 22 / 10 + sim_ms(s, 100, s->opt.lease_ms) + w / 2,
                    h->gen);
            return true;
        }
        clock_jumps(s, n);
        return true;
    default:
        return false;
    }
}

static bool fault_daemon(struct sim *s, enum fault f, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    hf_node on;
    hf_vm_uid uid;
    switch (f) {
    case FAULT_P10:
        for (int i = 0; i < 2 * NODE_REPORTS_MAX && s->world.host[n.ix].agent_alive; i++)
            node_facts(s, n);
        return true;
    case FAULT_P12:
        d->keeps_pid = d->is_alive;
        daemon_dies(s, n, sim_chance(s, 500), sim_ms(s, 5, 5000));
        return d->keeps_pid;
    case FAULT_P14:
        s->world.host[n.ix].no_forks = true;
        undo_in(s, sim_ms(s, 10000, 600000), f, hf_bit(n), 0);
        return true;
    case FAULT_P15:
        d->disk_hangs = true; /* nothing reaches it from here on */
        undo_in(s, sim_ms(s, 60000, 600000), f, hf_bit(n), 0);
        return true;
    case FAULT_P19:
        uid = any_running(s, &on);
        if (uid != 0)
            world_vm_end(s, on, uid, VM_END_CRASH);
        return uid != 0;
    default:
        return false;
    }
}

static void restart_slowly(struct sim *s, hf_node n, uint32_t left)
{
    totem_hold(s, n, s->now + sim_ms(s, 100, 1500));
    if (sim_chance(s, 400)) {
        totem_stop(s, n, sim_chance(s, 500));
        later(s, SIM_CORO_UP, n, sim_ms(s, 50, 3000), 0);
    }
    undo_in(s, sim_ms(s, 200, 5000), FAULT_C17, hf_bit(n), left);
}

static bool fault_group(struct sim *s, enum fault f, hf_node n)
{
    switch (f) {
    case FAULT_C16: /* counted when it comes to pass */
        s->totem.coro[n.ix].loses_large = true;
        undo_in(s, sim_ms(s, 5000, 120000), f, hf_bit(n), 0);
        if (sim_chance(s, 500))
            daemon_dies(s, n, false, sim_ms(s, 50, 2000));
        return true;
    case FAULT_C17:
        restart_slowly(s, n, (uint32_t)sim_between(s, 3, 20));
        return true;
    case FAULT_C20:
        s->node[n.ix].link_unfit = true;
        node_facts(s, n);
        undo_in(s, sim_ms(s, 5000, 300000), f, hf_bit(n), 0);
        return true;
    case FAULT_C21:
        totem_stop(s, n, true);
        totem_cut_off(s, hf_bit(n));
        later(s, SIM_CORO_UP, n, sim_ms(s, 50, 3000), 0);
        undo_in(s, sim_ms(s, 10000, 300000), f, hf_bit(n), 0);
        return true;
    case FAULT_M3:
        totem_pause(s, n);
        later(s, SIM_CORO_RESUME, n, sim_ms(s, 300, 6300), s->totem.coro[n.ix].gen);
        return true;
    case FAULT_M5:
        if (!s->opt.has_stranger || !s->totem.coro[n.ix].is_alive)
            return false;
        totem_stranger_joins(s, n, (uint32_t)sim_between(s, 0, 40));
        return true;
    default:
        return false;
    }
}

static bool fault_card(struct sim *s, enum fault f, hf_node n)
{
    int64_t lasts;
    uint32_t arg;
    if (f < FAULT_N1 || !card_strike(s, f, n, &lasts, &arg))
        return false;
    if (lasts != 0)
        undo_in(s, lasts, f, hf_bit(n), arg);
    return true;
}

static bool strike(struct sim *s, enum fault f)
{
    hf_node n = f == FAULT_K1 ? sim_odd_node(s) : any_node(s);
    return fault_card(s, f, n) || fault_process(s, f, n) || fault_corosync(s, f, n) ||
           fault_wires(s, f, n) || fault_host(s, f, n) || fault_watchdog(s, f, n) ||
           fault_daemon(s, f, n) || fault_group(s, f, n) || fault_disk(s, f, n) ||
           fault_rest(s, f, n);
}

/* ---- faults that wait for a moment ---- */

/* Never from within a replica's port: the moment comes as an event of its own. */
static void moment(struct sim *s, enum fault f, hf_node n)
{
    s->faults.follow = FAULTS;
    faults_count(s, f);
    queue_push(&s->queue, (struct sim_event){.at = s->now + sim_us(s, 1, 3000),
                                             .kind = SIM_MOMENT,
                                             .node = n.ix,
                                             .a = (uint16_t)f});
}

void faults_at_fence(struct sim *s, hf_node actor, hf_node target)
{
    if (s->faults.is_over)
        return;
    if (s->faults.follow == FAULT_H13)
        moment(s, FAULT_H13, actor);
    else if (s->faults.follow == FAULT_H14 && hf_nodes_has(s->faults.follow_nodes, target))
        moment(s, FAULT_H14, target);
}

void faults_at_start(struct sim *s, hf_node actor)
{
    if (!s->faults.is_over && s->faults.follow == FAULT_H15)
        moment(s, FAULT_H15, sim_chance(s, 700) ? actor : any_node(s));
}

void faults_at_hold(struct sim *s, hf_node n, const struct hf_effect *fx)
{
    if (hf_token_same(s->faults.hold[n.ix], fx->token))
        return;
    s->faults.hold[n.ix] = fx->token;
    checker_holds(s, n, fx->u.hold.ms);
    s->faults.hold_ms[n.ix] = fx->u.hold.ms;
    if (!s->faults.is_over)
        hand_in(s, HAND_UPGRADE, n, sim_ms(s, 5, 1000), s->world.host[n.ix].gen);
}

void faults_at_leave(struct sim *s, hf_node n)
{
    if (!s->faults.is_over)
        hand_in(s, HAND_SWITCH_OFF, n, sim_ms(s, 1000, 60000), s->world.host[n.ix].gen);
}

void faults_at_word(struct sim *s, hf_node n)
{
    if (!s->faults.is_over)
        hand_in(s, HAND_STOP, n, sim_us(s, 1, 1000), s->world.host[n.ix].gen);
}

void faults_at_attest(struct sim *s, hf_node n)
{
    if (s->opt.is_random && !s->faults.is_over && sim_chance(s, 20))
        hand_in(s, HAND_CUT, n, sim_us(s, 1, 3000), s->world.host[n.ix].gen);
}

/* It reads the answer to what it said last when it goes on, and perhaps it is alone by then. */
static void stop_after_word(struct sim *s, hf_node n)
{
    int64_t lasts = sim_ms(s, 10, s->opt.lease_ms + s->opt.wd_timeout_ms / 2);
    node_daemon_pause(s, n);
    later(s, SIM_DAEMON_RESUME, n, lasts, 0);
    if (sim_chance(s, 600))
        hand_in(s, HAND_CUT, n, sim_between(s, lasts / 8, lasts), s->world.host[n.ix].gen);
}

void faults_at_return(struct sim *s, hf_node n)
{
    if (s->faults.hold_ms[n.ix] == 0 || s->faults.is_over || !s->opt.is_random)
        return;
    s->faults.hold_ms[n.ix] = 0;
    if (sim_chance(s, 300)) /* what was upgraded breaks at once */
        hand_in(s, HAND_CUT, n, sim_ms(s, 0, 600), s->world.host[n.ix].gen);
}

/* Mostly back in time; sometimes the owner has thought it would be quicker. */
static void upgrade(struct sim *s, hf_node n)
{
    int64_t ms = s->faults.hold_ms[n.ix];
    if (!s->opt.is_random || ms < 100)
        return; /* it has been away and back already */
    int64_t back = sim_chance(s, 800) ? sim_ms(s, 50, ms * 7 / 10) : sim_ms(s, ms, 3 * ms);
    if (sim_chance(s, 600)) {
        daemon_dies(s, n, false, back);
        faults_count(s, FAULT_P1);
        return;
    }
    totem_stop(s, n, true);
    undo_in(s, back, FAULT_C3, hf_bit(n), 0);
}

static void switch_off(struct sim *s, hf_node n)
{
    const struct engine *e = node_engine(s, n);
    if (e == NULL || !engine_node(e, n).has_left || s->node[n.ix].phase != REPLICA_SYNCED)
        return; /* it has been called back, or nobody can tell */
    node_daemon_kill(s, n, false);
    totem_stop(s, n, true);
    host_dies(s, n, "switched off by its owner", sim_ms(s, 1000, 300000), FAULT_O9);
    faults_count(s, FAULT_O9);
}

void faults_hand(struct sim *s, hf_node n, uint16_t what, uint32_t gen)
{
    if (s->faults.is_over || gen != s->world.host[n.ix].gen || !s->world.host[n.ix].is_up)
        return;
    if (what == HAND_UPGRADE)
        upgrade(s, n);
    else if (what == HAND_SWITCH_OFF)
        switch_off(s, n);
    else if (what == HAND_JUMP)
        clock_jumps(s, n);
    else if (what == HAND_STOP)
        stop_after_word(s, n);
    else
        cut_off(s, FAULT_C10, hf_bit(n), sim_ms(s, 10000, 300000));
}

void faults_moment(struct sim *s, enum fault f, hf_node n)
{
    if (s->faults.is_over)
        return;
    if (f == FAULT_H14)
        totem_heal(s, sim_all(s));
    else if (f == FAULT_H13 && sim_chance(s, 500))
        daemon_dies(s, n, true, sim_ms(s, 50, 30000));
    else
        host_dies(s, n, "second loss", sim_ms(s, 1000, 300000), FAULT_H2);
}

static bool is_counted_later(enum fault f)
{
    return f == FAULT_C5 || f == FAULT_C16 || f == FAULT_P6 || f == FAULT_H6 || f == FAULT_H7 ||
           f == FAULT_H12 || f == FAULT_H13 || f == FAULT_H14 || f == FAULT_H15 || f == FAULT_H10 ||
           f == FAULT_H11 || f == FAULT_N6;
}

void faults_next(struct sim *s)
{
    uint32_t total = 0;
    if (s->faults.is_over)
        return;
    sim_busy(s);
    queue_push(&s->queue,
               (struct sim_event){.at = s->now + sim_ms(s, 10, 2LL * s->opt.fault_gap_ms),
                                  .kind = SIM_FAULT});
    faults_count(s, FAULT_K3);
    if (s->opt.has_operator && sim_chance(s, 300)) {
        faults_operator(s);
        return;
    }
    for (unsigned i = 0; i < FAULTS; i++)
        total += s->opt.weight[i];
    if (total == 0 || !undo_is_free(s))
        return;
    int64_t draw = sim_between(s, 0, total - 1);
    unsigned f = 0;
    while (draw >= s->opt.weight[f])
        draw -= s->opt.weight[f++];
    SAY(s, -1, "FAULT %s: %s", ids[f], texts[f]);
    if (strike(s, (enum fault)f) && !is_counted_later((enum fault)f))
        faults_count(s, (enum fault)f);
}

/* ---- the end of lasting faults ---- */

static void rewire(struct sim *s)
{
    for (unsigned n = 0; n < s->opt.nodes; n++)
        for (unsigned l = 0; l < HF_FENCE_LEVELS_MAX; l++)
            s->world.host[n].wired[l] = (uint8_t)n;
}

static void again(struct sim *s, const struct fault_undo *u)
{
    hf_node n = hf_nodes_first(u->nodes);
    if (u->arg == 0 || s->faults.is_over)
        return;
    if (u->fault == FAULT_C14) {
        if (u->arg % 2 == 1)
            totem_cut_off(s, u->nodes);
        else
            totem_heal(s, sim_all(s));
        undo_in(s, SIM_MS(s->opt.token_ms) * sim_between(s, 2, 40) / 10, FAULT_C14, u->nodes,
                u->arg - 1);
    } else if (u->fault == FAULT_C15) {
        totem_glitch(s, n);
        undo_in(s, sim_ms(s, 100, 4000), FAULT_C15, u->nodes, u->arg - 1);
    } else if (u->fault == FAULT_P8) {
        daemon_dies(s, n, true, sim_ms(s, 50, 2000));
        undo_in(s, sim_ms(s, 100, 4000), FAULT_P8, u->nodes, u->arg - 1);
    } else if (u->fault == FAULT_C17 && s->world.host[n.ix].is_up) {
        restart_slowly(s, n, u->arg - 1);
    }
}

static void undo_host(struct sim *s, hf_node n)
{
    for (unsigned i = 0; i < HF_FENCE_LEVELS_MAX; i++)
        if (s->world.host[n.ix].bmc[i] == BMC_DEAD)
            s->world.host[n.ix].bmc[i] = BMC_OK;
    world_power_on(s, n, boot_time(s));
}

static void undo_rest(struct sim *s, const struct fault_undo *u, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    switch ((enum fault)u->fault) {
    case FAULT_P4:
        if (d->is_paused)
            daemon_dies(s, n, true, sim_ms(s, 50, 5000));
        return;
    case FAULT_P5:
        s->world.host[n.ix].feeder_fails = false;
        dog_start(s, n);
        return;
    case FAULT_P14:
        s->world.host[n.ix].no_forks = false;
        return;
    case FAULT_P15:
        daemon_dies(s, n, true, sim_ms(s, 50, 5000));
        d->is_damaged = true;
        d->disk_hangs = false;
        return;
    case FAULT_C16:
        s->totem.coro[n.ix].loses_large = false;
        return;
    case FAULT_C20:
        d->link_unfit = false;
        node_facts(s, n);
        return;
    case FAULT_H6:
    case FAULT_H7:
        if (!s->world.host[n.ix].dog.is_running) /* what runs goes on as it is */
            s->world.host[n.ix].dog.kind = DOG_GOOD;
        return;
    case FAULT_H12:
        rewire(s);
        return;
    case FAULT_T6:
        d->disk_hangs = false;
        return;
    case FAULT_O1:
        d->config_differs = false;
        daemon_dies(s, n, false, sim_ms(s, 50, 2000));
        return;
    default:
        return;
    }
}

void faults_undo(struct sim *s, uint32_t slot)
{
    struct fault_undo u = s->faults.undo[slot];
    hf_node n = hf_nodes_first(u.nodes);
    if (!u.is_used || s->faults.is_over)
        return;
    sim_busy(s);
    s->faults.undo[slot].is_used = false;
    if (u.fault >= FAULT_N1) {
        int64_t lasts;
        if (card_undo(s, (enum fault)u.fault, n, &lasts, &u.arg))
            undo_in(s, lasts, (enum fault)u.fault, u.nodes, u.arg);
        return;
    }
    SAY(s, hf_node_is(n) ? n.ix : -1, "end of %s", ids[u.fault]);
    switch ((enum fault)u.fault) {
    case FAULT_P8:
    case FAULT_C14:
    case FAULT_C15:
    case FAULT_C17:
        again(s, &u);
        if (u.fault == FAULT_C14 && u.arg == 0)
            totem_heal(s, sim_all(s));
        return;
    case FAULT_P13:
    case FAULT_P17:
        s->world.vm[u.arg].is_crashy = false;
        return;
    case FAULT_P16:
        world_libvirt(s, n, LIBVIRT_OK);
        return;
    case FAULT_P18:
        s->world.host[n.ix].vm[u.arg].is_stuck = false;
        return;
    case FAULT_C1:
    case FAULT_C3:
        if (s->world.host[n.ix].is_up)
            totem_start(s, n);
        return;
    case FAULT_C9:
        daemon_dies(s, n, false, sim_ms(s, 50, 1000));
        return;
    case FAULT_C10:
    case FAULT_C11:
    case FAULT_C12:
    case FAULT_C13:
    case FAULT_C18:
    case FAULT_C21:
        s->totem.last_words = HF_NO_NODE;
        totem_heal(s, sim_all(s));
        return;
    case FAULT_H1:
    case FAULT_H2:
    case FAULT_H17:
    case FAULT_O9:
        undo_host(s, n);
        return;
    case FAULT_H10:
    case FAULT_H11:
        for (unsigned i = 0; i < HF_FENCE_LEVELS_MAX; i++)
            s->world.host[n.ix].bmc[i] = BMC_OK;
        return;
    default:
        undo_rest(s, &u, n);
        return;
    }
}

/* A node that hears only some of the core would keep totem from ever settling: it hears all or
 * none. */
static void keep_apart(struct sim *s, unsigned n, hf_nodes core)
{
    hf_nodes deaf = s->totem.cut[n] & core;
    for (unsigned i = 0; i < s->opt.nodes; i++)
        if ((core >> i & 1u) && (s->totem.cut[i] >> n & 1u))
            deaf |= (hf_nodes)(1u << i);
    if ((core >> n & 1u) || deaf == 0)
        return;
    s->totem.cut[n] |= core;
    for (unsigned i = 0; i < s->opt.nodes; i++)
        if (core >> i & 1u)
            s->totem.cut[i] |= (hf_nodes)(1u << n);
}

void faults_heal(struct sim *s, hf_nodes core)
{
    s->faults.is_over = true;
    s->faults.follow = FAULTS;
    s->totem.last_words = s->totem.stops_after = HF_NO_NODE;
    rewire(s);
    for (hf_vm_uid uid = 1; uid < SIM_VMS_MAX; uid++)
        s->world.vm[uid].is_crashy = s->world.vm[uid].refuses = false;
    for (unsigned i = 0; i < s->opt.nodes; i++) {
        hf_node n = sim_node_at(i);
        struct host *h = &s->world.host[i];
        memset(h->bmc, 0, sizeof h->bmc);
        h->no_forks = h->feeder_fails = false;
        s->totem.coro[i].lose_next = 0;
        s->totem.coro[i].loses_large = false;
        s->node[i].link_unfit = false; /* or nobody could arm */
        if (s->node[i].is_alive)
            node_facts(s, n);
        if ((core >> i & 1u) == 0)
            continue;
        if (!h->dog.is_running)
            h->dog.kind = DOG_GOOD;
        for (hf_vm_uid uid = 1; uid < SIM_VMS_MAX; uid++)
            h->vm[uid].is_stuck = false;
        s->node[i].disk_hangs = false;
        if (s->node[i].config_differs) {
            s->node[i].config_differs = false;
            node_daemon_kill(s, n, false);
        }
        world_power_on(s, n, boot_time(s));
        if (!h->is_up)
            continue;
        totem_start(s, n);
        totem_resume(s, n);
        world_libvirt(s, n, LIBVIRT_OK);
        world_agent_up(s, n);
        dog_resume(s, n);
        dog_start(s, n);
        node_daemon_resume(s, n);
        if (!s->node[i].is_alive)
            node_daemon_start(s, n);
    }
    card_heal(s, core);
    for (unsigned i = 0; i < s->opt.nodes; i++)
        keep_apart(s, i, core);
    totem_heal(s, core);
}
