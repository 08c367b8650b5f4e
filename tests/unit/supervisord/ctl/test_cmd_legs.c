/* Which interfaces are legs, against a tree that looks like sysfs. */
#include "supervisord/ctl/cmd.h"
#include "tests/unit/check.h"
#include "tests/unit/supervisord/ctl/a_sysfs.h"

#include <string.h>

static struct hf_config config;
static struct cmd_domain domain;
static struct hf_err err;
static hf_legs legs;

/* n1: ens1f0 is 0000:01:00.0 with VF 0000:01:10.0; fabric b is 0000:a1:00.0, here ens2f0. */
static void set_up(void)
{
    static const char text[] = "cluster {\n name: x\n}\n"
                               "node n1 {\n id: 1\n nic_a: ens1f0\n nic_b: 0000:a1:00.0\n}\n"
                               "node n2 {\n id: 2\n}\n";

    sysfs_open();
    ck_assert_int_eq(config_parse("x", text, strlen(text), &config, &err), HF_OK);
    folder("bus/pci/devices/0000:01:00.0");
    folder("bus/pci/devices/0000:01:10.0");
    folder("bus/pci/devices/0000:a1:00.0");
    folder("bus/pci/devices/0000:a1:10.0");
    folder("bus/pci/devices/0000:c1:00.0");
    folder("class/net/ens1f0");
    folder("class/net/ens2f0");
    link_to("bus/pci/devices/0000:01:10.0/physfn", "../0000:01:00.0");
    link_to("bus/pci/devices/0000:a1:10.0/physfn", "../0000:a1:00.0");
    link_to("class/net/ens1f0/device", "../../../bus/pci/devices/0000:01:00.0");
    link_to("class/net/ens2f0/device", "../../../bus/pci/devices/0000:a1:00.0");
    memset(&domain, 0, sizeof domain);
}

static struct cmd_nic *add(enum cmd_nic_source kind, const char *source)
{
    struct cmd_nic *nic = &domain.nics[domain.nics_count++];

    nic->line = 10 + domain.nics_count;
    nic->kind = kind;
    strcpy(nic->mac, "52:54:00:00:00:01");
    strcpy(nic->source, source);
    return nic;
}

static enum hf_code find(void)
{
    return cmd_legs_find(&domain, &config, (hf_node){0}, sys, &legs, &err);
}

START_TEST(vfs_belong_to_the_fabric_of_their_card)
{
    add(CMD_NIC_PCI, "0000:a1:10.0");
    ck_assert_int_eq(find(), HF_OK);
    ck_assert_uint_eq(legs, 2);
    add(CMD_NIC_PCI, "0000:01:10.0");
    ck_assert_int_eq(find(), HF_OK);
    ck_assert_uint_eq(legs, 3);
    add(CMD_NIC_PCI, "0000:c1:00.0"); /* something else that is given away whole */
    add(CMD_NIC_OTHER, "");
    ck_assert_int_eq(find(), HF_OK);
    ck_assert_uint_eq(legs, 3);
}
END_TEST

START_TEST(bridges_and_macvtaps_belong_to_what_is_below_them)
{
    folder("class/net/br-a/lower_ens1f0.7");
    folder("class/net/ens1f0.7/lower_ens1f0");
    add(CMD_NIC_LINK, "br-a");
    add(CMD_NIC_LINK, "ens2f0");
    ck_assert_int_eq(find(), HF_OK);
    ck_assert_uint_eq(legs, 3);
}
END_TEST

START_TEST(a_macvtap_on_a_vf_of_the_host_belongs_to_its_card)
{
    folder("class/net/ens1f0v0");
    link_to("class/net/ens1f0v0/device", "../../../bus/pci/devices/0000:01:10.0");
    add(CMD_NIC_LINK, "ens1f0v0");
    ck_assert_int_eq(find(), HF_OK);
    ck_assert_uint_eq(legs, 1);
}
END_TEST

START_TEST(a_bridge_without_a_card_is_no_leg)
{
    folder("class/net/virbr0");
    add(CMD_NIC_LINK, "virbr0");
    ck_assert_int_eq(find(), HF_OK);
    ck_assert_uint_eq(legs, 0);
}
END_TEST

START_TEST(a_circle_below_an_interface_ends)
{
    folder("class/net/br-x/lower_br-y");
    folder("class/net/br-y/lower_br-x");
    add(CMD_NIC_LINK, "br-x");
    ck_assert_int_eq(find(), HF_OK);
    ck_assert_uint_eq(legs, 0);
}
END_TEST

START_TEST(a_mark_wins)
{
    struct cmd_nic *nic = add(CMD_NIC_PCI, "0000:01:10.0");

    nic->mark = CMD_NIC_MARKED;
    nic->fabric = 1;
    ck_assert_int_eq(find(), HF_OK);
    ck_assert_uint_eq(legs, 2);
    nic->mark = CMD_NIC_NO_LEG;
    ck_assert_int_eq(find(), HF_OK);
    ck_assert_uint_eq(legs, 0);
    /* of a device that is not here */
    strcpy(nic->source, "0000:e1:10.0");
    nic->mark = CMD_NIC_MARKED;
    ck_assert_int_eq(find(), HF_OK);
    ck_assert_uint_eq(legs, 2);
}
END_TEST

START_TEST(what_cannot_be_told_is_refused)
{
    add(_i == 0 ? CMD_NIC_PCI : CMD_NIC_LINK, _i == 0 ? "0000:e1:10.0" : "br-z");
    ck_assert_int_eq(find(), HF_EINVAL);
    ck_assert_str_eq(
        err.text, _i == 0 ? "line 11: cannot tell the fabric of interface 52:54:00:00:00:01 on "
                            "0000:e1:10.0: there is no such device on this node. Say --legs, or "
                            "mark the interface with <alias name='ua-leg-a'/> (or -b, or -none)"
                          : "line 11: cannot tell the fabric of interface 52:54:00:00:00:01 on "
                            "br-z: there is no such device on this node. Say --legs, or mark the "
                            "interface with <alias name='ua-leg-a'/> (or -b, or -none)");
}
END_TEST

START_TEST(two_legs_in_one_fabric_are_refused)
{
    add(CMD_NIC_PCI, "0000:01:10.0");
    add(CMD_NIC_LINK, "ens1f0");
    ck_assert_int_eq(find(), HF_EINVAL);
    ck_assert_str_eq(err.text, "lines 11 and 12: two interfaces in fabric a: a VM has one leg in "
                               "each. Mark the one that is none with <alias name='ua-leg-none'/>");
    domain.nics[1].mark = CMD_NIC_NO_LEG;
    ck_assert_int_eq(find(), HF_OK);
    ck_assert_uint_eq(legs, 1);
}
END_TEST

START_TEST(a_bridge_over_both_fabrics_is_refused)
{
    folder("class/net/br-ab/lower_ens1f0");
    folder("class/net/br-ab/lower_ens2f0");
    add(CMD_NIC_LINK, "br-ab");
    ck_assert_int_eq(find(), HF_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "line 11: interface 52:54:00:00:00:01 on br-ab reaches "
                                           "the cards of both fabrics"));
}
END_TEST

START_TEST(lists_of_fabrics_are_read)
{
    static const char *const bad[] = {"", "c", "a,", "a,a", "ab", "A"};

    ck_assert(cmd_legs_read("a,b", &legs));
    ck_assert_uint_eq(legs, 3);
    ck_assert_str_eq(cmd_legs_text(legs), "a and b");
    ck_assert(cmd_legs_read("b", &legs));
    ck_assert_uint_eq(legs, 2);
    ck_assert(cmd_legs_read("none", &legs));
    ck_assert_str_eq(cmd_legs_text(legs), "none");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert(!cmd_legs_read(bad[i], &legs));
}
END_TEST

HF_TEST_MAIN_WITH("ctl/cmd_legs", set_up, sysfs_close,
                  HF_CASE(vfs_belong_to_the_fabric_of_their_card),
                  HF_CASE(bridges_and_macvtaps_belong_to_what_is_below_them),
                  HF_CASE(a_macvtap_on_a_vf_of_the_host_belongs_to_its_card),
                  HF_CASE(a_bridge_without_a_card_is_no_leg),
                  HF_CASE(a_circle_below_an_interface_ends), HF_CASE(a_mark_wins),
                  HF_LOOP(what_cannot_be_told_is_refused, 0, 2),
                  HF_CASE(two_legs_in_one_fabric_are_refused),
                  HF_CASE(a_bridge_over_both_fabrics_is_refused),
                  HF_CASE(lists_of_fabrics_are_read))
