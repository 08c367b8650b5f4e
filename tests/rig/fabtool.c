/* fabtool - the fabrics' hardware: cables, switch ports, and the part of a card that is firmware.
 *   fabtool link DEV up|down        a cable's end; prints when: "BEFORE AFTER", CLOCK_MONOTONIC, ns
 *   fabtool port DEV forward|block  a switch's port that passes everything or nothing, carrier up
 *   fabtool flap DEV HZ             pulls and plugs a cable that often a second, for ever
 *   fabtool tapnodes                in a node: makes and removes /dev/tapN of macvtaps: its udev
 *   fabtool card SOCK TOLD PF NIC PF NIC
 *
 * `card` runs in a node. While there is a file TOLD, the NICs of a virtual machine are told the
 * carrier of the PFs, as cards do for VFs in link state auto. SOCK is a QMP socket; it takes one
 * client, so there is one for both legs and for the machine's whole life.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_bridge.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { CARD_LOOK_NS = 500000 }; /* a firmware tells its functions within a millisecond or so */

static unsigned long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000ULL + (unsigned long long)t.tv_nsec;
}

static void nap(long ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- cables and ports ---- */
static void link_set(int fd, const char *dev, bool is_up)
{
    struct ifreq r = {0};
    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", dev);
    if (ioctl(fd, SIOCGIFFLAGS, &r) != 0)
        die(dev);
    r.ifr_flags = (short)(is_up ? r.ifr_flags | IFF_UP : r.ifr_flags & ~IFF_UP);
    if (ioctl(fd, SIOCSIFFLAGS, &r) != 0)
        die(dev);
}

static int do_link(const char *dev, bool is_up)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    unsigned long long before = now_ns();
    link_set(fd, dev, is_up);
    printf("%llu %llu\n", before, now_ns());
    return 0;
}

static int do_flap(const char *dev, long hz)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (hz < 1 || hz > 100) {
        fprintf(stderr, "fabtool: 1 to 100 times a second\n");
        return 2;
    }
    for (;;) {
        link_set(fd, dev, false);
        nap(500000000 / hz);
        link_set(fd, dev, true);
        nap(500000000 / hz);
    }
}

/* One attribute in a nest: what `bridge link set dev DEV state N` sends. */
static int do_port(const char *dev, bool forwards)
{
    struct {
        struct nlmsghdr head;
        struct ifinfomsg link;
        struct nlattr nest, state;
        uint8_t value, pad[3];
    } m = {
        .head = {.nlmsg_len = sizeof m,
                 .nlmsg_type = RTM_SETLINK,
                 .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
        .link = {.ifi_family = PF_BRIDGE},
        .nest = {.nla_type = IFLA_PROTINFO | NLA_F_NESTED},
        .state = {.nla_len = sizeof m.state + 1, .nla_type = IFLA_BRPORT_STATE},
        .value = forwards ? BR_STATE_FORWARDING : BR_STATE_DISABLED,
    };
    struct {
        struct nlmsghdr head;
        struct nlmsgerr err;
        char rest[512];
    } answer;
    struct ifreq r = {0};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    int ask = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(r.ifr_name, sizeof r.ifr_name, "%s", dev);
    if (ioctl(ask, SIOCGIFINDEX, &r) != 0)
        die(dev);
    m.link.ifi_index = r.ifr_ifindex;
    m.nest.nla_len = (uint16_t)(sizeof m.nest + sizeof m.state + 4);
    unsigned long long before = now_ns();
    if (send(fd, &m, sizeof m, 0) != (ssize_t)sizeof m ||
        recv(fd, &answer, sizeof answer, 0) <
            (ssize_t)(sizeof answer.head + sizeof answer.err.error))
        die("netlink");
    unsigned long long after = now_ns();
    if (answer.head.nlmsg_type != NLMSG_ERROR || answer.err.error != 0) {
        errno = -answer.err.error;
        die(dev);
    }
    printf("%llu %llu\n", before, after);
    return 0;
}

/* ---- what udev does for a macvtap ---- */
static const char *value_of(const char *text, size_t len, const char *key)
{
    size_t n = strlen(key);
    for (const char *at = text; at < text + len; at += strlen(at) + 1)
        if (!strncmp(at, key, n) && at[n] == '=')
            return at + n + 1;
    return "";
}

static _Noreturn void do_tapnodes(void)
{
    struct sockaddr_nl all = {.nl_family = AF_NETLINK, .nl_groups = 1};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);
    char text[8193], path[64];
    if (fd < 0 || bind(fd, (struct sockaddr *)&all, sizeof all) != 0)
        die("uevents");
    for (;;) {
        ssize_t n = recv(fd, text, sizeof text - 1, 0);
        if (n <= 0)
            continue;
        text[n] = 0;
        const char *name = value_of(text, (size_t)n, "DEVNAME");
        if (strcmp(value_of(text, (size_t)n, "SUBSYSTEM"), "macvtap") != 0 ||
            strncmp(name, "tap", 3) != 0 || strlen(name) > 16)
            continue;
        snprintf(path, sizeof path, "/dev/%s", name);
        unlink(path);
        if (!strcmp(value_of(text, (size_t)n, "ACTION"), "add"))
            mknod(path, S_IFCHR | 0600,
                  makedev((unsigned)atoi(value_of(text, (size_t)n, "MAJOR")),
                          (unsigned)atoi(value_of(text, (size_t)n, "MINOR"))));
    }
}

/* ---- the card ---- */
static int qmp_open(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    static const char hello[] = "{\"execute\": \"qmp_capabilities\"}\n";
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) != 0)
        die(path);
    if (write(fd, hello, sizeof hello - 1) < 0)
        die(path);
    return fd;
}

static long count_of(int fd)
{
    char text[32] = "";
    return pread(fd, text, sizeof text - 1, 0) > 0 ? strtol(text, NULL, 10) : -1;
}

struct port {
    const char *nic;
    int changes, carrier; /* of its PF */
    long seen;
    bool has_carrier;
    int is_up; /* what the NIC was told; -1: nothing so far */
};

static void port_open(struct port *port, const char *pf, const char *nic)
{
    char name[128];
    *port = (struct port){.nic = nic, .seen = -1, .has_carrier = true, .is_up = -1};
    snprintf(name, sizeof name, "/sys/class/net/%s/carrier_changes", pf);
    port->changes = open(name, O_RDONLY | O_CLOEXEC);
    snprintf(name, sizeof name, "/sys/class/net/%s/carrier", pf);
    port->carrier = open(name, O_RDONLY | O_CLOEXEC);
    if (port->changes < 0 || port->carrier < 0)
        die(pf);
}

static void port_look(struct port *port, int qmp, bool is_told)
{
    static const char form[] =
        "{\"execute\": \"set_link\", \"arguments\": {\"name\": \"%s\", \"up\": %s}}\n";
    char order[160];
    long changed = count_of(port->changes);
    if (changed != port->seen)
        port->has_carrier = count_of(port->carrier) == 1;
    port->seen = changed;
    int wanted = port->has_carrier || !is_told;
    if (wanted == port->is_up)
        return;
    port->is_up = wanted;
    printf("%llu %s %s\n", now_ns(), port->nic, wanted ? "up" : "down");
    int n = snprintf(order, sizeof order, form, port->nic, wanted ? "true" : "false");
    if (write(qmp, order, (size_t)n) != n)
        exit(1); /* the machine has ended */
}

/* `told` is the wish of whoever configured the VFs: their link follows the port's, or is up. */
static _Noreturn void do_card(const char *path, const char *told, char **names)
{
    struct port a, b;
    char answers[4096];
    int qmp = qmp_open(path);
    setvbuf(stdout, NULL, _IOLBF, 0);
    port_open(&a, names[0], names[1]);
    port_open(&b, names[2], names[3]);
    for (;; nap(CARD_LOOK_NS)) {
        bool is_told = access(told, F_OK) == 0;
        while (recv(qmp, answers, sizeof answers, MSG_DONTWAIT) > 0)
            ;
        port_look(&a, qmp, is_told);
        port_look(&b, qmp, is_told);
    }
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "", *last = argc > 1 ? argv[argc - 1] : "";
    if (!strcmp(verb, "link") && argc == 4 && (!strcmp(last, "up") || !strcmp(last, "down")))
        return do_link(argv[2], !strcmp(last, "up"));
    if (!strcmp(verb, "port") && argc == 4 && (!strcmp(last, "forward") || !strcmp(last, "block")))
        return do_port(argv[2], !strcmp(last, "forward"));
    if (!strcmp(verb, "flap") && argc == 4)
        return do_flap(argv[2], strtol(last, NULL, 10));
    if (!strcmp(verb, "tapnodes") && argc == 2)
        do_tapnodes();
    if (!strcmp(verb, "card") && argc == 8)
        do_card(argv[2], argv[3], argv + 4);
    fprintf(stderr, "usage: fabtool link DEV up|down | port DEV forward|block | flap DEV HZ | "
                    "tapnodes | card SOCK TOLD PF NIC PF NIC\n");
    return 2;
}
