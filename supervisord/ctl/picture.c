#include "supervisord/ctl/picture.h"

#include "supervisord/base/str.h"
#include "supervisord/ctl/fabric.h"
#include "supervisord/ctl/needs.h"
#include "supervisord/model/names.h"

#include <stdio.h>
#include <string.h>

static const char *const phases[CTL_PHASES] = {
    [CTL_PHASE_APART] = "apart",     [CTL_PHASE_GREETING] = "greeting",
    [CTL_PHASE_COPYING] = "copying", [CTL_PHASE_FROZEN] = "frozen",
    [CTL_PHASE_SYNCED] = "synced",   [CTL_PHASE_STOPPED] = "stopped",
};

static const char *const agents[HF_AGENT_KINDS] = {
    [HF_AGENT_HOST] = "host",     [HF_AGENT_VM] = "vm",   [HF_AGENT_FENCE] = "fence",
    [HF_AGENT_FEEDER] = "feeder", [HF_AGENT_NIC] = "nic",
};

const char *ctl_phase_name(enum ctl_phase phase)
{
    return (unsigned)phase < CTL_PHASES ? phases[phase] : "?";
}

const char *ctl_agent_name(enum hf_agent_kind kind)
{
    return (unsigned)kind < HF_AGENT_KINDS && agents[kind] != NULL ? agents[kind] : "?";
}

bool picture_is_quorate(const struct ctl_shell *shell)
{
    return shell->phase == CTL_PHASE_SYNCED && shell->engine != NULL;
}

/* ---- small pieces ---- */

static const char *node_name(const struct engine *e, hf_node node)
{
    const struct hf_group *group = engine_group(e).group;

    return node.ix < group->nodes_count ? group->nodes[node.ix].name : NULL;
}

static void put_node(struct hf_json *j, const char *key, const struct engine *e, hf_node node)
{
    hf_json_str(j, key, node_name(e, node));
}

static void put_nodes(struct hf_json *j, const char *key, const struct engine *e, hf_nodes set)
{
    const struct hf_group *group = engine_group(e).group;

    hf_json_array(j, key);
    for (uint8_t i = 0; i < group->nodes_count; i++)
        if (hf_nodes_has(set, (hf_node){i}))
            hf_json_str(j, NULL, group->nodes[i].name);
    hf_json_end_array(j);
}

static void put_text_or_null(struct hf_json *j, const char *key, const char *text)
{
    hf_json_str(j, key, text != NULL && text[0] != '\0' ? text : NULL);
}

static void put_wall(struct hf_json *j, const char *key, hf_wall wall)
{
    char text[40];

    if (wall.ns == 0) {
        hf_json_null(j, key);
        return;
    }
    history_wall_text(wall, text);
    hf_json_str(j, key, text);
}

/* Ages come from the boot clock: setting the wall clock must not make a node look old. */
static void put_since(struct hf_json *j, const struct ctl_shell *shell, const struct history *h,
                      enum hf_subject subject, uint16_t ix)
{
    struct history_since since;

    if (!history_since(h, subject, ix, &since)) {
        hf_json_null(j, "since");
        hf_json_null(j, "since_ms");
        hf_json_bool(j, "since_exact", false);
        return;
    }
    put_wall(j, "since", since.when.wall);
    hf_json_i64(j, "since_ms", hf_time_since_ms(shell->now, since.when.boot));
    hf_json_bool(j, "since_exact", since.is_exact);
}

static void put_why(struct hf_json *j, enum hf_reason why)
{
    hf_json_str(j, "why", hf_reason_name(why));
    hf_json_str(j, "why_text", hf_reason_text(why));
}

static void put_digest(struct hf_json *j, const char *key, const struct hf_digest *digest)
{
    char hex[65];

    hf_digest_hex(digest, hex);
    hf_json_str(j, key, hex);
}

/* ---- the group and this node's daemon ---- */

/* Of the whole state: members at the same epoch and seq say the same, or one of them is wrong. Hex,
 * because a JSON number would lose bits. */
static void put_state_digest(struct hf_json *j, const struct engine *e)
{
    char hex[17];

    (void)snprintf(hex, sizeof hex, "%016llx", (unsigned long long)engine_digest(e));
    hf_json_str(j, "digest", hex);
}

static void put_group(struct hf_json *j, const struct ctl_shell *shell)
{
    hf_json_object(j, "group");
    hf_json_str(j, "name",
                shell->engine != NULL ? engine_group(shell->engine).group->name : shell->group);
    hf_json_str(j, "phase", ctl_phase_name(shell->phase));
    put_text_or_null(j, "phase_why", shell->phase_why);
    put_wall(j, "phase_since", shell->phase_since);
    hf_json_bool(j, "quorate", picture_is_quorate(shell));
    if (shell->engine != NULL) {
        struct hf_group_view view = engine_group(shell->engine);

        hf_json_u64(j, "nodes_count", view.group->nodes_count);
        hf_json_u64(j, "present_count", hf_nodes_count(view.present));
        put_nodes(j, "present", shell->engine, view.present);
        put_nodes(j, "participants", shell->engine, shell->participants);
        hf_json_bool(j, "armed", view.is_armed);
        hf_json_bool(j, "startup_grace", view.in_startup_grace);
        hf_json_bool(j, "storm", view.in_storm);
        hf_json_u64(j, "storm_count", view.storm_count);
        hf_json_u64(j, "skipped", view.skipped);
        hf_json_u64(j, "epoch", view.epoch);
        hf_json_u64(j, "seq", view.seq);
        put_state_digest(j, shell->engine);
        hf_json_object(j, "view");
        hf_json_u64(j, "leader", view.view.leader);
        hf_json_u64(j, "seq", view.view.seq);
        hf_json_end_object(j);
        put_digest(j, "config", &view.group->config);
        hf_json_u64(j, "ruleset", HF_RULESET);
    }
    hf_json_u64(j, "ghosts", shell->ghosts);
    hf_json_end_object(j);
}

static void put_agents(struct hf_json *j, const struct ctl_shell *shell)
{
    hf_json_array(j, "agents");
    for (unsigned kind = 1; kind < HF_AGENT_KINDS; kind++) {
        const struct ctl_agent *agent = &shell->agent[kind];

        if (!agent->is_expected)
            continue;
        hf_json_object(j, NULL);
        hf_json_str(j, "kind", ctl_agent_name((enum hf_agent_kind)kind));
        hf_json_bool(j, "connected", agent->is_connected);
        hf_json_bool(j, "fresh", agent->is_fresh);
        put_wall(j, "since", agent->since);
        put_text_or_null(j, "text", agent->why);
        hf_json_end_object(j);
    }
    hf_json_end_array(j);
}

static void put_link(struct hf_json *j, const struct ctl_link *link)
{
    hf_json_object(j, "link");
    hf_json_bool(j, "connected", link->is_connected);
    put_wall(j, "since", link->since);
    hf_json_bool(j, "fit", link->is_fit);
    put_text_or_null(j, "text", link->why);
    put_text_or_null(j, "corosync", link->version);
    if (link->crypto_known)
        hf_json_bool(j, "crypto", link->crypto_on);
    else
        hf_json_null(j, "crypto");
    hf_json_u64(j, "token_ms", link->token_ms);
    hf_json_u64(j, "consensus_ms", link->consensus_ms);
    if (link->votes_known) {
        hf_json_bool(j, "votequorum_quorate", link->votes_quorate);
        hf_json_u64(j, "votequorum_expected", link->votes_expected);
    } else {
        hf_json_null(j, "votequorum_quorate");
        hf_json_null(j, "votequorum_expected");
    }
    hf_json_array(j, "notes");
    for (unsigned i = 0; i < link->notes_count && i < CTL_LINK_NOTES_MAX; i++)
        hf_json_str(j, NULL, link->notes[i].text);
    hf_json_end_array(j);
    hf_json_end_object(j);
}

static void put_rooms(struct hf_json *j, const struct ctl_shell *shell)
{
    hf_json_array(j, "rooms");
    for (unsigned i = 0; i < HF_ROOMS; i++) {
        const struct ctl_room *room = &shell->room[i];

        if (room->path == NULL || room->room.kib == 0)
            continue;
        hf_json_object(j, NULL);
        hf_json_str(j, "path", room->path);
        hf_json_bool(j, "low", room->room.is_low);
        put_wall(j, "since", room->since);
        hf_json_u64(j, "kib", room->room.kib);
        hf_json_u64(j, "kib_free", room->room.kib_free);
        hf_json_u64(j, "files", room->room.files);
        hf_json_u64(j, "files_free", room->room.files_free);
        hf_json_end_object(j);
    }
    hf_json_end_array(j);
}

static void put_daemon(struct hf_json *j, const struct ctl_shell *shell, const struct history *h)
{
    hf_json_object(j, "daemon");
    hf_json_str(j, "node", shell->node);
    hf_json_str(j, "version", HF_VERSION);
    hf_json_u64(j, "life", history_life(h));
    hf_json_u64(j, "newest_event", history_newest(h));
    hf_json_u64(j, "in_flight", shell->in_flight);
    hf_json_u64(j, "queued", shell->queued);
    put_agents(j, shell);
    put_link(j, &shell->link);
    put_rooms(j, shell);
    hf_json_object(j, "journal");
    hf_json_bool(j, "broken", shell->journal_broken);
    put_wall(j, "since", shell->journal_since);
    hf_json_u64(j, "lost", shell->journal_lost);
    put_text_or_null(j, "text", shell->journal_why);
    hf_json_end_object(j);
    hf_json_object(j, "file");
    hf_json_str(j, "path", shell->file_path);
    hf_json_bool(j, "differs", shell->file_differs);
    hf_json_bool(j, "bad", shell->file_bad);
    put_text_or_null(j, "text", shell->file_why);
    hf_json_end_object(j);
    hf_json_end_object(j);
}

/* ---- one node, one VM ---- */

static unsigned vms_on(const struct engine *e, hf_node node)
{
    unsigned count = 0;

    for (uint16_t i = 0; i < HF_VMS_MAX; i++) {
        struct hf_vm_view vm = engine_vm(e, (hf_vm){i});

        if (vm.is_used && hf_node_same(vm.home, node) && vm.state == HF_VM_RUNNING)
            count++;
    }
    return count;
}

static void put_fencing(struct hf_json *j, const struct engine *e, const struct hf_node_view *node)
{
    if (node->state != HF_NODE_FENCING && node->fence_attempts == 0) {
        hf_json_null(j, "fencing");
        return;
    }
    hf_json_object(j, "fencing");
    put_node(j, "actor", e, node->fence_actor);
    hf_json_u64(j, "level", node->fence_level + 1u);
    hf_json_u64(j, "attempts", node->fence_attempts);
    hf_json_end_object(j);
}

/* ---- how could it be proved dead right now ---- */

static void put_devices(struct hf_json *j, const struct ctl_shell *shell, hf_node node,
                        uint8_t level)
{
    const struct hf_config *config = shell->config;
    const struct hf_fence_level *devices;

    hf_json_array(j, "devices");
    if (config != NULL && level < config->fence[node.ix].levels_count) {
        devices = &config->fence[node.ix].level[level];
        for (uint8_t i = 0; i < devices->devices_count; i++)
            hf_json_str(j, NULL, config->devices[devices->device[i]].name);
    }
    hf_json_end_array(j);
}

/* The group's own verdict, and beside it what this node's test said and how long it took. */
static void put_path(struct hf_json *j, const struct ctl_shell *shell, hf_node node, uint8_t level,
                     enum hf_path path)
{
    const struct ctl_path *own = &shell->path[node.ix][level];

    hf_json_object(j, NULL);
    hf_json_u64(j, "level", level + 1u);
    put_devices(j, shell, node, level);
    hf_json_str(j, "path", hf_path_name(path));
    if (own->tested.ns != 0) {
        hf_json_i64(j, "tested_ms", hf_time_since_ms(shell->now, own->tested));
        hf_json_u64(j, "took_ms", own->took_ms);
        put_text_or_null(j, "text", own->why);
    } else {
        hf_json_null(j, "tested_ms");
        hf_json_null(j, "took_ms");
        hf_json_null(j, "text");
    }
    hf_json_end_object(j);
}

static void put_watchdog(struct hf_json *j, const struct ctl_shell *shell, hf_node ix,
                         const struct hf_node_view *node)
{
    const struct engine *e = shell->engine;
    bool is_own = hf_node_same(engine_node_by_name(e, shell->node), ix);

    hf_json_object(j, "watchdog");
    hf_json_str(j, "state", hf_watchdog_name(node->watchdog.state));
    hf_json_bool(j, "configured", engine_group(e).group->nodes[ix.ix].has_watchdog);
    hf_json_bool(j, "wanted", engine_wants_watchdog(e, ix));
    put_text_or_null(j, "driver", node->watchdog.identity);
    hf_json_u64(j, "timeout_ms", node->watchdog.timeout_ms);
    hf_json_u64(j, "lease_ms", node->watchdog.lease_ms);
    hf_json_u64(j, "feeder", node->watchdog.version);
    hf_json_bool(j, "held", node->watchdog.is_held);
    hf_json_u64(j, "safe_ms", node->safe_ms);
    hf_json_bool(j, "safe_time_runs", node->safe_time_runs);
    put_text_or_null(j, "text", is_own ? shell->watchdog_why : NULL);
    hf_json_end_object(j);
}

static void put_hold(struct hf_json *j, const struct ctl_shell *shell, const struct history *h,
                     const char *name, const struct hf_node_view *node)
{
    int64_t left;

    if (!node->is_held) {
        hf_json_null(j, "hold");
        return;
    }
    hf_json_object(j, "hold");
    hf_json_u64(j, "ms", node->hold_ms);
    if (picture_hold_left(shell, h, name, node, &left))
        hf_json_i64(j, "left_ms", left);
    else
        hf_json_null(j, "left_ms");
    hf_json_end_object(j);
}

static void put_proofs(struct hf_json *j, const struct ctl_shell *shell, const struct history *h,
                       hf_node ix, const struct hf_node_view *node)
{
    const struct hf_node_def *def = &engine_group(shell->engine).group->nodes[ix.ix];

    hf_json_bool(j, "can_be_fenced", node->can_be_fenced);
    hf_json_array(j, "fence_paths");
    for (uint8_t level = 0; level < def->fence_levels && level < HF_FENCE_LEVELS_MAX; level++)
        put_path(j, shell, ix, level, node->path[level]);
    hf_json_end_array(j);
    put_watchdog(j, shell, ix, node);
    put_hold(j, shell, h, def->name, node);
    hf_json_bool(j, "leaving", node->is_leaving);
    hf_json_bool(j, "left", node->has_left);
    hf_json_bool(j, "settling", node->is_settling);
    hf_json_bool(j, "passive", node->is_passive);
    hf_json_u64(j, "returns", node->returns);
}

bool picture_hold_left(const struct ctl_shell *shell, const struct history *h, const char *name,
                       const struct hf_node_view *node, int64_t *left_ms)
{
    for (uint64_t seq = history_newest(h); seq >= 1; seq--) {
        const struct history_record *record = history_at(h, seq);

        if (record == NULL || record->engine_seq < node->hold_seq)
            break;
        if (record->kind != HISTORY_CHANGE || record->why != HF_WHY_HOLD ||
            record->engine_seq != node->hold_seq || strcmp(record->name, name) != 0)
            continue;
        *left_ms = (int64_t)record->detail - hf_time_since_ms(shell->now, record->when.boot);
        return true;
    }
    return false;
}

static void put_node_entry(struct hf_json *j, const char *key, const struct ctl_shell *shell,
                           const struct history *h, hf_node ix)
{
    const struct engine *e = shell->engine;
    const struct hf_node_def *def = &engine_group(e).group->nodes[ix.ix];
    struct hf_node_view node = engine_node(e, ix);
    uint64_t used = (uint64_t)def->reserve_mib + node.promised_mib;

    hf_json_object(j, key);
    hf_json_str(j, "name", def->name);
    hf_json_u64(j, "nodeid", def->nodeid);
    hf_json_str(j, "state", hf_node_state_name(node.state));
    put_since(j, shell, h, HF_SUBJECT_NODE, ix.ix);
    put_why(j, node.why);
    hf_json_str(j, "proof", node.proof != HF_PROOF_NONE ? hf_proof_name(node.proof) : NULL);
    hf_json_bool(j, "present", node.is_present);
    hf_json_bool(j, "maintenance", node.in_maintenance);
    hf_json_bool(j, "vm_watch", node.vm_watch_known);
    hf_json_bool(j, "link_fit", node.link_fit);
    hf_json_bool(j, "config_same", node.config_same);
    hf_json_u64(j, "cores", node.cores);
    hf_json_u64(j, "memory_mib", node.memory_mib);
    hf_json_u64(j, "reserve_mib", def->reserve_mib);
    hf_json_u64(j, "promised_mib", node.promised_mib);
    hf_json_u64(j, "free_mib", node.memory_mib > used ? node.memory_mib - used : 0);
    hf_json_u64(j, "vms_running", vms_on(e, ix));
    hf_json_u64(j, "fence_levels", def->fence_levels);
    put_fencing(j, e, &node);
    put_proofs(j, shell, h, ix, &node);
    fabric_put_node(j, shell, ix);
    if (shell->heard[ix.ix].ns != 0)
        hf_json_i64(j, "heard_ms", hf_time_since_ms(shell->now, shell->heard[ix.ix]));
    else
        hf_json_null(j, "heard_ms");
    hf_json_end_object(j);
}

static void put_placement(struct hf_json *j, const struct engine *e, hf_vm vm)
{
    const struct hf_group *group = engine_group(e).group;
    struct hf_placement place = engine_placement(e, vm);

    hf_json_object(j, "placement");
    put_node(j, "pick", e, place.pick);
    hf_json_u64(j, "need_mib", place.need_mib);
    hf_json_array(j, "nodes");
    for (uint8_t i = 0; i < group->nodes_count; i++) {
        enum hf_rule rule = place.refused[i];

        hf_json_object(j, NULL);
        hf_json_str(j, "name", group->nodes[i].name);
        hf_json_bool(j, "passes", rule == HF_RULE_NONE);
        hf_json_u64(j, "rule", (uint64_t)rule);
        hf_json_str(j, "text", hf_rule_text(rule));
        hf_json_u64(j, "free_mib", place.free_mib[i]);
        hf_json_end_object(j);
    }
    hf_json_end_array(j);
    hf_json_end_object(j);
}

static void put_vm_def(struct hf_json *j, const struct engine *e, const struct hf_vm_def *def)
{
    hf_json_u64(j, "memory_mib", def->memory_mib);
    hf_json_u64(j, "priority", def->priority);
    put_text_or_null(j, "apart", def->apart);
    put_text_or_null(j, "together", def->together);
    put_nodes(j, "allowed", e, def->allowed);
    put_node(j, "preferred", e, def->preferred);
    hf_json_u64(j, "restarts_here", def->restarts_here);
    hf_json_u64(j, "restarts_max", def->restarts_max);
    hf_json_u64(j, "stop_grace_ms", def->stop_grace_ms);
    put_digest(j, "xml", &def->xml);
    hf_json_u64(j, "xml_bytes", def->xml_bytes);
}

static void put_vm_entry(struct hf_json *j, const char *key, const struct ctl_shell *shell,
                         const struct history *h, hf_vm ix)
{
    const struct engine *e = shell->engine;
    struct hf_vm_view vm = engine_vm(e, ix);

    hf_json_object(j, key);
    hf_json_str(j, "name", vm.def->name);
    hf_json_u64(j, "uid", vm.uid);
    hf_json_str(j, "state", hf_vm_state_name(vm.state));
    hf_json_str(j, "desire", hf_desire_name(vm.desire));
    hf_json_str(j, "seen", hf_seen_name(vm.seen));
    put_node(j, "node", e, vm.home);
    put_nodes(j, "possible", e, vm.possible);
    put_since(j, shell, h, HF_SUBJECT_VM, ix.ix);
    put_why(j, vm.why);
    hf_json_u64(j, "start_no", vm.start_no);
    hf_json_u64(j, "failures", vm.failures);
    put_vm_def(j, e, vm.def);
    fabric_put_vm(j, shell, &vm);
    if (vm.state == HF_VM_UNPLACEABLE)
        put_placement(j, e, ix);
    hf_json_end_object(j);
}

/* ---- documents ---- */

static void put_everything(struct hf_json *j, const struct ctl_shell *shell,
                           const struct history *h)
{
    const struct engine *e = shell->engine;

    hf_json_array(j, "nodes");
    for (uint8_t i = 0; e != NULL && i < engine_group(e).group->nodes_count; i++)
        put_node_entry(j, NULL, shell, h, (hf_node){i});
    hf_json_end_array(j);
    hf_json_array(j, "vms");
    for (uint16_t i = 0; e != NULL && i < HF_VMS_MAX; i++)
        if (engine_vm(e, (hf_vm){i}).is_used)
            put_vm_entry(j, NULL, shell, h, (hf_vm){i});
    hf_json_end_array(j);
}

void picture_status(const struct ctl_shell *shell, const struct history *h, struct hf_json *j)
{
    hf_json_object(j, NULL);
    hf_json_u64(j, "version", 1);
    put_wall(j, "now", shell->wall);
    hf_json_str(j, "node", shell->node);
    put_group(j, shell);
    put_daemon(j, shell, h);
    put_everything(j, shell, h);
    fabric_put_flips(j, h);
    needs_put(j, shell, h, NULL);
    hf_json_end_object(j);
}

/* ---- why ---- */

/* What a trail is about. */
struct trail {
    enum hf_subject subject;
    const char *name;
    uint64_t incident; /* 0 = none */
    bool is_nic;       /* of the node: only of its NIC in this fabric */
    hf_fabric fabric;
};

/* The incident that the subject is in, or was in last. */
static uint64_t last_incident(const struct history *h, enum hf_subject subject, const char *name)
{
    for (uint64_t seq = history_newest(h); seq >= 1; seq--) {
        const struct history_record *record = history_at(h, seq);

        if (record == NULL)
            break;
        if (record->incident != 0 && record->subject == subject && strcmp(record->name, name) == 0)
            return record->incident;
    }
    return 0;
}

/* What the node said of it, and flips of its VMs from or to it. */
static bool is_of_nic(const struct history_record *record, const struct trail *trail)
{
    bool is_verdict = record->why >= HF_WHY_PF_UNKNOWN && record->why <= HF_WHY_PF_ABSENT;

    if (record->kind == HISTORY_FLIP)
        return strcmp(record->node, trail->name) == 0 &&
               (record->flip.from == trail->fabric || record->flip.to == trail->fabric);
    return record->kind == HISTORY_CHANGE && record->subject == HF_SUBJECT_NODE && is_verdict &&
           strcmp(record->name, trail->name) == 0 && record->detail / 100 == trail->fabric;
}

/* Its own records; of its last incident also what happened to nodes (for a VM: why it had to move;
 * for a node: which VMs it took down). */
static bool belongs(const struct history_record *record, const struct trail *trail)
{
    if (trail->is_nic)
        return is_of_nic(record, trail);
    if (record->subject == trail->subject && strcmp(record->name, trail->name) == 0)
        return true;
    if (trail->incident == 0 || record->incident != trail->incident)
        return false;
    return trail->subject == HF_SUBJECT_NODE ? record->subject == HF_SUBJECT_VM
                                             : record->subject == HF_SUBJECT_NODE;
}

static void put_trail(struct hf_json *j, const struct history *h, const struct trail *of)
{
    uint64_t trail[PICTURE_TRAIL_MAX];
    unsigned count = 0;

    for (uint64_t seq = history_newest(h); seq >= 1 && count < PICTURE_TRAIL_MAX; seq--) {
        const struct history_record *record = history_at(h, seq);

        if (record == NULL)
            break;
        if (belongs(record, of))
            trail[count++] = seq;
    }
    if (of->incident != 0)
        hf_json_u64(j, "incident", of->incident);
    else
        hf_json_null(j, "incident");
    hf_json_array(j, "trail");
    while (count > 0)
        history_json(history_at(h, trail[--count]), j, NULL);
    hf_json_end_array(j);
}

static void put_why_head(struct hf_json *j, const struct ctl_shell *shell, const char *subject)
{
    hf_json_object(j, NULL);
    hf_json_u64(j, "version", 1);
    put_wall(j, "now", shell->wall);
    hf_json_str(j, "subject", subject);
}

static void put_why_node(struct hf_json *j, const struct ctl_shell *shell, const struct history *h,
                         hf_node node)
{
    const char *name = engine_group(shell->engine).group->nodes[node.ix].name;
    struct trail trail = {.subject = HF_SUBJECT_NODE,
                          .name = name,
                          .incident = last_incident(h, HF_SUBJECT_NODE, name)};

    put_why_head(j, shell, "node");
    put_node_entry(j, "entry", shell, h, node);
    put_trail(j, h, &trail);
    needs_put(j, shell, h, &(struct needs_filter){.subject = HF_SUBJECT_NODE, .name = name});
    hf_json_end_object(j);
}

static void put_why_vm(struct hf_json *j, const struct ctl_shell *shell, const struct history *h,
                       hf_vm vm)
{
    const char *name = engine_vm(shell->engine, vm).def->name;
    struct trail trail = {
        .subject = HF_SUBJECT_VM, .name = name, .incident = last_incident(h, HF_SUBJECT_VM, name)};

    put_why_head(j, shell, "vm");
    put_vm_entry(j, "entry", shell, h, vm);
    put_trail(j, h, &trail);
    put_placement(j, shell->engine, vm);
    needs_put(j, shell, h, &(struct needs_filter){.subject = HF_SUBJECT_VM, .name = name});
    hf_json_end_object(j);
}

static void put_why_nic(struct hf_json *j, const struct ctl_shell *shell, const struct history *h,
                        hf_node node, hf_fabric fabric)
{
    const char *name = engine_group(shell->engine).group->nodes[node.ix].name;
    struct trail trail = {
        .subject = HF_SUBJECT_NODE, .name = name, .is_nic = true, .fabric = fabric};

    put_why_head(j, shell, "nic");
    hf_json_str(j, "node", name);
    fabric_put_pf(j, "entry", shell, node, fabric);
    put_trail(j, h, &trail);
    needs_put(j, shell, h,
              &(struct needs_filter){
                  .subject = HF_SUBJECT_NODE, .name = name, .is_nic = true, .fabric = fabric});
    hf_json_end_object(j);
}

bool picture_why(const struct ctl_shell *shell, const struct history *h,
                 const struct hf_ctl_request *request, struct hf_json *j)
{
    const struct engine *e = shell->engine;
    bool has_node = request->node[0] != '\0', has_vm = request->vm[0] != '\0';
    hf_node node = e != NULL && has_node ? engine_node_by_name(e, request->node) : HF_NO_NODE;
    hf_vm vm = e != NULL && has_vm ? engine_vm_by_name(e, request->vm) : HF_NO_VM;
    hf_fabric fabric = request->fabric;
    bool is_nic = request->is_nic;

    if (is_nic) {
        if (!hf_node_is(node) || (engine_group(e).group->nodes[node.ix].fabrics >> fabric & 1) == 0)
            return false;
    } else if (!hf_node_is(node) && !hf_vm_is(vm)) {
        is_nic = e != NULL && has_node && fabric_find(shell, request->node, &node, &fabric);
        if (!is_nic)
            return false;
    }
    if (is_nic)
        put_why_nic(j, shell, h, node, fabric);
    else if (hf_node_is(node))
        put_why_node(j, shell, h, node);
    else
        put_why_vm(j, shell, h, vm);
    return true;
}
