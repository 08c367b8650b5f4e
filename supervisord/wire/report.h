/* report.h - what agents and the daemon tell each other over the agent door.
 * One record, one message: {version u8, kind u8, body}. A message that does not decode closes the
 * connection; the agent reconnects, its data turns stale, nothing is ever "failed" by that. */
#ifndef SUPERVISORD_WIRE_REPORT_H
#define SUPERVISORD_WIRE_REPORT_H

#include "supervisord/base/err.h"
#include "supervisord/engine/engine.h"
#include "supervisord/model/nic.h"

enum { HF_REPORT_VERSION = 4 };

enum hf_agent_kind {
    HF_AGENT_HOST = 1,
    HF_AGENT_VM,
    HF_AGENT_FENCE,
    HF_AGENT_FEEDER,
    HF_AGENT_NIC, /* nicbond */
    HF_AGENT_KINDS
};

enum hf_report_kind {
    /* agent -> daemon */
    HF_REPORT_HELLO = 1, /* first on a connection */
    HF_REPORT_HOST,      /* host agent, every period and at once on change */
    HF_REPORT_INVENTORY, /* vm agent: complete; after VMS, after libvirt came back, when asked */
    HF_REPORT_VM,        /* vm agent: one VM changed */
    HF_REPORT_WATCH,     /* vm agent: does libvirt answer? */
    HF_REPORT_DONE,      /* vm, fence: an order ended */
    HF_REPORT_PROGRESS,  /* vm, fence: a phase of an order began (for people and benches) */
    HF_REPORT_WATCHDOG,  /* feeder: at once on change, and every 2 s */
    HF_REPORT_TESTED,    /* fence: what a TEST found */
    HF_REPORT_NICS,      /* nic: this host's PFs; after HELLO, on change, and every 2 s */
    HF_REPORT_LEGS, /* nic: one VM's legs; every VM's after HELLO, then on change; has = 0: it is
                     * not here any more. Nothing else takes a VM's legs back */
    HF_REPORT_FLIP, /* nic: a flip ended; the ones nobody took are told again after HELLO */
    /* daemon -> agent */
    HF_REPORT_VMS,   /* vm agent: the VMs it should know, one message per VM, then `last` */
    HF_REPORT_START, /* vm agent; the XML rides as sealed memory */
    HF_REPORT_STOP,
    HF_REPORT_ASK,   /* vm agent: send the inventory again */
    HF_REPORT_FENCE, /* fence agent: one level against one node */
    HF_REPORT_DROP,  /* vm, fence: this token is no longer wanted */
    HF_REPORT_LEASE, /* feeder: with every beat, and at once on change */
    HF_REPORT_TEST,  /* fence agent: try one level against one node, without effect; the text rides
                      */
    HF_REPORT_SELF_STOP, /* vm agent: the lease is over; kill every VM of ours now */
    HF_REPORT_NIC_ORDER, /* nic: an operator wants a VM's traffic on this leg; a FLIP answers */
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

/* File systems in memory that we and corosync cannot do without. */
enum hf_room_place {
    HF_ROOM_RUN = 0, /* that of the run directory: doors, locks, the ledger of starts */
    HF_ROOM_SHM,     /* /dev/shm: corosync's connections */
    HF_ROOMS
};

struct hf_room {
    uint64_t kib, kib_free;     /* kib 0: not known */
    uint64_t files, files_free; /* files 0: not limited, or not known */
    bool is_low;                /* the agent's verdict (agents/host/judge.h) */
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
    uint64_t hardware;       /* hash of the system UUID (base/uuid.h); 0 = not known */
    struct hf_room room[HF_ROOMS];
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
            bool power_on; /* the opposite: on, and verified to read on */
            uint32_t deadline_ms;
            char target[HF_NAME_MAX + 1]; /* node name, as in the text that rides */
            /* the running configuration's canonical text rides as sealed memory */
        } fence;
        struct {
            uint32_t number; /* comes back in TESTED */
            uint8_t level;
            uint32_t deadline_ms;
            char target[HF_NAME_MAX + 1];
        } test;
        struct {
            uint32_t number;
            enum hf_path found;
            uint64_t hardware; /* of the host behind the device; 0 = it does not tell */
            uint32_t took_ms;
            char why[HF_REASON_MAX + 1]; /* device and what it said, without secrets */
        } tested;
        struct {
            enum hf_watchdog state;
            bool is_held;
            bool was_reset; /* this boot follows a reset by the watchdog (WDIOC_GETBOOTSTATUS) */
            uint32_t timeout_ms; /* as read back; 0 when not armed */
            uint32_t lease_ms;   /* that it keeps to while armed; 0 when not armed */
            uint16_t version;
            char identity[HF_WATCHDOG_NAME_MAX + 1];
            char why[HF_REASON_MAX + 1]; /* "/dev/watchdog0 is held by systemd (pid 1)" */
        } watchdog;
        struct {
            bool wants_armed; /* false: close it cleanly */
            bool allow_softdog;
            uint32_t timeout_ms; /* wanted; the driver may round */
            uint32_t lease_ms;   /* taken at arming, kept until it is closed */
            int64_t sent_ns;     /* CLOCK_BOOTTIME when our newest echoed beat was sent; 0 = none */
            int64_t hold_until_ns; /* CLOCK_BOOTTIME: fed without a lease until then; 0 = no hold */
            char device[HF_DEVICE_PATH_MAX + 1]; /* below /dev; "" when none is to be armed */
        } lease;
        struct {
            uint64_t as_of; /* engine_as_of() */
        } ask;
        struct {
            uint8_t count; /* fabrics this host has a PF configured in, from a on */
            struct hf_pf_facts pf[HF_FABRICS_MAX];
        } nics;
        struct hf_vm_legs legs;
        struct {
            uint32_t number; /* of the NIC_ORDER it answers; 0 = nobody asked */
            struct hf_flip flip;
        } flip;
        struct {
            uint32_t number; /* > 0; comes back in FLIP */
            hf_vm_uid uid;
            hf_fabric to;
        } nic_order;
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
/* Has an agent of this kind this to say? HELLO is everybody's, once. What only the daemon says is
 * nobody's. Both enums may be out of range. */
bool report_may_come_from(enum hf_agent_kind agent, enum hf_report_kind kind);

#endif
