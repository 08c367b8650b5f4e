/* fabric.h - fabrics, legs and flips as parts of the JSON documents.
 * Of this node all that its nicbond told; of other nodes what the engine knows. Nothing is decided
 * here. Field by field in ctl/README.md. */
#ifndef SUPERVISORD_CTL_FABRIC_H
#define SUPERVISORD_CTL_FABRIC_H

#include "supervisord/ctl/picture.h"

enum { FABRIC_FLIPS_MAX = 12 }; /* of a status document: a screen's worth */

/* "a" for 0; "?" out of range. */
const char *fabric_name(hf_fabric fabric);
/* What the cluster file calls a node's PF; NULL: it names none, or this node's file is not the
 * running one. */
const char *fabric_pf_name(const struct ctl_shell *shell, hf_node node, hf_fabric fabric);
/* What this node's own nicbond told of it; NULL: another node's PF, or nothing was told. */
const struct hf_pf_facts *fabric_own_facts(const struct ctl_shell *shell, hf_node node,
                                           hf_fabric fabric);
/* What this node's nicbond says of a VM's legs, of the start that runs; NULL: nothing. */
const struct hf_vm_legs *fabric_own_legs(const struct ctl_shell *shell,
                                         const struct hf_vm_view *vm);
/* Node and fabric of the PF that is called so: of this node's, else of the only other one. */
bool fabric_find(const struct ctl_shell *shell, const char *name, hf_node *node, hf_fabric *fabric);

/* One PF as an object. */
void fabric_put_pf(struct hf_json *j, const char *key, const struct ctl_shell *shell, hf_node node,
                   hf_fabric fabric);
/* "fabrics": an entry for every PF that the node names. */
void fabric_put_node(struct hf_json *j, const struct ctl_shell *shell, hf_node node);
/* "legs" and "degraded" of a VM. */
void fabric_put_vm(struct hf_json *j, const struct ctl_shell *shell, const struct hf_vm_view *vm);
/* "flips": the newest ones of all nodes, the oldest of them first, as events. */
void fabric_put_flips(struct hf_json *j, const struct history *h);
/* One flip that was asked for. */
void fabric_put_flip(struct hf_json *j, const char *key, const struct hf_flip *flip);

#endif
