/* libvirt.h - everything this product asks of libvirt, behind a table, so that tests can be slow,
 * hung, refusing and lying in its place (tests/fakes/libvirt.h).
 * Every call but the two of the sink may block without bound: only workers (pool.h) make them.
 * libvirt's word is never what decides whether a VM runs: its process is (qemu.h). */
#ifndef AGENTS_VM_LIBVIRT_H
#define AGENTS_VM_LIBVIRT_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/base/err.h"
#include "supervisord/model/limits.h"

/* How a call ended, as far as it matters to an order. */
enum virt_code {
    VIRT_OK = 0,
    VIRT_ABSENT,     /* no domain of this name is running */
    VIRT_ACTIVE,     /* create: libvirt still has, or has again, an active one of this name */
    VIRT_PERSISTENT, /* create: somebody defined one of this name here */
    VIRT_LOCKED,     /* create: another qemu holds the write lock of an image */
    VIRT_FAILED,     /* libvirt refused; the text says why */
    VIRT_UNREACHED,  /* the connection broke before anything was asked for: nothing happened */
    VIRT_GONE,       /* the connection broke: whether it happened is not known */
    VIRT_CODES
};

enum virt_event_kind {
    VIRT_EV_STARTED = 1,     /* also resumed: look at the process */
    VIRT_EV_SHUTDOWN_GUEST,  /* the guest switched itself off; its process is still there */
    VIRT_EV_SHUTDOWN_HOST,   /* its process was asked to end by a signal */
    VIRT_EV_STOPPED_OFF,     /* ended after a shutdown */
    VIRT_EV_STOPPED_DESTROYED,
    VIRT_EV_STOPPED_FAILED,  /* crashed, panicked, or lost its monitor */
    VIRT_EV_STOPPED_AWAY,    /* migrated or saved by somebody */
    VIRT_EV_PAUSED_TROUBLE,  /* paused by an I/O error or a watchdog */
    VIRT_EVENTS
};

struct virt_event {
    enum virt_event_kind kind;
    char name[HF_NAME_MAX + 1];
};

/* Where events go; both are called from libvirt's thread. */
struct virt_sink {
    void (*event)(void *user, const struct virt_event *ev);
    void (*gone)(void *user, const char *why); /* once per attach */
    void *user;
};

struct virt {
    void *self;
    /* Connect for events, replacing an earlier connection. After VIRT_OK events flow. */
    enum virt_code (*attach)(void *self, const struct virt_sink *sink, struct hf_err *err);
    /* A worker's own connection. */
    enum virt_code (*open)(void *self, void **conn, struct hf_err *err);
    void (*close)(void *self, void *conn);
    /* Does it answer at all? Cheap. */
    enum virt_code (*ping)(void *self, void *conn, struct hf_err *err);
    /* Create from XML, paused, and verify that it is paused and has this name. */
    enum virt_code (*create)(void *self, void *conn, const char *name, const char *xml,
                             struct hf_err *err);
    /* Let it run; VIRT_OK when it runs already. */
    enum virt_code (*resume)(void *self, void *conn, const char *name, struct hf_err *err);
    enum virt_code (*shutdown)(void *self, void *conn, const char *name, struct hf_err *err);
    /* is_graceful: never SIGKILL. Waits for the process, up to 15 s graceful, about 40 s else. */
    enum virt_code (*destroy)(void *self, void *conn, const char *name, bool is_graceful,
                              struct hf_err *err);
    /* A running domain's XML, malloc'ed; for the start number when the status file is not there. */
    enum virt_code (*describe)(void *self, void *conn, const char *name, char **xml,
                               struct hf_err *err);
    /* Have all creates that libvirt received before this call begun, and is there a domain of this
     * name? ABSENT, ACTIVE or PERSISTENT; anything else: not known. Waits behind those creates. */
    enum virt_code (*probe)(void *self, void *conn, const char *name, struct hf_err *err);
};

/* The real one. Starts libvirt's event loop in a thread of its own, once per process and for ever
 * (libvirt's registration is): call it once. uri is borrowed for ever. `can_pause` is false for
 * test:/// only, whose driver refuses VIR_DOMAIN_START_PAUSED. */
enum hf_code libvirt_open(struct virt *virt, const char *uri, bool can_pause, struct hf_err *err);
/* Drop the event connection; no call may be under way. The event thread stays. */
void libvirt_close(struct virt *virt);

/* What an error text of a failed create means (pure; tested with texts seen in the field). */
enum virt_code libvirt_judge_text(const char *text);

#endif
