#include "supervisord/base/rng.h"
#include "supervisord/config/config.h"
#include "tests/unit/check.h"

#include <stdarg.h>
#include <string.h>

static struct hf_config config, again;
static struct hf_err err;
static char text[HF_CONFIG_TEXT_MAX + 1], text_again[HF_CONFIG_TEXT_MAX + 1];

static void must_parse(const char *source, struct hf_config *out)
{
    enum hf_code code = config_parse("holdfast.conf", source, strlen(source), out, &err);

    ck_assert_msg(code == HF_OK, "%s", err.text);
}

/* The canonical text of `config` gives the same value, the same text and the same digest. */
static void must_come_back(void)
{
    size_t len = config_print(&config, text, sizeof text);

    ck_assert_uint_lt(len, sizeof text);
    ck_assert_uint_eq(strlen(text), len);
    must_parse(text, &again);
    ck_assert_uint_eq(config_print(&again, text_again, sizeof text_again), len);
    ck_assert_str_eq(text_again, text);
    ck_assert(hf_digest_equal(&again.group.config, &config.group.config));
    ck_assert_int_eq(memcmp(&again, &config, sizeof config), 0);
}

static const char canonical[] = "cluster {\n"
                                "    name: colo\n"
                                "}\n"
                                "\n"
                                "timing {\n"
                                "    beat: 500ms\n"
                                "    mute_after: 2s\n"
                                "    silent_grace: 10s\n"
                                "    startup_grace: 1min\n"
                                "    fence_deadline: 1min\n"
                                "    start_deadline: 1min\n"
                                "    stop_deadline: 30s\n"
                                "    stable: 10min\n"
                                "    maintenance_max: 4h\n"
                                "    fence_retry: 1s, 2s, 5s, 15s, 30s\n"
                                "    restart_backoff: 0s, 2s, 10s, 30s, 2min\n"
                                "    hold_max: 1min\n"
                                "    settle: 10s\n"
                                "    flap_window: 10min\n"
                                "    returns_max: 4\n"
                                "    storm_fences: 3\n"
                                "    storm_window: 10min\n"
                                "}\n"
                                "\n"
                                "watchdog {\n"
                                "    use: yes\n"
                                "    device: /dev/watchdog1\n"
                                "    timeout: 10s\n"
                                "    lease: 4s\n"
                                "    allow_softdog: no\n"
                                "    safe_time: computed\n"
                                "}\n"
                                "\n"
                                "node n1 {\n"
                                "    id: 1\n"
                                "    reserve_memory: 2GiB\n"
                                "    watchdog: yes\n"
                                "    fence_level_1: bmc-n1\n"
                                "    fence_level_2: pdu-b, pdu-a\n"
                                "}\n"
                                "\n"
                                "node n2 {\n"
                                "    id: 2\n"
                                "    reserve_memory: 1536MiB\n"
                                "    watchdog: no\n"
                                "}\n"
                                "\n"
                                "fence_device bmc-n1 {\n"
                                "    agent: fence_ipmilan\n"
                                "    credentials: n1.cred\n"
                                "    params {\n"
                                "        ip: 10.0.0.1\n"
                                "        lanplus: 1\n"
                                "    }\n"
                                "}\n"
                                "\n"
                                "fence_device pdu-a {\n"
                                "    agent: fence_apc\n"
                                "}\n"
                                "\n"
                                "fence_device pdu-b {\n"
                                "    agent: fence_eps\n"
                                "}\n";

/* The same configuration, as somebody else would have typed it. */
static const char shuffled[] = "# ours\n"
                               "fence_device pdu-b {\n agent: fence_eps\n}\n"
                               "fence_device bmc-n1 {\n"
                               " params {\n  lanplus: 1\n  # its address\n  ip: 10.0.0.1\n }\n"
                               " credentials: n1.cred\n agent: fence_ipmilan\n}\n"
                               "node n1 {\n fence_level_2: pdu-b,pdu-a\n"
                               " fence_level_1: bmc-n1\n id: 1\n reserve_memory: 2048MiB\n}\n"
                               "timing {\n beat: 500ms\n stable: 600s\n}\n"
                               "fence_device pdu-a {\n agent: fence_apc\n}\n"
                               "watchdog {\n use: yes\n timeout: 10000ms\n"
                               " device: /dev/watchdog1\n}\n"
                               "node n2 {\n watchdog: no\n id: 2\n"
                               " reserve_memory: 1536MiB\n}\n"
                               "cluster {\n name: colo\n}\n";

START_TEST(the_canonical_text_is_this)
{
    must_parse(shuffled, &config);
    config_print(&config, text, sizeof text);
    ck_assert_str_eq(text, canonical);
    must_come_back();
}
END_TEST

/* A change here makes every node of a running group believe that its file differs. */
START_TEST(the_digest_is_the_sha256_of_the_canonical_text)
{
    struct hf_digest want = hf_digest_of(canonical, strlen(canonical));

    must_parse(shuffled, &config);
    ck_assert(hf_digest_equal(&config.group.config, &want));
    must_parse(canonical, &again);
    ck_assert_int_eq(memcmp(&again, &config, sizeof config), 0);
}
END_TEST

/* With cards: between the watchdog and the nodes, and at the end of each node. */
static const char nics_canonical[] = "nics {\n"
                                     "    poll: 2ms\n"
                                     "    hold_down: 30s\n"
                                     "    hold_down_max: 10min\n"
                                     "    flip_deadline: 200ms\n"
                                     "    leg_move: 7s\n"
                                     "}\n"
                                     "\n"
                                     "fabric a {\n"
                                     "    bfd_interval: 20ms\n"
                                     "    bfd_multiplier: 3\n"
                                     "    bfd_peer: fe80::ffff, fe80::fffe\n"
                                     "}\n"
                                     "\n"
                                     "fabric b {\n"
                                     "    bfd_interval: 10ms\n"
                                     "    bfd_multiplier: 0\n"
                                     "}\n"
                                     "\n"
                                     "node n1 {\n"
                                     "    id: 1\n"
                                     "    reserve_memory: 2GiB\n"
                                     "    watchdog: yes\n"
                                     "    nic_a: ens1f0\n"
                                     "    nic_b: 0000:a1:00.0\n"
                                     "    address_a: fe80::1\n"
                                     "}\n";

START_TEST(the_canonical_text_of_cards_is_this)
{
    must_parse("cluster {\n name: x\n}\n"
               "node n1 {\n address_a: FE80:0::1\n nic_b: 0000:a1:00.0\n id: 1\n"
               " nic_a: ens1f0\n}\n"
               "fabric b {\n bfd_multiplier: 0\n}\n"
               "fabric a {\n bfd_peer: fe80::ffff,fe80::fffe\n bfd_interval: 20ms\n}\n"
               "nics {\n leg_move: 7000ms\n poll: 2ms\n}\n",
               &config);
    config_print(&config, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "\n\nnics {\n"));
    ck_assert_str_eq(strstr(text, "\n\nnics {\n") + 2, nics_canonical);
    must_come_back();
}
END_TEST

/* What nobody has is not spoken of, and does not change the name of the configuration. */
START_TEST(a_fabric_that_no_node_has_is_not_printed)
{
    must_parse("cluster {\n name: x\n}\nnode n1 {\n id: 1\n nic_b: ens2f0\n}\n", &config);
    config_print(&config, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "\nfabric b {\n"));
    ck_assert_ptr_null(strstr(text, "fabric a"));
    must_come_back();
    must_parse(canonical, &config);
    config_print(&config, text, sizeof text);
    ck_assert_ptr_null(strstr(text, "nic"));
    ck_assert_ptr_null(strstr(text, "fabric"));
}
END_TEST

START_TEST(the_digest_tells_every_difference_of_cards)
{
    static const struct {
        const char *was, *now;
    } edits[] = {
        {"poll: 2ms", "poll: 1ms"},
        {"hold_down: 30s", "hold_down: 31s"},
        {"down_max: 10min", "down_max: 11min"},
        {"deadline: 200ms", "deadline: 201ms"},
        {"leg_move: 7s", "leg_move: 8s"},
        {"interval: 20ms", "interval: 21ms"},
        {"interval: 10ms", "interval: 11ms"},
        {"multiplier: 3", "multiplier: 4"},
        {"multiplier: 0", "multiplier: 2"},
        {", fe80::fffe", ""},
        {"ffff, fe80::fffe", "fffe, fe80::ffff"},
        {"ens1f0", "ens1f1"},
        {"a1:00.0", "a1:00.1"},
        {"fe80::1", "fe80::2"},
    };
    static char changed[2048];
    const char *at = strstr(nics_canonical, edits[_i].was);

    ck_assert_ptr_nonnull(at);
    snprintf(text, sizeof text, "cluster {\n name: x\n}\n%s", nics_canonical);
    snprintf(changed, sizeof changed, "cluster {\n name: x\n}\n%.*s%s%s",
             (int)(at - nics_canonical), nics_canonical, edits[_i].now, at + strlen(edits[_i].was));
    must_parse(text, &config);
    must_parse(changed, &again);
    ck_assert(!hf_digest_equal(&config.group.config, &again.group.config));
}
END_TEST

START_TEST(the_digest_tells_every_difference)
{
    static const struct {
        const char *was, *now;
    } edits[] = {
        {"name: colo", "name: cold"},
        {"id: 2", "id: 3"},
        {"beat: 500ms", "beat: 501ms"},
        {"pdu-b, pdu-a", "pdu-a, pdu-b"},
        {"ip: 10.0.0.1", "ip: 10.0.0.2"},
        {"lanplus: 1", "lanplus: 0"},
        {"n1.cred", "n2.cred"},
        {"0s, 2s", "1s, 2s"},
        {"node n2", "node n3"},
        {"1536MiB", "1537MiB"},
        {"fence_eps", "fence_epson"},
        {"stable: 10min", "stable: 11min"},
        {"use: yes", "use: no"},
        {"watchdog1", "watchdog2"},
        {"timeout: 10s", "timeout: 9s"},
        {"lease: 4s", "lease: 5s"},
        {"softdog: no", "softdog: yes"},
        {"computed", "30s"},
        {"watchdog: no", "watchdog: yes"},
        {"hold_max: 1min", "hold_max: 2min"},
        {"settle: 10s", "settle: 11s"},
        {"flap_window: 10min", "flap_window: 9min"},
        {"returns_max: 4", "returns_max: 5"},
        {"storm_fences: 3", "storm_fences: 4"},
        {"storm_window: 10min", "storm_window: 9min"},
    };
    const char *at = strstr(canonical, edits[_i].was);
    size_t before = (size_t)(at - canonical);

    ck_assert_ptr_nonnull(at);
    memcpy(text, canonical, before);
    strcpy(text + before, edits[_i].now);
    strcat(text, at + strlen(edits[_i].was));
    must_parse(canonical, &config);
    must_parse(text, &again);
    ck_assert(!hf_digest_equal(&config.group.config, &again.group.config));
}
END_TEST

START_TEST(the_order_of_nodes_counts)
{
    must_parse("cluster {\n name: x\n}\nnode a {\n id: 1\n}\nnode b {\n id: 2\n}\n", &config);
    must_parse("cluster {\n name: x\n}\nnode b {\n id: 2\n}\nnode a {\n id: 1\n}\n", &again);
    ck_assert(!hf_digest_equal(&config.group.config, &again.group.config));
}
END_TEST

START_TEST(the_shipped_example_is_good)
{
    ck_assert_msg(config_load("etc/holdfast.conf.example", &config, &err) == HF_OK, "%s", err.text);
    ck_assert_uint_eq(config.group.nodes_count, 3);
    ck_assert_uint_eq(config.group.nodes[0].fence_levels, 2);
    ck_assert_uint_eq(config.fence[0].level[1].devices_count, 2);
    ck_assert_uint_eq(config.devices_count, 5);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_uint_eq(config.group.nodes[i].fabrics, 3);
    must_come_back();
}
END_TEST

/* It says that what it shows are the defaults. */
START_TEST(the_example_shows_the_defaults_of_timing)
{
    must_parse("cluster {\n name: x\n}\nnode a {\n id: 1\n}\n", &again);
    ck_assert_int_eq(config_load("etc/holdfast.conf.example", &config, &err), HF_OK);
    ck_assert_uint_eq(config.beat_ms, again.beat_ms);
    ck_assert_uint_eq(config.mute_after_ms, again.mute_after_ms);
    ck_assert_int_eq(memcmp(&config.group.policy, &again.group.policy, sizeof config.group.policy),
                     0);
    /* Of the cards it says so, too, but for one peer. */
    ck_assert(config.nics.is_used);
    ck_assert(!again.nics.is_used);
    ck_assert_uint_eq(config.nics.poll_us, again.nics.poll_us);
    ck_assert_uint_eq(config.nics.hold_down_ms, again.nics.hold_down_ms);
    ck_assert_uint_eq(config.nics.hold_down_max_ms, again.nics.hold_down_max_ms);
    ck_assert_uint_eq(config.nics.flip_deadline_ms, again.nics.flip_deadline_ms);
    ck_assert_mem_eq(config.nics.bfd_interval_us, again.nics.bfd_interval_us,
                     sizeof config.nics.bfd_interval_us);
    ck_assert_mem_eq(config.nics.bfd_multiplier, again.nics.bfd_multiplier,
                     sizeof config.nics.bfd_multiplier);
    /* Of the watchdog it says that only `use` and `lease` are not. */
    ck_assert(config.watchdog.is_used);
    ck_assert(!again.watchdog.is_used);
    ck_assert_uint_eq(config.watchdog.timeout_ms, again.watchdog.timeout_ms);
    ck_assert_str_eq(config.watchdog.device, again.watchdog.device);
    ck_assert(config.watchdog.allow_softdog == again.watchdog.allow_softdog);
}
END_TEST

/* `use: no` takes nothing from what the nodes' sections say: `yes` may follow some day. */
START_TEST(an_unused_watchdog_is_remembered_by_its_nodes)
{
    must_parse("cluster {\n name: x\n}\nnode a {\n id: 1\n}\nnode b {\n id: 2\n watchdog: no\n}\n",
               &config);
    ck_assert(!config.group.nodes[0].has_watchdog);
    ck_assert(!config.group.nodes[1].has_watchdog);
    ck_assert_uint_eq(config.watchdog.nodes, 1);
    must_come_back();
    ck_assert_ptr_nonnull(strstr(text, "    watchdog: yes\n"));
    ck_assert_ptr_nonnull(strstr(text, "    watchdog: no\n"));
    ck_assert(!config_can_prove_dead(&config, (hf_node){0}));
}
END_TEST

START_TEST(a_short_buffer_gets_the_beginning_and_the_length)
{
    size_t len;
    char small[32];

    must_parse(canonical, &config);
    len = config_print(&config, NULL, 0);
    ck_assert_uint_eq(len, strlen(canonical));
    for (size_t cap = 1; cap <= sizeof small; cap++) {
        memset(small, 'x', sizeof small);
        ck_assert_uint_eq(config_print(&config, small, cap), len);
        ck_assert_uint_eq(strlen(small), cap - 1);
        ck_assert_int_eq(strncmp(small, canonical, cap - 1), 0);
    }
}
END_TEST

/* ---- generated ---- */

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void add(const char *format, ...)
{
    size_t len = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + len, sizeof text - len, format, args);
    va_end(args);
}

static unsigned below(struct hf_rng *rng, unsigned limit)
{
    return (unsigned)hf_rng_below(rng, limit);
}

static void add_devices(struct hf_rng *rng, unsigned node, unsigned levels)
{
    for (unsigned level = 1; level <= levels; level++) {
        unsigned params = below(rng, HF_FENCE_PARAMS_MAX - 1);

        add("fence_device d%u-%u {\n agent: fence_%u\n params {\n id: %u-%u\n", node, level,
            below(rng, 9), node, level);
        for (unsigned i = 0; i < params; i++)
            add(" %c%u: %u \xe4\xb8\x8a:%.*s\n", (char)('a' + below(rng, 26)), i, below(rng, 1000),
                (int)below(rng, 40), "=a,b;c'd\"e\\f$g%h#i[j]k(l)m<n>o|p&q*r?s~t!u");
        add(" }\n%s}\n", below(rng, 2) == 0 ? " credentials: x.cred\n" : "");
    }
}

static void add_node(struct hf_rng *rng, unsigned node)
{
    unsigned levels = below(rng, HF_FENCE_LEVELS_MAX + 1);
    bool is_before = below(rng, 2) == 0;

    if (is_before)
        add_devices(rng, node, levels);
    add("node n%u {\n id: %u\n", 100 - node, 1 + node * 8000 + below(rng, 8000));
    if (below(rng, 2) == 0)
        add(" watchdog: %s\n", below(rng, 2) == 0 ? "yes" : "no");
    for (char f = 'a'; f <= 'b'; f++)
        if (below(rng, 2) == 0)
            add(" nic_%c: ens%u%c\n address_%c: fe80::%x\n", f, below(rng, 100), f, f, node + 1);
    if (below(rng, 2) == 0)
        add(" reserve_memory: %u%s\n", 64 + below(rng, 960), below(rng, 2) == 0 ? "MiB" : "GiB");
    for (unsigned level = levels; level >= 1; level--)
        add(" fence_level_%u: d%u-%u\n", level, node, level);
    add("}\n");
    if (!is_before)
        add_devices(rng, node, levels);
}

static void add_timing(struct hf_rng *rng)
{
    unsigned beat = 100 + below(rng, 1000);

    unsigned mute = 3 * beat + below(rng, 10000);

    add("timing {\n beat: %ums\n mute_after: %ums\n silent_grace: %ums\n", beat, mute,
        2 * mute + below(rng, 1000));
    if (below(rng, 2) == 0)
        add(" stop_deadline: %us\n stable: %umin\n", 20 + below(rng, 3000), 1 + below(rng, 1400));
    if (below(rng, 2) == 0)
        add(" storm_fences: %u\n returns_max: %u\n settle: %us\n", 1 + below(rng, 255),
            2 + below(rng, 254), 1 + below(rng, 3600));
    add(" restart_backoff: 0ms");
    for (unsigned i = below(rng, HF_BACKOFFS_MAX); i > 0; i--)
        add(" , %us", below(rng, 3600));
    add("\n}\n");
}

static void add_watchdog(struct hf_rng *rng)
{
    unsigned lease = 3300 + below(rng, 20000), timeout = 1 + below(rng, 60);

    add("watchdog {\n use: %s\n allow_softdog: %s\n lease: %ums\n timeout: %us\n",
        below(rng, 2) == 0 ? "yes" : "no", below(rng, 2) == 0 ? "yes" : "no", lease, timeout);
    if (below(rng, 2) == 0)
        add(" device: /dev/watchdog%u\n safe_time: %us\n", below(rng, 4), 200 + below(rng, 3000));
    add("}\n");
}

START_TEST(whatever_parses_prints_and_comes_back)
{
    struct hf_rng rng = hf_rng_seeded((uint64_t)_i);
    unsigned nodes = 1 + below(&rng, HF_NODES_MAX);

    text[0] = '\0';
    if (below(&rng, 2) == 0)
        add_timing(&rng);
    if (below(&rng, 2) == 0)
        add_watchdog(&rng);
    for (unsigned i = 0; i < nodes; i++)
        add_node(&rng, i);
    add("cluster {\n name: g%u\n}\n", below(&rng, 1000));
    must_parse(text, &config);
    ck_assert_uint_eq(config.group.nodes_count, nodes);
    must_come_back();
}
END_TEST

/* The largest configuration there is still fits into a file. */
START_TEST(the_largest_configuration_comes_back)
{
    char name[HF_NAME_MAX + 1], value[HF_PARAM_VALUE_MAX + 1];
    static const char wide[] = "fd00:1111:2222:3333:4444:5555:6666";

    memset(name, 'n', sizeof name);
    memset(value, 'v', sizeof value);
    text[0] = '\0';
    add("cluster {\n name: %.63s\n}\n", name);
    for (unsigned i = 0; i < HF_NODES_MAX; i++) {
        add("node %.62s%u {\nid: %u\nreserve_memory: 1048575MiB\n", name, i, 65535 - i);
        for (unsigned level = 1; level <= HF_FENCE_LEVELS_MAX; level++)
            add("fence_level_%u: %.61s%u%u\n", level, name, i, level);
        add("nic_a: %.14sa\nnic_b: %.14sb\naddress_a: %s:a%u\naddress_b: %s:b%u\n}\n", name, name,
            wide, i, wide, i);
    }
    for (char f = 'a'; f <= 'b'; f++)
        add("fabric %c {\nbfd_peer: %s:%c100, %s:%c101, %s:%c102, %s:%c103\n}\n", f, wide, f, wide,
            f, wide, f, wide, f);
    for (unsigned i = 0; i < HF_DEVICES_MAX; i++) {
        add("fence_device %.61s%u%u {\nagent: fence_%.57s\ncredentials: %.63s\nparams {\n", name,
            i / 4, i % 4 + 1, name, name);
        for (unsigned p = 0; p < HF_FENCE_PARAMS_MAX; p++)
            add("%.29s%c%c:%u%.253s\n", name, (char)('a' + p), 'x', 10 + i, value);
        add("}\n}\n");
    }
    must_parse(text, &config);
    must_come_back();
}
END_TEST

HF_TEST_MAIN("config/print", HF_CASE(the_canonical_text_is_this),
             HF_CASE(the_digest_is_the_sha256_of_the_canonical_text),
             HF_LOOP(the_digest_tells_every_difference, 0, 25),
             HF_CASE(the_canonical_text_of_cards_is_this),
             HF_CASE(a_fabric_that_no_node_has_is_not_printed),
             HF_LOOP(the_digest_tells_every_difference_of_cards, 0, 14),
             HF_CASE(the_order_of_nodes_counts), HF_CASE(the_shipped_example_is_good),
             HF_CASE(the_example_shows_the_defaults_of_timing),
             HF_CASE(an_unused_watchdog_is_remembered_by_its_nodes),
             HF_CASE(a_short_buffer_gets_the_beginning_and_the_length),
             HF_LOOP(whatever_parses_prints_and_comes_back, 0, 200),
             HF_CASE(the_largest_configuration_comes_back))
