#include "supervisord/report/journal_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisord/base/buf.h"
#include "supervisord/base/crc.h"
#include "supervisord/engine/engine.h"
#include "supervisord/report/journal.h"

enum { PATH_BYTES = 400, LISTED_MAX = 256 };

uint32_t journal_crc(const uint8_t *record, size_t len)
{
    uint32_t crc = hf_crc32c(0, record, 4);

    return hf_crc32c(crc, record + 8, len - 8);
}

static enum hf_code directory_make(const char *path, struct hf_err *err)
{
    if (mkdir(path, 0750) != 0 && errno != EEXIST)
        return hf_err_set(err, HF_EIO, "mkdir %s: %s", path, strerror(errno));
    return HF_OK;
}

/* state_directory/below, made if needed, into out[PATH_BYTES]. */
static enum hf_code directory_of(const char *state_directory, const char *below, char *out,
                                 struct hf_err *err)
{
    (void)snprintf(out, PATH_BYTES, "%s/%s", state_directory, below);
    if (directory_make(state_directory, err) != HF_OK)
        return err->code;
    return directory_make(out, err);
}

/* A new name survives a power cut only when its directory has been synced too. */
static void directory_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

static enum hf_code write_all(int fd, const uint8_t *bytes, size_t len, struct hf_err *err)
{
    while (len > 0) {
        ssize_t put = write(fd, bytes, len);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return hf_err_set(err, HF_EIO, "write: %s", strerror(put < 0 ? errno : ENOSPC));
        bytes += put;
        len -= (size_t)put;
    }
    return HF_OK;
}

/* ---- journal files ---- */

static void remove_oldest(const char *state_directory, uint32_t kept)
{
    char names[LISTED_MAX][64];
    size_t count = journal_list(state_directory, names, LISTED_MAX);

    for (size_t i = kept; i < count; i++) {
        char path[PATH_BYTES];

        (void)snprintf(path, sizeof path, "%s/journal/%s", state_directory, names[i]);
        (void)unlink(path); /* tried again with the next file */
    }
}

static unsigned next_number(const char *state_directory)
{
    char names[1][64];
    uint64_t number = 0;

    if (journal_list(state_directory, names, 1) == 1)
        (void)journal_file_number(names[0], &number);
    return (unsigned)number + 1;
}

static enum hf_code put_header(struct journal_file *f, struct hf_err *err)
{
    uint8_t header[JOURNAL_HEADER_BYTES];
    struct hf_writer w = hf_writer_on(header, sizeof header);

    hf_put_bytes(&w, "HFJRNL\0\1", 8);
    hf_put_u32(&w, HF_RULESET);
    hf_put_u32(&w, 0);
    return journal_file_append(f, header, sizeof header, err);
}

enum hf_code journal_file_next(struct journal_file *f, const char *state_directory, uint64_t seq,
                               uint32_t kept, struct hf_err *err)
{
    char directory[PATH_BYTES], path[PATH_BYTES + 64];

    journal_file_close(f);
    if (directory_of(state_directory, "journal", directory, err) != HF_OK)
        return hf_err_wrap(err, "journal");
    (void)snprintf(path, sizeof path, "%s/journal-%08u-%llu", directory,
                   next_number(state_directory), (unsigned long long)seq);
    f->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0640);
    f->len = 0;
    if (f->fd < 0)
        return hf_err_set(err, HF_EIO, "journal: open %s: %s", path, strerror(errno));
    if (put_header(f, err) != HF_OK) {
        journal_file_close(f);
        (void)unlink(path); /* an empty file would push a good one out */
        return err->code;
    }
    directory_sync(directory);
    remove_oldest(state_directory, kept);
    return HF_OK;
}

enum hf_code journal_file_append(struct journal_file *f, const void *bytes, size_t len,
                                 struct hf_err *err)
{
    if (write_all(f->fd, bytes, len, err) != HF_OK) {
        (void)!ftruncate(f->fd, (off_t)f->len); /* else the reader finds the tear by its CRC */
        return hf_err_wrap(err, "journal");
    }
    f->len += len;
    return HF_OK;
}

enum hf_code journal_file_sync(struct journal_file *f, struct hf_err *err)
{
    if (f->fd >= 0 && fdatasync(f->fd) != 0)
        return hf_err_set(err, HF_EIO, "journal: fdatasync: %s", strerror(errno));
    return HF_OK;
}

void journal_file_close(struct journal_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
    f->len = 0;
}

/* ---- blobs ---- */

static enum hf_code write_file(const char *path, const void *bytes, size_t len, struct hf_err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    enum hf_code code;

    if (fd < 0)
        return hf_err_set(err, HF_EIO, "open %s: %s", path, strerror(errno));
    code = write_all(fd, bytes, len, err);
    if (code == HF_OK && fdatasync(fd) != 0)
        code = hf_err_set(err, HF_EIO, "fdatasync %s: %s", path, strerror(errno));
    close(fd);
    return code;
}

enum hf_code journal_blob_put(const char *state_directory, const char *name, const void *bytes,
                              size_t len, struct hf_err *err)
{
    char directory[PATH_BYTES], path[PATH_BYTES + 100], fresh[PATH_BYTES + 16];

    if (directory_of(state_directory, "blobs", directory, err) != HF_OK)
        return hf_err_wrap(err, "blobs");
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    (void)snprintf(fresh, sizeof fresh, "%s/.new", directory);
    if (write_file(fresh, bytes, len, err) != HF_OK) {
        (void)unlink(fresh);
        return hf_err_wrap(err, "blobs");
    }
    if (rename(fresh, path) != 0)
        return hf_err_set(err, HF_EIO, "blobs: rename %s: %s", path, strerror(errno));
    directory_sync(directory);
    return HF_OK;
}

enum hf_code journal_blob_remove(const char *state_directory, const char *name, struct hf_err *err)
{
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/blobs/%s", state_directory, name);
    if (unlink(path) != 0 && errno != ENOENT)
        return hf_err_set(err, HF_EIO, "blobs: unlink %s: %s", path, strerror(errno));
    return HF_OK;
}
