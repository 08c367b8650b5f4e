/* wires.h - a network of a test's own: a network namespace with a pair of virtual wires, and a
 * sysfs that shows it below a folder. Needs root. */
#ifndef TESTS_UNIT_AGENTS_NIC_WIRES_H
#define TESTS_UNIT_AGENTS_NIC_WIRES_H

#include <sched.h>
#include <sys/mount.h>

#include "tests/unit/agents/nic/tree.h"

/* False, with the reason printed, when this user may not. */
static inline bool wires_open(struct tree *tree)
{
    char sys[128];

    if (geteuid() != 0) {
        printf("SKIPPED: a network namespace needs root\n");
        return false;
    }
    tree_open(tree);
    ck_assert_int_eq(unshare(CLONE_NEWNET | CLONE_NEWNS), 0);
    ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    (void)snprintf(sys, sizeof sys, "%s/sys", tree->root);
    ck_assert_int_eq(mkdir(sys, 0700), 0);
    ck_assert_int_eq(mount("sysfs", sys, "sysfs", 0, NULL), 0);
    return true;
}

static inline void wires_close(const struct tree *tree)
{
    char sys[128];

    (void)snprintf(sys, sizeof sys, "%s/sys", tree->root);
    ck_assert_int_eq(umount(sys), 0);
    ck_assert_int_eq(rmdir(sys), 0);
    ck_assert_int_eq(rmdir(tree->root), 0);
}

static inline void wires_run(const char *command)
{
    ck_assert_msg(system(command) == 0, "%s", command);
}

/* near and far, both up. */
static inline void wires_pair(const char *near, const char *far)
{
    char command[200];

    (void)snprintf(command, sizeof command,
                   "ip link add %s type veth peer name %s && ip link set %s up && "
                   "ip link set %s up",
                   near, far, near, far);
    wires_run(command);
}

#endif
