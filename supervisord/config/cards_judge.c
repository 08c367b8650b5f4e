/* cards_judge.c - what is wrong with a node's cards, why it matters and what to do. */
#include "supervisord/config/cards.h"

#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/model/names.h"

struct judge {
    const struct cards_state *state;
    const struct hf_config *config;
    hf_node node;
    struct findings *found;
};

/* ---- one card ---- */

static void judge_vfs(const struct judge *j, const char *key, const struct card_facts *card)
{
    if (card->vfs_without_driver > 0)
        findings_add(
            j->found, FINDING_RISK, key,
            "%u of the %u VFs of %s have no driver, the first is %s: after a PCIe error the kernel "
            "could not recover the card, and every VF on it is lost. Bind them: driverctl "
            "set-override %s vfio-pci",
            card->vfs_without_driver, card->vfs, card->name, card->without_driver,
            card->without_driver);
    if (card->vfs_enabled > 0)
        findings_add(
            j->found, FINDING_RISK, key,
            "VF %u%s of %s %s in link state enable: the carrier stays up when the wire is dead, "
            "and "
            "the guest's bond does not move. ip link set dev %s vf %u state auto",
            card->enabled, card->vfs_enabled > 1 ? " and others" : "", card->name,
            card->vfs_enabled > 1 ? "are" : "is", card->name, card->enabled);
}

/* The firmware's data path is told as rxN txN; 1 is low latency (MC_CMD_GET_CAPABILITIES of EF10).
 */
static bool is_ultra_low_latency(const struct card_facts *card)
{
    return strstr(card->firmware, " rx1 tx1") != NULL;
}

static void judge_sfc(const struct judge *j, const char *key, const struct card_facts *card)
{
    if (strcmp(card->driver, "sfc") != 0 || card->vfs_max > 0)
        return;
    if (is_ultra_low_latency(card))
        findings_add(
            j->found, FINDING_RISK, key,
            "%s runs ultra-low-latency firmware (%s), which has no SR-IOV: no VM gets a VF of it. "
            "sfboot --adapter=%s firmware-variant=full-feature switch-mode=sriov vf-count=8, then "
            "a cold reboot",
            card->name, card->firmware, card->name);
    else
        findings_add(j->found, FINDING_ADVICE, key,
                     "%s is set up without VFs: no VM gets one of it. sfboot --adapter=%s "
                     "switch-mode=sriov vf-count=8, then a cold reboot",
                     card->name, card->name);
}

static void judge_card(const struct judge *j, hf_fabric f)
{
    const char *wanted = j->config->nics.pf[j->node.ix][f];
    const struct card_facts *card = &j->state->card[f];
    const char key[] = {'n', 'i', 'c', '_', (char)('a' + f), '\0'};

    if (wanted[0] == '\0')
        return;
    if (card->is_silent) {
        findings_add(
            j->found, FINDING_RISK, key,
            "%s did not answer in time: its driver or its controller blocks whoever asks. Look at "
            "the kernel log: journalctl -k -g %s",
            wanted, wanted);
        return;
    }
    if (!card->is_there) {
        findings_add(
            j->found, FINDING_RISK, key,
            "there is no %s on this node: VMs with a leg in fabric %c are not placed here. Correct "
            "%s, or load its driver: ip -br link; lspci -nnk",
            wanted, 'a' + f, key);
        return;
    }
    if (card->pci[0] != '\0' && card->driver[0] == '\0')
        findings_add(j->found, FINDING_RISK, key,
                     "%s has no driver: it carries nothing. lspci -nnks %s", wanted, card->pci);
    else if (card->name[0] == '\0')
        findings_add(
            j->found, FINDING_RISK, key,
            "%s is driven by %s and has no network interface here: nothing can be told of it",
            wanted, card->driver);
    else if (!card->is_up)
        findings_add(
            j->found, FINDING_RISK, key,
            "%s is not up: libvirt refuses to start a VM with a VF of it, and it carries nothing. "
            "ip link set dev %s up, and at every boot",
            card->name, card->name);
    judge_vfs(j, key, card);
    judge_sfc(j, key, card);
}

/* ---- both ---- */

enum { SLOT_LEN = 10 }; /* "0000:01:00" */

static void judge_pair(const struct judge *j)
{
    const struct card_facts *a = &j->state->card[0], *b = &j->state->card[1];
    bool is_known = a->is_there && b->is_there && !a->is_silent && !b->is_silent;

    if (!is_known)
        return;
    if (a->pci[0] != '\0' && strcmp(a->pci, b->pci) == 0)
        findings_add(
            j->found, FINDING_RISK, "nic_b",
            "nic_a and nic_b are the same card, %s: there is no second leg. Name another one",
            a->pci);
    else if (a->serial[0] != '\0' && strcmp(a->serial, b->serial) == 0)
        findings_add(
            j->found, FINDING_RISK, "nic_b",
            "%s and %s are ports of one card (serial number %s): they share its controller and die "
            "together. Name a port of another card",
            a->name, b->name, a->serial);
    else if (a->pci[0] != '\0' && strncmp(a->pci, b->pci, SLOT_LEN) == 0)
        findings_add(
            j->found, FINDING_RISK, "nic_b",
            "%s and %s are functions of one card (%.*s): they share its controller and die "
            "together. Name a port of another card",
            a->name, b->name, SLOT_LEN, a->pci);
}

/* ---- the module sfc ---- */

static bool has_sfc(const struct judge *j)
{
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if (j->config->nics.pf[j->node.ix][f][0] != '\0' &&
            strcmp(j->state->card[f].driver, "sfc") == 0)
            return true;
    return false;
}

#define MODPROBE "in /etc/modprobe.d/sfc.conf, then load it again"

static void judge_module(const struct judge *j)
{
    const struct card_module *sfc = &j->state->sfc;

    if (!sfc->is_loaded || !has_sfc(j))
        return;
    if (sfc->monitor_hw_available == CARD_SWITCH_ABSENT)
        findings_add(
            j->found, FINDING_ADVICE, "sfc",
            "this driver has no monitor_hw_available: a dead controller is told by a command that "
            "times out after 10 s, or by BFD%s. The vendor's driver has it",
            sfc->link_down_on_reset == CARD_SWITCH_ABSENT
                ? "; and no link_down_on_reset: no guest's bond sees a reset of the card"
                : "");
    else if (sfc->monitor_hw_available == CARD_SWITCH_OFF)
        findings_add(
            j->found, FINDING_ADVICE, "sfc",
            "monitor_hw_available is off: a dead controller is told by a command that times out "
            "after 10 s, or by BFD. options sfc monitor_hw_available=1 " MODPROBE);
    if (sfc->link_down_on_reset == CARD_SWITCH_OFF)
        findings_add(
            j->found, FINDING_ADVICE, "sfc",
            "link_down_on_reset is off: the carrier stays up while the card is reset, and no "
            "guest's bond moves. options sfc link_down_on_reset=1 " MODPROBE);
    if (sfc->disable_recovery == CARD_SWITCH_ON)
        findings_add(
            j->found, FINDING_RISK, "sfc",
            "disable_recovery is on: the first error of the controller leaves the card dead until "
            "a "
            "person loads the driver again. options sfc disable_recovery=0 " MODPROBE);
}

void cards_judge(const struct cards_state *state, const struct hf_config *config, hf_node node,
                 struct findings *found)
{
    struct judge j = {state, config, node, found};

    HF_ASSERT(node.ix < config->group.nodes_count);
    found->count = 0;
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        judge_card(&j, f);
    judge_pair(&j);
    judge_module(&j);
}

void cards_judge_bond(struct findings *found, const char *vm, unsigned bit)
{
    findings_add(found, FINDING_ADVICE, "guest",
                 "bond of %s: %s. In the guest: ip link set BOND type bond "
                 "primary_reselect failure miimon 20",
                 vm, hf_bond_fault_text(bit));
}
