/* cmd_fence.c - orders about power: those that must not be typed by accident, the tests of the way
 * there, and the drill that goes it to the end. */
#include "supervisord/ctl/cmd.h"

#include "supervisord/base/clock.h"
#include "supervisord/base/str.h"

#include <string.h>

static bool is_name_typed(const struct cmd *cmd, const char *line)
{
    if (strcmp(line, cmd->words[0]) == 0)
        return true;
    cmd_say("'%s' is not '%s': nothing was done", line, cmd->words[0]);
    return false;
}

bool cmd_ask_name(const struct cmd *cmd, const char *what, const char *option)
{
    char line[HF_NAME_MAX + 2];

    if (!cmd->is_terminal) {
        cmd_say("this needs a person: type it on a terminal, or say %s", option);
        return false;
    }
    (void)fprintf(stderr, "%s\nType its name to go on: ", what);
    (void)fflush(stderr);
    if (fgets(line, sizeof line, stdin) == NULL)
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return is_name_typed(cmd, line);
}

int cmd_fence(const struct cmd *cmd)
{
    char what[256];

    (void)snprintf(what, sizeof what,
                   "This cuts the power of %s. Every VM on it goes down and is started elsewhere.",
                   cmd->words[0]);
    if (!cmd->is_yes && !cmd_ask_name(cmd, what, "--yes"))
        return HF_CTL_USAGE;
    return cmd_order_node(cmd, HF_ORDER_FENCE, 0);
}

/* No --yes here: whoever says it must have the node in mind, not the command. */
int cmd_fence_confirm(const struct cmd *cmd)
{
    char what[512];
    bool is_sure;

    if (cmd->reason == NULL || cmd->reason[0] == '\0') {
        cmd_say("say how you know: holdfast fence confirm %s --reason \"pulled both feeds\"",
                cmd->words[0]);
        return HF_CTL_USAGE;
    }
    (void)snprintf(
        what, sizeof what,
        "You tell the group that %s is OFF. Its VMs are started elsewhere at once. If it "
        "is not off, they run twice, and both send orders.",
        cmd->words[0]);
    is_sure = cmd->typed != NULL ? is_name_typed(cmd, cmd->typed)
                                 : cmd_ask_name(cmd, what, "--typed and the node's name");
    return is_sure ? cmd_order_node(cmd, HF_ORDER_CONFIRM, 0) : HF_CTL_USAGE;
}

int cmd_fence_on(const struct cmd *cmd)
{
    return cmd_order_node(cmd, HF_ORDER_POWER_ON, 0);
}

/* ---- tests without effect ---- */

/* "bmc-n2" or "pdu-a-n1, pdu-b-n1" of a level's entry in the picture. */
static void device_names(const json_t *path, char *out, size_t cap)
{
    const json_t *device;
    size_t i, at = 0;

    out[0] = '\0';
    json_array_foreach(json_object_get(path, "devices"), i, device)
    {
        int len = snprintf(out + at, cap - at, "%s%s", i == 0 ? "" : ", ",
                           json_string_value(device) != NULL ? json_string_value(device) : "?");

        at += len > 0 ? (size_t)len : 0;
        if (at >= cap)
            return;
    }
}

static enum hf_ctl_status test_level(const struct cmd *cmd, struct cmd_link *link,
                                     const json_t *path, json_t *tests, bool *is_ok)
{
    struct hf_ctl_request request;
    json_t *answer = NULL;
    enum hf_ctl_status status;

    memset(&request, 0, sizeof request);
    request.verb = HF_CTL_FENCE_TEST;
    request.level = (uint8_t)cmd_int(path, "level");
    (void)hf_str_copy(request.node, sizeof request.node, cmd->words[0]);
    status = cmd_link_ask(link, &request, -1, CMD_TEST_MS, &answer);
    if (status != HF_CTL_OK) {
        if (answer != NULL)
            cmd_refusal(cmd, status, answer);
        json_decref(answer);
        return status;
    }
    (void)json_object_set(answer, "level", json_object_get(path, "level"));
    (void)json_object_set(answer, "devices", json_object_get(path, "devices"));
    (void)json_object_del(answer, "version");
    *is_ok = *is_ok && strcmp(cmd_str(answer, "path"), "ok") == 0;
    (void)json_array_append_new(tests, answer);
    return HF_CTL_OK;
}

static void print_tests(const struct cmd *cmd, const json_t *tests)
{
    struct table *table = table_open(cmd->look);
    const json_t *one;
    size_t i;

    if (table == NULL)
        return;
    table_column(table, "level", TABLE_RIGHT, 0);
    table_column(table, "devices", TABLE_LEFT, 1);
    table_column(table, "result", TABLE_LEFT, 0);
    table_column(table, "took", TABLE_RIGHT, 0);
    table_column(table, "", TABLE_WRAP, 0);
    json_array_foreach(tests, i, one)
    {
        bool is_ok = strcmp(cmd_str(one, "path"), "ok") == 0;
        char devices[256];

        device_names(one, devices, sizeof devices);
        table_cell(table, TABLE_PLAIN, "%d", (int)cmd_int(one, "level"));
        table_cell(table, TABLE_PLAIN, "%s", devices);
        table_cell(table, is_ok ? TABLE_GOOD : TABLE_BAD, "%s", cmd_str(one, "path"));
        table_cell(table, TABLE_PLAIN, "%.1f s", (double)cmd_int(one, "took_ms") / 1000.0);
        table_cell(table, TABLE_DIM, "%s", cmd_str(one, "text"));
    }
    table_print(table, true, stdout);
    table_close(table);
}

static int test_all(const struct cmd *cmd, struct cmd_link *link, const json_t *paths)
{
    enum hf_ctl_status status = HF_CTL_OK;
    json_t *tests = json_array();
    bool is_ok = true;
    const json_t *path;
    size_t i;

    json_array_foreach(paths, i, path)
    {
        if (status == HF_CTL_OK &&
            (cmd->level == 0 || cmd_int(path, "level") == (int64_t)cmd->level))
            status = test_level(cmd, link, path, tests, &is_ok);
    }
    if (status == HF_CTL_OK && json_array_size(tests) == 0) {
        cmd_say("%s has no fence level%s", cmd->words[0], cmd->level != 0 ? " of that number" : "");
        status = HF_CTL_REFUSED;
    }
    if (json_array_size(tests) > 0 && cmd->is_json) {
        json_t *whole =
            json_pack("{s:i, s:s, s:O}", "version", 1, "node", cmd->words[0], "tests", tests);

        cmd_print_json(whole);
        json_decref(whole);
    } else if (json_array_size(tests) > 0) {
        print_tests(cmd, tests);
    }
    json_decref(tests);
    return status == HF_CTL_OK && !is_ok ? HF_CTL_REFUSED : (int)status;
}

static int no_such_node(const struct cmd *cmd)
{
    cmd_say("there is no node '%s', see: holdfast nodes", cmd->words[0]);
    return HF_CTL_REFUSED;
}

int cmd_fence_test(const struct cmd *cmd)
{
    struct cmd_link link;
    json_t *status = NULL;
    int code;

    if (cmd->is_power_cycle)
        return cmd_cycle(cmd);
    code = (int)cmd_link_open(&link, cmd->socket);
    if (code == HF_CTL_OK)
        code = (int)cmd_status_ask(&link, &status);
    if (code == HF_CTL_OK) {
        const json_t *entry = cmd_named(status, "nodes", cmd->words[0]);

        code = entry == NULL ? no_such_node(cmd)
                             : test_all(cmd, &link, json_object_get(entry, "fence_paths"));
    }
    json_decref(status);
    cmd_link_close(&link);
    return code;
}
