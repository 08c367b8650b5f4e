#include "supervisord/ctl/order.h"

#include "supervisord/base/str.h"
#include "supervisord/ctl/fabric.h"

#include <stdio.h>
#include <string.h>

/* What an order must name. */
struct shape {
    bool vm, node, node_too; /* node_too: may be named, need not */
};

static const struct shape shapes[HF_ORDERS] = {
    [HF_ORDER_VM_ADD] = {false, false, false}, /* its name is in the definition */
    [HF_ORDER_VM_REMOVE] = {true, false, false}, [HF_ORDER_VM_START] = {true, false, false},
    [HF_ORDER_VM_STOP] = {true, false, false},   [HF_ORDER_VM_MOVE] = {true, false, true},
    [HF_ORDER_DRAIN] = {false, true, false},     [HF_ORDER_UNDRAIN] = {false, true, false},
    [HF_ORDER_ARM] = {false, false, false},      [HF_ORDER_DISARM] = {false, false, false},
    [HF_ORDER_FENCE] = {false, true, false},     [HF_ORDER_CONFIRM] = {false, true, false},
    [HF_ORDER_HOLD] = {false, true, false},      [HF_ORDER_LEAVE] = {false, true, false},
    [HF_ORDER_POWER_ON] = {false, true, false},
};

/* A typing mistake of up to two characters finds its name. */
enum { NEAR = 2 };

static void try_near(const char *candidate, const char *name, const char **best, unsigned *least)
{
    unsigned distance = hf_str_distance(candidate, name);

    if (distance <= NEAR && distance < *least) {
        *least = distance;
        *best = candidate;
    }
}

static enum hf_ctl_status no_such(const char *what, const char *name, const char *near,
                                  struct hf_err *err)
{
    if (near != NULL)
        (void)hf_err_set(err, HF_ENOENT, "there is no %s '%s' (did you mean '%s'?)", what, name,
                         near);
    else
        (void)hf_err_set(err, HF_ENOENT, "there is no %s '%s', see: holdfast %ss", what, name,
                         what);
    return HF_CTL_REFUSED;
}

enum hf_ctl_status order_find_node(const struct engine *e, const char *name, hf_node *node,
                                   struct hf_err *err)
{
    const struct hf_group *group = engine_group(e).group;
    const char *near = NULL;
    unsigned least = HF_STR_FAR;

    *node = engine_node_by_name(e, name);
    if (hf_node_is(*node))
        return HF_CTL_OK;
    for (uint8_t i = 0; i < group->nodes_count; i++)
        try_near(group->nodes[i].name, name, &near, &least);
    return no_such("node", name, near, err);
}

enum hf_ctl_status order_find_vm(const struct engine *e, const char *name, hf_vm_uid *uid,
                                 struct hf_err *err)
{
    hf_vm vm = engine_vm_by_name(e, name);
    const char *near = NULL;
    unsigned least = HF_STR_FAR;

    if (vm.ix < HF_VMS_MAX) {
        *uid = engine_vm(e, vm).uid;
        return HF_CTL_OK;
    }
    for (uint16_t i = 0; i < HF_VMS_MAX; i++) {
        struct hf_vm_view view = engine_vm(e, (hf_vm){i});

        if (view.is_used)
            try_near(view.def->name, name, &near, &least);
    }
    return no_such("vm", name, near, err);
}

/* Legs that no node could give it would keep it from running anywhere. */
static enum hf_ctl_status check_legs(const struct engine *e, hf_legs legs, struct hf_err *err)
{
    const struct hf_group *group = engine_group(e).group;
    hf_legs there = 0;

    for (uint8_t i = 0; i < group->nodes_count; i++)
        there |= group->nodes[i].fabrics;
    if ((legs & ~there) == 0)
        return HF_CTL_OK;
    (void)hf_err_set(err, HF_EINVAL, "no node has a NIC in fabric %s: its cluster file names none",
                     fabric_name((hf_fabric)__builtin_ctz(legs & ~there)));
    return HF_CTL_REFUSED;
}

static enum hf_ctl_status fill_def(const struct engine *e, const struct hf_ctl_request *request,
                                   struct hf_event *ev, struct hf_err *err)
{
    struct hf_vm_def *def = &ev->u.order.def;
    enum hf_ctl_status status;
    hf_node node;

    *def = request->order.def;
    def->preferred = HF_NO_NODE;
    def->allowed = 0;
    if (request->order.preferred[0] != '\0') {
        status = order_find_node(e, request->order.preferred, &def->preferred, err);
        if (status != HF_CTL_OK)
            return status;
    }
    for (unsigned i = 0; i < HF_NODES_MAX && request->order.allowed[i][0] != '\0'; i++) {
        status = order_find_node(e, request->order.allowed[i], &node, err);
        if (status != HF_CTL_OK)
            return status;
        def->allowed = (hf_nodes)(def->allowed | hf_bit(node));
    }
    if (hf_node_is(def->preferred) && def->allowed != 0 &&
        !hf_nodes_has(def->allowed, def->preferred)) {
        (void)hf_err_set(err, HF_EINVAL, "preferred node '%s' is not among the allowed ones",
                         request->order.preferred);
        return HF_CTL_REFUSED;
    }
    return check_legs(e, def->legs, err);
}

enum hf_ctl_status order_event(const struct ctl_shell *shell, const struct hf_ctl_request *request,
                               const struct door_peer *peer, struct hf_event *ev,
                               struct hf_err *err)
{
    const struct engine *e = shell->engine;
    const struct shape *shape = &shapes[request->order.type];
    enum hf_ctl_status status = HF_CTL_OK;

    memset(ev, 0, sizeof *ev);
    ev->type = HF_EV_ORDER;
    ev->from = engine_node_by_name(e, shell->node);
    ev->u.order.type = request->order.type;
    ev->u.order.node = HF_NO_NODE;
    ev->u.order.ms = request->order.ms;
    ev->u.order.as_of = engine_as_of(e);
    ev->u.order.wants_run = request->order.wants_run;
    ev->u.order.def.preferred = HF_NO_NODE;
    (void)snprintf(ev->u.order.who, sizeof ev->u.order.who, "uid-%u", (unsigned)peer->uid);
    (void)hf_str_copy(ev->u.order.reason, sizeof ev->u.order.reason, request->order.reason);
    if ((shape->vm && request->vm[0] == '\0') || (shape->node && request->node[0] == '\0')) {
        (void)hf_err_set(err, HF_EINVAL, "this order must name a %s", shape->vm ? "VM" : "node");
        return HF_CTL_USAGE;
    }
    if (request->order.type == HF_ORDER_CONFIRM && request->order.reason[0] == '\0') {
        (void)hf_err_set(err, HF_EINVAL, "a person's word that a node is off needs a reason");
        return HF_CTL_USAGE;
    }
    if (shape->vm)
        status = order_find_vm(e, request->vm, &ev->u.order.uid, err);
    if (status == HF_CTL_OK && (shape->node || shape->node_too) && request->node[0] != '\0')
        status = order_find_node(e, request->node, &ev->u.order.node, err);
    if (status == HF_CTL_OK && request->order.type == HF_ORDER_VM_ADD)
        status = fill_def(e, request, ev, err);
    return status;
}
