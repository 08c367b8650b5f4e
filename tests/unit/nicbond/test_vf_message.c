#include "nicbond/vf_message.h"

#include "tests/unit/check.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>

static struct hf_err err;
static uint8_t buf[VF_MESSAGE_MAX];
static struct vf_list list;

/* Bytes as on a little-endian machine, which is what the product is made for. */
START_TEST(the_question_for_one_pf)
{
    /* RTM_GETLINK, interface 7, IFLA_EXT_MASK = VF | SKIP_STATS: as iproute2 sends for
     * `ip link show dev`, which asks for statistics too. */
    static const uint8_t golden[] = {40, 0, 0, 0, 18, 0, 1,  0, 0x44, 0x33, 0x22, 0x11, 0, 0,
                                     0,  0, 0, 0, 0,  0, 7,  0, 0,    0,    0,    0,    0, 0,
                                     0,  0, 0, 0, 8,  0, 29, 0, 9,    0,    0,    0};

    ck_assert_uint_eq(vf_message_get(buf, 0x11223344, 7), sizeof golden);
    ck_assert_mem_eq(buf, golden, sizeof golden);
}
END_TEST

START_TEST(a_mac_for_one_vf)
{
    static const struct vf_config wanted = {.mac = {2, 0, 0, 0, 0, 0x17}};
    static const uint8_t golden[] = {80,
                                     0,
                                     0,
                                     0,
                                     19,
                                     0,
                                     5,
                                     0,
                                     1,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     7,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     /* IFLA_VFINFO_LIST */ 48,
                                     0,
                                     22,
                                     0,
                                     /* IFLA_VF_INFO */ 44,
                                     0,
                                     1,
                                     0,
                                     /* IFLA_VF_MAC */ 40,
                                     0,
                                     1,
                                     0,
                                     3,
                                     0,
                                     0,
                                     0,
                                     2,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0x17};

    ck_assert_uint_eq(vf_message_set(buf, 1, 7, 3, VF_FIELD_MAC, &wanted), 80);
    ck_assert_mem_eq(buf, golden, sizeof golden);
}
END_TEST

START_TEST(a_vlan_and_the_settings_for_one_vf)
{
    static const struct vf_config wanted = {
        .vlan = 100, .qos = 3, .spoofchk = VF_ON, .trust = VF_OFF, .link = VF_LINK_DISABLE};
    static const uint8_t vlan[] = {16, 0, 2, 0, 9, 0, 0, 0, 100, 0, 0, 0, 3, 0, 0, 0};
    static const uint8_t spoofchk[] = {12, 0, 4, 0, 9, 0, 0, 0, 1, 0, 0, 0};
    static const uint8_t link[] = {12, 0, 5, 0, 9, 0, 0, 0, 2, 0, 0, 0};
    static const uint8_t trust[] = {12, 0, 9, 0, 9, 0, 0, 0, 0, 0, 0, 0};

    ck_assert_uint_eq(vf_message_set(buf, 1, 7, 9, VF_FIELD_VLAN, &wanted), 40 + sizeof vlan);
    ck_assert_mem_eq(buf + 40, vlan, sizeof vlan);
    ck_assert_uint_eq(vf_message_set(buf, 1, 7, 9, VF_FIELD_SPOOFCHK, &wanted), 52);
    ck_assert_mem_eq(buf + 40, spoofchk, sizeof spoofchk);
    ck_assert_uint_eq(vf_message_set(buf, 1, 7, 9, VF_FIELD_TRUST, &wanted), 52);
    ck_assert_mem_eq(buf + 40, trust, sizeof trust);
    ck_assert_uint_eq(vf_message_set(buf, 1, 7, 9, VF_FIELD_LINK, &wanted), 52);
    ck_assert_mem_eq(buf + 40, link, sizeof link);
}
END_TEST

START_TEST(the_links_of_many_vfs_in_one_message)
{
    static const uint16_t vfs[] = {4, 0};
    static const uint8_t golden[] = {36, 0, 22, 0, 16, 0, 1,  0, 12, 0, 5, 0, 4, 0, 0, 0, 2, 0,
                                     0,  0, 16, 0, 1,  0, 12, 0, 5,  0, 0, 0, 0, 0, 2, 0, 0, 0};
    uint16_t all[VF_COUNT_MAX];

    ck_assert_uint_eq(vf_message_link(buf, 1, 7, vfs, 2, VF_LINK_DISABLE), 32 + sizeof golden);
    ck_assert_mem_eq(buf + 32, golden, sizeof golden);
    for (uint16_t n = 0; n < VF_COUNT_MAX; n++)
        all[n] = n;
    ck_assert_uint_eq(vf_message_link(buf, 1, 7, all, VF_COUNT_MAX, VF_LINK_AUTO),
                      32 + 4 + 16 * VF_COUNT_MAX);
}
END_TEST

START_TEST(a_pf_down_and_up)
{
    static const uint8_t golden[] = {32, 0, 0, 0, 19, 0, 5, 0, 1, 0, 0, 0, 0, 0, 0, 0,
                                     0,  0, 0, 0, 7,  0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};

    ck_assert_uint_eq(vf_message_admin(buf, 1, 7, true), sizeof golden);
    ck_assert_mem_eq(buf, golden, sizeof golden);
    ck_assert_uint_eq(vf_message_admin(buf, 1, 7, false), sizeof golden);
    ck_assert_uint_eq(buf[24], 0);
    ck_assert_uint_eq(buf[28], 1);
}
END_TEST

/* ---- answers ---- */

struct answer {
    uint8_t at[4096];
    size_t len;
};

static void add(struct answer *a, const void *bytes, size_t len)
{
    memcpy(a->at + a->len, bytes, len);
    memset(a->at + a->len + len, 0, 4);
    a->len += (len + 3) & ~(size_t)3;
}

static void add_attr(struct answer *a, uint16_t type, const void *value, size_t len)
{
    struct rtattr head = {.rta_len = (uint16_t)(4 + len), .rta_type = type};

    add(a, &head, sizeof head);
    add(a, value, len);
}

static size_t open_attr(struct answer *a, uint16_t type)
{
    size_t at = a->len;

    add_attr(a, type, "", 0);
    return at;
}

static void close_attr(struct answer *a, size_t at)
{
    uint16_t len = (uint16_t)(a->len - at);

    memcpy(a->at + at, &len, sizeof len);
}

static void begin_link(struct answer *a, uint32_t seq, int ifindex, uint32_t vfs)
{
    struct nlmsghdr head = {.nlmsg_type = RTM_NEWLINK, .nlmsg_seq = seq};
    struct ifinfomsg info = {.ifi_index = ifindex, .ifi_flags = IFF_UP};

    a->len = 0;
    add(a, &head, sizeof head);
    add(a, &info, sizeof info);
    add_attr(a, IFLA_IFNAME, "card0", 6);
    add_attr(a, IFLA_NUM_VF, &vfs, sizeof vfs);
}

static void end_message(struct answer *a)
{
    uint32_t len = (uint32_t)a->len;

    memcpy(a->at, &len, sizeof len);
}

static void add_vf(struct answer *a, uint32_t vf, const struct vf_config *c, bool with_trust)
{
    struct ifla_vf_mac mac = {.vf = vf};
    struct ifla_vf_vlan vlan = {.vf = vf, .vlan = c->vlan, .qos = c->qos};
    struct ifla_vf_spoofchk spoofchk = {.vf = vf, .setting = (uint32_t)c->spoofchk};
    struct ifla_vf_link_state link = {.vf = vf, .link_state = (uint32_t)c->link};
    struct ifla_vf_trust trust = {.vf = vf, .setting = with_trust ? 1 : UINT32_MAX};
    size_t at = open_attr(a, IFLA_VF_INFO);

    memcpy(mac.mac, c->mac, VF_MAC_BYTES);
    add_attr(a, IFLA_VF_MAC, &mac, sizeof mac);
    add_attr(a, IFLA_VF_VLAN, &vlan, sizeof vlan);
    add_attr(a, IFLA_VF_SPOOFCHK, &spoofchk, sizeof spoofchk);
    add_attr(a, IFLA_VF_LINK_STATE, &link, sizeof link);
    add_attr(a, IFLA_VF_TRUST, &trust, sizeof trust);
    close_attr(a, at);
}

static const struct vf_config one = {
    .mac = {2, 0, 0, 0, 0, 1}, .vlan = 100, .qos = 2, .spoofchk = VF_ON, .link = VF_LINK_DISABLE};

static enum hf_code parse(const struct answer *a, uint32_t seq, enum vf_reply *reply, int *error)
{
    return vf_message_parse(a->at, a->len, seq, 7, reply, error, &list, &err);
}

START_TEST(a_list_is_read)
{
    struct answer a;
    enum vf_reply reply;
    int error;
    size_t at;

    begin_link(&a, 5, 7, 3);
    at = open_attr(&a, IFLA_VFINFO_LIST | NLA_F_NESTED);
    add_vf(&a, 2, &one, true);
    add_vf(&a, 0, &one, false);
    close_attr(&a, at);
    end_message(&a);
    ck_assert_msg(parse(&a, 5, &reply, &error) == HF_OK, "%s", err.text);
    ck_assert_int_eq(reply, VF_REPLY_LIST);
    ck_assert_uint_eq(list.count, 3);
    ck_assert_uint_eq(list.told, 2);
    ck_assert(list.is_pf_up);
    ck_assert(list.vf[0].is_told && !list.vf[1].is_told && list.vf[2].is_told);
    ck_assert_int_eq(list.vf[0].config.trust, VF_SETTING_UNKNOWN);
    ck_assert_int_eq(list.vf[2].config.trust, VF_ON);
    list.vf[2].config.trust = VF_OFF;
    ck_assert_uint_eq(vf_config_differs(&list.vf[2].config, &one), 0);
}
END_TEST

START_TEST(answers_to_others_are_left_alone)
{
    struct answer a;
    enum vf_reply reply;
    int error;

    begin_link(&a, 5, 7, 3);
    end_message(&a);
    ck_assert_int_eq(parse(&a, 6, &reply, &error), HF_OK); /* an earlier question's */
    ck_assert_int_eq(reply, VF_REPLY_OTHER);
    begin_link(&a, 5, 8, 3);
    end_message(&a);
    ck_assert_int_eq(parse(&a, 5, &reply, &error), HF_OK); /* another interface */
    ck_assert_int_eq(reply, VF_REPLY_OTHER);
}
END_TEST

START_TEST(an_answer_that_is_not_of_one_moment_is_asked_for_again)
{
    struct answer a;
    enum vf_reply reply;
    uint16_t flags = NLM_F_DUMP_INTR;
    int error;

    begin_link(&a, 5, 7, 3);
    memcpy(a.at + offsetof(struct nlmsghdr, nlmsg_flags), &flags, sizeof flags);
    end_message(&a);
    ck_assert_int_eq(parse(&a, 5, &reply, &error), HF_OK);
    ck_assert_int_eq(reply, VF_REPLY_AGAIN);
}
END_TEST

START_TEST(an_error_is_its_number)
{
    static const int errors[] = {0, -EOPNOTSUPP, -EMSGSIZE, -EBUSY, 5, -4096};
    struct nlmsghdr head = {.nlmsg_type = NLMSG_ERROR, .nlmsg_seq = 5};
    struct answer a = {.len = 0};
    enum vf_reply reply;
    int error;

    add(&a, &head, sizeof head);
    add(&a, &errors[_i], sizeof errors[_i]);
    end_message(&a);
    if (_i >= 4) {
        ck_assert_int_eq(parse(&a, 5, &reply, &error), HF_EBAD);
        return;
    }
    ck_assert_int_eq(parse(&a, 5, &reply, &error), HF_OK);
    ck_assert_int_eq(reply, VF_REPLY_DONE);
    ck_assert_int_eq(error, -errors[_i]);
}
END_TEST

/* A driver or a kernel that tells half of it: unknown, never a guess. */
START_TEST(a_vf_without_its_mac_or_vlan_is_not_told)
{
    struct ifla_vf_vlan vlan = {.vf = 0, .vlan = 5};
    struct ifla_vf_mac mac = {.vf = 1, .mac = {2}};
    struct answer a;
    enum vf_reply reply;
    size_t at, vf;
    int error;

    begin_link(&a, 5, 7, 2);
    at = open_attr(&a, IFLA_VFINFO_LIST);
    vf = open_attr(&a, IFLA_VF_INFO);
    add_attr(&a, IFLA_VF_VLAN, &vlan, sizeof vlan);
    close_attr(&a, vf);
    vf = open_attr(&a, IFLA_VF_INFO);
    add_attr(&a, IFLA_VF_MAC, &mac, sizeof mac);
    close_attr(&a, vf);
    close_attr(&a, at);
    end_message(&a);
    ck_assert_int_eq(parse(&a, 5, &reply, &error), HF_OK);
    ck_assert_uint_eq(list.told, 0);
}
END_TEST

START_TEST(values_out_of_range_are_not_believed)
{
    struct vf_config c = one;
    struct answer a;
    enum vf_reply reply;
    size_t at;
    int error;

    begin_link(&a, 5, 7, UINT32_MAX);
    at = open_attr(&a, IFLA_VFINFO_LIST);
    c.vlan = 4095;
    add_vf(&a, 0, &c, true); /* no such VLAN */
    c = one;
    c.mac[0] = 1;
    add_vf(&a, 1, &c, true); /* a group's MAC */
    add_vf(&a, VF_COUNT_MAX, &one, true);
    add_vf(&a, UINT32_MAX, &one, true);
    c = one;
    c.link = (enum vf_link)77;
    add_vf(&a, 2, &c, true);
    c.mac[5] = 99;
    add_vf(&a, 2, &c, true); /* twice: the first counts */
    close_attr(&a, at);
    end_message(&a);
    ck_assert_int_eq(parse(&a, 5, &reply, &error), HF_OK);
    ck_assert_uint_eq(list.count, VF_COUNT_MAX);
    ck_assert_uint_eq(list.told, 1);
    ck_assert_int_eq(list.vf[2].config.link, VF_LINK_UNKNOWN);
    ck_assert_uint_eq(list.vf[2].config.mac[5], 1);
}
END_TEST

START_TEST(a_vlan_of_802_1ad_is_told_apart)
{
    struct ifla_vf_mac mac = {.vf = 0, .mac = {2}};
    struct ifla_vf_vlan vlan = {.vf = 0, .vlan = 5};
    struct ifla_vf_vlan_info info = {.vf = 0, .vlan = 5, .vlan_proto = 0xa888};
    struct answer a;
    enum vf_reply reply;
    size_t at, vf, inner;
    int error;

    begin_link(&a, 5, 7, 1);
    at = open_attr(&a, IFLA_VFINFO_LIST);
    vf = open_attr(&a, IFLA_VF_INFO);
    add_attr(&a, IFLA_VF_MAC, &mac, sizeof mac);
    add_attr(&a, IFLA_VF_VLAN, &vlan, sizeof vlan);
    inner = open_attr(&a, IFLA_VF_VLAN_LIST);
    add_attr(&a, IFLA_VF_VLAN_INFO, &info, sizeof info);
    close_attr(&a, inner);
    close_attr(&a, vf);
    close_attr(&a, at);
    end_message(&a);
    ck_assert_int_eq(parse(&a, 5, &reply, &error), HF_OK);
    ck_assert(list.vf[0].is_told);
    ck_assert(list.vf[0].is_qinq);
}
END_TEST

/* At any depth. One VF of two is not told then, nor is any: which one lied, nobody knows. */
START_TEST(a_length_that_lies_is_refused)
{
    static const uint16_t lies[] = {0, 3, 2000};
    size_t outer, vf, inner, place[4];
    struct ifla_vf_vlan_info info = {.vf = 1};
    struct answer a;
    enum vf_reply reply;
    int error;

    begin_link(&a, 5, 7, 2);
    place[0] = outer = open_attr(&a, IFLA_VFINFO_LIST);
    add_vf(&a, 0, &one, true);
    place[1] = vf = open_attr(&a, IFLA_VF_INFO);
    place[2] = inner = open_attr(&a, IFLA_VF_VLAN_LIST);
    place[3] = a.len;
    add_attr(&a, IFLA_VF_VLAN_INFO, &info, sizeof info);
    close_attr(&a, inner);
    close_attr(&a, vf);
    close_attr(&a, outer);
    end_message(&a);
    ck_assert_int_eq(parse(&a, 5, &reply, &error), HF_OK);
    ck_assert_uint_eq(list.told, 1);
    memcpy(a.at + place[_i / 3], &lies[_i % 3], sizeof lies[0]);
    ck_assert_int_eq(parse(&a, 5, &reply, &error), HF_EBAD);
    ck_assert_int_eq(reply, VF_REPLY_OTHER);
    ck_assert_uint_eq(list.told, 0);
    ck_assert(!list.vf[0].is_told);
}
END_TEST

/* Every prefix, and every byte changed: no crash and no read past the end (sanitizers look). */
START_TEST(cut_and_broken_answers_do_no_harm)
{
    struct answer a, broken;
    enum vf_reply reply;
    size_t at;
    int error;

    begin_link(&a, 5, 7, 2);
    at = open_attr(&a, IFLA_VFINFO_LIST);
    add_vf(&a, 0, &one, true);
    add_vf(&a, 1, &one, true);
    close_attr(&a, at);
    end_message(&a);
    for (size_t len = 0; len < a.len; len++) {
        uint8_t *cut = malloc(len + 1);

        ck_assert_ptr_nonnull(cut);
        memcpy(cut, a.at, len);
        ck_assert_int_eq(vf_message_parse(cut, len, 5, 7, &reply, &error, &list, &err),
                         len == 0 ? HF_OK : HF_EBAD);
        free(cut);
    }
    for (size_t i = 0; i < a.len; i++) {
        broken = a;
        broken.at[i] = (uint8_t)~broken.at[i];
        (void)parse(&broken, 5, &reply, &error);
        ck_assert_uint_le(list.told, 2);
    }
}
END_TEST

HF_TEST_MAIN(
    "nicbond/vf_message", HF_CASE(the_question_for_one_pf), HF_CASE(a_mac_for_one_vf),
    HF_CASE(a_vlan_and_the_settings_for_one_vf), HF_CASE(the_links_of_many_vfs_in_one_message),
    HF_CASE(a_pf_down_and_up), HF_CASE(a_list_is_read), HF_CASE(answers_to_others_are_left_alone),
    HF_CASE(an_answer_that_is_not_of_one_moment_is_asked_for_again),
    HF_LOOP(an_error_is_its_number, 0, 6), HF_CASE(a_vf_without_its_mac_or_vlan_is_not_told),
    HF_CASE(values_out_of_range_are_not_believed), HF_CASE(a_vlan_of_802_1ad_is_told_apart),
    HF_LOOP(a_length_that_lies_is_refused, 0, 12), HF_CASE(cut_and_broken_answers_do_no_harm))
