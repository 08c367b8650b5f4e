#include "supervisord/cluster/link.h"

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"
#include "supervisord/door/door.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CHILD_FD = 3,
    READS_MAX = 256,   /* frames in one go: the loop has other things to do */
    STEADY_MS = 10000, /* joined for so long: the next failure is a first one */
    REAP_MS = 200,
};

#define NEVER ((hf_time){INT64_MAX})

enum hf_code link_init(struct link *l, const char *path, const char *cluster,
                       const struct link_ports *ports, hf_time now, struct hf_err *err)
{
    memset(l, 0, offsetof(struct link, frame));
    l->fd = -1;
    l->ports = *ports;
    l->retry_at = now;
    l->backoff_ms = LINK_BACKOFF_FIRST_MS;
    if (!hf_str_copy(l->path, sizeof l->path, path))
        return hf_err_set(err, HF_EINVAL, "link: the path is too long");
    if (strlen(cluster) > HF_NAME_MAX)
        return hf_err_set(err, HF_EINVAL, "link: the cluster's name is too long");
    snprintf(l->group, sizeof l->group, "holdfast/%s", cluster);
    return HF_OK;
}

/* ---- the child's life ---- */

static void reap(struct link *l)
{
    for (size_t i = 0; i < LINK_DYING_MAX; i++)
        if (l->dying[i] != 0 && waitpid(l->dying[i], NULL, WNOHANG) != 0)
            l->dying[i] = 0; /* gone, or somebody else has collected it */
}

static bool has_dying(const struct link *l)
{
    for (size_t i = 0; i < LINK_DYING_MAX; i++)
        if (l->dying[i] != 0)
            return true;
    return false;
}

static bool may_start(const struct link *l)
{
    for (size_t i = 0; i < LINK_DYING_MAX; i++)
        if (l->dying[i] == 0)
            return true;
    return false;
}

static void abandon(struct link *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
    if (l->pid > 0) {
        (void)kill(l->pid, SIGKILL);
        l->killed++;
        for (size_t i = 0; i < LINK_DYING_MAX; i++) {
            if (l->dying[i] == 0) {
                l->dying[i] = l->pid;
                break;
            }
        }
    }
    l->pid = 0;
    l->queue_first = l->queue_count = 0;
    l->outstanding = 0;
    l->has_joined = false;
    l->nodeid = 0;
    reap(l);
}

static void end_child(struct link *l, const char *why, hf_time now)
{
    bool was_steady = l->has_joined && hf_time_since_ms(now, l->started) >= STEADY_MS;

    abandon(l);
    l->is_ended = true;
    if (was_steady)
        l->backoff_ms = LINK_BACKOFF_FIRST_MS;
    l->retry_at = hf_time_add_ms(now, l->backoff_ms);
    l->backoff_ms =
        l->backoff_ms * 2 < LINK_BACKOFF_MAX_MS ? l->backoff_ms * 2 : LINK_BACKOFF_MAX_MS;
    l->ports.apart(l->ports.user, why);
}

void link_rejoin(struct link *l, const char *why, hf_time now)
{
    if (l->fd < 0)
        return;
    end_child(l, why, now);
    l->backoff_ms = LINK_BACKOFF_FIRST_MS;
    l->retry_at = now;
}

/* A clean start: nothing of our signals, and a PATH that is nobody's choice. */
static int spawn(struct link *l, int child_fd)
{
    char fd_text[8], *argv[] = {l->path, fd_text, l->group, NULL};
    char path_text[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *envp[] = {path_text, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    int failed;

    snprintf(fd_text, sizeof fd_text, "%d", CHILD_FD);
    sigemptyset(&none);
    sigfillset(&all);
    if (posix_spawn_file_actions_init(&files) != 0)
        return ENOMEM;
    if (posix_spawnattr_init(&attr) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return ENOMEM;
    }
    failed = posix_spawn_file_actions_adddup2(&files, child_fd, CHILD_FD);
    if (failed == 0)
        failed = posix_spawnattr_setsigmask(&attr, &none);
    if (failed == 0)
        failed = posix_spawnattr_setsigdefault(&attr, &all);
    if (failed == 0)
        failed = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (failed == 0)
        failed = posix_spawn(&l->pid, l->path, &files, &attr, argv, envp);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

static void start(struct link *l, hf_time now)
{
    int pair[2], failed;
    struct hf_err err;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) {
        (void)hf_err_set(&err, HF_EIO, "link: no socket pair: %s", strerror(errno));
        end_child(l, err.text, now);
        return;
    }
    failed = spawn(l, pair[1]);
    close(pair[1]);
    l->fd = pair[0];
    if (failed != 0) {
        l->pid = 0;
        (void)hf_err_set(&err, HF_EIO, "link: start %s: %s", l->path, strerror(failed));
        end_child(l, err.text, now);
        return;
    }
    l->spawned++;
    l->started = now;
    l->retry_at = NEVER;
}

void link_close(struct link *l)
{
    abandon(l);
    l->retry_at = NEVER;
}

/* The CRC in a group message's header (wire/group.h): tells our messages apart. */
static uint32_t crc_of(const uint8_t *bytes, size_t len)
{
    struct hf_reader r = hf_reader_on(bytes, len);

    (void)hf_get_u64(&r);
    (void)hf_get_u32(&r);
    return hf_get_u32(&r);
}

/* ---- out ---- */

/* As much as goes out without waiting. HF_EAGAIN: the child is slow; other errors: it is gone. */
static enum hf_code flush(struct link *l)
{
    struct hf_err err;

    while (l->fd >= 0 && l->queue_count > 0) {
        enum hf_code code =
            door_send(l->fd, l->queue[l->queue_first], l->queue_len[l->queue_first], -1, &err);

        if (code != HF_OK)
            return code;
        l->queue_first = (l->queue_first + 1) % LINK_QUEUE_MAX;
        l->queue_count--;
    }
    return HF_OK;
}

void link_mcast(struct link *l, const void *bytes, size_t len, hf_time now)
{
    unsigned at = (l->queue_first + l->queue_count) % LINK_QUEUE_MAX;
    struct link_frame f = {.type = LINK_MCAST, .bytes = bytes, .len = len};
    struct hf_writer w;

    HF_ASSERT(len >= 1);
    HF_ASSERT(len <= HF_GROUP_MESSAGE_MAX);
    if (l->fd < 0 || l->queue_count == LINK_QUEUE_MAX) {
        l->dropped++;
        return;
    }
    w = hf_writer_on(l->queue[at], LINK_FRAME_MAX);
    link_frame_put(&w, &f);
    HF_ASSERT(!w.bad);
    l->queue_len[at] = w.len;
    l->queue_count++;
    l->given[l->given_count++ % LINK_QUEUE_MAX] = crc_of(bytes, len);
    if (l->outstanding++ == 0)
        l->waiting_since = now;
    /* Only tried: who calls is inside the replica and must not be called back. A child that is gone
     * is noticed by link_run(), which its end wakes. */
    (void)flush(l);
}

/* ---- in ---- */

/* One sender's order is kept: what was given before this one and did not come back is lost. */
static void note_own_delivery(struct link *l, const uint8_t *bytes, size_t len, hf_time now)
{
    uint32_t crc = crc_of(bytes, len);

    l->waiting_since = now;
    for (unsigned after = 0; after < l->outstanding && after < LINK_QUEUE_MAX; after++) {
        if (l->given[(l->given_count - 1 - after) % LINK_QUEUE_MAX] == crc) {
            l->outstanding = after;
            return;
        }
    }
}

static void take(struct link *l, const struct link_frame *f, hf_time now)
{
    switch (f->type) {
    case LINK_MEMBERS:
        l->has_joined = true;
        l->ports.members(l->ports.user, f);
        return;
    case LINK_DELIVER:
        if (f->pid == (uint32_t)l->pid && f->nodeid == l->nodeid)
            note_own_delivery(l, f->bytes, f->len, now);
        l->ports.deliver(l->ports.user, f->nodeid, f->pid, f->bytes, f->len);
        return;
    case LINK_FACTS:
        if (f->facts.nodeid != 0)
            l->nodeid = f->facts.nodeid;
        l->ports.facts(l->ports.user, &f->facts);
        return;
    case LINK_LOST:
        end_child(l, f->why, now);
        return;
    case LINK_MCAST:
    case LINK_FRAME_TYPES:
        break;
    }
    end_child(l, "link: the child sent what only we may send", now);
}

static void read_frames(struct link *l, hf_time now)
{
    struct hf_err err;
    size_t len;

    l->is_ended = false;
    for (unsigned i = 0; i < READS_MAX && l->fd >= 0 && !l->is_ended; i++) {
        enum hf_code code = door_receive(l->fd, l->record, sizeof l->record, &len, NULL, &err);

        if (code == HF_EAGAIN)
            return;
        if (code == HF_ECLOSED) {
            end_child(l, "link: the child has ended", now);
            return;
        }
        if (code == HF_OK)
            code = link_frame_get(l->record, len, &l->frame, &err);
        if (code != HF_OK) {
            end_child(l, err.text, now);
            return;
        }
        take(l, &l->frame, now);
    }
}

/* ---- the loop's questions ---- */

int link_fd(const struct link *l)
{
    return l->fd;
}

bool link_has_more(const struct link *l)
{
    struct pollfd p = {.fd = l->fd, .events = POLLIN};

    return l->fd >= 0 && poll(&p, 1, 0) > 0;
}

bool link_wants_write(const struct link *l)
{
    return l->fd >= 0 && l->queue_count > 0;
}

static hf_time stalled_at(const struct link *l)
{
    if (l->fd < 0)
        return NEVER;
    if (!l->has_joined)
        return hf_time_add_ms(l->started, LINK_JOIN_WAIT_MS);
    if (l->outstanding > 0 && l->nodeid != 0)
        return hf_time_add_ms(l->waiting_since, LINK_STALL_MS);
    return NEVER;
}

hf_time link_deadline(const struct link *l)
{
    hf_time due = l->fd < 0 ? l->retry_at : stalled_at(l);

    return has_dying(l) && l->reap_at.ns < due.ns ? l->reap_at : due;
}

void link_run(struct link *l, hf_time now)
{
    enum hf_code code;

    reap(l);
    l->reap_at = hf_time_add_ms(now, REAP_MS);
    if (l->fd >= 0)
        read_frames(l, now);
    code = flush(l);
    if (code != HF_OK && code != HF_EAGAIN)
        end_child(l, "link: the child is gone", now);
    if (l->fd >= 0 && hf_time_reached(now, stalled_at(l))) {
        end_child(l,
                  l->has_joined ? "link: nothing of ours comes back from corosync"
                                : "link: no answer from corosync",
                  now);
        return;
    }
    if (l->fd < 0 && hf_time_reached(now, l->retry_at)) {
        if (may_start(l))
            start(l, now);
        else
            l->retry_at = hf_time_add_ms(now, LINK_BACKOFF_MAX_MS);
    }
}
