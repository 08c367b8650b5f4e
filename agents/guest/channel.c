#include "agents/guest/channel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/vm_sockets.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"

enum {
    PORTS_MAX = 512,     /* looked at for the name: 31 ports a device, virtio_console.c */
    REST_READS_MAX = 64, /* 32 KiB: what a port's queue holds of a host that left */
};

/* ---- where ---- */

static bool starts_with(const char *text, const char *prefix, const char **rest)
{
    size_t len = strlen(prefix);

    *rest = text + len;
    return strncmp(text, prefix, len) == 0;
}

enum hf_code channel_where_parse(struct channel_where *where, const char *text, struct hf_err *err)
{
    const char *rest;
    uint64_t port;

    *where = (struct channel_where){.kind = CHANNEL_PORT, .dev = "/dev", .sysfs = "/sys"};
    if (text[0] == '\0') {
        where->is_found_by_name = true;
        return HF_OK;
    }
    if (starts_with(text, "vsock:", &rest)) {
        where->kind = CHANNEL_VSOCK;
        if (!hf_str_to_u64(rest, UINT32_MAX, &port))
            return hf_err_set(err, HF_EINVAL, "no vsock port: %s", text);
        where->vsock_port = (uint32_t)port;
        return HF_OK;
    }
    if (starts_with(text, "unix:", &rest))
        where->kind = CHANNEL_UNIX;
    else
        rest = text;
    if (rest[0] != '/' || !hf_str_copy(where->path, sizeof where->path, rest))
        return hf_err_set(err, HF_EINVAL, "no usable path: %s", text);
    return HF_OK;
}

void channel_init(struct channel *c, const struct channel_where *where, int epoll_fd, hf_time now)
{
    memset(c, 0, sizeof *c);
    c->where = *where;
    c->epoll_fd = epoll_fd;
    c->fd = -1;
    c->retry_at = now;
    c->retry_ms = CHANNEL_RETRY_MS;
}

/* ---- a port's device, by its name ---- */

static bool has_name(const char *sysfs, const char *entry)
{
    static const char wanted[] = HF_GUEST_PORT "\n";
    char path[PATH_MAX], name[sizeof wanted];
    ssize_t len;
    int fd;

    (void)snprintf(path, sizeof path, "%s/class/virtio-ports/%s/name", sysfs, entry);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    len = read(fd, name, sizeof name);
    close(fd);
    return len == (ssize_t)sizeof wanted - 1 && memcmp(name, wanted, sizeof wanted - 1) == 0;
}

/* udev makes a link by the name. Without udev the kernel's own list tells which device it is. */
static bool find_port(const struct channel_where *where, char out[PATH_MAX])
{
    char folder[PATH_MAX];
    const struct dirent *entry;
    DIR *list;
    bool is_found = false;

    (void)snprintf(out, PATH_MAX, "%s/virtio-ports/" HF_GUEST_PORT, where->dev);
    if (access(out, F_OK) == 0)
        return true;
    (void)snprintf(folder, sizeof folder, "%s/class/virtio-ports", where->sysfs);
    list = opendir(folder);
    if (list == NULL)
        return false;
    for (unsigned i = 0; i < PORTS_MAX && !is_found && (entry = readdir(list)) != NULL; i++)
        if (entry->d_name[0] != '.' && has_name(where->sysfs, entry->d_name)) {
            (void)snprintf(out, PATH_MAX, "%s/%s", where->dev, entry->d_name);
            is_found = true;
        }
    closedir(list);
    return is_found;
}

/* ---- open ---- */

static int open_port(const struct channel_where *where, struct hf_err *err)
{
    char path[PATH_MAX];
    struct stat about;
    int fd;

    if (!where->is_found_by_name) {
        (void)hf_str_copy(path, sizeof path, where->path);
    } else if (!find_port(where, path)) {
        (void)hf_err_set(err, HF_EAGAIN, "this guest has no port " HF_GUEST_PORT);
        return -1;
    }
    fd = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        (void)hf_err_set(err, HF_EAGAIN, "open %s: %s", path, strerror(errno));
        return -1;
    }
    if (fstat(fd, &about) == 0 && S_ISCHR(about.st_mode))
        return fd;
    close(fd);
    (void)hf_err_set(err, HF_EAGAIN, "%s is no device", path);
    return -1;
}

static int open_socket(const struct channel_where *where, struct hf_err *err)
{
    struct sockaddr_un near = {.sun_family = AF_UNIX};
    struct sockaddr_vm far = {
        .svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_HOST, .svm_port = where->vsock_port};
    bool is_near = where->kind == CHANNEL_UNIX;
    int fd = socket(is_near ? AF_UNIX : AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int failed;

    if (fd < 0) {
        (void)hf_err_set(err, HF_EAGAIN, "socket: %s", strerror(errno));
        return -1;
    }
    (void)hf_str_copy(near.sun_path, sizeof near.sun_path, where->path);
    failed = is_near ? connect(fd, (const struct sockaddr *)&near, sizeof near)
                     : connect(fd, (const struct sockaddr *)&far, sizeof far);
    if (failed == 0 || errno == EINPROGRESS)
        return fd;
    (void)hf_err_set(err, HF_EAGAIN, "connect: %s", strerror(errno));
    close(fd);
    return -1;
}

void channel_close(struct channel *c)
{
    if (c->fd >= 0)
        close(c->fd); /* which takes it out of the epoll, too */
    c->fd = -1;
    c->is_host_there = false;
    c->may_have_more = false;
    c->out_len = 0;
}

static void close_and_retry(struct channel *c, hf_time now)
{
    channel_close(c);
    c->retry_at = hf_time_add_ms(now, c->retry_ms);
    c->retry_ms = 2 * c->retry_ms < CHANNEL_RETRY_MAX_MS ? 2 * c->retry_ms : CHANNEL_RETRY_MAX_MS;
}

enum hf_code channel_tick(struct channel *c, hf_time now, struct hf_err *err)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c};

    if (c->fd >= 0 || !hf_time_reached(now, c->retry_at))
        return HF_OK;
    c->fd = c->where.kind == CHANNEL_PORT ? open_port(&c->where, err) : open_socket(&c->where, err);
    if (c->fd < 0) {
        close_and_retry(c, now);
        return HF_EAGAIN;
    }
    /* The first event comes at once, and says whether the host is there. */
    if (epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->fd, &event) != 0) {
        (void)hf_err_set(err, HF_EAGAIN, "epoll: %s", strerror(errno));
        close_and_retry(c, now);
        return HF_EAGAIN;
    }
    return HF_OK;
}

/* ---- bytes ---- */

/* The host side is closed; what was under way is lost. A port stays open: its next event says that
 * somebody is there again. A port that was unplugged, or a socket, is made anew. */
static void host_left(struct channel *c, hf_time now)
{
    uint8_t rest[CHANNEL_READ_MAX];
    ssize_t n = 0;

    c->is_host_there = false;
    c->may_have_more = false;
    c->out_len = 0;
    memset(&c->in, 0, sizeof c->in);
    /* What it sent before is not worth it; bounded, for it may be back already. */
    for (unsigned i = 0; i < REST_READS_MAX; i++) {
        n = read(c->fd, rest, sizeof rest);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
    }
    if (c->where.kind != CHANNEL_PORT || (n < 0 && errno != EAGAIN))
        close_and_retry(c, now);
}

static void host_came(struct channel *c)
{
    memset(&c->in, 0, sizeof c->in);
    c->out_len = 0;
    c->is_host_there = true;
    c->retry_ms = CHANNEL_RETRY_MS;
}

/* One piece, so that a host that talks without end cannot keep us here. */
static void take(struct channel *c, hf_time now)
{
    uint8_t bytes[CHANNEL_READ_MAX];
    size_t room = sizeof c->in.bytes - c->in.len;
    ssize_t n;

    HF_ASSERT(room > 0); /* channel_next() was called until it said no */
    n = read(c->fd, bytes, room < sizeof bytes ? room : sizeof bytes);
    c->may_have_more = n > 0;
    if (n > 0)
        (void)guest_stream_put(&c->in, bytes, (size_t)n);
    else if (n == 0)
        host_left(c, now);
    else if (errno == EINTR)
        c->may_have_more = true;
    else if (errno != EAGAIN)
        close_and_retry(c, now);
}

bool channel_ready(struct channel *c, uint32_t events, hf_time now)
{
    bool is_new = false;

    if (c->fd < 0)
        return false;
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
        host_left(c, now);
        return false;
    }
    if (events != 0 && !c->is_host_there && (events & (EPOLLIN | EPOLLOUT)) != 0) {
        host_came(c);
        is_new = true;
    }
    if (c->is_host_there && ((events & EPOLLIN) != 0 || c->may_have_more))
        take(c, now);
    if (c->is_host_there)
        channel_flush(c, now);
    return is_new && c->is_host_there;
}

bool channel_next(struct channel *c, struct hf_guest_message *message)
{
    return c->is_host_there && guest_stream_next(&c->in, message);
}

bool channel_put(struct channel *c, const struct hf_guest_message *message)
{
    uint8_t frame[GUEST_FRAME_MAX];
    size_t len;

    if (!c->is_host_there)
        return false;
    len = guest_frame_encode(message, frame);
    if (len > sizeof c->out - c->out_len)
        return false;
    memcpy(c->out + c->out_len, frame, len);
    c->out_len += len;
    return true;
}

void channel_flush(struct channel *c, hf_time now)
{
    while (c->is_host_there && c->out_len > 0) {
        ssize_t n = c->where.kind == CHANNEL_PORT
                        ? write(c->fd, c->out, c->out_len)
                        : send(c->fd, c->out, c->out_len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return; /* the event says when */
        if (n <= 0) {
            close_and_retry(c, now);
            return;
        }
        HF_ASSERT((size_t)n <= c->out_len);
        c->out_len -= (size_t)n;
        memmove(c->out, c->out + n, c->out_len);
    }
}
