#include "agents/nic/probe.h"

#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agents/nic/parse.h"
#include "agents/nic/sysfs.h"
#include "supervisord/base/str.h"

/* Sensors of one card that are looked at: sfc has about 20. */
enum { HWMONS_MAX = 4, SENSORS_MAX = 32 };

struct path {
    char text[PATH_MAX];
};

__attribute__((format(printf, 1, 2))) static struct path path_of(const char *format, ...);

static struct path path_of(const char *format, ...)
{
    struct path path;
    va_list args;

    va_start(args, format);
    (void)vsnprintf(path.text, sizeof path.text, format, args);
    va_end(args);
    return path;
}

static bool exists(const struct path *path)
{
    return access(path->text, F_OK) == 0;
}

static struct path of_pci(const char *root, const char *pci, const char *rest)
{
    return path_of("%s/sys/bus/pci/devices/%s%s", root, pci, rest);
}

static struct path of_net(const char *root, const char *name, const char *rest)
{
    return path_of("%s/sys/class/net/%s%s", root, name, rest);
}

static int32_t ifindex_of(const char *root, const char *name)
{
    struct path path = of_net(root, name, "/ifindex");
    int64_t index;

    return sysfs_number(path.text, &index) && index > 0 && index <= INT32_MAX ? (int32_t)index : 0;
}

/* Take the network device of this name, with the PCI device it is of. */
static bool take_net(const char *root, const char *name, struct nic_place *place)
{
    struct path path = of_net(root, name, "/device");
    struct nic_place found = {"", "", 0};
    char target[64];

    if (!parse_name(name, strlen(name), found.name))
        return false;
    found.ifindex = ifindex_of(root, name);
    if (found.ifindex == 0)
        return false;
    if (sysfs_link_name(path.text, target, sizeof target) && parse_is_pci(target, strlen(target)))
        (void)hf_str_copy(found.pci, sizeof found.pci, target);
    *place = found;
    return true;
}

/* Is a the better one of a PCI device's network devices? The wanted one, else the oldest: it is the
 * port, representors of VFs come later. */
static bool is_better(const struct nic_place *a, const struct nic_place *b, const char *wanted)
{
    if (b->name[0] == '\0' || strcmp(a->name, wanted) == 0)
        return true;
    return strcmp(b->name, wanted) != 0 && a->ifindex < b->ifindex;
}

static bool take_pci(const char *root, const char *pci, const char *wanted, struct nic_place *place)
{
    struct path device = of_pci(root, pci, ""), nets = of_pci(root, pci, "/net");
    struct nic_place best = {"", "", 0}, one;
    const struct dirent *entry;
    unsigned count = 0;
    DIR *folder;

    if (!parse_is_pci(pci, strlen(pci)) || !exists(&device))
        return false;
    folder = opendir(nets.text);
    while (folder != NULL && count < NIC_NETS_MAX && (entry = readdir(folder)) != NULL) {
        count++;
        memset(&one, 0, sizeof one);
        if (!parse_name(entry->d_name, strlen(entry->d_name), one.name))
            continue;
        one.ifindex = ifindex_of(root, one.name);
        if (one.ifindex > 0 && is_better(&one, &best, wanted))
            best = one;
    }
    if (folder != NULL)
        closedir(folder);
    *place = best;
    return hf_str_copy(place->pci, sizeof place->pci, pci);
}

/* A network device that was renamed keeps its index. */
static bool take_ifindex(const char *root, int32_t ifindex, struct nic_place *place)
{
    struct path path = path_of("%s/sys/class/net", root);
    const struct dirent *entry;
    bool is_found = false;
    DIR *folder = opendir(path.text);

    while (folder != NULL && !is_found && (entry = readdir(folder)) != NULL)
        is_found = entry->d_name[0] != '.' && ifindex_of(root, entry->d_name) == ifindex &&
                   take_net(root, entry->d_name, place);
    if (folder != NULL)
        closedir(folder);
    return is_found;
}

enum hf_code probe_nic_find(const char *root, const char *wanted, const struct nic_place *known,
                            struct nic_place *place, struct hf_err *err)
{
    if (known->pci[0] != '\0' && take_pci(root, known->pci, wanted, place))
        return HF_OK;
    if (parse_is_pci(wanted, strlen(wanted)) ? take_pci(root, wanted, "", place)
                                             : take_net(root, wanted, place))
        return HF_OK;
    if (known->pci[0] == '\0' && known->ifindex > 0 && take_ifindex(root, known->ifindex, place))
        return HF_OK;
    memset(place, 0, sizeof *place);
    return hf_err_set(err, HF_ENOENT, "NIC %s%s%s: no such device", wanted,
                      known->pci[0] != '\0' ? ", last seen at " : "", known->pci);
}

static uint16_t read_id(const char *root, const char *pci, const char *file)
{
    struct path path = of_pci(root, pci, file);
    unsigned value = 0;
    char text[16];

    if (!sysfs_line(path.text, text, sizeof text) || text[0] != '0' || text[1] != 'x')
        return 0;
    for (const char *c = text + 2; hf_str_hex_digit(*c) >= 0 && value <= UINT16_MAX; c++)
        value = value << 4 | (unsigned)hf_str_hex_digit(*c);
    return value <= UINT16_MAX ? (uint16_t)value : 0;
}

static void read_vfs(const char *root, const char *pci, struct nic_inventory *out)
{
    for (unsigned i = 0; i < NIC_VFS_MAX; i++) {
        struct path link = path_of("%s/sys/bus/pci/devices/%s/virtfn%u", root, pci, i);
        struct nic_vf *vf = &out->vf[out->vfs_count];
        char target[64];

        if (!sysfs_link_name(link.text, target, sizeof target) ||
            !parse_is_pci(target, strlen(target)))
            return; /* VFs are numbered without gaps (drivers/pci/iov.c) */
        (void)hf_str_copy(vf->pci, sizeof vf->pci, target);
        link = of_pci(root, vf->pci, "/driver");
        if (!sysfs_link_name(link.text, vf->driver, sizeof vf->driver))
            vf->driver[0] = '\0';
        out->vfs_count++;
        out->vfs_without_driver = (uint16_t)(out->vfs_without_driver + (vf->driver[0] == '\0'));
    }
}

void probe_nic_inventory(const char *root, const struct nic_place *place, struct nic_inventory *out)
{
    struct path path;
    int64_t node;

    memset(out, 0, sizeof *out);
    out->numa_node = -1;
    if (place->pci[0] == '\0')
        return;
    path = of_pci(root, place->pci, "/driver");
    if (!sysfs_link_name(path.text, out->driver, sizeof out->driver))
        out->driver[0] = '\0';
    out->vendor = read_id(root, place->pci, "/vendor");
    out->device = read_id(root, place->pci, "/device");
    path = of_pci(root, place->pci, "/numa_node");
    if (sysfs_number(path.text, &node) && node >= -1 && node <= INT16_MAX)
        out->numa_node = (int16_t)node;
    read_vfs(root, place->pci, out);
}

enum nic_fact probe_nic_has_driver(const char *root, const struct nic_place *place)
{
    struct path path = of_pci(root, place->pci, "/driver");
    char driver[64];

    if (place->pci[0] == '\0')
        return NIC_NOT_KNOWN;
    return sysfs_link_name(path.text, driver, sizeof driver) ? NIC_YES : NIC_NO;
}

/* "TOTAL_ERR_FATAL 3" at the end of a list of counters; Documentation/ABI/testing/
 * sysfs-bus-pci-devices-aer_stats */
static bool add_total(const char *root, const char *pci, const char *file, const char *key,
                      uint64_t *sum)
{
    struct path path = of_pci(root, pci, file);
    char text[4096], *at;
    uint64_t value;
    size_t len;

    if (!sysfs_bytes(path.text, text, sizeof text - 1, &len))
        return false;
    text[len] = '\0';
    at = strstr(text, key);
    if (at == NULL)
        return false;
    at += strlen(key);
    at[strspn(at, "0123456789")] = '\0';
    if (!hf_str_to_u64(at, UINT64_MAX, &value))
        return false;
    *sum += value;
    return true;
}

bool probe_nic_aer_errors(const char *root, const struct nic_place *place, uint64_t *out)
{
    uint64_t sum = 0;

    if (place->pci[0] == '\0' ||
        !add_total(root, place->pci, "/aer_dev_fatal", "TOTAL_ERR_FATAL ", &sum) ||
        !add_total(root, place->pci, "/aer_dev_nonfatal", "TOTAL_ERR_NONFATAL ", &sum))
        return false;
    *out = sum;
    return true;
}

/* A field of vital product data as text: printable, blanks at its ends cut. */
static bool take_field(const uint8_t *at, size_t len, char *out, size_t cap)
{
    size_t count = 0;

    while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\0'))
        len--;
    while (len > 0 && *at == ' ') {
        at++;
        len--;
    }
    if (len == 0 || len >= cap)
        return false;
    for (; count < len; count++) {
        if (at[count] < ' ' || at[count] > '~')
            return false;
        out[count] = (char)at[count];
    }
    out[count] = '\0';
    return true;
}

/* Fields of the read-only part: two letters, a length, the text. */
static bool find_serial(const uint8_t *at, size_t len, char *out, size_t cap)
{
    while (len >= 3) {
        size_t size = at[2];

        if (size > len - 3)
            return false;
        if (at[0] == 'S' && at[1] == 'N')
            return take_field(at + 3, size, out, cap);
        at += 3 + size;
        len -= 3 + size;
    }
    return false;
}

bool probe_nic_vpd_serial(const uint8_t *bytes, size_t len, char *out, size_t cap)
{
    enum { LARGE = 0x80, READ_ONLY = 0x90 };

    out[0] = '\0';
    while (len >= 3 && (bytes[0] & LARGE) != 0) {
        size_t size = (size_t)bytes[1] | (size_t)bytes[2] << 8;

        if (size > len - 3)
            size = len - 3; /* cut: what is there may do */
        if (bytes[0] == READ_ONLY && find_serial(bytes + 3, size, out, cap))
            return true;
        bytes += 3 + size;
        len -= 3 + size;
    }
    out[0] = '\0';
    return false;
}

void probe_nic_serial(const char *root, const struct nic_place *place, char out[48])
{
    struct path path = of_pci(root, place->pci, "/vpd");
    uint8_t bytes[NIC_VPD_MAX];
    size_t len;

    out[0] = '\0';
    if (place->pci[0] == '\0')
        return;
    (void)sysfs_bytes(path.text, bytes, sizeof bytes, &len);
    (void)probe_nic_vpd_serial(bytes, len, out, 48);
}

void probe_nic_firmware(const char *root, const struct nic_place *place, char out[48])
{
    struct path path = of_pci(root, place->pci, "/infiniband");
    const struct dirent *entry;
    DIR *folder;

    out[0] = '\0';
    if (place->pci[0] == '\0' || (folder = opendir(path.text)) == NULL)
        return;
    while (out[0] == '\0' && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        path = path_of("%s/sys/bus/pci/devices/%s/infiniband/%s/fw_ver", root, place->pci,
                       entry->d_name);
        if (!sysfs_line(path.text, out, 48))
            out[0] = '\0';
    }
    closedir(folder);
}

enum nic_fact probe_nic_config_is_gone(const char *root, const struct nic_place *place)
{
    struct path path = of_pci(root, place->pci, "/config");
    uint8_t ids[4];
    size_t len;

    if (place->pci[0] == '\0' || !sysfs_bytes(path.text, ids, sizeof ids, &len) ||
        len != sizeof ids)
        return NIC_NOT_KNOWN;
    /* Vendor 0xffff does not exist: it is what a read that nobody answers gives. */
    return ids[0] == 0xff && ids[1] == 0xff ? NIC_YES : NIC_NO;
}

/* One temperature against its own critical limit. */
static enum nic_fact sensor_is_hot(const char *folder, unsigned sensor)
{
    struct path path = path_of("%s/temp%u_input", folder, sensor);
    int64_t milli, critical;

    if (!sysfs_number(path.text, &milli))
        return NIC_NOT_KNOWN;
    path = path_of("%s/temp%u_crit", folder, sensor);
    if (!sysfs_number(path.text, &critical) || critical <= 0)
        return NIC_NOT_KNOWN;
    return milli >= critical ? NIC_YES : NIC_NO;
}

enum nic_fact probe_nic_is_hot(const char *root, const struct nic_place *place)
{
    struct path path = of_pci(root, place->pci, "/hwmon");
    enum nic_fact is_hot = NIC_NOT_KNOWN;
    const struct dirent *entry;
    unsigned count = 0;
    DIR *folder;

    if (place->pci[0] == '\0' || (folder = opendir(path.text)) == NULL)
        return NIC_NOT_KNOWN;
    while (count < HWMONS_MAX && (entry = readdir(folder)) != NULL) {
        if (strncmp(entry->d_name, "hwmon", 5) != 0)
            continue;
        count++;
        path = path_of("%s/sys/bus/pci/devices/%s/hwmon/%s", root, place->pci, entry->d_name);
        for (unsigned i = 1; i <= SENSORS_MAX && is_hot != NIC_YES; i++) {
            enum nic_fact one = sensor_is_hot(path.text, i);

            is_hot = one != NIC_NOT_KNOWN ? one : is_hot;
        }
    }
    closedir(folder);
    return is_hot;
}
