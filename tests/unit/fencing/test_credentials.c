#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fencing/credentials.h"
#include "tests/unit/check.h"

static char directory[] = "/tmp/hf-cred-XXXXXX";

static void setup(void)
{
    strcpy(directory + sizeof directory - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
}

static const char *path_of(const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void put(const char *name, const char *text, mode_t mode)
{
    int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

static void teardown(void)
{
    static const char *const names[] = {"n1", "n2", "link", "fifo"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(path_of(names[i]));
    ck_assert_int_eq(rmdir(directory), 0);
}

static enum hf_code read_back(const char *name, struct credentials *c, struct hf_err *err)
{
    enum hf_code code = credentials_read(directory, name, c, err);

    if (code != HF_OK)
        ck_assert_ptr_null(strstr(err->text, "hunter2"));
    return code;
}

START_TEST(a_good_file_becomes_lines_with_an_end)
{
    struct credentials c;
    struct hf_err err;

    put("n1", "# for n1\nusername=admin\npassword=hunter2=x", 0600);
    ck_assert_int_eq(read_back("n1", &c, &err), HF_OK);
    c.lines[c.len] = '\0';
    ck_assert_str_eq(c.lines, "# for n1\nusername=admin\npassword=hunter2=x\n");
    credentials_wipe(&c);
    for (size_t i = 0; i < sizeof c.lines; i++)
        ck_assert_int_eq(c.lines[i], 0);
}
END_TEST

START_TEST(no_name_is_no_credentials)
{
    struct credentials c;
    struct hf_err err;

    ck_assert_int_eq(credentials_read(directory, "", &c, &err), HF_OK);
    ck_assert_uint_eq(c.len, 0);
}
END_TEST

static const mode_t bad_modes[] = {0640, 0604, 0620, 0644, 0700, 04600};

START_TEST(a_file_others_can_touch_is_refused)
{
    struct credentials c;
    struct hf_err err;

    put("n1", "password=hunter2\n", bad_modes[_i]);
    ck_assert_int_eq(read_back("n1", &c, &err), HF_EACCESS);
}
END_TEST

START_TEST(a_file_of_somebody_else_is_refused)
{
    struct credentials c;
    struct hf_err err;

    if (geteuid() != 0)
        return; /* only root can give a file away */
    put("n1", "password=hunter2\n", 0600);
    ck_assert_int_eq(chown(path_of("n1"), 12345, 12345), 0);
    ck_assert_int_eq(read_back("n1", &c, &err), HF_EACCESS);
}
END_TEST

START_TEST(links_fifos_and_paths_are_refused)
{
    struct credentials c;
    struct hf_err err;
    char other[256];

    put("n1", "password=hunter2\n", 0600);
    strcpy(other, path_of("n1"));
    ck_assert_int_eq(symlink(other, path_of("link")), 0);
    ck_assert_int_ne(read_back("link", &c, &err), HF_OK);
    ck_assert_int_eq(link(other, path_of("n2")), 0);
    ck_assert_int_eq(read_back("n1", &c, &err), HF_EACCESS);
    ck_assert_int_eq(mkfifo(path_of("fifo"), 0600), 0);
    ck_assert_int_eq(read_back("fifo", &c, &err), HF_EACCESS);
    ck_assert_int_eq(read_back("../n1", &c, &err), HF_EINVAL);
    ck_assert_int_eq(read_back("absent", &c, &err), HF_ENOENT);
}
END_TEST

static const char *const bad_texts[] = {
    "action=reboot\npassword=hunter2\n", "password hunter2\n",   "=hunter2\n",
    "password=hunter2\nip=10.0.0.1\n",   "password=hun\tter2\n", "pass=hunter2\n",
};

START_TEST(only_secrets_may_stand_in_it)
{
    struct credentials c;
    struct hf_err err;

    put("n1", bad_texts[_i], 0600);
    ck_assert_int_eq(read_back("n1", &c, &err), HF_EINVAL);
}
END_TEST

START_TEST(a_large_file_is_refused)
{
    static char text[CREDENTIALS_MAX + 2];
    struct credentials c;
    struct hf_err err;

    memset(text, '\n', sizeof text - 1);
    put("n1", text, 0600);
    ck_assert_int_eq(read_back("n1", &c, &err), HF_EINVAL);
    text[CREDENTIALS_MAX] = '\0';
    put("n1", text, 0600);
    ck_assert_int_eq(read_back("n1", &c, &err), HF_OK);
}
END_TEST

static struct credentials secrets_of(const char *text)
{
    struct credentials c = {.len = strlen(text)};
    struct hf_err err;

    memcpy(c.lines, text, c.len);
    ck_assert_int_eq(credentials_check(&c, &err), HF_OK);
    return c;
}

struct scrub {
    const char *said, *shown;
};

static const struct scrub scrubs[] = {
    {"denied for hunter2", "denied for ***"},
    {"hunter2", "***"},
    {"hunter2hunter2 hunter2", "****** ***"},
    {"hunter hunter", "hunter hunter"},
    {"user admin: pin x1 is wrong", "user admin: pin ** is wrong"},
    {"", ""},
};

START_TEST(words_of_an_agent_lose_the_secrets_and_keep_the_user)
{
    struct credentials c = secrets_of("username=admin\n# password=hunter\npassword=hunter2\n"
                                      "token=x1\npasswd=\n");
    char text[64];
    size_t len = strlen(scrubs[_i].said);

    memcpy(text, scrubs[_i].said, len);
    credentials_scrub(&c, text, &len);
    text[len] = '\0';
    ck_assert_str_eq(text, scrubs[_i].shown);
}
END_TEST

HF_TEST_MAIN_WITH(
    "fencing/credentials", setup, teardown, HF_CASE(a_good_file_becomes_lines_with_an_end),
    HF_CASE(no_name_is_no_credentials),
    HF_LOOP(a_file_others_can_touch_is_refused, 0, sizeof bad_modes / sizeof bad_modes[0]),
    HF_CASE(a_file_of_somebody_else_is_refused), HF_CASE(links_fifos_and_paths_are_refused),
    HF_LOOP(only_secrets_may_stand_in_it, 0, sizeof bad_texts / sizeof bad_texts[0]),
    HF_CASE(a_large_file_is_refused),
    HF_LOOP(words_of_an_agent_lose_the_secrets_and_keep_the_user, 0,
            sizeof scrubs / sizeof scrubs[0]))
