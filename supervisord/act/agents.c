#include "supervisord/act/agents.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/log.h"
#include "supervisord/base/str.h"

static const hf_time never = {INT64_MAX};

struct outgoing {
    struct hf_report report;
    int ride; /* owned; -1: none */
};

struct seat { /* one kind of agent */
    int fd;
    pid_t pid;
    bool is_fresh, was_connected;
    hf_time heard, ask_at;
    hf_wall since;
    char why[HF_REASON_MAX + 1];
    bool waits_for_room;
    unsigned first, count; /* ring */
    struct outgoing queue[AGENTS_QUEUE_MAX];
};

struct newcomer {
    int fd;
    pid_t pid;
    hf_time until;
};

struct agents {
    struct agents_ports ports;
    int listen_fd;
    char group[HF_NAME_MAX + 1];
    struct newcomer newcomer[AGENTS_NEWCOMERS_MAX];
    struct seat seat[HF_AGENT_KINDS]; /* [0] unused */
};

static const char *kind_name(enum hf_agent_kind kind)
{
    switch (kind) {
    case HF_AGENT_HOST:
        return "host";
    case HF_AGENT_VM:
        return "vm";
    case HF_AGENT_FENCE:
        return "fence";
    case HF_AGENT_FEEDER:
        return "feeder";
    case HF_AGENT_NIC:
        return "nic";
    case HF_AGENT_KINDS:
        break;
    }
    return "?";
}

enum hf_code agents_open(struct agents **out, int listen_fd, const char *group,
                         const struct agents_ports *ports, struct hf_err *err)
{
    struct agents *a = calloc(1, sizeof *a);

    if (a == NULL)
        return hf_err_set(err, HF_EFULL, "agents: no memory");
    a->ports = *ports;
    a->listen_fd = listen_fd;
    (void)hf_str_copy(a->group, sizeof a->group, group != NULL ? group : "");
    for (unsigned i = 0; i < AGENTS_NEWCOMERS_MAX; i++)
        a->newcomer[i].fd = -1;
    for (unsigned i = 0; i < HF_AGENT_KINDS; i++) {
        a->seat[i].fd = -1;
        (void)hf_str_copy(a->seat[i].why, sizeof a->seat[i].why, "never connected");
    }
    if (listen_fd >= 0)
        a->ports.watch(a->ports.user, listen_fd, false);
    *out = a;
    return HF_OK;
}

static void empty_queue(struct seat *seat)
{
    for (; seat->count > 0; seat->count--) {
        if (seat->queue[seat->first].ride >= 0)
            close(seat->queue[seat->first].ride);
        seat->first = (seat->first + 1) % AGENTS_QUEUE_MAX;
    }
}

static void close_fd(struct agents *a, int *fd)
{
    if (*fd < 0)
        return;
    a->ports.unwatch(a->ports.user, *fd);
    close(*fd);
    *fd = -1;
}

void agents_close(struct agents *a)
{
    if (a == NULL)
        return;
    for (unsigned i = 0; i < AGENTS_NEWCOMERS_MAX; i++)
        close_fd(a, &a->newcomer[i].fd);
    for (unsigned i = 0; i < HF_AGENT_KINDS; i++) {
        close_fd(a, &a->seat[i].fd);
        empty_queue(&a->seat[i]);
    }
    if (a->listen_fd >= 0)
        a->ports.unwatch(a->ports.user, a->listen_fd);
    free(a);
}

/* ---- a seat's life ---- */

static void set_state(struct agents *a, enum hf_agent_kind kind, bool is_fresh, const char *why,
                      hf_time now)
{
    struct seat *seat = &a->seat[kind];
    bool is_connected = seat->fd >= 0;

    if (seat->is_fresh == is_fresh && seat->was_connected == is_connected)
        return;
    seat->is_fresh = is_fresh;
    seat->was_connected = is_connected;
    seat->since = hf_clock_wall();
    (void)hf_str_copy(seat->why, sizeof seat->why, why);
    if (is_fresh)
        hf_info("agent=%s connected (pid %d)", kind_name(kind), (int)seat->pid);
    else
        hf_warning("agent=%s %s", kind_name(kind), why);
    a->ports.changed(a->ports.user, kind, now);
}

static void drop(struct agents *a, enum hf_agent_kind kind, const char *why, hf_time now)
{
    struct seat *seat = &a->seat[kind];

    if (seat->fd < 0)
        return;
    close_fd(a, &seat->fd);
    empty_queue(seat);
    seat->waits_for_room = false;
    set_state(a, kind, false, why, now);
}

/* ---- sending ---- */

static void send_queue(struct agents *a, enum hf_agent_kind kind, hf_time now)
{
    struct seat *seat = &a->seat[kind];
    bool waits = false;

    while (seat->fd >= 0 && seat->count > 0) {
        struct outgoing *next = &seat->queue[seat->first];
        uint8_t bytes[HF_REPORT_BYTES_MAX];
        struct hf_err err;
        enum hf_code code =
            door_send(seat->fd, bytes, report_encode(&next->report, bytes), next->ride, &err);

        if (code == HF_EAGAIN) {
            waits = true;
            break;
        }
        if (code != HF_OK) {
            drop(a, kind, err.text, now);
            return;
        }
        if (next->ride >= 0)
            close(next->ride);
        seat->count--;
        /* An empty ring starts at its beginning again: memory that a burst once used stays unused.
         */
        seat->first = seat->count > 0 ? (seat->first + 1) % AGENTS_QUEUE_MAX : 0;
    }
    if (seat->fd >= 0 && waits != seat->waits_for_room) {
        seat->waits_for_room = waits;
        a->ports.watch(a->ports.user, seat->fd, waits);
    }
}

bool agents_tell(struct agents *a, enum hf_agent_kind kind, const struct hf_report *report,
                 int ride)
{
    struct seat *seat = &a->seat[kind];
    struct outgoing *slot;

    if (seat->fd < 0)
        return false;
    if (seat->count == AGENTS_QUEUE_MAX) {
        drop(a, kind, "does not read what it is sent", seat->heard);
        return false;
    }
    slot = &seat->queue[(seat->first + seat->count) % AGENTS_QUEUE_MAX];
    slot->report = *report;
    slot->ride = ride >= 0 ? fcntl(ride, F_DUPFD_CLOEXEC, 3) : -1;
    seat->count++;
    if (!seat->waits_for_room)
        send_queue(a, kind, seat->heard);
    return seat->fd >= 0;
}

/* ---- receiving ---- */

static int64_t stale_ms(enum hf_agent_kind kind)
{
    switch (kind) {
    case HF_AGENT_HOST:
        return AGENTS_HOST_STALE_MS;
    case HF_AGENT_VM:
        return AGENTS_VM_STALE_MS;
    case HF_AGENT_FEEDER:
        return AGENTS_FEEDER_STALE_MS;
    case HF_AGENT_NIC:
        return AGENTS_NIC_STALE_MS;
    case HF_AGENT_FENCE:
    case HF_AGENT_KINDS:
        break;
    }
    return 0; /* has nothing to say while it has no order */
}

static enum hf_code next_report(int fd, struct hf_report *report, struct hf_err *err)
{
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    size_t len;
    int ride = -1;
    enum hf_code code = door_receive(fd, bytes, sizeof bytes, &len, &ride, err);

    if (ride >= 0)
        close(ride); /* no agent has anything to give */
    return code == HF_OK ? report_decode(bytes, len, report, err) : code;
}

static void seat_ready(struct agents *a, enum hf_agent_kind kind, hf_time now)
{
    struct seat *seat = &a->seat[kind];
    struct hf_report report;
    struct hf_err err;
    enum hf_code code;

    send_queue(a, kind, now);
    for (unsigned i = 0; seat->fd >= 0 && i < HF_VMS_MAX;
         i++) { /* then the others have their turn */
        code = next_report(seat->fd, &report, &err);
        if (code == HF_EAGAIN)
            return;
        if (code == HF_OK &&
            (report.kind == HF_REPORT_HELLO || !report_may_come_from(kind, report.kind)))
            code = hf_err_set(&err, HF_EBAD, "sent a report of kind %d", (int)report.kind);
        if (code != HF_OK) {
            drop(a, kind, code == HF_ECLOSED ? "disconnected" : err.text, now);
            return;
        }
        seat->heard = now;
        set_state(a, kind, true, "", now);
        a->ports.told(a->ports.user, kind, &report, now);
    }
}

static void seat_take(struct agents *a, enum hf_agent_kind kind, struct newcomer *newcomer,
                      hf_time now)
{
    struct seat *seat = &a->seat[kind];
    int fd = newcomer->fd;

    newcomer->fd = -1; /* it keeps its watch */
    drop(a, kind, "replaced by a newer one", now);
    seat->fd = fd;
    seat->pid = newcomer->pid;
    seat->heard = now;
    seat->ask_at = kind == HF_AGENT_VM ? hf_time_add_ms(now, AGENTS_ASK_MS) : never;
    set_state(a, kind, true, "", now);
    a->ports.joined(a->ports.user, kind, now);
}

static void newcomer_ready(struct agents *a, struct newcomer *newcomer, hf_time now)
{
    struct hf_report report;
    struct hf_err err;
    enum hf_code code = next_report(newcomer->fd, &report, &err);

    if (code == HF_EAGAIN)
        return;
    if (code == HF_OK && report.kind == HF_REPORT_HELLO) {
        seat_take(a, report.u.hello.agent, newcomer, now);
        seat_ready(a, report.u.hello.agent, now);
        return;
    }
    hf_warning("agent door: pid %d: %s", (int)newcomer->pid,
               code == HF_OK ? "did not begin with hello" : err.text);
    close_fd(a, &newcomer->fd);
}

void agents_adopt(struct agents *a, int fd, const struct door_peer *peer, hf_time now)
{
    if (peer->uid != 0 && peer->uid != geteuid()) {
        hf_warning("agent door: pid %d of uid %u is no agent", (int)peer->pid, (unsigned)peer->uid);
        close(fd);
        return;
    }
    for (unsigned i = 0; i < AGENTS_NEWCOMERS_MAX; i++) {
        struct newcomer *newcomer = &a->newcomer[i];

        if (newcomer->fd >= 0)
            continue;
        *newcomer = (struct newcomer){fd, peer->pid, hf_time_add_ms(now, AGENTS_HELLO_MS)};
        a->ports.watch(a->ports.user, fd, false);
        newcomer_ready(a, newcomer, now);
        return;
    }
    hf_warning("agent door: pid %d: too many connections without hello", (int)peer->pid);
    close(fd);
}

static void accept_all(struct agents *a, hf_time now)
{
    for (unsigned i = 0; i < AGENTS_NEWCOMERS_MAX; i++) {
        struct door_peer peer;
        struct hf_err err;
        int fd;
        enum hf_code code =
            door_accept(a->listen_fd, a->group[0] != '\0' ? a->group : NULL, &fd, &peer, &err);

        if (code == HF_EAGAIN)
            return;
        if (code == HF_OK)
            agents_adopt(a, fd, &peer, now);
        else
            hf_warning("agent door: %s", err.text);
    }
}

void agents_ready(struct agents *a, int fd, hf_time now)
{
    if (fd < 0)
        return;
    if (fd == a->listen_fd) {
        accept_all(a, now);
        return;
    }
    for (unsigned i = 0; i < AGENTS_NEWCOMERS_MAX; i++)
        if (a->newcomer[i].fd == fd) {
            newcomer_ready(a, &a->newcomer[i], now);
            return;
        }
    for (unsigned kind = 1; kind < HF_AGENT_KINDS; kind++)
        if (a->seat[kind].fd == fd) {
            seat_ready(a, (enum hf_agent_kind)kind, now);
            return;
        }
}

/* ---- time ---- */

static void ask(struct agents *a, hf_time now)
{
    a->seat[HF_AGENT_VM].ask_at = hf_time_add_ms(now, AGENTS_ASK_MS);
    a->ports.ask(a->ports.user, now);
}

void agents_tick(struct agents *a, hf_time now)
{
    for (unsigned i = 0; i < AGENTS_NEWCOMERS_MAX; i++)
        if (a->newcomer[i].fd >= 0 && hf_time_reached(now, a->newcomer[i].until)) {
            hf_warning("agent door: pid %d: no hello", (int)a->newcomer[i].pid);
            close_fd(a, &a->newcomer[i].fd);
        }
    for (unsigned kind = 1; kind < HF_AGENT_KINDS; kind++) {
        struct seat *seat = &a->seat[kind];
        int64_t ms = stale_ms((enum hf_agent_kind)kind);

        if (seat->fd < 0)
            continue;
        if (ms > 0 && seat->is_fresh && hf_time_since_ms(now, seat->heard) >= ms)
            set_state(a, (enum hf_agent_kind)kind, false, "does not report any more", now);
        if (kind == HF_AGENT_VM && hf_time_reached(now, seat->ask_at))
            ask(a, now);
    }
}

static hf_time earlier(hf_time a, hf_time b)
{
    return a.ns < b.ns ? a : b;
}

hf_time agents_deadline(const struct agents *a)
{
    hf_time next = never;

    for (unsigned i = 0; i < AGENTS_NEWCOMERS_MAX; i++)
        if (a->newcomer[i].fd >= 0)
            next = earlier(next, a->newcomer[i].until);
    for (unsigned kind = 1; kind < HF_AGENT_KINDS; kind++) {
        const struct seat *seat = &a->seat[kind];
        int64_t ms = stale_ms((enum hf_agent_kind)kind);

        if (seat->fd < 0)
            continue;
        if (ms > 0 && seat->is_fresh)
            next = earlier(next, hf_time_add_ms(seat->heard, ms));
        next = earlier(next, seat->ask_at);
    }
    return next;
}

struct agents_view agents_look(const struct agents *a, enum hf_agent_kind kind)
{
    const struct seat *seat = &a->seat[kind];
    struct agents_view view = {seat->fd >= 0, seat->is_fresh, seat->pid, seat->since, ""};

    (void)hf_str_copy(view.why, sizeof view.why, seat->why);
    return view;
}
