/* render.h - domain XML of a start: checked, and marked with the start it belongs to. Pure: memory
 * in, memory out, libxml2 without network and without DTD. The XML comes from an operator: hostile
 * bytes, refused with the reason. */
#ifndef AGENTS_VM_RENDER_H
#define AGENTS_VM_RENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisord/base/err.h"
#include "supervisord/model/ids.h"

/* <hf:start xmlns:hf="urn:holdfast:start:1" no="3" uid="7"/> in <metadata>. */
#define RENDER_NAMESPACE "urn:holdfast:start:1"

/* Once per process, before any thread uses this. */
void render_init(void);

/* Lint, then put the mark in (replacing an old one). *out is malloc'ed text, the caller frees it.
 * HF_EINVAL: a rule is broken; HF_EBAD: it is not XML we read. */
enum hf_code render_start(const char *xml, size_t len, const char *name, hf_vm_uid uid,
                          uint32_t start_no, char **out, struct hf_err *err);

/* The mark in a domain's XML or in libvirt's status file around one. HF_ENOENT: it has none. */
enum hf_code render_read(const char *xml, size_t len, hf_vm_uid *uid, uint32_t *start_no,
                         struct hf_err *err);

/* Does libvirt's status file, of this process, say that its guest is paused and that no trouble and
 * no migration paused it? So it is after a create until a resume, and after a suspend by hand. */
bool render_is_paused(const char *xml, size_t len, uint32_t pid);

#endif
