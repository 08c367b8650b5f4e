/* flip_text.h - how a flip's end reads in the log: what is known of it, and nothing else. Times are
 * from the first sign of the failure. A sign and what follows in the same round have the same time:
 * that is told as "at once", for nobody measured it. */
#ifndef NICBOND_FLIP_TEXT_H
#define NICBOND_FLIP_TEXT_H

#include "nicbond/flip.h"

enum { FLIP_TEXT_MAX = 160 };

/* "judged at once, ordered 310 us, carried out 1800 us, not confirmed". Of a flip that has ended.
 */
void flip_text(const struct flip *f, char out[FLIP_TEXT_MAX]);

#endif
