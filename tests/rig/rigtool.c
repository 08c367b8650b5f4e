/* rigtool - the compiled helpers of the namespace rig.
 *   rigtool init BOOT        PID 1 of a node: reaps, runs BOOT once, turns a write to
 *                            /run/rig-sysrq (bound over /proc/sysrq-trigger) into node death
 *   rigtool now              CLOCK_MONOTONIC in ns
 *   rigtool stamp [TAG]      copies stdin lines as "ns TAG line"
 *   rigtool gone PID CMD...  waits until process PID has ended, then becomes CMD
 *   rigtool procwatch [CG]   exec/exit of every process below cgroup CG as JSON lines
 *                            (kernel stamps, needs the initial pid namespace)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIDS_MAX = 4194304 }; /* PID_MAX_LIMIT of a 64-bit kernel */

static unsigned long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000ULL + (unsigned long long)t.tv_nsec;
}

/* ---- init ---- */
static int do_init(const char *boot)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    int sfd = signalfd(-1, &all, SFD_CLOEXEC);
    int ifd = inotify_init1(IN_CLOEXEC);
    inotify_add_watch(ifd, "/run/rig-sysrq", IN_MODIFY | IN_CLOSE_WRITE);
    if (fork() == 0) {
        sigprocmask(SIG_UNBLOCK, &all, NULL);
        setsid();
        if (access(boot, X_OK) == 0)
            execl(boot, boot, (char *)NULL);
        _exit(0);
    }
    struct pollfd p[2] = {{sfd, POLLIN, 0}, {ifd, POLLIN, 0}};
    for (;;) {
        if (poll(p, 2, -1) < 0)
            continue;
        if (p[1].revents) {
            char b[4096], c = 0;
            ssize_t n = read(ifd, b, sizeof b);
            (void)n;
            int fd = open("/run/rig-sysrq", O_RDWR);
            if (fd >= 0) {
                while (read(fd, &c, 1) == 1)
                    if (strchr("bco", c)) {
                        sync();
                        reboot(c == 'o' ? RB_POWER_OFF : RB_AUTOBOOT);
                    }
                close(fd);
            }
        }
        if (p[0].revents) {
            struct signalfd_siginfo si;
            ssize_t n = read(sfd, &si, sizeof si);
            (void)n;
            while (waitpid(-1, NULL, WNOHANG) > 0)
                ;
        }
    }
}

/* ---- stamp ---- */
static int do_stamp(const char *tag)
{
    static char l[65536];
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(l, sizeof l, stdin))
        printf("%llu %s %s", now_ns(), tag, l);
    return 0;
}

/* ---- gone ---- */
static int do_gone(int pid, char **cmd)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd >= 0) {
        struct pollfd p = {fd, POLLIN, 0};
        while (poll(&p, 1, -1) < 0 && errno == EINTR)
            ;
        close(fd);
    } else if (errno != ESRCH) {
        perror("pidfd_open");
        return 1;
    }
    execvp(cmd[0], cmd);
    perror(cmd[0]);
    return 1;
}

/* ---- procwatch ---- */
static void esc(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c == 0)
            putchar(' ');
        else if (c < 32 || c > 126)
            putchar('?');
        else
            putchar(c);
    }
}

/* The file f of the process as text; -1: it cannot be read, the process may have ended. */
static ssize_t slurp(int pid, const char *f, char *b, size_t n)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, f);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t r = read(fd, b, n - 1);
    close(fd);
    if (r < 0)
        return -1;
    b[r] = 0;
    return r;
}

struct watch {
    const char *cgroup;
    char tracked[PIDS_MAX / 8]; /* pids whose exec was printed */
};

/* Where the pid's bit is; NULL: no pid can be that. */
static char *tracked_byte(struct watch *w, int pid)
{
    return pid >= 0 && pid < PIDS_MAX ? &w->tracked[pid / 8] : NULL;
}

/* A socket that hears of every exec and exit; -1 after a word on stderr. */
static int procwatch_open(void)
{
    int s = socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);
    struct sockaddr_nl a = {
        .nl_family = AF_NETLINK, .nl_groups = CN_IDX_PROC, .nl_pid = (unsigned)getpid()};
    int rb = 8 << 20;
    setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &rb, sizeof rb);
    if (s < 0 || bind(s, (void *)&a, sizeof a) < 0) {
        perror("procwatch");
        return -1;
    }
    struct {
        struct nlmsghdr h;
        struct cn_msg m;
        enum proc_cn_mcast_op op;
    } __attribute__((packed)) q;
    memset(&q, 0, sizeof q);
    q.h.nlmsg_len = sizeof q;
    q.h.nlmsg_type = NLMSG_DONE;
    q.h.nlmsg_pid = (unsigned)getpid();
    q.m.id.idx = CN_IDX_PROC;
    q.m.id.val = CN_VAL_PROC;
    q.m.len = sizeof(enum proc_cn_mcast_op);
    q.op = PROC_CN_MCAST_LISTEN;
    if (send(s, &q, sizeof q, 0) < 0) {
        perror("send");
        return -1;
    }
    return s;
}

/* The cgroup below ours that the process is in, in `c`; NULL: it is not below, or gone already. */
static char *node_of(const struct watch *w, int pid, char *c, size_t cap)
{
    if (slurp(pid, "cgroup", c, cap) < 0)
        return NULL;
    char *l = strstr(c, "0::/");
    if (!l || strncmp(l + 3, w->cgroup, strlen(w->cgroup)))
        return NULL;
    char *node = l + 3 + strlen(w->cgroup);
    while (*node == '/')
        node++;
    node[strcspn(node, "/\n")] = 0;
    return node;
}

static void on_exec(struct watch *w, const struct proc_event *e)
{
    char c[4096], cmd[1024];
    int pid = e->event_data.exec.process_pid;
    char *byte = tracked_byte(w, pid);
    const char *node = node_of(w, pid, c, sizeof c);
    if (!byte || !node)
        return;
    ssize_t k = slurp(pid, "cmdline", cmd, sizeof cmd);
    if (k < 0)
        k = 0;
    while (k > 0 && cmd[k - 1] == 0)
        k--;
    *byte |= (char)(1 << (pid % 8));
    printf("{\"ev\":\"exec\",\"t\":%llu,\"pid\":%d,\"node\":\"%s\",\"cmd\":\"",
           (unsigned long long)e->timestamp_ns, pid, node);
    esc(cmd, (size_t)k);
    printf("\"}\n");
    fflush(stdout);
}

static void on_exit_of(struct watch *w, const struct proc_event *e)
{
    int pid = e->event_data.exit.process_pid;
    char *byte = tracked_byte(w, pid);
    if (!byte || pid != e->event_data.exit.process_tgid || !(*byte & 1 << (pid % 8)))
        return;
    *byte &= (char)~(1 << (pid % 8));
    printf("{\"ev\":\"exit\",\"t\":%llu,\"pid\":%d,\"code\":%u}\n",
           (unsigned long long)e->timestamp_ns, pid, e->event_data.exit.exit_code);
    fflush(stdout);
}

static void on_messages(struct watch *w, char *buf, size_t n)
{
    for (struct nlmsghdr *h = (void *)buf; NLMSG_OK(h, n); h = NLMSG_NEXT(h, n)) {
        const struct cn_msg *m = NLMSG_DATA(h);
        const struct proc_event *e = (const void *)m->data;
        if (e->what == PROC_EVENT_EXEC)
            on_exec(w, e);
        else if (e->what == PROC_EVENT_EXIT)
            on_exit_of(w, e);
    }
}

static int do_procwatch(const char *cg)
{
    static struct watch w;
    static char buf[65536];
    int s = procwatch_open();
    if (s < 0)
        return 1;
    w.cgroup = cg;
    setvbuf(stdout, NULL, _IOFBF, 65536);
    printf("{\"ev\":\"ready\",\"t\":%llu}\n", now_ns());
    fflush(stdout);
    for (;;) {
        ssize_t n = recv(s, buf, sizeof buf, 0);
        if (n >= 0) {
            on_messages(&w, buf, (size_t)n);
        } else if (errno == ENOBUFS) {
            printf("{\"ev\":\"overrun\",\"t\":%llu}\n", now_ns());
            fflush(stdout);
        } else if (errno != EINTR) {
            return 1;
        }
    }
}

int main(int c, char **v)
{
    if (c > 2 && !strcmp(v[1], "init"))
        return do_init(v[2]);
    if (c > 1 && !strcmp(v[1], "now"))
        return printf("%llu\n", now_ns()) < 0;
    if (c > 1 && !strcmp(v[1], "stamp"))
        return do_stamp(c > 2 ? v[2] : "-");
    if (c > 3 && !strcmp(v[1], "gone"))
        return do_gone(atoi(v[2]), v + 3);
    if (c > 1 && !strcmp(v[1], "procwatch"))
        return do_procwatch(c > 2 ? v[2] : "");
    fprintf(stderr, "usage: rigtool init BOOT|now|stamp [TAG]|gone PID CMD|procwatch [CGROUP]\n");
    return 2;
}
