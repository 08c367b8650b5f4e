#include "supervisord/config/findings.h"

#include <stdarg.h>
#include <stdio.h>

#include "supervisord/base/str.h"

const char *finding_severity_name(enum finding_severity severity)
{
    switch (severity) {
    case FINDING_ADVICE:
        return "advice";
    case FINDING_RISK:
        return "risk";
    case FINDING_UNFIT:
        return "refused";
    case FINDING_SEVERITIES:
        break;
    }
    return "?";
}

void findings_add(struct findings *list, enum finding_severity severity, const char *key,
                  const char *format, ...)
{
    struct finding *f;
    va_list args;

    if (list->count == FINDINGS_MAX)
        return;
    f = &list->finding[list->count++];
    f->severity = severity;
    (void)hf_str_copy(f->key, sizeof f->key, key);
    va_start(args, format);
    (void)vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
    hf_str_make_printable(f->text);
}

bool findings_are_bad(const struct findings *list)
{
    for (unsigned i = 0; i < list->count; i++)
        if (list->finding[i].severity != FINDING_ADVICE)
            return true;
    return false;
}
