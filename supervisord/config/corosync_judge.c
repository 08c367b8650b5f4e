/* corosync_judge.c - what is wrong with a corosync, and why it matters. Every sentence ends with
 * what may happen for it: a deviation without a consequence is not worth a line. */
#include "supervisord/config/corosync.h"

#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"

/* Below it the daemons of corosync 3.1.7 took each other for lost on two busy shared cores. */
enum { TOKEN_LEAST_MS = 500 };
/* Longer times are all the same to us, and sums of them stay far from the end of 32 bits. */
enum { TIME_MOST_MS = 10 * 1000 * 1000 };
/* corosync.conf(5), since 3.1. */
enum { TOKEN_DEFAULT_MS = 3000, COEFFICIENT_DEFAULT_MS = 650 };

struct judge {
    const struct corosync_state *state;
    const struct hf_config *config;
    struct corosync_verdict *verdict;
    struct findings *found; /* the verdict's */
};

/* ---- the program and its network ---- */

/* secauth: on means aes256 and sha256 unless others are named; nothing but "on" does
 * (totemconfig.c). */
static const char *effective(const struct corosync_state *s, const char *given, const char *on)
{
    if (given[0] != '\0')
        return given;
    return strcmp(s->secauth, "on") == 0 ? on : "none";
}

static void judge_crypto(const struct judge *j)
{
    const char *cipher = effective(j->state, j->state->cipher, "aes256");
    const char *hash = effective(j->state, j->state->hash, "sha256");

    if (strcmp(cipher, "none") == 0)
        findings_add(
            j->found, FINDING_UNFIT, "totem.crypto_cipher",
            "none, not aes256: whoever reaches the network can read and forge what the group "
            "decides");
    else if (strcmp(cipher, "aes256") != 0)
        findings_add(j->found, FINDING_ADVICE, "totem.crypto_cipher",
                     "%s, not aes256: weaker than it needs to be", cipher);
    if (strcmp(hash, "none") == 0)
        findings_add(j->found, FINDING_UNFIT, "totem.crypto_hash",
                     "none, not sha256: a message is not proved to come from a node of the group");
    else if (strcmp(hash, "md5") == 0 || strcmp(hash, "sha1") == 0)
        findings_add(j->found, FINDING_ADVICE, "totem.crypto_hash",
                     "%s, not sha256: it can be forged", hash);
    if (j->state->secauth[0] != '\0' && j->state->cipher[0] == '\0')
        findings_add(j->found, FINDING_ADVICE, "totem.secauth",
                     "%s: an old name for it, and anything but 'on' means no encryption; write "
                     "crypto_cipher and crypto_hash",
                     j->state->secauth);
}

static void judge_program(const struct judge *j)
{
    const struct corosync_state *s = j->state;

    if (s->is_running && s->version[0] == '\0')
        findings_add(j->found, FINDING_UNFIT, "version", "not known, so its bugs are not either");
    else if (s->is_running && !hf_str_is_version_from(s->version, 3, 1, 6))
        findings_add(
            j->found, FINDING_UNFIT, "version",
            "%s, older than 3.1.6: it can lose or damage messages while the group re-forms, and "
            "take all nodes down",
            s->version);
    if (s->transport[0] != '\0' && strcmp(s->transport, "knet") != 0)
        findings_add(j->found, FINDING_UNFIT, "totem.transport",
                     "%s, not knet: it can neither encrypt nor use a second link", s->transport);
}

/* ---- time ---- */

static uint32_t time_of(const struct corosync_number *number, uint32_t otherwise)
{
    uint32_t ms = number->is_given ? number->value : otherwise;

    return ms < TIME_MOST_MS ? ms : TIME_MOST_MS;
}

static const struct corosync_profile *nearest(const struct corosync_state *s)
{
    uint32_t token = time_of(&s->token_now, time_of(&s->token, TOKEN_DEFAULT_MS));
    const struct corosync_profile *best = &corosync_profiles[0];

    for (size_t i = 1; i < corosync_profiles_count; i++) {
        const struct corosync_profile *p = &corosync_profiles[i];
        uint32_t far = p->token_ms > token ? p->token_ms - token : token - p->token_ms;
        uint32_t far_best =
            best->token_ms > token ? best->token_ms - token : token - best->token_ms;

        if (far < far_best)
            best = p;
    }
    return best;
}

static void judge_lease(const struct judge *j, uint32_t token, uint32_t consensus)
{
    const struct hf_watchdog_conf *w = &j->config->watchdog;
    uint32_t least = corosync_lease_ms(token, consensus, j->config->beat_ms);

    if (w->is_used && w->lease_ms < least)
        findings_add(
            j->found, FINDING_RISK, "totem.token",
            "the watchdog's lease of %u ms is shorter than token %u + consensus %u + 3 x beat %u = "
            "%u ms: the loss of one node would make the others stop their VMs",
            (unsigned)w->lease_ms, (unsigned)token, (unsigned)consensus,
            (unsigned)j->config->beat_ms, (unsigned)least);
}

/* token and consensus as they are, in the running one or by the file. */
static void judge_timing(const struct judge *j)
{
    const struct corosync_state *s = j->state;
    const struct corosync_profile *p = j->verdict->profile;
    unsigned nodes = j->config->group.nodes_count;
    uint32_t coefficient = time_of(&s->coefficient, COEFFICIENT_DEFAULT_MS);
    uint32_t token = time_of(&s->token, TOKEN_DEFAULT_MS);
    uint32_t consensus;

    if (nodes > 2)
        token += (nodes - 2) * coefficient;
    if (s->is_running && time_of(&s->token_now, token) != token)
        findings_add(
            j->found, FINDING_ADVICE, "runtime.config.totem.token",
            "%u ms, where its configuration comes to %u: changed while it runs, or by another "
            "number of nodes",
            (unsigned)time_of(&s->token_now, token), (unsigned)token);
    token = time_of(&s->token_now, token);
    consensus = time_of(&s->consensus_now, time_of(&s->consensus, token * 12 / 10));
    if (token < TOKEN_LEAST_MS)
        findings_add(j->found, FINDING_RISK, "totem.token",
                     "%u ms: below %d ms nodes that are only busy are taken for lost, and fenced",
                     (unsigned)token, TOKEN_LEAST_MS);
    else if (token != p->token_ms)
        findings_add(j->found, FINDING_ADVICE, "totem.token",
                     "%u ms, %u in profile '%s': a dead node is reported after %u ms instead of %u",
                     (unsigned)token, (unsigned)p->token_ms, p->name, (unsigned)(token + consensus),
                     (unsigned)(p->token_ms + corosync_consensus_ms(p)));
    else if (consensus != corosync_consensus_ms(p))
        findings_add(j->found, FINDING_ADVICE, "totem.consensus",
                     "%u ms, %u in profile '%s': a dead node is reported after %u ms instead of %u",
                     (unsigned)consensus, (unsigned)corosync_consensus_ms(p), p->name,
                     (unsigned)(token + consensus),
                     (unsigned)(p->token_ms + corosync_consensus_ms(p)));
    /* tests/bench/detect: 299 and 332 live nodes lost in 30 minutes of stalls, none above. */
    if (consensus < token)
        findings_add(
            j->found, FINDING_RISK, "totem.consensus",
            "%u ms, shorter than the token's %u: a node that was held up for a moment comes back "
            "to others that have gone on without it, and is fenced",
            (unsigned)consensus, (unsigned)token);
    if (nodes > 2 && coefficient != 0)
        findings_add(
            j->found, FINDING_ADVICE, "totem.token_coefficient",
            "%u%s, not 0: every node beyond two makes the loss of one take that much longer to "
            "see",
            (unsigned)coefficient, s->coefficient.is_given ? "" : " (corosync's default)");
    judge_lease(j, token, consensus);
}

/* ---- who votes ---- */

static const struct corosync_node *node_by_id(const struct corosync_state *s, uint32_t nodeid)
{
    for (unsigned i = 0; i < s->nodes_count; i++)
        if (s->nodes[i].nodeid.is_given && s->nodes[i].nodeid.value == nodeid)
            return &s->nodes[i];
    return NULL;
}

static void judge_node(const struct judge *j, const struct hf_node_def *def)
{
    const struct corosync_node *node = node_by_id(j->state, def->nodeid);

    if (node == NULL) {
        findings_add(j->found, FINDING_UNFIT, "nodelist",
                     "no node with nodeid %u: node '%s' of the cluster file can never join",
                     (unsigned)def->nodeid, def->name);
        return;
    }
    if (node->name[0] != '\0' && strcmp(node->name, def->name) != 0)
        findings_add(
            j->found, FINDING_RISK, "nodelist",
            "nodeid %u is named '%s', '%s' in the cluster file: fencing one by the name of the "
            "other hits the wrong host",
            (unsigned)def->nodeid, node->name, def->name);
    if ((node->rings & (uint8_t)(node->rings - 1u)) == 0)
        findings_add(
            j->found, FINDING_RISK, "nodelist",
            "node '%s' has one link only: one cable, port or switch cuts it off, and it is fenced",
            def->name);
    if (node->votes.is_given && node->votes.value != 1)
        findings_add(
            j->found, FINDING_UNFIT, "nodelist",
            "node '%s' has %u votes: Holdfast counts one per node, and the two would disagree on "
            "who is quorate",
            def->name, (unsigned)node->votes.value);
}

static void judge_nodes(const struct judge *j)
{
    const struct hf_group *group = &j->config->group;

    for (unsigned i = 0; i < group->nodes_count; i++)
        judge_node(j, &group->nodes[i]);
    for (unsigned i = 0; i < j->state->nodes_count; i++) {
        const struct corosync_node *node = &j->state->nodes[i];
        bool is_ours = false;

        for (unsigned k = 0; k < group->nodes_count; k++)
            is_ours |= node->nodeid.is_given && node->nodeid.value == group->nodes[k].nodeid;
        if (!is_ours)
            findings_add(
                j->found, FINDING_UNFIT, "nodelist",
                "node '%s' (nodeid %u) is not in the cluster file: its vote counts for corosync "
                "and not for Holdfast",
                node->name, (unsigned)node->nodeid.value);
    }
}

static void judge_votes(const struct judge *j)
{
    const struct corosync_state *s = j->state;
    unsigned nodes = j->config->group.nodes_count;

    if (strcmp(s->provider, "corosync_votequorum") != 0)
        findings_add(
            j->found, FINDING_UNFIT, "quorum.provider",
            "%s, not corosync_votequorum: nobody says whether the votes are those of all nodes",
            s->provider[0] != '\0' ? s->provider : "none");
    if (s->expected_votes.is_given && s->expected_votes.value != nodes)
        findings_add(
            j->found, FINDING_UNFIT, "quorum.expected_votes",
            "%u, and the cluster file has %u nodes: a minority could believe itself quorate",
            (unsigned)s->expected_votes.value, nodes);
    if (s->expected_now.is_given && s->expected_now.value != nodes)
        findings_add(
            j->found, FINDING_UNFIT, "expected votes",
            "%u in the running corosync, and the cluster file has %u nodes: somebody lowered them "
            "(corosync-quorumtool -e), or nodes were added",
            (unsigned)s->expected_now.value, nodes);
    if (!s->wait_for_all.is_given || s->wait_for_all.value == 0)
        findings_add(
            j->found, FINDING_ADVICE, "quorum.wait_for_all",
            "off: after a cold start the first nodes go on without one that is late, and may fence "
            "it");
    if (s->waiting_for_all.is_given && s->waiting_for_all.value != 0)
        findings_add(j->found, FINDING_ADVICE, "quorum.wait_for_all",
                     "not quorate until all nodes were there once; if one is down for good: "
                     "corosync-cmapctl -s quorum.cancel_wait_for_all u8 1");
}

static void judge_options(const struct judge *j)
{
    const struct corosync_state *s = j->state;
    const struct {
        const char *key;
        const struct corosync_number *number;
        const char *why;
    } options[] = {
        {"quorum.two_node", &s->two_node,
         "one node alone is quorate for corosync: never for Holdfast"},
        {"quorum.last_man_standing", &s->last_man_standing,
         "corosync lowers the votes by itself, and Holdfast then refuses to arm"},
        {"quorum.auto_tie_breaker", &s->auto_tie_breaker,
         "half of the nodes is quorate for corosync: never for Holdfast"},
        {"quorum.allow_downscale", &s->allow_downscale,
         "a node that leaves takes its vote along, and Holdfast then refuses to arm"},
    };

    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (options[i].number->is_given && options[i].number->value != 0)
            findings_add(j->found, FINDING_RISK, options[i].key, "on, not off: %s", options[i].why);
}

static void judge_user(const struct judge *j, const char *user)
{
    if (user == NULL)
        return;
    for (unsigned i = 0; i < j->state->users_count; i++)
        if (strcmp(j->state->users[i], user) == 0)
            return;
    /* Advice: who the daemon runs as is its unit's to say, and root needs none. */
    findings_add(j->found, FINDING_ADVICE, "uidgid",
                 "no entry for the user %s: a daemon that runs as it is refused, and never joins",
                 user);
}

void corosync_judge(const struct corosync_state *state, const struct hf_config *config,
                    const char *user, struct corosync_verdict *verdict)
{
    const struct judge j = {state, config, verdict, &verdict->found};

    verdict->found.count = 0;
    verdict->profile = nearest(state);
    judge_program(&j);
    judge_crypto(&j);
    judge_nodes(&j);
    judge_votes(&j);
    judge_options(&j);
    judge_timing(&j);
    judge_user(&j, user);
}
