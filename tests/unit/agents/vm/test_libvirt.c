/* The thin layer over libvirt, on libvirt's own test driver (test:///default, in this process). */
#include "agents/vm/libvirt.h"

#include "tests/unit/check.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int heard_fd;
static struct virt_event heard; /* written before the eventfd, read after it */

static void on_event(void *user, const struct virt_event *ev)
{
    static const uint64_t one = 1;

    (void)user;
    heard = *ev;
    ck_assert_int_eq(write(heard_fd, &one, sizeof one), sizeof one);
}

static void on_gone(void *user, const char *why)
{
    (void)user;
    (void)why;
}

static void await_event(enum virt_event_kind kind, const char *name)
{
    struct pollfd one = {.fd = heard_fd, .events = POLLIN};
    uint64_t count;

    do {
        ck_assert_int_eq(poll(&one, 1, 5000), 1);
        ck_assert_int_eq(read(heard_fd, &count, sizeof count), sizeof count);
    } while (heard.kind != kind);
    ck_assert_str_eq(heard.name, name);
}

START_TEST(the_calls_and_events_of_a_life)
{
    static const char xml[] = "<domain type='test'><name>vm9</name><memory>1024</memory>"
                              "<os><type>hvm</type></os></domain>";
    struct virt_sink sink = {.event = on_event, .gone = on_gone};
    struct hf_err err = {.text = ""};
    struct virt v;
    char *text = NULL;
    void *conn;

    heard_fd = eventfd(0, EFD_CLOEXEC);
    ck_assert_msg(libvirt_open(&v, "test:///default", false, &err) == HF_OK, "%s", err.text);
    ck_assert_msg(v.attach(v.self, &sink, &err) == VIRT_OK, "%s", err.text);
    ck_assert_int_eq(v.open(v.self, &conn, &err), VIRT_OK);
    ck_assert_int_eq(v.ping(v.self, conn, &err), VIRT_OK);
    ck_assert_int_eq(v.resume(v.self, conn, "vm9", &err), VIRT_ABSENT);
    ck_assert_msg(v.probe(v.self, conn, "vm9", &err) == VIRT_ABSENT, "%s", err.text);
    ck_assert_msg(v.create(v.self, conn, "vm9", xml, &err) == VIRT_OK, "%s", err.text);
    await_event(VIRT_EV_STARTED, "vm9");
    ck_assert_int_eq(v.probe(v.self, conn, "vm9", &err), VIRT_ACTIVE);
    ck_assert_int_eq(v.create(v.self, conn, "vm9", xml, &err), VIRT_ACTIVE);
    ck_assert_int_eq(v.resume(v.self, conn, "vm9", &err), VIRT_OK);
    ck_assert_int_eq(v.describe(v.self, conn, "vm9", &text, &err), VIRT_OK);
    ck_assert_ptr_nonnull(strstr(text, "<name>vm9</name>"));
    free(text);
    ck_assert_int_eq(v.destroy(v.self, conn, "vm9", false, &err), VIRT_OK);
    await_event(VIRT_EV_STOPPED_DESTROYED, "vm9");
    ck_assert_int_eq(v.destroy(v.self, conn, "vm9", true, &err), VIRT_ABSENT);
    /* "test" is defined by the driver: stopped, it is somebody's definition. */
    ck_assert_int_eq(v.destroy(v.self, conn, "test", false, &err), VIRT_OK);
    ck_assert_int_eq(v.create(v.self, conn, "test", xml, &err), VIRT_PERSISTENT);
    ck_assert_int_eq(v.probe(v.self, conn, "test", &err), VIRT_PERSISTENT);
    ck_assert_int_eq(v.create(v.self, conn, "vm9", "<domain/>", &err), VIRT_FAILED);
    v.close(v.self, conn);
    ck_assert_int_eq(v.attach(v.self, &sink, &err), VIRT_OK); /* replaces the first */
    libvirt_close(&v);
}
END_TEST

START_TEST(a_daemon_that_is_not_there_is_unreached)
{
    struct hf_err err = {.text = ""};
    struct virt v;
    void *conn;

    ck_assert_int_eq(
        libvirt_open(&v, "qemu+unix:///system?socket=/tmp/no-such-socket", true, &err), HF_OK);
    ck_assert_int_eq(v.open(v.self, &conn, &err), VIRT_UNREACHED);
    ck_assert_ptr_nonnull(strstr(err.text, "libvirt: connect"));
    libvirt_close(&v);
}
END_TEST

START_TEST(a_held_write_lock_is_told_apart)
{
    ck_assert_int_eq(libvirt_judge_text("internal error: process exited while connecting to "
                                        "monitor: Failed to get \"write\" lock\nIs another"),
                     VIRT_LOCKED);
    ck_assert_int_eq(libvirt_judge_text("internal error: no such machine"), VIRT_FAILED);
}
END_TEST

/* Seen with libvirt 9.0 when the start came within milliseconds of the kill: the lookup finds
 * nothing any more, the list still has the name. */
START_TEST(an_instance_libvirt_still_removes_is_waited_for)
{
    ck_assert_int_eq(libvirt_judge_text("operation failed: domain 'mq-1' already exists with uuid "
                                        "fc750ad4-7179-4231-af43-0624bd5124a0"),
                     VIRT_ACTIVE);
    ck_assert_int_eq(libvirt_judge_text("Requested operation is not valid: domain is already "
                                        "active as 'mq-1'"),
                     VIRT_ACTIVE);
}
END_TEST

HF_TEST_MAIN("agents/vm/libvirt", HF_CASE(the_calls_and_events_of_a_life),
             HF_CASE(a_daemon_that_is_not_there_is_unreached),
             HF_CASE(a_held_write_lock_is_told_apart),
             HF_CASE(an_instance_libvirt_still_removes_is_waited_for))
