#include "nicbond/flips.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/buf.h"
#include "supervisord/base/crc.h"
#include "supervisord/base/str.h"

#define MAGIC 0x31706c66u /* "flp1" */

enum {
    CRC_BYTES = 4,
};

enum copy_state { COPY_EMPTY, COPY_BAD, COPY_GOOD };

/* ---- pure ---- */

static bool is_zero(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

static enum copy_state read_copy(const uint8_t *bytes, struct flips_entry *entry, uint64_t *number)
{
    struct hf_reader head = hf_reader_on(bytes, CRC_BYTES);
    struct hf_reader r = hf_reader_on(bytes + CRC_BYTES, FLIPS_COPY_BYTES - CRC_BYTES);
    uint8_t is_pf_down;

    if (is_zero(bytes, FLIPS_COPY_BYTES))
        return COPY_EMPTY;
    memset(entry, 0, sizeof *entry);
    if (hf_get_u32(&head) != hf_crc32c(0, r.at, r.len) || hf_get_u32(&r) != MAGIC)
        return COPY_BAD;
    *number = hf_get_u64(&r);
    r.bad = r.bad || *number > INT64_MAX; /* rising, it must not come round */
    entry->epoch = hf_get_u64(&r);
    hf_get_bytes(&r, entry->pf, HF_PCI_NAME_MAX);
    is_pf_down = hf_get_enum(&r, 2);
    entry->is_pf_down = is_pf_down != 0;
    hf_get_bytes(&r, entry->vfs, sizeof entry->vfs);
    if (r.bad || !is_zero(r.at + r.pos, r.len - r.pos) || !vf_pci_is_name(entry->pf))
        return COPY_BAD;
    return COPY_GOOD;
}

/* The copies of one fabric: which one counts, its number, and whether there is none though there
 * was one. Returns the index of the copy that counts, or FLIPS_COPIES. */
static size_t newest(const uint8_t file[FLIPS_BYTES], hf_fabric fabric, struct flips_entry *entry,
                     uint64_t *number, bool *is_damaged)
{
    size_t best = FLIPS_COPIES;
    unsigned bad = 0;

    *number = 0;
    memset(entry, 0, sizeof *entry);
    for (size_t i = 0; i < FLIPS_COPIES; i++) {
        size_t at = (size_t)fabric * FLIPS_FABRIC_BYTES + i * FLIPS_COPY_BYTES;
        struct flips_entry one;
        uint64_t its_number = 0;
        enum copy_state state = read_copy(file + at, &one, &its_number);

        bad += state == COPY_BAD;
        if (state == COPY_GOOD && its_number > *number) {
            best = i;
            *number = its_number;
            *entry = one;
        }
    }
    /* One that is bad beside one that was never written is the first of all, cut. */
    *is_damaged = bad == FLIPS_COPIES;
    return best;
}

/* A file that ends early goes on with zeros, as it will once something behind is written. */
static void pad(const uint8_t *bytes, size_t len, uint8_t file[FLIPS_BYTES])
{
    memset(file, 0, FLIPS_BYTES);
    if (len > 0)
        memcpy(file, bytes, len < FLIPS_BYTES ? len : FLIPS_BYTES);
}

void flips_load(struct flips *f, const uint8_t *bytes, size_t len)
{
    uint8_t file[FLIPS_BYTES];
    uint64_t number;

    pad(bytes, len, file);
    memset(f, 0, sizeof *f);
    for (hf_fabric i = 0; i < HF_FABRICS_MAX; i++)
        (void)newest(file, i, &f->fabric[i], &number, &f->is_damaged[i]);
}

void flips_copy(const uint8_t *bytes, size_t len, hf_fabric fabric, const struct flips_entry *entry,
                uint8_t copy[FLIPS_COPY_BYTES], size_t *at)
{
    struct hf_writer w = hf_writer_on(copy + CRC_BYTES, FLIPS_COPY_BYTES - CRC_BYTES);
    struct hf_writer head = hf_writer_on(copy, CRC_BYTES);
    uint8_t file[FLIPS_BYTES];
    struct flips_entry was;
    uint64_t number;
    bool is_damaged;
    size_t best;

    HF_ASSERT(fabric < HF_FABRICS_MAX);
    pad(bytes, len, file);
    best = newest(file, fabric, &was, &number, &is_damaged);
    memset(copy, 0, FLIPS_COPY_BYTES);
    hf_put_u32(&w, MAGIC);
    hf_put_u64(&w, number + 1);
    hf_put_u64(&w, entry->epoch);
    hf_put_bytes(&w, entry->pf, HF_PCI_NAME_MAX);
    hf_put_u8(&w, entry->is_pf_down ? 1 : 0);
    hf_put_bytes(&w, entry->vfs, sizeof entry->vfs);
    HF_ASSERT(!w.bad);
    hf_put_u32(&head, hf_crc32c(0, copy + CRC_BYTES, (size_t)FLIPS_COPY_BYTES - CRC_BYTES));
    *at = (size_t)fabric * FLIPS_FABRIC_BYTES + (best == 0 ? 1u : 0u) * FLIPS_COPY_BYTES;
}

/* ---- the file ---- */

enum hf_code flips_open(const char *folder, int *fd, struct hf_err *err)
{
    char path[PATH_MAX];
    char *slash;

    *fd = -1;
    if (!hf_str_copy(path, sizeof path - sizeof "/flips", folder))
        return hf_err_set(err, HF_EINVAL, "flips: the folder's name is too long");
    slash = strrchr(path, '/');
    if (slash != NULL && slash != path) {
        *slash = '\0';
        (void)mkdir(path, 0755); /* there already, or the next call says what is wrong */
        *slash = '/';
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return hf_err_set(err, HF_EIO, "flips: make %s: %s", folder, strerror(errno));
    (void)snprintf(path + strlen(path), sizeof "/flips", "/flips");
    *fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*fd < 0)
        return hf_err_set(err, HF_EIO, "flips: open %s: %s", path, strerror(errno));
    return HF_OK;
}

static enum hf_code read_bytes(int fd, uint8_t bytes[FLIPS_BYTES], size_t *len, struct hf_err *err)
{
    ssize_t got;

    do
        got = pread(fd, bytes, FLIPS_BYTES, 0);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return hf_err_set(err, HF_EIO, "flips: read: %s", strerror(errno));
    *len = (size_t)got;
    return HF_OK;
}

enum hf_code flips_read(int fd, struct flips *f, struct hf_err *err)
{
    uint8_t bytes[FLIPS_BYTES];
    size_t len = 0;
    enum hf_code code;

    code = read_bytes(fd, bytes, &len, err);
    if (code != HF_OK)
        return code;
    flips_load(f, bytes, len);
    return HF_OK;
}

static enum hf_code write_copy(int fd, hf_fabric fabric, const struct flips_entry *entry,
                               struct hf_err *err)
{
    uint8_t bytes[FLIPS_BYTES], copy[FLIPS_COPY_BYTES];
    size_t len = 0, at;
    ssize_t done;
    enum hf_code code;

    code = read_bytes(fd, bytes, &len, err);
    if (code != HF_OK)
        return code;
    flips_copy(bytes, len, fabric, entry, copy, &at);
    do
        done = pwrite(fd, copy, sizeof copy, (off_t)at);
    while (done < 0 && errno == EINTR);
    if (done != (ssize_t)sizeof copy)
        return hf_err_set(err, HF_EIO, "flips: write: %s", done < 0 ? strerror(errno) : "no room");
    return HF_OK;
}

enum hf_code flips_put(int fd, hf_fabric fabric, const struct flips_entry *entry,
                       struct hf_err *err)
{
    struct flips_entry nothing = {.epoch = entry->epoch};
    struct flips now;

    if (fabric >= HF_FABRICS_MAX || entry->epoch == 0 || !vf_pci_is_name(entry->pf))
        return hf_err_set(err, HF_EINVAL, "flips: this is no flip of a fabric");
    if (flips_read(fd, &now, err) != HF_OK)
        return err->code;
    if (now.fabric[fabric].epoch > entry->epoch)
        return hf_err_set(err, HF_EACCESS, "flips: flip %llu comes after %llu",
                          (unsigned long long)now.fabric[fabric].epoch,
                          (unsigned long long)entry->epoch);
    /* The first writes that nothing is off, so that this one has something to fall back on. */
    (void)hf_str_copy(nothing.pf, sizeof nothing.pf, entry->pf);
    if (now.fabric[fabric].epoch == 0 && write_copy(fd, fabric, &nothing, err) != HF_OK)
        return err->code;
    return write_copy(fd, fabric, entry, err);
}
