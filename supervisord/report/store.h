/* store.h - the state this node had when its daemon last ran, read back from the journal.
 * The newest snapshot that is whole, and every event after it that is. What is damaged is said and
 * older is used instead: a state from disk only ever counts when no member carries a live one.
 * Each file is replayed in a child process: an event that made the engine assert once must not stop
 * the daemon from ever starting again; replay then ends before it. */
#ifndef SUPERVISORD_REPORT_STORE_H
#define SUPERVISORD_REPORT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/err.h"

struct store_found {
    uint8_t *bytes; /* engine_save() bytes for replica_restore(), malloc'ed, the caller's */
    size_t len;
    uint64_t seq;
    uint32_t events; /* replayed on top of the snapshot */
    char told[400];  /* what was damaged and left out; "" = nothing */
};

/* HF_ENOENT: there is none (told may still say why). Blocks as long as the disk does. Call it
 * before any thread is started. */
enum hf_code store_read(const char *state_directory, struct store_found *found, struct hf_err *err);

#endif
