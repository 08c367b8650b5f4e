/* qemu.h - the processes that are the VMs, found and watched without libvirt.
 * A VM runs exactly as long as its qemu has a thread. Identity is pid + start time, held by a
 * pidfd: a pid used again is never taken for it. */
#ifndef AGENTS_VM_QEMU_H
#define AGENTS_VM_QEMU_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agents/vm/judge.h"
#include "supervisord/base/err.h"
#include "supervisord/model/ids.h"

enum { QEMU_PROCESSES_MAX = 65536 }; /* of one look: a host with more is not certain */

struct qemu_where {
    const char *proc; /* "/proc"; borrowed */
    const char *run;  /* "/run/libvirt/qemu": NAME.pid and NAME.xml by libvirt; borrowed */
};

struct qemu {
    pid_t pid;         /* 0 = none */
    uint64_t started;  /* clock ticks since boot, /proc/PID/stat field 22 */
};

/* By libvirt's pid file: quick, enough right after a start. pid 0: none, or it is not (any more)
 * this VM's. */
struct qemu qemu_by_file(const struct qemu_where *where, const char *name);

/* One look at every process of the host, for `count` names: found[i].pid = 0 is certain. Also by
 * the pid files, because a process stuck in the kernel while it exits has no command line any more.
 * HF_EIO: nothing is certain. */
enum hf_code qemu_look(const struct qemu_where *where, const char *const *names, uint16_t count,
                       struct qemu *found, struct hf_err *err);

/* Hold it. HF_ENOENT: it has ended, or its pid is somebody else's now. */
enum hf_code qemu_hold(const struct qemu_where *where, const struct qemu *qemu, int *pidfd,
                       struct hf_err *err);
bool qemu_has_ended(int pidfd);
/* SIGKILL. False: it has ended. */
bool qemu_kill(int pidfd);
/* How it ended, once it has. */
enum judge_end qemu_end(const struct qemu_where *where, const struct qemu *qemu, int pidfd);

/* libvirt's qemu driver, that is the daemon whose calls make processes: the one that holds the lock
 * of its pid file (libvirtd or virtqemud, however its socket came to it). pid 0: not known. */
struct qemu qemu_driver(const struct qemu_where *where);
/* Certainly not there any more; false when that cannot be known. */
bool qemu_is_gone(const struct qemu_where *where, const struct qemu *process);

/* The start it stems from, out of libvirt's status file; 0 = not ours, or not readable
 * (*is_certain false then). */
uint32_t qemu_start_no(const struct qemu_where *where, const char *name, hf_vm_uid uid,
                       bool *is_certain);
/* Is its guest paused, by the same file (render_is_paused)? False when that cannot be known. */
bool qemu_is_paused(const struct qemu_where *where, const char *name, const struct qemu *qemu);

#endif
