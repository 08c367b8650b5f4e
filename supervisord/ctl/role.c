#include "supervisord/ctl/role.h"

#include <stdio.h>

static const struct {
    const char *name, *group;
} roles[CTL_ROLES] = {
    [CTL_ROLE_NONE] = {"none", NULL},
    [CTL_ROLE_VIEWER] = {"viewer", "holdfast"},
    [CTL_ROLE_OPERATOR] = {"operator", "holdfast-operator"},
    [CTL_ROLE_ADMIN] = {"admin", "holdfast-admin"},
};

_Static_assert(CTL_MEMBER_VIEWER == 1 << (CTL_ROLE_VIEWER - 1), "the first group is the viewers'");
_Static_assert(CTL_MEMBER_OPERATOR == 1 << (CTL_ROLE_OPERATOR - 1), "then the operators'");
_Static_assert(CTL_MEMBER_ADMIN == 1 << (CTL_ROLE_ADMIN - 1), "then the admins'");
_Static_assert(CTL_ROLES - 1 <= DOOR_GROUPS_MAX, "one group a role");

const char *role_name(enum ctl_role role)
{
    return (unsigned)role < CTL_ROLES ? roles[role].name : "?";
}

const char *role_group(enum ctl_role role)
{
    return (unsigned)role < CTL_ROLES && roles[role].group != NULL ? roles[role].group : "?";
}

void role_groups_find(struct door_groups *groups)
{
    groups->count = CTL_ROLES - 1;
    for (unsigned i = 0; i < groups->count; i++) {
        struct hf_err err;

        if (door_group_id(roles[i + 1].group, &groups->gid[i], &err) != HF_OK)
            groups->gid[i] = DOOR_NO_GROUP;
    }
}

enum ctl_role role_of(const struct door_peer *peer)
{
    if (peer->uid == 0 || (peer->member & CTL_MEMBER_ADMIN) != 0)
        return CTL_ROLE_ADMIN;
    if ((peer->member & CTL_MEMBER_OPERATOR) != 0)
        return CTL_ROLE_OPERATOR;
    return (peer->member & CTL_MEMBER_VIEWER) != 0 ? CTL_ROLE_VIEWER : CTL_ROLE_NONE;
}

static enum ctl_role order_needs(enum hf_order_type type)
{
    switch (type) {
    case HF_ORDER_VM_ADD:
    case HF_ORDER_VM_START:
    case HF_ORDER_VM_STOP:
    case HF_ORDER_VM_MOVE:
    case HF_ORDER_DRAIN:
    case HF_ORDER_UNDRAIN:
    case HF_ORDER_HOLD:
    case HF_ORDER_LEAVE:
        return CTL_ROLE_OPERATOR;
    case HF_ORDER_VM_REMOVE:
    case HF_ORDER_ARM:
    case HF_ORDER_DISARM:
    case HF_ORDER_FENCE:
    case HF_ORDER_CONFIRM:
    case HF_ORDER_POWER_ON:
    case HF_ORDERS:
        break;
    }
    return CTL_ROLE_ADMIN;
}

enum ctl_role role_needed(const struct hf_ctl_request *request)
{
    switch (request->verb) {
    case HF_CTL_STATUS:
    case HF_CTL_EVENTS:
    case HF_CTL_WHY:
    case HF_CTL_CONFIG:
        return CTL_ROLE_VIEWER;
    case HF_CTL_ORDER:
        return order_needs(request->order.type);
    case HF_CTL_FENCE_TEST:
    case HF_CTL_FAILBACK:
        return CTL_ROLE_OPERATOR;
    case HF_CTL_VERBS:
        break;
    }
    return CTL_ROLE_ADMIN;
}

void role_refusal(const struct door_groups *groups, const struct hf_ctl_request *request, char *why,
                  size_t why_cap, char *next, size_t next_cap)
{
    enum ctl_role needed = role_needed(request);
    const char *group = role_group(needed);
    bool is_there = needed != CTL_ROLE_NONE && groups->gid[needed - 1] != DOOR_NO_GROUP;

    (void)snprintf(why, why_cap, "this needs the role %s: root, or a member of the group '%s'%s",
                   role_name(needed), group, is_there ? "" : ", which does not exist on this node");
    if (is_there)
        (void)snprintf(next, next_cap, "sudo gpasswd -a USER %s; then log in again", group);
    else
        (void)snprintf(next, next_cap,
                       "sudo groupadd --system %s; sudo gpasswd -a USER %s; then log in again and "
                       "restart holdfastd, or use sudo",
                       group, group);
}
