#include <string.h>

#include "fencing/proof.h"
#include "tests/unit/check.h"

struct row {
    int exit_code;
    const char *text;
    enum proof_verdict verdict;
};

static const struct row rows[] = {
    {2, "Status: OFF\n", PROOF_READS_OFF},
    {2, "Status: OFF", PROOF_READS_OFF},
    {2, "warming up\n  Status: OFF \r\n", PROOF_READS_OFF},
    {0, "Status: ON\n", PROOF_READS_ON},
    {0, "Status: OFF\n", PROOF_UNREADABLE},
    {2, "Status: ON\n", PROOF_UNREADABLE},
    {2, "", PROOF_UNREADABLE},
    {2, "Status: OFFLINE\n", PROOF_UNREADABLE},
    {2, "Last Status: OFF\n", PROOF_UNREADABLE},
    {2, "Status: OFF\nStatus: ON\n", PROOF_UNREADABLE},
    {0, "Status: OFF\nStatus: ON\n", PROOF_UNREADABLE},
    {1, "Status: OFF\n", PROOF_UNREADABLE},
    {3, "Status: OFF\n", PROOF_UNREADABLE},
    {0, "Success: Powered OFF\n", PROOF_UNREADABLE},
    {2, "status: off\n", PROOF_UNREADABLE},
};

START_TEST(only_exit_2_and_the_words_read_off)
{
    const struct row *row = &rows[_i];

    ck_assert_int_eq(proof_status(row->exit_code, row->text, strlen(row->text)), row->verdict);
}
END_TEST

START_TEST(bytes_after_a_nul_are_read_as_bytes)
{
    static const char text[] = "Status: OFF\0\nStatus: ON\n";

    ck_assert_int_eq(proof_status(2, text, sizeof text - 1), PROOF_UNREADABLE);
}
END_TEST

START_TEST(every_exit_code_but_zero_refuses_off)
{
    ck_assert(proof_off_accepted(0));
    ck_assert(!proof_off_accepted(_i));
}
END_TEST

HF_TEST_MAIN("fencing/proof",
             HF_LOOP(only_exit_2_and_the_words_read_off, 0, sizeof rows / sizeof rows[0]),
             HF_CASE(bytes_after_a_nul_are_read_as_bytes),
             HF_LOOP(every_exit_code_but_zero_refuses_off, 1, 256))
