#include "supervisord/cluster/link/facts.h"

#include "supervisord/base/str.h"

#include <corosync/cmap.h>
#include <corosync/votequorum.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert(sizeof(struct link_facts) <= PIPE_BUF,
               "one write to the pipe is whole or not at all");

/* ---- cmap ---- */

static void read_text(cmap_handle_t cmap, const char *key, char out[LINK_TEXT_MAX + 1])
{
    char *text = NULL;

    out[0] = '\0';
    if (cmap_get_string(cmap, key, &text) != CS_OK)
        return;
    if (!hf_str_copy(out, LINK_TEXT_MAX + 1, text))
        out[0] = '\0';
    free(text);
}

static uint32_t read_u32(cmap_handle_t cmap, const char *key)
{
    uint32_t v = 0;

    return cmap_get_uint32(cmap, key, &v) == CS_OK ? v : 0;
}

static enum link_known read_flag(cmap_handle_t cmap, const char *key)
{
    uint8_t v = 0;

    if (cmap_get_uint8(cmap, key, &v) != CS_OK)
        return LINK_UNKNOWN;
    return v != 0 ? LINK_YES : LINK_NO;
}

/* cmap answers, the key is not there: corosync's default, which is no encryption. secauth, the old
 * name, is on by that very word only (totemconfig.c). */
static void default_crypto(cmap_handle_t cmap, struct link_facts *facts)
{
    char secauth[LINK_TEXT_MAX + 1];
    bool is_on;

    read_text(cmap, "totem.secauth", secauth);
    is_on = strcmp(secauth, "on") == 0;
    if (facts->cipher[0] == '\0')
        (void)hf_str_copy(facts->cipher, sizeof facts->cipher, is_on ? "aes256" : "none");
    if (facts->hash[0] == '\0')
        (void)hf_str_copy(facts->hash, sizeof facts->hash, is_on ? "sha256" : "none");
}

/* Who is in the node list; the links themselves are in the map of statistics. */
static void read_nodelist(cmap_handle_t cmap, struct link_facts *facts)
{
    char key[64];

    for (unsigned i = 0; i < LINK_PATHS_MAX; i++) {
        uint32_t nodeid;

        (void)snprintf(key, sizeof key, "nodelist.node.%u.nodeid", i);
        nodeid = read_u32(cmap, key);
        if (nodeid == 0)
            return;
        if (nodeid != facts->nodeid)
            facts->paths[facts->paths_count++].nodeid = nodeid;
    }
}

static void read_cmap(struct link_facts *facts)
{
    cmap_handle_t cmap;

    if (cmap_initialize(&cmap) != CS_OK)
        return;
    facts->nodeid = read_u32(cmap, "runtime.votequorum.this_node_id");
    facts->token_ms = read_u32(cmap, "runtime.config.totem.token");
    facts->consensus_ms = read_u32(cmap, "runtime.config.totem.consensus");
    read_text(cmap, "totem.crypto_cipher", facts->cipher);
    read_text(cmap, "totem.crypto_hash", facts->hash);
    if (facts->token_ms != 0)
        default_crypto(cmap, facts);
    facts->is_waiting = read_flag(cmap, "runtime.votequorum.wait_for_all_status");
    read_nodelist(cmap, facts);
    (void)cmap_finalize(cmap);
}

static void read_path(cmap_handle_t stats, struct link_path *path)
{
    char key[96];

    for (unsigned link = 0; link < LINK_KNET_MAX; link++) {
        uint8_t bit = (uint8_t)(1u << link);

        (void)snprintf(key, sizeof key, "stats.knet.node%u.link%u.enabled", path->nodeid, link);
        if (read_flag(stats, key) != LINK_YES)
            continue;
        path->enabled |= bit;
        (void)snprintf(key, sizeof key, "stats.knet.node%u.link%u.connected", path->nodeid, link);
        if (read_flag(stats, key) == LINK_YES)
            path->connected |= bit;
    }
}

/* Entry 0 is the newest; at most 10 are kept (cmap_keys(7)). */
static void read_pauses(cmap_handle_t stats, struct link_pauses *pauses)
{
    enum { KEPT = 10 };
    char key[64];

    for (unsigned i = 0; i < KEPT; i++) {
        uint64_t at = 0;
        float delay = 0;
        uint32_t ms;

        (void)snprintf(key, sizeof key, "stats.schedmiss.%u.timestamp", i);
        if (cmap_get_uint64(stats, key, &at) != CS_OK)
            return;
        (void)snprintf(key, sizeof key, "stats.schedmiss.%u.delay", i);
        (void)cmap_get_float(stats, key, &delay);
        ms = delay > 0 && delay < 1e9f ? (uint32_t)delay : 0;
        pauses->count++;
        if (i == 0) {
            pauses->last_at = at;
            pauses->last_ms = ms;
        }
        if (ms > pauses->worst_ms)
            pauses->worst_ms = ms;
    }
}

static void read_stats(struct link_facts *facts)
{
    cmap_handle_t stats;

    if (cmap_initialize_map(&stats, CMAP_MAP_STATS) != CS_OK)
        return;
    for (unsigned i = 0; i < facts->paths_count; i++)
        read_path(stats, &facts->paths[i]);
    read_pauses(stats, &facts->pauses);
    (void)cmap_finalize(stats);
}

static void read_votes(struct link_facts *facts)
{
    struct votequorum_info info;
    votequorum_handle_t votes;

    if (facts->nodeid == 0 || votequorum_initialize(&votes, NULL) != CS_OK)
        return;
    memset(&info, 0, sizeof info);
    if (votequorum_getinfo(votes, facts->nodeid, &info) == CS_OK) {
        facts->expected_votes = info.highest_expected;
        facts->node_votes = info.node_votes;
        facts->total_votes = info.total_votes;
        facts->wait_for_all = (info.flags & VOTEQUORUM_INFO_WAIT_FOR_ALL) != 0 ? LINK_YES : LINK_NO;
        if (facts->wait_for_all == LINK_NO)
            facts->is_waiting = LINK_NO; /* then cmap has no key for it */
        facts->quorate = (info.flags & VOTEQUORUM_INFO_QUORATE) != 0 ? LINK_YES : LINK_NO;
    }
    (void)votequorum_finalize(votes);
}

void facts_read(struct link_facts *facts)
{
    read_cmap(facts);
    read_stats(facts);
    read_votes(facts);
}

/* ---- the version: `corosync -v`, once ---- */

static void parse_version(const char *text, char out[LINK_TEXT_MAX + 1])
{
    const char *from = strstr(text, "version '");
    size_t len;

    out[0] = '\0';
    if (from == NULL)
        return;
    from += strlen("version '");
    len = strspn(from, "0123456789.");
    if (len == 0 || len > LINK_TEXT_MAX)
        return;
    memcpy(out, from, len);
    out[len] = '\0';
}

static void collect(int fd, char *text, size_t cap)
{
    size_t len = 0;
    ssize_t got;

    while (len < cap - 1 && (got = read(fd, text + len, cap - 1 - len)) > 0)
        len += (size_t)got;
    text[len] = '\0';
}

void facts_version(char out[LINK_TEXT_MAX + 1])
{
    char path[] = "/usr/sbin/corosync", option[] = "-v", *argv[] = {path, option, NULL};
    char *envp[] = {NULL}, text[1024];
    posix_spawn_file_actions_t files;
    int ends[2];
    pid_t pid;

    out[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    if (posix_spawn_file_actions_init(&files) != 0) {
        close(ends[0]);
        close(ends[1]);
        return;
    }
    if (posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO) == 0 &&
        posix_spawn(&pid, path, &files, NULL, argv, envp) == 0) {
        close(ends[1]);
        ends[1] = -1;
        collect(ends[0], text, sizeof text);
        (void)waitpid(pid, NULL, 0);
        parse_version(text, out);
    }
    posix_spawn_file_actions_destroy(&files);
    close(ends[0]);
    if (ends[1] >= 0)
        close(ends[1]);
}

/* ---- the thread ---- */

static void *run(void *arg)
{
    int fd = (int)(intptr_t)arg;
    char version[LINK_TEXT_MAX + 1];

    facts_version(version);
    for (;;) {
        struct link_facts facts;

        memset(&facts, 0, sizeof facts);
        memcpy(facts.version, version, sizeof version);
        facts_read(&facts);
        /* A full pipe: the loop is behind, and the next facts are as good. */
        if (write(fd, &facts, sizeof facts) < 0 && errno == EPIPE)
            return NULL;
        (void)poll(NULL, 0, facts.quorate == LINK_YES ? FACTS_EVERY_MS : FACTS_SOON_MS);
    }
}

enum hf_code facts_start(int *fd, struct hf_err *err)
{
    pthread_t thread;
    int ends[2], failed;

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return hf_err_set(err, HF_EIO, "facts: no pipe: %s", strerror(errno));
    failed = pthread_create(&thread, NULL, run, (void *)(intptr_t)ends[1]);
    if (failed != 0) {
        close(ends[0]);
        close(ends[1]);
        return hf_err_set(err, HF_EIO, "facts: no thread: %s", strerror(failed));
    }
    (void)pthread_detach(thread);
    *fd = ends[0];
    return HF_OK;
}
