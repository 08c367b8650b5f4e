/* note.h - what the two threads of holdfast-nicbond tell each other: the hot loop, which must never
 * wait, and the report thread, which may. One record, one note, over a socket pair inside the
 * process: bounded, no lock, and a descriptor to wait for. Both ends are ours and of one build, so
 * the records are structs. Descriptors in a note change their owner with it. */
#ifndef NICBOND_NOTE_H
#define NICBOND_NOTE_H

#include "agents/nic/watch.h"
#include "nicbond/nicbond.h"
#include "supervisord/base/err.h"
#include "supervisord/config/config.h"

enum note_kind {
    /* hot loop -> report thread */
    NOTE_NICS = 1, /* on change, and every 2 s */
    NOTE_LEGS,
    NOTE_FLIP,
    NOTE_WORKERS, /* so many are wanted */
    NOTE_LATE,    /* the loop was late: for the log */
    /* report thread -> hot loop */
    NOTE_VM,
    NOTE_VM_GONE,
    NOTE_ORDER,
    NOTE_TELL_ALL,
    NOTE_WORKER, /* one was started */
    NOTE_LIMITS, /* the cluster file was read again */
    NOTE_KINDS
};

enum note_pool { NOTE_POOL_PF = 0, NOTE_POOL_VM, NOTE_POOLS };

struct note_limits {
    uint32_t hold_down_ms, hold_down_max_ms, flip_deadline_ms;
    uint32_t bfd_interval_us[HF_FABRICS_MAX];
    uint8_t bfd_multiplier[HF_FABRICS_MAX];
};

struct note {
    enum note_kind kind;
    union {
        struct {
            uint8_t count;
            struct hf_pf_facts pf[HF_FABRICS_MAX];
        } nics;
        struct hf_vm_legs legs;
        struct {
            uint32_t order;
            struct hf_flip flip;
        } flip;
        uint8_t workers[NOTE_POOLS];
        struct {
            uint32_t us, worst_us;
        } late;
        struct nicbond_news vm;
        hf_vm_uid gone;
        struct {
            uint32_t number;
            hf_vm_uid uid;
            hf_fabric to;
        } order;
        struct {
            enum note_pool pool;
            int fd;
            pid_t pid;
        } worker;
        struct note_limits limits;
    } u;
};

void note_limits(const struct hf_nics_conf *conf, struct note_limits *out);
/* Two ends: [0] the hot loop's, [1] the report thread's. Non-blocking. */
enum hf_code note_open(int fd[2], struct hf_err *err);
/* False: the other side does not read; the note is not taken. */
bool note_put(int fd, const struct note *note);
/* False: there is none. */
bool note_take(int fd, struct note *note);

#endif
