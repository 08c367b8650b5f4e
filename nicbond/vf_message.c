#include "nicbond/vf_message.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/nlattr.h"

_Static_assert((int)VF_LINK_AUTO == (int)IFLA_VF_LINK_STATE_AUTO &&
                   (int)VF_LINK_ENABLE == (int)IFLA_VF_LINK_STATE_ENABLE &&
                   (int)VF_LINK_DISABLE == (int)IFLA_VF_LINK_STATE_DISABLE,
               "our link states have the kernel's numbers");

/* 802.1ad, in network order whatever else is not; linux/if_ether.h */
static const uint8_t ethertype_qinq[2] = {0x88, 0xa8};

/* ---- writing: netlink is in the host's byte order, fields aligned to four ---- */

struct message {
    uint8_t *at;
    size_t len;
};

static struct message begin(uint8_t *buf, uint16_t type, uint16_t flags, uint32_t seq,
                            const struct ifinfomsg *info)
{
    struct nlmsghdr head = {
        .nlmsg_type = type, .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags), .nlmsg_seq = seq};

    memset(buf, 0, VF_MESSAGE_MAX);
    memcpy(buf, &head, sizeof head);
    memcpy(buf + NLMSG_HDRLEN, info, sizeof *info);
    return (struct message){buf, NLMSG_HDRLEN + NLMSG_ALIGN(sizeof *info)};
}

static void put(struct message *m, uint16_t type, const void *value, size_t len)
{
    struct rtattr attr = {.rta_len = (uint16_t)RTA_LENGTH(len), .rta_type = type};

    HF_ASSERT(m->len + RTA_SPACE(len) <= VF_MESSAGE_MAX);
    memcpy(m->at + m->len, &attr, sizeof attr);
    memcpy(m->at + m->len + RTA_LENGTH(0), value, len);
    m->len += RTA_SPACE(len);
}

static size_t open_nest(struct message *m, uint16_t type)
{
    size_t at = m->len;

    put(m, type, "", 0);
    return at;
}

static void close_nest(struct message *m, size_t at)
{
    uint16_t len = (uint16_t)(m->len - at);

    memcpy(m->at + at, &len, sizeof len); /* rta_len is first */
}

static size_t end(struct message *m)
{
    uint32_t len = (uint32_t)m->len;

    memcpy(m->at, &len, sizeof len); /* nlmsg_len is first */
    return m->len;
}

size_t vf_message_get(uint8_t *buf, uint32_t seq, int32_t ifindex)
{
    struct ifinfomsg info = {.ifi_family = AF_UNSPEC, .ifi_index = ifindex};
    /* Without statistics: they are what makes the list too long for its 16-bit length, and some
     * drivers ask the card for them. */
    uint32_t mask = RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS;
    struct message m = begin(buf, RTM_GETLINK, 0, seq, &info);

    put(&m, IFLA_EXT_MASK, &mask, sizeof mask);
    return end(&m);
}

static void put_field(struct message *m, uint16_t vf, enum vf_field field,
                      const struct vf_config *wanted)
{
    struct ifla_vf_mac mac = {.vf = vf};
    struct ifla_vf_vlan vlan = {.vf = vf, .vlan = wanted->vlan, .qos = wanted->qos};
    struct ifla_vf_spoofchk spoofchk = {.vf = vf, .setting = wanted->spoofchk == VF_ON};
    struct ifla_vf_trust trust = {.vf = vf, .setting = wanted->trust == VF_ON};
    struct ifla_vf_link_state link = {.vf = vf, .link_state = (uint32_t)wanted->link};

    switch (field) {
    case VF_FIELD_MAC:
        memcpy(mac.mac, wanted->mac, VF_MAC_BYTES);
        put(m, IFLA_VF_MAC, &mac, sizeof mac);
        return;
    case VF_FIELD_VLAN:
        put(m, IFLA_VF_VLAN, &vlan, sizeof vlan);
        return;
    case VF_FIELD_SPOOFCHK:
        put(m, IFLA_VF_SPOOFCHK, &spoofchk, sizeof spoofchk);
        return;
    case VF_FIELD_TRUST:
        put(m, IFLA_VF_TRUST, &trust, sizeof trust);
        return;
    case VF_FIELD_LINK:
        put(m, IFLA_VF_LINK_STATE, &link, sizeof link);
        return;
    case VF_FIELDS:
        break;
    }
    HF_NEVER("a field that does not exist");
}

size_t vf_message_set(uint8_t *buf, uint32_t seq, int32_t ifindex, uint16_t vf, enum vf_field field,
                      const struct vf_config *wanted)
{
    struct ifinfomsg info = {.ifi_family = AF_UNSPEC, .ifi_index = ifindex};
    struct message m = begin(buf, RTM_SETLINK, NLM_F_ACK, seq, &info);
    size_t list = open_nest(&m, IFLA_VFINFO_LIST), one = open_nest(&m, IFLA_VF_INFO);

    put_field(&m, vf, field, wanted);
    close_nest(&m, one);
    close_nest(&m, list);
    return end(&m);
}

size_t vf_message_link(uint8_t *buf, uint32_t seq, int32_t ifindex, const uint16_t *vfs,
                       uint16_t count, enum vf_link link)
{
    struct ifinfomsg info = {.ifi_family = AF_UNSPEC, .ifi_index = ifindex};
    struct message m = begin(buf, RTM_SETLINK, NLM_F_ACK, seq, &info);
    struct vf_config wanted = {.link = link};
    size_t list = open_nest(&m, IFLA_VFINFO_LIST);

    HF_ASSERT(count <= VF_COUNT_MAX);
    for (uint16_t i = 0; i < count; i++) {
        size_t one = open_nest(&m, IFLA_VF_INFO);

        put_field(&m, vfs[i], VF_FIELD_LINK, &wanted);
        close_nest(&m, one);
    }
    close_nest(&m, list);
    return end(&m);
}

size_t vf_message_admin(uint8_t *buf, uint32_t seq, int32_t ifindex, bool is_up)
{
    struct ifinfomsg info = {.ifi_family = AF_UNSPEC,
                             .ifi_index = ifindex,
                             .ifi_flags = is_up ? IFF_UP : 0,
                             .ifi_change = IFF_UP};
    struct message m = begin(buf, RTM_SETLINK, NLM_F_ACK, seq, &info);

    return end(&m);
}

/* ---- reading ---- */

struct span {
    const uint8_t *at;
    size_t len;
};

static enum vf_setting setting_of(uint32_t told)
{
    /* UINT32_MAX is the kernel's -1: the driver does not tell. */
    return told == 0 ? VF_OFF : told == 1 ? VF_ON : VF_SETTING_UNKNOWN;
}

/* All these structs begin with the VF's number. */
static void read_vlan(const struct hf_nlattr *attr, struct vf_told *vf)
{
    struct ifla_vf_vlan vlan;

    if (!hf_nlattr_get(attr, &vlan, sizeof vlan) || vlan.vlan > VF_VLAN_MAX ||
        vlan.qos > VF_QOS_MAX)
        return;
    vf->config.vlan = (uint16_t)vlan.vlan;
    vf->config.qos = (uint8_t)vlan.qos;
    vf->has_vlan = true;
}

/* This and the next ones return false when a length lies. */
static bool read_vlan_list(struct hf_nlattrs attrs, struct vf_told *vf)
{
    struct ifla_vf_vlan_info vlan;
    struct hf_nlattr attr;

    while (hf_nlattrs_next(&attrs, &attr)) {
        if (attr.type != IFLA_VF_VLAN_INFO || !hf_nlattr_get(&attr, &vlan, sizeof vlan))
            continue;
        if (vlan.vlan != 0 && memcmp(&vlan.vlan_proto, ethertype_qinq, sizeof ethertype_qinq) == 0)
            vf->is_qinq = true;
    }
    return !attrs.bad;
}

/* One VF's block. *number = VF_COUNT_MAX: it does not say whose it is. */
static bool read_vf(struct hf_nlattrs attrs, struct vf_told *vf, uint32_t *number)
{
    struct ifla_vf_spoofchk spoofchk;
    struct ifla_vf_link_state link;
    struct ifla_vf_trust trust;
    struct ifla_vf_mac mac;
    struct hf_nlattr attr;
    bool is_sound = true;

    *vf = (struct vf_told){.config = {.spoofchk = VF_SETTING_UNKNOWN,
                                      .trust = VF_SETTING_UNKNOWN,
                                      .link = VF_LINK_UNKNOWN}};
    *number = VF_COUNT_MAX;
    while (hf_nlattrs_next(&attrs, &attr)) {
        if (attr.type == IFLA_VF_MAC && hf_nlattr_get(&attr, &mac, sizeof mac)) {
            *number = mac.vf;
            memcpy(vf->config.mac, mac.mac, VF_MAC_BYTES);
            vf->has_mac = (mac.mac[0] & 1u) == 0;
        } else if (attr.type == IFLA_VF_VLAN) {
            read_vlan(&attr, vf);
        } else if (attr.type == IFLA_VF_VLAN_LIST) {
            is_sound &= read_vlan_list(hf_nlattrs_in(&attr), vf);
        } else if (attr.type == IFLA_VF_SPOOFCHK &&
                   hf_nlattr_get(&attr, &spoofchk, sizeof spoofchk)) {
            vf->config.spoofchk = setting_of(spoofchk.setting);
        } else if (attr.type == IFLA_VF_TRUST && hf_nlattr_get(&attr, &trust, sizeof trust)) {
            vf->config.trust = setting_of(trust.setting);
        } else if (attr.type == IFLA_VF_LINK_STATE && hf_nlattr_get(&attr, &link, sizeof link) &&
                   link.link_state < VF_LINK_UNKNOWN) {
            vf->config.link = (enum vf_link)link.link_state;
        }
    }
    vf->is_told = vf->has_mac && vf->has_vlan;
    return is_sound && !attrs.bad;
}

static bool read_vfs(struct hf_nlattrs attrs, struct vf_list *list)
{
    struct hf_nlattr attr;
    struct vf_told vf;
    uint32_t number;

    while (hf_nlattrs_next(&attrs, &attr)) {
        if (attr.type != IFLA_VF_INFO)
            continue;
        if (!read_vf(hf_nlattrs_in(&attr), &vf, &number))
            return false;
        if (number >= VF_COUNT_MAX || !vf.is_told || list->vf[number].is_told)
            continue;
        list->vf[number] = vf;
        list->told++;
    }
    return !attrs.bad;
}

static bool read_attrs(struct hf_nlattrs attrs, struct vf_list *list)
{
    struct hf_nlattr attr;
    uint32_t count;

    while (hf_nlattrs_next(&attrs, &attr)) {
        if (attr.type == IFLA_NUM_VF && hf_nlattr_get(&attr, &count, sizeof count))
            list->count = (uint16_t)(count < VF_COUNT_MAX ? count : VF_COUNT_MAX);
        else if (attr.type == IFLA_VFINFO_LIST && !read_vfs(hf_nlattrs_in(&attr), list))
            return false;
    }
    return !attrs.bad;
}

static enum hf_code read_link(struct span body, int32_t ifindex, struct vf_list *list,
                              enum vf_reply *reply, struct hf_err *err)
{
    const size_t head_len = NLMSG_ALIGN(sizeof(struct ifinfomsg));
    struct ifinfomsg info;

    if (body.len < head_len)
        return hf_err_set(err, HF_EBAD, "netlink: a link of %zu bytes", body.len);
    memcpy(&info, body.at, sizeof info);
    if (info.ifi_index != ifindex)
        return HF_OK; /* not the one we asked for */
    memset(list, 0, sizeof *list);
    if (!read_attrs(hf_nlattrs_on(body.at + head_len, body.len - head_len), list)) {
        memset(list, 0, sizeof *list);
        return hf_err_set(err, HF_EBAD, "netlink: a link with a length that lies");
    }
    list->is_pf_up = (info.ifi_flags & IFF_UP) != 0;
    *reply = VF_REPLY_LIST;
    return HF_OK;
}

static enum hf_code read_error(struct span body, enum vf_reply *reply, int *error,
                               struct hf_err *err)
{
    int32_t code;

    if (body.len < sizeof code)
        return hf_err_set(err, HF_EBAD, "netlink: an error of %zu bytes", body.len);
    memcpy(&code, body.at, sizeof code);
    if (code > 0 || code < -4095) /* MAX_ERRNO, linux/err.h */
        return hf_err_set(err, HF_EBAD, "netlink: error %d is none", (int)code);
    *error = -code;
    *reply = VF_REPLY_DONE;
    return HF_OK;
}

enum hf_code vf_message_parse(const uint8_t *bytes, size_t len, uint32_t seq, int32_t ifindex,
                              enum vf_reply *reply, int *error, struct vf_list *list,
                              struct hf_err *err)
{
    struct span rest = {bytes, len};
    struct nlmsghdr head;
    enum hf_code code = HF_OK;

    *reply = VF_REPLY_OTHER;
    *error = 0;
    while (code == HF_OK && rest.len > 0) {
        struct span body;
        size_t whole;

        if (rest.len < sizeof head)
            return hf_err_set(err, HF_EBAD, "netlink: %zu bytes are no message", rest.len);
        memcpy(&head, rest.at, sizeof head);
        if (head.nlmsg_len < NLMSG_HDRLEN || head.nlmsg_len > rest.len)
            return hf_err_set(err, HF_EBAD, "netlink: a message of %u bytes in %zu",
                              (unsigned)head.nlmsg_len, rest.len);
        body = (struct span){rest.at + NLMSG_HDRLEN, head.nlmsg_len - NLMSG_HDRLEN};
        whole = NLMSG_ALIGN((size_t)head.nlmsg_len);
        whole = whole < rest.len ? whole : rest.len;
        rest = (struct span){rest.at + whole, rest.len - whole};
        if (head.nlmsg_seq != seq)
            continue; /* of an earlier question that was given up on */
        if ((head.nlmsg_flags & NLM_F_DUMP_INTR) != 0)
            *reply = VF_REPLY_AGAIN;
        else if (head.nlmsg_type == NLMSG_ERROR)
            code = read_error(body, reply, error, err);
        else if (head.nlmsg_type == RTM_NEWLINK)
            code = read_link(body, ifindex, list, reply, err);
    }
    return code;
}
