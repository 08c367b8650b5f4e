/* nic.h - fabrics, legs and flips in one vocabulary: what nicbond finds and does, what the engine
 * decides on, what people read.
 * A fabric is one of the two independent networks; a node has one physical function (PF) in each. A
 * leg is a VM's network function in one fabric: a VF, or a virtio NIC on a bridge or macvtap of
 * that PF. A flip moves a VM's traffic from one leg to the other; it is not a failover. */
#ifndef SUPERVISORD_MODEL_NIC_H
#define SUPERVISORD_MODEL_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/model/ids.h"

enum {
    HF_FABRICS_MAX = 2,   /* a and b: an active-backup bond has two legs */
    HF_IFNAME_MAX = 15,   /* IFNAMSIZ - 1, linux/if.h */
    HF_PCI_NAME_MAX = 12, /* "0000:01:00.0" */
    HF_ADDRESS_MAX = 45,  /* INET6_ADDRSTRLEN - 1 */
};

/* Index of a fabric: 0 = a, 1 = b. */
typedef uint8_t hf_fabric;
/* Set of fabrics, bit f = fabric f. */
typedef uint8_t hf_legs;

/* What a PF is worth. Unknown is a value: it moves nothing and nothing is placed on it. */
enum hf_pf {
    HF_PF_UNKNOWN = 0, /* not looked at yet, or what could tell does not answer */
    HF_PF_UP,
    HF_PF_SUSPECT, /* something is wrong with it; it still carries */
    HF_PF_DOWN,    /* carries nothing: its legs are flipped away */
    HF_PF_HOLD,    /* came back; so long it is nobody's first choice */
    HF_PF_ABSENT,  /* configured, but no such device is in this host */
    HF_PFS
};

/* Why it is so. One cause at a time, the gravest: later ones outweigh earlier ones. */
enum hf_nic_cause {
    HF_NIC_NONE = 0,
    HF_NIC_OPTICS,      /* a threshold of the module is passed: still works, soon not */
    HF_NIC_HOT,         /* the controller is too hot */
    HF_NIC_ERRORS,      /* errors per second above the limit */
    HF_NIC_VF_DRIVER,   /* a VF without a driver: the card could not recover from a PCIe error */
    HF_NIC_LACP,        /* the switch's port no longer takes part */
    HF_NIC_BFD,         /* every peer of this fabric is silent, and heard elsewhere */
    HF_NIC_RETURNING,   /* back, hold-down runs */
    HF_NIC_FLAPPING,    /* goes and comes: hold-down doubled */
    HF_NIC_CARRIER,     /* no carrier */
    HF_NIC_ADMIN,       /* switched off on this host */
    HF_NIC_TX_TIMEOUT,  /* a transmit queue stands still */
    HF_NIC_RESET,       /* the driver resets it */
    HF_NIC_SISTER,      /* the other port of its card has lost the controller */
    HF_NIC_MC_TIMEOUT,  /* the management controller does not answer */
    HF_NIC_MC_ASSERT,   /* it crashed */
    HF_NIC_DISABLED,    /* the driver has given it up */
    HF_NIC_VSWITCH,     /* reset, but its VFs may not work */
    HF_NIC_AER,         /* a PCIe error is being recovered from */
    HF_NIC_AER_FAILED,  /* and was not */
    HF_NIC_UNBOUND,     /* no driver */
    HF_NIC_CONFIG_GONE, /* its configuration space reads all ones */
    HF_NIC_REMOVED,     /* the device is gone */
    HF_NIC_CAUSES
};

/* What a VM's leg is made of: it decides which methods of a flip there are. */
enum hf_leg_kind {
    HF_LEG_NONE = 0,
    HF_LEG_VF,      /* hostdev: a virtual function in the guest */
    HF_LEG_BRIDGE,  /* virtio on a bridge with the PF as a port */
    HF_LEG_MACVTAP, /* virtio on a macvtap of the PF */
    HF_LEG_KINDS
};

/* The rungs of the ladder. */
enum hf_flip_method {
    HF_FLIP_NONE = 0,
    HF_FLIP_GUEST_BOND, /* nothing to do: the guest's own bond sees the carrier go */
    HF_FLIP_VF_LINK,    /* VF link state disable, all VFs of the PF in one message */
    HF_FLIP_PF_DOWN,    /* PF admin down, where VF link state does not exist */
    HF_FLIP_GUEST,      /* holdfast-guest sets the active slave */
    HF_FLIP_LINK,       /* link down of a virtio NIC through libvirt */
    HF_FLIP_UNPLUG,     /* hot-unplug through libvirt, last */
    HF_FLIP_METHODS
};

/* Never assumed: what was not confirmed is unknown. */
enum hf_flip_outcome {
    HF_FLIP_UNKNOWN = 0,
    HF_FLIP_FLIPPED, /* confirmed by the guest, or by the standby leg's own counters */
    HF_FLIP_ALREADY, /* the traffic was on the other leg before anything was ordered */
    HF_FLIP_FAILED,  /* every method that exists was refused, or the other leg is dead, too */
    HF_FLIP_OUTCOMES
};

/* A node's PF in one fabric, as nicbond sees it. Texts are "" where nobody tells. */
struct hf_pf_facts {
    enum hf_pf state;
    enum hf_nic_cause cause;
    uint32_t hold_ms; /* of HOLD: what is left of it */
    char name[HF_IFNAME_MAX + 1];
    char pci[HF_PCI_NAME_MAX + 1];
    char driver[32];
    char firmware[48];
    char serial[48];    /* of the card: both ports of one card have the same */
    char switch_id[64]; /* by LLDP: chassis and port */
    int16_t numa_node;  /* -1: not known */
    uint16_t vfs, vfs_without_driver;
    uint8_t bfd_peers, bfd_up;
    uint64_t carrier_downs, aer_errors,
        resets;       /* since the driver was loaded; of us: since start */
    uint32_t rtnl_ms; /* how long the newest no-op RTM_GETLINK of a helper took */
};

/* What is not as it should be about a guest's bond, as its helper tells; bits of a set. */
enum {
    HF_BOND_RESELECTS = 1, /* primary_reselect always: it goes back by itself, one more gap */
    HF_BOND_SLOW = 2,      /* looks at its legs less often than ten times a second, or never */
    HF_BOND_MODE = 4,      /* not active-backup */
    HF_BOND_FAULTS = 8,
    HF_BOND_BITS = 3
};

/* A running VM's legs on this node. */
struct hf_vm_legs {
    hf_vm_uid uid; /* 0: not one of ours */
    uint32_t start_no;
    hf_legs has, up;  /* legs it has; of these, the ones that can carry */
    hf_fabric active; /* that carries now; HF_FABRICS_MAX = not known */
    bool has_helper;  /* holdfast-guest speaks */
    enum hf_leg_kind kind[HF_FABRICS_MAX];
    uint8_t bond_faults; /* HF_BOND_*; 0 also when nobody tells */
};

/* One flip of one VM, ended. Times are from the first sign of the failure. */
struct hf_flip {
    uint64_t epoch; /* rises with every flip of this node; survives a restart (ledger) */
    hf_vm_uid uid;
    hf_fabric from, to;
    enum hf_nic_cause cause;
    enum hf_flip_method method; /* that did it, or was tried last */
    enum hf_flip_outcome outcome;
    uint32_t judged_us;    /* the PF was judged down */
    uint32_t ordered_us;   /* the first order left us; UINT32_MAX: none had to */
    uint32_t confirmed_us; /* UINT32_MAX: never */
    int64_t wall_ns;       /* of the first sign, for people */
};

#endif
