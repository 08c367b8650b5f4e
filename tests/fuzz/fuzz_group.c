/* LINK: supervisord/cluster */
/* fuzz_group.c - bytes from a member of the group, given to a replica in three situations:
 * greeting, synchronised alone, and synchronised with another member. Each input is taken once as
 * it is and once made whole (magic, length, CRC, the view and the session of the receiver put
 * right), so that the bodies are reached. */
#include "supervisord/cluster/replica.h"
#include "supervisord/wire/group.h"
#include "tests/unit/supervisord/a_group.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { SENT_MAX = 16 };

struct bench {
    struct replica *r;
    size_t count;
    size_t len[SENT_MAX];
    uint8_t sent[SENT_MAX][HF_GROUP_MESSAGE_MAX];
};

static void on_mcast(void *user, const void *bytes, size_t len)
{
    struct bench *b = user;

    if (b->count == SENT_MAX)
        return;
    memcpy(b->sent[b->count], bytes, len);
    b->len[b->count++] = len;
}

static void on_stepped(void *user, const struct engine *e, const struct hf_event *ev,
                       const struct engine_out *out, bool is_mine, uint64_t cookie)
{
    (void)user, (void)e, (void)ev, (void)out, (void)is_mine, (void)cookie;
}

static void on_state(void *user, const struct engine *e)
{
    (void)user, (void)e;
}

static void on_effect(void *user, const struct hf_effect *fx)
{
    (void)user, (void)fx;
}

static void on_phase(void *user, enum replica_phase was, enum replica_phase now, const char *why)
{
    (void)user, (void)was, (void)now, (void)why;
}

static void on_side(void *user, uint32_t nodeid, const uint8_t *bytes, size_t len)
{
    (void)user, (void)nodeid, (void)bytes, (void)len;
}

static const struct hf_view view = {1, 8};

/* Give it back all that it sends, from each of `nodes` nodes alike. */
static void echo(struct bench *b, uint32_t nodes, hf_time now)
{
    for (unsigned turn = 0; turn < 8 && b->count > 0; turn++) {
        size_t count = b->count;
        uint8_t(*sent)[HF_GROUP_MESSAGE_MAX] = malloc(sizeof b->sent);

        if (sent == NULL)
            abort();
        memcpy(sent, b->sent, sizeof b->sent);
        b->count = 0;
        for (size_t i = 0; i < count; i++)
            for (uint32_t n = 1; n <= nodes; n++)
                replica_deliver(b->r, n, 100 + n, sent[i], b->len[i], now);
        free(sent);
    }
}

static struct bench *open_bench(uint32_t configured, uint32_t present, hf_time now)
{
    struct bench *b = malloc(sizeof *b);
    struct hf_group file = a_group((uint8_t)configured);
    struct replica_settings s = {.nodeid = 1,
                                 .incarnation = 5,
                                 .file = &file,
                                 .beat_ms = 100,
                                 .mute_after_ms = 1000,
                                 .hello_wait_ms = 1000,
                                 .resend_ms = 2000};
    struct replica_ports ports = {b,        on_mcast, on_stepped, on_state, on_effect,
                                  on_state, on_phase, on_side,    NULL};
    struct replica_peer peers[2] = {{1, 101}, {2, 102}};
    uint32_t ring[2] = {1, 2};
    struct hf_err err;

    if (b == NULL)
        abort();
    b->count = 0;
    b->r = aligned_alloc(64, (replica_size() + 63) / 64 * 64);
    if (b->r == NULL || replica_init(b->r, &s, &ports, &err) != HF_OK)
        abort();
    replica_members(b->r, view, peers, present, ring, 2, now);
    return b;
}

/* The input as a body: type from its first byte, header and session of the bench's own messages. */
static size_t make_whole(const struct bench *b, const uint8_t *bytes, size_t len, uint8_t *to)
{
    struct group_header h = {.view = view, .incarnation = 5, .number = 1000};
    struct hf_writer w = hf_writer_on(to, HF_GROUP_MESSAGE_MAX);
    bool has_session = b->count > 0 && b->len[0] >= GROUP_HEADER_BYTES + 12;

    h.type = (enum group_type)(1 + bytes[0] % (GROUP_TYPES - 1));
    group_put_header(&w, &h);
    if (has_session && h.type != GROUP_EVENT && h.type != GROUP_SIDE && (bytes[0] & 0x80) == 0)
        hf_put_bytes(&w, b->sent[0] + GROUP_HEADER_BYTES, 12);
    if (len - 1 > HF_GROUP_MESSAGE_MAX - w.len)
        len = HF_GROUP_MESSAGE_MAX - w.len + 1;
    hf_put_bytes(&w, bytes + 1, len - 1);
    group_seal(to, w.len);
    return w.len;
}

static void attack(struct bench *b, uint32_t from, const uint8_t *bytes, size_t len, hf_time now)
{
    uint8_t whole[HF_GROUP_MESSAGE_MAX];

    if (len > 0) {
        size_t whole_len = make_whole(b, bytes, len, whole);

        replica_deliver(b->r, from, 100 + from, whole, whole_len, now);
    }
    replica_deliver(b->r, from, 100 + from, bytes, len, now);
    for (unsigned k = 1; k < 30; k++)
        replica_tick(b->r, hf_time_add_ms(now, 100 * k));
}

/* A replica brought into one of the situations, and its bytes there: put back before each input,
 * at the same address. */
struct situation {
    struct bench *b;
    uint8_t *image;
};

static struct situation prepare(uint32_t configured, uint32_t present, bool is_synced, hf_time now)
{
    struct situation s = {open_bench(configured, present, now), malloc(replica_size())};

    if (is_synced) {
        echo(s.b, present, now);
        replica_tick(s.b->r, hf_time_add_ms(now, 100));
    }
    if (s.image == NULL || (replica_look(s.b->r).phase == REPLICA_SYNCED) != is_synced)
        abort();
    memcpy(s.image, s.b->r, replica_size());
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static struct situation situations[3]; /* made once a process: an input must be cheap */
    static const uint32_t from[3] = {2, 1, 2};
    hf_time now = {1000 * HF_NS_PER_MS};

    if (situations[0].b == NULL) {
        situations[0] = prepare(2, 2, false, now);
        situations[1] = prepare(1, 1, true, now);
        situations[2] = prepare(2, 2, true, now);
    }
    for (size_t i = 0; i < 3; i++) {
        struct bench *b = situations[i].b;

        memcpy((void *)b->r, situations[i].image, replica_size());
        attack(b, from[i], bytes, len, hf_time_add_ms(now, 100));
    }
    return 0;
}
