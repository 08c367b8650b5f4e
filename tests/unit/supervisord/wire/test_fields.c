#include "supervisord/wire/fields.h"
#include "tests/unit/check.h"

#include <string.h>

static uint8_t bytes[4096];

static struct hf_reader reader_of(const void *from, size_t len)
{
    memcpy(bytes, from, len);
    return hf_reader_on(bytes, len);
}

START_TEST(a_claim_is_one_or_zero)
{
    for (unsigned v = 0; v < 256; v++) {
        struct hf_reader r = reader_of(&(uint8_t){(uint8_t)v}, 1);
        bool claim = fields_get_bool(&r);

        ck_assert_int_eq(claim, v == 1);
        ck_assert_int_eq(r.bad, v > 1);
    }
}
END_TEST

START_TEST(an_enum_without_zero_refuses_it)
{
    for (unsigned v = 0; v < 256; v++) {
        struct hf_reader r = reader_of(&(uint8_t){(uint8_t)v}, 1);
        uint8_t got = fields_get_enum_from_1(&r, 7);

        ck_assert_int_eq(r.bad, v == 0 || v >= 7);
        ck_assert_uint_eq(got, r.bad ? 0 : v);
    }
}
END_TEST

START_TEST(a_node_is_configurable_or_nobody)
{
    for (unsigned v = 0; v < 256; v++) {
        struct hf_reader some = reader_of(&(uint8_t){(uint8_t)v}, 1), any = some;

        (void)fields_get_node(&some);
        (void)fields_get_node_or_none(&any);
        ck_assert_int_eq(some.bad, v >= HF_NODES_MAX);
        ck_assert_int_eq(any.bad, v >= HF_NODES_MAX && v != HF_NO_NODE.ix);
    }
}
END_TEST

START_TEST(nothing_is_not_a_number_of_something)
{
    struct hf_reader r = reader_of("\0\0\0\0", 4);

    (void)fields_get_positive(&r);
    ck_assert(r.bad);
    r = reader_of("\0\0\0\0", 4);
    (void)fields_get_uid(&r);
    ck_assert(r.bad);
    r = reader_of("\0\0\0\1", 4);
    ck_assert_uint_eq(fields_get_positive(&r), 1u << 24);
    ck_assert(!r.bad);
}
END_TEST

START_TEST(a_token_has_a_number_in_its_step)
{
    struct hf_token got, token = {.seq = 7, .nth = 1};
    struct hf_writer w = hf_writer_on(bytes, sizeof bytes);
    struct hf_reader r;

    fields_put_token(&w, token);
    r = hf_reader_on(bytes, w.len);
    fields_get_token(&r, &got);
    ck_assert(hf_reader_ended(&r) && hf_token_same(got, token));
    memset(bytes, 0, sizeof bytes);
    bytes[0] = 7;
    r = hf_reader_on(bytes, w.len);
    fields_get_token(&r, &got);
    ck_assert(r.bad);
}
END_TEST

START_TEST(a_name_is_plain_and_only_sometimes_missing)
{
    char name[HF_NAME_MAX + 1];
    struct hf_reader r = reader_of("\4mq-1", 5);

    fields_get_name(&r, name);
    ck_assert(hf_reader_ended(&r));
    ck_assert_str_eq(name, "mq-1");
    r = reader_of("\0", 1);
    fields_get_name_or_none(&r, name);
    ck_assert(hf_reader_ended(&r));
    ck_assert_str_eq(name, "");
    r = reader_of("\0", 1);
    fields_get_name(&r, name);
    ck_assert(r.bad);
    r = reader_of("\4../x", 5);
    fields_get_name_or_none(&r, name);
    ck_assert(r.bad);
    ck_assert_str_eq(name, ""); /* who forgets to look has no path in hand */
}
END_TEST

START_TEST(a_text_is_cut_and_loses_its_control_characters)
{
    char text[2 * HF_REASON_MAX], got[HF_REASON_MAX + 1];
    struct hf_writer w = hf_writer_on(bytes, sizeof bytes);
    struct hf_reader r;

    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    text[0] = '\n';
    text[1] = '\x7f';
    text[2] = '\xc3'; /* not control characters: UTF-8 passes */
    text[3] = '\xa9';
    fields_put_text(&w, text);
    r = hf_reader_on(bytes, w.len);
    hf_get_str(&r, got, sizeof got);
    ck_assert(hf_reader_ended(&r));
    ck_assert_uint_eq(strlen(got), HF_REASON_MAX);
    ck_assert_int_eq(strncmp(got, "  \xc3\xa9xx", 6), 0);
}
END_TEST

START_TEST(an_inventory_is_complete_or_empty)
{
    static struct hf_vm_seen said[HF_VMS_MAX], got[HF_VMS_MAX];
    struct hf_writer w = hf_writer_on(bytes, sizeof bytes);
    struct hf_reader r;
    uint64_t as_of;
    uint16_t count;

    for (uint16_t i = 0; i < HF_VMS_MAX; i++)
        said[i] = (struct hf_vm_seen){.uid = 1000u - i, .start_no = i};
    fields_put_inventory(&w, 42, said, HF_VMS_MAX);
    r = hf_reader_on(bytes, w.len);
    fields_get_inventory(&r, &as_of, got, &count);
    ck_assert(hf_reader_ended(&r));
    ck_assert_uint_eq(as_of, 42);
    ck_assert_uint_eq(count, HF_VMS_MAX);
    ck_assert_mem_eq(got, said, sizeof said);
    r = hf_reader_on(bytes, w.len - 1);
    fields_get_inventory(&r, &as_of, got, &count);
    ck_assert(r.bad);
    ck_assert_uint_eq(count, 0);
    bytes[8] = 1; /* one more than there may be */
    r = hf_reader_on(bytes, sizeof bytes);
    fields_get_inventory(&r, &as_of, got, &count);
    ck_assert(r.bad);
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(more_vms_than_there_can_be_is_our_mistake)
{
    static struct hf_vm_seen said[HF_VMS_MAX + 1];
    struct hf_writer w = hf_writer_on(bytes, sizeof bytes);

    fields_put_inventory(&w, 42, said, HF_VMS_MAX + 1);
}
END_TEST

HF_TEST_MAIN("wire/fields", HF_CASE(a_claim_is_one_or_zero),
             HF_CASE(an_enum_without_zero_refuses_it), HF_CASE(a_node_is_configurable_or_nobody),
             HF_CASE(nothing_is_not_a_number_of_something),
             HF_CASE(a_token_has_a_number_in_its_step),
             HF_CASE(a_name_is_plain_and_only_sometimes_missing),
             HF_CASE(a_text_is_cut_and_loses_its_control_characters),
             HF_CASE(an_inventory_is_complete_or_empty),
             HF_ABORTS(more_vms_than_there_can_be_is_our_mistake))
