#include "agents/vm/qemu.h"

#include "tests/fakes/libvirt.h"
#include "tests/unit/check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];
static char mq[HF_NAME_MAX + 1]; /* the VM */
static struct fake_libvirt fake;
static struct qemu_where where;

static void setup(void)
{
    struct virt virt;

    strcpy(folder, "/tmp/hf-qemu-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    fake_open(&fake, folder, &virt);
    fake_name(mq, 1);
    where = (struct qemu_where){.proc = "/proc", .run = folder};
}

static void teardown(void)
{
    char command[128];

    fake_close(&fake);
    snprintf(command, sizeof command, "rm -r %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void put(const char *path, const char *text, size_t len)
{
    char full[200];
    FILE *file;

    snprintf(full, sizeof full, "%s/%s", folder, path);
    file = fopen(full, "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, len, file), len);
    fclose(file);
}

/* A file that libvirt writes of the VM. */
static void put_of(const char *ending, const char *text, size_t len)
{
    char name[HF_NAME_MAX + 10];

    snprintf(name, sizeof name, "%s.%s", mq, ending);
    put(name, text, len);
}

START_TEST(libvirt_s_daemon_is_who_holds_the_lock_of_its_pid_file)
{
    struct qemu driver;
    int ready[2], status;
    char path[100], one;
    pid_t pid;

    ck_assert_int_eq(qemu_driver(&where).pid, 0);
    put("driver.pid", "1\n", 2); /* left behind, and its number is somebody else's now */
    ck_assert_int_eq(qemu_driver(&where).pid, 0);
    ck_assert_int_eq(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
        int fd;

        snprintf(path, sizeof path, "%s/driver.pid", folder);
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0 || fcntl(fd, F_SETLK, &lock) != 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    close(ready[1]);
    ck_assert_int_eq(read(ready[0], &one, 1), 1);
    close(ready[0]);
    driver = qemu_driver(&where);
    ck_assert_int_eq(driver.pid, pid);
    ck_assert(!qemu_is_gone(&where, &driver));
    driver.started--;
    ck_assert(qemu_is_gone(&where, &driver)); /* its number is another's */
    driver.started++;
    ck_assert_int_eq(kill(pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(qemu_is_gone(&where, &driver));
    ck_assert_int_eq(qemu_driver(&where).pid, 0);
}
END_TEST

START_TEST(who_cannot_be_looked_for_is_not_gone)
{
    struct qemu nobody = {0}, driver = {.pid = 12, .started = 34};
    struct qemu_where nowhere = {.proc = "/nowhere", .run = folder};

    ck_assert(!qemu_is_gone(&where, &nobody));
    ck_assert(!qemu_is_gone(&nowhere, &driver));
}
END_TEST

static struct qemu look(const char *name)
{
    struct qemu found;
    struct hf_err err;

    ck_assert_msg(qemu_look(&where, &name, 1, &found, &err) == HF_OK, "%s", err.text);
    return found;
}

START_TEST(a_process_is_found_with_and_without_libvirt_s_file)
{
    pid_t pid = fake_qemu(&fake, mq, NULL);
    char path[160], longer[HF_NAME_MAX + 2], shorter[HF_NAME_MAX + 1];

    ck_assert_int_eq(qemu_by_file(&where, mq).pid, pid);
    ck_assert_int_eq(look(mq).pid, pid);
    snprintf(longer, sizeof longer, "%s0", mq);
    snprintf(shorter, sizeof shorter, "%.*s", (int)strlen(mq) - 1, mq);
    ck_assert_int_eq(look(shorter).pid, 0); /* not by a part of the name */
    ck_assert_int_eq(look(longer).pid, 0);
    snprintf(path, sizeof path, "%s/%s.pid", folder, mq);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(qemu_by_file(&where, mq).pid, 0);
    ck_assert_int_eq(look(mq).pid, pid);
}
END_TEST

START_TEST(a_file_that_names_somebody_else_is_not_believed)
{
    char number[16];

    snprintf(number, sizeof number, "%d\n", (int)getpid());
    put_of("pid", number, strlen(number));
    ck_assert_int_eq(qemu_by_file(&where, mq).pid, 0);
    put_of("pid", "99999999999999999999", 20);
    ck_assert_int_eq(qemu_by_file(&where, mq).pid, 0);
    put_of("pid", "-1", 2);
    ck_assert_int_eq(qemu_by_file(&where, mq).pid, 0);
    put_of("pid", "", 0);
    ck_assert_int_eq(look(mq).pid, 0);
}
END_TEST

/* Somebody who greps for a VM does not run it: the same words, another program. */
START_TEST(a_process_that_is_no_qemu_is_not_a_vm)
{
    int says[2], hears[2];
    struct qemu found;
    char guest[HF_NAME_MAX + 10], line;
    pid_t pid;

    snprintf(guest, sizeof guest, "guest=%s", mq);
    ck_assert_int_eq(pipe2(says, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(hears, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        if (dup2(says[1], 1) == 1 && dup2(hears[0], 0) == 0)
            execl("/bin/sh", "qemu-system-x86_64", "-c", "echo; read x", "-name", guest,
                  (char *)NULL);
        _exit(127);
    }
    close(says[1]);
    ck_assert_int_eq(read(says[0], &line, 1), 1); /* it is the shell now */
    close(says[0]);
    found = look(mq);
    close(hears[0]);
    close(hears[1]);
    (void)kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    ck_assert_int_eq(found.pid, 0);
}
END_TEST

START_TEST(the_way_it_ended_is_known_before_and_after_it_is_reaped)
{
    static const struct {
        int signal;
        enum judge_end end;
    } cases[] = {{SIGTERM, JUDGE_END_ORDERLY}, {SIGKILL, JUDGE_END_FAILED}};
    pid_t pid = fake_qemu(&fake, mq, NULL);
    struct qemu q = look(mq);
    struct hf_err err;
    siginfo_t info;
    enum judge_end after;
    int pidfd;

    ck_assert_int_eq(qemu_hold(&where, &q, &pidfd, &err), HF_OK);
    ck_assert(!qemu_has_ended(pidfd));
    ck_assert_int_eq(kill(pid, cases[_i].signal), 0);
    ck_assert_int_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    ck_assert(qemu_has_ended(pidfd));
    ck_assert_int_eq(qemu_end(&where, &q, pidfd), cases[_i].end);
    ck_assert_int_eq(look(mq).pid, 0); /* a zombie without threads is dead */
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    after = qemu_end(&where, &q, pidfd);
    ck_assert(after == cases[_i].end || after == JUDGE_END_UNKNOWN); /* kernels before 6.15 */
    ck_assert(!qemu_kill(pidfd));
    close(pidfd);
}
END_TEST

START_TEST(a_pid_used_again_is_not_held)
{
    struct qemu q;
    struct hf_err err;
    int pidfd;

    (void)fake_qemu(&fake, mq, NULL);
    q = look(mq);
    q.started--;
    ck_assert_int_eq(qemu_hold(&where, &q, &pidfd, &err), HF_ENOENT);
    q = (struct qemu){.pid = 4194303, .started = 1};
    ck_assert_int_eq(qemu_hold(&where, &q, &pidfd, &err), HF_ENOENT);
}
END_TEST

/* A leader that is a zombie while a thread hangs in the kernel: no command line, not dead. */
START_TEST(a_zombie_with_threads_left_still_runs)
{
    static const char stat_of[] = "4711 (qemu) Z 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 %d 0 777 0 0";
    char text[200], path[100];

    where.proc = folder;
    snprintf(path, sizeof path, "%s/4711", folder);
    ck_assert_int_eq(mkdir(path, 0755), 0);
    put_of("pid", "4711", 4);
    put("4711/cmdline", "", 0);
    snprintf(text, sizeof text, stat_of, 3);
    put("4711/stat", text, strlen(text));
    ck_assert_int_eq(look(mq).pid, 4711);
    snprintf(text, sizeof text, stat_of, 1);
    put("4711/stat", text, strlen(text));
    ck_assert_int_eq(look(mq).pid, 0);
    put("4711/stat", "4711 (qemu", 10);
    ck_assert_int_eq(look(mq).pid, 0);
}
END_TEST

START_TEST(a_look_that_cannot_see_is_an_error_not_an_empty_host)
{
    const char *name = mq;
    struct qemu found;
    struct hf_err err;

    where.proc = "/nonexistent";
    ck_assert_int_eq(qemu_look(&where, &name, 1, &found, &err), HF_EIO);
    where.proc = folder; /* no process at all: not a /proc */
    ck_assert_int_eq(qemu_look(&where, &name, 1, &found, &err), HF_EIO);
}
END_TEST

START_TEST(the_start_number_comes_from_the_status_file_of_this_vm_only)
{
    static const char xml[] = "<domstatus><domain><metadata><hf:start "
                              "xmlns:hf='urn:holdfast:start:1' no='41' uid='1'/></metadata>"
                              "</domain></domstatus>";
    bool is_certain;

    ck_assert_uint_eq(qemu_start_no(&where, mq, 1, &is_certain), 0);
    ck_assert(!is_certain);
    put_of("xml", xml, strlen(xml));
    ck_assert_uint_eq(qemu_start_no(&where, mq, 1, &is_certain), 41);
    ck_assert(is_certain);
    ck_assert_uint_eq(qemu_start_no(&where, mq, 2, &is_certain), 0);
    put_of("xml", xml, 40);
    ck_assert_uint_eq(qemu_start_no(&where, mq, 1, &is_certain), 0);
    ck_assert(!is_certain);
}
END_TEST

HF_TEST_MAIN_WITH("agents/vm/qemu", setup, teardown,
                  HF_CASE(libvirt_s_daemon_is_who_holds_the_lock_of_its_pid_file),
                  HF_CASE(who_cannot_be_looked_for_is_not_gone),
                  HF_CASE(a_process_is_found_with_and_without_libvirt_s_file),
                  HF_CASE(a_file_that_names_somebody_else_is_not_believed),
                  HF_CASE(a_process_that_is_no_qemu_is_not_a_vm),
                  HF_LOOP(the_way_it_ended_is_known_before_and_after_it_is_reaped, 0, 2),
                  HF_CASE(a_pid_used_again_is_not_held),
                  HF_CASE(a_zombie_with_threads_left_still_runs),
                  HF_CASE(a_look_that_cannot_see_is_an_error_not_an_empty_host),
                  HF_CASE(the_start_number_comes_from_the_status_file_of_this_vm_only))
