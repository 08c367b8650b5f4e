/* cluster.c - see cluster.h. Rules modelled from corosync 3.1, measured and read: detection
 * takes 2.2 x token; members that stay together deliver the same messages before the next view;
 * what waits in a corosync is sent in whatever ring it is in then; the joinlist of a new ring is
 * complete but for joins still under way; a lost member may stay in the list as a ghost. */
#include "tests/sim/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

static void *grow(void *at, uint32_t *cap, size_t size)
{
    *cap = *cap ? 2 * *cap : 16;
    void *more = realloc(at, *cap * size);
    if (more == NULL)
        abort();
    return more;
}

/* ---- messages ---- */

static struct message *message_new(enum message_kind kind, uint32_t nodeid, uint32_t pid,
                                   const void *bytes, size_t len)
{
    struct message *m = malloc(sizeof *m + len);
    if (m == NULL)
        abort();
    *m = (struct message){
        .refs = 1, .len = (uint32_t)len, .nodeid = nodeid, .pid = pid, .kind = kind};
    if (len > 0)
        memcpy(m->bytes, bytes, len);
    return m;
}

static void message_drop(struct message *m)
{
    if (--m->refs == 0)
        free(m);
}

static void list_add(struct message_list *l, struct message *m)
{
    if (l->count == l->cap)
        l->at = grow(l->at, &l->cap, sizeof *l->at);
    l->at[l->count++] = m;
}

static void list_clear(struct message_list *l)
{
    for (uint32_t i = l->first; i < l->count; i++)
        if (l->at[i] != NULL)
            message_drop(l->at[i]);
    l->first = l->count = 0;
}

/* ---- the wires ---- */

static bool hears(const struct sim *s, unsigned to, unsigned from)
{
    return (s->totem.cut[from] >> to & 1u) == 0;
}

static bool both_ways(const struct sim *s, unsigned a, unsigned b)
{
    return hears(s, a, b) && hears(s, b, a);
}

static bool is_live(const struct sim *s, unsigned n)
{
    const struct corosync *c = &s->totem.coro[n];
    return c->is_alive && !c->is_paused;
}

static struct ring *ring_of(struct sim *s, unsigned n)
{
    struct corosync *c = &s->totem.coro[n];
    return c->ring < RINGS_MAX ? &s->totem.ring[c->ring] : NULL;
}

hf_nodes totem_members(const struct sim *s, hf_node n)
{
    const struct corosync *c = &s->totem.coro[n.ix];
    return c->is_alive && c->ring < RINGS_MAX ? s->totem.ring[c->ring].members : 0;
}

/* ---- to the daemon ---- */

static void client_push(struct sim *s, unsigned n, const struct client_item *item)
{
    struct client_queue *q = &s->totem.client[n];
    if (q->count == q->cap)
        q->at = grow(q->at, &q->cap, sizeof *q->at);
    q->at[q->count++] = *item;
    totem_client_wake(s, sim_node_at(n));
}

void totem_client_wake(struct sim *s, hf_node n)
{
    struct client_queue *q = &s->totem.client[n.ix];
    if (q->has_event || q->first == q->count || s->node[n.ix].is_paused)
        return;
    q->has_event = true;
    queue_push(&s->queue, (struct sim_event){.at = s->now + sim_us(s, 20, s->opt.client_us),
                                             .kind = SIM_CLIENT,
                                             .node = n.ix});
}

bool totem_client_is_idle(const struct sim *s, hf_node n)
{
    return s->totem.client[n.ix].first == s->totem.client[n.ix].count;
}

static void client_clear(struct client_queue *q)
{
    for (uint32_t i = q->first; i < q->count; i++)
        if (q->at[i].message != NULL)
            message_drop(q->at[i].message);
    q->first = q->count = 0;
}

static void client_view(struct sim *s, unsigned n)
{
    struct corosync *c = &s->totem.coro[n];
    struct ring *r = ring_of(s, n);
    if (r == NULL || c->client_pid == 0 || c->joined_pid != c->client_pid)
        return;
    struct client_item item = {.is_view = true, .view = r->id, .ring = r->members};
    for (unsigned i = 0; i < s->opt.nodes; i++) {
        uint32_t nodeid = s->group.nodes[i].nodeid;
        if (c->peers[i] != 0)
            item.peers[item.peers_count++] = (struct replica_peer){nodeid, c->peers[i]};
        if (c->ghosts[i] != 0)
            item.peers[item.peers_count++] = (struct replica_peer){nodeid, c->ghosts[i]};
        if (c->strangers[i] != 0)
            item.peers[item.peers_count++] = (struct replica_peer){nodeid, c->strangers[i]};
    }
    client_push(s, n, &item);
}

void totem_client(struct sim *s, hf_node n)
{
    struct client_queue *q = &s->totem.client[n.ix];
    struct sim_node *d = &s->node[n.ix];
    q->has_event = false;
    uint32_t batch = 16; /* a loop's round; the rest waits for the next one */
    while (q->first < q->count && d->is_alive && !d->is_paused && batch-- > 0) {
        struct client_item item = q->at[q->first++];
        hf_time now = node_clock(s, n);
        if (item.is_view) {
            uint32_t ring[HF_NODES_MAX];
            size_t count = 0;
            for (unsigned i = 0; i < s->opt.nodes; i++)
                if (item.ring >> i & 1u)
                    ring[count++] = s->group.nodes[i].nodeid;
            SAY(s, n.ix, "view %u.%llu ring %02x, %u in the group", item.view.leader,
                (unsigned long long)item.view.seq, item.ring, item.peers_count);
            sim_busy(s);
            d->view_ring = item.ring;
            replica_members(d->replica, item.view, item.peers, item.peers_count, ring, count, now);
        } else {
            replica_deliver(d->replica, item.message->nodeid, item.message->pid,
                            item.message->bytes, item.message->len, now);
            message_drop(item.message);
        }
        if (s->is_failed)
            return;
    }
    if (q->first == q->count) {
        q->first = q->count = 0;
        if (d->is_alive && !d->is_paused)
            node_perform(s, n);
    }
    if (d->is_alive)
        node_reschedule(s, n);
    totem_client_wake(s, n);
}

/* ---- delivery within a ring ---- */

static unsigned sender_of(const struct sim *s, const struct message *m)
{
    unsigned from = 0;
    while (from < s->opt.nodes && s->group.nodes[from].nodeid != m->nodeid)
        from++;
    return from;
}

static void deliver_entry(struct sim *s, unsigned n, struct message *m)
{
    struct corosync *c = &s->totem.coro[n];
    unsigned from = sender_of(s, m);
    switch (m->kind) {
    case MESSAGE_JOIN:
        c->peers[from] = m->pid;
        c->ghosts[from] = 0;
        if (from == n)
            c->joined_pid = m->pid;
        client_view(s, n);
        return;
    case MESSAGE_LEAVE:
        if (c->peers[from] == m->pid)
            c->peers[from] = 0;
        if (c->joined_pid == m->pid && from == n)
            c->joined_pid = 0;
        client_view(s, n);
        return;
    case MESSAGE_STRANGER_JOIN:
    case MESSAGE_STRANGER_LEAVE:
        c->strangers[from] = m->kind == MESSAGE_STRANGER_JOIN ? m->pid : 0;
        client_view(s, n);
        return;
    case MESSAGE_DATA:
        if (c->client_pid == 0 || c->joined_pid != c->client_pid)
            return;
        m->refs++;
        client_push(s, n, &(struct client_item){.message = m});
        return;
    }
}

static void receive(struct sim *s, unsigned n, uint32_t upto, bool is_recovery)
{
    struct corosync *c = &s->totem.coro[n];
    struct ring *r = ring_of(s, n);
    while (c->got < upto) {
        struct message *m = r->log.at[c->got];
        unsigned from = sender_of(s, m);
        if (!is_recovery && from != n && r->is_stalled && !hears(s, n, from))
            c->has_hole = true; /* not before somebody sends it again */
        if (c->has_hole && !is_recovery)
            return;
        c->got++;
        deliver_entry(s, n, m);
    }
}

static void trim(struct sim *s, struct ring *r)
{
    uint32_t least = r->log.count;
    for (unsigned i = 0; i < s->opt.nodes; i++)
        if (ring_of(s, i) == r && s->totem.coro[i].got < least)
            least = s->totem.coro[i].got;
    while (r->log.first < least) {
        message_drop(r->log.at[r->log.first]);
        r->log.at[r->log.first++] = NULL;
    }
}

static void receive_later(struct sim *s, unsigned n, int64_t delay)
{
    struct ring *r = ring_of(s, n);
    queue_push(&s->queue, (struct sim_event){.at = s->now + delay,
                                             .kind = SIM_RECEIVE,
                                             .node = (uint8_t)n,
                                             .a = s->totem.coro[n].ring,
                                             .b = r->log.count,
                                             .gen = r->gen});
}

static void token_soon(struct sim *s, uint8_t ring_ix)
{
    struct ring *r = &s->totem.ring[ring_ix];
    if (r->has_token_event || r->is_stalled)
        return;
    r->has_token_event = true;
    queue_push(&s->queue, (struct sim_event){.at = s->now + sim_us(s, 50, s->opt.net_us),
                                             .kind = SIM_TOKEN,
                                             .a = ring_ix,
                                             .gen = r->gen});
}

static bool spoil(struct sim *s, struct corosync *c, struct message *m)
{
    if (m->kind != MESSAGE_DATA)
        return false;
    /* Some of the next ones, not all: what comes after a loss has its place all the same. */
    bool is_lost = c->lose_next > 0 && sim_chance(s, 600);
    c->lose_next -= is_lost;
    if (is_lost || sim_chance(s, s->opt.drop_permille)) {
        s->totem.dropped++;
        faults_count(s, FAULT_C5);
        return true;
    }
    if (c->loses_large && m->len > TOTEM_SMALL_BYTES) {
        faults_count(s, FAULT_C16);
        return true;
    }
    if (m->len > 0 && sim_chance(s, s->opt.corrupt_permille)) {
        m->bytes[sim_between(s, 0, m->len - 1)] ^= (uint8_t)(1u << sim_between(s, 0, 7));
        faults_count(s, FAULT_C7);
    }
    return false;
}

/* What a stranger may say again some day. */
static void overhear(struct sim *s, struct message *m)
{
    if (!s->opt.has_stranger || m->kind != MESSAGE_DATA || !sim_chance(s, 100))
        return;
    struct message **kept = &s->totem.heard[sim_between(s, 0, TOTEM_HEARD_MAX - 1)];
    if (*kept != NULL)
        message_drop(*kept);
    *kept = m;
    m->refs++;
}

/* Give the waiting messages of n their places. Returns how many data messages got one. */
static uint32_t place_waiting(struct sim *s, unsigned n)
{
    struct corosync *c = &s->totem.coro[n];
    struct ring *r = ring_of(s, n);
    uint32_t placed = 0;
    if (s->now < c->held_until)
        return 0;
    if (c->held_until != 0)
        sim_busy(s); /* it speaks again: others need time to notice */
    c->held_until = 0;
    while (c->waiting.first < c->waiting.count) {
        struct message *m = c->waiting.at[c->waiting.first++];
        if (spoil(s, c, m)) {
            message_drop(m);
            continue;
        }
        placed += m->kind == MESSAGE_DATA;
        overhear(s, m);
        list_add(&r->log, m);
    }
    c->waiting.first = c->waiting.count = 0;
    return placed;
}

static void token(struct sim *s, uint8_t ring_ix)
{
    struct ring *r = &s->totem.ring[ring_ix];
    uint32_t before = r->log.count;
    unsigned start = (unsigned)sim_between(s, 0, s->opt.nodes - 1);
    r->has_token_event = false;
    for (unsigned k = 0; k < s->opt.nodes; k++) {
        unsigned n = (start + k) % s->opt.nodes;
        if (ring_of(s, n) != r)
            continue;
        uint32_t placed = place_waiting(s, n);
        if (placed > 0 && hf_node_same(s->totem.last_words, sim_node_at(n))) {
            s->totem.last_words = HF_NO_NODE;
            faults_count(s, (enum fault)s->totem.last_words_fault);
            SAY(s, (int)n, "cut off right after its last words");
            receive(s, n, r->log.count, false);
            totem_cut_off(s, hf_bit(sim_node_at(n)));
            for (unsigned i = 0; i < s->opt.nodes; i++)
                if (i != n && ring_of(s, i) == r && sim_chance(s, 300))
                    receive(s, i, r->log.count, true);
            return;
        }
        if (s->now < s->totem.coro[n].held_until)
            token_soon(s, ring_ix);
    }
    if (r->log.count == before)
        return;
    for (unsigned n = 0; n < s->opt.nodes; n++)
        if (ring_of(s, n) == r && is_live(s, n))
            receive_later(s, n, sim_us(s, 20, s->opt.net_us));
}

/* ---- membership ---- */

static void reform_in(struct sim *s, int64_t delay)
{
    struct totem *t = &s->totem;
    int64_t at = s->now + delay;
    if (t->has_reform && t->reform_at <= at)
        return;
    t->has_reform = true;
    t->reform_at = at;
    queue_push(&s->queue, (struct sim_event){.at = at, .kind = SIM_REFORM, .gen = ++t->reform_gen});
}

static int64_t detection(struct sim *s)
{
    return SIM_MS(s->opt.token_ms) * 22 * sim_between(s, 950, 1200) / 10000;
}

/* The token holder of a ring that stalls may have sent something that few received. */
static void last_instant(struct sim *s, struct ring *r)
{
    hf_node holder = sim_node_at((unsigned)sim_between(s, 0, s->opt.nodes - 1));
    if (r->last_instant_gone || ring_of(s, holder.ix) != r || !is_live(s, holder.ix))
        return;
    if (s->totem.coro[holder.ix].waiting.first == s->totem.coro[holder.ix].waiting.count)
        return;
    r->last_instant_gone = true;
    s->totem.last_instants++;
    place_waiting(s, holder.ix);
    receive(s, holder.ix, r->log.count, false);
    for (unsigned i = 0; i < s->opt.nodes; i++)
        if (i != holder.ix && ring_of(s, i) == r && is_live(s, i) && hears(s, i, holder.ix) &&
            sim_chance(s, 500))
            receive_later(s, i, sim_us(s, 20, s->opt.net_us));
}

static bool can_turn(struct sim *s, const struct ring *r)
{
    for (unsigned a = 0; a < s->opt.nodes; a++) {
        if ((r->members >> a & 1u) == 0)
            continue;
        if (!is_live(s, a) || ring_of(s, a) != r)
            return false;
        for (unsigned b = 0; b < a; b++)
            if ((r->members >> b & 1u) && !both_ways(s, a, b))
                return false;
    }
    return true;
}

void totem_wires_changed(struct sim *s)
{
    struct totem *t = &s->totem;
    sim_busy(s);
    for (uint8_t i = 0; i < RINGS_MAX; i++) {
        struct ring *r = &t->ring[i];
        if (!r->is_used)
            continue;
        bool turns = can_turn(s, r);
        if (!turns && !r->is_stalled) {
            r->is_stalled = true;
            last_instant(s, r);
            reform_in(s, detection(s));
        } else if (turns && r->is_stalled) {
            r->is_stalled = false;
            r->last_instant_gone = false;
            for (unsigned n = 0; n < s->opt.nodes; n++)
                if (ring_of(s, n) == r) {
                    t->coro[n].has_hole = false;
                    receive_later(s, n, sim_us(s, 20, s->opt.net_us));
                }
            token_soon(s, i);
        }
    }
    reform_in(s, detection(s)); /* whoever hears of strangers merges */
}

static void ring_release(struct sim *s, uint8_t ix)
{
    struct ring *r = &s->totem.ring[ix];
    for (unsigned n = 0; n < s->opt.nodes; n++)
        if (s->totem.coro[n].ring == ix)
            return;
    list_clear(&r->log);
    r->is_used = false;
    r->gen++;
}

static uint8_t ring_new(struct sim *s)
{
    for (uint8_t i = 0; i < RINGS_MAX; i++)
        if (!s->totem.ring[i].is_used)
            return i;
    abort(); /* at most one ring a node is in use, and those are released at once */
}

/* Recovery: what one of `part` has, all of `part` get. Beyond a hole only their own messages can be
 * had; what others sent there is lost to them. */
static void flush_ring(struct sim *s, struct ring *r, hf_nodes part)
{
    uint32_t most = 0;
    for (unsigned n = 0; n < s->opt.nodes; n++)
        if ((part >> n & 1u) && ring_of(s, n) == r && s->totem.coro[n].got > most)
            most = s->totem.coro[n].got;
    for (unsigned n = 0; n < s->opt.nodes; n++) {
        if ((part >> n & 1u) == 0 || ring_of(s, n) != r)
            continue;
        receive(s, n, most, true);
        for (uint32_t i = most; i < r->log.count; i++)
            if (part >> sender_of(s, r->log.at[i]) & 1u)
                deliver_entry(s, n, r->log.at[i]);
    }
}

static void flush_old(struct sim *s, hf_nodes part)
{
    for (uint8_t i = 0; i < RINGS_MAX; i++)
        if (s->totem.ring[i].is_used)
            flush_ring(s, &s->totem.ring[i], part);
}

/* The joinlist of the new ring; whoever was in the list and is not in the ring may stay as a ghost.
 */
static void fill_peers(struct sim *s, hf_nodes part)
{
    struct totem *t = &s->totem;
    for (unsigned i = 0; i < s->opt.nodes; i++) {
        bool haunts = (part >> i & 1u) == 0 && sim_chance(s, s->opt.ghost_permille);
        for (unsigned n = 0; n < s->opt.nodes; n++) {
            struct corosync *c = &t->coro[n];
            if ((part >> n & 1u) == 0)
                continue;
            if (part >> i & 1u) {
                c->peers[i] = t->coro[i].joined_pid;
                c->strangers[i] = t->coro[i].stranger_pid;
                c->ghosts[i] = 0;
                continue;
            }
            c->strangers[i] = 0;
            if (haunts && c->peers[i] != 0) {
                c->ghosts[i] = c->peers[i];
                t->ghosts_shown++;
                faults_count(s, FAULT_C8);
            }
            c->peers[i] = 0;
        }
    }
}

/* From here on nobody in a majority's ring can hear those outside it. */
static void note_excluded(struct sim *s, hf_nodes part)
{
    for (unsigned n = 0; n < s->opt.nodes; n++) {
        int64_t *since = &s->totem.excluded_since[n];
        if (part >> n & 1u)
            *since = 0;
        else if (sim_is_majority(s, part) && *since == 0)
            *since = s->now;
    }
}

static void form(struct sim *s, hf_nodes part)
{
    struct totem *t = &s->totem;
    uint64_t seq = 0;
    uint8_t old[HF_NODES_MAX];
    flush_old(s, part);
    uint8_t ix = ring_new(s);
    struct ring *r = &t->ring[ix];
    for (unsigned n = 0; n < s->opt.nodes; n++) {
        old[n] = t->coro[n].ring;
        if ((part >> n & 1u) && t->coro[n].newest_seq > seq)
            seq = t->coro[n].newest_seq;
    }
    struct message_list log = r->log;
    log.first = log.count = 0;
    *r = (struct ring){.is_used = true, .members = part, .gen = r->gen + 1, .log = log};
    r->id = (struct hf_view){s->group.nodes[hf_nodes_first(part).ix].nodeid, seq + 4};
    for (unsigned n = 0; n < s->opt.nodes; n++) {
        struct corosync *c = &t->coro[n];
        if ((part >> n & 1u) == 0)
            continue;
        c->ring = ix;
        c->got = 0;
        c->has_hole = false;
        c->newest_seq = r->id.seq;
        if (c->waiting.first < c->waiting.count)
            t->old_views++;
    }
    fill_peers(s, part);
    note_excluded(s, part);
    for (unsigned n = 0; n < s->opt.nodes; n++) {
        if ((part >> n & 1u) == 0)
            continue;
        client_view(s, n);
        if (old[n] < RINGS_MAX && old[n] != ix)
            ring_release(s, old[n]);
    }
    token_soon(s, ix);
}

static void reform(struct sim *s)
{
    hf_nodes left = 0;
    bool is_transitive = true;
    s->totem.has_reform = false;
    sim_busy(s);
    for (unsigned n = 0; n < s->opt.nodes; n++)
        if (is_live(s, n))
            left |= (hf_nodes)(1u << n);
    hf_nodes live = left;
    for (unsigned a = 0; a < s->opt.nodes; a++)
        for (unsigned b = 0; b < s->opt.nodes; b++)
            for (unsigned c = 0; c < s->opt.nodes; c++)
                if ((live >> a & live >> b & live >> c & 1u) && both_ways(s, a, b) &&
                    both_ways(s, b, c) && !both_ways(s, a, c))
                    is_transitive = false;
    while (left != 0) {
        hf_nodes part = 0;
        unsigned start = (unsigned)sim_between(s, 0, s->opt.nodes - 1);
        for (unsigned k = 0; k < s->opt.nodes; k++) {
            unsigned n = (start + k) % s->opt.nodes;
            bool fits = left >> n & 1u;
            for (unsigned m = 0; m < s->opt.nodes && fits; m++)
                if ((part >> m & 1u) && !both_ways(s, n, m))
                    fits = false;
            if (fits)
                part |= (hf_nodes)(1u << n);
        }
        left &= (hf_nodes)~part;
        struct ring *r = ring_of(s, hf_nodes_first(part).ix);
        if (r == NULL || r->members != part || !can_turn(s, r))
            form(s, part);
    }
    if (!is_transitive)
        reform_in(s, SIM_MS(s->opt.token_ms) * sim_between(s, 10, 80) / 10);
}

void totem_glitch(struct sim *s, hf_node n)
{
    struct ring *r = ring_of(s, n.ix);
    if (r == NULL || !can_turn(s, r))
        return;
    sim_busy(s);
    last_instant(s, r);
    form(s, r->members);
}

/* ---- the corosync process ---- */

void totem_open(struct sim *s)
{
    memset(&s->totem, 0, sizeof s->totem);
    s->totem.last_words = s->totem.stops_after = HF_NO_NODE;
    for (unsigned n = 0; n < s->opt.nodes; n++)
        s->totem.coro[n].ring = RINGS_MAX;
}

void totem_close(struct sim *s)
{
    for (unsigned i = 0; i < RINGS_MAX; i++) {
        list_clear(&s->totem.ring[i].log);
        free(s->totem.ring[i].log.at);
    }
    for (unsigned n = 0; n < HF_NODES_MAX; n++) {
        client_clear(&s->totem.client[n]);
        free(s->totem.client[n].at);
        list_clear(&s->totem.coro[n].waiting);
        free(s->totem.coro[n].waiting.at);
    }
    for (unsigned i = 0; i < TOTEM_HEARD_MAX; i++)
        if (s->totem.heard[i] != NULL)
            message_drop(s->totem.heard[i]);
}

void totem_start(struct sim *s, hf_node n)
{
    struct corosync *c = &s->totem.coro[n.ix];
    if (c->is_alive || !s->world.host[n.ix].is_up)
        return;
    sim_busy(s);
    c->is_alive = true;
    c->is_paused = false;
    c->ring = RINGS_MAX;
    form(s, hf_bit(n)); /* alone first, then it merges */
    reform_in(s, sim_ms(s, 50, s->opt.token_ms + 500));
    if (s->node[n.ix].is_alive)
        node_connect_soon(s, n);
}

void totem_stop(struct sim *s, hf_node n, bool is_clean)
{
    struct corosync *c = &s->totem.coro[n.ix];
    struct ring *r = ring_of(s, n.ix);
    if (!c->is_alive)
        return;
    sim_busy(s);
    if (is_clean && r != NULL && !r->is_stalled && c->joined_pid != 0) {
        list_add(&r->log,
                 message_new(MESSAGE_LEAVE, s->group.nodes[n.ix].nodeid, c->joined_pid, NULL, 0));
        for (unsigned i = 0; i < s->opt.nodes; i++)
            if (i != n.ix && ring_of(s, i) == r && is_live(s, i))
                receive_later(s, i, sim_us(s, 20, s->opt.net_us));
    }
    c->is_alive = c->is_paused = false;
    c->gen++;
    list_clear(&c->waiting);
    client_clear(&s->totem.client[n.ix]);
    memset(c->peers, 0, sizeof c->peers);
    memset(c->ghosts, 0, sizeof c->ghosts);
    memset(c->strangers, 0, sizeof c->strangers);
    c->stranger_pid = 0;
    c->client_pid = c->joined_pid = 0;
    uint8_t old = c->ring;
    c->ring = RINGS_MAX;
    if (old < RINGS_MAX)
        ring_release(s, old);
    totem_wires_changed(s);
    if (is_clean)
        reform_in(s, sim_ms(s, 20, 200));
    node_apart(s, n);
}

void totem_pause(struct sim *s, hf_node n)
{
    struct corosync *c = &s->totem.coro[n.ix];
    if (!c->is_alive || c->is_paused)
        return;
    c->is_paused = true;
    totem_wires_changed(s);
}

void totem_resume(struct sim *s, hf_node n)
{
    struct corosync *c = &s->totem.coro[n.ix];
    struct ring *r = ring_of(s, n.ix);
    if (!c->is_alive || !c->is_paused)
        return;
    c->is_paused = false;
    /* Others may have left this ring: what it still held back it may deliver to itself only. */
    if (r != NULL && r->is_stalled && !can_turn(s, r) && !r->last_instant_gone &&
        sim_chance(s, 400)) {
        r->last_instant_gone = true;
        s->totem.last_instants++;
        place_waiting(s, n.ix);
        receive(s, n.ix, r->log.count, false);
    }
    totem_wires_changed(s);
    reform_in(s, sim_ms(s, 20, 500));
}

void totem_hold(struct sim *s, hf_node n, int64_t until)
{
    struct corosync *c = &s->totem.coro[n.ix];
    sim_busy(s);
    c->held_until = until;
    if (s->check.fence[n.ix].synced_since != 0)
        s->check.fence[n.ix].synced_since = until; /* not stable while it cannot speak */
}

/* ---- the daemon's side ---- */

void totem_connect(struct sim *s, hf_node n, uint32_t pid)
{
    struct corosync *c = &s->totem.coro[n.ix];
    c->client_pid = pid;
    c->joined_pid = 0;
    client_clear(&s->totem.client[n.ix]);
    list_add(&c->waiting, message_new(MESSAGE_JOIN, s->group.nodes[n.ix].nodeid, pid, NULL, 0));
    token_soon(s, c->ring);
}

void totem_disconnect(struct sim *s, hf_node n)
{
    struct corosync *c = &s->totem.coro[n.ix];
    client_clear(&s->totem.client[n.ix]);
    if (!c->is_alive || c->client_pid == 0)
        return;
    list_add(&c->waiting,
             message_new(MESSAGE_LEAVE, s->group.nodes[n.ix].nodeid, c->client_pid, NULL, 0));
    c->client_pid = 0;
    if (c->ring < RINGS_MAX)
        token_soon(s, c->ring);
}

void totem_mcast(struct sim *s, hf_node n, const void *bytes, size_t len)
{
    struct corosync *c = &s->totem.coro[n.ix];
    if (!c->is_alive || c->client_pid == 0)
        return;
    if (len > HF_GROUP_MESSAGE_MAX)
        sim_fail(s, "S14: node %u multicasts %zu bytes", n.ix, len);
    list_add(&c->waiting,
             message_new(MESSAGE_DATA, s->group.nodes[n.ix].nodeid, c->client_pid, bytes, len));
    if (hf_node_same(s->totem.stops_after, n)) {
        s->totem.stops_after = HF_NO_NODE;
        faults_at_word(s, n);
    }
    if (c->ring < RINGS_MAX && !c->is_paused)
        token_soon(s, c->ring);
}

/* ---- a second process in the group, under a node's name ---- */

static void stranger_says(struct sim *s, hf_node n, enum message_kind kind, const void *bytes,
                          size_t len)
{
    struct corosync *c = &s->totem.coro[n.ix];
    uint32_t nodeid = s->group.nodes[n.ix].nodeid;
    list_add(&c->waiting, message_new(kind, nodeid, c->stranger_pid, bytes, len));
    if (c->ring < RINGS_MAX && !c->is_paused)
        token_soon(s, c->ring);
}

static void stranger_later(struct sim *s, hf_node n)
{
    queue_push(&s->queue, (struct sim_event){.at = s->now + sim_ms(s, 1, 2000),
                                             .kind = SIM_STRANGER,
                                             .node = n.ix,
                                             .gen = s->totem.coro[n.ix].gen});
}

void totem_stranger_joins(struct sim *s, hf_node n, uint32_t words)
{
    struct corosync *c = &s->totem.coro[n.ix];
    if (!c->is_alive || c->stranger_pid != 0)
        return;
    sim_busy(s);
    SAY(s, n.ix, "a stranger joins the group");
    c->stranger_pid = 60000u + n.ix;
    c->stranger_words = words;
    stranger_says(s, n, MESSAGE_STRANGER_JOIN, NULL, 0);
    stranger_later(s, n);
}

void totem_stranger_speaks(struct sim *s, hf_node n, uint32_t gen)
{
    struct corosync *c = &s->totem.coro[n.ix];
    uint8_t noise[200];
    if (c->gen != gen || c->stranger_pid == 0)
        return;
    sim_busy(s);
    if (c->stranger_words == 0) {
        SAY(s, n.ix, "the stranger leaves the group");
        stranger_says(s, n, MESSAGE_STRANGER_LEAVE, NULL, 0);
        c->stranger_pid = 0;
        return;
    }
    c->stranger_words--;
    const struct message *old = s->totem.heard[sim_between(s, 0, TOTEM_HEARD_MAX - 1)];
    if (old != NULL && sim_chance(s, 700)) {
        stranger_says(s, n, MESSAGE_DATA, old->bytes, old->len);
    } else {
        size_t len = (size_t)sim_between(s, 1, sizeof noise);
        for (size_t i = 0; i < len; i++)
            noise[i] = (uint8_t)sim_between(s, 0, 255);
        stranger_says(s, n, MESSAGE_DATA, noise, len);
    }
    stranger_later(s, n);
}

/* ---- faults of the wires ---- */

void totem_cut(struct sim *s, hf_node from, hf_node to, bool is_cut)
{
    if (is_cut)
        s->totem.cut[from.ix] |= hf_bit(to);
    else
        s->totem.cut[from.ix] &= (hf_nodes)~hf_bit(to);
}

void totem_cut_off(struct sim *s, hf_nodes part)
{
    hf_nodes rest = (hf_nodes)(sim_all(s) & ~part);
    for (unsigned n = 0; n < s->opt.nodes; n++)
        s->totem.cut[n] |= part >> n & 1u ? rest : part;
    totem_wires_changed(s);
}

void totem_heal(struct sim *s, hf_nodes among)
{
    for (unsigned n = 0; n < s->opt.nodes; n++)
        if (among >> n & 1u)
            s->totem.cut[n] &= (hf_nodes)~among;
    totem_wires_changed(s);
    reform_in(s, sim_ms(s, 50, s->opt.token_ms));
}

void totem_event(struct sim *s, const struct sim_event *ev)
{
    struct ring *r = ev->kind == SIM_REFORM ? NULL : &s->totem.ring[ev->a];
    switch (ev->kind) {
    case SIM_TOKEN:
        if (r->gen != ev->gen)
            return;
        if (r->is_stalled)
            r->has_token_event = false;
        else
            token(s, (uint8_t)ev->a);
        return;
    case SIM_RECEIVE:
        if (r->gen != ev->gen || ring_of(s, ev->node) != r || !is_live(s, ev->node))
            return;
        receive(s, ev->node, ev->b, false);
        trim(s, r);
        return;
    case SIM_REFORM:
        if (ev->gen == s->totem.reform_gen)
            reform(s);
        return;
    default:
        return;
    }
}
