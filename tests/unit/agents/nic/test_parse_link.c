#include "agents/nic/parse.h"

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>

#include "tests/unit/check.h"

/* A datagram that is being written. */
struct datagram {
    uint8_t bytes[1024];
    size_t len, message, nest;
};

static void put(struct datagram *d, const void *bytes, size_t len)
{
    memcpy(d->bytes + d->len, bytes, len);
    d->len += (len + 3) & ~(size_t)3;
}

static void attr(struct datagram *d, uint16_t type, const void *bytes, size_t len)
{
    struct nlattr head = {.nla_len = (uint16_t)(sizeof head + len), .nla_type = type};

    put(d, &head, sizeof head);
    put(d, bytes, len);
}

static void begin(struct datagram *d, uint16_t type, int index, unsigned flags)
{
    struct nlmsghdr head = {.nlmsg_type = type};
    struct ifinfomsg info = {.ifi_index = index, .ifi_flags = flags};

    d->message = d->len;
    put(d, &head, sizeof head);
    put(d, &info, sizeof info);
}

static void end(struct datagram *d)
{
    uint32_t len = (uint32_t)(d->len - d->message);

    memcpy(d->bytes + d->message, &len, sizeof len);
}

static size_t nest(struct datagram *d, uint16_t type)
{
    size_t at = d->len;

    attr(d, (uint16_t)(type | NLA_F_NESTED), "", 0);
    return at;
}

static void unnest(struct datagram *d, size_t at)
{
    uint16_t len = (uint16_t)(d->len - at);

    memcpy(d->bytes + at, &len, sizeof len);
}

static void number(struct datagram *d, uint16_t type, uint32_t value)
{
    attr(d, type, &value, sizeof value);
}

/* A port of a bond, as rtnl_fill_ifinfo() and bond_fill_slave_info() write it. */
static void bond_port(struct datagram *d, uint8_t actor, uint16_t partner)
{
    uint8_t carrier = 1;
    size_t info, data;

    begin(d, RTM_NEWLINK, 7, IFF_UP);
    attr(d, IFLA_IFNAME, "enp1s0f0", 9);
    attr(d, IFLA_CARRIER, &carrier, 1);
    info = nest(d, IFLA_LINKINFO);
    attr(d, IFLA_INFO_SLAVE_KIND, "bond", 5);
    data = nest(d, IFLA_INFO_SLAVE_DATA);
    attr(d, IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE, &actor, 1);
    attr(d, IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE, &partner, 2);
    unnest(d, data);
    unnest(d, info);
    end(d);
}

START_TEST(a_link_is_told_with_its_counters)
{
    struct datagram d = {.len = 0};
    struct nic_link link;
    uint8_t carrier = 0;
    size_t pos = 0;

    begin(&d, RTM_NEWLINK, 5, IFF_UP);
    attr(&d, IFLA_IFNAME, "ens1f0np0", 10);
    attr(&d, IFLA_CARRIER, &carrier, 1);
    number(&d, IFLA_CARRIER_UP_COUNT, 4);
    number(&d, IFLA_CARRIER_DOWN_COUNT, 5);
    end(&d);
    ck_assert_int_eq(parse_link(d.bytes, d.len, &pos, &link), PARSE_GOT);
    ck_assert(!link.is_gone);
    ck_assert_int_eq(link.ifindex, 5);
    ck_assert_str_eq(link.name, "ens1f0np0");
    ck_assert(link.is_admin_up);
    ck_assert_int_eq(link.has_carrier, NIC_NO);
    ck_assert(link.has_counts);
    ck_assert_uint_eq(link.carrier_ups, 4);
    ck_assert_uint_eq(link.carrier_downs, 5);
    ck_assert_int_eq(link.takes_part_in_lacp, NIC_NOT_KNOWN);
    ck_assert_int_eq(parse_link(d.bytes, d.len, &pos, &link), PARSE_END);
}
END_TEST

START_TEST(two_messages_in_one_datagram)
{
    struct datagram d = {.len = 0};
    struct nic_link link;
    size_t pos = 0;

    begin(&d, RTM_DELLINK, 5, 0);
    attr(&d, IFLA_IFNAME, "a", 2);
    end(&d);
    begin(&d, RTM_NEWLINK, 6, IFF_UP | 1u << 16);
    end(&d);
    ck_assert_int_eq(parse_link(d.bytes, d.len, &pos, &link), PARSE_GOT);
    ck_assert(link.is_gone);
    ck_assert_int_eq(link.ifindex, 5);
    ck_assert_int_eq(link.has_carrier, NIC_NOT_KNOWN);
    ck_assert_int_eq(parse_link(d.bytes, d.len, &pos, &link), PARSE_GOT);
    ck_assert_int_eq(link.ifindex, 6);
    ck_assert_int_eq(link.has_carrier, NIC_YES); /* without the attribute, by the flag */
    ck_assert(!link.has_counts);
    ck_assert_int_eq(parse_link(d.bytes, d.len, &pos, &link), PARSE_END);
}
END_TEST

START_TEST(lacp_is_lost_with_any_of_its_bits)
{
    static const struct {
        uint8_t actor;
        uint16_t partner;
        enum nic_fact wanted;
    } cases[] = {
        {0x3d, 0x3d, NIC_YES}, /* all well, slow */
        {0x3f, 0x3f, NIC_YES}, /* fast */
        {0x3f, 0x37, NIC_NO},  /* the partner is not synchronised */
        {0x3f, 0x2f, NIC_NO},  /* does not collect */
        {0x3f, 0x1f, NIC_NO},  /* does not distribute */
        {0x47, 0x3f, NIC_NO},  /* no partner was ever heard: its defaults count */
        {0xbf, 0x3f, NIC_NO},  /* it is not heard any more */
    };
    struct datagram d = {.len = 0};
    struct nic_link link;
    size_t pos = 0;

    bond_port(&d, cases[_i].actor, cases[_i].partner);
    ck_assert_int_eq(parse_link(d.bytes, d.len, &pos, &link), PARSE_GOT);
    ck_assert_int_eq(link.takes_part_in_lacp, cases[_i].wanted);
}
END_TEST

START_TEST(what_is_cut_is_bad)
{
    struct datagram d = {.len = 0};
    struct nic_link link;
    size_t pos;

    bond_port(&d, 0x3f, 0x3f);
    for (size_t len = 1; len < d.len; len++) {
        pos = 0;
        ck_assert_int_eq(parse_link(d.bytes, len, &pos, &link), PARSE_BAD);
    }
}
END_TEST

/* At any depth: of the link, of its info, of the port's data. */
START_TEST(a_length_that_lies_is_bad)
{
    static const uint16_t types[] = {IFLA_CARRIER, IFLA_INFO_SLAVE_KIND,
                                     IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE};
    static const uint16_t lies[] = {0, 3, 200};
    static const size_t at[] = {sizeof(struct nlmsghdr) + sizeof(struct ifinfomsg) + 16, 60, 84};
    struct datagram d = {.len = 0};
    struct nic_link link;
    struct nlattr head;
    size_t pos = 0;

    bond_port(&d, 0x3f, 0x3f);
    memcpy(&head, d.bytes + at[_i / 3], sizeof head);
    ck_assert_uint_eq(head.nla_type, types[_i / 3]);
    memcpy(d.bytes + at[_i / 3], &lies[_i % 3], sizeof lies[0]);
    ck_assert_int_eq(parse_link(d.bytes, d.len, &pos, &link), PARSE_BAD);
    ck_assert_uint_eq(pos, d.len);
}
END_TEST

START_TEST(other_messages_are_passed_over)
{
    struct datagram d = {.len = 0};
    struct nlmsghdr overrun = {.nlmsg_len = sizeof overrun, .nlmsg_type = NLMSG_OVERRUN};
    struct nic_link link;
    size_t pos = 0;

    begin(&d, RTM_NEWADDR, 5, 0);
    end(&d);
    begin(&d, RTM_NEWLINK, 5, 0);
    d.bytes[d.message + sizeof(struct nlmsghdr)] = 7; /* AF_BRIDGE: about a port */
    end(&d);
    put(&d, &overrun, sizeof overrun);
    ck_assert_int_eq(parse_link(d.bytes, d.len, &pos, &link), PARSE_OTHER);
    ck_assert_int_eq(parse_link(d.bytes, d.len, &pos, &link), PARSE_OTHER);
    ck_assert_int_eq(parse_link(d.bytes, d.len, &pos, &link), PARSE_BAD);
}
END_TEST

START_TEST(a_name_that_is_none_is_not_taken)
{
    static const char *const names[] = {"a/b", "..", "a b", "0123456789abcdef", "a\x7f", ""};
    struct datagram d = {.len = 0};
    struct nic_link link;
    size_t pos = 0;

    begin(&d, RTM_NEWLINK, 5, 0);
    attr(&d, IFLA_IFNAME, names[_i], strlen(names[_i]) + 1);
    end(&d);
    ck_assert_int_eq(parse_link(d.bytes, d.len, &pos, &link), PARSE_GOT);
    ck_assert_str_eq(link.name, "");
}
END_TEST

HF_TEST_MAIN("agents/nic/parse_link", HF_CASE(a_link_is_told_with_its_counters),
             HF_CASE(two_messages_in_one_datagram),
             HF_LOOP(lacp_is_lost_with_any_of_its_bits, 0, 7), HF_CASE(what_is_cut_is_bad),
             HF_LOOP(a_length_that_lies_is_bad, 0, 9), HF_CASE(other_messages_are_passed_over),
             HF_LOOP(a_name_that_is_none_is_not_taken, 0, 6))
