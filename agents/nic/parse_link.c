#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>

#include "agents/nic/parse.h"

/* linux/if.h cannot be included beside net/if.h. */
#define LINK_LOWER_UP (1u << 16) /* IFF_LOWER_UP */

/* Bits of an LACP port state, IEEE 802.1AX 6.4.2.3. */
enum {
    LACP_SYNCHRONISED = 0x08,
    LACP_COLLECTING = 0x10,
    LACP_DISTRIBUTING = 0x20,
    LACP_DEFAULTED = 0x40,
    LACP_EXPIRED = 0x80,
    LACP_USED = LACP_SYNCHRONISED | LACP_COLLECTING | LACP_DISTRIBUTING,
};

/* A run of attributes that is being read. */
struct attrs {
    const uint8_t *at;
    size_t len;
};

struct attr {
    uint16_t type;
    const uint8_t *at;
    size_t len;
};

/* Messages and attributes begin at multiples of 4 (NLMSG_ALIGNTO, NLA_ALIGNTO). */
static size_t align(size_t len)
{
    return (len + 3) & ~(size_t)3;
}

/* The next attribute; false at the end and where the rest is no attribute. */
static bool next_attr(struct attrs *in, struct attr *out)
{
    struct nlattr head;
    size_t step;

    if (in->len < sizeof head)
        return false;
    memcpy(&head, in->at, sizeof head);
    if (head.nla_len < sizeof head || head.nla_len > in->len)
        return false;
    out->type = (uint16_t)(head.nla_type & 0x3fffu); /* NLA_TYPE_MASK */
    out->at = in->at + sizeof head;
    out->len = head.nla_len - sizeof head;
    step = align(head.nla_len);
    step = step < in->len ? step : in->len;
    in->at += step;
    in->len -= step;
    return true;
}

static bool attr_u32(const struct attr *attr, uint32_t *out)
{
    if (attr->len != sizeof *out)
        return false;
    memcpy(out, attr->at, sizeof *out);
    return true;
}

/* The length of a text attribute, which ends at its NUL or at its end. */
static size_t attr_text(const struct attr *attr)
{
    const uint8_t *end = attr->len > 0 ? memchr(attr->at, 0, attr->len) : NULL;

    return end != NULL ? (size_t)(end - attr->at) : attr->len;
}

static enum nic_fact lacp_of(struct attrs slave)
{
    bool has_actor = false, has_partner = false;
    uint8_t actor = 0;
    uint16_t partner = 0;
    struct attr attr;

    while (next_attr(&slave, &attr)) {
        if (attr.type == IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE && attr.len == 1) {
            actor = attr.at[0];
            has_actor = true;
        } else if (attr.type == IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE && attr.len == 2) {
            memcpy(&partner, attr.at, sizeof partner);
            has_partner = true;
        }
    }
    if (!has_actor || !has_partner)
        return NIC_NOT_KNOWN;
    if ((actor & (LACP_DEFAULTED | LACP_EXPIRED)) != 0 || (partner & LACP_USED) != LACP_USED)
        return NIC_NO;
    return NIC_YES;
}

static void read_info(struct attrs info, struct nic_link *out)
{
    bool is_bond = false;
    struct attr attr;

    while (next_attr(&info, &attr)) {
        if (attr.type == IFLA_INFO_SLAVE_KIND)
            is_bond = attr_text(&attr) == 4 && memcmp(attr.at, "bond", 4) == 0;
        else if (attr.type == IFLA_INFO_SLAVE_DATA && is_bond)
            out->takes_part_in_lacp = lacp_of((struct attrs){attr.at, attr.len});
    }
}

static void read_link(const uint8_t *at, size_t len, struct nic_link *out)
{
    struct attrs attrs = {at, len};
    bool has_ups = false, has_downs = false;
    struct attr attr;

    while (next_attr(&attrs, &attr)) {
        if (attr.type == IFLA_IFNAME)
            (void)parse_name((const char *)attr.at, attr_text(&attr), out->name);
        else if (attr.type == IFLA_CARRIER && attr.len == 1)
            out->has_carrier = attr.at[0] != 0 ? NIC_YES : NIC_NO;
        else if (attr.type == IFLA_CARRIER_UP_COUNT)
            has_ups = attr_u32(&attr, &out->carrier_ups);
        else if (attr.type == IFLA_CARRIER_DOWN_COUNT)
            has_downs = attr_u32(&attr, &out->carrier_downs);
        else if (attr.type == IFLA_LINKINFO)
            read_info((struct attrs){attr.at, attr.len}, out);
    }
    out->has_counts = has_ups && has_downs;
}

enum parse_word parse_link(const uint8_t *bytes, size_t len, size_t *pos, struct nic_link *out)
{
    const uint8_t *at = bytes + *pos;
    size_t left = len - *pos, step;
    struct ifinfomsg info;
    struct nlmsghdr head;

    memset(out, 0, sizeof *out);
    if (left == 0)
        return PARSE_END;
    if (left < sizeof head)
        return PARSE_BAD;
    memcpy(&head, at, sizeof head);
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > left)
        return PARSE_BAD;
    step = align(head.nlmsg_len);
    *pos += step < left ? step : left;
    if (head.nlmsg_type == NLMSG_OVERRUN)
        return PARSE_BAD; /* messages were lost */
    if (head.nlmsg_type != RTM_NEWLINK && head.nlmsg_type != RTM_DELLINK)
        return PARSE_OTHER;
    if (head.nlmsg_len < NLMSG_HDRLEN + sizeof info)
        return PARSE_BAD;
    memcpy(&info, at + NLMSG_HDRLEN, sizeof info);
    /* A bridge tells of its ports with the same types: those messages are partial. */
    if (info.ifi_family != 0 || info.ifi_index <= 0)
        return PARSE_OTHER;
    out->is_gone = head.nlmsg_type == RTM_DELLINK;
    out->ifindex = info.ifi_index;
    out->is_admin_up = (info.ifi_flags & IFF_UP) != 0;
    read_link(at + NLMSG_HDRLEN + sizeof info, head.nlmsg_len - NLMSG_HDRLEN - sizeof info, out);
    if (out->has_carrier == NIC_NOT_KNOWN && out->is_admin_up)
        out->has_carrier = (info.ifi_flags & LINK_LOWER_UP) != 0 ? NIC_YES : NIC_NO;
    return PARSE_GOT;
}
