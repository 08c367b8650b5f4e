/* hardware.c - fake-watchdog-hardware RECORD COMMAND...: the part of the fake watchdog that fires.
 * Waits until the watchdog of RECORD is armed and was not pinged for its timeout, then becomes
 * COMMAND, once. Another process than the feeder, so that one which is killed or stopped is found
 * out. A timerfd of CLOCK_BOOTTIME: to the deadline while armed, every 20 ms before. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>

#include "tests/fakes/watchdog/record.h"

enum { IDLE_NS = 20000000 };

static void wait_until(int timer, int64_t ns)
{
    struct itimerspec when = {.it_value = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000}};
    uint64_t expirations;

    if (timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL) != 0 ||
        read(timer, &expirations, sizeof expirations) < 0)
        _exit(1);
}

int main(int argc, char **argv)
{
    int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    struct watchdog_record *record;

    if (argc < 3) {
        fputs("usage: fake-watchdog-hardware RECORD COMMAND...\n", stderr);
        return 2;
    }
    record = watchdog_record_map(argv[1]);
    if (record == NULL || timer < 0) {
        perror(argv[1]);
        return 1;
    }
    for (;;) {
        int64_t now = watchdog_now_ns();
        int64_t deadline = record->last_ping_ns + (int64_t)record->timeout_s * 1000000000;

        if (!record->is_armed)
            wait_until(timer, now + IDLE_NS);
        else if (now < deadline)
            wait_until(timer, deadline);
        else
            break;
    }
    record->fired_ns = watchdog_now_ns();
    record->has_fired = 1;
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 1;
}
