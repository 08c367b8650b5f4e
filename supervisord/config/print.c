#include "supervisord/config/config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"
#include "supervisord/config/internal.h"

struct printer {
    char *out;
    size_t cap, len; /* len may pass cap: bytes that are needed */
};

static void emit(struct printer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void emit(struct printer *p, const char *format, ...)
{
    bool has_room = p->len < p->cap;
    va_list args;
    int written;

    va_start(args, format);
    written =
        vsnprintf(has_room ? p->out + p->len : NULL, has_room ? p->cap - p->len : 0, format, args);
    va_end(args);
    HF_ASSERT(written >= 0);
    p->len += (size_t)written;
}

static void emit_open(struct printer *p, enum config_section_id section, const char *name)
{
    emit(p, "%s%s%s%s {\n", p->len > 0 ? "\n" : "", config_sections[section].name,
         name[0] != '\0' ? " " : "", name);
}

static void emit_keys(struct printer *p, enum config_section_id section, const void *record)
{
    char value[CONFIG_LINE_MAX + 1];

    for (size_t i = 0; i < config_keys_count; i++) {
        if (config_keys[i].section != section)
            continue;
        config_value_print(&config_keys[i], record, value);
        if (value[0] != '\0')
            emit(p, "    %s: %s\n", config_keys[i].name, value);
    }
}

static void fabric_record(const struct hf_nics_conf *nics, hf_fabric f,
                          struct config_fabric *fabric)
{
    memset(fabric, 0, sizeof *fabric);
    fabric->bfd_interval_us = nics->bfd_interval_us[f];
    fabric->bfd_multiplier = nics->bfd_multiplier[f];
    for (unsigned i = 0; i < HF_NICS_PEERS_MAX && nics->bfd_peer[f][i][0] != '\0'; i++) {
        (void)hf_str_copy(fabric->peers.text[i], sizeof fabric->peers.text[i],
                          nics->bfd_peer[f][i]);
        fabric->peers.count++;
    }
}

/* The section's record of a node: devices by name again. */
static void node_record(const struct hf_config *config, unsigned ix, struct config_node *node)
{
    const struct hf_fence_plan *plan = &config->fence[ix];

    memset(node, 0, sizeof *node);
    node->def = config->group.nodes[ix];
    node->def.has_watchdog = hf_nodes_has(config->watchdog.nodes, (hf_node){(uint8_t)ix});
    memcpy(node->pf, config->nics.pf[ix], sizeof node->pf);
    memcpy(node->address, config->nics.address[ix], sizeof node->address);
    for (unsigned i = 0; i < plan->levels_count && i < HF_FENCE_LEVELS_MAX; i++) {
        const struct hf_fence_level *level = &plan->level[i];

        HF_ASSERT(level->devices_count <= HF_FENCE_DEVICES_MAX);
        node->level[i].count = level->devices_count;
        for (unsigned j = 0; j < level->devices_count; j++) {
            HF_ASSERT(level->device[j] < config->devices_count);
            (void)hf_str_copy(node->level[i].name[j], sizeof node->level[i].name[j],
                              config->devices[level->device[j]].name);
        }
    }
}

/* Only what some node uses: nothing else could be told from a file without it. */
static void emit_nics(struct printer *p, const struct hf_config *config)
{
    hf_legs used = 0;

    for (unsigned i = 0; i < config->group.nodes_count && i < HF_NODES_MAX; i++)
        used |= config->group.nodes[i].fabrics;
    if (used == 0)
        return;
    emit_open(p, CONFIG_NICS, "");
    emit_keys(p, CONFIG_NICS, config);
    emit(p, "}\n");
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        const char name[] = {config_fabric_letter(f), '\0'};
        struct config_fabric fabric;

        if ((used >> f & 1) == 0)
            continue;
        fabric_record(&config->nics, f, &fabric);
        emit_open(p, CONFIG_FABRIC, name);
        emit_keys(p, CONFIG_FABRIC, &fabric);
        emit(p, "}\n");
    }
}

static void emit_device(struct printer *p, const struct hf_fence_device *device)
{
    emit_open(p, CONFIG_DEVICE, device->name);
    emit_keys(p, CONFIG_DEVICE, device);
    if (device->params_count > 0)
        emit(p, "    %s {\n", config_sections[CONFIG_PARAMS].name);
    for (unsigned i = 0; i < device->params_count && i < HF_FENCE_PARAMS_MAX; i++)
        emit(p, "        %s: %s\n", device->params[i].key, device->params[i].value);
    if (device->params_count > 0)
        emit(p, "    }\n");
    emit(p, "}\n");
}

size_t config_print(const struct hf_config *config, char *out, size_t cap)
{
    struct printer p = {out, cap, 0};
    struct config_node node;

    emit_open(&p, CONFIG_CLUSTER, "");
    emit_keys(&p, CONFIG_CLUSTER, config);
    emit(&p, "}\n");
    emit_open(&p, CONFIG_TIMING, "");
    emit_keys(&p, CONFIG_TIMING, config);
    emit(&p, "}\n");
    emit_open(&p, CONFIG_WATCHDOG, "");
    emit_keys(&p, CONFIG_WATCHDOG, config);
    emit(&p, "}\n");
    emit_nics(&p, config);
    for (unsigned i = 0; i < config->group.nodes_count && i < HF_NODES_MAX; i++) {
        node_record(config, i, &node);
        emit_open(&p, CONFIG_NODE, node.def.name);
        emit_keys(&p, CONFIG_NODE, &node);
        emit(&p, "}\n");
    }
    for (unsigned i = 0; i < config->devices_count && i < HF_DEVICES_MAX; i++)
        emit_device(&p, &config->devices[i]);
    return p.len;
}
