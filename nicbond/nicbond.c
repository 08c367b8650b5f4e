#include "nicbond/nicbond.h"

#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "agents/nic/sysfs.h"
#include "nicbond/flip_text.h"
#include "supervisord/base/assert.h"
#include "supervisord/base/log.h"
#include "supervisord/base/str.h"
#include "supervisord/model/names.h"

static const char fabric_letter[HF_FABRICS_MAX] = {'a', 'b'};

void nicbond_init(struct nicbond *nb, const struct nicbond_limits *limits,
                  const struct nicbond_out *out, uint64_t epoch_first, uint64_t epoch_end)
{
    memset(nb, 0, sizeof *nb);
    nb->limits = *limits;
    nb->out = *out;
    nb->epoch_next = epoch_first > 0 ? epoch_first : 1;
    nb->epoch_end = epoch_end;
    nb->epoll_fd = -1;
    helper_pool_init(&nb->pf_pool, "rtnetlink worker");
    helper_pool_init(&nb->vm_pool, "virt worker");
    for (unsigned f = 0; f < HF_FABRICS_MAX; f++)
        nb->pf[f].level = BOND_LEG_UP; /* not known to be dead */
}

/* The range is a year's; a run that outlives it goes on, and its late answers could meet the next
 * run's numbers: said once. */
uint64_t nicbond_epoch(struct nicbond *nb)
{
    if (nb->epoch_next == nb->epoch_end)
        hf_error("every reserved flip number is used: restart holdfast-nicbond");
    return nb->epoch_next++;
}

/* ---- slots ---- */

void nicbond_wake(struct nicbond *nb, struct nicbond_vm *vm, hf_time at)
{
    int64_t *due = &nb->due[vm - nb->vm];

    if (at.ns < *due)
        *due = at.ns;
    if (at.ns < nb->orders_at.ns)
        nb->orders_at = at;
    if (at.ns < nb->wake_at.ns)
        nb->wake_at = at;
}

struct nicbond_vm *nicbond_find(struct nicbond *nb, hf_vm_uid uid)
{
    for (uint16_t i = 0; i < nb->vms_end; i++) {
        if (nb->vm[i].uid == uid)
            return &nb->vm[i];
    }
    return NULL;
}

const struct nicbond_vm *nicbond_vm(const struct nicbond *nb, hf_vm_uid uid)
{
    for (uint16_t i = 0; i < nb->vms_end; i++) {
        if (nb->vm[i].uid == uid)
            return &nb->vm[i];
    }
    return NULL;
}

static struct nicbond_vm *empty_slot(struct nicbond *nb)
{
    for (uint16_t i = 0; i < HF_VMS_MAX; i++) {
        if (nb->vm[i].uid != 0)
            continue;
        if (i >= nb->vms_end)
            nb->vms_end = (uint16_t)(i + 1);
        return &nb->vm[i];
    }
    return NULL;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- news ---- */

/* Of a guest that tells of its bond. */
static uint8_t bond_faults(const struct guest *guest)
{
    enum { ACTIVE_BACKUP = 1, RESELECT_ALWAYS = 0, MIIMON_MAX_MS = 100 };
    const struct hf_guest_bond *bond = &guest->bond;
    bool is_slow = bond->miimon_ms == 0 || bond->miimon_ms > MIIMON_MAX_MS;
    unsigned faults = 0;

    if (!guest->has_helper || !guest->has_bond)
        return 0;
    if (bond->mode != ACTIVE_BACKUP)
        return HF_BOND_MODE; /* the rest is about that mode */
    if (bond->primary_reselect == RESELECT_ALWAYS)
        faults |= HF_BOND_RESELECTS;
    if (is_slow && (bond->arp_interval_ms == 0 || bond->arp_interval_ms > MIIMON_MAX_MS))
        faults |= HF_BOND_SLOW;
    return (uint8_t)faults;
}

static bool is_carrying(const struct nicbond_vm *vm, hf_fabric f)
{
    return (vm->has & (1u << f)) != 0 && vm->bond.level[f] != BOND_LEG_DOWN &&
           !vm->leg[f].wants_off;
}

void nicbond_legs_of(const struct nicbond_vm *vm, struct hf_vm_legs *legs)
{
    *legs = (struct hf_vm_legs){.uid = vm->uid, .start_no = vm->start_no, .has = vm->has};
    legs->active = HF_FABRICS_MAX;
    legs->has_helper = vm->has_guest && vm->guest.guest.has_helper;
    legs->bond_faults = vm->has_guest ? bond_faults(&vm->guest.guest) : 0;
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        if ((vm->has & (1u << f)) == 0)
            continue;
        legs->kind[f] = vm->leg[f].what.kind;
        if (is_carrying(vm, f))
            legs->up = (hf_legs)(legs->up | (1u << f));
        if (!vm->is_pair)
            legs->active = f; /* the only one */
    }
    if (vm->is_pair)
        legs->active = bond_known(&vm->bond);
}

static void tell(struct nicbond *nb, struct nicbond_vm *vm)
{
    struct hf_vm_legs legs;

    nicbond_legs_of(vm, &legs);
    if (nb->out.legs(nb->out.user, &legs))
        vm->is_dirty = false;
}

static void tell_flip(struct nicbond *nb, uint32_t order, const struct hf_flip *flip)
{
    unsigned at = (nb->untold_first + nb->untold_count) % NICBOND_UNTOLD_MAX;

    if (nb->untold_count == NICBOND_UNTOLD_MAX) {
        nb->counters.dropped++;
        return;
    }
    nb->wake_at = (hf_time){0};
    nb->untold[at].order = order;
    nb->untold[at].flip = *flip;
    nb->untold_count++;
}

static void tell_flips(struct nicbond *nb)
{
    while (nb->untold_count > 0) {
        if (!nb->out.flip(nb->out.user, nb->untold[nb->untold_first].order,
                          &nb->untold[nb->untold_first].flip))
            return;
        nb->untold_first = (uint16_t)((nb->untold_first + 1) % NICBOND_UNTOLD_MAX);
        nb->untold_count--;
    }
}

void nicbond_tell_all(struct nicbond *nb, hf_time now)
{
    for (uint16_t i = 0; i < nb->vms_end; i++) {
        if (nb->vm[i].uid == 0)
            continue;
        nb->vm[i].is_dirty = true;
        nicbond_wake(nb, &nb->vm[i], now);
    }
}

/* ---- a flip's life ---- */

static uint64_t count_sent(const struct nicbond_leg *leg)
{
    int64_t sent = leg->sent_fd >= 0 ? sysfs_fd_number(leg->sent_fd) : -1;

    return sent >= 0 ? (uint64_t)sent : leg->sent;
}

static void begin_flip(struct nicbond *nb, struct nicbond_vm *vm, bool is_gentle, uint32_t order,
                       hf_time now)
{
    hf_fabric from = vm->bond.active, to = bond_other(&vm->bond);
    const struct nicbond_pf *pf = &nb->pf[from];
    bool is_dead = pf->level == BOND_LEG_DOWN;
    struct flip_case what = {.epoch = vm->bond.epoch,
                             .uid = vm->uid,
                             .from = from,
                             .to = to,
                             .cause = is_dead ? pf->cause : HF_NIC_NONE,
                             .kind = vm->leg[from].what.kind,
                             .has_vf_link = pf->knows_vf_link != NIC_NO && pf->ifindex > 0,
                             .has_helper = vm->has_guest && vm->guest.guest.has_helper &&
                                           !hf_mac_is_none(vm->leg[to].what.mac),
                             .can_confirm = (vm->has_guest && vm->guest.guest.has_bond) ||
                                            vm->leg[to].sent_fd >= 0,
                             .may_unplug = nb->limits.may_unplug,
                             .is_gentle = is_gentle,
                             .since = is_dead ? pf->since : now,
                             .judged = is_dead ? pf->judged : now,
                             .wall = is_dead ? pf->since_wall : hf_clock_wall(),
                             .order = order,
                             .rung_ms = nb->limits.flip_deadline_ms};

    nb->counters.flips++;
    vm->leg[to].wants_off = false;
    vm->leg[to].retry_at = now;
    if (nb->pf[to].wants_down)
        nb->pf[to].wants_down = false; /* whoever needs it gets it back now */
    vm->leg[to].sent_before = count_sent(&vm->leg[to]);
    vm->leg[from].sent_before = count_sent(&vm->leg[from]);
    flip_begin(&vm->flip, &what, now);
    nicbond_wake(nb, vm, now);
}

/* A leg that is healthy has no reason to stay off once nothing leaves it. */
static void let_carry(struct nicbond *nb, struct nicbond_vm *vm, hf_time now)
{
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        if (nb->pf[f].level != BOND_LEG_UP || !vm->leg[f].wants_off)
            continue;
        vm->leg[f].wants_off = false;
        vm->leg[f].retry_at = now;
    }
}

/* A VM without any other leg that carries has no use for hold-down: what an earlier run or flip
 * left off goes on at once. A VM with one leg never has another. */
static void keep_one(struct nicbond *nb, struct nicbond_vm *vm, hf_time now)
{
    hf_fabric f = 0;

    for (hf_fabric i = 0; i < HF_FABRICS_MAX; i++) {
        if (is_carrying(vm, i))
            return;
    }
    if (vm->is_pair)
        f = vm->bond.level[vm->bond.active] != BOND_LEG_DOWN ? vm->bond.active
                                                             : bond_other(&vm->bond);
    else
        f = (vm->has & 1u) != 0 ? 0 : 1;
    if ((vm->has & (1u << f)) == 0 || !vm->leg[f].wants_off ||
        (vm->is_pair && vm->bond.level[f] == BOND_LEG_DOWN))
        return;
    vm->leg[f].wants_off = false;
    vm->leg[f].retry_at = now;
    nicbond_wake(nb, vm, now);
}

static void end_flip(struct nicbond *nb, struct nicbond_vm *vm, enum hf_flip_outcome outcome,
                     bool is_confirmed, hf_time now)
{
    const struct hf_flip *record = &vm->flip.record;
    char times[FLIP_TEXT_MAX];

    if (!vm->flip.is_running)
        return;
    flip_end(&vm->flip, outcome, is_confirmed, now);
    flip_text(&vm->flip, times);
    hf_info("vm=%s flip %llu %c -> %c %s by %s: %s", vm->name, (unsigned long long)record->epoch,
            fabric_letter[record->from], fabric_letter[record->to], hf_flip_outcome_name(outcome),
            hf_flip_method_name(record->method), times);
    tell_flip(nb, vm->flip.what.order, record);
    vm->ended_at = now;
    let_carry(nb, vm, now);
}

/* The one that no method could do is tried again; where an order was carried out, repeating it
 * changes nothing. */
static void plan_again(struct nicbond *nb, struct nicbond_vm *vm, hf_time now)
{
    vm->again_at = (hf_time){0};
    if (vm->bond.state != BOND_DOUBT) {
        vm->agains = 0;
        return;
    }
    if (!flip_is_worth_repeating(&vm->flip) || vm->agains >= NICBOND_AGAINS_MAX)
        return;
    vm->again_at = hf_time_add_ms(now, (int64_t)NICBOND_AGAIN_MS << vm->agains);
    vm->agains++;
    nicbond_wake(nb, vm, vm->again_at);
}

/* What bond.c decided is done. */
static void act(struct nicbond *nb, struct nicbond_vm *vm, const struct bond_step *step,
                uint32_t order, hf_time now)
{
    switch (step->act) {
    case BOND_ACT_NONE:
        break;
    case BOND_ACT_FLIP:
    case BOND_ACT_MOVE:
        end_flip(nb, vm, HF_FLIP_FAILED, false, now);
        begin_flip(nb, vm, step->act == BOND_ACT_MOVE, order, now);
        break;
    case BOND_ACT_ESCALATE:
        flip_escalate(&vm->flip, now);
        nicbond_wake(nb, vm, now);
        break;
    case BOND_ACT_DONE:
        end_flip(nb, vm, flip_confirmed(&vm->flip), true, now);
        break;
    case BOND_ACT_FAILED:
        end_flip(nb, vm, HF_FLIP_FAILED, false, now);
        break;
    case BOND_ACT_UNKNOWN:
        end_flip(nb, vm, HF_FLIP_UNKNOWN, false, now);
        break;
    case BOND_ACT_RESTORE:
        vm->leg[step->active].wants_off = false;
        vm->leg[step->active].retry_at = now;
        break;
    case BOND_ACT_NO_SPARE:
        hf_warning("vm=%s runs without a spare leg", vm->name);
        break;
    case BOND_ACT_LOST:
        hf_error("vm=%s both its legs are dead", vm->name);
        break;
    case BOND_ACTS:
        HF_NEVER("a count is no act");
    }
}

static void follow(struct nicbond *nb, struct nicbond_vm *vm, const struct bond_step *step,
                   uint32_t order, hf_time now)
{
    bool is_news = step->was != step->now || step->was_active != step->active;

    if (is_news)
        hf_info("vm=%s active=%c %s -> %s: %s", vm->name, fabric_letter[step->active],
                bond_state_name(step->was), bond_state_name(step->now), step->why);
    act(nb, vm, step, order, now);
    if (!is_news && step->act == BOND_ACT_NONE)
        return;
    vm->is_dirty = true;
    nicbond_wake(nb, vm, now);
    plan_again(nb, vm, now);
}

static void seen_on(struct nicbond *nb, struct nicbond_vm *vm, hf_fabric fabric, hf_time now)
{
    hf_fabric active = vm->bond.active;
    struct bond_step step;

    if (!vm->is_pair)
        return;
    /* The last words of a flip just ended, or a guest that says what it likes. */
    if (vm->bond.state == BOND_ALONE && fabric != active && vm->ended_at.ns != 0 &&
        !hf_time_reached(now, hf_time_add_ms(vm->ended_at, NICBOND_WORD_MS)))
        return;
    bond_seen(&vm->bond, fabric, nb->epoch_next, &step);
    if (step.act == BOND_ACT_FLIP)
        (void)nicbond_epoch(nb);
    follow(nb, vm, &step, 0, now);
}

/* ---- PFs ---- */

void nicbond_pf_is(struct nicbond *nb, hf_fabric fabric, const struct nic_place *place,
                   const char *driver)
{
    struct nicbond_pf *pf = &nb->pf[fabric];
    bool is_new = pf->ifindex != place->ifindex;

    pf->is_configured = true;
    (void)hf_str_copy(pf->name, sizeof pf->name, place->name);
    (void)hf_str_copy(pf->pci, sizeof pf->pci, place->pci);
    pf->ifindex = place->ifindex;
    nb->orders_at = nb->wake_at = (hf_time){0};
    if (!is_new || place->ifindex == 0)
        return;
    pf->knows_vf_link = method_vflink_is_known(driver);
    pf->is_doubtful = true; /* another life of the device: what we set may be gone */
}

void nicbond_pf_left(struct nicbond *nb, hf_fabric fabric, const struct flips_entry *entry)
{
    struct nicbond_pf *pf = &nb->pf[fabric];

    memcpy(pf->orphans, entry->vfs, sizeof pf->orphans);
    nb->orders_at = nb->wake_at = (hf_time){0};
    if (entry->is_pf_down)
        pf->admin = NICBOND_NOT_KNOWN; /* and its wish is to be up */
}

bool nicbond_pf_is_ours(const struct nicbond *nb, hf_fabric fabric)
{
    return nb->pf[fabric].wants_down || nb->pf[fabric].admin != NICBOND_ON;
}

static enum bond_level level_of(enum hf_pf state, enum bond_level before)
{
    switch (state) {
    case HF_PF_UP:
    case HF_PF_SUSPECT:
        return BOND_LEG_UP;
    case HF_PF_HOLD:
        return BOND_LEG_HELD;
    case HF_PF_DOWN:
    case HF_PF_ABSENT:
        return BOND_LEG_DOWN;
    case HF_PF_UNKNOWN:
    case HF_PFS:
        break;
    }
    return before; /* not knowing moves nothing */
}

static void leg_is(struct nicbond *nb, struct nicbond_vm *vm, hf_fabric fabric,
                   enum bond_level level, hf_time now)
{
    struct bond_step step;

    bond_leg(&vm->bond, fabric, level, nb->epoch_next, &step);
    if (step.act == BOND_ACT_FLIP)
        (void)nicbond_epoch(nb);
    if (step.was == BOND_FLIPPING && step.now == BOND_MOVING)
        flip_ease(&vm->flip); /* others may be on it again: it is not put down under them */
    follow(nb, vm, &step, 0, now);
    vm->is_dirty = true;
    nicbond_wake(nb, vm, now);
    if (level == BOND_LEG_UP && !vm->flip.is_running)
        let_carry(nb, vm, now);
    keep_one(nb, vm, now);
}

void nicbond_pf_judged(struct nicbond *nb, hf_fabric fabric, const struct nic_verdict *verdict,
                       hf_time now)
{
    struct nicbond_pf *pf = &nb->pf[fabric];
    enum bond_level level = level_of(verdict->state, pf->level);
    bool is_lower = level == BOND_LEG_DOWN && pf->level != BOND_LEG_DOWN;

    pf->state = verdict->state;
    pf->cause = verdict->cause;
    if (level == pf->level)
        return;
    if (is_lower) {
        pf->since = verdict->since.ns != 0 ? verdict->since : now;
        pf->judged = now;
        pf->since_wall = (hf_wall){hf_clock_wall().ns - (now.ns - pf->since.ns)};
    } else if (pf->level == BOND_LEG_DOWN) {
        pf->is_doubtful = true; /* a reset forgets link states: asserted again */
    }
    pf->level = level;
    nb->orders_at = nb->wake_at = now;
    for (uint16_t i = 0; i < nb->vms_end; i++) {
        struct nicbond_vm *vm = &nb->vm[i];

        if (vm->uid == 0 || (vm->has & (1u << fabric)) == 0)
            continue;
        if (vm->is_pair) {
            leg_is(nb, vm, fabric, level, now);
        } else {
            vm->bond.level[fabric] = level;
            vm->is_dirty = true;
            nicbond_wake(nb, vm, now);
        }
    }
}

/* ---- guests ---- */

/* The descriptor comes and goes within guest_socket's calls: told to epoll after each. */
static void poll_guest(struct nicbond *nb, struct nicbond_vm *vm)
{
    struct pollfd want = guest_socket_poll(&vm->guest);
    struct epoll_event ev = {.data = {.u64 = (uint64_t)(vm - nb->vm)}};

    if (nb->epoll_fd < 0 || want.fd < 0)
        return;
    ev.events = ((want.events & POLLIN) != 0 ? (uint32_t)EPOLLIN : 0u) |
                ((want.events & POLLOUT) != 0 ? (uint32_t)EPOLLOUT : 0u);
    if (epoll_ctl(nb->epoll_fd, EPOLL_CTL_MOD, want.fd, &ev) != 0)
        (void)epoll_ctl(nb->epoll_fd, EPOLL_CTL_ADD, want.fd, &ev);
}

static hf_fabric fabric_of(const struct nicbond_vm *vm, hf_mac mac)
{
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        if ((vm->has & (1u << f)) != 0 && hf_mac_is_equal(vm->leg[f].what.mac, mac))
            return f;
    }
    return HF_FABRICS_MAX;
}

/* What the guest has said since we last listened. */
static void hear_guest(struct nicbond *nb, struct nicbond_vm *vm, hf_time now)
{
    struct guest_answer answer;

    if (guest_answer(&vm->guest.guest, &answer) && vm->flip.is_running &&
        answer.number == vm->flip.what.epoch) {
        enum flip_rung worth = method_guest_worth(&answer);

        nicbond_rung_ended(nb, vm, HF_FLIP_GUEST, worth, now);
        if (worth == FLIP_RUNG_DONE && fabric_of(vm, answer.mac) == vm->flip.what.to)
            seen_on(nb, vm, vm->flip.what.to, now);
    }
    if (vm->guest.guest.has_bond && vm->guest.guest.bond_at.ns != vm->bond_at.ns) {
        hf_mac mac = guest_active_mac(&vm->guest.guest);
        hf_fabric fabric = hf_mac_is_none(mac) ? HF_FABRICS_MAX : fabric_of(vm, mac);

        vm->bond_at = vm->guest.guest.bond_at;
        if (fabric < HF_FABRICS_MAX)
            seen_on(nb, vm, fabric, now);
    }
}

static void tick_guest(struct nicbond *nb, struct nicbond_vm *vm, hf_time now)
{
    bool had = vm->guest.guest.has_helper;

    vm->guest_at = guest_socket_tick(&vm->guest, now);
    poll_guest(nb, vm);
    hear_guest(nb, vm, now);
    if (had != vm->guest.guest.has_helper)
        vm->is_dirty = true;
}

void nicbond_guest_ready(struct nicbond *nb, uint16_t slot, uint32_t events, hf_time now)
{
    struct nicbond_vm *vm = slot < HF_VMS_MAX ? &nb->vm[slot] : NULL;
    short revents =
        (short)(((events & EPOLLIN) != 0 ? POLLIN : 0) | ((events & EPOLLOUT) != 0 ? POLLOUT : 0) |
                ((events & EPOLLHUP) != 0 ? POLLHUP : 0) |
                ((events & EPOLLERR) != 0 ? POLLERR : 0));

    if (vm == NULL || vm->uid == 0 || !vm->has_guest)
        return;
    guest_socket_ready(&vm->guest, revents, now);
    tick_guest(nb, vm, now);
    nicbond_wake(nb, vm, now);
}

/* ---- VMs ---- */

void nicbond_vm_gone(struct nicbond *nb, hf_vm_uid uid, hf_time now)
{
    struct nicbond_vm *vm = nicbond_find(nb, uid);

    if (vm == NULL)
        return;
    end_flip(nb, vm, HF_FLIP_FAILED, false, now);
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        struct nicbond_leg *leg = &vm->leg[f];

        /* Its VF has no VM any more, and must not stay off for the next one. */
        if (leg->what.kind == HF_LEG_VF && leg->is != NICBOND_ON)
            nb->pf[f].orphans[leg->what.vf / 8] |= (uint8_t)(1u << (leg->what.vf % 8));
        close_fd(&leg->sent_fd);
    }
    if (vm->has_guest)
        guest_socket_close(&vm->guest, now);
    hf_info("vm=%s is not here any more", vm->name);
    memset(vm, 0, sizeof *vm);
    nb->due[vm - nb->vm] = INT64_MAX;
    nb->orders_at = nb->wake_at = now;
}

static void take_leg(struct nicbond *nb, struct nicbond_vm *vm, hf_fabric f,
                     const struct nicbond_news *news)
{
    struct nicbond_leg *leg = &vm->leg[f];
    struct nicbond_pf *pf = &nb->pf[f];

    *leg = (struct nicbond_leg){.what = news->leg[f], .sent_fd = news->sent_fd[f]};
    if (leg->what.kind == HF_LEG_NONE)
        return;
    vm->has = (hf_legs)(vm->has | (1u << f));
    leg->sent = count_sent(leg);
    leg->has_sent = leg->sent_fd >= 0;
    /* Off since an earlier run, or since an earlier owner: it stays so until its PF is well. */
    if (leg->what.kind == HF_LEG_VF &&
        (pf->orphans[leg->what.vf / 8] & (1u << (leg->what.vf % 8))) != 0) {
        pf->orphans[leg->what.vf / 8] &= (uint8_t) ~(1u << (leg->what.vf % 8));
        leg->is = NICBOND_OFF;
    }
    if (leg->what.kind != HF_LEG_VF && news->is_ours_off[f])
        leg->is = NICBOND_OFF;
    leg->is_moved = leg->is == NICBOND_OFF;
    leg->wants_off = leg->is == NICBOND_OFF && pf->level != BOND_LEG_UP;
}

static bool is_same_leg(const struct legs_leg *a, const struct legs_leg *b)
{
    return a->kind == b->kind && hf_mac_is_equal(a->mac, b->mac) && a->vf == b->vf &&
           strcmp(a->pci, b->pci) == 0 && strcmp(a->device, b->device) == 0;
}

static bool is_same(const struct nicbond_vm *vm, const struct nicbond_news *news)
{
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        if (!is_same_leg(&vm->leg[f].what, &news->leg[f]))
            return false;
    }
    return vm->start_no == news->start_no && strcmp(vm->name, news->name) == 0 &&
           strcmp(vm->has_guest ? vm->guest.path : "", news->guest) == 0;
}

static void close_news(const struct nicbond_news *news)
{
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        if (news->sent_fd[f] >= 0)
            close(news->sent_fd[f]);
    }
}

static void take_pair(struct nicbond *nb, struct nicbond_vm *vm, hf_time now)
{
    enum bond_level level[HF_FABRICS_MAX] = {nb->pf[0].level, nb->pf[1].level};

    vm->bond.level[0] = level[0];
    vm->bond.level[1] = level[1];
    vm->is_pair = vm->has == (1u << HF_FABRICS_MAX) - 1;
    if (!vm->is_pair)
        return;
    bond_start(&vm->bond, HF_FABRICS_MAX, level);
    hf_info("vm=%s legs a=%s b=%s: %s", vm->name, hf_leg_kind_name(vm->leg[0].what.kind),
            hf_leg_kind_name(vm->leg[1].what.kind), bond_state_name(vm->bond.state));
    /* One leg is dead: whoever is on it is to leave it. Confirmed at once where it is not. */
    if (vm->bond.state == BOND_ALONE) {
        struct bond_step step;

        bond_seen(&vm->bond, bond_other(&vm->bond), nb->epoch_next, &step);
        (void)nicbond_epoch(nb);
        follow(nb, vm, &step, 0, now);
    }
}

bool nicbond_vm_here(struct nicbond *nb, const struct nicbond_news *news, hf_time now)
{
    struct nicbond_vm *vm = nicbond_find(nb, news->uid);
    struct hf_err err;

    if (vm != NULL && is_same(vm, news)) {
        close_news(news);
        vm->priority = news->priority;
        return true;
    }
    if (vm != NULL)
        nicbond_vm_gone(nb, news->uid, now);
    vm = empty_slot(nb);
    if (vm == NULL) {
        close_news(news);
        return false;
    }
    vm->uid = news->uid;
    vm->start_no = news->start_no;
    vm->priority = news->priority;
    (void)hf_str_copy(vm->name, sizeof vm->name, news->name);
    nb->due[vm - nb->vm] = INT64_MAX;
    nicbond_wake(nb, vm, now);
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        take_leg(nb, vm, f, news);
    vm->has_guest =
        news->guest[0] != '\0' && guest_socket_open(&vm->guest, news->guest, now, &err) == HF_OK;
    take_pair(nb, vm, now);
    keep_one(nb, vm, now);
    if (vm->has_guest)
        poll_guest(nb, vm);
    vm->is_dirty = true;
    vm->look_at = now;
    return true;
}

/* ---- orders of people ---- */

static void refuse_order(struct nicbond *nb, hf_vm_uid uid, hf_fabric to, uint32_t number,
                         enum hf_flip_outcome outcome, const char *why)
{
    struct hf_flip flip = {.epoch = nicbond_epoch(nb),
                           .uid = uid,
                           .from = (hf_fabric)(1 - to),
                           .to = to,
                           .outcome = outcome,
                           .ordered_us = UINT32_MAX,
                           .confirmed_us = UINT32_MAX,
                           .wall_ns = hf_clock_wall().ns};

    hf_info("vm uid=%u order %u onto %c: %s: %s", uid, number, fabric_letter[to],
            hf_flip_outcome_name(outcome), why);
    tell_flip(nb, number, &flip);
}

void nicbond_ordered(struct nicbond *nb, hf_vm_uid uid, hf_fabric to, uint32_t number, hf_time now)
{
    struct nicbond_vm *vm = nicbond_find(nb, uid);
    struct bond_step step;

    if (to >= HF_FABRICS_MAX)
        return;
    if (vm == NULL || !vm->is_pair) {
        refuse_order(nb, uid, to, number, HF_FLIP_FAILED,
                     vm == NULL ? "no such VM runs here" : "it has one leg only");
        return;
    }
    if (bond_known(&vm->bond) == to && !bond_is_flipping(&vm->bond)) {
        refuse_order(nb, uid, to, number, HF_FLIP_ALREADY, "its traffic is there");
        return;
    }
    bond_order(&vm->bond, to, nb->epoch_next, &step);
    if (step.act != BOND_ACT_MOVE) {
        refuse_order(nb, uid, to, number, HF_FLIP_FAILED, step.why);
        return;
    }
    (void)nicbond_epoch(nb);
    follow(nb, vm, &step, number, now);
}

/* ---- every round ---- */

void nicbond_rung_ended(struct nicbond *nb, struct nicbond_vm *vm, enum hf_flip_method method,
                        enum flip_rung how, hf_time now)
{
    if (flip_answered(&vm->flip, method, how, now))
        nicbond_wake(nb, vm, now);
}

/* The guest's helper is ordered here: it needs no worker. */
static void order_guest(struct nicbond *nb, struct nicbond_vm *vm, hf_time now)
{
    enum flip_rung rung;

    if (!flip_wants(&vm->flip, HF_FLIP_GUEST))
        return;
    rung = method_guest_order(vm->has_guest ? &vm->guest : NULL, vm->flip.what.epoch,
                              vm->leg[vm->flip.what.to].what.mac, now);
    if (rung != FLIP_RUNG_OUT) {
        nicbond_rung_ended(nb, vm, HF_FLIP_GUEST, FLIP_RUNG_REFUSED, now);
        return;
    }
    nb->counters.orders++;
    flip_ordered(&vm->flip, HF_FLIP_GUEST, now);
    poll_guest(nb, vm);
    vm->guest_at = now;
}

/* While a flip runs: has the guest sent by the leg it is to go to, and by the old one no more
 * since? A leg's own IPv6 chatter is no traffic of the bond. */
static void watch_flip(struct nicbond *nb, struct nicbond_vm *vm, hf_time now)
{
    struct nicbond_leg *to = &vm->leg[vm->flip.what.to], *from = &vm->leg[vm->flip.what.from];
    uint64_t sent, before;

    if (to->sent_fd < 0)
        return;
    sent = count_sent(to);
    before = from->sent_before;
    from->sent_before = count_sent(from);
    if (from->sent_before != before)
        to->sent_before = sent;
    if (sent >= to->sent_before + NICBOND_PROOF_PACKETS)
        seen_on(nb, vm, vm->flip.what.to, now);
}

/* Now and then: by which leg does it send, and by no other? */
static void look(struct nicbond *nb, struct nicbond_vm *vm, hf_time now)
{
    bool has_moved[HF_FABRICS_MAX] = {false, false};

    vm->look_at = hf_time_add_ms(now, NICBOND_LOOK_MS);
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        struct nicbond_leg *leg = &vm->leg[f];
        uint64_t sent = count_sent(leg);

        has_moved[f] = leg->has_sent && sent >= leg->sent + NICBOND_PROOF_PACKETS;
        leg->sent = sent;
    }
    if (vm->flip.is_running || has_moved[0] == has_moved[1])
        return;
    if (vm->has_guest && vm->guest.guest.has_bond)
        return; /* it knows better */
    seen_on(nb, vm, has_moved[0] ? 0 : 1, now);
}

static void try_again(struct nicbond *nb, struct nicbond_vm *vm, hf_time now)
{
    struct bond_step step;

    vm->again_at = (hf_time){0};
    bond_again(&vm->bond, nb->epoch_next, &step);
    if (step.act == BOND_ACT_FLIP)
        (void)nicbond_epoch(nb);
    follow(nb, vm, &step, 0, now);
}

static hf_time earlier(hf_time a, hf_time b)
{
    return a.ns < b.ns ? a : b;
}

static void run_vm(struct nicbond *nb, struct nicbond_vm *vm, hf_time now)
{
    enum bond_event how;
    struct bond_step step;
    hf_time next = {INT64_MAX};

    if (vm->has_guest && hf_time_reached(now, vm->guest_at))
        tick_guest(nb, vm, now);
    if (vm->is_pair && hf_time_reached(now, vm->look_at))
        look(nb, vm, now);
    order_guest(nb, vm, now);
    if (vm->flip.is_running)
        watch_flip(nb, vm, now);
    if (flip_tick(&vm->flip, now, &how) && bond_ended(&vm->bond, vm->flip.what.epoch, how, &step))
        follow(nb, vm, &step, 0, now);
    if (vm->again_at.ns != 0 && hf_time_reached(now, vm->again_at))
        try_again(nb, vm, now);
    if (vm->is_dirty)
        tell(nb, vm);
    if (vm->has_guest)
        next = earlier(next, vm->guest_at);
    if (vm->is_pair)
        next = earlier(next, vm->look_at);
    if (vm->again_at.ns != 0)
        next = earlier(next, vm->again_at);
    /* A flip that runs is watched every round, and so is what could not be told. */
    nb->due[vm - nb->vm] = vm->flip.is_running || vm->is_dirty ? now.ns : next.ns;
}

/* The earliest of everything that waits for its time. */
static hf_time next_of(const struct nicbond *nb)
{
    hf_time next = earlier(nb->orders_at, nb->probe_at);

    next = earlier(next, earlier(helper_deadline(&nb->pf_pool), helper_deadline(&nb->vm_pool)));
    for (uint16_t i = 0; i < nb->vms_end; i++) {
        if (nb->vm[i].uid != 0 && nb->due[i] < next.ns)
            next.ns = nb->due[i];
    }
    if (nb->untold_count > 0)
        next.ns = 0;
    return next;
}

void nicbond_round(struct nicbond *nb, hf_time now)
{
    if (!hf_time_reached(now, nb->wake_at))
        return;
    nicbond_answers(nb, now);
    for (uint16_t i = 0; i < nb->vms_end; i++) {
        if (nb->due[i] <= now.ns && nb->vm[i].uid != 0)
            run_vm(nb, &nb->vm[i], now);
    }
    nicbond_orders(nb, now);
    tell_flips(nb);
    nb->wake_at = next_of(nb);
}

void nicbond_close(struct nicbond *nb, hf_time now)
{
    for (uint16_t i = 0; i < nb->vms_end; i++) {
        struct nicbond_vm *vm = &nb->vm[i];

        if (vm->uid == 0)
            continue;
        for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
            close_fd(&vm->leg[f].sent_fd);
        if (vm->has_guest)
            guest_socket_close(&vm->guest, now);
    }
    helper_pool_close(&nb->pf_pool);
    helper_pool_close(&nb->vm_pool);
}
