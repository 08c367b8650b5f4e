#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>

#include "agents/nic/parse.h"
#include "supervisord/base/nlattr.h"

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

/* Messages begin at multiples of 4 (NLMSG_ALIGNTO). */
static size_t align(size_t len)
{
    return (len + 3) & ~(size_t)3;
}

/* These return false when a length lies. */

static bool read_slave(struct hf_nlattrs attrs, enum nic_fact *takes_part)
{
    bool has_actor = false, has_partner = false;
    uint8_t actor = 0;
    uint16_t partner = 0;
    struct hf_nlattr attr;

    while (hf_nlattrs_next(&attrs, &attr)) {
        if (attr.type == IFLA_BOND_SLAVE_AD_ACTOR_OPER_PORT_STATE)
            has_actor = hf_nlattr_get(&attr, &actor, sizeof actor);
        else if (attr.type == IFLA_BOND_SLAVE_AD_PARTNER_OPER_PORT_STATE)
            has_partner = hf_nlattr_get(&attr, &partner, sizeof partner);
    }
    if (!has_actor || !has_partner)
        *takes_part = NIC_NOT_KNOWN;
    else if ((actor & (LACP_DEFAULTED | LACP_EXPIRED)) != 0 || (partner & LACP_USED) != LACP_USED)
        *takes_part = NIC_NO;
    else
        *takes_part = NIC_YES;
    return !attrs.bad;
}

static bool read_info(struct hf_nlattrs attrs, struct nic_link *out)
{
    bool is_bond = false, is_sound = true;
    struct hf_nlattr attr;

    while (hf_nlattrs_next(&attrs, &attr)) {
        if (attr.type == IFLA_INFO_SLAVE_KIND)
            is_bond = hf_nlattr_is_text(&attr, "bond");
        else if (attr.type == IFLA_INFO_SLAVE_DATA && is_bond)
            is_sound &= read_slave(hf_nlattrs_in(&attr), &out->takes_part_in_lacp);
    }
    return is_sound && !attrs.bad;
}

static bool read_link(struct hf_nlattrs attrs, struct nic_link *out)
{
    bool has_ups = false, has_downs = false, is_sound = true;
    struct hf_nlattr attr;
    uint8_t carrier;

    while (hf_nlattrs_next(&attrs, &attr)) {
        if (attr.type == IFLA_IFNAME)
            (void)parse_name((const char *)attr.value, hf_nlattr_text_len(&attr), out->name);
        else if (attr.type == IFLA_CARRIER && hf_nlattr_get(&attr, &carrier, sizeof carrier))
            out->has_carrier = carrier != 0 ? NIC_YES : NIC_NO;
        else if (attr.type == IFLA_CARRIER_UP_COUNT)
            has_ups = hf_nlattr_get(&attr, &out->carrier_ups, sizeof out->carrier_ups);
        else if (attr.type == IFLA_CARRIER_DOWN_COUNT)
            has_downs = hf_nlattr_get(&attr, &out->carrier_downs, sizeof out->carrier_downs);
        else if (attr.type == IFLA_LINKINFO)
            is_sound &= read_info(hf_nlattrs_in(&attr), out);
    }
    out->has_counts = has_ups && has_downs;
    return is_sound && !attrs.bad;
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
    if (!read_link(hf_nlattrs_on(at + NLMSG_HDRLEN + sizeof info,
                                 head.nlmsg_len - NLMSG_HDRLEN - sizeof info),
                   out))
        return PARSE_BAD;
    if (out->has_carrier == NIC_NOT_KNOWN && out->is_admin_up)
        out->has_carrier = (info.ifi_flags & LINK_LOWER_UP) != 0 ? NIC_YES : NIC_NO;
    return PARSE_GOT;
}
