/* stop.c - a stop order, as a ladder: ask the guest, let libvirt end it gently, then by all means,
 * then SIGKILL. Each rung has its time; a rung that cannot help (libvirt gone, call failed) is left
 * at once. DONE says that no process of this VM is left on this host, seen by a look at all;
 * otherwise GAVE_UP at the deadline: cannot be proved stopped. */
#include "agents/vm/vm.h"
#include "supervisord/base/log.h"

enum {
    /* Of the time after the grace: gently until 1/5, by all means until 1/2, the rest is for the
     * kernel to let a killed qemu go (VF clean-up alone can take 5 s: seapath issue 208). */
    GRACEFUL_PERCENT = 20,
    HARD_PERCENT = 50,
    LOOK_AGAIN_MS = 100,
    /* Of an unwanted process, that no order gave a deadline for: an inventory waits for it. Its
     * guest never ran, so qemu's SIGTERM takes milliseconds; the kernel has the 5 s from above. */
    UNWANTED_MS = 10000,
};

static bool is_on(const struct vm *vm, const struct qemu *process)
{
    return vm->life == VM_ON && vm->qemu.pid == process->pid &&
           vm->qemu.started == process->started;
}

/* No order waits for it: the group hears of the end as of any other, or that it is there after all;
 * SIGKILL is on its way then, and its end will be told. */
static void end_unwanted(struct vm_agent *v, struct vm *vm, const struct stop_order *order,
                         enum hf_outcome outcome, hf_time now)
{
    uint32_t runs_no = vm->start_no;

    if (outcome == HF_OUT_DONE) {
        vm->start_no = order->start_no;
        vm_tell(v, vm, HF_SEEN_CRASHED);
        vm->start_no = runs_no;
    }
    if (vm->life == VM_ON)
        vm_tell(v, vm, HF_SEEN_RUNNING); /* that one, or another that somebody made meanwhile */
    else
        vm->life = VM_OFF;
    start_settled(v, vm, now);
}

static void end(struct vm_agent *v, struct vm *vm, enum hf_outcome outcome, hf_time now,
                const char *why)
{
    struct stop_order order = vm->stop;

    pool_abandon(v->pool, order.job);
    vm->stop = (struct stop_order){.step = STOP_NONE};
    vm->facts.is_ordered = false;
    if (order.is_own) {
        end_unwanted(v, vm, &order, outcome, now);
        return;
    }
    if (outcome == HF_OUT_DONE)
        vm->life = VM_OFF;
    vm_done(v, order.token, outcome, order.received, now, "%s", why);
}

/* Does nothing of it run any more? Then the order is done. A look that failed proves nothing. */
static bool is_proved(struct vm_agent *v, struct vm *vm, hf_time now)
{
    struct hf_err err;

    if (vm->stop.is_own) { /* that process, whatever else is there */
        if (is_on(vm, &vm->stop.process) && !qemu_has_ended(vm->pidfd))
            return false;
        (void)vm_look_one(v, vm, now, &err);
        if (is_on(vm, &vm->stop.process))
            return false; /* a look that failed: its pidfd's turn will come */
    } else if (vm_may_appear(vm) || vm_look_one(v, vm, now, &err) != HF_OK || vm->life == VM_ON) {
        return false;
    }
    end(v, vm, HF_OUT_DONE, now, "no process of it is left");
    return true;
}

static hf_time rung_end(const struct vm *vm, unsigned percent)
{
    hf_time from = hf_time_add_ms(vm->stop.deadline, -(int64_t)vm->stop.force_ms);

    return hf_time_add_ms(from, (int64_t)vm->stop.force_ms * percent / 100);
}

static void enter(struct vm_agent *v, struct vm *vm, enum stop_step step, hf_time now);

static void ask_libvirt(struct vm_agent *v, struct vm *vm, enum job_kind kind, hf_time until,
                        enum stop_step otherwise, hf_time now)
{
    pool_abandon(v->pool, vm->stop.job);
    vm->stop.job = v->is_attached ? vm_submit(v, vm, kind, NULL) : 0;
    vm->stop.step_until = until;
    if (vm->stop.job == 0)
        enter(v, vm, otherwise, now);
}

static void tell_rung(struct vm_agent *v, struct vm *vm, enum hf_progress phase)
{
    if (!vm->stop.is_own)
        vm_progress(v, vm->stop.token, phase, vm->qemu.pid);
}

static void kill_it(struct vm_agent *v, struct vm *vm, hf_time now)
{
    pool_abandon(v->pool, vm->stop.job);
    vm->stop.job = 0;
    vm->stop.step_until = hf_time_add_ms(now, LOOK_AGAIN_MS);
    if (vm->life != VM_ON)
        return;
    if (vm->stop.killed_pid != vm->qemu.pid) {
        hf_warning("vm=%s stop: SIGKILL to pid %d", vm->name, (int)vm->qemu.pid);
        tell_rung(v, vm, HF_PROGRESS_STOP_KILL);
        vm->stop.killed_pid = vm->qemu.pid;
    }
    (void)qemu_kill(vm->pidfd);
}

/* Steps only ever go forward, so this ends. */
static void enter(struct vm_agent *v, struct vm *vm, enum stop_step step, hf_time now)
{
    vm->stop.step = step;
    switch (step) {
    case STOP_NONE:
    case STOP_WAITING_CREATE:
        vm->stop.step_until = vm->stop.deadline;
        break;
    case STOP_GRACE:
        ask_libvirt(v, vm, JOB_SHUTDOWN, hf_time_add_ms(now, vm->stop.grace_ms), STOP_GRACEFUL,
                    now);
        break;
    case STOP_GRACEFUL:
        /* The rest of the grace is not needed: force has its time from here. */
        vm->stop.deadline = hf_time_add_ms(now, vm->stop.force_ms);
        tell_rung(v, vm, HF_PROGRESS_STOP_DESTROY);
        ask_libvirt(v, vm, JOB_DESTROY_GRACEFUL, rung_end(vm, GRACEFUL_PERCENT), STOP_KILLED, now);
        break;
    case STOP_HARD:
        ask_libvirt(v, vm, JOB_DESTROY, rung_end(vm, HARD_PERCENT), STOP_KILLED, now);
        break;
    case STOP_KILLED:
        kill_it(v, vm, now);
        break;
    }
}

static void climb(struct vm_agent *v, struct vm *vm, hf_time now)
{
    if (vm_may_appear(vm) && vm->life != VM_ON)
        enter(v, vm, STOP_WAITING_CREATE, now);
    else if (!is_proved(v, vm, now))
        enter(v, vm, vm->stop.grace_ms > 0 ? STOP_GRACE : STOP_GRACEFUL, now);
}

/* What is left of the deadline after the grace; ending it by force needs its time, grace or not. */
static uint32_t force_ms(const struct hf_report *report)
{
    uint32_t deadline_ms = report->u.stop.deadline_ms, grace_ms = report->u.stop.grace_ms;

    return grace_ms < deadline_ms ? deadline_ms - grace_ms : deadline_ms;
}

void stop_begin(struct vm_agent *v, const struct hf_report *report, hf_time now)
{
    bool is_unwanted;
    struct vm *vm;

    if (agent_repeat(v->agent, report->u.stop.token))
        return;
    vm = vm_take(v, report->u.stop.uid, report->u.stop.name);
    if (vm == NULL) {
        vm_done(v, report->u.stop.token, HF_OUT_GAVE_UP, now, now, "the VM table is full");
        return;
    }
    /* Asked for again; less patience counts at once. */
    if (vm->stop.step != STOP_NONE && !vm->stop.is_own) {
        vm->stop.token = report->u.stop.token;
        if (vm->stop.step == STOP_GRACE && report->u.stop.grace_ms == 0)
            enter(v, vm, STOP_GRACEFUL, now);
        return;
    }
    if (vm->life == VM_ON && report->u.stop.start_no != 0 &&
        vm->start_no > report->u.stop.start_no) {
        vm_done(v, report->u.stop.token, HF_OUT_GAVE_UP, now, now,
                "start %u runs, newer than the one to stop", (unsigned)vm->start_no);
        return;
    }
    start_yield(v, vm, now);
    /* What nobody wanted anyway is this order's now. Its guest never ran: no grace. */
    is_unwanted = vm->stop.is_own;
    pool_abandon(v->pool, vm->stop.job);
    vm->stop = (struct stop_order){.step = STOP_WAITING_CREATE,
                                   .token = report->u.stop.token,
                                   .start_no = report->u.stop.start_no,
                                   .grace_ms = is_unwanted ? 0 : report->u.stop.grace_ms,
                                   .force_ms = force_ms(report),
                                   .received = now,
                                   .deadline = hf_time_add_ms(now, report->u.stop.deadline_ms)};
    vm->facts.is_ordered = true;
    vm->can_correct = false;
    climb(v, vm, now);
}

void stop_unwanted(struct vm_agent *v, struct vm *vm, hf_time now)
{
    vm->is_never_run = false; /* decided; what is_own says counts */
    vm->stop = (struct stop_order){.step = STOP_WAITING_CREATE,
                                   .is_own = true,
                                   .process = vm->qemu,
                                   .start_no = vm->start_no,
                                   .force_ms = UNWANTED_MS,
                                   .received = now,
                                   .deadline = hf_time_add_ms(now, UNWANTED_MS)};
    vm->facts.is_ordered = true;
    vm->can_correct = false;
    enter(v, vm, STOP_GRACEFUL, now);
}

void stop_answer(struct vm_agent *v, struct vm *vm, const struct note *note, hf_time now)
{
    if (vm->stop.step == STOP_NONE || vm->stop.job != note->id)
        return;
    vm->stop.job = 0;
    if (note->code == VIRT_OK)
        return; /* the process has the last word */
    if (note->code == VIRT_ABSENT && is_proved(v, vm, now))
        return;
    hf_warning("vm=%s stop: %s", vm->name, note->why);
    if (vm->stop.step == STOP_GRACE)
        enter(v, vm, STOP_GRACEFUL, now);
    else if (vm->stop.step == STOP_GRACEFUL && note->code == VIRT_FAILED)
        enter(v, vm, STOP_HARD, now);
    else
        enter(v, vm, STOP_KILLED, now);
}

void stop_ended(struct vm_agent *v, struct vm *vm, hf_time now)
{
    vm->life = VM_OFF;
    if (vm_may_appear(vm) && !vm->stop.is_own)
        enter(v, vm, STOP_WAITING_CREATE, now);
    else if (!is_proved(v, vm, now))
        enter(v, vm, STOP_KILLED, now); /* a second process of it, or a look that failed */
}

void stop_created(struct vm_agent *v, struct vm *vm, hf_time now)
{
    if (vm->stop.step == STOP_WAITING_CREATE && !vm_may_appear(vm))
        climb(v, vm, now);
}

hf_time stop_tick(struct vm_agent *v, struct vm *vm, hf_time now)
{
    if (vm->stop.step == STOP_NONE)
        return VM_NEVER;
    if (hf_time_reached(now, vm->stop.deadline) && !is_proved(v, vm, now)) {
        hf_error("vm=%s stop: pid %d cannot be proved stopped", vm->name, (int)vm->qemu.pid);
        end(v, vm, HF_OUT_GAVE_UP, now, "cannot be proved stopped");
    } else if (vm->stop.step != STOP_NONE && hf_time_reached(now, vm->stop.step_until)) {
        if (vm->stop.step == STOP_GRACE)
            enter(v, vm, STOP_GRACEFUL, now);
        else if (vm->stop.step == STOP_GRACEFUL)
            enter(v, vm, STOP_HARD, now);
        else if (vm->stop.step == STOP_HARD ||
                 (vm->stop.step == STOP_KILLED && !is_proved(v, vm, now)))
            enter(v, vm, STOP_KILLED, now);
    }
    return vm->stop.step == STOP_NONE ? VM_NEVER
                                      : vm_earlier(vm->stop.deadline, vm->stop.step_until);
}
