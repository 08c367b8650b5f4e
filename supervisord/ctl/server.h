/* server.h - the admin door's server: requests in, JSON out.
 * A set of connections inside the daemon's own loop: it tells the loop which descriptors to watch
 * and is told when they are ready. It never blocks and never decides: orders become engine events,
 * and are answered when the group has applied them. A client that is slow, mute, too fast or does
 * not speak the protocol is dropped and costs nobody else anything. Every order, granted or
 * refused, is audited (audit.h). Not thread-safe: the daemon's loop owns it. */
#ifndef SUPERVISORD_CTL_SERVER_H
#define SUPERVISORD_CTL_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/err.h"
#include "supervisord/ctl/picture.h"
#include "supervisord/door/door.h"
#include "supervisord/engine/engine.h"
#include "supervisord/report/history.h"
#include "supervisord/wire/ctl.h"

enum {
    CTL_MUTE_MS = 10000,        /* connected without a request for so long: dropped */
    CTL_SLOW_MS = 5000,         /* an answer not taken for so long: dropped */
    CTL_APPLY_MS = 15000,       /* an order not applied by then is answered "not yet"; above two
                                   resends of the replica and a membership change */
    CTL_SHUT_MS = 1000,         /* no descriptor left for a client: the door rests so long */
    CTL_TEST_MS = 70000,        /* a test of a fence level has a minute in all */
    CTL_FLIP_MS = 8000,         /* every rung of the ladder has flip_deadline, 5 s at most */
    CTL_REQUESTS_A_SECOND = 50, /* of one client; a person needs one, `--wait` about ten */
    /* One user, unless it is root: a quarter of the places, and this pace in all of them. */
    CTL_CLIENTS_OF_ONE = 8,
    CTL_REQUESTS_OF_ONE = 100,
    /* Orders of all clients together: a script that moves every VM there can be at once, then 20 a
     * second. More are refused: each granted one is in the history, which must not run over. */
    CTL_ORDERS_BURST = 256,
    CTL_ORDERS_MS = 50,
};

struct ctl_ports {
    void *user;
    /* Call ctl_server_ready() when fd is readable, and with `write_too` also when writable. Called
     * again for the same fd to change it. */
    void (*watch)(void *user, int fd, bool write_too);
    void (*unwatch)(void *user, int fd); /* before fd is closed */
    /* Fill in the node's view of itself; pointers stay valid until control returns to the loop. */
    void (*look)(void *user, struct ctl_shell *shell);
    /* Submit an operator's order (replica_submit). cookie comes back by ctl_server_applied(). */
    enum hf_code (*order)(void *user, const struct hf_event *ev, uint64_t cookie,
                          struct hf_err *err);
    /* Keep a domain's XML and give it to the other nodes; same bytes again are fine. Called before
     * the order that names it. */
    enum hf_code (*put_blob)(void *user, const void *bytes, size_t len,
                             const struct hf_digest *digest, struct hf_err *err);
    /* Try one fence level (from 0) of a node, without effect; answered by ctl_server_tested(). */
    enum hf_code (*test)(void *user, hf_node target, uint8_t level, uint64_t cookie,
                         struct hf_err *err);
    /* Have nicbond bring a VM's traffic onto this leg; answered by ctl_server_flipped(). NULL: this
     * node has none. */
    enum hf_code (*failback)(void *user, hf_vm_uid uid, hf_fabric to, uint64_t cookie,
                             struct hf_err *err);
    /* Somebody asked for more than a look: into the history. May be NULL. */
    void (*audit)(void *user, const struct history_audit *what);
};

struct ctl_server;

/* listen_fd: a listening door (door_listen), watched from now on, owned by the caller and closed by
 * it after ctl_server_close(); -1: none (tests). The groups of the roles (role.h) are looked up
 * here and never again. history is kept. */
enum hf_code ctl_server_open(struct ctl_server **server, int listen_fd,
                             const struct history *history_keep, const struct ctl_ports *ports,
                             struct hf_err *err);
/* Drops every client. NULL is fine. */
void ctl_server_close(struct ctl_server *server);

/* Take over a connected socket as a client (owned from now on; closed when all places are taken).
 */
void ctl_server_adopt(struct ctl_server *server, int fd, const struct door_peer *peer, hf_time now);
/* A watched descriptor is ready (readable, writable or hung up). Unknown ones are ignored: the
 * client may have been dropped earlier in the same turn of the loop. */
void ctl_server_ready(struct ctl_server *server, int fd, hf_time now);
/* In replica_ports.stepped, when is_mine and the cookie came from ports.order. e: after the step.
 */
void ctl_server_applied(struct ctl_server *server, uint64_t cookie, const struct engine *e,
                        const struct hf_event *ev, const struct engine_out *out, hf_time now);
/* An order of a client's was applied by the others while this node was away: it is in the state,
 * and whether it was granted is in the others' histories. */
void ctl_server_absorbed(struct ctl_server *server, uint64_t cookie, hf_time now);
/* A test that ports.test was asked for has ended; NULL: it could not be made. */
void ctl_server_tested(struct ctl_server *server, uint64_t cookie, const struct hf_report *tested,
                       hf_time now);
/* What ports.failback was asked for has ended; NULL: nicbond is gone. */
void ctl_server_flipped(struct ctl_server *server, uint64_t cookie, const struct hf_flip *flip,
                        hf_time now);
/* The history has grown: feed the followers. Once a turn of the loop is enough. */
void ctl_server_news(struct ctl_server *server, hf_time now);
/* Call at ctl_server_deadline() or later: drops the mute and the slow. */
void ctl_server_tick(struct ctl_server *server, hf_time now);
hf_time ctl_server_deadline(const struct ctl_server *server); /* {INT64_MAX}: nothing to wait for */

unsigned ctl_server_clients(const struct ctl_server *server);

#endif
