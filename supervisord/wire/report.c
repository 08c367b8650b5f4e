#include "supervisord/wire/report.h"

#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/buf.h"
#include "supervisord/wire/fields.h"

/* ---- one pair per kind ---- */

static void put_host(struct hf_writer *w, const struct hf_report *report)
{
    const struct hf_report_host *host = &report->u.host;

    hf_put_bytes(w, host->boot.id, sizeof host->boot.id);
    hf_put_u32(w, host->memory_mib);
    hf_put_u32(w, host->available_mib);
    hf_put_u16(w, host->cores);
    hf_put_u32(w, host->load_centi);
    hf_put_u32(w, host->psi_cpu_centi);
    hf_put_u32(w, host->psi_memory_centi);
    hf_put_u32(w, host->psi_io_centi);
    hf_put_u64(w, host->boottime_ns);
    hf_put_u64(w, (uint64_t)host->wall_ns);
    fields_put_bool(w, host->clock_synchronised);
    hf_put_u64(w, host->hardware);
    for (unsigned i = 0; i < HF_ROOMS; i++) {
        hf_put_u64(w, host->room[i].kib);
        hf_put_u64(w, host->room[i].kib_free);
        hf_put_u64(w, host->room[i].files);
        hf_put_u64(w, host->room[i].files_free);
        fields_put_bool(w, host->room[i].is_low);
    }
}

static void get_host(struct hf_reader *r, struct hf_report *report)
{
    struct hf_report_host *host = &report->u.host;

    hf_get_bytes(r, host->boot.id, sizeof host->boot.id);
    host->memory_mib = hf_get_u32(r);
    host->available_mib = hf_get_u32(r);
    host->cores = hf_get_u16(r);
    host->load_centi = hf_get_u32(r);
    host->psi_cpu_centi = hf_get_u32(r);
    host->psi_memory_centi = hf_get_u32(r);
    host->psi_io_centi = hf_get_u32(r);
    host->boottime_ns = hf_get_u64(r);
    host->wall_ns = (int64_t)hf_get_u64(r);
    host->clock_synchronised = fields_get_bool(r);
    host->hardware = hf_get_u64(r);
    for (unsigned i = 0; i < HF_ROOMS; i++) {
        host->room[i].kib = hf_get_u64(r);
        host->room[i].kib_free = hf_get_u64(r);
        host->room[i].files = hf_get_u64(r);
        host->room[i].files_free = hf_get_u64(r);
        host->room[i].is_low = fields_get_bool(r);
    }
}

static void put_vms(struct hf_writer *w, const struct hf_report *report)
{
    fields_put_bool(w, report->u.vms.is_last);
    hf_put_u32(w, report->u.vms.uid);
    if (!report->u.vms.is_last)
        hf_put_str(w, report->u.vms.name);
}

static void get_vms(struct hf_reader *r, struct hf_report *report)
{
    report->u.vms.is_last = fields_get_bool(r);
    report->u.vms.uid = hf_get_u32(r);
    if (report->u.vms.is_last != (report->u.vms.uid == 0))
        r->bad = true;
    if (!report->u.vms.is_last)
        fields_get_name(r, report->u.vms.name);
}

static void put_start(struct hf_writer *w, const struct hf_report *report)
{
    fields_put_token(w, report->u.start.token);
    hf_put_u32(w, report->u.start.uid);
    hf_put_u32(w, report->u.start.start_no);
    hf_put_u32(w, report->u.start.deadline_ms);
    hf_put_u32(w, report->u.start.memory_mib);
    hf_put_str(w, report->u.start.name);
    hf_put_bytes(w, report->u.start.xml.b, sizeof report->u.start.xml.b);
}

static void get_start(struct hf_reader *r, struct hf_report *report)
{
    fields_get_token(r, &report->u.start.token);
    report->u.start.uid = fields_get_uid(r);
    report->u.start.start_no = hf_get_u32(r);
    report->u.start.deadline_ms = fields_get_positive(r);
    report->u.start.memory_mib = hf_get_u32(r);
    fields_get_name(r, report->u.start.name);
    hf_get_bytes(r, report->u.start.xml.b, sizeof report->u.start.xml.b);
    if (report->u.start.start_no == 0)
        r->bad = true;
}

static void put_stop(struct hf_writer *w, const struct hf_report *report)
{
    fields_put_token(w, report->u.stop.token);
    hf_put_u32(w, report->u.stop.uid);
    hf_put_u32(w, report->u.stop.start_no);
    hf_put_u32(w, report->u.stop.grace_ms);
    hf_put_u32(w, report->u.stop.deadline_ms);
    hf_put_str(w, report->u.stop.name);
}

static void get_stop(struct hf_reader *r, struct hf_report *report)
{
    fields_get_token(r, &report->u.stop.token);
    report->u.stop.uid = fields_get_uid(r);
    report->u.stop.start_no = hf_get_u32(r);
    report->u.stop.grace_ms = hf_get_u32(r);
    report->u.stop.deadline_ms = fields_get_positive(r);
    fields_get_name(r, report->u.stop.name);
}

static void put_hello(struct hf_writer *w, const struct hf_report *report)
{
    hf_put_u8(w, (uint8_t)report->u.hello.agent);
    hf_put_u32(w, report->u.hello.pid);
}

static void get_hello(struct hf_reader *r, struct hf_report *report)
{
    report->u.hello.agent = (enum hf_agent_kind)fields_get_enum_from_1(r, HF_AGENT_KINDS);
    report->u.hello.pid = hf_get_u32(r);
}

static void put_inventory(struct hf_writer *w, const struct hf_report *report)
{
    fields_put_inventory(w, report->u.inventory.as_of, report->u.inventory.vm,
                         report->u.inventory.count);
}

static void get_inventory(struct hf_reader *r, struct hf_report *report)
{
    fields_get_inventory(r, &report->u.inventory.as_of, report->u.inventory.vm,
                         &report->u.inventory.count);
}

static void put_vm(struct hf_writer *w, const struct hf_report *report)
{
    hf_put_u32(w, report->u.vm.uid);
    hf_put_u32(w, report->u.vm.start_no);
    hf_put_u32(w, report->u.vm.pid);
    hf_put_u8(w, (uint8_t)report->u.vm.seen);
}

static void get_vm(struct hf_reader *r, struct hf_report *report)
{
    report->u.vm.uid = fields_get_uid(r);
    report->u.vm.start_no = hf_get_u32(r);
    report->u.vm.pid = hf_get_u32(r);
    report->u.vm.seen = (enum hf_seen)hf_get_enum(r, HF_SEENS);
}

static void put_watch(struct hf_writer *w, const struct hf_report *report)
{
    fields_put_bool(w, report->u.watch.known);
    fields_put_text(w, report->u.watch.why);
}

static void get_watch(struct hf_reader *r, struct hf_report *report)
{
    report->u.watch.known = fields_get_bool(r);
    hf_get_str(r, report->u.watch.why, sizeof report->u.watch.why);
}

static void put_done(struct hf_writer *w, const struct hf_report *report)
{
    fields_put_token(w, report->u.done.token);
    hf_put_u8(w, (uint8_t)report->u.done.outcome);
    hf_put_u32(w, report->u.done.took_ms);
    fields_put_text(w, report->u.done.why);
}

static void get_done(struct hf_reader *r, struct hf_report *report)
{
    fields_get_token(r, &report->u.done.token);
    report->u.done.outcome = (enum hf_outcome)hf_get_enum(r, HF_OUTCOMES);
    report->u.done.took_ms = hf_get_u32(r);
    hf_get_str(r, report->u.done.why, sizeof report->u.done.why);
}

static void put_progress(struct hf_writer *w, const struct hf_report *report)
{
    fields_put_token(w, report->u.progress.token);
    hf_put_u8(w, (uint8_t)report->u.progress.phase);
    hf_put_u32(w, report->u.progress.pid);
}

static void get_progress(struct hf_reader *r, struct hf_report *report)
{
    fields_get_token(r, &report->u.progress.token);
    report->u.progress.phase = (enum hf_progress)fields_get_enum_from_1(r, HF_PROGRESS_KINDS);
    report->u.progress.pid = hf_get_u32(r);
}

static void put_watchdog(struct hf_writer *w, const struct hf_report *report)
{
    hf_put_u8(w, (uint8_t)report->u.watchdog.state);
    fields_put_bool(w, report->u.watchdog.is_held);
    fields_put_bool(w, report->u.watchdog.was_reset);
    hf_put_u32(w, report->u.watchdog.timeout_ms);
    hf_put_u32(w, report->u.watchdog.lease_ms);
    hf_put_u16(w, report->u.watchdog.version);
    fields_put_text(w, report->u.watchdog.identity);
    fields_put_text(w, report->u.watchdog.why);
}

static void get_watchdog(struct hf_reader *r, struct hf_report *report)
{
    bool is_armed;

    report->u.watchdog.state = (enum hf_watchdog)hf_get_enum(r, HF_WATCHDOGS);
    report->u.watchdog.is_held = fields_get_bool(r);
    report->u.watchdog.was_reset = fields_get_bool(r);
    report->u.watchdog.timeout_ms = hf_get_u32(r);
    report->u.watchdog.lease_ms = hf_get_u32(r);
    report->u.watchdog.version = hf_get_u16(r);
    hf_get_str(r, report->u.watchdog.identity, sizeof report->u.watchdog.identity);
    hf_get_str(r, report->u.watchdog.why, sizeof report->u.watchdog.why);
    is_armed = report->u.watchdog.state == HF_WD_ARMED;
    if (is_armed != (report->u.watchdog.timeout_ms != 0) ||
        is_armed != (report->u.watchdog.lease_ms != 0))
        r->bad = true;
}

static void put_tested(struct hf_writer *w, const struct hf_report *report)
{
    hf_put_u32(w, report->u.tested.number);
    hf_put_u8(w, (uint8_t)report->u.tested.found);
    hf_put_u64(w, report->u.tested.hardware);
    hf_put_u32(w, report->u.tested.took_ms);
    fields_put_text(w, report->u.tested.why);
}

static void get_tested(struct hf_reader *r, struct hf_report *report)
{
    report->u.tested.number = hf_get_u32(r);
    report->u.tested.found = (enum hf_path)hf_get_enum(r, HF_PATHS);
    report->u.tested.hardware = hf_get_u64(r);
    report->u.tested.took_ms = hf_get_u32(r);
    hf_get_str(r, report->u.tested.why, sizeof report->u.tested.why);
}

static void put_ask(struct hf_writer *w, const struct hf_report *report)
{
    hf_put_u64(w, report->u.ask.as_of);
}

static void get_ask(struct hf_reader *r, struct hf_report *report)
{
    report->u.ask.as_of = hf_get_u64(r);
}

static void put_fence(struct hf_writer *w, const struct hf_report *report)
{
    fields_put_token(w, report->u.fence.token);
    hf_put_u8(w, report->u.fence.level);
    fields_put_bool(w, report->u.fence.power_on);
    hf_put_u32(w, report->u.fence.deadline_ms);
    hf_put_str(w, report->u.fence.target);
}

static void get_fence(struct hf_reader *r, struct hf_report *report)
{
    fields_get_token(r, &report->u.fence.token);
    report->u.fence.level = hf_get_enum(r, HF_FENCE_LEVELS_MAX);
    report->u.fence.power_on = fields_get_bool(r);
    report->u.fence.deadline_ms = fields_get_positive(r);
    fields_get_name(r, report->u.fence.target);
}

static void put_drop(struct hf_writer *w, const struct hf_report *report)
{
    fields_put_token(w, report->u.drop.token);
}

static void get_drop(struct hf_reader *r, struct hf_report *report)
{
    fields_get_token(r, &report->u.drop.token);
}

static void put_lease(struct hf_writer *w, const struct hf_report *report)
{
    fields_put_bool(w, report->u.lease.wants_armed);
    fields_put_bool(w, report->u.lease.allow_softdog);
    hf_put_u32(w, report->u.lease.timeout_ms);
    hf_put_u32(w, report->u.lease.lease_ms);
    hf_put_u64(w, (uint64_t)report->u.lease.sent_ns);
    hf_put_u64(w, (uint64_t)report->u.lease.hold_until_ns);
    hf_put_str(w, report->u.lease.device);
}

/* It is opened and written to: below /dev, by printable characters only, and no way out of there.
 */
static bool is_device(const char *path)
{
    if (strncmp(path, "/dev/", 5) != 0 || path[5] == '\0')
        return false;
    for (const char *c = path; *c != '\0'; c++) {
        if (*c <= ' ' || *c >= 0x7f || (c[0] == '.' && c[1] == '.'))
            return false;
    }
    return true;
}

static int64_t get_boottime(struct hf_reader *r)
{
    uint64_t ns = hf_get_u64(r);

    if (ns > INT64_MAX) {
        r->bad = true;
        return 0;
    }
    return (int64_t)ns;
}

static void get_lease(struct hf_reader *r, struct hf_report *report)
{
    bool wants_armed = fields_get_bool(r);

    report->u.lease.wants_armed = wants_armed;
    report->u.lease.allow_softdog = fields_get_bool(r);
    report->u.lease.timeout_ms = hf_get_u32(r);
    report->u.lease.lease_ms = hf_get_u32(r);
    report->u.lease.sent_ns = get_boottime(r);
    report->u.lease.hold_until_ns = get_boottime(r);
    hf_get_str(r, report->u.lease.device, sizeof report->u.lease.device);
    if (wants_armed && (report->u.lease.timeout_ms == 0 || report->u.lease.lease_ms == 0))
        r->bad = true;
    if (!is_device(report->u.lease.device) && (wants_armed || report->u.lease.device[0] != '\0'))
        r->bad = true;
}

static void put_test(struct hf_writer *w, const struct hf_report *report)
{
    hf_put_u32(w, report->u.test.number);
    hf_put_u8(w, report->u.test.level);
    hf_put_u32(w, report->u.test.deadline_ms);
    hf_put_str(w, report->u.test.target);
}

static void get_test(struct hf_reader *r, struct hf_report *report)
{
    report->u.test.number = hf_get_u32(r);
    report->u.test.level = hf_get_enum(r, HF_FENCE_LEVELS_MAX);
    report->u.test.deadline_ms = fields_get_positive(r);
    fields_get_name(r, report->u.test.target);
}

/* ---- NICs: what texts say comes from drivers, firmware and switches ---- */

static void put_pf(struct hf_writer *w, const struct hf_pf_facts *pf)
{
    hf_put_u8(w, (uint8_t)pf->state);
    hf_put_u8(w, (uint8_t)pf->cause);
    hf_put_u32(w, pf->hold_ms);
    fields_put_text(w, pf->name);
    fields_put_text(w, pf->pci);
    fields_put_text(w, pf->driver);
    fields_put_text(w, pf->firmware);
    fields_put_text(w, pf->serial);
    fields_put_text(w, pf->switch_id);
    hf_put_u16(w, (uint16_t)pf->numa_node);
    hf_put_u16(w, pf->vfs);
    hf_put_u16(w, pf->vfs_without_driver);
    hf_put_u8(w, pf->bfd_peers);
    hf_put_u8(w, pf->bfd_up);
    hf_put_u64(w, pf->carrier_downs);
    hf_put_u64(w, pf->aer_errors);
    hf_put_u64(w, pf->resets);
    hf_put_u32(w, pf->rtnl_ms);
}

static void get_pf(struct hf_reader *r, struct hf_pf_facts *pf)
{
    pf->state = (enum hf_pf)hf_get_enum(r, HF_PFS);
    pf->cause = (enum hf_nic_cause)hf_get_enum(r, HF_NIC_CAUSES);
    pf->hold_ms = hf_get_u32(r);
    hf_get_str(r, pf->name, sizeof pf->name);
    hf_get_str(r, pf->pci, sizeof pf->pci);
    hf_get_str(r, pf->driver, sizeof pf->driver);
    hf_get_str(r, pf->firmware, sizeof pf->firmware);
    hf_get_str(r, pf->serial, sizeof pf->serial);
    hf_get_str(r, pf->switch_id, sizeof pf->switch_id);
    pf->numa_node = (int16_t)hf_get_u16(r);
    pf->vfs = hf_get_u16(r);
    pf->vfs_without_driver = hf_get_u16(r);
    pf->bfd_peers = hf_get_u8(r);
    pf->bfd_up = hf_get_u8(r);
    pf->carrier_downs = hf_get_u64(r);
    pf->aer_errors = hf_get_u64(r);
    pf->resets = hf_get_u64(r);
    pf->rtnl_ms = hf_get_u32(r);
}

static void put_nics(struct hf_writer *w, const struct hf_report *report)
{
    HF_ASSERT(report->u.nics.count <= HF_FABRICS_MAX);
    hf_put_u8(w, report->u.nics.count);
    for (uint8_t f = 0; f < report->u.nics.count; f++)
        put_pf(w, &report->u.nics.pf[f]);
}

static void get_nics(struct hf_reader *r, struct hf_report *report)
{
    report->u.nics.count = hf_get_enum(r, HF_FABRICS_MAX + 1);
    for (uint8_t f = 0; f < report->u.nics.count; f++)
        get_pf(r, &report->u.nics.pf[f]);
}

static void put_legs(struct hf_writer *w, const struct hf_report *report)
{
    const struct hf_vm_legs *legs = &report->u.legs;

    hf_put_u32(w, legs->uid);
    hf_put_u32(w, legs->start_no);
    fields_put_legs(w, legs->has, legs->up, legs->active);
    fields_put_bool(w, legs->has_helper);
    for (size_t f = 0; f < HF_FABRICS_MAX; f++)
        hf_put_u8(w, (uint8_t)legs->kind[f]);
    hf_put_u8(w, legs->bond_faults);
}

static void get_legs(struct hf_reader *r, struct hf_report *report)
{
    struct hf_vm_legs *legs = &report->u.legs;

    legs->uid = hf_get_u32(r);
    legs->start_no = hf_get_u32(r);
    fields_get_legs(r, &legs->has, &legs->up, &legs->active);
    legs->has_helper = fields_get_bool(r);
    for (size_t f = 0; f < HF_FABRICS_MAX; f++)
        legs->kind[f] = (enum hf_leg_kind)hf_get_enum(r, HF_LEG_KINDS);
    legs->bond_faults = hf_get_enum(r, HF_BOND_FAULTS);
}

static void put_flip(struct hf_writer *w, const struct hf_report *report)
{
    hf_put_u32(w, report->u.flip.number);
    fields_put_flip(w, &report->u.flip.flip);
}

static void get_flip(struct hf_reader *r, struct hf_report *report)
{
    report->u.flip.number = hf_get_u32(r);
    fields_get_flip(r, &report->u.flip.flip);
}

static void put_nic_order(struct hf_writer *w, const struct hf_report *report)
{
    hf_put_u32(w, report->u.nic_order.number);
    hf_put_u32(w, report->u.nic_order.uid);
    hf_put_u8(w, report->u.nic_order.to);
}

static void get_nic_order(struct hf_reader *r, struct hf_report *report)
{
    report->u.nic_order.number = fields_get_positive(r);
    report->u.nic_order.uid = fields_get_uid(r);
    report->u.nic_order.to = hf_get_enum(r, HF_FABRICS_MAX);
}

static void put_nothing(struct hf_writer *w, const struct hf_report *report)
{
    (void)w;
    (void)report;
}

static void get_nothing(struct hf_reader *r, struct hf_report *report)
{
    (void)r;
    (void)report;
}

/* ---- the kinds ---- */

#define BY(agent) (1u << (agent))

struct kind {
    unsigned said_by; /* agents, by bit; 0: the daemon says it */
    void (*put)(struct hf_writer *w, const struct hf_report *report);
    void (*get)(struct hf_reader *r, struct hf_report *report);
};

static const struct kind kinds[] = {
    [HF_REPORT_HELLO] = {BY(HF_AGENT_HOST) | BY(HF_AGENT_VM) | BY(HF_AGENT_FENCE) |
                             BY(HF_AGENT_FEEDER) | BY(HF_AGENT_NIC),
                         put_hello, get_hello},
    [HF_REPORT_HOST] = {BY(HF_AGENT_HOST), put_host, get_host},
    [HF_REPORT_INVENTORY] = {BY(HF_AGENT_VM), put_inventory, get_inventory},
    [HF_REPORT_VM] = {BY(HF_AGENT_VM), put_vm, get_vm},
    [HF_REPORT_WATCH] = {BY(HF_AGENT_VM), put_watch, get_watch},
    [HF_REPORT_DONE] = {BY(HF_AGENT_VM) | BY(HF_AGENT_FENCE), put_done, get_done},
    [HF_REPORT_PROGRESS] = {BY(HF_AGENT_VM) | BY(HF_AGENT_FENCE), put_progress, get_progress},
    [HF_REPORT_WATCHDOG] = {BY(HF_AGENT_FEEDER), put_watchdog, get_watchdog},
    [HF_REPORT_TESTED] = {BY(HF_AGENT_FENCE), put_tested, get_tested},
    [HF_REPORT_NICS] = {BY(HF_AGENT_NIC), put_nics, get_nics},
    [HF_REPORT_LEGS] = {BY(HF_AGENT_NIC), put_legs, get_legs},
    [HF_REPORT_FLIP] = {BY(HF_AGENT_NIC), put_flip, get_flip},
    [HF_REPORT_VMS] = {0, put_vms, get_vms},
    [HF_REPORT_START] = {0, put_start, get_start},
    [HF_REPORT_STOP] = {0, put_stop, get_stop},
    [HF_REPORT_ASK] = {0, put_ask, get_ask},
    [HF_REPORT_FENCE] = {0, put_fence, get_fence},
    [HF_REPORT_DROP] = {0, put_drop, get_drop},
    [HF_REPORT_LEASE] = {0, put_lease, get_lease},
    [HF_REPORT_TEST] = {0, put_test, get_test},
    [HF_REPORT_SELF_STOP] = {0, put_nothing, get_nothing},
    [HF_REPORT_NIC_ORDER] = {0, put_nic_order, get_nic_order},
};
_Static_assert(sizeof kinds / sizeof kinds[0] == HF_REPORT_KINDS, "every kind has its codec");

bool report_may_come_from(enum hf_agent_kind agent, enum hf_report_kind kind)
{
    return (unsigned)kind < HF_REPORT_KINDS && (unsigned)agent < HF_AGENT_KINDS &&
           (kinds[kind].said_by & BY(agent)) != 0;
}

/* ---- the record ---- */

size_t report_encode(const struct hf_report *report, uint8_t out[HF_REPORT_BYTES_MAX])
{
    struct hf_writer w = hf_writer_on(out, HF_REPORT_BYTES_MAX);

    HF_ASSERT(report->kind >= HF_REPORT_HELLO);
    HF_ASSERT(report->kind < HF_REPORT_KINDS);
    hf_put_u8(&w, HF_REPORT_VERSION);
    hf_put_u8(&w, (uint8_t)report->kind);
    kinds[report->kind].put(&w, report);
    HF_ASSERT(!w.bad);
    return w.len;
}

enum hf_code report_decode(const uint8_t *bytes, size_t len, struct hf_report *report,
                           struct hf_err *err)
{
    struct hf_reader r = hf_reader_on(bytes, len);
    uint8_t version = hf_get_u8(&r);
    uint8_t kind = fields_get_enum_from_1(&r, HF_REPORT_KINDS);

    memset(report, 0, sizeof *report);
    if (!r.bad && version != HF_REPORT_VERSION)
        return hf_err_set(err, HF_EBAD, "report version %u, we speak %d", version,
                          (int)HF_REPORT_VERSION);
    if (r.bad)
        return hf_err_set(err, HF_EBAD, "report of %zu bytes has no known kind", len);
    report->kind = (enum hf_report_kind)kind;
    kinds[report->kind].get(&r, report);
    if (!hf_reader_ended(&r))
        return hf_err_set(err, HF_EBAD, "report of kind %u and %zu bytes does not decode", kind,
                          len);
    return HF_OK;
}
