/* fake_daemon.h - a daemon in the test's own process: the real engine, history and server, no
 * group. Orders are applied at once, from within the call, unless `holds_orders`. Time is the
 * test's: both clocks stand still until told. */
#ifndef TESTS_UNIT_SUPERVISORD_CTL_FAKE_DAEMON_H
#define TESTS_UNIT_SUPERVISORD_CTL_FAKE_DAEMON_H

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervisord/base/str.h"
#include "supervisord/ctl/server.h"
#include "supervisord/report/history.h"
#include "tests/unit/check.h"
#include "tests/unit/supervisord/a_group.h"

enum { FAKE_FDS_MAX = DOOR_CLIENTS_MAX + 1 };

struct fake {
    struct engine *engine;
    struct engine_out out;
    struct history *history;
    struct ctl_server *server;
    struct ctl_shell shell;
    struct hf_member member[HF_NODES_MAX];
    uint64_t view_seq;
    struct history_when when;
    struct pollfd fds[FAKE_FDS_MAX];
    unsigned fds_count;
    bool holds_orders;
    uint64_t held_cookie;
    struct hf_event held;
    unsigned orders_count, blobs_count, audits_count, tests_count;
    uint64_t test_cookie; /* of the last test that was asked for */
    hf_node test_node;
    uint8_t test_level;
    enum hf_code test_code; /* what the port says to it */
    uint64_t flip_cookie;   /* of the last failback that was asked for */
    hf_vm_uid flip_uid;
    hf_fabric flip_to;
    enum hf_code flip_code;
    size_t blob_len;
    struct hf_digest blob;
};

static struct fake f;       /* a case runs in a process of its own */
static bool fake_watchdogs; /* set before fake_open(): every node is to have one */
static bool fake_fabrics;   /* likewise: every node names ens1f0 in fabric a, ens2f0 in b */
static struct hf_config fake_config; /* then its own file */

/* ---- the engine's world ---- */

static inline void fake_at(int64_t seconds)
{
    f.when.boot.ns = (1000 + seconds) * 1000000000LL;
    f.when.monotonic_ns = (500 + seconds) * 1000000000LL;
    f.when.wall.ns = (1796030000LL + seconds) * 1000000000LL; /* 2026-11-30T09:13:20Z */
    f.shell.now = f.when.boot;
    f.shell.wall = f.when.wall;
}

static inline const struct engine_out *fake_step(struct hf_event *ev)
{
    ev->seq = engine_seq(f.engine) + 1;
    engine_step(f.engine, ev, &f.out);
    history_step(f.history, f.engine, ev, &f.out, &f.when);
    return &f.out;
}

static inline void fake_members(void)
{
    struct hf_event ev;

    memset(&ev, 0, sizeof ev);
    ev.from = HF_NO_NODE;
    ev.type = HF_EV_MEMBERS;
    f.view_seq += 4;
    ev.u.members.view = (struct hf_view){1, f.view_seq};
    memcpy(ev.u.members.node, f.member, sizeof f.member);
    fake_step(&ev);
}

static inline void fake_boots(uint8_t n)
{
    f.member[n] = (struct hf_member){.present = true, .in_ring = true, .incarnation = 100};
    f.member[n].boot.id[0] = (uint8_t)(n + 1);
}

static inline void fake_host_gone(uint8_t n)
{
    f.member[n].present = f.member[n].in_ring = false;
    fake_members();
}

/* What runs on the node by the engine's own account, as of now. */
static inline void fake_inventory(uint8_t n)
{
    struct hf_event ev;

    memset(&ev, 0, sizeof ev);
    ev.from = (hf_node){n};
    ev.type = HF_EV_INVENTORY;
    ev.u.inventory.as_of = engine_as_of(f.engine);
    for (uint16_t i = 0; i < HF_VMS_MAX; i++) {
        struct hf_vm_view vm = engine_vm(f.engine, (hf_vm){i});

        if (vm.is_used && hf_node_same(vm.home, ev.from))
            ev.u.inventory.vm[ev.u.inventory.count++] = (struct hf_vm_seen){vm.uid, vm.start_no};
    }
    fake_step(&ev);
}

/* Every node here tells what runs on it: a new VM is started when none has it already. */
static inline void fake_inventories(void)
{
    for (uint8_t n = 0; n < 3; n++)
        if (hf_nodes_has(engine_group(f.engine).present, (hf_node){n}))
            fake_inventory(n);
}

static inline void fake_ready(uint8_t n)
{
    struct hf_event ev;

    memset(&ev, 0, sizeof ev);
    ev.from = (hf_node){n};
    ev.type = HF_EV_FACTS;
    ev.u.facts.memory_mib = 65536;
    ev.u.facts.cores = 16;
    ev.u.facts.hardware = 101u + n;
    ev.u.facts.vm_watch_known = ev.u.facts.link_fit = ev.u.facts.config_same = true;
    fake_step(&ev);
    fake_inventory(n);
}

static inline void fake_attest(uint8_t n, enum hf_watchdog state)
{
    struct hf_event ev;

    memset(&ev, 0, sizeof ev);
    ev.from = (hf_node){n};
    ev.type = HF_EV_ATTEST;
    ev.u.attest.state = state;
    ev.u.attest.version = 1;
    if (state == HF_WD_ARMED) {
        ev.u.attest.timeout_ms = 5000;
        ev.u.attest.lease_ms = 3000;
        strcpy(ev.u.attest.identity, "iTCO_wdt");
    }
    fake_step(&ev);
}

/* hardware: of the host that the device says it switches; n1 has 101, n2 102, ...; 0: not told. */
static inline void fake_path(uint8_t n, uint8_t level, enum hf_path found, uint64_t hardware)
{
    struct hf_event ev;

    memset(&ev, 0, sizeof ev);
    ev.from = (hf_node){0};
    ev.type = HF_EV_PATH;
    ev.u.path.target = (hf_node){n};
    ev.u.path.level = level;
    ev.u.path.found = found;
    ev.u.path.hardware = hardware;
    fake_step(&ev);
}

/* What a node says of its two PFs. */
static inline void fake_nics(uint8_t n, enum hf_pf a, enum hf_nic_cause a_cause, enum hf_pf b,
                             enum hf_nic_cause b_cause)
{
    struct hf_event ev;

    memset(&ev, 0, sizeof ev);
    ev.from = (hf_node){n};
    ev.type = HF_EV_NICS;
    ev.u.nics.pf[0] = (struct hf_pf_verdict){a, a_cause};
    ev.u.nics.pf[1] = (struct hf_pf_verdict){b, b_cause};
    fake_step(&ev);
    for (unsigned i = 0; i < HF_FABRICS_MAX; i++)
        f.shell.nics.since[n][i] = f.when.wall;
}

static inline void fake_nics_up(void)
{
    for (uint8_t n = 0; n < 3; n++)
        fake_nics(n, HF_PF_UP, HF_NIC_NONE, HF_PF_UP, HF_NIC_NONE);
}

/* What its node says of a VM's legs. */
static inline void fake_legs(const char *vm, hf_legs up, hf_fabric active)
{
    struct hf_vm_view view = engine_vm(f.engine, engine_vm_by_name(f.engine, vm));
    struct hf_event ev;

    memset(&ev, 0, sizeof ev);
    ev.from = view.home;
    ev.type = HF_EV_LEGS;
    ev.u.legs = (struct hf_vm_legs_seen){view.uid, view.running_no, 3, up, active};
    ck_assert(fake_step(&ev)->applied);
}

/* From a to b, because of a lost carrier. */
static inline struct hf_flip fake_flip(const char *vm)
{
    struct hf_flip flip = {.epoch = 7,
                           .uid = engine_vm(f.engine, engine_vm_by_name(f.engine, vm)).uid,
                           .from = 0,
                           .to = 1,
                           .cause = HF_NIC_CARRIER,
                           .method = HF_FLIP_GUEST,
                           .outcome = HF_FLIP_FLIPPED,
                           .judged_us = 1200,
                           .ordered_us = 1300,
                           .confirmed_us = 8450,
                           .wall_ns = f.when.wall.ns};

    return flip;
}

/* Report that the live order of this kind ended like that; false: there is none. */
static inline bool fake_done(enum hf_effect_type type, enum hf_outcome outcome)
{
    static struct hf_effect effects[HF_EFFECTS_MAX];

    for (uint8_t n = 0; n < engine_group(f.engine).group->nodes_count; n++) {
        uint32_t count = engine_pending(f.engine, (hf_node){n}, effects);

        for (uint32_t i = 0; i < count; i++) {
            struct hf_event ev;

            if (effects[i].type != type || !hf_node_same(effects[i].actor, (hf_node){n}))
                continue;
            memset(&ev, 0, sizeof ev);
            ev.from = effects[i].actor;
            ev.type = HF_EV_DONE;
            ev.u.done.effect = effects[i].token;
            ev.u.done.outcome = outcome;
            fake_step(&ev);
            return true;
        }
    }
    return false;
}

static inline void fake_order_step(enum hf_order_type type, hf_node node, const char *vm)
{
    struct hf_event ev;
    hf_vm ix = engine_vm_by_name(f.engine, vm);

    memset(&ev, 0, sizeof ev);
    ev.type = HF_EV_ORDER;
    ev.u.order.type = type;
    ev.u.order.node = node;
    ev.u.order.uid = ix.ix < HF_VMS_MAX ? engine_vm(f.engine, ix).uid : 0;
    (void)hf_str_copy(ev.u.order.who, sizeof ev.u.order.who, "uid-1000");
    fake_step(&ev);
}

static inline void fake_add(const struct hf_vm_def *def, bool wants_run)
{
    struct hf_event ev;

    memset(&ev, 0, sizeof ev);
    ev.type = HF_EV_ORDER;
    ev.u.order.type = HF_ORDER_VM_ADD;
    ev.u.order.node = HF_NO_NODE;
    ev.u.order.wants_run = wants_run;
    ev.u.order.def = *def;
    (void)hf_str_copy(ev.u.order.who, sizeof ev.u.order.who, "uid-1000");
    ck_assert(fake_step(&ev)->applied);
    fake_inventories();
}

static inline void fake_add_vm(const char *name, bool wants_run)
{
    struct hf_vm_def def = a_vm(name);

    fake_add(&def, wants_run);
}

/* "a" runs on n1, "b" on n2: the engine fences only a node whose death somebody waits for. */
static inline void fake_two_vms(void)
{
    fake_add_vm("a", true);
    ck_assert(fake_done(HF_FX_VM_START, HF_OUT_DONE));
    fake_add_vm("b", true);
    ck_assert(fake_done(HF_FX_VM_START, HF_OUT_DONE));
}

/* A VM with a leg in each fabric, running on n1. */
static inline void fake_vm_with_legs(const char *name)
{
    struct hf_vm_def def = a_vm(name);

    def.legs = 3;
    fake_add(&def, true);
    ck_assert(fake_done(HF_FX_VM_START, HF_OUT_DONE));
}

/* Three members, armed. */
static inline void fake_group_up(void)
{
    for (uint8_t n = 0; n < 3; n++)
        fake_boots(n);
    fake_members();
    for (uint8_t n = 0; n < 3; n++)
        fake_ready(n);
    fake_order_step(HF_ORDER_ARM, HF_NO_NODE, "");
}

/* ---- the server's ports ---- */

static inline void fake_watch(void *user, int fd, bool write_too)
{
    struct fake *fake = (struct fake *)user;
    short events = (short)(POLLIN | (write_too ? POLLOUT : 0));

    for (unsigned i = 0; i < fake->fds_count; i++) {
        if (fake->fds[i].fd == fd) {
            fake->fds[i].events = events;
            return;
        }
    }
    ck_assert_uint_lt(fake->fds_count, FAKE_FDS_MAX);
    fake->fds[fake->fds_count++] = (struct pollfd){.fd = fd, .events = events};
}

static inline void fake_unwatch(void *user, int fd)
{
    struct fake *fake = (struct fake *)user;

    for (unsigned i = 0; i < fake->fds_count; i++) {
        if (fake->fds[i].fd != fd)
            continue;
        fake->fds[i] = fake->fds[--fake->fds_count];
        return;
    }
    ck_abort_msg("unwatch of a descriptor that is not watched");
}

static inline void fake_look(void *user, struct ctl_shell *shell)
{
    *shell = ((const struct fake *)user)->shell;
}

static inline enum hf_code fake_order(void *user, const struct hf_event *ev, uint64_t cookie,
                                      struct hf_err *err)
{
    struct fake *fake = (struct fake *)user;

    (void)err;
    fake->orders_count++;
    fake->held = *ev;
    fake->held_cookie = cookie;
    if (!fake->holds_orders) {
        fake_step(&fake->held);
        ctl_server_applied(fake->server, cookie, fake->engine, &fake->held, &fake->out,
                           fake->when.boot);
    }
    return HF_OK;
}

static inline enum hf_code fake_blob(void *user, const void *bytes, size_t len,
                                     const struct hf_digest *digest, struct hf_err *err)
{
    struct fake *fake = (struct fake *)user;

    (void)bytes;
    (void)err;
    fake->blobs_count++;
    fake->blob_len = len;
    fake->blob = *digest;
    return HF_OK;
}

static inline enum hf_code fake_test(void *user, hf_node target, uint8_t level, uint64_t cookie,
                                     struct hf_err *err)
{
    struct fake *fake = (struct fake *)user;

    fake->tests_count++;
    fake->test_cookie = cookie;
    fake->test_node = target;
    fake->test_level = level;
    if (fake->test_code != HF_OK)
        return hf_err_set(err, fake->test_code, "the fence runner is not connected on this node");
    return HF_OK;
}

static inline void fake_tested(enum hf_path found, uint32_t took_ms, const char *why)
{
    struct hf_report report = {.kind = HF_REPORT_TESTED};

    report.u.tested.found = found;
    report.u.tested.took_ms = took_ms;
    (void)hf_str_copy(report.u.tested.why, sizeof report.u.tested.why, why);
    ctl_server_tested(f.server, f.test_cookie, &report, f.when.boot);
}

static inline enum hf_code fake_failback(void *user, hf_vm_uid uid, hf_fabric to, uint64_t cookie,
                                         struct hf_err *err)
{
    struct fake *fake = (struct fake *)user;

    fake->flip_cookie = cookie;
    fake->flip_uid = uid;
    fake->flip_to = to;
    if (fake->flip_code != HF_OK)
        return hf_err_set(err, fake->flip_code, "nicbond is not connected on this node");
    return HF_OK;
}

static inline void fake_audit(void *user, const struct history_audit *what)
{
    struct fake *fake = (struct fake *)user;

    fake->audits_count++;
    history_audit(fake->history, fake->engine, what, &fake->when);
}

/* ---- life ---- */

static inline void fake_open(int listen_fd)
{
    struct ctl_ports ports = {.user = &f,
                              .watch = fake_watch,
                              .unwatch = fake_unwatch,
                              .look = fake_look,
                              .order = fake_order,
                              .put_blob = fake_blob,
                              .test = fake_test,
                              .failback = fake_failback,
                              .audit = fake_audit};
    struct hf_group group = a_group(3);
    struct hf_err err;

    memset(&f, 0, sizeof f);
    for (uint8_t n = 0; n < 3; n++) {
        group.nodes[n].has_watchdog = fake_watchdogs;
        group.nodes[n].fabrics = fake_fabrics ? 3 : 0;
        strcpy(fake_config.nics.pf[n][0], "ens1f0");
        strcpy(fake_config.nics.pf[n][1], "ens2f0");
    }
    if (fake_fabrics)
        f.shell.config = &fake_config;
    f.engine = (struct engine *)calloc(1, engine_size());
    f.history = (struct history *)calloc(1, history_size());
    ck_assert_ptr_nonnull(f.engine);
    ck_assert_ptr_nonnull(f.history);
    history_init(f.history, 77);
    ck_assert_int_eq(engine_init(f.engine, &group, &err), HF_OK);
    f.shell.engine = f.engine;
    f.shell.node = "n1";
    f.shell.group = "colo";
    f.shell.phase = CTL_PHASE_SYNCED;
    f.shell.participants = 7;
    f.shell.link.is_connected = f.shell.link.is_fit = true;
    f.shell.running_text = "group colo {\n}\n";
    f.shell.running_text_len = strlen(f.shell.running_text);
    fake_at(0);
    ck_assert_int_eq(ctl_server_open(&f.server, listen_fd, f.history, &ports, &err), HF_OK);
}

static inline void fake_close(void)
{
    ctl_server_close(f.server);
    ck_assert_uint_eq(f.fds_count, 0);
    free(f.engine);
    free(f.history);
}

/* One turn of the daemon's loop. */
static inline void fake_turn(int wait_ms)
{
    struct pollfd fds[FAKE_FDS_MAX];
    unsigned count = f.fds_count;

    memcpy(fds, f.fds, sizeof fds);
    (void)poll(fds, count, wait_ms);
    for (unsigned i = 0; i < count; i++)
        if (fds[i].revents != 0)
            ctl_server_ready(f.server, fds[i].fd, f.when.boot);
    ctl_server_news(f.server, f.when.boot);
    ctl_server_tick(f.server, f.when.boot);
}

#endif
