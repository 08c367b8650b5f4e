/* swarm.h - many seeds on all cores, one process each; an abort of ours is a violation as well. */
#ifndef TESTS_SIM_SWARM_H
#define TESTS_SIM_SWARM_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/sim/faults.h"

struct swarm_settings {
    uint64_t first, last;
    unsigned jobs;
    bool wants_coverage;
    bool keeps_going;
    uint32_t minutes;   /* 0: as drawn */
    unsigned generator; /* 0: today's */
};

/* Returns the exit code. The last line on stdout is the summary. */
int swarm_run(const struct swarm_settings *settings);
/* One seed, drawn as the settings say, with its timeline if wanted. Returns the exit code. */
int swarm_one(uint64_t seed, const struct swarm_settings *settings, bool is_verbose, uint32_t tail,
              const char *journal);

/* A line of the objects under test, for the timeline of the single run. */
void swarm_logged(const char *text);
/* An assert failed: say where we were. False: in no seed, as when a journal is replayed. */
bool swarm_died(const char *condition, const char *file, int line);

#endif
