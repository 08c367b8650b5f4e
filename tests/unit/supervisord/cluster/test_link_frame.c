#include "supervisord/cluster/link_frame.h"
#include "tests/unit/check.h"

#include <string.h>

static struct link_frame in, out;
static uint8_t bytes[LINK_FRAME_MAX], again[LINK_FRAME_MAX];

static struct link_frame example(int type)
{
    struct link_frame f;

    memset(&f, 0, sizeof f);
    f.type = (enum link_frame_type)type;
    f.bytes = (const uint8_t *)"some bytes";
    f.len = 10;
    f.nodeid = 3;
    f.pid = 4711;
    f.view = (struct hf_view){2, 77};
    f.peers_count = 2;
    f.peers[0] = (struct replica_peer){1, 10};
    f.peers[1] = (struct replica_peer){2, 20};
    f.ring_count = 3;
    f.ring[0] = 1, f.ring[1] = 2, f.ring[2] = 3;
    f.facts = (struct link_facts){.nodeid = 1,
                                  .token_ms = 1000,
                                  .consensus_ms = 1200,
                                  .expected_votes = 3,
                                  .node_votes = 1,
                                  .total_votes = 2,
                                  .wait_for_all = LINK_YES,
                                  .is_waiting = LINK_NO,
                                  .pauses = {2, 900, 1500, 5106558848098u},
                                  .paths_count = 2,
                                  .paths = {{2, 3, 1}, {3, 3, 3}},
                                  .quorate = LINK_YES,
                                  .version = "3.1.7",
                                  .cipher = "aes256",
                                  .hash = "sha256"};
    strcpy(f.why, "corosync: dispatch: CS_ERR_LIBRARY");
    return f;
}

static size_t encode(const struct link_frame *f, uint8_t *to)
{
    struct hf_writer w = hf_writer_on(to, LINK_FRAME_MAX);

    link_frame_put(&w, f);
    ck_assert(!w.bad);
    return w.len;
}

START_TEST(every_type_comes_back_as_it_went)
{
    struct hf_err err;
    size_t len;

    in = example(_i);
    len = encode(&in, bytes);
    ck_assert_int_eq(link_frame_get(bytes, len, &out, &err), HF_OK);
    ck_assert_int_eq((int)out.type, _i);
    ck_assert_uint_eq(encode(&out, again), len);
    ck_assert_mem_eq(again, bytes, len);
}
END_TEST

START_TEST(cut_or_damaged_it_is_an_error_or_another_whole_frame)
{
    struct hf_err err;
    size_t len;

    in = example(_i);
    len = encode(&in, bytes);
    for (size_t cut = 0; cut < len; cut++)
        if (link_frame_get(bytes, cut, &out, &err) == HF_OK)
            ck_assert_uint_eq(encode(&out, again), cut);
    for (size_t at = 0; at < len; at++)
        for (unsigned v = 0; v < 256; v++) {
            uint8_t was = bytes[at];

            bytes[at] = (uint8_t)v;
            if (link_frame_get(bytes, len, &out, &err) == HF_OK)
                ck_assert_uint_eq(encode(&out, again), len);
            bytes[at] = was;
        }
}
END_TEST

START_TEST(the_largest_membership_fits_a_frame)
{
    struct hf_err err;
    size_t len;

    in = example(LINK_MEMBERS);
    in.peers_count = LINK_PEERS_MAX;
    in.ring_count = LINK_RING_MAX;
    len = encode(&in, bytes);
    ck_assert_int_eq(link_frame_get(bytes, len, &out, &err), HF_OK);
    ck_assert_uint_eq(out.peers_count, LINK_PEERS_MAX);
}
END_TEST

HF_TEST_MAIN("cluster/link_frame",
             HF_LOOP(every_type_comes_back_as_it_went, LINK_MCAST, LINK_FRAME_TYPES),
             HF_LOOP(cut_or_damaged_it_is_an_error_or_another_whole_frame, LINK_MCAST,
                     LINK_FRAME_TYPES),
             HF_CASE(the_largest_membership_fits_a_frame))
