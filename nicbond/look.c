#include "nicbond/look.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agents/nic/parse.h"
#include "agents/nic/probe.h"
#include "supervisord/base/assert.h"
#include "supervisord/base/buf.h"
#include "supervisord/base/str.h"

enum {
    A2_AT = 256, /* SFF-8472: the diagnostics page follows the 256 bytes of address A0h */
    A2_BYTES = 256,
};

static bool ask(int fd, const char *name, void *request)
{
    struct ifreq ifr;

    memset(&ifr, 0, sizeof ifr);
    (void)hf_str_copy(ifr.ifr_name, sizeof ifr.ifr_name, name);
    ifr.ifr_data = request;
    return ioctl(fd, SIOCETHTOOL, &ifr) == 0;
}

/* Printable ASCII only: it is a driver's text, and goes to people. */
static void take_text(char *out, size_t cap, const char *text, size_t len)
{
    size_t kept = 0;

    for (size_t i = 0; i < len && text[i] != '\0' && kept + 1 < cap; i++)
        out[kept++] = (text[i] >= ' ' && text[i] <= '~') ? text[i] : '?';
    out[kept] = '\0';
}

/* Its driver asks the controller for the version: an answer is a sign of life. */
static void look_at_firmware(int fd, const char *name, struct watch_helped *out)
{
    struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
    hf_time began = hf_clock_now();

    if (!ask(fd, name, &info))
        return;
    take_text(out->firmware, sizeof out->firmware, info.fw_version, sizeof info.fw_version);
    if (strcmp(out->firmware, "N/A") == 0)
        out->firmware[0] = '\0';
    if (out->firmware[0] != '\0')
        out->answered_at = began;
}

static void look_at_optics(int fd, const char *name, struct watch_helped *out)
{
    struct ethtool_modinfo module = {.cmd = ETHTOOL_GMODULEINFO};
    /* The bytes follow the head in the kernel's eyes (ethtool_eeprom's own array has no length). */
    union {
        struct ethtool_eeprom head;
        uint8_t room[sizeof(struct ethtool_eeprom) + A2_BYTES];
    } page;

    memset(&page, 0, sizeof page);
    page.head.cmd = ETHTOOL_GMODULEEEPROM;
    page.head.offset = A2_AT;
    page.head.len = A2_BYTES;
    if (!ask(fd, name, &module) || module.type != ETH_MODULE_SFF_8472 ||
        module.eeprom_len < A2_AT + A2_BYTES || !ask(fd, name, &page))
        return;
    out->is_optics_bad = parse_optics(page.room + sizeof page.head, A2_BYTES);
}

void look_run(const char *root, const struct nic_place *place, struct watch_helped *out)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    memset(out, 0, sizeof *out);
    out->is_config_gone = probe_nic_config_is_gone(root, place);
    probe_nic_serial(root, place, out->serial);
    if (out->is_config_gone != NIC_YES) {
        out->is_hot = probe_nic_is_hot(root, place);
        if (fd >= 0 && place->name[0] != '\0') {
            look_at_firmware(fd, place->name, out);
            look_at_optics(fd, place->name, out);
        }
        if (out->firmware[0] == '\0')
            probe_nic_firmware(root, place, out->firmware);
    }
    if (fd >= 0)
        close(fd);
}

/* ---- bytes ---- */

size_t look_encode(const struct watch_helped *helped, uint8_t *bytes, size_t cap)
{
    struct hf_writer w = hf_writer_on(bytes, cap);

    hf_put_u64(&w, (uint64_t)helped->answered_at.ns);
    hf_put_u8(&w, (uint8_t)helped->is_config_gone);
    hf_put_u8(&w, (uint8_t)helped->is_hot);
    hf_put_u8(&w, (uint8_t)helped->is_optics_bad);
    hf_put_str(&w, helped->serial);
    hf_put_str(&w, helped->firmware);
    HF_ASSERT(!w.bad);
    return w.len;
}

bool look_decode(const uint8_t *bytes, size_t len, struct watch_helped *helped)
{
    struct hf_reader r = hf_reader_on(bytes, len);

    memset(helped, 0, sizeof *helped);
    helped->answered_at.ns = (int64_t)hf_get_u64(&r);
    helped->is_config_gone = (enum nic_fact)hf_get_enum(&r, NIC_YES + 1);
    helped->is_hot = (enum nic_fact)hf_get_enum(&r, NIC_YES + 1);
    helped->is_optics_bad = (enum nic_fact)hf_get_enum(&r, NIC_YES + 1);
    hf_get_str(&r, helped->serial, sizeof helped->serial);
    hf_get_str(&r, helped->firmware, sizeof helped->firmware);
    return hf_reader_ended(&r) && helped->answered_at.ns >= 0;
}
