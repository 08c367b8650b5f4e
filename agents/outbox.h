/* outbox.h - reports on their way to the daemon: bounded, and never the wrong thing lost.
 * Of everything that is a state (host, watch, inventory or NICs, one VM or its legs) only the
 * newest word is kept. Results of orders are kept even after they were sent, because a sent record
 * may die with the daemon that had not read it: they are told again on the next connection, until
 * the daemon drops their token or newer results need the room. Repeating is safe: only a live token
 * counts. Order of sending = order of the last put. One owner, no I/O, no clock. */
#ifndef AGENTS_OUTBOX_H
#define AGENTS_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/wire/report.h"

enum {
    OUTBOX_SMALL_BYTES = 224,         /* the longest result: 20 bytes and a reason */
    OUTBOX_DONE_MAX = HF_EFFECTS_MAX, /* every order a group can have in flight */
    OUTBOX_PROGRESS_MAX = 64, /* and flips, for people: the oldest unsent one gives way, counted */
};

struct agent_outbox_small {
    uint64_t at;           /* place in the order; 0 = empty */
    bool is_sent;          /* results only: kept, not waiting */
    hf_vm_uid uid;         /* VM only */
    struct hf_token token; /* results only */
    uint8_t len;
    uint8_t bytes[OUTBOX_SMALL_BYTES];
};

struct agent_outbox {
    uint64_t at_last;
    uint64_t dropped; /* progress lost to the bound */
    struct agent_outbox_small host, watch;
    struct agent_outbox_small vm[HF_VMS_MAX];
    struct agent_outbox_small done[OUTBOX_DONE_MAX];
    struct agent_outbox_small progress[OUTBOX_PROGRESS_MAX];
    uint64_t inventory_at;
    size_t inventory_len;
    uint8_t inventory[HF_REPORT_BYTES_MAX];
};

void agent_outbox_init(struct agent_outbox *box);
/* Take a report of the agent -> daemon kinds (not HELLO, which opens a connection). False: a result
 * or a VM found no room; impossible while the owner heeds agent_outbox_has_room. */
bool agent_outbox_put(struct agent_outbox *box, const struct hf_report *report);
/* The record to send next, or NULL. Valid until the next call. */
const uint8_t *agent_outbox_next(const struct agent_outbox *box, size_t *len);
/* The record agent_outbox_next returned is in the peer's socket. */
void agent_outbox_sent(struct agent_outbox *box);
/* A new connection: all kept results wait again. The inventory does not survive: it was complete
 * against the list of a daemon that is gone. */
void agent_outbox_reconnected(struct agent_outbox *box);
/* Is there a kept result of this order? Then it waits for sending again. */
bool agent_outbox_repeat(struct agent_outbox *box, struct hf_token token);
/* The daemon does not want this order's result any more. */
void agent_outbox_forget(struct agent_outbox *box, struct hf_token token);
/* Room for one more order's result: take no order from the daemon without it. */
bool agent_outbox_has_room(const struct agent_outbox *box);

#endif
