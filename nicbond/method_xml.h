/* method_xml.h - one NIC in a live domain's XML: found by its MAC, and as text again. Shared by the
 * methods that go through libvirt. Pure: libxml2 on memory, no network, no DTD. */
#ifndef NICBOND_METHOD_XML_H
#define NICBOND_METHOD_XML_H

#include <libxml/tree.h>

#include "supervisord/base/err.h"
#include "supervisord/wire/guest_frame.h"

/* The <interface> with this MAC. The caller frees doc. HF_ENOENT: none, HF_EBAD: no XML, or more
 * than one. */
enum hf_code method_xml_find(const char *domain, size_t len, hf_mac mac, xmlDocPtr *doc,
                             xmlNodePtr *nic, struct hf_err *err);
xmlNodePtr method_xml_child(const xmlNode *parent, const char *name);
bool method_xml_is_hostdev(const xmlNode *nic);
/* malloc'ed text of the node. */
enum hf_code method_xml_text(xmlDocPtr doc, xmlNodePtr nic, char **out, struct hf_err *err);

#endif
