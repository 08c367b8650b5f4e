#include "supervisord/config/cards.h"
#include "tests/unit/check.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>

static char serial[CARDS_TEXT_MAX + 1];
static struct card_facts card;

START_TEST(switches_are_read)
{
    ck_assert_int_eq(cards_switch("Y\n"), CARD_SWITCH_ON);
    ck_assert_int_eq(cards_switch("1\n"), CARD_SWITCH_ON);
    ck_assert_int_eq(cards_switch("N\n"), CARD_SWITCH_OFF);
    ck_assert_int_eq(cards_switch("0"), CARD_SWITCH_OFF);
    ck_assert_int_eq(cards_switch(""), CARD_SWITCH_ABSENT);
    ck_assert_int_eq(cards_switch("?"), CARD_SWITCH_ABSENT);
}
END_TEST

/* An identifier string, the vendor's keywords, a checksum, the end. */
static const uint8_t vpd[] = {0x82, 4,   0,   'X', '2', '5', '2',  0x90, 21,  0,   'P',
                              'N',  3,   'a', 'b', 'c', 'S', 'N',  6,    '0', '4', '3',
                              '1',  ' ', ' ', 'R', 'V', 3,   0x17, 0,    0,   0x78};

START_TEST(a_serial_number_is_found)
{
    ck_assert(cards_serial(vpd, sizeof vpd, serial));
    ck_assert_str_eq(serial, "0431");
}
END_TEST

START_TEST(a_card_without_one_has_none)
{
    uint8_t other[sizeof vpd];

    memcpy(other, vpd, sizeof vpd);
    other[16] = 'X'; /* XN */
    ck_assert(!cards_serial(other, sizeof other, serial));
    ck_assert_str_eq(serial, "");
    memset(other, 0xff, sizeof other); /* a card that is gone */
    ck_assert(!cards_serial(other, sizeof other, serial));
    memset(other, 0, sizeof other);
    ck_assert(!cards_serial(other, sizeof other, serial));
}
END_TEST

/* Every cut is copied to memory of its own: a read past it is found by the sanitizer. */
START_TEST(every_cut_of_a_vpd_is_survived)
{
    for (size_t len = 0; len <= sizeof vpd; len++) {
        uint8_t *cut = malloc(len + 1);

        memcpy(cut, vpd, len);
        ck_assert(cards_serial(cut, len, serial) == (len >= 31));
        free(cut);
    }
}
END_TEST

START_TEST(a_serial_number_cannot_steer_a_terminal)
{
    uint8_t evil[sizeof vpd];

    memcpy(evil, vpd, sizeof vpd);
    evil[19] = 0x1b;
    evil[22] = 0xc3;
    ck_assert(cards_serial(evil, sizeof evil, serial));
    ck_assert_str_eq(serial, "?43?");
}
END_TEST

/* ---- a kernel's answer ---- */

static uint8_t answer[4096];
static size_t len;

static size_t begin(uint16_t type)
{
    struct nlattr head = {0, type};

    memcpy(answer + len, &head, sizeof head);
    len += sizeof head;
    return len - sizeof head;
}

static void end(size_t at)
{
    uint16_t size = (uint16_t)(len - at);

    memcpy(answer + at, &size, sizeof size);
    while (len % NLA_ALIGNTO != 0)
        answer[len++] = 0;
}

static void put_vf(uint32_t vf, uint32_t state)
{
    struct ifla_vf_link_state value = {vf, state};
    struct ifla_vf_vlan vlan = {vf, 7, 0};
    size_t info = begin(IFLA_VF_INFO | NLA_F_NESTED), at = begin(IFLA_VF_VLAN);

    memcpy(answer + len, &vlan, sizeof vlan);
    len += sizeof vlan;
    end(at);
    at = begin(IFLA_VF_LINK_STATE);
    memcpy(answer + len, &value, sizeof value);
    len += sizeof value;
    end(at);
    end(info);
}

static void make_answer(void)
{
    struct nlmsghdr head = {.nlmsg_type = RTM_NEWLINK};
    size_t name, list;

    len = sizeof(struct nlmsghdr) + sizeof(struct ifinfomsg);
    name = begin(IFLA_IFNAME);
    memcpy(answer + len, "ens1f0", 7);
    len += 7;
    end(name);
    list = begin(IFLA_VFINFO_LIST);
    put_vf(0, IFLA_VF_LINK_STATE_AUTO);
    put_vf(1, IFLA_VF_LINK_STATE_ENABLE);
    put_vf(2, IFLA_VF_LINK_STATE_DISABLE);
    put_vf(3, IFLA_VF_LINK_STATE_ENABLE);
    end(list);
    head.nlmsg_len = (uint32_t)len;
    memcpy(answer, &head, sizeof head);
}

START_TEST(vfs_in_link_state_enable_are_counted)
{
    make_answer();
    ck_assert(cards_links(answer, len, &card));
    ck_assert_uint_eq(card.vfs_enabled, 2);
    ck_assert_uint_eq(card.enabled, 1);
}
END_TEST

START_TEST(another_answer_is_none)
{
    struct nlmsghdr head;

    make_answer();
    memcpy(&head, answer, sizeof head);
    head.nlmsg_type = NLMSG_ERROR;
    memcpy(answer, &head, sizeof head);
    ck_assert(!cards_links(answer, len, &card));
    ck_assert_uint_eq(card.vfs_enabled, 0);
}
END_TEST

START_TEST(every_cut_of_an_answer_is_refused)
{
    make_answer();
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *bytes = malloc(cut + 1);

        memcpy(bytes, answer, cut);
        memset(&card, 0, sizeof card);
        ck_assert(!cards_links(bytes, cut, &card));
        free(bytes);
    }
}
END_TEST

START_TEST(lengths_that_lie_are_survived)
{
    make_answer();
    for (size_t at = sizeof(struct nlmsghdr); at < len; at++) {
        uint8_t was = answer[at];

        for (unsigned value = 0; value < 256; value += 51) {
            answer[at] = (uint8_t)value;
            memset(&card, 0, sizeof card);
            (void)cards_links(answer, len, &card);
            ck_assert_uint_le(card.vfs_enabled, CARDS_VFS_MAX);
        }
        answer[at] = was;
    }
}
END_TEST

START_TEST(a_lie_within_a_vf_refuses_the_answer)
{
    make_answer();
    uint16_t beyond = 4 + sizeof(struct ifla_vf_link_state) + 4;
    memcpy(answer + len - beyond + 4, &beyond, sizeof beyond);
    ck_assert(!cards_links(answer, len, &card));
}
END_TEST

HF_TEST_MAIN("config/cards_read", HF_CASE(switches_are_read), HF_CASE(a_serial_number_is_found),
             HF_CASE(a_card_without_one_has_none), HF_CASE(every_cut_of_a_vpd_is_survived),
             HF_CASE(a_serial_number_cannot_steer_a_terminal),
             HF_CASE(vfs_in_link_state_enable_are_counted), HF_CASE(another_answer_is_none),
             HF_CASE(every_cut_of_an_answer_is_refused), HF_CASE(lengths_that_lie_are_survived),
             HF_CASE(a_lie_within_a_vf_refuses_the_answer))
