/* role.h - who may do what at the admin door: the one place where it is decided.
 * Three roles, each with the one before it: a viewer looks, an operator moves and stops things, an
 * admin decides about power, about what counts as dead and whether anything is fenced at all. A
 * role is a Unix group; who is in it is what the kernel says of the connecting process. Root and
 * the daemon's own user are admins. A group that does not exist has no members. */
#ifndef SUPERVISORD_CTL_ROLE_H
#define SUPERVISORD_CTL_ROLE_H

#include "supervisord/base/err.h"
#include "supervisord/door/door.h"
#include "supervisord/wire/ctl.h"

enum ctl_role { CTL_ROLE_NONE = 0, CTL_ROLE_VIEWER, CTL_ROLE_OPERATOR, CTL_ROLE_ADMIN, CTL_ROLES };

/* Bits of door_peer.member, as role_groups_find() orders the groups. */
enum {
    CTL_MEMBER_VIEWER = 1,
    CTL_MEMBER_OPERATOR = 2,
    CTL_MEMBER_ADMIN = 4,
};

/* Look the groups up by name: at start only (door_group_id). */
void role_groups_find(struct door_groups *groups);

enum ctl_role role_of(const struct door_peer *peer);
enum ctl_role role_needed(const struct hf_ctl_request *request);

const char *role_name(enum ctl_role role);  /* "operator"; "none", "?" out of range */
const char *role_group(enum ctl_role role); /* "holdfast-operator"; "?" for none */

/* Why this peer may not do this, and what to do about it: "this needs the role operator ...". */
void role_refusal(const struct door_groups *groups, const struct hf_ctl_request *request, char *why,
                  size_t why_cap, char *next, size_t next_cap);

#endif
