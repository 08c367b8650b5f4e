#include "fencing/identity.h"

#include <stdio.h>
#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"
#include "supervisord/base/uuid.h"

enum { GUID_BYTES = 16, UUID_TEXT_MAX = 36 };

/* ---- what the device is ---- */

/* fence_ipmilan's own file under its other names (fence-agents 4.12); those that speak lanplus
 * unless told otherwise. */
static const struct ipmi_agent {
    const char *name;
    bool has_lanplus;
} ipmi_agents[] = {
    {"fence_ipmilan", false}, {"fence_ipmilanplus", true}, {"fence_idrac", false},
    {"fence_imm", false},     {"fence_ilo3", true},        {"fence_ilo4", true},
    {"fence_ilo5", true},
};

struct device {
    const struct exec_param *params;
    size_t params_count;
    const struct credentials *secrets;
};

/* The agents take '-' for '_'. */
static bool key_is(const char *key, size_t len, const char *wanted)
{
    if (strlen(wanted) != len)
        return false;
    for (size_t i = 0; i < len; i++)
        if ((key[i] == '-' ? '_' : key[i]) != wanted[i])
            return false;
    return true;
}

static const char *param(const struct device *d, const char *key)
{
    for (size_t i = 0; i < d->params_count; i++)
        if (key_is(d->params[i].key, strlen(d->params[i].key), key))
            return d->params[i].value;
    return NULL;
}

static const char *param_or(const struct device *d, const char *key, const char *older)
{
    const char *value = param(d, key);

    return value != NULL ? value : param(d, older);
}

static bool is_on(const char *value, bool otherwise)
{
    if (value == NULL)
        return otherwise;
    return value[0] == '\0' || strcmp(value, "1") == 0 || strcmp(value, "on") == 0 ||
           strcmp(value, "yes") == 0 || strcmp(value, "true") == 0;
}

/* The last line of the credentials with this key, as the agent takes it. NULL: none. */
static const char *secret(const struct device *d, const char *key, const char *older, size_t *len)
{
    const char *found = NULL, *line = d->secrets->lines, *end = line + d->secrets->len;

    while (line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        const char *equals = memchr(line, '=', (size_t)((stop != NULL ? stop : end) - line));

        if (stop == NULL)
            stop = end;
        if (equals != NULL && (key_is(line, (size_t)(equals - line), key) ||
                               key_is(line, (size_t)(equals - line), older))) {
            found = equals + 1;
            *len = (size_t)(stop - found);
        }
        line = stop + 1;
    }
    return found;
}

/* False: longer than any user name. "" when there is none. */
static bool take_user(struct identity *id, const struct device *d)
{
    size_t len = 0;
    const char *user = secret(d, "username", "login", &len);

    id->user[0] = '\0';
    if (user == NULL) {
        user = param_or(d, "username", "login");
        return user == NULL || hf_str_copy(id->user, sizeof id->user, user);
    }
    if (len > IDENTITY_USER_MAX)
        return false;
    memcpy(id->user, user, len);
    id->user[len] = '\0';
    return true;
}

/* ---- IPMI ---- */

static void word(struct identity *id, size_t *count, const char *text)
{
    HF_ASSERT(*count + 1 < EXEC_ARGS_MAX);
    id->argv[(*count)++] = text;
    id->argv[*count] = NULL;
}

static void option(struct identity *id, size_t *count, const char *letter, const char *value)
{
    if (value == NULL)
        return;
    word(id, count, letter);
    word(id, count, value);
}

static bool take_privilege(struct identity *id, const struct device *d)
{
    const char *value = param(d, "privlvl");

    if (!hf_str_copy(id->privilege, sizeof id->privilege, value != NULL ? value : "administrator"))
        return false;
    for (char *c = id->privilege; *c != '\0'; c++)
        *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    return true;
}

/* The raw request and not `mc guid`: its answer is the 16 bytes as they came, the same in every
 * version of ipmitool. -v: why a session was refused is not told without it. */
static void ipmi_words(struct identity *id, const struct device *d, bool has_lanplus)
{
    const char *seconds = param(d, "ipmitool_timeout");
    size_t count = 0;

    word(id, &count, "ipmitool");
    word(id, &count, "-v");
    option(id, &count, "-I", is_on(param(d, "lanplus"), has_lanplus) ? "lanplus" : "lan");
    option(id, &count, "-H", param_or(d, "ip", "ipaddr"));
    option(id, &count, "-p", param(d, "ipport"));
    option(id, &count, "-U", id->user[0] != '\0' ? id->user : NULL);
    option(id, &count, "-A", param(d, "auth"));
    option(id, &count, "-C", param(d, "cipher"));
    option(id, &count, "-L", id->privilege);
    option(id, &count, "-N", seconds != NULL ? seconds : "2"); /* the agent's default */
    option(id, &count, "-f", "/dev/stdin");
    option(id, &count, "raw", "0x06"); /* NetFn App, */
    word(id, &count, "0x37");          /* Get System GUID: IPMI 2.0, 22.14 */
}

static bool ask_ipmi(struct identity *id, const struct device *d, bool has_lanplus)
{
    size_t len = 0, key_len;
    const char *password = secret(d, "password", "passwd", &len);

    if (password == NULL || param_or(d, "ip", "ipaddr") == NULL || param(d, "target") != NULL ||
        param(d, "hexadecimal_kg") != NULL ||
        secret(d, "hexadecimal_kg", "hexadecimal_kg", &key_len) != NULL)
        return false;
    if (!take_user(id, d) || !take_privilege(id, d))
        return false;
    ipmi_words(id, d, has_lanplus);
    return exec_input_add(&id->in, password, len) && exec_input_add(&id->in, "\n", 1);
}

/* " a1 23 ... 01\n": sixteen bytes and nothing else. */
static bool read_ipmi(const char *text, size_t len, uint64_t *number)
{
    char uuid[2 * GUID_BYTES + 1];
    size_t digits = 0;

    for (size_t at = 0; at < len; at++) {
        if (text[at] == ' ' || text[at] == '\n' || text[at] == '\r')
            continue;
        if (digits == 2 * (size_t)GUID_BYTES || at + 1 >= len || hf_str_hex_digit(text[at]) < 0 ||
            hf_str_hex_digit(text[at + 1]) < 0)
            return false;
        uuid[digits++] = text[at++];
        uuid[digits++] = text[at];
    }
    uuid[digits] = '\0';
    return digits == 2 * (size_t)GUID_BYTES && hf_uuid_number(uuid, number);
}

/* ---- Redfish ---- */

/* What may stand in an address or a path without meaning anything to curl's configuration. */
static bool is_plain(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._~%@:()[]$,=+-";

    return text[0] != '\0' && text[strspn(text, plain)] == '\0';
}

/* Inside a quoted value of curl's configuration. */
static bool add_quoted(struct exec_input *in, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if ((text[i] == '"' || text[i] == '\\') && !exec_input_add(in, "\\", 1))
            return false;
        if (!exec_input_add(in, text + i, 1))
            return false;
    }
    return true;
}

static bool add(struct exec_input *in, const char *text)
{
    return exec_input_add(in, text, strlen(text));
}

/* The same requests as the agent's: same address, same rule for the certificate. */
static bool redfish_config(struct identity *id, const struct device *d, const char *password,
                           size_t len)
{
    const char *ip = param_or(d, "ip", "ipaddr"), *uri = param(d, "systems_uri");
    const char *port = param(d, "ipport");
    const char *colon = strchr(ip, ':');
    bool has_port = colon != NULL && strchr(colon + 1, ':') == NULL;
    bool is_insecure = is_on(param(d, "ssl_insecure"), false);
    char url[1024];
    int need = snprintf(url, sizeof url, "url = \"https://%s%s%s%s\"\n", ip, has_port ? "" : ":",
                        has_port ? "" : (port != NULL ? port : "443"), uri);

    if (need < 0 || (size_t)need >= sizeof url)
        return false;
    return add(&id->in, url) && add(&id->in, "user = \"") &&
           add_quoted(&id->in, id->user, strlen(id->user)) && add(&id->in, ":") &&
           add_quoted(&id->in, password, len) &&
           add(&id->in, "\"\nheader = \"accept: application/json\"\nproto = \"=https\"\n"
                        "noproxy = \"*\"\ngloboff\nsilent\nshow-error\nfail\n") &&
           (!is_insecure || add(&id->in, "insecure\n"));
}

static bool ask_redfish(struct identity *id, const struct device *d)
{
    const char *ip = param_or(d, "ip", "ipaddr"), *uri = param(d, "systems_uri");
    const char *port = param(d, "ipport"), *password;
    size_t len = 0, count = 0;

    if (ip == NULL || uri == NULL || !is_plain(ip) || !is_plain(uri) || uri[0] != '/' ||
        strchr(ip, '/') != NULL || strchr(ip, '@') != NULL || (port != NULL && !is_plain(port)))
        return false;
    password = secret(d, "password", "passwd", &len);
    if (password == NULL || !take_user(id, d) || strchr(id->user, ':') != NULL)
        return false;
    word(id, &count, "curl");
    word(id, &count, "--disable"); /* nobody's .curlrc */
    option(id, &count, "--config", "-");
    return redfish_config(id, d, password, len);
}

/* Walks JSON far enough to know what is a member of the outermost object: strings and depth. */
struct json_walk {
    const char *text;
    size_t len, at;
    int depth;
};

/* At a quote: the raw bytes between it and its partner. False: it never ends. */
static bool walk_string(struct json_walk *w, const char **start, size_t *len)
{
    size_t begin = ++w->at;

    for (; w->at < w->len; w->at++) {
        if (w->text[w->at] == '\\') {
            w->at++;
            continue;
        }
        if (w->text[w->at] == '"') {
            *start = w->text + begin;
            *len = w->at++ - begin;
            return true;
        }
    }
    return false;
}

static void walk_blanks(struct json_walk *w)
{
    while (w->at < w->len && strchr(" \t\r\n", w->text[w->at]) != NULL && w->text[w->at] != '\0')
        w->at++;
}

static bool walk_is(const struct json_walk *w, char c)
{
    return w->at < w->len && w->text[w->at] == c;
}

/* Behind `"UUID"` in the outermost object: its value as a number. */
static bool walk_uuid(struct json_walk *w, uint64_t *number)
{
    char uuid[UUID_TEXT_MAX + 1];
    const char *value;
    size_t len;

    w->at++; /* the colon */
    walk_blanks(w);
    if (!walk_is(w, '"') || !walk_string(w, &value, &len) || len > UUID_TEXT_MAX)
        return false;
    memcpy(uuid, value, len);
    uuid[len] = '\0';
    return hf_uuid_number(uuid, number);
}

/* A document that is cut, has two UUIDs, or goes on after its end tells nothing. */
static bool read_redfish(const char *text, size_t len, uint64_t *number)
{
    struct json_walk w = {text, len, 0, 0};
    unsigned found = 0;

    walk_blanks(&w);
    if (!walk_is(&w, '{'))
        return false;
    do {
        char c = w.text[w.at];
        const char *string;
        size_t string_len;

        if (c != '"') {
            w.depth += (c == '{' || c == '[') - (c == '}' || c == ']');
            w.at++;
        } else if (!walk_string(&w, &string, &string_len)) {
            return false;
        } else {
            walk_blanks(&w);
            if (w.depth == 1 && string_len == 4 && memcmp(string, "UUID", 4) == 0 &&
                walk_is(&w, ':') && (++found > 1 || !walk_uuid(&w, number)))
                return false;
        }
        walk_blanks(&w);
    } while (w.depth > 0 && w.at < w.len);
    return found == 1 && w.depth == 0 && w.at == w.len;
}

/* ---- both ---- */

void identity_ask(struct identity *id, const char *agent, const struct exec_param *params,
                  size_t params_count, const struct credentials *c)
{
    struct device d = {params, params_count, c};
    bool has_question = false;

    id->way = IDENTITY_NONE;
    id->argv[0] = NULL;
    id->in.len = 0;
    if (strcmp(agent, "fence_redfish") == 0) {
        id->way = IDENTITY_REDFISH;
        has_question = ask_redfish(id, &d);
    }
    for (size_t i = 0; i < sizeof ipmi_agents / sizeof ipmi_agents[0]; i++) {
        if (strcmp(agent, ipmi_agents[i].name) != 0)
            continue;
        id->way = IDENTITY_IPMI;
        has_question = ask_ipmi(id, &d, ipmi_agents[i].has_lanplus);
    }
    if (!has_question)
        identity_wipe(id);
}

void identity_wipe(struct identity *id)
{
    explicit_bzero(id, sizeof *id);
}

bool identity_read(enum identity_way way, const char *text, size_t len, uint64_t *number)
{
    switch (way) {
    case IDENTITY_NONE:
        return false;
    case IDENTITY_IPMI:
        return read_ipmi(text, len, number);
    case IDENTITY_REDFISH:
        return read_redfish(text, len, number);
    }
    HF_NEVER("an identity asked in no known way");
}
