/* pacer.c - a loop that does nothing but what holdfast-nicbond's hot loop cannot do without: wake
 * every millisecond, with its priority, and read three small files of sysfs. What it costs and how
 * late it is, is the floor on this machine at this moment; run() compares.
 *
 *     nicbond-pacer SECONDS     prints "CPU_NS_PER_MS WORST_US LATE" (late: by 5 ms and more) */
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { READS = 3, LATE_NS = 5000000, TICK_NS = 1000000 };

static int64_t ns_of(clockid_t clock)
{
    struct timespec at;

    (void)clock_gettime(clock, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

int main(int argc, char **argv)
{
    struct sched_param param = {.sched_priority = 1};
    int64_t rounds = (argc > 1 ? strtol(argv[1], NULL, 10) : 1) * 1000;
    int64_t worst = 0, late = 0, next, spent;
    int wait_fd = epoll_create1(EPOLL_CLOEXEC);
    int fd = open("/sys/class/net/lo/carrier_down_count", O_RDONLY | O_CLOEXEC);
    struct epoll_event ev;
    char text[32];

    (void)sched_setscheduler(0, SCHED_RR, &param);
    if (wait_fd < 0 || fd < 0)
        return EXIT_FAILURE;
    spent = ns_of(CLOCK_PROCESS_CPUTIME_ID);
    next = ns_of(CLOCK_BOOTTIME);
    for (int64_t i = 0; i < rounds; i++) {
        int64_t now = ns_of(CLOCK_BOOTTIME);
        struct timespec wait = {.tv_nsec = next > now ? next - now : 0};

        (void)epoll_pwait2(wait_fd, &ev, 1, &wait, NULL);
        now = ns_of(CLOCK_BOOTTIME);
        worst = now - next > worst ? now - next : worst;
        late += now - next >= LATE_NS;
        next += TICK_NS;
        if (now >= next)
            next = now + TICK_NS;
        for (unsigned n = 0; n < READS; n++) {
            if (pread(fd, text, sizeof text, 0) <= 0)
                return EXIT_FAILURE;
        }
    }
    spent = ns_of(CLOCK_PROCESS_CPUTIME_ID) - spent;
    printf("%lld %lld %lld\n", (long long)(spent / rounds), (long long)(worst / 1000),
           (long long)late);
    return EXIT_SUCCESS;
}
