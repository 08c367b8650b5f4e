/* replay.h - a daemon's journal through the engine again: the same inputs must give the same
 * decisions, byte for byte. The simulator writes such journals too. */
#ifndef TESTS_SIM_REPLAY_H
#define TESTS_SIM_REPLAY_H

#include "supervisord/engine/engine.h"

struct replay;

/* Below `directory`, as the daemon keeps it. */
struct replay *replay_open_for_writing(const char *directory);
void replay_write_snapshot(struct replay *r, const struct engine *e);
void replay_write_event(struct replay *r, const struct engine *e, const struct hf_event *ev,
                        const struct engine_out *out);
void replay_close(struct replay *r);

/* Prints what was replayed and the first difference; returns the exit code. */
int replay_run(const char *file);

#endif
