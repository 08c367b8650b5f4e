/* bfd_socket.h - the BFD sessions of one fabric on their sockets (RFC 5881, single hop).
 * For the hot loop: nothing here blocks, allocates, takes RTNL, reads a file or resolves a name.
 *
 *   fds = bfd_socket_fds()            poll these for reading, each round anew
 *   bfd_socket_ready(fd)              for each that is readable
 *   next = bfd_socket_tick()          every round; call again at `next` at the latest
 *
 * The interface may go, come back, change its index or its address: sockets are then closed and
 * opened again by the tick, BFD_SOCKET_LOOK_MS apart, until it works. Sessions lose their path
 * meanwhile, and a summary says that nobody listens.
 *
 * The device is the one that has the address. A PF that is a port of a bridge or a bond hands its
 * packets to that: name the bridge then (bfd_socket_device()).
 *
 * Receive timestamps: SO_TIMESTAMPNS, the kernel's software stamp. Hardware stamps would be in the
 * clock of the card, which differs by card and needs a request to the driver (RTNL) to be switched
 * on; SO_TIMESTAMPING's software stamp is the same number with more options. It is in
 * CLOCK_REALTIME, which may step: it is turned into our clock by its age at the moment of reading,
 * and that age is held within what we know for sure, which is that the packet came after the socket
 * was last seen empty and before it was read. A step of the wall clock can thus shift an arrival by
 * no more than the time since the packet before it. */
#ifndef NICBOND_BFD_SOCKET_H
#define NICBOND_BFD_SOCKET_H

#include <netinet/in.h>

#include "nicbond/bfd.h"
#include "supervisord/base/err.h"
#include "supervisord/model/nic.h"

enum {
    BFD_SOCKET_FDS = 2,         /* one per family */
    BFD_SOCKET_LOOK_MS = 500,   /* is the device still the one we are on, and can we open again? */
    BFD_SOCKET_PORT_TRIES = 16, /* of 16384 source ports that hardly anybody uses */
};

struct bfd_socket_conf {
    char device[HF_IFNAME_MAX + 1];
    char address[HF_ADDRESS_MAX + 1]; /* ours, numeric: "fe80::1" or "192.0.2.1" */
    uint32_t peers_count;
    char peer[BFD_PEERS_MAX][HF_ADDRESS_MAX + 1]; /* numeric; either family */
    uint32_t interval_us;                         /* both directions */
    uint8_t multiplier;
    /* A session has changed. Called from ready, tick and close; must not block, nor call back. */
    void (*changed)(void *user, uint32_t peer, const struct bfd_change *change);
    void *user;
};

struct bfd_socket_counters {
    uint64_t received, sent;
    uint64_t dropped[BFD_DROPS];
    uint64_t unsent;    /* the system refused to send */
    uint64_t unstamped; /* arrival taken from the moment of reading */
    uint64_t opened;    /* times */
};

/* In one place for its whole life, and of the caller. Read it through the functions. */
struct bfd_socket {
    struct bfd_socket_conf conf;
    union bfd_address {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } own, peer[BFD_PEERS_MAX];
    struct bfd session[BFD_PEERS_MAX];
    uint16_t port[BFD_PEERS_MAX]; /* our source port of each session, kept over a reopening */
    int rx[BFD_SOCKET_FDS], tx[BFD_PEERS_MAX];
    hf_time empty[BFD_SOCKET_FDS]; /* when the socket was last seen empty */
    bool is_open;
    int ifindex;
    hf_time look_at;
    struct bfd_socket_counters counters;
    struct hf_err trouble; /* of the newest try to open */
    struct hf_rng rng;
};

/* Check the addresses, make the sessions; opens nothing yet (the first tick does), so nothing is to
 * be closed after a failure. HF_EINVAL: an address is not numeric, is no unicast address, is given
 * twice, or the timing makes no sense. */
enum hf_code bfd_socket_init(struct bfd_socket *s, const struct bfd_socket_conf *conf,
                             uint64_t seed, hf_time now, struct hf_err *err);
/* Tell the peers that we go (AdminDown, so that none of them calls it a failure), close. */
void bfd_socket_close(struct bfd_socket *s, hf_time now);

/* What to poll: count of fds. May differ after every tick. */
uint32_t bfd_socket_fds(const struct bfd_socket *s, int fds[BFD_SOCKET_FDS]);
/* Read all there is, of one socket. An fd that is not ours, or no longer, is ignored. */
void bfd_socket_ready(struct bfd_socket *s, int fd);
/* Open or reopen if needed, judge silence (after reading what has come in meanwhile), send what is
 * due. Returns when to call again at the latest. */
hf_time bfd_socket_tick(struct bfd_socket *s, hf_time now);

/* Administratively up or down, all sessions. */
void bfd_socket_enable(struct bfd_socket *s, bool is_wanted, hf_time now);
/* New timing, told by a poll sequence. HF_EINVAL as with init. */
enum hf_code bfd_socket_retime(struct bfd_socket *s, uint32_t interval_us, uint8_t multiplier,
                               struct hf_err *err);
/* The fabric is on another device from now on, or something happened to it (a link message): look
 * at once, in the next tick. */
void bfd_socket_look(struct bfd_socket *s, const char *device, hf_time now);

void bfd_socket_summary(const struct bfd_socket *s, struct bfd_summary *out);
/* Why it is not open; "" when it is. */
const char *bfd_socket_trouble(const struct bfd_socket *s);

/* The device that gets what arrives at `pf`: its bridge or bond, or itself. Reads one link in
 * sysfs (no RTNL); sys is "/sys" but in tests. For start-up and link messages. */
void bfd_socket_device(const char *sys, const char *pf, char out[HF_IFNAME_MAX + 1]);

#endif
