/* card.h - the hosts' network cards, the two fabrics behind them, and the process that looks at
 * them (nicbond). Physical truth, and what an honest nicbond makes of it: late, held down, stuck or
 * gone. Traffic that flips between legs is its own affair; what it tells its daemon is here. */
#ifndef TESTS_SIM_CARD_H
#define TESTS_SIM_CARD_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/model/ids.h"
#include "supervisord/model/nic.h"
#include "tests/sim/faults.h"

enum card_sick {
    CARD_WELL = 0,
    CARD_CARRIER,    /* no carrier */
    CARD_BLACK_HOLE, /* carrier, and nothing passes: BFD finds out */
    CARD_GONE,       /* reset, its VFs are gone */
    CARD_AER,        /* the PCIe error was fatal */
    CARD_SLOW        /* works, with errors */
};

struct card { /* of one host */
    uint8_t sick[HF_FABRICS_MAX];
    int64_t dead_since[HF_FABRICS_MAX]; /* physically, its fabric included; 0 = alive */
    int64_t alive_since[HF_FABRICS_MAX];
    bool refuses_vfs; /* no VF can be attached there */
    /* nicbond */
    bool is_alive, is_stuck;
    int64_t healthy_since; /* alive and not stuck */
    uint32_t gen;          /* of the process */
    uint8_t state[HF_FABRICS_MAX], cause[HF_FABRICS_MAX];
    int64_t hold_until[HF_FABRICS_MAX], hold_ns[HF_FABRICS_MAX];
    bool says, word_waits; /* on its way; read when the daemon goes on */
    uint64_t told;         /* VMs (bit uid) whose legs it has told of */
};

struct sim;
struct sim_event;
void card_open(struct sim *s);
void card_host_up(struct sim *s, hf_node n);
void card_power_off(struct sim *s, hf_node n);
/* Its daemon is there, or goes on: nicbond tells everything. */
void card_daemon_up(struct sim *s, hf_node n);
void card_daemon_resumes(struct sim *s, hf_node n);
/* A VM began or ended here: nicbond sees its status file. */
void card_vm_changed(struct sim *s, hf_node n);
void card_event(struct sim *s, const struct sim_event *ev);
/* Alive and not stuck for so long? */
bool card_is_watched(const struct sim *s, hf_node n, int64_t ns);

/* What a PF has (its fabric included). */
void card_breaks(struct sim *s, hf_node n, hf_fabric f, enum card_sick sick);
void card_fabric(struct sim *s, hf_fabric f, bool is_down);
void card_nicbond_dies(struct sim *s, hf_node n, int64_t back);
void card_nicbond_sticks(struct sim *s, hf_node n, bool is_stuck);

/* A fault of group N. True: it happened; *lasts: it ends by card_undo() then (0: by itself). */
bool card_strike(struct sim *s, enum fault f, hf_node n, int64_t *lasts, uint32_t *arg);
/* True: again after *lasts, with *arg. */
bool card_undo(struct sim *s, enum fault f, hf_node n, int64_t *lasts, uint32_t *arg);
/* The liveness phase: repaired, but that one node of the core may keep its dead cards. */
void card_heal(struct sim *s, hf_nodes core);

#endif
