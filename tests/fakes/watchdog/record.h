/* record.h - the fake watchdog's hardware: one small file, mapped by the fake device in the feeder
 * and by fake-watchdog-hardware, which is the part that fires. Like real hardware it goes on when
 * the process that opened it is dead. Times are CLOCK_BOOTTIME. */
#ifndef TESTS_FAKES_WATCHDOG_RECORD_H
#define TESTS_FAKES_WATCHDOG_RECORD_H

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct watchdog_record {
    _Atomic int64_t last_ping_ns; /* also the opening and every SETTIMEOUT, as in the kernel */
    _Atomic int64_t opened_ns;    /* the last opening; 0: never */
    _Atomic uint32_t is_armed;
    _Atomic uint32_t timeout_s;
    _Atomic uint32_t opens, pings, clean_closes, settings;
    _Atomic uint32_t owner;     /* pid of who has it open; 0: nobody */
    _Atomic uint32_t has_fired; /* written by the hardware, once */
    _Atomic int64_t fired_ns;
};

static inline int64_t watchdog_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_BOOTTIME, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Maps the file, made if it is not there; NULL with errno. */
static inline struct watchdog_record *watchdog_record_map(const char *path)
{
    struct watchdog_record *record = NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *map;

    if (fd < 0)
        return NULL;
    if (ftruncate(fd, sizeof *record) == 0) {
        map = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        record = map == MAP_FAILED ? NULL : map;
    }
    close(fd);
    return record;
}

#endif
