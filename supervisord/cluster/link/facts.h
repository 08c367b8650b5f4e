/* facts.h - what can be known of this node's corosync, read beside the loop.
 * Every call here may hang for as long as corosync does, so they happen in a thread of their own
 * that nobody waits for: whoever does not hear from it knows nothing, and says so. */
#ifndef SUPERVISORD_CLUSTER_LINK_FACTS_H
#define SUPERVISORD_CLUSTER_LINK_FACTS_H

#include <stddef.h>

#include "supervisord/base/err.h"
#include "supervisord/cluster/link_frame.h"

enum {
    FACTS_EVERY_MS = 5000,
    FACTS_SOON_MS = 500,    /* while not quorate: somebody waits for that to change */
    FACTS_STALE_MS = 15000, /* three periods */
};

/* Read them now; the version apart, which does not change. Hangs for as long as corosync does. */
void facts_read(struct link_facts *facts);
/* `corosync -v`; "" when it cannot be told. */
void facts_version(char out[LINK_TEXT_MAX + 1]);
/* Print what matters of corosync's map on stdout, "key=value" a line, for `holdfast config check`.
 * The exit code: 0, or 1 when there is no corosync. Hangs likewise; its caller kills it. */
int facts_print(void);
/* Start the thread. *fd: non-blocking; each read gives one whole struct link_facts. The
 * thread lives until the process exits. */
enum hf_code facts_start(int *fd, struct hf_err *err);

#endif
