#include "nicbond/flips.h"

#include "tests/unit/check.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char base[64], folder[96], path[128];
static struct hf_err err;
static int fd;

static void setup(void)
{
    strcpy(base, "/tmp/hf-flips-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(base));
    snprintf(folder, sizeof folder, "%s/holdfast/nicbond", base);
    snprintf(path, sizeof path, "%s/flips", folder);
    ck_assert_msg(flips_open(folder, &fd, &err) == HF_OK, "%s", err.text);
}

static void teardown(void)
{
    char command[128];

    close(fd);
    snprintf(command, sizeof command, "rm -r %s", base);
    ck_assert_int_eq(system(command), 0);
}

/* By fields: what lies between them is nobody's. */
static void ck_entry(const struct flips_entry *is, const struct flips_entry *want)
{
    ck_assert_uint_eq(is->epoch, want->epoch);
    ck_assert_str_eq(is->pf, want->pf);
    ck_assert_int_eq(is->is_pf_down, want->is_pf_down);
    ck_assert_mem_eq(is->vfs, want->vfs, sizeof want->vfs);
}

static struct flips_entry entry_of(uint64_t epoch, uint16_t vf)
{
    struct flips_entry e = {.epoch = epoch, .pf = "0000:01:00.0"};

    flips_set_vf(&e, vf, true);
    return e;
}

static struct flips now(void)
{
    struct flips f;
    int again;

    /* As the next process sees it. */
    ck_assert_int_eq(flips_open(folder, &again, &err), HF_OK);
    ck_assert_msg(flips_read(again, &f, &err) == HF_OK, "%s", err.text);
    close(again);
    return f;
}

START_TEST(a_new_file_says_that_nothing_is_off)
{
    struct flips f = now();

    for (hf_fabric i = 0; i < HF_FABRICS_MAX; i++) {
        ck_assert(!flips_is_open(&f.fabric[i]));
        ck_assert(!f.is_damaged[i]);
        ck_assert_uint_eq(f.fabric[i].epoch, 0);
    }
}
END_TEST

START_TEST(what_is_put_is_read_and_fabrics_do_not_mix)
{
    struct flips_entry a = entry_of(5, 0), b = entry_of(6, VF_NUMBER_MAX);
    struct flips f;

    b.is_pf_down = true;
    ck_assert_msg(flips_put(fd, 0, &a, &err) == HF_OK, "%s", err.text);
    ck_assert_int_eq(flips_put(fd, 1, &b, &err), HF_OK);
    f = now();
    ck_entry(&f.fabric[0], &a);
    ck_entry(&f.fabric[1], &b);
    ck_assert(flips_has_vf(&f.fabric[1], VF_NUMBER_MAX));
    ck_assert(!flips_has_vf(&f.fabric[1], VF_NUMBER_MAX + 1));
    flips_set_vf(&a, 0, false);
    ck_assert(!flips_is_open(&a));
    for (uint64_t epoch = 5; epoch < 20; epoch++) {
        a.epoch = epoch;
        ck_assert_int_eq(flips_put(fd, 0, &a, &err), HF_OK);
        f = now();
        ck_assert_uint_eq(f.fabric[0].epoch, epoch);
        ck_entry(&f.fabric[1], &b);
    }
}
END_TEST

START_TEST(a_late_one_changes_nothing)
{
    struct flips_entry late = entry_of(8, 1), newer = entry_of(9, 2);
    struct flips f;

    ck_assert_int_eq(flips_put(fd, 0, &newer, &err), HF_OK);
    ck_assert_int_eq(flips_put(fd, 0, &late, &err), HF_EACCESS);
    f = now();
    ck_entry(&f.fabric[0], &newer);
}
END_TEST

START_TEST(nonsense_is_refused)
{
    struct flips_entry e = entry_of(0, 1);

    ck_assert_int_eq(flips_put(fd, 0, &e, &err), HF_EINVAL);
    e.epoch = 1;
    ck_assert_int_eq(flips_put(fd, HF_FABRICS_MAX, &e, &err), HF_EINVAL);
    e.pf[0] = '\0';
    ck_assert_int_eq(flips_put(fd, 0, &e, &err), HF_EINVAL);
}
END_TEST

/* The process dies in the middle of a write, after every number of bytes, on either copy. */
START_TEST(a_cut_write_leaves_the_one_before)
{
    for (unsigned puts = 1; puts <= 3; puts++) {
        for (size_t cut = 0; cut <= FLIPS_COPY_BYTES; cut++) {
            struct flips_entry was = entry_of(puts, (uint16_t)puts), next = entry_of(puts + 1, 200);
            uint8_t bytes[FLIPS_BYTES], copy[FLIPS_COPY_BYTES];
            struct flips f;
            size_t at;
            ssize_t len;

            ck_assert_int_eq(ftruncate(fd, 0), 0);
            for (unsigned i = 1; i <= puts; i++) {
                struct flips_entry e = entry_of(i, (uint16_t)i);

                ck_assert_int_eq(flips_put(fd, 1, &e, &err), HF_OK);
            }
            len = pread(fd, bytes, sizeof bytes, 0);
            ck_assert_int_ge(len, 0);
            flips_copy(bytes, (size_t)len, 1, &next, copy, &at);
            ck_assert_int_eq(pwrite(fd, copy, cut, (off_t)at), (ssize_t)cut);
            f = now();
            ck_assert(!f.is_damaged[1]);
            if (cut == FLIPS_COPY_BYTES)
                was = next;
            else if (memcmp(&f.fabric[1], &next, sizeof next) == 0)
                continue; /* what was cut off were zeros that were there already */
            ck_assert_msg(memcmp(&f.fabric[1], &was, sizeof was) == 0, "%u puts, cut at %zu", puts,
                          cut);
            /* And the next one heals it. */
            next.epoch++;
            ck_assert_int_eq(flips_put(fd, 1, &next, &err), HF_OK);
            f = now();
            ck_entry(&f.fabric[1], &next);
        }
    }
}
END_TEST

START_TEST(the_first_write_of_all_may_be_cut_too)
{
    uint8_t copy[FLIPS_COPY_BYTES];
    struct flips_entry e = entry_of(1, 1), nothing = {.epoch = 1, .pf = "0000:01:00.0"};
    struct flips f;
    size_t at;

    for (size_t cut = 0; cut < 40; cut++) {
        ck_assert_int_eq(ftruncate(fd, 0), 0);
        flips_copy(NULL, 0, 0, &nothing, copy, &at);
        ck_assert_uint_eq(at, 0);
        ck_assert_int_eq(pwrite(fd, copy, cut, 0), (ssize_t)cut);
        f = now();
        ck_assert(!f.is_damaged[0]);
        ck_assert(!flips_is_open(&f.fabric[0]));
        ck_assert_int_eq(flips_put(fd, 0, &e, &err), HF_OK);
        f = now();
        ck_entry(&f.fabric[0], &e);
    }
}
END_TEST

START_TEST(damage_of_both_copies_is_told_and_healed)
{
    struct flips_entry e = entry_of(1, 1);
    struct flips f;

    ck_assert_int_eq(flips_put(fd, 0, &e, &err), HF_OK);
    e.epoch = 2;
    ck_assert_int_eq(flips_put(fd, 0, &e, &err), HF_OK);
    ck_assert_int_eq(pwrite(fd, "x", 1, 20), 1);
    f = now();
    ck_assert(!f.is_damaged[0]);
    ck_assert_int_eq(pwrite(fd, "x", 1, FLIPS_COPY_BYTES + 20), 1);
    f = now();
    ck_assert(f.is_damaged[0]);
    ck_assert(!f.is_damaged[1]);
    ck_assert_int_eq(flips_put(fd, 0, &e, &err), HF_OK);
    f = now();
    ck_assert(!f.is_damaged[0]);
    ck_entry(&f.fabric[0], &e);
}
END_TEST

START_TEST(a_place_without_room_is_an_error)
{
    struct flips_entry e = entry_of(1, 1);
    int full = open("/dev/full", O_RDWR | O_CLOEXEC);

    if (full < 0)
        return;
    ck_assert_int_eq(flips_put(full, 0, &e, &err), HF_EIO);
    close(full);
    ck_assert_int_eq(flips_put(-1, 0, &e, &err), HF_EIO);
    ck_assert_int_eq(flips_open("/dev/null/x", &full, &err), HF_EIO);
}
END_TEST

HF_TEST_MAIN_WITH("nicbond/flips", setup, teardown, HF_CASE(a_new_file_says_that_nothing_is_off),
                  HF_CASE(what_is_put_is_read_and_fabrics_do_not_mix),
                  HF_CASE(a_late_one_changes_nothing), HF_CASE(nonsense_is_refused),
                  HF_CASE(a_cut_write_leaves_the_one_before),
                  HF_CASE(the_first_write_of_all_may_be_cut_too),
                  HF_CASE(damage_of_both_copies_is_told_and_healed),
                  HF_CASE(a_place_without_room_is_an_error))
