/* report.h - the report thread of holdfast-nicbond: the agents' frame towards the daemon, libvirt's
 * status files, and starting workers. It may read files, allocate and be late: nothing that moves
 * traffic waits for it. With the daemon gone it goes on, and tells everything again when it is
 * back. */
#ifndef NICBOND_REPORT_H
#define NICBOND_REPORT_H

#include "agents/agent.h"
#include "nicbond/helper.h"
#include "nicbond/keeper.h"
#include "nicbond/note.h"
#include "supervisord/config/config.h"

enum {
    REPORT_FOLDER_MS = 1000,  /* is libvirt's folder there now? */
    REPORT_NEWS_MS = 60000,   /* a look at every status file: inotify tells, this is the net */
    REPORT_SILENT_MS = 20000, /* the hot loop tells of its PFs every 2 s: then it does not turn */
    REPORT_RETRY_MS = 20,     /* the hot loop did not read */
    REPORT_KNOWN_MAX = 2 * HF_VMS_MAX, /* status files, ours and others' */
};

struct report_setup {
    int note_fd;                        /* our end; borrowed */
    int reload_fd;                      /* readable: SIGHUP; a signalfd; -1: none */
    const char *config, *node;          /* the cluster file and who we are in it; borrowed */
    const char *root, *run, *state;     /* borrowed: of sysfs, libvirt's status files, our folder */
    const char *ledger;                 /* borrowed: the keeper's folder; NULL: no keeper */
    const char *program, *virt, *uri;   /* borrowed: the worker programs */
    const char *wanted[HF_FABRICS_MAX]; /* borrowed: PFs as configured, NULL: none */
};

/* A VM as its status file says. */
struct report_known {
    bool is_used, is_seen, is_dirty,
        is_told; /* dirty: to be read again; told: the hot loop has it */
    char name[HF_NAME_MAX + 1];
    struct nicbond_news news;
};

struct report {
    struct report_setup setup;
    struct agent *agent;
    int watch_fd; /* inotify; -1: the folder is not there yet */
    hf_time look_at, retry_at;
    struct nic_place place[HF_FABRICS_MAX];
    struct report_known known[REPORT_KNOWN_MAX];
    uint8_t wanted[NOTE_POOLS];
    struct helper_starts starts[NOTE_POOLS];
    bool has_nics;
    hf_time heard_at; /* the hot loop */
    struct note nics; /* the newest */
    int keeper_fd;    /* -1: it does not run */
    struct helper_starts keeper_starts;
    struct keeper_word word; /* as told last */
    uint64_t resets[HF_FABRICS_MAX];
};

extern const struct agent_calls report_calls; /* user = struct report */

void report_init(struct report *report, const struct report_setup *setup);
/* Before agent_run: watches the notes. */
enum hf_code report_open(struct report *report, struct agent *agent, struct hf_err *err);

#endif
