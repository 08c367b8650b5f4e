#include "nicbond/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/buf.h"

enum {
    ORDER_HEAD = 8,  /* number */
    ANSWER_HEAD = 9, /* number, code */
};

/* ---- the pool ---- */

void helper_pool_init(struct helper_pool *pool, const char *name)
{
    *pool = (struct helper_pool){.name = name};
    for (unsigned i = 0; i < HELPER_WORKERS_MAX; i++)
        pool->worker[i].fd = -1;
}

static void leave(struct helper *worker)
{
    close(worker->fd);
    *worker = (struct helper){.fd = -1};
}

void helper_pool_close(struct helper_pool *pool)
{
    for (unsigned i = 0; i < HELPER_WORKERS_MAX; i++) {
        if (pool->worker[i].state != HELPER_NONE)
            leave(&pool->worker[i]);
    }
}

enum hf_code helper_join(struct helper_pool *pool, int fd, pid_t pid, struct hf_err *err)
{
    for (unsigned i = 0; i < HELPER_WORKERS_MAX; i++) {
        if (pool->worker[i].state != HELPER_NONE)
            continue;
        pool->worker[i] = (struct helper){.state = HELPER_IDLE, .fd = fd, .pid = pid};
        return HF_OK;
    }
    close(fd);
    return hf_err_set(err, HF_EFULL, "%s: %d workers already", pool->name, HELPER_WORKERS_MAX);
}

static unsigned count(const struct helper_pool *pool, enum helper_state state)
{
    unsigned found = 0;

    for (unsigned i = 0; i < HELPER_WORKERS_MAX; i++)
        found += pool->worker[i].state == state;
    return found;
}

unsigned helper_wanted(const struct helper_pool *pool)
{
    unsigned able = count(pool, HELPER_IDLE) + count(pool, HELPER_BUSY);
    unsigned empty = count(pool, HELPER_NONE);
    unsigned missing = able < HELPER_IDLE_WANTED ? HELPER_IDLE_WANTED - able : 0;

    return missing < empty ? missing : empty;
}

unsigned helper_stalled(const struct helper_pool *pool)
{
    return count(pool, HELPER_STALLED);
}

bool helper_has_idle(const struct helper_pool *pool)
{
    return count(pool, HELPER_IDLE) > 0;
}

hf_time helper_deadline(const struct helper_pool *pool)
{
    hf_time first = {INT64_MAX};

    for (unsigned i = 0; i < HELPER_WORKERS_MAX; i++) {
        const struct helper *worker = &pool->worker[i];

        if (worker->state == HELPER_BUSY && worker->until.ns < first.ns)
            first = worker->until;
    }
    return first;
}

enum hf_code helper_put(struct helper_pool *pool, uint64_t number, const void *bytes, size_t len,
                        hf_time now, hf_time until, struct hf_err *err)
{
    uint8_t frame[ORDER_HEAD + HELPER_ORDER_MAX];
    struct hf_writer w = hf_writer_on(frame, sizeof frame);
    struct helper *idle = NULL;

    HF_ASSERT(len <= HELPER_ORDER_MAX);
    HF_ASSERT(number != 0);
    for (unsigned i = 0; i < HELPER_WORKERS_MAX && idle == NULL; i++) {
        if (pool->worker[i].state == HELPER_IDLE)
            idle = &pool->worker[i];
    }
    if (idle == NULL)
        return hf_err_set(err, HF_EAGAIN, "%s: every worker is busy or hangs", pool->name);
    hf_put_u64(&w, number);
    hf_put_bytes(&w, bytes, len);
    if (send(idle->fd, frame, w.len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)w.len) {
        int sys_errno = errno;

        pool->lost++;
        leave(idle);
        return hf_err_set(err, HF_ECLOSED, "%s: send an order: %s", pool->name,
                          strerror(sys_errno));
    }
    idle->state = HELPER_BUSY;
    idle->number = number;
    idle->sent_at = now;
    idle->until = until;
    return HF_OK;
}

static bool decode(const struct helper *worker, const uint8_t *frame, size_t len,
                   struct helper_answer *answer)
{
    struct hf_reader r = hf_reader_on(frame, len);
    uint64_t number = hf_get_u64(&r);
    uint8_t code = hf_get_enum(&r, HF_CODES);

    if (r.bad || number != worker->number ||
        (worker->state != HELPER_BUSY && worker->state != HELPER_STALLED))
        return false;
    answer->number = number;
    answer->code = (enum hf_code)code;
    answer->len = len - r.pos;
    hf_get_bytes(&r, answer->bytes, answer->len);
    return !r.bad;
}

/* The worker is gone, or not one of ours any more by what it sent. */
static bool lose(struct helper_pool *pool, struct helper *worker, struct helper_answer *answer)
{
    bool owed = worker->state == HELPER_BUSY || worker->state == HELPER_STALLED;

    *answer = (struct helper_answer){.number = worker->number,
                                     .is_late = worker->state == HELPER_STALLED,
                                     .is_lost = true,
                                     .code = HF_ECLOSED};
    pool->lost++;
    leave(worker);
    return owed;
}

static bool take_one(struct helper_pool *pool, struct helper *worker, hf_time now,
                     struct helper_answer *answer)
{
    uint8_t frame[ANSWER_HEAD + HELPER_ANSWER_MAX];
    ssize_t len = recv(worker->fd, frame, sizeof frame, MSG_DONTWAIT | MSG_TRUNC);

    if (len < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return false;
    *answer = (struct helper_answer){.is_late = worker->state == HELPER_STALLED};
    if (len > 0 && (size_t)len <= sizeof frame && decode(worker, frame, (size_t)len, answer)) {
        answer->took_us = (uint32_t)((now.ns - worker->sent_at.ns) / 1000);
        pool->answers++;
        worker->state = HELPER_IDLE;
        worker->number = 0;
        return true;
    }
    pool->refused += len > 0;
    return lose(pool, worker, answer);
}

bool helper_take(struct helper_pool *pool, hf_time now, struct helper_answer *answer)
{
    for (unsigned i = 0; i < HELPER_WORKERS_MAX; i++) {
        struct helper *worker = &pool->worker[i];

        if (worker->state != HELPER_NONE && take_one(pool, worker, now, answer))
            return true;
    }
    return false;
}

uint64_t helper_expire(struct helper_pool *pool, hf_time now)
{
    for (unsigned i = 0; i < HELPER_WORKERS_MAX; i++) {
        struct helper *worker = &pool->worker[i];

        if (worker->state != HELPER_BUSY || !hf_time_reached(now, worker->until))
            continue;
        worker->state = HELPER_STALLED;
        pool->late++;
        return worker->number;
    }
    return 0;
}

/* ---- the worker ---- */

enum hf_code helper_serve(int fd, helper_work work, void *user, struct hf_err *err)
{
    uint8_t order[ORDER_HEAD + HELPER_ORDER_MAX];
    uint8_t answer[ANSWER_HEAD + HELPER_ANSWER_MAX];

    for (;;) {
        ssize_t len = recv(fd, order, sizeof order, MSG_TRUNC);
        struct hf_writer w = hf_writer_on(answer, sizeof answer);
        size_t own = 0;
        enum hf_code code;

        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0)
            return hf_err_set(err, HF_EIO, "receive an order: %s", strerror(errno));
        if (len == 0)
            return hf_err_set(err, HF_ECLOSED, "the other side has closed");
        if (len < ORDER_HEAD || (size_t)len > sizeof order)
            return hf_err_set(err, HF_EBAD, "an order of %zd bytes", len);
        code = work(user, order + ORDER_HEAD, (size_t)len - ORDER_HEAD, answer + ANSWER_HEAD, &own);
        HF_ASSERT(own <= HELPER_ANSWER_MAX);
        hf_put_bytes(&w, order, ORDER_HEAD); /* its number */
        hf_put_u8(&w, (uint8_t)code);
        if (send(fd, answer, ANSWER_HEAD + own, MSG_NOSIGNAL) < 0)
            return hf_err_set(err, HF_ECLOSED, "send an answer: %s", strerror(errno));
    }
}

/* ---- starting one ---- */

static enum hf_code spawn(const char *path, char *const argv[], int theirs, pid_t *pid,
                          struct hf_err *err)
{
    static char *const environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    int failed;

    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGTERM);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    failed = posix_spawn_file_actions_adddup2(&actions, theirs, HELPER_FD);
    if (failed == 0)
        failed = posix_spawn(pid, path, &actions, &attributes, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failed == 0 ? HF_OK : hf_err_set(err, HF_EIO, "start %s: %s", path, strerror(failed));
}

enum hf_code helper_start(const char *path, char *const argv[], int *fd, pid_t *pid,
                          struct hf_err *err)
{
    int pair[2], theirs;
    enum hf_code code;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return hf_err_set(err, HF_EIO, "socketpair: %s", strerror(errno));
    /* Above HELPER_FD, because a dup2 of a descriptor onto itself would leave it close-on-exec. */
    theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, HELPER_FD + 1);
    close(pair[1]);
    if (theirs < 0) {
        close(pair[0]);
        return hf_err_set(err, HF_EIO, "descriptor of a worker: %s", strerror(errno));
    }
    code = spawn(path, argv, theirs, pid, err);
    close(theirs);
    if (code != HF_OK) {
        close(pair[0]);
        return code;
    }
    *fd = pair[0];
    return HF_OK;
}

bool helper_may_start(struct helper_starts *starts, hf_time now)
{
    hf_time *oldest = &starts->at[starts->next];

    if (oldest->ns != 0 && !hf_time_reached(now, hf_time_add_ms(*oldest, HELPER_STARTS_MS)))
        return false;
    *oldest = now;
    starts->next = (starts->next + 1) % HELPER_STARTS_MAX;
    return true;
}
