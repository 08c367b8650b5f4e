#include "supervisord/config/internal.h"

#include <stdio.h>
#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"

const struct config_section config_sections[CONFIG_SECTIONS] = {
    [CONFIG_TOP] = {"", CONFIG_TOP, false, false, "the file"},
    [CONFIG_CLUSTER] = {"cluster", CONFIG_TOP, false, false, "the group as a whole"},
    [CONFIG_TIMING] = {"timing", CONFIG_TOP, false, false, "how long things may take"},
    [CONFIG_WATCHDOG] = {"watchdog", CONFIG_TOP, false, false,
                         "whether and how a node resets itself when it is cut off"},
    [CONFIG_NICS] = {"nics", CONFIG_TOP, false, false,
                     "how network cards are watched and traffic is moved off a dead one"},
    [CONFIG_FABRIC] = {"fabric", CONFIG_TOP, true, false,
                       "one of the two independent networks, a or b"},
    [CONFIG_NODE] = {"node", CONFIG_TOP, true, false, "one host; the order of nodes counts"},
    [CONFIG_DEVICE] = {"fence_device", CONFIG_TOP, true, false,
                       "one plug, BMC or port that can switch one node off"},
    [CONFIG_PARAMS] = {"params", CONFIG_DEVICE, false, true,
                       "what the fence agent is told besides action and credentials"},
};

#define SECOND          1000u
#define MINUTE          (60u * SECOND)
#define HOUR            (60u * MINUTE)
#define DAY             (24u * HOUR)

#define POLICY(field)   offsetof(struct hf_config, group.policy.field)
#define WATCHDOG(field) offsetof(struct hf_config, watchdog.field)
#define NICS(field)     offsetof(struct hf_config, nics.field)
#define FABRIC(field)   offsetof(struct config_fabric, field)
#define IN_NODE(field)  offsetof(struct config_node, field)
#define LEVEL(ix)       (offsetof(struct config_node, level) + (ix) * sizeof(struct config_refs))

/* In canonical order. Defaults go through the same reader as what people write. */
const struct config_key config_keys[] = {
    {CONFIG_CLUSTER, "name", CONFIG_NAME, 1, HF_NAME_MAX, NULL,
     offsetof(struct hf_config, group.name), 0, "name of the group, shown everywhere"},

    /* Below 100 ms a beat would need a timer of its own kind; above 5 s nobody is missed in time.
     */
    {CONFIG_TIMING, "beat", CONFIG_DURATION, 100, 5 * SECOND, "500ms",
     offsetof(struct hf_config, beat_ms), 0, "a member sends one beat so often"},
    {CONFIG_TIMING, "mute_after", CONFIG_DURATION, 300, 1 * MINUTE, "2s",
     offsetof(struct hf_config, mute_after_ms), 0,
     "a member unheard for so long counts as mute; at least 3 beats"},
    {CONFIG_TIMING, "silent_grace", CONFIG_DURATION, 1 * SECOND, 10 * MINUTE, "10s",
     POLICY(silent_grace_ms), 0, "daemon gone, host alive: so long before the node is lost"},
    {CONFIG_TIMING, "startup_grace", CONFIG_DURATION, 1 * SECOND, 1 * HOUR, "60s",
     POLICY(startup_grace_ms), 0, "after a cold start: so long before absent nodes are fenced"},
    /* An unreachable BMC alone costs fence_ipmilan 20 s (its power_timeout). */
    {CONFIG_TIMING, "fence_deadline", CONFIG_DURATION, 5 * SECOND, 10 * MINUTE, "60s",
     POLICY(fence_deadline_ms), 0, "one fence order with all its devices"},
    {CONFIG_TIMING, "start_deadline", CONFIG_DURATION, 5 * SECOND, 1 * HOUR, "60s",
     POLICY(start_deadline_ms), 0, "from the order to start a VM until it is verified"},
    /* Cleaning up one VF can take 5 s: a shorter budget would fence hosts for being slow. */
    {CONFIG_TIMING, "stop_deadline", CONFIG_DURATION, 20 * SECOND, 1 * HOUR, "30s",
     POLICY(stop_deadline_ms), 0, "to prove a VM stopped, on top of its own grace"},
    {CONFIG_TIMING, "stable", CONFIG_DURATION, 1 * SECOND, 1 * DAY, "10min", POLICY(stable_ms), 0,
     "a VM that ran for so long has its failures forgotten"},
    {CONFIG_TIMING, "maintenance_max", CONFIG_DURATION, 1 * MINUTE, 7 * DAY, "4h",
     POLICY(maintenance_max_ms), 0, "a drain ends by itself after this, with an alarm"},
    {CONFIG_TIMING, "fence_retry", CONFIG_DURATIONS, 100, 1 * HOUR, "1s, 2s, 5s, 15s, 30s",
     POLICY(fence_retry_ms), POLICY(fence_retry_count),
     "pauses between attempts to fence; the last one repeats"},
    {CONFIG_TIMING, "restart_backoff", CONFIG_DURATIONS, 0, 1 * HOUR, "0s, 2s, 10s, 30s, 2min",
     POLICY(restart_backoff_ms), POLICY(restart_backoff_count),
     "pauses before a failed VM is started again; the last one repeats"},
    {CONFIG_TIMING, "hold_max", CONFIG_DURATION, 1 * SECOND, 1 * HOUR, "60s", POLICY(hold_max_ms),
     0, "longest announced absence of a node's daemon or corosync; its VMs run on"},
    {CONFIG_TIMING, "settle", CONFIG_DURATION, 1 * SECOND, 1 * HOUR, "10s", POLICY(settle_ms), 0,
     "a node that came back again must stay for so long before it gets VMs"},
    {CONFIG_TIMING, "flap_window", CONFIG_DURATION, 1 * MINUTE, 1 * DAY, "10min",
     POLICY(flap_window_ms), 0, "a node that stayed for so long has its earlier returns forgotten"},
    {CONFIG_TIMING, "returns_max", CONFIG_BYTE, 2, 255, "4", POLICY(returns_max), 0,
     "so many returns in a row, and a node gets no VMs until a person says so"},
    {CONFIG_TIMING, "storm_fences", CONFIG_BYTE, 1, 255, "3", POLICY(storm_fences), 0,
     "nodes fenced within storm_window, then none more without a person"},
    {CONFIG_TIMING, "storm_window", CONFIG_DURATION, 1 * MINUTE, 1 * DAY, "10min",
     POLICY(storm_window_ms), 0, "see storm_fences"},

    {CONFIG_WATCHDOG, "use", CONFIG_YES_NO, 0, 1, "no", WATCHDOG(is_used), 0,
     "yes: nodes with VMs arm a watchdog, and its time proves them dead"},
    {CONFIG_WATCHDOG, "device", CONFIG_DEVICE_PATH, 1, HF_DEVICE_PATH_MAX, "/dev/watchdog",
     WATCHDOG(device), 0, "the watchdog device of every node"},
    /* Longer than a minute nobody waits for; drivers count in seconds. */
    {CONFIG_WATCHDOG, "timeout", CONFIG_SECONDS, 1 * SECOND, 60 * SECOND, "5s",
     WATCHDOG(timeout_ms), 0, "the device resets the node when it is not fed for so long"},
    {CONFIG_WATCHDOG, "lease", CONFIG_DURATION, 1 * SECOND, 30 * SECOND, "4s", WATCHDOG(lease_ms),
     0, "cut off for so long, a node stops its VMs and feeds no more; at least 3 beats"},
    {CONFIG_WATCHDOG, "allow_softdog", CONFIG_YES_NO, 0, 1, "no", WATCHDOG(allow_softdog), 0,
     "take the kernel's own timer, which a hung kernel takes down with it"},
    {CONFIG_WATCHDOG, "safe_time", CONFIG_COMPUTED, 1 * SECOND, 1 * HOUR, "computed",
     POLICY(safe_time_ms), 0, "wait for a lost node's watchdog; never less than computed"},

    /* A read of a counter takes about a microsecond; slower than 100 ms is the guest's own bond. */
    {CONFIG_NICS, "poll", CONFIG_MICROS, 1, 100, "1ms", NICS(poll_us), 0,
     "the carrier counters of the cards are read so often"},
    {CONFIG_NICS, "hold_down", CONFIG_DURATION, 1 * SECOND, 1 * HOUR, "30s", NICS(hold_down_ms), 0,
     "a card that came back is not trusted for so long; doubles when it fails again"},
    {CONFIG_NICS, "hold_down_max", CONFIG_DURATION, 1 * SECOND, 1 * DAY, "10min",
     NICS(hold_down_max_ms), 0, "and never longer than this"},
    /* A dead controller of sfc answers after 10 s: nobody waits for that. */
    {CONFIG_NICS, "flip_deadline", CONFIG_DURATION, 20, 5 * SECOND, "200ms", NICS(flip_deadline_ms),
     0, "one order to a card or a guest; then its outcome is unknown and the next way is tried"},
    {CONFIG_NICS, "leg_move", CONFIG_DURATION, 1 * SECOND, 10 * MINUTE, "5s", POLICY(leg_move_ms),
     0, "both legs of a VM dead here and alive elsewhere for so long: the VM moves"},

    {CONFIG_FABRIC, "bfd_interval", CONFIG_MICROS, 5, 1 * SECOND, "10ms", FABRIC(bfd_interval_us),
     0, "BFD sends and expects a packet so often"},
    {CONFIG_FABRIC, "bfd_multiplier", CONFIG_BYTE, 0, 50, "3", FABRIC(bfd_multiplier), 0,
     "so many missing packets make a peer silent; 0 = no BFD"},
    {CONFIG_FABRIC, "bfd_peer", CONFIG_ADDRESSES, 1, HF_NICS_PEERS_MAX, "", FABRIC(peers), 0,
     "switches or routers that speak BFD, besides the nodes"},

    {CONFIG_NODE, "id", CONFIG_NUMBER, 1, 65535, NULL, IN_NODE(def.nodeid), 0,
     "corosync's nodeid of this host"},
    {CONFIG_NODE, "reserve_memory", CONFIG_MEMORY, 64, 1024 * 1024, "2GiB",
     IN_NODE(def.reserve_mib), 0, "memory never given to VMs"},
    {CONFIG_NODE, "watchdog", CONFIG_YES_NO, 0, 1, "yes", IN_NODE(def.has_watchdog), 0,
     "this node arms its watchdog; counts only with `use: yes` in section watchdog"},
    {CONFIG_NODE, "fence_level_1", CONFIG_DEVICES, 1, HF_FENCE_DEVICES_MAX, "", LEVEL(0), 0,
     "tried first; all devices of a level must read off"},
    {CONFIG_NODE, "fence_level_2", CONFIG_DEVICES, 1, HF_FENCE_DEVICES_MAX, "", LEVEL(1), 0,
     "tried when level 1 fails"},
    {CONFIG_NODE, "fence_level_3", CONFIG_DEVICES, 1, HF_FENCE_DEVICES_MAX, "", LEVEL(2), 0,
     "tried when level 2 fails"},
    {CONFIG_NODE, "fence_level_4", CONFIG_DEVICES, 1, HF_FENCE_DEVICES_MAX, "", LEVEL(3), 0,
     "tried when level 3 fails"},
    {CONFIG_NODE, "nic_a", CONFIG_NIC, 1, HF_IFNAME_MAX, "", IN_NODE(pf[0]), 0,
     "its card in fabric a: interface or PCI address of the physical function"},
    {CONFIG_NODE, "nic_b", CONFIG_NIC, 1, HF_IFNAME_MAX, "", IN_NODE(pf[1]), 0,
     "its card in fabric b; another card, not another port"},
    {CONFIG_NODE, "address_a", CONFIG_ADDRESS, 1, HF_ADDRESS_MAX, "", IN_NODE(address[0]), 0,
     "address on nic_a from which BFD speaks; on every node or on none"},
    {CONFIG_NODE, "address_b", CONFIG_ADDRESS, 1, HF_ADDRESS_MAX, "", IN_NODE(address[1]), 0,
     "address on nic_b from which BFD speaks"},

    {CONFIG_DEVICE, "agent", CONFIG_AGENT, 1, HF_NAME_MAX, NULL,
     offsetof(struct hf_fence_device, agent), 0, "the fence agent's program, fence_..."},
    {CONFIG_DEVICE, "credentials", CONFIG_NAME, 1, HF_NAME_MAX, "",
     offsetof(struct hf_fence_device, credentials), 0,
     "file below /etc/holdfast/fence.d with user and password"},
};
const size_t config_keys_count = sizeof config_keys / sizeof config_keys[0];

_Static_assert(HF_FENCE_LEVELS_MAX == 4, "one fence_level key per level");
_Static_assert(HF_FABRICS_MAX == 2, "one nic and one address key per fabric");

const struct config_key *config_key_find(enum config_section_id section, const char *name)
{
    for (size_t i = 0; i < config_keys_count; i++)
        if (config_keys[i].section == section && strcmp(config_keys[i].name, name) == 0)
            return &config_keys[i];
    return NULL;
}

enum config_section_id config_section_find(const char *name)
{
    for (int i = CONFIG_TOP + 1; i < CONFIG_SECTIONS; i++)
        if (strcmp(config_sections[i].name, name) == 0)
            return (enum config_section_id)i;
    return CONFIG_TOP;
}

unsigned config_key_slot(const struct config_key *key)
{
    unsigned slot = 0;

    for (const struct config_key *k = config_keys; k != key; k++)
        if (k->section == key->section)
            slot++;
    HF_ASSERT(slot < CONFIG_KEYS_MAX);
    return slot;
}

/* Keep the nearer of two candidates. Two edits at most, and fewer than the word has letters: a hint
 * that is a guess misleads. */
static void consider(const char *candidate, const char *word, const char **best, unsigned *distance)
{
    unsigned d = hf_str_distance(candidate, word);

    if (d <= 2 && d < strlen(word) && (*best == NULL || d < *distance)) {
        *best = candidate;
        *distance = d;
    }
}

const char *config_nearest_key(enum config_section_id section, const char *word)
{
    const char *best = NULL;
    unsigned distance = 0;

    for (size_t i = 0; i < config_keys_count; i++)
        if (config_keys[i].section == section)
            consider(config_keys[i].name, word, &best, &distance);
    return best;
}

const char *config_nearest_section(enum config_section_id parent, const char *word)
{
    const char *best = NULL;
    unsigned distance = 0;

    for (int i = CONFIG_TOP + 1; i < CONFIG_SECTIONS; i++)
        if (config_sections[i].parent == parent)
            consider(config_sections[i].name, word, &best, &distance);
    return best;
}

static void append_word(char *out, size_t cap, const char *word)
{
    size_t len = strlen(out);

    if (len + strlen(word) + 2 < cap)
        (void)snprintf(out + len, cap - len, "%s%s", len > 0 ? ", " : "", word);
}

void config_known_words(enum config_section_id section, char *out, size_t cap)
{
    out[0] = '\0';
    for (size_t i = 0; i < config_keys_count; i++)
        if (config_keys[i].section == section)
            append_word(out, cap, config_keys[i].name);
    for (int i = CONFIG_TOP + 1; i < CONFIG_SECTIONS; i++)
        if (config_sections[i].parent == section)
            append_word(out, cap, config_sections[i].name);
}
