/* cmd_legs.c - which interfaces of a domain are its legs, and in which fabric.
 * An interface is a leg of the fabric whose physical function is below it on this node: the parent
 * of a VF, a port of a bridge, the device under a macvtap, also through a VLAN or a bond. Only
 * sysfs is asked, and nothing there that waits for a driver. */
#include "supervisord/ctl/cmd.h"

#include "supervisord/base/path.h"
#include "supervisord/base/str.h"

#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DEPTH_MAX = 4,  /* bridge, VLAN, bond, device */
    LINKS_MAX = 64, /* below one bridge; a host has no more ports */
    ENTRIES_MAX = 512,
};

struct link_name {
    char text[HF_IFNAME_MAX + 1];
    unsigned depth;
};

/* ---- sysfs ---- */

__attribute__((format(printf, 2, 3))) static const char *path_of(char out[PATH_MAX],
                                                                 const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(out, PATH_MAX, format, args);
    va_end(args);
    return out;
}

static bool is_there(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0;
}

/* The PCI address of what the cluster file calls NIC; false: it is no PCI device here. */
static bool pci_of(const char *sys, const char *nic, char out[HF_IFNAME_MAX + 1])
{
    char path[PATH_MAX];

    if (strchr(nic, ':') != NULL)
        return hf_str_copy(out, HF_IFNAME_MAX + 1, nic);
    return hf_path_link_name(path_of(path, "%s/class/net/%s/device", sys, nic), out,
                             HF_IFNAME_MAX + 1);
}

/* ---- what is below ---- */

struct search {
    const struct hf_config *config;
    hf_node node;
    const char *sys;
    hf_legs found;
};

/* Is it the PF of a fabric, by name or by its address? */
static void match(struct search *s, const char *name, const char *pci)
{
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        const char *nic = s->config->nics.pf[s->node.ix][f];
        char own[HF_IFNAME_MAX + 1];

        if (nic[0] == '\0')
            continue;
        if (strcmp(nic, name) == 0 ||
            (pci[0] != '\0' && pci_of(s->sys, nic, own) && strcmp(own, pci) == 0))
            s->found |= (hf_legs)(1u << f);
    }
}

/* One interface: itself, and the PF of which it is a VF. */
static void match_link(struct search *s, const char *name)
{
    char path[PATH_MAX], pci[HF_IFNAME_MAX + 1] = "";

    (void)hf_path_link_name(path_of(path, "%s/class/net/%s/device", s->sys, name), pci, sizeof pci);
    match(s, name, pci);
    if (hf_path_link_name(path_of(path, "%s/class/net/%s/device/physfn", s->sys, name), pci,
                          sizeof pci))
        match(s, "", pci);
}

/* lower_NAME: the kernel's own word for what an interface stands on. */
static unsigned add_lower(const struct search *s, const struct link_name *upper,
                          struct link_name todo[LINKS_MAX], unsigned count)
{
    static const char prefix[] = "lower_";
    char path[PATH_MAX];
    DIR *folder = opendir(path_of(path, "%s/class/net/%s", s->sys, upper->text));
    struct dirent *entry;

    for (unsigned i = 0; folder != NULL && i < ENTRIES_MAX && count < LINKS_MAX; i++) {
        entry = readdir(folder);
        if (entry == NULL)
            break;
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) != 0 ||
            !hf_str_copy(todo[count].text, sizeof todo[count].text,
                         entry->d_name + sizeof prefix - 1))
            continue;
        todo[count++].depth = upper->depth + 1;
    }
    if (folder != NULL)
        (void)closedir(folder);
    return count;
}

static void search_link(struct search *s, const char *name)
{
    struct link_name todo[LINKS_MAX];
    unsigned count = 1;

    (void)hf_str_copy(todo[0].text, sizeof todo[0].text, name);
    todo[0].depth = 0;
    for (unsigned i = 0; i < count; i++) {
        match_link(s, todo[i].text);
        if (todo[i].depth < DEPTH_MAX)
            count = add_lower(s, &todo[i], todo, count);
    }
}

/* False: the device is not on this node, so that it could be anything. */
static bool search_nic(struct search *s, const struct cmd_nic *nic)
{
    char path[PATH_MAX], pf[HF_IFNAME_MAX + 1];

    s->found = 0;
    if (nic->kind == CMD_NIC_OTHER)
        return true;
    if (nic->kind == CMD_NIC_LINK) {
        search_link(s, nic->source);
        return s->found != 0 || is_there(path_of(path, "%s/class/net/%s", s->sys, nic->source));
    }
    if (hf_path_link_name(path_of(path, "%s/bus/pci/devices/%s/physfn", s->sys, nic->source), pf,
                          sizeof pf))
        match(s, "", pf);
    return s->found != 0 || is_there(path_of(path, "%s/bus/pci/devices/%s", s->sys, nic->source));
}

/* ---- legs ---- */

static const char *nic_text(const struct cmd_nic *nic, char out[64])
{
    (void)snprintf(out, 64, "%s%s%s", nic->mac, nic->mac[0] != '\0' && nic->source[0] ? " on " : "",
                   nic->source);
    return out;
}

#define MARKS "<alias name='ua-leg-a'/> (or -b, or -none)"

static enum hf_code nic_fabrics(struct search *s, const struct cmd_nic *nic, hf_legs *fabrics,
                                struct hf_err *err)
{
    char text[64];

    *fabrics = 0;
    if (nic->mark == CMD_NIC_NO_LEG)
        return HF_OK;
    if (nic->mark == CMD_NIC_MARKED) {
        *fabrics = (hf_legs)(1u << nic->fabric);
        return HF_OK;
    }
    if (!search_nic(s, nic))
        return hf_err_set(err, HF_EINVAL,
                          "line %u: cannot tell the fabric of interface %s: there is no such "
                          "device on this node. Say --legs, or mark the interface with " MARKS,
                          nic->line, nic_text(nic, text));
    if ((s->found & (s->found - 1)) != 0)
        return hf_err_set(
            err, HF_EINVAL,
            "line %u: interface %s reaches the cards of both fabrics: no fault of one "
            "could be told from a fault of the other",
            nic->line, nic_text(nic, text));
    *fabrics = s->found;
    return HF_OK;
}

enum hf_code cmd_legs_find(const struct cmd_domain *domain, const struct hf_config *config,
                           hf_node node, const char *sys, hf_legs *legs, struct hf_err *err)
{
    struct search s = {config, node, sys, 0};
    const struct cmd_nic *first[HF_FABRICS_MAX] = {NULL};

    *legs = 0;
    for (unsigned i = 0; i < domain->nics_count; i++) {
        const struct cmd_nic *nic = &domain->nics[i];
        hf_legs fabrics;
        hf_fabric f = 0;

        if (nic_fabrics(&s, nic, &fabrics, err) != HF_OK)
            return err->code;
        if (fabrics == 0)
            continue;
        f = (hf_fabric)__builtin_ctz(fabrics);
        if (first[f] != NULL)
            return hf_err_set(err, HF_EINVAL,
                              "lines %u and %u: two interfaces in fabric %c: a VM has one leg in "
                              "each. Mark the one that is none with <alias name='ua-leg-none'/>",
                              first[f]->line, nic->line, 'a' + f);
        first[f] = nic;
        *legs |= fabrics;
    }
    return HF_OK;
}

bool cmd_legs_read(const char *text, hf_legs *legs)
{
    static const struct {
        const char *text;
        hf_legs legs;
    } words[] = {{"none", 0}, {"a", 1}, {"b", 2}, {"a,b", 3}, {"b,a", 3}};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i].text) == 0) {
            *legs = words[i].legs;
            return true;
        }
    }
    return false;
}

const char *cmd_legs_text(hf_legs legs)
{
    static const char *const texts[1 << HF_FABRICS_MAX] = {"none", "a", "b", "a and b"};

    return legs < 1 << HF_FABRICS_MAX ? texts[legs] : "?";
}
