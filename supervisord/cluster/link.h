/* link.h - the daemon's side of holdfast-link, the child that alone talks to corosync.
 * Synchronous corosync calls have no timeout (libcpg passes -1), so they happen in a
 * process that may hang: it is given a bounded number of messages and is killed and started again
 * when it is dead, mad, or when nothing of ours comes back. Never blocks. No event loop inside: the
 * owner polls link_fd() and calls link_tick() at link_deadline(). One owner, one thread. */
#ifndef SUPERVISORD_CLUSTER_LINK_H
#define SUPERVISORD_CLUSTER_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/err.h"
#include "supervisord/cluster/link_frame.h"

enum {
    LINK_QUEUE_MAX = 128, /* twice what a replica may have in flight, probes included */
    LINK_BACKOFF_FIRST_MS = 100,
    LINK_BACKOFF_MAX_MS = 5000, /* corosync takes some to come back */
    LINK_JOIN_WAIT_MS = 20000,  /* a link that has not joined by then hangs in a call */
    LINK_STALL_MS = 20000,      /* nothing of ours came back for so long */
    LINK_DYING_MAX = 8,         /* killed but not yet gone (a call in the kernel) */
};

struct link_ports {
    void *user;
    void (*members)(void *user, const struct link_frame *f);
    void (*deliver)(void *user, uint32_t nodeid, uint32_t pid, const uint8_t *bytes, size_t len);
    void (*facts)(void *user, const struct link_facts *facts);
    /* No connection (any more). `why` is worth one log line. */
    void (*apart)(void *user, const char *why);
};

struct link {
    char path[256], group[160];
    struct link_ports ports;
    int fd; /* -1: no child */
    pid_t pid;
    pid_t dying[LINK_DYING_MAX];
    bool has_joined; /* this child has told a membership */
    bool is_ended;   /* set while a frame is being read: stop reading this child */
    uint32_t nodeid; /* own, as this child said; 0 = not known */
    hf_time started, retry_at;
    uint32_t backoff_ms;
    unsigned outstanding;           /* multicasts given and not delivered back */
    uint32_t given[LINK_QUEUE_MAX]; /* their CRCs: one that comes back settles all before it */
    uint64_t given_count;
    hf_time waiting_since; /* nothing of ours has come back since */
    hf_time reap_at;       /* look after the dying */
    unsigned spawned, killed;
    unsigned queue_first, queue_count;
    uint64_t dropped; /* multicasts that found no child or no room */
    size_t queue_len[LINK_QUEUE_MAX];
    struct link_frame frame; /* the one being read */
    uint8_t record[LINK_FRAME_MAX];
    uint8_t queue[LINK_QUEUE_MAX][LINK_FRAME_MAX];
};

/* path: of holdfast-link; cluster: its name, the group is "holdfast/<name>". Starts nothing yet:
 * link_deadline() is due at once. HF_EINVAL: a text too long. */
enum hf_code link_init(struct link *l, const char *path, const char *cluster,
                       const struct link_ports *ports, hf_time now, struct hf_err *err);
/* Kill the child and forget it. */
void link_close(struct link *l);

int link_fd(const struct link *l); /* -1: nothing to poll */
/* A frame waits to be read. */
bool link_has_more(const struct link *l);
bool link_wants_write(const struct link *l); /* poll for writing, too */
hf_time link_deadline(const struct link *l);
/* The fd is readable or writable, or the deadline is reached. Calls the ports. */
void link_run(struct link *l, hf_time now);
/* Leave the group and join it again: a new membership, in which everybody greets. Tells apart(). */
void link_rejoin(struct link *l, const char *why, hf_time now);
/* Give a multicast to the child; without one, or with a full queue, it is dropped and counted: the
 * replica sends again what does not come back. */
void link_mcast(struct link *l, const void *bytes, size_t len, hf_time now);

#endif
