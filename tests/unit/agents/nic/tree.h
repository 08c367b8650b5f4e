/* tree.h - a sysfs of a test's own: a folder with files and links as the kernel makes them. */
#ifndef TESTS_UNIT_AGENTS_NIC_TREE_H
#define TESTS_UNIT_AGENTS_NIC_TREE_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/check.h"

struct tree {
    char root[64];
};

/* Make every folder above path. */
static inline void tree_folders(const char *path)
{
    char part[1024];

    (void)snprintf(part, sizeof part, "%s", path);
    for (char *slash = part + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void)mkdir(part, 0700);
        *slash = '/';
    }
}

static inline void tree_open(struct tree *tree)
{
    (void)snprintf(tree->root, sizeof tree->root, "/tmp/holdfast-nic-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(tree->root));
}

static inline void tree_close(struct tree *tree)
{
    char command[128];

    (void)snprintf(command, sizeof command, "rm -rf '%s'", tree->root);
    ck_assert_int_eq(system(command), 0);
}

/* The file of this path (a format) has these bytes. */
static inline void tree_bytes(const struct tree *tree, const void *bytes, size_t len,
                              const char *path)
{
    char full[1024];
    FILE *file;

    (void)snprintf(full, sizeof full, "%s%s", tree->root, path);
    tree_folders(full);
    file = fopen(full, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, len, file), len);
    ck_assert_int_eq(fclose(file), 0);
}

__attribute__((format(printf, 3, 4))) static inline void tree_file(const struct tree *tree,
                                                                   const char *text,
                                                                   const char *format, ...)
{
    char path[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(path, sizeof path, format, args);
    va_end(args);
    tree_bytes(tree, text, strlen(text), path);
}

__attribute__((format(printf, 3, 4))) static inline void tree_link(const struct tree *tree,
                                                                   const char *target,
                                                                   const char *format, ...)
{
    char path[512], full[1024];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(path, sizeof path, format, args);
    va_end(args);
    (void)snprintf(full, sizeof full, "%s%s", tree->root, path);
    tree_folders(full);
    (void)unlink(full);
    ck_assert_int_eq(symlink(target, full), 0);
}

static inline void tree_remove(const struct tree *tree, const char *path)
{
    char command[1024];

    (void)snprintf(command, sizeof command, "rm -rf '%s%s'", tree->root, path);
    ck_assert_int_eq(system(command), 0);
}

/* A file of an interface. */
static inline void tree_net(const struct tree *tree, const char *name, const char *file,
                            const char *text)
{
    tree_file(tree, text, "/sys/class/net/%s/%s", name, file);
}

/* An interface that is up, of a PCI device ("" = none). */
static inline void tree_interface(const struct tree *tree, const char *name, const char *pci,
                                  const char *ifindex)
{
    char target[64];

    tree_net(tree, name, "ifindex", ifindex);
    tree_net(tree, name, "carrier_down_count", "1\n");
    tree_net(tree, name, "carrier_up_count", "2\n");
    tree_net(tree, name, "flags", "0x1003\n");
    tree_net(tree, name, "operstate", "up\n");
    tree_net(tree, name, "queues/tx-0/tx_timeout", "0\n");
    tree_net(tree, name, "queues/tx-1/tx_timeout", "0\n");
    tree_net(tree, name, "statistics/rx_crc_errors", "0\n");
    if (pci[0] == '\0')
        return;
    (void)snprintf(target, sizeof target, "../../../%s", pci);
    tree_link(tree, target, "/sys/class/net/%s/device", name);
    tree_file(tree, "x", "/sys/bus/pci/devices/%s/net/%s/is", pci, name);
}

/* A PF with a driver and VFs; a VF's driver "" is none. */
static inline void tree_pf(const struct tree *tree, const char *pci, const char *driver,
                           unsigned vfs, const char *vf_driver)
{
    char target[64];

    tree_file(tree, "0x1924\n", "/sys/bus/pci/devices/%s/vendor", pci);
    tree_file(tree, "0x0b03\n", "/sys/bus/pci/devices/%s/device", pci);
    tree_file(tree, "1\n", "/sys/bus/pci/devices/%s/numa_node", pci);
    (void)snprintf(target, sizeof target, "../../../bus/pci/drivers/%s", driver);
    tree_link(tree, target, "/sys/bus/pci/devices/%s/driver", pci);
    for (unsigned i = 0; i < vfs; i++) {
        char vf[16];

        (void)snprintf(vf, sizeof vf, "%.8s%02x.%u", pci, 16 + i / 8, i % 8);
        (void)snprintf(target, sizeof target, "../%s", vf);
        tree_link(tree, target, "/sys/bus/pci/devices/%s/virtfn%u", pci, i);
        tree_file(tree, "0x1b03\n", "/sys/bus/pci/devices/%s/device", vf);
        if (vf_driver[0] == '\0')
            continue;
        (void)snprintf(target, sizeof target, "../../../bus/pci/drivers/%s", vf_driver);
        tree_link(tree, target, "/sys/bus/pci/devices/%s/driver", vf);
    }
}

#endif
