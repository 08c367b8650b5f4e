/* helper.h - calls that may hang, made by processes that may hang with them.
 * A pool is a few worker processes, started before they are needed, each behind a SEQPACKET socket
 * with its own sockets into the kernel already open. The hot loop gives one an order with a number
 * and a deadline, and goes on. An answer that is not there by then is LATE, which is not a failure:
 * nothing is known. The worker counts as stalled until it answers after all; its late answer is
 * given to whoever owns the pool, marked late, so that what it did meanwhile is known.
 * The hot loop never forks: it says that the pool wants a worker, another thread starts one, and
 * never more than HELPER_STARTS_MAX in HELPER_STARTS_MS.
 * What a worker sends is input like any other: wrong length, unknown number, bad code end it. */
#ifndef NICBOND_HELPER_H
#define NICBOND_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/err.h"

enum {
    HELPER_WORKERS_MAX = 12,  /* of a pool: idle ones, and those that hang */
    HELPER_IDLE_WANTED = 4,   /* two PFs can be ordered and restored at once */
    HELPER_ORDER_MAX = 4096,  /* 256 VFs at 3 bytes, or names of a domain and a device */
    HELPER_ANSWER_MAX = 1024, /* 256 VFs, a byte each, and a reason */
    HELPER_STARTS_MAX = 16,   /* a worker program that dies at once must not cost a core */
    HELPER_STARTS_MS = 60000,
    HELPER_FD = 3, /* a worker's end of its socket */
};

enum helper_state {
    HELPER_NONE = 0, /* the slot is empty */
    HELPER_IDLE,
    HELPER_BUSY,
    HELPER_STALLED, /* it did not answer in time and still has not */
    HELPER_STATES
};

struct helper {
    enum helper_state state;
    int fd;
    pid_t pid;
    uint64_t number; /* BUSY, STALLED: of the order */
    hf_time sent_at, until;
};

struct helper_pool {
    const char *name; /* for logs */
    uint64_t answers, late, refused, lost;
    struct helper worker[HELPER_WORKERS_MAX];
};

struct helper_answer {
    uint64_t number;
    bool is_late; /* its deadline passed before: helper_expire() has named it */
    bool is_lost; /* the worker died over it: whether it was carried out is not known */
    enum hf_code code;
    uint32_t took_us; /* in the hot loop's eyes: order sent to answer read */
    size_t len;       /* of the method's own bytes */
    uint8_t bytes[HELPER_ANSWER_MAX];
};

/* ---- the hot loop's side ---- */

void helper_pool_init(struct helper_pool *pool, const char *name);
/* Closes all descriptors: workers end by themselves. */
void helper_pool_close(struct helper_pool *pool);
/* A started worker joins; the pool owns fd. HF_EFULL: there is no room, fd is closed. */
enum hf_code helper_join(struct helper_pool *pool, int fd, pid_t pid, struct hf_err *err);
/* How many more workers the pool wants now: those idle or busy are below the wanted number, and
 * there are empty slots. */
unsigned helper_wanted(const struct helper_pool *pool);
bool helper_has_idle(const struct helper_pool *pool);
/* Give an idle worker the order. HF_EAGAIN: none is idle. HF_ECLOSED: the one chosen is dead and
 * gone from the pool; try again. */
enum hf_code helper_put(struct helper_pool *pool, uint64_t number, const void *bytes, size_t len,
                        hf_time now, hf_time until, struct hf_err *err);
/* An answer, or the loss of a busy worker; false when there is none. Non-blocking. */
bool helper_take(struct helper_pool *pool, hf_time now, struct helper_answer *answer);
/* The number of an order whose deadline has passed, once for each; 0 when there is none. */
uint64_t helper_expire(struct helper_pool *pool, hf_time now);
/* Earliest deadline of a busy worker; INT64_MAX ns when there is none. */
hf_time helper_deadline(const struct helper_pool *pool);
unsigned helper_stalled(const struct helper_pool *pool);

/* ---- a worker's life ---- */

/* Carry out one order: a code and at most HELPER_ANSWER_MAX own bytes. May block. */
typedef enum hf_code (*helper_work)(void *user, const uint8_t *bytes, size_t len, uint8_t *answer,
                                    size_t *answer_len);
/* Serve orders until the other side closes. Returns HF_ECLOSED then, HF_EBAD or HF_EIO before. */
enum hf_code helper_serve(int fd, helper_work work, void *user, struct hf_err *err);

/* ---- starting one ---- */

/* Start `path` with `argv` (NULL-terminated, argv[0] included); its end of the socket is HELPER_FD,
 * every other descriptor is closed on exec. Not for the hot loop. The caller reaps pid. */
enum hf_code helper_start(const char *path, char *const argv[], int *fd, pid_t *pid,
                          struct hf_err *err);

/* Bounds how often workers are started. */
struct helper_starts {
    hf_time at[HELPER_STARTS_MAX]; /* ring of the newest */
    unsigned next;
};
bool helper_may_start(struct helper_starts *starts, hf_time now);

#endif
