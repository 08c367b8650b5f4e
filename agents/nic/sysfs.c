#include "agents/nic/sysfs.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "supervisord/base/path.h"
#include "supervisord/base/str.h"

int sysfs_open(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool sysfs_bytes(const char *path, void *out, size_t cap, size_t *len)
{
    int fd = sysfs_open(path);
    ssize_t n;

    *len = 0;
    if (fd < 0)
        return false;
    while ((n = read(fd, (char *)out + *len, cap - *len)) > 0)
        *len += (size_t)n;
    close(fd);
    return n >= 0;
}

static bool cut_line(char *text, size_t len)
{
    text[len] = '\0';
    for (char *c = text; *c != '\0'; c++) {
        if (*c == '\n') {
            *c = '\0';
            return true;
        }
        if (*c < ' ' || *c > '~')
            return false;
    }
    return true;
}

bool sysfs_line(const char *path, char *out, size_t cap)
{
    size_t len;

    out[0] = '\0';
    return sysfs_bytes(path, out, cap - 1, &len) && len > 0 && cut_line(out, len);
}

bool sysfs_fd_line(int fd, char *out, size_t cap)
{
    ssize_t n = pread(fd, out, cap - 1, 0);

    if (n <= 0) {
        out[0] = '\0';
        return false;
    }
    return cut_line(out, (size_t)n);
}

static bool to_number(const char *text, int64_t *out)
{
    bool is_negative = text[0] == '-';
    uint64_t value;

    if (!hf_str_to_u64(text + is_negative, INT64_MAX, &value))
        return false;
    *out = is_negative ? -(int64_t)value : (int64_t)value;
    return true;
}

bool sysfs_number(const char *path, int64_t *out)
{
    char text[32];

    return sysfs_line(path, text, sizeof text) && to_number(text, out);
}

int64_t sysfs_fd_number(int fd)
{
    char text[32];
    int64_t value;

    if (!sysfs_fd_line(fd, text, sizeof text) || !to_number(text, &value) || value < 0)
        return -1;
    return value;
}

bool sysfs_link_name(const char *path, char *out, size_t cap)
{
    out[0] = '\0';
    return hf_path_link_name(path, out, cap);
}
