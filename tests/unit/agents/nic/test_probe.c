#include "agents/nic/probe.h"

#include "tests/unit/agents/nic/tree.h"

static struct tree tree;
static struct nic_place place;
static struct hf_err err;
static const struct nic_place nowhere = {"", "", 0};

static void open_tree(void)
{
    tree_open(&tree);
    tree_pf(&tree, "0000:01:00.0", "sfc", 2, "vfio-pci");
    tree_interface(&tree, "enp1s0f0", "0000:01:00.0", "5\n");
    tree_interface(&tree, "veth0", "", "9\n");
}

static void close_tree(void)
{
    tree_close(&tree);
}

START_TEST(a_pf_is_found_by_its_name_and_by_its_address)
{
    ck_assert_int_eq(probe_nic_find(tree.root, "enp1s0f0", &nowhere, &place, &err), HF_OK);
    ck_assert_str_eq(place.name, "enp1s0f0");
    ck_assert_str_eq(place.pci, "0000:01:00.0");
    ck_assert_int_eq(place.ifindex, 5);
    ck_assert_int_eq(probe_nic_find(tree.root, "0000:01:00.0", &nowhere, &place, &err), HF_OK);
    ck_assert_str_eq(place.name, "enp1s0f0");
    ck_assert_int_eq(place.ifindex, 5);
}
END_TEST

START_TEST(one_that_is_not_there_is_named)
{
    ck_assert_int_eq(probe_nic_find(tree.root, "enp9s0", &nowhere, &place, &err), HF_ENOENT);
    ck_assert_str_eq(err.text, "NIC enp9s0: no such device");
    ck_assert_int_eq(probe_nic_find(tree.root, "0000:09:00.0", &nowhere, &place, &err), HF_ENOENT);
    ck_assert_int_eq(probe_nic_find(tree.root, "../../etc", &nowhere, &place, &err), HF_ENOENT);
    ck_assert_int_eq(probe_nic_find(tree.root, "", &nowhere, &place, &err), HF_ENOENT);
}
END_TEST

START_TEST(a_renamed_interface_is_found_by_its_address)
{
    struct nic_place known;

    ck_assert_int_eq(probe_nic_find(tree.root, "enp1s0f0", &nowhere, &known, &err), HF_OK);
    tree_remove(&tree, "/sys/class/net/enp1s0f0");
    tree_remove(&tree, "/sys/bus/pci/devices/0000:01:00.0/net");
    tree_interface(&tree, "rename5", "0000:01:00.0", "5\n");
    ck_assert_int_eq(probe_nic_find(tree.root, "enp1s0f0", &known, &place, &err), HF_OK);
    ck_assert_str_eq(place.name, "rename5");
    ck_assert_str_eq(place.pci, "0000:01:00.0");
}
END_TEST

START_TEST(a_renumbered_card_is_found_by_what_is_configured)
{
    struct nic_place known;

    ck_assert_int_eq(probe_nic_find(tree.root, "enp1s0f0", &nowhere, &known, &err), HF_OK);
    tree_remove(&tree, "/sys/class/net/enp1s0f0");
    tree_remove(&tree, "/sys/bus/pci/devices/0000:01:00.0");
    tree_pf(&tree, "0000:41:00.0", "sfc", 0, "");
    tree_interface(&tree, "enp1s0f0", "0000:41:00.0", "12\n");
    ck_assert_int_eq(probe_nic_find(tree.root, "enp1s0f0", &known, &place, &err), HF_OK);
    ck_assert_str_eq(place.pci, "0000:41:00.0");
    ck_assert_int_eq(place.ifindex, 12);
}
END_TEST

START_TEST(a_renamed_virtual_interface_is_found_by_its_index)
{
    struct nic_place known;

    ck_assert_int_eq(probe_nic_find(tree.root, "veth0", &nowhere, &known, &err), HF_OK);
    ck_assert_str_eq(known.pci, "");
    tree_remove(&tree, "/sys/class/net/veth0");
    tree_interface(&tree, "other", "", "9\n");
    ck_assert_int_eq(probe_nic_find(tree.root, "veth0", &known, &place, &err), HF_OK);
    ck_assert_str_eq(place.name, "other");
}
END_TEST

START_TEST(a_device_without_an_interface_is_there)
{
    tree_remove(&tree, "/sys/class/net/enp1s0f0");
    tree_remove(&tree, "/sys/bus/pci/devices/0000:01:00.0/net");
    tree_remove(&tree, "/sys/bus/pci/devices/0000:01:00.0/driver");
    ck_assert_int_eq(probe_nic_find(tree.root, "0000:01:00.0", &nowhere, &place, &err), HF_OK);
    ck_assert_str_eq(place.name, "");
    ck_assert_str_eq(place.pci, "0000:01:00.0");
    ck_assert_int_eq(probe_nic_has_driver(tree.root, &place), NIC_NO);
}
END_TEST

START_TEST(a_representor_is_not_the_port)
{
    struct nic_place known;

    tree_interface(&tree, "eth7", "0000:01:00.0", "30\n");
    tree_interface(&tree, "aaa", "0000:01:00.0", "31\n");
    ck_assert_int_eq(probe_nic_find(tree.root, "0000:01:00.0", &nowhere, &place, &err), HF_OK);
    ck_assert_str_eq(place.name, "enp1s0f0"); /* the oldest */
    ck_assert_int_eq(probe_nic_find(tree.root, "aaa", &nowhere, &known, &err), HF_OK);
    ck_assert_int_eq(probe_nic_find(tree.root, "aaa", &known, &place, &err), HF_OK);
    ck_assert_str_eq(place.name, "aaa"); /* configured by name */
}
END_TEST

START_TEST(an_inventory_names_driver_node_and_vfs)
{
    struct nic_inventory is;

    ck_assert_int_eq(probe_nic_find(tree.root, "enp1s0f0", &nowhere, &place, &err), HF_OK);
    probe_nic_inventory(tree.root, &place, &is);
    ck_assert_str_eq(is.driver, "sfc");
    ck_assert_uint_eq(is.vendor, 0x1924);
    ck_assert_uint_eq(is.device, 0x0b03);
    ck_assert_int_eq(is.numa_node, 1);
    ck_assert_uint_eq(is.vfs_count, 2);
    ck_assert_uint_eq(is.vfs_without_driver, 0);
    ck_assert_str_eq(is.vf[1].pci, "0000:01:10.1");
    ck_assert_str_eq(is.vf[1].driver, "vfio-pci");
    tree_remove(&tree, "/sys/bus/pci/devices/0000:01:10.1/driver");
    probe_nic_inventory(tree.root, &place, &is);
    ck_assert_uint_eq(is.vfs_without_driver, 1);
    ck_assert_str_eq(is.vf[1].driver, "");
    ck_assert_int_eq(probe_nic_has_driver(tree.root, &place), NIC_YES);
}
END_TEST

START_TEST(a_virtual_interface_has_no_inventory)
{
    struct nic_inventory is;
    uint64_t errors;
    char text[48];

    ck_assert_int_eq(probe_nic_find(tree.root, "veth0", &nowhere, &place, &err), HF_OK);
    probe_nic_inventory(tree.root, &place, &is);
    ck_assert_str_eq(is.driver, "");
    ck_assert_int_eq(is.numa_node, -1);
    ck_assert_int_eq(probe_nic_has_driver(tree.root, &place), NIC_NOT_KNOWN);
    ck_assert_int_eq(probe_nic_config_is_gone(tree.root, &place), NIC_NOT_KNOWN);
    ck_assert_int_eq(probe_nic_is_hot(tree.root, &place), NIC_NOT_KNOWN);
    ck_assert(!probe_nic_aer_errors(tree.root, &place, &errors));
    probe_nic_serial(tree.root, &place, text);
    ck_assert_str_eq(text, "");
}
END_TEST

START_TEST(aer_counters_are_added_up)
{
    uint64_t errors = 0;

    ck_assert_int_eq(probe_nic_find(tree.root, "enp1s0f0", &nowhere, &place, &err), HF_OK);
    ck_assert(!probe_nic_aer_errors(tree.root, &place, &errors));
    tree_file(&tree, "Undefined 0\nDLP 0\nTOTAL_ERR_FATAL 2\n",
              "/sys/bus/pci/devices/0000:01:00.0/aer_dev_fatal");
    tree_file(&tree, "Undefined 0\nCmpltTO 1\nTOTAL_ERR_NONFATAL 3\n",
              "/sys/bus/pci/devices/0000:01:00.0/aer_dev_nonfatal");
    ck_assert(probe_nic_aer_errors(tree.root, &place, &errors));
    ck_assert_uint_eq(errors, 5);
}
END_TEST

START_TEST(a_serial_number_comes_from_vital_product_data)
{
    /* As an X2522 has it: name, then part number, engineering change, serial, checksum. */
    static const char vpd[] = "\x82\x0b\x00Solarflare \x90\x1f\x00PN\x05X2522EC\x04"
                              "A1  SN\x08 1234567RV\x02\x00\x00\x78";
    char serial[48];

    ck_assert_int_eq(probe_nic_find(tree.root, "enp1s0f0", &nowhere, &place, &err), HF_OK);
    tree_bytes(&tree, vpd, sizeof vpd - 1, "/sys/bus/pci/devices/0000:01:00.0/vpd");
    probe_nic_serial(tree.root, &place, serial);
    ck_assert_str_eq(serial, "1234567");
    for (size_t len = 0; len < sizeof vpd - 1; len++) {
        bool is_found = probe_nic_vpd_serial((const uint8_t *)vpd, len, serial, sizeof serial);

        ck_assert_str_eq(serial, is_found ? "1234567" : "");
    }
    ck_assert(!probe_nic_vpd_serial((const uint8_t *)vpd, sizeof vpd - 1, serial, 7));
}
END_TEST

START_TEST(all_ones_are_no_card)
{
    static const uint8_t card[64] = {0x24, 0x19, 0x03, 0x0b};
    uint8_t ones[64];

    memset(ones, 0xff, sizeof ones);
    ck_assert_int_eq(probe_nic_find(tree.root, "enp1s0f0", &nowhere, &place, &err), HF_OK);
    ck_assert_int_eq(probe_nic_config_is_gone(tree.root, &place), NIC_NOT_KNOWN);
    tree_bytes(&tree, card, sizeof card, "/sys/bus/pci/devices/0000:01:00.0/config");
    ck_assert_int_eq(probe_nic_config_is_gone(tree.root, &place), NIC_NO);
    tree_bytes(&tree, ones, sizeof ones, "/sys/bus/pci/devices/0000:01:00.0/config");
    ck_assert_int_eq(probe_nic_config_is_gone(tree.root, &place), NIC_YES);
}
END_TEST

START_TEST(one_hot_sensor_is_enough)
{
#define HWMON "/sys/bus/pci/devices/0000:01:00.0/hwmon/hwmon3/"
    ck_assert_int_eq(probe_nic_find(tree.root, "enp1s0f0", &nowhere, &place, &err), HF_OK);
    ck_assert_int_eq(probe_nic_is_hot(tree.root, &place), NIC_NOT_KNOWN);
    tree_file(&tree, "60000\n", HWMON "temp1_input");
    ck_assert_int_eq(probe_nic_is_hot(tree.root, &place), NIC_NOT_KNOWN); /* no limit told */
    tree_file(&tree, "115000\n", HWMON "temp1_crit");
    tree_file(&tree, "-5000\n", HWMON "temp2_input");
    tree_file(&tree, "105000\n", HWMON "temp2_crit");
    ck_assert_int_eq(probe_nic_is_hot(tree.root, &place), NIC_NO);
    tree_file(&tree, "105000\n", HWMON "temp2_input");
    ck_assert_int_eq(probe_nic_is_hot(tree.root, &place), NIC_YES);
}
END_TEST

START_TEST(firmware_is_told_where_a_file_tells_it)
{
    char text[48];

    ck_assert_int_eq(probe_nic_find(tree.root, "enp1s0f0", &nowhere, &place, &err), HF_OK);
    probe_nic_firmware(tree.root, &place, text);
    ck_assert_str_eq(text, "");
    tree_file(&tree, "22.36.1010\n", "/sys/bus/pci/devices/0000:01:00.0/infiniband/mlx5_0/fw_ver");
    probe_nic_firmware(tree.root, &place, text);
    ck_assert_str_eq(text, "22.36.1010");
}
END_TEST

HF_TEST_MAIN_WITH("agents/nic/probe", open_tree, close_tree,
                  HF_CASE(a_pf_is_found_by_its_name_and_by_its_address),
                  HF_CASE(one_that_is_not_there_is_named),
                  HF_CASE(a_renamed_interface_is_found_by_its_address),
                  HF_CASE(a_renumbered_card_is_found_by_what_is_configured),
                  HF_CASE(a_renamed_virtual_interface_is_found_by_its_index),
                  HF_CASE(a_device_without_an_interface_is_there),
                  HF_CASE(a_representor_is_not_the_port),
                  HF_CASE(an_inventory_names_driver_node_and_vfs),
                  HF_CASE(a_virtual_interface_has_no_inventory), HF_CASE(aer_counters_are_added_up),
                  HF_CASE(a_serial_number_comes_from_vital_product_data),
                  HF_CASE(all_ones_are_no_card), HF_CASE(one_hot_sensor_is_enough),
                  HF_CASE(firmware_is_told_where_a_file_tells_it))
