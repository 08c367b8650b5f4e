#include "fencing/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"

enum {
    EXIT_CANNOT_EXEC = 126,
    REAP_MS_MAX = 200, /* a killed process is gone within a few ms, or for a reason that lasts */
};

bool exec_agent_name_is_good(const char *agent)
{
    static const char prefix[] = "fence_";
    size_t len = strlen(agent);

    if (len < sizeof prefix || len > HF_NAME_MAX || strncmp(agent, prefix, sizeof prefix - 1) != 0)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = agent[i];

        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'))
            return false;
    }
    return true;
}

/* ---- input ---- */

static bool text_is_plain(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}

/* Agents take '-' for '_' in a key, so the forbidden ones are compared after the same change. */
static bool key_is(const char *key, const char *wanted)
{
    for (; *key != '\0' && *wanted != '\0'; key++, wanted++)
        if ((*key == '-' ? '_' : *key) != *wanted)
            return false;
    return *key == '\0' && *wanted == '\0';
}

static enum hf_code param_check(const struct exec_param *p, struct hf_err *err)
{
    if (p->key[0] == '\0' || !text_is_plain(p->key) || strchr(p->key, '=') != NULL ||
        p->key[0] == '#' || p->key[0] == ' ')
        return hf_err_set(err, HF_EINVAL, "bad parameter name");
    if (!text_is_plain(p->value))
        return hf_err_set(err, HF_EINVAL, "parameter %s: control character", p->key);
    if (key_is(p->key, "action") || key_is(p->key, "option"))
        return hf_err_set(err, HF_EINVAL, "parameter %s: the action is not yours to set", p->key);
    if (key_is(p->key, "method") && strcmp(p->value, "onoff") != 0)
        return hf_err_set(err, HF_EINVAL, "parameter method: only onoff ends with the power off");
    return HF_OK;
}

static void append(struct exec_input *in, const char *text, size_t len, bool *full)
{
    if (*full || len > sizeof in->text - in->len) {
        *full = true;
        return;
    }
    memcpy(in->text + in->len, text, len);
    in->len += len;
}

static void append_line(struct exec_input *in, const char *key, const char *value, bool *full)
{
    append(in, key, strlen(key), full);
    append(in, "=", 1, full);
    append(in, value, strlen(value), full);
    append(in, "\n", 1, full);
}

static const char *action_name(enum exec_action action)
{
    switch (action) {
    case EXEC_OFF:
        return "off";
    case EXEC_STATUS:
        return "status";
    case EXEC_ON:
        return "on";
    }
    HF_NEVER("an action that is none of ours");
}

enum hf_code exec_input_build(struct exec_input *in, enum exec_action action,
                              const struct exec_param *params, size_t params_count,
                              const char *lines, size_t lines_len, struct hf_err *err)
{
    bool full = false;

    in->len = 0;
    append_line(in, "action", action_name(action), &full);
    for (size_t i = 0; i < params_count; i++) {
        if (param_check(&params[i], err) != HF_OK)
            return err->code;
        append_line(in, params[i].key, params[i].value, &full);
    }
    if (lines != NULL)
        append(in, lines, lines_len, &full);
    append_line(in, "action", action_name(action), &full);
    if (full) {
        exec_input_wipe(in);
        return hf_err_set(err, HF_EFULL, "parameters are longer than %d bytes",
                          (int)EXEC_INPUT_MAX);
    }
    return HF_OK;
}

bool exec_input_add(struct exec_input *in, const char *text, size_t len)
{
    bool full = false;

    append(in, text, len, &full);
    return !full;
}

void exec_input_wipe(struct exec_input *in)
{
    explicit_bzero(in->text, sizeof in->text);
    in->len = 0;
}

/* ---- start ---- */

void exec_init(struct exec_run *run)
{
    run->pid = 0;
    run->pidfd = run->in = run->out = run->errors = -1;
    run->end = EXEC_NEVER;
    run->code = 0;
    run->haste = EXEC_NOW;
    run->is_fed = false;
    run->deadline = (hf_time){0};
    run->input_at = run->out_len = run->errors_len = 0;
    run->input.len = 0;
}

static enum hf_code owner_check(const char *path, const struct stat *st, struct hf_err *err)
{
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return hf_err_set(err, HF_EACCESS, "%s: owned by uid %u, not by root", path,
                          (unsigned)st->st_uid);
    if ((st->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return hf_err_set(err, HF_EACCESS, "%s: others than its owner may write it", path);
    return HF_OK;
}

/* The directory is root's alone, so what is checked here is what execve finds. */
static enum hf_code agent_check(const char *directory, const char *path, struct hf_err *err)
{
    struct stat st;

    if (stat(directory, &st) != 0)
        return hf_err_set(err, errno == ENOENT ? HF_ENOENT : HF_EIO, "%s: %s", directory,
                          strerror(errno));
    if (owner_check(directory, &st, err) != HF_OK)
        return err->code;
    if (stat(path, &st) != 0)
        return hf_err_set(err, errno == ENOENT ? HF_ENOENT : HF_EIO, "%s: %s", path,
                          strerror(errno));
    if (!S_ISREG(st.st_mode) || (st.st_mode & S_IXUSR) == 0)
        return hf_err_set(err, HF_EINVAL, "%s: not a program", path);
    return owner_check(path, &st, err);
}

/* In the child, between fork and exec: only what is safe there. */
static _Noreturn void become(const char *path, char *const argv[], enum exec_haste haste, int in,
                             int out, int errors)
{
    struct sched_param level = {0};
    static const char failed[] = "cannot execute this program\n";
    char path_env[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    char *const env[] = {path_env, NULL};
    struct rlimit none = {0, 0};
    sigset_t nothing;

    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_CORE, &none);
    if (haste != EXEC_NOW)
        (void)sched_setscheduler(0, SCHED_IDLE, &level);
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    sigemptyset(&nothing);
    (void)sigprocmask(SIG_SETMASK, &nothing, NULL);
    if (dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(errors, 2) == 2 && chdir("/") == 0) {
        (void)close_range(3, ~0U, 0);
        execve(path, argv, env);
        (void)!write(2, failed, sizeof failed - 1);
    }
    _exit(EXIT_CANNOT_EXEC);
}

static void close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

/* Descriptors 0 to 2 must be open in our process, else a pipe end could be one of them. */
static enum hf_code pipe_open(int pair[2], struct hf_err *err)
{
    if (pipe2(pair, O_CLOEXEC) != 0) {
        pair[0] = pair[1] = -1;
        return hf_err_set(err, HF_EIO, "pipe: %s", strerror(errno));
    }
    return HF_OK;
}

static void nonblocking(int fd)
{
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static enum hf_code start(struct exec_run *run, const char *path, char *const argv[], int in[2],
                          int out[2], int errors[2], struct hf_err *err)
{
    pid_t pid = fork();

    if (pid < 0)
        return hf_err_set(err, HF_EIO, "fork: %s", strerror(errno));
    if (pid == 0)
        become(path, argv, run->haste, in[0], out[1], errors[1]);
    (void)setpgid(pid, pid); /* also here: whoever comes first, the group exists before a kill */
    run->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (run->pidfd < 0) {
        hf_err_set(err, HF_EIO, "pidfd_open: %s", strerror(errno));
        (void)kill(-pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        return err->code;
    }
    run->pid = pid;
    run->in = in[1];
    run->out = out[0];
    run->errors = errors[0];
    in[1] = out[0] = errors[0] = -1;
    nonblocking(run->in);
    nonblocking(run->out);
    nonblocking(run->errors);
    run->end = EXEC_RUNNING;
    return HF_OK;
}

static enum hf_code spawn(struct exec_run *run, const char *path, char *const argv[],
                          struct hf_err *err)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, errors[2] = {-1, -1};
    enum hf_code code = pipe_open(in, err);

    if (code == HF_OK)
        code = pipe_open(out, err);
    if (code == HF_OK)
        code = pipe_open(errors, err);
    if (code == HF_OK)
        code = start(run, path, argv, in, out, errors, err);
    close_pair(in);
    close_pair(out);
    close_pair(errors);
    return code;
}

enum hf_code exec_spawn_tool(struct exec_run *run, const char *directory, const char *const *argv,
                             enum exec_haste haste, hf_time deadline, struct hf_err *err)
{
    char *words[EXEC_ARGS_MAX];
    char path[512];
    size_t count = 0;

    HF_ASSERT(run->end != EXEC_RUNNING);
    exec_init(run);
    run->haste = haste;
    run->deadline = deadline;
    if (snprintf(path, sizeof path, "%s/%s", directory, argv[0]) >= (int)sizeof path)
        return hf_err_set(err, HF_EINVAL, "%s: path too long", argv[0]);
    if (agent_check(directory, path, err) != HF_OK)
        return err->code;
    words[count++] = path;
    while (argv[count] != NULL) {
        HF_ASSERT(count + 1 < EXEC_ARGS_MAX);
        words[count] = (char *)(uintptr_t)argv[count]; /* execve's type; it changes nothing */
        count++;
    }
    words[count] = NULL;
    return spawn(run, path, words, err);
}

enum hf_code exec_spawn(struct exec_run *run, const char *directory, const char *agent,
                        enum exec_haste haste, hf_time deadline, struct hf_err *err)
{
    const char *const argv[] = {agent, NULL};

    HF_ASSERT(run->end != EXEC_RUNNING);
    if (!exec_agent_name_is_good(agent)) {
        exec_init(run);
        return hf_err_set(err, HF_EINVAL, "bad fence agent name");
    }
    return exec_spawn_tool(run, directory, argv, haste, deadline, err);
}

/* ---- while it runs ---- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void feed_more(struct exec_run *run)
{
    while (run->in >= 0 && run->is_fed && run->input_at < run->input.len) {
        ssize_t put =
            write(run->in, run->input.text + run->input_at, run->input.len - run->input_at);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 && errno == EAGAIN)
            return;
        if (put < 0)
            break; /* it has closed its stdin: its exit status tells */
        run->input_at += (size_t)put;
    }
    if (run->is_fed) {
        close_fd(&run->in);
        exec_input_wipe(&run->input);
    }
}

void exec_hurry(struct exec_run *run)
{
    struct sched_param level = {0};

    /* Not allowed (only root may): then it stays slow on a busy host, and its deadline still holds.
     */
    if (run->end == EXEC_RUNNING)
        (void)sched_setscheduler(run->pid, SCHED_OTHER, &level);
}

void exec_feed(struct exec_run *run, const struct exec_input *in)
{
    HF_ASSERT(!run->is_fed);
    if (run->end != EXEC_RUNNING)
        return;
    if (run->haste == EXEC_SPARE)
        exec_hurry(run);
    memcpy(run->input.text, in->text, in->len);
    run->input.len = in->len;
    run->input_at = 0;
    run->is_fed = true;
    feed_more(run);
}

/* Returns false when the run has printed more than it may. */
static bool drain(struct exec_run *run, int *fd, char *text, size_t *len)
{
    while (*fd >= 0) {
        size_t room = (size_t)EXEC_OUTPUT_MAX - run->out_len - run->errors_len;
        char over;
        ssize_t got = room > 0 ? read(*fd, text + *len, room) : read(*fd, &over, 1);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return true;
        if (got <= 0) {
            close_fd(fd);
            return true;
        }
        if (room == 0)
            return false;
        *len += (size_t)got;
    }
    return true;
}

static void release(struct exec_run *run)
{
    close_fd(&run->pidfd);
    close_fd(&run->in);
    close_fd(&run->out);
    close_fd(&run->errors);
    exec_input_wipe(&run->input);
    run->pid = 0;
}

/* The group goes before its leader is reaped: until then its number cannot belong to anybody else.
 * A process that the kernel cannot end (it hangs in a dead file system) is left to itself: another
 * node's fencing must not wait for it. */
static void finish(struct exec_run *run, enum exec_end end)
{
    struct pollfd gone = {.fd = run->pidfd, .events = POLLIN};
    siginfo_t info = {0};

    (void)kill(-run->pid, SIGKILL);
    (void)poll(&gone, 1, REAP_MS_MAX);
    (void)waitid(P_PIDFD, (id_t)run->pidfd, &info, WEXITED | WNOHANG);
    run->end = end;
    run->code = info.si_status;
    if (end == EXEC_EXITED && info.si_code != CLD_EXITED) /* also when it could not be reaped */
        run->end = EXEC_SIGNALED;
    release(run);
}

static bool has_exited(const struct exec_run *run)
{
    siginfo_t info = {0};

    return waitid(P_PIDFD, (id_t)run->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0;
}

size_t exec_poll(const struct exec_run *run, struct pollfd fds[EXEC_FDS])
{
    size_t count = 0;

    if (run->end != EXEC_RUNNING)
        return 0;
    fds[count++] = (struct pollfd){.fd = run->pidfd, .events = POLLIN};
    if (run->out >= 0)
        fds[count++] = (struct pollfd){.fd = run->out, .events = POLLIN};
    if (run->errors >= 0)
        fds[count++] = (struct pollfd){.fd = run->errors, .events = POLLIN};
    if (run->in >= 0 && run->is_fed)
        fds[count++] = (struct pollfd){.fd = run->in, .events = POLLOUT};
    return count;
}

bool exec_go_on(struct exec_run *run, hf_time now)
{
    bool exited;

    if (run->end != EXEC_RUNNING)
        return run->end != EXEC_NEVER;
    exited = has_exited(run); /* before the last read, so that nothing it printed is missed */
    feed_more(run);
    if (!drain(run, &run->out, run->out_text, &run->out_len) ||
        !drain(run, &run->errors, run->errors_text, &run->errors_len))
        finish(run, EXEC_FLOODED);
    else if (exited)
        finish(run, EXEC_EXITED);
    else if (hf_time_reached(now, run->deadline))
        finish(run, EXEC_LATE);
    return run->end != EXEC_RUNNING;
}

void exec_kill(struct exec_run *run)
{
    if (run->end == EXEC_RUNNING)
        finish(run, EXEC_KILLED);
}

/* ---- for people ---- */

/* The last line that is not blank, printable ASCII only. */
static void last_words(const char *text, size_t len, char *out, size_t cap)
{
    size_t start, at = 0;

    while (len > 0 && (unsigned char)text[len - 1] <= ' ')
        len--;
    start = len;
    while (start > 0 && text[start - 1] != '\n')
        start--;
    for (; start < len && at + 1 < cap; start++) {
        unsigned char c = (unsigned char)text[start];

        out[at++] = c >= 0x20 && c < 0x7f ? (char)c : '?';
    }
    out[at] = '\0';
}

static void describe_end(const struct exec_run *run, char *out, size_t cap)
{
    switch (run->end) {
    case EXEC_NEVER:
        (void)hf_str_copy(out, cap, "not started");
        return;
    case EXEC_RUNNING:
        (void)hf_str_copy(out, cap, "still running");
        return;
    case EXEC_EXITED:
        (void)snprintf(out, cap, "exit %d", run->code);
        return;
    case EXEC_SIGNALED:
        (void)snprintf(out, cap, "died of signal %d", run->code);
        return;
    case EXEC_LATE:
        (void)hf_str_copy(out, cap, "no answer within its deadline");
        return;
    case EXEC_FLOODED:
        (void)hf_str_copy(out, cap, "printed more than 64 KiB");
        return;
    case EXEC_KILLED:
        (void)hf_str_copy(out, cap, "stopped by us");
        return;
    case EXEC_ENDS:
        break;
    }
    HF_NEVER("an end of a run without words");
}

void exec_describe(const struct exec_run *run, char *out, size_t cap)
{
    char end[48], said[EXEC_SAID_MAX + 1];

    describe_end(run, end, sizeof end);
    last_words(run->errors_text, run->errors_len, said, sizeof said);
    if (said[0] == '\0')
        last_words(run->out_text, run->out_len, said, sizeof said);
    (void)snprintf(out, cap, "%s%s%s", end, said[0] != '\0' ? ": " : "", said);
}
