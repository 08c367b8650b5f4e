/* What nicbond says, against an engine: told when it is news, and less often when it never rests.
 */
#include <string.h>

#include "supervisord/act/nics.h"
#include "tests/unit/supervisord/engine/trio.h"

enum { MAX = 64 };

static struct nics n;
static hf_time now;
static struct hf_event said[MAX];
static unsigned said_count, flips_count, answers_count;
static bool has_room, nicbond_takes;
static struct hf_report ordered;
static struct {
    hf_node member;
    uint32_t number;
    hf_vm_uid uid;
    hf_fabric to;
} asked;
static struct {
    bool is_done;
    uint32_t asker, number;
} flipped;
static struct {
    uint64_t cookie;
    bool is_done;
} answered;

static const struct engine *port_engine(void *user)
{
    (void)user;
    return &t.e;
}

static enum hf_code port_submit(void *user, const struct hf_event *ev, struct hf_err *err)
{
    (void)user;
    if (!has_room)
        return hf_err_set(err, HF_EFULL, "no room");
    ck_assert_uint_lt(said_count, MAX);
    said[said_count++] = *ev;
    return HF_OK;
}

static bool port_tell(void *user, const struct hf_report *report)
{
    (void)user;
    ordered = *report;
    return nicbond_takes;
}

static void port_ask(void *user, hf_node member, uint32_t number, hf_vm_uid uid, hf_fabric to)
{
    (void)user;
    asked.member = member;
    asked.number = number;
    asked.uid = uid;
    asked.to = to;
}

static void port_flipped(void *user, const struct hf_flip *flip, uint32_t asker, uint32_t number)
{
    (void)user;
    flips_count++;
    flipped.is_done = flip != NULL;
    flipped.asker = asker;
    flipped.number = number;
}

static void port_answered(void *user, uint64_t cookie, const struct hf_flip *flip)
{
    (void)user;
    answers_count++;
    answered.cookie = cookie;
    answered.is_done = flip != NULL;
}

/* We are n2 (index 1); a VM with two legs runs here. */
static hf_vm_uid begin(void)
{
    static const struct nics_ports ports = {NULL,     port_engine,  port_submit,  port_tell,
                                            port_ask, port_flipped, port_answered};
    struct hf_vm_def def = a_vm("a");
    hf_vm_uid uid;

    form(3);
    def.legs = 3;
    uid = running_on(def, 1);
    now = (hf_time){1000000000};
    has_room = nicbond_takes = true;
    nics_init(&n, 2, &ports);
    nics_group(&n, true, now);
    nics_joined(&n, now);
    return uid;
}

static void apply(void)
{
    for (unsigned i = 0; i < said_count; i++) {
        said[i].from = (hf_node){1};
        step(said[i]);
        nics_stepped(&n, &t.out, now, (hf_wall){now.ns});
    }
    said_count = 0;
}

static void pass(uint32_t ms)
{
    for (hf_time end = hf_time_add_ms(now, ms); now.ns < end.ns;) {
        now = hf_time_add_ms(now, 10);
        if (hf_time_reached(now, nics_deadline(&n)))
            nics_turn(&n, now);
    }
}

static void tells_pfs(enum hf_pf a, enum hf_pf b)
{
    struct hf_report report = {.kind = HF_REPORT_NICS};

    report.u.nics.count = 2;
    report.u.nics.pf[0].state = a;
    report.u.nics.pf[1].state = b;
    nics_told(&n, &report, now);
}

static void tells_legs(hf_vm_uid uid, hf_legs has, hf_legs up)
{
    struct hf_report report = {.kind = HF_REPORT_LEGS};

    report.u.legs = (struct hf_vm_legs){
        .uid = uid, .start_no = uid ? vm(uid)->running_no : 0, .has = has, .up = up};
    nics_told(&n, &report, now);
}

static void tells_flip(uint32_t number)
{
    struct hf_report report = {.kind = HF_REPORT_FLIP};

    report.u.flip.number = number;
    report.u.flip.flip.epoch = 7;
    nics_told(&n, &report, now);
}

static enum hf_pf known(hf_fabric f)
{
    return engine_node(&t.e, (hf_node){1}).pf[f].state;
}

START_TEST(what_is_news_is_told_at_once_and_once)
{
    hf_vm_uid uid = begin();

    tells_pfs(HF_PF_UP, HF_PF_UP);
    ck_assert_uint_eq(said_count, 1);
    apply();
    ck_assert_int_eq(known(1), HF_PF_UP);
    ck_assert_int_ne(n.since[1][1].ns, 0);
    tells_legs(uid, 3, 3);
    ck_assert_uint_eq(said_count, 1);
    ck_assert_int_eq(said[0].type, HF_EV_LEGS);
    apply();
    tells_pfs(HF_PF_UP, HF_PF_UP);
    tells_legs(uid, 3, 3);
    pass(60000);
    ck_assert_uint_eq(said_count, 0);
}
END_TEST

/* 10 Hz for ten seconds: what the group hears of it, and that the last word is what it knows. */
START_TEST(a_flapping_nic_does_not_flood_the_group)
{
    unsigned events = 0;

    begin();
    for (unsigned i = 0; i < 100; i++) {
        tells_pfs(i % 2 ? HF_PF_UP : HF_PF_DOWN, HF_PF_UP);
        events += said_count;
        apply();
        pass(100);
        events += said_count;
        apply();
    }
    ck_assert_uint_le(events, 8);
    tells_pfs(HF_PF_HOLD, HF_PF_UP);
    pass(NICS_PAUSE_MAX_MS);
    apply();
    ck_assert_int_eq(known(0), HF_PF_HOLD);
    pass(NICS_QUIET_MS);
    tells_pfs(HF_PF_UP, HF_PF_UP);
    ck_assert_uint_eq(said_count, 1); /* it has been quiet: at once again */
}
END_TEST

START_TEST(what_was_not_applied_is_told_again)
{
    begin();
    tells_pfs(HF_PF_UP, HF_PF_UP);
    ck_assert_uint_eq(said_count, 1);
    pass(NICS_AGAIN_MS - 100);
    ck_assert_uint_eq(said_count, 1);
    pass(300);
    ck_assert_uint_eq(said_count, 2);
}
END_TEST

/* Of a PF that nobody knew the state of, words about legs were guesses: the group forgets them. */
START_TEST(legs_are_told_again_when_their_pf_is_known)
{
    hf_vm_uid uid = begin();

    tells_pfs(HF_PF_UNKNOWN, HF_PF_UP);
    apply();
    tells_legs(uid, 3, 2);
    apply();
    tells_pfs(HF_PF_UP, HF_PF_UP);
    pass(NICS_PAUSE_MS * 2);
    apply();
    pass(NICS_AGAIN_MS);
    apply();
    ck_assert_uint_eq(engine_vm(&t.e, engine_vm_by_uid(&t.e, uid)).legs.has, 3);
}
END_TEST

START_TEST(a_full_outbox_is_tried_again)
{
    begin();
    has_room = false;
    tells_pfs(HF_PF_UP, HF_PF_UP);
    has_room = true;
    pass(NICS_PAUSE_MS + 20);
    ck_assert_uint_eq(said_count, 1);
}
END_TEST

START_TEST(nothing_is_told_to_a_group_that_we_are_not_in)
{
    begin();
    nics_group(&n, false, now);
    tells_pfs(HF_PF_DOWN, HF_PF_UP);
    pass(5000);
    ck_assert_uint_eq(said_count, 0);
    nics_group(&n, true, now);
    pass(20);
    ck_assert_uint_eq(said_count, 1);
}
END_TEST

START_TEST(a_daemon_that_came_anew_tells_everything_again)
{
    hf_vm_uid uid = begin();

    tells_pfs(HF_PF_UP, HF_PF_DOWN);
    apply();
    tells_legs(uid, 3, 1);
    apply();
    t.member[1].incarnation++; /* what it said is forgotten with it */
    members(false);
    nics_stepped(&n, &t.out, now, (hf_wall){1});
    pass(NICS_PAUSE_MS * 2);
    ck_assert_uint_eq(said_count, 2);
    apply();
    ck_assert_int_eq(known(1), HF_PF_DOWN);
}
END_TEST

START_TEST(a_nicbond_that_is_gone_becomes_unknown_after_a_while)
{
    hf_vm_uid uid = begin();

    tells_pfs(HF_PF_UP, HF_PF_DOWN);
    apply();
    tells_legs(uid, 3, 1);
    apply();
    nics_agent(&n, false, now);
    pass(NICS_GRACE_MS - 100);
    ck_assert_uint_eq(said_count, 0);
    pass(200);
    apply();
    ck_assert_int_eq(known(0), HF_PF_UNKNOWN);
    ck_assert_int_eq(known(1), HF_PF_UNKNOWN);
    ck_assert_uint_eq(engine_vm(&t.e, engine_vm_by_uid(&t.e, uid)).legs.has, 0);
    nics_joined(&n, now);
    tells_pfs(HF_PF_UP, HF_PF_DOWN);
    pass(NICS_PAUSE_MAX_MS);
    apply();
    ck_assert_int_eq(known(1), HF_PF_DOWN);
}
END_TEST

START_TEST(one_that_restarts_in_time_changes_nothing)
{
    hf_vm_uid uid = begin();

    tells_pfs(HF_PF_UP, HF_PF_DOWN);
    apply();
    tells_legs(uid, 3, 1);
    apply();
    nics_agent(&n, false, now);
    pass(2000);
    nics_joined(&n, now);
    tells_pfs(HF_PF_UP, HF_PF_DOWN);
    tells_legs(uid, 3, 1);
    pass(NICS_GRACE_MS * 2);
    ck_assert_uint_eq(said_count, 0);
}
END_TEST

START_TEST(what_a_new_nicbond_does_not_name_is_not_known_any_more)
{
    hf_vm_uid uid = begin();

    tells_pfs(HF_PF_UP, HF_PF_UP);
    apply();
    tells_legs(uid, 3, 1);
    apply();
    nics_joined(&n, now);
    tells_pfs(HF_PF_UP, HF_PF_UP);
    pass(NICS_GRACE_MS + 100);
    ck_assert_uint_eq(said_count, 1);
    ck_assert_uint_eq(said[0].u.legs.has, 0);
    apply();
    ck_assert_uint_eq(engine_vm(&t.e, engine_vm_by_uid(&t.e, uid)).legs.has, 0);
}
END_TEST

START_TEST(legs_of_another_run_or_of_nobody_are_not_told)
{
    hf_vm_uid uid = begin();
    struct hf_report report = {.kind = HF_REPORT_LEGS};
    const struct hf_vm_legs *all;

    tells_pfs(HF_PF_UP, HF_PF_UP);
    apply();
    report.u.legs = (struct hf_vm_legs){.uid = uid, .start_no = 77, .has = 3, .up = 3};
    nics_told(&n, &report, now);
    tells_legs(0, 3, 3);
    report.u.legs.uid = 4711;
    nics_told(&n, &report, now);
    pass(5000);
    ck_assert_uint_eq(said_count, 0);
    ck_assert_uint_eq(nics_legs(&n, &all), 2); /* people may see them all the same */
}
END_TEST

START_TEST(there_is_always_room_for_a_vm_that_is_here)
{
    hf_vm_uid uid = begin();
    struct hf_report report = {.kind = HF_REPORT_LEGS};

    tells_pfs(HF_PF_UP, HF_PF_UP);
    apply();
    for (hf_vm_uid i = 1000; i < 1000 + 3 * HF_VMS_MAX; i++) { /* they came and went */
        report.u.legs = (struct hf_vm_legs){.uid = i, .start_no = 1, .has = 3, .up = 3};
        nics_told(&n, &report, now);
        report.u.legs.has = report.u.legs.up = 0;
        nics_told(&n, &report, now);
    }
    tells_legs(uid, 3, 1);
    ck_assert_uint_eq(said_count, 1);
}
END_TEST

/* ---- orders ---- */

START_TEST(an_order_for_a_vm_here_is_answered_by_its_flip)
{
    hf_vm_uid uid = begin();
    struct hf_err err;

    ck_assert_int_eq(nics_failback(&n, uid, 1, 99, now, &err), HF_OK);
    ck_assert_int_eq(ordered.kind, HF_REPORT_NIC_ORDER);
    ck_assert_uint_eq(ordered.u.nic_order.uid, uid);
    ck_assert_uint_eq(ordered.u.nic_order.to, 1);
    tells_flip(0);
    ck_assert_uint_eq(answers_count, 0);
    tells_flip(ordered.u.nic_order.number);
    ck_assert_uint_eq(answers_count, 1);
    ck_assert_uint_eq(answered.cookie, 99);
    ck_assert_uint_eq(flips_count, 2);
    ck_assert_uint_eq(n.flips_count, 2);
    tells_flip(ordered.u.nic_order.number); /* told twice */
    ck_assert_uint_eq(answers_count, 1);
}
END_TEST

START_TEST(an_order_for_a_vm_elsewhere_goes_there_and_its_answer_comes_back)
{
    struct hf_vm_def def = a_vm("b");
    struct hf_flip flip = {.epoch = 3};
    struct hf_err err;
    hf_vm_uid uid;

    begin();
    def.legs = 3;
    uid = running_on(def, 2);
    ck_assert_int_eq(nics_failback(&n, uid, 0, 99, now, &err), HF_OK);
    ck_assert_uint_eq(asked.member.ix, 2);
    ck_assert_uint_eq(asked.uid, uid);
    nics_answered(&n, asked.number + 1, &flip);
    ck_assert_uint_eq(answers_count, 0);
    nics_answered(&n, asked.number, &flip);
    ck_assert_uint_eq(answered.cookie, 99);
    ck_assert(answered.is_done);
    nics_answered(&n, asked.number, NULL);
    ck_assert_uint_eq(answers_count, 1);
}
END_TEST

START_TEST(another_members_order_is_given_and_its_flip_names_the_asker)
{
    hf_vm_uid uid = begin();

    nics_asked(&n, 3, 41, uid, 0, now);
    ck_assert_uint_eq(ordered.u.nic_order.uid, uid);
    tells_flip(ordered.u.nic_order.number);
    ck_assert(flipped.is_done);
    ck_assert_uint_eq(flipped.asker, 3);
    ck_assert_uint_eq(flipped.number, 41);
    ck_assert_uint_eq(answers_count, 0);
    nicbond_takes = false;
    nics_asked(&n, 3, 42, uid, 0, now);
    ck_assert(!flipped.is_done);
    ck_assert_uint_eq(flipped.number, 42);
}
END_TEST

START_TEST(an_order_that_nobody_can_carry_out_is_refused)
{
    hf_vm_uid uid = begin();
    struct hf_err err;

    ck_assert_int_eq(nics_failback(&n, uid, 2, 1, now, &err), HF_EINVAL);
    ck_assert_int_eq(nics_failback(&n, 4711, 0, 1, now, &err), HF_EINVAL);
    nicbond_takes = false;
    ck_assert_int_eq(nics_failback(&n, uid, 0, 1, now, &err), HF_EAGAIN);
    nicbond_takes = true;
    for (unsigned i = 0; i < NICS_ORDERS_MAX; i++)
        ck_assert_int_eq(nics_failback(&n, uid, 0, 1, now, &err), HF_OK);
    ck_assert_int_eq(nics_failback(&n, uid, 0, 1, now, &err), HF_EFULL);
    pass(NICS_ORDER_MS + 20); /* nobody waits any more */
    ck_assert_int_eq(nics_failback(&n, uid, 0, 1, now, &err), HF_OK);
    seen(1, uid, vm(uid)->running_no, HF_SEEN_SHUTDOWN);
    ck_assert_int_eq(nics_failback(&n, uid, 0, 1, now, &err), HF_EINVAL);
}
END_TEST

START_TEST(the_newest_flips_are_kept)
{
    begin();
    for (unsigned i = 0; i < NICS_FLIPS_MAX + 3; i++) {
        struct hf_report report = {.kind = HF_REPORT_FLIP};

        report.u.flip.flip.epoch = i;
        nics_told(&n, &report, now);
    }
    ck_assert_uint_eq(n.flips_count, NICS_FLIPS_MAX);
    ck_assert_uint_eq(n.flip[0].epoch, 3);
    ck_assert_uint_eq(n.flip[NICS_FLIPS_MAX - 1].epoch, NICS_FLIPS_MAX + 2);
}
END_TEST

HF_TEST_MAIN("act/nics", HF_CASE(what_is_news_is_told_at_once_and_once),
             HF_CASE(a_flapping_nic_does_not_flood_the_group),
             HF_CASE(what_was_not_applied_is_told_again),
             HF_CASE(legs_are_told_again_when_their_pf_is_known),
             HF_CASE(a_full_outbox_is_tried_again),
             HF_CASE(nothing_is_told_to_a_group_that_we_are_not_in),
             HF_CASE(a_daemon_that_came_anew_tells_everything_again),
             HF_CASE(a_nicbond_that_is_gone_becomes_unknown_after_a_while),
             HF_CASE(one_that_restarts_in_time_changes_nothing),
             HF_CASE(what_a_new_nicbond_does_not_name_is_not_known_any_more),
             HF_CASE(legs_of_another_run_or_of_nobody_are_not_told),
             HF_CASE(there_is_always_room_for_a_vm_that_is_here),
             HF_CASE(an_order_for_a_vm_here_is_answered_by_its_flip),
             HF_CASE(an_order_for_a_vm_elsewhere_goes_there_and_its_answer_comes_back),
             HF_CASE(another_members_order_is_given_and_its_flip_names_the_asker),
             HF_CASE(an_order_that_nobody_can_carry_out_is_refused),
             HF_CASE(the_newest_flips_are_kept))
