/* corosync_read.c - keys of a file or of a running corosync's map into a struct corosync_state. */
#include "supervisord/config/corosync.h"

#include <stdio.h>
#include <string.h>

#include "supervisord/base/str.h"

enum {
    LINE_MAX_BYTES = 512,
    KEY_MAX = 255, /* ICMAP_KEYNAME_MAXLEN */
    DEPTH_MAX = 4, /* corosync itself nests two deep */
};

/* ---- keys ---- */

#define AT(field) offsetof(struct corosync_state, field)

static const struct {
    const char *key;
    bool is_number;
    size_t at;
} keys[] = {
    {"version", false, AT(version)}, /* the program's: not a key of corosync's */
    {"totem.transport", false, AT(transport)},
    {"totem.crypto_cipher", false, AT(cipher)},
    {"totem.crypto_hash", false, AT(hash)},
    {"totem.secauth", false, AT(secauth)},
    {"totem.keyfile", false, AT(key_file)},
    {"totem.token", true, AT(token)},
    {"totem.token_coefficient", true, AT(coefficient)},
    {"totem.consensus", true, AT(consensus)},
    {"runtime.config.totem.token", true, AT(token_now)},
    {"runtime.config.totem.consensus", true, AT(consensus_now)},
    {"quorum.provider", false, AT(provider)},
    {"quorum.expected_votes", true, AT(expected_votes)},
    {"runtime.votequorum.expected_votes", true, AT(expected_now)}, /* of votequorum's own API */
    {"quorum.wait_for_all", true, AT(wait_for_all)},
    {"runtime.votequorum.wait_for_all_status", true, AT(waiting_for_all)},
    {"quorum.two_node", true, AT(two_node)},
    {"quorum.last_man_standing", true, AT(last_man_standing)},
    {"quorum.auto_tie_breaker", true, AT(auto_tie_breaker)},
    {"quorum.allow_downscale", true, AT(allow_downscale)},
};

static bool take_number(struct corosync_number *number, const char *value)
{
    uint64_t v;

    if (!hf_str_to_u64(value, UINT32_MAX, &v))
        return false;
    *number = (struct corosync_number){true, (uint32_t)v};
    return true;
}

/* "3.ring0_addr", behind "nodelist.node." */
static bool take_node(struct corosync_state *state, const char *rest, const char *value)
{
    size_t digits = strspn(rest, "0123456789");
    struct corosync_node *node;
    char number[8];
    uint64_t ix;

    if (digits == 0 || digits >= sizeof number || rest[digits] != '.')
        return false;
    memcpy(number, rest, digits);
    number[digits] = '\0';
    if (!hf_str_to_u64(number, COROSYNC_NODES_MAX - 1, &ix))
        return false;
    rest += digits + 1;
    if (state->nodes_count <= ix)
        state->nodes_count = (unsigned)ix + 1;
    node = &state->nodes[ix];
    if (strcmp(rest, "nodeid") == 0)
        return take_number(&node->nodeid, value);
    if (strcmp(rest, "quorum_votes") == 0)
        return take_number(&node->votes, value);
    if (strcmp(rest, "name") == 0)
        return hf_str_copy(node->name, sizeof node->name, value);
    if (strncmp(rest, "ring", 4) != 0 || rest[4] < '0' || rest[4] > '7' ||
        strcmp(rest + 5, "_addr") != 0)
        return false;
    node->rings |= (uint8_t)(1u << (rest[4] - '0'));
    return true;
}

/* A file has "uidgid.uid: holdfast"; the map has "uidgid.config.uid.998" and "uidgid.uid.998", with
 * 1 for its value. Of groups nobody asks. */
static bool take_user(struct corosync_state *state, const char *key, const char *value)
{
    const char *user = NULL;

    if (strcmp(key, "uidgid.uid") == 0)
        user = value;
    else if (strncmp(key, "uidgid.uid.", 11) == 0)
        user = key + 11;
    else if (strncmp(key, "uidgid.config.uid.", 18) == 0)
        user = key + 18;
    if (user == NULL || state->users_count == COROSYNC_USERS_MAX)
        return false;
    return hf_str_copy(state->users[state->users_count++], COROSYNC_TEXT_MAX + 1, user);
}

bool corosync_take(struct corosync_state *state, const char *key, const char *value)
{
    static const char node[] = "nodelist.node.";

    if (strncmp(key, node, sizeof node - 1) == 0)
        return take_node(state, key + sizeof node - 1, value);
    if (strncmp(key, "uidgid.", 7) == 0)
        return take_user(state, key, value);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        void *at = (char *)state + keys[i].at;

        if (strcmp(keys[i].key, key) != 0)
            continue;
        return keys[i].is_number ? take_number(at, value)
                                 : hf_str_copy(at, COROSYNC_TEXT_MAX + 1, value);
    }
    return false;
}

/* ---- files ---- */

struct reader {
    const char *file;
    unsigned line;
    unsigned depth;
    size_t end[DEPTH_MAX + 1]; /* length of path at each depth */
    unsigned nodes;
    char path[KEY_MAX + 1]; /* "nodelist.node.0." */
};

static enum hf_code fail(const struct reader *r, struct hf_err *err, const char *text)
{
    return hf_err_set(err, HF_EBAD, "%s:%u: %s", r->file, r->line, text);
}

static enum hf_code open_section(struct reader *r, const char *name, struct hf_err *err)
{
    char index[16] = "";
    int len;

    if (r->depth == DEPTH_MAX)
        return fail(r, err, "sections nested too deep");
    /* corosync numbers the nodes as they come; of other repeated sections nothing is asked. */
    if (strcmp(r->path, "nodelist.") == 0 && strcmp(name, "node") == 0)
        (void)snprintf(index, sizeof index, "%u.", r->nodes++);
    len = snprintf(r->path + r->end[r->depth], sizeof r->path - r->end[r->depth], "%s.%s", name,
                   index);
    if (len < 0 || (size_t)len >= sizeof r->path - r->end[r->depth])
        return fail(r, err, "section names too long");
    r->end[r->depth + 1] = r->end[r->depth] + (size_t)len;
    r->depth++;
    return HF_OK;
}

static void trim(char **text)
{
    size_t len;

    *text += strspn(*text, " \t\r");
    len = strlen(*text);
    while (len > 0 && strchr(" \t\r", (*text)[len - 1]) != NULL)
        len--;
    (*text)[len] = '\0';
}

static enum hf_code statement(struct reader *r, struct corosync_state *state, char *line,
                              struct hf_err *err)
{
    char key[KEY_MAX + 1], *brace, *colon, *value;

    trim(&line);
    if (line[0] == '\0' || line[0] == '#')
        return HF_OK;
    brace = strchr(line, '{');
    if (brace != NULL) {
        /* corosync refuses this, too ("Extra characters after opening bracket"). */
        if (brace[1] != '\0')
            return fail(r, err, "text after '{': one statement a line");
        *brace = '\0';
        trim(&line);
        return open_section(r, line, err);
    }
    if (line[0] == '}') {
        if (r->depth == 0)
            return fail(r, err, "'}' closes nothing");
        r->path[r->end[--r->depth]] = '\0';
        return HF_OK;
    }
    colon = strchr(line, ':');
    if (colon == NULL)
        return fail(r, err, "neither a section nor 'key: value'");
    *colon = '\0';
    value = colon + 1;
    trim(&line);
    trim(&value);
    if (snprintf(key, sizeof key, "%s%s", r->path, line) < (int)sizeof key)
        (void)corosync_take(state, key, value);
    return HF_OK;
}

enum hf_code corosync_read(struct corosync_state *state, const char *file, const char *text,
                           size_t len, struct hf_err *err)
{
    struct reader r = {.file = file};
    char line[LINE_MAX_BYTES + 1];

    if (len > COROSYNC_FILE_MAX)
        return hf_err_set(err, HF_EBAD, "%s: larger than %d bytes", file, COROSYNC_FILE_MAX);
    while (len > 0) {
        const char *newline = memchr(text, '\n', len);
        size_t line_len = newline != NULL ? (size_t)(newline - text) : len;

        r.line++;
        if (line_len > LINE_MAX_BYTES)
            return fail(&r, err, "line too long");
        memcpy(line, text, line_len);
        line[line_len] = '\0';
        if (strlen(line) != line_len)
            return fail(&r, err, "NUL byte");
        if (statement(&r, state, line, err) != HF_OK)
            return err->code;
        line_len += newline != NULL;
        text += line_len;
        len -= line_len;
    }
    return r.depth == 0 ? HF_OK : fail(&r, err, "the file ends inside a section");
}
