/* This node's side of its watchdog, against an engine and a feeder that are told what to say. */
#include <string.h>

#include "supervisord/act/lease.h"
#include "tests/unit/supervisord/engine/trio.h"

enum { MAX = 64 };

static struct lease l;
static hf_time now;
static struct hf_report to_feeder;
static unsigned leases, stops;
static struct hf_event said[MAX];
static unsigned said_count;

static const struct engine *port_engine(void *user)
{
    (void)user;
    return &t.e;
}

static enum hf_code port_submit(void *user, const struct hf_event *ev, struct hf_err *err)
{
    (void)user;
    (void)err;
    ck_assert_uint_lt(said_count, MAX);
    said[said_count++] = *ev;
    return HF_OK;
}

static bool port_tell(void *user, enum hf_agent_kind kind, const struct hf_report *report)
{
    (void)user;
    if (report->kind == HF_REPORT_SELF_STOP) {
        ck_assert_int_eq(kind, HF_AGENT_VM);
        stops++;
        return true;
    }
    ck_assert_int_eq(kind, HF_AGENT_FEEDER);
    ck_assert_int_eq(report->kind, HF_REPORT_LEASE);
    to_feeder = *report;
    leases++;
    return true;
}

static void pass(uint32_t ms)
{
    for (hf_time end = hf_time_add_ms(now, ms); now.ns < end.ns;) {
        now = hf_time_add_ms(now, 100);
        lease_turn(&l, now);
    }
}

/* The group echoes what we send, so long. */
static void beating(uint32_t ms)
{
    for (hf_time end = hf_time_add_ms(now, ms); now.ns < end.ns;) {
        now = hf_time_add_ms(now, 100);
        lease_echoed(&l, now, now);
        lease_turn(&l, now);
    }
}

static void feeder_says(enum hf_watchdog state)
{
    struct hf_report report = {.kind = HF_REPORT_WATCHDOG};
    report.u.watchdog.state = state;
    report.u.watchdog.version = 1;
    report.u.watchdog.timeout_ms = state == HF_WD_ARMED ? 5000 : 0;
    report.u.watchdog.lease_ms = state == HF_WD_ARMED ? 3000 : 0;
    report.u.watchdog.is_held = to_feeder.u.lease.hold_until_ns > now.ns;
    strcpy(report.u.watchdog.identity, "iTCO_wdt");
    lease_told(&l, &report, now);
}

/* What was submitted is applied, as node 2's. */
static void apply(void)
{
    for (unsigned i = 0; i < said_count; i++) {
        said[i].from = (hf_node){2};
        step(said[i]);
        for (uint32_t k = 0; k < t.out.effects_count; k++)
            if (t.out.effects[k].actor.ix == 2 &&
                (t.out.effects[k].type == HF_FX_HOLD || t.out.effects[k].type == HF_FX_DISARM))
                lease_effect(&l, &t.out.effects[k], now);
    }
    said_count = 0;
}

static void begin(void)
{
    static const struct hf_watchdog_conf conf = {
        .is_used = true, .timeout_ms = 5000, .lease_ms = 3000, .device = "/dev/watchdog0"};
    static const struct lease_ports ports = {NULL, port_engine, port_submit, port_tell};

    form(3);
    now = (hf_time){1000000000};
    lease_init(&l, 3, &conf, &ports);
    lease_group(&l, true, true, now);
    lease_feeder(&l, true, now);
    feeder_says(HF_WD_DISARMED);
    beating(600);
}

static hf_vm_uid armed(void)
{
    begin();
    hf_vm_uid uid = running_on(a_vm("a"), 2);
    beating(600);
    ck_assert(to_feeder.u.lease.wants_armed);
    feeder_says(HF_WD_ARMED);
    apply();
    ck_assert_int_eq(engine_node(&t.e, (hf_node){2}).watchdog.state, HF_WD_ARMED);
    return uid;
}

START_TEST(armed_only_when_a_vm_may_be_here)
{
    begin();
    ck_assert(!to_feeder.u.lease.wants_armed);
    running_on(a_vm("a"), 2);
    beating(600);
    ck_assert(to_feeder.u.lease.wants_armed);
    ck_assert_str_eq(to_feeder.u.lease.device, "/dev/watchdog0");
}
END_TEST

START_TEST(armed_last_not_before_link_and_configuration_are_fit)
{
    begin();
    running_on(a_vm("a"), 2);
    lease_group(&l, true, false, now);
    beating(600);
    ck_assert(!to_feeder.u.lease.wants_armed);
    lease_group(&l, true, true, now);
    beating(600);
    ck_assert(to_feeder.u.lease.wants_armed);
}
END_TEST

START_TEST(the_lease_is_the_sending_time_of_an_echoed_beat)
{
    begin();
    hf_time sent = now;
    pass(700);
    lease_echoed(&l, sent, now);
    ck_assert_int_eq(to_feeder.u.lease.sent_ns, sent.ns);
    lease_echoed(&l, (hf_time){sent.ns - 5}, now); /* never backwards */
    pass(600);
    ck_assert_int_eq(to_feeder.u.lease.sent_ns, sent.ns);
}
END_TEST

START_TEST(what_the_feeder_is_the_group_knows_once)
{
    armed();
    beating(5000);
    ck_assert_uint_eq(said_count, 0);
}
END_TEST

START_TEST(an_attestation_that_was_lost_is_told_again)
{
    begin();
    apply();
    running_on(a_vm("a"), 2);
    feeder_says(HF_WD_ARMED);
    ck_assert_uint_eq(said_count, 1);
    said_count = 0;
    beating(LEASE_AGAIN_MS + 200);
    ck_assert_uint_eq(said_count, 1);
}
END_TEST

START_TEST(closed_only_when_the_group_knows_that_it_does_not_count)
{
    hf_vm_uid uid = armed();
    order(HF_ORDER_VM_STOP, HF_NO_NODE.ix, uid);
    result(2, vm(uid)->order, HF_OUT_DONE);
    beating(LEASE_RELEASE_MS - 1000);
    ck_assert_uint_eq(said_count, 0);
    beating(2000);
    ck_assert_uint_eq(said_count, 1);
    ck_assert_int_eq(said[0].u.attest.state, HF_WD_DISARMED);
    ck_assert(to_feeder.u.lease.wants_armed);
    apply();
    beating(600);
    ck_assert(!to_feeder.u.lease.wants_armed);
    feeder_says(HF_WD_DISARMED);
    ck_assert(!to_feeder.u.lease.wants_armed);
}
END_TEST

START_TEST(wanted_again_before_it_is_closed_it_stays_open)
{
    hf_vm_uid uid = armed();
    order(HF_ORDER_VM_STOP, HF_NO_NODE.ix, uid);
    result(2, vm(uid)->order, HF_OUT_DONE);
    beating(LEASE_RELEASE_MS + 1000);
    ck_assert_uint_eq(said_count, 1);
    said[0].from = (hf_node){2};
    step(said[0]);
    said_count = 0;
    struct hf_effect fx = *effect(HF_FX_DISARM, 0);
    order(HF_ORDER_VM_START, HF_NO_NODE.ix, uid);
    ck_assert_uint_eq(vm(uid)->home, 2);
    beating(200);
    ck_assert_uint_eq(said_count, 1);
    ck_assert_int_eq(said[0].u.attest.state, HF_WD_ARMED);
    lease_effect(&l, &fx, now); /* late: nothing is being released */
    ck_assert(to_feeder.u.lease.wants_armed);
}
END_TEST

START_TEST(a_new_daemon_neither_closes_nor_shortens)
{
    static const struct hf_watchdog_conf conf = {
        .is_used = true, .timeout_ms = 5000, .lease_ms = 3000, .device = "/dev/watchdog0"};
    struct lease_ports ports = l.ports;

    armed();
    ports = l.ports;
    lease_init(&l, 3, &conf, &ports);
    leases = 0;
    lease_feeder(&l, true, now);
    feeder_says(HF_WD_ARMED);
    pass(2000);
    ck_assert_uint_eq(leases, 0);
    lease_group(&l, true, true, now);
    pass(1000);
    ck_assert_uint_eq(leases, 0); /* nor while nothing of its own has been echoed */
    beating(600);
    ck_assert_uint_gt(leases, 0);
    ck_assert(to_feeder.u.lease.wants_armed);
    ck_assert_int_gt(to_feeder.u.lease.sent_ns, 0);
}
END_TEST

START_TEST(a_hold_reaches_the_feeder_once_and_ends_with_its_order)
{
    armed();
    hold(2, 30000);
    struct hf_effect fx = *effect(HF_FX_HOLD, 0);
    lease_effect(&l, &fx, now);
    int64_t until = to_feeder.u.lease.hold_until_ns;
    ck_assert_int_eq(until, hf_time_add_ms(now, 30000).ns);
    pass(1000);
    lease_effect(&l, &fx, now); /* again after a synchronisation */
    ck_assert_int_eq(to_feeder.u.lease.hold_until_ns, until);
    feeder_says(HF_WD_ARMED);
    apply();
    ck_assert(engine_node(&t.e, (hf_node){2}).watchdog.is_held);
    daemon_gone(2);
    t.member[2].present = true;
    members(false);
    ready(2); /* only then it is back */
    beating(600);
    ck_assert_int_eq(to_feeder.u.lease.hold_until_ns, 0);
    feeder_says(HF_WD_ARMED);
    apply();
    ck_assert_uint_eq(engine_node(&t.e, (hf_node){2}).hold_ms, 0);
}
END_TEST

START_TEST(back_from_a_hold_the_group_is_waited_for)
{
    armed();
    hold(2, 30000);
    struct hf_effect fx = *effect(HF_FX_HOLD, 0);
    lease_effect(&l, &fx, now);
    lease_group(&l, false, true, now);
    host_gone(2);
    pass(11000); /* far longer than a lease */
    t.member[2].present = t.member[2].in_ring = true;
    members(false);
    lease_group(&l, true, true, now);
    ck_assert_int_gt(to_feeder.u.lease.hold_until_ns, now.ns);
    pass(300);
    ck_assert_uint_eq(stops, 0);
    beating(200);
    ck_assert_int_eq(to_feeder.u.lease.hold_until_ns, 0);
    ck_assert_uint_eq(stops, 0);
}
END_TEST

START_TEST(back_from_a_short_hold_the_old_lease_is_not_enough)
{
    armed();
    hold(2, 30000);
    struct hf_effect fx = *effect(HF_FX_HOLD, 0);
    lease_effect(&l, &fx, now);
    lease_group(&l, false, true, now);
    host_gone(2);
    pass(2700); /* the lease is 3 s */
    t.member[2].present = t.member[2].in_ring = true;
    members(false);
    lease_group(&l, true, true, now);
    pass(1000);
    ck_assert_uint_eq(stops, 0);
    ck_assert_int_gt(to_feeder.u.lease.hold_until_ns, now.ns);
    beating(200);
    ck_assert_int_eq(to_feeder.u.lease.hold_until_ns, 0);
}
END_TEST

START_TEST(when_the_lease_is_over_our_vms_end_once)
{
    armed();
    pass(2800);
    ck_assert_uint_eq(stops, 0);
    pass(400);
    ck_assert_uint_eq(stops, 1);
    pass(5000);
    ck_assert_uint_eq(stops, 1);
}
END_TEST

START_TEST(a_blip_shorter_than_the_lease_ends_nothing)
{
    armed();
    for (unsigned i = 0; i < 5; i++) {
        pass(2700);
        beating(100);
    }
    ck_assert_uint_eq(stops, 0);
}
END_TEST

START_TEST(who_was_paused_gives_the_group_a_moment)
{
    armed();
    now = hf_time_add_ms(now, 4000);
    lease_turn(&l, now);
    pass(300);
    ck_assert_uint_eq(stops, 0);
    beating(100);
    pass(2000);
    ck_assert_uint_eq(stops, 0);
    pass(1500);
    ck_assert_uint_eq(stops, 1);
}
END_TEST

START_TEST(on_hold_and_without_a_watchdog_nothing_is_ended)
{
    armed();
    struct hf_effect fx = {.token = {77, 1}, .actor = {2}, .type = HF_FX_HOLD};
    fx.u.hold.ms = 20000;
    lease_group(&l, false, true, now);
    lease_effect(&l, &fx, now);
    pass(15000);
    ck_assert_uint_eq(stops, 0);
    begin();
    stops = 0;
    lease_group(&l, false, true, now);
    pass(15000);
    ck_assert_uint_eq(stops, 0);
}
END_TEST

START_TEST(a_device_that_a_dead_feeder_left_running_is_not_stopped)
{
    armed();
    lease_group(&l, false, true, now); /* cut off: the others count on it */
    lease_feeder(&l, false, now);
    lease_feeder(&l, true, now);
    leases = 0;
    feeder_says(HF_WD_UNKNOWN);
    pass(3000);
    ck_assert_uint_eq(leases, 0);
    lease_group(&l, true, true, now); /* back: they are told that it is not armed */
    beating(200);
    ck_assert_uint_eq(said_count, 1);
    ck_assert(leases == 0 || to_feeder.u.lease.wants_armed);
    apply();
    beating(600);
    ck_assert_uint_gt(leases, 0);
}
END_TEST

START_TEST(a_new_feeder_keeps_to_the_lease_that_was_attested)
{
    armed();
    lease_feeder(&l, false, now);
    l.conf.lease_ms = 9000;
    lease_feeder(&l, true, now);
    feeder_says(HF_WD_UNKNOWN);
    beating(600);
    ck_assert(to_feeder.u.lease.wants_armed);
    ck_assert_uint_eq(to_feeder.u.lease.lease_ms, 3000);
}
END_TEST

START_TEST(a_feeder_that_is_gone_has_attested_nothing_new)
{
    armed();
    lease_feeder(&l, false, now);
    beating(5000);
    ck_assert_uint_eq(said_count, 0);
    ck_assert_int_eq(engine_node(&t.e, (hf_node){2}).watchdog.state, HF_WD_ARMED);
}
END_TEST

HF_TEST_MAIN("act/lease", HF_CASE(armed_only_when_a_vm_may_be_here),
             HF_CASE(armed_last_not_before_link_and_configuration_are_fit),
             HF_CASE(the_lease_is_the_sending_time_of_an_echoed_beat),
             HF_CASE(what_the_feeder_is_the_group_knows_once),
             HF_CASE(an_attestation_that_was_lost_is_told_again),
             HF_CASE(closed_only_when_the_group_knows_that_it_does_not_count),
             HF_CASE(wanted_again_before_it_is_closed_it_stays_open),
             HF_CASE(a_new_daemon_neither_closes_nor_shortens),
             HF_CASE(a_hold_reaches_the_feeder_once_and_ends_with_its_order),
             HF_CASE(back_from_a_hold_the_group_is_waited_for),
             HF_CASE(back_from_a_short_hold_the_old_lease_is_not_enough),
             HF_CASE(when_the_lease_is_over_our_vms_end_once),
             HF_CASE(a_blip_shorter_than_the_lease_ends_nothing),
             HF_CASE(who_was_paused_gives_the_group_a_moment),
             HF_CASE(on_hold_and_without_a_watchdog_nothing_is_ended),
             HF_CASE(a_device_that_a_dead_feeder_left_running_is_not_stopped),
             HF_CASE(a_new_feeder_keeps_to_the_lease_that_was_attested),
             HF_CASE(a_feeder_that_is_gone_has_attested_nothing_new))
