/* flips.h - what this host's running flips have switched off: links of VFs, and PFs. Written before
 * the order that does it and cleared after the order that undoes it, so that after a crash in
 * between, at any instruction, the next start switches on again what nobody else would.
 * The file lies on a tmpfs and is written by one pwrite() of a few hundred bytes: memory, which
 * waits for no disk. It outlives nicbond, not the kernel, and need not: a PF's admin state is the
 * kernel's, and a VF whose link the card still holds down after a reboot is found by its owner's
 * wanted state, or set right before its next VM starts (ledger.h).
 * Refuses a late writer: a lower epoch than what is there never replaces it. */
#ifndef NICBOND_FLIPS_H
#define NICBOND_FLIPS_H

#include <stdbool.h>
#include <stdint.h>

#include "nicbond/vf_config.h"
#include "supervisord/base/err.h"
#include "supervisord/model/nic.h"

#define FLIPS_FOLDER "/run/holdfast/nicbond"

enum {
    FLIPS_COPY_BYTES = 128,
    FLIPS_COPIES = 2, /* written in turn: a cut one leaves the other */
    FLIPS_FABRIC_BYTES = FLIPS_COPY_BYTES * FLIPS_COPIES,
    FLIPS_BYTES = FLIPS_FABRIC_BYTES * HF_FABRICS_MAX,
};

/* The newest flip of one fabric. Nothing is off: epoch may tell the last one, the rest is empty. */
struct flips_entry {
    uint64_t epoch; /* 0: none ever */
    char pf[HF_PCI_NAME_MAX + 1];
    bool is_pf_down;               /* we put the PF down */
    uint8_t vfs[VF_COUNT_MAX / 8]; /* bit n: we set VF n's link to disable */
};

struct flips {
    struct flips_entry fabric[HF_FABRICS_MAX];
    bool is_damaged[HF_FABRICS_MAX]; /* neither copy reads: anything may be off */
};

/* PURE. Bytes of the file into the state, and one fabric's new copy: *at is where in the file it
 * goes. Never fails: damage is a value, and the next write heals it. */
void flips_load(struct flips *f, const uint8_t *bytes, size_t len);
void flips_copy(const uint8_t *bytes, size_t len, hf_fabric fabric, const struct flips_entry *entry,
                uint8_t copy[FLIPS_COPY_BYTES], size_t *at);

static inline bool flips_has_vf(const struct flips_entry *e, uint16_t number)
{
    return number <= VF_NUMBER_MAX && (e->vfs[number / 8] & (1u << (number % 8))) != 0;
}
static inline void flips_set_vf(struct flips_entry *e, uint16_t number, bool is_off)
{
    uint8_t bit = (uint8_t)(1u << (number % 8));

    if (number > VF_NUMBER_MAX)
        return;
    e->vfs[number / 8] = (uint8_t)(is_off ? e->vfs[number / 8] | bit : e->vfs[number / 8] & ~bit);
}
/* Is anything off because of it? */
static inline bool flips_is_open(const struct flips_entry *e)
{
    uint8_t any = 0;

    for (size_t i = 0; i < sizeof e->vfs; i++)
        any |= e->vfs[i];
    return e->is_pf_down || any != 0;
}

/* Makes folder and file. Any process may have it open. */
enum hf_code flips_open(const char *folder, int *fd, struct hf_err *err);
enum hf_code flips_read(int fd, struct flips *f, struct hf_err *err);
/* Replaces a fabric's entry. One process at a time for one fabric. HF_EACCESS: a later flip is
 * there already: what this one was about to do is nobody's order any more. HF_EIO: not written, so
 * the order must not go out as one that would be undone after a crash. */
enum hf_code flips_put(int fd, hf_fabric fabric, const struct flips_entry *entry,
                       struct hf_err *err);

#endif
