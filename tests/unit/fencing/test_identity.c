#include <string.h>

#include "fencing/identity.h"
#include "supervisord/base/uuid.h"
#include "tests/unit/check.h"

static struct identity id;

static struct credentials secrets_of(const char *text)
{
    struct credentials c = {.len = strlen(text)};
    struct hf_err err;

    memcpy(c.lines, text, c.len);
    ck_assert_int_eq(credentials_check(&c, &err), HF_OK);
    return c;
}

/* The command line in one string, and what would be on stdin. */
static const char *asked(const char *agent, const struct exec_param *params, size_t count,
                         const char *secrets)
{
    static struct credentials c;
    static char line[512];

    c = secrets_of(secrets);
    identity_ask(&id, agent, params, count, &c);
    line[0] = '\0';
    if (id.way == IDENTITY_NONE)
        return "-";
    for (size_t i = 0; id.argv[i] != NULL; i++) {
        ck_assert_uint_lt(i, EXEC_ARGS_MAX);
        ck_assert_uint_lt(strlen(line) + strlen(id.argv[i]) + 2, sizeof line);
        strcat(line, id.argv[i]);
        strcat(line, " ");
    }
    ck_assert_ptr_null(strstr(line, "hunter2"));
    id.in.text[id.in.len] = '\0';
    return line;
}

static const char ordinary[] = "username=admin\npassword=hunter2\n";

START_TEST(a_bmc_is_asked_as_its_agent_would)
{
    static const struct exec_param params[] = {
        {"ip", "10.0.0.1"}, {"lanplus", "1"},        {"cipher", "3"},           {"ipport", "6230"},
        {"auth", "md5"},    {"privlvl", "operator"}, {"ipmitool_timeout", "5"},
    };

    ck_assert_str_eq(asked("fence_ipmilan", params, 7, ordinary),
                     "ipmitool -v -I lanplus -H 10.0.0.1 -p 6230 -U admin -A md5 -C 3 -L OPERATOR "
                     "-N 5 -f /dev/stdin raw 0x06 0x37 ");
    ck_assert_str_eq(id.in.text, "hunter2\n");
    ck_assert_str_eq(asked("fence_ipmilan", params, 1, ordinary),
                     "ipmitool -v -I lan -H 10.0.0.1 -U admin -L ADMINISTRATOR -N 2 "
                     "-f /dev/stdin raw 0x06 0x37 ");
    ck_assert_str_eq(asked("fence_ilo4", params, 1, "passwd=old\nlogin=x\npasswd=hunter2\n"),
                     "ipmitool -v -I lanplus -H 10.0.0.1 -U x -L ADMINISTRATOR -N 2 "
                     "-f /dev/stdin raw 0x06 0x37 ");
    ck_assert_str_eq(id.in.text, "hunter2\n"); /* the last line wins, as for the agent */
    identity_wipe(&id);
    for (size_t i = 0; i < sizeof id.in.text; i++)
        ck_assert_int_eq(id.in.text[i], 0);
}
END_TEST

struct silent {
    const char *agent;
    struct exec_param params[2];
    const char *secrets;
};

static const struct silent silents[] = {
    {"fence_apc", {{"ip", "10.0.0.1"}, {"plug", "1"}}, ordinary},
    {"fence_virsh", {{"ip", "10.0.0.1"}, {"plug", "1"}}, ordinary},
    {"fence_ilo4_ssh", {{"ip", "10.0.0.1"}, {"plug", "1"}}, ordinary},
    {"fence_ipmilan", {{"lanplus", "1"}, {"cipher", "3"}}, ordinary},      /* no address */
    {"fence_ipmilan", {{"ip", "10.0.0.1"}, {"target", "0x20"}}, ordinary}, /* bridged */
    {"fence_ipmilan", {{"ip", "10.0.0.1"}, {"hexadecimal-kg", "00"}}, ordinary},
    {"fence_ipmilan", {{"ip", "10.0.0.1"}, {"cipher", "3"}}, "username=admin\n"},
    {"fence_ipmilan", {{"ip", "10.0.0.1"}, {"cipher", "3"}}, "password=a\nhexadecimal_kg=00\n"},
    {"fence_redfish", {{"ip", "10.0.0.1"}, {"cipher", "3"}}, ordinary}, /* which system? */
    {"fence_redfish", {{"ip", "10.0.0.1"}, {"systems_uri", "redfish/v1"}}, ordinary},
    {"fence_redfish", {{"ip", "10.0.0.1"}, {"systems_uri", "/a\"\nproxy"}}, ordinary},
    {"fence_redfish", {{"ip", "10.0.0.1\""}, {"systems_uri", "/redfish/v1"}}, ordinary},
    {"fence_redfish", {{"ip", "evil@10.0.0.1"}, {"systems_uri", "/redfish/v1"}}, ordinary},
    {"fence_redfish",
     {{"ip", "10.0.0.1"}, {"systems_uri", "/redfish/v1"}},
     "password=a\nlogin=a:b"},
};

START_TEST(who_cannot_be_asked_safely_is_not_asked)
{
    const struct silent *s = &silents[_i];

    ck_assert_str_eq(asked(s->agent, s->params, 2, s->secrets), "-");
    ck_assert_uint_eq(id.in.len, 0);
}
END_TEST

START_TEST(a_redfish_service_is_asked_by_a_configuration_on_stdin)
{
    static const struct exec_param params[] = {
        {"ip", "bmc1.example"},
        {"systems-uri", "/redfish/v1/Systems/1"},
        {"ssl_insecure", "1"},
        {"ipport", "8443"},
    };

    ck_assert_str_eq(asked("fence_redfish", params, 2, "username=ad\"min\npassword=hunt\\\"er:2\n"),
                     "curl --disable --config - ");
    ck_assert_ptr_eq(strstr(id.in.text, "url = \"https://bmc1.example:443/redfish/v1/Systems/1\"\n"
                                        "user = \"ad\\\"min:hunt\\\\\\\"er:2\"\n"),
                     id.in.text);
    ck_assert_ptr_null(strstr(id.in.text, "insecure"));
    (void)asked("fence_redfish", params, 4, ordinary);
    ck_assert_ptr_nonnull(strstr(id.in.text, "\"https://bmc1.example:8443/redfish/v1/Systems/1\""));
    ck_assert_ptr_nonnull(strstr(id.in.text, "\ninsecure\n"));
}
END_TEST

struct answer {
    enum identity_way way;
    const char *text;
    bool is_known;
};

#define UUID "a1234567-89ab-cdef-a123-456789abcd01"

static const struct answer answers[] = {
    {IDENTITY_IPMI, " a1 23 45 67 89 ab cd ef a1 23 45 67 89 ab cd 01\n", true},
    {IDENTITY_IPMI, " 01 cd ab 89 67 45 23 a1 ef cd ab 89 67 45 23 a1\n", true}, /* reversed */
    {IDENTITY_IPMI, " a1 23 45 67 89 ab cd ef\n a1 23 45 67 89 ab cd 01\n", true},
    {IDENTITY_IPMI, " a1 23 45 67 89 ab cd ef a1 23 45 67 89 ab cd\n", false},
    {IDENTITY_IPMI, " a1 23 45 67 89 ab cd ef a1 23 45 67 89 ab cd 01 02\n", false},
    {IDENTITY_IPMI, " a1 23 45 67 89 ab cd ef a1 23 45 67 89 ab cd 0\n", false},
    {IDENTITY_IPMI, "RAW RSP a1 23 45 67 89 ab cd ef a1 23 45 67 89 ab cd 01\n", false},
    {IDENTITY_IPMI, " 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n", false},
    {IDENTITY_IPMI, " ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff\n", false},
    {IDENTITY_IPMI, "", false},
    {IDENTITY_REDFISH, "{\"UUID\":\"" UUID "\"}", true},
    {IDENTITY_REDFISH, " { \"Id\": \"1\",\n \"UUID\" : \"" UUID "\",\n \"A\": [1, {}] }\n", true},
    {IDENTITY_REDFISH, "{\"Oem\":{\"UUID\":\"" UUID "\"}}", false},
    {IDENTITY_REDFISH, "{\"Oem\":{\"UUID\":\"x\"},\"UUID\":\"" UUID "\"}", true},
    {IDENTITY_REDFISH, "{\"a\":\"\\\"UUID\\\":\",\"UUID\":\"" UUID "\"}", true},
    {IDENTITY_REDFISH, "{\"Name\":\"UUID\",\"x\":\"" UUID "\"}", false},
    {IDENTITY_REDFISH, "{\"UUID\":\"" UUID "\",\"UUID\":\"" UUID "\"}", false},
    {IDENTITY_REDFISH, "{\"UUID\":\"" UUID "\"", false}, /* cut */
    {IDENTITY_REDFISH, "{\"UUID\":\"" UUID "\"} {}", false},
    {IDENTITY_REDFISH, "{\"UUID\":\"" UUID, false},
    {IDENTITY_REDFISH, "{\"UUID\":null}", false},
    {IDENTITY_REDFISH, "{\"UUID\":", false},
    {IDENTITY_REDFISH, "{\"UUID\":\"00000000-0000-0000-0000-000000000000\"}", false},
    {IDENTITY_REDFISH, "{\"UUID\":\"" UUID UUID UUID "\"}", false},
    {IDENTITY_REDFISH, "[\"UUID\",\"" UUID "\"]", false},
    {IDENTITY_REDFISH, "<html>UUID</html>", false},
    {IDENTITY_REDFISH, "", false},
    {IDENTITY_NONE, "{\"UUID\":\"" UUID "\"}", false},
};

START_TEST(an_answer_is_a_uuid_or_nothing)
{
    uint64_t number = 0, wanted;

    ck_assert(hf_uuid_number(UUID, &wanted));
    ck_assert_int_eq(
        identity_read(answers[_i].way, answers[_i].text, strlen(answers[_i].text), &number),
        answers[_i].is_known);
    if (answers[_i].is_known)
        ck_assert_uint_eq(number, wanted);
}
END_TEST

START_TEST(no_cut_of_an_answer_is_read_past_its_end)
{
    static const char text[] = "{\"a\":\"\\\\\",\"UUID\":\"" UUID "\"}";

    for (size_t len = 0; len < sizeof text - 1; len++) {
        char *cut = malloc(len + 1); /* for the sanitizer: a byte more would be an error */
        uint64_t number;

        ck_assert_ptr_nonnull(cut);
        memcpy(cut, text, len);
        cut[len] = '"';
        ck_assert(!identity_read(IDENTITY_REDFISH, cut, len, &number));
        ck_assert(!identity_read(IDENTITY_IPMI, cut, len, &number));
        free(cut);
    }
}
END_TEST

HF_TEST_MAIN("fencing/identity", HF_CASE(a_bmc_is_asked_as_its_agent_would),
             HF_LOOP(who_cannot_be_asked_safely_is_not_asked, 0,
                     sizeof silents / sizeof silents[0]),
             HF_CASE(a_redfish_service_is_asked_by_a_configuration_on_stdin),
             HF_LOOP(an_answer_is_a_uuid_or_nothing, 0, sizeof answers / sizeof answers[0]),
             HF_CASE(no_cut_of_an_answer_is_read_past_its_end))
