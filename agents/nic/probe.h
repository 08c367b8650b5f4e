/* probe.h - which PF there is, and what it is made of: sysfs, below a root ("" or a folder in
 * tests). For start-up, uevents and a look now and then; what is read every millisecond is in
 * hot.h. Nothing here takes the RTNL lock. What may wait for the card itself says so, and belongs
 * into a process that can be given up on. */
#ifndef AGENTS_NIC_PROBE_H
#define AGENTS_NIC_PROBE_H

#include <stddef.h>

#include "agents/nic/judge.h"
#include "supervisord/base/err.h"

enum {
    NIC_VFS_MAX = 256,     /* sfc has 240 a card; PCIe allows more, the rest is not looked at */
    NIC_VPD_MAX = 4 << 10, /* bytes of vital product data that are looked at: a serial is early */
    NIC_NETS_MAX = 64,     /* network devices of one PCI device: ports and representors */
};

/* Where a PF is now. A PF without a PCI address (a virtual one) has pci "". */
struct nic_place {
    char name[HF_IFNAME_MAX + 1]; /* "" while no driver has made a network device */
    char pci[HF_PCI_NAME_MAX + 1];
    int32_t ifindex; /* 0 with name "" */
};

struct nic_vf {
    char pci[HF_PCI_NAME_MAX + 1];
    char driver[32]; /* "": none */
};

/* What a PF is made of. */
struct nic_inventory {
    char driver[32];
    uint16_t vendor, device;
    int16_t numa_node; /* -1: not known */
    uint16_t vfs_count, vfs_without_driver;
    struct nic_vf vf[NIC_VFS_MAX]; /* by number */
};

/* Find a PF. wanted: as it is configured, an interface's name or a PCI address. known: where it was
 * before, all "" and 0 at first. One that was found once is found again by its PCI address (its
 * interface was renamed), else by what is configured (it was renumbered), else, without a PCI
 * address, by its index. HF_ENOENT: no such device. HF_OK with name "": the device is there and has
 * no network device. known and place are two. */
enum hf_code probe_nic_find(const char *root, const char *wanted, const struct nic_place *known,
                            struct nic_place *place, struct hf_err *err);
/* Driver, VFs and their drivers, NUMA node. */
void probe_nic_inventory(const char *root, const struct nic_place *place,
                         struct nic_inventory *out);
/* Does the device have a driver? NIC_NOT_KNOWN for one without a PCI address. */
enum nic_fact probe_nic_has_driver(const char *root, const struct nic_place *place);
/* AER's counters of fatal and non-fatal errors together; false where the kernel has none. */
bool probe_nic_aer_errors(const char *root, const struct nic_place *place, uint64_t *out);

/* The rest may wait for the card: for helpers, and for start-up. */

/* The card's serial number from its vital product data; "" when it tells none. Needs root. */
void probe_nic_serial(const char *root, const struct nic_place *place, char out[48]);
/* Firmware, where a file says so (mlx5); "" otherwise: ethtool knows, under RTNL. */
void probe_nic_firmware(const char *root, const struct nic_place *place, char out[48]);
/* Does its configuration space read all ones? The read may stall a CPU until it times out. */
enum nic_fact probe_nic_config_is_gone(const char *root, const struct nic_place *place);
/* Is one of its sensors at its critical temperature or beyond? sfc asks its controller: 10 s. */
enum nic_fact probe_nic_is_hot(const char *root, const struct nic_place *place);

/* Pure: serial number of vital product data (PCI 2.2 appendix I). */
bool probe_nic_vpd_serial(const uint8_t *bytes, size_t len, char *out, size_t cap);

#endif
