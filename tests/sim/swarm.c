#include "tests/sim/swarm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/catalogue.h"
#include "tests/sim/replay.h"
#include "tests/sim/sim.h"

enum { JOBS_MAX = 64, TAIL_LINES = 120 };

/* Shared by the workers; they add, the parent reads. */
struct swarm_sums {
    _Atomic uint64_t next;
    _Atomic uint64_t done, limits, steps, starts, fences, busiest_minute;
    _Atomic uint64_t sim_ms, skipped_ms;
    _Atomic uint64_t last_instants, old_views, ghosts;
    _Atomic uint64_t proof[HF_PROOFS], dog_resets, self_stops, pings, leg_moves;
    _Atomic uint64_t fault[FAULTS];
    _Atomic uint64_t bad_seed[JOBS_MAX]; /* by worker; 0 = none */
    _Atomic uint64_t now_seed[JOBS_MAX];
    _Atomic uint64_t violations;
    _Atomic bool stop;
};

static double wall_seconds(void)
{
    struct timespec t; /* how fast we are, not what the simulation sees */
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void draw(struct sim_options *opt, uint64_t seed, const struct swarm_settings *settings)
{
    options_draw(opt, seed, settings->generator);
    if (settings->minutes != 0)
        opt->minutes = settings->minutes;
}

static void add_up(struct swarm_sums *sums, const struct sim *s)
{
    sums->done++;
    sums->steps += s->steps;
    sums->starts += s->check.starts;
    sums->fences += s->check.fences;
    sums->sim_ms += (uint64_t)(s->now / HF_NS_PER_MS);
    sums->skipped_ms += (uint64_t)(s->skipped / HF_NS_PER_MS);
    sums->last_instants += s->totem.last_instants;
    sums->old_views += s->totem.old_views;
    sums->ghosts += s->totem.ghosts_shown;
    sums->dog_resets += s->check.dog_resets;
    sums->self_stops += s->check.self_stops;
    sums->pings += s->check.pings;
    sums->leg_moves += s->check.leg_moves;
    for (unsigned i = 0; i < HF_PROOFS; i++)
        sums->proof[i] += s->check.proofs[i];
    for (unsigned i = 0; i < FAULTS; i++)
        sums->fault[i] += s->faults.count[i];
    if (s->check.busiest_minute > sums->busiest_minute)
        sums->busiest_minute = s->check.busiest_minute;
}

static void worker(struct swarm_sums *sums, const struct swarm_settings *settings, unsigned job)
{
    struct sim *s = malloc(sizeof *s);
    if (s == NULL)
        exit(2);
    for (;;) {
        uint64_t seed = sums->next++;
        if (seed > settings->last || sums->stop)
            break;
        sums->now_seed[job] = seed;
        struct sim_options opt;
        draw(&opt, seed, settings);
        sim_open(s, &opt, NULL);
        sim_run_seed(s);
        add_up(sums, s);
        if (s->is_failed && s->is_limit) {
            sums->limits++;
        } else if (s->is_failed) {
            sums->violations++;
            sums->bad_seed[job] = seed;
            printf("seed %" PRIu64 ": %s\n", seed, s->why);
            fflush(stdout);
            if (!settings->keeps_going)
                sums->stop = true;
        }
        sim_close(s);
    }
    sums->now_seed[job] = 0;
    free(s);
    exit(0);
}

/* Start a worker; when it aborts, note its seed and start another one in its place. */
static void work(struct swarm_sums *sums, const struct swarm_settings *settings)
{
    pid_t pids[JOBS_MAX] = {0};
    unsigned running = 0;
    fflush(stdout);
    for (unsigned i = 0; i < settings->jobs; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            worker(sums, settings, i);
        running += pids[i] > 0;
    }
    while (running > 0) {
        int status;
        pid_t pid = wait(&status);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            return;
        running--;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        for (unsigned i = 0; i < settings->jobs; i++) {
            if (pids[i] != pid)
                continue;
            uint64_t seed = sums->now_seed[i];
            printf("seed %" PRIu64 ": the process died (status %d)\n", seed, status);
            fflush(stdout);
            sums->violations++;
            sums->done++;
            sums->bad_seed[i] = seed;
            if (!settings->keeps_going) {
                sums->stop = true;
                break;
            }
            pids[i] = fork();
            if (pids[i] == 0)
                worker(sums, settings, i);
            running++;
        }
    }
}

static bool has_generator(const char *id)
{
    for (unsigned i = 0; i < FAULTS; i++)
        if (strcmp(fault_id((enum fault)i), id) == 0)
            return true;
    return false;
}

/* What of the catalogue cannot occur here; README.md says why. */
static void print_without(void)
{
    char ids[] = CATALOGUE_IDS;
    char *rest = ids;
    unsigned count = 0;
    printf("without a generator:");
    for (const char *id = strtok_r(ids, " ", &rest); id != NULL; id = strtok_r(NULL, " ", &rest))
        if (!has_generator(id))
            count += printf(" %s", id) > 0;
    printf(" (%u of the catalogue)\n", count);
}

static int print_coverage(struct swarm_sums *sums)
{
    int missing = 0;
    printf("fault coverage:\n");
    for (unsigned i = 0; i < FAULTS; i++) {
        uint64_t count = sums->fault[i];
        printf("  %-4s %9" PRIu64 "  %s\n", fault_id((enum fault)i), count,
               fault_text((enum fault)i));
        missing += count == 0;
    }
    print_without();
    printf("fault coverage: %d ids claimed, %d never occurred\n", FAULTS, missing);
    return missing;
}

int swarm_run(const struct swarm_settings *settings)
{
    struct swarm_sums *sums =
        mmap(NULL, sizeof *sums, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int missing = 0;
    if (sums == MAP_FAILED) {
        perror("mmap");
        return 2;
    }
    memset(sums, 0, sizeof *sums);
    sums->next = settings->first;
    double start = wall_seconds();
    work(sums, settings);
    double took = wall_seconds() - start;
    uint64_t worst = 0;
    for (unsigned i = 0; i < settings->jobs; i++)
        if (sums->bad_seed[i] != 0 && (worst == 0 || sums->bad_seed[i] < worst))
            worst = sums->bad_seed[i];
    if (worst != 0) {
        fflush(stdout);
        pid_t pid = fork(); /* it may abort */
        if (pid == 0)
            exit(swarm_one(worst, settings, false, TAIL_LINES, NULL));
        waitpid(pid, NULL, 0);
    }
    if (settings->wants_coverage)
        missing = print_coverage(sums);
    printf("starts of VMs %" PRIu64 ", fences %" PRIu64 ", last instants %" PRIu64
           ", sent in a later view %" PRIu64 ", ghosts %" PRIu64 ", limits shown %" PRIu64
           ", most steps in a minute %" PRIu64 "\n",
           sums->starts, sums->fences, sums->last_instants, sums->old_views, sums->ghosts,
           sums->limits, sums->busiest_minute);
    printf("proofs of death: fence %" PRIu64 ", rejoin %" PRIu64 ", operator %" PRIu64
           ", watchdog %" PRIu64 "; watchdog resets %" PRIu64 ", self-stops %" PRIu64
           ", pings %" PRIu64 "; moved for their legs %" PRIu64 "\n",
           sums->proof[HF_PROOF_FENCE], sums->proof[HF_PROOF_REJOIN],
           sums->proof[HF_PROOF_OPERATOR], sums->proof[HF_PROOF_WATCHDOG], sums->dog_resets,
           sums->self_stops, sums->pings, sums->leg_moves);
    printf("seeds %" PRIu64 ", simulated hours %.1f (of which skipped quiet %.1f), steps %" PRIu64
           ", violations %" PRIu64 ", seeds/s %.1f\n",
           sums->done, (double)sums->sim_ms / 3.6e6, (double)sums->skipped_ms / 3.6e6, sums->steps,
           sums->violations, (double)sums->done / (took > 0 ? took : 1));
    int code = sums->violations != 0 || missing != 0;
    munmap(sums, sizeof *sums);
    return code;
}

/* The run that an assert would end. */
static struct sim *current;

static void print_tail(const struct sim *s)
{
    uint32_t count = s->log.tail_count;
    uint32_t cap = s->log.tail_cap;
    for (uint32_t i = count > cap ? count - cap : 0; cap > 0 && i < count; i++)
        printf("%s\n", s->log.tail[i % cap]);
}

void swarm_logged(const char *text)
{
    if (current != NULL)
        SAY(current, -1, "log: %s", text);
}

bool swarm_died(const char *condition, const char *file, int line)
{
    if (current != NULL) {
        print_tail(current);
        printf("VIOLATION seed %" PRIu64 " at %.4f s: ", current->opt.seed,
               (double)current->now / 1e9);
    }
    printf("assert %s (%s:%d)\n", condition, file, line);
    fflush(stdout);
    return current != NULL;
}

int swarm_one(uint64_t seed, const struct swarm_settings *settings, bool is_verbose, uint32_t tail,
              const char *journal)
{
    struct sim *s = malloc(sizeof *s);
    struct sim_log log = {.is_on = is_verbose || tail > 0, .is_printed = is_verbose};
    if (s == NULL)
        return 2;
    if (tail > 0 && !is_verbose) {
        log.tail = calloc(tail, sizeof *log.tail);
        log.tail_cap = log.tail != NULL ? tail : 0;
    }
    struct sim_options opt;
    draw(&opt, seed, settings);
    printf("seed %" PRIu64 "\n", seed);
    options_print(&opt, stdout);
    current = s;
    sim_open(s, &opt, &log);
    s->node[0].journal = journal != NULL ? replay_open_for_writing(journal) : NULL;
    sim_run_seed(s);
    if (s->node[0].journal != NULL)
        replay_close(s->node[0].journal);
    print_tail(s);
    printf("seed %" PRIu64
           ": %s%s%s, %.1f simulated hours (of which skipped quiet %.1f), steps %" PRIu64 "\n",
           seed, s->is_failed ? "VIOLATION " : "no violation", s->is_failed ? s->why : "",
           s->is_failed && s->is_limit ? " (a marked limit)" : "", (double)s->now / 3.6e12,
           (double)s->skipped / 3.6e12, s->steps);
    int code = s->is_failed && !s->is_limit;
    current = NULL;
    sim_close(s);
    free(log.tail);
    free(s);
    return code;
}
