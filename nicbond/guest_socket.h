/* guest_socket.h - the connection to one VM's holdfast-guest: the unix socket that qemu listens at
 * for the virtio-serial port org.holdfast.guest.0. For the hot loop: nothing here waits, allocates
 * or asks a name; at most GUEST_READ_MAX bytes are read a round. */
#ifndef NICBOND_GUEST_SOCKET_H
#define NICBOND_GUEST_SOCKET_H

#include <poll.h>

#include "nicbond/guest.h"

enum {
    GUEST_PATH_MAX = 107,  /* sun_path, unix(7), without the NUL */
    GUEST_READ_MAX = 2048, /* nine of the longest frames; some 5 us to take apart (estimate) */
    GUEST_RETRY_MS = 100,  /* between two attempts to connect, doubled up to: */
    GUEST_RETRY_MAX_MS = 5000,
};

struct guest_socket {
    struct guest guest; /* to be read, and its answers to be taken */
    int fd;             /* -1: not connected */
    hf_time retry_at;
    uint32_t retry_ms;
    uint32_t refused; /* attempts that failed, since it was connected last */
    char path[GUEST_PATH_MAX + 1];
};

/* Tries to connect at once; whether it could is not told: it goes on trying. HF_EINVAL: the path
 * does not fit. */
enum hf_code guest_socket_open(struct guest_socket *s, const char *path, hf_time now,
                               struct hf_err *err);
void guest_socket_close(struct guest_socket *s, hf_time now);

/* For ppoll(); fd -1 when there is nothing to wait for. */
struct pollfd guest_socket_poll(const struct guest_socket *s);
/* After it, with its revents. */
void guest_socket_ready(struct guest_socket *s, short revents, hf_time now);
/* Deadlines, questions, reconnection. When to be called again. */
hf_time guest_socket_tick(struct guest_socket *s, hf_time now);
/* guest_order_active(), and the bytes go out at once. */
enum hf_code guest_socket_order(struct guest_socket *s, uint64_t number, hf_mac mac, hf_time now,
                                struct hf_err *err);

#endif
