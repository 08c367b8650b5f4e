#include "supervisord/ctl/cmd.h"

#include "supervisord/base/str.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <time.h>

void cmd_say(const char *format, ...)
{
    char text[2048];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)fputs("holdfast: ", stderr);
    table_wrap(stderr, text, TABLE_WIDTH_MAX, 0);
}

void cmd_age(int64_t ms, char out[24])
{
    int64_t s = (ms > 0 ? ms : 0) / 1000;

    if (s < 120)
        (void)snprintf(out, 24, "%" PRId64 " s", s);
    else if (s < 120 * 60)
        (void)snprintf(out, 24, "%" PRId64 " min", s / 60);
    else if (s < 48 * 3600)
        (void)snprintf(out, 24, "%" PRId64 " h", s / 3600);
    else
        (void)snprintf(out, 24, "%" PRId64 " d", s / 86400);
}

void cmd_mib(uint64_t mib, char out[24])
{
    if (mib < 1024)
        (void)snprintf(out, 24, "%" PRIu64 " MiB", mib);
    else if (mib % 1024 == 0 || mib >= 100 * 1024)
        (void)snprintf(out, 24, "%" PRIu64 " GiB", mib / 1024);
    else
        (void)snprintf(out, 24, "%" PRIu64 ".%" PRIu64 " GiB", mib / 1024, mib % 1024 * 10 / 1024);
}

bool cmd_to_mib(const char *text, uint32_t *mib)
{
    static const struct {
        const char *unit;
        uint64_t mib;
    } units[] = {{"M", 1},      {"MiB", 1},         {"G", 1024},
                 {"GiB", 1024}, {"T", 1024 * 1024}, {"TiB", 1024 * 1024}};
    char number[16];
    size_t digits = strspn(text, "0123456789");
    uint64_t value;

    if (digits == 0 || digits >= sizeof number)
        return false;
    memcpy(number, text, digits);
    number[digits] = '\0';
    if (!hf_str_to_u64(number, UINT32_MAX, &value))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcasecmp(text + digits, units[i].unit) != 0)
            continue;
        if (value == 0 || value > UINT32_MAX / units[i].mib)
            return false;
        *mib = (uint32_t)(value * units[i].mib);
        return true;
    }
    return false;
}

static bool local_time(const char *rfc3339, struct tm *local, int *ms)
{
    struct tm utc;
    time_t seconds;
    const char *rest;

    memset(&utc, 0, sizeof utc);
    rest = strptime(rfc3339, "%Y-%m-%dT%H:%M:%S", &utc);
    if (rest == NULL)
        return false;
    *ms = 0;
    if (rest[0] == '.' && strspn(rest + 1, "0123456789") >= 3)
        *ms = (rest[1] - '0') * 100 + (rest[2] - '0') * 10 + (rest[3] - '0');
    seconds = timegm(&utc);
    return localtime_r(&seconds, local) != NULL;
}

void cmd_clock(const char *rfc3339, const char *now, bool has_ms, char out[40])
{
    struct tm then, today;
    int ms, now_ms;
    char text[32];

    if (!local_time(rfc3339, &then, &ms)) {
        (void)snprintf(out, 40, "?");
        return;
    }
    if (local_time(now, &today, &now_ms) && today.tm_yday == then.tm_yday &&
        today.tm_year == then.tm_year)
        (void)strftime(text, sizeof text, "%H:%M:%S", &then);
    else
        (void)strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &then);
    if (has_ms)
        (void)snprintf(out, 40, "%s.%03d", text, ms);
    else
        (void)snprintf(out, 40, "%s", text);
}

const char *cmd_str(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

int64_t cmd_int(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

bool cmd_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

enum table_style cmd_state_style(const char *state)
{
    static const struct {
        const char *state;
        enum table_style style;
    } styles[] = {
        {"member", TABLE_GOOD},  {"running", TABLE_GOOD},    {"absent", TABLE_WARN},
        {"joining", TABLE_WARN}, {"silent", TABLE_BAD},      {"lost", TABLE_BAD},
        {"fencing", TABLE_BAD},  {"dead", TABLE_BAD},        {"waiting for proof", TABLE_BAD},
        {"placing", TABLE_WARN}, {"starting", TABLE_WARN},   {"stopping", TABLE_WARN},
        {"failed", TABLE_BAD},   {"unplaceable", TABLE_BAD}, {"held", TABLE_WARN},
        {"stopped", TABLE_DIM},
    };

    for (size_t i = 0; i < sizeof styles / sizeof styles[0]; i++)
        if (strcmp(state, styles[i].state) == 0)
            return styles[i].style;
    return TABLE_PLAIN;
}
