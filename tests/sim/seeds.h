/* seeds.h - a file of seeds that once failed: "SEED GENERATOR what it found", one a line. */
#ifndef TESTS_SIM_SEEDS_H
#define TESTS_SIM_SEEDS_H

/* Run them all, each as its generator drew it; returns the exit code. Seeds of generators that are
 * no more are run as well: they are still seeds, though no longer the same story. */
int seeds_run(const char *file);

#endif
