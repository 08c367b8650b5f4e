#include "nicbond/legs.h"

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdio.h>
#include <string.h>

#include "supervisord/base/str.h"

/* agents/vm/render.h writes it: <hf:start xmlns:hf="..." no="3" uid="7"/> in <metadata>. */
#define MARK_NAMESPACE "urn:holdfast:start:1"

/* ---- parse ---- */

static void keep_silent(void *user, const char *format, ...)
{
    (void)user;
    (void)format;
}

void legs_init(void)
{
    xmlInitParser();
    xmlSetGenericErrorFunc(NULL, keep_silent);
}

/* A document type is where entities come from: stop there. */
static void refuse_doctype(void *user, const xmlChar *name, const xmlChar *external,
                           const xmlChar *system)
{
    (void)name;
    (void)external;
    (void)system;
    xmlStopParser(user);
}

static xmlDocPtr parse(const char *xml, size_t len)
{
    xmlParserCtxtPtr parser;
    xmlDocPtr doc;
    bool is_whole;

    if (len == 0 || len > HF_XML_MAX || memchr(xml, '\0', len) != NULL)
        return NULL;
    parser = xmlNewParserCtxt();
    if (parser == NULL)
        return NULL;
    parser->sax->internalSubset = refuse_doctype;
    doc = xmlCtxtReadMemory(parser, xml, (int)len, NULL, NULL,
                            XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    is_whole = parser->wellFormed != 0;
    xmlFreeParserCtxt(parser);
    if (doc != NULL && !is_whole) {
        xmlFreeDoc(doc);
        return NULL;
    }
    return doc;
}

/* ---- walk ---- */

static bool is_named(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

static const xmlNode *child(const xmlNode *parent, const char *name)
{
    if (parent == NULL)
        return NULL;
    for (const xmlNode *node = parent->children; node != NULL; node = node->next) {
        if (is_named(node, name))
            return node;
    }
    return NULL;
}

/* An attribute's text into out, "" when there is none or it does not fit. */
static bool attribute(const xmlNode *node, const char *name, char *out, size_t cap)
{
    xmlChar *text = node != NULL ? xmlGetProp(node, (const xmlChar *)name) : NULL;
    bool fits = text != NULL && hf_str_copy(out, cap, (const char *)text);

    xmlFree(text);
    if (!fits)
        out[0] = '\0';
    return fits;
}

static bool attribute_is(const xmlNode *node, const char *name, const char *wanted)
{
    char text[64];

    return attribute(node, name, text, sizeof text) && strcmp(text, wanted) == 0;
}

static bool number(const xmlNode *node, const char *name, uint32_t *out)
{
    char text[16];
    uint64_t value = 0;
    bool ok = attribute(node, name, text, sizeof text) && hf_str_to_u64(text, UINT32_MAX, &value);

    *out = ok ? (uint32_t)value : 0;
    return ok;
}

/* ---- the fields of one NIC ---- */

/* libvirt keeps aliases that begin with "ua-" as they were given. Other words than these are
 * refused where a VM is added, and mean nothing here. */
static enum legs_mark mark_of_nic(const xmlNode *node)
{
    const xmlNode *alias = child(node, "alias");

    if (attribute_is(alias, "name", "ua-leg-a"))
        return LEGS_IN_A;
    if (attribute_is(alias, "name", "ua-leg-b"))
        return LEGS_IN_B;
    return attribute_is(alias, "name", "ua-leg-none") ? LEGS_NO_LEG : LEGS_UNMARKED;
}

/* "0x1f", at most max; libvirt writes all of an address so. */
static bool hex(const xmlNode *node, const char *name, unsigned max, unsigned *out)
{
    char text[16];
    unsigned value = 0;

    if (!attribute(node, name, text, sizeof text) || strncmp(text, "0x", 2) != 0 || text[2] == '\0')
        return false;
    for (const char *at = text + 2; *at != '\0'; at++) {
        int digit = hf_str_hex_digit(*at);

        if (digit < 0 || value > max)
            return false;
        value = value * 16 + (unsigned)digit;
    }
    *out = value;
    return value <= max;
}

/* Of <address type='pci' domain= bus= slot= function=/>. */
static bool pci_of(const xmlNode *address, char out[HF_PCI_NAME_MAX + 1])
{
    unsigned domain = 0, bus = 0, slot = 0, function = 0;

    if (address == NULL || !hex(address, "domain", 0xffff, &domain) ||
        !hex(address, "bus", 0xff, &bus) || !hex(address, "slot", 0x1f, &slot) ||
        !hex(address, "function", 7, &function))
        return false;
    (void)snprintf(out, HF_PCI_NAME_MAX + 1, "%04x:%02x:%02x.%u", domain & 0xffffu, bus & 0xffu,
                   slot & 0x1fu, function & 7u);
    return true;
}

static bool mac_of(const xmlNode *mac, hf_mac *out)
{
    char text[18];

    if (!attribute(mac, "address", text, sizeof text) || strlen(text) != 17)
        return false;
    for (unsigned i = 0; i < 6; i++) {
        int high = hf_str_hex_digit(text[3 * i]), low = hf_str_hex_digit(text[3 * i + 1]);

        if (high < 0 || low < 0 || (i < 5 && text[3 * i + 2] != ':'))
            return false;
        out->byte[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

/* "tap0": a name that may stand in a path. */
static bool device_of(const xmlNode *target, char out[HF_IFNAME_MAX + 1])
{
    return attribute(target, "dev", out, HF_IFNAME_MAX + 1) && strchr(out, '/') == NULL &&
           out[0] != '.' && out[0] != '\0';
}

/* <interface>: what it really is stands in <actual> for one of a libvirt network. */
static bool interface_of(const xmlNode *node, struct legs_nic *nic)
{
    const xmlNode *actual = child(node, "actual");
    const xmlNode *real = actual != NULL ? actual : node;
    const xmlNode *source = child(real, "source");
    char type[32];

    *nic = (struct legs_nic){0};
    if (!mac_of(child(node, "mac"), &nic->mac) || !attribute(real, "type", type, sizeof type))
        return false;
    nic->is_off = attribute_is(child(node, "link"), "state", "down");
    if (strcmp(type, "hostdev") == 0) {
        nic->kind = HF_LEG_VF;
        return pci_of(child(source, "address"), nic->pci);
    }
    nic->kind = strcmp(type, "direct") == 0 ? HF_LEG_MACVTAP : HF_LEG_BRIDGE;
    return device_of(child(node, "target"), nic->device);
}

/* A plain <hostdev mode='subsystem' type='pci'>: a VF without a MAC in the XML. */
static bool hostdev_of(const xmlNode *node, struct legs_nic *nic)
{
    *nic = (struct legs_nic){.kind = HF_LEG_VF};
    return attribute_is(node, "type", "pci") && attribute_is(node, "mode", "subsystem") &&
           pci_of(child(child(node, "source"), "address"), nic->pci);
}

static void channel_of(const xmlNode *node, struct legs_vm *vm)
{
    if (attribute_is(node, "type", "unix") &&
        attribute_is(child(node, "target"), "name", HF_GUEST_PORT))
        (void)attribute(child(node, "source"), "path", vm->guest, sizeof vm->guest);
}

/* ---- the domain ---- */

static void mark_of(const xmlNode *domain, struct legs_vm *vm)
{
    const xmlNode *metadata = child(domain, "metadata");
    uint32_t priority;

    if (metadata == NULL)
        return;
    for (const xmlNode *node = metadata->children; node != NULL; node = node->next) {
        if (!is_named(node, "start") || node->ns == NULL || node->ns->href == NULL ||
            strcmp((const char *)node->ns->href, MARK_NAMESPACE) != 0)
            continue;
        if (!number(node, "no", &vm->start_no) || !number(node, "uid", &vm->uid)) {
            vm->uid = 0;
            vm->start_no = 0;
        }
        if (number(node, "priority", &priority) && priority <= HF_PRIORITY_MAX)
            vm->priority = (uint16_t)priority;
        return;
    }
}

static enum hf_code devices_of(const xmlNode *devices, struct legs_vm *vm, struct hf_err *err)
{
    bool is_cut = false;

    if (devices == NULL)
        return HF_OK;
    for (const xmlNode *node = devices->children; node != NULL; node = node->next) {
        struct legs_nic nic;
        bool is_nic = (is_named(node, "interface") && interface_of(node, &nic)) ||
                      (is_named(node, "hostdev") && hostdev_of(node, &nic));

        if (is_nic)
            nic.mark = mark_of_nic(node);
        if (is_nic && vm->nics_count < LEGS_NICS_MAX)
            vm->nic[vm->nics_count++] = nic;
        else if (is_nic)
            is_cut = true;
        if (is_named(node, "channel"))
            channel_of(node, vm);
    }
    if (is_cut)
        return hf_err_set(err, HF_EFULL, "%s: more than %d NICs; the first ones count", vm->name,
                          LEGS_NICS_MAX);
    return HF_OK;
}

enum hf_code legs_parse(const char *name, const char *xml, size_t len, struct legs_vm *vm,
                        struct hf_err *err)
{
    xmlDocPtr doc = parse(xml, len);
    const xmlNode *root = doc != NULL ? xmlDocGetRootElement(doc) : NULL;
    const xmlNode *domain = NULL;
    enum hf_code code;

    *vm = (struct legs_vm){0};
    (void)hf_str_copy(vm->name, sizeof vm->name, name);
    if (root != NULL)
        domain = is_named(root, "domain") ? root : child(root, "domain");
    if (domain == NULL) {
        code = hf_err_set(err, HF_EBAD, "%s: its status file is no domain's XML", name);
    } else {
        mark_of(domain, vm);
        code = devices_of(child(domain, "devices"), vm, err);
    }
    xmlFreeDoc(doc);
    return code;
}
