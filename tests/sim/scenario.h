/* scenario.h - a drill as a folder: README, config, steps, expected (format: tests/scenarios). */
#ifndef TESTS_SIM_SCENARIO_H
#define TESTS_SIM_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

struct sim;
/* Returns the exit code. */
int scenario_run(const char *folder, bool is_verbose);
void scenario_step(struct sim *s, uint16_t index);

#endif
