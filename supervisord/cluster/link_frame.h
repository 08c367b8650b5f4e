/* link_frame.h - what holdfastd and holdfast-link say to each other over their socket pair: one
 * record, one frame. Decoding trusts nothing: a link that has gone mad is an error, not a crash. */
#ifndef SUPERVISORD_CLUSTER_LINK_FRAME_H
#define SUPERVISORD_CLUSTER_LINK_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/buf.h"
#include "supervisord/base/err.h"
#include "supervisord/cluster/replica.h"

enum {
    LINK_PEERS_MAX = 128, /* CPG's own limit of members in a group */
    LINK_RING_MAX = 384,  /* corosync's PROCESSOR_COUNT_MAX */
    LINK_TEXT_MAX = 63,
    LINK_PATHS_MAX = 32, /* peers whose knet links are told: as many nodes as a file may list */
    LINK_KNET_MAX = 8,   /* KNET_MAX_LINK */
    LINK_FRAME_MAX = HF_GROUP_MESSAGE_MAX + 64,
};

enum link_frame_type {
    LINK_MCAST = 1, /* down: bytes to multicast */
    LINK_MEMBERS,   /* up: group and ring as they are now */
    LINK_DELIVER,   /* up: a message in the total order */
    LINK_FACTS,     /* up: what can be known of this corosync */
    LINK_LOST,      /* up: the connection is gone; the link exits */
    LINK_FRAME_TYPES
};

enum link_known { LINK_UNKNOWN = 0, LINK_NO, LINK_YES, LINK_KNOWNS };

/* The network links to one other node, as knet's own pings see them: a hint, never a verdict. */
struct link_path {
    uint32_t nodeid;
    uint8_t enabled, connected; /* bit per link; connected only where enabled */
};

/* Times in which corosync did not get to run for 0.8 x token: they come before false losses. */
struct link_pauses {
    uint32_t count;    /* that it remembers, 10 at most */
    uint32_t last_ms;  /* how long the newest one took */
    uint32_t worst_ms; /* of those that it remembers */
    uint64_t last_at;  /* the newest one's stamp (corosync's clock): only for comparing */
};

struct link_facts { /* 0 and "" = not known */
    uint32_t nodeid;
    uint32_t token_ms, consensus_ms; /* as corosync runs with, not as its file says */
    uint32_t expected_votes;
    uint32_t node_votes, total_votes; /* this node's own; of all that are there */
    enum link_known quorate;          /* votequorum's word: a local gate, never our quorum */
    enum link_known wait_for_all;     /* configured */
    enum link_known is_waiting;       /* not quorate until all nodes were there once */
    struct link_pauses pauses;
    uint8_t paths_count;
    struct link_path paths[LINK_PATHS_MAX]; /* without this node, in nodelist order */
    char version[LINK_TEXT_MAX + 1];        /* of the corosync program: "3.1.7" */
    char cipher[LINK_TEXT_MAX + 1], hash[LINK_TEXT_MAX + 1]; /* "none" is known, and bad */
};

struct link_frame {
    enum link_frame_type type;
    /* MCAST, DELIVER: inside the record */
    const uint8_t *bytes;
    size_t len;
    uint32_t nodeid, pid;
    /* MEMBERS */
    struct hf_view view;
    uint16_t peers_count, ring_count;
    struct replica_peer peers[LINK_PEERS_MAX];
    uint32_t ring[LINK_RING_MAX];
    struct link_facts facts;
    char why[LINK_TEXT_MAX + 1];
};

/* Counts must be within the limits above, bytes 1..HF_GROUP_MESSAGE_MAX. */
void link_frame_put(struct hf_writer *w, const struct link_frame *f);
/* HF_EBAD for anything that is not one whole frame. Fields of other types are left alone. */
enum hf_code link_frame_get(const uint8_t *bytes, size_t len, struct link_frame *f,
                            struct hf_err *err);

#endif
