#include "nicbond/bfd_socket.h"

#include "supervisord/base/assert.h"
#include "supervisord/base/path.h"
#include "supervisord/base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    BATCH = 16, /* packets of one recvmmsg(): more than a round brings from twelve peers */
    /* Holds some 340 packets at the 768 bytes the kernel counts for a small one; BATCHES of BATCH
     * are more than that, so one call empties whatever had been queued when it began. */
    RECEIVE_BYTES = 128 << 10,
    BATCHES = 32,
    CONTROL_BYTES = 128, /* a hop limit and a timestamp with their headers: 56 */
    TOS_CONTROL = 0xc0,  /* CS6, network control: RFC 4594, 3.1 */
    PRIORITY = 7,        /* TC_PRIO_CONTROL, linux/pkt_sched.h */
    FAREWELLS = 3,       /* one AdminDown could get lost, and then our end is called a failure */
    NOT_TOLD = -1,
};

/* ---- addresses ---- */

static bool is_v6(const union bfd_address *a)
{
    return a->any.sa_family == AF_INET6;
}

static socklen_t size_of(const union bfd_address *a)
{
    return is_v6(a) ? sizeof a->v6 : sizeof a->v4;
}

static bool is_same_address(const union bfd_address *a, const union bfd_address *b)
{
    if (a->any.sa_family != b->any.sa_family)
        return false;
    if (is_v6(a))
        return memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, sizeof a->v6.sin6_addr) == 0;
    return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
}

static bool is_unicast(const union bfd_address *a)
{
    uint32_t host;

    if (is_v6(a))
        return !IN6_IS_ADDR_MULTICAST(&a->v6.sin6_addr) &&
               !IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr) &&
               !IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr);
    host = ntohl(a->v4.sin_addr.s_addr);
    return host != INADDR_ANY && host != INADDR_BROADCAST && !IN_MULTICAST(host);
}

static enum hf_code read_address(const char *text, union bfd_address *out, struct hf_err *err)
{
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1)
        out->any.sa_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &out->v6.sin6_addr) == 1)
        out->any.sa_family = AF_INET6;
    else
        return hf_err_set(err, HF_EINVAL, "'%s' is no numeric address", text);
    if (!is_unicast(out))
        return hf_err_set(err, HF_EINVAL, "%s is no address of one machine", text);
    return HF_OK;
}

/* The address with that port, on the device with that index if it is valid on one link only. */
static union bfd_address at_port(const union bfd_address *a, uint16_t port, int ifindex)
{
    union bfd_address out = *a;

    if (!is_v6(a)) {
        out.v4.sin_port = htons(port);
        return out;
    }
    out.v6.sin6_port = htons(port);
    out.v6.sin6_scope_id = IN6_IS_ADDR_LINKLOCAL(&a->v6.sin6_addr) ? (uint32_t)ifindex : 0;
    return out;
}

/* Ours of that family: what is configured, or the system's choice. */
static union bfd_address own_of(const struct bfd_socket *s, int family)
{
    union bfd_address any;

    if (s->own.any.sa_family == family)
        return s->own;
    memset(&any, 0, sizeof any);
    any.any.sa_family = (sa_family_t)family;
    return any;
}

/* ---- beginning ---- */

static enum hf_code read_timing(uint32_t interval_us, uint8_t multiplier, struct bfd_timing *out,
                                struct hf_err *err)
{
    if (interval_us == 0)
        return hf_err_set(err, HF_EINVAL, "a BFD interval of 0");
    if (multiplier == 0)
        return hf_err_set(err, HF_EINVAL, "a BFD multiplier of 0");
    *out = (struct bfd_timing){
        .min_tx_us = interval_us, .min_rx_us = interval_us, .multiplier = multiplier};
    return HF_OK;
}

static enum hf_code read_peers(struct bfd_socket *s, struct hf_err *err)
{
    for (uint32_t i = 0; i < s->conf.peers_count; i++) {
        if (read_address(s->conf.peer[i], &s->peer[i], err) != HF_OK)
            return hf_err_wrap(err, "BFD peer");
        if (is_same_address(&s->peer[i], &s->own))
            return hf_err_set(err, HF_EINVAL, "BFD peer %s is our own address", s->conf.peer[i]);
        for (uint32_t j = 0; j < i; j++)
            if (is_same_address(&s->peer[i], &s->peer[j]))
                return hf_err_set(err, HF_EINVAL, "BFD peer %s is given twice", s->conf.peer[i]);
    }
    return HF_OK;
}

static uint32_t fresh_discriminator(struct bfd_socket *s, uint32_t count)
{
    for (;;) {
        uint32_t my = (uint32_t)hf_rng_between(&s->rng, 1, UINT32_MAX);
        uint32_t i = 0;

        while (i < count && s->session[i].my != my)
            i++;
        if (i == count)
            return my;
    }
}

enum hf_code bfd_socket_init(struct bfd_socket *s, const struct bfd_socket_conf *conf,
                             uint64_t seed, hf_time now, struct hf_err *err)
{
    struct bfd_timing timing;

    HF_ASSERT(conf->peers_count <= BFD_PEERS_MAX);
    memset(s, 0, sizeof *s);
    s->conf = *conf;
    s->rng = hf_rng_seeded(seed);
    s->look_at = now;
    for (uint32_t k = 0; k < BFD_SOCKET_FDS; k++)
        s->rx[k] = -1;
    for (uint32_t i = 0; i < BFD_PEERS_MAX; i++)
        s->tx[i] = -1;
    if (read_timing(conf->interval_us, conf->multiplier, &timing, err) != HF_OK)
        return err->code;
    if (read_address(conf->address, &s->own, err) != HF_OK)
        return hf_err_wrap(err, "own BFD address");
    if (read_peers(s, err) != HF_OK)
        return err->code;
    for (uint32_t i = 0; i < conf->peers_count; i++) {
        uint32_t my = fresh_discriminator(s, i);

        bfd_init(&s->session[i], &timing, my, hf_rng_next(&s->rng), now);
        s->port[i] = (uint16_t)hf_rng_between(&s->rng, BFD_SOURCE_PORT_MIN, BFD_SOURCE_PORT_MAX);
    }
    hf_err_set(&s->trouble, HF_EAGAIN, "not opened yet");
    return HF_OK;
}

/* ---- opening ---- */

/* All of them or none: what one socket must be told. None of these options takes RTNL. */
struct option {
    int level, name;
    int value;
    const char *what;
};

static enum hf_code set_options(int fd, const struct option *options, size_t count,
                                struct hf_err *err)
{
    for (size_t i = 0; i < count; i++)
        if (setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                       sizeof options[i].value) != 0)
            return hf_err_set(err, HF_EIO, "%s: %s", options[i].what, strerror(errno));
    return HF_OK;
}

static enum hf_code bind_to_device(int fd, const char *device, struct hf_err *err)
{
    if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device) + 1) != 0)
        return hf_err_set(err, errno == ENODEV ? HF_ENOENT : HF_EIO, "device %s: %s", device,
                          strerror(errno));
    return HF_OK;
}

/* Which index the name means now. Not SIOCGIFINDEX: for a name that is not there it loads a kernel
 * module, and waits for that. */
static enum hf_code find_device(const char *device, int *ifindex, struct hf_err *err)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = sizeof *ifindex;

    if (fd < 0)
        return hf_err_set(err, HF_EIO, "socket: %s", strerror(errno));
    *ifindex = 0;
    err->code = bind_to_device(fd, device, err);
    if (err->code == HF_OK && getsockopt(fd, SOL_SOCKET, SO_BINDTOIFINDEX, ifindex, &size) != 0)
        hf_err_set(err, HF_EIO, "index of device %s: %s", device, strerror(errno));
    close(fd);
    /* An empty name binds to nothing, and 0 means every device. */
    if (err->code == HF_OK && *ifindex == 0)
        hf_err_set(err, HF_ENOENT, "device '%s': no such name", device);
    return err->code;
}

static enum hf_code bind_to(int fd, const struct bfd_socket *s, int family, uint16_t port,
                            struct hf_err *err)
{
    union bfd_address own = own_of(s, family);
    union bfd_address at = at_port(&own, port, s->ifindex);

    if (bind(fd, &at.any, size_of(&at)) != 0)
        return hf_err_set(err, errno == EADDRINUSE ? HF_EAGAIN : HF_EIO, "bind to port %u: %s",
                          port, strerror(errno));
    return HF_OK;
}

/* No SO_REUSEADDR: another process could then take our packets by binding after us. */
static enum hf_code open_rx(struct bfd_socket *s, int family, struct hf_err *err)
{
    static const struct option v4[] = {
        {SOL_SOCKET, SO_RCVBUF, RECEIVE_BYTES, "receive buffer"},
        {SOL_SOCKET, SO_TIMESTAMPNS, 1, "receive timestamps"},
        {IPPROTO_IP, IP_RECVTTL, 1, "received TTL"},
    };
    static const struct option v6[] = {
        {SOL_SOCKET, SO_RCVBUF, RECEIVE_BYTES, "receive buffer"},
        {SOL_SOCKET, SO_TIMESTAMPNS, 1, "receive timestamps"},
        {IPPROTO_IPV6, IPV6_V6ONLY, 1, "IPv6 only"},
        {IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1, "received hop limit"},
    };
    uint32_t k = family == AF_INET6 ? 1 : 0;
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return hf_err_set(err, HF_EIO, "socket: %s", strerror(errno));
    s->rx[k] = fd;
    s->empty[k] = hf_clock_now();
    if (set_options(fd, k == 1 ? v6 : v4, k == 1 ? 4 : 3, err) != HF_OK)
        return err->code;
    if (bind_to_device(fd, s->conf.device, err) != HF_OK)
        return err->code;
    return bind_to(fd, s, family, BFD_PORT, err);
}

/* Nobody speaks to a source port: what comes there all the same is not even queued. */
static enum hf_code refuse_all(int fd, struct hf_err *err)
{
    struct sock_filter none = {.code = BPF_RET | BPF_K, .k = 0};
    struct sock_fprog program = {.len = 1, .filter = &none};

    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0)
        return hf_err_set(err, HF_EIO, "filter: %s", strerror(errno));
    return HF_OK;
}

static enum hf_code open_tx(struct bfd_socket *s, uint32_t i, struct hf_err *err)
{
    static const struct option v4[] = {
        {SOL_SOCKET, SO_PRIORITY, PRIORITY, "priority"},
        {SOL_SOCKET, SO_DONTROUTE, 1, "link only"},
        {IPPROTO_IP, IP_TOS, TOS_CONTROL, "type of service"},
        {IPPROTO_IP, IP_TTL, BFD_TTL, "TTL"},
    };
    static const struct option v6[] = {
        {SOL_SOCKET, SO_PRIORITY, PRIORITY, "priority"},
        {IPPROTO_IPV6, IPV6_V6ONLY, 1, "IPv6 only"},
        {IPPROTO_IPV6, IPV6_TCLASS, TOS_CONTROL, "traffic class"},
        {IPPROTO_IPV6, IPV6_UNICAST_HOPS, BFD_TTL, "hop limit"},
    };
    int family = s->peer[i].any.sa_family;
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return hf_err_set(err, HF_EIO, "socket: %s", strerror(errno));
    s->tx[i] = fd;
    if (set_options(fd, family == AF_INET6 ? v6 : v4, 4, err) != HF_OK ||
        refuse_all(fd, err) != HF_OK || bind_to_device(fd, s->conf.device, err) != HF_OK)
        return err->code;
    for (uint32_t tries = 0; tries < BFD_SOCKET_PORT_TRIES; tries++) {
        if (bind_to(fd, s, family, s->port[i], err) == HF_OK)
            return HF_OK;
        if (err->code != HF_EAGAIN)
            return err->code;
        s->port[i] = (uint16_t)hf_rng_between(&s->rng, BFD_SOURCE_PORT_MIN, BFD_SOURCE_PORT_MAX);
    }
    return hf_err_wrap(err, "%d source ports", BFD_SOCKET_PORT_TRIES);
}

static void close_all(struct bfd_socket *s)
{
    for (uint32_t k = 0; k < BFD_SOCKET_FDS; k++) {
        if (s->rx[k] >= 0)
            close(s->rx[k]);
        s->rx[k] = -1;
    }
    for (uint32_t i = 0; i < s->conf.peers_count; i++) {
        if (s->tx[i] >= 0)
            close(s->tx[i]);
        s->tx[i] = -1;
    }
    s->is_open = false;
}

static enum hf_code open_all(struct bfd_socket *s, struct hf_err *err)
{
    if (find_device(s->conf.device, &s->ifindex, err) != HF_OK)
        return err->code;
    for (uint32_t i = 0; i < s->conf.peers_count; i++) {
        int family = s->peer[i].any.sa_family;

        if (s->rx[family == AF_INET6 ? 1 : 0] < 0 && open_rx(s, family, err) != HF_OK)
            return err->code;
        if (open_tx(s, i, err) != HF_OK)
            return err->code;
    }
    return HF_OK;
}

/* ---- changes ---- */

static void tell(const struct bfd_socket *s, uint32_t peer, const struct bfd_changes *changes)
{
    if (s->conf.changed == NULL)
        return;
    for (uint32_t i = 0; i < changes->count; i++)
        s->conf.changed(s->conf.user, peer, &changes->change[i]);
}

static void apply_all(struct bfd_socket *s, enum bfd_event event, hf_time now)
{
    struct bfd_changes changes;

    for (uint32_t i = 0; i < s->conf.peers_count; i++) {
        bfd_apply(&s->session[i], event, now, &changes);
        tell(s, i, &changes);
    }
}

static void look(struct bfd_socket *s, hf_time now)
{
    enum hf_code code;
    int ifindex = 0;

    s->look_at = hf_time_add_ms(now, BFD_SOCKET_LOOK_MS);
    if (s->is_open) {
        code = find_device(s->conf.device, &ifindex, &s->trouble);
        /* No look, no news: we may have run out of descriptors. */
        if (code == HF_OK ? ifindex == s->ifindex : code != HF_ENOENT)
            return;
        close_all(s);
        apply_all(s, BFD_PATH_LOST, now);
    }
    if (open_all(s, &s->trouble) != HF_OK) {
        close_all(s);
        return;
    }
    s->is_open = true;
    s->counters.opened++;
}

void bfd_socket_look(struct bfd_socket *s, const char *device, hf_time now)
{
    hf_str_copy(s->conf.device, sizeof s->conf.device, device);
    s->look_at = now;
}

/* ---- receiving ---- */

struct batch {
    struct mmsghdr header[BATCH];
    struct iovec vector[BATCH];
    union bfd_address from[BATCH];
    uint8_t bytes[BATCH][BFD_PACKET_BYTES_MAX + 1];
    _Alignas(struct cmsghdr) uint8_t control[BATCH][CONTROL_BYTES];
};

/* What the kernel told about one packet. */
struct told {
    int ttl;
    bool has_stamp;
    struct timespec stamp; /* CLOCK_REALTIME */
};

static void prepare(struct batch *b)
{
    for (uint32_t i = 0; i < BATCH; i++) {
        b->vector[i] = (struct iovec){.iov_base = b->bytes[i], .iov_len = sizeof b->bytes[i]};
        b->header[i].msg_hdr = (struct msghdr){.msg_name = &b->from[i],
                                               .msg_namelen = sizeof b->from[i],
                                               .msg_iov = &b->vector[i],
                                               .msg_iovlen = 1,
                                               .msg_control = b->control[i],
                                               .msg_controllen = sizeof b->control[i]};
    }
}

static struct told read_control(struct msghdr *header)
{
    struct told out = {.ttl = NOT_TOLD};

    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
        bool is_ttl = (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TTL) ||
                      (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_HOPLIMIT);

        if (is_ttl && c->cmsg_len >= CMSG_LEN(sizeof out.ttl))
            memcpy(&out.ttl, CMSG_DATA(c), sizeof out.ttl);
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS &&
            c->cmsg_len >= CMSG_LEN(sizeof out.stamp)) {
            memcpy(&out.stamp, CMSG_DATA(c), sizeof out.stamp);
            out.has_stamp = true;
        }
    }
    return out;
}

/* Both clocks at one moment, and since when whatever is read now can have come. */
struct moment {
    hf_time now, empty;
    hf_wall wall;
};

static hf_time arrival(const struct told *told, const struct moment *at)
{
    hf_wall stamp = {told->stamp.tv_sec * 1000 * HF_NS_PER_MS + told->stamp.tv_nsec};

    return told->has_stamp ? bfd_arrival(stamp, at->wall, at->now, at->empty) : at->now;
}

static uint32_t peer_of(const struct bfd_socket *s, const union bfd_address *from)
{
    uint32_t i = 0;

    while (i < s->conf.peers_count && !is_same_address(&s->peer[i], from))
        i++;
    return i;
}

static enum bfd_drop take(struct bfd_socket *s, struct batch *b, uint32_t n,
                          const struct moment *at)
{
    struct told told = read_control(&b->header[n].msg_hdr);
    uint32_t peer = peer_of(s, &b->from[n]);
    struct bfd_packet packet;
    struct bfd_changes changes;
    enum bfd_drop drop;

    if (told.ttl != BFD_TTL)
        return BFD_DROP_TTL;
    if (peer == s->conf.peers_count)
        return BFD_DROP_STRANGER;
    drop = bfd_packet_decode(b->bytes[n], b->header[n].msg_len, &packet);
    if (drop != BFD_DROP_NONE)
        return drop;
    s->counters.unstamped += told.has_stamp ? 0 : 1;
    drop = bfd_receive(&s->session[peer], &packet, arrival(&told, at), &changes);
    tell(s, peer, &changes);
    return drop;
}

static void read_all(struct bfd_socket *s, uint32_t k)
{
    struct batch b;

    for (uint32_t round = 0; round < BATCHES; round++) {
        hf_time before = hf_clock_now();
        struct moment at;
        int count;

        prepare(&b);
        count = recvmmsg(s->rx[k], b.header, BATCH, MSG_DONTWAIT, NULL);
        /* EAGAIN is the end; of anything else nothing can be learned, and the next look does. */
        if (count < 0)
            count = 0;
        /* In this order: an interruption in between makes arrivals later, no peer older. */
        at.wall = hf_clock_wall();
        at.now = hf_clock_now();
        at.empty = s->empty[k];
        for (uint32_t n = 0; n < (uint32_t)count; n++) {
            enum bfd_drop drop = take(s, &b, n, &at);

            s->counters.dropped[drop] += drop != BFD_DROP_NONE;
            s->counters.received++;
        }
        if (count < BATCH) {
            s->empty[k] = before;
            return;
        }
    }
}

void bfd_socket_ready(struct bfd_socket *s, int fd)
{
    for (uint32_t k = 0; k < BFD_SOCKET_FDS; k++)
        if (s->rx[k] >= 0 && s->rx[k] == fd)
            read_all(s, k);
}

uint32_t bfd_socket_fds(const struct bfd_socket *s, int fds[BFD_SOCKET_FDS])
{
    uint32_t count = 0;

    for (uint32_t k = 0; k < BFD_SOCKET_FDS; k++)
        if (s->is_open && s->rx[k] >= 0)
            fds[count++] = s->rx[k];
    return count;
}

/* ---- sending, and the tick ---- */

static void send_packet(struct bfd_socket *s, uint32_t i, const struct bfd_packet *packet,
                        hf_time now)
{
    union bfd_address to = at_port(&s->peer[i], BFD_PORT, s->ifindex);
    uint8_t bytes[BFD_PACKET_BYTES];
    ssize_t sent;

    bfd_packet_encode(packet, bytes);
    sent =
        sendto(s->tx[i], bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL, &to.any, size_of(&to));
    if (sent == (ssize_t)sizeof bytes) {
        s->counters.sent++;
        return;
    }
    s->counters.unsent++;
    if (sent < 0 && (errno == ENODEV || errno == ENXIO))
        s->look_at = now;
}

static void send_due(struct bfd_socket *s, uint32_t i, hf_time now)
{
    struct bfd_packet packet;

    if (bfd_send(&s->session[i], now, &packet))
        send_packet(s, i, &packet, now);
}

static void read_before_judging(struct bfd_socket *s, hf_time now)
{
    bool is_due = false;

    for (uint32_t i = 0; i < s->conf.peers_count; i++)
        is_due = is_due || hf_time_reached(now, bfd_silent_at(&s->session[i]));
    for (uint32_t k = 0; k < BFD_SOCKET_FDS && is_due; k++)
        if (s->rx[k] >= 0)
            read_all(s, k);
}

hf_time bfd_socket_tick(struct bfd_socket *s, hf_time now)
{
    hf_time next;

    if (hf_time_reached(now, s->look_at))
        look(s, now);
    if (!s->is_open)
        return s->look_at;
    read_before_judging(s, now);
    next = BFD_NEVER;
    for (uint32_t i = 0; i < s->conf.peers_count; i++) {
        struct bfd_changes changes;
        hf_time at;

        bfd_tick(&s->session[i], now, &changes);
        tell(s, i, &changes);
        send_due(s, i, now);
        at = bfd_next_at(&s->session[i]);
        next = at.ns < next.ns ? at : next;
    }
    return next.ns < s->look_at.ns ? next : s->look_at;
}

void bfd_socket_enable(struct bfd_socket *s, bool is_wanted, hf_time now)
{
    apply_all(s, is_wanted ? BFD_ENABLE : BFD_DISABLE, now);
}

enum hf_code bfd_socket_retime(struct bfd_socket *s, uint32_t interval_us, uint8_t multiplier,
                               struct hf_err *err)
{
    struct bfd_timing timing;

    if (read_timing(interval_us, multiplier, &timing, err) != HF_OK)
        return err->code;
    for (uint32_t i = 0; i < s->conf.peers_count; i++)
        bfd_retime(&s->session[i], &timing);
    return HF_OK;
}

void bfd_socket_close(struct bfd_socket *s, hf_time now)
{
    apply_all(s, BFD_DISABLE, now);
    for (uint32_t i = 0; i < s->conf.peers_count && s->is_open; i++) {
        struct bfd_packet packet;

        if (!bfd_send(&s->session[i], now, &packet))
            continue;
        for (uint32_t n = 0; n < FAREWELLS; n++)
            send_packet(s, i, &packet, now);
    }
    close_all(s);
    hf_err_set(&s->trouble, HF_ECLOSED, "closed");
}

/* ---- telling ---- */

void bfd_socket_summary(const struct bfd_socket *s, struct bfd_summary *out)
{
    bfd_summarize(s->session, s->conf.peers_count, s->is_open, out);
}

const char *bfd_socket_trouble(const struct bfd_socket *s)
{
    return s->is_open ? "" : s->trouble.text;
}

void bfd_socket_device(const char *sys, const char *pf, char out[HF_IFNAME_MAX + 1])
{
    char path[256], master[HF_IFNAME_MAX + 1];
    int fits;

    hf_str_copy(out, HF_IFNAME_MAX + 1, pf);
    fits = snprintf(path, sizeof path, "%s/class/net/%s/master", sys, pf);
    if (fits < 0 || (size_t)fits >= sizeof path)
        return;
    if (!hf_path_link_name(path, master, sizeof master))
        return;
    /* A switch of another kind (Open vSwitch) has no address itself. */
    for (unsigned kind = 0; kind < 2; kind++) {
        fits = snprintf(path, sizeof path, "%s/class/net/%s/%s", sys, master,
                        kind == 0 ? "bridge" : "bonding");
        if (fits > 0 && (size_t)fits < sizeof path && access(path, F_OK) == 0)
            hf_str_copy(out, HF_IFNAME_MAX + 1, master);
    }
}
