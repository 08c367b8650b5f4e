#include "supervisord/base/uuid.h"
#include "tests/unit/check.h"

#include <string.h>

/* One host, as different observers print it. */
#define KERNEL   "00112233-4455-6677-8899-aabbccddeeff" /* /sys/class/dmi/id/product_uuid */
#define SWAPPED  "33221100-5544-7766-8899-aabbccddeeff" /* SMBIOS bytes read as they lie */
#define REVERSED "ffeeddcc-bbaa-9988-7766-554433221100" /* IPMI 2.0, the last byte first */

static uint64_t number_of(const char *text)
{
    uint64_t number = 0;

    ck_assert_msg(hf_uuid_number(text, &number), "%s", text);
    ck_assert_uint_ne(number, 0);
    return number;
}

START_TEST(every_byte_order_of_one_uuid_is_one_number)
{
    static const char *const orders[] = {
        SWAPPED,
        REVERSED,
        "ccddeeff-aabb-8899-7766-554433221100", /* reversed, then swapped */
        "ffeeddcc-bbaa-9988-6677-445500112233", /* swapped, then reversed */
        "ccddeeff-aabb-8899-6677-445500112233",
        "00112233-4455-6677-9988-bbaaffeeddcc",
        "33221100-5544-7766-9988-bbaaffeeddcc",
    };

    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        ck_assert_msg(number_of(orders[i]) == number_of(KERNEL), "%s", orders[i]);
}
END_TEST

/* The numbers are compared between nodes of one group that run different builds.
 * Computed by a separate program from the definition in uuid.c. */
START_TEST(a_number_is_pinned)
{
    ck_assert_uint_eq(number_of(KERNEL), 0xd33b47da6b03b5a9ULL);
}
END_TEST

START_TEST(hyphens_and_the_case_of_letters_do_not_matter)
{
    ck_assert_uint_eq(number_of("00112233445566778899aabbccddeeff"), number_of(KERNEL));
    ck_assert_uint_eq(number_of("00112233-4455-6677-8899-AABBCCDDEEFF"), number_of(KERNEL));
    ck_assert_uint_eq(number_of(KERNEL "\n"), number_of(KERNEL));
    ck_assert_uint_eq(number_of(KERNEL " (auto)"), number_of(KERNEL));
    ck_assert_uint_eq(number_of(KERNEL "\tx"), number_of(KERNEL));
}
END_TEST

START_TEST(another_uuid_is_another_number)
{
    char text[] = "00112233-4455-6677-8899-aabbccddeeff";

    for (size_t at = 0; text[at] != '\0'; at++) {
        char was = text[at];

        if (was == '-')
            continue;
        text[at] = was == '7' ? '8' : '7';
        ck_assert_msg(number_of(text) != number_of(KERNEL), "%s", text);
        text[at] = was;
    }
    /* The same bytes in an order that nobody uses. */
    ck_assert_uint_ne(number_of("11002233-4455-6677-8899-aabbccddeeff"), number_of(KERNEL));
}
END_TEST

START_TEST(what_is_no_uuid_has_no_number)
{
    static const char *const bad[] = {
        "",
        "\n",
        "Not Settable",
        "00112233-4455-6677-8899-aabbccddeef",
        "00112233-4455-6677-8899-aabbccddeefff",
        "00112233-4455-6677-8899aabbccddeeff",
        "001122334455-6677-8899-aabbccddeeff",
        "0011-2233-4455-6677-8899aabbccddeeff",
        "-00112233445566778899aabbccddeeff",
        "00112233445566778899aabbccddeeff-",
        "00112233-4455-6677-8899-aabbccddeegg",
        "{00112233-4455-6677-8899-aabbccddeeff}",
        "0x112233-4455-6677-8899-aabbccddeeff",
        " 00112233-4455-6677-8899-aabbccddeeff",
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
        "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t number = 42;

        ck_assert_msg(!hf_uuid_number(bad[i], &number), "%s", bad[i]);
        ck_assert_uint_eq(number, 42);
    }
}
END_TEST

/* Read from a pipe or a file: a text may end anywhere. */
START_TEST(no_byte_behind_the_text_is_read)
{
    for (size_t len = 0; len < strlen(KERNEL); len++) {
        char *text = malloc(len + 1); /* exactly, for the sanitizer */
        uint64_t number;

        ck_assert_ptr_nonnull(text);
        memcpy(text, KERNEL, len);
        text[len] = '\0';
        ck_assert(!hf_uuid_number(text, &number));
        free(text);
    }
}
END_TEST

HF_TEST_MAIN("base/uuid", HF_CASE(every_byte_order_of_one_uuid_is_one_number),
             HF_CASE(a_number_is_pinned), HF_CASE(hyphens_and_the_case_of_letters_do_not_matter),
             HF_CASE(another_uuid_is_another_number), HF_CASE(what_is_no_uuid_has_no_number),
             HF_CASE(no_byte_behind_the_text_is_read))
