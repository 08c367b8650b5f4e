/* legs_find.c - from NICs to legs by sysfs, and libvirt's folder of status files. */
#include "nicbond/legs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "nicbond/vf_config.h"
#include "supervisord/base/path.h"
#include "supervisord/base/str.h"
#include "supervisord/model/limits.h"

enum {
    FILES_MAX = 4096, /* of libvirt's folder: two and more a VM, and others */
    LOWER_MAX = 64,   /* links of one device that are looked at */
};

/* ---- sysfs ---- */

/* The VF's number in the PF at `pf`; false: it is none of its VFs. */
static bool vf_number(const char *sys, const char *pf, const char *vf, uint16_t *out)
{
    char path[PATH_MAX], found[HF_PCI_NAME_MAX + 1];

    (void)snprintf(path, sizeof path, "%s/bus/pci/devices/%s/physfn", sys, vf);
    if (!hf_path_link_name(path, found, sizeof found) || strcmp(found, pf) != 0)
        return false;
    for (unsigned i = 0; i < VF_COUNT_MAX; i++) {
        (void)snprintf(path, sizeof path, "%s/bus/pci/devices/%s/virtfn%u", sys, pf, i);
        if (!hf_path_link_name(path, found, sizeof found))
            return false; /* virtfnN have no gaps */
        if (strcmp(found, vf) == 0) {
            *out = (uint16_t)i;
            return true;
        }
    }
    return false;
}

static bool has_lower(const char *sys, const char *device, const char *lower)
{
    char path[PATH_MAX];

    (void)snprintf(path, sizeof path, "%s/class/net/%s/lower_%s", sys, device, lower);
    return access(path, F_OK) == 0;
}

/* Is `device` above `pf`: directly (macvtap), or as the bridge or the bridge's bond? Two steps are
 * all there are: bridge over a bond of one port over the PF. */
static bool is_above(const char *sys, const char *device, const char *pf)
{
    char path[PATH_MAX];
    const struct dirent *entry;
    bool found = has_lower(sys, device, pf);
    DIR *folder;

    if (found)
        return true;
    (void)snprintf(path, sizeof path, "%s/class/net/%s", sys, device);
    folder = opendir(path);
    if (folder == NULL)
        return false;
    for (unsigned i = 0; !found && i < LOWER_MAX && (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, "lower_", 6) != 0)
            continue;
        i++;
        found = has_lower(sys, entry->d_name + 6, pf);
    }
    closedir(folder);
    return found;
}

/* A tap is a port of the bridge the PF is a port of; a macvtap is above the PF itself. */
static bool is_virtio_leg(const char *sys, const struct legs_nic *nic, const char *pf)
{
    char path[PATH_MAX], master[HF_IFNAME_MAX + 1];

    if (nic->kind == HF_LEG_MACVTAP)
        return is_above(sys, nic->device, pf);
    (void)snprintf(path, sizeof path, "%s/class/net/%s/master", sys, nic->device);
    return hf_path_link_name(path, master, sizeof master) && is_above(sys, master, pf);
}

static bool is_leg(const char *sys, const struct legs_nic *nic, const struct legs_pf *pf,
                   uint16_t *vf)
{
    *vf = 0;
    if (nic->kind == HF_LEG_VF)
        return pf->pci[0] != '\0' && vf_number(sys, pf->pci, nic->pci, vf);
    return pf->name[0] != '\0' && (nic->mark != LEGS_UNMARKED || is_virtio_leg(sys, nic, pf->name));
}

/* The first NIC with this mark that is a leg. */
static bool find_leg(const char *sys, const struct legs_vm *vm, enum legs_mark mark,
                     const struct legs_pf *pf, struct legs_leg *leg)
{
    for (unsigned i = 0; i < vm->nics_count; i++) {
        const struct legs_nic *nic = &vm->nic[i];
        uint16_t vf;

        if (nic->mark != mark || !is_leg(sys, nic, pf, &vf))
            continue;
        *leg =
            (struct legs_leg){.kind = nic->kind, .mac = nic->mac, .vf = vf, .is_off = nic->is_off};
        (void)hf_str_copy(leg->pci, sizeof leg->pci, nic->pci);
        (void)hf_str_copy(leg->device, sizeof leg->device, nic->device);
        return true;
    }
    return false;
}

void legs_resolve(const char *sys, const struct legs_vm *vm,
                  const struct legs_pf pf[HF_FABRICS_MAX], struct legs_leg leg[HF_FABRICS_MAX])
{
    static const enum legs_mark mark[HF_FABRICS_MAX] = {LEGS_IN_A, LEGS_IN_B};

    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        leg[f] = (struct legs_leg){0};
        if (!find_leg(sys, vm, mark[f], &pf[f], &leg[f]))
            (void)find_leg(sys, vm, LEGS_UNMARKED, &pf[f], &leg[f]);
    }
}

/* ---- libvirt's folder ---- */

enum hf_code legs_read(const char *run, const char *name, struct legs_vm *vm, struct hf_err *err)
{
    char path[PATH_MAX];
    size_t len = 0;
    ssize_t got = 0;
    char *xml;
    int fd;

    (void)snprintf(path, sizeof path, "%s/%s.xml", run, name);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0)
        return hf_err_set(err, errno == ENOENT ? HF_ENOENT : HF_EIO, "open %s: %s", path,
                          strerror(errno));
    xml = malloc(HF_XML_MAX + 1);
    while (xml != NULL && len <= HF_XML_MAX &&
           (got = read(fd, xml + len, HF_XML_MAX + 1 - len)) > 0)
        len += (size_t)got;
    close(fd);
    if (xml == NULL || got < 0)
        (void)hf_err_set(err, HF_EIO, "read %s: %s", path, strerror(errno));
    else
        err->code = legs_parse(name, xml, len, vm, err);
    free(xml);
    return err->code;
}

/* NAME.xml -> NAME. */
static bool name_of(const char *file, char name[HF_NAME_MAX + 1])
{
    size_t len = strlen(file);

    if (len <= 4 || len - 4 > HF_NAME_MAX || strcmp(file + len - 4, ".xml") != 0)
        return false;
    memcpy(name, file, len - 4);
    name[len - 4] = '\0';
    return hf_str_is_name(name, HF_NAME_MAX);
}

enum hf_code legs_each(const char *run, bool (*each)(void *user, const char *name), void *user,
                       struct hf_err *err)
{
    DIR *folder = opendir(run);
    const struct dirent *entry;
    unsigned files = 0;
    char name[HF_NAME_MAX + 1];

    if (folder == NULL)
        return hf_err_set(err, HF_EIO, "look at %s: %s", run, strerror(errno));
    while ((entry = readdir(folder)) != NULL && files++ < FILES_MAX) {
        if (name_of(entry->d_name, name) && !each(user, name))
            break;
    }
    closedir(folder);
    return HF_OK;
}

enum hf_code legs_watch_open(const char *run, int *fd, struct hf_err *err)
{
    int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

    if (watch < 0)
        return hf_err_set(err, HF_EIO, "inotify: %s", strerror(errno));
    /* libvirt writes NAME.xml.new and renames it; others may write in place. */
    if (inotify_add_watch(watch, run, IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE | IN_MOVED_FROM) <
        0) {
        (void)hf_err_set(err, HF_EIO, "watch %s: %s", run, strerror(errno));
        close(watch);
        return err->code;
    }
    *fd = watch;
    return HF_OK;
}

bool legs_watch_read(int fd, void (*each)(void *user, const char *name), void *user)
{
    _Alignas(struct inotify_event) char bytes[4096];
    char name[HF_NAME_MAX + 1];
    bool is_complete = true;
    ssize_t len;

    while ((len = read(fd, bytes, sizeof bytes)) > 0) {
        for (ssize_t at = 0; at < len;) {
            const struct inotify_event *ev = (const struct inotify_event *)(void *)(bytes + at);

            if ((ev->mask & (IN_Q_OVERFLOW | IN_IGNORED)) != 0)
                is_complete = false;
            else if (ev->len > 0 && name_of(ev->name, name))
                each(user, name);
            at += (ssize_t)(sizeof *ev + ev->len);
        }
    }
    return is_complete;
}
