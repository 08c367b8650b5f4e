/* LINK: supervisord/wire supervisord/engine supervisord/model supervisord/base fencing */
/* fuzz_event.c - bytes as an engine event. What the decoder lets through has exactly one encoding,
 * and an engine of three nodes must survive it, whatever it says. */
#include "supervisord/engine/engine.h"
#include "supervisord/wire/event.h"
#include "tests/unit/supervisord/a_group.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static struct engine *new_engine(struct engine_out *out)
{
    struct engine *e = aligned_alloc(64, (engine_size() + 63) / 64 * 64);
    struct hf_group g = a_group(3);
    struct hf_event ev = {.seq = 1, .from = HF_NO_NODE, .type = HF_EV_MEMBERS};
    struct hf_err err;

    if (e == NULL)
        abort();
    for (uint8_t n = 0; n < 3; n++) {
        ev.u.members.node[n].present = ev.u.members.node[n].in_ring = true;
        ev.u.members.node[n].boot.id[0] = 1;
        ev.u.members.node[n].incarnation = 1;
    }
    if (engine_init(e, &g, &err) != HF_OK)
        abort();
    engine_step(e, &ev, out);
    return e;
}

static void step(const struct hf_event *decoded)
{
    struct engine_out *out = malloc(sizeof *out);
    struct hf_event ev = *decoded;
    struct engine *e;

    if (out == NULL)
        abort();
    e = new_engine(out);
    ev.seq = engine_seq(e) + 1;
    engine_step(e, &ev, out);
    free(e);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct hf_reader r = hf_reader_on(bytes, len);
    struct hf_event ev;
    struct hf_err err;
    uint8_t again[HF_EVENT_BYTES_MAX];
    struct hf_writer w = hf_writer_on(again, sizeof again);

    if (event_decode(&r, &ev, &err) != HF_OK)
        return 0;
    event_encode(&ev, &w);
    if (w.bad || w.len != len || memcmp(again, bytes, len) != 0)
        abort();
    step(&ev);
    return 0;
}
