/* judge.h - is this sample of the host worth a report? Pure: samples and time in, an answer out. */
#ifndef AGENTS_HOST_JUDGE_H
#define AGENTS_HOST_JUDGE_H

#include <stdbool.h>

#include "supervisord/base/clock.h"
#include "supervisord/wire/report.h"

enum {
    JUDGE_HOST_PERIOD_MS = 5000,    /* stale after three of them */
    JUDGE_HOST_PSI_CENTI = 1000,    /* 10 % of ten seconds stalled: the host is in trouble */
    JUDGE_HOST_MEMORY_FRACTION = 8, /* available memory moved by an eighth of the total */
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
    JUDGE_HOST_WORDS
};

enum judge_host_word judge_host(const struct judge_host *history,
                                const struct hf_report_host *sample, hf_time now);

#endif
