/* agent_rig.h - the daemon's side of the agent door for tests: an agent in a thread of its own, a
 * real socket, records sent and awaited with a deadline. A wait that fails ends the test. */
#ifndef TESTS_FAKES_AGENT_RIG_H
#define TESTS_FAKES_AGENT_RIG_H

#include <pthread.h>

#include "agents/agent.h"

enum { RIG_WAIT_MS = 8000 }; /* no test passes by waiting: it is for a loaded machine */

struct agent_rig {
    char folder[64], door[96];
    int listen_fd, fd, stop_fd;
    struct agent *agent;
    pthread_t thread;
};

/* A folder and a door; then agent_open with rig->door and rig->stop_fd, then rig_run. */
void rig_open(struct agent_rig *rig);
struct agent_setup rig_setup(const struct agent_rig *rig, enum hf_agent_kind kind,
                             const struct agent_calls *calls, void *user);
/* Start the agent's thread, let it connect, and read its hello. */
void rig_run(struct agent_rig *rig, enum hf_agent_kind kind);
/* The daemon dies and comes back: the agent connects and says hello again. */
void rig_restart(struct agent_rig *rig, enum hf_agent_kind kind);
/* End the agent's thread; then what it used may be closed, before rig_close. */
void rig_stop(struct agent_rig *rig);
void rig_close(struct agent_rig *rig);

void rig_send(struct agent_rig *rig, const struct hf_report *report, int ride);
/* The next record of one of the kinds in the mask (1u << kind); others before it are skipped. */
struct hf_report rig_await(struct agent_rig *rig, uint32_t kinds);
/* True if no record of these kinds comes within ms. */
bool rig_is_quiet(struct agent_rig *rig, uint32_t kinds, int ms);

#endif
