#include "supervisord/config/corosync.h"
#include "tests/unit/check.h"

#include <string.h>

static struct corosync_state state;
static struct hf_err err;

static enum hf_code read_text(const char *text)
{
    memset(&state, 0, sizeof state);
    return corosync_read(&state, "corosync.conf", text, strlen(text), &err);
}

START_TEST(every_key_that_matters_is_taken)
{
    static const char text[] =
        "# comment\n"
        "totem {\n\tversion: 2\n\ttransport: knet\n\tcrypto_cipher: aes128\n\tcrypto_hash: sha1\n"
        "\tsecauth: on\n\tkeyfile: /k\n\ttoken: 1000\n\ttoken_coefficient: 0\n\tconsensus:1500\n"
        "\tinterface {\n\t\tlinknumber: 0\n\t\tmcastport: 5405\n\t}\n}\n"
        "nodelist {\n  node {\n    ring0_addr: a\n    ring1_addr: b\n    name: n1\n    nodeid: 1\n"
        "    quorum_votes: 2\n  }\n  node {\n    nodeid: 2\n    ring7_addr: c\n  }\n}\n"
        "quorum {\n provider: corosync_votequorum\n expected_votes: 2\n wait_for_all: 1\n"
        " two_node: 1\n last_man_standing: 1\n auto_tie_breaker: 1\n allow_downscale: 1\n"
        " device {\n  model: net\n  net {\n   host: q\n  }\n }\n}\n"
        "uidgid {\n uid: holdfast\n gid: holdfast\n}\nuidgid {\n uid: 998\n}";

    ck_assert_msg(read_text(text) == HF_OK, "%s", err.text);
    ck_assert_str_eq(state.version, ""); /* totem.version is not the program's */
    ck_assert_str_eq(state.transport, "knet");
    ck_assert_str_eq(state.cipher, "aes128");
    ck_assert_str_eq(state.hash, "sha1");
    ck_assert_str_eq(state.secauth, "on");
    ck_assert_str_eq(state.key_file, "/k");
    ck_assert_uint_eq(state.token.value, 1000);
    ck_assert(state.coefficient.is_given);
    ck_assert_uint_eq(state.coefficient.value, 0);
    ck_assert_uint_eq(state.consensus.value, 1500);
    ck_assert_uint_eq(state.nodes_count, 2);
    ck_assert_uint_eq(state.nodes[0].nodeid.value, 1);
    ck_assert_uint_eq(state.nodes[0].votes.value, 2);
    ck_assert_str_eq(state.nodes[0].name, "n1");
    ck_assert_uint_eq(state.nodes[0].rings, 3);
    ck_assert_uint_eq(state.nodes[1].rings, 0x80);
    ck_assert_str_eq(state.provider, "corosync_votequorum");
    ck_assert_uint_eq(state.expected_votes.value, 2);
    ck_assert_uint_eq(state.wait_for_all.value, 1);
    ck_assert_uint_eq(state.two_node.value, 1);
    ck_assert_uint_eq(state.last_man_standing.value, 1);
    ck_assert_uint_eq(state.auto_tie_breaker.value, 1);
    ck_assert_uint_eq(state.allow_downscale.value, 1);
    ck_assert_uint_eq(state.users_count, 2);
    ck_assert_str_eq(state.users[0], "holdfast");
    ck_assert_str_eq(state.users[1], "998");
}
END_TEST

/* The keys as corosync 3.1.7 has them in its map. */
START_TEST(the_map_of_a_running_corosync_is_taken)
{
    static const struct {
        const char *key, *value;
        bool is_taken;
    } keys[] = {
        {"version", "3.1.7", true},
        {"runtime.config.totem.token", "1000", true},
        {"runtime.config.totem.consensus", "1200", true},
        {"runtime.votequorum.expected_votes", "3", true},
        {"runtime.votequorum.wait_for_all_status", "1", true},
        {"nodelist.node.1.ring1_addr", "10.91.0.2", true},
        {"nodelist.node.1.nodeid", "2", true},
        {"uidgid.config.uid.998", "1", true},
        {"uidgid.uid.999", "1", true},
        {"uidgid.gid.999", "1", false},
        {"nodelist.local_node_pos", "0", false},
        {"nodelist.node.99.nodeid", "1", false},
        {"nodelist.node.4294967296.nodeid", "1", false},
        {"nodelist.node..nodeid", "1", false},
        {"nodelist.node.1", "1", false},
        {"nodelist.node.1.ring8_addr", "x", false},
        {"nodelist.node.1.ring", "x", false},
        {"totem.token", "-1", false},
        {"totem.token", "4294967296", false},
        {"totem.interface.0.bindnetaddr", "10.90.0.1", false},
    };

    memset(&state, 0, sizeof state);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        ck_assert_msg(corosync_take(&state, keys[i].key, keys[i].value) == keys[i].is_taken, "%s",
                      keys[i].key);
    ck_assert_uint_eq(state.token_now.value, 1000);
    ck_assert_uint_eq(state.expected_now.value, 3);
    ck_assert_uint_eq(state.waiting_for_all.value, 1);
    ck_assert_uint_eq(state.nodes_count, 2);
    ck_assert_uint_eq(state.nodes[1].rings, 2);
    ck_assert_uint_eq(state.users_count, 2);
    ck_assert_str_eq(state.users[0], "998");
    ck_assert(!state.token.is_given);
}
END_TEST

START_TEST(a_file_that_corosync_would_refuse_is_refused)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"totem {\n", "corosync.conf:1: the file ends inside a section"},
        {"}\n", "corosync.conf:1: '}' closes nothing"},
        {"totem { token: 1\n}\n", "corosync.conf:1: text after '{': one statement a line"},
        {"\nhello\n", "corosync.conf:2: neither a section nor 'key: value'"},
        {"a {\nb {\nc {\nd {\ne {\n", "corosync.conf:5: sections nested too deep"},
    };

    ck_assert_int_eq(read_text(cases[_i].text), HF_EBAD);
    ck_assert_str_eq(err.text, cases[_i].why);
}
END_TEST

START_TEST(bytes_without_end_or_sense_are_refused)
{
    static char text[COROSYNC_FILE_MAX + 1];

    memset(text, 'x', sizeof text);
    ck_assert_int_eq(corosync_read(&state, "c", text, sizeof text, &err), HF_EBAD);
    ck_assert_int_eq(corosync_read(&state, "c", text, 513, &err), HF_EBAD);
    ck_assert_str_eq(err.text, "c:1: line too long");
    ck_assert_int_eq(corosync_read(&state, "c", "a: \0b\n", 6, &err), HF_EBAD);
    ck_assert_str_eq(err.text, "c:1: NUL byte");
    memset(text, 'n', 300);
    memcpy(text + 300, " {\n", 3);
    ck_assert_int_eq(corosync_read(&state, "c", text, 303, &err), HF_EBAD);
    ck_assert_str_eq(err.text, "c:1: section names too long");
}
END_TEST

/* More nodes and users than there is room for: the rest is not taken, nothing is overrun. */
START_TEST(too_many_nodes_and_users_have_no_room)
{
    static char text[16384];

    strcpy(text, "nodelist {\n");
    for (unsigned i = 0; i < COROSYNC_NODES_MAX + 8; i++)
        strcat(text, "node {\nnodeid: 7\nring0_addr: a\n}\n");
    strcat(text, "}\n");
    for (unsigned i = 0; i < COROSYNC_USERS_MAX + 8; i++)
        strcat(text, "uidgid {\nuid: 1\n}\n");
    ck_assert_int_eq(read_text(text), HF_OK);
    ck_assert_uint_eq(state.nodes_count, COROSYNC_NODES_MAX);
    ck_assert_uint_eq(state.users_count, COROSYNC_USERS_MAX);
}
END_TEST

HF_TEST_MAIN("config/corosync_read", HF_CASE(every_key_that_matters_is_taken),
             HF_CASE(the_map_of_a_running_corosync_is_taken),
             HF_LOOP(a_file_that_corosync_would_refuse_is_refused, 0, 5),
             HF_CASE(bytes_without_end_or_sense_are_refused),
             HF_CASE(too_many_nodes_and_users_have_no_room))
