/* The real holdfast-fencer on fake agents, with a password that can be found: nowhere may it be
 * found. What the real fence_ipmilan does with it is not ours to change: fencing/README.md states
 * it, tests/rig/cases/a_password_is_seen_in_one_place_only.sh looks at it. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisord/door/door.h"
#include "supervisord/wire/report.h"
#include "tests/unit/check.h"
#include "tests/unit/fencing/world.h"

static char marker[64];
static pid_t fencer;
static int listener = -1, door = -1;

/* ---- looking for it ---- */

static bool has_marker(const char *path)
{
    static char bytes[1 << 20];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t len = 0;
    ssize_t got;

    if (fd < 0)
        return false; /* gone */
    while (len < sizeof bytes && (got = read(fd, bytes + len, sizeof bytes - len)) > 0)
        len += (size_t)got;
    close(fd);
    return memmem(bytes, len, marker, strlen(marker)) != NULL;
}

/* Of every process, not of our children only. */
static bool is_in_proc(void)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    bool found = false;

    ck_assert_ptr_nonnull(proc);
    while ((entry = readdir(proc)) != NULL && !found) {
        char path[300];

        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        found = has_marker(path);
        snprintf(path, sizeof path, "/proc/%s/environ", entry->d_name);
        found = found || has_marker(path);
    }
    closedir(proc);
    return found;
}

/* Every file of the test's folder but the credentials and what the fake wrote down on purpose. */
static void nothing_in(const char *folder)
{
    DIR *list = opendir(world_path(folder));
    struct dirent *entry;

    ck_assert_ptr_nonnull(list);
    while ((entry = readdir(list)) != NULL) {
        char path[600];

        if (entry->d_type != DT_REG || strcmp(entry->d_name, "ipmitool.record") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", world_path(folder), entry->d_name);
        ck_assert_msg(!has_marker(path), "%s", path);
        ck_assert_msg(strncmp(entry->d_name, "core", 4) != 0, "%s", path);
    }
    closedir(list);
}

/* ---- the fencer ---- */

static const char *config(void)
{
    static char text[1024];

    snprintf(text, sizeof text,
             "cluster {\n name: test\n}\n"
             "fence_device bmc {\n agent: fence_ipmilan\n credentials: secret\n"
             " params {\n ip: 10.0.0.1\n plug: %s\n }\n}\n"
             "node n1 {\n id: 1\n fence_level_1: bmc\n}\n",
             world_path("plug"));
    return text;
}

static _Noreturn void become_fencer(const char *self)
{
    struct rlimit any = {RLIM_INFINITY, RLIM_INFINITY};
    int log = open(world_path("log"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    char program[512];

    snprintf(program, sizeof program, "%.*s/../bin/holdfast-fencer",
             (int)(strrchr(self, '/') - self), self);
    (void)setrlimit(RLIMIT_CORE, &any); /* all that we may: it has to refuse by itself */
    if (dup2(log, 1) == 1 && dup2(log, 2) == 2 && chdir(world_path("cores")) == 0)
        execl(program, program, "--door", world_path("door"), "--agents", world_agents(),
              "--credentials", world_path("cred"), "--tools", world_agents(), (char *)NULL);
    _exit(99);
}

static void setup(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char self[400], secret[200];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

    ck_assert_int_gt(len, 0);
    self[len] = '\0';
    world_setup();
    world_agent("fence_held", "fence_ipmilan");
    ck_assert_int_eq(mkdir(world_path("cores"), 0755), 0);
    ck_assert_int_eq(mkfifo(world_path("plug.hold.off"), 0600), 0);
    ck_assert_int_eq(mkfifo(world_path("plug.hold.status"), 0600), 0);
    ck_assert_int_eq(mkfifo(world_path("agents/ipmitool.hold"), 0600), 0);
    snprintf(marker, sizeof marker, "hf-marker-%d-Xq7", (int)getpid());
    snprintf(secret, sizeof secret, "username=admin\npassword=%s\n", marker);
    world_write("plug", "on");
    world_write("cred/secret", secret);
    world_write("agents/guid", " a1 23 45 67 89 ab cd ef a1 23 45 67 89 ab cd 01\n");
    strcpy(address.sun_path, world_path("door"));
    listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    fencer = fork();
    ck_assert_int_ge(fencer, 0);
    if (fencer == 0)
        become_fencer(self);
    door = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_ge(door, 0);
}

static void teardown(void)
{
    close(door);
    close(listener);
    if (fencer > 0) {
        ck_assert_int_eq(kill(fencer, SIGTERM), 0);
        ck_assert_int_eq(waitpid(fencer, NULL, 0), fencer);
    }
    world_teardown();
}

static void send_report(const struct hf_report *report)
{
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    struct hf_err err;
    int ride = -1;

    ck_assert_int_eq(door_memory("config", config(), strlen(config()), &ride, &err), HF_OK);
    ck_assert_int_eq(door_send(door, bytes, report_encode(report, bytes), ride, &err), HF_OK);
    close(ride);
}

/* The next report of this kind; none before it may hold the marker. */
static struct hf_report receive(enum hf_report_kind kind)
{
    for (;;) {
        uint8_t bytes[HF_REPORT_BYTES_MAX];
        ssize_t len = recv(door, bytes, sizeof bytes, 0);
        struct hf_report report;
        struct hf_err err;

        ck_assert_int_gt(len, 0);
        ck_assert_ptr_null(memmem(bytes, (size_t)len, marker, strlen(marker)));
        ck_assert_int_eq(report_decode(bytes, (size_t)len, &report, &err), HF_OK);
        if (report.kind == kind)
            return report;
    }
}

/* Opening waits until the fake has opened its end: it has read its stdin then. */
static int meet(const char *fifo)
{
    int fd = open(world_path(fifo), O_WRONLY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    return fd;
}

static void let_go(int fd)
{
    ck_assert_int_eq(write(fd, "\n", 1), 1);
    close(fd);
}

static void send_test(void)
{
    struct hf_report report = {.kind = HF_REPORT_TEST};

    report.u.test.number = 1;
    report.u.test.deadline_ms = 15000;
    strcpy(report.u.test.target, "n1");
    send_report(&report);
}

static void send_fence(uint64_t seq)
{
    struct hf_report report = {.kind = HF_REPORT_FENCE};

    report.u.fence.token = (struct hf_token){seq, 1};
    report.u.fence.deadline_ms = 15000;
    strcpy(report.u.fence.target, "n1");
    send_report(&report);
}

/* ---- cases ---- */

START_TEST(the_search_finds_what_is_there)
{
    pid_t pids[2];
    int ready[2];

    for (int i = 0; i < 2; i++) {
        char in_env[80], byte;
        char *const env[] = {in_env, NULL};

        snprintf(in_env, sizeof in_env, "P=%s", marker);
        ck_assert(!is_in_proc());
        ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
        pids[i] = fork();
        if (pids[i] == 0) {
            if (i == 0)
                execl("/bin/sleep", marker, "60", (char *)NULL);
            execle("/bin/sleep", "sleep", "60", (char *)NULL, env);
            _exit(99);
        }
        close(ready[1]);
        ck_assert_int_eq(read(ready[0], &byte, 1), 0); /* closed by its exec */
        close(ready[0]);
        ck_assert(is_in_proc());
        ck_assert_int_eq(kill(pids[i], SIGKILL), 0);
        ck_assert_int_eq(waitpid(pids[i], NULL, 0), pids[i]);
    }
    ck_assert(has_marker(world_path("cred/secret")));
}
END_TEST

START_TEST(a_self_test_leaves_it_nowhere)
{
    struct hf_report report;
    int held;

    send_test();
    held = meet("plug.hold.status");
    ck_assert(!is_in_proc());
    let_go(held);
    held = meet("agents/ipmitool.hold");
    ck_assert(has_marker(world_path("agents/ipmitool.record"))); /* it did get it */
    ck_assert(!is_in_proc());
    let_go(held);
    report = receive(HF_REPORT_TESTED);
    ck_assert_int_eq(report.u.tested.found, HF_PATH_OK);
    ck_assert_uint_ne(report.u.tested.hardware, 0);
    nothing_in(".");
    nothing_in("agents");
    nothing_in("cores");
}
END_TEST

START_TEST(a_fence_leaves_it_nowhere)
{
    int held;

    send_fence(1);
    held = meet("plug.hold.off");
    ck_assert(!is_in_proc());
    let_go(held);
    held = meet("plug.hold.status");
    ck_assert(!is_in_proc());
    let_go(held);
    ck_assert_int_eq(receive(HF_REPORT_DONE).u.done.outcome, HF_OUT_DONE);
    nothing_in(".");
    nothing_in("agents");
    nothing_in("cores");
}
END_TEST

static bool may_dump_core(pid_t pid)
{
    char path[64], line[256];
    bool may = true;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/limits", (int)pid);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "Max core file size        0 ", 28) == 0)
            may = false;
    fclose(file);
    return may;
}

START_TEST(an_agent_that_dies_with_it_leaves_no_core)
{
    struct hf_report report;
    pid_t agent;
    int held;

    send_fence(1);
    held = meet("plug.hold.off");
    agent = (pid_t)atoi(world_read("plug.pid"));
    ck_assert_int_gt(agent, 1);
    ck_assert(!may_dump_core(agent));
    ck_assert_int_eq(kill(agent, SIGSEGV), 0);
    report = receive(HF_REPORT_DONE);
    close(held);
    ck_assert_int_eq(report.u.done.outcome, HF_OUT_GAVE_UP);
    ck_assert_ptr_nonnull(strstr(report.u.done.why, "died of signal 11"));
    nothing_in(".");
    nothing_in("agents");
    nothing_in("cores");
}
END_TEST

START_TEST(a_fencer_that_dies_with_it_leaves_no_core)
{
    int held, status;

    send_fence(1);
    held = meet("plug.hold.off");
    ck_assert_int_eq(kill(fencer, SIGABRT), 0);
    ck_assert_int_eq(waitpid(fencer, &status, 0), fencer);
    fencer = 0;
    close(held);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGABRT);
    ck_assert(!WCOREDUMP(status));
    nothing_in(".");
    nothing_in("agents");
    nothing_in("cores");
}
END_TEST

HF_TEST_MAIN_WITH("fencing/runner/secrets", setup, teardown,
                  HF_CASE(the_search_finds_what_is_there), HF_CASE(a_self_test_leaves_it_nowhere),
                  HF_CASE(a_fence_leaves_it_nowhere),
                  HF_CASE(an_agent_that_dies_with_it_leaves_no_core),
                  HF_CASE(a_fencer_that_dies_with_it_leaves_no_core))
