/* needs_internal.h - what the files of the "needs you" list share; nobody else includes it. */
#ifndef SUPERVISORD_CTL_NEEDS_INTERNAL_H
#define SUPERVISORD_CTL_NEEDS_INTERNAL_H

#include "supervisord/ctl/needs.h"

enum needs_severity { NEEDS_ERROR = 0, NEEDS_WARNING, NEEDS_SEVERITIES };

/* One walk over everything per severity: errors come first without a list to sort. */
struct needs_walk {
    struct hf_json *j;
    const struct ctl_shell *shell;
    const struct history *h;
    enum needs_severity severity;
    const struct needs_filter *only; /* NULL: everything */
};

struct needs_about {
    enum hf_subject subject;
    uint16_t ix; /* node or VM slot; its `since` is used unless `wall` is set */
    const char *name;
    hf_wall wall;
    bool is_nic; /* of the node: its NIC in this fabric */
    hf_fabric fabric;
};

/* One entry, if the walk is at this severity and wants this subject. command: "" = none. */
void needs_add(const struct needs_walk *w, enum needs_severity severity,
               const struct needs_about *about, const char *command, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* A command line for a person; names are checked, so it needs no quoting. */
struct needs_command {
    char text[3 * HF_NAME_MAX];
};

struct needs_command needs_command(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Of one node's NICs; timeless: about the node. */
void needs_nics(const struct needs_walk *w, const struct needs_about *timeless, hf_node ix,
                const struct hf_node_def *def, const struct hf_node_view *node);
/* Of a running VM's legs. */
void needs_legs(const struct needs_walk *w, const struct needs_about *about,
                const struct hf_vm_view *vm);

#endif
