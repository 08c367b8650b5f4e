/* unwanted.c - a process of ours that was made and never let run, and that no order wants: its
 * start was dropped or given up on, or its agent died between create and resume. Its guest would
 * stay paused for ever and the group would count on it, so it is ended, like by a stop order, and
 * told as crashed; until then it is not told as running. It loses nothing: its guest has not run.
 * That it has not is known by one of
 *   the create's answer  it made a process, and no resume was asked for;
 *   the ledger           "creating" or "paused": a worker writes "created" before it resumes. Then
 *                        libvirt's status file must say that it is paused, in case somebody resumed
 *                        it by hand. The file alone says too little: a guest suspended by hand
 * looks the same. */
#include "agents/vm/ledger.h"
#include "agents/vm/vm.h"
#include "supervisord/base/log.h"

/* By the ledger: the start that it has of this VM, if no agent let it run; else 0. */
static uint32_t never_resumed(const struct vm_agent *v, const struct vm *vm)
{
    struct ledger_entry entry;
    struct hf_err err;

    if (ledger_read(v->ledger, vm->uid, &entry, &err) != HF_OK || entry.state == LEDGER_CREATED)
        return 0;
    return entry.start_no;
}

void unwanted_look(struct vm_agent *v, struct vm *vm)
{
    vm->is_never_run = vm->start_no != 0 && never_resumed(v, vm) == vm->start_no &&
                       qemu_is_paused(&v->where, vm->name, &vm->qemu);
}

void unwanted_end(struct vm_agent *v, struct vm *vm, const char *why, hf_time now)
{
    hf_warning("vm=%s start %u: pid %d is ended, its guest never ran: %s", vm->name,
               (unsigned)vm->start_no, (int)vm->qemu.pid, why);
    vm->unwanted_no = vm->start_no;
    stop_unwanted(v, vm, now);
}

void unwanted_made(struct vm_agent *v, struct vm *vm, hf_time now)
{
    uint32_t start_no = never_resumed(v, vm);
    struct hf_err err;

    vm_look_file(v, vm, now);
    if (vm->life != VM_ON && vm_look_one(v, vm, now, &err) != HF_OK)
        v->look_at = vm_earlier(v->look_at, now);
    if (vm->life != VM_ON || vm->stop.step != STOP_NONE || vm->start.step != START_NONE)
        return;
    if (vm->start_no == 0)
        vm->start_no = start_no; /* its status file does not read: the ledger knows */
    if (start_no != 0 && vm->start_no == start_no)
        unwanted_end(v, vm, "its order was given up before it was there", now);
    else
        vm_tell(v, vm, HF_SEEN_RUNNING);
}

bool unwanted_is_open(const struct vm *vm)
{
    return vm->stop.is_own || (vm->life == VM_ON && vm->is_never_run &&
                               vm->start.step == START_NONE && vm->stop.step == STOP_NONE);
}

/* An order may still want it while the daemon has not said all of them. */
hf_time unwanted_tick(struct vm_agent *v, struct vm *vm, hf_time now)
{
    if (!unwanted_is_open(vm) || vm->stop.is_own || !v->is_list_known)
        return VM_NEVER;
    if (!hf_time_reached(now, v->orders_at))
        return v->orders_at;
    unwanted_look(v, vm);
    if (vm->is_never_run)
        unwanted_end(v, vm, "no order wants it", now);
    else if (!vm->is_told_running)
        vm_tell(v, vm, HF_SEEN_RUNNING); /* resumed by hand meanwhile */
    return vm->stop.is_own ? vm_earlier(vm->stop.deadline, vm->stop.step_until) : VM_NEVER;
}
