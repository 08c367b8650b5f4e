#include "agents/nic/parse.h"

#include <string.h>

#include "tests/unit/check.h"

#define HEAD        "\x01\x80\xc2\x00\x00\x0e\x00\x1c\x73\x00\x00\x01\x88\xcc"
#define MAC_CHASSIS "\x02\x07\x04\x00\x1c\x73\xaa\xbb\xcc"
#define NAME_PORT                                                                                  \
    "\x04\x0b\x05"                                                                                 \
    "Ethernet12"
#define SECONDS "\x06\x02\x00\x78"

static enum parse_word parse(const char *bytes, size_t len, struct nic_lldp *out)
{
    return parse_lldp((const uint8_t *)bytes, len, out);
}

START_TEST(a_switch_is_named_by_chassis_and_port)
{
    static const char frame[] = HEAD MAC_CHASSIS NAME_PORT SECONDS "\x00\x00";
    struct nic_lldp lldp;

    ck_assert_int_eq(parse(frame, sizeof frame - 1, &lldp), PARSE_GOT);
    ck_assert_str_eq(lldp.switch_id, "00:1c:73:aa:bb:cc Ethernet12");
    ck_assert_uint_eq(lldp.seconds, 120);
}
END_TEST

START_TEST(text_of_a_switch_is_cut_and_made_harmless)
{
    static const char frame[] =
        HEAD "\x02\x2c\x07"
             "\x1b[31m\n0123456789012345678901234567890123456" NAME_PORT SECONDS;
    struct nic_lldp lldp;

    ck_assert_int_eq(parse(frame, sizeof frame - 1, &lldp), PARSE_GOT);
    ck_assert_str_eq(lldp.switch_id, "_[31m_012345678901234567890123 Ethernet12");
}
END_TEST

START_TEST(a_cut_frame_is_bad)
{
    static const char frame[] = HEAD MAC_CHASSIS NAME_PORT SECONDS;
    struct nic_lldp lldp;

    for (size_t len = 1; len < sizeof frame - 1; len++)
        ck_assert_int_eq(parse(frame, len, &lldp), PARSE_BAD);
    ck_assert_int_eq(parse(frame, 0, &lldp), PARSE_END);
}
END_TEST

START_TEST(another_order_or_protocol_is_not_taken)
{
    static const char swapped[] = HEAD NAME_PORT MAC_CHASSIS SECONDS;
    static const char empty[] = HEAD "\x02\x00" NAME_PORT SECONDS;
    static const char ip[] = "\x01\x80\xc2\x00\x00\x0e\x00\x1c\x73\x00\x00\x01\x08\x00" MAC_CHASSIS;
    struct nic_lldp lldp;

    ck_assert_int_eq(parse(swapped, sizeof swapped - 1, &lldp), PARSE_BAD);
    ck_assert_int_eq(parse(empty, sizeof empty - 1, &lldp), PARSE_BAD);
    ck_assert_int_eq(parse(ip, sizeof ip - 1, &lldp), PARSE_OTHER);
}
END_TEST

HF_TEST_MAIN("agents/nic/parse_lldp", HF_CASE(a_switch_is_named_by_chassis_and_port),
             HF_CASE(text_of_a_switch_is_cut_and_made_harmless), HF_CASE(a_cut_frame_is_bad),
             HF_CASE(another_order_or_protocol_is_not_taken))
