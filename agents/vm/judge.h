/* judge.h - a VM's process has ended: what was it? Pure.
 * The process itself is the evidence; libvirt's words only tell an end on purpose from a crash, so
 * they are waited for only where they can change the verdict, and never long:
 *   killed by a signal or with an error status  crash, at once (a hard `virsh destroy` sends
 *                                               SIGKILL only after 10 s, and its word came before)
 *   status 0                                    orderly: libvirt will say why
 *   status not known                            its parent reaped it before we looked
 * Measured with libvirt 9.0 and QEMU 7.2: README.md. */
#ifndef AGENTS_VM_JUDGE_H
#define AGENTS_VM_JUDGE_H

#include <stdbool.h>

#include "supervisord/base/clock.h"
#include "supervisord/model/states.h"

enum {
    JUDGE_ORDERLY_MS = 400,  /* libvirt's word follows an orderly end within 30 ms; loaded hosts */
    JUDGE_UNKNOWN_MS = 20,   /* of the 80 ms from a kill to the restart's qemu */
};

enum judge_end { JUDGE_END_UNKNOWN = 0, JUDGE_END_ORDERLY, JUDGE_END_FAILED, JUDGE_ENDS };

/* The strongest word libvirt gave on this instance. */
enum judge_hint {
    JUDGE_HINT_NONE = 0,
    JUDGE_HINT_HOST,       /* SHUTDOWN by a signal from the host: more may follow */
    JUDGE_HINT_GUEST,      /* SHUTDOWN by the guest */
    JUDGE_HINT_OFF,        /* STOPPED after a shutdown */
    JUDGE_HINT_DESTROYED,  /* STOPPED by somebody's call */
    JUDGE_HINT_AWAY,       /* STOPPED by migration or save */
    JUDGE_HINT_FAILED,     /* STOPPED by a crash, a panic, a lost monitor */
    JUDGE_HINTS
};

struct judge_facts {
    bool is_ordered;       /* our own stop order works on it */
    bool libvirt_answers;  /* a word may still come */
    bool was_guest;        /* SHUTDOWN by the guest was among the words */
    enum judge_hint hint;
    enum judge_end end;
    hf_time ended_at;
};

struct judge_verdict {
    enum { JUDGE_WAIT = 0, JUDGE_SAY, JUDGE_ORDERED } word;
    enum hf_seen seen;     /* JUDGE_SAY */
    hf_time until;         /* JUDGE_WAIT: ask again then at the latest */
    const char *why;
};

struct judge_verdict judge_vm_end(const struct judge_facts *facts, hf_time now);

#endif
