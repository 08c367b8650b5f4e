#include "nicbond/vf.h"

#include "tests/fakes/vf_card.h"
#include "tests/unit/check.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PF "0000:01:00.0"

static char base[64], folder[96];
static struct ledger_file ledger;
static struct vf_card card;
static struct vf_port port;
static struct vf_pf pf;
static struct hf_err err;
static vf_fields unsupported;

static const struct vf_config wanted = {
    .mac = {2, 0, 0, 0, 0, 0x17}, .vlan = 100, .spoofchk = VF_OFF, .trust = VF_SETTING_UNKNOWN};

static void setup(void)
{
    strcpy(base, "/tmp/hf-vf-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(base));
    snprintf(folder, sizeof folder, "%s/nicbond", base);
    ck_assert_msg(ledger_file_open(&ledger, folder, 0, NULL, &err) == HF_OK, "%s", err.text);
    vf_card_init(&card, 4);
    port = vf_card_port(&card);
    vf_card_pf(&card, PF, &pf);
}

static void teardown(void)
{
    char command[128];

    ledger_file_close(&ledger);
    snprintf(command, sizeof command, "rm -r %s", base);
    ck_assert_int_eq(system(command), 0);
}

static struct vf_order order_of(uint16_t number, hf_vm_uid uid, uint32_t start_no)
{
    struct vf_order order = {
        .pf = &pf, .number = number, .uid = uid, .start_no = start_no, .wanted = wanted};

    return order;
}

static enum hf_code prepare(uint16_t number, hf_vm_uid uid, uint32_t start_no)
{
    struct vf_order order = order_of(number, uid, start_no);

    return vf_prepare(&port, &ledger, &order, &unsupported, &err);
}

static enum hf_code release(uint16_t number, hf_vm_uid uid, uint32_t start_no)
{
    struct vf_order order = order_of(number, uid, start_no);

    return vf_release(&port, &ledger, &order, &err);
}

static const struct ledger_vf *entry(uint16_t number)
{
    return ledger_find(&ledger.ledger, pf.vf[number]);
}

START_TEST(a_vf_is_prepared_and_given_back)
{
    struct vf_config before = card.list.vf[2].config;
    struct vf_config others = card.list.vf[1].config;

    ck_assert_msg(prepare(2, 7, 1) == HF_OK, "%s", err.text);
    ck_assert_uint_eq(vf_config_differs(&card.list.vf[2].config, &wanted), 0);
    ck_assert_int_eq(entry(2)->phase, LEDGER_DONE);
    ck_assert_uint_eq(unsupported, 0);
    ck_assert_msg(prepare(2, 7, 1) == HF_OK, "%s", err.text); /* again */
    ck_assert_msg(release(2, 7, 1) == HF_OK, "%s", err.text);
    ck_assert_uint_eq(vf_config_differs(&card.list.vf[2].config, &before), 0);
    ck_assert(!ledger_is_owned(entry(2)));
    ck_assert_int_eq(release(2, 7, 1), HF_ENOENT); /* again */
    ck_assert_uint_eq(vf_config_differs(&card.list.vf[1].config, &others), 0);
}
END_TEST

START_TEST(a_link_that_is_off_is_auto_for_the_owner_and_after)
{
    card.list.vf[2].config.link = VF_LINK_DISABLE;
    ck_assert_msg(prepare(2, 7, 1) == HF_OK, "%s", err.text);
    ck_assert_int_eq(card.list.vf[2].config.link, VF_LINK_AUTO);
    card.list.vf[2].config.link = VF_LINK_DISABLE; /* a flip */
    ck_assert_msg(release(2, 7, 1) == HF_OK, "%s", err.text);
    ck_assert_int_eq(card.list.vf[2].config.link, VF_LINK_AUTO);
}
END_TEST

START_TEST(a_late_teardown_touches_nothing)
{
    struct vf_config is;

    ck_assert_int_eq(prepare(2, 7, 1), HF_OK);
    ck_assert_int_eq(prepare(2, 8, 1), HF_OK);
    is = card.list.vf[2].config;
    card.orders = 0;
    ck_assert_int_eq(release(2, 7, 1), HF_EACCESS);
    ck_assert_ptr_nonnull(strstr(err.text, "VM 8"));
    ck_assert_uint_eq(card.orders, 0);
    ck_assert_uint_eq(vf_config_differs(&card.list.vf[2].config, &is), 0);
    ck_assert_uint_eq(entry(2)->uid, 8);
}
END_TEST

START_TEST(the_next_owner_of_one_that_was_never_given_back_restores_the_first_original)
{
    struct vf_config before = card.list.vf[2].config;

    ck_assert_int_eq(prepare(2, 7, 1), HF_OK);
    ck_assert_int_eq(prepare(2, 8, 1), HF_OK);
    ck_assert_int_eq(release(2, 8, 1), HF_OK);
    ck_assert_uint_eq(vf_config_differs(&card.list.vf[2].config, &before), 0);
}
END_TEST

START_TEST(a_busy_card_is_asked_again)
{
    card.busy = 5;
    ck_assert_msg(prepare(2, 7, 1) == HF_OK, "%s", err.text);
    ck_assert_uint_eq(card.waits_left, 1000 - 5);
    card.busy = 1000;
    card.waits_left = 19; /* two seconds of them */
    ck_assert_int_eq(prepare(3, 7, 1), HF_EAGAIN);
    ck_assert_ptr_nonnull(strstr(err.text, "busy"));
    ck_assert_int_eq(entry(3)->phase, LEDGER_INTENDED);
}
END_TEST

START_TEST(a_refusal_is_tried_again_and_then_believed)
{
    card.refusals = 2;
    ck_assert_msg(prepare(2, 7, 1) == HF_OK, "%s", err.text);
    card.refusals = 1000;
    card.orders = 0;
    ck_assert_int_eq(prepare(3, 7, 1), HF_EINVAL);
    ck_assert_uint_le(card.orders, 3);
}
END_TEST

START_TEST(what_a_driver_lacks_is_named_and_counts_only_when_it_matters)
{
    struct vf_order order = order_of(2, 7, 1);

    card.unsupported = VF_FIELD(VF_FIELD_LINK) | VF_FIELD(VF_FIELD_TRUST);
    order.wanted.trust = VF_OFF;
    card.list.vf[2].config.trust = VF_SETTING_UNKNOWN; /* such a driver does not tell either */
    ck_assert_msg(vf_prepare(&port, &ledger, &order, &unsupported, &err) == HF_OK, "%s", err.text);
    order.wanted.trust = VF_ON;
    ck_assert_int_eq(vf_prepare(&port, &ledger, &order, &unsupported, &err), HF_EINVAL);
    ck_assert_uint_eq(unsupported, VF_FIELD(VF_FIELD_TRUST));
    ck_assert_ptr_nonnull(strstr(err.text, "trust not as wanted, and the driver has no operation"));
    ck_assert_uint_eq(card.waits_left, 1000); /* it will not come */
}
END_TEST

START_TEST(a_driver_that_says_yes_and_does_nothing_is_found)
{
    card.ignored = VF_FIELD(VF_FIELD_VLAN);
    card.waits_left = 5;
    ck_assert_int_eq(prepare(2, 7, 1), HF_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "VLAN not as wanted"));
    ck_assert_int_eq(entry(2)->phase, LEDGER_INTENDED);
    ck_assert_int_eq(release(2, 7, 1), HF_OK);
}
END_TEST

START_TEST(a_vf_that_is_not_told_is_waited_for_and_then_not_touched)
{
    card.silent_vf = 2;
    card.silent_reads = 3;
    ck_assert_msg(prepare(2, 7, 1) == HF_OK, "%s", err.text);
    card.silent_reads = UINT32_MAX;
    card.waits_left = 19;
    card.orders = 0;
    ck_assert_int_eq(release(2, 7, 1), HF_EAGAIN);
    ck_assert(ledger_is_owned(entry(2)));
    ck_assert_uint_eq(card.orders, 0);
    card.silent_vf = 1;
    ck_assert_int_eq(prepare(1, 7, 1), HF_EAGAIN); /* what it was is not known */
    ck_assert_ptr_null(entry(1));
    ck_assert_uint_eq(card.orders, 0);
}
END_TEST

START_TEST(a_read_back_waits_for_a_vf_in_reset)
{
    struct vf_config other = wanted;

    other.vlan = 7;
    card.silent_vf = 2;
    ck_assert_int_eq(prepare(2, 7, 1), HF_OK);
    card.silent_reads = 3;
    ck_assert_msg(vf_write(&port, &pf, 2, VF_FIELD(VF_FIELD_VLAN), &other, &unsupported, &err) ==
                      HF_OK,
                  "%s", err.text);
    ck_assert_uint_eq(card.waits_left, 1000 - 3);
}
END_TEST

START_TEST(a_pf_that_is_off_a_vf_that_is_not_there_and_802_1ad_are_refused)
{
    card.list.is_pf_up = false;
    ck_assert_int_eq(prepare(2, 7, 1), HF_EAGAIN);
    card.list.is_pf_up = true;
    ck_assert_int_eq(prepare(4, 7, 1), HF_ENOENT);
    card.list.vf[2].is_qinq = true;
    ck_assert_int_eq(prepare(2, 7, 1), HF_EINVAL);
    ck_assert_int_eq(prepare(1, 0, 1), HF_EINVAL);
    ck_assert_uint_eq(card.orders, 0);
    ck_assert_uint_eq(ledger.ledger.count, 0);
}
END_TEST

START_TEST(a_driver_that_refuses_no_mac_gets_the_stand_in)
{
    memset(card.list.vf[2].config.mac, 0, VF_MAC_BYTES);
    card.refuses_no_mac = true;
    ck_assert_int_eq(prepare(2, 7, 1), HF_OK);
    ck_assert_msg(release(2, 7, 1) == HF_OK, "%s", err.text);
    ck_assert(vf_mac_is_none(card.list.vf[2].config.mac));
    ck_assert_uint_eq(card.list.vf[2].config.mac[0], 2);
}
END_TEST

START_TEST(what_others_changed_since_is_left_to_them)
{
    static const uint8_t libvirts[VF_MAC_BYTES] = {0x0a, 1, 2, 3, 4, 5};

    ck_assert_int_eq(prepare(2, 7, 1), HF_OK);
    memcpy(card.list.vf[2].config.mac, libvirts, VF_MAC_BYTES);
    ck_assert_int_eq(release(2, 7, 1), HF_OK);
    ck_assert_mem_eq(card.list.vf[2].config.mac, libvirts, VF_MAC_BYTES);
    ck_assert_uint_eq(card.list.vf[2].config.vlan, 0);
    ck_assert_int_eq(card.list.vf[2].config.spoofchk, VF_ON);
}
END_TEST

START_TEST(a_vf_that_is_gone_is_released)
{
    ck_assert_int_eq(prepare(3, 7, 1), HF_OK);
    card.list.count = 2;
    ck_assert_int_eq(release(3, 7, 1), HF_ENOENT);
    ck_assert(!ledger_is_owned(entry(3)));
}
END_TEST

START_TEST(an_adopted_vf_is_not_touched_and_loses_mac_and_vlan_at_the_end)
{
    struct vf_order order = order_of(2, 7, 1);

    card.list.vf[2].config = wanted; /* by libvirt */
    ck_assert_msg(vf_adopt(&port, &ledger, &order, &err) == HF_OK, "%s", err.text);
    ck_assert_uint_eq(card.orders, 0);
    ck_assert_int_eq(entry(2)->phase, LEDGER_DONE);
    ck_assert_int_eq(release(2, 7, 1), HF_OK);
    ck_assert(vf_mac_is_none(card.list.vf[2].config.mac));
    ck_assert_uint_eq(card.list.vf[2].config.vlan, 0);
}
END_TEST

START_TEST(a_ledger_that_cannot_be_written_keeps_the_card_as_it_is)
{
    struct vf_config before = card.list.vf[2].config;

    close(ledger.fd);
    ledger.fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* EBADF to every write */
    ck_assert_int_eq(prepare(2, 7, 1), HF_EIO);
    ck_assert_uint_eq(card.orders, 0);
    ck_assert_uint_eq(vf_config_differs(&card.list.vf[2].config, &before), 0);
    ck_assert_msg(prepare(2, 7, 1) == HF_OK, "%s", err.text); /* with a new file */
}
END_TEST

/* ---- the kernel itself ---- */

/* In a network of our own: its loopback interface has no VFs, but answers. */
START_TEST(the_kernel_says_what_it_does_not_support)
{
    static const uint16_t vfs[] = {0, 1};
    struct vf_netlink netlink;
    struct vf_list list;

    if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
        return; /* not allowed here */
    ck_assert_msg(vf_netlink_open(&netlink, -1, &err) == HF_OK, "%s", err.text);
    port = vf_netlink_port(&netlink);
    ck_assert_msg(port.read(port.user, 1, &list, &err) == VF_DONE, "%s", err.text);
    ck_assert_uint_eq(list.count, 0);
    ck_assert(!list.is_pf_up);
    for (enum vf_field f = VF_FIELD_MAC; f < VF_FIELDS; f++)
        ck_assert_msg(port.set(port.user, 1, 0, f, &wanted, &err) == VF_UNSUPPORTED, "%s",
                      err.text);
    ck_assert_int_eq(port.link(port.user, 1, vfs, 2, VF_LINK_DISABLE, &err), VF_UNSUPPORTED);
    ck_assert_int_eq(port.admin(port.user, 1, true, &err), VF_DONE);
    ck_assert_int_eq(port.read(port.user, 1, &list, &err), VF_DONE);
    ck_assert(list.is_pf_up);
    ck_assert_int_eq(port.admin(port.user, 1, false, &err), VF_DONE);
    ck_assert_int_eq(port.read(port.user, 1, &list, &err), VF_DONE);
    ck_assert(!list.is_pf_up);
    ck_assert_int_eq(port.read(port.user, 12345, &list, &err), VF_GONE);
    ck_assert_int_eq(port.admin(port.user, 12345, true, &err), VF_GONE);
    vf_netlink_close(&netlink);
}
END_TEST

START_TEST(waiting_ends_when_nobody_needs_the_result)
{
    struct vf_netlink netlink;
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_msg(vf_netlink_open(&netlink, ends[0], &err) == HF_OK, "%s", err.text);
    port = vf_netlink_port(&netlink);
    ck_assert(port.wait(port.user, 1));
    close(ends[1]);
    ck_assert(!port.wait(port.user, 10000));
    close(ends[0]);
    vf_netlink_close(&netlink);
}
END_TEST

/* ---- sysfs ---- */

static void put(const char *path, const char *text)
{
    char whole[300];
    FILE *file;

    snprintf(whole, sizeof whole, "%s/sys/bus/pci/devices/%s", base, path);
    file = fopen(whole, "we");
    ck_assert_msg(file != NULL, "%s", whole);
    ck_assert(fputs(text, file) >= 0 && fclose(file) == 0);
}

static void make(const char *path)
{
    char command[400];

    snprintf(command, sizeof command, "mkdir -p %s/sys/bus/pci/devices/%s", base, path);
    ck_assert_int_eq(system(command), 0);
}

static void join(const char *target, const char *path)
{
    char whole[300];

    snprintf(whole, sizeof whole, "%s/sys/bus/pci/devices/%s", base, path);
    ck_assert_int_eq(symlink(target, whole), 0);
}

START_TEST(a_pf_is_read_from_sysfs)
{
    struct vf_pf found;
    char sys[80];

    snprintf(sys, sizeof sys, "%s/sys", base);
    ck_assert_int_eq(vf_scan(sys, "../../..", &found, &err), HF_EINVAL);
    ck_assert_int_eq(vf_scan(sys, PF, &found, &err), HF_ENOENT);
    make(PF);
    ck_assert_int_eq(vf_scan(sys, PF, &found, &err), HF_ENOENT);
    make(PF "/net/enp1s0f0");
    ck_assert_int_eq(vf_scan(sys, PF, &found, &err), HF_ENOENT);
    make(PF "/net/enp1s0f0_0"); /* a representor, made later */
    put(PF "/net/enp1s0f0_0/ifindex", "40\n");
    put(PF "/net/enp1s0f0/ifindex", "12\n");
    join("../0000:01:10.0", PF "/virtfn0");
    join("../0000:01:10.2", PF "/virtfn1");
    make("0000:01:10.0");
    make("0000:01:10.2");
    join("../../drivers/vfio-pci", "0000:01:10.0/driver");
    ck_assert_msg(vf_scan(sys, PF, &found, &err) == HF_OK, "%s", err.text);
    ck_assert_str_eq(found.name, "enp1s0f0");
    ck_assert_int_eq(found.ifindex, 12);
    ck_assert_uint_eq(found.count, 2);
    ck_assert_str_eq(found.vf[1], "0000:01:10.2");
    ck_assert(found.has_driver[0] && !found.has_driver[1]);
    join("../somewhere", PF "/virtfn2");
    ck_assert_int_eq(vf_scan(sys, PF, &found, &err), HF_EBAD);
}
END_TEST

HF_TEST_MAIN_WITH(
    "nicbond/vf", setup, teardown, HF_CASE(a_vf_is_prepared_and_given_back),
    HF_CASE(a_link_that_is_off_is_auto_for_the_owner_and_after),
    HF_CASE(a_late_teardown_touches_nothing),
    HF_CASE(the_next_owner_of_one_that_was_never_given_back_restores_the_first_original),
    HF_CASE(a_busy_card_is_asked_again), HF_CASE(a_refusal_is_tried_again_and_then_believed),
    HF_CASE(what_a_driver_lacks_is_named_and_counts_only_when_it_matters),
    HF_CASE(a_driver_that_says_yes_and_does_nothing_is_found),
    HF_CASE(a_vf_that_is_not_told_is_waited_for_and_then_not_touched),
    HF_CASE(a_read_back_waits_for_a_vf_in_reset),
    HF_CASE(a_pf_that_is_off_a_vf_that_is_not_there_and_802_1ad_are_refused),
    HF_CASE(a_driver_that_refuses_no_mac_gets_the_stand_in),
    HF_CASE(what_others_changed_since_is_left_to_them), HF_CASE(a_vf_that_is_gone_is_released),
    HF_CASE(an_adopted_vf_is_not_touched_and_loses_mac_and_vlan_at_the_end),
    HF_CASE(a_ledger_that_cannot_be_written_keeps_the_card_as_it_is),
    HF_CASE(the_kernel_says_what_it_does_not_support),
    HF_CASE(waiting_ends_when_nobody_needs_the_result), HF_CASE(a_pf_is_read_from_sysfs))
