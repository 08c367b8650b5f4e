#include "supervisord/base/digest.h"
#include "tests/unit/check.h"

#include <string.h>

struct vector {
    const char *text;
    const char *hex;
};

/* FIPS 180-2 appendix B.1 and B.2, and the empty message (NIST CAVP SHA256ShortMsg). */
static const struct vector vectors[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};
enum { VECTORS = sizeof vectors / sizeof vectors[0] };

START_TEST(published_vectors_hold)
{
    struct hf_digest d = hf_digest_of(vectors[_i].text, strlen(vectors[_i].text));
    char hex[65];

    hf_digest_hex(&d, hex);
    ck_assert_str_eq(hex, vectors[_i].hex);
}
END_TEST

START_TEST(a_million_a_hold)
{
    size_t len = 1000000;
    char *text = malloc(len);
    struct hf_digest d;
    char hex[65];

    ck_assert_ptr_nonnull(text);
    memset(text, 'a', len);
    d = hf_digest_of(text, len);
    free(text);
    hf_digest_hex(&d, hex); /* FIPS 180-2 appendix B.3 */
    ck_assert_str_eq(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

START_TEST(hex_goes_there_and_back)
{
    struct hf_digest d = hf_digest_of(vectors[_i].text, strlen(vectors[_i].text));
    struct hf_digest back = {{0}};
    char hex[65];

    hf_digest_hex(&d, hex);
    ck_assert(hf_digest_from_hex(hex, &back));
    ck_assert(hf_digest_equal(&d, &back));
    for (int i = 0; i < 64; i++)
        hex[i] = hex[i] >= 'a' ? (char)(hex[i] - 'a' + 'A') : hex[i];
    memset(&back, 0, sizeof back);
    ck_assert(hf_digest_from_hex(hex, &back));
    ck_assert(hf_digest_equal(&d, &back));
}
END_TEST

START_TEST(one_bit_makes_two_digests_differ)
{
    struct hf_digest a = hf_digest_of("abc", 3), b = a;

    for (int bit = 0; bit < 256; bit++) {
        b.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert(!hf_digest_equal(&a, &b));
        b.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    ck_assert(hf_digest_equal(&a, &b));
}
END_TEST

START_TEST(what_is_not_64_hex_digits_is_refused)
{
    struct hf_digest d = {{7}}, was = d;
    char hex[66];

    memset(hex, 'a', sizeof hex);
    hex[65] = '\0';
    ck_assert(!hf_digest_from_hex(hex, &d)); /* 65 */
    hex[63] = '\0';
    ck_assert(!hf_digest_from_hex(hex, &d)); /* 63 */
    ck_assert(!hf_digest_from_hex("", &d));
    hex[63] = 'a';
    hex[64] = '\0';
    for (int i = 0; i < 64; i++) {
        static const char wrong[] = "g/:@G` -";

        for (size_t w = 0; w < sizeof wrong - 1; w++) {
            hex[i] = wrong[w];
            ck_assert(!hf_digest_from_hex(hex, &d));
        }
        hex[i] = 'a';
    }
    ck_assert(hf_digest_equal(&d, &was));
    ck_assert(hf_digest_from_hex(hex, &d));
}
END_TEST

HF_TEST_MAIN("base/digest",
             HF_LOOP(published_vectors_hold, 0, VECTORS),
             HF_CASE(a_million_a_hold),
             HF_LOOP(hex_goes_there_and_back, 0, VECTORS),
             HF_CASE(one_bit_makes_two_digests_differ),
             HF_CASE(what_is_not_64_hex_digits_is_refused))
