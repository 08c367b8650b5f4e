/* fields.h - the fields that several messages share, as bytes: one encoding, one set of checks.
 * For codecs only (wire/, cluster/side.c). A getter that meets what may not be said makes the
 * reader bad. */
#ifndef SUPERVISORD_WIRE_FIELDS_H
#define SUPERVISORD_WIRE_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/base/buf.h"
#include "supervisord/engine/engine.h"
#include "supervisord/model/ids.h"
#include "supervisord/model/nic.h"

void fields_put_bool(struct hf_writer *w, bool v);
bool fields_get_bool(struct hf_reader *r);

/* A number in 1..limit-1, for enums that have no value 0. */
uint8_t fields_get_enum_from_1(struct hf_reader *r, uint8_t limit);
/* Above 0: deadlines and durations that would mean nothing otherwise. */
uint32_t fields_get_positive(struct hf_reader *r);

void fields_put_node(struct hf_writer *w, hf_node node);
hf_node fields_get_node(struct hf_reader *r);
hf_node fields_get_node_or_none(struct hf_reader *r);

/* What has no token is no order, and answers none. */
void fields_put_token(struct hf_writer *w, struct hf_token token);
void fields_get_token(struct hf_reader *r, struct hf_token *token);

/* 0 names no VM. */
hf_vm_uid fields_get_uid(struct hf_reader *r);
void fields_get_name(struct hf_reader *r, char out[HF_NAME_MAX + 1]);
void fields_get_name_or_none(struct hf_reader *r, char out[HF_NAME_MAX + 1]); /* "": none */

/* A text of at most HF_REASON_MAX bytes often comes from a library or a driver, with line ends in
 * it. A reader refuses control characters, and a refused message costs the connection: so they
 * become blanks here. */
void fields_put_text(struct hf_writer *w, const char *text);

/* Bounded, and no VM twice: that would be two answers to one question. */
void fields_put_inventory(struct hf_writer *w, uint64_t as_of, const struct hf_vm_seen *vm,
                          uint16_t count);
void fields_get_inventory(struct hf_reader *r, uint64_t *as_of, struct hf_vm_seen vm[HF_VMS_MAX],
                          uint16_t *count);

/* Only legs that it has can carry. `active` may be HF_FABRICS_MAX: not known. */
void fields_put_legs(struct hf_writer *w, hf_legs has, hf_legs up, hf_fabric active);
void fields_get_legs(struct hf_reader *r, hf_legs *has, hf_legs *up, hf_fabric *active);
void fields_put_flip(struct hf_writer *w, const struct hf_flip *flip);
void fields_get_flip(struct hf_reader *r, struct hf_flip *flip);

#endif
