/* journal_file.h - the journal's files as its thread handles them: append, sync, rotate, and blobs.
 * For report/ only. Every call may block as long as the disk does: never from the daemon's loop. */
#ifndef SUPERVISORD_REPORT_JOURNAL_FILE_H
#define SUPERVISORD_REPORT_JOURNAL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/err.h"

struct journal_file {
    int fd; /* -1: none */
    uint64_t len;
};

/* The number in the name of a journal's file; false: no such name, *number is untouched. */
bool journal_file_number(const char *name, uint64_t *number);
/* CRC32C of a sealed record: everything but the CRC field itself. len >= JOURNAL_RECORD_HEAD. */
uint32_t journal_crc(const uint8_t *record, size_t len);

/* Close the open file, make the next one with its header, and remove the oldest beyond `kept`. */
enum hf_code journal_file_next(struct journal_file *f, const char *state_directory, uint64_t seq,
                               uint32_t kept, struct hf_err *err);
/* All of it, or an error and the file cut back to where it was. */
enum hf_code journal_file_append(struct journal_file *f, const void *bytes, size_t len,
                                 struct hf_err *err);
enum hf_code journal_file_sync(struct journal_file *f, struct hf_err *err);
void journal_file_close(struct journal_file *f);

enum hf_code journal_blob_put(const char *state_directory, const char *name, const void *bytes,
                              size_t len, struct hf_err *err);
enum hf_code journal_blob_remove(const char *state_directory, const char *name, struct hf_err *err);

#endif
