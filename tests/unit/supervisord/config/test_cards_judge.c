/* Every finding with its exact text: what an operator reads is part of the interface. */
#include "supervisord/config/cards.h"
#include "tests/unit/check.h"

#include <string.h>

static struct hf_config config;
static struct cards_state state;
static struct findings found;

/* Two healthy X2522 in two slots, everything as it should be. */
static void set_up(void)
{
    static const char text[] = "cluster {\n name: x\n}\n"
                               "node n1 {\n id: 1\n nic_a: ens1f0\n nic_b: 0000:a1:00.0\n}\n"
                               "node n2 {\n id: 2\n nic_a: ens1f0\n}\n";
    struct hf_err err;

    ck_assert_int_eq(config_parse("x", text, strlen(text), &config, &err), HF_OK);
    memset(&state, 0, sizeof state);
    for (unsigned f = 0; f < HF_FABRICS_MAX; f++) {
        struct card_facts *card = &state.card[f];

        card->is_there = card->is_up = true;
        strcpy(card->name, f == 0 ? "ens1f0" : "ens2f0");
        strcpy(card->pci, f == 0 ? "0000:01:00.0" : "0000:a1:00.0");
        strcpy(card->driver, "sfc");
        strcpy(card->firmware, "8.1.0.1011 rx0 tx0");
        strcpy(card->serial, f == 0 ? "0431" : "0432");
        card->vfs_max = 8;
        card->vfs = 8;
    }
    state.sfc = (struct card_module){true, CARD_SWITCH_ON, CARD_SWITCH_ON, CARD_SWITCH_OFF};
}

static void judge(void)
{
    cards_judge(&state, &config, (hf_node){0}, &found);
}

static void must_find(enum finding_severity severity, const char *key, const char *text)
{
    judge();
    ck_assert_uint_eq(found.count, 1);
    ck_assert_str_eq(found.finding[0].text, text);
    ck_assert_str_eq(found.finding[0].key, key);
    ck_assert_int_eq(found.finding[0].severity, severity);
}

START_TEST(good_cards_have_no_findings)
{
    judge();
    ck_assert_uint_eq(found.count, 0);
}
END_TEST

START_TEST(a_card_that_is_not_there)
{
    memset(&state.card[0], 0, sizeof state.card[0]);
    must_find(FINDING_RISK, "nic_a",
              "there is no ens1f0 on this node: VMs with a leg in fabric a are not placed here. "
              "Correct nic_a, or load its driver: ip -br link; lspci -nnk");
}
END_TEST

START_TEST(a_card_that_hangs)
{
    state.card[1].is_silent = true;
    must_find(FINDING_RISK, "nic_b",
              "0000:a1:00.0 did not answer in time: its driver or its controller blocks whoever "
              "asks. Look at the kernel log: journalctl -k -g 0000:a1:00.0");
}
END_TEST

START_TEST(a_card_without_a_driver)
{
    state.card[1].driver[0] = state.card[1].name[0] = '\0';
    state.card[1].vfs = 0;
    must_find(FINDING_RISK, "nic_b",
              "0000:a1:00.0 has no driver: it carries nothing. lspci -nnks 0000:a1:00.0");
}
END_TEST

START_TEST(a_card_that_is_given_away)
{
    strcpy(state.card[1].driver, "vfio-pci");
    state.card[1].name[0] = '\0';
    must_find(
        FINDING_RISK, "nic_b",
        "0000:a1:00.0 is driven by vfio-pci and has no network interface here: nothing can be "
        "told of it");
}
END_TEST

START_TEST(a_card_that_is_down)
{
    state.card[0].is_up = false;
    must_find(FINDING_RISK, "nic_a",
              "ens1f0 is not up: libvirt refuses to start a VM with a VF of it, and it carries "
              "nothing. ip link set dev ens1f0 up, and at every boot");
}
END_TEST

START_TEST(vfs_without_a_driver)
{
    state.card[0].vfs_without_driver = 2;
    strcpy(state.card[0].without_driver, "0000:01:10.2");
    must_find(FINDING_RISK, "nic_a",
              "2 of the 8 VFs of ens1f0 have no driver, the first is 0000:01:10.2: after a PCIe "
              "error the kernel could not recover the card, and every VF on it is lost. Bind them: "
              "driverctl set-override 0000:01:10.2 vfio-pci");
}
END_TEST

START_TEST(vfs_whose_carrier_lies)
{
    state.card[0].vfs_enabled = 1;
    state.card[0].enabled = 3;
    must_find(FINDING_RISK, "nic_a",
              "VF 3 of ens1f0 is in link state enable: the carrier stays up when the wire is dead, "
              "and the guest's bond does not move. ip link set dev ens1f0 vf 3 state auto");
    state.card[0].vfs_enabled = 4;
    judge();
    ck_assert_ptr_nonnull(strstr(found.finding[0].text, "VF 3 and others of ens1f0 are in "));
}
END_TEST

START_TEST(firmware_without_sriov)
{
    strcpy(state.card[0].firmware, "8.1.0.1011 rx1 tx1");
    judge();
    ck_assert_uint_eq(found.count, 0); /* it has VFs all the same */
    state.card[0].vfs_max = state.card[0].vfs = 0;
    must_find(
        FINDING_RISK, "nic_a",
        "ens1f0 runs ultra-low-latency firmware (8.1.0.1011 rx1 tx1), which has no SR-IOV: no "
        "VM gets a VF of it. sfboot --adapter=ens1f0 firmware-variant=full-feature "
        "switch-mode=sriov vf-count=8, then a cold reboot");
    strcpy(state.card[0].firmware, "8.1.0.1011 rx0 tx0");
    must_find(FINDING_ADVICE, "nic_a",
              "ens1f0 is set up without VFs: no VM gets one of it. sfboot --adapter=ens1f0 "
              "switch-mode=sriov vf-count=8, then a cold reboot");
    strcpy(state.card[0].driver, "veth"); /* others may do without */
    judge();
    ck_assert_uint_eq(found.count, 0);
}
END_TEST

START_TEST(two_ports_of_one_card)
{
    strcpy(state.card[1].serial, "0431");
    must_find(FINDING_RISK, "nic_b",
              "ens1f0 and ens2f0 are ports of one card (serial number 0431): they share its "
              "controller and die together. Name a port of another card");
    /* Without root nobody tells the serial number. */
    state.card[0].serial[0] = state.card[1].serial[0] = '\0';
    strcpy(state.card[1].pci, "0000:01:00.1");
    must_find(FINDING_RISK, "nic_b",
              "ens1f0 and ens2f0 are functions of one card (0000:01:00): they share its controller "
              "and die together. Name a port of another card");
    strcpy(state.card[1].pci, "0000:01:00.0");
    must_find(FINDING_RISK, "nic_b",
              "nic_a and nic_b are the same card, 0000:01:00.0: there is no second leg. Name "
              "another one");
    state.card[0].pci[0] = state.card[1].pci[0] = '\0'; /* no PCI devices at all */
    strcpy(state.card[0].driver, "veth");
    strcpy(state.card[1].driver, "veth");
    judge();
    ck_assert_uint_eq(found.count, 0);
}
END_TEST

START_TEST(parameters_that_hide_a_reset)
{
    state.sfc.monitor_hw_available = CARD_SWITCH_OFF;
    must_find(FINDING_ADVICE, "sfc",
              "monitor_hw_available is off: a dead controller is told by a command that times out "
              "after 10 s, or by BFD. options sfc monitor_hw_available=1 in "
              "/etc/modprobe.d/sfc.conf, then load it again");
    state.sfc.monitor_hw_available = CARD_SWITCH_ON;
    state.sfc.link_down_on_reset = CARD_SWITCH_OFF;
    must_find(FINDING_ADVICE, "sfc",
              "link_down_on_reset is off: the carrier stays up while the card is reset, and no "
              "guest's bond moves. options sfc link_down_on_reset=1 in /etc/modprobe.d/sfc.conf, "
              "then load it again");
    state.sfc.link_down_on_reset = CARD_SWITCH_ON;
    state.sfc.disable_recovery = CARD_SWITCH_ON;
    must_find(
        FINDING_RISK, "sfc",
        "disable_recovery is on: the first error of the controller leaves the card dead until "
        "a person loads the driver again. options sfc disable_recovery=0 in "
        "/etc/modprobe.d/sfc.conf, then load it again");
    state.sfc = (struct card_module){.is_loaded = true};
    must_find(
        FINDING_ADVICE, "sfc",
        "this driver has no monitor_hw_available: a dead controller is told by a command that "
        "times out after 10 s, or by BFD; and no link_down_on_reset: no guest's bond sees a "
        "reset of the card. The vendor's driver has it");
    state.sfc.is_loaded = false;
    judge();
    ck_assert_uint_eq(found.count, 0);
}
END_TEST

START_TEST(a_guests_bond)
{
    judge();
    cards_judge_bond(&found, "trade1", 0);
    ck_assert_uint_eq(found.count, 1);
    ck_assert_str_eq(found.finding[0].text,
                     "bond of trade1: primary_reselect=always: when the card is repaired it goes "
                     "back by itself, which is one more gap. In the guest: ip link set BOND type "
                     "bond primary_reselect failure miimon 20");
    ck_assert_int_eq(found.finding[0].severity, FINDING_ADVICE);
}
END_TEST

START_TEST(a_fabric_that_the_node_has_not_is_not_judged)
{
    memset(&state.card[1], 0, sizeof state.card[1]);
    cards_judge(&state, &config, (hf_node){1}, &found);
    ck_assert_uint_eq(found.count, 0);
}
END_TEST

START_TEST(a_drivers_text_cannot_steer_a_terminal)
{
    strcpy(state.card[0].firmware, "\x1b[31m rx1 tx1");
    state.card[0].vfs_max = state.card[0].vfs = 0;
    judge();
    ck_assert_ptr_nonnull(strstr(found.finding[0].text, "(?[31m rx1 tx1)"));
}
END_TEST

/* The longest texts that there can be lose nothing of what to do. */
START_TEST(the_longest_finding_fits)
{
    memset(state.card[0].name, 'n', HF_IFNAME_MAX);
    state.card[0].vfs_max = state.card[0].vfs = 256;
    state.card[0].vfs_without_driver = 256;
    strcpy(state.card[0].without_driver, "ffff:ff:ff.7");
    judge();
    ck_assert_ptr_nonnull(strstr(found.finding[0].text, "set-override ffff:ff:ff.7 vfio-pci"));
    state.card[0].vfs_without_driver = 0;
    state.card[0].vfs_max = 0;
    memset(state.card[0].firmware, 'f', CARDS_TEXT_MAX);
    memcpy(state.card[0].firmware + 50, " rx1 tx1", 8);
    judge();
    ck_assert_ptr_nonnull(strstr(found.finding[0].text, "a cold reboot"));
}
END_TEST

HF_TEST_MAIN_WITH("config/cards_judge", set_up, NULL, HF_CASE(good_cards_have_no_findings),
                  HF_CASE(a_card_that_is_not_there), HF_CASE(a_card_that_hangs),
                  HF_CASE(a_card_without_a_driver), HF_CASE(a_card_that_is_given_away),
                  HF_CASE(a_card_that_is_down), HF_CASE(vfs_without_a_driver),
                  HF_CASE(vfs_whose_carrier_lies), HF_CASE(firmware_without_sriov),
                  HF_CASE(two_ports_of_one_card), HF_CASE(parameters_that_hide_a_reset),
                  HF_CASE(a_guests_bond), HF_CASE(a_fabric_that_the_node_has_not_is_not_judged),
                  HF_CASE(a_drivers_text_cannot_steer_a_terminal),
                  HF_CASE(the_longest_finding_fits))
