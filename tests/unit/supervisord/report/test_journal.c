#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "supervisord/wire/event.h"
#include "tests/unit/supervisord/report/disk.h"

static const hf_time start = {1000000000};

static void wait_for(struct journal *j, bool broken, struct journal_status *status)
{
    hf_time until = hf_time_add_ms(hf_clock_now(), 10000);

    for (;;) {
        struct pollfd fd = {.fd = journal_fd(j), .events = POLLIN};

        journal_look(j, status);
        if (status->is_broken == broken)
            return;
        ck_assert_msg(!hf_time_reached(hf_clock_now(), until), "journal: %s", status->why);
        (void)poll(&fd, 1, 100);
    }
}

START_TEST(what_is_written_is_read_back_and_decided_the_same)
{
    struct engine *replayed = calloc(1, engine_size());
    static struct journal_record record;
    struct journal_reader r;
    struct engine_out *out = calloc(1, sizeof *out);
    struct hf_err err;
    enum hf_code code;
    unsigned events = 0;

    disk_fill(50);
    ck_assert_int_eq(journal_read_open(&r, disk_newest(), &err), HF_OK);
    ck_assert_uint_eq(r.ruleset, HF_RULESET);
    ck_assert_int_eq(journal_read_next(&r, &record, &err), HF_OK);
    ck_assert_int_eq(record.kind, JOURNAL_SNAPSHOT);
    ck_assert_int_eq(engine_load(replayed, record.state, record.state_len, &err), HF_OK);
    while ((code = journal_read_next(&r, &record, &err)) == HF_OK) {
        static uint8_t decided[1 << 18];
        struct hf_writer w = hf_writer_on(decided, sizeof decided);

        ck_assert_int_eq(record.kind, JOURNAL_EVENT);
        ck_assert_uint_eq(record.seq, engine_seq(replayed) + 1);
        engine_step(replayed, &record.event, out);
        decision_encode(out, &w);
        ck_assert_uint_eq(w.len, record.decision_len);
        ck_assert_mem_eq(decided, record.decision, w.len);
        events++;
    }
    ck_assert_int_eq(code, HF_ENOENT);
    ck_assert_uint_eq(events, 50);
    ck_assert_uint_eq(engine_digest(replayed), engine_digest(disk_engine));
    journal_read_close(&r);
    free(replayed);
    free(out);
}
END_TEST

START_TEST(the_first_record_of_a_journal_is_a_snapshot_even_unasked)
{
    static struct journal_record record;
    struct journal *j = disk_open(0, 0, 0);
    struct journal_reader r;
    struct hf_err err;

    disk_step(j, start);
    disk_step(j, start);
    journal_close(j, 10000);
    ck_assert_int_eq(journal_read_open(&r, disk_newest(), &err), HF_OK);
    ck_assert_int_eq(journal_read_next(&r, &record, &err), HF_OK);
    ck_assert_int_eq(record.kind, JOURNAL_SNAPSHOT);
    ck_assert_int_eq(journal_read_next(&r, &record, &err), HF_OK);
    ck_assert_int_eq(record.kind, JOURNAL_EVENT);
    ck_assert_uint_eq(record.seq, 2);
    journal_read_close(&r);
}
END_TEST

START_TEST(a_full_file_is_followed_by_another_and_old_ones_go)
{
    char names[32][64];
    struct journal *j = disk_open(8192, 3, 0);
    struct journal_status status;
    struct hf_err err;

    journal_replaced(j, disk_engine, start);
    for (unsigned i = 0; i < 600; i++) {
        disk_step(j, start);
        if (i % 20 == 0) /* the thread must see the full file before the next step can follow it */
            do
                journal_look(j, &status);
            while (status.written <= i);
    }
    journal_close(j, 10000);
    ck_assert_uint_eq(journal_list(disk_state, names, 32), 3);
    for (unsigned i = 0; i < 3; i++) {
        static struct journal_record record;
        struct journal_reader r;
        uint64_t seq = 0;
        enum hf_code code;
        char path[256];

        snprintf(path, sizeof path, "%s/journal/%.63s", disk_state, names[i]);
        ck_assert_int_eq(journal_read_open(&r, path, &err), HF_OK);
        ck_assert_int_eq(journal_read_next(&r, &record, &err), HF_OK);
        ck_assert_int_eq(record.kind, JOURNAL_SNAPSHOT);
        while ((code = journal_read_next(&r, &record, &err)) == HF_OK)
            if (record.kind == JOURNAL_EVENT) {
                ck_assert(seq == 0 || record.seq == seq + 1);
                seq = record.seq;
            }
        ck_assert_int_eq(code, HF_ENOENT);
        journal_read_close(&r);
    }
}
END_TEST

START_TEST(a_torn_tail_is_an_error_and_what_is_before_it_is_read)
{
    static struct journal_record record;
    struct journal_reader r;
    struct hf_err err;
    struct stat st;
    enum hf_code code;
    unsigned events = 0;

    disk_fill(10);
    ck_assert_int_eq(stat(disk_newest(), &st), 0);
    ck_assert_int_eq(truncate(disk_newest(), st.st_size - 1 - _i * 5), 0);
    ck_assert_int_eq(journal_read_open(&r, disk_newest(), &err), HF_OK);
    while ((code = journal_read_next(&r, &record, &err)) == HF_OK)
        events += record.kind == JOURNAL_EVENT;
    ck_assert_int_eq(code, HF_EBAD);
    ck_assert_uint_eq(events, 9);
    journal_read_close(&r);
}
END_TEST

START_TEST(a_flipped_bit_is_found)
{
    static uint8_t bytes[1 << 20];
    static struct journal_record record;
    struct journal_reader r;
    struct hf_err err;
    FILE *file;
    size_t len;
    enum hf_code code = HF_OK;

    disk_fill(3);
    file = fopen(disk_newest(), "r");
    len = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t at = JOURNAL_HEADER_BYTES; at < len; at += 7) {
        bytes[at] ^= 0x10;
        ck_assert_int_eq(journal_read_bytes(&r, bytes, len, &err), HF_OK);
        while ((code = journal_read_next(&r, &record, &err)) == HF_OK)
            ;
        ck_assert_int_eq(code, HF_EBAD);
        journal_read_close(&r);
        bytes[at] ^= 0x10;
    }
    bytes[0] ^= 1;
    ck_assert_int_eq(journal_read_bytes(&r, bytes, len, &err), HF_EBAD);
}
END_TEST

START_TEST(a_full_disk_loses_records_counts_them_and_heals)
{
    struct rlimit full = {200, RLIM_INFINITY}, free_again = {RLIM_INFINITY, RLIM_INFINITY};
    struct journal *j = disk_open(0, 0, 0);
    static struct journal_record record;
    struct journal_status status;
    struct journal_reader r;
    struct hf_err err;
    hf_time now = start;

    signal(SIGXFSZ, SIG_IGN); /* a file size limit stands in for a full disk */
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &full), 0);
    journal_replaced(j, disk_engine, now);
    wait_for(j, true, &status);
    ck_assert_uint_ge(status.lost, 1);
    ck_assert_ptr_nonnull(strstr(status.why, "File too large"));
    for (unsigned i = 0; i < 5; i++)
        disk_step(j, now); /* before the retry is due */
    journal_look(j, &status);
    ck_assert_uint_ge(status.lost, 6);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &free_again), 0);
    now = hf_time_add_ms(now, JOURNAL_RETRY_MS);
    disk_step(j, now);
    wait_for(j, false, &status);
    disk_step(j, now);
    journal_close(j, 10000);
    ck_assert_int_eq(journal_read_open(&r, disk_newest(), &err), HF_OK);
    ck_assert_int_eq(journal_read_next(&r, &record, &err), HF_OK);
    ck_assert_int_eq(record.kind, JOURNAL_SNAPSHOT);
    ck_assert_int_eq(journal_read_next(&r, &record, &err), HF_OK);
    ck_assert_uint_eq(record.seq, engine_seq(disk_engine));
    journal_read_close(&r);
}
END_TEST

START_TEST(a_full_queue_refuses_and_says_so)
{
    struct journal *j = disk_open(0, 0, 64);
    struct journal_status status;

    journal_replaced(j, disk_engine, start);
    journal_look(j, &status);
    ck_assert(status.is_broken);
    ck_assert_uint_eq(status.lost, 1);
    ck_assert(!journal_put_file(j, "abc", "x", 1));
    journal_close(j, 10000);
}
END_TEST

START_TEST(a_directory_that_cannot_be_made_breaks_the_journal_only)
{
    struct journal_settings settings = {"/proc/hf-no-such-place", 0, 0, 0};
    struct journal_status status;
    struct journal *j;
    struct hf_err err;

    ck_assert_int_eq(journal_open(&j, &settings, &err), HF_OK);
    journal_replaced(j, disk_engine, start);
    wait_for(j, true, &status);
    journal_close(j, 10000);
}
END_TEST

START_TEST(files_are_put_whole_and_removed)
{
    struct journal *j = disk_open(0, 0, 0);
    char path[256], text[16] = "";
    FILE *file;

    ck_assert(journal_put_file(j, "0123abcd", "old", 3));
    ck_assert(journal_put_file(j, "0123abcd", "hello", 5));
    ck_assert(journal_put_file(j, "gone", "x", 1));
    ck_assert(journal_remove_file(j, "gone"));
    ck_assert(journal_remove_file(j, "never-there"));
    journal_close(j, 10000);
    snprintf(path, sizeof path, "%s/blobs/0123abcd", disk_state);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fread(text, 1, sizeof text, file), 5);
    ck_assert_str_eq(text, "hello");
    fclose(file);
    snprintf(path, sizeof path, "%s/blobs/gone", disk_state);
    ck_assert_int_ne(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/blobs/.new", disk_state);
    ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

HF_TEST_MAIN_WITH("report/journal", disk_setup, disk_teardown,
                  HF_CASE(what_is_written_is_read_back_and_decided_the_same),
                  HF_CASE(the_first_record_of_a_journal_is_a_snapshot_even_unasked),
                  HF_CASE(a_full_file_is_followed_by_another_and_old_ones_go),
                  HF_LOOP(a_torn_tail_is_an_error_and_what_is_before_it_is_read, 0, 4),
                  HF_CASE(a_flipped_bit_is_found),
                  HF_CASE(a_full_disk_loses_records_counts_them_and_heals),
                  HF_CASE(a_full_queue_refuses_and_says_so),
                  HF_CASE(a_directory_that_cannot_be_made_breaks_the_journal_only),
                  HF_CASE(files_are_put_whole_and_removed))
