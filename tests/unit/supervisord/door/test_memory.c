#include "supervisord/door/door.h"

#include "tests/unit/check.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

START_TEST(what_was_put_in_comes_out)
{
    static char put[100000];
    struct hf_err err;
    void *got;
    size_t len;
    int fd;

    for (size_t i = 0; i < sizeof put; i++)
        put[i] = (char)(i * 7);
    ck_assert_int_eq(door_memory("xml", put, sizeof put, &fd, &err), HF_OK);
    ck_assert_int_eq(door_memory_read(fd, sizeof put, &got, &len, &err), HF_OK);
    ck_assert_uint_eq(len, sizeof put);
    ck_assert(memcmp(put, got, len) == 0);
    free(got);
    ck_assert_int_eq(door_memory_read(fd, sizeof put - 1, &got, &len, &err), HF_EBAD);
    ck_assert_int_lt((int)pwrite(fd, "x", 1, 0), 0);
    ck_assert_int_ne(ftruncate(fd, 1), 0);
    ck_assert_int_ne(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
    close(fd);
}
END_TEST

START_TEST(nothing_is_not_put_in)
{
    struct hf_err err;
    int fd;

    ck_assert_int_eq(door_memory("xml", "", 0, &fd, &err), HF_EINVAL);
}
END_TEST

/* Each seal that is missing is a way to change or cut the bytes after the check. */
START_TEST(memory_without_one_of_the_seals_is_refused)
{
    static const int seals[] = {F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE};
    int all = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct hf_err err;
    void *got;
    size_t len;

    ck_assert_int_eq(write(fd, "text", 4), 4);
    ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, all & ~seals[_i]), 0);
    ck_assert_int_eq(door_memory_read(fd, 100, &got, &len, &err), HF_EBAD);
    ck_assert_ptr_nonnull(strstr(err.text, "not sealed"));
    close(fd);
}
END_TEST

START_TEST(what_is_not_memory_is_refused_without_reading_it)
{
    struct hf_err err;
    void *got;
    size_t len;
    int pipes[2], fd;

    ck_assert_int_eq(pipe(pipes), 0);
    ck_assert_int_eq(door_memory_read(pipes[0], 100, &got, &len, &err), HF_EBAD);
    close(pipes[0]);
    close(pipes[1]);
    fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(door_memory_read(fd, 1 << 30, &got, &len, &err), HF_EBAD);
    close(fd);
    ck_assert_int_eq(door_memory_read(-1, 100, &got, &len, &err), HF_EBAD);
}
END_TEST

START_TEST(empty_memory_is_refused)
{
    struct hf_err err;
    void *got;
    size_t len;
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    ck_assert_int_eq(
        fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
    ck_assert_int_eq(door_memory_read(fd, 100, &got, &len, &err), HF_EBAD);
    close(fd);
}
END_TEST

HF_TEST_MAIN("door/memory", HF_CASE(what_was_put_in_comes_out), HF_CASE(nothing_is_not_put_in),
             HF_LOOP(memory_without_one_of_the_seals_is_refused, 0, 4),
             HF_CASE(what_is_not_memory_is_refused_without_reading_it),
             HF_CASE(empty_memory_is_refused))
