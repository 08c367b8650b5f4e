/* LINK: supervisord/report */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "supervisord/act/act.h"
#include "supervisord/door/door.h"
#include "tests/unit/check.h"
#include "tests/unit/supervisord/a_group.h"

/* A group of one or three nodes around a real engine, this node being the first. What act submits
 * is applied in order; effects for this node come back to it, as the replica would bring them. */

enum { TOLD_MAX = 256, QUEUE_MAX = 64 };

static struct engine *e;
static struct engine_out out;
static struct act *a;
static hf_time now = {5000000000};

static bool connected[HF_AGENT_KINDS];
static struct {
    enum hf_agent_kind kind;
    struct hf_report report;
    char ride[64]; /* what rode on it */
} told[TOLD_MAX];
static unsigned told_count;

static struct hf_event queue[QUEUE_MAX];
static unsigned queue_count;
static bool outbox_full;

static char xml[] = "<domain/>", config[] = "cluster {}";
static bool has_xml, has_config;
static unsigned wanted, progressed;
static enum hf_outcome last_outcome;
static char last_why[HF_REASON_MAX + 1];

static const struct engine *port_engine(void *user)
{
    (void)user;
    return e;
}

static enum hf_code port_submit(void *user, const struct hf_event *ev, struct hf_err *err)
{
    (void)user;
    if (outbox_full)
        return hf_err_set(err, HF_EFULL, "full");
    ck_assert_uint_lt(queue_count, QUEUE_MAX);
    queue[queue_count] = *ev;
    queue[queue_count++].from = (hf_node){0};
    return HF_OK;
}

static bool port_tell(void *user, enum hf_agent_kind kind, const struct hf_report *report, int ride)
{
    (void)user;
    if (!connected[kind])
        return false;
    ck_assert_uint_lt(told_count, TOLD_MAX);
    told[told_count].kind = kind;
    told[told_count].report = *report;
    told[told_count].ride[0] = '\0';
    if (ride >= 0) {
        void *bytes;
        size_t len;
        struct hf_err err;

        ck_assert_int_eq(door_memory_read(ride, 1000, &bytes, &len, &err), HF_OK);
        snprintf(told[told_count].ride, sizeof told[0].ride, "%.*s", (int)len, (char *)bytes);
        free(bytes);
    }
    told_count++;
    return true;
}

static const void *port_content(void *user, const struct hf_digest *digest, size_t *len)
{
    struct hf_digest of_xml = hf_digest_of(xml, strlen(xml));
    struct hf_digest of_config = hf_digest_of(config, strlen(config));

    (void)user;
    if (has_xml && hf_digest_equal(digest, &of_xml)) {
        *len = strlen(xml);
        return xml;
    }
    if (has_config && hf_digest_equal(digest, &of_config)) {
        *len = strlen(config);
        return config;
    }
    return NULL;
}

static void port_want(void *user, const struct hf_digest *digest)
{
    (void)user;
    (void)digest;
    wanted++;
}

static void port_progress(void *user, const struct hf_effect *order, enum hf_progress phase,
                          uint32_t pid)
{
    (void)user;
    (void)order;
    (void)phase;
    (void)pid;
    progressed++;
}

static void port_outcome(void *user, const struct hf_effect *order, enum hf_outcome outcome,
                         uint32_t took_ms, const char *why)
{
    (void)user;
    (void)order;
    (void)took_ms;
    last_outcome = outcome;
    snprintf(last_why, sizeof last_why, "%s", why);
}

static void apply(struct hf_event *ev)
{
    ev->seq = engine_seq(e) + 1;
    engine_step(e, ev, &out);
    act_stepped(a, ev, &out, now);
    for (uint32_t i = 0; i < out.effects_count; i++)
        if (out.effects[i].actor.ix == 0 || out.effects[i].actor.ix == HF_NO_NODE.ix) {
            struct hf_effect fx = out.effects[i];

            act_effect(a, &fx, now);
        }
}

static void settle(void)
{
    while (queue_count > 0) {
        struct hf_event ev = queue[0];

        memmove(&queue[0], &queue[1], --queue_count * sizeof queue[0]);
        apply(&ev);
    }
}

static void members(hf_nodes present, hf_nodes in_ring)
{
    struct hf_event ev;

    memset(&ev, 0, sizeof ev);
    ev.from = HF_NO_NODE;
    ev.type = HF_EV_MEMBERS;
    ev.u.members.view = (struct hf_view){1, engine_seq(e) + 1};
    ev.u.members.epoch = engine_group(e).epoch + 1;
    for (unsigned i = 0; i < 3; i++) {
        ev.u.members.node[i].in_ring = (in_ring >> i & 1) != 0;
        ev.u.members.node[i].present = (present >> i & 1) != 0;
        if (ev.u.members.node[i].present) {
            ev.u.members.node[i].boot.id[0] = (uint8_t)(i + 1);
            ev.u.members.node[i].incarnation = 1;
        }
    }
    apply(&ev);
}

static void resync(void)
{
    struct hf_effect pending[HF_EFFECTS_MAX];
    uint32_t count;

    act_resync(a, now);
    count = engine_pending(e, (hf_node){0}, pending);
    for (uint32_t i = 0; i < count; i++)
        act_effect(a, &pending[i], now);
    settle();
}

static void setup(void)
{
    struct act_ports ports = {NULL,         port_engine, port_submit,   port_tell,
                              port_content, port_want,   port_progress, port_outcome};
    struct hf_group group = a_group(3);
    struct hf_err err;

    group.config = hf_digest_of(config, strlen(config));
    e = calloc(1, engine_size());
    ck_assert_int_eq(engine_init(e, &group, &err), HF_OK);
    ck_assert_int_eq(act_open(&a, 1, &ports, &err), HF_OK);
    has_xml = has_config = true;
    connected[HF_AGENT_VM] = connected[HF_AGENT_FENCE] = connected[HF_AGENT_HOST] = true;
}

static void teardown(void)
{
    act_close(a);
    free(e);
}

static void say(enum hf_agent_kind kind, const struct hf_report *report)
{
    act_told(a, kind, report, now);
    settle();
}

static void inventory(unsigned count, hf_vm_uid uid, uint32_t start_no)
{
    struct hf_report report = {.kind = HF_REPORT_INVENTORY};

    report.u.inventory.as_of = engine_as_of(e); /* as if it had been asked just now */
    report.u.inventory.count = (uint16_t)count;
    report.u.inventory.vm[0] = (struct hf_vm_seen){uid, start_no};
    say(HF_AGENT_VM, &report);
}

/* Node 1 a member with everything known; `others` as well, by their own words. */
static void well(hf_nodes others)
{
    struct hf_report report = {.kind = HF_REPORT_HOST};

    members((hf_nodes)(1 | others), (hf_nodes)(1 | others));
    resync();
    act_agent_changed(a, HF_AGENT_VM, true, true, now);
    act_agent_changed(a, HF_AGENT_HOST, true, true, now);
    act_link(a, true, now);
    act_config(a, true, now);
    report.u.host.memory_mib = 4000;
    report.u.host.cores = 2;
    say(HF_AGENT_HOST, &report);
    report = (struct hf_report){.kind = HF_REPORT_WATCH};
    report.u.watch.known = true;
    say(HF_AGENT_VM, &report);
    inventory(0, 0, 0);
    for (uint8_t i = 1; i < 3; i++) {
        struct hf_event ev;

        if ((others >> i & 1) == 0)
            continue;
        memset(&ev, 0, sizeof ev);
        ev.from = (hf_node){i};
        ev.type = HF_EV_FACTS;
        ev.u.facts.link_fit = ev.u.facts.config_same =
            true; /* but no VM watch: nothing goes there */
        apply(&ev);
        memset(&ev, 0, sizeof ev);
        ev.from = (hf_node){i};
        ev.type = HF_EV_INVENTORY;
        ev.u.inventory.as_of = engine_as_of(e);
        apply(&ev);
    }
    ck_assert_int_eq(engine_node(e, (hf_node){0}).state, HF_NODE_MEMBER);
}

/* A new VM is started when every node here has said that it does not run there already. */
static void runs_nowhere(void)
{
    inventory(0, 0, 0);
    for (uint8_t i = 1; i < 3; i++) {
        struct hf_event ev;

        if (!engine_node(e, (hf_node){i}).is_present)
            continue;
        memset(&ev, 0, sizeof ev);
        ev.from = (hf_node){i};
        ev.type = HF_EV_INVENTORY;
        ev.u.inventory.as_of = engine_as_of(e);
        apply(&ev);
    }
}

static void order(enum hf_order_type type)
{
    struct hf_event ev;

    memset(&ev, 0, sizeof ev);
    ev.from = (hf_node){0};
    ev.type = HF_EV_ORDER;
    ev.u.order.type = type;
    ev.u.order.node = HF_NO_NODE;
    ev.u.order.as_of = engine_as_of(e);
    strcpy(ev.u.order.who, "uid-0");
    if (type == HF_ORDER_VM_ADD) {
        ev.u.order.wants_run = true;
        strcpy(ev.u.order.def.name, "vm1");
        ev.u.order.def.xml = hf_digest_of(xml, strlen(xml));
        ev.u.order.def.xml_bytes = (uint32_t)strlen(xml);
        ev.u.order.def.memory_mib = 100;
        ev.u.order.def.preferred = HF_NO_NODE;
        ev.u.order.def.restarts_max = 3;
        ev.u.order.def.restarts_here = 1;
    } else if (type == HF_ORDER_FENCE) {
        ev.u.order.node = (hf_node){2};
    } else {
        ev.u.order.uid = 1;
    }
    apply(&ev);
    if (type == HF_ORDER_VM_ADD)
        runs_nowhere();
    ck_assert_msg(out.applied, "order refused: %d", (int)out.why);
    settle();
}

static const struct hf_report *newest(enum hf_report_kind kind)
{
    for (unsigned i = told_count; i > 0; i--)
        if (told[i - 1].report.kind == kind)
            return &told[i - 1].report;
    return NULL;
}

static unsigned count_of(enum hf_report_kind kind)
{
    unsigned count = 0;

    for (unsigned i = 0; i < told_count; i++)
        count += told[i].report.kind == kind;
    return count;
}

static void done(enum hf_agent_kind kind, struct hf_token token, enum hf_outcome outcome)
{
    struct hf_report report = {.kind = HF_REPORT_DONE};

    report.u.done.token = token;
    report.u.done.outcome = outcome;
    say(kind, &report);
}

static enum hf_vm_state vm_state(void)
{
    return engine_vm(e, engine_vm_by_uid(e, 1)).state;
}

START_TEST(a_start_goes_to_the_agent_with_its_xml_and_its_answer_to_the_group)
{
    const struct hf_report *start;

    well(6);
    order(HF_ORDER_VM_ADD);
    start = newest(HF_REPORT_START);
    ck_assert_ptr_nonnull(start);
    ck_assert_str_eq(start->u.start.name, "vm1");
    ck_assert_uint_eq(start->u.start.memory_mib, 100);
    ck_assert_uint_eq(start->u.start.deadline_ms, 60000);
    ck_assert_str_eq(told[told_count - 1].ride, xml);
    done(HF_AGENT_VM, start->u.start.token, HF_OUT_DONE);
    ck_assert_int_eq(vm_state(), HF_VM_RUNNING);
    ck_assert_int_eq(last_outcome, HF_OUT_DONE);
    ck_assert_ptr_nonnull(newest(HF_REPORT_DROP)); /* the agent may forget it */
    ck_assert_uint_eq(act_look(a).orders, 0);
}
END_TEST

START_TEST(a_start_waits_for_its_content)
{
    struct hf_digest digest = hf_digest_of(xml, strlen(xml));

    well(6);
    has_xml = false;
    order(HF_ORDER_VM_ADD);
    ck_assert_ptr_null(newest(HF_REPORT_START));
    ck_assert_uint_eq(wanted, 1);
    has_xml = true;
    act_arrived(a, &digest, now);
    ck_assert_ptr_nonnull(newest(HF_REPORT_START));
}
END_TEST

START_TEST(an_agent_that_comes_back_gets_list_and_live_orders_again)
{
    well(6);
    connected[HF_AGENT_VM] = false;
    order(HF_ORDER_VM_ADD);
    ck_assert_ptr_null(newest(HF_REPORT_START));
    connected[HF_AGENT_VM] = true;
    told_count = 0;
    act_agent_joined(a, HF_AGENT_VM, now);
    ck_assert_uint_eq(count_of(HF_REPORT_VMS), 2);
    ck_assert(!told[0].report.u.vms.is_last);
    ck_assert_uint_eq(told[0].report.u.vms.uid, 1);
    ck_assert_str_eq(told[0].report.u.vms.name, "vm1");
    ck_assert(told[1].report.u.vms.is_last);
    ck_assert_uint_eq(count_of(HF_REPORT_START), 1);
    act_agent_joined(a, HF_AGENT_VM, now);
    ck_assert_uint_eq(count_of(HF_REPORT_START), 2);
}
END_TEST

START_TEST(a_stop_has_the_policys_time_on_top_of_its_grace)
{
    const struct hf_report *stop;

    well(6);
    order(HF_ORDER_VM_ADD);
    done(HF_AGENT_VM, newest(HF_REPORT_START)->u.start.token, HF_OUT_DONE);
    order(HF_ORDER_VM_STOP);
    stop = newest(HF_REPORT_STOP);
    ck_assert_ptr_nonnull(stop);
    ck_assert_uint_eq(stop->u.stop.deadline_ms, stop->u.stop.grace_ms + 30000);
    ck_assert_str_eq(stop->u.stop.name, "vm1");
    done(HF_AGENT_VM, stop->u.stop.token, HF_OUT_DONE);
    ck_assert_int_eq(vm_state(), HF_VM_STOPPED);
}
END_TEST

/* Node 3 is ordered off: the lowest other node, which we are, fences it. */
static void lose_node_3(void)
{
    well(6);
    order(HF_ORDER_ARM);
    order(HF_ORDER_FENCE);
}

START_TEST(a_fence_order_goes_out_at_once_with_the_configuration)
{
    const struct hf_report *fence;

    lose_node_3();
    fence = newest(HF_REPORT_FENCE);
    ck_assert_ptr_nonnull(fence);
    ck_assert_str_eq(fence->u.fence.target, "n3");
    ck_assert_uint_eq(fence->u.fence.level, 0);
    for (unsigned i = 0; i < told_count; i++)
        if (told[i].report.kind == HF_REPORT_FENCE)
            ck_assert_str_eq(told[i].ride, config);
    ck_assert(!fence->u.fence.power_on);
    done(HF_AGENT_FENCE, fence->u.fence.token, HF_OUT_DONE);
    ck_assert_int_eq(engine_node(e, (hf_node){2}).why, HF_WHY_FENCE_ORDERED);
    ck_assert(!hf_token_is(engine_node(e, (hf_node){2}).fence_token)); /* it reads off */
}
END_TEST

START_TEST(without_a_fencer_a_fence_order_is_given_up_at_once)
{
    connected[HF_AGENT_FENCE] = false;
    lose_node_3();
    ck_assert_int_eq(last_outcome, HF_OUT_GAVE_UP);
    ck_assert_str_eq(last_why, "the fence runner is not connected");
    ck_assert_int_ne(engine_node(e, (hf_node){2}).state, HF_NODE_DEAD);
}
END_TEST

START_TEST(a_fencer_that_dies_in_work_is_given_up)
{
    lose_node_3();
    ck_assert_ptr_nonnull(newest(HF_REPORT_FENCE));
    connected[HF_AGENT_FENCE] = false;
    act_agent_changed(a, HF_AGENT_FENCE, false, false, now);
    settle();
    ck_assert_int_eq(last_outcome, HF_OUT_GAVE_UP);
    ck_assert_int_ne(engine_node(e, (hf_node){2}).state, HF_NODE_DEAD);
}
END_TEST

START_TEST(a_missing_configuration_text_is_given_up_and_asked_for)
{
    has_config = false;
    lose_node_3();
    ck_assert_int_eq(last_outcome, HF_OUT_GAVE_UP);
    ck_assert_uint_ge(wanted, 1);
}
END_TEST

START_TEST(an_order_the_group_drops_is_dropped_at_the_agent)
{
    struct hf_token token;

    lose_node_3();
    token = newest(HF_REPORT_FENCE)->u.fence.token;
    order(HF_ORDER_DISARM);
    ck_assert_ptr_nonnull(newest(HF_REPORT_DROP));
    ck_assert(hf_token_same(newest(HF_REPORT_DROP)->u.drop.token, token));
    done(HF_AGENT_FENCE, token, HF_OUT_DONE);
    ck_assert_int_ne(engine_node(e, (hf_node){2}).state, HF_NODE_DEAD);
}
END_TEST

START_TEST(an_answer_that_finds_the_outbox_full_is_given_later)
{
    well(6);
    order(HF_ORDER_VM_ADD);
    outbox_full = true;
    done(HF_AGENT_VM, newest(HF_REPORT_START)->u.start.token, HF_OUT_DONE);
    ck_assert_int_eq(vm_state(), HF_VM_STARTING);
    outbox_full = false;
    ck_assert_int_le(act_deadline(a).ns, hf_time_add_ms(now, ACT_RETRY_MS).ns);
    now = hf_time_add_ms(now, ACT_RETRY_MS);
    act_tick(a, now);
    settle();
    ck_assert_int_eq(vm_state(), HF_VM_RUNNING);
}
END_TEST

START_TEST(an_agent_cannot_answer_for_another_kind)
{
    lose_node_3();
    done(HF_AGENT_VM, newest(HF_REPORT_FENCE)->u.fence.token, HF_OUT_DONE);
    ck_assert_int_ne(engine_node(e, (hf_node){2}).state, HF_NODE_DEAD);
}
END_TEST

static unsigned queued(enum hf_event_type type)
{
    unsigned count = 0;

    for (unsigned i = 0; i < queue_count; i++)
        count += queue[i].type == type;
    return count;
}

START_TEST(facts_are_told_on_change_and_every_half_minute)
{
    struct hf_report report = {.kind = HF_REPORT_HOST};

    well(6);
    report.u.host.memory_mib = 4000;
    report.u.host.cores = 2;
    report.u.host.load_centi = 77; /* not a fact of the group */
    act_told(a, HF_AGENT_HOST, &report, now);
    ck_assert_uint_eq(queued(HF_EV_FACTS), 0);
    now = hf_time_add_ms(now, ACT_FACTS_MS);
    act_tick(a, now);
    ck_assert_uint_eq(queued(HF_EV_FACTS), 1);
    act_link(a, false, now);
    ck_assert_uint_eq(queued(HF_EV_FACTS), 2);
    ck_assert(!queue[queue_count - 1].u.facts.link_fit);
}
END_TEST

START_TEST(a_silent_or_gone_vm_agent_is_unknown_and_nothing_else)
{
    well(6);
    act_agent_changed(a, HF_AGENT_VM, _i == 0, false, now);
    ck_assert_uint_eq(queue_count, 1);
    ck_assert_int_eq(queue[0].type, HF_EV_FACTS);
    ck_assert(!queue[0].u.facts.vm_watch_known);
}
END_TEST

START_TEST(the_same_inventory_again_is_not_an_event)
{
    struct hf_report report = {.kind = HF_REPORT_INVENTORY};

    well(6);
    act_told(a, HF_AGENT_VM, &report, now);
    ck_assert_uint_eq(queue_count, 0);
    report.u.inventory.count = 1;
    report.u.inventory.vm[0] = (struct hf_vm_seen){9, 1};
    act_told(a, HF_AGENT_VM, &report, now);
    ck_assert_uint_eq(queued(HF_EV_INVENTORY), 1);
}
END_TEST

START_TEST(away_from_the_group_only_a_vms_end_is_submitted)
{
    struct hf_report report = {.kind = HF_REPORT_VM};

    well(6);
    act_apart(a);
    inventory(0, 0, 0);
    act_link(a, false, now);
    ck_assert_uint_eq(queue_count, 0);
    report.u.vm.uid = 1;
    report.u.vm.seen = HF_SEEN_CRASHED;
    act_told(a, HF_AGENT_VM, &report, now);
    ck_assert_uint_eq(queued(HF_EV_VM), 1);
    queue_count = 0;
    told_count = 0;
    act_resync(a, now);
    ck_assert_uint_eq(count_of(HF_REPORT_ASK), 1);
    ck_assert_uint_eq(count_of(HF_REPORT_VMS), 1);
    ck_assert_uint_eq(queued(HF_EV_FACTS), 1);
}
END_TEST

START_TEST(a_timer_keeps_its_time_over_a_resync_and_fires_again_after_one)
{
    hf_time at;

    lose_node_3();
    at = act_deadline(a); /* of the fence order, or earlier facts */
    ck_assert_uint_ge(act_look(a).timers, 1);
    now = hf_time_add_ms(now, 59000);
    act_tick(a, now); /* facts */
    settle();
    resync();
    now = hf_time_add_ms(now, 1000);
    queue_count = 0;
    act_tick(a, now);
    ck_assert_uint_ge(queued(HF_EV_EXPIRED), 1); /* 60 s after it was armed, not after the resync */
    (void)at;
    queue_count = 0; /* lost with the view */
    {
        struct hf_effect pending[HF_EFFECTS_MAX];
        uint32_t count = engine_pending(e, (hf_node){0}, pending);

        act_resync(a, now);
        queue_count = 0;
        for (uint32_t i = 0; i < count; i++)
            if (pending[i].type == HF_FX_TIMER)
                act_effect(a, &pending[i], now);
        act_tick(a, now);
        ck_assert_uint_ge(queued(HF_EV_EXPIRED), 1);
    }
}
END_TEST

START_TEST(phases_of_own_orders_are_passed_on_and_others_are_not)
{
    struct hf_report report = {.kind = HF_REPORT_PROGRESS};

    lose_node_3();
    report.u.progress.token = newest(HF_REPORT_FENCE)->u.fence.token;
    report.u.progress.phase = HF_PROGRESS_FENCE_RUNNING;
    say(HF_AGENT_FENCE, &report);
    ck_assert_uint_eq(progressed, 1);
    report.u.progress.token.seq += 1000;
    say(HF_AGENT_FENCE, &report);
    ck_assert_uint_eq(progressed, 1);
}
END_TEST

HF_TEST_MAIN_WITH("act/act", setup, teardown,
                  HF_CASE(a_start_goes_to_the_agent_with_its_xml_and_its_answer_to_the_group),
                  HF_CASE(a_start_waits_for_its_content),
                  HF_CASE(an_agent_that_comes_back_gets_list_and_live_orders_again),
                  HF_CASE(a_stop_has_the_policys_time_on_top_of_its_grace),
                  HF_CASE(a_fence_order_goes_out_at_once_with_the_configuration),
                  HF_CASE(without_a_fencer_a_fence_order_is_given_up_at_once),
                  HF_CASE(a_fencer_that_dies_in_work_is_given_up),
                  HF_CASE(a_missing_configuration_text_is_given_up_and_asked_for),
                  HF_CASE(an_order_the_group_drops_is_dropped_at_the_agent),
                  HF_CASE(an_answer_that_finds_the_outbox_full_is_given_later),
                  HF_CASE(an_agent_cannot_answer_for_another_kind),
                  HF_CASE(facts_are_told_on_change_and_every_half_minute),
                  HF_LOOP(a_silent_or_gone_vm_agent_is_unknown_and_nothing_else, 0, 2),
                  HF_CASE(the_same_inventory_again_is_not_an_event),
                  HF_CASE(away_from_the_group_only_a_vms_end_is_submitted),
                  HF_CASE(a_timer_keeps_its_time_over_a_resync_and_fires_again_after_one),
                  HF_CASE(phases_of_own_orders_are_passed_on_and_others_are_not))
