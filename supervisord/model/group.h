/* group.h - what the decisions need to know of the configuration.
 * Everything else of the cluster file (fence parameters, sockets) travels as text, named by digest,
 * and is read by the shells (config/config.h). All durations in milliseconds. */
#ifndef SUPERVISORD_MODEL_GROUP_H
#define SUPERVISORD_MODEL_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/base/digest.h"
#include "supervisord/model/ids.h"
#include "supervisord/model/limits.h"
#include "supervisord/model/nic.h"

struct hf_node_def {
    char name[HF_NAME_MAX + 1];
    uint32_t nodeid;      /* corosync's, 1..65535 */
    uint8_t fence_levels; /* 0: cannot be fenced */
    uint32_t reserve_mib; /* memory never given to VMs */
    bool has_watchdog;    /* its feeder is to arm one while VMs may be here */
    hf_legs fabrics;      /* it names a NIC in these */
};

/* How long survivors wait until a lost node's watchdog has certainly fired: the newest echoed
 * heartbeat keeps it fed for `lease_ms`; the feeder may pass its check just before, be paused for
 * almost a whole timeout, ping once more, and the device fires one timeout later; clocks differ by
 * 1 % at most; the reset itself takes up to 1 s. Derivation: fencing/README.md. */
static inline uint32_t hf_safe_time_ms(uint32_t lease_ms, uint32_t watchdog_ms)
{
    uint64_t wait = (uint64_t)lease_ms + 2 * (uint64_t)watchdog_ms;

    wait += (wait + 99) / 100 + 1000;
    return wait > UINT32_MAX ? UINT32_MAX : (uint32_t)wait;
}

/* What the feeder of every node with `watchdog: yes` is told. */
struct hf_watchdog_conf {
    bool is_used; /* false: no feeder arms anything, and time proves nothing */
    bool allow_softdog;
    uint32_t timeout_ms; /* wanted from the driver, whole seconds */
    uint32_t lease_ms;   /* a beat that the group echoed keeps the watchdog fed for so long */
    hf_nodes nodes;      /* their sections say `watchdog: yes`; def.has_watchdog is with is_used */
    char device[HF_DEVICE_PATH_MAX + 1];
};

struct hf_policy {
    uint32_t silent_grace_ms;   /* daemon gone, host alive: so long before it counts as lost */
    uint32_t startup_grace_ms;  /* after a cold start: so long before absent nodes are fenced */
    uint32_t fence_deadline_ms; /* one fence order, all its devices; then the next executor */
    uint32_t start_deadline_ms;
    uint32_t stop_deadline_ms;   /* added to the VM's own grace; VF clean-up takes 5 s */
    uint32_t stable_ms;          /* running so long clears the failure counters */
    uint32_t maintenance_max_ms; /* a drain ends by itself, with an alarm */
    uint32_t hold_max_ms;        /* an announced absence of the daemon or of corosync */
    uint32_t safe_time_ms;       /* the owner's own, longer wait for a watchdog; 0 = computed */
    uint32_t settle_ms;          /* who came back twice must stay so long before it gets VMs */
    uint32_t flap_window_ms;     /* no return for so long: earlier ones are forgotten */
    uint32_t storm_window_ms;    /* storm_fences nodes fenced within it: no more without a person */
    uint32_t leg_move_ms;        /* every leg of a VM dead here, alive elsewhere: then it moves */
    uint8_t storm_fences;
    uint8_t returns_max; /* so many returns in a row: no VMs until an operator says so */
    uint32_t fence_retry_ms[HF_BACKOFFS_MAX]; /* the last value repeats */
    uint8_t fence_retry_count;
    uint32_t restart_backoff_ms[HF_BACKOFFS_MAX];
    uint8_t restart_backoff_count;
};

struct hf_group {
    char name[HF_NAME_MAX + 1];
    uint8_t nodes_count;
    struct hf_node_def nodes[HF_NODES_MAX];
    struct hf_policy policy;
    struct hf_digest config; /* of the canonical text this was read from */
};

/* One VM as its owner describes it. The domain XML is kept beside the state, by digest. */
struct hf_vm_def {
    char name[HF_NAME_MAX + 1]; /* also libvirt's domain name */
    struct hf_digest xml;
    uint32_t xml_bytes;
    uint32_t memory_mib;            /* > 0: promised on its node */
    uint16_t priority;              /* ..HF_PRIORITY_MAX, higher starts first */
    char apart[HF_NAME_MAX + 1];    /* anti-affinity group, "" = none: never two of it on a node */
    char together[HF_NAME_MAX + 1]; /* affinity group, "" = none: all of it on one node */
    hf_nodes allowed;               /* 0 = every node */
    hf_node preferred;              /* HF_NO_NODE = none */
    uint8_t restarts_here;          /* failures on one node before it tries elsewhere */
    uint8_t restarts_max;           /* failures in all (since stable) before it is failed */
    uint32_t stop_grace_ms;         /* guest shutdown time before destroy; 0 = destroy at once */
    hf_legs legs;                   /* fabrics it has a leg in, from its XML */
};

#endif
