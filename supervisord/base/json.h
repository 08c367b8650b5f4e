/* json.h - write JSON into a bounded buffer; never invalid, at worst `full`.
 * Strings are escaped (RFC 8259), bytes that are not UTF-8 become U+FFFD, and '<' becomes \u003c so
 * that the text may stand inside a <script>. A wrong nesting is our own mistake: it asserts. */
#ifndef SUPERVISORD_BASE_JSON_H
#define SUPERVISORD_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HF_JSON_DEPTH_MAX = 63 }; /* a bit per depth in 64 bits, depth 0 being the top */

struct hf_json {
    char *out; /* borrowed; NUL-terminated after every call */
    size_t cap, len;
    bool full; /* something did not fit: the text must not be used */
    uint8_t depth;
    uint64_t filled;  /* bit per depth: a value was written, so a comma is due */
    uint64_t objects; /* bit per depth: an object, so a key is due */
};

/* cap > 0. */
struct hf_json hf_json_on(char *out, size_t cap);
/* key NULL inside arrays and at the top; one value at the top. Keys are plain ASCII without quotes,
 * backslashes and control characters: they are ours. */
void hf_json_object(struct hf_json *j, const char *key);
void hf_json_array(struct hf_json *j, const char *key);
void hf_json_end_object(struct hf_json *j);
void hf_json_end_array(struct hf_json *j);
/* text NULL writes null. */
void hf_json_str(struct hf_json *j, const char *key, const char *text);
/* Numbers over INT64_MAX are legal JSON but many readers refuse them: write digests as text. */
void hf_json_u64(struct hf_json *j, const char *key, uint64_t v);
void hf_json_i64(struct hf_json *j, const char *key, int64_t v);
void hf_json_bool(struct hf_json *j, const char *key, bool v);
void hf_json_null(struct hf_json *j, const char *key);
/* True when everything fit, one value was written and all of it is closed: out is JSON. */
bool hf_json_complete(const struct hf_json *j);

#endif
