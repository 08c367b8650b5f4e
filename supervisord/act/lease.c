#include "supervisord/act/lease.h"

#include <string.h>

#include "supervisord/base/log.h"
#include "supervisord/base/str.h"

void lease_init(struct lease *l, uint32_t own_nodeid, const struct hf_watchdog_conf *conf,
                const struct lease_ports *ports)
{
    *l = (struct lease){.ports = *ports, .own_nodeid = own_nodeid, .conf = *conf};
}

static hf_node self(const struct lease *l, const struct engine *e)
{
    return e == NULL ? HF_NO_NODE : engine_node_by_id(e, l->own_nodeid);
}

/* The group's view of this node. False: there is no state, or it does not know us. */
static bool look(const struct lease *l, struct hf_node_view *node)
{
    const struct engine *e = l->ports.engine(l->ports.user);
    hf_node own = self(l, e);

    if (!hf_node_is(own))
        return false;
    *node = engine_node(e, own);
    return true;
}

static bool is_armed(const struct lease *l)
{
    return l->feeder.kind == HF_REPORT_WATCHDOG && l->feeder.u.watchdog.state == HF_WD_ARMED;
}

static bool is_wanted(const struct lease *l)
{
    const struct engine *e = l->ports.engine(l->ports.user);
    hf_node own = self(l, e);

    return l->conf.is_used && hf_node_is(own) && engine_wants_watchdog(e, own);
}

/* Armed last: a full member with a fit link and the group's configuration. */
static bool may_arm(const struct lease *l)
{
    struct hf_node_view node;

    return l->is_synced && l->is_fit && look(l, &node) && node.state == HF_NODE_MEMBER;
}

/* ---- to the feeder ---- */

/* The others count with what was attested until they know better: a feeder that died armed is
 * followed by one that keeps to no longer lease. */
static uint32_t lease_ms(const struct lease *l)
{
    struct hf_node_view node;
    bool is_attested = look(l, &node) && node.watchdog.state == HF_WD_ARMED;

    return is_attested && node.watchdog.lease_ms < l->conf.lease_ms ? node.watchdog.lease_ms
                                                                    : l->conf.lease_ms;
}

/* May others count on our watchdog, though our feeder has none open? Then it died with it open, and
 * nobody may tell its follower to stop what is still running. Known only while synchronised: away,
 * the others may have taken what we told last and we not seen it. */
static bool may_count(const struct lease *l)
{
    struct hf_node_view node;

    if (!l->is_synced || !look(l, &node) || node.watchdog.state == HF_WD_ARMED)
        return true;
    if (hf_token_is(node.watchdog.disarm))
        return !hf_token_same(node.watchdog.disarm, l->disarmed);
    return l->told_at.ns != 0 && l->told.u.attest.state == HF_WD_ARMED;
}

/* An armed feeder that we know nothing better for keeps what it has: a daemon that has just started
 * must not shorten its lease, and never close it. */
static void send(struct lease *l, hf_time now)
{
    struct hf_report report = {.kind = HF_REPORT_LEASE};
    l->send_at = hf_time_add_ms(now, LEASE_SEND_MS);
    if (!l->has_feeder || l->feeder.kind != HF_REPORT_WATCHDOG ||
        (is_armed(l) && l->echoed.ns == 0))
        return;
    report.u.lease.wants_armed = is_armed(l) ? !l->is_released : is_wanted(l) && may_arm(l);
    if (!report.u.lease.wants_armed && !is_armed(l) && may_count(l))
        return;
    report.u.lease.allow_softdog = l->conf.allow_softdog;
    report.u.lease.timeout_ms = l->conf.timeout_ms;
    report.u.lease.lease_ms = lease_ms(l);
    report.u.lease.sent_ns = l->echoed.ns;
    report.u.lease.hold_until_ns = l->hold_until.ns;
    (void)hf_str_copy(report.u.lease.device, sizeof report.u.lease.device, l->conf.device);
    (void)l->ports.tell(l->ports.user, HF_AGENT_FEEDER, &report);
}

/* ---- to the group ---- */

static void attestation(const struct lease *l, const struct hf_node_view *node, struct hf_event *ev)
{
    memset(ev, 0, sizeof *ev);
    ev->type = HF_EV_ATTEST;
    ev->u.attest.state = l->feeder.u.watchdog.state;
    ev->u.attest.version = l->feeder.u.watchdog.version;
    ev->u.attest.is_held = l->feeder.u.watchdog.is_held;
    memcpy(ev->u.attest.identity, l->feeder.u.watchdog.identity, sizeof ev->u.attest.identity);
    if (is_armed(l)) {
        ev->u.attest.timeout_ms = l->feeder.u.watchdog.timeout_ms;
        ev->u.attest.lease_ms = l->feeder.u.watchdog.lease_ms;
    }
    if (is_armed(l) && (l->is_releasing || l->is_released)) {
        ev->u.attest.state = HF_WD_DISARMED;
        ev->u.attest.timeout_ms = ev->u.attest.lease_ms = 0;
    }
    /* A hold that is ordered and has not reached us may still be performed. */
    if (!node->is_held || hf_token_is(l->hold))
        ev->u.attest.hold_seq = node->hold_seq;
}

static bool is_known(const struct hf_node_view *node, const struct hf_event *ev)
{
    bool ends_hold = node->hold_ms != 0 && !ev->u.attest.is_held &&
                     ev->u.attest.hold_seq >= node->hold_seq && !node->is_held;

    return !ends_hold && node->watchdog.state == ev->u.attest.state &&
           node->watchdog.is_held == ev->u.attest.is_held &&
           node->watchdog.timeout_ms == ev->u.attest.timeout_ms &&
           node->watchdog.lease_ms == ev->u.attest.lease_ms &&
           node->watchdog.version == ev->u.attest.version &&
           strcmp(node->watchdog.identity, ev->u.attest.identity) == 0;
}

static bool is_same(const struct hf_event *a, const struct hf_event *b)
{
    return a->u.attest.state == b->u.attest.state && a->u.attest.is_held == b->u.attest.is_held &&
           a->u.attest.hold_seq == b->u.attest.hold_seq &&
           a->u.attest.timeout_ms == b->u.attest.timeout_ms &&
           a->u.attest.lease_ms == b->u.attest.lease_ms &&
           a->u.attest.version == b->u.attest.version &&
           strcmp(a->u.attest.identity, b->u.attest.identity) == 0;
}

/* What the feeder is to the group's knowledge, unless it is so already. A feeder that is gone has
 * attested nothing new: what it armed goes on running towards its end. */
static void attest(struct lease *l, hf_time now)
{
    struct hf_node_view node;
    struct hf_event ev;
    struct hf_err err;

    if (!l->is_synced || !l->has_feeder || l->feeder.kind != HF_REPORT_WATCHDOG || !look(l, &node))
        return;
    attestation(l, &node, &ev);
    if (is_known(&node, &ev))
        return;
    if (l->told_at.ns != 0 && is_same(&ev, &l->told) &&
        hf_time_since_ms(now, l->told_at) < LEASE_AGAIN_MS)
        return;
    if (l->ports.submit(l->ports.user, &ev, &err) != HF_OK)
        return; /* again at the next turn */
    l->told = ev;
    l->told_at = now;
}

/* ---- events ---- */

void lease_feeder(struct lease *l, bool is_connected, hf_time now)
{
    if (l->has_feeder == is_connected)
        return;
    l->has_feeder = is_connected;
    if (is_connected)
        l->feeder.kind = 0; /* its first report comes with its hello */
    else
        hf_warning("the watchdog's feeder is gone%s",
                   is_armed(l) ? ": this host will be reset unless it comes back at once" : "");
    lease_turn(l, now);
}

void lease_told(struct lease *l, const struct hf_report *watchdog, hf_time now)
{
    bool was_armed = is_armed(l);
    enum hf_watchdog was =
        l->feeder.kind == HF_REPORT_WATCHDOG ? l->feeder.u.watchdog.state : HF_WD_UNKNOWN;

    l->feeder = *watchdog;
    if (was != watchdog->u.watchdog.state)
        hf_log(is_armed(l) || watchdog->u.watchdog.state <= HF_WD_DISARMED ? HF_LOG_INFO
                                                                           : HF_LOG_WARNING,
               "watchdog: %s", watchdog->u.watchdog.why);
    if (was_armed && !is_armed(l))
        l->is_released = l->is_releasing = false;
    lease_turn(l, now);
    send(l, now);
}

void lease_effect(struct lease *l, const struct hf_effect *fx, hf_time now)
{
    if (fx->type == HF_FX_DISARM) {
        l->disarmed = fx->token;
        l->is_released = l->is_releasing && is_armed(l);
    } else if (fx->type == HF_FX_HOLD && !hf_token_same(l->hold, fx->token)) {
        l->hold = fx->token;
        l->hold_until = hf_time_add_ms(now, fx->u.hold.ms);
        hf_info("on hold for %u ms: VMs run on while the group is away", fx->u.hold.ms);
    }
    send(l, now);
}

void lease_group(struct lease *l, bool is_synced, bool is_fit, hf_time now)
{
    if (is_synced && !l->is_synced)
        l->synced_at = now;
    l->is_synced = is_synced;
    l->is_fit = is_fit;
    lease_turn(l, now);
}

void lease_echoed(struct lease *l, hf_time sent, hf_time now)
{
    if (sent.ns <= l->echoed.ns)
        return;
    l->echoed = sent;
    send(l, now);
}

/* ---- turns ---- */

static hf_time expiry(const struct lease *l)
{
    if (l->echoed.ns == 0)
        return (hf_time){0};
    return hf_time_add_ms(l->echoed,
                          is_armed(l) ? l->feeder.u.watchdog.lease_ms : l->conf.lease_ms);
}

static void end_hold(struct lease *l, hf_time now)
{
    const struct engine *e = l->ports.engine(l->ports.user);

    /* Back, but not heard yet: the lease is still the one from before the absence, and may end
     * before the first beat of this session is echoed. */
    if (!hf_token_is(l->hold) || !l->is_synced || (e != NULL && engine_is_live(e, l->hold)) ||
        now.ns >= expiry(l).ns || l->echoed.ns < l->synced_at.ns)
        return;
    l->hold = (struct hf_token){0};
    l->hold_until = (hf_time){0};
}

static void want(struct lease *l, hf_time now)
{
    if (!l->is_synced)
        return;
    if (is_wanted(l)) {
        l->unwanted_since = (hf_time){0};
        l->is_releasing = false;
    } else if (l->unwanted_since.ns == 0) {
        l->unwanted_since = now;
    } else if (hf_time_since_ms(now, l->unwanted_since) >= LEASE_RELEASE_MS) {
        l->is_releasing = is_armed(l);
    }
}

/* The others may take our VMs soon: they end now. Nobody counts on it. Who has just been woken
 * gives the group a moment to say that nothing was missed. */
static void self_stop(struct lease *l, hf_time now)
{
    struct hf_report report = {.kind = HF_REPORT_SELF_STOP};
    hf_time end = expiry(l);

    if (l->turn.ns == 0 || hf_time_since_ms(now, l->turn) > LEASE_PAUSED_MS)
        l->awake_since = now;
    l->turn = now;
    if (!is_armed(l) || end.ns == 0 || now.ns < end.ns || now.ns < l->hold_until.ns) {
        l->has_stopped = false;
        return;
    }
    if (l->has_stopped || hf_time_since_ms(now, l->awake_since) < LEASE_GRACE_MS)
        return;
    hf_error("the lease is over: every VM of ours on this host is ended now");
    l->has_stopped = l->ports.tell(l->ports.user, HF_AGENT_VM, &report);
}

void lease_turn(struct lease *l, hf_time now)
{
    bool was_released = l->is_released;

    end_hold(l, now);
    want(l, now);
    attest(l, now);
    self_stop(l, now);
    if (hf_time_reached(now, l->send_at) || was_released != l->is_released)
        send(l, now);
}

hf_time lease_deadline(const struct lease *l)
{
    hf_time next = l->send_at;

    if (is_armed(l) && l->turn.ns != 0) {
        hf_time watch = hf_time_add_ms(l->turn, LEASE_WATCH_MS);

        next = watch.ns < next.ns ? watch : next;
    }
    return next;
}

struct lease_view lease_look(const struct lease *l)
{
    bool has_word = l->feeder.kind == HF_REPORT_WATCHDOG;

    return (struct lease_view){
        .has_feeder = l->has_feeder,
        .state = has_word ? l->feeder.u.watchdog.state : HF_WD_UNKNOWN,
        .why = has_word ? l->feeder.u.watchdog.why : "the feeder has not spoken yet",
        .identity = has_word ? l->feeder.u.watchdog.identity : "",
        .timeout_ms = has_word ? l->feeder.u.watchdog.timeout_ms : 0,
        .lease_ms = has_word ? l->feeder.u.watchdog.lease_ms : 0,
        .expires = is_armed(l) ? expiry(l) : (hf_time){0},
        .hold_until = l->hold_until,
        .was_reset = has_word && l->feeder.u.watchdog.was_reset,
    };
}
