/* guard.h - survive a failed assertion in code that touches nothing but its arguments. */
#ifndef SUPERVISORD_BASE_GUARD_H
#define SUPERVISORD_BASE_GUARD_H

#include <stdbool.h>

/* Run `run(argument)`. False: an assertion failed in it. That is told on stderr, `run` was left in
 * the middle, and whatever it wrote is worthless. For pure code alone: memory, locks or files that
 * it held would stay behind. Not to be nested; each thread has its own. */
bool hf_guard_run(void (*run)(void *argument), void *argument);

/* For hf_assert_failed(): returns if no guard runs on this thread. */
void hf_guard_leave(void);

#endif
