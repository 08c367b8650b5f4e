/* LINK: agents/nic */
/* fuzz_lldp.c - what a switch or a card says of itself: LLDP frames, vital product data, a module's
 * page. Texts end, and cannot steer a terminal. */
#include "agents/nic/parse.h"
#include "agents/nic/probe.h"
#include "supervisord/base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void is_harmless(const char *text)
{
    for (; *text != '\0'; text++)
        HF_ASSERT(*text >= ' ' && *text <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct nic_lldp lldp;
    char serial[48];

    if (parse_lldp(bytes, len, &lldp) == PARSE_GOT)
        HF_ASSERT(lldp.switch_id[0] != '\0');
    is_harmless(lldp.switch_id);
    HF_ASSERT(probe_nic_vpd_serial(bytes, len, serial, sizeof serial) == (serial[0] != '\0'));
    is_harmless(serial);
    HF_ASSERT(parse_optics(bytes, len) <= NIC_YES);
    return 0;
}
