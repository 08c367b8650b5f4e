#include "supervisord/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum hf_code hf_err_set(struct hf_err *err, enum hf_code code, const char *format, ...)
{
    va_list args;

    err->code = code;
    va_start(args, format);
    (void)vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return code;
}

enum hf_code hf_err_wrap(struct hf_err *err, const char *format, ...)
{
    char was[sizeof err->text];
    size_t len = sizeof was - 1;
    va_list args;
    int written;

    /* The arguments may point into err->text, so the prefix is made while that is untouched. */
    memcpy(was, err->text, sizeof was);
    was[len] = '\0';

    char prefix[sizeof err->text];
    va_start(args, format);
    written = vsnprintf(prefix, sizeof prefix, format, args);
    va_end(args);
    if (written < 0)
        prefix[0] = '\0';
    /* Cut at the end: the outermost levels say where to look, and a test pins this. */
    (void)snprintf(err->text, sizeof err->text, "%s: %s", prefix, was);
    return err->code;
}

const char *hf_code_name(enum hf_code code)
{
    switch (code) {
    case HF_OK:
        return "ok";
    case HF_EINVAL:
        return "invalid";
    case HF_EIO:
        return "io";
    case HF_EBAD:
        return "bad";
    case HF_EFULL:
        return "full";
    case HF_EAGAIN:
        return "again";
    case HF_ECLOSED:
        return "closed";
    case HF_ETIME:
        return "time";
    case HF_EACCESS:
        return "access";
    case HF_ENOENT:
        return "noent";
    case HF_CODES:
        break;
    }
    return "unknown";
}
