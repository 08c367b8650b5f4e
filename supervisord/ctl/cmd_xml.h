/* cmd_xml.h - what the files that read a domain's XML share; nobody else includes it. */
#ifndef SUPERVISORD_CTL_CMD_XML_H
#define SUPERVISORD_CTL_CMD_XML_H

#include <libxml/tree.h>

#include "supervisord/ctl/cmd.h"

/* The first element of this name; NULL: none. */
const xmlNode *cmd_xml_child(const xmlNode *parent, const char *name);
/* The interfaces of <devices>, and PCI devices that are given away whole. */
enum hf_code cmd_xml_nics(const xmlNode *root, struct cmd_domain *domain, struct hf_err *err);

#endif
