/* holdfast-sim - run seeds, one seed, a scenario or a journal. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/guard.h"
#include "supervisord/base/log.h"
#include "tests/sim/options.h"
#include "tests/sim/replay.h"
#include "tests/sim/scenario.h"
#include "tests/sim/seeds.h"
#include "tests/sim/swarm.h"

/* In place of base's: an assert of the engine or the replica is a violation with a story, even
 * where the daemon would survive it; but a journal is replayed as the daemon went on. */
_Noreturn void hf_assert_failed(const char *condition, const char *file, int line)
{
    if (!swarm_died(condition, file, line))
        hf_guard_leave();
    abort();
}

/* What the daemon's own objects log belongs to the timeline of the run. */
void hf_log(enum hf_level level, const char *format, ...)
{
    char text[160];
    va_list args;
    (void)level;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    swarm_logged(text);
}

static const char usage[] =
    "usage: holdfast-sim --seeds N | A..B [--jobs N] [--fault-coverage] [--keep-going]\n"
    "       holdfast-sim --seed N [-v] [--journal FILE]\n"
    "       holdfast-sim --kept FILE            seeds that once failed\n"
    "       holdfast-sim --scenario DIR [-v]\n"
    "       holdfast-sim --replay FILE\n"
    "       --minutes N shortens the safety phase (default 60); --generator 2 draws no NICs\n";

struct command {
    struct swarm_settings swarm;
    bool wants_swarm, wants_one, is_verbose;
    uint64_t seed;
    const char *journal, *scenario, *replay, *kept;
};

static bool read_range(const char *text, struct swarm_settings *to)
{
    char *end;
    uint64_t a = strtoull(text, &end, 10);
    if (end == text)
        return false;
    if (*end == '\0') {
        to->first = 1;
        to->last = a;
        return a > 0;
    }
    if (strncmp(end, "..", 2) != 0)
        return false;
    to->first = a;
    to->last = strtoull(end + 2, &end, 10);
    return *end == '\0' && to->first > 0 && to->last >= to->first;
}

static bool read_number(const char *text, uint64_t *to)
{
    char *end;
    *to = strtoull(text, &end, 10);
    return end != text && *end == '\0';
}

static bool read_arguments(int argc, char **argv, struct command *c)
{
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        uint64_t number = 0;
        if (strcmp(name, "-v") == 0)
            c->is_verbose = true;
        else if (strcmp(name, "--fault-coverage") == 0)
            c->swarm.wants_coverage = true;
        else if (strcmp(name, "--keep-going") == 0)
            c->swarm.keeps_going = true;
        else if (i + 1 == argc)
            return false;
        else if (strcmp(name, "--seeds") == 0 && read_range(argv[++i], &c->swarm))
            c->wants_swarm = true;
        else if (strcmp(name, "--seed") == 0 && read_number(argv[++i], &c->seed))
            c->wants_one = true;
        else if (strcmp(name, "--jobs") == 0 && read_number(argv[++i], &number) && number >= 1 &&
                 number <= 64)
            c->swarm.jobs = (unsigned)number;
        else if (strcmp(name, "--minutes") == 0 && read_number(argv[++i], &number) && number >= 1 &&
                 number <= 100000)
            c->swarm.minutes = (uint32_t)number;
        else if (strcmp(name, "--generator") == 0 && read_number(argv[++i], &number) &&
                 number >= 1 && number <= SIM_GENERATOR)
            c->swarm.generator = (unsigned)number;
        else if (strcmp(name, "--journal") == 0)
            c->journal = argv[++i];
        else if (strcmp(name, "--scenario") == 0)
            c->scenario = argv[++i];
        else if (strcmp(name, "--replay") == 0)
            c->replay = argv[++i];
        else if (strcmp(name, "--kept") == 0)
            c->kept = argv[++i];
        else
            return false;
    }
    return c->wants_swarm + c->wants_one + (c->scenario != NULL) + (c->replay != NULL) +
               (c->kept != NULL) ==
           1;
}

int main(int argc, char **argv)
{
    struct command c = {.swarm = {.jobs = 1}};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (cores > 0 && cores <= 64)
        c.swarm.jobs = (unsigned)cores;
    if (!read_arguments(argc, argv, &c)) {
        fputs(usage, stderr);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (c.replay != NULL)
        return replay_run(c.replay);
    if (c.scenario != NULL)
        return scenario_run(c.scenario, c.is_verbose);
    if (c.kept != NULL)
        return seeds_run(c.kept);
    if (c.wants_one)
        return swarm_one(c.seed, &c.swarm, c.is_verbose, 0, c.journal);
    return swarm_run(&c.swarm);
}
