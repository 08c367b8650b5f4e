#include "agents/vm/render.h"

#include "tests/unit/check.h"

#include <string.h>

static enum hf_code render(const char *xml, char **out, struct hf_err *err)
{
    return render_start(xml, strlen(xml), "mq-1", 7, 3, out, err);
}

START_TEST(a_start_is_marked_and_read_back)
{
    static const char *const domains[] = {
        "<domain><name>mq-1</name></domain>",
        "<domain><name>mq-1</name><metadata><x:a xmlns:x='urn:x'/></metadata></domain>",
        ("<domain><name>mq-1</name><metadata><hf:start xmlns:hf='urn:holdfast:start:1' no='1' "
         "uid='9'/></metadata></domain>"),
    };
    char *out, status[2000];
    struct hf_err err;
    uint32_t no;
    hf_vm_uid uid;

    render_init();
    ck_assert_msg(render(domains[_i], &out, &err) == HF_OK, "%s", err.text);
    ck_assert_int_eq(render_read(out, strlen(out), &uid, &no, &err), HF_OK);
    ck_assert_uint_eq(uid, 7);
    ck_assert_uint_eq(no, 3);
    ck_assert_ptr_null(strstr(out, "uid=\"9\""));
    ck_assert(_i != 1 || strstr(out, "urn:x") != NULL);
    snprintf(status, sizeof status, "<domstatus state='running'>%s</domstatus>",
             strstr(out, "<domain"));
    ck_assert_int_eq(render_read(status, strlen(status), &uid, &no, &err), HF_OK);
    ck_assert_uint_eq(no, 3);
    free(out);
}
END_TEST

static const char *const refused[] = {
    "",
    "<domain><name>mq-1</name>",
    "<network><name>mq-1</name></network>",
    "<domain/>",
    "<domain><name>mq-2</name></domain>",
    "<domain><name>mq-1</name><name>mq-1</name></domain>",
    "<!DOCTYPE domain><domain><name>mq-1</name></domain>",
    "<!DOCTYPE d [<!ENTITY a 'mq-1'>]><domain><name>&a;</name></domain>",
    "<!DOCTYPE d [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><domain><name>mq-1</name>&a;</domain>",
    "<domain><name>mq-1</name><devices><disk><shareable/></disk></devices></domain>",
    "<domain><name>mq-1</name><on_crash>restart</on_crash></domain>",
    "<domain><name>mq-1</name><devices><disk><driver locking='off'/></disk></devices></domain>",
    "<domain xmlns:q='urn:q'><name>mq-1</name><q:commandline><q:arg "
    "value='-drive file=x,file.locking=off'/></q:commandline></domain>",
    "<domain xmlns:q='urn:q'><name>mq-1</name><q:commandline><q:arg "
    "value='{\"driver\":\"file\",\"locking\":\"off\"}'/></q:commandline></domain>",
    "<domain xmlns:q='urn:q'><name>mq-1</name><q:commandline><q:arg "
    "value='x,force-share=on'/></q:commandline></domain>",
};

START_TEST(what_breaks_a_rule_is_refused_with_the_reason)
{
    struct hf_err err = {.text = ""};
    char *out = NULL;

    render_init();
    ck_assert_int_ne(render(refused[_i], &out, &err), HF_OK);
    ck_assert_ptr_null(out);
    ck_assert_uint_gt(strlen(err.text), 0);
}
END_TEST

START_TEST(size_depth_and_zero_bytes_are_bounded)
{
    static char xml[HF_XML_MAX + 100];
    struct hf_err err;
    char *out = NULL;

    render_init();
    memset(xml, ' ', sizeof xml);
    ck_assert_int_eq(render_start(xml, HF_XML_MAX + 1, "mq-1", 7, 3, &out, &err), HF_EBAD);
    memcpy(xml, "<domain>\0</domain>", 18);
    ck_assert_int_eq(render_start(xml, 18, "mq-1", 7, 3, &out, &err), HF_EBAD);
    strcpy(xml, "<domain><name>mq-1</name>");
    for (int i = 0; i < 100; i++)
        strcat(xml, "<a>");
    for (int i = 0; i < 100; i++)
        strcat(xml, "</a>");
    strcat(xml, "</domain>");
    ck_assert_int_eq(render_start(xml, strlen(xml), "mq-1", 7, 3, &out, &err), HF_EINVAL);
}
END_TEST

START_TEST(a_domain_without_a_mark_is_not_ours)
{
    static const char plain[] = "<domain><name>mq-1</name></domain>";
    static const char broken[] = "<domain><metadata><hf:start xmlns:hf='urn:holdfast:start:1' "
                                 "no='-1' uid='x'/></metadata></domain>";
    static const char other[] =
        "<domain><metadata><hf:start xmlns:hf='urn:else' no='1' uid='7'/></metadata></domain>";
    struct hf_err err;
    uint32_t no;
    hf_vm_uid uid;

    render_init();
    ck_assert_int_eq(render_read(plain, strlen(plain), &uid, &no, &err), HF_ENOENT);
    ck_assert_int_eq(render_read(other, strlen(other), &uid, &no, &err), HF_ENOENT);
    ck_assert_int_eq(render_read(broken, strlen(broken), &uid, &no, &err), HF_EBAD);
}
END_TEST

START_TEST(a_guest_is_paused_only_by_the_status_file_of_its_process)
{
    static const struct {
        const char *xml;
        bool is_paused;
    } cases[] = {
        {"<domstatus state='paused' reason='user' pid='53'><domain/></domstatus>", true},
        {"<domstatus state='paused' reason='starting up' pid='53'/>", true},
        {"<domstatus state='paused' reason='user' pid='54'/>", false},
        {"<domstatus state='paused' reason='user'/>", false},
        {"<domstatus state='paused' reason='ioerror' pid='53'/>", false},
        {"<domstatus state='paused' reason='migration' pid='53'/>", false},
        {"<domstatus state='paused' pid='53'/>", false},
        {"<domstatus state='running' reason='unpaused' pid='53'/>", false},
        {"<domain state='paused' reason='user' pid='53'/>", false},
        {"<domstatus state='paused' reason='user' pid='53'>", false},
        {"", false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ck_assert_msg(render_is_paused(cases[i].xml, strlen(cases[i].xml), 53) ==
                          cases[i].is_paused,
                      "%s", cases[i].xml);
}
END_TEST

HF_TEST_MAIN("agents/vm/render", HF_LOOP(a_start_is_marked_and_read_back, 0, 3),
             HF_LOOP(what_breaks_a_rule_is_refused_with_the_reason, 0,
                     sizeof refused / sizeof refused[0]),
             HF_CASE(size_depth_and_zero_bytes_are_bounded),
             HF_CASE(a_domain_without_a_mark_is_not_ours),
             HF_CASE(a_guest_is_paused_only_by_the_status_file_of_its_process))
