/* An event that breaks an assertion of ours: skipped by all alike, and nobody dies of it. The
 * mistake is made here by a group that its check would refuse: a drain without any length. */
#include "tests/unit/supervisord/engine/trio.h"

static struct engine shadow;

static void poison(void)
{
    form(3);
    order(HF_ORDER_ARM, 0, 0);
    ck_assert(t.e.is_armed);
    t.e.group.policy.maintenance_max_ms = 0;
    shadow = t.e;
}

static bool tried(struct hf_event ev)
{
    ev.seq = engine_seq(&t.e) + 1;
    engine_step_tried(&t.e, &shadow, &ev, &t.out);
    ck_assert_uint_eq(engine_seq(&t.e), ev.seq);
    ck_assert_uint_eq(engine_digest(&t.e), engine_digest(&shadow));
    engine_check(&t.e);
    return t.out.why != HF_WHY_SKIPPED;
}

static struct hf_event drain_of(uint8_t n)
{
    struct hf_event ev = {.from = {0}, .type = HF_EV_ORDER};
    ev.u.order.type = HF_ORDER_DRAIN;
    ev.u.order.node.ix = n;
    return ev;
}

static struct hf_event arming(void)
{
    struct hf_event ev = {.from = {0}, .type = HF_EV_ORDER};
    ev.u.order.type = HF_ORDER_ARM;
    return ev;
}

START_TEST(what_cannot_be_digested_is_skipped_counted_and_disarms)
{
    poison();
    uint64_t seq = engine_seq(&t.e) + 1;
    ck_assert(!tried(drain_of(1)));
    ck_assert(!t.out.applied);
    ck_assert_uint_eq(t.out.effects_count, 0);
    ck_assert(noted(HF_WHY_SKIPPED));
    ck_assert(!t.e.nodes[1].in_maintenance);
    ck_assert(!engine_group(&t.e).is_armed);
    ck_assert_uint_eq(engine_group(&t.e).skipped, 1);
    ck_assert_uint_eq(engine_group(&t.e).skipped_seq, seq);
    ck_assert(!tried(drain_of(2)));
    ck_assert_uint_eq(engine_group(&t.e).skipped, 2);
    ck_assert_uint_eq(engine_group(&t.e).skipped_seq, seq + 1);
}
END_TEST

START_TEST(the_next_event_is_decided_as_ever_and_arming_forgets)
{
    poison();
    ck_assert(!tried(drain_of(1)));
    struct hf_event ev = {.from = {1}, .type = HF_EV_FACTS};
    ev.u.facts.memory_mib = 4321;
    ev.u.facts.vm_watch_known = ev.u.facts.link_fit = true;
    ck_assert(tried(ev));
    ck_assert_uint_eq(t.e.nodes[1].memory_mib, 4321);
    ck_assert(tried(arming()));
    ck_assert(engine_group(&t.e).is_armed);
    ck_assert_uint_eq(engine_group(&t.e).skipped, 0);
}
END_TEST

START_TEST(a_skip_is_part_of_the_state_that_is_saved)
{
    static uint8_t bytes[sizeof(struct engine) + 64];
    struct hf_err err;
    poison();
    ck_assert(!tried(drain_of(1)));
    t.e.group.policy.maintenance_max_ms = 1000;
    size_t len = engine_save(&t.e, bytes, sizeof bytes);
    ck_assert_msg(engine_load(&shadow, bytes, len, &err) == HF_OK, "%s", err.text);
    ck_assert_uint_eq(engine_group(&shadow).skipped, 1);
    ck_assert_uint_eq(engine_group(&shadow).skipped_seq, engine_seq(&t.e));
}
END_TEST

START_TEST(a_view_is_never_skipped)
{
    poison();
    t.e.group.policy.flap_window_ms = 0;
    shadow = t.e;
    struct hf_event ev = {.from = HF_NO_NODE, .type = HF_EV_MEMBERS, .seq = engine_seq(&t.e) + 1};
    memcpy(ev.u.members.node, t.member, sizeof t.member);
    ev.u.members.node[2].incarnation++;
    ev.u.members.view = (struct hf_view){1, t.e.view.seq + 4};
    ck_assert(!engine_try(&shadow, &ev, &t.out));
    shadow = t.e;
    engine_step_tried(&t.e, &shadow, &ev, &t.out);
}
END_TEST

HF_TEST_MAIN("engine/trial", HF_CASE(what_cannot_be_digested_is_skipped_counted_and_disarms),
             HF_CASE(the_next_event_is_decided_as_ever_and_arming_forgets),
             HF_CASE(a_skip_is_part_of_the_state_that_is_saved), HF_ABORTS(a_view_is_never_skipped))
