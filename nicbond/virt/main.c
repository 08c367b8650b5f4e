/* main.c - holdfast-nicbond-virt: the worker that calls libvirt for holdfast-nicbond: the link of a
 * virtio NIC, and hot-unplug. Started by it, serves orders on descriptor 3, ends when that closes.
 * Every call may hang; then this process hangs, and nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <libxml/parser.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nicbond/helper.h"
#include "nicbond/method.h"
#include "supervisord/base/clock.h"
#include "supervisord/base/log.h"
#include "supervisord/base/str.h"

enum { EXIT_USAGE = 2 };

struct virt_worker {
    const char *uri, *state;
    virConnectPtr connection; /* NULL: none */
};

static void keep_silent(void *user, virErrorPtr error)
{
    (void)user;
    (void)error;
}

static const char *last_error(void)
{
    const char *text = virGetLastErrorMessage();

    return text != NULL ? text : "libvirt does not say why";
}

static void drop_connection(struct virt_worker *worker)
{
    if (worker->connection != NULL)
        (void)virConnectClose(worker->connection);
    worker->connection = NULL;
}

/* A connection is opened before it is needed; a restarted libvirtd leaves a dead one. */
static bool connect_to(struct virt_worker *worker)
{
    if (worker->connection != NULL && virConnectIsAlive(worker->connection) == 1)
        return true;
    drop_connection(worker);
    worker->connection = virConnectOpen(worker->uri);
    return worker->connection != NULL;
}

/* Whether something was begun is not known when the connection broke under it. */
static enum flip_rung rung_of_error(void)
{
    int code = virGetLastErrorCode();

    return code == VIR_ERR_RPC || code == VIR_ERR_SYSTEM_ERROR || code == VIR_ERR_OPERATION_TIMEOUT
               ? FLIP_RUNG_LATE
               : FLIP_RUNG_REFUSED;
}

static bool fail(struct method_done *done, enum flip_rung rung, const char *why)
{
    done->rung = rung;
    (void)hf_str_copy(done->why, sizeof done->why, why);
    for (char *at = done->why; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ')
            *at = ' ';
    }
    return false;
}

/* The NIC's XML as libvirt is to be told it. NULL: done says why. */
static char *nic_xml(virDomainPtr domain, const struct method_vm *order, struct method_done *done)
{
    char *xml = virDomainGetXMLDesc(domain, 0), *nic = NULL;
    enum hf_code code;
    struct hf_err err;

    if (xml == NULL) {
        (void)fail(done, FLIP_RUNG_REFUSED, last_error());
        return NULL;
    }
    if (order->job == METHOD_LINK)
        code = method_link_xml(xml, strlen(xml), order->mac, order->is_off, &nic, &err);
    else
        code = method_unplug_xml(xml, strlen(xml), order->mac, &nic, &err);
    free(xml);
    if (code != HF_OK)
        (void)fail(done, FLIP_RUNG_REFUSED, err.text);
    return nic;
}

/* Written before it goes off and removed after it is on again: a later run of us switches on what
 * this one left off, and never what an operator did. */
static bool mark(const struct virt_worker *worker, const struct method_vm *order, bool is_off)
{
    char path[PATH_MAX];
    int fd;

    method_link_mark(worker->state, order->name, order->mac, path, sizeof path);
    if (!is_off)
        return unlink(path) == 0 || errno == ENOENT;
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool tell(virDomainPtr domain, const struct method_vm *order, struct method_done *done)
{
    char *xml = nic_xml(domain, order, done);
    int failed;

    if (xml == NULL)
        return false;
    if (order->job == METHOD_LINK)
        failed = virDomainUpdateDeviceFlags(domain, xml, VIR_DOMAIN_AFFECT_LIVE);
    else
        failed = virDomainDetachDeviceFlags(domain, xml, VIR_DOMAIN_AFFECT_LIVE);
    free(xml);
    if (failed != 0)
        return fail(done, rung_of_error(), last_error());
    done->rung = FLIP_RUNG_DONE;
    return true;
}

static void carry_out(struct virt_worker *worker, const struct method_vm *order,
                      struct method_done *done)
{
    hf_time began = hf_clock_now();
    virDomainPtr domain;

    *done = (struct method_done){0};
    if (!connect_to(worker)) {
        (void)fail(done, FLIP_RUNG_REFUSED, last_error());
        return;
    }
    domain = virDomainLookupByName(worker->connection, order->name);
    if (domain == NULL) {
        (void)fail(done, FLIP_RUNG_REFUSED, last_error());
        return;
    }
    if (order->job == METHOD_LINK && order->is_off && !mark(worker, order, true))
        (void)fail(done, FLIP_RUNG_REFUSED, "its mark cannot be written");
    else if (!tell(domain, order, done) && done->rung == FLIP_RUNG_LATE)
        drop_connection(worker);
    if (order->job == METHOD_LINK && !order->is_off && done->rung == FLIP_RUNG_DONE)
        (void)mark(worker, order, false);
    (void)virDomainFree(domain);
    done->took_us = (uint32_t)((hf_clock_now().ns - began.ns) / 1000);
}

static enum hf_code work(void *user, const uint8_t *bytes, size_t len, uint8_t *answer,
                         size_t *answer_len)
{
    struct method_vm order;
    struct method_done done;

    if (!method_vm_decode(bytes, len, &order))
        return HF_EBAD;
    carry_out(user, &order, &done);
    *answer_len = method_done_encode(&done, answer, HELPER_ANSWER_MAX);
    return HF_OK;
}

int main(int argc, char **argv)
{
    struct virt_worker worker = {0};
    struct hf_err err;

    if (argc != 3) {
        fprintf(stderr, "usage: holdfast-nicbond-virt URI FOLDER; started by holdfast-nicbond\n");
        return EXIT_USAGE;
    }
    worker.uri = argv[1];
    worker.state = argv[2];
    hf_log_open("holdfast-nicbond-virt", HF_LOG_INFO, false);
    xmlInitParser();
    (void)virInitialize();
    virSetErrorFunc(NULL, keep_silent);
    (void)connect_to(&worker);
    if (helper_serve(HELPER_FD, work, &worker, &err) != HF_ECLOSED) {
        hf_error("%s", err.text);
        return EXIT_FAILURE;
    }
    drop_connection(&worker);
    return EXIT_SUCCESS;
}
