#include "supervisord/ctl/cmd.h"

#include "supervisord/base/clock.h"
#include "supervisord/base/str.h"
#include "supervisord/report/history.h"

#include <stdlib.h>
#include <string.h>

/* ---- one event as words ---- */

/* "running -> waiting for proof", "fence-running", "vm-start applied" */
static void event_what(const json_t *event, bool is_ascii, char *out, size_t cap)
{
    const char *kind = cmd_str(event, "kind"), *was = cmd_str(event, "was"),
               *now = cmd_str(event, "now");

    if (strcmp(kind, "change") == 0 && strcmp(was, now) != 0)
        (void)snprintf(out, cap, "%s %s %s", was, is_ascii ? "->" : "\u2192", now);
    else if (strcmp(kind, "change") == 0)
        (void)snprintf(out, cap, "%s", cmd_str(event, "why"));
    else if (strcmp(kind, "order") == 0)
        (void)snprintf(out, cap, "order %s", cmd_true(event, "applied") ? "applied" : "refused");
    else if (strcmp(kind, "progress") == 0)
        (void)snprintf(out, cap, "%s", cmd_str(event, "progress"));
    else if (strcmp(kind, "outcome") == 0)
        (void)snprintf(out, cap, "%s", cmd_str(event, "outcome"));
    else if (strcmp(kind, "flip") == 0)
        (void)snprintf(out, cap, "leg %s %s %s %s",
                       cmd_str(event, "from")[0] != '\0' ? cmd_str(event, "from") : "?",
                       is_ascii ? "->" : "\u2192",
                       cmd_str(event, "to")[0] != '\0' ? cmd_str(event, "to") : "?",
                       cmd_str(event, "outcome"));
    else
        (void)snprintf(out, cap, "%s", kind);
}

static enum table_style event_style(const json_t *event)
{
    const char *kind = cmd_str(event, "kind");

    if (strcmp(kind, "change") == 0)
        return cmd_state_style(cmd_str(event, "now"));
    if (strcmp(kind, "outcome") == 0 && strcmp(cmd_str(event, "outcome"), "done") != 0)
        return TABLE_BAD;
    if (strcmp(kind, "flip") == 0 && (strcmp(cmd_str(event, "outcome"), "failed") == 0 ||
                                      strcmp(cmd_str(event, "outcome"), "unknown") == 0))
        return TABLE_WARN;
    return TABLE_PLAIN;
}

static void event_tail(const json_t *event, char *out, size_t cap)
{
    const char *node = cmd_str(event, "node");
    const char *preposition = strcmp(cmd_str(event, "subject"), "node") == 0 ? "by" : "on";

    if (node[0] != '\0')
        (void)snprintf(out, cap, "%s  (%s %s)", cmd_str(event, "text"), preposition, node);
    else
        (void)snprintf(out, cap, "%s", cmd_str(event, "text"));
}

/* ---- events ---- */

static void put_padded(const struct cmd *cmd, enum table_style style, const char *text,
                       unsigned width)
{
    unsigned used = table_text_width(text);

    table_styled(stdout, &cmd->look, style, "%s", text);
    (void)printf("%*s", (int)((used < width ? width - used : 0) + 2), "");
}

/* A stream has no end to measure: fixed columns, the text cut by nobody. */
static void print_event(const struct cmd *cmd, const json_t *event)
{
    char clock[40], what[128], tail[600], now[40];

    if (json_object_get(event, "missed") != NULL) {
        table_styled(stdout, &cmd->look, TABLE_WARN, "(%d events before %d are forgotten)",
                     (int)cmd_int(event, "missed"), (int)cmd_int(event, "oldest"));
        (void)fputc('\n', stdout);
        return;
    }
    if (json_object_get(event, "kind") == NULL)
        return;
    history_wall_text(hf_clock_wall(), now);
    cmd_clock(cmd_str(event, "time"), now, true, clock);
    event_what(event, cmd->look.is_ascii, what, sizeof what);
    event_tail(event, tail, sizeof tail);
    table_styled(stdout, &cmd->look, TABLE_DIM, "%6d  %s  ", (int)cmd_int(event, "seq"), clock);
    put_padded(cmd, TABLE_BOLD, cmd_str(event, "name"), 10);
    put_padded(cmd, event_style(event), what, 27); /* "running -> waiting for proof" */
    table_styled(stdout, &cmd->look, TABLE_PLAIN, "%s", tail);
    (void)fputc('\n', stdout);
    (void)fflush(stdout);
}

int cmd_events(const struct cmd *cmd)
{
    struct hf_ctl_request request;
    struct cmd_link link;
    enum hf_ctl_status status = cmd_link_open(&link, cmd->socket);
    bool more = true;

    memset(&request, 0, sizeof request);
    request.verb = HF_CTL_EVENTS;
    request.after = cmd->after;
    request.follow = cmd->is_following;
    if (cmd->subject != NULL)
        (void)hf_str_copy(request.vm, sizeof request.vm, cmd->subject);
    if (status == HF_CTL_OK)
        status = cmd_link_send(&link, &request, -1);
    while (status == HF_CTL_OK && more) {
        json_t *record;

        status = cmd_link_next(&link, cmd->is_following ? -1 : CMD_ANSWER_MS, &record, &more);
        if (record == NULL && more && status == HF_CTL_OK) {
            cmd_say("holdfastd does not answer in time");
            status = HF_CTL_UNREACHABLE;
        } else if (record != NULL && status != HF_CTL_OK) {
            cmd_refusal(cmd, status, record);
        } else if (record != NULL && cmd->is_json) {
            cmd_print_json(record);
        } else if (record != NULL) {
            print_event(cmd, record);
        }
        json_decref(record);
        if (ferror(stdout)) /* the reader has gone */
            break;
    }
    cmd_link_close(&link);
    return (int)status;
}

/* ---- why ---- */

static void print_since(const json_t *why, const json_t *entry, bool is_exact)
{
    char clock[40] = "", age[24];

    if (cmd_str(entry, "since")[0] == '\0')
        return;
    cmd_clock(cmd_str(entry, "since"), cmd_str(why, "now"), false, clock);
    cmd_age(cmd_int(entry, "since_ms"), age);
    (void)printf(" since %s%s (%s)", is_exact ? "" : "before ", clock, age);
}

/* What its node's nicbond tells of it; other nodes know states only. Its words come from drivers
 * and from whoever sends LLDP: none goes to the terminal as it is. */
static void print_pf(const struct cmd *cmd, const json_t *pf)
{
    static const struct {
        const char *key, *before;
    } words[] = {{"driver", ""},
                 {"firmware", " firmware "},
                 {"pci", ", "},
                 {"serial", ", card "},
                 {"switch", ", switch "}};

    if (!json_is_object(pf))
        return;
    (void)fputs("  ", stdout);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (cmd_str(pf, words[i].key)[0] != '\0')
            table_styled(stdout, &cmd->look, TABLE_PLAIN, "%s%s", words[i].before,
                         cmd_str(pf, words[i].key));
    if (json_is_integer(json_object_get(pf, "numa_node")))
        (void)printf(", NUMA node %d", (int)cmd_int(pf, "numa_node"));
    (void)printf(
        "\n  VFs %d (%d without a driver)  BFD %d of %d peers up  carrier lost %lld times\n"
        "  AER errors %lld  resets %lld  RTNL %lld ms\n",
        (int)cmd_int(pf, "vfs"), (int)cmd_int(pf, "vfs_without_driver"), (int)cmd_int(pf, "bfd_up"),
        (int)cmd_int(pf, "bfd_peers"), (long long)cmd_int(pf, "carrier_downs"),
        (long long)cmd_int(pf, "aer_errors"), (long long)cmd_int(pf, "resets"),
        (long long)cmd_int(pf, "rtnl_ms"));
}

static void print_nic_head(const struct cmd *cmd, const json_t *why)
{
    const json_t *entry = json_object_get(why, "entry"), *pf = json_object_get(entry, "pf");
    const char *state = cmd_str(entry, "state"), *nic = cmd_str(entry, "nic");
    int64_t hold_ms = cmd_int(pf, "hold_ms");
    char age[24];

    table_styled(stdout, &cmd->look, TABLE_BOLD, "%s:%s", cmd_str(why, "node"),
                 cmd_str(entry, "fabric"));
    if (nic[0] != '\0')
        (void)printf(" (%s)", nic);
    (void)fputs(" is ", stdout);
    table_styled(stdout, &cmd->look, cmd_pf_style(state), "%s", state);
    print_since(why, entry, true);
    if (cmd_str(entry, "cause_text")[0] != '\0')
        (void)printf(": %s", cmd_str(entry, "cause_text"));
    if (hold_ms > 0) {
        cmd_age(hold_ms, age);
        (void)printf(", held for another %s", age);
    }
    (void)fputc('\n', stdout);
    print_pf(cmd, pf);
}

static void print_legs(const struct cmd *cmd, const json_t *vm)
{
    const json_t *legs = json_object_get(vm, "legs");
    const char *why = cmd_str(legs, "why_text");
    char marks[16];

    if (!json_is_object(legs))
        return;
    (void)fputs("  legs ", stdout);
    table_styled(stdout, &cmd->look, cmd_legs_style(vm), "%s", cmd_legs_marks(vm, marks));
    (void)fputs("  (* carries the traffic, - dead, ? not known)", stdout);
    if (why[0] != '\0')
        (void)printf(": %s", why);
    (void)fputc('\n', stdout);
}

static void print_why_head(const struct cmd *cmd, const json_t *why)
{
    const json_t *entry = json_object_get(why, "entry");
    const char *state = cmd_str(entry, "state"), *node = cmd_str(entry, "node"),
               *proof = cmd_str(entry, "proof");
    bool is_vm = strcmp(cmd_str(why, "subject"), "vm") == 0;

    table_styled(stdout, &cmd->look, TABLE_BOLD, "%s", cmd_str(entry, "name"));
    (void)fputs(" is ", stdout);
    table_styled(stdout, &cmd->look, cmd_state_style(state), "%s", state);
    if (node[0] != '\0')
        (void)printf(" on %s", node);
    print_since(why, entry, cmd_true(entry, "since_exact"));
    (void)printf(": %s", cmd_str(entry, "why_text"));
    if (is_vm)
        (void)printf(" (start %d, failures %d)", (int)cmd_int(entry, "start_no"),
                     (int)cmd_int(entry, "failures"));
    else if (proof[0] != '\0')
        (void)printf(" (last proof of death: %s)", proof);
    (void)fputc('\n', stdout);
    print_legs(cmd, entry);
}

static int print_trail(const struct cmd *cmd, const json_t *why)
{
    const json_t *trail = json_object_get(why, "trail"), *event;
    struct table *table = table_open(cmd->look);
    char clock[40], what[128], tail[600];
    size_t i;

    if (table == NULL)
        return HF_CTL_UNREACHABLE;
    table_column(table, "", TABLE_LEFT, 0);
    table_column(table, "", TABLE_CUT, 0);
    table_column(table, "", TABLE_CUT, 0);
    table_column(table, "", TABLE_WRAP, 0);
    json_array_foreach(trail, i, event)
    {
        cmd_clock(cmd_str(event, "time"), cmd_str(why, "now"), true, clock);
        event_what(event, cmd->look.is_ascii, what, sizeof what);
        event_tail(event, tail, sizeof tail);
        table_cell(table, TABLE_DIM, "%s", clock);
        table_cell(table, TABLE_BOLD, "%s", cmd_str(event, "name"));
        table_cell(table, event_style(event), "%s", what);
        table_cell(table, TABLE_PLAIN, "%s", tail);
    }
    if (json_array_size(trail) == 0)
        (void)puts("  Nothing has happened to it since this node's daemon started.");
    table_print(table, false, stdout);
    table_close(table);
    return HF_CTL_OK;
}

static int print_placement(const struct cmd *cmd, const json_t *why)
{
    const json_t *placement = json_object_get(why, "placement"), *node;
    const char *pick = cmd_str(placement, "pick");
    struct table *table;
    char need[24], memory[24];
    size_t i;

    if (!json_is_object(placement))
        return HF_CTL_OK;
    table = table_open(cmd->look);
    if (table == NULL)
        return HF_CTL_UNREACHABLE;
    cmd_mib((uint64_t)cmd_int(placement, "need_mib"), need);
    (void)fputc('\n', stdout);
    table_styled(stdout, &cmd->look, TABLE_BOLD, "If it had to be placed now (%s): %s", need,
                 pick[0] != '\0' ? pick : "no node takes it");
    (void)fputc('\n', stdout);
    table_column(table, "", TABLE_CUT, 0);
    table_column(table, "", TABLE_RIGHT, 0);
    table_column(table, "", TABLE_WRAP, 0);
    json_array_foreach(json_object_get(placement, "nodes"), i, node)
    {
        cmd_mib((uint64_t)cmd_int(node, "free_mib"), memory);
        table_cell(table, TABLE_BOLD, "%s", cmd_str(node, "name"));
        table_cell(table, TABLE_PLAIN, "%s free", memory);
        table_cell(table, cmd_true(node, "passes") ? TABLE_GOOD : TABLE_WARN, "%s",
                   cmd_str(node, "text"));
    }
    table_print(table, false, stdout);
    table_close(table);
    return HF_CTL_OK;
}

static void print_why_needs(const struct cmd *cmd, const json_t *why)
{
    const json_t *need;
    size_t i;

    json_array_foreach(json_object_get(why, "needs"), i, need)
    {
        const char *command = cmd_str(need, "command"), *text = cmd_str(need, "text");
        bool is_long = table_text_width(text) + table_text_width(command) + 3 > cmd->look.width;

        if (i == 0)
            (void)fputc('\n', stdout);
        table_styled(stdout, &cmd->look, TABLE_BAD, "%s", text);
        if (command[0] != '\0' && strncmp(command, "holdfast why ", 13) != 0) {
            (void)fputs(is_long ? "\n" : "", stdout);
            table_styled(stdout, &cmd->look, TABLE_BOLD, "   %s", command);
        }
        (void)fputc('\n', stdout);
    }
}

/* VM, NODE, PF, or NODE:a for the node's NIC in fabric a. False: printed. */
static bool read_subject(const char *word, struct hf_ctl_request *request)
{
    size_t len = strcspn(word, ":/");
    const char *fabric = word + len + (word[len] != '\0');
    bool fits = len <= HF_NAME_MAX;

    (void)hf_str_copy(request->node, sizeof request->node, word);
    request->node[fits ? len : 0] = '\0';
    if (word[len] == '\0') {
        (void)hf_str_copy(request->vm, sizeof request->vm, request->node);
        return true;
    }
    request->is_nic = strlen(fabric) == 1 && strchr("abAB", fabric[0]) != NULL;
    request->fabric = (hf_fabric)((fabric[0] | 0x20) == 'b');
    if (!request->is_nic)
        cmd_say("'%s' is no NIC: write a node and its fabric, like n1:a", word);
    return request->is_nic;
}

int cmd_why(const struct cmd *cmd)
{
    struct hf_ctl_request request;
    enum hf_ctl_status status;
    json_t *why;

    memset(&request, 0, sizeof request);
    request.verb = HF_CTL_WHY;
    if (!read_subject(cmd->words[0], &request))
        return HF_CTL_USAGE;
    status = cmd_ask(cmd, &request, &why);
    if (status != HF_CTL_OK)
        return (int)status;
    if (cmd->is_json) {
        cmd_print_json(why);
    } else {
        if (strcmp(cmd_str(why, "subject"), "nic") == 0)
            print_nic_head(cmd, why);
        else
            print_why_head(cmd, why);
        (void)print_trail(cmd, why);
        (void)print_placement(cmd, why);
        print_why_needs(cmd, why);
    }
    json_decref(why);
    return HF_CTL_OK;
}
