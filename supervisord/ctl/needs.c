#include "supervisord/ctl/needs_internal.h"

#include "supervisord/base/str.h"
#include "supervisord/ctl/fabric.h"
#include "supervisord/model/names.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const severities[NEEDS_SEVERITIES] = {
    [NEEDS_ERROR] = "error", [NEEDS_WARNING] = "warning"};

static bool is_wanted(const struct needs_filter *only, const struct needs_about *about)
{
    if (only == NULL)
        return true;
    if (about->subject != only->subject || strcmp(about->name, only->name) != 0)
        return false;
    return !only->is_nic || (about->is_nic && about->fabric == only->fabric);
}

static void put_times(const struct needs_walk *w, const struct needs_about *about)
{
    struct history_since since;
    bool is_known = about->wall.ns == 0 && history_since(w->h, about->subject, about->ix, &since);
    hf_wall wall = is_known ? since.when.wall : about->wall;
    int64_t age_ms = is_known ? hf_time_since_ms(w->shell->now, since.when.boot)
                              : (w->shell->wall.ns - wall.ns) / HF_NS_PER_MS;
    char text[40];

    if (wall.ns == 0) {
        hf_json_null(w->j, "since");
        hf_json_null(w->j, "since_ms");
        return;
    }
    history_wall_text(wall, text);
    hf_json_str(w->j, "since", text);
    hf_json_i64(w->j, "since_ms", age_ms > 0 ? age_ms : 0);
}

void needs_add(const struct needs_walk *w, enum needs_severity severity,
               const struct needs_about *about, const char *command, const char *format, ...)
{
    char text[1024]; /* eight nodes, each with a rule's text, fit */
    va_list args;

    if (severity != w->severity || !is_wanted(w->only, about))
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hf_json_object(w->j, NULL);
    hf_json_str(w->j, "severity", severities[severity]);
    hf_json_str(w->j, "subject", hf_subject_name(about->subject));
    hf_json_str(w->j, "name", about->name);
    hf_json_str(w->j, "fabric", about->is_nic ? fabric_name(about->fabric) : NULL);
    put_times(w, about);
    hf_json_str(w->j, "text", text);
    hf_json_str(w->j, "command", command[0] != '\0' ? command : NULL);
    hf_json_end_object(w->j);
}

struct needs_command needs_command(const char *format, ...)
{
    struct needs_command command;
    va_list args;

    va_start(args, format);
    (void)vsnprintf(command.text, sizeof command.text, format, args);
    va_end(args);
    return command;
}

/* ---- the group ---- */

static void need_quorum(const struct needs_walk *w, const struct needs_about *group)
{
    const struct ctl_shell *shell = w->shell;
    const struct engine *e = shell->engine;
    const char *why = shell->phase_why;
    const char *dots = why[0] != '\0' ? ": " : "";

    switch (shell->phase) {
    case CTL_PHASE_APART:
        if (!shell->link.is_connected) /* need_local() tells the cause */
            return;
        needs_add(w, NEEDS_ERROR, group, "systemctl status corosync",
                  "this node is not in the group, nothing can be decided here%s%s", dots, why);
        return;
    case CTL_PHASE_FROZEN:
        if (e != NULL)
            needs_add(w, NEEDS_ERROR, group, "holdfast nodes",
                      "not quorate: %u of %u nodes greet each other here, everything is frozen%s%s",
                      hf_nodes_count(shell->participants), engine_group(e).group->nodes_count, dots,
                      why);
        else
            needs_add(w, NEEDS_ERROR, group, "holdfast nodes",
                      "not quorate, everything is frozen%s%s", dots, why);
        return;
    case CTL_PHASE_STOPPED:
        needs_add(w, NEEDS_ERROR, group, "journalctl -u holdfastd",
                  "this node's daemon has stopped taking part%s%s", dots, why);
        return;
    case CTL_PHASE_GREETING:
    case CTL_PHASE_COPYING:
        needs_add(w, NEEDS_WARNING, group, "holdfast status",
                  "the members are agreeing on the state (%s)%s%s", ctl_phase_name(shell->phase),
                  dots, why);
        return;
    case CTL_PHASE_SYNCED:
    case CTL_PHASES:
        return;
    }
}

/* What keeps the engine from acting by itself until a person says so. */
static void need_arming(const struct needs_walk *w, const struct needs_about *group,
                        struct hf_group_view view)
{
    if (!view.is_armed)
        needs_add(w, NEEDS_WARNING, group, "holdfast arm",
                  "disarmed: nothing is fenced and no VM is restarted after a failure");
    if (view.in_storm)
        needs_add(
            w, NEEDS_ERROR, group, "holdfast arm",
            "fencing storm: %u nodes were fenced in a short time; nothing more is fenced until a "
            "person has looked and arms again",
            view.storm_count);
    if (view.skipped > 0)
        needs_add(w, NEEDS_ERROR, group, "holdfast arm",
                  "the engine could not digest %u event%s and skipped %s, the newest at seq %llu: "
                  "keep the journal for its makers; nothing is restarted until a person arms again",
                  view.skipped, view.skipped == 1 ? "" : "s", view.skipped == 1 ? "it" : "them",
                  (unsigned long long)view.skipped_seq);
}

static void need_group(const struct needs_walk *w)
{
    const struct ctl_shell *shell = w->shell;
    struct needs_about group = {HF_SUBJECT_GROUP, 0, shell->group, shell->phase_since, false, 0};
    struct needs_about timeless = {HF_SUBJECT_GROUP, 0, shell->group, {0}, false, 0};

    need_quorum(w, &group);
    if (shell->engine != NULL)
        need_arming(w, &timeless, engine_group(shell->engine));
    if (shell->ghosts > 0)
        needs_add(w, NEEDS_WARNING, &timeless, "corosync-cpgtool",
                  "%u member%s of the process group %s outside the totem ring and not counted",
                  shell->ghosts, shell->ghosts == 1 ? "" : "s", shell->ghosts == 1 ? "is" : "are");
}

/* ---- nodes ---- */

static void need_proof(const struct needs_walk *w, const struct needs_about *about,
                       const struct hf_node_def *def, const struct hf_node_view *node)
{
    struct needs_command confirm =
        needs_command("holdfast fence confirm %s --reason TEXT", def->name);
    struct needs_command why = needs_command("holdfast why %s", def->name);
    const struct hf_group *group = engine_group(w->shell->engine).group;
    const char *actor = node->fence_actor.ix < group->nodes_count
                            ? group->nodes[node->fence_actor.ix].name
                            : "nobody yet";
    char beside[80] = "";

    if (node->safe_time_runs)
        (void)snprintf(beside, sizeof beside, "; its watchdog proves it %.1f s after the loss",
                       (double)node->safe_ms / 1000.0);
    if (node->fence_attempts > 0)
        needs_add(w, NEEDS_ERROR, about, node->safe_time_runs ? why.text : confirm.text,
                  "%s: %u fencing attempt%s failed, now level %u by %s%s",
                  node->safe_time_runs ? "not proved dead yet" : "cannot be proved dead",
                  node->fence_attempts, node->fence_attempts == 1 ? "" : "s",
                  node->fence_level + 1u, actor, beside);
    else if (node->state == HF_NODE_FENCING)
        needs_add(w, NEEDS_ERROR, about, why.text, "being fenced: level %u by %s%s",
                  node->fence_level + 1u, actor, beside);
    else if (!node->can_be_fenced)
        needs_add(w, NEEDS_ERROR, about, confirm.text,
                  "lost, and nothing can prove it dead: make sure that it is off, then confirm it");
    else
        needs_add(w, NEEDS_ERROR, about, why.text, "lost: %s%s", hf_reason_text(node->why), beside);
}

static void need_node_state(const struct needs_walk *w, const struct needs_about *about,
                            const struct hf_node_def *def, const struct hf_node_view *node)
{
    struct needs_command why = needs_command("holdfast why %s", def->name);

    switch (node->state) {
    case HF_NODE_ABSENT:
        if (node->has_left) /* with notice */
            return;
        needs_add(w, NEEDS_WARNING, about, "systemctl status corosync holdfastd",
                  "configured, but has not joined yet: start it");
        return;
    case HF_NODE_JOINING:
        needs_add(w, NEEDS_WARNING, about, why.text,
                  "joining: has not yet told which VMs run there");
        return;
    case HF_NODE_SILENT:
        if (node->is_held) /* need_hold() tells */
            return;
        needs_add(w, NEEDS_ERROR, about, why.text,
                  "silent: %s; it is lost when the grace time is over", hf_reason_text(node->why));
        return;
    case HF_NODE_LOST:
    case HF_NODE_FENCING:
        need_proof(w, about, def, node);
        return;
    case HF_NODE_DEAD:
        if (node->has_left)
            return;
        needs_add(w, NEEDS_ERROR, about, why.text, "dead (%s): repair it and power it on",
                  hf_proof_name(node->proof));
        return;
    case HF_NODE_MEMBER:
    case HF_NODE_STATES:
        return;
    }
}

/* "level 1 (bmc-n2)"; without the names where this node does not know them. */
static void level_text(const struct ctl_shell *shell, hf_node node, uint8_t level, char *out,
                       size_t cap)
{
    const struct hf_config *config = shell->config;
    const struct hf_fence_level *devices;
    int len = snprintf(out, cap, "level %u", level + 1u);
    size_t at = len > 0 ? (size_t)len : 0;

    if (config == NULL || level >= config->fence[node.ix].levels_count)
        return;
    devices = &config->fence[node.ix].level[level];
    for (uint8_t i = 0; i < devices->devices_count && at < cap; i++) {
        len = snprintf(out + at, cap - at, "%s%s%s", i == 0 ? " (" : ", ",
                       config->devices[devices->device[i]].name,
                       i + 1 == devices->devices_count ? ")" : "");
        at += len > 0 ? (size_t)len : 0;
    }
}

static void need_paths(const struct needs_walk *w, const struct needs_about *timeless, hf_node ix,
                       const struct hf_node_def *def, const struct hf_node_view *node)
{
    struct needs_command test = needs_command("holdfast fence test %s", def->name);
    char level[160];

    for (uint8_t i = 0; i < def->fence_levels && i < HF_FENCE_LEVELS_MAX; i++) {
        enum hf_path path = node->path[i];
        const char *why = w->shell->path[ix.ix][i].why;
        const char *said = why != NULL ? why : "";
        const char *dots = said[0] != '\0' ? ": " : "";

        if (path == HF_PATH_OK || path == HF_PATH_UNKNOWN)
            continue;
        level_text(w->shell, ix, i, level, sizeof level);
        if (path == HF_PATH_WRONG_HOST)
            needs_add(w, NEEDS_ERROR, timeless, test.text,
                      "fence %s would switch off another host%s%s", level, dots, said);
        else
            needs_add(w, node->can_be_fenced ? NEEDS_WARNING : NEEDS_ERROR, timeless, test.text,
                      "fence %s would not work now: %s%s%s", level, hf_path_name(path), dots, said);
    }
}

static void need_watchdog(const struct needs_walk *w, const struct needs_about *timeless,
                          hf_node ix, const struct hf_node_def *def,
                          const struct hf_node_view *node)
{
    bool is_wanted = engine_wants_watchdog(w->shell->engine, ix);
    bool is_own = strcmp(def->name, w->shell->node) == 0 && w->shell->watchdog_why != NULL;
    const char *why = is_own ? w->shell->watchdog_why : "";
    bool is_faulty = false;

    switch (node->watchdog.state) {
    case HF_WD_ARMED:
    case HF_WATCHDOGS:
        return;
    case HF_WD_UNKNOWN:
    case HF_WD_UNUSED:
    case HF_WD_DISARMED:
        break;
    case HF_WD_ABSENT:
    case HF_WD_BUSY:
    case HF_WD_SOFT:
    case HF_WD_BROKEN:
        is_faulty = true;
        break;
    }
    if (!def->has_watchdog || (!is_wanted && !is_faulty))
        return;
    needs_add(w, node->can_be_fenced ? NEEDS_WARNING : NEEDS_ERROR, timeless,
              "systemctl status holdfast-feeder",
              "its watchdog is %s%s, so time would not prove its death%s%s",
              hf_watchdog_name(node->watchdog.state), is_wanted ? " though VMs may be there" : "",
              why[0] != '\0' ? ": " : "", why);
}

/* Away with notice: all is well until shortly before the end of that time. */
static void need_hold(const struct needs_walk *w, const struct needs_about *about,
                      const struct hf_node_def *def, const struct hf_node_view *node)
{
    enum { SOON_MS = 30000 };
    int64_t left = 0;
    bool is_known = picture_hold_left(w->shell, w->h, def->name, node, &left);

    if (!node->is_held || node->is_present)
        return;
    if (!is_known)
        needs_add(w, NEEDS_WARNING, about, "systemctl status holdfastd corosync",
                  "away with notice, its VMs run on until the hold ends; then it counts as lost");
    else if (left < SOON_MS)
        needs_add(w, NEEDS_ERROR, about, "systemctl status holdfastd corosync",
                  "away with notice, but the hold ends in %lld s: then it counts as lost",
                  (long long)(left > 0 ? left / 1000 : 0));
    else
        needs_add(w, NEEDS_WARNING, about, "systemctl status holdfastd corosync",
                  "away with notice, its VMs run on; for another %lld s, then it counts as lost",
                  (long long)(left / 1000));
}

/* How it could be proved dead, and what keeps it from taking VMs. */
static void need_node_proofs(const struct needs_walk *w, const struct needs_about *about,
                             const struct needs_about *timeless, hf_node ix,
                             const struct hf_node_def *def, const struct hf_node_view *node)
{
    struct needs_command test = needs_command("holdfast fence test %s", def->name);
    struct needs_command undrain = needs_command("holdfast undrain %s", def->name);

    need_hold(w, about, def, node);
    if (node->has_left)
        return;
    if (!node->can_be_fenced && (node->state == HF_NODE_MEMBER || node->state == HF_NODE_SILENT))
        needs_add(
            w, NEEDS_ERROR, timeless, def->fence_levels > 0 ? test.text : "holdfast config show",
            "cannot be fenced: if it is lost its VMs stay down until a person confirms that it is "
            "off");
    need_paths(w, timeless, ix, def, node);
    if (node->state == HF_NODE_MEMBER || node->state == HF_NODE_JOINING)
        need_watchdog(w, timeless, ix, def, node);
    if (node->is_passive)
        needs_add(w, NEEDS_WARNING, timeless, undrain.text,
                  "passive: it came back %u times in a short time and gets no VM until told",
                  node->returns);
}

static void need_node(const struct needs_walk *w, hf_node ix)
{
    const struct engine *e = w->shell->engine;
    const struct hf_node_def *def = &engine_group(e).group->nodes[ix.ix];
    struct hf_node_view node = engine_node(e, ix);
    struct needs_about about = {HF_SUBJECT_NODE, ix.ix, def->name, {0}, false, 0};
    struct needs_about timeless = {HF_SUBJECT_NODE, UINT16_MAX, def->name, {0}, false, 0};

    need_node_state(w, &about, def, &node);
    need_node_proofs(w, &about, &timeless, ix, def, &node);
    if (!node.is_present || (node.state != HF_NODE_MEMBER && node.state != HF_NODE_JOINING))
        return;
    needs_nics(w, &timeless, ix, def, &node);
    if (strcmp(def->name, w->shell->node) == 0) /* need_local() knows more about ourselves */
        return;
    if (!node.vm_watch_known && node.state == HF_NODE_MEMBER)
        needs_add(w, NEEDS_ERROR, &timeless, "systemctl status holdfast-agent@vm libvirtd",
                  "its VM monitor does not answer: no VM is placed there, its VMs are left alone");
    if (!node.link_fit)
        needs_add(w, NEEDS_ERROR, &timeless, "holdfast status",
                  "unfit link: corosync there is too old, unencrypted or counts other votes");
    if (!node.config_same)
        needs_add(w, NEEDS_WARNING, &timeless, "holdfast config show",
                  "its cluster file is not the running configuration");
}

/* ---- VMs ---- */

static void refusals(const struct engine *e, hf_vm vm, char *out, size_t cap)
{
    const struct hf_group *group = engine_group(e).group;
    struct hf_placement place = engine_placement(e, vm);
    size_t at = 0;

    out[0] = '\0';
    for (uint8_t i = 0; i < group->nodes_count && at < cap; i++) {
        int len = snprintf(out + at, cap - at, "%s%s %s", i == 0 ? "" : "; ", group->nodes[i].name,
                           hf_rule_text(place.refused[i]));

        at += len > 0 ? (size_t)len : 0;
    }
}

static void possible_text(const struct engine *e, hf_nodes possible, char *out, size_t cap)
{
    const struct hf_group *group = engine_group(e).group;
    size_t at = 0;

    (void)hf_str_copy(out, cap, "a lost node");
    for (uint8_t i = 0; i < group->nodes_count && at < cap; i++) {
        int len;

        if (!hf_nodes_has(possible, (hf_node){i}))
            continue;
        len = snprintf(out + at, cap - at, "%s%s", at == 0 ? "" : ", ", group->nodes[i].name);
        at += len > 0 ? (size_t)len : 0;
    }
}

static void need_vm(const struct needs_walk *w, hf_vm ix)
{
    const struct engine *e = w->shell->engine;
    struct hf_vm_view vm = engine_vm(e, ix);
    struct needs_about about = {HF_SUBJECT_VM, ix.ix, vm.def->name, {0}, false, 0};
    struct needs_command why = needs_command("holdfast why %s", vm.def->name);
    struct needs_command start = needs_command("holdfast vm start %s", vm.def->name);
    char text[900];

    switch (vm.state) {
    case HF_VM_WAITING:
        possible_text(e, vm.possible, text, sizeof text);
        needs_add(w, NEEDS_ERROR, &about, why.text,
                  "down: waits for proof that it does not run on %s", text);
        return;
    case HF_VM_UNPLACEABLE:
        refusals(e, ix, text, sizeof text);
        needs_add(w, NEEDS_ERROR, &about, why.text, "down: no node can take it: %s", text);
        return;
    case HF_VM_FAILED:
        needs_add(w, NEEDS_ERROR, &about, start.text, "failed %u times and is given up: %s",
                  vm.failures, hf_reason_text(vm.why));
        return;
    case HF_VM_HELD:
        needs_add(w, NEEDS_WARNING, &about, start.text, "held: %s, Holdfast keeps off until told",
                  hf_reason_text(vm.why));
        return;
    case HF_VM_PLACING:
    case HF_VM_STARTING:
        if (vm.failures > 0)
            needs_add(w, NEEDS_WARNING, &about, why.text, "%s after %u failure%s: %s",
                      hf_vm_state_name(vm.state), vm.failures, vm.failures == 1 ? "" : "s",
                      hf_reason_text(vm.why));
        return;
    case HF_VM_RUNNING:
        needs_legs(w, &about, &vm);
        return;
    case HF_VM_STOPPED:
    case HF_VM_STOPPING:
    case HF_VM_STATES:
        return;
    }
}

/* ---- this node's own daemons ---- */

static void need_link(const struct needs_walk *w, const struct needs_about *here)
{
    const struct ctl_link *link = &w->shell->link;
    struct needs_about about = *here;

    about.wall = link->since;
    if (!link->is_connected)
        needs_add(w, NEEDS_ERROR, &about, "systemctl status corosync",
                  "no connection to corosync, nothing can be decided here%s%s",
                  link->why[0] != '\0' ? ": " : "", link->why);
    else if (!link->is_fit)
        needs_add(w, NEEDS_ERROR, here, "holdfast config check", "corosync link unfit%s%s",
                  link->why[0] != '\0' ? ": " : "", link->why);
    for (unsigned i = 0; link->is_connected && i < link->notes_count && i < CTL_LINK_NOTES_MAX; i++)
        needs_add(w, link->notes[i].is_error ? NEEDS_ERROR : NEEDS_WARNING, here,
                  "holdfast config check", "%s", link->notes[i].text);
}

static struct needs_command unit_of(unsigned kind)
{
    switch ((enum hf_agent_kind)kind) {
    case HF_AGENT_FENCE:
        return needs_command("holdfast-fencer");
    case HF_AGENT_FEEDER:
        return needs_command("holdfast-feeder");
    case HF_AGENT_NIC:
        return needs_command("holdfast-nicbond");
    case HF_AGENT_HOST:
    case HF_AGENT_VM:
    case HF_AGENT_KINDS:
        break;
    }
    return needs_command("holdfast-agent@%s", ctl_agent_name((enum hf_agent_kind)kind));
}

static void need_agents(const struct needs_walk *w, const struct needs_about *here)
{
    for (unsigned kind = 1; kind < HF_AGENT_KINDS; kind++) {
        const struct ctl_agent *agent = &w->shell->agent[kind];
        const char *name = ctl_agent_name((enum hf_agent_kind)kind);
        struct needs_command status = needs_command("systemctl status %s", unit_of(kind).text);
        struct needs_about about = *here;

        about.wall = agent->since;
        if (!agent->is_expected || (agent->is_connected && agent->is_fresh))
            continue;
        needs_add(w, NEEDS_ERROR, &about, status.text, "%s agent %s%s%s", name,
                  agent->is_connected ? "stale" : "not connected",
                  agent->why[0] != '\0' ? ": " : "", agent->why);
    }
}

/* What ends where nothing more can be written: never a decision, and never a VM that runs. */
static void need_rooms(const struct needs_walk *w)
{
    static const char *const ends[HF_ROOMS] = {
        [HF_ROOM_RUN] = "no VM can be started on this node",
        [HF_ROOM_SHM] = "a daemon that starts again gets no connection to corosync"};

    for (unsigned i = 0; i < HF_ROOMS; i++) {
        const struct ctl_room *room = &w->shell->room[i];
        const struct hf_room *left = &room->room;
        struct needs_about about = {HF_SUBJECT_NODE, UINT16_MAX, w->shell->node,
                                    room->since,     false,      0};
        struct needs_command largest =
            needs_command("du -xak %s | sort -n | tail", room->path != NULL ? room->path : "");
        char files[60] = "";

        if (room->path == NULL || !left->is_low)
            continue;
        if (left->files > 0)
            (void)snprintf(files, sizeof files, " and %llu of %llu files",
                           (unsigned long long)left->files_free, (unsigned long long)left->files);
        needs_add(w, left->kib_free == 0 ? NEEDS_ERROR : NEEDS_WARNING, &about, largest.text,
                  "the file system of %s is nearly full, %llu of %llu KiB%s are left: when it is "
                  "full, %s; remove something, or make it larger (mount -o remount,size=)",
                  room->path, (unsigned long long)left->kib_free, (unsigned long long)left->kib,
                  files, ends[i]);
    }
}

static void need_local(const struct needs_walk *w)
{
    const struct ctl_shell *shell = w->shell;
    struct needs_about here = {HF_SUBJECT_NODE, UINT16_MAX, shell->node, {0}, false, 0};
    struct needs_about journal = {HF_SUBJECT_NODE,      UINT16_MAX, shell->node,
                                  shell->journal_since, false,      0};

    need_link(w, &here);
    need_agents(w, &here);
    need_rooms(w);
    if (shell->journal_broken)
        needs_add(w, NEEDS_ERROR, &journal, "df /var/lib/holdfast",
                  "journal broken, %llu records lost (decisions go on)%s%s",
                  (unsigned long long)shell->journal_lost,
                  shell->journal_why[0] != '\0' ? ": " : "", shell->journal_why);
    if (shell->file_bad)
        needs_add(w, NEEDS_WARNING, &here, "holdfast config check /etc/holdfast/holdfast.conf",
                  "its cluster file cannot be used: %s", shell->file_why);
    else if (shell->file_differs)
        needs_add(w, NEEDS_WARNING, &here, "holdfast config show --file",
                  "its cluster file is not the running configuration%s%s",
                  shell->file_why[0] != '\0' ? ": " : "", shell->file_why);
}

void needs_put(struct hf_json *j, const struct ctl_shell *shell, const struct history *h,
               const struct needs_filter *only)
{
    hf_json_array(j, "needs");
    for (int severity = 0; severity < NEEDS_SEVERITIES; severity++) {
        const struct engine *e = shell->engine;
        struct needs_walk w = {j, shell, h, (enum needs_severity)severity, only};

        need_group(&w);
        for (uint8_t i = 0; e != NULL && i < engine_group(e).group->nodes_count; i++)
            need_node(&w, (hf_node){i});
        for (uint16_t i = 0; e != NULL && i < HF_VMS_MAX; i++)
            if (engine_vm(e, (hf_vm){i}).is_used)
                need_vm(&w, (hf_vm){i});
        need_local(&w);
    }
    hf_json_end_array(j);
}
