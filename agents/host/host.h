/* host.h - the host agent: one sample a second, told every 5 s and at once when it matters. */
#ifndef AGENTS_HOST_HOST_H
#define AGENTS_HOST_HOST_H

#include "agents/agent.h"
#include "agents/host/judge.h"

enum {
    HOST_SAMPLE_MS = 1000
}; /* five small files and two statvfs; a change that matters waits at most so long */

struct host {
    struct agent *agent;       /* set by the owner after agent_open */
    const char *sysroot;       /* borrowed */
    const char *uuid_path;     /* borrowed; below sysroot */
    const char *run_directory; /* borrowed; below sysroot */
    hf_time sample_at;
    struct judge_host history;
};

extern const struct agent_calls host_calls; /* user = struct host */

#endif
