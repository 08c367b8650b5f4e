#include "supervisord/engine/internal.h"
#include "tests/unit/supervisord/ctl/fake_daemon.h"

#include <jansson.h>

#define GOLDEN "tests/unit/supervisord/ctl/picture.json"

enum { KEPT_MAX = 32 };
static char *text;
static json_t *kept[KEPT_MAX]; /* every document of the case, until its end */
static unsigned kept_count;

static json_t *keep(const struct hf_json *j)
{
    json_t *json = json_loadb(text, j->len, JSON_REJECT_DUPLICATES, NULL);

    ck_assert(hf_json_complete(j));
    ck_assert_ptr_nonnull(json);
    ck_assert_uint_lt(kept_count, KEPT_MAX);
    kept[kept_count++] = json;
    return json;
}

static json_t *picture(void)
{
    struct hf_json j = hf_json_on(text, PICTURE_BYTES_MAX);

    picture_status(&f.shell, f.history, &j);
    return keep(&j);
}

static json_t *why_of(const struct hf_ctl_request *request)
{
    struct hf_json j = hf_json_on(text, PICTURE_BYTES_MAX);

    ck_assert(picture_why(&f.shell, f.history, request, &j));
    return keep(&j);
}

static json_t *why(const char *name)
{
    struct hf_ctl_request request;

    memset(&request, 0, sizeof request);
    strcpy(request.node, name);
    strcpy(request.vm, name);
    return why_of(&request);
}

/* The text of the first need about `name` that holds `words`; its command must be `command`. */
static bool needs(const char *name, const char *severity, const char *words, const char *command)
{
    const json_t *doc = picture(), *need;
    size_t i;

    json_array_foreach(json_object_get(doc, "needs"), i, need)
    {
        const char *next = json_string_value(json_object_get(need, "command"));

        if (strcmp(json_string_value(json_object_get(need, "name")), name) == 0 &&
            strcmp(json_string_value(json_object_get(need, "severity")), severity) == 0 &&
            strstr(json_string_value(json_object_get(need, "text")), words) != NULL &&
            next != NULL && strcmp(next, command) == 0)
            return true;
    }
    fprintf(stderr, "%s\n", text);
    return false;
}

static size_t needs_count(void)
{
    return json_array_size(json_object_get(picture(), "needs"));
}

static void set_up(void)
{
    text = (char *)malloc(PICTURE_BYTES_MAX);
    ck_assert_ptr_nonnull(text);
    fake_open(-1);
    fake_group_up();
}

static void tear_down(void)
{
    while (kept_count > 0)
        json_decref(kept[--kept_count]);
    free(text);
    fake_close();
}

/* ---- the whole document ---- */

START_TEST(a_power_cut_looks_like_the_golden_picture)
{
    json_t *doc, *golden;

    fake_two_vms();
    fake_at(60);
    fake_host_gone(1);
    fake_at(63);
    f.shell.agent[HF_AGENT_HOST] = (struct ctl_agent){true, true, true, f.when.wall, ""};
    f.shell.room[HF_ROOM_RUN] =
        (struct ctl_room){"/run/holdfast", {800000, 700000, 200000, 199000, false}, {0}};
    f.shell.link.token_ms = 1000;
    strcpy(f.shell.link.version, "3.1.7");
    f.shell.file_path = "/etc/holdfast/holdfast.conf";
    doc = picture();
    json_object_del(json_object_get(doc, "daemon"), "version"); /* change with every release */
    json_object_del(json_object_get(doc, "group"), "ruleset");
    ck_assert_uint_eq(
        strlen(json_string_value(json_object_get(json_object_get(doc, "group"), "digest"))), 16);
    json_object_del(json_object_get(doc, "group"), "digest"); /* changes with every ruleset */
    golden = json_load_file(GOLDEN, 0, NULL);
    if (golden == NULL || json_equal(doc, golden) == 0) {
        (void)json_dumpf(doc, stderr, JSON_INDENT(1));
        json_decref(golden);
        ck_abort_msg("the picture above is not " GOLDEN);
    }
    json_decref(golden);
}
END_TEST

START_TEST(the_largest_group_fits)
{
    static char reason[HF_REASON_MAX + 1];

    for (unsigned i = 0; i < HF_VMS_MAX; i++) {
        char name[HF_NAME_MAX + 1];

        (void)snprintf(name, sizeof name, "%0*u", HF_NAME_MAX, i);
        fake_add_vm(name, true);
    }
    memset(reason, '\x01', sizeof reason - 1);
    strcpy(f.shell.journal_why, reason);
    f.shell.journal_broken = true;
    ck_assert_uint_eq(json_array_size(json_object_get(picture(), "vms")), HF_VMS_MAX);
}
END_TEST

START_TEST(without_a_state_the_picture_says_why)
{
    f.shell.engine = NULL;
    f.shell.phase = CTL_PHASE_APART;
    strcpy(f.shell.phase_why, "cpg_initialize: CS_ERR_LIBRARY");
    ck_assert(needs("colo", "error", "CS_ERR_LIBRARY", "systemctl status corosync"));
    f.shell.link.is_connected = false; /* the cause is told instead of the consequence */
    strcpy(f.shell.link.why, "cpg_initialize: CS_ERR_LIBRARY");
    ck_assert(needs("n1", "error", "CS_ERR_LIBRARY", "systemctl status corosync"));
    ck_assert_uint_eq(needs_count(), 1);
    ck_assert_uint_eq(json_array_size(json_object_get(picture(), "nodes")), 0);
    ck_assert(!json_is_true(json_object_get(json_object_get(picture(), "group"), "quorate")));
}
END_TEST

/* The README describes the JSON field by field: every key of the golden picture must be there. */
static void check_described(json_t *json, const char *readme)
{
    json_t *todo[64] = {json}; /* breadth first; the picture is 4 levels deep */
    unsigned count = 1;

    for (unsigned at = 0; at < count; at++) {
        json_t *value;
        const char *key;

        json_object_foreach(todo[at], key, value)
        {
            ck_assert_msg(strstr(readme, key) != NULL, "%s is not in the README", key);
            if (json_is_array(value))
                value = json_array_get(value, 0);
            if (json_is_object(value) && count < 64)
                todo[count++] = value;
        }
    }
}

START_TEST(every_field_is_described_in_the_readme)
{
    static char readme[65536];
    json_t *golden = json_load_file(GOLDEN, 0, NULL);
    FILE *file = fopen("supervisord/ctl/README.md", "r");

    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(golden);
    ck_assert_uint_gt(fread(readme, 1, sizeof readme - 1, file), 0);
    fclose(file);
    check_described(golden, readme);
    json_decref(golden);
}
END_TEST

/* ---- what needs a person ---- */

START_TEST(nothing_needs_anybody_when_all_is_well)
{
    fake_add_vm("trade1", true);
    ck_assert(fake_done(HF_FX_VM_START, HF_OUT_DONE));
    fake_add_vm("spare", false);
    ck_assert_uint_eq(needs_count(), 0);
}
END_TEST

START_TEST(every_phase_but_synced_is_told)
{
    f.shell.phase = (enum ctl_phase)_i;
    ck_assert_uint_eq(needs_count(), _i == CTL_PHASE_SYNCED ? 0 : 1);
}
END_TEST

START_TEST(a_disarmed_group_is_told)
{
    fake_order_step(HF_ORDER_DISARM, HF_NO_NODE, "");
    ck_assert(needs("colo", "warning", "disarmed", "holdfast arm"));
}
END_TEST

START_TEST(an_event_that_could_not_be_digested_is_told_until_armed_again)
{
    f.engine->skipped = 2;
    f.engine->skipped_seq = 77;
    ck_assert(needs("colo", "error", "skipped them, the newest at seq 77", "holdfast arm"));
    fake_order_step(HF_ORDER_DISARM, HF_NO_NODE, "");
    fake_order_step(HF_ORDER_ARM, HF_NO_NODE, "");
    ck_assert_uint_eq(needs_count(), 0);
}
END_TEST

START_TEST(a_node_that_cannot_be_fenced_asks_for_a_persons_word)
{
    fake_two_vms();
    fake_host_gone(1);
    ck_assert(needs("n2", "error", "being fenced", "holdfast why n2"));
    ck_assert(fake_done(HF_FX_FENCE, HF_OUT_GAVE_UP));
    ck_assert(needs("n2", "error", "1 fencing attempt failed",
                    "holdfast fence confirm n2 --reason TEXT"));
}
END_TEST

START_TEST(a_dead_node_asks_for_repair)
{
    fake_two_vms();
    fake_host_gone(1);
    ck_assert(fake_done(HF_FX_FENCE, HF_OUT_DONE));
    ck_assert(needs("n2", "error", "fence device reads off", "holdfast why n2"));
}
END_TEST

START_TEST(a_silent_daemon_is_told)
{
    f.member[2].present = false;
    fake_members();
    ck_assert(needs("n3", "error", "silent", "holdfast why n3"));
}
END_TEST

START_TEST(an_unplaceable_vm_names_the_rule_per_node)
{
    struct hf_vm_def huge = {.name = "huge",
                             .memory_mib = 1u << 20,
                             .xml_bytes = 1,
                             .preferred = HF_NO_NODE,
                             .restarts_max = 1};

    fake_add(&huge, true);
    ck_assert(needs("huge", "error",
                    "n1 rule 6: not enough memory; n2 rule 6: not enough memory; n3 rule 6",
                    "holdfast why huge"));
}
END_TEST

START_TEST(a_waiting_vm_names_the_node)
{
    fake_add_vm("a", true);
    ck_assert(fake_done(HF_FX_VM_START, HF_OUT_DONE));
    fake_host_gone(engine_vm(f.engine, engine_vm_by_name(f.engine, "a")).home.ix);
    ck_assert(needs("a", "error", "waits for proof that it does not run on n1", "holdfast why a"));
}
END_TEST

START_TEST(a_held_and_a_failed_vm_ask_to_be_started)
{
    struct hf_event ev;

    fake_add_vm("a", true);
    ck_assert(fake_done(HF_FX_VM_START, HF_OUT_DONE));
    memset(&ev, 0, sizeof ev);
    ev.type = HF_EV_VM;
    ev.from = engine_vm(f.engine, engine_vm_by_name(f.engine, "a")).home;
    ev.u.vm.uid = 1;
    ev.u.vm.start_no = 1;
    ev.u.vm.seen = HF_SEEN_SHUTDOWN;
    fake_step(&ev);
    ck_assert(needs("a", "warning", "held", "holdfast vm start a"));
}
END_TEST

START_TEST(what_a_node_reports_of_itself_is_told)
{
    struct hf_event ev;

    memset(&ev, 0, sizeof ev);
    ev.type = HF_EV_FACTS;
    ev.from = (hf_node){1};
    ev.u.facts.memory_mib = 65536;
    fake_step(&ev);
    ck_assert(needs("n2", "error", "VM monitor", "systemctl status holdfast-agent@vm libvirtd"));
    ck_assert(needs("n2", "error", "unfit link", "holdfast status"));
    ck_assert(needs("n2", "warning", "not the running configuration", "holdfast config show"));
}
END_TEST

START_TEST(this_node_is_told_about_once)
{
    struct hf_event ev;

    memset(&ev, 0, sizeof ev);
    ev.type = HF_EV_FACTS;
    ev.from = (hf_node){0}; /* n1, the node that shows the picture */
    ev.u.facts.memory_mib = 65536;
    ev.u.facts.vm_watch_known = true;
    fake_step(&ev);
    f.shell.link.is_fit = false;
    f.shell.file_differs = true;
    ck_assert_uint_eq(needs_count(), 2);
}
END_TEST

START_TEST(this_nodes_own_daemons_are_told)
{
    f.shell.agent[HF_AGENT_VM].is_expected = true;
    ck_assert(needs("n1", "error", "vm agent not connected", "systemctl status holdfast-agent@vm"));
    f.shell.agent[HF_AGENT_VM].is_connected = true;
    ck_assert(needs("n1", "error", "vm agent stale", "systemctl status holdfast-agent@vm"));
    f.shell.agent[HF_AGENT_VM].is_fresh = true;
    ck_assert_uint_eq(needs_count(), 0);
    f.shell.agent[HF_AGENT_FENCE].is_expected = true;
    ck_assert(needs("n1", "error", "fence agent", "systemctl status holdfast-fencer"));
    f.shell.agent[HF_AGENT_FENCE].is_expected = false;
    f.shell.link.is_fit = false;
    strcpy(f.shell.link.why, "no encryption");
    ck_assert(needs("n1", "error", "no encryption", "holdfast config check"));
    f.shell.link.is_connected = false;
    ck_assert(needs("n1", "error", "no connection", "systemctl status corosync"));
    f.shell.link = (struct ctl_link){.is_connected = true, .is_fit = true, .notes_count = 2};
    f.shell.link.notes[0] = (struct ctl_link_note){false, "network link 1 to n2 is down"};
    f.shell.link.notes[1] = (struct ctl_link_note){true, "corosync waits"};
    ck_assert(needs("n1", "warning", "network link 1 to n2 is down", "holdfast config check"));
    ck_assert(needs("n1", "error", "corosync waits", "holdfast config check"));
    ck_assert_uint_eq(needs_count(), 2);
    f.shell.link.notes_count = 0;
    f.shell.room[HF_ROOM_SHM] =
        (struct ctl_room){"/dev/shm", {1 << 20, 60, 5000, 4990, false}, {0}};
    ck_assert_uint_eq(needs_count(), 0);
    f.shell.room[HF_ROOM_SHM].room.is_low = true;
    ck_assert(needs("n1", "warning", "/dev/shm is nearly full, 60 of 1048576 KiB",
                    "du -xak /dev/shm | sort -n | tail"));
    f.shell.room[HF_ROOM_SHM].room.kib_free = 0;
    ck_assert(
        needs("n1", "error", "no connection to corosync", "du -xak /dev/shm | sort -n | tail"));
    f.shell.room[HF_ROOM_SHM].room.is_low = false;
    ck_assert_uint_eq(needs_count(), 0);
    f.shell.journal_broken = true;
    f.shell.journal_lost = 3;
    ck_assert(needs("n1", "error", "3 records lost", "df /var/lib/holdfast"));
    f.shell.journal_broken = false;
    f.shell.file_differs = true;
    ck_assert(needs("n1", "warning", "not the running", "holdfast config show --file"));
    f.shell.file_bad = true;
    strcpy(f.shell.file_why, "x.conf:3:1: unknown key");
    ck_assert(
        needs("n1", "warning", "unknown key", "holdfast config check /etc/holdfast/holdfast.conf"));
    f.shell.file_bad = f.shell.file_differs = false;
    f.shell.ghosts = 1;
    ck_assert(needs("colo", "warning", "1 member", "corosync-cpgtool"));
}
END_TEST

START_TEST(errors_come_before_warnings)
{
    const json_t *list;

    f.shell.ghosts = 1;
    fake_host_gone(1);
    list = json_object_get(picture(), "needs");
    ck_assert_uint_eq(json_array_size(list), 2);
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(list, 0), "severity")),
                     "error");
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(list, 1), "severity")),
                     "warning");
}
END_TEST

/* ---- how a node could be proved dead ---- */

static void set_up_watchdogs(void)
{
    tear_down();
    fake_watchdogs = true;
    set_up();
}

static json_t *node_of(const char *name)
{
    json_t *node;
    size_t i;

    json_array_foreach(json_object_get(picture(), "nodes"), i, node)
    {
        if (strcmp(json_string_value(json_object_get(node, "name")), name) == 0)
            return node;
    }
    ck_abort_msg("no node %s", name);
    return NULL;
}

START_TEST(an_armed_watchdog_tells_its_driver_and_how_long_it_takes)
{
    const json_t *watchdog;

    set_up_watchdogs();
    fake_attest(1, HF_WD_ARMED);
    watchdog = json_object_get(node_of("n2"), "watchdog");
    ck_assert_str_eq(json_string_value(json_object_get(watchdog, "state")), "armed");
    ck_assert_str_eq(json_string_value(json_object_get(watchdog, "driver")), "iTCO_wdt");
    ck_assert_int_eq(json_integer_value(json_object_get(watchdog, "safe_ms")),
                     (3000 + 2 * 5000) * 101 / 100 + 1000);
    ck_assert(!json_is_true(json_object_get(watchdog, "safe_time_runs")));
    ck_assert_uint_eq(needs_count(), 0);
}
END_TEST

START_TEST(a_watchdog_that_is_wanted_and_not_armed_is_told)
{
    set_up_watchdogs();
    f.shell.watchdog_why = "/dev/watchdog0 is held by systemd (pid 1)";
    ck_assert_uint_eq(needs_count(), 0); /* nothing runs anywhere */
    fake_two_vms();                      /* on n1 and n2, and no feeder has spoken */
    ck_assert(needs("n2", "warning", "its watchdog is unknown though VMs may be there",
                    "systemctl status holdfast-feeder"));
    fake_attest(0, HF_WD_BUSY);
    ck_assert(needs("n1", "warning", "death: /dev/watchdog0 is held by systemd (pid 1)",
                    "systemctl status holdfast-feeder"));
    fake_attest(0, HF_WD_ARMED);
    fake_attest(1, HF_WD_ARMED);
    ck_assert_uint_eq(needs_count(), 0);
    fake_attest(2, HF_WD_SOFT); /* nothing there, but it could not be armed either */
    ck_assert(needs("n3", "warning", "its watchdog is only software, so",
                    "systemctl status holdfast-feeder"));
}
END_TEST

START_TEST(a_fence_level_that_fails_its_test_names_the_device_and_what_it_said)
{
    static struct hf_config config;
    const json_t *path;

    config.fence[1].levels_count = 1;
    config.fence[1].level[0].devices_count = 2;
    config.fence[1].level[0].device[1] = 1;
    strcpy(config.devices[0].name, "pdu-a-n2");
    strcpy(config.devices[1].name, "pdu-b-n2");
    f.shell.config = &config;
    f.shell.path[1][0] = (struct ctl_path){f.when.boot, 1234, "pdu-b-n2: login refused"};
    fake_path(1, 0, HF_PATH_DENIED, 0);
    fake_at(7);
    ck_assert(needs("n2", "error",
                    "fence level 1 (pdu-a-n2, pdu-b-n2) would not work now: denied: pdu-b-n2: "
                    "login refused",
                    "holdfast fence test n2"));
    ck_assert(needs("n2", "error", "cannot be fenced", "holdfast fence test n2"));
    path = json_array_get(json_object_get(node_of("n2"), "fence_paths"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(path, "path")), "denied");
    ck_assert_int_eq(json_integer_value(json_object_get(path, "took_ms")), 1234);
    ck_assert_int_eq(json_integer_value(json_object_get(path, "tested_ms")), 7000);
    ck_assert_uint_eq(json_array_size(json_object_get(path, "devices")), 2);
    fake_path(1, 0, HF_PATH_OK, 103); /* n3's */
    ck_assert(needs("n2", "error", "would switch off another host", "holdfast fence test n2"));
    fake_path(1, 0, HF_PATH_OK, 102);
    ck_assert_uint_eq(needs_count(), 0);
}
END_TEST

START_TEST(with_a_watchdog_a_failed_level_is_a_warning)
{
    set_up_watchdogs();
    fake_attest(1, HF_WD_ARMED);
    fake_path(1, 0, HF_PATH_UNREACHABLE, 0);
    ck_assert(needs("n2", "warning", "fence level 1 would not work now: unreachable",
                    "holdfast fence test n2"));
    ck_assert(json_is_true(json_object_get(node_of("n2"), "can_be_fenced")));
    ck_assert_uint_eq(needs_count(), 1);
}
END_TEST

START_TEST(a_lost_node_whose_watchdog_time_runs_says_so)
{
    set_up_watchdogs();
    fake_two_vms();
    fake_attest(0, HF_WD_ARMED);
    fake_attest(1, HF_WD_ARMED);
    fake_host_gone(1);
    ck_assert(needs("n2", "error",
                    "being fenced: level 1 by n1; its watchdog proves it 14.1 s after the loss",
                    "holdfast why n2"));
    ck_assert(json_is_true(
        json_object_get(json_object_get(node_of("n2"), "watchdog"), "safe_time_runs")));
    ck_assert(fake_done(HF_FX_FENCE, HF_OUT_GAVE_UP));
    ck_assert(
        needs("n2", "error", "not proved dead yet: 1 fencing attempt failed", "holdfast why n2"));
}
END_TEST

START_TEST(an_announced_absence_is_told_and_louder_when_it_ends)
{
    struct hf_event ev;
    const json_t *hold;

    memset(&ev, 0, sizeof ev);
    ev.type = HF_EV_ORDER;
    ev.u.order.type = HF_ORDER_HOLD;
    ev.u.order.node = (hf_node){1};
    ev.u.order.ms = 50000;
    ck_assert(fake_step(&ev)->applied);
    ck_assert_uint_eq(needs_count(), 0); /* it is still here */
    f.member[1].present = false;
    fake_members();
    fake_at(10);
    ck_assert(needs("n2", "warning", "for another 40 s", "systemctl status holdfastd corosync"));
    hold = json_object_get(node_of("n2"), "hold");
    ck_assert_int_eq(json_integer_value(json_object_get(hold, "left_ms")), 40000);
    fake_at(25);
    ck_assert(needs("n2", "error", "the hold ends in 25 s", "systemctl status holdfastd corosync"));
    ck_assert_uint_eq(needs_count(), 1);
}
END_TEST

/* ---- NICs and legs ---- */

static void set_up_fabrics(void)
{
    tear_down();
    fake_fabrics = true;
    set_up();
    fake_nics_up();
}

static json_t *fabric_of(const char *node, unsigned ix)
{
    return json_array_get(json_object_get(node_of(node), "fabrics"), ix);
}

static json_t *vm_of(const char *name)
{
    json_t *vm;
    size_t i;

    json_array_foreach(json_object_get(picture(), "vms"), i, vm)
    {
        if (strcmp(json_string_value(json_object_get(vm, "name")), name) == 0)
            return vm;
    }
    ck_abort_msg("no vm %s", name);
    return NULL;
}

static const char *string_of(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value != NULL ? value : "";
}

START_TEST(a_dead_nic_is_told_with_its_cause_and_what_to_type)
{
    set_up_fabrics();
    fake_vm_with_legs("a");
    ck_assert_uint_eq(needs_count(), 0);
    fake_at(5);
    fake_nics(0, HF_PF_UP, HF_NIC_NONE, HF_PF_DOWN, HF_NIC_CARRIER);
    fake_at(65);
    ck_assert(needs("n1", "error",
                    "fabric b (ens2f0) down: it has no carrier; its VMs go by their other leg",
                    "ethtool -m ens2f0; ethtool ens2f0"));
    ck_assert_uint_eq(needs_count(), 1); /* not once more for each of its VMs */
    ck_assert_str_eq(string_of(fabric_of("n1", 1), "state"), "down");
    ck_assert_str_eq(string_of(fabric_of("n1", 1), "cause"), "carrier");
    ck_assert_int_eq(json_integer_value(json_object_get(fabric_of("n1", 1), "since_ms")), 60000);
    ck_assert_str_eq(string_of(fabric_of("n1", 0), "state"), "up");
    ck_assert(json_is_true(json_object_get(vm_of("a"), "degraded")));
    fake_nics(0, HF_PF_UP, HF_NIC_NONE, HF_PF_DOWN, HF_NIC_AER_FAILED);
    ck_assert(needs("n1", "error", "did not recover from a PCIe error", "journalctl -k -g ens2f0"));
    fake_nics(0, HF_PF_UP, HF_NIC_NONE, HF_PF_DOWN, HF_NIC_ADMIN);
    ck_assert(needs("n1", "error", "switched off on this host", "ip link set dev ens2f0 up"));
    fake_nics(0, HF_PF_UP, HF_NIC_NONE, HF_PF_DOWN, HF_NIC_BFD);
    ck_assert(needs("n1", "error", "nobody answers through it", "holdfast why n1:b"));
    fake_nics(0, HF_PF_UP, HF_NIC_NONE, HF_PF_ABSENT, HF_NIC_NONE);
    ck_assert(needs("n1", "error", "fabric b (ens2f0) absent: there is no such device",
                    "holdfast config check"));
    fake_nics(0, HF_PF_UP, HF_NIC_NONE, HF_PF_SUSPECT, HF_NIC_VF_DRIVER);
    ck_assert(needs("n1", "warning", "suspect: one of its VFs has no driver; it still carries",
                    "holdfast config check"));
    fake_nics(0, HF_PF_UP, HF_NIC_NONE, HF_PF_HOLD, HF_NIC_RETURNING);
    ck_assert_uint_eq(needs_count(), 0); /* it is over by itself */
    fake_nics(0, HF_PF_UP, HF_NIC_NONE, HF_PF_HOLD, HF_NIC_FLAPPING);
    ck_assert(needs("n1", "warning", "fabric b (ens2f0) flaps", "holdfast why n1:b"));
}
END_TEST

START_TEST(every_cause_has_something_to_type)
{
    const json_t *need;

    set_up_fabrics();
    fake_nics(0, HF_PF_UP, HF_NIC_NONE, HF_PF_DOWN, (enum hf_nic_cause)_i);
    need = json_array_get(json_object_get(picture(), "needs"), 0);
    ck_assert_uint_gt(strlen(string_of(need, "command")), 10);
    ck_assert_str_eq(string_of(need, "fabric"), "b");
}
END_TEST

START_TEST(a_vm_without_any_leg_is_told)
{
    set_up_fabrics();
    fake_vm_with_legs("a");
    fake_nics(0, HF_PF_DOWN, HF_NIC_CARRIER, HF_PF_DOWN, HF_NIC_CARRIER);
    ck_assert(needs("a", "error",
                    "cut off: no leg of it carries on n1: no leg of it carries here, it is moved "
                    "unless one comes back",
                    "holdfast why a"));
    ck_assert_str_eq(string_of(json_object_get(vm_of("a"), "legs"), "why"), "no-leg");
    for (uint8_t n = 1; n < 3; n++)
        fake_nics(n, HF_PF_DOWN, HF_NIC_CARRIER, HF_PF_DOWN, HF_NIC_CARRIER);
    ck_assert(
        needs("a", "error", "no other node sees its fabrics either, it stays", "holdfast why a"));
}
END_TEST

START_TEST(a_leg_that_is_dead_alone_is_told)
{
    json_t *legs;

    set_up_fabrics();
    fake_vm_with_legs("a");
    fake_legs("a", 1, 0);
    ck_assert(needs("a", "warning",
                    "at risk: its leg b carries nothing though the NIC of n1 does: its driver, its "
                    "address or the guest",
                    "holdfast why a"));
    legs = json_object_get(vm_of("a"), "legs");
    ck_assert_uint_eq(json_array_size(json_object_get(legs, "needs")), 2);
    ck_assert_uint_eq(json_array_size(json_object_get(legs, "has")), 2);
    ck_assert_uint_eq(json_array_size(json_object_get(legs, "up")), 1);
    ck_assert_uint_eq(json_array_size(json_object_get(legs, "dead")), 1);
    ck_assert_str_eq(string_of(legs, "active"), "a");
    ck_assert(json_is_null(json_object_get(legs, "helper"))); /* its nicbond told nothing here */
    fake_legs("a", 3, HF_FABRICS_MAX);
    ck_assert(json_is_null(json_object_get(json_object_get(vm_of("a"), "legs"), "active")));
    ck_assert_uint_eq(needs_count(), 0);
}
END_TEST

START_TEST(a_node_whose_nicbond_is_not_there_is_told)
{
    set_up_fabrics();
    fake_nics(1, HF_PF_UNKNOWN, HF_NIC_NONE, HF_PF_UNKNOWN, HF_NIC_NONE);
    ck_assert(needs("n2", "warning", "nobody tells what its NICs are worth",
                    "systemctl status holdfast-nicbond"));
    ck_assert_uint_eq(needs_count(), 1);
    /* Of this node the agent's own entry tells it. */
    fake_nics(1, HF_PF_UP, HF_NIC_NONE, HF_PF_UP, HF_NIC_NONE);
    fake_nics(0, HF_PF_UNKNOWN, HF_NIC_NONE, HF_PF_UNKNOWN, HF_NIC_NONE);
    f.shell.agent[HF_AGENT_NIC].is_expected = true;
    ck_assert(needs("n1", "error", "nic agent not connected", "systemctl status holdfast-nicbond"));
    ck_assert_uint_eq(needs_count(), 1);
}
END_TEST

START_TEST(what_this_nodes_nicbond_told_is_shown)
{
    static struct hf_vm_legs legs = {.has = 3, .up = 3, .active = 1, .has_helper = true};
    const json_t *pf, *entry;

    set_up_fabrics();
    fake_vm_with_legs("a");
    fake_legs("a", 3, 1);
    f.shell.nics.is_told = true;
    f.shell.nics.count = 2;
    f.shell.nics.pf[1] = (struct hf_pf_facts){.state = HF_PF_UP,
                                              .name = "ens2f0np0",
                                              .driver = "sfc",
                                              .numa_node = -1,
                                              .vfs = 8,
                                              .bfd_peers = 2,
                                              .bfd_up = 1,
                                              .carrier_downs = 5000000000ull,
                                              .hold_ms = 9};
    legs.uid = 1;
    legs.start_no = engine_vm(f.engine, engine_vm_by_name(f.engine, "a")).running_no;
    legs.kind[0] = legs.kind[1] = HF_LEG_VF;
    f.shell.nics.legs = &legs;
    f.shell.nics.legs_count = 1;
    pf = json_object_get(fabric_of("n1", 1), "pf");
    ck_assert_str_eq(string_of(pf, "name"), "ens2f0np0");
    ck_assert_str_eq(string_of(pf, "driver"), "sfc");
    ck_assert(json_is_null(json_object_get(pf, "serial")));
    ck_assert(json_is_null(json_object_get(pf, "numa_node")));
    ck_assert_int_eq(json_integer_value(json_object_get(pf, "carrier_downs")), 5000000000ll);
    ck_assert_int_eq(json_integer_value(json_object_get(pf, "hold_ms")), 0); /* it is not held */
    ck_assert(json_is_null(json_object_get(fabric_of("n2", 1), "pf")));
    entry = json_object_get(vm_of("a"), "legs");
    ck_assert(json_is_true(json_object_get(entry, "helper")));
    ck_assert_str_eq(string_of(json_object_get(entry, "kinds"), "b"), "VF");
    legs.start_no++; /* of another start: nothing is known */
    entry = json_object_get(vm_of("a"), "legs");
    ck_assert(json_is_null(json_object_get(entry, "helper")));
    /* Commands take the interface's own name. */
    fake_nics(0, HF_PF_UP, HF_NIC_NONE, HF_PF_DOWN, HF_NIC_ADMIN);
    ck_assert(needs("n1", "error", "fabric b (ens2f0) down", "ip link set dev ens2f0np0 up"));
}
END_TEST

START_TEST(a_guests_bond_that_is_set_up_badly_is_told)
{
    static struct hf_vm_legs legs = {.uid = 1, .has = 3, .up = 3, .has_helper = true};
    const json_t *bond;

    set_up_fabrics();
    fake_vm_with_legs("a");
    fake_legs("a", 3, 0);
    legs.start_no = engine_vm(f.engine, engine_vm_by_name(f.engine, "a")).running_no;
    f.shell.nics.legs = &legs;
    f.shell.nics.legs_count = 1;
    ck_assert_uint_eq(needs_count(), 0);
    legs.bond_faults = HF_BOND_RESELECTS;
    ck_assert(needs("a", "warning",
                    "primary_reselect=always: when the card is repaired it goes back",
                    "in the guest: ip link set BOND type bond primary_reselect failure"));
    legs.bond_faults = HF_BOND_RESELECTS | HF_BOND_SLOW;
    ck_assert_uint_eq(needs_count(), 2);
    bond = json_object_get(json_object_get(vm_of("a"), "legs"), "bond");
    ck_assert_uint_eq(json_array_size(bond), 2);
    ck_assert_str_eq(json_string_value(json_array_get(bond, 0)), "reselects");
    legs.bond_faults = HF_BOND_MODE;
    ck_assert(needs("a", "warning", "not in mode active-backup", "holdfast nics"));
}
END_TEST

START_TEST(the_last_flips_are_shown)
{
    struct hf_flip flip;
    const json_t *flips;

    set_up_fabrics();
    fake_vm_with_legs("a");
    flip = fake_flip("a");
    for (unsigned i = 0; i < 20; i++) {
        flip.epoch = i;
        history_flip(f.history, f.engine, (hf_node){1}, &flip, &f.when);
    }
    flips = json_object_get(picture(), "flips");
    ck_assert_uint_eq(json_array_size(flips), 12);
    ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(flips, 0), "epoch")), 8);
    ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(flips, 11), "epoch")), 19);
    ck_assert_str_eq(string_of(json_array_get(flips, 0), "name"), "a");
    ck_assert_str_eq(string_of(json_array_get(flips, 0), "node"), "n2");
}
END_TEST

START_TEST(the_trail_of_a_nic_is_its_own)
{
    struct hf_ctl_request request;
    struct hf_flip flip;
    const json_t *doc, *trail;
    struct hf_json j;

    set_up_fabrics();
    fake_vm_with_legs("a");
    fake_nics(0, HF_PF_DOWN, HF_NIC_CARRIER, HF_PF_UP, HF_NIC_NONE);
    fake_nics(1, HF_PF_UP, HF_NIC_NONE, HF_PF_DOWN, HF_NIC_CARRIER);
    flip = fake_flip("a");
    history_flip(f.history, f.engine, (hf_node){0}, &flip, &f.when);
    history_flip(f.history, f.engine, (hf_node){1}, &flip, &f.when);
    memset(&request, 0, sizeof request);
    strcpy(request.node, "n1");
    request.is_nic = true;
    doc = why_of(&request);
    ck_assert_str_eq(string_of(doc, "subject"), "nic");
    ck_assert_str_eq(string_of(doc, "node"), "n1");
    ck_assert_str_eq(string_of(json_object_get(doc, "entry"), "state"), "down");
    trail = json_object_get(doc, "trail");
    ck_assert_uint_eq(json_array_size(trail), 3); /* up, down, flip */
    ck_assert_str_eq(string_of(json_array_get(trail, 0), "why"), "pf-up");
    ck_assert_str_eq(string_of(json_array_get(trail, 1), "why"), "pf-down");
    ck_assert_str_eq(string_of(json_array_get(trail, 2), "kind"), "flip");
    ck_assert_uint_eq(json_array_size(json_object_get(doc, "needs")), 1);
    /* By the name of an interface: this node's comes first. */
    doc = why("ens1f0");
    ck_assert_str_eq(string_of(doc, "node"), "n1");
    ck_assert_str_eq(string_of(json_object_get(doc, "entry"), "fabric"), "a");
    /* Another node's only if there is no doubt. */
    strcpy(fake_config.nics.pf[1][0], "eno7");
    ck_assert_str_eq(string_of(why("eno7"), "node"), "n2");
    strcpy(fake_config.nics.pf[2][0], "eno7");
    request.is_nic = false;
    strcpy(request.node, "eno7");
    j = hf_json_on(text, PICTURE_BYTES_MAX);
    ck_assert(!picture_why(&f.shell, f.history, &request, &j));
}
END_TEST

START_TEST(a_nic_that_nobody_named_is_none)
{
    struct hf_json j = hf_json_on(text, PICTURE_BYTES_MAX);
    struct hf_ctl_request request;

    memset(&request, 0, sizeof request);
    strcpy(request.node, "n1");
    request.is_nic = true;
    ck_assert(!picture_why(&f.shell, f.history, &request, &j));
    ck_assert_uint_eq(j.len, 0);
}
END_TEST

/* ---- why ---- */

START_TEST(the_trail_of_a_vm_tells_of_its_lost_node)
{
    const json_t *doc, *trail, *event;
    bool saw_node = false, saw_other = false;
    size_t i;

    fake_two_vms();
    fake_host_gone(engine_vm(f.engine, engine_vm_by_name(f.engine, "a")).home.ix);
    doc = why("a");
    trail = json_object_get(doc, "trail");
    json_array_foreach(trail, i, event)
    {
        saw_node |= strcmp(json_string_value(json_object_get(event, "name")), "n1") == 0;
        saw_other |= strcmp(json_string_value(json_object_get(event, "name")), "b") == 0;
    }
    ck_assert(saw_node);
    ck_assert(!saw_other);
    ck_assert(json_is_integer(json_object_get(doc, "incident")));
    ck_assert_uint_eq(json_array_size(json_object_get(json_object_get(doc, "placement"), "nodes")),
                      3);
    ck_assert_uint_eq(json_array_size(json_object_get(doc, "needs")), 1);
}
END_TEST

START_TEST(a_phase_names_the_node_that_acts)
{
    const struct history_record *record;
    struct hf_node_view node;

    fake_two_vms();
    fake_host_gone(1);
    node = engine_node(f.engine, (hf_node){1});
    history_progress(f.history, f.engine, HF_SUBJECT_NODE, (hf_node){1}, 0, node.fence_token,
                     HF_PROGRESS_FENCE_RUNNING, 7, &f.when);
    record = history_at(f.history, history_newest(f.history));
    ck_assert_str_eq(record->name, "n2");
    ck_assert_str_eq(record->node, "n1");
    node.fence_token.nth++; /* an order of yesterday */
    history_progress(f.history, f.engine, HF_SUBJECT_NODE, (hf_node){1}, 0, node.fence_token,
                     HF_PROGRESS_FENCE_RUNNING, 7, &f.when);
    ck_assert_str_eq(history_at(f.history, history_newest(f.history))->node, "");
    ck_assert(fake_done(HF_FX_FENCE, HF_OUT_DONE));
    history_progress(f.history, f.engine, HF_SUBJECT_VM, HF_NO_NODE, 2,
                     engine_vm(f.engine, engine_vm_by_uid(f.engine, 2)).order,
                     HF_PROGRESS_QEMU_RUNNING, 8, &f.when);
    record = history_at(f.history, history_newest(f.history));
    ck_assert_str_eq(record->name, "b");
    ck_assert_str_eq(record->node, "n3");
}
END_TEST

START_TEST(the_trail_is_bounded_and_keeps_the_newest)
{
    const json_t *trail;

    for (unsigned i = 0; i < 3 * PICTURE_TRAIL_MAX; i++)
        history_note(f.history, f.engine, "n1", "a word", &f.when);
    trail = json_object_get(why("n1"), "trail");
    ck_assert_uint_eq(json_array_size(trail), PICTURE_TRAIL_MAX);
    ck_assert_uint_eq((uint64_t)json_integer_value(
                          json_object_get(json_array_get(trail, PICTURE_TRAIL_MAX - 1), "seq")),
                      history_newest(f.history));
}
END_TEST

HF_TEST_MAIN_WITH(
    "ctl/picture", set_up, tear_down, HF_CASE(a_power_cut_looks_like_the_golden_picture),
    HF_CASE(every_field_is_described_in_the_readme), HF_CASE(the_largest_group_fits),
    HF_CASE(without_a_state_the_picture_says_why), HF_CASE(nothing_needs_anybody_when_all_is_well),
    HF_LOOP(every_phase_but_synced_is_told, 0, CTL_PHASES), HF_CASE(a_disarmed_group_is_told),
    HF_CASE(an_event_that_could_not_be_digested_is_told_until_armed_again),
    HF_CASE(a_node_that_cannot_be_fenced_asks_for_a_persons_word),
    HF_CASE(a_dead_node_asks_for_repair), HF_CASE(a_silent_daemon_is_told),
    HF_CASE(an_unplaceable_vm_names_the_rule_per_node), HF_CASE(a_waiting_vm_names_the_node),
    HF_CASE(a_held_and_a_failed_vm_ask_to_be_started),
    HF_CASE(what_a_node_reports_of_itself_is_told), HF_CASE(this_node_is_told_about_once),
    HF_CASE(this_nodes_own_daemons_are_told),
    HF_CASE(an_armed_watchdog_tells_its_driver_and_how_long_it_takes),
    HF_CASE(a_watchdog_that_is_wanted_and_not_armed_is_told),
    HF_CASE(a_fence_level_that_fails_its_test_names_the_device_and_what_it_said),
    HF_CASE(with_a_watchdog_a_failed_level_is_a_warning),
    HF_CASE(a_lost_node_whose_watchdog_time_runs_says_so),
    HF_CASE(an_announced_absence_is_told_and_louder_when_it_ends),
    HF_CASE(a_dead_nic_is_told_with_its_cause_and_what_to_type),
    HF_LOOP(every_cause_has_something_to_type, 0, HF_NIC_CAUSES),
    HF_CASE(a_vm_without_any_leg_is_told), HF_CASE(a_leg_that_is_dead_alone_is_told),
    HF_CASE(a_node_whose_nicbond_is_not_there_is_told),
    HF_CASE(what_this_nodes_nicbond_told_is_shown), HF_CASE(the_last_flips_are_shown),
    HF_CASE(a_guests_bond_that_is_set_up_badly_is_told), HF_CASE(the_trail_of_a_nic_is_its_own),
    HF_CASE(a_nic_that_nobody_named_is_none), HF_CASE(errors_come_before_warnings),
    HF_CASE(the_trail_of_a_vm_tells_of_its_lost_node), HF_CASE(a_phase_names_the_node_that_acts),
    HF_CASE(the_trail_is_bounded_and_keeps_the_newest))
