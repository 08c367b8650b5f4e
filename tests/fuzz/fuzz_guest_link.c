/* LINK: agents/guest */
/* fuzz_guest_link.c - any bytes as a link message: refused, or a picture that is sound. */
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>

#include "agents/guest/bond.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check(const struct bond_table *table)
{
    struct hf_guest_bond bond;

    if (table->count > BOND_LINKS_MAX)
        abort();
    for (uint16_t i = 1; i < table->count; i++)
        if (table->link[i - 1].index >= table->link[i].index)
            abort();
    bond_view(table, "", &bond);
    if (bond.slaves_count > HF_GUEST_SLAVES_MAX || strlen(bond.name) > HF_IFNAME_MAX ||
        (bond.active != HF_GUEST_NONE && bond.active >= bond.slaves_count))
        abort();
}

/* The input is messages one after the other, as in a datagram; lengths are made to fit so that more
 * than the first bytes is looked at. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct bond_table table;
    struct bond_heard heard;

    bond_clear(&table);
    while (len >= NLMSG_HDRLEN) {
        uint32_t said;
        uint8_t *message;

        memcpy(&said, bytes, sizeof said);
        if (said < NLMSG_HDRLEN || said > len)
            said = (uint32_t)len;
        message = malloc(said);
        if (message == NULL)
            return 0;
        memcpy(message, bytes, said);
        memcpy(message, &said, sizeof said);
        (void)bond_learn(&table, message, said, &heard);
        free(message);
        check(&table);
        bytes += said;
        len -= said;
    }
    return 0;
}
