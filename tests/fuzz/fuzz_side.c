/* fuzz_side.c - any bytes as a side message: an error, or a message that encodes to the same bytes;
 * and whatever a member sends, the contents of another stay what their names say. */
/* LINK: supervisord/cluster supervisord/base supervisord/model */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisord/cluster/blobs.h"
#include "supervisord/cluster/side.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static enum hf_code side(void *user, const void *bytes, size_t len, struct hf_err *err)
{
    (void)user;
    (void)bytes;
    (void)len;
    (void)err;
    return HF_OK;
}

static void keep(void *user, const char *hex, const void *bytes, size_t len)
{
    struct hf_digest digest = hf_digest_of(bytes, len);
    char name[65];

    (void)user;
    hf_digest_hex(&digest, name);
    if (strcmp(name, hex) != 0)
        abort();
}

static void forget(void *user, const char *hex)
{
    (void)user;
    (void)hex;
}

static void arrived(void *user, const struct hf_digest *digest)
{
    (void)user;
    (void)digest;
}

static void decode(const uint8_t *bytes, size_t len)
{
    uint8_t again[SIDE_BYTES_MAX];
    struct side_message m;
    struct hf_err err;

    if (len > SIDE_BYTES_MAX || side_decode(bytes, len, &m, &err) != HF_OK)
        return;
    if (side_encode(&m, again) != len || memcmp(again, bytes, len) != 0)
        abort();
}

/* The input is cut into messages by a length byte each; even ones come from another member. */
static void talk(const uint8_t *bytes, size_t len)
{
    struct blobs_ports ports = {NULL, side, keep, forget, arrived};
    hf_time now = {1000000000};
    struct blobs *b;
    struct hf_err err;

    if (blobs_open(&b, &ports, &err) != HF_OK)
        return;
    for (size_t at = 0; at < len; now = hf_time_add_ms(now, 700)) {
        size_t part = bytes[at] < len - at - 1 ? bytes[at] : len - at - 1;

        blobs_side(b, bytes + at + 1, part, 1 + bytes[at] % 3, bytes[at] % 4, bytes[at] % 5 == 0,
                   now);
        blobs_tick(b, now);
        at += 1 + part;
    }
    blobs_close(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    decode(bytes, len);
    talk(bytes, len);
    return 0;
}
