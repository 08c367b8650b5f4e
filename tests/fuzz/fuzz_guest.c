/* LINK: nicbond supervisord/wire */
/* fuzz_guest.c - any bytes from a VM: whatever nicbond makes of them, its picture is sound and its
 * memory its own. What comes out of the stream as a message encodes to the frame it was. */
#include <stdlib.h>
#include <string.h>

#include "nicbond/guest.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_messages(const uint8_t *bytes, size_t len)
{
    struct guest_stream stream = {.len = 0};
    struct hf_guest_message message, again;
    uint8_t frame[GUEST_FRAME_MAX];
    size_t out = 0, taken = 0;

    while (taken < len) {
        size_t now = guest_stream_put(&stream, bytes + taken, len - taken);

        if (now == 0)
            abort();
        taken += now;
        while (guest_stream_next(&stream, &message)) {
            size_t frame_len = guest_frame_encode(&message, frame);

            out += frame_len;
            if (!guest_frame_decode((uint8_t)message.kind, frame + GUEST_FRAME_HEAD,
                                    frame_len - GUEST_FRAME_HEAD, &again))
                abort();
        }
    }
    if (stream.skipped + stream.len + out > len)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct guest guest;
    struct guest_answer answer;
    struct hf_err err;
    hf_time now = {1000 * HF_NS_PER_MS};
    const hf_mac mac = {{2, 0, 0, 0, 0, 1}};

    check_messages(bytes, len);
    guest_init(&guest, now);
    guest_joined(&guest, now);
    /* In pieces, with an order open as soon as there is a helper, and time that passes. */
    for (size_t at = 0; at < len;) {
        size_t piece = 1 + bytes[at] % 97;

        if (piece > len - at)
            piece = len - at;
        if (!guest_take(&guest, bytes + at, piece, now))
            break;
        at += piece;
        now = hf_time_add_ms(now, (int64_t)(piece % 5) * 10);
        (void)guest_tick(&guest, now);
        (void)guest_order_active(&guest, at, mac, now, &err);
        if (guest_answer(&guest, &answer) && (answer.result == 0 || answer.result >= GUEST_RESULTS))
            abort();
        if (guest.bond.slaves_count > HF_GUEST_SLAVES_MAX ||
            strlen(guest.bond.name) > HF_IFNAME_MAX)
            abort();
        (void)guest_is_on(&guest, mac);
    }
    guest_left(&guest, now);
    return 0;
}
