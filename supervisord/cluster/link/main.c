/* main.c - holdfast-link: the only client of corosync. `--facts`: print what can be known of it and
 * end. Otherwise argv[1]: the socket to holdfastd, argv[2]:
 * the group's name. It carries bytes and memberships and understands neither. It may hang in a
 * corosync call: holdfastd then kills it. It ends with the socket, and when corosync is gone. */
#include "supervisord/base/clock.h"
#include "supervisord/base/str.h"
#include "supervisord/cluster/link/facts.h"
#include "supervisord/cluster/link_frame.h"
#include "supervisord/door/door.h"

#include <corosync/corotypes.h>
#include <corosync/cpg.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    RETRY_MS = 10,   /* after "try again": a sync takes tens of ms */
    DOWN_MAX = 128,  /* multicasts waiting for corosync; more stay in the socket */
    UP_PAUSE = 2048, /* frames holdfastd has not read: then corosync keeps the rest */
    READS_MAX = 64,
};

struct up { /* one frame on its way to holdfastd */
    struct up *next;
    size_t len;
    uint8_t bytes[];
};

struct state {
    int fd, facts_fd, cpg_fd;
    cpg_handle_t cpg;
    struct cpg_name group;
    uint32_t nodeid;
    bool is_joined, has_peers, has_ring, peers_changed, ring_changed;
    struct link_frame members; /* as last heard, told when something follows */
    struct link_facts facts;
    hf_time facts_at;
    struct up *up_first, *up_last;
    size_t up_count;
    size_t down_first, down_count;
    size_t down_len[DOWN_MAX];
    struct link_frame frame;        /* the one being read or told */
    uint8_t record[LINK_FRAME_MAX]; /* its bytes; both too large for a callback deep in libcpg */
    uint8_t down[DOWN_MAX][HF_GROUP_MESSAGE_MAX];
};

/* ---- up ---- */

static void flush_up(struct state *s)
{
    struct hf_err err;

    while (s->up_first != NULL) {
        struct up *up = s->up_first;
        enum hf_code code = door_send(s->fd, up->bytes, up->len, -1, &err);

        if (code == HF_EAGAIN)
            return;
        if (code != HF_OK)
            _exit(0); /* nobody to work for; peers must see us leave at once */
        s->up_first = up->next;
        if (s->up_first == NULL)
            s->up_last = NULL;
        s->up_count--;
        free(up);
    }
}

static void tell(struct state *s, const struct link_frame *f)
{
    struct hf_writer w = hf_writer_on(s->record, sizeof s->record);
    struct up *up;

    link_frame_put(&w, f);
    if (w.bad || (up = malloc(sizeof *up + w.len)) == NULL)
        _exit(1); /* a lost delivery would be a lie; a restart is not */
    up->next = NULL;
    up->len = w.len;
    memcpy(up->bytes, s->record, w.len);
    if (s->up_last != NULL)
        s->up_last->next = up;
    else
        s->up_first = up;
    s->up_last = up;
    s->up_count++;
}

/* holdfastd reads it, or learns by the end of the socket that we are gone. */
static _Noreturn void lost(struct state *s, const char *doing, cs_error_t code)
{
    s->frame.type = LINK_LOST;
    snprintf(s->frame.why, sizeof s->frame.why, "corosync: %s: %s", doing, cs_strerror(code));
    tell(s, &s->frame);
    flush_up(s);
    _exit(0);
}

static void tell_members(struct state *s)
{
    s->peers_changed = s->ring_changed = false;
    if (s->has_peers && s->has_ring)
        tell(s, &s->members);
}

static void tell_facts(struct state *s)
{
    s->frame.type = LINK_FACTS;
    s->frame.facts = s->facts;
    s->frame.facts.nodeid = s->nodeid;
    tell(s, &s->frame);
}

/* ---- what corosync says ---- */

static struct state *state_of(cpg_handle_t handle)
{
    void *context = NULL;

    if (cpg_context_get(handle, &context) != CS_OK || context == NULL)
        _exit(1);
    return context;
}

/* A group change and the ring change that explains it come as two calls, in either order at the
 * first join: told as one, unless a message or a second change comes between. */
static void on_deliver(cpg_handle_t handle, const struct cpg_name *group, uint32_t nodeid,
                       uint32_t pid, void *bytes, size_t len)
{
    struct state *s = state_of(handle);
    struct link_frame *f = &s->frame;

    (void)group;
    if (s->peers_changed || s->ring_changed)
        tell_members(s);
    if (len == 0 || len > HF_GROUP_MESSAGE_MAX)
        return; /* not from one of ours */
    f->type = LINK_DELIVER;
    f->nodeid = nodeid;
    f->pid = pid;
    f->bytes = bytes;
    f->len = len;
    tell(s, f);
}

static void on_group(cpg_handle_t handle, const struct cpg_name *group,
                     const struct cpg_address *members, size_t members_count,
                     const struct cpg_address *left, size_t left_count,
                     const struct cpg_address *joined, size_t joined_count)
{
    struct state *s = state_of(handle);

    (void)group, (void)left, (void)left_count, (void)joined, (void)joined_count;
    if (s->peers_changed)
        tell_members(s);
    s->members.peers_count = 0;
    for (size_t i = 0; i < members_count && i < LINK_PEERS_MAX; i++) {
        struct replica_peer *peer = &s->members.peers[s->members.peers_count++];

        peer->nodeid = members[i].nodeid;
        peer->pid = members[i].pid;
    }
    s->has_peers = s->peers_changed = true;
}

static void on_ring(cpg_handle_t handle, struct cpg_ring_id ring, uint32_t members_count,
                    const uint32_t *members)
{
    struct state *s = state_of(handle);

    if (s->ring_changed)
        tell_members(s);
    s->members.view = (struct hf_view){ring.nodeid, ring.seq};
    s->members.ring_count = 0;
    for (uint32_t i = 0; i < members_count && i < LINK_RING_MAX; i++)
        s->members.ring[s->members.ring_count++] = members[i];
    s->has_ring = s->ring_changed = true;
}

static void dispatch(struct state *s)
{
    cs_error_t code = cpg_dispatch(s->cpg, CS_DISPATCH_ALL);

    if (s->peers_changed || s->ring_changed)
        tell_members(s);
    if (code != CS_OK && code != CS_ERR_TRY_AGAIN)
        lost(s, "dispatch", code);
}

/* ---- down ---- */

static void read_down(struct state *s)
{
    struct link_frame *f = &s->frame;
    struct hf_err err;
    size_t len;

    for (unsigned i = 0; i < READS_MAX && s->down_count < DOWN_MAX; i++) {
        enum hf_code code = door_receive(s->fd, s->record, sizeof s->record, &len, NULL, &err);
        size_t at = (s->down_first + s->down_count) % DOWN_MAX;

        if (code == HF_EAGAIN)
            return;
        if (code != HF_OK || link_frame_get(s->record, len, f, &err) != HF_OK ||
            f->type != LINK_MCAST)
            _exit(0);
        memcpy(s->down[at], f->bytes, f->len);
        s->down_len[at] = f->len;
        s->down_count++;
    }
}

static void multicast(struct state *s)
{
    while (s->is_joined && s->down_count > 0) {
        struct iovec one = {s->down[s->down_first], s->down_len[s->down_first]};
        cs_error_t code = cpg_mcast_joined(s->cpg, CPG_TYPE_AGREED, &one, 1);

        if (code == CS_ERR_TRY_AGAIN || code == CS_ERR_INTERRUPT)
            return;
        if (code != CS_OK && code != CS_ERR_TOO_BIG && code != CS_ERR_INVALID_PARAM)
            lost(s, "multicast", code);
        s->down_first = (s->down_first + 1) % DOWN_MAX;
        s->down_count--;
    }
}

/* ---- start ---- */

static void connect_cpg(struct state *s)
{
    cpg_model_v1_data_t calls = {.model = CPG_MODEL_V1,
                                 .cpg_deliver_fn = on_deliver,
                                 .cpg_confchg_fn = on_group,
                                 .cpg_totem_confchg_fn = on_ring,
                                 .flags = CPG_MODEL_V1_DELIVER_INITIAL_TOTEM_CONF};
    cs_error_t code =
        cpg_model_initialize(&s->cpg, CPG_MODEL_V1, (cpg_model_data_t *)(void *)&calls, s);
    unsigned nodeid = 0;

    if (code != CS_OK)
        lost(s, "connect", code);
    code = cpg_local_get(s->cpg, &nodeid);
    if (code != CS_OK)
        lost(s, "own node id", code);
    s->nodeid = nodeid;
    code = cpg_fd_get(s->cpg, &s->cpg_fd);
    if (code != CS_OK)
        lost(s, "descriptor", code);
    tell_facts(s); /* the node id, before anything is delivered */
}

static void join(struct state *s)
{
    cs_error_t code = cpg_join(s->cpg, &s->group);

    if (code == CS_ERR_TRY_AGAIN)
        return;
    if (code != CS_OK && code != CS_ERR_EXIST)
        lost(s, "join", code);
    s->is_joined = true;
}

static void read_facts(struct state *s)
{
    struct link_facts facts;

    while (read(s->facts_fd, &facts, sizeof facts) == (ssize_t)sizeof facts) {
        s->facts = facts;
        s->facts_at = hf_clock_now();
        tell_facts(s);
    }
}

/* Facts that do not come any more are not known any more. */
static void expire_facts(struct state *s)
{
    if (s->facts_at.ns == 0 || hf_time_since_ms(hf_clock_now(), s->facts_at) < FACTS_STALE_MS)
        return;
    memset(&s->facts, 0, sizeof s->facts);
    s->facts_at = (hf_time){0};
    tell_facts(s);
}

static _Noreturn void run(struct state *s)
{
    for (;;) {
        bool wants_retry = !s->is_joined || s->down_count > 0;
        struct pollfd fds[3] = {
            {.fd = s->fd,
             .events = (short)((s->down_count < DOWN_MAX ? POLLIN : 0) |
                               (s->up_first != NULL ? POLLOUT : 0))},
            {.fd = s->up_count < UP_PAUSE ? s->cpg_fd : -1, .events = POLLIN},
            {.fd = s->facts_fd, .events = POLLIN},
        };

        if (poll(fds, 3, wants_retry ? RETRY_MS : FACTS_EVERY_MS) < 0 && errno != EINTR)
            _exit(1);
        if ((fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0)
            _exit(0);
        if (!s->is_joined)
            join(s);
        if (fds[1].revents != 0)
            dispatch(s);
        if ((fds[0].revents & POLLIN) != 0)
            read_down(s);
        multicast(s);
        if (fds[2].revents != 0)
            read_facts(s);
        expire_facts(s);
        flush_up(s);
    }
}

int main(int argc, char **argv)
{
    struct state *s;
    struct hf_err err;
    uint64_t fd;
    int flags;

    if (argc == 2 && strcmp(argv[1], "--facts") == 0)
        return facts_print();
    if (argc != 3 || !hf_str_to_u64(argv[1], 65535, &fd) || strlen(argv[2]) == 0 ||
        strlen(argv[2]) >= CPG_MAX_NAME_LENGTH) {
        fprintf(stderr, "usage: holdfast-link FD GROUP (started by holdfastd)\n"
                        "       holdfast-link --facts (started by holdfast)\n");
        return 2;
    }
    flags = fcntl((int)fd, F_GETFL);
    if (flags < 0 || fcntl((int)fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        fcntl((int)fd, F_SETFD, FD_CLOEXEC) != 0) {
        fprintf(stderr, "holdfast-link: descriptor %d: %s\n", (int)fd, strerror(errno));
        return 2;
    }
    /* A hung call would not see the socket end. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return 1;
    s = calloc(1, sizeof *s); /* megabytes: libcpg needs 1 MiB of the stack itself */
    if (s == NULL)
        return 1;
    s->fd = (int)fd;
    s->members.type = LINK_MEMBERS;
    s->group.length = (uint32_t)strlen(argv[2]);
    memcpy(s->group.value, argv[2], strlen(argv[2]));
    connect_cpg(s);
    if (facts_start(&s->facts_fd, &err) != HF_OK) {
        fprintf(stderr, "holdfast-link: %s\n", err.text);
        s->facts_fd = -1; /* facts stay unknown; the group works */
    }
    run(s);
}
