#include "nicbond/bfd_socket.h"

#include "tests/unit/check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Real sockets on the loopback of a network namespace of their own. */

enum { WAIT_MS = 10000 }; /* for what takes milliseconds, on a loaded machine */

/* linux/ipv6.h has it, and does not get along with netinet/in.h. */
struct in6_request {
    struct in6_addr address;
    uint32_t prefix;
    int ifindex;
};

static void own_network(void)
{
    struct ifreq lo = {.ifr_name = "lo"};
    struct in6_request v6 = {.prefix = 64};
    int fd4, fd6;

    if (unshare(CLONE_NEWNET) != 0)
        ck_assert_int_eq(unshare(CLONE_NEWUSER | CLONE_NEWNET), 0);
    fd4 = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    fd6 = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    lo.ifr_flags = IFF_UP;
    ck_assert_int_eq(ioctl(fd4, SIOCSIFFLAGS, &lo), 0);
    ck_assert_int_eq(ioctl(fd4, SIOCGIFINDEX, &lo), 0);
    v6.ifindex = lo.ifr_ifindex;
    for (int n = 1; n <= 2; n++) {
        inet_pton(AF_INET6, n == 1 ? "fe80::1" : "fe80::2", &v6.address);
        ck_assert_int_eq(ioctl(fd6, SIOCSIFADDR, &v6), 0);
    }
    close(fd4);
    close(fd6);
}

/* ---- two of ours ---- */

struct seen {
    uint32_t count;
    struct bfd_change last;
};

static void note(void *user, uint32_t peer, const struct bfd_change *change)
{
    struct seen *seen = user;

    ck_assert_uint_eq(peer, 0);
    seen->count++;
    seen->last = *change;
}

static struct bfd_socket_conf conf_of(const char *own, const char *peer, struct seen *seen)
{
    struct bfd_socket_conf conf = {.device = "lo",
                                   .peers_count = 1,
                                   .interval_us = 200000,
                                   .multiplier = 3,
                                   .changed = note,
                                   .user = seen};

    strcpy(conf.address, own);
    strcpy(conf.peer[0], peer);
    return conf;
}

static void open_socket(struct bfd_socket *s, const char *own, const char *peer, struct seen *seen)
{
    struct bfd_socket_conf conf = conf_of(own, peer, seen);
    struct hf_err err = {0};

    ck_assert_msg(bfd_socket_init(s, &conf, 1 + (uint64_t)strlen(own), hf_clock_now(), &err) ==
                      HF_OK,
                  "%s", err.text);
}

/* One round of a hot loop: wait for something to happen, at most 20 ms. */
static void turn(struct bfd_socket *const *sockets, uint32_t count)
{
    struct pollfd fds[2 * BFD_SOCKET_FDS];
    uint32_t polled = 0;

    for (uint32_t i = 0; i < count; i++) {
        int own[BFD_SOCKET_FDS];
        uint32_t n = bfd_socket_fds(sockets[i], own);

        for (uint32_t k = 0; k < n; k++)
            fds[polled++] = (struct pollfd){.fd = own[k], .events = POLLIN};
    }
    ck_assert_int_ge(poll(fds, polled, 20), 0);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < polled; k++)
            if ((fds[k].revents & POLLIN) != 0)
                bfd_socket_ready(sockets[i], fds[k].fd);
        bfd_socket_tick(sockets[i], hf_clock_now());
    }
}

static uint8_t ups(const struct bfd_socket *s)
{
    struct bfd_summary sum;

    bfd_socket_summary(s, &sum);
    return sum.up;
}

static const char *const pairs[][2] = {{"127.0.0.1", "127.0.0.2"}, {"fe80::1", "fe80::2"}};

START_TEST(two_fabrics_find_each_other)
{
    static struct bfd_socket a, b;
    struct bfd_socket *const both[] = {&a, &b};
    struct seen seen_a = {0}, seen_b = {0};
    hf_time end = hf_time_add_ms(hf_clock_now(), WAIT_MS);
    struct bfd_summary sum;

    open_socket(&a, pairs[_i][0], pairs[_i][1], &seen_a);
    open_socket(&b, pairs[_i][1], pairs[_i][0], &seen_b);
    while ((ups(&a) == 0 || ups(&b) == 0) && !hf_time_reached(hf_clock_now(), end))
        turn(both, 2);
    ck_assert_str_eq(bfd_socket_trouble(&a), "");
    ck_assert_uint_eq(ups(&a), 1);
    ck_assert_uint_eq(ups(&b), 1);
    ck_assert_uint_eq(a.counters.unstamped, 0);
    ck_assert_uint_eq(a.counters.unsent, 0);

    /* A says goodbye: for B it left, it did not fail. */
    bfd_socket_close(&a, hf_clock_now());
    while (ups(&b) != 0 && !hf_time_reached(hf_clock_now(), end))
        turn(both + 1, 1);
    bfd_socket_summary(&b, &sum);
    ck_assert_uint_eq(sum.left, 1);
    ck_assert_uint_eq(sum.silent, 0);
    ck_assert_int_eq(seen_b.last.event, BFD_HEARD_ADMIN_DOWN);
    bfd_socket_close(&b, hf_clock_now());
}
END_TEST

/* ---- ours, and a peer by hand: 127.0.0.2 ---- */

struct hand {
    struct bfd_socket ours;
    struct seen seen;
    int fd; /* of the peer: gets what is sent to it */
};

static int hand_socket(const char *address, uint16_t port, int ttl)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;

    inet_pton(AF_INET, address, &at.sin_addr);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(setsockopt(fd, IPPROTO_IP, IP_TTL, &ttl, sizeof ttl), 0);
    ck_assert_int_eq(setsockopt(fd, IPPROTO_IP, IP_RECVTTL, &on, sizeof on), 0);
    return fd;
}

static void hand_begin(struct hand *h)
{
    memset(h, 0, sizeof *h);
    h->fd = hand_socket("127.0.0.2", BFD_PORT, 255);
    open_socket(&h->ours, "127.0.0.1", "127.0.0.2", &h->seen);
    bfd_socket_tick(&h->ours, hf_clock_now());
    ck_assert_str_eq(bfd_socket_trouble(&h->ours), "");
}

static void hand_end(struct hand *h)
{
    bfd_socket_close(&h->ours, hf_clock_now());
    close(h->fd);
}

static void send_bytes(int fd, const void *bytes, size_t len)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(BFD_PORT)};

    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    ck_assert_int_eq(sendto(fd, bytes, len, 0, (struct sockaddr *)&to, sizeof to), (ssize_t)len);
}

static void send_state(const struct hand *h, int fd, enum bfd_state state)
{
    struct bfd_packet packet = {.state = state,
                                .multiplier = 3,
                                .my = 77,
                                .your = h->ours.session[0].my,
                                .min_tx_us = 200000,
                                .min_rx_us = 200000};
    uint8_t bytes[BFD_PACKET_BYTES];

    bfd_packet_encode(&packet, bytes);
    send_bytes(fd, bytes, sizeof bytes);
}

static void read_ours(struct hand *h)
{
    int fds[BFD_SOCKET_FDS];

    ck_assert_uint_eq(bfd_socket_fds(&h->ours, fds), 1);
    bfd_socket_ready(&h->ours, fds[0]);
}

/* Time passes; nobody reads. */
static void be_away(int ms)
{
    ck_assert_int_eq(poll(NULL, 0, ms), 0);
}

START_TEST(a_packet_from_beyond_the_link_is_not_heard)
{
    struct hand h;
    int far;

    hand_begin(&h);
    far = hand_socket("127.0.0.2", 50000, 254);
    send_state(&h, far, BFD_INIT);
    read_ours(&h);
    ck_assert_uint_eq(h.ours.counters.dropped[BFD_DROP_TTL], 1);
    ck_assert_uint_eq(ups(&h.ours), 0);
    send_state(&h, h.fd, BFD_INIT);
    read_ours(&h);
    ck_assert_uint_eq(ups(&h.ours), 1);
    close(far);
    hand_end(&h);
}
END_TEST

START_TEST(strangers_and_rubbish_are_counted_and_change_nothing)
{
    struct hand h;
    int stranger;
    uint8_t rubbish[300] = {0x20};

    hand_begin(&h);
    stranger = hand_socket("127.0.0.3", 50000, 255);
    send_state(&h, stranger, BFD_INIT);
    send_bytes(h.fd, rubbish, 0);
    send_bytes(h.fd, rubbish, 23);
    send_bytes(h.fd, rubbish, sizeof rubbish);
    read_ours(&h);
    ck_assert_uint_eq(h.ours.counters.received, 4);
    ck_assert_uint_eq(h.ours.counters.dropped[BFD_DROP_STRANGER], 1);
    ck_assert_uint_eq(h.ours.counters.dropped[BFD_DROP_SHORT], 2);
    ck_assert_uint_eq(h.ours.counters.dropped[BFD_DROP_LENGTH], 1);
    ck_assert_uint_eq(h.seen.count, 0);
    close(stranger);
    hand_end(&h);
}
END_TEST

/* The next packet that ours has sent, with its TTL and source port. */
static bool hand_receive(const struct hand *h, struct bfd_packet *packet, int *ttl, uint16_t *port)
{
    uint8_t bytes[64];
    _Alignas(struct cmsghdr) uint8_t control[64];
    struct sockaddr_in from;
    struct iovec vector = {.iov_base = bytes, .iov_len = sizeof bytes};
    struct msghdr header = {.msg_name = &from,
                            .msg_namelen = sizeof from,
                            .msg_iov = &vector,
                            .msg_iovlen = 1,
                            .msg_control = control,
                            .msg_controllen = sizeof control};
    ssize_t len = recvmsg(h->fd, &header, 0);

    if (len < 0)
        return false;
    ck_assert_int_eq(bfd_packet_decode(bytes, (size_t)len, packet), BFD_DROP_NONE);
    ck_assert_ptr_nonnull(CMSG_FIRSTHDR(&header));
    memcpy(ttl, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof *ttl);
    *port = ntohs(from.sin_port);
    return true;
}

START_TEST(what_we_send_is_as_rfc_5881_wants_it)
{
    struct hand h;
    struct bfd_packet packet;
    uint16_t port, first = 0;
    int ttl, farewells = 0;

    hand_begin(&h);
    ck_assert(hand_receive(&h, &packet, &ttl, &first));
    ck_assert_int_eq(ttl, 255);
    ck_assert_uint_ge(first, BFD_SOURCE_PORT_MIN);
    ck_assert_int_eq(packet.state, BFD_DOWN);
    send_state(&h, h.fd, BFD_INIT);
    read_ours(&h);
    bfd_socket_tick(&h.ours, hf_clock_now());
    ck_assert(hand_receive(&h, &packet, &ttl, &port));
    ck_assert_int_eq(packet.state, BFD_UP);
    ck_assert_uint_eq(packet.your, 77);
    ck_assert_uint_eq(port, first);
    bfd_socket_close(&h.ours, hf_clock_now());
    while (hand_receive(&h, &packet, &ttl, &port)) {
        ck_assert_int_eq(packet.state, BFD_ADMIN_DOWN);
        ck_assert_uint_eq(port, first);
        farewells++;
    }
    ck_assert_int_eq(farewells, 3);
    close(h.fd);
}
END_TEST

START_TEST(arrival_is_the_kernels_not_the_readers)
{
    struct hand h;
    hf_time sent, read;

    hand_begin(&h);
    sent = hf_clock_now();
    send_state(&h, h.fd, BFD_INIT);
    be_away(100);
    read = hf_clock_now();
    read_ours(&h);
    ck_assert_uint_eq(h.ours.counters.unstamped, 0);
    ck_assert_int_lt(h.ours.session[0].heard.ns, read.ns - 50 * HF_NS_PER_MS);
    ck_assert_int_ge(h.ours.session[0].heard.ns, sent.ns - HF_NS_PER_MS);
    hand_end(&h);
}
END_TEST

START_TEST(a_late_loop_reads_before_it_judges)
{
    struct hand h;

    /* 3 x 200 ms; a packet every 150 ms, and nobody looks for 900 ms. */
    hand_begin(&h);
    send_state(&h, h.fd, BFD_INIT);
    read_ours(&h);
    for (int n = 0; n < 6; n++) {
        be_away(150);
        send_state(&h, h.fd, BFD_UP);
    }
    bfd_socket_tick(&h.ours, hf_clock_now());
    ck_assert_uint_eq(ups(&h.ours), 1);
    ck_assert_uint_eq(h.ours.session[0].falls, 0);
    ck_assert_uint_eq(h.ours.counters.received, 7);
    hand_end(&h);
}
END_TEST

START_TEST(silence_is_found_after_the_detection_time)
{
    struct hand h;
    hf_time heard;

    hand_begin(&h);
    send_state(&h, h.fd, BFD_INIT);
    read_ours(&h);
    heard = h.ours.session[0].heard;
    bfd_socket_tick(&h.ours, (hf_time){heard.ns + 600 * HF_NS_PER_MS - 1});
    ck_assert_uint_eq(ups(&h.ours), 1);
    bfd_socket_tick(&h.ours, (hf_time){heard.ns + 600 * HF_NS_PER_MS});
    ck_assert_uint_eq(ups(&h.ours), 0);
    ck_assert_int_eq(h.seen.last.event, BFD_SILENCE);
    ck_assert_int_eq(h.seen.last.at.ns, heard.ns + 600 * HF_NS_PER_MS);
    hand_end(&h);
}
END_TEST

START_TEST(a_flood_is_read_in_one_bounded_call)
{
    struct hand h;
    uint8_t rubbish[BFD_PACKET_BYTES] = {0};
    uint64_t first;

    hand_begin(&h);
    for (int n = 0; n < 5000; n++)
        send_bytes(h.fd, rubbish, sizeof rubbish);
    read_ours(&h);
    first = h.ours.counters.received;
    /* What the queue held, and then it is empty. */
    ck_assert_uint_ge(first, 100);
    ck_assert_uint_le(first, 512);
    read_ours(&h);
    ck_assert_uint_eq(h.ours.counters.received, first);
    ck_assert_uint_eq(h.ours.counters.dropped[BFD_DROP_VERSION], first);
    hand_end(&h);
}
END_TEST

START_TEST(a_taken_port_is_trouble_until_it_is_free)
{
    static struct bfd_socket s;
    struct seen seen = {0};
    int taken = hand_socket("127.0.0.1", BFD_PORT, 255);
    hf_time now;

    open_socket(&s, "127.0.0.1", "127.0.0.2", &seen);
    now = bfd_socket_tick(&s, hf_clock_now());
    ck_assert_msg(strstr(bfd_socket_trouble(&s), "port 3784") != NULL, "%s",
                  bfd_socket_trouble(&s));
    close(taken);
    bfd_socket_tick(&s, now);
    ck_assert_str_eq(bfd_socket_trouble(&s), "");
    bfd_socket_close(&s, now);
}
END_TEST

/* ---- the device ---- */

static void run(const char *command)
{
    ck_assert_msg(system(command) == 0, "%s", command);
}

START_TEST(a_device_that_goes_and_comes_is_found_again)
{
    static struct bfd_socket s;
    struct seen seen = {0};
    struct bfd_socket_conf conf = conf_of("192.0.2.1", "192.0.2.2", &seen);
    struct bfd_summary sum;
    struct hf_err err;
    hf_time now = hf_clock_now();
    int fds[BFD_SOCKET_FDS], first;

    strcpy(conf.device, "hfa");
    ck_assert_int_eq(bfd_socket_init(&s, &conf, 1, now, &err), HF_OK);
    now = bfd_socket_tick(&s, now);
    ck_assert_ptr_nonnull(strstr(bfd_socket_trouble(&s), "hfa"));
    ck_assert_uint_eq(bfd_socket_fds(&s, fds), 0);

    run("ip link add hfa type veth peer name hfb");
    run("ip link set hfa up && ip link set hfb up && ip address add 192.0.2.1/24 dev hfa");
    now = bfd_socket_tick(&s, now);
    ck_assert_str_eq(bfd_socket_trouble(&s), "");
    first = s.ifindex;

    /* Another device has the name now. */
    run("ip link set hfa down && ip link set hfa name hfz");
    now = bfd_socket_tick(&s, now);
    for (int n = 0; n < 20 && bfd_socket_trouble(&s)[0] == '\0'; n++)
        now = bfd_socket_tick(&s, now);
    bfd_socket_summary(&s, &sum);
    ck_assert(!sum.is_open);
    run("ip link delete hfz && ip link add hfa type veth peer name hfb");
    run("ip link set hfa up && ip link set hfb up && ip address add 192.0.2.1/24 dev hfa");
    bfd_socket_look(&s, "hfa", now);
    bfd_socket_tick(&s, now);
    ck_assert_str_eq(bfd_socket_trouble(&s), "");
    ck_assert_int_ne(s.ifindex, first);
    ck_assert_uint_eq(s.counters.opened, 2);
    bfd_socket_close(&s, now);
}
END_TEST

START_TEST(a_port_of_a_bridge_is_heard_through_the_bridge)
{
    char sys[] = "/tmp/hf-bfd-XXXXXX";
    char command[512];
    char out[HF_IFNAME_MAX + 1];

    ck_assert_ptr_nonnull(mkdtemp(sys));
    snprintf(command, sizeof command,
             "cd %s && mkdir -p class/net/br0/bridge class/net/ovs-system class/net/p0 "
             "class/net/p1 class/net/p2 && ln -s ../br0 class/net/p0/master && "
             "ln -s ../ovs-system class/net/p1/master",
             sys);
    run(command);
    bfd_socket_device(sys, "p0", out);
    ck_assert_str_eq(out, "br0");
    bfd_socket_device(sys, "p1", out);
    ck_assert_str_eq(out, "p1");
    bfd_socket_device(sys, "p2", out);
    ck_assert_str_eq(out, "p2");
    snprintf(command, sizeof command, "rm -r %s", sys);
    run(command);
}
END_TEST

/* ---- what is refused ---- */

static const char *const bad_addresses[][2] = {
    {"", "127.0.0.2"},
    {"127.0.0.1", "node-b"},
    {"127.0.0.1", "0.0.0.0"},
    {"127.0.0.1", "224.0.0.1"},
    {"127.0.0.1", "127.0.0.1"},
    {"fe80::1", "ff02::1"},
    {"fe80::1", "::"},
    {"fe80::1%lo", "fe80::2"},
    {"::ffff:1.2.3.4", "fe80::2"},
    {"127.0.0.1", "255.255.255.255"},
};

START_TEST(an_address_that_is_no_peer_is_refused)
{
    static struct bfd_socket s;
    struct bfd_socket_conf conf = conf_of(bad_addresses[_i][0], bad_addresses[_i][1], NULL);
    struct hf_err err;

    ck_assert_int_eq(bfd_socket_init(&s, &conf, 1, hf_clock_now(), &err), HF_EINVAL);
}
END_TEST

START_TEST(a_timing_that_makes_no_sense_is_refused)
{
    static struct bfd_socket s;
    struct bfd_socket_conf conf = conf_of("127.0.0.1", "127.0.0.2", NULL);
    struct hf_err err;

    conf.multiplier = 0;
    ck_assert_int_eq(bfd_socket_init(&s, &conf, 1, hf_clock_now(), &err), HF_EINVAL);
    conf.multiplier = 3;
    ck_assert_int_eq(bfd_socket_init(&s, &conf, 1, hf_clock_now(), &err), HF_OK);
    ck_assert_int_eq(bfd_socket_retime(&s, 0, 3, &err), HF_EINVAL);
    ck_assert_int_eq(bfd_socket_retime(&s, 5000, 3, &err), HF_OK);
    strcpy(conf.peer[1], "127.0.0.2");
    conf.peers_count = 2;
    ck_assert_int_eq(bfd_socket_init(&s, &conf, 1, hf_clock_now(), &err), HF_EINVAL);
}
END_TEST

HF_TEST_MAIN_WITH(
    "nicbond/bfd_socket", own_network, NULL, HF_LOOP(two_fabrics_find_each_other, 0, 2),
    HF_CASE(a_packet_from_beyond_the_link_is_not_heard),
    HF_CASE(strangers_and_rubbish_are_counted_and_change_nothing),
    HF_CASE(what_we_send_is_as_rfc_5881_wants_it), HF_CASE(arrival_is_the_kernels_not_the_readers),
    HF_CASE(a_late_loop_reads_before_it_judges), HF_CASE(silence_is_found_after_the_detection_time),
    HF_CASE(a_flood_is_read_in_one_bounded_call), HF_CASE(a_taken_port_is_trouble_until_it_is_free),
    HF_CASE(a_device_that_goes_and_comes_is_found_again),
    HF_CASE(a_port_of_a_bridge_is_heard_through_the_bridge),
    HF_LOOP(an_address_that_is_no_peer_is_refused, 0,
            sizeof bad_addresses / sizeof bad_addresses[0]),
    HF_CASE(a_timing_that_makes_no_sense_is_refused))
