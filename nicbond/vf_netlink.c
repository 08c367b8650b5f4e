/* vf_netlink.c - vf.h's orders on a socket of the kernel. */
#include "nicbond/vf.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "supervisord/base/clock.h"

const char *vf_answer_name(enum vf_answer answer)
{
    switch (answer) {
    case VF_DONE:
        return "done";
    case VF_UNSUPPORTED:
        return "not supported by the driver";
    case VF_BUSY:
        return "busy";
    case VF_GONE:
        return "no such PF";
    case VF_REFUSED:
        return "refused";
    case VF_UNKNOWN:
        return "unknown";
    case VF_ANSWERS:
        break;
    }
    return "?";
}

enum hf_code vf_netlink_open(struct vf_netlink *n, int stop_fd, struct hf_err *err)
{
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    int size = VF_ANSWER_MAX;

    *n = (struct vf_netlink){.stop_fd = stop_fd};
    n->answer = malloc(VF_ANSWER_MAX);
    if (n->answer == NULL)
        return hf_err_set(err, HF_EFULL, "netlink: no memory for an answer");
    n->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    /* Connected: answers come from the kernel and from nobody else. */
    if (n->fd < 0 || connect(n->fd, (const struct sockaddr *)&kernel, sizeof kernel) != 0) {
        (void)hf_err_set(err, HF_EIO, "netlink: %s", strerror(errno));
        if (n->fd >= 0)
            close(n->fd);
        free(n->answer);
        return HF_EIO;
    }
    /* FORCE needs CAP_NET_ADMIN, as setting VFs does; else as large as the system allows. */
    if (setsockopt(n->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) != 0)
        (void)setsockopt(n->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    return HF_OK;
}

void vf_netlink_close(struct vf_netlink *n)
{
    close(n->fd);
    free(n->answer);
    *n = (struct vf_netlink){.fd = -1, .stop_fd = -1};
}

static enum vf_answer answer_of(int error, struct hf_err *err)
{
    if (error == 0)
        return VF_DONE;
    (void)hf_err_set(err, HF_EIO, "the kernel says: %s", strerror(error));
    switch (error) {
    case EOPNOTSUPP:
        return VF_UNSUPPORTED;
    case EAGAIN:
    case EBUSY:
        return VF_BUSY;
    case ENODEV:
        return VF_GONE;
    default:
        return VF_REFUSED;
    }
}

/* One datagram, or VF_UNKNOWN. MSG_TRUNC makes recv() say how long it was. */
static enum vf_answer receive(const struct vf_netlink *n, hf_time deadline, size_t *len,
                              struct hf_err *err)
{
    int64_t left = hf_time_since_ms(deadline, hf_clock_now());
    struct pollfd readable = {.fd = n->fd, .events = POLLIN};
    ssize_t got;

    if (left < 0 || poll(&readable, 1, (int)left) <= 0) {
        (void)hf_err_set(err, HF_ETIME, "no answer from the kernel");
        return VF_UNKNOWN;
    }
    got = recv(n->fd, n->answer, VF_ANSWER_MAX, MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0) {
        (void)hf_err_set(err, HF_EIO, "netlink: %s", strerror(errno));
        return VF_UNKNOWN;
    }
    if (got > VF_ANSWER_MAX) {
        (void)hf_err_set(err, HF_EBAD, "netlink: an answer of %zd bytes", got);
        return VF_UNKNOWN;
    }
    *len = (size_t)got;
    return VF_DONE;
}

/* Sends a question and reads until its answer. list = NULL: an acknowledgement is wanted. */
static enum vf_answer ask(struct vf_netlink *n, int32_t ifindex, const uint8_t *message, size_t len,
                          struct vf_list *list, struct hf_err *err)
{
    hf_time deadline;
    struct vf_list unused;
    enum vf_reply reply;
    int error;

    if (send(n->fd, message, len, 0) != (ssize_t)len) {
        (void)hf_err_set(err, HF_EIO, "netlink: %s", strerror(errno));
        return VF_UNKNOWN;
    }
    deadline = hf_time_add_ms(hf_clock_now(), VF_ANSWER_WAIT_MS);
    for (;;) {
        enum vf_answer answer = receive(n, deadline, &len, err);

        if (answer != VF_DONE)
            return answer;
        if (vf_message_parse(n->answer, len, n->seq, ifindex, &reply, &error,
                             list != NULL ? list : &unused, err) != HF_OK)
            return VF_UNKNOWN;
        switch (reply) {
        case VF_REPLY_DONE:
            /* EMSGSIZE of a question: the list does not fit into its 16-bit length. */
            return answer_of(error, err);
        case VF_REPLY_LIST:
            if (list != NULL)
                return VF_DONE;
            break;
        case VF_REPLY_AGAIN:
            (void)hf_err_set(err, HF_EAGAIN, "the answer is not of one moment");
            return VF_BUSY;
        case VF_REPLY_OTHER:
        case VF_REPLIES:
            break;
        }
    }
}

/* ---- the port ---- */

static enum vf_answer port_read(void *user, int32_t ifindex, struct vf_list *list,
                                struct hf_err *err)
{
    struct vf_netlink *n = user;
    uint8_t message[VF_MESSAGE_MAX];
    size_t len = vf_message_get(message, ++n->seq, ifindex);
    enum vf_answer answer = ask(n, ifindex, message, len, list, err);

    if (answer != VF_DONE)
        (void)hf_err_wrap(err, "read the VFs of interface %d", (int)ifindex);
    return answer;
}

static enum vf_answer port_set(void *user, int32_t ifindex, uint16_t vf, enum vf_field field,
                               const struct vf_config *wanted, struct hf_err *err)
{
    struct vf_netlink *n = user;
    uint8_t message[VF_MESSAGE_MAX];
    size_t len = vf_message_set(message, ++n->seq, ifindex, vf, field, wanted);
    enum vf_answer answer = ask(n, ifindex, message, len, NULL, err);

    if (answer != VF_DONE)
        (void)hf_err_wrap(err, "set the %s of VF %u", vf_field_name(field), (unsigned)vf);
    return answer;
}

static enum vf_answer port_link(void *user, int32_t ifindex, const uint16_t *vfs, uint16_t count,
                                enum vf_link link, struct hf_err *err)
{
    struct vf_netlink *n = user;
    uint8_t message[VF_MESSAGE_MAX];
    size_t len = vf_message_link(message, ++n->seq, ifindex, vfs, count, link);
    enum vf_answer answer = ask(n, ifindex, message, len, NULL, err);

    if (answer != VF_DONE)
        (void)hf_err_wrap(err, "set the link of %u VFs to %s", (unsigned)count, vf_link_name(link));
    return answer;
}

/* Detached: its driver resets it, or recovers from a PCIe error. The kernel refuses every ethtool
 * call then, before it asks the driver (net/ethtool/ioctl.c); this one asks no driver anyway. */
static bool is_detached(int fd, int32_t ifindex)
{
    struct ethtool_value value = {.cmd = ETHTOOL_GFLAGS};
    struct ifreq ifr = {.ifr_ifindex = ifindex};

    if (ioctl(fd, SIOCGIFNAME, &ifr) != 0)
        return false;
    ifr.ifr_data = (void *)&value;
    return ioctl(fd, SIOCETHTOOL, &ifr) != 0 && errno == ENODEV;
}

/* A detached device is not put down: the kernel would call it down while its driver leaves it as it
 * is, and opens it a second time when it is put up (igb 6.1, found by tests/lab: BUG in
 * napi_enable() with the RTNL lock held, which nobody got any more). */
static enum vf_answer port_admin(void *user, int32_t ifindex, bool is_up, struct hf_err *err)
{
    struct vf_netlink *n = user;
    uint8_t message[VF_MESSAGE_MAX];
    size_t len = vf_message_admin(message, ++n->seq, ifindex, is_up);
    enum vf_answer answer = VF_REFUSED;

    if (!is_up && is_detached(n->fd, ifindex))
        (void)hf_err_set(err, HF_EIO, "its driver resets or recovers it");
    else
        answer = ask(n, ifindex, message, len, NULL, err);
    if (answer != VF_DONE)
        (void)hf_err_wrap(err, "set interface %d %s", (int)ifindex, is_up ? "up" : "down");
    return answer;
}

static bool port_wait(void *user, uint32_t ms)
{
    const struct vf_netlink *n = user;
    struct pollfd stop = {.fd = n->stop_fd, .events = POLLIN};

    return poll(&stop, 1, (int)ms) <= 0; /* a negative fd is left out by poll() */
}

struct vf_port vf_netlink_port(struct vf_netlink *n)
{
    return (struct vf_port){n, port_read, port_set, port_link, port_admin, port_wait};
}
