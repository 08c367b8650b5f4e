/* LINK: nicbond */
/* fuzz_vf_message.c - any bytes as an answer of the kernel's about a PF's VFs. */
#include <stdlib.h>

#include "nicbond/vf_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct vf_list list = {0};
    enum vf_reply reply;
    struct hf_err err;
    uint16_t told = 0;
    int error;

    if (vf_message_parse(bytes, len, 5, 7, &reply, &error, &list, &err) != HF_OK)
        return 0;
    if (error < 0 || reply >= VF_REPLIES || list.count > VF_COUNT_MAX)
        abort();
    for (unsigned n = 0; n < VF_COUNT_MAX; n++) {
        if (!list.vf[n].is_told)
            continue;
        told++;
        if (!vf_config_is_valid(&list.vf[n].config))
            abort();
    }
    if (told != list.told)
        abort();
    return 0;
}
