/* nicbond_order.c - from what differs to orders, and from answers to what is known: the switches of
 * legs, the PFs' admin state, and the probe of RTNL. */
#include "nicbond/nicbond.h"

#include <string.h>

#include "nicbond/look.h"
#include "supervisord/base/assert.h"
#include "supervisord/base/log.h"
#include "supervisord/base/str.h"

enum {
    BUDGET_PART = 10
}; /* a worker gives up a tenth of the deadline before it: its answer travels */

#define PROBE_BIT (1ULL << 63) /* numbers of probes are none of a flip's */

/* ---- orders that are out ---- */

static struct nicbond_order *order_of(struct nicbond *nb, uint64_t number)
{
    for (unsigned i = 0; i < NICBOND_ORDERS_MAX; i++) {
        if (nb->order[i].number == number)
            return &nb->order[i];
    }
    return NULL;
}

static void again_by(struct nicbond *nb, hf_time at)
{
    if (at.ns < nb->orders_at.ns)
        nb->orders_at = at;
    if (at.ns < nb->wake_at.ns)
        nb->wake_at = at;
}

/* False: no worker could take it now. */
static bool put(struct nicbond *nb, struct helper_pool *pool, const struct nicbond_order *order,
                const uint8_t *bytes, size_t len, uint32_t deadline_ms, hf_time now)
{
    struct nicbond_order *slot = order_of(nb, 0);
    enum hf_code code = HF_EAGAIN;
    struct hf_err err;

    for (unsigned i = 0; slot != NULL && i < HELPER_WORKERS_MAX; i++) {
        code = helper_put(pool, order->number, bytes, len, now, hf_time_add_ms(now, deadline_ms),
                          &err);
        if (code != HF_ECLOSED)
            break; /* a dead worker leaves the pool: the next one */
    }
    if (code != HF_OK) {
        again_by(nb, hf_time_add_ms(now, 1));
        return false;
    }
    *slot = *order;
    nb->counters.orders++;
    return true;
}

static void wait_longer(struct nicbond_leg *leg, hf_time now)
{
    leg->retry_ms = leg->retry_ms == 0 ? NICBOND_RETRY_MS : 2 * leg->retry_ms;
    if (leg->retry_ms > NICBOND_RETRY_MAX_MS)
        leg->retry_ms = NICBOND_RETRY_MAX_MS;
    leg->retry_at = hf_time_add_ms(now, leg->retry_ms);
}

/* ---- links of VFs ---- */

static bool has_vf(const struct nicbond_vm *vm, hf_fabric f)
{
    return vm->uid != 0 && (vm->has & (1u << f)) != 0 && vm->leg[f].what.kind == HF_LEG_VF;
}

/* A flip from this leg that wants the VF's link: then the leg is wanted off. */
static bool is_flip_on(const struct nicbond_vm *vm, hf_fabric f, enum hf_flip_method method)
{
    return vm->flip.what.from == f && flip_wants(&vm->flip, method);
}

static void wish(struct nicbond *nb, struct nicbond_vm *vm, hf_fabric f, hf_time now)
{
    struct nicbond_leg *leg = &vm->leg[f];
    enum hf_flip_method method = leg->what.kind == HF_LEG_VF ? HF_FLIP_VF_LINK : HF_FLIP_LINK;

    if (!is_flip_on(vm, f, method))
        return;
    leg->wants_off = true;
    leg->retry_at = now;
    if (leg->is == NICBOND_OFF && !leg->is_out)
        nicbond_rung_ended(nb, vm, method, FLIP_RUNG_DONE, now);
}

static bool is_due(struct nicbond *nb, const struct nicbond_leg *leg, bool is_off, hf_time now)
{
    enum nicbond_switch wanted = is_off ? NICBOND_OFF : NICBOND_ON;

    if (leg->wants_off != is_off || leg->is == wanted || leg->is_out)
        return false;
    if (hf_time_reached(now, leg->retry_at))
        return true;
    again_by(nb, leg->retry_at);
    return false;
}

static bool is_before(const struct nicbond_vm *a, const struct nicbond_vm *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->uid < b->uid;
}

/* VMs whose VF link is to change, the most important first. */
static uint16_t gather(struct nicbond *nb, hf_fabric f, bool is_off, hf_time now,
                       uint16_t slot[HF_VMS_MAX])
{
    uint16_t count = 0;

    for (uint16_t i = 0; i < nb->vms_end && count < VF_COUNT_MAX; i++) {
        uint16_t at = count;

        if (!has_vf(&nb->vm[i], f) || !is_due(nb, &nb->vm[i].leg[f], is_off, now))
            continue;
        for (; at > 0 && is_before(&nb->vm[i], &nb->vm[slot[at - 1]]); at--)
            slot[at] = slot[at - 1];
        slot[at] = i;
        count++;
    }
    return count;
}

static uint16_t gather_orphans(struct nicbond *nb, struct nicbond_pf *pf, hf_time now,
                               struct method_pf *order)
{
    uint16_t count = 0;

    if (!hf_time_reached(now, pf->orphans_at))
        return 0;
    for (uint16_t v = 0; v < VF_COUNT_MAX && order->vfs_count < VF_COUNT_MAX; v++) {
        if ((pf->orphans[v / 8] & (1u << (v % 8))) == 0)
            continue;
        pf->sent_uid[order->vfs_count] = 0;
        order->vf[order->vfs_count++] = v;
        count++;
    }
    if (count > 0) {
        pf->orphans_at = hf_time_add_ms(now, NICBOND_RETRY_MAX_MS);
        again_by(nb, pf->orphans_at);
    }
    return count;
}

/* Every VF of the PF that is off, or may be, once the order is carried out. */
static void set_off(struct nicbond *nb, hf_fabric f, struct method_pf *order)
{
    memcpy(order->off, nb->pf[f].orphans, sizeof order->off);
    for (uint16_t i = 0; i < nb->vms_end; i++) {
        const struct nicbond_leg *leg = &nb->vm[i].leg[f];

        if (has_vf(&nb->vm[i], f) && (leg->wants_off || leg->is != NICBOND_ON))
            order->off[leg->what.vf / 8] |= (uint8_t)(1u << (leg->what.vf % 8));
    }
    for (uint16_t i = 0; !order->is_off && i < order->vfs_count; i++)
        order->off[order->vf[i] / 8] &= (uint8_t) ~(1u << (order->vf[i] % 8));
}

static void send_links(struct nicbond *nb, hf_fabric f, bool is_off, hf_time now)
{
    struct nicbond_pf *pf = &nb->pf[f];
    struct method_pf order = {.job = METHOD_VF_LINK,
                              .fabric = f,
                              .ifindex = pf->ifindex,
                              .is_off = is_off,
                              .is_down = pf->admin != NICBOND_ON};
    uint32_t deadline = nb->limits.flip_deadline_ms;
    struct nicbond_order slot = {.job = METHOD_VF_LINK, .fabric = f, .is_off = is_off};
    uint8_t bytes[HELPER_ORDER_MAX];
    uint16_t who[HF_VMS_MAX], count = gather(nb, f, is_off, now, who);

    for (uint16_t i = 0; i < count; i++) {
        order.vf[order.vfs_count] = nb->vm[who[i]].leg[f].what.vf;
        pf->sent_uid[order.vfs_count++] = nb->vm[who[i]].uid;
    }
    if (!is_off)
        (void)gather_orphans(nb, pf, now, &order);
    if (order.vfs_count == 0)
        return;
    order.budget_ms = deadline - deadline / BUDGET_PART;
    (void)hf_str_copy(order.pci, sizeof order.pci, pf->pci);
    set_off(nb, f, &order);
    order.epoch = slot.number = nicbond_epoch(nb);
    if (!put(nb, &nb->pf_pool, &slot, bytes, method_pf_encode(&order, bytes, sizeof bytes),
             deadline, now))
        return;
    pf->order = slot.number;
    pf->sent_count = order.vfs_count;
    memcpy(pf->sent_vf, order.vf, sizeof pf->sent_vf);
    for (uint16_t i = 0; i < count; i++) {
        struct nicbond_vm *vm = &nb->vm[who[i]];

        vm->leg[f].is = NICBOND_NOT_KNOWN;
        vm->leg[f].is_out = vm->leg[f].is_moved = true;
        if (is_off && is_flip_on(vm, f, HF_FLIP_VF_LINK))
            flip_ordered(&vm->flip, HF_FLIP_VF_LINK, now);
    }
}

/* This PF's driver has no link state: nothing was ever off by it. */
static void forget_links(struct nicbond *nb, hf_fabric f, hf_time now)
{
    memset(nb->pf[f].orphans, 0, sizeof nb->pf[f].orphans);
    for (uint16_t i = 0; i < nb->vms_end; i++) {
        struct nicbond_vm *vm = &nb->vm[i];

        if (!has_vf(vm, f))
            continue;
        vm->leg[f].is = NICBOND_ON;
        vm->leg[f].wants_off = false;
        if (is_flip_on(vm, f, HF_FLIP_VF_LINK))
            nicbond_rung_ended(nb, vm, HF_FLIP_VF_LINK, FLIP_RUNG_REFUSED, now);
    }
}

static void order_links(struct nicbond *nb, hf_fabric f, hf_time now)
{
    struct nicbond_pf *pf = &nb->pf[f];

    if (pf->ifindex <= 0 || pf->order != 0)
        return;
    if (pf->knows_vf_link == NIC_NO) {
        forget_links(nb, f, now);
        return;
    }
    for (uint16_t i = 0; i < nb->vms_end; i++) {
        struct nicbond_vm *vm = &nb->vm[i];

        if (!has_vf(vm, f))
            continue;
        if (pf->is_doubtful && vm->leg[f].is_moved) {
            vm->leg[f].is = NICBOND_NOT_KNOWN;
            vm->leg[f].retry_at = now;
        }
        wish(nb, vm, f, now);
    }
    pf->is_doubtful = false;
    send_links(nb, f, true, now);
    if (pf->order == 0)
        send_links(nb, f, false, now);
}

/* How one VF of an order ended. */
static void link_ended(struct nicbond *nb, hf_fabric f, uint16_t nth, bool is_off,
                       enum flip_rung rung, hf_time now)
{
    struct nicbond_pf *pf = &nb->pf[f];
    struct nicbond_vm *vm = pf->sent_uid[nth] != 0 ? nicbond_find(nb, pf->sent_uid[nth]) : NULL;
    uint16_t vf = pf->sent_vf[nth];

    if (vm == NULL || !has_vf(vm, f) || vm->leg[f].what.vf != vf) {
        /* Nobody's: it is on again, or there is no such VF any more. */
        if (!is_off && rung != FLIP_RUNG_LATE)
            pf->orphans[vf / 8] &= (uint8_t) ~(1u << (vf % 8));
        else
            pf->orphans[vf / 8] |= (uint8_t)(1u << (vf % 8));
        pf->orphans_at = now;
        return;
    }
    vm->leg[f].is_out = false;
    vm->leg[f].is = NICBOND_NOT_KNOWN;
    if (rung == FLIP_RUNG_DONE) {
        vm->leg[f].is = is_off ? NICBOND_OFF : NICBOND_ON;
        vm->leg[f].retry_ms = 0;
        vm->leg[f].retry_at = now;
    } else {
        wait_longer(&vm->leg[f], now);
    }
    if (is_off && vm->flip.what.from == f)
        nicbond_rung_ended(nb, vm, HF_FLIP_VF_LINK, rung, now);
    vm->is_dirty = true;
    nicbond_wake(nb, vm, now);
}

/* `done` NULL: nobody knows. */
static void links_ended(struct nicbond *nb, const struct nicbond_order *order,
                        const struct method_done *done, hf_time now)
{
    struct nicbond_pf *pf = &nb->pf[order->fabric];

    if (pf->order != order->number)
        return;
    pf->order = 0;
    for (uint16_t i = 0; i < pf->sent_count; i++) {
        enum flip_rung rung = FLIP_RUNG_LATE;

        if (done != NULL && done->vfs_count == pf->sent_count)
            rung = (enum flip_rung)done->vf[i];
        link_ended(nb, order->fabric, i, order->is_off, rung, now);
    }
    if (done != NULL && done->rung != FLIP_RUNG_DONE) {
        nb->counters.refused += done->rung == FLIP_RUNG_REFUSED;
        hf_warning("nic %s: link of %u VFs to %s: %s: %s", pf->name, pf->sent_count,
                   order->is_off ? "disable" : "auto", flip_rung_name(done->rung), done->why);
    }
    if (done != NULL && done->is_unsupported) {
        pf->knows_vf_link = NIC_NO;
        forget_links(nb, order->fabric, now);
    }
}

/* ---- PFs down and up ---- */

/* When a PF that we put down has been so for long enough. A VM with no other leg is not kept off
 * for a hold-down: only until the others' VFs have noticed. */
static hf_time up_again_at(const struct nicbond *nb, hf_fabric f)
{
    uint32_t wait_ms = nb->limits.hold_down_ms;

    for (uint16_t i = 0; i < nb->vms_end; i++) {
        const struct nicbond_vm *vm = &nb->vm[i];

        if (vm->uid != 0 && vm->has == (1u << f) && wait_ms > NICBOND_NOTICE_MS)
            wait_ms = NICBOND_NOTICE_MS;
    }
    return hf_time_add_ms(nb->pf[f].down_since, wait_ms);
}

/* Who still needs the PF away, and does somebody need it back? */
static void wish_admin(struct nicbond *nb, hf_fabric f, hf_time now)
{
    struct nicbond_pf *pf = &nb->pf[f];
    hf_time up_at = up_again_at(nb, f);
    bool is_lost = false, is_wanted = false;

    for (uint16_t i = 0; i < nb->vms_end; i++) {
        struct nicbond_vm *vm = &nb->vm[i];

        if (vm->uid == 0 || !vm->is_pair)
            continue;
        is_lost = is_lost || vm->bond.state == BOND_LOST;
        if (!is_flip_on(vm, f, HF_FLIP_PF_DOWN))
            continue;
        if (pf->admin == NICBOND_OFF && pf->admin_order == 0) {
            nicbond_rung_ended(nb, vm, HF_FLIP_PF_DOWN, FLIP_RUNG_DONE, now);
            continue;
        }
        pf->wants_down = is_wanted = true;
        pf->admin_at = now;
    }
    /* What no worker could take ends with the flip, or with its need for it. */
    if (!is_wanted && pf->admin == NICBOND_ON && pf->admin_order == 0)
        pf->wants_down = false;
    /* Nothing can be seen of a wire while its PF is down, so it is up again after the hold-down
     * time, and at once when a VM has nothing else. */
    if (pf->admin == NICBOND_OFF && (is_lost || hf_time_reached(now, up_at)))
        pf->wants_down = false;
    if (pf->admin == NICBOND_OFF && pf->wants_down)
        again_by(nb, up_at);
}

static void order_admin(struct nicbond *nb, hf_fabric f, hf_time now)
{
    struct nicbond_pf *pf = &nb->pf[f];
    struct method_pf order = {.job = METHOD_PF_ADMIN, .fabric = f, .ifindex = pf->ifindex};
    struct nicbond_order slot = {.job = METHOD_PF_ADMIN, .fabric = f};
    uint8_t bytes[HELPER_ORDER_MAX];

    wish_admin(nb, f, now);
    if (pf->ifindex <= 0 || pf->admin_order != 0 ||
        pf->admin == (pf->wants_down ? NICBOND_OFF : NICBOND_ON))
        return;
    if (!hf_time_reached(now, pf->admin_at)) {
        again_by(nb, pf->admin_at);
        return;
    }
    order.is_off = slot.is_off = pf->wants_down;
    order.is_down = order.is_off;
    (void)hf_str_copy(order.pci, sizeof order.pci, pf->pci);
    set_off(nb, f, &order);
    order.epoch = slot.number = nicbond_epoch(nb);
    if (!put(nb, &nb->pf_pool, &slot, bytes, method_pf_encode(&order, bytes, sizeof bytes),
             nb->limits.flip_deadline_ms, now))
        return;
    pf->admin_order = slot.number;
    pf->admin = NICBOND_NOT_KNOWN;
    for (uint16_t i = 0; slot.is_off && i < nb->vms_end; i++) {
        if (nb->vm[i].uid != 0 && is_flip_on(&nb->vm[i], f, HF_FLIP_PF_DOWN))
            flip_ordered(&nb->vm[i].flip, HF_FLIP_PF_DOWN, now);
    }
}

static void admin_ended(struct nicbond *nb, const struct nicbond_order *order, enum flip_rung rung,
                        const char *why, hf_time now)
{
    struct nicbond_pf *pf = &nb->pf[order->fabric];

    if (pf->admin_order != order->number)
        return;
    pf->admin_order = 0;
    if (rung == FLIP_RUNG_DONE) {
        pf->admin = order->is_off ? NICBOND_OFF : NICBOND_ON;
        pf->admin_ms = 0;
        pf->down_since = now;
        pf->is_doubtful = !order->is_off;
        hf_warning("nic %s: put %s", pf->name,
                   order->is_off ? "down: its VFs' links cannot be set" : "up again");
    } else {
        pf->admin_ms = pf->admin_ms == 0 ? NICBOND_RETRY_MS : 2 * pf->admin_ms;
        if (pf->admin_ms > NICBOND_RETRY_MAX_MS)
            pf->admin_ms = NICBOND_RETRY_MAX_MS;
        pf->admin_at = hf_time_add_ms(now, pf->admin_ms);
        pf->wants_down = false;
        hf_warning("nic %s: put %s: %s: %s", pf->name, order->is_off ? "down" : "up",
                   flip_rung_name(rung), why);
    }
    for (uint16_t i = 0; order->is_off && i < nb->vms_end; i++) {
        struct nicbond_vm *vm = &nb->vm[i];

        if (vm->uid != 0 && vm->flip.what.from == order->fabric)
            nicbond_rung_ended(nb, vm, HF_FLIP_PF_DOWN, rung, now);
    }
}

/* ---- links of virtio NICs, and unplugging ---- */

static bool put_vm(struct nicbond *nb, struct nicbond_vm *vm, hf_fabric f, enum method_job job,
                   bool is_off, hf_time now)
{
    struct method_vm order = {.job = job, .is_off = is_off, .mac = vm->leg[f].what.mac};
    struct nicbond_order slot = {.job = job, .fabric = f, .uid = vm->uid, .is_off = is_off};
    uint8_t bytes[HELPER_ORDER_MAX];

    (void)hf_str_copy(order.name, sizeof order.name, vm->name);
    slot.number = nicbond_epoch(nb);
    return put(nb, &nb->vm_pool, &slot, bytes, method_vm_encode(&order, bytes, sizeof bytes),
               job == METHOD_UNPLUG ? FLIP_UNPLUG_MS : nb->limits.flip_deadline_ms, now);
}

static void order_link(struct nicbond *nb, struct nicbond_vm *vm, hf_fabric f, hf_time now)
{
    struct nicbond_leg *leg = &vm->leg[f];

    wish(nb, vm, f, now);
    if (!is_due(nb, leg, leg->wants_off, now) ||
        !put_vm(nb, vm, f, METHOD_LINK, leg->wants_off, now))
        return;
    leg->is = NICBOND_NOT_KNOWN;
    leg->is_out = leg->is_moved = true;
    if (leg->wants_off && is_flip_on(vm, f, HF_FLIP_LINK))
        flip_ordered(&vm->flip, HF_FLIP_LINK, now);
}

static void order_unplug(struct nicbond *nb, struct nicbond_vm *vm, hf_time now)
{
    if (!flip_wants(&vm->flip, HF_FLIP_UNPLUG))
        return;
    if (put_vm(nb, vm, vm->flip.what.from, METHOD_UNPLUG, true, now))
        flip_ordered(&vm->flip, HF_FLIP_UNPLUG, now);
}

static void order_vms(struct nicbond *nb, hf_time now)
{
    uint16_t slot[HF_VMS_MAX], count = 0;

    for (uint16_t i = 0; i < nb->vms_end; i++) {
        uint16_t at = count;

        if (nb->vm[i].uid == 0)
            continue;
        for (; at > 0 && is_before(&nb->vm[i], &nb->vm[slot[at - 1]]); at--)
            slot[at] = slot[at - 1];
        slot[at] = i;
        count++;
    }
    for (uint16_t i = 0; i < count; i++) {
        struct nicbond_vm *vm = &nb->vm[slot[i]];

        for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
            if ((vm->has & (1u << f)) != 0 && vm->leg[f].what.kind != HF_LEG_VF)
                order_link(nb, vm, f, now);
        }
        order_unplug(nb, vm, now);
    }
}

static void vm_ended(struct nicbond *nb, const struct nicbond_order *order, enum flip_rung rung,
                     const char *why, hf_time now)
{
    struct nicbond_vm *vm = nicbond_find(nb, order->uid);
    struct nicbond_leg *leg = vm != NULL ? &vm->leg[order->fabric] : NULL;

    if (rung != FLIP_RUNG_DONE) {
        nb->counters.refused += rung == FLIP_RUNG_REFUSED;
        hf_warning("vm=%s %s: %s: %s", vm != NULL ? vm->name : "?",
                   order->job == METHOD_LINK ? "link" : "unplug", flip_rung_name(rung), why);
    }
    if (vm == NULL)
        return;
    nicbond_wake(nb, vm, now);
    if (order->job == METHOD_UNPLUG) {
        nicbond_rung_ended(nb, vm, HF_FLIP_UNPLUG, rung, now);
        return;
    }
    leg->is_out = false;
    leg->is = NICBOND_NOT_KNOWN;
    if (rung == FLIP_RUNG_DONE) {
        leg->is = order->is_off ? NICBOND_OFF : NICBOND_ON;
        leg->retry_ms = 0;
        leg->retry_at = now;
    } else {
        wait_longer(leg, now);
    }
    if (order->is_off && vm->flip.what.from == order->fabric)
        nicbond_rung_ended(nb, vm, HF_FLIP_LINK, rung, now);
    vm->is_dirty = true;
}

/* ---- RTNL ---- */

static void order_probe(struct nicbond *nb, hf_time now)
{
    struct method_pf order = {.job = METHOD_PROBE, .budget_ms = NICBOND_PROBE_LATE_MS};
    struct nicbond_order slot = {.job = METHOD_PROBE};
    uint8_t bytes[HELPER_ORDER_MAX];

    if (nb->probe_order != 0)
        nb->rtnl_ms = (uint32_t)hf_time_since_ms(now, nb->probe_sent);
    nb->probe_at = hf_time_add_ms(now, NICBOND_PROBE_MS);
    for (unsigned f = 0; f < HF_FABRICS_MAX && order.ifindex == 0; f++)
        order.ifindex = nb->pf[f].ifindex;
    if (nb->probe_order != 0 || order.ifindex <= 0)
        return;
    order.epoch = ++nb->probe_next;
    slot.number = PROBE_BIT | nb->probe_next;
    if (!put(nb, &nb->pf_pool, &slot, bytes, method_pf_encode(&order, bytes, sizeof bytes),
             NICBOND_PROBE_LATE_MS, now))
        return;
    nb->probe_order = slot.number;
    nb->probe_sent = now;
}

/* ---- what cards tell about themselves ---- */

static void order_look(struct nicbond *nb, hf_fabric f, hf_time now)
{
    struct nicbond_pf *pf = &nb->pf[f];
    struct method_pf order = {.job = METHOD_LOOK, .fabric = f, .ifindex = pf->ifindex};
    struct nicbond_order slot = {.job = METHOD_LOOK, .fabric = f};
    uint8_t bytes[HELPER_ORDER_MAX];

    if (!hf_time_reached(now, pf->look_at))
        return;
    pf->look_at = hf_time_add_ms(now, NICBOND_CARD_MS);
    if (pf->ifindex <= 0 || pf->look_order != 0)
        return;
    (void)hf_str_copy(order.name, sizeof order.name, pf->name);
    (void)hf_str_copy(order.pci, sizeof order.pci, pf->pci);
    slot.number = PROBE_BIT | ++nb->probe_next;
    if (put(nb, &nb->pf_pool, &slot, bytes, method_pf_encode(&order, bytes, sizeof bytes),
            NICBOND_PROBE_LATE_MS, now))
        pf->look_order = slot.number;
}

static void look_ended(struct nicbond *nb, const struct nicbond_order *order,
                       const struct helper_answer *answer)
{
    struct watch_helped helped;

    nb->pf[order->fabric].look_order = 0;
    if (!answer->is_lost && answer->code == HF_OK &&
        look_decode(answer->bytes, answer->len, &helped) && nb->out.helped != NULL)
        nb->out.helped(nb->out.user, order->fabric, &helped);
}

/* ---- answers ---- */

static void order_ended(struct nicbond *nb, const struct nicbond_order *order,
                        const struct method_done *done, hf_time now)
{
    enum flip_rung rung = done != NULL ? done->rung : FLIP_RUNG_LATE;
    const char *why = done != NULL ? done->why : "no answer in time";

    switch (order->job) {
    case METHOD_VF_LINK:
        links_ended(nb, order, done, now);
        break;
    case METHOD_PF_ADMIN:
        admin_ended(nb, order, rung, why, now);
        break;
    case METHOD_LINK:
    case METHOD_UNPLUG:
        vm_ended(nb, order, rung, why, now);
        break;
    case METHOD_PROBE:
    case METHOD_LOOK:
        break; /* still under way: one at a time */
    case METHOD_JOBS:
        HF_NEVER("a count is no job");
    }
}

/* What nobody waits for any more came after all, or its worker died: its effect may have come after
 * a later order's, so everything it could have changed is ordered as wished once more. */
static void late_order_ended(struct nicbond *nb, const struct nicbond_order *order, hf_time now)
{
    struct nicbond_vm *vm = order->uid != 0 ? nicbond_find(nb, order->uid) : NULL;

    if (order->job == METHOD_VF_LINK)
        nb->pf[order->fabric].is_doubtful = true;
    if (order->job == METHOD_PF_ADMIN && nb->pf[order->fabric].admin_order == 0) {
        nb->pf[order->fabric].admin = NICBOND_NOT_KNOWN;
        nb->pf[order->fabric].admin_at = now;
    }
    if (order->job == METHOD_LINK && vm != NULL && !vm->leg[order->fabric].is_out) {
        vm->leg[order->fabric].is = NICBOND_NOT_KNOWN;
        vm->leg[order->fabric].retry_at = now;
    }
}

static void take_answer(struct nicbond *nb, const struct helper_answer *answer, hf_time now)
{
    struct nicbond_order *slot = answer->number != 0 ? order_of(nb, answer->number) : NULL;
    struct nicbond_order order;
    struct method_done done;

    if (slot == NULL)
        return; /* an idle worker has died */
    order = *slot;
    slot->number = 0;
    nb->orders_at = nb->wake_at = now;
    if (order.job == METHOD_PROBE) {
        nb->rtnl_ms = answer->is_lost ? nb->rtnl_ms : answer->took_us / 1000;
        nb->probe_order = 0;
        return;
    }
    if (order.job == METHOD_LOOK) {
        look_ended(nb, &order, answer);
        return;
    }
    if (answer->is_late) {
        late_order_ended(nb, &order, now);
        return;
    }
    if (answer->is_lost || answer->code != HF_OK ||
        !method_done_decode(answer->bytes, answer->len, &done)) {
        order_ended(nb, &order, NULL, now);
        late_order_ended(nb, &order, now);
        return;
    }
    order_ended(nb, &order, &done, now);
}

static void take_pool(struct nicbond *nb, struct helper_pool *pool, hf_time now)
{
    struct helper_answer answer;
    uint64_t number;

    while (nb->has_answers && helper_take(pool, now, &answer))
        take_answer(nb, &answer, now);
    while ((number = helper_expire(pool, now)) != 0) {
        struct nicbond_order *slot = order_of(nb, number);

        nb->orders_at = nb->wake_at = now;
        if (slot == NULL || slot->is_late)
            continue;
        slot->is_late = true;
        nb->counters.late++;
        order_ended(nb, slot, NULL, now);
    }
}

void nicbond_answers(struct nicbond *nb, hf_time now)
{
    take_pool(nb, &nb->pf_pool, now);
    take_pool(nb, &nb->vm_pool, now);
    nb->has_answers = false;
}

void nicbond_worker_ready(struct nicbond *nb)
{
    nb->has_answers = true;
    nb->wake_at = (hf_time){0};
}

void nicbond_orders(struct nicbond *nb, hf_time now)
{
    if (hf_time_reached(now, nb->probe_at)) {
        order_probe(nb, now);
        for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
            order_look(nb, f, now);
    }
    if (!hf_time_reached(now, nb->orders_at))
        return;
    nb->orders_at = (hf_time){INT64_MAX};
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        if (!nb->pf[f].is_configured)
            continue;
        order_links(nb, f, now);
        order_admin(nb, f, now);
    }
    order_vms(nb, now);
}
