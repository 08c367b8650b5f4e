#include "agents/vm/vm.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/vm/render.h"
#include "supervisord/base/log.h"
#include "supervisord/base/str.h"

/* ---- the table ---- */

struct vm *vm_find(struct vm_agent *v, hf_vm_uid uid)
{
    for (size_t i = 0; i < HF_VMS_MAX; i++) {
        if (v->vm[i].is_used && v->vm[i].uid == uid)
            return &v->vm[i];
    }
    return NULL;
}

struct vm *vm_take(struct vm_agent *v, hf_vm_uid uid, const char *name)
{
    struct vm *vm = vm_find(v, uid);

    for (size_t i = 0; i < HF_VMS_MAX && vm == NULL; i++) {
        if (!v->vm[i].is_used) {
            vm = &v->vm[i];
            *vm = (struct vm){.is_used = true, .uid = uid, .pidfd = -1};
            (void)hf_str_copy(vm->name, sizeof vm->name, name);
        }
    }
    return vm;
}

static struct vm *find_named(struct vm_agent *v, const char *name)
{
    struct vm *found = NULL;

    for (size_t i = 0; i < HF_VMS_MAX; i++) {
        struct vm *vm = &v->vm[i];

        if (vm->is_used && strcmp(vm->name, name) == 0 && (found == NULL || vm->uid > found->uid))
            found = vm; /* a name may be used again: the newer VM has it */
    }
    return found;
}

static void let_go(struct vm_agent *v, struct vm *vm)
{
    if (vm->pidfd >= 0) {
        agent_unwatch(v->agent, vm->pidfd);
        close(vm->pidfd);
    }
    vm->pidfd = -1;
}

/* Slots that only an order kept go when it ends. */
static void tidy(struct vm_agent *v, struct vm *vm)
{
    if (!vm->is_used || vm->is_listed || vm->start.step != START_NONE ||
        vm->stop.step != STOP_NONE || vm_may_appear(vm))
        return;
    if (!v->is_list_known) /* the list that will name it is still on its way */
        return;
    let_go(v, vm);
    vm->is_used = false;
}

/* ---- speaking ---- */

void vm_tell(struct vm_agent *v, struct vm *vm, enum hf_seen seen)
{
    struct hf_report report = {.kind = HF_REPORT_VM};

    if (seen == HF_SEEN_RUNNING && (vm->is_never_run || vm->stop.is_own))
        return; /* it does not run, and perhaps never will: unwanted.c decides */
    report.u.vm.uid = vm->uid;
    report.u.vm.start_no = vm->start_no;
    report.u.vm.pid = seen == HF_SEEN_RUNNING ? (uint32_t)vm->qemu.pid : 0;
    report.u.vm.seen = seen;
    vm->is_told_running = seen == HF_SEEN_RUNNING;
    agent_put(v->agent, &report);
}

void vm_done(struct vm_agent *v, struct hf_token token, enum hf_outcome outcome, hf_time received,
             hf_time now, const char *format, ...)
{
    struct hf_report report = {.kind = HF_REPORT_DONE};
    va_list args;

    report.u.done.token = token;
    report.u.done.outcome = outcome;
    report.u.done.took_ms = (uint32_t)hf_time_since_ms(now, received);
    va_start(args, format);
    (void)vsnprintf(report.u.done.why, sizeof report.u.done.why, format, args);
    va_end(args);
    agent_put(v->agent, &report);
}

void vm_progress(struct vm_agent *v, struct hf_token token, enum hf_progress phase, pid_t pid)
{
    struct hf_report report = {.kind = HF_REPORT_PROGRESS};

    report.u.progress.token = token;
    report.u.progress.phase = phase;
    report.u.progress.pid = (uint32_t)pid;
    agent_put(v->agent, &report);
}

uint64_t vm_submit(struct vm_agent *v, struct vm *vm, enum job_kind kind, char *xml)
{
    struct job job = {.kind = kind, .uid = vm->uid, .start_no = vm->start.start_no, .xml = xml};

    (void)hf_str_copy(job.name, sizeof job.name, vm->name);
    return pool_submit(v->pool, &job);
}

static void tell_watch(struct vm_agent *v)
{
    struct hf_report report = {.kind = HF_REPORT_WATCH};
    bool is_stuck = pool_stuck(v->pool) >= POOL_STUCK_MAX;

    v->is_known = v->is_attached && v->is_look_certain && !is_stuck;
    if (v->is_known == v->is_known_told && !v->is_watch_due)
        return;
    report.u.watch.known = v->is_known;
    if (is_stuck)
        (void)snprintf(report.u.watch.why, sizeof report.u.watch.why,
                       "libvirt: %d calls hang", (int)POOL_STUCK_MAX);
    else if (!v->is_known)
        (void)hf_str_copy(report.u.watch.why, sizeof report.u.watch.why, v->trouble);
    v->is_watch_due = false;
    v->is_known_told = v->is_known;
    v->wants_inventory = v->wants_inventory || v->is_known;
    agent_put(v->agent, &report);
    if (v->is_known)
        hf_info("libvirt answers");
    else
        hf_warning("libvirt does not answer, VMs are watched by their processes: %s",
                   report.u.watch.why);
}

/* ---- processes ---- */

/* A process of this VM was found: hold it, and learn whose start it is. */
static void hold(struct vm_agent *v, struct vm *vm, const struct qemu *found, hf_time now)
{
    struct hf_err err;
    bool is_certain;
    int pidfd;

    if (qemu_hold(&v->where, found, &pidfd, &err) != HF_OK)
        return; /* it ended meanwhile */
    if (agent_watch(v->agent, pidfd, &err) != HF_OK) {
        hf_error("vm=%s pid %d is not watched: %s", vm->name, (int)found->pid, err.text);
        close(pidfd);
        v->look_at = hf_time_add_ms(now, VM_BACKOFF_MS_MAX);
        return;
    }
    let_go(v, vm);
    vm->life = VM_ON;
    vm->qemu = *found;
    vm->pidfd = pidfd;
    vm->is_told_running = false;
    vm->can_correct = false;
    vm->facts = (struct judge_facts){.is_ordered = vm->stop.step != STOP_NONE};
    vm->start_no = qemu_start_no(&v->where, vm->name, vm->uid, &is_certain);
    unwanted_look(v, vm);
    if (!is_certain && vm->start.step == START_NONE && v->is_attached && vm->describe_job == 0)
        vm->describe_job = vm_submit(v, vm, JOB_DESCRIBE, NULL);
}

/* True while the held process has not ended: then there is nothing to look for. */
static bool is_held(const struct vm *vm)
{
    return vm->life == VM_ON && !qemu_has_ended(vm->pidfd);
}

void vm_look_file(struct vm_agent *v, struct vm *vm, hf_time now)
{
    struct qemu found;

    if (is_held(vm))
        return;
    found = qemu_by_file(&v->where, vm->name);
    if (found.pid != 0)
        hold(v, vm, &found, now);
}

enum hf_code vm_look_one(struct vm_agent *v, struct vm *vm, hf_time now, struct hf_err *err)
{
    const char *name = vm->name;
    struct qemu found;

    if (is_held(vm))
        return HF_OK;
    if (qemu_look(&v->where, &name, 1, &found, err) != HF_OK)
        return err->code;
    if (found.pid != 0) {
        hold(v, vm, &found, now);
    } else if (vm->life == VM_ON) { /* ended; its pidfd's turn will come: do not wait for it */
        let_go(v, vm);
        vm->life = VM_OFF;
    }
    return HF_OK;
}

static void look_at_all(struct vm_agent *v, hf_time now)
{
    const char *names[HF_VMS_MAX];
    struct vm *vms[HF_VMS_MAX];
    struct qemu found[HF_VMS_MAX];
    struct hf_err err;
    uint16_t count = 0;

    for (size_t i = 0; i < HF_VMS_MAX; i++) {
        if (v->vm[i].is_used && v->vm[i].life != VM_ON) {
            vms[count] = &v->vm[i];
            names[count++] = v->vm[i].name;
        }
    }
    v->look_at = hf_time_add_ms(now, VM_LOOK_MS);
    if (qemu_look(&v->where, names, count, found, &err) != HF_OK) {
        if (v->is_look_certain)
            (void)hf_str_copy(v->trouble, sizeof v->trouble, err.text);
        v->is_look_certain = false;
        return;
    }
    v->is_look_certain = true;
    for (uint16_t i = 0; i < count; i++) {
        if (found[i].pid == 0)
            continue;
        hold(v, vms[i], &found[i], now);
        if (vms[i]->life == VM_ON && vms[i]->start.step == START_NONE &&
            vms[i]->describe_job == 0)
            vm_tell(v, vms[i], HF_SEEN_RUNNING);
    }
}

/* ---- ends ---- */

static void judge(struct vm_agent *v, struct vm *vm, hf_time now)
{
    struct judge_verdict verdict;

    vm->facts.libvirt_answers = v->is_attached;
    verdict = judge_vm_end(&vm->facts, now);
    if (verdict.word == JUDGE_WAIT)
        return;
    vm->life = VM_OFF;
    if (verdict.word == JUDGE_ORDERED)
        return;
    hf_info("vm=%s pid %d ended: %s (status %d, libvirt's word %d)", vm->name, (int)vm->qemu.pid,
            verdict.why, (int)vm->facts.end, (int)vm->facts.hint);
    vm->can_correct = true;
    vm->told_end = verdict.seen;
    vm_tell(v, vm, verdict.seen);
}

static void ended(struct vm_agent *v, struct vm *vm, hf_time now)
{
    vm->facts.end = qemu_end(&v->where, &vm->qemu, vm->pidfd);
    vm->facts.ended_at = now;
    let_go(v, vm);
    vm->life = VM_ENDED;
    if (vm->stop.step != STOP_NONE)
        stop_ended(v, vm, now);
    else if (vm->start.step != START_NONE)
        start_ended(v, vm, now);
    else
        judge(v, vm, now);
}

static enum judge_hint hint_of(enum virt_event_kind kind)
{
    switch (kind) {
    case VIRT_EV_SHUTDOWN_GUEST:
        return JUDGE_HINT_GUEST;
    case VIRT_EV_SHUTDOWN_HOST:
        return JUDGE_HINT_HOST;
    case VIRT_EV_STOPPED_OFF:
        return JUDGE_HINT_OFF;
    case VIRT_EV_STOPPED_DESTROYED:
        return JUDGE_HINT_DESTROYED;
    case VIRT_EV_STOPPED_FAILED:
        return JUDGE_HINT_FAILED;
    case VIRT_EV_STOPPED_AWAY:
        return JUDGE_HINT_AWAY;
    case VIRT_EV_STARTED:
    case VIRT_EV_PAUSED_TROUBLE:
    case VIRT_EVENTS:
        break;
    }
    return JUDGE_HINT_NONE;
}

/* libvirt's word on an end that was told already: only "on purpose" may correct "crash". */
static void correct(struct vm_agent *v, struct vm *vm, hf_time now)
{
    struct judge_verdict verdict;

    if (!vm->can_correct || hf_time_since_ms(now, vm->facts.ended_at) > VM_CORRECT_MS ||
        vm->start.step != START_NONE)
        return;
    verdict = judge_vm_end(&vm->facts, now);
    if (verdict.word != JUDGE_SAY || verdict.seen == vm->told_end ||
        verdict.seen == HF_SEEN_CRASHED)
        return;
    hf_warning("vm=%s it was no crash: %s", vm->name, verdict.why);
    vm->told_end = verdict.seen;
    vm_tell(v, vm, verdict.seen);
}

static void hear(struct vm_agent *v, const struct virt_event *ev, hf_time now)
{
    struct vm *vm = find_named(v, ev->name);
    enum judge_hint hint = hint_of(ev->kind);

    if (vm == NULL)
        return;
    if (ev->kind == VIRT_EV_PAUSED_TROUBLE)
        hf_error("vm=%s paused by an I/O error or its watchdog: it runs no more", vm->name);
    if (ev->kind == VIRT_EV_STARTED && vm->life != VM_ON && vm->start.step == START_NONE) {
        vm_look_file(v, vm, now);
        if (vm->life == VM_ON)
            vm_tell(v, vm, HF_SEEN_RUNNING);
        else
            v->look_at = vm_earlier(v->look_at, now);
    }
    if (hint == JUDGE_HINT_NONE)
        return;
    /* The event may be quicker than the pidfd. */
    if (vm->life == VM_ON && qemu_has_ended(vm->pidfd))
        ended(v, vm, now);
    if (hint >= JUDGE_HINT_OFF) {
        start_retry(v, vm, now);
        if (vm->life == VM_ON)
            return; /* of an earlier instance: this one is alive */
    }
    vm->facts.was_guest = vm->facts.was_guest || hint == JUDGE_HINT_GUEST;
    if (hint > vm->facts.hint)
        vm->facts.hint = hint;
    if (vm->life == VM_ENDED)
        judge(v, vm, now);
    else if (vm->life == VM_OFF)
        correct(v, vm, now);
}

/* ---- libvirt's connection ---- */

static void detach(struct vm_agent *v, const char *why, hf_time now)
{
    v->is_attached = false;
    (void)hf_str_copy(v->trouble, sizeof v->trouble, why);
    v->attach_at = hf_time_add_ms(now, v->backoff_ms);
    v->backoff_ms = v->backoff_ms * 2 > VM_BACKOFF_MS_MAX ? VM_BACKOFF_MS_MAX : v->backoff_ms * 2;
    tell_watch(v);
}

static void attached(struct vm_agent *v, const struct note *note, hf_time now)
{
    v->attach_job = 0;
    v->is_attach_late = false;
    if (note->code != VIRT_OK) {
        detach(v, note->why, now);
        return;
    }
    v->is_attached = true;
    v->backoff_ms = VM_BACKOFF_MS_MIN;
    v->ping_at = hf_time_add_ms(now, VM_PING_MS);
    pool_refresh(v->pool);
    look_at_all(v, now); /* what was started while we could not hear */
    tell_watch(v);
}

/* One attach at a time: a hung one keeps a worker until it returns, a second would keep another. */
static hf_time tick_libvirt(struct vm_agent *v, hf_time now)
{
    struct job job = {.kind = JOB_ATTACH};

    if (v->attach_job != 0) {
        if (!v->is_attach_late && hf_time_reached(now, v->attach_deadline)) {
            v->is_attach_late = true;
            pool_abandon(v->pool, v->attach_job);
            (void)hf_str_copy(v->trouble, sizeof v->trouble, "libvirt: connecting hangs");
            tell_watch(v);
        }
        return v->is_attach_late ? VM_NEVER : v->attach_deadline;
    }
    if (!v->is_attached) {
        if (!hf_time_reached(now, v->attach_at))
            return v->attach_at;
        v->attach_job = pool_submit(v->pool, &job);
        v->attach_deadline = hf_time_add_ms(now, VM_ATTACH_DEADLINE_MS);
        return v->attach_deadline;
    }
    if (v->ping_job != 0 && hf_time_reached(now, v->ping_deadline)) {
        pool_abandon(v->pool, v->ping_job);
        v->ping_job = 0;
        detach(v, "libvirt: it does not answer", now);
        return v->attach_at;
    }
    if (v->ping_job == 0 && hf_time_reached(now, v->ping_at)) {
        job.kind = JOB_PING;
        v->ping_job = pool_submit(v->pool, &job);
        v->ping_at = hf_time_add_ms(now, VM_PING_MS);
        v->ping_deadline = hf_time_add_ms(now, VM_PING_DEADLINE_MS);
    }
    return v->ping_job != 0 ? vm_earlier(v->ping_deadline, v->ping_at) : v->ping_at;
}

/* ---- notes of the workers ---- */

static void described(struct vm_agent *v, struct vm *vm, const struct note *note)
{
    struct hf_err err;
    hf_vm_uid uid = 0;
    uint32_t start_no = 0;

    if (vm->describe_job != note->id)
        return;
    vm->describe_job = 0;
    if (note->code == VIRT_OK && vm->start_no == 0 &&
        render_read(note->xml, strlen(note->xml), &uid, &start_no, &err) == HF_OK &&
        uid == vm->uid)
        vm->start_no = start_no;
    if (vm->life == VM_ON && vm->start.step == START_NONE)
        vm_tell(v, vm, HF_SEEN_RUNNING);
}

static void take_answer(struct vm_agent *v, const struct note *note, hf_time now)
{
    struct vm *vm = note->uid != 0 ? vm_find(v, note->uid) : NULL;

    switch (note->job) {
    case JOB_ATTACH:
        attached(v, note, now);
        return;
    case JOB_PING:
        if (note->id != v->ping_job)
            return;
        v->ping_job = 0;
        if (note->code != VIRT_OK)
            detach(v, note->why, now);
        return;
    case JOB_CREATE:
    case JOB_RESUME:
        if (vm != NULL)
            start_answer(v, vm, note, now);
        break;
    case JOB_SHUTDOWN:
    case JOB_DESTROY_GRACEFUL:
    case JOB_DESTROY:
        if (vm != NULL)
            stop_answer(v, vm, note, now);
        break;
    case JOB_DESCRIBE:
        if (vm != NULL)
            described(v, vm, note);
        break;
    case JOB_PROBE:
        if (vm != NULL)
            orphan_answer(v, vm, note, now);
        break;
    case JOB_KINDS:
        break;
    }
    if (vm != NULL)
        tidy(v, vm);
}

static void take_notes(struct vm_agent *v, hf_time now)
{
    struct note note;
    struct vm *vm;

    for (int i = 0; i < VM_NOTES_A_ROUND && pool_take(v->pool, &note); i++) {
        switch (note.kind) {
        case NOTE_ANSWER:
            take_answer(v, &note, now);
            break;
        case NOTE_CALLED:
            vm = vm_find(v, note.uid);
            if (vm != NULL)
                start_called(v, vm, &note);
            break;
        case NOTE_EVENT:
            hear(v, &note.event, now);
            break;
        case NOTE_GONE:
            if (v->is_attached)
                detach(v, note.why, now);
            break;
        }
        free(note.xml);
    }
    if (pool_lost_events(v->pool) > 0)
        v->look_at = vm_earlier(v->look_at, now);
}

/* ---- the daemon's list, and ours ---- */

/* The list replaces what was known. A VM that keeps its uid and name keeps everything. */
static void take_list(struct vm_agent *v, hf_time now)
{
    for (size_t i = 0; i < HF_VMS_MAX; i++)
        v->vm[i].is_listed = false;
    v->is_list_known = true;
    for (uint16_t i = 0; i < v->staged_count; i++) {
        struct vm *vm = vm_find(v, v->staged[i].uid);

        if (vm != NULL)
            vm->is_listed = true;
    }
    for (size_t i = 0; i < HF_VMS_MAX; i++)
        tidy(v, &v->vm[i]);
    for (uint16_t i = 0; i < v->staged_count; i++) {
        struct vm *vm = vm_take(v, v->staged[i].uid, v->staged[i].name);

        if (vm != NULL)
            vm->is_listed = true;
        else
            v->is_list_known = false; /* orders hold slots: complete only with the next list */
    }
    if (!v->is_list_known)
        hf_error("the VM table is full: the inventory is not complete");
    v->staged_count = 0;
    v->orders_at = hf_time_add_ms(now, VM_ORDERS_MS);
    look_at_all(v, now);
    v->wants_inventory = true;
}

static void stage(struct vm_agent *v, const struct hf_report *report, hf_time now)
{
    if (report->u.vms.is_last) {
        take_list(v, now);
        return;
    }
    if (v->staged_count == HF_VMS_MAX)
        return; /* the daemon's own limit; a list beyond it is not one */
    v->staged[v->staged_count].uid = report->u.vms.uid;
    (void)hf_str_copy(v->staged[v->staged_count].name, HF_NAME_MAX + 1, report->u.vms.name);
    v->staged_count++;
}

/* A create that is not answered, given up on or not, may make a process at any moment. */
static bool may_be_created(const struct vm *vm)
{
    return vm->creates > 0 || vm->start.step == START_CREATING ||
           vm->start.step == START_WAITING_GONE;
}

/* Complete or not at all: against the list of this connection, after a look that succeeded, and
 * while no create of this host, whoever called it, can still add to it. */
static void send_inventory(struct vm_agent *v)
{
    struct hf_report report = {.kind = HF_REPORT_INVENTORY};
    uint16_t count = 0;

    if (!v->wants_inventory || !v->is_list_known || !v->is_look_certain || !v->is_ledger_known)
        return;
    for (size_t i = 0; i < HF_VMS_MAX; i++) {
        struct vm *vm = &v->vm[i];

        if (!vm->is_used)
            continue;
        if (vm->orphan.is_open)
            return;
        if (!vm->is_listed)
            continue;
        if (vm->life != VM_ON && may_be_created(vm))
            return; /* "not here" would be a guess, and on it the VM is started elsewhere */
        if (vm->life == VM_OFF)
            continue;
        if (vm->life == VM_ENDED)
            return; /* how it ended must be told first */
        if (unwanted_is_open(vm))
            return; /* it is not to be counted on, and not yet gone */
        if (vm->describe_job != 0)
            return; /* whose start it is comes with libvirt's answer, or its failure */
        report.u.inventory.vm[count].uid = vm->uid;
        report.u.inventory.vm[count++].start_no = vm->start_no;
    }
    report.u.inventory.as_of = v->as_of;
    report.u.inventory.count = count;
    v->wants_inventory = false;
    agent_put(v->agent, &report);
}

/* ---- the frame's calls ---- */

static void joined(void *user, hf_time now)
{
    struct vm_agent *v = user;

    (void)now;
    v->is_list_known = false;
    v->as_of = 0; /* until this daemon asks */
    v->staged_count = 0;
    v->is_watch_due = true;
    tell_watch(v);
    v->wants_inventory = true;
}

static void drop(struct vm_agent *v, struct hf_token token, hf_time now)
{
    for (size_t i = 0; i < HF_VMS_MAX; i++) {
        struct vm *vm = &v->vm[i];

        if (vm->is_used && vm->start.step != START_NONE &&
            hf_token_same(vm->start.token, token)) {
            start_drop(v, vm, now);
            tidy(v, vm);
        }
    }
}

/* ---- the lease is over ---- */

/* No libvirt: it may hang, and the rest of the group may be about to start these elsewhere. Their
 * ends are told as any other's, as crashes: whoever decides next may start them again. */
static void kill_now(struct vm_agent *v, struct vm *vm, hf_time now, unsigned *killed)
{
    start_yield(v, vm, now); /* what a call still makes is ended as unwanted */
    if (vm->life != VM_ON || !qemu_kill(vm->pidfd))
        return;
    hf_warning("vm=%s SIGKILL to pid %d: the lease is over", vm->name, (int)vm->qemu.pid);
    ++*killed;
}

/* Those that are held at once, then those that only a look finds. */
static void self_stop(struct vm_agent *v, hf_time now)
{
    bool was_on[HF_VMS_MAX];
    unsigned killed = 0;

    for (size_t i = 0; i < HF_VMS_MAX; i++) {
        was_on[i] = v->vm[i].is_used && v->vm[i].life == VM_ON;
        if (v->vm[i].is_used)
            kill_now(v, &v->vm[i], now, &killed);
    }
    look_at_all(v, now);
    for (size_t i = 0; i < HF_VMS_MAX; i++) {
        if (v->vm[i].is_used && !was_on[i])
            kill_now(v, &v->vm[i], now, &killed);
    }
    hf_error("the lease is over: %u VMs of ours are killed", killed);
}

static void told(void *user, const struct hf_report *report, int ride, hf_time now)
{
    struct vm_agent *v = user;

    switch (report->kind) {
    case HF_REPORT_VMS:
        stage(v, report, now);
        break;
    case HF_REPORT_START:
        start_begin(v, report, ride, now);
        break;
    case HF_REPORT_STOP:
        stop_begin(v, report, now);
        break;
    case HF_REPORT_ASK:
        v->as_of = report->u.ask.as_of;
        look_at_all(v, now);
        v->wants_inventory = true;
        break;
    case HF_REPORT_DROP:
        drop(v, report->u.drop.token, now);
        break;
    case HF_REPORT_SELF_STOP:
        self_stop(v, now);
        break;
    case HF_REPORT_FENCE:
    case HF_REPORT_TEST:
    case HF_REPORT_LEASE:
    case HF_REPORT_WATCHDOG:
    case HF_REPORT_TESTED:
    case HF_REPORT_NICS:
    case HF_REPORT_LEGS:
    case HF_REPORT_FLIP:
    case HF_REPORT_NIC_ORDER:
    case HF_REPORT_HELLO:
    case HF_REPORT_HOST:
    case HF_REPORT_INVENTORY:
    case HF_REPORT_VM:
    case HF_REPORT_WATCH:
    case HF_REPORT_DONE:
    case HF_REPORT_PROGRESS:
    case HF_REPORT_KINDS:
        hf_warning("daemon: a record of kind %d is not for this agent", (int)report->kind);
        break;
    }
    if (ride >= 0)
        close(ride);
}

static void ready(void *user, int fd, hf_time now)
{
    struct vm_agent *v = user;

    if (fd == pool_fd(v->pool)) {
        take_notes(v, now);
        return;
    }
    for (size_t i = 0; i < HF_VMS_MAX; i++) {
        struct vm *vm = &v->vm[i];

        if (vm->is_used && vm->life == VM_ON && vm->pidfd == fd && qemu_has_ended(fd)) {
            ended(v, vm, now);
            tidy(v, vm);
        }
    }
}

static hf_time tick_vm(struct vm_agent *v, struct vm *vm, hf_time now)
{
    hf_time next = orphan_tick(v, vm, now);

    next = vm_earlier(next, vm_earlier(start_tick(v, vm, now), stop_tick(v, vm, now)));
    next = vm_earlier(next, unwanted_tick(v, vm, now)); /* what they left behind */
    if (vm->life == VM_ENDED) {
        judge(v, vm, now);
        if (vm->life == VM_ENDED)
            next = vm_earlier(next, judge_vm_end(&vm->facts, now).until);
    }
    tidy(v, vm);
    return next;
}

static hf_time tick(void *user, hf_time now)
{
    struct vm_agent *v = user;
    hf_time next = tick_libvirt(v, now);

    if (hf_time_reached(now, v->look_at)) {
        if (!v->is_ledger_known)
            orphan_load(v, now);
        look_at_all(v, now);
        tell_watch(v);
    }
    for (size_t i = 0; i < HF_VMS_MAX; i++) {
        if (v->vm[i].is_used)
            next = vm_earlier(next, tick_vm(v, &v->vm[i], now));
    }
    tell_watch(v);
    send_inventory(v);
    return vm_earlier(next, v->look_at);
}

const struct agent_calls vm_calls = {joined, told, ready, tick};

enum hf_code vm_open(struct vm_agent *v, struct agent *agent, struct hf_err *err)
{
    v->agent = agent;
    v->backoff_ms = VM_BACKOFF_MS_MIN;
    v->is_look_certain = true; /* until a look fails; the first comes before the first word */
    (void)hf_str_copy(v->trouble, sizeof v->trouble, "libvirt: not connected yet");
    for (size_t i = 0; i < HF_VMS_MAX; i++)
        v->vm[i].pidfd = -1;
    orphan_open(v, hf_clock_now());
    return agent_watch(agent, pool_fd(v->pool), err);
}

void vm_close(struct vm_agent *v)
{
    for (size_t i = 0; i < HF_VMS_MAX; i++) {
        struct vm *vm = &v->vm[i];

        let_go(v, vm);
        free(vm->start.xml);
        vm->start.xml = NULL;
    }
}
