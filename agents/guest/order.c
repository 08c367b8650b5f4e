#include "agents/guest/order.h"

#include <linux/if_bonding.h>
#include <stddef.h>

/* By its permanent address, which is what the VM's definition says. With fail_over_mac=none all
 * slaves use one address, so the one in use names a slave only if no other has it. */
static enum hf_guest_outcome find(const struct hf_guest_bond *bond, hf_mac mac, uint8_t *found)
{
    unsigned by_perm = 0, by_mac = 0;
    uint8_t perm_at = 0, mac_at = 0;

    for (uint8_t i = 0; i < bond->slaves_count; i++) {
        if (hf_mac_is_equal(bond->slave[i].perm_mac, mac)) {
            by_perm++;
            perm_at = i;
        }
        if (hf_mac_is_equal(bond->slave[i].mac, mac)) {
            by_mac++;
            mac_at = i;
        }
    }
    if (by_perm + by_mac == 0 || hf_mac_is_none(mac))
        return HF_GUEST_NO_SLAVE;
    if (by_perm > 1 || (by_perm == 0 && by_mac > 1))
        return HF_GUEST_AMBIGUOUS;
    *found = by_perm == 1 ? perm_at : mac_at;
    return HF_GUEST_DONE;
}

static bool is_active(const struct hf_guest_bond *bond, uint32_t index)
{
    return bond->active < bond->slaves_count && bond->slave[bond->active].index == index;
}

static struct order_end end(const struct bond_table *table, const char *wanted,
                            enum hf_guest_outcome outcome, int sys_errno)
{
    struct order_end result = {.outcome = outcome, .sys_errno = sys_errno};
    struct hf_guest_bond bond;

    bond_view(table, wanted, &bond);
    if (bond.active < bond.slaves_count)
        result.active = bond.slave[bond.active].perm_mac;
    return result;
}

struct order_end order_run(const struct order_kernel *kernel, struct bond_table *table,
                           const char *wanted, hf_mac mac)
{
    struct hf_guest_bond bond;
    enum hf_guest_outcome outcome;
    uint8_t at = 0;
    uint32_t slave;
    int sys_errno;

    bond_view(table, wanted, &bond);
    if (bond.name[0] == '\0' || bond.mode != BOND_MODE_ACTIVEBACKUP)
        return end(table, wanted, HF_GUEST_NO_BOND, 0);
    outcome = find(&bond, mac, &at);
    if (outcome != HF_GUEST_DONE)
        return end(table, wanted, outcome, 0);
    slave = bond.slave[at].index;
    /* What the kernel told last may be older than what is. */
    if (kernel->read(kernel->user, bond.index, table)) {
        bond_view(table, wanted, &bond);
        if (is_active(&bond, slave))
            return end(table, wanted, HF_GUEST_ALREADY, 0);
    }
    sys_errno = kernel->set_active(kernel->user, bond.index, slave);
    if (!kernel->read(kernel->user, bond.index, table))
        return end(table, wanted, sys_errno != 0 ? HF_GUEST_REFUSED : HF_GUEST_UNCONFIRMED,
                   sys_errno);
    bond_view(table, wanted, &bond);
    if (is_active(&bond, slave))
        return end(table, wanted, HF_GUEST_DONE, sys_errno);
    return end(table, wanted, sys_errno != 0 ? HF_GUEST_REFUSED : HF_GUEST_UNCONFIRMED, sys_errno);
}
