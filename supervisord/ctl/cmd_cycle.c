/* cmd_cycle.c - fence test --power-cycle: the whole way as a drill, on a node that carries nothing.
 * Off by the group's own order, dead by proof, on again, a member again; each phase as it comes and
 * how long it took. It gives two orders and otherwise only watches: what it sees are the events of
 * the node it asks, so it must not be asked of the node that is cycled. */
#include "supervisord/ctl/cmd.h"

#include "supervisord/base/clock.h"
#include "supervisord/base/str.h"

#include <string.h>

enum phase {
    ORDERED = 0,
    AGENT,    /* a fence agent runs */
    READ_OFF, /* off was accepted */
    DEAD,
    ON_ORDERED,
    ON, /* a device reads on */
    JOINING,
    MEMBER,
    PHASES
};

static const struct {
    const char *key, *text;
} phases[PHASES] = {
    [ORDERED] = {"ordered", "fence ordered"},           [AGENT] = {"agent", "fence agent started"},
    [READ_OFF] = {"off", "off accepted, reading back"}, [DEAD] = {"dead", "proved dead"},
    [ON_ORDERED] = {"on-ordered", "power on ordered"},  [ON] = {"on", "switched on"},
    [JOINING] = {"joining", "back in the group"},       [MEMBER] = {"member", "member again"},
};

struct cycle {
    const struct cmd *cmd;
    struct cmd_link link, events;
    hf_time begin, until;
    int64_t at_ms[PHASES]; /* -1: not seen */
    int64_t last_ms;
    char wrong[HF_REASON_MAX + 1]; /* the last thing that went wrong on the way */
};

static void reached(struct cycle *c, enum phase phase)
{
    int64_t now_ms = hf_time_since_ms(hf_clock_now(), c->begin);

    if (c->at_ms[phase] >= 0)
        return;
    c->at_ms[phase] = now_ms;
    if (!c->cmd->is_json) {
        (void)printf("  %8.3f s  +%8.3f s  %s\n", (double)now_ms / 1000.0,
                     (double)(now_ms - c->last_ms) / 1000.0, phases[phase].text);
        (void)fflush(stdout);
    }
    c->last_ms = now_ms;
}

/* ---- may it be done ---- */

static bool may_cycle(const struct cmd *cmd, const json_t *status)
{
    const char *name = cmd->words[0];
    const json_t *node = cmd_named(status, "nodes", name);
    int left = cmd_vms_left(status, name);

    if (node == NULL)
        cmd_say("there is no node '%s', see: holdfast nodes", name);
    else if (strcmp(cmd_str(status, "node"), name) == 0)
        cmd_say(
            "ask another node: this one's power would be cut, and nobody could watch from here");
    else if (strcmp(cmd_str(node, "state"), "member") != 0)
        cmd_say("%s is %s: only a member is cycled", name, cmd_str(node, "state"));
    else if (json_array_size(json_object_get(node, "fence_paths")) == 0)
        cmd_say("%s has no fence device: nothing can switch it off or on", name);
    else if (!cmd_true(node, "maintenance"))
        cmd_say("%s is not drained. First: holdfast drain %s --wait", name, name);
    else if (left > 0)
        cmd_say("%d VM%s may be running on %s. Wait until it is empty: holdfast drain %s --wait",
                left, left == 1 ? "" : "s", name, name);
    else
        return true;
    return false;
}

/* ---- watching ---- */

static void see(struct cycle *c, const json_t *event)
{
    const char *kind = cmd_str(event, "kind"), *now = cmd_str(event, "now");
    const char *why = cmd_str(event, "why"), *progress = cmd_str(event, "progress");

    if (strcmp(cmd_str(event, "subject"), "node") != 0 ||
        strcmp(cmd_str(event, "name"), c->cmd->words[0]) != 0)
        return;
    if (strcmp(progress, "fence-running") == 0)
        reached(c, AGENT);
    if (strcmp(progress, "fence-off") == 0)
        reached(c, READ_OFF);
    if (strcmp(kind, "change") != 0)
        return;
    if (strcmp(why, "fence-failed") == 0 || strcmp(why, "fence-deadline") == 0 ||
        strcmp(why, "power-on-failed") == 0) {
        (void)hf_str_copy(c->wrong, sizeof c->wrong, cmd_str(event, "text"));
        if (!c->cmd->is_json)
            (void)printf("                            %s\n", c->wrong);
    }
    if (strcmp(now, "dead") == 0)
        reached(c, DEAD);
    if (strcmp(why, "power-on") == 0)
        reached(c, ON);
    if (c->at_ms[DEAD] >= 0 && strcmp(now, "joining") == 0)
        reached(c, JOINING);
    if (c->at_ms[DEAD] >= 0 && strcmp(now, "member") == 0)
        reached(c, MEMBER);
}

static enum hf_ctl_status watch(struct cycle *c, enum phase wanted)
{
    while (c->at_ms[wanted] < 0) {
        int64_t left = hf_time_since_ms(c->until, hf_clock_now());
        json_t *record = NULL;
        bool more = true;
        enum hf_ctl_status status;

        if (left <= 0) {
            cmd_say("not %s in time%s%s. See: holdfast why %s", phases[wanted].text,
                    c->wrong[0] != '\0' ? ", last trouble: " : "", c->wrong, c->cmd->words[0]);
            return HF_CTL_REFUSED;
        }
        status = cmd_link_next(&c->events, left, &record, &more);
        if (status != HF_CTL_OK)
            return status;
        if (record != NULL)
            see(c, record);
        json_decref(record);
        if (!more)
            return HF_CTL_UNREACHABLE;
    }
    return HF_CTL_OK;
}

static enum hf_ctl_status follow(struct cycle *c)
{
    struct hf_ctl_request request;
    enum hf_ctl_status status = cmd_link_open(&c->events, c->cmd->socket);

    memset(&request, 0, sizeof request);
    request.verb = HF_CTL_EVENTS;
    request.after = INT64_MAX; /* only what comes from now on */
    request.follow = true;
    return status == HF_CTL_OK ? cmd_link_send(&c->events, &request, -1) : status;
}

/* ---- the two orders ---- */

static enum hf_ctl_status give(struct cycle *c, enum hf_order_type type)
{
    struct hf_ctl_request request;
    json_t *answer = NULL;
    enum hf_ctl_status status;

    memset(&request, 0, sizeof request);
    request.verb = HF_CTL_ORDER;
    request.order.type = type;
    (void)hf_str_copy(request.node, sizeof request.node, c->cmd->words[0]);
    (void)hf_str_copy(request.order.reason, sizeof request.order.reason,
                      c->cmd->reason != NULL ? c->cmd->reason : "power-cycle drill");
    status = cmd_link_ask(&c->link, &request, -1, CMD_ORDER_MS, &answer);
    if (status != HF_CTL_OK && answer != NULL)
        cmd_refusal(c->cmd, status, answer);
    json_decref(answer);
    return status;
}

static enum hf_ctl_status run(struct cycle *c)
{
    enum hf_ctl_status status = follow(c);

    if (status == HF_CTL_OK)
        status = give(c, HF_ORDER_FENCE);
    if (status == HF_CTL_OK) {
        reached(c, ORDERED);
        status = watch(c, DEAD);
    }
    if (status == HF_CTL_OK)
        status = give(c, HF_ORDER_POWER_ON);
    if (status == HF_CTL_OK) {
        reached(c, ON_ORDERED);
        status = watch(c, MEMBER);
    }
    return status;
}

static void print_result(const struct cycle *c, enum hf_ctl_status status)
{
    const char *name = c->cmd->words[0];
    json_t *list;

    if (!c->cmd->is_json) {
        if (status == HF_CTL_OK)
            (void)printf(
                "%s was off, proved dead and is back. It is still in maintenance: holdfast "
                "undrain %s\n",
                name, name);
        return;
    }
    list = json_array();
    for (unsigned i = 0; i < PHASES; i++)
        if (c->at_ms[i] >= 0)
            (void)json_array_append_new(list, json_pack("{s:s, s:I}", "phase", phases[i].key,
                                                        "at_ms", (json_int_t)c->at_ms[i]));
    list = json_pack("{s:i, s:s, s:b, s:o}", "version", 1, "node", name, "reached",
                     status == HF_CTL_OK, "phases", list);
    cmd_print_json(list);
    json_decref(list);
}

int cmd_cycle(const struct cmd *cmd)
{
    int64_t limit = cmd->has_timeout ? (int64_t)cmd->timeout_ms : CMD_CYCLE_MS;
    struct cycle c = {.cmd = cmd, .link = {-1, NULL}, .events = {-1, NULL}};
    json_t *status = NULL;
    char what[256];
    enum hf_ctl_status code = cmd_link_open(&c.link, cmd->socket);

    if (code == HF_CTL_OK)
        code = cmd_status_ask(&c.link, &status);
    if (code == HF_CTL_OK && !may_cycle(cmd, status))
        code = HF_CTL_REFUSED;
    json_decref(status);
    (void)snprintf(what, sizeof what, "This cuts the power of %s and switches it on again.",
                   cmd->words[0]);
    if (code == HF_CTL_OK && !cmd->is_yes && !cmd_ask_name(cmd, what, "--yes"))
        code = HF_CTL_USAGE;
    if (code == HF_CTL_OK) {
        c.begin = hf_clock_now();
        c.until = hf_time_add_ms(c.begin, limit);
        for (unsigned i = 0; i < PHASES; i++)
            c.at_ms[i] = -1;
        code = run(&c);
        print_result(&c, code);
    }
    cmd_link_close(&c.events);
    cmd_link_close(&c.link);
    return (int)code;
}
