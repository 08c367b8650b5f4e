#include "supervisord/ctl/cmd.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* `status` lists every VM of a small group; of a large one only those that are not as they should
 * be, because the answer to "is anything wrong" must fit a screen. */
enum { VMS_SHOWN = 12 };

static void put_age(struct table *table, const json_t *entry)
{
    char age[24];

    if (!json_is_integer(json_object_get(entry, "since_ms"))) {
        table_cell(table, TABLE_DIM, "-");
        return;
    }
    cmd_age(cmd_int(entry, "since_ms"), age);
    table_cell(table, TABLE_PLAIN, "%s%s", cmd_true(entry, "since_exact") ? "" : "> ", age);
}

/* ---- the first line ---- */

static void print_head(const struct cmd *cmd, const json_t *status)
{
    const json_t *group = json_object_get(status, "group");
    const struct table_look *look = &cmd->look;
    bool is_quorate = cmd_true(group, "quorate");

    table_styled(stdout, look, TABLE_BOLD, "%s", cmd_str(group, "name"));
    (void)fputs("   ", stdout);
    if (json_object_get(group, "nodes_count") == NULL)
        table_styled(stdout, look, TABLE_BAD, "no state (%s)", cmd_str(group, "phase"));
    else if (is_quorate)
        table_styled(stdout, look, TABLE_GOOD, "quorate %d/%d",
                     (int)cmd_int(group, "present_count"), (int)cmd_int(group, "nodes_count"));
    else
        table_styled(stdout, look, TABLE_BAD, "NOT QUORATE (%s)", cmd_str(group, "phase"));
    if (json_object_get(group, "armed") != NULL) {
        (void)fputs("   ", stdout);
        if (cmd_true(group, "armed"))
            table_styled(stdout, look, TABLE_GOOD, "armed");
        else
            table_styled(stdout, look, TABLE_WARN, "DISARMED");
        if (cmd_true(group, "storm"))
            table_styled(stdout, look, TABLE_BAD, "   FENCING STORM, HELD");
        if (cmd_true(group, "startup_grace"))
            table_styled(stdout, look, TABLE_WARN, "   start-up grace");
        (void)printf("   epoch %d", (int)cmd_int(group, "epoch"));
    }
    table_styled(stdout, look, TABLE_DIM, "   seen from %s", cmd_str(status, "node"));
    (void)fputc('\n', stdout);
}

/* ---- nodes ---- */

static void put_memory(struct table *table, const json_t *node)
{
    char free_text[24], total_text[24];

    if (cmd_int(node, "memory_mib") == 0 || !cmd_true(node, "present")) {
        table_cell(table, TABLE_DIM, "-"); /* nothing can be placed there */
        return;
    }
    cmd_mib((uint64_t)cmd_int(node, "free_mib"), free_text);
    cmd_mib((uint64_t)cmd_int(node, "memory_mib"), total_text);
    table_cell(table, TABLE_PLAIN, "%s of %s", free_text, total_text);
}

/* What a reader must know beside the state, shortest first; "" when all is well. */
static void put_remarks(struct table *table, const json_t *node)
{
    const json_t *fencing = json_object_get(node, "fencing");
    const json_t *watchdog = json_object_get(node, "watchdog");
    bool is_member = strcmp(cmd_str(node, "state"), "member") == 0;
    char text[256];

    (void)snprintf(text, sizeof text, "%s%s%s%s%s%s%s%s",
                   cmd_true(node, "left")      ? "left in order  "
                   : cmd_true(node, "leaving") ? "leaving  "
                                               : "",
                   json_is_object(json_object_get(node, "hold")) ? "on hold  " : "",
                   cmd_true(node, "passive")    ? "passive  "
                   : cmd_true(node, "settling") ? "settling  "
                                                : "",
                   cmd_true(watchdog, "safe_time_runs") ? "watchdog time runs  " : "",
                   cmd_true(node, "maintenance") ? "maintenance  " : "",
                   is_member && !cmd_true(node, "vm_watch") ? "VM monitor silent  " : "",
                   is_member && !cmd_true(node, "link_fit") ? "link unfit  " : "",
                   is_member && !cmd_true(node, "config_same") ? "file differs  " : "");
    if (json_is_object(fencing))
        (void)snprintf(text, sizeof text, "fenced by %s, level %d, %d failed",
                       json_is_string(json_object_get(fencing, "actor")) ? cmd_str(fencing, "actor")
                                                                         : "nobody yet",
                       (int)cmd_int(fencing, "level"), (int)cmd_int(fencing, "attempts"));
    else if (json_is_string(json_object_get(node, "proof")) && !is_member)
        (void)snprintf(text, sizeof text, "proof: %s", cmd_str(node, "proof"));
    table_cell(table, TABLE_WARN, "%s", text);
}

/* Ways are listed until the text is full; the first ones are the ones that are gone first. */
__attribute__((format(printf, 3, 4))) static void add_way(char *text, size_t cap,
                                                          const char *format, ...)
{
    size_t at = strlen(text);
    va_list args;

    if (at > 0 && at + 3 < cap) {
        memcpy(text + at, " / ", 4);
        at += 3;
    }
    va_start(args, format);
    (void)vsnprintf(text + at, cap - at, format, args);
    va_end(args);
}

/* "bmc-n2 1.2 s": the device answered so fast when it was last tried from here. */
static bool add_path(char *text, size_t cap, const json_t *path)
{
    const json_t *device = json_array_get(json_object_get(path, "devices"), 0);
    size_t more = json_array_size(json_object_get(path, "devices"));
    const char *verdict = cmd_str(path, "path");
    bool is_ok = strcmp(verdict, "ok") == 0;
    char name[HF_NAME_MAX + 16];

    if (json_is_string(device))
        (void)snprintf(name, sizeof name, "%s%s", json_string_value(device), more > 1 ? "+" : "");
    else
        (void)snprintf(name, sizeof name, "level %d", (int)cmd_int(path, "level"));
    if (is_ok && json_is_integer(json_object_get(path, "took_ms")))
        add_way(text, cap, "%s %.1f s", name, (double)cmd_int(path, "took_ms") / 1000.0);
    else if (is_ok)
        add_way(text, cap, "%s", name);
    else
        add_way(text, cap, "%s (%s)", name,
                strcmp(verdict, "unknown") == 0 ? "not tried" : verdict);
    return is_ok || strcmp(verdict, "unknown") == 0;
}

/* How it could be proved dead right now, and how long that takes. */
static void put_ways(struct table *table, const json_t *node)
{
    const json_t *watchdog = json_object_get(node, "watchdog"), *path;
    const char *state = cmd_str(watchdog, "state");
    bool is_well = true;
    char text[512] = "";
    size_t i;

    json_array_foreach(json_object_get(node, "fence_paths"), i, path)
    {
        is_well = add_path(text, sizeof text, path) && is_well;
    }
    if (cmd_int(watchdog, "safe_ms") > 0) {
        add_way(text, sizeof text, "watchdog %.1f s",
                (double)cmd_int(watchdog, "safe_ms") / 1000.0);
    } else if (cmd_true(watchdog, "configured")) {
        add_way(text, sizeof text, "watchdog (%s)", state);
        is_well = is_well && !cmd_true(watchdog, "wanted");
    }
    if (!cmd_true(node, "can_be_fenced"))
        table_cell(table, TABLE_BAD, "cannot be fenced%s%s", text[0] != '\0' ? ": " : "", text);
    else
        table_cell(table, is_well ? TABLE_PLAIN : TABLE_WARN, "%s", text);
}

static int print_nodes(const struct cmd *cmd, const json_t *status, const char *title)
{
    const json_t *nodes = json_object_get(status, "nodes"), *node;
    struct table *table = table_open(cmd->look);
    bool has_fabrics = cmd_has_fabrics(status);
    size_t i;

    if (table == NULL)
        return HF_CTL_UNREACHABLE;
    table_column(table, title, TABLE_CUT, 0);
    table_column(table, "state", TABLE_LEFT, 0);
    table_column(table, "since", TABLE_RIGHT, 0);
    if (has_fabrics)
        table_column(table, "fabrics", TABLE_LEFT, 1);
    table_column(table, "VMs", TABLE_RIGHT, 2);
    table_column(table, "free memory", TABLE_RIGHT, 3);
    table_column(table, "cores", TABLE_RIGHT, 4);
    table_column(table, "prove dead by", TABLE_LEFT, 1);
    table_column(table, "", TABLE_WRAP, 0);
    json_array_foreach(nodes, i, node)
    {
        const char *state = cmd_str(node, "state");

        table_cell(table, TABLE_BOLD, "%s", cmd_str(node, "name"));
        table_cell(table, cmd_state_style(state), "%s", state);
        put_age(table, node);
        if (has_fabrics)
            cmd_put_fabrics(table, node);
        table_cell(table, TABLE_PLAIN, "%d", (int)cmd_int(node, "vms_running"));
        put_memory(table, node);
        table_cell(table, TABLE_PLAIN, "%d", (int)cmd_int(node, "cores"));
        put_ways(table, node);
        put_remarks(table, node);
    }
    if (json_array_size(nodes) == 0)
        (void)printf("This node has no state of the group yet.\n");
    else
        table_print(table, true, stdout);
    table_close(table);
    return HF_CTL_OK;
}

/* ---- VMs ---- */

static bool vm_is_as_wanted(const json_t *vm)
{
    return strcmp(cmd_str(vm, "state"), cmd_str(vm, "desire")) == 0;
}

/* At risk: it runs, and the next failure of a NIC is an outage. */
static const char *vm_remark(const json_t *vm)
{
    if (!cmd_true(vm, "degraded"))
        return cmd_str(vm, "why_text");
    return cmd_legs_style(vm) == TABLE_BAD ? "CUT OFF: no leg carries" : "at risk: no spare leg";
}

static void put_vm(struct table *table, const json_t *vm, bool is_brief, bool has_fabrics)
{
    const char *state = cmd_str(vm, "state"), *node = cmd_str(vm, "node");
    int failures = (int)cmd_int(vm, "failures");
    bool is_well = failures == 0 && vm_is_as_wanted(vm) && !cmd_true(vm, "degraded");
    char memory[24], marks[16];

    cmd_mib((uint64_t)cmd_int(vm, "memory_mib"), memory);
    table_cell(table, TABLE_BOLD, "%s", cmd_str(vm, "name"));
    table_cell(table, cmd_state_style(state), "%s", state);
    table_cell(table, node[0] != '\0' ? TABLE_PLAIN : TABLE_DIM, "%s",
               node[0] != '\0' ? node : "-");
    put_age(table, vm);
    if (has_fabrics)
        table_cell(table, cmd_legs_style(vm), "%s", cmd_legs_marks(vm, marks));
    table_cell(table, TABLE_PLAIN, "%s", memory);
    if (!is_brief) {
        table_cell(table, TABLE_PLAIN, "%d", (int)cmd_int(vm, "priority"));
        table_cell(table, TABLE_PLAIN, "%d", (int)cmd_int(vm, "start_no"));
        table_cell(table, failures > 0 ? TABLE_WARN : TABLE_DIM, "%d", failures);
    }
    if (is_brief && is_well)
        table_cell(table, TABLE_PLAIN, "%s", "");
    else
        table_cell(table, cmd_true(vm, "degraded") ? cmd_legs_style(vm) : TABLE_DIM, "%s",
                   vm_remark(vm));
}

/* is_brief: as `status` shows them, without figures and without reasons where all is well. */
static int print_vms(const struct cmd *cmd, const json_t *status, bool is_brief)
{
    const json_t *vms = json_object_get(status, "vms"), *vm;
    struct table *table = table_open(cmd->look);
    bool only_odd = is_brief && json_array_size(vms) > VMS_SHOWN;
    bool has_fabrics = cmd_has_fabrics(status);
    size_t i, shown = 0;

    if (table == NULL)
        return HF_CTL_UNREACHABLE;
    table_column(table, "VM", TABLE_CUT, 0);
    table_column(table, "state", TABLE_LEFT, 0);
    table_column(table, "node", TABLE_CUT, 0);
    table_column(table, "since", TABLE_RIGHT, 1);
    if (has_fabrics)
        table_column(table, "legs", TABLE_LEFT, 1);
    table_column(table, "memory", TABLE_RIGHT, 3);
    if (!is_brief) {
        table_column(table, "priority", TABLE_RIGHT, 5);
        table_column(table, "starts", TABLE_RIGHT, 4);
        table_column(table, "failures", TABLE_RIGHT, 4);
    }
    table_column(table, is_brief ? "" : "why", TABLE_WRAP, 2);
    json_array_foreach(vms, i, vm)
    {
        if (only_odd && vm_is_as_wanted(vm) && !cmd_true(vm, "degraded"))
            continue;
        put_vm(table, vm, is_brief, has_fabrics);
        shown++;
    }
    if (shown > 0)
        table_print(table, true, stdout);
    if (only_odd)
        (void)printf("%zu more are as wanted: holdfast vms\n", json_array_size(vms) - shown);
    table_close(table);
    return HF_CTL_OK;
}

/* "VMS   12 running, 1 waiting for proof, 1 held" */
static void print_vm_counts(const struct cmd *cmd, const json_t *vms)
{
    static const char *const states[] = {
        "running",     "starting", "stopping", "placing", "waiting for proof",
        "unplaceable", "failed",   "held",     "stopped"};
    const char *separator = "   ";
    const json_t *vm;
    int at_risk = 0;
    size_t i;

    table_styled(stdout, &cmd->look, TABLE_BOLD, "VMS");
    for (size_t s = 0; s < sizeof states / sizeof states[0]; s++) {
        int count = 0;

        json_array_foreach(vms, i, vm)
        {
            count += strcmp(cmd_str(vm, "state"), states[s]) == 0;
        }
        if (count == 0)
            continue;
        (void)fputs(separator, stdout);
        table_styled(stdout, &cmd->look, cmd_state_style(states[s]), "%d %s", count, states[s]);
        separator = cmd->look.is_ascii ? ", " : " \u00b7 ";
    }
    json_array_foreach(vms, i, vm)
    {
        at_risk += cmd_true(vm, "degraded");
    }
    if (at_risk > 0) {
        (void)fputs(separator, stdout);
        table_styled(stdout, &cmd->look, TABLE_WARN, "%d AT RISK", at_risk);
    }
    if (json_array_size(vms) == 0)
        (void)fputs("   none yet: holdfast vm add FILE", stdout);
    (void)fputc('\n', stdout);
}

/* ---- what needs a person ---- */

static void print_need(const struct cmd *cmd, const json_t *need, const char *now, unsigned indent)
{
    bool is_error = strcmp(cmd_str(need, "severity"), "error") == 0;
    const char *command = cmd_str(need, "command"), *since = cmd_str(need, "since");
    char age[24], clock[40];
    unsigned name_width = table_text_width(cmd_str(need, "name"));

    (void)fputs("  ", stdout);
    table_styled(stdout, &cmd->look, is_error ? TABLE_BAD : TABLE_WARN, "%s",
                 cmd_str(need, "name"));
    (void)printf("%*s", (int)(indent > name_width + 2 ? indent - name_width - 2 : 1), "");
    table_wrap(stdout, cmd_str(need, "text"), cmd->look.width, indent);
    if (since[0] == '\0' && command[0] == '\0')
        return;
    (void)printf("%*s", (int)indent, "");
    if (since[0] != '\0') {
        cmd_clock(since, now, false, clock);
        cmd_age(cmd_int(need, "since_ms"), age);
        table_styled(stdout, &cmd->look, TABLE_DIM, "since %s (%s)%s", clock, age,
                     command[0] != '\0' ? "   " : "");
    }
    table_styled(stdout, &cmd->look, TABLE_BOLD, "%s", command);
    (void)fputc('\n', stdout);
}

static bool is_shown(const json_t *need, const char *name, bool nics_only)
{
    return (name[0] == '\0' || strcmp(cmd_str(need, "name"), name) == 0) &&
           (!nics_only || json_is_string(json_object_get(need, "fabric")));
}

void cmd_print_needs(const struct cmd *cmd, const json_t *status, const char *name, bool nics_only)
{
    const json_t *needs = json_object_get(status, "needs"), *need;
    unsigned indent = 6;
    size_t i, shown = 0;

    json_array_foreach(needs, i, need)
    {
        shown += is_shown(need, name, nics_only);
    }
    if (shown == 0 && nics_only)
        return;
    if (shown == 0) {
        table_styled(stdout, &cmd->look, TABLE_GOOD, "Nothing needs you.");
        (void)fputc('\n', stdout);
        return;
    }
    json_array_foreach(needs, i, need)
    {
        unsigned width = table_text_width(cmd_str(need, "name")) + 4;

        if (width > indent)
            indent = width;
    }
    if (indent > 24)
        indent = 24;
    if (nics_only)
        (void)fputc('\n', stdout);
    table_styled(stdout, &cmd->look, TABLE_BOLD, "NEEDS YOU");
    (void)fputc('\n', stdout);
    json_array_foreach(needs, i, need)
    {
        if (is_shown(need, name, nics_only))
            print_need(cmd, need, cmd_str(status, "now"), indent);
    }
}

/* ---- commands ---- */

static enum hf_ctl_status get_status(const struct cmd *cmd, json_t **status)
{
    struct hf_ctl_request request;

    memset(&request, 0, sizeof request);
    request.verb = HF_CTL_STATUS;
    return cmd_ask(cmd, &request, status);
}

int cmd_status(const struct cmd *cmd)
{
    json_t *status;
    enum hf_ctl_status code = get_status(cmd, &status);
    const json_t *vms;

    if (code != HF_CTL_OK)
        return (int)code;
    if (cmd->is_json) {
        cmd_print_json(status);
    } else {
        vms = json_object_get(status, "vms");
        print_head(cmd, status);
        (void)fputc('\n', stdout);
        (void)print_nodes(cmd, status, "NODES");
        (void)fputc('\n', stdout);
        if (json_array_size(json_object_get(status, "nodes")) > 0) { /* it has a state */
            print_vm_counts(cmd, vms);
            (void)print_vms(cmd, status, true);
            (void)fputc('\n', stdout);
        }
        cmd_print_needs(cmd, status, "", false);
    }
    json_decref(status);
    return HF_CTL_OK;
}

/* A part of the status document, with the words that date it. */
static void print_part(const json_t *status, const char *part)
{
    json_t *cut = json_object();

    (void)json_object_set(cut, "version", json_object_get(status, "version"));
    (void)json_object_set(cut, "now", json_object_get(status, "now"));
    (void)json_object_set(cut, "node", json_object_get(status, "node"));
    (void)json_object_set(cut, part, json_object_get(status, part));
    cmd_print_json(cut);
    json_decref(cut);
}

int cmd_nodes(const struct cmd *cmd)
{
    json_t *status;
    enum hf_ctl_status code = get_status(cmd, &status);

    if (code != HF_CTL_OK)
        return (int)code;
    if (cmd->is_json)
        print_part(status, "nodes");
    else
        code = (enum hf_ctl_status)print_nodes(cmd, status, "node");
    json_decref(status);
    return (int)code;
}

int cmd_vms(const struct cmd *cmd)
{
    json_t *status;
    enum hf_ctl_status code = get_status(cmd, &status);

    if (code != HF_CTL_OK)
        return (int)code;
    if (cmd->is_json)
        print_part(status, "vms");
    else if (json_array_size(json_object_get(status, "vms")) == 0)
        (void)puts("No VMs yet. Add one: holdfast vm add FILE");
    else
        code = (enum hf_ctl_status)print_vms(cmd, status, false);
    json_decref(status);
    return (int)code;
}
