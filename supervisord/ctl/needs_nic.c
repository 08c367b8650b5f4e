/* needs_nic.c - what of NICs and legs needs a person. */
#include "supervisord/ctl/needs_internal.h"

#include <stdio.h>
#include <string.h>

#include "supervisord/ctl/fabric.h"
#include "supervisord/model/names.h"

/* Where a person looks first: at the wire, at a command of the host, at the kernel's log. */
static struct needs_command nic_command(const char *node, const char *name, hf_fabric fabric,
                                        enum hf_nic_cause cause)
{
    switch (cause) {
    case HF_NIC_ADMIN:
        return needs_command("ip link set dev %s up", name);
    case HF_NIC_CARRIER:
    case HF_NIC_OPTICS:
        return needs_command("ethtool -m %s; ethtool %s", name, name);
    case HF_NIC_ERRORS:
        return needs_command("ethtool -S %s", name);
    case HF_NIC_VF_DRIVER:
        return needs_command("holdfast config check");
    case HF_NIC_TX_TIMEOUT:
    case HF_NIC_RESET:
    case HF_NIC_MC_TIMEOUT:
    case HF_NIC_MC_ASSERT:
    case HF_NIC_DISABLED:
    case HF_NIC_VSWITCH:
    case HF_NIC_AER:
    case HF_NIC_AER_FAILED:
    case HF_NIC_UNBOUND:
    case HF_NIC_CONFIG_GONE:
    case HF_NIC_REMOVED:
        return needs_command("journalctl -k -g %s", name);
    case HF_NIC_NONE:
    case HF_NIC_HOT:
    case HF_NIC_LACP:
    case HF_NIC_BFD:
    case HF_NIC_RETURNING:
    case HF_NIC_FLAPPING:
    case HF_NIC_SISTER:
    case HF_NIC_CAUSES:
        break;
    }
    return needs_command("holdfast why %s:%s", node, fabric_name(fabric));
}

/* What commands of the host take: the interface's name, which this node knows only of its own PFs
 * when the cluster file names them by PCI address. */
static const char *interface_of(const struct ctl_shell *shell, hf_node node, hf_fabric fabric)
{
    const struct hf_pf_facts *facts = fabric_own_facts(shell, node, fabric);
    const char *name = fabric_pf_name(shell, node, fabric);

    if (facts != NULL && facts->name[0] != '\0')
        return facts->name;
    return name != NULL && strchr(name, ':') == NULL ? name : "NIC";
}

/* "fabric b (ens2f0) down: it has no carrier" */
static void need_pf(const struct needs_walk *w, hf_node ix, const struct hf_node_def *def,
                    const struct hf_node_view *node, hf_fabric fabric)
{
    const struct ctl_shell *shell = w->shell;
    const char *name = fabric_pf_name(shell, ix, fabric);
    const char *letter = fabric_name(fabric);
    struct needs_about about = {.subject = HF_SUBJECT_NODE,
                                .ix = UINT16_MAX,
                                .name = def->name,
                                .wall = shell->nics.since[ix.ix][fabric],
                                .is_nic = true,
                                .fabric = fabric};
    enum hf_nic_cause cause = node->pf[fabric].cause;
    struct needs_command command =
        nic_command(def->name, interface_of(shell, ix, fabric), fabric, cause);
    char nic[HF_IFNAME_MAX + 4] = "";

    if (name != NULL)
        (void)snprintf(nic, sizeof nic, " (%s)", name);
    switch (node->pf[fabric].state) {
    case HF_PF_DOWN:
        needs_add(w, NEEDS_ERROR, &about, command.text,
                  "fabric %s%s down: %s; its VMs go by their other leg, if they have one", letter,
                  nic, hf_nic_cause_text(cause));
        return;
    case HF_PF_ABSENT:
        needs_add(w, NEEDS_ERROR, &about, "holdfast config check",
                  "fabric %s%s absent: %s; no VM that needs it is placed there", letter, nic,
                  cause != HF_NIC_NONE ? hf_nic_cause_text(cause) : "there is no such device");
        return;
    case HF_PF_SUSPECT:
        needs_add(w, NEEDS_WARNING, &about, command.text,
                  "fabric %s%s suspect: %s; it still carries", letter, nic,
                  hf_nic_cause_text(cause));
        return;
    case HF_PF_HOLD:
        if (cause == HF_NIC_FLAPPING)
            needs_add(w, NEEDS_WARNING, &about, command.text,
                      "fabric %s%s flaps: it is trusted again after a longer time each time",
                      letter, nic);
        return;
    case HF_PF_UNKNOWN:
    case HF_PF_UP:
    case HF_PFS:
        return;
    }
}

/* Nobody tells anything of its NICs: nothing is flipped there. */
static void need_nicbond(const struct needs_walk *w, const struct needs_about *timeless,
                         const struct hf_node_def *def, const struct hf_node_view *node)
{
    const struct ctl_agent *agent = &w->shell->agent[HF_AGENT_NIC];
    bool is_own = strcmp(def->name, w->shell->node) == 0;

    if (node->state != HF_NODE_MEMBER)
        return;
    if (is_own && agent->is_expected && !(agent->is_connected && agent->is_fresh))
        return; /* need_agents() tells */
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if ((def->fabrics >> f & 1) != 0 && node->pf[f].state != HF_PF_UNKNOWN)
            return;
    needs_add(w, NEEDS_WARNING, timeless, "systemctl status holdfast-nicbond",
              "nobody tells what its NICs are worth: a dead one would move no traffic");
}

void needs_nics(const struct needs_walk *w, const struct needs_about *timeless, hf_node ix,
                const struct hf_node_def *def, const struct hf_node_view *node)
{
    if (def->fabrics == 0)
        return;
    need_nicbond(w, timeless, def, node);
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if ((def->fabrics >> f & 1) != 0)
            need_pf(w, ix, def, node, f);
}

/* A guest's bond is its owner's; what it does wrong shows at the next fault only. */
static void need_bond(const struct needs_walk *w, const struct needs_about *about,
                      const struct hf_vm_view *vm)
{
    static const char *const commands[HF_BOND_BITS] = {
        "in the guest: ip link set BOND type bond primary_reselect failure",
        "in the guest: ip link set BOND type bond miimon 20", "holdfast nics"};
    const struct hf_vm_legs *own = fabric_own_legs(w->shell, vm);
    struct needs_about timeless = *about;

    timeless.ix = UINT16_MAX; /* it is so for longer than it runs */
    for (unsigned i = 0; own != NULL && i < HF_BOND_BITS; i++)
        if ((own->bond_faults >> i & 1) != 0)
            needs_add(w, NEEDS_WARNING, &timeless, commands[i], "its guest's bond: %s",
                      hf_bond_fault_text(i));
}

/* A VM whose leg is dead with its node's NIC is seen at the NIC, unless it was its last one. */
void needs_legs(const struct needs_walk *w, const struct needs_about *about,
                const struct hf_vm_view *vm)
{
    const struct hf_group *group = engine_group(w->shell->engine).group;
    struct needs_command why = needs_command("holdfast why %s", vm->def->name);
    struct hf_node_view node;
    hf_legs own = vm->legs.dead;

    need_bond(w, about, vm);
    if (!vm->is_degraded || vm->home.ix >= group->nodes_count)
        return;
    if (vm->legs.dead == vm->def->legs) {
        needs_add(w, NEEDS_ERROR, about, why.text, "cut off: no leg of it carries on %s%s%s",
                  group->nodes[vm->home.ix].name, vm->legs.why != HF_WHY_NONE ? ": " : "",
                  vm->legs.why != HF_WHY_NONE ? hf_reason_text(vm->legs.why) : "");
        return;
    }
    node = engine_node(w->shell->engine, vm->home);
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++)
        if (node.pf[f].state == HF_PF_DOWN || node.pf[f].state == HF_PF_ABSENT)
            own &= (hf_legs) ~(1u << f);
    if (own != 0)
        needs_add(w, NEEDS_WARNING, about, why.text,
                  "at risk: its leg %s carries nothing though the NIC of %s does: its driver, its "
                  "address or the guest",
                  fabric_name((hf_fabric)__builtin_ctz(own)), group->nodes[vm->home.ix].name);
}
