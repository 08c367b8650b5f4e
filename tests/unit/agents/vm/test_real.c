/* The VM agent against a real libvirtd and real QEMU (TCG), in namespaces of their own: nothing of
 * the machine is touched, and all of it ends with the test. Needs root, libvirtd and QEMU; says
 * loudly when it cannot run. */
#include "agents/vm/vm.h"

#include "tests/fakes/agent_rig.h"
#include "tests/unit/check.h"

#include <errno.h>
#include <libvirt/libvirt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/vm/ledger.h"
#include "agents/vm/render.h"
#include "supervisord/door/door.h"

#define K(kind_) (1u << HF_REPORT_##kind_)
#define QEMU "/usr/bin/qemu-system-x86_64"
#define LIBVIRTD "/usr/sbin/libvirtd"

static struct agent_rig rig;
static struct vm_agent vms;
static pid_t libvirtd;
static struct virt virt; /* libvirt's event loop is once per process */

static const char domain[] = "<domain type='qemu'><name>mq-1</name><memory unit='MiB'>32</memory>"
                             "<os><type arch='x86_64' machine='q35'>hvm</type></os>"
                             "<features><acpi/></features>"
                             "<devices><emulator>" QEMU "</emulator>"
                             "<controller type='usb' model='none'/><memballoon model='none'/>"
                             "</devices></domain>";

/* ---- the private libvirtd ---- */

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "test_real: %s: %s\n", what, strerror(errno));
        exit(EXIT_FAILURE);
    }
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");

    must(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, path);
}

static void own_folders(void)
{
    static const char *const folders[] = {"/run", "/etc/libvirt", "/var/lib/libvirt",
                                          "/var/log/libvirt", "/var/cache/libvirt"};

    must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "private mounts");
    must(mount("proc", "/proc", "proc", 0, NULL) == 0, "/proc");
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        must(mount("tmpfs", folders[i], "tmpfs", 0, "mode=755") == 0, folders[i]);
    write_text("/etc/libvirt/qemu.conf", "security_driver = \"none\"\nuser = \"root\"\n"
                                         "group = \"root\"\ndynamic_ownership = 0\n"
                                         "remember_owner = 0\ncgroup_controllers = [ ]\n"
                                         "namespaces = [ ]\nstdio_handler = \"file\"\n");
    write_text("/etc/libvirt/libvirtd.conf", "auth_unix_rw = \"none\"\nauth_unix_ro = \"none\"\n"
                                             "host_uuid = "
                                             "\"77000000-0000-4000-8000-000000000001\"\n"
                                             "log_outputs = \"4:file:/var/log/libvirt/d.log\"\n");
}

static void start_libvirtd(void)
{
    libvirtd = fork();
    must(libvirtd >= 0, "fork");
    if (libvirtd == 0) {
        execl(LIBVIRTD, LIBVIRTD, (char *)NULL);
        _exit(127);
    }
}

/* ---- the agent ---- */

static void send_list(void)
{
    struct hf_report r = {.kind = HF_REPORT_VMS};

    r.u.vms.uid = 1;
    strcpy(r.u.vms.name, "mq-1");
    rig_send(&rig, &r, -1);
    r = (struct hf_report){.kind = HF_REPORT_VMS};
    r.u.vms.is_last = true;
    rig_send(&rig, &r, -1);
}

static void await_watch(bool known)
{
    while (rig_await(&rig, K(WATCH)).u.watch.known != known)
        ;
}

static void open_agent(void)
{
    struct agent_setup s;
    struct hf_err err;

    memset(&vms, 0, sizeof vms);
    vms.where = (struct qemu_where){.proc = "/proc", .run = "/run/libvirt/qemu"};
    vms.ledger = "/run/holdfast/vm-agent";
    s = rig_setup(&rig, HF_AGENT_VM, &vm_calls, &vms);
    must(pool_open(&vms.pool, &virt, &err) == HF_OK, err.text);
    must(agent_open(&rig.agent, &s, &err) == HF_OK, err.text);
    must(vm_open(&vms, rig.agent, &err) == HF_OK, err.text);
}

static void setup(void)
{
    struct hf_err err;

    /* Over what the case before left there. */
    must(mount("tmpfs", "/run", "tmpfs", 0, "mode=755") == 0, "/run");
    start_libvirtd();
    render_init();
    rig_open(&rig);
    must(libvirt_open(&virt, "qemu:///system", true, &err) == HF_OK, err.text);
    open_agent();
    rig_run(&rig, HF_AGENT_VM);
    await_watch(true);
    send_list();
    must(rig_await(&rig, K(INVENTORY)).u.inventory.count == 0, "nothing runs yet");
}

/* libvirt first, so that it does not see its qemus end. Its event thread ends with the process. */
static void teardown(void)
{
    rig_stop(&rig);
    must(kill(libvirtd, SIGKILL) == 0 && waitpid(libvirtd, NULL, 0) == libvirtd, "end libvirtd");
    for (size_t i = 0; i < HF_VMS_MAX; i++) {
        if (vms.vm[i].is_used && vms.vm[i].life == VM_ON)
            (void)qemu_kill(vms.vm[i].pidfd);
    }
    vm_close(&vms);
    rig_close(&rig);
    (void)rmdir(rig.folder);
}

static double ms_since(hf_time then)
{
    return (double)(hf_clock_now().ns - then.ns) / 1e6;
}

static pid_t start(uint32_t start_no)
{
    struct hf_report r = {.kind = HF_REPORT_START};
    hf_time then = hf_clock_now();
    struct hf_err err;
    int fd;

    r.u.start.token = (struct hf_token){start_no, 1};
    r.u.start.uid = 1;
    r.u.start.start_no = start_no;
    r.u.start.deadline_ms = 8000;
    r.u.start.memory_mib = 32;
    strcpy(r.u.start.name, "mq-1");
    r.u.start.xml = hf_digest_of(domain, strlen(domain));
    ck_assert_int_eq(door_memory("xml", domain, strlen(domain), &fd, &err), HF_OK);
    rig_send(&rig, &r, fd);
    do {
        r = rig_await(&rig, K(DONE) | K(PROGRESS));
        if (r.kind == HF_REPORT_PROGRESS)
            printf("  phase %d at %.1f ms\n", (int)r.u.progress.phase, ms_since(then));
    } while (r.kind != HF_REPORT_DONE);
    ck_assert_msg(r.u.done.outcome == HF_OUT_DONE, "%s", r.u.done.why);
    r = rig_await(&rig, K(VM));
    ck_assert_int_eq(r.u.vm.seen, HF_SEEN_RUNNING);
    ck_assert_uint_eq(r.u.vm.start_no, start_no);
    return (pid_t)r.u.vm.pid;
}

static struct hf_report stop(uint64_t seq, uint32_t deadline_ms)
{
    struct hf_report r = {.kind = HF_REPORT_STOP};

    r.u.stop.token = (struct hf_token){seq, 1};
    r.u.stop.uid = 1;
    r.u.stop.deadline_ms = deadline_ms;
    strcpy(r.u.stop.name, "mq-1");
    rig_send(&rig, &r, -1);
    return rig_await(&rig, K(DONE));
}

START_TEST(a_killed_qemu_is_told_within_milliseconds_and_started_again)
{
    for (uint32_t start_no = 1; start_no <= 5; start_no += 2) {
        pid_t pid = start(start_no);
        hf_time then = hf_clock_now();

        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(rig_await(&rig, K(VM)).u.vm.seen, HF_SEEN_CRASHED);
        printf("SIGKILL to CRASHED: %.2f ms\n", ms_since(then));
        ck_assert_int_lt((int)ms_since(then), 500);
        (void)start(start_no + 1);
        printf("SIGKILL to running again: %.1f ms\n", ms_since(then));
        ck_assert_int_eq(stop(100 + start_no, 8000).u.done.outcome, HF_OUT_DONE);
    }
}
END_TEST

static virDomainPtr find(virConnectPtr *conn)
{
    *conn = virConnectOpen("qemu:///system");
    ck_assert_ptr_nonnull(*conn);
    return virDomainLookupByName(*conn, "mq-1");
}

/* By hand, by SIGTERM, and the guest's own end are told apart. */
START_TEST(a_destroy_by_hand_is_no_crash)
{
    unsigned flags = _i == 0 ? 0 : VIR_DOMAIN_DESTROY_GRACEFUL;
    virConnectPtr conn;
    virDomainPtr vm;
    hf_time then;

    (void)start(1);
    vm = find(&conn);
    then = hf_clock_now();
    ck_assert_int_eq(virDomainDestroyFlags(vm, flags), 0);
    printf("destroy returned: %.2f ms\n", ms_since(then));
    ck_assert_int_eq(rig_await(&rig, K(VM)).u.vm.seen, HF_SEEN_DESTROYED);
    printf("destroy to DESTROYED: %.2f ms\n", ms_since(then));
    ck_assert(rig_is_quiet(&rig, K(VM), 100));
    virDomainFree(vm);
    virConnectClose(conn);
}
END_TEST

/* libvirt kills a hung qemu after 10 s and says so only after it has looked again, up to 200 ms
 * later: a crash is told at once, and corrected. */
START_TEST(a_hard_destroy_of_a_hung_qemu_is_told_as_a_crash_and_corrected)
{
    pid_t pid = start(1);
    virConnectPtr conn;
    virDomainPtr vm = find(&conn);

    ck_assert_int_eq(kill(pid, SIGSTOP), 0);
    ck_assert_int_eq(virDomainDestroy(vm), 0);
    ck_assert_int_eq(rig_await(&rig, K(VM)).u.vm.seen, HF_SEEN_CRASHED);
    ck_assert_int_eq(rig_await(&rig, K(VM)).u.vm.seen, HF_SEEN_DESTROYED);
    virDomainFree(vm);
    virConnectClose(conn);
}
END_TEST

START_TEST(a_sigterm_from_the_host_is_a_crash)
{
    pid_t pid = start(1);
    hf_time then = hf_clock_now();

    ck_assert_int_eq(kill(pid, SIGTERM), 0);
    ck_assert_int_eq(rig_await(&rig, K(VM)).u.vm.seen, HF_SEEN_CRASHED);
    printf("SIGTERM to CRASHED: %.2f ms\n", ms_since(then));
}
END_TEST

START_TEST(a_stopped_libvirtd_stops_nothing)
{
    pid_t pid = start(1);
    hf_time then = hf_clock_now();

    ck_assert_int_eq(kill(libvirtd, SIGSTOP), 0);
    await_watch(false);
    printf("libvirtd stopped to watch unknown: %.0f ms\n", ms_since(then));
    ck_assert_int_eq(kill(pid, 0), 0);
    then = hf_clock_now();
    ck_assert_int_eq(stop(2, 8000).u.done.outcome, HF_OUT_DONE);
    printf("stop without libvirt: %.1f ms\n", ms_since(then));
    ck_assert_int_eq(kill(libvirtd, SIGCONT), 0);
    await_watch(true);
    (void)start(3);
}
END_TEST

START_TEST(a_killed_libvirtd_loses_nothing)
{
    pid_t pid = start(5);
    struct hf_report r;

    ck_assert_int_eq(kill(libvirtd, SIGKILL), 0);
    ck_assert_int_eq(waitpid(libvirtd, NULL, 0), libvirtd);
    await_watch(false);
    ck_assert(rig_is_quiet(&rig, K(VM), 100));
    rig_restart(&rig, HF_AGENT_VM);
    send_list();
    r = rig_await(&rig, K(INVENTORY));
    ck_assert_uint_eq(r.u.inventory.count, 1);
    ck_assert_uint_eq(r.u.inventory.vm[0].start_no, 5);
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(rig_await(&rig, K(VM)).u.vm.seen, HF_SEEN_CRASHED);
    (void)unlink("/run/libvirtd.pid");
    start_libvirtd();
    await_watch(true);
    (void)start(6);
}
END_TEST

/* ---- an agent that dies in virDomainCreateXML ---- */

static void close_agent(void)
{
    uint64_t count;

    rig_stop(&rig);
    ck_assert_int_eq(read(rig.stop_fd, &count, sizeof count), sizeof count);
    close(rig.fd);
    vm_close(&vms);
    agent_close(rig.agent); /* its pool stays: libvirt's thread may still speak to it */
}

static char state_of(pid_t pid)
{
    char path[64], state = '?';
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (file != NULL) {
        if (fscanf(file, "%*d %*s %c", &state) != 1)
            state = '?';
        fclose(file);
    }
    return state;
}

/* A client that stops libvirtd and then asks it for a domain: what it asked for is on its way when
 * it sleeps. A program of its own: this one has libvirt's threads. */
static int be_client(const char *daemon, const char *xml)
{
    virConnectPtr conn = virConnectOpen("qemu:///system");

    if (conn == NULL || kill((pid_t)atoi(daemon), SIGSTOP) != 0)
        return EXIT_FAILURE;
    (void)virDomainCreateXML(conn, xml, VIR_DOMAIN_START_PAUSED);
    return EXIT_SUCCESS;
}

static void die_in_create(const char *xml)
{
    hf_time until = hf_time_add_ms(hf_clock_now(), 5000);
    char daemon[32];
    int asleep = 0;
    pid_t pid;

    snprintf(daemon, sizeof daemon, "%d", (int)libvirtd);
    pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "test_real", "client", daemon, xml, (char *)NULL);
        _exit(127);
    }
    while (asleep < 20) {
        asleep = state_of(libvirtd) == 'T' && state_of(pid) == 'S' ? asleep + 1 : 0;
        (void)poll(NULL, 0, 1);
        ck_assert(!hf_time_reached(hf_clock_now(), until));
    }
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

static bool has_qemu(void)
{
    const char *name = "mq-1";
    struct qemu found;
    struct hf_err err;

    ck_assert_msg(qemu_look(&vms.where, &name, 1, &found, &err) == HF_OK, "%s", err.text);
    return found.pid != 0;
}

/* The daemon goes on (it then executes what it had not read), another takes its place, or the agent
 * died before the call. */
START_TEST(a_create_of_a_dead_client_is_settled_before_anything_is_said)
{
    struct ledger_entry entry = {
        .uid = 1, .start_no = 9, .state = LEDGER_CREATING, .name = "mq-1"};
    struct hf_report r;
    struct hf_err err;
    hf_time then;
    char *xml;

    close_agent();
    ck_assert_int_eq(render_start(domain, strlen(domain), "mq-1", 1, 9, &xml, &err), HF_OK);
    entry.driver = qemu_driver(&vms.where);
    ck_assert_int_eq(entry.driver.pid, libvirtd);
    ck_assert_int_eq(ledger_write(vms.ledger, &entry, &err), HF_OK);
    if (_i < 2)
        die_in_create(xml);
    free(xml);
    open_agent();
    rig_run(&rig, HF_AGENT_VM);
    send_list();
    ck_assert_int_eq(stop(1, 500).u.done.outcome, HF_OUT_GAVE_UP);
    ck_assert(rig_is_quiet(&rig, K(INVENTORY), 500));
    ck_assert(!has_qemu());
    if (_i == 1) {
        ck_assert_int_eq(kill(libvirtd, SIGKILL), 0);
        ck_assert_int_eq(waitpid(libvirtd, NULL, 0), libvirtd);
        (void)unlink("/run/libvirtd.pid");
        start_libvirtd();
    } else if (_i == 0) {
        ck_assert_int_eq(kill(libvirtd, SIGCONT), 0);
    }
    then = hf_clock_now();
    r = stop(2, 8000);
    printf("case %d: %s after %.0f ms\n", _i, r.u.done.why, ms_since(then));
    ck_assert_int_eq(r.u.done.outcome, HF_OUT_DONE);
    ck_assert(!has_qemu());
    ck_assert(rig_is_quiet(&rig, K(VM), 1000));
    ck_assert(!has_qemu());
    ck_assert_int_eq(ledger_read(vms.ledger, 1, &entry, &err), HF_OK);
    ck_assert_int_ne(entry.state, LEDGER_CREATING);
}
END_TEST

/* An agent that dies between create and resume; and one that dies later, of a guest that was
 * suspended by hand since: libvirt says the same of both. */
START_TEST(only_a_guest_that_never_ran_is_ended_by_the_next_agent)
{
    struct ledger_entry entry = {.uid = 1, .start_no = 9, .name = "mq-1"};
    virConnectPtr conn = virConnectOpen("qemu:///system");
    virDomainPtr vm;
    struct hf_report r;
    struct hf_err err;
    char *xml;

    ck_assert_ptr_nonnull(conn);
    close_agent();
    entry.state = _i == 0 ? LEDGER_PAUSED : LEDGER_CREATED;
    ck_assert_int_eq(ledger_write(vms.ledger, &entry, &err), HF_OK);
    ck_assert_int_eq(render_start(domain, strlen(domain), "mq-1", 1, 9, &xml, &err), HF_OK);
    vm = virDomainCreateXML(conn, xml, VIR_DOMAIN_START_PAUSED);
    ck_assert_ptr_nonnull(vm);
    free(xml);
    ck_assert(_i == 0 || (virDomainResume(vm) == 0 && virDomainSuspend(vm) == 0));
    virDomainFree(vm);
    (void)virConnectClose(conn);
    open_agent();
    rig_run(&rig, HF_AGENT_VM);
    send_list();
    if (_i == 0) {
        r = rig_await(&rig, K(VM) | K(INVENTORY));
        ck_assert_int_eq(r.kind, HF_REPORT_VM);
        ck_assert_int_eq(r.u.vm.seen, HF_SEEN_CRASHED);
        ck_assert_uint_eq(r.u.vm.start_no, 9);
    }
    ck_assert_uint_eq(rig_await(&rig, K(INVENTORY)).u.inventory.count, _i == 0 ? 0 : 1);
    ck_assert(has_qemu() == (_i != 0));
}
END_TEST

static int run_cases(void)
{
    const struct hf_case cases[] = {
        HF_CASE(a_killed_qemu_is_told_within_milliseconds_and_started_again),
        HF_LOOP(a_destroy_by_hand_is_no_crash, 0, 2),
        HF_CASE(a_sigterm_from_the_host_is_a_crash),
        HF_CASE(a_stopped_libvirtd_stops_nothing),
        HF_CASE(a_killed_libvirtd_loses_nothing),
        HF_LOOP(a_create_of_a_dead_client_is_settled_before_anything_is_said, 0, 3),
        HF_LOOP(only_a_guest_that_never_ran_is_ended_by_the_next_agent, 0, 2),
        HF_CASE(a_hard_destroy_of_a_hung_qemu_is_told_as_a_crash_and_corrected),
    };

    return hf_test_run("agents/vm on a real libvirtd", cases, sizeof cases / sizeof cases[0],
                       setup, teardown);
}

/* One case a namespace would be cleaner still; what a case leaves is killed before the next. */
static int first_process(void)
{
    pid_t tests = fork(), pid;
    int status = 0;

    if (tests == 0) {
        own_folders();
        _exit(run_cases());
    }
    do {
        int one = 0;

        pid = wait(&one);
        if (pid == tests)
            status = one;
    } while (pid != tests && (pid > 0 || errno == EINTR));
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    pid_t first;
    int status = 0;

    (void)signal(SIGPIPE, SIG_IGN); /* as the agent's main() does: libvirtd is killed here */
    if (argc == 4 && strcmp(argv[1], "client") == 0)
        return be_client(argv[2], argv[3]);
    if (geteuid() != 0 || access(LIBVIRTD, X_OK) != 0 || access(QEMU, X_OK) != 0 ||
        unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID) != 0) {
        fprintf(stderr, "SKIPPED: agents/vm on a real libvirtd needs root, namespaces, %s and %s\n",
                LIBVIRTD, QEMU);
        return EXIT_SUCCESS;
    }
    first = fork();
    if (first == 0)
        _exit(first_process());
    must(first > 0 && waitpid(first, &status, 0) == first, "the namespace's first process");
    /* Not exit(): a leak check needs a new thread, and this process's namespace has ended. */
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}
