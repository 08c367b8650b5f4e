/* pool.h - threads that may hang in libvirt so that the agent does not.
 * One queue of jobs in, one queue of notes (answers and libvirt's events) out, an eventfd that says
 * that a note waits. Each worker has a connection of its own. A job has no deadline here: whoever
 * waits for it gives up on it (pool_abandon), and the pool replaces the worker, up to
 * POOL_STUCK_MAX of them. A late answer still comes: what happened late must be known too. */
#ifndef AGENTS_VM_POOL_H
#define AGENTS_VM_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "agents/vm/libvirt.h"
#include "supervisord/model/ids.h"

enum {
    POOL_WORKERS = 4,       /* libvirtd serves 5 requests a connection; a start takes one CPU */
    POOL_STUCK_MAX = 8,     /* hung ones replaced; then libvirt counts as not answering */
    POOL_JOBS_MAX = 4 * HF_VMS_MAX, /* an order has at most two jobs waiting */
    POOL_NOTES_MAX = 1024,  /* events beyond it are dropped, counted, and made good by a look */
};

enum job_kind {
    JOB_ATTACH = 1,
    JOB_PING,
    JOB_CREATE,
    JOB_RESUME,
    JOB_SHUTDOWN,
    JOB_DESTROY_GRACEFUL,
    JOB_DESTROY,
    JOB_DESCRIBE,
    JOB_PROBE,
    JOB_KINDS
};

struct job {
    enum job_kind kind;
    hf_vm_uid uid;
    uint32_t start_no; /* CREATE */
    char name[HF_NAME_MAX + 1];
    char *xml; /* CREATE: malloc'ed, the pool frees it */
};

/* CALLED: a CREATE job's call to libvirt begins now. */
enum note_kind { NOTE_ANSWER = 1, NOTE_CALLED, NOTE_EVENT, NOTE_GONE };

struct note {
    enum note_kind kind;
    uint64_t id;           /* ANSWER, CALLED: of the job */
    enum job_kind job;     /* ANSWER, CALLED */
    hf_vm_uid uid;         /* ANSWER, CALLED */
    enum virt_code code;   /* ANSWER */
    char *xml;             /* ANSWER to DESCRIBE: malloc'ed, the receiver frees it */
    struct virt_event event;        /* EVENT */
    char why[HF_REASON_MAX + 1];    /* ANSWER that is not OK, GONE */
};

/* What must be written down around CREATE and RESUME calls. Called by workers; any may be NULL. */
struct pool_ledger {
    /* Before the call; not HF_OK: it is not made, the answer is VIRT_FAILED with this reason. */
    enum hf_code (*calling)(void *user, const struct job *job, struct hf_err *err);
    /* After the call, unless it is not known how it ended. is_made: there is a process, paused. */
    void (*called)(void *user, const struct job *job, bool is_made);
    /* Before a RESUME call; not HF_OK: as for calling. */
    enum hf_code (*resuming)(void *user, const struct job *job, struct hf_err *err);
    void *user;
};

struct pool;

enum hf_code pool_open(struct pool **pool, const struct virt *virt, struct hf_err *err);
/* Before the first CREATE job. */
void pool_set_ledger(struct pool *pool, const struct pool_ledger *ledger);
/* Ends idle workers and waits for them; a hung one keeps the pool's memory until it returns. */
void pool_close(struct pool *pool);
/* Readable while notes wait. */
int pool_fd(const struct pool *pool);

/* Queue a job; its id, or 0 when the queue is full (the job's xml is freed then). CREATE jobs wait
 * behind all others: ending a VM must not wait for eighty starts. */
uint64_t pool_submit(struct pool *pool, const struct job *job);
/* Take a job back before a worker has it. False: it is running or done. */
bool pool_withdraw(struct pool *pool, uint64_t id);
/* Nobody waits for this job any more. A worker still in it is hung and gets replaced. */
void pool_abandon(struct pool *pool, uint64_t id);
/* Next note; false when none. */
bool pool_take(struct pool *pool, struct note *note);
/* Workers hung in abandoned jobs; POOL_STUCK_MAX = no more are replaced. */
unsigned pool_stuck(struct pool *pool);
/* Events lost since the last call: look at everything. */
uint64_t pool_lost_events(struct pool *pool);
/* libvirt is back: workers renew their connections now, so that the next start need not. */
void pool_refresh(struct pool *pool);

#endif
