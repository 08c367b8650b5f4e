/* nlattr.h - the attributes of a netlink message, one by one, never past the end.
 * PURE. One rule for lengths that lie, wherever such bytes are read: a length that its parent does
 * not hold only sets `bad`, and there is no next one. Check it once after the walk, and refuse the
 * whole message then: where one length is wrong, nobody knows what the others were about. (The
 * kernel's own walk lets stand what came before; its strict one refuses, lib/nlattr.c.) */
#ifndef SUPERVISORD_BASE_NLATTR_H
#define SUPERVISORD_BASE_NLATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_nlattrs {
    const uint8_t *at; /* borrowed */
    size_t left;
    bool bad;
};

struct hf_nlattr {
    uint16_t type;        /* without its flags */
    const uint8_t *value; /* borrowed; aligned to nothing */
    size_t len;
};

struct hf_nlattrs hf_nlattrs_on(const void *bytes, size_t len);
/* Those that one holds: a walk of its own, with a `bad` of its own. */
struct hf_nlattrs hf_nlattrs_in(const struct hf_nlattr *attr);
/* False at the end, or bad: a length that is shorter than a header, or reaches beyond the parent;
 * or a rest that holds no header. Only the padding after the last value may be missing. */
bool hf_nlattrs_next(struct hf_nlattrs *attrs, struct hf_nlattr *attr);

/* The first `len` bytes of the value, in the host's byte order; a newer kernel may have appended to
 * them. False: it is shorter, and *out is as it was. */
bool hf_nlattr_get(const struct hf_nlattr *attr, void *out, size_t len);
/* A text ends at its NUL, or where the value ends: somebody may have cut it. */
size_t hf_nlattr_text_len(const struct hf_nlattr *attr);
bool hf_nlattr_is_text(const struct hf_nlattr *attr, const char *text);

#endif
