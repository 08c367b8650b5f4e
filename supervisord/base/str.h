/* str.h - bounded strings: copy that always ends, charset checks, durations for people. */
#ifndef SUPERVISORD_BASE_STR_H
#define SUPERVISORD_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copy into out[cap]; true if all of it fit. Always NUL-terminated. cap > 0. */
bool hf_str_copy(char *out, size_t cap, const char *text);
/* [A-Za-z0-9._-], 1..max characters, first a letter or digit: node, VM, group and device names.
 * No '/', no '%', no newline: safe in paths, logs and JSON. */
bool hf_str_is_name(const char *text, size_t max);
/* Every byte that is not printable ASCII becomes '?': nothing of the text steers a terminal, or
 * begins a line of its own. */
void hf_str_make_printable(char *text);
/* Decimal without sign, no blanks, <= max. out is untouched otherwise. */
bool hf_str_to_u64(const char *text, uint64_t max, uint64_t *out);
/* 0..15, or -1 when c is no hex digit. */
int hf_str_hex_digit(char c);
/* "250ms" "5s" "3min" "2h": unit mandatory. out is untouched otherwise. */
bool hf_str_to_ms(const char *text, uint64_t *out_ms);
/* The same with the largest unit that is exact: 5000 -> "5s", 1500 -> "1500ms". out[24]. */
void hf_str_from_ms(uint64_t ms, char out[24]);
/* Is the version in text ("3.1.7", "3.1.7.4-ab12", "3.2") this one or a later one? */
bool hf_str_is_version_from(const char *text, unsigned major, unsigned minor, unsigned patch);
/* Edit distance (Levenshtein), for "did you mean"; texts over 63 characters count as far:
 * HF_STR_FAR. */
#define HF_STR_FAR 1000u
unsigned hf_str_distance(const char *a, const char *b);
/* Bytes of the UTF-8 character that text starts with: 1 to 4. 0 at the end of the text and where
 * the bytes are not UTF-8 (overlong forms, surrogates and cut sequences included). */
size_t hf_str_utf8(const char *text);

#endif
