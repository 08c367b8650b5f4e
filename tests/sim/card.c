#include "tests/sim/card.h"

#include <string.h>

#include "supervisord/base/assert.h"
#include "tests/sim/sim.h"

enum {
    CARRIER_MS = 10, /* longest look at a carrier */
    BFD_MS = 100,    /* three intervals and some */
    STALE_MS = 6000, /* AGENTS_NIC_STALE_MS of the daemon */
    FLAP_MS = 50,    /* 10 Hz */
    HOLDS_MAX = 16,  /* doublings end there */
};

static void push(struct sim *s, enum sim_kind kind, hf_node n, int64_t delay)
{
    queue_push(&s->queue, (struct sim_event){.at = s->now + delay,
                                             .kind = (uint8_t)kind,
                                             .node = n.ix,
                                             .gen = s->world.host[n.ix].card.gen});
}

static struct card *card_of(struct sim *s, hf_node n)
{
    return &s->world.host[n.ix].card;
}

static bool is_dead(enum card_sick sick)
{
    return sick != CARD_WELL && sick != CARD_SLOW;
}

bool card_is_watched(const struct sim *s, hf_node n, int64_t ns)
{
    const struct card *c = &s->world.host[n.ix].card;
    return c->is_alive && !c->is_stuck && s->now - c->healthy_since >= ns;
}

/* ---- what is physically so ---- */

static void touch(struct sim *s, hf_node n)
{
    struct card *c = card_of(s, n);
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        bool was_dead = c->dead_since[f] != 0;
        bool now_dead = s->world.fabric_down[f] || is_dead((enum card_sick)c->sick[f]);
        if (was_dead == now_dead)
            continue;
        c->dead_since[f] = now_dead ? s->now : 0;
        c->alive_since[f] = now_dead ? 0 : s->now;
        SAY(s, n.ix, "PF %c %s", 'a' + f, now_dead ? "carries NOTHING" : "carries again");
    }
    if (c->is_alive)
        push(s, SIM_CARD, n,
             sim_ms(s, 1,
                    c->sick[0] == CARD_BLACK_HOLE || c->sick[1] == CARD_BLACK_HOLE ? BFD_MS
                                                                                   : CARRIER_MS));
}

void card_breaks(struct sim *s, hf_node n, hf_fabric f, enum card_sick sick)
{
    sim_busy(s);
    card_of(s, n)->sick[f] = (uint8_t)sick;
    touch(s, n);
}

void card_fabric(struct sim *s, hf_fabric f, bool is_down)
{
    sim_busy(s);
    SAY(s, -1, "fabric %c is %s", 'a' + f, is_down ? "DOWN everywhere" : "back");
    s->world.fabric_down[f] = is_down;
    for (unsigned i = 0; i < s->opt.nodes; i++)
        touch(s, sim_node_at(i));
}

/* ---- nicbond ---- */

static void say(struct sim *s, hf_node n)
{
    struct card *c = card_of(s, n);
    if (c->says || !c->is_alive || c->is_stuck)
        return;
    c->says = true;
    push(s, SIM_CARD_SAYS, n, sim_ms(s, 0, s->opt.report_ms));
}

static void judge_dead(struct sim *s, hf_node n, hf_fabric f)
{
    static const uint8_t causes[] = {
        [CARD_WELL] = HF_NIC_CARRIER,   [CARD_CARRIER] = HF_NIC_CARRIER,
        [CARD_BLACK_HOLE] = HF_NIC_BFD, [CARD_GONE] = HF_NIC_REMOVED,
        [CARD_AER] = HF_NIC_AER_FAILED, [CARD_SLOW] = HF_NIC_CARRIER};
    struct card *c = card_of(s, n);
    int64_t most = HOLDS_MAX * SIM_MS(s->opt.nic_hold_ms);
    if (c->state[f] == HF_PF_HOLD && c->hold_ns[f] < most)
        c->hold_ns[f] *= 2;
    c->state[f] = c->sick[f] == CARD_GONE ? HF_PF_ABSENT : HF_PF_DOWN;
    c->cause[f] = causes[c->sick[f]];
}

static void judge_alive(struct sim *s, hf_node n, hf_fabric f)
{
    struct card *c = card_of(s, n);
    bool was_dead = c->state[f] == HF_PF_DOWN || c->state[f] == HF_PF_ABSENT;
    if (was_dead) {
        c->state[f] = HF_PF_HOLD;
        c->cause[f] = HF_NIC_RETURNING;
        c->hold_until[f] = s->now + c->hold_ns[f];
        push(s, SIM_CARD, n, c->hold_ns[f]);
    } else if (c->state[f] != HF_PF_HOLD || s->now >= c->hold_until[f]) {
        if (c->state[f] == HF_PF_HOLD)
            c->hold_ns[f] = SIM_MS(s->opt.nic_hold_ms);
        c->state[f] = c->sick[f] == CARD_SLOW ? HF_PF_SUSPECT : HF_PF_UP;
        c->cause[f] = c->sick[f] == CARD_SLOW ? HF_NIC_ERRORS : HF_NIC_NONE;
    }
}

static void look(struct sim *s, hf_node n)
{
    struct card *c = card_of(s, n);
    uint8_t state[HF_FABRICS_MAX], cause[HF_FABRICS_MAX];
    if (!c->is_alive || c->is_stuck)
        return;
    memcpy(state, c->state, sizeof state);
    memcpy(cause, c->cause, sizeof cause);
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if (c->dead_since[f] != 0)
            judge_dead(s, n, f);
        else
            judge_alive(s, n, f);
    if (memcmp(state, c->state, sizeof state) == 0 && memcmp(cause, c->cause, sizeof cause) == 0)
        return;
    sim_busy(s);
    say(s, n);
}

static bool is_good(uint8_t state)
{
    return state == HF_PF_UP || state == HF_PF_SUSPECT;
}

/* A leg that came back is let in again at once when the VM has no other that carries. */
static hf_legs carrying(const struct card *c, hf_legs has)
{
    hf_legs good = 0, held = 0;
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        good |= (hf_legs)(is_good(c->state[f]) << f);
        held |= (hf_legs)((c->state[f] == HF_PF_HOLD) << f);
    }
    return (good & has) != 0 ? good & has : held & has;
}

static void tell_legs(struct sim *s, hf_node n, hf_vm_uid uid, bool is_here)
{
    struct card *c = card_of(s, n);
    struct hf_report report = {.kind = HF_REPORT_LEGS};
    report.u.legs.uid = uid;
    report.u.legs.start_no = s->world.host[n.ix].vm[uid].start_no;
    report.u.legs.has = is_here ? s->check.vm[uid].def.legs : 0;
    report.u.legs.up = carrying(c, report.u.legs.has);
    report.u.legs.active = report.u.legs.up == 2 ? 1 : report.u.legs.up != 0 ? 0 : HF_FABRICS_MAX;
    c->told = is_here ? c->told | 1ull << uid : c->told & ~(1ull << uid);
    nics_told(&s->node[n.ix].nics, &report, node_clock(s, n));
}

static void tell(struct sim *s, hf_node n)
{
    struct card *c = card_of(s, n);
    struct hf_report report = {.kind = HF_REPORT_NICS};
    report.u.nics.count = HF_FABRICS_MAX;
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        report.u.nics.pf[f].state = (enum hf_pf)c->state[f];
        report.u.nics.pf[f].cause = (enum hf_nic_cause)c->cause[f];
    }
    nics_told(&s->node[n.ix].nics, &report, node_clock(s, n));
    for (hf_vm_uid uid = 1; uid < SIM_VMS_MAX; uid++) {
        bool is_here = s->world.host[n.ix].vm[uid].is_running && s->check.vm[uid].def.legs != 0;
        if (is_here || (c->told >> uid & 1u))
            tell_legs(s, n, uid, is_here);
    }
}

static void say_now(struct sim *s, hf_node n)
{
    struct card *c = card_of(s, n);
    const struct sim_node *d = &s->node[n.ix];
    c->says = false;
    if (!c->is_alive || c->is_stuck || !d->is_alive)
        return;
    if (d->is_paused) {
        c->word_waits = true;
        return;
    }
    sim_busy(s);
    tell(s, n);
    node_reschedule(s, n);
}

static void nicbond_starts(struct sim *s, hf_node n)
{
    struct card *c = card_of(s, n);
    if (c->is_alive || !s->world.host[n.ix].is_up || !s->opt.has_nics)
        return;
    c->is_alive = true;
    c->is_stuck = c->says = false;
    c->healthy_since = s->now;
    c->told = 0;
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        c->state[f] = HF_PF_UNKNOWN;
        c->cause[f] = HF_NIC_NONE;
        c->hold_ns[f] = SIM_MS(s->opt.nic_hold_ms);
    }
    push(s, SIM_CARD, n, sim_ms(s, 1, 100));
    card_daemon_up(s, n);
}

void card_nicbond_dies(struct sim *s, hf_node n, int64_t back)
{
    struct card *c = card_of(s, n);
    if (!c->is_alive)
        return;
    sim_busy(s);
    SAY(s, n.ix, "nicbond dies");
    c->is_alive = false;
    c->gen++;
    nics_agent(&s->node[n.ix].nics, false, node_clock(s, n));
    node_reschedule(s, n);
    if (back != SIM_FOREVER)
        push(s, SIM_CARD_UP, n, back);
}

/* Every management call hangs: it says nothing, and its connection stays. */
void card_nicbond_sticks(struct sim *s, hf_node n, bool is_stuck)
{
    struct card *c = card_of(s, n);
    if (!c->is_alive || c->is_stuck == is_stuck)
        return;
    sim_busy(s);
    SAY(s, n.ix, "nicbond %s", is_stuck ? "hangs" : "goes on");
    c->is_stuck = is_stuck;
    c->healthy_since = s->now;
    if (is_stuck) {
        push(s, SIM_CARD_STALE, n, SIM_MS(STALE_MS));
        return;
    }
    if (s->node[n.ix].is_alive)
        nics_agent(&s->node[n.ix].nics, true, node_clock(s, n));
    push(s, SIM_CARD, n, SIM_MS(1));
    say(s, n);
    node_reschedule(s, n);
}

void card_daemon_up(struct sim *s, hf_node n)
{
    struct card *c = card_of(s, n);
    if (!c->is_alive || c->is_stuck || !s->node[n.ix].is_alive)
        return;
    nics_joined(&s->node[n.ix].nics, node_clock(s, n));
    say(s, n);
}

void card_daemon_resumes(struct sim *s, hf_node n)
{
    struct card *c = card_of(s, n);
    if (!c->word_waits)
        return;
    c->word_waits = false;
    say(s, n);
}

void card_vm_changed(struct sim *s, hf_node n)
{
    if (s->opt.has_nics)
        say(s, n);
}

/* ---- the host ---- */

void card_open(struct sim *s)
{
    for (unsigned i = 0; i < s->opt.nodes; i++)
        for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
            s->world.host[i].card.alive_since[f] = 1;
}

void card_host_up(struct sim *s, hf_node n)
{
    if (s->opt.has_nics)
        push(s, SIM_CARD_UP, n, sim_ms(s, 10, 3000));
}

void card_power_off(struct sim *s, hf_node n)
{
    struct card *c = card_of(s, n);
    c->is_alive = c->is_stuck = c->says = c->word_waits = false;
    c->gen++;
}

void card_event(struct sim *s, const struct sim_event *ev)
{
    hf_node n = sim_node_at(ev->node);
    struct card *c = card_of(s, n);
    if (ev->gen != c->gen)
        return;
    switch (ev->kind) {
    case SIM_CARD:
        look(s, n);
        return;
    case SIM_CARD_SAYS:
        say_now(s, n);
        return;
    case SIM_CARD_UP:
        nicbond_starts(s, n);
        return;
    case SIM_CARD_STALE:
        if (c->is_stuck && s->node[n.ix].is_alive)
            nics_agent(&s->node[n.ix].nics, false, node_clock(s, n));
        node_reschedule(s, n);
        return;
    default:
        return;
    }
}

/* ---- faults: N1 to N10 of the catalogue ---- */

static bool breaks(struct sim *s, hf_node n, hf_fabric f, enum card_sick sick)
{
    if (card_of(s, n)->sick[f] != CARD_WELL)
        return false;
    card_breaks(s, n, f, sick);
    return true;
}

enum { WHOLE_FABRIC = 0x100 };

/* Mostly one port; sometimes the switch itself, and then everybody's. */
static bool strike_port(struct sim *s, enum fault f, hf_node n, hf_fabric fabric, uint32_t *arg)
{
    *arg = fabric;
    if (sim_chance(s, 200) && !s->world.fabric_down[fabric]) {
        *arg |= WHOLE_FABRIC;
        card_fabric(s, fabric, true);
        faults_count(s, FAULT_NX);
        return true;
    }
    return breaks(s, n, fabric, f == FAULT_N1 ? CARD_CARRIER : CARD_BLACK_HOLE);
}

/* Fatal for the card, and sometimes for a qemu that has a function of it: that is a VM failure. */
static bool strike_aer(struct sim *s, hf_node n, hf_fabric fabric)
{
    if (!breaks(s, n, fabric, CARD_AER))
        return false;
    for (hf_vm_uid uid = 1; uid < SIM_VMS_MAX; uid++)
        if (s->world.host[n.ix].vm[uid].is_running && s->check.vm[uid].def.legs != 0 &&
            sim_chance(s, 200)) {
            world_vm_end(s, n, uid, VM_END_CRASH);
            break;
        }
    return true;
}

/* Somebody's MAC, and a VM's legs, are told of by a host where it does not run: nobody may believe
 * that. */
static bool strike_duplicate(struct sim *s, hf_node n)
{
    for (hf_vm_uid uid = 1; uid < SIM_VMS_MAX; uid++) {
        hf_node on = hf_nodes_first(world_running_on(s, uid));
        if (!hf_node_is(on) || hf_node_same(on, n) || s->check.vm[uid].def.legs == 0)
            continue;
        if (!s->node[n.ix].is_alive || s->node[n.ix].is_paused)
            return false;
        struct hf_event ev = {.type = HF_EV_LEGS, .from = n};
        ev.u.legs = (struct hf_vm_legs_seen){uid, s->world.host[on.ix].vm[uid].start_no,
                                             s->check.vm[uid].def.legs, 0, HF_FABRICS_MAX};
        node_submit(s, n, &ev);
        return true;
    }
    return false;
}

bool card_strike(struct sim *s, enum fault f, hf_node n, int64_t *lasts, uint32_t *arg)
{
    struct card *c = card_of(s, n);
    hf_fabric fabric = (hf_fabric)sim_between(s, 0, HF_FABRICS_MAX - 1);
    *lasts = sim_ms(s, 1000, sim_chance(s, 500) ? 20000 : 600000);
    *arg = fabric;
    if (!s->opt.has_nics)
        return false;
    switch (f) {
    case FAULT_N1:
    case FAULT_N2:
        return strike_port(s, f, n, fabric, arg);
    case FAULT_N3:
        *lasts = SIM_MS(FLAP_MS);
        *arg = (uint32_t)sim_between(s, 10, 200) << 1 | fabric;
        return breaks(s, n, fabric, CARD_CARRIER);
    case FAULT_N4:
        for (hf_fabric i = 0; i < HF_FABRICS_MAX; i++)
            if (c->sick[i] == CARD_WELL)
                card_breaks(s, n, i, CARD_CARRIER);
        return true;
    case FAULT_N5:
        return breaks(s, n, fabric, CARD_GONE);
    case FAULT_N6:
        c->refuses_vfs = true; /* counted when it comes to pass */
        return true;
    case FAULT_N7:
        return strike_aer(s, n, fabric);
    case FAULT_N8:
        *lasts = 0;
        return strike_duplicate(s, n);
    case FAULT_N9:
        return breaks(s, n, fabric, CARD_SLOW);
    case FAULT_N10:
        if (!c->is_alive || c->is_stuck)
            return false;
        if (sim_chance(s, 400)) {
            card_nicbond_dies(s, n, sim_ms(s, 50, 40000));
            *lasts = 0;
        } else {
            card_nicbond_sticks(s, n, true);
        }
        return true;
    default:
        return false;
    }
}

static bool flap(struct sim *s, hf_node n, int64_t *lasts, uint32_t *arg)
{
    hf_fabric fabric = *arg & 1u;
    uint32_t left = *arg >> 1;
    card_breaks(s, n, fabric, left % 2 == 0 ? CARD_WELL : CARD_CARRIER);
    *lasts = SIM_MS(FLAP_MS);
    *arg = (left - 1) << 1 | fabric;
    return left > 0;
}

bool card_undo(struct sim *s, enum fault f, hf_node n, int64_t *lasts, uint32_t *arg)
{
    hf_fabric fabric = *arg & 1u;
    switch (f) {
    case FAULT_N1:
    case FAULT_N2:
        if (*arg & WHOLE_FABRIC)
            card_fabric(s, fabric, false);
        else
            card_breaks(s, n, fabric, CARD_WELL);
        return false;
    case FAULT_N3:
        return flap(s, n, lasts, arg);
    case FAULT_N4:
        for (hf_fabric i = 0; i < HF_FABRICS_MAX; i++)
            card_breaks(s, n, i, CARD_WELL);
        return false;
    case FAULT_N6:
        card_of(s, n)->refuses_vfs = false;
        return false;
    case FAULT_N10:
        card_nicbond_sticks(s, n, false);
        return false;
    default:
        card_breaks(s, n, fabric, CARD_WELL);
        return false;
    }
}

void card_heal(struct sim *s, hf_nodes core)
{
    if (!s->opt.has_nics)
        return;
    hf_node kept = sim_chance(s, 300) ? hf_nodes_first(core) : HF_NO_NODE;
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if (s->world.fabric_down[f])
            card_fabric(s, f, false);
    for (unsigned i = 0; i < s->opt.nodes; i++) {
        hf_node n = sim_node_at(i);
        struct card *c = card_of(s, n);
        c->refuses_vfs = false;
        if ((core >> i & 1u) == 0)
            continue;
        for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
            if (hf_node_same(n, kept)) /* whoever runs there must go elsewhere */
                card_breaks(s, n, f, CARD_CARRIER);
            else
                card_breaks(s, n, f, CARD_WELL);
        card_nicbond_sticks(s, n, false);
        nicbond_starts(s, n);
    }
}
