/* LINK: supervisord/engine supervisord/wire supervisord/model supervisord/base fencing */
/* fuzz_snapshot.c - bytes as a saved engine state, from a donor or a disk. What is accepted must be
 * whole: it saves to the same bytes and survives a step. */
#include "supervisord/engine/engine.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void use(struct engine *e, const uint8_t *bytes, size_t len)
{
    struct engine_out *out = malloc(sizeof *out);
    uint8_t *saved = malloc(engine_save_max());
    struct hf_event ev = {.type = HF_EV_FACTS};

    if (out == NULL || saved == NULL)
        abort();
    if (engine_save(e, saved, engine_save_max()) != len || memcmp(saved, bytes, len) != 0)
        abort();
    if (engine_seq(e) < UINT64_MAX) {
        ev.seq = engine_seq(e) + 1;
        engine_step(e, &ev, out);
    }
    free(saved);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct engine *e = aligned_alloc(64, (engine_size() + 63) / 64 * 64);
    struct hf_err err;

    if (e == NULL)
        abort();
    if (engine_load(e, bytes, len, &err) == HF_OK)
        use(e, bytes, len);
    free(e);
    return 0;
}
