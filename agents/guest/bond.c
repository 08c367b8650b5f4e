#include "agents/guest/bond.h"

#include <linux/if.h>
#include <linux/if_bonding.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "supervisord/base/nlattr.h"

_Static_assert(BOND_LINK_UP == (int)HF_GUEST_LINK_UP, "linux/if_bonding.h");
_Static_assert(BOND_LINK_FAIL == (int)HF_GUEST_LINK_FAIL, "linux/if_bonding.h");
_Static_assert(BOND_LINK_DOWN == (int)HF_GUEST_LINK_DOWN, "linux/if_bonding.h");
_Static_assert(BOND_LINK_BACK == (int)HF_GUEST_LINK_BACK, "linux/if_bonding.h");
_Static_assert(IFNAMSIZ == HF_IFNAME_MAX + 1, "linux/if.h");

/* ---- attributes ---- */

static bool get_u8(const struct hf_nlattr *attr, uint8_t *out)
{
    return hf_nlattr_get(attr, out, sizeof *out);
}

static bool get_u32(const struct hf_nlattr *attr, uint32_t *out)
{
    return hf_nlattr_get(attr, out, sizeof *out);
}

/* Other hardware addresses (InfiniBand has 20 bytes) name no leg of ours. */
static void get_mac(const struct hf_nlattr *attr, hf_mac *out)
{
    if (attr->len == sizeof out->byte)
        memcpy(out->byte, attr->value, sizeof out->byte);
}

static bool get_text(const struct hf_nlattr *attr, char *out, size_t cap)
{
    size_t len = hf_nlattr_text_len(attr);

    if (len >= cap)
        return false;
    memcpy(out, attr->value, len);
    out[len] = '\0';
    return true;
}

/* ---- one link ---- */

struct found {
    struct bond_link link;
    bool is_bond, is_slave;
    bool has_carrier_told;
    hf_mac bond_perm_mac;
    uint8_t event;
};

static bool read_bond(struct hf_nlattrs attrs, struct bond_link *link)
{
    struct hf_nlattr attr;
    bool sound = true;

    while (hf_nlattrs_next(&attrs, &attr)) {
        if (attr.type == IFLA_BOND_MODE)
            sound &= get_u8(&attr, &link->mode);
        else if (attr.type == IFLA_BOND_ACTIVE_SLAVE)
            sound &= get_u32(&attr, &link->active);
        else if (attr.type == IFLA_BOND_MIIMON)
            sound &= get_u32(&attr, &link->miimon_ms);
        else if (attr.type == IFLA_BOND_ARP_INTERVAL)
            sound &= get_u32(&attr, &link->arp_interval_ms);
        else if (attr.type == IFLA_BOND_PRIMARY_RESELECT)
            sound &= get_u8(&attr, &link->primary_reselect);
        else if (attr.type == IFLA_BOND_FAIL_OVER_MAC)
            sound &= get_u8(&attr, &link->fail_over_mac);
    }
    return sound && !attrs.bad;
}

static bool read_slave(struct hf_nlattrs attrs, struct found *found)
{
    struct bond_link *link = &found->link;
    struct hf_nlattr attr;
    bool sound = true;

    while (hf_nlattrs_next(&attrs, &attr)) {
        uint8_t value = 0;

        if (attr.type == IFLA_BOND_SLAVE_STATE) {
            sound &= get_u8(&attr, &value);
            link->is_state_active = value == BOND_STATE_ACTIVE;
        } else if (attr.type == IFLA_BOND_SLAVE_MII_STATUS) {
            sound &= get_u8(&attr, &value);
            link->link = value < HF_GUEST_LINKS ? (enum hf_guest_link)value : HF_GUEST_LINK_DOWN;
        } else if (attr.type == IFLA_BOND_SLAVE_LINK_FAILURE_COUNT) {
            sound &= get_u32(&attr, &link->failures);
        } else if (attr.type == IFLA_BOND_SLAVE_PERM_HWADDR) {
            get_mac(&attr, &found->bond_perm_mac);
        }
    }
    return sound && !attrs.bad;
}

/* The kernel writes the kinds before their data. */
static bool read_linkinfo(struct hf_nlattrs attrs, struct found *found)
{
    struct hf_nlattr attr;
    bool sound = true;

    while (hf_nlattrs_next(&attrs, &attr)) {
        if (attr.type == IFLA_INFO_KIND)
            found->is_bond = hf_nlattr_is_text(&attr, "bond");
        else if (attr.type == IFLA_INFO_SLAVE_KIND)
            found->is_slave = hf_nlattr_is_text(&attr, "bond");
        else if (attr.type == IFLA_INFO_DATA && found->is_bond)
            sound &= read_bond(hf_nlattrs_in(&attr), &found->link);
        else if (attr.type == IFLA_INFO_SLAVE_DATA && found->is_slave)
            sound &= read_slave(hf_nlattrs_in(&attr), found);
    }
    return sound && !attrs.bad;
}

static bool read_attr(const struct hf_nlattr *attr, struct found *found)
{
    struct bond_link *link = &found->link;
    uint32_t event = 0;
    uint8_t carrier = 0;

    switch (attr->type) {
    case IFLA_IFNAME:
        return get_text(attr, link->name, sizeof link->name);
    case IFLA_ADDRESS:
        get_mac(attr, &link->mac);
        return true;
    case IFLA_PERM_ADDRESS:
        get_mac(attr, &link->perm_mac);
        return true;
    case IFLA_MASTER:
        return get_u32(attr, &link->master);
    case IFLA_CARRIER:
        found->has_carrier_told = get_u8(attr, &carrier);
        link->has_carrier = carrier != 0;
        return found->has_carrier_told;
    case IFLA_EVENT:
        if (!get_u32(attr, &event))
            return false;
        found->event = event <= UINT8_MAX ? (uint8_t)event : 0;
        return true;
    case IFLA_LINKINFO:
        return read_linkinfo(hf_nlattrs_in(attr), found);
    default: /* of some sixty, and every kernel has more */
        return true;
    }
}

static bool read_link(const struct ifinfomsg *info, struct hf_nlattrs attrs, struct found *found)
{
    struct hf_nlattr attr;

    memset(found, 0, sizeof *found);
    found->link = (struct bond_link){.index = (uint32_t)info->ifi_index,
                                     .mode = HF_GUEST_NONE,
                                     .primary_reselect = HF_GUEST_NONE,
                                     .fail_over_mac = HF_GUEST_NONE};
    while (hf_nlattrs_next(&attrs, &attr))
        if (!read_attr(&attr, found))
            return false;
    if (attrs.bad || found->link.name[0] == '\0')
        return false;
    if (!found->has_carrier_told)
        found->link.has_carrier = (info->ifi_flags & IFF_LOWER_UP) != 0;
    /* The device's own permanent address; an older kernel tells only what the bond remembers. */
    if (hf_mac_is_none(found->link.perm_mac))
        found->link.perm_mac = found->bond_perm_mac;
    /* A bond can be no slave of a bond (bond_enslave() refuses it). */
    if (found->is_bond)
        found->link.role = BOND_ROLE_BOND;
    else if (found->is_slave && found->link.master != 0)
        found->link.role = BOND_ROLE_SLAVE;
    return true;
}

/* ---- the table: sorted by index ---- */

void bond_clear(struct bond_table *table)
{
    memset(table, 0, sizeof *table);
}

/* Its place, or where it would be. */
static uint16_t place_of(const struct bond_table *table, uint32_t index)
{
    uint16_t i = 0;

    while (i < table->count && table->link[i].index < index)
        i++;
    return i;
}

static bool is_at(const struct bond_table *table, uint16_t place, uint32_t index)
{
    return place < table->count && table->link[place].index == index;
}

static bool forget(struct bond_table *table, uint32_t index)
{
    uint16_t i = place_of(table, index);

    if (!is_at(table, i, index))
        return false;
    table->count--;
    memmove(&table->link[i], &table->link[i + 1], (table->count - i) * sizeof table->link[0]);
    return true;
}

static void keep(struct bond_table *table, const struct bond_link *link)
{
    uint16_t i = place_of(table, link->index);

    if (!is_at(table, i, link->index)) {
        if (table->count == BOND_LINKS_MAX) {
            table->no_room++;
            return;
        }
        memmove(&table->link[i + 1], &table->link[i], (table->count - i) * sizeof table->link[0]);
        table->count++;
    }
    table->link[i] = *link;
}

bool bond_learn(struct bond_table *table, const uint8_t *message, size_t len,
                struct bond_heard *heard)
{
    struct nlmsghdr head;
    struct ifinfomsg info;
    struct found found;
    struct hf_nlattrs attrs;

    memset(heard, 0, sizeof *heard);
    if (len < NLMSG_HDRLEN + sizeof info)
        return false;
    memcpy(&head, message, sizeof head);
    memcpy(&info, message + NLMSG_HDRLEN, sizeof info);
    if (head.nlmsg_len != len || info.ifi_index <= 0 ||
        (head.nlmsg_type != RTM_NEWLINK && head.nlmsg_type != RTM_DELLINK))
        return false;
    /* A bridge tells about its ports in the same words; they are not whole. */
    if (info.ifi_family != AF_UNSPEC)
        return true;
    attrs = hf_nlattrs_on(message + NLMSG_HDRLEN + sizeof info, len - NLMSG_HDRLEN - sizeof info);
    if (!read_link(&info, attrs, &found))
        return false;
    heard->index = found.link.index;
    heard->event = found.event;
    heard->is_bond = found.link.role == BOND_ROLE_BOND;
    memcpy(heard->name, found.link.name, sizeof heard->name);
    if (head.nlmsg_type == RTM_NEWLINK && found.link.role != 0) {
        keep(table, &found.link);
        heard->is_ours = true;
    } else {
        heard->is_ours = forget(table, found.link.index);
    }
    return true;
}

/* ---- the picture ---- */

static const struct bond_link *pick(const struct bond_table *table, const char *wanted)
{
    const struct bond_link *first = NULL;

    for (uint16_t i = 0; i < table->count; i++) {
        const struct bond_link *link = &table->link[i];

        if (link->role != BOND_ROLE_BOND)
            continue;
        if (wanted[0] != '\0') {
            if (strcmp(link->name, wanted) == 0)
                return link;
            continue;
        }
        if (link->mode == BOND_MODE_ACTIVEBACKUP)
            return link;
        if (first == NULL)
            first = link;
    }
    return first;
}

static void add_slave(struct hf_guest_bond *bond, const struct bond_link *from, uint32_t active)
{
    struct hf_guest_slave *slave = &bond->slave[bond->slaves_count];

    memcpy(slave->name, from->name, sizeof slave->name);
    slave->index = from->index;
    slave->mac = from->mac;
    slave->perm_mac = from->perm_mac;
    slave->link = from->link;
    slave->has_carrier = from->has_carrier;
    slave->failures = from->failures;
    /* The bond's own word is the newest: slaves are told of later, one by one. */
    slave->is_active =
        bond->mode == BOND_MODE_ACTIVEBACKUP ? from->index == active : from->is_state_active;
    if (from->index == active)
        bond->active = bond->slaves_count;
    bond->slaves_count++;
}

void bond_view(const struct bond_table *table, const char *wanted, struct hf_guest_bond *bond)
{
    const struct bond_link *master = pick(table, wanted);

    memset(bond, 0, sizeof *bond);
    bond->active = HF_GUEST_NONE;
    bond->mode = HF_GUEST_NONE;
    bond->primary_reselect = HF_GUEST_NONE;
    bond->fail_over_mac = HF_GUEST_NONE;
    if (master == NULL)
        return;
    memcpy(bond->name, master->name, sizeof bond->name);
    bond->index = master->index;
    bond->mode = master->mode;
    bond->primary_reselect = master->primary_reselect;
    bond->fail_over_mac = master->fail_over_mac;
    bond->miimon_ms = master->miimon_ms;
    bond->arp_interval_ms = master->arp_interval_ms;
    bond->has_carrier = master->has_carrier;
    for (uint16_t i = 0; i < table->count && bond->slaves_count < HF_GUEST_SLAVES_MAX; i++)
        if (table->link[i].role == BOND_ROLE_SLAVE && table->link[i].master == master->index)
            add_slave(bond, &table->link[i], master->active);
}

static bool is_slave_equal(const struct hf_guest_slave *a, const struct hf_guest_slave *b)
{
    return strcmp(a->name, b->name) == 0 && a->index == b->index &&
           hf_mac_is_equal(a->mac, b->mac) && hf_mac_is_equal(a->perm_mac, b->perm_mac) &&
           a->link == b->link && a->is_active == b->is_active && a->has_carrier == b->has_carrier &&
           a->failures == b->failures;
}

bool bond_is_equal(const struct hf_guest_bond *a, const struct hf_guest_bond *b)
{
    if (strcmp(a->name, b->name) != 0 || a->index != b->index || a->mode != b->mode ||
        a->primary_reselect != b->primary_reselect || a->fail_over_mac != b->fail_over_mac ||
        a->miimon_ms != b->miimon_ms || a->arp_interval_ms != b->arp_interval_ms ||
        a->has_carrier != b->has_carrier || a->active != b->active ||
        a->slaves_count != b->slaves_count)
        return false;
    for (uint8_t i = 0; i < a->slaves_count; i++)
        if (!is_slave_equal(&a->slave[i], &b->slave[i]))
            return false;
    return true;
}
