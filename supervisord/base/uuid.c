#include "supervisord/base/uuid.h"

#include <stddef.h>
#include <string.h>

#include "supervisord/base/hash.h"
#include "supervisord/base/str.h"

enum { BYTES = 16 };

/* RFC 9562 puts hyphens after 4, 6, 8 and 10 bytes; a text has all of them or none. */
static bool read_bytes(const char *text, uint8_t out[BYTES])
{
    bool has_hyphens = memchr(text, '-', strnlen(text, 9)) != NULL;

    for (size_t i = 0; i < BYTES; i++) {
        int high, low;

        if (has_hyphens && (i == 4 || i == 6 || i == 8 || i == 10) && *text++ != '-')
            return false;
        high = hf_str_hex_digit(*text);
        low = high < 0 ? -1 : hf_str_hex_digit(text[1]);
        if (low < 0)
            return false;
        out[i] = (uint8_t)(high * 16 + low);
        text += 2;
    }
    return *text == '\0' || *text == ' ' || *text == '\t' || *text == '\n';
}

static bool is_all(const uint8_t bytes[BYTES], uint8_t v)
{
    for (size_t i = 0; i < BYTES; i++) {
        if (bytes[i] != v)
            return false;
    }
    return true;
}

static void reverse(uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        uint8_t other = bytes[count - 1 - i];

        bytes[count - 1 - i] = bytes[i];
        bytes[i] = other;
    }
}

static void swap_fields(uint8_t bytes[BYTES])
{
    reverse(bytes, 4);
    reverse(bytes + 4, 2);
    reverse(bytes + 6, 2);
}

/* Swapping the fields and reversing the whole are each undone by a second time, and one after the
 * other they come back to the start after eight: these eight orders hold every mixture that an
 * observer can see. The smallest of them stands for all. */
static void canonical(const uint8_t bytes[BYTES], uint8_t least[BYTES])
{
    uint8_t turned[BYTES];

    memcpy(turned, bytes, BYTES);
    memcpy(least, bytes, BYTES);
    for (unsigned turn = 0; turn < 8; turn++) {
        if (turn % 2 == 0)
            swap_fields(turned);
        else
            reverse(turned, BYTES);
        if (memcmp(turned, least, BYTES) < 0)
            memcpy(least, turned, BYTES);
    }
}

bool hf_uuid_number(const char *text, uint64_t *number)
{
    uint8_t bytes[BYTES], least[BYTES];
    uint64_t hash;

    if (!read_bytes(text, bytes) || is_all(bytes, 0x00) || is_all(bytes, 0xff))
        return false;
    canonical(bytes, least);
    hash = hf_hash(HF_HASH_START, least, BYTES);
    *number = hash != 0 ? hash : 1; /* 0 means "not known" to everybody */
    return true;
}
