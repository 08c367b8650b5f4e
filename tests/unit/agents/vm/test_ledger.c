#include "agents/vm/ledger.h"

#include "tests/unit/check.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[64], folder[96];

static void setup(void)
{
    struct hf_err err;

    strcpy(base, "/tmp/hf-ledger-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(base));
    snprintf(folder, sizeof folder, "%s/deep/vm-agent", base);
    ck_assert_msg(ledger_open(folder, &err) == HF_OK, "%s", err.text);
    ck_assert_int_eq(ledger_open(folder, &err), HF_OK); /* there already */
}

static void teardown(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -r %s", base);
    ck_assert_int_eq(system(command), 0);
}

static struct ledger_entry entry_of(hf_vm_uid uid, uint32_t start_no)
{
    struct ledger_entry entry = {.uid = uid,
                                 .start_no = start_no,
                                 .state = LEDGER_CREATING,
                                 .driver = {.pid = 77, .started = 123456789012},
                                 .name = "mq-1.a_b"};

    return entry;
}

static void put(const char *name, const char *text)
{
    char path[200];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "we");
    ck_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

START_TEST(what_is_written_is_read)
{
    struct ledger_entry entry = entry_of(UINT32_MAX, UINT32_MAX), out;
    struct hf_err err;

    memset(entry.name, 'n', HF_NAME_MAX);
    entry.driver = (struct qemu){.pid = INT32_MAX, .started = INT64_MAX}; /* the longest line */
    ck_assert_int_eq(ledger_read(folder, entry.uid, &out, &err), HF_ENOENT);
    ck_assert_msg(ledger_write(folder, &entry, &err) == HF_OK, "%s", err.text);
    ck_assert_msg(ledger_read(folder, entry.uid, &out, &err) == HF_OK, "%s", err.text);
    ck_assert_uint_eq(out.start_no, UINT32_MAX);
    ck_assert_int_eq(out.state, LEDGER_CREATING);
    ck_assert_int_eq(out.driver.pid, INT32_MAX);
    ck_assert_uint_eq(out.driver.started, INT64_MAX);
    ck_assert_str_eq(out.name, entry.name);
    for (enum ledger_state s = LEDGER_CREATING; s <= LEDGER_CREATED; s++) {
        entry.state = s;
        ck_assert_int_eq(ledger_write(folder, &entry, &err), HF_OK);
        ck_assert_int_eq(ledger_read(folder, entry.uid, &out, &err), HF_OK);
        ck_assert_int_eq(out.state, s);
    }
}
END_TEST

START_TEST(a_file_that_does_not_read_is_never_no_start)
{
    static const char *const texts[] = {
        "",
        "\n",
        "holdfast-start-1 1 5 created 0 0 mq-1 end",          /* cut */
        "holdfast-start-1 1 5 created 0 0 mq-1\n",            /* a field less */
        "holdfast-start-1 1 5 created 0 0 mq-1 end more\n",   /* one more */
        "holdfast-start-1 1 5 created 0 0 mq-1 end\nx",       /* a line more */
        "holdfast-start-2 1 5 created 0 0 mq-1 end\n",        /* of a later version */
        "holdfast-start-1 2 5 created 0 0 mq-1 end\n",        /* another VM's */
        "holdfast-start-1 1 4294967296 created 0 0 mq-1 end\n",
        "holdfast-start-1 1 5 destroyed 0 0 mq-1 end\n",
        "holdfast-start-1 1 5 created -1 0 mq-1 end\n",
        "holdfast-start-1 1 5 created 0 0 ../x end\n",
        "holdfast-start-1 1 05 created 0 0 mq-1 end\n", /* another way to write 5 */
    };
    struct ledger_entry out;
    struct hf_err err;

    put("1", "holdfast-start-1 1 5 created 0 0 mq-1 end\n");
    ck_assert_int_eq(ledger_read(folder, 1, &out, &err), HF_OK);
    put("1", texts[_i]);
    ck_assert_int_eq(ledger_read(folder, 1, &out, &err), HF_EBAD);
}
END_TEST

START_TEST(a_write_that_fails_leaves_the_old_file)
{
    struct ledger_entry entry = entry_of(1, 5), out;
    struct hf_err err;
    char path[200];

    ck_assert_int_eq(ledger_write(folder, &entry, &err), HF_OK);
    snprintf(path, sizeof path, "%s/.1", folder); /* in the way of the new one */
    ck_assert_int_eq(mkdir(path, 0700), 0);
    entry.start_no = 6;
    ck_assert_int_eq(ledger_write(folder, &entry, &err), HF_EIO);
    ck_assert_int_eq(ledger_read(folder, 1, &out, &err), HF_OK);
    ck_assert_uint_eq(out.start_no, 5);
}
END_TEST

static bool add(void *user, const struct ledger_entry *entry)
{
    *(uint32_t *)user += entry->start_no;
    return true;
}

START_TEST(all_are_found_and_what_does_not_read_is_told)
{
    struct ledger_entry one = entry_of(1, 5), two = entry_of(2, 70);
    struct hf_err err;
    uint32_t sum = 0;

    ck_assert_int_eq(ledger_each(folder, add, &sum, &err), HF_OK);
    ck_assert_int_eq(ledger_write(folder, &one, &err), HF_OK);
    ck_assert_int_eq(ledger_write(folder, &two, &err), HF_OK);
    put(".3", "half");
    ck_assert_int_eq(ledger_each(folder, add, &sum, &err), HF_OK);
    ck_assert_uint_eq(sum, 75);
    put("3", "half");
    sum = 0;
    ck_assert_int_eq(ledger_each(folder, add, &sum, &err), HF_EBAD);
    ck_assert_uint_eq(sum, 75);
    ck_assert_int_eq(ledger_each("/nowhere", add, &sum, &err), HF_EIO);
}
END_TEST

HF_TEST_MAIN_WITH("agents/vm/ledger", setup, teardown, HF_CASE(what_is_written_is_read),
                  HF_LOOP(a_file_that_does_not_read_is_never_no_start, 0, 13),
                  HF_CASE(a_write_that_fails_leaves_the_old_file),
                  HF_CASE(all_are_found_and_what_does_not_read_is_told))
