/* LINK: supervisord/config supervisord/model supervisord/base */
/* fuzz_cards.c - any bytes as a card's vital product data (first byte even) or as the kernel's
 * answer about VFs (odd): counts within their bounds, and a serial number for a terminal. */
#include "supervisord/base/assert.h"
#include "supervisord/config/cards.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void vpd(const uint8_t *bytes, size_t len)
{
    char serial[CARDS_TEXT_MAX + 1];
    bool has_one = cards_serial(bytes, len, serial);

    HF_ASSERT(has_one == (serial[0] != '\0'));
    HF_ASSERT(strlen(serial) <= CARDS_TEXT_MAX);
    for (const char *c = serial; *c != '\0'; c++)
        HF_ASSERT(*c >= 0x20 && *c < 0x7f);
}

static void links(const uint8_t *bytes, size_t len)
{
    struct card_facts card;

    memset(&card, 0, sizeof card);
    (void)cards_links(bytes, len, &card);
    HF_ASSERT(card.vfs_enabled <= CARDS_VFS_MAX);
    HF_ASSERT(card.vfs_enabled > 0 || card.enabled == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    if (bytes[0] % 2 == 0)
        vpd(bytes + 1, len - 1);
    else
        links(bytes + 1, len - 1);
    return 0;
}
