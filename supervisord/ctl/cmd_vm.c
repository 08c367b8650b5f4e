#include "supervisord/ctl/cmd.h"

#include "supervisord/base/str.h"
#include "supervisord/door/door.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a VM gets that says nothing else: in the middle of the priorities, two tries at home, then
 * elsewhere, five in all; a guest has half a minute to shut down. */
enum { PRIORITY = 100, RESTARTS_HERE = 2, RESTARTS_MAX = 5, STOP_GRACE_MS = 30000 };

/* Whole file, at most HF_XML_MAX bytes, "-" is stdin. NULL: printed. */
static char *read_file(const char *path, size_t *len)
{
    int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    char *bytes = malloc(HF_XML_MAX + 1);
    size_t at = 0;
    ssize_t got = -1;

    if (fd < 0 || bytes == NULL) {
        cmd_say("open %s: %s", path, strerror(errno));
        free(bytes);
        return NULL;
    }
    while (at <= HF_XML_MAX && (got = read(fd, bytes + at, HF_XML_MAX + 1 - at)) != 0) {
        if (got < 0 && errno != EINTR)
            break;
        at += got > 0 ? (size_t)got : 0;
    }
    if (got < 0)
        cmd_say("read %s: %s", path, strerror(errno));
    else if (at > HF_XML_MAX)
        cmd_say("%s: longer than %d bytes, no domain's XML is", path, HF_XML_MAX);
    if (fd != STDIN_FILENO)
        (void)close(fd);
    if (got < 0 || at > HF_XML_MAX) {
        free(bytes);
        return NULL;
    }
    *len = at;
    return bytes;
}

/* ---- options into the definition ---- */

static bool set_number(const char *option, const char *text, uint64_t max, uint64_t fallback,
                       uint64_t *out)
{
    *out = fallback;
    if (text == NULL || hf_str_to_u64(text, max, out))
        return true;
    cmd_say("--%s '%s' is not a number from 0 to %llu", option, text, (unsigned long long)max);
    return false;
}

static bool set_name(const char *option, const char *text, char out[HF_NAME_MAX + 1])
{
    if (text == NULL)
        return true;
    if (hf_str_is_name(text, HF_NAME_MAX) && hf_str_copy(out, HF_NAME_MAX + 1, text))
        return true;
    cmd_say("--%s '%s' is not a name: letters, digits, '.', '_', '-'", option, text);
    return false;
}

/* "n1,n3" */
static bool set_allowed(const char *text, char out[HF_NODES_MAX][HF_NAME_MAX + 1])
{
    unsigned count = 0;

    while (text != NULL && *text != '\0') {
        size_t len = strcspn(text, ",");
        char name[HF_NAME_MAX + 1];

        if (count == HF_NODES_MAX || len > HF_NAME_MAX) {
            cmd_say("--allowed takes at most %d node names", HF_NODES_MAX);
            return false;
        }
        memcpy(name, text, len);
        name[len] = '\0';
        if (!set_name("allowed", name, out[count++]))
            return false;
        text += len + (text[len] == ',' ? 1 : 0);
    }
    return true;
}

static bool set_def(const struct cmd *cmd, const struct cmd_domain *domain,
                    struct hf_ctl_request *request)
{
    struct hf_vm_def *def = &request->order.def;
    uint64_t priority, here, most, grace = STOP_GRACE_MS;

    (void)hf_str_copy(def->name, sizeof def->name, domain->name);
    def->memory_mib = domain->memory_mib;
    if (cmd->memory != NULL && !cmd_to_mib(cmd->memory, &def->memory_mib)) {
        cmd_say("--memory '%s' is not a size: write it like 512MiB or 16GiB", cmd->memory);
        return false;
    }
    if (cmd->stop_grace != NULL && (!hf_str_to_ms(cmd->stop_grace, &grace) || grace > UINT32_MAX)) {
        cmd_say("--stop-grace '%s' is not a duration: write it like 30s or 2min", cmd->stop_grace);
        return false;
    }
    if (!set_number("priority", cmd->priority, HF_PRIORITY_MAX, PRIORITY, &priority) ||
        !set_number("restarts-here", cmd->restarts_here, UINT8_MAX, RESTARTS_HERE, &here) ||
        !set_number("restarts-max", cmd->restarts_max, UINT8_MAX, RESTARTS_MAX, &most) ||
        !set_name("apart", cmd->apart, def->apart) ||
        !set_name("together", cmd->together, def->together) ||
        !set_name("preferred", cmd->preferred, request->order.preferred) ||
        !set_allowed(cmd->allowed, request->order.allowed))
        return false;
    def->priority = (uint16_t)priority;
    def->restarts_here = (uint8_t)here;
    def->restarts_max = (uint8_t)most;
    def->stop_grace_ms = (uint32_t)grace;
    return true;
}

/* `vm add FILE` or `vm add NAME FILE`: the name must be the domain's, so that a wrong file shows.
 */
static bool read_domain(const struct cmd *cmd, const char *path, const char *xml, size_t len,
                        struct cmd_domain *domain)
{
    const char *name = cmd->words_count == 2 ? cmd->words[0] : cmd->name;
    struct hf_err err;

    if (cmd_xml_read(xml, len, domain, &err) != HF_OK) {
        cmd_say("%s: %s", path, err.text);
        return false;
    }
    if (name != NULL && strcmp(name, domain->name) != 0) {
        cmd_say("%s is the XML of '%s', not of '%s'", path, domain->name, name);
        return false;
    }
    return true;
}

/* ---- legs ---- */

/* The running configuration and which of its nodes this is. NULL: printed; *status says why. */
static struct hf_config *ask_config(const struct cmd *cmd, hf_node *node, int *status)
{
    struct hf_config *config = malloc(sizeof *config);
    struct hf_ctl_request request;
    json_t *text = NULL, *picture = NULL;
    struct hf_err err = {HF_OK, "out of memory"};
    bool is_good = false;

    memset(&request, 0, sizeof request);
    request.verb = HF_CTL_CONFIG;
    *status = (int)cmd_ask(cmd, &request, &text);
    request.verb = HF_CTL_STATUS;
    if (*status == HF_CTL_OK)
        *status = (int)cmd_ask(cmd, &request, &picture);
    if (*status == HF_CTL_OK) {
        const char *canonical = cmd_str(text, "text");

        is_good = config != NULL && config_parse("running configuration", canonical,
                                                 strlen(canonical), config, &err) == HF_OK;
        if (!is_good) {
            cmd_say("%s", err.text);
            *status = HF_CTL_UNREACHABLE;
        }
    }
    for (uint8_t i = 0; is_good && i < config->group.nodes_count; i++)
        if (strcmp(config->group.nodes[i].name, cmd_str(picture, "node")) == 0)
            *node = (hf_node){i};
    json_decref(text);
    json_decref(picture);
    if (is_good)
        return config;
    free(config);
    return NULL;
}

static bool find_legs(const struct cmd *cmd, const char *path, const struct cmd_domain *domain,
                      hf_legs *legs, int *status)
{
    hf_node node = HF_NO_NODE;
    struct hf_config *config = ask_config(cmd, &node, status);
    struct hf_err err = {HF_OK, ""};

    *legs = 0;
    if (config == NULL)
        return false;
    if (config->nics.is_used && hf_node_is(node) &&
        cmd_legs_find(domain, config, node, CMD_SYS, legs, &err) != HF_OK) {
        cmd_say("%s: %s", path, err.text);
        *status = HF_CTL_USAGE;
    }
    if (*status == HF_CTL_OK && config->nics.is_used && !cmd->is_json)
        (void)printf("%s: legs in fabrics: %s\n", domain->name, cmd_legs_text(*legs));
    free(config);
    return *status == HF_CTL_OK;
}

/* A domain without interfaces has no legs; else --legs, the marks in it or this node's devices say.
 */
static bool set_legs(const struct cmd *cmd, const char *path, const struct cmd_domain *domain,
                     hf_legs *legs, int *status)
{
    *legs = 0;
    *status = HF_CTL_OK;
    if (cmd->legs != NULL && !cmd_legs_read(cmd->legs, legs)) {
        cmd_say("--legs '%s' is not a list of fabrics: write a, b, a,b or none", cmd->legs);
        *status = HF_CTL_USAGE;
        return false;
    }
    if (cmd->legs != NULL || domain->nics_count == 0)
        return true;
    return find_legs(cmd, path, domain, legs, status);
}

int cmd_vm_add(const struct cmd *cmd)
{
    const char *path = cmd->words[cmd->words_count - 1];
    struct hf_ctl_request request;
    struct cmd_domain domain;
    struct hf_err err;
    size_t len = 0;
    char *xml = read_file(path, &len);
    int fd, code = HF_CTL_USAGE;

    memset(&request, 0, sizeof request);
    request.order.type = HF_ORDER_VM_ADD;
    request.order.wants_run = !cmd->is_stopped;
    if (xml != NULL && read_domain(cmd, path, xml, len, &domain) &&
        set_def(cmd, &domain, &request) &&
        set_legs(cmd, path, &domain, &request.order.def.legs, &code)) {
        if (door_memory("domain-xml", xml, len, &fd, &err) == HF_OK) {
            code = cmd_order(cmd, &request, fd);
            (void)close(fd);
        } else {
            code = HF_CTL_USAGE;
            cmd_say("%s", err.text);
        }
    }
    free(xml);
    return code;
}

static int order_vm(const struct cmd *cmd, enum hf_order_type type, const char *node)
{
    struct hf_ctl_request request;

    memset(&request, 0, sizeof request);
    request.order.type = type;
    (void)hf_str_copy(request.vm, sizeof request.vm, cmd->words[0]);
    (void)hf_str_copy(request.node, sizeof request.node, node);
    return cmd_order(cmd, &request, -1);
}

int cmd_vm_remove(const struct cmd *cmd)
{
    return order_vm(cmd, HF_ORDER_VM_REMOVE, "");
}

int cmd_vm_start(const struct cmd *cmd)
{
    return order_vm(cmd, HF_ORDER_VM_START, "");
}

int cmd_vm_stop(const struct cmd *cmd)
{
    return order_vm(cmd, HF_ORDER_VM_STOP, "");
}

int cmd_vm_move(const struct cmd *cmd)
{
    return order_vm(cmd, HF_ORDER_VM_MOVE, cmd->words_count > 1 ? cmd->words[1] : "");
}
