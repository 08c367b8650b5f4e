/* method_vflink.c - the link of VFs, set on their PF: the guest's driver sees its carrier go, its
 * bond does the rest. One rtnetlink message for all of them, in a process that may hang. */
#include "nicbond/method.h"

#include <string.h>

#include "supervisord/base/clock.h"
#include "supervisord/base/str.h"

enum { BUSY_WAIT_MS = 20 }; /* i40e and ice answer EAGAIN and EBUSY while a VF is in reset */

/* Drivers by what they can (kernel 6.12: who has ndo_set_vf_link_state; nicbond/README.md). sfc is
 * EF10 here; its EF100 refuses, which is remembered like any refusal. */
enum nic_fact method_vflink_is_known(const char *driver)
{
    static const char *const able[] = {"sfc", "ixgbe", "i40e", "ice", "mlx5_core", "bnxt_en"};
    static const char *const unable[] = {"igb"};

    for (unsigned i = 0; i < sizeof able / sizeof able[0]; i++) {
        if (strcmp(driver, able[i]) == 0)
            return NIC_YES;
    }
    for (unsigned i = 0; i < sizeof unable / sizeof unable[0]; i++) {
        if (strcmp(driver, unable[i]) == 0)
            return NIC_NO;
    }
    return NIC_NOT_KNOWN;
}

static enum flip_rung rung_of(enum vf_answer answer)
{
    switch (answer) {
    case VF_DONE:
        return FLIP_RUNG_DONE;
    case VF_UNSUPPORTED:
    case VF_GONE:
    case VF_REFUSED:
    case VF_BUSY:
        return FLIP_RUNG_REFUSED;
    case VF_UNKNOWN:
    case VF_ANSWERS:
        break;
    }
    return FLIP_RUNG_LATE;
}

/* Tell `count` VFs, again while the driver is busy and there is time. */
static enum vf_answer tell(const struct vf_port *port, const struct method_pf *order,
                           const uint16_t *vfs, uint16_t count, hf_time until, struct hf_err *err)
{
    enum vf_link link = order->is_off ? VF_LINK_DISABLE : VF_LINK_AUTO;

    for (;;) {
        enum vf_answer answer = port->link(port->user, order->ifindex, vfs, count, link, err);

        if (answer != VF_BUSY ||
            hf_time_reached(hf_time_add_ms(hf_clock_now(), BUSY_WAIT_MS), until) ||
            !port->wait(port->user, BUSY_WAIT_MS))
            return answer;
    }
}

static enum hf_code write_down(int flips_fd, const struct method_pf *order, bool with_vfs,
                               struct hf_err *err)
{
    struct flips_entry entry = {.epoch = order->epoch, .is_pf_down = order->is_down};

    (void)hf_str_copy(entry.pf, sizeof entry.pf, order->pci);
    memcpy(entry.vfs, order->off, sizeof entry.vfs);
    for (unsigned i = 0; i < order->vfs_count; i++)
        flips_set_vf(&entry, order->vf[i], with_vfs);
    return flips_put(flips_fd, order->fabric, &entry, err);
}

static void set_all(struct method_done *done, const struct method_pf *order, enum flip_rung rung)
{
    done->rung = rung;
    done->vfs_count = order->vfs_count;
    memset(done->vf, (int)rung, order->vfs_count);
}

/* The kernel stops at the first VF it refuses: one that has vanished must not keep the others. */
static enum flip_rung tell_each(const struct vf_port *port, const struct method_pf *order,
                                hf_time until, struct method_done *done)
{
    enum flip_rung worst = FLIP_RUNG_DONE;
    struct hf_err err;

    for (uint16_t i = 0; i < order->vfs_count; i++) {
        enum flip_rung rung = hf_time_reached(hf_clock_now(), until)
                                  ? FLIP_RUNG_LATE
                                  : rung_of(tell(port, order, &order->vf[i], 1, until, &err));

        done->vf[i] = (uint8_t)rung;
        if (rung > worst)
            worst = rung;
    }
    return worst;
}

void method_vflink_run(const struct vf_port *port, int flips_fd, const struct method_pf *order,
                       struct method_done *done)
{
    hf_time began = hf_clock_now();
    hf_time until = hf_time_add_ms(began, order->budget_ms);
    enum vf_answer answer;
    enum hf_code code;
    struct hf_err err;

    *done = (struct method_done){0};
    /* What is switched off is written down before, what is switched on again after. A later order
     * that was written already makes this one nobody's. */
    code = write_down(flips_fd, order, true, &err);
    if (code == HF_EACCESS || (code != HF_OK && order->is_off)) {
        set_all(done, order, FLIP_RUNG_REFUSED);
        (void)hf_str_copy(done->why, sizeof done->why, err.text);
        return;
    }
    answer = tell(port, order, order->vf, order->vfs_count, until, &err);
    set_all(done, order, rung_of(answer));
    done->is_unsupported = answer == VF_UNSUPPORTED;
    if (answer != VF_DONE)
        (void)hf_str_copy(done->why, sizeof done->why, err.text);
    if (done->rung == FLIP_RUNG_REFUSED && answer != VF_UNSUPPORTED && answer != VF_GONE &&
        order->vfs_count > 1)
        done->rung = tell_each(port, order, until, done);
    done->took_us = (uint32_t)((hf_clock_now().ns - began.ns) / 1000);
    /* On again, or nothing was changed. */
    if ((!order->is_off && done->rung == FLIP_RUNG_DONE) || (order->is_off && done->is_unsupported))
        (void)write_down(flips_fd, order, false, &err);
}
