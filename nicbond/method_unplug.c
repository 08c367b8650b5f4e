/* method_unplug.c - the NIC out of its VM, through libvirt: the last rung. The guest must take
 * part, its accelerated stacks do not like it, and putting it back is a person's decision. */
#include "nicbond/method.h"

#include <libxml/tree.h>

#include "nicbond/method_xml.h"

enum hf_code method_unplug_xml(const char *domain, size_t len, hf_mac mac, char **out,
                               struct hf_err *err)
{
    xmlDocPtr doc;
    xmlNodePtr nic;

    if (method_xml_find(domain, len, mac, &doc, &nic, err) != HF_OK)
        return err->code;
    err->code = method_xml_text(doc, nic, out, err);
    xmlFreeDoc(doc);
    return err->code;
}
