#include "supervisord/base/rng.h"
#include "supervisord/wire/event.h"
#include "tests/unit/check.h"

#include <string.h>

static struct hf_event ev, back;
static uint8_t bytes[HF_EVENT_BYTES_MAX], again[HF_EVENT_BYTES_MAX];
static struct hf_rng rng;

static void text(char *out, size_t most)
{
    size_t len = hf_rng_below(&rng, most + 1);

    for (size_t i = 0; i < len; i++)
        out[i] = (char)hf_rng_between(&rng, 0x20, 0x7e);
    out[len] = '\0';
}

static void name(char out[HF_NAME_MAX + 1], size_t least)
{
    size_t len = (size_t)hf_rng_between(&rng, (int64_t)least, HF_NAME_MAX);

    for (size_t i = 0; i < len; i++)
        out[i] = (char)hf_rng_between(&rng, 'a', 'z');
    out[len] = '\0';
}

static hf_node node_or_none(void)
{
    uint64_t ix = hf_rng_below(&rng, HF_NODES_MAX + 1);

    return ix == HF_NODES_MAX ? HF_NO_NODE : (hf_node){(uint8_t)ix};
}

static void make_order(void)
{
    struct hf_vm_def *def = &ev.u.order.def;

    ev.u.order.type = (enum hf_order_type)hf_rng_between(&rng, 1, HF_ORDERS - 1);
    ev.u.order.node = node_or_none();
    ev.u.order.uid = (uint32_t)hf_rng_next(&rng);
    ev.u.order.as_of = hf_rng_next(&rng);
    ev.u.order.ms = (uint32_t)hf_rng_next(&rng);
    ev.u.order.wants_run = hf_rng_permille(&rng, 500);
    text(ev.u.order.who, HF_NAME_MAX);
    text(ev.u.order.reason, HF_REASON_MAX);
    if (ev.u.order.type != HF_ORDER_VM_ADD)
        return;
    name(def->name, 1);
    def->xml.b[31] = (uint8_t)hf_rng_next(&rng);
    def->xml_bytes = (uint32_t)hf_rng_below(&rng, HF_XML_MAX + 1);
    def->memory_mib = 1 + (uint32_t)hf_rng_below(&rng, 1 << 20);
    def->priority = (uint16_t)hf_rng_below(&rng, 1001);
    name(def->apart, 0);
    name(def->together, 0);
    def->allowed = (hf_nodes)hf_rng_next(&rng);
    def->preferred = node_or_none();
    def->restarts_here = (uint8_t)hf_rng_next(&rng);
    def->restarts_max = (uint8_t)hf_rng_next(&rng);
    def->stop_grace_ms = (uint32_t)hf_rng_next(&rng);
    def->legs = (hf_legs)hf_rng_below(&rng, 1 << HF_FABRICS_MAX);
}

static void make_members(void)
{
    ev.from = HF_NO_NODE;
    ev.u.members.view = (struct hf_view){(uint32_t)hf_rng_next(&rng), hf_rng_next(&rng)};
    ev.u.members.epoch = hf_rng_next(&rng);
    ev.u.members.cold = hf_rng_permille(&rng, 500);
    for (size_t n = 0; n < HF_NODES_MAX; n++) {
        ev.u.members.node[n].present = hf_rng_permille(&rng, 500);
        ev.u.members.node[n].in_ring = hf_rng_permille(&rng, 500);
        ev.u.members.node[n].incarnation = hf_rng_next(&rng);
        ev.u.members.node[n].boot.id[15] = (uint8_t)hf_rng_next(&rng);
    }
}

static void make_inventory(size_t count)
{
    ev.u.inventory.count = (uint16_t)count;
    for (size_t i = 0; i < count; i++) {
        ev.u.inventory.vm[i].uid = 1 + (uint32_t)hf_rng_below(&rng, UINT32_MAX);
        ev.u.inventory.vm[i].start_no = (uint32_t)hf_rng_next(&rng);
    }
}

static void make_attest(void)
{
    bool is_armed = hf_rng_permille(&rng, 500);

    ev.u.attest.state = is_armed ? HF_WD_ARMED : (enum hf_watchdog)hf_rng_below(&rng, HF_WATCHDOGS);
    ev.u.attest.is_held = hf_rng_permille(&rng, 500);
    ev.u.attest.timeout_ms = (uint32_t)hf_rng_between(&rng, 1, UINT32_MAX);
    ev.u.attest.lease_ms = (uint32_t)hf_rng_between(&rng, 1, UINT32_MAX);
    ev.u.attest.version = (uint16_t)hf_rng_next(&rng);
    ev.u.attest.hold_seq = hf_rng_next(&rng);
    text(ev.u.attest.identity, HF_WATCHDOG_NAME_MAX);
}

static void make(int type)
{
    memset(&ev, 0, sizeof ev);
    ev.type = (enum hf_event_type)type;
    ev.from = (hf_node){(uint8_t)hf_rng_below(&rng, HF_NODES_MAX)};
    switch (ev.type) {
    case HF_EV_MEMBERS:
        make_members();
        break;
    case HF_EV_FACTS:
        ev.u.facts.memory_mib = (uint32_t)hf_rng_next(&rng);
        ev.u.facts.cores = (uint16_t)hf_rng_next(&rng);
        ev.u.facts.link_fit = hf_rng_permille(&rng, 500);
        ev.u.facts.config_same = hf_rng_permille(&rng, 500);
        ev.u.facts.vm_watch_known = hf_rng_permille(&rng, 500);
        ev.u.facts.hardware = hf_rng_next(&rng);
        break;
    case HF_EV_INVENTORY:
        make_inventory(hf_rng_below(&rng, 20));
        break;
    case HF_EV_VM:
        ev.u.vm.uid = 1 + (uint32_t)hf_rng_below(&rng, 1000);
        ev.u.vm.start_no = (uint32_t)hf_rng_next(&rng);
        ev.u.vm.seen = (enum hf_seen)hf_rng_below(&rng, HF_SEENS);
        break;
    case HF_EV_BEAT:
        ev.u.beat.node = (hf_node){(uint8_t)hf_rng_below(&rng, HF_NODES_MAX)};
        ev.u.beat.heard = hf_rng_permille(&rng, 500);
        break;
    case HF_EV_EXPIRED:
        ev.u.expired.timer =
            (struct hf_token){hf_rng_next(&rng), 1 + (uint32_t)hf_rng_below(&rng, 999)};
        break;
    case HF_EV_DONE:
        ev.u.done.effect = (struct hf_token){hf_rng_next(&rng), 9};
        ev.u.done.outcome = (enum hf_outcome)hf_rng_below(&rng, HF_OUTCOMES);
        break;
    case HF_EV_ORDER:
        make_order();
        break;
    case HF_EV_ATTEST:
        make_attest();
        break;
    case HF_EV_PATH:
        ev.u.path.target = (hf_node){(uint8_t)hf_rng_below(&rng, HF_NODES_MAX)};
        ev.u.path.level = (uint8_t)hf_rng_below(&rng, HF_FENCE_LEVELS_MAX);
        ev.u.path.found = (enum hf_path)hf_rng_below(&rng, HF_PATHS);
        ev.u.path.hardware = hf_rng_next(&rng);
        break;
    case HF_EV_NICS:
        for (size_t f = 0; f < HF_FABRICS_MAX; f++) {
            ev.u.nics.pf[f].state = (enum hf_pf)hf_rng_below(&rng, HF_PFS);
            ev.u.nics.pf[f].cause = (enum hf_nic_cause)hf_rng_below(&rng, HF_NIC_CAUSES);
        }
        break;
    case HF_EV_LEGS:
        ev.u.legs.uid = 1 + (uint32_t)hf_rng_below(&rng, 1000);
        ev.u.legs.start_no = (uint32_t)hf_rng_next(&rng);
        ev.u.legs.has = (hf_legs)hf_rng_below(&rng, 1 << HF_FABRICS_MAX);
        ev.u.legs.up = (hf_legs)hf_rng_next(&rng) & ev.u.legs.has;
        ev.u.legs.active = (hf_fabric)hf_rng_below(&rng, HF_FABRICS_MAX + 1);
        break;
    case HF_EVENT_TYPES:
        ck_abort_msg("no such type");
    }
}

static size_t encode(const struct hf_event *event, uint8_t *to)
{
    struct hf_writer w = hf_writer_on(to, HF_EVENT_BYTES_MAX);

    event_encode(event, &w);
    ck_assert(!w.bad);
    return w.len;
}

static bool decodes(const uint8_t *from, size_t len)
{
    uint8_t *copy = malloc(len > 0 ? len : 1); /* exactly len bytes, for the sanitizer */
    struct hf_reader r;
    struct hf_err err;
    bool is_good;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, from, len);
    r = hf_reader_on(copy, len);
    is_good = event_decode(&r, &back, &err) == HF_OK;
    free(copy);
    return is_good;
}

START_TEST(every_event_comes_back_as_it_went)
{
    rng = hf_rng_seeded((uint64_t)_i);
    for (unsigned k = 0; k < 500; k++) {
        size_t len;

        make(_i);
        ev.seq = 17;
        len = encode(&ev, bytes);
        ck_assert(decodes(bytes, len));
        ck_assert_uint_eq(back.seq, 0);
        back.seq = 17;
        ck_assert_mem_eq(&back, &ev, sizeof ev);
    }
}
END_TEST

START_TEST(every_truncation_is_an_error)
{
    rng = hf_rng_seeded((uint64_t)_i);
    for (unsigned k = 0; k < 20; k++) {
        size_t len;

        make(_i);
        len = encode(&ev, bytes);
        for (size_t cut = 0; cut < len; cut++)
            ck_assert(!decodes(bytes, cut) || encode(&back, again) == cut);
        bytes[len] = 0;
        ck_assert(!decodes(bytes, len + 1));
    }
}
END_TEST

START_TEST(every_damaged_byte_is_an_error_or_another_valid_event)
{
    unsigned refused = 0;

    rng = hf_rng_seeded((uint64_t)_i);
    for (unsigned k = 0; k < 3; k++) {
        size_t len;

        make(_i);
        len = encode(&ev, bytes);
        for (size_t at = 0; at < len; at++) {
            uint8_t was = bytes[at];

            for (unsigned v = 0; v < 256; v++) {
                bytes[at] = (uint8_t)v;
                if (!decodes(bytes, len)) {
                    refused++;
                    continue;
                }
                /* What is accepted has one encoding: nothing was ignored. */
                ck_assert_uint_eq(encode(&back, again), len);
                ck_assert_mem_eq(again, bytes, len);
            }
            bytes[at] = was;
        }
    }
    ck_assert_uint_gt(refused, 0);
}
END_TEST

START_TEST(an_inventory_of_every_vm_fits)
{
    rng = hf_rng_seeded(1);
    make(HF_EV_INVENTORY);
    make_inventory(HF_VMS_MAX);
    ck_assert(decodes(bytes, encode(&ev, bytes)));
    ck_assert_uint_eq(back.u.inventory.count, HF_VMS_MAX);
}
END_TEST

START_TEST(what_the_engine_must_not_see_is_refused)
{
    rng = hf_rng_seeded(2);
    make(HF_EV_ORDER);
    ev.u.order.type = HF_ORDER_VM_ADD;
    ev.u.order.def = (struct hf_vm_def){.name = "v1", .memory_mib = 1, .preferred = HF_NO_NODE};
    ck_assert(decodes(bytes, encode(&ev, bytes)));
    ev.u.order.def.memory_mib = 0;
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
    ev.u.order.def.memory_mib = 1;
    ev.u.order.def.priority = 1001;
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
    ev.u.order.def.priority = 0;
    ev.u.order.def.xml_bytes = HF_XML_MAX + 1;
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
    ev.u.order.def.xml_bytes = 0;
    strcpy(ev.u.order.def.name, "../etc");
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
    strcpy(ev.u.order.def.name, "v1");
    strcpy(ev.u.order.reason, "two\nlines");
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
    make(HF_EV_FACTS);
    ev.from = HF_NO_NODE;
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
    make(HF_EV_MEMBERS);
    ev.from = (hf_node){1};
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
    make(HF_EV_DONE);
    ev.u.done.effect.nth = 0;
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
}
END_TEST

START_TEST(a_vm_told_twice_is_refused)
{
    rng = hf_rng_seeded(3);
    make(HF_EV_INVENTORY);
    make_inventory(HF_VMS_MAX);
    ev.u.inventory.vm[HF_VMS_MAX - 1].uid = ev.u.inventory.vm[7].uid;
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
}
END_TEST

/* What it says becomes the time after which a node counts as dead. */
START_TEST(an_armed_watchdog_has_a_timeout_and_a_lease)
{
    rng = hf_rng_seeded(4);
    make(HF_EV_ATTEST);
    ev.u.attest.state = HF_WD_ARMED;
    ck_assert(decodes(bytes, encode(&ev, bytes)));
    ev.u.attest.timeout_ms = 0;
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
    ev.u.attest.timeout_ms = 1;
    ev.u.attest.lease_ms = 0;
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
    ev.u.attest.timeout_ms = 0;
    ev.u.attest.state = HF_WD_DISARMED;
    ck_assert(decodes(bytes, encode(&ev, bytes)));
    ev.u.attest.state = HF_WATCHDOGS;
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
}
END_TEST

START_TEST(a_driver_s_name_is_made_printable)
{
    rng = hf_rng_seeded(5);
    make(HF_EV_ATTEST);
    strcpy(ev.u.attest.identity, "iTCO\n\x01wdt\x7f");
    ck_assert(decodes(bytes, encode(&ev, bytes)));
    ck_assert_str_eq(back.u.attest.identity, "iTCO  wdt ");
}
END_TEST

START_TEST(a_path_names_a_node_a_level_and_a_finding)
{
    rng = hf_rng_seeded(6);
    make(HF_EV_PATH);
    ev.u.path.target = HF_NO_NODE;
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
    make(HF_EV_PATH);
    ev.u.path.level = HF_FENCE_LEVELS_MAX;
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
    make(HF_EV_PATH);
    ev.u.path.found = HF_PATHS;
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
}
END_TEST

START_TEST(pfs_and_legs_stay_in_range)
{
    rng = hf_rng_seeded(7);
    make(HF_EV_NICS);
    ev.u.nics.pf[1].state = HF_PFS;
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
    make(HF_EV_NICS);
    ev.u.nics.pf[0].cause = HF_NIC_CAUSES;
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
    make(HF_EV_LEGS);
    ev.u.legs.has = 1;
    ev.u.legs.up = 3;
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
    make(HF_EV_LEGS);
    ev.u.legs.uid = 0;
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
    make(HF_EV_LEGS);
    ev.u.legs.active = HF_FABRICS_MAX + 1;
    ck_assert(!decodes(bytes, encode(&ev, bytes)));
}
END_TEST

static size_t decide(enum hf_effect_type type, uint32_t what, uint8_t *to)
{
    static struct engine_out out;
    struct hf_writer w = hf_writer_on(to, HF_EVENT_BYTES_MAX);

    memset(&out, 0, sizeof out);
    out.effects_count = 1;
    out.effects[0] = (struct hf_effect){.token = {5, 1}, .type = type, .actor = {1}};
    if (type == HF_FX_FENCE || type == HF_FX_POWER_ON)
        out.effects[0].u.fence.level = (uint8_t)what;
    else if (type == HF_FX_VM_START || type == HF_FX_VM_STOP)
        out.effects[0].u.vm.start_no = what;
    else if (type == HF_FX_TIMER)
        out.effects[0].u.timer.after_ms = what;
    else if (type == HF_FX_HOLD)
        out.effects[0].u.hold.ms = what;
    decision_encode(&out, &w);
    ck_assert(!w.bad);
    return w.len;
}

START_TEST(every_effect_has_bytes_of_its_own)
{
    enum hf_effect_type type = (enum hf_effect_type)_i;
    size_t len = decide(type, 1, bytes);

    for (int other = HF_FX_FENCE; other < HF_FX_TYPES; other++) {
        size_t other_len = decide((enum hf_effect_type)other, 1, again);

        ck_assert((other == _i) == (len == other_len && memcmp(bytes, again, len) == 0));
    }
    if (type == HF_FX_DISARM)
        return; /* says nothing but that */
    ck_assert_uint_eq(decide(type, 2, again), len);
    ck_assert_mem_ne(bytes, again, len);
}
END_TEST

START_TEST(decisions_that_differ_have_different_bytes)
{
    static struct engine_out one, other;
    struct hf_writer w = hf_writer_on(bytes, sizeof bytes);
    struct hf_writer w2 = hf_writer_on(again, sizeof again);

    one.applied = true;
    one.effects_count = 3;
    one.effects[0] = (struct hf_effect){.token = {5, 1}, .type = HF_FX_FENCE, .actor = {1}};
    one.effects[1] = (struct hf_effect){.token = {5, 2}, .type = HF_FX_VM_START, .actor = {2}};
    one.effects[2] = (struct hf_effect){.token = {5, 3}, .type = HF_FX_TIMER, .actor = HF_NO_NODE};
    one.changes_count = 1;
    one.changes[0] = (struct hf_change){.subject = HF_SUBJECT_VM, .ix = 3, .was = 1, .now = 2};
    other = one;
    decision_encode(&one, &w);
    decision_encode(&other, &w2);
    ck_assert_uint_eq(w.len, w2.len);
    ck_assert_mem_eq(bytes, again, w.len);
    other.effects[2].u.timer.after_ms = 1;
    w2 = hf_writer_on(again, sizeof again);
    decision_encode(&other, &w2);
    ck_assert_mem_ne(bytes, again, w.len);
    other = one;
    other.changes[0].now = 3;
    w2 = hf_writer_on(again, sizeof again);
    decision_encode(&other, &w2);
    ck_assert_mem_ne(bytes, again, w.len);
}
END_TEST

HF_TEST_MAIN(
    "wire/event", HF_LOOP(every_event_comes_back_as_it_went, HF_EV_MEMBERS, HF_EVENT_TYPES),
    HF_LOOP(every_truncation_is_an_error, HF_EV_MEMBERS, HF_EVENT_TYPES),
    HF_LOOP(every_damaged_byte_is_an_error_or_another_valid_event, HF_EV_MEMBERS, HF_EVENT_TYPES),
    HF_CASE(an_inventory_of_every_vm_fits), HF_CASE(what_the_engine_must_not_see_is_refused),
    HF_CASE(a_vm_told_twice_is_refused), HF_CASE(an_armed_watchdog_has_a_timeout_and_a_lease),
    HF_CASE(a_driver_s_name_is_made_printable), HF_CASE(a_path_names_a_node_a_level_and_a_finding),
    HF_CASE(pfs_and_legs_stay_in_range),
    HF_LOOP(every_effect_has_bytes_of_its_own, HF_FX_FENCE, HF_FX_TYPES),
    HF_CASE(decisions_that_differ_have_different_bytes))
