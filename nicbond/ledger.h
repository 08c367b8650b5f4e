/* ledger.h - who owns which VF of this host, and what the VF was before: the PURE part, from
 * records to state and from state to bytes. ledger_file.h keeps it on disk, reconcile.h compares it
 * with the world. Every change is a record that is written before the world is touched, so that
 * whatever crashes, the next start knows what may have been changed and what it was. Also the flip
 * epochs: a reserved range, so that no number is ever used twice and a flip never waits for a disk.
 * Refuses to guess: bytes that are not what was written are an error with their place; a record
 * that does not follow from what was before is one, too. */
#ifndef NICBOND_LEDGER_H
#define NICBOND_LEDGER_H

#include "nicbond/vf_config.h"
#include "supervisord/base/err.h"
#include "supervisord/model/ids.h"
#include "supervisord/model/nic.h"

enum {
    LEDGER_VFS_MAX = HF_FABRICS_MAX * VF_COUNT_MAX,
    /* Flips of one run of nicbond: at one every 30 s, the shortest hold-down, that is a year. A
     * restart throws away what is left of 2^64, so it can restart 2^44 times. */
    LEDGER_EPOCHS_RESERVED = 1 << 20,
    LEDGER_HEADER_BYTES = 32,
    LEDGER_RECORD_BYTES = 96,  /* all the same: a torn one and a corrupt one can be told apart */
    LEDGER_RECORDS_MAX = 4096, /* then the file is written anew: thousands of VM starts */
    LEDGER_BYTES_MAX = LEDGER_HEADER_BYTES + LEDGER_RECORD_BYTES * LEDGER_RECORDS_MAX,
    LEDGER_SAVE_BYTES_MAX = LEDGER_HEADER_BYTES + LEDGER_RECORD_BYTES * (LEDGER_VFS_MAX + 1),
};

enum ledger_phase {
    LEDGER_INTENDED = 0, /* written before the first change: it may or may not have happened */
    LEDGER_DONE,         /* read back: it is as wanted */
    LEDGER_RELEASED,     /* read back: it is as it was before the owner */
    LEDGER_PHASES
};

/* A VF and the start of the VM that owns it. */
struct ledger_vf {
    char pf[HF_PCI_NAME_MAX + 1], vf[HF_PCI_NAME_MAX + 1]; /* PCI addresses */
    uint16_t number;                                       /* of the VF in its PF */
    hf_vm_uid uid;
    uint32_t
        start_no; /* with uid: the owner's epoch. A higher one of the same VM is a later start */
    struct vf_config original, wanted;
    enum ledger_phase phase;
};

enum ledger_kind {
    LEDGER_EPOCHS = 0, /* epochs below epochs_to are reserved */
    LEDGER_OWNER,      /* `vf` changes to this */
    LEDGER_KEPT,       /* `vf` as it was when the file was begun */
    LEDGER_KINDS
};

struct ledger_record {
    enum ledger_kind kind;
    uint64_t epochs_to;
    struct ledger_vf vf;
};

struct ledger {
    uint64_t next;      /* number of the next record: no record is lost or there twice */
    uint64_t epochs_to; /* the next run of nicbond begins here */
    uint16_t count;
    struct ledger_vf vfs[LEDGER_VFS_MAX];
};

void ledger_init(struct ledger *l);
/* NULL: nobody ever owned it. `vf` is a PCI address. */
const struct ledger_vf *ledger_find(const struct ledger *l, const char *vf);
static inline bool ledger_is_owned(const struct ledger_vf *vf)
{
    return vf != NULL && vf->phase != LEDGER_RELEASED;
}

/* ---- what may happen: each makes the record to write, and changes nothing ---- */

/* The VF becomes want->uid's (its original is ignored). `present` is its configuration as read; it
 * becomes the original, unless the last owner never gave the VF back: then the original stays the
 * one before that owner. The caller knows that no other owner runs.
 * HF_EACCESS: a later start of the same VM has owned it. HF_EFULL. */
enum hf_code ledger_intend(const struct ledger *l, const struct ledger_vf *want,
                           const struct vf_config *present, struct ledger_record *record,
                           struct hf_err *err);
/* It was read back as wanted, or as it was before. Only its owner may: HF_EACCESS names the one who
 * has it now (a late teardown must not touch a VF that was given to somebody else); HF_ENOENT:
 * nobody owns it. */
enum hf_code ledger_done(const struct ledger *l, const char *vf, hf_vm_uid uid, uint32_t start_no,
                         struct ledger_record *record, struct hf_err *err);
enum hf_code ledger_release(const struct ledger *l, const char *vf, hf_vm_uid uid,
                            uint32_t start_no, struct ledger_record *record, struct hf_err *err);
/* The next LEDGER_EPOCHS_RESERVED epochs, from `floor` on if that is higher than what the ledger
 * says. They may be used once the record is on disk. Returns the first; record->epochs_to is the
 * end. 0 is no epoch. */
uint64_t ledger_reserve(const struct ledger *l, uint64_t floor, struct ledger_record *record);

/* Changes the ledger by one record. HF_EBAD: it does not follow from what was before, and nothing
 * was changed; records made above and applied at once always do. HF_EFULL. */
enum hf_code ledger_apply(struct ledger *l, const struct ledger_record *record, struct hf_err *err);

/* ---- bytes ---- */

/* `number` is the ledger's `next` as the record is written. */
void ledger_encode(const struct ledger_record *record, uint64_t number,
                   uint8_t bytes[LEDGER_RECORD_BYTES]);
/* The whole state as the beginning of a new file; bytes written, at most LEDGER_SAVE_BYTES_MAX. */
size_t ledger_save(const struct ledger *l, uint8_t *bytes, size_t cap);

/* A file's bytes into the state. *torn: bytes at the end that are the rest of a record whose
 * writing was cut: they stand for nothing. HF_EBAD: anything else that is wrong; the text says
 * where. l is then what was before that place. */
enum hf_code ledger_load(struct ledger *l, const uint8_t *bytes, size_t len, size_t *torn,
                         struct hf_err *err);

/* Invariants; asserts. */
void ledger_check(const struct ledger *l);

#endif
