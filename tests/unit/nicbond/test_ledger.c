#include "nicbond/ledger.h"

#include "tests/unit/check.h"

#include <string.h>

static struct hf_err err;
static struct ledger l, again;

static const struct vf_config before = {.mac = {0x0e, 0, 0, 0, 0, 9}, .spoofchk = VF_ON};
static const struct vf_config wanted = {
    .mac = {2, 0, 0, 0, 0, 1}, .vlan = 100, .spoofchk = VF_ON, .trust = VF_SETTING_UNKNOWN};

static struct ledger_vf vf_of(unsigned vf, hf_vm_uid uid, uint32_t start_no)
{
    struct ledger_vf v = {.pf = "0000:01:00.0",
                          .number = (uint16_t)(vf % VF_COUNT_MAX),
                          .uid = uid,
                          .start_no = start_no,
                          .wanted = wanted};

    snprintf(v.vf, sizeof v.vf, "%04x:%02x:%02x.%u", vf / 65536 % 65536, vf / 256 % 256,
             vf / 8 % 32, vf % 8);
    return v;
}

static enum hf_code intend(unsigned vf, hf_vm_uid uid, uint32_t start_no,
                           const struct vf_config *present)
{
    struct ledger_vf want = vf_of(vf, uid, start_no);
    struct ledger_record record;

    if (ledger_intend(&l, &want, present, &record, &err) != HF_OK)
        return err.code;
    ck_assert_msg(ledger_apply(&l, &record, &err) == HF_OK, "%s", err.text);
    return HF_OK;
}

static enum hf_code done(unsigned vf, hf_vm_uid uid, uint32_t start_no)
{
    struct ledger_vf which = vf_of(vf, uid, start_no);
    struct ledger_record record;

    if (ledger_done(&l, which.vf, uid, start_no, &record, &err) != HF_OK)
        return err.code;
    ck_assert_msg(ledger_apply(&l, &record, &err) == HF_OK, "%s", err.text);
    return HF_OK;
}

static enum hf_code release(unsigned vf, hf_vm_uid uid, uint32_t start_no)
{
    struct ledger_vf which = vf_of(vf, uid, start_no);
    struct ledger_record record;

    if (ledger_release(&l, which.vf, uid, start_no, &record, &err) != HF_OK)
        return err.code;
    ck_assert_msg(ledger_apply(&l, &record, &err) == HF_OK, "%s", err.text);
    return HF_OK;
}

static const struct ledger_vf *entry(unsigned vf)
{
    struct ledger_vf which = vf_of(vf, 0, 0);

    return ledger_find(&l, which.vf);
}

static void setup(void)
{
    ledger_init(&l);
}

START_TEST(a_vf_goes_through_its_phases)
{
    ck_assert_ptr_null(entry(3));
    ck_assert_int_eq(intend(3, 7, 1, &before), HF_OK);
    ck_assert_int_eq(entry(3)->phase, LEDGER_INTENDED);
    ck_assert_uint_eq(vf_config_differs(&entry(3)->original, &before), 0);
    ck_assert_int_eq(done(3, 7, 1), HF_OK);
    ck_assert_int_eq(entry(3)->phase, LEDGER_DONE);
    ck_assert(ledger_is_owned(entry(3)));
    ck_assert_int_eq(release(3, 7, 1), HF_OK);
    ck_assert(!ledger_is_owned(entry(3)));
    ck_assert_int_eq(release(3, 7, 1), HF_ENOENT);
    ck_assert_int_eq(done(3, 7, 1), HF_ENOENT);
}
END_TEST

START_TEST(a_late_teardown_of_an_old_owner_is_refused)
{
    ck_assert_int_eq(intend(3, 7, 1, &before), HF_OK);
    ck_assert_int_eq(done(3, 7, 1), HF_OK);
    ck_assert_int_eq(intend(3, 7, 2, &wanted), HF_OK); /* the next start of the same VM */
    ck_assert_int_eq(release(3, 7, 1), HF_EACCESS);
    ck_assert_int_eq(intend(3, 8, 1, &wanted), HF_OK); /* another VM */
    ck_assert_int_eq(release(3, 7, 2), HF_EACCESS);
    ck_assert_int_eq(done(3, 7, 2), HF_EACCESS);
    ck_assert_ptr_nonnull(strstr(err.text, "VM 8 of start 1 does"));
    ck_assert_uint_eq(entry(3)->uid, 8);
    ck_assert_int_eq(entry(3)->phase, LEDGER_INTENDED);
}
END_TEST

START_TEST(an_older_start_does_not_take_it)
{
    ck_assert_int_eq(intend(3, 7, 5, &before), HF_OK);
    ck_assert_int_eq(intend(3, 7, 4, &before), HF_EACCESS);
    ck_assert_int_eq(release(3, 7, 5), HF_OK);
    ck_assert_int_eq(intend(3, 7, 4, &before),
                     HF_EACCESS);                      /* not after it was given back, either */
    ck_assert_int_eq(intend(3, 7, 5, &before), HF_OK); /* a repetition */
}
END_TEST

START_TEST(the_original_is_the_one_before_the_first_owner)
{
    /* The first never gave it back, so what is read now is what that one wanted. */
    ck_assert_int_eq(intend(3, 7, 1, &before), HF_OK);
    ck_assert_int_eq(intend(3, 8, 1, &wanted), HF_OK);
    ck_assert_uint_eq(vf_config_differs(&entry(3)->original, &before), 0);
    ck_assert_int_eq(release(3, 8, 1), HF_OK);
    ck_assert_int_eq(intend(3, 9, 1, &wanted), HF_OK);
    ck_assert_uint_eq(vf_config_differs(&entry(3)->original, &wanted), 0);
}
END_TEST

START_TEST(records_that_do_not_follow_are_refused)
{
    struct ledger_record record = {.kind = LEDGER_OWNER, .vf = vf_of(3, 7, 1)};
    struct ledger unchanged;

    ck_assert_int_eq(intend(1, 7, 1, &before), HF_OK);
    unchanged = l;
    record.vf.phase = LEDGER_DONE;
    ck_assert_int_eq(ledger_apply(&l, &record, &err), HF_EBAD); /* nobody intended it */
    record.vf = *entry(1);
    record.vf.phase = LEDGER_DONE;
    record.vf.start_no++;
    ck_assert_int_eq(ledger_apply(&l, &record, &err), HF_EBAD); /* another owner */
    record.vf = *entry(1);
    record.vf.uid = 8;
    record.vf.original = wanted;
    ck_assert_int_eq(ledger_apply(&l, &record, &err), HF_EBAD); /* the first original is lost */
    record.kind = LEDGER_KEPT;
    ck_assert_int_eq(ledger_apply(&l, &record, &err), HF_EBAD); /* twice */
    record.kind = LEDGER_EPOCHS;
    record.epochs_to = l.epochs_to;
    ck_assert_int_eq(ledger_apply(&l, &record, &err), HF_EBAD); /* used before */
    record.kind = LEDGER_KINDS;
    ck_assert_int_eq(ledger_apply(&l, &record, &err), HF_EBAD);
    ck_assert_mem_eq(&l, &unchanged, sizeof l);
}
END_TEST

START_TEST(a_full_table_is_told_and_given_back_ones_are_used_again)
{
    for (unsigned i = 0; i < LEDGER_VFS_MAX; i++)
        ck_assert_int_eq(intend(i, 7, 1, &before), HF_OK);
    ck_assert_int_eq(intend(LEDGER_VFS_MAX, 7, 1, &before), HF_EFULL);
    ck_assert_int_eq(release(5, 7, 1), HF_OK);
    ck_assert_int_eq(intend(LEDGER_VFS_MAX, 7, 1, &before), HF_OK);
    ck_assert_ptr_null(entry(5));
    ck_assert_uint_eq(l.count, LEDGER_VFS_MAX);
}
END_TEST

START_TEST(epochs_only_rise)
{
    struct ledger_record record;

    ck_assert_uint_eq(l.epochs_to, 1);
    ck_assert_uint_eq(ledger_reserve(&l, 77, &record), 77);
    ck_assert_uint_eq(record.epochs_to, 77 + LEDGER_EPOCHS_RESERVED);
    for (uint64_t i = 1; i < 4; i++) {
        ck_assert_uint_eq(ledger_reserve(&l, 0, &record), 1 + (i - 1) * LEDGER_EPOCHS_RESERVED);
        ck_assert_int_eq(ledger_apply(&l, &record, &err), HF_OK);
        ck_assert_uint_eq(l.epochs_to, 1 + i * LEDGER_EPOCHS_RESERVED);
    }
}
END_TEST

/* ---- bytes ---- */

static uint8_t file[LEDGER_BYTES_MAX];
static size_t file_len;

/* A file as it grows: what it began with, and three records more. */
static void make_file(void)
{
    struct ledger_record record[3];
    struct ledger_vf want = vf_of(9, 9, 1);

    ck_assert_int_eq(intend(1, 7, 1, &before), HF_OK);
    ck_assert_int_eq(done(1, 7, 1), HF_OK);
    ck_assert_int_eq(intend(2, 7, 1, &before), HF_OK);
    file_len = ledger_save(&l, file, sizeof file);
    ck_assert_uint_eq(file_len, LEDGER_HEADER_BYTES + 3 * LEDGER_RECORD_BYTES);
    ck_assert_int_eq(ledger_load(&l, file, file_len, &(size_t){0}, &err), HF_OK);
    for (int i = 0; i < 3; i++) {
        if (i == 0)
            (void)ledger_reserve(&l, 0, &record[i]);
        else if (i == 1)
            ck_assert_int_eq(ledger_intend(&l, &want, &before, &record[i], &err), HF_OK);
        else
            ck_assert_int_eq(ledger_done(&l, want.vf, 9, 1, &record[i], &err), HF_OK);
        ledger_encode(&record[i], l.next, file + file_len);
        file_len += LEDGER_RECORD_BYTES;
        ck_assert_int_eq(ledger_apply(&l, &record[i], &err), HF_OK);
    }
}

START_TEST(what_is_written_is_read)
{
    size_t torn = 1;

    make_file();
    ck_assert_msg(ledger_load(&again, file, file_len, &torn, &err) == HF_OK, "%s", err.text);
    ck_assert_uint_eq(torn, 0);
    ck_assert_uint_eq(again.next, l.next);
    ck_assert_uint_eq(again.epochs_to, l.epochs_to);
    ck_assert_uint_eq(again.count, 3);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_mem_eq(&again.vfs[i], &l.vfs[i], sizeof l.vfs[i]);
}
END_TEST

/* Another program's ledger of the same version must read the same: these bytes never change. */
START_TEST(a_records_bytes_are_fixed)
{
    static const uint8_t golden[LEDGER_RECORD_BYTES] = {
        0xe9, 0xff, 0x2a, 0x0b, 5,   0,   0,   0,   0,   0,   0,   0,   1,   '0', '0',
        '0',  '0',  ':',  '0',  '1', ':', '0', '0', '.', '0', '0', '0', '0', '0', ':',
        '0',  '0',  ':',  '0',  '0', '.', '3', 3,   0,   7,   0,   0,   0,   1,   0,
        0,    0,    0,    0x0e, 0,   0,   0,   0,   9,   0,   0,   0,   1,   0,   0,
        2,    0,    0,    0,    0,   1,   100, 0,   0,   1,   2,   0};
    struct ledger_record record = {.kind = LEDGER_OWNER, .vf = vf_of(3, 7, 1)};
    uint8_t bytes[LEDGER_RECORD_BYTES];

    record.vf.original = before;
    ledger_encode(&record, 5, bytes);
    ck_assert_mem_eq(bytes + 4, golden + 4, sizeof golden - 4);
    ck_assert_mem_eq(bytes, golden, sizeof golden);
}
END_TEST

START_TEST(a_cut_tail_is_left_out)
{
    size_t whole = LEDGER_HEADER_BYTES + 3 * LEDGER_RECORD_BYTES, torn;

    make_file();
    for (size_t len = whole; len <= file_len; len++) {
        size_t rest = (len - LEDGER_HEADER_BYTES) % LEDGER_RECORD_BYTES;

        ck_assert_msg(ledger_load(&again, file, len, &torn, &err) == HF_OK, "%zu: %s", len,
                      err.text);
        ck_assert_uint_eq(torn, rest);
        ck_assert_uint_eq(again.next, 1 + 3 + 3 + (len - whole) / LEDGER_RECORD_BYTES);
    }
}
END_TEST

START_TEST(a_last_record_of_zeros_or_garbage_is_a_cut_one)
{
    size_t torn;

    make_file();
    memset(file + file_len - LEDGER_RECORD_BYTES, 0, LEDGER_RECORD_BYTES);
    ck_assert_int_eq(ledger_load(&again, file, file_len, &torn, &err), HF_OK);
    ck_assert_uint_eq(torn, LEDGER_RECORD_BYTES);
    file[file_len - 1] = 0x5a;
    ck_assert_int_eq(ledger_load(&again, file, file_len, &torn, &err), HF_OK);
    ck_assert_uint_eq(torn, LEDGER_RECORD_BYTES);
}
END_TEST

START_TEST(what_it_began_with_is_never_cut)
{
    size_t torn;

    make_file();
    for (size_t len = 0; len < LEDGER_HEADER_BYTES + 3 * LEDGER_RECORD_BYTES; len++)
        ck_assert_int_eq(ledger_load(&again, file, len, &torn, &err), HF_EBAD);
}
END_TEST

START_TEST(damage_before_the_end_is_an_error_with_its_place)
{
    size_t last, torn;

    make_file();
    last = file_len - LEDGER_RECORD_BYTES;
    for (size_t at = 0; at < last; at++) {
        file[at] ^= 0x10;
        ck_assert_msg(ledger_load(&again, file, file_len, &torn, &err) == HF_EBAD, "byte %zu", at);
        ck_assert_ptr_nonnull(strstr(err.text, "byte "));
        file[at] ^= 0x10;
    }
    file[last - 1] ^= 1;
    ck_assert_int_eq(ledger_load(&again, file, file_len, &torn, &err), HF_EBAD);
    ck_assert_str_eq(err.text, "byte 416: record 4 is damaged");
    /* And not because the record after it is cut as well. */
    ck_assert_int_eq(ledger_load(&again, file, file_len - 7, &torn, &err), HF_EBAD);
}
END_TEST

START_TEST(a_record_that_is_lost_or_there_twice_is_an_error)
{
    uint8_t *fourth = file + LEDGER_HEADER_BYTES + 3 * LEDGER_RECORD_BYTES;
    size_t torn;

    make_file();
    memcpy(fourth + LEDGER_RECORD_BYTES, fourth, LEDGER_RECORD_BYTES);
    ck_assert_int_eq(ledger_load(&again, file, file_len, &torn, &err), HF_EBAD);
    ck_assert_ptr_nonnull(strstr(err.text, "should be"));
}
END_TEST

START_TEST(a_right_crc_over_nonsense_is_an_error)
{
    struct ledger_record record = {.kind = LEDGER_OWNER, .vf = vf_of(20, 1, 1)};
    uint8_t *end;
    size_t torn;

    make_file();
    end = file + file_len;
    switch (_i) {
    case 0:
        record.vf.wanted.vlan = 5000;
        break;
    case 1:
        record.vf.wanted.link = VF_LINKS;
        break;
    case 2:
        record.vf.phase = LEDGER_PHASES;
        break;
    case 3:
        record.kind = LEDGER_KINDS;
        break;
    case 4:
        memcpy(record.vf.vf, "../../../etc", sizeof record.vf.vf);
        break;
    case 5:
        record.vf.number = VF_COUNT_MAX;
        break;
    case 6:
        record.kind = LEDGER_KEPT; /* not after the beginning */
        break;
    case 7:
        record = (struct ledger_record){.kind = LEDGER_EPOCHS, .epochs_to = UINT64_MAX};
        break;
    default:
        record.vf.phase = LEDGER_DONE; /* it was never intended */
        break;
    }
    ledger_encode(&record, l.next, end);
    ck_assert_int_eq(ledger_load(&again, file, file_len + LEDGER_RECORD_BYTES, &torn, &err),
                     HF_EBAD);
    ck_assert_uint_eq(again.next, l.next); /* what was before the place */
}
END_TEST

START_TEST(a_full_ledger_fits)
{
    size_t torn;

    for (unsigned i = 0; i < LEDGER_VFS_MAX; i++)
        ck_assert_int_eq(intend(i, 7, 1, &before), HF_OK);
    file_len = ledger_save(&l, file, LEDGER_SAVE_BYTES_MAX);
    ck_assert_uint_eq(file_len, LEDGER_SAVE_BYTES_MAX);
    ck_assert_int_eq(ledger_load(&again, file, file_len, &torn, &err), HF_OK);
    ck_assert_uint_eq(again.count, LEDGER_VFS_MAX);
    ck_assert_mem_eq(again.vfs, l.vfs, sizeof l.vfs);
}
END_TEST

HF_TEST_MAIN_WITH("nicbond/ledger", setup, NULL, HF_CASE(a_vf_goes_through_its_phases),
                  HF_CASE(a_late_teardown_of_an_old_owner_is_refused),
                  HF_CASE(an_older_start_does_not_take_it),
                  HF_CASE(the_original_is_the_one_before_the_first_owner),
                  HF_CASE(records_that_do_not_follow_are_refused),
                  HF_CASE(a_full_table_is_told_and_given_back_ones_are_used_again),
                  HF_CASE(epochs_only_rise), HF_CASE(what_is_written_is_read),
                  HF_CASE(a_records_bytes_are_fixed), HF_CASE(a_cut_tail_is_left_out),
                  HF_CASE(a_last_record_of_zeros_or_garbage_is_a_cut_one),
                  HF_CASE(what_it_began_with_is_never_cut),
                  HF_CASE(damage_before_the_end_is_an_error_with_its_place),
                  HF_CASE(a_record_that_is_lost_or_there_twice_is_an_error),
                  HF_LOOP(a_right_crc_over_nonsense_is_an_error, 0, 9), HF_CASE(a_full_ledger_fits))
