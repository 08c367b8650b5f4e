#include "nicbond/loop.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "supervisord/base/log.h"
#include "supervisord/base/str.h"
#include "supervisord/model/names.h"

/* What a descriptor in epoll is; below HF_VMS_MAX it is a guest's slot. */
enum loop_tag { TAG_STOP = HF_VMS_MAX, TAG_NOTE, TAG_WATCH, TAG_WORKER };

static enum hf_code add_fd(int epoll_fd, int fd, uint64_t tag, struct hf_err *err)
{
    struct epoll_event ev = {.events = EPOLLIN, .data = {.u64 = tag}};

    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0)
        return hf_err_set(err, HF_EIO, "watch descriptor %d: %s", fd, strerror(errno));
    return HF_OK;
}

/* ---- news ---- */

static bool tell_legs(void *user, const struct hf_vm_legs *legs)
{
    struct loop *loop = user;
    struct note note = {.kind = NOTE_LEGS, .u.legs = *legs};

    return note_put(loop->setup.note_fd, &note);
}

static bool tell_flip(void *user, uint32_t order, const struct hf_flip *flip)
{
    struct loop *loop = user;
    struct note note = {.kind = NOTE_FLIP};

    note.u.flip.order = order;
    note.u.flip.flip = *flip;
    return note_put(loop->setup.note_fd, &note);
}

static void take_helped(void *user, hf_fabric fabric, const struct watch_helped *helped)
{
    struct loop *loop = user;

    if (fabric < loop->fabrics_count)
        watch_helped(&loop->watch, fabric, helped, hf_clock_now());
}

static void tell_nics(struct loop *loop, hf_time now)
{
    struct note note = {.kind = NOTE_NICS};

    note.u.nics.count = (uint8_t)loop->fabrics_count;
    for (hf_fabric f = 0; f < loop->fabrics_count; f++) {
        watch_facts(&loop->watch, f, now, &note.u.nics.pf[f]);
        note.u.nics.pf[f].rtnl_ms = loop->nicbond.rtnl_ms;
    }
    loop->nics_at = hf_time_add_ms(now, note_put(loop->setup.note_fd, &note) ? LOOP_NICS_MS : 1);
}

static void want_workers(struct loop *loop, hf_time now)
{
    struct note note = {.kind = NOTE_WORKERS};

    loop->wants_at = hf_time_add_ms(now, LOOP_WANTS_MS);
    note.u.workers[NOTE_POOL_PF] = (uint8_t)helper_wanted(&loop->nicbond.pf_pool);
    note.u.workers[NOTE_POOL_VM] = (uint8_t)helper_wanted(&loop->nicbond.vm_pool);
    if (note.u.workers[NOTE_POOL_PF] != 0 || note.u.workers[NOTE_POOL_VM] != 0)
        (void)note_put(loop->setup.note_fd, &note);
}

/* ---- notes of the report thread ---- */

static void join_worker(struct loop *loop, enum note_pool pool, int fd, pid_t pid)
{
    struct hf_err err;

    if (add_fd(loop->epoll_fd, fd, TAG_WORKER, &err) != HF_OK) {
        close(fd);
        return;
    }
    (void)helper_join(pool == NOTE_POOL_PF ? &loop->nicbond.pf_pool : &loop->nicbond.vm_pool, fd,
                      pid, &err);
}

static void take_limits(struct loop *loop, const struct note_limits *limits)
{
    struct nic_limits of_judge = {.hold_down_ms = limits->hold_down_ms,
                                  .hold_down_max_ms = limits->hold_down_max_ms};
    struct hf_err err;

    watch_limit(&loop->watch, &of_judge);
    loop->nicbond.limits.flip_deadline_ms = limits->flip_deadline_ms;
    loop->nicbond.limits.hold_down_ms = limits->hold_down_ms;
    for (unsigned f = 0; f < loop->fabrics_count; f++) {
        if (!loop->bfd[f].is_used || limits->bfd_multiplier[f] == 0)
            continue;
        loop->bfd[f].interval_us = limits->bfd_interval_us[f];
        if (bfd_socket_retime(&loop->bfd[f].socket, limits->bfd_interval_us[f],
                              limits->bfd_multiplier[f], &err) != HF_OK)
            hf_error("%s", err.text);
    }
}

static void take_note(struct loop *loop, const struct note *note, hf_time now)
{
    switch (note->kind) {
    case NOTE_VM:
        if (!nicbond_vm_here(&loop->nicbond, &note->u.vm, now))
            hf_error("vm=%s: no room for its legs", note->u.vm.name);
        break;
    case NOTE_VM_GONE:
        nicbond_vm_gone(&loop->nicbond, note->u.gone, now);
        break;
    case NOTE_ORDER:
        nicbond_ordered(&loop->nicbond, note->u.order.uid, note->u.order.to, note->u.order.number,
                        now);
        break;
    case NOTE_TELL_ALL:
        nicbond_tell_all(&loop->nicbond, now);
        break;
    case NOTE_WORKER:
        join_worker(loop, note->u.worker.pool, note->u.worker.fd, note->u.worker.pid);
        break;
    case NOTE_LIMITS:
        take_limits(loop, &note->u.limits);
        break;
    case NOTE_NICS:
    case NOTE_LEGS:
    case NOTE_FLIP:
    case NOTE_WORKERS:
    case NOTE_LATE:
    case NOTE_KINDS:
        break;
    }
}

static void take_notes(struct loop *loop, hf_time now)
{
    struct note note;

    for (unsigned i = 0; i < LOOP_EVENTS && note_take(loop->setup.note_fd, &note); i++)
        take_note(loop, &note, now);
}

/* ---- BFD ---- */

static const struct bfd_view *view_of(const struct loop_bfd *bfd, const struct bfd_summary *all,
                                      uint8_t node)
{
    for (uint32_t i = 0; node != 0xff && i < bfd->peers_count; i++) {
        if (bfd->node[i] == node)
            return &all->peer[i];
    }
    return NULL;
}

/* What the sessions of a fabric are worth to its judge. A peer that does not hear us is as good as
 * silent, and alive for sure. */
static void sum_bfd(struct loop *loop, hf_fabric f, const struct bfd_summary all[HF_FABRICS_MAX])
{
    const struct loop_bfd *here = &loop->bfd[f], *there = &loop->bfd[HF_FABRICS_MAX - 1 - f];
    struct nic_bfd out = {0};

    for (uint32_t i = 0; all[f].is_open && i < here->peers_count; i++) {
        const struct bfd_view *view = &all[f].peer[i];
        const struct bfd_view *other =
            there->is_used ? view_of(there, &all[HF_FABRICS_MAX - 1 - f], here->node[i]) : NULL;
        bool is_silent = view->peer == BFD_PEER_SILENT || view->peer == BFD_PEER_DEAF;
        bool is_heard = view->peer == BFD_PEER_DEAF ||
                        (other != NULL &&
                         judge_nic_is_heard_since(view->heard, other->heard, here->interval_us));

        out.peers++;
        out.up = (uint8_t)(out.up + (view->peer == BFD_PEER_UP));
        out.silent = (uint8_t)(out.silent + is_silent);
        out.heard_elsewhere = (uint8_t)(out.heard_elsewhere + (is_silent && is_heard));
    }
    watch_bfd(&loop->watch, f, &out);
}

/* Its descriptors change within its tick. */
static void poll_bfd(struct loop *loop, struct loop_bfd *bfd, unsigned f)
{
    int fd[BFD_SOCKET_FDS];
    struct hf_err err;

    if (bfd->opened == bfd->socket.counters.opened &&
        bfd->fds_count == bfd_socket_fds(&bfd->socket, fd))
        return;
    /* What was closed has left the epoll by itself. */
    bfd->fds_count = bfd_socket_fds(&bfd->socket, fd);
    bfd->opened = bfd->socket.counters.opened;
    for (uint32_t i = 0; i < bfd->fds_count; i++) {
        bfd->fd[i] = fd[i];
        (void)add_fd(loop->bfd_fd, fd[i], f * BFD_SOCKET_FDS + i, &err);
    }
}

/* The PF, or the bridge or bond that it is a port of. One link in sysfs. */
static void find_device(const struct loop *loop, const char *pf, char out[HF_IFNAME_MAX + 1])
{
    char sys[PATH_MAX];

    (void)snprintf(sys, sizeof sys, "%s/sys", loop->setup.root);
    bfd_socket_device(sys, pf, out);
}

/* The PF has come, has another name or index, or was put into a bridge or taken out of it: BFD goes
 * with what gets its packets. */
static void follow_device(struct loop *loop, hf_fabric f, hf_time now)
{
    struct loop_bfd *bfd = &loop->bfd[f];
    char device[HF_IFNAME_MAX + 1];

    bfd->looked = now;
    bfd->look_at = hf_time_add_ms(now, BFD_SOCKET_LOOK_MS);
    if (loop->place[f].ifindex == 0)
        return; /* there is none now: its socket notices by itself */
    find_device(loop, loop->place[f].name, device);
    bfd_socket_look(&bfd->socket, device, now);
    bfd->next = now;
}

/* Something was told of a device, maybe of ours. */
static void follow_soon(struct loop *loop, hf_time now)
{
    for (unsigned f = 0; f < loop->fabrics_count; f++) {
        struct loop_bfd *bfd = &loop->bfd[f];
        hf_time rested = hf_time_add_ms(bfd->looked, LOOP_REST_MS);
        hf_time at = hf_time_reached(now, rested) ? now : rested;

        if (bfd->is_used && at.ns < bfd->look_at.ns)
            bfd->look_at = at;
    }
}

static void run_bfd(struct loop *loop, hf_time now)
{
    struct epoll_event ev[HF_FABRICS_MAX * BFD_SOCKET_FDS];
    struct bfd_summary all[HF_FABRICS_MAX];
    int count;

    if (loop->bfd_fd < 0)
        return;
    memset(all, 0, sizeof all);
    count = epoll_wait(loop->bfd_fd, ev, HF_FABRICS_MAX * BFD_SOCKET_FDS, 0);
    for (int i = 0; i < count; i++) {
        struct loop_bfd *bfd = &loop->bfd[ev[i].data.u64 / BFD_SOCKET_FDS];

        bfd_socket_ready(&bfd->socket, bfd->fd[ev[i].data.u64 % BFD_SOCKET_FDS]);
        bfd->next = now;
    }
    for (unsigned f = 0; f < loop->fabrics_count; f++) {
        struct loop_bfd *bfd = &loop->bfd[f];

        if (!bfd->is_used)
            continue;
        if (hf_time_reached(now, bfd->look_at))
            follow_device(loop, (hf_fabric)f, now);
        if (hf_time_reached(now, bfd->next)) {
            bfd->next = bfd_socket_tick(&bfd->socket, now);
            poll_bfd(loop, bfd, f);
        }
        bfd_socket_summary(&bfd->socket, &all[f]);
    }
    for (hf_fabric f = 0; f < loop->fabrics_count; f++) {
        if (loop->bfd[f].is_used)
            sum_bfd(loop, f, all);
    }
}

static void bfd_changed(void *user, uint32_t peer, const struct bfd_change *change)
{
    const struct loop_bfd *bfd = user;

    hf_info("fabric %s: BFD peer %s: %s -> %s: %s", bfd->socket.conf.device,
            bfd->socket.conf.peer[peer], bfd_state_name(change->was), bfd_state_name(change->now),
            change->why);
}

static void add_peer(struct loop_bfd *bfd, struct bfd_socket_conf *conf, const char *address,
                     uint8_t node)
{
    if (address[0] == '\0' || conf->peers_count == BFD_PEERS_MAX)
        return;
    bfd->node[conf->peers_count] = node;
    (void)hf_str_copy(conf->peer[conf->peers_count++], HF_ADDRESS_MAX + 1, address);
}

static enum hf_code open_bfd(struct loop *loop, hf_fabric f, hf_time now, struct hf_err *err)
{
    const struct hf_config *config = loop->setup.config;
    struct loop_bfd *bfd = &loop->bfd[f];
    struct bfd_socket_conf conf = {.interval_us = config->nics.bfd_interval_us[f],
                                   .multiplier = config->nics.bfd_multiplier[f],
                                   .changed = bfd_changed,
                                   .user = bfd};

    if (!config_has_bfd(config, loop->setup.node, f))
        return HF_OK;
    find_device(loop,
                loop->watch.pf[f].place.name[0] != '\0' ? loop->watch.pf[f].place.name
                                                        : config->nics.pf[loop->setup.node.ix][f],
                conf.device);
    (void)hf_str_copy(conf.address, sizeof conf.address,
                      config->nics.address[loop->setup.node.ix][f]);
    for (uint8_t n = 0; n < config->group.nodes_count; n++) {
        if (n != loop->setup.node.ix)
            add_peer(bfd, &conf, config->nics.address[n][f], n);
    }
    for (unsigned i = 0; i < HF_NICS_PEERS_MAX; i++)
        add_peer(bfd, &conf, config->nics.bfd_peer[f][i], 0xff);
    if (conf.peers_count == 0)
        return HF_OK;
    bfd->interval_us = conf.interval_us;
    bfd->peers_count = conf.peers_count;
    bfd->next = now;
    if (bfd_socket_init(&bfd->socket, &conf, (uint64_t)now.ns + f, now, err) != HF_OK)
        return err->code;
    bfd->is_used = true;
    return HF_OK;
}

/* ---- a round ---- */

/* It has come, gone, or has another name. */
static void move_pf(struct loop *loop, hf_fabric f, const struct nic_place *place, int32_t ifindex,
                    hf_time now)
{
    loop->place[f] = *place;
    loop->place[f].ifindex = ifindex;
    nicbond_pf_is(&loop->nicbond, f, &loop->place[f], loop->watch.pf[f].inventory.driver);
    if (loop->bfd[f].is_used)
        follow_device(loop, f, now);
}

/* Told before the counters are read: an order that left in the last round may be carried out by
 * now, and one whose answer is here has done to the counters what it does. */
static void tell_ours(struct loop *loop)
{
    for (hf_fabric f = 0; f < loop->fabrics_count; f++) {
        bool is_ours = nicbond_pf_is_ours(&loop->nicbond, f);

        if (is_ours == loop->is_ours[f])
            continue;
        loop->is_ours[f] = is_ours;
        watch_admin_ours(&loop->watch, f, is_ours);
    }
}

static void judge(struct loop *loop, hf_time now)
{
    hf_legs changed;

    tell_ours(loop);
    changed = watch_tick(&loop->watch, now);
    for (hf_fabric f = 0; f < loop->fabrics_count; f++) {
        const struct watch_pf *pf = &loop->watch.pf[f];
        int32_t ifindex = pf->is_open ? pf->place.ifindex : 0;

        if (loop->place[f].ifindex != ifindex || strcmp(loop->place[f].name, pf->place.name) != 0)
            move_pf(loop, f, &pf->place, ifindex, now);
        if ((changed & (1u << f)) == 0)
            continue;
        hf_log(pf->verdict.state == HF_PF_UP ? HF_LOG_INFO : HF_LOG_WARNING,
               "nic %s fabric=%c %s: %s: %s", pf->place.name, 'a' + f,
               hf_pf_name(pf->verdict.state), hf_nic_cause_name(pf->verdict.cause),
               pf->verdict.why);
        nicbond_pf_judged(&loop->nicbond, f, &pf->verdict, now);
        loop->nics_at = now;
    }
}

static void measure(struct loop *loop, hf_time now, hf_time wanted)
{
    int64_t us = (now.ns - wanted.ns) / 1000;
    struct note note = {.kind = NOTE_LATE};

    loop->lateness.rounds++;
    loop->lateness.sum_us += (uint64_t)us;
    if (us > loop->lateness.worst_us)
        loop->lateness.worst_us = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
    if (us < LOOP_LATE_US)
        return;
    loop->lateness.late++;
    if (!hf_time_reached(now, loop->late_told_at))
        return;
    loop->late_told_at = hf_time_add_ms(now, LOOP_LATE_TOLD_MS);
    note.u.late.us = us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
    note.u.late.worst_us = loop->lateness.worst_us;
    (void)note_put(loop->setup.note_fd, &note);
}

/* True: something was heard that a judge has to know. */
static bool take_event(struct loop *loop, const struct epoll_event *ev, hf_time now)
{
    if (ev->data.u64 < HF_VMS_MAX)
        nicbond_guest_ready(&loop->nicbond, (uint16_t)ev->data.u64, ev->events, now);
    else if (ev->data.u64 == TAG_WORKER)
        nicbond_worker_ready(&loop->nicbond);
    else if (ev->data.u64 == TAG_NOTE)
        take_notes(loop, now);
    else if (ev->data.u64 == TAG_STOP)
        loop->is_ending = true;
    if (ev->data.u64 != TAG_WATCH)
        return false;
    watch_hear(&loop->watch, now);
    follow_soon(loop, now);
    return true;
}

enum hf_code loop_run(struct loop *loop, struct hf_err *err)
{
    struct epoll_event ev[LOOP_EVENTS];
    hf_time next = hf_clock_now();

    while (!loop->is_ending) {
        hf_time now = hf_clock_now();
        struct timespec wait = {.tv_nsec = next.ns > now.ns ? (long)(next.ns - now.ns) : 0};
        int count = epoll_pwait2(loop->epoll_fd, ev, LOOP_EVENTS, &wait, NULL);
        bool is_due;

        if (count < 0 && errno != EINTR)
            return hf_err_set(err, HF_EIO, "epoll_pwait2: %s", strerror(errno));
        now = hf_clock_now();
        is_due = hf_time_reached(now, next);
        if (is_due) {
            measure(loop, now, next);
            next.ns += (int64_t)loop->poll_us * 1000;
            if (hf_time_reached(now, next))
                next.ns = now.ns + (int64_t)loop->poll_us * 1000;
            run_bfd(loop, now);
        }
        for (int i = 0; i < count; i++)
            is_due = take_event(loop, &ev[i], now) || is_due;
        if (is_due)
            judge(loop, now);
        nicbond_round(&loop->nicbond, now);
        if (hf_time_reached(now, loop->nics_at))
            tell_nics(loop, now);
        if (hf_time_reached(now, loop->wants_at))
            want_workers(loop, now);
    }
    return HF_OK;
}

/* ---- open, close ---- */

static enum hf_code open_watch(struct loop *loop, hf_time now, char missing[200],
                               struct hf_err *err)
{
    const struct hf_nics_conf *nics = &loop->setup.config->nics;
    struct watch_setup setup = {
        .root = loop->setup.root,
        .kmsg = loop->setup.kmsg,
        .limits = {.hold_down_ms = nics->hold_down_ms, .hold_down_max_ms = nics->hold_down_max_ms}};
    struct pollfd fds[LISTEN_FDS];
    unsigned count;

    for (unsigned f = 0; f < HF_FABRICS_MAX && nics->pf[loop->setup.node.ix][f][0] != '\0'; f++)
        setup.wanted[setup.fabrics_count++] = nics->pf[loop->setup.node.ix][f];
    if (setup.fabrics_count == 0)
        return hf_err_set(err, HF_EINVAL, "the cluster file names no NIC of this node");
    if (watch_open(&loop->watch, &setup, now, missing, err) != HF_OK)
        return err->code;
    loop->fabrics_count = setup.fabrics_count;
    count = watch_fds(&loop->watch, fds);
    for (unsigned i = 0; i < count; i++) {
        if (add_fd(loop->epoll_fd, fds[i].fd, TAG_WATCH, err) != HF_OK)
            return err->code;
    }
    return HF_OK;
}

static enum hf_code open_rest(struct loop *loop, hf_time now, char missing[200], struct hf_err *err)
{
    if (add_fd(loop->epoll_fd, loop->setup.stop_fd, TAG_STOP, err) != HF_OK ||
        add_fd(loop->epoll_fd, loop->setup.note_fd, TAG_NOTE, err) != HF_OK ||
        open_watch(loop, now, missing, err) != HF_OK)
        return err->code;
    for (hf_fabric f = 0; f < loop->fabrics_count; f++) {
        if (loop->setup.left != NULL)
            nicbond_pf_left(&loop->nicbond, f, &loop->setup.left->fabric[f]);
        if (open_bfd(loop, f, now, err) != HF_OK)
            return hf_err_wrap(err, "BFD of fabric %c", 'a' + f);
        if (loop->bfd[f].is_used && loop->bfd_fd < 0)
            loop->bfd_fd = epoll_create1(EPOLL_CLOEXEC);
    }
    return HF_OK;
}

enum hf_code loop_open(struct loop *loop, const struct loop_setup *setup, hf_time now,
                       char missing[200], struct hf_err *err)
{
    const struct hf_nics_conf *nics = &setup->config->nics;
    struct nicbond_limits limits = {.flip_deadline_ms = nics->flip_deadline_ms,
                                    .hold_down_ms = nics->hold_down_ms,
                                    .may_unplug = setup->may_unplug};
    struct nicbond_out out = {
        .legs = tell_legs, .flip = tell_flip, .helped = take_helped, .user = loop};

    memset(loop, 0, sizeof *loop);
    loop->setup = *setup;
    loop->poll_us = nics->poll_us;
    loop->bfd_fd = -1;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll_fd < 0)
        return hf_err_set(err, HF_EIO, "epoll: %s", strerror(errno));
    nicbond_init(&loop->nicbond, &limits, &out, setup->epoch_first, setup->epoch_end);
    loop->nicbond.epoll_fd = loop->epoll_fd;
    if (open_rest(loop, now, missing, err) != HF_OK) {
        loop_close(loop, now);
        return err->code;
    }
    loop->setup.config = NULL;
    return HF_OK;
}

void loop_close(struct loop *loop, hf_time now)
{
    for (unsigned f = 0; f < HF_FABRICS_MAX; f++) {
        if (loop->bfd[f].is_used)
            bfd_socket_close(&loop->bfd[f].socket, now);
    }
    nicbond_close(&loop->nicbond, now);
    if (loop->fabrics_count > 0)
        watch_close(&loop->watch);
    if (loop->bfd_fd >= 0)
        close(loop->bfd_fd);
    close(loop->epoll_fd);
}
