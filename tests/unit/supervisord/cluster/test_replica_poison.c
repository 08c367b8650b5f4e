/* An event, or a view, that breaks an assertion of the engine on every node at once: it costs a
 * decision, never a machine. The mistake is in the state: a group that its check would refuse. */
#include "tests/unit/supervisord/cluster/bus.h"

#include "supervisord/cluster/replica_internal.h"
#include "supervisord/engine/internal.h"

static void spoil(unsigned nodes, void (*how)(struct hf_policy *p))
{
    for (unsigned i = 0; i < nodes; i++) {
        struct replica *r = bus.host[i].r;
        how(&replica_state(r)->group.policy);
        r->has_shadow = r->has_digest = false;
    }
}

static void drains_have_no_length(struct hf_policy *p)
{
    p->maintenance_max_ms = 0;
}

static void silence_has_no_grace(struct hf_policy *p)
{
    p->silent_grace_ms = 0;
}

static struct hf_event drain_of(uint8_t n)
{
    struct hf_event ev = {.type = HF_EV_ORDER};
    ev.u.order.type = HF_ORDER_DRAIN;
    ev.u.order.node.ix = n;
    return ev;
}

static void ck_all_synced_with_skipped(unsigned nodes, uint32_t skipped)
{
    for (unsigned i = 0; i < nodes; i++) {
        ck_phase(i, REPLICA_SYNCED);
        ck_assert_uint_eq(engine_group(replica_engine(bus.host[i].r)).skipped, skipped);
        ck_assert_uint_eq(digest_of(i), digest_of(0));
    }
}

START_TEST(all_skip_the_same_event_and_go_on_beating_and_deciding)
{
    struct hf_event ev = drain_of(1);
    hf_time echoed;

    bus_form(3);
    spoil(3, drains_have_no_length);
    ck_assert_int_eq(submit(0, &ev, 7), HF_OK);
    run_ms(500);
    ck_all_synced_with_skipped(3, 1);
    ck_assert_uint_eq(bus.host[0].mine[bus.host[0].mine_count - 1], 7); /* it has its answer */
    echoed = replica_look(bus.host[2].r).newest_echoed;
    tell_facts(2, 4321, 8);
    run_ms(1000);
    ck_all_synced_with_skipped(3, 1);
    ck_assert_int_gt(replica_look(bus.host[2].r).newest_echoed.ns, echoed.ns);
    ck_assert_uint_eq(engine_node(replica_engine(bus.host[0].r), (hf_node){2}).memory_mib, 4321);
}
END_TEST

START_TEST(whoever_joins_later_gets_the_skip_with_the_state)
{
    struct hf_event ev = drain_of(1);

    bus_form(3);
    kill_daemon(2);
    run_ms(500);
    spoil(2, drains_have_no_length);
    ck_assert_int_eq(submit(0, &ev, 7), HF_OK);
    run_ms(500);
    ck_all_synced_with_skipped(2, 1);
    for (unsigned i = 0; i < 2; i++) /* or its check refuses the state */
        replica_state(bus.host[i].r)->group.policy.maintenance_max_ms =
            bus.host[i].r->file.policy.maintenance_max_ms;
    load(2, NULL);
    join(2);
    run_ms(2000);
    ck_all_synced_with_skipped(3, 1);
}
END_TEST

START_TEST(a_view_that_nobody_can_digest_freezes_all_until_the_members_change)
{
    bus_form(3);
    spoil(3, silence_has_no_grace);
    kill_daemon(2); /* its host stays in the ring: it would be silent */
    run_ms(3000);
    for (unsigned i = 0; i < 2; i++) {
        ck_phase(i, REPLICA_FROZEN);
        ck_assert_ptr_nonnull(strstr(bus.host[i].why, "cannot digest"));
    }
    power_off(2); /* lost, which has no grace */
    run_ms(1000);
    ck_all_synced_with_skipped(2, 0);
}
END_TEST

HF_TEST_MAIN("cluster/replica_poison",
             HF_CASE(all_skip_the_same_event_and_go_on_beating_and_deciding),
             HF_CASE(whoever_joins_later_gets_the_skip_with_the_state),
             HF_CASE(a_view_that_nobody_can_digest_freezes_all_until_the_members_change))
