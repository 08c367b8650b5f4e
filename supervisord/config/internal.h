/* internal.h - what the files of config/ share; nobody outside includes it.
 * The schema is data: a row per key says what it holds, its range, its default, where it lands and
 * what it is for. Reading, printing and documenting walk the same rows, so they cannot disagree.
 * Nothing here recurses: sections nest two deep and no deeper. */
#ifndef SUPERVISORD_CONFIG_INTERNAL_H
#define SUPERVISORD_CONFIG_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/config/config.h"

enum {
    CONFIG_LINE_MAX = 512,  /* longest canonical line is a parameter: 8 + 31 + 2 + 255 */
    CONFIG_DEPTH_MAX = 2,   /* fence_device, params */
    CONFIG_KEYS_MAX = 24,   /* of one section */
    CONFIG_BEATS_MUTE = 3,  /* one lost and one late beat must not make a member mute */
    CONFIG_BEATS_LEASE = 3, /* nor may they end a lease: its end kills VMs */
    CONFIG_QUOTE_MAX = 80,  /* room for a quoted word in a message */
};

/* 1-based; columns count bytes, as compilers do. */
struct config_place {
    uint32_t line, column;
};

/* ---- schema (schema.c) ---- */

enum config_section_id {
    CONFIG_TOP = 0, /* outside every section: holds sections, no keys */
    CONFIG_CLUSTER,
    CONFIG_TIMING,
    CONFIG_WATCHDOG,
    CONFIG_NICS,
    CONFIG_FABRIC,
    CONFIG_NODE,
    CONFIG_DEVICE,
    CONFIG_PARAMS,
    CONFIG_SECTIONS
};

struct config_section {
    const char *name;
    enum config_section_id parent;
    bool has_name;  /* `node NAME {`; such a section may be given more than once */
    bool free_keys; /* any key: fence agents differ */
    const char *doc;
};

enum config_type {
    CONFIG_NAME,        /* char[HF_NAME_MAX + 1] */
    CONFIG_AGENT,       /* char[HF_NAME_MAX + 1], fence_... */
    CONFIG_NUMBER,      /* uint32_t */
    CONFIG_MEMORY,      /* uint32_t, MiB */
    CONFIG_BYTE,        /* uint8_t */
    CONFIG_DURATION,    /* uint32_t, milliseconds */
    CONFIG_SECONDS,     /* uint32_t, milliseconds, but whole seconds: all that a driver takes */
    CONFIG_COMPUTED,    /* uint32_t, milliseconds; 0 = "computed" */
    CONFIG_MICROS,      /* uint32_t, microseconds, but whole milliseconds; range in milliseconds */
    CONFIG_YES_NO,      /* bool */
    CONFIG_DEVICE_PATH, /* char[HF_DEVICE_PATH_MAX + 1], /dev/... */
    CONFIG_DURATIONS,   /* uint32_t[HF_BACKOFFS_MAX], milliseconds, and a count */
    CONFIG_DEVICES,     /* struct config_refs */
    CONFIG_NIC,         /* char[HF_IFNAME_MAX + 1], an interface or a PCI address */
    CONFIG_ADDRESS,     /* char[HF_ADDRESS_MAX + 1], IPv4 or IPv6 */
    CONFIG_ADDRESSES,   /* struct config_addresses */
};

struct config_key {
    enum config_section_id section;
    const char *name;
    enum config_type type;
    uint32_t low, high; /* both allowed; of each item in a list */
    const char
        *fallback;   /* text when the key is not given; "" = nothing, NULL = it must be given */
    size_t at;       /* of the value in the section's record, see config_record() */
    size_t count_at; /* CONFIG_DURATIONS: of the uint8_t count */
    const char *doc;
};

extern const struct config_section config_sections[CONFIG_SECTIONS];
extern const struct config_key config_keys[];
extern const size_t config_keys_count;

const struct config_key *config_key_find(enum config_section_id section, const char *name);
/* CONFIG_TOP when there is none. */
enum config_section_id config_section_find(const char *name);
/* Position of a key among those of its section: < CONFIG_KEYS_MAX. */
unsigned config_key_slot(const struct config_key *key);
/* The key or section of `section` that `word` was probably meant to be; NULL when none is near. */
const char *config_nearest_key(enum config_section_id section, const char *word);
const char *config_nearest_section(enum config_section_id parent, const char *word);
/* "a, b, c": what may stand in the section. */
void config_known_words(enum config_section_id section, char *out, size_t cap);

/* ---- what is read before indexes are resolved ---- */

struct config_refs {
    uint8_t count;
    char name[HF_FENCE_DEVICES_MAX][HF_NAME_MAX + 1];
    struct config_place place[HF_FENCE_DEVICES_MAX];
};

struct config_addresses {
    uint8_t count;
    char text[HF_NICS_PEERS_MAX][HF_ADDRESS_MAX + 1];
    struct config_place place[HF_NICS_PEERS_MAX];
};

/* The record of a fabric section. */
struct config_fabric {
    uint32_t bfd_interval_us;
    uint8_t bfd_multiplier;
    struct config_addresses peers;
    struct config_place opened; /* line 0 = not given */
    struct config_place given[CONFIG_KEYS_MAX];
};

/* The record of a node section: as written, devices by name. */
struct config_node {
    struct hf_node_def def;
    char pf[HF_FABRICS_MAX][HF_IFNAME_MAX + 1];
    char address[HF_FABRICS_MAX][HF_ADDRESS_MAX + 1];
    struct config_refs level[HF_FENCE_LEVELS_MAX];
    struct config_place opened;
    struct config_place given[CONFIG_KEYS_MAX]; /* by config_key_slot(); line 0 = not given */
};

struct config_draft {
    const char *file; /* for messages */
    struct hf_config *config;
    struct config_place cluster, timing, watchdog, nics; /* line 0 = not given */
    struct config_place timing_given[CONFIG_KEYS_MAX];
    struct config_place watchdog_given[CONFIG_KEYS_MAX];
    struct config_place nics_given[CONFIG_KEYS_MAX];
    struct config_fabric fabric[HF_FABRICS_MAX];
    struct config_node node[HF_NODES_MAX];
    struct config_place device[HF_DEVICES_MAX];
};

/* "FILE:LINE:COL: text", HF_EINVAL. */
enum hf_code config_fail(const struct config_draft *draft, struct config_place place,
                         struct hf_err *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* text in single quotes, cut where it would be too long for a message. */
const char *config_quote(const char *text, char out[CONFIG_QUOTE_MAX]);

/* ---- lines.c: bytes to lines that hold nothing but printable UTF-8 and tabs ---- */

struct config_lines {
    const char *text; /* borrowed */
    size_t len, pos;
    uint32_t number; /* of the line read last; 1.. */
};

/* The next line into out, NUL-terminated, without its newline. *is_end: there is none left. */
enum hf_code config_line_next(struct config_lines *lines, const struct config_draft *draft,
                              char out[CONFIG_LINE_MAX + 1], bool *is_end, struct hf_err *err);

/* ---- value.c: one value from and to text, by its row ---- */

enum hf_code config_value_read(const struct config_draft *draft, const struct config_key *key,
                               const char *text, struct config_place place, void *record,
                               struct hf_err *err);
/* Canonical text; "" = nothing to print. */
void config_value_print(const struct config_key *key, const void *record,
                        char out[CONFIG_LINE_MAX + 1]);

/* ---- param.c: keys that belong to a fence agent ---- */

enum hf_code config_param_add(const struct config_draft *draft, struct hf_fence_device *device,
                              const char *key, const char *value, struct config_place key_place,
                              struct config_place value_place, struct hf_err *err);
/* NULL when the device has no such parameter. */
const char *config_param_find(const struct hf_fence_device *device, const char *key);

/* ---- nics.c: names of cards, addresses, and what fits together ---- */

/* Name of a fabric: 'a' for 0. */
char config_fabric_letter(hf_fabric fabric);
/* An interface's name, or a PCI address as the kernel writes it ("0000:01:00.0"). */
bool config_is_nic(const char *text);
/* In the form inet_ntop() gives it. False: not an address that a host can have for itself. */
bool config_address(const char *text, char out[HF_ADDRESS_MAX + 1]);
/* Check, then fill in config->nics and the nodes' fabrics. */
enum hf_code config_nics_check(struct config_draft *draft, struct hf_err *err);

/* ---- check.c: what only the whole file can tell; fills in order, indexes and agents' defaults
 * ---- */

enum hf_code config_check(struct config_draft *draft, struct hf_err *err);

#endif
