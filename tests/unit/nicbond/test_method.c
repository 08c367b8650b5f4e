#include "nicbond/method.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nicbond/helper.h"
#include "nicbond/look.h"
#include "tests/fakes/vf_card.h"
#include "tests/unit/check.h"

static char folder[64];
static int flips_fd;
static struct vf_card card;
static struct vf_port port;

static void setup(void)
{
    struct hf_err err;

    (void)snprintf(folder, sizeof folder, "/tmp/test_method.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(flips_open(folder, &flips_fd, &err), HF_OK);
    vf_card_init(&card, 8);
    port = vf_card_port(&card);
}

static void teardown(void)
{
    char command[128];

    close(flips_fd);
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static struct method_pf an_order(bool is_off, uint64_t epoch)
{
    struct method_pf order = {.job = METHOD_VF_LINK,
                              .fabric = 1,
                              .epoch = epoch,
                              .ifindex = 7,
                              .budget_ms = 150,
                              .is_off = is_off,
                              .pci = "0000:01:00.0",
                              .vfs_count = 3,
                              .vf = {5, 2, 6}};

    if (is_off)
        order.off[0] = 0x64;
    return order;
}

static struct flips_entry written(void)
{
    struct flips flips;
    struct hf_err err;

    ck_assert_int_eq(flips_read(flips_fd, &flips, &err), HF_OK);
    return flips.fabric[1];
}

START_TEST(all_links_go_in_one_message_and_are_written_down_before)
{
    struct method_pf order = an_order(true, 9);
    struct method_done done;

    method_vflink_run(&port, flips_fd, &order, &done);
    ck_assert_int_eq(done.rung, FLIP_RUNG_DONE);
    ck_assert_uint_eq(done.vfs_count, 3);
    ck_assert_uint_eq(card.orders, 1);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(card.list.vf[order.vf[i]].config.link, VF_LINK_DISABLE);
    ck_assert_int_eq(card.list.vf[1].config.link, VF_LINK_AUTO);
    ck_assert_uint_eq(written().epoch, 9);
    ck_assert_uint_eq(written().vfs[0], 0x64);
    order = an_order(false, 10);
    method_vflink_run(&port, flips_fd, &order, &done);
    ck_assert_int_eq(done.rung, FLIP_RUNG_DONE);
    ck_assert_int_eq(card.list.vf[5].config.link, VF_LINK_AUTO);
    ck_assert_uint_eq(written().vfs[0], 0);
}
END_TEST

START_TEST(a_later_order_makes_an_older_one_nobodys)
{
    struct method_pf newer = an_order(false, 20), older = an_order(true, 19);
    struct method_done done;

    method_vflink_run(&port, flips_fd, &newer, &done);
    method_vflink_run(&port, flips_fd, &older, &done);
    ck_assert_int_eq(done.rung, FLIP_RUNG_REFUSED);
    ck_assert_uint_eq(card.orders, 1);
    older.job = METHOD_PF_ADMIN;
    older.vfs_count = 0;
    method_pfdown_run(&port, flips_fd, &older, &done);
    ck_assert_int_eq(done.rung, FLIP_RUNG_REFUSED);
    ck_assert(card.list.is_pf_up);
}
END_TEST

START_TEST(what_cannot_be_written_down_is_not_switched_off)
{
    struct method_pf order = an_order(true, 9);
    struct method_done done;

    method_vflink_run(&port, -1, &order, &done);
    ck_assert_int_eq(done.rung, FLIP_RUNG_REFUSED);
    method_pfdown_run(&port, -1, &order, &done);
    ck_assert_int_eq(done.rung, FLIP_RUNG_REFUSED);
    ck_assert_uint_eq(card.orders, 0);
    /* On again is right whatever is written. */
    order = an_order(false, 10);
    method_vflink_run(&port, -1, &order, &done);
    ck_assert_int_eq(done.rung, FLIP_RUNG_DONE);
}
END_TEST

START_TEST(a_vf_that_is_not_there_keeps_no_other_from_it)
{
    struct method_pf order = an_order(true, 9);
    struct method_done done;

    order.vf[0] = 77;
    method_vflink_run(&port, flips_fd, &order, &done);
    ck_assert_int_eq(done.rung, FLIP_RUNG_REFUSED);
    ck_assert(!done.is_unsupported);
    ck_assert_uint_eq(done.vf[0], FLIP_RUNG_REFUSED);
    ck_assert_uint_eq(done.vf[1], FLIP_RUNG_DONE);
    ck_assert_uint_eq(done.vf[2], FLIP_RUNG_DONE);
    ck_assert_int_eq(card.list.vf[6].config.link, VF_LINK_DISABLE);
}
END_TEST

START_TEST(a_driver_without_link_state_says_so_and_nothing_is_kept)
{
    struct method_pf order = an_order(true, 9);
    struct method_done done;

    card.unsupported = VF_FIELD(VF_FIELD_LINK);
    method_vflink_run(&port, flips_fd, &order, &done);
    ck_assert_int_eq(done.rung, FLIP_RUNG_REFUSED);
    ck_assert(done.is_unsupported);
    ck_assert_uint_eq(card.orders, 1);
    ck_assert_uint_eq(written().vfs[0], 0);
}
END_TEST

START_TEST(a_busy_card_is_asked_again_while_there_is_time)
{
    struct method_pf order = an_order(true, 9);
    struct method_done done;

    card.busy = 3;
    card.waits_left = 10;
    method_vflink_run(&port, flips_fd, &order, &done);
    ck_assert_int_eq(done.rung, FLIP_RUNG_DONE);
    card.busy = 3;
    order.epoch = 10;
    order.budget_ms = 0;
    method_vflink_run(&port, flips_fd, &order, &done);
    ck_assert_int_ne(done.rung, FLIP_RUNG_DONE);
}
END_TEST

START_TEST(a_pf_goes_down_and_comes_up)
{
    struct method_pf order = an_order(true, 9);
    struct method_done done;

    order.job = METHOD_PF_ADMIN;
    order.vfs_count = 0;
    method_pfdown_run(&port, flips_fd, &order, &done);
    ck_assert_int_eq(done.rung, FLIP_RUNG_DONE);
    ck_assert(!card.list.is_pf_up);
    ck_assert(written().is_pf_down);
    order.is_off = false;
    order.epoch = 10;
    method_pfdown_run(&port, flips_fd, &order, &done);
    ck_assert(card.list.is_pf_up);
    ck_assert(!written().is_pf_down);
}
END_TEST

START_TEST(every_driver_has_its_row)
{
    ck_assert_int_eq(method_vflink_is_known("sfc"), NIC_YES);
    ck_assert_int_eq(method_vflink_is_known("ice"), NIC_YES);
    ck_assert_int_eq(method_vflink_is_known("igb"), NIC_NO);
    ck_assert_int_eq(method_vflink_is_known(""), NIC_NOT_KNOWN);
    ck_assert_int_eq(method_vflink_is_known("new"), NIC_NOT_KNOWN);
}
END_TEST

/* Every byte of a message turned into every other: decoded as something valid, or refused. */
START_TEST(messages_survive_their_way_and_nothing_else_does)
{
    struct method_pf order = an_order(true, 9), got;
    struct method_vm vm = {.job = METHOD_LINK, .is_off = true, .name = "trade1"}, got_vm;
    struct method_done done = {.rung = FLIP_RUNG_LATE, .vfs_count = 2, .vf = {4, 5}, .why = "x"};
    struct method_done got_done;
    struct watch_helped helped = {.answered_at = {5}, .is_hot = NIC_YES, .serial = "S1"}, got_h;
    uint8_t bytes[HELPER_ORDER_MAX], one[HELPER_ORDER_MAX];
    size_t len = method_pf_encode(&order, bytes, sizeof bytes);

    ck_assert(method_pf_decode(bytes, len, &got));
    ck_assert_uint_eq(got.vf[2], 6);
    ck_assert_str_eq(got.pci, order.pci);
    ck_assert_int_eq(memcmp(got.off, order.off, sizeof got.off), 0);
    for (size_t cut = 0; cut < len; cut++)
        ck_assert(!method_pf_decode(bytes, cut, &got));
    for (size_t at = 0; at < len; at++) {
        for (unsigned v = 0; v < 256; v++) {
            memcpy(one, bytes, len);
            one[at] = (uint8_t)v;
            if (method_pf_decode(one, len, &got))
                ck_assert_uint_le(got.vfs_count, VF_COUNT_MAX);
        }
    }
    len = method_vm_encode(&vm, bytes, sizeof bytes);
    ck_assert(method_vm_decode(bytes, len, &got_vm));
    ck_assert_str_eq(got_vm.name, "trade1");
    for (size_t cut = 0; cut < len; cut++)
        ck_assert(!method_vm_decode(bytes, cut, &got_vm));
    len = method_done_encode(&done, bytes, sizeof bytes);
    ck_assert(method_done_decode(bytes, len, &got_done));
    ck_assert_uint_eq(got_done.vf[1], 5);
    for (size_t cut = 0; cut < len; cut++)
        ck_assert(!method_done_decode(bytes, cut, &got_done));
    bytes[0] = FLIP_RUNG_WANTED; /* no end of a rung */
    ck_assert(!method_done_decode(bytes, len, &got_done));
    len = look_encode(&helped, bytes, sizeof bytes);
    ck_assert(look_decode(bytes, len, &got_h));
    ck_assert_str_eq(got_h.serial, "S1");
    for (size_t cut = 0; cut < len; cut++)
        ck_assert(!look_decode(bytes, cut, &got_h));
}
END_TEST

static const char domain[] =
    "<domain type='kvm'><name>t</name><devices>"
    "<interface type='bridge'><mac address='52:54:00:00:00:0A'/><source bridge='bra'/>"
    "<target dev='vnet0'/><model type='virtio'/><alias name='net0'/></interface>"
    "<interface type='network'><mac address='52:54:00:00:00:0b'/>"
    "<actual type='hostdev'><source/></actual></interface>"
    "<interface type='bridge'><mac address='52:54:00:00:00:0c'/><link state='down'/></interface>"
    "<interface type='bridge'><mac address='52:54:00:00:00:0c'/></interface>"
    "</devices></domain>";

static hf_mac mac(uint8_t last)
{
    return (hf_mac){{0x52, 0x54, 0, 0, 0, last}};
}

START_TEST(libvirt_is_told_the_whole_nic_with_its_link_changed)
{
    struct hf_err err;
    char *xml;

    ck_assert_int_eq(method_link_xml(domain, sizeof domain - 1, mac(10), true, &xml, &err), HF_OK);
    ck_assert_ptr_nonnull(strstr(xml, "<link state=\"down\"/>"));
    ck_assert_ptr_nonnull(strstr(xml, "<alias name=\"net0\"/>"));
    ck_assert_ptr_nonnull(strstr(xml, "<source bridge=\"bra\"/>"));
    ck_assert_ptr_eq(strstr(xml, "<interface"), xml);
    free(xml);
    ck_assert_int_eq(method_link_xml(domain, sizeof domain - 1, mac(10), false, &xml, &err), HF_OK);
    ck_assert_ptr_nonnull(strstr(xml, "<link state=\"up\"/>"));
    free(xml);
    ck_assert_int_eq(method_unplug_xml(domain, sizeof domain - 1, mac(11), &xml, &err), HF_OK);
    ck_assert_ptr_nonnull(strstr(xml, "hostdev"));
    free(xml);
}
END_TEST

START_TEST(a_nic_that_cannot_be_told_is_refused)
{
    struct hf_err err;
    char *xml;

    ck_assert_int_eq(method_link_xml(domain, sizeof domain - 1, mac(11), true, &xml, &err),
                     HF_EINVAL); /* a VF's link is its PF's */
    ck_assert_int_eq(method_link_xml(domain, sizeof domain - 1, mac(12), true, &xml, &err),
                     HF_EBAD); /* which of the two? */
    ck_assert_int_eq(method_link_xml(domain, sizeof domain - 1, mac(13), true, &xml, &err),
                     HF_ENOENT);
    ck_assert_int_eq(method_link_xml(domain, sizeof domain - 2, mac(10), true, &xml, &err),
                     HF_EBAD);
    ck_assert_int_eq(method_unplug_xml("", 0, mac(10), &xml, &err), HF_EBAD);
}
END_TEST

HF_TEST_MAIN_WITH("nicbond/method", setup, teardown,
                  HF_CASE(all_links_go_in_one_message_and_are_written_down_before),
                  HF_CASE(a_later_order_makes_an_older_one_nobodys),
                  HF_CASE(what_cannot_be_written_down_is_not_switched_off),
                  HF_CASE(a_vf_that_is_not_there_keeps_no_other_from_it),
                  HF_CASE(a_driver_without_link_state_says_so_and_nothing_is_kept),
                  HF_CASE(a_busy_card_is_asked_again_while_there_is_time),
                  HF_CASE(a_pf_goes_down_and_comes_up), HF_CASE(every_driver_has_its_row),
                  HF_CASE(messages_survive_their_way_and_nothing_else_does),
                  HF_CASE(libvirt_is_told_the_whole_nic_with_its_link_changed),
                  HF_CASE(a_nic_that_cannot_be_told_is_refused))
