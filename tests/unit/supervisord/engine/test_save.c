/* The whole state as bytes, and back; hostile bytes are refused. */
#include "supervisord/base/rng.h"
#include "tests/unit/supervisord/engine/trio.h"

static uint8_t bytes[sizeof(struct engine) + 64];

static size_t busy_state(void)
{
    form(3);
    struct hf_vm_def def = a_vm("a");
    strcpy(def.apart, "mq");
    running_on(def, 2);
    running_on(a_vm("b"), 1);
    def = a_vm("e");
    def.legs = 3;
    hf_vm_uid e = running_on(def, 0);
    add(a_vm("c"), true);
    add(a_vm("d"), false);
    order(HF_ORDER_DRAIN, 1, 0);
    host_gone(2);
    pfs(1, HF_PF_UP, HF_PF_HOLD);
    pfs(0, HF_PF_DOWN, HF_PF_UP);
    legs(e, 3, 0);
    ck_assert_uint_eq(vm(e)->legs.timer.purpose, FOR_LEGS);
    return engine_save(&t.e, bytes, sizeof bytes);
}

START_TEST(what_is_saved_loads_to_the_same_bytes_and_decides_the_same)
{
    size_t len = busy_state();
    ck_assert_uint_eq(engine_save(&t.e, NULL, 0), len);
    ck_assert_uint_le(len, engine_save_max());
    static struct trio copy;
    struct hf_err err;
    ck_assert_msg(engine_load(&copy.e, bytes, len, &err) == HF_OK, "%s", err.text);
    ck_assert_uint_eq(engine_digest(&copy.e), engine_digest(&t.e));
    struct hf_event ev = {.seq = engine_seq(&t.e) + 1, .from = {0}, .type = HF_EV_DONE};
    ev.u.done.effect = t.e.nodes[2].order;
    engine_step(&t.e, &ev, &t.out);
    engine_step(&copy.e, &ev, &copy.out);
    ck_assert_uint_eq(engine_digest(&copy.e), engine_digest(&t.e));
    ck_assert_uint_eq(copy.out.effects_count, t.out.effects_count);
}
END_TEST

START_TEST(every_cut_is_refused)
{
    size_t len = busy_state();
    static struct engine e;
    struct hf_err err;
    for (size_t cut = 0; cut < len; cut++)
        ck_assert_int_eq(engine_load(&e, bytes, cut, &err), HF_EBAD);
}
END_TEST

START_TEST(changed_bytes_are_refused_or_give_a_sound_state)
{
    size_t len = busy_state();
    static struct engine e;
    static uint8_t bad[sizeof bytes];
    struct hf_err err;
    struct hf_rng rng = hf_rng_seeded(7);
    for (int i = 0; i < 20000; i++) {
        memcpy(bad, bytes, len);
        for (uint64_t k = hf_rng_below(&rng, 3) + 1; k > 0; k--)
            bad[hf_rng_below(&rng, len)] = (uint8_t)hf_rng_next(&rng);
        if (engine_load(&e, bad, len, &err) == HF_OK)
            engine_check(&e);
    }
}
END_TEST

/* Every leave is under maintenance, which ends it; a node that has left is no exception, or the
 * first step that calls it home breaks I8 (found by the fuzzer). */
START_TEST(a_leave_without_an_end_is_refused)
{
    static struct engine e;
    struct hf_err err;
    form(3);
    order(HF_ORDER_LEAVE, 1, 0);
    ck_assert(t.e.nodes[1].has_left);
    size_t len = engine_save(&t.e, bytes, sizeof bytes);
    ck_assert_msg(engine_load(&e, bytes, len, &err) == HF_OK, "%s", err.text);
    t.e.nodes[1].in_maintenance = false;
    timer_clear(&t.e.nodes[1].maintenance);
    len = engine_save(&t.e, bytes, sizeof bytes);
    ck_assert_int_eq(engine_load(&e, bytes, len, &err), HF_EBAD);
}
END_TEST

START_TEST(pending_orders_are_the_live_ones)
{
    busy_state();
    static struct hf_effect fx[HF_EFFECTS_MAX];
    uint32_t fences = 0;
    for (uint8_t n = 0; n < 3; n++) {
        uint32_t count = engine_pending(&t.e, (hf_node){n}, fx);
        for (uint32_t i = 0; i < count; i++) {
            ck_assert(engine_is_live(&t.e, fx[i].token));
            fences += fx[i].type == HF_FX_FENCE;
        }
    }
    ck_assert_uint_eq(fences, 1);
}
END_TEST

START_TEST(a_group_that_breaks_a_limit_is_refused)
{
    struct hf_err err;
    struct hf_group g = a_group(3);
    g.nodes[1].nodeid = g.nodes[0].nodeid;
    ck_assert_int_eq(engine_init(&t.e, &g, &err), HF_EINVAL);
    g = a_group(3);
    g.policy.stop_deadline_ms = 0;
    ck_assert_int_eq(engine_init(&t.e, &g, &err), HF_EINVAL);
    g = a_group(3);
    g.nodes[2].fabrics = 1 << HF_FABRICS_MAX;
    ck_assert_int_eq(engine_init(&t.e, &g, &err), HF_EINVAL);
    g = a_group(3);
    g.nodes_count = 0;
    ck_assert_int_eq(engine_init(&t.e, &g, &err), HF_EINVAL);
}
END_TEST

HF_TEST_MAIN("engine/save", HF_CASE(what_is_saved_loads_to_the_same_bytes_and_decides_the_same),
             HF_CASE(every_cut_is_refused),
             HF_CASE(changed_bytes_are_refused_or_give_a_sound_state),
             HF_CASE(a_leave_without_an_end_is_refused), HF_CASE(pending_orders_are_the_live_ones),
             HF_CASE(a_group_that_breaks_a_limit_is_refused))
