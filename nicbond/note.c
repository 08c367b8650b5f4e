#include "nicbond/note.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum { QUEUE_BYTES = 1 << 20 }; /* every VM's news and flips at once, with the kernel's overhead */

enum hf_code note_open(int fd[2], struct hf_err *err)
{
    int bytes = QUEUE_BYTES;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fd) != 0)
        return hf_err_set(err, HF_EIO, "socketpair: %s", strerror(errno));
    for (unsigned i = 0; i < 2; i++) {
        if (setsockopt(fd[i], SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0)
            (void)setsockopt(fd[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    }
    return HF_OK;
}

void note_limits(const struct hf_nics_conf *conf, struct note_limits *out)
{
    out->hold_down_ms = conf->hold_down_ms;
    out->hold_down_max_ms = conf->hold_down_max_ms;
    out->flip_deadline_ms = conf->flip_deadline_ms;
    memcpy(out->bfd_interval_us, conf->bfd_interval_us, sizeof out->bfd_interval_us);
    memcpy(out->bfd_multiplier, conf->bfd_multiplier, sizeof out->bfd_multiplier);
}

bool note_put(int fd, const struct note *note)
{
    return send(fd, note, sizeof *note, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof *note;
}

bool note_take(int fd, struct note *note)
{
    return recv(fd, note, sizeof *note, MSG_DONTWAIT) == (ssize_t)sizeof *note;
}
