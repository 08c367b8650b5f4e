#include "nicbond/vf_config.h"

#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/err.h"
#include "supervisord/base/str.h"

/* What libvirt writes for "no MAC", since many drivers answer EINVAL to zeros
 * (src/util/virnetdev.c, altZeroMAC). */
static const uint8_t mac_none[VF_MAC_BYTES] = {0x02, 0, 0, 0, 0, 0};

const char *vf_field_name(enum vf_field field)
{
    switch (field) {
    case VF_FIELD_MAC:
        return "MAC";
    case VF_FIELD_VLAN:
        return "VLAN";
    case VF_FIELD_SPOOFCHK:
        return "spoofchk";
    case VF_FIELD_TRUST:
        return "trust";
    case VF_FIELD_LINK:
        return "link state";
    case VF_FIELDS:
        break;
    }
    return "?";
}

const char *vf_link_name(enum vf_link link)
{
    switch (link) {
    case VF_LINK_AUTO:
        return "auto";
    case VF_LINK_ENABLE:
        return "enable";
    case VF_LINK_DISABLE:
        return "disable";
    case VF_LINK_UNKNOWN:
        return "unknown";
    case VF_LINKS:
        break;
    }
    return "?";
}

static const char *setting_name(enum vf_setting setting)
{
    switch (setting) {
    case VF_OFF:
        return "off";
    case VF_ON:
        return "on";
    case VF_SETTING_UNKNOWN:
        return "unknown";
    case VF_SETTINGS:
        break;
    }
    return "?";
}

bool vf_config_is_valid(const struct vf_config *config)
{
    /* Bit 0 of the first byte: a group address is nobody's own (IEEE 802). */
    return (config->mac[0] & 1u) == 0 && config->vlan <= VF_VLAN_MAX && config->qos <= VF_QOS_MAX &&
           config->spoofchk < VF_SETTINGS && config->trust < VF_SETTINGS && config->link < VF_LINKS;
}

static bool setting_differs(enum vf_setting present, enum vf_setting wanted)
{
    if (wanted == VF_SETTING_UNKNOWN)
        return false;
    if (present == VF_SETTING_UNKNOWN)
        return wanted != VF_OFF;
    return present != wanted;
}

vf_fields vf_config_differs(const struct vf_config *present, const struct vf_config *wanted)
{
    unsigned differs = 0;

    if (!vf_mac_same(present->mac, wanted->mac) &&
        !(vf_mac_is_none(present->mac) && vf_mac_is_none(wanted->mac)))
        differs |= VF_FIELD(VF_FIELD_MAC);
    if (present->vlan != wanted->vlan || present->qos != wanted->qos)
        differs |= VF_FIELD(VF_FIELD_VLAN);
    if (setting_differs(present->spoofchk, wanted->spoofchk))
        differs |= VF_FIELD(VF_FIELD_SPOOFCHK);
    if (setting_differs(present->trust, wanted->trust))
        differs |= VF_FIELD(VF_FIELD_TRUST);
    if (wanted->link != VF_LINK_UNKNOWN && present->link != wanted->link)
        differs |= VF_FIELD(VF_FIELD_LINK);
    return (vf_fields)differs;
}

bool vf_mac_same(const uint8_t a[VF_MAC_BYTES], const uint8_t b[VF_MAC_BYTES])
{
    return memcmp(a, b, VF_MAC_BYTES) == 0;
}

bool vf_mac_is_none(const uint8_t mac[VF_MAC_BYTES])
{
    static const uint8_t zeros[VF_MAC_BYTES];

    return vf_mac_same(mac, zeros) || vf_mac_same(mac, mac_none);
}

void vf_mac_text(const uint8_t mac[VF_MAC_BYTES], char text[18])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < VF_MAC_BYTES; i++) {
        text[3 * i] = digits[mac[i] >> 4];
        text[3 * i + 1] = digits[mac[i] & 15];
        text[3 * i + 2] = i + 1 < VF_MAC_BYTES ? ':' : '\0';
    }
}

void vf_config_text(const struct vf_config *config, char text[VF_CONFIG_TEXT_MAX])
{
    struct hf_err line;
    char mac[18];

    vf_mac_text(config->mac, mac);
    (void)hf_err_set(&line, HF_OK, "%s vlan %u qos %u spoofchk %s trust %s link %s", mac,
                     (unsigned)config->vlan, (unsigned)config->qos, setting_name(config->spoofchk),
                     setting_name(config->trust), vf_link_name(config->link));
    HF_ASSERT(hf_str_copy(text, VF_CONFIG_TEXT_MAX, line.text));
}

static bool is_lower_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool vf_pci_is_name(const char *text)
{
    static const char form[] = "hhhh:hh:hh.o";

    for (size_t i = 0; i < sizeof form; i++) {
        char c = text[i];

        switch (form[i]) {
        case 'h':
            if (!is_lower_hex(c))
                return false;
            break;
        case 'o':
            if (c < '0' || c > '7')
                return false;
            break;
        default:
            if (c != form[i])
                return false;
            break;
        }
    }
    return true;
}
