#include "supervisord/ctl/cmd.h"

#include "supervisord/base/digest.h"
#include "supervisord/base/str.h"
#include "supervisord/config/config.h"
#include "supervisord/ctl/cmd_cards.h"
#include "supervisord/ctl/cmd_corosync.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *file_of(const struct cmd *cmd)
{
    return cmd->words_count > 0 ? cmd->words[0] : CMD_FILE;
}

/* A configuration is too large for the stack. NULL: the reason is printed. */
static struct hf_config *load(const struct cmd *cmd)
{
    struct hf_config *config = malloc(sizeof *config);
    struct hf_err err = {HF_OK, "out of memory"};

    if (config != NULL && config_load(file_of(cmd), config, &err) == HF_OK)
        return config;
    free(config);
    if (cmd->is_json) {
        json_t *answer = json_pack("{s:i, s:s, s:b, s:s}", "version", 1, "file", file_of(cmd),
                                   "good", 0, "error", err.text);

        cmd_print_json(answer);
        json_decref(answer);
    }
    /* The parser's message begins with FILE:LINE:COL, which editors jump to: nothing before it. */
    (void)fprintf(stderr, "%s\n", err.text);
    return NULL;
}

/* What is allowed and still needs a thought. */
static json_t *warnings_json(const struct hf_config *config)
{
    json_t *warnings = json_array();

    for (uint8_t i = 0; i < config->group.nodes_count; i++)
        if (!config_can_prove_dead(config, (hf_node){i}))
            (void)json_array_append_new(
                warnings, json_sprintf("node '%s' cannot be fenced: nothing that runs there is "
                                       "ever restarted elsewhere (no fence level, no watchdog)",
                                       config->group.nodes[i].name));
    cmd_cards_warn(config, warnings);
    return warnings;
}

/* Which corosync.conf, and the running corosync with it; NULL: neither. Another cluster file than
 * the installed one may be meant for other hosts. */
static const char *corosync_file(const struct cmd *cmd)
{
    if (cmd->corosync != NULL)
        return strcmp(cmd->corosync, "no") != 0 ? cmd->corosync : NULL;
    return strcmp(file_of(cmd), CMD_FILE) == 0 ? COROSYNC_FILE : NULL;
}

/* Everything that was looked at beside the file; NULL: not asked about. */
struct looks {
    struct cmd_corosync *corosync;
    struct cmd_cards *cards;
};

static void print_check(const struct cmd *cmd, const struct hf_config *config,
                        const struct looks *looks)
{
    json_t *warnings = warnings_json(config), *warning;
    char hex[65];
    size_t i;

    hf_digest_hex(&config->group.config, hex);
    if (cmd->is_json) {
        json_t *answer =
            json_pack("{s:i, s:s, s:b, s:s, s:i, s:s, s:O}", "version", 1, "file", file_of(cmd),
                      "good", 1, "group", config->group.name, "nodes_count",
                      config->group.nodes_count, "digest", hex, "warnings", warnings);

        if (looks->corosync != NULL)
            (void)json_object_set_new(answer, "corosync", cmd_corosync_json(looks->corosync));
        if (looks->cards != NULL)
            (void)json_object_set_new(answer, "cards", cmd_cards_json(looks->cards));
        cmd_print_json(answer);
        json_decref(answer);
    } else {
        (void)printf("%s is good: group %s, %d nodes, digest %.12s\n", file_of(cmd),
                     config->group.name, config->group.nodes_count, hex);
        json_array_foreach(warnings, i, warning)(void)
            printf("warning: %s\n", json_string_value(warning));
        if (looks->corosync != NULL)
            cmd_corosync_print(looks->corosync);
        if (looks->cards != NULL)
            cmd_cards_print(looks->cards);
    }
    json_decref(warnings);
}

/* *look stays NULL when corosync is not asked about. The exit code. */
static int look_at_corosync(const struct cmd *cmd, const struct hf_config *config,
                            struct cmd_corosync **look)
{
    const char *path = corosync_file(cmd);
    struct hf_err err = {HF_OK, "out of memory"};

    *look = NULL;
    if (path == NULL)
        return HF_CTL_OK;
    *look = malloc(sizeof **look);
    if (*look != NULL && cmd_corosync_look(path, config, *look, &err)) {
        if (!(*look)->has_file && cmd->corosync != NULL)
            return HF_CTL_USAGE; /* asked for by name */
        return cmd_corosync_is_bad(*look) ? HF_CTL_REFUSED : HF_CTL_OK;
    }
    (void)fprintf(stderr, "%s\n", err.text);
    free(*look);
    *look = NULL;
    return HF_CTL_USAGE;
}

/* --node, else the one with this host's name. HF_NO_NODE: neither. */
static hf_node own_node(const struct cmd *cmd, const struct hf_config *config)
{
    char host[HOST_NAME_MAX + 1] = "";
    const char *name = cmd->node;

    if (name == NULL && gethostname(host, sizeof host - 1) == 0) {
        host[strcspn(host, ".")] = '\0';
        name = host;
    }
    for (uint8_t i = 0; name != NULL && i < config->group.nodes_count; i++)
        if (strcmp(config->group.nodes[i].name, name) == 0)
            return (hf_node){i};
    return HF_NO_NODE;
}

/* *look stays NULL when cards are not asked about: a file without any, or one that may be meant for
 * other hosts. The exit code. */
static int look_at_cards(const struct cmd *cmd, const struct hf_config *config,
                         struct cmd_cards **look)
{
    bool is_ours = strcmp(file_of(cmd), CMD_FILE) == 0 || cmd->node != NULL;
    hf_node node = own_node(cmd, config);

    *look = NULL;
    if (!hf_node_is(node) && cmd->node != NULL) {
        cmd_say("there is no node '%s' in %s", cmd->node, file_of(cmd));
        return HF_CTL_USAGE;
    }
    if (!config->nics.is_used || !is_ours)
        return HF_CTL_OK;
    if (!hf_node_is(node)) {
        cmd_say(
            "cards are not looked at: no node of %s has the name of this host. Say which one it "
            "is: --node NAME",
            file_of(cmd));
        return HF_CTL_OK;
    }
    *look = malloc(sizeof **look);
    if (*look == NULL) {
        cmd_say("out of memory");
        return HF_CTL_USAGE;
    }
    cmd_cards_look(config, node, CMD_SYS, *look);
    cmd_cards_guests(cmd, *look);
    return cmd_cards_is_bad(*look) ? HF_CTL_REFUSED : HF_CTL_OK;
}

int cmd_config_check(const struct cmd *cmd)
{
    struct hf_config *config = load(cmd);
    struct looks looks;
    int code, cards_code;

    if (config == NULL)
        return HF_CTL_USAGE;
    code = look_at_corosync(cmd, config, &looks.corosync);
    cards_code = look_at_cards(cmd, config, &looks.cards);
    print_check(cmd, config, &looks);
    free(looks.corosync);
    free(looks.cards);
    free(config);
    return code > cards_code ? code : cards_code;
}

static int show_file(const struct cmd *cmd)
{
    struct hf_config *config = load(cmd);
    char hex[65], *text;
    size_t need;

    if (config == NULL)
        return HF_CTL_USAGE;
    need = config_print(config, NULL, 0);
    text = malloc(need + 1);
    if (text == NULL) {
        free(config);
        cmd_say("out of memory");
        return HF_CTL_USAGE;
    }
    (void)config_print(config, text, need + 1);
    if (cmd->is_json) {
        json_t *answer;

        hf_digest_hex(&config->group.config, hex);
        answer = json_pack("{s:i, s:s, s:s, s:s}", "version", 1, "file", file_of(cmd), "digest",
                           hex, "text", text);
        cmd_print_json(answer);
        json_decref(answer);
    } else {
        (void)fputs(text, stdout);
    }
    free(text);
    free(config);
    return HF_CTL_OK;
}

int cmd_config_show(const struct cmd *cmd)
{
    struct hf_ctl_request request;
    enum hf_ctl_status status;
    json_t *answer;

    if (cmd->is_file || cmd->words_count > 0)
        return show_file(cmd);
    memset(&request, 0, sizeof request);
    request.verb = HF_CTL_CONFIG;
    status = cmd_ask(cmd, &request, &answer);
    if (status != HF_CTL_OK)
        return (int)status;
    if (cmd->is_json)
        cmd_print_json(answer);
    else
        (void)fputs(cmd_str(answer, "text"), stdout);
    json_decref(answer);
    return HF_CTL_OK;
}
