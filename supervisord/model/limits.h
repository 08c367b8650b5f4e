/* limits.h - every bound of the product, each with its reason. A full table is a named refusal. */
#ifndef SUPERVISORD_MODEL_LIMITS_H
#define SUPERVISORD_MODEL_LIMITS_H

enum {
    HF_NODES_MAX = 8,    /* node sets are one byte; the product is made for three */
    HF_VMS_MAX = 256,    /* three hosts of 80 small VMs; keeps a step linear scan below 20 us */
    HF_NAME_MAX = 63,    /* a DNS label; longest node, VM, group or device name, without the NUL */
    HF_REASON_MAX = 200, /* an operator's reason: one line of a report */
    HF_PRIORITY_MAX = 1000, /* of a VM; higher starts first */
    HF_BACKOFFS_MAX = 8,    /* steps of the restart back-off list */

    /* One step can re-order and re-time a subject it had already ordered: room for four each. */
    HF_EFFECTS_MAX = 4 * (HF_VMS_MAX + HF_NODES_MAX),
    HF_CHANGES_MAX =
        6 * (HF_VMS_MAX + HF_NODES_MAX), /* longest chain seen: wait, clear, place, start */

    HF_FENCE_LEVELS_MAX = 4,  /* bmc, pdu, switch port, one spare */
    HF_FENCE_DEVICES_MAX = 4, /* devices that must all say off in one level: two feeds and room */
    HF_FENCE_PARAMS_MAX = 24, /* parameters of one device; fence_ipmilan knows about 30 */
    HF_PARAM_VALUE_MAX = 255, /* one line of the agent's stdin, without key */

    HF_WATCHDOG_NAME_MAX = 32, /* watchdog_info.identity, linux/watchdog.h */
    HF_DEVICE_PATH_MAX = 63,   /* /dev/watchdog0 and room */

    HF_XML_MAX = 1 << 20,           /* far above any domain; also libxml2's limit for us */
    HF_BLOBS_MAX = 2 * HF_VMS_MAX,  /* every VM's XML and the version it replaces */
    HF_BLOB_BYTES_MAX = 64 << 20,   /* all of them together, in the daemon's memory */
    HF_CONFIG_TEXT_MAX = 256 << 10, /* the cluster file */

    HF_FRAME_MAX = 64 << 10,         /* one record on a door */
    HF_GROUP_MESSAGE_MAX = 16 << 10, /* libcpg fragments larger ones and may block */
    HF_IN_FLIGHT_MAX = 32, /* a stopped corosync takes 278, then libcpg spins (measured) */
    HF_OUTBOX_MAX = 1024,  /* own messages waiting for their turn in flight */
};

#endif
