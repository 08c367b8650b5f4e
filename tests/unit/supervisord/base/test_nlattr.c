#include "supervisord/base/nlattr.h"

#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

/* A walk over bytes of their own, where the sanitizer sees a read past their end. */
struct walked {
    unsigned count; /* attributes it gave */
    bool bad;
    uint16_t type[8];
    size_t len[8];
};

static void write_head(uint8_t *at, uint16_t len, uint16_t type)
{
    const struct nlattr head = {.nla_len = len, .nla_type = type};

    memcpy(at, &head, sizeof head);
}

static struct walked walk(const uint8_t *bytes, size_t len)
{
    uint8_t *copy = calloc(len > 0 ? len : 1, 1);
    struct hf_nlattrs attrs = hf_nlattrs_on(copy, len);
    struct walked w = {.count = 0};
    struct hf_nlattr attr;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, len);
    while (hf_nlattrs_next(&attrs, &attr)) {
        ck_assert(!attrs.bad);
        ck_assert_uint_lt(w.count, 8);
        ck_assert(attr.value >= copy + sizeof(struct nlattr));
        ck_assert_uint_le((size_t)(attr.value - copy) + attr.len, len);
        w.type[w.count] = attr.type;
        w.len[w.count++] = attr.len;
    }
    ck_assert(!hf_nlattrs_next(&attrs, &attr)); /* an end is an end */
    w.bad = attrs.bad;
    free(copy);
    return w;
}

START_TEST(attributes_come_one_by_one)
{
    uint8_t bytes[32] = {0};
    struct walked w;

    write_head(bytes, 8, 3);
    write_head(bytes + 8, 5, 4 | NLA_F_NET_BYTEORDER); /* 1 byte, then 3 of padding */
    write_head(bytes + 16, 4, 5 | NLA_F_NESTED);
    w = walk(bytes, 20);
    ck_assert_uint_eq(w.count, 3);
    ck_assert(!w.bad);
    ck_assert_uint_eq(w.type[0], 3);
    ck_assert_uint_eq(w.type[1], 4);
    ck_assert_uint_eq(w.type[2], 5);
    ck_assert_uint_eq(w.len[0], 4);
    ck_assert_uint_eq(w.len[1], 1);
    ck_assert_uint_eq(w.len[2], 0);
}
END_TEST

START_TEST(of_nothing_there_is_none)
{
    struct hf_nlattrs attrs = hf_nlattrs_on(NULL, 0);
    struct hf_nlattr attr;

    ck_assert(!hf_nlattrs_next(&attrs, &attr));
    ck_assert(!attrs.bad);
}
END_TEST

/* Of two attributes, 8 bytes each, the second says this of its length. */
static const struct {
    uint16_t said;
    size_t there; /* bytes of the whole */
    unsigned count;
    bool bad;
} lengths[] = {
    {8, 16, 2, false}, /* the truth */
    {0, 16, 1, true},  /* a walk that believed it would never end */
    {1, 16, 1, true},
    {3, 16, 1, true},  /* shorter than the header */
    {4, 16, 3, false}, /* the value is read as an empty attribute of its own */
    {9, 16, 1, true},  /* beyond the end by one byte */
    {12, 16, 1, true},
    {UINT16_MAX, 16, 1, true},
    {UINT16_MAX - 2, 16, 1, true}, /* aligned in 16 bits it would be 0 */
    {7, 16, 2, false},
    {5, 13, 2, false}, /* not aligned; padding may be missing at the end */
    {5, 14, 2, false},
    {5, 15, 2, false},
    {6, 13, 1, true}, /* cut within the value */
    {4, 13, 2, true}, /* 1, 2, 3 bytes are left that hold no header */
    {4, 14, 2, true},
    {4, 15, 2, true},
    {8, 9, 1, true},
    {8, 10, 1, true},
    {8, 11, 1, true}, /* cut within the header */
};

START_TEST(a_length_that_lies_ends_the_walk_and_is_said)
{
    uint8_t bytes[16] = {0};
    struct walked w;

    write_head(bytes, 8, 1);
    write_head(bytes + 8, lengths[_i].said, 2);
    write_head(bytes + 12, 4, 3);
    w = walk(bytes, lengths[_i].there);
    ck_assert_uint_eq(w.count, lengths[_i].count);
    ck_assert_int_eq(w.bad, lengths[_i].bad);
    ck_assert_uint_eq(w.type[0], 1);
}
END_TEST

/* The message would hold it, the parent does not. */
START_TEST(a_child_does_not_reach_beyond_its_parent)
{
    uint8_t bytes[24] = {0};
    struct hf_nlattrs outer = hf_nlattrs_on(bytes, sizeof bytes), inner;
    struct hf_nlattr parent, child;

    write_head(bytes, 12, 1 | NLA_F_NESTED);
    write_head(bytes + 4, 9, 2); /* its parent has 8 */
    write_head(bytes + 12, 12, 3);
    ck_assert(hf_nlattrs_next(&outer, &parent));
    inner = hf_nlattrs_in(&parent);
    ck_assert(!hf_nlattrs_next(&inner, &child));
    ck_assert(inner.bad);
    /* A walk of its own: the parent's goes on. */
    ck_assert(hf_nlattrs_next(&outer, &parent));
    ck_assert_uint_eq(parent.type, 3);
    ck_assert(!outer.bad);
    /* And one that fits to the byte. */
    write_head(bytes + 4, 8, 2);
    outer = hf_nlattrs_on(bytes, sizeof bytes);
    ck_assert(hf_nlattrs_next(&outer, &parent));
    inner = hf_nlattrs_in(&parent);
    ck_assert(hf_nlattrs_next(&inner, &child));
    ck_assert_uint_eq(child.len, 4);
    ck_assert(!hf_nlattrs_next(&inner, &child) && !inner.bad);
}
END_TEST

START_TEST(a_value_is_whole_or_left_alone)
{
    const uint8_t bytes[6] = {1, 2, 3, 4, 5, 6};
    struct hf_nlattr attr = {.value = bytes, .len = 3};
    uint8_t out[4] = {9, 9, 9, 9};

    ck_assert(!hf_nlattr_get(&attr, out, sizeof out));
    ck_assert_uint_eq(out[0], 9);
    attr.len = 4;
    ck_assert(hf_nlattr_get(&attr, out, sizeof out));
    ck_assert_mem_eq(out, bytes, 4);
    attr.len = 6; /* what a newer kernel appended */
    ck_assert(hf_nlattr_get(&attr, out, sizeof out));
    ck_assert_mem_eq(out, bytes, 4);
}
END_TEST

START_TEST(a_text_ends_at_its_nul_or_with_its_value)
{
    const uint8_t bytes[8] = {'b', 'o', 'n', 'd', 0, 'x', 'y', 'z'};
    struct hf_nlattr attr = {.value = bytes, .len = 8};

    ck_assert_uint_eq(hf_nlattr_text_len(&attr), 4);
    ck_assert(hf_nlattr_is_text(&attr, "bond"));
    ck_assert(!hf_nlattr_is_text(&attr, "bon"));
    ck_assert(!hf_nlattr_is_text(&attr, "bond0"));
    attr.len = 4;
    ck_assert(hf_nlattr_is_text(&attr, "bond"));
    attr.len = 3;
    ck_assert_uint_eq(hf_nlattr_text_len(&attr), 3);
    ck_assert(!hf_nlattr_is_text(&attr, "bond"));
    attr.len = 0;
    ck_assert(hf_nlattr_is_text(&attr, ""));
}
END_TEST

HF_TEST_MAIN("base/nlattr", HF_CASE(attributes_come_one_by_one), HF_CASE(of_nothing_there_is_none),
             HF_LOOP(a_length_that_lies_ends_the_walk_and_is_said, 0,
                     sizeof lengths / sizeof lengths[0]),
             HF_CASE(a_child_does_not_reach_beyond_its_parent),
             HF_CASE(a_value_is_whole_or_left_alone),
             HF_CASE(a_text_ends_at_its_nul_or_with_its_value))
