/* One deviation at a time, each with its severity and its sentence's beginning. */
#include "supervisord/config/corosync.h"
#include "tests/unit/check.h"

#include <string.h>

static const char cluster[] = "cluster {\n name: c\n}\nwatchdog {\n use: yes\n lease: 6s\n}\n"
                              "node n1 {\n id: 1\n}\nnode n2 {\n id: 2\n}\nnode n3 {\n id: 3\n}\n";

static const char *const good[][2] = {
    {"version", "3.1.7"},
    {"totem.transport", "knet"},
    {"totem.crypto_cipher", "aes256"},
    {"totem.crypto_hash", "sha256"},
    {"totem.token", "500"},
    {"totem.token_coefficient", "0"},
    {"totem.consensus", "600"},
    {"runtime.config.totem.token", "500"},
    {"runtime.config.totem.consensus", "600"},
    {"nodelist.node.0.nodeid", "1"},
    {"nodelist.node.0.name", "n1"},
    {"nodelist.node.0.ring0_addr", "a"},
    {"nodelist.node.0.ring1_addr", "b"},
    {"nodelist.node.1.nodeid", "2"},
    {"nodelist.node.1.name", "n2"},
    {"nodelist.node.1.ring0_addr", "c"},
    {"nodelist.node.1.ring1_addr", "d"},
    {"nodelist.node.2.nodeid", "3"},
    {"nodelist.node.2.name", "n3"},
    {"nodelist.node.2.ring0_addr", "e"},
    {"nodelist.node.2.ring1_addr", "f"},
    {"quorum.provider", "corosync_votequorum"},
    {"quorum.wait_for_all", "1"},
    {"runtime.votequorum.expected_votes", "3"},
    {"uidgid.config.uid.998", "1"},
};
enum { GOOD = sizeof good / sizeof good[0] };

static struct hf_config config;
static struct corosync_state state;
static struct corosync_verdict verdict;
static struct hf_err err;

/* The good one, but for one key; value NULL: without it. */
static void judge(const char *key, const char *value)
{
    ck_assert_msg(config_parse("f", cluster, strlen(cluster), &config, &err) == HF_OK, "%s",
                  err.text);
    memset(&state, 0, sizeof state);
    state.is_running = true;
    for (size_t i = 0; i < GOOD; i++)
        if (strcmp(good[i][0], key) != 0)
            ck_assert(corosync_take(&state, good[i][0], good[i][1]));
    if (value != NULL)
        ck_assert(corosync_take(&state, key, value));
    corosync_judge(&state, &config, "998", &verdict);
}

START_TEST(a_good_corosync_has_no_finding)
{
    judge("", NULL);
    ck_assert_msg(verdict.found.count == 0, "%s: %s", verdict.found.finding[0].key,
                  verdict.found.finding[0].text);
    ck_assert_str_eq(verdict.profile->name, "fast");
}
END_TEST

static const struct deviation {
    const char *key, *value;
    enum finding_severity severity;
    const char *finding, *text;
} deviations[] = {
    {"version", "3.1.5", FINDING_UNFIT, "version", "3.1.5, older than 3.1.6: "},
    {"version", NULL, FINDING_UNFIT, "version", "not known"},
    {"totem.transport", "udpu", FINDING_UNFIT, "totem.transport", "udpu, not knet: "},
    {"totem.crypto_cipher", "none", FINDING_UNFIT, "totem.crypto_cipher", "none, not aes256: "},
    {"totem.crypto_cipher", NULL, FINDING_UNFIT, "totem.crypto_cipher", "none, not aes256: "},
    {"totem.crypto_cipher", "aes128", FINDING_ADVICE, "totem.crypto_cipher",
     "aes128, not aes256: "},
    {"totem.crypto_hash", NULL, FINDING_UNFIT, "totem.crypto_hash", "none, not sha256: "},
    {"totem.crypto_hash", "md5", FINDING_ADVICE, "totem.crypto_hash", "md5, not sha256: "},
    {"runtime.config.totem.token", "3000", FINDING_ADVICE, "runtime.config.totem.token",
     "3000 ms, where its configuration comes to 500: "},
    {"runtime.config.totem.token", "3000", FINDING_ADVICE, "totem.token",
     "3000 ms, 2000 in profile 'safe': a dead node is reported after 3600 ms instead of 4400"},
    {"runtime.config.totem.token", "300", FINDING_RISK, "totem.token", "300 ms: below 500 ms "},
    {"runtime.config.totem.consensus", "1300", FINDING_ADVICE, "totem.consensus",
     "1300 ms, 600 in profile 'fast': a dead node is reported after 1800 ms instead of 1100"},
    {"runtime.config.totem.consensus", "499", FINDING_RISK, "totem.consensus",
     "499 ms, shorter than the token's 500: a node that was held up "},
    {"runtime.config.totem.consensus", "4001", FINDING_RISK, "totem.token",
     "the watchdog's lease of 6000 ms is shorter than token 500 + consensus 4001 + 3 x beat 500 = "
     "6001 ms: "},
    {"totem.token_coefficient", NULL, FINDING_ADVICE, "totem.token_coefficient",
     "650 (corosync's default), not 0: "},
    {"nodelist.node.2.nodeid", "4", FINDING_UNFIT, "nodelist",
     "no node with nodeid 3: node 'n3' of the cluster file can never join"},
    {"nodelist.node.2.nodeid", "4", FINDING_UNFIT, "nodelist",
     "node 'n3' (nodeid 4) is not in the cluster file: "},
    {"nodelist.node.2.name", "n4", FINDING_RISK, "nodelist",
     "nodeid 3 is named 'n4', 'n3' in the cluster file: "},
    {"nodelist.node.1.ring1_addr", NULL, FINDING_RISK, "nodelist", "node 'n2' has one link only: "},
    {"nodelist.node.1.quorum_votes", "2", FINDING_UNFIT, "nodelist", "node 'n2' has 2 votes: "},
    {"quorum.provider", NULL, FINDING_UNFIT, "quorum.provider", "none, not corosync_votequorum: "},
    {"quorum.expected_votes", "2", FINDING_UNFIT, "quorum.expected_votes",
     "2, and the cluster file has 3 nodes: "},
    {"runtime.votequorum.expected_votes", "2", FINDING_UNFIT, "expected votes",
     "2 in the running corosync, and the cluster file has 3 nodes: "},
    {"quorum.wait_for_all", NULL, FINDING_ADVICE, "quorum.wait_for_all", "off: "},
    {"runtime.votequorum.wait_for_all_status", "1", FINDING_ADVICE, "quorum.wait_for_all",
     "not quorate until all nodes were there once"},
    {"quorum.two_node", "1", FINDING_RISK, "quorum.two_node", "on, not off: "},
    {"quorum.last_man_standing", "1", FINDING_RISK, "quorum.last_man_standing", "on, not off: "},
    {"quorum.auto_tie_breaker", "1", FINDING_RISK, "quorum.auto_tie_breaker", "on, not off: "},
    {"quorum.allow_downscale", "1", FINDING_RISK, "quorum.allow_downscale", "on, not off: "},
    {"uidgid.config.uid.998", NULL, FINDING_ADVICE, "uidgid", "no entry for the user 998: "},
};
enum { DEVIATIONS = sizeof deviations / sizeof deviations[0] };

START_TEST(every_deviation_is_named_with_its_reason)
{
    const struct deviation *d = &deviations[_i];
    bool is_found = false;

    judge(d->key, d->value);
    ck_assert_uint_gt(verdict.found.count, 0);
    for (unsigned i = 0; i < verdict.found.count; i++) {
        const struct finding *f = &verdict.found.finding[i];

        is_found |= f->severity == d->severity && strcmp(f->key, d->finding) == 0 &&
                    strncmp(f->text, d->text, strlen(d->text)) == 0;
    }
    ck_assert_msg(is_found, "%s = %s: %s: %s", d->key, d->value, verdict.found.finding[0].key,
                  verdict.found.finding[0].text);
}
END_TEST

/* "on" is the only word that switches it on. */
START_TEST(the_old_name_of_encryption_counts_only_as_on)
{
    judge("totem.crypto_cipher", NULL);
    state.hash[0] = '\0';
    ck_assert(corosync_take(&state, "totem.secauth", "on"));
    corosync_judge(&state, &config, NULL, &verdict);
    ck_assert_uint_eq(verdict.found.count, 1);
    ck_assert_int_eq((int)verdict.found.finding[0].severity, FINDING_ADVICE);
    ck_assert_str_eq(verdict.found.finding[0].key, "totem.secauth");
    ck_assert(corosync_take(&state, "totem.secauth", "yes"));
    corosync_judge(&state, &config, NULL, &verdict);
    ck_assert_uint_eq(verdict.found.count, 3);
    ck_assert_int_eq((int)verdict.found.finding[0].severity, FINDING_UNFIT);
}
END_TEST

START_TEST(nothing_of_a_file_steers_a_terminal)
{
    judge("nodelist.node.0.name", "\x1b[2Jx\n");
    ck_assert_uint_eq(verdict.found.count, 1);
    ck_assert_ptr_nonnull(strstr(verdict.found.finding[0].text, "'?[2Jx?'"));
}
END_TEST

START_TEST(an_empty_one_and_the_worst_have_room)
{
    memset(&state, 0, sizeof state);
    corosync_judge(&state, &config, "x", &verdict);
    ck_assert_uint_gt(verdict.found.count, 5);
    state.nodes_count = COROSYNC_NODES_MAX;
    for (unsigned i = 0; i < COROSYNC_NODES_MAX; i++) {
        memset(state.nodes[i].name, 'n', COROSYNC_TEXT_MAX);
        state.nodes[i].nodeid = (struct corosync_number){true, 4000000000u + i};
    }
    corosync_judge(&state, &config, "x", &verdict);
    ck_assert_uint_le(verdict.found.count, FINDINGS_MAX);
}
END_TEST

HF_TEST_MAIN("config/corosync_judge", HF_CASE(a_good_corosync_has_no_finding),
             HF_LOOP(every_deviation_is_named_with_its_reason, 0, DEVIATIONS),
             HF_CASE(the_old_name_of_encryption_counts_only_as_on),
             HF_CASE(nothing_of_a_file_steers_a_terminal),
             HF_CASE(an_empty_one_and_the_worst_have_room))
