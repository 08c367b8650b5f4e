#include "agents/guest/order.h"

#include <linux/if_bonding.h>

static bool is_active(const struct hf_guest_bond *bond, uint32_t index)
{
    return bond->active < bond->slaves_count && bond->slave[bond->active].index == index;
}

/* It is active: told by the name that the order had for it. */
static struct order_end end_well(enum hf_guest_outcome outcome, hf_mac mac)
{
    return (struct order_end){.outcome = outcome, .active = mac};
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
    outcome = guest_frame_find(&bond, mac, &at);
    if (outcome != HF_GUEST_DONE)
        return end(table, wanted, outcome, 0);
    slave = bond.slave[at].index;
    /* What the kernel told last may be older than what is. */
    if (kernel->read(kernel->user, bond.index, table)) {
        bond_view(table, wanted, &bond);
        if (is_active(&bond, slave))
            return end_well(HF_GUEST_ALREADY, mac);
    }
    sys_errno = kernel->set_active(kernel->user, bond.index, slave);
    if (!kernel->read(kernel->user, bond.index, table))
        return end(table, wanted, sys_errno != 0 ? HF_GUEST_REFUSED : HF_GUEST_UNCONFIRMED,
                   sys_errno);
    bond_view(table, wanted, &bond);
    if (is_active(&bond, slave))
        return end_well(HF_GUEST_DONE, mac);
    return end(table, wanted, sys_errno != 0 ? HF_GUEST_REFUSED : HF_GUEST_UNCONFIRMED, sys_errno);
}
