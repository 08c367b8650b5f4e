/* holdfast-fencer - runs fence agents for the daemon (fencing/README.md).
 * The only process that reads fence credentials. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "fencing/runner/runner.h"
#include "supervisord/base/log.h"
#include "supervisord/door/door.h"

enum {
    RECONNECT_MS_MIN = 20,  /* a restarted daemon must find its fencer at once */
    RECONNECT_MS_MAX = 200, /* five connects a second cost nothing */
};

struct options {
    const char *door, *agents, *credentials, *tools;
};

static void usage(FILE *out)
{
    fputs("usage: holdfast-fencer [--door PATH] [--agents DIR] [--credentials DIR]\n"
          "                       [--tools DIR]\n"
          "  --door         the daemon's agent door     /run/holdfast/agent.sock\n"
          "  --agents       where fence_* are installed /usr/sbin\n"
          "  --credentials  files named in the config   /etc/holdfast/fence.d\n"
          "  --tools        where ipmitool and curl are /usr/bin\n",
          out);
}

/* Returns -1 to go on, or the exit code. */
static int read_options(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        {"door", required_argument, NULL, 'd'},
        {"agents", required_argument, NULL, 'a'},
        {"credentials", required_argument, NULL, 'c'},
        {"tools", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    int option;

    *options = (struct options){"/run/holdfast/agent.sock", "/usr/sbin", "/etc/holdfast/fence.d",
                                "/usr/bin"};
    while ((option = getopt_long(argc, argv, "h", known, NULL)) >= 0) {
        if (option == 'd')
            options->door = optarg;
        else if (option == 'a')
            options->agents = optarg;
        else if (option == 'c')
            options->credentials = optarg;
        else if (option == 't')
            options->tools = optarg;
        else if (option == 'V') {
            puts("holdfast-fencer " HF_VERSION);
            return 0;
        } else {
            usage(option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : 2;
        }
    }
    if (optind != argc) {
        usage(stderr);
        return 2;
    }
    return -1;
}

/* Secrets pass through here: no core, no ptrace by others. Returns the signal descriptor. */
static int harden(void)
{
    struct rlimit none = {0, 0};
    sigset_t set;

    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void try_connect(struct runner *r, const char *path, bool *told)
{
    struct hf_err err;
    int fd;

    if (door_connect(path, &fd, &err) == HF_OK && runner_connect(r, fd, &err) == HF_OK) {
        hf_info("fencer: connected to %s", path);
        *told = false;
        return;
    }
    if (r->door >= 0)
        runner_disconnect(r);
    if (!*told)
        hf_warning("fencer: %s", err.text);
    *told = true;
}

static int timeout_ms(hf_time deadline, hf_time now)
{
    int64_t ms;

    if (deadline.ns == INT64_MAX)
        return -1;
    if (hf_time_reached(now, deadline))
        return 0;
    ms = hf_time_since_ms(deadline, now) + 1;
    return ms > 60000 ? 60000 : (int)ms;
}

static int run(struct runner *r, const struct options *options, int signals)
{
    int64_t wait_ms = RECONNECT_MS_MIN;
    hf_time retry = hf_clock_now();
    bool told = false;

    for (;;) {
        struct pollfd fds[RUNNER_FDS_MAX + 1];
        struct hf_err err;
        hf_time deadline;
        size_t count;

        if (r->door < 0 && hf_time_reached(hf_clock_now(), retry)) {
            try_connect(r, options->door, &told);
            wait_ms = r->door >= 0 ? RECONNECT_MS_MIN : wait_ms * 2;
            if (wait_ms > RECONNECT_MS_MAX)
                wait_ms = RECONNECT_MS_MAX;
            retry = hf_time_add_ms(hf_clock_now(), wait_ms);
        }
        count = runner_poll(r, fds, &deadline);
        fds[count] = (struct pollfd){.fd = signals, .events = POLLIN};
        if (r->door < 0 && retry.ns < deadline.ns)
            deadline = retry;
        if (poll(fds, count + 1, timeout_ms(deadline, hf_clock_now())) < 0 && errno != EINTR)
            return 1;
        if ((fds[count].revents & POLLIN) != 0)
            return 0;
        if (runner_go_on(r, hf_clock_now(), &err) != HF_OK) {
            hf_warning("fencer: the daemon's door: %s", err.text);
            runner_disconnect(r);
            retry = hf_clock_now();
        }
    }
}

int main(int argc, char **argv)
{
    struct options options;
    struct runner_settings settings;
    struct runner *r;
    int code = read_options(argc, argv, &options);
    int signals;

    if (code >= 0)
        return code;
    hf_log_open("holdfast-fencer", HF_LOG_INFO, getenv("JOURNAL_STREAM") != NULL);
    signals = harden();
    r = calloc(1, sizeof *r);
    if (r == NULL || signals < 0) {
        hf_error("fencer: no memory or no signal descriptor: %s", strerror(errno));
        free(r);
        return 1;
    }
    settings = (struct runner_settings){options.agents, options.credentials, options.tools};
    runner_init(r, &settings);
    code = run(r, &options, signals);
    runner_disconnect(r);
    free(r);
    close(signals);
    return code;
}
