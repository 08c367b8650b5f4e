#include "agents/guest/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agents/guest/order.h"
#include "supervisord/base/log.h"
#include "supervisord/base/str.h"

enum { NS_PER_US = 1000, MS_PER_S = 1000, BOOT_ID_TEXT = 36 };

/* ---- start ---- */

/* "01234567-89ab-..." as 16 bytes. Zeros: /proc is not there, or says something else. */
static void read_boot_id(const char *path, uint8_t out[16])
{
    char text[BOOT_ID_TEXT];
    unsigned digits = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, text, sizeof text) : -1;

    if (fd >= 0)
        close(fd);
    memset(out, 0, 16);
    for (ssize_t i = 0; i < len && digits < 32; i++) {
        int digit = hf_str_hex_digit(text[i]);

        if (digit < 0)
            continue;
        out[digits / 2] = (uint8_t)(out[digits / 2] << 4 | digit);
        digits++;
    }
    if (digits != 32)
        memset(out, 0, 16);
}

static enum hf_code watch(struct loop *loop, int fd, void *what, struct hf_err *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = what};

    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        return hf_err_set(err, HF_EIO, "epoll: %s", strerror(errno));
    return HF_OK;
}

static int open_signals(void)
{
    sigset_t ends;

    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    if (sigprocmask(SIG_BLOCK, &ends, NULL) != 0)
        return -1;
    return signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

enum hf_code loop_open(struct loop *loop, const struct channel_where *where, const char *wanted,
                       const char *boot_id_path, struct hf_err *err)
{
    hf_time now = hf_clock_now();

    memset(loop, 0, sizeof *loop);
    loop->wanted = wanted;
    loop->must_dump = true;
    loop->dump_at = now;
    loop->words = LOOP_WORDS_MAX;
    loop->words_at = now;
    read_boot_id(boot_id_path, loop->boot_id);
    if (netlink_open(&loop->netlink, err) != HF_OK)
        return err->code;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->signal_fd = open_signals();
    channel_init(&loop->channel, where, loop->epoll_fd, now);
    if (loop->epoll_fd < 0 || loop->signal_fd < 0)
        (void)hf_err_set(err, HF_EIO, "epoll, signalfd: %s", strerror(errno));
    else if (watch(loop, loop->netlink.listen_fd, &loop->netlink, err) == HF_OK &&
             watch(loop, loop->signal_fd, &loop->signal_fd, err) == HF_OK)
        return HF_OK;
    loop_close(loop);
    return err->code;
}

void loop_close(struct loop *loop)
{
    channel_close(&loop->channel);
    netlink_close(&loop->netlink);
    if (loop->signal_fd >= 0)
        close(loop->signal_fd);
    if (loop->epoll_fd >= 0)
        close(loop->epoll_fd);
}

/* ---- to the host ---- */

/* May it say one more word? Answers to orders may always be said: the host numbers them. */
static bool may_speak(struct loop *loop, hf_time now)
{
    if (hf_time_since_ms(now, loop->words_at) >= MS_PER_S) {
        loop->words = LOOP_WORDS_MAX;
        loop->words_at = now;
    }
    if (loop->words == 0)
        return false;
    loop->words--;
    return true;
}

static void say_event(void *user, const struct bond_heard *heard)
{
    struct loop *loop = user;
    struct hf_guest_message m = {
        .kind = HF_GUEST_EVENT,
        .u.event = {.event = heard->event,
                    .monotonic_ns = hf_clock_monotonic_ns(),
                    .wall_ns = hf_clock_wall().ns},
    };

    if (!heard->is_bond || heard->event == 0 || !loop->channel.is_host_there)
        return;
    memcpy(m.u.event.name, heard->name, sizeof m.u.event.name);
    if (!may_speak(loop, hf_clock_now()) || !channel_put(&loop->channel, &m))
        loop->events_lost++;
}

static void say_hello(struct loop *loop)
{
    struct hf_guest_message m = {.kind = HF_GUEST_HELLO};

    memcpy(m.u.hello.boot_id, loop->boot_id, sizeof m.u.hello.boot_id);
    (void)hf_str_copy(m.u.hello.program, sizeof m.u.hello.program, HF_VERSION);
    loop->owes_hello = !channel_put(&loop->channel, &m);
}

static void say_bond(struct loop *loop)
{
    struct hf_guest_message m = {
        .kind = HF_GUEST_BOND,
        .u.bond = {.events_lost = loop->events_lost,
                   .monotonic_ns = hf_clock_monotonic_ns(),
                   .wall_ns = hf_clock_wall().ns,
                   .bond = loop->bond},
    };

    loop->owes_bond = !channel_put(&loop->channel, &m);
}

static void log_bond(const struct hf_guest_bond *bond)
{
    if (bond->name[0] == '\0')
        hf_info("no bond");
    else if (bond->active >= bond->slaves_count)
        hf_info("%s: no active slave of %u", bond->name, bond->slaves_count);
    else
        hf_info("%s: active %s of %u slaves", bond->name, bond->slave[bond->active].name,
                bond->slaves_count);
}

/* A table that may have holes is no picture. */
static void look(struct loop *loop)
{
    struct hf_guest_bond bond;

    if (loop->must_dump)
        return;
    bond_view(&loop->table, loop->wanted, &bond);
    if (bond_is_equal(&bond, &loop->bond))
        return;
    loop->bond = bond;
    loop->owes_bond = true;
    log_bond(&bond);
}

static void say_what_is_owed(struct loop *loop, hf_time now)
{
    look(loop);
    if (!loop->channel.is_host_there)
        return;
    if (loop->owes_hello)
        say_hello(loop);
    if (loop->owes_bond && !loop->owes_hello && !loop->must_dump && may_speak(loop, now))
        say_bond(loop);
    channel_flush(&loop->channel, now);
}

/* ---- from the host ---- */

static bool read_link(void *user, uint32_t index, struct bond_table *table)
{
    struct loop *loop = user;
    struct hf_err err;

    return netlink_read(&loop->netlink, index, table, &err) == HF_OK;
}

static int set_active(void *user, uint32_t bond, uint32_t slave)
{
    struct loop *loop = user;

    return netlink_set_active(&loop->netlink, bond, slave);
}

static void acknowledge(struct loop *loop, const struct order_end *end)
{
    hf_time now = hf_clock_now();
    int64_t took = (now.ns - loop->order_at.ns) / NS_PER_US;
    const struct hf_guest_message m = {
        .kind = HF_GUEST_ACK,
        .u.ack = {.number = loop->order_number,
                  .outcome = end->outcome,
                  .sys_errno = (uint32_t)end->sys_errno,
                  .took_us = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX,
                  .active = end->active},
    };

    loop->has_order = false;
    hf_info("order %llu: %s after %lld us", (unsigned long long)loop->order_number,
            guest_frame_outcome_name(end->outcome), (long long)took);
    (void)channel_put(&loop->channel, &m); /* without an answer the host calls it late */
    channel_flush(&loop->channel, now);
}

static void run_order(struct loop *loop)
{
    const struct order_kernel kernel = {.user = loop, .read = read_link, .set_active = set_active};
    struct order_end end;

    if (!loop->has_order)
        return;
    end = order_run(&kernel, &loop->table, loop->wanted, loop->order_mac);
    acknowledge(loop, &end);
}

static void obey(struct loop *loop, const struct hf_guest_message *m, hf_time now)
{
    const struct order_end superseded = {.outcome = HF_GUEST_SUPERSEDED};

    if (m->kind == HF_GUEST_ASK) {
        if (loop->has_order && loop->order_number <= m->u.ask.void_to)
            acknowledge(loop, &superseded);
        loop->owes_hello = true;
        loop->owes_bond = true;
        if (hf_time_since_ms(now, loop->dumped_at) >= LOOP_DUMP_OLD_MS)
            loop->must_dump = true;
    }
    if (m->kind == HF_GUEST_SET_ACTIVE) {
        if (loop->has_order)
            acknowledge(loop, &superseded);
        loop->has_order = true;
        loop->order_number = m->u.set_active.number;
        loop->order_mac = m->u.set_active.mac;
        loop->order_at = now;
    }
}

static void hear_host(struct loop *loop, uint32_t events, hf_time now)
{
    struct hf_guest_message m;

    for (unsigned i = 0; i < LOOP_READS_MAX; i++) {
        if (channel_ready(&loop->channel, i == 0 ? events : 0, now)) {
            loop->owes_hello = true;
            loop->owes_bond = true;
            loop->has_order = false; /* of a connection that is gone */
            hf_info("the host is there");
        }
        while (channel_next(&loop->channel, &m))
            obey(loop, &m, now);
        if (!loop->channel.may_have_more)
            break;
    }
}

/* ---- from the kernel ---- */

static void hear_kernel(struct loop *loop)
{
    struct hf_err err;
    enum hf_code code = HF_OK;

    for (unsigned i = 0; i < LOOP_HEAR_MAX && code == HF_OK; i++)
        code = netlink_hear(&loop->netlink, &loop->table, say_event, loop, &err);
    if (code == HF_OK || code == HF_EAGAIN)
        return;
    hf_warning("%s", err.text);
    loop->must_dump = true;
}

static void dump(struct loop *loop, hf_time now)
{
    struct hf_err err;

    if (!loop->must_dump || !hf_time_reached(now, loop->dump_at))
        return;
    loop->dump_at = hf_time_add_ms(now, LOOP_DUMP_AGAIN_MS);
    if (netlink_dump(&loop->netlink, &loop->table, &err) != HF_OK) {
        hf_warning("%s", err.text);
        return;
    }
    loop->must_dump = false;
    loop->dumped_at = now;
}

/* ---- the loop ---- */

static void keep_channel(struct loop *loop, hf_time now)
{
    struct hf_err err;

    if (channel_tick(&loop->channel, now, &err) == HF_OK)
        return;
    if (strncmp(loop->complaint, err.text, sizeof loop->complaint - 1) != 0)
        hf_warning("%s; looking again", err.text);
    (void)hf_str_copy(loop->complaint, sizeof loop->complaint, err.text);
}

static int ms_until(hf_time at, hf_time now)
{
    int64_t ms = (at.ns - now.ns + HF_NS_PER_MS - 1) / HF_NS_PER_MS;

    return ms < 0 ? 0 : ms > MS_PER_S ? MS_PER_S : (int)ms;
}

/* -1: only an event can make it necessary. */
static int wait_ms(const struct loop *loop, hf_time now)
{
    hf_time at = {INT64_MAX};

    if (loop->channel.may_have_more)
        return 0;
    if (loop->channel.fd < 0)
        at = loop->channel.retry_at;
    if (loop->must_dump && loop->dump_at.ns < at.ns)
        at = loop->dump_at;
    /* It has said enough for this second. (A host that reads again is an event.) */
    if (loop->channel.is_host_there && loop->owes_bond && loop->words == 0) {
        hf_time words_at = hf_time_add_ms(loop->words_at, MS_PER_S);

        if (words_at.ns < at.ns)
            at = words_at;
    }
    return at.ns == INT64_MAX ? -1 : ms_until(at, now);
}

void loop_run(struct loop *loop)
{
    struct epoll_event event[LOOP_EVENTS_MAX];
    bool must_end = false;

    while (!must_end) {
        hf_time now = hf_clock_now();
        uint32_t host_events = 0;
        int count;

        keep_channel(loop, now);
        dump(loop, now);
        count = epoll_wait(loop->epoll_fd, event, LOOP_EVENTS_MAX, wait_ms(loop, now));
        now = hf_clock_now();
        for (int i = 0; i < count; i++) {
            if (event[i].data.ptr == &loop->channel)
                host_events = event[i].events;
            else if (event[i].data.ptr == &loop->netlink)
                hear_kernel(loop);
            else
                must_end = true;
        }
        /* After the kernel: what it told decides what an order finds. */
        hear_host(loop, host_events, now);
        run_order(loop);
        dump(loop, now);
        say_what_is_owed(loop, now);
    }
}
