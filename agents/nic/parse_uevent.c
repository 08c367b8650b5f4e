#include <string.h>

#include "agents/nic/parse.h"
#include "supervisord/base/str.h"

bool parse_is_pci(const char *text, size_t len)
{
    static const char shape[] = "xxxx:xx:xx.x";

    if (len != sizeof shape - 1)
        return false;
    for (size_t i = 0; i < len; i++)
        if (shape[i] == 'x' ? hf_str_hex_digit(text[i]) < 0 : text[i] != shape[i])
            return false;
    return true;
}

bool parse_name(const char *text, size_t len, char out[HF_IFNAME_MAX + 1])
{
    if (len == 0 || len > HF_IFNAME_MAX || text[0] == '.')
        return false; /* "." and "..", and names that hide */
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '/' || text[i] == ':')
            return false;
    memcpy(out, text, len);
    out[len] = '\0';
    return true;
}

static void take_pci(const char *text, size_t len, char out[HF_PCI_NAME_MAX + 1])
{
    if (!parse_is_pci(text, len))
        return;
    memcpy(out, text, len);
    out[len] = '\0';
}

/* "/devices/pci0000:00/0000:00:01.0/0000:01:00.0/net/x": the last PCI address in it. */
static void take_path(const char *path, size_t len, char out[HF_PCI_NAME_MAX + 1])
{
    size_t begin = 0;

    for (size_t i = 0; i <= len; i++) {
        if (i < len && path[i] != '/')
            continue;
        take_pci(path + begin, i - begin, out);
        begin = i + 1;
    }
}

static bool is_text(const char *text, size_t len, const char *wanted)
{
    return strlen(wanted) == len && memcmp(text, wanted, len) == 0;
}

static enum nic_action action_of(const char *text, size_t len)
{
    static const struct {
        const char *text;
        enum nic_action action;
    } actions[] = {{"add", NIC_ADD},       {"remove", NIC_REMOVE}, {"bind", NIC_BIND},
                   {"unbind", NIC_UNBIND}, {"change", NIC_CHANGE}, {"move", NIC_MOVE}};

    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++)
        if (is_text(text, len, actions[i].text))
            return actions[i].action;
    return NIC_ACTION_OTHER;
}

/* pci_uevent_ers(), drivers/pci/pci-driver.c */
static enum nic_aer aer_of(const char *text, size_t len)
{
    if (is_text(text, len, "BEGIN_RECOVERY"))
        return NIC_AER_BEGIN;
    if (is_text(text, len, "SUCCESSFUL_RECOVERY"))
        return NIC_AER_RECOVERED;
    if (is_text(text, len, "FAILED_RECOVERY"))
        return NIC_AER_FAILED;
    return NIC_AER_NONE;
}

struct words {
    bool is_pci, is_net, has_action;
};

static void take_word(const char *word, size_t len, struct words *seen, struct nic_uevent *out)
{
    const char *equals = len > 0 ? memchr(word, '=', len) : NULL;
    const char *value;
    size_t key_len, value_len;

    if (equals == NULL)
        return;
    key_len = (size_t)(equals - word);
    value = equals + 1;
    value_len = len - key_len - 1;
    if (is_text(word, key_len, "ACTION")) {
        seen->has_action = true;
        out->action = action_of(value, value_len);
    } else if (is_text(word, key_len, "SUBSYSTEM")) {
        seen->is_pci = is_text(value, value_len, "pci");
        seen->is_net = is_text(value, value_len, "net");
    } else if (is_text(word, key_len, "DEVPATH")) {
        take_path(value, value_len, out->pci);
    } else if (is_text(word, key_len, "PCI_SLOT_NAME")) {
        take_pci(value, value_len, out->pci);
    } else if (is_text(word, key_len, "INTERFACE")) {
        (void)parse_name(value, value_len, out->name);
    } else if (is_text(word, key_len, "ERROR_EVENT")) {
        out->aer = aer_of(value, value_len);
    }
}

enum parse_word parse_uevent(const uint8_t *bytes, size_t len, struct nic_uevent *out)
{
    const char *text = (const char *)bytes;
    struct words seen = {false, false, false};
    size_t begin = 0;

    memset(out, 0, sizeof *out);
    if (len == 0)
        return PARSE_END;
    /* "change@/devices/..." and then KEY=VALUE, each ended by a NUL (lib/kobject_uevent.c). */
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '\0')
            continue;
        take_word(text + begin, i - begin, &seen, out);
        begin = i + 1;
    }
    if (begin != len || !seen.has_action)
        return PARSE_BAD;
    out->is_net = seen.is_net;
    if (!seen.is_net && (!seen.is_pci || out->pci[0] == '\0'))
        return PARSE_OTHER;
    if (seen.is_net && out->name[0] == '\0')
        return PARSE_OTHER;
    return PARSE_GOT;
}
