#include "agents/nic/watch.h"

#include <errno.h>

#include "tests/unit/agents/nic/tree.h"

static struct tree tree;
static struct watch watch;
static struct hf_err err;
static char missing[200];
static hf_time now = {1000000000};
static int kmsg_fd = -1;

#define A "enp1s0f0"
#define Z "enp2s0f0"

/* A card with a port in fabric a; fabric b's is on the same card or on another. */
static void open_with(const char *pci_of_b)
{
    char kmsg[128];
    struct watch_setup setup = {.fabrics_count = 2,
                                .wanted = {A, Z},
                                .limits = {.hold_down_ms = 30000, .hold_down_max_ms = 600000}};

    tree_open(&tree);
    tree_pf(&tree, "0000:01:00.0", "sfc", 2, "vfio-pci");
    tree_interface(&tree, A, "0000:01:00.0", "1000001\n");
    tree_pf(&tree, pci_of_b, "sfc", 0, "");
    tree_interface(&tree, Z, pci_of_b, "1000002\n");
    /* A named pipe stands for the kernel's log: one write is one read. */
    (void)snprintf(kmsg, sizeof kmsg, "%s/kmsg", tree.root);
    ck_assert_int_eq(mkfifo(kmsg, 0600), 0);
    setup.root = tree.root;
    setup.kmsg = kmsg;
    ck_assert_int_eq(watch_open(&watch, &setup, now, missing, &err), HF_OK);
    kmsg_fd = open(kmsg, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    ck_assert_int_ge(kmsg_fd, 0);
}

static void close_all(void)
{
    watch_close(&watch);
    close(kmsg_fd);
    tree_close(&tree);
}

static hf_legs after(int64_t ms)
{
    now = hf_time_add_ms(now, ms);
    return watch_tick(&watch, now);
}

static void log_line(const char *line)
{
    ck_assert_int_eq(write(kmsg_fd, line, strlen(line)), (ssize_t)strlen(line));
    watch_hear(&watch, now);
}

static void is(hf_fabric fabric, enum hf_pf state, enum hf_nic_cause cause)
{
    ck_assert_int_eq(watch.pf[fabric].verdict.state, state);
    ck_assert_int_eq(watch.pf[fabric].verdict.cause, cause);
}

/* A uevent as the kernel sends it, '|' for the NULs between its words. */
static void uevent(const char *text)
{
    struct listen_word word = {.kind = LISTEN_UEVENT};
    uint8_t bytes[512];
    size_t len = strlen(text);

    memcpy(bytes, text, len + 1);
    for (size_t i = 0; i < len; i++)
        if (bytes[i] == '|')
            bytes[i] = '\0';
    ck_assert_int_eq(parse_uevent(bytes, len + 1, &word.u.uevent), PARSE_GOT);
    watch_take(&watch, &word, now);
}

static void aer(const char *pci, const char *step)
{
    char text[300];

    (void)snprintf(text, sizeof text,
                   "change@/devices/pci0000:00/%s|ACTION=change|DEVPATH=/devices/pci0000:00/%s|"
                   "SUBSYSTEM=pci|ERROR_EVENT=%s|DEVICE_ONLINE=0|PCI_SLOT_NAME=%s|SEQNUM=1",
                   pci, pci, step, pci);
    uevent(text);
}

static void of_device(const char *pci, const char *action)
{
    char text[300];

    (void)snprintf(text, sizeof text,
                   "%s@/devices/pci0000:00/%s|ACTION=%s|DEVPATH=/devices/pci0000:00/%s|"
                   "SUBSYSTEM=pci|PCI_SLOT_NAME=%s|SEQNUM=1",
                   action, pci, action, pci, pci);
    uevent(text);
}

START_TEST(two_cards_are_found_and_told)
{
    struct hf_pf_facts facts;

    open_with("0000:02:00.0");
    ck_assert_uint_eq(after(1), 3);
    is(0, HF_PF_UP, HF_NIC_NONE);
    is(1, HF_PF_UP, HF_NIC_NONE);
    ck_assert_uint_eq(after(1), 0);
    watch_facts(&watch, 0, now, &facts);
    ck_assert_str_eq(facts.name, A);
    ck_assert_str_eq(facts.pci, "0000:01:00.0");
    ck_assert_str_eq(facts.driver, "sfc");
    ck_assert_int_eq(facts.numa_node, 1);
    ck_assert_uint_eq(facts.vfs, 2);
    ck_assert_uint_eq(facts.vfs_without_driver, 0);
    ck_assert_uint_eq(facts.carrier_downs, 1);
    ck_assert_str_eq(facts.switch_id, "");
    close_all();
}
END_TEST

START_TEST(a_lost_carrier_is_one_fabrics_matter)
{
    open_with("0000:01:00.1"); /* on one card even so: a wire is a port's own */
    (void)after(1);
    tree_net(&tree, A, "carrier_down_count", "2\n");
    ck_assert_uint_eq(after(1), 1);
    is(0, HF_PF_DOWN, HF_NIC_CARRIER);
    is(1, HF_PF_UP, HF_NIC_NONE);
    close_all();
}
END_TEST

START_TEST(a_controller_is_both_ports_matter)
{
    struct watch_helped helped = {.answered_at = {0}};

    open_with("0000:01:00.1");
    (void)after(1);
    log_line("3,1,2,-;sfc 0000:01:00.0 " A ": MC watchdog or assertion failure at 0x1ff\n");
    ck_assert_uint_eq(after(1), 3);
    is(0, HF_PF_DOWN, HF_NIC_MC_ASSERT);
    is(1, HF_PF_DOWN, HF_NIC_SISTER);
    helped.answered_at = now;
    watch_helped(&watch, 0, &helped, now);
    (void)after(1); /* the sister is judged by what is known of the first */
    ck_assert_uint_eq(after(1), 0);
    is(0, HF_PF_HOLD, HF_NIC_RETURNING);
    is(1, HF_PF_HOLD, HF_NIC_RETURNING);
    close_all();
}
END_TEST

START_TEST(a_port_that_nobody_uses_tells_of_its_card)
{
    open_with("0000:02:00.0");
    (void)after(1);
    log_line("3,1,2,-;sfc 0000:01:00.1 enp1s0f1: MC command 0x59 inlen 0 mode 1 timed out\n");
    ck_assert_uint_eq(after(1), 1);
    is(0, HF_PF_DOWN, HF_NIC_SISTER);
    is(1, HF_PF_UP, HF_NIC_NONE);
    close_all();
}
END_TEST

START_TEST(a_reset_is_counted_and_heals_by_calm)
{
    struct hf_pf_facts facts;

    open_with("0000:02:00.0");
    (void)after(1);
    log_line("3,1,2,-;sfc 0000:01:00.0 " A ": resetting (DATAPATH)\n");
    (void)after(1);
    is(0, HF_PF_DOWN, HF_NIC_RESET);
    watch_facts(&watch, 0, now, &facts);
    ck_assert_uint_eq(facts.resets, 1);
    (void)after(NIC_RESET_CALM_MS);
    is(0, HF_PF_HOLD, HF_NIC_RETURNING);
    close_all();
}
END_TEST

START_TEST(a_device_that_goes_is_noticed_by_its_counters)
{
    open_with("0000:02:00.0");
    (void)after(1);
    tree_net(&tree, A, "carrier_down_count", "gone\n"); /* the kernel says ENODEV */
    tree_remove(&tree, "/sys/class/net/" A);
    tree_remove(&tree, "/sys/bus/pci/devices/0000:01:00.0");
    ck_assert_uint_eq(after(1), 1);
    is(0, HF_PF_ABSENT, HF_NIC_REMOVED);
    /* Back without a driver, and then with one. */
    tree_file(&tree, "0x1924\n", "/sys/bus/pci/devices/0000:01:00.0/vendor");
    (void)after(WATCH_SEEK_MS);
    is(0, HF_PF_DOWN, HF_NIC_UNBOUND);
    tree_pf(&tree, "0000:01:00.0", "sfc", 0, "");
    tree_interface(&tree, A, "0000:01:00.0", "1000003\n");
    (void)after(WATCH_SEEK_MS);
    is(0, HF_PF_HOLD, HF_NIC_RETURNING);
    ck_assert_int_eq(watch.pf[0].place.ifindex, 1000003);
    close_all();
}
END_TEST

START_TEST(a_renamed_interface_goes_on)
{
    open_with("0000:02:00.0");
    (void)after(1);
    tree_remove(&tree, "/sys/class/net/" A);
    tree_remove(&tree, "/sys/bus/pci/devices/0000:01:00.0/net");
    tree_interface(&tree, "lan0", "0000:01:00.0", "1000001\n");
    ck_assert_uint_eq(after(WATCH_LOOK_MS), 0);
    is(0, HF_PF_UP, HF_NIC_NONE);
    ck_assert_str_eq(watch.pf[0].place.name, "lan0");
    tree_net(&tree, "lan0", "carrier_down_count", "2\n");
    ck_assert_uint_eq(after(1), 1);
    is(0, HF_PF_DOWN, HF_NIC_CARRIER);
    close_all();
}
END_TEST

START_TEST(a_vf_without_a_driver_is_an_alarm)
{
    open_with("0000:02:00.0");
    (void)after(1);
    tree_remove(&tree, "/sys/bus/pci/devices/0000:01:10.0/driver");
    (void)after(WATCH_LOOK_MS);
    is(0, HF_PF_SUSPECT, HF_NIC_VF_DRIVER);
    close_all();
}
END_TEST

START_TEST(helpers_tell_what_may_hang)
{
    struct watch_helped helped = {.is_hot = NIC_YES, .serial = "S1", .firmware = "8.3.3"};
    struct hf_pf_facts facts;

    open_with("0000:02:00.0");
    (void)after(1);
    watch_helped(&watch, 0, &helped, now);
    (void)after(1);
    is(0, HF_PF_SUSPECT, HF_NIC_HOT);
    watch_facts(&watch, 0, now, &facts);
    ck_assert_str_eq(facts.serial, "S1");
    ck_assert_str_eq(facts.firmware, "8.3.3");
    helped = (struct watch_helped){.is_config_gone = NIC_YES};
    watch_helped(&watch, 0, &helped, now);
    (void)after(1);
    is(0, HF_PF_DOWN, HF_NIC_CONFIG_GONE);
    watch_signal(&watch, 0, NIC_SIGNAL_FORGIVEN, now);
    (void)after(1);
    is(0, HF_PF_HOLD, HF_NIC_RETURNING);
    close_all();
}
END_TEST

START_TEST(silence_of_a_fabric_is_told_to_its_pf)
{
    struct nic_bfd silent = {.peers = 2, .silent = 2};
    struct hf_pf_facts facts;

    open_with("0000:02:00.0");
    (void)after(1);
    watch_bfd(&watch, 1, &silent);
    ck_assert_uint_eq(after(1), 2);
    is(1, HF_PF_DOWN, HF_NIC_BFD);
    watch_facts(&watch, 1, now, &facts);
    ck_assert_uint_eq(facts.bfd_peers, 2);
    ck_assert_uint_eq(facts.bfd_up, 0);
    close_all();
}
END_TEST

START_TEST(a_pcie_error_is_down_until_its_driver_says_otherwise)
{
    open_with("0000:02:00.0");
    (void)after(1);
    aer("0000:01:00.0", "BEGIN_RECOVERY");
    ck_assert_uint_eq(after(1), 1);
    is(0, HF_PF_DOWN, HF_NIC_AER);
    aer("0000:01:00.0", "FAILED_RECOVERY");
    (void)after(1);
    is(0, HF_PF_DOWN, HF_NIC_AER_FAILED);
    (void)after(3600000); /* with carrier all the while */
    is(0, HF_PF_DOWN, HF_NIC_AER_FAILED);
    of_device("0000:01:00.0", "unbind");
    (void)after(1);
    of_device("0000:01:00.0", "bind");
    (void)after(1);
    is(0, HF_PF_HOLD, HF_NIC_RETURNING);
    close_all();
}
END_TEST

START_TEST(what_we_switched_off_is_down_until_it_carries_again)
{
    open_with("0000:02:00.0");
    (void)after(1);
    aer("0000:01:00.0", "BEGIN_RECOVERY");
    (void)after(1);
    watch_admin_ours(&watch, 0, true);
    tree_net(&tree, A, "flags", "0x1002\n");
    tree_net(&tree, A, "carrier_down_count", "2\n");
    aer("0000:01:00.0", "SUCCESSFUL_RECOVERY");
    (void)after(1);
    (void)after(3600000);
    is(0, HF_PF_DOWN, HF_NIC_AER);
    watch_admin_ours(&watch, 0, false); /* it is on, and its flags were read before */
    tree_net(&tree, A, "flags", "0x1003\n");
    ck_assert_uint_eq(after(1), 0);
    (void)after(HOT_FLAGS_MS);
    is(0, HF_PF_DOWN, HF_NIC_AER);
    tree_net(&tree, A, "carrier_down_count", "3\n"); /* its driver tries twice */
    tree_net(&tree, A, "carrier_up_count", "4\n");
    ck_assert_uint_eq(after(1), 1);
    is(0, HF_PF_HOLD, HF_NIC_RETURNING);
    ck_assert_uint_eq(after(30000), 1);
    is(0, HF_PF_UP, HF_NIC_NONE);
    tree_net(&tree, A, "carrier_down_count", "4\n");
    (void)after(1);
    is(0, HF_PF_DOWN, HF_NIC_CARRIER);
    close_all();
}
END_TEST

START_TEST(a_pcie_error_of_the_other_port_is_the_cards)
{
    open_with("0000:02:00.0");
    (void)after(1);
    aer("0000:01:00.1", "BEGIN_RECOVERY");
    (void)after(1);
    is(0, HF_PF_DOWN, HF_NIC_SISTER);
    is(1, HF_PF_UP, HF_NIC_NONE);
    aer("0000:01:00.1", "SUCCESSFUL_RECOVERY");
    (void)after(1);
    is(0, HF_PF_HOLD, HF_NIC_RETURNING);
    close_all();
}
END_TEST

START_TEST(a_pcie_error_of_a_vf_is_not)
{
    open_with("0000:02:00.0");
    tree_link(&tree, "../0000:01:00.2", "/sys/bus/pci/devices/0000:01:00.0/virtfn2"); /* ARI */
    tree_link(&tree, "../drivers/sfc", "/sys/bus/pci/devices/0000:01:00.2/driver");
    (void)after(WATCH_LOOK_MS);
    aer("0000:01:10.0", "FAILED_RECOVERY");
    aer("0000:01:00.2", "FAILED_RECOVERY");
    ck_assert_uint_eq(after(1), 0);
    is(0, HF_PF_UP, HF_NIC_NONE);
    close_all();
}
END_TEST

START_TEST(an_unbind_is_down_at_once_and_stays_though_files_say_otherwise)
{
    open_with("0000:02:00.0");
    (void)after(1);
    of_device("0000:01:00.0", "unbind");
    tree_remove(&tree, "/sys/bus/pci/devices/0000:01:00.0/driver");
    ck_assert_uint_eq(after(1), 1);
    is(0, HF_PF_DOWN, HF_NIC_UNBOUND);
    (void)after(60000);
    is(0, HF_PF_DOWN, HF_NIC_UNBOUND);
    of_device("0000:02:00.0", "remove");
    tree_remove(&tree, "/sys/bus/pci/devices/0000:02:00.0");
    tree_remove(&tree, "/sys/class/net/" Z);
    (void)after(1);
    is(1, HF_PF_ABSENT, HF_NIC_REMOVED);
    close_all();
}
END_TEST

START_TEST(a_new_vf_is_looked_at_soon_and_not_too_often)
{
    open_with("0000:02:00.0");
    (void)after(1000);
    tree_remove(&tree, "/sys/bus/pci/devices/0000:01:10.1/driver");
    of_device("0000:01:10.1", "unbind");
    (void)after(1);
    is(0, HF_PF_SUSPECT, HF_NIC_VF_DRIVER);
    tree_pf(&tree, "0000:01:00.0", "sfc", 2, "vfio-pci");
    of_device("0000:01:10.1", "bind");
    ck_assert_uint_eq(after(WATCH_REST_MS - 1), 0);
    (void)after(1);
    is(0, HF_PF_UP, HF_NIC_NONE);
    close_all();
}
END_TEST

START_TEST(what_was_lost_is_looked_for)
{
    struct listen_word lost = {.kind = LISTEN_LOST};

    open_with("0000:02:00.0");
    (void)after(1000);
    tree_remove(&tree, "/sys/bus/pci/devices/0000:01:10.1/driver");
    ck_assert_uint_eq(after(1), 0);
    watch_take(&watch, &lost, now);
    (void)after(1);
    is(0, HF_PF_SUSPECT, HF_NIC_VF_DRIVER);
    close_all();
}
END_TEST

START_TEST(a_link_message_renames_and_tells_of_lacp)
{
    struct listen_word word = {.kind = LISTEN_LINK,
                               .u.link = {.ifindex = 1000001,
                                          .name = "lan0",
                                          .is_admin_up = true,
                                          .has_carrier = NIC_YES,
                                          .takes_part_in_lacp = NIC_NO}};

    open_with("0000:02:00.0");
    (void)after(1);
    tree_remove(&tree, "/sys/class/net/" A);
    tree_remove(&tree, "/sys/bus/pci/devices/0000:01:00.0/net");
    tree_interface(&tree, "lan0", "0000:01:00.0", "1000001\n");
    watch_take(&watch, &word, now);
    ck_assert_uint_eq(after(1), 1);
    ck_assert_str_eq(watch.pf[0].place.name, "lan0");
    is(0, HF_PF_DOWN, HF_NIC_LACP);
    is(1, HF_PF_UP, HF_NIC_NONE);
    close_all();
}
END_TEST

START_TEST(a_switch_is_told_as_long_as_it_says)
{
    struct listen_word word = {
        .kind = LISTEN_LLDP,
        .u.seen = {.ifindex = 1000002, .lldp = {.switch_id = "sw-b Eth1", .seconds = 120}}};
    struct hf_pf_facts facts;

    open_with("0000:02:00.0");
    (void)after(1);
    watch_take(&watch, &word, now);
    watch_facts(&watch, 1, now, &facts);
    ck_assert_str_eq(facts.switch_id, "sw-b Eth1");
    watch_facts(&watch, 0, now, &facts);
    ck_assert_str_eq(facts.switch_id, "");
    watch_facts(&watch, 1, hf_time_add_ms(now, 120000), &facts);
    ck_assert_str_eq(facts.switch_id, "");
    close_all();
}
END_TEST

HF_TEST_MAIN(
    "agents/nic/watch", HF_CASE(two_cards_are_found_and_told),
    HF_CASE(a_lost_carrier_is_one_fabrics_matter), HF_CASE(a_controller_is_both_ports_matter),
    HF_CASE(a_port_that_nobody_uses_tells_of_its_card),
    HF_CASE(a_reset_is_counted_and_heals_by_calm),
    HF_CASE(a_device_that_goes_is_noticed_by_its_counters), HF_CASE(a_renamed_interface_goes_on),
    HF_CASE(a_vf_without_a_driver_is_an_alarm), HF_CASE(helpers_tell_what_may_hang),
    HF_CASE(silence_of_a_fabric_is_told_to_its_pf),
    HF_CASE(a_pcie_error_is_down_until_its_driver_says_otherwise),
    HF_CASE(what_we_switched_off_is_down_until_it_carries_again),
    HF_CASE(a_pcie_error_of_the_other_port_is_the_cards), HF_CASE(a_pcie_error_of_a_vf_is_not),
    HF_CASE(an_unbind_is_down_at_once_and_stays_though_files_say_otherwise),
    HF_CASE(a_new_vf_is_looked_at_soon_and_not_too_often), HF_CASE(what_was_lost_is_looked_for),
    HF_CASE(a_link_message_renames_and_tells_of_lacp), HF_CASE(a_switch_is_told_as_long_as_it_says))
