/* ctl.h - what the `holdfast` command and the daemon tell each other over the admin door.
 * A request is one binary record (the XML of a VM rides as sealed memory). The answer is JSON text
 * in one or more records: {version u8, status u8, more u8, bytes}. The command prints it (--json)
 * or makes a table of it; the JSON is the stable interface, described in ctl/README.md. A stream of
 * events is one record per JSON object, `more` set on all but the last, which is empty. */
#ifndef SUPERVISORD_WIRE_CTL_H
#define SUPERVISORD_WIRE_CTL_H

#include "supervisord/base/err.h"
#include "supervisord/engine/engine.h"

enum { HF_CTL_VERSION = 2, HF_CTL_REQUEST_MAX = 2048, HF_CTL_HEADER = 3 };

enum hf_ctl_verb {
    HF_CTL_STATUS = 1, /* the whole picture: group, nodes, vms, needs; every view is cut from it */
    HF_CTL_EVENTS,     /* history from `after`, then, with follow, whatever comes */
    HF_CTL_WHY,    /* node, vm, or a node's NIC (is_nic, fabric): state, trail, placement rules */
    HF_CTL_CONFIG, /* the running configuration's canonical text, as {"text": ...} */
    HF_CTL_ORDER,  /* u.order as in the engine's event; answered when it is applied */
    HF_CTL_FENCE_TEST, /* node, level: try it without effect; answered when that has ended */
    HF_CTL_FAILBACK,   /* vm, fabric: its traffic onto that leg; answered when that has ended */
    HF_CTL_VERBS
};

/* Exit codes of the command, and status byte of an answer. */
enum hf_ctl_status {
    HF_CTL_OK = 0,
    HF_CTL_REFUSED = 1,     /* understood, not done: the JSON says why */
    HF_CTL_USAGE = 2,       /* bad arguments or bad file: nothing was sent or done */
    HF_CTL_UNREACHABLE = 3, /* no daemon, or it does not answer in time */
    HF_CTL_NOT_QUORATE = 4, /* the group is frozen: nothing can be ordered */
    HF_CTL_DENIED = 5,      /* not in the group `holdfast` */
    HF_CTL_STATUSES
};

struct hf_ctl_request {
    enum hf_ctl_verb verb;
    char node[HF_NAME_MAX + 1], vm[HF_NAME_MAX + 1]; /* names; resolved by the daemon */
    uint64_t after;                                  /* events: sequence number */
    bool follow;
    uint8_t level;    /* fence test: from 1 */
    hf_fabric fabric; /* failback; why with is_nic */
    bool is_nic;
    struct { /* verb ORDER */
        enum hf_order_type type;
        uint32_t ms;
        bool wants_run;
        struct hf_vm_def def; /* VM_ADD; def.xml and xml_bytes are computed by the daemon;
                                 def.allowed/preferred by the names below */
        char preferred[HF_NAME_MAX + 1];
        char allowed[HF_NODES_MAX][HF_NAME_MAX + 1];
        char reason[HF_REASON_MAX + 1];
    } order;
};

size_t ctl_encode(const struct hf_ctl_request *request, uint8_t out[HF_CTL_REQUEST_MAX]);
enum hf_code ctl_decode(const uint8_t *bytes, size_t len, struct hf_ctl_request *request,
                        struct hf_err *err);

#endif
