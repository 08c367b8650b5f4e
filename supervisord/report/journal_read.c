#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisord/base/buf.h"
#include "supervisord/base/str.h"
#include "supervisord/report/journal.h"
#include "supervisord/report/journal_file.h"
#include "supervisord/wire/event.h"

static enum hf_code read_header(struct journal_reader *r, struct hf_err *err)
{
    struct hf_reader h = hf_reader_on(r->bytes, r->len);
    uint8_t magic[8];

    hf_get_bytes(&h, magic, sizeof magic);
    r->ruleset = hf_get_u32(&h);
    (void)hf_get_u32(&h);
    if (h.bad || memcmp(magic, "HFJRNL\0\1", sizeof magic) != 0)
        return hf_err_set(err, HF_EBAD, "not a journal, or of another version");
    r->at = JOURNAL_HEADER_BYTES;
    return HF_OK;
}

enum hf_code journal_read_bytes(struct journal_reader *r, const void *bytes, size_t len,
                                struct hf_err *err)
{
    memset(r, 0, sizeof *r);
    r->bytes = malloc(len > 0 ? len : 1);
    if (r->bytes == NULL)
        return hf_err_set(err, HF_EFULL, "journal: no memory for %zu bytes", len);
    if (len > 0)
        memcpy(r->bytes, bytes, len);
    r->len = len;
    if (read_header(r, err) != HF_OK)
        journal_read_close(r);
    else
        return HF_OK;
    return err->code;
}

static enum hf_code read_file(int fd, struct journal_reader *r, struct hf_err *err)
{
    struct stat st;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > JOURNAL_READ_MAX)
        return hf_err_set(err, HF_EBAD, "not a regular file of at most %d bytes",
                          (int)JOURNAL_READ_MAX);
    r->bytes = malloc((size_t)st.st_size + 1);
    if (r->bytes == NULL)
        return hf_err_set(err, HF_EFULL, "no memory for %lld bytes", (long long)st.st_size);
    while (r->len < (size_t)st.st_size) {
        ssize_t got = read(fd, r->bytes + r->len, (size_t)st.st_size - r->len);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hf_err_set(err, HF_EIO, "read: %s", strerror(errno));
        if (got == 0)
            break;
        r->len += (size_t)got;
    }
    return read_header(r, err);
}

enum hf_code journal_read_open(struct journal_reader *r, const char *path, struct hf_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum hf_code code;

    memset(r, 0, sizeof *r);
    if (fd < 0)
        return hf_err_set(err, errno == ENOENT ? HF_ENOENT : HF_EIO, "%s: %s", path,
                          strerror(errno));
    code = read_file(fd, r, err);
    close(fd);
    if (code == HF_OK)
        return HF_OK;
    journal_read_close(r);
    return hf_err_wrap(err, "%s", path);
}

static enum hf_code decode_event(const uint8_t *body, size_t len, struct journal_record *record,
                                 struct hf_err *err)
{
    struct hf_reader b = hf_reader_on(body, len), e;
    size_t event_len;

    record->seq = hf_get_u64(&b);
    event_len = hf_get_u16(&b);
    if (b.bad || event_len > len - b.pos)
        return hf_err_set(err, HF_EBAD, "cut event");
    e = hf_reader_on(body + b.pos, event_len);
    if (event_decode(&e, &record->event, err) != HF_OK)
        return hf_err_wrap(err, "event %llu", (unsigned long long)record->seq);
    if (!hf_reader_ended(&e))
        return hf_err_set(err, HF_EBAD, "event %llu: bytes left over",
                          (unsigned long long)record->seq);
    record->event.seq = record->seq;
    record->decision = body + b.pos + event_len;
    record->decision_len = len - b.pos - event_len;
    return HF_OK;
}

enum hf_code journal_read_next(struct journal_reader *r, struct journal_record *record,
                               struct hf_err *err)
{
    size_t left = r->len - r->at;
    const uint8_t *head = r->bytes + r->at;
    struct hf_reader h = hf_reader_on(head, left);
    uint32_t len, crc;
    uint8_t kind;

    memset(record, 0, sizeof *record);
    if (left == 0)
        return hf_err_set(err, HF_ENOENT, "end of the journal");
    len = hf_get_u32(&h);
    crc = hf_get_u32(&h);
    kind = hf_get_u8(&h);
    if (h.bad || len > left - JOURNAL_RECORD_HEAD)
        return hf_err_set(err, HF_EBAD, "torn record at byte %zu", r->at);
    if (crc != journal_crc(head, JOURNAL_RECORD_HEAD + (size_t)len))
        return hf_err_set(err, HF_EBAD, "damaged record at byte %zu", r->at);
    if (kind != JOURNAL_SNAPSHOT && kind != JOURNAL_EVENT)
        return hf_err_set(err, HF_EBAD, "unknown record at byte %zu", r->at);
    r->at += JOURNAL_RECORD_HEAD + (size_t)len;
    record->kind = (enum journal_kind)kind;
    if (record->kind == JOURNAL_EVENT)
        return decode_event(head + JOURNAL_RECORD_HEAD, len, record, err);
    record->state = head + JOURNAL_RECORD_HEAD;
    record->state_len = len;
    return HF_OK;
}

void journal_read_close(struct journal_reader *r)
{
    free(r->bytes);
    memset(r, 0, sizeof *r);
}

/* ---- the directory ---- */

bool journal_file_number(const char *name, uint64_t *number)
{
    enum { HEAD = sizeof "journal-" - 1, DIGITS = 8 };
    char digits[DIGITS + 1];
    uint64_t seq;

    if (strlen(name) >= 64 || strncmp(name, "journal-", HEAD) != 0)
        return false;
    (void)hf_str_copy(digits, sizeof digits, name + HEAD);
    return strlen(digits) == DIGITS && name[HEAD + DIGITS] == '-' &&
           hf_str_to_u64(name + HEAD + DIGITS + 1, UINT64_MAX, &seq) &&
           hf_str_to_u64(digits, 99999999, number);
}

static int newest_first(const void *a, const void *b)
{
    return strcmp(b, a); /* the number has a fixed width */
}

size_t journal_list(const char *state_directory, char (*names)[64], size_t cap)
{
    enum { SEEN_MAX = 4096 };
    char path[400], (*all)[64] = NULL;
    const struct dirent *entry;
    uint64_t number;
    size_t count = 0;
    DIR *directory;

    (void)snprintf(path, sizeof path, "%s/journal", state_directory);
    directory = opendir(path);
    if (directory == NULL)
        return 0;
    all = calloc(SEEN_MAX, sizeof *all);
    while (all != NULL && count < SEEN_MAX && (entry = readdir(directory)) != NULL)
        if (journal_file_number(entry->d_name, &number))
            (void)hf_str_copy(all[count++], sizeof *all, entry->d_name);
    closedir(directory);
    if (all == NULL)
        return 0;
    qsort(all, count, sizeof *all, newest_first);
    if (count > cap)
        count = cap;
    memcpy(names, all, count * sizeof *all);
    free(all);
    return count;
}
