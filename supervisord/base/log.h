/* log.h - one event, one line on stderr: "LEVEL text", ids first in the text.
 * error = a person must act, warning = degraded, info = a state changed, debug = off by default.
 * The one module with hidden state; hf_log() may be called from any thread once hf_log_open() has
 * returned. Lines are cut at 500 bytes ("..." at the end); control characters and bytes that are
 * not UTF-8 are escaped as \xNN, so one call is one line whatever a peer put into a name.
 * Never blocks: a full pipe costs the line, and the count of lost lines is told later. errno is
 * kept. */
#ifndef SUPERVISORD_BASE_LOG_H
#define SUPERVISORD_BASE_LOG_H

#include <stdbool.h>

enum hf_level { HF_LOG_ERROR = 3, HF_LOG_WARNING = 4, HF_LOG_INFO = 6, HF_LOG_DEBUG = 7 };

/* A line is "2026-01-31T12:00:00.000Z program LEVEL text"; for_journal, when main found
 * JOURNAL_STREAM in the environment, makes it "<N>text" as sd-daemon(3) wants: journald stamps and
 * names lines itself. program is borrowed for ever. most: the least important level shown. */
void hf_log_open(const char *program, enum hf_level most, bool for_journal);
void hf_log(enum hf_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define hf_error(...)   hf_log(HF_LOG_ERROR, __VA_ARGS__)
#define hf_warning(...) hf_log(HF_LOG_WARNING, __VA_ARGS__)
#define hf_info(...)    hf_log(HF_LOG_INFO, __VA_ARGS__)
#define hf_debug(...)   hf_log(HF_LOG_DEBUG, __VA_ARGS__)

#endif
