/* faults.h - what goes wrong: one row a fault, named by its id in the catalogue.
 * The catalogue's texts are in faults.c; `holdfast-sim --fault-coverage` counts what really fired.
 */
#ifndef TESTS_SIM_FAULTS_H
#define TESTS_SIM_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/model/ids.h"

enum fault {
    FAULT_P1 = 0,
    FAULT_P2,
    FAULT_P3,
    FAULT_P7,
    FAULT_P8,
    FAULT_P9,
    FAULT_P13,
    FAULT_P16,
    FAULT_P17,
    FAULT_P18,
    FAULT_C1,
    FAULT_C2,
    FAULT_C3,
    FAULT_C4,
    FAULT_C5,
    FAULT_C6,
    FAULT_C7,
    FAULT_C8,
    FAULT_C9,
    FAULT_C10,
    FAULT_C11,
    FAULT_C12,
    FAULT_C13,
    FAULT_C14,
    FAULT_C15,
    FAULT_C18,
    FAULT_C19,
    FAULT_H1,
    FAULT_H2,
    FAULT_H3,
    FAULT_H4,
    FAULT_H5,
    FAULT_H9,
    FAULT_H10,
    FAULT_H11,
    FAULT_H13,
    FAULT_H14,
    FAULT_H15,
    FAULT_H17,
    FAULT_T4,
    FAULT_T5,
    FAULT_T6,
    FAULT_K3,
    FAULT_K4,
    FAULT_O1,
    FAULT_O4,
    FAULT_O5,
    FAULT_O7,
    FAULT_O9,
    FAULTS
};

enum { FAULT_UNDO_MAX = 32 };

struct fault_undo {
    bool is_used;
    uint8_t fault;
    hf_nodes nodes;
    uint32_t arg;
};

struct fault_state {
    bool is_over; /* the liveness phase: nothing new happens */
    uint64_t count[FAULTS];
    struct fault_undo undo[FAULT_UNDO_MAX];
    uint8_t follow; /* a fault to draw next, soon; FAULTS = none */
    hf_nodes follow_nodes;
};

struct sim;
const char *fault_id(enum fault f);
const char *fault_text(enum fault f);
/* Draw and do the next fault, and plan the one after it. */
void faults_next(struct sim *s);
void faults_undo(struct sim *s, uint32_t slot);
/* Called when an order to fence, or to start, is being performed: some faults wait for that. */
void faults_at_fence(struct sim *s, hf_node actor, hf_node target);
void faults_at_start(struct sim *s, hf_node actor);
void faults_moment(struct sim *s, enum fault f, hf_node n);
/* One order of the simulated operator, drawn. */
void faults_operator(struct sim *s);
/* Note that something of the catalogue happened. */
void faults_count(struct sim *s, enum fault f);
/* End of the safety phase: repair `core`, leave the rest as it is. */
void faults_heal(struct sim *s, hf_nodes core);

#endif
