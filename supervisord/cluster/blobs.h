/* blobs.h - contents that the state names by SHA-256 (domain XML, configuration text): on every
 * node. In memory, bounded; kept on disk through a port; spread by side messages. A node that lacks
 * a content which the state names asks for it; the lowest member that has it answers, the next one
 * if it does not. A piece is believed only when the whole has the right digest. Contents that
 * nothing names any more go after a while. Does no I/O of its own and never blocks. */
#ifndef SUPERVISORD_CLUSTER_BLOBS_H
#define SUPERVISORD_CLUSTER_BLOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/digest.h"
#include "supervisord/base/err.h"
#include "supervisord/model/ids.h"
#include "supervisord/model/limits.h"

enum {
    BLOBS_ASK_MS = 2000,      /* no piece for so long: ask again */
    BLOBS_TURN_MS = 300,      /* each member gives the ones before it so long to answer */
    BLOBS_UNNAMED_MS = 60000, /* an operator's VM_ADD follows its XML within seconds */
    BLOBS_PIECES = 8,         /* sent in one go; more would push events back */
};

struct blobs_ports {
    void *user;
    /* replica_side(); HF_EAGAIN: later. */
    enum hf_code (*side)(void *user, const void *bytes, size_t len, struct hf_err *err);
    /* Keep on disk under this name (64 hex digits), or remove. May fail: memory is what counts. */
    void (*keep)(void *user, const char *hex, const void *bytes, size_t len);
    void (*forget)(void *user, const char *hex);
    /* Complete and verified, from here on blobs_get() has it. */
    void (*arrived)(void *user, const struct hf_digest *digest);
};

struct blobs;

enum hf_code blobs_open(struct blobs **out, const struct blobs_ports *ports, struct hf_err *err);
void blobs_close(struct blobs *b);

/* A content of ours: kept, and given to the others. Known already: fine. HF_EFULL: no room. */
enum hf_code blobs_put(struct blobs *b, const void *bytes, size_t len, hf_time now,
                       struct hf_err *err);
/* From our own disk at start: not written, not sent. HF_EBAD: not what its name says. */
enum hf_code blobs_load(struct blobs *b, const char *hex, const void *bytes, size_t len,
                        hf_time now, struct hf_err *err);
/* NULL: not here (yet). Valid until the next call that is given a time. */
const void *blobs_get(const struct blobs *b, const struct hf_digest *digest, size_t *len);
/* Ask the others for it, unless it is here or asked for already. */
void blobs_want(struct blobs *b, const struct hf_digest *digest, hf_time now);
/* Everything the state names: what is missing is asked for, what is not named ages. */
void blobs_named(struct blobs *b, const struct hf_digest *digests, size_t count, hf_time now);
/* Hand everything that is complete to `keep` again: the disk is back. */
void blobs_keep_all(struct blobs *b);

/* A side message of type SIDE_PUT or SIDE_WANT, from `nodeid`. rank: how many members come before
 * us in answering (0 = we are the first); is_own: it is our own message coming back. */
void blobs_side(struct blobs *b, const uint8_t *bytes, size_t len, uint32_t nodeid, unsigned rank,
                bool is_own, hf_time now);
/* Call at blobs_deadline() or later; a delivery can bring the deadline forward. */
void blobs_tick(struct blobs *b, hf_time now);
hf_time blobs_deadline(const struct blobs *b);
bool blobs_is_sending(const struct blobs *b);

struct blobs_view {
    unsigned count, missing;
    size_t bytes;
    uint64_t refused; /* for want of room or a wrong digest */
};
struct blobs_view blobs_look(const struct blobs *b);

#endif
