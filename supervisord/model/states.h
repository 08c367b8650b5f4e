/* states.h - the lives of nodes and VMs, what can happen to them, and why.
 * Every value has one text in names.c: log line, JSON, metric and test all come from there.
 * Glossary: lost (left the group) is not dead (proof obtained); held (an operator or the guest
 * ended it on purpose) is not failed. */
#ifndef SUPERVISORD_MODEL_STATES_H
#define SUPERVISORD_MODEL_STATES_H

enum hf_node_state {
    HF_NODE_ABSENT = 0, /* configured, never seen by this state: nothing of ours can run there */
    HF_NODE_JOINING,    /* in the group, has not yet told completely which VMs run there */
    HF_NODE_MEMBER,     /* in the group, its VMs are known */
    HF_NODE_SILENT,     /* host still in the totem ring, daemon gone or mute: VMs run on, grace */
    HF_NODE_LOST,       /* left without proof: whatever ran there may run on */
    HF_NODE_FENCING,    /* somebody is ordered to prove it dead */
    HF_NODE_DEAD,       /* proved dead since it was last a member */
    HF_NODE_STATES
};

enum hf_proof {
    HF_PROOF_NONE = 0,
    HF_PROOF_FENCE,    /* a fence device reads off after off */
    HF_PROOF_REJOIN,   /* it came back under a new boot id */
    HF_PROOF_OPERATOR, /* a person said so, by name and reason */
    HF_PROOF_WATCHDOG, /* its attested watchdog must have fired */
    HF_PROOFS
};

/* What a node's feeder says of its watchdog. Only ARMED lets time be a proof. */
enum hf_watchdog {
    HF_WD_UNKNOWN = 0, /* no feeder has spoken, or it has been silent too long */
    HF_WD_UNUSED,      /* the configuration wants none here */
    HF_WD_DISARMED,    /* the device is there and closed */
    HF_WD_ARMED,       /* open, set, and pinged only while the lease holds */
    HF_WD_ABSENT,      /* no such device */
    HF_WD_BUSY,        /* somebody else holds it */
    HF_WD_SOFT,        /* a software watchdog, and allow_softdog is not set */
    HF_WD_BROKEN,      /* it does not do what it is told */
    HF_WATCHDOGS
};

/* What the self-test of one fence level found: can it switch the node off when it must? */
enum hf_path {
    HF_PATH_UNKNOWN = 0, /* not tried yet, or nobody could try */
    HF_PATH_OK,          /* answers, credentials taken, reads on or off, right host */
    HF_PATH_UNREACHABLE, /* a device does not answer */
    HF_PATH_DENIED,      /* a device refuses our credentials, or their privilege is too low */
    HF_PATH_WRONG_HOST,  /* a device answers for another host than this node */
    HF_PATH_BROKEN,      /* agent or credentials file missing or unfit, nonsense for an answer */
    HF_PATHS
};

enum hf_vm_state {
    HF_VM_STOPPED = 0,
    HF_VM_WAITING,  /* for proof: it may still run on a node that is lost */
    HF_VM_PLACING,  /* runs nowhere, wants a node (or waits out its back-off) */
    HF_VM_STARTING, /* ordered on its home */
    HF_VM_RUNNING,
    HF_VM_STOPPING,    /* ordered off its home */
    HF_VM_UNPLACEABLE, /* no node passes the rules; tried again at every change */
    HF_VM_HELD,        /* ended or started by hand, or by the guest: we keep off until told */
    HF_VM_FAILED,      /* failed more often than its limit: a person decides */
    HF_VM_STATES
};

enum hf_desire { HF_WANT_STOPPED = 0, HF_WANT_RUNNING, HF_DESIRES };

/* What a node's agent sees of one VM. Unknown is a value: never "stopped", never "failed". */
enum hf_seen {
    HF_SEEN_UNKNOWN = 0, /* libvirt does not answer, the agent is gone, no report yet */
    HF_SEEN_RUNNING,
    HF_SEEN_CRASHED,   /* its qemu is gone and nobody asked for that */
    HF_SEEN_DESTROYED, /* ended by somebody else's libvirt call */
    HF_SEEN_SHUTDOWN,  /* the guest switched itself off */
    HF_SEENS
};

enum hf_outcome {
    HF_OUT_DONE = 0, /* done and verified */
    HF_OUT_REFUSED,  /* certainly not done: a start that left nothing running */
    HF_OUT_GAVE_UP,  /* not known: a stop that could not be proved, a fence that timed out */
    HF_OUTCOMES
};

enum hf_subject { HF_SUBJECT_GROUP = 0, HF_SUBJECT_NODE, HF_SUBJECT_VM, HF_SUBJECTS };

/* What may happen to a node: the columns of the table in engine/host.c. */
enum hf_node_event {
    HF_NE_JOIN = 0,  /* takes part in the view after having been away, or for the first time */
    HF_NE_RESTARTED, /* takes part with a new daemon, same boot */
    HF_NE_READY,     /* told completely which VMs run there */
    HF_NE_PROC_LEFT, /* its daemon left, its host is in the ring */
    HF_NE_NODE_LEFT, /* its host left the ring */
    HF_NE_MUTE,      /* its daemon is in the group but has stopped beating */
    HF_NE_HEARD,     /* it beats again */
    HF_NE_GRACE_OVER,
    HF_NE_FENCE, /* its death is needed and somebody is ordered to prove it */
    HF_NE_FENCE_FAILED,
    HF_NE_PROOF,
    HF_NE_CALLED_OFF, /* its death is not needed any more, or the group was disarmed */
    HF_NE_LEAVE,      /* announced, and empty: it may be switched off by its owner */
    HF_NODE_EVENTS
};

/* What may happen to a VM: the columns of the table in engine/vm.c. */
enum hf_vm_event {
    HF_VE_WANT_RUN = 0, /* an operator wants it running */
    HF_VE_WANT_STOP,
    HF_VE_MOVE,      /* an operator or a drain wants it on another node */
    HF_VE_HOME_LOST, /* the node it may run on left without proof */
    HF_VE_CLEARED,   /* proved: it runs nowhere */
    HF_VE_PLACED,
    HF_VE_NO_PLACE,
    HF_VE_STARTED,
    HF_VE_START_REFUSED,
    HF_VE_START_UNKNOWN, /* gave up, or the deadline passed */
    HF_VE_SEEN_RUNNING,  /* on its home, or where we would not have put it while it had none */
    HF_VE_SEEN_CRASHED,
    HF_VE_SEEN_ENDED, /* destroyed by hand or shut down by the guest */
    HF_VE_STOPPED,
    HF_VE_STOP_UNPROVED,
    HF_VE_TIMER,  /* back-off over, or stable for long enough */
    HF_VE_NO_LEG, /* none of its legs carries here, and one would elsewhere */
    HF_VM_EVENTS
};

/* Why something changed, was refused, or is as it is. Texts in names.c. */
enum hf_reason {
    HF_WHY_NONE = 0,
    /* nodes */
    HF_WHY_JOINED,
    HF_WHY_DAEMON_RESTARTED,
    HF_WHY_INVENTORY_COMPLETE,
    HF_WHY_DAEMON_GONE,
    HF_WHY_LEFT_RING,
    HF_WHY_MUTE,
    HF_WHY_HEARD_AGAIN,
    HF_WHY_GRACE_OVER,
    HF_WHY_FENCE_ORDERED,
    HF_WHY_FENCE_FAILED,
    HF_WHY_FENCE_TAKEOVER,
    HF_WHY_FENCE_DEADLINE,
    HF_WHY_FENCE_CALLED_OFF,
    HF_WHY_PROOF_FENCE,
    HF_WHY_PROOF_REJOIN,
    HF_WHY_PROOF_OPERATOR,
    HF_WHY_PROOF_WATCHDOG,
    HF_WHY_HEARD_AFTER_PROOF,
    HF_WHY_READS_OFF, /* its devices read off, but its host is still in the ring */
    HF_WHY_ESCALATED,
    HF_WHY_DRAINED,
    HF_WHY_UNDRAINED,
    HF_WHY_MAINTENANCE_EXPIRED,
    HF_WHY_SAFE_TIME,    /* the wait for its watchdog has begun; detail = milliseconds */
    HF_WHY_ATTESTED,     /* its watchdog is armed; detail = its timeout in milliseconds */
    HF_WHY_NOT_ATTESTED, /* its watchdog is not armed (any more); detail = enum hf_watchdog */
    HF_WHY_PATH_OK,      /* a fence level passed its self-test; detail = level, from 1 */
    HF_WHY_PATH_FAILED,  /* it did not; detail = level * 100 + enum hf_path */
    HF_WHY_CANNOT_FENCE, /* no way is left to prove it dead but a person's word */
    HF_WHY_CAN_FENCE,    /* there is one again */
    HF_WHY_HOLD,         /* announced: away for a while, VMs run on; detail = milliseconds */
    HF_WHY_HOLD_OVER,
    HF_WHY_LEAVING,       /* announced: to be emptied and then switched off by its owner */
    HF_WHY_LEFT_IN_ORDER, /* empty and gone with notice */
    HF_WHY_SETTLING,      /* back again and again: no VM until it stays; detail = milliseconds */
    HF_WHY_SETTLED,
    HF_WHY_PASSIVE,  /* back too often: no VM until an operator says so; detail = returns */
    HF_WHY_POWER_ON, /* switched on again on an order */
    HF_WHY_POWER_ON_FAILED,
    HF_WHY_PF_UNKNOWN, /* what becomes of its PF in a fabric; detail = fabric * 100 + cause */
    HF_WHY_PF_UP,
    HF_WHY_PF_SUSPECT,
    HF_WHY_PF_DOWN,
    HF_WHY_PF_HOLD,
    HF_WHY_PF_ABSENT,
    /* the group */
    HF_WHY_FORMED,
    HF_WHY_VIEW,
    HF_WHY_COLD_START,
    HF_WHY_STARTUP_GRACE_OVER,
    HF_WHY_ARMED,
    HF_WHY_DISARMED,
    HF_WHY_STORM,      /* too many fences: none more without a person; detail = fences counted */
    HF_WHY_STORM_OVER, /* a person has looked */
    HF_WHY_SKIPPED,    /* an event broke an assertion of ours; detail = enum hf_event_type */
    /* VMs */
    HF_WHY_ADDED,
    HF_WHY_REMOVED,
    HF_WHY_OPERATOR_START,
    HF_WHY_OPERATOR_STOP,
    HF_WHY_OPERATOR_MOVE,
    HF_WHY_DRAIN_MOVE,
    HF_WHY_HOST_LOST,
    HF_WHY_LAST_INSTANT, /* a lost node might have been told to start it in its last instant */
    HF_WHY_PROVED_NOWHERE,
    HF_WHY_PLACED,
    HF_WHY_NO_NODE,
    HF_WHY_STARTED,
    HF_WHY_START_REFUSED,
    HF_WHY_START_DEADLINE,
    HF_WHY_CRASHED,
    HF_WHY_ENDED_BY_HAND,
    HF_WHY_ENDED_BY_GUEST,
    HF_WHY_STARTED_BY_HAND,
    HF_WHY_FOUND_RUNNING,
    HF_WHY_STOPPED,
    HF_WHY_STOP_UNPROVED,
    HF_WHY_STRAY, /* runs where it must not: ordered off there */
    HF_WHY_STABLE,
    HF_WHY_BACKOFF_OVER,
    HF_WHY_RESTART_LIMIT,
    HF_WHY_WATCH_UNKNOWN, /* its node's VM monitor does not know any more */
    HF_WHY_WATCH_KNOWN,
    HF_WHY_PLACED_DEGRADED, /* nowhere are all its legs alive; detail = dead ones, bit f */
    HF_WHY_DEGRADED,        /* runs on, but not every leg carries; detail likewise */
    HF_WHY_LEGS_WHOLE,
    HF_WHY_NO_LEG, /* none carries here, one would elsewhere; detail = milliseconds until moved */
    HF_WHY_LEGS_MOVE,   /* and it was moved for that */
    HF_WHY_FABRIC_DOWN, /* none carries here, and nobody else sees its fabrics: it stays */
    /* refusals of an event or an order */
    HF_WHY_STALE_TOKEN,
    HF_WHY_STALE_INCARNATION,
    HF_WHY_NOT_MAJORITY,
    HF_WHY_NOT_PRESENT,
    HF_WHY_NO_SUCH_VM,
    HF_WHY_NO_SUCH_NODE,
    HF_WHY_NAME_TAKEN,
    HF_WHY_TABLE_FULL,
    HF_WHY_NOT_STOPPED,
    HF_WHY_NOT_RUNNING,
    HF_WHY_NO_FENCE_DEVICE,
    HF_WHY_LINK_UNFIT, /* corosync there is too old, unencrypted or counts other votes */
    HF_WHY_WOULD_LOSE_QUORUM,
    HF_WHY_STILL_HEARD, /* a person's word is refused while the node is heard */
    HF_WHY_NOT_LOST,
    HF_WHY_BAD_TARGET,
    HF_WHY_WRONG_HOST,   /* a fence device answers for another host */
    HF_WHY_PATH_UNFIT,   /* a fence level has failed its self-test */
    HF_WHY_LIST_AWAITED, /* what a joining node tells of one VM may be old: its list decides */
    HF_WHY_NOT_DEAD,     /* only what was switched off can be switched on */
    HF_WHY_BACK_SINCE,   /* the node, or the one that it was given through, has come back since */
    HF_WHY_ALREADY,      /* nothing to do */
    HF_WHY_VOTE_COUNTED, /* a safety timer's expiry, waiting for a majority */
    HF_REASONS
};

/* The numbered rules of placement: the same numbers in place.c and its test. */
enum hf_rule {
    HF_RULE_NONE = 0,   /* passed */
    HF_RULE_1_MEMBER,   /* a ready member, not in maintenance, its VM monitor answers */
    HF_RULE_2_PROOF,    /* no proof pending for this VM */
    HF_RULE_3_AFFINITY, /* allowed nodes, together, apart */
    HF_RULE_4_LEGS,     /* no PF it needs is dead there, or no candidate has fewer such */
    HF_RULE_5_NUMA,     /* needs the hardware inventory */
    HF_RULE_6_MEMORY,
    HF_RULES
};

#endif
