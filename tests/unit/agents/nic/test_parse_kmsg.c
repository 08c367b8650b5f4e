#include "agents/nic/parse.h"

#include <string.h>

#include "tests/unit/check.h"

static enum parse_word parse(const char *text, struct nic_kmsg *out)
{
    return parse_kmsg((const uint8_t *)text, strlen(text), out);
}

#define SFC     "3,1402,512345678,-;sfc 0000:01:00.0 enp1s0f0: "
#define DETAILS "\n SUBSYSTEM=pci\n DEVICE=+pci:0000:01:00.0\n"

START_TEST(a_drivers_line_is_a_signal)
{
    static const struct {
        const char *text;
        enum nic_signal signal;
    } cases[] = {
        {SFC "MC command 0x59 inlen 0 mode 1 timed out" DETAILS, NIC_SIGNAL_MC_TIMEOUT},
        {SFC "MC command 0x2d inlen 4 state 1 timed out after 10000 ms" DETAILS,
         NIC_SIGNAL_MC_TIMEOUT},
        {SFC "MC watchdog or assertion failure at 0x1ff" DETAILS, NIC_SIGNAL_MC_ASSERT},
        {SFC "MC Reboot" DETAILS, NIC_SIGNAL_MC_ASSERT},
        {SFC "MC entered BIST mode" DETAILS, NIC_SIGNAL_MC_ASSERT},
        {SFC "resetting (MC_FAILURE)" DETAILS, NIC_SIGNAL_RESET},
        {SFC "resetting (DATAPATH)" DETAILS, NIC_SIGNAL_RESET},
        {SFC "too many resets, scheduling DISABLE" DETAILS, NIC_SIGNAL_TOO_MANY_RESETS},
        {SFC "has been disabled" DETAILS, NIC_SIGNAL_DISABLED},
        {SFC "failed to reset hardware" DETAILS, NIC_SIGNAL_DISABLED},
        {SFC "failed to initialise NIC" DETAILS, NIC_SIGNAL_DISABLED},
        {SFC "failed to restore vswitching rc=-5, VFs may not function" DETAILS,
         NIC_SIGNAL_VSWITCH_LOST},
        {SFC "failed to restore vswitching rc=-5; VFs may not function" DETAILS,
         NIC_SIGNAL_VSWITCH_LOST},
        {SFC "Sensor 6 (Controller die (TDIODE) temp.) reports condition 'Fatal' for value 121 "
             "degC" DETAILS,
         NIC_SIGNAL_HOT},
        {SFC "Sensor 6 (Controller die (TDIODE) temp.) reports condition 'OK' for value 60 "
             "degC" DETAILS,
         NIC_SIGNAL_COOL},
        {SFC "NETDEV WATCHDOG: CPU: 3: transmit queue 2 timed out 5002 ms" DETAILS,
         NIC_SIGNAL_TX_STALLED},
        {"3,1,2,-,caller=T42;sfc 0000:01:00.0 enp1s0f0: has been disabled\n", NIC_SIGNAL_DISABLED},
        {"3,1,2,-;sfc 0000:01:00.0 enp1s0f0 (unregistering): has been disabled",
         NIC_SIGNAL_DISABLED},
        {"3,1,2,-;igb 0000:01:00.0 enp1s0f0: PCIe link lost" DETAILS, NIC_SIGNAL_CONFIG_GONE},
        {"3,1,2,-;igb 0000:01:00.0 enp1s0f0: Reset adapter" DETAILS, NIC_SIGNAL_RESET},
    };
    struct nic_kmsg line;

    ck_assert_int_lt(_i, (int)(sizeof cases / sizeof cases[0]));
    ck_assert_msg(parse(cases[_i].text, &line) == PARSE_GOT, "%s", cases[_i].text);
    ck_assert_int_eq(line.signal, cases[_i].signal);
    ck_assert_str_eq(line.pci, "0000:01:00.0");
    ck_assert_str_eq(line.name, "enp1s0f0");
}
END_TEST

START_TEST(a_line_may_name_no_interface_or_nothing_else)
{
    struct nic_kmsg line;

    ck_assert_int_eq(parse("3,1,2,-;mlx5_core 0000:81:00.1: poll_health:819:(pid 0): device's "
                           "health compromised - reached miss count",
                           &line),
                     PARSE_GOT);
    ck_assert_int_eq(line.signal, NIC_SIGNAL_MC_TIMEOUT);
    ck_assert_str_eq(line.pci, "0000:81:00.1");
    ck_assert_str_eq(line.name, "");
    ck_assert_int_eq(
        parse("6,1,2,-;NETDEV WATCHDOG: enp1s0f0 (sfc): transmit queue 2 timed out", &line),
        PARSE_GOT);
    ck_assert_int_eq(line.signal, NIC_SIGNAL_TX_STALLED);
    ck_assert_str_eq(line.pci, "");
    ck_assert_str_eq(line.name, "enp1s0f0");
}
END_TEST

START_TEST(everything_else_is_no_signal)
{
    static const char *const lines[] = {
        SFC "link down" DETAILS,
        SFC "MC command 0x59 inlen 0 failed rc=-22 (raw=22) arg=0" DETAILS,
        SFC "Sensor 3 (1.2V) reports condition 'Warning' for value 1290 mV" DETAILS,
        "3,1,2,-;e1000e 0000:01:00.0 enp1s0f0: has been disabled" DETAILS,
        "4,1,2,-;sfc: has been disabled",
        "4,1,2,-;sfc 0000:01:00.0",
        "4,1,2,-;sfc 0000:01:00.0 enp1s0f0 has been disabled",
        "4,1,2,-;random: crng init done",
        "4,1,2,-;",
        /* What a program wrote to /dev/kmsg: facility 1 and above. */
        "11,1,2,-;sfc 0000:01:00.0 enp1s0f0: has been disabled" DETAILS,
        "30,1,2,-;sfc 0000:01:00.0 enp1s0f0: has been disabled" DETAILS,
        /* Its own words behind a line break are no second line. */
        "3,1,2,-;sfc 0000:01:00.0 enp1s0f0: hello\nsfc 0000:01:00.0 enp1s0f0: has been disabled",
    };
    struct nic_kmsg line;

    ck_assert_int_eq(parse(lines[_i], &line), PARSE_OTHER);
}
END_TEST

START_TEST(what_is_no_record_is_bad)
{
    struct nic_kmsg line;

    ck_assert_int_eq(parse("sfc 0000:01:00.0 enp1s0f0: has been disabled", &line), PARSE_BAD);
    ck_assert_int_eq(parse(";", &line), PARSE_BAD);
    ck_assert_int_eq(parse("x,1;sfc", &line), PARSE_BAD);
    ck_assert_int_eq(parse("", &line), PARSE_END);
}
END_TEST

HF_TEST_MAIN("agents/nic/parse_kmsg", HF_LOOP(a_drivers_line_is_a_signal, 0, 20),
             HF_CASE(a_line_may_name_no_interface_or_nothing_else),
             HF_LOOP(everything_else_is_no_signal, 0, 12), HF_CASE(what_is_no_record_is_bad))
