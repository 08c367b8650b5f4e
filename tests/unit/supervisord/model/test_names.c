#include "supervisord/model/names.h"
#include "tests/unit/check.h"

#include <stdbool.h>
#include <string.h>

/* One row per table, called through an int so that all tables share the loop. */
#define NAMER(function, type)                                                                      \
    static const char *call_##function(int value)                                                  \
    {                                                                                              \
        return function((enum type)value);                                                         \
    }
NAMER(hf_node_state_name, hf_node_state)
NAMER(hf_proof_name, hf_proof)
NAMER(hf_watchdog_name, hf_watchdog)
NAMER(hf_path_name, hf_path)
NAMER(hf_vm_state_name, hf_vm_state)
NAMER(hf_desire_name, hf_desire)
NAMER(hf_seen_name, hf_seen)
NAMER(hf_outcome_name, hf_outcome)
NAMER(hf_subject_name, hf_subject)
NAMER(hf_node_event_name, hf_node_event)
NAMER(hf_vm_event_name, hf_vm_event)
NAMER(hf_reason_name, hf_reason)
NAMER(hf_reason_text, hf_reason)
NAMER(hf_rule_text, hf_rule)
NAMER(hf_pf_name, hf_pf)
NAMER(hf_nic_cause_name, hf_nic_cause)
NAMER(hf_nic_cause_text, hf_nic_cause)
NAMER(hf_leg_kind_name, hf_leg_kind)
NAMER(hf_flip_method_name, hf_flip_method)
NAMER(hf_flip_outcome_name, hf_flip_outcome)

static const char *call_bond_fault_name(int bit)
{
    return hf_bond_fault_name((unsigned)bit);
}

static const char *call_bond_fault_text(int bit)
{
    return hf_bond_fault_text((unsigned)bit);
}

static const struct table {
    const char *what;
    const char *(*name)(int value);
    int count;
} tables[] = {
    {"node state", call_hf_node_state_name, HF_NODE_STATES},
    {"proof", call_hf_proof_name, HF_PROOFS},
    {"watchdog", call_hf_watchdog_name, HF_WATCHDOGS},
    {"fence path", call_hf_path_name, HF_PATHS},
    {"vm state", call_hf_vm_state_name, HF_VM_STATES},
    {"desire", call_hf_desire_name, HF_DESIRES},
    {"seen", call_hf_seen_name, HF_SEENS},
    {"outcome", call_hf_outcome_name, HF_OUTCOMES},
    {"subject", call_hf_subject_name, HF_SUBJECTS},
    {"node event", call_hf_node_event_name, HF_NODE_EVENTS},
    {"vm event", call_hf_vm_event_name, HF_VM_EVENTS},
    {"reason key", call_hf_reason_name, HF_REASONS},
    {"reason text", call_hf_reason_text, HF_REASONS},
    {"rule", call_hf_rule_text, HF_RULES},
    {"PF state", call_hf_pf_name, HF_PFS},
    {"NIC cause key", call_hf_nic_cause_name, HF_NIC_CAUSES},
    {"NIC cause text", call_hf_nic_cause_text, HF_NIC_CAUSES},
    {"leg kind", call_hf_leg_kind_name, HF_LEG_KINDS},
    {"flip method", call_hf_flip_method_name, HF_FLIP_METHODS},
    {"flip outcome", call_hf_flip_outcome_name, HF_FLIP_OUTCOMES},
    {"bond fault key", call_bond_fault_name, HF_BOND_BITS},
    {"bond fault text", call_bond_fault_text, HF_BOND_BITS},
};
enum { TABLES = sizeof tables / sizeof tables[0] };

START_TEST(every_value_has_its_own_name)
{
    const struct table *t = &tables[_i];

    for (int a = 0; a < t->count; a++) {
        const char *name = t->name(a);

        ck_assert_ptr_nonnull(name);
        ck_assert_msg(name[0] != '\0' && strcmp(name, "?") != 0, "%s %d has no name", t->what, a);
        for (int b = 0; b < a; b++)
            ck_assert_msg(strcmp(name, t->name(b)) != 0, "%s %d and %d are both '%s'", t->what, a,
                          b, name);
    }
}
END_TEST

START_TEST(a_value_out_of_range_reads_as_a_question_mark)
{
    const struct table *t = &tables[_i];

    ck_assert_str_eq(t->name(t->count), "?");
    ck_assert_str_eq(t->name(250), "?");
    ck_assert_str_eq(t->name(-1), "?");
}
END_TEST

START_TEST(a_reason_key_is_lower_case_words_with_dashes)
{
    const char *key = hf_reason_name((enum hf_reason)_i);

    ck_assert_msg(strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(key), "%s", key);
    ck_assert_msg(key[0] != '-' && key[strlen(key) - 1] != '-', "%s", key);
    ck_assert_msg(strlen(key) <= 31, "%s", key);
}
END_TEST

/* It follows "n2 lost: " in a log line of at most 500 bytes. */
START_TEST(a_reason_text_is_a_part_of_a_sentence)
{
    const char *text = hf_reason_text((enum hf_reason)_i);
    size_t len = strlen(text);

    ck_assert_msg(text[0] >= 'a' && text[0] <= 'z', "%s", text);
    ck_assert_msg(text[len - 1] != '.' && text[len - 1] != ' ', "%s", text);
    ck_assert_msg(strchr(text, ':') == NULL, "%s", text);
    ck_assert_msg(strstr(text, "  ") == NULL, "%s", text);
    ck_assert_msg(len <= 90, "%s", text);
}
END_TEST

START_TEST(a_rule_text_starts_with_its_number)
{
    char want[16];

    snprintf(want, sizeof want, "rule %d: ", _i);
    ck_assert_int_eq(strncmp(hf_rule_text((enum hf_rule)_i), want, strlen(want)), 0);
}
END_TEST

START_TEST(the_words_the_headers_promise)
{
    ck_assert_str_eq(hf_node_state_name(HF_NODE_MEMBER), "member");
    ck_assert_str_eq(hf_vm_state_name(HF_VM_WAITING), "waiting for proof");
    ck_assert_str_eq(hf_proof_name(HF_PROOF_FENCE), "fence device reads off");
    ck_assert_str_eq(hf_watchdog_name(HF_WD_ARMED), "armed");
    ck_assert_str_eq(hf_path_name(HF_PATH_UNREACHABLE), "unreachable");
    ck_assert_str_eq(hf_desire_name(HF_WANT_RUNNING), "running");
    ck_assert_str_eq(hf_seen_name(HF_SEEN_UNKNOWN), "unknown");
    ck_assert_str_eq(hf_reason_name(HF_WHY_HOST_LOST), "host-lost");
    ck_assert_str_eq(hf_rule_text(HF_RULE_6_MEMORY), "rule 6: not enough memory");
}
END_TEST

HF_TEST_MAIN("model/names", HF_LOOP(every_value_has_its_own_name, 0, TABLES),
             HF_LOOP(a_value_out_of_range_reads_as_a_question_mark, 0, TABLES),
             HF_LOOP(a_reason_key_is_lower_case_words_with_dashes, 0, HF_REASONS),
             HF_LOOP(a_reason_text_is_a_part_of_a_sentence, 0, HF_REASONS),
             HF_LOOP(a_rule_text_starts_with_its_number, 1, HF_RULES),
             HF_CASE(the_words_the_headers_promise))
