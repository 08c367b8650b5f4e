/* event.h - engine events and decisions as bytes: what members multicast, what the journal keeps.
 * Little-endian, field by field, versioned by the message around it. A decoder accepts only what
 * the engine may be given: every enum, index, count and name in range, every byte used. */
#ifndef SUPERVISORD_WIRE_EVENT_H
#define SUPERVISORD_WIRE_EVENT_H

#include "supervisord/base/buf.h"
#include "supervisord/base/err.h"
#include "supervisord/engine/engine.h"

/* Largest encoded event (an inventory of every VM) with room to spare. */
enum { HF_EVENT_BYTES_MAX = 4096 };

/* Without seq: the receiver counts. `from` is included. */
void event_encode(const struct hf_event *ev, struct hf_writer *w);
/* Leaves ev->seq 0. HF_EBAD for anything the engine must not see. */
enum hf_code event_decode(struct hf_reader *r, struct hf_event *ev, struct hf_err *err);

/* A step's decisions (applied, why, effects, changes), for journal and replay: compared as bytes.
 */
void decision_encode(const struct engine_out *out, struct hf_writer *w);

#endif
