/* method_guest.c - the guest's own helper sets the active slave: the quickest, and the only one
 * that nobody but the guest itself can vouch for. */
#include "nicbond/method.h"

enum flip_rung method_guest_order(struct guest_socket *guest, uint64_t epoch, hf_mac mac,
                                  hf_time now)
{
    struct hf_err err;

    if (guest == NULL || guest_socket_order(guest, epoch, mac, now, &err) != HF_OK)
        return FLIP_RUNG_READY;
    return FLIP_RUNG_OUT;
}

enum flip_rung method_guest_worth(const struct guest_answer *answer)
{
    switch (answer->result) {
    case GUEST_DONE:
    case GUEST_ALREADY:
        return FLIP_RUNG_DONE;
    case GUEST_REFUSED:
        return FLIP_RUNG_REFUSED;
    case GUEST_LATE:
    case GUEST_GONE:
    case GUEST_LIED:
    case GUEST_RESULTS:
        break;
    }
    return FLIP_RUNG_LATE;
}
