/* paths.h - could every node be fenced if it had to be? The self-tests of the fence levels.
 * The member that would fence a node first tries each of its levels once a minute, without effect,
 * through the fence runner; what it finds goes to the group when it is news. One test at a time: a
 * minute is long, and a fence order must never wait for a test. An operator may ask for one. */
#ifndef SUPERVISORD_ACT_PATHS_H
#define SUPERVISORD_ACT_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/err.h"
#include "supervisord/engine/engine.h"
#include "supervisord/wire/report.h"

enum {
    PATHS_EVERY_MS = 60000,    /* a password that was changed is found out within a minute */
    PATHS_DEADLINE_MS = 30000, /* an unreachable BMC alone costs fence_ipmilan 20 s */
    PATHS_PAUSE_MS = 200,      /* between two tests: they cost processor time */
    PATHS_SETTLE_MS = 5000,    /* after a change of the group: a failover has all of the machine */
    PATHS_ASKED_MAX = 16,      /* operators' tests that wait */
};

struct paths_ports {
    void *user;
    const struct engine *(*engine)(void *user); /* NULL: none */
    enum hf_code (*submit)(void *user, const struct hf_event *ev, struct hf_err *err);
    /* To the fence runner, with the running configuration's text. False: it is not connected, or
     * the text is not here. */
    bool (*tell)(void *user, const struct hf_report *report);
    /* A test of an operator's has ended (NULL: it could not be made). */
    void (*tested)(void *user, uint64_t cookie, const struct hf_report *tested);
    /* A level's state is news, in words: for the node's history. */
    void (*news)(void *user, hf_node target, uint8_t level, const struct hf_report *tested);
};

struct paths_slot {
    hf_time due;
    enum hf_path told;
    bool has_told;
    char why[HF_REASON_MAX + 1]; /* of the last test from here; "" = none */
    hf_time tested;              /* when that was; 0 = never */
    uint32_t took_ms;
};

struct paths_asked {
    uint64_t cookie;
    hf_node target;
    uint8_t level;
};

struct paths {
    struct paths_ports ports;
    uint32_t own_nodeid;
    bool is_synced, has_runner;
    struct paths_slot slot[HF_NODES_MAX][HF_FENCE_LEVELS_MAX];
    struct paths_asked asked[PATHS_ASKED_MAX];
    unsigned asked_count;
    uint32_t number; /* of the test under way; 0 = none */
    uint32_t last_number;
    uint64_t cookie; /* of the operator who asked for it; 0 = nobody */
    hf_node target;
    uint8_t level;
    hf_time late_at, next_at;
};

void paths_init(struct paths *p, uint32_t own_nodeid, const struct paths_ports *ports);
void paths_runner(struct paths *p, bool is_connected, hf_time now);
void paths_group(struct paths *p, bool is_synced, hf_time now);
void paths_told(struct paths *p, const struct hf_report *tested, hf_time now);
/* An operator's test, answered by the `tested` port with `cookie` (not 0). HF_EFULL: too many wait.
 * HF_EINVAL: no such level. HF_EAGAIN: no fence runner here. */
enum hf_code paths_test(struct paths *p, hf_node target, uint8_t level, uint64_t cookie,
                        hf_time now, struct hf_err *err);
/* At paths_deadline(). */
void paths_turn(struct paths *p, hf_time now);
hf_time paths_deadline(const struct paths *p);
/* What the last test from here said of a level; "" = none. */
const char *paths_why(const struct paths *p, hf_node target, uint8_t level);

#endif
