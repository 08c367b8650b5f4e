#include "supervisord/ctl/server.h"

#include "supervisord/base/assert.h"
#include "supervisord/base/log.h"
#include "supervisord/base/str.h"
#include "supervisord/ctl/audit.h"
#include "supervisord/ctl/fabric.h"
#include "supervisord/ctl/order.h"
#include "supervisord/ctl/role.h"
#include "supervisord/model/names.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CHUNK_MAX = HF_FRAME_MAX - HF_CTL_HEADER,
    RECORDS_A_TURN = 64,     /* one reader of a long history must not hold up the daemon's loop */
    RECORD_BYTES_MAX = 8192, /* one event as JSON: texts of 200 bytes, escaped sixfold at worst */
    RUNNING_TEXT_GROWTH = 6, /* a byte becomes at most \u001f */
    USERS_MAX = 32,          /* whose pace is remembered; as many as can be here at once */
    NO_COMMENT_MS = 1000,    /* between two lines about connections that were sent away */
    NEXT_MAX = 256,
    SHORT_ANSWER_MAX = 8192, /* a few numbers and texts, escaped sixfold at worst */
};

struct client {
    int fd; /* -1: free place */
    struct door_peer peer;
    enum ctl_role role;
    hf_time joined;
    hf_time idle_since;    /* nothing to do for it since */
    hf_time stalled_since; /* an answer waits for it to read; 0 = no */
    bool is_watched_for_write;
    bool is_closing; /* drop it when the answer is out */

    char *answer; /* owned; NULL = none */
    size_t answer_len, answer_sent;
    enum hf_ctl_status status;
    bool answer_goes_on; /* records of a stream follow it */

    bool is_streaming, is_following; /* events */
    uint64_t next_event;
    char subject[HF_NAME_MAX + 1]; /* "" = all */

    uint64_t cookie; /* an order, a test or a flip is under way; 0 = none */
    enum pending { PENDING_ORDER = 0, PENDING_TEST, PENDING_FLIP } pending;
    hf_time order_deadline;

    hf_time second; /* when the present second of requests began */
    unsigned requests;
};

/* The pace of one user, whatever number of connections it comes by. */
struct user {
    bool is_used;
    uid_t uid;
    struct ctl_quota requests;
};

struct ctl_server {
    int listen_fd;
    hf_time shut_until; /* no descriptor was left: the door is not watched; 0 = it is */
    struct door_groups groups;
    const struct history *history;
    struct ctl_ports ports;
    uint64_t cookie;
    struct ctl_audit audit;
    struct ctl_quota orders;
    struct ctl_quota comments; /* on clients that were sent away */
    unsigned uncommented;      /* since the last comment */
    hf_time now;               /* of the call that is under way */
    struct user user[USERS_MAX];
    struct client client[DOOR_CLIENTS_MAX];
};

/* ---- clients ---- */

static void forget_answer(struct client *c)
{
    free(c->answer);
    c->answer = NULL;
    c->answer_len = c->answer_sent = 0;
}

/* One line a second about them, with their number: whoever connects in a loop must not fill the
 * journal as well. */
static void comment(struct ctl_server *s, const struct door_peer *peer, const char *why)
{
    s->uncommented++;
    if (!quota_take(&s->comments, s->now))
        return;
    hf_warning("ctl pid=%d uid=%u sent away: %s (%u since the last such line)", (int)peer->pid,
               (unsigned)peer->uid, why, s->uncommented);
    s->uncommented = 0;
}

static void drop(struct ctl_server *s, struct client *c, const char *why)
{
    if (why != NULL)
        comment(s, &c->peer, why);
    s->ports.unwatch(s->ports.user, c->fd);
    (void)close(c->fd);
    forget_answer(c);
    memset(c, 0, sizeof *c);
    c->fd = -1;
}

static void watch_write(struct ctl_server *s, struct client *c, bool wanted)
{
    if (c->is_watched_for_write == wanted)
        return;
    c->is_watched_for_write = wanted;
    s->ports.watch(s->ports.user, c->fd, wanted);
}

static bool is_idle(const struct client *c)
{
    return c->answer == NULL && !c->is_streaming && c->cookie == 0;
}

/* ---- sending ---- */

enum sent { SENT, SENT_LATER, SENT_DROPPED };

static enum sent send_record(struct ctl_server *s, struct client *c, bool more, const void *bytes,
                             size_t len, hf_time now)
{
    uint8_t record[HF_FRAME_MAX];
    struct hf_err err;

    HF_ASSERT(len <= CHUNK_MAX);
    record[0] = HF_CTL_VERSION;
    record[1] = (uint8_t)c->status;
    record[2] = more;
    if (len > 0)
        memcpy(record + HF_CTL_HEADER, bytes, len);
    switch (door_send(c->fd, record, HF_CTL_HEADER + len, -1, &err)) {
    case HF_OK:
        c->stalled_since = (hf_time){0};
        c->idle_since = now;
        return SENT;
    case HF_EAGAIN:
        if (c->stalled_since.ns == 0)
            c->stalled_since = now;
        watch_write(s, c, true);
        return SENT_LATER;
    case HF_ECLOSED:
        drop(s, c, NULL);
        return SENT_DROPPED;
    case HF_EINVAL:
    case HF_EIO:
    case HF_EBAD:
    case HF_EFULL:
    case HF_ETIME:
    case HF_EACCESS:
    case HF_ENOENT:
    case HF_CODES:
        break;
    }
    drop(s, c, err.text);
    return SENT_DROPPED;
}

static enum sent send_answer(struct ctl_server *s, struct client *c, hf_time now)
{
    while (c->answer != NULL) {
        size_t left = c->answer_len - c->answer_sent;
        size_t len = left < CHUNK_MAX ? left : CHUNK_MAX;
        bool more = len < left || c->answer_goes_on;
        enum sent sent = send_record(s, c, more, c->answer + c->answer_sent, len, now);

        if (sent != SENT)
            return sent;
        c->answer_sent += len;
        if (c->answer_sent == c->answer_len)
            forget_answer(c);
    }
    return SENT;
}

/* A gap is told, not hidden: the reader was slower than the ring, or asked for what is gone. */
static enum sent send_gap(struct ctl_server *s, struct client *c, uint64_t oldest, hf_time now)
{
    char text[128];
    struct hf_json j = hf_json_on(text, sizeof text);
    enum sent sent;

    hf_json_object(&j, NULL);
    hf_json_u64(&j, "missed", oldest - c->next_event);
    hf_json_u64(&j, "oldest", oldest);
    hf_json_end_object(&j);
    sent = send_record(s, c, true, text, j.len, now);
    if (sent == SENT)
        c->next_event = oldest;
    return sent;
}

static enum sent send_event(struct ctl_server *s, struct client *c, hf_time now)
{
    const struct history_record *record = history_at(s->history, c->next_event);
    char text[RECORD_BYTES_MAX];
    struct hf_json j = hf_json_on(text, sizeof text);
    enum sent sent = SENT;

    if (record == NULL)
        return send_gap(s, c, history_oldest(s->history), now);
    if (c->subject[0] == '\0' || strcmp(c->subject, record->name) == 0 ||
        strcmp(c->subject, record->node) == 0) {
        history_json(record, &j, NULL);
        HF_ASSERT(hf_json_complete(&j));
        sent = send_record(s, c, true, text, j.len, now);
    }
    if (sent == SENT)
        c->next_event++;
    return sent;
}

static void stream(struct ctl_server *s, struct client *c, hf_time now)
{
    for (unsigned i = 0; c->next_event <= history_newest(s->history); i++) {
        if (i == RECORDS_A_TURN) {
            watch_write(s, c, true); /* go on in the next turn */
            return;
        }
        if (send_event(s, c, now) != SENT)
            return;
    }
    if (!c->is_following) {
        if (send_record(s, c, false, NULL, 0, now) != SENT)
            return;
        c->is_streaming = false;
    }
    watch_write(s, c, false);
}

/* Send whatever there is and the client takes. The client may be gone afterwards. */
static void pump(struct ctl_server *s, struct client *c, hf_time now)
{
    if (send_answer(s, c, now) != SENT)
        return;
    if (c->is_closing) {
        drop(s, c, NULL);
        return;
    }
    if (c->is_streaming)
        stream(s, c, now);
    else
        watch_write(s, c, false);
}

/* ---- answers ---- */

/* Takes over `text` (malloc'ed). */
static void answer(struct ctl_server *s, struct client *c, enum hf_ctl_status status, char *text,
                   size_t len, hf_time now)
{
    HF_ASSERT(c->answer == NULL);
    c->answer = text;
    c->answer_len = len;
    c->answer_sent = 0;
    c->status = status;
    pump(s, c, now);
}

/* A short answer, ended by answer_end(). NULL: no memory, and the client is gone. */
static char *answer_begin(struct ctl_server *s, struct client *c, struct hf_json *j)
{
    char *text = malloc(SHORT_ANSWER_MAX);

    if (text == NULL) {
        drop(s, c, "out of memory");
        return NULL;
    }
    *j = hf_json_on(text, SHORT_ANSWER_MAX);
    hf_json_object(j, NULL);
    hf_json_u64(j, "version", 1);
    return text;
}

static void answer_end(struct ctl_server *s, struct client *c, enum hf_ctl_status status,
                       char *text, struct hf_json *j, hf_time now)
{
    hf_json_end_object(j);
    HF_ASSERT(hf_json_complete(j));
    answer(s, c, status, text, j->len, now);
}

static void answer_error(struct ctl_server *s, struct client *c, enum hf_ctl_status status,
                         const char *why, const char *next, hf_time now)
{
    struct hf_json j;
    char *text = answer_begin(s, c, &j);

    if (text == NULL)
        return;
    hf_json_str(&j, "error", why);
    hf_json_str(&j, "next", next);
    answer_end(s, c, status, text, &j, now);
}

static void answer_picture(struct ctl_server *s, struct client *c,
                           const struct hf_ctl_request *request, hf_time now)
{
    char *text = malloc(PICTURE_BYTES_MAX);
    struct ctl_shell shell;
    struct hf_json j;
    bool is_found = true;

    if (text == NULL) {
        answer_error(s, c, HF_CTL_REFUSED, "the daemon is out of memory", NULL, now);
        return;
    }
    memset(&shell, 0, sizeof shell);
    s->ports.look(s->ports.user, &shell);
    j = hf_json_on(text, PICTURE_BYTES_MAX);
    if (request->verb == HF_CTL_WHY)
        is_found = picture_why(&shell, s->history, request, &j);
    else
        picture_status(&shell, s->history, &j);
    if (is_found && hf_json_complete(&j)) {
        char *fitted = realloc(text, j.len);

        answer(s, c, HF_CTL_OK, fitted != NULL ? fitted : text, j.len, now);
        return;
    }
    free(text);
    if (is_found)
        answer_error(s, c, HF_CTL_REFUSED, "the answer does not fit", NULL, now);
    else if (shell.engine == NULL)
        answer_error(s, c, HF_CTL_NOT_QUORATE, "this node has no state yet", "holdfast status",
                     now);
    else
        answer_error(s, c, HF_CTL_REFUSED, "there is no such node, VM or NIC",
                     "holdfast nodes; holdfast vms; holdfast nics", now);
}

static void answer_config(struct ctl_server *s, struct client *c, hf_time now)
{
    struct ctl_shell shell;
    struct hf_digest digest;
    struct hf_json j;
    char hex[65], *copy, *text;
    size_t cap;

    memset(&shell, 0, sizeof shell);
    s->ports.look(s->ports.user, &shell);
    if (shell.running_text == NULL) {
        answer_error(s, c, HF_CTL_NOT_QUORATE, "there is no running configuration yet",
                     "holdfast config show --file", now);
        return;
    }
    cap = RUNNING_TEXT_GROWTH * shell.running_text_len + 256;
    copy = strndup(shell.running_text, shell.running_text_len);
    text = malloc(cap);
    if (copy == NULL || text == NULL) {
        free(copy);
        free(text);
        answer_error(s, c, HF_CTL_REFUSED, "the daemon is out of memory", NULL, now);
        return;
    }
    digest = hf_digest_of(copy, shell.running_text_len);
    hf_digest_hex(&digest, hex);
    j = hf_json_on(text, cap);
    hf_json_object(&j, NULL);
    hf_json_u64(&j, "version", 1);
    hf_json_str(&j, "digest", hex);
    hf_json_str(&j, "text", copy);
    hf_json_end_object(&j);
    free(copy);
    HF_ASSERT(hf_json_complete(&j));
    answer(s, c, HF_CTL_OK, text, j.len, now);
}

static void answer_events(struct ctl_server *s, struct client *c,
                          const struct hf_ctl_request *request, hf_time now)
{
    uint64_t newest = history_newest(s->history);
    struct hf_json j;
    char *text = answer_begin(s, c, &j);

    if (text == NULL)
        return;
    c->is_streaming = true;
    c->is_following = request->follow;
    c->next_event = request->after < newest ? request->after + 1 : newest + 1;
    (void)hf_str_copy(c->subject, sizeof c->subject,
                      request->vm[0] != '\0' ? request->vm : request->node);
    c->answer_goes_on = true;
    hf_json_u64(&j, "life", history_life(s->history));
    hf_json_u64(&j, "oldest", history_oldest(s->history));
    hf_json_u64(&j, "newest", newest);
    answer_end(s, c, HF_CTL_OK, text, &j, now);
}

/* ---- orders ---- */

static const char *verb_name(const struct hf_ctl_request *request)
{
    switch (request->verb) {
    case HF_CTL_ORDER:
        return history_order_name(request->order.type);
    case HF_CTL_FENCE_TEST:
        return "fence-test";
    case HF_CTL_FAILBACK:
        return "nics-failback";
    case HF_CTL_STATUS:
        return "status";
    case HF_CTL_EVENTS:
        return "events";
    case HF_CTL_WHY:
        return "why";
    case HF_CTL_CONFIG:
        return "config";
    case HF_CTL_VERBS:
        break;
    }
    return "?";
}

static const char *order_subject(const struct hf_ctl_request *request)
{
    if (request->order.type == HF_ORDER_VM_ADD)
        return request->order.def.name;
    if (request->vm[0] != '\0')
        return request->vm;
    return request->node[0] != '\0' ? request->node : "-";
}

static void audit(struct ctl_server *s, const struct client *c,
                  const struct hf_ctl_request *request, bool is_granted, const char *why,
                  hf_time now)
{
    struct audit_case what = {.uid = c->peer.uid,
                              .pid = c->peer.pid,
                              .verb = verb_name(request),
                              .object = order_subject(request),
                              .why = why,
                              .is_granted = is_granted};
    struct audit_words words;
    struct history_audit record;

    if (audit_tell(&s->audit, &what, now, &words, &record) && s->ports.audit != NULL)
        s->ports.audit(s->ports.user, &record);
}

static void refuse_order(struct ctl_server *s, struct client *c,
                         const struct hf_ctl_request *request, enum hf_ctl_status status,
                         const char *why, const char *next, hf_time now)
{
    audit(s, c, request, false, why, now);
    answer_error(s, c, status, why, next, now);
}

/* The XML rides as sealed memory. It is kept by digest, never parsed here: what the engine must
 * know of it is in the definition. */
static enum hf_code take_xml(struct ctl_server *s, int ride, struct hf_vm_def *def,
                             struct hf_err *err)
{
    void *bytes;
    size_t len;
    enum hf_code code;

    if (ride < 0)
        return hf_err_set(err, HF_EINVAL, "the domain's XML did not come with the order");
    if (door_memory_read(ride, HF_XML_MAX, &bytes, &len, err) != HF_OK)
        return hf_err_wrap(err, "the domain's XML");
    def->xml = hf_digest_of(bytes, len);
    def->xml_bytes = (uint32_t)len;
    code = s->ports.put_blob(s->ports.user, bytes, len, &def->xml, err);
    free(bytes);
    return code == HF_OK ? HF_OK : hf_err_wrap(err, "keep the domain's XML");
}

static void order(struct ctl_server *s, struct client *c, const struct hf_ctl_request *request,
                  int ride, hf_time now)
{
    struct ctl_shell shell;
    struct hf_event ev;
    struct hf_err err = {HF_OK, ""};
    enum hf_ctl_status status;

    memset(&shell, 0, sizeof shell);
    s->ports.look(s->ports.user, &shell);
    if (!picture_is_quorate(&shell)) {
        refuse_order(s, c, request, HF_CTL_NOT_QUORATE,
                     "this node is not in a quorate group, nothing can be ordered here",
                     "holdfast status", now);
        return;
    }
    status = order_event(&shell, request, &c->peer, &ev, &err);
    if (status == HF_CTL_OK && request->order.type == HF_ORDER_VM_ADD &&
        take_xml(s, ride, &ev.u.order.def, &err) != HF_OK)
        status = HF_CTL_REFUSED;
    if (status != HF_CTL_OK) {
        refuse_order(s, c, request, status, err.text, NULL, now);
        return;
    }
    audit(s, c, request, true, request->order.reason, now);
    /* Before it is given away: the answer may come from within the call. */
    c->cookie = ++s->cookie;
    c->pending = PENDING_ORDER;
    c->order_deadline = hf_time_add_ms(now, CTL_APPLY_MS);
    if (s->ports.order(s->ports.user, &ev, c->cookie, &err) != HF_OK) {
        c->cookie = 0;
        refuse_order(s, c, request, HF_CTL_REFUSED, err.text, NULL, now);
    }
}

static struct client *waiting_for(struct ctl_server *s, uint64_t cookie)
{
    for (unsigned i = 0; i < DOOR_CLIENTS_MAX; i++)
        if (s->client[i].fd >= 0 && s->client[i].cookie == cookie)
            return &s->client[i];
    return NULL;
}

static enum hf_ctl_status applied_status(const struct engine_out *out)
{
    if (out->applied || out->why == HF_WHY_ALREADY)
        return HF_CTL_OK;
    return out->why == HF_WHY_NOT_MAJORITY ? HF_CTL_NOT_QUORATE : HF_CTL_REFUSED;
}

static size_t applied_json(char *text, size_t cap, const struct engine *e,
                           const struct hf_event *ev, const struct engine_out *out)
{
    struct hf_json j = hf_json_on(text, cap);
    const struct hf_group *group = engine_group(e).group;
    hf_vm vm = ev->u.order.type == HF_ORDER_VM_ADD ? engine_vm_by_name(e, ev->u.order.def.name)
                                                   : engine_vm_by_uid(e, ev->u.order.uid);

    hf_json_object(&j, NULL);
    hf_json_u64(&j, "version", 1);
    hf_json_str(&j, "order", history_order_name(ev->u.order.type));
    hf_json_bool(&j, "applied", out->applied);
    hf_json_str(&j, "why", hf_reason_name(out->why));
    hf_json_str(&j, "why_text", hf_reason_text(out->why));
    hf_json_u64(&j, "engine_seq", engine_seq(e));
    if (vm.ix < HF_VMS_MAX) {
        hf_json_str(&j, "vm", engine_vm(e, vm).def->name);
        hf_json_u64(&j, "uid", engine_vm(e, vm).uid);
    }
    if (ev->u.order.node.ix < group->nodes_count)
        hf_json_str(&j, "node", group->nodes[ev->u.order.node.ix].name);
    hf_json_end_object(&j);
    HF_ASSERT(hf_json_complete(&j));
    return j.len;
}

void ctl_server_applied(struct ctl_server *s, uint64_t cookie, const struct engine *e,
                        const struct hf_event *ev, const struct engine_out *out, hf_time now)
{
    enum { CAP = 2048 };
    struct client *c = cookie != 0 ? waiting_for(s, cookie) : NULL;
    enum hf_ctl_status status = applied_status(out);
    char *text;

    s->now = now;
    hf_info("ctl order=%s cookie=%llu seq=%llu %s: %s", history_order_name(ev->u.order.type),
            (unsigned long long)cookie, (unsigned long long)engine_seq(e),
            out->applied ? "applied" : "refused by the group", hf_reason_text(out->why));
    if (c == NULL) /* it has gone, or has been told that it takes longer */
        return;
    c->cookie = 0;
    text = malloc(CAP);
    if (text == NULL) {
        drop(s, c, "out of memory");
        return;
    }
    answer(s, c, status, text, applied_json(text, CAP, e, ev, out), now);
}

void ctl_server_absorbed(struct ctl_server *s, uint64_t cookie, hf_time now)
{
    struct client *c = cookie != 0 ? waiting_for(s, cookie) : NULL;

    s->now = now;
    if (c == NULL)
        return;
    c->cookie = 0;
    answer_error(s, c, HF_CTL_UNREACHABLE,
                 "the group took the order while this node was away: what came of it was not seen "
                 "here",
                 "holdfast events", now);
}

/* ---- tests of fence levels ---- */

static void test(struct ctl_server *s, struct client *c, const struct hf_ctl_request *request,
                 hf_time now)
{
    struct ctl_shell shell;
    struct hf_err err = {HF_OK, ""};
    enum hf_ctl_status status;
    hf_node node = HF_NO_NODE;

    memset(&shell, 0, sizeof shell);
    s->ports.look(s->ports.user, &shell);
    if (shell.engine == NULL) {
        refuse_order(s, c, request, HF_CTL_NOT_QUORATE, "this node has no state yet",
                     "holdfast status", now);
        return;
    }
    status = HF_CTL_USAGE;
    (void)hf_err_set(&err, HF_EINVAL, "a test must name a node");
    if (request->node[0] != '\0')
        status = order_find_node(shell.engine, request->node, &node, &err);
    if (status != HF_CTL_OK) {
        refuse_order(s, c, request, status, err.text, NULL, now);
        return;
    }
    audit(s, c, request, true, "", now);
    c->cookie = ++s->cookie;
    c->pending = PENDING_TEST;
    c->order_deadline = hf_time_add_ms(now, CTL_TEST_MS);
    if (s->ports.test(s->ports.user, node, (uint8_t)(request->level - 1), c->cookie, &err) !=
        HF_OK) {
        c->cookie = 0;
        answer_error(s, c, HF_CTL_REFUSED, err.text, NULL, now);
    }
}

void ctl_server_tested(struct ctl_server *s, uint64_t cookie, const struct hf_report *tested,
                       hf_time now)
{
    struct client *c = cookie != 0 ? waiting_for(s, cookie) : NULL;
    char *text;
    struct hf_json j;

    s->now = now;
    if (c == NULL || c->pending != PENDING_TEST)
        return;
    c->cookie = 0;
    if (tested == NULL) {
        answer_error(s, c, HF_CTL_REFUSED,
                     "the test could not be made: the fence runner is gone or did not answer",
                     "systemctl status holdfast-fencer", now);
        return;
    }
    text = answer_begin(s, c, &j);
    if (text == NULL)
        return;
    hf_json_str(&j, "path", hf_path_name(tested->u.tested.found));
    hf_json_u64(&j, "took_ms", tested->u.tested.took_ms);
    hf_json_str(&j, "text", tested->u.tested.why);
    answer_end(s, c, HF_CTL_OK, text, &j, now);
}

/* ---- failback: a person brings a VM's traffic onto a leg ---- */

/* The VM must run and have that leg; nicbond where it does knows the rest, and refuses what cannot
 * be. */
static enum hf_ctl_status failback_find(const struct ctl_shell *shell,
                                        const struct hf_ctl_request *request, hf_vm_uid *uid,
                                        struct hf_err *err)
{
    const struct engine *e = shell->engine;
    enum hf_ctl_status status = order_find_vm(e, request->vm, uid, err);
    struct hf_vm_view vm;

    if (status != HF_CTL_OK)
        return status;
    vm = engine_vm(e, engine_vm_by_uid(e, *uid));
    if (vm.state != HF_VM_RUNNING)
        (void)hf_err_set(err, HF_EINVAL, "%s is %s: it has no traffic to move", request->vm,
                         hf_vm_state_name(vm.state));
    else if ((vm.legs.dead >> request->fabric & 1) != 0)
        (void)hf_err_set(err, HF_EINVAL, "leg %s of %s carries nothing now",
                         fabric_name(request->fabric), request->vm);
    else if (((vm.def->legs | vm.legs.has) >> request->fabric & 1) == 0)
        (void)hf_err_set(err, HF_EINVAL, "%s has no leg %s", request->vm,
                         fabric_name(request->fabric));
    else
        return HF_CTL_OK;
    return HF_CTL_REFUSED;
}

static void failback(struct ctl_server *s, struct client *c, const struct hf_ctl_request *request,
                     hf_time now)
{
    struct ctl_shell shell;
    struct hf_err err = {HF_OK, ""};
    enum hf_ctl_status status = HF_CTL_NOT_QUORATE;
    hf_vm_uid uid = 0;

    memset(&shell, 0, sizeof shell);
    s->ports.look(s->ports.user, &shell);
    if (shell.engine == NULL)
        (void)hf_err_set(&err, HF_EINVAL, "this node has no state yet");
    else
        status = failback_find(&shell, request, &uid, &err);
    if (status == HF_CTL_OK && s->ports.failback == NULL) {
        status = HF_CTL_REFUSED;
        (void)hf_err_set(&err, HF_EINVAL, "this node has no nicbond");
    }
    if (status != HF_CTL_OK) {
        refuse_order(s, c, request, status, err.text, NULL, now);
        return;
    }
    audit(s, c, request, true, "", now);
    c->cookie = ++s->cookie;
    c->pending = PENDING_FLIP;
    c->order_deadline = hf_time_add_ms(now, CTL_FLIP_MS);
    if (s->ports.failback(s->ports.user, uid, request->fabric, c->cookie, &err) != HF_OK) {
        c->cookie = 0;
        answer_error(s, c, HF_CTL_REFUSED, err.text, "systemctl status holdfast-nicbond", now);
    }
}

void ctl_server_flipped(struct ctl_server *s, uint64_t cookie, const struct hf_flip *flip,
                        hf_time now)
{
    struct client *c = cookie != 0 ? waiting_for(s, cookie) : NULL;
    char *text;
    struct hf_json j;

    s->now = now;
    if (c == NULL || c->pending != PENDING_FLIP)
        return;
    c->cookie = 0;
    if (flip == NULL) {
        answer_error(s, c, HF_CTL_REFUSED, "nicbond is gone: nobody knows what came of it",
                     "systemctl status holdfast-nicbond", now);
        return;
    }
    text = answer_begin(s, c, &j);
    if (text == NULL)
        return;
    fabric_put_flip(&j, "flip", flip);
    answer_end(s, c, HF_CTL_OK, text, &j, now);
}

/* ---- receiving ---- */

/* The one that this user's pace is kept in; when all are taken, the one that is at rest longest. */
static struct user *user_of(struct ctl_server *s, uid_t uid)
{
    struct user *oldest = &s->user[0];

    for (unsigned i = 0; i < USERS_MAX; i++) {
        struct user *user = &s->user[i];

        if (user->is_used && user->uid == uid)
            return user;
        if (oldest->is_used && (!user->is_used || user->requests.due.ns < oldest->requests.due.ns))
            oldest = user;
    }
    *oldest = (struct user){
        .is_used = true,
        .uid = uid,
        .requests = {.burst = CTL_REQUESTS_OF_ONE, .interval_ms = 1000 / CTL_REQUESTS_OF_ONE}};
    return oldest;
}

static bool is_too_fast(struct ctl_server *s, struct client *c, hf_time now)
{
    if (c->peer.uid != 0 && !quota_take(&user_of(s, c->peer.uid)->requests, now))
        return true;
    if (hf_time_since_ms(now, c->second) >= 1000) {
        c->second = now;
        c->requests = 0;
    }
    return ++c->requests > CTL_REQUESTS_A_SECOND;
}

static void deny(struct ctl_server *s, struct client *c, const struct hf_ctl_request *request,
                 hf_time now)
{
    char why[HF_REASON_MAX + 1], next[NEXT_MAX];

    role_refusal(&s->groups, request, why, sizeof why, next, sizeof next);
    refuse_order(s, c, request, HF_CTL_DENIED, why, next, now);
}

static void serve(struct ctl_server *s, struct client *c, const struct hf_ctl_request *request,
                  int ride, hf_time now)
{
    enum ctl_role needed = role_needed(request);

    c->answer_goes_on = false;
    if (c->role < needed) {
        deny(s, c, request, now);
        return;
    }
    if (needed > CTL_ROLE_VIEWER && !quota_take(&s->orders, now)) {
        refuse_order(s, c, request, HF_CTL_REFUSED, "too many orders at once, nothing was done",
                     "wait a second and try again", now);
        return;
    }
    switch (request->verb) {
    case HF_CTL_STATUS:
    case HF_CTL_WHY:
        answer_picture(s, c, request, now);
        return;
    case HF_CTL_EVENTS:
        answer_events(s, c, request, now);
        return;
    case HF_CTL_CONFIG:
        answer_config(s, c, now);
        return;
    case HF_CTL_ORDER:
        order(s, c, request, ride, now);
        return;
    case HF_CTL_FENCE_TEST:
        test(s, c, request, now);
        return;
    case HF_CTL_FAILBACK:
        failback(s, c, request, now);
        return;
    case HF_CTL_VERBS:
        break;
    }
}

static void receive(struct ctl_server *s, struct client *c, hf_time now)
{
    uint8_t bytes[HF_CTL_REQUEST_MAX];
    struct hf_ctl_request request;
    struct hf_err err;
    size_t len;
    int ride = -1;
    enum hf_code code = door_receive(c->fd, bytes, sizeof bytes, &len, &ride, &err);

    if (code == HF_EAGAIN)
        return;
    /* With an answer under way: reading on would queue without bound, not reading would spin the
     * loop, so a second request ends it. */
    if (code != HF_OK)
        drop(s, c, code == HF_ECLOSED ? NULL : err.text);
    else if (!is_idle(c))
        drop(s, c, "sent a request before the answer to the last one was complete");
    else if (is_too_fast(s, c, now))
        drop(s, c, "too many requests a second");
    else if (ctl_decode(bytes, len, &request, &err) != HF_OK) {
        comment(s, &c->peer, err.text);
        c->is_closing = true;
        answer_error(s, c, HF_CTL_USAGE, err.text, "holdfast --version", now);
    } else {
        c->idle_since = now;
        serve(s, c, &request, ride, now);
    }
    if (ride >= 0)
        (void)close(ride);
}

/* Who must go so that somebody with a higher role can come: the lowest, of those the oldest. An
 * order under way is always answered. */
static struct client *least_client(struct ctl_server *s, enum ctl_role below)
{
    struct client *least = NULL;

    for (unsigned i = 0; i < DOOR_CLIENTS_MAX; i++) {
        struct client *c = &s->client[i];

        if (c->fd < 0 || c->role >= below || c->cookie != 0)
            continue;
        if (least == NULL || c->role < least->role ||
            (c->role == least->role && c->joined.ns < least->joined.ns))
            least = c;
    }
    return least;
}

static struct client *place_for(struct ctl_server *s, enum ctl_role role)
{
    struct client *c;

    for (unsigned i = 0; i < DOOR_CLIENTS_MAX; i++)
        if (s->client[i].fd < 0)
            return &s->client[i];
    c = least_client(s, role);
    if (c != NULL)
        drop(s, c, "made room for somebody with a higher role");
    return c;
}

static unsigned clients_of(const struct ctl_server *s, uid_t uid)
{
    unsigned count = 0;

    for (unsigned i = 0; i < DOOR_CLIENTS_MAX; i++)
        count += s->client[i].fd >= 0 && s->client[i].peer.uid == uid;
    return count;
}

void ctl_server_adopt(struct ctl_server *s, int fd, const struct door_peer *peer, hf_time now)
{
    enum ctl_role role = role_of(peer);
    struct client *c;

    s->now = now;
    if (role < CTL_ROLE_VIEWER ||
        (peer->uid != 0 && clients_of(s, peer->uid) >= CTL_CLIENTS_OF_ONE)) {
        comment(s, peer,
                role < CTL_ROLE_VIEWER ? "is in no group of Holdfast"
                                       : "has too many connections already");
        (void)close(fd);
        return;
    }
    c = place_for(s, role);
    if (c == NULL) {
        comment(s, peer, "all places are taken");
        (void)close(fd);
        return;
    }
    memset(c, 0, sizeof *c);
    c->fd = fd;
    c->peer = *peer;
    c->role = role;
    c->joined = c->idle_since = c->second = now;
    s->ports.watch(s->ports.user, fd, false);
}

/* Bounded: whoever waits beyond that is seen in the next turn. */
static void accept_some(struct ctl_server *s, hf_time now)
{
    for (unsigned i = 0; i < DOOR_CLIENTS_MAX; i++) {
        struct door_peer peer = {.pid = 0};
        struct hf_err err;
        int fd;
        enum hf_code code = door_accept_of(s->listen_fd, &s->groups, &fd, &peer, &err);

        if (code == HF_EAGAIN)
            return;
        if (code == HF_OK) {
            ctl_server_adopt(s, fd, &peer, now);
            continue;
        }
        comment(s, &peer, err.text);
        if (code == HF_EACCESS)
            continue;
        /* Whoever waits makes the door readable all the time: looking on would spin. */
        s->ports.unwatch(s->ports.user, s->listen_fd);
        s->shut_until = hf_time_add_ms(now, CTL_SHUT_MS);
        return;
    }
}

void ctl_server_ready(struct ctl_server *s, int fd, hf_time now)
{
    s->now = now;
    if (fd == s->listen_fd) {
        accept_some(s, now);
        return;
    }
    for (unsigned i = 0; i < DOOR_CLIENTS_MAX; i++) {
        struct client *c = &s->client[i];

        if (c->fd != fd || fd < 0)
            continue;
        receive(s, c, now);
        if (c->fd == fd && !is_idle(c))
            pump(s, c, now);
        return;
    }
}

void ctl_server_news(struct ctl_server *s, hf_time now)
{
    s->now = now;
    for (unsigned i = 0; i < DOOR_CLIENTS_MAX; i++) {
        struct client *c = &s->client[i];

        if (c->fd >= 0 && c->is_streaming && !c->is_watched_for_write)
            pump(s, c, now);
    }
}

/* ---- time ---- */

static hf_time client_deadline(const struct client *c)
{
    if (c->stalled_since.ns != 0)
        return hf_time_add_ms(c->stalled_since, CTL_SLOW_MS);
    if (c->cookie != 0)
        return c->order_deadline;
    if (is_idle(c))
        return hf_time_add_ms(c->idle_since, CTL_MUTE_MS);
    return (hf_time){INT64_MAX};
}

static const char *late_text(enum pending pending)
{
    switch (pending) {
    case PENDING_TEST:
        return "the test has not ended in time";
    case PENDING_FLIP:
        return "nicbond has not told in time what came of it";
    case PENDING_ORDER:
        break;
    }
    return "the group has not applied the order yet; it stays queued and may still be applied";
}

static void give_up(struct ctl_server *s, struct client *c, hf_time now)
{
    if (c->stalled_since.ns != 0) {
        drop(s, c, "does not read its answer");
    } else if (c->cookie != 0) {
        hf_warning("ctl pid=%d uid=%u cookie=%llu not applied yet", (int)c->peer.pid,
                   (unsigned)c->peer.uid, (unsigned long long)c->cookie);
        c->cookie = 0;
        answer_error(s, c, HF_CTL_UNREACHABLE, late_text(c->pending), "holdfast status", now);
    } else {
        drop(s, c, NULL);
    }
}

void ctl_server_tick(struct ctl_server *s, hf_time now)
{
    s->now = now;
    if (s->shut_until.ns != 0 && hf_time_reached(now, s->shut_until)) {
        s->shut_until = (hf_time){0};
        s->ports.watch(s->ports.user, s->listen_fd, false);
    }
    for (unsigned i = 0; i < DOOR_CLIENTS_MAX; i++) {
        struct client *c = &s->client[i];

        if (c->fd >= 0 && hf_time_reached(now, client_deadline(c)))
            give_up(s, c, now);
    }
}

hf_time ctl_server_deadline(const struct ctl_server *s)
{
    hf_time first = {s->shut_until.ns != 0 ? s->shut_until.ns : INT64_MAX};

    for (unsigned i = 0; i < DOOR_CLIENTS_MAX; i++) {
        if (s->client[i].fd >= 0 && client_deadline(&s->client[i]).ns < first.ns)
            first = client_deadline(&s->client[i]);
    }
    return first;
}

unsigned ctl_server_clients(const struct ctl_server *s)
{
    unsigned count = 0;

    for (unsigned i = 0; i < DOOR_CLIENTS_MAX; i++)
        count += s->client[i].fd >= 0;
    return count;
}

/* ---- life ---- */

enum hf_code ctl_server_open(struct ctl_server **server, int listen_fd,
                             const struct history *history_keep, const struct ctl_ports *ports,
                             struct hf_err *err)
{
    struct ctl_server *s = calloc(1, sizeof *s);

    if (s == NULL)
        return hf_err_set(err, HF_EIO, "admin server: out of memory");
    s->listen_fd = listen_fd;
    role_groups_find(&s->groups);
    audit_init(&s->audit);
    s->orders = (struct ctl_quota){.burst = CTL_ORDERS_BURST, .interval_ms = CTL_ORDERS_MS};
    s->comments = (struct ctl_quota){.burst = 1, .interval_ms = NO_COMMENT_MS};
    s->history = history_keep;
    s->ports = *ports;
    for (unsigned i = 0; i < DOOR_CLIENTS_MAX; i++)
        s->client[i].fd = -1;
    if (listen_fd >= 0)
        s->ports.watch(s->ports.user, listen_fd, false);
    *server = s;
    return HF_OK;
}

void ctl_server_close(struct ctl_server *s)
{
    if (s == NULL)
        return;
    for (unsigned i = 0; i < DOOR_CLIENTS_MAX; i++)
        if (s->client[i].fd >= 0)
            drop(s, &s->client[i], NULL);
    if (s->listen_fd >= 0 && s->shut_until.ns == 0)
        s->ports.unwatch(s->ports.user, s->listen_fd);
    free(s);
}
