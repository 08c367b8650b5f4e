/* daemon.h - holdfastd's parts and how they are wired: one struct, one loop, no decisions.
 * The engine decides (behind the replica), act performs, report remembers, ctl answers. Everything
 * runs on one thread but the journal's writer. A callback of the replica must not call back into
 * it: what is to be sent meanwhile waits in two bounded queues until the call has returned. */
#ifndef SUPERVISORD_DAEMON_H
#define SUPERVISORD_DAEMON_H

#include <qb/qbloop.h>
#include <stdbool.h>
#include <stdint.h>

#include "supervisord/act/act.h"
#include "supervisord/act/agents.h"
#include "supervisord/act/lease.h"
#include "supervisord/act/nics.h"
#include "supervisord/act/paths.h"
#include "supervisord/base/clock.h"
#include "supervisord/base/err.h"
#include "supervisord/cluster/blobs.h"
#include "supervisord/cluster/link.h"
#include "supervisord/cluster/link_judge.h"
#include "supervisord/cluster/replica.h"
#include "supervisord/cluster/side.h"
#include "supervisord/config/config.h"
#include "supervisord/ctl/server.h"
#include "supervisord/report/history.h"
#include "supervisord/report/journal.h"

enum {
    DAEMON_WATCHES_MAX = 128, /* both doors' clients, agents, and our own */
    DAEMON_EVENTS_MAX = 1024, /* as many as the replica's outbox takes */
    DAEMON_SIDES_MAX = 128, /* phases of orders waiting for room in flight; then the oldest goes */
    DAEMON_EFFECT_WAIT_MS = 50, /* a stream without end must not hold orders for ever */
    DAEMON_SIDE_BYTES = 320,    /* the longest one: an outcome with its words */
    DAEMON_HOLD_MS = 30000,     /* an upgrade takes seconds; the policy's hold_max bounds it */
    DAEMON_LEAVE_MS = 1500,     /* to be put on hold by the group; then it goes without */
};

struct daemon_options {
    const char *config, *run_directory, *state_directory, *libexec, *node;
};

enum daemon_owner {
    OWNER_NONE = 0,
    OWNER_AGENTS,
    OWNER_CTL,
    OWNER_LINK,
    OWNER_JOURNAL,
    OWNER_TIMER,
    OWNER_SIGNALS,
};

struct daemon;

struct daemon_watch {
    struct daemon *d;
    enum daemon_owner owner;
    int fd;
};

struct daemon_event { /* submitted while the replica was at work */
    struct daemon_event *next;
    uint64_t cookie;
    struct hf_event ev;
};

struct daemon_side {
    uint16_t len;
    uint8_t bytes[DAEMON_SIDE_BYTES];
};

struct daemon {
    struct daemon_options options;
    const char *group_name; /* of the doors; NULL: no such group, root only */

    struct hf_config file; /* own cluster file */
    char *file_text;       /* canonical */
    size_t file_text_len;
    bool file_differs, file_bad;
    char file_why[HF_REASON_MAX + 1];
    const struct hf_node_def *self;
    struct hf_boot boot;
    uint64_t incarnation;

    struct replica *replica;
    struct link *link;
    unsigned link_spawned; /* the child whose socket is watched */
    bool link_connected, link_fit;
    hf_wall link_since;
    struct link_watch link_watch;
    bool waits_for_all; /* corosync does, as last known */
    char link_why[HF_REASON_MAX + 1];
    struct journal *journal;
    struct journal_status journal_status;
    hf_wall journal_since;
    struct hf_room room[HF_ROOMS]; /* as the host agent told last */
    hf_wall room_since[HF_ROOMS];  /* of is_low; 0 = always so */
    struct blobs *blobs;
    struct agents *agents;
    struct act *act;
    struct lease lease;
    struct paths paths;
    struct nics nics;
    bool is_stopping;
    hf_time stop_at; /* told to stop: the group is asked to hold first; 0 = not */
    struct history *history;
    struct ctl_server *ctl;
    enum replica_phase phase;
    hf_wall phase_since;
    char phase_why[HF_REASON_MAX + 1];

    bool in_replica;
    unsigned effects_count; /* allowed, and performed when nothing more is to be read */
    hf_time effects_since;
    struct hf_effect effects[HF_EFFECTS_MAX];
    struct daemon_event *events, **events_last;
    unsigned events_count;
    unsigned sides_first, sides_count;
    struct daemon_side sides[DAEMON_SIDES_MAX];

    qb_loop_t *loop;
    int timer_fd, signal_fd, agent_door, ctl_door, lock_fd;
    hf_time timer_at;
    struct daemon_watch watch[DAEMON_WATCHES_MAX];
};

/* Everything that can fail because of what the user gave: file, node name, directories. Touches
 * nothing else. HF_EAGAIN: another daemon runs here; anything else: exit 2. */
enum hf_code daemon_check(struct daemon *d, const struct daemon_options *options,
                          struct hf_err *err);
/* Doors, journal, state from disk, parts. After a failure daemon_close() is still due. */
enum hf_code daemon_open(struct daemon *d, struct hf_err *err);
/* Until SIGTERM or SIGINT. */
void daemon_run(struct daemon *d);
void daemon_close(struct daemon *d);

/* ---- between the daemon's files ---- */

/* daemon_group.c: the replica's side */
void daemon_group_ports(struct daemon *d, struct replica_ports *ports);
void daemon_blobs_ports(struct daemon *d, struct blobs_ports *ports);
void daemon_link_ports(struct daemon *d, struct link_ports *ports);
enum hf_code daemon_submit(struct daemon *d, const struct hf_event *ev, uint64_t cookie,
                           struct hf_err *err);
/* A phase or outcome of an order of ours: into our history, and to the others'. */
void daemon_tell(struct daemon *d, const struct side_message *m, hf_time now);
/* A flip ended on the member with this node id, or what was asked for cannot be done there. */
void daemon_flipped(struct daemon *d, uint32_t nodeid, const struct side_message *m);
/* Send what had to wait for the replica. */
void daemon_flush(struct daemon *d, hf_time now);
/* The state names other contents than before. */
void daemon_named(struct daemon *d, hf_time now);
const void *daemon_content(const struct daemon *d, const struct hf_digest *digest, size_t *len);
void daemon_now(struct history_when *when);
/* The watchdog's side learns what has become of the group. */
void daemon_lease(struct daemon *d, hf_time now);
/* Told to stop: if VMs may run here, the group is asked to put up with our absence first. True: go
 * now. */
bool daemon_may_stop(struct daemon *d, hf_time now);
/* The cluster file may have changed on disk. */
void daemon_reread(struct daemon *d, hf_time now);

/* daemon_node.c: the agents' and the operator's side */
void daemon_act_ports(struct daemon *d, struct act_ports *ports);
void daemon_lease_ports(struct daemon *d, struct lease_ports *ports);
void daemon_paths_ports(struct daemon *d, struct paths_ports *ports);
void daemon_nics_ports(struct daemon *d, struct nics_ports *ports);
void daemon_agents_ports(struct daemon *d, struct agents_ports *ports);
void daemon_ctl_ports(struct daemon *d, struct ctl_ports *ports);

/* daemon_room.c: the host agent has told how much room is left. */
void daemon_rooms(struct daemon *d, const struct hf_report_host *host);
/* Its verdicts, as long as it is there to change them. */
void daemon_rooms_look(const struct daemon *d, struct ctl_shell *shell);

/* daemon_log.c: one line per change. The history has seen this step: it knows who was removed. */
void daemon_log_changes(const struct engine *e, const struct history *h, const struct hf_event *ev,
                        const struct engine_out *out);

/* daemon_loop.c: descriptors and deadlines */
enum hf_code daemon_loop_open(struct daemon *d, struct hf_err *err);
void daemon_loop_close(struct daemon *d);
void daemon_watch(struct daemon *d, enum daemon_owner owner, int fd, bool write_too);
void daemon_unwatch(struct daemon *d, int fd);

/* daemon_disk.c: what is read at start */
void daemon_restore(struct daemon *d);
void daemon_load_blobs(struct daemon *d, hf_time now);

#endif
