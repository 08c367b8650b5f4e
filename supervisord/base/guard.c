#include "supervisord/base/guard.h"

#include "supervisord/base/assert.h"

#include <setjmp.h>
#include <stddef.h>

static _Thread_local jmp_buf *guard_way_out;

bool hf_guard_run(void (*run)(void *argument), void *argument)
{
    jmp_buf way_out;

    HF_ASSERT(guard_way_out == NULL);
    if (setjmp(way_out) != 0) {
        guard_way_out = NULL;
        return false;
    }
    guard_way_out = &way_out;
    run(argument);
    guard_way_out = NULL;
    return true;
}

void hf_guard_leave(void)
{
    if (guard_way_out != NULL)
        longjmp(*guard_way_out, 1);
}
