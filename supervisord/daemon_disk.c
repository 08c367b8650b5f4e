#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisord/base/log.h"
#include "supervisord/daemon.h"
#include "supervisord/report/store.h"

/* The state only counts when nobody in the group carries a live one. */
void daemon_restore(struct daemon *d)
{
    struct store_found found;
    struct hf_err err;
    enum hf_code code = store_read(d->options.state_directory, &found, &err);

    if (found.told[0] != '\0')
        hf_warning("journal: %s", found.told);
    if (code != HF_OK) {
        hf_info("journal: %s", err.text);
        return;
    }
    code = replica_restore(d->replica, found.bytes, found.len, &err);
    if (code == HF_OK)
        hf_info("journal: state up to seq %llu, %u events replayed", (unsigned long long)found.seq,
                found.events);
    else
        hf_warning("journal: state up to seq %llu is not used: %s", (unsigned long long)found.seq,
                   err.text);
    free(found.bytes);
}

static size_t read_some(int fd, uint8_t *bytes, size_t cap)
{
    size_t len = 0;

    while (len < cap) {
        ssize_t got = read(fd, bytes + len, cap - len);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        len += (size_t)got;
    }
    return len;
}

static void load_one(struct daemon *d, int directory, const char *name, uint8_t *bytes, hf_time now)
{
    struct hf_err err;
    struct stat st;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        size_t len = read_some(fd, bytes, (size_t)HF_XML_MAX + 1);

        if (blobs_load(d->blobs, name, bytes, len, now, &err) != HF_OK) {
            hf_warning("contents: %s: left out, another member has it", err.text);
            (void)journal_remove_file(d->journal, name);
        }
    }
    close(fd);
}

void daemon_load_blobs(struct daemon *d, hf_time now)
{
    char path[400];
    uint8_t *bytes = malloc((size_t)HF_XML_MAX + 1);
    const struct dirent *entry;
    DIR *directory;

    (void)snprintf(path, sizeof path, "%s/blobs", d->options.state_directory);
    directory = bytes != NULL ? opendir(path) : NULL;
    while (directory != NULL && (entry = readdir(directory)) != NULL)
        if (strlen(entry->d_name) == 64)
            load_one(d, dirfd(directory), entry->d_name, bytes, now);
    if (directory != NULL)
        closedir(directory);
    free(bytes);
}
