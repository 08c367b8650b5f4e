#include "supervisord/wire/ctl.h"
#include "tests/unit/check.h"

#include <string.h>

static struct hf_ctl_request an_order(enum hf_order_type type)
{
    struct hf_ctl_request request;

    memset(&request, 0, sizeof request);
    request.verb = HF_CTL_ORDER;
    request.order.type = type;
    request.order.def.preferred = HF_NO_NODE;
    return request;
}

static struct hf_ctl_request an_addition(void)
{
    struct hf_ctl_request request = an_order(HF_ORDER_VM_ADD);

    strcpy(request.order.def.name, "trade1");
    request.order.def.memory_mib = 16384;
    request.order.def.priority = 1000;
    strcpy(request.order.def.apart, "gateways");
    strcpy(request.order.def.together, "feed");
    request.order.def.restarts_here = 2;
    request.order.def.restarts_max = 255;
    request.order.def.stop_grace_ms = 30000;
    request.order.def.legs = 2;
    strcpy(request.order.preferred, "n1");
    for (unsigned i = 0; i < HF_NODES_MAX; i++) {
        memset(request.order.allowed[i], 'a' + (int)i, HF_NAME_MAX);
        request.order.allowed[i][HF_NAME_MAX] = '\0';
    }
    request.order.wants_run = true;
    memset(request.order.reason, 'r', HF_REASON_MAX);
    return request;
}

static enum hf_code decode(const uint8_t *bytes, size_t len, struct hf_ctl_request *request)
{
    struct hf_err err;

    return ctl_decode(bytes, len, request, &err);
}

START_TEST(the_longest_order_comes_back_as_it_was)
{
    struct hf_ctl_request in = an_addition(), out;
    uint8_t bytes[HF_CTL_REQUEST_MAX];
    size_t len;

    memset(in.node, 'n', HF_NAME_MAX);
    memset(in.vm, 'v', HF_NAME_MAX);
    len = ctl_encode(&in, bytes);
    ck_assert_int_eq(decode(bytes, len, &out), HF_OK);
    ck_assert_mem_eq(out.node, in.node, sizeof in.node);
    ck_assert_mem_eq(out.vm, in.vm, sizeof in.vm);
    ck_assert_int_eq(out.order.type, HF_ORDER_VM_ADD);
    ck_assert(out.order.wants_run);
    ck_assert_str_eq(out.order.reason, in.order.reason);
    ck_assert_str_eq(out.order.def.name, "trade1");
    ck_assert_uint_eq(out.order.def.memory_mib, 16384);
    ck_assert_uint_eq(out.order.def.priority, 1000);
    ck_assert_str_eq(out.order.def.apart, "gateways");
    ck_assert_str_eq(out.order.def.together, "feed");
    ck_assert_uint_eq(out.order.def.restarts_here, 2);
    ck_assert_uint_eq(out.order.def.restarts_max, 255);
    ck_assert_uint_eq(out.order.def.stop_grace_ms, 30000);
    ck_assert_uint_eq(out.order.def.legs, 2);
    ck_assert_str_eq(out.order.preferred, "n1");
    ck_assert_mem_eq(out.order.allowed, in.order.allowed, sizeof in.order.allowed);
}
END_TEST

START_TEST(every_verb_comes_back)
{
    struct hf_ctl_request in, out;
    uint8_t bytes[HF_CTL_REQUEST_MAX];
    size_t len;

    memset(&in, 0, sizeof in);
    in.verb = (enum hf_ctl_verb)_i;
    in.order.type = HF_ORDER_ARM;
    in.after = UINT64_MAX;
    in.follow = true;
    in.level = HF_FENCE_LEVELS_MAX;
    in.fabric = 1;
    in.is_nic = true;
    len = ctl_encode(&in, bytes);
    ck_assert_int_eq(decode(bytes, len, &out), HF_OK);
    ck_assert_int_eq(out.verb, in.verb);
    ck_assert_uint_eq(out.after, UINT64_MAX);
    ck_assert(out.follow);
    ck_assert_uint_eq(out.level, in.verb == HF_CTL_FENCE_TEST ? HF_FENCE_LEVELS_MAX : 0);
    ck_assert_uint_eq(out.fabric, in.verb == HF_CTL_FAILBACK || in.verb == HF_CTL_WHY ? 1 : 0);
    ck_assert(out.is_nic == (in.verb == HF_CTL_WHY));
}
END_TEST

START_TEST(a_test_names_a_level)
{
    struct hf_ctl_request in, out;
    uint8_t bytes[HF_CTL_REQUEST_MAX];
    size_t len;

    memset(&in, 0, sizeof in);
    in.verb = HF_CTL_FENCE_TEST;
    in.level = (uint8_t)_i;
    len = ctl_encode(&in, bytes);
    ck_assert_int_eq(decode(bytes, len, &out) == HF_OK, _i >= 1 && _i <= HF_FENCE_LEVELS_MAX);
    ck_assert_int_eq(decode(bytes, len - 1, &out), HF_EBAD);
}
END_TEST

START_TEST(a_failback_names_a_fabric)
{
    struct hf_ctl_request in, out;
    uint8_t bytes[HF_CTL_REQUEST_MAX];
    size_t len;

    memset(&in, 0, sizeof in);
    in.verb = HF_CTL_FAILBACK;
    in.fabric = (hf_fabric)_i;
    len = ctl_encode(&in, bytes);
    ck_assert_int_eq(decode(bytes, len, &out) == HF_OK, _i < HF_FABRICS_MAX);
    ck_assert_int_eq(decode(bytes, len - 1, &out), HF_EBAD);
}
END_TEST

START_TEST(every_order_comes_back)
{
    struct hf_ctl_request in = an_addition(), out;
    uint8_t bytes[HF_CTL_REQUEST_MAX];
    size_t len;

    in.order.type = (enum hf_order_type)_i;
    in.order.ms = 7;
    len = ctl_encode(&in, bytes);
    ck_assert_int_eq(decode(bytes, len, &out), HF_OK);
    ck_assert_int_eq(out.order.type, in.order.type);
    ck_assert_uint_eq(out.order.ms, 7);
}
END_TEST

START_TEST(every_cut_and_every_extra_byte_is_refused)
{
    struct hf_ctl_request in = an_addition(), out;
    uint8_t bytes[HF_CTL_REQUEST_MAX + 1] = {0};
    size_t len = ctl_encode(&in, bytes);

    for (size_t cut = 0; cut < len; cut++)
        ck_assert_int_eq(decode(bytes, cut, &out), HF_EBAD);
    ck_assert_int_eq(decode(bytes, len + 1, &out), HF_EBAD);
    ck_assert_int_eq(decode(bytes, len, &out), HF_OK);
}
END_TEST

START_TEST(another_version_is_named)
{
    struct hf_ctl_request in = an_order(HF_ORDER_ARM), out;
    uint8_t bytes[HF_CTL_REQUEST_MAX];
    size_t len = ctl_encode(&in, bytes);
    struct hf_err err;

    bytes[0] = 9;
    ck_assert_int_eq(ctl_decode(bytes, len, &out, &err), HF_EBAD);
    ck_assert_ptr_nonnull(strstr(err.text, "version 9"));
}
END_TEST

START_TEST(names_that_are_none_are_refused)
{
    static const char *const bad[] = {"../etc", "a b", "a%n", "-x", "n\xc3\xbc"};
    struct hf_ctl_request in = an_order(HF_ORDER_DRAIN), out;
    uint8_t bytes[HF_CTL_REQUEST_MAX];

    strcpy(in.node, bad[_i]);
    ck_assert_int_eq(decode(bytes, ctl_encode(&in, bytes), &out), HF_EBAD);
    ck_assert_str_eq(out.node, "");
}
END_TEST

START_TEST(a_definition_that_the_engine_must_not_see_is_refused)
{
    struct hf_ctl_request in = an_addition(), out;
    uint8_t bytes[HF_CTL_REQUEST_MAX];

    if (_i == 0)
        in.order.def.name[0] = '\0';
    else if (_i == 1)
        in.order.def.memory_mib = 0;
    else if (_i == 2)
        in.order.def.priority = 1001;
    else
        in.order.def.legs = 1 << HF_FABRICS_MAX;
    ck_assert_int_eq(decode(bytes, ctl_encode(&in, bytes), &out), HF_EBAD);
}
END_TEST

START_TEST(a_reason_with_a_newline_is_refused)
{
    struct hf_ctl_request in = an_order(HF_ORDER_CONFIRM), out;
    uint8_t bytes[HF_CTL_REQUEST_MAX];

    strcpy(in.order.reason, "off\nlevel=error");
    ck_assert_int_eq(decode(bytes, ctl_encode(&in, bytes), &out), HF_EBAD);
}
END_TEST

START_TEST(unknown_verbs_and_orders_are_refused)
{
    struct hf_ctl_request in = an_order(HF_ORDER_ARM), out;
    uint8_t bytes[HF_CTL_REQUEST_MAX];
    size_t len = ctl_encode(&in, bytes), order_at = 1 + 1 + 1 + 1 + 8 + 1;

    ck_assert_uint_eq(bytes[order_at], HF_ORDER_ARM);
    bytes[order_at] = 0;
    ck_assert_int_eq(decode(bytes, len, &out), HF_EBAD);
    bytes[order_at] = HF_ORDERS;
    ck_assert_int_eq(decode(bytes, len, &out), HF_EBAD);
    bytes[order_at] = HF_ORDER_ARM;
    bytes[1] = 0;
    ck_assert_int_eq(decode(bytes, len, &out), HF_EBAD);
    bytes[1] = HF_CTL_VERBS;
    ck_assert_int_eq(decode(bytes, len, &out), HF_EBAD);
}
END_TEST

HF_TEST_MAIN("wire/ctl", HF_CASE(the_longest_order_comes_back_as_it_was),
             HF_LOOP(every_verb_comes_back, HF_CTL_STATUS, HF_CTL_VERBS),
             HF_LOOP(a_failback_names_a_fabric, 0, 4),
             HF_LOOP(a_test_names_a_level, 0, HF_FENCE_LEVELS_MAX + 2),
             HF_LOOP(every_order_comes_back, HF_ORDER_VM_ADD, HF_ORDERS),
             HF_CASE(every_cut_and_every_extra_byte_is_refused), HF_CASE(another_version_is_named),
             HF_LOOP(names_that_are_none_are_refused, 0, 5),
             HF_LOOP(a_definition_that_the_engine_must_not_see_is_refused, 0, 4),
             HF_CASE(a_reason_with_a_newline_is_refused),
             HF_CASE(unknown_verbs_and_orders_are_refused))
