/* path.c - could a node be fenced if it had to be? What the self-tests of its fence levels found.
 * A level whose devices answer for another host is never used: it would shoot the wrong one. Any
 * other failure is an alarm and nothing more: at the incident the level is tried all the same. */
#include "supervisord/engine/internal.h"

static bool has_failed(enum hf_path found)
{
    switch (found) {
    case HF_PATH_UNKNOWN:
    case HF_PATH_OK:
    case HF_PATHS:
        return false;
    case HF_PATH_UNREACHABLE:
    case HF_PATH_DENIED:
    case HF_PATH_WRONG_HOST:
    case HF_PATH_BROKEN:
        return true;
    }
    return true;
}

bool path_is_usable(const struct node *n, uint8_t level)
{
    return !n->path[level].is_wrong;
}

bool path_may_work(const struct node *n, uint8_t levels)
{
    for (uint8_t l = 0; l < levels; l++)
        if (!has_failed(n->path[l].found))
            return true;
    return false;
}

bool path_can_fence(const struct engine *e, uint8_t n)
{
    return path_may_work(&e->nodes[n], e->group.nodes[n].fence_levels) ||
           watchdog_safe_ms(e, n) > 0;
}

/* The device names the host it switches: is it this one, and the one it was when we were armed? */
static bool is_another_host(const struct node *node, const struct path *p)
{
    if (p->hardware == 0)
        return false;
    return (node->hardware != 0 && p->hardware != node->hardware) ||
           (p->recorded != 0 && p->hardware != p->recorded);
}

static void judge(struct step *s, uint8_t n, uint8_t level, enum hf_path found)
{
    struct node *node = &s->e->nodes[n];
    struct path *p = &node->path[level];
    bool was_wrong = p->is_wrong;
    if (found == HF_PATH_OK) {
        p->is_wrong = is_another_host(node, p);
        found = p->is_wrong ? HF_PATH_WRONG_HOST : HF_PATH_OK;
    }
    if (p->is_wrong != was_wrong)
        s->needs_review = true;
    if (p->found == found)
        return;
    p->found = (uint8_t)found;
    s->needs_review = true;
    if (found == HF_PATH_OK)
        step_note_node(s, n, node->state, HF_WHY_PATH_OK, level + 1u);
    else
        step_note_node(s, n, node->state, HF_WHY_PATH_FAILED, (level + 1u) * 100 + found);
}

void path_tested(struct step *s, const struct hf_event *ev)
{
    uint8_t n = ev->u.path.target.ix, level = ev->u.path.level;
    if (n >= s->e->group.nodes_count || level >= s->e->group.nodes[n].fence_levels) {
        step_answer(s, false, HF_WHY_NO_SUCH_NODE);
        return;
    }
    if (ev->u.path.hardware != 0)
        s->e->nodes[n].path[level].hardware = ev->u.path.hardware;
    judge(s, n, level, ev->u.path.found);
}

enum hf_reason path_arm_refusal(const struct engine *e)
{
    FOR_EACH_NODE (e, n) {
        const struct node *node = &e->nodes[n];
        uint8_t levels = e->group.nodes[n].fence_levels;
        if (levels == 0 && !e->group.nodes[n].has_watchdog)
            return HF_WHY_NO_FENCE_DEVICE;
        for (uint8_t l = 0; l < levels; l++)
            if (!path_is_usable(node, l))
                return HF_WHY_WRONG_HOST;
        if (levels > 0 && !path_may_work(node, levels) && !e->group.nodes[n].has_watchdog)
            return HF_WHY_PATH_UNFIT;
    }
    return HF_WHY_NONE;
}

void path_record(struct engine *e)
{
    FOR_EACH_NODE (e, n)
        for (uint8_t l = 0; l < e->group.nodes[n].fence_levels; l++)
            e->nodes[n].path[l].recorded = e->nodes[n].path[l].hardware;
}

static enum hf_path verdict_to_change(const struct node *node, const struct path *p)
{
    return is_another_host(node, p) ? HF_PATH_OK : HF_PATH_WRONG_HOST;
}

void path_review(struct step *s)
{
    FOR_EACH_NODE (s->e, n) {
        struct node *node = &s->e->nodes[n];
        /* What the node says of itself may have changed after the device spoke. */
        for (uint8_t l = 0; l < s->e->group.nodes[n].fence_levels; l++)
            if (node->path[l].found == verdict_to_change(node, &node->path[l]))
                judge(s, n, l, HF_PATH_OK);
        bool cannot = node->state != HF_NODE_ABSENT && node->state != HF_NODE_DEAD &&
                      !path_can_fence(s->e, n);
        if (cannot == node->cannot_fence)
            continue;
        node->cannot_fence = cannot;
        step_note_node(s, n, node->state, cannot ? HF_WHY_CANNOT_FENCE : HF_WHY_CAN_FENCE, 0);
    }
}
