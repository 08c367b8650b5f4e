/* check.h - the frame of a unit test program, so that a test file holds cases and nothing else.
 *
 *     START_TEST(a_cut_text_still_ends) { ... } END_TEST
 *     START_TEST(every_pair_is_decided) { ... _i ... } END_TEST
 *     START_TEST(an_index_past_the_end_aborts) { ... } END_TEST
 *
 *     HF_TEST_MAIN("base/str",
 *                  HF_CASE(a_cut_text_still_ends),
 *                  HF_LOOP(every_pair_is_decided, 0, 12),
 *                  HF_ABORTS(an_index_past_the_end_aborts))
 *
 * Each case runs in a process of its own (CK_FORK=no in the environment for a debugger) and is
 * killed after HF_CASE_SECONDS. Refuses to hide anything: a case that is not listed is a compiler
 * warning, an empty list a failure. */
#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

#include <check.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* Long enough for a loaded machine with sanitizers, short against ctest's 60 s per program. */
#define HF_CASE_SECONDS 20.0

struct hf_case {
    const TTest *test;
    int from, to; /* values of _i: [from, to) */
    int signal;   /* the case must die of it; 0 = it must pass */
};

/* Initialisers, which clang-format would take for blocks. */
/* clang-format off */
#define HF_CASE(test_)             { (test_), 0, 1, 0 }
#define HF_LOOP(test_, from_, to_) { (test_), (from_), (to_), 0 }
#define HF_ABORTS(test_)           { (test_), 0, 1, SIGABRT }
/* clang-format on */

static inline int hf_test_run(const char *suite_name, const struct hf_case *cases, size_t count,
                              void (*setup)(void), void (*teardown)(void))
{
    Suite *suite = suite_create(suite_name);
    TCase *group = tcase_create(suite_name);
    int failed;
    int run;

    tcase_set_timeout(group, HF_CASE_SECONDS);
    if (setup != NULL || teardown != NULL)
        tcase_add_checked_fixture(group, setup, teardown);
    for (size_t i = 0; i < count; i++)
        _tcase_add_test(group, cases[i].test, cases[i].signal, 0, cases[i].from, cases[i].to);
    suite_add_tcase(suite, group);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    run = srunner_ntests_run(runner);
    srunner_free(runner);
    if (run == 0)
        fprintf(stderr, "%s: no case was run\n", suite_name);
    return failed == 0 && run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* setup and teardown run around every case, in its process; either may be NULL. */
#define HF_TEST_MAIN_WITH(suite_name, setup, teardown, ...)                                        \
    int main(void)                                                                                 \
    {                                                                                              \
        const struct hf_case hf_cases[] = {__VA_ARGS__};                                           \
        return hf_test_run(suite_name, hf_cases, sizeof hf_cases / sizeof hf_cases[0], setup,      \
                           teardown);                                                              \
    }

#define HF_TEST_MAIN(suite_name, ...) HF_TEST_MAIN_WITH(suite_name, NULL, NULL, __VA_ARGS__)

#endif
