/* LINK: agents/nic */
/* fuzz_uevent.c - any bytes as a uevent: what is taken is about a PCI or network device and names
 * it. */
#include "agents/nic/parse.h"
#include "supervisord/base/assert.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char copy[HF_IFNAME_MAX + 1];
    struct nic_uevent ev;

    if (parse_uevent(bytes, len, &ev) != PARSE_GOT)
        return 0;
    HF_ASSERT(ev.action <= NIC_MOVE);
    HF_ASSERT(ev.aer <= NIC_AER_RECOVERED);
    HF_ASSERT(ev.is_net ? ev.name[0] != '\0' : ev.pci[0] != '\0');
    if (ev.pci[0] != '\0')
        HF_ASSERT(parse_is_pci(ev.pci, strlen(ev.pci)));
    if (ev.name[0] != '\0')
        HF_ASSERT(parse_name(ev.name, strlen(ev.name), copy));
    return 0;
}
