/* Facts about cards, from a tree that looks like sysfs. What is made of them is judged elsewhere.
 */
#include "supervisord/ctl/cmd_cards.h"
#include "tests/unit/check.h"
#include "tests/unit/supervisord/ctl/a_sysfs.h"

#include <string.h>

static struct hf_config config;
static struct cmd_cards look;

static void take_config(const char *text)
{
    struct hf_err err;

    ck_assert_msg(config_parse("x", text, strlen(text), &config, &err) == HF_OK, "%s", err.text);
}

static void add_vpd(const char *pci, char last)
{
    uint8_t vpd[] = {0x90, 7, 0, 'S', 'N', 4, '0', '4', '3', 0, 0x78};
    char path[128];

    vpd[9] = (uint8_t)last;
    snprintf(path, sizeof path, "bus/pci/devices/%s/vpd", pci);
    file_bytes(path, vpd, sizeof vpd);
}

static void add_card(const char *pci, const char *name, const char *vf)
{
    char path[160], target[160];

    snprintf(path, sizeof path, "bus/pci/devices/%s/net/%s", pci, name);
    folder(path);
    snprintf(path, sizeof path, "bus/pci/devices/%s", vf);
    folder(path);
    snprintf(path, sizeof path, "bus/pci/devices/%s/driver", pci);
    link_to(path, "../../../bus/pci/drivers/sfc");
    snprintf(path, sizeof path, "bus/pci/devices/%s/driver", vf);
    link_to(path, "../../../bus/pci/drivers/vfio-pci");
    snprintf(path, sizeof path, "bus/pci/devices/%s/virtfn0", pci);
    snprintf(target, sizeof target, "../%s", vf);
    link_to(path, target);
    snprintf(path, sizeof path, "bus/pci/devices/%s/sriov_totalvfs", pci);
    file_text(path, "8\n");
    snprintf(path, sizeof path, "bus/pci/devices/%s/sriov_numvfs", pci);
    file_text(path, "1\n");
    snprintf(path, sizeof path, "class/net/%s", name);
    folder(path);
    snprintf(path, sizeof path, "class/net/%s/device", name);
    snprintf(target, sizeof target, "../../../bus/pci/devices/%s", pci);
    link_to(path, target);
    snprintf(path, sizeof path, "class/net/%s/flags", name);
    file_text(path, "0x1003\n");
}

static void set_up(void)
{
    sysfs_open();
    take_config("cluster {\n name: x\n}\n"
                "node n1 {\n id: 1\n nic_a: ens1f0\n nic_b: 0000:a1:00.0\n}\n");
    add_card("0000:01:00.0", "ens1f0", "0000:01:10.0");
    add_card("0000:a1:00.0", "ens2f0", "0000:a1:10.0");
    add_vpd("0000:01:00.0", '1');
    add_vpd("0000:a1:00.0", '2');
    folder("module/sfc/parameters");
    file_text("module/sfc/parameters/monitor_hw_available", "Y\n");
    file_text("module/sfc/parameters/link_down_on_reset", "1\n");
    file_text("module/sfc/parameters/disable_recovery", "N\n");
}

static void must_find(const char *key, const char *part)
{
    cmd_cards_look(&config, (hf_node){0}, sys, &look);
    ck_assert_uint_eq(look.verdict.count, 1);
    ck_assert_str_eq(look.verdict.finding[0].key, key);
    ck_assert_msg(strstr(look.verdict.finding[0].text, part) != NULL, "%s",
                  look.verdict.finding[0].text);
}

START_TEST(a_good_node_has_no_findings)
{
    cmd_cards_look(&config, (hf_node){0}, sys, &look);
    ck_assert_msg(look.verdict.count == 0, "%s", look.verdict.finding[0].text);
    ck_assert_str_eq(look.node, "n1");
    ck_assert(!cmd_cards_is_bad(&look));
}
END_TEST

START_TEST(a_vf_without_a_driver_is_seen)
{
    ck_assert_int_eq(unlink(in_sys("bus/pci/devices/0000:a1:10.0/driver")), 0);
    must_find("nic_b", "1 of the 1 VFs of ens2f0 have no driver, the first is 0000:a1:10.0");
    ck_assert(cmd_cards_is_bad(&look));
}
END_TEST

START_TEST(a_card_that_is_down_is_seen)
{
    file_text("class/net/ens2f0/flags", "0x1002\n");
    must_find("nic_b", "ens2f0 is not up");
}
END_TEST

START_TEST(one_card_twice_is_seen)
{
    add_vpd("0000:a1:00.0", '1');
    must_find("nic_b", "serial number 0431");
}
END_TEST

START_TEST(a_card_without_vfs_is_seen)
{
    file_text("bus/pci/devices/0000:01:00.0/sriov_totalvfs", "0\n");
    file_text("bus/pci/devices/0000:01:00.0/sriov_numvfs", "0\n");
    must_find("nic_a", "set up without VFs");
    ck_assert(!cmd_cards_is_bad(&look)); /* advice */
}
END_TEST

START_TEST(a_card_that_is_not_there_is_seen)
{
    take_config("cluster {\n name: x\n}\nnode n1 {\n id: 1\n nic_a: ens1f0\n nic_b: ens3f0\n}\n");
    must_find("nic_b", "there is no ens3f0 on this node");
    take_config("cluster {\n name: x\n}\n"
                "node n1 {\n id: 1\n nic_a: ens1f0\n nic_b: 0000:b1:00.0\n}\n");
    must_find("nic_b", "there is no 0000:b1:00.0 on this node");
}
END_TEST

START_TEST(parameters_of_the_module_are_seen)
{
    file_text("module/sfc/parameters/disable_recovery", "Y\n");
    must_find("sfc", "disable_recovery is on");
}
END_TEST

/* A file that never answers: as a card does whose controller is dead. */
START_TEST(a_card_that_hangs_does_not_hang_us)
{
    ck_assert_int_eq(unlink(in_sys("class/net/ens2f0/flags")), 0);
    ck_assert_int_eq(mkfifo(in_sys("class/net/ens2f0/flags"), 0600), 0);
    must_find("nic_b", "did not answer in time");
}
END_TEST

START_TEST(no_card_is_nobodys_card)
{
    json_t *warnings = json_array();

    take_config("cluster {\n name: x\n}\nnode n1 {\n id: 1\n}\n");
    cmd_cards_look(&config, (hf_node){0}, sys, &look);
    ck_assert_uint_eq(look.verdict.count, 0);
    cmd_cards_warn(&config, warnings);
    ck_assert_uint_eq(json_array_size(warnings), 0);
    json_decref(warnings);
}
END_TEST

START_TEST(the_file_alone_warns)
{
    static const char *const want[] = {
        "node 'n2' has a NIC in fabric a only: its VMs have no leg to move to",
        "node 'n3' names no NIC: a VM with legs is never placed there",
        "fabric a has 2 BFD speakers: with fewer than three nobody can tell whose path is dead "
        "(bfd_peer: a switch or router)",
        "fabric b has no BFD: a path that is dead with its carrier up is noticed by nobody "
        "(address_b of the nodes)"};
    json_t *warnings = json_array();

    take_config("cluster {\n name: x\n}\n"
                "node n1 {\n id: 1\n nic_a: x\n nic_b: y\n address_a: fe80::1\n}\n"
                "node n2 {\n id: 2\n nic_a: x\n address_a: fe80::2\n}\n"
                "node n3 {\n id: 3\n}\n");
    cmd_cards_warn(&config, warnings);
    ck_assert_uint_eq(json_array_size(warnings), 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_str_eq(json_string_value(json_array_get(warnings, i)), want[i]);
    json_decref(warnings);
}
END_TEST

HF_TEST_MAIN_WITH("ctl/cmd_cards", set_up, sysfs_close, HF_CASE(a_good_node_has_no_findings),
                  HF_CASE(a_vf_without_a_driver_is_seen), HF_CASE(a_card_that_is_down_is_seen),
                  HF_CASE(one_card_twice_is_seen), HF_CASE(a_card_without_vfs_is_seen),
                  HF_CASE(a_card_that_is_not_there_is_seen),
                  HF_CASE(parameters_of_the_module_are_seen),
                  HF_CASE(a_card_that_hangs_does_not_hang_us), HF_CASE(no_card_is_nobodys_card),
                  HF_CASE(the_file_alone_warns))
