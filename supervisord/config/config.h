/* config.h - the cluster file: read strictly, printed canonically.
 * One file for the whole group, the same on every node. Syntax as corosync.conf's: `section {`,
 * `section name {`, `key: value`, `}`, `#` comments, one statement a line; durations with their
 * unit; etc/holdfast.conf.example shows all of it. Unknown keys, duplicates and bad values are
 * refused with file, line, column, what was expected and the nearest known word. Secrets are never
 * in it: a fence device names a credentials file.
 * The canonical print parses again to the same value, and its SHA-256 names the configuration.
 */
#ifndef SUPERVISORD_CONFIG_CONFIG_H
#define SUPERVISORD_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisord/base/err.h"
#include "supervisord/model/group.h"
#include "supervisord/model/limits.h"
#include "supervisord/model/nic.h"

struct hf_fence_param {
    char key[32];
    char value[HF_PARAM_VALUE_MAX + 1]; /* no newline, no control character */
};

/* One run of one fence agent against one plug. */
struct hf_fence_device {
    char name[HF_NAME_MAX + 1];
    char agent[HF_NAME_MAX + 1];       /* ^fence_[a-z0-9_]+$, found in the agents' directory */
    char credentials[HF_NAME_MAX + 1]; /* file name below /etc/holdfast/fence.d, "" = none */
    uint8_t params_count;              /* never action, never a password */
    struct hf_fence_param params[HF_FENCE_PARAMS_MAX];
};

struct hf_fence_level {
    uint8_t devices_count;                /* all of them must read off */
    uint8_t device[HF_FENCE_DEVICES_MAX]; /* indexes into hf_config.devices */
};

struct hf_fence_plan {
    uint8_t levels_count;
    struct hf_fence_level level[HF_FENCE_LEVELS_MAX];
};

enum { HF_DEVICES_MAX = HF_NODES_MAX * HF_FENCE_LEVELS_MAX };

enum { HF_NICS_PEERS_MAX = 4 }; /* two switches, two routers */

/* The nodes' network cards, by node index and fabric. group.nodes[].fabrics says who has which. */
struct hf_nics_conf {
    bool is_used; /* some node names a NIC; else nobody looks at any */
    uint32_t poll_us;
    uint32_t hold_down_ms, hold_down_max_ms; /* what came back is not trusted for so long */
    uint32_t flip_deadline_ms;               /* of one management call; late = not known */
    char pf[HF_NODES_MAX][HF_FABRICS_MAX][HF_IFNAME_MAX + 1];       /* interface or PCI address */
    char address[HF_NODES_MAX][HF_FABRICS_MAX][HF_ADDRESS_MAX + 1]; /* of BFD, "" = none */
    uint32_t bfd_interval_us[HF_FABRICS_MAX];
    uint8_t bfd_multiplier[HF_FABRICS_MAX];                               /* 0 = no BFD */
    char bfd_peer[HF_FABRICS_MAX][HF_NICS_PEERS_MAX][HF_ADDRESS_MAX + 1]; /* besides the nodes */
};

struct hf_config {
    struct hf_group group; /* what the engine gets; group.config = digest of the canonical text */
    uint16_t devices_count;
    struct hf_fence_device devices[HF_DEVICES_MAX];
    struct hf_fence_plan fence[HF_NODES_MAX]; /* by node index */
    uint32_t beat_ms;                         /* a member multicasts one beat so often */
    struct hf_watchdog_conf watchdog;
    uint32_t mute_after_ms; /* a member unheard so long is reported mute */
    struct hf_nics_conf nics;
};

/* Parse text[len]; `file` is only for messages ("FILE:LINE:COL: ...", HF_EINVAL). The first error
 * wins; faults of a line come before those of the whole file (an unknown fence device, an id given
 * twice). On success *config is complete: defaults filled in, indexes resolved, digest computed,
 * devices and parameters sorted by name, unused bytes zero, so that equal configurations are equal
 * by memcmp. On failure it is all zeros.
 * *config is large (about 250 KiB): keep it off small stacks. */
enum hf_code config_parse(const char *file, const char *text, size_t len, struct hf_config *config,
                          struct hf_err *err);
/* Read a whole regular file (<= HF_CONFIG_TEXT_MAX) and parse it; messages name the path as given.
 * HF_ENOENT: there is none. HF_EIO: it cannot be read. */
enum hf_code config_load(const char *file, struct hf_config *config, struct hf_err *err);
/* False: without a fence level and without a watchdog nothing but its own return or a person's word
 * can prove this node dead, so nothing that runs there is ever restarted elsewhere by itself. */
bool config_can_prove_dead(const struct hf_config *config, hf_node node);
/* Does BFD run from this node on this fabric? It needs a NIC, an address and a multiplier. */
bool config_has_bfd(const struct hf_config *config, hf_node node, hf_fabric fabric);
/* Canonical text: every key, in a fixed order, defaults spelled out; what concerns NICs only where
 * some node names one, so that the name of a group without them does not depend on it. Returns
 * bytes needed without the NUL, writes at most cap including the NUL. */
size_t config_print(const struct hf_config *config, char *out, size_t cap);

#endif
