#include "supervisord/door/door.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "supervisord/base/assert.h"

enum {
    GROUP_BYTES_MAX = 1 << 20, /* one group entry with all its members, in text */
    PEER_GROUPS_MAX = 65536,   /* the kernel's NGROUPS_MAX */
    /* Room for more descriptors than we allow, so that too many are seen and closed instead of
     * being cut off by the kernel in silence. */
    RIDES_MAX = 8,
};

/* ---- names ---- */

static enum hf_code address_of(const char *path, struct sockaddr_un *address, struct hf_err *err)
{
    size_t len = strlen(path);

    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (len == 0 || len >= sizeof address->sun_path)
        return hf_err_set(err, HF_EINVAL, "socket path \"%s\" has %zu characters, at most %zu fit",
                          path, len, sizeof address->sun_path - 1);
    memcpy(address->sun_path, path, len + 1);
    return HF_OK;
}

enum hf_code door_group_id(const char *name, gid_t *gid, struct hf_err *err)
{
    size_t cap = 4096;
    struct group entry, *found = NULL;
    char *bytes = NULL;
    int rc = ERANGE;

    for (; rc == ERANGE && cap <= GROUP_BYTES_MAX; cap *= 4) {
        free(bytes);
        bytes = malloc(cap);
        if (bytes == NULL)
            return hf_err_set(err, HF_EIO, "look up group %s: out of memory", name);
        rc = getgrnam_r(name, &entry, bytes, cap, &found);
    }
    if (found != NULL)
        *gid = found->gr_gid;
    free(bytes);
    if (rc != 0)
        return hf_err_set(err, HF_EIO, "look up group %s: %s", name, strerror(rc));
    if (found == NULL)
        return hf_err_set(err, HF_ENOENT, "there is no group %s", name);
    return HF_OK;
}

/* ---- listen ---- */

static enum hf_code remove_old(const char *path, struct hf_err *err)
{
    struct stat st;

    if (lstat(path, &st) != 0) {
        if (errno == ENOENT)
            return HF_OK;
        return hf_err_set(err, HF_EIO, "look at %s: %s", path, strerror(errno));
    }
    if (!S_ISSOCK(st.st_mode))
        return hf_err_set(err, HF_EINVAL, "%s exists and is not a socket", path);
    if (unlink(path) != 0 && errno != ENOENT)
        return hf_err_set(err, HF_EIO, "remove old socket %s: %s", path, strerror(errno));
    return HF_OK;
}

/* The mode of an unbound socket is the mode of its file (unix(7) on Linux), so nobody can connect
 * between bind and chmod; and before listen() nobody can connect at all. */
static enum hf_code bind_private(int fd, const char *path, const char *group, struct hf_err *err)
{
    struct sockaddr_un address;
    gid_t gid = (gid_t)-1;

    if (address_of(path, &address, err) != HF_OK)
        return err->code;
    if (group != NULL && door_group_id(group, &gid, err) != HF_OK)
        return err->code;
    if (remove_old(path, err) != HF_OK)
        return err->code;
    if (fchmod(fd, 0600) != 0)
        return hf_err_set(err, HF_EIO, "mode of the socket for %s: %s", path, strerror(errno));
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0)
        return hf_err_set(err, HF_EIO, "bind %s: %s", path, strerror(errno));
    if (group != NULL && lchown(path, (uid_t)-1, gid) != 0)
        return hf_err_set(err, HF_EIO, "give %s to group %s: %s", path, group, strerror(errno));
    if (chmod(path, 0660) != 0)
        return hf_err_set(err, HF_EIO, "mode of %s: %s", path, strerror(errno));
    if (listen(fd, DOOR_BACKLOG) != 0)
        return hf_err_set(err, HF_EIO, "listen on %s: %s", path, strerror(errno));
    return HF_OK;
}

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

enum hf_code door_listen(const char *path, const char *group, int *fd, struct hf_err *err)
{
    int opened = new_socket();

    if (opened < 0)
        return hf_err_set(err, HF_EIO, "make a socket for %s: %s", path, strerror(errno));
    if (bind_private(opened, path, group, err) != HF_OK) {
        close(opened);
        return err->code;
    }
    *fd = opened;
    return HF_OK;
}

/* ---- accept ---- */

/* The peer's supplementary groups as they were when it connected: asked of the kernel, which cannot
 * be lied to, not of the user database. Asking with no room tells the room needed. Sets the bits of
 * those groups that it is in. */
static enum hf_code peer_groups(int fd, const struct door_groups *groups, uint8_t *member,
                                struct hf_err *err)
{
    socklen_t bytes = 0;
    gid_t *has;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &bytes) == 0)
        return HF_OK;
    if (errno != ERANGE || bytes > PEER_GROUPS_MAX * sizeof(gid_t))
        return hf_err_set(err, HF_EIO, "read a peer's groups: %s", strerror(errno));
    has = malloc(bytes);
    if (has == NULL)
        return hf_err_set(err, HF_EIO, "read a peer's groups: out of memory");
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, has, &bytes) != 0) {
        hf_err_set(err, HF_EIO, "read a peer's groups: %s", strerror(errno));
        free(has);
        return err->code;
    }
    for (size_t i = 0; i < bytes / sizeof(gid_t); i++)
        for (unsigned k = 0; k < groups->count; k++)
            if (groups->gid[k] != DOOR_NO_GROUP && has[i] == groups->gid[k])
                *member |= (uint8_t)(1u << k);
    free(has);
    return HF_OK;
}

/* Who is there, and may they come in? Root and our own user always. */
static enum hf_code admit(int fd, const struct door_groups *groups, struct door_peer *peer,
                          struct hf_err *err)
{
    struct ucred cred;
    socklen_t len = sizeof cred;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0)
        return hf_err_set(err, HF_EIO, "read a peer's credentials: %s", strerror(errno));
    *peer = (struct door_peer){.pid = cred.pid, .uid = cred.uid, .gid = cred.gid};
    if (cred.uid == 0 || cred.uid == geteuid()) {
        peer->member = UINT8_MAX;
    } else if (groups->count > 0) {
        for (unsigned k = 0; k < groups->count; k++)
            if (groups->gid[k] != DOOR_NO_GROUP && cred.gid == groups->gid[k])
                peer->member |= (uint8_t)(1u << k);
        if (peer_groups(fd, groups, &peer->member, err) != HF_OK)
            return err->code;
    }
    peer->in_group = peer->member != 0;
    if (!peer->in_group)
        return hf_err_set(err, HF_EACCESS, "pid %d uid %u is in no group that may come in",
                          (int)cred.pid, (unsigned)cred.uid);
    return HF_OK;
}

enum hf_code door_accept_of(int listen_fd, const struct door_groups *groups, int *fd,
                            struct door_peer *peer, struct hf_err *err)
{
    int opened = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    HF_ASSERT(groups->count <= DOOR_GROUPS_MAX);
    if (opened < 0) {
        if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
            return hf_err_set(err, HF_EAGAIN, "nobody is waiting");
        return hf_err_set(err, errno == EMFILE || errno == ENFILE ? HF_EFULL : HF_EIO, "accept: %s",
                          strerror(errno));
    }
    if (admit(opened, groups, peer, err) != HF_OK) {
        close(opened);
        return err->code;
    }
    *fd = opened;
    return HF_OK;
}

enum hf_code door_accept(int listen_fd, const char *group, int *fd, struct door_peer *peer,
                         struct hf_err *err)
{
    struct door_groups groups = {.count = 0};

    if (group != NULL) {
        if (door_group_id(group, &groups.gid[0], err) != HF_OK)
            return err->code;
        groups.count = 1;
    }
    return door_accept_of(listen_fd, &groups, fd, peer, err);
}

/* ---- connect ---- */

/* Whoever owns the folder decides who may bind in it, if nobody else may write there. */
static bool owns_folder(const char *path, uid_t uid)
{
    char folder[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
    const char *slash = strrchr(path, '/');
    struct stat st;

    if (slash == NULL || slash == path)
        return false;
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    return lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == uid &&
           (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static enum hf_code check_server(int fd, const char *path, struct hf_err *err)
{
    struct ucred cred;
    socklen_t len = sizeof cred;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0)
        return hf_err_set(err, HF_EIO, "who serves %s: %s", path, strerror(errno));
    if (cred.uid != 0 && cred.uid != geteuid() && !owns_folder(path, cred.uid))
        return hf_err_set(err, HF_EACCESS,
                          "%s is served by uid %u: neither root, nor us, nor its folder's owner",
                          path, (unsigned)cred.uid);
    return HF_OK;
}

static enum hf_code connect_code(int number)
{
    switch (number) {
    case EAGAIN: /* more are waiting than the server lets wait */
        return HF_EAGAIN;
    case ENOENT:
    case ECONNREFUSED:
        return HF_ECLOSED;
    case EACCES:
    case EPERM:
        return HF_EACCESS;
    default:
        return HF_EIO;
    }
}

enum hf_code door_connect(const char *path, int *fd, struct hf_err *err)
{
    struct sockaddr_un address;
    int opened;

    if (address_of(path, &address, err) != HF_OK)
        return err->code;
    opened = new_socket();
    if (opened < 0)
        return hf_err_set(err, HF_EIO, "make a socket for %s: %s", path, strerror(errno));
    if (connect(opened, (const struct sockaddr *)&address, sizeof address) != 0) {
        hf_err_set(err, connect_code(errno), "connect %s: %s", path, strerror(errno));
        close(opened);
        return err->code;
    }
    if (check_server(opened, path, err) != HF_OK) {
        close(opened);
        return err->code;
    }
    *fd = opened;
    return HF_OK;
}

/* ---- records ---- */

/* Bytes of control data, aligned as the kernel wants them. */
union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(RIDES_MAX * sizeof(int))];
};

enum hf_code door_send(int fd, const void *bytes, size_t len, int ride, struct hf_err *err)
{
    struct iovec piece = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = len};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
    union control control;

    if (len == 0 || len > HF_FRAME_MAX)
        return hf_err_set(err, HF_EINVAL, "a record has 1 to %d bytes, not %zu", (int)HF_FRAME_MAX,
                          len);
    if (ride >= 0) {
        struct cmsghdr *head;

        memset(&control, 0, sizeof control);
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof ride);
        head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof ride);
        memcpy(CMSG_DATA(head), &ride, sizeof ride);
    }
    if (sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
        return HF_OK;
    if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ETOOMANYREFS)
        return hf_err_set(err, HF_EAGAIN, "the peer is slow");
    if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN)
        return hf_err_set(err, HF_ECLOSED, "the peer is gone");
    return hf_err_set(err, HF_EIO, "send: %s", strerror(errno));
}

/* Every descriptor that came becomes ours: one is kept in *kept (-1 = none), the rest closed.
 * Returns how many came. */
static unsigned take_rides(struct msghdr *message, int *kept)
{
    unsigned count = 0;

    *kept = -1;
    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head != NULL;
         head = CMSG_NXTHDR(message, head)) {
        size_t in_head;

        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
            continue;
        in_head = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < in_head; i++) {
            int one;

            memcpy(&one, CMSG_DATA(head) + i * sizeof one, sizeof one);
            if (count++ == 0)
                *kept = one;
            else
                close(one);
        }
    }
    return count;
}

/* What arrived, judged; the descriptor is still the caller's to close on failure. */
static enum hf_code judge_record(ssize_t got, int flags, size_t cap, unsigned rides,
                                 struct hf_err *err)
{
    if (got == 0)
        return hf_err_set(err, HF_ECLOSED, "the peer is gone");
    if ((flags & MSG_TRUNC) != 0)
        return hf_err_set(err, HF_EBAD, "a record is longer than %zu bytes", cap);
    if ((flags & MSG_CTRUNC) != 0 || rides > 1)
        return hf_err_set(err, HF_EBAD, "more descriptors ride on a record than we can take");
    return HF_OK;
}

enum hf_code door_receive(int fd, void *bytes, size_t cap, size_t *len, int *ride,
                          struct hf_err *err)
{
    struct iovec piece = {.iov_base = bytes, .iov_len = cap};
    union control control;
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t got;
    unsigned rides;
    int kept;

    *len = 0;
    if (ride != NULL)
        *ride = -1;
    got = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) {
        if (errno == EAGAIN || errno == EINTR)
            return hf_err_set(err, HF_EAGAIN, "nothing to receive");
        if (errno == ECONNRESET || errno == EPIPE || errno == ENOTCONN)
            return hf_err_set(err, HF_ECLOSED, "the peer is gone");
        return hf_err_set(err, HF_EIO, "receive: %s", strerror(errno));
    }
    rides = take_rides(&message, &kept);
    if (judge_record(got, message.msg_flags, cap, rides, err) != HF_OK) {
        if (kept >= 0)
            close(kept);
        return err->code;
    }
    *len = (size_t)got;
    if (ride != NULL)
        *ride = kept;
    else if (kept >= 0)
        close(kept);
    return HF_OK;
}
