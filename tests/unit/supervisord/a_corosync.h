/* a_corosync.h - a real corosync of one host, in name spaces of its own: for tests that run as root
 * where corosync is installed. Everything it writes is in memory and gone with the test. */
#ifndef TESTS_UNIT_SUPERVISORD_A_COROSYNC_H
#define TESTS_UNIT_SUPERVISORD_A_COROSYNC_H

#include "tests/unit/check.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define A_COROSYNC_KEY "/run/corosync.key"

static inline void put_file(const char *path, const void *bytes, size_t len, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, len), (ssize_t)len);
    close(fd);
}

static inline bool own_name_spaces(void)
{
    struct ifreq lo = {.ifr_name = "lo"};
    bool is_up;
    int fd;

    if (unshare(CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/run", "tmpfs", 0, "size=64m") != 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=256m") != 0)
        return false;
    (void)mkdir("/var/lib/corosync", 0700);
    (void)mount("tmpfs", "/var/lib/corosync", "tmpfs", 0, "size=8m");
    (void)mkdir("/var/log/corosync", 0700);
    (void)mount("tmpfs", "/var/log/corosync", "tmpfs", 0, "size=8m");
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    is_up = ioctl(fd, SIOCGIFFLAGS, &lo) == 0;
    lo.ifr_flags |= IFF_UP;
    is_up = is_up && ioctl(fd, SIOCSIFFLAGS, &lo) == 0;
    close(fd);
    return is_up;
}

/* A program of the build, by its name; the tests are in build/unit. */
static inline bool built_program(const char *name, char path[512])
{
    ssize_t len = readlink("/proc/self/exe", path, 400);
    char *slash;

    if (len <= 0)
        return false;
    path[len] = '\0';
    slash = strstr(path, "/unit/");
    if (slash == NULL)
        return false;
    (void)snprintf(slash, 512 - (size_t)(slash - path), "/bin/%s", name);
    return access(path, X_OK) == 0;
}

/* True, and said so: the test cannot run here. */
static inline bool has_no_corosync(const char *what)
{
    if (geteuid() != 0 || access("/usr/sbin/corosync", X_OK) != 0) {
        fprintf(stderr, "SKIPPED, NOT TESTED: %s (needs root and corosync)\n", what);
        return true;
    }
    if (!own_name_spaces()) {
        fprintf(stderr, "SKIPPED, NOT TESTED: %s (no name spaces here)\n", what);
        return true;
    }
    return false;
}

static inline pid_t start_corosync_with(const char *file)
{
    uint8_t key[256];
    pid_t pid;

    memset(key, 0x5a, sizeof key);
    put_file(A_COROSYNC_KEY, key, sizeof key, 0400);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        execl("/usr/sbin/corosync", "corosync", "-f", "-c", file, (char *)NULL);
        _exit(127);
    }
    return pid;
}

static inline void kill_corosync(pid_t pid)
{
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

#endif
