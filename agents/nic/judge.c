#include "agents/nic/judge.h"

#include <string.h>

#include "supervisord/base/assert.h"

/* Marks are bits by cause. HF_NIC_NONE is no cause, so its bit serves for the one case in which a
 * cause has two grades: a lone peer's silence makes one doubt, not more. */
#define BIT(cause_) (1u << (cause_))
#define ALONE       BIT(HF_NIC_NONE)
_Static_assert(HF_NIC_CAUSES <= 32, "a mark is a bit of 32");

#define CARD_BITS                                                                                  \
    (BIT(HF_NIC_MC_TIMEOUT) | BIT(HF_NIC_MC_ASSERT) | BIT(HF_NIC_AER) | BIT(HF_NIC_AER_FAILED) |   \
     BIT(HF_NIC_CONFIG_GONE))
/* What a driver that has just initialised the device proves wrong. */
#define REBORN_BITS                                                                                \
    (CARD_BITS | BIT(HF_NIC_TX_TIMEOUT) | BIT(HF_NIC_RESET) | BIT(HF_NIC_SISTER) |                 \
     BIT(HF_NIC_DISABLED) | BIT(HF_NIC_VSWITCH) | BIT(HF_NIC_UNBOUND))

static const struct nic_signal_rule signals[NIC_SIGNALS] = {
    [NIC_SIGNAL_ABSENT] = {BIT(HF_NIC_REMOVED), 0, "no such device"},
    [NIC_SIGNAL_PRESENT] = {0, BIT(HF_NIC_REMOVED), "the device is there"},
    [NIC_SIGNAL_ADDED] = {0, REBORN_BITS | BIT(HF_NIC_REMOVED), "a new life of the device"},
    [NIC_SIGNAL_UNBOUND] = {BIT(HF_NIC_UNBOUND), 0, "nobody drives it"},
    [NIC_SIGNAL_DRIVEN] = {0, BIT(HF_NIC_UNBOUND), "somebody drives it"},
    [NIC_SIGNAL_BOUND] = {0, REBORN_BITS, "the driver has initialised it"},
    [NIC_SIGNAL_ADMIN_DOWN] = {BIT(HF_NIC_ADMIN), 0, "switched off on this host"},
    [NIC_SIGNAL_ADMIN_UP] = {0, BIT(HF_NIC_ADMIN), "switched on on this host"},
    [NIC_SIGNAL_CARRIER_FELL] = {BIT(HF_NIC_CARRIER), 0, "the carrier went, perhaps it is back"},
    [NIC_SIGNAL_CARRIER_OFF] = {BIT(HF_NIC_CARRIER), 0, "no carrier"},
    /* Carrier proves a wire, not a card: after a failed recovery it stays on. */
    [NIC_SIGNAL_CARRIER_ON] = {0, BIT(HF_NIC_CARRIER), "carrier, and nothing else, is proven"},
    [NIC_SIGNAL_AER_BEGIN] = {BIT(HF_NIC_AER), 0, "recovery from a PCIe error began"},
    [NIC_SIGNAL_AER_FAILED] = {BIT(HF_NIC_AER_FAILED), BIT(HF_NIC_AER), "recovery failed"},
    [NIC_SIGNAL_AER_RECOVERED] = {0,
                                  BIT(HF_NIC_AER) | BIT(HF_NIC_AER_FAILED) |
                                      BIT(HF_NIC_CONFIG_GONE) | BIT(HF_NIC_SISTER),
                                  "every driver of the card says that it recovered"},
    [NIC_SIGNAL_CONFIG_GONE] = {BIT(HF_NIC_CONFIG_GONE), 0, "its registers read all ones"},
    [NIC_SIGNAL_MC_TIMEOUT] = {BIT(HF_NIC_MC_TIMEOUT), 0, "a management command timed out"},
    [NIC_SIGNAL_MC_ASSERT] = {BIT(HF_NIC_MC_ASSERT), 0, "the controller crashed"},
    [NIC_SIGNAL_MC_ANSWERS] = {0,
                               BIT(HF_NIC_MC_TIMEOUT) | BIT(HF_NIC_MC_ASSERT) | BIT(HF_NIC_RESET) |
                                   BIT(HF_NIC_SISTER) | BIT(HF_NIC_CONFIG_GONE),
                               "the controller answered since"},
    [NIC_SIGNAL_RESET] = {BIT(HF_NIC_RESET), 0, "nothing is sent while a driver resets its card"},
    [NIC_SIGNAL_RESET_CALM] = {0, BIT(HF_NIC_RESET), "a reset that fails says so sooner"},
    [NIC_SIGNAL_TOO_MANY_RESETS] = {BIT(HF_NIC_DISABLED), 0, "the driver is about to give it up"},
    [NIC_SIGNAL_DISABLED] = {BIT(HF_NIC_DISABLED), 0, "the driver has given it up"},
    [NIC_SIGNAL_VSWITCH_LOST] = {BIT(HF_NIC_VSWITCH), 0, "its VFs may not work any more"},
    [NIC_SIGNAL_TX_STALLED] = {BIT(HF_NIC_TX_TIMEOUT), 0, "a transmit queue stands still"},
    [NIC_SIGNAL_TX_CALM] = {0, BIT(HF_NIC_TX_TIMEOUT), "a queue that stands still is counted on"},
    [NIC_SIGNAL_BFD_SILENT] = {BIT(HF_NIC_BFD), ALONE, "nobody is heard through it"},
    [NIC_SIGNAL_BFD_ALONE] = {ALONE, 0, "one silent peer: its fault or ours"},
    [NIC_SIGNAL_BFD_HEARD] = {0, BIT(HF_NIC_BFD) | ALONE, "a peer is heard through it"},
    [NIC_SIGNAL_LACP_LOST] = {BIT(HF_NIC_LACP), 0, "the switch does not use the port"},
    [NIC_SIGNAL_LACP_BACK] = {0, BIT(HF_NIC_LACP), "the switch uses the port"},
    [NIC_SIGNAL_HOT] = {BIT(HF_NIC_HOT), 0, "too hot"},
    [NIC_SIGNAL_COOL] = {0, BIT(HF_NIC_HOT), "not too hot"},
    [NIC_SIGNAL_ERRORS_MANY] = {BIT(HF_NIC_ERRORS), 0, "too many frames are broken"},
    [NIC_SIGNAL_ERRORS_FEW] = {0, BIT(HF_NIC_ERRORS), "few frames are broken"},
    [NIC_SIGNAL_OPTICS_BAD] = {BIT(HF_NIC_OPTICS), 0, "a threshold of the module is passed"},
    [NIC_SIGNAL_OPTICS_GOOD] = {0, BIT(HF_NIC_OPTICS), "the module is within its thresholds"},
    [NIC_SIGNAL_VF_BARE] = {BIT(HF_NIC_VF_DRIVER), 0, "a PCIe error could not be recovered from"},
    [NIC_SIGNAL_VF_DRIVEN] = {0, BIT(HF_NIC_VF_DRIVER), "every VF has a driver"},
    [NIC_SIGNAL_SISTER_DEAD] = {BIT(HF_NIC_SISTER), 0, "both ports have one controller"},
    [NIC_SIGNAL_SISTER_WELL] = {0, BIT(HF_NIC_SISTER), "the other port has its controller back"},
    [NIC_SIGNAL_FORGIVEN] = {0, REBORN_BITS, "an operator has repaired it"},
};

/* How grave a mark is. The rest of the vocabulary are verdicts, never marks. */
static enum nic_event grade(enum hf_nic_cause mark)
{
    switch (mark) {
    case HF_NIC_NONE: /* a lone peer's silence */
    case HF_NIC_OPTICS:
    case HF_NIC_HOT:
    case HF_NIC_ERRORS:
    case HF_NIC_VF_DRIVER:
        return NIC_EV_DOUBT;
    case HF_NIC_RETURNING:
    case HF_NIC_FLAPPING:
    case HF_NIC_CAUSES:
        break;
    case HF_NIC_LACP:
    case HF_NIC_BFD:
    case HF_NIC_CARRIER:
    case HF_NIC_ADMIN:
    case HF_NIC_TX_TIMEOUT:
    case HF_NIC_RESET:
    case HF_NIC_SISTER:
    case HF_NIC_MC_TIMEOUT:
    case HF_NIC_MC_ASSERT:
    case HF_NIC_DISABLED:
    case HF_NIC_VSWITCH:
    case HF_NIC_AER:
    case HF_NIC_AER_FAILED:
    case HF_NIC_UNBOUND:
    case HF_NIC_CONFIG_GONE:
        return NIC_EV_DEAD;
    case HF_NIC_REMOVED:
        return NIC_EV_GONE;
    }
    return NIC_EV_WELL;
}

/* clang-format off */
#define GO(next_, act_, why_) {NIC_GO, (next_), (act_), (why_)}
#define STAY(why_)            {NIC_STAY, HF_PF_UNKNOWN, NIC_ACT_NONE, (why_)}
#define BUG(why_)             {NIC_BUG, HF_PF_UNKNOWN, NIC_ACT_NONE, (why_)}
/* clang-format on */

static const struct nic_rule rules[HF_PFS][NIC_EVS] =
    {
        [HF_PF_UNKNOWN] =
            {
                [NIC_EV_UNSEEN] = STAY("not looked at yet"),
                [NIC_EV_WELL] = GO(HF_PF_UP, NIC_ACT_NONE, "seen, and nothing is wrong"),
                [NIC_EV_DOUBT] = GO(HF_PF_SUSPECT, NIC_ACT_NONE, "seen, and something is wrong"),
                [NIC_EV_OFF] = GO(HF_PF_DOWN, NIC_ACT_REST, "found switched off by us"),
                [NIC_EV_DEAD] = GO(HF_PF_DOWN, NIC_ACT_FALL, "found dead"),
                [NIC_EV_GONE] = GO(HF_PF_ABSENT, NIC_ACT_FALL, "not in this host"),
                [NIC_EV_RESTED] = BUG("no hold runs"),
            },
        [HF_PF_UP] =
            {
                [NIC_EV_UNSEEN] = GO(HF_PF_UNKNOWN, NIC_ACT_NONE, "it does not answer any more"),
                [NIC_EV_WELL] = STAY("nothing is wrong"),
                [NIC_EV_DOUBT] = GO(HF_PF_SUSPECT, NIC_ACT_NONE, "something is wrong; it carries"),
                [NIC_EV_OFF] = GO(HF_PF_DOWN, NIC_ACT_REST, "we have switched it off"),
                [NIC_EV_DEAD] = GO(HF_PF_DOWN, NIC_ACT_FALL, "it fell"),
                [NIC_EV_GONE] = GO(HF_PF_ABSENT, NIC_ACT_FALL, "it was taken away"),
                [NIC_EV_RESTED] = BUG("no hold runs"),
            },
        [HF_PF_SUSPECT] =
            {
                [NIC_EV_UNSEEN] = GO(HF_PF_UNKNOWN, NIC_ACT_NONE, "it does not answer any more"),
                [NIC_EV_WELL] = GO(HF_PF_UP, NIC_ACT_NONE, "what was wrong is gone"),
                [NIC_EV_DOUBT] = STAY("something is wrong; it carries"),
                [NIC_EV_OFF] = GO(HF_PF_DOWN, NIC_ACT_REST, "we have switched it off"),
                [NIC_EV_DEAD] = GO(HF_PF_DOWN, NIC_ACT_FALL, "it fell, as one could suspect"),
                [NIC_EV_GONE] = GO(HF_PF_ABSENT, NIC_ACT_FALL, "it was taken away"),
                [NIC_EV_RESTED] = BUG("no hold runs"),
            },
        [HF_PF_DOWN] =
            {
                [NIC_EV_UNSEEN] = STAY("not knowing heals nothing"),
                [NIC_EV_WELL] = GO(HF_PF_HOLD, NIC_ACT_HOLD, "it came back"),
                [NIC_EV_DOUBT] = GO(HF_PF_HOLD, NIC_ACT_HOLD, "it came back, not quite well"),
                [NIC_EV_OFF] = STAY("nobody sees whether it is well while we have it off"),
                [NIC_EV_DEAD] = STAY("still dead"),
                [NIC_EV_GONE] = GO(HF_PF_ABSENT, NIC_ACT_NONE, "dead, and then taken away"),
                [NIC_EV_RESTED] = BUG("no hold runs"),
            },
        [HF_PF_HOLD] =
            {
                [NIC_EV_UNSEEN] = GO(HF_PF_HOLD, NIC_ACT_HOLD, "a hold counts only what is seen"),
                [NIC_EV_WELL] = STAY("hold-down runs"),
                [NIC_EV_DOUBT] = STAY("hold-down runs; it is not quite well"),
                [NIC_EV_OFF] =
                    GO(HF_PF_DOWN, NIC_ACT_REST, "we have switched it off: its hold begins anew"),
                [NIC_EV_DEAD] = GO(HF_PF_DOWN, NIC_ACT_FALL, "it fell again"),
                [NIC_EV_GONE] = GO(HF_PF_ABSENT, NIC_ACT_FALL, "it was taken away again"),
                [NIC_EV_RESTED] = GO(HF_PF_UP, NIC_ACT_NONE, "it stayed as long as it had to"),
            },
        [HF_PF_ABSENT] =
            {
                [NIC_EV_UNSEEN] = STAY("not knowing heals nothing"),
                [NIC_EV_WELL] = GO(HF_PF_HOLD, NIC_ACT_HOLD, "it was put in"),
                [NIC_EV_DOUBT] = GO(HF_PF_HOLD, NIC_ACT_HOLD, "it was put in, not quite well"),
                [NIC_EV_OFF] = GO(HF_PF_DOWN, NIC_ACT_REST, "it was put in, and we have it off"),
                [NIC_EV_DEAD] = GO(HF_PF_DOWN, NIC_ACT_NONE, "it was put in, and does not work"),
                [NIC_EV_GONE] = STAY("still not in this host"),
                [NIC_EV_RESTED] = BUG("no hold runs"),
            },
};

struct nic_rule judge_nic_rule(enum hf_pf state, enum nic_event event)
{
    HF_ASSERT((unsigned)state < HF_PFS);
    HF_ASSERT((unsigned)event < NIC_EVS);
    return rules[state][event];
}

struct nic_signal_rule judge_nic_signal(enum nic_signal signal)
{
    HF_ASSERT((unsigned)signal < NIC_SIGNALS);
    return signals[signal];
}

void judge_nic_init(struct judge_nic *judge, const struct nic_limits *limits)
{
    memset(judge, 0, sizeof *judge);
    judge->why = "not looked at yet";
    judge_nic_limit(judge, limits);
}

void judge_nic_limit(struct judge_nic *judge, const struct nic_limits *limits)
{
    judge->limits = *limits;
    if (judge->limits.hold_down_max_ms < judge->limits.hold_down_ms)
        judge->limits.hold_down_max_ms = judge->limits.hold_down_ms;
}

bool judge_nic_is_of_card(enum nic_signal signal)
{
    return (judge_nic_signal(signal).sets & CARD_BITS) != 0;
}

void judge_nic_hear(struct judge_nic *judge, enum nic_signal signal, hf_time now)
{
    struct nic_signal_rule rule = judge_nic_signal(signal);
    uint32_t fresh = rule.sets & ~judge->marks;

    for (unsigned cause = 0; cause < HF_NIC_CAUSES; cause++)
        if ((fresh & BIT(cause)) != 0)
            judge->marked_at[cause] = now;
    /* These are told again while they last: calm is counted from the last of them. */
    if ((rule.sets & (BIT(HF_NIC_RESET) | BIT(HF_NIC_TX_TIMEOUT))) != 0)
        judge->marked_at[(rule.sets & BIT(HF_NIC_RESET)) != 0 ? HF_NIC_RESET : HF_NIC_TX_TIMEOUT] =
            now;
    if ((rule.sets & (CARD_BITS | BIT(HF_NIC_RESET) | BIT(HF_NIC_SISTER))) != 0)
        judge->bad_at = now;
    judge->marks = (judge->marks & ~rule.clears) | rule.sets;
    judge->pulses |= rule.sets;
}

static void hear_fact(struct judge_nic *judge, enum nic_fact fact, enum nic_signal yes,
                      enum nic_signal no, hf_time now)
{
    if (fact != NIC_NOT_KNOWN)
        judge_nic_hear(judge, fact == NIC_YES ? yes : no, now);
}

static bool has_mark(const struct judge_nic *judge, enum hf_nic_cause cause)
{
    return (judge->marks & BIT(cause)) != 0;
}

/* A level is heard once, when it differs from what is marked: a mark's time is that of its first
 * sign, and a tick that finds nothing new costs nothing. */
static void hear_level(struct judge_nic *judge, enum nic_fact is_bad, enum hf_nic_cause cause,
                       enum nic_signal bad, enum nic_signal good, hf_time now)
{
    if (is_bad == NIC_NOT_KNOWN || (is_bad == NIC_YES) == has_mark(judge, cause))
        return;
    hear_fact(judge, is_bad, bad, good, now);
}

static enum nic_fact not_fact(enum nic_fact fact)
{
    if (fact == NIC_NOT_KNOWN)
        return NIC_NOT_KNOWN;
    return fact == NIC_YES ? NIC_NO : NIC_YES;
}

static bool carries(const struct nic_sample *s)
{
    return s->is_seen && s->is_admin_up == NIC_YES && s->has_carrier == NIC_YES;
}

/* Switching a PF off and on moves its carrier and its counters, and its flags are read less often
 * than we are told of our order: nothing of it is a failure, from the order to the first carrier
 * afterwards. A wire that has none when the time is over is found by its level. */
static void settle(struct judge_nic *judge, const struct nic_sample *s, hf_time now)
{
    if (s->is_admin_ours) {
        judge->is_settling = true;
        judge->settle_until = hf_time_add_ms(now, NIC_SETTLE_MS);
    } else if (carries(s) || hf_time_reached(now, judge->settle_until)) {
        judge->is_settling = false;
    }
}

static void hear_counts(struct judge_nic *judge, const struct nic_sample *s, bool is_ours,
                        hf_time now)
{
    if (!s->is_seen)
        return;
    /* Smaller than before: the driver was loaded again and counts from nothing. */
    if (judge->has_counts && s->carrier_downs > judge->carrier_downs && !is_ours)
        judge_nic_hear(judge, NIC_SIGNAL_CARRIER_FELL, now);
    if (judge->has_counts && s->tx_timeouts > judge->tx_timeouts)
        judge_nic_hear(judge, NIC_SIGNAL_TX_STALLED, now);
    judge->has_counts = true;
    judge->carrier_downs = s->carrier_downs;
    judge->tx_timeouts = s->tx_timeouts;
}

static void hear_errors(struct judge_nic *judge, const struct nic_sample *s, hf_time now)
{
    int64_t ms = hf_time_since_ms(now, judge->errors_at);
    uint64_t moved;

    if (!s->has_errors)
        return;
    if (!judge->has_errors || s->errors < judge->errors) {
        judge->has_errors = true;
        judge->errors = s->errors;
        judge->errors_at = now;
        return;
    }
    if (ms < NIC_ERRORS_WINDOW_MS)
        return;
    moved = s->errors - judge->errors;
    judge->errors = s->errors;
    judge->errors_at = now;
    if (moved / ((uint64_t)ms / NIC_ERRORS_WINDOW_MS) >= NIC_ERRORS_LIMIT) {
        judge->errors_many_at = now;
        judge_nic_hear(judge, NIC_SIGNAL_ERRORS_MANY, now);
    } else if (has_mark(judge, HF_NIC_ERRORS) &&
               hf_time_since_ms(now, judge->errors_many_at) >= NIC_ERRORS_CALM_MS) {
        judge_nic_hear(judge, NIC_SIGNAL_ERRORS_FEW, now);
    }
}

/* A local NIC is never condemned by one silent peer: two are silent, or the one is heard over the
 * other fabric and so lives. As long as anybody is heard through it, it works. Once condemned, only
 * a peer that is heard through it again frees it: that the other fabric falls silent as well, or a
 * session is taken away, is no news of this one. */
static void hear_bfd(struct judge_nic *judge, const struct nic_bfd *bfd, hf_time now)
{
    enum nic_signal signal = NIC_SIGNAL_BFD_HEARD;

    if (bfd->up == 0 && bfd->silent == 0)
        return; /* nobody was ever heard, or all said goodbye: that tells nothing either way */
    if (bfd->up == 0 && (bfd->silent >= 2 || bfd->heard_elsewhere >= 1))
        signal = NIC_SIGNAL_BFD_SILENT;
    else if (bfd->up == 0)
        signal = NIC_SIGNAL_BFD_ALONE;
    if ((signal == NIC_SIGNAL_BFD_SILENT && has_mark(judge, HF_NIC_BFD)) ||
        (signal == NIC_SIGNAL_BFD_ALONE &&
         (has_mark(judge, HF_NIC_NONE) || has_mark(judge, HF_NIC_BFD))) ||
        (signal == NIC_SIGNAL_BFD_HEARD && !has_mark(judge, HF_NIC_BFD) &&
         !has_mark(judge, HF_NIC_NONE)))
        return;
    judge_nic_hear(judge, signal, now);
}

/* What is healed by time, or by an answer that nobody sent a signal for. */
static void hear_calm(struct judge_nic *judge, const struct nic_sample *s, hf_time now)
{
    if (s->answered_at.ns != 0 && s->answered_at.ns > judge->bad_at.ns &&
        (judge->marks & judge_nic_signal(NIC_SIGNAL_MC_ANSWERS).clears) != 0)
        judge_nic_hear(judge, NIC_SIGNAL_MC_ANSWERS, now);
    if (has_mark(judge, HF_NIC_RESET) &&
        hf_time_since_ms(now, judge->marked_at[HF_NIC_RESET]) >= NIC_RESET_CALM_MS)
        judge_nic_hear(judge, NIC_SIGNAL_RESET_CALM, now);
    if (has_mark(judge, HF_NIC_TX_TIMEOUT) &&
        hf_time_since_ms(now, judge->marked_at[HF_NIC_TX_TIMEOUT]) >= NIC_TX_CALM_MS)
        judge_nic_hear(judge, NIC_SIGNAL_TX_CALM, now);
}

static void hear_levels(struct judge_nic *judge, const struct nic_sample *s, hf_time now)
{
    hear_level(judge, not_fact(s->is_present), HF_NIC_REMOVED, NIC_SIGNAL_ABSENT,
               NIC_SIGNAL_PRESENT, now);
    hear_level(judge, not_fact(s->has_driver), HF_NIC_UNBOUND, NIC_SIGNAL_UNBOUND,
               NIC_SIGNAL_DRIVEN, now);
    if (judge->is_settling) {
        hear_level(judge, NIC_NO, HF_NIC_ADMIN, NIC_SIGNAL_ADMIN_DOWN, NIC_SIGNAL_ADMIN_UP, now);
    } else {
        hear_level(judge, not_fact(s->is_admin_up), HF_NIC_ADMIN, NIC_SIGNAL_ADMIN_DOWN,
                   NIC_SIGNAL_ADMIN_UP, now);
        hear_level(judge, not_fact(s->has_carrier), HF_NIC_CARRIER, NIC_SIGNAL_CARRIER_OFF,
                   NIC_SIGNAL_CARRIER_ON, now);
    }
    hear_level(judge, not_fact(s->takes_part_in_lacp), HF_NIC_LACP, NIC_SIGNAL_LACP_LOST,
               NIC_SIGNAL_LACP_BACK, now);
    hear_level(judge, s->is_hot, HF_NIC_HOT, NIC_SIGNAL_HOT, NIC_SIGNAL_COOL, now);
    hear_level(judge, s->is_optics_bad, HF_NIC_OPTICS, NIC_SIGNAL_OPTICS_BAD,
               NIC_SIGNAL_OPTICS_GOOD, now);
    hear_level(judge, s->has_bare_vf, HF_NIC_VF_DRIVER, NIC_SIGNAL_VF_BARE, NIC_SIGNAL_VF_DRIVEN,
               now);
    hear_level(judge, s->is_sister_dead, HF_NIC_SISTER, NIC_SIGNAL_SISTER_DEAD,
               NIC_SIGNAL_SISTER_WELL, now);
}

/* The gravest of the marks: the graver grade, then the later cause. */
static enum nic_event gravest(uint32_t marks, enum hf_nic_cause *cause)
{
    enum nic_event worst = NIC_EV_WELL;

    *cause = HF_NIC_NONE;
    for (unsigned c = 0; c < HF_NIC_CAUSES; c++) {
        enum nic_event g = grade((enum hf_nic_cause)c);

        if ((marks & BIT(c)) != 0 && g >= worst) {
            worst = g;
            *cause = (enum hf_nic_cause)c;
        }
    }
    return worst;
}

/* In its hold, or for less than another one out of it. */
static bool is_fresh(const struct judge_nic *judge, hf_time now)
{
    return judge->has_fallen && (judge->state == HF_PF_HOLD ||
                                 hf_time_since_ms(now, judge->up_at) < (int64_t)judge->hold_ms);
}

static void fall(struct judge_nic *judge, enum hf_nic_cause cause, hf_time now)
{
    bool is_bounce = judge->has_fallen && hf_time_since_ms(now, judge->fell_at) < NIC_BOUNCE_MS;
    bool is_repeat = is_fresh(judge, now);

    judge->since = judge->marked_at[cause];
    if (is_bounce)
        return;
    judge->fell_at = now;
    judge->repeats = is_repeat ? judge->repeats + 1 : 0;
    judge->hold_ms = is_repeat ? judge->hold_ms : judge->limits.hold_down_ms;
    if (is_repeat)
        judge->hold_ms = judge->hold_ms >= judge->limits.hold_down_max_ms / 2
                             ? judge->limits.hold_down_max_ms
                             : judge->hold_ms * 2;
    judge->has_fallen = true;
}

/* Down by our own hand: no fall, so no hold grows by it. It comes back through one all the same,
 * for nobody has seen it meanwhile. */
static void rest(struct judge_nic *judge, hf_time now)
{
    judge->since = now;
    if (is_fresh(judge, now))
        return;
    judge->repeats = 0;
    judge->hold_ms = judge->limits.hold_down_ms;
}

static void apply(struct judge_nic *judge, enum nic_event event, enum hf_nic_cause cause,
                  hf_time now)
{
    struct nic_rule rule = judge_nic_rule(judge->state, event);

    HF_ASSERT(rule.ruling == NIC_GO || rule.ruling == NIC_STAY);
    judge->why = rule.why;
    if (rule.ruling == NIC_STAY)
        return;
    switch (rule.act) {
    case NIC_ACT_NONE:
        break;
    case NIC_ACT_FALL:
        fall(judge, cause, now);
        break;
    case NIC_ACT_REST:
        rest(judge, now);
        break;
    case NIC_ACT_HOLD:
        judge->hold_until = hf_time_add_ms(now, judge->hold_ms);
        break;
    }
    if (rule.next == HF_PF_UP && judge->state == HF_PF_HOLD)
        judge->up_at = now;
    judge->state = rule.next;
}

static void tell(struct judge_nic *judge, enum nic_event event, enum hf_nic_cause cause,
                 hf_time now, enum hf_pf was, struct nic_verdict *verdict)
{
    enum hf_nic_cause was_cause = judge->cause;
    int64_t left = hf_time_since_ms(judge->hold_until, now);

    /* What it was dead of, while nobody can tell whether it still is. */
    if (event == NIC_EV_UNSEEN || event == NIC_EV_OFF)
        cause = event == NIC_EV_UNSEEN || was == HF_PF_DOWN ? was_cause : HF_NIC_ADMIN;
    if ((cause == HF_NIC_NONE) && judge->state == HF_PF_SUSPECT)
        cause = HF_NIC_BFD; /* the lone peer's bit */
    if (judge->state == HF_PF_HOLD)
        cause = judge->repeats > 0 ? HF_NIC_FLAPPING : HF_NIC_RETURNING;
    if (judge->state == HF_PF_UP || judge->state == HF_PF_UNKNOWN)
        cause = HF_NIC_NONE;
    judge->cause = cause;
    *verdict = (struct nic_verdict){
        .state = judge->state,
        .cause = cause,
        .hold_ms = judge->state == HF_PF_HOLD && left > 0 ? (uint32_t)left : 0,
        .has_changed = judge->state != was || cause != was_cause,
        .is_card_dead = (judge->marks & CARD_BITS) != 0,
        .since = judge_nic_is_dead(judge->state) ? judge->since : (hf_time){0},
        .why = judge->why,
    };
}

void judge_nic_step(struct judge_nic *judge, const struct nic_sample *sample, hf_time now,
                    struct nic_verdict *verdict)
{
    /* Who cannot tell the carrier has not seen enough to call it well. */
    bool is_seen = sample->is_seen && sample->has_carrier != NIC_NOT_KNOWN;
    bool is_ours = judge->is_settling || sample->is_admin_ours;
    enum hf_pf was = judge->state;
    enum hf_nic_cause cause;
    enum nic_event event;

    settle(judge, sample, now);
    hear_counts(judge, sample, is_ours, now);
    hear_levels(judge, sample, now);
    hear_errors(judge, sample, now);
    hear_bfd(judge, &sample->bfd, now);
    hear_calm(judge, sample, now);
    /* What came and went since the last step happened: traffic was lost. */
    event = gravest(judge->marks | judge->pulses, &cause);
    judge->pulses = 0;
    if (event < NIC_EV_DEAD && judge->is_settling && !carries(sample))
        event = NIC_EV_OFF;
    else if (event < NIC_EV_DEAD && !is_seen)
        event = NIC_EV_UNSEEN;
    apply(judge, event, cause, now);
    if (judge->state == HF_PF_HOLD && hf_time_reached(now, judge->hold_until)) {
        apply(judge, NIC_EV_RESTED, cause, now);
        apply(judge, event, cause, now);
    }
    tell(judge, event, cause, now, was, verdict);
}

bool judge_nic_is_dead(enum hf_pf state)
{
    return state == HF_PF_DOWN || state == HF_PF_ABSENT;
}

bool judge_nic_is_heard_since(hf_time here, hf_time there, uint32_t interval_us)
{
    return there.ns - here.ns >= 2 * 1000 * (int64_t)interval_us;
}

bool judge_nic_same_card(const char *serial, const char *pci, const char *other_serial,
                         const char *other_pci)
{
    size_t slot = 0, other_slot = 0;

    if (serial[0] != '\0' && other_serial[0] != '\0')
        return strcmp(serial, other_serial) == 0;
    while (pci[slot] != '\0' && pci[slot] != '.')
        slot++;
    while (other_pci[other_slot] != '\0' && other_pci[other_slot] != '.')
        other_slot++;
    return slot > 0 && slot == other_slot && memcmp(pci, other_pci, slot) == 0;
}
