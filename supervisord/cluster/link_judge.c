#include "supervisord/cluster/link_judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"

/* ---- fit to decide through ---- */

static bool is_off(const char *crypto)
{
    return crypto[0] == '\0' || strcmp(crypto, "none") == 0;
}

const char *link_unfit(const struct link_facts *facts, uint32_t nodeid,
                       const struct hf_group *group)
{
    if (facts->nodeid != 0 && facts->nodeid != nodeid)
        return "corosync's own node id is not this node's in the cluster file";
    if (facts->version[0] == '\0')
        return "corosync's version is not known";
    /* Before 3.1.6 recovery could lose or damage messages and take the group down (e7a82370). */
    if (!hf_str_is_version_from(facts->version, 3, 1, 6))
        return "corosync is older than 3.1.6";
    if (is_off(facts->cipher) || is_off(facts->hash))
        return "corosync's messages are not encrypted (crypto_cipher, crypto_hash)";
    if (facts->expected_votes != group->nodes_count)
        return "corosync expects another number of votes than the cluster file has nodes";
    if (facts->node_votes != 1)
        return "this node has another number of votes in corosync than one (quorum_votes)";
    return NULL;
}

/* ---- notes ---- */

struct book {
    const struct hf_group *group;
    struct link_note *notes;
    unsigned count;
};

enum tone { GOOD, BAD, ERROR };

static void note(struct book *b, enum tone tone, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void note(struct book *b, enum tone tone, const char *format, ...)
{
    struct link_note *n = &b->notes[b->count];
    va_list args;

    HF_ASSERT(b->count < LINK_NOTES_MAX);
    n->is_bad = tone != GOOD;
    n->is_error = tone == ERROR;
    va_start(args, format);
    (void)vsnprintf(n->text, sizeof n->text, format, args);
    va_end(args);
    b->count++;
}

static const char *name_of(const struct hf_group *group, uint32_t nodeid, char out[24])
{
    for (unsigned i = 0; i < group->nodes_count; i++)
        if (group->nodes[i].nodeid == nodeid)
            return group->nodes[i].name;
    (void)snprintf(out, 24, "node id %u", (unsigned)nodeid);
    return out;
}

/* "0", "1", "0 and 1" */
static void links_text(uint8_t links, char out[64])
{
    size_t at = 0;

    out[0] = '\0';
    for (unsigned i = 0; i < LINK_KNET_MAX && at < 60; i++)
        if ((links & 1u << i) != 0)
            at += (size_t)snprintf(out + at, 64 - at, "%s%u", at > 0 ? " and " : "", i);
}

static bool is_pause_grave(const struct link_facts *facts, uint32_t ms)
{
    return facts->token_ms != 0 &&
           (uint64_t)ms * 10 >= (uint64_t)facts->token_ms * LINK_PAUSE_WARN_TENTHS;
}

/* ---- what has changed ---- */

static const struct link_path *path_to(const struct link_facts *facts, uint32_t nodeid)
{
    for (unsigned i = 0; i < facts->paths_count && i < LINK_PATHS_MAX; i++)
        if (facts->paths[i].nodeid == nodeid)
            return &facts->paths[i];
    return NULL;
}

static void path_news(struct book *b, const struct link_path *was, const struct link_path *now)
{
    uint8_t both = was->enabled & now->enabled;
    uint8_t lost = both & was->connected & (uint8_t)~now->connected;
    uint8_t back = both & now->connected & (uint8_t)~was->connected;
    char name[24], links[64];

    if (lost != 0) {
        links_text(lost, links);
        note(b, BAD, "network link %s to %s lost%s", links, name_of(b->group, now->nodeid, name),
             now->connected == 0 ? ": none is left" : ", the other one carries on");
    }
    if (back != 0) {
        links_text(back, links);
        note(b, GOOD, "network link %s to %s is back", links, name_of(b->group, now->nodeid, name));
    }
}

static void votes_news(struct book *b, const struct link_facts *was, const struct link_facts *now)
{
    if (was->expected_votes != 0 && now->expected_votes != 0 &&
        was->expected_votes != now->expected_votes)
        note(b, now->expected_votes == b->group->nodes_count ? GOOD : ERROR,
             "expected votes changed from %u to %u, and the cluster file has %u nodes",
             (unsigned)was->expected_votes, (unsigned)now->expected_votes,
             (unsigned)b->group->nodes_count);
    if (was->quorate == LINK_YES && now->quorate == LINK_NO)
        note(b, BAD, "votequorum is not quorate any more: %u of %u votes are there",
             (unsigned)now->total_votes, (unsigned)now->expected_votes);
    if (was->is_waiting == LINK_YES && now->is_waiting == LINK_NO)
        note(b, GOOD,
             "all nodes were there once, or somebody cancelled the wait for them "
             "(quorum.cancel_wait_for_all)");
}

/* True: told. */
static bool pause_news(struct book *b, const struct link_facts *was, const struct link_facts *now)
{
    if (now->pauses.last_at == 0 || now->pauses.last_at == was->pauses.last_at ||
        !is_pause_grave(now, now->pauses.last_ms))
        return false;
    note(b, BAD,
         "corosync did not get to run for %u ms, its token is %u ms: a longer pause makes "
         "the others lose this node",
         (unsigned)now->pauses.last_ms, (unsigned)now->token_ms);
    return true;
}

unsigned link_watch_take(struct link_watch *w, const struct link_facts *facts, hf_time at,
                         const struct hf_group *group, struct link_note notes[LINK_NOTES_MAX])
{
    const struct link_facts *was = &w->known, *now = facts;
    struct book b = {group, notes, 0};

    w->facts = *facts;
    if (now->token_ms == 0) /* cmap did not answer */
        return 0;
    if (was->token_ms == 0) {
        w->known = *facts;
        return 0;
    }
    votes_news(&b, was, now);
    if (pause_news(&b, was, now)) {
        w->paused_at = at;
        w->pause_ms = now->pauses.last_ms;
    }
    for (unsigned i = 0; i < now->paths_count && i < LINK_PATHS_MAX; i++) {
        const struct link_path *before = path_to(was, now->paths[i].nodeid);

        if (before != NULL)
            path_news(&b, before, &now->paths[i]);
    }
    w->known = *facts;
    return b.count;
}

/* ---- what is wrong now ---- */

static void path_need(struct book *b, const struct link_path *path)
{
    uint8_t lost = path->enabled & (uint8_t)~path->connected;
    char name[24], links[64];

    /* All lost is a node that is gone: its own entry says so, and much more. */
    if (lost == 0 || path->connected == 0)
        return;
    links_text(lost, links);
    note(b, BAD, "network link %s to %s is down: one more failure cuts it off", links,
         name_of(b->group, path->nodeid, name));
}

unsigned link_watch_needs(const struct link_watch *w, hf_time at, const struct hf_group *group,
                          struct link_note notes[LINK_NOTES_MAX])
{
    const struct link_facts *now = &w->facts;
    struct book b = {group, notes, 0};
    bool has_single = false;

    if (now->token_ms == 0) {
        note(&b, BAD, "corosync's settings are not known: it does not answer, or hangs");
        return b.count;
    }
    if (now->is_waiting == LINK_YES && now->quorate != LINK_YES)
        note(&b, ERROR,
             "corosync waits for all nodes (wait_for_all): switch the missing ones on, or cancel "
             "it: corosync-cmapctl -s quorum.cancel_wait_for_all u8 1");
    if (w->paused_at.ns != 0 && hf_time_since_ms(at, w->paused_at) < LINK_PAUSE_RECENT_MS)
        note(&b, BAD,
             "corosync was kept from running for %u ms, its token is %u ms: this node may "
             "be lost falsely",
             (unsigned)w->pause_ms, (unsigned)now->token_ms);
    for (unsigned i = 0; i < now->paths_count && i < LINK_PATHS_MAX; i++) {
        path_need(&b, &now->paths[i]);
        has_single |= (now->paths[i].enabled & (uint8_t)(now->paths[i].enabled - 1u)) == 0 &&
                      now->paths[i].enabled != 0;
    }
    if (has_single)
        note(&b, BAD, "one network link only: a single cable, port or switch cuts a node off");
    return b.count;
}
