/* world.h - what is physically so: power, BMCs, hosts, qemu processes, libvirt and the VM agents
 * that look at them. Nothing here knows what the engine believes. */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/engine/engine.h"
#include "supervisord/model/ids.h"
#include "tests/sim/card.h"
#include "tests/sim/dog.h"
#include "tests/sim/options.h"

enum bmc_mood { BMC_OK = 0, BMC_SLOW, BMC_HUNG, BMC_REFUSES, BMC_DEAD, BMC_LIES };

enum vm_end {
    VM_END_CRASH = 0,
    VM_END_SHUTDOWN,
    VM_END_BY_HAND,
    VM_END_ORDERED,
    VM_END_POWER,
    VM_END_SELF /* its host's lease is over */
};

enum libvirt_mood { LIBVIRT_OK = 0, LIBVIRT_SLOW, LIBVIRT_HUNG, LIBVIRT_REFUSES };

struct vm_process {
    bool is_running;
    bool is_stuck;     /* D state: nothing ends it but power */
    uint32_t start_no; /* 0: started by hand */
    uint32_t gen;
    int64_t since;
    uint64_t known_seq; /* started by hand: the step that told the engine; 0 = not yet */
};

enum vm_op_kind { VM_OP_NONE = 0, VM_OP_START, VM_OP_STOP };

/* What the agent of a host is doing with one VM; one thing at a time. */
struct vm_op {
    enum vm_op_kind kind;
    struct hf_token token;
    uint32_t start_no;
    uint32_t gen;
    bool gave_up; /* told the daemon so; still watching */
};

/* A create that libvirt has taken: goes on when the agent dies. */
struct vm_create {
    bool is_going;
    bool is_waiting; /* libvirt hangs */
    struct hf_token token;
    uint32_t start_no;
    uint32_t gen;
};

struct host {
    bool is_on;     /* power */
    bool is_up;     /* its system runs */
    uint32_t boots; /* names the boot id */
    uint32_t gen;   /* of power: rises with every loss */
    int64_t clock_offset;
    enum bmc_mood bmc[HF_FENCE_LEVELS_MAX];
    uint8_t wired[HF_FENCE_LEVELS_MAX]; /* whose power these devices switch: their own, or not */
    bool no_forks;                      /* no process can be started there */
    struct dog dog;
    struct dog_feeder feeder;
    bool feeder_fails; /* its service does not start */
    struct card card;
    enum libvirt_mood libvirt;
    bool agent_alive;
    bool agent_fresh; /* has told its daemon everything */
    bool agent_paused;
    uint32_t agent_gen;
    struct vm_process vm[SIM_VMS_MAX];
    struct vm_op op[SIM_VMS_MAX];
    struct vm_create create[SIM_VMS_MAX];
    struct hf_token started[SIM_VMS_MAX]; /* newest order executed; the agent keeps it over its own
                                             restarts, in this boot */
};

struct vm_truth {
    bool is_known;  /* uid in use */
    bool is_crashy; /* its qemu dies soon after every start */
    bool refuses;   /* libvirt refuses to start it, everywhere */
    uint16_t memory_mib;
    char name[16];
};

struct world {
    struct host host[HF_NODES_MAX];
    bool fabric_down[HF_FABRICS_MAX];
    struct vm_truth vm[SIM_VMS_MAX];
};

struct sim;
struct sim_event;
void world_open(struct sim *s);

/* Power and hosts. */
void world_power_off(struct sim *s, hf_node n, const char *why);
void world_power_on(struct sim *s, hf_node n, int64_t boot_ns);
void world_host_up(struct sim *s, hf_node n);
struct hf_boot world_boot(const struct sim *s, hf_node n);

/* Fencing: one run of a fence agent. Ends as SIM_FENCE on the actor. */
void world_fence(struct sim *s, hf_node actor, hf_node target, uint8_t level, uint32_t slot,
                 uint32_t gen, bool power_on);
/* A test of one level, without effect: what it will find, and after how long. */
struct hf_report;
int64_t world_test(struct sim *s, hf_node target, uint8_t level, uint32_t deadline_ms,
                   struct hf_report *tested);
/* What a host's system UUID comes to. */
uint64_t world_hardware(hf_node n);
/* Its VM agent is told to end every VM. False: no agent is there. */
bool world_self_stop(struct sim *s, hf_node n);

/* VMs: what the agent is told and what happens by itself. */
void world_vm_order(struct sim *s, hf_node n, const struct hf_effect *fx);
void world_vm_end(struct sim *s, hf_node n, hf_vm_uid uid, enum vm_end how);
void world_vm_by_hand(struct sim *s, hf_node n, hf_vm_uid uid);
void world_agent_kill(struct sim *s, hf_node n);
void world_agent_up(struct sim *s, hf_node n);
void world_libvirt(struct sim *s, hf_node n, enum libvirt_mood mood);
/* The agent's view: does it know anything now? */
bool world_watch_known(const struct sim *s, hf_node n);
/* The agent tells everything, as soon as it honestly can. */
void world_tell_inventory(struct sim *s, hf_node n);
hf_nodes world_running_on(const struct sim *s, hf_vm_uid uid);
bool world_runs_by_hand(const struct sim *s, hf_vm_uid uid);
void world_event(struct sim *s, const struct sim_event *ev);

#endif
