/* LINK: nicbond */
/* The real holdfast-guest in a network namespace without a bond, nicbond's end of the channel, and
 * this program as the qemu between them. */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nicbond/guest_socket.h"
#include "supervisord/base/clock.h"
#include "tests/unit/check.h"

enum { PATIENCE_MS = 10000, IDLE_MS = 300 };

struct end {
    char path[64];
    int listen_fd, fd; /* -1: nobody there */
};

struct rig {
    char folder[32], program[PATH_MAX];
    struct end guest, host;
    pid_t pid;
    struct guest_socket socket;
    uint64_t to_host, to_guest; /* bytes carried */
};

/* ---- qemu ---- */

static void listen_at(struct end *end)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    (void)strcpy(address.sun_path, end->path);
    (void)unlink(end->path);
    end->fd = -1;
    end->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(end->listen_fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(end->listen_fd, 4), 0);
}

static void hang_up(struct end *end)
{
    if (end->fd >= 0)
        close(end->fd);
    end->fd = -1;
}

/* What qemu does while nobody is on the other end of the port: it does not read. */
static void carry(struct end *from, const struct end *to, uint64_t *count)
{
    uint8_t bytes[512];
    ssize_t n;

    if (from->fd < 0)
        from->fd = accept4(from->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (from->fd < 0 || to->fd < 0)
        return;
    while ((n = recv(from->fd, bytes, sizeof bytes, 0)) > 0) {
        *count += (uint64_t)n;
        (void)!send(to->fd, bytes, (size_t)n, MSG_NOSIGNAL);
    }
    if (n == 0)
        hang_up(from);
}

static void turn(struct rig *rig)
{
    struct pollfd pfd[5] = {
        {.fd = rig->guest.listen_fd, .events = POLLIN},
        {.fd = rig->host.listen_fd, .events = POLLIN},
        {.fd = rig->host.fd >= 0 ? rig->guest.fd : -1, .events = POLLIN},
        {.fd = rig->guest.fd >= 0 ? rig->host.fd : -1, .events = POLLIN},
        guest_socket_poll(&rig->socket),
    };

    ck_assert_int_ge(poll(pfd, 5, 10), 0);
    carry(&rig->guest, &rig->host, &rig->to_host);
    carry(&rig->host, &rig->guest, &rig->to_guest);
    guest_socket_ready(&rig->socket, pfd[4].revents, hf_clock_now());
    (void)guest_socket_tick(&rig->socket, hf_clock_now());
}

#define UNTIL(condition)                                                                           \
    do {                                                                                           \
        hf_time until_ = hf_time_add_ms(hf_clock_now(), PATIENCE_MS);                              \
        while (!(condition)) {                                                                     \
            ck_assert_msg(!hf_time_reached(hf_clock_now(), until_), "never: " #condition);         \
            turn(&rig);                                                                            \
        }                                                                                          \
    } while (0)

/* ---- the helper ---- */

static void find_program(struct rig *rig)
{
    ssize_t len = readlink("/proc/self/exe", rig->program, sizeof rig->program - 32);

    ck_assert_int_gt(len, 0);
    rig->program[len] = '\0';
    for (unsigned up = 0; up < 2; up++)
        *strrchr(rig->program, '/') = '\0';
    (void)strcat(rig->program, "/bin/holdfast-guest");
}

static void start_helper(struct rig *rig)
{
    char port[80];
    char *argv[] = {rig->program, (char *)(uintptr_t) "--port", port,
                    (char *)(uintptr_t) "--verbose", NULL};

    (void)snprintf(port, sizeof port, "unix:%s", rig->guest.path);
    rig->pid = fork();
    ck_assert_int_ge(rig->pid, 0);
    if (rig->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        execv(argv[0], argv);
        _exit(127);
    }
}

/* Its exit status. */
static int stop_helper(struct rig *rig, int signal_number)
{
    int status = 0;

    ck_assert_int_eq(kill(rig->pid, signal_number), 0);
    ck_assert_int_eq(waitpid(rig->pid, &status, 0), rig->pid);
    rig->pid = 0;
    return status;
}

static void begin(struct rig *rig)
{
    struct hf_err err;

    memset(rig, 0, sizeof *rig);
    if (unshare(CLONE_NEWNET) != 0)
        ck_assert_int_eq(unshare(CLONE_NEWUSER | CLONE_NEWNET), 0);
    find_program(rig);
    (void)strcpy(rig->folder, "/tmp/hf-helper-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(rig->folder));
    (void)snprintf(rig->guest.path, sizeof rig->guest.path, "%s/guest", rig->folder);
    (void)snprintf(rig->host.path, sizeof rig->host.path, "%s/host", rig->folder);
    listen_at(&rig->guest);
    listen_at(&rig->host);
    ck_assert_int_eq(guest_socket_open(&rig->socket, rig->host.path, hf_clock_now(), &err), HF_OK);
    start_helper(rig);
}

static void end(struct rig *rig)
{
    if (rig->pid > 0) {
        int status = stop_helper(rig, SIGTERM);

        ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    guest_socket_close(&rig->socket, hf_clock_now());
    hang_up(&rig->guest);
    hang_up(&rig->host);
    close(rig->guest.listen_fd);
    close(rig->host.listen_fd);
    (void)unlink(rig->guest.path);
    (void)unlink(rig->host.path);
    (void)rmdir(rig->folder);
}

/* ---- cases ---- */

START_TEST(without_a_bond_it_says_so)
{
    struct rig rig;
    struct guest_answer answer;
    struct hf_err err;

    begin(&rig);
    UNTIL(rig.socket.guest.has_helper && rig.socket.guest.bond_guest_ns != 0);
    ck_assert(!rig.socket.guest.has_bond);
    ck_assert_uint_eq(rig.socket.guest.bond.slaves_count, 0);
    ck_assert_int_eq(guest_socket_order(&rig.socket, 7, (hf_mac){{2, 1}}, hf_clock_now(), &err),
                     HF_OK);
    UNTIL(guest_answer(&rig.socket.guest, &answer));
    ck_assert_uint_eq(answer.number, 7);
    ck_assert_int_eq(answer.result, GUEST_REFUSED);
    ck_assert_int_eq(answer.outcome, HF_GUEST_NO_BOND);
    ck_assert_uint_eq(rig.socket.guest.counters.skipped, 0);
    ck_assert_uint_eq(rig.socket.guest.counters.refused, 0);
    end(&rig);
}
END_TEST

START_TEST(it_is_the_same_boot_after_a_restart_of_the_helper)
{
    struct rig rig;

    begin(&rig);
    UNTIL(rig.socket.guest.has_helper);
    ck_assert_int_eq(WTERMSIG(stop_helper(&rig, SIGKILL)), SIGKILL);
    UNTIL(rig.guest.fd < 0);
    UNTIL(!rig.socket.guest.has_helper);
    start_helper(&rig);
    UNTIL(rig.socket.guest.has_helper);
    ck_assert_uint_eq(rig.socket.guest.counters.restarts, 0);
    end(&rig);
}
END_TEST

START_TEST(a_host_that_comes_back_is_greeted_again)
{
    struct rig rig;
    uint64_t before;

    begin(&rig);
    UNTIL(rig.socket.guest.has_helper);
    hang_up(&rig.guest);
    hang_up(&rig.host);
    UNTIL(!rig.socket.guest.has_helper);
    before = rig.socket.guest.counters.messages;
    UNTIL(rig.socket.guest.has_helper);
    UNTIL(rig.socket.guest.counters.messages >= before + 2);
    end(&rig);
}
END_TEST

START_TEST(noise_from_the_host_harms_nobody)
{
    struct rig rig;
    uint8_t noise[4096];
    uint64_t messages;

    begin(&rig);
    UNTIL(rig.socket.guest.has_helper);
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)(i * i * 7 + i);
    for (unsigned i = 0; i < 64; i++)
        (void)!send(rig.guest.fd, noise, sizeof noise, MSG_NOSIGNAL | MSG_DONTWAIT);
    messages = rig.socket.guest.counters.messages;
    UNTIL(rig.socket.guest.counters.messages >= messages + 4);
    ck_assert(rig.socket.guest.has_helper);
    end(&rig);
}
END_TEST

/* How the helper answers an order, by the words themselves. */
static enum hf_guest_outcome outcome_of(const struct rig *rig, struct guest_stream *stream,
                                        uint64_t number)
{
    struct hf_guest_message m = {.kind = HF_GUEST_ASK};
    struct pollfd pfd = {.fd = rig->guest.fd, .events = POLLIN};
    uint8_t bytes[GUEST_FRAME_MAX];
    ssize_t n;

    for (;;) {
        while (guest_stream_next(stream, &m))
            if (m.kind == HF_GUEST_ACK && m.u.ack.number == number)
                return m.u.ack.outcome;
        ck_assert_int_eq(poll(&pfd, 1, PATIENCE_MS), 1);
        n = recv(rig->guest.fd, bytes, sizeof bytes, 0);
        ck_assert_int_gt(n, 0);
        ck_assert_uint_eq(guest_stream_put(stream, bytes, (size_t)n), (size_t)n);
    }
}

START_TEST(an_order_that_nobody_waits_for_is_not_begun)
{
    struct rig rig;
    struct guest_stream stream = {.len = 0};
    struct hf_guest_message m = {.kind = HF_GUEST_SET_ACTIVE, .u.set_active = {.number = 7}};
    uint8_t bytes[4 * GUEST_FRAME_MAX];
    size_t len = 0;

    begin(&rig);
    UNTIL(rig.guest.fd >= 0);
    /* A guest that thaws finds all of it at once: two orders, the last of them taken back, and one
     * that stands. */
    len += guest_frame_encode(&m, bytes + len);
    m.u.set_active.number = 8;
    len += guest_frame_encode(&m, bytes + len);
    m = (struct hf_guest_message){.kind = HF_GUEST_ASK, .u.ask.void_to = 8};
    len += guest_frame_encode(&m, bytes + len);
    m = (struct hf_guest_message){.kind = HF_GUEST_SET_ACTIVE, .u.set_active = {.number = 9}};
    len += guest_frame_encode(&m, bytes + len);
    ck_assert_int_eq(send(rig.guest.fd, bytes, len, MSG_NOSIGNAL), (ssize_t)len);
    ck_assert_int_eq(outcome_of(&rig, &stream, 7), HF_GUEST_SUPERSEDED);
    ck_assert_int_eq(outcome_of(&rig, &stream, 8), HF_GUEST_SUPERSEDED);
    ck_assert_int_eq(outcome_of(&rig, &stream, 9), HF_GUEST_NO_BOND);
    end(&rig);
}
END_TEST

static unsigned long switches(pid_t pid)
{
    char path[64], line[256];
    unsigned long count = 0;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file) != NULL)
        (void)sscanf(line, "voluntary_ctxt_switches: %lu", &count);
    (void)fclose(file);
    ck_assert_uint_gt(count, 0);
    return count;
}

START_TEST(when_nothing_happens_it_sleeps)
{
    struct rig rig;
    struct pollfd pfd;
    uint8_t bytes[1024];
    unsigned long before;

    begin(&rig);
    UNTIL(rig.socket.guest.has_helper && rig.socket.guest.bond_guest_ns != 0);
    pfd = (struct pollfd){.fd = rig.guest.fd, .events = POLLIN};
    for (unsigned i = 0; i < 10 && poll(&pfd, 1, IDLE_MS) == 1; i++)
        ck_assert_int_gt(recv(rig.guest.fd, bytes, sizeof bytes, 0), 0);
    /* All answers are given, and nobody asks it anything now: any word would be an event here. */
    before = switches(rig.pid);
    ck_assert_int_eq(poll(&pfd, 1, IDLE_MS), 0);
    ck_assert_uint_le(switches(rig.pid) - before, 1);
    end(&rig);
}
END_TEST

static int run(const char *program, const char *option)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

        (void)dup2(fd, STDOUT_FILENO);
        (void)dup2(fd, STDERR_FILENO);
        execl(program, program, option, (char *)NULL);
        _exit(127);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(its_command_line_is_checked)
{
    struct rig rig;

    find_program(&rig);
    ck_assert_int_eq(run(rig.program, "--version"), 0);
    ck_assert_int_eq(run(rig.program, "--help"), 0);
    ck_assert_int_eq(run(rig.program, "--port=nowhere"), 1);
    ck_assert_int_eq(run(rig.program, "--bond=sixteen-letters-"), 1);
    ck_assert_int_eq(run(rig.program, "stray"), 1);
}
END_TEST

/* A guest may have any libc or none: nothing is loaded, and an initramfs has room for it. (Builds
 * for the sanitizers are dynamic.) */
START_TEST(it_is_one_small_file)
{
#ifndef HF_DYNAMIC_GUEST
    struct rig rig;
    struct stat about;
    Elf64_Ehdr head;
    Elf64_Phdr part;
    int fd;

    find_program(&rig);
    fd = open(rig.program, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(fd, &about), 0);
    ck_assert_int_lt(about.st_size, 1500000);
    ck_assert_int_eq(pread(fd, &head, sizeof head, 0), (ssize_t)sizeof head);
    for (unsigned i = 0; i < head.e_phnum; i++) {
        off_t at = (off_t)(head.e_phoff + i * sizeof part);

        ck_assert_int_eq(pread(fd, &part, sizeof part, at), (ssize_t)sizeof part);
        ck_assert_uint_ne(part.p_type, PT_INTERP);
    }
    close(fd);
#endif
}
END_TEST

HF_TEST_MAIN("agents/guest", HF_CASE(without_a_bond_it_says_so),
             HF_CASE(it_is_the_same_boot_after_a_restart_of_the_helper),
             HF_CASE(a_host_that_comes_back_is_greeted_again),
             HF_CASE(noise_from_the_host_harms_nobody),
             HF_CASE(an_order_that_nobody_waits_for_is_not_begun),
             HF_CASE(when_nothing_happens_it_sleeps), HF_CASE(its_command_line_is_checked),
             HF_CASE(it_is_one_small_file))
