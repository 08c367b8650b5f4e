/* vf_scan.c - a PF and its VFs out of sysfs. No file that is read here takes the RTNL lock. */
#include "nicbond/vf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisord/base/path.h"
#include "supervisord/base/str.h"

/* A file of one line, without its newline. */
static bool read_line(const char *path, char *line, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len;

    if (fd < 0)
        return false;
    len = read(fd, line, cap - 1);
    close(fd);
    if (len <= 0)
        return false;
    line[len] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return true;
}

/* The PF's own interface: a folder below net/. With several the oldest one, by its number: it is
 * the port, representors of VFs come later. */
static enum hf_code read_interface(const char *sys, struct vf_pf *pf, struct hf_err *err)
{
    char path[PATH_MAX], line[32];
    const struct dirent *entry;
    uint64_t ifindex;
    DIR *folder;

    (void)snprintf(path, sizeof path, "%s/bus/pci/devices/%s/net", sys, pf->pci);
    folder = opendir(path);
    if (folder == NULL)
        return hf_err_set(err, HF_ENOENT, "PF %s has no network interface: %s", pf->pci,
                          strerror(errno));
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.' || strlen(entry->d_name) > HF_IFNAME_MAX)
            continue;
        (void)snprintf(path, sizeof path, "%s/bus/pci/devices/%s/net/%s/ifindex", sys, pf->pci,
                       entry->d_name);
        if (!read_line(path, line, sizeof line) || !hf_str_to_u64(line, INT32_MAX, &ifindex) ||
            ifindex == 0 || (pf->ifindex != 0 && (int32_t)ifindex > pf->ifindex))
            continue;
        pf->ifindex = (int32_t)ifindex;
        (void)hf_str_copy(pf->name, sizeof pf->name, entry->d_name);
    }
    closedir(folder);
    if (pf->ifindex == 0)
        return hf_err_set(err, HF_ENOENT, "PF %s has no network interface", pf->pci);
    return HF_OK;
}

enum hf_code vf_scan_vfs(const char *sys, const char *pf, struct vf_pf *out, struct hf_err *err)
{
    char path[PATH_MAX], driver[64];

    memset(out, 0, sizeof *out);
    if (!vf_pci_is_name(pf))
        return hf_err_set(err, HF_EINVAL, "%.40s is no PCI address", pf);
    (void)hf_str_copy(out->pci, sizeof out->pci, pf);
    (void)snprintf(path, sizeof path, "%s/bus/pci/devices/%s", sys, pf);
    if (access(path, F_OK) != 0)
        return hf_err_set(err, HF_ENOENT, "%s: %s", path, strerror(errno));
    for (uint16_t n = 0; n < VF_COUNT_MAX; n++) {
        (void)snprintf(path, sizeof path, "%s/bus/pci/devices/%s/virtfn%u", sys, pf, (unsigned)n);
        if (!hf_path_link_name(path, out->vf[n], sizeof out->vf[n]))
            break;
        if (!vf_pci_is_name(out->vf[n]))
            return hf_err_set(err, HF_EBAD, "%s points to %s, which is no PCI address", path,
                              out->vf[n]);
        out->count = (uint16_t)(n + 1);
        (void)snprintf(path, sizeof path, "%s/bus/pci/devices/%s/driver", sys, out->vf[n]);
        out->has_driver[n] = hf_path_link_name(path, driver, sizeof driver);
    }
    return HF_OK;
}

enum hf_code vf_scan(const char *sys, const char *pf, struct vf_pf *out, struct hf_err *err)
{
    if (vf_scan_vfs(sys, pf, out, err) != HF_OK)
        return err->code;
    return read_interface(sys, out, err);
}
