/* LINK: agents/nic */
/* fuzz_netlink.c - any bytes as a datagram of link messages: it ends, moves on with every message,
 * and gives names that are names. */
#include "agents/nic/parse.h"
#include "supervisord/base/assert.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    size_t pos = 0, was = 0;
    struct nic_link link;
    enum parse_word word;

    while ((word = parse_link(bytes, len, &pos, &link)) == PARSE_GOT || word == PARSE_OTHER) {
        char copy[HF_IFNAME_MAX + 1];

        HF_ASSERT(pos > was);
        HF_ASSERT(pos <= len);
        was = pos;
        if (word == PARSE_OTHER)
            continue;
        HF_ASSERT(link.ifindex > 0);
        HF_ASSERT(link.has_carrier <= NIC_YES);
        HF_ASSERT(link.takes_part_in_lacp <= NIC_YES);
        if (link.name[0] != '\0')
            HF_ASSERT(parse_name(link.name, strlen(link.name), copy));
    }
    return 0;
}
