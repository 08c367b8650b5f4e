#include "supervisord/wire/report.h"

#include "tests/unit/check.h"

#include <string.h>

static const struct hf_token token = {.seq = 0x0102030405060708ULL, .nth = 9};

static void fill_from_daemon(struct hf_report *r);

/* One valid report of every kind. */
static struct hf_report sample(int kind)
{
    struct hf_report r = {.kind = (enum hf_report_kind)kind};

    fill_from_daemon(&r);
    switch (r.kind) {
    case HF_REPORT_HELLO:
        r.u.hello.agent = HF_AGENT_VM;
        r.u.hello.pid = 4711;
        break;
    case HF_REPORT_HOST:
        r.u.host = (struct hf_report_host){.boot = {{1, 2, 3}},
                                           .memory_mib = 65536,
                                           .available_mib = 60000,
                                           .cores = 64,
                                           .load_centi = 123,
                                           .psi_cpu_centi = 4,
                                           .psi_memory_centi = UINT32_MAX,
                                           .psi_io_centi = 6,
                                           .boottime_ns = 1ULL << 62,
                                           .wall_ns = -5,
                                           .clock_synchronised = true};
        break;
    case HF_REPORT_INVENTORY:
        r.u.inventory.as_of = 0x123456789abcdef0u;
        r.u.inventory.count = HF_VMS_MAX;
        for (uint16_t i = 0; i < HF_VMS_MAX; i++)
            r.u.inventory.vm[i] = (struct hf_vm_seen){.uid = i + 1u, .start_no = i};
        break;
    case HF_REPORT_VM:
        r.u.vm.uid = 7;
        r.u.vm.start_no = 3;
        r.u.vm.pid = 99;
        r.u.vm.seen = HF_SEEN_SHUTDOWN;
        break;
    case HF_REPORT_WATCH:
        strcpy(r.u.watch.why, "libvirt: connect: Connection refused");
        break;
    case HF_REPORT_DONE:
        r.u.done.token = token;
        r.u.done.outcome = HF_OUT_GAVE_UP;
        r.u.done.took_ms = 20000;
        strcpy(r.u.done.why, "cannot be proved stopped");
        break;
    case HF_REPORT_PROGRESS:
        r.u.progress.token = token;
        r.u.progress.phase = HF_PROGRESS_STOP_KILL;
        r.u.progress.pid = 5;
        break;
    case HF_REPORT_VMS:
    case HF_REPORT_START:
    case HF_REPORT_STOP:
    case HF_REPORT_ASK:
    case HF_REPORT_FENCE:
    case HF_REPORT_DROP:
    case HF_REPORT_KINDS:
        break;
    }
    return r;
}

static void fill_from_daemon(struct hf_report *r)
{
    switch (r->kind) {
    case HF_REPORT_VMS:
        r->u.vms.uid = 7;
        strcpy(r->u.vms.name, "mq-1");
        break;
    case HF_REPORT_START:
        r->u.start.token = token;
        r->u.start.uid = 7;
        r->u.start.start_no = 3;
        r->u.start.deadline_ms = 15000;
        r->u.start.memory_mib = 2048;
        strcpy(r->u.start.name, "mq-1");
        memset(r->u.start.xml.b, 0xab, sizeof r->u.start.xml.b);
        break;
    case HF_REPORT_STOP:
        r->u.stop.token = token;
        r->u.stop.uid = 7;
        r->u.stop.start_no = 3;
        r->u.stop.grace_ms = 0;
        r->u.stop.deadline_ms = 20000;
        strcpy(r->u.stop.name, "mq-1");
        break;
    case HF_REPORT_ASK:
        r->u.ask.as_of = 0xfedcba9876543210u;
        break;
    case HF_REPORT_FENCE:
        r->u.fence.token = token;
        r->u.fence.level = HF_FENCE_LEVELS_MAX - 1;
        r->u.fence.deadline_ms = 30000;
        strcpy(r->u.fence.target, "node-b");
        break;
    case HF_REPORT_DROP:
        r->u.drop.token = token;
        break;
    case HF_REPORT_HELLO:
    case HF_REPORT_HOST:
    case HF_REPORT_INVENTORY:
    case HF_REPORT_VM:
    case HF_REPORT_WATCH:
    case HF_REPORT_DONE:
    case HF_REPORT_PROGRESS:
    case HF_REPORT_KINDS:
        break;
    }
}

/* Bytes of every sample, counted by hand from report.h: a field that is forgotten shows. */
static const size_t sample_bytes[HF_REPORT_KINDS] = {
    [HF_REPORT_HELLO] = 2 + 1 + 4,
    [HF_REPORT_HOST] = 2 + 16 + 4 + 4 + 2 + 4 + 3 * 4 + 8 + 8 + 1,
    [HF_REPORT_INVENTORY] = 2 + 8 + 2 + HF_VMS_MAX * 8,
    [HF_REPORT_VM] = 2 + 4 + 4 + 4 + 1,
    [HF_REPORT_WATCH] = 2 + 1 + 1 + 36,
    [HF_REPORT_DONE] = 2 + 12 + 1 + 4 + 1 + 24,
    [HF_REPORT_PROGRESS] = 2 + 12 + 1 + 4,
    [HF_REPORT_VMS] = 2 + 1 + 4 + 1 + 4,
    [HF_REPORT_START] = 2 + 12 + 4 + 4 + 4 + 4 + 1 + 4 + 32,
    [HF_REPORT_STOP] = 2 + 12 + 4 + 4 + 4 + 4 + 1 + 4,
    [HF_REPORT_ASK] = 2 + 8,
    [HF_REPORT_FENCE] = 2 + 12 + 1 + 4 + 1 + 6,
    [HF_REPORT_DROP] = 2 + 12,
};

START_TEST(every_kind_comes_back_as_it_was)
{
    uint8_t bytes[HF_REPORT_BYTES_MAX], again[HF_REPORT_BYTES_MAX];
    struct hf_report sent = sample(_i), got;
    struct hf_err err;
    size_t len = report_encode(&sent, bytes);

    ck_assert_msg(report_decode(bytes, len, &got, &err) == HF_OK, "%s", err.text);
    ck_assert_int_eq(got.kind, _i);
    ck_assert_uint_eq(len, sample_bytes[_i]);
    ck_assert_uint_eq(report_encode(&got, again), len);
    ck_assert(memcmp(bytes, again, len) == 0);
}
END_TEST

START_TEST(every_cut_and_every_extra_byte_is_refused)
{
    uint8_t bytes[HF_REPORT_BYTES_MAX + 1] = {0};
    struct hf_report sent = sample(_i), got;
    struct hf_err err;
    size_t len = report_encode(&sent, bytes);

    for (size_t cut = 0; cut < len; cut++)
        ck_assert_int_eq(report_decode(bytes, cut, &got, &err), HF_EBAD);
    ck_assert_int_eq(report_decode(bytes, len + 1, &got, &err), HF_EBAD);
}
END_TEST

/* A wrong byte either decodes to a valid report, which encodes to the same bytes, or is refused. */
START_TEST(a_wrong_byte_never_decodes_to_something_invalid)
{
    uint8_t bytes[HF_REPORT_BYTES_MAX], again[HF_REPORT_BYTES_MAX];
    struct hf_report sent = sample(_i), got;
    struct hf_err err;
    size_t len = report_encode(&sent, bytes);

    for (size_t at = 0; at < len; at += len / 64 + 1) {
        uint8_t was = bytes[at];

        for (unsigned v = 0; v < 256; v++) {
            bytes[at] = (uint8_t)v;
            if (report_decode(bytes, len, &got, &err) == HF_OK) {
                ck_assert_uint_eq(report_encode(&got, again), len);
                ck_assert(memcmp(bytes, again, len) == 0);
            } else {
                ck_assert_int_eq(err.code, HF_EBAD);
            }
        }
        bytes[at] = was;
    }
}
END_TEST

static enum hf_code decode_of(const struct hf_report *r)
{
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    struct hf_report got;
    struct hf_err err;

    return report_decode(bytes, report_encode(r, bytes), &got, &err);
}

START_TEST(values_nobody_may_say_are_refused)
{
    struct hf_report r = sample(HF_REPORT_START);

    r.u.start.uid = 0;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_START);
    r.u.start.start_no = 0;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_START);
    r.u.start.deadline_ms = 0;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_START);
    strcpy(r.u.start.name, "../etc/passwd");
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_DONE);
    r.u.done.token.nth = 0;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_DONE);
    r.u.done.outcome = HF_OUTCOMES;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_PROGRESS);
    r.u.progress.phase = (enum hf_progress)0;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_FENCE);
    r.u.fence.level = HF_FENCE_LEVELS_MAX;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_HELLO);
    r.u.hello.agent = HF_AGENT_KINDS;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_VM);
    r.u.vm.seen = HF_SEENS;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_INVENTORY);
    r.u.inventory.vm[9].uid = r.u.inventory.vm[3].uid;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_VMS);
    r.u.vms.uid = 0;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
}
END_TEST

START_TEST(the_end_of_the_vm_list_has_no_name)
{
    struct hf_report r = {.kind = HF_REPORT_VMS};

    r.u.vms.is_last = true;
    ck_assert_int_eq(decode_of(&r), HF_OK);
    r.u.vms.uid = 3;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
}
END_TEST

START_TEST(another_version_is_refused_with_its_number)
{
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    struct hf_report r = sample(HF_REPORT_ASK), got;
    struct hf_err err;
    size_t len = report_encode(&r, bytes);

    bytes[0] = HF_REPORT_VERSION + 1;
    ck_assert_int_eq(report_decode(bytes, len, &got, &err), HF_EBAD);
    ck_assert_ptr_nonnull(strstr(err.text, "version 2"));
}
END_TEST

START_TEST(a_library_s_line_ends_do_not_cost_the_connection)
{
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    struct hf_report r = sample(HF_REPORT_DONE), got;
    struct hf_err err;

    strcpy(r.u.done.why, "internal error:\n\tqemu\x7f died");
    ck_assert_int_eq(report_decode(bytes, report_encode(&r, bytes), &got, &err), HF_OK);
    ck_assert_str_eq(got.u.done.why, "internal error:  qemu  died");
}
END_TEST

HF_TEST_MAIN("wire/report",
             HF_LOOP(every_kind_comes_back_as_it_was, HF_REPORT_HELLO, HF_REPORT_KINDS),
             HF_LOOP(every_cut_and_every_extra_byte_is_refused, HF_REPORT_HELLO, HF_REPORT_KINDS),
             HF_LOOP(a_wrong_byte_never_decodes_to_something_invalid, HF_REPORT_HELLO,
                     HF_REPORT_KINDS),
             HF_CASE(values_nobody_may_say_are_refused),
             HF_CASE(the_end_of_the_vm_list_has_no_name),
             HF_CASE(another_version_is_refused_with_its_number),
             HF_CASE(a_library_s_line_ends_do_not_cost_the_connection))
