#include "fencing/feeder/feed.h"
#include "tests/unit/check.h"

/* A timeout of 10 s, a lease of 2 s, and a clock that reads 100 s. */
#define MS(ms_) ((hf_time){(ms_)*HF_NS_PER_MS})
enum { NOW = 100000, TIMEOUT = 10000, LEASE = 2000 };

/* ---- the truth table ---- */

struct row {
    enum feed_stage stage;
    enum feed_want want;
    enum feed_cover cover;
    enum feed_act act;
};

/* clang-format off */
static const struct row rows[] = {
    /* closed: opened only when wanted, and only on a lease */
    {FEED_CLOSED, FEED_UNTOLD,      FEED_BARE,  FEED_WAIT},
    {FEED_CLOSED, FEED_UNTOLD,      FEED_HOLD,  FEED_WAIT},
    {FEED_CLOSED, FEED_UNTOLD,      FEED_LEASE, FEED_WAIT},
    {FEED_CLOSED, FEED_UNWANTED,    FEED_BARE,  FEED_WAIT},
    {FEED_CLOSED, FEED_UNWANTED,    FEED_HOLD,  FEED_WAIT},
    {FEED_CLOSED, FEED_UNWANTED,    FEED_LEASE, FEED_WAIT},
    {FEED_CLOSED, FEED_WANTED,      FEED_BARE,  FEED_WAIT},
    {FEED_CLOSED, FEED_WANTED,      FEED_HOLD,  FEED_WAIT},
    {FEED_CLOSED, FEED_WANTED,      FEED_LEASE, FEED_OPEN},
    /* open, not yet seen to obey: tried while covered, never closed for lack of a lease */
    {FEED_UNPROVED, FEED_UNTOLD,      FEED_BARE,  FEED_STARVE},
    {FEED_UNPROVED, FEED_UNTOLD,      FEED_HOLD,  FEED_PROVE},
    {FEED_UNPROVED, FEED_UNTOLD,      FEED_LEASE, FEED_PROVE},
    {FEED_UNPROVED, FEED_UNWANTED,    FEED_BARE,  FEED_CLOSE},
    {FEED_UNPROVED, FEED_UNWANTED,    FEED_HOLD,  FEED_CLOSE},
    {FEED_UNPROVED, FEED_UNWANTED,    FEED_LEASE, FEED_CLOSE},
    {FEED_UNPROVED, FEED_UNSTOPPABLE, FEED_BARE,  FEED_PING},
    {FEED_UNPROVED, FEED_UNSTOPPABLE, FEED_HOLD,  FEED_PING},
    {FEED_UNPROVED, FEED_UNSTOPPABLE, FEED_LEASE, FEED_PING},
    {FEED_UNPROVED, FEED_WANTED,      FEED_BARE,  FEED_STARVE},
    {FEED_UNPROVED, FEED_WANTED,      FEED_HOLD,  FEED_PROVE},
    {FEED_UNPROVED, FEED_WANTED,      FEED_LEASE, FEED_PROVE},
    /* armed: fed by lease or hold, closed only when not wanted */
    {FEED_ARMED, FEED_UNTOLD,      FEED_BARE,  FEED_STARVE},
    {FEED_ARMED, FEED_UNTOLD,      FEED_HOLD,  FEED_PING},
    {FEED_ARMED, FEED_UNTOLD,      FEED_LEASE, FEED_PING},
    {FEED_ARMED, FEED_UNWANTED,    FEED_BARE,  FEED_CLOSE},
    {FEED_ARMED, FEED_UNWANTED,    FEED_HOLD,  FEED_CLOSE},
    {FEED_ARMED, FEED_UNWANTED,    FEED_LEASE, FEED_CLOSE},
    {FEED_ARMED, FEED_UNSTOPPABLE, FEED_BARE,  FEED_PING},
    {FEED_ARMED, FEED_UNSTOPPABLE, FEED_HOLD,  FEED_PING},
    {FEED_ARMED, FEED_UNSTOPPABLE, FEED_LEASE, FEED_PING},
    {FEED_ARMED, FEED_WANTED,      FEED_BARE,  FEED_STARVE},
    {FEED_ARMED, FEED_WANTED,      FEED_HOLD,  FEED_PING},
    {FEED_ARMED, FEED_WANTED,      FEED_LEASE, FEED_PING},
};
/* clang-format on */
enum { ROWS = sizeof rows / sizeof rows[0] };

static struct feed_device device_in(enum feed_stage stage, enum feed_want want)
{
    return (struct feed_device){.is_open = stage != FEED_CLOSED,
                                .is_proved = stage == FEED_ARMED,
                                .can_close = want != FEED_UNSTOPPABLE,
                                .timeout_ms = TIMEOUT,
                                .lease_ms = LEASE,
                                .fed = MS(NOW - TIMEOUT),
                                .prove_at = MS(NOW)};
}

static struct feed_word word_in(enum feed_want want, enum feed_cover cover)
{
    return (struct feed_word){.is_told = want != FEED_UNTOLD,
                              .wants_armed = want == FEED_WANTED,
                              .timeout_ms = TIMEOUT,
                              .lease_ms = LEASE,
                              .sent = MS(cover == FEED_LEASE ? NOW - LEASE + 1 : NOW - LEASE),
                              .hold_until = MS(cover == FEED_HOLD ? NOW + 1 : 0)};
}

START_TEST(every_row_of_the_table)
{
    const struct row *row = &rows[_i];
    struct feed_device device = device_in(row->stage, row->want);
    struct feed_word word = word_in(row->want, row->cover);
    struct feed_verdict v = feed(&word, &device, MS(NOW));

    ck_assert_int_eq(v.stage, row->stage);
    ck_assert_int_eq(v.want, row->want);
    ck_assert_int_eq(v.cover, row->cover);
    ck_assert_int_eq(v.rule, row->act);
    ck_assert_ptr_nonnull(v.why);
    /* All was due: what does something is done now. */
    ck_assert_int_eq(v.act, row->act == FEED_STARVE ? FEED_WAIT : row->act);
}
END_TEST

START_TEST(the_table_is_total)
{
    unsigned seen[FEED_STAGES][FEED_WANTS][FEED_COVERS] = {{{0}}};

    for (unsigned i = 0; i < ROWS; i++)
        seen[rows[i].stage][rows[i].want][rows[i].cover]++;
    for (unsigned s = 0; s < FEED_STAGES; s++)
        for (unsigned w = 0; w < FEED_WANTS; w++)
            for (unsigned c = 0; c < FEED_COVERS; c++)
                /* A closed device is never in the way. */
                ck_assert_uint_eq(seen[s][w][c], s == FEED_CLOSED && w == FEED_UNSTOPPABLE ? 0 : 1);
}
END_TEST

START_TEST(without_a_cover_an_armed_device_is_never_pinged_and_never_closed)
{
    struct feed_device device = device_in(FEED_ARMED, FEED_WANTED);
    struct feed_word word = word_in(FEED_WANTED, FEED_BARE);

    for (int64_t ms = NOW; ms < NOW + 10 * TIMEOUT; ms += 100) {
        struct feed_verdict v = feed(&word, &device, MS(ms));

        ck_assert_int_eq(v.act, FEED_WAIT);
        ck_assert_int_eq(v.next.ns, FEED_NEVER.ns);
    }
}
END_TEST

/* ---- when ---- */

START_TEST(it_is_pinged_every_fifth_of_the_timeout)
{
    struct feed_device device = device_in(FEED_ARMED, FEED_WANTED);
    struct feed_word word = word_in(FEED_WANTED, FEED_LEASE);

    device.lease_ms = 60000;
    device.fed = MS(NOW);
    ck_assert_int_eq(feed(&word, &device, MS(NOW)).act, FEED_WAIT);
    ck_assert_int_eq(feed(&word, &device, MS(NOW)).next.ns, MS(NOW + 2000).ns);
    ck_assert_int_eq(feed(&word, &device, MS(NOW + 1999)).act, FEED_WAIT);
    ck_assert_int_eq(feed(&word, &device, MS(NOW + 2000)).act, FEED_PING);
}
END_TEST

START_TEST(it_wakes_when_the_lease_ends_before_the_next_ping)
{
    struct feed_device device = device_in(FEED_ARMED, FEED_WANTED);
    struct feed_word word = word_in(FEED_WANTED, FEED_LEASE);

    device.fed = MS(NOW);
    ck_assert_int_eq(feed(&word, &device, MS(NOW)).next.ns, MS(NOW + 1).ns);
    ck_assert_int_eq(feed(&word, &device, MS(NOW + 1)).rule, FEED_STARVE);
}
END_TEST

START_TEST(the_lease_ends_on_the_nanosecond)
{
    struct feed_device device = device_in(FEED_ARMED, FEED_WANTED);
    struct feed_word word = word_in(FEED_WANTED, FEED_BARE);
    hf_time expiry = feed_expiry(&word, &device);

    ck_assert_int_eq(expiry.ns, MS(NOW).ns);
    ck_assert_int_eq(feed(&word, &device, (hf_time){expiry.ns - 1}).act, FEED_PING);
    ck_assert_int_eq(feed(&word, &device, expiry).act, FEED_WAIT);
}
END_TEST

START_TEST(a_device_that_would_not_open_is_left_alone_for_a_while)
{
    struct feed_device device = {.retry_at = MS(NOW + 500)};
    struct feed_word word = word_in(FEED_WANTED, FEED_LEASE);

    word.lease_ms = 5000;
    ck_assert_int_eq(feed(&word, &device, MS(NOW)).act, FEED_WAIT);
    ck_assert_int_eq(feed(&word, &device, MS(NOW)).next.ns, MS(NOW + 500).ns);
    ck_assert_int_eq(feed(&word, &device, MS(NOW + 500)).act, FEED_OPEN);
}
END_TEST

START_TEST(a_device_is_tried_a_while_after_it_was_opened)
{
    struct feed_device device = device_in(FEED_UNPROVED, FEED_WANTED);
    struct feed_word word = word_in(FEED_WANTED, FEED_LEASE);

    device.lease_ms = 60000;
    device.prove_at = MS(NOW + 1200);
    ck_assert_int_eq(feed(&word, &device, MS(NOW)).act, FEED_WAIT);
    ck_assert_int_eq(feed(&word, &device, MS(NOW)).next.ns, MS(NOW + 1200).ns);
    ck_assert_int_eq(feed(&word, &device, MS(NOW + 1200)).act, FEED_PROVE);
}
END_TEST

START_TEST(an_unfit_device_that_cannot_be_stopped_is_fed_for_ever)
{
    struct feed_device device = device_in(FEED_UNPROVED, FEED_UNSTOPPABLE);
    struct feed_word word = word_in(FEED_WANTED, FEED_BARE);

    device.is_unfit = true;
    ck_assert_int_eq(feed(&word, &device, MS(NOW)).want, FEED_UNSTOPPABLE);
    ck_assert_int_eq(feed(&word, &device, MS(NOW)).act, FEED_PING);
}
END_TEST

/* ---- what the daemon says ---- */

static const struct feed_word plain = {
    .wants_armed = true, .timeout_ms = TIMEOUT, .lease_ms = LEASE};

static struct feed_word said(int64_t sent_ms, int64_t hold_ms)
{
    struct feed_word word = plain;

    word.sent = MS(sent_ms);
    word.hold_until = MS(hold_ms);
    return word;
}

static void tell(struct feed_word *word, struct feed_word what, int64_t now_ms)
{
    feed_told(word, &what, MS(now_ms));
}

START_TEST(a_larger_lease_does_not_stretch_what_was_attested)
{
    struct feed_device device = device_in(FEED_ARMED, FEED_WANTED);
    struct feed_word word = {0}, more = said(NOW, 0);

    more.lease_ms = 30000;
    tell(&word, more, NOW);
    ck_assert_int_eq(feed_expiry(&word, &device).ns, MS(NOW + LEASE).ns);
    device.is_open = false;
    ck_assert_int_eq(feed_expiry(&word, &device).ns, MS(NOW + 30000).ns);
}
END_TEST

START_TEST(another_timeout_neither_closes_nor_opens_it)
{
    struct feed_device device = device_in(FEED_ARMED, FEED_WANTED);
    struct feed_word word = {0}, other = said(NOW, 0);

    other.timeout_ms = 30000;
    tell(&word, other, NOW);
    ck_assert_int_eq(feed(&word, &device, MS(NOW)).act, FEED_PING);
}
END_TEST

START_TEST(a_beat_from_the_future_is_ignored)
{
    struct feed_word word = {0};

    tell(&word, said(NOW - 500, 0), NOW);
    tell(&word, said(NOW + 1, 0), NOW);
    ck_assert_int_eq(word.sent.ns, MS(NOW - 500).ns);
    tell(&word, said(INT64_MAX / HF_NS_PER_MS, 0), NOW);
    ck_assert_int_eq(word.sent.ns, MS(NOW - 500).ns);
    tell(&word, said(-5, 0), NOW);
    ck_assert_int_eq(word.sent.ns, MS(NOW - 500).ns);
}
END_TEST

START_TEST(a_clock_that_went_back_covers_nothing)
{
    struct feed_device device = device_in(FEED_ARMED, FEED_WANTED);
    struct feed_word word = {0};

    tell(&word, said(NOW, 0), NOW);
    ck_assert_int_eq(feed(&word, &device, MS(NOW - 1)).cover, FEED_BARE);
}
END_TEST

START_TEST(an_older_beat_takes_nothing_back)
{
    struct feed_word word = {0};

    tell(&word, said(NOW - 500, 0), NOW);
    tell(&word, said(NOW - 900, 0), NOW);
    tell(&word, said(0, 0), NOW);
    ck_assert_int_eq(word.sent.ns, MS(NOW - 500).ns);
}
END_TEST

START_TEST(a_newer_lease_feeds_again)
{
    struct feed_device device = device_in(FEED_ARMED, FEED_WANTED);
    struct feed_word word = {0};

    tell(&word, said(NOW - LEASE, 0), NOW - LEASE);
    ck_assert_int_eq(feed(&word, &device, MS(NOW)).rule, FEED_STARVE);
    tell(&word, said(NOW, 0), NOW);
    ck_assert_int_eq(feed(&word, &device, MS(NOW)).act, FEED_PING);
}
END_TEST

START_TEST(a_hold_feeds_without_a_lease_and_then_ends)
{
    struct feed_device device = device_in(FEED_ARMED, FEED_WANTED);
    struct feed_word word = {0};

    tell(&word, said(0, NOW + 60000), NOW);
    ck_assert_int_eq(feed(&word, &device, MS(NOW)).act, FEED_PING);
    ck_assert_int_eq(feed(&word, &device, MS(NOW + 59999)).act, FEED_PING);
    ck_assert_int_eq(feed(&word, &device, MS(NOW + 60000)).rule, FEED_STARVE);
}
END_TEST

START_TEST(a_daemon_that_says_no_hold_ends_it)
{
    struct feed_device device = device_in(FEED_ARMED, FEED_WANTED);
    struct feed_word word = {0};

    tell(&word, said(0, NOW + 60000), NOW);
    tell(&word, said(0, 0), NOW + 1000);
    ck_assert_int_eq(feed(&word, &device, MS(NOW + 1000)).rule, FEED_STARVE);
}
END_TEST

START_TEST(a_hold_is_at_most_ten_minutes_however_often_it_is_said)
{
    struct feed_word word = {0};

    for (int64_t ms = NOW; ms < NOW + 2 * FEED_HOLD_MS_MAX; ms += 1000) {
        tell(&word, said(0, INT64_MAX / HF_NS_PER_MS), ms);
        ck_assert_int_eq(word.hold_until.ns, MS(NOW + FEED_HOLD_MS_MAX).ns);
    }
    tell(&word, said(0, 0), 2 * NOW);
    tell(&word, said(0, 3 * NOW), 2 * NOW);
    ck_assert_int_eq(word.hold_until.ns, MS(3 * NOW).ns);
}
END_TEST

START_TEST(nonsense_does_not_fit)
{
    struct feed_word word = said(NOW, 0);

    ck_assert(feed_fits(&word));
    word.timeout_ms = 999;
    ck_assert(!feed_fits(&word));
    word.timeout_ms = UINT32_MAX;
    ck_assert(!feed_fits(&word));
    word = said(NOW, 0);
    word.lease_ms = 0;
    ck_assert(!feed_fits(&word));
    word.lease_ms = FEED_LEASE_MS_MAX + 1;
    ck_assert(!feed_fits(&word));
    word = (struct feed_word){.wants_armed = false};
    ck_assert(feed_fits(&word));
}
END_TEST

HF_TEST_MAIN("fencing/feeder/feed", HF_LOOP(every_row_of_the_table, 0, ROWS),
             HF_CASE(the_table_is_total),
             HF_CASE(without_a_cover_an_armed_device_is_never_pinged_and_never_closed),
             HF_CASE(it_is_pinged_every_fifth_of_the_timeout),
             HF_CASE(it_wakes_when_the_lease_ends_before_the_next_ping),
             HF_CASE(the_lease_ends_on_the_nanosecond),
             HF_CASE(a_device_that_would_not_open_is_left_alone_for_a_while),
             HF_CASE(a_device_is_tried_a_while_after_it_was_opened),
             HF_CASE(an_unfit_device_that_cannot_be_stopped_is_fed_for_ever),
             HF_CASE(a_larger_lease_does_not_stretch_what_was_attested),
             HF_CASE(another_timeout_neither_closes_nor_opens_it),
             HF_CASE(a_beat_from_the_future_is_ignored),
             HF_CASE(a_clock_that_went_back_covers_nothing),
             HF_CASE(an_older_beat_takes_nothing_back), HF_CASE(a_newer_lease_feeds_again),
             HF_CASE(a_hold_feeds_without_a_lease_and_then_ends),
             HF_CASE(a_daemon_that_says_no_hold_ends_it),
             HF_CASE(a_hold_is_at_most_ten_minutes_however_often_it_is_said),
             HF_CASE(nonsense_does_not_fit))
