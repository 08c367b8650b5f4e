/* stream - traffic through a guest, and what became of it.
 *   stream serve PORT CTL        in the guest: echoes UDP and TCP on PORT; a line that comes in on
 *                                CTL is given to /bin/sh, what that prints goes back
 *   stream order HOST CTL LINE   has LINE run there
 *   stream meter FILE HOST PORT  1000 numbered datagrams a second, 100 numbered records over one
 *                                TCP connection; when each left and came back is in FILE
 *   stream show FILE FROM [TO]   what FILE says of the time from FROM to TO (now), as JSON
 *
 * Times are CLOCK_MONOTONIC, ns.
 * `meter` never connects again: a connection that ended is one that did not survive. `lost` are the
 * datagrams sent in that time that never came back; `gap_ms` is the longest time without an echo
 * that touches it; `send_gap_ms` is the meter's own share: so long it did not send.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    TICK_NS = 1000000,   /* between two datagrams */
    TCP_EVERY = 10,      /* a record over TCP every so many datagrams */
    UDP_SLOTS = 4194304, /* 69 minutes; a file with holes, so it costs what is used */
    TCP_SLOTS = UDP_SLOTS / TCP_EVERY,
    BURST_MAX = 50,   /* datagrams made up for at once when the meter was late */
    CLIENTS = 8,      /* TCP connections of `serve` */
    LINE_LEN = 1024,  /* an order */
    BYTES = 65536,    /* echoed at once */
    DIAL_EVERY = 200, /* ticks between two tries to connect at first */
    DIALS = 4,        /* tries to give an order, each so many seconds: */
    DIAL_S = 3,
};

enum tcp_state { TCP_NOT_YET, TCP_ALIVE, TCP_ENDED, TCP_WRONG };

struct slot {
    uint64_t sent, back; /* ns; 0: not so far */
};

/* FILE; the meter alone writes it. */
struct record {
    char magic[8];
    uint64_t udp_sent, tcp_sent, tcp_back;
    uint32_t tcp;
    struct slot udp_slot[UDP_SLOTS];
    struct slot tcp_slot[TCP_SLOTS];
};
static const char magic[8] = "stream1";

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

static void die(const char *what)
{
    perror(what);
    exit(2);
}

static struct sockaddr_in address(const char *host, const char *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    if (inet_pton(AF_INET, host, &a.sin_addr) != 1) {
        fprintf(stderr, "stream: '%s' is no address\n", host);
        exit(2);
    }
    return a;
}

static int open_socket(int type, const struct sockaddr_in *bound)
{
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0)
        die("socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bound && bind(fd, (const struct sockaddr *)bound, sizeof *bound) != 0)
        die("bind");
    if (bound && (type & SOCK_STREAM) && listen(fd, CLIENTS) != 0)
        die("listen");
    return fd;
}

/* ---- serve ---- */
static bool write_whole(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

/* One line, its output, the end. The echo waits meanwhile: orders are given between two looks. */
static void obey(int fd)
{
    char line[LINE_LEN], out[4096];
    size_t len = 0;
    struct timeval patience = {.tv_sec = 2};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    while (len < sizeof line - 1) {
        ssize_t n = read(fd, line + len, sizeof line - 1 - len);
        if (n <= 0 || memchr(line + len, '\n', (size_t)n)) {
            len += n > 0 ? (size_t)n : 0;
            break;
        }
        len += (size_t)n;
    }
    line[len] = 0;
    FILE *shell = popen(line, "r");
    size_t n;
    while (shell && (n = fread(out, 1, sizeof out, shell)) > 0)
        if (!write_whole(fd, out, n))
            break;
    if (shell)
        pclose(shell);
    close(fd);
}

static void echo_datagrams(int fd)
{
    static char data[BYTES];
    struct sockaddr_in from;
    for (int k = 0; k < BURST_MAX; k++) {
        socklen_t len = sizeof from;
        ssize_t n = recvfrom(fd, data, sizeof data, MSG_DONTWAIT, (struct sockaddr *)&from, &len);
        if (n < 0)
            return;
        sendto(fd, data, (size_t)n, MSG_DONTWAIT, (struct sockaddr *)&from, len);
    }
}

static _Noreturn void do_serve(const char *port, const char *ctl)
{
    static char data[BYTES];
    struct sockaddr_in any = address("0.0.0.0", port), orders = address("0.0.0.0", ctl);
    struct pollfd p[3 + CLIENTS] = {{open_socket(SOCK_DGRAM, &any), POLLIN, 0},
                                    {open_socket(SOCK_STREAM, &any), POLLIN, 0},
                                    {open_socket(SOCK_STREAM, &orders), POLLIN, 0}};
    for (int k = 3; k < 3 + CLIENTS; k++)
        p[k] = (struct pollfd){-1, POLLIN, 0};
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        if (poll(p, 3 + CLIENTS, -1) < 0)
            continue;
        if (p[0].revents)
            echo_datagrams(p[0].fd);
        if (p[2].revents) {
            int fd = accept4(p[2].fd, NULL, NULL, SOCK_CLOEXEC);
            if (fd >= 0)
                obey(fd);
        }
        for (int k = 3; k < 3 + CLIENTS; k++) {
            if (p[k].fd < 0 && p[1].revents) {
                int on = 1;
                p[k].fd = accept4(p[1].fd, NULL, NULL, SOCK_CLOEXEC);
                setsockopt(p[k].fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                p[1].revents = p[k].revents = 0;
            }
            if (p[k].fd < 0 || !p[k].revents)
                continue;
            ssize_t n = read(p[k].fd, data, sizeof data);
            if (n > 0 && write_whole(p[k].fd, data, (size_t)n))
                continue;
            close(p[k].fd);
            p[k].fd = -1;
        }
    }
}

/* A guest that is busy loses packets, and the first ones of a connection are tried seldom. */
static int dial(const struct sockaddr_in *to)
{
    struct timeval patience = {.tv_sec = DIAL_S};
    for (int k = 0; k < DIALS; k++) {
        int fd = open_socket(SOCK_STREAM, NULL);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
        if (connect(fd, (const struct sockaddr *)to, sizeof *to) == 0)
            return fd;
        if (k == DIALS - 1)
            die("connect");
        close(fd);
    }
    return -1;
}

static int do_order(const char *host, const char *ctl, const char *line)
{
    struct sockaddr_in to = address(host, ctl);
    int fd = dial(&to);
    struct timeval patience = {.tv_sec = 10};
    char data[4096];
    ssize_t n;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (!write_whole(fd, line, strlen(line)) || !write_whole(fd, "\n", 1))
        die("write");
    while ((n = read(fd, data, sizeof data)) > 0)
        fwrite(data, 1, (size_t)n, stdout);
    if (n < 0)
        die("read");
    return 0;
}

/* ---- meter ---- */
struct meter {
    struct record *record;
    struct sockaddr_in to;
    int timer, udp, tcp;
    uint64_t ticks;
    uint8_t half[8]; /* of a number that came back in pieces */
    size_t half_len;
};

static struct record *record_map(const char *path, bool is_new)
{
    int fd =
        open(path, is_new ? O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC : O_RDONLY | O_CLOEXEC, 0644);
    if (fd < 0)
        die(path);
    if (is_new && ftruncate(fd, sizeof(struct record)) != 0)
        die("ftruncate");
    void *at = mmap(NULL, sizeof(struct record), is_new ? PROT_READ | PROT_WRITE : PROT_READ,
                    MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        die("mmap");
    close(fd);
    struct record *record = at;
    if (is_new)
        memcpy(record->magic, magic, sizeof magic);
    else if (memcmp(record->magic, magic, sizeof magic) != 0) {
        fprintf(stderr, "stream: %s is no record of a meter\n", path);
        exit(2);
    }
    return record;
}

static void tcp_ends(struct meter *m, enum tcp_state how)
{
    m->record->tcp = how;
    close(m->tcp);
    m->tcp = -1;
}

/* The first connection may need a few tries: the guest is still booting. */
static void tcp_dial(struct meter *m)
{
    int on = 1;
    m->tcp = open_socket(SOCK_STREAM | SOCK_NONBLOCK, NULL);
    setsockopt(m->tcp, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(m->tcp, (struct sockaddr *)&m->to, sizeof m->to) != 0 && errno != EINPROGRESS)
        tcp_ends(m, TCP_NOT_YET);
}

static void tcp_send(struct meter *m)
{
    struct record *r = m->record;
    struct tcp_info info;
    socklen_t len = sizeof info;
    if (m->tcp < 0 || r->tcp_sent >= TCP_SLOTS)
        return;
    if (r->tcp == TCP_NOT_YET) {
        if (getsockopt(m->tcp, IPPROTO_TCP, TCP_INFO, &info, &len) != 0 ||
            info.tcpi_state != TCP_ESTABLISHED)
            return;
        r->tcp = TCP_ALIVE;
    }
    uint64_t number = r->tcp_sent;
    /* Eight bytes fit whole or not at all as long as anything fits: the kernel counts in segments.
     */
    ssize_t n = send(m->tcp, &number, sizeof number, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n == (ssize_t)sizeof number) {
        r->tcp_slot[number].sent = now_ns();
        r->tcp_sent = number + 1;
    } else if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
        tcp_ends(m, TCP_ENDED);
    }
}

static void tcp_number(struct meter *m, uint64_t number, uint64_t now)
{
    struct record *r = m->record;
    if (number != r->tcp_back || number >= r->tcp_sent) {
        r->tcp = TCP_WRONG;
        return;
    }
    r->tcp_slot[number].back = now;
    r->tcp_back = number + 1;
}

static void tcp_receive(struct meter *m)
{
    uint8_t data[BYTES];
    ssize_t n = recv(m->tcp, data, sizeof data, MSG_DONTWAIT);
    uint64_t now = now_ns(), number;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        tcp_ends(m, m->record->tcp == TCP_NOT_YET ? TCP_NOT_YET : TCP_ENDED);
        return;
    }
    for (ssize_t k = 0; k < n; k++) {
        m->half[m->half_len++] = data[k];
        if (m->half_len < sizeof m->half)
            continue;
        memcpy(&number, m->half, sizeof number);
        m->half_len = 0;
        tcp_number(m, number, now);
    }
    if (m->record->tcp == TCP_WRONG)
        tcp_ends(m, TCP_WRONG);
}

static void udp_receive(struct meter *m)
{
    uint64_t number;
    while (recv(m->udp, &number, sizeof number, MSG_DONTWAIT | MSG_TRUNC) == (ssize_t)sizeof number)
        if (number < m->record->udp_sent && m->record->udp_slot[number].back == 0)
            m->record->udp_slot[number].back = now_ns();
}

/* False: FILE is full. */
static bool on_tick(struct meter *m)
{
    struct record *r = m->record;
    uint64_t late;
    if (read(m->timer, &late, sizeof late) != (ssize_t)sizeof late)
        return true;
    for (uint64_t k = 0; k < late && k < BURST_MAX; k++) {
        uint64_t number = r->udp_sent;
        if (number >= UDP_SLOTS)
            return false;
        r->udp_slot[number].sent = now_ns();
        r->udp_sent = number + 1;
        /* Whatever the answer is, a number that does not come back is lost. */
        sendto(m->udp, &number, sizeof number, MSG_DONTWAIT, (struct sockaddr *)&m->to,
               sizeof m->to);
        if (m->ticks % TCP_EVERY == 0)
            tcp_send(m);
        if (m->ticks % DIAL_EVERY == 0 && r->tcp == TCP_NOT_YET) {
            if (m->tcp >= 0)
                tcp_ends(m, TCP_NOT_YET);
            tcp_dial(m);
        }
        m->ticks++;
    }
    return true;
}

static int do_meter(const char *file, const char *host, const char *port)
{
    struct meter m = {.record = record_map(file, true), .to = address(host, port), .tcp = -1};
    struct sched_param first = {.sched_priority = 1};
    struct itimerspec every = {{0, TICK_NS}, {0, TICK_NS}};
    sched_setscheduler(0, SCHED_FIFO, &first); /* where it may: its own share is shown anyway */
    m.udp = open_socket(SOCK_DGRAM, NULL);
    m.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (m.timer < 0 || timerfd_settime(m.timer, 0, &every, NULL) != 0)
        die("timerfd");
    for (;;) {
        struct pollfd p[3] = {{m.timer, POLLIN, 0}, {m.udp, POLLIN, 0}, {m.tcp, POLLIN, 0}};
        if (poll(p, 3, -1) < 0)
            continue;
        if (p[1].revents)
            udp_receive(&m);
        if (p[2].revents && m.tcp == p[2].fd)
            tcp_receive(&m);
        if (p[0].revents && !on_tick(&m))
            return 0;
    }
}

/* ---- show ---- */
struct seen {
    uint64_t sent, lost, gap, gap_from, send_gap;
};

/* Slots are in the order of sending; echoes may overtake each other, so the newest so far counts.
 */
static struct seen look(const struct slot *slot, uint64_t count, uint64_t from, uint64_t to)
{
    struct seen s = {0};
    uint64_t newest = 0, last = 0;
    for (uint64_t k = 0; k < count && slot[k].sent <= to; k++) {
        if (slot[k].sent >= from) {
            s.sent++;
            s.lost += slot[k].back == 0;
            if (last && slot[k].sent - last > s.send_gap)
                s.send_gap = slot[k].sent - last;
        }
        last = slot[k].sent;
        if (slot[k].back <= newest)
            continue;
        if (newest && slot[k].back > from && newest < to && slot[k].back - newest > s.gap) {
            s.gap = slot[k].back - newest;
            s.gap_from = newest;
        }
        newest = slot[k].back;
    }
    if (newest && newest < to && to - (newest > from ? newest : from) > s.gap) {
        s.gap = to - newest; /* nothing came any more */
        s.gap_from = newest;
    }
    return s;
}

static int do_show(const char *file, uint64_t from, uint64_t to)
{
    static const char *const words[] = {"never", "alive", "ended", "wrong"};
    struct record *r = record_map(file, false);
    struct seen udp = look(r->udp_slot, r->udp_sent, from, to);
    struct seen tcp = look(r->tcp_slot, r->tcp_sent, from, to);
    const char *word = r->tcp < 4 ? words[r->tcp] : "wrong";
    printf("{\"sent\": %llu, \"lost\": %llu, \"gap_ms\": %.3f, \"gap_from\": %llu, "
           "\"send_gap_ms\": %.3f, \"tcp\": \"%s\", \"tcp_gap_ms\": %.3f, \"tcp_open\": %llu}\n",
           (unsigned long long)udp.sent, (unsigned long long)udp.lost, (double)udp.gap / 1e6,
           (unsigned long long)udp.gap_from, (double)udp.send_gap / 1e6, word,
           (double)tcp.gap / 1e6, (unsigned long long)(r->tcp_sent - r->tcp_back));
    return 0;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    if (!strcmp(verb, "serve") && argc == 4)
        do_serve(argv[2], argv[3]);
    if (!strcmp(verb, "order") && argc == 5)
        return do_order(argv[2], argv[3], argv[4]);
    if (!strcmp(verb, "meter") && argc == 5)
        return do_meter(argv[2], argv[3], argv[4]);
    if (!strcmp(verb, "show") && (argc == 4 || argc == 5))
        return do_show(argv[2], strtoull(argv[3], NULL, 10),
                       argc == 5 ? strtoull(argv[4], NULL, 10) : now_ns());
    fprintf(stderr, "usage: stream serve PORT CTL | order HOST CTL LINE | meter FILE HOST PORT | "
                    "show FILE FROM [TO]\n");
    return 2;
}
