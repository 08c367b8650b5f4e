#include "supervisord/door/door.h"

#include "tests/unit/check.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];
static char path[128];

static void setup(void)
{
    strcpy(folder, "/tmp/hf-door-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert(chmod(folder, 0755) == 0);
    snprintf(path, sizeof path, "%s/door.sock", folder);
}

static void teardown(void)
{
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

static int open_fds(void)
{
    int count = 0;

    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* A connected pair over a real door: [0] the client, [1] the server's side. */
static void pair_over_door(int pair[2])
{
    struct hf_err err;
    struct door_peer peer;
    int listening;

    ck_assert_msg(door_listen(path, NULL, &listening, &err) == HF_OK, "%s", err.text);
    ck_assert_msg(door_connect(path, &pair[0], &err) == HF_OK, "%s", err.text);
    ck_assert_msg(door_accept(listening, NULL, &pair[1], &peer, &err) == HF_OK, "%s", err.text);
    ck_assert_int_eq(peer.pid, getpid());
    ck_assert_uint_eq(peer.uid, geteuid());
    ck_assert(peer.in_group);
    close(listening);
}

START_TEST(a_door_has_its_mode_and_replaces_only_old_sockets)
{
    struct hf_err err;
    struct stat st;
    int fd, other;

    umask(0);
    ck_assert_int_eq(door_listen(path, NULL, &fd, &err), HF_OK);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0660);
    ck_assert_int_eq(door_listen(path, NULL, &other, &err), HF_OK);
    close(fd);
    close(other);
    ck_assert_int_eq(unlink(path), 0);
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(door_listen(path, NULL, &fd, &err), HF_EINVAL);
    ck_assert_int_eq(access(path, F_OK), 0);
}
END_TEST

START_TEST(a_path_that_does_not_fit_and_a_group_that_does_not_exist_are_refused)
{
    struct hf_err err;
    char longer[200];
    int fd, before = open_fds();

    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    ck_assert_int_eq(door_listen(longer, NULL, &fd, &err), HF_EINVAL);
    ck_assert_int_eq(door_connect(longer, &fd, &err), HF_EINVAL);
    ck_assert_int_eq(door_listen("", NULL, &fd, &err), HF_EINVAL);
    ck_assert_int_eq(door_listen(path, "no-such-group-here", &fd, &err), HF_ENOENT);
    ck_assert_int_eq(open_fds(), before);
}
END_TEST

START_TEST(nobody_there_is_told_apart_from_an_error)
{
    struct hf_err err;
    struct door_peer peer;
    int listening, fd;

    ck_assert_int_eq(door_connect(path, &fd, &err), HF_ECLOSED);
    ck_assert_int_eq(door_listen(path, NULL, &listening, &err), HF_OK);
    ck_assert_int_eq(door_accept(listening, NULL, &fd, &peer, &err), HF_EAGAIN);
    close(listening);
    ck_assert_int_eq(door_connect(path, &fd, &err), HF_ECLOSED);
}
END_TEST

/* Runs as root only: a child takes another user's identity, with and without the group. */
static enum hf_code accept_as(uid_t uid, gid_t gid, const gid_t *groups, size_t groups_count,
                              const char *group, struct door_peer *peer)
{
    struct hf_err err;
    int listening, fd, status;
    enum hf_code code;
    pid_t child;

    ck_assert_msg(door_listen(path, group, &listening, &err) == HF_OK, "%s", err.text);
    ck_assert_int_eq(chmod(path, 0666), 0); /* the door itself must refuse, not the file mode */
    child = fork();
    if (child == 0) {
        if (setgroups(groups_count, groups) != 0 || setresgid(gid, gid, gid) != 0 ||
            setresuid(uid, uid, uid) != 0)
            _exit(2);
        _exit(door_connect(path, &fd, &err) == HF_OK ? 0 : 3);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    code = door_accept(listening, group, &fd, peer, &err);
    if (code == HF_OK)
        close(fd);
    close(listening);
    return code;
}

START_TEST(members_come_in_by_primary_or_supplementary_group_and_others_do_not)
{
    const struct group *daemon_group = getgrnam("daemon");
    struct door_peer peer;
    gid_t many[300];

    if (geteuid() != 0 || daemon_group == NULL) {
        fprintf(stderr, "SKIPPED: identities need root and a group daemon\n");
        return;
    }
    for (size_t i = 0; i < 300; i++)
        many[i] = (gid_t)(5000 + i);
    ck_assert_int_eq(accept_as(4000, 4000, NULL, 0, "daemon", &peer), HF_EACCESS);
    ck_assert_int_eq(accept_as(4000, 4000, many, 300, "daemon", &peer), HF_EACCESS);
    ck_assert_int_eq(accept_as(4000, 4000, NULL, 0, NULL, &peer), HF_EACCESS);
    ck_assert_int_eq(accept_as(4000, daemon_group->gr_gid, NULL, 0, "daemon", &peer), HF_OK);
    many[299] = daemon_group->gr_gid;
    ck_assert_int_eq(accept_as(4000, 4000, many, 300, "daemon", &peer), HF_OK);
    ck_assert(peer.in_group);
    ck_assert_uint_eq(peer.uid, 4000);
    ck_assert_uint_eq(peer.gid, 4000);
    ck_assert_int_eq(accept_as(0, 0, NULL, 0, "daemon", &peer), HF_OK);
}
END_TEST

START_TEST(a_door_of_several_groups_tells_which_of_them_a_peer_is_in)
{
    struct door_groups groups = {.count = 3};
    gid_t has[2] = {0};
    struct door_peer peer;
    struct hf_err err;
    int listening, fd, status;
    pid_t child;

    if (geteuid() != 0 || door_group_id("daemon", &groups.gid[0], &err) != HF_OK) {
        fprintf(stderr, "SKIPPED: identities need root and a group daemon\n");
        return;
    }
    groups.gid[1] = DOOR_NO_GROUP;
    groups.gid[2] = 5002;
    has[0] = 5002;
    has[1] = 5003;
    ck_assert_int_eq(door_listen(path, NULL, &listening, &err), HF_OK);
    ck_assert_int_eq(chmod(path, 0666), 0);
    for (unsigned i = 0; i < 4; i++) { /* root; primary and supplementary; one; none */
        child = fork();
        if (child == 0) {
            gid_t gid = i == 1 ? groups.gid[0] : 4000;

            if (i > 0 && (setgroups(i < 3 ? 2 : 0, has) != 0 || setresgid(gid, gid, gid) != 0 ||
                          setresuid(4000, 4000, 4000) != 0))
                _exit(2);
            _exit(door_connect(path, &fd, &err) == HF_OK ? 0 : 3);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
        if (i == 3) {
            ck_assert_int_eq(door_accept_of(listening, &groups, &fd, &peer, &err), HF_EACCESS);
            continue;
        }
        ck_assert_int_eq(door_accept_of(listening, &groups, &fd, &peer, &err), HF_OK);
        ck_assert_uint_eq(peer.member, i == 0 ? UINT8_MAX : i == 1 ? 5 : 4);
        close(fd);
    }
    close(listening);
}
END_TEST

/* A stranger who could bind in the folder must not be taken for the daemon. */
START_TEST(a_server_is_believed_only_where_nobody_else_could_bind)
{
    struct hf_err err;
    int fd, status, go[2];
    pid_t child;

    if (geteuid() != 0) {
        fprintf(stderr, "SKIPPED: needs root\n");
        return;
    }
    ck_assert_int_eq(chmod(folder, 0777), 0);
    ck_assert_int_eq(pipe(go), 0);
    child = fork();
    if (child == 0) {
        char byte;

        close(go[1]);
        if (setresuid(4000, 4000, 4000) != 0 || door_listen(path, NULL, &fd, &err) != HF_OK)
            _exit(2);
        _exit(read(go[0], &byte, 1) == 0 ? 0 : 3);
    }
    close(go[0]);
    while (access(path, F_OK) != 0 || door_connect(path, &fd, &err) == HF_ECLOSED)
        ck_assert_int_eq(waitpid(child, &status, WNOHANG), 0);
    ck_assert_int_eq(door_connect(path, &fd, &err), HF_EACCESS);
    ck_assert_int_eq(chown(folder, 4000, (gid_t)-1), 0);
    ck_assert_int_eq(door_connect(path, &fd, &err), HF_EACCESS); /* others may write there */
    ck_assert_int_eq(chmod(folder, 0755), 0);
    ck_assert_int_eq(door_connect(path, &fd, &err), HF_OK);
    close(fd);
    close(go[1]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(records_keep_their_borders)
{
    struct hf_err err;
    char bytes[64];
    size_t len;
    int pair[2], ride;

    pair_over_door(pair);
    ck_assert_int_eq(door_receive(pair[1], bytes, sizeof bytes, &len, &ride, &err), HF_EAGAIN);
    ck_assert_int_eq(door_send(pair[0], "first", 5, -1, &err), HF_OK);
    ck_assert_int_eq(door_send(pair[0], "second", 6, -1, &err), HF_OK);
    ck_assert_int_eq(door_receive(pair[1], bytes, sizeof bytes, &len, &ride, &err), HF_OK);
    ck_assert_uint_eq(len, 5);
    ck_assert_int_eq(ride, -1);
    ck_assert_int_eq(door_receive(pair[1], bytes, sizeof bytes, &len, &ride, &err), HF_OK);
    ck_assert_uint_eq(len, 6);
    ck_assert(memcmp(bytes, "second", 6) == 0);
    close(pair[0]);
    ck_assert_int_eq(door_receive(pair[1], bytes, sizeof bytes, &len, &ride, &err), HF_ECLOSED);
    ck_assert_int_eq(door_send(pair[1], "x", 1, -1, &err), HF_ECLOSED);
    close(pair[1]);
}
END_TEST

START_TEST(an_empty_or_oversize_record_is_not_sent_and_not_taken)
{
    static char big[HF_FRAME_MAX + 1];
    struct hf_err err;
    size_t len;
    int pair[2], ride;

    pair_over_door(pair);
    ck_assert_int_eq(door_send(pair[0], big, 0, -1, &err), HF_EINVAL);
    ck_assert_int_eq(door_send(pair[0], big, sizeof big, -1, &err), HF_EINVAL);
    ck_assert_int_eq(door_send(pair[0], big, HF_FRAME_MAX, -1, &err), HF_OK);
    ck_assert_int_eq(door_receive(pair[1], big, HF_FRAME_MAX, &len, &ride, &err), HF_OK);
    ck_assert_uint_eq(len, HF_FRAME_MAX);
    ck_assert_int_eq(send(pair[0], big, 65, 0), 65);
    ck_assert_int_eq(door_receive(pair[1], big, 64, &len, &ride, &err), HF_EBAD);
    ck_assert_int_eq(door_receive(pair[1], big, 64, &len, &ride, &err), HF_EAGAIN);
    close(pair[0]);
    close(pair[1]);
}
END_TEST

START_TEST(one_descriptor_rides_and_an_unexpected_one_is_closed)
{
    struct hf_err err;
    char bytes[8];
    size_t len;
    int pair[2], ride, before, pipes[2];

    pair_over_door(pair);
    ck_assert_int_eq(pipe(pipes), 0);
    before = open_fds();
    ck_assert_int_eq(door_send(pair[0], "x", 1, pipes[1], &err), HF_OK);
    ck_assert_int_eq(door_receive(pair[1], bytes, sizeof bytes, &len, &ride, &err), HF_OK);
    ck_assert_int_ge(ride, 0);
    ck_assert((fcntl(ride, F_GETFD) & FD_CLOEXEC) != 0);
    ck_assert_int_eq(write(ride, "y", 1), 1);
    ck_assert_int_eq(read(pipes[0], bytes, 1), 1);
    close(ride);
    ck_assert_int_eq(door_send(pair[0], "x", 1, pipes[1], &err), HF_OK);
    ck_assert_int_eq(door_receive(pair[1], bytes, sizeof bytes, &len, NULL, &err), HF_OK);
    ck_assert_int_eq(open_fds(), before);
    close(pair[0]);
    close(pair[1]);
    close(pipes[0]);
    close(pipes[1]);
}
END_TEST

static void send_with_many(int fd, const int *fds, size_t count, const char *bytes, size_t len)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(64 * sizeof(int))];
    } control = {0};
    struct iovec piece = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = len};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(head), fds, count * sizeof(int));
    ck_assert_int_eq(sendmsg(fd, &message, 0), (ssize_t)len);
}

START_TEST(many_descriptors_are_refused_and_none_stays_open)
{
    struct hf_err err;
    char bytes[8];
    size_t len;
    int pair[2], ride, before, fds[64];

    pair_over_door(pair);
    for (size_t i = 0; i < 64; i++)
        fds[i] = 0;
    before = open_fds();
    send_with_many(pair[0], fds, 2, "x", 1);
    ck_assert_int_eq(door_receive(pair[1], bytes, sizeof bytes, &len, &ride, &err), HF_EBAD);
    ck_assert_int_eq(ride, -1);
    send_with_many(pair[0], fds, 64, "x", 1);
    ck_assert_int_eq(door_receive(pair[1], bytes, sizeof bytes, &len, &ride, &err), HF_EBAD);
    send_with_many(pair[0], fds, 1, "longer than the room", 20);
    ck_assert_int_eq(door_receive(pair[1], bytes, sizeof bytes, &len, &ride, &err), HF_EBAD);
    ck_assert_int_eq(ride, -1);
    ck_assert_int_eq(open_fds(), before);
    close(pair[0]);
    close(pair[1]);
}
END_TEST

START_TEST(a_slow_peer_is_told_apart_and_never_waited_for)
{
    static char bytes[4096];
    struct hf_err err;
    enum hf_code code = HF_OK;
    int pair[2], sent = 0;

    pair_over_door(pair);
    while (code == HF_OK && sent < 10000) {
        code = door_send(pair[0], bytes, sizeof bytes, -1, &err);
        sent++;
    }
    ck_assert_int_eq(code, HF_EAGAIN);
    ck_assert_int_gt(sent, 1);
    close(pair[0]);
    close(pair[1]);
}
END_TEST

HF_TEST_MAIN_WITH("door/door", setup, teardown,
                  HF_CASE(a_door_has_its_mode_and_replaces_only_old_sockets),
                  HF_CASE(a_path_that_does_not_fit_and_a_group_that_does_not_exist_are_refused),
                  HF_CASE(nobody_there_is_told_apart_from_an_error),
                  HF_CASE(members_come_in_by_primary_or_supplementary_group_and_others_do_not),
                  HF_CASE(a_door_of_several_groups_tells_which_of_them_a_peer_is_in),
                  HF_CASE(a_server_is_believed_only_where_nobody_else_could_bind),
                  HF_CASE(records_keep_their_borders),
                  HF_CASE(an_empty_or_oversize_record_is_not_sent_and_not_taken),
                  HF_CASE(one_descriptor_rides_and_an_unexpected_one_is_closed),
                  HF_CASE(many_descriptors_are_refused_and_none_stays_open),
                  HF_CASE(a_slow_peer_is_told_apart_and_never_waited_for))
