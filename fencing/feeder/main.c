/* holdfast-feeder - keeps the watchdog fed while the group hears this node (fencing/README.md).
 * The smallest process that can: one device, one connection, no children, no allocation. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "fencing/feeder/feeder.h"
#include "supervisord/base/log.h"

enum {
    RR_PRIORITY = 50,        /* above everything of ours, below corosync's 99: it must beat first */
    STACK_BYTES = 256 << 10, /* touched once, so that no page fault comes later */
};

static int usage(FILE *out)
{
    fputs("usage: holdfast-feeder [--door PATH] [--verbose]\n"
          "  --door PATH  the daemon's agent door  /run/holdfast/agent.sock\n"
          "  --verbose    log debug lines\n"
          "  --version, --help\n",
          out);
    return out == stdout ? 0 : 2;
}

/* Returns -1 to go on, or the exit code. */
static int read_options(int argc, char **argv, const char **door, enum hf_level *level)
{
    static const struct option known[] = {{"door", required_argument, NULL, 'd'},
                                          {"verbose", no_argument, NULL, 'v'},
                                          {"version", no_argument, NULL, 'V'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int option;

    while ((option = getopt_long(argc, argv, "vh", known, NULL)) >= 0) {
        if (option == 'd')
            *door = optarg;
        else if (option == 'v')
            *level = HF_LOG_DEBUG;
        else if (option == 'V')
            return puts("holdfast-feeder " HF_VERSION) >= 0 ? 0 : 1;
        else
            return usage(option == 'h' ? stdout : stderr);
    }
    return optind == argc ? -1 : usage(stderr);
}

/* ---- never late, never in the way ---- */

/* Without any of these it still feeds; under load it may then be late, so each is told. */
static void told(bool is_done, const char *what)
{
    if (!is_done)
        hf_warning("feeder: %s: %s", what, strerror(errno));
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    int error = errno;

    if (fd >= 0)
        close(fd);
    errno = error;
    return is_done;
}

static __attribute__((noinline)) void touch_stack(void)
{
    volatile char stack[STACK_BYTES];

    for (size_t i = sizeof stack; i-- > 0;)
        stack[i] = 0;
}

static void be_punctual(void)
{
    const struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    const struct sched_param rr = {.sched_priority = RR_PRIORITY};

    touch_stack();
    (void)setrlimit(RLIMIT_MEMLOCK, &all); /* the stack may grow after the privilege is gone */
    told(mlockall(MCL_CURRENT | MCL_FUTURE) == 0, "memory is not locked");
    told(sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &rr) == 0,
         "no real-time scheduling");
    told(write_text("/proc/self/oom_score_adj", "-1000"), "may be killed when memory is short");
}

/* What is left: reach the door whatever its group, and see in /proc who holds a busy device. */
static void drop_privileges(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct now[2] = {{0}, {0}};
    const uint32_t keep = 1u << CAP_DAC_OVERRIDE | 1u << CAP_SYS_PTRACE;
    const struct rlimit none = {0, 0};

    (void)prctl(PR_SET_DUMPABLE, 0);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)setrlimit(RLIMIT_CORE, &none);
    if (syscall(SYS_capget, &header, now) != 0) {
        told(false, "privileges are not known");
        return;
    }
    now[0].permitted &= keep;
    now[0].effective = now[0].permitted;
    now[0].inheritable = 0;
    now[1] = (struct __user_cap_data_struct){0};
    told(syscall(SYS_capset, &header, now) == 0, "privileges are kept");
}

static int signal_descriptor(void)
{
    sigset_t set;

    (void)signal(SIGPIPE, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return -1;
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- the loop ---- */

static void set_timer(int timer, hf_time at)
{
    struct itimerspec when = {
        .it_value = {.tv_sec = at.ns / 1000000000LL, .tv_nsec = at.ns % 1000000000LL}};

    if (at.ns == FEED_NEVER.ns)
        when.it_value = (struct timespec){0};
    else if (at.ns <= 0)
        when.it_value = (struct timespec){.tv_nsec = 1};
    (void)timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static int run(struct feeder *f, int signals, int timer)
{
    for (;;) {
        struct pollfd fds[3];
        uint64_t expirations;

        set_timer(timer, feeder_turn(f));
        fds[0] = (struct pollfd){.fd = timer, .events = POLLIN};
        fds[1] = (struct pollfd){.fd = signals, .events = POLLIN};
        fds[2] = (struct pollfd){.fd = f->door, .events = POLLIN};
        if (poll(fds, 3, -1) < 0 && errno != EINTR) {
            hf_error("feeder: poll: %s", strerror(errno));
            return 1;
        }
        if (fds[1].revents != 0)
            return 0;
        if (fds[0].revents != 0) /* the device first: the door is still readable after that */
            (void)!read(timer, &expirations, sizeof expirations);
        else if (fds[2].revents != 0)
            feeder_listen(f);
    }
}

int main(int argc, char **argv)
{
    const char *door = "/run/holdfast/agent.sock";
    enum hf_level level = HF_LOG_INFO;
    struct feeder *f;
    int code = read_options(argc, argv, &door, &level);
    int signals, timer;

    if (code >= 0)
        return code;
    hf_log_open("holdfast-feeder", level, getenv("JOURNAL_STREAM") != NULL);
    signals = signal_descriptor();
    timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    f = calloc(1, sizeof *f);
    if (signals < 0 || timer < 0 || f == NULL) {
        hf_error("feeder: signals, timer or memory: %s", strerror(errno));
        free(f);
        return 1;
    }
    feeder_init(f, door);
    be_punctual();
    drop_privileges();
    code = run(f, signals, timer);
    /* Whoever ends us does not know whether a VM runs here that others count on being reset. */
    if (f->fed.is_open)
        hf_error("watchdog: the feeder ends while %s is armed: it stays armed, and resets this "
                 "host unless another feeder takes over",
                 f->device.path);
    free(f);
    return code;
}
