/* Rounds of greeting, and what every member computes alike from the hellos at their end. */
#include "supervisord/base/hash.h"
#include "supervisord/cluster/replica_internal.h"

/* ---- rounds ---- */

static void forget_session(struct replica *r)
{
    for (uint32_t i = 0; i < r->members_count; i++) {
        struct member *m = &r->members[i];

        /* is_foreign stays: such a member answers no greeting of ours, in any round. */
        m->has_hello = m->is_counted = m->has_ready = m->is_ok = false;
        m->is_participant = false;
        m->acked = m->echoed_no = 0;
    }
    r->donor = NULL;
    r->is_forming = r->is_late = r->is_copying = r->has_chosen = false;
    r->snap_total = r->snap_at = r->snap_have = 0;
    r->stable = r->released = r->ordered = 0;
    r->wants_ready = r->wants_beat = false;
    r->wants_ack = 0;
    for (size_t i = 0; i < GROUP_WAITS; i++)
        r->wants_go[i] = false;
}

static bool is_quiet(const struct replica *r)
{
    return r->loads_refused >= LOADS_MAX;
}

/* A partition heals piece by piece: two of three lone members meet a second before the third (seen
 * with corosync 3.1.7, token 1000). Deciding at once they would shoot the one who is just coming.
 * So members who were frozen wait for those still missing: token and consensus of the slower
 * profile, once. */
enum { REGAIN_WAIT_MS = 3000 };

static bool waits_for_more(struct replica *r)
{
    unsigned configured;

    if (!r->was_frozen || r->kind != GROUP_STATE_LIVE || r->round > 0)
        return false;
    configured = engine_group(replica_state(r)).group->nodes_count;
    return r->members_count > configured / 2u && r->members_count < configured;
}

void greet_begin(struct replica *r, hf_time now)
{
    forget_session(r);
    r->is_holding = waits_for_more(r);
    r->wants_hello = !is_quiet(r) && !r->is_holding;
    r->stage_due = hf_time_add_ms(now, r->is_holding ? REGAIN_WAIT_MS : r->settings.hello_wait_ms);
    replica_enter(r, STAGE_GREET, REPLICA_GREETING,
                  r->round == 0 ? "the group changed" : "somebody greeted late, or asked for it");
}

void greet_again(struct replica *r, hf_time now)
{
    r->round++;
    greet_begin(r, now);
}

static bool all_have_greeted(const struct replica *r)
{
    for (uint32_t i = 0; i < r->members_count; i++)
        if (!r->members[i].has_hello && !r->members[i].is_foreign)
            return false;
    return true;
}

void greet_hello(struct replica *r, struct member *m, const struct group_header *h,
                 const struct group_hello *hello, hf_time now)
{
    if (hello->session.members_hash != r->members_hash || r->stage == STAGE_DOUBT)
        return;
    if (r->stage != STAGE_GREET) {
        /* A second copy from somebody who has greeted in this round says nothing new. */
        if (!m->has_hello)
            greet_again(r, now);
        return;
    }
    if (hello->session.round != r->round || m->has_hello)
        return;
    m->has_hello = true;
    m->boot = h->boot;
    m->incarnation = h->incarnation;
    m->hello = *hello;
    if (all_have_greeted(r))
        greet_end(r, now);
}

void greet_foreign(struct replica *r, struct member *m, uint16_t version, hf_time now)
{
    struct hf_err text;

    r->counters.foreign++;
    if (m->has_hello) {
        (void)hf_err_set(&text, HF_EBAD,
                         "node %u sent a message of version %u, this daemon speaks %u", m->nodeid,
                         version, GROUP_VERSION);
        replica_stop(r, text.text);
        return;
    }
    m->is_foreign = true;
    if (r->stage == STAGE_GREET && all_have_greeted(r))
        greet_end(r, now);
}

void greet_go(struct replica *r, const struct group_go *go, hf_time now)
{
    if (!group_session_same(go->session, replica_session(r)))
        return;
    switch (go->wait) {
    case GROUP_WAIT_HELLOS:
        if (r->stage == STAGE_GREET)
            greet_end(r, now);
        return;
    case GROUP_WAIT_READY:
        if (r->stage == STAGE_AGREE)
            sync_conclude(r, now);
        return;
    case GROUP_WAIT_AGAIN:
        greet_again(r, now);
        return;
    case GROUP_WAITS:
        break;
    }
    HF_ASSERT(go->wait < GROUP_WAITS);
}

/* ---- the choice ---- */

static bool is_better(const struct group_hello *a, const struct group_hello *b)
{
    if (a->epoch != b->epoch)
        return a->epoch > b->epoch;
    if (a->seq != b->seq)
        return a->seq > b->seq;
    return a->kind > b->kind;
}

static bool is_alive_in(const struct member *m, uint64_t lineage)
{
    return m->has_hello && m->hello.kind == GROUP_STATE_LIVE && m->hello.lineage == lineage;
}

/* Every decision of a lineage is acknowledged by a majority that carries it alive. So when a
 * majority carries it alive here, one of them remembers the last one, whatever disks and minorities
 * say. */
static bool is_certain(const struct replica *r, const struct member *of)
{
    unsigned alive = 0;

    for (uint32_t i = 0; i < r->members_count; i++)
        if (is_alive_in(&r->members[i], of->hello.lineage))
            alive++;
    return is_alive_in(of, of->hello.lineage) && alive > of->hello.nodes_count / 2u;
}

/* Members are sorted by node id: the first of equals is the lowest. */
static struct member *best_state(struct replica *r)
{
    struct member *best = NULL;
    bool best_certain = false;

    for (uint32_t i = 0; i < r->members_count; i++) {
        struct member *m = &r->members[i];
        bool certain;

        if (!m->has_hello || m->hello.kind == GROUP_STATE_NONE)
            continue;
        certain = is_certain(r, m);
        if (best == NULL || certain > best_certain ||
            (certain == best_certain && is_better(&m->hello, &best->hello))) {
            best = m;
            best_certain = certain;
        }
    }
    return best;
}

/* A name no other session has: daemons do not live twice. */
static uint64_t new_lineage(const struct replica *r)
{
    uint64_t hash = hf_hash(HF_HASH_START, &r->members_hash, sizeof r->members_hash);

    for (uint32_t i = 0; i < r->members_count; i++) {
        const struct member *m = &r->members[i];

        if (!m->has_hello)
            continue;
        hash = hf_hash(hash, m->boot.id, sizeof m->boot.id);
        hash = hf_hash(hash, &m->incarnation, sizeof m->incarnation);
    }
    hash = hf_hash(hash, &r->round, sizeof r->round);
    return hash ? hash : 1;
}

static bool config_same(const struct member *a, const struct member *b)
{
    return a->has_hello && b->has_hello && hf_digest_equal(&a->hello.config, &b->hello.config);
}

static unsigned bring_the_file_of(const struct replica *r, const struct member *of)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < r->members_count; i++)
        if (config_same(&r->members[i], of) && r->members[i].hello.ruleset == of->hello.ruleset)
            count++;
    return count;
}

/* Nobody has a state: whose file a majority of that file's nodes brings, if there is one. */
static struct member *founder(struct replica *r)
{
    for (uint32_t i = 0; i < r->members_count; i++) {
        struct member *m = &r->members[i];

        if (m->has_hello && bring_the_file_of(r, m) > m->hello.nodes_count / 2u)
            return m;
    }
    return NULL;
}

static bool lists(const struct group_hello *hello, uint32_t nodeid)
{
    for (size_t i = 0; i < hello->nodes_count; i++)
        if (hello->nodeids[i] == nodeid)
            return true;
    return false;
}

/* A group that starts from disks may not have the newest one among them: a journal is never waited
 * for. What it decides from now on must outrank that disk when it turns up, so the epoch leaves
 * room for more views than a disk can be behind. */
enum { COLD_STEP = 1000000 };

/* Who is counted: greeted, belongs to the state's group, decides by the same rules. */
static unsigned count_members(struct replica *r)
{
    unsigned counted = 0;
    uint64_t promised = 0;

    for (uint32_t i = 0; i < r->members_count; i++) {
        struct member *m = &r->members[i];

        m->is_counted = m->has_hello && lists(&r->donor->hello, m->nodeid) &&
                        m->hello.ruleset == r->donor->hello.ruleset;
        if (!m->is_counted)
            continue;
        counted++;
        if (m->hello.promised > promised)
            promised = m->hello.promised;
    }
    r->is_cold = !is_certain(r, r->donor);
    r->lineage = r->is_cold ? new_lineage(r) : 0;
    r->epoch = promised + (r->is_cold && !r->is_forming ? COLD_STEP : 1);
    return counted;
}

static bool has_the_state(const struct replica *r, const struct member *m)
{
    const struct group_hello *want = &r->donor->hello, *has = &m->hello;

    if (r->is_forming)
        return config_same(m, r->donor);
    return has->kind != GROUP_STATE_NONE && has->epoch == want->epoch && has->seq == want->seq &&
           has->digest == want->digest;
}

static bool somebody_lacks_it(const struct replica *r)
{
    for (uint32_t i = 0; i < r->members_count; i++)
        if (r->members[i].is_counted && !has_the_state(r, &r->members[i]))
            return true;
    return false;
}

static const char *outside_why(const struct replica *r)
{
    if (r->self->has_hello && r->self->hello.ruleset != r->donor->hello.ruleset)
        return "the group decides by other rules than this daemon";
    if (!lists(&r->donor->hello, r->self->nodeid))
        return "this node is not in the running configuration";
    if (is_quiet(r))
        return "the group's state cannot be loaded here";
    return "greeted too late for this round";
}

/* Left out because our hello came too late or was lost: it goes again until it is delivered, and
 * its delivery starts the next round. */
static void wait_to_be_heard(struct replica *r, hf_time now)
{
    r->is_late = !r->self->has_hello && !is_quiet(r);
    r->stage_due = r->is_late ? hf_time_add_ms(now, r->settings.hello_wait_ms) : REPLICA_NEVER;
}

static void freeze(struct replica *r, const char *why, hf_time now)
{
    for (uint32_t i = 0; i < r->members_count; i++)
        if (r->members[i].is_foreign)
            why = "not a majority: a member speaks another version of the protocol";
    r->was_frozen = true;
    wait_to_be_heard(r, now);
    replica_enter(r, STAGE_FROZEN, REPLICA_FROZEN, why);
}

/* Form the state from our own file, in the spare engine: it becomes ours when the view agrees. */
static bool form(struct replica *r)
{
    struct hf_err err;

    if (engine_init(replica_spare(r), &r->file, &err) == HF_OK) {
        replica_state_swapped(r);
        for (size_t i = 0; i < HF_NODES_MAX; i++)
            r->streams[i] = (struct stream){0};
        return true;
    }
    return false;
}

static void agree(struct replica *r, hf_time now)
{
    r->is_copying = somebody_lacks_it(r);
    r->stage_due = hf_time_add_ms(now, r->settings.hello_wait_ms);
    replica_enter(r, STAGE_AGREE, r->is_copying ? REPLICA_COPYING : REPLICA_GREETING,
                  r->is_copying ? "a member needs the state" : "everybody holds the state");
    if (!has_the_state(r, r->self))
        return;
    if (r->is_forming && !form(r)) {
        sync_hold(r, false);
        return;
    }
    sync_hold(r, true);
    if (r->is_copying && r->donor == r->self)
        copy_pack(r);
}

static void outside(struct replica *r, hf_time now)
{
    wait_to_be_heard(r, now);
    replica_enter(r, STAGE_OUTSIDE, REPLICA_FROZEN, outside_why(r));
}

void greet_end(struct replica *r, hf_time now)
{
    unsigned counted;

    r->donor = best_state(r);
    r->is_forming = r->donor == NULL;
    if (r->is_forming)
        r->donor = founder(r);
    if (r->donor == NULL) {
        freeze(r, "no state, and no majority brings the same cluster file", now);
        return;
    }
    r->configured = r->donor->hello.nodes_count;
    counted = count_members(r);
    if (counted < replica_majority(r))
        freeze(r, "not a majority of the configured nodes", now);
    else if (!r->self->is_counted)
        outside(r, now);
    else
        agree(r, now);
}

/* ---- waiting ---- */

void greet_tick(struct replica *r, hf_time now)
{
    if (!hf_time_reached(now, r->stage_due))
        return;
    r->stage_due = hf_time_add_ms(now, r->settings.hello_wait_ms);
    switch (r->stage) {
    case STAGE_GREET:
        if (r->is_holding) { /* nobody else came */
            r->is_holding = false;
            r->wants_hello = !is_quiet(r);
            break;
        }
        if (!r->self->has_hello && !is_quiet(r))
            r->wants_hello = true;
        r->wants_go[GROUP_WAIT_HELLOS] = true;
        break;
    case STAGE_AGREE:
        if (!r->self->has_ready && r->has_chosen)
            r->wants_ready = true;
        r->wants_go[GROUP_WAIT_READY] = true;
        break;
    case STAGE_OUTSIDE:
    case STAGE_FROZEN:
        /* Greeted but not ready in time: only a new round can take us in. */
        r->wants_go[GROUP_WAIT_AGAIN] = !r->is_late;
        r->wants_hello = r->is_late;
        break;
    case STAGE_DOUBT:
        r->wants_go[GROUP_WAIT_AGAIN] = true;
        break;
    case STAGE_OUT:
    case STAGE_SYNCED:
        r->stage_due = REPLICA_NEVER;
        break;
    }
}
