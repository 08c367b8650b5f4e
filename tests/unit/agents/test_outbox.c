#include "agents/outbox.h"

#include "tests/unit/check.h"

#include <string.h>

static struct agent_outbox box;

static void setup(void)
{
    agent_outbox_init(&box);
}

static bool put_vm(hf_vm_uid uid, enum hf_seen seen)
{
    struct hf_report r = {.kind = HF_REPORT_VM};

    r.u.vm.uid = uid;
    r.u.vm.seen = seen;
    return agent_outbox_put(&box, &r);
}

static bool put_done(uint64_t seq)
{
    struct hf_report r = {.kind = HF_REPORT_DONE};

    r.u.done.token = (struct hf_token){seq, 1};
    memset(r.u.done.why, 'x', HF_REASON_MAX); /* the longest there is */
    return agent_outbox_put(&box, &r);
}

static bool put_inventory(uint16_t count)
{
    struct hf_report r = {.kind = HF_REPORT_INVENTORY};

    r.u.inventory.count = count;
    for (uint16_t i = 0; i < count; i++)
        r.u.inventory.vm[i].uid = i + 1u;
    return agent_outbox_put(&box, &r);
}

/* The next report, taken as sent; kind 0: none. */
static struct hf_report take(void)
{
    struct hf_report r = {.kind = (enum hf_report_kind)0};
    struct hf_err err;
    size_t len;
    const uint8_t *bytes = agent_outbox_next(&box, &len);

    if (bytes == NULL)
        return r;
    ck_assert_int_eq(report_decode(bytes, len, &r, &err), HF_OK);
    agent_outbox_sent(&box);
    return r;
}

START_TEST(the_newest_word_on_a_vm_survives_and_keeps_its_place_in_time)
{
    struct hf_report r;

    ck_assert(put_vm(1, HF_SEEN_RUNNING));
    ck_assert(put_inventory(HF_VMS_MAX));
    ck_assert(put_vm(2, HF_SEEN_RUNNING));
    ck_assert(put_vm(1, HF_SEEN_CRASHED));
    r = take();
    ck_assert_int_eq(r.kind, HF_REPORT_INVENTORY);
    ck_assert_uint_eq(take().u.vm.uid, 2);
    r = take();
    ck_assert_uint_eq(r.u.vm.uid, 1);
    ck_assert_int_eq(r.u.vm.seen, HF_SEEN_CRASHED);
    ck_assert_int_eq(take().kind, 0);
}
END_TEST

START_TEST(results_are_told_again_on_every_connection_until_they_are_dropped)
{
    ck_assert(put_done(1));
    ck_assert(put_done(2));
    ck_assert_uint_eq(take().u.done.token.seq, 1);
    ck_assert_uint_eq(take().u.done.token.seq, 2);
    ck_assert_int_eq(take().kind, 0);
    agent_outbox_forget(&box, (struct hf_token){1, 1});
    agent_outbox_reconnected(&box);
    ck_assert_uint_eq(take().u.done.token.seq, 2);
    ck_assert_int_eq(take().kind, 0);
    ck_assert(agent_outbox_repeat(&box, (struct hf_token){2, 1}));
    ck_assert(!agent_outbox_repeat(&box, (struct hf_token){1, 1}));
    ck_assert_uint_eq(take().u.done.token.seq, 2);
}
END_TEST

START_TEST(an_inventory_dies_with_the_list_it_was_complete_against)
{
    ck_assert(put_inventory(3));
    ck_assert(put_vm(9, HF_SEEN_CRASHED));
    agent_outbox_reconnected(&box);
    ck_assert_uint_eq(take().u.vm.uid, 9);
    ck_assert_int_eq(take().kind, 0);
}
END_TEST

START_TEST(unsent_results_are_never_given_up_for_new_ones)
{
    for (uint64_t i = 1; i <= OUTBOX_DONE_MAX; i++) {
        ck_assert(agent_outbox_has_room(&box));
        ck_assert(put_done(i));
    }
    ck_assert(!agent_outbox_has_room(&box));
    ck_assert(!put_done(9999));
    ck_assert_uint_eq(take().u.done.token.seq, 1);
    ck_assert(agent_outbox_has_room(&box));
    ck_assert(put_done(9999)); /* in the place of the one that was sent */
    for (uint64_t i = 2; i <= OUTBOX_DONE_MAX; i++)
        ck_assert_uint_eq(take().u.done.token.seq, i);
    ck_assert_uint_eq(take().u.done.token.seq, 9999);
}
END_TEST

START_TEST(progress_gives_way_and_is_counted)
{
    struct hf_report r = {.kind = HF_REPORT_PROGRESS};

    r.u.progress.phase = HF_PROGRESS_RESUMED;
    for (uint64_t i = 1; i <= OUTBOX_PROGRESS_MAX + 5; i++) {
        r.u.progress.token = (struct hf_token){i, 1};
        ck_assert(agent_outbox_put(&box, &r));
    }
    ck_assert_uint_eq(box.dropped, 5);
    ck_assert_uint_eq(take().u.progress.token.seq, 6);
}
END_TEST

START_TEST(a_vm_too_many_is_refused)
{
    for (hf_vm_uid uid = 1; uid <= HF_VMS_MAX; uid++)
        ck_assert(put_vm(uid, HF_SEEN_RUNNING));
    ck_assert(!put_vm(HF_VMS_MAX + 1, HF_SEEN_RUNNING));
    ck_assert(put_vm(5, HF_SEEN_CRASHED));
}
END_TEST

START_TEST(of_nics_and_legs_the_newest_word_and_of_flips_every_one)
{
    struct hf_report nics = {.kind = HF_REPORT_NICS}, legs = {.kind = HF_REPORT_LEGS};
    struct hf_report flip = {.kind = HF_REPORT_FLIP}, r;

    nics.u.nics.count = 1;
    legs.u.legs.uid = 3;
    legs.u.legs.has = 3;
    ck_assert(agent_outbox_put(&box, &nics));
    ck_assert(agent_outbox_put(&box, &legs));
    for (unsigned i = 1; i <= 3; i++) {
        flip.u.flip.flip.epoch = i;
        ck_assert(agent_outbox_put(&box, &flip));
    }
    nics.u.nics.count = 2;
    legs.u.legs.up = 1;
    ck_assert(agent_outbox_put(&box, &nics));
    ck_assert(agent_outbox_put(&box, &legs));
    for (unsigned i = 1; i <= 3; i++)
        ck_assert_uint_eq(take().u.flip.flip.epoch, i);
    ck_assert_uint_eq(take().u.nics.count, 2);
    r = take();
    ck_assert_uint_eq(r.u.legs.uid, 3);
    ck_assert_uint_eq(r.u.legs.up, 1);
    ck_assert_int_eq(take().kind, 0);
}
END_TEST

HF_TEST_MAIN_WITH("agents/outbox", setup, NULL,
                  HF_CASE(the_newest_word_on_a_vm_survives_and_keeps_its_place_in_time),
                  HF_CASE(results_are_told_again_on_every_connection_until_they_are_dropped),
                  HF_CASE(an_inventory_dies_with_the_list_it_was_complete_against),
                  HF_CASE(unsent_results_are_never_given_up_for_new_ones),
                  HF_CASE(progress_gives_way_and_is_counted), HF_CASE(a_vm_too_many_is_refused),
                  HF_CASE(of_nics_and_legs_the_newest_word_and_of_flips_every_one))
