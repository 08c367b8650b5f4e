/* bfd_packet.h - a BFD control packet (RFC 5880, 4.1) as bytes and as a struct. Pure.
 * Refuses whatever section 6.8.6 tells to discard before a session is looked up, and says why: the
 * reasons are counted, nobody logs a packet. Authentication is not spoken: a packet with an
 * authentication section is refused. */
#ifndef NICBOND_BFD_PACKET_H
#define NICBOND_BFD_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BFD_VERSION = 1,
    BFD_PACKET_BYTES = 24,       /* the mandatory section, and all we send */
    BFD_PACKET_BYTES_MAX = 255,  /* the length field is one byte */
    BFD_PORT = 3784,             /* RFC 5881, 4: single hop */
    BFD_SOURCE_PORT_MIN = 49152, /* RFC 5881, 4 */
    BFD_SOURCE_PORT_MAX = 65535,
    BFD_TTL = 255, /* RFC 5881, 5: nothing beyond the link can have sent it */
};

/* The values of the packet's field. */
enum bfd_state { BFD_ADMIN_DOWN = 0, BFD_DOWN = 1, BFD_INIT = 2, BFD_UP = 3, BFD_STATES };

/* Why a session last changed its state. The values of the packet's field; a peer may send others
 * that are reserved, up to 31. */
enum bfd_diag {
    BFD_DIAG_NONE = 0,
    BFD_DIAG_SILENCE = 1, /* control detection time expired */
    BFD_DIAG_ECHO = 2,
    BFD_DIAG_NEIGHBOUR = 3, /* neighbour signalled session down */
    BFD_DIAG_FORWARDING = 4,
    BFD_DIAG_PATH = 5,
    BFD_DIAG_CONCATENATED = 6,
    BFD_DIAG_ADMIN = 7,
    BFD_DIAG_REVERSE = 8,
    BFD_DIAGS
};

/* Why a packet was not used. */
enum bfd_drop {
    BFD_DROP_NONE = 0,      /* it was */
    BFD_DROP_SHORT,         /* fewer bytes than a packet has, or than its length field says */
    BFD_DROP_VERSION,       /* not version 1 */
    BFD_DROP_LENGTH,        /* the length field is below the minimum */
    BFD_DROP_MULTIPLIER,    /* detect multiplier 0 */
    BFD_DROP_MULTIPOINT,    /* the M bit */
    BFD_DROP_MY,            /* my discriminator 0 */
    BFD_DROP_YOUR,          /* your discriminator 0 in a state that knows ours */
    BFD_DROP_AUTH,          /* authentication, which is not in use */
    BFD_DROP_TTL,           /* came over a router, or nobody can tell */
    BFD_DROP_STRANGER,      /* not a configured peer */
    BFD_DROP_DISCRIMINATOR, /* meant for a session that is not this peer's */
    BFD_DROP_DISABLED,      /* our side is AdminDown */
    BFD_DROPS
};

struct bfd_packet {
    uint8_t diag; /* 0..31 */
    enum bfd_state state;
    bool poll, final, demand;
    bool is_independent; /* C: its sender survives a restart of its control plane */
    uint8_t multiplier;
    uint32_t my, your;
    uint32_t min_tx_us, min_rx_us, min_echo_us; /* desired, required, required */
};

/* Checks of RFC 5880, 6.8.6, up to the choice of the session. out is filled only on
 * BFD_DROP_NONE. Bytes behind the packet are allowed, as the RFC does. */
enum bfd_drop bfd_packet_decode(const void *bytes, size_t len, struct bfd_packet *out);
/* A packet without authentication; multiplier and my must not be 0. */
void bfd_packet_encode(const struct bfd_packet *packet, uint8_t out[BFD_PACKET_BYTES]);
/* "unexpected version"; never NULL. */
const char *bfd_drop_name(enum bfd_drop drop);

#endif
