#include "supervisord/report/history.h"

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"
#include "supervisord/model/names.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* What is remembered of a node or a VM slot, whatever the ring has forgotten. */
struct track {
    bool is_known;
    struct history_since since;
    hf_vm_uid uid; /* VM: whose slot it was last */
    hf_node home;  /* VM: the last node it was on */
    uint64_t incident;
    char name[HF_NAME_MAX + 1];
};

struct history {
    uint64_t life;
    uint64_t newest; /* seq of the last record; 0 = none */
    struct track node[HF_NODES_MAX];
    struct track vm[HF_VMS_MAX];
    char group[HF_NAME_MAX + 1];
    uint64_t engine_seq;
    struct history_record ring[HISTORY_RECORDS_MAX];
};

size_t history_size(void)
{
    return sizeof(struct history);
}

void history_init(struct history *h, uint64_t life)
{
    memset(h, 0, sizeof *h);
    h->life = life;
    for (unsigned i = 0; i < HF_VMS_MAX; i++)
        h->vm[i].home = HF_NO_NODE;
}

uint64_t history_life(const struct history *h)
{
    return h->life;
}

uint64_t history_newest(const struct history *h)
{
    return h->newest;
}

uint64_t history_oldest(const struct history *h)
{
    if (h->newest == 0)
        return 0;
    return h->newest > HISTORY_RECORDS_MAX ? h->newest - HISTORY_RECORDS_MAX + 1 : 1;
}

const struct history_record *history_at(const struct history *h, uint64_t seq)
{
    if (seq == 0 || seq > h->newest || seq < history_oldest(h))
        return NULL;
    return &h->ring[(seq - 1) % HISTORY_RECORDS_MAX];
}

static struct track *track_of(struct history *h, enum hf_subject subject, uint16_t ix)
{
    if (subject == HF_SUBJECT_NODE && ix < HF_NODES_MAX)
        return &h->node[ix];
    if (subject == HF_SUBJECT_VM && ix < HF_VMS_MAX)
        return &h->vm[ix];
    return NULL;
}

static const struct track *track_look(const struct history *h, enum hf_subject subject, uint16_t ix)
{
    return track_of((struct history *)(uintptr_t)h, subject, ix);
}

bool history_since(const struct history *h, enum hf_subject subject, uint16_t ix,
                   struct history_since *since)
{
    const struct track *track = track_look(h, subject, ix);

    if (track == NULL || !track->is_known)
        return false;
    *since = track->since;
    return true;
}

const char *history_vm_name(const struct history *h, uint16_t ix, hf_vm_uid uid)
{
    const struct track *track = track_look(h, HF_SUBJECT_VM, ix);

    return track != NULL && track->uid == uid && track->name[0] != '\0' ? track->name : NULL;
}

uint64_t history_incident(const struct history *h, enum hf_subject subject, uint16_t ix)
{
    const struct track *track = track_look(h, subject, ix);

    return track != NULL ? track->incident : 0;
}

/* ---- incidents ---- */

static bool node_is_bad(enum hf_node_state state)
{
    switch (state) {
    case HF_NODE_SILENT:
    case HF_NODE_LOST:
    case HF_NODE_FENCING:
    case HF_NODE_DEAD:
        return true;
    case HF_NODE_ABSENT:
    case HF_NODE_JOINING:
    case HF_NODE_MEMBER:
    case HF_NODE_STATES:
        return false;
    }
    return false;
}

static bool node_is_well(enum hf_node_state state)
{
    return state == HF_NODE_MEMBER || state == HF_NODE_ABSENT;
}

static bool vm_is_bad(enum hf_vm_state state)
{
    return state == HF_VM_WAITING || state == HF_VM_UNPLACEABLE || state == HF_VM_FAILED;
}

static bool vm_is_well(enum hf_vm_state state)
{
    return state == HF_VM_RUNNING || state == HF_VM_STOPPED || state == HF_VM_HELD;
}

/* A VM that is being placed or started looks the same after an order and after a crash. */
static bool why_is_bad(enum hf_reason why)
{
    return why == HF_WHY_CRASHED || why == HF_WHY_HOST_LOST || why == HF_WHY_LAST_INSTANT ||
           why == HF_WHY_START_REFUSED || why == HF_WHY_START_DEADLINE ||
           why == HF_WHY_STOP_UNPROVED;
}

static bool turns_bad(enum hf_subject subject, uint8_t now, enum hf_reason why)
{
    if (subject == HF_SUBJECT_NODE)
        return node_is_bad((enum hf_node_state)now);
    if (vm_is_well((enum hf_vm_state)now))
        return false;
    return vm_is_bad((enum hf_vm_state)now) || why_is_bad(why);
}

static bool turns_well(enum hf_subject subject, uint8_t now)
{
    return subject == HF_SUBJECT_NODE ? node_is_well((enum hf_node_state)now)
                                      : vm_is_well((enum hf_vm_state)now);
}

/* The incident that this change belongs to; the track keeps it until the subject is well. */
static uint64_t incident_of(struct history *h, const struct hf_change *change, struct track *track,
                            uint64_t engine_seq)
{
    uint64_t incident;

    if (track->incident == 0 && turns_bad(change->subject, change->now, change->why)) {
        hf_node on = hf_node_is(change->node) ? change->node : track->home;

        if (change->subject == HF_SUBJECT_VM && hf_node_is(on) && h->node[on.ix].incident != 0)
            track->incident = h->node[on.ix].incident;
        else
            track->incident = engine_seq;
    }
    incident = track->incident;
    if (turns_well(change->subject, change->now))
        track->incident = 0;
    return incident;
}

/* ---- recording ---- */

static struct history_record *add(struct history *h, enum history_kind kind,
                                  const struct history_when *when)
{
    struct history_record *record = &h->ring[h->newest % HISTORY_RECORDS_MAX];

    memset(record, 0, sizeof *record);
    record->seq = ++h->newest;
    record->when = *when;
    record->engine_seq = h->engine_seq;
    record->kind = kind;
    return record;
}

static const char *node_name(const struct engine *e, hf_node node)
{
    const struct hf_group *group = e != NULL ? engine_group(e).group : NULL;

    return group != NULL && node.ix < group->nodes_count ? group->nodes[node.ix].name : "";
}

/* A removed VM's slot is empty after the step, or already somebody else's: keep the name we had. */
static void learn_vm(struct track *track, const struct engine *e, uint16_t ix, hf_vm_uid uid)
{
    struct hf_vm_view vm = engine_vm(e, (hf_vm){ix});

    if (vm.is_used && vm.uid == uid) {
        if (track->uid != uid) {
            track->incident = 0;
            track->home = HF_NO_NODE;
        }
        track->uid = uid;
        hf_str_copy(track->name, sizeof track->name, vm.def->name);
    } else if (track->uid != uid) {
        track->name[0] = '\0';
    }
}

static void record_change(struct history *h, const struct engine *e, const struct hf_change *change,
                          const struct history_when *when)
{
    struct history_record *record = add(h, HISTORY_CHANGE, when);
    struct track *track = track_of(h, change->subject, change->ix);

    record->subject = change->subject;
    record->ix = change->ix;
    record->uid = change->uid;
    record->was = change->was;
    record->now = change->now;
    record->why = change->why;
    record->detail = change->detail;
    hf_str_copy(record->node, sizeof record->node, node_name(e, change->node));
    if (track == NULL) {
        hf_str_copy(record->name, sizeof record->name, h->group);
        return;
    }
    if (change->subject == HF_SUBJECT_VM)
        learn_vm(track, e, change->ix, change->uid);
    else
        hf_str_copy(track->name, sizeof track->name, node_name(e, (hf_node){(uint8_t)change->ix}));
    hf_str_copy(record->name, sizeof record->name, track->name);
    record->incident = incident_of(h, change, track, h->engine_seq);
    if (change->subject == HF_SUBJECT_VM && hf_node_is(change->node))
        track->home = change->node;
    if (change->was != change->now || !track->is_known)
        track->since = (struct history_since){*when, true};
    track->is_known = true;
}

static void record_order(struct history *h, const struct engine *e, const struct hf_event *ev,
                         const struct engine_out *out, const struct history_when *when)
{
    struct history_record *record = add(h, HISTORY_ORDER, when);
    const char *node = node_name(e, ev->u.order.node);
    hf_vm vm;

    record->order = ev->u.order.type;
    record->was_applied = out->applied;
    record->why = out->why;
    record->detail = ev->u.order.ms;
    record->uid = ev->u.order.uid;
    hf_str_copy(record->who, sizeof record->who, ev->u.order.who);
    hf_str_copy(record->text, sizeof record->text, ev->u.order.reason);
    if (ev->u.order.type == HF_ORDER_VM_ADD || ev->u.order.uid != 0) {
        record->subject = HF_SUBJECT_VM;
        vm = ev->u.order.uid != 0 ? engine_vm_by_uid(e, ev->u.order.uid)
                                  : engine_vm_by_name(e, ev->u.order.def.name);
        record->ix = vm.ix;
        hf_str_copy(record->node, sizeof record->node, node);
        if (vm.ix < HF_VMS_MAX) {
            record->uid = engine_vm(e, vm).uid;
            hf_str_copy(record->name, sizeof record->name, engine_vm(e, vm).def->name);
        } else if (ev->u.order.type == HF_ORDER_VM_ADD) {
            hf_str_copy(record->name, sizeof record->name, ev->u.order.def.name);
        } else { /* removed by this very order */
            for (unsigned i = 0; i < HF_VMS_MAX; i++)
                if (h->vm[i].uid == ev->u.order.uid)
                    hf_str_copy(record->name, sizeof record->name, h->vm[i].name);
        }
    } else if (node[0] != '\0') {
        record->subject = HF_SUBJECT_NODE;
        record->ix = ev->u.order.node.ix;
        hf_str_copy(record->name, sizeof record->name, node);
    } else {
        record->subject = HF_SUBJECT_GROUP;
        hf_str_copy(record->name, sizeof record->name, h->group);
    }
    record->incident = history_incident(h, record->subject, record->ix);
}

void history_step(struct history *h, const struct engine *e, const struct hf_event *ev,
                  const struct engine_out *out, const struct history_when *when)
{
    h->engine_seq = engine_seq(e);
    hf_str_copy(h->group, sizeof h->group, engine_group(e).group->name);
    if (ev->type == HF_EV_ORDER)
        record_order(h, e, ev, out, when);
    for (uint32_t i = 0; i < out->changes_count && i < HF_CHANGES_MAX; i++)
        record_change(h, e, &out->changes[i], when);
}

static void take_over(struct track *track, uint64_t incident, const struct history_when *when)
{
    track->is_known = true;
    track->since = (struct history_since){*when, false};
    track->incident = incident;
}

void history_replaced(struct history *h, const struct engine *e, const struct history_when *when)
{
    const struct hf_group *group = engine_group(e).group;

    h->engine_seq = engine_seq(e);
    hf_str_copy(h->group, sizeof h->group, group->name);
    memset(h->node, 0, sizeof h->node);
    memset(h->vm, 0, sizeof h->vm);
    for (uint8_t i = 0; i < group->nodes_count; i++) {
        struct hf_node_view node = engine_node(e, (hf_node){i});

        hf_str_copy(h->node[i].name, sizeof h->node[i].name, group->nodes[i].name);
        take_over(&h->node[i], node_is_bad(node.state) ? node.since_seq : 0, when);
    }
    for (uint16_t i = 0; i < HF_VMS_MAX; i++) {
        struct hf_vm_view vm = engine_vm(e, (hf_vm){i});

        h->vm[i].home = HF_NO_NODE;
        if (!vm.is_used)
            continue;
        h->vm[i].uid = vm.uid;
        h->vm[i].home = vm.home;
        hf_str_copy(h->vm[i].name, sizeof h->vm[i].name, vm.def->name);
        take_over(&h->vm[i], turns_bad(HF_SUBJECT_VM, (uint8_t)vm.state, vm.why) ? vm.since_seq : 0,
                  when);
    }
}

/* Who acts: the one that the engine's live order with this token names. */
static hf_node actor_of(const struct engine *e, const struct history_record *record)
{
    if (e == NULL || record->ix == UINT16_MAX)
        return HF_NO_NODE;
    if (record->subject == HF_SUBJECT_NODE) {
        struct hf_node_view node = engine_node(e, (hf_node){(uint8_t)record->ix});

        return hf_token_same(node.fence_token, record->token) ? node.fence_actor : HF_NO_NODE;
    }
    struct hf_vm_view vm = engine_vm(e, (hf_vm){record->ix});

    return vm.is_used && hf_token_same(vm.order, record->token) ? vm.home : HF_NO_NODE;
}

/* Name the subject of an agent's word and put it into that subject's incident. */
static void name_subject(const struct history *h, const struct engine *e, enum hf_subject subject,
                         hf_node node, hf_vm_uid uid, struct hf_token token,
                         struct history_record *record)
{
    record->subject = subject;
    record->uid = uid;
    record->token = token;
    record->ix = UINT16_MAX;
    if (subject == HF_SUBJECT_NODE && node_name(e, node)[0] != '\0') {
        record->ix = node.ix;
        hf_str_copy(record->name, sizeof record->name, node_name(e, node));
    } else if (subject == HF_SUBJECT_VM) {
        for (uint16_t i = 0; i < HF_VMS_MAX && uid != 0; i++) {
            if (h->vm[i].uid != uid)
                continue;
            record->ix = i;
            hf_str_copy(record->name, sizeof record->name, h->vm[i].name);
        }
    }
    hf_str_copy(record->node, sizeof record->node, node_name(e, actor_of(e, record)));
    record->incident = history_incident(h, subject, record->ix);
}

void history_progress(struct history *h, const struct engine *e, enum hf_subject subject,
                      hf_node node, hf_vm_uid uid, struct hf_token token, enum hf_progress progress,
                      uint32_t pid, const struct history_when *when)
{
    struct history_record *record = add(h, HISTORY_PROGRESS, when);

    name_subject(h, e, subject, node, uid, token, record);
    record->progress = progress;
    record->pid = pid;
}

void history_outcome(struct history *h, const struct engine *e, enum hf_subject subject,
                     hf_node node, hf_vm_uid uid, struct hf_token token, enum hf_outcome outcome,
                     uint32_t took_ms, const char *text, const struct history_when *when)
{
    struct history_record *record = add(h, HISTORY_OUTCOME, when);

    name_subject(h, e, subject, node, uid, token, record);
    record->outcome = outcome;
    record->detail = took_ms;
    hf_str_copy(record->text, sizeof record->text, text);
}

void history_flip(struct history *h, const struct engine *e, hf_node node,
                  const struct hf_flip *flip, const struct history_when *when)
{
    struct history_record *record = add(h, HISTORY_FLIP, when);

    name_subject(h, e, HF_SUBJECT_VM, HF_NO_NODE, flip->uid, (struct hf_token){0}, record);
    record->flip = *flip;
    hf_str_copy(record->node, sizeof record->node, node_name(e, node));
}

void history_note(struct history *h, const struct engine *e, const char *name, const char *text,
                  const struct history_when *when)
{
    struct history_record *record = add(h, HISTORY_NOTE, when);
    hf_node node = e != NULL ? engine_node_by_name(e, name) : HF_NO_NODE;

    record->subject = HF_SUBJECT_NODE;
    record->ix = node.ix < HF_NODES_MAX ? node.ix : UINT16_MAX;
    record->incident = history_incident(h, record->subject, record->ix);
    hf_str_copy(record->name, sizeof record->name, name);
    hf_str_copy(record->text, sizeof record->text, text);
}

void history_audit(struct history *h, const struct engine *e, const struct history_audit *what,
                   const struct history_when *when)
{
    struct history_record *record = add(h, HISTORY_AUDIT, when);
    hf_node node = e != NULL ? engine_node_by_name(e, what->name) : HF_NO_NODE;
    hf_vm vm = e != NULL ? engine_vm_by_name(e, what->name) : HF_NO_VM;

    record->ix = UINT16_MAX;
    if (hf_vm_is(vm)) {
        record->subject = HF_SUBJECT_VM;
        record->ix = vm.ix;
        record->uid = engine_vm(e, vm).uid;
    } else if (hf_node_is(node)) {
        record->subject = HF_SUBJECT_NODE;
        record->ix = node.ix;
    }
    hf_str_copy(record->name, sizeof record->name,
                record->ix != UINT16_MAX ? what->name : h->group);
    (void)snprintf(record->who, sizeof record->who, "uid-%u", (unsigned)what->uid);
    record->pid = (uint32_t)what->pid;
    record->was_applied = what->is_granted;
    hf_str_copy(record->verb, sizeof record->verb, what->verb);
    hf_str_copy(record->exe, sizeof record->exe, what->exe);
    hf_str_copy(record->text, sizeof record->text, what->why);
}

/* ---- as text ---- */

static const char *const kinds[HISTORY_KINDS] = {
    [HISTORY_CHANGE] = "change",   [HISTORY_ORDER] = "order", [HISTORY_PROGRESS] = "progress",
    [HISTORY_OUTCOME] = "outcome", [HISTORY_NOTE] = "note",   [HISTORY_AUDIT] = "audit",
    [HISTORY_FLIP] = "flip",
};

static const struct {
    const char *key, *text;
} phases[HF_PROGRESS_KINDS] = {
    [HF_PROGRESS_FENCE_RUNNING] = {"fence-running", "fence agent started"},
    [HF_PROGRESS_FENCE_OFF] = {"fence-off", "off was accepted, reading the state back"},
    [HF_PROGRESS_START_REQUESTED] = {"start-requested", "start asked of libvirt"},
    [HF_PROGRESS_QEMU_RUNNING] = {"qemu-running", "qemu is there, paused"},
    [HF_PROGRESS_RESUMED] = {"resumed", "verified and resumed"},
    [HF_PROGRESS_STOP_DESTROY] = {"stop-destroy", "guest did not end in time, destroying it"},
    [HF_PROGRESS_STOP_KILL] = {"stop-kill", "destroy did not end it, killing qemu"},
};

static const char *const orders[] = {
    [HF_ORDER_VM_ADD] = "vm-add",       [HF_ORDER_VM_REMOVE] = "vm-remove",
    [HF_ORDER_VM_START] = "vm-start",   [HF_ORDER_VM_STOP] = "vm-stop",
    [HF_ORDER_VM_MOVE] = "vm-move",     [HF_ORDER_DRAIN] = "drain",
    [HF_ORDER_UNDRAIN] = "undrain",     [HF_ORDER_ARM] = "arm",
    [HF_ORDER_DISARM] = "disarm",       [HF_ORDER_FENCE] = "fence",
    [HF_ORDER_CONFIRM] = "confirm-off", [HF_ORDER_HOLD] = "hold",
    [HF_ORDER_LEAVE] = "leave",         [HF_ORDER_POWER_ON] = "power-on",
};
_Static_assert(sizeof orders / sizeof orders[0] == HF_ORDERS, "every order has a name");

static const char *or_mark(const char *name)
{
    return name != NULL ? name : "?";
}

const char *history_kind_name(enum history_kind kind)
{
    return or_mark((unsigned)kind < HISTORY_KINDS ? kinds[kind] : NULL);
}

const char *history_progress_name(enum hf_progress progress)
{
    return or_mark((unsigned)progress < HF_PROGRESS_KINDS ? phases[progress].key : NULL);
}

const char *history_order_name(enum hf_order_type order)
{
    return or_mark((unsigned)order < HF_ORDERS ? orders[order] : NULL);
}

static void progress_text(const struct history_record *record, char *out, size_t cap)
{
    const char *text = or_mark(
        (unsigned)record->progress < HF_PROGRESS_KINDS ? phases[record->progress].text : NULL);

    if (record->pid != 0)
        (void)snprintf(out, cap, "%s (pid %u)", text, record->pid);
    else
        (void)snprintf(out, cap, "%s", text);
}

static void order_text(const struct history_record *record, char *out, size_t cap)
{
    const char *name = history_order_name(record->order);
    const char *separator = record->text[0] != '\0' ? ": " : "";

    if (record->was_applied)
        (void)snprintf(out, cap, "%s by %s%s%s", name, record->who, separator, record->text);
    else
        (void)snprintf(out, cap, "%s by %s refused, %s%s%s", name, record->who,
                       hf_reason_text(record->why), separator, record->text);
}

static bool is_about_pf(enum hf_reason r)
{
    return r >= HF_WHY_PF_UNKNOWN && r <= HF_WHY_PF_ABSENT;
}

void history_why_text(enum hf_reason r, uint32_t detail, char *out, size_t cap)
{
    enum hf_nic_cause cause = (enum hf_nic_cause)(detail % 100);

    if (is_about_pf(r) && detail / 100 < HF_FABRICS_MAX)
        (void)snprintf(out, cap, "%s (fabric %c%s%s)", hf_reason_text(r), (int)('a' + detail / 100),
                       cause != HF_NIC_NONE ? ", " : "",
                       cause != HF_NIC_NONE ? hf_nic_cause_text(cause) : "");
    else if (r == HF_WHY_DEGRADED && detail > 0 && detail < 1u << HF_FABRICS_MAX)
        (void)snprintf(out, cap, "%s (%s)", hf_reason_text(r),
                       detail == 1   ? "leg a does not"
                       : detail == 2 ? "leg b does not"
                                     : "none does");
    else
        (void)snprintf(out, cap, "%s", hf_reason_text(r));
}

static void us_text(uint32_t us, const char *what, char *out, size_t cap)
{
    if (us == UINT32_MAX)
        (void)snprintf(out, cap, ", never %s", what);
    else
        (void)snprintf(out, cap, ", %s after %u.%03u ms", what, us / 1000, us % 1000);
}

static const char *fabric_text(hf_fabric f)
{
    static const char *const texts[HF_FABRICS_MAX] = {"leg a", "leg b"};

    return f < HF_FABRICS_MAX ? texts[f] : "no leg";
}

static void flip_text(const struct history_record *record, char *out, size_t cap)
{
    const struct hf_flip *flip = &record->flip;
    char ordered[48], confirmed[48];

    us_text(flip->ordered_us, "ordered", ordered, sizeof ordered);
    us_text(flip->confirmed_us, "confirmed", confirmed, sizeof confirmed);
    (void)snprintf(out, cap, "flip %llu from %s to %s by %s %s%s%s: %s",
                   (unsigned long long)flip->epoch, fabric_text(flip->from), fabric_text(flip->to),
                   hf_flip_method_name(flip->method), hf_flip_outcome_name(flip->outcome), ordered,
                   confirmed, hf_nic_cause_text(flip->cause));
}

void history_text(const struct history_record *record, char *out, size_t cap)
{
    switch (record->kind) {
    case HISTORY_CHANGE:
        history_why_text(record->why, record->detail, out, cap);
        return;
    case HISTORY_FLIP:
        flip_text(record, out, cap);
        return;
    case HISTORY_ORDER:
        order_text(record, out, cap);
        return;
    case HISTORY_PROGRESS:
        progress_text(record, out, cap);
        return;
    case HISTORY_OUTCOME:
        (void)snprintf(out, cap, "%s after %u ms%s%s", hf_outcome_name(record->outcome),
                       record->detail, record->text[0] != '\0' ? ": " : "", record->text);
        return;
    case HISTORY_NOTE:
        (void)snprintf(out, cap, "%s", record->text);
        return;
    case HISTORY_AUDIT:
        (void)snprintf(out, cap, "%s asked by %s (%s, pid %u) %s%s%s", record->verb, record->who,
                       record->exe, record->pid, record->was_applied ? "granted" : "refused",
                       record->text[0] != '\0' ? ": " : "", record->text);
        return;
    case HISTORY_KINDS:
        break;
    }
    (void)snprintf(out, cap, "?");
}

void history_wall_text(hf_wall wall, char out[40])
{
    int64_t ns = wall.ns > 0 ? wall.ns : 0; /* a clock before 1970 is not set: say 1970 */
    time_t seconds = (time_t)(ns / 1000000000);
    char day[24] = "1970-01-01T00:00:00";
    struct tm tm;

    if (gmtime_r(&seconds, &tm) != NULL)
        (void)strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(out, 40, "%s.%09uZ", day, (unsigned)(ns % 1000000000));
}

static const char *state_name(enum hf_subject subject, uint8_t state)
{
    if (subject == HF_SUBJECT_NODE)
        return hf_node_state_name((enum hf_node_state)state);
    return hf_vm_state_name((enum hf_vm_state)state);
}

static void json_fabric(hf_fabric f, struct hf_json *j, const char *key)
{
    char name[2] = {(char)('a' + f), '\0'};

    if (f < HF_FABRICS_MAX)
        hf_json_str(j, key, name);
    else
        hf_json_null(j, key);
}

static void json_us(uint32_t us, struct hf_json *j, const char *key)
{
    if (us != UINT32_MAX)
        hf_json_u64(j, key, us);
    else
        hf_json_null(j, key);
}

/* All phases of it, in microseconds from the first sign of the failure. */
static void json_flip(const struct hf_flip *flip, struct hf_json *j)
{
    char wall[40];

    history_wall_text((hf_wall){flip->wall_ns}, wall);
    hf_json_u64(j, "epoch", flip->epoch);
    json_fabric(flip->from, j, "from");
    json_fabric(flip->to, j, "to");
    hf_json_str(j, "cause", hf_nic_cause_name(flip->cause));
    hf_json_str(j, "method", hf_flip_method_name(flip->method));
    hf_json_str(j, "outcome", hf_flip_outcome_name(flip->outcome));
    hf_json_str(j, "first_sign", wall);
    json_us(flip->judged_us, j, "judged_us");
    json_us(flip->ordered_us, j, "ordered_us");
    json_us(flip->confirmed_us, j, "confirmed_us");
}

static void json_kind(const struct history_record *record, struct hf_json *j)
{
    switch (record->kind) {
    case HISTORY_CHANGE:
        if (record->subject != HF_SUBJECT_GROUP) {
            hf_json_str(j, "was", state_name(record->subject, record->was));
            hf_json_str(j, "now", state_name(record->subject, record->now));
        }
        hf_json_str(j, "why", hf_reason_name(record->why));
        hf_json_u64(j, "detail", record->detail);
        return;
    case HISTORY_ORDER:
        hf_json_str(j, "order", history_order_name(record->order));
        hf_json_bool(j, "applied", record->was_applied);
        hf_json_str(j, "why", hf_reason_name(record->why));
        hf_json_str(j, "who", record->who);
        return;
    case HISTORY_PROGRESS:
        hf_json_str(j, "progress", history_progress_name(record->progress));
        hf_json_u64(j, "pid", record->pid);
        return;
    case HISTORY_OUTCOME:
        hf_json_str(j, "outcome", hf_outcome_name(record->outcome));
        hf_json_u64(j, "took_ms", record->detail);
        return;
    case HISTORY_AUDIT:
        hf_json_str(j, "verb", record->verb);
        hf_json_bool(j, "granted", record->was_applied);
        hf_json_str(j, "who", record->who);
        hf_json_str(j, "exe", record->exe);
        hf_json_u64(j, "pid", record->pid);
        return;
    case HISTORY_FLIP:
        json_flip(&record->flip, j);
        return;
    case HISTORY_NOTE:
    case HISTORY_KINDS:
        return;
    }
}

void history_json(const struct history_record *record, struct hf_json *j, const char *key)
{
    char text[2 * HF_REASON_MAX + HISTORY_EXE_MAX];
    char wall[40];

    history_wall_text(record->when.wall, wall);
    history_text(record, text, sizeof text);
    hf_json_object(j, key);
    hf_json_u64(j, "seq", record->seq);
    hf_json_str(j, "time", wall);
    hf_json_i64(j, "boottime_ns", record->when.boot.ns);
    hf_json_i64(j, "monotonic_ns", record->when.monotonic_ns);
    hf_json_u64(j, "engine_seq", record->engine_seq);
    if (record->incident != 0)
        hf_json_u64(j, "incident", record->incident);
    else
        hf_json_null(j, "incident");
    hf_json_str(j, "kind", history_kind_name(record->kind));
    hf_json_str(j, "subject", hf_subject_name(record->subject));
    hf_json_str(j, "name", record->name);
    if (record->node[0] != '\0')
        hf_json_str(j, "node", record->node);
    json_kind(record, j);
    if (hf_token_is(record->token)) {
        hf_json_object(j, "token");
        hf_json_u64(j, "seq", record->token.seq);
        hf_json_u64(j, "nth", record->token.nth);
        hf_json_end_object(j);
    }
    hf_json_str(j, "text", text);
    hf_json_end_object(j);
}
