/* ledger.h - the starts this host executed in this boot, one small file a VM, so that no agent ever
 * executes a start twice and that its successor knows of a create that may still be under way.
 * The folder lies on a tmpfs: it is gone with the boot, as everything it tells of is.
 * Refuses to guess: a file that does not read as written here is an error, never "no start". */
#ifndef AGENTS_VM_LEDGER_H
#define AGENTS_VM_LEDGER_H

#include "agents/vm/qemu.h"

#define LEDGER_FOLDER "/run/holdfast/vm-agent"

enum ledger_state {
    LEDGER_CREATING = 1, /* virDomainCreateXML is, or will at once be, called */
    LEDGER_PAUSED,       /* it made a process, which no agent let run: not even a call was begun */
    LEDGER_CREATED,      /* it failed, or its process was let run */
};

struct ledger_entry {
    hf_vm_uid uid;
    uint32_t start_no; /* the highest executed: they only ever rise */
    enum ledger_state state;
    struct qemu driver; /* the libvirt daemon that was called; pid 0 = not known */
    char name[HF_NAME_MAX + 1];
};

enum { LEDGER_LINE_MAX = 256 }; /* a magic word, five numbers, a state and a name */

/* An entry as the one line of its file, and back: nothing but what ledger_line() makes is read,
 * to the byte. */
int ledger_line(const struct ledger_entry *entry, char line[LEDGER_LINE_MAX]);
bool ledger_parse(const char *line, struct ledger_entry *entry);

/* Make the folder if it is not there. HF_EIO. */
enum hf_code ledger_open(const char *folder, struct hf_err *err);
/* HF_ENOENT: no start of it was executed here. HF_EBAD, HF_EIO: not known. Any thread. */
enum hf_code ledger_read(const char *folder, hf_vm_uid uid, struct ledger_entry *entry,
                         struct hf_err *err);
/* Replaces the VM's file whole. Any thread; one at a time for one VM. HF_EIO: the old one stands.
 */
enum hf_code ledger_write(const char *folder, const struct ledger_entry *entry, struct hf_err *err);
/* The entry of every VM that reads, in no order, until `each` returns false. HF_EBAD, HF_EIO: a
 * file or the folder does not read, so there may be more; err names the last such. */
enum hf_code ledger_each(const char *folder,
                         bool (*each)(void *user, const struct ledger_entry *entry), void *user,
                         struct hf_err *err);

#endif
