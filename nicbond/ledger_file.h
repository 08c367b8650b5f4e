/* ledger_file.h - the ledger (ledger.h) on disk: one file, to which records are appended, and a new
 * file when it has grown. For helpers and for start-up: every call may wait for the disk, so the
 * loop that watches the cards never makes one.
 *
 * Every record is synced before ledger_file_put() returns, though a process that dies loses nothing
 * that it has written: a VF's original MAC, VLAN and link state can live in the card's firmware and
 * be there after the power is back, and then this file is the only one who knows what they were;
 * and an epoch that is given out twice would let an old flip's answer pass for a new one's. It is
 * a few milliseconds of a VM's start. Flips are not here: see flips.h.
 *
 * A record whose writing was cut is left out. Anything else that does not read is an error with its
 * place and its remedy: the file stays as it is, and nothing is changed on any VF until somebody
 * has looked. Cards are watched and flips are made without a ledger, too. */
#ifndef NICBOND_LEDGER_FILE_H
#define NICBOND_LEDGER_FILE_H

#include <sys/types.h>

#include "nicbond/ledger.h"

#define LEDGER_FOLDER "/var/lib/holdfast/nicbond"

/* The calls that change the disk, so that a test can make each of them fail, fall short or be the
 * last. They are as in libc, and set errno. */
struct ledger_disk {
    void *user;
    ssize_t (*write)(void *user, int fd, const void *bytes, size_t len, off_t at);
    int (*sync)(void *user, int fd); /* a file or a folder */
    int (*rename)(void *user, int folder, const char *from, const char *to);
};
/* The real ones. */
const struct ledger_disk *ledger_disk(void);

struct ledger_file {
    struct ledger ledger; /* as on disk */
    struct ledger_disk disk;
    int folder, fd, lock;
    off_t len;        /* of the records that count */
    bool is_in_doubt; /* a write or a sync failed: the next record begins a new file */
    size_t torn;      /* bytes that were left out by ledger_file_open() */
    char name[96];    /* the folder's, for texts; cut if longer */
};

/* Makes the folder and the file if they are not there, and holds them: one at a time, so helpers
 * open, act and close. disk = NULL: the real one. HF_EAGAIN: another process holds it for longer
 * than wait_ms. HF_EBAD: damaged. HF_EIO. After an error there is nothing to close. */
enum hf_code ledger_file_open(struct ledger_file *f, const char *folder, uint32_t wait_ms,
                              const struct ledger_disk *disk, struct hf_err *err);
void ledger_file_close(struct ledger_file *f);

/* Record on disk, then in f->ledger. After an error it counts as not written, f->ledger is
 * unchanged, and the world must not be changed as it would have said. (The record may be on disk
 * all the same: one that was intended and never done is settled at the next start.) HF_EIO, HF_EBAD
 * as of ledger_apply(). */
enum hf_code ledger_file_put(struct ledger_file *f, const struct ledger_record *record,
                             struct hf_err *err);

/* Reserve epochs: [*first, *end), for this run alone, none below `floor`. Once at start; what is
 * not used is lost. */
enum hf_code ledger_file_epochs(struct ledger_file *f, uint64_t floor, uint64_t *first,
                                uint64_t *end, struct hf_err *err);
/* Where a ledger that knows nothing begins, so that its epochs are above those of one that was
 * lost: a run takes more than a second, so runs have used fewer ranges than there were seconds. The
 * only use of the wall clock, and for nothing but being different; one that stands at zero gives 1.
 */
uint64_t ledger_epochs_floor(void);

/* Only look, beside whoever holds it. No file is an empty ledger. HF_EBAD, HF_EIO. */
enum hf_code ledger_file_read(const char *folder, struct ledger *l, struct hf_err *err);

#endif
