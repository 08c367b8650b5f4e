#include "agents/vm/pool.h"

#include "tests/fakes/libvirt.h"
#include "tests/unit/check.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

static char folder[64];
static struct fake_libvirt fake;
static struct pool *pool;

static void setup(void)
{
    struct virt virt;
    struct hf_err err;

    strcpy(folder, "/tmp/hf-pool-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    fake_open(&fake, folder, &virt);
    ck_assert_int_eq(pool_open(&pool, &virt, &err), HF_OK);
}

static void teardown(void)
{
    char command[128];

    fake_release(&fake);
    pool_close(pool);
    fake_close(&fake);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

/* The next but CALLED, which has a case of its own. */
static struct note await_note(void)
{
    struct pollfd one = {.fd = pool_fd(pool), .events = POLLIN};
    struct note note;

    do {
        while (!pool_take(pool, &note))
            ck_assert_int_eq(poll(&one, 1, 5000), 1);
    } while (note.kind == NOTE_CALLED);
    return note;
}

static uint64_t submit(enum job_kind kind)
{
    struct job job = {.kind = kind, .uid = 1, .name = "mq-1"};

    return pool_submit(pool, &job);
}

START_TEST(an_answer_names_its_job)
{
    uint64_t id = submit(JOB_RESUME);
    struct note note = await_note();

    ck_assert_int_eq(note.kind, NOTE_ANSWER);
    ck_assert_uint_eq(note.id, id);
    ck_assert_int_eq(note.job, JOB_RESUME);
    ck_assert_uint_eq(note.uid, 1);
    ck_assert_int_eq(note.code, VIRT_ABSENT);
}
END_TEST

START_TEST(hung_workers_are_replaced_up_to_the_bound_and_answer_late)
{
    uint64_t id[POOL_STUCK_MAX];

    fake_set(&fake, &fake.shutdown, FAKE_HANG);
    for (int i = 0; i < POOL_STUCK_MAX; i++) {
        id[i] = submit(JOB_SHUTDOWN);
        while (fake_count(&fake, &fake.shutdowns) <= (unsigned)i)
            (void)poll(NULL, 0, 1);
        pool_abandon(pool, id[i]);
        ck_assert_uint_eq(pool_stuck(pool), (unsigned)i + 1);
    }
    (void)submit(JOB_RESUME); /* somebody still works */
    ck_assert_int_eq(await_note().job, JOB_RESUME);
    for (int i = 0; i < POOL_WORKERS; i++) {
        uint64_t one = submit(JOB_SHUTDOWN);

        while (fake_count(&fake, &fake.shutdowns) <= (unsigned)(POOL_STUCK_MAX + i))
            (void)poll(NULL, 0, 1);
        pool_abandon(pool, one);
    }
    ck_assert_uint_eq(pool_stuck(pool), POOL_STUCK_MAX); /* and no thread more */
    (void)submit(JOB_RESUME);
    fake_release(&fake);
    for (int i = 0; i < POOL_STUCK_MAX + POOL_WORKERS + 1; i++)
        ck_assert_int_eq(await_note().kind, NOTE_ANSWER);
}
END_TEST

START_TEST(an_end_does_not_wait_for_starts_and_a_waiting_job_can_be_taken_back)
{
    struct job job = {.kind = JOB_CREATE, .uid = 1, .name = "mq-1"};
    uint64_t id[POOL_WORKERS], late;

    fake_set(&fake, &fake.create, FAKE_HANG);
    for (int i = 0; i < POOL_WORKERS; i++) {
        job.xml = strdup("<domain/>");
        id[i] = pool_submit(pool, &job);
    }
    while (fake_count(&fake, &fake.creates) < POOL_WORKERS)
        (void)poll(NULL, 0, 1);
    job.xml = strdup("<domain/>");
    late = pool_submit(pool, &job);
    (void)submit(JOB_RESUME);
    pool_abandon(pool, id[0]); /* one worker free */
    ck_assert_int_eq(await_note().job, JOB_RESUME);
    while (fake_count(&fake, &fake.creates) < POOL_WORKERS + 1)
        (void)poll(NULL, 0, 1);
    ck_assert(!pool_withdraw(pool, late));
    job.xml = strdup("<domain/>");
    ck_assert(pool_withdraw(pool, pool_submit(pool, &job)));
    ck_assert(!pool_withdraw(pool, 0));
    fake_release(&fake);
    for (int i = 0; i < POOL_WORKERS + 1; i++) /* the abandoned one too: it still makes its qemu */
        ck_assert_int_eq(await_note().job, JOB_CREATE);
}
END_TEST

START_TEST(a_full_queue_refuses_and_a_flood_of_events_is_counted)
{
    struct job job = {.kind = JOB_CREATE, .uid = 1, .name = "mq-1"};
    uint64_t id = 1;
    unsigned accepted = 0;

    (void)submit(JOB_ATTACH);
    ck_assert_int_eq(await_note().code, VIRT_OK);
    for (int i = 0; i < POOL_NOTES_MAX + 10; i++)
        fake_event(&fake, VIRT_EV_STARTED, "mq-1");
    ck_assert_uint_gt(pool_lost_events(pool), 0);
    ck_assert_uint_eq(pool_lost_events(pool), 0);
    (void)submit(JOB_RESUME); /* its answer still finds room */
    while (await_note().kind != NOTE_ANSWER)
        ;
    fake_set(&fake, &fake.create, FAKE_HANG);
    for (; id != 0 && accepted <= POOL_JOBS_MAX + POOL_WORKERS; accepted++) {
        job.xml = strdup("<domain/>");
        id = pool_submit(pool, &job);
    }
    ck_assert_uint_eq(id, 0);
    ck_assert_uint_ge(accepted, POOL_JOBS_MAX);
    fake_set(&fake, &fake.create, FAKE_REFUSE);
}
END_TEST

/* ---- what is written down around a create ---- */

static char wrote[64];

static enum hf_code calling(void *user, const struct job *job, struct hf_err *err)
{
    strcat(wrote, *(bool *)user ? "calling " : "cannot ");
    ck_assert_uint_eq(job->start_no, 9);
    return *(bool *)user ? HF_OK : hf_err_set(err, HF_EIO, "no room");
}

static void called(void *user, const struct job *job, bool is_made)
{
    (void)user;
    (void)job;
    strcat(wrote, is_made ? "made " : "not made ");
}

START_TEST(a_create_is_written_down_before_and_after)
{
    static const struct {
        bool can_write;
        enum fake_mode mode;
        enum virt_code code;
        unsigned creates;
        const char *wrote;
    } cases[] = {
        {true, FAKE_OK, VIRT_OK, 1, "calling made "},
        {true, FAKE_REFUSE, VIRT_FAILED, 1, "calling not made "},
        {true, FAKE_GONE, VIRT_GONE, 1, "calling "}, /* how it ended is not known */
        {false, FAKE_OK, VIRT_FAILED, 0, "cannot "},
    };
    bool can_write = cases[_i].can_write;
    struct pool_ledger ledger = {.calling = calling, .called = called, .user = &can_write};
    struct job job = {.kind = JOB_CREATE, .uid = 1, .start_no = 9, .name = "pool-1"};
    struct pollfd one = {.fd = pool_fd(pool), .events = POLLIN};
    struct note note;
    uint64_t id;

    pool_set_ledger(pool, &ledger);
    fake_set(&fake, &fake.create, cases[_i].mode);
    job.xml = strdup("<domain/>");
    id = pool_submit(pool, &job);
    if (can_write) {
        while (!pool_take(pool, &note))
            ck_assert_int_eq(poll(&one, 1, 5000), 1);
        ck_assert_int_eq(note.kind, NOTE_CALLED);
        ck_assert_uint_eq(note.id, id);
    }
    note = await_note();
    ck_assert_int_eq(note.code, cases[_i].code);
    ck_assert_uint_eq(fake_count(&fake, &fake.creates), cases[_i].creates);
    ck_assert_str_eq(wrote, cases[_i].wrote);
}
END_TEST

START_TEST(a_resume_is_written_down_before)
{
    bool can_write = _i == 0;
    struct pool_ledger ledger = {.resuming = calling, .user = &can_write};
    struct job job = {.kind = JOB_RESUME, .uid = 1, .start_no = 9, .name = "pool-1"};

    pool_set_ledger(pool, &ledger);
    fake_set(&fake, &fake.resume, FAKE_LIE);
    ck_assert_uint_ne(pool_submit(pool, &job), 0);
    ck_assert_int_eq(await_note().code, can_write ? VIRT_OK : VIRT_FAILED);
    ck_assert_uint_eq(fake_count(&fake, &fake.resumes), can_write ? 1 : 0);
    ck_assert_str_eq(wrote, can_write ? "calling " : "cannot ");
}
END_TEST

HF_TEST_MAIN_WITH("agents/vm/pool", setup, teardown, HF_CASE(an_answer_names_its_job),
                  HF_CASE(hung_workers_are_replaced_up_to_the_bound_and_answer_late),
                  HF_CASE(an_end_does_not_wait_for_starts_and_a_waiting_job_can_be_taken_back),
                  HF_CASE(a_full_queue_refuses_and_a_flood_of_events_is_counted),
                  HF_LOOP(a_create_is_written_down_before_and_after, 0, 4),
                  HF_LOOP(a_resume_is_written_down_before, 0, 2))
