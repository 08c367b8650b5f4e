#include "supervisord/config/internal.h"

#include <stdio.h>
#include <string.h>

#include "supervisord/base/str.h"

/* Code point of a well-formed sequence of len bytes. */
static uint32_t code_point(const char *text, size_t len)
{
    uint32_t point = len == 1 ? (unsigned char)text[0] : (unsigned char)text[0] & (0x7fu >> len);

    for (size_t i = 1; i < len; i++)
        point = point << 6 | ((unsigned char)text[i] & 0x3fu);
    return point;
}

/* Characters that an editor does not show, or that make it show the text in another order. */
static bool is_hidden(uint32_t point)
{
    return (point < 0x20 && point != '\t') || (point >= 0x7f && point < 0xa0) ||
           (point >= 0x200b && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069) || point == 0xfeff;
}

enum { WHY_MAX = 80 };

/* What is wrong with the first character of text, "" = nothing; returns its length. */
static size_t char_check(const char *text, bool is_last, char why[WHY_MAX])
{
    size_t len = hf_str_utf8(text);
    uint32_t point = code_point(text, len > 0 ? len : 1);

    why[0] = '\0';
    if (point == 0)
        (void)snprintf(why, WHY_MAX, "NUL byte");
    else if (len == 0)
        (void)snprintf(why, WHY_MAX, "invalid UTF-8");
    else if (point == '\r' && is_last)
        (void)snprintf(why, WHY_MAX, "CR before the newline: save the file with Unix line ends");
    else if (point == 0xfeff)
        (void)snprintf(why, WHY_MAX, "byte order mark: save the file as UTF-8 without it");
    else if (is_hidden(point))
        (void)snprintf(why, WHY_MAX, "control or invisible character U+%04X", (unsigned)point);
    return len;
}

/* line holds the first CONFIG_LINE_MAX bytes of a line of len bytes. */
static enum hf_code line_check(const struct config_draft *draft, const char *line, size_t len,
                               uint32_t number, struct hf_err *err)
{
    /* Of a line that is too long the last bytes here may be a part of a character. */
    size_t end = len <= CONFIG_LINE_MAX ? len : CONFIG_LINE_MAX - 3;
    char why[WHY_MAX];
    size_t at = 0;

    while (at < end) {
        size_t char_len = char_check(line + at, at + 1 == len, why);

        if (why[0] != '\0')
            return config_fail(draft, (struct config_place){number, (uint32_t)at + 1}, err, "%s",
                               why);
        at += char_len;
    }
    if (len > CONFIG_LINE_MAX)
        return config_fail(draft, (struct config_place){number, CONFIG_LINE_MAX + 1}, err,
                           "line longer than %d bytes", CONFIG_LINE_MAX);
    return HF_OK;
}

enum hf_code config_line_next(struct config_lines *lines, const struct config_draft *draft,
                              char out[CONFIG_LINE_MAX + 1], bool *is_end, struct hf_err *err)
{
    size_t left = lines->len - lines->pos;

    *is_end = left == 0;
    if (*is_end)
        return HF_OK;

    const char *line = lines->text + lines->pos;
    const char *newline = memchr(line, '\n', left);
    size_t len = newline != NULL ? (size_t)(newline - line) : left;
    size_t kept = len < CONFIG_LINE_MAX ? len : CONFIG_LINE_MAX;

    memcpy(out, line, kept);
    out[kept] = '\0';
    lines->number++;
    lines->pos += newline != NULL ? len + 1 : len;
    return line_check(draft, out, len, lines->number, err);
}
