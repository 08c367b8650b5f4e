/* The real `holdfast` program against the real server in this process, through a real door. */
#include "tests/unit/supervisord/ctl/fake_daemon.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char folder[64], door[128], program[PATH_MAX];
static char out[1 << 20], wrong[16384]; /* stdout and stderr of the last run */
static int listen_fd;

/* The command is built beside the tests: build/unit/this, build/bin/holdfast. */
static void find_program(void)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

    ck_assert_int_gt(len, 0);
    self[len] = '\0';
    for (unsigned i = 0; i < 2; i++)
        *strrchr(self, '/') = '\0';
    ck_assert_int_lt(snprintf(program, sizeof program, "%s/bin/holdfast", self),
                     (int)sizeof program);
    ck_assert_msg(access(program, X_OK) == 0, "%s is not built", program);
}

static void set_up(void)
{
    struct hf_err err;

    find_program();
    strcpy(folder, "/tmp/holdfast-ctl-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(door, sizeof door, "%s/ctl.sock", folder);
    ck_assert_int_eq(door_listen(door, NULL, &listen_fd, &err), HF_OK);
    fake_open(listen_fd);
    fake_group_up();
}

static void tear_down(void)
{
    fake_close();
    close(listen_fd);
    (void)unlink(door);
    ck_assert_int_eq(rmdir(folder), 0);
}

static pid_t start(int out_fd, int wrong_fd, const char *const *words)
{
    const char *argv[32] = {program, "--socket", door};
    const char *env[] = {"LANG=C.UTF-8", "COLUMNS=100", "TZ=UTC0", "PATH=/usr/bin:/bin", NULL};
    unsigned argc = 3;
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    while (*words != NULL && argc < 31)
        argv[argc++] = *words++;
    (void)dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
    (void)dup2(out_fd, STDOUT_FILENO);
    (void)dup2(wrong_fd, STDERR_FILENO);
    (void)execve(program, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)env);
    _exit(127);
}

/* A place in /tmp that takes any amount; read after the end. */
static int scratch(void)
{
    int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    ck_assert_int_ge(fd, 0);
    return fd;
}

static void take(int fd, char *text, size_t cap)
{
    ssize_t len = pread(fd, text, cap - 1, 0);

    ck_assert_int_ge(len, 0);
    text[len] = '\0';
    close(fd);
}

/* Run `holdfast` with these words (ended by NULL) while the daemon serves; its exit code. During
 * the run `meanwhile` is called at every turn of the loop. */
static int run_while(void (*meanwhile)(void), const char *first, ...)
{
    const char *words[32] = {first};
    int out_fd = scratch(), wrong_fd = scratch(), state = 0;
    unsigned count = 1;
    va_list args;
    pid_t pid;

    va_start(args, first);
    while (words[count - 1] != NULL && count < 32)
        words[count++] = va_arg(args, const char *);
    va_end(args);
    pid = start(out_fd, wrong_fd, words);
    for (unsigned turns = 0; waitpid(pid, &state, WNOHANG) == 0; turns++) {
        if (turns > 1500) { /* ten seconds and more: below the case's own limit */
            (void)kill(pid, SIGKILL);
            (void)waitpid(pid, &state, 0);
            ck_abort_msg("holdfast did not end");
        }
        fake_turn(10);
        if (meanwhile != NULL)
            meanwhile();
    }
    take(out_fd, out, sizeof out);
    take(wrong_fd, wrong, sizeof wrong);
    ck_assert(WIFEXITED(state));
    return WEXITSTATUS(state);
}

#define run(...) run_while(NULL, __VA_ARGS__, (const char *)NULL)

static void write_file(const char *name, const char *text, char path[160])
{
    int fd;

    (void)snprintf(path, 160, "%s/%s", folder, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* ---- looking ---- */

START_TEST(status_answers_at_one_glance)
{
    fake_add_vm("trade1", true);
    ck_assert(fake_done(HF_FX_VM_START, HF_OUT_DONE));
    fake_path(0, 0, HF_PATH_OK, 0);
    fake_path(1, 0, HF_PATH_OK, 0);
    f.shell.path[0][0] = (struct ctl_path){f.when.boot, 1234, "on"};
    fake_attest(1, HF_WD_ARMED);
    fake_at(90);
    ck_assert_int_eq(run("status"), HF_CTL_OK);
    ck_assert_str_eq(
        out, "colo   quorate 3/3   armed   epoch 1   seen from n1\n"
             "\n"
             "NODES  state   since  VMs       free memory  cores  prove dead by\n"
             "n1     member   90 s    1  59 GiB of 64 GiB     16  level 1 1.2 s\n"
             "n2     member   90 s    0  63 GiB of 64 GiB     16  level 1 / watchdog 14.1 s\n"
             "n3     member   90 s    0  63 GiB of 64 GiB     16  level 1 (not tried)\n"
             "\n"
             "VMS   1 running\n"
             "VM      state    node  since  memory\n"
             "trade1  running  n1     90 s   4 GiB\n"
             "\n"
             "Nothing needs you.\n");
    ck_assert_str_eq(wrong, "");
}
END_TEST

START_TEST(status_ends_with_what_to_type_next)
{
    fake_two_vms();
    fake_host_gone(1);
    fake_at(5);
    ck_assert_int_eq(run("status"), HF_CTL_OK);
    ck_assert_ptr_nonnull(strstr(out, "NEEDS YOU\n"
                                      "  n2  being fenced: level 1 by n1\n"
                                      "      since 09:13:20 (5 s)   holdfast why n2\n"
                                      "  b   down: waits for proof that it does not run on n2\n"
                                      "      since 09:13:20 (5 s)   holdfast why b\n"));
}
END_TEST

START_TEST(json_is_what_the_daemon_said)
{
    ck_assert_int_eq(run("status", "--json"), HF_CTL_OK);
    ck_assert_int_eq(strncmp(out, "{\"version\":1,", 13), 0);
    ck_assert_int_eq(run("nodes", "--json"), HF_CTL_OK);
    ck_assert_ptr_nonnull(strstr(out, "\"nodes\":["));
    ck_assert_ptr_null(strstr(out, "\"vms\":["));
    ck_assert_int_eq(run("vms", "--json"), HF_CTL_OK);
    ck_assert_ptr_nonnull(strstr(out, "\"vms\":[]"));
    ck_assert_int_eq(run("config", "show"), HF_CTL_OK);
    ck_assert_str_eq(out, "group colo {\n}\n");
}
END_TEST

START_TEST(events_are_numbered_lines)
{
    ck_assert_int_eq(run("events", "--subject", "n2"), HF_CTL_OK);
    ck_assert_ptr_nonnull(strstr(out, "n2          joining \u2192 member             it has told"));
    ck_assert_ptr_null(strstr(out, "n3 "));
    ck_assert_int_eq(run("events", "--json", "--after", "1"), HF_CTL_OK);
    ck_assert_ptr_nonnull(strstr(out, "\n{\"seq\":2,"));
    ck_assert_ptr_null(strstr(out, "\n{\"seq\":1,"));
}
END_TEST

START_TEST(why_tells_the_trail_and_the_rules)
{
    fake_add_vm("trade1", true);
    ck_assert(fake_done(HF_FX_VM_START, HF_OUT_DONE));
    ck_assert_int_eq(run("why", "trade1"), HF_CTL_OK);
    ck_assert_int_eq(strncmp(out, "trade1 is running on n1 since", 29), 0);
    ck_assert_ptr_nonnull(strstr(out, "placing \u2192 starting"));
    ck_assert_ptr_nonnull(strstr(out, "If it had to be placed now (4 GiB)"));
    ck_assert_int_eq(run("why", "n9"), HF_CTL_REFUSED);
    ck_assert_ptr_nonnull(strstr(wrong, "no such node, VM or NIC"));
}
END_TEST

/* ---- ordering ---- */

static const char domain[] = "<domain type='kvm'><name>trade1</name>"
                             "<memory unit='MiB'>2048</memory></domain>";

START_TEST(vm_add_reads_name_and_memory_and_hands_the_xml_over)
{
    char path[160];

    write_file("vm.xml", domain, path);
    ck_assert_int_eq(run("vm", "add", path, "--priority", "900", "--apart", "gw", "--allowed",
                         "n2,n3", "--preferred", "n3", "--stop-grace", "1min"),
                     HF_CTL_OK);
    ck_assert_str_eq(out, "vm-add trade1: ordered\n");
    ck_assert_str_eq(f.held.u.order.def.name, "trade1");
    ck_assert_uint_eq(f.held.u.order.def.memory_mib, 2048);
    ck_assert_uint_eq(f.held.u.order.def.priority, 900);
    ck_assert_str_eq(f.held.u.order.def.apart, "gw");
    ck_assert_uint_eq(f.held.u.order.def.allowed, 6);
    ck_assert_uint_eq(f.held.u.order.def.preferred.ix, 2);
    ck_assert_uint_eq(f.held.u.order.def.stop_grace_ms, 60000);
    ck_assert(f.held.u.order.wants_run);
    ck_assert_uint_eq(f.blob_len, strlen(domain));
    ck_assert_int_eq(run("vm", "add", "trade1", path), HF_CTL_REFUSED);
    ck_assert_ptr_nonnull(strstr(wrong, "vm-add trade1 refused: that name is taken"));
    (void)unlink(path);
}
END_TEST

START_TEST(vm_add_refuses_a_wrong_file_before_sending_anything)
{
    char path[160];

    write_file("vm.xml", domain, path);
    ck_assert_int_eq(run("vm", "add", "trade2", path), HF_CTL_USAGE);
    ck_assert_ptr_nonnull(strstr(wrong, "is the XML of 'trade1', not of 'trade2'"));
    ck_assert_int_eq(run("vm", "add", path, "--memory", "lots"), HF_CTL_USAGE);
    ck_assert_int_eq(run("vm", "add", "/nonexistent.xml"), HF_CTL_USAGE);
    ck_assert_ptr_nonnull(strstr(wrong, "No such file"));
    ck_assert_uint_eq(f.orders_count + f.blobs_count, 0);
    (void)unlink(path);
}
END_TEST

static void start_ends(void)
{
    static unsigned turns;

    if (f.orders_count > 0 && ++turns == 20) { /* the guest takes a while */
        (void)fake_done(HF_FX_VM_START, HF_OUT_DONE);
    }
}

START_TEST(wait_ends_when_the_vm_runs)
{
    fake_add_vm("trade1", false);
    ck_assert_int_eq(run_while(start_ends, "vm", "start", "trade1", "--wait", (const char *)NULL),
                     HF_CTL_OK);
    ck_assert_int_eq(strncmp(out, "trade1 running on n1 (", 22), 0);
}
END_TEST

START_TEST(wait_has_an_end)
{
    fake_add_vm("trade1", false);
    ck_assert_int_eq(run("vm", "start", "trade1", "--wait", "--timeout", "200ms", "--json"),
                     HF_CTL_REFUSED);
    ck_assert_ptr_nonnull(strstr(out, "\"reached\":false"));
    ck_assert_ptr_nonnull(strstr(wrong, "the order stands"));
}
END_TEST

START_TEST(a_refusal_says_why_and_exits_with_one)
{
    ck_assert_int_eq(run("vm", "stop", "nobody"), HF_CTL_REFUSED);
    ck_assert_ptr_nonnull(strstr(wrong, "holdfast: there is no vm 'nobody'"));
    ck_assert_int_eq(run("undrain", "n1"), HF_CTL_OK);
    ck_assert_ptr_nonnull(strstr(out, "it is so already"));
}
END_TEST

START_TEST(a_frozen_group_exits_with_four)
{
    f.shell.phase = CTL_PHASE_FROZEN;
    ck_assert_int_eq(run("disarm"), HF_CTL_NOT_QUORATE);
    ck_assert_ptr_nonnull(strstr(wrong, "holdfast status"));
    ck_assert_int_eq(run("status"), HF_CTL_OK);
    ck_assert_ptr_nonnull(strstr(out, "NOT QUORATE"));
}
END_TEST

START_TEST(fencing_needs_a_person_or_yes)
{
    ck_assert_int_eq(run("fence", "n2"), HF_CTL_USAGE);
    ck_assert_ptr_nonnull(strstr(wrong, "--yes"));
    ck_assert_int_eq(run("fence", "confirm", "n2", "--typed", "n2"), HF_CTL_USAGE);
    ck_assert_ptr_nonnull(strstr(wrong, "--reason"));
    ck_assert_int_eq(run("fence", "confirm", "n2", "--reason", "I see it"), HF_CTL_USAGE);
    ck_assert_ptr_nonnull(strstr(wrong, "--typed"));
    ck_assert_int_eq(run("fence", "confirm", "n2", "--yes", "--reason", "I see it"), HF_CTL_USAGE);
    ck_assert_int_eq(run("fence", "confirm", "n2", "--typed", "n3", "--reason", "I see it"),
                     HF_CTL_USAGE);
    ck_assert_ptr_nonnull(strstr(wrong, "'n3' is not 'n2': nothing was done"));
    ck_assert_uint_eq(f.orders_count, 0);
    ck_assert_int_eq(run("fence", "n2", "--yes"), HF_CTL_OK);
    ck_assert_int_eq(f.held.u.order.type, HF_ORDER_FENCE);
    ck_assert_int_eq(run("fence", "confirm", "n2", "--typed", "n2", "--reason", "I see it"),
                     HF_CTL_REFUSED);
    ck_assert_int_eq(f.held.u.order.type, HF_ORDER_CONFIRM);
    ck_assert_str_eq(f.held.u.order.reason, "I see it");
}
END_TEST

static void test_ends(void)
{
    static unsigned turns;

    if (f.test_cookie != 0 && ++turns == 5)
        fake_tested(HF_PATH_DENIED, 812, "bmc-n2: login refused");
}

START_TEST(a_fence_test_shows_each_level_and_fails_with_it)
{
    ck_assert_int_eq(run_while(test_ends, "fence", "test", "n2", (const char *)NULL),
                     HF_CTL_REFUSED);
    ck_assert_ptr_nonnull(strstr(out, "denied"));
    ck_assert_ptr_nonnull(strstr(out, "0.8 s"));
    ck_assert_ptr_nonnull(strstr(out, "bmc-n2: login refused"));
    ck_assert_int_eq(run("fence", "test", "n2", "--level", "4"), HF_CTL_REFUSED);
    ck_assert_ptr_nonnull(strstr(wrong, "no fence level of that number"));
    ck_assert_int_eq(run("fence", "test", "n9"), HF_CTL_REFUSED);
    ck_assert_ptr_nonnull(strstr(wrong, "there is no node 'n9'"));
}
END_TEST

START_TEST(a_power_cycle_is_for_a_drained_and_empty_node_elsewhere)
{
    ck_assert_int_eq(run("fence", "test", "n1", "--power-cycle", "--yes"), HF_CTL_REFUSED);
    ck_assert_ptr_nonnull(strstr(wrong, "ask another node"));
    ck_assert_int_eq(run("fence", "test", "n2", "--power-cycle", "--yes"), HF_CTL_REFUSED);
    ck_assert_ptr_nonnull(strstr(wrong, "holdfast drain n2 --wait"));
    fake_two_vms(); /* "b" is on n2, and nobody moves it here */
    fake_order_step(HF_ORDER_DRAIN, (hf_node){1}, "");
    ck_assert_int_eq(run("fence", "test", "n2", "--power-cycle", "--yes"), HF_CTL_REFUSED);
    ck_assert_ptr_nonnull(strstr(wrong, "1 VM may be running on n2"));
    ck_assert_int_eq(run("fence", "test", "n9", "--power-cycle", "--yes"), HF_CTL_REFUSED);
    ck_assert_uint_eq(f.orders_count, 0);
}
END_TEST

/* What the devices and the host would do, a few turns after each order. */
static void cycle_goes_on(void)
{
    static unsigned turns, step;

    if (f.orders_count == 0 || ++turns % 4 != 0)
        return;
    if (step == 0 && f.held.u.order.type == HF_ORDER_FENCE) {
        fake_host_gone(1);
        ck_assert(fake_done(HF_FX_FENCE, HF_OUT_DONE));
        step = 1;
    } else if (step == 1 && f.held.u.order.type == HF_ORDER_POWER_ON) {
        ck_assert(fake_done(HF_FX_POWER_ON, HF_OUT_DONE));
        step = 2;
    } else if (step == 2) {
        fake_boots(1);
        f.member[1].boot.id[1] = 1; /* another boot than before */
        f.member[1].incarnation = 200;
        fake_members();
        step = 3;
    } else if (step == 3) {
        fake_ready(1);
        step = 4;
    }
}

START_TEST(a_power_cycle_tells_its_phases_and_ends_with_a_member)
{
    static const char *const phases[] = {"fence ordered", "proved dead",       "power on ordered",
                                         "switched on",   "back in the group", "member again"};
    const char *at;

    fake_order_step(HF_ORDER_DRAIN, (hf_node){1}, "");
    ck_assert_int_eq(run_while(cycle_goes_on, "fence", "test", "n2", "--power-cycle", "--yes",
                               "--reason", "Q4", (const char *)NULL),
                     HF_CTL_OK);
    at = out;
    for (unsigned i = 0; i < sizeof phases / sizeof phases[0]; i++) {
        at = strstr(at, phases[i]);
        ck_assert_msg(at != NULL, "%s is not next in:\n%s", phases[i], out);
    }
    ck_assert_ptr_nonnull(strstr(out, "holdfast undrain n2"));
    ck_assert_str_eq(f.held.u.order.reason, "Q4");
}
END_TEST

START_TEST(a_power_cycle_that_does_not_come_to_its_end_is_told)
{
    fake_order_step(HF_ORDER_DRAIN, (hf_node){1}, "");
    ck_assert_int_eq(
        run("fence", "test", "n2", "--power-cycle", "--yes", "--timeout", "300ms", "--json"),
        HF_CTL_REFUSED);
    ck_assert_ptr_nonnull(strstr(wrong, "not proved dead in time"));
    ck_assert_ptr_nonnull(strstr(out, "\"reached\":false"));
    ck_assert_ptr_nonnull(strstr(out, "\"ordered\""));
}
END_TEST

START_TEST(a_hold_needs_a_time_and_a_leave_ends_when_the_node_has_left)
{
    ck_assert_int_eq(run("hold", "n2"), HF_CTL_USAGE);
    ck_assert_ptr_nonnull(strstr(wrong, "--for 60s"));
    ck_assert_int_eq(run("hold", "n2", "--for", "30s", "--reason", "upgrade"), HF_CTL_OK);
    ck_assert_int_eq(f.held.u.order.type, HF_ORDER_HOLD);
    ck_assert_uint_eq(f.held.u.order.ms, 30000);
    ck_assert_int_eq(run("leave", "n3", "--timeout", "3s"), HF_CTL_OK);
    ck_assert_int_eq(f.held.u.order.type, HF_ORDER_LEAVE);
    ck_assert_ptr_nonnull(strstr(out, "n3 has left: it may be switched off now"));
}
END_TEST

/* ---- NICs, legs, flips ---- */

static void fabrics_up(void)
{
    tear_down();
    fake_fabrics = true;
    set_up();
    fake_nics_up();
    fake_vm_with_legs("trade1");
    fake_legs("trade1", 3, 0);
    fake_at(12);
}

/* n1's card in fabric a loses its wire; the guest's helper moves the traffic. */
static void a_flip(void)
{
    static struct hf_vm_legs legs;
    struct hf_flip flip = fake_flip("trade1");

    history_flip(f.history, f.engine, (hf_node){0}, &flip, &f.when);
    fake_nics(0, HF_PF_DOWN, HF_NIC_CARRIER, HF_PF_UP, HF_NIC_NONE);
    fake_legs("trade1", 2, 1);
    legs = (struct hf_vm_legs){.uid = 1, .start_no = 1, .has = 3, .up = 2, .has_helper = true};
    legs.kind[0] = legs.kind[1] = HF_LEG_VF;
    f.shell.nics.legs = &legs;
    f.shell.nics.legs_count = 1;
    f.shell.nics.is_told = true;
    f.shell.nics.count = 2;
    for (unsigned i = 0; i < HF_FABRICS_MAX; i++) {
        struct hf_pf_facts *pf = &f.shell.nics.pf[i];

        pf->state = i == 0 ? HF_PF_DOWN : HF_PF_UP;
        strcpy(pf->name, i == 0 ? "ens1f0" : "ens2f0");
        strcpy(pf->driver, "sfc");
        strcpy(pf->switch_id, "leaf-1 \x1b[31mEth1/7");
        pf->numa_node = 1;
        pf->vfs = 8;
        pf->bfd_peers = 2;
        pf->bfd_up = i == 0 ? 0 : 2;
        pf->carrier_downs = i == 0 ? 3 : 0;
        pf->rtnl_ms = 1;
    }
    fake_at(72);
}

START_TEST(nics_tells_cards_legs_and_flips)
{
    fabrics_up();
    a_flip();
    ck_assert_int_eq(run("nics"), HF_CTL_OK);
    ck_assert_str_eq(
        out,
        "NICS  fabric  PF      state  since  driver  VFs  BFD  losses  AER/resets  RTNL\n"
        "n1    a       ens1f0  down    60 s  sfc       8  0/2       3         0/0  1 ms  it has no "
        "carrier\n"
        "n1    b       ens2f0  up      60 s  sfc       8  2/2       0         0/0  1 ms\n"
        "n2    a       ens1f0  up      72 s  -         -    -       -           -     -\n"
        "n2    b       ens2f0  up      72 s  -         -    -       -           -     -\n"
        "n3    a       ens1f0  up      72 s  -         -    -       -           -     -\n"
        "n3    b       ens2f0  up      72 s  -         -    -       -           -     -\n"
        "Drivers, BFD and counters are those of n1; of other nodes ask there.\n"
        "\n"
        "VM      node  legs   kind  helper\n"
        "trade1  n1    A- B*  VF    yes     no spare: the next failure cuts it off\n"
        "* carries the traffic   - dead   ? not known here\n"
        "\n"
        "FLIPS         VM      node  way    outcome  judged  ordered  confirmed  by            "
        "cause\n"
        "09:13:32.000  trade1  n1    A \u2192 B  flipped  1.2 ms   1.3 ms     8.4 ms  "
        "guest-helper  carrier\n"
        "\n"
        "NEEDS YOU\n"
        "  n1  fabric a (ens1f0) down: it has no carrier; its VMs go by their other leg, if they "
        "have one\n"
        "      since 09:13:32 (60 s)   ethtool -m ens1f0; ethtool ens1f0\n");
    ck_assert_str_eq(wrong, "");
    ck_assert_int_eq(run("nics", "n2"), HF_CTL_OK);
    ck_assert_ptr_null(strstr(out, "n1 "));
    ck_assert_ptr_nonnull(strstr(out, "No VM on n2 has legs."));
    ck_assert_int_eq(run("nics", "n9"), HF_CTL_REFUSED);
    ck_assert_ptr_nonnull(strstr(wrong, "there is no node 'n9'"));
    ck_assert_int_eq(run("nics", "--json"), HF_CTL_OK);
    ck_assert_ptr_nonnull(strstr(out, "\"fabrics\":[{\"fabric\":\"a\",\"nic\":\"ens1f0\""));
    ck_assert_ptr_nonnull(strstr(out, "\"active\":\"b\""));
    ck_assert_ptr_nonnull(strstr(out, "\"kind\":\"flip\""));
}
END_TEST

START_TEST(without_cards_nics_says_so)
{
    ck_assert_int_eq(run("nics"), HF_CTL_OK);
    ck_assert_str_eq(out, "No node names a NIC: nic_a and nic_b in the cluster file.\n");
}
END_TEST

START_TEST(status_shows_fabrics_and_legs)
{
    fabrics_up();
    a_flip();
    ck_assert_int_eq(run("status"), HF_CTL_OK);
    ck_assert_ptr_nonnull(strstr(out, "A DOWN  B up"));
    ck_assert_ptr_nonnull(strstr(out, "A- B*"));
    ck_assert_ptr_nonnull(strstr(out, "at risk: no spare leg"));
    ck_assert_ptr_nonnull(strstr(out, "VMS   1 running \u00b7 1 AT RISK\n"));
    ck_assert_ptr_nonnull(strstr(out, "  n1  fabric a (ens1f0) down: it has no carrier; its VMs "));
}
END_TEST

START_TEST(why_tells_of_a_nic)
{
    fabrics_up();
    a_flip();
    ck_assert_int_eq(run("why", "n1:a"), HF_CTL_OK);
    ck_assert_int_eq(
        strncmp(out,
                "n1:a (ens1f0) is down since 09:13:32 (60 s): it has no carrier\n"
                "  sfc, switch leaf-1 ?[31mEth1/7, NUMA node 1\n"
                "  VFs 8 (0 without a driver)  BFD 0 of 2 peers up  carrier lost 3 times\n"
                "  AER errors 0  resets 0  RTNL 1 ms\n"
                "09:13:20.000  n1      pf-up              a NIC of it carries (fabric a)\n",
                280),
        0);
    ck_assert_ptr_null(strchr(out, '\x1b')); /* whoever sends LLDP steers no terminal */
    ck_assert_int_eq(run("why", "n1/A"), HF_CTL_OK);
    ck_assert_int_eq(run("why", "ens1f0"), HF_CTL_OK);
    ck_assert_int_eq(strncmp(out, "n1:a (ens1f0) is down", 21), 0);
    ck_assert_int_eq(run("why", "trade1"), HF_CTL_OK);
    ck_assert_ptr_nonnull(strstr(out, "  legs A- B*  (* carries the traffic"));
    ck_assert_ptr_nonnull(strstr(out, "leg a \u2192 b flipped"));
    ck_assert_int_eq(run("why", "n1:c"), HF_CTL_USAGE);
    ck_assert_ptr_nonnull(
        strstr(wrong, "'n1:c' is no NIC: write a node and its fabric, like n1:a"));
    ck_assert_int_eq(run("why", "n9:a"), HF_CTL_REFUSED);
}
END_TEST

static void flip_ends(void)
{
    static unsigned turns;

    if (f.flip_cookie != 0 && ++turns == 3) {
        struct hf_flip flip = fake_flip("trade1");

        ctl_server_flipped(f.server, f.flip_cookie, &flip, f.when.boot);
    }
}

START_TEST(a_failback_needs_a_person_or_yes_and_tells_what_came_of_it)
{
    fabrics_up();
    ck_assert_int_eq(run("nics", "failback", "trade1"), HF_CTL_USAGE);
    ck_assert_ptr_nonnull(strstr(wrong, "--yes"));
    ck_assert_uint_eq(f.flip_cookie, 0);
    ck_assert_int_eq(run("nics", "failback", "trade1", "--to", "a"), HF_CTL_OK);
    ck_assert_str_eq(out, "trade1: its traffic goes by leg a already\n");
    ck_assert_uint_eq(f.flip_cookie, 0);
    ck_assert_int_eq(run("nics", "failback", "trade1", "--to", "c"), HF_CTL_USAGE);
    ck_assert_int_eq(run("nics", "failback", "nobody", "--yes"), HF_CTL_REFUSED);
    ck_assert_int_eq(
        run_while(flip_ends, "nics", "failback", "trade1", "--yes", (const char *)NULL), HF_CTL_OK);
    ck_assert_uint_eq(f.flip_to, 1); /* the leg that it is not on */
    ck_assert_str_eq(out, "trade1: traffic to leg b: flipped after 8.4 ms (guest-helper)\n");
    fake_legs("trade1", 3, HF_FABRICS_MAX);
    ck_assert_int_eq(run("nics", "failback", "trade1", "--yes"), HF_CTL_USAGE);
    ck_assert_ptr_nonnull(strstr(wrong, "is not known: say --to a or --to b"));
}
END_TEST

START_TEST(config_check_tells_of_cards_and_of_guests_bonds)
{
    char path[160];

    fabrics_up();
    a_flip();
    ((struct hf_vm_legs *)(uintptr_t)f.shell.nics.legs)->bond_faults = HF_BOND_RESELECTS;
    write_file("nics.conf",
               "cluster {\n name: x\n}\nnode n1 {\n id: 1\n nic_a: hf-none0\n nic_b: lo\n}\n",
               path);
    ck_assert_int_eq(run("config", "check", path, "--corosync", "no", "--node", "n1"),
                     HF_CTL_REFUSED);
    ck_assert_ptr_nonnull(strstr(out, "cards of n1: 2 findings\n"));
    ck_assert_ptr_nonnull(strstr(out, "  risk     nic_a: there is no hf-none0 on this node"));
    ck_assert_ptr_nonnull(strstr(out, "  advice   guest: bond of trade1: primary_reselect=always"));
    ck_assert_int_eq(run("config", "check", path, "--corosync", "no", "--node", "n7"),
                     HF_CTL_USAGE);
    ck_assert_int_eq(run("config", "check", path, "--corosync", "no", "--node", "n1", "--json"),
                     HF_CTL_REFUSED);
    ck_assert_ptr_nonnull(strstr(out, "\"cards\":{\"node\":\"n1\",\"findings\":[{"));
    /* Another file than the installed one may be meant for other hosts. */
    ck_assert_int_eq(run("config", "check", path), HF_CTL_OK);
    ck_assert_ptr_null(strstr(out, "cards of"));
    (void)unlink(path);
}
END_TEST

/* ---- vm add and legs ---- */

static const char nics_text[] = "cluster {\n    name: colo\n}\n"
                                "node n1 {\n    id: 1\n    nic_a: ens1f0\n    nic_b: ens2f0\n}\n"
                                "node n2 {\n    id: 2\n    nic_a: ens1f0\n    nic_b: ens2f0\n}\n";

static const char nics_domain[] =
    "<domain type='kvm'><name>trade2</name><memory unit='MiB'>2048</memory><devices>\n"
    "<interface type='bridge'><source bridge='hf-none0'/>%s</interface>\n"
    "<interface type='bridge'><source bridge='hf-none1'/>%s</interface>\n"
    "</devices></domain>";

START_TEST(vm_add_finds_the_legs)
{
    char path[160], xml[1024];

    fabrics_up();
    f.shell.running_text = nics_text;
    f.shell.running_text_len = strlen(nics_text);
    (void)snprintf(xml, sizeof xml, nics_domain, "", "");
    write_file("vm.xml", xml, path);
    ck_assert_int_eq(run("vm", "add", path), HF_CTL_USAGE);
    ck_assert_ptr_nonnull(strstr(wrong, "line 2: cannot tell the fabric of interface hf-none0"));
    ck_assert_uint_eq(f.orders_count, 0);
    ck_assert_int_eq(run("vm", "add", path, "--legs", "b"), HF_CTL_OK);
    ck_assert_uint_eq(f.held.u.order.def.legs, 2);
    ck_assert_int_eq(run("vm", "add", path, "--legs", "c"), HF_CTL_USAGE);
    (void)unlink(path);
    (void)snprintf(xml, sizeof xml, nics_domain, "<alias name='ua-leg-b'/>",
                   "<alias name='ua-leg-a'/>");
    write_file("vm.xml", xml, path);
    ck_assert_int_eq(run("vm", "add", path), HF_CTL_REFUSED); /* its name is taken by now */
    ck_assert_str_eq(out, "trade2: legs in fabrics: a and b\n");
    ck_assert_uint_eq(f.held.u.order.def.legs, 3);
    (void)unlink(path);
}
END_TEST

/* ---- without descriptors (fault P14) ---- */

START_TEST(without_descriptors_the_door_rests_instead_of_spinning)
{
    struct rlimit was, none;
    int fd, first_free = dup(0);
    struct hf_err err;

    close(first_free);
    ck_assert_int_eq(door_connect(door, &fd, &err), HF_OK);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &was), 0);
    none = was;
    none.rlim_cur = (rlim_t)first_free + 1; /* what is open stays open */
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    fake_turn(0);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &was), 0);
    ck_assert_uint_eq(ctl_server_clients(f.server), 0);
    ck_assert_uint_eq(f.fds_count, 0);
    ck_assert_int_eq(hf_time_since_ms(ctl_server_deadline(f.server), f.when.boot), CTL_SHUT_MS);
    fake_turn(0);
    ck_assert_uint_eq(f.fds_count, 0);
    fake_at(1);
    fake_turn(0);
    fake_turn(0);
    ck_assert_uint_eq(ctl_server_clients(f.server), 1);
    close(fd);
}
END_TEST

/* ---- words ---- */

START_TEST(mistakes_are_named)
{
    static const struct {
        const char *words[5], *say;
    } cases[] = {
        {{"statsu"}, "did you mean 'status'"},
        {{"elephant"}, "holdfast --help"},
        {{"vm", "fly"}, "'vm fly' is not a command"},
        {{"status", "now"}, "usage: holdfast status"},
        {{"why"}, "usage: holdfast why VM|NODE"},
        {{"status", "--wait"}, "--wait does not go with 'status'"},
        {{"events", "--after", "x"}, "--after 'x' is not a number"},
        {{"events", "--after"}, "needs a value"},
        {{"status", "--frob"}, "unknown option --frob"},
        {{"drain", "n1", "--for", "x"}, "--for 'x' is not a duration"},
        {{"fence", "test", "n1", "--level=x"}, "--level 'x' is not a level"},
    };

    ck_assert_ptr_nonnull(cases[_i].say);
    ck_assert_int_eq(run_while(NULL, cases[_i].words[0], cases[_i].words[1], cases[_i].words[2],
                               cases[_i].words[3], (const char *)NULL),
                     HF_CTL_USAGE);
    ck_assert_msg(strstr(wrong, cases[_i].say) != NULL, "%s", wrong);
    ck_assert_uint_eq(f.orders_count, 0);
}
END_TEST

START_TEST(help_and_version_need_no_daemon)
{
    ck_assert_int_eq(run("--help"), HF_CTL_OK);
    ck_assert_ptr_nonnull(strstr(out, "Exit codes"));
    ck_assert_int_eq(run("fence", "confirm", "--help"), HF_CTL_OK);
    ck_assert_ptr_nonnull(strstr(out, "its VMs run twice"));
    ck_assert_int_eq(run("--version"), HF_CTL_OK);
    ck_assert_int_eq(strncmp(out, "holdfast ", 9), 0);
}
END_TEST

static const char *file_text(const char *path)
{
    static char text[65536];
    FILE *file = fopen(path, "r");
    size_t len;

    ck_assert_ptr_nonnull(file);
    len = fread(text, 1, sizeof text - 1, file);
    text[len] = '\0';
    fclose(file);
    return text;
}

/* Completion and README know every verb that --help tells. */
START_TEST(no_verb_is_forgotten)
{
    const char *text =
        file_text(_i == 0 ? "etc/completion/holdfast.bash" : "supervisord/ctl/README.md");
    unsigned verbs = 0;

    ck_assert_int_eq(run("--help"), HF_CTL_OK);
    for (const char *at = strstr(out, "\n  "); at != NULL; at = strstr(at + 1, "\n  ")) {
        char word[32];

        if (sscanf(at, " %31[a-z]", word) != 1)
            continue;
        ck_assert_msg(strstr(text, word) != NULL, "%s", word);
        verbs++;
    }
    ck_assert_uint_ge(verbs, 22);
}
END_TEST

START_TEST(no_daemon_exits_with_three_and_says_what_to_do)
{
    strcpy(door, "/tmp/holdfast-no-such-door");
    ck_assert_int_eq(run("status"), HF_CTL_UNREACHABLE);
    ck_assert_str_eq(wrong,
                     "holdfast: cannot reach holdfastd at /tmp/holdfast-no-such-door: No such "
                     "file or directory. Is it running? See: systemctl status holdfastd\n");
    (void)snprintf(door, sizeof door, "%s/ctl.sock", folder);
}
END_TEST

START_TEST(config_check_reads_files_by_itself)
{
    char path[160];

    ck_assert_int_eq(run("config", "check", "etc/holdfast.conf.example"), HF_CTL_OK);
    ck_assert_ptr_nonnull(strstr(out, "etc/holdfast.conf.example is good: group "));
    ck_assert_int_eq(run("config", "show", "--file", "etc/holdfast.conf.example"), HF_CTL_OK);
    ck_assert_ptr_nonnull(strstr(out, "{"));
    write_file("bad.conf", "group {\n  frob: 1\n}\n", path);
    ck_assert_int_eq(run("config", "check", path), HF_CTL_USAGE);
    ck_assert_int_eq(strncmp(wrong, path, strlen(path)), 0); /* FILE:LINE:COL first */
    (void)unlink(path);
}
END_TEST

HF_TEST_MAIN_WITH("ctl/main", set_up, tear_down, HF_CASE(status_answers_at_one_glance),
                  HF_CASE(status_ends_with_what_to_type_next),
                  HF_CASE(json_is_what_the_daemon_said), HF_CASE(events_are_numbered_lines),
                  HF_CASE(why_tells_the_trail_and_the_rules),
                  HF_CASE(vm_add_reads_name_and_memory_and_hands_the_xml_over),
                  HF_CASE(vm_add_refuses_a_wrong_file_before_sending_anything),
                  HF_CASE(wait_ends_when_the_vm_runs), HF_CASE(wait_has_an_end),
                  HF_CASE(a_refusal_says_why_and_exits_with_one),
                  HF_CASE(a_frozen_group_exits_with_four), HF_CASE(fencing_needs_a_person_or_yes),
                  HF_CASE(without_descriptors_the_door_rests_instead_of_spinning),
                  HF_CASE(a_fence_test_shows_each_level_and_fails_with_it),
                  HF_CASE(a_power_cycle_is_for_a_drained_and_empty_node_elsewhere),
                  HF_CASE(a_power_cycle_tells_its_phases_and_ends_with_a_member),
                  HF_CASE(a_power_cycle_that_does_not_come_to_its_end_is_told),
                  HF_CASE(a_hold_needs_a_time_and_a_leave_ends_when_the_node_has_left),
                  HF_CASE(nics_tells_cards_legs_and_flips), HF_CASE(without_cards_nics_says_so),
                  HF_CASE(status_shows_fabrics_and_legs), HF_CASE(why_tells_of_a_nic),
                  HF_CASE(a_failback_needs_a_person_or_yes_and_tells_what_came_of_it),
                  HF_CASE(config_check_tells_of_cards_and_of_guests_bonds),
                  HF_CASE(vm_add_finds_the_legs), HF_LOOP(mistakes_are_named, 0, 11),
                  HF_CASE(help_and_version_need_no_daemon), HF_LOOP(no_verb_is_forgotten, 0, 2),
                  HF_CASE(no_daemon_exits_with_three_and_says_what_to_do),
                  HF_CASE(config_check_reads_files_by_itself))
