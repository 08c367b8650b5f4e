#include "nicbond/guest_socket.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/check.h"

#define MAC_A ((hf_mac){{0x52, 0x54, 0, 0, 0, 0xa}})
#define MAC_B ((hf_mac){{0x52, 0x54, 0, 0, 0, 0xb}})

/* qemu's end of the socket with a guest behind it, and ours. Time is ours; bytes are there at
 * once. */
struct rig {
    char folder[32], path[64];
    int listen_fd, fd;
    struct guest_stream stream;
    struct guest_socket s;
    hf_time now;
};

static void listen_at(struct rig *rig)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    (void)strcpy(address.sun_path, rig->path);
    (void)unlink(rig->path);
    rig->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(rig->listen_fd, 0);
    ck_assert_int_eq(bind(rig->listen_fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(rig->listen_fd, 1), 0);
}

static void accept_it(struct rig *rig)
{
    rig->fd = accept4(rig->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    ck_assert_int_ge(rig->fd, 0);
    memset(&rig->stream, 0, sizeof rig->stream);
}

static void begin(struct rig *rig, bool is_listening)
{
    struct hf_err err;

    memset(rig, 0, sizeof *rig);
    rig->fd = rig->listen_fd = -1;
    rig->now.ns = 5000 * HF_NS_PER_MS;
    (void)strcpy(rig->folder, "/tmp/hf-guest-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(rig->folder));
    (void)snprintf(rig->path, sizeof rig->path, "%s/channel", rig->folder);
    if (is_listening)
        listen_at(rig);
    ck_assert_int_eq(guest_socket_open(&rig->s, rig->path, rig->now, &err), HF_OK);
    if (is_listening)
        accept_it(rig);
}

static void hang_up(struct rig *rig)
{
    close(rig->fd);
    rig->fd = -1;
}

static void end(struct rig *rig)
{
    guest_socket_close(&rig->s, rig->now);
    if (rig->fd >= 0)
        close(rig->fd);
    if (rig->listen_fd >= 0)
        close(rig->listen_fd);
    (void)unlink(rig->path);
    (void)rmdir(rig->folder);
}

/* One round of a loop that slept so long. */
static hf_time loop_round(struct rig *rig, int64_t ms)
{
    struct pollfd pfd = guest_socket_poll(&rig->s);

    rig->now = hf_time_add_ms(rig->now, ms);
    ck_assert_int_ge(poll(&pfd, 1, 0), 0);
    guest_socket_ready(&rig->s, pfd.revents, rig->now);
    return guest_socket_tick(&rig->s, rig->now);
}

/* ---- the guest's part ---- */

static void write_all(struct rig *rig, const uint8_t *bytes, size_t len)
{
    ck_assert_int_eq(send(rig->fd, bytes, len, MSG_NOSIGNAL), (ssize_t)len);
}

static void say(struct rig *rig, const struct hf_guest_message *m)
{
    uint8_t frame[GUEST_FRAME_MAX] = {0};

    write_all(rig, frame, guest_frame_encode(m, frame));
}

static void say_hello_and_bond(struct rig *rig, uint8_t active)
{
    struct hf_guest_message m = {.kind = HF_GUEST_HELLO};
    struct hf_guest_bond *bond = &m.u.bond.bond;

    say(rig, &m);
    m.kind = HF_GUEST_BOND;
    (void)strcpy(bond->name, "bond0");
    bond->active = active;
    bond->slaves_count = 2;
    bond->slave[0].perm_mac = MAC_A;
    bond->slave[1].perm_mac = MAC_B;
    say(rig, &m);
}

static bool hear(struct rig *rig, struct hf_guest_message *m)
{
    uint8_t bytes[GUEST_FRAME_MAX];
    ssize_t n;

    while (!guest_stream_next(&rig->stream, m)) {
        n = recv(rig->fd, bytes, sizeof bytes, 0);
        if (n <= 0)
            return false;
        ck_assert_uint_eq(guest_stream_put(&rig->stream, bytes, (size_t)n), (size_t)n);
    }
    return true;
}

static void become_helper(struct rig *rig)
{
    struct hf_guest_message m;

    ck_assert(hear(rig, &m));
    ck_assert_int_eq(m.kind, HF_GUEST_ASK);
    say_hello_and_bond(rig, 0);
    (void)loop_round(rig, 1);
    ck_assert(rig->s.guest.has_helper);
}

/* ---- cases ---- */

START_TEST(an_order_is_on_its_way_when_the_call_returns)
{
    struct rig rig;
    struct hf_guest_message m, ack = {.kind = HF_GUEST_ACK};
    struct guest_answer answer;
    struct hf_err err;

    begin(&rig, true);
    become_helper(&rig);
    ck_assert_int_eq(guest_socket_order(&rig.s, 7, MAC_B, rig.now, &err), HF_OK);
    ck_assert(hear(&rig, &m));
    ck_assert_int_eq(m.kind, HF_GUEST_SET_ACTIVE);
    ack.u.ack.number = m.u.set_active.number;
    ack.u.ack.outcome = HF_GUEST_DONE;
    ack.u.ack.active = m.u.set_active.mac;
    say(&rig, &ack);
    (void)loop_round(&rig, 4);
    ck_assert(guest_answer(&rig.s.guest, &answer));
    ck_assert_int_eq(answer.result, GUEST_DONE);
    ck_assert_uint_eq(answer.round_us, 4000);
    end(&rig);
}
END_TEST

START_TEST(a_socket_that_is_not_there_is_tried_again_with_patience)
{
    struct rig rig;
    unsigned rounds = 0;

    begin(&rig, false);
    ck_assert_int_eq(guest_socket_poll(&rig.s).fd, -1);
    for (int64_t ms = 0; ms < 60000; ms += 100)
        (void)loop_round(&rig, 100);
    ck_assert_uint_ge(rig.s.refused, 60000 / GUEST_RETRY_MAX_MS);
    ck_assert_uint_le(rig.s.refused, 60000 / GUEST_RETRY_MAX_MS + 8);
    listen_at(&rig);
    while (rig.s.fd < 0 && rounds++ < GUEST_RETRY_MAX_MS / 100)
        (void)loop_round(&rig, 100);
    accept_it(&rig);
    become_helper(&rig);
    end(&rig);
}
END_TEST

START_TEST(a_qemu_that_ends_takes_the_order_with_it)
{
    struct rig rig;
    struct guest_answer answer;
    struct hf_err err;

    begin(&rig, true);
    become_helper(&rig);
    ck_assert_int_eq(guest_socket_order(&rig.s, 7, MAC_B, rig.now, &err), HF_OK);
    hang_up(&rig);
    (void)loop_round(&rig, 1);
    ck_assert_int_eq(rig.s.fd, -1);
    ck_assert(!rig.s.guest.is_connected && !rig.s.guest.has_helper);
    ck_assert(guest_answer(&rig.s.guest, &answer));
    ck_assert_int_eq(answer.result, GUEST_GONE);
    (void)loop_round(&rig, GUEST_RETRY_MS);
    accept_it(&rig);
    become_helper(&rig);
    end(&rig);
}
END_TEST

START_TEST(a_restarted_helper_is_the_helper_again)
{
    struct rig rig;
    struct hf_guest_message m = {.kind = HF_GUEST_HELLO};
    uint8_t frame[GUEST_FRAME_MAX] = {0};

    begin(&rig, true);
    become_helper(&rig);
    /* It dies in the middle of a word; the port stays open on qemu's side. */
    write_all(&rig, frame, guest_frame_encode(&m, frame) / 2);
    (void)loop_round(&rig, GUEST_SILENT_MS);
    (void)loop_round(&rig, 1);
    ck_assert(!rig.s.guest.has_helper);
    say_hello_and_bond(&rig, 1);
    (void)loop_round(&rig, 1);
    ck_assert(rig.s.guest.has_helper);
    ck_assert(guest_is_on(&rig.s.guest, MAC_B));
    end(&rig);
}
END_TEST

START_TEST(a_flood_costs_little_a_round_and_is_cut_off)
{
    struct rig rig;
    static uint8_t noise[64 << 10];
    unsigned rounds = 0;
    ssize_t sent;
    hf_time muted_at;

    begin(&rig, true);
    become_helper(&rig);
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)(i * 31);
    while (rig.s.fd >= 0 && rounds < 1000) {
        uint64_t before = rig.s.guest.counters.bytes;

        do {
            sent = send(rig.fd, noise, sizeof noise, MSG_NOSIGNAL);
        } while (sent > 0);
        (void)loop_round(&rig, 1);
        ck_assert_uint_le(rig.s.guest.counters.bytes - before, GUEST_READ_MAX);
        rounds++;
    }
    /* Its second's worth, and what a millisecond each adds to it. */
    ck_assert_uint_le(rounds, 2 * GUEST_BYTES_PER_S / GUEST_READ_MAX);
    ck_assert_uint_eq(rig.s.guest.counters.floods, 1);
    ck_assert_int_eq(guest_socket_poll(&rig.s).fd, -1);
    hang_up(&rig);
    muted_at = rig.now;
    while (rig.s.fd < 0)
        (void)loop_round(&rig, 10);
    ck_assert_int_ge(hf_time_since_ms(rig.now, muted_at), GUEST_MUTE_MS - 1);
    ck_assert_int_le(hf_time_since_ms(rig.now, muted_at), GUEST_MUTE_MS + 20);
    accept_it(&rig);
    become_helper(&rig);
    end(&rig);
}
END_TEST

START_TEST(a_silent_guest_makes_an_order_late_and_loses_it)
{
    struct rig rig;
    struct guest_answer answer;
    struct hf_guest_message m;
    struct hf_err err;

    begin(&rig, true);
    become_helper(&rig);
    ck_assert_int_eq(guest_socket_order(&rig.s, 7, MAC_B, rig.now, &err), HF_OK);
    (void)loop_round(&rig, GUEST_ORDER_MS);
    ck_assert(guest_answer(&rig.s.guest, &answer));
    ck_assert_int_eq(answer.result, GUEST_LATE);
    /* Nobody reads it: what lies in the socket goes with the connection. */
    (void)loop_round(&rig, GUEST_SILENT_MS);
    ck_assert_int_eq(rig.s.fd, -1);
    (void)loop_round(&rig, GUEST_RETRY_MS);
    ck_assert_int_ge(rig.s.fd, 0);
    hang_up(&rig);
    accept_it(&rig);
    ck_assert(hear(&rig, &m));
    ck_assert_int_eq(m.kind, HF_GUEST_ASK);
    ck_assert(!hear(&rig, &m));
    end(&rig);
}
END_TEST

START_TEST(a_liar_gains_nothing)
{
    struct rig rig;
    struct hf_guest_message ack = {.kind = HF_GUEST_ACK};
    struct guest_answer answer;
    struct hf_err err;

    begin(&rig, true);
    become_helper(&rig);
    ck_assert_int_eq(guest_socket_order(&rig.s, 7, MAC_B, rig.now, &err), HF_OK);
    ack.u.ack.number = 7;
    ack.u.ack.outcome = HF_GUEST_DONE;
    ack.u.ack.active = MAC_A;
    say(&rig, &ack);
    (void)loop_round(&rig, 1);
    ck_assert(guest_answer(&rig.s.guest, &answer));
    ck_assert_int_eq(answer.result, GUEST_LIED);
    ck_assert(!guest_is_on(&rig.s.guest, MAC_B));
    end(&rig);
}
END_TEST

START_TEST(a_path_that_cannot_be_is_refused)
{
    static const char *const paths[] = {"", "relative", NULL};
    char longest[GUEST_PATH_MAX + 2];
    struct guest_socket s;
    struct hf_err err;

    memset(longest, 'x', sizeof longest - 1);
    longest[0] = '/';
    longest[sizeof longest - 1] = '\0';
    ck_assert_int_eq(
        guest_socket_open(&s, paths[_i] != NULL ? paths[_i] : longest, (hf_time){0}, &err),
        HF_EINVAL);
    ck_assert_int_eq(guest_socket_poll(&s).fd, -1);
}
END_TEST

HF_TEST_MAIN("nicbond/guest_socket", HF_CASE(an_order_is_on_its_way_when_the_call_returns),
             HF_CASE(a_socket_that_is_not_there_is_tried_again_with_patience),
             HF_CASE(a_qemu_that_ends_takes_the_order_with_it),
             HF_CASE(a_restarted_helper_is_the_helper_again),
             HF_CASE(a_flood_costs_little_a_round_and_is_cut_off),
             HF_CASE(a_silent_guest_makes_an_order_late_and_loses_it),
             HF_CASE(a_liar_gains_nothing), HF_LOOP(a_path_that_cannot_be_is_refused, 0, 3))
