/* stderr.h - the one way this tree writes to stderr: whole or not at all, and never waiting.
 * A stuck reader (a hung journald, a paused terminal) must not stop a process that guards machines.
 * The flags of fd 2 are never changed: the open file may be shared with others. */
#ifndef SUPERVISORD_BASE_STDERR_H
#define SUPERVISORD_BASE_STDERR_H

#include <stdbool.h>
#include <stddef.h>

/* True when all of it was taken. len at most PIPE_BUF (4096), which a pipe takes in one piece.
 * False loses the bytes; a stream socket may then have taken a part. */
bool hf_stderr_write(const char *bytes, size_t len);

#endif
