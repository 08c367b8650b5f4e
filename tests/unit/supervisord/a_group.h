/* a_group.h - the group that tests mean when any will do: n1, n2, ... with one fence level each,
 * and the VM that they mean when any will do. */
#ifndef TESTS_UNIT_SUPERVISORD_A_GROUP_H
#define TESTS_UNIT_SUPERVISORD_A_GROUP_H

#include <stdio.h>

#include "supervisord/model/group.h"

static inline struct hf_group a_group(uint8_t nodes)
{
    struct hf_group g = {.name = "colo", .nodes_count = nodes};

    for (uint8_t n = 0; n < nodes; n++) {
        (void)snprintf(g.nodes[n].name, sizeof g.nodes[n].name, "n%u", n + 1u);
        g.nodes[n].nodeid = n + 1u;
        g.nodes[n].fence_levels = 1;
        g.nodes[n].reserve_mib = 1024;
        g.nodes[n].has_watchdog = true;
        g.nodes[n].fabrics = 3;
    }
    g.policy = (struct hf_policy){.silent_grace_ms = 10000,
                                  .startup_grace_ms = 60000,
                                  .fence_deadline_ms = 60000,
                                  .start_deadline_ms = 60000,
                                  .stop_deadline_ms = 30000,
                                  .stable_ms = 600000,
                                  .maintenance_max_ms = 14400000,
                                  .hold_max_ms = 60000,
                                  .settle_ms = 10000,
                                  .flap_window_ms = 600000,
                                  .storm_window_ms = 600000,
                                  .leg_move_ms = 5000,
                                  .storm_fences = 3,
                                  .returns_max = 4,
                                  .fence_retry_ms = {1000, 5000},
                                  .fence_retry_count = 2,
                                  .restart_backoff_ms = {0, 2000, 10000},
                                  .restart_backoff_count = 3};
    return g;
}

static inline struct hf_vm_def a_vm(const char *name)
{
    struct hf_vm_def def = {.memory_mib = 4096,
                            .priority = 100,
                            .preferred = HF_NO_NODE,
                            .restarts_here = 2,
                            .restarts_max = 4,
                            .stop_grace_ms = 5000,
                            .xml_bytes = 100};

    (void)snprintf(def.name, sizeof def.name, "%s", name);
    return def;
}

#endif
