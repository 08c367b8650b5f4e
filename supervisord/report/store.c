#include "supervisord/report/store.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisord/base/buf.h"
#include "supervisord/base/str.h"
#include "supervisord/engine/engine.h"
#include "supervisord/report/journal.h"
#include "supervisord/wire/event.h"

enum {
    FILES_MAX = 256,
    TOLD_MAX = 160,
    CRASHES_MAX = 3, /* of one file's replay, each ending it one event earlier */
};

/* What the child leaves behind, in memory shared with us. */
struct replayed {
    uint64_t at; /* the event in work; a child that dies, dies of it */
    uint64_t seq;
    uint32_t events;
    size_t len; /* 0: no usable state */
    char told[TOLD_MAX];
    uint8_t bytes[]; /* engine_save_max() */
};

struct replay {                /* the child's */
    struct engine *e, *shadow; /* in the same state */
    struct engine_out *out;
    bool has_state;
    uint32_t events;
};

static bool decision_matches(const struct journal_record *record, const struct engine_out *out)
{
    struct hf_writer measure = hf_writer_on(NULL, 0), w;
    bool matches = false;
    uint8_t *bytes;

    decision_encode(out, &measure);
    if (measure.len != record->decision_len)
        return false;
    bytes = malloc(measure.len > 0 ? measure.len : 1);
    if (bytes != NULL) {
        w = hf_writer_on(bytes, measure.len);
        decision_encode(out, &w);
        matches = memcmp(bytes, record->decision, measure.len) == 0;
    }
    free(bytes);
    return matches;
}

static void keep(struct replayed *shared, const struct replay *replay)
{
    shared->seq = engine_seq(replay->e);
    shared->events = replay->events;
    shared->len = engine_save(replay->e, shared->bytes, engine_save_max());
}

static enum hf_code apply(struct replay *replay, const struct journal_record *record,
                          struct hf_err *err)
{
    if (record->kind == JOURNAL_SNAPSHOT) {
        replay->has_state = false; /* a failed load leaves nothing usable */
        if (engine_load(replay->e, record->state, record->state_len, err) != HF_OK)
            return hf_err_wrap(err, "snapshot");
        memcpy(replay->shadow, replay->e, engine_size());
        replay->has_state = true;
        replay->events = 0;
        return HF_OK;
    }
    if (!replay->has_state || record->seq != engine_seq(replay->e) + 1)
        return hf_err_set(err, HF_EBAD, "event %llu does not follow",
                          (unsigned long long)record->seq);
    engine_step_tried(replay->e, replay->shadow, &record->event, replay->out);
    if (!decision_matches(record, replay->out)) {
        replay->has_state = false;
        return hf_err_set(err, HF_EBAD, "event %llu was decided differently then",
                          (unsigned long long)record->seq);
    }
    replay->events++;
    return HF_OK;
}

/* In the child. Before events of unknown effect the state is kept, so that stopping is always safe:
 * once at each snapshot, and at the end. */
static void replay_file(const char *path, uint64_t stop_before, struct replayed *shared)
{
    struct replay replay = {.e = calloc(1, engine_size()),
                            .shadow = calloc(1, engine_size()),
                            .out = malloc(sizeof(struct engine_out))};
    struct journal_record *record = malloc(sizeof *record);
    struct journal_reader reader;
    struct hf_err err;
    enum hf_code code;

    if (replay.e == NULL || replay.shadow == NULL || replay.out == NULL || record == NULL)
        return;
    code = journal_read_open(&reader, path, &err);
    while (code == HF_OK) {
        code = journal_read_next(&reader, record, &err);
        if (code != HF_OK)
            break;
        if (record->kind == JOURNAL_EVENT && record->seq == stop_before)
            break;
        shared->at = record->kind == JOURNAL_EVENT ? record->seq : 0;
        code = apply(&replay, record, &err);
        if (code == HF_OK && record->kind == JOURNAL_SNAPSHOT)
            keep(shared, &replay);
    }
    shared->at = 0;
    if (replay.has_state)
        keep(shared, &replay);
    if (code != HF_OK && code != HF_ENOENT)
        (void)hf_str_copy(shared->told, sizeof shared->told, err.text);
}

/* True: the child ended by itself. */
static bool replay_in_child(const char *path, uint64_t stop_before, struct replayed *shared)
{
    struct rlimit none = {0, 0};
    int status = 0;
    pid_t pid;

    shared->at = 0;
    shared->len = 0;
    shared->told[0] = '\0';
    pid = fork();
    if (pid < 0)
        return false;
    if (pid == 0) {
        (void)setrlimit(RLIMIT_CORE, &none);
        replay_file(path, stop_before, shared);
        _exit(0);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void tell(struct store_found *found, const char *file, const char *what)
{
    size_t len = strlen(found->told);

    (void)snprintf(found->told + len, sizeof found->told - len, "%s%s: %s", len > 0 ? "; " : "",
                   file, what);
}

/* True: found is filled in. */
static bool try_file(const char *state_directory, const char *name, struct replayed *shared,
                     struct store_found *found)
{
    uint64_t stop_before = 0;
    char path[400], said[80];

    (void)snprintf(path, sizeof path, "%s/journal/%s", state_directory, name);
    for (int i = 0; i < CRASHES_MAX; i++) {
        if (replay_in_child(path, stop_before, shared))
            break;
        (void)snprintf(said, sizeof said, "replay died at event %llu, ended before it",
                       (unsigned long long)shared->at);
        tell(found, name, said);
        if (shared->at == 0)
            return false;
        stop_before = shared->at;
        shared->len = 0;
    }
    if (shared->told[0] != '\0')
        tell(found, name, shared->told);
    if (shared->len == 0)
        return false;
    found->bytes = malloc(shared->len);
    if (found->bytes == NULL)
        return false;
    memcpy(found->bytes, shared->bytes, shared->len);
    found->len = shared->len;
    found->seq = shared->seq;
    found->events = shared->events;
    return true;
}

enum hf_code store_read(const char *state_directory, struct store_found *found, struct hf_err *err)
{
    size_t bytes = sizeof(struct replayed) + engine_save_max(), count;
    struct replayed *shared;
    char(*names)[64];
    bool is_found = false;

    memset(found, 0, sizeof *found);
    shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return hf_err_set(err, HF_EFULL, "store: no memory");
    names = calloc(FILES_MAX, sizeof *names);
    count = names != NULL ? journal_list(state_directory, names, FILES_MAX) : 0;
    for (size_t i = 0; i < count && !is_found; i++)
        is_found = try_file(state_directory, names[i], shared, found);
    free(names);
    munmap(shared, bytes);
    return is_found ? HF_OK : hf_err_set(err, HF_ENOENT, "no state on disk");
}
