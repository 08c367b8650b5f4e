/* holder.h - who has a file open? For people, when a device is busy. */
#ifndef FENCING_FEEDER_HOLDER_H
#define FENCING_FEEDER_HOLDER_H

#include <stddef.h>

/* "systemd (pid 1)", or "somebody unknown" if it cannot be found: a process of another namespace,
 * the kernel itself, or one that let go meanwhile. Reads all of /proc: not for a hot path.
 * Allocates nothing. */
void holder_name(const char *path, char *out, size_t cap);

#endif
