/* order.h - carries out "make this slave the active one", once or again, and tells what is so
 * afterwards. Changes nothing when it is so already, and believes what it reads back, not what the
 * call returned. */
#ifndef AGENTS_GUEST_ORDER_H
#define AGENTS_GUEST_ORDER_H

#include "agents/guest/bond.h"

/* The kernel, or a test in its place. */
struct order_kernel {
    void *user;
    /* Bring one link of the table up to date. False: it cannot be read. */
    bool (*read)(void *user, uint32_t index, struct bond_table *table);
    /* 0 or errno. */
    int (*set_active)(void *user, uint32_t bond, uint32_t slave);
};

struct order_end {
    enum hf_guest_outcome outcome;
    int sys_errno;
    hf_mac active; /* the ordered one, or perm_mac of what is active instead; zeros: not known */
};

/* wanted: of bond_view(). The table is up to date afterwards as far as it could be read. */
struct order_end order_run(const struct order_kernel *kernel, struct bond_table *table,
                           const char *wanted, hf_mac mac);

#endif
