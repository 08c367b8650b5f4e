#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "supervisord/base/log.h"
#include "supervisord/daemon.h"

/* ---- deadlines: one timerfd for all of them (a qb timer spins through its last millisecond) ----
 */

static hf_time earlier(hf_time a, hf_time b)
{
    return a.ns < b.ns ? a : b;
}

static hf_time next_deadline(const struct daemon *d)
{
    hf_time next = replica_deadline(d->replica);

    next = earlier(next, link_deadline(d->link));
    next = earlier(next, act_deadline(d->act));
    next = earlier(next, lease_deadline(&d->lease));
    next = earlier(next, paths_deadline(&d->paths));
    next = earlier(next, nics_deadline(&d->nics));
    if (d->stop_at.ns != 0)
        next = earlier(next, d->stop_at);
    next = earlier(next, agents_deadline(d->agents));
    next = earlier(next, blobs_deadline(d->blobs));
    return earlier(next, ctl_server_deadline(d->ctl));
}

static void set_timer(struct daemon *d)
{
    hf_time next = next_deadline(d);
    struct itimerspec at = {{0, 0}, {0, 0}};

    if (next.ns == d->timer_at.ns)
        return;
    d->timer_at = next;
    if (next.ns != INT64_MAX) {
        int64_t ns = next.ns > 0 ? next.ns : 1; /* zero would disarm it */

        at.it_value.tv_sec = ns / 1000000000;
        at.it_value.tv_nsec = ns % 1000000000;
    }
    if (timerfd_settime(d->timer_fd, TFD_TIMER_ABSTIME, &at, NULL) != 0)
        hf_error("timerfd: %s", strerror(errno));
}

static void tick_all(struct daemon *d, hf_time now)
{
    if (hf_time_reached(now, link_deadline(d->link)))
        link_run(d->link, now);
    if (hf_time_reached(now, replica_deadline(d->replica))) {
        d->in_replica = true;
        replica_tick(d->replica, now);
        d->in_replica = false;
    }
    if (hf_time_reached(now, act_deadline(d->act)))
        act_tick(d->act, now);
    daemon_lease(d, now);
    if (hf_time_reached(now, paths_deadline(&d->paths)))
        paths_turn(&d->paths, now);
    nics_turn(&d->nics, now);
    if (hf_time_reached(now, agents_deadline(d->agents)))
        agents_tick(d->agents, now);
    daemon_flush(d, now);
    if (hf_time_reached(now, blobs_deadline(d->blobs)))
        blobs_tick(d->blobs, now);
    if (hf_time_reached(now, ctl_server_deadline(d->ctl)))
        ctl_server_tick(d->ctl, now);
}

/* The link replaces its socket by itself; ours is the watching. A new child's socket may have the
 * old one's number, and is not watched for all that. */
static void follow_link(struct daemon *d)
{
    int fd = link_fd(d->link);
    bool is_new = d->link_spawned != d->link->spawned;

    d->link_spawned = d->link->spawned;
    for (unsigned i = 0; i < DAEMON_WATCHES_MAX; i++)
        if (d->watch[i].owner == OWNER_LINK && (is_new || d->watch[i].fd != fd))
            daemon_unwatch(d, d->watch[i].fd);
    if (fd >= 0)
        daemon_watch(d, OWNER_LINK, fd, link_wants_write(d->link));
}

/* After whatever woke us. */
static void end_turn(struct daemon *d)
{
    hf_time now = hf_clock_now();

    daemon_flush(d, now);
    tick_all(d, now);
    ctl_server_news(d->ctl, now);
    follow_link(d);
    if (d->stop_at.ns != 0 && daemon_may_stop(d, now))
        qb_loop_stop(d->loop);
    set_timer(d);
}

/* ---- descriptors ---- */

static void signal_ready(struct daemon *d)
{
    struct signalfd_siginfo info;

    while (read(d->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP) {
            daemon_reread(d, hf_clock_now());
            continue;
        }
        hf_info("signal %u from pid %u: leaving the group, VMs run on", info.ssi_signo,
                info.ssi_pid);
        if (d->stop_at.ns != 0)
            qb_loop_stop(d->loop); /* told twice: at once */
        d->stop_at = hf_time_add_ms(hf_clock_now(), DAEMON_LEAVE_MS);
    }
}

static void journal_ready(struct daemon *d)
{
    struct journal_status was = d->journal_status;
    struct history_when when;

    journal_look(d->journal, &d->journal_status);
    if (was.is_broken == d->journal_status.is_broken)
        return;
    daemon_now(&when);
    d->journal_since = when.wall;
    if (d->journal_status.is_broken) {
        hf_error("journal: %s: records are lost, decisions go on", d->journal_status.why);
        history_note(d->history, replica_engine(d->replica), d->self->name, d->journal_status.why,
                     &when);
        return;
    }
    hf_info("journal: whole again, %llu records were lost",
            (unsigned long long)d->journal_status.lost);
    history_note(d->history, replica_engine(d->replica), d->self->name, "journal whole again",
                 &when);
    blobs_keep_all(d->blobs);
}

static void timer_ready(struct daemon *d)
{
    uint64_t count;

    (void)!read(d->timer_fd, &count, sizeof count);
    d->timer_at = (hf_time){-1}; /* armed again whatever the next deadline is */
}

static int32_t ready(int32_t fd, int32_t events, void *data)
{
    const struct daemon_watch *watch = data;
    struct daemon *d = watch->d;
    hf_time now = hf_clock_now();

    (void)events;
    switch (watch->owner) {
    case OWNER_NONE:
        return 0;
    case OWNER_AGENTS:
        agents_ready(d->agents, fd, now);
        break;
    case OWNER_CTL:
        ctl_server_ready(d->ctl, fd, now);
        break;
    case OWNER_LINK:
        link_run(d->link, now);
        break;
    case OWNER_JOURNAL:
        journal_ready(d);
        break;
    case OWNER_TIMER:
        timer_ready(d);
        break;
    case OWNER_SIGNALS:
        signal_ready(d);
        break;
    }
    end_turn(d);
    return 0;
}

static struct daemon_watch *watch_of(struct daemon *d, int fd)
{
    for (unsigned i = 0; i < DAEMON_WATCHES_MAX; i++)
        if (d->watch[i].owner != OWNER_NONE && d->watch[i].fd == fd)
            return &d->watch[i];
    return NULL;
}

static struct daemon_watch *watch_free(struct daemon *d)
{
    for (unsigned i = 0; i < DAEMON_WATCHES_MAX; i++)
        if (d->watch[i].owner == OWNER_NONE)
            return &d->watch[i];
    return NULL;
}

void daemon_watch(struct daemon *d, enum daemon_owner owner, int fd, bool write_too)
{
    struct daemon_watch *watch = watch_of(d, fd);
    int events = POLLIN | (write_too ? POLLOUT : 0);
    enum qb_loop_priority priority =
        owner == OWNER_CTL || owner == OWNER_JOURNAL ? QB_LOOP_LOW : QB_LOOP_HIGH;
    int32_t code;

    if (watch != NULL && watch->owner != owner) {
        daemon_unwatch(d, fd); /* its number was closed and given out again */
        watch = NULL;
    }
    if (watch != NULL) {
        code = qb_loop_poll_mod(d->loop, priority, fd, events, watch, ready);
    } else {
        watch = watch_free(d);
        if (watch == NULL) {
            hf_error("too many descriptors to watch: %d is not", fd);
            return;
        }
        *watch = (struct daemon_watch){d, owner, fd};
        code = qb_loop_poll_add(d->loop, priority, fd, events, watch, ready);
    }
    if (code != 0)
        hf_error("watch descriptor %d: %s", fd, strerror(-code));
}

void daemon_unwatch(struct daemon *d, int fd)
{
    struct daemon_watch *watch = watch_of(d, fd);

    if (watch == NULL)
        return;
    (void)qb_loop_poll_del(d->loop, fd); /* -EBADF when it is closed already: gone all the same */
    watch->owner = OWNER_NONE;
}

/* ---- open, run, close ---- */

static int signals_open(void)
{
    sigset_t set;

    (void)signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

enum hf_code daemon_loop_open(struct daemon *d, struct hf_err *err)
{
    d->signal_fd = signals_open();
    d->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    d->timer_at = (hf_time){-1};
    d->loop = qb_loop_create();
    if (d->signal_fd < 0 || d->timer_fd < 0 || d->loop == NULL)
        return hf_err_set(err, HF_EIO, "loop: %s", strerror(errno));
    daemon_watch(d, OWNER_SIGNALS, d->signal_fd, false);
    daemon_watch(d, OWNER_TIMER, d->timer_fd, false);
    return HF_OK;
}

void daemon_loop_close(struct daemon *d)
{
    if (d->loop == NULL)
        return;
    for (unsigned i = 0; i < DAEMON_WATCHES_MAX; i++)
        if (d->watch[i].owner != OWNER_NONE)
            daemon_unwatch(d, d->watch[i].fd);
    qb_loop_destroy(d->loop);
    d->loop = NULL;
    if (d->timer_fd >= 0)
        close(d->timer_fd);
    if (d->signal_fd >= 0)
        close(d->signal_fd);
}

void daemon_run(struct daemon *d)
{
    end_turn(d);
    qb_loop_run(d->loop);
}
