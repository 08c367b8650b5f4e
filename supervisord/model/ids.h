/* ids.h - the names of things, as types the compiler can tell apart. */
#ifndef SUPERVISORD_MODEL_IDS_H
#define SUPERVISORD_MODEL_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/model/limits.h"

/* Index into the configured node list (file order). HF_NO_NODE: nobody. */
typedef struct {
    uint8_t ix;
} hf_node;
#define HF_NO_NODE ((hf_node){0xff})

/* Set of nodes, bit i = node i. */
typedef uint8_t hf_nodes;
_Static_assert(HF_NODES_MAX <= 8, "hf_nodes is one byte");

/* Slot of a VM in the engine. A slot is reused after removal: whatever leaves the engine and comes
 * back names a VM by hf_vm_uid, which never is. */
typedef struct {
    uint16_t ix;
} hf_vm;
#define HF_NO_VM ((hf_vm){0xffff})
typedef uint32_t hf_vm_uid; /* 1.. in order of addition; 0 = none */

/* The nth effect of step seq: unique, the same on every replica. {0,0} = none. */
struct hf_token {
    uint64_t seq;
    uint32_t nth; /* 1.. */
};

/* One boot of a host's kernel (/proc/sys/kernel/random/boot_id as bytes). All zeros = unknown. */
struct hf_boot {
    uint8_t id[16];
};

/* One totem ring: partitions can carry the same seq with different leaders, so both count
 * (seen with corosync 3.1.7). */
struct hf_view {
    uint32_t leader; /* corosync nodeid */
    uint64_t seq;
};

static inline bool hf_node_is(hf_node n)
{
    return n.ix < HF_NODES_MAX;
}
static inline bool hf_node_same(hf_node a, hf_node b)
{
    return a.ix == b.ix;
}
static inline bool hf_vm_is(hf_vm v)
{
    return v.ix < HF_VMS_MAX;
}
static inline hf_nodes hf_bit(hf_node n)
{
    return (hf_nodes)(hf_node_is(n) ? 1u << n.ix : 0u);
}
static inline bool hf_nodes_has(hf_nodes set, hf_node n)
{
    return (set & hf_bit(n)) != 0;
}
static inline unsigned hf_nodes_count(hf_nodes set)
{
    return (unsigned)__builtin_popcount(set);
}
/* Lowest node of a set; HF_NO_NODE when empty. */
static inline hf_node hf_nodes_first(hf_nodes set)
{
    if (set == 0)
        return HF_NO_NODE;
    return (hf_node){(uint8_t)__builtin_ctz(set)};
}
static inline bool hf_token_same(struct hf_token a, struct hf_token b)
{
    return a.seq == b.seq && a.nth == b.nth;
}
static inline bool hf_token_is(struct hf_token t)
{
    return t.nth != 0;
}
static inline bool hf_view_same(struct hf_view a, struct hf_view b)
{
    return a.leader == b.leader && a.seq == b.seq;
}
static inline bool hf_boot_same(const struct hf_boot *a, const struct hf_boot *b)
{
    return __builtin_memcmp(a->id, b->id, sizeof a->id) == 0;
}

#endif
