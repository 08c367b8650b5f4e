#include "agents/host/host.h"

#include "agents/host/probe.h"
#include "supervisord/base/uuid.h"
#include "tests/fakes/agent_rig.h"
#include "tests/unit/check.h"

#include <string.h>
#include <sys/statvfs.h>

static void put(const char *root, const char *path, const char *text)
{
    char command[512];
    FILE *file;

    snprintf(command, sizeof command, "mkdir -p $(dirname %s/%s)", root, path);
    ck_assert_int_eq(system(command), 0);
    snprintf(command, sizeof command, "%s/%s", root, path);
    file = fopen(command, "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    fclose(file);
}

static void put_host(const char *root)
{
    put(root, "proc/sys/kernel/random/boot_id", "0f3c0000-aaaa-4bbb-8ccc-0123456789ab\n");
    put(root, "proc/meminfo",
        "MemTotal:       65536000 kB\nMemFree: 1 kB\n"
        "MemAvailable:   32768000 kB\n");
    put(root, "proc/stat", "cpu  1 2\ncpu0 1\ncpu1 1\ncpu2 1\nintr 5\n");
    put(root, "proc/loadavg", "1.25 0.10 0.05 1/100 1234\n");
    put(root, "proc/pressure/cpu", "some avg10=12.34 avg60=0.00 avg300=0.00 total=1\n");
    put(root, "proc/pressure/io", "garbage\n");
    put(root, "uuid", "03000200-0400-0500-0006-000700080009\n");
}

START_TEST(a_host_is_read_from_its_files_and_the_unknown_stays_unknown)
{
    char root[] = "/tmp/hf-host-XXXXXX", command[64];
    struct hf_report_host host;
    uint64_t hardware;

    ck_assert_ptr_nonnull(mkdtemp(root));
    probe_host(root, "/uuid", &host); /* nothing there at all */
    ck_assert_uint_eq(host.memory_mib, 0);
    ck_assert_uint_eq(host.psi_cpu_centi, UINT32_MAX);
    put_host(root);
    probe_host(root, "/uuid", &host);
    ck_assert_uint_eq(host.boot.id[0], 0x0f);
    ck_assert_uint_eq(host.boot.id[15], 0xab);
    ck_assert_uint_eq(host.memory_mib, 64000);
    ck_assert_uint_eq(host.available_mib, 32000);
    ck_assert_uint_eq(host.cores, 3);
    ck_assert_uint_eq(host.load_centi, 125);
    ck_assert_uint_eq(host.psi_cpu_centi, 1234);
    ck_assert_uint_eq(host.psi_io_centi, UINT32_MAX);
    ck_assert_uint_eq(host.psi_memory_centi, UINT32_MAX);
    ck_assert(hf_uuid_number("03000200-0400-0500-0006-000700080009", &hardware));
    ck_assert_uint_eq(host.hardware, hardware);
    put(root, "proc/sys/kernel/random/boot_id", "0f3c\n");
    put(root, "proc/meminfo", "MemTotal: lots\n");
    put(root, "proc/loadavg", "\n");
    put(root, "uuid", "Not Specified\n");
    probe_host(root, "/uuid", &host);
    ck_assert_uint_eq(host.boot.id[0], 0);
    ck_assert_uint_eq(host.memory_mib, 0);
    ck_assert_uint_eq(host.load_centi, 0);
    ck_assert_uint_eq(host.hardware, 0);
    snprintf(command, sizeof command, "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(room_is_what_the_file_system_says_and_unknown_where_there_is_none)
{
    struct hf_room room[HF_ROOMS];
    struct statvfs found;

    memset(room, 0xff, sizeof room);
    probe_rooms("/nowhere", "/run", room);
    ck_assert_uint_eq(room[HF_ROOM_RUN].kib, 0);
    ck_assert_uint_eq(room[HF_ROOM_SHM].files, 0);
    ck_assert_int_eq(statvfs("/tmp", &found), 0);
    probe_rooms("", "/tmp", room);
    ck_assert_uint_eq(room[HF_ROOM_RUN].kib, (uint64_t)found.f_blocks * found.f_frsize / 1024);
    ck_assert_uint_eq(room[HF_ROOM_RUN].files, found.f_files);
    ck_assert_uint_gt(room[HF_ROOM_SHM].kib, 0);
    ck_assert_uint_le(room[HF_ROOM_SHM].kib_free, room[HF_ROOM_SHM].kib);
}
END_TEST

START_TEST(every_new_daemon_is_told_at_once)
{
    struct host host = {.sysroot = "", .uuid_path = PROBE_UUID_PATH, .run_directory = "/run"};
    struct agent_rig rig;
    struct agent_setup setup;
    struct hf_report r;
    struct hf_err err;
    char command[96];

    rig_open(&rig);
    setup = rig_setup(&rig, HF_AGENT_HOST, &host_calls, &host);
    ck_assert_int_eq(agent_open(&host.agent, &setup, &err), HF_OK);
    rig.agent = host.agent;
    rig_run(&rig, HF_AGENT_HOST);
    r = rig_await(&rig, ~0u);
    ck_assert_int_eq(r.kind, HF_REPORT_HOST);
    ck_assert_uint_gt(r.u.host.memory_mib, 0);
    ck_assert_uint_gt(r.u.host.cores, 0);
    ck_assert_uint_gt(r.u.host.room[HF_ROOM_RUN].kib, 0);
    rig_restart(&rig, HF_AGENT_HOST);
    r = rig_await(&rig, ~0u);
    ck_assert_int_eq(r.kind, HF_REPORT_HOST);
    rig_stop(&rig);
    ck_assert_uint_eq(agent_health(host.agent).connects, 2);
    rig_close(&rig);
    snprintf(command, sizeof command, "rm -r %s", rig.folder);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

HF_TEST_MAIN("agents/host", HF_CASE(a_host_is_read_from_its_files_and_the_unknown_stays_unknown),
             HF_CASE(room_is_what_the_file_system_says_and_unknown_where_there_is_none),
             HF_CASE(every_new_daemon_is_told_at_once))
