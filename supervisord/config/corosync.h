/* corosync.h - the corosync beneath a group: how fast it should be, the file that sets it up, and
 * what is wrong with one that is there already.
 * PURE: texts in, texts out. Reading files and asking a running corosync is the command's.
 * A file and the map of a running corosync name their keys alike ("totem.token"), so both are taken
 * in by one table. */
#ifndef SUPERVISORD_CONFIG_COROSYNC_H
#define SUPERVISORD_CONFIG_COROSYNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/err.h"
#include "supervisord/config/config.h"
#include "supervisord/config/findings.h"

#define COROSYNC_FILE    "/etc/corosync/corosync.conf"
#define COROSYNC_KEY     "/etc/corosync/authkey"
#define COROSYNC_UIDGIDS "/etc/corosync/uidgid.d"

enum {
    COROSYNC_RINGS_MAX = 2,       /* that a file of ours has; corosync knows 8 */
    COROSYNC_TEXT_MAX = 63,       /* an address, a cipher's name */
    COROSYNC_FILE_MAX = 64 << 10, /* far above any file for 8 nodes */
    COROSYNC_NODES_MAX = 32,      /* more than ours may have: an excess must be seen */
    COROSYNC_USERS_MAX = 16,      /* uidgid entries */
};

/* ---- how fast ---- */

struct corosync_profile {
    const char *name;
    uint32_t token_ms, coefficient_ms;
    uint32_t consensus_ms; /* 0: corosync's own, 1.2 x token */
    const char *doc;
};

extern const struct corosync_profile corosync_profiles[];
extern const size_t corosync_profiles_count;

/* NULL: there is none of that name. */
const struct corosync_profile *corosync_profile_find(const char *name);
/* What `consensus` comes to. */
uint32_t corosync_consensus_ms(const struct corosync_profile *profile);
/* The shortest lease with which the loss of one node does not end that of the others: nothing is
 * delivered from the loss until token + consensus have passed; the newest echoed beat may be one
 * beat old when that begins, the first new one is echoed one beat later, and one beat is for the
 * greeting in between and for busy hosts. */
uint32_t corosync_lease_ms(uint32_t token_ms, uint32_t consensus_ms, uint32_t beat_ms);

/* ---- the file that is written ---- */

struct corosync_plan {
    const struct corosync_profile *profile;
    bool wait_for_all;
    const char *key_file; /* borrowed; NULL: corosync's own place */
    unsigned rings_count; /* 1 or 2 */
    char address[COROSYNC_RINGS_MAX][HF_NODES_MAX][COROSYNC_TEXT_MAX + 1]; /* by node index */
};

/* "n1=10.0.0.1,n2=10.0.0.2": an address for every node of the cluster file, none twice. */
enum hf_code corosync_ring_read(const struct hf_config *config, unsigned ring, const char *text,
                                struct corosync_plan *plan, struct hf_err *err);
/* All of corosync.conf, one statement a line. As config_print(): bytes needed, cap respected. */
size_t corosync_print(const struct hf_config *config, const struct corosync_plan *plan, char *out,
                      size_t cap);

/* ---- one that is there ---- */

struct corosync_number {
    bool is_given;
    uint32_t value;
};

struct corosync_node {
    struct corosync_number nodeid, votes;
    char name[COROSYNC_TEXT_MAX + 1];
    uint8_t rings; /* bit per ringN_addr */
};

/* What a file or a running corosync says; zero it first. "" and not given = it does not say. */
struct corosync_state {
    bool is_running;
    char version[COROSYNC_TEXT_MAX + 1]; /* running only */
    char transport[COROSYNC_TEXT_MAX + 1], provider[COROSYNC_TEXT_MAX + 1];
    char cipher[COROSYNC_TEXT_MAX + 1], hash[COROSYNC_TEXT_MAX + 1];
    char secauth[COROSYNC_TEXT_MAX + 1], key_file[COROSYNC_TEXT_MAX + 1];
    struct corosync_number token, coefficient, consensus;
    struct corosync_number token_now, consensus_now; /* running only */
    struct corosync_number expected_votes, expected_now, wait_for_all, waiting_for_all;
    struct corosync_number two_node, last_man_standing, auto_tie_breaker, allow_downscale;
    unsigned nodes_count; /* highest index + 1; may hold empty ones */
    struct corosync_node nodes[COROSYNC_NODES_MAX];
    unsigned users_count;
    char users[COROSYNC_USERS_MAX][COROSYNC_TEXT_MAX + 1]; /* user names or numbers */
};

/* One key of the map. False: not one that matters here. */
bool corosync_take(struct corosync_state *state, const char *key, const char *value);
/* A file in corosync's syntax. HF_EBAD: "FILE:LINE: text". Unknown keys are corosync's business. */
enum hf_code corosync_read(struct corosync_state *state, const char *file, const char *text,
                           size_t len, struct hf_err *err);

struct corosync_verdict {
    const struct corosync_profile *profile; /* it was compared with: the nearest by token */
    struct findings found;
};

/* Every deviation and why it matters. user: whom the daemon may run as, a name for a file and a
 * number for a running corosync; NULL: root, who needs no uidgid entry. */
void corosync_judge(const struct corosync_state *state, const struct hf_config *config,
                    const char *user, struct corosync_verdict *verdict);

#endif
