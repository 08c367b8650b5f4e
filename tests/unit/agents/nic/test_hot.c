#include "agents/nic/hot.h"

#include "tests/unit/agents/nic/tree.h"

static struct tree tree;
static struct hot hot;
static struct nic_sample sample;
static struct hf_err err;
static hf_time now = {1000000000};
static const struct nic_place veth = {"veth0", "", 9};

static void open_tree(void)
{
    tree_open(&tree);
    tree_interface(&tree, "veth0", "", "9\n");
    ck_assert_int_eq(hot_open(&hot, tree.root, &veth, now, &err), HF_OK);
}

static void close_tree(void)
{
    hot_close(&hot);
    tree_close(&tree);
}

static bool after(int64_t ms)
{
    now = hf_time_add_ms(now, ms);
    return hot_read(&hot, now, &sample);
}

static void counts(const char *ups, const char *downs)
{
    tree_net(&tree, "veth0", "carrier_up_count", ups);
    tree_net(&tree, "veth0", "carrier_down_count", downs);
}

START_TEST(an_interface_without_counters_is_not_there)
{
    static const struct nic_place gone = {"gone", "", 3};
    struct hot none;

    ck_assert_int_eq(hot_open(&none, tree.root, &gone, now, &err), HF_ENOENT);
}
END_TEST

START_TEST(a_first_round_tells_all)
{
    tree_net(&tree, "veth0", "statistics/rx_crc_errors", "7\n");
    ck_assert(after(1));
    ck_assert(sample.is_seen);
    ck_assert_uint_eq(sample.carrier_downs, 1);
    ck_assert_int_eq(sample.is_admin_up, NIC_YES);
    ck_assert_int_eq(sample.has_carrier, NIC_YES);
    ck_assert_uint_eq(sample.tx_timeouts, 0);
    ck_assert(sample.has_errors);
    ck_assert_uint_eq(sample.errors, 7);
}
END_TEST

START_TEST(a_fall_is_seen_in_the_next_round)
{
    ck_assert(after(1));
    counts("2\n", "2\n");
    ck_assert(after(1));
    ck_assert_uint_eq(sample.carrier_downs, 2);
    ck_assert_int_eq(sample.has_carrier, NIC_NO);
    counts("3\n", "2\n");
    ck_assert(after(1));
    ck_assert_int_eq(sample.has_carrier, NIC_YES);
    counts("4\n", "3\n"); /* a glitch */
    ck_assert(after(1));
    ck_assert_uint_eq(sample.carrier_downs, 3);
    ck_assert_int_eq(sample.has_carrier, NIC_YES);
}
END_TEST

START_TEST(operstate_that_lags_is_not_believed_over_the_counters)
{
    ck_assert(after(1));
    counts("2\n", "2\n");
    ck_assert(after(HOT_SLOW_MS)); /* operstate still reads "up" */
    ck_assert_int_eq(sample.has_carrier, NIC_NO);
    tree_net(&tree, "veth0", "operstate", "lowerlayerdown\n");
    ck_assert(after(HOT_STILL_MS));
    ck_assert_int_eq(sample.has_carrier, NIC_NO);
}
END_TEST

START_TEST(a_wrong_first_guess_is_put_right)
{
    /* It had lost its carrier just before, and operstate did not say so yet. */
    ck_assert(after(1));
    ck_assert_int_eq(sample.has_carrier, NIC_YES);
    tree_net(&tree, "veth0", "operstate", "down\n");
    for (int64_t ms = 0; ms <= HOT_STILL_MS; ms += HOT_SLOW_MS)
        ck_assert(after(HOT_SLOW_MS));
    ck_assert_int_eq(sample.has_carrier, NIC_NO);
}
END_TEST

START_TEST(down_is_not_believed_before_it_lasts)
{
    tree_net(&tree, "veth0", "operstate", "down\n");
    ck_assert(after(1));
    ck_assert_int_eq(sample.has_carrier, NIC_NOT_KNOWN);
    ck_assert(after(HOT_STILL_MS));
    ck_assert_int_eq(sample.has_carrier, NIC_NO);
}
END_TEST

START_TEST(a_message_with_both_counters_decides)
{
    struct nic_link link = {.ifindex = 9,
                            .is_admin_up = true,
                            .has_carrier = NIC_NO,
                            .has_counts = true,
                            .carrier_ups = 2,
                            .carrier_downs = 1};

    ck_assert(after(1));
    link.ifindex = 10;
    hot_learn(&hot, &link, now); /* of another */
    ck_assert(after(1));
    ck_assert_int_eq(sample.has_carrier, NIC_YES);
    link.ifindex = 9;
    link.carrier_ups = 1;
    hot_learn(&hot, &link, now); /* an old one */
    ck_assert(after(1));
    ck_assert_int_eq(sample.has_carrier, NIC_YES);
    link.carrier_ups = 2;
    hot_learn(&hot, &link, now);
    ck_assert(after(1));
    ck_assert_int_eq(sample.has_carrier, NIC_NO);
    ck_assert(after(10 * HOT_SLOW_MS)); /* and operstate nothing any more */
    ck_assert_int_eq(sample.has_carrier, NIC_NO);
}
END_TEST

START_TEST(nothing_is_known_of_the_carrier_of_one_that_is_off)
{
    tree_net(&tree, "veth0", "flags", "0x1002\n");
    tree_net(&tree, "veth0", "operstate", "down\n");
    ck_assert(after(1));
    ck_assert_int_eq(sample.is_admin_up, NIC_NO);
    ck_assert_int_eq(sample.has_carrier, NIC_NOT_KNOWN);
    tree_net(&tree, "veth0", "flags", "0x1003\n");
    tree_net(&tree, "veth0", "operstate", "up\n");
    ck_assert(after(HOT_SLOW_MS));
    ck_assert_int_eq(sample.is_admin_up, NIC_YES);
    ck_assert_int_eq(sample.has_carrier, NIC_YES);
}
END_TEST

START_TEST(admin_state_is_seen_within_its_period)
{
    ck_assert(after(1));
    tree_net(&tree, "veth0", "flags", "0x1002\n");
    ck_assert(after(HOT_FLAGS_MS));
    ck_assert_int_eq(sample.is_admin_up, NIC_NO);
}
END_TEST

START_TEST(every_queue_is_asked_in_turn)
{
    ck_assert(after(1));
    tree_net(&tree, "veth0", "queues/tx-1/tx_timeout", "2\n");
    ck_assert(after(HOT_QUEUE_MS));
    ck_assert(after(HOT_QUEUE_MS));
    ck_assert_uint_eq(sample.tx_timeouts, 2);
}
END_TEST

START_TEST(nonsense_is_not_seen)
{
    ck_assert(after(1));
    tree_net(&tree, "veth0", "carrier_down_count", "many\n");
    ck_assert(!after(1));
    ck_assert(!sample.is_seen);
}
END_TEST

/* What a round costs while all is well: one read of one file. The test counts the reads by making
 * every other file unreadable text, which would be noticed. */
START_TEST(a_quiet_round_reads_one_file)
{
    ck_assert(after(1));
    ck_assert(after(1)); /* what the first one had for nothing is due once more */
    counts("x\n", "1\n");
    tree_net(&tree, "veth0", "flags", "x\n");
    ck_assert(after(1));
    ck_assert_int_eq(sample.has_carrier, NIC_YES);
    ck_assert_int_eq(sample.is_admin_up, NIC_YES);
}
END_TEST

HF_TEST_MAIN_WITH("agents/nic/hot", open_tree, close_tree,
                  HF_CASE(an_interface_without_counters_is_not_there),
                  HF_CASE(a_first_round_tells_all), HF_CASE(a_fall_is_seen_in_the_next_round),
                  HF_CASE(operstate_that_lags_is_not_believed_over_the_counters),
                  HF_CASE(a_wrong_first_guess_is_put_right),
                  HF_CASE(down_is_not_believed_before_it_lasts),
                  HF_CASE(a_message_with_both_counters_decides),
                  HF_CASE(nothing_is_known_of_the_carrier_of_one_that_is_off),
                  HF_CASE(admin_state_is_seen_within_its_period),
                  HF_CASE(every_queue_is_asked_in_turn), HF_CASE(nonsense_is_not_seen),
                  HF_CASE(a_quiet_round_reads_one_file))
