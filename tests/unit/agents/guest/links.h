/* links.h - link messages as the kernel writes them (rtnl_fill_ifinfo, bond_fill_info and
 * bond_fill_slave_info of Linux 6.1), in its order, with some attributes around that nobody reads.
 */
#ifndef TESTS_UNIT_AGENTS_GUEST_LINKS_H
#define TESTS_UNIT_AGENTS_GUEST_LINKS_H

#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "supervisord/wire/guest_frame.h"

struct link_bytes {
    _Alignas(8) uint8_t at[2048];
    size_t len;
};

struct link_words {
    uint16_t type; /* RTM_NEWLINK */
    uint8_t family;
    uint32_t index;
    const char *name;
    hf_mac mac, perm_mac; /* perm_mac zeros: the kernel does not tell */
    bool is_without_carrier;
    uint32_t event, master;
    /* of a bond */
    bool is_bond;
    uint8_t mode;
    uint32_t active; /* 0: none, which the kernel says by leaving it out */
    /* of a slave */
    bool is_slave;
    hf_mac bond_perm_mac;
    uint8_t state, mii;
    uint32_t failures;
};

static inline void link_add(struct link_bytes *b, const void *bytes, size_t len)
{
    memcpy(b->at + b->len, bytes, len);
    b->len += (len + 3) & ~(size_t)3;
}

static inline size_t link_attr(struct link_bytes *b, uint16_t type, const void *value, size_t len)
{
    const struct nlattr head = {.nla_len = (uint16_t)(sizeof head + len), .nla_type = type};
    size_t at = b->len;

    link_add(b, &head, sizeof head);
    if (len > 0)
        link_add(b, value, len);
    return at;
}

static inline void link_text(struct link_bytes *b, uint16_t type, const char *text)
{
    (void)link_attr(b, type, text, strlen(text) + 1);
}
static inline void link_u8(struct link_bytes *b, uint16_t type, uint8_t v)
{
    (void)link_attr(b, type, &v, sizeof v);
}
static inline void link_u16(struct link_bytes *b, uint16_t type, uint16_t v)
{
    (void)link_attr(b, type, &v, sizeof v);
}
static inline void link_u32(struct link_bytes *b, uint16_t type, uint32_t v)
{
    (void)link_attr(b, type, &v, sizeof v);
}
static inline void link_close(struct link_bytes *b, size_t at)
{
    uint16_t len = (uint16_t)(b->len - at);

    memcpy(b->at + at, &len, sizeof len);
}

static inline void link_bond(struct link_bytes *b, const struct link_words *w)
{
    size_t info = link_attr(b, IFLA_LINKINFO, NULL, 0), data;

    link_text(b, IFLA_INFO_KIND, "bond");
    data = link_attr(b, IFLA_INFO_DATA, NULL, 0);
    link_u8(b, IFLA_BOND_MODE, w->mode);
    if (w->active != 0)
        link_u32(b, IFLA_BOND_ACTIVE_SLAVE, w->active);
    link_u32(b, IFLA_BOND_MIIMON, 20);
    link_u32(b, IFLA_BOND_UPDELAY, 3000);
    link_u32(b, IFLA_BOND_DOWNDELAY, 0);
    link_u32(b, IFLA_BOND_PEER_NOTIF_DELAY, 20);
    link_u8(b, IFLA_BOND_USE_CARRIER, 1);
    link_u32(b, IFLA_BOND_ARP_INTERVAL, 0);
    link_u32(b, IFLA_BOND_ARP_VALIDATE, 0);
    link_u32(b, IFLA_BOND_ARP_ALL_TARGETS, 0);
    link_u8(b, IFLA_BOND_PRIMARY_RESELECT, 2);
    link_u8(b, IFLA_BOND_FAIL_OVER_MAC, 1);
    link_u32(b, IFLA_BOND_RESEND_IGMP, 5);
    link_u8(b, IFLA_BOND_NUM_PEER_NOTIF, 5);
    link_u8(b, IFLA_BOND_MISSED_MAX, 2);
    link_close(b, data);
    link_close(b, info);
}

static inline void link_slave(struct link_bytes *b, const struct link_words *w)
{
    size_t info = link_attr(b, IFLA_LINKINFO, NULL, 0), data;

    link_text(b, IFLA_INFO_SLAVE_KIND, "bond");
    data = link_attr(b, IFLA_INFO_SLAVE_DATA, NULL, 0);
    link_u8(b, IFLA_BOND_SLAVE_STATE, w->state);
    link_u8(b, IFLA_BOND_SLAVE_MII_STATUS, w->mii);
    link_u32(b, IFLA_BOND_SLAVE_LINK_FAILURE_COUNT, w->failures);
    (void)link_attr(b, IFLA_BOND_SLAVE_PERM_HWADDR, w->bond_perm_mac.byte, 6);
    link_u16(b, IFLA_BOND_SLAVE_QUEUE_ID, 0);
    link_u32(b, IFLA_BOND_SLAVE_PRIO, 0);
    link_close(b, data);
    link_close(b, info);
}

static inline void link_write(struct link_bytes *b, const struct link_words *w)
{
    struct nlmsghdr head = {.nlmsg_type = w->type != 0 ? w->type : (uint16_t)RTM_NEWLINK};
    struct ifinfomsg info = {.ifi_family = w->family, .ifi_index = (int)w->index, .ifi_type = 1};

    info.ifi_flags = IFF_UP | (w->is_without_carrier ? 0 : IFF_LOWER_UP);
    memset(b, 0, sizeof *b);
    link_add(b, &head, sizeof head);
    link_add(b, &info, sizeof info);
    link_text(b, IFLA_IFNAME, w->name);
    link_u32(b, IFLA_TXQLEN, 1000);
    link_u8(b, IFLA_OPERSTATE, 6);
    link_u32(b, IFLA_MTU, 1500);
    if (w->master != 0)
        link_u32(b, IFLA_MASTER, w->master);
    link_u8(b, IFLA_CARRIER, !w->is_without_carrier);
    link_text(b, IFLA_QDISC, "noqueue");
    if (w->event != 0)
        link_u32(b, IFLA_EVENT, w->event);
    (void)link_attr(b, IFLA_ADDRESS, w->mac.byte, 6);
    (void)link_attr(b, IFLA_BROADCAST, "\xff\xff\xff\xff\xff\xff", 6);
    if (!hf_mac_is_none(w->perm_mac))
        (void)link_attr(b, IFLA_PERM_ADDRESS, w->perm_mac.byte, 6);
    if (w->is_bond)
        link_bond(b, w);
    if (w->is_slave)
        link_slave(b, w);
    (void)link_attr(b, IFLA_AF_SPEC | NLA_F_NESTED, NULL, 0);
    head.nlmsg_len = (uint32_t)b->len;
    memcpy(b->at, &head, sizeof head);
}

#endif
