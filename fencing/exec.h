/* exec.h - one run of one fence agent: a process of its own group, fed on stdin, with a deadline.
 * Parameters go to stdin only, never argv, never the environment (which holds PATH and nothing
 * else). `action=` is the first line and the last: an agent that is given no action reboots, and
 * the last value wins. Refuses any action but off, on and status. Whatever the agent prints is
 * bytes: capped, and cleaned before a person sees it. Never blocks: the owner polls the
 * descriptors. A run can be spawned before it is fed: the interpreter's start (0.17 s) is then
 * already over when its question may be asked. */
#ifndef FENCING_EXEC_H
#define FENCING_EXEC_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/err.h"
#include "supervisord/model/limits.h"

enum {
    EXEC_OUTPUT_MAX = 64 << 10, /* stdout and stderr together; more than that ends the run */
    EXEC_SAID_MAX = 120,        /* of its words in our reason text */
    EXEC_INPUT_MAX = 16 << 10,  /* 24 parameters and a credentials file fit */
    EXEC_FDS = 4,
    EXEC_ARGS_MAX = 32,
};

enum exec_action { EXEC_OFF = 1, EXEC_STATUS, EXEC_ON };

enum exec_haste {
    EXEC_NOW = 1,
    EXEC_SPARE, /* only with processor time nobody else wants, until it is fed: prepared beside a
                   run that must not be slowed down */
    EXEC_IDLE,  /* the same until exec_hurry(): a self-test */
};

enum exec_end {
    EXEC_NEVER = 0, /* not spawned */
    EXEC_RUNNING,
    EXEC_EXITED,   /* code = exit status */
    EXEC_SIGNALED, /* code = signal, not from us */
    EXEC_LATE,     /* its deadline passed: killed */
    EXEC_FLOODED,  /* printed more than EXEC_OUTPUT_MAX: killed */
    EXEC_KILLED,   /* by exec_kill() */
    EXEC_ENDS
};

struct exec_param {
    const char *key, *value; /* borrowed for the call */
};

struct exec_input { /* holds secrets: exec_input_wipe() it */
    size_t len;
    char text[EXEC_INPUT_MAX];
};

struct exec_run {
    pid_t pid; /* leader of its process group; 0: none */
    int pidfd, in, out, errors;
    enum exec_end end;
    int code;
    enum exec_haste haste;
    bool is_fed;
    hf_time deadline;
    size_t input_at;
    size_t out_len, errors_len; /* kept; together at most EXEC_OUTPUT_MAX */
    struct exec_input input;
    char out_text[EXEC_OUTPUT_MAX];
    char errors_text[EXEC_OUTPUT_MAX];
};

/* ^fence_[a-z0-9_]+$, at most HF_NAME_MAX. */
bool exec_agent_name_is_good(const char *agent);

/* What the agent reads. `lines` (credentials, "key=value\n" each) may be NULL. HF_EINVAL: a key
 * that could change the action (action, option, method other than onoff), or a control character.
 */
enum hf_code exec_input_build(struct exec_input *in, enum exec_action action,
                              const struct exec_param *params, size_t params_count,
                              const char *lines, size_t lines_len, struct hf_err *err);
void exec_input_wipe(struct exec_input *in);
/* One more piece of text for a program that is no agent. False: it does not fit. */
bool exec_input_add(struct exec_input *in, const char *text, size_t len);

/* A run that was never started. */
void exec_init(struct exec_run *run);
/* Start `<directory>/<agent>`, waiting on its stdin. HF_EACCESS: directory or file is not root's
 * (or ours), or others may write it. After a failure there is nothing to close. */
enum hf_code exec_spawn(struct exec_run *run, const char *directory, const char *agent,
                        enum exec_haste haste, hf_time deadline, struct hf_err *err);
/* The same for a program that is no agent. argv[0] is its name in `directory`; at most
 * EXEC_ARGS_MAX words with the NULL at their end, and no secret among them: everybody can read
 * them. */
enum hf_code exec_spawn_tool(struct exec_run *run, const char *directory, const char *const *argv,
                             enum exec_haste haste, hf_time deadline, struct hf_err *err);
/* Hand over its input (copied) and close its stdin when all of it is written. Once. */
void exec_feed(struct exec_run *run, const struct exec_input *in);
/* From now on with the processor time of any process. */
void exec_hurry(struct exec_run *run);
/* Descriptors to wait for; returns how many. */
size_t exec_poll(const struct exec_run *run, struct pollfd fds[EXEC_FDS]);
/* Do what can be done now. True once it has ended: process reaped, group killed, secrets wiped. */
bool exec_go_on(struct exec_run *run, hf_time now);
/* End it now, group and all; waits 0.2 s at most for the kernel to end it. */
void exec_kill(struct exec_run *run);
/* "exit 3: Unable to connect/login to fencing device". Printable ASCII. */
void exec_describe(const struct exec_run *run, char *out, size_t cap);

#endif
