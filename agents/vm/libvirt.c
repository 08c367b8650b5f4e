#include "agents/vm/libvirt.h"

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "supervisord/base/str.h"

enum {
    KEEPALIVE_S = 1, /* a stopped libvirtd is noticed within 4 s (measured) */
    KEEPALIVE_COUNT = 3,
};

/* One attach: libvirt may call back late, from a connection already replaced. */
struct session {
    struct virt_sink sink;
    virConnectPtr conn;
};

struct libvirt {
    const char *uri;
    bool can_pause;
    struct session *session;
};

/* ---- errors ---- */

/* libvirt prints errors on stderr by itself unless told otherwise. */
static void keep_silent(void *user, virErrorPtr error)
{
    (void)user;
    (void)error;
}

enum virt_code libvirt_judge_text(const char *text)
{
    if (strstr(text, "Failed to get \"write\" lock") != NULL ||
        strstr(text, "Failed to get shared \"write\" lock") != NULL ||
        strstr(text, "Failed to acquire lock") != NULL ||
        strstr(text, "Failed to lock byte") != NULL)
        return VIRT_LOCKED;
    /* It is on its way out, or somebody made one since we looked: the next look tells which. */
    if (strstr(text, "already exists with uuid") != NULL ||
        strstr(text, "domain is already active") != NULL)
        return VIRT_ACTIVE;
    return VIRT_FAILED;
}

static enum virt_code judge_number(int number, const char *text)
{
    switch (number) {
    case VIR_ERR_NO_DOMAIN:
        return VIRT_ABSENT;
    case VIR_ERR_RPC:
    case VIR_ERR_NO_CONNECT:
    case VIR_ERR_INVALID_CONN:
    case VIR_ERR_SYSTEM_ERROR: /* the socket: EPIPE, connection refused */
        return VIRT_GONE;
    default:
        if (strstr(text, "client socket is closed") != NULL ||
            strstr(text, "keepalive timeout") != NULL)
            return VIRT_GONE;
        return libvirt_judge_text(text);
    }
}

static enum virt_code failed(struct hf_err *err, const char *doing)
{
    virErrorPtr last = virGetLastError();
    const char *text = last != NULL && last->message != NULL ? last->message : "no reason given";
    enum virt_code code = judge_number(last != NULL ? last->code : 0, text);

    (void)hf_err_set(err, code == VIRT_GONE ? HF_ECLOSED : HF_EIO, "libvirt: %s: %s", doing, text);
    return code;
}

/* ---- the event loop's thread ---- */

static void *run_events(void *user)
{
    (void)user;
    for (;;)
        (void)virEventRunDefaultImpl(); /* its only failure is a failed poll(): nothing to clean */
    return NULL;
}

/* The loop sleeps until a descriptor speaks; libvirt wakes it when another thread adds one. */
static enum hf_code start_events(struct hf_err *err)
{
    pthread_attr_t attr;
    pthread_t thread;
    int rc;

    if (virInitialize() != 0 || virEventRegisterDefaultImpl() != 0)
        return hf_err_set(err, HF_EIO, "libvirt: cannot set up its event loop");
    virSetErrorFunc(NULL, keep_silent);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    rc = pthread_create(&thread, &attr, run_events, NULL);
    pthread_attr_destroy(&attr);
    if (rc != 0)
        return hf_err_set(err, HF_EIO, "libvirt: event thread: %s", strerror(rc));
    return HF_OK;
}

/* ---- events ---- */

static enum virt_event_kind kind_of_stopped(int detail)
{
    switch ((virDomainEventStoppedDetailType)detail) {
    case VIR_DOMAIN_EVENT_STOPPED_SHUTDOWN:
        return VIRT_EV_STOPPED_OFF;
    case VIR_DOMAIN_EVENT_STOPPED_DESTROYED:
        return VIRT_EV_STOPPED_DESTROYED;
    case VIR_DOMAIN_EVENT_STOPPED_MIGRATED:
    case VIR_DOMAIN_EVENT_STOPPED_SAVED:
    case VIR_DOMAIN_EVENT_STOPPED_FROM_SNAPSHOT:
        return VIRT_EV_STOPPED_AWAY;
    case VIR_DOMAIN_EVENT_STOPPED_CRASHED:
    case VIR_DOMAIN_EVENT_STOPPED_FAILED:
        return VIRT_EV_STOPPED_FAILED;
    }
    return VIRT_EV_STOPPED_FAILED; /* a detail newer than us */
}

/* 0: nothing we act on. */
static enum virt_event_kind kind_of(int event, int detail)
{
    switch (event) {
    case VIR_DOMAIN_EVENT_STARTED:
    case VIR_DOMAIN_EVENT_RESUMED:
        return VIRT_EV_STARTED;
    case VIR_DOMAIN_EVENT_SHUTDOWN:
        return detail == VIR_DOMAIN_EVENT_SHUTDOWN_HOST ? VIRT_EV_SHUTDOWN_HOST
                                                        : VIRT_EV_SHUTDOWN_GUEST;
    case VIR_DOMAIN_EVENT_STOPPED:
        return kind_of_stopped(detail);
    case VIR_DOMAIN_EVENT_CRASHED:
        return VIRT_EV_STOPPED_FAILED;
    case VIR_DOMAIN_EVENT_SUSPENDED:
        return detail == VIR_DOMAIN_EVENT_SUSPENDED_IOERROR ||
                       detail == VIR_DOMAIN_EVENT_SUSPENDED_WATCHDOG
                   ? VIRT_EV_PAUSED_TROUBLE
                   : (enum virt_event_kind)0;
    default:
        return (enum virt_event_kind)0;
    }
}

static int on_lifecycle(virConnectPtr conn, virDomainPtr domain, int event, int detail, void *user)
{
    const struct session *session = user;
    struct virt_event ev = {.kind = kind_of(event, detail)};
    const char *name = virDomainGetName(domain);

    (void)conn;
    if (ev.kind != 0 && name != NULL && hf_str_copy(ev.name, sizeof ev.name, name))
        session->sink.event(session->sink.user, &ev);
    return 0;
}

static void on_close(virConnectPtr conn, int reason, void *user)
{
    static const char *const why[] = {"connection error", "it ended", "it does not answer",
                                      "we closed"};
    const struct session *session = user;

    (void)conn;
    session->sink.gone(session->sink.user, reason >= 0 && reason < 4 ? why[reason] : "closed");
}

/* The session lives until libvirt is truly done with the event registration: it may be inside one
 * of our callbacks when the connection is closed. */
static void free_session(void *user)
{
    free(user);
}

static void drop_session(struct libvirt *self)
{
    struct session *old = self->session;

    self->session = NULL;
    if (old == NULL)
        return;
    (void)virConnectUnregisterCloseCallback(old->conn, on_close);
    (void)virConnectClose(old->conn); /* frees the session with the event registration */
}

/* A fresh libvirtd runs every emulator once before its first start (0.4 s on the rig) and remembers
 * what it learned. Better now than when a VM waits. */
static void warm(virConnectPtr conn)
{
    char *capabilities = virConnectGetCapabilities(conn);

    free(capabilities);
}

static enum virt_code attach(void *user, const struct virt_sink *sink, struct hf_err *err)
{
    struct libvirt *self = user;
    virConnectPtr conn;
    struct session *session;

    drop_session(self);
    conn = virConnectOpen(self->uri);
    if (conn == NULL)
        return failed(err, "connect");
    session = calloc(1, sizeof *session);
    if (session == NULL) {
        (void)virConnectClose(conn);
        (void)hf_err_set(err, HF_EIO, "libvirt: connect: out of memory");
        return VIRT_FAILED;
    }
    *session = (struct session){.sink = *sink, .conn = conn};
    (void)virConnectSetKeepAlive(conn, KEEPALIVE_S, KEEPALIVE_COUNT);
    if (virConnectDomainEventRegisterAny(conn, NULL, VIR_DOMAIN_EVENT_ID_LIFECYCLE,
                                         VIR_DOMAIN_EVENT_CALLBACK(on_lifecycle), session,
                                         free_session) < 0) {
        enum virt_code code = failed(err, "register for events");

        free(session);
        (void)virConnectClose(conn);
        return code;
    }
    self->session = session;
    warm(conn);
    /* The close callback's failure leaves the ping to find out. */
    (void)virConnectRegisterCloseCallback(conn, on_close, session, NULL);
    return VIRT_OK;
}

/* ---- calls ---- */

static enum virt_code open_conn(void *user, void **conn, struct hf_err *err)
{
    struct libvirt *self = user;
    virConnectPtr opened = virConnectOpen(self->uri);

    if (opened == NULL) {
        (void)failed(err, "connect");
        return VIRT_UNREACHED;
    }
    (void)virConnectSetKeepAlive(opened, KEEPALIVE_S, KEEPALIVE_COUNT);
    *conn = opened;
    return VIRT_OK;
}

static void close_conn(void *user, void *conn)
{
    (void)user;
    (void)virConnectClose(conn);
}

static enum virt_code ping(void *user, void *conn, struct hf_err *err)
{
    (void)user;
    return virConnectNumOfDomains(conn) < 0 ? failed(err, "ping") : VIRT_OK;
}

/* A domain of this name that is there already: running, or somebody's definition? */
static enum virt_code judge_existing(virDomainPtr domain, struct hf_err *err)
{
    int active = virDomainIsActive(domain), persistent = 0;

    if (active < 0)
        return failed(err, "look at the domain");
    if (active == 0)
        persistent = virDomainIsPersistent(domain);
    if (persistent < 0)
        return failed(err, "look at the domain");
    if (active == 1 || persistent == 0) { /* neither: it is being made, or removed */
        (void)hf_err_set(err, HF_EIO, "libvirt: a domain of this name is active");
        return VIRT_ACTIVE;
    }
    (void)hf_err_set(err, HF_EIO,
                     "libvirt: somebody defined a domain of this name here: undefine it");
    return VIRT_PERSISTENT;
}

static enum virt_code verify_created(const struct libvirt *self, virDomainPtr domain,
                                     const char *name, struct hf_err *err)
{
    int state = -1;

    if (strcmp(virDomainGetName(domain), name) != 0) {
        (void)hf_err_set(err, HF_EBAD, "libvirt: created %s instead", virDomainGetName(domain));
        return VIRT_GONE;
    }
    if (!self->can_pause)
        return VIRT_OK;
    if (virDomainGetState(domain, &state, NULL, 0) != 0)
        return failed(err, "state after create");
    if (state != VIR_DOMAIN_PAUSED) {
        (void)hf_err_set(err, HF_EBAD, "libvirt: state %d after create, not paused", state);
        return VIRT_GONE; /* something runs, but not what we made: not known */
    }
    return VIRT_OK;
}

static enum virt_code create(void *user, void *conn, const char *name, const char *xml,
                             struct hf_err *err)
{
    const struct libvirt *self = user;
    virDomainPtr domain = virDomainLookupByName(conn, name);
    enum virt_code code;

    if (domain != NULL) {
        code = judge_existing(domain, err); /* VIRT_ABSENT: it has just gone */
        virDomainFree(domain);
    } else {
        code = failed(err, "look for the domain");
    }
    if (code != VIRT_ABSENT)
        return code == VIRT_GONE ? VIRT_UNREACHED : code;
    domain = virDomainCreateXML(conn, xml, self->can_pause ? VIR_DOMAIN_START_PAUSED : 0);
    if (domain == NULL)
        return failed(err, "create");
    code = verify_created(self, domain, name, err);
    virDomainFree(domain);
    return code;
}

/* Look up by name; NULL with *code set. */
static virDomainPtr find(void *conn, const char *name, enum virt_code *code, struct hf_err *err)
{
    virDomainPtr domain = virDomainLookupByName(conn, name);

    if (domain == NULL) {
        *code = failed(err, "look for the domain");
        if (*code == VIRT_GONE)
            *code = VIRT_UNREACHED;
    }
    return domain;
}

static enum virt_code resume(void *user, void *conn, const char *name, struct hf_err *err)
{
    enum virt_code code = VIRT_OK;
    virDomainPtr domain = find(conn, name, &code, err);
    int state = -1;

    (void)user;
    if (domain == NULL)
        return code;
    if (virDomainGetState(domain, &state, NULL, 0) != 0)
        code = failed(err, "state before resume");
    else if (state != VIR_DOMAIN_RUNNING && virDomainResume(domain) != 0)
        code = failed(err, "resume");
    virDomainFree(domain);
    return code;
}

static enum virt_code shut_down(void *user, void *conn, const char *name, struct hf_err *err)
{
    enum virt_code code = VIRT_OK;
    virDomainPtr domain = find(conn, name, &code, err);

    (void)user;
    if (domain == NULL)
        return code;
    if (virDomainShutdown(domain) != 0)
        code = failed(err, "shutdown");
    virDomainFree(domain);
    return code;
}

static enum virt_code destroy(void *user, void *conn, const char *name, bool is_graceful,
                              struct hf_err *err)
{
    enum virt_code code = VIRT_OK;
    virDomainPtr domain = find(conn, name, &code, err);

    (void)user;
    if (domain == NULL)
        return code;
    if (virDomainDestroyFlags(domain, is_graceful ? VIR_DOMAIN_DESTROY_GRACEFUL : 0) != 0)
        code = failed(err, "destroy");
    virDomainFree(domain);
    return code;
}

static enum virt_code describe(void *user, void *conn, const char *name, char **xml,
                               struct hf_err *err)
{
    enum virt_code code = VIRT_OK;
    virDomainPtr domain = find(conn, name, &code, err);

    (void)user;
    if (domain == NULL)
        return code;
    *xml = virDomainGetXMLDesc(domain, 0);
    if (*xml == NULL)
        code = failed(err, "describe");
    virDomainFree(domain);
    return code;
}

/* The daemon answers a lookup with threads kept for quick calls, past creates that wait for one of
 * the others. This call is of the creates' own kind (remote_protocol.x gives it no priority) and
 * does nothing: the format does not exist. Once it is answered, whatever was received before it is
 * in the hands of a thread. */
static enum virt_code wait_in_line(void *conn, struct hf_err *err)
{
    char *text = virConnectDomainXMLToNative(conn, "none", "<domain/>", 0);
    enum virt_code code;

    if (text != NULL) {
        free(text);
        return VIRT_OK;
    }
    code = failed(err, "wait behind earlier creates");
    return code == VIRT_GONE ? VIRT_UNREACHED : VIRT_OK; /* any refusal is an answer */
}

static enum virt_code probe(void *user, void *conn, const char *name, struct hf_err *err)
{
    enum virt_code code = wait_in_line(conn, err);
    virDomainPtr domain;

    (void)user;
    if (code != VIRT_OK)
        return code;
    domain = find(conn, name, &code, err);
    if (domain == NULL)
        return code;
    code = judge_existing(domain, err);
    virDomainFree(domain);
    return code;
}

enum hf_code libvirt_open(struct virt *virt, const char *uri, bool can_pause, struct hf_err *err)
{
    struct libvirt *self = calloc(1, sizeof *self);

    if (self == NULL)
        return hf_err_set(err, HF_EIO, "libvirt: out of memory");
    if (start_events(err) != HF_OK) {
        free(self);
        return err->code;
    }
    self->uri = uri;
    self->can_pause = can_pause;
    *virt = (struct virt){.self = self,
                          .attach = attach,
                          .open = open_conn,
                          .close = close_conn,
                          .ping = ping,
                          .create = create,
                          .resume = resume,
                          .shutdown = shut_down,
                          .destroy = destroy,
                          .describe = describe,
                          .probe = probe};
    return HF_OK;
}

void libvirt_close(struct virt *virt)
{
    struct libvirt *self = virt->self;

    drop_session(self);
    free(self);
    virt->self = NULL;
}
