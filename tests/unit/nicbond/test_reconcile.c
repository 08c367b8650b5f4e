#include "nicbond/reconcile.h"

#include "tests/unit/check.h"

#include <string.h>

#define PF0 "0000:01:00.0"
#define PF1 "0000:02:00.0"

static struct ledger ledger;
static struct flips flips;
static struct reconcile_pf pf[2];
static struct reconcile_leg leg[8];
static struct reconcile_view view;
static struct reconcile_result result;
static struct hf_err err;

static const struct vf_config before = {.mac = {0x0e, 0, 0, 0, 0, 9}, .spoofchk = VF_ON};
static const struct vf_config wanted = {
    .mac = {2, 0, 0, 0, 0, 1}, .vlan = 100, .spoofchk = VF_ON, .trust = VF_OFF};

/* Two PFs of four free VFs; a ledger that knows nothing; nothing runs. */
static void setup(void)
{
    ledger_init(&ledger);
    for (unsigned p = 0; p < 2; p++) {
        snprintf(pf[p].pci, sizeof pf[p].pci, "%s", p == 0 ? PF0 : PF1);
        pf[p].is_read = pf[p].is_up = true;
        pf[p].count = 4;
        for (unsigned n = 0; n < 4; n++) {
            snprintf(pf[p].vf[n].pci, sizeof pf[p].vf[n].pci, "0000:%02u:10.%u", p + 1, n);
            pf[p].vf[n].is_known = true;
            pf[p].vf[n].config = before;
            pf[p].vf[n].config.mac[4] = (uint8_t)(p + 1);
            pf[p].vf[n].config.mac[5] = (uint8_t)n;
        }
    }
    view = (struct reconcile_view){.ledger = &ledger,
                                   .flips = &flips,
                                   .epoch_first = 100,
                                   .pf = pf,
                                   .pfs = 2,
                                   .leg = leg,
                                   .is_certain = true};
}

/* VF 0 of the first PF is VM 7's, start 1, and configured so; it runs if told. */
static void own(enum ledger_phase phase, bool runs)
{
    struct ledger_vf want = {
        .pf = PF0, .vf = "0000:01:10.0", .uid = 7, .start_no = 1, .wanted = wanted};
    struct ledger_record record;

    ck_assert_int_eq(ledger_intend(&ledger, &want, &before, &record, &err), HF_OK);
    ck_assert_int_eq(ledger_apply(&ledger, &record, &err), HF_OK);
    if (phase == LEDGER_DONE) {
        ck_assert_int_eq(ledger_done(&ledger, want.vf, 7, 1, &record, &err), HF_OK);
        ck_assert_int_eq(ledger_apply(&ledger, &record, &err), HF_OK);
    }
    pf[0].vf[0].config = wanted;
    if (runs) {
        leg[view.legs] =
            (struct reconcile_leg){.uid = 7, .start_no = 1, .vm = "mq-1", .vf = "0000:01:10.0"};
        memcpy(leg[view.legs].mac, wanted.mac, VF_MAC_BYTES);
        view.legs++;
    }
}

static void runs(hf_vm_uid uid, uint32_t start_no, const char *vm, const char *vf, uint8_t mac)
{
    struct reconcile_leg *l = &leg[view.legs++];

    *l = (struct reconcile_leg){.uid = uid, .start_no = start_no, .mac = {2, 0, 0, 0, 0, mac}};
    snprintf(l->vm, sizeof l->vm, "%s", vm);
    snprintf(l->vf, sizeof l->vf, "%s", vf);
}

static void look(void)
{
    reconcile_look(&view, &result);
    for (uint16_t i = 0; i < result.count; i++)
        ck_assert_str_ne(reconcile_kind_name(result.item[i].kind), "?");
}

#define ONE(kind_)                                                                                 \
    do {                                                                                           \
        look();                                                                                    \
        ck_assert_msg(result.count == 1 && result.item[0].kind == (kind_), "%u items, first %s",   \
                      result.count,                                                                \
                      result.count > 0 ? reconcile_kind_name(result.item[0].kind) : "none");       \
    } while (0)

#define NOTHING()                                                                                  \
    do {                                                                                           \
        look();                                                                                    \
        ck_assert_msg(result.count == 0, "%u items, first %s", result.count,                       \
                      result.count > 0 ? reconcile_kind_name(result.item[0].kind) : "none");       \
    } while (0)

START_TEST(a_world_as_it_was_meant_needs_nothing)
{
    NOTHING();
    own(LEDGER_DONE, true);
    NOTHING();
    pf[0].was_reset = true;
    NOTHING();
    view.ledger = NULL;
    NOTHING();
}
END_TEST

/* ---- owners that are gone ---- */

START_TEST(originals_are_restored_once_the_owner_is_gone)
{
    own(_i == 0 ? LEDGER_INTENDED : LEDGER_DONE, false);
    ONE(RECONCILE_RESTORE);
    ck_assert_str_eq(result.item[0].vf, "0000:01:10.0");
    ck_assert_str_eq(result.item[0].pf, PF0);
    ck_assert_uint_eq(result.item[0].uid, 7);
    ck_assert_uint_eq(result.item[0].start_no, 1);
    ck_assert_uint_eq(vf_config_differs(&result.item[0].config, &before), 0);
}
END_TEST

START_TEST(nobodys_end_is_believed_without_certainty)
{
    own(LEDGER_DONE, false);
    view.is_certain = false;
    NOTHING();
}
END_TEST

START_TEST(a_later_start_of_the_same_vm_elsewhere_frees_it)
{
    own(LEDGER_DONE, false);
    runs(7, 2, "mq-1", "", 1); /* runs again, with a virtio leg */
    ONE(RECONCILE_RESTORE);
    leg[0].start_no = 0; /* which start is not known */
    snprintf(leg[0].vf, sizeof leg[0].vf, "0000:01:10.0");
    NOTHING();
}
END_TEST

START_TEST(a_vf_that_went_with_its_owner_is_released)
{
    own(LEDGER_DONE, false);
    snprintf(pf[0].vf[0].pci, sizeof pf[0].vf[0].pci, "0000:01:11.0");
    pf[0].vf[0].config = before;
    ONE(RECONCILE_RELEASE);
    pf[0].is_read = false; /* but not when its PF does not answer */
    NOTHING();
}
END_TEST

START_TEST(a_vf_that_is_not_told_is_left_alone)
{
    own(LEDGER_DONE, _i == 1);
    pf[0].vf[0].is_known = false;
    ONE(RECONCILE_VF_UNKNOWN);
    ck_assert(!reconcile_is_repair(result.item[0].kind));
}
END_TEST

/* ---- owners that run ---- */

START_TEST(a_preparation_that_was_cut_is_finished)
{
    own(LEDGER_INTENDED, true);
    ONE(RECONCILE_DONE);
    pf[0].vf[0].config.vlan = 0;
    look();
    ck_assert_uint_eq(result.count, 2);
    ck_assert_int_eq(result.item[0].kind, RECONCILE_REASSERT);
    ck_assert_uint_eq(result.item[0].fields, VF_FIELD(VF_FIELD_VLAN));
    ck_assert_uint_eq(result.item[0].config.vlan, 100);
    ck_assert_int_eq(result.item[1].kind, RECONCILE_DONE);
}
END_TEST

START_TEST(after_a_reset_all_is_told_again)
{
    own(LEDGER_DONE, true);
    pf[0].vf[0].config = before;
    pf[0].vf[0].config.link = VF_LINK_DISABLE;
    pf[0].was_reset = true;
    ONE(RECONCILE_REASSERT);
    ck_assert_uint_eq(result.item[0].fields,
                      VF_FIELD(VF_FIELD_MAC) | VF_FIELD(VF_FIELD_VLAN) | VF_FIELD(VF_FIELD_LINK));
    ck_assert_uint_eq(vf_config_differs(&result.item[0].config, &wanted), 0);
}
END_TEST

START_TEST(what_somebody_changed_is_told_and_not_changed_back)
{
    own(LEDGER_DONE, true);
    pf[0].vf[0].config.vlan = 7;
    pf[0].vf[0].config.link = VF_LINK_ENABLE;
    ONE(RECONCILE_DRIFT);
    ck_assert_uint_eq(result.item[0].fields, VF_FIELD(VF_FIELD_VLAN) | VF_FIELD(VF_FIELD_LINK));
    ck_assert_uint_eq(result.item[0].uid, 7);
}
END_TEST

START_TEST(a_trusted_guests_mac_is_its_own)
{
    struct ledger_vf *entry;

    own(LEDGER_DONE, true);
    entry = &ledger.vfs[0];
    entry->wanted.trust = VF_ON;
    pf[0].vf[0].config.trust = VF_ON;
    pf[0].vf[0].config.mac[5] = 0x44; /* its bond's */
    pf[0].was_reset = true;
    ONE(RECONCILE_DRIFT);
    ck_assert_uint_eq(result.item[0].fields, VF_FIELD(VF_FIELD_MAC));
    memset(pf[0].vf[0].config.mac, 0, VF_MAC_BYTES); /* it has none: forgotten */
    ONE(RECONCILE_REASSERT);
}
END_TEST

START_TEST(a_link_that_a_running_flip_disabled_is_no_drift)
{
    own(LEDGER_DONE, true);
    pf[0].vf[0].config.link = VF_LINK_DISABLE;
    pf[0].was_reset = true;
    flips.fabric[1] = (struct flips_entry){.epoch = 100, .pf = PF0};
    flips_set_vf(&flips.fabric[1], 0, true);
    NOTHING();
}
END_TEST

START_TEST(a_running_vms_vf_that_vanished_is_told)
{
    own(LEDGER_DONE, true);
    pf[0].count = 0;
    ONE(RECONCILE_VF_VANISHED);
    ck_assert_uint_eq(result.item[0].uid, 7);
}
END_TEST

START_TEST(a_vf_that_nobody_prepared_is_told)
{
    runs(8, 1, "mq-2", "0000:01:10.1", 2);
    ONE(RECONCILE_UNRECORDED);
    ck_assert_uint_eq(result.item[0].uid, 8);
    ck_assert_uint_eq(result.item[0].number, 1);
    view.legs = 0;
    own(LEDGER_DONE, false);
    runs(8, 1, "mq-2", "0000:01:10.0", 2); /* another's, and that is not restored under it */
    ONE(RECONCILE_UNRECORDED);
    ck_assert_uint_eq(result.item[0].other, 7);
}
END_TEST

/* ---- duplicates ---- */

START_TEST(one_vf_of_two_running_vms_is_told)
{
    own(LEDGER_DONE, true);
    runs(8, 1, "mq-2", "0000:01:10.0", 2);
    look();
    ck_assert_uint_eq(result.count, 2);
    ck_assert_int_eq(result.item[0].kind, RECONCILE_TWO_OWNERS);
    ck_assert_uint_eq(result.item[0].uid, 7);
    ck_assert_uint_eq(result.item[0].other, 8);
    ck_assert_int_eq(result.item[1].kind, RECONCILE_UNRECORDED);
}
END_TEST

START_TEST(one_mac_of_two_running_vms_is_told)
{
    runs(7, 1, "mq-1", "", 5);
    runs(8, 1, "mq-2", "", 5);
    ONE(RECONCILE_TWO_MACS);
    leg[1].mac[5] = 6;
    NOTHING();
    leg[0].uid = leg[1].uid = 0; /* and of VMs that are none of ours */
    leg[1].mac[5] = 5;
    ONE(RECONCILE_TWO_MACS);
}
END_TEST

START_TEST(one_vm_may_have_one_mac_on_two_cards_only)
{
    view.ledger = NULL;
    runs(7, 1, "mq-1", "0000:01:10.1", 5);
    runs(7, 1, "mq-1", "0000:02:10.1", 5);
    NOTHING();
    snprintf(leg[1].vf, sizeof leg[1].vf, "0000:01:10.2");
    ONE(RECONCILE_TWO_MACS);
}
END_TEST

START_TEST(a_free_vf_with_a_running_vms_mac_is_told)
{
    own(LEDGER_DONE, true);
    memcpy(pf[0].vf[3].config.mac, wanted.mac, VF_MAC_BYTES);
    ONE(RECONCILE_STRAY_MAC);
    ck_assert_uint_eq(result.item[0].number, 3);
    ck_assert_uint_eq(result.item[0].uid, 7);
}
END_TEST

START_TEST(a_free_vf_with_a_forced_link_is_told)
{
    pf[1].vf[2].config.link = _i == 0 ? VF_LINK_DISABLE : VF_LINK_ENABLE;
    ONE(RECONCILE_LINK_FORCED);
    ck_assert_str_eq(result.item[0].vf, "0000:02:10.2");
}
END_TEST

/* ---- flips ---- */

START_TEST(what_a_dead_flip_switched_off_is_switched_on)
{
    flips.fabric[0] = (struct flips_entry){.epoch = 99, .pf = PF0, .is_pf_down = true};
    flips_set_vf(&flips.fabric[0], 1, true);
    flips_set_vf(&flips.fabric[0], 2, true);
    flips_set_vf(&flips.fabric[0], 9, true); /* which is not there any more */
    pf[0].is_up = false;
    pf[0].vf[1].config.link = VF_LINK_DISABLE; /* the order for VF 2 did not go out */
    look();
    ck_assert_uint_eq(result.count, 3);
    ck_assert_int_eq(result.item[0].kind, RECONCILE_PF_UP);
    ck_assert_int_eq(result.item[1].kind, RECONCILE_LINK_AUTO);
    ck_assert_uint_eq(result.item[1].number, 1);
    ck_assert_int_eq(result.item[1].config.link, VF_LINK_AUTO);
    ck_assert_int_eq(result.item[2].kind, RECONCILE_FLIP_CLOSE);
    ck_assert_uint_eq(result.item[2].epoch, 99);
}
END_TEST

START_TEST(a_running_flip_is_left_alone)
{
    flips.fabric[0] = (struct flips_entry){.epoch = 100, .pf = PF0, .is_pf_down = true};
    flips_set_vf(&flips.fabric[0], 1, true);
    pf[0].is_up = false;
    pf[0].vf[1].config.link = VF_LINK_DISABLE;
    NOTHING();
}
END_TEST

START_TEST(a_dead_flip_stays_open_while_anything_is_not_known)
{
    flips.fabric[0] = (struct flips_entry){.epoch = 99, .pf = PF0};
    flips_set_vf(&flips.fabric[0], 1, true);
    pf[0].vf[1].is_known = false;
    ONE(RECONCILE_VF_UNKNOWN);
    pf[0].is_read = false;
    NOTHING();
}
END_TEST

START_TEST(a_damaged_record_of_flips_is_told)
{
    flips.is_damaged[1] = true;
    ONE(RECONCILE_FLIPS_DAMAGED);
    ck_assert_uint_eq(result.item[0].fabric, 1);
}
END_TEST

START_TEST(what_does_not_fit_is_counted)
{
    for (unsigned n = 0; n < VF_COUNT_MAX; n++) {
        for (unsigned p = 0; p < 2; p++) {
            snprintf(pf[p].vf[n].pci, sizeof pf[p].vf[n].pci, "000%u:%02x:%02x.%u", p, 16u, n / 8u,
                     n % 8u);
            pf[p].vf[n].is_known = true;
            pf[p].vf[n].config =
                (struct vf_config){.mac = {2, 0, 0, 0, 0, 1}, .link = VF_LINK_DISABLE};
            pf[p].count = VF_COUNT_MAX;
        }
    }
    runs(7, 1, "mq-1", "", 1);
    look();
    ck_assert_uint_eq(result.count, RECONCILE_ITEMS_MAX);
    ck_assert_uint_eq(result.left_out, 4 * VF_COUNT_MAX - RECONCILE_ITEMS_MAX);
}
END_TEST

START_TEST(a_vf_or_a_mac_in_use_may_not_be_taken)
{
    const char *why;

    own(LEDGER_DONE, true);
    ck_assert(!reconcile_may_take(&view, 8, "0000:01:10.0", (const uint8_t[6]){2, 9}, &why));
    ck_assert_str_eq(why, "a running VM has it");
    ck_assert(!reconcile_may_take(&view, 8, "0000:01:10.1", wanted.mac, &why));
    ck_assert_str_eq(why, "a running VM has its MAC");
    ck_assert(reconcile_may_take(&view, 8, "0000:01:10.1", (const uint8_t[6]){2, 9}, &why));
    ck_assert(reconcile_may_take(&view, 7, "0000:01:10.0", wanted.mac, &why)); /* its own */
    view.legs = 0;
    ck_assert(reconcile_may_take(&view, 8, "0000:01:10.0", wanted.mac, &why));
    view.is_certain = false;
    ck_assert(!reconcile_may_take(&view, 8, "0000:01:10.0", wanted.mac, &why));
}
END_TEST

HF_TEST_MAIN_WITH(
    "nicbond/reconcile", setup, NULL, HF_CASE(a_world_as_it_was_meant_needs_nothing),
    HF_LOOP(originals_are_restored_once_the_owner_is_gone, 0, 2),
    HF_CASE(nobodys_end_is_believed_without_certainty),
    HF_CASE(a_later_start_of_the_same_vm_elsewhere_frees_it),
    HF_CASE(a_vf_that_went_with_its_owner_is_released),
    HF_LOOP(a_vf_that_is_not_told_is_left_alone, 0, 2),
    HF_CASE(a_preparation_that_was_cut_is_finished), HF_CASE(after_a_reset_all_is_told_again),
    HF_CASE(what_somebody_changed_is_told_and_not_changed_back),
    HF_CASE(a_trusted_guests_mac_is_its_own),
    HF_CASE(a_link_that_a_running_flip_disabled_is_no_drift),
    HF_CASE(a_running_vms_vf_that_vanished_is_told), HF_CASE(a_vf_that_nobody_prepared_is_told),
    HF_CASE(one_vf_of_two_running_vms_is_told), HF_CASE(one_mac_of_two_running_vms_is_told),
    HF_CASE(one_vm_may_have_one_mac_on_two_cards_only),
    HF_CASE(a_free_vf_with_a_running_vms_mac_is_told),
    HF_LOOP(a_free_vf_with_a_forced_link_is_told, 0, 2),
    HF_CASE(what_a_dead_flip_switched_off_is_switched_on), HF_CASE(a_running_flip_is_left_alone),
    HF_CASE(a_dead_flip_stays_open_while_anything_is_not_known),
    HF_CASE(a_damaged_record_of_flips_is_told), HF_CASE(what_does_not_fit_is_counted),
    HF_CASE(a_vf_or_a_mac_in_use_may_not_be_taken))
