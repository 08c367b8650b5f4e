/* device.h - one watchdog device: what it is, opened, set, pinged, closed.
 * Opening a watchdog starts it, so everything that can be known before is asked of sysfs first.
 * A program that dies with the device open leaves it running: that is what it is for, and a device
 * which would stop then is refused. Blocks as long as the driver does: nothing of it but the ping
 * lies on the way from a check to its ping. Allocates nothing. */
#ifndef FENCING_FEEDER_DEVICE_H
#define FENCING_FEEDER_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/base/err.h"
#include "supervisord/model/limits.h"
#include "supervisord/model/states.h"

struct device {
    int fd;                 /* -1: closed */
    enum hf_watchdog state; /* closed: DISARMED means that it is there. Open: DISARMED too */
    bool can_close;         /* the magic close stops it */
    bool can_read_left;     /* WDIOC_GETTIMELEFT is supported */
    bool was_reset;         /* this boot followed a reset by it */
    bool was_running;       /* running when it was looked at, though we had not opened it */
    uint32_t timeout_ms;    /* as read back; 0 while closed */
    char path[HF_DEVICE_PATH_MAX + 1];
    char identity[HF_WATCHDOG_NAME_MAX + 1]; /* "" = not known */
    char why[HF_REASON_MAX + 1]; /* why the state is what it is, or what is special about it */
};

void device_init(struct device *device);
/* Look without opening: is it there, what is it? Sets state DISARMED, ABSENT or SOFT. */
void device_look(struct device *device, const char *path, bool allow_softdog);
/* Look, open, set. True: fd is open and the clock runs with timeout_ms. False: state is ABSENT,
 * BUSY, SOFT or BROKEN, `why` says more, and nothing runs that did not run before; but if it cannot
 * be stopped, fd is still open, and whoever owns it has to ping it for ever. */
bool device_open(struct device *device, const char *path, uint32_t timeout_ms, bool allow_softdog);
enum hf_code device_ping(struct device *device, struct hf_err *err);
/* A ping must move what is left. True if so, or if it cannot be read; false: state is BROKEN, the
 * device still open. Only sensible a second after the last ping. */
bool device_prove(struct device *device, struct hf_err *err);
/* Stop it and close it. HF_EIO: it would not be stopped and may reset the host. */
enum hf_code device_close(struct device *device, struct hf_err *err);

#endif
