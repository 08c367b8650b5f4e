/* start.c - a start order: create paused, hold the process, let it run.
 * REFUSED says that nothing of this VM runs here, so each refusal looks at every process first;
 * what cannot be known is GAVE_UP. A process that was made too late is never let run: unwanted.c
 * ends it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/vm/ledger.h"
#include "agents/vm/render.h"
#include "agents/vm/vm.h"
#include "supervisord/base/log.h"
#include "supervisord/base/str.h"
#include "supervisord/door/door.h"

static void end(struct vm *vm)
{
    free(vm->start.xml);
    vm->start = (struct start_order){.step = START_NONE};
}

static void give_up(struct vm_agent *v, struct vm *vm, hf_time now, const char *why)
{
    struct start_order order = vm->start;

    end(vm);
    vm_done(v, order.token, HF_OUT_GAVE_UP, order.received, now, "%s", why);
    if (vm->life == VM_ON && !vm->is_told_running)
        vm_tell(v, vm, HF_SEEN_RUNNING); /* paused perhaps, but it is there */
}

/* Its process is there, and nobody wants it. One that was adopted is left alone if it may run. */
static void undo(struct vm_agent *v, struct vm *vm, hf_time now)
{
    if (!vm->start.is_made && !vm->is_never_run) {
        give_up(v, vm, now, "it was dropped, what runs was left alone");
        return;
    }
    vm->is_never_run = true; /* so that it is not told as running */
    give_up(v, vm, now, "it was dropped, and its process is ended");
    unwanted_end(v, vm, "its order was dropped", now);
}

/* Refused if it is certain that nothing runs, given up otherwise. */
static void refuse(struct vm_agent *v, struct vm *vm, hf_time now, const char *why)
{
    struct start_order order = vm->start;
    struct hf_err err;

    if (vm_look_one(v, vm, now, &err) != HF_OK) {
        give_up(v, vm, now, err.text);
        return;
    }
    if (vm->life == VM_ON || vm_may_appear(vm)) {
        give_up(v, vm, now, why);
        return;
    }
    end(vm); /* VM_ENDED stays: how it ended is still to be told */
    vm_done(v, order.token, HF_OUT_REFUSED, order.received, now, "%s", why);
}

static void submit_create(struct vm_agent *v, struct vm *vm, hf_time now)
{
    char *copy = strdup(vm->start.xml);

    vm->start.job = copy != NULL ? vm_submit(v, vm, JOB_CREATE, copy) : 0;
    if (vm->start.job == 0) {
        refuse(v, vm, now, "too many calls wait for libvirt");
        return;
    }
    vm->creates++;
    vm->start.step = START_CREATING;
}

static void submit_resume(struct vm_agent *v, struct vm *vm, hf_time now)
{
    vm->start.job = vm_submit(v, vm, JOB_RESUME, NULL);
    vm->start.step = START_RESUMING;
    if (vm->start.job == 0)
        give_up(v, vm, now, "too many calls wait for libvirt");
}

/* ---- the order arrives ---- */

static enum hf_code read_xml(const struct hf_report *report, int ride, char **xml,
                             struct hf_err *err)
{
    struct hf_digest digest;
    void *bytes;
    size_t len;

    if (ride < 0)
        return hf_err_set(err, HF_EBAD, "the order came without XML");
    if (door_memory_read(ride, HF_XML_MAX, &bytes, &len, err) != HF_OK)
        return hf_err_wrap(err, "XML");
    digest = hf_digest_of(bytes, len);
    if (!hf_digest_equal(&digest, &report->u.start.xml))
        (void)hf_err_set(err, HF_EBAD, "the XML is not the one that was ordered");
    else if (render_start(bytes, len, report->u.start.name, report->u.start.uid,
                          report->u.start.start_no, xml, err) == HF_OK)
        err->code = HF_OK;
    free(bytes);
    return err->code;
}

/* Is there a reason not to begin? Then the order is answered. */
static bool is_hindered(struct vm_agent *v, struct vm *vm, hf_time now)
{
    if (vm->stop.step != STOP_NONE && !vm->stop.is_own) {
        give_up(v, vm, now, "a stop of this VM is under way");
        return true;
    }
    if (vm->creates > 0) {
        give_up(v, vm, now, "an earlier start still hangs in libvirt");
        return true;
    }
    return false;
}

/* No start is executed twice in a boot, by whichever agent. False: this one must not be, *why. */
static bool is_new(struct vm_agent *v, const struct vm *vm, char *why, size_t cap)
{
    uint32_t start_no = vm->start.start_no;
    struct ledger_entry entry;
    struct hf_err err;
    enum hf_code code = ledger_read(v->ledger, vm->uid, &entry, &err);

    if (code == HF_ENOENT || (code == HF_OK && entry.start_no < start_no))
        return true;
    if (code != HF_OK)
        (void)hf_str_copy(why, cap, err.text);
    else if (entry.start_no == start_no)
        (void)snprintf(why, cap, "start %u %s and ended", (unsigned)start_no,
                       vm->unwanted_no == start_no ? "was dropped" : "ran already");
    else
        (void)snprintf(why, cap, "start %u is stale: start %u was executed here",
                       (unsigned)start_no, (unsigned)entry.start_no);
    return false;
}

/* What runs cannot be made. */
static void adopt(struct vm_agent *v, struct vm *vm, hf_time now)
{
    if (vm->start_no == 0)
        give_up(v, vm, now, "it runs already, started by somebody else");
    else if (vm->start_no != vm->start.start_no)
        give_up(v, vm, now, "it runs already, from another start");
    else if (vm->start_no == vm->unwanted_no)
        give_up(v, vm, now, "it was dropped, and its process does not end");
    else if (!v->is_attached)
        give_up(v, vm, now, v->trouble);
    else
        submit_resume(v, vm, now); /* this very start: an agent before us began it */
}

/* Nothing earlier is under way: adopt what runs, or create. */
static void carry_out(struct vm_agent *v, struct vm *vm, hf_time now)
{
    char why[HF_REASON_MAX + 1];
    bool is_old = vm->life != VM_ON && !is_new(v, vm, why, sizeof why);
    struct hf_err err;

    if (is_old) /* libvirt's pid file is not the last word on what runs */
        (void)vm_look_one(v, vm, now, &err);
    if (vm->life == VM_ON) {
        adopt(v, vm, now);
    } else if (is_old || !v->is_attached) {
        refuse(v, vm, now, is_old ? why : v->trouble);
    } else {
        vm->can_correct = false;
        submit_create(v, vm, now);
    }
}

void start_settled(struct vm_agent *v, struct vm *vm, hf_time now)
{
    if (vm->start.step == START_UNSETTLED && !vm_may_appear(vm) && !vm->stop.is_own)
        carry_out(v, vm, now);
}

static void begin(struct vm_agent *v, struct vm *vm, const struct hf_report *report, int ride,
                  hf_time now)
{
    struct hf_err err;

    vm->start = (struct start_order){.step = START_CREATING,
                                     .token = report->u.start.token,
                                     .start_no = report->u.start.start_no,
                                     .received = now,
                                     .deadline = hf_time_add_ms(now, report->u.start.deadline_ms)};
    vm_look_file(v, vm, now);
    if (is_hindered(v, vm, now))
        return;
    if ((vm->life != VM_ON || vm->stop.is_own) &&
        read_xml(report, ride, &vm->start.xml, &err) != HF_OK) {
        refuse(v, vm, now, err.text);
        return;
    }
    if (vm->orphan.is_open || vm->stop.is_own)
        vm->start.step = START_UNSETTLED;
    else
        carry_out(v, vm, now);
}

void start_begin(struct vm_agent *v, const struct hf_report *report, int ride, hf_time now)
{
    struct vm *vm;

    if (agent_repeat(v->agent, report->u.start.token))
        return;
    vm = vm_take(v, report->u.start.uid, report->u.start.name);
    if (vm == NULL) {
        vm_done(v, report->u.start.token, HF_OUT_GAVE_UP, now, now, "the VM table is full");
        return;
    }
    if (vm->start.step == START_NONE) {
        begin(v, vm, report, ride, now);
    } else if (vm->start.start_no == report->u.start.start_no) {
        vm->start.token = report->u.start.token; /* the same order, asked for again */
        vm->start.is_dropped = false;
    } else {
        vm_done(v, report->u.start.token, HF_OUT_GAVE_UP, now, now,
                "start %u of this VM is under way", (unsigned)vm->start.start_no);
    }
}

/* ---- answers ---- */

void start_called(struct vm_agent *v, struct vm *vm, const struct note *note)
{
    if (vm->start.step != START_CREATING || vm->start.job != note->id || vm->start.is_requested)
        return;
    vm->start.is_requested = true;
    vm_progress(v, vm->start.token, HF_PROGRESS_START_REQUESTED, 0);
}

static void created(struct vm_agent *v, struct vm *vm, hf_time now)
{
    struct hf_err err;

    vm_look_file(v, vm, now);
    if (vm->life != VM_ON && vm_look_one(v, vm, now, &err) != HF_OK) {
        give_up(v, vm, now, err.text);
        return;
    }
    if (vm->life != VM_ON) {
        refuse(v, vm, now, "its qemu ended at once");
        return;
    }
    if (vm->start_no != 0 && vm->start_no != vm->start.start_no) {
        give_up(v, vm, now, "the process that runs is from another start");
        return;
    }
    vm->start_no = vm->start.start_no;
    vm->start.is_made = true;
    vm_progress(v, vm->start.token, HF_PROGRESS_QEMU_RUNNING, vm->qemu.pid);
    if (vm->start.is_dropped)
        undo(v, vm, now);
    else
        submit_resume(v, vm, now);
}

static void answer_create(struct vm_agent *v, struct vm *vm, const struct note *note, hf_time now)
{
    switch (note->code) {
    case VIRT_OK:
        created(v, vm, now);
        break;
    case VIRT_ACTIVE:
        vm_look_file(v, vm, now);
        if (vm->life == VM_ON || vm->start.is_dropped) {
            give_up(v, vm, now, note->why);
            break;
        }
        vm->start.step = START_WAITING_GONE;
        vm->start.retry_at = hf_time_add_ms(now, VM_GONE_RETRY_MS);
        break;
    case VIRT_LOCKED:
        hf_error("vm=%s start: an image is locked: somebody else runs it (two runners?): %s",
                 vm->name, note->why);
        refuse(v, vm, now, note->why);
        break;
    case VIRT_ABSENT:
    case VIRT_PERSISTENT:
    case VIRT_FAILED:
    case VIRT_UNREACHED:
        refuse(v, vm, now, note->why);
        break;
    case VIRT_GONE:
    case VIRT_CODES:
        give_up(v, vm, now, note->why);
        break;
    }
}

static void answer_resume(struct vm_agent *v, struct vm *vm, const struct note *note, hf_time now)
{
    struct start_order order = vm->start;

    if (note->code != VIRT_OK) {
        if (order.is_dropped && order.is_made && vm->life == VM_ON)
            undo(v, vm, now);
        else
            give_up(v, vm, now, note->why);
        return;
    }
    vm->is_never_run = false;
    vm_progress(v, order.token, HF_PROGRESS_RESUMED, vm->qemu.pid);
    end(vm);
    vm_done(v, order.token, HF_OUT_DONE, order.received, now, "pid %d", (int)vm->qemu.pid);
    vm_tell(v, vm, HF_SEEN_RUNNING);
}

void start_answer(struct vm_agent *v, struct vm *vm, const struct note *note, hf_time now)
{
    bool is_awaited = vm->start.step != START_NONE && vm->start.job == note->id;

    if (note->job == JOB_CREATE && vm->creates > 0)
        vm->creates--;
    if (note->job == JOB_CREATE && note->code == VIRT_GONE)
        orphan_begin(v, vm, now); /* libvirt may do it yet */
    if (is_awaited) {
        vm->start.job = 0;
        if (note->job == JOB_CREATE)
            answer_create(v, vm, note, now);
        else
            answer_resume(v, vm, note, now);
    } else if (note->job == JOB_CREATE && note->code == VIRT_OK) {
        unwanted_made(v, vm, now);
    }
    if (note->job == JOB_CREATE)
        stop_created(v, vm, now);
}

void start_ended(struct vm_agent *v, struct vm *vm, hf_time now)
{
    vm->life = VM_OFF;
    if (vm->start.step != START_RESUMING)
        return; /* its create is not answered yet: that answer is the better reason */
    refuse(v, vm, now, "its qemu ended before it ran");
}

void start_retry(struct vm_agent *v, struct vm *vm, hf_time now)
{
    if (vm->start.step == START_WAITING_GONE)
        submit_create(v, vm, now);
}

/* ---- ends from outside ---- */

/* True: no worker has begun it, and none will. */
static bool take_back(struct vm_agent *v, struct vm *vm)
{
    if (vm->start.step == START_WAITING_GONE || vm->start.step == START_UNSETTLED)
        return true;
    if (vm->start.step != START_CREATING || !pool_withdraw(v->pool, vm->start.job))
        return false;
    vm->creates--;
    return true;
}

void start_drop(struct vm_agent *v, struct vm *vm, hf_time now)
{
    if (take_back(v, vm))
        end(vm);
    else if (vm->start.step == START_RESUMING && pool_withdraw(v->pool, vm->start.job))
        undo(v, vm, now);
    else
        vm->start.is_dropped = true; /* a resume that a worker has cannot be taken back */
}

void start_yield(struct vm_agent *v, struct vm *vm, hf_time now)
{
    if (vm->start.step == START_NONE)
        return;
    if (take_back(v, vm)) {
        refuse(v, vm, now, "a stop was ordered before it began");
        return;
    }
    if (vm->start.step == START_RESUMING && !pool_withdraw(v->pool, vm->start.job))
        pool_abandon(v->pool, vm->start.job);
    give_up(v, vm, now, "a stop was ordered meanwhile");
}

hf_time start_tick(struct vm_agent *v, struct vm *vm, hf_time now)
{
    if (vm->start.step == START_NONE)
        return VM_NEVER;
    if (hf_time_reached(now, vm->start.deadline)) {
        if (take_back(v, vm)) {
            refuse(v, vm, now, "libvirt did not get to it before the deadline");
        } else {
            pool_abandon(v->pool, vm->start.job);
            give_up(v, vm, now, "libvirt did not answer before the deadline");
        }
        return VM_NEVER;
    }
    if (vm->start.step == START_WAITING_GONE) {
        if (hf_time_reached(now, vm->start.retry_at))
            submit_create(v, vm, now);
        else
            return vm_earlier(vm->start.deadline, vm->start.retry_at);
    }
    return vm->start.step == START_NONE ? VM_NEVER : vm->start.deadline;
}
