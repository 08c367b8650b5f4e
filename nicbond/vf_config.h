/* vf_config.h - what a PF holds about one VF and what it can be told: the words of vf, ledger and
 * reconcile. PURE. Refuses nothing: what a driver does not tell is a value of its own. */
#ifndef NICBOND_VF_CONFIG_H
#define NICBOND_VF_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VF_NUMBER_MAX = 255,     /* ice: 256 VFs a PF, the most of the drivers this is made for */
    VF_COUNT_MAX = 256,      /* of one PF */
    VF_MAC_BYTES = 6,        /* ETH_ALEN */
    VF_VLAN_MAX = 4094,      /* 802.1Q: 4095 is reserved */
    VF_QOS_MAX = 7,          /* 802.1p */
    VF_CONFIG_TEXT_MAX = 96, /* of vf_config_text(), with its NUL */
};

/* The numbers are the kernel's IFLA_VF_LINK_STATE_*. */
enum vf_link {
    VF_LINK_AUTO = 0, /* follows the wire: the only one that is right in production */
    VF_LINK_ENABLE,   /* carrier whatever the wire does: hides a dead wire from the guest */
    VF_LINK_DISABLE,
    VF_LINK_UNKNOWN, /* as read: not told; as wanted: leave it alone */
    VF_LINKS
};

enum vf_setting {
    VF_OFF = 0,
    VF_ON,
    VF_SETTING_UNKNOWN, /* as read: the driver does not tell; as wanted: leave it alone */
    VF_SETTINGS
};

struct vf_config {
    uint8_t mac[VF_MAC_BYTES];
    uint16_t vlan; /* 0 = none */
    uint8_t qos;
    enum vf_setting spoofchk, trust;
    enum vf_link link;
};

/* One thing a VF can be told; sets of them are bits. */
enum vf_field {
    VF_FIELD_MAC = 0,
    VF_FIELD_VLAN, /* with its qos */
    VF_FIELD_SPOOFCHK,
    VF_FIELD_TRUST,
    VF_FIELD_LINK,
    VF_FIELDS
};
typedef uint8_t vf_fields;
#define VF_FIELD(field) ((vf_fields)(1u << (field)))
#define VF_FIELDS_ALL   ((vf_fields)((1u << VF_FIELDS) - 1u))

const char *vf_field_name(enum vf_field field); /* "MAC", "spoofchk" */
const char *vf_link_name(enum vf_link link);    /* "auto" */

/* Could a VF be told this? For values from outside: files, people, the kernel. */
bool vf_config_is_valid(const struct vf_config *config);
/* Fields in which `present` is not what is wanted. What is wanted as unknown never differs; what is
 * unknown of `present` differs, except from off: a driver that does not tell has no such thing. */
vf_fields vf_config_differs(const struct vf_config *present, const struct vf_config *wanted);
bool vf_mac_same(const uint8_t a[VF_MAC_BYTES], const uint8_t b[VF_MAC_BYTES]);
/* No MAC at all, or the stand-in that libvirt and we write where a driver refuses zeros. */
bool vf_mac_is_none(const uint8_t mac[VF_MAC_BYTES]);
/* "02:00:00:00:00:01" into text[18]. */
void vf_mac_text(const uint8_t mac[VF_MAC_BYTES], char text[18]);
/* "02:00:00:00:00:01 vlan 100 qos 0 spoofchk on trust unknown link auto" */
void vf_config_text(const struct vf_config *config, char text[VF_CONFIG_TEXT_MAX]);

/* "0000:01:10.0": four digits, colon, two, colon, two, point, 0 to 7, in lower case as the kernel
 * writes them. */
bool vf_pci_is_name(const char *text);

#endif
