/* dog.c - see dog.h. The loop of the process follows fencing/feeder/feeder.c: what the pure side
 * finds due is done, and what is new is told. The device counts by its own clock. */
#include "tests/sim/dog.h"

#include <string.h>

#include "supervisord/base/hash.h"
#include "supervisord/base/str.h"
#include "supervisord/wire/report.h"
#include "tests/sim/sim.h"

enum {
    PROVE_MS = 1200, /* FEEDER_PROVE_MS */
    RETRY_MS_MIN = 2000,
    RETRY_MS_MAX = 60000,
    RESET_US_MAX = 1000000, /* from the device's firing to the end of everything: hf_safe_time_ms */
};

static struct dog *dog_of(struct sim *s, hf_node n)
{
    return &s->world.host[n.ix].dog;
}

static struct dog_feeder *feeder_of(struct sim *s, hf_node n)
{
    return &s->world.host[n.ix].feeder;
}

static int64_t seen(const struct sim *s)
{
    return s->now - s->skipped;
}

static void push(struct sim *s, enum sim_kind kind, hf_node n, int64_t delay, uint32_t gen)
{
    queue_push(
        &s->queue,
        (struct sim_event){.at = s->now + delay, .kind = (uint8_t)kind, .node = n.ix, .gen = gen});
}

uint32_t dog_actual_ms(const struct sim *s, uint32_t wanted_ms)
{
    uint32_t part = s->opt.wd_round_ms > 0 ? s->opt.wd_round_ms : 1;
    return (wanted_ms + part - 1) / part * part;
}

/* ---- the device ---- */

static void fires_later(struct sim *s, hf_node n)
{
    struct dog *dog = dog_of(s, n);
    int64_t ns = SIM_MS(dog->timeout_ms);
    dog->fires_at = seen(s) + ns + ns / 1000000 * s->opt.wd_ppm[n.ix];
    if (dog->has_event)
        return; /* looks again when it comes */
    dog->has_event = true;
    push(s, SIM_DOG, n, dog->fires_at - seen(s), dog->gen);
}

static void look(struct sim *s, hf_node n)
{
    struct dog *dog = dog_of(s, n);
    dog->has_event = false;
    if (!dog->is_running || dog->kind == DOG_DEAF)
        return;
    if (dog->fires_at > seen(s)) {
        dog->has_event = true;
        push(s, SIM_DOG, n, dog->fires_at - seen(s), dog->gen);
        return;
    }
    sim_busy(s);
    SAY(s, n.ix, "WATCHDOG fires");
    checker_dog_fires(s, n);
    push(s, SIM_DOG_RESET, n, sim_us(s, 0, RESET_US_MAX), dog->gen);
}

static void reset(struct sim *s, hf_node n)
{
    s->check.dog_resets++;
    world_power_off(s, n, "reset by its watchdog");
    world_power_on(s, n, sim_ms(s, s->opt.boot_ms_min, s->opt.boot_ms_max));
}

/* ---- what the process does with it ---- */

static void feeder_ping(struct sim *s, hf_node n, bool is_late)
{
    struct dog *dog = dog_of(s, n);
    struct dog_feeder *f = feeder_of(s, n);
    f->device.fed = node_clock(s, n);
    if (!dog->is_running || dog->kind == DOG_STUCK)
        return;
    checker_dog_fed(s, n, &f->verdict, is_late);
    fires_later(s, n);
}

static void fail(struct dog_feeder *f, hf_time now)
{
    f->device.retry_at = hf_time_add_ms(now, f->retry_ms);
    f->retry_ms = f->retry_ms * 2 < RETRY_MS_MAX ? f->retry_ms * 2 : RETRY_MS_MAX;
}

static enum hf_watchdog closed_state(const struct dog *dog)
{
    return dog->kind == DOG_ABSENT ? HF_WD_ABSENT
           : dog->kind == DOG_SOFT ? HF_WD_SOFT
                                   : HF_WD_DISARMED;
}

static void feeder_open(struct sim *s, hf_node n, hf_time now)
{
    struct dog *dog = dog_of(s, n);
    struct dog_feeder *f = feeder_of(s, n);
    f->closed = dog->kind == DOG_BUSY ? HF_WD_BUSY : closed_state(dog);
    if (f->closed != HF_WD_DISARMED) {
        faults_count(s, dog->kind == DOG_BUSY ? FAULT_H7 : FAULT_H6);
        fail(f, now);
        return;
    }
    dog->timeout_ms = dog_actual_ms(s, f->word.timeout_ms);
    if (dog->timeout_ms != f->word.timeout_ms)
        faults_count(s, FAULT_H8);
    dog->is_running = true;
    sim_busy(s);
    SAY(s, n.ix, "watchdog is opened: %u ms, lease %u ms", dog->timeout_ms, f->word.lease_ms);
    fires_later(s, n);
    uint32_t prove_ms = dog->timeout_ms / 2 < PROVE_MS ? dog->timeout_ms / 2 : PROVE_MS;
    f->device = (struct feed_device){.is_open = true,
                                     .is_proved = dog->timeout_ms < 2000,
                                     .can_close = !hf_nodes_has(s->opt.wd_nowayout, n),
                                     .timeout_ms = dog->timeout_ms,
                                     .lease_ms = f->word.lease_ms,
                                     .fed = now,
                                     .prove_at = hf_time_add_ms(now, prove_ms)};
}

static void feeder_close(struct sim *s, hf_node n)
{
    struct dog *dog = dog_of(s, n);
    struct dog_feeder *f = feeder_of(s, n);
    SAY(s, n.ix, "watchdog is closed");
    sim_busy(s);
    dog->is_running = false;
    f->device = (struct feed_device){0};
    f->closed = closed_state(dog);
}

static void feeder_prove(struct sim *s, hf_node n, hf_time now)
{
    struct dog *dog = dog_of(s, n);
    struct dog_feeder *f = feeder_of(s, n);
    if (dog->kind != DOG_STUCK) {
        f->device.is_proved = true;
        f->retry_ms = RETRY_MS_MIN;
        feeder_ping(s, n, false);
        return;
    }
    faults_count(s, FAULT_H6);
    f->device.fed = now;
    f->device.is_unfit = true;
    if (f->device.can_close)
        feeder_close(s, n);
    f->closed = HF_WD_BROKEN;
    fail(f, now);
}

/* A feeder that was killed left it running, and nobody wants it any more. */
static void take_over(struct sim *s, hf_node n)
{
    struct dog *dog = dog_of(s, n);
    struct dog_feeder *f = feeder_of(s, n);
    if (f->device.is_open || !dog->is_running || !f->word.is_told || f->word.wants_armed)
        return;
    f->device = (struct feed_device){.is_open = true,
                                     .is_proved = true,
                                     .timeout_ms = dog->timeout_ms,
                                     .lease_ms = f->word.lease_ms,
                                     .fed = node_clock(s, n)};
    fires_later(s, n); /* opening it pings it */
    if (!hf_nodes_has(s->opt.wd_nowayout, n))
        feeder_close(s, n);
}

/* ---- what it tells ---- */

static void report(const struct sim *s, hf_node n, struct hf_report *r)
{
    const struct dog_feeder *f = &s->world.host[n.ix].feeder;
    memset(r, 0, sizeof *r);
    r->kind = HF_REPORT_WATCHDOG;
    r->u.watchdog.version = 1;
    hf_str_copy(r->u.watchdog.identity, sizeof r->u.watchdog.identity, "simulated");
    r->u.watchdog.state = f->closed;
    if (!f->device.is_open)
        return;
    if (f->verdict.want == FEED_UNSTOPPABLE || !f->device.is_proved) {
        r->u.watchdog.state = f->device.is_unfit ? HF_WD_BROKEN : HF_WD_DISARMED;
        return;
    }
    r->u.watchdog.state = HF_WD_ARMED;
    r->u.watchdog.timeout_ms = f->device.timeout_ms;
    r->u.watchdog.lease_ms = f->device.lease_ms;
    r->u.watchdog.is_held = f->turned_at.ns < f->word.hold_until.ns;
}

static void say_if_new(struct sim *s, hf_node n)
{
    struct dog_feeder *f = feeder_of(s, n);
    struct hf_report r;
    uint32_t word[4];
    report(s, n, &r);
    word[0] = (uint32_t)r.u.watchdog.state;
    word[1] = r.u.watchdog.timeout_ms;
    word[2] = r.u.watchdog.lease_ms;
    word[3] = r.u.watchdog.is_held;
    uint64_t hash = hf_hash(HF_HASH_START, word, sizeof word) | 1u;
    if (hash == f->said || !s->node[n.ix].is_alive)
        return;
    f->said = hash;
    sim_busy(s);
    push(s, SIM_DOG_SAYS, n, sim_us(s, 20, 5000), s->node[n.ix].gen);
}

/* The daemon reads: a connection, a word, or that nobody is there any more. */
static void heard(struct sim *s, hf_node n)
{
    struct sim_node *d = &s->node[n.ix];
    struct dog_feeder *f = feeder_of(s, n);
    struct hf_report r;
    if (d->is_paused) {
        d->dog_waits = true;
        return;
    }
    sim_busy(s);
    lease_feeder(&d->lease, f->is_alive, node_clock(s, n));
    if (!f->is_alive)
        return;
    report(s, n, &r);
    lease_told(&d->lease, &r, node_clock(s, n));
    node_reschedule(s, n);
}

void dog_daemon_up(struct sim *s, hf_node n)
{
    struct dog_feeder *f = feeder_of(s, n);
    f->said = 0;
    if (f->is_alive && !f->is_paused)
        push(s, SIM_DOG_SAYS, n, sim_ms(s, 1, 100), s->node[n.ix].gen);
}

/* ---- turns ---- */

static void act_on(struct sim *s, hf_node n, enum feed_act act, hf_time now)
{
    struct dog_feeder *f = feeder_of(s, n);
    switch (act) {
    case FEED_PING:
        if (f->stops_at_ping) {
            f->stops_at_ping = false;
            f->is_paused = f->is_mid_ping = true;
            faults_count(s, FAULT_P6);
            SAY(s, n.ix, "feeder stops between its check and its ping");
            return;
        }
        feeder_ping(s, n, false);
        return;
    case FEED_OPEN:
        feeder_open(s, n, now);
        return;
    case FEED_PROVE:
        feeder_prove(s, n, now);
        return;
    case FEED_CLOSE:
        feeder_close(s, n);
        return;
    case FEED_WAIT:
    case FEED_STARVE:
    case FEED_UNDECIDED:
    case FEED_ACTS:
        return;
    }
}

static void turn(struct sim *s, hf_node n)
{
    struct dog_feeder *f = feeder_of(s, n);
    enum feed_act was = f->verdict.rule;
    for (unsigned i = 0; i < 8 && f->is_alive && !f->is_paused; i++) {
        hf_time now = node_clock(s, n);
        f->turned_at = now;
        take_over(s, n);
        f->verdict = feed(&f->word, &f->device, now);
        if (f->verdict.act == FEED_WAIT || f->verdict.act == FEED_STARVE)
            break;
        act_on(s, n, f->verdict.act, now);
    }
    if (!f->is_alive || f->is_paused)
        return;
    if (f->verdict.rule == FEED_STARVE && was != FEED_STARVE) {
        sim_busy(s);
        SAY(s, n.ix, "feeder: %s", f->verdict.why);
    }
    say_if_new(s, n);
    int64_t wait = f->verdict.next.ns == INT64_MAX
                       ? SIM_FOREVER
                       : node_true_ns(s, n, f->verdict.next.ns - node_clock(s, n).ns);
    if (wait > SIM_MS(3600000LL))
        return; /* a word wakes it */
    int64_t at = s->now + (wait > 0 ? wait : 0) + 1000;
    if (at == f->turn_at)
        return;
    f->turn_at = at;
    queue_push(&s->queue,
               (struct sim_event){.at = at, .kind = SIM_FEED, .node = n.ix, .gen = ++f->turn});
}

bool dog_told(struct sim *s, hf_node n, const struct hf_report *r)
{
    struct dog_feeder *f = feeder_of(s, n);
    if (!f->is_alive)
        return false;
    f->newest = (struct feed_word){.wants_armed = r->u.lease.wants_armed,
                                   .timeout_ms = r->u.lease.timeout_ms,
                                   .lease_ms = r->u.lease.lease_ms,
                                   .sent = {r->u.lease.sent_ns},
                                   .hold_until = {r->u.lease.hold_until_ns}};
    if (!feed_fits(&f->newest)) {
        sim_fail(s, "node %u's daemon tells its feeder what it cannot take", n.ix);
        return false;
    }
    f->has_word = true;
    if (f->is_paused)
        return true;
    push(s, SIM_DOG_HEARS, n, sim_us(s, 20, 2000), f->gen);
    return true;
}

static void take_word(struct sim *s, hf_node n)
{
    struct dog_feeder *f = feeder_of(s, n);
    if (!f->has_word || f->is_paused)
        return;
    bool was_wanted = f->word.wants_armed;
    f->has_word = false;
    feed_told(&f->word, &f->newest, node_clock(s, n));
    if (f->word.wants_armed != was_wanted && !f->device.is_open) {
        f->device.retry_at = (hf_time){0};
        f->closed = closed_state(dog_of(s, n));
    }
    turn(s, n);
}

/* ---- the process ---- */

void dog_start(struct sim *s, hf_node n)
{
    struct dog_feeder *f = feeder_of(s, n);
    if (f->is_alive || !s->world.host[n.ix].is_up || s->world.host[n.ix].feeder_fails)
        return;
    SAY(s, n.ix, "feeder starts");
    *f = (struct dog_feeder){.is_alive = true,
                             .gen = f->gen + 1,
                             .turn = f->turn + 1,
                             .retry_ms = RETRY_MS_MIN,
                             .closed = closed_state(dog_of(s, n))};
    sim_busy(s);
    dog_daemon_up(s, n);
}

static void ends(struct sim *s, hf_node n)
{
    struct dog_feeder *f = feeder_of(s, n);
    *f = (struct dog_feeder){.gen = f->gen + 1, .turn = f->turn + 1};
}

void dog_kill(struct sim *s, hf_node n, int64_t back)
{
    if (!feeder_of(s, n)->is_alive)
        return;
    sim_busy(s);
    SAY(s, n.ix, "feeder is killed");
    ends(s, n);
    push(s, SIM_DOG_SAYS, n, sim_us(s, 20, 5000), s->node[n.ix].gen);
    push(s, SIM_FEEDER_UP, n, back, feeder_of(s, n)->gen);
}

void dog_pause(struct sim *s, hf_node n)
{
    struct dog_feeder *f = feeder_of(s, n);
    if (!f->is_alive || f->is_paused)
        return;
    sim_busy(s);
    SAY(s, n.ix, "feeder is stopped");
    f->is_paused = true;
}

void dog_resume(struct sim *s, hf_node n)
{
    struct dog_feeder *f = feeder_of(s, n);
    if (!f->is_alive || !f->is_paused)
        return;
    sim_busy(s);
    SAY(s, n.ix, "feeder goes on");
    f->is_paused = false;
    if (f->is_mid_ping) {
        f->is_mid_ping = false;
        feeder_ping(s, n, true); /* the check was before: the one late ping */
    }
    f->turn_at = 0;
    if (f->has_word)
        take_word(s, n);
    else
        turn(s, n);
}

void dog_clock_jumped(struct sim *s, hf_node n)
{
    feeder_of(s, n)->turn_at = 0;
    turn(s, n);
}

void dog_host_up(struct sim *s, hf_node n)
{
    push(s, SIM_FEEDER_UP, n, sim_ms(s, 10, 2000), feeder_of(s, n)->gen);
}

void dog_power_off(struct sim *s, hf_node n)
{
    struct dog *dog = dog_of(s, n);
    ends(s, n);
    dog->is_running = dog->has_event = false;
    dog->gen++;
    if (s->faults.is_over)
        dog->kind = DOG_GOOD;
}

bool dog_is_steady(const struct sim *s, hf_node n)
{
    const struct dog *dog = &s->world.host[n.ix].dog;
    const struct dog_feeder *f = &s->world.host[n.ix].feeder;
    hf_time now = node_clock(s, n);
    bool holds = f->word.hold_until.ns > now.ns;
    /* A lease that is not renewed with the beats runs towards its end. */
    bool is_renewed = f->verdict.want == FEED_UNSTOPPABLE ||
                      hf_time_since_ms(now, f->word.sent) < 3LL * s->opt.beat_ms / 2 + 300;
    if (!dog->is_running)
        return !(f->is_alive && f->word.wants_armed && f->verdict.cover == FEED_LEASE &&
                 f->retry_ms == RETRY_MS_MIN);
    return f->is_alive && !f->is_paused && !holds && is_renewed && f->verdict.rule == FEED_PING;
}

void dog_event(struct sim *s, const struct sim_event *ev)
{
    hf_node n = sim_node_at(ev->node);
    struct dog_feeder *f = feeder_of(s, n);
    switch (ev->kind) {
    case SIM_FEED:
        if (ev->gen == f->turn && f->is_alive && !f->is_paused) {
            f->turn_at = 0;
            turn(s, n);
        }
        return;
    case SIM_DOG:
        if (ev->gen == dog_of(s, n)->gen)
            look(s, n);
        return;
    case SIM_DOG_RESET:
        if (ev->gen == dog_of(s, n)->gen)
            reset(s, n);
        return;
    case SIM_DOG_SAYS:
        if (ev->gen == s->node[n.ix].gen && s->node[n.ix].is_alive)
            heard(s, n);
        return;
    case SIM_DOG_HEARS:
        if (ev->gen == f->gen)
            take_word(s, n);
        return;
    case SIM_FEEDER_UP:
        if (ev->gen == f->gen)
            dog_start(s, n);
        return;
    case SIM_FEEDER_RESUME:
        if (ev->gen == f->gen)
            dog_resume(s, n);
        return;
    default:
        return;
    }
}
