#include "supervisord/base/assert.h"

#include "supervisord/base/guard.h"
#include "supervisord/base/stderr.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void hf_assert_failed(const char *condition, const char *file, int line)
{
    char text[500];
    int len = snprintf(text, sizeof text, "%s:%d: assertion failed: %s\n", file, line, condition);

    if (len >= (int)sizeof text) {
        len = sizeof text - 1;
        text[len - 1] = '\n';
    }
    if (len > 0)
        (void)hf_stderr_write(text, (size_t)len);
    hf_guard_leave();
    abort();
}
