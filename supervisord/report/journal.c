#include "supervisord/report/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/buf.h"
#include "supervisord/base/crc.h"
#include "supervisord/base/str.h"
#include "supervisord/report/journal_file.h"
#include "supervisord/wire/event.h"

enum job_kind { JOB_RECORD = 1, JOB_PUT_FILE, JOB_REMOVE_FILE };

struct job {
    struct job *next;
    enum job_kind kind;
    bool is_snapshot, is_new_file;
    uint64_t seq;
    char name[80]; /* files */
    size_t len;
    uint8_t bytes[];
};

struct journal {
    /* the loop's own */
    bool is_gap;   /* a record was lost: only a snapshot may follow */
    hf_time retry; /* not before */

    /* shared, under the lock */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct job *first, **last;
    size_t queued_bytes;
    bool is_closing, has_gap, is_due; /* has_gap: the thread failed; is_due: the file is full */
    struct journal_status status;

    /* the thread's own */
    pthread_t thread;
    struct journal_settings settings;
    char directory[256];
    struct journal_file file;
    bool told_broken; /* what the loop was last woken for */
    uint64_t told_lost;
    int event_fd;
};

/* ---- the loop's side ---- */

static void wake_loop(const struct journal *j)
{
    uint64_t one = 1;

    (void)!write(j->event_fd, &one, sizeof one);
}

static void lose(struct journal *j, const char *why)
{
    j->status.lost++;
    j->status.is_broken = true;
    (void)hf_str_copy(j->status.why, sizeof j->status.why, why);
}

static struct job *job_make(enum job_kind kind, size_t len)
{
    struct job *job = malloc(sizeof *job + len);

    if (job == NULL)
        return NULL;
    memset(job, 0, sizeof *job);
    job->kind = kind;
    job->len = len;
    return job;
}

/* Owns job. The lock is held for pointers only, never over a system call of the thread. */
static bool enqueue(struct journal *j, struct job *job)
{
    bool fits;

    pthread_mutex_lock(&j->lock);
    fits = job != NULL && j->queued_bytes + sizeof *job + job->len <= j->settings.queue_bytes;
    if (fits) {
        j->queued_bytes += sizeof *job + job->len;
        *j->last = job;
        j->last = &job->next;
        pthread_cond_signal(&j->wake);
    } else {
        lose(j, job == NULL ? "no memory" : "the disk does not keep up: the queue is full");
    }
    pthread_mutex_unlock(&j->lock);
    if (!fits) {
        free(job);
        wake_loop(j);
    }
    return fits;
}

/* Fill in the head over body bytes that are already behind it. */
static void seal(struct job *job, enum journal_kind kind)
{
    struct hf_writer w = hf_writer_on(job->bytes, JOURNAL_RECORD_HEAD);

    hf_put_u32(&w, (uint32_t)(job->len - JOURNAL_RECORD_HEAD));
    hf_put_u32(&w, 0);
    hf_put_u8(&w, (uint8_t)kind);
    w = hf_writer_on(job->bytes + 4, 4);
    hf_put_u32(&w, journal_crc(job->bytes, job->len));
}

static void put_snapshot(struct journal *j, const struct engine *e, bool is_new_file, hf_time now)
{
    size_t len = engine_save(e, NULL, 0);
    struct job *job = job_make(JOB_RECORD, JOURNAL_RECORD_HEAD + len);

    if (job != NULL) {
        size_t saved = engine_save(e, job->bytes + JOURNAL_RECORD_HEAD, len);

        HF_ASSERT(saved == len);
        job->is_snapshot = true;
        job->is_new_file = is_new_file;
        job->seq = engine_seq(e);
        seal(job, JOURNAL_SNAPSHOT);
    }
    j->is_gap = !enqueue(j, job);
    j->retry = hf_time_add_ms(now, JOURNAL_RETRY_MS);
}

static void put_event(struct journal *j, const struct hf_event *ev, const struct engine_out *out)
{
    struct hf_writer measure = hf_writer_on(NULL, 0), w;
    size_t event_len;
    struct job *job;

    event_encode(ev, &measure);
    event_len = measure.len;
    decision_encode(out, &measure);
    job = job_make(JOB_RECORD, JOURNAL_RECORD_HEAD + 10 + measure.len);
    if (job != NULL) {
        w = hf_writer_on(job->bytes + JOURNAL_RECORD_HEAD, job->len - JOURNAL_RECORD_HEAD);
        hf_put_u64(&w, ev->seq);
        hf_put_u16(&w, (uint16_t)event_len);
        event_encode(ev, &w);
        decision_encode(out, &w);
        HF_ASSERT(!w.bad);
        job->seq = ev->seq;
        seal(job, JOURNAL_EVENT);
    }
    if (!enqueue(j, job))
        j->is_gap = true;
}

void journal_replaced(struct journal *j, const struct engine *e, hf_time now)
{
    bool had_gap;

    pthread_mutex_lock(&j->lock);
    had_gap = j->has_gap;
    j->has_gap = false;
    pthread_mutex_unlock(&j->lock);
    put_snapshot(j, e, had_gap || j->is_gap, now);
}

void journal_step(struct journal *j, const struct engine *e, const struct hf_event *ev,
                  const struct engine_out *out, hf_time now)
{
    bool gap, due;

    pthread_mutex_lock(&j->lock);
    gap = j->is_gap || j->has_gap;
    due = j->is_due;
    if (gap && !hf_time_reached(now, j->retry)) {
        j->status.lost++;
        j->is_gap = true;
        pthread_mutex_unlock(&j->lock);
        return;
    }
    if (gap)
        j->has_gap = false;
    if (due)
        j->is_due = false;
    pthread_mutex_unlock(&j->lock);
    if (gap) {
        put_snapshot(j, e, true, now); /* after the step: the event itself is lost to replay */
        return;
    }
    put_event(j, ev, out);
    if (due && !j->is_gap)
        put_snapshot(j, e, true, now);
}

static bool file_name_is_good(const char *name)
{
    return hf_str_is_name(name, sizeof((struct job *)0)->name - 1);
}

bool journal_put_file(struct journal *j, const char *name, const void *bytes, size_t len)
{
    struct job *job = job_make(JOB_PUT_FILE, len);

    HF_ASSERT(file_name_is_good(name));
    if (job != NULL) {
        (void)hf_str_copy(job->name, sizeof job->name, name);
        if (len > 0)
            memcpy(job->bytes, bytes, len);
    }
    return enqueue(j, job);
}

bool journal_remove_file(struct journal *j, const char *name)
{
    struct job *job = job_make(JOB_REMOVE_FILE, 0);

    HF_ASSERT(file_name_is_good(name));
    if (job != NULL)
        (void)hf_str_copy(job->name, sizeof job->name, name);
    return enqueue(j, job);
}

int journal_fd(const struct journal *j)
{
    return j->event_fd;
}

void journal_look(struct journal *j, struct journal_status *status)
{
    uint64_t count;

    (void)!read(j->event_fd, &count, sizeof count);
    pthread_mutex_lock(&j->lock);
    *status = j->status;
    pthread_mutex_unlock(&j->lock);
}

/* ---- the thread's side ---- */

static void fail(struct journal *j, uint64_t lost, const struct hf_err *err)
{
    journal_file_close(&j->file);
    pthread_mutex_lock(&j->lock);
    j->has_gap = true;
    j->status.lost += lost;
    j->status.is_broken = true;
    (void)hf_str_copy(j->status.why, sizeof j->status.why, err->text);
    pthread_mutex_unlock(&j->lock);
}

/* What a batch has written but not yet synced. */
struct batch {
    uint64_t records;
    bool has_failed;   /* until the next snapshot every record is lost */
    bool has_snapshot; /* one that was written: the journal is whole again */
};

static void write_record(struct journal *j, const struct job *job, struct batch *batch)
{
    struct hf_err err;
    enum hf_code code = HF_OK;

    if (job->is_snapshot)
        batch->has_failed = false;
    if (!batch->has_failed && (job->is_new_file || j->file.fd < 0)) {
        if (!job->is_snapshot) {
            code = hf_err_set(&err, HF_EIO, "journal: no file is open");
        } else {
            code = journal_file_sync(&j->file, &err);
            if (code == HF_OK)
                code = journal_file_next(&j->file, j->directory, job->seq, j->settings.files_kept,
                                         &err);
        }
    }
    if (code == HF_OK && !batch->has_failed)
        code = journal_file_append(&j->file, job->bytes, job->len, &err);
    if (code != HF_OK) {
        fail(j, 1, &err);
        batch->has_failed = true;
        return;
    }
    if (batch->has_failed) {
        pthread_mutex_lock(&j->lock);
        j->status.lost++;
        pthread_mutex_unlock(&j->lock);
        return;
    }
    batch->records++;
    if (job->is_snapshot)
        batch->has_snapshot = true;
}

static void do_job(struct journal *j, const struct job *job, struct batch *batch)
{
    struct hf_err err;
    enum hf_code code = HF_OK;

    switch (job->kind) {
    case JOB_RECORD:
        write_record(j, job, batch);
        return;
    case JOB_PUT_FILE:
        code = journal_blob_put(j->directory, job->name, job->bytes, job->len, &err);
        break;
    case JOB_REMOVE_FILE:
        code = journal_blob_remove(j->directory, job->name, &err);
        break;
    }
    if (code != HF_OK) {
        pthread_mutex_lock(&j->lock);
        lose(j, err.text);
        j->has_gap = true; /* the next snapshot that can be written ends the alarm */
        pthread_mutex_unlock(&j->lock);
    }
}

static void finish_batch(struct journal *j, struct batch *batch)
{
    struct hf_err err;
    bool has_news;

    if (batch->records > 0 && !batch->has_failed && journal_file_sync(&j->file, &err) != HF_OK) {
        fail(j, batch->records, &err);
        batch->has_failed = true;
    }
    pthread_mutex_lock(&j->lock);
    if (!batch->has_failed) {
        j->status.written += batch->records;
        if (batch->has_snapshot && !j->has_gap)
            j->status.is_broken = false;
        if (j->file.len >= j->settings.file_bytes)
            j->is_due = true;
    }
    has_news = j->told_broken != j->status.is_broken || j->told_lost != j->status.lost;
    j->told_broken = j->status.is_broken;
    j->told_lost = j->status.lost;
    pthread_mutex_unlock(&j->lock);
    if (has_news)
        wake_loop(j);
}

/* Everything that is queued; NULL when the journal closes and nothing is left. */
static struct job *take_all(struct journal *j)
{
    struct job *jobs;

    pthread_mutex_lock(&j->lock);
    while (j->first == NULL && !j->is_closing)
        pthread_cond_wait(&j->wake, &j->lock);
    jobs = j->first;
    j->first = NULL;
    j->last = &j->first;
    pthread_mutex_unlock(&j->lock);
    return jobs;
}

/* Room in the queue comes back only when the job is done: a hung disk must fill it. */
static void job_end(struct journal *j, struct job *job)
{
    pthread_mutex_lock(&j->lock);
    j->queued_bytes -= sizeof *job + job->len;
    pthread_mutex_unlock(&j->lock);
    free(job);
}

static void *write_all(void *journal)
{
    struct journal *j = journal;
    bool has_failed = false;
    struct job *jobs;

    while ((jobs = take_all(j)) != NULL) {
        struct batch batch = {.has_failed = has_failed};

        while (jobs != NULL) {
            struct job *job = jobs;

            jobs = job->next;
            do_job(j, job, &batch);
            job_end(j, job);
        }
        finish_batch(j, &batch);
        has_failed = batch.has_failed;
    }
    journal_file_close(&j->file);
    return NULL;
}

/* ---- open, close ---- */

static void journal_free(struct journal *j)
{
    pthread_cond_destroy(&j->wake);
    pthread_mutex_destroy(&j->lock);
    if (j->event_fd >= 0)
        close(j->event_fd);
    free(j);
}

static enum hf_code start_thread(struct journal *j, struct hf_err *err)
{
    sigset_t all, before;
    int code;

    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(&j->thread, NULL, write_all, j);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code == 0 ? HF_OK : hf_err_set(err, HF_EIO, "journal: thread: %s", strerror(code));
}

enum hf_code journal_open(struct journal **out, const struct journal_settings *settings,
                          struct hf_err *err)
{
    struct journal *j = calloc(1, sizeof *j);

    if (j == NULL)
        return hf_err_set(err, HF_EFULL, "journal: no memory");
    pthread_mutex_init(&j->lock, NULL);
    pthread_cond_init(&j->wake, NULL);
    j->last = &j->first;
    j->is_gap = true; /* the first record must be a snapshot */
    j->file.fd = -1;
    j->settings = *settings;
    if (j->settings.file_bytes == 0)
        j->settings.file_bytes = JOURNAL_FILE_BYTES;
    if (j->settings.files_kept == 0)
        j->settings.files_kept = JOURNAL_FILES_KEPT;
    if (j->settings.queue_bytes == 0)
        j->settings.queue_bytes = JOURNAL_QUEUE_BYTES;
    j->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!hf_str_copy(j->directory, sizeof j->directory, settings->state_directory))
        hf_err_set(err, HF_EINVAL, "journal: the state directory's path is too long");
    else if (j->event_fd < 0)
        hf_err_set(err, HF_EIO, "journal: eventfd: %s", strerror(errno));
    else if (start_thread(j, err) == HF_OK) {
        *out = j;
        return HF_OK;
    }
    journal_free(j);
    return err->code;
}

void journal_close(struct journal *j, int wait_ms)
{
    struct timespec until;
    int64_t until_ns;

    if (j == NULL)
        return;
    pthread_mutex_lock(&j->lock);
    j->is_closing = true;
    pthread_cond_signal(&j->wake);
    pthread_mutex_unlock(&j->lock);
    until_ns = hf_clock_monotonic_ns() + wait_ms * HF_NS_PER_MS;
    until = (struct timespec){until_ns / 1000000000, until_ns % 1000000000};
    /* A thread that hangs in the disk keeps using j: it stays, the process is about to end. */
    if (pthread_clockjoin_np(j->thread, NULL, CLOCK_MONOTONIC, &until) == 0)
        journal_free(j);
}
