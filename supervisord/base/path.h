/* path.h - what a path says beyond its bytes. Asks the file system and nothing else; it must be one
 * that answers at once (sysfs, procfs). */
#ifndef SUPERVISORD_BASE_PATH_H
#define SUPERVISORD_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* The last part of what a symbolic link points to: a device's driver, say, in sysfs. False:
 * there is no such link (*out is as it was), or its name is cut to fit. cap > 0. */
bool hf_path_link_name(const char *path, char *out, size_t cap);

/* Where a program of ours is: beside the one that runs, or where it is installed, in
 * ../libexec/holdfast from there. False: it is in neither (*out is the second, for whoever tells of
 * it), or its path is cut to fit. cap > 0. */
bool hf_path_program(const char *name, char *out, size_t cap);

#endif
