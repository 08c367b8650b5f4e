/* The corosync.conf that is written, byte for byte, and what is refused before. */
#include "supervisord/config/corosync.h"
#include "tests/unit/check.h"

#include <string.h>

static const char cluster[] = "cluster {\n name: shfe-colo\n}\n"
                              "node n1 {\n id: 1\n}\nnode n2 {\n id: 2\n}\nnode n3 {\n id: 13\n}\n";

static struct hf_config config;
static struct corosync_plan plan;
static struct hf_err err;
static char text[COROSYNC_FILE_MAX], want[COROSYNC_FILE_MAX];

static void set_up(void)
{
    ck_assert_int_eq(config_parse("f", cluster, strlen(cluster), &config, &err), HF_OK);
    memset(&plan, 0, sizeof plan);
    plan.profile = corosync_profile_find("fast");
    plan.wait_for_all = true;
    plan.rings_count = 2;
}

static void must_read(unsigned ring, const char *list)
{
    ck_assert_msg(corosync_ring_read(&config, ring, list, &plan, &err) == HF_OK, "%s", err.text);
}

static void rings(void)
{
    must_read(0, "n1=10.0.0.1,n2=10.0.0.2,n3=10.0.0.3");
    must_read(1, "n3=fd00::3,n1=fd00::1,n2=node2-b.example");
}

static void must_be_file(const char *path)
{
    FILE *file = fopen(path, "re");
    size_t len;

    ck_assert_ptr_nonnull(file);
    len = fread(want, 1, sizeof want - 1, file);
    want[len] = '\0';
    (void)fclose(file);
    ck_assert_uint_eq(corosync_print(&config, &plan, text, sizeof text), strlen(text));
    ck_assert_str_eq(text, want);
}

START_TEST(the_fast_file_is_this)
{
    rings();
    must_be_file("tests/unit/supervisord/config/corosync-fast.conf");
}
END_TEST

START_TEST(the_safe_file_with_one_ring_is_this)
{
    must_read(0, "n1=10.0.0.1,n2=10.0.0.2,n3=10.0.0.3");
    plan.rings_count = 1;
    plan.profile = corosync_profile_find("safe");
    plan.wait_for_all = false;
    plan.key_file = "/root/key";
    must_be_file("tests/unit/supervisord/config/corosync-safe.conf");
}
END_TEST

START_TEST(a_short_buffer_gets_the_beginning_and_the_length)
{
    char small[64];
    size_t len;

    rings();
    len = corosync_print(&config, &plan, NULL, 0);
    ck_assert_uint_eq(len, corosync_print(&config, &plan, text, sizeof text));
    for (size_t cap = 1; cap <= sizeof small; cap++) {
        ck_assert_uint_eq(corosync_print(&config, &plan, small, cap), len);
        ck_assert_uint_eq(strlen(small), cap - 1);
        ck_assert_int_eq(strncmp(small, text, cap - 1), 0);
    }
}
END_TEST

/* What we write is what we ask for. */
START_TEST(a_written_file_has_no_deviation)
{
    static struct corosync_verdict verdict;
    struct corosync_state state;

    plan.profile = &corosync_profiles[_i];
    rings();
    memset(&state, 0, sizeof state);
    ck_assert_uint_lt(corosync_print(&config, &plan, text, sizeof text), sizeof text);
    ck_assert_msg(corosync_read(&state, "c", text, strlen(text), &err) == HF_OK, "%s", err.text);
    corosync_judge(&state, &config, NULL, &verdict);
    ck_assert_msg(verdict.found.count == 0, "%s: %s", verdict.found.finding[0].key,
                  verdict.found.finding[0].text);
    ck_assert_ptr_eq(verdict.profile, plan.profile);
}
END_TEST

START_TEST(bad_addresses_are_refused)
{
    static const struct {
        const char *list, *why;
    } cases[] = {
        {"", "ring1: no address for node 'n1'"},
        {"n1=10.0.0.1,n2=10.0.0.2", "ring1: no address for node 'n3'"},
        {"n1", "ring1: 'n1' is not NODE=ADDRESS"},
        {"n1=", "ring1: '' of node 'n1' is not an address"},
        {"n1=10.0.0.1 ", "ring1: '10.0.0.1 ' of node 'n1' is not an address"},
        {"n1=a}\n", "ring1: 'a}\n' of node 'n1' is not an address"},
        {"n1=../x", "ring1: '../x' of node 'n1' is not an address"},
        {"n1=-x", "ring1: '-x' of node 'n1' is not an address"},
        {"n4=10.0.0.4", "ring1: the cluster file has no node 'n4'"},
        {"n1=10.0.0.1,n1=10.0.0.2", "ring1: node 'n1' is given twice"},
        {"n1=10.0.0.1,n2=10.0.0.1", "ring1: 10.0.0.1 of node 'n2' is already ring1 of 'n1'"},
        {"n1=10.9.0.2,n2=10.0.0.1", "ring1: 10.9.0.2 of node 'n1' is already ring0 of 'n2'"},
    };

    must_read(0, "n1=10.9.0.1,n2=10.9.0.2,n3=10.9.0.3");
    ck_assert_int_eq(corosync_ring_read(&config, 1, cases[_i].list, &plan, &err), HF_EINVAL);
    ck_assert_str_eq(err.text, cases[_i].why);
}
END_TEST

START_TEST(an_item_without_end_is_refused)
{
    char list[4096];

    memset(list, 'x', sizeof list);
    list[sizeof list - 1] = '\0';
    ck_assert_int_eq(corosync_ring_read(&config, 0, list, &plan, &err), HF_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "is too long"));
}
END_TEST

START_TEST(consensus_is_corosyncs_own_where_a_profile_gives_none)
{
    ck_assert_uint_eq(corosync_consensus_ms(corosync_profile_find("safe")), 2400);
    ck_assert_ptr_null(corosync_profile_find("faster"));
}
END_TEST

/* token 1000 + consensus 1200 pass without a delivery; three beats are around them. */
START_TEST(a_lease_outlives_the_loss_of_another_node)
{
    ck_assert_uint_eq(corosync_lease_ms(1000, 1200, 500), 3700);
    ck_assert_uint_eq(corosync_lease_ms(2000, 2400, 500), 5900);
}
END_TEST

HF_TEST_MAIN_WITH("config/corosync", set_up, NULL, HF_CASE(the_fast_file_is_this),
                  HF_CASE(the_safe_file_with_one_ring_is_this),
                  HF_CASE(a_short_buffer_gets_the_beginning_and_the_length),
                  HF_LOOP(a_written_file_has_no_deviation, 0, 2),
                  HF_LOOP(bad_addresses_are_refused, 0, 12),
                  HF_CASE(an_item_without_end_is_refused),
                  HF_CASE(consensus_is_corosyncs_own_where_a_profile_gives_none),
                  HF_CASE(a_lease_outlives_the_loss_of_another_node))
