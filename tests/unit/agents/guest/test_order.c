#include "agents/guest/order.h"

#include <errno.h>
#include <linux/if_bonding.h>
#include <string.h>

#include "tests/unit/check.h"

#define MAC(n) ((hf_mac){{0x52, 0x54, 0, 0, 0, (n)}})

enum { BOND = 9, ETH0 = 2, ETH1 = 3 };

/* A kernel: what is so there, and what it does when asked. */
struct kernel {
    uint32_t active;
    int refuses;         /* errno of every change */
    bool is_deaf;        /* says yes and does nothing */
    bool is_obedient;    /* says no and does it */
    int unreadable_from; /* the read with this number and all later ones fail */
    int reads, changes;
};

static bool read_link(void *user, uint32_t index, struct bond_table *table)
{
    struct kernel *kernel = user;

    ck_assert_uint_eq(index, BOND);
    kernel->reads++;
    if (kernel->unreadable_from != 0 && kernel->reads >= kernel->unreadable_from)
        return false;
    for (uint16_t i = 0; i < table->count; i++)
        if (table->link[i].index == BOND)
            table->link[i].active = kernel->active;
    return true;
}

static int set_active(void *user, uint32_t bond, uint32_t slave)
{
    struct kernel *kernel = user;

    ck_assert_uint_eq(bond, BOND);
    kernel->changes++;
    if ((kernel->refuses == 0 && !kernel->is_deaf) || kernel->is_obedient)
        kernel->active = slave;
    return kernel->refuses;
}

static struct bond_table a_table(uint32_t active)
{
    struct bond_table table = {
        .count = 3,
        .link = {{.role = BOND_ROLE_SLAVE, .index = ETH0, .name = "eth0", .master = BOND},
                 {.role = BOND_ROLE_SLAVE, .index = ETH1, .name = "eth1", .master = BOND},
                 {.role = BOND_ROLE_BOND,
                  .index = BOND,
                  .name = "bond0",
                  .mode = BOND_MODE_ACTIVEBACKUP,
                  .active = active}},
    };

    for (uint8_t i = 0; i < 2; i++) {
        table.link[i].mac = MAC(i);
        table.link[i].perm_mac = MAC((uint8_t)(0x10 + i));
    }
    return table;
}

static struct order_end run(struct kernel *kernel, struct bond_table *table, hf_mac mac)
{
    const struct order_kernel calls = {kernel, read_link, set_active};

    return order_run(&calls, table, "", mac);
}

START_TEST(an_order_is_done_and_read_back)
{
    struct kernel kernel = {.active = ETH0};
    struct bond_table table = a_table(ETH0);
    struct hf_guest_bond bond;
    struct order_end end = run(&kernel, &table, MAC(0x11));

    ck_assert_int_eq(end.outcome, HF_GUEST_DONE);
    ck_assert_int_eq(end.sys_errno, 0);
    ck_assert(hf_mac_is_equal(end.active, MAC(0x11)));
    ck_assert_int_eq(kernel.changes, 1);
    ck_assert_int_eq(kernel.reads, 2);
    bond_view(&table, "", &bond);
    ck_assert_uint_eq(bond.active, 1);
}
END_TEST

START_TEST(what_is_so_already_is_not_done_again)
{
    struct kernel kernel = {.active = ETH1};
    /* The second time the kernel has changed and we have not heard of it yet. */
    struct bond_table table = a_table(_i == 0 ? ETH1 : ETH0);
    struct order_end end = run(&kernel, &table, MAC(0x11));

    ck_assert_int_eq(end.outcome, HF_GUEST_ALREADY);
    ck_assert(hf_mac_is_equal(end.active, MAC(0x11)));
    ck_assert_int_eq(kernel.changes, 0);
}
END_TEST

START_TEST(what_was_so_a_moment_ago_is_done_again)
{
    struct kernel kernel = {.active = ETH0};
    struct bond_table table = a_table(ETH1);

    ck_assert_int_eq(run(&kernel, &table, MAC(0x11)).outcome, HF_GUEST_DONE);
    ck_assert_int_eq(kernel.changes, 1);
}
END_TEST

START_TEST(a_refusal_is_told_with_its_errno)
{
    struct kernel kernel = {.active = ETH0, .refuses = EINVAL};
    struct bond_table table = a_table(ETH0);
    struct order_end end = run(&kernel, &table, MAC(0x11));

    ck_assert_int_eq(end.outcome, HF_GUEST_REFUSED);
    ck_assert_int_eq(end.sys_errno, EINVAL);
    ck_assert(hf_mac_is_equal(end.active, MAC(0x10)));
}
END_TEST

START_TEST(what_is_read_back_outweighs_what_was_returned)
{
    struct kernel deaf = {.active = ETH0, .is_deaf = true};
    struct kernel obedient = {.active = ETH0, .refuses = EBUSY, .is_obedient = true};
    struct bond_table table = a_table(ETH0);

    ck_assert_int_eq(run(&deaf, &table, MAC(0x11)).outcome, HF_GUEST_UNCONFIRMED);
    table = a_table(ETH0);
    ck_assert_int_eq(run(&obedient, &table, MAC(0x11)).outcome, HF_GUEST_DONE);
}
END_TEST

START_TEST(what_cannot_be_read_back_is_not_confirmed)
{
    struct kernel kernel = {.active = ETH0, .unreadable_from = 1 + _i};
    struct bond_table table = a_table(ETH0);

    ck_assert_int_eq(run(&kernel, &table, MAC(0x11)).outcome, HF_GUEST_UNCONFIRMED);
    ck_assert_int_eq(kernel.changes, 1);
}
END_TEST

START_TEST(without_a_bond_nothing_is_done)
{
    struct kernel kernel = {.active = ETH0};
    struct bond_table table = a_table(ETH0);

    if (_i == 0)
        bond_clear(&table);
    else
        table.link[2].mode = BOND_MODE_8023AD;
    ck_assert_int_eq(run(&kernel, &table, MAC(0x11)).outcome, HF_GUEST_NO_BOND);
    ck_assert_int_eq(kernel.reads + kernel.changes, 0);
}
END_TEST

START_TEST(a_slave_is_found_by_its_permanent_address_first)
{
    struct kernel kernel = {.active = ETH0};
    struct bond_table table = a_table(ETH0);

    /* fail_over_mac=none: both use the address of the first. */
    table.link[0].mac = table.link[1].mac = MAC(0x10);
    ck_assert_int_eq(run(&kernel, &table, MAC(0x11)).outcome, HF_GUEST_DONE);
    ck_assert_uint_eq(kernel.active, ETH1);
    ck_assert_int_eq(run(&kernel, &table, MAC(0x10)).outcome, HF_GUEST_DONE);
    ck_assert_uint_eq(kernel.active, ETH0);
}
END_TEST

START_TEST(a_slave_is_found_by_an_address_that_is_its_own)
{
    struct kernel kernel = {.active = ETH0};
    struct bond_table table = a_table(ETH0);

    struct order_end end = run(&kernel, &table, MAC(1));

    ck_assert_int_eq(end.outcome, HF_GUEST_DONE);
    ck_assert(hf_mac_is_equal(end.active, MAC(1)));
    ck_assert_uint_eq(kernel.active, ETH1);
}
END_TEST

START_TEST(an_address_of_both_names_neither)
{
    struct kernel kernel = {.active = ETH0};
    struct bond_table table = a_table(ETH0);

    if (_i == 0)
        table.link[0].perm_mac = table.link[1].perm_mac = MAC(0x11);
    else
        table.link[0].mac = table.link[1].mac = MAC(7);
    ck_assert_int_eq(run(&kernel, &table, _i == 0 ? MAC(0x11) : MAC(7)).outcome,
                     HF_GUEST_AMBIGUOUS);
    ck_assert_int_eq(kernel.changes, 0);
}
END_TEST

START_TEST(an_address_of_nobody_is_refused)
{
    struct kernel kernel = {.active = ETH0};
    struct bond_table table = a_table(ETH0);
    struct order_end end = run(&kernel, &table, MAC(0x77));

    ck_assert_int_eq(end.outcome, HF_GUEST_NO_SLAVE);
    ck_assert(hf_mac_is_equal(end.active, MAC(0x10)));
    table.link[1].perm_mac = (hf_mac){{0}};
    ck_assert_int_eq(run(&kernel, &table, (hf_mac){{0}}).outcome, HF_GUEST_NO_SLAVE);
    ck_assert_int_eq(kernel.changes, 0);
}
END_TEST

HF_TEST_MAIN("agents/guest/order", HF_CASE(an_order_is_done_and_read_back),
             HF_LOOP(what_is_so_already_is_not_done_again, 0, 2),
             HF_CASE(what_was_so_a_moment_ago_is_done_again),
             HF_CASE(a_refusal_is_told_with_its_errno),
             HF_CASE(what_is_read_back_outweighs_what_was_returned),
             HF_LOOP(what_cannot_be_read_back_is_not_confirmed, 0, 2),
             HF_LOOP(without_a_bond_nothing_is_done, 0, 2),
             HF_CASE(a_slave_is_found_by_its_permanent_address_first),
             HF_CASE(a_slave_is_found_by_an_address_that_is_its_own),
             HF_LOOP(an_address_of_both_names_neither, 0, 2),
             HF_CASE(an_address_of_nobody_is_refused))
