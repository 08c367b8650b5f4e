/* sysfs.h - small files below a sysfs root ("" or a folder in tests). What cannot be read is not
 * there. Nothing here may be used on an attribute that takes the kernel's RTNL lock: carrier,
 * speed, duplex, phys_port_id and phys_port_name (net/core/net-sysfs.c). */
#ifndef AGENTS_NIC_SYSFS_H
#define AGENTS_NIC_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a file; false when it cannot be opened or read. */
bool sysfs_bytes(const char *path, void *out, size_t cap, size_t *len);
/* The first line of a file as text; false when there is none, or it holds anything but printable
 * ASCII. */
bool sysfs_line(const char *path, char *out, size_t cap);
/* A whole file that is one decimal number. */
bool sysfs_number(const char *path, int64_t *out);
/* The last part of what a link points to; false when there is no such link. */
bool sysfs_link_name(const char *path, char *out, size_t cap);
/* The same of an open file, from its beginning: one system call. -1: cannot be read. */
int64_t sysfs_fd_number(int fd);
/* As sysfs_line of an open file, from its beginning. */
bool sysfs_fd_line(int fd, char *out, size_t cap);
/* Open for sysfs_fd_*; -1: not there. */
int sysfs_open(const char *path);

#endif
