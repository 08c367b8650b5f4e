#include "nicbond/legs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/check.h"

/* As libvirt writes it, cut to what is read. */
static const char status[] =
    "<domstatus state='running' reason='booted' pid='4711'><domain type='kvm' id='3'>"
    "<name>trade1</name><metadata>"
    "<x:y xmlns:x='http://other' no='9' uid='9'/>"
    "<hf:start xmlns:hf='urn:holdfast:start:1' no='12' uid='7' priority='40'/></metadata><devices>"
    "<interface type='network'><mac address='52:54:00:00:00:0a'/>"
    "<source network='a'/><actual type='hostdev' managed='yes'>"
    "<source><address type='pci' domain='0x0000' bus='0x01' slot='0x10' function='0x2'/></source>"
    "</actual><model type='virtio'/>"
    "<address type='pci' domain='0x0000' bus='0x05' slot='0x00' function='0x0'/></interface>"
    "<interface type='bridge'><mac address='52:54:00:00:00:0B'/><source bridge='brb'/>"
    "<target dev='vnet1'/><model type='virtio'/><link state='down'/></interface>"
    "<interface type='direct'><mac address='52:54:00:00:00:0c'/><source dev='ens9' mode='bridge'/>"
    "<target dev='macvtap0'/></interface>"
    "<hostdev mode='subsystem' type='pci' managed='no'><source>"
    "<address domain='0x0000' bus='0x02' slot='0x11' function='0x0'/></source></hostdev>"
    "<hostdev mode='subsystem' type='usb'><source><address bus='1' device='2'/></source></hostdev>"
    "<channel type='unix'><source mode='bind' path='/run/x/agent.0'/>"
    "<target type='virtio' name='org.qemu.guest_agent.0'/></channel>"
    "<channel type='unix'><source mode='bind' path='/run/x/guest.0'/>"
    "<target type='virtio' name='org.holdfast.guest.0' state='connected'/></channel>"
    "</devices></domain></domstatus>";

static char folder[64];

static void setup(void)
{
    legs_init();
    (void)snprintf(folder, sizeof folder, "/tmp/test_legs.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
    char command[128];

    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void make(const char *format, const char *argument)
{
    char command[512], path[400];

    (void)snprintf(path, sizeof path, format, folder, argument);
    (void)snprintf(command, sizeof command, "mkdir -p %s", path);
    ck_assert_int_eq(system(command), 0);
}

static void make_link(const char *from, const char *to)
{
    char path[400];

    (void)snprintf(path, sizeof path, "%s/%s", folder, from);
    ck_assert_int_eq(symlink(to, path), 0);
}

static void put(const char *name, const char *text)
{
    char path[400], before[400];
    FILE *file;

    (void)snprintf(before, sizeof before, "%s/%s.new", folder, name);
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(before, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(rename(before, path), 0);
}

START_TEST(a_status_file_tells_mark_legs_and_channel)
{
    struct legs_vm vm;
    struct hf_err err;

    ck_assert_int_eq(legs_parse("trade1", status, sizeof status - 1, &vm, &err), HF_OK);
    ck_assert_uint_eq(vm.uid, 7);
    ck_assert_uint_eq(vm.start_no, 12);
    ck_assert_uint_eq(vm.priority, 40);
    ck_assert_str_eq(vm.guest, "/run/x/guest.0");
    ck_assert_uint_eq(vm.nics_count, 4);
    ck_assert_int_eq(vm.nic[0].kind, HF_LEG_VF);
    ck_assert_str_eq(vm.nic[0].pci, "0000:01:10.2");
    ck_assert_uint_eq(vm.nic[0].mac.byte[5], 0x0a);
    ck_assert(!vm.nic[0].is_off);
    ck_assert_int_eq(vm.nic[1].kind, HF_LEG_BRIDGE);
    ck_assert_str_eq(vm.nic[1].device, "vnet1");
    ck_assert_uint_eq(vm.nic[1].mac.byte[5], 0x0b);
    ck_assert(vm.nic[1].is_off);
    ck_assert_int_eq(vm.nic[2].kind, HF_LEG_MACVTAP);
    ck_assert_str_eq(vm.nic[2].device, "macvtap0");
    ck_assert_int_eq(vm.nic[3].kind, HF_LEG_VF);
    ck_assert_str_eq(vm.nic[3].pci, "0000:02:11.0");
    ck_assert(hf_mac_is_none(vm.nic[3].mac));
}
END_TEST

START_TEST(bytes_that_are_no_domain_are_refused)
{
    static const char *const bad[] = {
        "",
        "x",
        "<domain>",
        "<domstatus/>",
        "<a><domain/></a",
        "<!DOCTYPE d [<!ENTITY e 'x'>]><domain><name>&e;</name></domain>"};
    struct legs_vm vm;
    struct hf_err err;

    ck_assert_int_eq(legs_parse("x", bad[_i], strlen(bad[_i]), &vm, &err), HF_EBAD);
    ck_assert_uint_eq(vm.uid, 0);
}
END_TEST

START_TEST(every_cut_of_a_status_file_is_survived)
{
    struct legs_vm vm;
    struct hf_err err;

    for (size_t len = 0; len < sizeof status - 1; len++)
        ck_assert_int_eq(legs_parse("x", status, len, &vm, &err), HF_EBAD);
}
END_TEST

START_TEST(fields_that_mean_nothing_are_no_leg)
{
    static const char *const nic[] = {
        "<interface type='bridge'><mac address='52:54:00:00:00'/><target dev='v'/></interface>",
        "<interface type='bridge'><mac address='52:54:00:00:00:zz'/><target dev='v'/></interface>",
        "<interface type='bridge'><mac address='52:54:00:00:00:01'/></interface>",
        "<interface type='bridge'><mac address='52:54:00:00:00:01'/><target dev='../x'/>"
        "</interface>",
        "<interface type='bridge'><mac address='52:54:00:00:00:01'/><target dev='..'/></interface>",
        "<interface type='bridge'><mac address='52:54:00:00:00:01'/>"
        "<target dev='a234567890123456'/></interface>",
        "<interface type='hostdev'><mac address='52:54:00:00:00:01'/><source><address type='pci' "
        "domain='0x0' bus='0x100' slot='0x0' function='0x0'/></source></interface>",
        "<interface type='hostdev'><mac address='52:54:00:00:00:01'/><source><address type='pci' "
        "domain='0x0' bus='0x1' slot='0x0' function='9'/></source></interface>"};
    struct legs_vm vm;
    struct hf_err err;
    char xml[512];

    (void)snprintf(xml, sizeof xml, "<domain><devices>%s</devices></domain>", nic[_i]);
    ck_assert_int_eq(legs_parse("x", xml, strlen(xml), &vm, &err), HF_OK);
    ck_assert_uint_eq(vm.nics_count, 0);
}
END_TEST

START_TEST(more_nics_than_there_is_room_for_are_told)
{
    static char xml[8192];
    struct legs_vm vm;
    struct hf_err err;
    size_t len = (size_t)snprintf(xml, sizeof xml, "<domain><devices>");

    for (int i = 0; i < LEGS_NICS_MAX + 1; i++)
        len += (size_t)snprintf(xml + len, sizeof xml - len,
                                "<interface type='bridge'><mac address='52:54:00:00:00:%02x'/>"
                                "<target dev='v%d'/></interface>",
                                (unsigned)i, i);
    len += (size_t)snprintf(xml + len, sizeof xml - len, "</devices></domain>");
    ck_assert_int_eq(legs_parse("x", xml, len, &vm, &err), HF_EFULL);
    ck_assert_uint_eq(vm.nics_count, LEGS_NICS_MAX);
}
END_TEST

START_TEST(legs_are_found_in_their_fabrics)
{
    struct legs_pf pf[HF_FABRICS_MAX] = {{.name = "pfa", .pci = "0000:01:00.0"},
                                         {.name = "pfb", .pci = "0000:02:00.0"}};
    struct legs_leg leg[HF_FABRICS_MAX];
    struct legs_vm vm;
    struct hf_err err;

    make("%s/bus/pci/devices/%s", "0000:01:00.0");
    make("%s/bus/pci/devices/%s", "0000:01:10.2");
    make_link("bus/pci/devices/0000:01:10.2/physfn", "../0000:01:00.0");
    make_link("bus/pci/devices/0000:01:00.0/virtfn0", "../0000:01:10.0");
    make_link("bus/pci/devices/0000:01:00.0/virtfn1", "../0000:01:10.2");
    make("%s/class/net/%s", "vnet1");
    make("%s/class/net/%s", "brb");
    make("%s/class/net/%s", "bondb");
    make_link("class/net/vnet1/master", "../../../devices/virtual/net/brb");
    make_link("class/net/brb/lower_vnet1", "x");
    make_link("class/net/brb/lower_bondb", "x");
    make("%s/class/net/bondb/%s", "lower_pfb");
    ck_assert_int_eq(legs_parse("trade1", status, sizeof status - 1, &vm, &err), HF_OK);
    legs_resolve(folder, &vm, pf, leg);
    ck_assert_int_eq(leg[0].kind, HF_LEG_VF);
    ck_assert_uint_eq(leg[0].vf, 1);
    ck_assert_str_eq(leg[0].pci, "0000:01:10.2");
    ck_assert_int_eq(leg[1].kind, HF_LEG_BRIDGE);
    ck_assert_str_eq(leg[1].device, "vnet1");
    ck_assert(leg[1].is_off);
    make("%s/class/net/macvtap0/%s", "lower_pfc");
    (void)snprintf(pf[1].name, sizeof pf[1].name, "pfc");
    pf[0].pci[0] = '\0';
    legs_resolve(folder, &vm, pf, leg);
    ck_assert_int_eq(leg[0].kind, HF_LEG_NONE);
    ck_assert_int_eq(leg[1].kind, HF_LEG_MACVTAP);
}
END_TEST

/* Two NICs on a's bridge, the first with this alias; one of b's. */
static void resolve_marked(const char *first, const char *second,
                           struct legs_leg leg[HF_FABRICS_MAX])
{
    static const struct legs_pf pf[HF_FABRICS_MAX] = {{.name = "pfa", .pci = "0000:01:00.0"},
                                                      {.name = "pfb", .pci = "0000:02:00.0"}};
    static const char form[] =
        "<domain><devices><interface type='bridge'><mac address='52:54:00:00:00:01'/>"
        "<target dev='vnet1'/>%s</interface><interface type='bridge'>"
        "<mac address='52:54:00:00:00:02'/><target dev='vnet2'/>%s</interface><interface "
        "type='bridge'><mac address='52:54:00:00:00:03'/><target dev='vnet3'/></interface>"
        "</devices></domain>";
    struct legs_vm vm;
    struct hf_err err;
    char xml[1024];

    make("%s/class/net/bra/%s", "lower_pfa");
    make("%s/class/net/brb/%s", "lower_pfb");
    for (unsigned i = 0; i < 3; i++) {
        char name[64], path[128];

        (void)snprintf(name, sizeof name, "vnet%u", i + 1);
        make("%s/class/net/%s", name);
        (void)snprintf(path, sizeof path, "class/net/vnet%u/master", i + 1);
        make_link(path, i < 2 ? "../bra" : "../brb");
    }
    (void)snprintf(xml, sizeof xml, form, first, second);
    ck_assert_int_eq(legs_parse("trade1", xml, strlen(xml), &vm, &err), HF_OK);
    legs_resolve(folder, &vm, pf, leg);
}

START_TEST(a_nic_that_is_marked_to_be_none_is_no_leg)
{
    struct legs_leg leg[HF_FABRICS_MAX];

    resolve_marked("<alias name='ua-leg-none'/>", "<alias name='net1'/>", leg);
    ck_assert_str_eq(leg[0].device, "vnet2");
    ck_assert_str_eq(leg[1].device, "vnet3");
}
END_TEST

START_TEST(a_vm_whose_only_nic_of_a_fabric_is_none_has_no_leg_there)
{
    struct legs_leg leg[HF_FABRICS_MAX];

    resolve_marked("<alias name='ua-leg-none'/>", "<alias name='ua-leg-none'/>", leg);
    ck_assert_int_eq(leg[0].kind, HF_LEG_NONE);
    ck_assert_str_eq(leg[1].device, "vnet3");
}
END_TEST

START_TEST(a_nic_that_is_marked_goes_before_what_sysfs_says)
{
    struct legs_leg leg[HF_FABRICS_MAX];

    resolve_marked("<alias name='ua-leg-b'/>", "<alias name='ua-leg-a'/>", leg);
    ck_assert_str_eq(leg[0].device, "vnet2");
    ck_assert_str_eq(leg[1].device, "vnet1");
}
END_TEST

START_TEST(a_mark_makes_no_vf_of_another_card_a_leg)
{
    static const struct legs_pf pf[HF_FABRICS_MAX] = {{.name = "pfa", .pci = "0000:01:00.0"},
                                                      {.name = "pfb", .pci = "0000:02:00.0"}};
    struct legs_vm vm = {.nics_count = 1};
    struct legs_leg leg[HF_FABRICS_MAX];

    make("%s/bus/pci/devices/%s", "0000:01:00.0");
    make("%s/bus/pci/devices/%s", "0000:01:10.0");
    make_link("bus/pci/devices/0000:01:10.0/physfn", "../0000:01:00.0");
    make_link("bus/pci/devices/0000:01:00.0/virtfn0", "../0000:01:10.0");
    vm.nic[0] = (struct legs_nic){.kind = HF_LEG_VF, .mark = LEGS_IN_B, .pci = "0000:01:10.0"};
    legs_resolve(folder, &vm, pf, leg);
    ck_assert_int_eq(leg[0].kind, HF_LEG_NONE);
    ck_assert_int_eq(leg[1].kind, HF_LEG_NONE);
    vm.nic[0].mark = LEGS_IN_A;
    legs_resolve(folder, &vm, pf, leg);
    ck_assert_int_eq(leg[0].kind, HF_LEG_VF);
}
END_TEST

static bool count(void *user, const char *name)
{
    (*(unsigned *)user)++;
    ck_assert_str_eq(name, "trade1");
    return true;
}

static void note(void *user, const char *name)
{
    (void)count(user, name);
}

START_TEST(a_folder_is_watched)
{
    struct legs_vm vm;
    struct hf_err err;
    unsigned names = 0;
    char path[400];
    int fd;

    ck_assert_int_eq(legs_watch_open(folder, &fd, &err), HF_OK);
    put("trade1.xml", status);
    put("trade1.pid", "4711");
    ck_assert(legs_watch_read(fd, note, &names));
    ck_assert_uint_eq(names, 1);
    ck_assert_int_eq(legs_read(folder, "trade1", &vm, &err), HF_OK);
    ck_assert_uint_eq(vm.uid, 7);
    names = 0;
    ck_assert_int_eq(legs_each(folder, count, &names, &err), HF_OK);
    ck_assert_uint_eq(names, 1);
    (void)snprintf(path, sizeof path, "%s/trade1.xml", folder);
    ck_assert_int_eq(unlink(path), 0);
    names = 0;
    ck_assert(legs_watch_read(fd, note, &names));
    ck_assert_uint_eq(names, 1);
    ck_assert_int_eq(legs_read(folder, "trade1", &vm, &err), HF_ENOENT);
    ck_assert_int_eq(rmdir(folder), -1); /* trade1.pid */
    close(fd);
    ck_assert_int_eq(legs_watch_open("/nowhere", &fd, &err), HF_EIO);
    ck_assert_int_eq(legs_each("/nowhere", count, &names, &err), HF_EIO);
}
END_TEST

HF_TEST_MAIN_WITH("nicbond/legs", setup, teardown,
                  HF_CASE(a_status_file_tells_mark_legs_and_channel),
                  HF_LOOP(bytes_that_are_no_domain_are_refused, 0, 6),
                  HF_CASE(every_cut_of_a_status_file_is_survived),
                  HF_LOOP(fields_that_mean_nothing_are_no_leg, 0, 8),
                  HF_CASE(more_nics_than_there_is_room_for_are_told),
                  HF_CASE(legs_are_found_in_their_fabrics),
                  HF_CASE(a_nic_that_is_marked_to_be_none_is_no_leg),
                  HF_CASE(a_vm_whose_only_nic_of_a_fabric_is_none_has_no_leg_there),
                  HF_CASE(a_nic_that_is_marked_goes_before_what_sysfs_says),
                  HF_CASE(a_mark_makes_no_vf_of_another_card_a_leg), HF_CASE(a_folder_is_watched))
