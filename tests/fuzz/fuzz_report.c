/* LINK: supervisord/wire */
/* fuzz_report.c - any bytes at the agent door: refused, or a report that encodes to the same. */
#include <stdlib.h>
#include <string.h>

#include "supervisord/wire/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    uint8_t again[HF_REPORT_BYTES_MAX];
    struct hf_report report;
    struct hf_err err;

    if (report_decode(bytes, len, &report, &err) != HF_OK)
        return 0;
    if (report_encode(&report, again) != len || memcmp(bytes, again, len) != 0)
        abort();
    return 0;
}
