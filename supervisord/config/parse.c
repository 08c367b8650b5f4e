#include "supervisord/config/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"
#include "supervisord/config/internal.h"

/* A section whose '}' has not come yet. */
struct open_section {
    enum config_section_id id;
    char name[HF_NAME_MAX + 1]; /* "" when its kind has none */
    struct config_place place;
    void *record;               /* where its keys land */
    struct config_place *given; /* [CONFIG_KEYS_MAX], by slot */
};

struct parser {
    struct config_draft draft;
    struct open_section open[CONFIG_DEPTH_MAX];
    unsigned depth;
    struct config_place device_given[CONFIG_KEYS_MAX]; /* of the device being read */
    struct config_place params_place;                  /* of its params; line 0 = none yet */
    struct config_place cluster_given[CONFIG_KEYS_MAX];
    struct config_place here; /* of the first character of the line */
};

/* ---- messages ---- */

enum hf_code config_fail(const struct config_draft *draft, struct config_place place,
                         struct hf_err *err, const char *format, ...)
{
    char text[sizeof err->text];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return hf_err_set(err, HF_EINVAL, "%s:%u:%u: %s", draft->file, (unsigned)place.line,
                      (unsigned)place.column, text);
}

const char *config_quote(const char *text, char out[CONFIG_QUOTE_MAX])
{
    enum { SHOWN_MAX = HF_NAME_MAX };
    size_t len = 0, next;

    while (text[len] != '\0' && (next = hf_str_utf8(text + len)) > 0 && len + next <= SHOWN_MAX)
        len += next;
    (void)snprintf(out, CONFIG_QUOTE_MAX, "'%.*s%s'", (int)len, text,
                   text[len] != '\0' ? "..." : "");
    return out;
}

/* "section 'node n1'", "section 'params' of fence_device 'bmc-n1'", "the file" */
static const char *where(const struct parser *p, char out[2 * CONFIG_QUOTE_MAX])
{
    const struct open_section *top = p->depth > 0 ? &p->open[p->depth - 1] : NULL;
    const char *kind = top != NULL ? config_sections[top->id].name : "";

    if (top == NULL)
        (void)snprintf(out, 2 * CONFIG_QUOTE_MAX, "the file");
    else if (top->name[0] != '\0')
        (void)snprintf(out, 2 * CONFIG_QUOTE_MAX, "section '%s %s'", kind, top->name);
    else if (p->depth > 1)
        (void)snprintf(out, 2 * CONFIG_QUOTE_MAX, "section '%s' of %s '%s'", kind,
                       config_sections[p->open[0].id].name, p->open[0].name);
    else
        (void)snprintf(out, 2 * CONFIG_QUOTE_MAX, "section '%s'", kind);
    return out;
}

static enum config_section_id section_now(const struct parser *p)
{
    return p->depth > 0 ? p->open[p->depth - 1].id : CONFIG_TOP;
}

static bool is_given(struct config_place place)
{
    return place.line != 0;
}

/* ---- sections ---- */

static enum hf_code fail_unknown_section(const struct parser *p, const char *word,
                                         struct hf_err *err)
{
    enum config_section_id id = config_section_find(word);
    const char *near = config_nearest_section(section_now(p), word);
    char in[2 * CONFIG_QUOTE_MAX], quoted[CONFIG_QUOTE_MAX];

    if (id == CONFIG_TOP && near != NULL)
        return config_fail(&p->draft, p->here, err, "unknown section %s in %s (did you mean '%s'?)",
                           config_quote(word, quoted), where(p, in), near);
    if (id == CONFIG_TOP)
        return config_fail(&p->draft, p->here, err, "unknown section %s in %s",
                           config_quote(word, quoted), where(p, in));
    if (p->depth > 0 && config_sections[id].parent == CONFIG_TOP)
        return config_fail(
            &p->draft, p->here, err,
            "section '%s' cannot be inside %s, opened at line %u: is its '}' missing?", word,
            where(p, in), (unsigned)p->open[p->depth - 1].place.line);
    return config_fail(&p->draft, p->here, err, "section '%s' belongs inside section '%s'", word,
                       config_sections[config_sections[id].parent].name);
}

static enum hf_code open_once(struct parser *p, enum config_section_id id,
                              struct config_place *place, struct hf_err *err)
{
    if (is_given(*place))
        return config_fail(&p->draft, p->here, err, "section '%s' is given twice, first at line %u",
                           config_sections[id].name, (unsigned)place->line);
    *place = p->here;
    return HF_OK;
}

static enum hf_code open_node(struct parser *p, struct open_section *opened, struct hf_err *err)
{
    struct config_draft *draft = &p->draft;
    struct hf_group *group = &draft->config->group;
    struct config_node *node = &draft->node[group->nodes_count];

    for (unsigned i = 0; i < group->nodes_count; i++)
        if (strcmp(draft->node[i].def.name, opened->name) == 0)
            return config_fail(draft, p->here, err, "node '%s' is given twice, first at line %u",
                               opened->name, (unsigned)draft->node[i].opened.line);
    if (group->nodes_count >= HF_NODES_MAX)
        return config_fail(draft, p->here, err, "too many nodes: at most %d", HF_NODES_MAX);
    (void)hf_str_copy(node->def.name, sizeof node->def.name, opened->name);
    node->opened = p->here;
    opened->record = node;
    opened->given = node->given;
    group->nodes_count++;
    return HF_OK;
}

static enum hf_code open_fabric(struct parser *p, struct open_section *opened, struct hf_err *err)
{
    struct config_draft *draft = &p->draft;
    char quoted[CONFIG_QUOTE_MAX];

    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        struct config_fabric *fabric = &draft->fabric[f];

        if (opened->name[0] != config_fabric_letter(f) || opened->name[1] != '\0')
            continue;
        if (is_given(fabric->opened))
            return config_fail(draft, p->here, err, "fabric '%s' is given twice, first at line %u",
                               opened->name, (unsigned)fabric->opened.line);
        fabric->opened = p->here;
        opened->record = fabric;
        opened->given = fabric->given;
        return HF_OK;
    }
    return config_fail(draft, p->here, err, "there is no fabric %s: there are 'a' and 'b'",
                       config_quote(opened->name, quoted));
}

static enum hf_code open_device(struct parser *p, struct open_section *opened, struct hf_err *err)
{
    struct config_draft *draft = &p->draft;
    struct hf_config *config = draft->config;
    struct hf_fence_device *device = &config->devices[config->devices_count];

    for (unsigned i = 0; i < config->devices_count; i++)
        if (strcmp(config->devices[i].name, opened->name) == 0)
            return config_fail(draft, p->here, err,
                               "fence_device '%s' is given twice, first at line %u", opened->name,
                               (unsigned)draft->device[i].line);
    if (config->devices_count >= HF_DEVICES_MAX)
        return config_fail(draft, p->here, err, "too many fence devices: at most %d",
                           HF_DEVICES_MAX);
    (void)hf_str_copy(device->name, sizeof device->name, opened->name);
    draft->device[config->devices_count] = p->here;
    memset(p->device_given, 0, sizeof p->device_given);
    p->params_place = (struct config_place){0, 0};
    opened->record = device;
    opened->given = p->device_given;
    config->devices_count++;
    return HF_OK;
}

/* Find room for the section's values; refuse a second one of its kind or name. */
static enum hf_code open_record(struct parser *p, struct open_section *opened, struct hf_err *err)
{
    HF_ASSERT(opened->id > CONFIG_TOP);
    HF_ASSERT(opened->id < CONFIG_SECTIONS);
    switch (opened->id) {
    case CONFIG_CLUSTER:
        opened->record = p->draft.config;
        opened->given = p->cluster_given;
        return open_once(p, opened->id, &p->draft.cluster, err);
    case CONFIG_TIMING:
        opened->record = p->draft.config;
        opened->given = p->draft.timing_given;
        return open_once(p, opened->id, &p->draft.timing, err);
    case CONFIG_WATCHDOG:
        opened->record = p->draft.config;
        opened->given = p->draft.watchdog_given;
        return open_once(p, opened->id, &p->draft.watchdog, err);
    case CONFIG_NICS:
        opened->record = p->draft.config;
        opened->given = p->draft.nics_given;
        return open_once(p, opened->id, &p->draft.nics, err);
    case CONFIG_FABRIC:
        return open_fabric(p, opened, err);
    case CONFIG_NODE:
        return open_node(p, opened, err);
    case CONFIG_DEVICE:
        return open_device(p, opened, err);
    case CONFIG_PARAMS:
        opened->record = p->open[0].record;
        opened->given = NULL;
        return open_once(p, opened->id, &p->params_place, err);
    case CONFIG_TOP:
    case CONFIG_SECTIONS:
        break;
    }
    return hf_err_set(err, HF_EINVAL, "section without a record");
}

static enum hf_code check_section_name(const struct parser *p, enum config_section_id id,
                                       const char *name, struct config_place place,
                                       struct hf_err *err)
{
    const char *kind = config_sections[id].name;
    char quoted[CONFIG_QUOTE_MAX];

    if (!config_sections[id].has_name && name[0] != '\0')
        return config_fail(&p->draft, place, err, "section '%s' has no name: write '%s {'", kind,
                           kind);
    if (config_sections[id].has_name && name[0] == '\0')
        return config_fail(&p->draft, p->here, err, "section '%s' needs a name: write '%s NAME {'",
                           kind, kind);
    if (name[0] != '\0' && !hf_str_is_name(name, HF_NAME_MAX))
        return config_fail(&p->draft, place, err,
                           "bad name %s: up to 63 of A-Z a-z 0-9 . _ -, first a letter or digit",
                           config_quote(name, quoted));
    return HF_OK;
}

/* `KIND {` or `KIND NAME {`; head is what stands before the brace, blanks around it cut. */
static enum hf_code section_open(struct parser *p, char *head, struct hf_err *err)
{
    size_t kind_len = strcspn(head, " \t");
    char *name = head + kind_len + strspn(head + kind_len, " \t");
    struct config_place name_place = {p->here.line, p->here.column + (uint32_t)(name - head)};
    struct open_section opened = {.place = p->here};

    head[kind_len] = '\0';
    if (head[0] == '\0')
        return config_fail(&p->draft, p->here, err,
                           "'{' without a section: it stands on the line of the section's name");
    opened.id = config_section_find(head);
    if (opened.id == CONFIG_TOP || config_sections[opened.id].parent != section_now(p))
        return fail_unknown_section(p, head, err);
    if (check_section_name(p, opened.id, name, name_place, err) != HF_OK)
        return err->code;
    (void)hf_str_copy(opened.name, sizeof opened.name, name);
    HF_ASSERT(p->depth < CONFIG_DEPTH_MAX);
    if (open_record(p, &opened, err) != HF_OK)
        return err->code;
    p->open[p->depth++] = opened;
    return HF_OK;
}

/* What the section needs and was not given; defaults for the rest. */
static enum hf_code fill_defaults(struct parser *p, const struct open_section *closed,
                                  struct hf_err *err)
{
    char in[2 * CONFIG_QUOTE_MAX];

    for (size_t i = 0; i < config_keys_count; i++) {
        const struct config_key *key = &config_keys[i];

        if (key->section != closed->id || is_given(closed->given[config_key_slot(key)]))
            continue;
        if (key->fallback == NULL)
            return config_fail(&p->draft, closed->place, err, "%s has no '%s'", where(p, in),
                               key->name);
        if (key->fallback[0] != '\0' &&
            config_value_read(&p->draft, key, key->fallback, closed->place, closed->record, err) !=
                HF_OK)
            return err->code;
    }
    return HF_OK;
}

static enum hf_code section_close(struct parser *p, struct hf_err *err)
{
    if (p->depth == 0)
        return config_fail(&p->draft, p->here, err, "'}' closes nothing: no section is open");
    if (fill_defaults(p, &p->open[p->depth - 1], err) != HF_OK)
        return err->code;
    p->depth--;
    return HF_OK;
}

/* ---- keys ---- */

static enum hf_code fail_unknown_key(const struct parser *p, const char *word, struct hf_err *err)
{
    enum config_section_id id = section_now(p);
    const char *near = config_nearest_key(id, word);
    char in[2 * CONFIG_QUOTE_MAX], quoted[CONFIG_QUOTE_MAX], known[200];

    (void)config_quote(word, quoted);
    if (near != NULL)
        return config_fail(&p->draft, p->here, err, "unknown key %s in %s (did you mean '%s'?)",
                           quoted, where(p, in), near);
    for (int other = CONFIG_TOP + 1; other < CONFIG_SECTIONS; other++)
        if (config_key_find((enum config_section_id)other, word) != NULL)
            return config_fail(&p->draft, p->here, err,
                               "unknown key %s in %s (it belongs in section '%s')", quoted,
                               where(p, in), config_sections[other].name);
    config_known_words(id, known, sizeof known);
    return config_fail(&p->draft, p->here, err, "unknown key %s in %s (known: %s)", quoted,
                       where(p, in), known);
}

/* The value must not hide a second statement or a comment. */
static enum hf_code check_value(const struct parser *p, const char *key, const char *value,
                                struct config_place place, struct hf_err *err)
{
    char quoted[CONFIG_QUOTE_MAX];
    size_t at = 0;

    if (value[0] == '\0')
        return config_fail(&p->draft, place, err, "no value for %s", config_quote(key, quoted));
    for (; value[at] != '\0'; at++) {
        bool is_comment = value[at] == '#' && (at == 0 || value[at - 1] == ' ');

        place.column += at > 0;
        if (value[at] == '{' || value[at] == '}')
            return config_fail(&p->draft, place, err, "'%c' after a value: one statement a line",
                               value[at]);
        if (value[at] == '\t')
            return config_fail(&p->draft, place, err, "tab inside a value");
        if (is_comment)
            return config_fail(&p->draft, place, err,
                               "'#' after a value: a comment has a line of its own");
    }
    return HF_OK;
}

static enum hf_code key_read(struct parser *p, const char *word, const char *value,
                             struct config_place place, struct hf_err *err)
{
    struct open_section *now = &p->open[p->depth - 1];
    const struct config_key *key = config_key_find(now->id, word);
    struct config_place *given;

    if (key == NULL)
        return fail_unknown_key(p, word, err);
    given = &now->given[config_key_slot(key)];
    if (is_given(*given))
        return config_fail(&p->draft, p->here, err, "key '%s' is given twice, first at line %u",
                           word, (unsigned)given->line);
    if (check_value(p, word, value, place, err) != HF_OK)
        return err->code;
    *given = place;
    return config_value_read(&p->draft, key, value, place, now->record, err);
}

/* `KEY: VALUE`, cut at the colon. */
static enum hf_code statement(struct parser *p, char *line, size_t colon, struct hf_err *err)
{
    size_t value_at = colon + 1 + strspn(line + colon + 1, " \t");
    struct config_place place = {p->here.line, p->here.column + (uint32_t)value_at};
    char quoted[CONFIG_QUOTE_MAX];
    size_t key_len = colon;

    while (key_len > 0 && (line[key_len - 1] == ' ' || line[key_len - 1] == '\t'))
        key_len--;
    line[key_len] = '\0';
    if (key_len == 0)
        return config_fail(&p->draft, p->here, err, "':' without a key before it");
    if (p->depth == 0)
        return config_fail(&p->draft, p->here, err, "key %s outside of every section",
                           config_quote(line, quoted));
    if (!config_sections[section_now(p)].free_keys)
        return key_read(p, line, line + value_at, place, err);
    if (check_value(p, line, line + value_at, place, err) != HF_OK)
        return err->code;
    return config_param_add(&p->draft, p->open[p->depth - 1].record, line, line + value_at, p->here,
                            place, err);
}

/* ---- lines ---- */

static struct config_place place_at(const struct parser *p, size_t offset)
{
    return (struct config_place){p->here.line, p->here.column + (uint32_t)offset};
}

static enum hf_code line_read(struct parser *p, char *line, struct hf_err *err)
{
    size_t indent = strspn(line, " \t"), len = strlen(line), end;

    while (len > indent && (line[len - 1] == ' ' || line[len - 1] == '\t'))
        len--;
    line[len] = '\0';
    line += indent;
    p->here.column = (uint32_t)indent + 1;
    if (line[0] == '\0' || line[0] == '#')
        return HF_OK;
    if (line[0] == '}') {
        end = 1 + strspn(line + 1, " \t");
        if (line[end] != '\0')
            return config_fail(&p->draft, place_at(p, end), err,
                               "text after '}': one statement a line");
        return section_close(p, err);
    }
    end = strcspn(line, ":{");
    if (line[end] == ':')
        return statement(p, line, end, err);
    if (line[end] == '\0')
        return config_fail(&p->draft, p->here, err,
                           "expected 'key: value', 'section {', '}' or a '#' comment");
    line[end] = '\0';
    size_t after = end + 1 + strspn(line + end + 1, " \t");
    if (line[after] != '\0')
        return config_fail(&p->draft, place_at(p, after), err,
                           "text after '{': one statement a line");
    while (end > 0 && (line[end - 1] == ' ' || line[end - 1] == '\t'))
        line[--end] = '\0';
    return section_open(p, line, err);
}

static enum hf_code lines_read(struct parser *p, const char *text, size_t len, struct hf_err *err)
{
    struct config_lines lines = {text, len, 0, 0};
    char line[CONFIG_LINE_MAX + 1], in[2 * CONFIG_QUOTE_MAX];
    bool is_end = false;

    while (config_line_next(&lines, &p->draft, line, &is_end, err) == HF_OK && !is_end) {
        p->here = (struct config_place){lines.number, 1};
        if (line_read(p, line, err) != HF_OK)
            return err->code;
    }
    if (!is_end)
        return err->code;
    if (p->depth > 0)
        return config_fail(&p->draft, (struct config_place){lines.number, 1}, err,
                           "the file ends inside %s, opened at line %u: '}' is missing",
                           where(p, in), (unsigned)p->open[p->depth - 1].place.line);
    return HF_OK;
}

/* ---- the whole ---- */

static enum hf_code digest_fill(struct hf_config *config, struct hf_err *err)
{
    size_t len = config_print(config, NULL, 0);
    char *text = malloc(len + 1);

    if (text == NULL)
        return hf_err_set(err, HF_EIO, "out of memory for the canonical text, %zu bytes", len);
    (void)config_print(config, text, len + 1);
    config->group.config = hf_digest_of(text, len);
    free(text);
    return HF_OK;
}

/* A file without such a section has all its defaults. */
static enum hf_code section_default(struct parser *p, enum config_section_id id,
                                    struct config_place given_at, void *record,
                                    struct config_place *given, struct hf_err *err)
{
    const struct open_section section = {
        .id = id, .place = {1, 1}, .record = record, .given = given};

    return is_given(given_at) ? HF_OK : fill_defaults(p, &section, err);
}

static enum hf_code sections_default(struct parser *p, struct hf_err *err)
{
    struct config_draft *draft = &p->draft;
    struct hf_config *config = draft->config;

    if (section_default(p, CONFIG_TIMING, draft->timing, config, draft->timing_given, err) !=
            HF_OK ||
        section_default(p, CONFIG_WATCHDOG, draft->watchdog, config, draft->watchdog_given, err) !=
            HF_OK ||
        section_default(p, CONFIG_NICS, draft->nics, config, draft->nics_given, err) != HF_OK)
        return err->code;
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if (section_default(p, CONFIG_FABRIC, draft->fabric[f].opened, &draft->fabric[f],
                            draft->fabric[f].given, err) != HF_OK)
            return err->code;
    return HF_OK;
}

static enum hf_code text_read(const char *file, const char *text, size_t len,
                              struct hf_config *config, struct hf_err *err)
{
    struct parser p;

    memset(&p, 0, sizeof p);
    p.draft.file = file;
    p.draft.config = config;
    if (len > HF_CONFIG_TEXT_MAX)
        return config_fail(&p.draft, (struct config_place){1, 1}, err,
                           "the file is larger than %d bytes", HF_CONFIG_TEXT_MAX);
    if (lines_read(&p, text, len, err) != HF_OK || sections_default(&p, err) != HF_OK ||
        config_check(&p.draft, err) != HF_OK)
        return err->code;
    return digest_fill(config, err);
}

enum hf_code config_parse(const char *file, const char *text, size_t len, struct hf_config *config,
                          struct hf_err *err)
{
    enum hf_code code;

    /* All of it, padding too: equal files then give equal bytes. */
    memset(config, 0, sizeof *config);
    code = text_read(file, text, len, config, err);
    if (code != HF_OK)
        memset(config, 0, sizeof *config);
    return code;
}
