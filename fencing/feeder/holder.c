#include "fencing/feeder/holder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisord/base/str.h"

enum {
    ENTRIES_MAX = 1 << 16, /* of one folder of /proc */
    BATCH_BYTES = 8192,
};

/* The file, and its second name: /dev/watchdog and /dev/watchdog0 are the same hardware. */
struct wanted {
    struct stat file[2];
    unsigned count;
};

static bool is_same(const struct stat *a, const struct stat *b)
{
    if (S_ISCHR(a->st_mode) && S_ISCHR(b->st_mode))
        return a->st_rdev == b->st_rdev;
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static void want(struct wanted *wanted, const char *path)
{
    if (stat(path, &wanted->file[wanted->count]) == 0)
        wanted->count++;
}

/* Call each() with every numeric name in a folder until it says true. */
static bool each_number(int folder, bool (*each)(int folder, const char *name, void *user),
                        void *user)
{
    _Alignas(8) char batch[BATCH_BYTES];
    unsigned seen = 0;
    ssize_t len;

    while ((len = getdents64(folder, batch, sizeof batch)) > 0) {
        for (ssize_t at = 0; at < len;) {
            const struct dirent64 *entry = (const struct dirent64 *)(const void *)(batch + at);
            uint64_t number;

            if (seen++ == ENTRIES_MAX)
                return false;
            if (hf_str_to_u64(entry->d_name, INT32_MAX, &number) &&
                each(folder, entry->d_name, user))
                return true;
            at += entry->d_reclen;
        }
    }
    return false;
}

static bool descriptor_fits(int folder, const char *name, void *user)
{
    const struct wanted *wanted = user;
    struct stat st;

    if (fstatat(folder, name, &st, 0) != 0)
        return false;
    for (unsigned i = 0; i < wanted->count; i++)
        if (is_same(&wanted->file[i], &st))
            return true;
    return false;
}

struct search {
    struct wanted wanted;
    char *out;
    size_t cap;
};

static void tell(struct search *search, int proc, const char *pid)
{
    char path[32], name[32] = "?";
    ssize_t len = -1;
    int fd;

    (void)snprintf(path, sizeof path, "%.12s/comm", pid);
    fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        len = read(fd, name, sizeof name - 1);
        close(fd);
    }
    if (len > 0)
        name[name[len - 1] == '\n' ? len - 1 : len] = '\0';
    (void)snprintf(search->out, search->cap, "%s (pid %.12s)", name, pid);
}

static bool process_fits(int proc, const char *pid, void *user)
{
    struct search *search = user;
    char path[32];
    bool found;
    int fd;

    (void)snprintf(path, sizeof path, "%.12s/fd", pid);
    fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    found = each_number(fd, descriptor_fits, &search->wanted);
    close(fd);
    if (found)
        tell(search, proc, pid);
    return found;
}

void holder_name(const char *path, char *out, size_t cap)
{
    struct search search = {.out = out, .cap = cap};
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)hf_str_copy(out, cap, "somebody unknown");
    if (proc < 0)
        return;
    want(&search.wanted, path);
    if (strcmp(path, "/dev/watchdog") == 0)
        want(&search.wanted, "/dev/watchdog0");
    else if (strcmp(path, "/dev/watchdog0") == 0)
        want(&search.wanted, "/dev/watchdog");
    (void)each_number(proc, process_fits, &search);
    close(proc);
}
