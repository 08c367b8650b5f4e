#include "supervisord/base/stderr.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* Sockets and pipes can be asked not to wait, call by call. What remains is a race with another
 * writer of the same pipe between poll and write on kernels whose pipes refuse RWF_NOWAIT. A file
 * or terminal has only the poll: RWF_NOWAIT would lose lines there that a cold page costs. */
static ssize_t write_now(const char *bytes, size_t len)
{
    struct iovec piece = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = len};
    struct stat type;

    if (fstat(STDERR_FILENO, &type) != 0)
        return -1;
    if (S_ISSOCK(type.st_mode))
        return send(STDERR_FILENO, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (S_ISFIFO(type.st_mode)) {
        ssize_t done = pwritev2(STDERR_FILENO, &piece, 1, -1, RWF_NOWAIT);

        if (done >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
            return done;
    }
    return write(STDERR_FILENO, bytes, len);
}

bool hf_stderr_write(const char *bytes, size_t len)
{
    struct pollfd pfd = {.fd = STDERR_FILENO, .events = POLLOUT};

    /* POLLERR is a pipe without a reader: writing would raise SIGPIPE. */
    if (poll(&pfd, 1, 0) != 1 || (pfd.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0)
        return false;
    return write_now(bytes, len) == (ssize_t)len;
}
