/* libvirt.h - a libvirt that is slow, hangs, refuses, breaks off and lies, on order. Its domains
 * are real processes (a shell called qemu-fake), with pid and status files as the real one writes
 * them. Calls come from the agent's workers, the rest from the test's thread. */
#ifndef TESTS_FAKES_LIBVIRT_H
#define TESTS_FAKES_LIBVIRT_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "agents/vm/libvirt.h"
#include "supervisord/model/limits.h"

enum fake_mode {
    FAKE_OK = 0,
    FAKE_REFUSE,      /* VIRT_FAILED */
    FAKE_LOCKED,      /* VIRT_LOCKED */
    FAKE_GONE,        /* VIRT_GONE, nothing done */
    FAKE_HANG,        /* until another mode, or fake_release: then VIRT_OK, the thing done */
    FAKE_LIE,         /* VIRT_OK, nothing done */
    FAKE_ACTIVE_ONCE, /* create: VIRT_ACTIVE the first time */
    FAKE_ACTIVE,      /* VIRT_ACTIVE every time */
};

enum { FAKE_QEMUS_MAX = 16 };

struct fake_libvirt {
    pthread_mutex_t lock;
    pthread_cond_t released;
    char folder[128];   /* pid and status files, and the program qemu-fake */
    bool is_released;   /* hung calls go on */
    enum fake_mode attach, ping, create, resume, shutdown, destroy, probe;
    unsigned attaches, creates, resumes, shutdowns, destroys, probes;
    bool ignores_term;  /* new qemus do not end by SIGTERM */
    struct virt_sink sink;
    int stdin_pipe[2];  /* qemus live as long as its writing end */
    unsigned qemus_count;
    pid_t qemu[FAKE_QEMUS_MAX];
};

/* The nth VM's name, one that no other test on this machine has: a VM is looked for by its name
 * among all processes of the host. */
void fake_name(char name[HF_NAME_MAX + 1], unsigned nth);
/* folder exists. */
void fake_open(struct fake_libvirt *fake, const char *folder, struct virt *virt);
/* Ends and reaps every qemu. */
void fake_close(struct fake_libvirt *fake);
void fake_release(struct fake_libvirt *fake);
/* A qemu as libvirt starts one, with this XML in its status file (NULL: none). */
pid_t fake_qemu(struct fake_libvirt *fake, const char *name, const char *xml);
/* A domain as libvirt makes it, paused: its status file says so, around this XML. */
pid_t fake_made(struct fake_libvirt *fake, const char *name, const char *domain);
/* Its status file says that its guest was let run. */
void fake_runs(const struct fake_libvirt *fake, const char *name, pid_t pid);
void fake_event(struct fake_libvirt *fake, enum virt_event_kind kind, const char *name);
void fake_gone(struct fake_libvirt *fake);
/* A mode, set under the lock; calls that hang go on by the new one. */
void fake_set(struct fake_libvirt *fake, enum fake_mode *mode, enum fake_mode to);
/* A counter, read under the lock. */
unsigned fake_count(struct fake_libvirt *fake, const unsigned *counter);

#endif
