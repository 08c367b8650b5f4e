/* vm.h - the VM agent: what runs here, by its process; starts and stops by order.
 * One thread (the frame's) owns everything here. It never calls libvirt: workers do (pool.h), and
 * whatever libvirt does or does not do, the truth about a VM is its process (qemu.h).
 * vm.c keeps the truth and speaks; start.c and stop.c carry out orders, unwanted.c ends what was
 * made for an order that nobody waits for any more. */
#ifndef AGENTS_VM_VM_H
#define AGENTS_VM_VM_H

#include "agents/agent.h"
#include "agents/vm/judge.h"
#include "agents/vm/pool.h"
#include "agents/vm/qemu.h"

enum {
    VM_LOOK_MS = 10000,       /* a start by hand without libvirt's event; a look costs a few ms */
    VM_PING_MS = 10000,
    VM_PING_DEADLINE_MS = 5000,
    VM_ATTACH_DEADLINE_MS = 10000,
    VM_BACKOFF_MS_MIN = 50,
    VM_BACKOFF_MS_MAX = 2000,
    VM_GONE_RETRY_MS = 20,    /* libvirt has not yet noticed an end: its event is quicker */
    VM_CORRECT_MS = 5000,     /* so long a late word of libvirt may correct a verdict */
    VM_NOTES_A_ROUND = 256,
    VM_ORDERS_MS = 1000,      /* the daemon sends its orders right behind its list */
};

enum vm_life {
    VM_OFF = 0, /* no process */
    VM_ON,      /* a process, held by pidfd */
    VM_ENDED,   /* its process ended, the verdict waits for libvirt's word */
};

enum start_step {
    START_NONE = 0,
    START_UNSETTLED,    /* an earlier create may still make a process, or an unwanted one ends */
    START_CREATING,     /* a worker has it, or it waits for one */
    START_WAITING_GONE, /* libvirt still keeps the instance that ended */
    START_RESUMING,
};

struct start_order {
    enum start_step step;
    struct hf_token token;
    uint32_t start_no;
    hf_time received, deadline, retry_at;
    uint64_t job;
    bool is_requested; /* told once, whatever is tried again */
    bool is_made;      /* its create made the process: nothing that ran before was adopted */
    bool is_dropped;   /* too late to forget it, but what it makes must not run */
    char *xml; /* checked and marked; malloc'ed */
};

enum stop_step {
    STOP_NONE = 0,
    STOP_WAITING_CREATE, /* a start may still make a process */
    STOP_GRACE,          /* the guest was asked */
    STOP_GRACEFUL,       /* libvirt ends it without SIGKILL */
    STOP_HARD,           /* libvirt ends it by all means */
    STOP_KILLED,         /* SIGKILL by us */
};

struct stop_order {
    enum stop_step step;
    bool is_own;         /* nobody's order: unwanted.c. No token, and one process is meant */
    struct qemu process; /* is_own: that one */
    struct hf_token token;
    uint32_t start_no, grace_ms;
    uint32_t force_ms; /* for everything after the grace */
    hf_time received, step_until, deadline;
    uint64_t job;
    pid_t killed_pid; /* told once */
};

/* A create nobody waits for any more and whose end is not known: orphan.c. */
struct orphan {
    bool is_open;
    uint32_t start_no;
    struct qemu driver;  /* the libvirt daemon that was called; pid 0 = not known */
    hf_time gone_since;  /* that daemon is gone; 0 or VM_NEVER: it is not, as far as is known */
    hf_time said_since;  /* libvirt said no; 0 = it did not */
    hf_time look_at, probe_at; /* probe_at: a probe's deadline while it is under way */
    uint64_t probe_job;
    bool is_probe_late;  /* its worker hangs; the answer still comes */
};

struct vm {
    bool is_used;
    bool is_listed; /* in the daemon's list; else it stays only for an order */
    hf_vm_uid uid;
    char name[HF_NAME_MAX + 1];
    enum vm_life life;
    struct qemu qemu;
    int pidfd;             /* while VM_ON */
    uint32_t start_no;     /* of the process; 0 = not ours */
    bool is_told_running;  /* the daemon was told of this process */
    bool is_never_run;     /* its guest, by all that is known; not told as running: unwanted.c */
    uint32_t unwanted_no;  /* the start that was ended as unwanted; 0 = none */
    unsigned creates;      /* create calls not answered, given up on or not */
    uint64_t describe_job;
    bool can_correct;      /* an end was told; libvirt's word may still change it */
    enum hf_seen told_end;
    struct judge_facts facts;
    struct orphan orphan;
    struct start_order start;
    struct stop_order stop;
};

struct vm_listed {
    hf_vm_uid uid;
    char name[HF_NAME_MAX + 1];
};

struct vm_agent {
    struct agent *agent; /* set by the owner after agent_open */
    struct pool *pool;
    struct qemu_where where;
    const char *ledger; /* folder of ledger.h, borrowed */
    struct vm vm[HF_VMS_MAX];

    bool is_list_known;       /* told whole on this connection */
    hf_time orders_at;        /* by then its live orders are here as well */
    uint16_t staged_count;
    struct vm_listed staged[HF_VMS_MAX];

    bool is_attached;
    uint64_t attach_job, ping_job;
    bool is_attach_late;      /* its worker was replaced; the answer still comes */
    hf_time attach_at, attach_deadline, ping_at, ping_deadline, look_at;
    uint32_t backoff_ms;
    bool is_look_certain;
    bool is_ledger_known;     /* what agents before us left open is in vm[].orphan */
    bool is_known, is_known_told; /* the watch, and as last told */
    bool is_watch_due;            /* a new connection was not told yet */
    bool wants_inventory;
    uint64_t as_of; /* the daemon's stamp, handed back with the inventory */
    char trouble[HF_REASON_MAX + 1]; /* why libvirt does not answer */
};

/* The pool, `where` and `ledger` must be set; the rest zero. */
enum hf_code vm_open(struct vm_agent *v, struct agent *agent, struct hf_err *err);
/* Forget everything; VMs are not touched. */
void vm_close(struct vm_agent *v);
extern const struct agent_calls vm_calls; /* user = struct vm_agent */

/* ---- between vm.c, start.c, stop.c, orphan.c and unwanted.c ---- */

struct vm *vm_find(struct vm_agent *v, hf_vm_uid uid);
/* Find, or take a slot; NULL when the table is full. */
struct vm *vm_take(struct vm_agent *v, hf_vm_uid uid, const char *name);
/* Look at every process for this VM and hold what is found. HF_OK: vm->life is the truth now. */
enum hf_code vm_look_one(struct vm_agent *v, struct vm *vm, hf_time now, struct hf_err *err);
/* The same by libvirt's pid file only: enough right after a create. */
void vm_look_file(struct vm_agent *v, struct vm *vm, hf_time now);
void vm_tell(struct vm_agent *v, struct vm *vm, enum hf_seen seen);
void vm_done(struct vm_agent *v, struct hf_token token, enum hf_outcome outcome, hf_time received,
             hf_time now, const char *format, ...) __attribute__((format(printf, 6, 7)));
void vm_progress(struct vm_agent *v, struct hf_token token, enum hf_progress phase, pid_t pid);
uint64_t vm_submit(struct vm_agent *v, struct vm *vm, enum job_kind kind, char *xml);

void start_begin(struct vm_agent *v, const struct hf_report *report, int ride, hf_time now);
void start_answer(struct vm_agent *v, struct vm *vm, const struct note *note, hf_time now);
/* The process ended while the order was under way. */
void start_ended(struct vm_agent *v, struct vm *vm, hf_time now);
/* libvirt let go of the earlier instance. */
void start_retry(struct vm_agent *v, struct vm *vm, hf_time now);
/* No earlier create can make a process any more, or an unwanted process has ended. */
void start_settled(struct vm_agent *v, struct vm *vm, hf_time now);
/* Its call to libvirt begins. */
void start_called(struct vm_agent *v, struct vm *vm, const struct note *note);
/* Nobody wants it any more. Forgotten if it has not begun; else its process is ended as soon as it
 * is there, unless the same start is ordered again before. */
void start_drop(struct vm_agent *v, struct vm *vm, hf_time now);
/* A stop takes over. */
void start_yield(struct vm_agent *v, struct vm *vm, hf_time now);
hf_time start_tick(struct vm_agent *v, struct vm *vm, hf_time now);

void stop_begin(struct vm_agent *v, const struct hf_report *report, hf_time now);
void stop_answer(struct vm_agent *v, struct vm *vm, const struct note *note, hf_time now);
/* End the held process, which is ours and nobody's order: its end is told as a crash. */
void stop_unwanted(struct vm_agent *v, struct vm *vm, hf_time now);
void stop_ended(struct vm_agent *v, struct vm *vm, hf_time now);
void stop_created(struct vm_agent *v, struct vm *vm, hf_time now);
hf_time stop_tick(struct vm_agent *v, struct vm *vm, hf_time now);

/* A process was just held: was its guest never let run? */
void unwanted_look(struct vm_agent *v, struct vm *vm);
/* End the held process, made by a start of ours that nobody waits for; never let run. */
void unwanted_end(struct vm_agent *v, struct vm *vm, const char *why, hf_time now);
/* A create that was given up on has made a process after all. */
void unwanted_made(struct vm_agent *v, struct vm *vm, hf_time now);
/* Is it still to be decided, or being ended? Then no inventory. */
bool unwanted_is_open(const struct vm *vm);
hf_time unwanted_tick(struct vm_agent *v, struct vm *vm, hf_time now);

/* Let workers write the ledger, and load. Before the first job. */
void orphan_open(struct vm_agent *v, hf_time now);
/* Read what agents before us left open; again until it is known. */
void orphan_load(struct vm_agent *v, hf_time now);
/* Our own call broke off. */
void orphan_begin(struct vm_agent *v, struct vm *vm, hf_time now);
void orphan_answer(struct vm_agent *v, struct vm *vm, const struct note *note, hf_time now);
hf_time orphan_tick(struct vm_agent *v, struct vm *vm, hf_time now);

/* May a create that began before now still make a process of it? Then nothing is proved. */
static inline bool vm_may_appear(const struct vm *vm)
{
    return vm->creates > 0 || vm->orphan.is_open;
}

static inline hf_time vm_earlier(hf_time a, hf_time b)
{
    return a.ns < b.ns ? a : b;
}
#define VM_NEVER ((hf_time){INT64_MAX})

#endif
