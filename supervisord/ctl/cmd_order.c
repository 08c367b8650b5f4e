#include "supervisord/ctl/cmd.h"

#include "supervisord/base/clock.h"
#include "supervisord/base/str.h"
#include "supervisord/report/history.h"

#include <stdlib.h>
#include <string.h>

enum {
    LOOK_MS = 1000, /* look at least so often while waiting: the progress line counts seconds */
    QUIET_MS = 40,  /* gather a burst of events before looking: at most 25 looks a second */
    BURST_MAX = 256,
};

/* ---- is it reached ---- */

static const json_t *named(const json_t *status, const char *list, const char *name)
{
    const json_t *entry;
    size_t i;

    json_array_foreach(json_object_get(status, list), i, entry)
    {
        if (strcmp(cmd_str(entry, "name"), name) == 0)
            return entry;
    }
    return NULL;
}

static bool is_one_of(const char *state, const char *a, const char *b, const char *c)
{
    return strcmp(state, a) == 0 || strcmp(state, b) == 0 || strcmp(state, c) == 0;
}

static enum cmd_reach vm_reached(enum hf_order_type type, const json_t *vm, const char *node,
                                 const char *from)
{
    const char *state = cmd_str(vm, "state"), *home = cmd_str(vm, "node");
    bool is_running = strcmp(state, "running") == 0;

    if (vm == NULL)
        return type == HF_ORDER_VM_REMOVE ? CMD_REACHED : CMD_HOPELESS;
    if (type == HF_ORDER_VM_REMOVE)
        return CMD_NOT_YET;
    if (type == HF_ORDER_VM_STOP)
        return strcmp(state, "stopped") == 0 ? CMD_REACHED : CMD_NOT_YET;
    if (is_one_of(state, "failed", "held", "unplaceable"))
        return CMD_HOPELESS;
    if (type == HF_ORDER_VM_MOVE && node[0] != '\0')
        return is_running && strcmp(home, node) == 0 ? CMD_REACHED : CMD_NOT_YET;
    if (type == HF_ORDER_VM_MOVE)
        return is_running && strcmp(home, from) != 0 ? CMD_REACHED : CMD_NOT_YET;
    return is_running ? CMD_REACHED : CMD_NOT_YET;
}

static int vms_left(const json_t *status, const char *node)
{
    const json_t *vm, *at;
    size_t i, k;
    int count = 0;

    json_array_foreach(json_object_get(status, "vms"), i, vm)
    {
        json_array_foreach(json_object_get(vm, "possible"), k, at)
        {
            const char *name = json_string_value(at);

            count += name != NULL && strcmp(name, node) == 0;
        }
    }
    return count;
}

static enum cmd_reach drain_reached(const json_t *status, const json_t *entry, const char *node,
                                    char *text, size_t cap)
{
    int left = vms_left(status, node);

    if (!cmd_true(entry, "maintenance"))
        return CMD_HOPELESS;
    (void)snprintf(text, cap, "%s in maintenance, %d VM%s left there", node, left,
                   left == 1 ? "" : "s");
    return left == 0 ? CMD_REACHED : CMD_NOT_YET;
}

static enum cmd_reach leave_reached(const json_t *status, const json_t *entry, const char *node,
                                    char *text, size_t cap)
{
    int left = vms_left(status, node);

    if (cmd_true(entry, "left"))
        left = 0;
    else if (!cmd_true(entry, "leaving"))
        return CMD_HOPELESS;
    if (left == 0)
        (void)snprintf(text, cap, "%s is empty, switch it off", node);
    else
        (void)snprintf(text, cap, "%s is leaving, %d VM%s left there", node, left,
                       left == 1 ? "" : "s");
    return left == 0 ? CMD_REACHED : CMD_NOT_YET;
}

enum cmd_reach cmd_reached(enum hf_order_type type, const json_t *status, const char *vm,
                           const char *node, const char *from, char *now_text, size_t cap)
{
    const json_t *group = json_object_get(status, "group");
    const json_t *vm_entry = named(status, "vms", vm), *node_entry = named(status, "nodes", node);
    const char *home = cmd_str(vm_entry, "node");

    switch (type) {
    case HF_ORDER_VM_ADD:
    case HF_ORDER_VM_REMOVE:
    case HF_ORDER_VM_START:
    case HF_ORDER_VM_STOP:
    case HF_ORDER_VM_MOVE:
        (void)snprintf(now_text, cap, "%s %s%s%s", vm,
                       vm_entry != NULL ? cmd_str(vm_entry, "state") : "removed",
                       home[0] != '\0' ? " on " : "", home);
        return vm_reached(type, vm_entry, node, from);
    case HF_ORDER_ARM:
    case HF_ORDER_DISARM:
        (void)snprintf(now_text, cap, "%s", cmd_true(group, "armed") ? "armed" : "disarmed");
        return cmd_true(group, "armed") == (type == HF_ORDER_ARM) ? CMD_REACHED : CMD_NOT_YET;
    case HF_ORDER_DRAIN:
    case HF_ORDER_UNDRAIN:
    case HF_ORDER_FENCE:
    case HF_ORDER_CONFIRM:
    case HF_ORDER_HOLD:
    case HF_ORDER_LEAVE:
    case HF_ORDER_POWER_ON:
    case HF_ORDERS:
        break;
    }
    (void)snprintf(now_text, cap, "%s %s", node, cmd_str(node_entry, "state"));
    if (node_entry == NULL)
        return CMD_HOPELESS;
    if (type == HF_ORDER_DRAIN)
        return drain_reached(status, node_entry, node, now_text, cap);
    if (type == HF_ORDER_UNDRAIN)
        return cmd_true(node_entry, "maintenance") ? CMD_NOT_YET : CMD_REACHED;
    if (type == HF_ORDER_HOLD)
        return json_is_object(json_object_get(node_entry, "hold")) ? CMD_REACHED : CMD_NOT_YET;
    if (type == HF_ORDER_LEAVE)
        return leave_reached(status, node_entry, node, now_text, cap);
    return strcmp(cmd_str(node_entry, "state"), type == HF_ORDER_POWER_ON ? "member" : "dead") == 0
               ? CMD_REACHED
               : CMD_NOT_YET;
}

/* ---- waiting ---- */

struct wait {
    const struct cmd *cmd;
    enum hf_order_type type;
    const char *vm, *node;
    char from[HF_NAME_MAX + 1];
    struct cmd_link events;
    hf_time begin;
    bool has_line; /* a progress line is on the terminal */
    char text[256];
};

static enum hf_ctl_status ask_status(struct cmd_link *link, json_t **status)
{
    struct hf_ctl_request request;

    memset(&request, 0, sizeof request);
    request.verb = HF_CTL_STATUS;
    return cmd_link_ask(link, &request, -1, CMD_ANSWER_MS, status);
}

/* Before the order: where the VM is now, and a stream that misses nothing of what follows. */
static enum hf_ctl_status wait_begin(struct wait *w, struct cmd_link *link)
{
    struct hf_ctl_request request;
    json_t *status;
    enum hf_ctl_status code = ask_status(link, &status);

    if (code == HF_CTL_OK)
        (void)hf_str_copy(w->from, sizeof w->from, cmd_str(named(status, "vms", w->vm), "node"));
    json_decref(status);
    if (code == HF_CTL_OK)
        code = cmd_link_open(&w->events, w->cmd->socket);
    memset(&request, 0, sizeof request);
    request.verb = HF_CTL_EVENTS;
    request.after = INT64_MAX; /* only what comes from now on */
    request.follow = true;
    return code == HF_CTL_OK ? cmd_link_send(&w->events, &request, -1) : code;
}

/* Until something has happened and the burst is over, or LOOK_MS have passed. */
static enum hf_ctl_status wait_news(struct wait *w)
{
    int64_t within = LOOK_MS;

    for (unsigned i = 0; i < BURST_MAX; i++) {
        json_t *record;
        bool more;
        enum hf_ctl_status status = cmd_link_next(&w->events, within, &record, &more);

        if (status != HF_CTL_OK || record == NULL)
            return status;
        json_decref(record);
        within = QUIET_MS;
    }
    return HF_CTL_OK;
}

static void show_progress(struct wait *w)
{
    int64_t ms = hf_time_since_ms(hf_clock_now(), w->begin);

    if (!w->cmd->is_terminal || ms < CMD_PROGRESS_MS)
        return;
    (void)fprintf(stderr, "\r\033[K  %s, %lld s", w->text, (long long)(ms / 1000));
    (void)fflush(stderr);
    w->has_line = true;
}

static void clear_progress(struct wait *w)
{
    if (w->has_line)
        (void)fprintf(stderr, "\r\033[K");
    w->has_line = false;
}

static enum hf_ctl_status wait_look(struct wait *w, struct cmd_link *link, enum cmd_reach *reach)
{
    json_t *status;
    enum hf_ctl_status code = ask_status(link, &status);

    if (code == HF_CTL_OK)
        *reach = cmd_reached(w->type, status, w->vm, w->node, w->from, w->text, sizeof w->text);
    json_decref(status);
    return code;
}

static enum hf_ctl_status wait_end(struct wait *w, struct cmd_link *link, json_t *answer)
{
    int64_t limit = w->cmd->has_timeout ? (int64_t)w->cmd->timeout_ms : CMD_WAIT_MS;
    enum cmd_reach reach = CMD_NOT_YET;
    enum hf_ctl_status status = wait_look(w, link, &reach);
    int64_t ms = 0;

    while (status == HF_CTL_OK && reach == CMD_NOT_YET && ms < limit) {
        show_progress(w);
        status = wait_news(w);
        if (status == HF_CTL_OK)
            status = wait_look(w, link, &reach);
        ms = hf_time_since_ms(hf_clock_now(), w->begin);
    }
    clear_progress(w);
    if (status != HF_CTL_OK)
        return status;
    (void)json_object_set_new(answer, "wait",
                              json_pack("{s:b, s:I, s:s}", "reached", reach == CMD_REACHED, "ms",
                                        (json_int_t)ms, "text", w->text));
    if (reach == CMD_REACHED)
        return HF_CTL_OK;
    cmd_say("%s: %s. See: holdfast why %s", w->text,
            reach == CMD_HOPELESS ? "it will not get there by itself"
                                  : "not reached in time, the order stands",
            w->vm[0] != '\0' ? w->vm : w->node);
    return HF_CTL_REFUSED;
}

/* ---- ordering ---- */

static void print_done(const struct hf_ctl_request *request, const json_t *answer)
{
    const char *order = history_order_name(request->order.type);
    const json_t *wait = json_object_get(answer, "wait");
    const char *subject = request->vm[0] != '\0' ? request->vm : request->node;

    if (request->order.type == HF_ORDER_VM_ADD)
        subject = request->order.def.name;
    if (json_is_object(wait))
        (void)printf("%s (%.1f s)\n", cmd_str(wait, "text"), (double)cmd_int(wait, "ms") / 1000.0);
    else if (cmd_true(answer, "applied"))
        (void)printf("%s%s%s: ordered\n", order, subject[0] != '\0' ? " " : "", subject);
    else
        (void)printf("%s%s%s: %s\n", order, subject[0] != '\0' ? " " : "", subject,
                     cmd_str(answer, "why_text"));
}

/* A VM that was added to stay stopped has nothing to wait for. */
static bool is_waitable(const struct cmd *cmd, const struct hf_ctl_request *request)
{
    return cmd->is_waiting && (request->order.type != HF_ORDER_VM_ADD || request->order.wants_run);
}

static int order_on(const struct cmd *cmd, struct hf_ctl_request *request, int ride,
                    struct cmd_link *link)
{
    struct wait w = {.cmd = cmd,
                     .type = request->order.type,
                     .vm = request->order.type == HF_ORDER_VM_ADD ? request->order.def.name
                                                                  : request->vm,
                     .node = request->node,
                     .events = {-1, NULL},
                     .begin = hf_clock_now()};
    enum hf_ctl_status status = HF_CTL_OK;
    json_t *answer = NULL;

    if (is_waitable(cmd, request))
        status = wait_begin(&w, link);
    if (status == HF_CTL_OK)
        status = cmd_link_ask(link, request, ride, CMD_ORDER_MS, &answer);
    if (status != HF_CTL_OK && answer != NULL) {
        cmd_refusal(cmd, status, answer);
    } else if (status == HF_CTL_OK) {
        if (is_waitable(cmd, request))
            status = wait_end(&w, link, answer);
        if (cmd->is_json)
            cmd_print_json(answer);
        else if (status == HF_CTL_OK)
            print_done(request, answer);
    }
    cmd_link_close(&w.events);
    json_decref(answer);
    return (int)status;
}

int cmd_order(const struct cmd *cmd, struct hf_ctl_request *request, int ride)
{
    struct cmd_link link;
    enum hf_ctl_status status = cmd_link_open(&link, cmd->socket);
    int code;

    request->verb = HF_CTL_ORDER;
    if (cmd->reason != NULL)
        (void)hf_str_copy(request->order.reason, sizeof request->order.reason, cmd->reason);
    if (status != HF_CTL_OK)
        return (int)status;
    code = order_on(cmd, request, ride, &link);
    cmd_link_close(&link);
    return code;
}

static int order_node(const struct cmd *cmd, enum hf_order_type type, uint32_t ms)
{
    struct hf_ctl_request request;

    memset(&request, 0, sizeof request);
    request.order.type = type;
    request.order.ms = ms;
    if (cmd->words_count > 0)
        (void)hf_str_copy(request.node, sizeof request.node, cmd->words[0]);
    return cmd_order(cmd, &request, -1);
}

int cmd_drain(const struct cmd *cmd)
{
    uint64_t ms = 0;

    if (cmd->for_ != NULL && (!hf_str_to_ms(cmd->for_, &ms) || ms == 0 || ms > UINT32_MAX)) {
        cmd_say("--for '%s' is not a duration: write it like 30min or 4h", cmd->for_);
        return HF_CTL_USAGE;
    }
    return order_node(cmd, HF_ORDER_DRAIN, (uint32_t)ms);
}

int cmd_undrain(const struct cmd *cmd)
{
    return order_node(cmd, HF_ORDER_UNDRAIN, 0);
}

int cmd_arm(const struct cmd *cmd)
{
    return order_node(cmd, HF_ORDER_ARM, 0);
}

int cmd_disarm(const struct cmd *cmd)
{
    return order_node(cmd, HF_ORDER_DISARM, 0);
}

/* ---- fencing: the orders that must not be typed by accident ---- */

static bool is_confirmed(const struct cmd *cmd, const char *what)
{
    char line[HF_NAME_MAX + 2];

    if (cmd->is_yes)
        return true;
    if (!cmd->is_terminal) {
        cmd_say("this needs a person: type it on a terminal, or say --yes");
        return false;
    }
    (void)fprintf(stderr, "%s\nType the node's name to go on: ", what);
    (void)fflush(stderr);
    if (fgets(line, sizeof line, stdin) == NULL)
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, cmd->words[0]) == 0)
        return true;
    cmd_say("'%s' is not '%s': nothing was done", line, cmd->words[0]);
    return false;
}

int cmd_fence(const struct cmd *cmd)
{
    char what[256];

    (void)snprintf(what, sizeof what,
                   "This cuts the power of %s. Every VM on it goes down and is started elsewhere.",
                   cmd->words[0]);
    return is_confirmed(cmd, what) ? order_node(cmd, HF_ORDER_FENCE, 0) : HF_CTL_USAGE;
}

int cmd_fence_confirm(const struct cmd *cmd)
{
    char what[512];

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
    return is_confirmed(cmd, what) ? order_node(cmd, HF_ORDER_CONFIRM, 0) : HF_CTL_USAGE;
}
