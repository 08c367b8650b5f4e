/* memory.c - contents larger than a record: a file in memory that nobody can change any more. The
 * seals are checked before the first byte is read, so its sender cannot shrink it under us (SIGBUS)
 * nor change what was already verified (reference: fcntl(2), F_SEAL_*). */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisord/base/assert.h"
#include "supervisord/door/door.h"

enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

static enum hf_code write_all(int fd, const char *bytes, size_t len, struct hf_err *err)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = write(fd, bytes + done, len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return hf_err_set(err, HF_EIO, "write %zu bytes: %s", len, strerror(errno));
        done += (size_t)n;
    }
    return HF_OK;
}

enum hf_code door_memory(const char *name, const void *bytes, size_t len, int *fd,
                         struct hf_err *err)
{
    int opened;

    if (len == 0)
        return hf_err_set(err, HF_EINVAL, "memory %s: there is nothing to put in", name);
    opened = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (opened < 0)
        return hf_err_set(err, HF_EIO, "make memory %s: %s", name, strerror(errno));
    if (write_all(opened, bytes, len, err) != HF_OK) {
        close(opened);
        return hf_err_wrap(err, "memory %s", name);
    }
    if (fcntl(opened, F_ADD_SEALS, SEALS) != 0) {
        hf_err_set(err, HF_EIO, "seal memory %s: %s", name, strerror(errno));
        close(opened);
        return err->code;
    }
    *fd = opened;
    return HF_OK;
}

static enum hf_code sealed_size(int fd, size_t max, size_t *len, struct hf_err *err)
{
    int seals = fcntl(fd, F_GET_SEALS);
    struct stat st;

    if (seals < 0)
        return hf_err_set(err, HF_EBAD, "the descriptor is not a file in memory");
    if ((seals & SEALS) != SEALS)
        return hf_err_set(err, HF_EBAD, "the memory is not sealed (seals 0x%x, need 0x%x)",
                          (unsigned)seals, (unsigned)SEALS);
    if (fstat(fd, &st) != 0)
        return hf_err_set(err, HF_EIO, "size of the memory: %s", strerror(errno));
    if (st.st_size < 1 || (uint64_t)st.st_size > max)
        return hf_err_set(err, HF_EBAD, "the memory holds %lld bytes, not 1 to %zu",
                          (long long)st.st_size, max);
    *len = (size_t)st.st_size;
    return HF_OK;
}

enum hf_code door_memory_read(int fd, size_t max, void **bytes, size_t *len, struct hf_err *err)
{
    size_t size = 0, done = 0;
    char *copy;

    if (sealed_size(fd, max, &size, err) != HF_OK)
        return err->code;
    HF_ASSERT(size > 0);
    copy = malloc(size);
    if (copy == NULL)
        return hf_err_set(err, HF_EIO, "read %zu bytes of memory: out of memory", size);
    while (done < size) {
        ssize_t n = pread(fd, copy + done, size - done, (off_t)done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            hf_err_set(err, HF_EIO, "read %zu bytes of memory: %s", size, strerror(errno));
            free(copy);
            return err->code;
        }
        done += (size_t)n;
    }
    *bytes = copy;
    *len = size;
    return HF_OK;
}
