/* options.h - everything a seed draws before its run begins. All of it is printed with the seed. */
#ifndef TESTS_SIM_OPTIONS_H
#define TESTS_SIM_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "supervisord/model/group.h"
#include "tests/sim/faults.h"

/* Raise when the same seed no longer gives the same run: kept seeds then name another generator. */
enum { SIM_GENERATOR = 3 };

enum { SIM_VMS_MAX = 48 }; /* uids a run may ever use: the truth is kept by uid */

struct sim_options {
    uint64_t seed;
    unsigned generator;
    uint8_t nodes;    /* 3..5 */
    uint8_t vms;      /* added at the start */
    uint32_t minutes; /* of the safety phase */
    uint32_t token_ms;
    uint32_t beat_ms, mute_after_ms, hello_wait_ms, resend_ms;
    int32_t skew_ppm[HF_NODES_MAX];
    uint32_t memory_mib; /* per host */
    uint8_t fence_levels;
    struct hf_policy policy;
    bool is_random;        /* faults are drawn; off for scenarios */
    bool has_operator;     /* orders are drawn */
    bool is_armed_late;    /* armed only by chance, not at the start */
    uint32_t fault_gap_ms; /* mean distance of faults */
    uint32_t weight[FAULTS];
    uint32_t net_us;           /* longest usual way of a message */
    uint32_t client_us;        /* longest usual delay of a daemon's loop */
    uint32_t bmc_ms;           /* longest usual fence run */
    uint32_t libvirt_ms;       /* longest usual create */
    uint32_t report_ms;        /* longest usual delay of an agent's record */
    uint32_t drop_permille;    /* accepted messages that vanish */
    uint32_t corrupt_permille; /* messages with a flipped bit, the same for all */
    uint32_t ghost_permille;   /* lost members that stay in the CPG list */
    uint32_t last_permille;    /* cuts that come right after a message of the node */
    uint32_t repeat_permille;  /* agents' records that come twice */
    uint32_t boot_ms_min, boot_ms_max;
    uint32_t journal_lag; /* newest records a crash may lose */
    bool has_liar;        /* a marked limit: lying BMC or a wrong confirm may occur */
    bool has_watchdog;
    hf_nodes wd_none;     /* nodes whose section says `watchdog: no` */
    hf_nodes wd_nowayout; /* a device that cannot be stopped once it runs */
    uint32_t wd_timeout_ms, lease_ms;
    uint32_t wd_round_ms;          /* the driver knows multiples of this only */
    int32_t wd_ppm[HF_NODES_MAX];  /* the devices' own clocks */
    uint8_t wd_kind[HF_NODES_MAX]; /* enum dog_kind */
    uint8_t fast_node;             /* whose clock runs away; 0xff = nobody's */
    bool has_stranger;             /* another process in the group, under a node's name */
    bool has_nics;                 /* every host names a PF in both fabrics */
    uint32_t nic_hold_ms;          /* hold-down of a PF that came back */
};

/* `generator` 0 is today's; what generator 2 drew is still drawn (before there were NICs). */
void options_draw(struct sim_options *opt, uint64_t seed, unsigned generator);
/* Defaults for a scenario: three nodes, no chance at all. */
void options_plain(struct sim_options *opt);
/* "key value" of a scenario's config; false: unknown key or bad value. */
bool options_set(struct sim_options *opt, const char *key, const char *value);
void options_print(const struct sim_options *opt, FILE *to);
void options_group(const struct sim_options *opt, struct hf_group *group);
/* Time in which L1 and L2 must be reached after the core is healed. */
uint64_t options_budget_ms(const struct sim_options *opt);

#endif
