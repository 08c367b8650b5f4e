/* bond.h - the guest's bond, out of the kernel's link messages. Pure: bytes in, a picture out.
 * Knows bonds and their slaves and forgets every other interface. What a later kernel adds is
 * skipped; what is cut or does not add up is refused, and changes nothing. */
#ifndef AGENTS_GUEST_BOND_H
#define AGENTS_GUEST_BOND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/wire/guest_frame.h"

enum { BOND_LINKS_MAX = 32 }; /* bonds and slaves of one guest: sixteen times what two legs make */

enum bond_role { BOND_ROLE_BOND = 1, BOND_ROLE_SLAVE };

struct bond_link {
    enum bond_role role;
    uint32_t index;
    char name[HF_IFNAME_MAX + 1];
    bool has_carrier;
    /* of a bond: */
    uint32_t active; /* index of the active slave's interface; 0 = none */
    uint32_t miimon_ms, arp_interval_ms;
    uint8_t mode, primary_reselect, fail_over_mac; /* HF_GUEST_NONE: not told */
    /* of a slave: */
    uint32_t master;
    hf_mac mac, perm_mac;
    enum hf_guest_link link;
    bool is_state_active; /* IFLA_BOND_SLAVE_STATE */
    uint32_t failures;
};

struct bond_table {
    uint16_t count;
    uint32_t no_room; /* links that did not fit, since it was cleared */
    struct bond_link link[BOND_LINKS_MAX];
};

/* What one message was about. */
struct bond_heard {
    bool is_ours;   /* of a bond or a slave, or of one that was */
    bool is_bond;   /* of a bond */
    uint32_t index; /* of the interface */
    uint8_t event;  /* IFLA_EVENT_*; 0 = none */
    char name[HF_IFNAME_MAX + 1];
};

void bond_clear(struct bond_table *table);
/* One netlink message, header and all, len bytes. False: it is no sound link message. */
bool bond_learn(struct bond_table *table, const uint8_t *message, size_t len,
                struct bond_heard *heard);
/* The bond called `wanted`; with "" the active-backup bond with the lowest index, or else the bond
 * with the lowest. bond->name is "" when there is none. Slaves are in the order of their index. */
void bond_view(const struct bond_table *table, const char *wanted, struct hf_guest_bond *bond);
/* What a person or the host would call a change; counts of failures are part of it. */
bool bond_is_equal(const struct hf_guest_bond *a, const struct hf_guest_bond *b);

#endif
