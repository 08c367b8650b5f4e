#include "nicbond/helper.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/check.h"

static const hf_time start = {5000000000LL};

static hf_time at(int64_t ms)
{
    return hf_time_add_ms(start, ms);
}

/* A pool with one worker that the test plays: its end of the socket. */
static int joined(struct helper_pool *pool)
{
    struct hf_err err;
    int pair[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(helper_join(pool, pair[0], 1, &err), HF_OK);
    return pair[1];
}

static enum hf_code put(struct helper_pool *pool, uint64_t number, hf_time now)
{
    struct hf_err err;

    return helper_put(pool, number, "x", 1, now, hf_time_add_ms(now, 200), &err);
}

/* The answer of a worker to `number`. */
static void answer(int worker, uint64_t number, uint8_t code)
{
    uint8_t frame[10] = {0};

    for (unsigned i = 0; i < 8; i++)
        frame[i] = (uint8_t)(number >> (8 * i));
    frame[8] = code;
    frame[9] = 'y';
    ck_assert_int_eq(send(worker, frame, sizeof frame, 0), sizeof frame);
}

START_TEST(an_answer_comes_back_with_its_number)
{
    struct helper_pool pool;
    struct helper_answer got;
    int worker;

    helper_pool_init(&pool, "t");
    worker = joined(&pool);
    ck_assert_int_eq(put(&pool, 77, start), HF_OK);
    ck_assert_int_eq(put(&pool, 78, start), HF_EAGAIN);
    ck_assert(!helper_take(&pool, at(1), &got));
    answer(worker, 77, HF_OK);
    ck_assert(helper_take(&pool, at(3), &got));
    ck_assert_uint_eq(got.number, 77);
    ck_assert(!got.is_late);
    ck_assert_uint_eq(got.took_us, 3000);
    ck_assert_uint_eq(got.len, 1);
    ck_assert_uint_eq(got.bytes[0], 'y');
    ck_assert(helper_has_idle(&pool));
    close(worker);
    helper_pool_close(&pool);
}
END_TEST

START_TEST(a_late_worker_is_stalled_until_it_answers)
{
    struct helper_pool pool;
    struct helper_answer got;
    int worker;

    helper_pool_init(&pool, "t");
    worker = joined(&pool);
    ck_assert_int_eq(put(&pool, 5, start), HF_OK);
    ck_assert_uint_eq(helper_expire(&pool, at(199)), 0);
    ck_assert_uint_eq(helper_expire(&pool, at(200)), 5);
    ck_assert_uint_eq(helper_expire(&pool, at(201)), 0); /* once */
    ck_assert_uint_eq(helper_stalled(&pool), 1);
    ck_assert_int_eq(put(&pool, 6, at(300)), HF_EAGAIN);
    answer(worker, 5, HF_OK);
    ck_assert(helper_take(&pool, at(10000), &got));
    ck_assert(got.is_late);
    ck_assert_uint_eq(got.number, 5);
    ck_assert_uint_eq(helper_stalled(&pool), 0);
    ck_assert_int_eq(put(&pool, 6, at(10001)), HF_OK);
    close(worker);
    helper_pool_close(&pool);
}
END_TEST

START_TEST(stalled_workers_are_replaced_up_to_a_bound)
{
    struct helper_pool pool;
    int worker[HELPER_WORKERS_MAX] = {0};
    unsigned count = 0;

    helper_pool_init(&pool, "t");
    ck_assert_uint_eq(helper_wanted(&pool), HELPER_IDLE_WANTED);
    while (helper_wanted(&pool) > 0 && count < HELPER_WORKERS_MAX) {
        worker[count] = joined(&pool);
        ck_assert_int_eq(put(&pool, ++count, start), HF_OK);
        ck_assert_uint_eq(helper_expire(&pool, at(200)), count);
    }
    ck_assert_uint_eq(count, HELPER_WORKERS_MAX);
    ck_assert_uint_eq(helper_wanted(&pool), 0);
    for (unsigned i = 0; i < count; i++)
        close(worker[i]);
    helper_pool_close(&pool);
}
END_TEST

START_TEST(a_worker_that_dies_over_an_order_is_told)
{
    struct helper_pool pool;
    struct helper_answer got;
    int worker;

    helper_pool_init(&pool, "t");
    worker = joined(&pool);
    ck_assert_int_eq(put(&pool, 9, start), HF_OK);
    close(worker);
    ck_assert(helper_take(&pool, at(1), &got) && got.is_lost && got.number == 9);
    ck_assert_uint_eq(helper_wanted(&pool), HELPER_IDLE_WANTED);
    worker = joined(&pool);
    close(worker); /* idle: nobody is owed anything, and the slot is free again */
    ck_assert(!helper_take(&pool, at(1), &got));
    ck_assert_uint_eq(helper_wanted(&pool), HELPER_IDLE_WANTED);
    helper_pool_close(&pool);
}
END_TEST

START_TEST(bytes_that_are_no_answer_end_the_worker)
{
    struct helper_pool pool;
    struct helper_answer got;
    int worker;

    helper_pool_init(&pool, "t");
    worker = joined(&pool);
    ck_assert_int_eq(put(&pool, 9, start), HF_OK);
    if (_i == 0)
        answer(worker, 10, HF_OK); /* another's number */
    else if (_i == 1)
        answer(worker, 9, HF_CODES); /* no such code */
    else
        ck_assert_int_eq(send(worker, "abc", 3, 0), 3);
    ck_assert(helper_take(&pool, at(1), &got));
    ck_assert(got.is_lost);
    ck_assert_uint_eq(got.number, 9);
    ck_assert_uint_eq(pool.refused, 1);
    close(worker);
    helper_pool_close(&pool);
}
END_TEST

static enum hf_code echo(void *user, const uint8_t *bytes, size_t len, uint8_t *out,
                         size_t *out_len)
{
    (void)user;
    memcpy(out, bytes, len);
    *out_len = len;
    return len == 1 ? HF_OK : HF_EBAD;
}

START_TEST(a_worker_serves_until_the_other_side_closes)
{
    struct helper_pool pool;
    struct helper_answer got;
    struct pollfd wait;
    struct hf_err err;
    int pair[2], status;
    pid_t pid;

    helper_pool_init(&pool, "t");
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    pid = fork();
    if (pid == 0) {
        close(pair[0]);
        _exit(helper_serve(pair[1], echo, NULL, &err) == HF_ECLOSED ? 0 : 1);
    }
    close(pair[1]);
    wait = (struct pollfd){.fd = pair[0], .events = POLLIN};
    ck_assert_int_eq(helper_join(&pool, pair[0], pid, &err), HF_OK);
    ck_assert_int_eq(put(&pool, 1, start), HF_OK);
    ck_assert_int_eq(poll(&wait, 1, 10000), 1);
    ck_assert(helper_take(&pool, at(1), &got));
    ck_assert_int_eq(got.code, HF_OK);
    ck_assert_uint_eq(got.bytes[0], 'x');
    helper_pool_close(&pool);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(a_program_that_dies_at_once_is_not_started_for_ever)
{
    struct helper_starts starts = {0};
    unsigned count = 0;

    for (int ms = 0; ms < HELPER_STARTS_MS; ms += 100)
        count += helper_may_start(&starts, at(ms));
    ck_assert_uint_eq(count, HELPER_STARTS_MAX);
    ck_assert(helper_may_start(&starts, at(HELPER_STARTS_MS)));
}
END_TEST

START_TEST(a_program_is_started_with_its_socket)
{
    char *argv[] = {"sh", "-c", "exec 3>&- ; exit 0", NULL};
    struct pollfd wait = {.events = POLLIN};
    struct hf_err err;
    char byte;
    pid_t pid;
    int fd, status;

    ck_assert_int_eq(helper_start("/bin/sh", argv, &fd, &pid, &err), HF_OK);
    wait.fd = fd;
    ck_assert_int_eq(poll(&wait, 1, 10000), 1);
    ck_assert_int_eq(recv(fd, &byte, 1, 0), 0); /* closed: it had the other end, and nobody else */
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    close(fd);
    ck_assert_int_eq(helper_start("/nowhere", argv, &fd, &pid, &err), HF_EIO);
}
END_TEST

HF_TEST_MAIN("nicbond/helper", HF_CASE(an_answer_comes_back_with_its_number),
             HF_CASE(a_late_worker_is_stalled_until_it_answers),
             HF_CASE(stalled_workers_are_replaced_up_to_a_bound),
             HF_CASE(a_worker_that_dies_over_an_order_is_told),
             HF_LOOP(bytes_that_are_no_answer_end_the_worker, 0, 3),
             HF_CASE(a_worker_serves_until_the_other_side_closes),
             HF_CASE(a_program_that_dies_at_once_is_not_started_for_ever),
             HF_CASE(a_program_is_started_with_its_socket))
