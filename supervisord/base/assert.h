/* assert.h - what we guarantee to ourselves, checked in every build.
 * Never guards bytes from a socket, file, guest or peer: those are decoded with errors.
 * One condition per assert, positive form. */
#ifndef SUPERVISORD_BASE_ASSERT_H
#define SUPERVISORD_BASE_ASSERT_H

/* Print place and condition on stderr and abort(), or leave the guard that runs (guard.h). The only
 * symbol pure code may need from libc's failure path; tests replace it by linking their own. */
_Noreturn void hf_assert_failed(const char *condition, const char *file, int line);

#define HF_ASSERT(condition)                                                                       \
    do {                                                                                           \
        if (__builtin_expect(!(condition), 0))                                                     \
            hf_assert_failed(#condition, __FILE__, __LINE__);                                      \
    } while (0)

/* For the end of a switch that lists every value, and other places nobody can reach. */
#define HF_NEVER(why) hf_assert_failed("never: " why, __FILE__, __LINE__)

#endif
