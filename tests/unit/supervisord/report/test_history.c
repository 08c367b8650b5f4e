#include "supervisord/base/str.h"
#include "supervisord/model/names.h"
#include "supervisord/report/history.h"
#include "tests/unit/check.h"
#include "tests/unit/supervisord/a_group.h"

#include <string.h>

/* The engine is real, its decisions are ours: an engine_out is enough to be recorded. */
static struct history *h;
static struct engine *e;
static struct engine_out out;
static struct hf_event ev;
static struct history_when now;

static void set_up(void)
{
    struct hf_group group = a_group(3);
    struct hf_err err;

    h = (struct history *)calloc(1, history_size());
    e = (struct engine *)calloc(1, engine_size());
    history_init(h, 5);
    ck_assert_int_eq(engine_init(e, &group, &err), HF_OK);
    now.boot.ns = 1000000000;
    now.monotonic_ns = 7;
    now.wall.ns = 1796031067123456789LL;
}

static void tear_down(void)
{
    free(h);
    free(e);
}

static void begin(enum hf_event_type type)
{
    memset(&ev, 0, sizeof ev);
    ev.type = type;
    out.changes_count = 0;
}

static void change(enum hf_subject subject, uint16_t ix, hf_vm_uid uid, uint8_t was, uint8_t state,
                   uint8_t node, enum hf_reason why)
{
    out.changes[out.changes_count++] = (struct hf_change){.subject = subject,
                                                          .ix = ix,
                                                          .uid = uid,
                                                          .was = was,
                                                          .now = state,
                                                          .node = {node},
                                                          .why = why};
}

/* The engine itself is stepped too, by an order that it refuses, so that its sequence moves on. */
static void end(void)
{
    static struct engine_out ignored;
    struct hf_event step;

    memset(&step, 0, sizeof step);
    step.seq = engine_seq(e) + 1;
    step.type = HF_EV_ORDER;
    step.u.order.type = HF_ORDER_UNDRAIN;
    engine_step(e, &step, &ignored);
    history_step(h, e, &ev, &out, &now);
}

static const struct history_record *last(void)
{
    return history_at(h, history_newest(h));
}

START_TEST(an_empty_history_has_nothing)
{
    struct history_since since;

    ck_assert_uint_eq(history_newest(h), 0);
    ck_assert_uint_eq(history_oldest(h), 0);
    ck_assert_ptr_null(history_at(h, 0));
    ck_assert_ptr_null(history_at(h, 1));
    ck_assert(!history_since(h, HF_SUBJECT_NODE, 0, &since));
    ck_assert(!history_since(h, HF_SUBJECT_VM, 60000, &since));
    ck_assert_uint_eq(history_incident(h, HF_SUBJECT_NODE, 200), 0);
    ck_assert_uint_eq(history_life(h), 5);
}
END_TEST

START_TEST(numbers_have_no_gap_and_the_oldest_go_first)
{
    for (uint64_t i = 1; i <= 2 * HISTORY_RECORDS_MAX + 3; i++) {
        history_note(h, e, "n1", "x", &now);
        ck_assert_uint_eq(last()->seq, i);
    }
    ck_assert_uint_eq(history_oldest(h), HISTORY_RECORDS_MAX + 4);
    ck_assert_ptr_null(history_at(h, HISTORY_RECORDS_MAX + 3));
    for (uint64_t i = history_oldest(h); i <= history_newest(h); i++)
        ck_assert_uint_eq(history_at(h, i)->seq, i);
}
END_TEST

START_TEST(a_lost_node_and_its_vms_share_one_incident_until_they_are_well)
{
    uint64_t incident;

    begin(HF_EV_MEMBERS);
    change(HF_SUBJECT_NODE, 1, 0, HF_NODE_MEMBER, HF_NODE_LOST, 0xff, HF_WHY_LEFT_RING);
    change(HF_SUBJECT_VM, 4, 9, HF_VM_RUNNING, HF_VM_WAITING, 1, HF_WHY_HOST_LOST);
    end();
    incident = engine_seq(e);
    ck_assert_uint_eq(history_at(h, 1)->incident, incident);
    ck_assert_uint_eq(history_at(h, 2)->incident, incident);
    history_progress(h, e, HF_SUBJECT_NODE, (hf_node){1}, 0, (struct hf_token){1, 1},
                     HF_PROGRESS_FENCE_RUNNING, 99, &now);
    ck_assert_uint_eq(last()->incident, incident);
    begin(HF_EV_DONE);
    change(HF_SUBJECT_NODE, 1, 0, HF_NODE_FENCING, HF_NODE_DEAD, 0xff, HF_WHY_PROOF_FENCE);
    change(HF_SUBJECT_VM, 4, 9, HF_VM_PLACING, HF_VM_STARTING, 2, HF_WHY_PLACED);
    end();
    begin(HF_EV_DONE);
    change(HF_SUBJECT_VM, 4, 9, HF_VM_STARTING, HF_VM_RUNNING, 2, HF_WHY_STARTED);
    end();
    ck_assert_uint_eq(last()->incident, incident);
    ck_assert_uint_eq(history_incident(h, HF_SUBJECT_VM, 4), 0);
    ck_assert_uint_eq(history_incident(h, HF_SUBJECT_NODE, 1), incident);
    begin(HF_EV_MEMBERS);
    change(HF_SUBJECT_NODE, 1, 0, HF_NODE_DEAD, HF_NODE_JOINING, 0xff, HF_WHY_JOINED);
    change(HF_SUBJECT_NODE, 1, 0, HF_NODE_JOINING, HF_NODE_MEMBER, 0xff, HF_WHY_INVENTORY_COMPLETE);
    end();
    ck_assert_uint_eq(last()->incident, incident);
    ck_assert_uint_eq(history_incident(h, HF_SUBJECT_NODE, 1), 0);
}
END_TEST

START_TEST(a_vm_that_turns_bad_later_joins_its_nodes_incident)
{
    uint64_t incident;

    begin(HF_EV_MEMBERS);
    change(HF_SUBJECT_NODE, 1, 0, HF_NODE_MEMBER, HF_NODE_SILENT, 0xff, HF_WHY_DAEMON_GONE);
    end();
    incident = engine_seq(e);
    begin(HF_EV_EXPIRED);
    change(HF_SUBJECT_NODE, 1, 0, HF_NODE_SILENT, HF_NODE_LOST, 0xff, HF_WHY_GRACE_OVER);
    change(HF_SUBJECT_VM, 4, 9, HF_VM_RUNNING, HF_VM_WAITING, 1, HF_WHY_HOST_LOST);
    end();
    ck_assert_uint_ne(engine_seq(e), incident);
    ck_assert_uint_eq(last()->incident, incident);
}
END_TEST

START_TEST(a_crash_while_another_node_is_dead_is_its_own_incident)
{
    begin(HF_EV_MEMBERS);
    change(HF_SUBJECT_NODE, 1, 0, HF_NODE_MEMBER, HF_NODE_LOST, 0xff, HF_WHY_LEFT_RING);
    end();
    begin(HF_EV_VM);
    change(HF_SUBJECT_VM, 4, 9, HF_VM_RUNNING, HF_VM_PLACING, 0, HF_WHY_CRASHED);
    end();
    ck_assert_uint_ne(last()->incident, 0);
    ck_assert_uint_ne(last()->incident, history_incident(h, HF_SUBJECT_NODE, 1));
}
END_TEST

START_TEST(what_an_operator_does_is_no_incident)
{
    begin(HF_EV_ORDER);
    change(HF_SUBJECT_VM, 4, 9, HF_VM_STOPPED, HF_VM_PLACING, 0xff, HF_WHY_OPERATOR_START);
    change(HF_SUBJECT_VM, 4, 9, HF_VM_PLACING, HF_VM_STARTING, 2, HF_WHY_PLACED);
    change(HF_SUBJECT_VM, 4, 9, HF_VM_STARTING, HF_VM_RUNNING, 2, HF_WHY_STARTED);
    end();
    for (uint64_t i = 1; i <= history_newest(h); i++)
        ck_assert_uint_eq(history_at(h, i)->incident, 0);
}
END_TEST

START_TEST(an_order_in_vain_is_kept_with_who_and_why)
{
    begin(HF_EV_ORDER);
    ev.u.order.type = HF_ORDER_DRAIN;
    ev.u.order.node = (hf_node){2};
    strcpy(ev.u.order.who, "uid-1000");
    strcpy(ev.u.order.reason, "new fan");
    out.applied = false;
    out.why = HF_WHY_NOT_PRESENT;
    end();
    ck_assert_int_eq(last()->kind, HISTORY_ORDER);
    ck_assert_str_eq(last()->name, "n3");
    ck_assert_str_eq(last()->who, "uid-1000");
    ck_assert(!last()->was_applied);
    ck_assert_str_eq(last()->text, "new fan");
}
END_TEST

START_TEST(since_is_the_last_transition_and_a_note_does_not_move_it)
{
    struct history_since since;

    begin(HF_EV_MEMBERS);
    change(HF_SUBJECT_NODE, 0, 0, HF_NODE_ABSENT, HF_NODE_JOINING, 0xff, HF_WHY_JOINED);
    end();
    now.boot.ns += 5000000000;
    begin(HF_EV_FACTS);
    change(HF_SUBJECT_NODE, 0, 0, HF_NODE_JOINING, HF_NODE_JOINING, 0xff, HF_WHY_WATCH_KNOWN);
    end();
    ck_assert(history_since(h, HF_SUBJECT_NODE, 0, &since));
    ck_assert(since.is_exact);
    ck_assert_int_eq(since.when.boot.ns, 1000000000);
}
END_TEST

START_TEST(a_state_taken_over_is_only_since_at_least)
{
    struct history_since since;

    history_replaced(h, e, &now);
    ck_assert(history_since(h, HF_SUBJECT_NODE, 2, &since));
    ck_assert(!since.is_exact);
    ck_assert(!history_since(h, HF_SUBJECT_VM, 0, &since));
}
END_TEST

START_TEST(a_removed_vm_keeps_its_name_in_the_record)
{
    struct hf_event step;
    static struct engine_out stepped;
    uint64_t added;

    memset(&step, 0, sizeof step);
    step.seq = engine_seq(e) + 1;
    step.type = HF_EV_MEMBERS;
    step.from = HF_NO_NODE;
    step.u.members.view = (struct hf_view){1, 4};
    for (unsigned n = 0; n < 3; n++) {
        step.u.members.node[n] =
            (struct hf_member){.present = true, .in_ring = true, .incarnation = 1};
        step.u.members.node[n].boot.id[0] = (uint8_t)(n + 1);
    }
    engine_step(e, &step, &stepped);
    history_step(h, e, &step, &stepped, &now);
    memset(&step, 0, sizeof step);
    step.seq = engine_seq(e) + 1;
    step.type = HF_EV_ORDER;
    step.u.order.type = HF_ORDER_VM_ADD;
    step.u.order.node = HF_NO_NODE;
    step.u.order.def = (struct hf_vm_def){
        .name = "trade1", .memory_mib = 1, .xml_bytes = 1, .preferred = HF_NO_NODE};
    engine_step(e, &step, &stepped);
    ck_assert(stepped.applied);
    history_step(h, e, &step, &stepped, &now);
    ck_assert_str_eq(last()->name, "trade1");
    added = last()->seq;
    for (uint8_t n = 0; n < 3; n++) { /* it runs nowhere by hand: only then it can be removed */
        memset(&step, 0, sizeof step);
        step.seq = engine_seq(e) + 1;
        step.from = (hf_node){n};
        step.type = HF_EV_INVENTORY;
        step.u.inventory.as_of = engine_as_of(e);
        engine_step(e, &step, &stepped);
        history_step(h, e, &step, &stepped, &now);
    }
    memset(&step, 0, sizeof step);
    step.seq = engine_seq(e) + 1;
    step.type = HF_EV_ORDER;
    step.u.order.type = HF_ORDER_VM_REMOVE;
    step.u.order.node = HF_NO_NODE;
    step.u.order.uid = 1;
    engine_step(e, &step, &stepped);
    ck_assert(stepped.applied);
    history_step(h, e, &step, &stepped, &now);
    ck_assert_str_eq(last()->name, "trade1");
    ck_assert_int_eq(last()->why, HF_WHY_REMOVED);
    ck_assert_str_eq(history_at(h, last()->seq - 1)->name, "trade1");
    ck_assert_str_eq(history_vm_name(h, last()->ix, 1), "trade1"); /* for the log's line */
    ck_assert_ptr_null(history_vm_name(h, last()->ix, 2));
    ck_assert_ptr_null(history_vm_name(h, HF_VMS_MAX, 1));
    ck_assert_str_eq(history_at(h, added)->name, "trade1");
    ck_assert_int_eq(history_at(h, added)->why, HF_WHY_ADDED);
}
END_TEST

START_TEST(hostile_words_make_valid_json)
{
    char text[8192], long_text[1000];
    struct hf_json j = hf_json_on(text, sizeof text);

    memset(long_text, '\x01', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    history_outcome(h, NULL, HF_SUBJECT_VM, HF_NO_NODE, 12345, (struct hf_token){1, 1},
                    HF_OUT_GAVE_UP, 7, long_text, &now);
    history_json(last(), &j, NULL);
    ck_assert(hf_json_complete(&j));
    ck_assert_ptr_nonnull(strstr(text, "\"time\":\"2026-11-30T09:31:07.123456789Z\""));
    ck_assert_ptr_nonnull(strstr(text, "\"name\":\"\""));
}
END_TEST

START_TEST(a_flip_is_told_with_all_its_phases)
{
    char text[8192];
    struct hf_json j = hf_json_on(text, sizeof text);
    struct hf_flip flip = {.epoch = 41,
                           .uid = 7,
                           .from = 0,
                           .to = 1,
                           .cause = HF_NIC_CARRIER,
                           .method = HF_FLIP_VF_LINK,
                           .outcome = HF_FLIP_FLIPPED,
                           .judged_us = 900,
                           .ordered_us = 1850,
                           .confirmed_us = UINT32_MAX,
                           .wall_ns = 1};

    history_flip(h, NULL, HF_NO_NODE, &flip, &now);
    history_text(last(), text, sizeof text);
    ck_assert_str_eq(text,
                     "flip 41 from leg a to leg b by vf-link flipped, ordered after 1.850 ms, "
                     "never confirmed: it has no carrier");
    history_json(last(), &j, NULL);
    ck_assert(hf_json_complete(&j));
    ck_assert_ptr_nonnull(strstr(text, "\"kind\":\"flip\""));
    ck_assert_ptr_nonnull(strstr(text, "\"from\":\"a\",\"to\":\"b\""));
    ck_assert_ptr_nonnull(strstr(text, "\"ordered_us\":1850,\"confirmed_us\":null"));
}
END_TEST

START_TEST(what_happens_to_nics_names_fabric_and_cause)
{
    char text[256];

    history_why_text(HF_WHY_PF_DOWN, 100 + HF_NIC_CARRIER, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "(fabric b, it has no carrier)"));
    history_why_text(HF_WHY_PF_UP, 0, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "(fabric a)"));
    history_why_text(HF_WHY_DEGRADED, 2, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "(leg b does not)"));
    history_why_text(HF_WHY_PF_DOWN, UINT32_MAX, text, sizeof text);
    ck_assert_str_eq(text, hf_reason_text(HF_WHY_PF_DOWN));
    history_why_text(HF_WHY_CRASHED, 3, text, sizeof text);
    ck_assert_str_eq(text, hf_reason_text(HF_WHY_CRASHED));
}
END_TEST

START_TEST(every_value_has_its_word)
{
    for (int i = 1; i < HISTORY_KINDS; i++)
        ck_assert_str_ne(history_kind_name((enum history_kind)i), "?");
    for (int i = 1; i < HF_PROGRESS_KINDS; i++)
        ck_assert_str_ne(history_progress_name((enum hf_progress)i), "?");
    for (int i = 1; i < HF_ORDERS; i++)
        ck_assert_str_ne(history_order_name((enum hf_order_type)i), "?");
    ck_assert_str_eq(history_kind_name((enum history_kind)250), "?");
    ck_assert_str_eq(history_progress_name((enum hf_progress)250), "?");
    ck_assert_str_eq(history_order_name((enum hf_order_type)250), "?");
}
END_TEST

START_TEST(a_clock_before_1970_is_shown_as_1970)
{
    char text[40];

    history_wall_text((hf_wall){-5}, text);
    ck_assert_str_eq(text, "1970-01-01T00:00:00.000000000Z");
}
END_TEST

HF_TEST_MAIN_WITH("report/history", set_up, tear_down, HF_CASE(an_empty_history_has_nothing),
                  HF_CASE(a_flip_is_told_with_all_its_phases),
                  HF_CASE(what_happens_to_nics_names_fabric_and_cause),
                  HF_CASE(numbers_have_no_gap_and_the_oldest_go_first),
                  HF_CASE(a_lost_node_and_its_vms_share_one_incident_until_they_are_well),
                  HF_CASE(a_vm_that_turns_bad_later_joins_its_nodes_incident),
                  HF_CASE(a_crash_while_another_node_is_dead_is_its_own_incident),
                  HF_CASE(what_an_operator_does_is_no_incident),
                  HF_CASE(an_order_in_vain_is_kept_with_who_and_why),
                  HF_CASE(since_is_the_last_transition_and_a_note_does_not_move_it),
                  HF_CASE(a_state_taken_over_is_only_since_at_least),
                  HF_CASE(a_removed_vm_keeps_its_name_in_the_record),
                  HF_CASE(hostile_words_make_valid_json), HF_CASE(every_value_has_its_word),
                  HF_CASE(a_clock_before_1970_is_shown_as_1970))
