#include "tests/unit/supervisord/ctl/fake_daemon.h"

#include "supervisord/ctl/role.h"

#include <fcntl.h>
#include <sys/mman.h>

enum { VIEWER = CTL_MEMBER_VIEWER, OPERATOR = CTL_MEMBER_OPERATOR, ADMIN = CTL_MEMBER_ADMIN };

/* A client of the server: the other end of a socketpair, as door_accept would have admitted it. */
static int join_as(uid_t uid, uint8_t member)
{
    struct door_peer peer = {.pid = getpid(), .uid = uid, .gid = 100, .member = member};
    int fds[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    ctl_server_adopt(f.server, fds[1], &peer, f.when.boot);
    return fds[0];
}

static int join(void)
{
    return join_as(1000, VIEWER | ADMIN);
}

static void say_bytes(int fd, const void *bytes, size_t len, int ride)
{
    struct hf_err err;

    ck_assert_int_eq(door_send(fd, bytes, len, ride, &err), HF_OK);
}

static void say(int fd, const struct hf_ctl_request *request, int ride)
{
    uint8_t bytes[HF_CTL_REQUEST_MAX];

    say_bytes(fd, bytes, ctl_encode(request, bytes), ride);
}

static void say_verb(int fd, enum hf_ctl_verb verb)
{
    struct hf_ctl_request request;

    memset(&request, 0, sizeof request);
    request.verb = verb;
    say(fd, &request, -1);
}

static uint8_t record[HF_FRAME_MAX + 1];

/* One record within some turns of the loop; its length, -1: closed, -2: nothing. */
static ssize_t hear_record(int fd)
{
    for (unsigned i = 0; i < 50; i++) {
        ssize_t len = recv(fd, record, sizeof record - 1, MSG_DONTWAIT);

        if (len > 0) {
            record[len] = '\0';
            return len;
        }
        if (len == 0)
            return -1;
        fake_turn(0);
    }
    return -2;
}

static char *whole; /* the last answer */

static enum hf_ctl_status hear(int fd)
{
    size_t at = 0;

    free(whole);
    whole = (char *)calloc(1, 4 << 20);
    do {
        ssize_t len = hear_record(fd);

        ck_assert_int_ge(len, HF_CTL_HEADER);
        ck_assert_uint_eq(record[0], HF_CTL_VERSION);
        memcpy(whole + at, record + HF_CTL_HEADER, (size_t)len - HF_CTL_HEADER);
        at += (size_t)len - HF_CTL_HEADER;
    } while (record[2] != 0);
    return (enum hf_ctl_status)record[1];
}

static bool heard(const char *text)
{
    return strstr(whole, text) != NULL;
}

static struct hf_ctl_request order_of(enum hf_order_type type, const char *vm, const char *node)
{
    struct hf_ctl_request request;

    memset(&request, 0, sizeof request);
    request.verb = HF_CTL_ORDER;
    request.order.type = type;
    if (type == HF_ORDER_VM_ADD) { /* without these it is no order */
        strcpy(request.order.def.name, "trade1");
        request.order.def.memory_mib = 1024;
    }
    (void)hf_str_copy(request.vm, sizeof request.vm, vm);
    (void)hf_str_copy(request.node, sizeof request.node, node);
    return request;
}

static enum hf_ctl_status ask_order(int fd, enum hf_order_type type, const char *vm,
                                    const char *node)
{
    struct hf_ctl_request request = order_of(type, vm, node);

    say(fd, &request, -1);
    return hear(fd);
}

static void set_up(void)
{
    fake_open(-1);
    fake_group_up();
}

static void tear_down(void)
{
    free(whole);
    whole = NULL;
    fake_close();
}

/* ---- looking ---- */

START_TEST(status_is_one_document)
{
    int fd = join();

    say_verb(fd, HF_CTL_STATUS);
    ck_assert_int_eq(hear(fd), HF_CTL_OK);
    ck_assert_int_eq(whole[0], '{');
    ck_assert(heard("\"quorate\":true"));
    ck_assert(heard("\"name\":\"n3\""));
    ck_assert(heard("\"needs\":[]"));
    close(fd);
}
END_TEST

START_TEST(a_large_answer_comes_in_records_below_the_frame_limit)
{
    int fd = join();

    for (unsigned i = 0; i < 200; i++) {
        char name[HF_NAME_MAX + 1];

        (void)snprintf(name, sizeof name, "vm-with-a-rather-long-name-for-its-kind-%u", i);
        fake_add_vm(name, false);
    }
    say_verb(fd, HF_CTL_STATUS);
    ck_assert_int_eq(hear(fd), HF_CTL_OK);
    ck_assert_uint_gt(strlen(whole), HF_FRAME_MAX);
    ck_assert(heard("kind-199"));
    close(fd);
}
END_TEST

START_TEST(why_knows_nodes_and_vms_and_nothing_else)
{
    struct hf_ctl_request request;
    int fd = join();

    fake_add_vm("trade1", false);
    memset(&request, 0, sizeof request);
    request.verb = HF_CTL_WHY;
    strcpy(request.vm, "trade1");
    strcpy(request.node, "trade1");
    say(fd, &request, -1);
    ck_assert_int_eq(hear(fd), HF_CTL_OK);
    ck_assert(heard("\"placement\""));
    strcpy(request.vm, "n2");
    strcpy(request.node, "n2");
    say(fd, &request, -1);
    ck_assert_int_eq(hear(fd), HF_CTL_OK);
    ck_assert(heard("\"subject\":\"node\""));
    strcpy(request.vm, "n9");
    strcpy(request.node, "n9");
    say(fd, &request, -1);
    ck_assert_int_eq(hear(fd), HF_CTL_REFUSED);
    close(fd);
}
END_TEST

START_TEST(config_gives_the_running_text)
{
    int fd = join();

    say_verb(fd, HF_CTL_CONFIG);
    ck_assert_int_eq(hear(fd), HF_CTL_OK);
    ck_assert(heard("\"text\":\"group colo {\\n}\\n\""));
    f.shell.running_text = NULL;
    say_verb(fd, HF_CTL_CONFIG);
    ck_assert_int_eq(hear(fd), HF_CTL_NOT_QUORATE);
    close(fd);
}
END_TEST

/* ---- events ---- */

static void ask_events(int fd, uint64_t after, bool follow)
{
    struct hf_ctl_request request;

    memset(&request, 0, sizeof request);
    request.verb = HF_CTL_EVENTS;
    request.after = after;
    request.follow = follow;
    say(fd, &request, -1);
}

START_TEST(events_end_with_an_empty_record)
{
    uint64_t newest = history_newest(f.history);
    int fd = join();

    ask_events(fd, newest - 2, false);
    ck_assert_int_gt(hear_record(fd), HF_CTL_HEADER);
    ck_assert_ptr_nonnull(strstr((char *)record + HF_CTL_HEADER, "\"life\":77"));
    ck_assert_int_gt(hear_record(fd), HF_CTL_HEADER);
    ck_assert_int_gt(hear_record(fd), HF_CTL_HEADER);
    ck_assert_ptr_nonnull(strstr((char *)record + HF_CTL_HEADER, "\"seq\":"));
    ck_assert_uint_eq(record[2], 1);
    ck_assert_int_eq(hear_record(fd), HF_CTL_HEADER);
    ck_assert_uint_eq(record[2], 0);
    close(fd);
}
END_TEST

START_TEST(a_follower_gets_what_comes_and_nothing_twice)
{
    char want[32];
    int fd = join();

    ask_events(fd, INT64_MAX, true);
    ck_assert_int_gt(hear_record(fd), HF_CTL_HEADER);
    ck_assert_int_eq(hear_record(fd), -2);
    for (unsigned i = 0; i < 3; i++) {
        history_note(f.history, f.engine, "n1", "a word", &f.when);
        (void)snprintf(want, sizeof want, "{\"seq\":%llu,",
                       (unsigned long long)history_newest(f.history));
        ck_assert_int_gt(hear_record(fd), HF_CTL_HEADER);
        ck_assert_int_eq(strncmp((char *)record + HF_CTL_HEADER, want, strlen(want)), 0);
        ck_assert_int_eq(hear_record(fd), -2);
    }
    close(fd);
}
END_TEST

START_TEST(a_follower_that_is_overtaken_is_told_what_it_missed)
{
    unsigned seen = 0, missed = 0;
    uint64_t first = history_newest(f.history);
    int fd = join();

    ask_events(fd, INT64_MAX, true);
    ck_assert_int_gt(hear_record(fd), HF_CTL_HEADER);
    for (unsigned i = 0; i < HISTORY_RECORDS_MAX + 100; i++)
        history_note(f.history, f.engine, "n1", "a word", &f.when);
    while (hear_record(fd) > 0) {
        const char *text = (char *)record + HF_CTL_HEADER;

        if (sscanf(text, "{\"missed\":%u", &missed) != 1)
            seen++;
    }
    ck_assert_uint_eq(missed, 100);
    ck_assert_uint_eq(seen, HISTORY_RECORDS_MAX);
    ck_assert_uint_eq(history_newest(f.history) - first, seen + missed);
    close(fd);
}
END_TEST

/* ---- orders ---- */

START_TEST(an_order_is_answered_when_it_is_applied)
{
    int fd = join();

    ck_assert_int_eq(ask_order(fd, HF_ORDER_DISARM, "", ""), HF_CTL_OK);
    ck_assert(heard("\"applied\":true"));
    ck_assert(!engine_group(f.engine).is_armed);
    ck_assert_str_eq(f.held.u.order.who, "uid-1000");
    close(fd);
}
END_TEST

START_TEST(what_is_so_already_is_no_failure)
{
    int fd = join();

    ck_assert_int_eq(ask_order(fd, HF_ORDER_ARM, "", ""), HF_CTL_OK);
    ck_assert(heard("\"applied\":false"));
    ck_assert(heard("\"why\":\"already\""));
    close(fd);
}
END_TEST

START_TEST(the_group_may_refuse)
{
    int fd = join();
    struct hf_ctl_request request = order_of(HF_ORDER_CONFIRM, "", "n2");

    strcpy(request.order.reason, "I think so");
    say(fd, &request, -1);
    ck_assert_int_eq(hear(fd), HF_CTL_REFUSED);
    ck_assert(heard("\"applied\":false"));
    close(fd);
}
END_TEST

START_TEST(a_typing_mistake_is_met_with_the_right_name)
{
    int fd = join();

    ck_assert_int_eq(ask_order(fd, HF_ORDER_DRAIN, "", "m2"), HF_CTL_REFUSED);
    ck_assert(heard("did you mean"));
    ck_assert_int_eq(ask_order(fd, HF_ORDER_VM_START, "elephant", ""), HF_CTL_REFUSED);
    ck_assert(heard("holdfast vms"));
    ck_assert_uint_eq(f.orders_count, 0);
    close(fd);
}
END_TEST

START_TEST(an_order_without_its_subject_is_not_sent)
{
    int fd = join();

    ck_assert_int_eq(ask_order(fd, HF_ORDER_FENCE, "", ""), HF_CTL_USAGE);
    ck_assert_int_eq(ask_order(fd, HF_ORDER_VM_STOP, "", "n1"), HF_CTL_USAGE);
    ck_assert_int_eq(ask_order(fd, HF_ORDER_CONFIRM, "", "n2"), HF_CTL_USAGE);
    ck_assert_uint_eq(f.orders_count, 0);
    close(fd);
}
END_TEST

START_TEST(a_frozen_node_orders_nothing)
{
    int fd = join();

    f.shell.phase = CTL_PHASE_FROZEN;
    ck_assert_int_eq(ask_order(fd, HF_ORDER_DISARM, "", ""), HF_CTL_NOT_QUORATE);
    ck_assert_uint_eq(f.orders_count, 0);
    say_verb(fd, HF_CTL_STATUS);
    ck_assert_int_eq(hear(fd), HF_CTL_OK);
    ck_assert(heard("not quorate"));
    close(fd);
}
END_TEST

/* ---- roles (faults M1) ---- */

static const struct {
    enum hf_order_type type;
    uint8_t least; /* the lowest role that may */
} needs[] = {
    {HF_ORDER_VM_ADD, OPERATOR},  {HF_ORDER_VM_REMOVE, ADMIN},  {HF_ORDER_VM_START, OPERATOR},
    {HF_ORDER_VM_STOP, OPERATOR}, {HF_ORDER_VM_MOVE, OPERATOR}, {HF_ORDER_DRAIN, OPERATOR},
    {HF_ORDER_HOLD, OPERATOR},    {HF_ORDER_UNDRAIN, OPERATOR}, {HF_ORDER_LEAVE, OPERATOR},
    {HF_ORDER_ARM, ADMIN},        {HF_ORDER_DISARM, ADMIN},     {HF_ORDER_FENCE, ADMIN},
    {HF_ORDER_CONFIRM, ADMIN},    {HF_ORDER_POWER_ON, ADMIN},
};
enum { NEEDS = sizeof needs / sizeof needs[0] };
_Static_assert(NEEDS == HF_ORDERS - 1, "every order is here");

START_TEST(every_order_has_the_lowest_role_that_may_give_it)
{
    struct hf_ctl_request request = order_of(needs[_i].type, "", "");

    ck_assert_int_eq(role_needed(&request),
                     needs[_i].least == ADMIN ? CTL_ROLE_ADMIN : CTL_ROLE_OPERATOR);
}
END_TEST

START_TEST(whoever_lacks_the_role_is_refused_told_and_recorded)
{
    static const uint8_t members[] = {VIEWER, OPERATOR, VIEWER | OPERATOR, ADMIN};

    for (unsigned i = 0; i < sizeof members; i++) {
        int fd = join_as(1000 + i, members[i]);
        bool may = members[i] >= needs[_i].least;

        say_verb(fd, HF_CTL_CONFIG);
        ck_assert_int_eq(hear(fd), HF_CTL_OK);
        ck_assert_int_eq(ask_order(fd, needs[_i].type, "", "") == HF_CTL_DENIED, !may);
        ck_assert_int_eq(heard("this needs the role"), !may);
        ck_assert_int_eq(heard(needs[_i].least == ADMIN ? "holdfast-admin" : "holdfast-operator"),
                         !may);
        ck_assert_uint_eq(f.audits_count, i + 1);
        close(fd);
        fake_turn(0);
    }
}
END_TEST

START_TEST(an_audit_record_tells_who_with_what_and_how_it_went)
{
    const struct history_record *told;
    char self[HISTORY_EXE_MAX + 1] = "";
    int fd = join_as(1234, OPERATOR);

    ck_assert_int_eq(ask_order(fd, HF_ORDER_FENCE, "", "n2"), HF_CTL_DENIED);
    told = history_at(f.history, history_newest(f.history));
    ck_assert_int_eq(told->kind, HISTORY_AUDIT);
    ck_assert_str_eq(told->who, "uid-1234");
    ck_assert_int_eq((pid_t)told->pid, getpid());
    ck_assert_str_eq(told->verb, "fence");
    ck_assert_str_eq(told->name, "n2");
    ck_assert(!told->was_applied);
    ck_assert_int_gt(readlink("/proc/self/exe", self, sizeof self - 1), 0);
    ck_assert_str_eq(told->exe, self);
    ck_assert_ptr_nonnull(strstr(told->text, "this needs the role admin"));
    ck_assert_uint_eq(f.orders_count, 0);
    ck_assert_int_eq(ask_order(fd, HF_ORDER_DRAIN, "", "n2"), HF_CTL_OK);
    ck_assert_uint_eq(f.audits_count, 2);
    ck_assert_uint_eq(f.orders_count, 1);
    close(fd);
}
END_TEST

START_TEST(who_is_in_no_group_is_sent_away)
{
    int fd = join_as(65534, 0);

    ck_assert_int_eq(hear_record(fd), -1);
    ck_assert_uint_eq(ctl_server_clients(f.server), 0);
    close(fd);
    fd = join_as(0, 0); /* root needs none */
    ck_assert_int_eq(ask_order(fd, HF_ORDER_DISARM, "", ""), HF_CTL_OK);
    close(fd);
}
END_TEST

START_TEST(a_storm_of_refusals_is_counted_and_does_not_wash_the_history_away)
{
    uint64_t newest = history_newest(f.history);
    int fd = join_as(1000, VIEWER);

    for (unsigned i = 0; i < 40; i++)
        ck_assert_int_eq(ask_order(fd, HF_ORDER_DISARM, "", ""), HF_CTL_DENIED);
    ck_assert_uint_eq(history_newest(f.history) - newest, 10);
    fake_at(60);
    ck_assert_int_eq(ask_order(fd, HF_ORDER_DISARM, "", ""), HF_CTL_DENIED);
    ck_assert_uint_eq(history_newest(f.history) - newest, 11);
    ck_assert_ptr_nonnull(strstr(history_at(f.history, newest + 11)->text, "30 refusals before"));
    close(fd);
}
END_TEST

START_TEST(a_flood_of_orders_is_refused_beyond_what_the_history_can_tell)
{
    unsigned granted = 0, refused = 0;
    uint64_t newest = history_newest(f.history);

    for (unsigned i = 0; i < 8; i++) {
        int fd = join_as(2000 + i, OPERATOR); /* each in its own pace */

        for (unsigned k = 0; k < CTL_REQUESTS_A_SECOND; k++) {
            if (ask_order(fd, HF_ORDER_UNDRAIN, "", "n2") == HF_CTL_OK)
                granted++;
            else
                refused += heard("too many orders");
        }
        close(fd);
        fake_turn(0);
    }
    ck_assert_uint_eq(granted, CTL_ORDERS_BURST);
    ck_assert_uint_eq(refused, 8 * CTL_REQUESTS_A_SECOND - CTL_ORDERS_BURST);
    ck_assert_uint_le(history_newest(f.history) - newest, 2 * CTL_ORDERS_BURST + 10);
    fake_at(1);
    {
        int fd = join_as(2000, OPERATOR);

        ck_assert_int_eq(ask_order(fd, HF_ORDER_UNDRAIN, "", "n2"), HF_CTL_OK);
        close(fd);
    }
}
END_TEST

START_TEST(an_order_that_takes_too_long_is_called_queued)
{
    int fd = join();
    struct hf_ctl_request request = order_of(HF_ORDER_DISARM, "", "");

    f.holds_orders = true;
    say(fd, &request, -1);
    ck_assert_int_eq(hear_record(fd), -2);
    ck_assert_uint_eq(f.orders_count, 1);
    fake_at(CTL_APPLY_MS / 1000 + 1);
    ck_assert_int_eq(hear(fd), HF_CTL_UNREACHABLE);
    ck_assert(heard("may still be applied"));
    fake_step(&f.held); /* and the late word harms nobody */
    ctl_server_applied(f.server, f.held_cookie, f.engine, &f.held, &f.out, f.when.boot);
    ck_assert_int_eq(hear_record(fd), -2);
    close(fd);
}
END_TEST

START_TEST(an_order_taken_while_the_node_was_away_is_answered_at_once)
{
    int fd = join();
    struct hf_ctl_request request = order_of(HF_ORDER_DISARM, "", "");

    f.holds_orders = true;
    say(fd, &request, -1);
    ck_assert_int_eq(hear_record(fd), -2);
    ctl_server_absorbed(f.server, f.held_cookie, f.when.boot);
    ck_assert_int_eq(hear(fd), HF_CTL_UNREACHABLE);
    ck_assert(heard("while this node was away"));
    ctl_server_absorbed(f.server, f.held_cookie, f.when.boot);
    ck_assert_int_eq(hear_record(fd), -2);
    close(fd);
}
END_TEST

START_TEST(a_client_that_leaves_does_not_take_its_order_along)
{
    int fd = join();
    struct hf_ctl_request request = order_of(HF_ORDER_DISARM, "", "");

    f.holds_orders = true;
    say(fd, &request, -1);
    fake_turn(0);
    ck_assert_uint_eq(f.orders_count, 1);
    close(fd);
    fake_turn(0);
    ck_assert_uint_eq(ctl_server_clients(f.server), 0);
    fake_step(&f.held);
    ctl_server_applied(f.server, f.held_cookie, f.engine, &f.held, &f.out, f.when.boot);
    ck_assert(!engine_group(f.engine).is_armed);
}
END_TEST

/* ---- tests of fence levels ---- */

static struct hf_ctl_request a_test(const char *node, uint8_t level)
{
    struct hf_ctl_request request;

    memset(&request, 0, sizeof request);
    request.verb = HF_CTL_FENCE_TEST;
    request.level = level;
    (void)hf_str_copy(request.node, sizeof request.node, node);
    return request;
}

START_TEST(a_fence_level_s_test_is_answered_when_it_has_ended)
{
    struct hf_ctl_request request = a_test("n2", 1);
    int fd = join_as(1000, VIEWER | OPERATOR);

    say(fd, &request, -1);
    ck_assert_int_eq(hear_record(fd), -2);
    ck_assert_uint_eq(f.test_node.ix, 1);
    ck_assert_uint_eq(f.test_level, 0);
    ck_assert_uint_eq(f.audits_count, 1);
    fake_tested(HF_PATH_DENIED, 812, "bmc-n2: login refused");
    ck_assert_int_eq(hear(fd), HF_CTL_OK);
    ck_assert(heard("\"path\":\"denied\""));
    ck_assert(heard("\"took_ms\":812"));
    ck_assert(heard("bmc-n2: login refused"));
    say(fd, &request, -1);
    ck_assert_int_eq(hear_record(fd), -2);
    ctl_server_tested(f.server, f.test_cookie, NULL, f.when.boot);
    ck_assert_int_eq(hear(fd), HF_CTL_REFUSED);
    ck_assert(heard("holdfast-fencer"));
    ctl_server_tested(f.server, f.test_cookie, NULL, f.when.boot); /* late: harms nobody */
    ck_assert_int_eq(hear_record(fd), -2);
    close(fd);
}
END_TEST

/* ---- a VM's traffic onto a leg ---- */

static struct hf_ctl_request a_failback(const char *vm)
{
    struct hf_ctl_request request;

    memset(&request, 0, sizeof request);
    request.verb = HF_CTL_FAILBACK;
    request.fabric = 1;
    (void)hf_str_copy(request.vm, sizeof request.vm, vm);
    return request;
}

static void fabrics_up(void)
{
    tear_down();
    fake_fabrics = true;
    set_up();
    fake_nics_up();
    fake_vm_with_legs("a");
}

START_TEST(a_failback_is_answered_when_it_has_ended)
{
    struct hf_ctl_request request = a_failback("a");
    struct hf_flip flip;
    int fd;

    fabrics_up();
    fd = join_as(1000, VIEWER | OPERATOR);
    flip = fake_flip("a");
    say(fd, &request, -1);
    ck_assert_int_eq(hear_record(fd), -2);
    ck_assert_uint_eq(f.flip_uid, 1);
    ck_assert_uint_eq(f.flip_to, 1);
    ck_assert_uint_eq(f.audits_count, 1);
    ctl_server_flipped(f.server, f.flip_cookie, &flip, f.when.boot);
    ck_assert_int_eq(hear(fd), HF_CTL_OK);
    ck_assert(heard("\"outcome\":\"flipped\""));
    ck_assert(heard("\"confirmed_us\":8450"));
    say(fd, &request, -1);
    ck_assert_int_eq(hear_record(fd), -2);
    ctl_server_flipped(f.server, f.flip_cookie, NULL, f.when.boot);
    ck_assert_int_eq(hear(fd), HF_CTL_REFUSED);
    ck_assert(heard("nobody knows what came of it"));
    ctl_server_flipped(f.server, f.flip_cookie, NULL, f.when.boot); /* late: harms nobody */
    ck_assert_int_eq(hear_record(fd), -2);
    close(fd);
}
END_TEST

START_TEST(a_failback_that_cannot_be_or_takes_for_ever_is_told)
{
    struct hf_ctl_request request = a_failback("nobody");
    int fd;

    fabrics_up();
    fd = join_as(1000, OPERATOR);
    fake_add_vm("off", false);
    fake_add_vm("plain", true);
    ck_assert(fake_done(HF_FX_VM_START, HF_OUT_DONE));
    say(fd, &request, -1);
    ck_assert_int_eq(hear(fd), HF_CTL_REFUSED);
    ck_assert(heard("there is no vm 'nobody'"));
    request = a_failback("off");
    say(fd, &request, -1);
    ck_assert_int_eq(hear(fd), HF_CTL_REFUSED);
    ck_assert(heard("off is stopped: it has no traffic to move"));
    request = a_failback("plain");
    say(fd, &request, -1);
    ck_assert_int_eq(hear(fd), HF_CTL_REFUSED);
    ck_assert(heard("plain has no leg b"));
    request = a_failback("a");
    fake_nics(0, HF_PF_UP, HF_NIC_NONE, HF_PF_DOWN, HF_NIC_CARRIER);
    say(fd, &request, -1);
    ck_assert_int_eq(hear(fd), HF_CTL_REFUSED);
    ck_assert(heard("leg b of a carries nothing now"));
    ck_assert_uint_eq(f.flip_cookie, 0);
    fake_nics_up();
    f.flip_code = HF_EAGAIN;
    say(fd, &request, -1);
    ck_assert_int_eq(hear(fd), HF_CTL_REFUSED);
    ck_assert(heard("nicbond is not connected"));
    f.flip_code = HF_OK;
    say(fd, &request, -1);
    ck_assert_int_eq(hear_record(fd), -2);
    ctl_server_tested(f.server, f.flip_cookie, NULL, f.when.boot); /* another kind of answer */
    ck_assert_int_eq(hear_record(fd), -2);
    fake_at(CTL_FLIP_MS / 1000 + 1);
    ck_assert_int_eq(hear(fd), HF_CTL_UNREACHABLE);
    ck_assert(heard("has not told in time"));
    close(fd);
}
END_TEST

START_TEST(a_failback_is_for_operators)
{
    struct hf_ctl_request request = a_failback("a");
    int fd = join_as(1000, VIEWER);

    fake_two_vms();
    say(fd, &request, -1);
    ck_assert_int_eq(hear(fd), HF_CTL_DENIED);
    ck_assert_uint_eq(f.flip_cookie, 0);
    ck_assert_uint_eq(f.audits_count, 1);
    close(fd);
}
END_TEST

START_TEST(a_leg_that_no_node_could_give_is_refused)
{
    struct hf_ctl_request request = order_of(HF_ORDER_VM_ADD, "", "");
    int fd = join_as(1000, OPERATOR);

    strcpy(request.order.def.name, "a");
    request.order.def.memory_mib = 1024;
    request.order.def.legs = 2;
    say(fd, &request, -1);
    ck_assert_int_eq(hear(fd), HF_CTL_REFUSED);
    ck_assert(heard("no node has a NIC in fabric b"));
    ck_assert_uint_eq(f.orders_count, 0);
    close(fd);
}
END_TEST

START_TEST(a_test_that_cannot_be_made_or_takes_for_ever_is_told)
{
    struct hf_ctl_request request = a_test("n9", 1);
    int fd = join_as(1000, OPERATOR);

    say(fd, &request, -1);
    ck_assert_int_eq(hear(fd), HF_CTL_REFUSED);
    ck_assert(heard("there is no node 'n9'"));
    request = a_test("", 1);
    say(fd, &request, -1);
    ck_assert_int_eq(hear(fd), HF_CTL_USAGE);
    ck_assert_uint_eq(f.tests_count, 0);
    request = a_test("n2", 1);
    f.test_code = HF_EAGAIN;
    say(fd, &request, -1);
    ck_assert_int_eq(hear(fd), HF_CTL_REFUSED);
    ck_assert(heard("not connected"));
    f.test_code = HF_OK;
    say(fd, &request, -1);
    ck_assert_int_eq(hear_record(fd), -2);
    fake_at(CTL_TEST_MS / 1000 + 1);
    ck_assert_int_eq(hear(fd), HF_CTL_UNREACHABLE);
    ck_assert(heard("not ended in time"));
    fake_tested(HF_PATH_OK, 1, "late");
    ck_assert_int_eq(hear_record(fd), -2);
    close(fd);
}
END_TEST

START_TEST(a_viewer_tests_nothing)
{
    struct hf_ctl_request request = a_test("n2", 1);
    int fd = join_as(1000, VIEWER);

    say(fd, &request, -1);
    ck_assert_int_eq(hear(fd), HF_CTL_DENIED);
    ck_assert(heard("holdfast-operator"));
    ck_assert_uint_eq(f.tests_count, 0);
    close(fd);
}
END_TEST

/* ---- the XML ---- */

static struct hf_ctl_request addition(void)
{
    struct hf_ctl_request request = order_of(HF_ORDER_VM_ADD, "", "");

    request.order.wants_run = true;
    strcpy(request.order.allowed[0], "n1");
    strcpy(request.order.allowed[1], "n3");
    strcpy(request.order.preferred, "n3");
    return request;
}

START_TEST(the_xml_is_kept_before_the_vm_is_added)
{
    static const char xml[] = "<domain/>";
    struct hf_ctl_request request = addition();
    struct hf_digest digest = hf_digest_of(xml, sizeof xml - 1);
    struct hf_err err;
    int fd = join(), memory;

    ck_assert_int_eq(door_memory("xml", xml, sizeof xml - 1, &memory, &err), HF_OK);
    say(fd, &request, memory);
    close(memory);
    ck_assert_int_eq(hear(fd), HF_CTL_OK);
    ck_assert(heard("\"uid\":1"));
    ck_assert_uint_eq(f.blobs_count, 1);
    ck_assert_uint_eq(f.blob_len, sizeof xml - 1);
    ck_assert(hf_digest_equal(&f.blob, &digest));
    ck_assert(hf_digest_equal(&f.held.u.order.def.xml, &digest));
    ck_assert_uint_eq(f.held.u.order.def.xml_bytes, sizeof xml - 1);
    ck_assert_uint_eq(f.held.u.order.def.allowed, 5);
    ck_assert_uint_eq(f.held.u.order.def.preferred.ix, 2);
    close(fd);
}
END_TEST

START_TEST(no_xml_a_pipe_or_memory_that_may_change_is_refused)
{
    struct hf_ctl_request request = addition();
    int fd = join(), ride = -1, pipes[2];

    if (_i == 1) {
        ck_assert_int_eq(pipe2(pipes, O_CLOEXEC), 0);
        ride = pipes[0];
    } else if (_i == 2) {
        ride = memfd_create("xml", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        ck_assert_int_eq(write(ride, "<domain/>", 9), 9);
    }
    say(fd, &request, ride);
    ck_assert_int_eq(hear(fd), HF_CTL_REFUSED);
    ck_assert_uint_eq(f.blobs_count, 0);
    ck_assert_uint_eq(f.orders_count, 0);
    close(fd);
}
END_TEST

START_TEST(preferring_a_node_that_is_not_allowed_is_refused)
{
    struct hf_ctl_request request = addition();
    int fd = join();

    strcpy(request.order.preferred, "n2");
    say(fd, &request, -1);
    ck_assert_int_eq(hear(fd), HF_CTL_REFUSED);
    ck_assert(heard("not among the allowed"));
    close(fd);
}
END_TEST

/* ---- the hostile (faults M1, M2) ---- */

START_TEST(garbage_is_answered_and_dropped)
{
    static const char garbage[] = "GET / HTTP/1.1\r\n\r\n";
    int fd = join();

    say_bytes(fd, garbage, sizeof garbage, -1);
    ck_assert_int_eq(hear(fd), HF_CTL_USAGE);
    ck_assert_int_eq(hear_record(fd), -1);
    ck_assert_uint_eq(ctl_server_clients(f.server), 0);
    close(fd);
}
END_TEST

START_TEST(an_oversized_request_is_dropped)
{
    static uint8_t bytes[HF_CTL_REQUEST_MAX + 1];
    int fd = join();

    say_bytes(fd, bytes, sizeof bytes, -1);
    ck_assert_int_eq(hear_record(fd), -1);
    close(fd);
}
END_TEST

START_TEST(a_mute_client_is_dropped_in_time)
{
    int fd = join();
    hf_time deadline = ctl_server_deadline(f.server);

    ck_assert_int_eq(hf_time_since_ms(deadline, f.when.boot), CTL_MUTE_MS);
    fake_at(CTL_MUTE_MS / 1000 - 1);
    ck_assert_int_eq(hear_record(fd), -2);
    fake_at(CTL_MUTE_MS / 1000);
    ck_assert_int_eq(hear_record(fd), -1);
    ck_assert_int_eq(ctl_server_deadline(f.server).ns, INT64_MAX);
    close(fd);
}
END_TEST

START_TEST(a_client_that_does_not_read_is_dropped_and_others_are_served)
{
    int slow = join(), fast = join(), small = 4096;

    for (unsigned i = 0; i < f.fds_count; i++)
        ck_assert_int_eq(setsockopt(f.fds[i].fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    ask_events(slow, 0, true);
    for (unsigned i = 0; i < 2000; i++)
        history_note(f.history, f.engine, "n1", "a word", &f.when);
    for (unsigned i = 0; i < 20; i++)
        fake_turn(0);
    ck_assert_int_eq(hf_time_since_ms(ctl_server_deadline(f.server), f.when.boot), CTL_SLOW_MS);
    say_verb(fast, HF_CTL_CONFIG);
    ck_assert_int_eq(hear(fast), HF_CTL_OK);
    fake_at(CTL_SLOW_MS / 1000);
    fake_turn(0);
    ck_assert_uint_eq(ctl_server_clients(f.server), 1);
    say_verb(fast, HF_CTL_CONFIG);
    ck_assert_int_eq(hear(fast), HF_CTL_OK);
    close(slow);
    close(fast);
}
END_TEST

START_TEST(a_second_request_before_the_answer_is_dropped)
{
    int fd = join();
    struct hf_ctl_request request = order_of(HF_ORDER_DISARM, "", "");

    f.holds_orders = true;
    say(fd, &request, -1);
    say_verb(fd, HF_CTL_STATUS);
    ck_assert_int_eq(hear_record(fd), -1);
    close(fd);
}
END_TEST

START_TEST(too_many_requests_a_second_are_dropped)
{
    unsigned answered = 0;
    int fd = join_as(_i == 0 ? 0 : 1000, VIEWER);

    for (;;) {
        say_verb(fd, HF_CTL_CONFIG);
        if (hear_record(fd) < 0)
            break;
        ck_assert_uint_le(++answered, CTL_REQUESTS_A_SECOND);
    }
    ck_assert_uint_eq(answered, CTL_REQUESTS_A_SECOND);
    close(fd);
}
END_TEST

START_TEST(one_user_s_pace_is_one_whatever_number_of_connections_it_takes)
{
    unsigned answered = 0;

    for (unsigned i = 0; i < 200; i++) {
        int fd = join_as(1000, VIEWER);

        say_verb(fd, HF_CTL_CONFIG);
        answered += hear_record(fd) > 0;
        close(fd);
        fake_turn(0);
    }
    ck_assert_uint_eq(answered, CTL_REQUESTS_OF_ONE);
}
END_TEST

START_TEST(one_user_takes_at_most_its_share_of_the_places)
{
    int fds[CTL_CLIENTS_OF_ONE], extra, other;

    for (unsigned i = 0; i < CTL_CLIENTS_OF_ONE; i++)
        fds[i] = join_as(1000, VIEWER);
    extra = join_as(1000, VIEWER);
    ck_assert_int_eq(hear_record(extra), -1);
    other = join_as(1001, VIEWER);
    say_verb(other, HF_CTL_CONFIG);
    ck_assert_int_eq(hear(other), HF_CTL_OK);
    close(extra);
    close(other);
    for (unsigned i = 0; i < CTL_CLIENTS_OF_ONE; i++)
        close(fds[i]);
}
END_TEST

START_TEST(a_higher_role_takes_the_place_of_the_oldest_of_the_lowest)
{
    int fds[DOOR_CLIENTS_MAX], admin, viewer;

    for (unsigned i = 0; i < DOOR_CLIENTS_MAX; i++) {
        fake_at(i == 5 ? 0 : 1);
        fds[i] = join_as(1000 + i, i == 4 ? OPERATOR : VIEWER);
    }
    admin = join_as(500, ADMIN);
    ck_assert_int_eq(hear_record(fds[5]), -1);
    ck_assert_int_eq(hear_record(fds[4]), -2);
    say_verb(admin, HF_CTL_CONFIG);
    ck_assert_int_eq(hear(admin), HF_CTL_OK);
    viewer = join_as(501, VIEWER); /* nobody is below a viewer */
    ck_assert_int_eq(hear_record(viewer), -1);
    close(viewer);
    close(admin);
    for (unsigned i = 0; i < DOOR_CLIENTS_MAX; i++)
        close(fds[i]);
}
END_TEST

START_TEST(one_client_too_many_is_sent_away)
{
    int fds[DOOR_CLIENTS_MAX], extra;

    for (unsigned i = 0; i < DOOR_CLIENTS_MAX; i++)
        fds[i] = join_as(1000 + i, VIEWER | ADMIN);
    extra = join();
    ck_assert_int_eq(hear_record(extra), -1);
    ck_assert_uint_eq(ctl_server_clients(f.server), DOOR_CLIENTS_MAX);
    close(extra);
    close(fds[0]);
    fake_turn(0);
    extra = join();
    say_verb(extra, HF_CTL_CONFIG);
    ck_assert_int_eq(hear(extra), HF_CTL_OK);
    close(extra);
    for (unsigned i = 1; i < DOOR_CLIENTS_MAX; i++)
        close(fds[i]);
}
END_TEST

START_TEST(a_descriptor_nobody_asked_for_is_closed)
{
    int fd = join(), pipes[2];
    char c;

    ck_assert_int_eq(pipe2(pipes, O_CLOEXEC | O_NONBLOCK), 0);
    for (unsigned i = 0; i < 20; i++) {
        struct hf_ctl_request request;

        memset(&request, 0, sizeof request);
        request.verb = HF_CTL_CONFIG;
        say(fd, &request, pipes[1]);
        ck_assert_int_eq(hear(fd), HF_CTL_OK);
    }
    close(pipes[1]);
    ck_assert_int_eq(read(pipes[0], &c, 1), 0); /* nobody else holds the other end */
    close(pipes[0]);
    close(fd);
}
END_TEST

HF_TEST_MAIN_WITH(
    "ctl/server", set_up, tear_down, HF_CASE(status_is_one_document),
    HF_CASE(a_large_answer_comes_in_records_below_the_frame_limit),
    HF_CASE(why_knows_nodes_and_vms_and_nothing_else), HF_CASE(config_gives_the_running_text),
    HF_CASE(events_end_with_an_empty_record), HF_CASE(a_follower_gets_what_comes_and_nothing_twice),
    HF_CASE(a_follower_that_is_overtaken_is_told_what_it_missed),
    HF_CASE(an_order_is_answered_when_it_is_applied), HF_CASE(what_is_so_already_is_no_failure),
    HF_CASE(the_group_may_refuse), HF_CASE(a_typing_mistake_is_met_with_the_right_name),
    HF_CASE(an_order_without_its_subject_is_not_sent), HF_CASE(a_frozen_node_orders_nothing),
    HF_LOOP(every_order_has_the_lowest_role_that_may_give_it, 0, NEEDS),
    HF_LOOP(whoever_lacks_the_role_is_refused_told_and_recorded, 0, NEEDS),
    HF_CASE(an_audit_record_tells_who_with_what_and_how_it_went),
    HF_CASE(who_is_in_no_group_is_sent_away),
    HF_CASE(a_storm_of_refusals_is_counted_and_does_not_wash_the_history_away),
    HF_CASE(a_flood_of_orders_is_refused_beyond_what_the_history_can_tell),
    HF_CASE(an_order_that_takes_too_long_is_called_queued),
    HF_CASE(an_order_taken_while_the_node_was_away_is_answered_at_once),
    HF_CASE(a_client_that_leaves_does_not_take_its_order_along),
    HF_CASE(a_fence_level_s_test_is_answered_when_it_has_ended),
    HF_CASE(a_test_that_cannot_be_made_or_takes_for_ever_is_told), HF_CASE(a_viewer_tests_nothing),
    HF_CASE(a_failback_is_answered_when_it_has_ended),
    HF_CASE(a_failback_that_cannot_be_or_takes_for_ever_is_told),
    HF_CASE(a_failback_is_for_operators), HF_CASE(a_leg_that_no_node_could_give_is_refused),
    HF_CASE(the_xml_is_kept_before_the_vm_is_added),
    HF_LOOP(no_xml_a_pipe_or_memory_that_may_change_is_refused, 0, 3),
    HF_CASE(preferring_a_node_that_is_not_allowed_is_refused),
    HF_CASE(garbage_is_answered_and_dropped), HF_CASE(an_oversized_request_is_dropped),
    HF_CASE(a_mute_client_is_dropped_in_time),
    HF_CASE(a_client_that_does_not_read_is_dropped_and_others_are_served),
    HF_CASE(a_second_request_before_the_answer_is_dropped),
    HF_LOOP(too_many_requests_a_second_are_dropped, 0, 2),
    HF_CASE(one_user_s_pace_is_one_whatever_number_of_connections_it_takes),
    HF_CASE(one_user_takes_at_most_its_share_of_the_places),
    HF_CASE(a_higher_role_takes_the_place_of_the_oldest_of_the_lowest),
    HF_CASE(one_client_too_many_is_sent_away), HF_CASE(a_descriptor_nobody_asked_for_is_closed))
