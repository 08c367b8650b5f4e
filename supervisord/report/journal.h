/* journal.h - every ordered event and what was decided on it, kept on disk by a thread of its own.
 * For replay (`holdfast-sim --replay FILE`), for a restart of the whole group, for evidence. The
 * daemon's loop hands records to a bounded queue and never waits for the disk: when the queue is
 * full or a write fails, records are lost, counted and told, decisions go on, and the journal heals
 * itself with a snapshot in a new file. Contents (blobs) are written by the same thread.
 *
 * Below the state directory:
 *   journal/journal-NNNNNNNN-SEQ   NNNNNNNN rises with every file; SEQ = its first snapshot's
 *   blobs/HEX                      contents by SHA-256
 * A file: 16 bytes header, then records {len u32, crc32c u32, kind u8, bytes[len]}, little-endian.
 * The first record is a snapshot; the events after a snapshot follow it without a gap. A torn tail
 * is found by the CRC and ignored. */
#ifndef SUPERVISORD_REPORT_JOURNAL_H
#define SUPERVISORD_REPORT_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/err.h"
#include "supervisord/engine/engine.h"

enum {
    JOURNAL_FILE_BYTES = 8 << 20, /* then the next file: a day or two of a quiet group */
    JOURNAL_FILES_KEPT = 8,
    JOURNAL_QUEUE_BYTES = 16 << 20, /* minutes of a hung disk under a storm of events */
    JOURNAL_RETRY_MS = 1000,        /* after an error, one snapshot a second at most */
    JOURNAL_READ_MAX = 64 << 20,    /* a larger file is not ours */
    JOURNAL_HEADER_BYTES = 16,
    JOURNAL_RECORD_HEAD = 9,
};

enum journal_kind {
    JOURNAL_SNAPSHOT = 1, /* engine_save() bytes */
    JOURNAL_EVENT,        /* seq u64, length u16, event_encode(), decision_encode() */
    JOURNAL_KINDS
};

/* ---- the writer ---- */

struct journal;

struct journal_settings {
    const char *state_directory; /* copied; made if it is not there */
    uint32_t file_bytes;         /* 0 = JOURNAL_FILE_BYTES */
    uint32_t files_kept;         /* 0 = JOURNAL_FILES_KEPT */
    uint32_t queue_bytes;        /* 0 = JOURNAL_QUEUE_BYTES */
};

struct journal_status {
    bool is_broken;   /* records are being lost */
    uint64_t lost;    /* records and files never written */
    uint64_t written; /* records on disk and synced */
    char why[256];    /* when broken */
};

/* Starts the thread. A directory that cannot be written is not an error here but a broken journal.
 */
enum hf_code journal_open(struct journal **out, const struct journal_settings *settings,
                          struct hf_err *err);
/* Waits at most wait_ms for what is queued, then abandons it (a hung disk must not stop a
 * shutdown). NULL is fine. */
void journal_close(struct journal *j, int wait_ms);

/* In replica_ports.replaced: from here on this state. */
void journal_replaced(struct journal *j, const struct engine *e, hf_time now);
/* In replica_ports.stepped, e = after the step. */
void journal_step(struct journal *j, const struct engine *e, const struct hf_event *ev,
                  const struct engine_out *out, hf_time now);
/* Write `blobs/<name>` whole and safely (a crash leaves the old file or the new one), or remove it.
 * False: the queue is full, nothing will happen. */
bool journal_put_file(struct journal *j, const char *name, const void *bytes, size_t len);
bool journal_remove_file(struct journal *j, const char *name);

/* Readable when the status may have changed; journal_look() makes it unreadable again. */
int journal_fd(const struct journal *j);
void journal_look(struct journal *j, struct journal_status *status);

/* ---- the reader: for store.c, replay and tests ---- */

struct journal_record {
    enum journal_kind kind;
    uint64_t seq;         /* EVENT */
    const uint8_t *state; /* SNAPSHOT: inside the reader */
    size_t state_len;
    struct hf_event event;   /* EVENT: seq is set */
    const uint8_t *decision; /* EVENT: inside the reader; compare with decision_encode() */
    size_t decision_len;
};

struct journal_reader {
    uint8_t *bytes; /* owned; the whole file */
    size_t len, at;
    uint32_t ruleset; /* HF_RULESET of the writer */
};

enum hf_code journal_read_open(struct journal_reader *r, const char *path, struct hf_err *err);
/* The same over bytes in memory: copied. */
enum hf_code journal_read_bytes(struct journal_reader *r, const void *bytes, size_t len,
                                struct hf_err *err);
/* HF_ENOENT: the end. HF_EBAD: torn or damaged from here on; do not call it again. */
enum hf_code journal_read_next(struct journal_reader *r, struct journal_record *record,
                               struct hf_err *err);
void journal_read_close(struct journal_reader *r);

/* File numbers of `journal/` below the state directory, newest first; returns how many (<= cap).
 * A missing directory has none. */
size_t journal_list(const char *state_directory, char (*names)[64], size_t cap);

#endif
