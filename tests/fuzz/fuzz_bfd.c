/* LINK: nicbond supervisord/base */
/* fuzz_bfd.c - any bytes as a BFD peer: each packet is dropped or encodes to the same, and whatever
 * is heard in whatever time, the session keeps its invariants (bfd_check() aborts) and its manners.
 * Input: records of one byte of time and what else happens, and a packet of up to 24 bytes. */
#include <stdlib.h>
#include <string.h>

#include "nicbond/bfd.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

enum { MY = 0x01010101, TICK = 0x80, RETIME = 0x40, STEP = 0x3f };

/* Once a packet has been sent the next is not due at the same time, and never asks and answers. */
static void speak(struct bfd *b, hf_time now)
{
    struct bfd_packet packet;
    uint8_t bytes[BFD_PACKET_BYTES];

    if (!bfd_send(b, now, &packet))
        return;
    bfd_packet_encode(&packet, bytes);
    if ((packet.poll && packet.final) || hf_time_reached(now, bfd_due_at(b)))
        abort();
}

static void hear(struct bfd *b, const uint8_t *bytes, size_t len, hf_time now)
{
    uint8_t again[BFD_PACKET_BYTES];
    struct bfd_packet packet;
    struct bfd_changes changes;

    if (bfd_packet_decode(bytes, len, &packet) != BFD_DROP_NONE)
        return;
    bfd_packet_encode(&packet, again);
    if (memcmp(bytes, again, sizeof again) != 0)
        abort();
    bfd_receive(b, &packet, now, &changes);
    if (changes.count > BFD_CHANGES_MAX)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const struct bfd_timing fast = {10000, 10000, 3};
    hf_time now = {1000 * HF_NS_PER_MS};
    struct bfd_changes changes;
    struct bfd b;

    bfd_init(&b, &fast, MY, 1, now);
    while (len > 0) {
        uint8_t what = *bytes;
        int64_t step = what & STEP;
        size_t packet = len - 1 < BFD_PACKET_BYTES ? len - 1 : BFD_PACKET_BYTES;

        now.ns += step * step * HF_NS_PER_MS;
        if ((what & TICK) != 0)
            bfd_tick(&b, now, &changes);
        if ((what & RETIME) != 0)
            bfd_retime(&b,
                       &(struct bfd_timing){1 + 500U * what, 60000 - 200U * what, 1 + what % 5});
        hear(&b, bytes + 1, packet, now);
        speak(&b, now);
        bytes += 1 + packet;
        len -= 1 + packet;
    }
    return 0;
}
