/* group.h - what members multicast to each other, as bytes. Every message opens with the same
 * envelope; its first 16 bytes (magic, version, type, length, CRC32C over all the rest) keep their
 * meaning in every version, so that a member can tell a foreign version from damage.
 * Decoding trusts nothing: what is out of range, missing or left over is HF_EBAD. */
#ifndef SUPERVISORD_WIRE_GROUP_H
#define SUPERVISORD_WIRE_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/buf.h"
#include "supervisord/base/digest.h"
#include "supervisord/base/err.h"
#include "supervisord/model/ids.h"
#include "supervisord/model/limits.h"

/* Raise at every change of an existing message. */
#define GROUP_VERSION 3u

enum {
    GROUP_HEADER_BYTES = 60,
    /* What a chunk of state may carry; the rest of the 16 KiB is header and room. */
    GROUP_CHUNK_MAX = HF_GROUP_MESSAGE_MAX - 256,
    /* Deliveries a beat reports: the newest two of every node. */
    GROUP_REPORTS_MAX = 2 * HF_NODES_MAX,
};

enum group_type {
    GROUP_HELLO = 1, /* who I am and which state I bring */
    GROUP_GO,        /* do not wait any longer */
    GROUP_READY,     /* I hold the chosen state (or cannot) and promise the epoch to this session */
    GROUP_SNAP,      /* a piece of the donor's state */
    GROUP_EVENT,
    GROUP_ACK, /* I have applied everything up to here */
    GROUP_BEAT,
    GROUP_SIDE, /* bytes for the shells above */
    GROUP_TYPES
};

struct group_header {
    enum group_type type;
    struct hf_view view; /* the sender's ring when it sent */
    struct hf_boot boot;
    uint64_t incarnation; /* of the sending daemon */
    uint64_t number;      /* of this multicast since the daemon started: 1, 2, ... */
};

/* One greeting: a membership (hash over view and members) and the round within it. */
struct group_session {
    uint64_t members_hash;
    uint32_t round;
};

enum group_state_kind {
    GROUP_STATE_NONE = 0,
    GROUP_STATE_STORED,
    GROUP_STATE_LIVE,
    GROUP_STATE_KINDS
};

struct group_hello {
    struct group_session session;
    uint32_t ruleset;
    struct hf_digest config; /* of the sender's own cluster file */
    enum group_state_kind kind;
    uint64_t lineage, epoch, seq, digest; /* of the state; zeros when none */
    uint64_t promised;                    /* highest epoch ever promised by this daemon, >= epoch */
    uint8_t nodes_count; /* 1..: the nodes of the state, or of the file when none */
    uint32_t nodeids[HF_NODES_MAX];
};

enum group_wait {
    GROUP_WAIT_HELLOS = 0, /* end the greeting with whoever has greeted */
    GROUP_WAIT_READY,      /* end the agreement with whoever is ready */
    GROUP_WAIT_AGAIN,      /* I may have missed a message: greet again */
    GROUP_WAITS
};

struct group_go {
    struct group_session session;
    enum group_wait wait;
};

struct group_ready {
    struct group_session session;
    bool is_ok;      /* false: I cannot take the state */
    uint64_t epoch;  /* promised to this session */
    uint64_t oldest; /* sender_seq of its oldest event that may still have to be applied, 1.. */
};

struct group_snap {
    struct group_session session;
    uint32_t total, offset;
    uint32_t len;         /* 1..GROUP_CHUNK_MAX, offset + len <= total */
    const uint8_t *bytes; /* decoded: inside the message */
};

struct group_event {
    uint64_t sender_seq;  /* 1, 2, ... since the sending daemon started */
    const uint8_t *bytes; /* wire/event.h; decoded: inside the message */
    size_t len;
};

struct group_ack {
    struct group_session session;
    uint64_t seq;
};

struct group_report {
    uint32_t nodeid;
    uint64_t beat_no;
    uint64_t digest; /* of the reporter's state where that beat was delivered */
};

struct group_beat {
    struct group_session session;
    uint64_t beat_no; /* since the daemon started: 1, 2, ... */
    int64_t sent_ns;  /* sender's clock: means something to the sender only */
    uint64_t applied; /* sequence number of its state */
    uint8_t reports_count;
    struct group_report reports[GROUP_REPORTS_MAX];
};

/* Write a header with length and CRC left open; group_seal() fills them in when the body is there.
 */
void group_put_header(struct hf_writer *w, const struct group_header *h);
void group_seal(uint8_t *bytes, size_t len);

enum group_opened {
    GROUP_OPENED,  /* header filled, reader stands at the body */
    GROUP_DAMAGED, /* not ours, cut, or the CRC does not match */
    GROUP_FOREIGN, /* whole, but of a version we do not speak */
};

enum group_opened group_open(const uint8_t *bytes, size_t len, struct group_header *h,
                             struct hf_reader *body, uint16_t *version);

void group_put_hello(struct hf_writer *w, const struct group_hello *m);
void group_put_go(struct hf_writer *w, const struct group_go *m);
void group_put_ready(struct hf_writer *w, const struct group_ready *m);
void group_put_snap(struct hf_writer *w, const struct group_snap *m);
void group_put_event(struct hf_writer *w, const struct group_event *m);
void group_put_ack(struct hf_writer *w, const struct group_ack *m);
void group_put_beat(struct hf_writer *w, const struct group_beat *m);

/* Each reads a whole body, to its end. */
enum hf_code group_get_hello(struct hf_reader *r, struct group_hello *m, struct hf_err *err);
enum hf_code group_get_go(struct hf_reader *r, struct group_go *m, struct hf_err *err);
enum hf_code group_get_ready(struct hf_reader *r, struct group_ready *m, struct hf_err *err);
enum hf_code group_get_snap(struct hf_reader *r, struct group_snap *m, struct hf_err *err);
enum hf_code group_get_event(struct hf_reader *r, struct group_event *m, struct hf_err *err);
enum hf_code group_get_ack(struct hf_reader *r, struct group_ack *m, struct hf_err *err);
enum hf_code group_get_beat(struct hf_reader *r, struct group_beat *m, struct hf_err *err);

static inline bool group_session_same(struct group_session a, struct group_session b)
{
    return a.members_hash == b.members_hash && a.round == b.round;
}

#endif
