#include "nicbond/keeper.h"

#include "nicbond/legs.h"
#include "tests/fakes/vf_card.h"
#include "tests/unit/check.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PF "0000:01:00.0"

static char base[64], run_folder[80], ledger_folder[80], state_folder[80];
static struct keeper k;
static struct vf_card card;
static struct hf_err err;

static void shell(const char *format, const char *what)
{
    char command[400];

    snprintf(command, sizeof command, format, base, what);
    ck_assert_msg(system(command) == 0, "%s", command);
}

static void put(const char *path, const char *text)
{
    char whole[200];
    FILE *file;

    snprintf(whole, sizeof whole, "%s/%s", base, path);
    file = fopen(whole, "we");
    ck_assert_msg(file != NULL, "%s", whole);
    ck_assert(fputs(text, file) >= 0 && fclose(file) == 0);
}

/* A running VM with one VF, as libvirt tells. */
static void runs(const char *name, unsigned uid, unsigned start_no, unsigned vf)
{
    char path[100], text[1200];

    snprintf(path, sizeof path, "run/%s.xml", name);
    snprintf(text, sizeof text,
             "<domstatus state='running' pid='4711'><domain type='kvm'><name>%s</name><metadata>"
             "<hf:start xmlns:hf='urn:holdfast:start:1' no='%u' uid='%u'/></metadata><devices>"
             "<interface type='hostdev'><mac address='52:54:00:00:00:0%u'/><source>"
             "<address type='pci' domain='0x0000' bus='0x01' slot='0x10' function='0x%u'/>"
             "</source></interface></devices></domain></domstatus>",
             name, start_no, uid, uid, vf);
    put(path, text);
    card.list.vf[vf].config = (struct vf_config){
        .mac = {0x52, 0x54, 0, 0, 0, (uint8_t)uid}, .vlan = 100, .spoofchk = VF_ON};
}

static void ends(const char *name)
{
    char path[100];

    snprintf(path, sizeof path, "%s/run/%s.xml", base, name);
    ck_assert_int_eq(unlink(path), 0);
}

static void start(void)
{
    struct keeper_setup setup = {.root = base,
                                 .run = run_folder,
                                 .ledger = ledger_folder,
                                 .state = state_folder,
                                 .wanted = {"card0", NULL}};
    struct vf_port port = vf_card_port(&card);

    ck_assert_msg(keeper_open(&k, &setup, &port, &err) == HF_OK, "%s", err.text);
}

static const struct ledger_vf *entry(unsigned vf)
{
    static struct ledger l;
    char name[16];

    snprintf(name, sizeof name, "0000:01:10.%u", vf);
    ck_assert_int_eq(ledger_file_read(ledger_folder, &l, &err), HF_OK);
    return ledger_find(&l, name);
}

static unsigned count_of(enum reconcile_kind kind)
{
    unsigned found = 0;

    for (uint16_t i = 0; i < k.found.count; i++)
        found += k.found.item[i].kind == kind;
    return found;
}

static void setup(void)
{
    char link[200];

    legs_init();
    strcpy(base, "/tmp/hf-keeper-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(base));
    snprintf(run_folder, sizeof run_folder, "%s/run", base);
    snprintf(ledger_folder, sizeof ledger_folder, "%s/ledger", base);
    snprintf(state_folder, sizeof state_folder, "%s/state", base);
    shell("mkdir -p %s/%s", "run");
    shell("mkdir -p %s/%s", "sys/class/net/card0");
    shell("mkdir -p %s/%s", "sys/bus/pci/devices/" PF "/net/card0");
    put("sys/class/net/card0/ifindex", "7\n");
    put("sys/bus/pci/devices/" PF "/net/card0/ifindex", "7\n");
    snprintf(link, sizeof link, "%s/sys/class/net/card0/device", base);
    ck_assert_int_eq(symlink("../../../" PF, link), 0);
    for (unsigned n = 0; n < 3; n++) {
        char target[32];

        snprintf(link, sizeof link, "%s/sys/bus/pci/devices/" PF "/virtfn%u", base, n);
        snprintf(target, sizeof target, "../0000:01:10.%u", n);
        ck_assert_int_eq(symlink(target, link), 0);
    }
    vf_card_init(&card, 3);
    start();
}

static void teardown(void)
{
    keeper_close(&k);
    shell("rm -r %s%s", "");
}

START_TEST(a_running_vm_is_recorded_and_its_vf_is_free_after_its_end)
{
    runs("mq-1", 7, 1, 2);
    ck_assert(keeper_glance(&k));
    ck_assert(keeper_look(&k));
    ck_assert(ledger_is_owned(entry(2)));
    ck_assert_uint_eq(entry(2)->uid, 7);
    ck_assert_uint_eq(card.orders, 0); /* nothing was changed on the card */
    ck_assert_uint_eq(k.found.count, 0);
    ck_assert(!keeper_glance(&k));
    ends("mq-1");
    ck_assert(keeper_glance(&k));
    ck_assert(keeper_look(&k));
    ck_assert(!ledger_is_owned(entry(2)));
    ck_assert(vf_mac_is_none(card.list.vf[2].config.mac));
    ck_assert_uint_eq(card.list.vf[2].config.vlan, 0);
}
END_TEST

START_TEST(its_next_start_takes_it_over)
{
    runs("mq-1", 7, 1, 2);
    ck_assert(keeper_look(&k));
    runs("mq-1", 7, 2, 2);
    ck_assert(keeper_look(&k));
    ck_assert_uint_eq(entry(2)->start_no, 2);
    ends("mq-1");
    runs("mq-2", 8, 1, 2);
    ck_assert(keeper_look(&k));
    ck_assert_uint_eq(entry(2)->uid, 8);
}
END_TEST

START_TEST(a_forced_link_of_a_vm_that_comes_is_made_auto)
{
    runs("mq-1", 7, 1, 2);
    card.list.vf[2].config.link = _i == 0 ? VF_LINK_ENABLE : VF_LINK_DISABLE;
    ck_assert(keeper_look(&k));
    ck_assert_int_eq(card.list.vf[2].config.link, VF_LINK_AUTO);
    ck_assert_int_eq(entry(2)->phase, LEDGER_DONE);
    ck_assert_uint_eq(k.found.count, 0);
}
END_TEST

START_TEST(a_file_that_does_not_read_ends_nobody)
{
    runs("mq-1", 7, 1, 2);
    ck_assert(keeper_look(&k));
    put("run/mq-1.xml", "<domstatus><domain");
    ck_assert(keeper_look(&k));
    ck_assert(ledger_is_owned(entry(2)));
    shell("rm -r %s/%s", "run"); /* nor does a folder that is not there */
    ck_assert(keeper_look(&k));
    ck_assert(ledger_is_owned(entry(2)));
}
END_TEST

START_TEST(one_vf_of_two_vms_is_told_and_changes_hands_no_more)
{
    runs("mq-1", 7, 1, 2);
    ck_assert(keeper_look(&k));
    runs("mq-2", 8, 1, 2);
    ck_assert(keeper_look(&k));
    ck_assert_uint_eq(count_of(RECONCILE_TWO_OWNERS), 1);
    ck_assert_uint_eq(entry(2)->uid, 7);
}
END_TEST

START_TEST(a_reset_is_told_again_and_then_forgotten)
{
    runs("mq-1", 7, 1, 2);
    ck_assert(keeper_look(&k));
    card.list.vf[2].config.vlan = 0;
    ck_assert(keeper_look(&k));
    ck_assert_uint_eq(count_of(RECONCILE_DRIFT), 1);
    ck_assert_uint_eq(card.orders, 0);
    k.word.was_reset = 1;
    ck_assert(keeper_look(&k));
    ck_assert_uint_eq(card.list.vf[2].config.vlan, 100);
    ck_assert_uint_eq(k.found.count, 0);
    ck_assert_uint_eq(k.word.was_reset & 1, 0);
}
END_TEST

START_TEST(a_pf_that_is_not_well_is_not_asked)
{
    unsigned reads;

    runs("mq-1", 7, 1, 2);
    ck_assert(keeper_look(&k));
    reads = card.reads;
    ends("mq-1");
    k.word.is_unwell = 1;
    k.word.was_reset = 1;
    (void)keeper_look(&k);
    ck_assert_uint_eq(card.reads, reads);
    ck_assert(ledger_is_owned(entry(2)));
    ck_assert_uint_eq(k.word.was_reset & 1, 1); /* for later */
    k.word.is_unwell = 0;
    ck_assert(keeper_look(&k));
    ck_assert(!ledger_is_owned(entry(2)));
}
END_TEST

START_TEST(a_flip_that_runs_keeps_its_links_off)
{
    struct flips_entry flip = {.epoch = 5, .pf = PF};

    runs("mq-1", 7, 1, 2);
    ck_assert(keeper_look(&k));
    flips_set_vf(&flip, 2, true);
    ck_assert_int_eq(flips_put(k.flips_fd, 0, &flip, &err), HF_OK);
    card.list.vf[2].config.link = VF_LINK_DISABLE;
    k.word.was_reset = 1;
    ck_assert(keeper_look(&k));
    ck_assert_int_eq(card.list.vf[2].config.link, VF_LINK_DISABLE);
    ck_assert_uint_eq(k.found.count, 0);
}
END_TEST

START_TEST(a_damaged_ledger_changes_nothing_and_duplicates_are_told_all_the_same)
{
    char path[120];

    runs("mq-1", 7, 1, 2);
    ck_assert(keeper_look(&k));
    snprintf(path, sizeof path, "%s/vfs", ledger_folder);
    ck_assert_int_eq(truncate(path, 50), 0);
    ends("mq-1");
    runs("mq-2", 8, 1, 1);
    runs("mq-3", 9, 1, 1);
    ck_assert(!keeper_look(&k));
    ck_assert_uint_eq(card.orders, 0);
    ck_assert_uint_eq(count_of(RECONCILE_TWO_OWNERS), 1);
}
END_TEST

START_TEST(what_is_told_names_everything)
{
    struct reconcile_item item = {.kind = RECONCILE_TWO_MACS,
                                  .pf = PF,
                                  .vf = "0000:01:10.2",
                                  .number = 2,
                                  .uid = 7,
                                  .other = 8,
                                  .start_no = 3,
                                  .why = "two legs have the same MAC"};
    char text[300];

    keeper_text(&item, text, sizeof text);
    ck_assert_str_eq(text, "two-macs: VF 2 (0000:01:10.2) of " PF
                           ": two legs have the same MAC (VM 7, start 3) (and VM 8)");
}
END_TEST

/* The process: with the kernel's own rtnetlink, and nothing to keep. */
START_TEST(the_process_ends_with_the_one_who_started_it)
{
    struct keeper_setup own = {
        .root = base, .run = run_folder, .ledger = ledger_folder, .state = state_folder};
    uint8_t word[KEEPER_WORD_BYTES];
    int pair[2], status;
    pid_t pid;

    keeper_word_put(&(struct keeper_word){.was_reset = 1}, word);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        close(pair[0]);
        _exit(keeper_serve(&own, pair[1], &err) == HF_ECLOSED ? 0 : 1);
    }
    close(pair[1]);
    ck_assert_int_eq(send(pair[0], word, sizeof word, 0), (ssize_t)sizeof word);
    close(pair[0]);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
END_TEST

HF_TEST_MAIN_WITH("nicbond/keeper", setup, teardown,
                  HF_CASE(a_running_vm_is_recorded_and_its_vf_is_free_after_its_end),
                  HF_CASE(its_next_start_takes_it_over),
                  HF_LOOP(a_forced_link_of_a_vm_that_comes_is_made_auto, 0, 2),
                  HF_CASE(a_file_that_does_not_read_ends_nobody),
                  HF_CASE(one_vf_of_two_vms_is_told_and_changes_hands_no_more),
                  HF_CASE(a_reset_is_told_again_and_then_forgotten),
                  HF_CASE(a_pf_that_is_not_well_is_not_asked),
                  HF_CASE(a_flip_that_runs_keeps_its_links_off),
                  HF_CASE(a_damaged_ledger_changes_nothing_and_duplicates_are_told_all_the_same),
                  HF_CASE(what_is_told_names_everything),
                  HF_CASE(the_process_ends_with_the_one_who_started_it))
