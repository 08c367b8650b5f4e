#include "nicbond/keeper.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nicbond/legs.h"
#include "supervisord/base/crc.h"
#include "supervisord/base/log.h"
#include "supervisord/base/str.h"

enum {
    ROUNDS_MAX = 3, /* what one repair brings to light is repaired in the next */
};

void keeper_word_put(const struct keeper_word *word, uint8_t bytes[KEEPER_WORD_BYTES])
{
    bytes[0] = word->was_reset;
    bytes[1] = word->is_unwell;
}

/* ---- what is there ---- */

/* Not read is not known: nothing of this PF is judged or touched then. */
static void see_pf(struct keeper *k, unsigned f)
{
    struct reconcile_pf *seen = &k->seen[f];
    struct vf_pf *pf = &k->pf[f];
    const char *wanted = k->setup.wanted[f];
    char sys[PATH_MAX];
    struct nic_place found;
    struct vf_list list;
    struct hf_err err;

    memset(seen, 0, sizeof *seen);
    if (wanted == NULL || wanted[0] == '\0' || (k->word.is_unwell & (1u << f)) != 0 ||
        probe_nic_find(k->setup.root, wanted, &k->place[f], &found, &err) != HF_OK)
        return;
    k->place[f] = found;
    (void)snprintf(sys, sizeof sys, "%s/sys", k->setup.root);
    if (found.pci[0] == '\0' || vf_scan_vfs(sys, found.pci, pf, &err) != HF_OK)
        return;
    pf->ifindex = found.ifindex;
    (void)hf_str_copy(pf->name, sizeof pf->name, found.name);
    (void)hf_str_copy(seen->pci, sizeof seen->pci, pf->pci);
    seen->was_reset = (k->word.was_reset & (1u << f)) != 0;
    seen->is_read = pf->count == 0;
    if (pf->count == 0 || pf->ifindex == 0)
        return; /* no VF to ask about, or no driver to ask */
    if (k->port.read(k->port.user, pf->ifindex, &list, &err) != VF_DONE) {
        hf_debug("%s", err.text);
        return;
    }
    seen->is_read = true;
    seen->is_up = list.is_pf_up;
    seen->count = pf->count;
    for (uint16_t n = 0; n < pf->count; n++) {
        (void)hf_str_copy(seen->vf[n].pci, sizeof seen->vf[n].pci, pf->vf[n]);
        seen->vf[n].is_known = list.vf[n].is_told;
        seen->vf[n].config = list.vf[n].config;
    }
}

/* ---- what runs ---- */

static void add_legs(struct keeper *k, const struct legs_vm *vm)
{
    for (unsigned i = 0; i < vm->nics_count; i++) {
        struct reconcile_leg *leg = &k->leg[k->legs];

        if (k->legs == RECONCILE_LEGS_MAX) {
            k->is_certain = false;
            return;
        }
        *leg = (struct reconcile_leg){.uid = vm->uid, .start_no = vm->start_no};
        (void)hf_str_copy(leg->vm, sizeof leg->vm, vm->name);
        if (vm->nic[i].kind == HF_LEG_VF)
            (void)hf_str_copy(leg->vf, sizeof leg->vf, vm->nic[i].pci);
        _Static_assert(sizeof vm->nic[i].mac == VF_MAC_BYTES, "a MAC is six bytes");
        memcpy(leg->mac, &vm->nic[i].mac, VF_MAC_BYTES);
        k->legs++;
    }
}

static bool see_vm(void *user, const char *name)
{
    struct keeper *k = user;
    struct legs_vm vm;
    struct hf_err err;
    enum hf_code code = legs_read(k->setup.run, name, &vm, &err);

    if (code == HF_ENOENT)
        return true; /* gone meanwhile */
    if (code != HF_OK)
        k->is_certain = false; /* it may have any VF */
    if (code == HF_OK || code == HF_EFULL)
        add_legs(k, &vm);
    return true;
}

static void see_vms(struct keeper *k)
{
    struct hf_err err;

    k->legs = 0;
    k->is_certain = true;
    memset(k->leg, 0, sizeof k->leg);
    /* No folder: libvirt has not run since the boot, or is not here. Who runs is not known then. */
    if (legs_each(k->setup.run, see_vm, k, &err) != HF_OK)
        k->is_certain = false;
}

static uint32_t crc_of_vms(const struct keeper *k)
{
    return hf_crc32c(k->is_certain, k->leg, k->legs * sizeof k->leg[0]);
}

bool keeper_glance(struct keeper *k)
{
    see_vms(k);
    return crc_of_vms(k) != k->vms_crc;
}

static void see(struct keeper *k)
{
    see_vms(k);
    k->vms_crc = crc_of_vms(k);
    for (unsigned f = 0; f < HF_FABRICS_MAX; f++)
        see_pf(k, f);
}

/* ---- what follows ---- */

static const struct vf_pf *pf_of(const struct keeper *k, const char *pci)
{
    for (unsigned f = 0; f < HF_FABRICS_MAX; f++) {
        if (k->seen[f].is_read && strcmp(k->pf[f].pci, pci) == 0)
            return &k->pf[f];
    }
    return NULL;
}

static void reconcile(struct keeper *k, const struct ledger *ledger)
{
    struct flips flips;
    struct hf_err err;
    struct reconcile_pf pf[HF_FABRICS_MAX];
    struct reconcile_view view = {.ledger = ledger,
                                  .flips = &flips,
                                  .epoch_first = 0, /* no flip here is dead: see keeper.h */
                                  .pf = pf,
                                  .pfs = HF_FABRICS_MAX,
                                  .leg = k->leg,
                                  .legs = k->legs,
                                  .is_certain = k->is_certain};

    memcpy(pf, k->seen, sizeof pf);
    memset(&flips, 0, sizeof flips);
    if (flips_read(k->flips_fd, &flips, &err) != HF_OK)
        memset(flips.is_damaged, 1, sizeof flips.is_damaged);
    reconcile_look(&view, &k->found);
}

static bool was_told(const struct keeper *k, const struct reconcile_item *item)
{
    for (uint16_t i = 0; i < k->told.count; i++) {
        const struct reconcile_item *old = &k->told.item[i];

        if (old->kind == item->kind && old->uid == item->uid && old->other == item->other &&
            old->fields == item->fields && strcmp(old->vf, item->vf) == 0)
            return true;
    }
    return false;
}

void keeper_text(const struct reconcile_item *item, char *text, size_t cap)
{
    char vf[48] = "", vm[48] = "", other[32] = "";

    if (item->vf[0] != '\0')
        (void)snprintf(vf, sizeof vf, "VF %u (%s)%s", (unsigned)item->number, item->vf,
                       item->pf[0] != '\0' ? " of " : "");
    if (item->uid != 0)
        (void)snprintf(vm, sizeof vm, " (VM %u, start %u)", (unsigned)item->uid,
                       (unsigned)item->start_no);
    if (item->other != 0)
        (void)snprintf(other, sizeof other, " (and VM %u)", (unsigned)item->other);
    (void)snprintf(text, cap, "%s: %s%s: %s%s%s", reconcile_kind_name(item->kind), vf, item->pf,
                   item->why, vm, other);
}

/* A running VM of ours, whose VF libvirt has set up by itself, or that took over a dead one's. */
static enum hf_code adopt(struct keeper *k, const struct reconcile_item *item, struct hf_err *err)
{
    struct vf_order order = {.pf = pf_of(k, item->pf),
                             .number = item->number,
                             .uid = item->uid,
                             .start_no = item->start_no};

    if (order.pf == NULL)
        return hf_err_set(err, HF_EAGAIN, "its PF does not answer");
    return vf_adopt(&k->port, &k->ledger, &order, err);
}

/* A VF of two running VMs is told, and goes to and fro between them in no ledger. */
static bool is_contested(const struct keeper *k, const struct reconcile_item *item)
{
    for (uint16_t i = 0; i < k->legs; i++) {
        if (strcmp(k->leg[i].vf, item->vf) == 0 && k->leg[i].uid != item->uid)
            return true;
    }
    return false;
}

/* True: the world or the ledger is another now. */
static bool act_on(struct keeper *k, const struct reconcile_item *item, bool *has_failed)
{
    const struct vf_pf *pf = pf_of(k, item->pf);
    bool adopts = item->kind == RECONCILE_UNRECORDED && item->uid != 0 && pf != NULL &&
                  !is_contested(k, item);
    bool is_known = was_told(k, item);
    char text[300];
    struct hf_err err;

    keeper_text(item, text, sizeof text);
    if (!reconcile_is_repair(item->kind) && !adopts) {
        if (!is_known)
            hf_warning("%s", text);
        return false;
    }
    /* A VF that went with its PF is released in the ledger alone. */
    if (pf == NULL && item->kind != RECONCILE_RELEASE)
        return false;
    if ((adopts ? adopt(k, item, &err)
                : vf_repair(&k->port, &k->ledger, k->flips_fd, pf, item, &err)) == HF_OK) {
        hf_info("%s: done", text);
        return true;
    }
    *has_failed = true;
    if (!is_known)
        hf_error("%s: failed: %s", text, err.text);
    return false;
}

static bool act(struct keeper *k, bool *has_failed)
{
    bool has_changed = false;

    for (uint16_t i = 0; i < k->found.count; i++)
        has_changed = act_on(k, &k->found.item[i], has_failed) || has_changed;
    if (k->found.left_out > 0 && k->told.left_out == 0)
        hf_warning("%u findings more than there is room for: the next look takes them",
                   (unsigned)k->found.left_out);
    k->told = k->found;
    return has_changed;
}

/* Without a ledger there is nothing to repair by, and still something to tell. */
static bool open_ledger(struct keeper *k)
{
    struct hf_err err;
    bool is_open =
        ledger_file_open(&k->ledger, k->setup.ledger, KEEPER_LEDGER_WAIT_MS, NULL, &err) == HF_OK;
    char trouble[sizeof k->trouble] = "";

    if (!is_open)
        (void)hf_str_copy(trouble, sizeof trouble, err.text);
    if (!is_open && strcmp(trouble, k->trouble) != 0)
        hf_error("%s", err.text);
    if (is_open && k->ledger.torn > 0)
        hf_warning("ledger %s: its last record was cut by a crash and counts as never written",
                   k->ledger.name);
    memcpy(k->trouble, trouble, sizeof trouble);
    return is_open;
}

bool keeper_look(struct keeper *k)
{
    bool has_failed = false, has_ledger = open_ledger(k);

    for (int round = 0; round < ROUNDS_MAX; round++) {
        see(k);
        reconcile(k, has_ledger ? &k->ledger.ledger : NULL);
        has_failed = false;
        if (!act(k, &has_failed))
            break;
    }
    if (has_ledger)
        ledger_file_close(&k->ledger);
    for (unsigned f = 0; f < HF_FABRICS_MAX; f++) {
        /* A PF that could not be asked keeps what is to be told to it again. */
        if (k->seen[f].is_read && !has_failed && has_ledger)
            k->word.was_reset &= (hf_legs) ~(1u << f);
    }
    return has_ledger && !has_failed;
}

enum hf_code keeper_open(struct keeper *k, const struct keeper_setup *setup,
                         const struct vf_port *port, struct hf_err *err)
{
    memset(k, 0, sizeof *k);
    k->setup = *setup;
    k->port = *port;
    /* What happened to the cards before is not known. */
    k->word.was_reset = (hf_legs)((1u << HF_FABRICS_MAX) - 1u);
    return flips_open(setup->state, &k->flips_fd, err);
}

void keeper_close(struct keeper *k)
{
    close(k->flips_fd);
    k->flips_fd = -1;
}

/* ---- the process ---- */

struct service {
    struct keeper *keeper;
    int fd, watch_fd;
    hf_time look_at, glance_at; /* at the latest */
};

static void bring_forward(hf_time *when, hf_time at)
{
    if (at.ns < when->ns)
        *when = at;
}

/* False: nobody is at the other end any more. */
static bool take_word(struct service *s, hf_time now)
{
    uint8_t bytes[KEEPER_WORD_BYTES + 1];
    ssize_t len = recv(s->fd, bytes, sizeof bytes, MSG_DONTWAIT);

    if (len < 0)
        return errno == EAGAIN || errno == EINTR;
    if (len != KEEPER_WORD_BYTES)
        return false;
    s->keeper->word.was_reset |= bytes[0];
    s->keeper->word.is_unwell = bytes[1];
    if (bytes[0] != 0)
        bring_forward(&s->look_at, hf_time_add_ms(now, KEEPER_SETTLE_MS));
    return true;
}

static void ignore_name(void *user, const char *name)
{
    (void)user;
    (void)name;
}

static void look(struct service *s)
{
    struct hf_err err;
    bool is_well;

    if (s->watch_fd < 0 && legs_watch_open(s->keeper->setup.run, &s->watch_fd, &err) != HF_OK)
        s->watch_fd = -1; /* libvirt has not run yet */
    is_well = keeper_look(s->keeper);
    s->look_at = hf_time_add_ms(hf_clock_now(), is_well ? KEEPER_LOOK_MS : KEEPER_RETRY_MS);
}

static enum hf_code serve(struct service *s, struct hf_err *err)
{
    for (;;) {
        struct pollfd fds[2] = {{.fd = s->fd, .events = POLLIN},
                                {.fd = s->watch_fd, .events = POLLIN}};
        hf_time next = s->glance_at.ns < s->look_at.ns ? s->glance_at : s->look_at;
        int64_t left = hf_time_since_ms(next, hf_clock_now());
        hf_time now;

        if (poll(fds, 2, left > 0 ? (int)left + 1 : 0) < 0 && errno != EINTR)
            return hf_err_set(err, HF_EIO, "poll: %s", strerror(errno));
        now = hf_clock_now();
        if (fds[0].revents != 0 && !take_word(s, now))
            return hf_err_set(err, HF_ECLOSED, "nobody needs the keeper any more");
        if (fds[1].revents != 0) {
            (void)legs_watch_read(s->watch_fd, ignore_name, NULL);
            bring_forward(&s->glance_at, hf_time_add_ms(now, KEEPER_SETTLE_MS));
        }
        /* libvirt writes these files for many reasons; cards are asked for one. */
        if (hf_time_reached(now, s->glance_at)) {
            s->glance_at = (hf_time){INT64_MAX};
            if (keeper_glance(s->keeper))
                s->look_at = now;
        }
        if (hf_time_reached(now, s->look_at))
            look(s);
    }
}

enum hf_code keeper_serve(const struct keeper_setup *setup, int fd, struct hf_err *err)
{
    struct service s = {.keeper = malloc(sizeof *s.keeper), .fd = fd, .watch_fd = -1};
    struct vf_netlink netlink;
    struct vf_port port;
    enum hf_code code;

    if (s.keeper == NULL)
        return hf_err_set(err, HF_EFULL, "keeper: out of memory");
    legs_init();
    code = vf_netlink_open(&netlink, -1, err);
    if (code == HF_OK) {
        port = vf_netlink_port(&netlink);
        code = keeper_open(s.keeper, setup, &port, err);
        if (code == HF_OK) {
            s.look_at = hf_clock_now();
            s.glance_at = (hf_time){INT64_MAX};
            code = serve(&s, err);
            keeper_close(s.keeper);
        }
        vf_netlink_close(&netlink);
    }
    if (s.watch_fd >= 0)
        close(s.watch_fd);
    free(s.keeper);
    return code;
}
