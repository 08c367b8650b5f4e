/* a_sysfs.h - a tree in /tmp that looks like sysfs, for the commands that read it. */
#ifndef TESTS_UNIT_SUPERVISORD_CTL_A_SYSFS_H
#define TESTS_UNIT_SUPERVISORD_CTL_A_SYSFS_H

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/check.h"

static char sys[64]; /* where it is; a case runs in a process of its own */

static inline const char *in_sys(const char *path)
{
    static char whole[PATH_MAX];

    ck_assert_int_lt(snprintf(whole, sizeof whole, "%s/%s", sys, path), (int)sizeof whole);
    return whole;
}

/* With every folder above it. */
static inline void folder(const char *path)
{
    char part[PATH_MAX];

    for (const char *slash = path; slash != NULL;) {
        slash = strchr(slash + 1, '/');
        snprintf(part, sizeof part, "%.*s", slash != NULL ? (int)(slash - path) : 1000, path);
        (void)mkdir(in_sys(part), 0755);
    }
}

static inline void link_to(const char *path, const char *target)
{
    (void)unlink(in_sys(path));
    ck_assert_int_eq(symlink(target, in_sys(path)), 0);
}

static inline void file_bytes(const char *path, const void *bytes, size_t len)
{
    FILE *file = fopen(in_sys(path), "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
    ck_assert_int_eq(fclose(file), 0);
}

static inline void file_text(const char *path, const char *text)
{
    file_bytes(path, text, strlen(text));
}

static inline void sysfs_open(void)
{
    strcpy(sys, "/tmp/holdfast-sys-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(sys));
}

static inline int sysfs_drop(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

static inline void sysfs_close(void)
{
    ck_assert_int_eq(nftw(sys, sysfs_drop, 8, FTW_DEPTH | FTW_PHYS), 0);
}

#endif
