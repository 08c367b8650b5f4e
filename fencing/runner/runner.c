#include "fencing/runner/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fencing/credentials.h"
#include "supervisord/base/assert.h"
#include "supervisord/base/log.h"
#include "supervisord/base/str.h"
#include "supervisord/door/door.h"
#include "supervisord/model/names.h"

void runner_init(struct runner *r, const struct runner_settings *settings)
{
    r->settings = *settings;
    r->door = -1;
    r->queue_count = 0;
    for (unsigned i = 0; i < HF_NODES_MAX; i++) {
        r->order[i].is_used = false;
        for (unsigned d = 0; d < HF_FENCE_DEVICES_MAX; d++) {
            exec_init(&r->order[i].device[d].off);
            exec_init(&r->order[i].device[d].status);
        }
    }
    trial_init(r);
}

/* ---- answers ---- */

static enum hf_code send_queue(struct runner *r, struct hf_err *err)
{
    unsigned sent = 0;
    enum hf_code code = HF_OK;

    while (sent < r->queue_count) {
        uint8_t bytes[HF_REPORT_BYTES_MAX];
        size_t len = report_encode(&r->queue[sent], bytes);

        code = door_send(r->door, bytes, len, -1, err);
        if (code != HF_OK)
            break;
        sent++;
    }
    r->queue_count -= sent;
    memmove(r->queue, r->queue + sent, r->queue_count * sizeof r->queue[0]);
    return code == HF_EAGAIN ? HF_OK : code;
}

/* A full queue loses the answer: the daemon then times the order out, which is never proof. */
void runner_answer(struct runner *r, const struct hf_report *report)
{
    struct hf_err err;

    if (r->door < 0)
        return;
    if (r->queue_count == RUNNER_QUEUE_MAX) {
        hf_warning("fencer: the daemon does not read: an answer is lost");
        return;
    }
    r->queue[r->queue_count++] = *report;
    (void)send_queue(r, &err); /* an error shows again at the next receive, and is told there */
}

static void tell_progress(struct runner *r, const struct runner_order *o, enum hf_progress phase,
                          pid_t pid)
{
    struct hf_report report = {.kind = HF_REPORT_PROGRESS};

    report.u.progress.token = o->token;
    report.u.progress.phase = phase;
    report.u.progress.pid = (uint32_t)pid;
    runner_answer(r, &report);
}

static void tell_done(struct runner *r, const struct hf_token token, const char *target,
                      uint8_t level, enum hf_outcome outcome, int64_t took_ms, const char *why)
{
    struct hf_report report = {.kind = HF_REPORT_DONE};

    report.u.done.token = token;
    report.u.done.outcome = outcome;
    report.u.done.took_ms = (uint32_t)took_ms;
    (void)hf_str_copy(report.u.done.why, sizeof report.u.done.why, why);
    hf_log(outcome == HF_OUT_DONE ? HF_LOG_INFO : HF_LOG_WARNING,
           "node=%s fence level %u: %s: %s (%lld ms)", target, level + 1u, hf_outcome_name(outcome),
           why, (long long)took_ms);
    runner_answer(r, &report);
}

/* ---- one order ---- */

static void kill_runs(struct runner_order *o)
{
    for (unsigned d = 0; d < o->plan.devices_count; d++) {
        exec_kill(&o->device[d].off);
        exec_kill(&o->device[d].status);
    }
}

static void end_order(struct runner *r, struct runner_order *o, enum hf_outcome outcome,
                      const char *why, hf_time now)
{
    kill_runs(o);
    o->is_used = false;
    tell_done(r, o->token, o->target, o->level, outcome, hf_time_since_ms(now, o->began), why);
}

enum hf_code runner_input(const struct runner *r, const struct hf_fence_device *def,
                          enum exec_action action, struct exec_input *in, struct hf_err *err)
{
    struct exec_param params[HF_FENCE_PARAMS_MAX];
    struct credentials secrets;
    enum hf_code code;

    for (unsigned i = 0; i < def->params_count; i++)
        params[i] = (struct exec_param){def->params[i].key, def->params[i].value};
    code = credentials_read(r->settings.credentials, def->credentials, &secrets, err);
    if (code == HF_OK)
        code = exec_input_build(in, action, params, def->params_count, secrets.lines, secrets.len,
                                err);
    credentials_wipe(&secrets);
    return code;
}

void runner_words(const struct runner *r, const struct hf_fence_device *def, struct exec_run *run,
                  char out[RUNNER_SAID_MAX + 1])
{
    struct credentials secrets;
    struct hf_err err;

    if (credentials_read(r->settings.credentials, def->credentials, &secrets, &err) == HF_OK) {
        credentials_scrub(&secrets, run->errors_text, &run->errors_len);
        credentials_scrub(&secrets, run->out_text, &run->out_len);
    } else {
        run->errors_len = run->out_len = 0; /* what must not be shown is not known any more */
    }
    credentials_wipe(&secrets);
    exec_describe(run, out, RUNNER_SAID_MAX + 1);
}

/* Interpreter up, question not yet asked. A failure here is met again, and told, when it is asked.
 */
static void prepare_status(const struct runner *r, struct runner_order *o,
                           struct runner_device *device)
{
    struct hf_err err;

    if (exec_spawn(&device->status, r->settings.agents, device->def.agent, EXEC_SPARE, o->deadline,
                   &err) != HF_OK)
        hf_debug("node=%s fence: status not prepared: %s", o->target, err.text);
}

static enum hf_code ask_status(const struct runner *r, struct runner_order *o,
                               struct runner_device *device, struct hf_err *err)
{
    bool is_ready = device->status.end == EXEC_RUNNING && !device->status.is_fed;
    struct exec_input in;
    enum hf_code code = runner_input(r, &device->def, EXEC_STATUS, &in, err);

    if (code == HF_OK && !is_ready) {
        exec_kill(&device->status);
        code = exec_spawn(&device->status, r->settings.agents, device->def.agent, EXEC_NOW,
                          o->deadline, err);
    }
    if (code == HF_OK)
        exec_feed(&device->status, &in);
    exec_input_wipe(&in);
    return code;
}

/* Its input is complete before its process exists: a bad credentials file starts nothing. */
static enum hf_code switch_it(struct runner *r, struct runner_order *o,
                              struct runner_device *device, struct hf_err *err)
{
    enum exec_action action = o->is_power_on ? EXEC_ON : EXEC_OFF;
    struct exec_input in;
    enum hf_code code = runner_input(r, &device->def, action, &in, err);

    if (code == HF_OK)
        code = exec_spawn(&device->off, r->settings.agents, device->def.agent, EXEC_NOW,
                          o->deadline, err);
    if (code == HF_OK) {
        exec_feed(&device->off, &in);
        if (!o->is_power_on) /* the phases are those of a death */
            tell_progress(r, o, HF_PROGRESS_FENCE_RUNNING, device->off.pid);
    }
    exec_input_wipe(&in);
    return code;
}

/* ---- an order's start ---- */

static struct runner_order *order_of_target(struct runner *r, const char *target)
{
    for (unsigned i = 0; i < HF_NODES_MAX; i++)
        if (r->order[i].is_used && strcmp(r->order[i].target, target) == 0)
            return &r->order[i];
    return NULL;
}

bool runner_has_order(const struct runner *r, const char *target)
{
    for (unsigned i = 0; i < HF_NODES_MAX; i++)
        if (r->order[i].is_used && (target == NULL || strcmp(r->order[i].target, target) == 0))
            return true;
    return false;
}

static struct runner_order *order_free(struct runner *r)
{
    for (unsigned i = 0; i < HF_NODES_MAX; i++)
        if (!r->order[i].is_used)
            return &r->order[i];
    return NULL;
}

/* NULL: there is none, err says why. */
static const struct hf_fence_level *find_level(const struct hf_config *config, const char *target,
                                               uint8_t level, struct hf_err *err)
{
    for (unsigned i = 0; i < config->group.nodes_count; i++) {
        if (strcmp(config->group.nodes[i].name, target) != 0)
            continue;
        if (level >= config->fence[i].levels_count ||
            config->fence[i].level[level].devices_count == 0) {
            hf_err_set(err, HF_ENOENT, "node %s has no fence level %u", target, level + 1u);
            return NULL;
        }
        return &config->fence[i].level[level];
    }
    hf_err_set(err, HF_ENOENT, "no node %s in the running configuration", target);
    return NULL;
}

const struct hf_fence_level *runner_level(struct runner *r, const char *text, size_t len,
                                          const char *target, uint8_t level, struct hf_err *err)
{
    if (config_parse("running configuration", text, len, &r->config, err) != HF_OK)
        return NULL;
    return find_level(&r->config, target, level, err);
}

static enum hf_code take_devices(struct runner *r, struct runner_order *o, const char *text,
                                 size_t len, struct hf_err *err)
{
    const struct hf_fence_level *level = runner_level(r, text, len, o->target, o->level, err);

    if (level == NULL)
        return err->code;
    if (o->is_power_on)
        plan_begin_on(&o->plan, level->devices_count);
    else
        plan_begin(&o->plan, level->devices_count);
    for (unsigned d = 0; d < level->devices_count; d++) {
        exec_init(&o->device[d].off);
        exec_init(&o->device[d].status);
        o->device[d].def = r->config.devices[level->device[d]];
        o->off_told[d] = false;
    }
    return HF_OK;
}

static void begin(struct runner *r, struct runner_order *o, const char *text, size_t len,
                  hf_time now)
{
    char why[HF_REASON_MAX + 1];
    struct hf_err err;

    o->plan.devices_count = 0;
    if (take_devices(r, o, text, len, &err) != HF_OK) {
        (void)hf_str_copy(why, sizeof why, err.text);
        end_order(r, o, HF_OUT_REFUSED, why, now);
        return;
    }
    for (unsigned d = 0; d < o->plan.devices_count; d++) {
        if (switch_it(r, o, &o->device[d], &err) == HF_OK)
            continue;
        (void)snprintf(why, sizeof why, "device %s: %.*s", o->device[d].def.name, 120, err.text);
        end_order(r, o, d == 0 ? HF_OUT_REFUSED : HF_OUT_GAVE_UP, why, now);
        return;
    }
    for (unsigned d = 0; d < o->plan.devices_count; d++)
        prepare_status(r, o, &o->device[d]);
}

void runner_fence(struct runner *r, const struct hf_report *fence, const char *text, size_t len,
                  hf_time now)
{
    struct runner_order *o = order_of_target(r, fence->u.fence.target);

    HF_ASSERT(fence->kind == HF_REPORT_FENCE);
    if (o != NULL && hf_token_same(o->token, fence->u.fence.token))
        return; /* sent again after a new view: it is under way */
    if (o != NULL) {
        kill_runs(o); /* the daemon no longer wants the older one: one run per target */
        o->is_used = false;
    }
    o = order_free(r);
    if (o == NULL) {
        tell_done(r, fence->u.fence.token, fence->u.fence.target, fence->u.fence.level,
                  HF_OUT_REFUSED, 0, "more targets than nodes");
        return;
    }
    o->is_used = true;
    o->is_power_on = fence->u.fence.power_on;
    o->token = fence->u.fence.token;
    (void)hf_str_copy(o->target, sizeof o->target, fence->u.fence.target);
    o->level = fence->u.fence.level;
    o->began = now;
    o->deadline = hf_time_add_ms(now, fence->u.fence.deadline_ms);
    begin(r, o, text, len, now);
    trial_cancel(r, fence->u.fence.target, now); /* its own runs are out already */
}

/* ---- an order's progress ---- */

static void give_up(struct runner *r, struct runner_order *o, const struct runner_device *device,
                    struct exec_run *run, const char *action, hf_time now)
{
    char why[HF_REASON_MAX + 1], said[RUNNER_SAID_MAX + 1];

    runner_words(r, &device->def, run, said);
    (void)snprintf(why, sizeof why, "%s %.32s: %.150s", action, device->def.name, said);
    end_order(r, o, HF_OUT_GAVE_UP, why, now);
}

static void verify_all(struct runner *r, struct runner_order *o, hf_time now)
{
    char why[HF_REASON_MAX + 1];
    struct hf_err err;

    for (unsigned d = 0; d < o->plan.devices_count; d++) {
        if (ask_status(r, o, &o->device[d], &err) == HF_OK)
            continue;
        (void)snprintf(why, sizeof why, "status %.32s: %.150s", o->device[d].def.name, err.text);
        end_order(r, o, HF_OUT_GAVE_UP, why, now);
        return;
    }
}

static void switching_go_on(struct runner *r, struct runner_order *o, hf_time now)
{
    for (uint8_t d = 0; d < o->plan.devices_count; d++) {
        struct runner_device *device = &o->device[d];
        bool accepted;

        if (o->off_told[d] || !exec_go_on(&device->off, now))
            continue;
        o->off_told[d] = true;
        accepted = device->off.end == EXEC_EXITED && proof_off_accepted(device->off.code);
        switch (plan_off_ended(&o->plan, d, accepted)) {
        case PLAN_SWITCHING:
        case PLAN_DONE:
        case PLAN_PHASES:
            break;
        case PLAN_FAILED:
            give_up(r, o, device, &device->off, o->is_power_on ? "on" : "off", now);
            return;
        case PLAN_VERIFYING:
            if (!o->is_power_on)
                tell_progress(r, o, HF_PROGRESS_FENCE_OFF, 0);
            verify_all(r, o, now);
            return;
        }
    }
}

static void status_ended(struct runner *r, struct runner_order *o, uint8_t d, hf_time now)
{
    struct runner_device *device = &o->device[d];
    enum proof_verdict verdict = PROOF_UNREADABLE;
    char why[HF_REASON_MAX + 1];
    struct hf_err err;

    if (device->status.end == EXEC_EXITED)
        verdict =
            proof_status(device->status.code, device->status.out_text, device->status.out_len);
    switch (plan_status_ended(&o->plan, d, verdict)) {
    case PLAN_DONE:
        (void)snprintf(why, sizeof why, "%u device%s read%s %s", o->plan.devices_count,
                       o->plan.devices_count == 1 ? "" : "s", o->plan.devices_count == 1 ? "s" : "",
                       o->is_power_on ? "on" : "off");
        end_order(r, o, HF_OUT_DONE, why, now);
        return;
    case PLAN_FAILED:
        give_up(r, o, device, &device->status,
                o->is_power_on ? "on returned success, but status"
                               : "off returned success, but status",
                now);
        return;
    case PLAN_VERIFYING:
        if (o->plan.is_verified[d])
            return;
        if (hf_time_reached(now, o->deadline) || ask_status(r, o, device, &err) != HF_OK)
            give_up(r, o, device, &device->status, "status", now);
        return;
    case PLAN_SWITCHING:
    case PLAN_PHASES:
        break;
    }
    HF_NEVER("verifying ends done, failed or goes on");
}

static void verifying_go_on(struct runner *r, struct runner_order *o, hf_time now)
{
    for (uint8_t d = 0; d < o->plan.devices_count && o->is_used; d++)
        if (!o->plan.is_verified[d] && exec_go_on(&o->device[d].status, now))
            status_ended(r, o, d, now);
}

static void order_go_on(struct runner *r, struct runner_order *o, hf_time now)
{
    switch (o->plan.phase) {
    case PLAN_SWITCHING:
        switching_go_on(r, o, now);
        /* A prepared interpreter that ends by itself is started again when it is needed. */
        for (unsigned d = 0; d < o->plan.devices_count && o->is_used; d++)
            if (!o->device[d].status.is_fed)
                (void)exec_go_on(&o->device[d].status, now);
        return;
    case PLAN_VERIFYING:
        verifying_go_on(r, o, now);
        return;
    case PLAN_DONE:
    case PLAN_FAILED:
    case PLAN_PHASES:
        break;
    }
    HF_NEVER("an ended order in work");
}

/* ---- the door ---- */

enum hf_code runner_connect(struct runner *r, int door, struct hf_err *err)
{
    struct hf_report hello = {.kind = HF_REPORT_HELLO};

    HF_ASSERT(r->door < 0);
    r->door = door;
    r->queue_count = 0;
    hello.u.hello.agent = HF_AGENT_FENCE;
    hello.u.hello.pid = (uint32_t)getpid();
    r->queue[r->queue_count++] = hello;
    return send_queue(r, err);
}

void runner_disconnect(struct runner *r)
{
    if (r->door >= 0)
        close(r->door);
    r->door = -1;
    r->queue_count = 0;
    for (unsigned i = 0; i < HF_NODES_MAX; i++) {
        if (!r->order[i].is_used)
            continue;
        hf_warning("node=%s fence level %u: stopped: no daemon to tell", r->order[i].target,
                   r->order[i].level + 1u);
        kill_runs(&r->order[i]);
        r->order[i].is_used = false;
    }
    trial_kill_all(r);
}

static void drop(struct runner *r, struct hf_token token)
{
    for (unsigned i = 0; i < HF_NODES_MAX; i++) {
        if (!r->order[i].is_used || !hf_token_same(r->order[i].token, token))
            continue;
        hf_info("node=%s fence level %u: dropped", r->order[i].target, r->order[i].level + 1u);
        kill_runs(&r->order[i]);
        r->order[i].is_used = false;
    }
}

static enum hf_code take_with_text(struct runner *r, const struct hf_report *report, int ride,
                                   hf_time now, struct hf_err *err)
{
    void *text;
    size_t len;

    if (ride < 0)
        return hf_err_set(err, HF_EBAD, "fence order without its configuration");
    if (door_memory_read(ride, HF_CONFIG_TEXT_MAX, &text, &len, err) != HF_OK)
        return hf_err_wrap(err, "fence order's configuration");
    if (report->kind == HF_REPORT_FENCE)
        runner_fence(r, report, text, len, now);
    else
        runner_test(r, report, text, len, now);
    free(text);
    return HF_OK;
}

static enum hf_code take(struct runner *r, const struct hf_report *report, int ride, hf_time now,
                         struct hf_err *err)
{
    if (report->kind == HF_REPORT_FENCE || report->kind == HF_REPORT_TEST)
        return take_with_text(r, report, ride, now, err);
    if (report->kind == HF_REPORT_DROP) {
        drop(r, report->u.drop.token);
        return HF_OK;
    }
    return hf_err_set(err, HF_EBAD, "the daemon sent a report of kind %d", (int)report->kind);
}

static enum hf_code receive(struct runner *r, hf_time now, struct hf_err *err)
{
    enum hf_code code = HF_OK;

    while (code == HF_OK) {
        uint8_t bytes[HF_REPORT_BYTES_MAX];
        struct hf_report report;
        size_t len;
        int ride = -1;

        code = door_receive(r->door, bytes, sizeof bytes, &len, &ride, err);
        if (code != HF_OK)
            break;
        code = report_decode(bytes, len, &report, err);
        if (code == HF_OK)
            code = take(r, &report, ride, now, err);
        if (ride >= 0)
            close(ride);
    }
    return code == HF_EAGAIN ? HF_OK : code;
}

static size_t poll_run(const struct exec_run *run, struct pollfd *fds, hf_time *deadline)
{
    if (run->end == EXEC_RUNNING && run->deadline.ns < deadline->ns)
        *deadline = run->deadline;
    return exec_poll(run, fds);
}

size_t runner_poll(const struct runner *r, struct pollfd fds[RUNNER_FDS_MAX], hf_time *deadline)
{
    size_t count = 0;

    *deadline = (hf_time){INT64_MAX};
    if (r->door >= 0)
        fds[count++] = (struct pollfd){
            .fd = r->door, .events = (short)(POLLIN | (r->queue_count > 0 ? POLLOUT : 0))};
    for (unsigned i = 0; i < HF_NODES_MAX; i++) {
        const struct runner_order *o = &r->order[i];

        for (unsigned d = 0; o->is_used && d < o->plan.devices_count; d++) {
            count += poll_run(&o->device[d].off, fds + count, deadline);
            count += poll_run(&o->device[d].status, fds + count, deadline);
        }
    }
    count += trial_poll(r, fds + count, deadline);
    return count;
}

enum hf_code runner_go_on(struct runner *r, hf_time now, struct hf_err *err)
{
    enum hf_code code = HF_OK;

    for (unsigned i = 0; i < HF_NODES_MAX; i++)
        if (r->order[i].is_used)
            order_go_on(r, &r->order[i], now);
    if (r->door >= 0)
        code = receive(r, now, err);
    trial_go_on(r, now); /* after the orders, also those that came just now */
    if (r->door >= 0 && code == HF_OK)
        code = send_queue(r, err);
    return code;
}
