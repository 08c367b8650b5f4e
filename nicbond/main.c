/* main.c - holdfast-nicbond: wiring only. The main thread is the hot loop, the other one reports.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "nicbond/guard.h"
#include "nicbond/ledger_file.h"
#include "nicbond/loop.h"
#include "nicbond/report.h"
#include "supervisord/base/log.h"
#include "supervisord/base/path.h"
#include "supervisord/base/str.h"

enum {
    EXIT_USAGE = 2,
    LEDGER_WAIT_MS = 2000,  /* a helper holds it for a few milliseconds */
    REPORT_STACK = 1 << 20, /* parsing an XML of 1 MiB; locked only where it was touched */
    REALTIME_PRIORITY = 1,  /* before everything that is not real-time, behind corosync */
    GUARD_TEXT_MAX = 4096,
};

struct options {
    const char *config, *node, *door, *root, *run, *state, *ledger, *virt, *uri, *kmsg;
    bool is_verbose, may_unplug, is_usual; /* usual: an ordinary process among others */
};

static int usage(FILE *out)
{
    fprintf(out,
            "usage: holdfast-nicbond [options]\n"
            "       holdfast-nicbond guard numvfs|unbind|reset|firmware NIC\n"
            "  --config FILE   the cluster file (/etc/holdfast/holdfast.conf)\n"
            "  --node NAME     this node in it (the host's name)\n"
            "  --door PATH     the daemon's agent door (" AGENT_DOOR ")\n"
            "  --sysroot PATH  read PATH/sys instead of /sys\n"
            "  --run PATH      libvirt's status files (/run/libvirt/qemu)\n"
            "  --state PATH    what running flips have switched off, a tmpfs (" FLIPS_FOLDER ")\n"
            "  --ledger PATH   who owns which VF (" LEDGER_FOLDER ")\n"
            "  --virt PATH     the worker that calls libvirt (holdfast-nicbond-virt beside this)\n"
            "  --libvirt URI   (qemu:///system)\n"
            "  --kmsg PATH     the kernel's log (/dev/kmsg; \"\" for none)\n"
            "  --unplug        may take a NIC out of its VM when nothing else moves the traffic\n"
            "  --usual         no real-time priority, no locked memory\n"
            "  --verbose, --version, --help\n");
    return out == stdout ? 0 : EXIT_USAGE;
}

static bool set_option(struct options *o, int option)
{
    const char **texts[] = {
        ['c'] = &o->config, ['n'] = &o->node,  ['d'] = &o->door,   ['s'] = &o->root,
        ['r'] = &o->run,    ['S'] = &o->state, ['L'] = &o->ledger, ['V'] = &o->virt,
        ['u'] = &o->uri,    ['k'] = &o->kmsg};

    if (option == 'v')
        o->is_verbose = true;
    else if (option == 'U')
        o->may_unplug = true;
    else if (option == 'o')
        o->is_usual = true;
    else if (option > 0 && (size_t)option < sizeof texts / sizeof texts[0] && texts[option] != NULL)
        *texts[option] = optarg;
    else
        return false;
    return true;
}

/* -1: go on. */
static int read_options(int argc, char **argv, struct options *o)
{
    static const struct option known[] = {
        {"config", required_argument, NULL, 'c'},  {"node", required_argument, NULL, 'n'},
        {"door", required_argument, NULL, 'd'},    {"sysroot", required_argument, NULL, 's'},
        {"run", required_argument, NULL, 'r'},     {"state", required_argument, NULL, 'S'},
        {"ledger", required_argument, NULL, 'L'},  {"virt", required_argument, NULL, 'V'},
        {"libvirt", required_argument, NULL, 'u'}, {"kmsg", required_argument, NULL, 'k'},
        {"unplug", no_argument, NULL, 'U'},        {"usual", no_argument, NULL, 'o'},
        {"verbose", no_argument, NULL, 'v'},       {"version", no_argument, NULL, 'W'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    int option;

    while ((option = getopt_long(argc, argv, "vh", known, NULL)) != -1) {
        if (option == 'W')
            return printf("holdfast-nicbond %s\n", HF_VERSION) > 0 ? 0 : EXIT_FAILURE;
        if (option == 'h')
            return usage(stdout);
        if (!set_option(o, option))
            return usage(stderr);
    }
    return argc == optind ? -1 : usage(stderr);
}

/* ---- the other programs of this file ---- */

static int run_worker(const char *state, const char *root)
{
    struct hf_err err;

    hf_log_open("holdfast-nicbond-worker", HF_LOG_INFO, false);
    (void)signal(SIGPIPE, SIG_IGN);
    if (method_pf_serve(state, root, &err) == HF_ECLOSED)
        return EXIT_SUCCESS;
    hf_error("%s", err.text);
    return EXIT_FAILURE;
}

/* keeper ROOT RUN LEDGER STATE PF_A PF_B, on HELPER_FD */
static int run_keeper(char **argv)
{
    struct keeper_setup setup = {.root = argv[0],
                                 .run = argv[1],
                                 .ledger = argv[2],
                                 .state = argv[3],
                                 .wanted = {argv[4], argv[5]}};
    struct hf_err err;

    hf_log_open("holdfast-nicbond-keeper", HF_LOG_INFO, false);
    (void)signal(SIGPIPE, SIG_IGN);
    if (keeper_serve(&setup, HELPER_FD, &err) == HF_ECLOSED)
        return EXIT_SUCCESS;
    hf_error("%s", err.text);
    return EXIT_FAILURE;
}

static int run_guard(int argc, char **argv)
{
    struct guard_where where = {.sys = "/sys", .proc = "/proc", .ledger = LEDGER_FOLDER};
    char text[GUARD_TEXT_MAX];
    int status = guard_command(&where, argc, argv, text, sizeof text);

    fputs(text, status == 0 ? stdout : stderr);
    return status;
}

/* ---- start ---- */

static enum hf_code find_node(const struct hf_config *config, const char *name, hf_node *node,
                              struct hf_err *err)
{
    char host[HF_NAME_MAX + 1] = "";

    if (name == NULL) {
        (void)gethostname(host, sizeof host - 1);
        host[strcspn(host, ".")] = '\0';
        name = host;
    }
    for (uint8_t i = 0; i < config->group.nodes_count; i++) {
        if (strcmp(config->group.nodes[i].name, name) == 0) {
            *node = (hf_node){i};
            return HF_OK;
        }
    }
    return hf_err_set(err, HF_EINVAL, "the cluster file has no node %s", name);
}

/* Flip numbers of this run. Without a ledger flips are made all the same, above what the newest of
 * them has left; an answer of a helper of before could then pass for one of now. */
static void reserve_epochs(const struct options *o, const struct flips *left,
                           struct loop_setup *setup)
{
    struct ledger_file *file = malloc(sizeof *file); /* large */
    struct hf_err err = {.text = "out of memory"};
    bool is_done = false;
    uint64_t floor = 1;

    for (unsigned f = 0; f < HF_FABRICS_MAX; f++) {
        if (left->fabric[f].epoch >= floor)
            floor = left->fabric[f].epoch + 1;
    }
    if (file != NULL && ledger_file_open(file, o->ledger, LEDGER_WAIT_MS, NULL, &err) == HF_OK) {
        is_done =
            ledger_file_epochs(file, floor, &setup->epoch_first, &setup->epoch_end, &err) == HF_OK;
        ledger_file_close(file);
    }
    free(file);
    if (is_done)
        return;
    hf_error("no ledger: %s", err.text);
    setup->epoch_first = floor;
    setup->epoch_end = setup->epoch_first + LEDGER_EPOCHS_RESERVED;
}

static void read_left(const struct options *o, struct flips *left)
{
    struct hf_err err;
    int fd;

    memset(left, 0, sizeof *left);
    if (flips_open(o->state, &fd, &err) != HF_OK) {
        hf_error("what earlier flips left off is not known: %s", err.text);
        return;
    }
    if (flips_read(fd, left, &err) != HF_OK)
        hf_error("what earlier flips left off is not known: %s", err.text);
    close(fd);
    for (unsigned f = 0; f < HF_FABRICS_MAX; f++) {
        if (!left->is_damaged[f])
            continue;
        hf_error("fabric %c: what earlier flips left off does not read: all VFs are told to be on",
                 'a' + (int)f);
        memset(left->fabric[f].vfs, 0xff, sizeof left->fabric[f].vfs);
    }
}

/* The loop is on time among others' load, and never waits for a page. */
static void become_quick(const struct options *o)
{
    struct sched_param param = {.sched_priority = REALTIME_PRIORITY};

    if (o->is_usual)
        return;
    if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &param) != 0)
        hf_warning("no real-time priority: %s; the loop may be late", strerror(errno));
    if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0)
        hf_warning("memory cannot be locked: %s", strerror(errno));
}

static uint32_t watchdog_ms(void)
{
    const char *text = getenv("WATCHDOG_USEC");
    uint64_t us = 0;

    if (text == NULL || !hf_str_to_u64(text, UINT32_MAX, &us))
        return 0;
    return (uint32_t)(us / 1000);
}

static int signals_fd(int first, int second)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, first);
    sigaddset(&set, second);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- the report thread ---- */

static void *run_report(void *user)
{
    struct report *report = user;
    struct hf_err err;

    if (agent_run(report->agent, &err) != HF_OK)
        hf_error("report thread: %s; flips go on, nobody is told", err.text);
    return NULL;
}

static enum hf_code start_report(struct report *report, const struct options *o, int stop_fd,
                                 pthread_t *thread, struct hf_err *err)
{
    struct agent_setup setup = {.kind = HF_AGENT_NIC,
                                .door = o->door,
                                .stop_fd = stop_fd,
                                .notify = getenv("NOTIFY_SOCKET"),
                                .watchdog_ms = watchdog_ms(),
                                .calls = &report_calls,
                                .user = report};
    struct agent *agent;
    pthread_attr_t attr;
    int failed;

    if (agent_open(&agent, &setup, err) != HF_OK || report_open(report, agent, err) != HF_OK)
        return err->code;
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, REPORT_STACK);
    failed = pthread_create(thread, &attr, run_report, report);
    (void)pthread_attr_destroy(&attr);
    return failed == 0 ? HF_OK : hf_err_set(err, HF_EIO, "thread: %s", strerror(failed));
}

/* Everything that is there for the whole run. */
struct nicbond_run {
    struct options options;
    struct hf_config config;
    struct flips left;
    struct report report;
    struct loop loop;
};

static enum hf_code open_all(struct nicbond_run *run, int stop_fd, struct hf_err *err)
{
    const struct options *o = &run->options;
    struct loop_setup loop = {.config = &run->config,
                              .root = o->root,
                              .kmsg = o->kmsg[0] != '\0' ? o->kmsg : NULL,
                              .stop_fd = stop_fd,
                              .left = &run->left,
                              .may_unplug = o->may_unplug};
    struct report_setup report = {.config = o->config,
                                  .root = o->root,
                                  .run = o->run,
                                  .state = o->state,
                                  .ledger = o->ledger,
                                  .program = "/proc/self/exe",
                                  .virt = o->virt,
                                  .uri = o->uri};
    char missing[200] = "";
    int note[2];

    if (config_load(o->config, &run->config, err) != HF_OK ||
        find_node(&run->config, o->node, &loop.node, err) != HF_OK || note_open(note, err) != HF_OK)
        return err->code;
    read_left(o, &run->left);
    reserve_epochs(o, &run->left, &loop);
    loop.note_fd = note[0];
    report.note_fd = note[1];
    report.reload_fd = signals_fd(SIGHUP, SIGHUP);
    if (loop_open(&run->loop, &loop, hf_clock_now(), missing, err) != HF_OK)
        return err->code;
    if (missing[0] != '\0')
        hf_warning("%s", missing);
    for (unsigned f = 0; f < HF_FABRICS_MAX; f++) {
        const char *pf = run->config.nics.pf[loop.node.ix][f];

        report.wanted[f] = pf[0] != '\0' ? pf : NULL;
    }
    report_init(&run->report, &report);
    return HF_OK;
}

static int run_all(struct nicbond_run *run)
{
    int stop_fd = signals_fd(SIGTERM, SIGINT);
    const struct loop_lateness *lateness = &run->loop.lateness;
    pthread_t thread = 0; /* Linux's is a number */
    struct hf_err err;

    if (stop_fd < 0) {
        hf_error("signals cannot be received by descriptor");
        return EXIT_FAILURE;
    }
    if (open_all(run, stop_fd, &err) != HF_OK ||
        start_report(&run->report, &run->options, stop_fd, &thread, &err) != HF_OK) {
        hf_error("%s", err.text);
        return EXIT_FAILURE;
    }
    become_quick(&run->options);
    if (loop_run(&run->loop, &err) != HF_OK) {
        hf_error("%s", err.text);
        return EXIT_FAILURE; /* systemd starts another */
    }
    hf_info("ends; %llu rounds, on average %llu us late, at worst %u us, %llu of them by %d us and "
            "more",
            (unsigned long long)lateness->rounds,
            (unsigned long long)(lateness->rounds > 0 ? lateness->sum_us / lateness->rounds : 0),
            lateness->worst_us, (unsigned long long)lateness->late, LOOP_LATE_US);
    loop_close(&run->loop, hf_clock_now());
    (void)pthread_join(thread, NULL);
    agent_close(run->report.agent);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct nicbond_run *run;
    char virt[PATH_MAX];
    int status;

    if (argc == 4 && strcmp(argv[1], "worker") == 0)
        return run_worker(argv[2], argv[3]);
    if (argc == 8 && strcmp(argv[1], "keeper") == 0)
        return run_keeper(argv + 2);
    if (argc >= 2 && strcmp(argv[1], "guard") == 0)
        return run_guard(argc - 2, argv + 2);
    run = calloc(1, sizeof *run);
    if (run == NULL)
        return EXIT_FAILURE;
    (void)hf_path_program("holdfast-nicbond-virt", virt, sizeof virt); /* or its start fails */
    run->options = (struct options){.config = "/etc/holdfast/holdfast.conf",
                                    .door = AGENT_DOOR,
                                    .root = "",
                                    .run = "/run/libvirt/qemu",
                                    .state = FLIPS_FOLDER,
                                    .ledger = LEDGER_FOLDER,
                                    .virt = virt,
                                    .uri = "qemu:///system",
                                    .kmsg = "/dev/kmsg"};
    status = read_options(argc, argv, &run->options);
    if (status >= 0) {
        free(run);
        return status;
    }
    hf_log_open("holdfast-nicbond", run->options.is_verbose ? HF_LOG_DEBUG : HF_LOG_INFO,
                getenv("JOURNAL_STREAM") != NULL);
    legs_init();
    status = run_all(run);
    free(run);
    return status;
}
