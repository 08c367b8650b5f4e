/* judge.h - is this sample of the host worth a report, and is a file system nearly full? Pure:
 * samples and time in, an answer out. */
#ifndef AGENTS_HOST_JUDGE_H
#define AGENTS_HOST_JUDGE_H

#include <stdbool.h>

#include "supervisord/base/clock.h"
#include "supervisord/wire/report.h"

enum {
    JUDGE_HOST_PERIOD_MS = 5000,    /* stale after three of them */
    JUDGE_HOST_PSI_CENTI = 1000,    /* 10 % of ten seconds stalled: the host is in trouble */
    JUDGE_HOST_MEMORY_FRACTION = 8, /* available memory moved by an eighth of the total */
    JUDGE_ROOM_FRACTION = 20,       /* a twentieth is left: what is usual for a full disk */
    /* holdfast-link has four connections to corosync at once, each with three rings of 1 MiB in
     * /dev/shm: 4 x 3.04 MiB by the files of corosync 3.1.7. A daemon that starts needs them. */
    JUDGE_ROOM_KIB = 16384,
    JUDGE_ROOM_SMALL = 4,   /* a small file system is low at a quarter, whatever the above says */
    JUDGE_ROOM_RETURNS = 2, /* low until twice as much is free: one word per incident */
};

struct judge_host {
    bool has_told;
    hf_time told_at;
    struct hf_report_host told; /* what the daemon was last told */
};

enum judge_host_word {
    JUDGE_HOST_QUIET = 0,
    JUDGE_HOST_FIRST,
    JUDGE_HOST_PERIOD,
    JUDGE_HOST_SIZE,     /* memory, cores, boot id or system UUID: which host this is */
    JUDGE_HOST_MEMORY,   /* available memory moved a lot */
    JUDGE_HOST_PRESSURE, /* a pressure crossed its mark, either way */
    JUDGE_HOST_CLOCK,    /* synchronised, or no longer */
    JUDGE_HOST_ROOM,     /* a file system is nearly full, or no longer */
    JUDGE_HOST_WORDS
};

enum judge_host_word judge_host(const struct judge_host *history,
                                const struct hf_report_host *sample, hf_time now);
/* Is there too little left? What is not known is not low. */
bool judge_room(const struct hf_room *room, bool was_low);

#endif
