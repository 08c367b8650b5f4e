#include "agents/guest/channel.h"

#include <fcntl.h>
#include <pty.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "tests/unit/check.h"

enum { PATIENCE_MS = 5000 };

struct rig {
    char folder[32], path[64];
    int listen_fd, host_fd, epoll_fd;
    struct channel channel;
    hf_time now;
};

static void begin(struct rig *rig)
{
    memset(rig, 0, sizeof *rig);
    rig->listen_fd = rig->host_fd = -1;
    rig->now.ns = 5000 * HF_NS_PER_MS;
    (void)strcpy(rig->folder, "/tmp/hf-channel-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(rig->folder));
    (void)snprintf(rig->path, sizeof rig->path, "%s/port", rig->folder);
    rig->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    ck_assert_int_ge(rig->epoll_fd, 0);
}

static void listen_at(struct rig *rig)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    (void)strcpy(address.sun_path, rig->path);
    rig->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(rig->listen_fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(rig->listen_fd, 1), 0);
}

static void accept_it(struct rig *rig)
{
    rig->host_fd = accept4(rig->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    ck_assert_int_ge(rig->host_fd, 0);
}

static void open_unix(struct rig *rig)
{
    struct channel_where where;
    struct hf_err err;
    char text[80];

    (void)snprintf(text, sizeof text, "unix:%s", rig->path);
    ck_assert_int_eq(channel_where_parse(&where, text, &err), HF_OK);
    channel_init(&rig->channel, &where, rig->epoll_fd, rig->now);
}

static void end(struct rig *rig)
{
    channel_close(&rig->channel);
    if (rig->listen_fd >= 0)
        close(rig->listen_fd);
    if (rig->host_fd >= 0)
        close(rig->host_fd);
    close(rig->epoll_fd);
    (void)unlink(rig->path);
    (void)rmdir(rig->folder);
}

/* One round that waits so long for an event; was the host new? */
static bool loop_wait(struct rig *rig, int wait_ms)
{
    struct epoll_event event;
    struct hf_err err;
    uint32_t events = 0;

    (void)channel_tick(&rig->channel, rig->now, &err);
    if (epoll_wait(rig->epoll_fd, &event, 1, wait_ms) == 1)
        events = event.events;
    return channel_ready(&rig->channel, events, rig->now);
}

/* On a socket everything is there at once. */
static bool loop_round(struct rig *rig)
{
    return loop_wait(rig, 0);
}

static void host_says(struct rig *rig, enum hf_guest_kind kind, unsigned times)
{
    const struct hf_guest_message m = {.kind = kind};
    uint8_t frame[GUEST_FRAME_MAX];
    size_t len = guest_frame_encode(&m, frame);

    for (unsigned i = 0; i < times; i++)
        ck_assert_int_eq(write(rig->host_fd, frame, len), (ssize_t)len);
}

static unsigned heard(struct rig *rig)
{
    struct hf_guest_message m;
    unsigned count = 0;

    while (channel_next(&rig->channel, &m))
        count++;
    return count;
}

/* ---- where ---- */

START_TEST(a_place_is_read_from_its_text)
{
    struct channel_where where;
    struct hf_err err;

    ck_assert_int_eq(channel_where_parse(&where, "", &err), HF_OK);
    ck_assert(where.kind == CHANNEL_PORT && where.is_found_by_name);
    ck_assert_int_eq(channel_where_parse(&where, "/dev/vport0p1", &err), HF_OK);
    ck_assert(where.kind == CHANNEL_PORT && !where.is_found_by_name);
    ck_assert_str_eq(where.path, "/dev/vport0p1");
    ck_assert_int_eq(channel_where_parse(&where, "unix:/run/x", &err), HF_OK);
    ck_assert_int_eq(where.kind, CHANNEL_UNIX);
    ck_assert_str_eq(where.path, "/run/x");
    ck_assert_int_eq(channel_where_parse(&where, "vsock:5405", &err), HF_OK);
    ck_assert_int_eq(where.kind, CHANNEL_VSOCK);
    ck_assert_uint_eq(where.vsock_port, 5405);
}
END_TEST

START_TEST(a_place_that_cannot_be_is_refused)
{
    static const char *const texts[] = {
        "port", "unix:x", "unix:", "vsock:", "vsock:x", "vsock:4294967296"};
    struct channel_where where;
    struct hf_err err;

    ck_assert_int_eq(channel_where_parse(&where, texts[_i], &err), HF_EINVAL);
}
END_TEST

/* ---- a socket ---- */

START_TEST(words_go_both_ways)
{
    struct rig rig;
    const struct hf_guest_message m = {.kind = HF_GUEST_HELLO};
    uint8_t bytes[GUEST_FRAME_MAX], frame[GUEST_FRAME_MAX];
    size_t len = guest_frame_encode(&m, frame);

    begin(&rig);
    listen_at(&rig);
    open_unix(&rig);
    ck_assert(!channel_put(&rig.channel, &m));
    ck_assert(loop_round(&rig));
    accept_it(&rig);
    ck_assert(!loop_round(&rig));
    host_says(&rig, HF_GUEST_ASK, 3);
    ck_assert(!loop_round(&rig));
    ck_assert_uint_eq(heard(&rig), 3);
    ck_assert(channel_put(&rig.channel, &m));
    channel_flush(&rig.channel, rig.now);
    ck_assert_int_eq(read(rig.host_fd, bytes, sizeof bytes), (ssize_t)len);
    ck_assert_mem_eq(bytes, frame, len);
    end(&rig);
}
END_TEST

START_TEST(a_socket_that_is_not_there_is_tried_again_with_patience)
{
    struct rig rig;
    struct hf_err err;
    unsigned tried = 0;

    begin(&rig);
    open_unix(&rig);
    for (unsigned i = 0; i < 600; i++) {
        tried += channel_tick(&rig.channel, rig.now, &err) != HF_OK;
        rig.now = hf_time_add_ms(rig.now, 100);
    }
    ck_assert_uint_ge(tried, 60000 / CHANNEL_RETRY_MAX_MS);
    ck_assert_uint_le(tried, 60000 / CHANNEL_RETRY_MAX_MS + 8);
    listen_at(&rig);
    rig.now = hf_time_add_ms(rig.now, CHANNEL_RETRY_MAX_MS);
    ck_assert(loop_round(&rig));
    end(&rig);
}
END_TEST

START_TEST(a_host_that_leaves_comes_back_new)
{
    struct rig rig;
    const struct hf_guest_message m = {.kind = HF_GUEST_HELLO};

    begin(&rig);
    listen_at(&rig);
    open_unix(&rig);
    ck_assert(loop_round(&rig));
    accept_it(&rig);
    close(rig.host_fd);
    ck_assert(!loop_round(&rig));
    ck_assert(!rig.channel.is_host_there);
    ck_assert(!channel_put(&rig.channel, &m));
    ck_assert(!loop_round(&rig));
    rig.now = hf_time_add_ms(rig.now, CHANNEL_RETRY_MS);
    ck_assert(loop_round(&rig));
    accept_it(&rig);
    end(&rig);
}
END_TEST

START_TEST(a_host_that_reads_nothing_costs_a_bounded_queue)
{
    struct rig rig;
    const struct hf_guest_message m = {.kind = HF_GUEST_EVENT, .u.event = {.name = "bond0"}};
    uint8_t bytes[8192];
    unsigned said = 0;

    begin(&rig);
    listen_at(&rig);
    open_unix(&rig);
    ck_assert(loop_round(&rig));
    accept_it(&rig);
    while (channel_put(&rig.channel, &m) && said < 1000000) {
        channel_flush(&rig.channel, rig.now);
        said++;
    }
    ck_assert_uint_lt(said, 1000000);
    ck_assert_uint_le(rig.channel.out_len, CHANNEL_OUT_MAX);
    /* It reads again: the event says so, and what waited goes. */
    (void)loop_round(&rig);
    while (read(rig.host_fd, bytes, sizeof bytes) > 0)
        ;
    ck_assert(!loop_round(&rig));
    ck_assert_uint_eq(rig.channel.out_len, 0);
    ck_assert(channel_put(&rig.channel, &m));
    end(&rig);
}
END_TEST

START_TEST(a_host_that_never_stops_is_read_in_pieces)
{
    struct rig rig;
    unsigned count = 0;

    begin(&rig);
    listen_at(&rig);
    open_unix(&rig);
    ck_assert(loop_round(&rig));
    accept_it(&rig);
    ck_assert(!loop_round(&rig));
    host_says(&rig, HF_GUEST_ASK, 200);
    for (unsigned i = 0; i < 200; i++) {
        unsigned now;

        (void)loop_round(&rig);
        now = heard(&rig);
        ck_assert_uint_le(now, CHANNEL_READ_MAX / GUEST_FRAME_HEAD + 1);
        count += now;
        if (!rig.channel.may_have_more)
            break;
    }
    ck_assert_uint_eq(count, 200);
    end(&rig);
}
END_TEST

/* ---- a port: here the near end of a terminal, made raw ---- */

struct port {
    char dev[64], sysfs[64], link[112], folder[112], name[136];
};

/* A /dev and a /sys as a guest without udev has them. */
static void make_port(struct rig *rig, struct port *port, const char *name)
{
    char tty[64];
    struct termios raw;
    int near_fd, fd;

    ck_assert_int_eq(openpty(&rig->host_fd, &near_fd, tty, NULL, NULL), 0);
    ck_assert_int_eq(tcgetattr(near_fd, &raw), 0);
    cfmakeraw(&raw);
    ck_assert_int_eq(tcsetattr(near_fd, TCSANOW, &raw), 0);
    close(near_fd);
    (void)snprintf(port->dev, sizeof port->dev, "%s/dev", rig->folder);
    (void)snprintf(port->sysfs, sizeof port->sysfs, "%s/sys", rig->folder);
    (void)snprintf(port->link, sizeof port->link, "%s/vport1p2", port->dev);
    ck_assert_int_eq(mkdir(port->dev, 0700), 0);
    ck_assert_int_eq(mkdir(port->sysfs, 0700), 0);
    ck_assert_int_eq(symlink(tty, port->link), 0);
    (void)snprintf(port->folder, sizeof port->folder, "%s/class", port->sysfs);
    ck_assert_int_eq(mkdir(port->folder, 0700), 0);
    (void)strcat(port->folder, "/virtio-ports");
    ck_assert_int_eq(mkdir(port->folder, 0700), 0);
    (void)strcat(port->folder, "/vport1p2");
    ck_assert_int_eq(mkdir(port->folder, 0700), 0);
    (void)snprintf(port->name, sizeof port->name, "%s/name", port->folder);
    fd = open(port->name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_eq(write(fd, name, strlen(name)), (ssize_t)strlen(name));
    close(fd);
}

static void remove_port(struct port *port)
{
    (void)unlink(port->name);
    for (unsigned i = 0; i < 3; i++) {
        (void)rmdir(port->folder);
        *strrchr(port->folder, '/') = '\0';
    }
    (void)rmdir(port->sysfs);
    (void)unlink(port->link);
    (void)rmdir(port->dev);
}

static void open_port(struct rig *rig, const struct port *port)
{
    struct channel_where where;
    struct hf_err err;

    ck_assert_int_eq(channel_where_parse(&where, "", &err), HF_OK);
    where.dev = port->dev;
    where.sysfs = port->sysfs;
    channel_init(&rig->channel, &where, rig->epoll_fd, rig->now);
}

START_TEST(a_port_is_found_by_its_name)
{
    struct rig rig;
    struct port port;
    const struct hf_guest_message m = {.kind = HF_GUEST_HELLO};
    uint8_t bytes[GUEST_FRAME_MAX], frame[GUEST_FRAME_MAX];
    size_t len = guest_frame_encode(&m, frame);
    unsigned count = 0;

    begin(&rig);
    make_port(&rig, &port, HF_GUEST_PORT "\n");
    open_port(&rig, &port);
    ck_assert(loop_round(&rig));
    /* A terminal hands its bytes on when it comes to it. */
    host_says(&rig, HF_GUEST_ASK, 2);
    for (unsigned i = 0; i < 10 && count < 2; i++) {
        (void)loop_wait(&rig, PATIENCE_MS);
        count += heard(&rig);
    }
    ck_assert_uint_eq(count, 2);
    ck_assert(channel_put(&rig.channel, &m));
    channel_flush(&rig.channel, rig.now);
    for (size_t at = 0; at < len;) {
        ssize_t n = read(rig.host_fd, bytes + at, len - at);

        ck_assert_int_gt(n, 0);
        at += (size_t)n;
    }
    ck_assert_mem_eq(bytes, frame, len);
    close(rig.host_fd);
    rig.host_fd = -1;
    for (unsigned i = 0; i < 10 && rig.channel.is_host_there; i++)
        (void)loop_wait(&rig, PATIENCE_MS);
    ck_assert(!rig.channel.is_host_there);
    remove_port(&port);
    end(&rig);
}
END_TEST

START_TEST(a_port_of_another_name_is_left_alone)
{
    static const char *const names[] = {"org.qemu.guest_agent.0\n", HF_GUEST_PORT "1\n",
                                        HF_GUEST_PORT, ""};
    struct rig rig;
    struct port port;
    struct hf_err err;

    begin(&rig);
    make_port(&rig, &port, names[_i]);
    open_port(&rig, &port);
    ck_assert_int_eq(channel_tick(&rig.channel, rig.now, &err), HF_EAGAIN);
    remove_port(&port);
    end(&rig);
}
END_TEST

START_TEST(what_is_no_device_is_no_port)
{
    struct rig rig;
    struct channel_where where;
    struct hf_err err;
    int fd;

    begin(&rig);
    fd = open(rig.path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    close(fd);
    ck_assert_int_eq(channel_where_parse(&where, rig.path, &err), HF_OK);
    channel_init(&rig.channel, &where, rig.epoll_fd, rig.now);
    ck_assert_int_eq(channel_tick(&rig.channel, rig.now, &err), HF_EAGAIN);
    ck_assert_int_eq(rig.channel.fd, -1);
    end(&rig);
}
END_TEST

HF_TEST_MAIN("agents/guest/channel", HF_CASE(a_place_is_read_from_its_text),
             HF_LOOP(a_place_that_cannot_be_is_refused, 0, 6), HF_CASE(words_go_both_ways),
             HF_CASE(a_socket_that_is_not_there_is_tried_again_with_patience),
             HF_CASE(a_host_that_leaves_comes_back_new),
             HF_CASE(a_host_that_reads_nothing_costs_a_bounded_queue),
             HF_CASE(a_host_that_never_stops_is_read_in_pieces),
             HF_CASE(a_port_is_found_by_its_name),
             HF_LOOP(a_port_of_another_name_is_left_alone, 0, 4),
             HF_CASE(what_is_no_device_is_no_port))
