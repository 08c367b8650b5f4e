/* LINK: agents/vm */
/* fuzz_starts.c - any bytes as the file of a start that a host executed: refused, or an entry that
 * is written as the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "agents/vm/ledger.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char line[LEDGER_LINE_MAX] = "", again[LEDGER_LINE_MAX];
    struct ledger_entry entry;
    int again_len;

    /* As ledger_read() has it: text that fits and has no NUL in it. */
    if (len >= sizeof line || memchr(bytes, 0, len) != NULL)
        return 0;
    if (len > 0)
        memcpy(line, bytes, len);
    if (!ledger_parse(line, &entry))
        return 0;
    again_len = ledger_line(&entry, again);
    if (entry.uid == 0 || again_len < 0 || (size_t)again_len != len ||
        memcmp(bytes, again, len) != 0)
        abort();
    return 0;
}
