#include "fencing/feeder/feed.h"

#include "supervisord/base/assert.h"

struct rule {
    enum feed_act act;
    const char *why;
};

/* An open device was opened on somebody's word, so UNTOLD next to open cannot be: it would go on as
 * wanted, the side that protects. */
static const struct rule
    rules[FEED_STAGES][FEED_WANTS][FEED_COVERS] =
        {
            [FEED_CLOSED] =
                {
                    [FEED_UNTOLD] =
                        {
                            [FEED_BARE] = {FEED_WAIT, "the daemon has not spoken yet"},
                            [FEED_HOLD] = {FEED_WAIT, "the daemon has not spoken yet"},
                            [FEED_LEASE] = {FEED_WAIT, "the daemon has not spoken yet"},
                        },
                    [FEED_UNWANTED] =
                        {
                            [FEED_BARE] = {FEED_WAIT, "not wanted"},
                            [FEED_HOLD] = {FEED_WAIT, "not wanted"},
                            [FEED_LEASE] = {FEED_WAIT, "not wanted"},
                        },
                    [FEED_UNSTOPPABLE] =
                        {
                            [FEED_BARE] = {FEED_WAIT, "not wanted, and not started"},
                            [FEED_HOLD] = {FEED_WAIT, "not wanted, and not started"},
                            [FEED_LEASE] = {FEED_WAIT, "not wanted, and not started"},
                        },
                    [FEED_WANTED] =
                        {
                            [FEED_BARE] = {FEED_WAIT,
                                           "armed last: the group has not echoed a beat yet"},
                            [FEED_HOLD] = {FEED_WAIT,
                                           "armed last: a hold keeps fed, it does not arm"},
                            [FEED_LEASE] = {FEED_OPEN, "the lease holds"},
                        },
                },
            [FEED_UNPROVED] =
                {
                    [FEED_UNTOLD] =
                        {
                            [FEED_BARE] = {FEED_STARVE, "the lease is over: not fed"},
                            [FEED_HOLD] = {FEED_PROVE, "tried before it counts"},
                            [FEED_LEASE] = {FEED_PROVE, "tried before it counts"},
                        },
                    [FEED_UNWANTED] =
                        {
                            [FEED_BARE] = {FEED_CLOSE, "not wanted"},
                            [FEED_HOLD] = {FEED_CLOSE, "not wanted"},
                            [FEED_LEASE] = {FEED_CLOSE, "not wanted"},
                        },
                    [FEED_UNSTOPPABLE] =
                        {
                            [FEED_BARE] = {FEED_PING, "cannot be stopped: fed without a lease"},
                            [FEED_HOLD] = {FEED_PING, "cannot be stopped: fed without a lease"},
                            [FEED_LEASE] = {FEED_PING, "cannot be stopped: fed without a lease"},
                        },
                    [FEED_WANTED] =
                        {
                            [FEED_BARE] = {FEED_STARVE, "the lease is over: not fed"},
                            [FEED_HOLD] = {FEED_PROVE, "tried before it counts"},
                            [FEED_LEASE] = {FEED_PROVE, "tried before it counts"},
                        },
                },
            [FEED_ARMED] =
                {
                    [FEED_UNTOLD] =
                        {
                            [FEED_BARE] = {FEED_STARVE, "the lease is over: not fed"},
                            [FEED_HOLD] = {FEED_PING,
                                           "held: the daemon is away for a while, as announced"},
                            [FEED_LEASE] = {FEED_PING, "the lease holds"},
                        },
                    [FEED_UNWANTED] =
                        {
                            [FEED_BARE] = {FEED_CLOSE, "not wanted any more"},
                            [FEED_HOLD] = {FEED_CLOSE, "not wanted any more"},
                            [FEED_LEASE] = {FEED_CLOSE, "not wanted any more"},
                        },
                    [FEED_UNSTOPPABLE] =
                        {
                            [FEED_BARE] = {FEED_PING, "cannot be stopped: fed without a lease"},
                            [FEED_HOLD] = {FEED_PING, "cannot be stopped: fed without a lease"},
                            [FEED_LEASE] = {FEED_PING, "cannot be stopped: fed without a lease"},
                        },
                    [FEED_WANTED] =
                        {
                            [FEED_BARE] = {FEED_STARVE, "the lease is over: not fed"},
                            [FEED_HOLD] = {FEED_PING,
                                           "held: the daemon is away for a while, as announced"},
                            [FEED_LEASE] = {FEED_PING, "the lease holds"},
                        },
                },
};

static hf_time later(hf_time a, hf_time b)
{
    return a.ns > b.ns ? a : b;
}

static hf_time earlier(hf_time a, hf_time b)
{
    return a.ns < b.ns ? a : b;
}

bool feed_fits(const struct feed_word *said)
{
    if (!said->wants_armed)
        return true;
    return said->timeout_ms >= FEED_TIMEOUT_MS_MIN && said->timeout_ms <= FEED_TIMEOUT_MS_MAX &&
           said->lease_ms > 0 && said->lease_ms <= FEED_LEASE_MS_MAX;
}

/* Counted from the first word that asked, so that repeating it does not lengthen it. */
static void take_hold(struct feed_word *word, hf_time until, hf_time now)
{
    if (until.ns <= 0) {
        word->hold_until = word->hold_since = (hf_time){0};
        return;
    }
    if (word->hold_since.ns == 0)
        word->hold_since = now;
    word->hold_until = earlier(until, hf_time_add_ms(word->hold_since, FEED_HOLD_MS_MAX));
}

void feed_told(struct feed_word *word, const struct feed_word *said, hf_time now)
{
    HF_ASSERT(feed_fits(said));
    word->is_told = true;
    word->wants_armed = said->wants_armed;
    word->timeout_ms = said->timeout_ms;
    word->lease_ms = said->lease_ms;
    if (said->sent.ns > 0 && said->sent.ns <= now.ns)
        word->sent = later(word->sent, said->sent);
    take_hold(word, said->hold_until, now);
}

hf_time feed_expiry(const struct feed_word *word, const struct feed_device *device)
{
    if (word->sent.ns <= 0)
        return (hf_time){0};
    return hf_time_add_ms(word->sent, device->is_open ? device->lease_ms : word->lease_ms);
}

static enum feed_cover cover_of(const struct feed_word *word, const struct feed_device *device,
                                hf_time now)
{
    if (word->sent.ns <= now.ns && now.ns < feed_expiry(word, device).ns)
        return FEED_LEASE;
    return now.ns < word->hold_until.ns ? FEED_HOLD : FEED_BARE;
}

static enum feed_want want_of(const struct feed_word *word, const struct feed_device *device)
{
    bool is_stuck = device->is_open && !device->can_close;

    if (!word->is_told)
        return FEED_UNTOLD;
    if (is_stuck && (device->is_unfit || !word->wants_armed))
        return FEED_UNSTOPPABLE;
    return word->wants_armed ? FEED_WANTED : FEED_UNWANTED;
}

static enum feed_stage stage_of(const struct feed_device *device)
{
    if (!device->is_open)
        return FEED_CLOSED;
    return device->is_proved ? FEED_ARMED : FEED_UNPROVED;
}

/* When the rule is due. */
static hf_time due_at(enum feed_act rule, const struct feed_device *device)
{
    switch (rule) {
    case FEED_OPEN:
        return device->retry_at;
    case FEED_PROVE:
        return device->prove_at;
    case FEED_PING:
        return hf_time_add_ms(device->fed, device->timeout_ms / FEED_PARTS);
    case FEED_CLOSE:
        return (hf_time){0};
    case FEED_WAIT:
    case FEED_STARVE:
    case FEED_UNDECIDED:
    case FEED_ACTS:
        break;
    }
    return FEED_NEVER;
}

/* When the cover ends another row of the table counts. */
static hf_time cover_end(const struct feed_verdict *v, const struct feed_word *word,
                         const struct feed_device *device)
{
    if (v->cover == FEED_BARE)
        return FEED_NEVER;
    return later(feed_expiry(word, device), word->hold_until);
}

struct feed_verdict feed(const struct feed_word *word, const struct feed_device *device,
                         hf_time now)
{
    struct feed_verdict v = {.stage = stage_of(device), .want = want_of(word, device)};
    const struct rule *rule;
    hf_time due;

    v.cover = cover_of(word, device, now);
    rule = &rules[v.stage][v.want][v.cover];
    HF_ASSERT(rule->act != FEED_UNDECIDED);
    v.rule = rule->act;
    v.why = rule->why;
    due = due_at(v.rule, device);
    v.act = hf_time_reached(now, due) ? v.rule : FEED_WAIT;
    v.next = v.act == FEED_WAIT ? earlier(due, cover_end(&v, word, device)) : now;
    return v;
}
