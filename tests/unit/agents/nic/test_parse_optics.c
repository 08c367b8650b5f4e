#include "agents/nic/parse.h"

#include <string.h>

#include "tests/unit/check.h"

static void put(uint8_t *page, size_t at, int value)
{
    page[at] = (uint8_t)((unsigned)value >> 8);
    page[at + 1] = (uint8_t)value;
}

/* Thresholds and values of a 10GBASE-SR module: 1/256 degree, 100 uV, 2 uA, 0.1 uW. */
static void module(uint8_t page[128])
{
    static const int warnings[5][3] = {/* high, low, live; one above what a signed number holds */
                                       {70 * 256, -5 * 256, 35 * 256},
                                       {36300, 29700, 33000},
                                       {5000, 1000, 3200},
                                       {7943, 1585, 5600},
                                       {10000, 501, 4900}};

    memset(page, 0, 128);
    for (size_t q = 0; q < 5; q++) {
        put(page, 8 * q + 4, warnings[q][0]);
        put(page, 8 * q + 6, warnings[q][1]);
        put(page, 96 + 2 * q, warnings[q][2]);
    }
}

START_TEST(a_module_is_good_until_it_passes_a_threshold)
{
    uint8_t page[128];

    module(page);
    ck_assert_int_eq(parse_optics(page, sizeof page), NIC_NO);
    put(page, 96 + 8, 500); /* received power: the fibre is dirty */
    ck_assert_int_eq(parse_optics(page, sizeof page), NIC_YES);
    module(page);
    put(page, 96, -6 * 256);
    ck_assert_int_eq(parse_optics(page, sizeof page), NIC_YES);
    module(page);
    put(page, 98, 36301);
    ck_assert_int_eq(parse_optics(page, sizeof page), NIC_YES);
}
END_TEST

START_TEST(a_module_without_thresholds_tells_nothing)
{
    uint8_t page[128];

    memset(page, 0, sizeof page);
    ck_assert_int_eq(parse_optics(page, sizeof page), NIC_NOT_KNOWN);
    module(page);
    ck_assert_int_eq(parse_optics(page, 105), NIC_NOT_KNOWN);
    ck_assert_int_eq(parse_optics(page, 106), NIC_NO);
}
END_TEST

START_TEST(error_counters_go_by_driver)
{
    ck_assert(parse_is_error_counter("sfc", "port_rx_bad"));
    ck_assert(parse_is_error_counter("ice", "rx_crc_errors.nic"));
    ck_assert(!parse_is_error_counter("sfc", "rx_crc_errors_phy"));
    ck_assert(!parse_is_error_counter("sfc", "fec_corrected_errors"));
    ck_assert(!parse_is_error_counter("", ""));
}
END_TEST

HF_TEST_MAIN("agents/nic/parse_optics", HF_CASE(a_module_is_good_until_it_passes_a_threshold),
             HF_CASE(a_module_without_thresholds_tells_nothing),
             HF_CASE(error_counters_go_by_driver))
