/* operator.h - orders of people, ready to be submitted. */
#ifndef TESTS_SIM_OPERATOR_H
#define TESTS_SIM_OPERATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/engine/engine.h"

struct sim;
/* A plain VM of this size that should run. */
void operator_add(struct hf_event *ev, const char *name, uint32_t memory_mib);
void operator_order(struct hf_event *ev, enum hf_order_type type, hf_node node, hf_vm_uid uid);
/* "vmNUMBER" with drawn wishes. */
void operator_draw_vm(struct sim *s, struct hf_event *ev, unsigned number);
/* At any node that takes orders; false: none does. */
bool operator_gives(struct sim *s, const struct hf_event *ev);

#endif
