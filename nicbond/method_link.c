/* method_link.c - the link of a virtio NIC, through libvirt: the guest's driver sees its carrier
 * go. libvirt wants to be told the whole NIC as it is, with the link changed. */
#include "nicbond/method.h"

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdio.h>
#include <string.h>

#include "nicbond/method_xml.h"

/* In <link state='down'/>, made if it is not there. */
static bool set_link(xmlNodePtr interface, bool is_off)
{
    xmlNodePtr link = method_xml_child(interface, "link");

    if (link == NULL)
        link = xmlNewChild(interface, NULL, (const xmlChar *)"link", NULL);
    return link != NULL && xmlSetProp(link, (const xmlChar *)"state",
                                      (const xmlChar *)(is_off ? "down" : "up")) != NULL;
}

enum hf_code method_link_xml(const char *domain, size_t len, hf_mac mac, bool is_off, char **out,
                             struct hf_err *err)
{
    xmlDocPtr doc;
    xmlNodePtr nic;

    if (method_xml_find(domain, len, mac, &doc, &nic, err) != HF_OK)
        return err->code;
    if (method_xml_is_hostdev(nic))
        (void)hf_err_set(err, HF_EINVAL, "the link of a hostdev NIC cannot be set");
    else if (!set_link(nic, is_off))
        (void)hf_err_set(err, HF_EIO, "XML: out of memory");
    else
        err->code = method_xml_text(doc, nic, out, err);
    xmlFreeDoc(doc);
    return err->code;
}

void method_link_mark(const char *state_folder, const char *name, hf_mac mac, char *path,
                      size_t cap)
{
    (void)snprintf(path, cap, "%s/link-%s-%02x%02x%02x%02x%02x%02x", state_folder, name,
                   mac.byte[0], mac.byte[1], mac.byte[2], mac.byte[3], mac.byte[4], mac.byte[5]);
}
