/* verdict.h - what a self-test says about a fence path: could this level switch its node off?
 * Pure: how a run ended and what it printed in, a verdict and a sentence out. A `status` that reads
 * on or off is a path that works; everything else is sorted by what a person has to repair. Refuses
 * to guess: what no rule knows is BROKEN, never OK. */
#ifndef FENCING_VERDICT_H
#define FENCING_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fencing/exec.h"
#include "supervisord/model/limits.h"
#include "supervisord/model/states.h"

/* One ended run, as far as it matters here. */
struct verdict_run {
    enum exec_end end;
    int code;
    const char *out, *errors; /* any bytes */
    size_t out_len, errors_len;
};

/* What one device turned out to be. */
struct verdict_device {
    enum hf_path found;
    uint64_t hardware; /* of the host it switches (base/uuid.h); 0 = it does not tell */
};

/* A level is as good as its weakest device, since all of them must switch off. */
struct verdict_level {
    enum hf_path found;
    uint64_t hardware; /* of the first device that tells */
    uint8_t device;    /* whose words explain `found` */
    uint8_t other;     /* disagrees with `device` about the host, when is_torn */
    bool is_torn;
};

/* Of a `status` run of a fence agent. */
enum hf_path verdict_of_status(const struct verdict_run *run);
/* fence-agents have one exit status for nearly everything: may a question straight to the device
 * say more than this run did? */
bool verdict_is_vague(const struct verdict_run *run);
/* Of such a question that got no answer: DENIED, UNREACHABLE, or UNKNOWN. */
enum hf_path verdict_of_question(const struct verdict_run *run);
/* Of a program that could not even be started: a file of ours is unfit, or our own host is. */
enum hf_path verdict_of_error(enum hf_code code);
/* A session of this privilege can read the power and cannot switch it (IPMI 2.0, table G-1): such
 * a device would pass every `status` and fail when it counts. NULL: it can. */
const char *verdict_privilege(const struct exec_param *params, size_t params_count);
/* devices_count 1..HF_FENCE_DEVICES_MAX. */
struct verdict_level verdict_of_level(const struct verdict_device *devices, uint8_t devices_count);

#endif
