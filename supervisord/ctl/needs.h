/* needs.h - the "needs you" list: everything about the group, its nodes and VMs and this node's own
 * daemons that is not as it should be, each with since when and what to type next. A view of the
 * state: it decides nothing and remembers nothing. */
#ifndef SUPERVISORD_CTL_NEEDS_H
#define SUPERVISORD_CTL_NEEDS_H

#include "supervisord/ctl/picture.h"

/* Only what is about this node or VM, or about the node's NIC in this fabric. */
struct needs_filter {
    enum hf_subject subject;
    const char *name;
    bool is_nic;
    hf_fabric fabric;
};

/* Write "needs": [...], errors (something is down or could not be recovered) before warnings
 * (degraded). only NULL: all of it. */
void needs_put(struct hf_json *j, const struct ctl_shell *shell, const struct history *h,
               const struct needs_filter *only);

#endif
