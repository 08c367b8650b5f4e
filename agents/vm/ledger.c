#include "agents/vm/ledger.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisord/base/str.h"

#define LEDGER_MAGIC "holdfast-start-1"

enum { FIELDS = 8 };

static const char *state_name(enum ledger_state state)
{
    switch (state) {
    case LEDGER_CREATING:
        return "creating";
    case LEDGER_PAUSED:
        return "paused";
    case LEDGER_CREATED:
        return "created";
    }
    return "unknown";
}

enum hf_code ledger_open(const char *folder, struct hf_err *err)
{
    char parent[PATH_MAX];
    char *slash;

    if (!hf_str_copy(parent, sizeof parent, folder))
        return hf_err_set(err, HF_EINVAL, "ledger: the folder's name is too long");
    slash = strrchr(parent, '/');
    if (slash != NULL && slash != parent) {
        *slash = '\0';
        (void)mkdir(parent, 0755); /* there already, or the next call says what is wrong */
    }
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return hf_err_set(err, HF_EIO, "ledger: make %s: %s", folder, strerror(errno));
    return HF_OK;
}

/* ---- one line ---- */

static bool read_state(const char *word, enum ledger_state *state)
{
    static const enum ledger_state states[] = {LEDGER_CREATING, LEDGER_PAUSED, LEDGER_CREATED};

    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        if (strcmp(word, state_name(states[i])) == 0) {
            *state = states[i];
            return true;
        }
    }
    return false;
}

static bool parse_fields(char *line, struct ledger_entry *entry)
{
    const char *field[FIELDS];
    uint64_t uid, start_no, pid, started;
    char *end = strchr(line, '\n');

    if (end == NULL || end[1] != '\0')
        return false;
    *end = '\0';
    for (size_t i = 0; i < FIELDS; i++) {
        field[i] = strsep(&line, " ");
        if (field[i] == NULL)
            return false;
    }
    if (line != NULL || strcmp(field[0], LEDGER_MAGIC) != 0 ||
        !hf_str_to_u64(field[1], UINT32_MAX, &uid) || uid == 0 ||
        !hf_str_to_u64(field[2], UINT32_MAX, &start_no) || !read_state(field[3], &entry->state) ||
        !hf_str_to_u64(field[4], INT32_MAX, &pid) ||
        !hf_str_to_u64(field[5], INT64_MAX, &started) || !hf_str_is_name(field[6], HF_NAME_MAX) ||
        strcmp(field[7], "end") != 0)
        return false;
    entry->uid = (hf_vm_uid)uid;
    entry->start_no = (uint32_t)start_no;
    entry->driver = (struct qemu){.pid = (pid_t)pid, .started = started};
    return hf_str_copy(entry->name, sizeof entry->name, field[6]);
}

int ledger_line(const struct ledger_entry *entry, char line[LEDGER_LINE_MAX])
{
    return snprintf(line, LEDGER_LINE_MAX, LEDGER_MAGIC " %u %u %s %d %llu %s end\n",
                    (unsigned)entry->uid, (unsigned)entry->start_no, state_name(entry->state),
                    (int)entry->driver.pid, (unsigned long long)entry->driver.started, entry->name);
}

bool ledger_parse(const char *line, struct ledger_entry *entry)
{
    char fields[LEDGER_LINE_MAX], again[LEDGER_LINE_MAX];

    if (!hf_str_copy(fields, sizeof fields, line) || !parse_fields(fields, entry))
        return false;
    (void)ledger_line(entry, again);
    return strcmp(again, line) == 0;
}

enum hf_code ledger_read(const char *folder, hf_vm_uid uid, struct ledger_entry *entry,
                         struct hf_err *err)
{
    char path[PATH_MAX], line[LEDGER_LINE_MAX];
    ssize_t len;
    int fd;

    (void)snprintf(path, sizeof path, "%s/%u", folder, (unsigned)uid);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return hf_err_set(err, errno == ENOENT ? HF_ENOENT : HF_EIO, "ledger: open %s: %s", path,
                          strerror(errno));
    len = read(fd, line, sizeof line - 1);
    if (len < 0) {
        (void)hf_err_set(err, HF_EIO, "ledger: read %s: %s", path, strerror(errno));
        close(fd);
        return HF_EIO;
    }
    close(fd);
    line[len] = '\0';
    if (strlen(line) != (size_t)len || !ledger_parse(line, entry) || entry->uid != uid)
        return hf_err_set(err, HF_EBAD, "ledger: %s is not what was written there", path);
    return HF_OK;
}

/* A reader sees the old line or the new one. No fsync: a tmpfs has nothing that could be later. */
enum hf_code ledger_write(const char *folder, const struct ledger_entry *entry, struct hf_err *err)
{
    char path[PATH_MAX], fresh[PATH_MAX], line[LEDGER_LINE_MAX];
    int len = ledger_line(entry, line);
    bool is_written;
    int fd;

    (void)snprintf(path, sizeof path, "%s/%u", folder, (unsigned)entry->uid);
    (void)snprintf(fresh, sizeof fresh, "%s/.%u", folder, (unsigned)entry->uid);
    fd = open(fresh, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return hf_err_set(err, HF_EIO, "ledger: open %s: %s", fresh, strerror(errno));
    is_written = write(fd, line, (size_t)len) == len;
    if (!is_written)
        (void)hf_err_set(err, HF_EIO, "ledger: write %s: %s", fresh, strerror(errno));
    close(fd);
    if (!is_written)
        return HF_EIO;
    if (rename(fresh, path) != 0)
        return hf_err_set(err, HF_EIO, "ledger: rename to %s: %s", path, strerror(errno));
    return HF_OK;
}

enum hf_code ledger_each(const char *folder,
                         bool (*each)(void *user, const struct ledger_entry *entry), void *user,
                         struct hf_err *err)
{
    DIR *all = opendir(folder);
    struct ledger_entry entry;
    const struct dirent *file;
    enum hf_code code = HF_OK;
    bool goes_on = true;
    uint64_t uid;

    if (all == NULL)
        return hf_err_set(err, HF_EIO, "ledger: read %s: %s", folder, strerror(errno));
    while (goes_on && (errno = 0, file = readdir(all)) != NULL) {
        if (!hf_str_to_u64(file->d_name, UINT32_MAX, &uid) || uid == 0)
            continue; /* one that was never finished: it stands for nothing */
        if (ledger_read(folder, (hf_vm_uid)uid, &entry, err) == HF_OK)
            goes_on = each(user, &entry);
        else
            code = err->code;
    }
    if (goes_on && errno != 0)
        code = hf_err_set(err, HF_EIO, "ledger: read %s: %s", folder, strerror(errno));
    closedir(all);
    return code;
}
