#include "tests/sim/options.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "supervisord/base/rng.h"
#include "supervisord/base/str.h"
#include "tests/sim/dog.h"

static uint32_t one_of(struct hf_rng *r, uint32_t count, const uint32_t *values)
{
    return values[hf_rng_below(r, count)];
}
#define ONE_OF(r_, ...)                                                                            \
    one_of((r_), sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (uint32_t[]){__VA_ARGS__})

static void draw_policy(struct hf_rng *r, struct hf_policy *p)
{
    p->silent_grace_ms = ONE_OF(r, 3000, 10000, 30000, 60000);
    p->startup_grace_ms = ONE_OF(r, 20000, 60000, 120000);
    p->fence_deadline_ms = ONE_OF(r, 10000, 20000, 60000);
    p->start_deadline_ms = ONE_OF(r, 10000, 30000, 60000);
    p->stop_deadline_ms = ONE_OF(r, 20000, 30000, 60000);
    p->stable_ms = ONE_OF(r, 30000, 120000, 600000);
    p->maintenance_max_ms = ONE_OF(r, 120000, 600000, 3600000);
    p->fence_retry_count = (uint8_t)hf_rng_between(r, 1, 4);
    for (unsigned i = 0; i < p->fence_retry_count; i++)
        p->fence_retry_ms[i] = ONE_OF(r, 2000, 5000, 15000) * (i + 1);
    p->restart_backoff_count = (uint8_t)hf_rng_between(r, 1, 4);
    for (unsigned i = 0; i < p->restart_backoff_count; i++)
        p->restart_backoff_ms[i] = ONE_OF(r, 100, 1000, 10000) * (i + 1);
    p->hold_max_ms = ONE_OF(r, 30000, 60000, 300000);
    p->settle_ms = ONE_OF(r, 1000, 10000, 60000);
    p->flap_window_ms = ONE_OF(r, 60000, 600000, 1800000);
    p->returns_max = (uint8_t)ONE_OF(r, 2, 4, 8, 255);
    p->storm_window_ms = ONE_OF(r, 60000, 600000, 1800000);
    p->storm_fences = (uint8_t)ONE_OF(r, 1, 2, 3, 5, 255);
}

/* A lease outlives three beats, as the config check demands, and mostly a change of the ring. */
static void draw_watchdog(struct hf_rng *r, struct sim_options *opt)
{
    bool is_tight = hf_rng_permille(r, 200);
    uint32_t ring = 22 * opt->token_ms / 10 + 2 * opt->beat_ms + opt->hello_wait_ms;
    opt->has_watchdog = hf_rng_permille(r, 750);
    opt->wd_timeout_ms = ONE_OF(r, 1000, 3000, 5000, 5000, 10000, 20000);
    opt->lease_ms = ONE_OF(r, 3, 3, 5, 8) * opt->beat_ms;
    if (!is_tight && opt->lease_ms < ring)
        opt->lease_ms = ring;
    opt->wd_round_ms = ONE_OF(r, 1, 1, 1000, 7000, 2 * opt->wd_timeout_ms);
    for (unsigned i = 0; i < HF_NODES_MAX; i++) {
        opt->wd_ppm[i] = (int32_t)hf_rng_between(r, -4000, 4000);
        opt->wd_kind[i] = hf_rng_permille(r, 80)
                              ? (uint8_t)ONE_OF(r, DOG_ABSENT, DOG_BUSY, DOG_SOFT, DOG_STUCK)
                              : DOG_GOOD;
        if (opt->has_liar && hf_rng_permille(r, 200))
            opt->wd_kind[i] = DOG_DEAF;
        if (hf_rng_permille(r, 50))
            opt->wd_none |= (hf_nodes)(1u << i);
        if (hf_rng_permille(r, 100))
            opt->wd_nowayout |= (hf_nodes)(1u << i);
    }
    opt->wd_none &= (hf_nodes)((1u << opt->nodes) - 1u);
    if (opt->has_watchdog && opt->wd_none == 0 && hf_rng_permille(r, 300))
        opt->fence_levels = 0; /* time is the only proof */
    if (hf_rng_permille(r, 300))
        opt->policy.safe_time_ms =
            hf_safe_time_ms(opt->lease_ms, opt->wd_timeout_ms) + ONE_OF(r, 0, 1000, 30000);
}

/* From a generator of its own: a seed without NICs is the run that it was before there were any. */
static void draw_nics(struct sim_options *opt)
{
    struct hf_rng rng = hf_rng_seeded(opt->seed ^ 0xca4du);
    struct hf_rng *r = &rng;
    opt->has_nics = hf_rng_permille(r, 600) && opt->generator >= 3;
    opt->nic_hold_ms = ONE_OF(r, 1000, 5000, 30000);
    opt->policy.leg_move_ms = ONE_OF(r, 1000, 2000, 5000, 30000);
    for (unsigned i = FAULT_N1; i <= FAULT_N10 && opt->has_nics; i++)
        opt->weight[i] = hf_rng_permille(r, 500) ? (uint32_t)hf_rng_between(r, 1, 15) : 0;
}

void options_draw(struct sim_options *opt, uint64_t seed, unsigned generator)
{
    struct hf_rng rng = hf_rng_seeded(seed ^ 0x5ee0u);
    struct hf_rng *r = &rng;
    memset(opt, 0, sizeof *opt);
    opt->seed = seed;
    opt->generator = generator == 0 || generator > SIM_GENERATOR ? SIM_GENERATOR : generator;
    opt->nodes = (uint8_t)ONE_OF(r, 3, 3, 3, 3, 4, 5);
    opt->vms = (uint8_t)hf_rng_between(r, 1, 10);
    opt->minutes = 60;
    opt->token_ms = ONE_OF(r, 500, 1000, 1000, 2000);
    opt->beat_ms = ONE_OF(r, 500, 1000, 2000, 5000, 10000);
    opt->mute_after_ms = opt->beat_ms * ONE_OF(r, 3, 4, 6);
    opt->hello_wait_ms = ONE_OF(r, 300, 1000, 3000);
    opt->resend_ms = ONE_OF(r, 200, 1000, 2000, 4000);
    for (unsigned i = 0; i < HF_NODES_MAX; i++)
        opt->skew_ppm[i] = (int32_t)hf_rng_between(r, -2000, 2000);
    opt->memory_mib = ONE_OF(r, 16384, 32768, 65536);
    opt->fence_levels = (uint8_t)ONE_OF(r, 1, 1, 2, 3);
    draw_policy(r, &opt->policy);
    if (opt->policy.silent_grace_ms < 2 * opt->mute_after_ms) /* as the config check demands */
        opt->policy.silent_grace_ms = 2 * opt->mute_after_ms;
    opt->is_random = true;
    opt->has_operator = hf_rng_permille(r, 700);
    opt->is_armed_late = hf_rng_permille(r, 100);
    opt->fault_gap_ms = ONE_OF(r, 20000, 60000, 180000, 300000, 600000);
    for (unsigned i = 0; i < FAULT_N1; i++)
        opt->weight[i] = hf_rng_permille(r, 350) ? (uint32_t)hf_rng_between(r, 1, 10) : 0;
    opt->net_us = ONE_OF(r, 300, 1000, 5000, 50000);
    opt->client_us = ONE_OF(r, 50, 500, 5000, 100000);
    opt->bmc_ms = ONE_OF(r, 500, 3000, 9000);
    opt->libvirt_ms = ONE_OF(r, 300, 2000, 12000);
    opt->report_ms = ONE_OF(r, 1, 20, 500, 5000);
    opt->drop_permille = ONE_OF(r, 0, 0, 1, 5, 20);
    opt->corrupt_permille = ONE_OF(r, 0, 0, 0, 0, 2);
    opt->ghost_permille = ONE_OF(r, 0, 0, 50, 400);
    opt->last_permille = ONE_OF(r, 0, 200, 500);
    opt->repeat_permille = ONE_OF(r, 0, 0, 20, 200);
    opt->boot_ms_min = ONE_OF(r, 3000, 20000, 40000);
    opt->boot_ms_max = opt->boot_ms_min * ONE_OF(r, 1, 2, 5);
    opt->journal_lag = ONE_OF(r, 0, 3, 15, 63);
    opt->has_liar = hf_rng_permille(r, 20);
    draw_watchdog(r, opt);
    opt->fast_node = 0xff;
    if (hf_rng_permille(r, 150)) { /* broken, but only forwards: a slow clock stretches its lease */
        opt->fast_node = (uint8_t)hf_rng_below(r, opt->nodes);
        opt->skew_ppm[opt->fast_node] = (int32_t)ONE_OF(r, 50000, 300000, 1000000);
    }
    opt->has_stranger = hf_rng_permille(r, 400);
    draw_nics(opt);
}

void options_plain(struct sim_options *opt)
{
    *opt = (struct sim_options){
        .seed = 1,
        .nodes = 3,
        .minutes = 60,
        .token_ms = 1000,
        .beat_ms = 1000,
        .mute_after_ms = 4000,
        .hello_wait_ms = 1000,
        .resend_ms = 2000,
        .memory_mib = 32768,
        .fence_levels = 1,
        .net_us = 300,
        .client_us = 100,
        .bmc_ms = 1000,
        .libvirt_ms = 500,
        .report_ms = 5,
        .boot_ms_min = 20000,
        .boot_ms_max = 20000,
        .journal_lag = 3,
        .wd_timeout_ms = 5000,
        .lease_ms = 5000,
        .wd_round_ms = 1,
        .fast_node = 0xff,
        .nic_hold_ms = 5000,
        .policy = {.leg_move_ms = 5000,
                   .silent_grace_ms = 10000,
                   .startup_grace_ms = 60000,
                   .fence_deadline_ms = 20000,
                   .start_deadline_ms = 30000,
                   .stop_deadline_ms = 20000,
                   .stable_ms = 60000,
                   .maintenance_max_ms = 3600000,
                   .hold_max_ms = 60000,
                   .settle_ms = 10000,
                   .flap_window_ms = 600000,
                   .returns_max = 4,
                   .storm_window_ms = 600000,
                   .storm_fences = 3,
                   .fence_retry_ms = {5000, 10000},
                   .fence_retry_count = 2,
                   .restart_backoff_ms = {1000, 5000},
                   .restart_backoff_count = 2},
    };
}

/* ---- keys: one list for config files, for reading and for printing ---- */

struct key {
    const char *name;
    size_t at;
    uint8_t size;
};
#define KEY(field_)                                                                                \
    {                                                                                              \
#field_, offsetof(struct sim_options, field_), sizeof(((struct sim_options *)0)->field_)   \
    }
#define POLICY(field_)                                                                             \
    {                                                                                              \
#field_, offsetof(struct sim_options, policy.field_),                                      \
            sizeof(((struct sim_options *)0)->policy.field_)                                       \
    }

static const struct key keys[] = {
    KEY(seed),
    KEY(nodes),
    KEY(vms),
    KEY(minutes),
    KEY(token_ms),
    KEY(beat_ms),
    KEY(mute_after_ms),
    KEY(hello_wait_ms),
    KEY(resend_ms),
    KEY(memory_mib),
    KEY(fence_levels),
    POLICY(silent_grace_ms),
    POLICY(startup_grace_ms),
    POLICY(fence_deadline_ms),
    POLICY(start_deadline_ms),
    POLICY(stop_deadline_ms),
    POLICY(stable_ms),
    POLICY(maintenance_max_ms),
    POLICY(hold_max_ms),
    POLICY(safe_time_ms),
    POLICY(settle_ms),
    POLICY(flap_window_ms),
    POLICY(returns_max),
    POLICY(storm_window_ms),
    POLICY(storm_fences),
    POLICY(leg_move_ms),
    KEY(is_random),
    KEY(has_operator),
    KEY(is_armed_late),
    KEY(fault_gap_ms),
    KEY(net_us),
    KEY(client_us),
    KEY(bmc_ms),
    KEY(libvirt_ms),
    KEY(report_ms),
    KEY(drop_permille),
    KEY(corrupt_permille),
    KEY(ghost_permille),
    KEY(last_permille),
    KEY(repeat_permille),
    KEY(boot_ms_min),
    KEY(boot_ms_max),
    KEY(journal_lag),
    KEY(has_liar),
    KEY(has_watchdog),
    KEY(wd_none),
    KEY(wd_nowayout),
    KEY(wd_timeout_ms),
    KEY(lease_ms),
    KEY(wd_round_ms),
    KEY(fast_node),
    KEY(has_stranger),
    KEY(has_nics),
    KEY(nic_hold_ms),
};

static uint64_t key_get(const struct sim_options *opt, const struct key *key)
{
    const uint8_t *at = (const uint8_t *)opt + key->at;
    uint64_t value = 0;
    memcpy(&value, at, key->size); /* little-endian machines only, as all this product's are */
    return value;
}

bool options_set(struct sim_options *opt, const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        uint64_t number;
        if (strcmp(keys[i].name, name) != 0)
            continue;
        uint64_t most = keys[i].size >= 8 ? UINT64_MAX : (1ull << (8 * keys[i].size)) - 1;
        if (!hf_str_to_u64(value, most, &number))
            return false;
        memcpy((uint8_t *)opt + keys[i].at, &number, keys[i].size);
        return true;
    }
    return false;
}

void options_print(const struct sim_options *opt, FILE *to)
{
    fprintf(to, "options (generator %u):", opt->generator);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        fprintf(to, " %s=%llu", keys[i].name, (unsigned long long)key_get(opt, &keys[i]));
    fprintf(to, " fence_retry_ms=");
    for (unsigned i = 0; i < opt->policy.fence_retry_count; i++)
        fprintf(to, "%s%u", i ? "," : "", opt->policy.fence_retry_ms[i]);
    fprintf(to, " restart_backoff_ms=");
    for (unsigned i = 0; i < opt->policy.restart_backoff_count; i++)
        fprintf(to, "%s%u", i ? "," : "", opt->policy.restart_backoff_ms[i]);
    fprintf(to, " skew_ppm=");
    for (unsigned i = 0; i < opt->nodes; i++)
        fprintf(to, "%s%d", i ? "," : "", opt->skew_ppm[i]);
    fprintf(to, " wd_kind=");
    for (unsigned i = 0; i < opt->nodes; i++)
        fprintf(to, "%s%u", i ? "," : "", opt->wd_kind[i]);
    fprintf(to, " faults=");
    for (unsigned i = 0; i < FAULTS; i++)
        if (opt->weight[i] != 0)
            fprintf(to, "%s:%u ", fault_id((enum fault)i), opt->weight[i]);
    fprintf(to, "\n");
}

void options_group(const struct sim_options *opt, struct hf_group *group)
{
    memset(group, 0, sizeof *group);
    hf_str_copy(group->name, sizeof group->name, "sim");
    group->nodes_count = opt->nodes;
    for (unsigned i = 0; i < opt->nodes; i++) {
        struct hf_node_def *def = &group->nodes[i];
        def->name[0] = (char)('a' + i);
        def->nodeid = 1 + i;
        def->fence_levels = opt->fence_levels;
        def->reserve_mib = 1024;
        def->fabrics = opt->has_nics ? 3 : 0;
        def->has_watchdog = opt->has_watchdog && (opt->wd_none >> i & 1u) == 0;
    }
    group->policy = opt->policy;
    group->config.b[0] = 0xc0;
}

uint64_t options_budget_ms(const struct sim_options *opt)
{
    const struct hf_policy *p = &opt->policy;
    uint64_t retry = p->fence_retry_ms[p->fence_retry_count - 1];
    uint64_t backoff = p->restart_backoff_ms[p->restart_backoff_count - 1];
    uint64_t detect = 10ull * opt->token_ms + 2ull * opt->mute_after_ms +
                      10ull * opt->hello_wait_ms + 4ull * opt->resend_ms;
    uint64_t fence = (uint64_t)opt->nodes * opt->fence_levels * (p->fence_deadline_ms + retry);
    uint64_t start = 20ull * (p->start_deadline_ms + backoff + opt->report_ms) +
                     2ull * p->stop_deadline_ms + 60000;
    uint64_t longer = p->safe_time_ms > p->hold_max_ms ? p->safe_time_ms : p->hold_max_ms;
    uint64_t safe = opt->lease_ms + 4ull * (opt->wd_timeout_ms + opt->wd_round_ms) + longer;
    return 2 * (detect + p->startup_grace_ms + p->silent_grace_ms + fence + start + safe) +
           p->flap_window_ms + 2 * p->leg_move_ms + 600000;
}
