/* cmd_xml_nic.c - the interfaces of a domain, as its XML tells them. */
#include "supervisord/ctl/cmd_xml.h"

#include "supervisord/base/str.h"

#include <stdlib.h>
#include <string.h>

#define MARK "ua-leg-" /* libvirt keeps aliases that begin with ua- as they were given */

/* False: it has none, or one that does not fit. */
static bool attribute(const xmlNode *node, const char *name, char *out, size_t cap)
{
    xmlChar *text = node != NULL ? xmlGetProp(node, (const xmlChar *)name) : NULL;
    bool fits = text != NULL && hf_str_copy(out, cap, (const char *)text);

    if (!fits)
        out[0] = '\0';
    xmlFree(text);
    return fits;
}

/* "0x0a" or "10", as libvirt takes them. */
static bool number(const xmlNode *node, const char *name, unsigned long max, unsigned long *out)
{
    char text[16], *end;

    if (!attribute(node, name, text, sizeof text) || text[0] < '0' || text[0] > '9')
        return false;
    *out = strtoul(text, &end, 0);
    return *end == '\0' && *out <= max;
}

static bool pci_address(const xmlNode *source, char out[HF_IFNAME_MAX + 1])
{
    const xmlNode *address = source != NULL ? cmd_xml_child(source, "address") : NULL;
    unsigned long domain = 0, bus, slot, function;

    if (address == NULL || !number(address, "bus", 0xff, &bus) ||
        !number(address, "slot", 0x1f, &slot) || !number(address, "function", 7, &function))
        return false;
    if (xmlHasProp(address, (const xmlChar *)"domain") != NULL &&
        !number(address, "domain", 0xffff, &domain))
        return false;
    (void)snprintf(out, HF_IFNAME_MAX + 1, "%04lx:%02lx:%02lx.%lx", domain & 0xffff, bus & 0xff,
                   slot & 0x1f, function & 7);
    return true;
}

/* Unknown words after ua-leg- are a mistake that must not be overlooked. */
static enum hf_code read_mark(const xmlNode *node, struct cmd_nic *nic, struct hf_err *err)
{
    char alias[64];
    const char *word = alias + strlen(MARK);

    if (!attribute(cmd_xml_child(node, "alias"), "name", alias, sizeof alias) ||
        strncmp(alias, MARK, strlen(MARK)) != 0)
        return HF_OK;
    nic->mark = CMD_NIC_MARKED;
    if (strcmp(word, "none") == 0)
        nic->mark = CMD_NIC_NO_LEG;
    else if (strcmp(word, "a") == 0 || strcmp(word, "b") == 0)
        nic->fabric = (hf_fabric)(word[0] - 'a');
    else
        return hf_err_set(err, HF_EINVAL,
                          "line %u: alias '%.40s' marks no leg: there are " MARK "a, " MARK
                          "b and " MARK "none",
                          nic->line, alias);
    return HF_OK;
}

static void read_source(const xmlNode *node, struct cmd_nic *nic)
{
    const xmlNode *source = cmd_xml_child(node, "source");
    char type[16];

    (void)attribute(node, "type", type, sizeof type);

    bool is_bridge = strcmp(type, "bridge") == 0, is_direct = strcmp(type, "direct") == 0;

    if ((strcmp(type, "hostdev") == 0 || strcmp(type, "pci") == 0) &&
        pci_address(source, nic->source))
        nic->kind = CMD_NIC_PCI;
    else if ((is_bridge || is_direct) &&
             attribute(source, is_bridge ? "bridge" : "dev", nic->source, sizeof nic->source))
        nic->kind = CMD_NIC_LINK;
    /* It becomes part of a path. */
    if (nic->kind == CMD_NIC_LINK && !hf_str_is_name(nic->source, HF_IFNAME_MAX)) {
        nic->kind = CMD_NIC_OTHER;
        nic->source[0] = '\0';
    }
}

/* What it says of itself goes to a terminal. */
static bool is_mac(const char *text)
{
    return strlen(text) == CMD_MAC_MAX && text[strspn(text, "0123456789abcdefABCDEF:")] == '\0';
}

static enum hf_code read_nic(const xmlNode *node, struct cmd_nic *nic, struct hf_err *err)
{
    long line = xmlGetLineNo(node);

    nic->line = line > 0 ? (unsigned)line : 0;
    if (!attribute(cmd_xml_child(node, "mac"), "address", nic->mac, sizeof nic->mac) ||
        !is_mac(nic->mac))
        nic->mac[0] = '\0';
    read_source(node, nic);
    return read_mark(node, nic, err);
}

enum hf_code cmd_xml_nics(const xmlNode *root, struct cmd_domain *domain, struct hf_err *err)
{
    const xmlNode *devices = cmd_xml_child(root, "devices");

    for (const xmlNode *node = devices != NULL ? devices->children : NULL; node != NULL;
         node = node->next) {
        bool is_nic =
            node->type == XML_ELEMENT_NODE && (strcmp((const char *)node->name, "interface") == 0 ||
                                               strcmp((const char *)node->name, "hostdev") == 0);

        if (!is_nic)
            continue;
        if (domain->nics_count == CMD_NICS_MAX)
            return hf_err_set(err, HF_EINVAL, "more than %d interfaces and PCI devices",
                              CMD_NICS_MAX);
        if (read_nic(node, &domain->nics[domain->nics_count++], err) != HF_OK)
            return err->code;
    }
    return HF_OK;
}
