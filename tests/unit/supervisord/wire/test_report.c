#include "supervisord/wire/report.h"

#include "tests/unit/check.h"

#include <string.h>

static const struct hf_token token = {.seq = 0x0102030405060708ULL, .nth = 9};

static void fill_from_daemon(struct hf_report *r);

static const struct hf_pf_facts a_pf = {.state = HF_PF_HOLD,
                                        .cause = HF_NIC_REMOVED,
                                        .hold_ms = 30000,
                                        .name = "enp65s0f0np0",
                                        .pci = "0000:41:00.0",
                                        .driver = "sfc",
                                        .firmware = "8.6.0.1016 rx0 tx0",
                                        .serial = "X2522",
                                        .switch_id = "sw-a Ethernet1/17",
                                        .numa_node = -1,
                                        .vfs = 16,
                                        .vfs_without_driver = 1,
                                        .bfd_peers = 2,
                                        .bfd_up = 1,
                                        .carrier_downs = 1ULL << 40,
                                        .aer_errors = 3,
                                        .resets = 2,
                                        .rtnl_ms = UINT32_MAX};

static const struct hf_vm_legs some_legs = {.uid = 7,
                                            .start_no = 3,
                                            .has = 3,
                                            .up = 2,
                                            .active = 1,
                                            .has_helper = true,
                                            .kind = {HF_LEG_VF, HF_LEG_MACVTAP},
                                            .bond_faults = HF_BOND_FAULTS - 1};

static const struct hf_flip a_flip = {.epoch = 1ULL << 50,
                                      .uid = 7,
                                      .from = 0,
                                      .to = 1,
                                      .cause = HF_NIC_CARRIER,
                                      .method = HF_FLIP_UNPLUG,
                                      .outcome = HF_FLIP_FAILED,
                                      .judged_us = 900,
                                      .ordered_us = 1800,
                                      .confirmed_us = UINT32_MAX,
                                      .wall_ns = -7};

static const struct hf_report_host a_host = {
    .boot = {{1, 2, 3}},
    .memory_mib = 65536,
    .available_mib = 60000,
    .cores = 64,
    .load_centi = 123,
    .psi_cpu_centi = 4,
    .psi_memory_centi = UINT32_MAX,
    .psi_io_centi = 6,
    .boottime_ns = 1ULL << 62,
    .wall_ns = -5,
    .clock_synchronised = true,
    .hardware = UINT64_MAX,
    .room = {{800000, 12, 200000, 199000, true}, {1ULL << 54, UINT64_MAX, 0, 0, false}}};

static void fill_about_nics(struct hf_report *r)
{
    if (r->kind == HF_REPORT_NICS) {
        r->u.nics.count = HF_FABRICS_MAX;
        r->u.nics.pf[0] = a_pf;
        r->u.nics.pf[1] = (struct hf_pf_facts){.state = HF_PF_ABSENT, .numa_node = 1};
    } else if (r->kind == HF_REPORT_LEGS) {
        r->u.legs = some_legs;
    } else if (r->kind == HF_REPORT_FLIP) {
        r->u.flip.number = 12;
        r->u.flip.flip = a_flip;
    } else {
        r->u.nic_order.number = 12;
        r->u.nic_order.uid = 7;
        r->u.nic_order.to = 1;
    }
}

static void fill_watchdog(struct hf_report *r)
{
    r->u.watchdog.state = HF_WD_ARMED;
    r->u.watchdog.was_reset = true;
    r->u.watchdog.timeout_ms = 10000;
    r->u.watchdog.lease_ms = 5000;
    r->u.watchdog.version = 3;
    strcpy(r->u.watchdog.identity, "i6300ESB timer");
    strcpy(r->u.watchdog.why, "armed");
}

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
        r.u.host = a_host;
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
    case HF_REPORT_WATCHDOG:
        fill_watchdog(&r);
        break;
    case HF_REPORT_TESTED:
        r.u.tested.number = 17;
        r.u.tested.found = HF_PATH_BROKEN;
        r.u.tested.hardware = UINT64_MAX - 1;
        r.u.tested.took_ms = 800;
        strcpy(r.u.tested.why, "bmc-b: no such agent");
        break;
    case HF_REPORT_NICS:
    case HF_REPORT_LEGS:
    case HF_REPORT_FLIP:
    case HF_REPORT_NIC_ORDER:
        fill_about_nics(&r);
        break;
    case HF_REPORT_VMS:
    case HF_REPORT_START:
    case HF_REPORT_STOP:
    case HF_REPORT_ASK:
    case HF_REPORT_FENCE:
    case HF_REPORT_DROP:
    case HF_REPORT_LEASE:
    case HF_REPORT_TEST:
    case HF_REPORT_SELF_STOP:
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
        r->u.fence.power_on = true;
        r->u.fence.deadline_ms = 30000;
        strcpy(r->u.fence.target, "node-b");
        break;
    case HF_REPORT_DROP:
        r->u.drop.token = token;
        break;
    case HF_REPORT_LEASE:
        r->u.lease.wants_armed = true;
        r->u.lease.allow_softdog = true;
        r->u.lease.timeout_ms = 10000;
        r->u.lease.lease_ms = 5000;
        r->u.lease.sent_ns = INT64_MAX;
        r->u.lease.hold_until_ns = INT64_MAX - 1;
        strcpy(r->u.lease.device, "/dev/watchdog0");
        break;
    case HF_REPORT_TEST:
        r->u.test.number = 17;
        r->u.test.level = HF_FENCE_LEVELS_MAX - 1;
        r->u.test.deadline_ms = 30000;
        strcpy(r->u.test.target, "node-b");
        break;
    case HF_REPORT_SELF_STOP:
    case HF_REPORT_HELLO:
    case HF_REPORT_HOST:
    case HF_REPORT_INVENTORY:
    case HF_REPORT_VM:
    case HF_REPORT_WATCH:
    case HF_REPORT_DONE:
    case HF_REPORT_PROGRESS:
    case HF_REPORT_WATCHDOG:
    case HF_REPORT_TESTED:
    case HF_REPORT_NICS:
    case HF_REPORT_LEGS:
    case HF_REPORT_FLIP:
    case HF_REPORT_NIC_ORDER:
    case HF_REPORT_KINDS:
        break;
    }
}

/* Bytes of every sample, counted by hand from report.h: a field that is forgotten shows. */
static const size_t sample_bytes[HF_REPORT_KINDS] = {
    [HF_REPORT_HELLO] = 2 + 1 + 4,
    [HF_REPORT_HOST] = 2 + 16 + 4 + 4 + 2 + 4 + 3 * 4 + 8 + 8 + 1 + 8 + 2 * (4 * 8 + 1),
    [HF_REPORT_INVENTORY] = 2 + 8 + 2 + HF_VMS_MAX * 8,
    [HF_REPORT_VM] = 2 + 4 + 4 + 4 + 1,
    [HF_REPORT_WATCH] = 2 + 1 + 1 + 36,
    [HF_REPORT_DONE] = 2 + 12 + 1 + 4 + 1 + 24,
    [HF_REPORT_PROGRESS] = 2 + 12 + 1 + 4,
    [HF_REPORT_VMS] = 2 + 1 + 4 + 1 + 4,
    [HF_REPORT_START] = 2 + 12 + 4 + 4 + 4 + 4 + 1 + 4 + 32,
    [HF_REPORT_STOP] = 2 + 12 + 4 + 4 + 4 + 4 + 1 + 4,
    [HF_REPORT_ASK] = 2 + 8,
    [HF_REPORT_FENCE] = 2 + 12 + 1 + 1 + 4 + 1 + 6,
    [HF_REPORT_DROP] = 2 + 12,
    [HF_REPORT_WATCHDOG] = 2 + 1 + 1 + 1 + 4 + 4 + 2 + 1 + 14 + 1 + 5,
    [HF_REPORT_TESTED] = 2 + 4 + 1 + 8 + 4 + 1 + 20,
    [HF_REPORT_LEASE] = 2 + 1 + 1 + 4 + 4 + 8 + 8 + 1 + 14,
    [HF_REPORT_TEST] = 2 + 4 + 1 + 4 + 1 + 6,
    [HF_REPORT_SELF_STOP] = 2,
    [HF_REPORT_NICS] = 2 + 1 + 2 * (2 + 4 + 6 + 3 * 2 + 2 + 3 * 8 + 4) + 12 + 12 + 3 + 18 + 5 + 17,
    [HF_REPORT_LEGS] = 2 + 4 + 4 + 3 + 1 + 2 + 1,
    [HF_REPORT_FLIP] = 2 + 4 + 8 + 4 + 5 + 3 * 4 + 8,
    [HF_REPORT_NIC_ORDER] = 2 + 4 + 4 + 1,
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

START_TEST(a_feeder_that_says_armed_says_for_how_long)
{
    struct hf_report r = sample(HF_REPORT_WATCHDOG);

    r.u.watchdog.timeout_ms = 0;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_WATCHDOG);
    r.u.watchdog.lease_ms = 0;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r.u.watchdog.timeout_ms = 0;
    r.u.watchdog.state = HF_WD_BUSY;
    ck_assert_int_eq(decode_of(&r), HF_OK);
    r.u.watchdog.timeout_ms = 10000; /* of a watchdog that is not armed: a promise by nobody */
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r.u.watchdog.timeout_ms = 0;
    r.u.watchdog.state = HF_WATCHDOGS;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
}
END_TEST

START_TEST(a_test_of_a_fence_path_stays_in_range)
{
    struct hf_report r = sample(HF_REPORT_TEST);

    r.u.test.level = HF_FENCE_LEVELS_MAX;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_TEST);
    r.u.test.deadline_ms = 0;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_TEST);
    strcpy(r.u.test.target, "node b");
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_TESTED);
    r.u.tested.found = HF_PATHS;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
}
END_TEST

START_TEST(what_is_said_of_nics_stays_in_range)
{
    struct hf_report r = sample(HF_REPORT_NICS);

    r.u.nics.pf[1].state = HF_PFS;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_NICS);
    r.u.nics.pf[0].cause = HF_NIC_CAUSES;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_LEGS);
    r.u.legs.up = 4;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_LEGS);
    r.u.legs.has = 1; /* up in a fabric where it has none */
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_LEGS);
    r.u.legs.active = HF_FABRICS_MAX; /* not known */
    ck_assert_int_eq(decode_of(&r), HF_OK);
    r.u.legs.active = HF_FABRICS_MAX + 1;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_LEGS);
    r.u.legs.kind[1] = HF_LEG_KINDS;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
}
END_TEST

START_TEST(a_flip_and_what_orders_one_stay_in_range)
{
    struct hf_report r = sample(HF_REPORT_FLIP);

    r.u.flip.flip.from = r.u.flip.flip.to = HF_FABRICS_MAX;
    ck_assert_int_eq(decode_of(&r), HF_OK);
    r.u.flip.flip.to = HF_FABRICS_MAX + 1;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_FLIP);
    r.u.flip.flip.method = HF_FLIP_METHODS;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_FLIP);
    r.u.flip.flip.outcome = HF_FLIP_OUTCOMES;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_NIC_ORDER);
    r.u.nic_order.to = HF_FABRICS_MAX;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_NIC_ORDER);
    r.u.nic_order.number = 0; /* its answer would be nobody's */
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_NIC_ORDER);
    r.u.nic_order.uid = 0;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
}
END_TEST

START_TEST(a_lease_to_arm_on_is_complete)
{
    struct hf_report r = sample(HF_REPORT_LEASE);

    r.u.lease.timeout_ms = 0;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_LEASE);
    r.u.lease.lease_ms = 0;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_LEASE);
    r.u.lease.sent_ns = -1;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_LEASE);
    r.u.lease.hold_until_ns = -1;
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r = sample(HF_REPORT_LEASE);
    r.u.lease.device[0] = '\0';
    ck_assert_int_eq(decode_of(&r), HF_EBAD);
    r.u.lease.wants_armed = false; /* nothing is configured here: there is nothing to name */
    r.u.lease.timeout_ms = r.u.lease.lease_ms = 0;
    ck_assert_int_eq(decode_of(&r), HF_OK);
}
END_TEST

/* The feeder opens it for writing. */
START_TEST(a_device_is_below_dev)
{
    static const char *const good[] = {"/dev/watchdog", "/dev/watchdog0", "/dev/wd/by-id/a.b:c"};
    static const char *const bad[] = {
        "watchdog",       "/dev",       "/dev/",         "/etc/passwd",     "/dev/../etc/passwd",
        "/dev/watch dog", "/dev/w\x80", "/DEV/watchdog", " /dev/watchdog0", "/dev/watchdog0 ",
    };
    struct hf_report r = sample(HF_REPORT_LEASE);

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        strcpy(r.u.lease.device, good[i]);
        ck_assert_msg(decode_of(&r) == HF_OK, "%s", good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        r.u.lease.wants_armed = i % 2 == 0;
        strcpy(r.u.lease.device, bad[i]);
        ck_assert_msg(decode_of(&r) == HF_EBAD, "%s", bad[i]);
    }
    memset(r.u.lease.device, 'd', HF_DEVICE_PATH_MAX);
    memcpy(r.u.lease.device, "/dev/", 5);
    ck_assert_int_eq(decode_of(&r), HF_OK);
}
END_TEST

/* By hand from the comments in report.h. */
START_TEST(nobody_speaks_for_another)
{
    static const char *const says[HF_AGENT_KINDS] = {[HF_AGENT_HOST] = "hH",
                                                     [HF_AGENT_VM] = "hivwdp",
                                                     [HF_AGENT_FENCE] = "hdpt",
                                                     [HF_AGENT_FEEDER] = "hW",
                                                     [HF_AGENT_NIC] = "hnlf"};
    static const char letters[HF_REPORT_KINDS] = {
        [HF_REPORT_HELLO] = 'h',    [HF_REPORT_HOST] = 'H',     [HF_REPORT_INVENTORY] = 'i',
        [HF_REPORT_VM] = 'v',       [HF_REPORT_WATCH] = 'w',    [HF_REPORT_DONE] = 'd',
        [HF_REPORT_PROGRESS] = 'p', [HF_REPORT_WATCHDOG] = 'W', [HF_REPORT_TESTED] = 't',
        [HF_REPORT_NICS] = 'n',     [HF_REPORT_LEGS] = 'l',     [HF_REPORT_FLIP] = 'f'};

    for (int agent = HF_AGENT_HOST; agent < HF_AGENT_KINDS; agent++)
        for (int kind = HF_REPORT_HELLO; kind < HF_REPORT_KINDS; kind++)
            ck_assert_msg(
                report_may_come_from((enum hf_agent_kind)agent, (enum hf_report_kind)kind) ==
                    (letters[kind] != '\0' && strchr(says[agent], letters[kind]) != NULL),
                "agent %d, report %d", agent, kind);
    ck_assert(!report_may_come_from((enum hf_agent_kind)0, HF_REPORT_HELLO));
    ck_assert(!report_may_come_from(HF_AGENT_KINDS, HF_REPORT_HELLO));
    ck_assert(!report_may_come_from((enum hf_agent_kind)1000, HF_REPORT_HELLO));
    ck_assert(!report_may_come_from(HF_AGENT_HOST, (enum hf_report_kind)0));
    ck_assert(!report_may_come_from(HF_AGENT_HOST, HF_REPORT_KINDS));
    ck_assert(!report_may_come_from(HF_AGENT_HOST, (enum hf_report_kind) - 1));
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
    char want[32];

    bytes[0] = HF_REPORT_VERSION + 1;
    snprintf(want, sizeof want, "version %d", HF_REPORT_VERSION + 1);
    ck_assert_int_eq(report_decode(bytes, len, &got, &err), HF_EBAD);
    ck_assert_ptr_nonnull(strstr(err.text, want));
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
    r = sample(HF_REPORT_WATCHDOG);
    strcpy(r.u.watchdog.identity, "iTCO_wdt\n");
    strcpy(r.u.watchdog.why, "held by\tsystemd");
    ck_assert_int_eq(report_decode(bytes, report_encode(&r, bytes), &got, &err), HF_OK);
    ck_assert_str_eq(got.u.watchdog.identity, "iTCO_wdt ");
    ck_assert_str_eq(got.u.watchdog.why, "held by systemd");
    r = sample(HF_REPORT_TESTED);
    strcpy(r.u.tested.why, "bmc-b said:\r\ndenied");
    ck_assert_int_eq(report_decode(bytes, report_encode(&r, bytes), &got, &err), HF_OK);
    ck_assert_str_eq(got.u.tested.why, "bmc-b said:  denied");
    r = sample(HF_REPORT_NICS);
    strcpy(r.u.nics.pf[0].switch_id, "sw-a\nEthernet1/17");
    ck_assert_int_eq(report_decode(bytes, report_encode(&r, bytes), &got, &err), HF_OK);
    ck_assert_str_eq(got.u.nics.pf[0].switch_id, "sw-a Ethernet1/17");
}
END_TEST

HF_TEST_MAIN(
    "wire/report", HF_LOOP(every_kind_comes_back_as_it_was, HF_REPORT_HELLO, HF_REPORT_KINDS),
    HF_LOOP(every_cut_and_every_extra_byte_is_refused, HF_REPORT_HELLO, HF_REPORT_KINDS),
    HF_LOOP(a_wrong_byte_never_decodes_to_something_invalid, HF_REPORT_HELLO, HF_REPORT_KINDS),
    HF_CASE(values_nobody_may_say_are_refused), HF_CASE(a_feeder_that_says_armed_says_for_how_long),
    HF_CASE(a_test_of_a_fence_path_stays_in_range), HF_CASE(what_is_said_of_nics_stays_in_range),
    HF_CASE(a_flip_and_what_orders_one_stay_in_range), HF_CASE(a_lease_to_arm_on_is_complete),
    HF_CASE(a_device_is_below_dev), HF_CASE(nobody_speaks_for_another),
    HF_CASE(the_end_of_the_vm_list_has_no_name),
    HF_CASE(another_version_is_refused_with_its_number),
    HF_CASE(a_library_s_line_ends_do_not_cost_the_connection))
