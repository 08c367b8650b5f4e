/* side.h - what the shells of the members tell each other beside the events: pieces of contents,
 * phases of orders and flips for everybody's history, an operator's word to another node's nicbond.
 * Nothing here reaches a decision. Lost side messages
 * are asked for again (contents) or missing from a history (phases). Hostile bytes are HF_EBAD. */
#ifndef SUPERVISORD_CLUSTER_SIDE_H
#define SUPERVISORD_CLUSTER_SIDE_H

#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/digest.h"
#include "supervisord/base/err.h"
#include "supervisord/model/ids.h"
#include "supervisord/model/limits.h"
#include "supervisord/model/states.h"
#include "supervisord/wire/report.h"

enum {
    SIDE_BYTES_MAX = HF_GROUP_MESSAGE_MAX - 256,
    SIDE_CHUNK_MAX = 12 << 10, /* of a content: some ten of them never fill the 32 in flight */
};

enum side_type {
    SIDE_PUT = 1,
    SIDE_WANT,
    SIDE_PROGRESS,
    SIDE_OUTCOME,
    SIDE_FLIP,      /* a flip ended on the sending node, or cannot be done there */
    SIDE_NIC_ORDER, /* for the nicbond of one member: an operator asked elsewhere */
    SIDE_TYPES
};

struct side_message {
    enum side_type type;
    union {
        struct {
            struct hf_digest digest;
            uint32_t total, offset, len; /* len 1..SIDE_CHUNK_MAX, offset + len <= total */
            const uint8_t *bytes;        /* decoded: inside the message */
        } put;
        struct {
            struct hf_digest digest;
        } want;
        struct side_told {
            struct hf_token token;
            enum hf_subject subject; /* NODE or VM */
            hf_node node;
            hf_vm_uid uid;
            uint64_t wall_ns, boottime_ns; /* of the actor, when it was told */
            enum hf_progress phase;        /* PROGRESS */
            uint32_t pid;                  /* PROGRESS */
            enum hf_outcome outcome;       /* OUTCOME */
            uint32_t took_ms;              /* OUTCOME */
            char why[HF_REASON_MAX + 1];   /* OUTCOME */
        } told;                            /* PROGRESS and OUTCOME */
        struct {
            bool is_done;          /* false: what was asked for cannot be done; `flip` is empty */
            uint32_t asker_nodeid; /* 0: nobody asked */
            uint32_t number;       /* the asker's */
            struct hf_flip flip;
        } flip;
        struct {
            hf_node member;
            uint32_t number;
            hf_vm_uid uid;
            hf_fabric to;
        } nic_order;
    } u;
};

size_t side_encode(const struct side_message *m, uint8_t out[SIDE_BYTES_MAX]);
enum hf_code side_decode(const uint8_t *bytes, size_t len, struct side_message *m,
                         struct hf_err *err);

#endif
