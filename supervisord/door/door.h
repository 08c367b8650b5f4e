/* door.h - every door of a process: a filesystem AF_UNIX SOCK_SEQPACKET socket.
 * Peer credentials with supplementary groups, exact record length, HF_FRAME_MAX cap, slow readers
 * dropped, at most DOOR_CLIENTS_MAX of them. Never blocks. One file descriptor may ride on a
 * record; an unexpected one is closed. No event loop inside: the owner polls the fds. */
#ifndef SUPERVISORD_DOOR_DOOR_H
#define SUPERVISORD_DOOR_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisord/base/err.h"
#include "supervisord/model/limits.h"

enum {
    DOOR_CLIENTS_MAX = 32,
    DOOR_GROUPS_MAX = 4,
    DOOR_BACKLOG = 128, /* a burst of connections waits this long a queue; the kernel bounds it */
};

struct door_peer {
    pid_t pid;
    uid_t uid;
    gid_t gid;
    bool in_group;  /* root, or primary or supplementary member of the door's group */
    uint8_t member; /* bit i: of the i-th group of door_accept_of(); all bits: root or our user */
};

/* Groups by number: names are looked up once, at start, because the user database may be a server
 * that does not answer. */
#define DOOR_NO_GROUP ((gid_t)-1)
struct door_groups {
    gid_t gid[DOOR_GROUPS_MAX]; /* DOOR_NO_GROUP: there is none of that name, nobody is a member */
    unsigned count;
};
/* Asks the user database, which may take its time: never from within a loop. */
enum hf_code door_group_id(const char *name, gid_t *gid, struct hf_err *err);

/* Bind and listen at path (an old socket there is removed, anything else is refused), mode 0660,
 * group `group` (NULL: leave as is). The directory must exist. */
enum hf_code door_listen(const char *path, const char *group, int *fd, struct hf_err *err);
/* Accept one client, non-blocking, close-on-exec. group NULL: root and our own user come in.
 * HF_EAGAIN: nobody there. HF_EACCESS: refused and closed (not in the group). HF_EFULL: no
 * descriptor left; the listening fd stays readable, so do not poll it for a while. */
enum hf_code door_accept(int listen_fd, const char *group, int *fd, struct door_peer *peer,
                         struct hf_err *err);
/* The same for a door of several groups: members of any come in, and `member` tells of which. Asks
 * the kernel only, so it never waits. */
enum hf_code door_accept_of(int listen_fd, const struct door_groups *groups, int *fd,
                            struct door_peer *peer, struct hf_err *err);
/* Connect to a door, non-blocking socket; the server's uid must be 0, ours, or that of the owner of
 * the socket's folder if nobody else may write there (the daemon is not root, its clients may be).
 * HF_ECLOSED: nobody serves it. */
enum hf_code door_connect(const char *path, int *fd, struct hf_err *err);

/* Send one record of 1 to HF_FRAME_MAX bytes (an empty one would read as the end), and `ride`
 * (a descriptor, or -1) with it. HF_EAGAIN: the peer is slow. HF_ECLOSED: it is gone. */
enum hf_code door_send(int fd, const void *bytes, size_t len, int ride, struct hf_err *err);
/* Receive one record of at most cap bytes; *ride = -1 or an owned descriptor. `ride` NULL: none is
 * expected, and one that comes is closed. HF_EAGAIN: none; HF_ECLOSED: peer gone; HF_EBAD: longer
 * than cap, or several descriptors (the record is lost, the peer should be dropped). */
enum hf_code door_receive(int fd, void *bytes, size_t cap, size_t *len, int *ride,
                          struct hf_err *err);

/* A sealed memory file holding len bytes (seals: write, shrink, grow, seal), for contents larger
 * than a record. The caller closes it. */
enum hf_code door_memory(const char *name, const void *bytes, size_t len, int *fd,
                         struct hf_err *err);
/* Read one back: refused unless sealed as above and 1..max bytes. *bytes is malloc'ed, owned by the
 * caller. */
enum hf_code door_memory_read(int fd, size_t max, void **bytes, size_t *len, struct hf_err *err);

#endif
