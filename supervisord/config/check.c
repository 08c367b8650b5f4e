#include "supervisord/config/internal.h"

#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"

/* The number of nodes may be even. Nothing is less safe for it: decisions need a majority of the
 * configured nodes whatever their number. It only buys nothing: of four nodes one may be lost, as
 * of three, and of two none, as of one. Refusing it would forbid growing from three to five. */

static bool is_given(struct config_place place)
{
    return place.line != 0;
}

static unsigned slot_of(enum config_section_id section, const char *name)
{
    const struct config_key *key = config_key_find(section, name);

    HF_ASSERT(key != NULL);
    return config_key_slot(key);
}

static enum hf_code check_whole(const struct config_draft *draft, struct hf_err *err)
{
    const struct config_place top = {1, 1};

    if (!is_given(draft->cluster))
        return config_fail(draft, top, err, "section 'cluster' is missing");
    if (draft->config->group.nodes_count == 0)
        return config_fail(draft, top, err, "section 'node NAME' is missing: a group has 1 to %d",
                           HF_NODES_MAX);
    return HF_OK;
}

/* A grace that ends before a burst of lost beats does would shoot a healthy host (found by the
 * simulator with a beat of 5 s, a grace of 3 s and one message in a hundred lost). */
static enum hf_code check_grace(const struct config_draft *draft, struct hf_err *err)
{
    const struct hf_config *config = draft->config;
    struct config_place grace = draft->timing_given[slot_of(CONFIG_TIMING, "silent_grace")];
    struct config_place mute = draft->timing_given[slot_of(CONFIG_TIMING, "mute_after")];
    char grace_text[24], mute_text[24];

    if (config->group.policy.silent_grace_ms >= 2 * config->mute_after_ms)
        return HF_OK;
    hf_str_from_ms(config->group.policy.silent_grace_ms, grace_text);
    hf_str_from_ms(config->mute_after_ms, mute_text);
    return config_fail(draft, is_given(grace) ? grace : mute, err,
                       "'silent_grace' is %s with a 'mute_after' of %s: at least twice that, or a "
                       "few lost messages cost a host",
                       grace_text, mute_text);
}

static enum hf_code check_timing(const struct config_draft *draft, struct hf_err *err)
{
    const struct hf_config *config = draft->config;
    struct config_place mute = draft->timing_given[slot_of(CONFIG_TIMING, "mute_after")];
    struct config_place beat = draft->timing_given[slot_of(CONFIG_TIMING, "beat")];
    char beat_text[24], mute_text[24];

    if (config->mute_after_ms >= CONFIG_BEATS_MUTE * config->beat_ms)
        return check_grace(draft, err);
    hf_str_from_ms(config->beat_ms, beat_text);
    hf_str_from_ms(config->mute_after_ms, mute_text);
    return config_fail(draft, is_given(mute) ? mute : beat, err,
                       "'mute_after' is %s with a 'beat' of %s: at least %d beats, or one lost "
                       "message makes a member mute",
                       mute_text, beat_text, CONFIG_BEATS_MUTE);
}

/* ---- the watchdog ---- */

/* Waiting less than it takes a watchdog to fire means starting a VM that still runs elsewhere. */
static enum hf_code check_safe_time(const struct config_draft *draft, struct hf_err *err)
{
    const struct hf_config *config = draft->config;
    const struct hf_watchdog_conf *w = &config->watchdog;
    uint32_t wanted = config->group.policy.safe_time_ms;
    uint32_t least = hf_safe_time_ms(w->lease_ms, w->timeout_ms);
    char wanted_text[24], least_text[24], lease_text[24], timeout_text[24];

    if (wanted == 0 || wanted >= least)
        return HF_OK;
    hf_str_from_ms(wanted, wanted_text);
    hf_str_from_ms(least, least_text);
    hf_str_from_ms(w->lease_ms, lease_text);
    hf_str_from_ms(w->timeout_ms, timeout_text);
    return config_fail(draft, draft->watchdog_given[slot_of(CONFIG_WATCHDOG, "safe_time")], err,
                       "safe_time %s: lease %s + 2 x timeout %s + 1 %% + 1s = %s at least",
                       wanted_text, lease_text, timeout_text, least_text);
}

static enum hf_code check_watchdog(const struct config_draft *draft, struct hf_err *err)
{
    const struct hf_config *config = draft->config;
    struct config_place lease = draft->watchdog_given[slot_of(CONFIG_WATCHDOG, "lease")];
    struct config_place use = draft->watchdog_given[slot_of(CONFIG_WATCHDOG, "use")];
    char lease_text[24], beat_text[24];

    /* Without a watchdog the lease does nothing: a slow beat is then nobody's mistake. */
    if (!config->watchdog.is_used ||
        config->watchdog.lease_ms >= CONFIG_BEATS_LEASE * config->beat_ms)
        return check_safe_time(draft, err);
    hf_str_from_ms(config->watchdog.lease_ms, lease_text);
    hf_str_from_ms(config->beat_ms, beat_text);
    return config_fail(draft, is_given(lease) ? lease : use, err,
                       "'lease' is %s with a 'beat' of %s: at least %d beats, or one lost message "
                       "stops a node's VMs",
                       lease_text, beat_text, CONFIG_BEATS_LEASE);
}

/* What is written stays in watchdog.nodes, for printing; the engine gets what counts. */
static void resolve_watchdog(const struct config_draft *draft)
{
    struct hf_config *config = draft->config;

    for (uint8_t i = 0; i < config->group.nodes_count; i++) {
        struct hf_node_def *def = &config->group.nodes[i];

        if (def->has_watchdog)
            config->watchdog.nodes |= hf_bit((hf_node){i});
        def->has_watchdog = def->has_watchdog && config->watchdog.is_used;
    }
}

static enum hf_code check_ids(const struct config_draft *draft, struct hf_err *err)
{
    unsigned id = slot_of(CONFIG_NODE, "id");

    for (unsigned i = 0; i < draft->config->group.nodes_count; i++)
        for (unsigned j = 0; j < i; j++)
            if (draft->node[i].def.nodeid == draft->node[j].def.nodeid)
                return config_fail(draft, draft->node[i].given[id], err,
                                   "id %u is already that of node '%s', line %u",
                                   (unsigned)draft->node[i].def.nodeid, draft->node[j].def.name,
                                   (unsigned)draft->node[j].given[id].line);
    return HF_OK;
}

/* ---- devices ---- */

/* By name, so that their order in the file does not make another configuration. */
static void sort_devices(struct config_draft *draft)
{
    struct hf_fence_device *devices = draft->config->devices;

    for (unsigned i = 1; i < draft->config->devices_count; i++) {
        struct hf_fence_device device = devices[i];
        struct config_place place = draft->device[i];
        unsigned at = i;

        for (; at > 0 && strcmp(devices[at - 1].name, device.name) > 0; at--) {
            devices[at] = devices[at - 1];
            draft->device[at] = draft->device[at - 1];
        }
        devices[at] = device;
        draft->device[at] = place;
    }
}

static bool is_same_plug(const struct hf_fence_device *a, const struct hf_fence_device *b)
{
    if (strcmp(a->agent, b->agent) != 0 || a->params_count != b->params_count)
        return false;
    for (unsigned i = 0; i < a->params_count; i++)
        if (strcmp(a->params[i].key, b->params[i].key) != 0 ||
            strcmp(a->params[i].value, b->params[i].value) != 0)
            return false;
    return true;
}

static enum hf_code check_agent(const struct config_draft *draft, unsigned ix, struct hf_err *err)
{
    struct hf_fence_device *device = &draft->config->devices[ix];
    struct config_place place = draft->device[ix];

    if (strcmp(device->agent, "fence_redfish") == 0 &&
        config_param_find(device, "systems_uri") == NULL)
        return config_fail(draft, place, err,
                           "fence_device '%s' has no parameter 'systems_uri': fence_redfish would "
                           "switch off whichever system its controller lists last",
                           device->name);
    /* IPMI 1.5, the agent's own default, sends the session in the clear and most BMCs refuse it. */
    if (strcmp(device->agent, "fence_ipmilan") == 0 && config_param_find(device, "lanplus") == NULL)
        return config_param_add(draft, device, "lanplus", "1", place, place, err);
    return HF_OK;
}

static enum hf_code check_devices(const struct config_draft *draft, struct hf_err *err)
{
    const struct hf_config *config = draft->config;

    for (unsigned i = 0; i < config->devices_count; i++) {
        if (check_agent(draft, i, err) != HF_OK)
            return err->code;
        for (unsigned j = 0; j < i; j++)
            if (is_same_plug(&config->devices[i], &config->devices[j]))
                return config_fail(draft, draft->device[i], err,
                                   "fence_device '%s' has the same agent and parameters as '%s', "
                                   "line %u: it would switch off the same node",
                                   config->devices[i].name, config->devices[j].name,
                                   (unsigned)draft->device[j].line);
    }
    return HF_OK;
}

/* ---- who is fenced by what ---- */

static enum hf_code fail_unknown_device(const struct config_draft *draft, const char *name,
                                        struct config_place place, struct hf_err *err)
{
    const char *near = NULL;
    unsigned best = 3; /* two edits at most, as for keys */

    for (unsigned i = 0; i < draft->config->devices_count; i++) {
        unsigned distance = hf_str_distance(draft->config->devices[i].name, name);

        if (distance < best && distance < strlen(name)) {
            best = distance;
            near = draft->config->devices[i].name;
        }
    }
    if (near != NULL)
        return config_fail(draft, place, err, "there is no fence_device '%s' (did you mean '%s'?)",
                           name, near);
    return config_fail(draft, place, err, "there is no fence_device '%s'", name);
}

/* used[ix]: where device ix was first named. */
static enum hf_code resolve(const struct config_draft *draft, const struct config_refs *refs,
                            struct hf_fence_level *level, struct config_place used[HF_DEVICES_MAX],
                            struct hf_err *err)
{
    const struct hf_config *config = draft->config;

    for (unsigned i = 0; i < refs->count; i++) {
        unsigned ix = 0;

        while (ix < config->devices_count && strcmp(config->devices[ix].name, refs->name[i]) != 0)
            ix++;
        if (ix == config->devices_count)
            return fail_unknown_device(draft, refs->name[i], refs->place[i], err);
        if (is_given(used[ix]))
            return config_fail(draft, refs->place[i], err,
                               "fence_device '%s' is used twice, first at line %u: a device "
                               "switches off one node",
                               refs->name[i], (unsigned)used[ix].line);
        used[ix] = refs->place[i];
        level->device[i] = (uint8_t)ix;
    }
    level->devices_count = refs->count;
    return HF_OK;
}

static enum hf_code resolve_node(const struct config_draft *draft, const struct config_node *node,
                                 struct hf_fence_plan *plan,
                                 struct config_place used[HF_DEVICES_MAX], struct hf_err *err)
{
    unsigned first = slot_of(CONFIG_NODE, "fence_level_1");

    for (unsigned i = 0; i < HF_FENCE_LEVELS_MAX; i++) {
        if (node->level[i].count == 0)
            continue;
        if (plan->levels_count != i)
            return config_fail(draft, node->given[first + i], err,
                               "'fence_level_%u' without 'fence_level_%u'", i + 1, i);
        if (resolve(draft, &node->level[i], &plan->level[i], used, err) != HF_OK)
            return err->code;
        plan->levels_count++;
    }
    return HF_OK;
}

static enum hf_code resolve_all(const struct config_draft *draft, struct hf_err *err)
{
    struct hf_config *config = draft->config;
    struct config_place used[HF_DEVICES_MAX] = {{0, 0}};

    for (unsigned i = 0; i < config->group.nodes_count; i++) {
        if (resolve_node(draft, &draft->node[i], &config->fence[i], used, err) != HF_OK)
            return err->code;
        memcpy(&config->group.nodes[i], &draft->node[i].def, sizeof config->group.nodes[i]);
        config->group.nodes[i].fence_levels = config->fence[i].levels_count;
    }
    for (unsigned i = 0; i < config->devices_count; i++)
        if (!is_given(used[i]))
            return config_fail(draft, draft->device[i], err, "fence_device '%s' is used by no node",
                               config->devices[i].name);
    return HF_OK;
}

enum hf_code config_check(struct config_draft *draft, struct hf_err *err)
{
    if (check_whole(draft, err) != HF_OK || check_timing(draft, err) != HF_OK ||
        check_watchdog(draft, err) != HF_OK || check_ids(draft, err) != HF_OK)
        return err->code;
    sort_devices(draft);
    if (check_devices(draft, err) != HF_OK || resolve_all(draft, err) != HF_OK)
        return err->code;
    resolve_watchdog(draft);
    return config_nics_check(draft, err);
}

bool config_can_prove_dead(const struct hf_config *config, hf_node node)
{
    const struct hf_node_def *def = &config->group.nodes[node.ix];

    HF_ASSERT(node.ix < config->group.nodes_count);
    return def->fence_levels > 0 || def->has_watchdog;
}
