#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisord/base/log.h"
#include "supervisord/base/str.h"
#include "supervisord/daemon.h"

void daemon_now(struct history_when *when)
{
    when->boot = hf_clock_now();
    when->monotonic_ns = hf_clock_monotonic_ns();
    when->wall = hf_clock_wall();
}

/* ---- what the replica calls ---- */

static void mcast(void *user, const void *bytes, size_t len)
{
    struct daemon *d = user;

    link_mcast(d->link, bytes, len, hf_clock_now());
}

static bool names_contents(const struct hf_event *ev)
{
    return ev->type == HF_EV_ORDER &&
           (ev->u.order.type == HF_ORDER_VM_ADD || ev->u.order.type == HF_ORDER_VM_REMOVE);
}

static void stepped(void *user, const struct engine *e, const struct hf_event *ev,
                    const struct engine_out *out, bool is_mine, uint64_t cookie)
{
    struct daemon *d = user;
    struct history_when when;

    daemon_now(&when);
    journal_step(d->journal, e, ev, out, when.boot);
    history_step(d->history, e, ev, out, &when);
    daemon_log_changes(e, d->history, ev, out);
    act_stepped(d->act, ev, out, when.boot);
    nics_stepped(&d->nics, out, when.boot, when.wall);
    if (ev->type == HF_EV_MEMBERS) {
        paths_group(&d->paths, true, when.boot);
        nics_group(&d->nics, true, when.boot);
    }
    if (out->applied && names_contents(ev))
        daemon_named(d, when.boot);
    if (is_mine && cookie != 0)
        ctl_server_applied(d->ctl, cookie, e, ev, out, when.boot);
}

/* Is our file what the group runs with? Asked of the state: it may have come from another member.
 */
static void compare_config(struct daemon *d, hf_time now)
{
    const struct engine *e = replica_engine(d->replica);
    bool was = d->file_differs;

    if (e == NULL)
        return;
    d->file_differs = !hf_digest_equal(&engine_group(e).group->config, &d->file.group.config);
    if (d->file_differs && !was)
        hf_warning("config: %s is not what the group runs with", d->options.config);
    act_config(d->act, !d->file_differs && !d->file_bad, now);
}

static void replaced(void *user, const struct engine *e)
{
    struct daemon *d = user;
    struct history_when when;

    daemon_now(&when);
    hf_info("state taken over: seq %llu, epoch %llu, %u VMs", (unsigned long long)engine_seq(e),
            (unsigned long long)engine_group(e).epoch, engine_group(e).vms_count);
    journal_replaced(d->journal, e, when.boot);
    history_replaced(d->history, e, &when);
    daemon_named(d, when.boot);
    compare_config(d, when.boot);
}

static void perform(struct daemon *d, const struct hf_effect *fx, hf_time now)
{
    if (fx->type == HF_FX_HOLD || fx->type == HF_FX_DISARM)
        lease_effect(&d->lease, fx, now);
    else
        act_effect(d->act, fx, now);
}

/* What is still wanted: a message behind the one that allowed it may have taken it back. */
static void flush_effects(struct daemon *d, hf_time now)
{
    unsigned count = d->effects_count;

    d->effects_count = 0;
    for (unsigned i = 0; i < count; i++)
        if (engine_is_live(replica_engine(d->replica), d->effects[i].token))
            perform(d, &d->effects[i], now);
}

static bool may_flush_effects(const struct daemon *d, hf_time now)
{
    return d->effects_count > 0 && replica_look(d->replica).phase == REPLICA_SYNCED &&
           (!link_has_more(d->link) ||
            hf_time_since_ms(now, d->effects_since) >= DAEMON_EFFECT_WAIT_MS);
}

static void effect(void *user, const struct hf_effect *fx)
{
    struct daemon *d = user;

    if (d->effects_count == HF_EFFECTS_MAX)
        flush_effects(d, hf_clock_now());
    if (d->effects_count == 0)
        d->effects_since = hf_clock_now();
    d->effects[d->effects_count++] = *fx;
}

static void resync(void *user, const struct engine *e)
{
    struct daemon *d = user;
    hf_time now = hf_clock_now();

    (void)e;
    compare_config(d, now);
    daemon_named(d, now);
    act_resync(d->act, now);
}

static const char *phase_name(enum replica_phase phase)
{
    switch (phase) {
    case REPLICA_APART:
        return "apart";
    case REPLICA_GREETING:
        return "greeting";
    case REPLICA_COPYING:
        return "copying";
    case REPLICA_FROZEN:
        return "frozen";
    case REPLICA_SYNCED:
        return "synced";
    case REPLICA_STOPPED:
        return "stopped";
    case REPLICA_PHASES:
        break;
    }
    return "?";
}

static void phase(void *user, enum replica_phase was, enum replica_phase now, const char *why)
{
    struct daemon *d = user;
    enum hf_level level = now == REPLICA_STOPPED  ? HF_LOG_ERROR
                          : now == REPLICA_FROZEN ? HF_LOG_WARNING
                                                  : HF_LOG_INFO;
    char text[HF_REASON_MAX + 1];
    struct history_when when;

    daemon_now(&when);
    d->phase = now;
    d->phase_since = when.wall;
    (void)hf_str_copy(d->phase_why, sizeof d->phase_why, why);
    hf_log(level, "node=%s %s -> %s: %s", d->self->name, phase_name(was), phase_name(now), why);
    (void)snprintf(text, sizeof text, "%s -> %s: %.150s", phase_name(was), phase_name(now), why);
    history_note(d->history, replica_engine(d->replica), d->self->name, text, &when);
    if (now != REPLICA_SYNCED) {
        act_apart(d->act);
        paths_group(&d->paths, false, when.boot);
        nics_group(&d->nics, false, when.boot);
    }
}

static hf_node node_of(const struct daemon *d, uint32_t nodeid)
{
    const struct engine *e = replica_engine(d->replica);

    return e == NULL ? HF_NO_NODE : engine_node_by_id(e, nodeid);
}

/* How many members come before us when `asker` wants a content. */
static unsigned rank(const struct daemon *d, uint32_t asker)
{
    hf_nodes before = replica_look(d->replica).participants;
    hf_node self = node_of(d, d->self->nodeid), other = node_of(d, asker);

    if (!hf_node_is(self))
        return 0;
    before = (hf_nodes)(before & (hf_bit(self) - 1u));
    if (hf_node_is(other))
        before = (hf_nodes)(before & ~hf_bit(other));
    return hf_nodes_count(before);
}

/* Another member's order went on. Its wall clock dates the record; the other clocks are ours, at
 * receipt: a host's monotonic time means nothing elsewhere. */
static void told(struct daemon *d, const struct side_message *m)
{
    const struct engine *e = replica_engine(d->replica);
    const struct side_told *t = &m->u.told;
    struct history_when when;

    daemon_now(&when);
    when.wall.ns = (int64_t)t->wall_ns;
    if (m->type == SIDE_PROGRESS)
        history_progress(d->history, e, t->subject, t->node, t->uid, t->token, t->phase, t->pid,
                         &when);
    else
        history_outcome(d->history, e, t->subject, t->node, t->uid, t->token, t->outcome,
                        t->took_ms, t->why, &when);
}

void daemon_flipped(struct daemon *d, uint32_t nodeid, const struct side_message *m)
{
    enum hf_flip_outcome outcome = m->u.flip.flip.outcome;
    bool is_good = outcome == HF_FLIP_FLIPPED || outcome == HF_FLIP_ALREADY;
    const struct history_record *record;
    char text[2 * HF_REASON_MAX];
    struct history_when when;

    if (!m->u.flip.is_done)
        return;
    daemon_now(&when);
    history_flip(d->history, replica_engine(d->replica), node_of(d, nodeid), &m->u.flip.flip,
                 &when);
    record = history_at(d->history, history_newest(d->history));
    history_text(record, text, sizeof text);
    hf_log(is_good ? HF_LOG_INFO : HF_LOG_WARNING, "vm=%s node=%s %s", record->name, record->node,
           text);
}

/* Another member's nicbond. What an operator of ours has asked it for may be answered by that. */
static void flip_told(struct daemon *d, uint32_t nodeid, const struct side_message *m)
{
    daemon_flipped(d, nodeid, m);
    if (m->u.flip.asker_nodeid == d->self->nodeid)
        nics_answered(&d->nics, m->u.flip.number, m->u.flip.is_done ? &m->u.flip.flip : NULL);
}

static void side(void *user, uint32_t nodeid, const uint8_t *bytes, size_t len)
{
    struct daemon *d = user;
    bool is_own = nodeid == d->self->nodeid;
    struct side_message m;
    struct hf_err err;

    if (side_decode(bytes, len, &m, &err) != HF_OK) {
        hf_warning("node id %u: %s", nodeid, err.text);
        return;
    }
    switch (m.type) {
    case SIDE_PUT:
    case SIDE_WANT:
        blobs_side(d->blobs, bytes, len, nodeid, rank(d, nodeid), is_own, hf_clock_now());
        break;
    case SIDE_PROGRESS:
    case SIDE_OUTCOME:
        if (!is_own)
            told(d, &m);
        break;
    case SIDE_FLIP:
        if (!is_own)
            flip_told(d, nodeid, &m);
        break;
    case SIDE_NIC_ORDER:
        if (!is_own && hf_node_same(m.u.nic_order.member, node_of(d, d->self->nodeid)))
            nics_asked(&d->nics, nodeid, m.u.nic_order.number, m.u.nic_order.uid, m.u.nic_order.to,
                       hf_clock_now());
        break;
    case SIDE_TYPES:
        break;
    }
}

static void absorbed(void *user, uint64_t cookie)
{
    struct daemon *d = user;

    ctl_server_absorbed(d->ctl, cookie, hf_clock_now());
}

void daemon_group_ports(struct daemon *d, struct replica_ports *ports)
{
    *ports = (struct replica_ports){.user = d,
                                    .mcast = mcast,
                                    .stepped = stepped,
                                    .replaced = replaced,
                                    .effect = effect,
                                    .resync = resync,
                                    .phase = phase,
                                    .side = side,
                                    .absorbed = absorbed};
}

/* ---- what waits for the replica ---- */

enum hf_code daemon_submit(struct daemon *d, const struct hf_event *ev, uint64_t cookie,
                           struct hf_err *err)
{
    struct daemon_event *waiting;

    if (!d->in_replica && d->events == NULL)
        return replica_submit(d->replica, ev, cookie, hf_clock_now(), err);
    if (d->events_count == DAEMON_EVENTS_MAX)
        return hf_err_set(err, HF_EFULL, "%d events wait already", (int)DAEMON_EVENTS_MAX);
    waiting = malloc(sizeof *waiting);
    if (waiting == NULL)
        return hf_err_set(err, HF_EFULL, "no memory for an event");
    waiting->next = NULL;
    waiting->cookie = cookie;
    waiting->ev = *ev;
    *d->events_last = waiting;
    d->events_last = &waiting->next;
    d->events_count++;
    return HF_OK;
}

static void flush_events(struct daemon *d, hf_time now)
{
    while (d->events != NULL) {
        struct daemon_event *first = d->events;
        struct hf_err err;
        enum hf_code code = replica_submit(d->replica, &first->ev, first->cookie, now, &err);

        if (code == HF_EFULL || code == HF_EAGAIN)
            return; /* there is room when something has been delivered, which wakes us */
        d->events = first->next;
        if (d->events == NULL)
            d->events_last = &d->events;
        d->events_count--;
        free(first);
    }
}

static void queue_side(struct daemon *d, const uint8_t *bytes, size_t len)
{
    struct daemon_side *slot;

    if (len > DAEMON_SIDE_BYTES)
        return;
    if (d->sides_count == DAEMON_SIDES_MAX) {
        d->sides_first = (d->sides_first + 1) % DAEMON_SIDES_MAX;
        d->sides_count--;
    }
    slot = &d->sides[(d->sides_first + d->sides_count++) % DAEMON_SIDES_MAX];
    slot->len = (uint16_t)len;
    memcpy(slot->bytes, bytes, len);
}

static void flush_sides(struct daemon *d, hf_time now)
{
    while (d->sides_count > 0) {
        const struct daemon_side *first = &d->sides[d->sides_first];
        struct hf_err err;

        if (replica_side(d->replica, first->bytes, first->len, now, &err) == HF_EAGAIN)
            return;
        d->sides_first = (d->sides_first + 1) % DAEMON_SIDES_MAX;
        d->sides_count--;
    }
}

void daemon_flush(struct daemon *d, hf_time now)
{
    flush_events(d, now);
    flush_sides(d, now);
    if (may_flush_effects(d, now))
        flush_effects(d, now);
}

void daemon_tell(struct daemon *d, const struct side_message *m, hf_time now)
{
    uint8_t bytes[SIDE_BYTES_MAX];

    (void)now;
    if (m->type == SIDE_FLIP)
        daemon_flipped(d, d->self->nodeid, m);
    else if (m->type != SIDE_NIC_ORDER)
        told(d, m);
    queue_side(d, bytes, side_encode(m, bytes));
}

/* ---- contents ---- */

const void *daemon_content(const struct daemon *d, const struct hf_digest *digest, size_t *len)
{
    if (hf_digest_equal(digest, &d->file.group.config)) {
        *len = d->file_text_len;
        return d->file_text;
    }
    return blobs_get(d->blobs, digest, len);
}

void daemon_named(struct daemon *d, hf_time now)
{
    const struct engine *e = replica_engine(d->replica);
    struct hf_digest digests[HF_VMS_MAX + 2];
    size_t count = 0;

    digests[count++] = d->file.group.config;
    if (e != NULL) {
        digests[count++] = engine_group(e).group->config;
        for (uint16_t i = 0; i < HF_VMS_MAX; i++) {
            struct hf_vm_view vm = engine_vm(e, (hf_vm){i});

            if (vm.is_used)
                digests[count++] = vm.def->xml;
        }
    }
    blobs_named(d->blobs, digests, count, now);
}

static enum hf_code blobs_side_port(void *user, const void *bytes, size_t len, struct hf_err *err)
{
    struct daemon *d = user;

    if (d->in_replica)
        return hf_err_set(err, HF_EAGAIN, "the replica is at work");
    return replica_side(d->replica, bytes, len, hf_clock_now(), err);
}

static void blobs_keep_port(void *user, const char *hex, const void *bytes, size_t len)
{
    struct daemon *d = user;

    (void)journal_put_file(d->journal, hex, bytes, len); /* a failure is in the journal's status */
}

static void blobs_forget_port(void *user, const char *hex)
{
    struct daemon *d = user;

    (void)journal_remove_file(d->journal, hex);
}

static void blobs_arrived_port(void *user, const struct hf_digest *digest)
{
    struct daemon *d = user;

    act_arrived(d->act, digest, hf_clock_now());
}

void daemon_blobs_ports(struct daemon *d, struct blobs_ports *ports)
{
    *ports = (struct blobs_ports){d, blobs_side_port, blobs_keep_port, blobs_forget_port,
                                  blobs_arrived_port};
}

/* ---- the watchdog ---- */

void daemon_lease(struct daemon *d, hf_time now)
{
    struct replica_view view = replica_look(d->replica);
    bool is_fit = d->link_fit && !d->file_differs && !d->file_bad;

    lease_echoed(&d->lease, view.newest_echoed, now);
    if (d->lease.is_synced != (view.phase == REPLICA_SYNCED) || d->lease.is_fit != is_fit)
        lease_group(&d->lease, view.phase == REPLICA_SYNCED, is_fit, now);
    else
        lease_turn(&d->lease, now);
}

static bool may_run_vms(const struct engine *e, hf_node self)
{
    for (uint16_t i = 0; i < HF_VMS_MAX; i++) {
        struct hf_vm_view vm = engine_vm(e, (hf_vm){i});

        if (vm.is_used && hf_nodes_has(vm.possible, self))
            return true;
    }
    return false;
}

static bool ask_to_hold(struct daemon *d)
{
    const struct engine *e = replica_engine(d->replica);
    hf_node self = node_of(d, d->self->nodeid);
    struct hf_event ev;
    struct hf_err err;

    if (replica_look(d->replica).phase != REPLICA_SYNCED || !hf_node_is(self) ||
        !may_run_vms(e, self))
        return false;
    memset(&ev, 0, sizeof ev);
    ev.type = HF_EV_ORDER;
    ev.u.order.type = HF_ORDER_HOLD;
    ev.u.order.node = self;
    ev.u.order.ms = DAEMON_HOLD_MS;
    ev.u.order.def.preferred = HF_NO_NODE;
    (void)hf_str_copy(ev.u.order.who, sizeof ev.u.order.who, "holdfastd");
    (void)hf_str_copy(ev.u.order.reason, sizeof ev.u.order.reason, "told to stop");
    return daemon_submit(d, &ev, 0, &err) == HF_OK;
}

bool daemon_may_stop(struct daemon *d, hf_time now)
{
    bool is_held = now.ns < d->lease.hold_until.ns;

    if (is_held || hf_time_reached(now, d->stop_at))
        return true;
    if (d->is_stopping)
        return false; /* asked: until the answer, or stop_at */
    d->is_stopping = true;
    return !ask_to_hold(d);
}

/* ---- the file on disk ---- */

/* The group goes on with the copy it has; the file is a proposal. */
void daemon_reread(struct daemon *d, hf_time now)
{
    struct hf_config *config = malloc(sizeof *config);
    struct hf_err err;

    if (config == NULL)
        return;
    if (config_load(d->options.config, config, &err) != HF_OK) {
        d->file_bad = true;
        (void)hf_str_copy(d->file_why, sizeof d->file_why, err.text);
        hf_warning("config: %s", err.text);
        act_config(d->act, false, now);
    } else {
        const struct engine *e = replica_engine(d->replica);
        const struct hf_digest *running =
            e != NULL ? &engine_group(e).group->config : &d->file.group.config;

        d->file_bad = false;
        d->file_differs = !hf_digest_equal(running, &config->group.config);
        hf_info("config: %s read again: %s", d->options.config,
                d->file_differs ? "not what the group runs with" : "what the group runs with");
        act_config(d->act, !d->file_differs, now);
    }
    free(config);
}

/* ---- what the link calls ---- */

static void link_told(struct daemon *d, bool is_connected, const char *why)
{
    if (d->link_connected == is_connected && strcmp(d->link_why, why) == 0)
        return;
    if (d->link_connected != is_connected || d->link_since.ns == 0)
        d->link_since = hf_clock_wall();
    if (is_connected)
        hf_info("corosync: connected");
    else
        hf_warning("corosync: %s", why);
    d->link_connected = is_connected;
    (void)hf_str_copy(d->link_why, sizeof d->link_why, why);
}

/* A corosync that waits for all nodes, as its owner has configured it, makes no group: the node is
 * as good as apart until all have been there once, or a person has cancelled the wait. */
static void link_members(void *user, const struct link_frame *f)
{
    struct daemon *d = user;
    hf_time now = hf_clock_now();

    link_told(d, true, "");
    d->in_replica = true;
    if (d->waits_for_all)
        replica_apart(d->replica, now);
    else
        replica_members(d->replica, f->view, f->peers, f->peers_count, f->ring, f->ring_count, now);
    d->in_replica = false;
}

static void link_deliver(void *user, uint32_t nodeid, uint32_t pid, const uint8_t *bytes,
                         size_t len)
{
    struct daemon *d = user;

    d->in_replica = true;
    replica_deliver(d->replica, nodeid, pid, bytes, len, hf_clock_now());
    d->in_replica = false;
    daemon_flush(d, hf_clock_now()); /* an answer must not wait for the messages behind this one */
}

static void tell_notes(struct daemon *d, const struct link_note *notes, unsigned count)
{
    struct history_when when;

    daemon_now(&when);
    for (unsigned i = 0; i < count; i++) {
        enum hf_level level = notes[i].is_error ? HF_LOG_ERROR
                              : notes[i].is_bad ? HF_LOG_WARNING
                                                : HF_LOG_INFO;

        hf_log(level, "corosync: %s", notes[i].text);
        history_note(d->history, replica_engine(d->replica), d->self->name, notes[i].text, &when);
    }
}

/* What is not known (just after each connection) changes nothing. When the wait is over the others
 * have greeted without us: the group is joined anew. */
static void follow_wait(struct daemon *d, enum link_known is_waiting, hf_time now)
{
    bool was_waiting = d->waits_for_all;

    if (is_waiting == LINK_UNKNOWN)
        return;
    d->waits_for_all = is_waiting == LINK_YES;
    if (was_waiting && !d->waits_for_all) {
        link_rejoin(d->link, "the wait for all is over", now);
    } else if (!was_waiting && d->waits_for_all) {
        d->in_replica = true;
        replica_apart(d->replica, now);
        d->in_replica = false;
    }
}

static void link_facts_told(void *user, const struct link_facts *facts)
{
    struct daemon *d = user;
    const char *why = link_unfit(facts, d->self->nodeid, &d->file.group);
    struct link_note notes[LINK_NOTES_MAX];
    hf_time now = hf_clock_now();

    tell_notes(d, notes, link_watch_take(&d->link_watch, facts, now, &d->file.group, notes));
    if (d->link_fit != (why == NULL)) {
        if (why != NULL)
            hf_warning("corosync: %s", why);
        else
            hf_info("corosync: %s, fit", facts->version);
    }
    d->link_fit = why == NULL;
    if (d->link_connected)
        (void)hf_str_copy(d->link_why, sizeof d->link_why, why != NULL ? why : "");
    act_link(d->act, d->link_fit, now);
    follow_wait(d, facts->is_waiting, now);
}

static void link_apart(void *user, const char *why)
{
    struct daemon *d = user;

    link_told(d, false, why);
    d->in_replica = true;
    replica_apart(d->replica, hf_clock_now());
    d->in_replica = false;
}

void daemon_link_ports(struct daemon *d, struct link_ports *ports)
{
    *ports = (struct link_ports){d, link_members, link_deliver, link_facts_told, link_apart};
}
