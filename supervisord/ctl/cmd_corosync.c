/* cmd_corosync.c - the corosync beneath the group: write its file, and compare what is there.
 * A running corosync is asked by holdfast-link, a child with a deadline: its calls may hang for as
 * long as corosync does. */
#include "supervisord/ctl/cmd_corosync.h"

#include "supervisord/base/clock.h"
#include "supervisord/base/path.h"
#include "supervisord/base/str.h"
#include "supervisord/ctl/cmd_findings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DAEMON_USER "holdfast"

enum {
    ANSWER_MS = 3000,       /* corosync answers from memory */
    ANSWER_MAX = 256 << 10, /* 2000 keys of one prefix are far more than any map has */
    REAP_MS = 1000,         /* killed, and gone: unless it hangs in the kernel */
    USER_FILES_MAX = 64,
};

/* ---- files ---- */

/* A regular file of at most cap bytes, NUL-terminated. Owned by the caller; NULL: err. */
static char *read_file(const char *path, size_t cap, size_t *len, struct hf_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    char *text = NULL;
    ssize_t got = 1;

    if (fd < 0) {
        (void)hf_err_set(err, errno == ENOENT ? HF_ENOENT : HF_EIO, "open %s: %s", path,
                         strerror(errno));
        return NULL;
    }
    *len = 0;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        (void)hf_err_set(err, HF_EIO, "open %s: not a regular file", path);
    else if ((text = malloc(cap + 2)) == NULL)
        (void)hf_err_set(err, HF_EIO, "read %s: out of memory", path);
    while (text != NULL && *len <= cap && got != 0) {
        got = read(fd, text + *len, cap + 1 - *len);
        if (got < 0 && errno != EINTR) {
            (void)hf_err_set(err, HF_EIO, "read %s: %s", path, strerror(errno));
            free(text);
            text = NULL;
        }
        if (got > 0)
            *len += (size_t)got;
    }
    if (text != NULL)
        text[*len] = '\0';
    close(fd);
    return text;
}

/* False: err. */
static bool take_file(struct corosync_state *state, const char *path, struct hf_err *err)
{
    size_t len;
    char *text = read_file(path, COROSYNC_FILE_MAX, &len, err);
    bool is_good;

    if (text == NULL)
        return false;
    is_good = corosync_read(state, path, text, len, err) == HF_OK;
    free(text);
    return is_good;
}

/* What packages and people put beside corosync.conf: corosync reads every file there. */
static void take_user_files(struct corosync_state *state)
{
    DIR *folder = opendir(COROSYNC_UIDGIDS);
    struct dirent *entry;
    char path[PATH_MAX];
    struct hf_err err;

    for (unsigned i = 0; folder != NULL && i < USER_FILES_MAX; i++) {
        entry = readdir(folder);
        if (entry == NULL)
            break;
        if (entry->d_name[0] != '.' && snprintf(path, sizeof path, "%s/%s", COROSYNC_UIDGIDS,
                                                entry->d_name) < (int)sizeof path)
            (void)take_file(state, path, &err); /* one that cannot be read allows nobody */
    }
    if (folder != NULL)
        (void)closedir(folder);
}

/* ---- the running one ---- */

/* 0: running at *fd. Otherwise errno. */
static int spawn_link(pid_t *pid, int *fd)
{
    char path[PATH_MAX], option[] = "--facts", *argv[] = {path, option, NULL}, *envp[] = {NULL};
    posix_spawn_file_actions_t files;
    int ends[2], failed;

    (void)hf_path_program("holdfast-link", path, sizeof path); /* or spawn says what is wrong */
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return errno;
    failed = posix_spawn_file_actions_init(&files);
    if (failed == 0) {
        failed = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        if (failed == 0)
            failed = posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
        if (failed == 0)
            failed =
                posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        if (failed == 0)
            failed = posix_spawn(pid, path, &files, NULL, argv, envp);
        (void)posix_spawn_file_actions_destroy(&files);
    }
    close(ends[1]);
    if (failed != 0)
        close(ends[0]);
    *fd = ends[0];
    return failed;
}

/* False: too late or too much. */
static bool collect(int fd, char *text, size_t cap, hf_time end)
{
    size_t len = 0;

    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left = hf_time_since_ms(end, hf_clock_now());
        ssize_t got;

        if (left <= 0 || len + 1 >= cap)
            return false;
        if (poll(&p, 1, (int)left) <= 0)
            continue;
        got = read(fd, text + len, cap - 1 - len);
        if (got == 0) {
            text[len] = '\0';
            return true;
        }
        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (got > 0)
            len += (size_t)got;
    }
}

/* Its exit code; -1: it had to be killed, or ended by a signal. */
static int reap(pid_t pid, bool is_late)
{
    hf_time end = hf_time_add_ms(hf_clock_now(), REAP_MS);
    int state;

    if (is_late)
        (void)kill(pid, SIGKILL);
    while (waitpid(pid, &state, WNOHANG) != pid) {
        if (hf_time_reached(hf_clock_now(), end)) {
            (void)kill(pid, SIGKILL); /* init reaps it after us */
            return -1;
        }
        (void)poll(NULL, 0, 5);
    }
    return WIFEXITED(state) && !is_late ? WEXITSTATUS(state) : -1;
}

static void take_lines(struct corosync_state *state, char *text)
{
    char *line, *rest = text;

    while ((line = strsep(&rest, "\n")) != NULL) {
        char *equals = strchr(line, '=');

        if (equals == NULL)
            continue;
        *equals = '\0';
        (void)corosync_take(state, line, equals + 1);
    }
}

static enum corosync_answer ask_running(struct corosync_state *state, struct hf_err *err)
{
    char *text = malloc(ANSWER_MAX);
    pid_t pid = 0;
    int fd = -1, failed, code;
    bool is_whole;

    if (text == NULL) {
        (void)hf_err_set(err, HF_EIO, "out of memory");
        return COROSYNC_SILENT;
    }
    failed = spawn_link(&pid, &fd);
    if (failed != 0) {
        (void)hf_err_set(err, HF_EIO, "holdfast-link: %s", strerror(failed));
        free(text);
        return COROSYNC_SILENT;
    }
    is_whole = collect(fd, text, ANSWER_MAX, hf_time_add_ms(hf_clock_now(), ANSWER_MS));
    close(fd);
    code = reap(pid, !is_whole);
    state->is_running = true;
    if (code == 0)
        take_lines(state, text);
    free(text);
    if (code == 0)
        return COROSYNC_ANSWERS;
    if (code == 1)
        return COROSYNC_ABSENT;
    (void)hf_err_set(err, HF_ETIME, "corosync does not answer within %d s", ANSWER_MS / 1000);
    return COROSYNC_SILENT;
}

/* ---- comparing ---- */

/* The key makes a stranger a member. */
static void check_key(const struct corosync_state *state, struct findings *found)
{
    const char *path = state->key_file[0] != '\0' ? state->key_file : COROSYNC_KEY;
    struct stat st;

    if (stat(path, &st) != 0) {
        if (errno == ENOENT)
            findings_add(found, FINDING_RISK, "totem.keyfile",
                         "there is no %s: corosync does not start with encryption", path);
        return; /* not ours to see: then nobody else's either */
    }
    if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        findings_add(found, FINDING_RISK, "totem.keyfile",
                     "%s has mode %04o, not 0400: who can read it can forge what the group decides",
                     path, (unsigned)(st.st_mode & 07777));
    if (st.st_size < 128)
        findings_add(found, FINDING_RISK, "totem.keyfile",
                     "%s has %lld bytes, less than the 128 that "
                     "corosync-keygen writes at least",
                     path, (long long)st.st_size);
}

static const char *daemon_user(bool is_number, char number[24])
{
    const struct passwd *user = getpwnam(DAEMON_USER);

    if (user == NULL) /* then it runs as root */
        return NULL;
    (void)snprintf(number, 24, "%u", (unsigned)user->pw_uid);
    return is_number ? number : DAEMON_USER;
}

static void look_at_file(struct corosync_state *state, const struct hf_config *config,
                         struct corosync_verdict *verdict)
{
    char number[24];

    take_user_files(state);
    corosync_judge(state, config, daemon_user(false, number), verdict);
    check_key(state, &verdict->found);
}

static void look_at_running(const struct corosync_state *state, const struct hf_config *config,
                            struct cmd_corosync *look)
{
    char number[24];

    (void)hf_str_copy(look->version, sizeof look->version, state->version);
    corosync_judge(state, config, daemon_user(true, number), &look->running);
}

bool cmd_corosync_look(const char *path, const struct hf_config *config, struct cmd_corosync *look,
                       struct hf_err *err)
{
    struct corosync_state state; /* some 7 KiB */

    memset(look, 0, sizeof *look);
    look->path = path;
    memset(&state, 0, sizeof state);
    look->has_file = take_file(&state, path, err);
    if (!look->has_file && err->code != HF_ENOENT)
        return false;
    if (look->has_file)
        look_at_file(&state, config, &look->file);
    memset(&state, 0, sizeof state);
    look->answer = ask_running(&state, err);
    if (look->answer == COROSYNC_SILENT)
        (void)hf_str_copy(look->why, sizeof look->why, err->text);
    if (look->answer == COROSYNC_ANSWERS)
        look_at_running(&state, config, look);
    return true;
}

bool cmd_corosync_is_bad(const struct cmd_corosync *look)
{
    return (look->has_file && findings_are_bad(&look->file.found)) ||
           look->answer == COROSYNC_SILENT ||
           (look->answer == COROSYNC_ANSWERS && findings_are_bad(&look->running.found));
}

static void print_verdict(const char *what, const struct corosync_verdict *v)
{
    if (v->found.count == 0)
        (void)printf("%s: as profile '%s' wants it\n", what, v->profile->name);
    else
        (void)printf("%s: %u deviation%s, compared with profile '%s'\n", what, v->found.count,
                     v->found.count == 1 ? "" : "s", v->profile->name);
    cmd_findings_print(&v->found);
}

void cmd_corosync_print(const struct cmd_corosync *look)
{
    char what[2 * COROSYNC_TEXT_MAX];

    if (look->has_file)
        print_verdict(look->path, &look->file);
    else
        (void)printf("%s: there is none\n", look->path);
    switch (look->answer) {
    case COROSYNC_ABSENT:
        (void)printf("running corosync: there is none\n");
        break;
    case COROSYNC_SILENT:
        (void)printf("running corosync: not compared: %s\n", look->why);
        break;
    case COROSYNC_ANSWERS:
        (void)snprintf(what, sizeof what, "running corosync %s", look->version);
        print_verdict(what, &look->running);
        break;
    }
}

static json_t *verdict_json(const struct corosync_verdict *v)
{
    return json_pack("{s:s, s:o}", "profile", v->profile->name, "findings",
                     cmd_findings_json(&v->found));
}

json_t *cmd_corosync_json(const struct cmd_corosync *look)
{
    static const char *const answers[] = {
        [COROSYNC_ABSENT] = "absent", [COROSYNC_SILENT] = "silent", [COROSYNC_ANSWERS] = "answers"};
    json_t *json = json_pack("{s:s, s:s}", "path", look->path, "state", answers[look->answer]);

    if (look->has_file)
        (void)json_object_set_new(json, "file", verdict_json(&look->file));
    if (look->answer == COROSYNC_ANSWERS) {
        (void)json_object_set_new(json, "version", json_string(look->version));
        (void)json_object_set_new(json, "running", verdict_json(&look->running));
    }
    if (look->answer == COROSYNC_SILENT)
        (void)json_object_set_new(json, "why", json_string(look->why));
    return json;
}
