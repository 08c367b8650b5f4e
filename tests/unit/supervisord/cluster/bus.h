/* bus.h - a totally ordered bus for tests: hosts in rings, one daemon each, an inbox per daemon.
 * What a daemon multicasts is appended to the inbox of everybody in its host's ring at that moment;
 * a change of membership is one more entry of the same inboxes, so all who stay together see the
 * same order. Time stands still while anything is undelivered. Tests cut, pause, drop, double and
 * damage; after every delivery the bus compares the states of whoever is synchronised. */
#ifndef TESTS_UNIT_SUPERVISORD_CLUSTER_BUS_H
#define TESTS_UNIT_SUPERVISORD_CLUSTER_BUS_H

#include <stdio.h>
#include <string.h>

#include "supervisord/cluster/replica.h"
#include "supervisord/wire/event.h"
#include "supervisord/wire/group.h"
#include "tests/unit/check.h"
#include "tests/unit/supervisord/a_group.h"

enum { HOSTS_MAX = 6, INBOX_MAX = 8192, NOTES_MAX = 4096 };

struct item {
    bool is_members;
    uint32_t nodeid, pid;
    size_t len;
    uint8_t *bytes;
    struct hf_view view;
    struct replica_peer peers[HOSTS_MAX + 2];
    size_t peers_count;
    uint32_t ring[HOSTS_MAX];
    size_t ring_count;
};

struct host {
    struct replica *r; /* NULL: no daemon */
    uint32_t nodeid, pid;
    bool is_up, is_paused; /* paused: its inbox waits */
    bool holds_out;        /* its multicasts are kept in the stopped corosync */
    int ring;
    struct item *inbox[INBOX_MAX];
    size_t first, last;
    struct item *kept[INBOX_MAX];
    size_t kept_count;
    /* what its ports were told */
    struct hf_effect fx[NOTES_MAX];
    size_t fx_count;
    uint64_t stepped, mine[NOTES_MAX];
    size_t mine_count;
    unsigned replaced, resynced, absorbed;
    uint64_t absorbed_cookie;
    char why[200];
    size_t sides;
    uint8_t side_last;
    struct hf_event members_event; /* the last HF_EV_MEMBERS it applied */
    struct hf_event beat_event;    /* the last HF_EV_BEAT it applied */
    unsigned beat_events;
    unsigned phases[REPLICA_PHASES];
    bool was_effect_early; /* an order was released outside REPLICA_SYNCED */
};

struct bus {
    struct host host[HOSTS_MAX];
    unsigned count;
    struct hf_group file;
    hf_time now;
    uint64_t ring_seq;
    uint32_t pid_next;
    /* faults: what to do with a message on its way from `from` to `to` (-1: asked once for all) */
    bool (*drop)(const struct item *item, int from, int to);
    unsigned doubles; /* so many of the next messages are delivered twice */
    uint64_t mcasts[GROUP_TYPES];
    unsigned in_flight_most;
    bool ignores_divergence;
};

static struct bus bus; /* a case runs in a process of its own */

static inline enum group_type type_of(const struct item *item)
{
    return (enum group_type)(item->bytes[6] | item->bytes[7] << 8);
}

static inline void push(struct host *h, struct item *item)
{
    ck_assert_uint_lt(h->last, INBOX_MAX);
    h->inbox[h->last++] = item;
}

static inline struct item *copy_of(const struct item *item)
{
    struct item *copy = malloc(sizeof *copy);

    ck_assert_ptr_nonnull(copy);
    *copy = *item;
    if (item->bytes != NULL) {
        copy->bytes = malloc(item->len);
        ck_assert_ptr_nonnull(copy->bytes);
        memcpy(copy->bytes, item->bytes, item->len);
    }
    return copy;
}

static inline void free_item(struct item *item)
{
    free(item->bytes);
    free(item);
}

static inline void spread(const struct item *item, int from)
{
    unsigned times = bus.doubles > 0 ? 2 : 1;

    if (bus.doubles > 0)
        bus.doubles--;
    if (bus.drop != NULL && bus.drop(item, from, -1))
        return;
    for (unsigned k = 0; k < times; k++)
        for (unsigned to = 0; to < bus.count; to++) {
            struct host *h = &bus.host[to];

            if (h->r == NULL || !h->is_up || h->ring != bus.host[from].ring)
                continue;
            struct item *copy = copy_of(item);
            if (bus.drop != NULL && bus.drop(copy, from, (int)to))
                free_item(copy);
            else
                push(h, copy);
        }
}

/* ---- ports ---- */

static inline void port_mcast(void *user, const void *bytes, size_t len)
{
    struct host *h = user;
    struct item item = {.nodeid = h->nodeid, .pid = h->pid, .len = len};
    struct item *copy;

    ck_assert_uint_le(len, HF_GROUP_MESSAGE_MAX);
    item.bytes = malloc(len);
    ck_assert_ptr_nonnull(item.bytes);
    memcpy(item.bytes, bytes, len);
    bus.mcasts[type_of(&item)]++;
    copy = copy_of(&item);
    free(item.bytes);
    if (h->holds_out) {
        ck_assert_uint_lt(h->kept_count, INBOX_MAX);
        h->kept[h->kept_count++] = copy;
        return;
    }
    spread(copy, (int)(h - bus.host));
    free_item(copy);
}

static inline void port_stepped(void *user, const struct engine *e, const struct hf_event *ev,
                                const struct engine_out *out, bool is_mine, uint64_t cookie)
{
    struct host *h = user;

    (void)out;
    ck_assert_uint_eq(engine_seq(e), ev->seq);
    h->stepped++;
    if (is_mine)
        h->mine[h->mine_count++] = cookie;
    if (ev->type == HF_EV_MEMBERS)
        h->members_event = *ev;
    if (ev->type == HF_EV_BEAT) {
        h->beat_event = *ev;
        h->beat_events++;
    }
}

static inline void port_replaced(void *user, const struct engine *e)
{
    ck_assert_ptr_nonnull(e);
    ((struct host *)user)->replaced++;
}

static inline void port_effect(void *user, const struct hf_effect *fx)
{
    struct host *h = user;

    ck_assert_uint_lt(h->fx_count, NOTES_MAX);
    if (fx->type != HF_FX_TIMER && replica_look(h->r).phase != REPLICA_SYNCED)
        h->was_effect_early = true;
    h->fx[h->fx_count++] = *fx;
}

static inline void port_resync(void *user, const struct engine *e)
{
    ck_assert_ptr_nonnull(e);
    ((struct host *)user)->resynced++;
}

static inline void port_phase(void *user, enum replica_phase was, enum replica_phase now,
                              const char *why)
{
    struct host *h = user;

    ck_assert_int_ne((int)was, (int)now);
    ck_assert_uint_gt(strlen(why), 0);
    snprintf(h->why, sizeof h->why, "%s", why);
    h->phases[now]++;
}

static inline void port_side(void *user, uint32_t nodeid, const uint8_t *bytes, size_t len)
{
    struct host *h = user;

    (void)nodeid;
    h->sides++;
    h->side_last = len > 0 ? bytes[0] : 0;
}

static inline void port_absorbed(void *user, uint64_t cookie)
{
    struct host *h = user;

    h->absorbed++;
    h->absorbed_cookie = cookie;
}

/* ---- rings ---- */

static inline void tell_members(int ring)
{
    struct item item = {.is_members = true};

    for (unsigned i = 0; i < bus.count; i++) {
        struct host *h = &bus.host[i];

        if (!h->is_up || h->ring != ring)
            continue;
        if (item.ring_count == 0)
            item.view.leader = h->nodeid;
        item.ring[item.ring_count++] = h->nodeid;
        if (h->r != NULL)
            item.peers[item.peers_count++] = (struct replica_peer){h->nodeid, h->pid};
    }
    item.view.seq = bus.ring_seq;
    for (unsigned i = 0; i < bus.count; i++) {
        struct host *h = &bus.host[i];

        if (h->r != NULL && h->is_up && h->ring == ring)
            push(h, copy_of(&item));
    }
}

/* Rings change: rings[i] is host i's new ring. What a stopped corosync kept comes out in it. */
static inline void cut(const char *rings)
{
    bus.ring_seq += 4;
    for (unsigned i = 0; i < bus.count; i++)
        bus.host[i].ring = (unsigned char)rings[i];
    for (int ring = 'a'; ring <= 'z'; ring++)
        tell_members(ring);
}

/* What nobody will read any more. */
static inline void empty_inbox(struct host *h)
{
    while (h->first < h->last)
        free_item(h->inbox[h->first++]);
    h->first = h->last = 0;
}

/* What a stopped corosync had kept dies with the daemon. */
static inline void empty_kept(struct host *h)
{
    while (h->kept_count > 0)
        free_item(h->kept[--h->kept_count]);
}

static inline struct replica_settings settings_of(unsigned i, uint64_t incarnation)
{
    struct replica_settings s = {.nodeid = i + 1,
                                 .incarnation = incarnation,
                                 .file = &bus.file,
                                 .beat_ms = 100,
                                 .mute_after_ms = 1000,
                                 .hello_wait_ms = 1000,
                                 .resend_ms = 2000};

    s.boot.id[0] = (uint8_t)(i + 1);
    return s;
}

static inline void load(unsigned i, const struct hf_group *file)
{
    struct host *h = &bus.host[i];
    struct replica_settings s = settings_of(i, bus.pid_next);
    struct replica_ports ports = {h,           port_mcast, port_stepped, port_replaced, port_effect,
                                  port_resync, port_phase, port_side,    port_absorbed};
    struct hf_err err;

    if (file != NULL)
        s.file = file;
    free(h->r); /* a daemon that was killed without a word */
    h->r = aligned_alloc(64, (replica_size() + 63) / 64 * 64);
    ck_assert_ptr_nonnull(h->r);
    memset((void *)h->r, 0xa5, replica_size());
    h->pid = bus.pid_next++;
    h->fx_count = h->mine_count = 0;
    empty_inbox(h);
    empty_kept(h);
    h->holds_out = h->is_paused = false;
    ck_assert_int_eq(replica_init(h->r, &s, &ports, &err), HF_OK);
}

/* The daemon of host i joins its ring. */
static inline void join(unsigned i)
{
    if (bus.host[i].r == NULL)
        load(i, NULL);
    tell_members(bus.host[i].ring);
}

static inline void kill_daemon(unsigned i)
{
    free(bus.host[i].r);
    bus.host[i].r = NULL;
    empty_inbox(&bus.host[i]);
    tell_members(bus.host[i].ring);
}

static inline void power_off(unsigned i)
{
    free(bus.host[i].r);
    bus.host[i].r = NULL;
    empty_inbox(&bus.host[i]);
    bus.host[i].is_up = false;
    bus.ring_seq += 4;
    tell_members(bus.host[i].ring);
}

static inline void power_on(unsigned i)
{
    bus.host[i].is_up = true;
    bus.ring_seq += 4;
    tell_members(bus.host[i].ring);
}

/* ---- time ---- */

static inline void compare_states(void)
{
    for (unsigned a = 0; a < bus.count; a++)
        for (unsigned b = 0; b < a; b++) {
            struct replica *ra = bus.host[a].r, *rb = bus.host[b].r;

            if (ra == NULL || rb == NULL || replica_look(ra).phase != REPLICA_SYNCED ||
                replica_look(rb).phase != REPLICA_SYNCED ||
                !hf_view_same(replica_look(ra).view, replica_look(rb).view) ||
                replica_look(ra).round != replica_look(rb).round ||
                engine_seq(replica_engine(ra)) != engine_seq(replica_engine(rb)))
                continue;
            ck_assert_uint_eq(engine_digest(replica_engine(ra)), engine_digest(replica_engine(rb)));
        }
}

static inline bool deliver_one(struct host *h)
{
    struct item *item;

    if (h->r == NULL || h->is_paused || h->first == h->last)
        return false;
    item = h->inbox[h->first++];
    if (h->first == h->last)
        h->first = h->last = 0;
    if (item->is_members)
        replica_members(h->r, item->view, item->peers, item->peers_count, item->ring,
                        item->ring_count, bus.now);
    else
        replica_deliver(h->r, item->nodeid, item->pid, item->bytes, item->len, bus.now);
    free_item(item);
    if (replica_look(h->r).in_flight > bus.in_flight_most)
        bus.in_flight_most = replica_look(h->r).in_flight;
    return true;
}

static inline void settle(void)
{
    bool is_busy = true;

    for (unsigned guard = 0; is_busy; guard++) {
        ck_assert_msg(guard < 200000, "the members talk without end");
        is_busy = false;
        for (unsigned i = 0; i < bus.count; i++)
            if (deliver_one(&bus.host[i]))
                is_busy = true;
        if (!bus.ignores_divergence && guard % 8 == 0)
            compare_states();
    }
    if (!bus.ignores_divergence)
        compare_states();
}

static inline void run_ms(int64_t ms)
{
    hf_time end = hf_time_add_ms(bus.now, ms);

    settle();
    for (;;) {
        hf_time due = end;

        for (unsigned i = 0; i < bus.count; i++)
            if (bus.host[i].r != NULL && !bus.host[i].is_paused &&
                replica_deadline(bus.host[i].r).ns < due.ns)
                due = replica_deadline(bus.host[i].r);
        if (due.ns >= end.ns)
            break;
        if (due.ns > bus.now.ns)
            bus.now = due;
        for (unsigned i = 0; i < bus.count; i++)
            if (bus.host[i].r != NULL && !bus.host[i].is_paused &&
                replica_deadline(bus.host[i].r).ns <= bus.now.ns) {
                replica_tick(bus.host[i].r, bus.now);
                ck_assert_msg(replica_deadline(bus.host[i].r).ns > bus.now.ns,
                              "a tick left its deadline behind");
            }
        settle();
    }
    bus.now = end;
}

/* ---- a group to test with ---- */

/* Hosts up in ring 'a', no daemon yet. */
static inline void bus_open(unsigned nodes)
{
    memset(&bus, 0, sizeof bus);
    bus.count = nodes;
    bus.file = a_group((uint8_t)nodes);
    bus.file.config.b[0] = 1;
    bus.now = (hf_time){1000 * HF_NS_PER_MS};
    bus.ring_seq = 4;
    bus.pid_next = 100;
    for (unsigned i = 0; i < nodes; i++) {
        bus.host[i].nodeid = i + 1;
        bus.host[i].is_up = true;
        bus.host[i].ring = 'a';
    }
}

static inline void bus_form(unsigned nodes)
{
    bus_open(nodes);
    for (unsigned i = 0; i < nodes; i++)
        join(i);
    run_ms(500);
}

static inline enum replica_phase phase_of(unsigned i)
{
    return replica_look(bus.host[i].r).phase;
}

static inline uint64_t seq_of(unsigned i)
{
    return engine_seq(replica_engine(bus.host[i].r));
}

static inline uint64_t digest_of(unsigned i)
{
    return engine_digest(replica_engine(bus.host[i].r));
}

static inline struct hf_event facts(uint32_t memory_mib)
{
    struct hf_event ev = {.type = HF_EV_FACTS};

    ev.u.facts.memory_mib = memory_mib;
    ev.u.facts.cores = 16;
    ev.u.facts.vm_watch_known = ev.u.facts.link_fit = ev.u.facts.config_same = true;
    return ev;
}

static inline enum hf_code submit(unsigned i, const struct hf_event *ev, uint64_t cookie)
{
    struct hf_err err;

    return replica_submit(bus.host[i].r, ev, cookie, bus.now, &err);
}

static inline void tell_facts(unsigned i, uint32_t memory_mib, uint64_t cookie)
{
    struct hf_event ev = facts(memory_mib);

    ck_assert_int_eq(submit(i, &ev, cookie), HF_OK);
}

/* Every daemon tells that nothing runs there, as of what it has applied. */
static inline void all_run_nothing(void)
{
    for (unsigned i = 0; i < bus.count; i++) {
        struct hf_event ev = {.type = HF_EV_INVENTORY};

        if (bus.host[i].r == NULL)
            continue;
        ev.u.inventory.as_of = engine_as_of(replica_engine(bus.host[i].r));
        ck_assert_int_eq(submit(i, &ev, 0), HF_OK);
    }
    settle();
}

/* Every daemon told its facts and that nothing runs there. */
static inline void all_ready(void)
{
    for (unsigned i = 0; i < bus.count; i++)
        if (bus.host[i].r != NULL)
            tell_facts(i, 65536, 0);
    all_run_nothing();
}

static inline struct hf_event add_vm(const char *name, unsigned node)
{
    struct hf_event ev = {.type = HF_EV_ORDER};

    ev.u.order.type = HF_ORDER_VM_ADD;
    ev.u.order.node = HF_NO_NODE;
    ev.u.order.wants_run = true;
    ev.u.order.def = a_vm(name);
    ev.u.order.def.preferred = (hf_node){(uint8_t)node};
    return ev;
}

/* A VM is added at host i and wanted; it is ordered to start when everybody has said that it does
 * not run there already. */
static inline void add_and_start(unsigned i, const char *name, unsigned node)
{
    struct hf_event ev = add_vm(name, node);
    const struct engine *e;
    hf_vm vm;

    ck_assert_int_eq(submit(i, &ev, 1), HF_OK);
    settle();
    all_run_nothing();
    e = replica_engine(bus.host[i].r);
    vm = engine_vm_by_name(e, name);
    ck_assert(hf_vm_is(vm));
    ck_assert_int_eq(engine_vm(e, vm).state, HF_VM_STARTING);
    ck_assert_uint_eq(engine_vm(e, vm).home.ix, node);
}

static inline size_t orders(unsigned i, enum hf_effect_type type)
{
    size_t count = 0;

    for (size_t k = 0; k < bus.host[i].fx_count; k++)
        if (bus.host[i].fx[k].type == type)
            count++;
    return count;
}

#define ck_phase(i_, phase_)                                                                       \
    ck_assert_msg(phase_of(i_) == (phase_), "node %u is in phase %d (%s), not %d", (i_) + 1u,      \
                  (int)phase_of(i_), bus.host[i_].why, (int)(phase_))

#endif
