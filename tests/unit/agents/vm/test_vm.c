/* The VM agent whole, against a libvirt that misbehaves and qemus that are real processes. */
#include "agents/vm/vm.h"

#include "tests/fakes/agent_rig.h"
#include "tests/fakes/libvirt.h"
#include "tests/unit/check.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/vm/ledger.h"
#include "agents/vm/render.h"
#include "supervisord/door/door.h"

#define K(kind_) (1u << HF_REPORT_##kind_)

static struct agent_rig rig;
static struct fake_libvirt fake;
static struct vm_agent vms;
static char ledger[96];
static char mq1[HF_NAME_MAX + 1], mq2[HF_NAME_MAX + 1], mq3[HF_NAME_MAX + 1]; /* the VMs */
static char domain[200], marked[400]; /* the first: its XML, its status file of start 7 */
static struct virt virt;

/* An agent over what is there. */
static void open_agent(void)
{
    struct agent_setup s;
    struct hf_err err;

    memset(&vms, 0, sizeof vms);
    vms.where = (struct qemu_where){.proc = "/proc", .run = rig.folder};
    vms.ledger = ledger;
    s = rig_setup(&rig, HF_AGENT_VM, &vm_calls, &vms);
    ck_assert_int_eq(pool_open(&vms.pool, &virt, &err), HF_OK);
    ck_assert_int_eq(agent_open(&rig.agent, &s, &err), HF_OK);
    ck_assert_int_eq(vm_open(&vms, rig.agent, &err), HF_OK);
}

/* The status file that libvirt would write of the first VM at that start. */
static void status_of(char out[400], uint32_t start_no)
{
    snprintf(out, 400,
             "<domstatus><domain><name>%s</name><metadata>"
             "<hf:start xmlns:hf='urn:holdfast:start:1' no='%u' uid='1'/>"
             "</metadata></domain></domstatus>",
             mq1, start_no);
}

static void setup(void)
{
    fake_name(mq1, 1);
    fake_name(mq2, 2);
    fake_name(mq3, 3);
    snprintf(domain, sizeof domain, "<domain type='qemu'><name>%s</name></domain>", mq1);
    status_of(marked, 7);
    render_init();
    rig_open(&rig);
    fake_open(&fake, rig.folder, &virt);
    snprintf(ledger, sizeof ledger, "%s/ledger", rig.folder);
    open_agent();
}

static void close_agent(void)
{
    vm_close(&vms);
    agent_close(rig.agent);
    pool_close(vms.pool);
}

/* It ends; another begins with nothing but what is written down. */
static void replace_agent(void)
{
    uint64_t count;

    rig_stop(&rig);
    ck_assert_int_eq(read(rig.stop_fd, &count, sizeof count), sizeof count);
    close(rig.fd);
    close_agent();
    open_agent();
}

static void teardown(void)
{
    char command[128];

    rig_stop(&rig);
    vm_close(&vms);
    rig_close(&rig);
    fake_release(&fake);
    pool_close(vms.pool);
    fake_close(&fake);
    snprintf(command, sizeof command, "rm -r %s", rig.folder);
    ck_assert_int_eq(system(command), 0);
}

static void send_list(void)
{
    const char *const names[] = {mq1, mq2};
    struct hf_report r = {.kind = HF_REPORT_VMS};

    for (unsigned i = 0; i < 2; i++) {
        r.u.vms.is_last = false;
        r.u.vms.uid = i + 1;
        strcpy(r.u.vms.name, names[i]);
        rig_send(&rig, &r, -1);
    }
    r = (struct hf_report){.kind = HF_REPORT_VMS};
    r.u.vms.is_last = true;
    rig_send(&rig, &r, -1);
}

/* Connected, libvirt known, list told, inventory received. */
static struct hf_report begin(void)
{
    struct hf_report r;

    rig_run(&rig, HF_AGENT_VM);
    do
        r = rig_await(&rig, K(WATCH));
    while (!r.u.watch.known);
    send_list();
    return rig_await(&rig, K(INVENTORY));
}

static struct hf_report start_order(uint64_t seq, uint32_t start_no, uint32_t deadline_ms)
{
    struct hf_report r = {.kind = HF_REPORT_START};

    r.u.start.token = (struct hf_token){seq, 1};
    r.u.start.uid = 1;
    r.u.start.start_no = start_no;
    r.u.start.deadline_ms = deadline_ms;
    r.u.start.memory_mib = 64;
    strcpy(r.u.start.name, mq1);
    r.u.start.xml = hf_digest_of(domain, strlen(domain));
    return r;
}

static void send_start(const struct hf_report *order, const char *xml)
{
    struct hf_err err;
    int fd;

    ck_assert_int_eq(door_memory("xml", xml, strlen(xml), &fd, &err), HF_OK);
    rig_send(&rig, order, fd);
}

static struct hf_report start(uint64_t seq, uint32_t start_no, uint32_t deadline_ms)
{
    struct hf_report order = start_order(seq, start_no, deadline_ms), done;

    send_start(&order, domain);
    done = rig_await(&rig, K(DONE));
    ck_assert_uint_eq(done.u.done.token.seq, seq);
    return done;
}

static struct hf_report stop(uint64_t seq, uint32_t grace_ms, uint32_t deadline_ms)
{
    struct hf_report r = {.kind = HF_REPORT_STOP};

    r.u.stop.token = (struct hf_token){seq, 1};
    r.u.stop.uid = 1;
    r.u.stop.start_no = 1;
    r.u.stop.grace_ms = grace_ms;
    r.u.stop.deadline_ms = deadline_ms;
    strcpy(r.u.stop.name, mq1);
    rig_send(&rig, &r, -1);
    r = rig_await(&rig, K(DONE));
    ck_assert_uint_eq(r.u.done.token.seq, seq);
    return r;
}

static pid_t running(void)
{
    struct hf_report r;

    begin();
    r = start(1, 1, 5000);
    ck_assert_msg(r.u.done.outcome == HF_OUT_DONE, "%s", r.u.done.why);
    r = rig_await(&rig, K(VM));
    ck_assert_int_eq(r.u.vm.seen, HF_SEEN_RUNNING);
    ck_assert_uint_eq(r.u.vm.start_no, 1);
    return (pid_t)r.u.vm.pid;
}

static bool is_alive(pid_t pid)
{
    return waitpid(pid, NULL, WNOHANG) == 0;
}

START_TEST(a_start_tells_its_phases_and_the_process)
{
    struct hf_report order = start_order(1, 1, 5000), r;

    ck_assert_uint_eq(begin().u.inventory.count, 0);
    send_start(&order, domain);
    r = rig_await(&rig, ~0u);
    ck_assert_int_eq(r.u.progress.phase, HF_PROGRESS_START_REQUESTED);
    r = rig_await(&rig, ~0u);
    ck_assert_int_eq(r.u.progress.phase, HF_PROGRESS_QEMU_RUNNING);
    ck_assert(is_alive((pid_t)r.u.progress.pid));
    r = rig_await(&rig, ~0u);
    ck_assert_int_eq(r.u.progress.phase, HF_PROGRESS_RESUMED);
    r = rig_await(&rig, ~0u);
    ck_assert_int_eq(r.kind, HF_REPORT_DONE);
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_DONE);
    r = rig_await(&rig, ~0u);
    ck_assert_int_eq(r.kind, HF_REPORT_VM);
    ck_assert_int_eq(r.u.vm.seen, HF_SEEN_RUNNING);
}
END_TEST

START_TEST(the_same_start_twice_makes_one_process)
{
    pid_t pid = running();
    struct hf_report r = start(1, 1, 5000); /* the token again: told again */

    ck_assert_int_eq(r.u.done.outcome, HF_OUT_DONE);
    r = start(2, 1, 5000); /* a new token for the same start: adopted */
    ck_assert_msg(r.u.done.outcome == HF_OUT_DONE, "%s", r.u.done.why);
    ck_assert_uint_eq(fake_count(&fake, &fake.creates), 1);
    ck_assert(is_alive(pid));
}
END_TEST

START_TEST(another_start_of_a_running_vm_is_neither_done_nor_refused)
{
    running();
    ck_assert_int_eq(start(2, 2, 5000).u.done.outcome, HF_OUT_GAVE_UP);
    ck_assert_uint_eq(fake_count(&fake, &fake.creates), 1);
}
END_TEST

START_TEST(a_refused_start_is_refused_and_a_wrong_xml_never_reaches_libvirt)
{
    struct hf_report order, r;

    begin();
    fake_set(&fake, &fake.create, FAKE_REFUSE);
    ck_assert_int_eq(start(1, 1, 5000).u.done.outcome, HF_OUT_REFUSED);
    fake_set(&fake, &fake.create, FAKE_LOCKED);
    ck_assert_int_eq(start(2, 2, 5000).u.done.outcome, HF_OUT_REFUSED);
    fake_set(&fake, &fake.create, FAKE_OK);
    order = start_order(3, 3, 5000);
    send_start(&order, "<domain><name>other</name></domain>");
    r = rig_await(&rig, K(DONE));
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_REFUSED);
    order = start_order(4, 4, 5000);
    rig_send(&rig, &order, -1);
    r = rig_await(&rig, K(DONE));
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_REFUSED);
    ck_assert_uint_eq(fake_count(&fake, &fake.creates), 2);
}
END_TEST

START_TEST(libvirt_says_ok_but_there_is_no_process)
{
    begin();
    fake_set(&fake, &fake.create, FAKE_LIE);
    ck_assert_int_eq(start(1, 1, 5000).u.done.outcome, HF_OUT_REFUSED);
}
END_TEST

START_TEST(a_connection_that_breaks_in_a_start_is_not_known)
{
    begin();
    fake_set(&fake, &fake.create, FAKE_GONE);
    ck_assert_int_eq(start(1, 1, 5000).u.done.outcome, HF_OUT_GAVE_UP);
}
END_TEST

START_TEST(a_start_waits_until_libvirt_lets_go_of_the_last_instance)
{
    begin();
    fake_set(&fake, &fake.create, FAKE_ACTIVE_ONCE);
    ck_assert_int_eq(start(1, 1, 5000).u.done.outcome, HF_OUT_DONE);
    ck_assert_uint_eq(fake_count(&fake, &fake.creates), 2);
}
END_TEST

static pid_t made(unsigned nth)
{
    pid_t pid;

    pthread_mutex_lock(&fake.lock);
    ck_assert_uint_gt(fake.qemus_count, nth);
    pid = fake.qemu[nth];
    pthread_mutex_unlock(&fake.lock);
    return pid;
}

START_TEST(a_hung_start_is_given_up_and_its_late_process_is_ended)
{
    struct hf_report r;

    begin();
    fake_set(&fake, &fake.create, FAKE_HANG);
    r = start(1, 1, 150);
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_GAVE_UP);
    ck_assert_int_lt((int)r.u.done.took_ms, 2000);
    /* A stop cannot prove anything while that call may still make a process. */
    ck_assert_int_eq(stop(2, 0, 200).u.done.outcome, HF_OUT_GAVE_UP);
    fake_release(&fake);
    r = rig_await(&rig, K(VM));
    ck_assert_int_eq(r.u.vm.seen, HF_SEEN_CRASHED);
    ck_assert_uint_eq(r.u.vm.start_no, 1);
    ck_assert(!is_alive(made(0)));
    ck_assert_uint_eq(fake_count(&fake, &fake.resumes), 0);
    ck_assert_int_eq(stop(3, 0, 5000).u.done.outcome, HF_OUT_DONE);
    ck_assert(rig_is_quiet(&rig, K(VM), 50));
}
END_TEST

/* The group's answer to a start given up on: its order ends the process, and tells. */
START_TEST(a_stop_that_waits_for_a_late_process_is_done)
{
    struct hf_report r = {.kind = HF_REPORT_STOP};

    begin();
    fake_set(&fake, &fake.create, FAKE_HANG);
    ck_assert_int_eq(start(1, 1, 150).u.done.outcome, HF_OUT_GAVE_UP);
    r.u.stop.token = (struct hf_token){2, 1};
    r.u.stop.uid = 1;
    r.u.stop.start_no = 1;
    r.u.stop.deadline_ms = 6000;
    strcpy(r.u.stop.name, mq1);
    rig_send(&rig, &r, -1);
    ck_assert(rig_is_quiet(&rig, K(DONE) | K(VM), 50));
    fake_release(&fake);
    r = rig_await(&rig, K(DONE) | K(VM));
    ck_assert_int_eq(r.kind, HF_REPORT_DONE);
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_DONE);
    ck_assert(!is_alive(made(0)));
}
END_TEST

/* A stamp tells the group which of its decisions the inventory was made after. */
START_TEST(an_inventory_hands_back_the_stamp_of_the_newest_question)
{
    struct hf_report r = {.kind = HF_REPORT_ASK};

    ck_assert_uint_eq(begin().u.inventory.as_of, 0); /* nobody has asked */
    r.u.ask.as_of = 0x123456789abcdef0u;
    rig_send(&rig, &r, -1);
    ck_assert_uint_eq(rig_await(&rig, K(INVENTORY)).u.inventory.as_of, 0x123456789abcdef0u);
    r.u.ask.as_of = 7; /* another lineage: it need not be a larger number */
    rig_send(&rig, &r, -1);
    ck_assert_uint_eq(rig_await(&rig, K(INVENTORY)).u.inventory.as_of, 7);
    rig_restart(&rig, HF_AGENT_VM); /* another daemon: what was asked before is not its stamp */
    send_list();
    ck_assert_uint_eq(rig_await(&rig, K(INVENTORY)).u.inventory.as_of, 0);
}
END_TEST

/* An inventory without it would let the group start it elsewhere while libvirt makes it here. */
START_TEST(an_inventory_waits_for_a_start_that_is_under_way)
{
    struct hf_report order = start_order(1, 1, 5000), r = {.kind = HF_REPORT_ASK};

    begin();
    fake_set(&fake, &fake.create, FAKE_HANG);
    send_start(&order, domain);
    while (fake_count(&fake, &fake.creates) == 0)
        ck_assert(rig_is_quiet(&rig, K(DONE), 5));
    rig_send(&rig, &r, -1);
    ck_assert(rig_is_quiet(&rig, K(INVENTORY), 50));
    r = (struct hf_report){.kind = HF_REPORT_DROP};
    r.u.drop.token = order.u.start.token; /* too late: a worker has it */
    rig_send(&rig, &r, -1);
    ck_assert(rig_is_quiet(&rig, K(INVENTORY), 50));
    fake_release(&fake);
    r = rig_await(&rig, K(INVENTORY));
    ck_assert_uint_eq(r.u.inventory.count, 0); /* dropped, and ended before anything is said */
    ck_assert(!is_alive(made(0)));
}
END_TEST

START_TEST(a_killed_qemu_is_a_crash_at_once)
{
    pid_t pid = running();
    hf_time then = hf_clock_now();
    struct hf_report r;

    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    r = rig_await(&rig, K(VM));
    ck_assert_int_eq(r.u.vm.seen, HF_SEEN_CRASHED);
    ck_assert_uint_eq(r.u.vm.start_no, 1);
    printf("kill to report: %lld us\n", (long long)((hf_clock_now().ns - then.ns) / 1000));
    ck_assert_int_lt((int)hf_time_since_ms(hf_clock_now(), then), 200);
}
END_TEST

START_TEST(an_end_on_purpose_is_told_from_a_crash)
{
    static const struct {
        enum virt_event_kind before, after;
        enum hf_seen seen;
    } cases[] = {
        {VIRT_EV_SHUTDOWN_GUEST, VIRT_EV_STOPPED_OFF, HF_SEEN_SHUTDOWN},
        {VIRT_EV_SHUTDOWN_HOST, VIRT_EV_STOPPED_DESTROYED, HF_SEEN_DESTROYED},
        {VIRT_EV_SHUTDOWN_HOST, VIRT_EV_STOPPED_OFF, HF_SEEN_CRASHED},
        {VIRT_EV_STARTED, VIRT_EV_STOPPED_DESTROYED, HF_SEEN_DESTROYED},
        {VIRT_EV_STARTED, VIRT_EV_STOPPED_AWAY, HF_SEEN_DESTROYED},
        {VIRT_EV_STARTED, VIRT_EV_STOPPED_FAILED, HF_SEEN_CRASHED},
    };
    pid_t pid = running();

    fake_event(&fake, cases[_i].before, mq1);
    ck_assert_int_eq(kill(pid, SIGTERM), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    fake_event(&fake, cases[_i].after, mq1);
    ck_assert_int_eq(rig_await(&rig, K(VM)).u.vm.seen, cases[_i].seen);
}
END_TEST

START_TEST(a_late_word_of_an_earlier_instance_changes_nothing)
{
    running();
    fake_event(&fake, VIRT_EV_STOPPED_DESTROYED, mq1);
    ck_assert(rig_is_quiet(&rig, K(VM), 100));
}
END_TEST

START_TEST(libvirt_s_death_changes_nothing_but_the_watch)
{
    pid_t pid = running();
    struct hf_report r;

    fake_set(&fake, &fake.attach, FAKE_REFUSE);
    fake_gone(&fake);
    r = rig_await(&rig, K(WATCH) | K(VM));
    ck_assert_int_eq(r.kind, HF_REPORT_WATCH);
    ck_assert(!r.u.watch.known);
    ck_assert(rig_is_quiet(&rig, K(VM) | K(WATCH), 100));
    ck_assert_int_eq(start(7, 2, 500).u.done.outcome, HF_OUT_GAVE_UP);
    ck_assert_int_eq(stop(8, 1000, 6000).u.done.outcome, HF_OUT_DONE);
    ck_assert(!is_alive(pid));
    ck_assert_int_eq(start(9, 2, 500).u.done.outcome, HF_OUT_REFUSED);
    fake_set(&fake, &fake.attach, FAKE_OK);
    r = rig_await(&rig, K(WATCH));
    ck_assert(r.u.watch.known);
    ck_assert_uint_eq(rig_await(&rig, K(INVENTORY)).u.inventory.count, 0);
}
END_TEST

START_TEST(a_guest_that_listens_is_not_destroyed)
{
    pid_t pid = running();

    ck_assert_int_eq(stop(2, 5000, 10000).u.done.outcome, HF_OUT_DONE);
    ck_assert(!is_alive(pid));
    ck_assert_uint_eq(fake_count(&fake, &fake.shutdowns), 1);
    ck_assert_uint_eq(fake_count(&fake, &fake.destroys), 0);
    ck_assert(rig_is_quiet(&rig, K(VM), 50));
}
END_TEST

START_TEST(the_ladder_ends_with_sigkill)
{
    pid_t pid;

    fake.ignores_term = true;
    pid = running();
    fake_set(&fake, &fake.destroy, FAKE_HANG);
    ck_assert_int_eq(stop(2, 100, 1100).u.done.outcome, HF_OUT_DONE);
    ck_assert(!is_alive(pid));
    ck_assert_uint_eq(fake_count(&fake, &fake.destroys), 2);
}
END_TEST

START_TEST(a_stop_of_what_does_not_run_is_done)
{
    begin();
    ck_assert_int_eq(stop(1, 1000, 5000).u.done.outcome, HF_OUT_DONE);
    ck_assert_uint_eq(fake_count(&fake, &fake.shutdowns), 0);
}
END_TEST

START_TEST(after_the_daemon_s_death_the_truth_and_the_results_are_told_again)
{
    struct hf_report r;
    pid_t pid = running();

    rig_restart(&rig, HF_AGENT_VM);
    r = rig_await(&rig, K(DONE));
    ck_assert_uint_eq(r.u.done.token.seq, 1);
    ck_assert(rig_is_quiet(&rig, K(INVENTORY), 50)); /* no list yet: nothing is complete */
    send_list();
    r = rig_await(&rig, K(INVENTORY));
    ck_assert_uint_eq(r.u.inventory.count, 1);
    ck_assert_uint_eq(r.u.inventory.vm[0].uid, 1);
    ck_assert_uint_eq(r.u.inventory.vm[0].start_no, 1);
    ck_assert(is_alive(pid));
}
END_TEST

static const char by_hand[] = "<domstatus><domain></domain></domstatus>"; /* no start of ours */

START_TEST(what_runs_already_is_found_with_its_start_number)
{
    struct hf_report r;
    char status[400];

    status_of(status, 41);
    (void)fake_qemu(&fake, mq1, status);
    (void)fake_qemu(&fake, mq2, by_hand);
    (void)fake_qemu(&fake, mq3, NULL);
    r = begin();
    ck_assert_uint_eq(r.u.inventory.count, 2);
    ck_assert_uint_eq(r.u.inventory.vm[0].start_no, 41);
    ck_assert_uint_eq(r.u.inventory.vm[1].start_no, 0);
}
END_TEST

START_TEST(a_start_by_hand_is_noticed)
{
    struct hf_report r;

    begin();
    (void)fake_qemu(&fake, mq2, by_hand);
    fake_event(&fake, VIRT_EV_STARTED, mq2);
    r = rig_await(&rig, K(VM));
    ck_assert_uint_eq(r.u.vm.uid, 2);
    ck_assert_uint_eq(r.u.vm.start_no, 0);
    ck_assert_int_eq(r.u.vm.seen, HF_SEEN_RUNNING);
}
END_TEST

START_TEST(a_start_not_begun_is_forgotten_when_dropped)
{
    struct hf_report r = {.kind = HF_REPORT_DROP};
    struct hf_report order = start_order(5, 1, 5000);

    begin();
    fake_set(&fake, &fake.create, FAKE_HANG);
    for (uint32_t uid = 11; uid < 11 + POOL_WORKERS; uid++) { /* keep every worker busy */
        struct hf_report busy = start_order(uid, 1, 8000);
        char xml[100];

        busy.u.start.uid = uid;
        snprintf(busy.u.start.name, sizeof busy.u.start.name, "busy-%u", uid);
        snprintf(xml, sizeof xml, "<domain><name>busy-%u</name></domain>", uid);
        busy.u.start.xml = hf_digest_of(xml, strlen(xml));
        send_start(&busy, xml);
    }
    while (fake_count(&fake, &fake.creates) < POOL_WORKERS)
        ck_assert(rig_is_quiet(&rig, K(DONE), 5));
    send_start(&order, domain);
    r.u.drop.token = order.u.start.token;
    rig_send(&rig, &r, -1);
    fake_release(&fake);
    for (int i = 0; i < POOL_WORKERS; i++)
        ck_assert_uint_ne(rig_await(&rig, K(DONE)).u.done.token.seq, 5);
    ck_assert(rig_is_quiet(&rig, K(DONE), 50));
    ck_assert_uint_eq(fake_count(&fake, &fake.creates), POOL_WORKERS);
}
END_TEST

/* ---- processes nobody wants: unwanted.c ---- */

static void drop_while_created(uint64_t seq, uint32_t start_no)
{
    struct hf_report drop = {.kind = HF_REPORT_DROP}, order = start_order(seq, start_no, 5000);

    fake_set(&fake, &fake.create, FAKE_HANG);
    send_start(&order, domain);
    while (fake_count(&fake, &fake.creates) == 0)
        ck_assert(rig_is_quiet(&rig, K(DONE), 5));
    drop.u.drop.token = order.u.start.token;
    rig_send(&rig, &drop, -1);
    ck_assert(rig_is_quiet(&rig, K(DONE) | K(VM), 50)); /* it is read before libvirt goes on */
}

/* Dropped, made, and libvirt hangs while it is to end it. */
static pid_t drop_and_hang(void)
{
    struct hf_report r;

    begin();
    drop_while_created(5, 1);
    fake_set(&fake, &fake.destroy, FAKE_HANG);
    fake_set(&fake, &fake.create, FAKE_OK);
    r = rig_await(&rig, K(DONE) | K(VM));
    ck_assert_int_eq(r.kind, HF_REPORT_DONE);
    ck_assert_uint_eq(r.u.done.token.seq, 5);
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_GAVE_UP);
    while (fake_count(&fake, &fake.destroys) == 0)
        ck_assert(rig_is_quiet(&rig, K(VM), 5));
    return made(0);
}

static void await_crash(uint32_t start_no)
{
    struct hf_report r = rig_await(&rig, K(VM));

    ck_assert_int_eq(r.u.vm.seen, HF_SEEN_CRASHED);
    ck_assert_uint_eq(r.u.vm.start_no, start_no);
}

/* Its order is gone: perhaps it was placed elsewhere since. */
START_TEST(a_start_dropped_while_libvirt_makes_it_is_ended)
{
    struct hf_report r;

    begin();
    drop_while_created(5, 1);
    fake_release(&fake);
    r = rig_await(&rig, K(DONE) | K(VM));
    ck_assert_int_eq(r.kind, HF_REPORT_DONE);
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_GAVE_UP);
    await_crash(1);
    ck_assert(!is_alive(made(0)));
    ck_assert_uint_eq(fake_count(&fake, &fake.resumes), 0);
    ck_assert_uint_eq(fake_count(&fake, &fake.destroys), 1);
    fake_event(&fake, VIRT_EV_STOPPED_DESTROYED, mq1); /* our own doing: corrects nothing */
    ck_assert(rig_is_quiet(&rig, K(VM), 50));
    ck_assert_str_eq(start(6, 1, 5000).u.done.why, "start 1 was dropped and ended");
    ck_assert_int_eq(start(7, 2, 5000).u.done.outcome, HF_OUT_DONE);
}
END_TEST

START_TEST(a_dropped_start_ends_by_sigkill_when_libvirt_does_not_help)
{
    struct hf_report r = {.kind = HF_REPORT_ASK};

    fake.ignores_term = true;
    (void)drop_and_hang();
    rig_send(&rig, &r, -1);
    r = rig_await(&rig, K(VM) | K(INVENTORY)); /* the inventory waits for the ladder */
    ck_assert_int_eq(r.kind, HF_REPORT_VM);
    ck_assert_int_eq(r.u.vm.seen, HF_SEEN_CRASHED);
    ck_assert(!is_alive(made(0)));
    ck_assert_uint_eq(rig_await(&rig, K(INVENTORY)).u.inventory.count, 0);
}
END_TEST

/* REFUSED says that nothing of it runs here: it waits for the end. */
START_TEST(a_dropped_start_ordered_again_while_it_is_ended_is_refused)
{
    struct hf_report order = start_order(6, 1, 5000), r;
    pid_t pid = drop_and_hang();

    send_start(&order, domain);
    ck_assert(rig_is_quiet(&rig, K(DONE) | K(VM), 50));
    ck_assert(is_alive(pid));
    fake_release(&fake);
    await_crash(1);
    r = rig_await(&rig, K(DONE));
    ck_assert_uint_eq(r.u.done.token.seq, 6);
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_REFUSED);
    ck_assert_str_eq(r.u.done.why, "start 1 was dropped and ended");
    ck_assert(!is_alive(pid));
    ck_assert_uint_eq(fake_count(&fake, &fake.creates), 1);
    ck_assert_uint_eq(fake_count(&fake, &fake.resumes), 0);
}
END_TEST

START_TEST(an_order_that_cannot_wait_for_the_end_of_a_dropped_start_is_given_up)
{
    struct hf_report r;
    pid_t pid = drop_and_hang();

    r = start(6, 1, 100);
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_GAVE_UP);
    ck_assert(is_alive(pid));
    fake_release(&fake);
    await_crash(1);
}
END_TEST

START_TEST(the_next_start_waits_until_a_dropped_one_is_ended)
{
    struct hf_report order = start_order(6, 2, 5000), r;
    pid_t pid = drop_and_hang();

    send_start(&order, domain);
    ck_assert(rig_is_quiet(&rig, K(DONE) | K(VM), 50));
    fake_release(&fake);
    r = rig_await(&rig, K(DONE));
    ck_assert_msg(r.u.done.outcome == HF_OUT_DONE, "%s", r.u.done.why);
    ck_assert(!is_alive(pid));
    ck_assert(is_alive(made(1)));
}
END_TEST

START_TEST(a_stop_of_a_dropped_start_that_is_ended_is_done)
{
    struct hf_report r;
    pid_t pid = drop_and_hang();

    r = stop(6, 5000, 5000); /* its libvirt hangs: what is left of the deadline is for SIGKILL */
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_DONE);
    ck_assert(!is_alive(pid));
    ck_assert(rig_is_quiet(&rig, K(VM), 50)); /* the order's own result tells */
    ck_assert_uint_eq(fake_count(&fake, &fake.shutdowns), 0);
}
END_TEST

START_TEST(a_start_dropped_and_ordered_again_while_libvirt_makes_it_runs)
{
    struct hf_report drop = {.kind = HF_REPORT_DROP}, order = start_order(5, 1, 5000), r;

    begin();
    fake_set(&fake, &fake.create, FAKE_HANG);
    send_start(&order, domain);
    while (fake_count(&fake, &fake.creates) == 0)
        ck_assert(rig_is_quiet(&rig, K(DONE), 5));
    drop.u.drop.token = order.u.start.token;
    rig_send(&rig, &drop, -1);
    order = start_order(6, 1, 5000);
    send_start(&order, domain);
    ck_assert(rig_is_quiet(&rig, K(DONE) | K(VM), 50));
    fake_release(&fake);
    r = rig_await(&rig, K(DONE));
    ck_assert_uint_eq(r.u.done.token.seq, 6);
    ck_assert_msg(r.u.done.outcome == HF_OUT_DONE, "%s", r.u.done.why);
    ck_assert_uint_eq(fake_count(&fake, &fake.creates), 1);
    ck_assert_uint_eq(fake_count(&fake, &fake.resumes), 1);
}
END_TEST

/* ---- starts of this boot: ledger.h, orphan.c ---- */

static void remember(uint32_t start_no, enum ledger_state state, struct qemu driver)
{
    struct ledger_entry entry = {.uid = 1, .start_no = start_no, .state = state, .driver = driver};
    struct hf_err err;

    strcpy(entry.name, mq1);
    ck_assert_int_eq(ledger_write(ledger, &entry, &err), HF_OK);
}

static enum ledger_state remembered(uint32_t start_no)
{
    struct ledger_entry entry;
    struct hf_err err;

    ck_assert_msg(ledger_read(ledger, 1, &entry, &err) == HF_OK, "%s", err.text);
    ck_assert_uint_eq(entry.start_no, start_no);
    return entry.state;
}

/* An agent after one that died in the create of start 7; libvirt answers, the list is told. */
static void begin_after_death(struct qemu driver)
{
    remember(7, LEDGER_CREATING, driver);
    close_agent(); /* it did not run yet */
    open_agent();
    rig_run(&rig, HF_AGENT_VM);
    while (!rig_await(&rig, K(WATCH)).u.watch.known)
        ;
    send_list();
}

static void end_process(pid_t pid)
{
    struct hf_report r;

    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    do
        r = rig_await(&rig, K(VM));
    while (r.u.vm.seen == HF_SEEN_RUNNING);
    ck_assert_int_eq(r.u.vm.seen, HF_SEEN_CRASHED);
}

START_TEST(a_start_that_ended_is_never_executed_again)
{
    struct hf_report r;

    end_process(running());
    r = start(2, 1, 5000);
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_REFUSED);
    ck_assert_str_eq(r.u.done.why, "start 1 ran already and ended");
    ck_assert_int_eq(start(3, 5, 5000).u.done.outcome, HF_OUT_DONE);
    end_process((pid_t)rig_await(&rig, K(VM)).u.vm.pid);
    r = start(4, 4, 5000);
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_REFUSED);
    ck_assert_str_eq(r.u.done.why, "start 4 is stale: start 5 was executed here");
    ck_assert_uint_eq(fake_count(&fake, &fake.creates), 2);
    ck_assert_int_eq(remembered(5), LEDGER_CREATED);
}
END_TEST

START_TEST(the_next_agent_executes_no_start_again_either)
{
    struct hf_report r;
    pid_t pid = running();

    replace_agent();
    ck_assert_uint_eq(begin().u.inventory.count, 1);
    ck_assert_int_eq(start(2, 1, 5000).u.done.outcome, HF_OUT_DONE); /* it runs: adopted */
    end_process(pid);
    replace_agent();
    begin();
    r = start(3, 1, 5000);
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_REFUSED);
    ck_assert_str_eq(r.u.done.why, "start 1 ran already and ended");
    ck_assert_uint_eq(fake_count(&fake, &fake.creates), 1);
}
END_TEST

START_TEST(a_start_that_cannot_be_remembered_is_not_executed)
{
    struct hf_report r;
    char path[128];
    FILE *file;

    begin();
    ck_assert_int_eq(rmdir(ledger), 0);
    r = start(1, 1, 5000);
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_REFUSED);
    ck_assert_ptr_nonnull(strstr(r.u.done.why, "ledger"));
    ck_assert_int_eq(mkdir(ledger, 0700), 0);
    snprintf(path, sizeof path, "%s/1", ledger);
    file = fopen(path, "we");
    ck_assert(file != NULL && fputs("holdfast-start-1 1 x\n", file) >= 0 && fclose(file) == 0);
    r = start(2, 1, 5000);
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_REFUSED);
    ck_assert_ptr_nonnull(strstr(r.u.done.why, "ledger"));
    ck_assert_uint_eq(fake_count(&fake, &fake.creates), 0);
}
END_TEST

START_TEST(a_start_is_requested_when_a_worker_calls)
{
    struct hf_report order = start_order(5, 1, 5000);

    begin();
    fake_set(&fake, &fake.shutdown, FAKE_HANG);
    for (uint32_t i = 0; i < POOL_WORKERS; i++) { /* keep every worker busy */
        struct job job = {.kind = JOB_SHUTDOWN, .uid = 99, .name = "busy"};

        ck_assert_uint_ne(pool_submit(vms.pool, &job), 0);
    }
    while (fake_count(&fake, &fake.shutdowns) < POOL_WORKERS)
        ck_assert(rig_is_quiet(&rig, K(DONE), 5));
    send_start(&order, domain);
    ck_assert(rig_is_quiet(&rig, K(PROGRESS) | K(DONE), 50));
    fake_release(&fake);
    ck_assert_int_eq(rig_await(&rig, K(PROGRESS) | K(DONE)).u.progress.phase,
                     HF_PROGRESS_START_REQUESTED);
    ck_assert_int_eq(rig_await(&rig, K(DONE)).u.done.outcome, HF_OUT_DONE);
}
END_TEST

START_TEST(a_process_of_a_dead_agent_s_create_is_adopted)
{
    struct hf_report r, order = start_order(1, 7, 6000);

    begin_after_death((struct qemu){0});
    send_start(&order, domain);
    ck_assert(rig_is_quiet(&rig, K(INVENTORY) | K(DONE), 100));
    (void)fake_qemu(&fake, mq1, marked);
    r = rig_await(&rig, K(DONE) | K(INVENTORY));
    if (r.kind == HF_REPORT_INVENTORY)
        r = rig_await(&rig, K(DONE));
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_DONE);
    ck_assert_int_lt((int)r.u.done.took_ms, 1500);
    ck_assert_uint_eq(rig_await(&rig, K(VM)).u.vm.start_no, 7);
    ck_assert_uint_eq(fake_count(&fake, &fake.creates), 0);
    ck_assert_int_eq(remembered(7), LEDGER_CREATED);
}
END_TEST

START_TEST(a_stop_ends_what_a_dead_agent_s_create_makes)
{
    struct hf_report r = {.kind = HF_REPORT_STOP};
    pid_t pid;

    begin_after_death((struct qemu){0});
    r.u.stop.token = (struct hf_token){2, 1};
    r.u.stop.uid = 1;
    r.u.stop.start_no = 7;
    r.u.stop.deadline_ms = 6000;
    strcpy(r.u.stop.name, mq1);
    rig_send(&rig, &r, -1);
    ck_assert(rig_is_quiet(&rig, K(INVENTORY) | K(DONE), 100));
    pid = fake_qemu(&fake, mq1, marked);
    r = rig_await(&rig, K(DONE));
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_DONE);
    ck_assert(!is_alive(pid));
    ck_assert_int_eq(remembered(7), LEDGER_PAUSED);
}
END_TEST

START_TEST(a_create_of_a_dead_agent_that_came_to_nothing)
{
    hf_time then = hf_clock_now();
    struct hf_report r;

    begin_after_death((struct qemu){0});
    r = rig_await(&rig, K(INVENTORY));
    ck_assert_uint_eq(r.u.inventory.count, 0);
    ck_assert_int_ge((int)hf_time_since_ms(hf_clock_now(), then), 2000);
    ck_assert_uint_ge(fake_count(&fake, &fake.probes), 2);
    r = start(1, 7, 1000);
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_REFUSED);
    ck_assert_int_eq(start(2, 8, 5000).u.done.outcome, HF_OUT_DONE);
}
END_TEST

/* libvirt refuses to answer, or has the domain on its list and no process of it yet. */
START_TEST(a_word_of_libvirt_that_is_not_no_settles_nothing)
{
    fake_set(&fake, &fake.probe, _i == 0 ? FAKE_REFUSE : FAKE_ACTIVE);
    begin_after_death((struct qemu){0});
    ck_assert(rig_is_quiet(&rig, K(INVENTORY), 3000));
    ck_assert_uint_ge(fake_count(&fake, &fake.probes), 3);
    ck_assert_int_eq(remembered(7), LEDGER_CREATING);
    fake_set(&fake, &fake.probe, FAKE_OK);
    ck_assert_uint_eq(rig_await(&rig, K(INVENTORY)).u.inventory.count, 0);
}
END_TEST

/* A child of ours plays the daemon: it is not there any more when its pid was reaped. */
START_TEST(a_create_of_a_dead_libvirt_is_gone)
{
    struct qemu driver = {.started = 1};
    hf_time then = hf_clock_now();

    driver.pid = fork();
    if (driver.pid == 0)
        _exit(0);
    ck_assert_int_eq(waitpid(driver.pid, NULL, 0), driver.pid);
    fake_set(&fake, &fake.probe, FAKE_HANG); /* no word of the new one is needed */
    begin_after_death(driver);
    ck_assert_uint_eq(rig_await(&rig, K(INVENTORY)).u.inventory.count, 0);
    ck_assert_int_ge((int)hf_time_since_ms(hf_clock_now(), then), 2000);
}
END_TEST

START_TEST(a_hung_libvirt_leaves_a_dead_agent_s_create_open)
{
    struct hf_report order = start_order(1, 8, 300), r;

    fake_set(&fake, &fake.probe, FAKE_HANG);
    begin_after_death((struct qemu){.pid = 0});
    send_start(&order, domain);
    r = rig_await(&rig, K(DONE) | K(INVENTORY));
    ck_assert_int_eq(r.kind, HF_REPORT_DONE);
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_GAVE_UP);
    ck_assert_int_eq(stop(2, 0, 300).u.done.outcome, HF_OUT_GAVE_UP);
    ck_assert(rig_is_quiet(&rig, K(INVENTORY), 2200));
    ck_assert_int_eq(remembered(7), LEDGER_CREATING);
    ck_assert_uint_eq(fake_count(&fake, &fake.creates), 0);
}
END_TEST

static const char marked_domain[] = "<domain><name>x</name><metadata>"
                                    "<hf:start xmlns:hf='urn:holdfast:start:1' no='7' uid='1'/>"
                                    "</metadata></domain>";

/* A new agent over that, connected, with libvirt; the list is told. */
static void begin_over(uint32_t start_no, enum ledger_state state)
{
    remember(start_no, state, (struct qemu){0});
    close_agent(); /* it did not run yet */
    open_agent();
    rig_run(&rig, HF_AGENT_VM);
    while (!rig_await(&rig, K(WATCH)).u.watch.known)
        ;
    send_list();
}

START_TEST(a_start_that_a_dead_agent_never_let_run_is_ended)
{
    pid_t pid = fake_made(&fake, mq1, marked_domain);
    struct hf_report r;

    begin_over(7, _i == 0 ? LEDGER_PAUSED : LEDGER_CREATING);
    r = rig_await(&rig, K(VM) | K(INVENTORY));
    ck_assert_int_eq(r.kind, HF_REPORT_VM);
    ck_assert_int_eq(r.u.vm.seen, HF_SEEN_CRASHED);
    ck_assert_uint_eq(r.u.vm.start_no, 7);
    ck_assert(!is_alive(pid));
    ck_assert_uint_eq(rig_await(&rig, K(INVENTORY)).u.inventory.count, 0);
}
END_TEST

START_TEST(a_start_that_a_dead_agent_never_let_run_runs_if_it_is_still_ordered)
{
    pid_t pid = fake_made(&fake, mq1, marked_domain);
    struct hf_report order = start_order(1, 7, 5000), r;

    begin_over(7, LEDGER_PAUSED);
    ck_assert(rig_is_quiet(&rig, K(VM) | K(INVENTORY), 100)); /* orders follow the list */
    send_start(&order, domain);
    r = rig_await(&rig, K(DONE) | K(VM));
    ck_assert_int_eq(r.kind, HF_REPORT_DONE);
    ck_assert_msg(r.u.done.outcome == HF_OUT_DONE, "%s", r.u.done.why);
    ck_assert_int_eq(rig_await(&rig, K(VM)).u.vm.seen, HF_SEEN_RUNNING);
    ck_assert(rig_is_quiet(&rig, K(VM), 1500)); /* and is not ended later */
    ck_assert(is_alive(pid));
    ck_assert_int_eq(remembered(7), LEDGER_CREATED);
}
END_TEST

/* Its guest may have run for days: dropping the order that adopts it must not end it. */
START_TEST(a_dropped_order_that_adopts_what_may_run_ends_nothing)
{
    struct hf_report drop = {.kind = HF_REPORT_DROP}, order = start_order(1, 7, 5000), r;
    pid_t pid = fake_made(&fake, mq1, marked_domain);

    begin_over(7, LEDGER_CREATED);
    r = rig_await(&rig, K(INVENTORY));
    ck_assert_uint_eq(r.u.inventory.count, 1);
    fake_set(&fake, &fake.shutdown, FAKE_HANG);
    for (uint32_t i = 0; _i == 0 && i < POOL_WORKERS; i++) { /* no worker begins the resume */
        struct job job = {.kind = JOB_SHUTDOWN, .uid = 99, .name = "busy"};

        ck_assert_uint_ne(pool_submit(vms.pool, &job), 0);
    }
    while (_i == 0 && fake_count(&fake, &fake.shutdowns) < POOL_WORKERS)
        ck_assert(rig_is_quiet(&rig, K(DONE), 5));
    fake_set(&fake, &fake.resume, FAKE_HANG);
    send_start(&order, domain);
    while (_i == 1 && fake_count(&fake, &fake.resumes) == 0)
        ck_assert(rig_is_quiet(&rig, K(DONE), 5));
    drop.u.drop.token = order.u.start.token;
    rig_send(&rig, &drop, -1);
    ck_assert(_i == 0 || rig_is_quiet(&rig, K(DONE), 50));
    fake_set(&fake, &fake.resume, FAKE_REFUSE);
    ck_assert_int_eq(rig_await(&rig, K(DONE)).u.done.outcome, HF_OUT_GAVE_UP);
    ck_assert(rig_is_quiet(&rig, K(VM), 100));
    fake_release(&fake);
    ck_assert(is_alive(pid));
    ck_assert_uint_eq(fake_count(&fake, &fake.destroys), 0);
}
END_TEST

/* Suspended by an operator, resumed by one, of a start that is not the one remembered. */
START_TEST(what_an_agent_let_run_or_somebody_else_did_is_not_ended)
{
    pid_t pid = fake_made(&fake, mq1, marked_domain);
    struct hf_report r;

    if (_i == 1)
        fake_runs(&fake, mq1, pid);
    begin_over(_i == 2 ? 6 : 7, _i == 0 ? LEDGER_CREATED : LEDGER_PAUSED);
    r = rig_await(&rig, K(INVENTORY));
    ck_assert_uint_eq(r.u.inventory.count, 1);
    ck_assert_uint_eq(r.u.inventory.vm[0].start_no, 7);
    ck_assert(rig_is_quiet(&rig, K(VM), 1500));
    ck_assert(is_alive(pid));
    ck_assert_uint_eq(fake_count(&fake, &fake.destroys), 0);
}
END_TEST

START_TEST(a_call_that_broke_off_proves_nothing_until_it_is_settled)
{
    struct hf_report r = {.kind = HF_REPORT_ASK};

    begin();
    fake_set(&fake, &fake.create, FAKE_GONE);
    fake_set(&fake, &fake.probe, FAKE_HANG);
    ck_assert_int_eq(start(1, 1, 5000).u.done.outcome, HF_OUT_GAVE_UP);
    rig_send(&rig, &r, -1);
    ck_assert(rig_is_quiet(&rig, K(INVENTORY), 50));
    ck_assert_int_eq(stop(2, 0, 200).u.done.outcome, HF_OUT_GAVE_UP);
    fake_release(&fake);
    ck_assert_int_eq(stop(3, 0, 6000).u.done.outcome, HF_OUT_DONE);
    ck_assert_uint_eq(rig_await(&rig, K(INVENTORY)).u.inventory.count, 0);
    ck_assert_int_eq(start(4, 1, 5000).u.done.outcome, HF_OUT_REFUSED);
}
END_TEST

static void send_self_stop(void)
{
    const struct hf_report r = {.kind = HF_REPORT_SELF_STOP};

    rig_send(&rig, &r, -1);
}

/* The second one was started by hand a moment ago, and nobody has seen it yet. */
START_TEST(the_end_of_the_lease_kills_every_vm_without_libvirt)
{
    pid_t ours = running(), theirs = fake_qemu(&fake, mq2, NULL);
    unsigned crashed = 0;

    fake_set(&fake, &fake.destroy, FAKE_HANG);
    send_self_stop();
    while (crashed != (1u << 1 | 1u << 2)) {
        struct hf_report r = rig_await(&rig, K(VM));

        if (r.u.vm.seen == HF_SEEN_CRASHED)
            crashed |= 1u << r.u.vm.uid;
        else
            ck_assert_uint_eq(r.u.vm.uid, 2); /* found; it may be told before it ends */
    }
    ck_assert(!is_alive(ours));
    ck_assert(!is_alive(theirs));
    ck_assert_uint_eq(fake_count(&fake, &fake.destroys), 0);
    fake_event(&fake, VIRT_EV_STOPPED_FAILED, mq1);
    ck_assert(rig_is_quiet(&rig, K(VM), 50));
    ck_assert_int_eq(start(2, 2, 5000).u.done.outcome, HF_OUT_DONE);
}
END_TEST

START_TEST(the_end_of_the_lease_ends_what_is_being_started)
{
    struct hf_report order = start_order(1, 1, 5000);

    begin();
    fake_set(&fake, &fake.create, FAKE_HANG);
    send_start(&order, domain);
    ck_assert_int_eq(rig_await(&rig, K(PROGRESS)).u.progress.phase, HF_PROGRESS_START_REQUESTED);
    send_self_stop();
    ck_assert_int_eq(rig_await(&rig, K(DONE)).u.done.outcome, HF_OUT_GAVE_UP);
    fake_release(&fake);
    await_crash(1);
    ck_assert(!is_alive(made(0)));
    ck_assert_uint_eq(fake_count(&fake, &fake.resumes), 0);
}
END_TEST

START_TEST(a_stop_under_way_at_the_end_of_the_lease_is_done)
{
    struct hf_report r = {.kind = HF_REPORT_STOP};
    pid_t pid = running();

    r.u.stop.token = (struct hf_token){2, 1};
    r.u.stop.uid = 1;
    r.u.stop.start_no = 1;
    r.u.stop.grace_ms = 10000; /* its guest does not listen */
    r.u.stop.deadline_ms = 15000;
    strcpy(r.u.stop.name, mq1);
    fake_set(&fake, &fake.shutdown, FAKE_LIE);
    rig_send(&rig, &r, -1);
    send_self_stop();
    ck_assert_int_eq(rig_await(&rig, K(DONE)).u.done.outcome, HF_OUT_DONE);
    ck_assert(!is_alive(pid));
}
END_TEST

HF_TEST_MAIN_WITH("agents/vm", setup, teardown, HF_CASE(a_start_tells_its_phases_and_the_process),
                  HF_CASE(the_same_start_twice_makes_one_process),
                  HF_CASE(another_start_of_a_running_vm_is_neither_done_nor_refused),
                  HF_CASE(a_refused_start_is_refused_and_a_wrong_xml_never_reaches_libvirt),
                  HF_CASE(libvirt_says_ok_but_there_is_no_process),
                  HF_CASE(a_connection_that_breaks_in_a_start_is_not_known),
                  HF_CASE(a_start_waits_until_libvirt_lets_go_of_the_last_instance),
                  HF_CASE(a_hung_start_is_given_up_and_its_late_process_is_ended),
                  HF_CASE(a_stop_that_waits_for_a_late_process_is_done),
                  HF_CASE(an_inventory_hands_back_the_stamp_of_the_newest_question),
                  HF_CASE(an_inventory_waits_for_a_start_that_is_under_way),
                  HF_CASE(a_killed_qemu_is_a_crash_at_once),
                  HF_LOOP(an_end_on_purpose_is_told_from_a_crash, 0, 6),
                  HF_CASE(a_late_word_of_an_earlier_instance_changes_nothing),
                  HF_CASE(libvirt_s_death_changes_nothing_but_the_watch),
                  HF_CASE(a_guest_that_listens_is_not_destroyed),
                  HF_CASE(the_ladder_ends_with_sigkill),
                  HF_CASE(a_stop_of_what_does_not_run_is_done),
                  HF_CASE(after_the_daemon_s_death_the_truth_and_the_results_are_told_again),
                  HF_CASE(what_runs_already_is_found_with_its_start_number),
                  HF_CASE(a_start_by_hand_is_noticed),
                  HF_CASE(a_start_not_begun_is_forgotten_when_dropped),
                  HF_CASE(a_start_dropped_while_libvirt_makes_it_is_ended),
                  HF_CASE(a_dropped_start_ends_by_sigkill_when_libvirt_does_not_help),
                  HF_CASE(a_dropped_start_ordered_again_while_it_is_ended_is_refused),
                  HF_CASE(an_order_that_cannot_wait_for_the_end_of_a_dropped_start_is_given_up),
                  HF_CASE(the_next_start_waits_until_a_dropped_one_is_ended),
                  HF_CASE(a_stop_of_a_dropped_start_that_is_ended_is_done),
                  HF_CASE(a_start_dropped_and_ordered_again_while_libvirt_makes_it_runs),
                  HF_CASE(a_start_that_ended_is_never_executed_again),
                  HF_CASE(the_next_agent_executes_no_start_again_either),
                  HF_CASE(a_start_that_cannot_be_remembered_is_not_executed),
                  HF_CASE(a_start_is_requested_when_a_worker_calls),
                  HF_CASE(a_process_of_a_dead_agent_s_create_is_adopted),
                  HF_CASE(a_stop_ends_what_a_dead_agent_s_create_makes),
                  HF_CASE(a_create_of_a_dead_agent_that_came_to_nothing),
                  HF_LOOP(a_word_of_libvirt_that_is_not_no_settles_nothing, 0, 2),
                  HF_CASE(a_create_of_a_dead_libvirt_is_gone),
                  HF_CASE(a_hung_libvirt_leaves_a_dead_agent_s_create_open),
                  HF_LOOP(a_start_that_a_dead_agent_never_let_run_is_ended, 0, 2),
                  HF_CASE(a_start_that_a_dead_agent_never_let_run_runs_if_it_is_still_ordered),
                  HF_LOOP(a_dropped_order_that_adopts_what_may_run_ends_nothing, 0, 2),
                  HF_LOOP(what_an_agent_let_run_or_somebody_else_did_is_not_ended, 0, 3),
                  HF_CASE(a_call_that_broke_off_proves_nothing_until_it_is_settled),
                  HF_CASE(the_end_of_the_lease_kills_every_vm_without_libvirt),
                  HF_CASE(the_end_of_the_lease_ends_what_is_being_started),
                  HF_CASE(a_stop_under_way_at_the_end_of_the_lease_is_done))
