#include "supervisord/ctl/cmd.h"

#include "supervisord/base/digest.h"
#include "supervisord/config/config.h"

#include <stdlib.h>
#include <string.h>

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

int cmd_config_check(const struct cmd *cmd)
{
    struct hf_config *config = load(cmd);
    char hex[65];

    if (config == NULL)
        return HF_CTL_USAGE;
    hf_digest_hex(&config->group.config, hex);
    if (cmd->is_json) {
        json_t *answer = json_pack("{s:i, s:s, s:b, s:s, s:i, s:s}", "version", 1, "file",
                                   file_of(cmd), "good", 1, "group", config->group.name,
                                   "nodes_count", config->group.nodes_count, "digest", hex);

        cmd_print_json(answer);
        json_decref(answer);
    } else {
        (void)printf("%s is good: group %s, %d nodes, digest %.12s\n", file_of(cmd),
                     config->group.name, config->group.nodes_count, hex);
    }
    free(config);
    return HF_CTL_OK;
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
