/* findings.h - what is wrong with a thing that was looked at, for a person to read: a list with
 * room for the worst case. PURE. It does not say what is wrong: the judges do (corosync_judge.c,
 * cards_judge.c). */
#ifndef SUPERVISORD_CONFIG_FINDINGS_H
#define SUPERVISORD_CONFIG_FINDINGS_H

#include <stdbool.h>

enum {
    FINDINGS_MAX = 48, /* nobody reads further */
    FINDING_KEY_MAX = 63,
    FINDING_TEXT_MAX =
        359, /* the longest sentence of cards_judge.c, with the longest names in it */
};

enum finding_severity {
    FINDING_ADVICE = 0, /* worse than it could be */
    FINDING_RISK,       /* traffic, a VM or a node may be lost for it */
    FINDING_UNFIT,      /* the daemon refuses to arm */
    FINDING_SEVERITIES
};

struct finding {
    enum finding_severity severity;
    char key[FINDING_KEY_MAX + 1];   /* "nic_a", "totem.token" */
    char text[FINDING_TEXT_MAX + 1]; /* what, why it matters, what to do; printable ASCII */
};

struct findings {
    unsigned count;
    struct finding finding[FINDINGS_MAX];
};

const char *finding_severity_name(enum finding_severity severity); /* "risk", "refused" */
/* One more, if there is room. Texts from a file, a driver or a guest may be in it: nothing of them
 * can steer a terminal. */
void findings_add(struct findings *list, enum finding_severity severity, const char *key,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Is one of them more than advice? */
bool findings_are_bad(const struct findings *list);

#endif
