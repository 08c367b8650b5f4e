/* trial.c - self-tests: each device of a level is asked for its power and for its host, beside
 * whatever orders are under way and never instead of them. */
#include "fencing/runner/internal.h"

#include <stdio.h>
#include <string.h>

#include "fencing/credentials.h"
#include "supervisord/base/assert.h"
#include "supervisord/base/log.h"
#include "supervisord/base/str.h"
#include "supervisord/model/names.h"

void trial_init(struct runner *r)
{
    for (unsigned i = 0; i < RUNNER_TESTS_MAX; i++) {
        r->test[i].is_used = false;
        r->test[i].devices_count = 0;
        for (unsigned d = 0; d < HF_FENCE_DEVICES_MAX; d++)
            exec_init(&r->test[i].device[d].run);
    }
}

/* ---- answers ---- */

static void tell(struct runner *r, uint32_t number, const char *target, uint8_t level,
                 struct verdict_level found, int64_t took_ms, const char *why)
{
    struct hf_report report = {.kind = HF_REPORT_TESTED};

    report.u.tested.number = number;
    report.u.tested.found = found.found;
    report.u.tested.hardware = found.hardware;
    report.u.tested.took_ms = (uint32_t)took_ms;
    (void)hf_str_copy(report.u.tested.why, sizeof report.u.tested.why, why);
    /* Whether it is news is known to the group only, and said there. */
    hf_debug("node=%s fence level %u: test %u: %s: %s (%lld ms)", target, level + 1u, number,
             hf_path_name(found.found), why, (long long)took_ms);
    runner_answer(r, &report);
}

static void kill_test(struct runner_test *t)
{
    for (unsigned d = 0; d < t->devices_count; d++)
        exec_kill(&t->device[d].run);
    t->is_used = false;
}

static void not_tried(struct runner *r, struct runner_test *t, const char *why, hf_time now)
{
    struct verdict_level nothing = {.found = HF_PATH_UNKNOWN};

    kill_test(t);
    tell(r, t->number, t->target, t->level, nothing, hf_time_since_ms(now, t->began), why);
}

/* The words of the device that decides; of all of them when all is well. */
static void sentence(const struct runner_test *t, const struct verdict_level *found, char *out,
                     size_t cap)
{
    const struct runner_trial *first = &t->device[found->device];
    size_t at = 0;

    if (found->is_torn) {
        (void)snprintf(out, cap, "%.60s and %.60s switch different hosts", first->def.name,
                       t->device[found->other].def.name);
        return;
    }
    out[0] = '\0';
    for (unsigned d = 0; d < t->devices_count && at + 1 < cap; d++) {
        int len;

        if (found->found != HF_PATH_OK && d != found->device)
            continue;
        len = snprintf(out + at, cap - at, "%s%.63s: %s", at > 0 ? "; " : "", t->device[d].def.name,
                       t->device[d].why);
        at += len > 0 ? (size_t)len : 0;
    }
}

static void finish(struct runner *r, struct runner_test *t, hf_time now)
{
    struct verdict_device results[HF_FENCE_DEVICES_MAX];
    struct verdict_level found;
    char why[HF_REASON_MAX + 1];

    for (unsigned d = 0; d < t->devices_count; d++)
        results[d] = t->device[d].result;
    found = verdict_of_level(results, t->devices_count);
    sentence(t, &found, why, sizeof why);
    t->is_used = false;
    tell(r, t->number, t->target, t->level, found, hf_time_since_ms(now, t->began), why);
}

/* ---- one device ---- */

static void end_device(struct runner_trial *device, enum hf_path found, const char *why)
{
    device->stage = RUNNER_TRIED;
    device->result.found = found;
    (void)hf_str_copy(device->why, sizeof device->why, why);
}

static enum exec_haste haste_of(const struct runner_test *t)
{
    return t->is_hurried ? EXEC_NOW : EXEC_IDLE;
}

static void ask_power(struct runner *r, struct runner_test *t, struct runner_trial *device)
{
    struct exec_param params[HF_FENCE_PARAMS_MAX];
    struct exec_input in;
    struct hf_err err;
    const char *why;
    enum hf_code code;

    for (unsigned i = 0; i < device->def.params_count; i++)
        params[i] = (struct exec_param){device->def.params[i].key, device->def.params[i].value};
    why = verdict_privilege(params, device->def.params_count);
    if (why != NULL) {
        end_device(device, HF_PATH_DENIED, why);
        return;
    }
    code = runner_input(r, &device->def, EXEC_STATUS, &in, &err);
    if (code != HF_OK) { /* whatever the system says of it: this path cannot be used */
        end_device(device, HF_PATH_BROKEN, err.text);
        return;
    }
    code = exec_spawn(&device->run, r->settings.agents, device->def.agent, haste_of(t), t->deadline,
                      &err);
    if (code == HF_OK)
        exec_feed(&device->run, &in);
    else
        end_device(device, verdict_of_error(code), err.text);
    exec_input_wipe(&in);
}

/* False: there is no such question to this device, or no tool for it. */
static bool ask_host(struct runner *r, struct runner_test *t, struct runner_trial *device)
{
    struct exec_param params[HF_FENCE_PARAMS_MAX];
    struct credentials secrets;
    struct identity id;
    struct hf_err err;
    bool is_asked = false;

    for (unsigned i = 0; i < device->def.params_count; i++)
        params[i] = (struct exec_param){device->def.params[i].key, device->def.params[i].value};
    id.way = IDENTITY_NONE;
    id.in.len = 0;
    if (credentials_read(r->settings.credentials, device->def.credentials, &secrets, &err) == HF_OK)
        identity_ask(&id, device->def.agent, params, device->def.params_count, &secrets);
    credentials_wipe(&secrets);
    if (id.way != IDENTITY_NONE && exec_spawn_tool(&device->run, r->settings.tools, id.argv,
                                                   haste_of(t), t->deadline, &err) == HF_OK) {
        exec_feed(&device->run, &id.in);
        device->way = id.way;
        device->stage = RUNNER_IDENTIFYING;
        is_asked = true;
    }
    identity_wipe(&id);
    return is_asked;
}

static struct verdict_run as_verdict_run(const struct exec_run *run)
{
    return (struct verdict_run){.end = run->end,
                                .code = run->code,
                                .out = run->out_text,
                                .errors = run->errors_text,
                                .out_len = run->out_len,
                                .errors_len = run->errors_len};
}

static const char *reading(const struct exec_run *run)
{
    return proof_status(run->code, run->out_text, run->out_len) == PROOF_READS_OFF ? "reads off"
                                                                                   : "reads on";
}

static void power_told(struct runner *r, struct runner_test *t, struct runner_trial *device,
                       hf_time now)
{
    struct verdict_run run = as_verdict_run(&device->run);
    enum hf_path found = verdict_of_status(&run);
    bool is_vague = verdict_is_vague(&run);
    char said[RUNNER_SAID_MAX + 1];

    if (found == HF_PATH_OK)
        (void)hf_str_copy(said, sizeof said, reading(&device->run));
    else
        runner_words(r, &device->def, &device->run, said);
    end_device(device, found, said);
    if ((found == HF_PATH_OK || is_vague) && !hf_time_reached(now, t->deadline))
        (void)ask_host(r, t, device); /* it goes on then */
}

/* A device that works and does not tell its host works all the same. One whose agent could not say
 * what is wrong may have been clearer now. */
static void host_told(struct runner *r, struct runner_trial *device)
{
    struct verdict_run run = as_verdict_run(&device->run);
    char said[RUNNER_SAID_MAX + 1];
    enum hf_path found;

    device->stage = RUNNER_TRIED;
    if (run.end == EXEC_EXITED && run.code == 0 &&
        identity_read(device->way, run.out, run.out_len, &device->result.hardware))
        return;
    device->result.hardware = 0;
    found = verdict_of_question(&run);
    runner_words(r, &device->def, &device->run, said);
    if (device->result.found != HF_PATH_OK && found != HF_PATH_UNKNOWN) {
        end_device(device, found, said);
    } else if (device->result.found == HF_PATH_OK) {
        size_t at = strlen(device->why);

        (void)snprintf(device->why + at, sizeof device->why - at, ", does not tell its host: %s",
                       said);
    }
}

/* ---- one test ---- */

static struct runner_test *test_of(struct runner *r, const char *target, uint8_t level)
{
    for (unsigned i = 0; i < RUNNER_TESTS_MAX; i++)
        if (r->test[i].is_used && r->test[i].level == level &&
            strcmp(r->test[i].target, target) == 0)
            return &r->test[i];
    return NULL;
}

static struct runner_test *test_free(struct runner *r)
{
    for (unsigned i = 0; i < RUNNER_TESTS_MAX; i++)
        if (!r->test[i].is_used)
            return &r->test[i];
    return NULL;
}

static void begin(struct runner *r, struct runner_test *t, const struct hf_fence_level *level)
{
    t->devices_count = level->devices_count;
    for (unsigned d = 0; d < t->devices_count; d++) {
        struct runner_trial *device = &t->device[d];

        exec_init(&device->run);
        device->def = r->config.devices[level->device[d]];
        device->stage = RUNNER_ASKING;
        device->way = IDENTITY_NONE;
        device->result = (struct verdict_device){HF_PATH_UNKNOWN, 0};
        device->why[0] = '\0';
        ask_power(r, t, device);
    }
}

void runner_test(struct runner *r, const struct hf_report *test, const char *text, size_t len,
                 hf_time now)
{
    const char *target = test->u.test.target;
    struct runner_test *t = test_of(r, target, test->u.test.level);
    struct verdict_level found = {.found = HF_PATH_UNKNOWN};
    const struct hf_fence_level *level;
    struct hf_err err;

    HF_ASSERT(test->kind == HF_REPORT_TEST);
    if (t != NULL)
        not_tried(r, t, "asked again before it was over", now);
    t = test_free(r);
    if (t == NULL || runner_has_order(r, target)) {
        tell(r, test->u.test.number, target, test->u.test.level, found, 0,
             t == NULL ? "too many tests at a time" : "an order against this node is under way");
        return;
    }
    level = runner_level(r, text, len, target, test->u.test.level, &err);
    if (level == NULL) {
        found.found = HF_PATH_BROKEN;
        tell(r, test->u.test.number, target, test->u.test.level, found, 0, err.text);
        return;
    }
    t->is_used = true;
    t->is_hurried = false;
    t->number = test->u.test.number;
    (void)hf_str_copy(t->target, sizeof t->target, target);
    t->level = test->u.test.level;
    t->began = now;
    t->deadline = hf_time_add_ms(now, test->u.test.deadline_ms);
    t->hurry_at = hf_time_add_ms(now, test->u.test.deadline_ms / 2);
    begin(r, t, level);
}

void trial_cancel(struct runner *r, const char *target, hf_time now)
{
    for (unsigned i = 0; i < RUNNER_TESTS_MAX; i++)
        if (r->test[i].is_used && strcmp(r->test[i].target, target) == 0)
            not_tried(r, &r->test[i], "an order against this node came first", now);
}

void trial_kill_all(struct runner *r)
{
    for (unsigned i = 0; i < RUNNER_TESTS_MAX; i++)
        if (r->test[i].is_used)
            kill_test(&r->test[i]);
}

/* On a busy host spare time may never come, and a deadline missed for that would be called a dead
 * device. While somebody is being fenced, the test waits all the same. */
static void hurry(const struct runner *r, struct runner_test *t, hf_time now)
{
    if (t->is_hurried || !hf_time_reached(now, t->hurry_at) || runner_has_order(r, NULL))
        return;
    t->is_hurried = true;
    for (unsigned d = 0; d < t->devices_count; d++)
        exec_hurry(&t->device[d].run);
}

static void device_go_on(struct runner *r, struct runner_test *t, struct runner_trial *device,
                         hf_time now)
{
    if (device->stage == RUNNER_TRIED || !exec_go_on(&device->run, now))
        return;
    if (device->stage == RUNNER_ASKING)
        power_told(r, t, device, now);
    else
        host_told(r, device);
}

void trial_go_on(struct runner *r, hf_time now)
{
    for (unsigned i = 0; i < RUNNER_TESTS_MAX; i++) {
        struct runner_test *t = &r->test[i];
        unsigned tried = 0;

        if (!t->is_used)
            continue;
        hurry(r, t, now);
        for (unsigned d = 0; d < t->devices_count; d++) {
            device_go_on(r, t, &t->device[d], now);
            tried += t->device[d].stage == RUNNER_TRIED;
        }
        if (tried == t->devices_count)
            finish(r, t, now);
    }
}

size_t trial_poll(const struct runner *r, struct pollfd *fds, hf_time *deadline)
{
    bool may_hurry = !runner_has_order(r, NULL);
    size_t count = 0;

    for (unsigned i = 0; i < RUNNER_TESTS_MAX; i++) {
        const struct runner_test *t = &r->test[i];

        if (!t->is_used)
            continue;
        if (t->deadline.ns < deadline->ns)
            *deadline = t->deadline;
        if (may_hurry && !t->is_hurried && t->hurry_at.ns < deadline->ns)
            *deadline = t->hurry_at;
        for (unsigned d = 0; d < t->devices_count; d++)
            count += exec_poll(&t->device[d].run, fds + count);
    }
    return count;
}
