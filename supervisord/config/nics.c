#include "supervisord/config/internal.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/str.h"

static bool is_given(struct config_place place)
{
    return place.line != 0;
}

char config_fabric_letter(hf_fabric fabric)
{
    HF_ASSERT(fabric < HF_FABRICS_MAX);
    return (char)('a' + fabric);
}

/* ---- names and addresses ---- */

enum { SLOT_LEN = 10 }; /* "0000:01:00": what the functions of one card have in common */

static bool is_pci(const char *text)
{
    static const char shape[] = "xxxx:xx:xx.f"; /* lower case, as the kernel writes it */

    if (strlen(text) != strlen(shape))
        return false;
    for (size_t i = 0; shape[i] != '\0'; i++) {
        const char *allowed = shape[i] == 'x' ? "0123456789abcdef" : "01234567";

        if (shape[i] == 'x' || shape[i] == 'f') {
            if (strchr(allowed, text[i]) == NULL)
                return false;
        } else if (text[i] != shape[i]) {
            return false;
        }
    }
    return true;
}

bool config_is_nic(const char *text)
{
    return is_pci(text) || hf_str_is_name(text, HF_IFNAME_MAX);
}

/* Nothing that means nobody, everybody or always oneself. */
static bool is_of_a_host(const struct in_addr *address)
{
    uint32_t value = ntohl(address->s_addr);

    return value >> 24 != 0 && value >> 24 != 127 && value >> 28 != 0xe && value >> 28 != 0xf;
}

bool config_address(const char *text, char out[HF_ADDRESS_MAX + 1])
{
    struct in_addr four;
    struct in6_addr six;

    _Static_assert(HF_ADDRESS_MAX + 1 == INET6_ADDRSTRLEN, "an address fits");
    if (inet_pton(AF_INET, text, &four) == 1)
        return is_of_a_host(&four) && inet_ntop(AF_INET, &four, out, HF_ADDRESS_MAX + 1) != NULL;
    if (inet_pton(AF_INET6, text, &six) != 1)
        return false;
    return !IN6_IS_ADDR_UNSPECIFIED(&six) && !IN6_IS_ADDR_LOOPBACK(&six) &&
           !IN6_IS_ADDR_MULTICAST(&six) && !IN6_IS_ADDR_V4MAPPED(&six) &&
           inet_ntop(AF_INET6, &six, out, HF_ADDRESS_MAX + 1) != NULL;
}

static bool is_six(const char *address)
{
    return strchr(address, ':') != NULL;
}

/* Every link has its own fe80::1. */
static bool is_link_local(const char *address)
{
    struct in6_addr six;

    return inet_pton(AF_INET6, address, &six) == 1 && IN6_IS_ADDR_LINKLOCAL(&six);
}

/* ---- places ---- */

static struct config_place node_place(const struct config_node *node, const char *stem, hf_fabric f)
{
    char name[16];

    (void)snprintf(name, sizeof name, "%s_%c", stem, config_fabric_letter(f));

    const struct config_key *key = config_key_find(CONFIG_NODE, name);
    HF_ASSERT(key != NULL);
    return node->given[config_key_slot(key)];
}

static struct config_place place_in(enum config_section_id section,
                                    const struct config_place given[CONFIG_KEYS_MAX],
                                    const char *name)
{
    const struct config_key *key = config_key_find(section, name);

    HF_ASSERT(key != NULL);
    return given[config_key_slot(key)];
}

/* ---- one section ---- */

static enum hf_code check_times(const struct config_draft *draft, struct hf_err *err)
{
    const struct hf_nics_conf *nics = &draft->config->nics;
    struct config_place first = place_in(CONFIG_NICS, draft->nics_given, "hold_down");
    struct config_place max = place_in(CONFIG_NICS, draft->nics_given, "hold_down_max");
    char first_text[24], max_text[24];

    if (nics->hold_down_max_ms >= nics->hold_down_ms)
        return HF_OK;
    hf_str_from_ms(nics->hold_down_ms, first_text);
    hf_str_from_ms(nics->hold_down_max_ms, max_text);
    return config_fail(draft, is_given(max) ? max : first, err,
                       "'hold_down_max' is %s, less than 'hold_down', which is %s", max_text,
                       first_text);
}

static enum hf_code check_node(const struct config_draft *draft, const struct config_node *node,
                               struct hf_err *err)
{
    const char *a = node->pf[0], *b = node->pf[1];

    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if (node->address[f][0] != '\0' && node->pf[f][0] == '\0')
            return config_fail(draft, node_place(node, "address", f), err,
                               "'address_%c' without 'nic_%c'", config_fabric_letter(f),
                               config_fabric_letter(f));
    if (a[0] != '\0' && strcmp(a, b) == 0)
        return config_fail(draft, node_place(node, "nic", 1), err,
                           "'nic_b' is 'nic_a' again, line %u: two fabrics need two cards",
                           (unsigned)node_place(node, "nic", 0).line);
    if (is_pci(a) && is_pci(b) && strncmp(a, b, SLOT_LEN) == 0)
        return config_fail(draft, node_place(node, "nic", 1), err,
                           "'nic_b' is on the card of 'nic_a', line %u: its ports share one "
                           "controller and die together",
                           (unsigned)node_place(node, "nic", 0).line);
    return HF_OK;
}

/* ---- one fabric ---- */

static enum hf_code check_addresses(const struct config_draft *draft, hf_fabric f, bool *has_any,
                                    struct hf_err *err)
{
    unsigned count = draft->config->group.nodes_count;
    const struct config_node *with = NULL, *without = NULL;

    for (unsigned i = 0; i < count; i++) {
        const struct config_node *node = &draft->node[i];

        if (node->pf[f][0] != '\0' && node->address[f][0] != '\0' && with == NULL)
            with = node;
        if (node->pf[f][0] != '\0' && node->address[f][0] == '\0' && without == NULL)
            without = node;
    }
    *has_any = with != NULL;
    if (with != NULL && without != NULL && draft->fabric[f].bfd_multiplier > 0)
        return config_fail(draft, node_place(without, "nic", f), err,
                           "node '%s' has no 'address_%c' and node '%s' has one: BFD needs it on "
                           "every node of the fabric, or on none",
                           without->def.name, config_fabric_letter(f), with->def.name);
    return HF_OK;
}

static enum hf_code check_fabric(const struct config_draft *draft, hf_fabric f, struct hf_err *err)
{
    const struct config_fabric *fabric = &draft->fabric[f];
    struct config_place peers = place_in(CONFIG_FABRIC, fabric->given, "bfd_peer");
    struct config_place multiplier = place_in(CONFIG_FABRIC, fabric->given, "bfd_multiplier");
    char letter = config_fabric_letter(f);
    bool has_any = false, has_nic = false;

    for (unsigned i = 0; i < draft->config->group.nodes_count; i++)
        has_nic = has_nic || draft->node[i].pf[f][0] != '\0';
    if (is_given(fabric->opened) && !has_nic)
        return config_fail(draft, fabric->opened, err,
                           "fabric '%c' without a node that has "
                           "'nic_%c'",
                           letter, letter);
    if (fabric->bfd_multiplier == 1)
        return config_fail(draft, multiplier, err,
                           "'bfd_multiplier' is 1: one lost packet would silence a peer; 2 at "
                           "least, or 0 for no BFD");
    if (check_addresses(draft, f, &has_any, err) != HF_OK)
        return err->code;
    if (fabric->peers.count > 0 && fabric->bfd_multiplier == 0)
        return config_fail(draft, peers, err,
                           "'bfd_peer' with 'bfd_multiplier: 0', which is no "
                           "BFD");
    if (fabric->peers.count > 0 && !has_any)
        return config_fail(draft, peers, err,
                           "'bfd_peer' without an 'address_%c': no node could speak to it", letter);
    return HF_OK;
}

/* ---- addresses against each other ---- */

enum { ADDRESSES_MAX = HF_FABRICS_MAX * (HF_NODES_MAX + HF_NICS_PEERS_MAX) };

struct named_address {
    hf_fabric fabric;
    const char *text;
    struct config_place place;
};

static unsigned addresses_of(const struct config_draft *draft,
                             struct named_address out[ADDRESSES_MAX])
{
    unsigned count = 0;

    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        const struct config_addresses *peers = &draft->fabric[f].peers;

        for (unsigned i = 0; i < draft->config->group.nodes_count; i++)
            if (draft->node[i].address[f][0] != '\0')
                out[count++] = (struct named_address){f, draft->node[i].address[f],
                                                      node_place(&draft->node[i], "address", f)};
        for (unsigned i = 0; i < peers->count; i++)
            out[count++] = (struct named_address){f, peers->text[i], peers->place[i]};
    }
    return count;
}

static enum hf_code check_pair(const struct config_draft *draft, const struct named_address *was,
                               const struct named_address *now, struct hf_err *err)
{
    bool is_one_link = was->fabric == now->fabric;

    if (strcmp(was->text, now->text) == 0 && (is_one_link || !is_link_local(now->text)))
        return config_fail(draft, now->place, err, "address %s is given twice, first at line %u",
                           now->text, (unsigned)was->place.line);
    if (is_one_link && is_six(was->text) != is_six(now->text))
        return config_fail(draft, now->place, err,
                           "address %s is IPv%d, that of line %u is IPv%d: the BFD of one fabric "
                           "speaks one of them",
                           now->text, is_six(now->text) ? 6 : 4, (unsigned)was->place.line,
                           is_six(was->text) ? 6 : 4);
    return HF_OK;
}

static enum hf_code check_pairs(const struct config_draft *draft, struct hf_err *err)
{
    struct named_address address[ADDRESSES_MAX];
    unsigned count = addresses_of(draft, address);

    for (unsigned i = 1; i < count; i++)
        for (unsigned j = 0; j < i; j++)
            if (check_pair(draft, &address[j], &address[i], err) != HF_OK)
                return err->code;
    return HF_OK;
}

/* ---- the whole ---- */

static void resolve(const struct config_draft *draft)
{
    struct hf_config *config = draft->config;
    struct hf_nics_conf *nics = &config->nics;

    for (unsigned i = 0; i < config->group.nodes_count; i++) {
        memcpy(nics->pf[i], draft->node[i].pf, sizeof nics->pf[i]);
        memcpy(nics->address[i], draft->node[i].address, sizeof nics->address[i]);
        for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
            if (nics->pf[i][f][0] != '\0')
                config->group.nodes[i].fabrics |= (hf_legs)(1u << f);
        nics->is_used = nics->is_used || config->group.nodes[i].fabrics != 0;
    }
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        nics->bfd_interval_us[f] = draft->fabric[f].bfd_interval_us;
        nics->bfd_multiplier[f] = draft->fabric[f].bfd_multiplier;
        memcpy(nics->bfd_peer[f], draft->fabric[f].peers.text, sizeof nics->bfd_peer[f]);
    }
}

enum hf_code config_nics_check(struct config_draft *draft, struct hf_err *err)
{
    for (unsigned i = 0; i < draft->config->group.nodes_count; i++)
        if (check_node(draft, &draft->node[i], err) != HF_OK)
            return err->code;
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if (check_fabric(draft, f, err) != HF_OK)
            return err->code;
    if (check_times(draft, err) != HF_OK || check_pairs(draft, err) != HF_OK)
        return err->code;
    resolve(draft);
    if (is_given(draft->nics) && !draft->config->nics.is_used)
        return config_fail(draft, draft->nics, err,
                           "section 'nics' without a node that has 'nic_a' or 'nic_b'");
    return HF_OK;
}

bool config_has_bfd(const struct hf_config *config, hf_node node, hf_fabric fabric)
{
    HF_ASSERT(node.ix < config->group.nodes_count);
    HF_ASSERT(fabric < HF_FABRICS_MAX);
    return config->nics.bfd_multiplier[fabric] > 0 &&
           config->nics.address[node.ix][fabric][0] != '\0';
}
