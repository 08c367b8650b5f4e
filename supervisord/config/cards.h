/* cards.h - one node's network cards, compared with what flips and restarts need of them.
 * PURE: facts and bytes in, findings out. Reading sysfs and asking the kernel is the command's. */
#ifndef SUPERVISORD_CONFIG_CARDS_H
#define SUPERVISORD_CONFIG_CARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/config/config.h"
#include "supervisord/config/findings.h"

enum {
    CARDS_TEXT_MAX = 63,          /* a driver, a firmware, a serial number */
    CARDS_VFS_MAX = 256,          /* of one PF; no driver makes more */
    CARDS_VPD_MAX = 32 << 10,     /* the address of a VPD has 15 bits (PCI 3.0, 6.28) */
    CARDS_ANSWER_MAX = 128 << 10, /* the list of VFs is one attribute: 64 KiB at most */
};

/* ---- facts ---- */

/* One PF that the cluster file names. "" = nobody told. */
struct card_facts {
    bool is_silent; /* whoever asked for all of this did not come back in time */
    bool is_there;
    char name[HF_IFNAME_MAX + 1];
    char pci[HF_PCI_NAME_MAX + 1]; /* "": it is no PCI device */
    char driver[CARDS_TEXT_MAX + 1], firmware[CARDS_TEXT_MAX + 1], serial[CARDS_TEXT_MAX + 1];
    bool is_up;            /* IFF_UP */
    uint16_t vfs_max, vfs; /* that its configuration allows; that there are */
    uint16_t vfs_without_driver;
    char without_driver[HF_PCI_NAME_MAX + 1]; /* the first of them */
    uint16_t vfs_enabled; /* link state enable: carrier whatever the wire does */
    uint16_t enabled;     /* the first of them */
};

enum card_switch { CARD_SWITCH_ABSENT = 0, CARD_SWITCH_OFF, CARD_SWITCH_ON };

/* Parameters of the module sfc. */
struct card_module {
    bool is_loaded;
    enum card_switch monitor_hw_available, link_down_on_reset, disable_recovery;
};

struct cards_state {
    struct card_facts card[HF_FABRICS_MAX];
    struct card_module sfc;
};

/* Y, N, 1, 0 of a parameter file. */
enum card_switch cards_switch(const char *text);
/* The serial number in a card's vital product data; false, and "": it has none, or it is no VPD. */
bool cards_serial(const uint8_t *vpd, size_t len, char out[CARDS_TEXT_MAX + 1]);
/* Count VFs in link state enable: a kernel's answer to RTM_GETLINK with RTEXT_FILTER_VF. False: it
 * is none, or cut short. */
bool cards_links(const uint8_t *answer, size_t len, struct card_facts *card);

/* ---- judging ---- */

void cards_judge(const struct cards_state *state, const struct hf_config *config, hf_node node,
                 struct findings *found);
/* One more: a fault (bit of HF_BOND_*) of the bond in a VM, of which its helper tells. */
void cards_judge_bond(struct findings *found, const char *vm, unsigned bit);

#endif
