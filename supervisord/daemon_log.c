#include <stdio.h>

#include "supervisord/base/log.h"
#include "supervisord/base/str.h"
#include "supervisord/daemon.h"
#include "supervisord/model/names.h"

static const char *node_name(const struct engine *e, unsigned ix)
{
    const struct hf_group *group = engine_group(e).group;

    return ix < group->nodes_count ? group->nodes[ix].name : "-";
}

static enum hf_level vm_level(const struct hf_change *c)
{
    if (c->now == HF_VM_FAILED)
        return HF_LOG_ERROR;
    if (c->now == HF_VM_UNPLACEABLE || c->now == HF_VM_WAITING || c->why == HF_WHY_CRASHED ||
        c->why == HF_WHY_DEGRADED || c->why == HF_WHY_PLACED_DEGRADED || c->why == HF_WHY_NO_LEG ||
        c->why == HF_WHY_LEGS_MOVE || c->why == HF_WHY_FABRIC_DOWN)
        return HF_LOG_WARNING;
    return HF_LOG_INFO;
}

static void vm_line(const struct engine *e, const struct history *h, const struct hf_change *c,
                    uint64_t seq)
{
    const char *known = history_vm_name(h, c->ix, c->uid); /* also if removed in this very step */
    char name[HF_NAME_MAX + 1], why[HF_REASON_MAX + 1];

    history_why_text(c->why, c->detail, why, sizeof why);
    if (known != NULL)
        (void)hf_str_copy(name, sizeof name, known);
    else
        (void)snprintf(name, sizeof name, "#%u", c->uid);
    if (c->was == c->now) {
        hf_log(vm_level(c), "vm=%s node=%s %s: %s (seq %llu)", name, node_name(e, c->node.ix),
               hf_vm_state_name((enum hf_vm_state)c->now), why, (unsigned long long)seq);
        return;
    }
    hf_log(vm_level(c), "vm=%s node=%s %s -> %s: %s (seq %llu)", name, node_name(e, c->node.ix),
           hf_vm_state_name((enum hf_vm_state)c->was), hf_vm_state_name((enum hf_vm_state)c->now),
           why, (unsigned long long)seq);
}

static void node_line(const struct engine *e, const struct hf_change *c, uint64_t seq)
{
    bool is_bad = c->now == HF_NODE_SILENT || c->now == HF_NODE_LOST || c->now == HF_NODE_FENCING ||
                  c->why == HF_WHY_PF_DOWN || c->why == HF_WHY_PF_ABSENT ||
                  c->why == HF_WHY_PF_SUSPECT;
    enum hf_level level = is_bad ? HF_LOG_WARNING : HF_LOG_INFO;
    char by[HF_NAME_MAX + 8] = "", why[HF_REASON_MAX + 1];

    history_why_text(c->why, c->detail, why, sizeof why);
    if (hf_node_is(c->node) && c->node.ix != c->ix)
        (void)snprintf(by, sizeof by, " by=%s", node_name(e, c->node.ix));
    if (c->was == c->now) {
        hf_log(level, "node=%s%s %s: %s (seq %llu)", node_name(e, c->ix), by,
               hf_node_state_name((enum hf_node_state)c->now), why, (unsigned long long)seq);
        return;
    }
    hf_log(level, "node=%s%s %s -> %s: %s (seq %llu)", node_name(e, c->ix), by,
           hf_node_state_name((enum hf_node_state)c->was),
           hf_node_state_name((enum hf_node_state)c->now), why, (unsigned long long)seq);
}

void daemon_log_changes(const struct engine *e, const struct history *h, const struct hf_event *ev,
                        const struct engine_out *out)
{
    for (uint32_t i = 0; i < out->changes_count; i++) {
        const struct hf_change *c = &out->changes[i];

        switch (c->subject) {
        case HF_SUBJECT_VM:
            vm_line(e, h, c, ev->seq);
            break;
        case HF_SUBJECT_NODE:
            node_line(e, c, ev->seq);
            break;
        case HF_SUBJECT_GROUP:
        case HF_SUBJECTS:
            hf_info("group=%s %s (seq %llu)", engine_group(e).group->name, hf_reason_text(c->why),
                    (unsigned long long)ev->seq);
            break;
        }
    }
}
