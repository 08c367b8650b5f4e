#include "nicbond/ledger_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisord/base/assert.h"
#include "supervisord/base/clock.h"
#include "supervisord/base/str.h"

#define FILE_NAME  "vfs"
#define FRESH_NAME ".vfs"
#define LOCK_NAME  "lock"

enum {
    LOCK_LOOK_MS = 20, /* flock(2) tells nobody that it is free */
};

/* ---- the real disk ---- */

static ssize_t real_write(void *user, int fd, const void *bytes, size_t len, off_t at)
{
    (void)user;
    return pwrite(fd, bytes, len, at);
}

static int real_sync(void *user, int fd)
{
    (void)user;
    return fsync(fd);
}

static int real_rename(void *user, int folder, const char *from, const char *to)
{
    (void)user;
    return renameat(folder, from, folder, to);
}

const struct ledger_disk *ledger_disk(void)
{
    static const struct ledger_disk real = {NULL, real_write, real_sync, real_rename};

    return &real;
}

/* ---- writing ---- */

/* Either all of it or an error. A disk that takes nothing is a full one. */
static enum hf_code write_all(const struct ledger_file *f, int fd, const uint8_t *bytes, size_t len,
                              off_t at, struct hf_err *err)
{
    while (len > 0) {
        ssize_t done = f->disk.write(f->disk.user, fd, bytes, len, at);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return hf_err_set(err, HF_EIO, "write %s: %s", f->name,
                              strerror(done < 0 ? errno : ENOSPC));
        bytes += done;
        at += done;
        len -= (size_t)done;
    }
    return HF_OK;
}

static enum hf_code sync_fd(const struct ledger_file *f, int fd, struct hf_err *err)
{
    if (f->disk.sync(f->disk.user, fd) != 0)
        return hf_err_set(err, HF_EIO, "sync %s: %s", f->name, strerror(errno));
    return HF_OK;
}

/* The new file gets its name when all of it is on disk, and the folder is synced so that it is
 * still the new one after a power cut: what is appended next must not be lost with it. */
static enum hf_code begin_file(struct ledger_file *f, const struct ledger *l, struct hf_err *err)
{
    uint8_t bytes[LEDGER_SAVE_BYTES_MAX];
    size_t len = ledger_save(l, bytes, sizeof bytes);
    int fd =
        openat(f->folder, FRESH_NAME, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return hf_err_set(err, HF_EIO, "make %s: %s", f->name, strerror(errno));
    if (write_all(f, fd, bytes, len, 0, err) != HF_OK || sync_fd(f, fd, err) != HF_OK) {
        close(fd);
        return err->code;
    }
    if (f->disk.rename(f->disk.user, f->folder, FRESH_NAME, FILE_NAME) != 0) {
        (void)hf_err_set(err, HF_EIO, "name %s: %s", f->name, strerror(errno));
        close(fd);
        return HF_EIO;
    }
    if (f->fd >= 0)
        close(f->fd);
    f->fd = fd;
    f->len = (off_t)len;
    return sync_fd(f, f->folder, err);
}

static enum hf_code append(struct ledger_file *f, const struct ledger_record *record,
                           struct hf_err *err)
{
    uint8_t bytes[LEDGER_RECORD_BYTES];

    ledger_encode(record, f->ledger.next, bytes);
    if (write_all(f, f->fd, bytes, sizeof bytes, f->len, err) != HF_OK)
        return err->code;
    return sync_fd(f, f->fd, err);
}

enum hf_code ledger_file_put(struct ledger_file *f, const struct ledger_record *record,
                             struct hf_err *err)
{
    struct ledger next = f->ledger;

    if (ledger_apply(&next, record, err) != HF_OK)
        return hf_err_wrap(err, "ledger %s", f->name);
    if (f->is_in_doubt || f->len + LEDGER_RECORD_BYTES > LEDGER_BYTES_MAX) {
        f->is_in_doubt = true;
        if (begin_file(f, &f->ledger, err) != HF_OK)
            return hf_err_wrap(err, "ledger");
        /* Its records are numbered anew, from the one this would have been. */
        f->ledger.next += (uint64_t)f->ledger.count + 1;
        next.next = f->ledger.next + 1;
        f->is_in_doubt = false;
    }
    if (append(f, record, err) != HF_OK) {
        f->is_in_doubt = true;
        return hf_err_wrap(err, "ledger");
    }
    f->len += LEDGER_RECORD_BYTES;
    f->ledger = next;
    return HF_OK;
}

enum hf_code ledger_file_epochs(struct ledger_file *f, uint64_t floor, uint64_t *first,
                                uint64_t *end, struct hf_err *err)
{
    struct ledger_record record;
    uint64_t from = ledger_reserve(&f->ledger, floor, &record);

    if (ledger_file_put(f, &record, err) != HF_OK)
        return err->code;
    *first = from;
    *end = record.epochs_to;
    return HF_OK;
}

uint64_t ledger_epochs_floor(void)
{
    int64_t seconds = hf_clock_wall().ns / 1000000000;

    return seconds > 0 ? (uint64_t)seconds * LEDGER_EPOCHS_RESERVED : 1;
}

/* ---- reading ---- */

static enum hf_code read_all(int fd, const char *name, uint8_t *bytes, size_t *len,
                             struct hf_err *err)
{
    *len = 0;
    for (;;) {
        ssize_t done = pread(fd, bytes + *len, (size_t)LEDGER_BYTES_MAX + 1 - *len, (off_t)*len);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return hf_err_set(err, HF_EIO, "read %s: %s", name, strerror(errno));
        *len += (size_t)done;
        if (*len > LEDGER_BYTES_MAX)
            return hf_err_set(err, HF_EBAD, "%s: more than %d bytes", name, (int)LEDGER_BYTES_MAX);
        if (done == 0)
            return HF_OK;
    }
}

/* What is at fd into the state. *len: how much of it counts. */
static enum hf_code load(int fd, const char *name, struct ledger *l, off_t *counts, size_t *torn,
                         struct hf_err *err)
{
    uint8_t *bytes = malloc((size_t)LEDGER_BYTES_MAX + 1);
    enum hf_code code;
    struct hf_err was;
    size_t len;

    if (bytes == NULL)
        return hf_err_set(err, HF_EFULL, "%s: no memory to read it", name);
    code = read_all(fd, name, bytes, &len, err);
    if (code == HF_OK && ledger_load(l, bytes, len, torn, err) != HF_OK)
        code = hf_err_wrap(err, "%s", name);
    if (code == HF_OK)
        *counts = (off_t)(len - *torn);
    if (code == HF_EBAD) {
        was = *err;
        (void)hf_err_set(err, HF_EBAD,
                         "%.200s. No VF is touched. To go on: move the file away, look at the VFs "
                         "of stopped VMs (ip link show PF), and restart holdfast-nicbond",
                         was.text);
    }
    free(bytes);
    return code;
}

enum hf_code ledger_file_read(const char *folder, struct ledger *l, struct hf_err *err)
{
    char path[PATH_MAX];
    enum hf_code code;
    size_t torn;
    off_t len;
    int fd;

    ledger_init(l);
    (void)snprintf(path, sizeof path, "%s/%s", folder, FILE_NAME);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return HF_OK;
    if (fd < 0)
        return hf_err_set(err, HF_EIO, "ledger: open %s: %s", path, strerror(errno));
    code = load(fd, path, l, &len, &torn, err);
    close(fd);
    return code == HF_OK ? HF_OK : hf_err_wrap(err, "ledger");
}

/* ---- open and close ---- */

/* The folder and the one above it: /var/lib/holdfast may not be there yet. */
static enum hf_code open_folder(struct ledger_file *f, const char *folder, struct hf_err *err)
{
    char parent[PATH_MAX];
    char *slash;

    if (!hf_str_copy(parent, sizeof parent, folder))
        return hf_err_set(err, HF_EINVAL, "the folder's name is too long");
    slash = strrchr(parent, '/');
    if (slash != NULL && slash != parent) {
        *slash = '\0';
        (void)mkdir(parent, 0755); /* there already, or the next call says what is wrong */
    }
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return hf_err_set(err, HF_EIO, "make %s: %s", folder, strerror(errno));
    f->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->folder < 0)
        return hf_err_set(err, HF_EIO, "open %s: %s", folder, strerror(errno));
    return HF_OK;
}

static enum hf_code take_lock(struct ledger_file *f, uint32_t wait_ms, struct hf_err *err)
{
    hf_time deadline = hf_time_add_ms(hf_clock_now(), wait_ms);

    f->lock = openat(f->folder, LOCK_NAME, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (f->lock < 0)
        return hf_err_set(err, HF_EIO, "open %s/%s: %s", f->name, LOCK_NAME, strerror(errno));
    while (flock(f->lock, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return hf_err_set(err, HF_EIO, "lock %s: %s", f->name, strerror(errno));
        if (hf_time_reached(hf_clock_now(), deadline))
            return hf_err_set(err, HF_EAGAIN, "%s: another process has held it for %u ms", f->name,
                              (unsigned)wait_ms);
        (void)poll(NULL, 0, LOCK_LOOK_MS);
    }
    return HF_OK;
}

static enum hf_code open_file(struct ledger_file *f, struct hf_err *err)
{
    f->fd = openat(f->folder, FILE_NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (f->fd < 0 && errno == ENOENT) {
        ledger_init(&f->ledger);
        f->ledger.epochs_to = ledger_epochs_floor();
        if (begin_file(f, &f->ledger, err) != HF_OK)
            return err->code;
        f->ledger.next += 1; /* it begins with one record */
        return HF_OK;
    }
    if (f->fd < 0)
        return hf_err_set(err, HF_EIO, "open %s/%s: %s", f->name, FILE_NAME, strerror(errno));
    if (load(f->fd, f->name, &f->ledger, &f->len, &f->torn, err) != HF_OK)
        return err->code;
    return HF_OK;
}

enum hf_code ledger_file_open(struct ledger_file *f, const char *folder, uint32_t wait_ms,
                              const struct ledger_disk *disk, struct hf_err *err)
{
    memset(f, 0, sizeof *f);
    f->disk = disk != NULL ? *disk : *ledger_disk();
    f->folder = f->fd = f->lock = -1;
    (void)hf_str_copy(f->name, sizeof f->name, folder);
    if (open_folder(f, folder, err) != HF_OK || take_lock(f, wait_ms, err) != HF_OK ||
        open_file(f, err) != HF_OK) {
        ledger_file_close(f);
        return hf_err_wrap(err, "ledger");
    }
    return HF_OK;
}

void ledger_file_close(struct ledger_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    if (f->lock >= 0)
        close(f->lock); /* and with it the lock */
    if (f->folder >= 0)
        close(f->folder);
    f->folder = f->fd = f->lock = -1;
}
