/* log.h - one event, one line on stderr: "LEVEL text", ids first in the text.
 * error = a person must act, warning = degraded, info = a state changed, debug = off by default.
 * The one module with hidden state. Lines are cut at 500 bytes and control characters escaped.
 * Never blocks for ever: a full pipe costs the line, and the count of lost lines is told later. */
#ifndef SUPERVISORD_BASE_LOG_H
#define SUPERVISORD_BASE_LOG_H
enum hf_level { HF_LOG_ERROR = 3, HF_LOG_WARNING = 4, HF_LOG_INFO = 6, HF_LOG_DEBUG = 7 };
/* program: shown in each line; borrowed for ever. with_time: wall time prefix (when stderr is not
 * journald, which stamps itself; then lines start with <N> as sd-daemon(3) wants). */
void hf_log_open(const char *program, enum hf_level most);
void hf_log(enum hf_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define hf_error(...) hf_log(HF_LOG_ERROR, __VA_ARGS__)
#define hf_warning(...) hf_log(HF_LOG_WARNING, __VA_ARGS__)
#define hf_info(...) hf_log(HF_LOG_INFO, __VA_ARGS__)
#define hf_debug(...) hf_log(HF_LOG_DEBUG, __VA_ARGS__)
#endif
