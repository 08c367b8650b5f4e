/* nics.h - fabrics, legs and flips as parts of the JSON documents.
 * Of this node all that its nicbond told; of other nodes what the engine knows. Nothing is decided
 * here. Field by field in ctl/README.md. */
#ifndef SUPERVISORD_CTL_NICS_H
#define SUPERVISORD_CTL_NICS_H

#include "supervisord/ctl/picture.h"

/* "a" for 0; "?" out of range. */
const char *nics_fabric_name(hf_fabric fabric);
/* vm: its name; NULL: not known any more. */
void nics_put_flip(struct hf_json *j, const char *key, const struct hf_flip *flip, const char *vm);

#endif
