#include "fencing/feeder/feeder.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisord/base/log.h"
#include "supervisord/base/str.h"
#include "supervisord/door/door.h"
#include "supervisord/model/names.h"

void feeder_init(struct feeder *f, const char *door_path)
{
    *f = (struct feeder){.door_path = door_path, .door = -1};
    device_init(&f->device);
    f->retry_ms = FEEDER_RETRY_MS_MIN;
}

static hf_time earlier(hf_time a, hf_time b)
{
    return a.ns < b.ns ? a : b;
}

/* ---- the device ---- */

/* Copy what the pure side has to know of a device that was just opened. */
static void take_device(struct feeder *f, bool is_fit, hf_time began)
{
    uint32_t timeout_ms = f->device.timeout_ms > 0 ? f->device.timeout_ms : FEED_TIMEOUT_MS_MIN;

    f->fed = (struct feed_device){.is_open = f->device.fd >= 0,
                                  .can_close = f->device.can_close,
                                  .is_unfit = !is_fit,
                                  .timeout_ms = timeout_ms,
                                  .lease_ms = f->word.lease_ms,
                                  .fed = began,
                                  .prove_at = hf_time_add_ms(hf_clock_now(), FEEDER_PROVE_MS)};
    f->fed.is_proved = is_fit && (!f->device.can_read_left || timeout_ms < FEEDER_PROVE_TIMEOUT_MS);
}

static void fail(struct feeder *f, hf_time now)
{
    f->fed.retry_at = hf_time_add_ms(now, f->retry_ms);
    f->retry_ms = f->retry_ms * 2 < FEEDER_RETRY_MS_MAX ? f->retry_ms * 2 : FEEDER_RETRY_MS_MAX;
}

static void open_device(struct feeder *f, hf_time now)
{
    bool is_fit = device_open(&f->device, f->path, f->word.timeout_ms, f->allow_softdog);

    take_device(f, is_fit, now);
    if (!is_fit)
        fail(f, now);
    else
        hf_info("watchdog: %s '%s' is open: timeout %u ms, lease %u ms", f->path,
                f->device.identity, f->device.timeout_ms, f->fed.lease_ms);
}

static void close_device(struct feeder *f)
{
    struct hf_err err;

    if (device_close(&f->device, &err) == HF_OK)
        hf_info("watchdog: %s is stopped and closed", f->device.path);
    else
        hf_error("watchdog: %s: this host may be reset", err.text);
    f->fed = (struct feed_device){0};
    f->is_look_due = true;
}

static void prove_device(struct feeder *f, hf_time now)
{
    struct hf_err err;

    if (device_prove(&f->device, &err)) {
        f->fed.is_proved = true;
        f->fed.fed = now;
        f->retry_ms = FEEDER_RETRY_MS_MIN;
        return;
    }
    hf_error("watchdog: %s", err.text);
    f->fed.fed = now;
    f->fed.is_unfit = true;
    if (f->device.can_close) {
        (void)device_close(&f->device, &err);
        f->fed = (struct feed_device){0};
    }
    fail(f, now);
}

static void ping_device(struct feeder *f, hf_time now)
{
    enum hf_code code;
    struct hf_err err;

    code = device_ping(&f->device, &err);
    if (code != HF_OK && !f->is_ping_refused)
        hf_error("watchdog: %s: this host will be reset", err.text);
    else if (code == HF_OK && hf_time_since_ms(now, f->fed.fed) > f->fed.timeout_ms / 2)
        hf_warning("watchdog: fed late, %lld ms after the ping before",
                   (long long)hf_time_since_ms(now, f->fed.fed));
    f->is_ping_refused = code != HF_OK;
    f->fed.fed = now; /* also a refused one: the next is due a fifth later */
}

/* Every act but waiting changes what made it due, so this ends; the bound is for our own mistakes.
 */
static void serve_device(struct feeder *f)
{
    for (unsigned i = 0; i < 8; i++) {
        hf_time now = hf_clock_now();

        f->verdict = feed(&f->word, &f->fed, now);
        switch (f->verdict.act) {
        case FEED_PING:
            ping_device(f, now);
            break;
        case FEED_OPEN:
            open_device(f, now);
            break;
        case FEED_PROVE:
            prove_device(f, now);
            break;
        case FEED_CLOSE:
            close_device(f);
            break;
        case FEED_WAIT:
        case FEED_STARVE:
        case FEED_UNDECIDED:
        case FEED_ACTS:
            return;
        }
    }
}

/* A feeder that died left it running, and now nobody wants it: without this the host would be reset
 * for nothing. Opening takes it over, closing stops it. */
static void stop_left_running(struct feeder *f)
{
    struct hf_err err;

    if (!f->device.was_running || f->word.wants_armed || !f->word.is_told)
        return;
    if (!device_open(&f->device, f->path, FEED_TIMEOUT_MS_MAX, f->allow_softdog)) {
        hf_warning("watchdog: %s runs and is not ours: %s", f->path, f->device.why);
        if (f->device.fd >= 0)
            take_device(f, false, hf_clock_now());
        return;
    }
    if (!f->device.can_close) {
        take_device(f, true, hf_clock_now());
        return;
    }
    if (device_close(&f->device, &err) == HF_OK)
        hf_info("watchdog: %s was left running; it is stopped", f->path);
    else
        hf_error("watchdog: %s: this host may be reset", err.text);
}

/* Closed: is it there, what is it? Not while an attempt to open it has its own word. */
static void look_at_device(struct feeder *f)
{
    hf_time now = hf_clock_now();
    bool was_due = f->is_look_due;

    if (f->fed.is_open || f->path[0] == '\0' || (!was_due && !hf_time_reached(now, f->look_at)))
        return;
    f->is_look_due = false;
    f->look_at = hf_time_add_ms(now, FEEDER_LOOK_MS);
    if (f->word.wants_armed && f->fed.retry_at.ns > 0)
        return;
    /* Who held it when we wanted to stop it holds it until the wish changes: one word, not two. */
    if (!was_due && f->device.state == HF_WD_BUSY)
        return;
    device_look(&f->device, f->path, f->allow_softdog);
    if (was_due)
        stop_left_running(f);
}

/* ---- speaking ---- */

static void say_why(struct hf_report *report, const char *why)
{
    (void)hf_str_copy(report->u.watchdog.why, sizeof report->u.watchdog.why, why);
}

static void report_open(const struct feeder *f, struct hf_report *report)
{
    char *why = report->u.watchdog.why;
    size_t cap = sizeof report->u.watchdog.why;

    if (f->verdict.want == FEED_UNSTOPPABLE || !f->fed.is_proved) {
        report->u.watchdog.state = f->fed.is_unfit ? f->device.state : HF_WD_DISARMED;
        say_why(report, f->fed.is_unfit ? f->device.why : f->verdict.why);
        return;
    }
    report->u.watchdog.state = HF_WD_ARMED;
    report->u.watchdog.timeout_ms = f->fed.timeout_ms;
    report->u.watchdog.lease_ms = f->fed.lease_ms;
    report->u.watchdog.is_held = f->turned_at.ns < f->word.hold_until.ns;
    if (f->verdict.rule == FEED_STARVE)
        (void)snprintf(why, cap, "%s: this host is about to be reset", f->verdict.why);
    else if (f->is_ping_refused)
        (void)snprintf(why, cap, "the driver refuses pings: this host is about to be reset");
    else if (f->word.lease_ms != f->fed.lease_ms)
        (void)snprintf(why, cap,
                       "another lease (%u ms) is wanted: takes effect when it is armed "
                       "anew",
                       f->word.lease_ms);
    else
        say_why(report, f->device.why);
}

static void report_closed(const struct feeder *f, struct hf_report *report)
{
    report->u.watchdog.state = f->path[0] == '\0' ? HF_WD_UNUSED : f->device.state;
    if (report->u.watchdog.state == HF_WD_DISARMED && f->word.wants_armed)
        say_why(report, f->verdict.why);
    else if (f->path[0] != '\0')
        say_why(report, f->device.why);
}

void feeder_report(const struct feeder *f, struct hf_report *report)
{
    *report = (struct hf_report){.kind = HF_REPORT_WATCHDOG};
    if (!f->word.is_told) /* it speaks first: what it is told depends on what it is */
        say_why(report, "the daemon has not said yet which watchdog to use");
    else if (f->fed.is_open)
        report_open(f, report);
    else
        report_closed(f, report);
    report->u.watchdog.was_reset = f->device.was_reset;
    report->u.watchdog.version = FEEDER_VERSION;
    (void)hf_str_copy(report->u.watchdog.identity, sizeof report->u.watchdog.identity,
                      f->device.identity);
}

static void log_change(struct feeder *f, const struct hf_report *report)
{
    enum hf_watchdog state = report->u.watchdog.state;
    const char *why = report->u.watchdog.why;
    bool is_well = state == HF_WD_ARMED || state == HF_WD_DISARMED || state == HF_WD_UNUSED ||
                   state == HF_WD_UNKNOWN;

    if (state == f->logged_state && strcmp(why, f->logged_why) == 0)
        return;
    f->logged_state = state;
    (void)hf_str_copy(f->logged_why, sizeof f->logged_why, why);
    if (f->verdict.rule == FEED_STARVE)
        hf_error("watchdog: %s", why);
    else
        hf_log(is_well ? HF_LOG_INFO : HF_LOG_WARNING, "watchdog: %s%s%s", hf_watchdog_name(state),
               why[0] == '\0' ? "" : ": ", why);
}

/* ---- the door ---- */

static void lose(struct feeder *f, uint32_t wait_ms, const char *why)
{
    if (f->door >= 0)
        close(f->door);
    f->door = -1;
    f->said_len = 0;
    f->connect_at = hf_time_add_ms(hf_clock_now(), wait_ms);
    if (!f->is_trouble_told)
        hf_warning("daemon: no connection: %s", why);
    f->is_trouble_told = true;
}

static void connect_door(struct feeder *f)
{
    struct hf_report hello = {.kind = HF_REPORT_HELLO};
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    struct hf_err err;

    if (f->door >= 0 || !hf_time_reached(hf_clock_now(), f->connect_at))
        return;
    hello.u.hello.agent = HF_AGENT_FEEDER;
    hello.u.hello.pid = (uint32_t)getpid();
    if (door_connect(f->door_path, &f->door, &err) != HF_OK) {
        f->door = -1;
        lose(f, FEEDER_CONNECT_MS, err.text);
        return;
    }
    if (door_send(f->door, bytes, report_encode(&hello, bytes), -1, &err) != HF_OK) {
        lose(f, FEEDER_CONNECT_MS, err.text);
        return;
    }
    f->is_heard = false;
}

static void say(struct feeder *f)
{
    uint8_t bytes[HF_REPORT_BYTES_MAX];
    hf_time now = hf_clock_now();
    struct hf_report report;
    struct hf_err err;
    enum hf_code code;
    size_t len;

    feeder_report(f, &report);
    log_change(f, &report);
    if (f->door < 0)
        return;
    len = report_encode(&report, bytes);
    if (len == f->said_len && memcmp(bytes, f->said, len) == 0 && !hf_time_reached(now, f->say_at))
        return;
    code = door_send(f->door, bytes, len, -1, &err);
    f->say_at = hf_time_add_ms(now, FEEDER_SAY_MS);
    if (code == HF_EAGAIN) { /* it does not read: the next turn tries again */
        f->said_len = 0;
        f->say_at = hf_time_add_ms(now, FEEDER_CONNECT_MS);
    } else if (code != HF_OK) {
        lose(f, FEEDER_CONNECT_MS, err.text);
    } else {
        f->said_len = len;
        memcpy(f->said, bytes, len);
    }
}

/* Where the device is, and whether a software one will do. Only a closed one can change. */
static void take_place(struct feeder *f, const struct hf_report *lease)
{
    if (f->fed.is_open || (strcmp(f->path, lease->u.lease.device) == 0 &&
                           f->allow_softdog == lease->u.lease.allow_softdog))
        return;
    (void)hf_str_copy(f->path, sizeof f->path, lease->u.lease.device);
    f->allow_softdog = lease->u.lease.allow_softdog;
    f->is_look_due = true;
    f->fed.retry_at = (hf_time){0};
    f->retry_ms = FEEDER_RETRY_MS_MIN;
}

static bool take_lease(struct feeder *f, const struct hf_report *lease)
{
    const struct feed_word said = {.wants_armed = lease->u.lease.wants_armed,
                                   .timeout_ms = lease->u.lease.timeout_ms,
                                   .lease_ms = lease->u.lease.lease_ms,
                                   .sent = {lease->u.lease.sent_ns},
                                   .hold_until = {lease->u.lease.hold_until_ns}};
    bool was_wanted = f->word.wants_armed;

    if (!feed_fits(&said) || (said.wants_armed && lease->u.lease.device[0] != '/'))
        return false;
    take_place(f, lease);
    feed_told(&f->word, &said, hf_clock_now());
    if (said.wants_armed != was_wanted) {
        f->fed.retry_at = f->fed.is_open ? f->fed.retry_at : (hf_time){0};
        f->is_look_due = true;
    }
    return true;
}

static void hear(struct feeder *f)
{
    if (!f->is_heard)
        hf_info("daemon: connected at %s", f->door_path);
    f->is_heard = true;
    f->is_trouble_told = false;
}

void feeder_listen(struct feeder *f)
{
    for (unsigned i = 0; i < FEEDER_RECORDS && f->door >= 0; i++) {
        uint8_t bytes[HF_REPORT_BYTES_MAX];
        struct hf_report report;
        struct hf_err err;
        size_t len;
        enum hf_code code = door_receive(f->door, bytes, sizeof bytes, &len, NULL, &err);

        if (code == HF_EAGAIN)
            return;
        if (code == HF_OK)
            code = report_decode(bytes, len, &report, &err);
        if (code == HF_OK && (report.kind != HF_REPORT_LEASE || !take_lease(f, &report)))
            code = hf_err_set(&err, HF_EBAD, "the daemon says what a feeder does not understand");
        if (code == HF_OK)
            hear(f);
        else
            lose(f, code == HF_ECLOSED ? FEEDER_CONNECT_MS : FEEDER_DISTRUST_MS, err.text);
    }
}

/* ---- one turn ---- */

hf_time feeder_turn(struct feeder *f)
{
    hf_time next;

    serve_device(f);
    connect_door(f);
    look_at_device(f);
    serve_device(f);
    f->turned_at = hf_clock_now();
    say(f);
    next = f->verdict.next;
    if (!f->fed.is_open && f->path[0] != '\0')
        next = earlier(next, f->look_at);
    if (f->door < 0)
        return earlier(next, f->connect_at);
    return earlier(next, f->say_at);
}
