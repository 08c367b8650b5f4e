#include "nicbond/vf_config.h"

#include "tests/unit/check.h"

#include <string.h>

static const struct vf_config plain = {.mac = {2, 0, 0, 0, 0, 1},
                                       .vlan = 100,
                                       .qos = 3,
                                       .spoofchk = VF_ON,
                                       .trust = VF_OFF,
                                       .link = VF_LINK_AUTO};

START_TEST(each_field_that_differs_is_named)
{
    struct vf_config other = plain;

    ck_assert_uint_eq(vf_config_differs(&plain, &plain), 0);
    other.mac[5] = 9;
    ck_assert_uint_eq(vf_config_differs(&plain, &other), VF_FIELD(VF_FIELD_MAC));
    other = plain;
    other.vlan = 101;
    ck_assert_uint_eq(vf_config_differs(&plain, &other), VF_FIELD(VF_FIELD_VLAN));
    other = plain;
    other.qos = 4;
    ck_assert_uint_eq(vf_config_differs(&plain, &other), VF_FIELD(VF_FIELD_VLAN));
    other = plain;
    other.spoofchk = VF_OFF;
    other.trust = VF_ON;
    other.link = VF_LINK_DISABLE;
    ck_assert_uint_eq(vf_config_differs(&plain, &other), VF_FIELD(VF_FIELD_SPOOFCHK) |
                                                             VF_FIELD(VF_FIELD_TRUST) |
                                                             VF_FIELD(VF_FIELD_LINK));
}
END_TEST

START_TEST(what_is_not_wanted_never_differs)
{
    struct vf_config wanted = plain;

    wanted.spoofchk = wanted.trust = VF_SETTING_UNKNOWN;
    wanted.link = VF_LINK_UNKNOWN;
    ck_assert_uint_eq(vf_config_differs(&plain, &wanted), 0);
}
END_TEST

START_TEST(a_driver_that_does_not_tell_has_it_off)
{
    struct vf_config present = plain, wanted = plain;

    present.trust = present.spoofchk = VF_SETTING_UNKNOWN;
    ck_assert_uint_eq(vf_config_differs(&present, &wanted), VF_FIELD(VF_FIELD_SPOOFCHK));
    present.link = VF_LINK_UNKNOWN;
    wanted.spoofchk = VF_OFF;
    ck_assert_uint_eq(vf_config_differs(&present, &wanted), VF_FIELD(VF_FIELD_LINK));
}
END_TEST

START_TEST(no_mac_and_its_stand_in_are_the_same)
{
    struct vf_config zeros = plain, stand_in = plain;

    memset(zeros.mac, 0, sizeof zeros.mac);
    memset(stand_in.mac, 0, sizeof stand_in.mac);
    stand_in.mac[0] = 2;
    ck_assert_uint_eq(vf_config_differs(&zeros, &stand_in), 0);
    ck_assert_uint_eq(vf_config_differs(&stand_in, &zeros), 0);
    ck_assert_uint_eq(vf_config_differs(&plain, &zeros), VF_FIELD(VF_FIELD_MAC));
}
END_TEST

START_TEST(nonsense_is_not_valid)
{
    struct vf_config c = plain;

    ck_assert(vf_config_is_valid(&c));
    c.mac[0] = 1;
    ck_assert(!vf_config_is_valid(&c)); /* a group address */
    c = plain;
    c.vlan = 4095;
    ck_assert(!vf_config_is_valid(&c));
    c = plain;
    c.qos = 8;
    ck_assert(!vf_config_is_valid(&c));
    c = plain;
    c.link = VF_LINKS;
    ck_assert(!vf_config_is_valid(&c));
    c = plain;
    c.trust = VF_SETTINGS;
    ck_assert(!vf_config_is_valid(&c));
}
END_TEST

START_TEST(only_the_kernels_form_is_a_pci_address)
{
    static const char *const bad[] = {"",
                                      "0000:01:10",
                                      "0000:01:10.",
                                      "0000:01:10.8",
                                      "0000:01:10.0x",
                                      "0000:01:1G.0",
                                      "0000:01:1A.0",
                                      "0000-01:10.0",
                                      "../../etc/pa"};

    ck_assert(vf_pci_is_name("0000:01:10.0"));
    ck_assert(vf_pci_is_name("ffff:ff:1f.7"));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!vf_pci_is_name(bad[i]), "%s", bad[i]);
}
END_TEST

START_TEST(texts_are_for_people)
{
    char text[VF_CONFIG_TEXT_MAX];
    struct vf_config longest = {.mac = {0xfe, 0xff, 0xff, 0xff, 0xff, 0xff},
                                .vlan = VF_VLAN_MAX,
                                .qos = VF_QOS_MAX,
                                .spoofchk = VF_SETTING_UNKNOWN,
                                .trust = VF_SETTING_UNKNOWN,
                                .link = VF_LINK_DISABLE};

    vf_config_text(&plain, text);
    ck_assert_str_eq(text, "02:00:00:00:00:01 vlan 100 qos 3 spoofchk on trust off link auto");
    vf_config_text(&longest, text);
    ck_assert_str_eq(
        text, "fe:ff:ff:ff:ff:ff vlan 4094 qos 7 spoofchk unknown trust unknown link disable");
    for (enum vf_field f = VF_FIELD_MAC; f < VF_FIELDS; f++)
        ck_assert_str_ne(vf_field_name(f), "?");
    for (enum vf_link l = VF_LINK_AUTO; l < VF_LINKS; l++)
        ck_assert_str_ne(vf_link_name(l), "?");
}
END_TEST

HF_TEST_MAIN("nicbond/vf_config", HF_CASE(each_field_that_differs_is_named),
             HF_CASE(what_is_not_wanted_never_differs),
             HF_CASE(a_driver_that_does_not_tell_has_it_off),
             HF_CASE(no_mac_and_its_stand_in_are_the_same), HF_CASE(nonsense_is_not_valid),
             HF_CASE(only_the_kernels_form_is_a_pci_address), HF_CASE(texts_are_for_people))
