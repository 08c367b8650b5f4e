#include "nicbond/reconcile.h"

#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"

const char *reconcile_kind_name(enum reconcile_kind kind)
{
    switch (kind) {
    case RECONCILE_PF_UP:
        return "pf-up";
    case RECONCILE_LINK_AUTO:
        return "link-auto";
    case RECONCILE_FLIP_CLOSE:
        return "flip-close";
    case RECONCILE_RESTORE:
        return "restore";
    case RECONCILE_RELEASE:
        return "release";
    case RECONCILE_REASSERT:
        return "reassert";
    case RECONCILE_DONE:
        return "done";
    case RECONCILE_TWO_OWNERS:
        return "two-owners";
    case RECONCILE_TWO_MACS:
        return "two-macs";
    case RECONCILE_STRAY_MAC:
        return "stray-mac";
    case RECONCILE_UNRECORDED:
        return "unrecorded";
    case RECONCILE_VF_VANISHED:
        return "vf-vanished";
    case RECONCILE_VF_UNKNOWN:
        return "vf-unknown";
    case RECONCILE_DRIFT:
        return "drift";
    case RECONCILE_LINK_FORCED:
        return "link-forced";
    case RECONCILE_FLIPS_DAMAGED:
        return "flips-damaged";
    case RECONCILE_KINDS:
        break;
    }
    return "?";
}

bool reconcile_is_repair(enum reconcile_kind kind)
{
    return kind <= RECONCILE_DONE;
}

static void add(struct reconcile_result *result, const struct reconcile_item *item)
{
    HF_ASSERT(item->why != NULL);
    if (result->count < RECONCILE_ITEMS_MAX)
        result->item[result->count++] = *item;
    else
        result->left_out++;
}

/* ---- finding things ---- */

struct place {
    const struct reconcile_pf *pf; /* NULL: not read */
    uint16_t number;               /* pf->count: it is not there */
};

static const struct reconcile_pf *pf_of(const struct reconcile_view *view, const char *pci)
{
    for (uint16_t i = 0; i < view->pfs; i++) {
        if (view->pf[i].is_read && strcmp(view->pf[i].pci, pci) == 0)
            return &view->pf[i];
    }
    return NULL;
}

static uint16_t number_of(const struct reconcile_pf *pf, const char *vf)
{
    uint16_t i = 0;

    while (i < pf->count && strcmp(pf->vf[i].pci, vf) != 0)
        i++;
    return i;
}

/* Of whichever PF has it. */
static struct place place_of(const struct reconcile_view *view, const char *vf)
{
    for (uint16_t i = 0; i < view->pfs; i++) {
        uint16_t number = view->pf[i].is_read ? number_of(&view->pf[i], vf) : 0;

        if (view->pf[i].is_read && number < view->pf[i].count)
            return (struct place){&view->pf[i], number};
    }
    return (struct place){NULL, 0};
}

static const struct reconcile_leg *user_of(const struct reconcile_view *view, const char *vf)
{
    for (uint16_t i = 0; i < view->legs; i++) {
        if (strcmp(view->leg[i].vf, vf) == 0)
            return &view->leg[i];
    }
    return NULL;
}

static bool is_owner(const struct ledger_vf *entry, const struct reconcile_leg *leg)
{
    return leg->uid != 0 && leg->uid == entry->uid &&
           (leg->start_no == 0 || leg->start_no == entry->start_no);
}

/* Among several users the owner counts: the others are reported as such. */
static const struct reconcile_leg *user_of_entry(const struct reconcile_view *view,
                                                 const struct ledger_vf *entry)
{
    for (uint16_t i = 0; i < view->legs; i++) {
        if (strcmp(view->leg[i].vf, entry->vf) == 0 && is_owner(entry, &view->leg[i]))
            return &view->leg[i];
    }
    return user_of(view, entry->vf);
}

static const struct ledger_vf *owned(const struct reconcile_view *view, const char *vf)
{
    const struct ledger_vf *entry = view->ledger != NULL ? ledger_find(view->ledger, vf) : NULL;

    return ledger_is_owned(entry) ? entry : NULL;
}

/* Does a flip, dead or running, say that we disabled this VF's link? */
static bool is_off_by_flip(const struct reconcile_view *view, const char *pf, uint16_t number)
{
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        const struct flips_entry *e = &view->flips->fabric[f];

        if (strcmp(e->pf, pf) == 0 && flips_has_vf(e, number))
            return true;
    }
    return false;
}

static struct reconcile_item item_of_vf(enum reconcile_kind kind, const struct reconcile_pf *pf,
                                        uint16_t number, const char *why)
{
    struct reconcile_item item = {.kind = kind, .number = number, .why = why};

    (void)hf_str_copy(item.pf, sizeof item.pf, pf->pci);
    (void)hf_str_copy(item.vf, sizeof item.vf, pf->vf[number].pci);
    item.config = pf->vf[number].config;
    return item;
}

/* ---- flips of a process that is dead ---- */

/* True: nothing of this VF is off by it any more once the repairs are done. */
static bool look_flip_vf(const struct reconcile_pf *pf, hf_fabric fabric, uint64_t epoch,
                         uint16_t number, struct reconcile_result *result)
{
    struct reconcile_item item;

    if (number >= pf->count)
        return true; /* it is gone, and with it its setting */
    if (!pf->vf[number].is_known) {
        item = item_of_vf(RECONCILE_VF_UNKNOWN, pf, number,
                          "its link was disabled by a flip that died, and it cannot be read");
        add(result, &item);
        return false;
    }
    if (pf->vf[number].config.link != VF_LINK_DISABLE)
        return true;
    item = item_of_vf(RECONCILE_LINK_AUTO, pf, number, "its link was disabled by a flip that died");
    item.fabric = fabric;
    item.epoch = epoch;
    item.config.link = VF_LINK_AUTO;
    item.fields = VF_FIELD(VF_FIELD_LINK);
    add(result, &item);
    return true;
}

static void look_flip(const struct reconcile_view *view, hf_fabric fabric,
                      struct reconcile_result *result)
{
    const struct flips_entry *e = &view->flips->fabric[fabric];
    const struct reconcile_pf *pf = pf_of(view, e->pf);
    struct reconcile_item item = {.fabric = fabric, .epoch = e->epoch};
    bool is_all = true;

    if (!flips_is_open(e) || e->epoch >= view->epoch_first || pf == NULL)
        return;
    (void)hf_str_copy(item.pf, sizeof item.pf, e->pf);
    if (e->is_pf_down && !pf->is_up) {
        item.kind = RECONCILE_PF_UP;
        item.why = "it was put down by a flip that died";
        add(result, &item);
    }
    for (uint16_t n = 0; n < VF_COUNT_MAX; n++) {
        if (flips_has_vf(e, n) && !look_flip_vf(pf, fabric, e->epoch, n, result))
            is_all = false;
    }
    if (is_all) {
        item.kind = RECONCILE_FLIP_CLOSE;
        item.why = "nothing is off by it any more";
        add(result, &item);
    }
}

static void look_flips(const struct reconcile_view *view, struct reconcile_result *result)
{
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        struct reconcile_item item = {
            .kind = RECONCILE_FLIPS_DAMAGED,
            .fabric = f,
            .why = "its record of what flips switched off is damaged; if its PF or a VF's link is "
                   "down for no reason, switch it on by hand (ip link set)"};

        look_flip(view, f, result);
        if (view->flips->is_damaged[f])
            add(result, &item);
    }
}

/* ---- what the ledger says ---- */

/* The part of the difference that is for us to change. */
static vf_fields ours(const struct ledger_vf *entry, const struct reconcile_pf *pf, uint16_t number,
                      vf_fields differs)
{
    const struct vf_config *present = &pf->vf[number].config;

    if (!pf->was_reset && entry->phase != LEDGER_INTENDED)
        return 0;
    if (entry->wanted.trust == VF_ON && !vf_mac_is_none(present->mac))
        differs &= (vf_fields)~VF_FIELD(VF_FIELD_MAC);
    return differs;
}

static void look_running(const struct reconcile_view *view, const struct ledger_vf *entry,
                         struct place at, struct reconcile_result *result)
{
    const struct vf_config *present = &at.pf->vf[at.number].config;
    vf_fields differs = vf_config_differs(present, &entry->wanted), repair;
    struct reconcile_item item =
        item_of_vf(RECONCILE_DRIFT, at.pf, at.number, "somebody has changed it while its VM runs");

    item.uid = entry->uid;
    item.start_no = entry->start_no;
    if (is_off_by_flip(view, at.pf->pci, at.number))
        differs &= (vf_fields)~VF_FIELD(VF_FIELD_LINK);
    repair = ours(entry, at.pf, at.number, differs);
    item.fields = (vf_fields)(differs & ~repair);
    if (item.fields != 0)
        add(result, &item);
    item.fields = repair;
    item.config = entry->wanted;
    if (repair != 0) {
        item.kind = RECONCILE_REASSERT;
        item.why = entry->phase == LEDGER_INTENDED ? "its preparation was cut"
                                                   : "its PF was reset and has forgotten it";
        add(result, &item);
    }
    /* After what is told again: it is read back before it counts as done. */
    if (entry->phase == LEDGER_INTENDED && differs == repair) {
        item.kind = RECONCILE_DONE;
        item.why = "its VM runs with it";
        add(result, &item);
    }
}

static void look_gone(const struct ledger_vf *entry, struct place at,
                      struct reconcile_result *result)
{
    struct reconcile_item item = {.uid = entry->uid, .start_no = entry->start_no};

    if (at.pf != NULL && at.pf->vf[at.number].is_known) {
        item = item_of_vf(RECONCILE_RESTORE, at.pf, at.number, "its owner is gone");
        item.config = entry->original;
    } else if (at.pf != NULL) {
        item = item_of_vf(RECONCILE_VF_UNKNOWN, at.pf, at.number,
                          "its owner is gone, and it cannot be read");
    } else {
        item.kind = RECONCILE_RELEASE;
        item.number = entry->number;
        item.why = "its owner is gone, and so is the VF";
        (void)hf_str_copy(item.pf, sizeof item.pf, entry->pf);
        (void)hf_str_copy(item.vf, sizeof item.vf, entry->vf);
    }
    item.uid = entry->uid;
    item.start_no = entry->start_no;
    add(result, &item);
}

static void report_vanished(const struct ledger_vf *entry, struct reconcile_result *result)
{
    struct reconcile_item item = {.kind = RECONCILE_VF_VANISHED,
                                  .number = entry->number,
                                  .uid = entry->uid,
                                  .start_no = entry->start_no,
                                  .why = "a running VM's VF is not there any more"};

    (void)hf_str_copy(item.pf, sizeof item.pf, entry->pf);
    (void)hf_str_copy(item.vf, sizeof item.vf, entry->vf);
    add(result, &item);
}

static void look_entry(const struct reconcile_view *view, const struct ledger_vf *entry,
                       struct reconcile_result *result)
{
    const struct reconcile_leg *user = user_of_entry(view, entry);
    struct place at = place_of(view, entry->vf);
    struct reconcile_item item;

    /* Not seen on any PF counts only when its own was read. */
    if (!ledger_is_owned(entry) || (at.pf == NULL && pf_of(view, entry->pf) == NULL))
        return;
    if (user == NULL) {
        if (view->is_certain)
            look_gone(entry, at, result);
        return;
    }
    if (!is_owner(entry, user))
        return; /* reported with the leg: look_leg() */
    if (at.pf == NULL) {
        report_vanished(entry, result);
    } else if (!at.pf->vf[at.number].is_known) {
        item = item_of_vf(RECONCILE_VF_UNKNOWN, at.pf, at.number,
                          "a running VM owns it, and it cannot be read");
        item.uid = entry->uid;
        item.start_no = entry->start_no;
        add(result, &item);
    } else {
        look_running(view, entry, at, result);
    }
}

/* ---- what runs ---- */

static bool is_same_vm(const struct reconcile_leg *a, const struct reconcile_leg *b)
{
    if (a->uid != 0 || b->uid != 0)
        return a->uid == b->uid;
    return strcmp(a->vm, b->vm) == 0;
}

/* One VM may have one MAC on two cards: then its bond need not change it at a flip. */
static bool may_share_mac(const struct reconcile_view *view, const struct reconcile_leg *a,
                          const struct reconcile_leg *b)
{
    struct place first, second;

    if (!is_same_vm(a, b) || a->vf[0] == '\0' || b->vf[0] == '\0')
        return false;
    first = place_of(view, a->vf);
    second = place_of(view, b->vf);
    return first.pf == NULL || second.pf == NULL || first.pf != second.pf;
}

static struct reconcile_item item_of_leg(enum reconcile_kind kind, const struct reconcile_leg *leg,
                                         hf_vm_uid other, struct place at, const char *why)
{
    struct reconcile_item item = {
        .kind = kind, .uid = leg->uid, .start_no = leg->start_no, .other = other, .why = why};

    (void)hf_str_copy(item.vf, sizeof item.vf, leg->vf);
    memcpy(item.config.mac, leg->mac, VF_MAC_BYTES);
    if (at.pf != NULL) {
        (void)hf_str_copy(item.pf, sizeof item.pf, at.pf->pci);
        item.number = at.number;
    }
    return item;
}

static void look_pair(const struct reconcile_view *view, const struct reconcile_leg *a,
                      const struct reconcile_leg *b, struct reconcile_result *result)
{
    struct reconcile_item item;

    if (a->vf[0] != '\0' && strcmp(a->vf, b->vf) == 0 && !is_same_vm(a, b)) {
        item = item_of_leg(RECONCILE_TWO_OWNERS, a, b->uid, place_of(view, a->vf),
                           "two running VMs have it");
        add(result, &item);
    } else if (!vf_mac_is_none(a->mac) && vf_mac_same(a->mac, b->mac) &&
               !may_share_mac(view, a, b)) {
        item = item_of_leg(RECONCILE_TWO_MACS, a, b->uid, place_of(view, a->vf),
                           "two legs have the same MAC");
        add(result, &item);
    }
}

static void look_leg(const struct reconcile_view *view, const struct reconcile_leg *leg,
                     struct reconcile_result *result)
{
    const struct ledger_vf *entry = owned(view, leg->vf);
    struct place at = place_of(view, leg->vf);
    struct reconcile_item item;

    if (view->ledger == NULL || leg->vf[0] == '\0' || (entry != NULL && is_owner(entry, leg)))
        return;
    if (entry == NULL && at.pf == NULL)
        return; /* some other device, or one of a PF that does not answer */
    item = item_of_leg(RECONCILE_UNRECORDED, leg, entry != NULL ? entry->uid : 0, at,
                       entry != NULL ? "it runs with a VF that the ledger gives to another"
                                     : "it runs with a VF that nobody prepared");
    if (at.pf != NULL)
        item.config = at.pf->vf[at.number].config;
    add(result, &item);
}

/* ---- VFs that nobody has ---- */

static void look_free(const struct reconcile_view *view, const struct reconcile_pf *pf,
                      uint16_t number, struct reconcile_result *result)
{
    const struct vf_config *present = &pf->vf[number].config;
    struct reconcile_item item;

    for (uint16_t i = 0; i < view->legs; i++) {
        if (vf_mac_is_none(present->mac) || !vf_mac_same(present->mac, view->leg[i].mac))
            continue;
        item = item_of_vf(RECONCILE_STRAY_MAC, pf, number,
                          "nobody uses it, and it has a running VM's MAC");
        item.uid = view->leg[i].uid;
        add(result, &item);
        break;
    }
    if ((present->link == VF_LINK_DISABLE || present->link == VF_LINK_ENABLE) &&
        !is_off_by_flip(view, pf->pci, number)) {
        item = item_of_vf(RECONCILE_LINK_FORCED, pf, number,
                          present->link == VF_LINK_ENABLE
                              ? "its link is forced on: a guest would not see a dead wire"
                              : "its link is forced off, and not by a flip");
        add(result, &item);
    }
}

static void look_frees(const struct reconcile_view *view, struct reconcile_result *result)
{
    for (uint16_t i = 0; i < view->pfs; i++) {
        const struct reconcile_pf *pf = &view->pf[i];

        for (uint16_t n = 0; pf->is_read && n < pf->count; n++) {
            if (pf->vf[n].is_known && user_of(view, pf->vf[n].pci) == NULL &&
                owned(view, pf->vf[n].pci) == NULL)
                look_free(view, pf, n, result);
        }
    }
}

/* ---- all of it ---- */

void reconcile_look(const struct reconcile_view *view, struct reconcile_result *result)
{
    HF_ASSERT(view->pfs <= RECONCILE_PFS_MAX);
    HF_ASSERT(view->legs <= RECONCILE_LEGS_MAX);
    result->count = 0;
    result->left_out = 0;
    look_flips(view, result);
    for (uint16_t i = 0; view->ledger != NULL && i < view->ledger->count; i++)
        look_entry(view, &view->ledger->vfs[i], result);
    for (uint16_t i = 0; i < view->legs; i++) {
        look_leg(view, &view->leg[i], result);
        for (uint16_t j = (uint16_t)(i + 1); j < view->legs; j++)
            look_pair(view, &view->leg[i], &view->leg[j], result);
    }
    look_frees(view, result);
}

bool reconcile_may_take(const struct reconcile_view *view, hf_vm_uid uid, const char *vf,
                        const uint8_t mac[VF_MAC_BYTES], const char **why)
{
    const struct ledger_vf *entry = owned(view, vf);

    if (entry != NULL && entry->uid != uid && !view->is_certain) {
        *why = "another VM owns it, and may still run";
        return false;
    }
    for (uint16_t i = 0; i < view->legs; i++) {
        const struct reconcile_leg *leg = &view->leg[i];

        if (leg->uid == uid && uid != 0)
            continue;
        if (strcmp(leg->vf, vf) == 0) {
            *why = "a running VM has it";
            return false;
        }
        if (!vf_mac_is_none(mac) && vf_mac_same(leg->mac, mac)) {
            *why = "a running VM has its MAC";
            return false;
        }
    }
    *why = "nobody has it";
    return true;
}
