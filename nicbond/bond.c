#include "nicbond/bond.h"

#include "supervisord/base/assert.h"

/* clang-format off */
#define GO(next_, act_, why_)   { BOND_GO,   BOND_##next_, BOND_ACT_##act_, why_ }
#define SWAP(next_, act_, why_) { BOND_SWAP, BOND_##next_, BOND_ACT_##act_, why_ }
#define STAY(why_)              { BOND_STAY, BOND_UNSURE,  BOND_ACT_NONE,   why_ }
/* clang-format on */

/* Where no flip runs, every ending is a late one. */
#define NO_FLIP                                                                                    \
    [BOND_EV_FLIP_DONE] = STAY("late answer to a flip that is over"),                              \
    [BOND_EV_FLIP_FAILED] = STAY("late answer to a flip that is over"),                            \
    [BOND_EV_FLIP_UNKNOWN] = STAY("late answer to a flip that is over"),                           \
    [BOND_EV_DEADLINE] = STAY("no flip runs")

static const struct bond_rule rules[BOND_STATES][BOND_EVENTS] = {
    [BOND_UNSURE] =
        {
            [BOND_EV_ACTIVE_DOWN] = GO(FLIPPING, FLIP, "the traffic may be on the leg that died"),
            [BOND_EV_ACTIVE_HELD] = STAY("still not known by which leg the traffic goes"),
            [BOND_EV_ACTIVE_UP] = STAY("still not known by which leg the traffic goes"),
            [BOND_EV_OTHER_DOWN] = SWAP(FLIPPING, FLIP, "the traffic may be on the leg that died"),
            [BOND_EV_OTHER_HELD] = STAY("still not known by which leg the traffic goes"),
            [BOND_EV_OTHER_UP] = STAY("still not known by which leg the traffic goes"),
            [BOND_EV_SEEN_ACTIVE] = GO(PAIR, NONE, "now it is known where the traffic is"),
            [BOND_EV_SEEN_OTHER] = SWAP(PAIR, NONE, "now it is known where the traffic is"),
            [BOND_EV_AGAIN] = STAY("both legs carry: nothing to repeat"),
            [BOND_EV_ORDERED] = GO(MOVING, MOVE, "an operator wants the other leg"),
            NO_FLIP,
        },
    [BOND_PAIR] =
        {
            [BOND_EV_ACTIVE_DOWN] = GO(FLIPPING, FLIP, "the active leg died, the other is ready"),
            [BOND_EV_ACTIVE_HELD] = STAY("it carries; hold-down is about choosing, not leaving"),
            [BOND_EV_ACTIVE_UP] = STAY("the traffic is there already"),
            [BOND_EV_OTHER_DOWN] = GO(PAIR, NO_SPARE, "runs without a spare"),
            [BOND_EV_OTHER_HELD] = GO(PAIR, NONE, "the spare went and came back: hold-down"),
            [BOND_EV_OTHER_UP] = STAY("a spare already"),
            [BOND_EV_SEEN_ACTIVE] = STAY("where we know it to be"),
            [BOND_EV_SEEN_OTHER] = SWAP(PAIR, NONE, "the guest moved by itself"),
            [BOND_EV_AGAIN] = STAY("the active leg carries: nothing to repeat"),
            [BOND_EV_ORDERED] = GO(MOVING, MOVE, "an operator wants the other leg"),
            NO_FLIP,
        },
    [BOND_HELD] =
        {
            [BOND_EV_ACTIVE_DOWN] =
                GO(FLIPPING, FLIP, "the other leg's hold-down runs, but it carries"),
            [BOND_EV_ACTIVE_HELD] = STAY("it carries; hold-down is about choosing, not leaving"),
            [BOND_EV_ACTIVE_UP] = STAY("the traffic is there already"),
            [BOND_EV_OTHER_DOWN] = GO(PAIR, NO_SPARE, "the spare went again"),
            [BOND_EV_OTHER_HELD] = STAY("its hold-down runs already"),
            [BOND_EV_OTHER_UP] = GO(PAIR, NONE, "a spare again; the traffic stays where it is"),
            [BOND_EV_SEEN_ACTIVE] = STAY("where we know it to be"),
            [BOND_EV_SEEN_OTHER] = SWAP(PAIR, NONE, "the guest moved by itself"),
            [BOND_EV_AGAIN] = STAY("the active leg carries: nothing to repeat"),
            [BOND_EV_ORDERED] = STAY("refused: the other leg's hold-down runs"),
            NO_FLIP,
        },
    [BOND_ALONE] =
        {
            [BOND_EV_ACTIVE_DOWN] = GO(LOST, LOST, "both legs are dead: nothing to move to"),
            [BOND_EV_ACTIVE_HELD] = STAY("it carries, and there is no other"),
            [BOND_EV_ACTIVE_UP] = STAY("the traffic is there already"),
            [BOND_EV_OTHER_DOWN] = STAY("it is dead already"),
            [BOND_EV_OTHER_HELD] = GO(PAIR, NONE, "the other leg is back: hold-down first"),
            [BOND_EV_OTHER_UP] = GO(PAIR, NONE, "a spare again; the traffic stays where it is"),
            [BOND_EV_SEEN_ACTIVE] = STAY("where we know it to be"),
            [BOND_EV_SEEN_OTHER] = SWAP(FLIPPING, FLIP, "the guest is on the dead leg"),
            [BOND_EV_AGAIN] = STAY("the active leg carries: nothing to repeat"),
            [BOND_EV_ORDERED] = STAY("refused: the other leg is dead"),
            NO_FLIP,
        },
    [BOND_FLIPPING] =
        {
            [BOND_EV_ACTIVE_DOWN] = STAY("it is being left already"),
            [BOND_EV_ACTIVE_HELD] = GO(MOVING, NONE, "back: a flip is not undone half way"),
            [BOND_EV_ACTIVE_UP] = GO(MOVING, NONE, "back: a flip is not undone half way"),
            [BOND_EV_OTHER_DOWN] = GO(LOST, FAILED, "the leg it was to go to died, too"),
            [BOND_EV_OTHER_HELD] = STAY("it carries, and there is no better one"),
            [BOND_EV_OTHER_UP] = STAY("as wanted"),
            [BOND_EV_SEEN_ACTIVE] = STAY("the last of the old leg, or not yet moved"),
            [BOND_EV_SEEN_OTHER] = SWAP(PAIR, DONE, "the traffic is on the other leg"),
            [BOND_EV_FLIP_DONE] = SWAP(PAIR, DONE, "the traffic is on the other leg"),
            [BOND_EV_FLIP_FAILED] = GO(DOUBT, FAILED, "no method could move it"),
            [BOND_EV_FLIP_UNKNOWN] = GO(DOUBT, UNKNOWN, "ordered and not confirmed"),
            [BOND_EV_DEADLINE] = GO(DOUBT, UNKNOWN, "nothing answered in time"),
            [BOND_EV_AGAIN] = STAY("a try is under way"),
            [BOND_EV_ORDERED] = STAY("refused: a flip is under way"),
        },
    [BOND_MOVING] =
        {
            [BOND_EV_ACTIVE_DOWN] = GO(FLIPPING, ESCALATE, "it died meanwhile: by all means now"),
            [BOND_EV_ACTIVE_HELD] = STAY("a flip is not undone half way"),
            [BOND_EV_ACTIVE_UP] = STAY("a flip is not undone half way"),
            [BOND_EV_OTHER_DOWN] = SWAP(FLIPPING, FLIP, "the leg it was to go to died meanwhile"),
            [BOND_EV_OTHER_HELD] = STAY("it carries, and the traffic may be there"),
            [BOND_EV_OTHER_UP] = STAY("as wanted"),
            [BOND_EV_SEEN_ACTIVE] = STAY("not yet moved"),
            [BOND_EV_SEEN_OTHER] = SWAP(PAIR, DONE, "the traffic is on the other leg"),
            [BOND_EV_FLIP_DONE] = SWAP(PAIR, DONE, "the traffic is on the other leg"),
            [BOND_EV_FLIP_FAILED] = GO(UNSURE, FAILED, "no method could move it"),
            [BOND_EV_FLIP_UNKNOWN] = GO(UNSURE, UNKNOWN, "ordered and not confirmed"),
            [BOND_EV_DEADLINE] = GO(UNSURE, UNKNOWN, "nothing answered in time"),
            [BOND_EV_AGAIN] = STAY("a try is under way"),
            [BOND_EV_ORDERED] = STAY("refused: a flip is under way"),
        },
    [BOND_DOUBT] =
        {
            [BOND_EV_ACTIVE_DOWN] = STAY("it is dead already"),
            [BOND_EV_ACTIVE_HELD] = GO(UNSURE, NONE, "both carry; where it is, is not known"),
            [BOND_EV_ACTIVE_UP] = GO(UNSURE, NONE, "both carry again; where it is, is not known"),
            [BOND_EV_OTHER_DOWN] = GO(LOST, LOST, "both legs are dead: nothing to move to"),
            [BOND_EV_OTHER_HELD] = STAY("it carries"),
            [BOND_EV_OTHER_UP] = STAY("it carries"),
            [BOND_EV_SEEN_ACTIVE] = STAY("it sends into the dead leg: the next try is due soon"),
            [BOND_EV_SEEN_OTHER] = SWAP(PAIR, NONE, "confirmed late"),
            [BOND_EV_AGAIN] = GO(FLIPPING, FLIP, "another try"),
            [BOND_EV_ORDERED] = STAY("refused: one leg is dead"),
            NO_FLIP,
        },
    [BOND_LOST] =
        {
            [BOND_EV_ACTIVE_DOWN] = STAY("it is dead already"),
            [BOND_EV_ACTIVE_HELD] = GO(PAIR, RESTORE, "the first that carries is taken at once"),
            [BOND_EV_ACTIVE_UP] = GO(PAIR, RESTORE, "the first that carries is taken at once"),
            [BOND_EV_OTHER_DOWN] = STAY("it is dead already"),
            [BOND_EV_OTHER_HELD] = GO(FLIPPING, FLIP, "the first that carries is taken at once"),
            [BOND_EV_OTHER_UP] = GO(FLIPPING, FLIP, "the first that carries is taken at once"),
            [BOND_EV_SEEN_ACTIVE] = STAY("both are dead: a word from there changes nothing"),
            [BOND_EV_SEEN_OTHER] = SWAP(LOST, NONE, "the guest changed to the other dead leg"),
            [BOND_EV_AGAIN] = STAY("both legs are dead: nothing to move to"),
            [BOND_EV_ORDERED] = STAY("refused: both legs are dead"),
            NO_FLIP,
        },
};

struct bond_rule bond_rule(enum bond_state state, enum bond_event event)
{
    HF_ASSERT((unsigned)state < BOND_STATES);
    HF_ASSERT((unsigned)event < BOND_EVENTS);
    return rules[state][event];
}

/* The quiet state: the active leg has the traffic, and the other is worth what it is worth. */
static enum bond_state settled(enum bond_level other)
{
    switch (other) {
    case BOND_LEG_DOWN:
        return BOND_ALONE;
    case BOND_LEG_HELD:
        return BOND_HELD;
    case BOND_LEG_UP:
        return BOND_PAIR;
    }
    HF_NEVER("a leg has a level");
}

/* The one place that assigns the state. */
static void apply(struct bond *bond, enum bond_event event, uint64_t epoch_next,
                  struct bond_step *step)
{
    struct bond_rule rule = bond_rule(bond->state, event);

    HF_ASSERT(rule.verdict != BOND_UNDECIDED);
    *step = (struct bond_step){.event = event,
                               .act = rule.act,
                               .was = bond->state,
                               .now = bond->state,
                               .was_active = bond->active,
                               .why = rule.why};
    if (rule.verdict == BOND_SWAP)
        bond->active = bond_other(bond);
    if (rule.verdict != BOND_STAY)
        bond->state = rule.next == BOND_PAIR ? settled(bond->level[bond_other(bond)]) : rule.next;
    if (rule.act == BOND_ACT_FLIP || rule.act == BOND_ACT_MOVE) {
        HF_ASSERT(epoch_next > bond->epoch);
        bond->epoch = epoch_next;
    }
    step->now = bond->state;
    step->active = bond->active;
    bond_check(bond);
}

void bond_start(struct bond *bond, hf_fabric active, const enum bond_level level[HF_FABRICS_MAX])
{
    bool is_known = active < HF_FABRICS_MAX;

    *bond = (struct bond){.active = is_known ? active : 0, .level = {level[0], level[1]}};
    if (!is_known && level[0] != BOND_LEG_DOWN && level[1] != BOND_LEG_DOWN)
        return; /* UNSURE */
    if (!is_known && level[0] == BOND_LEG_DOWN)
        bond->active = 1;
    if (level[0] == BOND_LEG_DOWN && level[1] == BOND_LEG_DOWN)
        bond->state = BOND_LOST;
    else if (level[bond->active] == BOND_LEG_DOWN)
        bond->state = BOND_DOUBT; /* known to be on the dead one: the caller tries again */
    else
        bond->state = settled(level[bond_other(bond)]);
    bond_check(bond);
}

void bond_leg(struct bond *bond, hf_fabric leg, enum bond_level level, uint64_t epoch_next,
              struct bond_step *step)
{
    static const enum bond_event active[] = {BOND_EV_ACTIVE_DOWN, BOND_EV_ACTIVE_HELD,
                                             BOND_EV_ACTIVE_UP};
    static const enum bond_event other[] = {BOND_EV_OTHER_DOWN, BOND_EV_OTHER_HELD,
                                            BOND_EV_OTHER_UP};

    HF_ASSERT(leg < HF_FABRICS_MAX);
    bond->level[leg] = level;
    apply(bond, leg == bond->active ? active[level] : other[level], epoch_next, step);
}

void bond_seen(struct bond *bond, hf_fabric leg, uint64_t epoch_next, struct bond_step *step)
{
    HF_ASSERT(leg < HF_FABRICS_MAX);
    apply(bond, leg == bond->active ? BOND_EV_SEEN_ACTIVE : BOND_EV_SEEN_OTHER, epoch_next, step);
}

bool bond_ended(struct bond *bond, uint64_t epoch, enum bond_event how, struct bond_step *step)
{
    HF_ASSERT(how >= BOND_EV_FLIP_DONE && how <= BOND_EV_DEADLINE);
    if (epoch != bond->epoch || !bond_is_flipping(bond))
        return false;
    apply(bond, how, 0, step);
    return true;
}

void bond_again(struct bond *bond, uint64_t epoch_next, struct bond_step *step)
{
    apply(bond, BOND_EV_AGAIN, epoch_next, step);
}

void bond_order(struct bond *bond, hf_fabric to, uint64_t epoch_next, struct bond_step *step)
{
    HF_ASSERT(to < HF_FABRICS_MAX);
    if (bond->state == BOND_UNSURE && bond->level[to] != BOND_LEG_UP) {
        *step = (struct bond_step){.event = BOND_EV_ORDERED,
                                   .was = bond->state,
                                   .now = bond->state,
                                   .was_active = bond->active,
                                   .active = bond->active,
                                   .why = "refused: that leg's hold-down runs"};
        return;
    }
    if (bond->state == BOND_UNSURE)
        bond->active = (hf_fabric)(1 - to); /* one guess is as good as the other */
    apply(bond, BOND_EV_ORDERED, epoch_next, step);
}

hf_fabric bond_known(const struct bond *bond)
{
    bool is_known = bond->state != BOND_UNSURE && bond->state != BOND_DOUBT;

    return is_known ? bond->active : (hf_fabric)HF_FABRICS_MAX;
}

bool bond_is_flipping(const struct bond *bond)
{
    return bond->state == BOND_FLIPPING || bond->state == BOND_MOVING;
}

void bond_check(const struct bond *bond)
{
    enum bond_level active = bond->level[bond->active];
    enum bond_level other = bond->level[bond_other(bond)];

    HF_ASSERT(bond->active < HF_FABRICS_MAX);
    switch (bond->state) {
    case BOND_UNSURE:
    case BOND_MOVING:
        HF_ASSERT(active != BOND_LEG_DOWN && other != BOND_LEG_DOWN);
        break;
    case BOND_PAIR:
    case BOND_HELD:
    case BOND_ALONE:
        HF_ASSERT(active != BOND_LEG_DOWN);
        HF_ASSERT(bond->state == settled(other));
        break;
    case BOND_FLIPPING:
    case BOND_DOUBT:
        HF_ASSERT(active == BOND_LEG_DOWN && other != BOND_LEG_DOWN);
        break;
    case BOND_LOST:
        HF_ASSERT(active == BOND_LEG_DOWN && other == BOND_LEG_DOWN);
        break;
    case BOND_STATES:
        HF_NEVER("a count is no state");
    }
}

const char *bond_state_name(enum bond_state state)
{
    static const char *const names[BOND_STATES] = {
        [BOND_UNSURE] = "unsure", [BOND_PAIR] = "pair",         [BOND_HELD] = "held",
        [BOND_ALONE] = "alone",   [BOND_FLIPPING] = "flipping", [BOND_MOVING] = "moving",
        [BOND_DOUBT] = "doubt",   [BOND_LOST] = "lost"};

    return (unsigned)state < BOND_STATES ? names[state] : "?";
}
