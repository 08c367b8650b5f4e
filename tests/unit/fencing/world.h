/* world.h - for the fencing tests: a private directory with copies of the fake agents (modes as an
 * installed agent has them, whatever the checkout's umask was) and a few files in it. Tests run
 * with the source tree as working directory. */
#ifndef TESTS_UNIT_FENCING_WORLD_H
#define TESTS_UNIT_FENCING_WORLD_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/check.h"

static char world_root[] = "/tmp/hf-fence-XXXXXX";

static inline void world_setup(void)
{
    char command[512];

    signal(SIGPIPE, SIG_IGN);
    strcpy(world_root + sizeof world_root - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(world_root));
    snprintf(command, sizeof command,
             "mkdir -m 755 %s/agents %s/cred && "
             "install -m 755 tests/fakes/fence_* tests/fakes/ipmitool %s/agents",
             world_root, world_root, world_root);
    ck_assert_int_eq(system(command), 0);
}

static inline void world_teardown(void)
{
    char command[256];

    snprintf(command, sizeof command, "rm -r %s", world_root);
    ck_assert_int_eq(system(command), 0);
}

/* A fake under the name of a real agent. */
static inline void world_agent(const char *fake, const char *name)
{
    char command[512];

    snprintf(command, sizeof command, "install -m 755 %s/agents/%s %s/agents/%s", world_root, fake,
             world_root, name);
    ck_assert_int_eq(system(command), 0);
}

static inline const char *world_agents(void)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/agents", world_root);
    return path;
}

/* Eight of them may be in use at a time. */
static inline const char *world_path(const char *name)
{
    static char path[8][256];
    static unsigned next;

    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[next], "%s/%s", world_root, name);
    return path[next];
}

static inline void world_write(const char *name, const char *text)
{
    FILE *file = fopen(world_path(name), "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(world_path(name), 0600), 0);
}

static inline const char *world_read(const char *name)
{
    static char text[16384];
    FILE *file = fopen(world_path(name), "r");
    size_t len;

    ck_assert_ptr_nonnull(file);
    len = fread(text, 1, sizeof text - 1, file);
    text[len] = '\0';
    fclose(file);
    return text;
}

/* A killed process that is not our child is reaped by somebody else: its pidfd tells its end. */
static inline bool world_wait_gone(pid_t pid, int ms)
{
    struct pollfd gone = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    int ready;

    if (gone.fd < 0)
        return errno == ESRCH;
    ready = poll(&gone, 1, ms);
    close(gone.fd);
    return ready == 1;
}

#endif
