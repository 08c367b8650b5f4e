#include "agents/vm/render.h"

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisord/base/str.h"

enum {
    DEPTH_MAX = 64, /* libvirt's deepest is about 12 */
};

/* ---- parse ---- */

static void keep_silent(void *user, const char *format, ...)
{
    (void)user;
    (void)format;
}

void render_init(void)
{
    xmlInitParser();
    xmlSetGenericErrorFunc(NULL, keep_silent);
}

/* A document type is where entities come from: stop there, before any is read. */
static void refuse_doctype(void *user, const xmlChar *name, const xmlChar *external,
                           const xmlChar *system)
{
    xmlParserCtxtPtr parser = user;

    (void)name;
    (void)external;
    (void)system;
    parser->_private = parser; /* remembered: the reason */
    xmlStopParser(parser);
}

static enum hf_code parse(const char *xml, size_t len, xmlDocPtr *doc, struct hf_err *err)
{
    xmlParserCtxtPtr parser;
    bool has_doctype;

    if (len == 0 || len > HF_XML_MAX)
        return hf_err_set(err, HF_EBAD, "XML of %zu bytes, not 1 to %d", len, (int)HF_XML_MAX);
    if (memchr(xml, '\0', len) != NULL)
        return hf_err_set(err, HF_EBAD, "XML holds a zero byte: it must be UTF-8");
    parser = xmlNewParserCtxt();
    if (parser == NULL)
        return hf_err_set(err, HF_EIO, "XML: out of memory");
    parser->sax->internalSubset = refuse_doctype;
    *doc = xmlCtxtReadMemory(parser, xml, (int)len, NULL, NULL,
                             XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
    has_doctype = parser->_private != NULL;
    xmlFreeParserCtxt(parser);
    if (has_doctype) {
        xmlFreeDoc(*doc);
        return hf_err_set(err, HF_EINVAL, "XML with a DOCTYPE is refused");
    }
    if (*doc == NULL)
        return hf_err_set(err, HF_EBAD, "XML is not well-formed");
    return HF_OK;
}

/* ---- walk ---- */

static bool is_named(const xmlNode *node, const char *name)
{
    return node->type == XML_ELEMENT_NODE && strcmp((const char *)node->name, name) == 0;
}

static xmlNodePtr child(const xmlNode *parent, const char *name)
{
    for (xmlNodePtr node = parent->children; node != NULL; node = node->next) {
        if (is_named(node, name))
            return node;
    }
    return NULL;
}

/* The next node in document order below root; *depth is kept. NULL at the end. */
static xmlNodePtr next_node(xmlNodePtr node, const xmlNode *root, unsigned *depth)
{
    if (node->type == XML_ELEMENT_NODE && node->children != NULL) {
        (*depth)++;
        return node->children;
    }
    while (node != root && node->next == NULL) {
        node = node->parent;
        (*depth)--;
    }
    return node == root ? NULL : node->next;
}

static bool text_is(const xmlNode *node, const char *wanted)
{
    xmlChar *text = xmlNodeGetContent(node);
    bool same = text != NULL && strcmp((const char *)text, wanted) == 0;

    xmlFree(text);
    return same;
}

/* ---- lint ---- */

/* Words that turn qemu's image locks off, wherever they stand. */
static bool disables_locks(const char *name, const char *value)
{
    if (strcmp(name, "locking") == 0 && strcmp(value, "off") == 0)
        return true;
    return strstr(value, "locking=off") != NULL || strstr(value, "force-share=on") != NULL ||
           strstr(value, "force-share=true") != NULL ||
           (strstr(value, "\"locking\"") != NULL && strstr(value, "\"off\"") != NULL) ||
           strstr(value, "\"force-share\"") != NULL;
}

static enum hf_code lint_attributes(const xmlNode *node, struct hf_err *err)
{
    for (const xmlAttr *attr = node->properties; attr != NULL; attr = attr->next) {
        xmlChar *value = xmlNodeGetContent((const xmlNode *)attr);
        bool bad = value != NULL && disables_locks((const char *)attr->name, (const char *)value);

        xmlFree(value);
        if (bad)
            return hf_err_set(err, HF_EINVAL, "<%s %s=...> turns image locks off", node->name,
                              attr->name);
    }
    return HF_OK;
}

static enum hf_code lint_tree(xmlNodePtr root, struct hf_err *err)
{
    unsigned depth = 0;

    for (xmlNodePtr node = root; node != NULL; node = next_node(node, root, &depth)) {
        if (depth > DEPTH_MAX)
            return hf_err_set(err, HF_EINVAL, "XML is deeper than %d elements", (int)DEPTH_MAX);
        if (node->type == XML_ENTITY_REF_NODE)
            return hf_err_set(err, HF_EINVAL, "XML with entities is refused");
        if (node->type != XML_ELEMENT_NODE)
            continue;
        if (is_named(node, "shareable"))
            return hf_err_set(err, HF_EINVAL, "<shareable/> allows two writers on one disk");
        if (lint_attributes(node, err) != HF_OK)
            return err->code;
    }
    return HF_OK;
}

static enum hf_code lint(xmlNodePtr root, const char *name, struct hf_err *err)
{
    unsigned names = 0;

    if (root == NULL || !is_named(root, "domain"))
        return hf_err_set(err, HF_EINVAL, "XML is not a <domain>");
    for (const xmlNode *node = root->children; node != NULL; node = node->next) {
        if (is_named(node, "name")) {
            names++;
            if (!text_is(node, name))
                return hf_err_set(err, HF_EINVAL, "<name> is not %s", name);
        }
        if (is_named(node, "on_crash") && !text_is(node, "destroy"))
            return hf_err_set(err, HF_EINVAL, "<on_crash> must be destroy: restarts are ours");
    }
    if (names != 1)
        return hf_err_set(err, HF_EINVAL, "XML has %u <name>, not one", names);
    return lint_tree(root, err);
}

/* ---- the mark ---- */

static bool is_mark(const xmlNode *node)
{
    return is_named(node, "start") && node->ns != NULL && node->ns->href != NULL &&
           strcmp((const char *)node->ns->href, RENDER_NAMESPACE) == 0;
}

static void remove_marks(xmlNodePtr metadata)
{
    xmlNodePtr next;

    for (xmlNodePtr node = metadata->children; node != NULL; node = next) {
        next = node->next;
        if (is_mark(node)) {
            xmlUnlinkNode(node);
            xmlFreeNode(node);
        }
    }
}

static bool set_number(xmlNodePtr node, const char *name, uint32_t value)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%u", (unsigned)value);
    return xmlNewProp(node, (const xmlChar *)name, (const xmlChar *)text) != NULL;
}

static enum hf_code add_mark(xmlNodePtr root, hf_vm_uid uid, uint32_t start_no,
                             struct hf_err *err)
{
    xmlNodePtr metadata = child(root, "metadata");
    xmlNodePtr mark;
    xmlNsPtr ns;

    if (metadata == NULL)
        metadata = xmlNewChild(root, NULL, (const xmlChar *)"metadata", NULL);
    if (metadata == NULL)
        return hf_err_set(err, HF_EIO, "XML: out of memory");
    remove_marks(metadata);
    mark = xmlNewChild(metadata, NULL, (const xmlChar *)"start", NULL);
    ns = mark != NULL ? xmlNewNs(mark, (const xmlChar *)RENDER_NAMESPACE, (const xmlChar *)"hf")
                      : NULL;
    if (ns == NULL)
        return hf_err_set(err, HF_EIO, "XML: out of memory");
    xmlSetNs(mark, ns);
    if (!set_number(mark, "no", start_no) || !set_number(mark, "uid", uid))
        return hf_err_set(err, HF_EIO, "XML: out of memory");
    return HF_OK;
}

enum hf_code render_start(const char *xml, size_t len, const char *name, hf_vm_uid uid,
                          uint32_t start_no, char **out, struct hf_err *err)
{
    xmlChar *text = NULL;
    xmlDocPtr doc = NULL;
    xmlNodePtr root;
    enum hf_code code;
    int bytes = 0;

    if (parse(xml, len, &doc, err) != HF_OK)
        return err->code;
    root = xmlDocGetRootElement(doc);
    code = lint(root, name, err);
    if (code == HF_OK)
        code = add_mark(root, uid, start_no, err);
    if (code == HF_OK) {
        xmlDocDumpMemory(doc, &text, &bytes);
        *out = text != NULL ? strndup((const char *)text, (size_t)bytes) : NULL;
        if (*out == NULL)
            code = hf_err_set(err, HF_EIO, "XML: out of memory");
        xmlFree(text);
    }
    xmlFreeDoc(doc);
    return code;
}

static bool get_number(const xmlNode *node, const char *name, uint32_t *value)
{
    xmlChar *text = xmlGetProp(node, (const xmlChar *)name);
    uint64_t number = 0;
    bool ok = text != NULL && hf_str_to_u64((const char *)text, UINT32_MAX, &number);

    xmlFree(text);
    *value = (uint32_t)number;
    return ok && number > 0;
}

static const xmlNode *find_mark(const xmlNode *root)
{
    const xmlNode *domain = is_named(root, "domstatus") ? child(root, "domain") : root;
    const xmlNode *metadata = domain != NULL ? child(domain, "metadata") : NULL;

    for (const xmlNode *node = metadata != NULL ? metadata->children : NULL; node != NULL;
         node = node->next) {
        if (is_mark(node))
            return node;
    }
    return NULL;
}

enum hf_code render_read(const char *xml, size_t len, hf_vm_uid *uid, uint32_t *start_no,
                         struct hf_err *err)
{
    const xmlNode *root, *mark;
    xmlDocPtr doc = NULL;
    enum hf_code code = HF_OK;

    if (parse(xml, len, &doc, err) != HF_OK)
        return err->code;
    root = xmlDocGetRootElement(doc);
    mark = root != NULL ? find_mark(root) : NULL;
    if (mark == NULL)
        code = hf_err_set(err, HF_ENOENT, "the domain has no mark of a start");
    else if (!get_number(mark, "no", start_no) || !get_number(mark, "uid", uid))
        code = hf_err_set(err, HF_EBAD, "the domain's mark of a start has no numbers");
    xmlFreeDoc(doc);
    return code;
}

static bool has_word(const xmlNode *node, const char *name, const char *word)
{
    xmlChar *text = xmlGetProp(node, (const xmlChar *)name);
    bool ok = text != NULL && strcmp((const char *)text, word) == 0;

    xmlFree(text);
    return ok;
}

/* libvirt 9.0: "starting up" until qemu's monitor answers, then "user", as for a virsh suspend. */
bool render_is_paused(const char *xml, size_t len, uint32_t pid)
{
    const xmlNode *root;
    xmlDocPtr doc = NULL;
    struct hf_err err;
    uint32_t of = 0;
    bool ok;

    if (parse(xml, len, &doc, &err) != HF_OK)
        return false;
    root = xmlDocGetRootElement(doc);
    ok = root != NULL && is_named(root, "domstatus") && has_word(root, "state", "paused") &&
         (has_word(root, "reason", "user") || has_word(root, "reason", "starting up")) &&
         get_number(root, "pid", &of) && of == pid;
    xmlFreeDoc(doc);
    return ok;
}
