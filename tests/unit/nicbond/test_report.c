#include "nicbond/report.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nicbond/legs.h"
#include "tests/fakes/agent_rig.h"
#include "tests/unit/check.h"

/* The report thread between a daemon (the rig) and a hot loop (the test). */
static struct agent_rig rig;
static struct report *report;
static int note_fd[2];
static char run[128], root[128];

static void make(const char *path)
{
    char command[512];

    (void)snprintf(command, sizeof command, "mkdir -p %s/%s", root, path);
    ck_assert_int_eq(system(command), 0);
}

static void setup(void)
{
    static char *const pf[] = {"pfa", "pfb"};
    char path[256];
    struct report_setup conf = {.reload_fd = -1,
                                .root = root,
                                .run = run,
                                .state = run,
                                .program = "/bin/false",
                                .virt = "/bin/false",
                                .uri = "x",
                                .wanted = {pf[0], pf[1]}};
    struct agent_setup agent;
    struct hf_err err;

    legs_init();
    rig_open(&rig);
    (void)snprintf(run, sizeof run, "%s/run", rig.folder);
    (void)snprintf(root, sizeof root, "%s/root", rig.folder);
    ck_assert_int_eq(mkdir(run, 0700), 0);
    for (unsigned f = 0; f < 2; f++) {
        FILE *file;

        (void)snprintf(path, sizeof path, "sys/class/net/br%c/lower_%s", 'a' + (int)f, pf[f]);
        make(path);
        (void)snprintf(path, sizeof path, "sys/class/net/%s", pf[f]);
        make(path);
        (void)snprintf(path, sizeof path, "%s/sys/class/net/%s/ifindex", root, pf[f]);
        file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        ck_assert_int_gt(fprintf(file, "%u\n", f + 3), 0);
        ck_assert_int_eq(fclose(file), 0);
        (void)snprintf(path, sizeof path, "sys/class/net/vnet%c/statistics", 'a' + (int)f);
        make(path);
        (void)snprintf(path, sizeof path, "ln -s ../br%c %s/sys/class/net/vnet%c/master",
                       'a' + (int)f, root, 'a' + (int)f);
        ck_assert_int_eq(system(path), 0);
    }
    ck_assert_int_eq(note_open(note_fd, &err), HF_OK);
    conf.note_fd = note_fd[1];
    report = calloc(1, sizeof *report);
    ck_assert_ptr_nonnull(report);
    report_init(report, &conf);
    agent = rig_setup(&rig, HF_AGENT_NIC, &report_calls, report);
    ck_assert_int_eq(agent_open(&rig.agent, &agent, &err), HF_OK);
    ck_assert_int_eq(report_open(report, rig.agent, &err), HF_OK);
    rig_run(&rig, HF_AGENT_NIC);
}

static void teardown(void)
{
    char command[256];

    rig_stop(&rig);
    free(report);
    (void)snprintf(command, sizeof command, "rm -rf %s/run %s/root", rig.folder, rig.folder);
    ck_assert_int_eq(system(command), 0);
    rig_close(&rig);
}

/* The next note of this kind to the hot loop. */
static struct note await(enum note_kind kind)
{
    struct pollfd wait = {.fd = note_fd[0], .events = POLLIN};
    struct note note = {0};

    while (note.kind != kind) {
        ck_assert_int_eq(poll(&wait, 1, RIG_WAIT_MS), 1);
        ck_assert(note_take(note_fd[0], &note));
    }
    return note;
}

static void put(const char *name, const char *text)
{
    char path[256], before[256];
    FILE *file;

    (void)snprintf(before, sizeof before, "%s/%s.new", run, name);
    (void)snprintf(path, sizeof path, "%s/%s.xml", run, name);
    file = fopen(before, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(rename(before, path), 0);
}

static void put_vm(const char *name, unsigned uid, unsigned start_no, const char *more)
{
    char text[1024];

    (void)snprintf(text, sizeof text,
                   "<domstatus><domain><metadata><hf:start xmlns:hf='urn:holdfast:start:1' "
                   "no='%u' uid='%u'/></metadata><devices>"
                   "<interface type='bridge'><mac address='52:54:00:00:00:0a'/>"
                   "<target dev='vneta'/>%s</interface>"
                   "<interface type='bridge'><mac address='52:54:00:00:00:0b'/>"
                   "<target dev='vnetb'/></interface></devices></domain></domstatus>",
                   start_no, uid, more);
    put(name, text);
}

static void told(const struct note *note)
{
    ck_assert(note_put(note_fd[0], note));
}

static struct note legs_note(hf_vm_uid uid)
{
    return (struct note){.kind = NOTE_LEGS,
                         .u.legs = {.uid = uid, .start_no = 3, .has = 3, .up = 3, .active = 1}};
}

START_TEST(a_vm_comes_changes_and_goes)
{
    struct note note, legs = legs_note(7);
    struct hf_report got;
    char path[256];

    put_vm("trade1", 7, 3, "");
    note = await(NOTE_VM);
    ck_assert_uint_eq(note.u.vm.uid, 7);
    ck_assert_uint_eq(note.u.vm.start_no, 3);
    ck_assert_str_eq(note.u.vm.name, "trade1");
    ck_assert_int_eq(note.u.vm.leg[0].kind, HF_LEG_BRIDGE);
    ck_assert_str_eq(note.u.vm.leg[1].device, "vnetb");
    told(&legs);
    got = rig_await(&rig, 1u << HF_REPORT_LEGS);
    ck_assert_uint_eq(got.u.legs.has, 3);
    put_vm("trade1", 7, 4, "");
    note = await(NOTE_VM);
    ck_assert_uint_eq(note.u.vm.start_no, 4);
    (void)snprintf(path, sizeof path, "%s/trade1.xml", run);
    ck_assert_int_eq(unlink(path), 0);
    note = await(NOTE_VM_GONE);
    ck_assert_uint_eq(note.u.gone, 7);
    got = rig_await(&rig, 1u << HF_REPORT_LEGS);
    ck_assert_uint_eq(got.u.legs.uid, 7);
    ck_assert_uint_eq(got.u.legs.has, 0);
    /* What the hot loop said before it knew must not bring it back. */
    told(&legs);
    ck_assert(rig_is_quiet(&rig, 1u << HF_REPORT_LEGS, 100));
}
END_TEST

START_TEST(what_is_not_ours_or_not_new_is_not_told)
{
    struct pollfd wait = {.fd = note_fd[0], .events = POLLIN};
    struct note note;

    put("other", "<domstatus><domain><devices/></domain></domstatus>");
    put("broken", "<domstatus>");
    put_vm("trade1", 7, 3, "");
    (void)await(NOTE_VM);
    put_vm("trade1", 7, 3, "<link state='down'/>"); /* our own doing comes back */
    put_vm("thief", 7, 9, "");                      /* the mark of another */
    while (poll(&wait, 1, 300) == 1 && note_take(note_fd[0], &note))
        ck_assert_int_ne(note.kind, NOTE_VM);
}
END_TEST

/* What a worker leaves when it switches a leg of trade1 off. */
static void put_mark(void)
{
    hf_mac mac = {{0x52, 0x54, 0, 0, 0, 0x0a}};
    char path[256];
    FILE *file;

    method_link_mark(run, "trade1", mac, path, sizeof path);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(what_was_off_in_a_vm_that_ended_is_not_ours_in_the_next_of_its_name)
{
    char path[256];

    put_mark();
    put_vm("trade1", 7, 3, "<link state='down'/>");
    ck_assert(await(NOTE_VM).u.vm.is_ours_off[0]);
    put_vm("trade1", 7, 4, "<link state='down'/>"); /* started anew, with an operator's wish */
    ck_assert(!await(NOTE_VM).u.vm.is_ours_off[0]);
    put_mark();
    (void)snprintf(path, sizeof path, "%s/trade1.xml", run);
    ck_assert_int_eq(unlink(path), 0);
    (void)await(NOTE_VM_GONE);
    put_vm("trade1", 8, 1, "<link state='down'/>");
    ck_assert(!await(NOTE_VM).u.vm.is_ours_off[0]);
}
END_TEST

START_TEST(an_operators_order_reaches_the_hot_loop_and_its_flip_the_daemon)
{
    struct hf_report order = {.kind = HF_REPORT_NIC_ORDER}, got;
    struct note flip = {.kind = NOTE_FLIP}, note;

    order.u.nic_order.number = 5;
    order.u.nic_order.uid = 7;
    order.u.nic_order.to = 1;
    rig_send(&rig, &order, -1);
    note = await(NOTE_ORDER);
    ck_assert_uint_eq(note.u.order.number, 5);
    ck_assert_uint_eq(note.u.order.uid, 7);
    ck_assert_uint_eq(note.u.order.to, 1);
    flip.u.flip.order = 5;
    flip.u.flip.flip = (struct hf_flip){.epoch = 9, .uid = 7, .from = 0, .to = 1};
    told(&flip);
    got = rig_await(&rig, 1u << HF_REPORT_FLIP);
    ck_assert_uint_eq(got.u.flip.number, 5);
    ck_assert_uint_eq(got.u.flip.flip.epoch, 9);
}
END_TEST

START_TEST(a_daemon_that_returns_is_told_everything_again)
{
    struct note nics = {.kind = NOTE_NICS}, flip = {.kind = NOTE_FLIP};
    struct hf_report got;

    nics.u.nics.count = 2;
    nics.u.nics.pf[1].state = HF_PF_DOWN;
    told(&nics);
    got = rig_await(&rig, 1u << HF_REPORT_NICS);
    ck_assert_int_eq(got.u.nics.pf[1].state, HF_PF_DOWN);
    (void)await(NOTE_TELL_ALL);
    rig_restart(&rig, HF_AGENT_NIC);
    got = rig_await(&rig, 1u << HF_REPORT_NICS);
    ck_assert_uint_eq(got.u.nics.count, 2);
    (void)await(NOTE_TELL_ALL);
    flip.u.flip.flip = (struct hf_flip){.epoch = 10, .uid = 7, .from = 0, .to = 1};
    told(&flip);
    got = rig_await(&rig, 1u << HF_REPORT_FLIP);
    ck_assert_uint_eq(got.u.flip.flip.epoch, 10);
}
END_TEST

START_TEST(workers_are_started_when_they_are_wanted)
{
    struct note wants = {.kind = NOTE_WORKERS, .u.workers = {2, 1}}, note;
    unsigned count[NOTE_POOLS] = {0, 0};

    told(&wants);
    for (unsigned i = 0; i < 3; i++) {
        note = await(NOTE_WORKER);
        count[note.u.worker.pool]++;
        close(note.u.worker.fd);
    }
    ck_assert_uint_eq(count[NOTE_POOL_PF], 2);
    ck_assert_uint_eq(count[NOTE_POOL_VM], 1);
}
END_TEST

HF_TEST_MAIN_WITH("nicbond/report", setup, teardown, HF_CASE(a_vm_comes_changes_and_goes),
                  HF_CASE(what_is_not_ours_or_not_new_is_not_told),
                  HF_CASE(what_was_off_in_a_vm_that_ended_is_not_ours_in_the_next_of_its_name),
                  HF_CASE(an_operators_order_reaches_the_hot_loop_and_its_flip_the_daemon),
                  HF_CASE(a_daemon_that_returns_is_told_everything_again),
                  HF_CASE(workers_are_started_when_they_are_wanted))
