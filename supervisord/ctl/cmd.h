/* cmd.h - what the commands of `holdfast` share: options, the connection, words for people.
 * A command prints its result on stdout and what went wrong on stderr, and returns the exit code
 * (enum hf_ctl_status, wire/ctl.h). It never blocks without a deadline. */
#ifndef SUPERVISORD_CTL_CMD_H
#define SUPERVISORD_CTL_CMD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "supervisord/config/config.h"
#include "supervisord/ctl/table.h"
#include "supervisord/wire/ctl.h"

#define CMD_SOCKET "/run/holdfast/ctl.sock"
#define CMD_FILE   "/etc/holdfast/holdfast.conf"
#define CMD_SYS    "/sys"

enum {
    CMD_WORDS_MAX = 8,
    CMD_ANSWER_MS = 5000, /* the daemon answers from memory: later means that it hangs */
    CMD_CONNECT_AGAIN_MS = 10,
    CMD_ORDER_MS = 20000,     /* above CTL_APPLY_MS of the server */
    CMD_WAIT_MS = 120000,     /* --wait without --timeout */
    CMD_LEAVE_MS = 600000,    /* leave: every VM of a node stops within its grace and moves */
    CMD_CYCLE_MS = 900000,    /* a power cycle: servers take minutes to boot */
    CMD_TEST_MS = 75000,      /* above CTL_TEST_MS of the server */
    CMD_ANSWER_MAX = 4 << 20, /* twice the largest picture */
    CMD_PROGRESS_MS = 2000,   /* a person starts to wonder */
};

/* Everything from the command line. Texts are borrowed from argv. */
struct cmd {
    const char *socket;
    bool is_json, is_waiting, is_yes, is_following, is_stopped, is_file, is_power_cycle, is_forced;
    bool has_after, has_timeout;
    uint64_t after, timeout_ms, level; /* level 0: all */
    const char *subject, *reason, *for_, *name, *memory, *priority, *apart, *together, *allowed,
        *preferred, *restarts_here, *restarts_max, *stop_grace, *typed;
    const char *legs, *to, *node;
    const char *config, *profile, *ring0, *ring1, *key, *output, *wait_for_all, *corosync;
    unsigned words_count;
    const char *words[CMD_WORDS_MAX]; /* after the verb */
    struct table_look look;           /* of stdout */
    bool is_terminal;                 /* stdin and stderr are one: questions and progress */
};

/* ---- the connection (cmd_link.c) ---- */

struct cmd_link {
    int fd; /* -1: closed */
    const char *path;
};

/* Prints what is wrong and what to do next, returns its exit code. */
enum hf_ctl_status cmd_link_open(struct cmd_link *link, const char *path);
void cmd_link_close(struct cmd_link *link);
/* Ask, and gather the whole answer. ride: a descriptor or -1. *answer is owned by the caller (NULL
 * when there is none): also a refusal is an answer. Prints only when there is none. */
enum hf_ctl_status cmd_link_ask(struct cmd_link *link, const struct hf_ctl_request *request,
                                int ride, int64_t within_ms, json_t **answer);
/* Begin a stream of events: sends the request only. */
enum hf_ctl_status cmd_link_send(struct cmd_link *link, const struct hf_ctl_request *request,
                                 int ride);
/* The next record of a stream; *record NULL and *more false at its end. *record NULL and *more
 * true: nothing within that time (-1: for ever). Prints when the connection is gone. */
enum hf_ctl_status cmd_link_next(struct cmd_link *link, int64_t within_ms, json_t **record,
                                 bool *more);
/* Open, ask, close. A refusal is printed (with --json: on stdout as it came) and gives NULL. */
enum hf_ctl_status cmd_ask(const struct cmd *cmd, const struct hf_ctl_request *request,
                           json_t **answer);
/* Print a refusal: the error, and what to type next. */
void cmd_refusal(const struct cmd *cmd, enum hf_ctl_status status, const json_t *answer);
/* Print JSON on stdout, one line. */
void cmd_print_json(const json_t *json);

/* ---- words for people (cmd_text.c) ---- */

/* "holdfast: " + text + newline on stderr. */
void cmd_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* 950 -> "1 s", 72000 -> "72 s", 600000 -> "10 min", then "5 h", "12 d". out[24]. */
void cmd_age(int64_t ms, char out[24]);
/* 512 -> "512 MiB", 262144 -> "256 GiB", 1536 -> "1.5 GiB". out[24]. */
void cmd_mib(uint64_t mib, char out[24]);
/* "4GiB" "512MiB" "4G" -> MiB; false: not a size, or 0. */
bool cmd_to_mib(const char *text, uint32_t *mib);
/* The time of day of an RFC 3339 text in local time, with milliseconds: "09:31:07.123". Another day
 * than `now`: with the date before it. "?" if it is none. out[40]. */
void cmd_clock(const char *rfc3339, const char *now, bool has_ms, char out[40]);
const char *cmd_str(const json_t *object, const char *key); /* "" when absent or null */
int64_t cmd_int(const json_t *object, const char *key);     /* 0 when absent or null */
bool cmd_true(const json_t *object, const char *key);       /* false when absent or null */
enum table_style cmd_state_style(const char *state);        /* of a node's or VM's state name */

/* ---- commands ---- */

int cmd_status(const struct cmd *cmd);
int cmd_nodes(const struct cmd *cmd);
int cmd_vms(const struct cmd *cmd);
int cmd_events(const struct cmd *cmd);
int cmd_why(const struct cmd *cmd);
int cmd_config_check(const struct cmd *cmd);
int cmd_config_show(const struct cmd *cmd);
int cmd_setup_corosync(const struct cmd *cmd);
int cmd_vm_add(const struct cmd *cmd);
int cmd_vm_remove(const struct cmd *cmd);
int cmd_vm_start(const struct cmd *cmd);
int cmd_vm_stop(const struct cmd *cmd);
int cmd_vm_move(const struct cmd *cmd);
int cmd_drain(const struct cmd *cmd);
int cmd_undrain(const struct cmd *cmd);
int cmd_arm(const struct cmd *cmd);
int cmd_disarm(const struct cmd *cmd);
int cmd_fence(const struct cmd *cmd);
int cmd_fence_confirm(const struct cmd *cmd);
int cmd_fence_on(const struct cmd *cmd);
int cmd_fence_test(const struct cmd *cmd);
int cmd_cycle(const struct cmd *cmd); /* fence test --power-cycle (cmd_cycle.c) */
int cmd_hold(const struct cmd *cmd);
int cmd_nics(const struct cmd *cmd);
int cmd_nics_failback(const struct cmd *cmd);
int cmd_leave(const struct cmd *cmd);

/* ---- shared by the commands that order (cmd_order.c) ---- */

/* Send the order, print the outcome, with --wait wait until it is reached. ride: see above. */
int cmd_order(const struct cmd *cmd, struct hf_ctl_request *request, int ride);
/* The same about the node that is the first word. */
int cmd_order_node(const struct cmd *cmd, enum hf_order_type type, uint32_t ms);
/* The picture, over an open connection; *status is owned by the caller, NULL if there is none. */
enum hf_ctl_status cmd_status_ask(struct cmd_link *link, json_t **status);
/* The entry of this name in a list of the picture; NULL: there is none. */
const json_t *cmd_named(const json_t *status, const char *list, const char *name);
/* VMs that run or may run on this node. */
int cmd_vms_left(const json_t *status, const char *node);
/* Have the name that is the first word typed on the terminal; without one say that `option` is
 * needed. */
bool cmd_ask_name(const struct cmd *cmd, const char *what, const char *option);
/* Is what was ordered reached, according to a status document? vm, node: the order's; from: where
 * the VM ran before a move. PURE. */
enum cmd_reach { CMD_NOT_YET = 0, CMD_REACHED, CMD_HOPELESS };
enum cmd_reach cmd_reached(enum hf_order_type type, const json_t *status, const char *vm,
                           const char *node, const char *from, char *now_text, size_t cap);

/* ---- shared by the commands that show (cmd_status.c, cmd_nics.c) ---- */

/* "NEEDS YOU" and what does. name "": of everything; nics_only: of NICs, and nothing at all when
 * there is none. */
void cmd_print_needs(const struct cmd *cmd, const json_t *status, const char *name, bool nics_only);
enum table_style cmd_pf_style(const char *state);
/* "A* B-" of a VM's entry; "" when it has no legs. */
const char *cmd_legs_marks(const json_t *vm, char out[16]);
enum table_style cmd_legs_style(const json_t *vm);
/* Some node names a NIC. */
bool cmd_has_fabrics(const json_t *status);
/* A cell "A up  B DOWN" of a node's entry. */
void cmd_put_fabrics(struct table *table, const json_t *node);

/* ---- the XML of a domain (cmd_xml.c, cmd_xml_nic.c) ---- */

enum { CMD_NICS_MAX = 16, CMD_MAC_MAX = 17 };

/* An interface, or a PCI device that may be one. */
struct cmd_nic {
    unsigned line; /* of the XML, for messages; 0: not known */
    enum cmd_nic_source {
        CMD_NIC_OTHER = 0, /* a network of libvirt's, a user's, ...: nothing that the XML tells */
        CMD_NIC_PCI,       /* hostdev; source is a PCI address */
        CMD_NIC_LINK,      /* bridge, or the device below a macvtap; source is an interface */
    } kind;
    char mac[CMD_MAC_MAX + 1]; /* "" = it says none */
    char source[HF_IFNAME_MAX + 1];
    /* <alias name='ua-leg-a'/> says which leg it is, ua-leg-none that it is none. */
    enum cmd_nic_mark { CMD_NIC_UNMARKED = 0, CMD_NIC_MARKED, CMD_NIC_NO_LEG } mark;
    hf_fabric fabric; /* MARKED */
};

struct cmd_domain {
    char name[HF_NAME_MAX + 1];
    uint32_t memory_mib;
    unsigned nics_count;
    struct cmd_nic nics[CMD_NICS_MAX];
};
/* PURE, on memory only: no network, no DTD, no entities. Refuses what a VM under Holdfast must not
 * have (shareable disks, an on_crash other than destroy). */
enum hf_code cmd_xml_read(const char *xml, size_t len, struct cmd_domain *domain,
                          struct hf_err *err);

/* ---- which of its interfaces are legs (cmd_legs.c) ---- */

/* By its mark, else by what is below it on this node: `sys` is where sysfs is mounted. One that
 * cannot be told and two in one fabric are refused. */
enum hf_code cmd_legs_find(const struct cmd_domain *domain, const struct hf_config *config,
                           hf_node node, const char *sys, hf_legs *legs, struct hf_err *err);
/* "a", "a,b" or "none". */
bool cmd_legs_read(const char *text, hf_legs *legs);
/* "a and b", "a", "none". */
const char *cmd_legs_text(hf_legs legs);

#endif
