#include "agents/host/host.h"

#include <unistd.h>

#include "agents/host/probe.h"

static void joined(void *user, hf_time now)
{
    struct host *host = user;

    host->history.has_told = false; /* a new daemon knows nothing */
    host->sample_at = now;
}

/* The daemon has nothing to order from this agent. */
static void told(void *user, const struct hf_report *report, int ride, hf_time now)
{
    (void)user;
    (void)report;
    (void)now;
    if (ride >= 0)
        close(ride);
}

static void ready(void *user, int fd, hf_time now)
{
    (void)user;
    (void)fd;
    (void)now;
}

static hf_time tick(void *user, hf_time now)
{
    struct host *host = user;
    struct hf_report report = {.kind = HF_REPORT_HOST};

    if (!hf_time_reached(now, host->sample_at))
        return host->sample_at;
    host->sample_at = hf_time_add_ms(now, HOST_SAMPLE_MS);
    probe_host(host->sysroot, host->uuid_path, &report.u.host);
    probe_clocks(&report.u.host);
    probe_rooms(host->sysroot, host->run_directory, report.u.host.room);
    for (unsigned i = 0; i < HF_ROOMS; i++)
        report.u.host.room[i].is_low =
            judge_room(&report.u.host.room[i], host->history.told.room[i].is_low);
    if (judge_host(&host->history, &report.u.host, now) != JUDGE_HOST_QUIET) {
        host->history =
            (struct judge_host){.has_told = true, .told_at = now, .told = report.u.host};
        agent_put(host->agent, &report);
    }
    return host->sample_at;
}

const struct agent_calls host_calls = {joined, told, ready, tick};
