/* fake_watchdog.c - LD_PRELOAD library: gives a process a watchdog that is not there.
 * open() of the device, ioctl(), write() and close() on it, and what sysfs says of it. Environment:
 *   FAKE_WATCHDOG           the record (record.h); without it nothing is faked
 *   FAKE_WATCHDOG_DEVICE    path of the device: /dev/watchdog0
 *   FAKE_WATCHDOG_IDENTITY  "Fake Hardware Watchdog"
 *   FAKE_WATCHDOG_ROUND     the driver makes this times the timeout: 1
 *   FAKE_WATCHDOG_MODE      words, separated by commas:
 *     busy         open: EBUSY        nostart   open: EIO         noset   SETTIMEOUT: EINVAL
 *     nomagic      no WDIOF_MAGICCLOSE, closing stops it          nowayout  nothing stops it
 *     noop         accepts everything and does nothing            noleft  no GETTIMELEFT
 *     nosysfs      this kernel tells nothing in /sys              wasreset  booted by it
 *     noping       write: EIO
 *   FAKE_WATCHDOG_STOP_FILE while this file is there, the next ping stops the process (SIGSTOP)
 *                           before it reaches the device; the file is removed by that
 * Like the kernel: only one may have it open, opening a running one does not ping it, and a process
 * that dies leaves it running. */
#include <dlfcn.h>
#include <linux/watchdog.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "tests/fakes/watchdog/record.h"

enum { NO_FD = -1 };

static struct {
    struct watchdog_record *record;
    const char *device, *mode, *stop_file;
    bool is_known;
    int fd;        /* of the device, opened */
    bool is_magic; /* the last write was the magic one */
} fake = {.fd = NO_FD};

static bool is_faked(void)
{
    const char *path = getenv("FAKE_WATCHDOG");

    if (fake.is_known)
        return fake.record != NULL;
    fake.is_known = true;
    if (path == NULL)
        return false;
    fake.device = getenv("FAKE_WATCHDOG_DEVICE");
    if (fake.device == NULL)
        fake.device = "/dev/watchdog0";
    fake.mode = getenv("FAKE_WATCHDOG_MODE");
    fake.stop_file = getenv("FAKE_WATCHDOG_STOP_FILE");
    fake.record = watchdog_record_map(path);
    return fake.record != NULL;
}

static bool mode(const char *word)
{
    size_t len = strlen(word);
    const char *at = fake.mode;

    while (at != NULL && *at != '\0') {
        if (strncmp(at, word, len) == 0 && (at[len] == ',' || at[len] == '\0'))
            return true;
        at = strchr(at, ',');
        at = at == NULL ? NULL : at + 1;
    }
    return false;
}

static const char *identity(void)
{
    const char *text = getenv("FAKE_WATCHDOG_IDENTITY");

    return text == NULL ? "Fake Hardware Watchdog" : text;
}

static uint32_t round_up(void)
{
    const char *text = getenv("FAKE_WATCHDOG_ROUND");

    return text == NULL ? 1 : (uint32_t)strtoul(text, NULL, 10);
}

/* The symbol behind ours; the system call itself is enough for what these do. */
static int plain_openat(int at, const char *path, int options, mode_t bits)
{
    return (int)syscall(SYS_openat, at, path, options, bits);
}

/* ---- the device ---- */

static bool has_owner(void)
{
    pid_t owner = (pid_t)fake.record->owner;

    return owner != 0 && owner != getpid() && (kill(owner, 0) == 0 || errno == EPERM);
}

static int fail(int error)
{
    errno = error;
    return -1;
}

static int device_open(void)
{
    struct watchdog_record *r = fake.record;

    if (mode("busy") || has_owner())
        return fail(EBUSY);
    if (mode("nostart"))
        return fail(EIO);
    fake.fd = plain_openat(AT_FDCWD, fake.device, O_RDWR | O_CLOEXEC, 0);
    if (fake.fd < 0)
        return -1;
    fake.is_magic = false;
    r->opens++;
    r->owner = (uint32_t)getpid();
    r->opened_ns = watchdog_now_ns();
    if (r->timeout_s == 0)
        r->timeout_s = 60;
    if (!mode("noop") && !r->is_armed) {
        r->last_ping_ns = watchdog_now_ns();
        r->is_armed = 1;
    }
    return fake.fd;
}

static void device_ping(void)
{
    fake.record->pings++;
    if (!mode("noop"))
        fake.record->last_ping_ns = watchdog_now_ns();
}

static ssize_t device_write(const void *bytes, size_t len)
{
    if (mode("noping"))
        return fail(EIO);
    fake.is_magic = len > 0 && memchr(bytes, 'V', len) != NULL;
    if (!fake.is_magic && fake.stop_file != NULL && unlink(fake.stop_file) == 0)
        (void)raise(SIGSTOP);
    device_ping();
    return (ssize_t)len;
}

static void device_close(void)
{
    struct watchdog_record *r = fake.record;
    bool does_stop = (fake.is_magic || mode("nomagic")) && !mode("nowayout");

    if (does_stop) {
        r->is_armed = 0;
        r->clean_closes++;
    }
    r->owner = 0;
    fake.fd = NO_FD;
}

/* A process that ends in order closes what it has open, without calling close(). */
static __attribute__((destructor)) void close_at_exit(void)
{
    if (fake.fd >= 0)
        device_close();
}

static int get_support(struct watchdog_info *info)
{
    *info = (struct watchdog_info){.options = WDIOF_SETTIMEOUT | WDIOF_KEEPALIVEPING |
                                              (mode("nomagic") ? 0u : (uint32_t)WDIOF_MAGICCLOSE)};
    /* As drivers do: 32 bytes, a NUL only if there is room. */
    memcpy(info->identity, identity(),
           strlen(identity()) < sizeof info->identity ? strlen(identity()) : sizeof info->identity);
    return 0;
}

static int set_timeout(int *seconds)
{
    if (mode("noset"))
        return fail(EINVAL);
    fake.record->settings++;
    fake.record->timeout_s = (uint32_t)*seconds * round_up();
    *seconds = (int)fake.record->timeout_s;
    if (!mode("noop"))
        fake.record->last_ping_ns = watchdog_now_ns();
    return 0;
}

static int get_left(int *seconds)
{
    int64_t gone_s = (watchdog_now_ns() - fake.record->last_ping_ns) / 1000000000;

    if (mode("noleft"))
        return fail(EOPNOTSUPP);
    *seconds = (int)fake.record->timeout_s - (mode("noop") ? 0 : (int)gone_s);
    return 0;
}

static int device_ioctl(unsigned long request, void *argument)
{
    switch (request) {
    case WDIOC_GETSUPPORT:
        return get_support(argument);
    case WDIOC_GETSTATUS:
    case WDIOC_GETBOOTSTATUS:
        *(int *)argument = mode("wasreset") ? WDIOF_CARDRESET : 0;
        return 0;
    case WDIOC_KEEPALIVE:
        device_ping();
        return 0;
    case WDIOC_SETTIMEOUT:
        return set_timeout(argument);
    case WDIOC_GETTIMEOUT:
        *(int *)argument = (int)fake.record->timeout_s;
        return 0;
    case WDIOC_GETTIMELEFT:
        return get_left(argument);
    default:
        return fail(ENOTTY);
    }
}

/* ---- sysfs ---- */

static int text_file(const char *text)
{
    int fd = (int)syscall(SYS_memfd_create, "fake", 0u);

    if (fd < 0)
        return -1;
    if (syscall(SYS_write, fd, text, strlen(text)) < 0 || lseek(fd, 0, SEEK_SET) != 0) {
        close(fd);
        return fail(EIO);
    }
    return fd;
}

/* False: not ours. */
static bool sysfs_open(const char *path, int *fd)
{
    const char *name = strrchr(fake.device, '/');
    char folder[256], line[128];
    const char *attribute;

    name = name == NULL ? "?" : name + 1;
    snprintf(folder, sizeof folder, "/sys/class/watchdog/%s%s/", name,
             strcmp(name, "watchdog") == 0 ? "0" : "");
    if (strncmp(path, folder, strlen(folder)) != 0)
        return false;
    attribute = path + strlen(folder);
    if (mode("nosysfs")) {
        *fd = fail(ENOENT);
        return true;
    }
    if (strcmp(attribute, "identity") == 0)
        snprintf(line, sizeof line, "%s\n", identity());
    else if (strcmp(attribute, "nowayout") == 0)
        snprintf(line, sizeof line, "%d\n", mode("nowayout"));
    else if (strcmp(attribute, "state") == 0)
        snprintf(line, sizeof line, "%s\n", fake.record->is_armed ? "active" : "inactive");
    else if (strcmp(attribute, "bootstatus") == 0)
        snprintf(line, sizeof line, "%d\n", mode("wasreset") ? WDIOF_CARDRESET : 0);
    else
        line[0] = '\0';
    *fd = line[0] == '\0' ? fail(ENOENT) : text_file(line);
    return true;
}

/* ---- what the process calls ---- */

static int any_openat(int at, const char *path, int options, mode_t bits)
{
    int fd;

    if (is_faked() && strcmp(path, fake.device) == 0)
        return device_open();
    if (is_faked() && sysfs_open(path, &fd))
        return fd;
    return plain_openat(at, path, options, bits);
}

static mode_t bits_of(int options, va_list args)
{
    return (options & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
}

/* Names of our own, symbols of libc's: whatever its headers make of open() in this build. */
#define OPEN(name_, symbol_)                                                                       \
    int name_(const char *path, int options, ...) __asm__(symbol_);                                \
    int name_(const char *path, int options, ...)                                                  \
    {                                                                                              \
        va_list args;                                                                              \
        mode_t bits;                                                                               \
        va_start(args, options);                                                                   \
        bits = bits_of(options, args);                                                             \
        va_end(args);                                                                              \
        return any_openat(AT_FDCWD, path, options, bits);                                          \
    }
#define OPENAT(name_, symbol_)                                                                     \
    int name_(int at, const char *path, int options, ...) __asm__(symbol_);                        \
    int name_(int at, const char *path, int options, ...)                                          \
    {                                                                                              \
        va_list args;                                                                              \
        mode_t bits;                                                                               \
        va_start(args, options);                                                                   \
        bits = bits_of(options, args);                                                             \
        va_end(args);                                                                              \
        return any_openat(at, path, options, bits);                                                \
    }
OPEN(fake_open, "open")
OPEN(fake_open64, "open64")
OPENAT(fake_openat, "openat")
OPENAT(fake_openat64, "openat64")

/* What a fortified build calls instead. */
int fake_open_2(const char *path, int options) __asm__("__open_2");
int fake_open_2(const char *path, int options)
{
    return any_openat(AT_FDCWD, path, options, 0);
}

int fake_openat_2(int at, const char *path, int options) __asm__("__openat_2");
int fake_openat_2(int at, const char *path, int options)
{
    return any_openat(at, path, options, 0);
}

int fake_ioctl(int fd, unsigned long request, ...) __asm__("ioctl");
int fake_ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    void *argument;

    va_start(args, request);
    argument = va_arg(args, void *);
    va_end(args);
    if (fd >= 0 && fd == fake.fd)
        return device_ioctl(request, argument);
    return (int)syscall(SYS_ioctl, fd, request, argument);
}

ssize_t fake_write(int fd, const void *bytes, size_t len) __asm__("write");
ssize_t fake_write(int fd, const void *bytes, size_t len)
{
    if (fd >= 0 && fd == fake.fd)
        return device_write(bytes, len);
    return (ssize_t)syscall(SYS_write, fd, bytes, len);
}

int fake_close(int fd) __asm__("close");
int fake_close(int fd)
{
    if (fd >= 0 && fd == fake.fd)
        device_close();
    return (int)syscall(SYS_close, fd);
}
