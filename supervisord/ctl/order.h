/* order.h - from an operator's request to the engine's event: which names, is it complete.
 * Decides nothing about the group: whether an order makes sense now is the engine's to say. */
#ifndef SUPERVISORD_CTL_ORDER_H
#define SUPERVISORD_CTL_ORDER_H

#include "supervisord/ctl/picture.h"
#include "supervisord/door/door.h"
#include "supervisord/wire/ctl.h"

/* Resolve the names of `request` against the engine's state and fill in *ev, all but def.xml and
 * def.xml_bytes. HF_CTL_OK, or the status to answer with and the reason in err. */
enum hf_ctl_status order_event(const struct ctl_shell *shell, const struct hf_ctl_request *request,
                               const struct door_peer *peer, struct hf_event *ev,
                               struct hf_err *err);

/* The node of this name: HF_CTL_OK, or the status to answer with and the reason in err. */
enum hf_ctl_status order_find_node(const struct engine *e, const char *name, hf_node *node,
                                   struct hf_err *err);
/* The same of a VM. */
enum hf_ctl_status order_find_vm(const struct engine *e, const char *name, hf_vm_uid *uid,
                                 struct hf_err *err);

#endif
