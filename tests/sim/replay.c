#include "tests/sim/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisord/report/journal.h"
#include "supervisord/wire/event.h"

enum {
    QUEUE_BYTES = 256 << 20, /* the simulator is faster than any disk */
    FILE_BYTES = 48 << 20,   /* one file: below what the reader takes */
    DECISION_MAX = 1 << 16,
    CLOSE_MS = 60000,
};

struct replay {
    struct journal *journal;
};

struct replay *replay_open_for_writing(const char *directory)
{
    struct hf_err err;
    struct replay *r = malloc(sizeof *r);
    const struct journal_settings settings = {
        .state_directory = directory, .file_bytes = FILE_BYTES, .queue_bytes = QUEUE_BYTES};
    if (r != NULL && journal_open(&r->journal, &settings, &err) == HF_OK)
        return r;
    fprintf(stderr, "journal in %s: %s\n", directory, r != NULL ? err.text : "no memory");
    exit(2);
}

void replay_write_snapshot(struct replay *r, const struct engine *e)
{
    journal_replaced(r->journal, e, (hf_time){0});
}

void replay_write_event(struct replay *r, const struct engine *e, const struct hf_event *ev,
                        const struct engine_out *out)
{
    journal_step(r->journal, e, ev, out, (hf_time){0});
}

void replay_close(struct replay *r)
{
    journal_close(r->journal, CLOSE_MS);
    free(r);
}

/* ---- the other way ---- */

struct replaying {
    struct engine *engine, *shadow; /* in the same state */
    struct engine_out out;
    uint8_t bytes[DECISION_MAX];
    bool has_state;
    uint64_t snapshots, events;
    char why[512];
};

static bool take_snapshot(struct replaying *p, const struct journal_record *record)
{
    struct hf_err err;
    if (engine_load(p->engine, record->state, record->state_len, &err) != HF_OK) {
        snprintf(p->why, sizeof p->why, "snapshot %" PRIu64 " is refused: %s", p->snapshots,
                 err.text);
        return false;
    }
    memcpy(p->shadow, p->engine, engine_size());
    p->has_state = true;
    p->snapshots++;
    return true;
}

static bool take_event(struct replaying *p, const struct journal_record *record)
{
    if (!p->has_state || record->seq != engine_seq(p->engine) + 1) {
        snprintf(p->why, sizeof p->why, "event %" PRIu64 " does not follow the state", record->seq);
        return false;
    }
    engine_step_tried(p->engine, p->shadow, &record->event, &p->out);
    struct hf_writer w = hf_writer_on(p->bytes, sizeof p->bytes);
    decision_encode(&p->out, &w);
    p->events++;
    if (!w.bad && w.len == record->decision_len && memcmp(p->bytes, record->decision, w.len) == 0)
        return true;
    snprintf(p->why, sizeof p->why,
             "first difference at seq %" PRIu64 ": %zu bytes decided, %zu "
             "in the journal",
             record->seq, w.len, record->decision_len);
    return false;
}

static bool replay_all(struct replaying *p, struct journal_reader *reader)
{
    struct journal_record *record = malloc(sizeof *record);
    struct hf_err err;
    bool is_good = record != NULL;
    while (is_good) {
        enum hf_code code = journal_read_next(reader, record, &err);
        if (code == HF_ENOENT)
            break;
        if (code != HF_OK) { /* a crash leaves a torn tail: what was before it counts */
            printf("the journal ends early: %s\n", err.text);
            break;
        }
        is_good =
            record->kind == JOURNAL_SNAPSHOT ? take_snapshot(p, record) : take_event(p, record);
    }
    free(record);
    return is_good;
}

int replay_run(const char *file)
{
    struct journal_reader reader;
    struct hf_err err;
    struct replaying *p = calloc(1, sizeof *p);
    int code = 2;
    if (p == NULL || (p->engine = calloc(1, engine_size())) == NULL ||
        (p->shadow = calloc(1, engine_size())) == NULL)
        goto out;
    if (journal_read_open(&reader, file, &err) != HF_OK) {
        fprintf(stderr, "%s: %s\n", file, err.text);
        goto out;
    }
    bool is_same = replay_all(p, &reader);
    printf("replayed snapshots %" PRIu64 ", events %" PRIu64 ": %s\n", p->snapshots, p->events,
           is_same && p->events > 0 ? "every decision is the same"
           : is_same                ? "nothing to compare"
                                    : p->why);
    code = !is_same || p->events == 0;
    journal_read_close(&reader);
out:
    if (p != NULL) {
        free(p->engine);
        free(p->shadow);
    }
    free(p);
    return code;
}
