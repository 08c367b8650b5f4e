/* json.h - write JSON into a bounded buffer; never invalid, at worst `full`.
 * Strings are escaped (RFC 8259), bytes that are not UTF-8 become U+FFFD. */
#ifndef SUPERVISORD_BASE_JSON_H
#define SUPERVISORD_BASE_JSON_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
struct hf_json {
    char *out; /* borrowed */
    size_t cap, len;
    bool full;       /* something did not fit: the text must not be used */
    uint8_t depth;
    uint64_t filled; /* bit per depth: a value was written, so a comma is due */
};
struct hf_json hf_json_on(char *out, size_t cap);
/* key NULL inside arrays and at the top. */
void hf_json_object(struct hf_json *j, const char *key);
void hf_json_array(struct hf_json *j, const char *key);
void hf_json_end_object(struct hf_json *j);
void hf_json_end_array(struct hf_json *j);
void hf_json_str(struct hf_json *j, const char *key, const char *text);
void hf_json_u64(struct hf_json *j, const char *key, uint64_t v);
void hf_json_i64(struct hf_json *j, const char *key, int64_t v);
void hf_json_bool(struct hf_json *j, const char *key, bool v);
void hf_json_null(struct hf_json *j, const char *key);
#endif
