#include "agents/nic/listen.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "supervisord/base/clock.h"
#include "tests/unit/agents/nic/wires.h"

enum { WAIT_MS = 8000 }; /* no test passes by waiting: it is for a loaded machine */

static struct tree tree;
static struct listen listen_here;
static struct hf_err err;
static char missing[200];

/* What was told, by kind, and the newest of each. */
struct heard {
    unsigned count[LISTEN_LOST + 1];
    struct listen_word newest[LISTEN_LOST + 1];
};

static void told(void *user, const struct listen_word *word)
{
    struct heard *heard = user;

    heard->count[word->kind]++;
    heard->newest[word->kind] = *word;
}

/* Read until something of this kind was told; false at the deadline. */
static bool await(struct heard *heard, enum listen_kind kind)
{
    hf_time end = hf_time_add_ms(hf_clock_now(), WAIT_MS);
    struct pollfd fds[LISTEN_FDS];

    for (unsigned i = 0; i < LISTEN_FDS; i++)
        fds[i] = (struct pollfd){.fd = listen_here.fd[i], .events = POLLIN};
    while (heard->count[kind] == 0 && !hf_time_reached(hf_clock_now(), end)) {
        (void)poll(fds, LISTEN_FDS, 100);
        listen_read(&listen_here, told, heard);
    }
    return heard->count[kind] > 0;
}

START_TEST(links_and_uevents_are_told)
{
    struct heard heard = {.count = {0}};

    if (!wires_open(&tree))
        return;
    ck_assert_int_eq(listen_open(&listen_here, NULL, missing, &err), HF_OK);
    ck_assert_str_eq(missing, "");
    wires_pair("near", "far");
    ck_assert(await(&heard, LISTEN_LINK));
    ck_assert(heard.newest[LISTEN_LINK].u.link.has_counts);
    ck_assert(await(&heard, LISTEN_UEVENT));
    ck_assert(heard.newest[LISTEN_UEVENT].u.uevent.is_net);
    ck_assert_uint_eq(heard.count[LISTEN_LOST], 0);
    ck_assert_uint_eq(listen_here.bad, 0);
    memset(&heard, 0, sizeof heard);
    wires_run("ip link del near");
    while (await(&heard, LISTEN_LINK) && !heard.newest[LISTEN_LINK].u.link.is_gone)
        heard.count[LISTEN_LINK] = 0;
    ck_assert(heard.newest[LISTEN_LINK].u.link.is_gone);
    listen_close(&listen_here);
    wires_close(&tree);
}
END_TEST

START_TEST(what_was_lost_is_told_once_more_and_for_all)
{
    struct heard heard = {.count = {0}};
    struct ifreq request = {.ifr_mtu = 0};
    int fd;

    if (!wires_open(&tree))
        return;
    ck_assert_int_eq(listen_open(&listen_here, NULL, missing, &err), HF_OK);
    wires_pair("near", "far");
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    (void)snprintf(request.ifr_name, sizeof request.ifr_name, "near");
    /* Each is a message or two of a kilobyte, and nobody reads. */
    for (int i = 0; i < 4000; i++) {
        request.ifr_mtu = 1280 + i % 2;
        ck_assert_int_eq(ioctl(fd, SIOCSIFMTU, &request), 0);
    }
    close(fd);
    ck_assert(await(&heard, LISTEN_LOST));
    ck_assert_uint_ge(listen_here.lost, 1);
    memset(&heard, 0, sizeof heard);
    wires_run("ip link set near mtu 1400");
    ck_assert(await(&heard, LISTEN_LINK)); /* and it goes on */
    listen_close(&listen_here);
    wires_close(&tree);
}
END_TEST

/* A frame out of the far end, as a switch sends it. */
static void send_lldp(int ifindex)
{
    static const char frame[] = "\x01\x80\xc2\x00\x00\x0e\x00\x1c\x73\x00\x00\x01\x88\xcc"
                                "\x02\x07\x04\x00\x1c\x73\xaa\xbb\xcc"
                                "\x04\x05\x05"
                                "Eth1"
                                "\x06\x02\x00\x78\x00\x00";
    struct sockaddr_ll to = {
        .sll_family = AF_PACKET, .sll_ifindex = ifindex, .sll_protocol = htons(0x88cc)};
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(
        sendto(fd, frame, sizeof frame - 1, 0, (const struct sockaddr *)&to, sizeof to),
        (ssize_t)(sizeof frame - 1));
    close(fd);
}

START_TEST(a_switch_tells_its_port)
{
    struct heard heard = {.count = {0}};
    const struct listen_word *word = &heard.newest[LISTEN_LLDP];

    if (!wires_open(&tree))
        return;
    ck_assert_int_eq(listen_open(&listen_here, NULL, missing, &err), HF_OK);
    wires_pair("near", "far");
    listen_lldp(&listen_here, (int32_t)if_nametoindex("near"));
    send_lldp((int)if_nametoindex("far"));
    ck_assert(await(&heard, LISTEN_LLDP));
    ck_assert_str_eq(word->u.seen.lldp.switch_id, "00:1c:73:aa:bb:cc Eth1");
    ck_assert_int_eq(word->u.seen.ifindex, (int32_t)if_nametoindex("near"));
    ck_assert_uint_eq(heard.count[LISTEN_LLDP], 1); /* what goes out is no switch's word */
    listen_close(&listen_here);
    wires_close(&tree);
}
END_TEST

/* Any process can send to a netlink socket; only the kernel is listened to. */
START_TEST(a_forged_message_is_not_told)
{
    struct {
        struct nlmsghdr head;
        struct ifinfomsg info;
    } forged = {{.nlmsg_len = sizeof forged, .nlmsg_type = RTM_DELLINK}, {.ifi_index = 1}};
    struct sockaddr_nl to = {.nl_family = AF_NETLINK};
    struct heard heard = {.count = {0}};
    socklen_t len = sizeof to;
    int fd;

    if (!wires_open(&tree))
        return;
    ck_assert_int_eq(listen_open(&listen_here, NULL, missing, &err), HF_OK);
    ck_assert_int_eq(getsockname(listen_here.fd[0], (struct sockaddr *)&to, &len), 0);
    to.nl_groups = 0;
    fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(sendto(fd, &forged, sizeof forged, 0, (const struct sockaddr *)&to, len),
                     (ssize_t)sizeof forged);
    wires_run("ip link set lo up"); /* the kernel's own comes after it */
    while (await(&heard, LISTEN_LINK) && heard.newest[LISTEN_LINK].u.link.ifindex != 1)
        heard.count[LISTEN_LINK] = 0;
    ck_assert(!heard.newest[LISTEN_LINK].u.link.is_gone);
    close(fd);
    listen_close(&listen_here);
    wires_close(&tree);
}
END_TEST

/* Write this line to the log until it comes out of it: the kernel may drop what programs write. */
static bool log_line(int writer, int reader, const char *line)
{
    struct pollfd wait = {.fd = reader, .events = POLLIN};
    char record[8192];

    for (unsigned i = 0; i < 8; i++) { /* of 10 in 5 s that it lets a program write */
        hf_time end = hf_time_add_ms(hf_clock_now(), WAIT_MS / 8);

        ck_assert_int_eq(write(writer, line, strlen(line)), (ssize_t)strlen(line));
        while (!hf_time_reached(hf_clock_now(), end)) {
            ssize_t n = read(reader, record, sizeof record);

            if (n > 0 && memmem(record, (size_t)n, line + 3, strlen(line) - 3) != NULL)
                return true;
            if (n < 0)
                (void)poll(&wait, 1, 50);
        }
    }
    return false;
}

/* With the real log: what a program writes there is not a driver's word. */
START_TEST(a_program_cannot_speak_for_a_driver)
{
    static const char line[] = "<3>sfc 0000:01:00.0 enp1s0f0: has been disabled";
    struct heard heard = {.count = {0}};
    int writer = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
    int reader = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    if (writer < 0 || reader < 0) {
        printf("SKIPPED: /dev/kmsg cannot be opened here\n");
        return;
    }
    ck_assert_int_eq(listen_open(&listen_here, "/dev/kmsg", missing, &err), HF_OK);
    (void)lseek(reader, 0, SEEK_END);
    ck_assert(log_line(writer, reader, line));
    for (unsigned i = 0; i < 64; i++) /* whatever else this machine logs meanwhile */
        listen_read(&listen_here, told, &heard);
    ck_assert_uint_eq(heard.count[LISTEN_KMSG], 0);
    close(writer);
    close(reader);
    listen_close(&listen_here);
}
END_TEST

START_TEST(a_log_that_is_not_there_is_named)
{
    ck_assert_int_eq(listen_open(&listen_here, "/nonexistent/kmsg", missing, &err), HF_OK);
    ck_assert_str_eq(missing, "/nonexistent/kmsg: No such file or directory");
    listen_read(&listen_here, told, &(struct heard){.count = {0}});
    listen_close(&listen_here);
}
END_TEST

HF_TEST_MAIN("agents/nic/listen", HF_CASE(links_and_uevents_are_told),
             HF_CASE(what_was_lost_is_told_once_more_and_for_all), HF_CASE(a_switch_tells_its_port),
             HF_CASE(a_forged_message_is_not_told), HF_CASE(a_program_cannot_speak_for_a_driver),
             HF_CASE(a_log_that_is_not_there_is_named))
