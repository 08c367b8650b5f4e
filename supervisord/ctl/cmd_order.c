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

const json_t *cmd_named(const json_t *status, const char *list, const char *name)
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

int cmd_vms_left(const json_t *status, const char *node)
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
    int left = cmd_vms_left(status, node);

    if (!cmd_true(entry, "maintenance"))
        return CMD_HOPELESS;
    (void)snprintf(text, cap, "%s in maintenance, %d VM%s left there", node, left,
                   left == 1 ? "" : "s");
    return left == 0 ? CMD_REACHED : CMD_NOT_YET;
}

static enum cmd_reach leave_reached(const json_t *status, const json_t *entry, const char *node,
                                    char *text, size_t cap)
{
    int left = cmd_vms_left(status, node);

    if (cmd_true(entry, "left")) {
        (void)snprintf(text, cap, "%s has left: it may be switched off now", node);
        return CMD_REACHED;
    }
    if (!cmd_true(entry, "leaving")) {
        (void)snprintf(text, cap, "%s is not leaving any more", node);
        return CMD_HOPELESS;
    }
    (void)snprintf(text, cap, "%s is leaving, %d VM%s left there", node, left,
                   left == 1 ? "" : "s");
    return CMD_NOT_YET;
}

enum cmd_reach cmd_reached(enum hf_order_type type, const json_t *status, const char *vm,
                           const char *node, const char *from, char *now_text, size_t cap)
{
    const json_t *group = json_object_get(status, "group");
    const json_t *vm_entry = cmd_named(status, "vms", vm),
                 *node_entry = cmd_named(status, "nodes", node);
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

enum hf_ctl_status cmd_status_ask(struct cmd_link *link, json_t **status)
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
    enum hf_ctl_status code = cmd_status_ask(link, &status);

    if (code == HF_CTL_OK)
        (void)hf_str_copy(w->from, sizeof w->from,
                          cmd_str(cmd_named(status, "vms", w->vm), "node"));
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
    enum hf_ctl_status code = cmd_status_ask(link, &status);

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

int cmd_order_node(const struct cmd *cmd, enum hf_order_type type, uint32_t ms)
{
    struct hf_ctl_request request;

    memset(&request, 0, sizeof request);
    request.order.type = type;
    request.order.ms = ms;
    if (cmd->words_count > 0)
        (void)hf_str_copy(request.node, sizeof request.node, cmd->words[0]);
    return cmd_order(cmd, &request, -1);
}

/* 0: none was given. */
static bool read_for(const struct cmd *cmd, uint32_t *ms)
{
    uint64_t value = 0;

    if (cmd->for_ != NULL &&
        (!hf_str_to_ms(cmd->for_, &value) || value == 0 || value > UINT32_MAX)) {
        cmd_say("--for '%s' is not a duration: write it like 90s, 30min or 4h", cmd->for_);
        return false;
    }
    *ms = (uint32_t)value;
    return true;
}

int cmd_drain(const struct cmd *cmd)
{
    uint32_t ms;

    return read_for(cmd, &ms) ? cmd_order_node(cmd, HF_ORDER_DRAIN, ms) : HF_CTL_USAGE;
}

int cmd_hold(const struct cmd *cmd)
{
    uint32_t ms;

    if (cmd->for_ == NULL) {
        cmd_say("say for how long: holdfast hold %s --for 60s", cmd->words[0]);
        return HF_CTL_USAGE;
    }
    return read_for(cmd, &ms) ? cmd_order_node(cmd, HF_ORDER_HOLD, ms) : HF_CTL_USAGE;
}

/* Ends when the node has left, not when the order is taken: only then may it be switched off. */
int cmd_leave(const struct cmd *cmd)
{
    struct cmd waiting = *cmd;

    waiting.is_waiting = true;
    if (!waiting.has_timeout) {
        waiting.has_timeout = true;
        waiting.timeout_ms = CMD_LEAVE_MS;
    }
    return cmd_order_node(&waiting, HF_ORDER_LEAVE, 0);
}

int cmd_undrain(const struct cmd *cmd)
{
    return cmd_order_node(cmd, HF_ORDER_UNDRAIN, 0);
}

int cmd_arm(const struct cmd *cmd)
{
    return cmd_order_node(cmd, HF_ORDER_ARM, 0);
}

int cmd_disarm(const struct cmd *cmd)
{
    return cmd_order_node(cmd, HF_ORDER_DISARM, 0);
}
