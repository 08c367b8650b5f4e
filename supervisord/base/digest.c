#include "supervisord/base/digest.h"

#include "supervisord/base/str.h"

#include <nettle/sha2.h>
#include <string.h>

_Static_assert(sizeof((struct hf_digest){{0}}.b) == SHA256_DIGEST_SIZE, "a digest is SHA-256");

struct hf_digest hf_digest_of(const void *bytes, size_t len)
{
    struct sha256_ctx context;
    struct hf_digest digest;

    sha256_init(&context);
    if (len > 0)
        sha256_update(&context, len, bytes);
    sha256_digest(&context, sizeof digest.b, digest.b);
    return digest;
}

void hf_digest_hex(const struct hf_digest *d, char out[65])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < sizeof d->b; i++) {
        out[2 * i] = digits[d->b[i] >> 4];
        out[2 * i + 1] = digits[d->b[i] & 0xf];
    }
    out[2 * sizeof d->b] = '\0';
}

bool hf_digest_from_hex(const char *hex, struct hf_digest *out)
{
    struct hf_digest digest;

    if (strnlen(hex, 65) != 64)
        return false;
    for (size_t i = 0; i < sizeof digest.b; i++) {
        int high = hf_str_hex_digit(hex[2 * i]), low = hf_str_hex_digit(hex[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        digest.b[i] = (uint8_t)(high << 4 | low);
    }
    *out = digest;
    return true;
}
