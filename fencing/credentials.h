/* credentials.h - the secrets of one fence device, for as long as one run needs them.
 * A file `<directory>/<name>` of `key=value` lines, known secret keys only, so that nothing else
 * can hide in it. Refuses a file that anybody but its owner could read or replace: it is checked on
 * the open descriptor (owner root or ourselves, mode 0600 or stricter, one link, regular, small).
 * Never logged: no error text holds a byte of the file. */
#ifndef FENCING_CREDENTIALS_H
#define FENCING_CREDENTIALS_H

#include <stddef.h>

#include "supervisord/base/err.h"

enum { CREDENTIALS_MAX = 4096 };

struct credentials {
    size_t len;
    char lines[CREDENTIALS_MAX + 2]; /* "key=value\n" each, as the agent's stdin wants them */
};

/* name "" = none: empty lines. */
enum hf_code credentials_read(const char *directory, const char *name, struct credentials *c,
                              struct hf_err *err);
/* The rules for the text alone: in place, c->len bytes. */
enum hf_code credentials_check(struct credentials *c, struct hf_err *err);
/* Put stars where text[*len] holds one of the secret values (user names are none), before anybody
 * sees it: an agent may say what it was told. In place; *len may shrink. */
void credentials_scrub(const struct credentials *c, char *text, size_t *len);
/* To be called on every path after a read, also a failed one. */
void credentials_wipe(struct credentials *c);

#endif
