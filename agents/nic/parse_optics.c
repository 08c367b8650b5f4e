#include <string.h>

#include "agents/nic/parse.h"

/* SFF-8472 tables 9-5 and 9-11: five quantities (temperature, supply, bias, transmitted and
 * received power), each with high alarm, low alarm, high warning, low warning, 16 bits, big end
 * first. Only the temperature has a sign. */
enum { QUANTITIES = 5, LIVE_AT = 96, PAGE_MIN = LIVE_AT + 2 * QUANTITIES };

static int32_t value_at(const uint8_t *page, size_t at, bool has_sign)
{
    uint16_t bits = (uint16_t)(page[at] << 8 | page[at + 1]);

    return has_sign ? (int16_t)bits : bits;
}

enum nic_fact parse_optics(const uint8_t *page, size_t len)
{
    enum nic_fact is_bad = NIC_NOT_KNOWN;

    if (len < PAGE_MIN)
        return NIC_NOT_KNOWN;
    for (size_t q = 0; q < QUANTITIES; q++) {
        int32_t high = value_at(page, 8 * q + 4, q == 0);
        int32_t low = value_at(page, 8 * q + 6, q == 0);
        int32_t live = value_at(page, LIVE_AT + 2 * q, q == 0);

        if (high <= low)
            continue; /* not told */
        if (live > high || live < low)
            return NIC_YES;
        is_bad = NIC_NO;
    }
    return is_bad;
}

/* Names as each driver's source has them. */
bool parse_is_error_counter(const char *driver, const char *name)
{
    static const struct {
        const char *driver, *name;
    } counters[] = {
        /* sfc/ef10.c, efx_ef10_stat_desc: port_* exist only on the function that controls the link
         */
        {"sfc", "port_rx_bad"},
        {"sfc", "rx_eth_crc_err"},
        {"sfc", "fec_uncorrected_errors"},
        {"igb", "rx_crc_errors"},
        {"ixgbe", "rx_crc_errors"},
        {"i40e", "port.rx_crc_errors"},
        {"ice", "rx_crc_errors.nic"},
        {"mlx5_core", "rx_crc_errors_phy"},
        {"mlx5_core", "rx_symbol_err_phy"},
        {"bnxt_en", "rx_fcs_err_frames"},
    };

    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        if (strcmp(driver, counters[i].driver) == 0 && strcmp(name, counters[i].name) == 0)
            return true;
    return false;
}
