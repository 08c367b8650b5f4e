/* cards_read.c - bytes of the kernel and of a card into facts. */
#include "supervisord/config/cards.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "supervisord/base/nlattr.h"
#include "supervisord/base/str.h"

enum card_switch cards_switch(const char *text)
{
    if (text[0] == 'Y' || text[0] == 'y' || text[0] == '1')
        return CARD_SWITCH_ON;
    return text[0] == 'N' || text[0] == 'n' || text[0] == '0' ? CARD_SWITCH_OFF
                                                              : CARD_SWITCH_ABSENT;
}

/* ---- vital product data: PCI 3.0, appendix I ---- */

enum {
    VPD_LARGE = 0x80,     /* bit of a tag with a 16-bit length */
    VPD_READ_ONLY = 0x90, /* large tag: keywords that the vendor wrote */
    VPD_END = 0x78,       /* small tag; its low three bits are its length */
};

/* "SN" among the keywords: two letters, a length, the bytes. */
static bool find_serial(const uint8_t *keys, size_t len, char out[CARDS_TEXT_MAX + 1])
{
    for (size_t at = 0; at + 3 <= len;) {
        size_t size = keys[at + 2];

        if (at + 3 + size > len)
            return false;
        if (keys[at] == 'S' && keys[at + 1] == 'N' && size <= CARDS_TEXT_MAX) {
            memcpy(out, keys + at + 3, size);
            out[size] = '\0';
            return true;
        }
        at += 3 + size;
    }
    return false;
}

/* Blanks and zeros at its end are padding; what a terminal could trip over is not kept. */
static void clean(char text[CARDS_TEXT_MAX + 1])
{
    size_t len = strlen(text);

    while (len > 0 && text[len - 1] == ' ')
        text[--len] = '\0';
    for (size_t i = 0; i < len; i++)
        if (text[i] < 0x20 || text[i] >= 0x7f)
            text[i] = '?';
}

bool cards_serial(const uint8_t *vpd, size_t len, char out[CARDS_TEXT_MAX + 1])
{
    out[0] = '\0';
    for (size_t at = 0; at < len;) {
        bool is_large = (vpd[at] & VPD_LARGE) != 0;
        size_t head = is_large ? 3 : 1, size;

        if (at + head > len || (!is_large && (vpd[at] & ~7u) == VPD_END))
            return false;
        size = is_large ? (size_t)vpd[at + 1] | (size_t)vpd[at + 2] << 8 : vpd[at] & 7u;
        if (at + head + size > len)
            return false;
        if (vpd[at] == VPD_READ_ONLY && find_serial(vpd + at + head, size, out)) {
            clean(out);
            return out[0] != '\0';
        }
        at += head + size;
    }
    return false;
}

/* ---- link states of VFs ---- */

static bool take_vf(const struct hf_nlattr *vf, struct card_facts *card)
{
    struct hf_nlattrs list = hf_nlattrs_in(vf);
    struct hf_nlattr attr;

    while (hf_nlattrs_next(&list, &attr)) {
        struct ifla_vf_link_state state;

        if (attr.type != IFLA_VF_LINK_STATE || !hf_nlattr_get(&attr, &state, sizeof state))
            continue;
        if (state.link_state != IFLA_VF_LINK_STATE_ENABLE || card->vfs_enabled >= CARDS_VFS_MAX)
            continue;
        if (card->vfs_enabled == 0)
            card->enabled = (uint16_t)(state.vf & 0xffff);
        card->vfs_enabled++;
    }
    return !list.bad;
}

static bool take_vfs(const struct hf_nlattr *vfs, struct card_facts *card)
{
    struct hf_nlattrs list = hf_nlattrs_in(vfs);
    struct hf_nlattr attr;

    while (hf_nlattrs_next(&list, &attr))
        if (attr.type == IFLA_VF_INFO && !take_vf(&attr, card))
            return false;
    return !list.bad;
}

bool cards_links(const uint8_t *answer, size_t len, struct card_facts *card)
{
    const size_t head_len =
        NLMSG_ALIGN(sizeof(struct nlmsghdr)) + NLMSG_ALIGN(sizeof(struct ifinfomsg));
    struct nlmsghdr head;
    struct hf_nlattrs list;
    struct hf_nlattr attr;

    if (len < head_len)
        return false;
    memcpy(&head, answer, sizeof head);
    if (head.nlmsg_type != RTM_NEWLINK || head.nlmsg_len < head_len || head.nlmsg_len > len)
        return false;
    list = hf_nlattrs_on(answer + head_len, head.nlmsg_len - head_len);
    while (hf_nlattrs_next(&list, &attr))
        if (attr.type == IFLA_VFINFO_LIST && !take_vfs(&attr, card))
            return false;
    return !list.bad;
}
