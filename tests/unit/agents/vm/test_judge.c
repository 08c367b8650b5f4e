#include "agents/vm/judge.h"

#include "tests/unit/check.h"

static const hf_time ended_at = {1000 * HF_NS_PER_MS};

static struct judge_verdict at(struct judge_facts facts, int64_t ms)
{
    facts.ended_at = ended_at;
    return judge_vm_end(&facts, hf_time_add_ms(ended_at, ms));
}

/* Every pair of word and end has a verdict in the end, with a reason, and none waits for ever. */
START_TEST(every_pair_is_decided)
{
    struct judge_facts facts = {.libvirt_answers = true,
                                .hint = (enum judge_hint)(_i / JUDGE_ENDS),
                                .end = (enum judge_end)(_i % JUDGE_ENDS)};
    struct judge_verdict first = at(facts, 0);
    struct judge_verdict last = at(facts, JUDGE_ORDERLY_MS);

    ck_assert_ptr_nonnull(first.why);
    ck_assert_int_eq(last.word, JUDGE_SAY);
    ck_assert_int_ne(last.seen, HF_SEEN_UNKNOWN);
    ck_assert_int_ne(last.seen, HF_SEEN_RUNNING);
    if (first.word == JUDGE_WAIT) {
        ck_assert_int_gt(first.until.ns, ended_at.ns);
        ck_assert_int_le(first.until.ns, hf_time_add_ms(ended_at, JUDGE_ORDERLY_MS).ns);
    } else {
        ck_assert_int_eq(first.seen, last.seen);
    }
    facts.libvirt_answers = false;
    ck_assert_int_eq(at(facts, 0).word, JUDGE_SAY); /* nobody to wait for */
    facts.is_ordered = true;
    ck_assert_int_eq(at(facts, 0).word, JUDGE_ORDERED);
}
END_TEST

START_TEST(a_kill_without_a_word_is_a_crash_at_once)
{
    struct judge_verdict v =
        at((struct judge_facts){.libvirt_answers = true, .end = JUDGE_END_FAILED}, 0);

    ck_assert_int_eq(v.word, JUDGE_SAY);
    ck_assert_int_eq(v.seen, HF_SEEN_CRASHED);
}
END_TEST

START_TEST(an_unknown_end_waits_within_the_restart_s_budget)
{
    struct judge_facts facts = {.libvirt_answers = true};

    ck_assert_int_eq(at(facts, JUDGE_UNKNOWN_MS - 1).word, JUDGE_WAIT);
    ck_assert_int_eq(at(facts, JUDGE_UNKNOWN_MS).word, JUDGE_SAY);
    ck_assert_int_eq(at(facts, JUDGE_UNKNOWN_MS).seen, HF_SEEN_CRASHED);
}
END_TEST

START_TEST(off_is_the_guest_s_doing_only_if_the_guest_said_so)
{
    struct judge_facts facts = {
        .libvirt_answers = true, .hint = JUDGE_HINT_OFF, .end = JUDGE_END_ORDERLY};

    ck_assert_int_eq(at(facts, 0).seen, HF_SEEN_CRASHED);
    facts.was_guest = true;
    ck_assert_int_eq(at(facts, 0).seen, HF_SEEN_SHUTDOWN);
    facts.hint = JUDGE_HINT_DESTROYED; /* by hand, while the guest was going down */
    ck_assert_int_eq(at(facts, 0).seen, HF_SEEN_DESTROYED);
}
END_TEST

HF_TEST_MAIN("agents/vm/judge", HF_LOOP(every_pair_is_decided, 0, JUDGE_HINTS * JUDGE_ENDS),
             HF_CASE(a_kill_without_a_word_is_a_crash_at_once),
             HF_CASE(an_unknown_end_waits_within_the_restart_s_budget),
             HF_CASE(off_is_the_guest_s_doing_only_if_the_guest_said_so))
