/* channel.h - the byte stream to the host: a virtio-serial port, or a socket in its place. Never
 * waits, and holds little: what does not fit is not taken, so that a host that reads nothing costs
 * the guest nothing. Made for edge-triggered epoll, because a port whose host side is closed says
 * POLLHUP all the time. */
#ifndef AGENTS_GUEST_CHANNEL_H
#define AGENTS_GUEST_CHANNEL_H

#include "supervisord/base/clock.h"
#include "supervisord/base/err.h"
#include "supervisord/wire/guest_frame.h"

enum {
    CHANNEL_PATH_MAX = 107, /* sun_path, unix(7), without the NUL */
    CHANNEL_OUT_MAX = 16 * GUEST_FRAME_MAX,
    CHANNEL_READ_MAX = 512, /* the host's frames are 20 and 26 bytes long */
    CHANNEL_RETRY_MS = 100, /* between two attempts to open it, doubled up to: */
    CHANNEL_RETRY_MAX_MS = 5000,
};

enum channel_kind {
    CHANNEL_PORT,  /* a character device */
    CHANNEL_UNIX,  /* a unix socket to connect to */
    CHANNEL_VSOCK, /* a vsock port of the host (CID 2) to connect to */
};

struct channel_where {
    enum channel_kind kind;
    bool is_found_by_name; /* of CHANNEL_PORT: look for HF_GUEST_PORT; path is "" */
    char path[CHANNEL_PATH_MAX + 1];
    uint32_t vsock_port;
    const char *dev, *sysfs; /* "/dev", "/sys": where a port is found; borrowed */
};

/* "" (the port by its name), "/dev/vport0p1", "unix:/run/x", "vsock:5405". */
enum hf_code channel_where_parse(struct channel_where *where, const char *text, struct hf_err *err);

struct channel {
    struct channel_where where;
    int epoll_fd; /* borrowed */
    int fd;       /* -1: not open */
    bool is_host_there;
    bool may_have_more; /* read again, though no event says so */
    hf_time retry_at;
    uint32_t retry_ms;
    struct guest_stream in;
    uint8_t out[CHANNEL_OUT_MAX];
    size_t out_len;
};

void channel_init(struct channel *c, const struct channel_where *where, int epoll_fd, hf_time now);
void channel_close(struct channel *c);

/* Open it if it is not and it is time to. HF_EAGAIN: not now; err says why. */
enum hf_code channel_tick(struct channel *c, hf_time now, struct hf_err *err);
/* After epoll_wait(), with its events; 0 to go on reading. True: the host side is new. */
bool channel_ready(struct channel *c, uint32_t events, hf_time now);
/* The next message of the host. */
bool channel_next(struct channel *c, struct hf_guest_message *message);
/* False: no room, or nobody there. */
bool channel_put(struct channel *c, const struct hf_guest_message *message);
/* As much as it takes. */
void channel_flush(struct channel *c, hf_time now);

#endif
