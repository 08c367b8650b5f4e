/* cmd_cards.c - facts about cards: one child per card asks for them, because sysfs, ethtool and
 * rtnetlink may block for as long as a dead controller takes to be given up (sfc: 10 s a command).
 * A child that is late is left to init. */
#include "supervisord/ctl/cmd_cards.h"

#include "supervisord/base/clock.h"
#include "supervisord/base/path.h"
#include "supervisord/base/str.h"
#include "supervisord/ctl/cmd_findings.h"
#include "supervisord/model/names.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ANSWER_MS = 2000, /* a healthy card takes 20 ms, most of it for its serial number */
    REAP_MS = 200,
    ENTRIES_MAX = 64,
};

/* ---- small files ---- */

__attribute__((format(printf, 2, 3))) static const char *path_of(char out[PATH_MAX],
                                                                 const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(out, PATH_MAX, format, args);
    va_end(args);
    return out;
}

/* Its first bytes, at most cap; 0: it cannot be read. */
static size_t read_bytes(const char *path, void *out, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    size_t len = 0;
    ssize_t got = 1;

    while (fd >= 0 && len < cap && got > 0) {
        got = read(fd, (char *)out + len, cap - len);
        len += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        (void)close(fd);
    return len;
}

static bool read_text(const char *path, char out[64])
{
    size_t len = read_bytes(path, out, 63);

    out[len] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return len > 0;
}

static uint16_t read_count(const char *path)
{
    char text[64];
    uint64_t value = 0;

    return read_text(path, text) && hf_str_to_u64(text, UINT16_MAX, &value) ? (uint16_t)value : 0;
}

/* ---- one card ---- */

/* The interface of a PCI device: the only one, or the first. */
static void find_name(const char *sys, struct card_facts *card)
{
    char path[PATH_MAX];
    DIR *folder = opendir(path_of(path, "%s/bus/pci/devices/%s/net", sys, card->pci));
    struct dirent *entry;

    for (unsigned i = 0; folder != NULL && i < ENTRIES_MAX && card->name[0] == '\0'; i++) {
        entry = readdir(folder);
        if (entry == NULL)
            break;
        if (entry->d_name[0] != '.')
            (void)hf_str_copy(card->name, sizeof card->name, entry->d_name);
    }
    if (folder != NULL)
        (void)closedir(folder);
}

static void find_card(const char *sys, const char *nic, struct card_facts *card)
{
    char path[PATH_MAX];
    struct stat st;

    if (strchr(nic, ':') != NULL) {
        (void)hf_str_copy(card->pci, sizeof card->pci, nic);
        card->is_there = stat(path_of(path, "%s/bus/pci/devices/%s", sys, nic), &st) == 0;
        find_name(sys, card);
        return;
    }
    (void)hf_str_copy(card->name, sizeof card->name, nic);
    card->is_there = stat(path_of(path, "%s/class/net/%s", sys, nic), &st) == 0;
    (void)hf_path_link_name(path_of(path, "%s/class/net/%s/device", sys, nic), card->pci,
                            sizeof card->pci);
    /* A virtual device may have another kind of parent. */
    if (strchr(card->pci, ':') == NULL)
        card->pci[0] = '\0';
}

static void look_at_vfs(const char *sys, struct card_facts *card)
{
    for (unsigned vf = 0; vf < card->vfs && vf < CARDS_VFS_MAX; vf++) {
        char path[PATH_MAX], pci[HF_PCI_NAME_MAX + 1], driver[CARDS_TEXT_MAX + 1];

        if (!hf_path_link_name(path_of(path, "%s/bus/pci/devices/%s/virtfn%u", sys, card->pci, vf),
                               pci, sizeof pci) ||
            hf_path_link_name(path_of(path, "%s/bus/pci/devices/%s/driver", sys, pci), driver,
                              sizeof driver))
            continue;
        if (card->vfs_without_driver++ == 0)
            (void)hf_str_copy(card->without_driver, sizeof card->without_driver, pci);
    }
}

static void look_at_pci(const char *sys, struct card_facts *card)
{
    char path[PATH_MAX];
    uint8_t *vpd = malloc(CARDS_VPD_MAX);

    (void)hf_path_link_name(path_of(path, "%s/bus/pci/devices/%s/driver", sys, card->pci),
                            card->driver, sizeof card->driver);
    card->vfs_max =
        read_count(path_of(path, "%s/bus/pci/devices/%s/sriov_totalvfs", sys, card->pci));
    card->vfs = read_count(path_of(path, "%s/bus/pci/devices/%s/sriov_numvfs", sys, card->pci));
    look_at_vfs(sys, card);
    if (vpd != NULL) { /* root only */
        size_t len = read_bytes(path_of(path, "%s/bus/pci/devices/%s/vpd", sys, card->pci), vpd,
                                CARDS_VPD_MAX);

        (void)cards_serial(vpd, len, card->serial);
    }
    free(vpd);
}

static void look_at_link(const char *sys, struct card_facts *card)
{
    char path[PATH_MAX], text[64];

    if (read_text(path_of(path, "%s/class/net/%s/flags", sys, card->name), text))
        card->is_up = (strtoul(text, NULL, 16) & IFF_UP) != 0;
}

/* ---- the kernel itself ---- */

static void ask_firmware(int fd, struct card_facts *card)
{
    struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
    struct ifreq request;

    memset(&request, 0, sizeof request);
    (void)hf_str_copy(request.ifr_name, sizeof request.ifr_name, card->name);
    request.ifr_data = (char *)&info;
    if (ioctl(fd, SIOCETHTOOL, &request) != 0)
        return;
    info.fw_version[sizeof info.fw_version - 1] = '\0';
    info.driver[sizeof info.driver - 1] = '\0';
    (void)hf_str_copy(card->firmware, sizeof card->firmware, info.fw_version);
    if (card->driver[0] == '\0') /* no PCI device */
        (void)hf_str_copy(card->driver, sizeof card->driver, info.driver);
}

/* Link states of its VFs. */
static void ask_links(int fd, struct card_facts *card)
{
    struct {
        struct nlmsghdr head;
        struct ifinfomsg link;
        struct nlattr attr;
        uint32_t mask;
    } ask = {.head = {.nlmsg_len = sizeof ask,
                      .nlmsg_type = RTM_GETLINK,
                      .nlmsg_flags = NLM_F_REQUEST,
                      .nlmsg_seq = 1},
             .link = {.ifi_family = AF_UNSPEC, .ifi_index = (int)if_nametoindex(card->name)},
             .attr = {.nla_len = sizeof ask.attr + sizeof ask.mask, .nla_type = IFLA_EXT_MASK},
             .mask = RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS};
    uint8_t *answer = malloc(CARDS_ANSWER_MAX);
    ssize_t len = 0;

    if (answer != NULL && ask.link.ifi_index > 0 &&
        send(fd, &ask, sizeof ask, 0) == (ssize_t)sizeof ask)
        len = recv(fd, answer, CARDS_ANSWER_MAX, 0);
    if (len > 0)
        (void)cards_links(answer, (size_t)len, card);
    free(answer);
}

static void ask_kernel(struct card_facts *card)
{
    int link = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    int any = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (any >= 0) {
        ask_firmware(any, card);
        (void)close(any);
    }
    if (link >= 0) {
        ask_links(link, card);
        (void)close(link);
    }
}

/* ---- children ---- */

struct asking {
    pid_t pid; /* 0: none */
    int fd;
};

static void answer(int fd, const char *sys, const char *nic)
{
    struct card_facts card;

    memset(&card, 0, sizeof card);
    find_card(sys, nic, &card);
    if (card.is_there && card.pci[0] != '\0')
        look_at_pci(sys, &card);
    if (card.is_there && card.name[0] != '\0') {
        look_at_link(sys, &card);
        if (strcmp(sys, CMD_SYS) == 0)
            ask_kernel(&card);
    }
    (void)!write(fd, &card, sizeof card); /* below PIPE_BUF: whole or not at all */
}

_Static_assert(sizeof(struct card_facts) <= PIPE_BUF, "facts come in one piece");

static struct asking ask(const char *sys, const char *nic)
{
    struct asking asking = {0, -1};
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return asking;
    asking.pid = fork();
    if (asking.pid == 0) {
        (void)close(ends[0]);
        answer(ends[1], sys, nic);
        _exit(0);
    }
    (void)close(ends[1]);
    asking.fd = ends[0];
    return asking;
}

static void reap(pid_t pid)
{
    hf_time end = hf_time_add_ms(hf_clock_now(), REAP_MS);

    (void)kill(pid, SIGKILL);
    while (waitpid(pid, NULL, WNOHANG) == 0 && !hf_time_reached(hf_clock_now(), end))
        (void)poll(NULL, 0, 2); /* it hangs in the kernel: init reaps it after us */
}

static void gather(struct asking *asking, hf_time end, struct card_facts *card)
{
    struct pollfd p = {.fd = asking->fd, .events = POLLIN};
    int64_t left = hf_time_since_ms(end, hf_clock_now());

    memset(card, 0, sizeof *card);
    card->is_silent = true;
    if (asking->fd >= 0 && poll(&p, 1, left > 0 ? (int)left : 0) == 1) {
        struct card_facts facts;

        if (read(asking->fd, &facts, sizeof facts) == (ssize_t)sizeof facts)
            *card = facts;
    }
    if (asking->fd >= 0)
        (void)close(asking->fd);
    if (asking->pid > 0)
        reap(asking->pid);
}

/* ---- looking ---- */

static enum card_switch module_switch(const char *sys, const char *name)
{
    char path[PATH_MAX], text[64];

    if (!read_text(path_of(path, "%s/module/sfc/parameters/%s", sys, name), text))
        return CARD_SWITCH_ABSENT;
    return cards_switch(text);
}

static void look_at_module(const char *sys, struct card_module *sfc)
{
    char path[PATH_MAX];
    struct stat st;

    sfc->is_loaded = stat(path_of(path, "%s/module/sfc", sys), &st) == 0;
    sfc->monitor_hw_available = module_switch(sys, "monitor_hw_available");
    sfc->link_down_on_reset = module_switch(sys, "link_down_on_reset");
    sfc->disable_recovery = module_switch(sys, "disable_recovery");
}

void cmd_cards_look(const struct hf_config *config, hf_node node, const char *sys,
                    struct cmd_cards *look)
{
    hf_time end = hf_time_add_ms(hf_clock_now(), ANSWER_MS);
    struct asking asking[HF_FABRICS_MAX];
    struct cards_state state;

    memset(&state, 0, sizeof state);
    (void)hf_str_copy(look->node, sizeof look->node, config->group.nodes[node.ix].name);
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        asking[f] = (struct asking){0, -1};
        if (config->nics.pf[node.ix][f][0] != '\0')
            asking[f] = ask(sys, config->nics.pf[node.ix][f]);
    }
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if (config->nics.pf[node.ix][f][0] != '\0')
            gather(&asking[f], end, &state.card[f]);
    look_at_module(sys, &state.sfc);
    cards_judge(&state, config, node, &look->verdict);
}

static void take_bond(const json_t *vm, struct cmd_cards *look)
{
    const json_t *faults = json_object_get(json_object_get(vm, "legs"), "bond"), *fault;
    size_t i;

    json_array_foreach(faults, i, fault)
    {
        for (unsigned bit = 0; bit < HF_BOND_BITS; bit++)
            if (json_is_string(fault) &&
                strcmp(json_string_value(fault), hf_bond_fault_name(bit)) == 0)
                cards_judge_bond(&look->verdict, cmd_str(vm, "name"), bit);
    }
}

void cmd_cards_guests(const struct cmd *cmd, struct cmd_cards *look)
{
    struct cmd_link link;
    json_t *status = NULL;
    const json_t *vm;
    size_t i;

    if (access(cmd->socket, R_OK | W_OK) != 0 || cmd_link_open(&link, cmd->socket) != HF_CTL_OK)
        return;
    if (cmd_status_ask(&link, &status) == HF_CTL_OK)
        json_array_foreach(json_object_get(status, "vms"), i, vm)
        {
            take_bond(vm, look);
        }
    json_decref(status);
    cmd_link_close(&link);
}

bool cmd_cards_is_bad(const struct cmd_cards *look)
{
    return findings_are_bad(&look->verdict);
}

/* ---- telling ---- */

void cmd_cards_print(const struct cmd_cards *look)
{
    unsigned count = look->verdict.count;

    if (count == 0)
        (void)printf("cards of %s: as flips and restarts need them\n", look->node);
    else
        (void)printf("cards of %s: %u finding%s\n", look->node, count, count == 1 ? "" : "s");
    cmd_findings_print(&look->verdict);
}

json_t *cmd_cards_json(const struct cmd_cards *look)
{
    return json_pack("{s:s, s:o}", "node", look->node, "findings",
                     cmd_findings_json(&look->verdict));
}

/* ---- the file alone ---- */

static void warn_fabric(const struct hf_config *config, hf_fabric f, json_t *warnings)
{
    const struct hf_nics_conf *nics = &config->nics;
    unsigned speakers = 0, having = 0, peers = 0;

    for (uint8_t i = 0; i < config->group.nodes_count; i++) {
        having += nics->pf[i][f][0] != '\0';
        speakers += config_has_bfd(config, (hf_node){i}, f);
    }
    while (peers < HF_NICS_PEERS_MAX && nics->bfd_peer[f][peers][0] != '\0')
        peers++;
    if (having == 0)
        return;
    if (speakers == 0)
        (void)json_array_append_new(
            warnings,
            json_sprintf("fabric %c has no BFD: a path that is dead with its carrier up is "
                         "noticed by nobody (address_%c of the nodes)",
                         'a' + f, 'a' + f));
    else if (speakers + peers < 3)
        (void)json_array_append_new(
            warnings,
            json_sprintf("fabric %c has %u BFD speaker%s: with fewer than three nobody can "
                         "tell whose path is dead (bfd_peer: a switch or router)",
                         'a' + f, speakers + peers, speakers + peers == 1 ? "" : "s"));
}

void cmd_cards_warn(const struct hf_config *config, json_t *warnings)
{
    if (!config->nics.is_used)
        return;
    for (uint8_t i = 0; i < config->group.nodes_count; i++) {
        const struct hf_node_def *def = &config->group.nodes[i];

        if (def->fabrics == 0)
            (void)json_array_append_new(
                warnings,
                json_sprintf("node '%s' names no NIC: a VM with legs is never placed there",
                             def->name));
        else if (def->fabrics != (1u << HF_FABRICS_MAX) - 1)
            (void)json_array_append_new(
                warnings,
                json_sprintf("node '%s' has a NIC in fabric %s only: its VMs have no leg to "
                             "move to",
                             def->name, cmd_legs_text(def->fabrics)));
    }
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        warn_fabric(config, f, warnings);
}
