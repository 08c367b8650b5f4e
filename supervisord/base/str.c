#include "supervisord/base/str.h"

#include "supervisord/base/assert.h"

#include <stdio.h>
#include <string.h>

bool hf_str_copy(char *out, size_t cap, const char *text)
{
    size_t len;

    HF_ASSERT(cap > 0);
    len = strnlen(text, cap);
    if (len == cap) {
        memcpy(out, text, cap - 1);
        out[cap - 1] = '\0';
        return false;
    }
    memcpy(out, text, len + 1);
    return true;
}

/* Not isalnum(): that depends on the locale. */
static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool hf_str_is_name(const char *text, size_t max)
{
    size_t len = 0;

    if (!is_letter_or_digit(text[0]))
        return false;
    for (; text[len] != '\0'; len++) {
        char c = text[len];

        if (len == max || !(is_letter_or_digit(c) || c == '.' || c == '_' || c == '-'))
            return false;
    }
    return true;
}

/* Read digits from the start of text; *end is the first character that is none. */
static bool read_digits(const char *text, uint64_t max, uint64_t *out, const char **end)
{
    uint64_t value = 0;
    const char *at = text;

    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');

        if (digit > max || value > (max - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (at == text)
        return false;
    *out = value;
    *end = at;
    return true;
}

void hf_str_make_printable(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

bool hf_str_to_u64(const char *text, uint64_t max, uint64_t *out)
{
    uint64_t value;
    const char *end;

    if (!read_digits(text, max, &value, &end) || *end != '\0')
        return false;
    *out = value;
    return true;
}

int hf_str_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

struct unit {
    const char *name;
    uint64_t ms;
};

/* Largest first: hf_str_from_ms() takes the first that is exact. */
static const struct unit units[] = {{"h", 3600000}, {"min", 60000}, {"s", 1000}, {"ms", 1}};
#define UNITS_COUNT (sizeof units / sizeof units[0])

bool hf_str_to_ms(const char *text, uint64_t *out_ms)
{
    uint64_t value;
    const char *end;

    if (!read_digits(text, UINT64_MAX, &value, &end))
        return false;
    for (size_t i = 0; i < UNITS_COUNT; i++) {
        if (strcmp(end, units[i].name) != 0)
            continue;
        if (value > UINT64_MAX / units[i].ms)
            return false;
        *out_ms = value * units[i].ms;
        return true;
    }
    return false;
}

void hf_str_from_ms(uint64_t ms, char out[24])
{
    /* 0 divides by everything; "0s" is what a person expects. */
    size_t unit = ms == 0 ? 2 : 0;

    while (ms % units[unit].ms != 0)
        unit++;
    (void)snprintf(out, 24, "%llu%s", (unsigned long long)(ms / units[unit].ms), units[unit].name);
}

enum { DISTANCE_TEXT_MAX = 63 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned hf_str_distance(const char *a, const char *b)
{
    size_t a_len = strnlen(a, DISTANCE_TEXT_MAX + 1), b_len = strnlen(b, DISTANCE_TEXT_MAX + 1);
    unsigned row[DISTANCE_TEXT_MAX + 1]; /* distances of a[0..i) to every beginning of b */

    if (a_len > DISTANCE_TEXT_MAX || b_len > DISTANCE_TEXT_MAX)
        return HF_STR_FAR;
    for (unsigned j = 0; j <= b_len; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a_len; i++) {
        unsigned diagonal = row[0];

        row[0] = i;
        for (unsigned j = 1; j <= b_len; j++) {
            unsigned above = row[j];
            unsigned replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);

            row[j] = least(replaced, least(above, row[j - 1]) + 1);
            diagonal = above;
        }
    }
    return row[b_len];
}

/* The Unicode Standard, table 3-7: only the second byte has ranges of its own. */
static size_t sequence_len(uint8_t lead, uint8_t *second_low, uint8_t *second_high)
{
    *second_low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    *second_high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (lead < 0x80)
        return 1;
    if (lead >= 0xc2 && lead <= 0xdf)
        return 2;
    if (lead >= 0xe0 && lead <= 0xef)
        return 3;
    if (lead >= 0xf0 && lead <= 0xf4)
        return 4;
    return 0;
}

size_t hf_str_utf8(const char *text)
{
    uint8_t low, high;
    size_t len = sequence_len((uint8_t)text[0], &low, &high);

    if (text[0] == '\0')
        return 0;
    for (size_t i = 1; i < len; i++) {
        uint8_t byte = (uint8_t)text[i];

        /* The NUL at the end of a cut sequence is below every range, so we never pass it. */
        if (byte < low || byte > high)
            return 0;
        low = 0x80;
        high = 0xbf;
    }
    return len;
}

/* A number and the dot behind it, if any; 0 when there is none. *text moves on. */
static unsigned long version_number(const char **text)
{
    unsigned long number = 0;

    for (; **text >= '0' && **text <= '9'; (*text)++)
        if (number < 1000000) /* beyond any version: new enough */
            number = number * 10 + (unsigned long)(**text - '0');
    if (**text == '.')
        (*text)++;
    return number;
}

bool hf_str_is_version_from(const char *text, unsigned major, unsigned minor, unsigned patch)
{
    const unsigned want[3] = {major, minor, patch};

    if (*text < '0' || *text > '9')
        return false;
    for (unsigned i = 0; i < 3; i++) {
        unsigned long have = version_number(&text);

        if (have != want[i])
            return have > want[i];
    }
    return true;
}
