/* LINK: supervisord/cluster nicbond */
/* fuzz_frames.c - any bytes between a daemon and its own helpers, which may have gone mad: refused,
 * or something that goes back to the same bytes. The first byte chooses who reads. */
#include <stdlib.h>
#include <string.h>

#include "nicbond/helper.h"
#include "nicbond/look.h"
#include "nicbond/method.h"
#include "supervisord/cluster/link_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void must_be_same(const uint8_t *bytes, size_t len, const void *again, size_t again_len)
{
    if (again_len != len || memcmp(bytes, again, len) != 0)
        abort();
}

static void try_link_frame(const uint8_t *bytes, size_t len)
{
    struct link_frame *frame = calloc(1, sizeof *frame);
    uint8_t *again = malloc(LINK_FRAME_MAX);
    struct hf_writer w = hf_writer_on(again, LINK_FRAME_MAX);
    struct hf_err err;

    if (frame == NULL || again == NULL)
        abort();
    if (link_frame_get(bytes, len, frame, &err) == HF_OK) {
        link_frame_put(&w, frame);
        if (w.bad)
            abort();
        must_be_same(bytes, len, again, w.len);
    }
    free(frame);
    free(again);
}

static void try_pf(const uint8_t *bytes, size_t len)
{
    uint8_t again[HELPER_ORDER_MAX];
    struct method_pf order;

    if (len <= sizeof again && method_pf_decode(bytes, len, &order))
        must_be_same(bytes, len, again, method_pf_encode(&order, again, sizeof again));
}

static void try_vm(const uint8_t *bytes, size_t len)
{
    uint8_t again[HELPER_ORDER_MAX];
    struct method_vm order;

    if (len <= sizeof again && method_vm_decode(bytes, len, &order))
        must_be_same(bytes, len, again, method_vm_encode(&order, again, sizeof again));
}

static void try_done(const uint8_t *bytes, size_t len)
{
    uint8_t again[HELPER_ORDER_MAX];
    struct method_done done;

    if (len <= sizeof again && method_done_decode(bytes, len, &done))
        must_be_same(bytes, len, again, method_done_encode(&done, again, sizeof again));
}

static void try_look(const uint8_t *bytes, size_t len)
{
    uint8_t again[HELPER_ORDER_MAX];
    struct watch_helped helped;

    if (len <= sizeof again && look_decode(bytes, len, &helped))
        must_be_same(bytes, len, again, look_encode(&helped, again, sizeof again));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static void (*const readers[])(const uint8_t *, size_t) = {try_link_frame, try_pf, try_vm,
                                                               try_done, try_look};

    if (len > 0)
        readers[bytes[0] % (sizeof readers / sizeof readers[0])](bytes + 1, len - 1);
    return 0;
}
