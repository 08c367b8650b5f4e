/* parse.h - what the kernel and a switch tell of NICs, from bytes to structs. Pure, bounded, and
 * made for hostile bytes: nothing is read past the end, every text ends and is printable ASCII, and
 * what does not parse is named, never guessed. */
#ifndef AGENTS_NIC_PARSE_H
#define AGENTS_NIC_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agents/nic/judge.h"

enum parse_word {
    PARSE_END = 0, /* nothing is left */
    PARSE_GOT,
    PARSE_OTHER, /* well formed, and not about a link, a NIC, a switch */
    PARSE_BAD,   /* the rest cannot be read */
};

/* A link as RTM_NEWLINK or RTM_DELLINK tells it. */
struct nic_link {
    bool is_gone;
    int32_t ifindex;
    char name[HF_IFNAME_MAX + 1]; /* "" when not told */
    bool is_admin_up;
    enum nic_fact has_carrier;
    bool has_counts; /* both, as they were when has_carrier was read */
    uint32_t carrier_ups, carrier_downs;
    enum nic_fact takes_part_in_lacp; /* of a port of an 802.3ad bond only */
};

/* The next message of a netlink datagram, from *pos on, which is moved past it. One with a length
 * that lies is BAD: nothing of it is to be believed. */
enum parse_word parse_link(const uint8_t *bytes, size_t len, size_t *pos, struct nic_link *out);

enum nic_action {
    NIC_ACTION_OTHER = 0,
    NIC_ADD,
    NIC_REMOVE,
    NIC_BIND,
    NIC_UNBIND,
    NIC_CHANGE,
    NIC_MOVE
};
enum nic_aer { NIC_AER_NONE = 0, NIC_AER_BEGIN, NIC_AER_FAILED, NIC_AER_RECOVERED };

/* A uevent of a PCI or network device. */
struct nic_uevent {
    enum nic_action action;
    bool is_net;                   /* of a network device; of a PCI device otherwise */
    char pci[HF_PCI_NAME_MAX + 1]; /* the device, or the one that the network device is of */
    char name[HF_IFNAME_MAX + 1];  /* of a network device */
    enum nic_aer aer;
};

enum parse_word parse_uevent(const uint8_t *bytes, size_t len, struct nic_uevent *out);

/* A line of the kernel's log that is a signal. */
struct nic_kmsg {
    enum nic_signal signal;
    char pci[HF_PCI_NAME_MAX + 1]; /* "" or the device */
    char name[HF_IFNAME_MAX + 1];  /* "" or the interface; one of the two is told */
};

/* One record of /dev/kmsg. What a process wrote there (facility other than the kernel's) is OTHER:
 * no program's text is taken for a driver's. */
enum parse_word parse_kmsg(const uint8_t *bytes, size_t len, struct nic_kmsg *out);

struct nic_lldp {
    char switch_id[64]; /* "CHASSIS PORT" */
    uint16_t seconds;   /* valid for; 0: the switch says goodbye */
};

/* An Ethernet frame of EtherType 0x88cc, as it came from a packet socket. */
enum parse_word parse_lldp(const uint8_t *bytes, size_t len, struct nic_lldp *out);

/* The diagnostics page of an optical module (SFF-8472, address A2h): is a warning threshold passed?
 * NIC_NOT_KNOWN when it has no thresholds. */
enum nic_fact parse_optics(const uint8_t *page, size_t len);
/* Is this one of `ethtool -S`'s counters of frames that the wire broke? */
bool parse_is_error_counter(const char *driver, const char *name);

/* Is text[0..len) a PCI address with domain, "0000:01:00.0"? */
bool parse_is_pci(const char *text, size_t len);
/* text[0..len) as an interface's name; false when it is none (linux/net: dev_valid_name()). */
bool parse_name(const char *text, size_t len, char out[HF_IFNAME_MAX + 1]);

#endif
