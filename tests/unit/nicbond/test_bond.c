#include "nicbond/bond.h"

#include <string.h>

#include "tests/unit/check.h"

enum { A = 0, B = 1 };
#define DOWN BOND_LEG_DOWN
#define HELD BOND_LEG_HELD
#define UP   BOND_LEG_UP

/* One VM with its own counter of epochs. */
struct pair {
    struct bond bond;
    struct bond_step step;
    uint64_t next;
};

static struct pair started(hf_fabric active, enum bond_level a, enum bond_level b)
{
    struct pair p = {.next = 1};
    enum bond_level level[HF_FABRICS_MAX] = {a, b};

    bond_start(&p.bond, active, level);
    return p;
}

static void leg(struct pair *p, hf_fabric fabric, enum bond_level level)
{
    bond_leg(&p->bond, fabric, level, p->next, &p->step);
    p->next = p->bond.epoch >= p->next ? p->bond.epoch + 1 : p->next;
}

static void seen(struct pair *p, hf_fabric fabric)
{
    bond_seen(&p->bond, fabric, p->next, &p->step);
    p->next = p->bond.epoch >= p->next ? p->bond.epoch + 1 : p->next;
}

static bool ended(struct pair *p, enum bond_event how)
{
    return bond_ended(&p->bond, p->bond.epoch, how, &p->step);
}

static void order(struct pair *p, hf_fabric to)
{
    bond_order(&p->bond, to, p->next, &p->step);
    p->next = p->bond.epoch >= p->next ? p->bond.epoch + 1 : p->next;
}

START_TEST(every_pair_is_decided)
{
    enum bond_state s = (enum bond_state)(_i / BOND_EVENTS);
    enum bond_event e = (enum bond_event)(_i % BOND_EVENTS);
    struct bond_rule rule = bond_rule(s, e);

    ck_assert(rule.verdict != BOND_UNDECIDED);
    ck_assert_ptr_nonnull(rule.why);
    ck_assert_uint_gt(strlen(rule.why), 8);
    if (rule.verdict == BOND_STAY)
        ck_assert_int_eq(rule.act, BOND_ACT_NONE);
    /* What comes back moves nothing, unless nothing else carries. */
    if (e == BOND_EV_ACTIVE_HELD || e == BOND_EV_ACTIVE_UP || e == BOND_EV_OTHER_HELD ||
        e == BOND_EV_OTHER_UP)
        ck_assert(s == BOND_LOST || (rule.verdict != BOND_SWAP && rule.act != BOND_ACT_FLIP &&
                                     rule.act != BOND_ACT_MOVE));
}
END_TEST

/* Every walk of three events of the world keeps the invariants: bond_check() asserts them. */
START_TEST(no_walk_breaks_an_invariant)
{
    struct pair p = started(HF_FABRICS_MAX, (enum bond_level)(_i % 3), (enum bond_level)(_i / 3));
    uint32_t seed = 12345u + (uint32_t)_i;

    for (unsigned i = 0; i < 20000; i++) {
        seed = seed * 1103515245u + 12345u;
        unsigned pick = (seed >> 16) % 9;
        hf_fabric fabric = (hf_fabric)((seed >> 24) & 1);

        if (pick < 4)
            leg(&p, fabric, (enum bond_level)((seed >> 25) % 3));
        else if (pick < 6)
            seen(&p, fabric);
        else if (pick == 6)
            (void)ended(&p, (enum bond_event)(BOND_EV_FLIP_DONE + (seed >> 26) % 4));
        else if (pick == 7)
            order(&p, fabric);
        else
            bond_again(&p.bond, p.next++, &p.step);
        bond_check(&p.bond);
    }
}
END_TEST

START_TEST(a_dead_active_leg_is_left)
{
    struct pair p = started(A, UP, UP);

    leg(&p, A, DOWN);
    ck_assert_int_eq(p.step.act, BOND_ACT_FLIP);
    ck_assert_int_eq(p.bond.state, BOND_FLIPPING);
    ck_assert_uint_eq(p.bond.epoch, 1);
    ck_assert(ended(&p, BOND_EV_FLIP_DONE));
    ck_assert_int_eq(p.step.act, BOND_ACT_DONE);
    ck_assert_int_eq(p.bond.state, BOND_ALONE);
    ck_assert_uint_eq(p.bond.active, B);
}
END_TEST

START_TEST(a_leg_that_is_back_is_a_spare)
{
    struct pair p = started(B, DOWN, UP);

    leg(&p, A, HELD);
    ck_assert_int_eq(p.bond.state, BOND_HELD);
    leg(&p, A, UP);
    ck_assert_int_eq(p.bond.state, BOND_PAIR);
    ck_assert_uint_eq(p.bond.active, B);
    ck_assert_int_eq(p.step.act, BOND_ACT_NONE);
}
END_TEST

START_TEST(a_dead_spare_is_told_and_moves_nothing)
{
    struct pair p = started(A, UP, UP);

    leg(&p, B, DOWN);
    ck_assert_int_eq(p.step.act, BOND_ACT_NO_SPARE);
    ck_assert_int_eq(p.bond.state, BOND_ALONE);
    ck_assert_uint_eq(p.bond.active, A);
    ck_assert_uint_eq(p.bond.epoch, 0);
}
END_TEST

START_TEST(a_flip_is_not_undone_half_way)
{
    struct pair p = started(A, UP, UP);

    leg(&p, A, DOWN);
    leg(&p, A, HELD);
    leg(&p, A, UP);
    ck_assert(bond_is_flipping(&p.bond));
    ck_assert_int_eq(p.step.act, BOND_ACT_NONE);
    ck_assert(ended(&p, BOND_EV_FLIP_DONE));
    ck_assert_uint_eq(p.bond.active, B);
    ck_assert_int_eq(p.bond.state, BOND_PAIR);
}
END_TEST

START_TEST(not_knowing_where_it_is_either_death_flips)
{
    struct pair p = started(HF_FABRICS_MAX, UP, UP);

    ck_assert_int_eq(p.bond.state, BOND_UNSURE);
    ck_assert_uint_eq(bond_known(&p.bond), HF_FABRICS_MAX);
    leg(&p, (hf_fabric)_i, DOWN);
    ck_assert_int_eq(p.step.act, BOND_ACT_FLIP);
    ck_assert_int_eq(p.bond.active, _i);
}
END_TEST

START_TEST(with_both_dead_nothing_is_moved)
{
    struct pair p = started(A, UP, UP);

    leg(&p, B, DOWN);
    leg(&p, A, DOWN);
    ck_assert_int_eq(p.bond.state, BOND_LOST);
    ck_assert_int_eq(p.step.act, BOND_ACT_LOST);
    ck_assert_uint_eq(p.bond.epoch, 0);
    bond_again(&p.bond, p.next++, &p.step);
    ck_assert_int_eq(p.bond.state, BOND_LOST);
}
END_TEST

START_TEST(after_both_were_dead_the_first_that_carries_is_taken)
{
    struct pair p = started(A, DOWN, DOWN);

    leg(&p, A, HELD);
    ck_assert_int_eq(p.step.act, BOND_ACT_RESTORE);
    ck_assert_int_eq(p.bond.state, BOND_ALONE);
    p = started(A, DOWN, DOWN);
    leg(&p, B, HELD);
    ck_assert_int_eq(p.step.act, BOND_ACT_FLIP);
    ck_assert_uint_eq(p.step.active, A);
}
END_TEST

START_TEST(a_target_that_dies_ends_the_flip_as_failed)
{
    struct pair p = started(A, UP, UP);

    leg(&p, A, DOWN);
    leg(&p, B, DOWN);
    ck_assert_int_eq(p.step.act, BOND_ACT_FAILED);
    ck_assert_int_eq(p.bond.state, BOND_LOST);
    ck_assert(!ended(&p, BOND_EV_FLIP_DONE));
}
END_TEST

START_TEST(a_late_answer_of_another_epoch_is_ignored)
{
    struct pair p = started(A, UP, UP);

    leg(&p, A, DOWN);
    ck_assert(!bond_ended(&p.bond, p.bond.epoch + 1, BOND_EV_FLIP_DONE, &p.step));
    ck_assert_int_eq(p.bond.state, BOND_FLIPPING);
    ck_assert(ended(&p, BOND_EV_DEADLINE));
    ck_assert(!bond_ended(&p.bond, p.bond.epoch, BOND_EV_FLIP_DONE, &p.step));
    ck_assert_int_eq(p.bond.state, BOND_DOUBT);
}
END_TEST

START_TEST(doubt_ends_by_proof_or_by_another_try)
{
    struct pair p = started(A, UP, UP);

    leg(&p, A, DOWN);
    ck_assert(ended(&p, BOND_EV_FLIP_FAILED));
    ck_assert_int_eq(p.bond.state, BOND_DOUBT);
    ck_assert_uint_eq(bond_known(&p.bond), HF_FABRICS_MAX);
    bond_again(&p.bond, p.next++, &p.step);
    ck_assert_int_eq(p.step.act, BOND_ACT_FLIP);
    ck_assert(ended(&p, BOND_EV_FLIP_UNKNOWN));
    seen(&p, B);
    ck_assert_int_eq(p.bond.state, BOND_ALONE);
    ck_assert_uint_eq(bond_known(&p.bond), B);
}
END_TEST

START_TEST(an_operators_order_is_gentle_and_can_be_refused)
{
    struct pair p = started(A, UP, UP);

    order(&p, B);
    ck_assert_int_eq(p.step.act, BOND_ACT_MOVE);
    order(&p, B);
    ck_assert_int_eq(p.step.act, BOND_ACT_NONE);
    ck_assert(ended(&p, BOND_EV_FLIP_DONE));
    ck_assert_uint_eq(p.bond.active, B);
    leg(&p, A, DOWN);
    order(&p, A);
    ck_assert_int_eq(p.step.act, BOND_ACT_NONE);
    leg(&p, A, HELD);
    order(&p, A);
    ck_assert_int_eq(p.step.act, BOND_ACT_NONE);
    leg(&p, A, UP);
    order(&p, A);
    ck_assert_int_eq(p.step.act, BOND_ACT_MOVE);
}
END_TEST

START_TEST(an_order_under_which_a_leg_dies_becomes_an_emergency)
{
    struct pair p = started(A, UP, UP);
    uint64_t epoch;

    order(&p, B);
    epoch = p.bond.epoch;
    leg(&p, A, DOWN);
    ck_assert_int_eq(p.step.act, BOND_ACT_ESCALATE);
    ck_assert_uint_eq(p.bond.epoch, epoch);
    p = started(A, UP, UP);
    order(&p, B);
    leg(&p, B, DOWN);
    ck_assert_int_eq(p.step.act, BOND_ACT_FLIP);
    ck_assert_uint_eq(p.bond.active, B); /* it is the one to leave */
}
END_TEST

START_TEST(a_guest_on_the_dead_leg_is_driven_off_it)
{
    struct pair p = started(A, UP, DOWN);

    seen(&p, B);
    ck_assert_int_eq(p.step.act, BOND_ACT_FLIP);
    ck_assert_uint_eq(p.bond.active, B);
}
END_TEST

START_TEST(a_guest_that_moves_by_itself_is_followed)
{
    struct pair p = started(A, UP, UP);

    seen(&p, B);
    ck_assert_int_eq(p.step.act, BOND_ACT_NONE);
    ck_assert_uint_eq(bond_known(&p.bond), B);
    leg(&p, A, DOWN);
    ck_assert_int_eq(p.step.act, BOND_ACT_NO_SPARE);
}
END_TEST

START_TEST(a_state_has_a_name)
{
    ck_assert_str_ne(bond_state_name((enum bond_state)_i), "?");
    ck_assert_str_eq(bond_state_name(BOND_STATES), "?");
}
END_TEST

HF_TEST_MAIN("nicbond/bond", HF_LOOP(every_pair_is_decided, 0, BOND_STATES *BOND_EVENTS),
             HF_LOOP(no_walk_breaks_an_invariant, 0, 9), HF_CASE(a_dead_active_leg_is_left),
             HF_CASE(a_leg_that_is_back_is_a_spare),
             HF_CASE(a_dead_spare_is_told_and_moves_nothing),
             HF_CASE(a_flip_is_not_undone_half_way),
             HF_LOOP(not_knowing_where_it_is_either_death_flips, 0, 2),
             HF_CASE(with_both_dead_nothing_is_moved),
             HF_CASE(after_both_were_dead_the_first_that_carries_is_taken),
             HF_CASE(a_target_that_dies_ends_the_flip_as_failed),
             HF_CASE(a_late_answer_of_another_epoch_is_ignored),
             HF_CASE(doubt_ends_by_proof_or_by_another_try),
             HF_CASE(an_operators_order_is_gentle_and_can_be_refused),
             HF_CASE(an_order_under_which_a_leg_dies_becomes_an_emergency),
             HF_CASE(a_guest_on_the_dead_leg_is_driven_off_it),
             HF_CASE(a_guest_that_moves_by_itself_is_followed),
             HF_LOOP(a_state_has_a_name, 0, BOND_STATES))
