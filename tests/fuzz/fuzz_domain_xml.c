/* LINK: agents/vm */
/* fuzz_domain_xml.c - any bytes as a VM's XML: refused, or marked so that the mark reads back. */
#include <stdlib.h>
#include <string.h>

#include "agents/vm/render.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct hf_err err;
    uint32_t start_no = 0;
    hf_vm_uid uid = 0;
    char *out = NULL;

    render_init();
    (void)render_read((const char *)bytes, len, &uid, &start_no, &err);
    if (render_start((const char *)bytes, len, "mq-1", 7, 3, &out, &err) != HF_OK)
        return 0;
    if (render_read(out, strlen(out), &uid, &start_no, &err) != HF_OK || uid != 7 || start_no != 3)
        abort();
    free(out);
    return 0;
}
