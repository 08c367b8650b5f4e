#include "supervisord/ctl/cmd.h"
#include "tests/unit/check.h"

#include <string.h>

struct reach_case {
    enum hf_order_type type;
    const char *node, *from; /* of the order */
    const char *status;
    enum cmd_reach reach;
    const char *text;
};

#define VM(state, node) "{'vms':[{'name':'vm1','state':'" state "','node':" node "}]}"
#define NODE(state, maintenance, possible)                                                         \
    "{'nodes':[{'name':'n2','state':'" state "','maintenance':" maintenance "}],"                  \
    "'vms':[{'name':'vm1','possible':[" possible "]}]}"

#define AWAY(key, value, possible)                                                                 \
    "{'nodes':[{'name':'n2','state':'member','" key "':" value "}],"                               \
    "'vms':[{'name':'vm1','possible':[" possible "]}]}"

static const struct reach_case cases[] = {
    {HF_ORDER_VM_START, "", "", VM("starting", "'n1'"), CMD_NOT_YET, "vm1 starting on n1"},
    {HF_ORDER_VM_START, "", "", VM("running", "'n1'"), CMD_REACHED, "vm1 running on n1"},
    {HF_ORDER_VM_START, "", "", VM("failed", "null"), CMD_HOPELESS, "vm1 failed"},
    {HF_ORDER_VM_START, "", "", VM("unplaceable", "null"), CMD_HOPELESS, "vm1 unplaceable"},
    {HF_ORDER_VM_ADD, "", "", VM("running", "'n3'"), CMD_REACHED, "vm1 running on n3"},
    {HF_ORDER_VM_ADD, "", "", "{'vms':[]}", CMD_HOPELESS, "vm1 removed"},
    {HF_ORDER_VM_REMOVE, "", "", "{'vms':[]}", CMD_REACHED, "vm1 removed"},
    {HF_ORDER_VM_REMOVE, "", "", VM("stopping", "'n1'"), CMD_NOT_YET, "vm1 stopping on n1"},
    {HF_ORDER_VM_STOP, "", "", VM("stopping", "'n1'"), CMD_NOT_YET, "vm1 stopping on n1"},
    {HF_ORDER_VM_STOP, "", "", VM("stopped", "null"), CMD_REACHED, "vm1 stopped"},
    {HF_ORDER_VM_MOVE, "", "n1", VM("running", "'n1'"), CMD_NOT_YET, "vm1 running on n1"},
    {HF_ORDER_VM_MOVE, "", "n1", VM("running", "'n3'"), CMD_REACHED, "vm1 running on n3"},
    {HF_ORDER_VM_MOVE, "n2", "n1", VM("running", "'n3'"), CMD_NOT_YET, "vm1 running on n3"},
    {HF_ORDER_VM_MOVE, "n2", "n1", VM("running", "'n2'"), CMD_REACHED, "vm1 running on n2"},
    {HF_ORDER_DRAIN, "n2", "", NODE("member", "true", "'n1','n2'"), CMD_NOT_YET,
     "n2 in maintenance, 1 VM left there"},
    {HF_ORDER_DRAIN, "n2", "", NODE("member", "true", "'n1'"), CMD_REACHED,
     "n2 in maintenance, 0 VMs left there"},
    {HF_ORDER_DRAIN, "n2", "", NODE("member", "false", ""), CMD_HOPELESS, "n2 member"},
    {HF_ORDER_UNDRAIN, "n2", "", NODE("member", "true", ""), CMD_NOT_YET, "n2 member"},
    {HF_ORDER_UNDRAIN, "n2", "", NODE("member", "false", ""), CMD_REACHED, "n2 member"},
    {HF_ORDER_FENCE, "n2", "", NODE("fencing", "false", ""), CMD_NOT_YET, "n2 fencing"},
    {HF_ORDER_FENCE, "n2", "", NODE("dead", "false", ""), CMD_REACHED, "n2 dead"},
    {HF_ORDER_CONFIRM, "n2", "", NODE("dead", "false", ""), CMD_REACHED, "n2 dead"},
    {HF_ORDER_CONFIRM, "n4", "", NODE("dead", "false", ""), CMD_HOPELESS, "n4 "},
    {HF_ORDER_HOLD, "n2", "", AWAY("hold", "null", "'n2'"), CMD_NOT_YET, "n2 member"},
    {HF_ORDER_HOLD, "n2", "", AWAY("hold", "{'ms':60000}", "'n2'"), CMD_REACHED, "n2 member"},
    {HF_ORDER_LEAVE, "n2", "", AWAY("leaving", "true", "'n2'"), CMD_NOT_YET,
     "n2 is leaving, 1 VM left there"},
    {HF_ORDER_LEAVE, "n2", "", AWAY("leaving", "true", "'n1'"), CMD_NOT_YET,
     "n2 is leaving, 0 VMs left there"}, /* the group has still to say so */
    {HF_ORDER_LEAVE, "n2", "", AWAY("left", "true", ""), CMD_REACHED,
     "n2 has left: it may be switched off now"},
    {HF_ORDER_LEAVE, "n2", "", AWAY("leaving", "false", ""), CMD_HOPELESS,
     "n2 is not leaving any more"},
    {HF_ORDER_POWER_ON, "n2", "", NODE("dead", "false", ""), CMD_NOT_YET, "n2 dead"},
    {HF_ORDER_POWER_ON, "n2", "", NODE("joining", "false", ""), CMD_NOT_YET, "n2 joining"},
    {HF_ORDER_POWER_ON, "n2", "", NODE("member", "false", ""), CMD_REACHED, "n2 member"},
    {HF_ORDER_ARM, "", "", "{'group':{'armed':true}}", CMD_REACHED, "armed"},
    {HF_ORDER_ARM, "", "", "{'group':{'armed':false}}", CMD_NOT_YET, "disarmed"},
    {HF_ORDER_DISARM, "", "", "{'group':{'armed':false}}", CMD_REACHED, "disarmed"},
    {HF_ORDER_DISARM, "", "", "[]", CMD_REACHED, "disarmed"},
    {HF_ORDER_VM_START, "", "", "7", CMD_HOPELESS, "vm1 removed"},
};

START_TEST(an_order_is_reached_or_not_or_hopeless)
{
    const struct reach_case *c = &cases[_i];
    char json[512], text[256];
    json_t *status;

    (void)snprintf(json, sizeof json, "%s", c->status);
    for (char *at = json; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    status = json_loads(json, JSON_DECODE_ANY, NULL);
    ck_assert_ptr_nonnull(status);
    ck_assert_int_eq(cmd_reached(c->type, status, "vm1", c->node, c->from, text, sizeof text),
                     c->reach);
    ck_assert_str_eq(text, c->text);
    json_decref(status);
}
END_TEST

HF_TEST_MAIN("ctl/cmd_order",
             HF_LOOP(an_order_is_reached_or_not_or_hopeless, 0, sizeof cases / sizeof cases[0]))
