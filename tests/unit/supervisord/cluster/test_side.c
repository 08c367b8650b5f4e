/* What shells tell each other of NICs: there and back, and nothing that may not be said. The other
 * kinds: test_blobs.c. */
#include "supervisord/cluster/side.h"
#include "tests/unit/check.h"

#include <string.h>

static uint8_t bytes[SIDE_BYTES_MAX + 1];

static struct side_message sample(int type)
{
    struct side_message m = {.type = (enum side_type)type};

    if (m.type == SIDE_FLIP) {
        m.u.flip.is_done = true;
        m.u.flip.asker_nodeid = 3;
        m.u.flip.number = 41;
        m.u.flip.flip = (struct hf_flip){.epoch = 1ULL << 40,
                                         .uid = 7,
                                         .from = HF_FABRICS_MAX,
                                         .to = 1,
                                         .cause = HF_NIC_BFD,
                                         .method = HF_FLIP_GUEST,
                                         .outcome = HF_FLIP_FLIPPED,
                                         .judged_us = 1,
                                         .ordered_us = 2,
                                         .confirmed_us = UINT32_MAX,
                                         .wall_ns = -3};
    } else {
        m.u.nic_order.member = (hf_node){2};
        m.u.nic_order.number = 41;
        m.u.nic_order.uid = 7;
        m.u.nic_order.to = 1;
    }
    return m;
}

static bool decodes(const struct side_message *m)
{
    struct side_message back;
    struct hf_err err;

    return side_decode(bytes, side_encode(m, bytes), &back, &err) == HF_OK;
}

START_TEST(it_comes_back_as_it_went_and_no_byte_is_missing_or_left_over)
{
    struct side_message sent = sample(_i), back;
    struct hf_err err;
    size_t len = side_encode(&sent, bytes);

    ck_assert_int_eq(side_decode(bytes, len, &back, &err), HF_OK);
    ck_assert_mem_eq(&back, &sent, sizeof sent);
    for (size_t cut = 0; cut < len; cut++)
        ck_assert_int_eq(side_decode(bytes, cut, &back, &err), HF_EBAD);
    bytes[len] = 0;
    ck_assert_int_eq(side_decode(bytes, len + 1, &back, &err), HF_EBAD);
}
END_TEST

START_TEST(what_cannot_be_done_has_no_flip)
{
    struct side_message m = sample(SIDE_FLIP);
    size_t len;

    m.u.flip.is_done = false;
    len = side_encode(&m, bytes);
    ck_assert_uint_eq(len, 1 + 1 + 4 + 4);
    ck_assert(decodes(&m));
}
END_TEST

START_TEST(values_nobody_may_say_are_refused)
{
    struct side_message m = sample(SIDE_NIC_ORDER);

    m.u.nic_order.to = HF_FABRICS_MAX;
    ck_assert(!decodes(&m));
    m = sample(SIDE_NIC_ORDER);
    m.u.nic_order.member = HF_NO_NODE;
    ck_assert(!decodes(&m));
    m = sample(SIDE_NIC_ORDER);
    m.u.nic_order.uid = 0;
    ck_assert(!decodes(&m));
    m = sample(SIDE_NIC_ORDER);
    m.u.nic_order.number = 0;
    ck_assert(!decodes(&m));
    m = sample(SIDE_FLIP);
    m.u.flip.flip.method = HF_FLIP_METHODS;
    ck_assert(!decodes(&m));
}
END_TEST

HF_TEST_MAIN("cluster/side",
             HF_LOOP(it_comes_back_as_it_went_and_no_byte_is_missing_or_left_over, SIDE_FLIP,
                     SIDE_TYPES),
             HF_CASE(what_cannot_be_done_has_no_flip), HF_CASE(values_nobody_may_say_are_refused))
