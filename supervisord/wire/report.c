#include "supervisord/wire/report.h"

#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/buf.h"
#include "supervisord/base/str.h"

/* ---- shared pieces ---- */

static void put_token(struct hf_writer *w, struct hf_token token)
{
    hf_put_u64(w, token.seq);
    hf_put_u32(w, token.nth);
}

static struct hf_token get_token(struct hf_reader *r)
{
    struct hf_token token;

    token.seq = hf_get_u64(r);
    token.nth = hf_get_u32(r);
    if (!hf_token_is(token))
        r->bad = true;
    return token;
}

static void put_bool(struct hf_writer *w, bool v)
{
    hf_put_u8(w, v ? 1 : 0);
}

static bool get_bool(struct hf_reader *r)
{
    return hf_get_enum(r, 2) == 1;
}

/* A sentence often comes from a library, with line ends in it. A reader refuses control characters,
 * and a refused message costs the connection: so they become blanks here. */
static void put_sentence(struct hf_writer *w, const char *text)
{
    char clean[HF_REASON_MAX + 1];

    (void)hf_str_copy(clean, sizeof clean, text);
    for (char *c = clean; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    }
    hf_put_str(w, clean);
}

static void get_name(struct hf_reader *r, char out[HF_NAME_MAX + 1])
{
    hf_get_str(r, out, HF_NAME_MAX + 1);
    if (!hf_str_is_name(out, HF_NAME_MAX))
        r->bad = true;
}

static hf_vm_uid get_uid(struct hf_reader *r)
{
    hf_vm_uid uid = hf_get_u32(r);

    if (uid == 0)
        r->bad = true;
    return uid;
}

/* A number in 1..limit-1, for enums that have no value 0. */
static uint8_t get_enum_from_1(struct hf_reader *r, uint8_t limit)
{
    uint8_t v = hf_get_enum(r, limit);

    if (v == 0)
        r->bad = true;
    return v;
}

static uint32_t get_deadline(struct hf_reader *r)
{
    uint32_t ms = hf_get_u32(r);

    if (ms == 0)
        r->bad = true;
    return ms;
}

/* ---- the longer bodies ---- */

static void put_host(struct hf_writer *w, const struct hf_report_host *host)
{
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
    put_bool(w, host->clock_synchronised);
}

static void get_host(struct hf_reader *r, struct hf_report_host *host)
{
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
    host->clock_synchronised = get_bool(r);
}

static void put_inventory(struct hf_writer *w, const struct hf_report *report)
{
    HF_ASSERT(report->u.inventory.count <= HF_VMS_MAX);
    hf_put_u64(w, report->u.inventory.as_of);
    hf_put_u16(w, report->u.inventory.count);
    for (uint16_t i = 0; i < report->u.inventory.count; i++) {
        hf_put_u32(w, report->u.inventory.vm[i].uid);
        hf_put_u32(w, report->u.inventory.vm[i].start_no);
    }
}

static bool inventory_has(const struct hf_report *report, uint16_t count, hf_vm_uid uid)
{
    for (uint16_t i = 0; i < count; i++) {
        if (report->u.inventory.vm[i].uid == uid)
            return true;
    }
    return false;
}

/* A VM told twice would be two answers to one question: refused. */
static void get_inventory(struct hf_reader *r, struct hf_report *report)
{
    uint16_t count;

    report->u.inventory.as_of = hf_get_u64(r);
    count = hf_get_u16(r);
    if (count > HF_VMS_MAX)
        r->bad = true;
    for (uint16_t i = 0; i < count && !r->bad; i++) {
        hf_vm_uid uid = get_uid(r);

        if (inventory_has(report, i, uid))
            r->bad = true;
        report->u.inventory.vm[i].uid = uid;
        report->u.inventory.vm[i].start_no = hf_get_u32(r);
    }
    report->u.inventory.count = r->bad ? 0 : count;
}

static void get_vms(struct hf_reader *r, struct hf_report *report)
{
    report->u.vms.is_last = get_bool(r);
    report->u.vms.uid = hf_get_u32(r);
    if (report->u.vms.is_last != (report->u.vms.uid == 0))
        r->bad = true;
    if (!report->u.vms.is_last)
        get_name(r, report->u.vms.name);
}

static void put_start(struct hf_writer *w, const struct hf_report *report)
{
    put_token(w, report->u.start.token);
    hf_put_u32(w, report->u.start.uid);
    hf_put_u32(w, report->u.start.start_no);
    hf_put_u32(w, report->u.start.deadline_ms);
    hf_put_u32(w, report->u.start.memory_mib);
    hf_put_str(w, report->u.start.name);
    hf_put_bytes(w, report->u.start.xml.b, sizeof report->u.start.xml.b);
}

static void get_start(struct hf_reader *r, struct hf_report *report)
{
    report->u.start.token = get_token(r);
    report->u.start.uid = get_uid(r);
    report->u.start.start_no = hf_get_u32(r);
    report->u.start.deadline_ms = get_deadline(r);
    report->u.start.memory_mib = hf_get_u32(r);
    get_name(r, report->u.start.name);
    hf_get_bytes(r, report->u.start.xml.b, sizeof report->u.start.xml.b);
    if (report->u.start.start_no == 0)
        r->bad = true;
}

static void put_stop(struct hf_writer *w, const struct hf_report *report)
{
    put_token(w, report->u.stop.token);
    hf_put_u32(w, report->u.stop.uid);
    hf_put_u32(w, report->u.stop.start_no);
    hf_put_u32(w, report->u.stop.grace_ms);
    hf_put_u32(w, report->u.stop.deadline_ms);
    hf_put_str(w, report->u.stop.name);
}

static void get_stop(struct hf_reader *r, struct hf_report *report)
{
    report->u.stop.token = get_token(r);
    report->u.stop.uid = get_uid(r);
    report->u.stop.start_no = hf_get_u32(r);
    report->u.stop.grace_ms = hf_get_u32(r);
    report->u.stop.deadline_ms = get_deadline(r);
    get_name(r, report->u.stop.name);
}

/* ---- what agents say ---- */

static void put_from_agent(struct hf_writer *w, const struct hf_report *report)
{
    switch (report->kind) {
    case HF_REPORT_HELLO:
        hf_put_u8(w, (uint8_t)report->u.hello.agent);
        hf_put_u32(w, report->u.hello.pid);
        break;
    case HF_REPORT_HOST:
        put_host(w, &report->u.host);
        break;
    case HF_REPORT_INVENTORY:
        put_inventory(w, report);
        break;
    case HF_REPORT_VM:
        hf_put_u32(w, report->u.vm.uid);
        hf_put_u32(w, report->u.vm.start_no);
        hf_put_u32(w, report->u.vm.pid);
        hf_put_u8(w, (uint8_t)report->u.vm.seen);
        break;
    case HF_REPORT_WATCH:
        put_bool(w, report->u.watch.known);
        put_sentence(w, report->u.watch.why);
        break;
    case HF_REPORT_DONE:
        put_token(w, report->u.done.token);
        hf_put_u8(w, (uint8_t)report->u.done.outcome);
        hf_put_u32(w, report->u.done.took_ms);
        put_sentence(w, report->u.done.why);
        break;
    case HF_REPORT_PROGRESS:
        put_token(w, report->u.progress.token);
        hf_put_u8(w, (uint8_t)report->u.progress.phase);
        hf_put_u32(w, report->u.progress.pid);
        break;
    case HF_REPORT_VMS:
    case HF_REPORT_START:
    case HF_REPORT_STOP:
    case HF_REPORT_ASK:
    case HF_REPORT_FENCE:
    case HF_REPORT_DROP:
    case HF_REPORT_KINDS:
        HF_ASSERT(report->kind == HF_REPORT_HELLO); /* never: put_to_agent has these */
        break;
    }
}

static void get_from_agent(struct hf_reader *r, struct hf_report *report)
{
    switch (report->kind) {
    case HF_REPORT_HELLO:
        report->u.hello.agent = (enum hf_agent_kind)get_enum_from_1(r, HF_AGENT_KINDS);
        report->u.hello.pid = hf_get_u32(r);
        break;
    case HF_REPORT_HOST:
        get_host(r, &report->u.host);
        break;
    case HF_REPORT_INVENTORY:
        get_inventory(r, report);
        break;
    case HF_REPORT_VM:
        report->u.vm.uid = get_uid(r);
        report->u.vm.start_no = hf_get_u32(r);
        report->u.vm.pid = hf_get_u32(r);
        report->u.vm.seen = (enum hf_seen)hf_get_enum(r, HF_SEENS);
        break;
    case HF_REPORT_WATCH:
        report->u.watch.known = get_bool(r);
        hf_get_str(r, report->u.watch.why, sizeof report->u.watch.why);
        break;
    case HF_REPORT_DONE:
        report->u.done.token = get_token(r);
        report->u.done.outcome = (enum hf_outcome)hf_get_enum(r, HF_OUTCOMES);
        report->u.done.took_ms = hf_get_u32(r);
        hf_get_str(r, report->u.done.why, sizeof report->u.done.why);
        break;
    case HF_REPORT_PROGRESS:
        report->u.progress.token = get_token(r);
        report->u.progress.phase = (enum hf_progress)get_enum_from_1(r, HF_PROGRESS_KINDS);
        report->u.progress.pid = hf_get_u32(r);
        break;
    case HF_REPORT_VMS:
    case HF_REPORT_START:
    case HF_REPORT_STOP:
    case HF_REPORT_ASK:
    case HF_REPORT_FENCE:
    case HF_REPORT_DROP:
    case HF_REPORT_KINDS:
        r->bad = true;
        break;
    }
}

/* ---- what the daemon says ---- */

static void put_to_agent(struct hf_writer *w, const struct hf_report *report)
{
    switch (report->kind) {
    case HF_REPORT_VMS:
        put_bool(w, report->u.vms.is_last);
        hf_put_u32(w, report->u.vms.uid);
        if (!report->u.vms.is_last)
            hf_put_str(w, report->u.vms.name);
        break;
    case HF_REPORT_START:
        put_start(w, report);
        break;
    case HF_REPORT_STOP:
        put_stop(w, report);
        break;
    case HF_REPORT_ASK:
        hf_put_u64(w, report->u.ask.as_of);
        break;
    case HF_REPORT_FENCE:
        put_token(w, report->u.fence.token);
        hf_put_u8(w, report->u.fence.level);
        hf_put_u32(w, report->u.fence.deadline_ms);
        hf_put_str(w, report->u.fence.target);
        break;
    case HF_REPORT_DROP:
        put_token(w, report->u.drop.token);
        break;
    case HF_REPORT_HELLO:
    case HF_REPORT_HOST:
    case HF_REPORT_INVENTORY:
    case HF_REPORT_VM:
    case HF_REPORT_WATCH:
    case HF_REPORT_DONE:
    case HF_REPORT_PROGRESS:
    case HF_REPORT_KINDS:
        HF_ASSERT(report->kind == HF_REPORT_VMS); /* never: put_from_agent has these */
        break;
    }
}

static void get_to_agent(struct hf_reader *r, struct hf_report *report)
{
    switch (report->kind) {
    case HF_REPORT_VMS:
        get_vms(r, report);
        break;
    case HF_REPORT_START:
        get_start(r, report);
        break;
    case HF_REPORT_STOP:
        get_stop(r, report);
        break;
    case HF_REPORT_ASK:
        report->u.ask.as_of = hf_get_u64(r);
        break;
    case HF_REPORT_FENCE:
        report->u.fence.token = get_token(r);
        report->u.fence.level = hf_get_enum(r, HF_FENCE_LEVELS_MAX);
        report->u.fence.deadline_ms = get_deadline(r);
        get_name(r, report->u.fence.target);
        break;
    case HF_REPORT_DROP:
        report->u.drop.token = get_token(r);
        break;
    case HF_REPORT_HELLO:
    case HF_REPORT_HOST:
    case HF_REPORT_INVENTORY:
    case HF_REPORT_VM:
    case HF_REPORT_WATCH:
    case HF_REPORT_DONE:
    case HF_REPORT_PROGRESS:
    case HF_REPORT_KINDS:
        r->bad = true;
        break;
    }
}

/* ---- the record ---- */

size_t report_encode(const struct hf_report *report, uint8_t out[HF_REPORT_BYTES_MAX])
{
    struct hf_writer w = hf_writer_on(out, HF_REPORT_BYTES_MAX);

    HF_ASSERT(report->kind >= HF_REPORT_HELLO);
    HF_ASSERT(report->kind < HF_REPORT_KINDS);
    hf_put_u8(&w, HF_REPORT_VERSION);
    hf_put_u8(&w, (uint8_t)report->kind);
    if (report->kind <= HF_REPORT_PROGRESS)
        put_from_agent(&w, report);
    else
        put_to_agent(&w, report);
    HF_ASSERT(!w.bad);
    return w.len;
}

enum hf_code report_decode(const uint8_t *bytes, size_t len, struct hf_report *report,
                           struct hf_err *err)
{
    struct hf_reader r = hf_reader_on(bytes, len);
    uint8_t version = hf_get_u8(&r);
    uint8_t kind = get_enum_from_1(&r, HF_REPORT_KINDS);

    memset(report, 0, sizeof *report);
    if (!r.bad && version != HF_REPORT_VERSION)
        return hf_err_set(err, HF_EBAD, "report version %u, we speak %d", version,
                          (int)HF_REPORT_VERSION);
    if (r.bad)
        return hf_err_set(err, HF_EBAD, "report of %zu bytes has no known kind", len);
    report->kind = (enum hf_report_kind)kind;
    if (report->kind <= HF_REPORT_PROGRESS)
        get_from_agent(&r, report);
    else
        get_to_agent(&r, report);
    if (!hf_reader_ended(&r))
        return hf_err_set(err, HF_EBAD, "report of kind %u and %zu bytes does not decode", kind,
                          len);
    return HF_OK;
}
