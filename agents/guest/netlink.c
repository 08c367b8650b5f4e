#include "agents/guest/netlink.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "supervisord/base/assert.h"

enum { REQUEST_MAX = 256, DATAGRAMS_MAX = 4096 }; /* of one dump; a datagram holds several links */

/* ---- sockets ---- */

static int open_socket(uint32_t groups, struct hf_err *err)
{
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

    if (fd < 0) {
        (void)hf_err_set(err, HF_EIO, "netlink: %s", strerror(errno));
        return -1;
    }
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        (void)hf_err_set(err, HF_EIO, "netlink: bind: %s", strerror(errno));
        close(fd);
        return -1;
    }
    return fd;
}

enum hf_code netlink_open(struct netlink *n, struct hf_err *err)
{
    const struct timeval patience = {.tv_sec = NETLINK_ANSWER_MS / 1000};

    n->number = 0;
    n->listen_fd = open_socket(RTMGRP_LINK, err);
    if (n->listen_fd < 0)
        return err->code;
    n->ask_fd = open_socket(0, err);
    if (n->ask_fd < 0) {
        close(n->listen_fd);
        return err->code;
    }
    (void)setsockopt(n->ask_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return HF_OK;
}

void netlink_close(struct netlink *n)
{
    close(n->listen_fd);
    close(n->ask_fd);
}

/* ---- requests ---- */

struct request {
    _Alignas(8) uint8_t bytes[REQUEST_MAX];
    size_t len;
};

static void append(struct request *r, const void *bytes, size_t len)
{
    HF_ASSERT(r->len + NLMSG_ALIGN(len) <= sizeof r->bytes);
    memcpy(r->bytes + r->len, bytes, len);
    r->len += NLMSG_ALIGN(len);
}

static void append_attr(struct request *r, uint16_t type, const void *value, size_t len)
{
    const struct nlattr head = {.nla_len = (uint16_t)(sizeof head + len), .nla_type = type};

    append(r, &head, sizeof head);
    if (len > 0)
        append(r, value, len);
}

/* An attribute that holds what is appended until end_nest(). */
static size_t begin_nest(struct request *r, uint16_t type)
{
    size_t at = r->len;

    append_attr(r, type, NULL, 0);
    return at;
}

static void end_nest(struct request *r, size_t at)
{
    struct nlattr head;

    memcpy(&head, r->bytes + at, sizeof head);
    head.nla_len = (uint16_t)(r->len - at);
    memcpy(r->bytes + at, &head, sizeof head);
}

static void begin(struct netlink *n, struct request *r, uint16_t type, uint16_t flags,
                  uint32_t index)
{
    const struct nlmsghdr head = {.nlmsg_type = type,
                                  .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags),
                                  .nlmsg_seq = ++n->number};
    const struct ifinfomsg info = {.ifi_index = (int)index};

    memset(r, 0, sizeof *r);
    append(r, &head, sizeof head);
    append(r, &info, sizeof info);
}

static enum hf_code send_request(struct netlink *n, struct request *r, struct hf_err *err)
{
    const uint32_t len = (uint32_t)r->len;
    ssize_t sent;

    memcpy(r->bytes, &len, sizeof len); /* nlmsg_len is the header's first field */
    do {
        sent = send(n->ask_fd, r->bytes, r->len, 0);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return hf_err_set(err, HF_EIO, "netlink: send: %s", strerror(errno));
    return HF_OK;
}

static void ask_for_links(struct netlink *n, struct request *r, uint16_t flags, uint32_t index)
{
    const uint32_t mask = RTEXT_FILTER_SKIP_STATS;

    begin(n, r, RTM_GETLINK, flags, index);
    append_attr(r, IFLA_EXT_MASK, &mask, sizeof mask);
}

/* ---- answers ---- */

/* One datagram into n->bytes. HF_EFULL: it, or others before it, were lost. */
static enum hf_code receive(struct netlink *n, int fd, int flags, size_t *len, struct hf_err *err)
{
    struct sockaddr_nl from = {0};
    struct iovec part = {.iov_base = n->bytes, .iov_len = sizeof n->bytes};
    struct msghdr head = {
        .msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &part, .msg_iovlen = 1};
    ssize_t got;

    *len = 0;
    do {
        got = recvmsg(fd, &head, flags);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return hf_err_set(err, HF_EAGAIN, "netlink: no answer");
    if (got < 0 && errno == ENOBUFS)
        return hf_err_set(err, HF_EFULL, "netlink: messages were lost");
    if (got < 0)
        return hf_err_set(err, HF_EIO, "netlink: receive: %s", strerror(errno));
    if ((head.msg_flags & MSG_TRUNC) != 0)
        return hf_err_set(err, HF_EFULL, "netlink: a message was cut");
    /* Any process may send to a netlink socket; the kernel is port 0. */
    *len = from.nl_pid == 0 ? (size_t)got : 0;
    return HF_OK;
}

/* The message at *at of len bytes; *at moves on. NULL: no more. */
static const uint8_t *next_message(const uint8_t *bytes, size_t len, size_t *at,
                                   struct nlmsghdr *head)
{
    const uint8_t *message = bytes + *at;

    if (*at > len || len - *at < sizeof *head)
        return NULL;
    memcpy(head, message, sizeof *head);
    if (head->nlmsg_len < sizeof *head || head->nlmsg_len > len - *at)
        return NULL;
    *at += NLMSG_ALIGN(head->nlmsg_len);
    return message;
}

/* errno of an NLMSG_ERROR, 0 for an acknowledgement. */
static int error_of(const uint8_t *message, const struct nlmsghdr *head)
{
    struct nlmsgerr error;

    if (head->nlmsg_len < NLMSG_HDRLEN + sizeof error)
        return EBADMSG;
    memcpy(&error, message + NLMSG_HDRLEN, sizeof error);
    return error.error < 0 ? -error.error : 0;
}

/* Until the answer to the newest request has ended: by DONE, an error, or, with is_single, a link.
 * *error: the kernel's word. */
static enum hf_code take_answer(struct netlink *n, bool is_single, struct bond_table *table,
                                int *error, struct hf_err *err)
{
    struct bond_heard heard;
    size_t len;

    *error = 0;
    for (unsigned i = 0; i < DATAGRAMS_MAX; i++) {
        size_t at = 0;
        struct nlmsghdr head;
        const uint8_t *message;

        if (receive(n, n->ask_fd, 0, &len, err) != HF_OK)
            return err->code;
        while ((message = next_message(n->bytes, len, &at, &head)) != NULL) {
            if (head.nlmsg_seq != n->number)
                continue; /* the end of an answer that was given up on */
            if (head.nlmsg_type == NLMSG_DONE)
                return HF_OK;
            if (head.nlmsg_type == NLMSG_ERROR) {
                *error = error_of(message, &head);
                return HF_OK;
            }
            if (table != NULL)
                (void)bond_learn(table, message, head.nlmsg_len, &heard);
            if (is_single)
                return HF_OK;
        }
    }
    return hf_err_set(err, HF_EFULL, "netlink: an answer without end");
}

enum hf_code netlink_dump(struct netlink *n, struct bond_table *table, struct hf_err *err)
{
    struct request r;
    int error;

    bond_clear(table);
    ask_for_links(n, &r, NLM_F_DUMP, 0);
    if (send_request(n, &r, err) != HF_OK || take_answer(n, false, table, &error, err) != HF_OK)
        return hf_err_wrap(err, "read links");
    if (error != 0)
        return hf_err_set(err, HF_EIO, "read links: %s", strerror(error));
    return HF_OK;
}

enum hf_code netlink_read(struct netlink *n, uint32_t index, struct bond_table *table,
                          struct hf_err *err)
{
    struct request r;
    int error;

    ask_for_links(n, &r, 0, index);
    if (send_request(n, &r, err) != HF_OK || take_answer(n, true, table, &error, err) != HF_OK)
        return hf_err_wrap(err, "read link %u", index);
    if (error != 0)
        return hf_err_set(err, error == ENODEV ? HF_ENOENT : HF_EIO, "read link %u: %s", index,
                          strerror(error));
    return HF_OK;
}

int netlink_set_active(struct netlink *n, uint32_t bond, uint32_t slave)
{
    struct request r;
    struct hf_err err;
    size_t info, data;
    int error;

    /* RTM_SETLINK would be the word for it, but it does not look at IFLA_LINKINFO; NEWLINK of a
     * link that exists changes it (rtnl_newlink, net/core/rtnetlink.c). */
    begin(n, &r, RTM_NEWLINK, NLM_F_ACK, bond);
    info = begin_nest(&r, IFLA_LINKINFO);
    append_attr(&r, IFLA_INFO_KIND, "bond", strlen("bond"));
    data = begin_nest(&r, IFLA_INFO_DATA);
    append_attr(&r, IFLA_BOND_ACTIVE_SLAVE, &slave, sizeof slave);
    end_nest(&r, data);
    end_nest(&r, info);
    if (send_request(n, &r, &err) != HF_OK || take_answer(n, false, NULL, &error, &err) != HF_OK)
        return err.code == HF_EAGAIN ? ETIMEDOUT : EIO;
    return error;
}

enum hf_code netlink_hear(struct netlink *n, struct bond_table *table,
                          void (*heard)(void *user, const struct bond_heard *heard), void *user,
                          struct hf_err *err)
{
    size_t len, at = 0;
    struct nlmsghdr head;
    struct bond_heard one;
    const uint8_t *message;

    if (receive(n, n->listen_fd, MSG_DONTWAIT, &len, err) != HF_OK)
        return err->code;
    while ((message = next_message(n->bytes, len, &at, &head)) != NULL)
        if (bond_learn(table, message, head.nlmsg_len, &one))
            heard(user, &one);
    return HF_OK;
}
