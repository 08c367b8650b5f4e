#include "agents/nic/watch.h"

#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"

static struct watch_pf *pf_of(struct watch *watch, hf_fabric fabric)
{
    HF_ASSERT(fabric < watch->fabrics_count);
    return &watch->pf[fabric];
}

/* Look at it in the next round. */
static void look_now(struct watch *watch, struct watch_pf *pf)
{
    pf->look_at = watch->now;
}

/* And here not more often than the loop can bear. */
static void look_soon(struct watch *watch, struct watch_pf *pf)
{
    hf_time rested = hf_time_add_ms(pf->looked_at, WATCH_REST_MS);
    hf_time at = hf_time_reached(watch->now, rested) ? watch->now : rested;

    if (at.ns < pf->look_at.ns)
        pf->look_at = at;
}

static void close_hot(struct watch_pf *pf)
{
    if (pf->is_open)
        hot_close(&pf->hot);
    pf->is_open = false;
}

static bool is_same_place(const struct nic_place *a, const struct nic_place *b)
{
    return a->ifindex == b->ifindex && strcmp(a->name, b->name) == 0 && strcmp(a->pci, b->pci) == 0;
}

/* Where is it, what is it made of? Opens its counters when it is somewhere else than before, or was
 * away. The files stay valid when only the name changed, but then the name is news, too. */
static void look(struct watch *watch, struct watch_pf *pf, hf_time now)
{
    struct nic_place found;
    struct hf_err err;

    pf->looked_at = now;
    pf->look_at = hf_time_add_ms(now, WATCH_LOOK_MS);
    if (probe_nic_find(watch->root, pf->wanted, &pf->place, &found, &err) != HF_OK) {
        close_hot(pf);
        pf->sample.is_present = NIC_NO;
        pf->sample.has_driver = NIC_NOT_KNOWN;
        pf->look_at = hf_time_add_ms(now, WATCH_SEEK_MS);
        return; /* place is kept: it is found again by it */
    }
    if (!is_same_place(&found, &pf->place))
        close_hot(pf);
    pf->place = found;
    pf->sample.is_present = NIC_YES;
    probe_nic_inventory(watch->root, &pf->place, &pf->inventory);
    pf->sample.has_driver = probe_nic_has_driver(watch->root, &pf->place);
    pf->sample.has_bare_vf = pf->inventory.vfs_without_driver > 0 ? NIC_YES : NIC_NO;
    (void)probe_nic_aer_errors(watch->root, &pf->place, &pf->aer_errors);
    if (!pf->is_open && found.name[0] != '\0')
        pf->is_open = hot_open(&pf->hot, watch->root, &found, now, &err) == HF_OK;
    /* Who has made a network device drives it, and who has made none drives nothing. */
    if (pf->is_open && pf->place.pci[0] == '\0')
        pf->sample.has_driver = NIC_YES;
    if (pf->is_open)
        return;
    pf->sample.has_driver = NIC_NO;
    pf->look_at = hf_time_add_ms(now, WATCH_SEEK_MS);
}

static bool is_pci_of(const struct watch_pf *pf, const char *pci)
{
    return pci[0] != '\0' && strcmp(pf->place.pci, pci) == 0;
}

static bool is_name_of(const struct watch_pf *pf, const char *name)
{
    return name[0] != '\0' && strcmp(pf->place.name, name) == 0;
}

static bool is_vf_of(const struct watch_pf *pf, const char *pci)
{
    for (unsigned i = 0; i < pf->inventory.vfs_count; i++)
        if (strcmp(pf->inventory.vf[i].pci, pci) == 0)
            return true;
    return false;
}

/* A signal of a device: to the PF that it is, and to PFs of the same card if it concerns both. With
 * ARI a VF may have the slot of its PF; what befalls one VF is not the card's fate. */
static void hear_of(struct watch *watch, const char *pci, const char *name, enum nic_signal signal)
{
    for (unsigned f = 0; f < watch->fabrics_count; f++) {
        struct watch_pf *pf = &watch->pf[f];

        if (pci[0] != '\0' ? is_pci_of(pf, pci) : is_name_of(pf, name)) {
            judge_nic_hear(&pf->judge, signal, watch->now);
            pf->resets += signal == NIC_SIGNAL_RESET;
        } else if (judge_nic_is_of_card(signal) && !is_vf_of(pf, pci) &&
                   judge_nic_same_card("", pci, "", pf->place.pci)) {
            judge_nic_hear(&pf->judge, NIC_SIGNAL_SISTER_DEAD, watch->now);
        }
    }
}

/* The other port's recovery is the card's. */
static void hear_recovered(struct watch *watch, const char *pci)
{
    for (unsigned f = 0; f < watch->fabrics_count; f++)
        if (!is_pci_of(&watch->pf[f], pci) &&
            judge_nic_same_card("", pci, "", watch->pf[f].place.pci))
            judge_nic_hear(&watch->pf[f].judge, NIC_SIGNAL_SISTER_WELL, watch->now);
    hear_of(watch, pci, "", NIC_SIGNAL_AER_RECOVERED);
}

static void hear_link(struct watch *watch, const struct nic_link *link)
{
    for (unsigned f = 0; f < watch->fabrics_count; f++) {
        struct watch_pf *pf = &watch->pf[f];
        bool is_it = pf->place.ifindex == link->ifindex;

        /* Renamed, gone, or another device took the place of one that is not there. */
        if (is_it ? link->is_gone || !is_name_of(pf, link->name)
                  : !pf->is_open && strcmp(pf->wanted, link->name) == 0)
            look_now(watch, pf);
        if (!is_it || link->is_gone)
            continue;
        if (pf->is_open)
            hot_learn(&pf->hot, link, watch->now);
        if (link->takes_part_in_lacp != NIC_NOT_KNOWN)
            pf->sample.takes_part_in_lacp = link->takes_part_in_lacp;
    }
}

static void hear_pci(struct watch *watch, const struct nic_uevent *ev)
{
    switch (ev->action) {
    case NIC_ADD:
        hear_of(watch, ev->pci, "", NIC_SIGNAL_ADDED);
        break;
    case NIC_REMOVE:
        hear_of(watch, ev->pci, "", NIC_SIGNAL_ABSENT);
        break;
    case NIC_BIND:
        hear_of(watch, ev->pci, "", NIC_SIGNAL_BOUND);
        break;
    case NIC_UNBIND:
        hear_of(watch, ev->pci, "", NIC_SIGNAL_UNBOUND);
        break;
    case NIC_CHANGE:
    case NIC_MOVE:
    case NIC_ACTION_OTHER:
        break;
    }
    switch (ev->aer) {
    case NIC_AER_NONE:
        break;
    case NIC_AER_BEGIN:
        hear_of(watch, ev->pci, "", NIC_SIGNAL_AER_BEGIN);
        break;
    case NIC_AER_FAILED:
        hear_of(watch, ev->pci, "", NIC_SIGNAL_AER_FAILED);
        break;
    case NIC_AER_RECOVERED:
        hear_recovered(watch, ev->pci);
        break;
    }
}

/* The device itself: what was seen of it before is no longer known. */
static void hear_own(struct watch *watch, struct watch_pf *pf, const struct nic_uevent *ev)
{
    look_now(watch, pf);
    if (ev->is_net || ev->action == NIC_CHANGE)
        return;
    pf->sample.is_present = NIC_NOT_KNOWN;
    pf->sample.has_driver = NIC_NOT_KNOWN;
}

static void hear_uevent(struct watch *watch, const struct nic_uevent *ev)
{
    if (!ev->is_net)
        hear_pci(watch, ev);
    for (unsigned f = 0; f < watch->fabrics_count; f++) {
        struct watch_pf *pf = &watch->pf[f];

        if (is_pci_of(pf, ev->pci) || is_name_of(pf, ev->name) ||
            strcmp(pf->wanted, ev->is_net ? ev->name : ev->pci) == 0)
            hear_own(watch, pf, ev);
        else if (is_vf_of(pf, ev->pci) || (!ev->is_net && ev->action == NIC_ADD))
            look_soon(watch, pf); /* a new device may be a new VF of ours: numvfs was written */
    }
}

static void hear_lldp(struct watch *watch, int32_t ifindex, const struct nic_lldp *lldp)
{
    for (unsigned f = 0; f < watch->fabrics_count; f++) {
        struct watch_pf *pf = &watch->pf[f];

        if (pf->place.ifindex != ifindex || ifindex <= 0)
            continue;
        (void)hf_str_copy(pf->switch_id, sizeof pf->switch_id,
                          lldp->seconds > 0 ? lldp->switch_id : "");
        pf->switch_until = hf_time_add_ms(watch->now, (int64_t)lldp->seconds * 1000);
    }
}

void watch_take(struct watch *watch, const struct listen_word *word, hf_time now)
{
    watch->now = now;
    switch (word->kind) {
    case LISTEN_LINK:
        hear_link(watch, &word->u.link);
        break;
    case LISTEN_UEVENT:
        hear_uevent(watch, &word->u.uevent);
        break;
    case LISTEN_KMSG:
        hear_of(watch, word->u.kmsg.pci, word->u.kmsg.name, word->u.kmsg.signal);
        break;
    case LISTEN_LLDP:
        hear_lldp(watch, word->u.seen.ifindex, &word->u.seen.lldp);
        break;
    case LISTEN_LOST:
        for (unsigned f = 0; f < watch->fabrics_count; f++)
            look_soon(watch, &watch->pf[f]); /* everything of it; the counters anyway */
        break;
    }
}

static void take_word(void *user, const struct listen_word *word)
{
    struct watch *watch = user;

    watch_take(watch, word, watch->now);
}

void watch_hear(struct watch *watch, hf_time now)
{
    watch->now = now;
    listen_read(&watch->listen, take_word, watch);
}

/* The other configured PF, when it is the other port of the same card. */
static const struct watch_pf *sister_of(const struct watch *watch, unsigned fabric)
{
    const struct watch_pf *pf = &watch->pf[fabric];

    for (unsigned f = 0; f < watch->fabrics_count; f++)
        if (f != fabric && judge_nic_same_card(pf->serial, pf->place.pci, watch->pf[f].serial,
                                               watch->pf[f].place.pci))
            return &watch->pf[f];
    return NULL;
}

hf_legs watch_tick(struct watch *watch, hf_time now)
{
    hf_legs changed = 0;

    watch->now = now;
    for (unsigned f = 0; f < watch->fabrics_count; f++) {
        struct watch_pf *pf = &watch->pf[f];
        const struct watch_pf *sister = sister_of(watch, f);

        if (hf_time_reached(now, pf->look_at))
            look(watch, pf, now);
        if (pf->is_open && !hot_read(&pf->hot, now, &pf->sample)) {
            close_hot(pf);
            look(watch, pf, now);
        }
        if (!pf->is_open) {
            pf->sample.is_seen = false;
            pf->sample.is_admin_up = pf->sample.has_carrier = NIC_NOT_KNOWN;
        }
        pf->sample.is_sister_dead = NIC_NOT_KNOWN;
        if (sister != NULL)
            pf->sample.is_sister_dead = sister->verdict.is_card_dead ? NIC_YES : NIC_NO;
        judge_nic_step(&pf->judge, &pf->sample, now, &pf->verdict);
        if (pf->verdict.has_changed)
            changed |= (hf_legs)(1u << f);
    }
    return changed;
}

enum hf_code watch_open(struct watch *watch, const struct watch_setup *setup, hf_time now,
                        char missing[200], struct hf_err *err)
{
    HF_ASSERT(setup->fabrics_count <= HF_FABRICS_MAX);
    memset(watch, 0, sizeof *watch);
    watch->root = setup->root;
    watch->fabrics_count = setup->fabrics_count;
    if (listen_open(&watch->listen, setup->kmsg, missing, err) != HF_OK)
        return err->code;
    for (unsigned f = 0; f < setup->fabrics_count; f++) {
        struct watch_pf *pf = &watch->pf[f];

        (void)hf_str_copy(pf->wanted, sizeof pf->wanted, setup->wanted[f]);
        judge_nic_init(&pf->judge, &setup->limits);
        look(watch, pf, now);
        probe_nic_serial(watch->root, &pf->place, pf->serial);
        probe_nic_firmware(watch->root, &pf->place, pf->firmware);
        if (pf->place.ifindex > 0 && setup->root[0] == '\0')
            listen_lldp(&watch->listen, pf->place.ifindex);
    }
    return HF_OK;
}

void watch_close(struct watch *watch)
{
    for (unsigned f = 0; f < watch->fabrics_count; f++)
        close_hot(&watch->pf[f]);
    listen_close(&watch->listen);
}

unsigned watch_fds(const struct watch *watch, struct pollfd out[LISTEN_FDS])
{
    unsigned count = 0;

    for (unsigned i = 0; i < LISTEN_FDS; i++)
        if (watch->listen.fd[i] >= 0)
            out[count++] = (struct pollfd){.fd = watch->listen.fd[i], .events = POLLIN};
    return count;
}

void watch_bfd(struct watch *watch, hf_fabric fabric, const struct nic_bfd *bfd)
{
    pf_of(watch, fabric)->sample.bfd = *bfd;
}

void watch_admin_ours(struct watch *watch, hf_fabric fabric, bool is_ours)
{
    pf_of(watch, fabric)->sample.is_admin_ours = is_ours;
}

void watch_helped(struct watch *watch, hf_fabric fabric, const struct watch_helped *helped,
                  hf_time now)
{
    struct watch_pf *pf = pf_of(watch, fabric);

    if (helped->is_config_gone == NIC_YES)
        watch_signal(watch, fabric, NIC_SIGNAL_CONFIG_GONE, now);
    if (helped->answered_at.ns > pf->sample.answered_at.ns)
        pf->sample.answered_at = helped->answered_at;
    if (helped->is_hot != NIC_NOT_KNOWN)
        pf->sample.is_hot = helped->is_hot;
    if (helped->is_optics_bad != NIC_NOT_KNOWN)
        pf->sample.is_optics_bad = helped->is_optics_bad;
    if (helped->serial[0] != '\0')
        (void)hf_str_copy(pf->serial, sizeof pf->serial, helped->serial);
    if (helped->firmware[0] != '\0')
        (void)hf_str_copy(pf->firmware, sizeof pf->firmware, helped->firmware);
}

void watch_signal(struct watch *watch, hf_fabric fabric, enum nic_signal signal, hf_time now)
{
    judge_nic_hear(&pf_of(watch, fabric)->judge, signal, now);
}

void watch_limit(struct watch *watch, const struct nic_limits *limits)
{
    for (unsigned f = 0; f < watch->fabrics_count; f++)
        judge_nic_limit(&watch->pf[f].judge, limits);
}

void watch_facts(const struct watch *watch, hf_fabric fabric, hf_time now, struct hf_pf_facts *out)
{
    const struct watch_pf *pf = &watch->pf[fabric];

    HF_ASSERT(fabric < watch->fabrics_count);
    memset(out, 0, sizeof *out);
    out->state = pf->verdict.state;
    out->cause = pf->verdict.cause;
    out->hold_ms = pf->verdict.hold_ms;
    (void)hf_str_copy(out->name, sizeof out->name,
                      pf->place.name[0] != '\0' ? pf->place.name : pf->wanted);
    (void)hf_str_copy(out->pci, sizeof out->pci, pf->place.pci);
    (void)hf_str_copy(out->driver, sizeof out->driver, pf->inventory.driver);
    (void)hf_str_copy(out->firmware, sizeof out->firmware, pf->firmware);
    (void)hf_str_copy(out->serial, sizeof out->serial, pf->serial);
    if (!hf_time_reached(now, pf->switch_until))
        (void)hf_str_copy(out->switch_id, sizeof out->switch_id, pf->switch_id);
    out->numa_node = pf->inventory.numa_node;
    out->vfs = pf->inventory.vfs_count;
    out->vfs_without_driver = pf->inventory.vfs_without_driver;
    out->bfd_peers = pf->sample.bfd.peers;
    out->bfd_up = pf->sample.bfd.up;
    out->carrier_downs = pf->sample.carrier_downs;
    out->aer_errors = pf->aer_errors;
    out->resets = pf->resets;
}
