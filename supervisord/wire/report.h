/* report.h - what agents and the daemon tell each other over the agent door.
 * One record, one message: {version u8, kind u8, body}. A message that does not decode closes the
 * connection; the agent reconnects, its data turns stale, nothing is ever "failed" by that. */
#ifndef SUPERVISORD_WIRE_REPORT_H
#define SUPERVISORD_WIRE_REPORT_H

#include "supervisord/base/err.h"
#include "supervisord/engine/engine.h"

enum { HF_REPORT_VERSION = 1 };

enum hf_agent_kind { HF_AGENT_HOST = 1, HF_AGENT_VM, HF_AGENT_FENCE, HF_AGENT_KINDS };

enum hf_report_kind {
    /* agent -> daemon */
    HF_REPORT_HELLO = 1, /* first on a connection */
    HF_REPORT_HOST,      /* host agent, every period and at once on change */
    HF_REPORT_INVENTORY, /* vm agent: complete; after VMS, after libvirt came back, when asked */
    HF_REPORT_VM,        /* vm agent: one VM changed */
    HF_REPORT_WATCH,     /* vm agent: does libvirt answer? */
    HF_REPORT_DONE,      /* vm, fence: an order ended */
    HF_REPORT_PROGRESS,  /* vm, fence: a phase of an order began (for people and benches) */
    /* daemon -> agent */
    HF_REPORT_VMS,   /* vm agent: the VMs it should know, one message per VM, then `last` */
    HF_REPORT_START, /* vm agent; the XML rides as sealed memory */
    HF_REPORT_STOP,
    HF_REPORT_ASK,   /* vm agent: send the inventory again */
    HF_REPORT_FENCE, /* fence agent: one level against one node */
    HF_REPORT_DROP,  /* vm, fence: this token is no longer wanted */
    HF_REPORT_KINDS
};

/* Phases of an order, in the words of the timeline. */
enum hf_progress {
    HF_PROGRESS_FENCE_RUNNING = 1, /* the fence agent's process is started */
    HF_PROGRESS_FENCE_OFF,         /* off returned success; status follows */
    HF_PROGRESS_START_REQUESTED,   /* virDomainCreateXML called */
    HF_PROGRESS_QEMU_RUNNING,      /* qemu exists, paused, pid known */
    HF_PROGRESS_RESUMED,
    HF_PROGRESS_STOP_DESTROY,
    HF_PROGRESS_STOP_KILL,
    HF_PROGRESS_KINDS
};

struct hf_report_host {
    struct hf_boot boot;
    uint32_t memory_mib, available_mib;
    uint16_t cores;
    uint32_t load_centi;                                    /* load average 1 min x 100 */
    uint32_t psi_cpu_centi, psi_memory_centi, psi_io_centi; /* "some" avg10 x 100; UINT32_MAX:
                                                               not known */
    uint64_t boottime_ns;
    int64_t wall_ns;
    bool clock_synchronised; /* adjtimex says so */
};

struct hf_report {
    enum hf_report_kind kind;
    union {
        struct {
            enum hf_agent_kind agent;
            uint32_t pid;
        } hello;
        struct hf_report_host host;
        struct {
            uint64_t as_of; /* of the newest ASK before it was made; the agent only hands it back */
            uint16_t count;
            struct hf_vm_seen vm[HF_VMS_MAX];
        } inventory;
        struct {
            hf_vm_uid uid;
            uint32_t start_no;
            uint32_t pid; /* qemu's, 0 unknown */
            enum hf_seen seen;
        } vm;
        struct {
            bool known;
            char why[HF_REASON_MAX + 1]; /* when not known: "libvirt: connect: refused" */
        } watch;
        struct {
            struct hf_token token;
            enum hf_outcome outcome;
            uint32_t took_ms;
            char why[HF_REASON_MAX + 1];
        } done;
        struct {
            struct hf_token token;
            enum hf_progress phase;
            uint32_t pid;
        } progress;
        struct {
            bool is_last; /* with uid 0: the list ends here */
            hf_vm_uid uid;
            char name[HF_NAME_MAX + 1];
        } vms;
        struct {
            struct hf_token token;
            hf_vm_uid uid;
            uint32_t start_no;
            uint32_t deadline_ms;
            uint32_t memory_mib;
            char name[HF_NAME_MAX + 1];
            struct hf_digest xml;
        } start;
        struct {
            struct hf_token token;
            hf_vm_uid uid;
            uint32_t start_no;
            uint32_t grace_ms;
            uint32_t deadline_ms; /* in all, the grace included */
            char name[HF_NAME_MAX + 1];
        } stop;
        struct {
            struct hf_token token;
            uint8_t level;
            uint32_t deadline_ms;
            char target[HF_NAME_MAX + 1]; /* node name, as in the text that rides */
            /* the running configuration's canonical text rides as sealed memory */
        } fence;
        struct {
            uint64_t as_of; /* engine_as_of() */
        } ask;
        struct {
            struct hf_token token;
        } drop;
    } u;
};

enum { HF_REPORT_BYTES_MAX = 8192 };

/* Returns the length (<= HF_REPORT_BYTES_MAX). The struct must be valid: our own mistake otherwise.
 * Control characters in a `why` become blanks: they often come from a library. */
size_t report_encode(const struct hf_report *report, uint8_t out[HF_REPORT_BYTES_MAX]);
enum hf_code report_decode(const uint8_t *bytes, size_t len, struct hf_report *report,
                           struct hf_err *err);

#endif
