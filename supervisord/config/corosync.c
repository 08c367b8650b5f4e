#include "supervisord/config/corosync.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"

/* A coefficient adds itself for every node beyond two: these times are meant for the whole group.
 * fast: the quickest of four pairs that lost no live node in 30 minutes each with busy cores, with
 * stalls of 0.8 x token and with 5 % loss (tests/bench/detect, tests/README.md): a power cut is
 * known after 1.09 s, with 1000/1200 after 2.10 s. A consensus below the token (1000/500, 500/200)
 * loses live nodes: whoever comes back from a stall finds that the others have gone on.
 * safe: corosync's own consensus, 1.2 x token (totemconfig.c). */
const struct corosync_profile corosync_profiles[] = {
    {"fast", 500, 0, 600,
     "for hosts whose corosync is never kept from running for 400 ms (isolated cores)"},
    {"safe", 2000, 0, 0, "for busy hosts and networks that pause"},
};
const size_t corosync_profiles_count = sizeof corosync_profiles / sizeof corosync_profiles[0];

const struct corosync_profile *corosync_profile_find(const char *name)
{
    for (size_t i = 0; i < corosync_profiles_count; i++)
        if (strcmp(corosync_profiles[i].name, name) == 0)
            return &corosync_profiles[i];
    return NULL;
}

uint32_t corosync_consensus_ms(const struct corosync_profile *profile)
{
    /* totemconfig.c: consensus = 1.2 x token when it is not given. */
    return profile->consensus_ms != 0 ? profile->consensus_ms : profile->token_ms * 12 / 10;
}

uint32_t corosync_lease_ms(uint32_t token_ms, uint32_t consensus_ms, uint32_t beat_ms)
{
    return token_ms + consensus_ms + 3 * beat_ms;
}

/* ---- addresses ---- */

static bool is_address(const char *text)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.:-_";
    size_t len = strlen(text);

    return len > 0 && len <= COROSYNC_TEXT_MAX && text[0] != '-' &&
           text[strspn(text, allowed)] == '\0';
}

static hf_node node_named(const struct hf_config *config, const char *name)
{
    for (uint8_t i = 0; i < config->group.nodes_count; i++)
        if (strcmp(config->group.nodes[i].name, name) == 0)
            return (hf_node){i};
    return HF_NO_NODE;
}

static enum hf_code address_keep(const struct hf_config *config, unsigned ring, const char *name,
                                 const char *address, struct corosync_plan *plan,
                                 struct hf_err *err)
{
    hf_node node = node_named(config, name);

    if (!hf_node_is(node))
        return hf_err_set(err, HF_EINVAL, "ring%u: the cluster file has no node '%s'", ring, name);
    if (!is_address(address))
        return hf_err_set(err, HF_EINVAL, "ring%u: '%s' of node '%s' is not an address", ring,
                          address, name);
    if (plan->address[ring][node.ix][0] != '\0')
        return hf_err_set(err, HF_EINVAL, "ring%u: node '%s' is given twice", ring, name);
    for (unsigned r = 0; r <= ring; r++)
        for (unsigned i = 0; i < config->group.nodes_count; i++)
            if (strcmp(plan->address[r][i], address) == 0)
                return hf_err_set(err, HF_EINVAL,
                                  "ring%u: %s of node '%s' is already ring%u of '%s'", ring,
                                  address, name, r, config->group.nodes[i].name);
    (void)hf_str_copy(plan->address[ring][node.ix], COROSYNC_TEXT_MAX + 1, address);
    return HF_OK;
}

enum hf_code corosync_ring_read(const struct hf_config *config, unsigned ring, const char *text,
                                struct corosync_plan *plan, struct hf_err *err)
{
    HF_ASSERT(ring < COROSYNC_RINGS_MAX);
    memset(plan->address[ring], 0, sizeof plan->address[ring]);
    while (*text != '\0') {
        char item[HF_NAME_MAX + COROSYNC_TEXT_MAX + 2];
        size_t len = strcspn(text, ",");
        char *equals;

        if (len >= sizeof item)
            return hf_err_set(err, HF_EINVAL, "ring%u: '%.40s...' is too long", ring, text);
        memcpy(item, text, len);
        item[len] = '\0';
        equals = strchr(item, '=');
        if (equals == NULL)
            return hf_err_set(err, HF_EINVAL, "ring%u: '%s' is not NODE=ADDRESS", ring, item);
        *equals = '\0';
        if (address_keep(config, ring, item, equals + 1, plan, err) != HF_OK)
            return err->code;
        text += len + (text[len] == ',');
    }
    for (unsigned i = 0; i < config->group.nodes_count; i++)
        if (plan->address[ring][i][0] == '\0')
            return hf_err_set(err, HF_EINVAL, "ring%u: no address for node '%s'", ring,
                              config->group.nodes[i].name);
    return HF_OK;
}

/* ---- writing ---- */

struct printer {
    char *out;
    size_t cap, len;
};

static void emit(struct printer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void emit(struct printer *p, const char *format, ...)
{
    bool has_room = p->len < p->cap;
    va_list args;
    int written;

    va_start(args, format);
    written =
        vsnprintf(has_room ? p->out + p->len : NULL, has_room ? p->cap - p->len : 0, format, args);
    va_end(args);
    HF_ASSERT(written >= 0);
    p->len += (size_t)written;
}

static void emit_totem(struct printer *p, const struct hf_config *config,
                       const struct corosync_plan *plan)
{
    const struct corosync_profile *profile = plan->profile;
    uint32_t consensus = corosync_consensus_ms(profile);

    emit(p,
         "totem {\n"
         "    version: 2\n"
         "    cluster_name: %s\n"
         "    transport: knet\n\n"
         "    # Every message is encrypted and authenticated; Holdfast refuses to arm without.\n"
         "    crypto_cipher: aes256\n"
         "    crypto_hash: sha256\n",
         config->group.name);
    if (plan->key_file != NULL)
        emit(p, "    keyfile: %s\n", plan->key_file);
    emit(p,
         "    block_unlisted_ips: yes\n\n"
         "    # Profile %s, %s.\n"
         "    # A dead node is reported after token + consensus: %u ms.\n"
         "    token: %u\n"
         "    token_coefficient: %u\n",
         profile->name, profile->doc, (unsigned)(profile->token_ms + consensus),
         (unsigned)profile->token_ms, (unsigned)profile->coefficient_ms);
    if (profile->consensus_ms != 0)
        emit(p, "    consensus: %u\n", (unsigned)profile->consensus_ms);
    if (plan->rings_count > 1)
        emit(p, "\n    # Ring 0 carries everything while it works; ring 1 takes over.\n"
                "    link_mode: passive\n");
    for (unsigned ring = 0; ring < plan->rings_count; ring++)
        emit(p,
             "    interface {\n"
             "        linknumber: %u\n"
             "        knet_transport: udp\n"
             "        knet_link_priority: %u\n"
             "    }\n",
             ring, plan->rings_count - ring);
    emit(p, "}\n\n");
}

static void emit_nodes(struct printer *p, const struct hf_config *config,
                       const struct corosync_plan *plan)
{
    emit(p, "nodelist {\n");
    for (unsigned i = 0; i < config->group.nodes_count; i++) {
        emit(p, "    node {\n");
        for (unsigned ring = 0; ring < plan->rings_count; ring++)
            emit(p, "        ring%u_addr: %s\n", ring, plan->address[ring][i]);
        emit(p,
             "        name: %s\n"
             "        nodeid: %u\n"
             "    }\n",
             config->group.nodes[i].name, (unsigned)config->group.nodes[i].nodeid);
    }
    emit(p, "}\n\n");
}

static void emit_quorum(struct printer *p, const struct hf_config *config,
                        const struct corosync_plan *plan)
{
    emit(p,
         "quorum {\n"
         "    provider: corosync_votequorum\n"
         "    expected_votes: %u\n",
         (unsigned)config->group.nodes_count);
    if (plan->wait_for_all)
        emit(p, "\n    # After a cold start nobody is quorate until all nodes were there once.\n"
                "    # To go on without one that is down for good, on one of the others:\n"
                "    #   corosync-cmapctl -s quorum.cancel_wait_for_all u8 1\n");
    else
        emit(p, "\n    # Off: after a cold start a majority goes on without a node that is late,\n"
                "    # and Holdfast may fence it when its startup_grace is over.\n");
    emit(p, "    wait_for_all: %d\n}\n\n", plan->wait_for_all ? 1 : 0);
}

size_t corosync_print(const struct hf_config *config, const struct corosync_plan *plan, char *out,
                      size_t cap)
{
    struct printer p = {out, cap, 0};

    HF_ASSERT(plan->rings_count >= 1 && plan->rings_count <= COROSYNC_RINGS_MAX);
    emit(&p,
         "# corosync.conf of the group %s, by: holdfast setup corosync --profile %s\n"
         "# The same on every node. Compare it with what runs: holdfast config check\n",
         config->group.name, plan->profile->name);
    emit_totem(&p, config, plan);
    emit_nodes(&p, config, plan);
    emit_quorum(&p, config, plan);
    emit(&p, "logging {\n"
             "    to_stderr: no\n"
             "    to_syslog: yes\n"
             "    to_logfile: yes\n"
             "    logfile: /var/log/corosync/corosync.log\n"
             "    timestamp: hires\n"
             "    debug: off\n"
             "}\n");
    return p.len;
}
