#include "agents/nic/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    FD_ROUTE = 0,
    FD_UEVENT,
    FD_KMSG,
    FD_LLDP,
    UEVENT_KERNEL = 1, /* multicast group of the kernel's own uevents; 2 is udev's */
    ETHERTYPE_OF_LLDP = 0x88cc,
};

static enum hf_code open_netlink(int protocol, unsigned groups, int *out, struct hf_err *err)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
    int bytes = LISTEN_SOCKET_BYTES;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);

    if (fd < 0)
        return hf_err_set(err, HF_EIO, "netlink socket: %s", strerror(errno));
    /* FORCE needs CAP_NET_ADMIN; without it the system's limit applies. */
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        (void)hf_err_set(err, HF_EIO, "netlink bind: %s", strerror(errno));
        close(fd);
        return err->code;
    }
    *out = fd;
    return HF_OK;
}

/* From its end on: what was logged before our time is history, and the state it left is looked at.
 */
static int open_kmsg(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd >= 0)
        (void)lseek(fd, 0, SEEK_END);
    return fd;
}

static int open_lldp(void)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                  .sll_protocol = htons(ETHERTYPE_OF_LLDP)};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

enum hf_code listen_open(struct listen *listen, const char *kmsg, char missing[200],
                         struct hf_err *err)
{
    memset(listen, 0, sizeof *listen);
    for (unsigned i = 0; i < LISTEN_FDS; i++)
        listen->fd[i] = -1;
    missing[0] = '\0';
    if (open_netlink(NETLINK_ROUTE, RTMGRP_LINK, &listen->fd[FD_ROUTE], err) != HF_OK ||
        open_netlink(NETLINK_KOBJECT_UEVENT, UEVENT_KERNEL, &listen->fd[FD_UEVENT], err) != HF_OK) {
        listen_close(listen);
        return hf_err_wrap(err, "listen to the kernel");
    }
    listen->fd[FD_LLDP] = open_lldp();
    if (listen->fd[FD_LLDP] < 0)
        (void)snprintf(missing, 200, "LLDP: %s", strerror(errno));
    if (kmsg != NULL) {
        listen->fd[FD_KMSG] = open_kmsg(kmsg);
        if (listen->fd[FD_KMSG] < 0)
            (void)snprintf(missing, 200, "%s: %s", kmsg, strerror(errno));
    }
    return HF_OK;
}

void listen_close(struct listen *listen)
{
    for (unsigned i = 0; i < LISTEN_FDS; i++) {
        if (listen->fd[i] >= 0)
            close(listen->fd[i]);
        listen->fd[i] = -1;
    }
}

void listen_lldp(struct listen *listen, int32_t ifindex)
{
    /* Nearest bridge, IEEE 802.1AB table 7-1. */
    struct packet_mreq want = {.mr_ifindex = ifindex,
                               .mr_type = PACKET_MR_MULTICAST,
                               .mr_alen = 6,
                               .mr_address = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e}};

    if (listen->fd[FD_LLDP] >= 0)
        (void)setsockopt(listen->fd[FD_LLDP], SOL_PACKET, PACKET_ADD_MEMBERSHIP, &want,
                         sizeof want);
}

static void tell_lost(struct listen *listen, listen_told told, void *user)
{
    struct listen_word word = {.kind = LISTEN_LOST};

    listen->lost++;
    told(user, &word);
}

enum got { GOT_NOTHING, GOT_BYTES, GOT_LOST, GOT_OTHER };

/* One datagram of a netlink socket, from the kernel itself: any process may send to a netlink
 * socket, but not from port 0. */
static enum got receive(struct listen *listen, int fd, size_t *len)
{
    struct sockaddr_nl from = {.nl_pid = 1};
    struct iovec part = {listen->bytes, sizeof listen->bytes};
    struct msghdr message = {
        .msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &part, .msg_iovlen = 1};
    ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT);

    if (n < 0)
        return errno == ENOBUFS ? GOT_LOST : GOT_NOTHING;
    if (from.nl_pid != 0)
        return GOT_OTHER;
    if ((message.msg_flags & MSG_TRUNC) != 0)
        return GOT_LOST;
    *len = (size_t)n;
    return GOT_BYTES;
}

static void tell_links(struct listen *listen, size_t len, listen_told told, void *user)
{
    struct listen_word word = {.kind = LISTEN_LINK};
    size_t pos = 0;

    for (;;) {
        switch (parse_link(listen->bytes, len, &pos, &word.u.link)) {
        case PARSE_END:
            return;
        case PARSE_GOT:
            told(user, &word);
            break;
        case PARSE_OTHER:
            break;
        case PARSE_BAD:
            listen->bad++;
            tell_lost(listen, told, user);
            return;
        }
    }
}

static void tell_uevent(struct listen *listen, size_t len, listen_told told, void *user)
{
    struct listen_word word = {.kind = LISTEN_UEVENT};

    switch (parse_uevent(listen->bytes, len, &word.u.uevent)) {
    case PARSE_GOT:
        told(user, &word);
        break;
    case PARSE_BAD:
        listen->bad++;
        break;
    case PARSE_END:
    case PARSE_OTHER:
        break;
    }
}

static void read_netlink(struct listen *listen, unsigned which, listen_told told, void *user)
{
    for (unsigned i = 0; i < LISTEN_BATCH; i++) {
        size_t len = 0;

        switch (receive(listen, listen->fd[which], &len)) {
        case GOT_NOTHING:
            return;
        case GOT_LOST:
            tell_lost(listen, told, user);
            break;
        case GOT_OTHER:
            break;
        case GOT_BYTES:
            if (which == FD_ROUTE)
                tell_links(listen, len, told, user);
            else
                tell_uevent(listen, len, told, user);
            break;
        }
    }
}

/* Every read is one record (Documentation/ABI/testing/dev-kmsg). */
static void read_kmsg(struct listen *listen, listen_told told, void *user)
{
    struct listen_word word = {.kind = LISTEN_KMSG};

    for (unsigned i = 0; i < LISTEN_BATCH; i++) {
        ssize_t n = read(listen->fd[FD_KMSG], listen->bytes, sizeof listen->bytes);

        if (n < 0 && errno == EPIPE) { /* records were overwritten before we read them */
            tell_lost(listen, told, user);
            continue;
        }
        if (n <= 0)
            return;
        switch (parse_kmsg(listen->bytes, (size_t)n, &word.u.kmsg)) {
        case PARSE_GOT:
            told(user, &word);
            break;
        case PARSE_BAD:
            listen->bad++;
            break;
        case PARSE_END:
        case PARSE_OTHER:
            break;
        }
    }
}

static void read_lldp(struct listen *listen, listen_told told, void *user)
{
    for (unsigned i = 0; i < LISTEN_BATCH; i++) {
        struct sockaddr_ll from = {.sll_ifindex = 0};
        socklen_t from_len = sizeof from;
        struct listen_word word = {.kind = LISTEN_LLDP};
        ssize_t n = recvfrom(listen->fd[FD_LLDP], listen->bytes, sizeof listen->bytes, MSG_DONTWAIT,
                             (struct sockaddr *)&from, &from_len);

        if (n < 0)
            return;
        if (from.sll_pkttype == PACKET_OUTGOING)
            continue; /* this host's own LLDP */
        word.u.seen.ifindex = from.sll_ifindex;
        if (parse_lldp(listen->bytes, (size_t)n, &word.u.seen.lldp) == PARSE_GOT)
            told(user, &word);
        else
            listen->bad++;
    }
}

void listen_read(struct listen *listen, listen_told told, void *user)
{
    read_netlink(listen, FD_ROUTE, told, user);
    read_netlink(listen, FD_UEVENT, told, user);
    if (listen->fd[FD_KMSG] >= 0)
        read_kmsg(listen, told, user);
    if (listen->fd[FD_LLDP] >= 0)
        read_lldp(listen, told, user);
}
