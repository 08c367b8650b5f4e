#include "agents/nic/parse.h"

#include <string.h>

#include "tests/unit/check.h"

/* Text with '|' for the NULs between its words. */
static enum parse_word parse(const char *text, struct nic_uevent *out)
{
    uint8_t bytes[1024];
    size_t len = strlen(text);

    ck_assert_uint_lt(len, sizeof bytes);
    memcpy(bytes, text, len);
    bytes[len] = '\0';
    for (size_t i = 0; i < len; i++)
        if (bytes[i] == '|')
            bytes[i] = '\0';
    return parse_uevent(bytes, len + 1, out);
}

#define AER(event_, online_)                                                                       \
    "change@/devices/pci0000:00/0000:00:03.0/0000:01:00.0|ACTION=change|DEVPATH=/devices/"         \
    "pci0000:00/0000:00:03.0/0000:01:00.0|SUBSYSTEM=pci|ERROR_EVENT=" event_                       \
    "|DEVICE_ONLINE=" online_ "|DRIVER=sfc|PCI_CLASS=20000|PCI_ID=1924:0B03|"                      \
    "PCI_SUBSYS_ID=1924:802D|PCI_SLOT_NAME=0000:01:00.0|MODALIAS=pci:v00001924|SEQNUM=2214"

START_TEST(pcie_recovery_is_told_by_its_steps)
{
    static const struct {
        const char *text;
        enum nic_aer aer;
    } cases[] = {{AER("BEGIN_RECOVERY", "0"), NIC_AER_BEGIN},
                 {AER("SUCCESSFUL_RECOVERY", "1"), NIC_AER_RECOVERED},
                 {AER("FAILED_RECOVERY", "0"), NIC_AER_FAILED},
                 {AER("SOMETHING_NEW", "0"), NIC_AER_NONE}};
    struct nic_uevent ev;

    ck_assert_int_eq(parse(cases[_i].text, &ev), PARSE_GOT);
    ck_assert_int_eq(ev.action, NIC_CHANGE);
    ck_assert_int_eq(ev.aer, cases[_i].aer);
    ck_assert(!ev.is_net);
    ck_assert_str_eq(ev.pci, "0000:01:00.0");
}
END_TEST

START_TEST(actions_of_a_device)
{
    static const struct {
        const char *text;
        enum nic_action action;
    } cases[] = {{"add", NIC_ADD},       {"remove", NIC_REMOVE}, {"bind", NIC_BIND},
                 {"unbind", NIC_UNBIND}, {"move", NIC_MOVE},     {"offline", NIC_ACTION_OTHER}};
    struct nic_uevent ev;
    char text[300];

    (void)snprintf(text, sizeof text,
                   "%s@/devices/pci0000:00/0000:01:00.1|ACTION=%s|DEVPATH=/devices/pci0000:00/"
                   "0000:01:00.1|SUBSYSTEM=pci|SEQNUM=9",
                   cases[_i].text, cases[_i].text);
    ck_assert_int_eq(parse(text, &ev), PARSE_GOT);
    ck_assert_int_eq(ev.action, cases[_i].action);
    ck_assert_str_eq(ev.pci, "0000:01:00.1");
}
END_TEST

START_TEST(a_network_device_names_the_pci_device_it_is_of)
{
    struct nic_uevent ev;

    ck_assert_int_eq(
        parse("move@/devices/pci0000:00/0000:00:03.0/0000:01:00.0/net/enp1s0f0|ACTION=move|"
              "DEVPATH=/devices/pci0000:00/0000:00:03.0/0000:01:00.0/net/enp1s0f0|SUBSYSTEM=net|"
              "DEVPATH_OLD=/devices/pci0000:00/0000:00:03.0/0000:01:00.0/net/eth0|"
              "INTERFACE=enp1s0f0|IFINDEX=2|SEQNUM=10",
              &ev),
        PARSE_GOT);
    ck_assert_int_eq(ev.action, NIC_MOVE);
    ck_assert(ev.is_net);
    ck_assert_str_eq(ev.name, "enp1s0f0");
    ck_assert_str_eq(ev.pci, "0000:01:00.0");
    ck_assert_int_eq(parse("remove@/devices/virtual/net/veth0|ACTION=remove|DEVPATH=/devices/"
                           "virtual/net/veth0|SUBSYSTEM=net|INTERFACE=veth0|IFINDEX=12|SEQNUM=11",
                           &ev),
                     PARSE_GOT);
    ck_assert_str_eq(ev.pci, "");
    ck_assert_str_eq(ev.name, "veth0");
}
END_TEST

START_TEST(other_devices_are_passed_over)
{
    struct nic_uevent ev;

    ck_assert_int_eq(parse("add@/devices/virtual/bdi/7:0|ACTION=add|DEVPATH=/devices/virtual/bdi/"
                           "7:0|SUBSYSTEM=bdi|SEQNUM=1",
                           &ev),
                     PARSE_OTHER);
    /* Queues are devices of a network device, and no network device. */
    ck_assert_int_eq(parse("add@/devices/virtual/net/veth0/queues/rx-0|ACTION=add|DEVPATH=/devices/"
                           "virtual/net/veth0/queues/rx-0|SUBSYSTEM=queues|SEQNUM=1",
                           &ev),
                     PARSE_OTHER);
}
END_TEST

START_TEST(what_does_not_parse_is_bad)
{
    static const uint8_t open_end[] = "add@/x\0ACTION=add\0SUBSYSTEM=pci";
    struct nic_uevent ev;

    ck_assert_int_eq(parse_uevent(open_end, sizeof open_end - 1, &ev), PARSE_BAD);
    ck_assert_int_eq(parse("", &ev), PARSE_BAD);
    ck_assert_int_eq(parse("add@/x|SUBSYSTEM=pci", &ev), PARSE_BAD);
    ck_assert_int_eq(parse_uevent(open_end, 0, &ev), PARSE_END);
}
END_TEST

START_TEST(what_is_a_pci_address)
{
    ck_assert(parse_is_pci("0000:01:00.0", 12));
    ck_assert(parse_is_pci("abcd:Ef:1f.7", 12));
    ck_assert(!parse_is_pci("0000:01:00.0", 11));
    ck_assert(!parse_is_pci("0000-01:00.0", 12));
    ck_assert(!parse_is_pci("0000:01:00.g", 12));
    ck_assert(!parse_is_pci("", 0));
}
END_TEST

HF_TEST_MAIN("agents/nic/parse_uevent", HF_LOOP(pcie_recovery_is_told_by_its_steps, 0, 4),
             HF_LOOP(actions_of_a_device, 0, 6),
             HF_CASE(a_network_device_names_the_pci_device_it_is_of),
             HF_CASE(other_devices_are_passed_over), HF_CASE(what_does_not_parse_is_bad),
             HF_CASE(what_is_a_pci_address))
