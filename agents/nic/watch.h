/* watch.h - the PFs of this node, from the kernel's files and messages to a verdict each: find, hot
 * counters, listeners and judge, put together. What nicbond's hot loop calls.
 *
 * Never an RTNL request, an allocation or a write to disk after watch_open. A device that was found
 * again is opened again: some hundred small opens, once per event. Keeps no PF's fate from its
 * sister: both ports of one card are judged with what is known of the controller they share. */
#ifndef AGENTS_NIC_WATCH_H
#define AGENTS_NIC_WATCH_H

#include <poll.h>

#include "agents/nic/hot.h"
#include "agents/nic/listen.h"

enum {
    WATCH_LOOK_MS = 10000, /* driver, VFs, AER counters: uevents tell of changes, this is the net */
    WATCH_SEEK_MS = 100,   /* a device that is not there: uevents tell, this is the net */
    /* A look at 240 VFs takes 1.1 ms (measured), and making them tells of each: one in so long.
     * What happens to the PF itself does not wait. */
    WATCH_REST_MS = 50,
};

struct watch_setup {
    const char *root; /* of sysfs: "", or a folder in tests; kept */
    const char *kmsg; /* "/dev/kmsg", or NULL for none */
    unsigned fabrics_count;
    const char *wanted[HF_FABRICS_MAX]; /* as configured; copied */
    struct nic_limits limits;
};

struct watch_pf {
    char wanted[HF_IFNAME_MAX + 1];
    struct nic_place place; /* where it was last; name "" without a network device */
    bool is_open;           /* hot is open */
    struct hot hot;
    hf_time look_at, looked_at;
    struct nic_inventory inventory;
    struct nic_sample sample;
    struct judge_nic judge;
    struct nic_verdict verdict;
    uint64_t aer_errors, resets;
    char serial[48], firmware[48], switch_id[64];
    hf_time switch_until;
};

struct watch {
    const char *root;
    unsigned fabrics_count;
    struct watch_pf pf[HF_FABRICS_MAX];
    struct listen listen;
    hf_time now; /* of the call that runs: what listeners tell is stamped with it */
};

/* What helpers find out by calls that may hang. NIC_NOT_KNOWN and "" leave what was. */
struct watch_helped {
    hf_time answered_at; /* when the newest management command that was answered began; 0: none */
    enum nic_fact is_config_gone, is_hot, is_optics_bad;
    char serial[48], firmware[48];
};

/* May wait for a card once, for its serial number. missing: as listen_open. */
enum hf_code watch_open(struct watch *watch, const struct watch_setup *setup, hf_time now,
                        char missing[200], struct hf_err *err);
void watch_close(struct watch *watch);
/* Descriptors for poll, for POLLIN; returns how many, at most LISTEN_FDS. */
unsigned watch_fds(const struct watch *watch, struct pollfd out[LISTEN_FDS]);
/* Take what the listeners have: when a descriptor is readable. */
void watch_hear(struct watch *watch, hf_time now);
/* One word of a listener; what watch_hear does with each. */
void watch_take(struct watch *watch, const struct listen_word *word, hf_time now);
/* One round: hot counters and verdicts of all fabrics. Returns the ones whose verdict changed. */
hf_legs watch_tick(struct watch *watch, hf_time now);

void watch_bfd(struct watch *watch, hf_fabric fabric, const struct nic_bfd *bfd);
/* We switched this PF off to make it flip, or on again: no cause of its own. */
void watch_admin_ours(struct watch *watch, hf_fabric fabric, bool is_ours);
void watch_helped(struct watch *watch, hf_fabric fabric, const struct watch_helped *helped,
                  hf_time now);
/* A signal from elsewhere; an operator's NIC_SIGNAL_FORGIVEN. */
void watch_signal(struct watch *watch, hf_fabric fabric, enum nic_signal signal, hf_time now);
/* Other limits, of a configuration read again. */
void watch_limit(struct watch *watch, const struct nic_limits *limits);
/* For reports: all of hf_pf_facts but rtnl_ms, which helpers measure. */
void watch_facts(const struct watch *watch, hf_fabric fabric, hf_time now, struct hf_pf_facts *out);

#endif
