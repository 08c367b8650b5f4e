#include "supervisord/model/names.h"

#include <stddef.h>

/* Tables have no size of their own: the highest value given sets it, so a value added to an enum
 * and forgotten here breaks the build at the end of the enum, and the test in the middle. */
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *pick(const char *const *table, size_t count, size_t ix)
{
    return ix < count && table[ix] != NULL ? table[ix] : "?";
}

static const char *const node_states[] = {
    [HF_NODE_ABSENT] = "absent", [HF_NODE_JOINING] = "joining", [HF_NODE_MEMBER] = "member",
    [HF_NODE_SILENT] = "silent", [HF_NODE_LOST] = "lost",       [HF_NODE_FENCING] = "fencing",
    [HF_NODE_DEAD] = "dead",
};
_Static_assert(COUNT(node_states) == HF_NODE_STATES, "every node state has a name");

static const char *const proofs[] = {
    [HF_PROOF_NONE] = "no proof",
    [HF_PROOF_FENCE] = "fence device reads off",
    [HF_PROOF_REJOIN] = "came back under a new boot id",
    [HF_PROOF_OPERATOR] = "operator's word",
    [HF_PROOF_WATCHDOG] = "watchdog time is over",
};
_Static_assert(COUNT(proofs) == HF_PROOFS, "every proof has a name");

static const char *const watchdogs[] = {
    [HF_WD_UNKNOWN] = "unknown",    [HF_WD_UNUSED] = "unused", [HF_WD_DISARMED] = "disarmed",
    [HF_WD_ARMED] = "armed",        [HF_WD_ABSENT] = "absent", [HF_WD_BUSY] = "busy",
    [HF_WD_SOFT] = "only software", [HF_WD_BROKEN] = "broken",
};
_Static_assert(COUNT(watchdogs) == HF_WATCHDOGS, "every state of a watchdog has a name");

static const char *const paths[] = {
    [HF_PATH_UNKNOWN] = "unknown",         [HF_PATH_OK] = "ok",
    [HF_PATH_UNREACHABLE] = "unreachable", [HF_PATH_DENIED] = "denied",
    [HF_PATH_WRONG_HOST] = "wrong host",   [HF_PATH_BROKEN] = "broken",
};
_Static_assert(COUNT(paths) == HF_PATHS, "every result of a fence path's test has a name");

static const char *const vm_states[] = {
    [HF_VM_STOPPED] = "stopped",         [HF_VM_WAITING] = "waiting for proof",
    [HF_VM_PLACING] = "placing",         [HF_VM_STARTING] = "starting",
    [HF_VM_RUNNING] = "running",         [HF_VM_STOPPING] = "stopping",
    [HF_VM_UNPLACEABLE] = "unplaceable", [HF_VM_HELD] = "held",
    [HF_VM_FAILED] = "failed",
};
_Static_assert(COUNT(vm_states) == HF_VM_STATES, "every VM state has a name");

static const char *const desires[] = {
    [HF_WANT_STOPPED] = "stopped",
    [HF_WANT_RUNNING] = "running",
};
_Static_assert(COUNT(desires) == HF_DESIRES, "every desire has a name");

static const char *const seens[] = {
    [HF_SEEN_UNKNOWN] = "unknown",    [HF_SEEN_RUNNING] = "running",
    [HF_SEEN_CRASHED] = "crashed",    [HF_SEEN_DESTROYED] = "destroyed",
    [HF_SEEN_SHUTDOWN] = "shut down",
};
_Static_assert(COUNT(seens) == HF_SEENS, "everything seen has a name");

static const char *const outcomes[] = {
    [HF_OUT_DONE] = "done",
    [HF_OUT_REFUSED] = "refused",
    [HF_OUT_GAVE_UP] = "gave up",
};
_Static_assert(COUNT(outcomes) == HF_OUTCOMES, "every outcome has a name");

static const char *const subjects[] = {
    [HF_SUBJECT_GROUP] = "group",
    [HF_SUBJECT_NODE] = "node",
    [HF_SUBJECT_VM] = "vm",
};
_Static_assert(COUNT(subjects) == HF_SUBJECTS, "every subject has a name");

static const char *const node_events[] = {
    [HF_NE_JOIN] = "joins",
    [HF_NE_RESTARTED] = "its daemon restarted",
    [HF_NE_READY] = "inventory complete",
    [HF_NE_PROC_LEFT] = "its daemon left",
    [HF_NE_NODE_LEFT] = "its host left",
    [HF_NE_MUTE] = "beats stop",
    [HF_NE_HEARD] = "beats return",
    [HF_NE_GRACE_OVER] = "grace is over",
    [HF_NE_FENCE] = "fence ordered",
    [HF_NE_FENCE_FAILED] = "fence failed",
    [HF_NE_PROOF] = "proved dead",
    [HF_NE_CALLED_OFF] = "fencing called off",
    [HF_NE_LEAVE] = "leaves in order",
};
_Static_assert(COUNT(node_events) == HF_NODE_EVENTS, "every node event has a name");

static const char *const vm_events[] = {
    [HF_VE_WANT_RUN] = "wanted running",
    [HF_VE_WANT_STOP] = "wanted stopped",
    [HF_VE_MOVE] = "wanted elsewhere",
    [HF_VE_HOME_LOST] = "home lost",
    [HF_VE_CLEARED] = "proved to run nowhere",
    [HF_VE_PLACED] = "placed",
    [HF_VE_NO_PLACE] = "no place",
    [HF_VE_STARTED] = "started",
    [HF_VE_START_REFUSED] = "start refused",
    [HF_VE_START_UNKNOWN] = "start unknown",
    [HF_VE_SEEN_RUNNING] = "seen running",
    [HF_VE_SEEN_CRASHED] = "seen crashed",
    [HF_VE_SEEN_ENDED] = "seen ended on purpose",
    [HF_VE_STOPPED] = "stopped",
    [HF_VE_STOP_UNPROVED] = "stop not proved",
    [HF_VE_TIMER] = "timer",
    [HF_VE_NO_LEG] = "no leg alive here",
};
_Static_assert(COUNT(vm_events) == HF_VM_EVENTS, "every VM event has a name");

const char *hf_node_state_name(enum hf_node_state s)
{
    return pick(node_states, COUNT(node_states), (size_t)s);
}

const char *hf_proof_name(enum hf_proof p)
{
    return pick(proofs, COUNT(proofs), (size_t)p);
}

const char *hf_watchdog_name(enum hf_watchdog w)
{
    return pick(watchdogs, COUNT(watchdogs), (size_t)w);
}

const char *hf_path_name(enum hf_path p)
{
    return pick(paths, COUNT(paths), (size_t)p);
}

const char *hf_vm_state_name(enum hf_vm_state s)
{
    return pick(vm_states, COUNT(vm_states), (size_t)s);
}

const char *hf_desire_name(enum hf_desire d)
{
    return pick(desires, COUNT(desires), (size_t)d);
}

const char *hf_seen_name(enum hf_seen s)
{
    return pick(seens, COUNT(seens), (size_t)s);
}

const char *hf_outcome_name(enum hf_outcome o)
{
    return pick(outcomes, COUNT(outcomes), (size_t)o);
}

const char *hf_subject_name(enum hf_subject s)
{
    return pick(subjects, COUNT(subjects), (size_t)s);
}

const char *hf_node_event_name(enum hf_node_event e)
{
    return pick(node_events, COUNT(node_events), (size_t)e);
}

const char *hf_vm_event_name(enum hf_vm_event e)
{
    return pick(vm_events, COUNT(vm_events), (size_t)e);
}

/* Read after "n2 lost: " or "trade1 waiting for proof: ": lower case, no full stop, "it" is the
 * subject of the line, and never a second ": ". Keys are stable: scripts and alert rules use them.
 */
struct reason {
    const char *key;
    const char *text;
};

static const struct reason reasons[] = {
    [HF_WHY_NONE] = {"none", "no reason given"},

    [HF_WHY_JOINED] = {"joined", "it joined the group"},
    [HF_WHY_DAEMON_RESTARTED] = {"daemon-restarted", "its daemon restarted, its host did not"},
    [HF_WHY_INVENTORY_COMPLETE] = {"inventory-complete", "it has told which VMs run there"},
    [HF_WHY_DAEMON_GONE] = {"daemon-gone", "its daemon is gone, its host is still in the ring"},
    [HF_WHY_LEFT_RING] = {"left-ring", "its host left the ring without proof of death"},
    [HF_WHY_MUTE] = {"mute", "its daemon is in the group but has stopped beating"},
    [HF_WHY_HEARD_AGAIN] = {"heard-again", "it beats again"},
    [HF_WHY_GRACE_OVER] = {"grace-over", "its daemon did not come back within the grace time"},
    [HF_WHY_FENCE_ORDERED] = {"fence-ordered", "its death must be proved before VMs move"},
    [HF_WHY_FENCE_FAILED] = {"fence-failed", "no fence device could prove it off, will try again"},
    [HF_WHY_FENCE_TAKEOVER] = {"fence-takeover", "the node that was fencing it is gone, "
                                                 "another one takes over"},
    [HF_WHY_FENCE_DEADLINE] = {"fence-deadline", "fencing it did not end within the deadline"},
    [HF_WHY_FENCE_CALLED_OFF] = {"fence-called-off", "its death is not needed any more"},
    [HF_WHY_PROOF_FENCE] = {"proof-fence", "its fence device reads off"},
    [HF_WHY_PROOF_REJOIN] = {"proof-rejoin", "it came back under a new boot id"},
    [HF_WHY_PROOF_OPERATOR] = {"proof-operator", "an operator confirmed that it is off"},
    [HF_WHY_PROOF_WATCHDOG] = {"proof-watchdog", "its attested watchdog must have fired by now"},
    [HF_WHY_READS_OFF] = {"reads-off", "its fence devices read off; its host is still in the ring"},
    [HF_WHY_HEARD_AFTER_PROOF] = {"heard-after-proof", "it is heard although it was proved dead, "
                                                       "check its fence device"},
    [HF_WHY_ESCALATED] = {"escalated", "a VM there cannot be proved stopped, so the host must go"},
    [HF_WHY_DRAINED] = {"drained", "an operator put it into maintenance"},
    [HF_WHY_UNDRAINED] = {"undrained", "an operator ended its maintenance"},
    [HF_WHY_MAINTENANCE_EXPIRED] = {"maintenance-expired", "its maintenance lasted longer than "
                                                           "allowed and was ended"},
    [HF_WHY_SAFE_TIME] = {"safe-time", "the wait has begun after which its watchdog must have "
                                       "fired"},
    [HF_WHY_ATTESTED] = {"attested", "its watchdog is armed"},
    [HF_WHY_NOT_ATTESTED] = {"not-attested", "its watchdog is not armed, so time cannot prove it "
                                             "dead"},
    [HF_WHY_PATH_OK] = {"path-ok", "a fence level passed its self-test"},
    [HF_WHY_PATH_FAILED] = {"path-failed", "a fence level failed its self-test"},
    [HF_WHY_CANNOT_FENCE] = {"cannot-fence", "nothing is left that could prove it dead but a "
                                             "person's word"},
    [HF_WHY_CAN_FENCE] = {"can-fence", "it can be proved dead again"},
    [HF_WHY_HOLD] = {"hold", "an operator announced that it is away for a while, its VMs run on"},
    [HF_WHY_HOLD_OVER] = {"hold-over", "its announced absence is over"},
    [HF_WHY_LEAVING] = {"leaving", "an operator will switch it off, its VMs go elsewhere"},
    [HF_WHY_LEFT_IN_ORDER] = {"left-in-order", "it left with notice, and empty"},
    [HF_WHY_SETTLING] = {"settling", "it came back again and again, it must stay before it gets "
                                     "VMs"},
    [HF_WHY_SETTLED] = {"settled", "it has stayed long enough to get VMs"},
    [HF_WHY_PASSIVE] = {"passive", "it came back too often, it gets no VM until an operator says "
                                   "so"},
    [HF_WHY_POWER_ON] = {"power-on", "an operator had it switched on again"},
    [HF_WHY_POWER_ON_FAILED] = {"power-on-failed", "it could not be switched on again"},
    [HF_WHY_PF_UNKNOWN] = {"pf-unknown",
                           "nobody can say what a NIC of it is worth, nothing follows "
                           "from that"},
    [HF_WHY_PF_UP] = {"pf-up", "a NIC of it carries"},
    [HF_WHY_PF_SUSPECT] = {"pf-suspect", "something is wrong with a NIC of it, it still carries"},
    [HF_WHY_PF_DOWN] = {"pf-down", "a NIC of it carries nothing, its legs are flipped away"},
    [HF_WHY_PF_HOLD] = {"pf-hold", "a NIC of it came back and is held down for a while"},
    [HF_WHY_PF_ABSENT] = {"pf-absent", "a NIC that is configured for it is not there"},

    [HF_WHY_FORMED] = {"formed", "a majority formed the group"},
    [HF_WHY_VIEW] = {"view", "the members changed"},
    [HF_WHY_COLD_START] = {"cold-start", "the group started from disk, no member was running"},
    [HF_WHY_STARTUP_GRACE_OVER] = {"startup-grace-over", "it did not join within the start-up "
                                                         "grace"},
    [HF_WHY_ARMED] = {"armed", "an operator armed recovery"},
    [HF_WHY_DISARMED] = {"disarmed", "recovery is disarmed"},
    [HF_WHY_STORM] = {"storm", "too many nodes were fenced in a short time, a person must decide"},
    [HF_WHY_STORM_OVER] = {"storm-over", "an operator allowed fencing again"},
    [HF_WHY_SKIPPED] = {"skipped", "an event could not be digested, it was skipped and recovery is "
                                   "disarmed"},

    [HF_WHY_ADDED] = {"added", "an operator added it"},
    [HF_WHY_REMOVED] = {"removed", "an operator removed it"},
    [HF_WHY_OPERATOR_START] = {"operator-start", "an operator started it"},
    [HF_WHY_OPERATOR_STOP] = {"operator-stop", "an operator stopped it"},
    [HF_WHY_OPERATOR_MOVE] = {"operator-move", "an operator moved it"},
    [HF_WHY_DRAIN_MOVE] = {"drain-move", "its node is going into maintenance"},
    [HF_WHY_HOST_LOST] = {"host-lost", "its host left the ring and may still run it"},
    [HF_WHY_LAST_INSTANT] = {"last-instant", "a lost node may have been told to start it in its "
                                             "last instant"},
    [HF_WHY_PROVED_NOWHERE] = {"proved-nowhere", "it is proved to run nowhere"},
    [HF_WHY_PLACED] = {"placed", "a node was chosen for it"},
    [HF_WHY_NO_NODE] = {"no-node", "no node passes the placement rules"},
    [HF_WHY_STARTED] = {"started", "it was started and verified"},
    [HF_WHY_START_REFUSED] = {"start-refused", "its start failed and left nothing running"},
    [HF_WHY_START_DEADLINE] = {"start-deadline", "its start was not confirmed within the deadline"},
    [HF_WHY_CRASHED] = {"crashed", "its qemu ended and nobody asked for that"},
    [HF_WHY_ENDED_BY_HAND] = {"ended-by-hand", "somebody destroyed it outside Holdfast"},
    [HF_WHY_ENDED_BY_GUEST] = {"ended-by-guest", "the guest shut itself down"},
    [HF_WHY_STARTED_BY_HAND] = {"started-by-hand", "somebody started it outside Holdfast"},
    [HF_WHY_FOUND_RUNNING] = {"found-running", "it was found running when its node reported"},
    [HF_WHY_STOPPED] = {"stopped", "its stop is proved"},
    [HF_WHY_STOP_UNPROVED] = {"stop-unproved", "its stop could not be proved"},
    [HF_WHY_STRAY] = {"stray", "it ran where it must not and was ordered off there"},
    [HF_WHY_STABLE] = {"stable", "it ran long enough to forget its failures"},
    [HF_WHY_BACKOFF_OVER] = {"backoff-over", "its pause after a failure is over"},
    [HF_WHY_RESTART_LIMIT] = {"restart-limit", "it failed more often than its limit, a person must "
                                               "decide"},
    [HF_WHY_WATCH_UNKNOWN] = {"watch-unknown", "its node cannot say whether it runs, it is left "
                                               "alone"},
    [HF_WHY_WATCH_KNOWN] = {"watch-known", "its node can see its VMs again"},
    [HF_WHY_PLACED_DEGRADED] = {"placed-degraded", "a node was chosen for it, nowhere are all its "
                                                   "legs alive"},
    [HF_WHY_DEGRADED] = {"degraded", "not every leg of it carries, it runs on"},
    [HF_WHY_LEGS_WHOLE] = {"legs-whole", "every leg of it carries again"},
    [HF_WHY_NO_LEG] = {"no-leg", "no leg of it carries here, it is moved unless one comes back"},
    [HF_WHY_LEGS_MOVE] = {"legs-move", "no leg of it carries here, and one would elsewhere"},
    [HF_WHY_FABRIC_DOWN] = {"fabric-down", "no leg of it carries, and no other node sees its "
                                           "fabrics either, it stays"},

    [HF_WHY_STALE_TOKEN] = {"stale-token", "that order or timer is no longer wanted"},
    [HF_WHY_STALE_INCARNATION] = {"stale-incarnation", "that word stems from an earlier life of "
                                                       "the sender"},
    [HF_WHY_NOT_MAJORITY] = {"not-majority", "fewer than a majority of the nodes are present"},
    [HF_WHY_NOT_PRESENT] = {"not-present", "that node is not in the group"},
    [HF_WHY_NO_SUCH_VM] = {"no-such-vm", "there is no such VM"},
    [HF_WHY_NO_SUCH_NODE] = {"no-such-node", "there is no such node"},
    [HF_WHY_NAME_TAKEN] = {"name-taken", "that name is taken"},
    [HF_WHY_TABLE_FULL] = {"table-full", "the table is full"},
    [HF_WHY_NOT_STOPPED] = {"not-stopped", "it is not stopped"},
    [HF_WHY_NOT_RUNNING] = {"not-running", "it is not running"},
    [HF_WHY_NO_FENCE_DEVICE] = {"no-fence-device", "it has no fence device, so only its return or "
                                                   "an operator can prove it dead"},
    [HF_WHY_LINK_UNFIT] = {"link-unfit", "corosync there is too old, unencrypted or counts "
                                         "other votes"},
    [HF_WHY_WOULD_LOSE_QUORUM] = {"would-lose-quorum", "without it the group would lose its "
                                                       "majority"},
    [HF_WHY_STILL_HEARD] = {"still-heard", "it is still heard, so it cannot be confirmed off"},
    [HF_WHY_NOT_LOST] = {"not-lost", "it is not lost"},
    [HF_WHY_BAD_TARGET] = {"bad-target", "that node cannot be the target"},
    [HF_WHY_WRONG_HOST] = {"wrong-host", "its fence device answers for another host"},
    [HF_WHY_PATH_UNFIT] = {"path-unfit", "that fence level has failed its self-test"},
    [HF_WHY_LIST_AWAITED] = {"list-awaited", "the complete list of its VMs is awaited"},
    [HF_WHY_NOT_DEAD] = {"not-dead", "only a node that was switched off can be switched on"},
    [HF_WHY_BACK_SINCE] = {"back-since", "a node has come back since the order was given, "
                                         "look again and give it anew"},
    [HF_WHY_ALREADY] = {"already", "nothing to do, it is so already"},
    [HF_WHY_VOTE_COUNTED] = {"vote-counted", "the expiry was counted, a majority must say so"},
};
_Static_assert(COUNT(reasons) == HF_REASONS, "every reason has a key and a text");

const char *hf_reason_name(enum hf_reason r)
{
    size_t ix = (size_t)r;

    return ix < COUNT(reasons) && reasons[ix].key != NULL ? reasons[ix].key : "?";
}

const char *hf_reason_text(enum hf_reason r)
{
    size_t ix = (size_t)r;

    return ix < COUNT(reasons) && reasons[ix].text != NULL ? reasons[ix].text : "?";
}

static const char *const rules[] = {
    [HF_RULE_NONE] = "passes every rule",
    [HF_RULE_1_MEMBER] = "rule 1: not a ready member, in maintenance, or its VM monitor is silent",
    [HF_RULE_2_PROOF] = "rule 2: a proof of death is still pending",
    [HF_RULE_3_AFFINITY] = "rule 3: not allowed there, or affinity or anti-affinity forbids it",
    [HF_RULE_4_LEGS] = "rule 4: more of its NICs are dead there than elsewhere",
    [HF_RULE_5_NUMA] = "rule 5: cores, hugepages and NIC not on one NUMA node",
    [HF_RULE_6_MEMORY] = "rule 6: not enough memory",
};
_Static_assert(COUNT(rules) == HF_RULES, "every rule has a text");

const char *hf_rule_text(enum hf_rule r)
{
    return pick(rules, COUNT(rules), (size_t)r);
}

static const char *const pfs[] = {
    [HF_PF_UNKNOWN] = "unknown", [HF_PF_UP] = "up",     [HF_PF_SUSPECT] = "suspect",
    [HF_PF_DOWN] = "down",       [HF_PF_HOLD] = "hold", [HF_PF_ABSENT] = "absent",
};
_Static_assert(COUNT(pfs) == HF_PFS, "every state of a PF has a name");

const char *hf_pf_name(enum hf_pf p)
{
    return pick(pfs, COUNT(pfs), (size_t)p);
}

static const struct {
    const char *key, *text;
} causes[] = {
    [HF_NIC_NONE] = {"none", "nothing is wrong"},
    [HF_NIC_OPTICS] = {"optics", "its optical module passes a threshold"},
    [HF_NIC_HOT] = {"hot", "its controller is too hot"},
    [HF_NIC_ERRORS] = {"errors", "it counts too many errors"},
    [HF_NIC_VF_DRIVER] = {"vf-driver", "one of its VFs has no driver"},
    [HF_NIC_LACP] = {"lacp", "the switch's port no longer takes part in its LACP group"},
    [HF_NIC_BFD] = {"bfd", "nobody answers through it, and who is asked is alive"},
    [HF_NIC_RETURNING] = {"returning", "it came back a short time ago"},
    [HF_NIC_FLAPPING] = {"flapping", "it comes and goes"},
    [HF_NIC_CARRIER] = {"carrier", "it has no carrier"},
    [HF_NIC_ADMIN] = {"admin", "it is switched off on this host"},
    [HF_NIC_TX_TIMEOUT] = {"tx-timeout", "a transmit queue stands still"},
    [HF_NIC_RESET] = {"reset", "its driver resets it"},
    [HF_NIC_SISTER] = {"sister", "the other port of its card has lost the controller"},
    [HF_NIC_MC_TIMEOUT] = {"mc-timeout", "its management controller does not answer"},
    [HF_NIC_MC_ASSERT] = {"mc-assert", "its management controller crashed"},
    [HF_NIC_DISABLED] = {"disabled", "its driver has given it up"},
    [HF_NIC_VSWITCH] = {"vswitch", "its VFs may not work since it was reset"},
    [HF_NIC_AER] = {"aer", "a PCIe error is being recovered from"},
    [HF_NIC_AER_FAILED] = {"aer-failed", "it did not recover from a PCIe error"},
    [HF_NIC_UNBOUND] = {"unbound", "it has no driver"},
    [HF_NIC_CONFIG_GONE] = {"config-gone", "its PCI configuration space reads all ones"},
    [HF_NIC_REMOVED] = {"removed", "the device is gone"},
};
_Static_assert(COUNT(causes) == HF_NIC_CAUSES, "every cause has a name");

const char *hf_nic_cause_name(enum hf_nic_cause c)
{
    size_t ix = (size_t)c;

    return ix < COUNT(causes) && causes[ix].key != NULL ? causes[ix].key : "?";
}

const char *hf_nic_cause_text(enum hf_nic_cause c)
{
    size_t ix = (size_t)c;

    return ix < COUNT(causes) && causes[ix].text != NULL ? causes[ix].text : "?";
}

static const char *const leg_kinds[] = {
    [HF_LEG_NONE] = "none",
    [HF_LEG_VF] = "VF",
    [HF_LEG_BRIDGE] = "bridge",
    [HF_LEG_MACVTAP] = "macvtap",
};
_Static_assert(COUNT(leg_kinds) == HF_LEG_KINDS, "every kind of a leg has a name");

const char *hf_leg_kind_name(enum hf_leg_kind k)
{
    return pick(leg_kinds, COUNT(leg_kinds), (size_t)k);
}

static const char *const flip_methods[] = {
    [HF_FLIP_NONE] = "none",          [HF_FLIP_GUEST_BOND] = "guest-bond",
    [HF_FLIP_VF_LINK] = "vf-link",    [HF_FLIP_PF_DOWN] = "pf-down",
    [HF_FLIP_GUEST] = "guest-helper", [HF_FLIP_LINK] = "virtio-link",
    [HF_FLIP_UNPLUG] = "unplug",
};
_Static_assert(COUNT(flip_methods) == HF_FLIP_METHODS, "every method has a name");

const char *hf_flip_method_name(enum hf_flip_method m)
{
    return pick(flip_methods, COUNT(flip_methods), (size_t)m);
}

static const char *const flip_outcomes[] = {
    [HF_FLIP_UNKNOWN] = "unknown",
    [HF_FLIP_FLIPPED] = "flipped",
    [HF_FLIP_ALREADY] = "already there",
    [HF_FLIP_FAILED] = "failed",
};
_Static_assert(COUNT(flip_outcomes) == HF_FLIP_OUTCOMES, "every outcome has a name");

const char *hf_flip_outcome_name(enum hf_flip_outcome o)
{
    return pick(flip_outcomes, COUNT(flip_outcomes), (size_t)o);
}

static const struct {
    const char *key, *text;
} bond_faults[] = {
    {"reselects",
     "primary_reselect=always: when the card is repaired it goes back by itself, which "
     "is one more gap"},
    {"slow", "it looks at its legs too seldom (miimon above 100 ms, or never): a flip that is its "
             "own takes longer"},
    {"mode", "it is not in mode active-backup: its traffic uses both legs, and a dead one loses a "
             "part of it"},
};
_Static_assert(COUNT(bond_faults) == HF_BOND_BITS && 1 << HF_BOND_BITS == HF_BOND_FAULTS,
               "every fault of a bond has a name");

const char *hf_bond_fault_name(unsigned bit)
{
    return bit < COUNT(bond_faults) ? bond_faults[bit].key : "?";
}

const char *hf_bond_fault_text(unsigned bit)
{
    return bit < COUNT(bond_faults) ? bond_faults[bit].text : "?";
}
