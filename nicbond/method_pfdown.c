/* method_pfdown.c - the PF down, where its driver knows no link state of VFs: their carrier goes
 * with it (igb: 0.6 to 2.2 s). Only when the PF carries nothing anyway; and the rtnetlink worker's
 * life. */
#include "nicbond/method.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nicbond/helper.h"
#include "nicbond/look.h"
#include "supervisord/base/clock.h"
#include "supervisord/base/str.h"

static enum hf_code write_down(int flips_fd, const struct method_pf *order, bool is_down,
                               struct hf_err *err)
{
    struct flips_entry entry = {.epoch = order->epoch, .is_pf_down = is_down};

    (void)hf_str_copy(entry.pf, sizeof entry.pf, order->pci);
    memcpy(entry.vfs, order->off, sizeof entry.vfs);
    return flips_put(flips_fd, order->fabric, &entry, err);
}

void method_pfdown_run(const struct vf_port *port, int flips_fd, const struct method_pf *order,
                       struct method_done *done)
{
    hf_time began = hf_clock_now();
    enum vf_answer answer;
    enum hf_code code;
    struct hf_err err;

    *done = (struct method_done){.rung = FLIP_RUNG_REFUSED};
    code = write_down(flips_fd, order, true, &err);
    if (code == HF_EACCESS || (code != HF_OK && order->is_off)) {
        (void)hf_str_copy(done->why, sizeof done->why, err.text);
        return;
    }
    answer = port->admin(port->user, order->ifindex, !order->is_off, &err);
    done->took_us = (uint32_t)((hf_clock_now().ns - began.ns) / 1000);
    if (answer == VF_DONE)
        done->rung = FLIP_RUNG_DONE;
    else if (answer == VF_UNKNOWN)
        done->rung = FLIP_RUNG_LATE;
    if (answer != VF_DONE)
        (void)hf_str_copy(done->why, sizeof done->why, err.text);
    if (!order->is_off && answer == VF_DONE)
        (void)write_down(flips_fd, order, false, &err);
}

/* ---- how long does the kernel's lock take? ---- */

static void probe(int fd, const struct method_pf *order, struct method_done *done)
{
    struct {
        struct nlmsghdr head;
        struct ifinfomsg info;
    } ask = {.head = {.nlmsg_len = sizeof ask,
                      .nlmsg_type = RTM_GETLINK,
                      .nlmsg_flags = NLM_F_REQUEST,
                      .nlmsg_seq = (uint32_t)order->epoch},
             .info = {.ifi_family = AF_UNSPEC, .ifi_index = order->ifindex}};
    uint8_t answer[16384]; /* cut is good enough: nobody reads it */
    hf_time began = hf_clock_now();

    *done = (struct method_done){.rung = FLIP_RUNG_REFUSED};
    /* The kernel answers within send(). */
    if (send(fd, &ask, sizeof ask, 0) == (ssize_t)sizeof ask &&
        recv(fd, answer, sizeof answer, MSG_DONTWAIT | MSG_TRUNC) > 0)
        done->rung = FLIP_RUNG_DONE;
    else
        (void)hf_str_copy(done->why, sizeof done->why, strerror(errno));
    done->took_us = (uint32_t)((hf_clock_now().ns - began.ns) / 1000);
}

/* ---- the worker ---- */

struct pf_worker {
    struct vf_netlink netlink;
    struct vf_port port;
    const char *root;
    int flips_fd, probe_fd;
};

static void look(const struct pf_worker *worker, const struct method_pf *order,
                 struct watch_helped *out)
{
    struct nic_place place = {.ifindex = order->ifindex};

    (void)hf_str_copy(place.name, sizeof place.name, order->name);
    (void)hf_str_copy(place.pci, sizeof place.pci, order->pci);
    look_run(worker->root, &place, out);
}

static enum hf_code work(void *user, const uint8_t *bytes, size_t len, uint8_t *answer,
                         size_t *answer_len)
{
    struct pf_worker *worker = user;
    struct method_pf order;
    struct method_done done;
    struct watch_helped helped;

    if (!method_pf_decode(bytes, len, &order))
        return HF_EBAD;
    switch (order.job) {
    case METHOD_VF_LINK:
        method_vflink_run(&worker->port, worker->flips_fd, &order, &done);
        break;
    case METHOD_PF_ADMIN:
        method_pfdown_run(&worker->port, worker->flips_fd, &order, &done);
        break;
    case METHOD_PROBE:
        probe(worker->probe_fd, &order, &done);
        break;
    case METHOD_LOOK:
        look(worker, &order, &helped);
        *answer_len = look_encode(&helped, answer, HELPER_ANSWER_MAX);
        return HF_OK;
    case METHOD_LINK:
    case METHOD_UNPLUG:
    case METHOD_JOBS:
        return HF_EBAD;
    }
    *answer_len = method_done_encode(&done, answer, HELPER_ANSWER_MAX);
    return HF_OK;
}

enum hf_code method_pf_serve(const char *state_folder, const char *root, struct hf_err *err)
{
    struct pf_worker worker = {.root = root};
    enum hf_code code;

    if (vf_netlink_open(&worker.netlink, -1, err) != HF_OK)
        return err->code;
    worker.port = vf_netlink_port(&worker.netlink);
    worker.probe_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (worker.probe_fd < 0) {
        (void)hf_err_set(err, HF_EIO, "netlink socket: %s", strerror(errno));
        vf_netlink_close(&worker.netlink);
        return err->code;
    }
    code = flips_open(state_folder, &worker.flips_fd, err);
    if (code == HF_OK) {
        code = helper_serve(HELPER_FD, work, &worker, err);
        close(worker.flips_fd);
    }
    close(worker.probe_fd);
    vf_netlink_close(&worker.netlink);
    return code;
}
