#include "nicbond/guest.h"

#include <string.h>

#include "supervisord/base/assert.h"

/* linux/if_link.h; the values are the kernel's interface. */
enum { EVENT_BONDING_FAILOVER = 3, EVENT_NOTIFY_PEERS = 4 };

enum { NS_PER_US = 1000, MS_PER_S = 1000 };

const char *guest_result_name(enum guest_result result)
{
    switch (result) {
    case GUEST_DONE:
        return "done";
    case GUEST_ALREADY:
        return "already";
    case GUEST_REFUSED:
        return "refused";
    case GUEST_LATE:
        return "late";
    case GUEST_GONE:
        return "gone";
    case GUEST_LIED:
        return "contradicts itself";
    case GUEST_RESULTS:
        return "?";
    }
    return "?";
}

void guest_init(struct guest *guest, hf_time now)
{
    memset(guest, 0, sizeof *guest);
    guest->own.mute_ms = GUEST_MUTE_MS;
    guest->own.calm_at = now;
    guest->own.ask_at = now;
    guest->own.credit = GUEST_BYTES_PER_S;
    guest->own.credit_at = now;
}

/* ---- what it says ---- */

static void forget(struct guest *guest)
{
    guest->has_helper = false;
    guest->has_bond = false;
    guest->has_failover = false;
    guest->has_peers_told = false;
    memset(&guest->bond, 0, sizeof guest->bond);
}

hf_mac guest_active_mac(const struct guest *guest)
{
    const struct hf_guest_bond *bond = &guest->bond;

    if (!guest->has_helper || !guest->has_bond || bond->active >= bond->slaves_count)
        return (hf_mac){{0}};
    return bond->slave[bond->active].perm_mac;
}

bool guest_is_on(const struct guest *guest, hf_mac mac)
{
    uint8_t at;

    return guest->has_helper && guest->has_bond &&
           guest_frame_find(&guest->bond, mac, &at) == HF_GUEST_DONE && at == guest->bond.active;
}

bool guest_can_use(const struct guest *guest, hf_mac mac)
{
    uint8_t at;

    return guest->has_helper && guest->has_bond &&
           guest_frame_find(&guest->bond, mac, &at) == HF_GUEST_DONE &&
           guest->bond.slave[at].link == HF_GUEST_LINK_UP && guest->bond.slave[at].has_carrier;
}

static void learn_hello(struct guest *guest, const struct hf_guest_message *m)
{
    const uint8_t *boot_id = m->u.hello.boot_id;

    if (guest->own.knows_boot &&
        memcmp(guest->own.boot_id, boot_id, sizeof guest->own.boot_id) != 0) {
        guest->counters.restarts++;
        forget(guest);
    }
    memcpy(guest->own.boot_id, boot_id, sizeof guest->own.boot_id);
    guest->own.knows_boot = true;
}

static void learn_event(struct guest *guest, const struct hf_guest_message *m, hf_time now)
{
    guest->events++;
    if (m->u.event.event == EVENT_BONDING_FAILOVER) {
        guest->has_failover = true;
        guest->failover_at = now;
        guest->failover_mono_ns = m->u.event.monotonic_ns;
        guest->failover_wall_ns = m->u.event.wall_ns;
    }
    if (m->u.event.event == EVENT_NOTIFY_PEERS) {
        guest->has_peers_told = true;
        guest->peers_told_at = now;
    }
}

/* ---- orders ---- */

static uint32_t since_us(hf_time now, hf_time then)
{
    int64_t us = (now.ns - then.ns) / NS_PER_US;

    if (us < 0)
        return 0;
    return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

static void end_order(struct guest *guest, enum guest_result result, hf_time now)
{
    if (!guest->own.has_order)
        return;
    guest->own.has_order = false;
    guest->own.has_answer = true;
    guest->own.answer = guest->own.order;
    guest->own.answer.result = result;
    guest->own.answer.round_us = since_us(now, guest->own.ordered_at);
    if (result == GUEST_LATE || result == GUEST_GONE)
        guest->own.void_to = guest->own.order.number;
}

static enum guest_result judge_ack(const struct guest_answer *order,
                                   const struct hf_guest_message *m)
{
    switch (m->u.ack.outcome) {
    case HF_GUEST_DONE:
        return hf_mac_is_equal(m->u.ack.active, order->mac) ? GUEST_DONE : GUEST_LIED;
    case HF_GUEST_ALREADY:
        return hf_mac_is_equal(m->u.ack.active, order->mac) ? GUEST_ALREADY : GUEST_LIED;
    case HF_GUEST_NO_BOND:
    case HF_GUEST_NO_SLAVE:
    case HF_GUEST_AMBIGUOUS:
    case HF_GUEST_REFUSED:
    case HF_GUEST_UNCONFIRMED:
        return GUEST_REFUSED;
    case HF_GUEST_SUPERSEDED: /* by an order we never gave on this connection */
    case HF_GUEST_OUTCOMES:
        return GUEST_LIED;
    }
    return GUEST_LIED;
}

static void learn_ack(struct guest *guest, const struct hf_guest_message *m, hf_time now)
{
    struct guest_answer *order = &guest->own.order;
    enum guest_result result;

    if (m->u.ack.number == order->number)
        guest->own.is_unanswered = false;
    if (!guest->own.has_order || m->u.ack.number != order->number) {
        /* Late, or the end of one that a later order took the place of; or invented. Nobody waits
         * for it: what it changed is told by the next BOND. */
        guest->counters.lies += m->u.ack.number > order->number;
        return;
    }
    result = judge_ack(order, m);
    guest->counters.lies += result == GUEST_LIED;
    order->outcome = m->u.ack.outcome;
    order->sys_errno = m->u.ack.sys_errno;
    order->took_us = m->u.ack.took_us;
    end_order(guest, result, now);
}

static void learn(struct guest *guest, const struct hf_guest_message *m, hf_time now)
{
    if (!guest_frame_is_guests(m->kind)) {
        guest->counters.refused++;
        return;
    }
    guest->counters.messages++;
    guest->own.heard_at = now;
    guest->own.ask_at = hf_time_add_ms(now, GUEST_ASK_MS);
    switch (m->kind) {
    case HF_GUEST_HELLO:
        learn_hello(guest, m);
        break;
    case HF_GUEST_BOND:
        guest->has_bond = m->u.bond.bond.name[0] != '\0';
        guest->bond = m->u.bond.bond;
        guest->bond_at = now;
        guest->bond_guest_ns = m->u.bond.monotonic_ns;
        break;
    case HF_GUEST_EVENT:
        learn_event(guest, m, now);
        break;
    case HF_GUEST_ACK:
        learn_ack(guest, m, now);
        break;
    case HF_GUEST_SET_ACTIVE:
    case HF_GUEST_ASK:
    case HF_GUEST_KINDS:
        break;
    }
    /* Who has not said hello on this connection may be the end of an earlier one's words. */
    guest->has_helper = guest->own.knows_boot;
}

/* ---- bytes ---- */

static bool put(struct guest *guest, const struct hf_guest_message *m)
{
    uint8_t frame[GUEST_FRAME_MAX];
    size_t len = guest_frame_encode(m, frame);

    if (len > sizeof guest->own.out - guest->own.out_len)
        return false;
    memcpy(guest->own.out + guest->own.out_len, frame, len);
    guest->own.out_len += len;
    return true;
}

const uint8_t *guest_out(const struct guest *guest, size_t *len)
{
    *len = guest->own.out_len;
    return *len > 0 ? guest->own.out : NULL;
}

void guest_sent(struct guest *guest, size_t len)
{
    HF_ASSERT(len <= guest->own.out_len);
    guest->own.out_len -= len;
    memmove(guest->own.out, guest->own.out + len, guest->own.out_len);
}

static void ask(struct guest *guest, hf_time now)
{
    const struct hf_guest_message m = {.kind = HF_GUEST_ASK, .u.ask.void_to = guest->own.void_to};

    /* A question that nobody reads waits in the socket and is answered by a helper that starts
     * later: it is not repeated soon. */
    (void)put(guest, &m);
    guest->own.ask_at = hf_time_add_ms(now, GUEST_ASK_AGAIN_MS);
}

void guest_joined(struct guest *guest, hf_time now)
{
    forget(guest);
    memset(&guest->own.stream, 0, sizeof guest->own.stream);
    guest->is_connected = true;
    guest->own.is_partial = false;
    guest->own.knows_boot = false;
    guest->own.is_unanswered = false;
    guest->own.heard_at = now;
    guest->own.out_len = 0;
    ask(guest, now);
}

static void count_stream(struct guest *guest)
{
    struct guest_stream *stream = &guest->own.stream;

    guest->counters.skipped += stream->skipped;
    guest->counters.refused += stream->refused;
    guest->counters.other_version += stream->other_version;
    stream->skipped = 0;
    stream->refused = 0;
    stream->other_version = 0;
}

void guest_left(struct guest *guest, hf_time now)
{
    forget(guest);
    guest->is_connected = false;
    guest->own.out_len = 0;
    end_order(guest, GUEST_GONE, now);
}

static bool is_within_credit(struct guest *guest, size_t len, hf_time now)
{
    int64_t ms = hf_time_since_ms(now, guest->own.credit_at);

    if (ms > 0) {
        int64_t more = ms < MS_PER_S ? ms * GUEST_BYTES_PER_S / MS_PER_S : GUEST_BYTES_PER_S;

        guest->own.credit += more;
        if (guest->own.credit > GUEST_BYTES_PER_S)
            guest->own.credit = GUEST_BYTES_PER_S;
        guest->own.credit_at = now;
    }
    guest->own.credit -= (int64_t)len;
    return guest->own.credit >= 0;
}

/* Everything whole that has come. What then is left is the beginning of something, which gets its
 * time from when it began to be the oldest. */
static void drain(struct guest *guest, hf_time now)
{
    struct guest_stream *stream = &guest->own.stream;
    struct hf_guest_message message;
    bool was_partial = guest->own.is_partial;

    while (guest_stream_next(stream, &message)) {
        learn(guest, &message, now);
        was_partial = false;
    }
    guest->own.is_partial = guest_stream_is_partial(stream);
    if (!was_partial)
        guest->own.partial_at = hf_time_add_ms(now, GUEST_PARTIAL_MS);
    count_stream(guest);
}

bool guest_take(struct guest *guest, const uint8_t *bytes, size_t len, hf_time now)
{
    struct guest_stream *stream = &guest->own.stream;

    guest->counters.bytes += len;
    if (!is_within_credit(guest, len, now)) {
        guest->counters.floods++;
        return false;
    }
    while (len > 0) {
        size_t taken = guest_stream_put(stream, bytes, len);

        HF_ASSERT(taken > 0);
        bytes += taken;
        len -= taken;
        drain(guest, now);
    }
    return true;
}

uint32_t guest_mute_ms(struct guest *guest, hf_time now)
{
    uint32_t ms;

    if (hf_time_reached(now, guest->own.calm_at))
        guest->own.mute_ms = GUEST_MUTE_MS;
    ms = guest->own.mute_ms;
    guest->own.mute_ms = 2 * ms < GUEST_MUTE_MAX_MS ? 2 * ms : GUEST_MUTE_MAX_MS;
    guest->own.calm_at = hf_time_add_ms(now, (int64_t)ms + GUEST_MUTE_MAX_MS);
    guest->own.credit = GUEST_BYTES_PER_S;
    guest->own.credit_at = hf_time_add_ms(now, ms);
    return ms;
}

/* ---- time ---- */

static hf_time earlier(hf_time a, hf_time b)
{
    return a.ns < b.ns ? a : b;
}

static hf_time order_deadline(const struct guest *guest)
{
    return hf_time_add_ms(guest->own.ordered_at, GUEST_ORDER_MS);
}

static hf_time silent_at(const struct guest *guest)
{
    return hf_time_add_ms(guest->own.heard_at, GUEST_SILENT_MS);
}

static bool is_silent(const struct guest *guest, hf_time now)
{
    return hf_time_reached(now, silent_at(guest));
}

bool guest_is_stale(const struct guest *guest, hf_time now)
{
    return guest->is_connected && guest->own.is_unanswered && is_silent(guest, now);
}

hf_time guest_tick(struct guest *guest, hf_time now)
{
    hf_time next;

    if (guest->own.has_order && hf_time_reached(now, order_deadline(guest))) {
        guest->counters.late++;
        end_order(guest, GUEST_LATE, now);
        ask(guest, now); /* takes it back, if it is not begun */
    }
    if (!guest->is_connected)
        return hf_time_add_ms(now, GUEST_ASK_MS);
    if (guest->own.is_partial && hf_time_reached(now, guest->own.partial_at)) {
        guest_stream_give_up(&guest->own.stream);
        guest->own.is_partial = false;
        drain(guest, now);
    }
    if (is_silent(guest, now))
        forget(guest);
    if (hf_time_reached(now, guest->own.ask_at))
        ask(guest, now);
    next = guest->own.ask_at;
    if (guest->has_helper)
        next = earlier(next, silent_at(guest));
    if (guest->own.has_order)
        next = earlier(next, order_deadline(guest));
    if (guest->own.is_partial)
        next = earlier(next, guest->own.partial_at);
    return next;
}

/* ---- orders ---- */

enum hf_code guest_order_active(struct guest *guest, uint64_t number, hf_mac mac, hf_time now,
                                struct hf_err *err)
{
    const struct hf_guest_message m = {.kind = HF_GUEST_SET_ACTIVE,
                                       .u.set_active = {.number = number, .mac = mac}};

    if (!guest->has_helper)
        return hf_err_set(err, HF_EAGAIN, "no holdfast-guest answers");
    if (!put(guest, &m))
        return hf_err_set(err, HF_EAGAIN, "holdfast-guest reads nothing");
    end_order(guest, GUEST_GONE, now);
    guest->counters.orders++;
    guest->own.order = (struct guest_answer){.number = number, .mac = mac};
    guest->own.ordered_at = now;
    guest->own.has_order = true;
    guest->own.void_to = 0; /* it takes the place of all before it */
    guest->own.is_unanswered = true;
    return HF_OK;
}

bool guest_answer(struct guest *guest, struct guest_answer *answer)
{
    if (!guest->own.has_answer)
        return false;
    *answer = guest->own.answer;
    guest->own.has_answer = false;
    return true;
}
