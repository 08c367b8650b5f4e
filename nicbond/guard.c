#include "nicbond/guard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nicbond/ledger_file.h"
#include "nicbond/vf.h"
#include "supervisord/base/assert.h"
#include "supervisord/base/path.h"
#include "supervisord/base/str.h"

enum {
    FUNCTIONS_MAX = 8,  /* of one PCI slot */
    VFIO_PATH_MAX = 40, /* "/dev/vfio/devices/vfio" and a number */
    GROUP_MAX = 16,     /* digits of a group's number; the kernel's have ten at most */
    COMMAND_LINE_MAX = 4096,
};

/* A PF's VFs, and where their vfio devices are. */
struct guarded {
    struct vf_pf pf;
    char group[VF_COUNT_MAX][VFIO_PATH_MAX];  /* "" = none */
    char device[VF_COUNT_MAX][VFIO_PATH_MAX]; /* by iommufd; "" = none */
};

struct look {
    const struct guard_where *where;
    struct guard_users *users;
    struct guarded *at;
};

const char *guard_act_name(enum guard_act act)
{
    switch (act) {
    case GUARD_NUMVFS:
        return "numvfs";
    case GUARD_UNBIND:
        return "unbind";
    case GUARD_RESET:
        return "reset";
    case GUARD_FIRMWARE:
        return "firmware";
    case GUARD_ACTS:
        break;
    }
    return "?";
}

bool guard_act_of(const char *name, enum guard_act *act)
{
    for (enum guard_act a = GUARD_NUMVFS; a < GUARD_ACTS; a++) {
        if (strcmp(guard_act_name(a), name) == 0) {
            *act = a;
            return true;
        }
    }
    return false;
}

/* ---- users ---- */

static struct guard_user *add_user(struct look *look, enum guard_use use, uint16_t number)
{
    struct guard_user *user;

    if (look->users->count++ >= GUARD_USERS_MAX)
        return NULL;
    user = &look->users->user[look->users->count - 1];
    memset(user, 0, sizeof *user);
    user->use = use;
    user->number = number;
    (void)hf_str_copy(user->pf, sizeof user->pf, look->at->pf.pci);
    (void)hf_str_copy(user->vf, sizeof user->vf, look->at->pf.vf[number]);
    return user;
}

/* What a process's command line calls its guest ("-name guest=mq-1,..."), else its program. */
static void name_process(const char *proc, pid_t pid, char name[HF_NAME_MAX + 1])
{
    static const char guest[] = "guest=";
    char path[PATH_MAX], line[COMMAND_LINE_MAX + 1];
    const char *word, *slash;
    ssize_t len;
    int fd;

    (void)hf_str_copy(name, HF_NAME_MAX + 1, "?");
    (void)snprintf(path, sizeof path, "%s/%d/cmdline", proc, (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    len = read(fd, line, COMMAND_LINE_MAX);
    close(fd);
    if (len <= 0)
        return;
    line[len] = '\0';
    slash = strrchr(line, '/');
    (void)hf_str_copy(name, HF_NAME_MAX + 1, slash != NULL ? slash + 1 : line);
    for (word = line; word < line + len; word += strlen(word) + 1) {
        if (strncmp(word, guest, sizeof guest - 1) != 0)
            continue;
        (void)hf_str_copy(name, HF_NAME_MAX + 1, word + sizeof guest - 1);
        name[strcspn(name, ",")] = '\0';
        break;
    }
    hf_str_make_printable(name); /* a process may call itself anything */
}

static void look_file(struct look *look, pid_t pid, const char *target)
{
    const struct guarded *at = look->at;

    for (uint16_t n = 0; n < at->pf.count; n++) {
        struct guard_user *user;

        if (strcmp(target, at->group[n]) != 0 && strcmp(target, at->device[n]) != 0)
            continue;
        user = add_user(look, GUARD_VFIO, n);
        if (user == NULL)
            continue;
        user->pid = pid;
        name_process(look->where->proc, pid, user->name);
    }
}

/* Open files of one process. HF_EIO: not known; a process that has ended has none. */
static enum hf_code look_process(struct look *look, pid_t pid, struct hf_err *err)
{
    char path[PATH_MAX], target[PATH_MAX];
    const struct dirent *entry;
    unsigned files = 0;
    ssize_t len;
    DIR *folder;

    (void)snprintf(path, sizeof path, "%s/%d/fd", look->where->proc, (int)pid);
    folder = opendir(path);
    if (folder == NULL)
        return errno == ENOENT || errno == ESRCH
                   ? HF_OK
                   : hf_err_set(err, HF_EIO, "open files of process %d: %s", (int)pid,
                                strerror(errno));
    while ((entry = readdir(folder)) != NULL && files < GUARD_FILES_MAX) {
        if (entry->d_name[0] == '.')
            continue;
        files++;
        len = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        if (len < 0)
            continue; /* closed meanwhile */
        target[len] = '\0';
        if (strncmp(target, "/dev/vfio/", sizeof "/dev/vfio/" - 1) == 0)
            look_file(look, pid, target);
    }
    closedir(folder);
    if (files == GUARD_FILES_MAX)
        return hf_err_set(err, HF_EIO, "process %d has too many open files to look at", (int)pid);
    return HF_OK;
}

static enum hf_code look_processes(struct look *look, struct hf_err *err)
{
    DIR *folder = opendir(look->where->proc);
    enum hf_code code = HF_OK;
    const struct dirent *entry;
    unsigned processes = 0;
    uint64_t pid;

    if (folder == NULL)
        return hf_err_set(err, HF_EIO, "open %s: %s", look->where->proc, strerror(errno));
    while (code == HF_OK && (errno = 0, entry = readdir(folder)) != NULL) {
        if (!hf_str_to_u64(entry->d_name, INT32_MAX, &pid))
            continue;
        if (++processes > GUARD_PROCESSES_MAX)
            code = hf_err_set(err, HF_EIO, "too many processes to look at");
        else
            code = look_process(look, (pid_t)pid, err);
    }
    if (code == HF_OK && errno != 0)
        code = hf_err_set(err, HF_EIO, "read %s: %s", look->where->proc, strerror(errno));
    closedir(folder);
    return code;
}

/* An interface of this namespace is up, or may be: what does not read is not known to be down. */
static void look_netdev(struct look *look, uint16_t number, int net_fd, const char *name)
{
    char path[NAME_MAX + sizeof "/flags"], flags[32];
    struct guard_user *user;
    ssize_t len;
    int fd;

    (void)snprintf(path, sizeof path, "%s/flags", name);
    fd = openat(net_fd, path, O_RDONLY | O_CLOEXEC);
    len = fd >= 0 ? read(fd, flags, sizeof flags - 1) : 0;
    if (fd >= 0)
        close(fd);
    flags[len > 0 ? len : 0] = '\0';
    /* Bit 0 is IFF_UP. */
    if (len > 0 && (strtoul(flags, NULL, 16) & 1u) == 0)
        return;
    user = add_user(look, GUARD_NETDEV, number);
    if (user != NULL)
        (void)hf_str_copy(user->name, sizeof user->name, name);
}

/* Those whose users are seen elsewhere, by the vfio files that they have open, and the one that
 * lets nobody use its device. Others make interfaces, or have users that nothing here can see. */
static bool is_known_without(const char *driver)
{
    return strstr(driver, "vfio") != NULL || strcmp(driver, "pci-stub") == 0;
}

/* No interface of a VF is in this namespace. sysfs shows the interfaces of its own namespace only;
 * the folder net/ stays while there is one in any (drivers/base/core.c: the glue folder goes with
 * its last device). Without it, a driver that makes interfaces may be about to. */
static void look_elsewhere(struct look *look, uint16_t number, bool has_net)
{
    char path[PATH_MAX], driver[NAME_MAX + 1] = "";
    struct guard_user *user;
    struct stat link;

    (void)snprintf(path, sizeof path, "%s/bus/pci/devices/%s/driver", look->where->sys,
                   look->at->pf.vf[number]);
    if (!hf_path_link_name(path, driver, sizeof driver) &&
        (lstat(path, &link) == 0 || errno != ENOENT))
        (void)hf_str_copy(driver, sizeof driver, "?");
    if (!has_net && (driver[0] == '\0' || is_known_without(driver)))
        return;
    user = add_user(look, GUARD_ELSEWHERE, number);
    if (user != NULL)
        (void)hf_str_copy(user->name, sizeof user->name, driver[0] != '\0' ? driver : "?");
}

static void look_netdevs(struct look *look, uint16_t number)
{
    const struct dirent *entry;
    bool is_shown = false, has_net;
    char path[PATH_MAX];
    DIR *folder;

    (void)snprintf(path, sizeof path, "%s/bus/pci/devices/%s/net", look->where->sys,
                   look->at->pf.vf[number]);
    folder = opendir(path);
    has_net = folder != NULL || errno != ENOENT;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        is_shown = true;
        look_netdev(look, number, dirfd(folder), entry->d_name);
    }
    if (folder != NULL)
        closedir(folder);
    if (!is_shown)
        look_elsewhere(look, number, has_net);
}

static void look_owner(struct look *look, const struct ledger *ledger, uint16_t number)
{
    const struct ledger_vf *entry = ledger_find(ledger, look->at->pf.vf[number]);
    struct guard_user *user;

    if (!ledger_is_owned(entry))
        return;
    user = add_user(look, GUARD_LEDGER, number);
    if (user == NULL)
        return;
    user->uid = entry->uid;
    user->start_no = entry->start_no;
}

/* ---- one PF ---- */

static void find_vfio(const char *sys, struct guarded *at, uint16_t number)
{
    char path[PATH_MAX], group[GROUP_MAX + 1];
    const struct dirent *entry;
    DIR *folder;

    (void)snprintf(path, sizeof path, "%s/bus/pci/devices/%s/iommu_group", sys, at->pf.vf[number]);
    if (hf_path_link_name(path, group, sizeof group))
        (void)snprintf(at->group[number], VFIO_PATH_MAX, "/dev/vfio/%s", group);
    (void)snprintf(path, sizeof path, "%s/bus/pci/devices/%s/vfio-dev", sys, at->pf.vf[number]);
    folder = opendir(path);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] != '.')
            (void)snprintf(at->device[number], VFIO_PATH_MAX, "/dev/vfio/devices/%.16s",
                           entry->d_name);
    }
    if (folder != NULL)
        closedir(folder);
}

static enum hf_code look_pf(struct look *look, const char *pf, const struct ledger *ledger,
                            struct hf_err *err)
{
    struct guarded *at = look->at;
    enum hf_code code = HF_OK;

    HF_ASSERT(at != NULL);
    memset(at, 0, sizeof *at);
    if (vf_scan_vfs(look->where->sys, pf, &at->pf, err) != HF_OK)
        return err->code;
    for (uint16_t n = 0; n < at->pf.count; n++)
        find_vfio(look->where->sys, at, n);
    if (at->pf.count > 0)
        code = look_processes(look, err);
    /* After them: a process and its VM are what people want to read first. */
    for (uint16_t n = 0; n < at->pf.count; n++) {
        look_owner(look, ledger, n);
        look_netdevs(look, n);
    }
    return code;
}

/* The other functions of its slot that are PFs: a VF there has a link to its own. */
static enum hf_code look_sisters(struct look *look, const char *pf, const struct ledger *ledger,
                                 struct hf_err *err)
{
    char sister[HF_PCI_NAME_MAX + 1], path[PATH_MAX];

    (void)hf_str_copy(sister, sizeof sister, pf);
    for (char function = '0'; function < '0' + FUNCTIONS_MAX; function++) {
        sister[HF_PCI_NAME_MAX - 1] = function;
        (void)snprintf(path, sizeof path, "%s/bus/pci/devices/%s/physfn", look->where->sys, sister);
        if (strcmp(sister, pf) == 0 || access(path, F_OK) == 0)
            continue;
        if (look_pf(look, sister, ledger, err) != HF_OK && err->code != HF_ENOENT)
            return err->code;
    }
    return HF_OK;
}

/* ---- the answer ---- */

/* An interface's name becomes its PCI address. */
static enum hf_code find_pci(const char *sys, const char *pf, char pci[HF_PCI_NAME_MAX + 1],
                             struct hf_err *err)
{
    char path[PATH_MAX], device[NAME_MAX + 1];

    if (strlen(pf) == HF_PCI_NAME_MAX && vf_pci_is_name(pf)) {
        (void)hf_str_copy(pci, HF_PCI_NAME_MAX + 1, pf);
        return HF_OK;
    }
    if (!hf_str_is_name(pf, HF_IFNAME_MAX))
        return hf_err_set(err, HF_ENOENT, "%.40s is neither an interface nor a PCI address", pf);
    (void)snprintf(path, sizeof path, "%s/class/net/%s/device", sys, pf);
    if (!hf_path_link_name(path, device, sizeof device))
        return hf_err_set(err, HF_ENOENT, "%s: no such interface, or it is no card's", pf);
    if (!hf_str_copy(pci, HF_PCI_NAME_MAX + 1, device) || !vf_pci_is_name(pci))
        return hf_err_set(err, HF_ENOENT, "%s is no PCI device", pf);
    return HF_OK;
}

static void say_user(const struct guard_user *user, struct hf_err *line)
{
    switch (user->use) {
    case GUARD_VFIO:
        (void)hf_err_set(line, HF_EACCESS, "VF %u (%s): %s, process %d", (unsigned)user->number,
                         user->vf, user->name, (int)user->pid);
        return;
    case GUARD_LEDGER:
        (void)hf_err_set(line, HF_EACCESS, "VF %u (%s): VM %u, start %u, by the ledger",
                         (unsigned)user->number, user->vf, (unsigned)user->uid,
                         (unsigned)user->start_no);
        return;
    case GUARD_NETDEV:
        (void)hf_err_set(line, HF_EACCESS, "VF %u (%s): interface %s is up", (unsigned)user->number,
                         user->vf, user->name);
        return;
    case GUARD_ELSEWHERE:
        (void)hf_err_set(line, HF_EACCESS, "VF %u (%s): driver %.24s shows no interface here",
                         (unsigned)user->number, user->vf, user->name);
        return;
    case GUARD_USES:
        break;
    }
    HF_NEVER("a use that does not exist");
}

static enum hf_code say_refused(enum guard_act act, const char *pf, const struct guard_users *users,
                                struct hf_err *err)
{
    struct hf_err line;
    unsigned shown = 0;
    size_t used;

    (void)hf_err_set(err, HF_EACCESS, "%s of %s is refused, its VFs are in use",
                     guard_act_name(act), pf);
    for (; shown < users->count && shown < GUARD_USERS_MAX && shown < 3; shown++) {
        say_user(&users->user[shown], &line);
        used = strlen(err->text);
        (void)snprintf(err->text + used, sizeof err->text - used, "; %.110s", line.text);
    }
    used = strlen(err->text);
    if (users->count > shown)
        (void)snprintf(err->text + used, sizeof err->text - used, "; and %u more",
                       users->count - shown);
    return HF_EACCESS;
}

enum hf_code guard_look(const struct guard_where *where, enum guard_act act, const char *pf,
                        struct guard_users *users, struct hf_err *err)
{
    struct ledger *ledger = malloc(sizeof *ledger);
    struct guarded *at = malloc(sizeof *at);
    struct look look = {.where = where, .users = users, .at = at};
    char pci[HF_PCI_NAME_MAX + 1];
    enum hf_code code = HF_OK;

    users->count = 0;
    if (ledger == NULL || at == NULL)
        code = hf_err_set(err, HF_EFULL, "no memory to look at the VFs");
    if (code == HF_OK)
        code = find_pci(where->sys, pf, pci, err);
    if (code == HF_OK)
        code = ledger_file_read(where->ledger, ledger, err);
    if (code == HF_OK)
        code = look_pf(&look, pci, ledger, err);
    if (code == HF_OK && (act == GUARD_RESET || act == GUARD_FIRMWARE))
        code = look_sisters(&look, pci, ledger, err);
    free(at);
    free(ledger);
    if (users->count > 0)
        return say_refused(act, pf, users, err);
    return code == HF_OK ? HF_OK
                         : hf_err_wrap(err, "%s of %s: who uses its VFs is not known",
                                       guard_act_name(act), pf);
}

int guard_command(const struct guard_where *where, int argc, char *const *argv, char *text,
                  size_t cap)
{
    struct guard_users users;
    enum guard_act act;
    struct hf_err err;
    enum hf_code code;

    if (argc != 2 || !guard_act_of(argv[0], &act)) {
        (void)snprintf(text, cap, "guard numvfs|unbind|reset|firmware PF: may this be done now?\n");
        return 2;
    }
    code = guard_look(where, act, argv[1], &users, &err);
    if (code == HF_OK)
        (void)snprintf(text, cap, "%s of %.40s: nobody uses its VFs\n", argv[0], argv[1]);
    else
        (void)snprintf(text, cap, "%s\n", err.text);
    return code == HF_OK ? 0 : code == HF_EACCESS ? 1 : 2;
}
