#include "tests/fakes/vf_card.h"

#include <stdio.h>
#include <string.h>

void vf_card_init(struct vf_card *card, uint16_t count)
{
    memset(card, 0, sizeof *card);
    card->waits_left = 1000;
    card->list.is_pf_up = true;
    card->list.count = count;
    card->list.told = count;
    for (uint16_t n = 0; n < count; n++) {
        card->list.vf[n] = (struct vf_told){
            .is_told = true,
            .has_mac = true,
            .has_vlan = true,
            .config = {.mac = {0x0e, 0xf0, 0, 0, 0, (uint8_t)(n + 1)}, .spoofchk = VF_ON}};
    }
}

static bool is_alive(const struct vf_card *card, bool (*hook)(void *user))
{
    return hook == NULL || hook(card->user);
}

static enum vf_answer say(enum vf_answer answer, struct hf_err *err)
{
    if (answer != VF_DONE)
        (void)hf_err_set(err, HF_EIO, "the card says: %s", vf_answer_name(answer));
    return answer;
}

static enum vf_answer card_read(void *user, int32_t ifindex, struct vf_list *list,
                                struct hf_err *err)
{
    struct vf_card *card = user;

    (void)ifindex;
    card->reads++;
    *list = card->list;
    if (card->silent_reads > 0 && list->vf[card->silent_vf].is_told) {
        card->silent_reads--;
        memset(&list->vf[card->silent_vf], 0, sizeof list->vf[0]);
        list->told--;
    }
    return say(VF_DONE, err);
}

static void change(struct vf_config *is, enum vf_field field, const struct vf_config *wanted)
{
    switch (field) {
    case VF_FIELD_MAC:
        memcpy(is->mac, wanted->mac, VF_MAC_BYTES);
        return;
    case VF_FIELD_VLAN:
        is->vlan = wanted->vlan;
        is->qos = wanted->qos;
        return;
    case VF_FIELD_SPOOFCHK:
        is->spoofchk = wanted->spoofchk;
        return;
    case VF_FIELD_TRUST:
        is->trust = wanted->trust;
        return;
    case VF_FIELD_LINK:
        is->link = wanted->link;
        return;
    case VF_FIELDS:
        return;
    }
}

static bool is_zero_mac(const struct vf_config *config)
{
    static const uint8_t zeros[VF_MAC_BYTES];

    return vf_mac_same(config->mac, zeros);
}

static enum vf_answer card_set(void *user, int32_t ifindex, uint16_t vf, enum vf_field field,
                               const struct vf_config *wanted, struct hf_err *err)
{
    struct vf_card *card = user;

    (void)ifindex;
    card->orders++;
    if (!is_alive(card, card->before))
        return say(VF_UNKNOWN, err);
    if (card->busy > 0) {
        card->busy--;
        return say(VF_BUSY, err);
    }
    if (card->refusals > 0) {
        card->refusals--;
        return say(VF_REFUSED, err);
    }
    if ((card->unsupported & VF_FIELD(field)) != 0)
        return say(VF_UNSUPPORTED, err);
    if (vf >= card->list.count ||
        (field == VF_FIELD_MAC && card->refuses_no_mac && is_zero_mac(wanted)))
        return say(VF_REFUSED, err);
    if ((card->ignored & VF_FIELD(field)) == 0)
        change(&card->list.vf[vf].config, field, wanted);
    return say(is_alive(card, card->after) ? VF_DONE : VF_UNKNOWN, err);
}

static enum vf_answer card_link(void *user, int32_t ifindex, const uint16_t *vfs, uint16_t count,
                                enum vf_link link, struct hf_err *err)
{
    struct vf_card *card = user;

    (void)ifindex;
    card->orders++;
    if (!is_alive(card, card->before))
        return say(VF_UNKNOWN, err);
    if (card->busy > 0) {
        card->busy--;
        return say(VF_BUSY, err);
    }
    if ((card->unsupported & VF_FIELD(VF_FIELD_LINK)) != 0)
        return say(VF_UNSUPPORTED, err);
    /* As the kernel: it stops at the first that it refuses. */
    for (uint16_t i = 0; i < count; i++) {
        if (vfs[i] >= card->list.count)
            return say(VF_REFUSED, err);
        card->list.vf[vfs[i]].config.link = link;
    }
    return say(is_alive(card, card->after) ? VF_DONE : VF_UNKNOWN, err);
}

static enum vf_answer card_admin(void *user, int32_t ifindex, bool is_up, struct hf_err *err)
{
    struct vf_card *card = user;

    (void)ifindex;
    card->orders++;
    if (!is_alive(card, card->before))
        return say(VF_UNKNOWN, err);
    card->list.is_pf_up = is_up;
    return say(is_alive(card, card->after) ? VF_DONE : VF_UNKNOWN, err);
}

static bool card_wait(void *user, uint32_t ms)
{
    struct vf_card *card = user;

    (void)ms;
    if (card->waits_left == 0)
        return false;
    card->waits_left--;
    return true;
}

struct vf_port vf_card_port(struct vf_card *card)
{
    return (struct vf_port){card, card_read, card_set, card_link, card_admin, card_wait};
}

void vf_card_pf(const struct vf_card *card, const char *pci, struct vf_pf *pf)
{
    memset(pf, 0, sizeof *pf);
    snprintf(pf->pci, sizeof pf->pci, "%s", pci);
    snprintf(pf->name, sizeof pf->name, "card0");
    pf->ifindex = 7;
    pf->count = card->list.count;
    for (uint16_t n = 0; n < pf->count; n++) {
        snprintf(pf->vf[n], sizeof pf->vf[n], "0000:01:%02x.%u", (0x10u + n / 8u) & 0xffu, n % 8u);
        pf->has_driver[n] = true;
    }
}
