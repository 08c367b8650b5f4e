#include "supervisord/wire/group.h"
#include "tests/unit/check.h"

#include <string.h>

static uint8_t bytes[HF_GROUP_MESSAGE_MAX], again[HF_GROUP_MESSAGE_MAX];

static const struct group_header header = {
    .view = {3, 0x123456789abcULL}, .boot = {{1, 2, 3}}, .incarnation = 99, .number = 12345};

struct any {
    struct group_hello hello;
    struct group_go go;
    struct group_ready ready;
    struct group_snap snap;
    struct group_event event;
    struct group_ack ack;
    struct group_beat beat;
};

static struct any example(void)
{
    struct any a;
    struct group_session session = {0xfeedULL, 7};

    memset(&a, 0, sizeof a);
    a.hello = (struct group_hello){.session = session,
                                   .ruleset = 1,
                                   .kind = GROUP_STATE_LIVE,
                                   .epoch = 5,
                                   .seq = 6,
                                   .digest = 7,
                                   .promised = 8,
                                   .nodes_count = 3,
                                   .nodeids = {1, 2, 3}};
    a.go = (struct group_go){session, GROUP_WAIT_AGAIN};
    a.ready = (struct group_ready){session, true, 9, 10};
    a.snap = (struct group_snap){session, 1000, 990, 10, (const uint8_t *)"0123456789"};
    a.event = (struct group_event){3, (const uint8_t *)"abc", 3};
    a.ack = (struct group_ack){session, 77};
    a.beat = (struct group_beat){.session = session,
                                 .beat_no = 4,
                                 .sent_ns = -5,
                                 .applied = 6,
                                 .reports_count = 2,
                                 .reports = {{1, 2, 3}, {4, 5, 6}}};
    return a;
}

static void put(struct hf_writer *w, int type, const struct any *a)
{
    switch ((enum group_type)type) {
    case GROUP_HELLO:
        group_put_hello(w, &a->hello);
        return;
    case GROUP_GO:
        group_put_go(w, &a->go);
        return;
    case GROUP_READY:
        group_put_ready(w, &a->ready);
        return;
    case GROUP_SNAP:
        group_put_snap(w, &a->snap);
        return;
    case GROUP_EVENT:
        group_put_event(w, &a->event);
        return;
    case GROUP_ACK:
        group_put_ack(w, &a->ack);
        return;
    case GROUP_BEAT:
        group_put_beat(w, &a->beat);
        return;
    case GROUP_SIDE:
    case GROUP_TYPES:
        break;
    }
    hf_put_bytes(w, "side", 4);
}

static enum hf_code get(struct hf_reader *r, int type, struct any *a)
{
    struct hf_err err;

    switch ((enum group_type)type) {
    case GROUP_HELLO:
        return group_get_hello(r, &a->hello, &err);
    case GROUP_GO:
        return group_get_go(r, &a->go, &err);
    case GROUP_READY:
        return group_get_ready(r, &a->ready, &err);
    case GROUP_SNAP:
        return group_get_snap(r, &a->snap, &err);
    case GROUP_EVENT:
        return group_get_event(r, &a->event, &err);
    case GROUP_ACK:
        return group_get_ack(r, &a->ack, &err);
    case GROUP_BEAT:
        return group_get_beat(r, &a->beat, &err);
    case GROUP_SIDE:
    case GROUP_TYPES:
        break;
    }
    r->pos = r->len;
    return HF_OK;
}

static size_t message(int type, uint8_t *to)
{
    struct any a = example();
    struct group_header h = header;
    struct hf_writer w = hf_writer_on(to, HF_GROUP_MESSAGE_MAX);

    h.type = (enum group_type)type;
    group_put_header(&w, &h);
    ck_assert_uint_eq(w.len, GROUP_HEADER_BYTES);
    put(&w, type, &a);
    ck_assert(!w.bad);
    group_seal(to, w.len);
    return w.len;
}

START_TEST(every_message_comes_back_as_it_went)
{
    struct group_header h;
    struct hf_reader body;
    struct any a;
    uint16_t version;
    size_t len = message(_i, bytes);
    struct hf_writer w = hf_writer_on(again, sizeof again);

    memset(&a, 0, sizeof a);
    ck_assert_int_eq(group_open(bytes, len, &h, &body, &version), GROUP_OPENED);
    ck_assert_int_eq((int)h.type, _i);
    ck_assert(hf_view_same(h.view, header.view));
    ck_assert(hf_boot_same(&h.boot, &header.boot));
    ck_assert_uint_eq(h.incarnation, 99);
    ck_assert_uint_eq(h.number, 12345);
    ck_assert_int_eq(get(&body, _i, &a), HF_OK);
    ck_assert(hf_reader_ended(&body));
    put(&w, _i, &a);
    if (_i != GROUP_SIDE)
        ck_assert_mem_eq(again, bytes + GROUP_HEADER_BYTES, len - GROUP_HEADER_BYTES);
}
END_TEST

START_TEST(any_single_damaged_byte_is_found)
{
    struct group_header h;
    struct hf_reader body;
    uint16_t version;
    size_t len = message(_i, bytes);

    for (size_t at = 0; at < len; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes[at] ^= (uint8_t)(1u << bit);
            ck_assert_int_eq(group_open(bytes, len, &h, &body, &version), GROUP_DAMAGED);
            bytes[at] ^= (uint8_t)(1u << bit);
        }
    for (size_t cut = 0; cut < len; cut++)
        ck_assert_int_eq(group_open(bytes, cut, &h, &body, &version), GROUP_DAMAGED);
}
END_TEST

START_TEST(a_whole_message_of_another_version_is_foreign_not_damaged)
{
    struct group_header h;
    struct hf_reader body;
    uint16_t version;
    size_t len = message(_i, bytes);

    bytes[4] = GROUP_VERSION + 1;
    group_seal(bytes, len);
    ck_assert_int_eq(group_open(bytes, len, &h, &body, &version), GROUP_FOREIGN);
    ck_assert_uint_eq(version, GROUP_VERSION + 1);
}
END_TEST

START_TEST(bodies_that_lie_with_a_right_checksum_are_errors_not_crashes)
{
    size_t len = message(_i, bytes);

    for (size_t at = GROUP_HEADER_BYTES; at < len; at++)
        for (unsigned v = 0; v < 256; v++) {
            struct group_header h;
            struct hf_reader body;
            struct any a;
            uint16_t version;
            uint8_t was = bytes[at];

            memset(&a, 0, sizeof a);
            bytes[at] = (uint8_t)v;
            group_seal(bytes, len);
            ck_assert_int_eq(group_open(bytes, len, &h, &body, &version), GROUP_OPENED);
            if (get(&body, _i, &a) == HF_OK) {
                ck_assert(hf_reader_ended(&body));
                ck_assert_uint_le(a.hello.nodes_count, HF_NODES_MAX);
                ck_assert_uint_le(a.beat.reports_count, GROUP_REPORTS_MAX);
                ck_assert_uint_le(a.snap.len, GROUP_CHUNK_MAX);
            }
            bytes[at] = was;
        }
}
END_TEST

START_TEST(a_type_that_is_none_is_damage)
{
    struct group_header h;
    struct hf_reader body;
    uint16_t version;
    size_t len = message(GROUP_ACK, bytes);

    bytes[6] = 0;
    group_seal(bytes, len);
    ck_assert_int_eq(group_open(bytes, len, &h, &body, &version), GROUP_DAMAGED);
    bytes[6] = GROUP_TYPES;
    group_seal(bytes, len);
    ck_assert_int_eq(group_open(bytes, len, &h, &body, &version), GROUP_DAMAGED);
}
END_TEST

HF_TEST_MAIN("wire/group", HF_LOOP(every_message_comes_back_as_it_went, GROUP_HELLO, GROUP_TYPES),
             HF_LOOP(any_single_damaged_byte_is_found, GROUP_HELLO, GROUP_TYPES),
             HF_LOOP(a_whole_message_of_another_version_is_foreign_not_damaged, GROUP_HELLO,
                     GROUP_TYPES),
             HF_LOOP(bodies_that_lie_with_a_right_checksum_are_errors_not_crashes, GROUP_HELLO,
                     GROUP_SIDE),
             HF_CASE(a_type_that_is_none_is_damage))
