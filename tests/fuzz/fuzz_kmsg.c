/* LINK: agents/nic */
/* fuzz_kmsg.c - any bytes as a record of the kernel's log: a signal comes from the kernel's
 * facility alone and names its device. */
#include "agents/nic/parse.h"
#include "supervisord/base/assert.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char copy[HF_IFNAME_MAX + 1];
    struct nic_kmsg line;

    if (parse_kmsg(bytes, len, &line) != PARSE_GOT)
        return 0;
    HF_ASSERT(len > 2 && bytes[0] >= '0' && bytes[0] <= '7' && bytes[1] == ',');
    HF_ASSERT(line.signal < NIC_SIGNALS);
    HF_ASSERT(line.pci[0] != '\0' || line.name[0] != '\0');
    if (line.pci[0] != '\0')
        HF_ASSERT(parse_is_pci(line.pci, strlen(line.pci)));
    if (line.name[0] != '\0')
        HF_ASSERT(parse_name(line.name, strlen(line.name), copy));
    return 0;
}
