#include "nicbond/method_xml.h"

#include <libxml/parser.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "supervisord/model/limits.h"

xmlNodePtr method_xml_child(const xmlNode *parent, const char *name)
{
    for (xmlNodePtr node = parent->children; node != NULL; node = node->next) {
        if (node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0)
            return node;
    }
    return NULL;
}

static bool attribute_is(const xmlNode *node, const char *name, const char *wanted)
{
    xmlChar *text = node != NULL ? xmlGetProp(node, (const xmlChar *)name) : NULL;
    bool same = text != NULL && strcasecmp((const char *)text, wanted) == 0;

    xmlFree(text);
    return same;
}

bool method_xml_is_hostdev(const xmlNode *nic)
{
    const xmlNode *actual = method_xml_child(nic, "actual");

    return attribute_is(actual != NULL ? actual : nic, "type", "hostdev");
}

static enum hf_code find(const xmlNode *root, hf_mac mac, xmlNodePtr *nic, struct hf_err *err)
{
    const xmlNode *devices = root != NULL ? method_xml_child(root, "devices") : NULL;
    char wanted[18];

    (void)snprintf(wanted, sizeof wanted, "%02x:%02x:%02x:%02x:%02x:%02x", mac.byte[0], mac.byte[1],
                   mac.byte[2], mac.byte[3], mac.byte[4], mac.byte[5]);
    *nic = NULL;
    if (devices == NULL)
        return hf_err_set(err, HF_EBAD, "the domain's XML has no devices");
    for (xmlNodePtr node = devices->children; node != NULL; node = node->next) {
        if (node->type != XML_ELEMENT_NODE || strcmp((const char *)node->name, "interface") != 0 ||
            !attribute_is(method_xml_child(node, "mac"), "address", wanted))
            continue;
        if (*nic != NULL)
            return hf_err_set(err, HF_EBAD, "two NICs have the address %s", wanted);
        *nic = node;
    }
    if (*nic == NULL)
        return hf_err_set(err, HF_ENOENT, "no NIC has the address %s", wanted);
    return HF_OK;
}

enum hf_code method_xml_find(const char *domain, size_t len, hf_mac mac, xmlDocPtr *doc,
                             xmlNodePtr *nic, struct hf_err *err)
{
    *doc = NULL;
    if (len > 0 && len <= HF_XML_MAX)
        *doc = xmlReadMemory(domain, (int)len, NULL, NULL,
                             XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    if (*doc == NULL)
        return hf_err_set(err, HF_EBAD, "the domain's XML does not read");
    if (find(xmlDocGetRootElement(*doc), mac, nic, err) == HF_OK)
        return HF_OK;
    xmlFreeDoc(*doc);
    *doc = NULL;
    return err->code;
}

enum hf_code method_xml_text(xmlDocPtr doc, xmlNodePtr nic, char **out, struct hf_err *err)
{
    xmlBufferPtr buffer = xmlBufferCreate();

    *out = NULL;
    if (buffer != NULL && xmlNodeDump(buffer, doc, nic, 0, 0) >= 0)
        *out = strdup((const char *)xmlBufferContent(buffer));
    if (buffer != NULL)
        xmlBufferFree(buffer);
    return *out != NULL ? HF_OK : hf_err_set(err, HF_EIO, "XML: out of memory");
}
