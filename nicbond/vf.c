#include "nicbond/vf.h"

#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/clock.h"
#include "supervisord/base/str.h"

enum {
    /* A VF that was just made may answer EINVAL to its VLAN for a moment and take it later. */
    REFUSALS_MAX = 3,
};

/* ---- orders, again while the card is busy ---- */

/* False: give up. */
static bool wait_more(const struct vf_port *port, hf_time deadline)
{
    return !hf_time_reached(hf_time_add_ms(hf_clock_now(), VF_RETRY_MS), deadline) &&
           port->wait(port->user, VF_RETRY_MS);
}

static enum hf_code code_of(enum vf_answer answer)
{
    switch (answer) {
    case VF_DONE:
        return HF_OK;
    case VF_UNSUPPORTED:
    case VF_REFUSED:
        return HF_EINVAL;
    case VF_GONE:
        return HF_ENOENT;
    case VF_BUSY:
    case VF_UNKNOWN:
    case VF_ANSWERS:
        break;
    }
    return HF_EAGAIN;
}

static enum hf_code read_pf(const struct vf_port *port, const struct vf_pf *pf, hf_time deadline,
                            struct vf_list *list, struct hf_err *err)
{
    enum vf_answer answer;

    do
        answer = port->read(port->user, pf->ifindex, list, err);
    while (answer == VF_BUSY && wait_more(port, deadline));
    if (answer == VF_DONE)
        return HF_OK;
    err->code = code_of(answer);
    return hf_err_wrap(err, "PF %s", pf->name);
}

/* What the kernel tells of one VF, waiting for it: a VF in reset is not told for a moment.
 * HF_ENOENT: there is none. HF_EAGAIN: it is not told, as by a card that does not answer. */
static enum hf_code read_vf(const struct vf_port *port, const struct vf_pf *pf, uint16_t number,
                            hf_time deadline, struct vf_list *list, struct hf_err *err)
{
    do {
        if (read_pf(port, pf, deadline, list, err) != HF_OK)
            return err->code;
        if (number >= VF_COUNT_MAX || number >= list->count)
            return hf_err_set(err, HF_ENOENT, "PF %s has %u VFs, and no VF %u", pf->name,
                              (unsigned)list->count, (unsigned)number);
        if (list->vf[number].is_told)
            return HF_OK;
    } while (wait_more(port, deadline));
    return hf_err_set(err, HF_EAGAIN, "PF %s: the kernel does not tell about VF %u", pf->name,
                      (unsigned)number);
}

static enum vf_answer set_once(const struct vf_port *port, const struct vf_pf *pf, uint16_t number,
                               enum vf_field field, const struct vf_config *wanted,
                               struct hf_err *err)
{
    /* What libvirt writes for "no MAC" where a driver refuses zeros. */
    static const struct vf_config no_mac = {.mac = {0x02}};
    enum vf_answer answer = port->set(port->user, pf->ifindex, number, field, wanted, err);

    if (field == VF_FIELD_MAC && answer == VF_REFUSED && vf_mac_is_none(wanted->mac))
        answer = port->set(port->user, pf->ifindex, number, field, &no_mac, err);
    return answer;
}

static enum vf_answer set_field(const struct vf_port *port, const struct vf_pf *pf, uint16_t number,
                                enum vf_field field, const struct vf_config *wanted,
                                hf_time deadline, struct hf_err *err)
{
    unsigned refusals = 0;
    enum vf_answer answer;

    do {
        answer = set_once(port, pf, number, field, wanted, err);
        refusals += answer == VF_REFUSED;
    } while ((answer == VF_BUSY || (answer == VF_REFUSED && refusals < REFUSALS_MAX)) &&
             wait_more(port, deadline));
    return answer;
}

static void name_fields(vf_fields fields, char *text, size_t cap)
{
    size_t used = 0;

    text[0] = '\0';
    for (enum vf_field f = VF_FIELD_MAC; f < VF_FIELDS; f++) {
        if ((fields & VF_FIELD(f)) == 0)
            continue;
        (void)hf_str_copy(text + used, cap - used, used > 0 ? ", " : "");
        used += strlen(text + used);
        (void)hf_str_copy(text + used, cap - used, vf_field_name(f));
        used += strlen(text + used);
    }
}

static enum hf_code say_left(const struct vf_pf *pf, uint16_t number, vf_fields left,
                             vf_fields unsupported, const struct vf_config *present,
                             struct hf_err *err)
{
    char text[VF_CONFIG_TEXT_MAX], names[64];

    name_fields(left, names, sizeof names);
    vf_config_text(present, text);
    return hf_err_set(
        err, HF_EINVAL, "PF %s VF %u: %s not as wanted%s: it reads %s", pf->name, (unsigned)number,
        names, (left & unsupported) != 0 ? ", and the driver has no operation for it" : "", text);
}

/* Until it reads as wanted. */
static enum hf_code verify(const struct vf_port *port, const struct vf_pf *pf, uint16_t number,
                           vf_fields fields, const struct vf_config *wanted, vf_fields unsupported,
                           hf_time deadline, struct hf_err *err)
{
    struct vf_list list;
    vf_fields left;

    do {
        if (read_vf(port, pf, number, deadline, &list, err) != HF_OK)
            return err->code;
        left = (vf_fields)(vf_config_differs(&list.vf[number].config, wanted) & fields);
        if (left == 0)
            return HF_OK;
        /* What the driver has no operation for will not come. */
    } while ((left & unsupported) == 0 && wait_more(port, deadline));
    return say_left(pf, number, left, unsupported, &list.vf[number].config, err);
}

enum hf_code vf_write(const struct vf_port *port, const struct vf_pf *pf, uint16_t number,
                      vf_fields fields, const struct vf_config *wanted, vf_fields *unsupported,
                      struct hf_err *err)
{
    hf_time deadline = hf_time_add_ms(hf_clock_now(), VF_RETRY_FOR_MS);

    *unsupported = 0;
    for (enum vf_field f = VF_FIELD_MAC; f < VF_FIELDS; f++) {
        enum vf_answer answer;

        if ((fields & VF_FIELD(f)) == 0)
            continue;
        answer = set_field(port, pf, number, f, wanted, deadline, err);
        if (answer == VF_UNSUPPORTED) {
            *unsupported |= VF_FIELD(f);
        } else if (answer != VF_DONE) {
            err->code = code_of(answer);
            return hf_err_wrap(err, "PF %s", pf->name);
        }
    }
    return verify(port, pf, number, fields, wanted, *unsupported, deadline, err);
}

/* ---- a VF and its owner ---- */

static enum hf_code check_order(const struct vf_order *order, struct hf_err *err)
{
    HF_ASSERT(order->pf->count <= VF_COUNT_MAX);
    if (order->number >= order->pf->count)
        return hf_err_set(err, HF_ENOENT, "PF %s has %u VFs, and no VF %u", order->pf->name,
                          (unsigned)order->pf->count, (unsigned)order->number);
    if (order->uid == 0 || !vf_config_is_valid(&order->wanted))
        return hf_err_set(err, HF_EINVAL, "PF %s VF %u: no owner, or nothing a VF could be told",
                          order->pf->name, (unsigned)order->number);
    return HF_OK;
}

static struct ledger_vf entry_of(const struct vf_order *order)
{
    struct ledger_vf entry = {.number = order->number,
                              .uid = order->uid,
                              .start_no = order->start_no,
                              .wanted = order->wanted};

    (void)hf_str_copy(entry.pf, sizeof entry.pf, order->pf->pci);
    (void)hf_str_copy(entry.vf, sizeof entry.vf, order->pf->vf[order->number]);
    return entry;
}

static enum hf_code put_done(struct ledger_file *ledger, const struct vf_order *order,
                             struct hf_err *err)
{
    struct ledger_record record;

    if (ledger_done(&ledger->ledger, order->pf->vf[order->number], order->uid, order->start_no,
                    &record, err) != HF_OK)
        return err->code;
    return ledger_file_put(ledger, &record, err);
}

static enum hf_code put_intended(struct ledger_file *ledger, const struct vf_order *order,
                                 const struct vf_config *original, const struct vf_config *wanted,
                                 struct hf_err *err)
{
    struct ledger_vf entry = entry_of(order);
    struct ledger_record record;

    entry.wanted = *wanted;
    if (ledger_intend(&ledger->ledger, &entry, original, &record, err) != HF_OK)
        return err->code;
    return ledger_file_put(ledger, &record, err);
}

enum hf_code vf_prepare(const struct vf_port *port, struct ledger_file *ledger,
                        const struct vf_order *order, vf_fields *unsupported, struct hf_err *err)
{
    hf_time deadline = hf_time_add_ms(hf_clock_now(), VF_RETRY_FOR_MS);
    struct vf_config original, wanted = order->wanted;
    const struct vf_pf *pf = order->pf;
    struct vf_list list;
    vf_fields fields;

    *unsupported = 0;
    wanted.link = VF_LINK_AUTO;
    if (check_order(order, err) != HF_OK ||
        read_vf(port, pf, order->number, deadline, &list, err) != HF_OK)
        return hf_err_wrap(err, "prepare");
    if (!list.is_pf_up)
        return hf_err_set(err, HF_EAGAIN, "prepare: PF %s is switched off", pf->name);
    if (list.vf[order->number].is_qinq)
        return hf_err_set(err, HF_EINVAL,
                          "prepare: PF %s VF %u has an 802.1ad VLAN, which could not be given back",
                          pf->name, (unsigned)order->number);
    original = list.vf[order->number].config;
    /* A link that is off is somebody's order of the moment, not what the VF is. */
    if (original.link == VF_LINK_DISABLE)
        original.link = VF_LINK_AUTO;
    if (put_intended(ledger, order, &original, &wanted, err) != HF_OK)
        return hf_err_wrap(err, "prepare");
    /* The MAC always: a driver may have drawn the same one by itself, and only one that was told
     * is kept from the guest (igb, ixgbe). */
    fields = (vf_fields)(vf_config_differs(&list.vf[order->number].config, &wanted) |
                         VF_FIELD(VF_FIELD_MAC));
    if (vf_write(port, pf, order->number, fields, &wanted, unsupported, err) != HF_OK ||
        put_done(ledger, order, err) != HF_OK)
        return hf_err_wrap(err, "prepare");
    return HF_OK;
}

enum hf_code vf_adopt(const struct vf_port *port, struct ledger_file *ledger,
                      const struct vf_order *order, struct hf_err *err)
{
    hf_time deadline = hf_time_add_ms(hf_clock_now(), VF_RETRY_FOR_MS);
    struct vf_config original, wanted;
    struct vf_list list;

    if (check_order(order, err) != HF_OK ||
        read_vf(port, order->pf, order->number, deadline, &list, err) != HF_OK)
        return hf_err_wrap(err, "adopt");
    wanted = list.vf[order->number].config;
    wanted.link = VF_LINK_AUTO;
    original = wanted;
    memset(original.mac, 0, sizeof original.mac);
    original.vlan = 0;
    original.qos = 0;
    if (put_intended(ledger, order, &original, &wanted, err) != HF_OK)
        return hf_err_wrap(err, "adopt");
    /* A link that is forced is told to be auto by the next look, unless a flip holds it. */
    if (vf_config_differs(&list.vf[order->number].config, &wanted) != 0)
        return HF_OK;
    return put_done(ledger, order, err) == HF_OK ? HF_OK : hf_err_wrap(err, "adopt");
}

/* Fields that are still as the owner wanted them and were something else before. A link that is off
 * is restored in any case: a VF is never left so, and after a power cut the card may be the only
 * one that remembers the flip which did it. */
static vf_fields to_restore(const struct ledger_vf *entry, const struct vf_config *present)
{
    unsigned same = VF_FIELDS_ALL & ~(unsigned)vf_config_differs(present, &entry->wanted);

    /* What was not wanted was not told. */
    if (entry->wanted.spoofchk == VF_SETTING_UNKNOWN)
        same &= ~(unsigned)VF_FIELD(VF_FIELD_SPOOFCHK);
    if (entry->wanted.trust == VF_SETTING_UNKNOWN)
        same &= ~(unsigned)VF_FIELD(VF_FIELD_TRUST);
    if (entry->wanted.link == VF_LINK_UNKNOWN)
        same &= ~(unsigned)VF_FIELD(VF_FIELD_LINK);
    if (present->link == VF_LINK_DISABLE)
        same |= VF_FIELD(VF_FIELD_LINK);
    return (vf_fields)(same & vf_config_differs(present, &entry->original));
}

static enum hf_code restore(const struct vf_port *port, const struct vf_order *order,
                            const struct ledger_vf *entry, struct hf_err *err)
{
    hf_time deadline = hf_time_add_ms(hf_clock_now(), VF_RETRY_FOR_MS);
    vf_fields fields, unsupported;
    struct vf_list list;

    if (read_vf(port, order->pf, order->number, deadline, &list, err) != HF_OK)
        return err->code;
    fields = to_restore(entry, &list.vf[order->number].config);
    if (fields == 0)
        return HF_OK;
    return vf_write(port, order->pf, order->number, fields, &entry->original, &unsupported, err);
}

enum hf_code vf_release(const struct vf_port *port, struct ledger_file *ledger,
                        const struct vf_order *order, struct hf_err *err)
{
    const char *vf;
    struct ledger_record record;
    enum hf_code code;

    if (order->number >= order->pf->count)
        return hf_err_set(err, HF_ENOENT, "release: PF %s has no VF %u", order->pf->name,
                          (unsigned)order->number);
    vf = order->pf->vf[order->number];
    if (ledger_release(&ledger->ledger, vf, order->uid, order->start_no, &record, err) != HF_OK)
        return hf_err_wrap(err, "release");
    code = restore(port, order, ledger_find(&ledger->ledger, vf), err);
    if (code != HF_OK && code != HF_ENOENT)
        return hf_err_wrap(err, "release");
    if (code == HF_ENOENT) {
        struct hf_err put;

        /* Its settings went with it. */
        if (ledger_file_put(ledger, &record, &put) != HF_OK)
            return hf_err_set(err, put.code, "release: %s", put.text);
        return hf_err_wrap(err, "release");
    }
    if (ledger_file_put(ledger, &record, err) != HF_OK)
        return hf_err_wrap(err, "release");
    return HF_OK;
}

/* ---- repairs ---- */

static enum hf_code pf_up(const struct vf_port *port, const struct vf_pf *pf, struct hf_err *err)
{
    hf_time deadline = hf_time_add_ms(hf_clock_now(), VF_RETRY_FOR_MS);
    enum vf_answer answer;
    struct vf_list list;

    do
        answer = port->admin(port->user, pf->ifindex, true, err);
    while (answer == VF_BUSY && wait_more(port, deadline));
    if (answer != VF_DONE) {
        err->code = code_of(answer);
        return hf_err_wrap(err, "PF %s", pf->name);
    }
    if (read_pf(port, pf, deadline, &list, err) != HF_OK)
        return err->code;
    if (!list.is_pf_up)
        return hf_err_set(err, HF_EAGAIN, "PF %s: told to go up, and it is down", pf->name);
    return HF_OK;
}

/* Only when everything that the dead flip switched off reads as on, or is gone. */
static enum hf_code flip_close(const struct vf_port *port, int flips_fd, const struct vf_pf *pf,
                               const struct reconcile_item *item, struct hf_err *err)
{
    hf_time deadline = hf_time_add_ms(hf_clock_now(), VF_RETRY_FOR_MS);
    struct flips_entry entry;
    struct flips flips;
    struct vf_list list;

    if (item->fabric >= HF_FABRICS_MAX || flips_read(flips_fd, &flips, err) != HF_OK)
        return hf_err_set(err, HF_EIO, "close flip: its record does not read");
    entry = flips.fabric[item->fabric];
    if (entry.epoch != item->epoch || !flips_is_open(&entry))
        return HF_OK; /* there is a newer one, or it is closed */
    if (read_pf(port, pf, deadline, &list, err) != HF_OK)
        return hf_err_wrap(err, "close flip");
    if (entry.is_pf_down && !list.is_pf_up)
        return hf_err_set(err, HF_EAGAIN, "close flip: PF %s is still down", pf->name);
    for (uint16_t n = 0; n < list.count; n++) {
        if (flips_has_vf(&entry, n) &&
            (!list.vf[n].is_told || list.vf[n].config.link == VF_LINK_DISABLE))
            return hf_err_set(err, HF_EAGAIN, "close flip: the link of PF %s VF %u is not on",
                              pf->name, (unsigned)n);
    }
    entry.is_pf_down = false;
    memset(entry.vfs, 0, sizeof entry.vfs);
    return flips_put(flips_fd, item->fabric, &entry, err);
}

/* Its owner runs with it: read back once more, except for what a running flip or the guest may
 * have made of it. */
static enum hf_code finish(const struct vf_port *port, struct ledger_file *ledger,
                           const struct vf_order *order, struct hf_err *err)
{
    hf_time deadline = hf_time_add_ms(hf_clock_now(), VF_RETRY_FOR_MS);
    struct vf_list list;
    unsigned differs;

    if (read_vf(port, order->pf, order->number, deadline, &list, err) != HF_OK)
        return err->code;
    differs = vf_config_differs(&list.vf[order->number].config, &order->wanted);
    differs &= ~(unsigned)VF_FIELD(VF_FIELD_LINK);
    if (order->wanted.trust == VF_ON)
        differs &= ~(unsigned)VF_FIELD(VF_FIELD_MAC);
    if (differs != 0)
        return say_left(order->pf, order->number, (vf_fields)differs, 0,
                        &list.vf[order->number].config, err);
    return put_done(ledger, order, err);
}

static enum hf_code put_released(struct ledger_file *ledger, const struct reconcile_item *item,
                                 struct hf_err *err)
{
    struct ledger_record record;

    if (ledger_release(&ledger->ledger, item->vf, item->uid, item->start_no, &record, err) != HF_OK)
        return err->code;
    return ledger_file_put(ledger, &record, err);
}

/* The VF is where it was when it was looked at. */
static enum hf_code check_place(const struct vf_pf *pf, const struct reconcile_item *item,
                                struct hf_err *err)
{
    if (item->number >= pf->count || strcmp(pf->vf[item->number], item->vf) != 0)
        return hf_err_set(err, HF_EAGAIN, "VF %s is not PF %s's VF %u any more", item->vf, pf->name,
                          (unsigned)item->number);
    return HF_OK;
}

enum hf_code vf_repair(const struct vf_port *port, struct ledger_file *ledger, int flips_fd,
                       const struct vf_pf *pf, const struct reconcile_item *item,
                       struct hf_err *err)
{
    struct vf_order order = {.pf = pf,
                             .number = item->number,
                             .uid = item->uid,
                             .start_no = item->start_no,
                             .wanted = item->config};
    vf_fields unsupported;

    if (!reconcile_is_repair(item->kind))
        return HF_OK;
    switch (item->kind) {
    case RECONCILE_PF_UP:
        return pf_up(port, pf, err);
    case RECONCILE_FLIP_CLOSE:
        return flip_close(port, flips_fd, pf, item, err);
    case RECONCILE_RELEASE:
        return put_released(ledger, item, err);
    case RECONCILE_LINK_AUTO:
    case RECONCILE_REASSERT:
        if (check_place(pf, item, err) != HF_OK)
            return err->code;
        return vf_write(port, pf, item->number, item->fields, &item->config, &unsupported, err);
    case RECONCILE_RESTORE:
        return check_place(pf, item, err) != HF_OK ? err->code
                                                   : vf_release(port, ledger, &order, err);
    case RECONCILE_DONE:
        return check_place(pf, item, err) != HF_OK ? err->code : finish(port, ledger, &order, err);
    case RECONCILE_TWO_OWNERS:
    case RECONCILE_TWO_MACS:
    case RECONCILE_STRAY_MAC:
    case RECONCILE_UNRECORDED:
    case RECONCILE_VF_VANISHED:
    case RECONCILE_VF_UNKNOWN:
    case RECONCILE_DRIFT:
    case RECONCILE_LINK_FORCED:
    case RECONCILE_FLIPS_DAMAGED:
    case RECONCILE_KINDS:
        break;
    }
    HF_NEVER("a repair that is a report");
}
