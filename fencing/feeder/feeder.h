/* feeder.h - the feeder without its process: the daemon's word in, the device fed, its state out.
 * Never waits for the daemon: the door is non-blocking, read in small portions, and looked at only
 * after what the device needs. Allocates nothing. One owner, who polls `door` and calls when
 * something is readable or `next` is reached. */
#ifndef FENCING_FEEDER_FEEDER_H
#define FENCING_FEEDER_FEEDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fencing/feeder/device.h"
#include "fencing/feeder/feed.h"
#include "supervisord/wire/report.h"

enum {
    FEEDER_VERSION = 1, /* attested: how what is attested was kept */
    FEEDER_SAY_MS = 2000,
    FEEDER_LOOK_MS = 10000, /* a device that is closed: still there? */
    FEEDER_RETRY_MS_MIN =
        2000, /* a device that would not open; finding a holder reads all of /proc */
    FEEDER_RETRY_MS_MAX = 60000,
    FEEDER_CONNECT_MS = 100,   /* a restarted daemon must find its feeder before a lease is over */
    FEEDER_DISTRUST_MS = 2000, /* one that says what we do not understand will say it again */
    FEEDER_RECORDS = 16,       /* read in one turn: a flood does not delay a ping */
    FEEDER_PROVE_MS = 1200,    /* more than a second, or what is left may read the same */
    FEEDER_PROVE_TIMEOUT_MS = 2000, /* a shorter timeout leaves no room to wait for that */
};

struct feeder {
    const char *door_path; /* borrowed */
    int door;              /* -1: not connected */
    hf_time connect_at;
    bool is_heard;        /* it said something sensible on this connection */
    bool is_trouble_told; /* one line per loss of the daemon */

    struct feed_word word;
    struct feed_device fed;
    struct device device;
    struct feed_verdict verdict; /* the newest */
    bool allow_softdog;
    char path[HF_DEVICE_PATH_MAX + 1];
    bool is_look_due;
    hf_time look_at;
    uint32_t retry_ms;
    bool is_ping_refused; /* the driver refused the newest ping */

    hf_time turned_at; /* what is told is told as of then */
    hf_time say_at;
    size_t said_len; /* the newest report, as sent; 0 = none on this connection */
    uint8_t said[HF_REPORT_BYTES_MAX];
    enum hf_watchdog logged_state;
    char logged_why[HF_REASON_MAX + 1];
};

void feeder_init(struct feeder *f, const char *door_path);
/* What is due: the device first, then connecting and speaking. Returns when to call again. */
hf_time feeder_turn(struct feeder *f);
/* The door is readable. */
void feeder_listen(struct feeder *f);
/* What is told to the daemon, from its hello on. */
void feeder_report(const struct feeder *f, struct hf_report *report);

#endif
