/* main.c - holdfast-agent host|vm: wiring only. */
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agents/agent.h"
#include "agents/host/host.h"
#include "agents/host/probe.h"
#include "agents/vm/ledger.h"
#include "agents/vm/libvirt.h"
#include "agents/vm/render.h"
#include "agents/vm/vm.h"
#include "supervisord/base/log.h"
#include "supervisord/base/str.h"

enum { EXIT_USAGE = 2 };

struct options {
    const char *door, *uri, *run, *ledger, *sysroot, *uuid_path;
    bool is_verbose;
};

static int usage(FILE *out)
{
    fprintf(out, "usage: holdfast-agent host|vm [options]\n"
                 "  --door PATH     the daemon's agent door (" AGENT_DOOR ")\n"
                 "  --sysroot PATH  host: read PATH/proc instead of /proc\n"
                 "  --uuid PATH     host: this machine's system UUID (" PROBE_UUID_PATH ")\n"
                 "  --libvirt URI   vm: qemu:///system\n"
                 "  --run PATH      vm: libvirt's pid and status files (/run/libvirt/qemu)\n"
                 "  --ledger PATH   vm: what this host started in this boot (" LEDGER_FOLDER ")\n"
                 "  --verbose       log debug lines\n"
                 "  --version, --help\n");
    return out == stdout ? 0 : EXIT_USAGE;
}

static int run_host(struct agent_setup setup, const struct options *options)
{
    const char *name = strrchr(options->door, '/');
    int len = name != NULL ? (int)(name - options->door) : 0;
    char run_directory[PATH_MAX]; /* the daemon's: that of its door */
    struct host host = {.sysroot = options->sysroot,
                        .uuid_path = options->uuid_path,
                        .run_directory = run_directory};
    struct hf_err err;

    (void)snprintf(run_directory, sizeof run_directory, "%.*s", len, options->door);
    setup.kind = HF_AGENT_HOST;
    setup.calls = &host_calls;
    setup.user = &host;
    if (agent_open(&host.agent, &setup, &err) != HF_OK) {
        hf_error("%s", err.text);
        return EXIT_FAILURE;
    }
    if (agent_run(host.agent, &err) != HF_OK) {
        hf_error("%s", err.text);
        return EXIT_FAILURE; /* systemd starts another */
    }
    agent_close(host.agent);
    return EXIT_SUCCESS;
}

static int run_vm(struct agent_setup setup, const struct options *options)
{
    struct vm_agent *v = calloc(1, sizeof *v);
    struct agent *agent;
    struct hf_err err;
    struct virt virt;

    if (v == NULL) {
        hf_error("vm agent: out of memory");
        return EXIT_FAILURE;
    }
    v->where = (struct qemu_where){.proc = "/proc", .run = options->run};
    v->ledger = options->ledger;
    setup.kind = HF_AGENT_VM;
    setup.calls = &vm_calls;
    setup.user = v;
    render_init();
    if (libvirt_open(&virt, options->uri, true, &err) != HF_OK ||
        pool_open(&v->pool, &virt, &err) != HF_OK) {
        hf_error("%s", err.text);
        free(v);
        return EXIT_FAILURE;
    }
    if (agent_open(&agent, &setup, &err) != HF_OK || vm_open(v, agent, &err) != HF_OK ||
        agent_run(agent, &err) != HF_OK) {
        hf_error("%s", err.text);
        return EXIT_FAILURE;
    }
    /* Nothing is closed: a worker may hang in libvirt, and the VMs must not notice our end. */
    return EXIT_SUCCESS;
}

/* Signals end the loop through a descriptor; threads started later inherit the mask. */
static int stop_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    (void)signal(SIGPIPE, SIG_IGN); /* libvirt writes to sockets without MSG_NOSIGNAL */
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return -1;
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static uint32_t watchdog_ms(void)
{
    const char *text = getenv("WATCHDOG_USEC");
    uint64_t us = 0;

    if (text == NULL || !hf_str_to_u64(text, UINT32_MAX, &us))
        return 0;
    return (uint32_t)(us / 1000);
}

/* -1: go on. */
static int read_options(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        {"door", required_argument, NULL, 'd'},    {"sysroot", required_argument, NULL, 's'},
        {"libvirt", required_argument, NULL, 'l'}, {"run", required_argument, NULL, 'r'},
        {"ledger", required_argument, NULL, 'L'},  {"uuid", required_argument, NULL, 'u'},
        {"verbose", no_argument, NULL, 'v'},       {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    int option;

    while ((option = getopt_long(argc, argv, "vh", known, NULL)) != -1) {
        if (option == 'd')
            options->door = optarg;
        else if (option == 's')
            options->sysroot = optarg;
        else if (option == 'l')
            options->uri = optarg;
        else if (option == 'r')
            options->run = optarg;
        else if (option == 'L')
            options->ledger = optarg;
        else if (option == 'u')
            options->uuid_path = optarg;
        else if (option == 'v')
            options->is_verbose = true;
        else if (option == 'V')
            return printf("holdfast-agent %s\n", HF_VERSION) > 0 ? 0 : EXIT_FAILURE;
        else
            return usage(option == 'h' ? stdout : stderr);
    }
    return argc - optind == 1 ? -1 : usage(stderr);
}

int main(int argc, char **argv)
{
    struct options options = {.door = AGENT_DOOR,
                              .uri = "qemu:///system",
                              .run = "/run/libvirt/qemu",
                              .ledger = LEDGER_FOLDER,
                              .sysroot = "",
                              .uuid_path = PROBE_UUID_PATH};
    struct agent_setup setup = {.stop_fd = -1};
    int status = read_options(argc, argv, &options);
    bool is_host, is_vm;

    if (status >= 0)
        return status;
    is_host = strcmp(argv[optind], "host") == 0;
    is_vm = strcmp(argv[optind], "vm") == 0;
    if (!is_host && !is_vm)
        return usage(stderr);
    hf_log_open(is_host ? "holdfast-agent-host" : "holdfast-agent-vm",
                options.is_verbose ? HF_LOG_DEBUG : HF_LOG_INFO, getenv("JOURNAL_STREAM") != NULL);
    setup.stop_fd = stop_signals();
    if (setup.stop_fd < 0) {
        hf_error("signals: cannot be received by descriptor");
        return EXIT_FAILURE;
    }
    setup.door = options.door;
    setup.notify = getenv("NOTIFY_SOCKET");
    setup.watchdog_ms = watchdog_ms();
    return is_host ? run_host(setup, &options) : run_vm(setup, &options);
}
