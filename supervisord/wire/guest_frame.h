/* guest_frame.h - what holdfast-guest, inside a VM, and nicbond, on its host, tell each other over
 * a byte stream (a virtio-serial port; vsock).
 * One frame: {magic u32, version u8, kind u8, length u16, crc u32, body}. The CRC-32C is over
 * version, kind, length and body. Whatever lies between frames is skipped: the stream may begin in
 * the middle of one, and the other side may be hostile. A body that does not decode exactly is
 * refused whole: names are printable ASCII without '/', so they are safe in logs. */
#ifndef SUPERVISORD_WIRE_GUEST_FRAME_H
#define SUPERVISORD_WIRE_GUEST_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/model/nic.h"

#define HF_GUEST_PORT "org.holdfast.guest.0" /* name of the virtio-serial port */

enum {
    HF_GUEST_VERSION = 1,
    HF_GUEST_SLAVES_MAX = 4,   /* two legs, and room for a bond that somebody extended */
    HF_GUEST_NONE = 255,       /* as an index of a slave, as a mode: none, not known */
    HF_GUEST_PROGRAM_MAX = 15, /* version text of the program */
    GUEST_FRAME_HEAD = 12,
    GUEST_FRAME_BODY_MAX = 210, /* the longest body: a bond with four slaves, every name full */
    GUEST_FRAME_MAX = GUEST_FRAME_HEAD + GUEST_FRAME_BODY_MAX,
};

enum hf_guest_kind {
    /* guest -> host */
    HF_GUEST_HELLO = 1, /* first, and before the bond in every answer to ASK */
    HF_GUEST_BOND,      /* the whole state of the bond: on change, and when asked */
    HF_GUEST_EVENT,     /* the guest's kernel told something about the bond */
    HF_GUEST_ACK,       /* how an order ended */
    /* host -> guest */
    HF_GUEST_SET_ACTIVE, /* make this slave the active one; an older order not yet begun is void */
    HF_GUEST_ASK,        /* answer with HELLO and BOND; and orders that are taken back */
    HF_GUEST_KINDS
};

/* A slave's link as the bond's monitor sees it: BOND_LINK_*, linux/if_bonding.h. */
enum hf_guest_link {
    HF_GUEST_LINK_UP = 0,
    HF_GUEST_LINK_FAIL, /* going down: downdelay runs */
    HF_GUEST_LINK_DOWN,
    HF_GUEST_LINK_BACK, /* coming up: updelay runs */
    HF_GUEST_LINKS
};

enum hf_guest_outcome {
    HF_GUEST_DONE = 1,    /* set, and read back */
    HF_GUEST_ALREADY,     /* it was the active one: nothing was done */
    HF_GUEST_NO_BOND,     /* no active-backup bond in this guest */
    HF_GUEST_NO_SLAVE,    /* no slave of the bond has this address */
    HF_GUEST_AMBIGUOUS,   /* more than one has */
    HF_GUEST_REFUSED,     /* the kernel said no: sys_errno */
    HF_GUEST_UNCONFIRMED, /* it said yes, and another one is active all the same */
    HF_GUEST_SUPERSEDED,  /* it was taken back, or a later one came, before it was begun */
    HF_GUEST_OUTCOMES
};

typedef struct {
    uint8_t byte[6];
} hf_mac;

struct hf_guest_slave {
    char name[HF_IFNAME_MAX + 1];
    uint32_t index;  /* of the interface */
    hf_mac mac;      /* that it uses now: with fail_over_mac=none the bond's own */
    hf_mac perm_mac; /* that the device came with: what names a leg */
    enum hf_guest_link link;
    bool is_active, has_carrier;
    uint32_t failures; /* how often its link went down, by the bond's count */
};

struct hf_guest_bond {
    char name[HF_IFNAME_MAX + 1]; /* "": there is no bond */
    uint32_t index;
    uint8_t mode;             /* BOND_MODE_*, linux/if_bonding.h; 1 = active-backup */
    uint8_t primary_reselect; /* 0 always, 1 better, 2 failure; HF_GUEST_NONE: not known */
    uint8_t fail_over_mac;    /* 0 none, 1 active, 2 follow; HF_GUEST_NONE: not known */
    uint32_t miimon_ms, arp_interval_ms;
    bool has_carrier;
    uint8_t active; /* index into slave; HF_GUEST_NONE */
    uint8_t slaves_count;
    struct hf_guest_slave slave[HF_GUEST_SLAVES_MAX];
};

struct hf_guest_message {
    enum hf_guest_kind kind;
    union {
        struct {
            uint8_t boot_id[16]; /* /proc/sys/kernel/random/boot_id; zeros: not known */
            char program[HF_GUEST_PROGRAM_MAX + 1];
        } hello;
        struct {
            uint32_t events_lost; /* events that found no room on their way, since its start */
            int64_t monotonic_ns, wall_ns; /* when this state was read */
            struct hf_guest_bond bond;
        } bond;
        struct {
            uint8_t event; /* IFLA_EVENT_*, linux/if_link.h */
            char name[HF_IFNAME_MAX + 1];
            int64_t monotonic_ns, wall_ns; /* when the kernel's message was read */
        } event;
        struct {
            uint64_t number; /* of the order */
            enum hf_guest_outcome outcome;
            uint32_t sys_errno;
            uint32_t took_us; /* from the order's arrival */
            hf_mac active;    /* the ordered one, or perm_mac of what is active instead; zeros: not
                                 known */
        } ack;
        struct {
            uint64_t number;
            hf_mac mac; /* perm_mac of the slave, or its mac if only one has it */
        } set_active;
        struct {
            uint64_t void_to; /* an order with this number or a lower one, not yet begun, is void:
                                 nobody waits for it. A frozen guest finds both when it thaws. */
        } ask;
    } u;
};

/* The length of the frame. The message must be valid, our own mistake otherwise; characters that a
 * name may not have become '?'. */
size_t guest_frame_encode(const struct hf_guest_message *message, uint8_t out[GUEST_FRAME_MAX]);
/* One body. False: it is none. */
bool guest_frame_decode(uint8_t kind, const uint8_t *body, size_t len,
                        struct hf_guest_message *message);
/* Is this said by a guest (and not by a host)? */
bool guest_frame_is_guests(enum hf_guest_kind kind);
/* "done", "already", ...; "?" for what is none. */
const char *guest_frame_outcome_name(enum hf_guest_outcome outcome);

/* Which slave has this address? HF_GUEST_DONE: *at, by its permanent address, which is what the
 * VM's definition says, or else by the one in use. HF_GUEST_NO_SLAVE, HF_GUEST_AMBIGUOUS: none,
 * several (with fail_over_mac=none all slaves use one address). */
enum hf_guest_outcome guest_frame_find(const struct hf_guest_bond *bond, hf_mac mac, uint8_t *at);

bool hf_mac_is_equal(hf_mac a, hf_mac b);
bool hf_mac_is_none(hf_mac mac); /* all zeros */

/* Frames out of a stream. All zeros is a fresh one. */
struct guest_stream {
    uint8_t bytes[2 * GUEST_FRAME_MAX];
    size_t len;
    /* Since it was fresh: */
    uint64_t skipped;       /* bytes that belonged to no frame */
    uint32_t refused;       /* frames whole and sound, with a body that is none */
    uint32_t other_version; /* frames of another version of this protocol */
};

/* Copies what fits; how much that was: at least one byte, if there is any, once guest_stream_next()
 * has said false. */
size_t guest_stream_put(struct guest_stream *stream, const uint8_t *bytes, size_t len);
/* The next message, or false: not enough bytes for one. */
bool guest_stream_next(struct guest_stream *stream, struct hf_guest_message *message);
/* Does the beginning of something that may become a frame lie there? Who waits long for the rest
 * gives up on it, so that a length out of garbage cannot hold back what follows. */
bool guest_stream_is_partial(const struct guest_stream *stream);
void guest_stream_give_up(struct guest_stream *stream);

#endif
