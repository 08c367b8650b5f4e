/* orphan.c - a create whose caller is gone: an agent that died in virDomainCreateXML, or our own
 * call whose connection broke. libvirt may finish it later, or never. While that is open nothing is
 * said that it could make a lie of: no inventory, no DONE to a stop, no REFUSED to a start.
 * It is settled by
 *   its process        seen with the mark of that start: held, told, and ended if a stop waits;
 *   libvirt's end      the daemon that was called is gone, and with it every call nobody had begun;
 *                      after ORPHAN_GAP_MS a look shows what it had begun;
 *   libvirt's word     twice, ORPHAN_GAP_MS apart, that it has no such domain. A call of a dead
 *                      client is in one of three places: in the daemon's socket or queue (then the
 *                      probe, which waits in that same queue, is answered after it has begun), in a
 *                      thread (then the domain is listed within milliseconds, until it ends), or
 *                      nowhere. The gap covers the milliseconds between thread and list.
 * A hung libvirt settles nothing: the orders that wait give up at their deadlines. */
#include "agents/vm/vm.h"

#include <stdlib.h>

#include "agents/vm/ledger.h"
#include "supervisord/base/assert.h"
#include "supervisord/base/log.h"
#include "supervisord/base/str.h"

enum {
    ORPHAN_GAP_MS = 2000,
    ORPHAN_LOOK_MS = 20,       /* one open() of a pid file that is mostly not there */
    ORPHAN_PROBE_MS = 250,     /* after an answer that settles nothing */
    ORPHAN_DEADLINE_MS = 5000, /* of a probe; libvirt's keepalive takes 4 s */
};

/* ---- the ledger, written by workers ---- */

static enum hf_code calling(void *user, const struct job *job, struct hf_err *err)
{
    const struct vm_agent *v = user; /* only what never changes after vm_open */
    struct ledger_entry entry = {.uid = job->uid,
                                 .start_no = job->start_no,
                                 .state = LEDGER_CREATING,
                                 .driver = qemu_driver(&v->where)};

    (void)hf_str_copy(entry.name, sizeof entry.name, job->name);
    return ledger_write(v->ledger, &entry, err);
}

static void close_entry(const char *folder, hf_vm_uid uid, enum ledger_state state)
{
    struct ledger_entry entry;
    struct hf_err err;

    if (ledger_read(folder, uid, &entry, &err) != HF_OK || entry.state != LEDGER_CREATING)
        return;
    entry.state = state;
    if (ledger_write(folder, &entry, &err) != HF_OK)
        hf_warning("%s: an agent after this one will ask libvirt about it once more", err.text);
}

static void called(void *user, const struct job *job, bool is_made)
{
    const struct vm_agent *v = user;

    close_entry(v->ledger, job->uid, is_made ? LEDGER_PAUSED : LEDGER_CREATED);
}

/* From here on nobody may say that its guest never ran. What does not read says nothing anyway. */
static enum hf_code resuming(void *user, const struct job *job, struct hf_err *err)
{
    const struct vm_agent *v = user;
    struct ledger_entry entry;

    if (ledger_read(v->ledger, job->uid, &entry, err) != HF_OK || entry.state == LEDGER_CREATED)
        return HF_OK;
    entry.state = LEDGER_CREATED;
    return ledger_write(v->ledger, &entry, err);
}

/* ---- beginning ---- */

static void begin(struct vm *vm, const struct ledger_entry *entry, hf_time now)
{
    vm->orphan = (struct orphan){.is_open = true,
                                 .start_no = entry->start_no,
                                 .driver = entry->driver,
                                 .look_at = now,
                                 .probe_at = now};
    hf_warning("vm=%s start %u may still be under way in libvirt, its caller is gone", entry->name,
               (unsigned)entry->start_no);
}

void orphan_begin(struct vm_agent *v, struct vm *vm, hf_time now)
{
    struct ledger_entry entry;
    struct hf_err err;

    if (ledger_read(v->ledger, vm->uid, &entry, &err) != HF_OK) {
        hf_error("vm=%s %s", vm->name, err.text);
        entry = (struct ledger_entry){.uid = vm->uid};
        (void)hf_str_copy(entry.name, sizeof entry.name, vm->name);
    }
    begin(vm, &entry, now);
}

struct loading {
    struct vm_agent *v;
    hf_time now;
    bool is_full;
};

static bool load_one(void *user, const struct ledger_entry *entry)
{
    struct loading *loading = user;
    struct vm *vm;

    if (entry->state != LEDGER_CREATING)
        return true;
    vm = vm_take(loading->v, entry->uid, entry->name);
    if (vm == NULL) {
        loading->is_full = true;
        return false;
    }
    if (!vm->orphan.is_open && vm->creates == 0) /* not one of our own */
        begin(vm, entry, loading->now);
    return true;
}

void orphan_load(struct vm_agent *v, hf_time now)
{
    struct loading loading = {.v = v, .now = now};
    struct hf_err err;

    v->is_ledger_known = ledger_open(v->ledger, &err) == HF_OK &&
                         ledger_each(v->ledger, load_one, &loading, &err) == HF_OK;
    if (v->is_ledger_known && loading.is_full) {
        (void)hf_err_set(&err, HF_EFULL, "ledger: more open starts than VMs");
        v->is_ledger_known = false;
    }
    if (!v->is_ledger_known)
        hf_error("%s: what was started here before is not known, no inventory", err.text);
}

void orphan_open(struct vm_agent *v, hf_time now)
{
    const struct pool_ledger ledger = {
        .calling = calling, .called = called, .resuming = resuming, .user = v};

    HF_ASSERT(v->ledger != NULL);
    pool_set_ledger(v->pool, &ledger);
    orphan_load(v, now);
}

/* ---- settling ---- */

static bool has_process(const struct vm *vm)
{
    return vm->life == VM_ON && vm->start_no == vm->orphan.start_no && vm->start_no != 0;
}

static void settle(struct vm_agent *v, struct vm *vm, const char *why, hf_time now)
{
    enum ledger_state state = has_process(vm) ? LEDGER_PAUSED : LEDGER_CREATED;

    hf_info("vm=%s start %u: %s", vm->name, (unsigned)vm->orphan.start_no, why);
    pool_abandon(v->pool, vm->orphan.probe_job);
    vm->orphan = (struct orphan){.is_open = false};
    close_entry(v->ledger, vm->uid, state);
    stop_created(v, vm, now);
    start_settled(v, vm, now);
}

/* Nothing will come any more: what is there now is all. A look that failed is tried again. */
static void settle_by_look(struct vm_agent *v, struct vm *vm, const char *why, hf_time now)
{
    struct hf_err err;

    if (vm_look_one(v, vm, now, &err) == HF_OK)
        settle(v, vm, why, now);
}

static void look(struct vm_agent *v, struct vm *vm, hf_time now)
{
    struct orphan *orphan = &vm->orphan;

    vm_look_file(v, vm, now);
    if (vm->life == VM_ON && !vm->is_told_running && vm->describe_job == 0 &&
        vm->start.step == START_NONE && vm->stop.step == STOP_NONE)
        vm_tell(v, vm, HF_SEEN_RUNNING);
    if (has_process(vm)) {
        settle(v, vm, "its process is there", now);
        return;
    }
    if (!qemu_is_gone(&v->where, &orphan->driver))
        orphan->gone_since = VM_NEVER;
    else if (orphan->gone_since.ns == VM_NEVER.ns || orphan->gone_since.ns == 0)
        orphan->gone_since = now;
    else if (hf_time_since_ms(now, orphan->gone_since) >= ORPHAN_GAP_MS)
        settle_by_look(v, vm, "the libvirt daemon that had it is gone", now);
}

static void probe(struct vm_agent *v, struct vm *vm, hf_time now)
{
    struct orphan *orphan = &vm->orphan;

    if (orphan->probe_job != 0) { /* late: it keeps its worker, a second would keep another */
        pool_abandon(v->pool, orphan->probe_job);
        orphan->said_since = (hf_time){0};
        orphan->is_probe_late = true;
        orphan->probe_at = VM_NEVER;
        return;
    }
    orphan->probe_at = hf_time_add_ms(now, ORPHAN_PROBE_MS);
    if (!v->is_attached)
        return;
    orphan->probe_job = vm_submit(v, vm, JOB_PROBE, NULL);
    if (orphan->probe_job != 0)
        orphan->probe_at = hf_time_add_ms(now, ORPHAN_DEADLINE_MS);
}

/* A domain that is there is this create at work, unless its process is known to be another's. */
static bool says_no(const struct vm *vm, enum virt_code code)
{
    return code == VIRT_ABSENT || (code == VIRT_ACTIVE && vm->life == VM_ON && !has_process(vm));
}

void orphan_answer(struct vm_agent *v, struct vm *vm, const struct note *note, hf_time now)
{
    struct orphan *orphan = &vm->orphan;

    if (!orphan->is_open || orphan->probe_job != note->id)
        return;
    orphan->probe_job = 0;
    orphan->probe_at = hf_time_add_ms(now, ORPHAN_PROBE_MS);
    if (orphan->is_probe_late || !says_no(vm, note->code)) {
        orphan->said_since = (hf_time){0};
        orphan->is_probe_late = false;
    } else if (orphan->said_since.ns == 0) {
        orphan->said_since = now;
        orphan->probe_at = hf_time_add_ms(now, ORPHAN_GAP_MS);
    } else if (hf_time_since_ms(now, orphan->said_since) >= ORPHAN_GAP_MS) {
        settle_by_look(v, vm, "libvirt has no such domain, nothing came of it", now);
    }
}

hf_time orphan_tick(struct vm_agent *v, struct vm *vm, hf_time now)
{
    if (vm->orphan.is_open && hf_time_reached(now, vm->orphan.look_at)) {
        vm->orphan.look_at = hf_time_add_ms(now, ORPHAN_LOOK_MS);
        look(v, vm, now);
    }
    if (vm->orphan.is_open && hf_time_reached(now, vm->orphan.probe_at))
        probe(v, vm, now);
    return vm->orphan.is_open ? vm_earlier(vm->orphan.look_at, vm->orphan.probe_at) : VM_NEVER;
}
