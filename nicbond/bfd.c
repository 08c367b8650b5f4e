#include "nicbond/bfd.h"

#include "supervisord/base/assert.h"

enum {
    NS_PER_US = 1000,
    SHARES = 10000,          /* of an interval, for jitter */
    SHORTENING_MAX = 2500,   /* RFC 5880, 6.8.7: 75 to 100 % of the interval */
    SHORTENING_LONELY = 1000 /* and with a multiplier of 1 no more than 90 % */
};

/* ---- the table of states: RFC 5880, 6.2 and 6.8.6 ---- */

#define GO(next_, diag_, why_)                                                                     \
    {                                                                                              \
        BFD_GO, next_, BFD_DIAG_##diag_, why_                                                      \
    }
#define STAY(why_)                                                                                 \
    {                                                                                              \
        BFD_STAY, BFD_ADMIN_DOWN, BFD_DIAG_NONE, why_                                              \
    }
#define CLOSED STAY("switched off on our side: what a peer says does not count")

static const struct bfd_rule rules[BFD_STATES][BFD_EVENTS] =
    {
        [BFD_ADMIN_DOWN] =
            {
                [BFD_HEARD_ADMIN_DOWN] = CLOSED,
                [BFD_HEARD_DOWN] = CLOSED,
                [BFD_HEARD_INIT] = CLOSED,
                [BFD_HEARD_UP] = CLOSED,
                [BFD_SILENCE] = STAY("switched off on our side: nobody is expected to speak"),
                [BFD_PATH_LOST] = STAY("switched off on our side, with or without an interface"),
                [BFD_DISABLE] = STAY("already switched off"),
                [BFD_ENABLE] = GO(BFD_DOWN, NONE, "switched on"),
            },
        [BFD_DOWN] =
            {
                [BFD_HEARD_ADMIN_DOWN] = STAY("the peer is switched off"),
                [BFD_HEARD_DOWN] = GO(BFD_INIT, NONE, "we hear the peer"),
                [BFD_HEARD_INIT] = GO(BFD_UP, NONE, "the peer hears us, and we hear it"),
                [BFD_HEARD_UP] = STAY("the peer has not noticed yet that we were down"),
                [BFD_SILENCE] = STAY("down already"),
                [BFD_PATH_LOST] = GO(BFD_DOWN, PATH, "our interface is gone"),
                [BFD_DISABLE] = GO(BFD_ADMIN_DOWN, ADMIN, "switched off on our side"),
                [BFD_ENABLE] = STAY("already switched on"),
            },
        [BFD_INIT] =
            {
                [BFD_HEARD_ADMIN_DOWN] = GO(BFD_DOWN, NEIGHBOUR, "the peer is switched off"),
                [BFD_HEARD_DOWN] = STAY("the peer does not hear us yet"),
                [BFD_HEARD_INIT] = GO(BFD_UP, NONE, "the peer hears us, and we hear it"),
                [BFD_HEARD_UP] = GO(BFD_UP, NONE, "the peer hears us, and we hear it"),
                [BFD_SILENCE] = GO(BFD_DOWN, SILENCE, "the peer is silent"),
                [BFD_PATH_LOST] = GO(BFD_DOWN, PATH, "our interface is gone"),
                [BFD_DISABLE] = GO(BFD_ADMIN_DOWN, ADMIN, "switched off on our side"),
                [BFD_ENABLE] = STAY("already switched on"),
            },
        [BFD_UP] =
            {
                [BFD_HEARD_ADMIN_DOWN] = GO(BFD_DOWN, NEIGHBOUR, "the peer is switched off"),
                [BFD_HEARD_DOWN] = GO(BFD_DOWN, NEIGHBOUR, "the peer says that it is down"),
                [BFD_HEARD_INIT] = STAY("the peer has not heard yet that we are up"),
                [BFD_HEARD_UP] = STAY("as it should be"),
                [BFD_SILENCE] = GO(BFD_DOWN, SILENCE, "the peer is silent"),
                [BFD_PATH_LOST] = GO(BFD_DOWN, PATH, "our interface is gone"),
                [BFD_DISABLE] = GO(BFD_ADMIN_DOWN, ADMIN, "switched off on our side"),
                [BFD_ENABLE] = STAY("already switched on"),
            },
};

struct bfd_rule bfd_rule(enum bfd_state state, enum bfd_event event)
{
    HF_ASSERT((unsigned)state < BFD_STATES);
    HF_ASSERT((unsigned)event < BFD_EVENTS);
    return rules[state][event];
}

/* ---- what is in force ---- */

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Desired Min TX as we tell it: slow until up (6.8.3). */
static uint32_t told_min_tx(const struct bfd *b)
{
    return b->state == BFD_UP ? b->wanted.min_tx_us : larger(b->wanted.min_tx_us, BFD_SLOW_US);
}

/* 6.8.3: while a poll sequence runs, slower sending must not begin yet. */
static uint32_t used_min_tx(const struct bfd *b)
{
    return b->is_polling ? smaller(told_min_tx(b), b->before.min_tx_us) : told_min_tx(b);
}

/* 6.8.3: and a faster peer must not be expected yet. */
static uint32_t used_min_rx(const struct bfd *b)
{
    return b->is_polling ? larger(b->wanted.min_rx_us, b->before.min_rx_us) : b->wanted.min_rx_us;
}

/* 6.8.4. */
int64_t bfd_detection_ns(const struct bfd *b)
{
    return (int64_t)b->their_multiplier * larger(used_min_rx(b), b->their_min_tx_us) * NS_PER_US;
}

hf_time bfd_silent_at(const struct bfd *b)
{
    if (!b->is_heard)
        return BFD_NEVER;
    return (hf_time){b->heard.ns + bfd_detection_ns(b)};
}

/* 6.8.7: the interval that runs, shortened by chance so that sessions do not march in step. */
static int64_t interval_ns(const struct bfd *b)
{
    int64_t full = (int64_t)larger(used_min_tx(b), b->their_min_rx_us) * NS_PER_US;

    return full - full / SHARES * b->shortening;
}

/* 6.8.7: what is to be told now, without P and F. */
static struct bfd_packet told(const struct bfd *b)
{
    return (struct bfd_packet){
        .diag = (uint8_t)b->diag,
        .state = b->state,
        .multiplier = b->wanted.multiplier,
        .my = b->my,
        .your = b->your,
        .min_tx_us = told_min_tx(b),
        .min_rx_us = b->wanted.min_rx_us,
    };
}

/* Of packets that have the same sender, P and F not counted. */
static bool is_same(const struct bfd_packet *a, const struct bfd_packet *b)
{
    return a->diag == b->diag && a->state == b->state && a->multiplier == b->multiplier &&
           a->your == b->your && a->min_tx_us == b->min_tx_us && a->min_rx_us == b->min_rx_us;
}

/* 6.8.7: who is told so must not be sent packets again and again. */
static bool is_asked_to_be_quiet(const struct bfd *b)
{
    return b->their_min_rx_us == 0 ||
           (b->their_demand && b->state == BFD_UP && b->their_state == BFD_UP && !b->is_polling);
}

hf_time bfd_due_at(const struct bfd *b)
{
    struct bfd_packet now = told(b);

    /* Changed contents are told at once: 6.8.7, "in order to more rapidly communicate a change". */
    if (!b->has_sent || b->owes_final || !is_same(&now, &b->told))
        return b->since;
    if (is_asked_to_be_quiet(b))
        return BFD_NEVER;
    return (hf_time){b->sent.ns + interval_ns(b)};
}

/* ---- transitions ---- */

/* What a peer that is not heard has said no longer holds: 6.8.1, as at the beginning. Its last
 * state and diagnostic are kept: they tell a farewell from a silence. */
static void forget(struct bfd *b)
{
    b->is_heard = false;
    b->your = 0;
    b->their_demand = false;
    b->their_min_rx_us = 1;
    b->their_min_tx_us = 0;
    b->owes_final = false;
}

static void record(struct bfd *b, enum bfd_state was, enum bfd_event event, const char *why,
                   struct bfd_changes *changes)
{
    HF_ASSERT(changes->count < BFD_CHANGES_MAX);
    changes->change[changes->count++] = (struct bfd_change){.was = was,
                                                            .now = b->state,
                                                            .event = event,
                                                            .diag = b->diag,
                                                            .their_diag = b->their_diag,
                                                            .at = b->since,
                                                            .why = why};
}

/* The one place that assigns the state. */
static void apply(struct bfd *b, enum bfd_event event, hf_time at, struct bfd_changes *changes)
{
    struct bfd_rule rule = bfd_rule(b->state, event);
    enum bfd_state was = b->state;

    HF_ASSERT(rule.verdict != BFD_UNDECIDED);
    if (rule.verdict != BFD_GO)
        return;
    /* On the way up the reason of the last failure is still told: the peer has not heard it. */
    if (rule.next != BFD_INIT)
        b->diag = rule.diag;
    b->state = rule.next;
    b->is_polling = false;
    b->is_poll_stale = false;
    if (b->state == was)
        return;
    b->since = at;
    if (was == BFD_UP)
        b->falls++;
    if (b->state == BFD_UP) {
        b->was_up = true;
        /* 6.8.3: from slow to what is wanted is a change of timing like any other. */
        b->before = b->wanted;
        b->before.min_tx_us = larger(b->wanted.min_tx_us, BFD_SLOW_US);
        b->is_polling = b->before.min_tx_us != b->wanted.min_tx_us;
    }
    record(b, was, event, rule.why, changes);
}

static void expire(struct bfd *b, hf_time now, struct bfd_changes *changes)
{
    hf_time over = bfd_silent_at(b);

    if (!hf_time_reached(now, over))
        return;
    forget(b);
    apply(b, BFD_SILENCE, over, changes);
}

void bfd_apply(struct bfd *b, enum bfd_event event, hf_time now, struct bfd_changes *changes)
{
    HF_ASSERT(event == BFD_PATH_LOST || event == BFD_DISABLE || event == BFD_ENABLE);
    changes->count = 0;
    if (event == BFD_PATH_LOST || (event == BFD_ENABLE && b->state == BFD_ADMIN_DOWN))
        forget(b);
    apply(b, event, now, changes);
    /* Without a path, or with our own ears closed, silence says nothing about a peer. */
    if (event != BFD_ENABLE) {
        b->was_up = false;
        b->their_state = BFD_DOWN;
        b->their_diag = BFD_DIAG_NONE;
    }
    bfd_check(b);
}

static void check_timing(const struct bfd_timing *timing)
{
    HF_ASSERT(timing->min_tx_us != 0);
    HF_ASSERT(timing->min_rx_us != 0);
    HF_ASSERT(timing->multiplier != 0);
}

void bfd_init(struct bfd *b, const struct bfd_timing *timing, uint32_t my, uint64_t seed,
              hf_time now)
{
    HF_ASSERT(my != 0);
    check_timing(timing);
    *b = (struct bfd){.state = BFD_DOWN,
                      .my = my,
                      .wanted = *timing,
                      .their_state = BFD_DOWN,
                      .their_min_rx_us = 1, /* 6.8.1 */
                      .since = now,
                      .rng = hf_rng_seeded(seed)};
    bfd_check(b);
}

void bfd_retime(struct bfd *b, const struct bfd_timing *timing)
{
    uint32_t min_tx_us = used_min_tx(b);
    uint32_t min_rx_us = used_min_rx(b);

    check_timing(timing);
    if (timing->min_tx_us != b->wanted.min_tx_us || timing->min_rx_us != b->wanted.min_rx_us) {
        b->is_poll_stale = b->is_polling;
        b->is_polling = b->state == BFD_UP;
        b->before = (struct bfd_timing){.min_tx_us = min_tx_us, .min_rx_us = min_rx_us};
    }
    b->wanted = *timing;
    bfd_check(b);
}

/* ---- packets ---- */

hf_time bfd_arrival(hf_wall stamp, hf_wall wall, hf_time now, hf_time empty)
{
    int64_t age = stamp.ns < wall.ns ? wall.ns - stamp.ns : 0;

    if (now.ns <= empty.ns || age == 0)
        return now;
    if (age > now.ns - empty.ns)
        return empty;
    return (hf_time){now.ns - age};
}

static void take_final(struct bfd *b)
{
    if (!b->is_polling)
        return;
    if (b->is_poll_stale)
        b->is_poll_stale = false;
    else
        b->is_polling = false;
}

enum bfd_drop bfd_receive(struct bfd *b, const struct bfd_packet *packet, hf_time arrived,
                          struct bfd_changes *changes)
{
    changes->count = 0;
    if (packet->your != 0 && packet->your != b->my)
        return BFD_DROP_DISCRIMINATOR;
    if (packet->your == 0 && packet->state != BFD_DOWN && packet->state != BFD_ADMIN_DOWN)
        return BFD_DROP_YOUR;
    if (b->heard.ns > arrived.ns)
        arrived = b->heard;
    expire(b, arrived, changes);

    b->your = packet->my;
    b->their_state = packet->state;
    b->their_diag = packet->diag;
    b->their_multiplier = packet->multiplier;
    b->their_demand = packet->demand;
    b->their_min_tx_us = packet->min_tx_us;
    b->their_min_rx_us = packet->min_rx_us;
    if (packet->final)
        take_final(b);
    /* 6.8.6: from here on a session that is switched off does not listen. */
    if (b->state == BFD_ADMIN_DOWN) {
        bfd_check(b);
        return BFD_DROP_DISABLED;
    }
    b->is_heard = true;
    b->heard = arrived;
    apply(b, (enum bfd_event)(BFD_HEARD_ADMIN_DOWN + (unsigned)packet->state), arrived, changes);
    if (packet->poll)
        b->owes_final = true;
    bfd_check(b);
    return BFD_DROP_NONE;
}

void bfd_tick(struct bfd *b, hf_time now, struct bfd_changes *changes)
{
    changes->count = 0;
    expire(b, now, changes);
    bfd_check(b);
}

hf_time bfd_next_at(const struct bfd *b)
{
    hf_time due = bfd_due_at(b);
    hf_time silent = bfd_silent_at(b);

    return due.ns < silent.ns ? due : silent;
}

bool bfd_send(struct bfd *b, hf_time now, struct bfd_packet *out)
{
    if (!hf_time_reached(now, bfd_due_at(b)))
        return false;
    b->told = told(b);
    b->has_sent = true;
    b->sent = now;
    b->shortening = (uint32_t)hf_rng_between(
        &b->rng, b->wanted.multiplier == 1 ? SHORTENING_LONELY : 0, SHORTENING_MAX);
    *out = b->told;
    /* 6.8.7: never both; the answer goes first, the question again with the next one. */
    out->final = b->owes_final;
    out->poll = b->is_polling && !b->owes_final;
    b->owes_final = false;
    bfd_check(b);
    return true;
}

/* ---- for the judge ---- */

static enum bfd_peer peer_of(const struct bfd *b)
{
    if (b->state == BFD_UP)
        return BFD_PEER_UP;
    if (b->state == BFD_ADMIN_DOWN)
        return BFD_PEER_UNKNOWN;
    if (b->was_up && b->their_state == BFD_ADMIN_DOWN)
        return BFD_PEER_LEFT;
    if (!b->is_heard)
        return b->was_up ? BFD_PEER_SILENT : BFD_PEER_UNKNOWN;
    if (b->was_up && b->their_state == BFD_DOWN && b->their_diag == BFD_DIAG_SILENCE)
        return BFD_PEER_DEAF;
    return BFD_PEER_COMING;
}

struct bfd_view bfd_view(const struct bfd *b)
{
    return (struct bfd_view){
        .peer = peer_of(b), .since = b->since, .heard = b->heard, .falls = b->falls};
}

static void count_peer(struct bfd_summary *out, const struct bfd_view *view)
{
    switch (view->peer) {
    case BFD_PEER_UNKNOWN:
    case BFD_PEER_COMING:
    case BFD_PEERS:
        return;
    case BFD_PEER_UP:
        out->up++;
        return;
    case BFD_PEER_LEFT:
        out->left++;
        return;
    case BFD_PEER_DEAF:
        out->deaf++;
        break;
    case BFD_PEER_SILENT:
        out->silent++;
        break;
    }
    if (view->heard.ns > out->silent_since.ns)
        out->silent_since = view->heard;
}

void bfd_summarize(const struct bfd *sessions, uint32_t count, bool is_open,
                   struct bfd_summary *out)
{
    HF_ASSERT(count <= BFD_PEERS_MAX);
    *out = (struct bfd_summary){.is_open = is_open, .peers = (uint8_t)count};
    for (uint32_t i = 0; i < count; i++) {
        struct bfd_view view = bfd_view(&sessions[i]);

        out->peer[i] = view;
        count_peer(out, &view);
    }
    if (out->up > 0)
        out->silent_since = (hf_time){0};
}

void bfd_check(const struct bfd *b)
{
    HF_ASSERT((unsigned)b->state < BFD_STATES);
    HF_ASSERT((unsigned)b->diag < BFD_DIAGS);
    HF_ASSERT(b->my != 0);
    HF_ASSERT(b->wanted.multiplier != 0);
    HF_ASSERT(!b->is_polling || b->state == BFD_UP);
    HF_ASSERT(!b->is_poll_stale || b->is_polling);
    HF_ASSERT(!b->is_heard || b->their_multiplier != 0);
    HF_ASSERT(b->state != BFD_UP || b->is_heard);
    HF_ASSERT(b->state != BFD_INIT || b->is_heard);
}

/* ---- names ---- */

static const char *const state_names[BFD_STATES] = {
    [BFD_ADMIN_DOWN] = "admin down",
    [BFD_DOWN] = "down",
    [BFD_INIT] = "init",
    [BFD_UP] = "up",
};

/* As RFC 5880 has them. */
static const char *const diag_names[BFD_DIAGS] = {
    [BFD_DIAG_NONE] = "no diagnostic",
    [BFD_DIAG_SILENCE] = "control detection time expired",
    [BFD_DIAG_ECHO] = "echo function failed",
    [BFD_DIAG_NEIGHBOUR] = "neighbor signaled session down",
    [BFD_DIAG_FORWARDING] = "forwarding plane reset",
    [BFD_DIAG_PATH] = "path down",
    [BFD_DIAG_CONCATENATED] = "concatenated path down",
    [BFD_DIAG_ADMIN] = "administratively down",
    [BFD_DIAG_REVERSE] = "reverse concatenated path down",
};

static const char *const peer_names[BFD_PEERS] = {
    [BFD_PEER_UNKNOWN] = "unknown", [BFD_PEER_COMING] = "coming", [BFD_PEER_UP] = "up",
    [BFD_PEER_LEFT] = "left",       [BFD_PEER_DEAF] = "deaf",     [BFD_PEER_SILENT] = "silent",
};

const char *bfd_state_name(enum bfd_state s)
{
    return (unsigned)s < BFD_STATES ? state_names[s] : "?";
}

const char *bfd_diag_name(uint8_t diag)
{
    return diag < BFD_DIAGS ? diag_names[diag] : "?";
}

const char *bfd_peer_name(enum bfd_peer p)
{
    return (unsigned)p < BFD_PEERS ? peer_names[p] : "?";
}
