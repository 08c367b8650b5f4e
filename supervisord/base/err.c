#include "supervisord/base/err.h"

#include "supervisord/base/str.h"

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

static void append(struct hf_err *err, const char *text)
{
    size_t used = strlen(err->text);

    (void)hf_str_copy(err->text + used, sizeof err->text - used, text);
}

enum hf_code hf_err_wrap(struct hf_err *err, const char *format, ...)
{
    struct hf_err was = *err;
    char prefix[sizeof err->text];
    va_list args;

    /* The arguments may point into err->text, so the prefix is made while that is untouched. */
    va_start(args, format);
    if (vsnprintf(prefix, sizeof prefix, format, args) < 0)
        prefix[0] = '\0';
    va_end(args);
    /* Too long is cut at the end: the outermost levels say where to look. */
    (void)hf_str_copy(err->text, sizeof err->text, prefix);
    append(err, ": ");
    append(err, was.text);
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
