#include "nicbond/guard.h"

#include "nicbond/ledger_file.h"
#include "tests/unit/check.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PF     "0000:01:00.0"
#define SISTER "0000:01:00.1"

static char base[64], sys_folder[80], proc_folder[80], ledger_folder[80];
static struct guard_where where;
static struct guard_users users;
static struct hf_err err;

static void run(const char *format, const char *a, const char *b)
{
    char command[600];

    snprintf(command, sizeof command, format, base, a, base, b);
    ck_assert_msg(system(command) == 0, "%s", command);
}

static void folder(const char *path)
{
    run("mkdir -p %s/%s; test -d %s%s", path, "");
}

static void join(const char *target, const char *path)
{
    char whole[300];

    snprintf(whole, sizeof whole, "%s/%s", base, path);
    ck_assert_msg(symlink(target, whole) == 0, "%s", whole);
}

static void put(const char *path, const char *bytes, size_t len)
{
    char whole[300];
    FILE *file;

    snprintf(whole, sizeof whole, "%s/%s", base, path);
    file = fopen(whole, "we");
    ck_assert_msg(file != NULL, "%s", whole);
    ck_assert(fwrite(bytes, 1, len, file) == len && fclose(file) == 0);
}

/* A card of two PFs; the first has two VFs in IOMMU groups 40 and 41, the second one, 50. */
static void setup(void)
{
    strcpy(base, "/tmp/hf-guard-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(base));
    snprintf(sys_folder, sizeof sys_folder, "%s/sys", base);
    snprintf(proc_folder, sizeof proc_folder, "%s/proc", base);
    snprintf(ledger_folder, sizeof ledger_folder, "%s/ledger", base);
    where = (struct guard_where){sys_folder, proc_folder, ledger_folder};
    folder("sys/bus/pci/devices/" PF "/net/enp1s0f0");
    folder("sys/bus/pci/devices/" SISTER "/net/enp1s0f1");
    folder("sys/bus/pci/devices/0000:01:10.0");
    folder("sys/bus/pci/devices/0000:01:10.2");
    folder("sys/bus/pci/devices/0000:01:10.1");
    folder("sys/class/net/enp1s0f0");
    folder("sys/class/net/lo");
    join("../../../" PF, "sys/class/net/enp1s0f0/device");
    join("../0000:01:10.0", "sys/bus/pci/devices/" PF "/virtfn0");
    join("../0000:01:10.2", "sys/bus/pci/devices/" PF "/virtfn1");
    join("../0000:01:10.1", "sys/bus/pci/devices/" SISTER "/virtfn0");
    join("../../../kernel/iommu_groups/40", "sys/bus/pci/devices/0000:01:10.0/iommu_group");
    join("../../../kernel/iommu_groups/41", "sys/bus/pci/devices/0000:01:10.2/iommu_group");
    join("../../../kernel/iommu_groups/50", "sys/bus/pci/devices/0000:01:10.1/iommu_group");
    folder("proc/1/fd");
    folder("proc/4711/fd");
    folder("proc/self");
    join("/dev/null", "proc/1/fd/0");
    join("/dev/vfio/vfio", "proc/4711/fd/7");
    join("socket:[123]", "proc/4711/fd/8");
}

static void teardown(void)
{
    run("rm -r %s%s; test ! -e %s%s", "", "");
}

static enum hf_code look(enum guard_act act)
{
    return guard_look(&where, act, PF, &users, &err);
}

static void own(const char *pf, const char *vf)
{
    struct ledger_vf want = {.uid = 7, .start_no = 3, .wanted = {.mac = {2}}};
    struct ledger_record record;
    struct ledger_file file;

    snprintf(want.pf, sizeof want.pf, "%s", pf);
    snprintf(want.vf, sizeof want.vf, "%s", vf);
    ck_assert_msg(ledger_file_open(&file, ledger_folder, 0, NULL, &err) == HF_OK, "%s", err.text);
    ck_assert_int_eq(ledger_intend(&file.ledger, &want, &want.wanted, &record, &err), HF_OK);
    ck_assert_int_eq(ledger_file_put(&file, &record, &err), HF_OK);
    ledger_file_close(&file);
}

START_TEST(nothing_is_refused_while_nobody_uses_a_vf)
{
    for (enum guard_act act = GUARD_NUMVFS; act < GUARD_ACTS; act++)
        ck_assert_msg(look(act) == HF_OK, "%s: %s", guard_act_name(act), err.text);
    ck_assert_uint_eq(users.count, 0);
    ck_assert_int_eq(guard_look(&where, GUARD_RESET, "enp1s0f0", &users, &err), HF_OK);
}
END_TEST

START_TEST(an_open_vfio_group_refuses_and_names_the_vm)
{
    static const char line[] = "/usr/bin/qemu-system-x86_64\0-name\0guest=mq-1,debug-threads=on";

    put("proc/4711/cmdline", line, sizeof line);
    join("/dev/vfio/41", "proc/4711/fd/9");
    for (enum guard_act act = GUARD_NUMVFS; act < GUARD_ACTS; act++)
        ck_assert_int_eq(look(act), HF_EACCESS);
    ck_assert_uint_eq(users.count, 1);
    ck_assert_int_eq(users.user[0].use, GUARD_VFIO);
    ck_assert_uint_eq(users.user[0].number, 1);
    ck_assert_int_eq(users.user[0].pid, 4711);
    ck_assert_str_eq(users.user[0].name, "mq-1");
    ck_assert_str_eq(err.text, "firmware of " PF " is refused, its VFs are in use; VF 1 "
                               "(0000:01:10.2): mq-1, process 4711");
}
END_TEST

START_TEST(an_open_vfio_device_refuses_too)
{
    static const char line[] = "/usr/bin/dpdk\x1b[2J\0x";

    put("proc/4711/cmdline", line, sizeof line);
    folder("sys/bus/pci/devices/0000:01:10.0/vfio-dev/vfio3");
    join("/dev/vfio/devices/vfio3", "proc/4711/fd/9");
    ck_assert_int_eq(look(GUARD_UNBIND), HF_EACCESS);
    ck_assert_str_eq(users.user[0].name, "dpdk?[2J"); /* its own words, made harmless */
}
END_TEST

START_TEST(an_owner_in_the_ledger_refuses)
{
    own(PF, "0000:01:10.0");
    ck_assert_int_eq(look(GUARD_NUMVFS), HF_EACCESS);
    ck_assert_int_eq(users.user[0].use, GUARD_LEDGER);
    ck_assert_ptr_nonnull(strstr(err.text, "VF 0 (0000:01:10.0): VM 7, start 3, by the ledger"));
}
END_TEST

START_TEST(an_interface_that_is_up_refuses)
{
    folder("sys/bus/pci/devices/0000:01:10.2/net/enp1s0f0v1");
    put("sys/bus/pci/devices/0000:01:10.2/net/enp1s0f0v1/flags", "0x1002\n", 7);
    ck_assert_int_eq(look(GUARD_NUMVFS), HF_OK);
    put("sys/bus/pci/devices/0000:01:10.2/net/enp1s0f0v1/flags", "0x1003\n", 7);
    ck_assert_int_eq(look(GUARD_NUMVFS), HF_EACCESS);
    ck_assert_int_eq(users.user[0].use, GUARD_NETDEV);
    ck_assert_ptr_nonnull(strstr(err.text, "interface enp1s0f0v1 is up"));
    put("sys/bus/pci/devices/0000:01:10.2/net/enp1s0f0v1/flags", "", 0);
    ck_assert_int_eq(look(GUARD_NUMVFS), HF_EACCESS); /* what does not read may be up */
}
END_TEST

/* The second VF has this driver; NULL: none. */
static void drive(const char *driver)
{
    char whole[300], target[100];

    snprintf(whole, sizeof whole, "%s/sys/bus/pci/devices/0000:01:10.2/driver", base);
    (void)unlink(whole);
    snprintf(target, sizeof target, "../../../../bus/pci/drivers/%s", driver != NULL ? driver : "");
    if (driver != NULL)
        join(target, "sys/bus/pci/devices/0000:01:10.2/driver");
}

START_TEST(an_interface_in_another_namespace_refuses)
{
    folder("sys/bus/pci/devices/0000:01:10.2/net"); /* as sysfs shows it: empty */
    drive("igbvf");
    for (enum guard_act act = GUARD_NUMVFS; act < GUARD_ACTS; act++)
        ck_assert_int_eq(look(act), HF_EACCESS);
    ck_assert_uint_eq(users.count, 1);
    ck_assert_int_eq(users.user[0].use, GUARD_ELSEWHERE);
    ck_assert_uint_eq(users.user[0].number, 1);
    ck_assert_str_eq(users.user[0].name, "igbvf");
    ck_assert_ptr_nonnull(
        strstr(err.text, "VF 1 (0000:01:10.2): driver igbvf shows no interface here"));
    drive(NULL); /* it is being taken away: not known to be gone */
    ck_assert_int_eq(look(GUARD_NUMVFS), HF_EACCESS);
    /* One that is here, and down, is known. */
    drive("igbvf");
    folder("sys/bus/pci/devices/0000:01:10.2/net/eth7");
    put("sys/bus/pci/devices/0000:01:10.2/net/eth7/flags", "0x1002\n", 7);
    ck_assert_int_eq(look(GUARD_NUMVFS), HF_OK);
}
END_TEST

START_TEST(a_driver_that_shows_no_interface_refuses)
{
    static const struct {
        const char *driver;
        enum hf_code code;
    } drivers[] = {{"igbvf", HF_EACCESS}, {"uio_pci_generic", HF_EACCESS},
                   {"vfio-pci", HF_OK},   {"mlx5_vfio_pci", HF_OK},
                   {"pci-stub", HF_OK},   {NULL, HF_OK}};

    drive(drivers[_i].driver);
    ck_assert_int_eq(look(GUARD_UNBIND), drivers[_i].code);
}
END_TEST

START_TEST(a_process_is_named_before_other_users)
{
    static const char line[] = "qemu\0-name\0guest=mq-1";

    own(PF, "0000:01:10.0");
    drive("igbvf");
    put("proc/4711/cmdline", line, sizeof line);
    join("/dev/vfio/40", "proc/4711/fd/9");
    ck_assert_int_eq(look(GUARD_NUMVFS), HF_EACCESS);
    ck_assert_str_eq(err.text, "numvfs of " PF " is refused, its VFs are in use; VF 0 "
                               "(0000:01:10.0): mq-1, process 4711; VF 0 (0000:01:10.0): VM 7, "
                               "start 3, by the ledger; VF 1 (0000:01:10.2): driver igbvf "
                               "shows no interface here");
}
END_TEST

START_TEST(a_reset_counts_the_other_port_of_the_card)
{
    join("/dev/vfio/50", "proc/4711/fd/9");
    ck_assert_int_eq(look(GUARD_NUMVFS), HF_OK);
    ck_assert_int_eq(look(GUARD_UNBIND), HF_OK);
    ck_assert_int_eq(look(GUARD_RESET), HF_EACCESS);
    ck_assert_int_eq(look(GUARD_FIRMWARE), HF_EACCESS);
    ck_assert_str_eq(users.user[0].pf, SISTER);
}
END_TEST

START_TEST(what_cannot_be_known_is_refused)
{
    char path[120];

    ck_assert_int_eq(guard_look(&where, GUARD_RESET, "../../x", &users, &err), HF_ENOENT);
    ck_assert_int_eq(guard_look(&where, GUARD_RESET, "lo", &users, &err), HF_ENOENT);
    ck_assert_int_eq(guard_look(&where, GUARD_RESET, "0000:09:00.0", &users, &err), HF_ENOENT);
    own(PF, "0000:01:10.0");
    snprintf(path, sizeof path, "%s/vfs", ledger_folder);
    ck_assert_int_eq(truncate(path, 40), 0);
    ck_assert_int_eq(look(GUARD_NUMVFS), HF_EBAD);
    ck_assert_ptr_nonnull(strstr(err.text, "who uses its VFs is not known"));
    ck_assert_int_eq(unlink(path), 0);
    where.proc = "/nowhere";
    ck_assert_int_eq(look(GUARD_NUMVFS), HF_EIO);
}
END_TEST

START_TEST(many_users_are_counted)
{
    char path[64];

    for (int i = 0; i < 30; i++) {
        snprintf(path, sizeof path, "proc/4711/fd/%d", 100 + i);
        join("/dev/vfio/40", path);
    }
    ck_assert_int_eq(look(GUARD_NUMVFS), HF_EACCESS);
    ck_assert_uint_eq(users.count, 30);
    ck_assert_ptr_nonnull(strstr(err.text, "; and 27 more"));
}
END_TEST

START_TEST(the_command_answers_in_words_and_status)
{
    static char numvfs[] = "numvfs", pf[] = "enp1s0f0", other[] = "wipe";
    char *good[] = {numvfs, pf}, *bad[] = {other, pf};
    char text[500];

    ck_assert_int_eq(guard_command(&where, 2, good, text, sizeof text), 0);
    ck_assert_str_eq(text, "numvfs of enp1s0f0: nobody uses its VFs\n");
    join("/dev/vfio/40", "proc/4711/fd/9");
    ck_assert_int_eq(guard_command(&where, 2, good, text, sizeof text), 1);
    ck_assert_ptr_nonnull(strstr(text, "numvfs of enp1s0f0 is refused"));
    ck_assert_int_eq(guard_command(&where, 2, bad, text, sizeof text), 2);
    ck_assert_int_eq(guard_command(&where, 0, good, text, sizeof text), 2);
    where.proc = "/nowhere";
    ck_assert_int_eq(guard_command(&where, 2, good, text, sizeof text), 2);
}
END_TEST

HF_TEST_MAIN_WITH("nicbond/guard", setup, teardown,
                  HF_CASE(nothing_is_refused_while_nobody_uses_a_vf),
                  HF_CASE(an_open_vfio_group_refuses_and_names_the_vm),
                  HF_CASE(an_open_vfio_device_refuses_too), HF_CASE(an_owner_in_the_ledger_refuses),
                  HF_CASE(an_interface_that_is_up_refuses),
                  HF_CASE(an_interface_in_another_namespace_refuses),
                  HF_LOOP(a_driver_that_shows_no_interface_refuses, 0, 6),
                  HF_CASE(a_process_is_named_before_other_users),
                  HF_CASE(a_reset_counts_the_other_port_of_the_card),
                  HF_CASE(what_cannot_be_known_is_refused), HF_CASE(many_users_are_counted),
                  HF_CASE(the_command_answers_in_words_and_status))
