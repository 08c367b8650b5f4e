/* vf_life.c - lives of nicbond's VF orders on a real PF, each of which dies one change later than
 * the one before; after each comes the next start. For tests/lab/run:  vf_life FOLDER PF
 *
 * A life: two VMs own VF 0 one after the other, with two flips under the first. A change is a
 * write, a sync or a rename of the ledger, a write of the flips, or an order to the kernel; a life
 * dies before its Nth. The next start repairs until nothing is left; then the PF and its VFs must
 * be as they were before the first life, with nothing left to say. A line for each that is not; the
 * last line counts. FOLDER is new and stays. Exit status 0: none failed. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nicbond/flips.h"
#include "nicbond/ledger_file.h"
#include "nicbond/vf.h"

enum {
    DIED = 9,
    CHANGES_MIN = 30,  /* a life with fewer has not been lived */
    CHANGES_MAX = 200, /* more: it does not end */
    ROUNDS_MAX = 5,    /* of repairs */
};

struct life {
    unsigned count, dies_at; /* dies_at 0: never */
    struct vf_netlink netlink;
    struct vf_port real, port;
    struct ledger_disk disk;
    struct ledger_file ledger;
    struct vf_pf pf;
    int flips_fd;
    uint64_t epoch, epoch_end;
    struct hf_err err;
};

static void change(struct life *l)
{
    if (++l->count == l->dies_at)
        _exit(DIED);
}

static ssize_t disk_write(void *user, int fd, const void *bytes, size_t len, off_t at)
{
    change(user);
    return pwrite(fd, bytes, len, at);
}

static int disk_sync(void *user, int fd)
{
    change(user);
    return fsync(fd);
}

static int disk_rename(void *user, int folder, const char *from, const char *to)
{
    change(user);
    return renameat(folder, from, folder, to);
}

static enum vf_answer port_read(void *user, int32_t ifindex, struct vf_list *list,
                                struct hf_err *err)
{
    struct life *l = user;

    return l->real.read(l->real.user, ifindex, list, err);
}

static enum vf_answer port_set(void *user, int32_t ifindex, uint16_t vf, enum vf_field field,
                               const struct vf_config *wanted, struct hf_err *err)
{
    struct life *l = user;

    change(l);
    return l->real.set(l->real.user, ifindex, vf, field, wanted, err);
}

static enum vf_answer port_link(void *user, int32_t ifindex, const uint16_t *vfs, uint16_t count,
                                enum vf_link link, struct hf_err *err)
{
    struct life *l = user;

    change(l);
    return l->real.link(l->real.user, ifindex, vfs, count, link, err);
}

static enum vf_answer port_admin(void *user, int32_t ifindex, bool is_up, struct hf_err *err)
{
    struct life *l = user;

    change(l);
    return l->real.admin(l->real.user, ifindex, is_up, err);
}

static bool port_wait(void *user, uint32_t ms)
{
    struct life *l = user;

    return l->real.wait(l->real.user, ms);
}

static void fail(const struct life *l, const char *what)
{
    fprintf(stderr, "%s: %s\n", what, l->err.text);
    exit(1);
}

static void begin(struct life *l, const char *folder, const char *pf)
{
    l->disk = (struct ledger_disk){l, disk_write, disk_sync, disk_rename};
    l->port = (struct vf_port){l, port_read, port_set, port_link, port_admin, port_wait};
    if (vf_netlink_open(&l->netlink, -1, &l->err) != HF_OK ||
        vf_scan("/sys", pf, &l->pf, &l->err) != HF_OK ||
        flips_open(folder, &l->flips_fd, &l->err) != HF_OK)
        fail(l, "begin");
    l->real = vf_netlink_port(&l->netlink);
    if (ledger_file_open(&l->ledger, folder, 0, &l->disk, &l->err) != HF_OK ||
        ledger_file_epochs(&l->ledger, 0, &l->epoch, &l->epoch_end, &l->err) != HF_OK)
        fail(l, "ledger");
}

static struct vf_order order_of(const struct life *l, uint16_t number, hf_vm_uid uid)
{
    struct vf_order order = {.pf = &l->pf, .number = number, .uid = uid, .start_no = 1};

    order.wanted = (struct vf_config){.mac = {0x52, 0x54, 0, 0, (uint8_t)uid, (uint8_t)number},
                                      .vlan = (uint16_t)(100 + number),
                                      .spoofchk = VF_OFF,
                                      .trust = VF_ON};
    return order;
}

static void put_flips(struct life *l, bool is_pf_down, bool are_vfs_off)
{
    struct flips_entry entry = {.epoch = l->epoch, .is_pf_down = is_pf_down};

    memcpy(entry.pf, l->pf.pci, sizeof entry.pf);
    flips_set_vf(&entry, 0, are_vfs_off);
    flips_set_vf(&entry, 1, are_vfs_off);
    change(l);
    if (flips_put(l->flips_fd, 0, &entry, &l->err) != HF_OK)
        fail(l, "flips");
}

/* Where the driver has no link state the PF goes down, as the ladder has it. */
static void flip(struct life *l)
{
    static const uint16_t vfs[] = {0, 1};
    enum vf_answer answer;

    l->epoch++;
    put_flips(l, false, true);
    answer = l->port.link(l, l->pf.ifindex, vfs, 2, VF_LINK_DISABLE, &l->err);
    if (answer == VF_DONE)
        answer = l->port.link(l, l->pf.ifindex, vfs, 2, VF_LINK_AUTO, &l->err);
    if (answer != VF_DONE && answer != VF_UNSUPPORTED)
        fail(l, "link");
    put_flips(l, false, false);
    l->epoch++;
    put_flips(l, true, false);
    if (l->port.admin(l, l->pf.ifindex, false, &l->err) != VF_DONE ||
        l->port.admin(l, l->pf.ifindex, true, &l->err) != VF_DONE)
        fail(l, "PF");
    put_flips(l, false, false);
}

static void live(struct life *l)
{
    vf_fields unsupported;

    for (hf_vm_uid uid = 7; uid <= 8; uid++) {
        struct vf_order order = order_of(l, 0, uid);

        if (vf_prepare(&l->port, &l->ledger, &order, &unsupported, &l->err) != HF_OK)
            fail(l, "prepare");
        if (uid == 7)
            flip(l);
        if (vf_release(&l->port, &l->ledger, &order, &l->err) != HF_OK)
            fail(l, "release");
    }
}

static void look(struct life *l, struct reconcile_result *result)
{
    struct reconcile_pf pf = {.is_read = true, .was_reset = true, .count = l->pf.count};
    struct vf_list list;
    struct flips flips;
    struct reconcile_view view = {.ledger = &l->ledger.ledger,
                                  .flips = &flips,
                                  .epoch_first = l->epoch,
                                  .pf = &pf,
                                  .pfs = 1,
                                  .is_certain = true};

    memcpy(pf.pci, l->pf.pci, sizeof pf.pci);
    if (flips_read(l->flips_fd, &flips, &l->err) != HF_OK ||
        l->port.read(l, l->pf.ifindex, &list, &l->err) != VF_DONE)
        fail(l, "look");
    pf.is_up = list.is_pf_up;
    for (uint16_t n = 0; n < pf.count; n++) {
        memcpy(pf.vf[n].pci, l->pf.vf[n], sizeof pf.vf[n].pci);
        pf.vf[n].is_known = list.vf[n].is_told;
        pf.vf[n].config = list.vf[n].config;
    }
    reconcile_look(&view, result);
}

/* Prints what it repaired and what it could only tell. */
static void repair(struct life *l)
{
    struct reconcile_result *result = malloc(sizeof *result);

    for (int round = 0; result != NULL && round < ROUNDS_MAX; round++) {
        unsigned repairs = 0;

        look(l, result);
        for (uint16_t i = 0; i < result->count; i++) {
            const struct reconcile_item *item = &result->item[i];

            printf(" %s", reconcile_kind_name(item->kind));
            if (!reconcile_is_repair(item->kind))
                continue;
            repairs++;
            if (vf_repair(&l->port, &l->ledger, l->flips_fd, &l->pf, item, &l->err) != HF_OK)
                fail(l, "repair");
        }
        if (repairs == 0) {
            printf(result->count > 0 ? ": not repaired\n" : "\n");
            exit(result->count > 0 ? 1 : 0);
        }
    }
    fprintf(stderr, "there is no end of repairs\n");
    exit(1);
}

static bool is_same(const struct vf_list *a, const struct vf_list *b)
{
    if (a->is_pf_up != b->is_pf_up || a->count != b->count || a->count > VF_COUNT_MAX)
        return false;
    for (uint16_t n = 0; n < a->count; n++) {
        if (a->vf[n].is_told != b->vf[n].is_told ||
            vf_config_differs(&a->vf[n].config, &b->vf[n].config) != 0)
            return false;
    }
    return true;
}

/* In a process of its own; its exit status. A life that ends tells how many changes it made. */
static int run(const char *folder, const char *pf, unsigned dies_at, bool is_next,
               unsigned *changes)
{
    int ends[2], status = 0;
    pid_t pid;

    fflush(stdout);
    if (pipe(ends) != 0 || (pid = fork()) < 0)
        exit(2);
    if (pid == 0) {
        struct life *l = calloc(1, sizeof *l);

        if (l == NULL)
            _exit(2);
        l->dies_at = dies_at;
        begin(l, folder, pf);
        if (is_next)
            repair(l);
        live(l);
        _exit(write(ends[1], &l->count, sizeof l->count) == sizeof l->count ? 0 : 2);
    }
    close(ends[1]);
    if (read(ends[0], changes, sizeof *changes) != sizeof *changes)
        *changes = 0;
    close(ends[0]);
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static struct vf_list *read_list(const char *pf)
{
    struct vf_list *list = calloc(1, sizeof *list);
    struct life *l = calloc(1, sizeof *l);

    if (l == NULL || list == NULL)
        exit(2);
    if (vf_netlink_open(&l->netlink, -1, &l->err) != HF_OK ||
        vf_scan("/sys", pf, &l->pf, &l->err) != HF_OK)
        fail(l, "look");
    l->real = vf_netlink_port(&l->netlink);
    if (l->real.read(l->real.user, l->pf.ifindex, list, &l->err) != VF_DONE)
        fail(l, "read");
    vf_netlink_close(&l->netlink);
    free(l);
    return list;
}

static bool one_death(const char *folder, const char *pf, unsigned at, const struct vf_list *was)
{
    unsigned changes;
    struct vf_list *is;
    int died, next;
    bool is_well;

    printf("at %u:", at);
    died = run(folder, pf, at, false, &changes);
    next = run(folder, pf, 0, true, &changes);
    is = read_list(pf);
    is_well = died == DIED && next == 0 && is_same(was, is);
    if (!is_well)
        printf("FAIL at %u: died with %d, next start ended with %d, the card is %s\n", at, died,
               next, is_same(was, is) ? "as it was" : "not as it was");
    free(is);
    return is_well;
}

int main(int argc, char **argv)
{
    unsigned changes = 0, failed = 0;
    struct vf_list *was;

    if (argc != 3)
        return 2;
    was = read_list(argv[2]);
    /* The first makes the ledger's files, which is a change, too; the second is the measure. */
    if (run(argv[1], argv[2], 0, false, &changes) != 0 ||
        run(argv[1], argv[2], 0, false, &changes) != 0 || changes < CHANGES_MIN ||
        changes > CHANGES_MAX) {
        printf("a life in peace: %u changes\n", changes);
        return 1;
    }
    for (unsigned at = 1; at <= changes; at++)
        failed += one_death(argv[1], argv[2], at, was) ? 0 : 1;
    free(was);
    printf("%u deaths, %u failed\n", changes, failed);
    return failed == 0 ? 0 : 1;
}
