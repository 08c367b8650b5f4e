#include "supervisord/config/config.h"
#include "tests/unit/check.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct hf_config config;
static struct hf_err err;
static char folder[] = "/tmp/hf-config-XXXXXX";
static char file[64];

static void set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/holdfast.conf", folder);
}

static void tear_down(void)
{
    unlink(file);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void write_file(const char *text, size_t len)
{
    FILE *out = fopen(file, "w");

    ck_assert_ptr_nonnull(out);
    ck_assert_uint_eq(fwrite(text, 1, len, out), len);
    ck_assert_int_eq(fclose(out), 0);
}

START_TEST(a_good_file_is_the_same_as_its_text)
{
    static const char text[] = "cluster {\n name: x\n}\nnode a {\n id: 1\n}\n";
    static struct hf_config parsed;

    write_file(text, sizeof text - 1);
    ck_assert_int_eq(config_load(file, &config, &err), HF_OK);
    ck_assert_int_eq(config_parse("x", text, sizeof text - 1, &parsed, &err), HF_OK);
    ck_assert_int_eq(memcmp(&config, &parsed, sizeof config), 0);
}
END_TEST

START_TEST(a_fault_is_told_with_the_path_as_given)
{
    char want[sizeof err.text];

    write_file("clustr {\n", 9);
    snprintf(want, sizeof want,
             "%s:1:1: unknown section 'clustr' in the file (did you mean "
             "'cluster'?)",
             file);
    ck_assert_int_eq(config_load(file, &config, &err), HF_EINVAL);
    ck_assert_str_eq(err.text, want);
}
END_TEST

START_TEST(a_missing_file_is_told_apart)
{
    char want[sizeof err.text];

    snprintf(want, sizeof want, "open %s: No such file or directory", file);
    ck_assert_int_eq(config_load(file, &config, &err), HF_ENOENT);
    ck_assert_str_eq(err.text, want);
}
END_TEST

START_TEST(a_folder_is_no_file)
{
    char want[sizeof err.text];

    snprintf(want, sizeof want, "open %s: not a regular file", folder);
    ck_assert_int_eq(config_load(folder, &config, &err), HF_EIO);
    ck_assert_str_eq(err.text, want);
}
END_TEST

/* Nobody ever writes into it: a reader that blocks would run into the case's time limit. */
START_TEST(a_fifo_does_not_block)
{
    ck_assert_int_eq(mkfifo(file, 0600), 0);
    ck_assert_int_eq(config_load(file, &config, &err), HF_EIO);
}
END_TEST

START_TEST(a_file_too_large_is_told)
{
    char *text = malloc(HF_CONFIG_TEXT_MAX + 100);
    char want[sizeof err.text];

    memset(text, '\n', HF_CONFIG_TEXT_MAX + 100);
    write_file(text, HF_CONFIG_TEXT_MAX + 100);
    free(text);
    snprintf(want, sizeof want, "%s:1:1: the file is larger than 262144 bytes", file);
    ck_assert_int_eq(config_load(file, &config, &err), HF_EINVAL);
    ck_assert_str_eq(err.text, want);
}
END_TEST

HF_TEST_MAIN_WITH("config/load", set_up, tear_down, HF_CASE(a_good_file_is_the_same_as_its_text),
                  HF_CASE(a_fault_is_told_with_the_path_as_given),
                  HF_CASE(a_missing_file_is_told_apart), HF_CASE(a_folder_is_no_file),
                  HF_CASE(a_fifo_does_not_block), HF_CASE(a_file_too_large_is_told))
