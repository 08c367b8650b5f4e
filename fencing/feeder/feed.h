/* feed.h - to feed the watchdog or not. Pure.
 * A watchdog that is open resets the host unless it is pinged in time. It is pinged while the lease
 * holds: the group heard of this node less than a lease ago, so nobody has begun to count it dead.
 * The rules are one table (feed.c); what survivors conclude from them is fencing/README.md.
 * Refuses to stretch: a lease is counted from when its beat was SENT, with the length that was
 * attested when the device was opened; a hold ends after FEED_HOLD_MS_MAX, whoever asks for more.
 */
#ifndef FENCING_FEEDER_FEED_H
#define FENCING_FEEDER_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/base/clock.h"

enum {
    FEED_PARTS = 5,             /* a ping every fifth of the timeout: four may be late */
    FEED_HOLD_MS_MAX = 600000,  /* a package upgrade of the daemon with a slow disk, and room */
    FEED_LEASE_MS_MAX = 600000, /* far above any lease that makes sense */
    FEED_TIMEOUT_MS_MIN = 1000, /* drivers count in seconds */
    FEED_TIMEOUT_MS_MAX = 3600000,
};

#define FEED_NEVER ((hf_time){INT64_MAX})

/* What the daemon said, newest. */
struct feed_word {
    bool is_told;     /* it has spoken at all */
    bool wants_armed; /* false: close the device cleanly */
    uint32_t timeout_ms, lease_ms;
    hf_time sent;       /* of the newest beat that the group echoed; 0 = none */
    hf_time hold_until; /* fed without a lease until then; 0 = no hold */
    hf_time hold_since; /* when it was first asked for */
};

/* What the device is. */
struct feed_device {
    bool is_open;
    bool is_proved;      /* a ping was seen to move it, or that cannot be seen */
    bool can_close;      /* a clean close really stops it */
    bool is_unfit;       /* not to be counted on, and could not be closed again */
    uint32_t timeout_ms; /* as read back */
    uint32_t lease_ms;   /* taken when it was opened, kept until it is closed */
    hf_time fed;         /* last ping, or the opening */
    hf_time prove_at;    /* while not proved */
    hf_time retry_at;    /* closed: not opened before */
};

enum feed_stage { FEED_CLOSED, FEED_UNPROVED, FEED_ARMED, FEED_STAGES };
enum feed_want {
    FEED_UNTOLD,
    FEED_UNWANTED,
    FEED_UNSTOPPABLE, /* open, unwanted or unfit, and closing would not stop it */
    FEED_WANTED,
    FEED_WANTS
};
enum feed_cover { FEED_BARE, FEED_HOLD, FEED_LEASE, FEED_COVERS };

enum feed_act {
    FEED_UNDECIDED = 0, /* never the verdict */
    FEED_WAIT,
    FEED_OPEN,
    FEED_PROVE, /* read what is left, ping, read again */
    FEED_PING,
    FEED_STARVE, /* open, and no ping: the host resets unless a newer lease comes */
    FEED_CLOSE,
    FEED_ACTS
};

struct feed_verdict {
    enum feed_stage stage;
    enum feed_want want;
    enum feed_cover cover;
    enum feed_act rule; /* what the table says */
    enum feed_act act;  /* what is due now: the rule, or FEED_WAIT until `next` */
    hf_time next;       /* ask again then at the latest */
    const char *why;
};

/* Does what was said make sense? Otherwise it must not be taken. */
bool feed_fits(const struct feed_word *said);
/* The daemon has spoken: timeout, lease, wish and hold are the new ones; of beats the newest
 * counts, and one from the future does not. said->hold_since is not looked at. */
void feed_told(struct feed_word *word, const struct feed_word *said, hf_time now);
/* When the lease is over: never later than what was attested. 0: there was none. */
hf_time feed_expiry(const struct feed_word *word, const struct feed_device *device);
struct feed_verdict feed(const struct feed_word *word, const struct feed_device *device,
                         hf_time now);

#endif
