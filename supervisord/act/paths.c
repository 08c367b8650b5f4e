#include "supervisord/act/paths.h"

#include <string.h>

#include "supervisord/base/str.h"

static const hf_time never = {INT64_MAX};

void paths_init(struct paths *p, uint32_t own_nodeid, const struct paths_ports *ports)
{
    *p = (struct paths){
        .ports = *ports, .own_nodeid = own_nodeid, .late_at = never, .next_at = never};
}

static const struct engine *state(const struct paths *p)
{
    return p->ports.engine(p->ports.user);
}

/* ---- one test ---- */

static bool begin(struct paths *p, hf_node target, uint8_t level, uint64_t cookie, hf_time now)
{
    const struct hf_group *group = engine_group(state(p)).group;
    struct hf_report report = {.kind = HF_REPORT_TEST};

    if (++p->last_number == 0)
        p->last_number = 1;
    report.u.test.number = p->last_number;
    report.u.test.level = level;
    report.u.test.deadline_ms = PATHS_DEADLINE_MS;
    (void)hf_str_copy(report.u.test.target, sizeof report.u.test.target,
                      group->nodes[target.ix].name);
    if (!p->ports.tell(p->ports.user, &report))
        return false;
    p->number = p->last_number;
    p->cookie = cookie;
    p->target = target;
    p->level = level;
    p->late_at = hf_time_add_ms(now, 2 * PATHS_DEADLINE_MS); /* the runner keeps the deadline */
    return true;
}

static void end(struct paths *p, hf_time now)
{
    p->number = 0;
    p->cookie = 0;
    p->late_at = never;
    p->next_at = hf_time_add_ms(now, PATHS_PAUSE_MS);
}

/* The group has another opinion, or none: tell it. It may judge harder than we do: a device that
 * answers well, for another host. */
static bool is_news(const struct paths *p, const struct hf_report *tested)
{
    struct hf_node_view node = engine_node(state(p), p->target);
    enum hf_path known = node.path[p->level];
    bool is_judged = known == HF_PATH_WRONG_HOST && tested->u.tested.found == HF_PATH_OK;

    if (tested->u.tested.found == HF_PATH_UNKNOWN)
        return false; /* not tried: what is known stays */
    if (tested->u.tested.hardware != 0 && tested->u.tested.hardware != node.path_hardware[p->level])
        return true;
    return known != tested->u.tested.found && !is_judged;
}

static void tell_group(struct paths *p, const struct hf_report *tested)
{
    struct paths_slot *slot = &p->slot[p->target.ix][p->level];
    struct hf_event ev;
    struct hf_err err;

    (void)hf_str_copy(slot->why, sizeof slot->why, tested->u.tested.why);
    if (!p->is_synced || p->target.ix >= engine_group(state(p)).group->nodes_count ||
        !is_news(p, tested))
        return;
    memset(&ev, 0, sizeof ev);
    ev.type = HF_EV_PATH;
    ev.u.path.target = p->target;
    ev.u.path.level = p->level;
    ev.u.path.found = tested->u.tested.found;
    ev.u.path.hardware = tested->u.tested.hardware;
    if (p->ports.submit(p->ports.user, &ev, &err) != HF_OK)
        return; /* the next test tells it */
    if (!slot->has_told || slot->told != tested->u.tested.found)
        p->ports.news(p->ports.user, p->target, p->level, tested);
    slot->has_told = true;
    slot->told = tested->u.tested.found;
}

void paths_told(struct paths *p, const struct hf_report *tested, hf_time now)
{
    struct paths_slot *slot = &p->slot[p->target.ix][p->level];

    if (p->number == 0 || tested->u.tested.number != p->number)
        return; /* of a test that was given up */
    slot->tested = now;
    slot->took_ms = tested->u.tested.took_ms;
    if (state(p) != NULL)
        tell_group(p, tested);
    if (p->cookie != 0)
        p->ports.tested(p->ports.user, p->cookie, tested);
    end(p, now);
}

/* ---- which one next ---- */

static bool is_ours(const struct paths *p, const struct engine *e, hf_node target)
{
    hf_node tester = engine_path_tester(e, target);

    /* In the middle of a fence its own answers tell more. */
    return hf_node_is(tester) && hf_node_same(tester, engine_node_by_id(e, p->own_nodeid)) &&
           engine_node(e, target).state != HF_NODE_FENCING;
}

static bool next_asked(struct paths *p, hf_time now)
{
    struct paths_asked asked;

    if (p->asked_count == 0)
        return false;
    asked = p->asked[0];
    memmove(&p->asked[0], &p->asked[1], --p->asked_count * sizeof p->asked[0]);
    if (!begin(p, asked.target, asked.level, asked.cookie, now))
        p->ports.tested(p->ports.user, asked.cookie, NULL);
    return true;
}

static bool is_fencing(const struct engine *e)
{
    for (uint8_t n = 0; n < engine_group(e).group->nodes_count; n++)
        if (engine_node(e, (hf_node){n}).state == HF_NODE_FENCING)
            return true;
    return false;
}

static void next_due(struct paths *p, const struct engine *e, hf_time now)
{
    const struct hf_group *group = engine_group(e).group;
    hf_time next = hf_time_add_ms(now, PATHS_EVERY_MS);

    if (is_fencing(e)) {
        p->next_at = hf_time_add_ms(now, PATHS_SETTLE_MS);
        return;
    }
    for (uint8_t n = 0; n < group->nodes_count; n++) {
        for (uint8_t l = 0; l < group->nodes[n].fence_levels; l++) {
            struct paths_slot *slot = &p->slot[n][l];

            if (!is_ours(p, e, (hf_node){n}))
                continue;
            if (hf_time_reached(now, slot->due)) {
                slot->due = hf_time_add_ms(now, PATHS_EVERY_MS);
                if (begin(p, (hf_node){n}, l, 0, now))
                    return;
            }
            if (slot->due.ns < next.ns)
                next = slot->due;
        }
    }
    p->next_at = next;
}

void paths_turn(struct paths *p, hf_time now)
{
    const struct engine *e = state(p);

    if (p->number != 0 && hf_time_reached(now, p->late_at)) {
        if (p->cookie != 0)
            p->ports.tested(p->ports.user, p->cookie, NULL);
        end(p, now);
    }
    if (p->number != 0 || !hf_time_reached(now, p->next_at))
        return;
    p->next_at = never;
    if (e == NULL || !p->has_runner || next_asked(p, now) || !p->is_synced)
        return;
    next_due(p, e, now);
}

hf_time paths_deadline(const struct paths *p)
{
    return p->number != 0 ? p->late_at : p->next_at;
}

/* ---- what may change it ---- */

void paths_runner(struct paths *p, bool is_connected, hf_time now)
{
    if (p->has_runner == is_connected)
        return;
    p->has_runner = is_connected;
    if (!is_connected && p->number != 0) {
        if (p->cookie != 0)
            p->ports.tested(p->ports.user, p->cookie, NULL);
        end(p, now);
    }
    p->next_at = now;
}

static bool all_are_known(const struct engine *e)
{
    const struct hf_group *group = engine_group(e).group;

    for (uint8_t n = 0; n < group->nodes_count; n++)
        for (uint8_t l = 0; l < group->nodes[n].fence_levels; l++)
            if (engine_node(e, (hf_node){n}).path[l] == HF_PATH_UNKNOWN)
                return false;
    return true;
}

/* After a synchronisation somebody else may be the tester. A group that was just formed tries its
 * paths at once, so that it knows them before it is armed; one that has lost a node has something
 * better to do first. */
void paths_group(struct paths *p, bool is_synced, hf_time now)
{
    p->is_synced = is_synced;
    if (is_synced)
        p->next_at = state(p) != NULL && all_are_known(state(p))
                         ? hf_time_add_ms(now, PATHS_SETTLE_MS)
                         : now;
}

enum hf_code paths_test(struct paths *p, hf_node target, uint8_t level, uint64_t cookie,
                        hf_time now, struct hf_err *err)
{
    const struct engine *e = state(p);

    if (e == NULL || target.ix >= engine_group(e).group->nodes_count ||
        level >= engine_group(e).group->nodes[target.ix].fence_levels)
        return hf_err_set(err, HF_EINVAL, "it has no fence level %u", level + 1u);
    if (!p->has_runner)
        return hf_err_set(err, HF_EAGAIN, "the fence runner is not connected on this node");
    if (p->asked_count == PATHS_ASKED_MAX)
        return hf_err_set(err, HF_EFULL, "%d tests are waiting: try again later", PATHS_ASKED_MAX);
    p->asked[p->asked_count++] = (struct paths_asked){cookie, target, level};
    if (p->number == 0)
        p->next_at = now;
    return HF_OK;
}

const char *paths_why(const struct paths *p, hf_node target, uint8_t level)
{
    return target.ix < HF_NODES_MAX && level < HF_FENCE_LEVELS_MAX ? p->slot[target.ix][level].why
                                                                   : "";
}
