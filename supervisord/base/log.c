#include "supervisord/base/log.h"

#include "supervisord/base/clock.h"
#include "supervisord/base/stderr.h"
#include "supervisord/base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { LINE_MAX_BYTES = 500 }; /* with the newline; below PIPE_BUF, so a pipe takes it whole */

struct line {
    char bytes[LINE_MAX_BYTES];
    size_t len;
};

/* Set once before threads start, but for the counter. */
static const char *log_program = "holdfast";
static enum hf_level log_most = HF_LOG_INFO;
static bool log_for_journal;
static _Atomic unsigned log_lost;

void hf_log_open(const char *program, enum hf_level most, bool for_journal)
{
    log_program = program;
    log_most = most;
    log_for_journal = for_journal;
    atomic_store(&log_lost, 0);
}

static const char *level_name(enum hf_level level)
{
    switch (level) {
    case HF_LOG_ERROR:
        return "ERROR";
    case HF_LOG_WARNING:
        return "WARNING";
    case HF_LOG_INFO:
        return "INFO";
    case HF_LOG_DEBUG:
        return "DEBUG";
    }
    return "?";
}

static void begin(struct line *line, enum hf_level level)
{
    hf_wall wall = hf_clock_wall();
    time_t seconds = (time_t)(wall.ns / (1000 * HF_NS_PER_MS));
    int ms = (int)(wall.ns / HF_NS_PER_MS % 1000);
    struct tm utc;
    int len;

    if (log_for_journal) {
        len = snprintf(line->bytes, sizeof line->bytes, "<%d>", (int)level);
    } else {
        char stamp[32] = "";

        if (gmtime_r(&seconds, &utc) != NULL)
            (void)strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
        len = snprintf(line->bytes, sizeof line->bytes, "%s.%03dZ %.32s %s ", stamp, ms,
                       log_program, level_name(level));
    }
    line->len = len > 0 ? (size_t)len : 0;
}

/* Whole or not at all: no character and no escape is cut in two. Room for "...\n" is kept. */
static bool append(struct line *line, const char *bytes, size_t len)
{
    if (len > sizeof line->bytes - 4 - line->len)
        return false;
    memcpy(line->bytes + line->len, bytes, len);
    line->len += len;
    return true;
}

/* C1 controls (U+0080 to U+009F) are UTF-8, yet some terminals obey them. */
static bool is_printable(const char *at, size_t len)
{
    uint8_t first = (uint8_t)at[0];

    if (len == 1)
        return first >= 0x20 && first != 0x7f;
    return len > 1 && !(first == 0xc2 && (uint8_t)at[1] < 0xa0);
}

static void append_escaped(struct line *line, const char *text)
{
    while (*text != '\0') {
        size_t len = hf_str_utf8(text);
        char escape[5];
        bool fits;

        if (is_printable(text, len)) {
            fits = append(line, text, len);
        } else {
            len = 1;
            (void)snprintf(escape, sizeof escape, "\\x%02x", (unsigned)(uint8_t)*text);
            fits = append(line, escape, 4);
        }
        if (!fits) {
            memcpy(line->bytes + line->len, "...", 3);
            line->len += 3;
            return;
        }
        text += len;
    }
}

static bool finish(struct line *line)
{
    line->bytes[line->len++] = '\n';
    return hf_stderr_write(line->bytes, line->len);
}

/* Nothing is lost unheard of: the count goes out before the next line that finds room. */
static bool tell_lost(void)
{
    unsigned lost = atomic_exchange(&log_lost, 0);
    struct line line;
    char text[64];

    if (lost == 0)
        return true;
    (void)snprintf(text, sizeof text, "log: %u lines lost, stderr was full", lost);
    begin(&line, HF_LOG_WARNING);
    append_escaped(&line, text);
    if (finish(&line))
        return true;
    atomic_fetch_add(&log_lost, lost);
    return false;
}

void hf_log(enum hf_level level, const char *format, ...)
{
    int errno_was = errno;
    char text[LINE_MAX_BYTES + 1];
    struct line line;
    va_list args;

    if (level > log_most)
        return;
    va_start(args, format);
    if (vsnprintf(text, sizeof text, format, args) < 0)
        (void)hf_str_copy(text, sizeof text, format);
    va_end(args);
    begin(&line, level);
    append_escaped(&line, text);
    if (!tell_lost() || !finish(&line))
        atomic_fetch_add(&log_lost, 1);
    errno = errno_was;
}
