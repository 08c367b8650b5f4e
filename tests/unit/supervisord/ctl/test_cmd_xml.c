#include "supervisord/ctl/cmd.h"
#include "tests/unit/check.h"

#include <string.h>

static struct hf_err err;
static struct cmd_domain domain;

static enum hf_code read_xml(const char *xml)
{
    return cmd_xml_read(xml, strlen(xml), &domain, &err);
}

START_TEST(name_and_memory_are_read)
{
    static const struct {
        const char *memory;
        uint32_t mib;
    } cases[] = {
        {"<memory>1048576</memory>", 1024},       {"<memory unit='KiB'> 1048577 </memory>", 1025},
        {"<memory unit='MiB'>512</memory>", 512}, {"<memory unit='GiB'>16</memory>", 16384},
        {"<memory unit='b'>1</memory>", 1},       {"<memory unit='TiB'>1</memory>", 1048576},
    };
    char xml[256];

    (void)snprintf(xml, sizeof xml,
                   "<?xml version='1.0'?><!-- c --><domain type='kvm'>%s<name>trade-1.a</name>"
                   "<on_crash>destroy</on_crash><devices><disk><source/></disk></devices></domain>",
                   cases[_i].memory);
    ck_assert_int_eq(read_xml(xml), HF_OK);
    ck_assert_str_eq(domain.name, "trade-1.a");
    ck_assert_uint_eq(domain.memory_mib, cases[_i].mib);
}
END_TEST

START_TEST(bad_domains_are_refused_with_the_reason)
{
    static const struct {
        const char *xml, *why;
    } cases[] = {
        {"", "bytes"},
        {"<domain>", "not well-formed"},
        {"<network><name>x</name></network>", "not <domain>"},
        {"<domain><memory>1</memory></domain>", "no <name>"},
        {"<domain><name>a/b</name><memory>1</memory></domain>", "<name> must be"},
        {"<domain><name>a<b/></name><memory>1</memory></domain>", "<name> must be"},
        {"<domain><name>a b</name><memory>1</memory></domain>", "<name> must be"},
        {"<domain><name>a</name></domain>", "no <memory>"},
        {"<domain><name>a</name><memory>0</memory></domain>", "not a size"},
        {"<domain><name>a</name><memory>-1</memory></domain>", "not a size"},
        {"<domain><name>a</name><memory unit='furlong'>1</memory></domain>", "not a size"},
        {"<domain><name>a</name><memory unit='TiB'>18446744073709551615</memory></domain>",
         "not a size"},
        {"<domain><name>a</name><memory>1</memory><devices><disk><shareable/></disk></devices>"
         "</domain>",
         "shareable"},
        {"<domain><name>a</name><memory>1</memory><on_crash>restart</on_crash></domain>",
         "on_crash"},
        {"<!DOCTYPE domain [<!ENTITY x 'y'>]><domain><name>a</name><memory>1</memory></domain>",
         "DOCTYPE"},
        {"<!DOCTYPE domain SYSTEM 'http://127.0.0.1:1/x'><domain/>", "DOCTYPE"},
    };

    ck_assert_int_eq(read_xml(cases[_i].xml), HF_EINVAL);
    ck_assert_msg(strstr(err.text, cases[_i].why) != NULL, "%s", err.text);
}
END_TEST

START_TEST(two_hundred_levels_are_refused_without_recursion)
{
    static char xml[20000] = "<domain><name>a</name><memory>1</memory>";

    for (unsigned i = 0; i < 200; i++)
        strcat(xml, "<x>");
    for (unsigned i = 0; i < 200; i++)
        strcat(xml, "</x>");
    strcat(xml, "</domain>");
    ck_assert_int_eq(read_xml(xml), HF_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "deeper"));
}
END_TEST

START_TEST(every_cut_of_a_good_domain_is_refused)
{
    static const char xml[] = "<domain><name>a</name><memory>1</memory></domain>";

    for (size_t len = 0; len < sizeof xml - 1; len++)
        ck_assert_int_ne(cmd_xml_read(xml, len, &domain, &err), HF_OK);
    ck_assert_int_eq(cmd_xml_read(xml, sizeof xml - 1, &domain, &err), HF_OK);
}
END_TEST

#define DOMAIN(devices)                                                                            \
    "<domain><name>a</name><memory>1</memory>\n<devices>\n" devices "</devices></domain>"

START_TEST(interfaces_are_read)
{
    ck_assert_int_eq(
        read_xml(DOMAIN("<interface type='hostdev' managed='no'><mac address='52:54:00:00:00:0a'/>"
                        "<source><address type='pci' domain='0x0000' bus='0x01' slot='0x10' "
                        "function='0x2'/></source></interface>\n"
                        "<interface type='bridge'><source bridge='br-b'/></interface>\n"
                        "<interface type='direct'><mac address='52:54:00:00:00:0B'/>"
                        "<source dev='ens1f0' mode='bridge'/><alias name='ua-leg-b'/></interface>\n"
                        "<interface type='network'><source network='default'/>"
                        "<alias name='net0'/></interface>\n"
                        "<hostdev mode='subsystem' type='pci'><source><address bus='10' slot='0' "
                        "function='0'/></source><alias name='ua-leg-none'/></hostdev>\n"
                        "<hostdev mode='subsystem' type='usb'><source/></hostdev>\n")),
        HF_OK);
    ck_assert_uint_eq(domain.nics_count, 6);
    ck_assert_int_eq(domain.nics[0].kind, CMD_NIC_PCI);
    ck_assert_str_eq(domain.nics[0].source, "0000:01:10.2");
    ck_assert_str_eq(domain.nics[0].mac, "52:54:00:00:00:0a");
    ck_assert_uint_eq(domain.nics[0].line, 3);
    ck_assert_int_eq(domain.nics[0].mark, CMD_NIC_UNMARKED);
    ck_assert_int_eq(domain.nics[1].kind, CMD_NIC_LINK);
    ck_assert_str_eq(domain.nics[1].source, "br-b");
    ck_assert_str_eq(domain.nics[1].mac, "");
    ck_assert_int_eq(domain.nics[2].kind, CMD_NIC_LINK);
    ck_assert_str_eq(domain.nics[2].source, "ens1f0");
    ck_assert_int_eq(domain.nics[2].mark, CMD_NIC_MARKED);
    ck_assert_uint_eq(domain.nics[2].fabric, 1);
    ck_assert_uint_eq(domain.nics[2].line, 5);
    ck_assert_int_eq(domain.nics[3].kind, CMD_NIC_OTHER);
    ck_assert_int_eq(domain.nics[3].mark, CMD_NIC_UNMARKED);
    ck_assert_int_eq(domain.nics[4].kind, CMD_NIC_PCI);
    ck_assert_str_eq(domain.nics[4].source, "0000:0a:00.0");
    ck_assert_int_eq(domain.nics[4].mark, CMD_NIC_NO_LEG);
    ck_assert_int_eq(domain.nics[5].kind, CMD_NIC_OTHER);
}
END_TEST

/* Nothing of it becomes a path or reaches a terminal. */
START_TEST(a_source_that_is_no_name_is_none)
{
    ck_assert_int_eq(
        read_xml(DOMAIN(
            "<interface type='bridge'><source bridge='../../etc'/>"
            "<mac address='52:54:00:zz:00:0a'/></interface>"
            "<interface type='direct'><source dev='abcdefghijklmnopq'/></interface>"
            "<interface type='hostdev'><source><address bus='1' slot='99' function='0'/></source>"
            "</interface>"
            "<interface type='hostdev'><source><address bus='-1' slot='1' function='0'/></source>"
            "</interface>"
            "<interface type='hostdev'><source><address domain='0x1ffff' bus='1' slot='1' "
            "function='0'/></source></interface>"
            "<interface/>")),
        HF_OK);
    ck_assert_uint_eq(domain.nics_count, 6);
    for (unsigned i = 0; i < 6; i++) {
        ck_assert_int_eq(domain.nics[i].kind, CMD_NIC_OTHER);
        ck_assert_str_eq(domain.nics[i].source, "");
        ck_assert_str_eq(domain.nics[i].mac, "");
    }
}
END_TEST

START_TEST(a_mistaken_mark_is_refused)
{
    ck_assert_int_eq(read_xml(DOMAIN("<interface><alias name='ua-leg-c'/></interface>")),
                     HF_EINVAL);
    ck_assert_str_eq(err.text, "line 3: alias 'ua-leg-c' marks no leg: there are ua-leg-a, "
                               "ua-leg-b and ua-leg-none");
}
END_TEST

START_TEST(a_seventeenth_interface_is_refused)
{
    static char xml[4096] = "<domain><name>a</name><memory>1</memory><devices>";

    for (unsigned i = 0; i <= CMD_NICS_MAX; i++)
        strcat(xml, "<interface type='user'/>");
    strcat(xml, "</devices></domain>");
    ck_assert_int_eq(read_xml(xml), HF_EINVAL);
    ck_assert_str_eq(err.text, "more than 16 interfaces and PCI devices");
}
END_TEST

HF_TEST_MAIN("ctl/cmd_xml", HF_LOOP(name_and_memory_are_read, 0, 6),
             HF_LOOP(bad_domains_are_refused_with_the_reason, 0, 16),
             HF_CASE(two_hundred_levels_are_refused_without_recursion),
             HF_CASE(every_cut_of_a_good_domain_is_refused), HF_CASE(interfaces_are_read),
             HF_CASE(a_source_that_is_no_name_is_none), HF_CASE(a_mistaken_mark_is_refused),
             HF_CASE(a_seventeenth_interface_is_refused))
