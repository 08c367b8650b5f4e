/* nicbond.h - what the hot loop knows and does: this host's VMs and their legs, what each PF is
 * worth, the flips that run and the orders that are out.
 * One owner, the hot loop. No call waits, allocates, or makes a request that takes RTNL: orders go
 * to workers (helper.h) and guests (guest_socket.h). The world comes in by the calls below, so a
 * test needs no card. What leaves goes through struct nicbond_out, which may be full.
 *
 * Every leg has a switch (the link of its VF, or of its virtio NIC) with a wish and what is known
 * of it; each round orders what differs. So nothing is ever left off by forgetting: a VF whose PF
 * is healthy again, whose VM is gone, or whose order was lost, differs from its wish until it is
 * on. */
#ifndef NICBOND_NICBOND_H
#define NICBOND_NICBOND_H

#include <stdbool.h>
#include <stdint.h>

#include "agents/nic/judge.h"
#include "agents/nic/probe.h"
#include "agents/nic/watch.h"
#include "nicbond/bond.h"
#include "nicbond/flip.h"
#include "nicbond/flips.h"
#include "nicbond/helper.h"
#include "nicbond/legs.h"
#include "nicbond/method.h"
#include "supervisord/model/limits.h"
#include "supervisord/model/nic.h"

enum {
    NICBOND_ORDERS_MAX = 2 * HELPER_WORKERS_MAX, /* one a worker */
    NICBOND_UNTOLD_MAX = 2 * HF_VMS_MAX,         /* flips that the report thread has not taken */
    NICBOND_LOOK_MS = 1000,    /* between two looks at a VM's counters while nothing happens */
    NICBOND_PROOF_PACKETS = 2, /* a guest's bond sends several at a flip; one may be a stray */
    NICBOND_RETRY_MS = 1000,   /* of an order that was refused or late, doubled up to: */
    NICBOND_RETRY_MAX_MS = 30000,
    NICBOND_PROBE_MS = 2000,      /* how long does RTNL take? */
    NICBOND_CARD_MS = 10000,      /* what does the card tell about itself? */
    NICBOND_PROBE_LATE_MS = 5000, /* that worker counts as stalled then */
    NICBOND_AGAIN_MS = 1000,      /* a flip that no method could do is tried again, doubled */
    NICBOND_AGAINS_MAX = 5,
    NICBOND_NOTICE_MS = 3000, /* a VF's driver sees its PF go down after 0.6 to 2.2 s (README.md) */
    NICBOND_WORD_MS = 1000,   /* after a flip, a guest's word cannot begin another one so soon */
};

enum nicbond_switch { NICBOND_ON = 0, NICBOND_OFF, NICBOND_NOT_KNOWN };

struct nicbond_leg {
    struct legs_leg what;
    enum nicbond_switch is;
    bool wants_off;
    bool is_out;   /* in an order under way */
    bool is_moved; /* we have ordered it, ever: only such are ordered on again */
    hf_time retry_at;
    uint32_t retry_ms;
    int sent_fd; /* virtio: its device's count of packets from the guest; -1: none */
    bool has_sent;
    uint64_t sent;        /* at the last look */
    uint64_t sent_before; /* when the flip began */
};

struct nicbond_vm {
    hf_vm_uid uid; /* 0 = the slot is empty */
    uint32_t start_no;
    uint16_t priority;
    char name[HF_NAME_MAX + 1];
    hf_legs has;
    struct nicbond_leg leg[HF_FABRICS_MAX];
    bool is_pair; /* bond counts */
    struct bond bond;
    struct flip flip;
    bool has_guest; /* guest counts: there is a channel, a helper or not */
    struct guest_socket guest;
    hf_time guest_at, bond_at; /* next tick; newest word of its bond that was taken */
    hf_time look_at, again_at, ended_at;
    uint8_t agains;
    bool is_dirty; /* its legs are to be told */
};

struct nicbond_pf {
    bool is_configured;
    char name[HF_IFNAME_MAX + 1], pci[HF_PCI_NAME_MAX + 1];
    int32_t ifindex; /* 0: there is no device now */
    enum hf_pf state;
    enum hf_nic_cause cause;
    hf_time since, judged;
    hf_wall since_wall;
    enum bond_level level;
    enum nic_fact knows_vf_link;
    uint64_t order;      /* number of the VF_LINK order under way; 0 = none */
    uint16_t sent_count; /* what is in it, in its order */
    uint16_t sent_vf[VF_COUNT_MAX];
    hf_vm_uid sent_uid[VF_COUNT_MAX];  /* 0: nobody's */
    bool is_doubtful;                  /* a late order may have changed links since we knew them */
    uint8_t orphans[VF_COUNT_MAX / 8]; /* VFs that are off and have no VM */
    hf_time orphans_at;                /* of the next try */
    enum nicbond_switch admin;
    bool wants_down;
    uint64_t admin_order;
    hf_time admin_at, down_since;
    uint32_t admin_ms;
    uint64_t look_order; /* what the card tells about itself is asked for; 0 = it is not */
    hf_time look_at;
};

/* An order that is with a worker. */
struct nicbond_order {
    uint64_t number; /* 0 = the slot is empty */
    enum method_job job;
    hf_fabric fabric;
    hf_vm_uid uid;
    bool is_off, is_late;
};

struct nicbond_limits {
    uint32_t flip_deadline_ms, hold_down_ms;
    bool may_unplug;
};

/* Where news go. False: no room; the same comes again later. */
struct nicbond_out {
    bool (*legs)(void *user, const struct hf_vm_legs *legs);
    bool (*flip)(void *user, uint32_t order, const struct hf_flip *flip);
    /* What a card has told about itself; needs no room. */
    void (*helped)(void *user, hf_fabric fabric, const struct watch_helped *helped);
    void *user;
};

/* What the report thread has found out about a VM. */
struct nicbond_news {
    hf_vm_uid uid;
    uint32_t start_no;
    uint16_t priority;
    char name[HF_NAME_MAX + 1];
    char guest[GUEST_PATH_MAX + 1];
    struct legs_leg leg[HF_FABRICS_MAX];
    bool is_ours_off[HF_FABRICS_MAX]; /* virtio: off, and an earlier run of us did it */
    int sent_fd[HF_FABRICS_MAX];      /* owned by whoever holds the news */
};

struct nicbond_counters {
    uint64_t flips, orders, late, refused, dropped; /* dropped: flips that found no room */
};

struct nicbond {
    struct nicbond_limits limits;
    struct nicbond_out out;
    uint64_t epoch_next, epoch_end;
    uint64_t probe_next;
    struct nicbond_pf pf[HF_FABRICS_MAX];
    struct helper_pool pf_pool, vm_pool;
    bool has_answers; /* a worker's descriptor was readable */
    struct nicbond_order order[NICBOND_ORDERS_MAX];
    int64_t due[HF_VMS_MAX]; /* when a VM's slot has something to do: scanned every round, hence
                              * beside each other */
    uint16_t vms_end;        /* slots at and above it are empty */
    hf_time wake_at;         /* nothing is to be done before, unless something comes in */
    hf_time orders_at;       /* something may differ from its wish then */
    struct nicbond_vm vm[HF_VMS_MAX];
    uint32_t rtnl_ms; /* of the newest probe; grows while one hangs */
    hf_time probe_at;
    uint64_t probe_order;
    hf_time probe_sent;
    struct {
        uint32_t order;
        struct hf_flip flip;
    } untold[NICBOND_UNTOLD_MAX];
    uint16_t untold_first, untold_count;
    struct nicbond_counters counters;
    int epoll_fd; /* guests' descriptors go there, data.u64 = slot; -1: nowhere */
};

/* Epochs [first, end) are this run's. */
void nicbond_init(struct nicbond *nb, const struct nicbond_limits *limits,
                  const struct nicbond_out *out, uint64_t epoch_first, uint64_t epoch_end);
void nicbond_close(struct nicbond *nb, hf_time now);

/* ---- what comes in ---- */

/* Where a PF is and what drives it; ifindex 0: there is none now. */
void nicbond_pf_is(struct nicbond *nb, hf_fabric fabric, const struct nic_place *place,
                   const char *driver);
/* What an earlier run left switched off. */
void nicbond_pf_left(struct nicbond *nb, hf_fabric fabric, const struct flips_entry *entry);
/* A verdict; cheap when nothing changed. */
void nicbond_pf_judged(struct nicbond *nb, hf_fabric fabric, const struct nic_verdict *verdict,
                       hf_time now);
/* A VM is here, or its legs changed. Takes the descriptors. False: no room for one more VM, and
 * they are closed. */
bool nicbond_vm_here(struct nicbond *nb, const struct nicbond_news *news, hf_time now);
void nicbond_vm_gone(struct nicbond *nb, hf_vm_uid uid, hf_time now);
/* An operator's order; answered by nicbond_out.flip with its number, at once or later. */
void nicbond_ordered(struct nicbond *nb, hf_vm_uid uid, hf_fabric to, uint32_t number, hf_time now);
/* A worker's descriptor is readable: its answer is taken in the next round. */
void nicbond_worker_ready(struct nicbond *nb);
/* Everything is to be told again. */
void nicbond_tell_all(struct nicbond *nb, hf_time now);
/* A guest's descriptor is ready. */
void nicbond_guest_ready(struct nicbond *nb, uint16_t slot, uint32_t events, hf_time now);

/* ---- every round ---- */

/* Answers, deadlines, retries, orders, news. Cheap when nothing is due. */
void nicbond_round(struct nicbond *nb, hf_time now);
/* Is its admin state our doing? For the judge's sample. */
bool nicbond_pf_is_ours(const struct nicbond *nb, hf_fabric fabric);

/* For reports and tests; NULL: no such VM. */
const struct nicbond_vm *nicbond_vm(const struct nicbond *nb, hf_vm_uid uid);
void nicbond_legs_of(const struct nicbond_vm *vm, struct hf_vm_legs *legs);

/* ---- between nicbond.c and nicbond_order.c ---- */

uint64_t nicbond_epoch(struct nicbond *nb);
/* The rung of every flip that leaves this leg by this method ended so. */
void nicbond_rung_ended(struct nicbond *nb, struct nicbond_vm *vm, enum hf_flip_method method,
                        enum flip_rung how, hf_time now);
struct nicbond_vm *nicbond_find(struct nicbond *nb, hf_vm_uid uid);
/* Answers and deadlines of both pools. */
void nicbond_answers(struct nicbond *nb, hf_time now);
/* What differs from its wish is ordered. */
void nicbond_orders(struct nicbond *nb, hf_time now);
void nicbond_wake(struct nicbond *nb, struct nicbond_vm *vm, hf_time at);

#endif
