#include "supervisord/ctl/cmd_xml.h"

#include "supervisord/base/str.h"

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <string.h>
#include <strings.h>

/* Deeper than any domain's XML that libvirt writes (about 8); the walk keeps no stack of its own.
 */
enum { DEPTH_MAX = 32 };

const xmlNode *cmd_xml_child(const xmlNode *parent, const char *name)
{
    for (const xmlNode *node = parent->children; node != NULL; node = node->next)
        if (node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0)
            return node;
    return NULL;
}

/* The text of an element that holds nothing else, without blanks around it. */
static bool text_of(const xmlNode *node, char *out, size_t cap)
{
    const char *text;
    size_t len;

    if (node->children == NULL || node->children->type != XML_TEXT_NODE ||
        node->children->next != NULL || node->children->content == NULL)
        return false;
    text = (const char *)node->children->content;
    text += strspn(text, " \t\r\n");
    len = strcspn(text, " \t\r\n");
    if (len == 0 || len >= cap || text[len + strspn(text + len, " \t\r\n")] != '\0')
        return false;
    memcpy(out, text, len);
    out[len] = '\0';
    return true;
}

/* Units of libvirt's scaled integers; without one it is KiB. */
static bool unit_bytes(const xmlNode *node, uint64_t *bytes)
{
    static const struct {
        const char *unit;
        uint64_t bytes;
    } units[] = {
        {"b", 1},           {"bytes", 1},        {"KB", 1000},        {"k", 1024},
        {"KiB", 1024},      {"MB", 1000000},     {"M", 1ULL << 20},   {"MiB", 1ULL << 20},
        {"GB", 1000000000}, {"G", 1ULL << 30},   {"GiB", 1ULL << 30}, {"TB", 1000000000000},
        {"T", 1ULL << 40},  {"TiB", 1ULL << 40},
    };
    xmlChar *unit = xmlGetProp(node, (const xmlChar *)"unit");
    const char *text = unit != NULL ? (const char *)unit : "KiB";

    *bytes = 0;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcasecmp(text, units[i].unit) == 0)
            *bytes = units[i].bytes;
    xmlFree(unit);
    return *bytes != 0;
}

static enum hf_code read_memory(const xmlNode *root, uint32_t *mib, struct hf_err *err)
{
    const uint64_t mebi = 1 << 20;
    const xmlNode *node = cmd_xml_child(root, "memory");
    uint64_t count, bytes;
    char text[32];

    if (node == NULL)
        return hf_err_set(err, HF_EINVAL, "no <memory>");
    if (!text_of(node, text, sizeof text) || !hf_str_to_u64(text, UINT64_MAX, &count) ||
        !unit_bytes(node, &bytes) || count == 0 || count > (uint64_t)UINT32_MAX * mebi / bytes)
        return hf_err_set(err, HF_EINVAL, "<memory> is not a size");
    *mib = (uint32_t)((count * bytes + mebi - 1) / mebi);
    return HF_OK;
}

/* What would let a VM run twice, or come back behind our back. */
static enum hf_code lint_element(const xmlNode *node, struct hf_err *err)
{
    char text[64];

    if (strcmp((const char *)node->name, "shareable") == 0)
        return hf_err_set(err, HF_EINVAL, "line %ld: <shareable/> lets two VMs write one disk",
                          xmlGetLineNo(node));
    if (strcmp((const char *)node->name, "on_crash") == 0 &&
        (!text_of(node, text, sizeof text) || strcmp(text, "destroy") != 0))
        return hf_err_set(err, HF_EINVAL,
                          "line %ld: <on_crash> must be destroy: restarting is Holdfast's work",
                          xmlGetLineNo(node));
    return HF_OK;
}

static enum hf_code lint(const xmlNode *root, struct hf_err *err)
{
    const xmlNode *node = root;
    unsigned depth = 0;

    while (node != NULL) {
        if (node->type == XML_ELEMENT_NODE && lint_element(node, err) != HF_OK)
            return err->code;
        if (node->type == XML_ELEMENT_NODE && node->children != NULL) {
            if (++depth > DEPTH_MAX)
                return hf_err_set(err, HF_EINVAL, "elements are nested deeper than %d", DEPTH_MAX);
            node = node->children;
            continue;
        }
        while (node != root && node->next == NULL) {
            node = node->parent;
            depth--;
        }
        node = node == root ? NULL : node->next;
    }
    return HF_OK;
}

static enum hf_code read_domain(xmlDoc *doc, struct cmd_domain *domain, struct hf_err *err)
{
    const xmlNode *root = xmlDocGetRootElement(doc);
    const xmlNode *name;

    if (xmlGetIntSubset(doc) != NULL)
        return hf_err_set(err, HF_EINVAL, "a DOCTYPE is refused");
    if (root == NULL || strcmp((const char *)root->name, "domain") != 0)
        return hf_err_set(err, HF_EINVAL, "the root element is not <domain>");
    name = cmd_xml_child(root, "name");
    if (name == NULL)
        return hf_err_set(err, HF_EINVAL, "no <name>");
    if (!text_of(name, domain->name, sizeof domain->name) ||
        !hf_str_is_name(domain->name, HF_NAME_MAX))
        return hf_err_set(err, HF_EINVAL,
                          "<name> must be 1 to %d letters, digits, '.', '_' or '-', the first a "
                          "letter or digit",
                          HF_NAME_MAX);
    if (read_memory(root, &domain->memory_mib, err) != HF_OK ||
        cmd_xml_nics(root, domain, err) != HF_OK)
        return err->code;
    return lint(root, err);
}

enum hf_code cmd_xml_read(const char *xml, size_t len, struct cmd_domain *domain,
                          struct hf_err *err)
{
    xmlParserCtxt *parser;
    xmlDoc *doc;
    enum hf_code code;

    memset(domain, 0, sizeof *domain);
    if (len == 0 || len > HF_XML_MAX)
        return hf_err_set(err, HF_EINVAL, "%zu bytes: a domain's XML has 1 to %d", len, HF_XML_MAX);
    parser = xmlNewParserCtxt();
    if (parser == NULL)
        return hf_err_set(err, HF_EIO, "out of memory");
    doc = xmlCtxtReadMemory(parser, xml, (int)len, NULL, NULL,
                            XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    if (doc == NULL) {
        const xmlError *error = xmlCtxtGetLastError(parser);
        const char *text = error != NULL && error->message != NULL ? error->message : "unknown";

        code = hf_err_set(err, HF_EINVAL, "line %d: not well-formed XML: %.*s",
                          error != NULL ? error->line : 0, (int)strcspn(text, "\n"), text);
    } else {
        code = read_domain(doc, domain, err);
    }
    xmlFreeDoc(doc);
    xmlFreeParserCtxt(parser);
    return code;
}
