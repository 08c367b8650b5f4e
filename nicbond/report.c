#include "nicbond/report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/nic/probe.h"
#include "agents/nic/sysfs.h"
#include "nicbond/legs.h"
#include "supervisord/base/log.h"
#include "supervisord/base/str.h"

void report_init(struct report *report, const struct report_setup *setup)
{
    memset(report, 0, sizeof *report);
    report->setup = *setup;
    report->watch_fd = -1;
    report->keeper_fd = -1;
}

/* ---- status files ---- */

static struct report_known *known_of(struct report *report, const char *name)
{
    struct report_known *empty = NULL;

    for (unsigned i = 0; i < REPORT_KNOWN_MAX; i++) {
        struct report_known *known = &report->known[i];

        if (known->is_used && strcmp(known->name, name) == 0)
            return known;
        if (!known->is_used && empty == NULL)
            empty = known;
    }
    if (empty == NULL)
        return NULL;
    *empty = (struct report_known){.is_used = true};
    (void)hf_str_copy(empty->name, sizeof empty->name, name);
    return empty;
}

static void mark_dirty(void *user, const char *name)
{
    struct report *report = user;
    struct report_known *known = known_of(report, name);

    if (known != NULL)
        known->is_dirty = true;
    report->retry_at = (hf_time){0};
}

static bool mark_seen(void *user, const char *name)
{
    struct report_known *known = known_of(user, name);

    if (known == NULL)
        return false;
    known->is_seen = known->is_dirty = true;
    return true;
}

/* Two files with one mark: the first that was told stays. */
static bool is_taken(const struct report *report, const struct report_known *by, hf_vm_uid uid)
{
    for (unsigned i = 0; i < REPORT_KNOWN_MAX; i++) {
        const struct report_known *known = &report->known[i];

        if (known != by && known->is_used && known->is_told && known->news.uid == uid)
            return true;
    }
    return false;
}

static int open_sent(const struct report *report, const struct legs_leg *leg)
{
    char path[PATH_MAX];

    if (leg->kind == HF_LEG_NONE || leg->kind == HF_LEG_VF)
        return -1;
    /* What the guest has sent, a tap has received (drivers/net/tun.c), and a macvtap sends on
     * (drivers/net/macvlan.c). */
    (void)snprintf(path, sizeof path, "%s/sys/class/net/%s/statistics/%s_packets",
                   report->setup.root, leg->device, leg->kind == HF_LEG_MACVTAP ? "tx" : "rx");
    return sysfs_open(path);
}

/* Switched off by an earlier run of us, and not by an operator: its worker left a file. */
static bool is_ours_off(const struct report *report, const char *name, const struct legs_leg *leg)
{
    char path[PATH_MAX];

    method_link_mark(report->setup.state, name, leg->mac, path, sizeof path);
    return leg->is_off && access(path, F_OK) == 0;
}

/* That life of the VM has ended, and with it what was off in it: a link that is down in the next
 * one is somebody's wish. */
static void drop_marks(const struct report *report, const struct nicbond_news *was)
{
    char path[PATH_MAX];

    for (unsigned f = 0; f < HF_FABRICS_MAX; f++) {
        if (was->leg[f].kind == HF_LEG_NONE || was->leg[f].kind == HF_LEG_VF)
            continue;
        method_link_mark(report->setup.state, was->name, was->leg[f].mac, path, sizeof path);
        (void)unlink(path); /* mostly there is none */
    }
}

static void forget(struct report *report, struct report_known *known)
{
    struct note note = {.kind = NOTE_VM_GONE, .u.gone = known->news.uid};
    struct hf_report gone = {.kind = HF_REPORT_LEGS};

    if (known->is_told) {
        if (!note_put(report->setup.note_fd, &note))
            return; /* again later */
        gone.u.legs = (struct hf_vm_legs){
            .uid = known->news.uid, .start_no = known->news.start_no, .active = HF_FABRICS_MAX};
        agent_put(report->agent, &gone);
    }
    known->is_told = false;
}

static void find_pfs(struct report *report, struct legs_pf pf[HF_FABRICS_MAX])
{
    for (unsigned f = 0; f < HF_FABRICS_MAX; f++) {
        struct nic_place found;
        struct hf_err err;

        pf[f] = (struct legs_pf){.name = ""};
        if (report->setup.wanted[f] == NULL)
            continue;
        if (probe_nic_find(report->setup.root, report->setup.wanted[f], &report->place[f], &found,
                           &err) == HF_OK)
            report->place[f] = found;
        (void)hf_str_copy(pf[f].name, sizeof pf[f].name, report->place[f].name);
        (void)hf_str_copy(pf[f].pci, sizeof pf[f].pci, report->place[f].pci);
    }
}

static bool is_same_news(const struct nicbond_news *a, const struct nicbond_news *b)
{
    for (unsigned f = 0; f < HF_FABRICS_MAX; f++) {
        struct legs_leg x = a->leg[f], y = b->leg[f];

        x.is_off = y.is_off = false; /* our own doing comes back this way */
        if (x.kind != y.kind || x.vf != y.vf || !hf_mac_is_equal(x.mac, y.mac) ||
            strcmp(x.pci, y.pci) != 0 || strcmp(x.device, y.device) != 0)
            return false;
    }
    return a->uid == b->uid && a->start_no == b->start_no && a->priority == b->priority &&
           strcmp(a->guest, b->guest) == 0;
}

/* What the hot loop is to know of it. */
static void news_of(const struct report *report, const struct legs_vm *vm,
                    const struct legs_pf pf[HF_FABRICS_MAX], struct nicbond_news *news)
{
    char sys[PATH_MAX];

    *news = (struct nicbond_news){
        .uid = vm->uid, .start_no = vm->start_no, .priority = vm->priority, .sent_fd = {-1, -1}};
    (void)hf_str_copy(news->name, sizeof news->name, vm->name);
    (void)hf_str_copy(news->guest, sizeof news->guest, vm->guest);
    (void)snprintf(sys, sizeof sys, "%s/sys", report->setup.root);
    legs_resolve(sys, vm, pf, news->leg);
}

static void tell_vm(struct report *report, struct report_known *known, struct nicbond_news *news)
{
    struct note note = {.kind = NOTE_VM};

    for (unsigned f = 0; f < HF_FABRICS_MAX; f++) {
        news->sent_fd[f] = open_sent(report, &news->leg[f]);
        news->is_ours_off[f] = is_ours_off(report, news->name, &news->leg[f]);
    }
    note.u.vm = *news;
    if (note_put(report->setup.note_fd, &note)) {
        known->news = *news;
        known->is_told = true;
        known->is_dirty = false;
        return;
    }
    for (unsigned f = 0; f < HF_FABRICS_MAX; f++) {
        if (news->sent_fd[f] >= 0)
            close(news->sent_fd[f]);
    }
}

/* One status file: is there something new to tell? is_dirty stays when it could not be told. */
static void look_at(struct report *report, struct report_known *known,
                    const struct legs_pf pf[HF_FABRICS_MAX])
{
    struct nicbond_news news = {.uid = 0};
    struct legs_vm vm;
    struct hf_err err;
    enum hf_code code = legs_read(report->setup.run, known->name, &vm, &err);

    if (code == HF_EIO || code == HF_EBAD) {
        hf_debug("%s", err.text);
        known->is_dirty = false; /* what was known stands; the next look tries again */
        return;
    }
    if (code != HF_ENOENT)
        news_of(report, &vm, pf, &news);
    if (known->is_told && (news.uid != known->news.uid || news.start_no != known->news.start_no))
        drop_marks(report, &known->news);
    if (code == HF_ENOENT || news.uid == 0 || (known->is_told && news.uid != known->news.uid) ||
        is_taken(report, known, news.uid)) {
        forget(report, known);
        known->is_dirty = known->is_told;
        known->is_used = code != HF_ENOENT || known->is_told;
        return;
    }
    if (known->is_told && is_same_news(&news, &known->news))
        known->is_dirty = false;
    else
        tell_vm(report, known, &news);
}

static void look_at_dirty(struct report *report, hf_time now)
{
    struct legs_pf pf[HF_FABRICS_MAX];
    bool is_left = false;

    find_pfs(report, pf);
    for (unsigned i = 0; i < REPORT_KNOWN_MAX; i++) {
        if (!report->known[i].is_used || !report->known[i].is_dirty)
            continue;
        look_at(report, &report->known[i], pf);
        is_left = is_left || (report->known[i].is_used && report->known[i].is_dirty);
    }
    report->retry_at = is_left ? hf_time_add_ms(now, REPORT_RETRY_MS) : (hf_time){INT64_MAX};
}

static void look_at_all(struct report *report, hf_time now)
{
    struct hf_err err;

    if (report->watch_fd < 0 &&
        legs_watch_open(report->setup.run, &report->watch_fd, &err) == HF_OK &&
        agent_watch(report->agent, report->watch_fd, &err) != HF_OK) {
        close(report->watch_fd);
        report->watch_fd = -1;
    }
    report->look_at = hf_time_add_ms(now, report->watch_fd < 0 ? REPORT_FOLDER_MS : REPORT_NEWS_MS);
    for (unsigned i = 0; i < REPORT_KNOWN_MAX; i++)
        report->known[i].is_seen = false;
    if (legs_each(report->setup.run, mark_seen, report, &err) != HF_OK) {
        hf_debug("%s", err.text); /* no libvirt yet: no VM */
        return;
    }
    for (unsigned i = 0; i < REPORT_KNOWN_MAX; i++) {
        if (report->known[i].is_used && !report->known[i].is_seen)
            report->known[i].is_dirty = true; /* its file is gone */
    }
    report->retry_at = now;
}

/* ---- workers ---- */

static bool start_worker(struct report *report, enum note_pool pool, hf_time now)
{
    const struct report_setup *setup = &report->setup;
    char *pf[] = {"holdfast-nicbond", "worker", (char *)(uintptr_t)setup->state,
                  (char *)(uintptr_t)setup->root, NULL};
    char *vm[] = {"holdfast-nicbond-virt", (char *)(uintptr_t)setup->uri,
                  (char *)(uintptr_t)setup->state, NULL};
    struct note note = {.kind = NOTE_WORKER, .u.worker.pool = pool};
    struct hf_err err;

    if (!helper_may_start(&report->starts[pool], now))
        return false;
    if (helper_start(pool == NOTE_POOL_PF ? setup->program : setup->virt,
                     pool == NOTE_POOL_PF ? pf : vm, &note.u.worker.fd, &note.u.worker.pid,
                     &err) != HF_OK) {
        hf_error("%s", err.text);
        return false;
    }
    if (note_put(setup->note_fd, &note))
        return true;
    close(note.u.worker.fd); /* and it ends by itself */
    return false;
}

static void start_workers(struct report *report, hf_time now)
{
    for (unsigned pool = 0; pool < NOTE_POOLS; pool++) {
        while (report->wanted[pool] > 0 && start_worker(report, (enum note_pool)pool, now))
            report->wanted[pool]--;
        report->wanted[pool] = 0; /* what is still missing is asked for again */
    }
}

/* The process that keeps VFs and their owners straight. Without it flips go on. */
static void start_keeper(struct report *report, hf_time now)
{
    const struct report_setup *setup = &report->setup;
    const char *words[] = {"holdfast-nicbond",
                           "keeper",
                           setup->root,
                           setup->run,
                           setup->ledger,
                           setup->state,
                           setup->wanted[0] != NULL ? setup->wanted[0] : "",
                           setup->wanted[1] != NULL ? setup->wanted[1] : "",
                           NULL};
    char *argv[sizeof words / sizeof words[0]];
    struct hf_err err;
    pid_t pid;

    _Static_assert(HF_FABRICS_MAX == 2, "a word for each fabric's PF");
    if (report->keeper_fd >= 0 || setup->ledger == NULL ||
        !helper_may_start(&report->keeper_starts, now))
        return;
    memcpy(argv, words, sizeof argv);
    if (helper_start(setup->program, argv, &report->keeper_fd, &pid, &err) != HF_OK ||
        agent_watch(report->agent, report->keeper_fd, &err) != HF_OK) {
        hf_error("keeper: %s", err.text);
        if (report->keeper_fd >= 0)
            close(report->keeper_fd);
        report->keeper_fd = -1;
    }
    report->word = (struct keeper_word){0};
}

static void lose_keeper(struct report *report)
{
    agent_unwatch(report->agent, report->keeper_fd);
    close(report->keeper_fd);
    report->keeper_fd = -1;
    hf_warning("the keeper has ended and is started again");
}

/* A PF that does not carry is left alone; one that was reset may have forgotten its VFs. A word
 * that finds no room is told with the next notes. */
static void tell_keeper(struct report *report)
{
    struct keeper_word word = {0};
    uint8_t bytes[KEEPER_WORD_BYTES];

    for (unsigned f = 0; f < report->nics.u.nics.count && f < HF_FABRICS_MAX; f++) {
        const struct hf_pf_facts *pf = &report->nics.u.nics.pf[f];

        if (pf->state == HF_PF_DOWN || pf->state == HF_PF_ABSENT)
            word.is_unwell |= (hf_legs)(1u << f);
        if (pf->resets != report->resets[f])
            word.was_reset |= (hf_legs)(1u << f);
    }
    if (report->keeper_fd < 0 || (word.was_reset == 0 && word.is_unwell == report->word.is_unwell))
        return;
    keeper_word_put(&word, bytes);
    if (send(report->keeper_fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL) !=
        (ssize_t)sizeof bytes)
        return;
    report->word = word;
    for (unsigned f = 0; f < report->nics.u.nics.count && f < HF_FABRICS_MAX; f++)
        report->resets[f] = report->nics.u.nics.pf[f].resets;
}

/* Only workers are our children. */
static void reap(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

/* ---- notes of the hot loop ---- */

static void put_nics(struct report *report)
{
    struct hf_report nics = {.kind = HF_REPORT_NICS};

    if (!report->has_nics)
        return;
    nics.u.nics.count = report->nics.u.nics.count;
    memcpy(nics.u.nics.pf, report->nics.u.nics.pf, sizeof nics.u.nics.pf);
    agent_put(report->agent, &nics);
}

static void take_note(struct report *report, const struct note *note)
{
    struct hf_report out;

    memset(&out, 0, sizeof out);
    switch (note->kind) {
    case NOTE_NICS:
        /* A PF that came or has another name: legs may be found on it. */
        for (unsigned f = 0; f < HF_FABRICS_MAX; f++) {
            if (strcmp(report->nics.u.nics.pf[f].name, note->u.nics.pf[f].name) != 0 ||
                strcmp(report->nics.u.nics.pf[f].pci, note->u.nics.pf[f].pci) != 0)
                report->look_at = (hf_time){0};
        }
        report->nics = *note;
        report->has_nics = true;
        report->heard_at = hf_clock_now();
        put_nics(report);
        tell_keeper(report);
        break;
    case NOTE_LEGS:
        if (!is_taken(report, NULL, note->u.legs.uid))
            break; /* told before the hot loop knew that it is gone */
        out.kind = HF_REPORT_LEGS;
        out.u.legs = note->u.legs;
        agent_put(report->agent, &out);
        break;
    case NOTE_FLIP:
        out.kind = HF_REPORT_FLIP;
        out.u.flip.number = note->u.flip.order;
        out.u.flip.flip = note->u.flip.flip;
        agent_put(report->agent, &out);
        break;
    case NOTE_WORKERS:
        memcpy(report->wanted, note->u.workers, sizeof report->wanted);
        break;
    case NOTE_LATE:
        hf_warning("the loop was %u us late; the latest so far was %u us", note->u.late.us,
                   note->u.late.worst_us);
        break;
    case NOTE_VM:
    case NOTE_VM_GONE:
    case NOTE_ORDER:
    case NOTE_TELL_ALL:
    case NOTE_WORKER:
    case NOTE_LIMITS:
    case NOTE_KINDS:
        break;
    }
}

/* ---- the cluster file, again ---- */

static void reload(struct report *report)
{
    struct hf_config *config = malloc(sizeof *config); /* large */
    struct note note = {.kind = NOTE_LIMITS};
    struct signalfd_siginfo info;
    struct hf_err err;

    while (read(report->setup.reload_fd, &info, sizeof info) > 0)
        ;
    if (config == NULL || config_load(report->setup.config, config, &err) != HF_OK) {
        hf_error("the cluster file is not taken: %s", config != NULL ? err.text : "out of memory");
        free(config);
        return;
    }
    note_limits(&config->nics, &note.u.limits);
    free(config);
    if (note_put(report->setup.note_fd, &note))
        hf_info("the cluster file is read again: times hold from now on; other NICs, addresses "
                "and peers with the next start");
}

/* ---- the frame's calls ---- */

static void joined(void *user, hf_time now)
{
    struct report *report = user;
    struct note note = {.kind = NOTE_TELL_ALL};

    (void)now;
    put_nics(report);
    (void)note_put(report->setup.note_fd, &note);
}

static void told(void *user, const struct hf_report *record, int ride, hf_time now)
{
    struct report *report = user;
    struct note note = {.kind = NOTE_ORDER};

    (void)now;
    if (ride >= 0)
        close(ride);
    if (record->kind != HF_REPORT_NIC_ORDER)
        return;
    note.u.order.number = record->u.nic_order.number;
    note.u.order.uid = record->u.nic_order.uid;
    note.u.order.to = record->u.nic_order.to;
    if (!note_put(report->setup.note_fd, &note))
        hf_error("order %u onto a leg is lost: the hot loop does not read",
                 record->u.nic_order.number);
}

static void ready(void *user, int fd, hf_time now)
{
    struct report *report = user;
    struct note note;

    if (fd == report->setup.note_fd) {
        while (note_take(fd, &note))
            take_note(report, &note);
    } else if (fd == report->watch_fd) {
        if (!legs_watch_read(fd, mark_dirty, report))
            report->look_at = now;
    } else if (fd == report->setup.reload_fd) {
        reload(report);
    } else if (fd == report->keeper_fd) {
        lose_keeper(report); /* it tells nothing: it is gone */
    }
}

static hf_time tick(void *user, hf_time now)
{
    struct report *report = user;

    /* systemd's watchdog is fed from here: it must not hide a loop that stands still. */
    if (report->has_nics &&
        hf_time_reached(now, hf_time_add_ms(report->heard_at, REPORT_SILENT_MS))) {
        hf_error("the hot loop is silent for %d ms: ends, to be started again", REPORT_SILENT_MS);
        _exit(EXIT_FAILURE);
    }
    start_workers(report, now);
    start_keeper(report, now);
    if (hf_time_reached(now, report->look_at))
        look_at_all(report, now);
    if (hf_time_reached(now, report->retry_at))
        look_at_dirty(report, now);
    reap();
    return report->retry_at.ns < report->look_at.ns ? report->retry_at : report->look_at;
}

const struct agent_calls report_calls = {
    .joined = joined, .told = told, .ready = ready, .tick = tick};

enum hf_code report_open(struct report *report, struct agent *agent, struct hf_err *err)
{
    report->agent = agent;
    if (report->setup.reload_fd >= 0 && agent_watch(agent, report->setup.reload_fd, err) != HF_OK)
        return err->code;
    return agent_watch(agent, report->setup.note_fd, err);
}
