/* internal.h - shared by runner.c (the door and the orders) and trial.c (the self-tests). */
#ifndef FENCING_RUNNER_INTERNAL_H
#define FENCING_RUNNER_INTERNAL_H

#include "fencing/runner/runner.h"

enum { RUNNER_SAID_MAX = 159 };

/* Into the queue for the daemon. */
void runner_answer(struct runner *r, const struct hf_report *report);
/* Configuration text[len] is parsed into r->config. NULL: there is no such level, err says why. */
const struct hf_fence_level *runner_level(struct runner *r, const char *text, size_t len,
                                          const char *target, uint8_t level, struct hf_err *err);
/* The agent's stdin, secrets included. */
enum hf_code runner_input(const struct runner *r, const struct hf_fence_device *def,
                          enum exec_action action, struct exec_input *in, struct hf_err *err);
/* How an ended run ended and its last words, printable and without the device's secrets. */
void runner_words(const struct runner *r, const struct hf_fence_device *def, struct exec_run *run,
                  char out[RUNNER_SAID_MAX + 1]);
bool runner_has_order(const struct runner *r, const char *target); /* NULL: against anybody */

void trial_init(struct runner *r);
/* A more urgent matter with this node: answered as not tried. */
void trial_cancel(struct runner *r, const char *target, hf_time now);
/* Without an answer: nobody is there to hear it. */
void trial_kill_all(struct runner *r);
void trial_go_on(struct runner *r, hf_time now);
size_t trial_poll(const struct runner *r, struct pollfd *fds, hf_time *deadline);

#endif
