/* identity.h - which host does a fence device switch?
 * A map with two BMCs exchanged passes every `status` and shoots the wrong host when it counts. A
 * BMC knows its host's system UUID: IPMI's Get System GUID through ipmitool, Redfish's
 * ComputerSystem through curl. The password goes to their stdin, never to argv or the environment;
 * address and user name are in argv, as they are in the fence agent's own call. Refuses to ask
 * where that would not do (a Kg key, which ipmitool takes from argv only; a bridged target; a
 * password from elsewhere): such a device does not tell. It only words the question and reads the
 * answer. */
#ifndef FENCING_IDENTITY_H
#define FENCING_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fencing/credentials.h"
#include "fencing/exec.h"

enum identity_way {
    IDENTITY_NONE = 0, /* an agent of another kind, or one of the cases above */
    IDENTITY_IPMI,
    IDENTITY_REDFISH,
};

enum {
    IDENTITY_USER_MAX = 255, /* HF_PARAM_VALUE_MAX */
    IDENTITY_WORD_MAX = 24,
};

struct identity { /* holds secrets: identity_wipe() it, after the spawn and the feed */
    enum identity_way way;
    const char *argv[EXEC_ARGS_MAX]; /* into itself, the parameters, and constants */
    char user[IDENTITY_USER_MAX + 1];
    char privilege[IDENTITY_WORD_MAX + 1];
    struct exec_input in;
};

/* The question to this device; params and *c are borrowed until the wipe. way is IDENTITY_NONE when
 * there is none to ask. */
void identity_ask(struct identity *id, const char *agent, const struct exec_param *params,
                  size_t params_count, const struct credentials *c);
void identity_wipe(struct identity *id);
/* What the tool printed on its standard output, when it exited 0: false: no answer that we know. */
bool identity_read(enum identity_way way, const char *text, size_t len, uint64_t *number);

#endif
