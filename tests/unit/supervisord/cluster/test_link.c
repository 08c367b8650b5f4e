/* The daemon's side with children of every kind, and the real link with a real corosync in name
 * spaces of their own; that part is skipped, and says so, without root or corosync. */
#include "supervisord/base/clock.h"
#include "supervisord/cluster/link.h"
#include "supervisord/wire/group.h"
#include "tests/unit/supervisord/a_corosync.h"

#include <poll.h>

struct seen {
    unsigned members, delivered, facts, apart;
    struct link_frame last_members;
    struct link_facts last_facts;
    uint8_t last_bytes[64];
    size_t last_len;
    uint32_t from_nodeid, from_pid;
    char why[200];
};

static struct link l;
static struct seen seen;

static void on_members(void *user, const struct link_frame *f)
{
    struct seen *s = user;

    s->members++;
    s->last_members = *f;
}

static void on_deliver(void *user, uint32_t nodeid, uint32_t pid, const uint8_t *bytes, size_t len)
{
    struct seen *s = user;

    s->delivered++;
    s->from_nodeid = nodeid;
    s->from_pid = pid;
    s->last_len = len;
    memcpy(s->last_bytes, bytes, len < sizeof s->last_bytes ? len : sizeof s->last_bytes);
}

static void on_facts(void *user, const struct link_facts *facts)
{
    struct seen *s = user;

    s->facts++;
    s->last_facts = *facts;
}

static void on_apart(void *user, const char *why)
{
    struct seen *s = user;

    s->apart++;
    snprintf(s->why, sizeof s->why, "%s", why);
}

static const struct link_ports ports = {&seen, on_members, on_deliver, on_facts, on_apart};

static void open_link(const char *path)
{
    struct hf_err err;

    memset(&seen, 0, sizeof seen);
    ck_assert_int_eq(link_init(&l, path, "colo", &ports, hf_clock_now(), &err), HF_OK);
}

/* The loop of an owner, until `*count` reaches `want` or ten seconds have passed. */
static bool wait_for(const unsigned *count, unsigned want)
{
    hf_time end = hf_time_add_ms(hf_clock_now(), 10000);

    while (*count < want && !hf_time_reached(hf_clock_now(), end)) {
        struct pollfd p = {.fd = link_fd(&l), .events = POLLIN};
        hf_time due = link_deadline(&l);
        int64_t ms = due.ns == INT64_MAX ? 100 : hf_time_since_ms(due, hf_clock_now()) + 1;

        if (link_wants_write(&l))
            p.events |= POLLOUT;
        (void)poll(&p, 1, (int)(ms < 0 ? 0 : ms > 100 ? 100 : ms));
        link_run(&l, hf_clock_now());
    }
    return *count >= want;
}

START_TEST(a_program_that_is_not_there_is_tried_again_ever_more_slowly)
{
    open_link("/nonexistent/holdfast-link");
    ck_assert(wait_for(&seen.apart, 3));
    ck_assert_ptr_nonnull(strstr(seen.why, "No such file"));
    ck_assert_int_eq(link_fd(&l), -1);
    ck_assert_int_ge(hf_time_since_ms(link_deadline(&l), hf_clock_now()), 200);
    link_close(&l);
}
END_TEST

START_TEST(a_child_that_ends_is_apart_and_started_again)
{
    open_link("/bin/false");
    ck_assert(wait_for(&seen.apart, 3));
    ck_assert_uint_ge(l.spawned, 3);
    ck_assert_ptr_nonnull(strstr(seen.why, "ended"));
    link_close(&l);
}
END_TEST

START_TEST(the_back_off_never_exceeds_its_limit)
{
    open_link("/nonexistent/holdfast-link");
    for (unsigned k = 0; k < 30; k++) {
        hf_time now = link_deadline(&l);

        link_run(&l, now);
        ck_assert_int_le(hf_time_since_ms(link_deadline(&l), now), LINK_BACKOFF_MAX_MS);
    }
    link_close(&l);
}
END_TEST

/* A child that neither speaks nor ends. */
static char silent_path[] = "/tmp/hf-silent-XXXXXX";

static void open_silent(void)
{
    static const char text[] = "#!/bin/sh\nexec sleep 60\n";
    int fd = mkstemp(silent_path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, sizeof text - 1), (ssize_t)sizeof text - 1);
    ck_assert_int_eq(fchmod(fd, 0700), 0);
    close(fd);
    open_link(silent_path);
}

START_TEST(a_child_that_says_nothing_is_abandoned)
{
    hf_time now;

    open_silent();
    now = hf_clock_now();
    link_run(&l, now);
    ck_assert_int_ge(link_fd(&l), 0);
    ck_assert_int_eq(link_deadline(&l).ns, hf_time_add_ms(now, LINK_JOIN_WAIT_MS).ns);
    link_run(&l, hf_time_add_ms(now, LINK_JOIN_WAIT_MS));
    ck_assert_int_eq(link_fd(&l), -1);
    ck_assert_uint_eq(l.killed, 1);
    link_close(&l);
    unlink(silent_path);
}
END_TEST

START_TEST(multicasts_without_a_child_or_beyond_the_queue_are_counted_not_kept)
{
    static const uint8_t large[HF_GROUP_MESSAGE_MAX];

    open_silent();
    link_mcast(&l, "x", 1, hf_clock_now());
    ck_assert_uint_eq(l.dropped, 1);
    link_run(&l, hf_clock_now());
    /* A child that does not read: its socket fills, then the queue, then no more is kept. */
    for (unsigned k = 0; k < 2000 && l.dropped == 1; k++)
        link_mcast(&l, large, sizeof large, hf_clock_now());
    ck_assert_uint_eq(l.dropped, 2);
    ck_assert_uint_eq(l.queue_count, LINK_QUEUE_MAX);
    ck_assert(link_wants_write(&l));
    link_close(&l);
    unlink(silent_path);
}
END_TEST

/* ---- with corosync ---- */

static const char config[] =
    "totem {\n    version: 2\n    cluster_name: unit\n    transport: knet\n"
    "    token: 1000\n    crypto_cipher: aes256\n    crypto_hash: sha256\n"
    "    keyfile: /run/corosync.key\n}\n"
    "nodelist {\n    node {\n        ring0_addr: 127.0.0.1\n"
    "        name: n1\n        nodeid: 7\n    }\n}\n"
    "quorum {\n    provider: corosync_votequorum\n}\n"
    "system {\n    state_dir: /run\n}\n"
    "logging {\n    to_stderr: no\n    to_syslog: no\n}\n";

static pid_t start_corosync(void)
{
    put_file("/run/corosync.conf", config, sizeof config - 1, 0600);
    return start_corosync_with("/run/corosync.conf");
}

static size_t sealed_message(uint64_t number, uint8_t bytes[200])
{
    struct group_header h = {.type = GROUP_SIDE, .number = number};
    struct hf_writer w = hf_writer_on(bytes, 200);

    group_put_header(&w, &h);
    hf_put_bytes(&w, "hello", 5);
    group_seal(bytes, w.len);
    return w.len;
}

static bool skipped(char path[512])
{
    if (!built_program("holdfast-link", path)) {
        fprintf(stderr, "SKIPPED, NOT TESTED: link with corosync (holdfast-link is not built)\n");
        return true;
    }
    return has_no_corosync("link with corosync");
}

START_TEST(the_real_link_joins_tells_and_delivers)
{
    char path[512];
    uint8_t bytes[200];
    size_t len;
    pid_t corosync;
    unsigned apart;

    if (skipped(path))
        return;
    open_link(path);
    ck_assert_msg(wait_for(&seen.apart, 1), "no corosync, and nobody said so");
    ck_assert_ptr_nonnull(strstr(seen.why, "corosync: connect"));
    corosync = start_corosync();
    ck_assert_msg(wait_for(&seen.members, 1), "not joined: %s", seen.why);
    ck_assert_uint_eq(seen.last_members.peers_count, 1);
    ck_assert_uint_eq(seen.last_members.peers[0].nodeid, 7);
    ck_assert_uint_eq(seen.last_members.peers[0].pid, (uint32_t)l.pid);
    ck_assert_uint_eq(seen.last_members.ring_count, 1);
    ck_assert_uint_eq(seen.last_members.ring[0], 7);
    ck_assert_uint_eq(seen.last_members.view.leader, 7);
    ck_assert_uint_ne(seen.last_members.view.seq, 0);

    for (uint64_t k = 1; k <= 100; k++) {
        len = sealed_message(k, bytes);
        link_mcast(&l, bytes, len, hf_clock_now());
        if (k % 30 == 0)
            ck_assert(wait_for(&seen.delivered, (unsigned)k));
    }
    ck_assert(wait_for(&seen.delivered, 100));
    ck_assert_uint_eq(seen.from_nodeid, 7);
    ck_assert_uint_eq(seen.last_len, len);
    ck_assert_mem_eq(seen.last_bytes, bytes, 64);
    ck_assert_uint_eq(l.outstanding, 0);

    ck_assert(wait_for(&seen.facts, 2));
    ck_assert_uint_eq(seen.last_facts.nodeid, 7);
    ck_assert_uint_eq(seen.last_facts.token_ms, 1000);
    ck_assert_uint_eq(seen.last_facts.expected_votes, 1);
    ck_assert_uint_eq(seen.last_facts.node_votes, 1);
    ck_assert_uint_eq(seen.last_facts.total_votes, 1);
    ck_assert_int_eq((int)seen.last_facts.wait_for_all, LINK_NO);
    ck_assert_int_eq((int)seen.last_facts.is_waiting, LINK_NO);
    ck_assert_uint_eq(seen.last_facts.paths_count, 0);
    ck_assert_uint_eq(seen.last_facts.pauses.count, 0);
    ck_assert_int_eq((int)seen.last_facts.quorate, LINK_YES);
    ck_assert_str_eq(seen.last_facts.cipher, "aes256");
    ck_assert_str_eq(seen.last_facts.hash, "sha256");
    ck_assert_msg(strncmp(seen.last_facts.version, "3.", 2) == 0, "%s", seen.last_facts.version);

    apart = seen.apart;
    kill_corosync(corosync);
    ck_assert(wait_for(&seen.apart, apart + 1));
    ck_assert_ptr_nonnull(strstr(seen.why, "corosync: "));
    seen.members = 0;
    corosync = start_corosync();
    ck_assert_msg(wait_for(&seen.members, 1), "did not come back: %s", seen.why);
    kill_corosync(corosync);
    link_close(&l);
}
END_TEST

START_TEST(a_stopped_corosync_makes_the_link_hang_and_be_abandoned_never_us)
{
    char path[512];
    uint8_t bytes[200];
    pid_t corosync;
    hf_time now;

    if (skipped(path))
        return;
    open_link(path);
    corosync = start_corosync();
    ck_assert_msg(wait_for(&seen.members, 1), "not joined: %s", seen.why);
    ck_assert_int_eq(kill(corosync, SIGSTOP), 0);
    for (uint64_t k = 1; k <= HF_IN_FLIGHT_MAX; k++)
        link_mcast(&l, bytes, sealed_message(k, bytes), hf_clock_now());
    seen.apart = 0;
    now = hf_clock_now();
    link_run(&l, now);
    ck_assert_int_lt(hf_time_since_ms(hf_clock_now(), now), 1000);
    link_run(&l, hf_time_add_ms(now, LINK_STALL_MS + 1000));
    ck_assert_uint_eq(seen.apart, 1);
    ck_assert_int_eq(link_fd(&l), -1);
    seen.members = 0;
    l.retry_at = hf_clock_now(); /* the stall above was told, not waited for */
    ck_assert_int_eq(kill(corosync, SIGCONT), 0);
    ck_assert_msg(wait_for(&seen.members, 1), "did not come back: %s", seen.why);
    kill_corosync(corosync);
    link_close(&l);
}
END_TEST

/* A second node that is never there, on two links, and wait_for_all. */
static const char pair_config[] =
    "totem {\n    version: 2\n    cluster_name: unit\n    transport: knet\n"
    "    token: 500\n    secauth: on\n    keyfile: " A_COROSYNC_KEY "\n}\n"
    "nodelist {\n"
    "    node {\n        ring0_addr: 127.0.0.1\n        ring1_addr: 127.0.1.1\n"
    "        name: n1\n        nodeid: 7\n    }\n"
    "    node {\n        ring0_addr: 127.0.0.2\n        ring1_addr: 127.0.1.2\n"
    "        name: n2\n        nodeid: 9\n    }\n}\n"
    "quorum {\n    provider: corosync_votequorum\n    wait_for_all: 1\n}\n"
    "system {\n    state_dir: /run\n}\n"
    "logging {\n    to_stderr: no\n    to_syslog: no\n}\n";

static bool wait_for_a_pause(void)
{
    hf_time end = hf_time_add_ms(hf_clock_now(), 12000);

    while (seen.last_facts.pauses.count == 0 && !hf_time_reached(hf_clock_now(), end))
        (void)wait_for(&seen.facts, seen.facts + 1);
    return seen.last_facts.pauses.count > 0;
}

START_TEST(links_waiting_and_pauses_are_facts)
{
    const struct link_facts *facts = &seen.last_facts;
    char path[512];
    pid_t corosync;

    if (skipped(path))
        return;
    put_file("/run/corosync.conf", pair_config, sizeof pair_config - 1, 0600);
    corosync = start_corosync_with("/run/corosync.conf");
    open_link(path);
    ck_assert_msg(wait_for(&seen.members, 1), "not joined: %s", seen.why);
    ck_assert(wait_for(&seen.facts, 2));
    ck_assert_uint_eq(facts->token_ms, 500);
    ck_assert_str_eq(facts->cipher, "aes256");
    ck_assert_str_eq(facts->hash, "sha256");
    ck_assert_uint_eq(facts->expected_votes, 2);
    ck_assert_int_eq((int)facts->quorate, LINK_NO);
    ck_assert_int_eq((int)facts->wait_for_all, LINK_YES);
    ck_assert_int_eq((int)facts->is_waiting, LINK_YES);
    ck_assert_uint_eq(facts->paths_count, 1);
    ck_assert_uint_eq(facts->paths[0].nodeid, 9);
    ck_assert_uint_eq(facts->paths[0].enabled, 3);
    ck_assert_uint_eq(facts->paths[0].connected, 0);
    ck_assert_uint_eq(facts->pauses.count, 0);

    ck_assert_int_eq(kill(corosync, SIGSTOP), 0);
    (void)poll(NULL, 0, 900); /* the pause itself: nothing to wait for */
    ck_assert_int_eq(kill(corosync, SIGCONT), 0);
    ck_assert(wait_for_a_pause());
    ck_assert_uint_ge(facts->pauses.last_ms, 400);
    ck_assert_uint_ge(facts->pauses.worst_ms, facts->pauses.last_ms);
    ck_assert_uint_ne(facts->pauses.last_at, 0);
    kill_corosync(corosync);
    link_close(&l);
}
END_TEST

HF_TEST_MAIN("cluster/link", HF_CASE(a_program_that_is_not_there_is_tried_again_ever_more_slowly),
             HF_CASE(a_child_that_ends_is_apart_and_started_again),
             HF_CASE(the_back_off_never_exceeds_its_limit),
             HF_CASE(a_child_that_says_nothing_is_abandoned),
             HF_CASE(multicasts_without_a_child_or_beyond_the_queue_are_counted_not_kept),
             HF_CASE(the_real_link_joins_tells_and_delivers),
             HF_CASE(a_stopped_corosync_makes_the_link_hang_and_be_abandoned_never_us),
             HF_CASE(links_waiting_and_pauses_are_facts))
