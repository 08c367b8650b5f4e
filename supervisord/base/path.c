#include "supervisord/base/path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisord/base/str.h"

bool hf_path_link_name(const char *path, char *out, size_t cap)
{
    char target[PATH_MAX];
    ssize_t len = readlink(path, target, sizeof target - 1);
    const char *slash;

    if (len <= 0)
        return false;
    target[len] = '\0';
    slash = strrchr(target, '/');
    return hf_str_copy(out, cap, slash != NULL ? slash + 1 : target);
}

/* A replaced program's own path has " (deleted)" behind it, so only the folder is of use. */
bool hf_path_program(const char *name, char *out, size_t cap)
{
    static const char *const folders[] = {"", "/../libexec/holdfast"};
    char own[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", own, sizeof own - 1);
    char *slash;

    own[len > 0 ? len : 0] = '\0';
    slash = strrchr(own, '/');
    if (slash != NULL)
        *slash = '\0';
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        int wanted = snprintf(out, cap, "%s%s/%s", own, folders[i], name);

        if (wanted < 0 || (size_t)wanted >= cap)
            return false;
        if (access(out, X_OK) == 0)
            return true;
    }
    return false;
}
