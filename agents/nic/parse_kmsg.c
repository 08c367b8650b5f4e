#include <string.h>

#include "agents/nic/parse.h"

/* A line is "DRIVER PCI NAME: TEXT" (dev_printk() through netdev_printk(), net/core/dev.c) or
 * "DRIVER PCI: TEXT". Texts of drivers/net/ethernet/sfc of Linux 6.12 and of the vendor's driver
 * (Xilinx-CNS/onload), which differ in details: both parts must be in the text, in this order. */
static const struct {
    const char *driver; /* "" = any */
    const char *first;  /* what the text begins with; "" = anything */
    const char *then;   /* what it has after that */
    enum nic_signal signal;
} lines[] = {
    /* sfc/mcdi.c: "MC command 0x%x inlen %d mode %d timed out", "... timed out after %u ms" */
    {"sfc", "MC command 0x", " timed out", NIC_SIGNAL_MC_TIMEOUT},
    /* sfc/mcdi.c, efx_mcdi_process_event() */
    {"sfc", "MC watchdog or assertion failure at", "", NIC_SIGNAL_MC_ASSERT},
    {"sfc", "MC Reboot", "", NIC_SIGNAL_MC_ASSERT},
    {"sfc", "MC entered BIST mode", "", NIC_SIGNAL_MC_ASSERT},
    /* sfc/efx_common.c: efx_reset(), efx_reset_up(), efx_schedule_reset() */
    {"sfc", "resetting (", "", NIC_SIGNAL_RESET},
    {"sfc", "too many resets, scheduling", "", NIC_SIGNAL_TOO_MANY_RESETS},
    {"sfc", "has been disabled", "", NIC_SIGNAL_DISABLED},
    {"sfc", "failed to reset hardware", "", NIC_SIGNAL_DISABLED},
    {"sfc", "failed to initialise NIC", "", NIC_SIGNAL_DISABLED},
    {"sfc", "failed to restore vswitching", "", NIC_SIGNAL_VSWITCH_LOST},
    /* vendor's driver, efx_check_hw(): a register read all ones */
    {"sfc", "Hardware unavailable", "", NIC_SIGNAL_CONFIG_GONE},
    /* sfc/mcdi_mon.c, efx_mcdi_sensor_event(); unit and label tell a temperature */
    {"sfc", "Sensor ", "temp.) reports condition 'Critical'", NIC_SIGNAL_HOT},
    {"sfc", "Sensor ", "temp.) reports condition 'Fatal'", NIC_SIGNAL_HOT},
    {"sfc", "Sensor ", "temp.) reports condition 'OK'", NIC_SIGNAL_COOL},
    /* net/sched/sch_generic.c, dev_watchdog(): since 6.5 through the device */
    {"", "NETDEV WATCHDOG: ", " timed out", NIC_SIGNAL_TX_STALLED},
    /* igb_rd32(), igc_rd32(); ixgbe_remove_adapter(): reads come back as all ones */
    {"igb", "PCIe link lost", "", NIC_SIGNAL_CONFIG_GONE},
    {"igc", "PCIe link lost", "", NIC_SIGNAL_CONFIG_GONE},
    {"ixgbe", "Adapter removed", "", NIC_SIGNAL_CONFIG_GONE},
    /* igb_reset_task(), ixgbe_reset_subtask() */
    {"igb", "Reset adapter", "", NIC_SIGNAL_RESET},
    {"ixgbe", "Reset adapter", "", NIC_SIGNAL_RESET},
    /* mlx5/core/health.c, poll_health() */
    {"mlx5_core", "", "device's health compromised", NIC_SIGNAL_MC_TIMEOUT},
};

struct text {
    const char *at;
    size_t len;
};

static bool begins(struct text text, const char *with)
{
    size_t len = strlen(with);

    return text.len >= len && memcmp(text.at, with, len) == 0;
}

static struct text after(struct text text, size_t count)
{
    return (struct text){text.at + count, text.len - count};
}

static bool has(struct text text, const char *part)
{
    for (size_t i = 0; i <= text.len; i++)
        if (begins(after(text, i), part))
            return true;
    return false;
}

/* Cut off the next word at a blank; what is left begins after it. */
static struct text take_word(struct text *text)
{
    const char *blank = text->len > 0 ? memchr(text->at, ' ', text->len) : NULL;
    size_t len = blank != NULL ? (size_t)(blank - text->at) : text->len;
    struct text word = {text->at, len};

    *text = after(*text, blank != NULL ? len + 1 : len);
    return word;
}

/* "6,1234,5678,-;text\n KEY=value\n" -> text, when the kernel itself wrote it: the number before
 * the first comma is facility * 8 + level, and the kernel's facility is 0
 * (Documentation/ABI/testing/ dev-kmsg). */
static bool take_text(const uint8_t *bytes, size_t len, struct text *out, bool *is_kernel)
{
    struct text all = {(const char *)bytes, len};
    const char *semicolon = len > 0 ? memchr(bytes, ';', len) : NULL;
    const char *end;

    if (semicolon == NULL || all.at[0] < '0' || all.at[0] > '9')
        return false;
    *is_kernel = all.at[0] < '8' && all.len > 1 && all.at[1] == ',';
    *out = after(all, (size_t)(semicolon - all.at) + 1);
    end = out->len > 0 ? memchr(out->at, '\n', out->len) : NULL;
    if (end != NULL)
        out->len = (size_t)(end - out->at);
    return true;
}

/* Before 6.5: "NETDEV WATCHDOG: NAME (DRIVER): transmit queue N timed out". */
static bool read_old_watchdog(struct text text, struct nic_kmsg *out)
{
    struct text name;

    if (!begins(text, "NETDEV WATCHDOG: ") || !has(text, " timed out"))
        return false;
    text = after(text, strlen("NETDEV WATCHDOG: "));
    name = take_word(&text);
    if (text.len == 0 || text.at[0] != '(')
        return false;
    out->signal = NIC_SIGNAL_TX_STALLED;
    return parse_name(name.at, name.len, out->name);
}

/* "DRIVER PCI NAME: " or "DRIVER PCI: ", also "NAME (unregistering): ". */
static bool read_device(struct text *text, struct text *driver, struct nic_kmsg *out)
{
    struct text pci, name;

    *driver = take_word(text);
    pci = take_word(text);
    if (pci.len > 0 && pci.at[pci.len - 1] == ':') {
        pci.len--;
    } else {
        const char *colon;

        name = take_word(text);
        colon = name.len > 0 && name.at[name.len - 1] != ':' && text->len > 0
                    ? memchr(text->at, ':', text->len)
                    : NULL;
        if (name.len > 0 && name.at[name.len - 1] == ':')
            name.len--;
        else if (colon == NULL || text->at[0] != '(')
            return false;
        else
            *text = after(*text, (size_t)(colon - text->at) + 1);
        if (text->len > 0 && text->at[0] == ' ')
            *text = after(*text, 1);
        (void)parse_name(name.at, name.len, out->name);
    }
    if (!parse_is_pci(pci.at, pci.len))
        return false;
    memcpy(out->pci, pci.at, pci.len);
    return true;
}

enum parse_word parse_kmsg(const uint8_t *bytes, size_t len, struct nic_kmsg *out)
{
    struct text text, driver;
    bool is_kernel;

    memset(out, 0, sizeof *out);
    if (len == 0)
        return PARSE_END;
    if (!take_text(bytes, len, &text, &is_kernel))
        return PARSE_BAD;
    if (!is_kernel)
        return PARSE_OTHER;
    if (read_old_watchdog(text, out))
        return PARSE_GOT;
    if (!read_device(&text, &driver, out))
        return PARSE_OTHER;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        size_t skip = strlen(lines[i].first);

        if (lines[i].driver[0] != '\0' &&
            (driver.len != strlen(lines[i].driver) || !begins(driver, lines[i].driver)))
            continue;
        if (!begins(text, lines[i].first) || !has(after(text, skip), lines[i].then))
            continue;
        out->signal = lines[i].signal;
        return PARSE_GOT;
    }
    return PARSE_OTHER;
}
