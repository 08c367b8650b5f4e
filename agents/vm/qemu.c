#include "agents/vm/qemu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/vm/render.h"
#include "supervisord/base/str.h"

enum {
    CMDLINE_MAX = 128 << 10, /* libvirt's longest seen is 12 KiB; -name is its first option */
    STAT_MAX = 1024,
};

/* linux/pidfd.h since 6.15; older headers lack it. */
struct pidfd_info_v1 {
    uint64_t mask, cgroup_id;
    uint32_t pid, tgid, ppid, ids[8];
    int32_t exit_code;
};
#define PIDFD_INFO_EXIT_BIT (1ULL << 3)
#define PIDFD_INFO_REQUEST _IOWR(0xff, 11, struct pidfd_info_v1)

/* ---- files ---- */

/* At most cap - 1 bytes and a NUL. -1: cannot be read. */
static ssize_t read_file(const char *path, char *out, size_t cap)
{
    size_t len = 0;
    ssize_t n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return -1;
    while (len < cap - 1 && (n = read(fd, out + len, cap - 1 - len)) > 0)
        len += (size_t)n;
    close(fd);
    out[len] = '\0';
    return n < 0 ? -1 : (ssize_t)len;
}

/* ---- /proc/PID/stat ---- */

struct stat_fields {
    char state;
    unsigned long threads;
    uint64_t started;
    int exit_code; /* of a zombie; needs the right to trace it */
};

/* Fields are counted from the last ')': the name before it may hold anything. */
static bool read_stat(const struct qemu_where *where, pid_t pid, struct stat_fields *out)
{
    char path[PATH_MAX], text[STAT_MAX];
    const char *at;
    unsigned field = 3;

    (void)snprintf(path, sizeof path, "%s/%d/stat", where->proc, (int)pid);
    if (read_file(path, text, sizeof text) <= 0 || (at = strrchr(text, ')')) == NULL ||
        at[1] != ' ')
        return false;
    *out = (struct stat_fields){.state = at[2]};
    for (at += 2; at != NULL; at = strchr(at, ' '), field++) {
        at += at[0] == ' ';
        if (field == 20)
            out->threads = strtoul(at, NULL, 10);
        if (field == 22)
            out->started = strtoull(at, NULL, 10);
        if (field == 52)
            out->exit_code = (int)strtol(at, NULL, 10);
    }
    return out->started != 0;
}

/* A zombie with threads left is not dead: they may be stuck in the kernel, writing. */
static bool is_alive(const struct stat_fields *stat)
{
    return (stat->state != 'Z' && stat->state != 'X') || stat->threads > 1;
}

/* ---- which VM is it? ---- */

/* libvirt always passes "-name guest=NAME,...". Our names hold no comma, which would be doubled. */
static bool names_guest(const char *cmdline, size_t len, const char **name, size_t *name_len)
{
    const char *end = cmdline + len;

    for (const char *at = cmdline; at < end; at += strlen(at) + 1) {
        const char *value = at + sizeof "-name";

        if (strcmp(at, "-name") != 0 || value >= end || strncmp(value, "guest=", 6) != 0)
            continue;
        *name = value + 6;
        *name_len = strcspn(*name, ",");
        return true;
    }
    return false;
}

/* Somebody's `grep -name guest=x` is not a VM. A program we may not look at counts as one. */
static bool is_qemu_program(const struct qemu_where *where, pid_t pid)
{
    char path[PATH_MAX], target[PATH_MAX];
    const char *base;
    ssize_t len;

    (void)snprintf(path, sizeof path, "%s/%d/exe", where->proc, (int)pid);
    len = readlink(path, target, sizeof target - 1);
    if (len < 0)
        return true;
    target[len] = '\0';
    base = strrchr(target, '/');
    base = base != NULL ? base + 1 : target;
    return strstr(base, "qemu") != NULL || strncmp(base, "kvm", 3) == 0;
}

static bool is_guest(const struct qemu_where *where, pid_t pid, const char *name, char *cmdline)
{
    char path[PATH_MAX];
    const char *found;
    size_t found_len;
    ssize_t len;

    (void)snprintf(path, sizeof path, "%s/%d/cmdline", where->proc, (int)pid);
    len = read_file(path, cmdline, CMDLINE_MAX);
    return len > 0 && names_guest(cmdline, (size_t)len, &found, &found_len) &&
           found_len == strlen(name) && strncmp(found, name, found_len) == 0 &&
           is_qemu_program(where, pid);
}

struct qemu qemu_by_file(const struct qemu_where *where, const char *name)
{
    struct qemu none = {0}, found = {0};
    char path[PATH_MAX], text[32], *cmdline;
    struct stat_fields stat;
    uint64_t pid;
    bool ours;

    (void)snprintf(path, sizeof path, "%s/%s.pid", where->run, name);
    if (read_file(path, text, sizeof text) <= 0)
        return none;
    text[strcspn(text, "\n")] = '\0';
    if (!hf_str_to_u64(text, INT32_MAX, &pid) || pid == 0)
        return none;
    found.pid = (pid_t)pid;
    if (!read_stat(where, found.pid, &stat) || !is_alive(&stat))
        return none;
    found.started = stat.started;
    if (stat.state == 'Z') /* its command line is gone: libvirt's file is the only word there is */
        return found;
    cmdline = malloc(CMDLINE_MAX);
    ours = cmdline == NULL || is_guest(where, found.pid, name, cmdline);
    free(cmdline);
    return ours ? found : none;
}

/* ---- all of them ---- */

static void note_process(const struct qemu_where *where, pid_t pid, const char *const *names,
                         uint16_t count, struct qemu *found, char *cmdline)
{
    char path[PATH_MAX];
    struct stat_fields stat;
    const char *name;
    size_t name_len;
    ssize_t len;

    (void)snprintf(path, sizeof path, "%s/%d/cmdline", where->proc, (int)pid);
    len = read_file(path, cmdline, CMDLINE_MAX);
    if (len <= 0 || !names_guest(cmdline, (size_t)len, &name, &name_len))
        return;
    for (uint16_t i = 0; i < count; i++) {
        if (found[i].pid != 0 || strlen(names[i]) != name_len ||
            strncmp(names[i], name, name_len) != 0)
            continue;
        if (is_qemu_program(where, pid) && read_stat(where, pid, &stat) && is_alive(&stat))
            found[i] = (struct qemu){.pid = pid, .started = stat.started};
        return;
    }
}

enum hf_code qemu_look(const struct qemu_where *where, const char *const *names, uint16_t count,
                       struct qemu *found, struct hf_err *err)
{
    char *cmdline = malloc(CMDLINE_MAX);
    DIR *folder = opendir(where->proc);
    const struct dirent *entry;
    unsigned seen = 0;

    if (cmdline == NULL || folder == NULL) {
        (void)hf_err_set(err, HF_EIO, "look at %s: %s", where->proc, strerror(errno));
        free(cmdline);
        if (folder != NULL)
            closedir(folder);
        return err->code;
    }
    for (uint16_t i = 0; i < count; i++)
        found[i] = qemu_by_file(where, names[i]);
    while ((errno = 0, entry = readdir(folder)) != NULL && seen < QEMU_PROCESSES_MAX) {
        uint64_t pid;

        if (!hf_str_to_u64(entry->d_name, INT32_MAX, &pid) || pid == 0)
            continue;
        seen++;
        note_process(where, (pid_t)pid, names, count, found, cmdline);
    }
    if (errno != 0 || seen == 0 || seen == QEMU_PROCESSES_MAX)
        (void)hf_err_set(err, HF_EIO, "look at %s: %u processes: %s", where->proc, seen,
                         strerror(errno));
    else
        err->code = HF_OK;
    free(cmdline);
    closedir(folder);
    return err->code;
}

/* ---- one of them ---- */

enum hf_code qemu_hold(const struct qemu_where *where, const struct qemu *qemu, int *pidfd,
                       struct hf_err *err)
{
    struct stat_fields stat;
    int fd = (int)syscall(SYS_pidfd_open, qemu->pid, 0);

    if (fd < 0)
        return hf_err_set(err, errno == ESRCH ? HF_ENOENT : HF_EIO, "hold pid %d: %s",
                          (int)qemu->pid, strerror(errno));
    /* The pidfd may be of a later user of this number: the start time tells. */
    if (!read_stat(where, qemu->pid, &stat) || stat.started != qemu->started) {
        close(fd);
        return hf_err_set(err, HF_ENOENT, "pid %d is not the same process any more",
                          (int)qemu->pid);
    }
    *pidfd = fd;
    return HF_OK;
}

bool qemu_has_ended(int pidfd)
{
    struct pollfd one = {.fd = pidfd, .events = POLLIN};

    return poll(&one, 1, 0) == 1 && (one.revents & POLLIN) != 0;
}

bool qemu_kill(int pidfd)
{
    return syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0;
}

static enum judge_end judge_status(int status)
{
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? JUDGE_END_ORDERLY : JUDGE_END_FAILED;
}

enum judge_end qemu_end(const struct qemu_where *where, const struct qemu *qemu, int pidfd)
{
    struct pidfd_info_v1 info = {.mask = PIDFD_INFO_EXIT_BIT};
    struct stat_fields stat;

    if (read_stat(where, qemu->pid, &stat) && stat.started == qemu->started && stat.state == 'Z')
        return judge_status(stat.exit_code);
    if (ioctl(pidfd, PIDFD_INFO_REQUEST, &info) == 0 && (info.mask & PIDFD_INFO_EXIT_BIT) != 0)
        return judge_status(info.exit_code);
    return JUDGE_END_UNKNOWN;
}

/* ---- who makes them ---- */

struct qemu qemu_driver(const struct qemu_where *where)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    struct qemu none = {0};
    struct stat_fields stat;
    char path[PATH_MAX];
    int fd;

    (void)snprintf(path, sizeof path, "%s/driver.pid", where->run);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return none;
    if (fcntl(fd, F_GETLK, &lock) != 0)
        lock.l_type = F_UNLCK;
    close(fd);
    /* The kernel names the owner, so a file left behind is nobody's. */
    if (lock.l_type == F_UNLCK || lock.l_pid <= 0 || !read_stat(where, lock.l_pid, &stat))
        return none;
    return (struct qemu){.pid = lock.l_pid, .started = stat.started};
}

bool qemu_is_gone(const struct qemu_where *where, const struct qemu *process)
{
    struct stat_fields stat;
    char path[PATH_MAX];

    if (process->pid <= 0)
        return false;
    if (read_stat(where, process->pid, &stat))
        return stat.started != process->started || !is_alive(&stat);
    (void)snprintf(path, sizeof path, "%s/self", where->proc);
    if (access(path, F_OK) != 0)
        return false; /* no /proc: nothing can be known */
    (void)snprintf(path, sizeof path, "%s/%d", where->proc, (int)process->pid);
    return access(path, F_OK) != 0 && errno == ENOENT;
}

/* libvirt's status file, malloc'ed; NULL: it cannot be read. */
static char *read_status(const struct qemu_where *where, const char *name, size_t *len)
{
    char path[PATH_MAX];
    char *xml = malloc(HF_XML_MAX + 2);
    ssize_t got;

    if (xml == NULL)
        return NULL;
    (void)snprintf(path, sizeof path, "%s/%s.xml", where->run, name);
    got = read_file(path, xml, HF_XML_MAX + 2);
    *len = got > 0 ? (size_t)got : 0;
    if (got <= 0) {
        free(xml);
        return NULL;
    }
    return xml;
}

uint32_t qemu_start_no(const struct qemu_where *where, const char *name, hf_vm_uid uid,
                       bool *is_certain)
{
    size_t len = 0;
    char *xml = read_status(where, name, &len);
    hf_vm_uid marked = 0;
    uint32_t start_no = 0;
    enum hf_code code = HF_EIO;
    struct hf_err err;

    if (xml != NULL)
        code = render_read(xml, len, &marked, &start_no, &err);
    free(xml);
    *is_certain = code == HF_OK || code == HF_ENOENT;
    return code == HF_OK && marked == uid ? start_no : 0;
}

bool qemu_is_paused(const struct qemu_where *where, const char *name, const struct qemu *qemu)
{
    size_t len = 0;
    char *xml = read_status(where, name, &len);
    bool is_paused = xml != NULL && render_is_paused(xml, len, (uint32_t)qemu->pid);

    free(xml);
    return is_paused;
}
