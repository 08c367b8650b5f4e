#include "agents/vm/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "supervisord/base/str.h"

enum {
    THREADS_MAX = POOL_WORKERS + POOL_STUCK_MAX,
    /* Notes kept free for jobs: every thread may have two, CALLED and ANSWER. */
    NOTES_FOR_EVENTS = POOL_NOTES_MAX - 4 * THREADS_MAX,
};

struct worker {
    bool is_used;
    bool is_abandoned;  /* hung in a job nobody waits for: ends when it returns */
    uint64_t job_id;    /* 0 = idle */
};

struct waiting_job {
    uint64_t id; /* 0 = empty */
    struct job job;
};

struct pool {
    struct virt virt;
    struct pool_ledger ledger;
    int fd;
    pthread_mutex_t lock;
    pthread_cond_t work;     /* a job, a refresh or the end */
    pthread_cond_t ended;    /* a worker ended */
    bool is_closing;
    unsigned workers_count, stuck_count;
    uint64_t generation;     /* of connections */
    uint64_t id_last, events_lost;
    struct worker worker[THREADS_MAX];
    size_t notes_first, notes_count;
    struct note note[POOL_NOTES_MAX];
    struct waiting_job job[POOL_JOBS_MAX];
};

struct start_of_worker {
    struct pool *pool;
    struct worker *worker;
};

/* ---- notes ---- */

static bool push_note(struct pool *pool, const struct note *note, size_t limit)
{
    static const uint64_t one = 1;

    if (pool->notes_count >= limit)
        return false;
    pool->note[(pool->notes_first + pool->notes_count) % POOL_NOTES_MAX] = *note;
    pool->notes_count++;
    (void)!write(pool->fd, &one, sizeof one); /* full means readable, which is all it must be */
    return true;
}

static void on_event(void *user, const struct virt_event *ev)
{
    struct pool *pool = user;
    struct note note = {.kind = NOTE_EVENT, .event = *ev};

    pthread_mutex_lock(&pool->lock);
    if (!push_note(pool, &note, NOTES_FOR_EVENTS))
        pool->events_lost++;
    pthread_mutex_unlock(&pool->lock);
}

static void on_gone(void *user, const char *why)
{
    struct pool *pool = user;
    struct note note = {.kind = NOTE_GONE};

    (void)hf_str_copy(note.why, sizeof note.why, why);
    pthread_mutex_lock(&pool->lock);
    if (!push_note(pool, &note, NOTES_FOR_EVENTS))
        pool->events_lost++;
    pthread_mutex_unlock(&pool->lock);
}

bool pool_take(struct pool *pool, struct note *note)
{
    uint64_t count;
    bool has;

    pthread_mutex_lock(&pool->lock);
    has = pool->notes_count > 0;
    if (has) {
        *note = pool->note[pool->notes_first];
        pool->notes_first = (pool->notes_first + 1) % POOL_NOTES_MAX;
        pool->notes_count--;
    } else {
        (void)!read(pool->fd, &count, sizeof count);
    }
    pthread_mutex_unlock(&pool->lock);
    return has;
}

/* ---- workers ---- */

/* The job to do next: the oldest that is not a start, else the oldest start. */
static struct waiting_job *pick(struct pool *pool)
{
    struct waiting_job *best = NULL;

    for (size_t i = 0; i < POOL_JOBS_MAX; i++) {
        struct waiting_job *one = &pool->job[i];
        bool is_start = one->job.kind == JOB_CREATE;

        if (one->id == 0)
            continue;
        if (best == NULL || (best->job.kind == JOB_CREATE && !is_start) ||
            ((best->job.kind == JOB_CREATE) == is_start && one->id < best->id))
            best = one;
    }
    return best;
}

static enum virt_code create(struct pool *pool, void *conn, uint64_t id, const struct job *job,
                             struct hf_err *err)
{
    const struct virt *v = &pool->virt;
    const struct pool_ledger *ledger = &pool->ledger;
    struct note note = {.kind = NOTE_CALLED, .id = id, .job = job->kind, .uid = job->uid};
    enum virt_code code;

    if (ledger->calling != NULL && ledger->calling(ledger->user, job, err) != HF_OK)
        return VIRT_FAILED;
    pthread_mutex_lock(&pool->lock);
    (void)push_note(pool, &note, POOL_NOTES_MAX); /* for people only */
    pthread_mutex_unlock(&pool->lock);
    code = v->create(v->self, conn, job->name, job->xml, err);
    if (code != VIRT_GONE && ledger->called != NULL)
        ledger->called(ledger->user, job, code == VIRT_OK);
    return code;
}

static enum virt_code resume(struct pool *pool, void *conn, const struct job *job,
                             struct hf_err *err)
{
    const struct pool_ledger *ledger = &pool->ledger;

    if (ledger->resuming != NULL && ledger->resuming(ledger->user, job, err) != HF_OK)
        return VIRT_FAILED;
    return pool->virt.resume(pool->virt.self, conn, job->name, err);
}

static enum virt_code do_job(struct pool *pool, void *conn, uint64_t id, const struct job *job,
                             char **xml, struct hf_err *err)
{
    const struct virt *v = &pool->virt;
    struct virt_sink sink = {.event = on_event, .gone = on_gone, .user = pool};

    switch (job->kind) {
    case JOB_ATTACH:
        return v->attach(v->self, &sink, err);
    case JOB_PING:
        return v->ping(v->self, conn, err);
    case JOB_CREATE:
        return create(pool, conn, id, job, err);
    case JOB_RESUME:
        return resume(pool, conn, job, err);
    case JOB_SHUTDOWN:
        return v->shutdown(v->self, conn, job->name, err);
    case JOB_DESTROY_GRACEFUL:
        return v->destroy(v->self, conn, job->name, true, err);
    case JOB_DESTROY:
        return v->destroy(v->self, conn, job->name, false, err);
    case JOB_DESCRIBE:
        return v->describe(v->self, conn, job->name, xml, err);
    case JOB_PROBE:
        return v->probe(v->self, conn, job->name, err);
    case JOB_KINDS:
        break;
    }
    return VIRT_FAILED;
}

/* A connection of this generation, kept from the last job or made now. */
static enum virt_code renew(struct pool *pool, uint64_t generation, void **conn, uint64_t *of,
                            struct hf_err *err)
{
    enum virt_code code;

    if (*conn != NULL && *of == generation)
        return VIRT_OK;
    if (*conn != NULL)
        pool->virt.close(pool->virt.self, *conn);
    *conn = NULL;
    code = pool->virt.open(pool->virt.self, conn, err);
    *of = generation;
    return code;
}

static enum virt_code try_job(struct pool *pool, uint64_t id, const struct job *job,
                              uint64_t generation, void **conn, uint64_t *of, char **xml,
                              struct hf_err *err)
{
    enum virt_code code = VIRT_OK;

    if (job->kind != JOB_ATTACH)
        code = renew(pool, generation, conn, of, err);
    if (code == VIRT_OK)
        code = do_job(pool, *conn, id, job, xml, err);
    if ((code == VIRT_GONE || code == VIRT_UNREACHED) && *conn != NULL) {
        pool->virt.close(pool->virt.self, *conn);
        *conn = NULL;
    }
    return code;
}

static void answer(struct pool *pool, uint64_t id, const struct job *job, enum virt_code code,
                   char *xml, const struct hf_err *err)
{
    struct note note = {.kind = NOTE_ANSWER,
                        .id = id,
                        .job = job->kind,
                        .uid = job->uid,
                        .code = code,
                        .xml = xml};

    if (code != VIRT_OK)
        (void)hf_str_copy(note.why, sizeof note.why, err->text);
    if (!push_note(pool, &note, POOL_NOTES_MAX)) {
        free(xml); /* only when the owner stopped reading: its deadlines answer for us */
        pool->events_lost++;
    }
}

/* One job, called and returning with the lock held. */
static void work_one(struct pool *pool, struct worker *me, struct waiting_job *waiting,
                     void **conn, uint64_t *of)
{
    struct waiting_job mine = *waiting;
    uint64_t generation = pool->generation;
    struct hf_err err = {.text = ""};
    enum virt_code code;
    char *xml = NULL;

    waiting->id = 0;
    me->job_id = mine.id;
    pthread_mutex_unlock(&pool->lock);
    code = try_job(pool, mine.id, &mine.job, generation, conn, of, &xml, &err);
    if (code == VIRT_UNREACHED) /* a connection gone stale: once more on a new one */
        code = try_job(pool, mine.id, &mine.job, generation, conn, of, &xml, &err);
    free(mine.job.xml);
    pthread_mutex_lock(&pool->lock);
    me->job_id = 0;
    answer(pool, mine.id, &mine.job, code, xml, &err);
}

/* Idle: make the connection of a new generation before somebody needs it. Lock held around. */
static void warm_up(struct pool *pool, void **conn, uint64_t *of)
{
    uint64_t generation = pool->generation;
    struct hf_err err;

    pthread_mutex_unlock(&pool->lock);
    (void)renew(pool, generation, conn, of, &err);
    pthread_mutex_lock(&pool->lock);
    *of = generation; /* failed: try again with the next job or generation */
}

static void free_pool(struct pool *pool)
{
    for (size_t i = 0; i < POOL_JOBS_MAX; i++) {
        if (pool->job[i].id != 0)
            free(pool->job[i].job.xml);
    }
    while (pool->notes_count > 0) {
        free(pool->note[pool->notes_first].xml);
        pool->notes_first = (pool->notes_first + 1) % POOL_NOTES_MAX;
        pool->notes_count--;
    }
    close(pool->fd);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->ended);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static void *run_worker(void *user)
{
    struct start_of_worker start = *(struct start_of_worker *)user;
    struct pool *pool = start.pool;
    struct worker *me = start.worker;
    void *conn = NULL;
    uint64_t of = 0;

    free(user);
    pthread_mutex_lock(&pool->lock);
    while (!pool->is_closing && !me->is_abandoned) {
        struct waiting_job *waiting = pick(pool);

        if (waiting != NULL)
            work_one(pool, me, waiting, &conn, &of);
        else if (of != pool->generation)
            warm_up(pool, &conn, &of);
        else
            pthread_cond_wait(&pool->work, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    if (conn != NULL)
        pool->virt.close(pool->virt.self, conn);
    pthread_mutex_lock(&pool->lock);
    if (me->is_abandoned)
        pool->stuck_count--;
    me->is_used = false;
    pool->workers_count--;
    pthread_cond_broadcast(&pool->ended);
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Lock held. */
static enum hf_code add_worker(struct pool *pool, struct hf_err *err)
{
    struct start_of_worker *start = malloc(sizeof *start);
    struct worker *worker = NULL;
    pthread_attr_t attr;
    pthread_t thread;
    int rc;

    for (size_t i = 0; i < THREADS_MAX && worker == NULL; i++) {
        if (!pool->worker[i].is_used)
            worker = &pool->worker[i];
    }
    if (start == NULL || worker == NULL) {
        free(start);
        return hf_err_set(err, HF_EFULL, "no room for another libvirt worker");
    }
    *worker = (struct worker){.is_used = true};
    *start = (struct start_of_worker){pool, worker};
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    rc = pthread_create(&thread, &attr, run_worker, start);
    pthread_attr_destroy(&attr);
    if (rc != 0) {
        worker->is_used = false;
        free(start);
        return hf_err_set(err, HF_EIO, "start a libvirt worker: %s", strerror(rc));
    }
    pool->workers_count++;
    return HF_OK;
}

/* ---- the owner's side ---- */

enum hf_code pool_open(struct pool **pool, const struct virt *virt, struct hf_err *err)
{
    struct pool *p = calloc(1, sizeof *p);
    enum hf_code code = HF_OK;

    if (p == NULL)
        return hf_err_set(err, HF_EIO, "libvirt workers: out of memory");
    p->virt = *virt;
    p->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->fd < 0) {
        (void)hf_err_set(err, HF_EIO, "libvirt workers: eventfd: %s", strerror(errno));
        free(p);
        return err->code;
    }
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->ended, NULL);
    pthread_mutex_lock(&p->lock);
    for (unsigned i = 0; i < POOL_WORKERS && code == HF_OK; i++)
        code = add_worker(p, err);
    pthread_mutex_unlock(&p->lock);
    if (code != HF_OK) {
        pool_close(p);
        return err->code;
    }
    *pool = p;
    return HF_OK;
}

void pool_set_ledger(struct pool *pool, const struct pool_ledger *ledger)
{
    pool->ledger = *ledger;
}

void pool_close(struct pool *pool)
{
    bool is_empty;

    pthread_mutex_lock(&pool->lock);
    pool->is_closing = true;
    pthread_cond_broadcast(&pool->work);
    while (pool->workers_count > pool->stuck_count)
        pthread_cond_wait(&pool->ended, &pool->lock);
    is_empty = pool->workers_count == 0;
    pthread_mutex_unlock(&pool->lock);
    if (is_empty)
        free_pool(pool);
}

int pool_fd(const struct pool *pool)
{
    return pool->fd;
}

uint64_t pool_submit(struct pool *pool, const struct job *job)
{
    uint64_t id = 0;

    pthread_mutex_lock(&pool->lock);
    for (size_t i = 0; i < POOL_JOBS_MAX && id == 0; i++) {
        if (pool->job[i].id != 0)
            continue;
        id = ++pool->id_last;
        pool->job[i] = (struct waiting_job){.id = id, .job = *job};
        pthread_cond_signal(&pool->work);
    }
    pthread_mutex_unlock(&pool->lock);
    if (id == 0)
        free(job->xml);
    return id;
}

bool pool_withdraw(struct pool *pool, uint64_t id)
{
    bool found = false;

    pthread_mutex_lock(&pool->lock);
    for (size_t i = 0; i < POOL_JOBS_MAX && !found && id != 0; i++) {
        if (pool->job[i].id != id)
            continue;
        found = true;
        pool->job[i].id = 0;
        free(pool->job[i].job.xml);
    }
    pthread_mutex_unlock(&pool->lock);
    return found;
}

void pool_abandon(struct pool *pool, uint64_t id)
{
    struct hf_err err;

    if (id == 0 || pool_withdraw(pool, id))
        return;
    pthread_mutex_lock(&pool->lock);
    for (size_t i = 0; i < THREADS_MAX; i++) {
        struct worker *worker = &pool->worker[i];

        if (!worker->is_used || worker->job_id != id || worker->is_abandoned)
            continue;
        /* The last hung worker allowed keeps its place: when it returns it goes on working. */
        if (pool->stuck_count < POOL_STUCK_MAX && add_worker(pool, &err) == HF_OK) {
            worker->is_abandoned = true;
            pool->stuck_count++;
        }
    }
    pthread_mutex_unlock(&pool->lock);
}

unsigned pool_stuck(struct pool *pool)
{
    unsigned count;

    pthread_mutex_lock(&pool->lock);
    count = pool->stuck_count;
    pthread_mutex_unlock(&pool->lock);
    return count;
}

uint64_t pool_lost_events(struct pool *pool)
{
    uint64_t count;

    pthread_mutex_lock(&pool->lock);
    count = pool->events_lost;
    pool->events_lost = 0;
    pthread_mutex_unlock(&pool->lock);
    return count;
}

void pool_refresh(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->generation++;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}
