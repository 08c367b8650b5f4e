#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisord/base/log.h"
#include "supervisord/base/str.h"
#include "supervisord/config/corosync.h"
#include "supervisord/daemon.h"
#include "supervisord/door/door.h"
#include "supervisord/model/names.h"

/* ---- act ---- */

static const struct engine *act_engine(void *user)
{
    struct daemon *d = user;

    return replica_engine(d->replica);
}

static enum hf_code act_submit(void *user, const struct hf_event *ev, struct hf_err *err)
{
    return daemon_submit(user, ev, 0, err);
}

static bool act_tell(void *user, enum hf_agent_kind kind, const struct hf_report *report, int ride)
{
    struct daemon *d = user;

    return agents_tell(d->agents, kind, report, ride);
}

static const void *act_content(void *user, const struct hf_digest *digest, size_t *len)
{
    return daemon_content(user, digest, len);
}

static void act_want(void *user, const struct hf_digest *digest)
{
    struct daemon *d = user;

    blobs_want(d->blobs, digest, hf_clock_now());
}

static void about(const struct hf_effect *order, struct side_message *m)
{
    struct side_told *t = &m->u.told;

    t->token = order->token;
    t->node = HF_NO_NODE;
    if (order->type == HF_FX_FENCE || order->type == HF_FX_POWER_ON) {
        t->subject = HF_SUBJECT_NODE;
        t->node = order->u.fence.target;
    } else {
        t->subject = HF_SUBJECT_VM;
        t->uid = order->u.vm.uid;
    }
    t->wall_ns = (uint64_t)hf_clock_wall().ns;
    t->boottime_ns = (uint64_t)hf_clock_now().ns;
}

static void act_progress(void *user, const struct hf_effect *order, enum hf_progress phase,
                         uint32_t pid)
{
    struct side_message m = {.type = SIDE_PROGRESS};

    about(order, &m);
    m.u.told.phase = phase;
    m.u.told.pid = pid;
    daemon_tell(user, &m, hf_clock_now());
}

static void act_outcome(void *user, const struct hf_effect *order, enum hf_outcome outcome,
                        uint32_t took_ms, const char *why)
{
    struct side_message m = {.type = SIDE_OUTCOME};

    about(order, &m);
    m.u.told.outcome = outcome;
    m.u.told.took_ms = took_ms;
    (void)hf_str_copy(m.u.told.why, sizeof m.u.told.why, why);
    daemon_tell(user, &m, hf_clock_now());
}

void daemon_act_ports(struct daemon *d, struct act_ports *ports)
{
    *ports = (struct act_ports){d,           act_engine, act_submit,   act_tell,
                                act_content, act_want,   act_progress, act_outcome};
}

/* ---- agents ---- */

static void agents_watch(void *user, int fd, bool write_too)
{
    daemon_watch(user, OWNER_AGENTS, fd, write_too);
}

static void any_unwatch(void *user, int fd)
{
    daemon_unwatch(user, fd);
}

static void agents_joined(void *user, enum hf_agent_kind kind, hf_time now)
{
    struct daemon *d = user;

    if (kind == HF_AGENT_FEEDER)
        lease_feeder(&d->lease, true, now);
    else if (kind == HF_AGENT_NIC)
        nics_joined(&d->nics, now);
    else
        act_agent_joined(d->act, kind, now);
    if (kind == HF_AGENT_FENCE)
        paths_runner(&d->paths, true, now);
}

static void agents_changed(void *user, enum hf_agent_kind kind, hf_time now)
{
    struct daemon *d = user;
    struct agents_view view = agents_look(d->agents, kind);

    if (kind == HF_AGENT_FEEDER) {
        lease_feeder(&d->lease, view.is_connected, now);
        return;
    }
    if (kind == HF_AGENT_NIC) {
        nics_agent(&d->nics, view.is_connected && view.is_fresh, now);
        return;
    }
    if (kind == HF_AGENT_FENCE)
        paths_runner(&d->paths, view.is_connected, now);
    act_agent_changed(d->act, kind, view.is_connected, view.is_fresh, now);
}

static void agents_told(void *user, enum hf_agent_kind kind, const struct hf_report *report,
                        hf_time now)
{
    struct daemon *d = user;

    if (kind == HF_AGENT_FEEDER && report->kind == HF_REPORT_WATCHDOG)
        lease_told(&d->lease, report, now);
    else if (kind == HF_AGENT_FENCE && report->kind == HF_REPORT_TESTED)
        paths_told(&d->paths, report, now);
    else if (kind == HF_AGENT_NIC)
        nics_told(&d->nics, report, now);
    else
        act_told(d->act, kind, report, now);
    if (kind == HF_AGENT_HOST && report->kind == HF_REPORT_HOST)
        daemon_rooms(d, &report->u.host);
}

static void agents_ask(void *user, hf_time now)
{
    struct daemon *d = user;

    (void)now;
    act_ask(d->act);
}

void daemon_agents_ports(struct daemon *d, struct agents_ports *ports)
{
    *ports = (struct agents_ports){
        d, agents_watch, any_unwatch, agents_joined, agents_changed, agents_told, agents_ask};
}

/* ---- the watchdog and the fence paths ---- */

static bool lease_tell(void *user, enum hf_agent_kind kind, const struct hf_report *report)
{
    struct daemon *d = user;

    return agents_tell(d->agents, kind, report, -1);
}

static bool paths_tell(void *user, const struct hf_report *report)
{
    struct daemon *d = user;
    const struct engine *e = replica_engine(d->replica);
    const void *text;
    size_t len;
    struct hf_err err;
    int ride = -1;
    bool is_told;

    if (e == NULL)
        return false;
    text = daemon_content(d, &engine_group(e).group->config, &len);
    if (text == NULL || door_memory("holdfast-content", text, len, &ride, &err) != HF_OK)
        return false;
    is_told = agents_tell(d->agents, HF_AGENT_FENCE, report, ride);
    close(ride);
    return is_told;
}

static void paths_tested_port(void *user, uint64_t cookie, const struct hf_report *tested)
{
    struct daemon *d = user;

    ctl_server_tested(d->ctl, cookie, tested, hf_clock_now());
}

static void paths_news(void *user, hf_node target, uint8_t level, const struct hf_report *tested)
{
    struct daemon *d = user;
    const struct engine *e = replica_engine(d->replica);
    bool is_ok = tested->u.tested.found == HF_PATH_OK;
    char text[HF_REASON_MAX + 1];
    struct history_when when;

    daemon_now(&when);
    (void)snprintf(text, sizeof text, "fence level %u: %s: %.120s", level + 1u,
                   hf_path_name(tested->u.tested.found), tested->u.tested.why);
    hf_log(is_ok ? HF_LOG_INFO : HF_LOG_WARNING, "node=%s %s",
           engine_group(e).group->nodes[target.ix].name, text);
    history_note(d->history, e, engine_group(e).group->nodes[target.ix].name, text, &when);
}

void daemon_lease_ports(struct daemon *d, struct lease_ports *ports)
{
    *ports = (struct lease_ports){d, act_engine, act_submit, lease_tell};
}

void daemon_paths_ports(struct daemon *d, struct paths_ports *ports)
{
    *ports =
        (struct paths_ports){d, act_engine, act_submit, paths_tell, paths_tested_port, paths_news};
}

/* ---- NICs ---- */

static bool nics_tell(void *user, const struct hf_report *report)
{
    struct daemon *d = user;

    return agents_tell(d->agents, HF_AGENT_NIC, report, -1);
}

static void nics_ask(void *user, hf_node member, uint32_t number, hf_vm_uid uid, hf_fabric to)
{
    struct side_message m = {.type = SIDE_NIC_ORDER};

    m.u.nic_order.member = member;
    m.u.nic_order.number = number;
    m.u.nic_order.uid = uid;
    m.u.nic_order.to = to;
    daemon_tell(user, &m, hf_clock_now());
}

static void nics_flipped(void *user, const struct hf_flip *flip, uint32_t asker_nodeid,
                         uint32_t number)
{
    struct side_message m = {.type = SIDE_FLIP};

    m.u.flip.is_done = flip != NULL;
    m.u.flip.asker_nodeid = asker_nodeid;
    m.u.flip.number = number;
    if (flip != NULL)
        m.u.flip.flip = *flip;
    daemon_tell(user, &m, hf_clock_now());
}

static void nics_answered_port(void *user, uint64_t cookie, const struct hf_flip *flip)
{
    struct daemon *d = user;

    ctl_server_flipped(d->ctl, cookie, flip, hf_clock_now());
}

void daemon_nics_ports(struct daemon *d, struct nics_ports *ports)
{
    *ports = (struct nics_ports){d,        act_engine,   act_submit,        nics_tell,
                                 nics_ask, nics_flipped, nics_answered_port};
}

/* ---- operators ---- */

static void ctl_watch(void *user, int fd, bool write_too)
{
    daemon_watch(user, OWNER_CTL, fd, write_too);
}

static enum ctl_phase ctl_phase_of(enum replica_phase phase)
{
    switch (phase) {
    case REPLICA_APART:
    case REPLICA_PHASES:
        return CTL_PHASE_APART;
    case REPLICA_GREETING:
        return CTL_PHASE_GREETING;
    case REPLICA_COPYING:
        return CTL_PHASE_COPYING;
    case REPLICA_FROZEN:
        return CTL_PHASE_FROZEN;
    case REPLICA_SYNCED:
        return CTL_PHASE_SYNCED;
    case REPLICA_STOPPED:
        return CTL_PHASE_STOPPED;
    }
    return CTL_PHASE_APART;
}

static void look_agents(const struct daemon *d, struct ctl_shell *shell)
{
    struct act_view act = act_look(d->act);

    for (unsigned kind = 1; kind < HF_AGENT_KINDS; kind++) {
        struct agents_view view = agents_look(d->agents, (enum hf_agent_kind)kind);
        struct ctl_agent *agent = &shell->agent[kind];

        agent->is_expected = (kind != HF_AGENT_FEEDER || d->self->has_watchdog) &&
                             (kind != HF_AGENT_NIC || d->self->fabrics != 0);
        agent->is_connected = view.is_connected;
        agent->is_fresh = view.is_fresh;
        agent->since = view.since;
        (void)hf_str_copy(agent->why, sizeof agent->why, view.why);
        if (kind == HF_AGENT_VM && view.is_fresh && !act.vm_watch_known) {
            agent->is_fresh = false;
            (void)hf_str_copy(agent->why, sizeof agent->why, act.vm_watch_why);
        }
    }
}

/* What corosync itself forgives must not end our VMs. */
static void note_lease(const struct daemon *d, struct ctl_link *link)
{
    const struct link_facts *f = &d->link_watch.facts;
    uint32_t least = corosync_lease_ms(f->token_ms, f->consensus_ms, d->file.beat_ms);
    struct ctl_link_note *note;

    if (!d->file.watchdog.is_used || f->token_ms == 0 || d->file.watchdog.lease_ms >= least ||
        link->notes_count == CTL_LINK_NOTES_MAX)
        return;
    note = &link->notes[link->notes_count++];
    note->is_error = true;
    (void)snprintf(
        note->text, sizeof note->text,
        "the lease of %u ms is shorter than corosync takes to agree on a loss: a cut that "
        "it forgives would end VMs here; at least %u ms",
        (unsigned)d->file.watchdog.lease_ms, (unsigned)least);
}

static void look_link(const struct daemon *d, struct ctl_link *link)
{
    const struct link_facts *f = &d->link_watch.facts;
    struct link_note notes[LINK_NOTES_MAX];
    unsigned count = link_watch_needs(&d->link_watch, hf_clock_now(), &d->file.group, notes);

    link->is_connected = d->link_connected;
    link->since = d->link_since;
    (void)hf_str_copy(link->version, sizeof link->version, f->version);
    link->crypto_known = f->cipher[0] != '\0';
    link->crypto_on = link->crypto_known && strcmp(f->cipher, "none") != 0;
    link->token_ms = f->token_ms;
    link->consensus_ms = f->consensus_ms;
    link->votes_known = f->quorate != LINK_UNKNOWN;
    link->votes_quorate = f->quorate == LINK_YES;
    link->votes_expected = f->expected_votes;
    link->is_fit = d->link_fit;
    (void)hf_str_copy(link->why, sizeof link->why, d->link_why);
    for (unsigned i = 0; i < count && i < CTL_LINK_NOTES_MAX; i++) {
        struct ctl_link_note *note = &link->notes[link->notes_count++];

        note->is_error = notes[i].is_error;
        (void)hf_str_copy(note->text, sizeof note->text, notes[i].text);
    }
    note_lease(d, link);
}

static void look_paths(const struct daemon *d, struct ctl_shell *shell)
{
    for (uint8_t n = 0; n < HF_NODES_MAX; n++)
        for (uint8_t l = 0; l < HF_FENCE_LEVELS_MAX; l++) {
            const struct paths_slot *slot = &d->paths.slot[n][l];

            shell->path[n][l] = (struct ctl_path){slot->tested, slot->took_ms, slot->why};
        }
    shell->watchdog_why = lease_look(&d->lease).why;
    shell->config = d->file_differs || d->file_bad ? NULL : &d->file;
}

static void look_nics(struct daemon *d, struct ctl_nics *nics)
{
    nics->is_told = d->nics.has_word;
    nics->told = d->nics.word_at;
    nics->count = d->nics.count;
    memcpy(nics->pf, d->nics.pf, sizeof nics->pf);
    nics->legs_count = nics_legs(&d->nics, &nics->legs);
    nics->flips = d->nics.flip;
    nics->flips_count = d->nics.flips_count;
    memcpy(nics->since, d->nics.since, sizeof nics->since);
}

static void look_group(const struct daemon *d, struct ctl_shell *shell)
{
    struct replica_view view = replica_look(d->replica);

    shell->engine = replica_engine(d->replica);
    shell->phase = ctl_phase_of(view.phase);
    shell->phase_since = d->phase_since;
    (void)hf_str_copy(shell->phase_why, sizeof shell->phase_why, d->phase_why);
    shell->participants = view.participants;
    shell->ghosts = view.ghosts;
    shell->in_flight = view.in_flight;
    shell->queued = view.queued;
    memcpy(shell->heard, view.heard, sizeof shell->heard);
    if (shell->engine != NULL)
        shell->running_text =
            daemon_content(d, &engine_group(shell->engine).group->config, &shell->running_text_len);
}

static void ctl_look(void *user, struct ctl_shell *shell)
{
    struct daemon *d = user;

    memset(shell, 0, sizeof *shell);
    shell->now = hf_clock_now();
    shell->wall = hf_clock_wall();
    shell->node = d->self->name;
    shell->group = d->file.group.name;
    shell->incarnation = d->incarnation;
    look_group(d, shell);
    look_agents(d, shell);
    look_link(d, &shell->link);
    look_paths(d, shell);
    look_nics(d, &shell->nics);
    daemon_rooms_look(d, shell);
    shell->journal_broken = d->journal_status.is_broken;
    shell->journal_since = d->journal_since;
    shell->journal_lost = d->journal_status.lost;
    (void)hf_str_copy(shell->journal_why, sizeof shell->journal_why, d->journal_status.why);
    shell->file_differs = d->file_differs;
    shell->file_bad = d->file_bad;
    (void)hf_str_copy(shell->file_why, sizeof shell->file_why, d->file_why);
    shell->file_path = d->options.config;
}

static enum hf_code ctl_order(void *user, const struct hf_event *ev, uint64_t cookie,
                              struct hf_err *err)
{
    return daemon_submit(user, ev, cookie, err);
}

static enum hf_code ctl_put_blob(void *user, const void *bytes, size_t len,
                                 const struct hf_digest *digest, struct hf_err *err)
{
    struct daemon *d = user;

    (void)digest; /* computed again from the bytes */
    return blobs_put(d->blobs, bytes, len, hf_clock_now(), err);
}

static enum hf_code ctl_test(void *user, hf_node target, uint8_t level, uint64_t cookie,
                             struct hf_err *err)
{
    struct daemon *d = user;

    return paths_test(&d->paths, target, level, cookie, hf_clock_now(), err);
}

static enum hf_code ctl_failback(void *user, hf_vm_uid uid, hf_fabric to, uint64_t cookie,
                                 struct hf_err *err)
{
    struct daemon *d = user;

    return nics_failback(&d->nics, uid, to, cookie, hf_clock_now(), err);
}

static void ctl_audit(void *user, const struct history_audit *what)
{
    struct daemon *d = user;
    struct history_when when;

    daemon_now(&when);
    history_audit(d->history, replica_engine(d->replica), what, &when);
}

void daemon_ctl_ports(struct daemon *d, struct ctl_ports *ports)
{
    *ports = (struct ctl_ports){.user = d,
                                .watch = ctl_watch,
                                .unwatch = any_unwatch,
                                .look = ctl_look,
                                .order = ctl_order,
                                .put_blob = ctl_put_blob,
                                .test = ctl_test,
                                .failback = ctl_failback,
                                .audit = ctl_audit};
}
