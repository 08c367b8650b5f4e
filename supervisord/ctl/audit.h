/* audit.h - who asked for more than a look, and whether it was granted.
 * One line in the log and one record in the history for each, whether granted or refused. What a
 * stranger to the role may cause is rationed: refusals beyond the quota are counted, and the next
 * one that is told says how many there were. Granted orders are never left out: the server grants
 * no more than it may tell. */
#ifndef SUPERVISORD_CTL_AUDIT_H
#define SUPERVISORD_CTL_AUDIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisord/base/clock.h"
#include "supervisord/report/history.h"

/* At most `burst` at once, then one every interval_ms (the leaky bucket of ATM's GCRA). */
struct ctl_quota {
    uint32_t burst, interval_ms;
    hf_time due; /* when the bucket will be empty again */
};
bool quota_take(struct ctl_quota *quota, hf_time now);

enum {
    AUDIT_REFUSALS_BURST = 10, /* a person's mistakes */
    AUDIT_REFUSALS_MS = 1000,  /* then one a second: 4096 records last for more than an hour */
    AUDIT_EXE_MAX = 64,
};

struct ctl_audit {
    struct ctl_quota refusals;
    uint32_t untold;
};

void audit_init(struct ctl_audit *audit);
/* Log it, and fill in *out for the history; false: beyond the quota, counted only. out borrows from
 * `words`. */
struct audit_words {
    char exe[AUDIT_EXE_MAX];
    char why[HF_REASON_MAX + 1];
};
struct audit_case {
    uid_t uid;
    pid_t pid;
    const char *verb, *object, *why; /* object "-": the group */
    bool is_granted;
};
bool audit_tell(struct ctl_audit *audit, const struct audit_case *what, hf_time now,
                struct audit_words *words, struct history_audit *out);

/* The program behind a process id: its path, or in brackets its own name for itself where the
 * path may not be read. As it is now: a process may become another program. */
void audit_exe(pid_t pid, char *out, size_t cap);

#endif
