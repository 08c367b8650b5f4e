/* The README's state tables are the code's. HF_WRITE_README=1 in the environment rewrites them. */
#include "tests/unit/supervisord/engine/trio.h"

#define BEGIN "<!-- tables begin -->\n"
#define END   "<!-- tables end -->"

static char expected[65536], readme[131072], fresh[131072];

static void node_table(char *out, size_t cap)
{
    size_t at =
        (size_t)snprintf(out, cap, "| node | when | becomes | because |\n|---|---|---|---|\n");
    for (unsigned s = 0; s < HF_NODE_STATES; s++)
        for (unsigned e = 0; e < HF_NODE_EVENTS; e++) {
            const struct node_rule *r = node_rule((enum hf_node_state)s, (enum hf_node_event)e);
            if (r->verdict == RULE_GO)
                at += (size_t)snprintf(out + at, cap - at, "| %s | %s | %s | %s |\n",
                                       hf_node_state_name((enum hf_node_state)s),
                                       hf_node_event_name((enum hf_node_event)e),
                                       hf_node_state_name((enum hf_node_state)r->next), r->why);
        }
    ck_assert_uint_lt(at, cap);
}

static void vm_table(char *out, size_t cap)
{
    size_t at =
        (size_t)snprintf(out, cap, "\n| VM | when | becomes | because |\n|---|---|---|---|\n");
    for (unsigned s = 0; s < HF_VM_STATES; s++)
        for (unsigned e = 0; e < HF_VM_EVENTS; e++) {
            const struct vm_rule *r = vm_rule((enum hf_vm_state)s, (enum hf_vm_event)e);
            if (r->verdict == RULE_GO)
                at += (size_t)snprintf(out + at, cap - at, "| %s | %s | %s | %s |\n",
                                       hf_vm_state_name((enum hf_vm_state)s),
                                       hf_vm_event_name((enum hf_vm_event)e),
                                       hf_vm_state_name((enum hf_vm_state)r->next), r->why);
        }
    ck_assert_uint_lt(at, cap);
}

START_TEST(the_readme_prints_the_tables_of_the_code)
{
    const char *path = "supervisord/engine/README.md";
    FILE *f = fopen(path, "re");
    ck_assert_ptr_nonnull(f);
    size_t len = fread(readme, 1, sizeof readme - 1, f);
    fclose(f);
    readme[len] = '\0';
    char *begin = strstr(readme, BEGIN), *end = strstr(readme, END);
    ck_assert(begin && end && begin < end);
    begin += strlen(BEGIN);
    node_table(expected, sizeof expected);
    vm_table(expected + strlen(expected), sizeof expected - strlen(expected));
    if (getenv("HF_WRITE_README")) {
        snprintf(fresh, sizeof fresh, "%.*s%s%s", (int)(begin - readme), readme, expected, end);
        f = fopen(path, "we");
        ck_assert_ptr_nonnull(f);
        fputs(fresh, f);
        fclose(f);
        return;
    }
    ck_assert_msg(strncmp(begin, expected, strlen(expected)) == 0 &&
                      begin + strlen(expected) == end,
                  "engine/README.md is behind the code: run this test with HF_WRITE_README=1");
}
END_TEST

HF_TEST_MAIN("engine/readme", HF_CASE(the_readme_prints_the_tables_of_the_code))
