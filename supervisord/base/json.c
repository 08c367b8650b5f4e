#include "supervisord/base/json.h"

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"

#include <string.h>

struct hf_json hf_json_on(char *out, size_t cap)
{
    HF_ASSERT(cap > 0);
    out[0] = '\0';
    return (struct hf_json){.out = out, .cap = cap};
}

static void put(struct hf_json *j, const char *text, size_t len)
{
    if (j->full || len >= j->cap - j->len) {
        j->full = true;
        return;
    }
    memcpy(j->out + j->len, text, len);
    j->len += len;
    j->out[j->len] = '\0';
}

static void put_control(struct hf_json *j, char c)
{
    static const char digits[] = "0123456789abcdef";
    const char text[6] = {'\\', 'u', '0', '0', digits[(c >> 4) & 0xf], digits[c & 0xf]};

    put(j, text, sizeof text);
}

static void put_ascii(struct hf_json *j, char c)
{
    switch (c) {
    case '"':
        put(j, "\\\"", 2);
        return;
    case '\\':
        put(j, "\\\\", 2);
        return;
    case '\n':
        put(j, "\\n", 2);
        return;
    case '\r':
        put(j, "\\r", 2);
        return;
    case '\t':
        put(j, "\\t", 2);
        return;
    default:
        if (c < 0x20 || c == 0x7f || c == '<')
            put_control(j, c);
        else
            put(j, &c, 1);
    }
}

static void put_quoted(struct hf_json *j, const char *text)
{
    put(j, "\"", 1);
    while (*text != '\0') {
        size_t len = hf_str_utf8(text);

        if (len == 0) {
            put(j, "\xef\xbf\xbd", 3); /* U+FFFD, one for each byte that is not UTF-8 */
            len = 1;
        } else if (len == 1) {
            put_ascii(j, *text);
        } else {
            put(j, text, len);
        }
        text += len;
    }
    put(j, "\"", 1);
}

/* Whatever stands before a value: the comma and the key. */
static void begin_value(struct hf_json *j, const char *key)
{
    uint64_t here = UINT64_C(1) << j->depth;
    bool is_object = (j->objects & here) != 0;
    bool is_first = (j->filled & here) == 0;

    HF_ASSERT(is_object == (key != NULL));
    HF_ASSERT(is_first || j->depth > 0);
    if (!is_first)
        put(j, ",", 1);
    j->filled |= here;
    if (key != NULL) {
        put_quoted(j, key);
        put(j, ":", 1);
    }
}

static void open_container(struct hf_json *j, const char *key, bool is_object)
{
    uint64_t inside;

    HF_ASSERT(j->depth < HF_JSON_DEPTH_MAX);
    begin_value(j, key);
    put(j, is_object ? "{" : "[", 1);
    j->depth++;
    inside = UINT64_C(1) << j->depth;
    j->filled &= ~inside;
    if (is_object)
        j->objects |= inside;
    else
        j->objects &= ~inside;
}

static void close_container(struct hf_json *j, bool is_object)
{
    bool was_object = (j->objects >> j->depth & 1) != 0;

    HF_ASSERT(j->depth > 0);
    HF_ASSERT(was_object == is_object);
    j->depth--;
    put(j, is_object ? "}" : "]", 1);
}

void hf_json_object(struct hf_json *j, const char *key)
{
    open_container(j, key, true);
}

void hf_json_array(struct hf_json *j, const char *key)
{
    open_container(j, key, false);
}

void hf_json_end_object(struct hf_json *j)
{
    close_container(j, true);
}

void hf_json_end_array(struct hf_json *j)
{
    close_container(j, false);
}

void hf_json_str(struct hf_json *j, const char *key, const char *text)
{
    if (text == NULL) {
        hf_json_null(j, key);
        return;
    }
    begin_value(j, key);
    put_quoted(j, text);
}

static void put_number(struct hf_json *j, bool is_negative, uint64_t magnitude)
{
    char text[21]; /* a sign and the 20 digits of UINT64_MAX */
    size_t at = sizeof text;

    do {
        text[--at] = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude > 0);
    if (is_negative)
        text[--at] = '-';
    put(j, text + at, sizeof text - at);
}

void hf_json_u64(struct hf_json *j, const char *key, uint64_t v)
{
    begin_value(j, key);
    put_number(j, false, v);
}

void hf_json_i64(struct hf_json *j, const char *key, int64_t v)
{
    begin_value(j, key);
    put_number(j, v < 0, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void hf_json_bool(struct hf_json *j, const char *key, bool v)
{
    begin_value(j, key);
    put(j, v ? "true" : "false", v ? 4 : 5);
}

void hf_json_null(struct hf_json *j, const char *key)
{
    begin_value(j, key);
    put(j, "null", 4);
}

bool hf_json_complete(const struct hf_json *j)
{
    return !j->full && j->depth == 0 && (j->filled & 1) != 0;
}
