#include "supervisord/ctl/fabric.h"

#include "supervisord/model/names.h"

#include <string.h>

const char *fabric_name(hf_fabric fabric)
{
    static const char *const names[HF_FABRICS_MAX] = {"a", "b"};

    return fabric < HF_FABRICS_MAX ? names[fabric] : "?";
}

static bool has(hf_legs legs, hf_fabric fabric)
{
    return (legs >> fabric & 1) != 0;
}

static void put_legs(struct hf_json *j, const char *key, hf_legs legs)
{
    hf_json_array(j, key);
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if (has(legs, f))
            hf_json_str(j, NULL, fabric_name(f));
    hf_json_end_array(j);
}

static void put_fabric(struct hf_json *j, const char *key, hf_fabric fabric)
{
    hf_json_str(j, key, fabric < HF_FABRICS_MAX ? fabric_name(fabric) : NULL);
}

static void put_text_or_null(struct hf_json *j, const char *key, const char *text)
{
    hf_json_str(j, key, text[0] != '\0' ? text : NULL);
}

/* ---- PFs ---- */

static bool is_own(const struct ctl_shell *shell, hf_node node)
{
    return hf_node_same(engine_node_by_name(shell->engine, shell->node), node);
}

const char *fabric_pf_name(const struct ctl_shell *shell, hf_node node, hf_fabric fabric)
{
    const char *name = shell->config != NULL ? shell->config->nics.pf[node.ix][fabric] : "";

    return name[0] != '\0' ? name : NULL;
}

const struct hf_pf_facts *fabric_own_facts(const struct ctl_shell *shell, hf_node node,
                                           hf_fabric fabric)
{
    const struct ctl_nics *nics = &shell->nics;

    return nics->is_told && fabric < nics->count && is_own(shell, node) ? &nics->pf[fabric] : NULL;
}

static bool is_called(const struct ctl_shell *shell, hf_node node, hf_fabric fabric,
                      const char *name)
{
    const char *configured = fabric_pf_name(shell, node, fabric);
    const struct hf_pf_facts *facts = fabric_own_facts(shell, node, fabric);

    return (configured != NULL && strcmp(configured, name) == 0) ||
           (facts != NULL && strcmp(facts->name, name) == 0);
}

bool fabric_find(const struct ctl_shell *shell, const char *name, hf_node *node, hf_fabric *fabric)
{
    const struct hf_group *group = engine_group(shell->engine).group;
    unsigned others = 0;

    for (uint8_t i = 0; i < group->nodes_count; i++) {
        for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
            if (!is_called(shell, (hf_node){i}, f, name))
                continue;
            *node = (hf_node){i};
            *fabric = f;
            if (is_own(shell, *node))
                return true;
            others++;
        }
    }
    return others == 1;
}

static void put_facts(struct hf_json *j, const struct hf_pf_facts *pf)
{
    if (pf == NULL) {
        hf_json_null(j, "pf");
        return;
    }
    hf_json_object(j, "pf");
    put_text_or_null(j, "name", pf->name);
    put_text_or_null(j, "pci", pf->pci);
    put_text_or_null(j, "driver", pf->driver);
    put_text_or_null(j, "firmware", pf->firmware);
    put_text_or_null(j, "serial", pf->serial);
    put_text_or_null(j, "switch", pf->switch_id);
    if (pf->numa_node >= 0)
        hf_json_i64(j, "numa_node", pf->numa_node);
    else
        hf_json_null(j, "numa_node");
    hf_json_u64(j, "vfs", pf->vfs);
    hf_json_u64(j, "vfs_without_driver", pf->vfs_without_driver);
    hf_json_u64(j, "bfd_peers", pf->bfd_peers);
    hf_json_u64(j, "bfd_up", pf->bfd_up);
    hf_json_u64(j, "carrier_downs", pf->carrier_downs);
    hf_json_u64(j, "aer_errors", pf->aer_errors);
    hf_json_u64(j, "resets", pf->resets);
    hf_json_u64(j, "rtnl_ms", pf->rtnl_ms);
    hf_json_u64(j, "hold_ms", pf->state == HF_PF_HOLD ? pf->hold_ms : 0);
    hf_json_end_object(j);
}

static void put_since(struct hf_json *j, const struct ctl_shell *shell, hf_wall since)
{
    int64_t age_ms = (shell->wall.ns - since.ns) / HF_NS_PER_MS;
    char text[40];

    if (since.ns == 0) {
        hf_json_null(j, "since");
        hf_json_null(j, "since_ms");
        return;
    }
    history_wall_text(since, text);
    hf_json_str(j, "since", text);
    hf_json_i64(j, "since_ms", age_ms > 0 ? age_ms : 0);
}

void fabric_put_pf(struct hf_json *j, const char *key, const struct ctl_shell *shell, hf_node node,
                   hf_fabric fabric)
{
    struct hf_pf_verdict pf = engine_node(shell->engine, node).pf[fabric];

    hf_json_object(j, key);
    hf_json_str(j, "fabric", fabric_name(fabric));
    hf_json_str(j, "nic", fabric_pf_name(shell, node, fabric));
    hf_json_str(j, "state", hf_pf_name(pf.state));
    put_since(j, shell, shell->nics.since[node.ix][fabric]);
    hf_json_str(j, "cause", hf_nic_cause_name(pf.cause));
    hf_json_str(j, "cause_text", pf.cause != HF_NIC_NONE ? hf_nic_cause_text(pf.cause) : NULL);
    put_facts(j, fabric_own_facts(shell, node, fabric));
    hf_json_end_object(j);
}

void fabric_put_node(struct hf_json *j, const struct ctl_shell *shell, hf_node node)
{
    hf_legs fabrics = engine_group(shell->engine).group->nodes[node.ix].fabrics;

    hf_json_array(j, "fabrics");
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if (has(fabrics, f))
            fabric_put_pf(j, NULL, shell, node, f);
    hf_json_end_array(j);
}

/* ---- legs ---- */

const struct hf_vm_legs *fabric_own_legs(const struct ctl_shell *shell, const struct hf_vm_view *vm)
{
    const struct ctl_nics *nics = &shell->nics;

    for (uint16_t i = 0; i < nics->legs_count; i++)
        if (nics->legs[i].uid == vm->uid && nics->legs[i].start_no == vm->running_no)
            return &nics->legs[i];
    return NULL;
}

static void put_own_legs(struct hf_json *j, const struct hf_vm_legs *own)
{
    if (own == NULL) {
        hf_json_null(j, "helper");
        hf_json_null(j, "kinds");
        hf_json_null(j, "bond");
        return;
    }
    hf_json_bool(j, "helper", own->has_helper);
    hf_json_object(j, "kinds");
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if (has(own->has, f))
            hf_json_str(j, fabric_name(f), hf_leg_kind_name(own->kind[f]));
    hf_json_end_object(j);
    hf_json_array(j, "bond");
    for (unsigned i = 0; i < HF_BOND_BITS; i++)
        if ((own->bond_faults >> i & 1) != 0)
            hf_json_str(j, NULL, hf_bond_fault_name(i));
    hf_json_end_array(j);
}

void fabric_put_vm(struct hf_json *j, const struct ctl_shell *shell, const struct hf_vm_view *vm)
{
    bool has_why = vm->legs.why != HF_WHY_NONE;

    hf_json_bool(j, "degraded", vm->is_degraded);
    if (vm->def->legs == 0 && vm->legs.has == 0) {
        hf_json_null(j, "legs");
        return;
    }
    hf_json_object(j, "legs");
    put_legs(j, "needs", vm->def->legs);
    put_legs(j, "has", vm->legs.has);
    put_legs(j, "up", vm->legs.up);
    put_legs(j, "dead", vm->legs.dead);
    put_fabric(j, "active", vm->legs.has != 0 ? vm->legs.active : HF_FABRICS_MAX);
    put_own_legs(j, fabric_own_legs(shell, vm));
    hf_json_str(j, "why", has_why ? hf_reason_name(vm->legs.why) : NULL);
    hf_json_str(j, "why_text", has_why ? hf_reason_text(vm->legs.why) : NULL);
    hf_json_end_object(j);
}

/* ---- flips ---- */

void fabric_put_flips(struct hf_json *j, const struct history *h)
{
    uint64_t flips[FABRIC_FLIPS_MAX];
    unsigned count = 0;

    for (uint64_t seq = history_newest(h); seq >= 1 && count < FABRIC_FLIPS_MAX; seq--) {
        const struct history_record *record = history_at(h, seq);

        if (record == NULL)
            break;
        if (record->kind == HISTORY_FLIP)
            flips[count++] = seq;
    }
    hf_json_array(j, "flips");
    while (count > 0)
        history_json(history_at(h, flips[--count]), j, NULL);
    hf_json_end_array(j);
}

static void put_us(struct hf_json *j, const char *key, uint32_t us)
{
    if (us == UINT32_MAX)
        hf_json_null(j, key);
    else
        hf_json_u64(j, key, us);
}

void fabric_put_flip(struct hf_json *j, const char *key, const struct hf_flip *flip)
{
    hf_json_object(j, key);
    hf_json_u64(j, "epoch", flip->epoch);
    put_fabric(j, "from", flip->from);
    put_fabric(j, "to", flip->to);
    hf_json_str(j, "method", hf_flip_method_name(flip->method));
    hf_json_str(j, "outcome", hf_flip_outcome_name(flip->outcome));
    put_us(j, "ordered_us", flip->ordered_us);
    put_us(j, "confirmed_us", flip->confirmed_us);
    hf_json_end_object(j);
}
