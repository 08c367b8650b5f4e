#include "agents/guest/bond.h"

#include <linux/if_bonding.h>

#include "tests/unit/agents/guest/links.h"
#include "tests/unit/check.h"

#define MAC(n) ((hf_mac){{0x52, 0x54, 0, 0, 0, (n)}})

static struct link_words bond0(uint32_t active)
{
    return (struct link_words){.index = 9,
                               .name = "bond0",
                               .mac = MAC(2),
                               .is_bond = true,
                               .mode = BOND_MODE_ACTIVEBACKUP,
                               .active = active};
}

static struct link_words slave(uint32_t index, const char *name)
{
    return (struct link_words){.index = index,
                               .name = name,
                               .mac = MAC((uint8_t)index),
                               .perm_mac = MAC((uint8_t)(0x10 + index)),
                               .bond_perm_mac = MAC((uint8_t)(0x20 + index)),
                               .master = 9,
                               .is_slave = true,
                               .state = BOND_STATE_BACKUP};
}

static struct bond_heard learn(struct bond_table *table, const struct link_words *words)
{
    struct link_bytes b;
    struct bond_heard heard;

    link_write(&b, words);
    ck_assert(bond_learn(table, b.at, b.len, &heard));
    return heard;
}

/* bond0 over eth0 (2) and eth1 (3). */
static void begin(struct bond_table *table, uint32_t active)
{
    const struct link_words all[] = {slave(3, "eth1"), bond0(active), slave(2, "eth0")};

    bond_clear(table);
    for (size_t i = 0; i < 3; i++)
        (void)learn(table, &all[i]);
}

START_TEST(a_bond_and_its_slaves_make_a_picture)
{
    struct bond_table table;
    struct hf_guest_bond bond;

    begin(&table, 3);
    bond_view(&table, "", &bond);
    ck_assert_str_eq(bond.name, "bond0");
    ck_assert_uint_eq(bond.index, 9);
    ck_assert_uint_eq(bond.mode, 1);
    ck_assert_uint_eq(bond.primary_reselect, 2);
    ck_assert_uint_eq(bond.fail_over_mac, 1);
    ck_assert_uint_eq(bond.miimon_ms, 20);
    ck_assert_uint_eq(bond.arp_interval_ms, 0);
    ck_assert(bond.has_carrier);
    ck_assert_uint_eq(bond.slaves_count, 2);
    ck_assert_str_eq(bond.slave[0].name, "eth0");
    ck_assert_str_eq(bond.slave[1].name, "eth1");
    ck_assert_uint_eq(bond.active, 1);
    ck_assert(bond.slave[1].is_active && !bond.slave[0].is_active);
    ck_assert(hf_mac_is_equal(bond.slave[0].mac, MAC(2)));
    ck_assert(hf_mac_is_equal(bond.slave[0].perm_mac, MAC(0x12)));
    ck_assert(bond.slave[0].has_carrier);
    ck_assert_int_eq(bond.slave[0].link, HF_GUEST_LINK_UP);
}
END_TEST

START_TEST(without_an_active_slave_there_is_none)
{
    struct bond_table table;
    struct hf_guest_bond bond;

    begin(&table, 0);
    bond_view(&table, "", &bond);
    ck_assert_uint_eq(bond.active, HF_GUEST_NONE);
    ck_assert_uint_eq(bond.slaves_count, 2);
}
END_TEST

START_TEST(an_older_kernel_leaves_the_bonds_memory_of_the_address)
{
    struct bond_table table;
    struct hf_guest_bond bond;
    struct link_words words = slave(2, "eth0");

    begin(&table, 2);
    words.perm_mac = (hf_mac){{0}};
    (void)learn(&table, &words);
    bond_view(&table, "", &bond);
    ck_assert(hf_mac_is_equal(bond.slave[0].perm_mac, MAC(0x22)));
}
END_TEST

START_TEST(a_failover_is_heard_and_seen)
{
    struct bond_table table;
    struct hf_guest_bond before, after;
    struct link_words words = bond0(3);
    struct bond_heard heard;

    begin(&table, 2);
    bond_view(&table, "", &before);
    words.event = IFLA_EVENT_BONDING_FAILOVER;
    heard = learn(&table, &words);
    ck_assert(heard.is_ours && heard.is_bond);
    ck_assert_uint_eq(heard.event, 3);
    ck_assert_str_eq(heard.name, "bond0");
    bond_view(&table, "", &after);
    ck_assert_uint_eq(before.active, 0);
    ck_assert_uint_eq(after.active, 1);
    ck_assert(!bond_is_equal(&before, &after));
    /* Peers are told several times: the same state, another event. */
    words.event = IFLA_EVENT_NOTIFY_PEERS;
    heard = learn(&table, &words);
    ck_assert_uint_eq(heard.event, 4);
    bond_view(&table, "", &before);
    ck_assert(bond_is_equal(&before, &after));
}
END_TEST

START_TEST(a_slaves_link_and_carrier_are_seen)
{
    struct bond_table table;
    struct hf_guest_bond bond;
    struct link_words words = slave(2, "eth0");

    begin(&table, 2);
    words.is_without_carrier = true;
    words.mii = BOND_LINK_FAIL;
    words.failures = 4;
    (void)learn(&table, &words);
    bond_view(&table, "", &bond);
    ck_assert_int_eq(bond.slave[0].link, HF_GUEST_LINK_FAIL);
    ck_assert(!bond.slave[0].has_carrier);
    ck_assert_uint_eq(bond.slave[0].failures, 4);
    /* A state that no kernel of ours knows is not up. */
    words.mii = 9;
    (void)learn(&table, &words);
    bond_view(&table, "", &bond);
    ck_assert_int_eq(bond.slave[0].link, HF_GUEST_LINK_DOWN);
}
END_TEST

START_TEST(a_slave_that_leaves_is_gone)
{
    struct bond_table table;
    struct hf_guest_bond bond;
    struct link_words words = slave(3, "eth1");

    begin(&table, 2);
    if (_i == 0) {
        words.type = RTM_DELLINK;
    } else {
        words.is_slave = false;
        words.master = 0;
    }
    ck_assert(learn(&table, &words).is_ours);
    bond_view(&table, "", &bond);
    ck_assert_uint_eq(bond.slaves_count, 1);
    ck_assert(!learn(&table, &words).is_ours);
}
END_TEST

START_TEST(a_bond_that_is_removed_is_gone)
{
    struct bond_table table;
    struct hf_guest_bond bond;
    struct link_words words = bond0(2);

    begin(&table, 2);
    words.type = RTM_DELLINK;
    (void)learn(&table, &words);
    bond_view(&table, "", &bond);
    ck_assert_str_eq(bond.name, "");
    ck_assert_uint_eq(bond.active, HF_GUEST_NONE);
    ck_assert_uint_eq(bond.slaves_count, 0);
}
END_TEST

START_TEST(a_bridges_word_about_its_port_is_not_the_ports)
{
    struct bond_table table;
    struct hf_guest_bond before, after;
    struct link_words words = {
        .family = AF_BRIDGE, .index = 9, .name = "bond0", .type = RTM_DELLINK};

    begin(&table, 2);
    bond_view(&table, "", &before);
    ck_assert(!learn(&table, &words).is_ours);
    bond_view(&table, "", &after);
    ck_assert(bond_is_equal(&before, &after));
}
END_TEST

START_TEST(other_interfaces_are_not_kept)
{
    struct bond_table table;
    struct link_words words = {.name = "veth0", .mac = MAC(1)};

    begin(&table, 2);
    for (words.index = 100; words.index < 1000; words.index++)
        ck_assert(!learn(&table, &words).is_ours);
    ck_assert_uint_eq(table.count, 3);
}
END_TEST

START_TEST(the_bond_is_the_wanted_one_or_the_first_active_backup)
{
    struct bond_table table;
    struct hf_guest_bond bond;
    struct link_words words = bond0(0);

    bond_clear(&table);
    words.index = 5;
    words.name = "lacp";
    words.mode = BOND_MODE_8023AD;
    (void)learn(&table, &words);
    bond_view(&table, "", &bond);
    ck_assert_str_eq(bond.name, "lacp");
    words = bond0(0);
    (void)learn(&table, &words);
    bond_view(&table, "", &bond);
    ck_assert_str_eq(bond.name, "bond0");
    bond_view(&table, "lacp", &bond);
    ck_assert_str_eq(bond.name, "lacp");
    bond_view(&table, "other", &bond);
    ck_assert_str_eq(bond.name, "");
}
END_TEST

START_TEST(more_than_fits_is_counted_and_harmless)
{
    struct bond_table table;
    struct hf_guest_bond bond;
    char name[8];

    begin(&table, 2);
    for (uint32_t i = 0; i < 2 * BOND_LINKS_MAX; i++) {
        struct link_words words;

        (void)snprintf(name, sizeof name, "x%u", i);
        words = slave(20 + i, name);
        (void)learn(&table, &words);
    }
    ck_assert_uint_eq(table.count, BOND_LINKS_MAX);
    ck_assert_uint_eq(table.no_room, 3 + BOND_LINKS_MAX);
    bond_view(&table, "", &bond);
    ck_assert_uint_eq(bond.slaves_count, HF_GUEST_SLAVES_MAX);
    ck_assert_str_eq(bond.slave[0].name, "eth0");
}
END_TEST

/* ---- what is cut or lies ---- */

START_TEST(a_cut_message_changes_nothing)
{
    struct bond_table table, before;
    struct link_words words = bond0(3);
    struct link_bytes b;
    struct bond_heard heard;

    begin(&table, 2);
    before = table;
    link_write(&b, &words);
    for (size_t len = 0; len < b.len; len++) {
        /* Where the sanitizer sees a read past its end. */
        uint8_t *piece = malloc(len > 0 ? len : 1);

        ck_assert_ptr_nonnull(piece);
        memcpy(piece, b.at, len);
        ck_assert(!bond_learn(&table, piece, len, &heard));
        if (len >= NLMSG_HDRLEN) {
            /* Cut, and its header says so: nothing is read that is not there. */
            struct bond_table other = before;
            uint32_t said = (uint32_t)len;

            memcpy(piece, &said, sizeof said);
            (void)bond_learn(&other, piece, len, &heard);
            ck_assert_uint_le(other.count, before.count);
        }
        free(piece);
    }
    ck_assert_mem_eq(&table, &before, sizeof table);
}
END_TEST

START_TEST(no_wrong_length_reads_past_the_end)
{
    struct link_words words = _i % 2 == 0 ? bond0(3) : slave(2, "eth0");
    struct link_bytes b;
    struct bond_heard heard;

    link_write(&b, &words);
    for (size_t at = NLMSG_HDRLEN + sizeof(struct ifinfomsg); at + 1 < b.len; at += 2) {
        struct bond_table table;
        uint8_t *piece = malloc(b.len);

        begin(&table, 2);
        ck_assert_ptr_nonnull(piece);
        memcpy(piece, b.at, b.len);
        piece[at] = (uint8_t)(_i < 2 ? 0xff : 0x01);
        piece[at + 1] = (uint8_t)(_i < 2 ? 0xff : 0);
        (void)bond_learn(&table, piece, b.len, &heard);
        ck_assert_uint_le(table.count, 4);
        free(piece);
    }
}
END_TEST

START_TEST(a_rest_that_holds_no_attribute_is_refused)
{
    struct bond_table table, before;
    struct link_words words = bond0(3);
    struct link_bytes b;
    struct bond_heard heard;
    uint32_t said;

    begin(&table, 2);
    before = table;
    link_write(&b, &words);
    said = (uint32_t)b.len + 2;
    memset(b.at + b.len, 0, 2);
    memcpy(b.at, &said, sizeof said);
    ck_assert(!bond_learn(&table, b.at, said, &heard));
    ck_assert_mem_eq(&table, &before, sizeof table);
}
END_TEST

START_TEST(a_name_too_long_is_no_name)
{
    struct bond_table table;
    struct link_words words = bond0(0);
    struct link_bytes b;
    struct bond_heard heard;

    bond_clear(&table);
    words.name = "sixteen-letters-";
    link_write(&b, &words);
    ck_assert(!bond_learn(&table, b.at, b.len, &heard));
    ck_assert_uint_eq(table.count, 0);
}
END_TEST

START_TEST(other_messages_are_none)
{
    struct bond_table table;
    struct link_words words = bond0(0);
    struct link_bytes b;
    struct bond_heard heard;

    bond_clear(&table);
    words.type = RTM_NEWADDR;
    link_write(&b, &words);
    ck_assert(!bond_learn(&table, b.at, b.len, &heard));
    words.type = RTM_NEWLINK;
    words.index = 0;
    link_write(&b, &words);
    ck_assert(!bond_learn(&table, b.at, b.len, &heard));
}
END_TEST

HF_TEST_MAIN("agents/guest/bond", HF_CASE(a_bond_and_its_slaves_make_a_picture),
             HF_CASE(without_an_active_slave_there_is_none),
             HF_CASE(an_older_kernel_leaves_the_bonds_memory_of_the_address),
             HF_CASE(a_failover_is_heard_and_seen), HF_CASE(a_slaves_link_and_carrier_are_seen),
             HF_LOOP(a_slave_that_leaves_is_gone, 0, 2), HF_CASE(a_bond_that_is_removed_is_gone),
             HF_CASE(a_bridges_word_about_its_port_is_not_the_ports),
             HF_CASE(other_interfaces_are_not_kept),
             HF_CASE(the_bond_is_the_wanted_one_or_the_first_active_backup),
             HF_CASE(more_than_fits_is_counted_and_harmless),
             HF_CASE(a_cut_message_changes_nothing),
             HF_LOOP(no_wrong_length_reads_past_the_end, 0, 4),
             HF_CASE(a_rest_that_holds_no_attribute_is_refused),
             HF_CASE(a_name_too_long_is_no_name), HF_CASE(other_messages_are_none))
