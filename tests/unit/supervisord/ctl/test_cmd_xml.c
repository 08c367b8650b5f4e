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

HF_TEST_MAIN("ctl/cmd_xml", HF_LOOP(name_and_memory_are_read, 0, 6),
             HF_LOOP(bad_domains_are_refused_with_the_reason, 0, 16),
             HF_CASE(two_hundred_levels_are_refused_without_recursion),
             HF_CASE(every_cut_of_a_good_domain_is_refused))
