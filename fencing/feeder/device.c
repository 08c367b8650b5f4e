#include "fencing/feeder/device.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/watchdog.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fencing/feeder/holder.h"
#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"

/* What drivers/watchdog/softdog.c calls itself. It lives in the kernel that it should reset. */
#define SOFTDOG "Software Watchdog"

enum { TIMEOUT_S_MAX = 3600 }; /* i6300esb takes up to 2046 s; nobody waits an hour for a proof */

void device_init(struct device *device)
{
    *device = (struct device){.fd = -1};
}

static bool say(struct device *device, enum hf_watchdog state, const char *why)
{
    device->state = state;
    (void)hf_str_copy(device->why, sizeof device->why, why);
    return false;
}

/* ---- without opening ---- */

/* Identity and numbers come from a driver: one line of printable text. */
static void clean(char *text)
{
    for (; *text != '\0'; text++) {
        if (*text < ' ' || *text > '~')
            *text = *text == '\n' ? '\0' : '?';
        if (*text == '\0')
            return;
    }
}

/* The class folder of the device: by its number, so that a name of the owner's own works as well;
 * "/dev/watchdog" is the first one's second name. */
static void class_folder(const char *path, char *out, size_t cap)
{
    const char *name = strrchr(path, '/');
    char real[PATH_MAX];

    if (realpath(path, real) != NULL)
        name = strrchr(real, '/');
    name = name == NULL ? path : name + 1;
    (void)snprintf(out, cap, "/sys/class/watchdog/%.32s%s", name,
                   strcmp(name, "watchdog") == 0 ? "0" : "");
}

/* False: this kernel does not tell. */
static bool read_attribute(const char *path, const char *name, char *out, size_t cap)
{
    char folder[64], file[128];
    ssize_t len;
    int fd;

    class_folder(path, folder, sizeof folder);
    (void)snprintf(file, sizeof file, "%s/%s", folder, name);
    fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    len = read(fd, out, cap - 1);
    close(fd);
    if (len <= 0)
        return false;
    out[len] = '\0';
    clean(out);
    return true;
}

static bool reads(const char *path, const char *name, const char *wanted)
{
    char text[32];

    return read_attribute(path, name, text, sizeof text) && strcmp(text, wanted) == 0;
}

static bool is_soft(const struct device *device)
{
    return strcmp(device->identity, SOFTDOG) == 0;
}

static bool refuse_soft(struct device *device)
{
    return say(device, HF_WD_SOFT,
               "a software watchdog cannot reset a kernel that hangs; allow_softdog is not set");
}

void device_look(struct device *device, const char *path, bool allow_softdog)
{
    char text[32];
    struct stat st;

    HF_ASSERT(device->fd < 0);
    device->timeout_ms = 0;
    device->identity[0] = device->why[0] = '\0';
    device->was_reset = device->was_running = false;
    (void)hf_str_copy(device->path, sizeof device->path, path);
    if (stat(path, &st) != 0) {
        (void)snprintf(device->why, sizeof device->why, "%s: %s", path, strerror(errno));
        device->state = HF_WD_ABSENT;
        return;
    }
    device->state = HF_WD_DISARMED;
    (void)read_attribute(path, "identity", device->identity, sizeof device->identity);
    device->was_running = reads(path, "state", "active");
    if (read_attribute(path, "bootstatus", text, sizeof text))
        device->was_reset = (strtoul(text, NULL, 0) & WDIOF_CARDRESET) != 0;
    if (is_soft(device) && !allow_softdog)
        (void)refuse_soft(device);
}

/* ---- open ---- */

/* Not to be counted on. One that cannot be stopped stays open: it must be fed for ever. */
static bool stop_and_say(struct device *device, enum hf_watchdog state, const char *why)
{
    struct hf_err err;

    if (device->can_close)
        (void)device_close(device, &err); /* what is wrong with it is told already */
    return say(device, state, why);
}

static bool open_failed(struct device *device, const char *path, int error)
{
    char holder[80], why[HF_REASON_MAX + 1];

    if (error == EBUSY) {
        holder_name(path, holder, sizeof holder);
        (void)snprintf(why, sizeof why, "%s is held by %s", path, holder);
        return say(device, HF_WD_BUSY, why);
    }
    (void)snprintf(why, sizeof why, "open %s: %s", path, strerror(error));
    if (error == ENOENT || error == ENODEV || error == ENXIO)
        return say(device, HF_WD_ABSENT, why);
    return say(device, HF_WD_BROKEN, why);
}

/* Who is it, and will it do what a dead feeder must rely on? */
static bool is_fit(struct device *device, bool allow_softdog)
{
    struct watchdog_info info = {0};
    bool has_magic, is_nowayout;
    int status = 0;

    if (ioctl(device->fd, WDIOC_GETSUPPORT, &info) != 0) {
        close(device->fd); /* nothing is written to what is no watchdog */
        device->fd = -1;
        return say(device, HF_WD_BROKEN, "it is not a watchdog device");
    }
    memcpy(device->identity, info.identity, sizeof info.identity);
    device->identity[sizeof info.identity] = '\0';
    clean(device->identity);
    has_magic = (info.options & WDIOF_MAGICCLOSE) != 0;
    is_nowayout = reads(device->path, "nowayout", "1");
    device->can_close = !is_nowayout;
    if (is_soft(device) && !allow_softdog) {
        (void)stop_and_say(device, HF_WD_SOFT, "");
        return refuse_soft(device);
    }
    if (!has_magic && !is_nowayout)
        return stop_and_say(device, HF_WD_BROKEN,
                            "without MAGICCLOSE and nowayout it stops when its feeder dies");
    if (ioctl(device->fd, WDIOC_GETBOOTSTATUS, &status) == 0)
        device->was_reset = (status & WDIOF_CARDRESET) != 0;
    if (is_nowayout)
        (void)hf_str_copy(device->why, sizeof device->why,
                          "nowayout: once open it can only be fed, not stopped");
    return true;
}

/* One that a feeder before us left running goes on with no longer timeout than it had: the group
 * still counts with that. */
static int timeout_wanted(const struct device *device, uint32_t timeout_ms)
{
    int wanted = (int)((timeout_ms + 999) / 1000);
    int current = 0;

    if (device->was_running && ioctl(device->fd, WDIOC_GETTIMEOUT, &current) == 0 && current > 0 &&
        current < wanted)
        return current;
    return wanted;
}

/* What the driver made of the wish is what counts. */
static bool set_timeout(struct device *device, uint32_t timeout_ms)
{
    int wanted = timeout_wanted(device, timeout_ms);
    int given = wanted;
    bool is_set = ioctl(device->fd, WDIOC_SETTIMEOUT, &given) == 0;
    int left;

    given = 0;
    if (ioctl(device->fd, WDIOC_GETTIMEOUT, &given) != 0)
        return stop_and_say(device, HF_WD_BROKEN, "its timeout cannot be read back");
    if (!is_set && given != wanted)
        return stop_and_say(device, HF_WD_BROKEN, "its timeout cannot be set");
    if (given <= 0 || given > TIMEOUT_S_MAX)
        return stop_and_say(device, HF_WD_BROKEN, "the timeout it reads back makes no sense");
    device->timeout_ms = (uint32_t)given * 1000;
    device->can_read_left = ioctl(device->fd, WDIOC_GETTIMELEFT, &left) == 0;
    if (given != wanted && device->why[0] == '\0')
        (void)snprintf(device->why, sizeof device->why, "the driver made %d s of %d s", given,
                       wanted);
    return true;
}

bool device_open(struct device *device, const char *path, uint32_t timeout_ms, bool allow_softdog)
{
    HF_ASSERT(timeout_ms > 0);
    device_look(device, path, allow_softdog);
    if (device->state != HF_WD_DISARMED)
        return false;
    device->fd = open(path, O_WRONLY | O_CLOEXEC);
    if (device->fd < 0)
        return open_failed(device, path, errno);
    return is_fit(device, allow_softdog) && set_timeout(device, timeout_ms);
}

enum hf_code device_ping(struct device *device, struct hf_err *err)
{
    HF_ASSERT(device->fd >= 0);
    /* Any byte but the magic one. */
    if (write(device->fd, "", 1) == 1)
        return HF_OK;
    return hf_err_set(err, HF_EIO, "ping %s: %s", device->path, strerror(errno));
}

bool device_prove(struct device *device, struct hf_err *err)
{
    int before = 0, after = 0;

    HF_ASSERT(device->fd >= 0);
    if (ioctl(device->fd, WDIOC_GETTIMELEFT, &before) != 0)
        before = -1;
    if (device_ping(device, err) != HF_OK) {
        (void)say(device, HF_WD_BROKEN, "it takes no ping");
        return false;
    }
    if (before < 0 || ioctl(device->fd, WDIOC_GETTIMELEFT, &after) != 0 || after > before)
        return true;
    hf_err_set(err, HF_EIO, "%s: %d s left before a ping and %d s after it", device->path, before,
               after);
    (void)say(device, HF_WD_BROKEN, "a ping does not move it: it will never fire, or always");
    return false;
}

enum hf_code device_close(struct device *device, struct hf_err *err)
{
    bool is_told = device->fd >= 0 && write(device->fd, "V", 1) == 1;
    bool is_stopped = is_told && device->can_close;
    int error = errno;

    if (device->fd >= 0)
        close(device->fd);
    device->fd = -1;
    device->timeout_ms = 0;
    if (is_stopped)
        return HF_OK;
    return hf_err_set(err, HF_EIO, "%s is not stopped: %s", device->path,
                      is_told ? "nowayout" : strerror(error));
}
