#include <stdlib.h>
#include <string.h>

#include "supervisord/cluster/blobs.h"
#include "supervisord/cluster/side.h"
#include "tests/unit/check.h"

/* Three members on a bus with total order. A member that is down neither sends nor hears. */
enum { MEMBERS = 3, QUEUE = 1024 };

struct member {
    struct blobs *b;
    unsigned ix;
    bool is_down, is_full;
    unsigned kept, forgotten, arrived, sent;
};

static struct member member[MEMBERS];
static struct {
    unsigned from;
    size_t len;
    uint8_t bytes[SIDE_BYTES_MAX];
} queue[QUEUE];
static unsigned queue_count;
static hf_time now = {1000000000};
static bool corrupt_from_0;

static enum hf_code side(void *user, const void *bytes, size_t len, struct hf_err *err)
{
    struct member *m = user;

    if (m->is_down || m->is_full)
        return hf_err_set(err, HF_EAGAIN, "not now");
    ck_assert_uint_lt(queue_count, QUEUE);
    queue[queue_count].from = m->ix;
    queue[queue_count].len = len;
    memcpy(queue[queue_count++].bytes, bytes, len);
    m->sent++;
    return HF_OK;
}

static void keep(void *user, const char *hex, const void *bytes, size_t len)
{
    struct hf_digest digest = hf_digest_of(bytes, len);
    char name[65];

    hf_digest_hex(&digest, name);
    ck_assert_str_eq(hex, name);
    ((struct member *)user)->kept++;
}

static void forget(void *user, const char *hex)
{
    ck_assert_uint_eq(strlen(hex), 64);
    ((struct member *)user)->forgotten++;
}

static void arrived(void *user, const struct hf_digest *digest)
{
    struct member *m = user;
    size_t len;

    ck_assert_ptr_nonnull(blobs_get(m->b, digest, &len));
    m->arrived++;
}

static void setup(void)
{
    for (unsigned i = 0; i < MEMBERS; i++) {
        struct blobs_ports ports = {&member[i], side, keep, forget, arrived};
        struct hf_err err;

        member[i] = (struct member){.ix = i};
        ck_assert_int_eq(blobs_open(&member[i].b, &ports, &err), HF_OK);
    }
    queue_count = 0;
}

static void teardown(void)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        blobs_close(member[i].b);
}

static unsigned rank_of(unsigned ix, unsigned asker)
{
    unsigned rank = 0;

    for (unsigned i = 0; i < ix; i++)
        rank += i != asker;
    return rank;
}

static void deliver_one(void)
{
    static uint8_t bytes[SIDE_BYTES_MAX];
    unsigned from = queue[0].from;
    size_t len = queue[0].len;

    memcpy(bytes, queue[0].bytes, len);
    if (corrupt_from_0 && from == 0 && bytes[0] == SIDE_PUT)
        bytes[len - 1] ^= 1;
    memmove(&queue[0], &queue[1], --queue_count * sizeof queue[0]);
    for (unsigned i = 0; i < MEMBERS; i++)
        if (!member[i].is_down)
            blobs_side(member[i].b, bytes, len, from + 1, rank_of(i, from), i == from, now);
}

/* So much time passes, in steps of 50 ms. */
static void pass(int64_t ms)
{
    for (int64_t at = 0; at <= ms; at += 50) {
        do {
            while (queue_count > 0)
                deliver_one();
            for (unsigned i = 0; i < MEMBERS; i++)
                if (!member[i].is_down && hf_time_reached(now, blobs_deadline(member[i].b)))
                    blobs_tick(member[i].b, now);
        } while (queue_count > 0);
        now = hf_time_add_ms(now, 50);
    }
}

static uint8_t content[HF_XML_MAX];

static struct hf_digest make(size_t len, uint8_t seed)
{
    for (size_t i = 0; i < len; i++)
        content[i] = (uint8_t)(i * 31 + i / 251 + seed);
    return hf_digest_of(content, len);
}

static bool has(unsigned ix, const struct hf_digest *digest)
{
    size_t len;

    return blobs_get(member[ix].b, digest, &len) != NULL;
}

static const size_t sizes[] = {1, SIDE_CHUNK_MAX, SIDE_CHUNK_MAX + 1, 100000, HF_XML_MAX};

START_TEST(a_content_put_here_is_soon_everywhere)
{
    struct hf_digest digest = make(sizes[_i], 1);
    struct hf_err err;

    ck_assert_int_eq(blobs_put(member[1].b, content, sizes[_i], now, &err), HF_OK);
    pass(200);
    for (unsigned i = 0; i < MEMBERS; i++) {
        size_t len;
        const void *bytes = blobs_get(member[i].b, &digest, &len);

        ck_assert_ptr_nonnull(bytes);
        ck_assert_uint_eq(len, sizes[_i]);
        ck_assert_mem_eq(bytes, content, len);
        ck_assert_uint_eq(member[i].kept, 1);
        ck_assert_uint_eq(member[i].arrived, 1);
    }
}
END_TEST

START_TEST(nothing_empty_or_too_large_is_taken)
{
    struct hf_err err;

    ck_assert_int_eq(blobs_put(member[0].b, content, 0, now, &err), HF_EINVAL);
    ck_assert_int_eq(blobs_put(member[0].b, content, (size_t)HF_XML_MAX + 1, now, &err), HF_EINVAL);
}
END_TEST

START_TEST(who_was_away_asks_and_only_one_answers)
{
    struct hf_digest digest = make(50000, 2);
    unsigned sent_0, sent_1;
    struct hf_err err;

    member[2].is_down = true;
    ck_assert_int_eq(blobs_put(member[0].b, content, 50000, now, &err), HF_OK);
    pass(200);
    member[2].is_down = false;
    sent_0 = member[0].sent;
    sent_1 = member[1].sent;
    blobs_named(member[2].b, &digest, 1, now);
    pass(1000);
    ck_assert(has(2, &digest));
    ck_assert_uint_eq(member[0].sent - sent_0, 5);
    ck_assert_uint_eq(member[1].sent, sent_1);
}
END_TEST

START_TEST(the_next_holder_answers_for_one_that_is_silent)
{
    struct hf_digest digest = make(50000, 3);
    struct hf_err err;

    member[2].is_down = true;
    ck_assert_int_eq(blobs_put(member[0].b, content, 50000, now, &err), HF_OK);
    pass(200);
    member[2].is_down = false;
    member[0].is_down = true;
    blobs_want(member[2].b, &digest, now);
    pass(1000);
    ck_assert(has(2, &digest));
}
END_TEST

START_TEST(a_sender_that_stops_half_way_is_replaced)
{
    struct hf_digest digest = make(500000, 4);
    struct hf_err err;

    ck_assert_int_eq(blobs_load(member[1].b, "", content, 500000, now, &err), HF_EBAD);
    {
        char hex[65];

        hf_digest_hex(&digest, hex);
        ck_assert_int_eq(blobs_load(member[1].b, hex, content, 500000, now, &err), HF_OK);
        ck_assert_int_eq(blobs_load(member[0].b, hex, content, 500000, now, &err), HF_OK);
    }
    blobs_want(member[2].b, &digest, now);
    blobs_tick(member[2].b, now);
    deliver_one(); /* the question */
    blobs_tick(member[0].b, now);
    deliver_one(); /* the first piece */
    member[0].is_down = true;
    queue_count = 0;
    pass(5000);
    ck_assert(has(2, &digest));
}
END_TEST

START_TEST(bytes_that_are_not_the_content_are_never_believed)
{
    struct hf_digest digest = make(30000, 5);
    struct hf_err err;

    corrupt_from_0 = true;
    member[1].is_down = true;
    ck_assert_int_eq(blobs_put(member[0].b, content, 30000, now, &err), HF_OK);
    pass(200);
    ck_assert(!has(2, &digest));
    ck_assert_uint_ge(blobs_look(member[2].b).refused, 1);
    ck_assert_uint_eq(member[2].kept, 0);
}
END_TEST

START_TEST(a_full_pipe_delays_and_loses_nothing)
{
    struct hf_digest digest = make(200000, 6);
    struct hf_err err;

    member[0].is_full = true;
    ck_assert_int_eq(blobs_put(member[0].b, content, 200000, now, &err), HF_OK);
    pass(500);
    ck_assert(!has(1, &digest));
    member[0].is_full = false;
    pass(500);
    ck_assert(has(1, &digest));
    ck_assert(!blobs_is_sending(member[0].b));
}
END_TEST

START_TEST(what_nothing_names_goes_and_what_is_named_stays)
{
    struct hf_digest named = make(1000, 7), loose;
    struct hf_err err;

    ck_assert_int_eq(blobs_put(member[0].b, content, 1000, now, &err), HF_OK);
    loose = make(1000, 8);
    ck_assert_int_eq(blobs_put(member[0].b, content, 1000, now, &err), HF_OK);
    for (unsigned i = 0; i < MEMBERS; i++)
        blobs_named(member[i].b, &named, 1, now);
    pass(BLOBS_UNNAMED_MS - 2000);
    ck_assert(has(0, &loose));
    pass(4000);
    ck_assert(!has(0, &loose));
    ck_assert(!has(1, &loose));
    ck_assert(has(0, &named));
    ck_assert_uint_eq(member[0].forgotten, 1);
    blobs_named(member[0].b, NULL, 0, now);
    pass(BLOBS_UNNAMED_MS + 1000);
    ck_assert(!has(0, &named));
}
END_TEST

START_TEST(the_table_never_grows_and_named_contents_are_not_pushed_out)
{
    static struct hf_digest digests[HF_BLOBS_MAX];
    struct hf_err err;
    struct hf_digest more;

    for (unsigned i = 0; i < HF_BLOBS_MAX; i++) {
        memcpy(content, &i, sizeof i);
        digests[i] = hf_digest_of(content, 8);
        ck_assert_int_eq(blobs_put(member[0].b, content, 8, now, &err), HF_OK);
    }
    blobs_named(member[0].b, digests, HF_BLOBS_MAX, now);
    more = make(9, 9);
    ck_assert_int_eq(blobs_put(member[0].b, content, 9, now, &err), HF_EFULL);
    blobs_named(member[0].b, digests + 1, HF_BLOBS_MAX - 1, now);
    ck_assert_int_eq(blobs_put(member[0].b, content, 9, now, &err), HF_OK);
    ck_assert(has(0, &more));
    ck_assert(!has(0, &digests[0]));
    ck_assert(has(0, &digests[1]));
}
END_TEST

START_TEST(told_phases_come_back_as_they_were)
{
    struct side_message m = {.type = _i == 0 ? SIDE_PROGRESS : SIDE_OUTCOME}, back;
    uint8_t bytes[SIDE_BYTES_MAX];
    struct hf_err err;
    size_t len;

    m.u.told = (struct side_told){.token = {7, 2},
                                  .subject = HF_SUBJECT_VM,
                                  .node = {1},
                                  .uid = 9,
                                  .wall_ns = 5,
                                  .boottime_ns = 6};
    if (_i == 0) {
        m.u.told.phase = HF_PROGRESS_RESUMED;
        m.u.told.pid = 4711;
    } else {
        m.u.told.outcome = HF_OUT_GAVE_UP;
        m.u.told.took_ms = 12;
        strcpy(m.u.told.why, "two\nlines");
    }
    len = side_encode(&m, bytes);
    ck_assert_int_eq(side_decode(bytes, len, &back, &err), HF_OK);
    if (_i == 1)
        strcpy(m.u.told.why, "two lines");
    ck_assert_mem_eq(&m.u.told.token.seq, &back.u.told.token.seq, 8);
    ck_assert_uint_eq(back.u.told.uid, 9);
    ck_assert_int_eq(back.u.told.phase, m.u.told.phase);
    ck_assert_str_eq(back.u.told.why, m.u.told.why);
    for (size_t cut = 0; cut < len; cut++)
        ck_assert_int_eq(side_decode(bytes, cut, &back, &err), HF_EBAD);
}
END_TEST

HF_TEST_MAIN_WITH("cluster/blobs", setup, teardown,
                  HF_LOOP(a_content_put_here_is_soon_everywhere, 0, sizeof sizes / sizeof sizes[0]),
                  HF_CASE(nothing_empty_or_too_large_is_taken),
                  HF_CASE(who_was_away_asks_and_only_one_answers),
                  HF_CASE(the_next_holder_answers_for_one_that_is_silent),
                  HF_CASE(a_sender_that_stops_half_way_is_replaced),
                  HF_CASE(bytes_that_are_not_the_content_are_never_believed),
                  HF_CASE(a_full_pipe_delays_and_loses_nothing),
                  HF_CASE(what_nothing_names_goes_and_what_is_named_stays),
                  HF_CASE(the_table_never_grows_and_named_contents_are_not_pushed_out),
                  HF_LOOP(told_phases_come_back_as_they_were, 0, 2))
