#include "nicbond/nicbond.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "supervisord/base/buf.h"
#include "tests/unit/check.h"

enum { A = 0, B = 1, FLIPS_KEPT = 32 };

/* The hot loop's state, workers that the test plays, and what was told. */
static struct nicbond *nb;
static hf_time now;
static int pf_worker[2], vm_worker[2];
static struct hf_flip flips[FLIPS_KEPT];
static uint32_t flip_orders[FLIPS_KEPT];
static unsigned flips_count;
static struct hf_vm_legs last_legs;
static unsigned legs_count;
static bool is_full;

static bool take_legs(void *user, const struct hf_vm_legs *legs)
{
    (void)user;
    if (is_full)
        return false;
    last_legs = *legs;
    legs_count++;
    return true;
}

static bool take_flip(void *user, uint32_t order, const struct hf_flip *flip)
{
    (void)user;
    if (is_full)
        return false;
    ck_assert_uint_lt(flips_count, FLIPS_KEPT);
    flip_orders[flips_count] = order;
    flips[flips_count++] = *flip;
    return true;
}

static int join(struct helper_pool *pool)
{
    struct hf_err err;
    int pair[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    ck_assert_int_eq(helper_join(pool, pair[0], 1, &err), HF_OK);
    return pair[1];
}

static void place(hf_fabric f, int32_t ifindex, const char *driver)
{
    struct nic_place at = {.ifindex = ifindex};

    (void)snprintf(at.name, sizeof at.name, "pf%c", 'a' + f);
    (void)snprintf(at.pci, sizeof at.pci, "0000:0%d:00.0", f + 1);
    nicbond_pf_is(nb, f, &at, driver);
}

static void setup_driver(const char *driver)
{
    struct nicbond_limits limits = {.flip_deadline_ms = 200, .hold_down_ms = 30000};
    struct nicbond_out out = {.legs = take_legs, .flip = take_flip};

    now = (hf_time){1000000000000LL};
    nb = calloc(1, sizeof *nb);
    ck_assert_ptr_nonnull(nb);
    nicbond_init(nb, &limits, &out, 1000, 2000000);
    nb->probe_at = (hf_time){INT64_MAX};
    for (unsigned i = 0; i < 2; i++) {
        pf_worker[i] = join(&nb->pf_pool);
        vm_worker[i] = join(&nb->vm_pool);
    }
    place(A, 11, driver);
    place(B, 12, driver);
}

static void setup(void)
{
    setup_driver("sfc");
}

static void teardown(void)
{
    nicbond_close(nb, now);
    free(nb);
}

static bool is_readable(const struct helper_pool *pool)
{
    struct pollfd wait[HELPER_WORKERS_MAX];

    for (unsigned i = 0; i < HELPER_WORKERS_MAX; i++)
        wait[i] = (struct pollfd){.fd = pool->worker[i].fd, .events = POLLIN};
    return poll(wait, HELPER_WORKERS_MAX, 0) > 0;
}

/* Rounds of a millisecond each. */
static void pass(unsigned ms)
{
    for (unsigned i = 0; i < ms; i++) {
        now = hf_time_add_ms(now, 1);
        if (is_readable(&nb->pf_pool) || is_readable(&nb->vm_pool))
            nicbond_worker_ready(nb);
        nicbond_round(nb, now);
    }
}

static void judged(hf_fabric f, enum hf_pf state, enum hf_nic_cause cause)
{
    struct nic_verdict verdict = {.state = state, .cause = cause, .has_changed = true};

    verdict.since = (hf_time){now.ns - 1500000};
    nicbond_pf_judged(nb, f, &verdict, now);
    pass(1);
}

static void vm_with_vfs(hf_vm_uid uid, uint16_t priority, uint16_t vf)
{
    struct nicbond_news news = {
        .uid = uid, .start_no = 1, .priority = priority, .sent_fd = {-1, -1}};

    (void)snprintf(news.name, sizeof news.name, "vm%u", uid);
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        news.leg[f].kind = HF_LEG_VF;
        news.leg[f].vf = vf;
        news.leg[f].mac.byte[5] = (uint8_t)(10 * uid + f);
    }
    ck_assert(nicbond_vm_here(nb, &news, now));
    pass(1);
}

/* A file with a count, as sysfs has it. */
static int count_file(void)
{
    int fd = memfd_create("count", MFD_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, "0\n", 2, 0), 2);
    return fd;
}

static void set_count(int fd, unsigned count)
{
    char text[16];
    int len = snprintf(text, sizeof text, "%u\n", count);

    ck_assert_int_eq(pwrite(fd, text, (size_t)len, 0), len);
}

/* With virtio legs; fd[] of their counters stay the test's, too. */
static void vm_with_taps(hf_vm_uid uid, int fd[HF_FABRICS_MAX])
{
    struct nicbond_news news = {.uid = uid, .start_no = 1};

    (void)snprintf(news.name, sizeof news.name, "vm%u", uid);
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        fd[f] = count_file();
        news.sent_fd[f] = dup(fd[f]);
        news.leg[f].kind = HF_LEG_BRIDGE;
        news.leg[f].mac.byte[5] = (uint8_t)(10 * uid + f);
    }
    ck_assert(nicbond_vm_here(nb, &news, now));
    pass(1);
}

/* The next order at any of the workers; which worker, or -1. */
static int receive(const int worker[2], uint64_t *number, uint8_t *bytes, size_t *len)
{
    uint8_t frame[8 + HELPER_ORDER_MAX];

    for (int i = 0; i < 2; i++) {
        ssize_t got = recv(worker[i], frame, sizeof frame, MSG_DONTWAIT);
        struct hf_reader r;

        if (got < 8)
            continue;
        r = hf_reader_on(frame, (size_t)got);
        *number = hf_get_u64(&r);
        *len = (size_t)got - 8;
        memcpy(bytes, frame + 8, *len);
        return i;
    }
    return -1;
}

struct ordered {
    int worker;
    uint64_t number;
    struct method_pf pf;
    struct method_vm vm;
};

static bool next_pf(struct ordered *o)
{
    uint8_t bytes[HELPER_ORDER_MAX];
    size_t len;

    o->worker = receive(pf_worker, &o->number, bytes, &len);
    if (o->worker < 0)
        return false;
    ck_assert(method_pf_decode(bytes, len, &o->pf));
    return true;
}

static bool next_vm(struct ordered *o)
{
    uint8_t bytes[HELPER_ORDER_MAX];
    size_t len;

    o->worker = receive(vm_worker, &o->number, bytes, &len);
    if (o->worker < 0)
        return false;
    ck_assert(method_vm_decode(bytes, len, &o->vm));
    return true;
}

static void reply(int fd, uint64_t number, const struct method_done *done)
{
    uint8_t frame[9 + HELPER_ANSWER_MAX];
    struct hf_writer w = hf_writer_on(frame, sizeof frame);
    size_t len;

    hf_put_u64(&w, number);
    hf_put_u8(&w, HF_OK);
    len = method_done_encode(done, frame + 9, HELPER_ANSWER_MAX);
    ck_assert_int_eq(send(fd, frame, 9 + len, 0), (ssize_t)(9 + len));
}

static void reply_pf(const struct ordered *o, enum flip_rung rung, bool is_unsupported)
{
    struct method_done done = {
        .rung = rung, .is_unsupported = is_unsupported, .vfs_count = o->pf.vfs_count};

    memset(done.vf, (int)rung, done.vfs_count);
    reply(pf_worker[o->worker], o->number, &done);
    pass(1);
}

static void reply_vm(const struct ordered *o, enum flip_rung rung)
{
    struct method_done done = {.rung = rung};

    reply(vm_worker[o->worker], o->number, &done);
    pass(1);
}

START_TEST(one_message_for_all_vfs_the_most_important_first)
{
    struct ordered o;

    vm_with_vfs(1, 0, 4);
    vm_with_vfs(2, 9, 5);
    vm_with_vfs(3, 5, 6);
    judged(A, HF_PF_DOWN, HF_NIC_CARRIER);
    ck_assert(next_pf(&o));
    ck_assert_int_eq(o.pf.job, METHOD_VF_LINK);
    ck_assert(o.pf.is_off);
    ck_assert_int_eq(o.pf.ifindex, 11);
    ck_assert_uint_eq(o.pf.vfs_count, 3);
    ck_assert_uint_eq(o.pf.vf[0], 5);
    ck_assert_uint_eq(o.pf.vf[1], 6);
    ck_assert_uint_eq(o.pf.vf[2], 4);
    ck_assert_uint_eq(o.pf.off[0], 0x70); /* written down before: VFs 4, 5 and 6 */
    ck_assert(!next_pf(&o));
}
END_TEST

START_TEST(what_nobody_can_confirm_is_unknown)
{
    struct ordered o;

    vm_with_vfs(1, 0, 4);
    judged(A, HF_PF_DOWN, HF_NIC_CARRIER);
    ck_assert(next_pf(&o));
    reply_pf(&o, FLIP_RUNG_DONE, false);
    pass(1);
    ck_assert_uint_eq(flips_count, 1);
    ck_assert_int_eq(flips[0].outcome, HF_FLIP_UNKNOWN);
    ck_assert_int_eq(flips[0].method, HF_FLIP_VF_LINK);
    ck_assert_int_eq(flips[0].cause, HF_NIC_CARRIER);
    ck_assert_uint_eq(flips[0].judged_us, 1500);
    ck_assert_uint_eq(flips[0].ordered_us, 2500);
    ck_assert_uint_eq(flips[0].confirmed_us, UINT32_MAX);
    ck_assert_uint_ge(flips[0].epoch, 1000);
    ck_assert_uint_eq(last_legs.has, 3);
    ck_assert_uint_eq(last_legs.up, 2);
    ck_assert_uint_eq(last_legs.active, HF_FABRICS_MAX);
    pass(40000); /* carried out: nothing is repeated */
    ck_assert_uint_eq(flips_count, 1);
}
END_TEST

START_TEST(a_vf_is_on_again_after_hold_down_and_not_before)
{
    struct ordered o;

    vm_with_vfs(1, 0, 4);
    judged(A, HF_PF_DOWN, HF_NIC_CARRIER);
    ck_assert(next_pf(&o));
    reply_pf(&o, FLIP_RUNG_DONE, false);
    judged(A, HF_PF_HOLD, HF_NIC_RETURNING);
    pass(100);
    /* A reset on the way would have forgotten that it is off. */
    ck_assert(next_pf(&o) && o.pf.is_off);
    reply_pf(&o, FLIP_RUNG_DONE, false);
    pass(100);
    ck_assert(!next_pf(&o));
    judged(A, HF_PF_UP, HF_NIC_NONE);
    ck_assert(next_pf(&o));
    ck_assert(!o.pf.is_off);
    ck_assert_uint_eq(o.pf.vf[0], 4);
    ck_assert_uint_eq(o.pf.off[0], 0);
    reply_pf(&o, FLIP_RUNG_DONE, false);
    pass(5000);
    ck_assert(!next_pf(&o));
    ck_assert_uint_eq(flips_count, 1); /* and no traffic goes back by itself */
}
END_TEST

START_TEST(a_driver_that_refuses_gets_its_pf_down_and_up_again)
{
    struct ordered o;

    place(A, 21, "new");
    vm_with_vfs(1, 0, 4);
    judged(A, HF_PF_DOWN, HF_NIC_BFD);
    ck_assert(next_pf(&o));
    reply_pf(&o, FLIP_RUNG_REFUSED, true);
    pass(1);
    ck_assert(next_pf(&o));
    ck_assert_int_eq(o.pf.job, METHOD_PF_ADMIN);
    ck_assert(o.pf.is_off);
    ck_assert(nicbond_pf_is_ours(nb, A));
    reply_pf(&o, FLIP_RUNG_DONE, false);
    pass(1);
    ck_assert_uint_eq(flips_count, 1);
    ck_assert_int_eq(flips[0].method, HF_FLIP_PF_DOWN);
    pass(29000);
    ck_assert(!next_pf(&o));
    pass(1001);
    ck_assert(next_pf(&o));
    ck_assert_int_eq(o.pf.job, METHOD_PF_ADMIN);
    ck_assert(!o.pf.is_off);
    reply_pf(&o, FLIP_RUNG_DONE, false);
    ck_assert(!nicbond_pf_is_ours(nb, A));
    /* It is remembered: the next flip begins with the PF. */
    judged(A, HF_PF_UP, HF_NIC_NONE);
    judged(A, HF_PF_DOWN, HF_NIC_BFD);
    ck_assert(next_pf(&o));
    ck_assert_int_eq(o.pf.job, METHOD_PF_ADMIN);
}
END_TEST

START_TEST(igb_is_known_to_have_no_link_state)
{
    struct ordered o;

    place(A, 21, "igb");
    vm_with_vfs(1, 0, 4);
    judged(A, HF_PF_DOWN, HF_NIC_CARRIER);
    ck_assert(next_pf(&o));
    ck_assert_int_eq(o.pf.job, METHOD_PF_ADMIN);
}
END_TEST

START_TEST(a_card_that_hangs_costs_a_deadline_and_is_put_right_later)
{
    struct ordered hung, o;

    vm_with_vfs(1, 0, 4);
    judged(A, HF_PF_DOWN, HF_NIC_MC_TIMEOUT);
    ck_assert(next_pf(&hung));
    pass(198);
    ck_assert(!next_pf(&o));
    pass(3);
    ck_assert(next_pf(&o)); /* the next rung, by the other worker */
    ck_assert_int_eq(o.pf.job, METHOD_PF_ADMIN);
    ck_assert_int_ne(o.worker, hung.worker);
    pass(200);
    ck_assert_uint_eq(flips_count, 1);
    ck_assert_int_eq(flips[0].outcome, HF_FLIP_UNKNOWN);
    ck_assert_uint_eq(helper_wanted(&nb->pf_pool), HELPER_IDLE_WANTED);
    /* Both do answer, ten seconds later: everything is ordered as it is wished now. */
    judged(A, HF_PF_UP, HF_NIC_NONE);
    pass(10000);
    reply_pf(&hung, FLIP_RUNG_DONE, false);
    reply_pf(&o, FLIP_RUNG_DONE, false);
    ck_assert(next_pf(&hung) && next_pf(&o));
    ck_assert(!hung.pf.is_off && !o.pf.is_off);
}
END_TEST

START_TEST(a_guest_that_sends_by_the_other_leg_confirms)
{
    struct ordered o;
    int fd[HF_FABRICS_MAX];

    vm_with_taps(1, fd);
    set_count(fd[A], 100);
    pass(1100); /* seen: it sends by a */
    ck_assert_uint_eq(last_legs.active, A);
    judged(A, HF_PF_DOWN, HF_NIC_CARRIER);
    ck_assert(next_vm(&o));
    ck_assert_int_eq(o.vm.job, METHOD_LINK);
    ck_assert(o.vm.is_off);
    ck_assert_str_eq(o.vm.name, "vm1");
    ck_assert_uint_eq(o.vm.mac.byte[5], 10);
    reply_vm(&o, FLIP_RUNG_DONE);
    set_count(fd[B], 1);
    pass(5);
    ck_assert_uint_eq(flips_count, 0); /* one packet may be a stray */
    set_count(fd[B], 2);
    pass(1);
    ck_assert_uint_eq(flips_count, 1);
    ck_assert_int_eq(flips[0].outcome, HF_FLIP_FLIPPED);
    ck_assert_int_eq(flips[0].method, HF_FLIP_LINK);
    ck_assert_uint_ne(flips[0].confirmed_us, UINT32_MAX);
    pass(1);
    ck_assert_uint_eq(last_legs.active, B);
    judged(A, HF_PF_HOLD, HF_NIC_RETURNING);
    pass(100);
    ck_assert(!next_vm(&o));
    judged(A, HF_PF_UP, HF_NIC_NONE);
    ck_assert(next_vm(&o));
    ck_assert(!o.vm.is_off);
}
END_TEST

START_TEST(a_vf_that_vanished_is_refused_alone)
{
    struct method_done done = {.rung = FLIP_RUNG_REFUSED, .vfs_count = 2};
    struct ordered o;

    vm_with_vfs(1, 1, 4);
    vm_with_vfs(2, 0, 5);
    judged(A, HF_PF_DOWN, HF_NIC_CARRIER);
    ck_assert(next_pf(&o));
    done.vf[0] = FLIP_RUNG_REFUSED;
    done.vf[1] = FLIP_RUNG_DONE;
    reply(pf_worker[o.worker], o.number, &done);
    pass(2);
    ck_assert_uint_eq(flips_count, 1);
    ck_assert_uint_eq(flips[0].uid, 2);
    ck_assert(next_pf(&o)); /* VM 1's next rung */
    ck_assert_int_eq(o.pf.job, METHOD_PF_ADMIN);
}
END_TEST

START_TEST(the_vf_of_a_vm_that_ended_does_not_stay_off)
{
    struct ordered o;

    vm_with_vfs(1, 0, 4);
    judged(A, HF_PF_DOWN, HF_NIC_CARRIER);
    ck_assert(next_pf(&o));
    reply_pf(&o, FLIP_RUNG_DONE, false);
    nicbond_vm_gone(nb, 1, now);
    ck_assert_ptr_null(nicbond_vm(nb, 1));
    pass(1);
    ck_assert(next_pf(&o));
    ck_assert(!o.pf.is_off);
    ck_assert_uint_eq(o.pf.vfs_count, 1);
    ck_assert_uint_eq(o.pf.vf[0], 4);
    reply_pf(&o, FLIP_RUNG_DONE, false);
    pass(40000);
    ck_assert(!next_pf(&o));
}
END_TEST

START_TEST(what_an_earlier_run_left_off_is_put_on)
{
    struct flips_entry left = {.epoch = 9, .is_pf_down = true, .vfs = {0x30}};
    struct ordered o;

    vm_with_vfs(7, 0, 1);
    nicbond_pf_left(nb, A, &left);
    vm_with_vfs(1, 0, 4); /* owns one of the two; the other is nobody's */
    judged(A, HF_PF_UP, HF_NIC_NONE);
    pass(3);
    ck_assert(next_pf(&o));
    while (o.pf.job != METHOD_VF_LINK) {
        ck_assert(!o.pf.is_off);
        reply_pf(&o, FLIP_RUNG_DONE, false);
        ck_assert(next_pf(&o));
    }
    ck_assert(!o.pf.is_off);
    reply_pf(&o, FLIP_RUNG_DONE, false);
    pass(40000);
    while (next_pf(&o)) {
        ck_assert(!o.pf.is_off);
        reply_pf(&o, FLIP_RUNG_DONE, false);
    }
    ck_assert_int_eq(nicbond_vm(nb, 1)->leg[A].is, NICBOND_ON);
    ck_assert_uint_eq(nb->pf[A].orphans[0], 0);
    ck_assert_int_eq(nb->pf[A].admin, NICBOND_ON);
}
END_TEST

START_TEST(an_operators_order_is_answered_by_its_number)
{
    struct ordered o;
    int fd[HF_FABRICS_MAX];

    vm_with_taps(1, fd);
    set_count(fd[A], 100);
    pass(1100);
    nicbond_ordered(nb, 1, A, 70, now);
    pass(1);
    ck_assert_uint_eq(flips_count, 1);
    ck_assert_uint_eq(flip_orders[0], 70);
    ck_assert_int_eq(flips[0].outcome, HF_FLIP_ALREADY);
    nicbond_ordered(nb, 99, A, 71, now);
    pass(1);
    ck_assert_uint_eq(flip_orders[1], 71);
    ck_assert_int_eq(flips[1].outcome, HF_FLIP_FAILED);
    nicbond_ordered(nb, 1, B, 72, now);
    pass(1);
    ck_assert(next_vm(&o));
    ck_assert(o.vm.is_off);
    reply_vm(&o, FLIP_RUNG_DONE);
    set_count(fd[B], 9);
    pass(2);
    ck_assert_uint_eq(flips_count, 3);
    ck_assert_uint_eq(flip_orders[2], 72);
    ck_assert_int_eq(flips[2].outcome, HF_FLIP_FLIPPED);
    ck_assert_uint_eq(flips[2].to, B);
    ck_assert(next_vm(&o)); /* and the leg it left is on again: it is healthy */
    ck_assert(!o.vm.is_off);
}
END_TEST

START_TEST(both_dead_is_told_and_nothing_is_ordered)
{
    struct ordered o;

    vm_with_vfs(1, 0, 4);
    judged(A, HF_PF_DOWN, HF_NIC_CARRIER);
    ck_assert(next_pf(&o));
    judged(B, HF_PF_DOWN, HF_NIC_CARRIER);
    ck_assert_uint_eq(flips_count, 1);
    ck_assert_int_eq(flips[0].outcome, HF_FLIP_FAILED);
    pass(1);
    ck_assert_uint_eq(last_legs.up, 0);
    reply_pf(&o, FLIP_RUNG_DONE, false);
    pass(5);
    ck_assert(!next_pf(&o));
    /* b is back first: it is taken although its hold-down runs. */
    judged(B, HF_PF_HOLD, HF_NIC_RETURNING);
    pass(2);
    ck_assert_int_eq(nicbond_vm(nb, 1)->bond.active, A);
    pass(5);
    ck_assert_uint_eq(flips_count, 2); /* a's VF is off already: nothing has to be ordered */
}
END_TEST

START_TEST(without_a_worker_the_outcome_is_unknown)
{
    vm_with_vfs(1, 0, 4);
    for (unsigned i = 0; i < 2; i++)
        close(pf_worker[i]);
    pass(2);
    judged(A, HF_PF_DOWN, HF_NIC_CARRIER);
    pass(500);
    ck_assert_uint_eq(flips_count, 1);
    ck_assert_int_eq(flips[0].outcome, HF_FLIP_UNKNOWN);
    ck_assert_uint_eq(flips[0].ordered_us, UINT32_MAX);
    ck_assert_uint_eq(helper_wanted(&nb->pf_pool), HELPER_IDLE_WANTED);
}
END_TEST

START_TEST(news_that_find_no_room_come_later)
{
    struct ordered o;

    is_full = true;
    vm_with_vfs(1, 0, 4);
    judged(A, HF_PF_DOWN, HF_NIC_CARRIER);
    ck_assert(next_pf(&o));
    reply_pf(&o, FLIP_RUNG_DONE, false);
    pass(5);
    ck_assert_uint_eq(flips_count + legs_count, 0);
    is_full = false;
    pass(1);
    ck_assert_uint_eq(flips_count, 1);
    ck_assert_uint_eq(legs_count, 1);
}
END_TEST

START_TEST(a_vm_with_one_leg_is_told_and_left_alone)
{
    struct nicbond_news news = {.uid = 5, .start_no = 2, .name = "one", .sent_fd = {-1, -1}};
    struct ordered o;

    news.leg[B].kind = HF_LEG_VF;
    ck_assert(nicbond_vm_here(nb, &news, now));
    pass(1);
    ck_assert_uint_eq(last_legs.has, 2);
    ck_assert_uint_eq(last_legs.active, B);
    judged(B, HF_PF_DOWN, HF_NIC_CARRIER);
    pass(1);
    ck_assert_uint_eq(last_legs.up, 0);
    ck_assert(!next_pf(&o));
}
END_TEST

/* A VM with taps whose links an earlier run of us left off; has[] says which legs there are. */
static void vm_left_off(hf_vm_uid uid, hf_legs has)
{
    struct nicbond_news news = {.uid = uid, .start_no = 1, .sent_fd = {-1, -1}};

    (void)snprintf(news.name, sizeof news.name, "vm%u", uid);
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        if ((has & (1u << f)) == 0)
            continue;
        news.leg[f].kind = HF_LEG_BRIDGE;
        news.leg[f].mac.byte[5] = (uint8_t)(10 * uid + f);
        news.is_ours_off[f] = true;
    }
    ck_assert(nicbond_vm_here(nb, &news, now));
    pass(1);
}

START_TEST(a_single_leg_that_was_left_off_is_on_whatever_its_hold_down)
{
    static const enum hf_pf state[] = {HF_PF_HOLD, HF_PF_DOWN, HF_PF_UP};
    struct ordered o;

    judged(B, HF_PF_DOWN, HF_NIC_CARRIER);
    judged(B, state[_i], HF_NIC_RETURNING);
    vm_left_off(5, 1u << B);
    ck_assert(next_vm(&o));
    ck_assert(!o.vm.is_off);
    reply_vm(&o, FLIP_RUNG_DONE);
    ck_assert(!nicbond_vm(nb, 5)->leg[B].wants_off);
    judged(B, HF_PF_DOWN, HF_NIC_CARRIER);
    judged(B, HF_PF_HOLD, HF_NIC_RETURNING);
    pass(100);
    ck_assert(!next_vm(&o));
    ck_assert_uint_eq(last_legs.up, 1u << B);
}
END_TEST

START_TEST(the_vf_of_a_vm_with_one_leg_is_on_during_hold_down)
{
    struct flips_entry left = {.epoch = 9, .vfs = {0x10}};
    struct nicbond_news news = {.uid = 5, .start_no = 2, .name = "one", .sent_fd = {-1, -1}};
    struct ordered o;

    judged(A, HF_PF_DOWN, HF_NIC_CARRIER);
    judged(A, HF_PF_HOLD, HF_NIC_RETURNING);
    nicbond_pf_left(nb, A, &left);
    news.leg[A].kind = HF_LEG_VF;
    news.leg[A].vf = 4;
    ck_assert(nicbond_vm_here(nb, &news, now));
    pass(1);
    ck_assert(next_pf(&o));
    ck_assert(!o.pf.is_off);
    ck_assert_uint_eq(o.pf.vf[0], 4);
}
END_TEST

START_TEST(one_of_two_legs_that_were_left_off_is_on_at_once)
{
    struct ordered o;

    judged(A, HF_PF_DOWN, HF_NIC_CARRIER);
    judged(B, HF_PF_DOWN, HF_NIC_CARRIER);
    judged(A, HF_PF_HOLD, HF_NIC_RETURNING);
    judged(B, HF_PF_HOLD, HF_NIC_RETURNING);
    vm_left_off(5, 3);
    ck_assert(next_vm(&o));
    ck_assert(!o.vm.is_off);
    reply_vm(&o, FLIP_RUNG_DONE);
    ck_assert(!next_vm(&o)); /* the other one waits: the VM has something now */
    judged(B, HF_PF_UP, HF_NIC_NONE);
    ck_assert(next_vm(&o));
    ck_assert(!o.vm.is_off);
}
END_TEST

/* Every order at the VMs' workers is carried out. */
static void carry_out_all(unsigned ms)
{
    struct ordered o;

    for (unsigned i = 0; i < ms; i++) {
        while (next_vm(&o))
            reply_vm(&o, FLIP_RUNG_DONE);
        pass(1);
    }
}

/* Whatever legs do, in any order: a VM one of whose PFs carries has a leg there that is wished on,
 * and is on once orders were carried out. */
START_TEST(no_vm_is_kept_off_everything_that_carries)
{
    static const enum hf_pf state[] = {HF_PF_DOWN, HF_PF_HOLD, HF_PF_UP};
    uint32_t dice = 12345u + (uint32_t)_i;
    enum hf_pf is[HF_FABRICS_MAX];

    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        is[f] = state[(unsigned)_i / (f == 0 ? 1 : 3) % 3];
        judged(f, HF_PF_DOWN, HF_NIC_CARRIER);
        judged(f, is[f], HF_NIC_RETURNING);
    }
    vm_left_off(1, 3);
    vm_left_off(2, 1);
    vm_left_off(3, 2);
    for (unsigned step = 0; step < 60; step++) {
        hf_fabric f;

        flips_count = 0;
        carry_out_all(250);
        for (hf_vm_uid uid = 1; uid <= 3; uid++) {
            const struct nicbond_vm *vm = nicbond_vm(nb, uid);
            bool carries = false, is_on = false;

            for (f = 0; f < HF_FABRICS_MAX; f++) {
                if ((vm->has & (1u << f)) == 0 || is[f] == HF_PF_DOWN)
                    continue;
                carries = true;
                is_on = is_on || (!vm->leg[f].wants_off && vm->leg[f].is == NICBOND_ON);
            }
            ck_assert_msg(!carries || is_on, "run %d step %u vm %u", _i, step, uid);
        }
        dice = dice * 1664525u + 1013904223u;
        f = (hf_fabric)(dice >> 30 & 1);
        is[f] = state[(dice >> 20) % 3];
        judged(f, is[f], HF_NIC_CARRIER);
    }
}
END_TEST

/* A driver without link state: its PF is put down for a pair, and a VM beside it has this leg only.
 */
START_TEST(a_pf_that_is_put_down_comes_up_soon_for_a_vm_with_one_leg)
{
    struct nicbond_news one = {.uid = 5, .start_no = 2, .name = "one", .sent_fd = {-1, -1}};
    struct ordered o;

    place(A, 21, "igb");
    one.leg[A].kind = HF_LEG_VF;
    one.leg[A].vf = 1;
    ck_assert(nicbond_vm_here(nb, &one, now));
    vm_with_vfs(1, 0, 4);
    judged(A, HF_PF_DOWN, HF_NIC_BFD);
    ck_assert(next_pf(&o));
    ck_assert_int_eq(o.pf.job, METHOD_PF_ADMIN);
    ck_assert(o.pf.is_off);
    reply_pf(&o, FLIP_RUNG_DONE, false);
    pass(NICBOND_NOTICE_MS - 100); /* as long as VFs need to notice */
    ck_assert(!next_pf(&o));
    pass(200);
    ck_assert(next_pf(&o));
    ck_assert_int_eq(o.pf.job, METHOD_PF_ADMIN);
    ck_assert(!o.pf.is_off);
}
END_TEST

/* A judge of PF a in the loop, as loop.c has it. */
struct judged_pf {
    struct judge_nic judge;
    struct nic_sample sample;
};

static void open_judge(struct judged_pf *pf)
{
    static const struct nic_limits limits = {.hold_down_ms = 30000, .hold_down_max_ms = 600000};

    *pf = (struct judged_pf){.sample = {.is_seen = true,
                                        .is_present = NIC_YES,
                                        .has_driver = NIC_YES,
                                        .is_admin_up = NIC_YES,
                                        .has_carrier = NIC_YES}};
    judge_nic_init(&pf->judge, &limits);
}

/* Rounds of a millisecond each, with its judgement. */
static void pass_judged(struct judged_pf *pf, unsigned ms)
{
    for (unsigned i = 0; i < ms; i++) {
        struct nic_verdict verdict;

        pf->sample.is_admin_ours = nicbond_pf_is_ours(nb, A);
        judge_nic_step(&pf->judge, &pf->sample, hf_time_add_ms(now, 1), &verdict);
        if (verdict.has_changed)
            nicbond_pf_judged(nb, A, &verdict, hf_time_add_ms(now, 1));
        pass(1);
    }
}

static void switch_pf(struct judged_pf *pf, enum nic_fact to)
{
    pf->sample.is_admin_up = pf->sample.has_carrier = to;
    pf->sample.carrier_downs++;
}

START_TEST(a_card_that_recovers_while_we_have_it_down_is_no_leg_yet)
{
    struct judged_pf pf;
    struct ordered o;

    place(A, 21, "igb");
    vm_with_vfs(1, 0, 4);
    open_judge(&pf);
    pass_judged(&pf, 1);
    judge_nic_hear(&pf.judge, NIC_SIGNAL_AER_BEGIN, now);
    pass_judged(&pf, 2);
    ck_assert(next_pf(&o) && o.pf.job == METHOD_PF_ADMIN && o.pf.is_off);
    switch_pf(&pf, NIC_NO);
    reply_pf(&o, FLIP_RUNG_DONE, false);
    judge_nic_hear(&pf.judge, NIC_SIGNAL_AER_RECOVERED, now);
    for (unsigned i = 0; i < 29; i++) {
        pass_judged(&pf, 1000);
        ck_assert(nb->pf[A].level == BOND_LEG_DOWN);
        ck_assert_int_eq(nicbond_vm(nb, 1)->bond.state, BOND_DOUBT);
        ck_assert_uint_eq(last_legs.up, 1u << B);
    }
    pass_judged(&pf, 1100);
    ck_assert(next_pf(&o) && o.pf.job == METHOD_PF_ADMIN && !o.pf.is_off);
    pf.sample.is_admin_up = NIC_YES;
    reply_pf(&o, FLIP_RUNG_DONE, false);
    pass_judged(&pf, 2000); /* no carrier yet */
    ck_assert(nb->pf[A].level == BOND_LEG_DOWN);
    switch_pf(&pf, NIC_YES);
    pass_judged(&pf, 1);
    ck_assert(nb->pf[A].level == BOND_LEG_HELD);
    pass_judged(&pf, 30001);
    ck_assert(nb->pf[A].level == BOND_LEG_UP);
    ck_assert_uint_eq(last_legs.up, 3);
    ck_assert_uint_eq(flips_count, 1); /* and nothing was done twice */
    ck_assert(!next_pf(&o));
}
END_TEST

START_TEST(a_pf_that_came_back_is_not_put_down)
{
    struct ordered o;

    place(A, 21, "new");
    vm_with_vfs(1, 0, 4);
    judged(A, HF_PF_DOWN, HF_NIC_BFD);
    ck_assert(next_pf(&o));
    ck_assert_int_eq(o.pf.job, METHOD_VF_LINK);
    judged(A, HF_PF_UP, HF_NIC_NONE); /* and others are on it again, perhaps */
    pass(250);
    ck_assert_uint_eq(flips_count, 1);
    ck_assert_int_eq(flips[0].outcome, HF_FLIP_UNKNOWN);
    ck_assert(next_pf(&o)); /* its VF is on, whatever became of the late order */
    ck_assert(o.pf.job == METHOD_VF_LINK && !o.pf.is_off);
    ck_assert(!next_pf(&o));
    ck_assert(!nicbond_pf_is_ours(nb, A));
}
END_TEST

START_TEST(a_wish_to_put_a_pf_down_ends_with_its_flip)
{
    struct ordered o;

    place(A, 21, "igb");
    vm_with_vfs(1, 0, 4);
    for (unsigned i = 0; i < 2; i++)
        close(pf_worker[i]);
    pf_worker[0] = pf_worker[1] = -1;
    pass(2);
    judged(A, HF_PF_DOWN, HF_NIC_BFD);
    ck_assert(nicbond_pf_is_ours(nb, A));
    pass(500); /* nobody could take it */
    ck_assert_uint_eq(flips_count, 1);
    ck_assert(!nicbond_pf_is_ours(nb, A));
    judged(A, HF_PF_HOLD, HF_NIC_RETURNING);
    pf_worker[0] = join(&nb->pf_pool);
    pass(50);
    ck_assert(!next_pf(&o));
}
END_TEST

START_TEST(a_pf_nobody_knows_moves_nothing)
{
    struct ordered o;

    vm_with_vfs(1, 0, 4);
    judged(A, HF_PF_UNKNOWN, HF_NIC_NONE);
    judged(A, HF_PF_SUSPECT, HF_NIC_HOT);
    pass(5);
    ck_assert(!next_pf(&o));
    ck_assert_int_eq(nicbond_vm(nb, 1)->bond.state, BOND_UNSURE);
}
END_TEST

/* ---- with a helper in the guest, played here ---- */

static int guest_fd; /* its end */

static void say(const struct hf_guest_message *message)
{
    uint8_t frame[GUEST_FRAME_MAX];
    size_t len = guest_frame_encode(message, frame);

    ck_assert_int_eq(send(guest_fd, frame, len, 0), (ssize_t)len);
    now = hf_time_add_ms(now, 1);
    nicbond_guest_ready(nb, 0, EPOLLIN, now);
    pass(1);
}

static void say_bond(uint8_t active)
{
    struct hf_guest_message bond = {.kind = HF_GUEST_BOND};

    (void)snprintf(bond.u.bond.bond.name, sizeof bond.u.bond.bond.name, "bond0");
    bond.u.bond.bond.mode = 1;
    bond.u.bond.bond.active = active;
    bond.u.bond.bond.has_carrier = true;
    bond.u.bond.bond.slaves_count = 2;
    for (uint8_t i = 0; i < 2; i++) {
        struct hf_guest_slave *slave = &bond.u.bond.bond.slave[i];

        (void)snprintf(slave->name, sizeof slave->name, "eth%u", i);
        slave->index = 2u + i;
        slave->mac.byte[5] = slave->perm_mac.byte[5] = (uint8_t)(10 + i);
        slave->is_active = i == active;
        slave->has_carrier = true;
    }
    say(&bond);
}

/* VM 1 with VFs, its helper connected, its bond on a. */
static void vm_with_helper(char path[64])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct hf_guest_message hello = {.kind = HF_GUEST_HELLO, .u.hello = {.program = "1"}};
    struct nicbond_news news = {.uid = 1, .start_no = 1, .name = "vm1", .sent_fd = {-1, -1}};
    int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(path, 64, "/tmp/test_nicbond.%d", (int)getpid());
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    ck_assert_int_eq(bind(door, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(door, 1), 0);
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        news.leg[f].kind = HF_LEG_VF;
        news.leg[f].vf = 3;
        news.leg[f].mac.byte[5] = (uint8_t)(10 + f);
    }
    (void)snprintf(news.guest, sizeof news.guest, "%s", path);
    ck_assert(nicbond_vm_here(nb, &news, now));
    guest_fd = accept(door, NULL, NULL);
    ck_assert_int_ge(guest_fd, 0);
    close(door);
    ck_assert_int_eq(unlink(path), 0);
    pass(2);
    say(&hello);
    say_bond(0);
    ck_assert(last_legs.has_helper);
    ck_assert_uint_eq(last_legs.active, A);
}

/* The order that the helper has got. */
static struct hf_guest_message ordered_active(void)
{
    struct guest_stream stream = {.len = 0};
    struct hf_guest_message message = {.kind = HF_GUEST_HELLO};
    uint8_t bytes[1024];
    ssize_t len = recv(guest_fd, bytes, sizeof bytes, MSG_DONTWAIT);

    ck_assert_int_gt(len, 0);
    (void)guest_stream_put(&stream, bytes, (size_t)len);
    while (message.kind != HF_GUEST_SET_ACTIVE)
        ck_assert(guest_stream_next(&stream, &message));
    return message;
}

START_TEST(a_helper_moves_it_while_the_card_still_thinks)
{
    struct hf_guest_message got, ack = {.kind = HF_GUEST_ACK};
    struct ordered o;
    char path[64];

    vm_with_helper(path);
    judged(A, HF_PF_DOWN, HF_NIC_BFD);
    ck_assert(next_pf(&o)); /* beside it: never answered */
    got = ordered_active();
    ck_assert_uint_eq(got.u.set_active.mac.byte[5], 11);
    ck_assert_uint_ge(got.u.set_active.number, 1000);
    ack.u.ack.number = got.u.set_active.number;
    ack.u.ack.outcome = HF_GUEST_DONE;
    ack.u.ack.active.byte[5] = 11;
    say(&ack);
    ck_assert_uint_eq(flips_count, 1);
    ck_assert_int_eq(flips[0].outcome, HF_FLIP_FLIPPED);
    ck_assert_int_eq(flips[0].method, HF_FLIP_GUEST);
    ck_assert_uint_eq(last_legs.active, B);
    pass(500); /* the card's silence ends as late; nothing more is told of this flip */
    ck_assert_uint_eq(flips_count, 1);
    close(guest_fd);
}
END_TEST

START_TEST(a_guest_that_says_it_moved_before_any_order_is_believed)
{
    struct ordered o;
    char path[64];

    vm_with_helper(path);
    say_bond(1);
    ck_assert_uint_eq(last_legs.active, B);
    judged(A, HF_PF_DOWN, HF_NIC_CARRIER);
    ck_assert(!next_pf(&o));
    ck_assert_uint_eq(flips_count, 0);
    close(guest_fd);
}
END_TEST

START_TEST(a_guest_that_lies_harms_nobody_but_itself)
{
    unsigned of_others = 0;
    struct hf_guest_message got, ack = {.kind = HF_GUEST_ACK};
    struct ordered o;
    char path[64];

    vm_with_helper(path);
    vm_with_vfs(2, 0, 4);
    judged(A, HF_PF_DOWN, HF_NIC_CARRIER);
    ck_assert(next_pf(&o));
    got = ordered_active();
    ack.u.ack.number = got.u.set_active.number + 1; /* nobody asked that */
    ack.u.ack.outcome = HF_GUEST_DONE;
    ack.u.ack.active.byte[5] = 11;
    say(&ack);
    ck_assert_uint_eq(flips_count, 0);
    ack.u.ack.number = got.u.set_active.number;
    ack.u.ack.active.byte[5] = 10; /* done, and on the old one */
    say(&ack);
    ck_assert_uint_eq(flips_count, 0);
    /* It says over and over that it is on the dead leg. */
    for (unsigned i = 0; i < 200; i++)
        say_bond(i % 2 == 0 ? 0 : 1);
    for (unsigned i = 0; i < flips_count; i++)
        of_others += flips[i].uid != 1;
    ck_assert_uint_le(flips_count, 4);
    ck_assert_uint_le(of_others, 1); /* VM 2's own flip, at its own deadline */
    close(guest_fd);
}
END_TEST

HF_TEST_MAIN_WITH("nicbond/nicbond", setup, teardown,
                  HF_CASE(one_message_for_all_vfs_the_most_important_first),
                  HF_CASE(what_nobody_can_confirm_is_unknown),
                  HF_CASE(a_vf_is_on_again_after_hold_down_and_not_before),
                  HF_CASE(a_driver_that_refuses_gets_its_pf_down_and_up_again),
                  HF_CASE(igb_is_known_to_have_no_link_state),
                  HF_CASE(a_card_that_hangs_costs_a_deadline_and_is_put_right_later),
                  HF_CASE(a_guest_that_sends_by_the_other_leg_confirms),
                  HF_CASE(a_vf_that_vanished_is_refused_alone),
                  HF_CASE(the_vf_of_a_vm_that_ended_does_not_stay_off),
                  HF_CASE(what_an_earlier_run_left_off_is_put_on),
                  HF_CASE(an_operators_order_is_answered_by_its_number),
                  HF_CASE(both_dead_is_told_and_nothing_is_ordered),
                  HF_CASE(without_a_worker_the_outcome_is_unknown),
                  HF_CASE(news_that_find_no_room_come_later),
                  HF_CASE(a_vm_with_one_leg_is_told_and_left_alone),
                  HF_LOOP(a_single_leg_that_was_left_off_is_on_whatever_its_hold_down, 0, 3),
                  HF_CASE(the_vf_of_a_vm_with_one_leg_is_on_during_hold_down),
                  HF_CASE(one_of_two_legs_that_were_left_off_is_on_at_once),
                  HF_LOOP(no_vm_is_kept_off_everything_that_carries, 0, 9),
                  HF_CASE(a_pf_that_is_put_down_comes_up_soon_for_a_vm_with_one_leg),
                  HF_CASE(a_card_that_recovers_while_we_have_it_down_is_no_leg_yet),
                  HF_CASE(a_pf_that_came_back_is_not_put_down),
                  HF_CASE(a_wish_to_put_a_pf_down_ends_with_its_flip),
                  HF_CASE(a_pf_nobody_knows_moves_nothing),
                  HF_CASE(a_helper_moves_it_while_the_card_still_thinks),
                  HF_CASE(a_guest_that_says_it_moved_before_any_order_is_believed),
                  HF_CASE(a_guest_that_lies_harms_nobody_but_itself))
