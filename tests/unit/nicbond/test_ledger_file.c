#include "nicbond/ledger_file.h"

#include "nicbond/flips.h"
#include "nicbond/reconcile.h"
#include "nicbond/vf.h"
#include "tests/fakes/vf_card.h"
#include "tests/unit/check.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PF "0000:01:00.0"

static char base[64], folder[96], path[128];
static struct ledger_file file;
static struct hf_err err;

static const struct vf_config before = {.mac = {0x0e, 0, 0, 0, 0, 9}, .spoofchk = VF_ON};
static const struct vf_config wanted = {
    .mac = {2, 0, 0, 0, 0, 0x17}, .vlan = 100, .spoofchk = VF_OFF, .trust = VF_SETTING_UNKNOWN};

static void setup(void)
{
    strcpy(base, "/tmp/hf-ledger-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(base));
    snprintf(folder, sizeof folder, "%s/holdfast/nicbond", base);
    snprintf(path, sizeof path, "%s/vfs", folder);
}

static void teardown(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -r %s", base);
    ck_assert_int_eq(system(command), 0);
}

static void open_it(void)
{
    ck_assert_msg(ledger_file_open(&file, folder, 0, NULL, &err) == HF_OK, "%s", err.text);
}

static enum hf_code intend(unsigned vf, hf_vm_uid uid)
{
    struct ledger_vf want = {.pf = PF, .number = (uint16_t)vf, .uid = uid, .wanted = wanted};
    struct ledger_record record;

    snprintf(want.vf, sizeof want.vf, "0000:01:%02x.%u", 16 + vf / 8, vf % 8);
    if (ledger_intend(&file.ledger, &want, &before, &record, &err) != HF_OK)
        return err.code;
    return ledger_file_put(&file, &record, &err);
}

START_TEST(what_is_put_is_there_for_the_next)
{
    struct ledger l;

    ck_assert_int_eq(ledger_file_read(folder, &l, &err), HF_OK); /* no file: nobody owns anything */
    ck_assert_uint_eq(l.count, 0);
    open_it();
    ck_assert_int_eq(intend(1, 7), HF_OK);
    ck_assert_int_eq(intend(2, 7), HF_OK);
    ck_assert_int_eq(ledger_file_read(folder, &l, &err), HF_OK); /* beside the one who holds it */
    ck_assert_uint_eq(l.count, 2);
    ledger_file_close(&file);
    open_it();
    ck_assert_uint_eq(file.ledger.count, 2);
    ck_assert_uint_eq(file.torn, 0);
    ck_assert_int_eq(intend(3, 7), HF_OK);
    ledger_file_close(&file);
    open_it();
    ck_assert_uint_eq(file.ledger.count, 3);
    ledger_file_close(&file);
}
END_TEST

START_TEST(one_process_holds_it)
{
    struct ledger_file other;

    open_it();
    ck_assert_int_eq(ledger_file_open(&other, folder, 30, NULL, &err), HF_EAGAIN);
    ledger_file_close(&file);
    ck_assert_int_eq(ledger_file_open(&other, folder, 0, NULL, &err), HF_OK);
    ledger_file_close(&other);
}
END_TEST

START_TEST(epochs_never_repeat)
{
    uint64_t first, end, last = 0;

    for (int i = 0; i < 4; i++) {
        open_it();
        ck_assert_int_eq(ledger_file_epochs(&file, 0, &first, &end, &err), HF_OK);
        ck_assert_uint_gt(first, 0);
        ck_assert(i == 0 || first == last);
        ck_assert_uint_eq(end, first + LEDGER_EPOCHS_RESERVED);
        last = end;
        ledger_file_close(&file);
    }
    open_it();
    ck_assert_int_eq(ledger_file_epochs(&file, last + 5, &first, &end, &err), HF_OK);
    ck_assert_uint_eq(first, last + 5);
    ledger_file_close(&file);
}
END_TEST

START_TEST(a_lost_ledger_does_not_give_out_its_epochs_again)
{
    uint64_t first, end, again;

    open_it();
    ck_assert_int_eq(ledger_file_epochs(&file, 0, &first, &end, &err), HF_OK);
    ledger_file_close(&file);
    ck_assert_int_eq(unlink(path), 0);
    open_it();
    ck_assert_int_eq(ledger_file_epochs(&file, first + 7, &again, &end, &err), HF_OK);
    ck_assert_uint_ge(again, first + 7); /* what the flips know is the floor within a second */
    ck_assert_uint_ge(again, ledger_epochs_floor() - 2ull * LEDGER_EPOCHS_RESERVED);
    ledger_file_close(&file);
}
END_TEST

START_TEST(a_cut_tail_is_overwritten)
{
    struct stat st;

    open_it();
    ck_assert_int_eq(intend(1, 7), HF_OK);
    ck_assert_int_eq(intend(2, 7), HF_OK);
    ledger_file_close(&file);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(truncate(path, st.st_size - 50), 0);
    open_it();
    ck_assert_uint_eq(file.torn, LEDGER_RECORD_BYTES - 50);
    ck_assert_uint_eq(file.ledger.count, 1);
    ck_assert_int_eq(intend(3, 7), HF_OK);
    ledger_file_close(&file);
    open_it();
    ck_assert_uint_eq(file.torn, 0);
    ck_assert_uint_eq(file.ledger.count, 2);
    ledger_file_close(&file);
}
END_TEST

START_TEST(damage_is_told_with_its_remedy_and_the_file_stays)
{
    struct ledger l;
    struct stat was, is;
    int fd;

    open_it();
    ck_assert_int_eq(intend(1, 7), HF_OK);
    ck_assert_int_eq(intend(2, 7), HF_OK);
    ledger_file_close(&file);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_eq(pwrite(fd, "x", 1, LEDGER_HEADER_BYTES + LEDGER_RECORD_BYTES + 30), 1);
    close(fd);
    ck_assert_int_eq(stat(path, &was), 0);
    ck_assert_int_eq(ledger_file_open(&file, folder, 0, NULL, &err), HF_EBAD);
    ck_assert_msg(strstr(err.text, "byte 128: record 1 is damaged") != NULL, "%s", err.text);
    ck_assert_ptr_nonnull(strstr(err.text, "move the file away"));
    ck_assert_ptr_nonnull(strstr(err.text, folder));
    ck_assert_int_eq(ledger_file_read(folder, &l, &err), HF_EBAD);
    ck_assert_int_eq(stat(path, &is), 0);
    ck_assert_int_eq(was.st_size, is.st_size);
    ck_assert_int_eq(truncate(path, 0), 0); /* an empty one is damaged, too */
    ck_assert_int_eq(ledger_file_open(&file, folder, 0, NULL, &err), HF_EBAD);
    ck_assert_int_eq(truncate(path, LEDGER_BYTES_MAX + 1), 0);
    ck_assert_int_eq(ledger_file_open(&file, folder, 0, NULL, &err), HF_EBAD);
    ck_assert_int_eq(rename(path, base) != 0 && unlink(path) == 0, 1); /* the remedy */
    open_it();
    ledger_file_close(&file);
}
END_TEST

static int no_sync(void *user, int fd)
{
    (void)user;
    (void)fd;
    return 0;
}

START_TEST(it_does_not_grow_for_ever)
{
    struct ledger_record record;
    struct ledger_disk disk = *ledger_disk();
    struct stat st;
    uint64_t next, from;

    disk.sync = no_sync; /* thousands of them take a busy disk a minute */
    ck_assert_msg(ledger_file_open(&file, folder, 0, &disk, &err) == HF_OK, "%s", err.text);
    from = file.ledger.epochs_to;
    for (unsigned i = 0; i < LEDGER_RECORDS_MAX + 10; i++) {
        (void)ledger_reserve(&file.ledger, 0, &record);
        ck_assert_msg(ledger_file_put(&file, &record, &err) == HF_OK, "%s", err.text);
    }
    ck_assert_int_eq(intend(1, 7), HF_OK);
    next = file.ledger.next;
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_lt(st.st_size, LEDGER_HEADER_BYTES + 20 * LEDGER_RECORD_BYTES);
    ledger_file_close(&file);
    open_it();
    ck_assert_uint_eq(file.ledger.next, next);
    ck_assert_uint_eq(file.ledger.epochs_to,
                      from + (LEDGER_RECORDS_MAX + 10) * (uint64_t)LEDGER_EPOCHS_RESERVED);
    ck_assert_uint_eq(file.ledger.count, 1);
    ledger_file_close(&file);
}
END_TEST

/* ---- a crash at every write ---- */

/* What happens at the nth thing that changes the world: a write, a sync or a rename of the ledger,
 * a write of the flips, an order to the card. */
enum fault {
    FAULT_FAILS = 0, /* it fails, nobody dies, later ones work */
    FAULT_SHORT,     /* a write takes half of it; nothing else is wrong */
    FAULT_BEFORE,    /* the process dies before it */
    FAULT_HALF,      /* in the middle of a write */
    FAULT_AFTER,     /* right after it */
    FAULT_POWER,     /* the power goes before it: what was not synced is lost, a tmpfs as well */
    FAULTS
};

struct world {
    enum fault fault;
    unsigned at, count;
    bool is_dead;
    struct vf_card card;
    struct vf_pf pf;
    struct vf_port port;
    int flips_fd;
    struct ledger_disk disk;
    uint8_t durable[LEDGER_BYTES_MAX]; /* of the file that has the name after a power cut */
    ssize_t durable_len;               /* -1: none has */
    uint8_t synced[LEDGER_BYTES_MAX];  /* of the file that was synced last */
    ssize_t synced_len;
    ino_t durable_ino, synced_ino;
    uint64_t epoch, epoch_end;
    uint64_t epoch_used; /* highest */
    hf_vm_uid runs;      /* the VM whose start ended well and whose end has not begun */
    hf_vm_uid starting;  /* the one that is being started: it may or may not run after the crash */
};

static struct world w;

enum chance { CHANCE_OK, CHANCE_FAIL, CHANCE_HALF, CHANCE_LAST };

/* Called before each change. */
static enum chance chance(void)
{
    if (w.is_dead)
        return CHANCE_FAIL;
    if (++w.count != w.at)
        return CHANCE_OK;
    switch (w.fault) {
    case FAULT_FAILS:
        return CHANCE_FAIL;
    case FAULT_SHORT:
        return CHANCE_HALF;
    case FAULT_BEFORE:
    case FAULT_POWER:
        w.is_dead = true;
        return CHANCE_FAIL;
    case FAULT_HALF:
        w.is_dead = true;
        return CHANCE_HALF;
    case FAULT_AFTER:
        return CHANCE_LAST;
    case FAULTS:
        break;
    }
    return CHANCE_OK;
}

static ssize_t disk_write(void *user, int fd, const void *bytes, size_t len, off_t at)
{
    enum chance c = chance();
    ssize_t done;

    (void)user;
    errno = EIO;
    if (c == CHANCE_FAIL)
        return -1;
    done = pwrite(fd, bytes, c == CHANCE_HALF ? len / 2 : len, at);
    w.is_dead = w.is_dead || c == CHANCE_LAST;
    if (!w.is_dead)
        return done;
    errno = EIO;
    return -1;
}

/* A file's bytes are safe once it is synced, its name once its folder is. */
static void keep_bytes(int fd, ino_t ino)
{
    w.synced_ino = ino;
    w.synced_len = pread(fd, w.synced, sizeof w.synced, 0);
    if (ino != w.durable_ino)
        return;
    memcpy(w.durable, w.synced, sizeof w.durable);
    w.durable_len = w.synced_len;
}

static void keep_name(void)
{
    struct stat named;

    if (stat(path, &named) != 0)
        return;
    w.durable_ino = named.st_ino;
    w.durable_len = 0;
    if (w.synced_ino != named.st_ino)
        return; /* a name without its bytes */
    memcpy(w.durable, w.synced, sizeof w.durable);
    w.durable_len = w.synced_len;
}

static int disk_sync(void *user, int fd)
{
    enum chance c = chance();
    struct stat synced;

    (void)user;
    errno = EIO;
    if (c == CHANCE_FAIL)
        return -1;
    ck_assert_int_eq(fstat(fd, &synced), 0);
    if (S_ISDIR(synced.st_mode))
        keep_name();
    else
        keep_bytes(fd, synced.st_ino);
    w.is_dead = w.is_dead || c == CHANCE_LAST;
    return w.is_dead ? -1 : 0;
}

static int disk_rename(void *user, int in, const char *from, const char *to)
{
    enum chance c = chance();

    (void)user;
    errno = EIO;
    if (c == CHANCE_FAIL || renameat(in, from, in, to) != 0)
        return -1;
    w.is_dead = w.is_dead || c == CHANCE_LAST;
    return w.is_dead ? -1 : 0;
}

static bool card_before(void *user)
{
    enum chance c = chance();

    (void)user;
    if (c == CHANCE_LAST)
        w.is_dead = true;
    return c == CHANCE_OK || c == CHANCE_LAST || (c == CHANCE_HALF && !w.is_dead);
}

static bool card_after(void *user)
{
    (void)user;
    return !w.is_dead;
}

static bool put_flips(bool is_pf_down, bool vf0, bool vf1)
{
    struct flips_entry entry = {.epoch = w.epoch, .pf = PF, .is_pf_down = is_pf_down};
    uint8_t bytes[FLIPS_BYTES], copy[FLIPS_COPY_BYTES];
    enum chance c = chance();
    ssize_t len;
    size_t at;

    flips_set_vf(&entry, 0, vf0);
    flips_set_vf(&entry, 1, vf1);
    if (c == CHANCE_FAIL)
        return false;
    if (c == CHANCE_HALF && w.is_dead) {
        len = pread(w.flips_fd, bytes, sizeof bytes, 0);
        flips_copy(bytes, len > 0 ? (size_t)len : 0, 0, &entry, copy, &at);
        ck_assert_int_gt(pwrite(w.flips_fd, copy, 16, (off_t)at), 0);
        return false;
    }
    ck_assert_msg(flips_put(w.flips_fd, 0, &entry, &err) == HF_OK, "%s", err.text);
    w.is_dead = w.is_dead || c == CHANCE_LAST;
    return !w.is_dead;
}

static struct vf_order order_of(uint16_t number, hf_vm_uid uid)
{
    struct vf_order order = {.pf = &w.pf, .number = number, .uid = uid, .start_no = 1};

    order.wanted = wanted;
    order.wanted.mac[4] = (uint8_t)uid;
    order.wanted.mac[5] = (uint8_t)number;
    return order;
}

static bool prepare(hf_vm_uid uid)
{
    vf_fields unsupported;

    w.starting = uid;
    for (uint16_t n = 0; n < 2; n++) {
        struct vf_order order = order_of(n, uid);

        if (vf_prepare(&w.port, &file, &order, &unsupported, &err) != HF_OK)
            return false;
    }
    w.runs = uid;
    w.starting = 0;
    return true;
}

static bool release(hf_vm_uid uid)
{
    w.runs = 0;
    for (uint16_t n = 0; n < 2; n++) {
        struct vf_order order = order_of(n, uid);

        if (vf_release(&w.port, &file, &order, &err) != HF_OK)
            return false;
    }
    return true;
}

/* One flip by the links, of one VM after the other, one by the PF, and both undone. */
static bool flip(void)
{
    static const uint16_t vfs[] = {0, 1};
    struct vf_port *p = &w.port;

    w.epoch_used = ++w.epoch;
    if (!put_flips(false, true, false) ||
        p->link(p->user, 7, vfs, 1, VF_LINK_DISABLE, &err) != VF_DONE ||
        !put_flips(false, true, true) ||
        p->link(p->user, 7, vfs + 1, 1, VF_LINK_DISABLE, &err) != VF_DONE ||
        p->link(p->user, 7, vfs, 2, VF_LINK_AUTO, &err) != VF_DONE ||
        !put_flips(false, false, false))
        return false;
    w.epoch_used = ++w.epoch;
    return put_flips(true, false, false) && p->admin(p->user, 7, false, &err) == VF_DONE &&
           p->admin(p->user, 7, true, &err) == VF_DONE && put_flips(false, false, false);
}

static bool begin(const struct ledger_disk *disk)
{
    return ledger_file_open(&file, folder, 0, disk, &err) == HF_OK;
}

static bool life(void)
{
    if (!begin(&w.disk))
        return false;
    if (ledger_file_epochs(&file, 0, &w.epoch, &w.epoch_end, &err) != HF_OK)
        return false;
    return prepare(7) && flip() && release(7) && prepare(8) && flip() && release(8);
}

/* ---- and the next start ---- */

static void look(bool runs, struct reconcile_result *result)
{
    struct reconcile_pf pf = {.pci = PF, .is_read = true, .was_reset = true};
    struct reconcile_leg leg[2];
    struct flips flips;
    struct reconcile_view view = {.ledger = &file.ledger,
                                  .flips = &flips,
                                  .epoch_first = w.epoch,
                                  .pf = &pf,
                                  .pfs = 1,
                                  .leg = leg,
                                  .is_certain = true};
    hf_vm_uid uid = w.runs != 0 ? w.runs : w.starting;

    ck_assert_int_eq(flips_read(w.flips_fd, &flips, &err), HF_OK);
    ck_assert(!flips.is_damaged[0]);
    pf.is_up = w.card.list.is_pf_up;
    pf.count = w.card.list.count;
    for (uint16_t n = 0; n < pf.count; n++) {
        memcpy(pf.vf[n].pci, w.pf.vf[n], sizeof pf.vf[n].pci);
        pf.vf[n].is_known = true;
        pf.vf[n].config = w.card.list.vf[n].config;
    }
    for (uint16_t n = 0; runs && uid != 0 && n < 2; n++) {
        struct vf_order order = order_of(n, uid);

        leg[n] = (struct reconcile_leg){.uid = uid, .start_no = 1};
        memcpy(leg[n].vf, w.pf.vf[n], sizeof leg[n].vf);
        memcpy(leg[n].mac, order.wanted.mac, VF_MAC_BYTES);
        view.legs++;
    }
    reconcile_look(&view, result);
}

static unsigned repair(bool runs)
{
    static struct reconcile_result result;
    unsigned repairs = 0;

    look(runs, &result);
    for (uint16_t i = 0; i < result.count; i++) {
        const struct reconcile_item *item = &result.item[i];

        if (!reconcile_is_repair(item->kind))
            continue;
        repairs++;
        ck_assert_msg(vf_repair(&w.port, &file, w.flips_fd, &w.pf, item, &err) == HF_OK,
                      "fault %d at %u: %s: %s", w.fault, w.at, reconcile_kind_name(item->kind),
                      err.text);
    }
    return repairs;
}

static void check_world(bool runs, const struct vf_card *fresh)
{
    hf_vm_uid uid = w.runs != 0 ? w.runs : w.starting;
    struct flips flips;

    ck_assert_int_eq(flips_read(w.flips_fd, &flips, &err), HF_OK);
    ck_assert(!flips_is_open(&flips.fabric[0]));
    ck_assert(w.card.list.is_pf_up);
    for (uint16_t n = 0; n < 2; n++) {
        const struct ledger_vf *entry = ledger_find(&file.ledger, w.pf.vf[n]);
        const struct vf_config *is = &w.card.list.vf[n].config;
        struct vf_order order = order_of(n, uid);
        bool is_owned = runs && uid != 0 && ledger_is_owned(entry) && entry->uid == uid;
        char text[VF_CONFIG_TEXT_MAX];

        vf_config_text(is, text);
        ck_assert_msg(is->link == VF_LINK_AUTO, "fault %d at %u: VF %u: %s", w.fault, w.at, n,
                      text);
        /* A VM that was let run had its VFs in the ledger before. */
        if (runs && w.runs != 0)
            ck_assert(is_owned && entry->phase == LEDGER_DONE);
        ck_assert_msg(vf_config_differs(is, is_owned ? &order.wanted : &fresh->list.vf[n].config) ==
                          0,
                      "fault %d at %u: VF %u: %s", w.fault, w.at, n, text);
    }
}

/* A power cut: what was synced is there, the kernel and its tmpfs are new; the card remembers. */
static void cut_power(void)
{
    int fd;

    ck_assert_int_eq(ftruncate(w.flips_fd, 0), 0);
    w.card.list.is_pf_up = true;
    w.runs = w.starting = 0;
    (void)unlink(path);
    if (w.durable_len < 0)
        return;
    fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ck_assert(fd >= 0 && write(fd, w.durable, (size_t)w.durable_len) == w.durable_len);
    close(fd);
}

static void restart(bool runs, const struct vf_card *fresh)
{
    uint64_t first;

    /* Closed as by the kernel. After a failure the process may go on with what it has. */
    if (w.fault == FAULT_POWER)
        cut_power();
    w.is_dead = false;
    w.at = 0; /* nothing else goes wrong */
    ck_assert_msg(begin(&w.disk), "fault %d: %s", w.fault, err.text);
    ck_assert_int_eq(ledger_file_epochs(&file, 0, &first, &w.epoch_end, &err), HF_OK);
    ck_assert_uint_gt(first, w.epoch_used);
    w.epoch = first;
    for (int i = 0; i < 3 && repair(runs) > 0; i++)
        continue;
    ck_assert_uint_eq(repair(runs), 0);
    check_world(runs, fresh);
    ledger_file_close(&file);
}

static void open_world(enum fault fault, unsigned at)
{
    char run[96];

    memset(&w, 0, sizeof w);
    w.fault = fault;
    w.at = at;
    w.durable_len = -1;
    w.disk = (struct ledger_disk){NULL, disk_write, disk_sync, disk_rename};
    vf_card_init(&w.card, 2);
    vf_card_pf(&w.card, PF, &w.pf);
    w.port = vf_card_port(&w.card);
    w.card.before = card_before;
    w.card.after = card_after;
    w.card.waits_left = 0;
    snprintf(run, sizeof run, "%s/run", base);
    ck_assert_int_eq(flips_open(run, &w.flips_fd, &err), HF_OK);
    ck_assert_int_eq(ftruncate(w.flips_fd, 0), 0);
    (void)unlink(path);
}

/* True: the life went through without meeting the fault. */
static bool one(enum fault fault, unsigned at, bool runs)
{
    struct vf_card fresh;
    bool is_whole;

    open_world(fault, at);
    fresh = w.card;
    is_whole = life() && w.count < at;
    ledger_file_close(&file);
    restart(runs, &fresh);
    close(w.flips_fd);
    return is_whole;
}

START_TEST(whatever_crashes_is_put_right_at_the_next_start)
{
    enum fault fault = (enum fault)(_i / 2);
    bool runs = _i % 2 == 1;
    unsigned at = 1;

    while (!one(fault, at, runs))
        at++;
    /* The count of changes in that life: fewer would mean that some are not written. */
    ck_assert_uint_ge(at, 60);
}
END_TEST

/* The same process goes on after one failed write or sync: what it says later is on disk. */
START_TEST(a_failure_is_survived_without_a_restart)
{
    bool is_met = true;

    for (unsigned at = 1; is_met; at++) {
        struct ledger l;

        open_world(FAULT_FAILS, at);
        while (!begin(&w.disk))
            ck_assert_uint_le(w.count, at + 20);
        for (unsigned vf = 0; vf < 6; vf++) {
            if (intend(vf, 7) != HF_OK)
                ck_assert_msg(intend(vf, 7) == HF_OK, "at %u: %s", at, err.text);
        }
        is_met = w.count >= at;
        ck_assert_msg(ledger_file_read(folder, &l, &err) == HF_OK, "at %u: %s", at, err.text);
        ck_assert_uint_eq(l.count, 6);
        ck_assert_uint_eq(l.next, file.ledger.next);
        ledger_file_close(&file);
        close(w.flips_fd);
    }
}
END_TEST

/* And really: a process that is killed while it writes, at any instant. */
START_TEST(a_killed_writer_leaves_a_ledger_that_reads)
{
    for (int round = 0; round < 20; round++) {
        struct ledger_record record;
        uint64_t from;
        int status, ready[2];
        char byte;
        pid_t pid;

        ck_assert_int_eq(pipe(ready), 0);
        open_it();
        from = file.ledger.epochs_to;
        ledger_file_close(&file);
        pid = fork();
        ck_assert_int_ge(pid, 0);
        if (pid == 0) {
            open_it();
            for (;;) {
                (void)ledger_reserve(&file.ledger, 0, &record);
                if (ledger_file_put(&file, &record, &err) != HF_OK || write(ready[1], "x", 1) != 1)
                    _exit(1);
            }
        }
        close(ready[1]);
        for (int i = 0; i <= round; i++)
            ck_assert_int_eq(read(ready[0], &byte, 1), 1);
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        ck_assert_int_eq(waitpid(pid, &status, 0), pid);
        close(ready[0]);
        ck_assert(WIFSIGNALED(status));
        open_it();
        ck_assert_uint_ge(file.ledger.epochs_to,
                          from + (uint64_t)(round + 1) * LEDGER_EPOCHS_RESERVED);
        ledger_file_close(&file);
    }
}
END_TEST

HF_TEST_MAIN_WITH("nicbond/ledger_file", setup, teardown,
                  HF_CASE(what_is_put_is_there_for_the_next), HF_CASE(one_process_holds_it),
                  HF_CASE(epochs_never_repeat),
                  HF_CASE(a_lost_ledger_does_not_give_out_its_epochs_again),
                  HF_CASE(a_cut_tail_is_overwritten),
                  HF_CASE(damage_is_told_with_its_remedy_and_the_file_stays),
                  HF_CASE(it_does_not_grow_for_ever),
                  HF_LOOP(whatever_crashes_is_put_right_at_the_next_start, 0, 2 * FAULTS),
                  HF_CASE(a_failure_is_survived_without_a_restart),
                  HF_CASE(a_killed_writer_leaves_a_ledger_that_reads))
