/* names.h - one text per value, for logs, JSON, metrics and people. Never NULL; values out of range
 * read "?" because a name must not be able to crash a reporter. */
#ifndef SUPERVISORD_MODEL_NAMES_H
#define SUPERVISORD_MODEL_NAMES_H

#include "supervisord/model/nic.h"
#include "supervisord/model/states.h"

const char *hf_node_state_name(enum hf_node_state s); /* "member" */
const char *hf_proof_name(enum hf_proof p);           /* "fence device reads off" */
const char *hf_watchdog_name(enum hf_watchdog w);     /* "armed" */
const char *hf_path_name(enum hf_path p);             /* "unreachable" */
const char *hf_vm_state_name(enum hf_vm_state s);     /* "waiting for proof" */
const char *hf_desire_name(enum hf_desire d);         /* "running" */
const char *hf_seen_name(enum hf_seen s);             /* "unknown" */
const char *hf_outcome_name(enum hf_outcome o);
const char *hf_subject_name(enum hf_subject s);
const char *hf_node_event_name(enum hf_node_event e);
const char *hf_vm_event_name(enum hf_vm_event e);
const char *hf_reason_name(enum hf_reason r);       /* stable key: "host-lost" */
const char *hf_reason_text(enum hf_reason r);       /* sentence part: "its host left the ring" */
const char *hf_rule_text(enum hf_rule r);           /* "rule 6: not enough memory" */
const char *hf_pf_name(enum hf_pf p);               /* "hold" */
const char *hf_nic_cause_name(enum hf_nic_cause c); /* stable key: "mc-timeout" */
const char *hf_nic_cause_text(
    enum hf_nic_cause c);                         /* "its management controller does not answer" */
const char *hf_leg_kind_name(enum hf_leg_kind k); /* "VF" */
const char *hf_flip_method_name(enum hf_flip_method m);   /* "vf-link" */
const char *hf_flip_outcome_name(enum hf_flip_outcome o); /* "already there" */
/* Of bit 0.. of HF_BOND_*: a key, and what it does. */
const char *hf_bond_fault_name(unsigned bit); /* "reselects" */
const char *hf_bond_fault_text(unsigned bit); /* "primary_reselect=always: ..." */

#endif
