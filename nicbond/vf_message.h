/* vf_message.h - a PF's VFs in rtnetlink's bytes: what is sent to the kernel and what it answers.
 * PURE. Whatever arrives is hostile: lengths are checked before anything is read, values are
 * checked against their range, and what is not told stays unknown. Formats: linux/rtnetlink.h,
 * linux/if_link.h; the kernel's side is net/core/rtnetlink.c. */
#ifndef NICBOND_VF_MESSAGE_H
#define NICBOND_VF_MESSAGE_H

#include "nicbond/vf_config.h"
#include "supervisord/base/err.h"

enum {
    /* The largest that is sent: a link state (16 bytes) for each VF of a PF, and the heads. */
    VF_MESSAGE_MAX = 8 << 10,
    /* The largest that is received. A PF of 252 VFs overflows 64 KiB with statistics asked for
     * (seen in the field); this is the room for all of one PF without them, and more. */
    VF_ANSWER_MAX = 1 << 20,
};

/* What the kernel told of one VF. */
struct vf_told {
    bool is_told; /* false: missing from the list, which says nothing about the VF */
    bool has_mac, has_vlan;
    bool is_qinq; /* its VLAN is 802.1ad: not one that we could set */
    struct vf_config config;
};

struct vf_list {
    bool is_pf_up;  /* IFF_UP */
    uint16_t count; /* IFLA_NUM_VF: VFs there are */
    uint16_t told;  /* that the list named */
    struct vf_told vf[VF_COUNT_MAX];
};

enum vf_reply {
    VF_REPLY_OTHER = 0, /* not an answer to this question */
    VF_REPLY_LIST,
    VF_REPLY_DONE,  /* acknowledged, or refused: see its error */
    VF_REPLY_AGAIN, /* the answer is not of one moment: ask again */
    VF_REPLIES
};

/* Questions. Each returns the message's length, in buf[VF_MESSAGE_MAX]; `seq` comes back. */
size_t vf_message_get(uint8_t *buf, uint32_t seq, int32_t ifindex);
/* One field of one VF. One at a time, since the kernel's answer does not say which it refused. */
size_t vf_message_set(uint8_t *buf, uint32_t seq, int32_t ifindex, uint16_t vf, enum vf_field field,
                      const struct vf_config *wanted);
/* The link state of count VFs in this order. The kernel stops at the first that it refuses. */
size_t vf_message_link(uint8_t *buf, uint32_t seq, int32_t ifindex, const uint16_t *vfs,
                       uint16_t count, enum vf_link link);
size_t vf_message_admin(uint8_t *buf, uint32_t seq, int32_t ifindex, bool is_up);

/* One datagram of answers to `seq`. The last of what it holds decides: VF_REPLY_DONE sets *error
 * (0, or an errno), VF_REPLY_LIST fills the list. HF_EBAD: it is not netlink's, or one of
 * its lengths lies; the list, if it was touched, is empty. */
enum hf_code vf_message_parse(const uint8_t *bytes, size_t len, uint32_t seq, int32_t ifindex,
                              enum vf_reply *reply, int *error, struct vf_list *list,
                              struct hf_err *err);

#endif
