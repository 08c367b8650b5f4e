#include <fcntl.h>
#include <sys/stat.h>

#include "supervisord/report/store.h"
#include "tests/unit/supervisord/report/disk.h"

static struct store_found found;
static struct hf_err err;

static uint64_t digest_of_found(void)
{
    struct engine *e = calloc(1, engine_size());
    uint64_t digest;

    ck_assert_msg(engine_load(e, found.bytes, found.len, &err) == HF_OK, "%s", err.text);
    digest = engine_digest(e);
    free(e);
    free(found.bytes);
    return digest;
}

static void damage(const char *path, off_t at)
{
    int fd = open(path, O_RDWR);
    uint8_t byte;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
    byte ^= 0xff;
    ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

START_TEST(nothing_on_disk_is_no_state)
{
    ck_assert_int_eq(store_read(disk_state, &found, &err), HF_ENOENT);
    ck_assert_str_eq(found.told, "");
}
END_TEST

START_TEST(snapshot_and_events_give_the_last_state)
{
    disk_fill(40);
    ck_assert_int_eq(store_read(disk_state, &found, &err), HF_OK);
    ck_assert_str_eq(found.told, "");
    ck_assert_uint_eq(found.events, 40);
    ck_assert_uint_eq(found.seq, engine_seq(disk_engine));
    ck_assert_uint_eq(digest_of_found(), engine_digest(disk_engine));
}
END_TEST

START_TEST(a_torn_tail_costs_only_the_torn_event)
{
    struct stat st;

    disk_fill(9);
    {
        uint64_t before = engine_digest(disk_engine);
        uint64_t seq = engine_seq(disk_engine);

        disk_fill(0); /* a second file: snapshot only, then one event that is torn */
        ck_assert_int_eq(stat(disk_newest(), &st), 0);
        ck_assert_int_eq(truncate(disk_newest(), st.st_size - 3), 0);
        ck_assert_int_eq(store_read(disk_state, &found, &err), HF_OK);
        ck_assert_uint_eq(found.seq, seq);
        ck_assert_ptr_nonnull(strstr(found.told, "torn record"));
        ck_assert_uint_eq(digest_of_found(), before);
    }
}
END_TEST

START_TEST(a_damaged_snapshot_falls_back_to_the_older_file_and_says_so)
{
    uint64_t older;

    disk_fill(5);
    older = engine_digest(disk_engine);
    disk_fill(5);
    damage(disk_newest(), JOURNAL_HEADER_BYTES + JOURNAL_RECORD_HEAD + 20);
    ck_assert_int_eq(store_read(disk_state, &found, &err), HF_OK);
    ck_assert_ptr_nonnull(strstr(found.told, "damaged record"));
    ck_assert_uint_eq(digest_of_found(), older);
}
END_TEST

START_TEST(a_damaged_event_ends_the_replay_there)
{
    struct stat st;

    disk_fill(20);
    ck_assert_int_eq(stat(disk_newest(), &st), 0);
    damage(disk_newest(), st.st_size - 5);
    ck_assert_int_eq(store_read(disk_state, &found, &err), HF_OK);
    ck_assert_uint_eq(found.events, 19);
    ck_assert_ptr_nonnull(strstr(found.told, "damaged record"));
    free(found.bytes);
}
END_TEST

START_TEST(other_files_in_the_directory_do_not_disturb)
{
    static const char *const others[] = {"journal-99999999-1.old", "journal-99999999-",
                                         "journal-99999999", "journal-9-1", "journal-999999999-1",
                                         "journal-9999999 -1", "journal-+9999999-1", "journal-",
                                         "journal-99999999-99999999999999999999", "journal"};
    char path[256];

    disk_fill(3);
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(path, sizeof path, "%s/journal/%s", disk_state, others[i]);
        ck_assert_int_ge(open(path, O_CREAT | O_WRONLY, 0600), 0);
    }
    snprintf(path, sizeof path, "%s/journal/journal-99999999-1", disk_state);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(store_read(disk_state, &found, &err), HF_OK);
    ck_assert_uint_eq(digest_of_found(), engine_digest(disk_engine));
}
END_TEST

HF_TEST_MAIN_WITH("report/store", disk_setup, disk_teardown, HF_CASE(nothing_on_disk_is_no_state),
                  HF_CASE(snapshot_and_events_give_the_last_state),
                  HF_CASE(a_torn_tail_costs_only_the_torn_event),
                  HF_CASE(a_damaged_snapshot_falls_back_to_the_older_file_and_says_so),
                  HF_CASE(a_damaged_event_ends_the_replay_there),
                  HF_CASE(other_files_in_the_directory_do_not_disturb))
