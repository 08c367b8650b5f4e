#include "nicbond/guest_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "supervisord/base/str.h"

static void leave(struct guest_socket *s, uint32_t pause_ms, hf_time now)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    s->retry_at = hf_time_add_ms(now, pause_ms);
    guest_left(&s->guest, now);
}

static void leave_and_retry(struct guest_socket *s, hf_time now)
{
    leave(s, s->retry_ms, now);
    s->retry_ms = 2 * s->retry_ms < GUEST_RETRY_MAX_MS ? 2 * s->retry_ms : GUEST_RETRY_MAX_MS;
}

static void flush(struct guest_socket *s, hf_time now)
{
    size_t len;
    const uint8_t *bytes = guest_out(&s->guest, &len);
    ssize_t n;

    if (s->fd < 0 || bytes == NULL)
        return;
    n = send(s->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0)
        guest_sent(&s->guest, (size_t)n);
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        leave_and_retry(s, now);
}

/* A unix socket connects at once or not at all. */
static void join(struct guest_socket *s, hf_time now)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    (void)hf_str_copy(address.sun_path, sizeof address.sun_path, s->path);
    s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->fd < 0 || connect(s->fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        s->refused++;
        leave_and_retry(s, now);
        return;
    }
    s->refused = 0;
    guest_joined(&s->guest, now);
    flush(s, now);
}

enum hf_code guest_socket_open(struct guest_socket *s, const char *path, hf_time now,
                               struct hf_err *err)
{
    memset(s, 0, sizeof *s);
    s->fd = -1;
    s->retry_ms = GUEST_RETRY_MS;
    guest_init(&s->guest, now);
    if (path[0] != '/' || !hf_str_copy(s->path, sizeof s->path, path))
        return hf_err_set(err, HF_EINVAL, "guest channel: no usable path: %s", path);
    join(s, now);
    return HF_OK;
}

void guest_socket_close(struct guest_socket *s, hf_time now)
{
    leave(s, 0, now);
}

struct pollfd guest_socket_poll(const struct guest_socket *s)
{
    size_t len;
    short out = guest_out(&s->guest, &len) != NULL ? POLLOUT : 0;

    return (struct pollfd){.fd = s->fd, .events = (short)(POLLIN | out)};
}

static void take(struct guest_socket *s, hf_time now)
{
    uint8_t bytes[GUEST_READ_MAX];
    ssize_t n = recv(s->fd, bytes, sizeof bytes, MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        leave_and_retry(s, now);
        return;
    }
    if (!guest_take(&s->guest, bytes, (size_t)n, now))
        leave(s, guest_mute_ms(&s->guest, now), now);
    else if (s->guest.has_helper)
        s->retry_ms = GUEST_RETRY_MS;
}

void guest_socket_ready(struct guest_socket *s, short revents, hf_time now)
{
    if (s->fd >= 0 && (revents & POLLOUT) != 0)
        flush(s, now);
    if (s->fd >= 0 && (revents & (POLLIN | POLLHUP | POLLERR)) != 0)
        take(s, now);
}

hf_time guest_socket_tick(struct guest_socket *s, hf_time now)
{
    hf_time next;

    if (s->fd < 0 && hf_time_reached(now, s->retry_at))
        join(s, now);
    if (guest_is_stale(&s->guest, now))
        leave_and_retry(s, now);
    next = guest_tick(&s->guest, now);
    flush(s, now);
    if (s->fd < 0 && s->retry_at.ns < next.ns)
        next = s->retry_at;
    return next;
}

enum hf_code guest_socket_order(struct guest_socket *s, uint64_t number, hf_mac mac, hf_time now,
                                struct hf_err *err)
{
    enum hf_code code = guest_order_active(&s->guest, number, mac, now, err);

    if (code == HF_OK)
        flush(s, now);
    return code;
}
