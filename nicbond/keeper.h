/* keeper.h - the process that keeps VFs and their owners straight: a helper of its own, because it
 * asks rtnetlink and waits for the disk. It looks when a VM comes or goes, after a PF's reset, and
 * once a minute: what libvirt's status files, the ledger, the flips and the cards say is compared
 * (reconcile.h), repaired (vf.h) and what is left is told, once each.
 * Flips that died are not its business: the hot loop takes those over from its predecessor.
 * It never asks a PF that is not well: on some cards every VF is one command to a controller that
 * may be dead, and all of it under RTNL, which a flip needs too. */
#ifndef NICBOND_KEEPER_H
#define NICBOND_KEEPER_H

#include "agents/nic/probe.h"
#include "nicbond/reconcile.h"
#include "nicbond/vf.h"
#include "supervisord/base/clock.h"

enum {
    KEEPER_LOOK_MS = 60000,  /* the net below inotify and what it is told */
    KEEPER_SETTLE_MS = 1000, /* libvirt writes a status file before it is done with the VFs */
    KEEPER_RETRY_MS = 10000, /* after a look in which something failed */
    KEEPER_LEDGER_WAIT_MS = 2000,
    KEEPER_WORD_BYTES = 2,
};

struct keeper_setup {
    const char *root;                   /* of sysfs: "" */
    const char *run;                    /* libvirt's status files */
    const char *ledger, *state;         /* folders of the ledger and of the flips */
    const char *wanted[HF_FABRICS_MAX]; /* PFs as configured, "" or NULL: none */
};

/* What the process that started it tells it, bit f = fabric f. */
struct keeper_word {
    hf_legs was_reset; /* this PF has been reset since the last word */
    hf_legs is_unwell; /* leave this PF alone */
};
void keeper_word_put(const struct keeper_word *word, uint8_t bytes[KEEPER_WORD_BYTES]);

struct keeper {
    struct keeper_setup setup;
    struct keeper_word word;
    struct vf_port port;
    int flips_fd;
    struct nic_place place[HF_FABRICS_MAX];
    struct vf_pf pf[HF_FABRICS_MAX];
    struct reconcile_pf seen[HF_FABRICS_MAX];
    uint16_t legs;
    bool is_certain;
    uint32_t vms_crc; /* of the legs at the last look */
    struct reconcile_leg leg[RECONCILE_LEGS_MAX];
    struct ledger_file ledger;
    struct reconcile_result found, told;
    char trouble[160]; /* with the ledger, as told last; "" = none */
};

/* Borrows the setup's texts and the port. HF_EIO: the flips' folder. */
enum hf_code keeper_open(struct keeper *k, const struct keeper_setup *setup,
                         const struct vf_port *port, struct hf_err *err);
void keeper_close(struct keeper *k);
/* One look with its repairs; logs what is new. False: something failed and is worth another try
 * before long. */
bool keeper_look(struct keeper *k);
/* Status files only: are there other VMs, or other legs, than at the last look? */
bool keeper_glance(struct keeper *k);

/* "VF 3 (0000:01:10.6) of 0000:01:00.0: a free VF has ... (VM 7)". */
void keeper_text(const struct reconcile_item *item, char *text, size_t cap);

/* The process: looks until the other end of `fd` closes, which also carries the words. */
enum hf_code keeper_serve(const struct keeper_setup *setup, int fd, struct hf_err *err);

#endif
