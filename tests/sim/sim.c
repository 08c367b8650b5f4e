/* sim.c - the loop: one event after the other, quiet skipped, two phases. */
#include "tests/sim/sim.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/operator.h"
#include "tests/sim/scenario.h"

enum {
    SETUP_EVERY_MS = 1000,
    JUDGE_EVERY_MS = 5000,
    ARM_EVERY_MS = 20000,
    EVENTS_A_MINUTE = 1000000, /* a loop that time does not pass in */
};

void sim_busy(struct sim *s)
{
    s->last_busy = s->now;
}

void sim_fail(struct sim *s, const char *format, ...)
{
    va_list args;
    if (s->is_failed)
        return;
    va_start(args, format);
    vsnprintf(s->why, sizeof s->why, format, args);
    va_end(args);
    s->is_failed = true;
    s->is_limit = s->shows_limit && s->why[0] != 'L'; /* a lie does not excuse standing still */
    SAY(s, -1, "VIOLATION %s", s->why);
}

void sim_say(struct sim *s, int node, const char *format, ...)
{
    char line[200];
    va_list args;
    int at = snprintf(line, sizeof line, "%10.4f %c ", (double)s->now / 1e9,
                      node >= 0 ? 'a' + node : ' ');
    va_start(args, format);
    vsnprintf(line + at, sizeof line - (size_t)at, format, args);
    va_end(args);
    if (s->log.is_printed)
        printf("%s\n", line);
    if (s->log.tail_cap > 0)
        memcpy(s->log.tail[s->log.tail_count++ % s->log.tail_cap], line, sizeof line);
}

void sim_open(struct sim *s, const struct sim_options *opt, const struct sim_log *log)
{
    memset(s, 0, sizeof *s);
    s->opt = *opt;
    if (log != NULL)
        s->log = *log;
    options_group(opt, &s->group);
    s->rng = hf_rng_seeded(opt->seed);
    s->faults.follow = FAULTS;
    queue_open(&s->queue);
    totem_open(s);
    checker_open(s);
    world_open(s);
    for (unsigned n = 0; n < opt->nodes; n++)
        node_open(s, sim_node_at(n));
    queue_push(&s->queue, (struct sim_event){.at = SIM_MS(60000), .kind = SIM_MINUTE});
}

void sim_close(struct sim *s)
{
    for (unsigned n = 0; n < s->opt.nodes; n++)
        node_close(s, sim_node_at(n));
    free(s->faults.old);
    checker_close(s);
    totem_close(s);
    queue_close(&s->queue);
}

/* What the run has in store: faults, people, scenarios, the judge's look. */
static void dispatch_plan(struct sim *s, const struct sim_event *ev)
{
    hf_node n = sim_node_at(ev->node);
    switch (ev->kind) {
    case SIM_FAULT:
        faults_next(s);
        return;
    case SIM_MOMENT:
        faults_moment(s, (enum fault)ev->a, n);
        return;
    case SIM_UNDO:
        faults_undo(s, ev->a);
        return;
    case SIM_STRANGER:
        totem_stranger_speaks(s, n, ev->gen);
        return;
    case SIM_HAND:
        faults_hand(s, n, ev->a, ev->gen);
        return;
    case SIM_STEP:
        scenario_step(s, ev->a);
        return;
    case SIM_MINUTE:
        checker_minute(s);
        s->events_minute = 0;
        queue_push(&s->queue, (struct sim_event){.at = s->now + SIM_MS(60000), .kind = SIM_MINUTE});
        return;
    default:
        return;
    }
}

static void coro_wakes(struct sim *s, const struct sim_event *ev)
{
    hf_node n = sim_node_at(ev->node);
    if (ev->kind == SIM_CORO_UP)
        totem_start(s, n);
    else if (ev->gen == s->totem.coro[ev->node].gen)
        totem_resume(s, n);
}

static void dispatch(struct sim *s, const struct sim_event *ev)
{
    hf_node n = sim_node_at(ev->node);
    switch ((enum sim_kind)ev->kind) {
    case SIM_TICK:
    case SIM_CONNECT:
    case SIM_REPORT:
    case SIM_TIMER:
    case SIM_FENCE:
    case SIM_LEASE:
    case SIM_PATHS:
    case SIM_TESTED:
    case SIM_NICS:
    case SIM_DAEMON_UP:
    case SIM_DAEMON_RESUME:
        node_event(s, ev);
        return;
    case SIM_FEED:
    case SIM_DOG:
    case SIM_DOG_RESET:
    case SIM_DOG_SAYS:
    case SIM_DOG_HEARS:
    case SIM_FEEDER_UP:
    case SIM_FEEDER_RESUME:
        dog_event(s, ev);
        return;
    case SIM_CARD:
    case SIM_CARD_SAYS:
    case SIM_CARD_UP:
    case SIM_CARD_STALE:
        card_event(s, ev);
        return;
    case SIM_TOKEN:
    case SIM_RECEIVE:
    case SIM_REFORM:
        totem_event(s, ev);
        return;
    case SIM_CLIENT:
        totem_client(s, n);
        return;
    case SIM_POWER_OFF:
    case SIM_POWER_ON:
    case SIM_SELF_STOP:
    case SIM_VM_CREATED:
    case SIM_VM_DEADLINE:
    case SIM_VM_STOPPED:
    case SIM_VM_END:
    case SIM_AGENT_UP:
    case SIM_ASK:
    case SIM_HOST_UP:
    case SIM_LIBVIRT_UP:
        world_event(s, ev);
        return;
    case SIM_CORO_UP:
    case SIM_CORO_RESUME:
        coro_wakes(s, ev);
        return;
    case SIM_FAULT:
    case SIM_MOMENT:
    case SIM_UNDO:
    case SIM_STRANGER:
    case SIM_HAND:
    case SIM_STEP:
    case SIM_MINUTE:
        dispatch_plan(s, ev);
        return;
    case SIM_KINDS:
        return;
    }
}

/* Nothing but beats has happened for long: go on where something will. No clock sees the gap. */
static void skip_quiet(struct sim *s, int64_t until)
{
    bool is_moving;
    int64_t quiet = SIM_MS(2LL * s->opt.mute_after_ms + s->opt.hello_wait_ms + s->opt.resend_ms);
    if (s->now - s->last_busy < quiet)
        return;
    for (unsigned n = 0; n < s->opt.nodes; n++)
        if (!dog_is_steady(s, sim_node_at(n)) || !node_is_steady(s, sim_node_at(n)))
            return;
    int64_t next = queue_next_not_tick(&s->queue, &is_moving);
    if (next > until)
        next = until;
    int64_t gap = next - s->now - SIM_MS(1);
    if (is_moving || gap < SIM_MS(s->opt.beat_ms))
        return;
    queue_shift_ticks(&s->queue, gap);
    for (unsigned n = 0; n < s->opt.nodes; n++) {
        struct sim_node *d = &s->node[n];
        d->tick_at += d->tick_at != 0 ? gap : 0;
        d->lease_at += d->lease_at != 0 ? gap : 0;
        d->paths_at += d->paths_at != 0 ? gap : 0;
        s->world.host[n].feeder.turn_at += s->world.host[n].feeder.turn_at != 0 ? gap : 0;
    }
    s->now += gap;
    s->last_busy += gap;
    s->skipped += gap;
}

bool sim_run_until(struct sim *s, int64_t until)
{
    while (!s->is_failed) {
        const struct sim_event *first = queue_first(&s->queue);
        if (first == NULL || first->at > until) {
            s->now = until > s->now ? until : s->now;
            return true;
        }
        if (first->kind < SIM_TICKS_END) {
            skip_quiet(s, until);
            first = queue_first(&s->queue);
            if (first->at > until)
                continue;
        }
        struct sim_event ev = queue_pop(&s->queue);
        if (ev.at > s->now)
            s->now = ev.at;
        if (++s->events_minute > EVENTS_A_MINUTE)
            sim_fail(s, "L3: more than %d events in one minute, the last of kind %d",
                     EVENTS_A_MINUTE, ev.kind);
        dispatch(s, &ev);
    }
    return false;
}

/* ---- a swarm run ---- */

static void start_all(struct sim *s)
{
    for (unsigned n = 0; n < s->opt.nodes; n++) {
        int64_t at = sim_ms(s, 0, sim_chance(s, 800) ? 2000 : 60000);
        queue_push(&s->queue,
                   (struct sim_event){.at = at, .kind = SIM_CORO_UP, .node = (uint8_t)n});
        queue_push(&s->queue, (struct sim_event){.at = at + sim_ms(s, 0, 1000),
                                                 .kind = SIM_DAEMON_UP,
                                                 .node = (uint8_t)n});
    }
}

static void arm(struct sim *s)
{
    struct hf_event ev;
    operator_order(&ev, HF_ORDER_ARM, HF_NO_NODE, 0);
    operator_gives(s, &ev);
}

/* The owner adds the VMs and arms, as soon as a daemon takes orders. */
static void set_up(struct sim *s)
{
    struct hf_event ev;
    for (unsigned i = 1; i <= s->opt.vms && !s->is_failed;) {
        operator_draw_vm(s, &ev, i);
        if (operator_gives(s, &ev))
            i++;
        else if (!sim_run_until(s, s->now + SIM_MS(SETUP_EVERY_MS)) || s->now > SIM_MS(300000))
            break;
    }
    sim_run_until(s, s->now + SIM_MS(15000));
    if (!s->opt.is_armed_late)
        arm(s);
}

static hf_nodes draw_core(struct sim *s)
{
    hf_nodes core = 0;
    unsigned want = s->opt.nodes / 2u + 1u + (unsigned)sim_between(s, 0, (s->opt.nodes - 1) / 2);
    for (unsigned n = 0; n < s->opt.nodes; n++)
        if (s->node[n].is_damaged)
            return sim_all(s); /* with one disk gone the group may need all others */
    while (hf_nodes_count(core) < want)
        core |= (hf_nodes)(1u << sim_between(s, 0, s->opt.nodes - 1));
    return core;
}

static void liveness(struct sim *s)
{
    char why[200] = "";
    hf_nodes core = draw_core(s);
    int64_t end = s->now + SIM_MS((int64_t)options_budget_ms(&s->opt));
    int64_t arm_at = s->now;
    unsigned content = 0;
    SAY(s, -1, "LIVENESS: core %02x is healed, the rest stays as it is", core);
    faults_heal(s, core);
    while (s->now < end && content < 3) {
        if (s->now >= arm_at) {
            struct hf_event ev;
            arm(s);
            for (unsigned n = 0; n < s->opt.nodes; n++) {
                operator_order(&ev, HF_ORDER_UNDRAIN, sim_node_at(n), 0);
                operator_gives(s, &ev);
                if (core >> n & 1u) /* a fence decided before may have hit the core */
                    world_power_on(s, sim_node_at(n), SIM_MS(s->opt.boot_ms_max));
            }
            arm_at = s->now + SIM_MS(ARM_EVERY_MS);
        }
        if (!sim_run_until(s, s->now + SIM_MS(JUDGE_EVERY_MS)))
            return;
        content = checker_is_content(s, core, why, sizeof why) ? content + 1 : 0;
    }
    if (content == 0)
        sim_fail(s, "%s (%llu s after core %02x was healed)", why,
                 (unsigned long long)options_budget_ms(&s->opt) / 1000, core);
}

void sim_run_seed(struct sim *s)
{
    start_all(s);
    set_up(s);
    queue_push(&s->queue,
               (struct sim_event){.at = s->now + sim_ms(s, 10, 2LL * s->opt.fault_gap_ms),
                                  .kind = SIM_FAULT});
    if (sim_run_until(s, SIM_MS(60000LL * s->opt.minutes)))
        liveness(s);
}
