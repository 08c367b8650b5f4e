/* What the facts of a corosync mean, sentence by sentence: people read them. */
#include "supervisord/cluster/link_judge.h"
#include "tests/unit/check.h"

#include <string.h>

static struct hf_group group;
static struct link_facts facts;
static struct link_watch watch;
static struct link_note notes[LINK_NOTES_MAX];
static unsigned count;

static void set_up(void)
{
    memset(&group, 0, sizeof group);
    group.nodes_count = 3;
    for (unsigned i = 0; i < 3; i++) {
        (void)snprintf(group.nodes[i].name, sizeof group.nodes[i].name, "n%u", i + 1);
        group.nodes[i].nodeid = 11 + i;
    }
    facts = (struct link_facts){.nodeid = 11,
                                .token_ms = 1000,
                                .consensus_ms = 1200,
                                .expected_votes = 3,
                                .node_votes = 1,
                                .total_votes = 3,
                                .quorate = LINK_YES,
                                .wait_for_all = LINK_YES,
                                .is_waiting = LINK_NO,
                                .paths_count = 2,
                                .paths = {{12, 3, 3}, {13, 3, 3}},
                                .version = "3.1.7",
                                .cipher = "aes256",
                                .hash = "sha256"};
    memset(&watch, 0, sizeof watch);
    count = 0;
}

static hf_time at_ms(int64_t ms)
{
    return (hf_time){(1000 + ms) * HF_NS_PER_MS};
}

static void take(int64_t ms)
{
    count = link_watch_take(&watch, &facts, at_ms(ms), &group, notes);
}

static void look(int64_t ms)
{
    count = link_watch_needs(&watch, at_ms(ms), &group, notes);
}

/* ---- fit ---- */

START_TEST(a_good_corosync_is_fit)
{
    ck_assert_ptr_null(link_unfit(&facts, 11, &group));
    facts.nodeid = 0; /* not told yet */
    ck_assert_ptr_null(link_unfit(&facts, 11, &group));
}
END_TEST

static void must_be_unfit(const char *part)
{
    const char *why = link_unfit(&facts, 11, &group);

    ck_assert_ptr_nonnull(why);
    ck_assert_msg(strstr(why, part) != NULL, "%s", why);
}

START_TEST(every_reason_makes_it_unfit)
{
    facts.nodeid = 12;
    must_be_unfit("own node id");
    set_up();
    facts.version[0] = '\0';
    must_be_unfit("version is not known");
    set_up();
    strcpy(facts.version, "3.1.5");
    must_be_unfit("older than 3.1.6");
    set_up();
    strcpy(facts.cipher, "none");
    must_be_unfit("not encrypted");
    set_up();
    facts.hash[0] = '\0';
    must_be_unfit("not encrypted");
    set_up();
    facts.expected_votes = 2;
    must_be_unfit("another number of votes");
    set_up();
    facts.node_votes = 2;
    must_be_unfit("quorum_votes");
}
END_TEST

/* ---- news ---- */

START_TEST(the_first_facts_are_no_news)
{
    facts.paths[0].connected = 1;
    facts.pauses = (struct link_pauses){1, 900, 900, 77};
    facts.quorate = LINK_NO;
    take(0);
    ck_assert_uint_eq(count, 0);
    take(5000);
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(a_lost_link_is_news_once_and_its_return_too)
{
    take(0);
    facts.paths[1].connected = 1;
    take(5000);
    ck_assert_uint_eq(count, 1);
    ck_assert(notes[0].is_bad);
    ck_assert(!notes[0].is_error);
    ck_assert_str_eq(notes[0].text, "network link 1 to n3 lost, the other one carries on");
    take(10000);
    ck_assert_uint_eq(count, 0);
    facts.paths[1].connected = 3;
    take(15000);
    ck_assert_uint_eq(count, 1);
    ck_assert(!notes[0].is_bad);
    ck_assert_str_eq(notes[0].text, "network link 1 to n3 is back");
}
END_TEST

START_TEST(both_links_of_a_stranger_may_be_lost)
{
    facts.paths[0].nodeid = 99;
    take(0);
    facts.paths[0].connected = 0;
    take(5000);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(notes[0].text, "network link 0 and 1 to node id 99 lost: none is left");
}
END_TEST

START_TEST(changed_votes_are_an_error_until_they_are_right_again)
{
    take(0);
    facts.expected_votes = 2;
    take(5000);
    ck_assert_uint_eq(count, 1);
    ck_assert(notes[0].is_error);
    ck_assert_str_eq(notes[0].text,
                     "expected votes changed from 3 to 2, and the cluster file has 3 nodes");
    facts.expected_votes = 3;
    take(10000);
    ck_assert_uint_eq(count, 1);
    ck_assert(!notes[0].is_bad);
}
END_TEST

START_TEST(a_silent_corosync_changes_nothing)
{
    take(0);
    memset(&facts, 0, sizeof facts);
    take(5000);
    ck_assert_uint_eq(count, 0);
    look(5000);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(notes[0].text,
                     "corosync's settings are not known: it does not answer, or hangs");
    facts = watch.known;
    facts.expected_votes = 1; /* lowered while it was silent */
    take(10000);
    ck_assert_uint_eq(count, 1);
    ck_assert(notes[0].is_error);
}
END_TEST

START_TEST(the_end_of_waiting_for_all_is_told)
{
    facts.is_waiting = LINK_YES;
    facts.quorate = LINK_NO;
    take(0);
    look(0);
    ck_assert_uint_eq(count, 1);
    ck_assert(notes[0].is_error);
    ck_assert_str_eq(notes[0].text,
                     "corosync waits for all nodes (wait_for_all): switch the missing ones on, or "
                     "cancel it: corosync-cmapctl -s quorum.cancel_wait_for_all u8 1");
    facts.is_waiting = LINK_NO;
    facts.quorate = LINK_YES;
    take(5000);
    ck_assert_uint_eq(count, 1);
    ck_assert(!notes[0].is_bad);
    look(5000);
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(a_lost_quorum_is_told_with_its_votes)
{
    take(0);
    facts.quorate = LINK_NO;
    facts.total_votes = 1;
    take(5000);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(notes[0].text, "votequorum is not quorate any more: 1 of 3 votes are there");
}
END_TEST

/* ---- pauses ---- */

START_TEST(a_grave_pause_is_told_once_and_shown_for_an_hour)
{
    take(0);
    facts.pauses = (struct link_pauses){1, 900, 900, 77};
    take(5000);
    ck_assert_uint_eq(count, 1);
    ck_assert(notes[0].is_bad);
    ck_assert_str_eq(notes[0].text, "corosync did not get to run for 900 ms, its token is 1000 ms: "
                                    "a longer pause makes the others lose this node");
    take(10000);
    ck_assert_uint_eq(count, 0);
    look(10000);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(notes[0].text, "corosync was kept from running for 900 ms, its token is 1000 "
                                    "ms: this node may be lost falsely");
    look(5000 + LINK_PAUSE_RECENT_MS);
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(a_short_pause_is_not_worth_a_word)
{
    take(0);
    facts.pauses = (struct link_pauses){1, 799, 799, 77};
    take(5000);
    ck_assert_uint_eq(count, 0);
    facts.pauses = (struct link_pauses){2, 800, 800, 78};
    take(10000);
    ck_assert_uint_eq(count, 1);
}
END_TEST

/* ---- needs ---- */

START_TEST(a_link_that_is_down_needs_somebody_a_dead_node_does_not)
{
    facts.paths[0].connected = 2;
    facts.paths[1].connected = 0;
    take(0);
    look(0);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(notes[0].text, "network link 0 to n2 is down: one more failure cuts it off");
}
END_TEST

START_TEST(one_link_only_is_shown_once)
{
    facts.paths[0] = (struct link_path){12, 1, 1};
    facts.paths[1] = (struct link_path){13, 1, 1};
    take(0);
    look(0);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(notes[0].text,
                     "one network link only: a single cable, port or switch cuts a node off");
}
END_TEST

START_TEST(the_worst_of_everything_has_room)
{
    take(0);
    facts.paths_count = LINK_PATHS_MAX;
    for (unsigned i = 0; i < LINK_PATHS_MAX; i++)
        facts.paths[i] = (struct link_path){100 + i, 255, 0x55};
    take(5000);
    facts.expected_votes = 1;
    facts.quorate = LINK_NO;
    facts.pauses = (struct link_pauses){10, 5000, 5000, 99};
    for (unsigned i = 0; i < LINK_PATHS_MAX; i++)
        facts.paths[i].connected = 0xaa;
    take(10000);
    ck_assert_uint_eq(count, 2 * LINK_PATHS_MAX + 3);
    for (unsigned i = 0; i < count; i++)
        ck_assert_uint_lt(strlen(notes[i].text), LINK_NOTE_MAX);
    facts.is_waiting = LINK_YES;
    take(15000);
    look(15000);
    ck_assert_uint_eq(count, LINK_PATHS_MAX + 2);
}
END_TEST

HF_TEST_MAIN_WITH("cluster/link_judge", set_up, NULL, HF_CASE(a_good_corosync_is_fit),
                  HF_CASE(every_reason_makes_it_unfit), HF_CASE(the_first_facts_are_no_news),
                  HF_CASE(a_lost_link_is_news_once_and_its_return_too),
                  HF_CASE(both_links_of_a_stranger_may_be_lost),
                  HF_CASE(changed_votes_are_an_error_until_they_are_right_again),
                  HF_CASE(a_silent_corosync_changes_nothing),
                  HF_CASE(the_end_of_waiting_for_all_is_told),
                  HF_CASE(a_lost_quorum_is_told_with_its_votes),
                  HF_CASE(a_grave_pause_is_told_once_and_shown_for_an_hour),
                  HF_CASE(a_short_pause_is_not_worth_a_word),
                  HF_CASE(a_link_that_is_down_needs_somebody_a_dead_node_does_not),
                  HF_CASE(one_link_only_is_shown_once), HF_CASE(the_worst_of_everything_has_room))
