#include "agents/host/probe.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/str.h"
#include "supervisord/base/uuid.h"

enum { PROBE_BYTES_MAX = 64 << 10 }; /* /proc/stat of 512 cores has 50 KiB: all its cpu lines */

/* The whole of a small file as text; false when there is none. */
static bool read_text(const char *sysroot, const char *path, char *out, size_t cap)
{
    char full[PATH_MAX];
    size_t len = 0;
    ssize_t n;
    int fd;

    if (snprintf(full, sizeof full, "%s%s", sysroot, path) >= (int)sizeof full)
        return false;
    fd = open(full, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    while (len < cap - 1 && (n = read(fd, out + len, cap - 1 - len)) > 0)
        len += (size_t)n;
    close(fd);
    out[len] = '\0';
    return len > 0;
}

/* "0f3c...-...": 32 digits, dashes between. All zeros when it is anything else. */
static void read_boot(const char *text, struct hf_boot *boot)
{
    struct hf_boot got = {{0}};
    unsigned digits = 0;

    for (; *text != '\0' && *text != '\n' && digits < 32; text++) {
        int v = hf_str_hex_digit(*text);

        if (*text == '-')
            continue;
        if (v < 0)
            return;
        got.id[digits / 2] = (uint8_t)(got.id[digits / 2] << 4 | v);
        digits++;
    }
    if (digits == 32)
        *boot = got;
}

/* "Key:   123 kB" -> MiB; 0 when missing. */
static uint32_t read_mib(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    unsigned long long kib;

    if (at == NULL || (at != text && at[-1] != '\n'))
        return 0;
    kib = strtoull(at + strlen(key), NULL, 10);
    return kib / 1024 > UINT32_MAX ? UINT32_MAX : (uint32_t)(kib / 1024);
}

static uint16_t count_cores(const char *text)
{
    uint16_t count = 0;

    for (const char *at = strstr(text, "\ncpu"); at != NULL && count < UINT16_MAX;
         at = strstr(at + 1, "\ncpu"))
        count = (uint16_t)(count + (at[4] >= '0' && at[4] <= '9'));
    return count;
}

/* "1.23" -> 123, without floating point; `bad` when there is no number. */
static uint32_t read_centi(const char *text, uint32_t bad)
{
    char *end;
    unsigned long whole = strtoul(text, &end, 10);
    uint32_t centi = 0;

    if (end == text || whole > 10000000)
        return bad;
    centi = (uint32_t)whole * 100;
    if (end[0] == '.' && end[1] >= '0' && end[1] <= '9') {
        centi += (uint32_t)(end[1] - '0') * 10;
        if (end[2] >= '0' && end[2] <= '9')
            centi += (uint32_t)(end[2] - '0');
    }
    return centi;
}

/* "some avg10=0.12 avg60=..." -> 12 */
static uint32_t read_pressure(const char *sysroot, const char *path)
{
    char text[512];
    const char *at;

    if (!read_text(sysroot, path, text, sizeof text) || strncmp(text, "some ", 5) != 0)
        return UINT32_MAX;
    at = strstr(text, "avg10=");
    return at != NULL ? read_centi(at + 6, UINT32_MAX) : UINT32_MAX;
}

void probe_host(const char *sysroot, const char *uuid_path, struct hf_report_host *out)
{
    static const char boot_id[] = "/proc/sys/kernel/random/boot_id";
    char *text = malloc(PROBE_BYTES_MAX);

    memset(out, 0, sizeof *out);
    out->psi_cpu_centi = read_pressure(sysroot, "/proc/pressure/cpu");
    out->psi_memory_centi = read_pressure(sysroot, "/proc/pressure/memory");
    out->psi_io_centi = read_pressure(sysroot, "/proc/pressure/io");
    if (text == NULL)
        return;
    if (read_text(sysroot, boot_id, text, PROBE_BYTES_MAX))
        read_boot(text, &out->boot);
    if (read_text(sysroot, "/proc/meminfo", text, PROBE_BYTES_MAX)) {
        out->memory_mib = read_mib(text, "MemTotal:");
        out->available_mib = read_mib(text, "MemAvailable:");
    }
    if (read_text(sysroot, "/proc/stat", text, PROBE_BYTES_MAX))
        out->cores = count_cores(text);
    if (read_text(sysroot, "/proc/loadavg", text, PROBE_BYTES_MAX))
        out->load_centi = read_centi(text, 0);
    if (!read_text(sysroot, uuid_path, text, PROBE_BYTES_MAX) ||
        !hf_uuid_number(text, &out->hardware))
        out->hardware = 0;
    free(text);
}

static void read_room(const char *sysroot, const char *path, struct hf_room *room)
{
    char full[PATH_MAX];
    struct statvfs found;

    memset(room, 0, sizeof *room);
    if (snprintf(full, sizeof full, "%s%s", sysroot, path) >= (int)sizeof full ||
        statvfs(full, &found) != 0)
        return;
    /* No file system in memory has 2^54 KiB, and the kernel's own counters are of 64 bits. */
    room->kib = (uint64_t)found.f_blocks * found.f_frsize / 1024;
    room->kib_free = (uint64_t)found.f_bavail * found.f_frsize / 1024;
    room->files = found.f_files;
    room->files_free = found.f_favail;
}

void probe_rooms(const char *sysroot, const char *run_directory, struct hf_room room[HF_ROOMS])
{
    read_room(sysroot, run_directory, &room[HF_ROOM_RUN]);
    read_room(sysroot, "/dev/shm", &room[HF_ROOM_SHM]);
}

void probe_clocks(struct hf_report_host *out)
{
    struct timex kernel = {.modes = 0};

    out->boottime_ns = (uint64_t)hf_clock_now().ns;
    out->wall_ns = hf_clock_wall().ns;
    out->clock_synchronised = adjtimex(&kernel) != TIME_ERROR && (kernel.status & STA_UNSYNC) == 0;
}
