/* cmd_nics.c - fabrics, legs and flips for people. */
#include "supervisord/ctl/cmd.h"

#include "supervisord/base/str.h"

#include <ctype.h>
#include <string.h>

enum { FLIP_MS = 10000 }; /* above CTL_FLIP_MS of the server */

/* ---- words ---- */

enum table_style cmd_pf_style(const char *state)
{
    if (strcmp(state, "up") == 0)
        return TABLE_GOOD;
    if (strcmp(state, "down") == 0 || strcmp(state, "absent") == 0)
        return TABLE_BAD;
    return strcmp(state, "unknown") == 0 ? TABLE_DIM : TABLE_WARN;
}

static bool is_in(const json_t *list, const char *word)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (json_is_string(item) && strcmp(json_string_value(item), word) == 0)
            return true;
    }
    return false;
}

/* "A* B-": by A goes the traffic, B is dead. */
const char *cmd_legs_marks(const json_t *vm, char out[16])
{
    static const char *const fabrics[HF_FABRICS_MAX] = {"a", "b"};
    const json_t *legs = json_object_get(vm, "legs");
    bool is_told = json_array_size(json_object_get(legs, "has")) > 0;
    size_t at = 0;

    out[0] = '\0';
    for (size_t f = 0; f < HF_FABRICS_MAX; f++) {
        const char *name = fabrics[f], *mark = "";

        if (!is_in(json_object_get(legs, "needs"), name) &&
            !is_in(json_object_get(legs, "has"), name))
            continue;
        if (is_in(json_object_get(legs, "dead"), name))
            mark = "-";
        else if (!is_told)
            mark = "?";
        else if (strcmp(cmd_str(legs, "active"), name) == 0)
            mark = "*";
        at += (size_t)snprintf(out + at, 16 - at, "%s%c%s", at > 0 ? " " : "",
                               toupper((unsigned char)name[0]), mark);
    }
    return out;
}

enum table_style cmd_legs_style(const json_t *vm)
{
    const json_t *legs = json_object_get(vm, "legs");
    size_t dead = json_array_size(json_object_get(legs, "dead"));

    if (dead == 0)
        return TABLE_PLAIN;
    return dead == json_array_size(json_object_get(legs, "needs")) ? TABLE_BAD : TABLE_WARN;
}

/* "A up  B DOWN": what is wrong is louder than what is not. */
void cmd_put_fabrics(struct table *table, const json_t *node)
{
    const json_t *fabric;
    enum table_style worst = TABLE_PLAIN;
    char text[64] = "";
    size_t i, at = 0;

    json_array_foreach(json_object_get(node, "fabrics"), i, fabric)
    {
        const char *state = cmd_str(fabric, "state"), *letter = cmd_str(fabric, "fabric");
        enum table_style style = cmd_pf_style(state);
        int len;

        if (i == HF_FABRICS_MAX)
            break; /* a daemon of another version: so much fits */
        len = snprintf(text + at, sizeof text - at, "%s%c ", at > 0 ? "  " : "",
                       toupper((unsigned char)letter[0]));
        at += len > 0 ? (size_t)len : 0;
        for (size_t end = at + 16; *state != '\0' && at < end; state++)
            text[at++] = (char)(style == TABLE_BAD ? toupper((unsigned char)*state) : *state);
        text[at] = '\0';
        if (style == TABLE_BAD || (style == TABLE_WARN && worst != TABLE_BAD))
            worst = style;
    }
    table_cell(table, worst, "%s", text);
}

bool cmd_has_fabrics(const json_t *status)
{
    const json_t *node;
    size_t i;

    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        if (json_array_size(json_object_get(node, "fabrics")) > 0)
            return true;
    }
    return false;
}

/* "3.2 ms"; "-": it never was. */
static void us_text(const json_t *flip, const char *key, char out[24])
{
    const json_t *us = json_object_get(flip, key);

    if (json_is_integer(us))
        (void)snprintf(out, 24, "%.1f ms", (double)json_integer_value(us) / 1000.0);
    else
        (void)snprintf(out, 24, "-");
}

/* ---- the cards ---- */

static void put_counts(struct table *table, const json_t *pf)
{
    if (!json_is_object(pf)) {
        for (unsigned i = 0; i < 6; i++)
            table_cell(table, TABLE_DIM, "-");
        return;
    }
    table_cell(table, TABLE_PLAIN, "%s", cmd_str(pf, "driver"));
    table_cell(table, cmd_int(pf, "vfs_without_driver") > 0 ? TABLE_WARN : TABLE_PLAIN, "%d",
               (int)cmd_int(pf, "vfs"));
    if (cmd_int(pf, "bfd_peers") > 0)
        table_cell(table,
                   cmd_int(pf, "bfd_up") < cmd_int(pf, "bfd_peers") ? TABLE_WARN : TABLE_PLAIN,
                   "%d/%d", (int)cmd_int(pf, "bfd_up"), (int)cmd_int(pf, "bfd_peers"));
    else
        table_cell(table, TABLE_DIM, "-");
    table_cell(table, TABLE_PLAIN, "%lld", (long long)cmd_int(pf, "carrier_downs"));
    table_cell(table, TABLE_PLAIN, "%lld/%lld", (long long)cmd_int(pf, "aer_errors"),
               (long long)cmd_int(pf, "resets"));
    table_cell(table, TABLE_PLAIN, "%lld ms", (long long)cmd_int(pf, "rtnl_ms"));
}

static void put_remark(struct table *table, const json_t *fabric)
{
    const json_t *pf = json_object_get(fabric, "pf");
    int64_t hold_ms = cmd_int(pf, "hold_ms"), without = cmd_int(pf, "vfs_without_driver");
    char text[256], age[24];

    (void)snprintf(text, sizeof text, "%s", cmd_str(fabric, "cause_text"));
    if (hold_ms > 0) {
        cmd_age(hold_ms, age);
        (void)snprintf(text, sizeof text, "%s; held for another %s", cmd_str(fabric, "cause_text"),
                       age);
    }
    if (without > 0)
        (void)snprintf(text, sizeof text, "%s%s%lld of its VFs without a driver",
                       cmd_str(fabric, "cause_text"),
                       cmd_str(fabric, "cause_text")[0] != '\0' ? "; " : "", (long long)without);
    table_cell(table, cmd_pf_style(cmd_str(fabric, "state")) == TABLE_BAD ? TABLE_BAD : TABLE_WARN,
               "%s", text);
}

static void put_fabric(struct table *table, const json_t *node, const json_t *fabric)
{
    const char *state = cmd_str(fabric, "state"), *nic = cmd_str(fabric, "nic");
    const json_t *pf = json_object_get(fabric, "pf");
    char age[24] = "-";

    if (json_is_integer(json_object_get(fabric, "since_ms")))
        cmd_age(cmd_int(fabric, "since_ms"), age);
    if (nic[0] == '\0' || cmd_str(pf, "name")[0] != '\0')
        nic = cmd_str(pf, "name");
    table_cell(table, TABLE_BOLD, "%s", cmd_str(node, "name"));
    table_cell(table, TABLE_BOLD, "%s", cmd_str(fabric, "fabric"));
    table_cell(table, nic[0] != '\0' ? TABLE_PLAIN : TABLE_DIM, "%s", nic[0] != '\0' ? nic : "-");
    table_cell(table, cmd_pf_style(state), "%s", state);
    table_cell(table, TABLE_PLAIN, "%s", age);
    put_counts(table, pf);
    put_remark(table, fabric);
}

static bool is_asked(const struct cmd *cmd, const char *node)
{
    return cmd->words_count == 0 || strcmp(cmd->words[0], node) == 0;
}

static void print_fabrics(const struct cmd *cmd, const json_t *status)
{
    struct table *table = table_open(cmd->look);
    const json_t *node, *fabric;
    size_t i, k;

    if (table == NULL)
        return;
    table_column(table, "NICS", TABLE_CUT, 0);
    table_column(table, "fabric", TABLE_LEFT, 0);
    table_column(table, "PF", TABLE_LEFT, 0);
    table_column(table, "state", TABLE_LEFT, 0);
    table_column(table, "since", TABLE_RIGHT, 1);
    table_column(table, "driver", TABLE_LEFT, 5);
    table_column(table, "VFs", TABLE_RIGHT, 3);
    table_column(table, "BFD", TABLE_RIGHT, 2);
    table_column(table, "losses", TABLE_RIGHT, 6);
    table_column(table, "AER/resets", TABLE_RIGHT, 7);
    table_column(table, "RTNL", TABLE_RIGHT, 8);
    table_column(table, "", TABLE_WRAP, 0);
    json_array_foreach(json_object_get(status, "nodes"), i, node)
    {
        if (!is_asked(cmd, cmd_str(node, "name")))
            continue;
        json_array_foreach(json_object_get(node, "fabrics"), k, fabric)
        {
            put_fabric(table, node, fabric);
        }
    }
    table_print(table, true, stdout);
    table_close(table);
    table_styled(stdout, &cmd->look, TABLE_DIM,
                 "Drivers, BFD and counters are those of %s; of other nodes ask there.",
                 cmd_str(status, "node"));
    (void)fputc('\n', stdout);
}

/* ---- legs ---- */

static void kinds_text(const json_t *legs, char *out, size_t cap)
{
    const json_t *kinds = json_object_get(legs, "kinds");
    const char *a = cmd_str(kinds, "a"), *b = cmd_str(kinds, "b");
    bool is_same = strcmp(a, b) == 0;

    (void)snprintf(out, cap, "%s%s%s", a, a[0] != '\0' && b[0] != '\0' && !is_same ? " + " : "",
                   is_same ? "" : b);
}

static void put_legs(struct table *table, const json_t *vm)
{
    const json_t *legs = json_object_get(vm, "legs");
    const json_t *helper = json_object_get(legs, "helper");
    const char *why = cmd_str(legs, "why_text"), *node = cmd_str(vm, "node");
    char marks[16], kinds[32];

    kinds_text(legs, kinds, sizeof kinds);
    table_cell(table, TABLE_BOLD, "%s", cmd_str(vm, "name"));
    table_cell(table, TABLE_PLAIN, "%s", node[0] != '\0' ? node : "-");
    table_cell(table, cmd_legs_style(vm), "%s", cmd_legs_marks(vm, marks));
    table_cell(table, kinds[0] != '\0' ? TABLE_PLAIN : TABLE_DIM, "%s",
               kinds[0] != '\0' ? kinds : "-");
    table_cell(table, json_is_boolean(helper) ? TABLE_PLAIN : TABLE_DIM, "%s",
               json_is_true(helper)    ? "yes"
               : json_is_false(helper) ? "no"
                                       : "-");
    table_cell(table, cmd_legs_style(vm), "%s",
               why[0] != '\0'             ? why
               : cmd_true(vm, "degraded") ? "no spare: the next failure cuts it off"
                                          : "");
}

static void print_legs(const struct cmd *cmd, const json_t *status)
{
    struct table *table = table_open(cmd->look);
    const json_t *vm;
    size_t i, shown = 0;

    if (table == NULL)
        return;
    table_column(table, "VM", TABLE_CUT, 0);
    table_column(table, "node", TABLE_CUT, 0);
    table_column(table, "legs", TABLE_LEFT, 0);
    table_column(table, "kind", TABLE_LEFT, 2);
    table_column(table, "helper", TABLE_LEFT, 3);
    table_column(table, "", TABLE_WRAP, 1);
    json_array_foreach(json_object_get(status, "vms"), i, vm)
    {
        if (!json_is_object(json_object_get(vm, "legs")) || !is_asked(cmd, cmd_str(vm, "node")))
            continue;
        put_legs(table, vm);
        shown++;
    }
    (void)fputc('\n', stdout);
    if (shown > 0) {
        table_print(table, true, stdout);
        table_styled(stdout, &cmd->look, TABLE_DIM,
                     "* carries the traffic   - dead   ? not known here");
        (void)fputc('\n', stdout);
    } else {
        (void)printf("No VM%s%s has legs.\n", cmd->words_count > 0 ? " on " : "",
                     cmd->words_count > 0 ? cmd->words[0] : "");
    }
    table_close(table);
}

/* ---- flips ---- */

static enum table_style outcome_style(const char *outcome)
{
    if (strcmp(outcome, "failed") == 0)
        return TABLE_BAD;
    return strcmp(outcome, "unknown") == 0 ? TABLE_WARN : TABLE_GOOD;
}

/* "A -> B" */
static void put_way(const struct cmd *cmd, struct table *table, const json_t *flip)
{
    const char *from = cmd_str(flip, "from"), *to = cmd_str(flip, "to");

    table_cell(
        table, TABLE_PLAIN, "%c %s %c", from[0] != '\0' ? toupper((unsigned char)*from) : '?',
        cmd->look.is_ascii ? "->" : "\u2192", to[0] != '\0' ? toupper((unsigned char)*to) : '?');
}

static void put_flip(const struct cmd *cmd, struct table *table, const json_t *status,
                     const json_t *flip)
{
    const char *first = cmd_str(flip, "first_sign");
    char clock[40], judged[24], ordered[24], confirmed[24];

    cmd_clock(first[0] != '\0' ? first : cmd_str(flip, "time"), cmd_str(status, "now"), true,
              clock);
    us_text(flip, "judged_us", judged);
    us_text(flip, "ordered_us", ordered);
    us_text(flip, "confirmed_us", confirmed);
    table_cell(table, TABLE_DIM, "%s", clock);
    table_cell(table, TABLE_BOLD, "%s", cmd_str(flip, "name"));
    table_cell(table, TABLE_PLAIN, "%s", cmd_str(flip, "node"));
    put_way(cmd, table, flip);
    table_cell(table, outcome_style(cmd_str(flip, "outcome")), "%s", cmd_str(flip, "outcome"));
    table_cell(table, TABLE_PLAIN, "%s", judged);
    table_cell(table, TABLE_PLAIN, "%s", ordered);
    table_cell(table, TABLE_PLAIN, "%s", confirmed);
    table_cell(table, TABLE_PLAIN, "%s", cmd_str(flip, "method"));
    table_cell(table, TABLE_PLAIN, "%s", cmd_str(flip, "cause"));
}

static void print_flips(const struct cmd *cmd, const json_t *status)
{
    const json_t *flips = json_object_get(status, "flips"), *flip;
    struct table *table = table_open(cmd->look);
    size_t i, shown = 0;

    if (table == NULL)
        return;
    table_column(table, "FLIPS", TABLE_LEFT, 0);
    table_column(table, "VM", TABLE_CUT, 0);
    table_column(table, "node", TABLE_CUT, 1);
    table_column(table, "way", TABLE_LEFT, 0);
    table_column(table, "outcome", TABLE_LEFT, 0);
    table_column(table, "judged", TABLE_RIGHT, 6);
    table_column(table, "ordered", TABLE_RIGHT, 3);
    table_column(table, "confirmed", TABLE_RIGHT, 2);
    table_column(table, "by", TABLE_LEFT, 5);
    table_column(table, "cause", TABLE_LEFT, 4);
    json_array_foreach(flips, i, flip)
    {
        if (!is_asked(cmd, cmd_str(flip, "node")))
            continue;
        put_flip(cmd, table, status, flip);
        shown++;
    }
    (void)fputc('\n', stdout);
    if (shown > 0)
        table_print(table, true, stdout);
    else
        (void)puts("No flip since this node's daemon started.");
    table_close(table);
}

/* ---- the command ---- */

/* Parts of an object, by name. */
static json_t *cut(const json_t *whole, const char *const *keys)
{
    json_t *part = json_object();

    for (; *keys != NULL; keys++)
        (void)json_object_set(part, *keys, json_object_get(whole, *keys));
    return part;
}

static void print_json(const struct cmd *cmd, const json_t *status)
{
    static const char *const head[] = {"version", "now", "node", NULL};
    static const char *const of_node[] = {"name", "state", "fabrics", NULL};
    static const char *const of_vm[] = {"name", "uid", "state", "node", "degraded", "legs", NULL};
    json_t *answer = cut(status, head), *nodes = json_array(), *vms = json_array(),
           *flips = json_array(), *needs = json_array();
    const json_t *entry;
    size_t i;

    json_array_foreach(json_object_get(status, "nodes"), i, entry)
    {
        if (is_asked(cmd, cmd_str(entry, "name")))
            (void)json_array_append_new(nodes, cut(entry, of_node));
    }
    json_array_foreach(json_object_get(status, "vms"), i, entry)
    {
        if (json_is_object(json_object_get(entry, "legs")) && is_asked(cmd, cmd_str(entry, "node")))
            (void)json_array_append_new(vms, cut(entry, of_vm));
    }
    json_array_foreach(json_object_get(status, "flips"), i, entry)
    {
        if (is_asked(cmd, cmd_str(entry, "node")))
            (void)json_array_append(flips, (json_t *)(uintptr_t)entry);
    }
    json_array_foreach(json_object_get(status, "needs"), i, entry)
    {
        if (json_is_string(json_object_get(entry, "fabric")) &&
            is_asked(cmd, cmd_str(entry, "name")))
            (void)json_array_append(needs, (json_t *)(uintptr_t)entry);
    }
    (void)json_object_set_new(answer, "nodes", nodes);
    (void)json_object_set_new(answer, "vms", vms);
    (void)json_object_set_new(answer, "flips", flips);
    (void)json_object_set_new(answer, "needs", needs);
    cmd_print_json(answer);
    json_decref(answer);
}

int cmd_nics(const struct cmd *cmd)
{
    struct hf_ctl_request request;
    enum hf_ctl_status code;
    json_t *status;

    memset(&request, 0, sizeof request);
    request.verb = HF_CTL_STATUS;
    code = cmd_ask(cmd, &request, &status);
    if (code != HF_CTL_OK)
        return (int)code;
    if (cmd->words_count > 0 && cmd_named(status, "nodes", cmd->words[0]) == NULL) {
        cmd_say("there is no node '%s', see: holdfast nodes", cmd->words[0]);
        code = HF_CTL_REFUSED;
    } else if (cmd->is_json) {
        print_json(cmd, status);
    } else if (!cmd_has_fabrics(status)) {
        (void)puts("No node names a NIC: nic_a and nic_b in the cluster file.");
    } else {
        print_fabrics(cmd, status);
        print_legs(cmd, status);
        print_flips(cmd, status);
        cmd_print_needs(cmd, status, cmd->words_count > 0 ? cmd->words[0] : "", true);
    }
    json_decref(status);
    return (int)code;
}

/* ---- failback ---- */

/* The leg it is on now decides where to, unless --to does. False: printed. */
static bool choose_leg(const struct cmd *cmd, const json_t *vm, hf_fabric *to, bool *is_there)
{
    const char *active = cmd_str(json_object_get(vm, "legs"), "active");
    hf_legs wanted = 0;

    *is_there = false;
    if (cmd->to != NULL && (!cmd_legs_read(cmd->to, &wanted) || (wanted != 1 && wanted != 2))) {
        cmd_say("--to '%s' is no leg: write a or b", cmd->to);
        return false;
    }
    if (cmd->to == NULL && active[0] == '\0') {
        cmd_say("by which leg the traffic of %s goes is not known: say --to a or --to b",
                cmd->words[0]);
        return false;
    }
    *to = (hf_fabric)(cmd->to != NULL ? wanted == 2 : strcmp(active, "a") == 0);
    *is_there = active[0] != '\0' && active[0] - 'a' == *to;
    return true;
}

static void print_flipped(const struct cmd *cmd, const json_t *answer)
{
    const json_t *flip = json_object_get(answer, "flip");
    char confirmed[24];

    us_text(flip, "confirmed_us", confirmed);
    if (cmd->is_json)
        cmd_print_json(answer);
    else
        (void)printf("%s: traffic to leg %s: %s%s%s (%s)\n", cmd->words[0], cmd_str(flip, "to"),
                     cmd_str(flip, "outcome"), confirmed[0] != '-' ? " after " : "",
                     confirmed[0] != '-' ? confirmed : "", cmd_str(flip, "method"));
}

static bool is_flipped(const json_t *answer)
{
    const char *outcome = cmd_str(json_object_get(answer, "flip"), "outcome");

    return strcmp(outcome, "flipped") == 0 || strcmp(outcome, "already there") == 0;
}

static enum hf_ctl_status order_flip(const struct cmd *cmd, struct cmd_link *link, hf_fabric to)
{
    struct hf_ctl_request request;
    json_t *answer = NULL;
    enum hf_ctl_status status;

    memset(&request, 0, sizeof request);
    request.verb = HF_CTL_FAILBACK;
    request.fabric = to;
    (void)hf_str_copy(request.vm, sizeof request.vm, cmd->words[0]);
    status = cmd_link_ask(link, &request, -1, FLIP_MS, &answer);
    if (status == HF_CTL_OK) {
        print_flipped(cmd, answer);
        status = is_flipped(answer) ? HF_CTL_OK : HF_CTL_REFUSED;
    } else if (answer != NULL) {
        cmd_refusal(cmd, status, answer);
    }
    json_decref(answer);
    return status;
}

static enum hf_ctl_status failback(const struct cmd *cmd, struct cmd_link *link)
{
    json_t *picture = NULL;
    enum hf_ctl_status status = cmd_status_ask(link, &picture);
    const json_t *vm = cmd_named(picture, "vms", cmd->words[0]);
    bool is_there = false;
    hf_fabric to = 0;
    char what[256];

    if (status == HF_CTL_OK && vm == NULL) {
        cmd_say("there is no vm '%s', see: holdfast vms", cmd->words[0]);
        status = HF_CTL_REFUSED;
    } else if (status == HF_CTL_OK && !choose_leg(cmd, vm, &to, &is_there)) {
        status = HF_CTL_USAGE;
    } else if (status == HF_CTL_OK && is_there) {
        (void)printf("%s: its traffic goes by leg %c already\n", cmd->words[0], 'a' + to);
    } else if (status == HF_CTL_OK) {
        (void)snprintf(what, sizeof what,
                       "This moves the traffic of %s to leg %c: a gap of some milliseconds to a "
                       "tenth of a second, as in any flip.",
                       cmd->words[0], 'a' + to);
        if (cmd->is_yes || cmd_ask_name(cmd, what, "--yes"))
            status = order_flip(cmd, link, to);
        else
            status = HF_CTL_USAGE;
    }
    json_decref(picture);
    return status;
}

int cmd_nics_failback(const struct cmd *cmd)
{
    struct cmd_link link;
    enum hf_ctl_status status = cmd_link_open(&link, cmd->socket);

    if (status != HF_CTL_OK)
        return (int)status;
    status = failback(cmd, &link);
    cmd_link_close(&link);
    return (int)status;
}
