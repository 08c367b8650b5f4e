#include "supervisord/ctl/audit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisord/base/log.h"
#include "supervisord/base/str.h"

bool quota_take(struct ctl_quota *quota, hf_time now)
{
    int64_t ahead_ms;

    if (quota->due.ns < now.ns)
        quota->due = now;
    ahead_ms = hf_time_since_ms(quota->due, now);
    if (ahead_ms > (int64_t)(quota->burst - 1) * quota->interval_ms)
        return false;
    quota->due = hf_time_add_ms(quota->due, quota->interval_ms);
    return true;
}

void audit_init(struct ctl_audit *audit)
{
    *audit = (struct ctl_audit){
        .refusals = {.burst = AUDIT_REFUSALS_BURST, .interval_ms = AUDIT_REFUSALS_MS}};
}

static bool read_comm(const char *path, char *out, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len;

    if (fd < 0)
        return false;
    len = read(fd, out, cap - 1);
    (void)close(fd);
    if (len <= 0)
        return false;
    out[len] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return true;
}

void audit_exe(pid_t pid, char *out, size_t cap)
{
    char path[64], comm[20]; /* a kernel's name for a process has at most 15 bytes */
    ssize_t len;

    (void)snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    len = readlink(path, out, cap - 1);
    if (len > 0) {
        out[len] = '\0';
    } else {
        (void)snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
        if (read_comm(path, comm, sizeof comm))
            (void)snprintf(out, cap, "[%s]", comm);
        else
            (void)hf_str_copy(out, cap, "?"); /* it has ended */
    }
    /* A path is its owner's choice: it must not write lines of its own into a table. */
    hf_str_make_printable(out);
}

bool audit_tell(struct ctl_audit *audit, const struct audit_case *what, hf_time now,
                struct audit_words *words, struct history_audit *out)
{
    char before[64] = "";

    if (!what->is_granted && !quota_take(&audit->refusals, now)) {
        audit->untold++;
        return false;
    }
    if (audit->untold > 0)
        (void)snprintf(before, sizeof before, " (and %u refusals before it)", audit->untold);
    audit->untold = 0;
    audit_exe(what->pid, words->exe, sizeof words->exe);
    (void)snprintf(words->why, sizeof words->why, "%s%s", what->why, before);
    hf_log(what->is_granted ? HF_LOG_INFO : HF_LOG_WARNING,
           "audit uid=%u pid=%d exe=%s verb=%s object=%s %s%s%s", (unsigned)what->uid,
           (int)what->pid, words->exe, what->verb, what->object,
           what->is_granted ? "granted" : "refused", words->why[0] != '\0' ? ": " : "", words->why);
    *out = (struct history_audit){.name = what->object,
                                  .uid = what->uid,
                                  .pid = what->pid,
                                  .exe = words->exe,
                                  .verb = what->verb,
                                  .is_granted = what->is_granted,
                                  .why = words->why};
    return true;
}
