/* sim.h - one simulated group: options, the event queue, and what its parts know of each other.
 * Everything random comes from one seeded generator, every time from `now`: the same seed gives the
 * same run on every machine. Refuses real clocks, threads and the engine's opinions as truth. */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "supervisord/base/rng.h"
#include "supervisord/cluster/replica.h"
#include "supervisord/engine/engine.h"
#include "supervisord/model/group.h"
#include "tests/sim/card.h"
#include "tests/sim/checker.h"
#include "tests/sim/cluster.h"
#include "tests/sim/dog.h"
#include "tests/sim/faults.h"
#include "tests/sim/node.h"
#include "tests/sim/options.h"
#include "tests/sim/queue.h"
#include "tests/sim/world.h"

#define SIM_MS(ms_) ((int64_t)(ms_)*HF_NS_PER_MS)
#define SIM_FOREVER INT64_MAX

struct sim_log {
    bool is_on;      /* lines are made at all */
    bool is_printed; /* as they come */
    char (*tail)[200];
    uint32_t tail_count, tail_cap;
};

struct sim {
    struct sim_options opt;
    struct hf_group group;
    struct hf_rng rng;
    int64_t now;       /* true time, ns */
    int64_t skipped;   /* ns of quiet that no clock has seen */
    int64_t last_busy; /* when something other than a beat last happened */
    struct queue queue;
    struct totem totem;
    struct world world;
    struct sim_node node[HF_NODES_MAX];
    struct checker check;
    struct fault_state faults;
    struct sim_log log;
    uint64_t steps;         /* engine steps of all replicas */
    uint32_t events_minute; /* of the queue, since the last whole minute */
    bool is_failed;
    bool shows_limit; /* something lied that no software can see through */
    bool is_limit;    /* and then the run failed: not a violation */
    char why[300];
};

/* sim.c */
void sim_open(struct sim *s, const struct sim_options *opt, const struct sim_log *log);
void sim_close(struct sim *s);
/* Handle one event; false when the run failed or nothing is left before `until`. */
bool sim_run_until(struct sim *s, int64_t until);
/* The whole swarm run of one seed: safety phase, then liveness phase. */
void sim_run_seed(struct sim *s);
void sim_busy(struct sim *s);
void sim_fail(struct sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sim_say(struct sim *s, int node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define SAY(s_, node_, ...)                                                                        \
    do {                                                                                           \
        if ((s_)->log.is_on)                                                                       \
            sim_say((s_), (node_), __VA_ARGS__);                                                   \
    } while (0)

static inline bool sim_chance(struct sim *s, uint32_t permille)
{
    return hf_rng_permille(&s->rng, permille);
}
static inline int64_t sim_between(struct sim *s, int64_t low, int64_t high)
{
    return hf_rng_between(&s->rng, low, high);
}
/* A delay in ns, drawn in microseconds. */
static inline int64_t sim_us(struct sim *s, int64_t low, int64_t high)
{
    return hf_rng_between(&s->rng, low, high) * 1000;
}
static inline int64_t sim_ms(struct sim *s, int64_t low, int64_t high)
{
    return hf_rng_between(&s->rng, low * 1000, high * 1000) * 1000;
}
static inline hf_nodes sim_all(const struct sim *s)
{
    return (hf_nodes)((1u << s->opt.nodes) - 1u);
}
static inline bool sim_is_majority(const struct sim *s, hf_nodes set)
{
    return 2 * hf_nodes_count(set) > s->opt.nodes;
}
/* One node at most has a clock that runs away or jumps: with two, a majority of three can be wrong.
 */
static inline hf_node sim_odd_node(const struct sim *s)
{
    uint8_t n = s->opt.fast_node != 0xff ? s->opt.fast_node : (uint8_t)(s->opt.seed % s->opt.nodes);
    return (hf_node){n};
}
/* No clock runs away or jumps: timers that end at the first node's word end in time. */
static inline bool sim_clocks_are_fair(const struct sim *s)
{
    return s->opt.fast_node == 0xff && s->opt.weight[FAULT_K1] == 0;
}
static inline hf_node sim_node_at(unsigned ix)
{
    return (hf_node){(uint8_t)ix};
}

#endif
