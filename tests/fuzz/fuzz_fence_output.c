/* fuzz_fence_output.c - whatever a fence agent prints: no crash, printable words, and "off" only
 * for exit status 2 with the very line. First byte: the exit status. */
/* LINK: fencing supervisord/base supervisord/model */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fencing/credentials.h"
#include "fencing/exec.h"
#include "fencing/proof.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void must(bool claim)
{
    if (!claim)
        abort();
}

static void words(const uint8_t *bytes, size_t len)
{
    static struct exec_run run;
    char said[EXEC_SAID_MAX + 64];

    exec_init(&run);
    run.end = EXEC_EXITED;
    run.out_len = len < EXEC_OUTPUT_MAX ? len : EXEC_OUTPUT_MAX;
    if (run.out_len > 0)
        memcpy(run.out_text, bytes, run.out_len);
    exec_describe(&run, said, sizeof said);
    for (size_t i = 0; said[i] != '\0'; i++)
        must(said[i] >= 0x20 && said[i] < 0x7f);
}

static void secrets(const uint8_t *bytes, size_t len)
{
    struct credentials c = {.len = len < CREDENTIALS_MAX ? len : CREDENTIALS_MAX};
    struct hf_err err;

    if (c.len > 0)
        memcpy(c.lines, bytes, c.len);
    if (credentials_check(&c, &err) == HF_OK)
        must(memmem(c.lines, c.len, "action=", 7) == NULL || c.lines[0] != 'a' ||
             memcmp(c.lines, "action=", 7) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    if (proof_status(bytes[0], (const char *)bytes + 1, len - 1) == PROOF_READS_OFF) {
        must(bytes[0] == 2);
        must(memmem(bytes + 1, len - 1, "Status: OFF", 11) != NULL);
    }
    words(bytes + 1, len - 1);
    secrets(bytes + 1, len - 1);
    return 0;
}
