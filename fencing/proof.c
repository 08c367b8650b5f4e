#include "fencing/proof.h"

#include <string.h>

enum {
    EXIT_ON = 0, /* fence-agents API: status exits 0 for on, 2 for off */
    EXIT_OFF = 2,
};

bool proof_off_accepted(int exit_code)
{
    return exit_code == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Is line[len], without the blanks around it, exactly `wanted`? */
static bool line_is(const char *line, size_t len, const char *wanted)
{
    while (len > 0 && is_blank(line[0])) {
        line++;
        len--;
    }
    while (len > 0 && is_blank(line[len - 1]))
        len--;
    return len == strlen(wanted) && memcmp(line, wanted, len) == 0;
}

static bool has_line(const char *text, size_t len, const char *wanted)
{
    size_t start = 0;

    for (size_t at = 0; at <= len; at++) {
        if (at < len && text[at] != '\n')
            continue;
        if (line_is(text + start, at - start, wanted))
            return true;
        start = at + 1;
    }
    return false;
}

enum proof_verdict proof_status(int exit_code, const char *text, size_t len)
{
    bool says_on = has_line(text, len, "Status: ON");
    bool says_off = has_line(text, len, "Status: OFF");

    if (says_on && says_off)
        return PROOF_UNREADABLE;
    if (exit_code == EXIT_OFF && says_off)
        return PROOF_READS_OFF;
    if (exit_code == EXIT_ON && says_on)
        return PROOF_READS_ON;
    return PROOF_UNREADABLE;
}
