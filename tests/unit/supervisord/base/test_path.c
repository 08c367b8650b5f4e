#include "supervisord/base/path.h"
#include "tests/unit/check.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/path-XXXXXX", link_path[64];

static void set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(link_path, sizeof link_path, "%s/driver", folder);
}

static void tear_down(void)
{
    (void)unlink(link_path);
    (void)rmdir(folder);
}

START_TEST(the_name_is_the_last_part_of_the_target)
{
    char name[16] = "old";

    ck_assert_int_eq(symlink("../../bus/pci/drivers/sfc", link_path), 0);
    ck_assert(hf_path_link_name(link_path, name, sizeof name));
    ck_assert_str_eq(name, "sfc");
    ck_assert_int_eq(unlink(link_path), 0);
    ck_assert_int_eq(symlink("sfc", link_path), 0);
    ck_assert(hf_path_link_name(link_path, name, sizeof name));
    ck_assert_str_eq(name, "sfc");
}
END_TEST

START_TEST(without_a_link_nothing_is_written)
{
    char name[16] = "old";

    ck_assert(!hf_path_link_name(link_path, name, sizeof name));
    ck_assert_str_eq(name, "old");
}
END_TEST

START_TEST(a_name_that_does_not_fit_is_cut_and_said_so)
{
    char name[4];

    ck_assert_int_eq(symlink("a/igbvf", link_path), 0);
    ck_assert(!hf_path_link_name(link_path, name, sizeof name));
    ck_assert_str_eq(name, "igb");
}
END_TEST

/* ---- programs ---- */

/* Ours, as the kernel has it: the folder, and the name in it. */
static const char *split_own(char own[PATH_MAX])
{
    ssize_t len = readlink("/proc/self/exe", own, PATH_MAX - 1);
    char *slash;

    ck_assert_int_gt(len, 0);
    own[len] = '\0';
    slash = strrchr(own, '/');
    ck_assert_ptr_nonnull(slash);
    *slash = '\0';
    return slash + 1;
}

START_TEST(a_program_is_found_beside_the_own_one)
{
    char own[PATH_MAX], found[PATH_MAX], wanted[2 * PATH_MAX];
    const char *name = split_own(own);

    ck_assert(hf_path_program(name, found, sizeof found));
    snprintf(wanted, sizeof wanted, "%s/%s", own, name);
    ck_assert_str_eq(found, wanted);
}
END_TEST

/* The own folder is given back as it was found. */
START_TEST(an_installed_program_is_found_in_libexec)
{
    char own[PATH_MAX], found[PATH_MAX], folders[2][PATH_MAX + 32], program[PATH_MAX + 64];
    bool is_made[2];
    int fd;

    (void)split_own(own);
    snprintf(folders[0], sizeof folders[0], "%s/../libexec", own);
    snprintf(folders[1], sizeof folders[1], "%s/../libexec/holdfast", own);
    snprintf(program, sizeof program, "%s/../libexec/holdfast/a-program-of-this-test", own);
    for (int i = 0; i < 2; i++)
        is_made[i] = mkdir(folders[i], 0755) == 0;
    fd = open(program, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    /* Not one that can be run. */
    ck_assert(!hf_path_program("a-program-of-this-test", found, sizeof found));
    ck_assert_int_eq(fchmod(fd, 0700), 0);
    ck_assert(hf_path_program("a-program-of-this-test", found, sizeof found));
    ck_assert_str_eq(found, program);
    close(fd);
    ck_assert_int_eq(unlink(program), 0);
    for (int i = 1; i >= 0; i--)
        if (is_made[i])
            ck_assert_int_eq(rmdir(folders[i]), 0);
}
END_TEST

START_TEST(a_program_that_is_not_there_is_told_by_its_installed_place)
{
    char own[PATH_MAX], found[PATH_MAX], wanted[2 * PATH_MAX];

    (void)split_own(own);
    ck_assert(!hf_path_program("no-such-program", found, sizeof found));
    snprintf(wanted, sizeof wanted, "%s/../libexec/holdfast/no-such-program", own);
    ck_assert_str_eq(found, wanted);
}
END_TEST

START_TEST(a_program_whose_path_does_not_fit_is_none)
{
    char own[PATH_MAX], found[PATH_MAX];
    const char *name = split_own(own);
    size_t len = strlen(own) + 1 + strlen(name);

    ck_assert(!hf_path_program(name, found, len));
    ck_assert_uint_eq(strlen(found), len - 1);
    ck_assert(hf_path_program(name, found, len + 1));
}
END_TEST

HF_TEST_MAIN_WITH("base/path", set_up, tear_down, HF_CASE(the_name_is_the_last_part_of_the_target),
                  HF_CASE(without_a_link_nothing_is_written),
                  HF_CASE(a_name_that_does_not_fit_is_cut_and_said_so),
                  HF_CASE(a_program_is_found_beside_the_own_one),
                  HF_CASE(an_installed_program_is_found_in_libexec),
                  HF_CASE(a_program_that_is_not_there_is_told_by_its_installed_place),
                  HF_CASE(a_program_whose_path_does_not_fit_is_none))
