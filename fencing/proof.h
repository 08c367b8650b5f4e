/* proof.h - what counts as proof that a fence device holds a node off.
 * Pure: exit status and text in, verdict out. Refuses every shortcut: an agent that returned
 * success to `off` has said that it tried; only a later `status` run that exits 2 and says "Status:
 * OFF" has said that the node is off. Exit status 2 alone also means "bad arguments"
 * (fence-agents 4.12). */
#ifndef FENCING_PROOF_H
#define FENCING_PROOF_H

#include <stdbool.h>
#include <stddef.h>

enum proof_verdict {
    PROOF_UNREADABLE = 0, /* the device did not answer, or contradicted itself */
    PROOF_READS_ON,
    PROOF_READS_OFF,
    PROOF_VERDICTS
};

/* Did `off` succeed? "Already OFF" exits 0 too and is success. */
bool proof_off_accepted(int exit_code);

/* What a `status` run says. text[len] is its standard output, any bytes. */
enum proof_verdict proof_status(int exit_code, const char *text, size_t len);

#endif
