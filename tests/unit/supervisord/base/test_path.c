#include "supervisord/base/path.h"
#include "tests/unit/check.h"

#include <stdio.h>
#include <stdlib.h>
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

HF_TEST_MAIN_WITH("base/path", set_up, tear_down, HF_CASE(the_name_is_the_last_part_of_the_target),
                  HF_CASE(without_a_link_nothing_is_written),
                  HF_CASE(a_name_that_does_not_fit_is_cut_and_said_so))
