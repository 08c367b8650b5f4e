/* fuzz_fence_output.c - whatever a fence agent or a BMC prints: no crash, printable words without
 * the secret, "off" only for exit status 2 with the very line, a path that works only for a power
 * that reads on or off, a host only with a number. First byte: the exit status. */
/* LINK: fencing supervisord/base supervisord/model */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fencing/credentials.h"
#include "fencing/exec.h"
#include "fencing/identity.h"
#include "fencing/proof.h"
#include "fencing/verdict.h"

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

static void paths(int code, const char *text, size_t len)
{
    struct verdict_run run = {.end = EXEC_EXITED,
                              .code = code,
                              .out = text,
                              .out_len = len,
                              .errors = text + len / 2,
                              .errors_len = len - len / 2};
    bool is_read = proof_status(code, text, len) != PROOF_UNREADABLE;

    must((verdict_of_status(&run) == HF_PATH_OK) == is_read);
    must(verdict_of_question(&run) != HF_PATH_OK);
    must(!verdict_is_vague(&run) || !is_read);
}

static void hosts(const char *text, size_t len)
{
    uint64_t number = 0;

    if (identity_read(IDENTITY_IPMI, text, len, &number))
        must(number != 0 && len >= 32);
    number = 0;
    if (identity_read(IDENTITY_REDFISH, text, len, &number))
        must(number != 0 && memmem(text, len, "\"UUID\"", 6) != NULL);
}

static void scrubbed(const uint8_t *bytes, size_t len)
{
    static const char lines[] = "username=admin\npassword=xyzzy\ntoken=zz\n";
    struct credentials c = {.len = sizeof lines - 1};
    char *text = malloc(len + 1);

    if (text == NULL)
        return;
    memcpy(c.lines, lines, c.len);
    memcpy(text, bytes, len);
    credentials_scrub(&c, text, &len);
    must(memmem(text, len, "xyzzy", 5) == NULL);
    must(memmem(text, len, "zz", 2) == NULL);
    free(text);
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
    paths(bytes[0], (const char *)bytes + 1, len - 1);
    hosts((const char *)bytes + 1, len - 1);
    scrubbed(bytes + 1, len - 1);
    return 0;
}
