#include "supervisord/base/path.h"

#include <limits.h>
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
