/* fuzz_journal.c - any bytes as a journal file: records or errors, and every event that is accepted
 * encodes to the bytes it came from. */
/* LINK: supervisord/report supervisord/engine fencing supervisord/wire supervisord/base
 * supervisord/model */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "supervisord/report/journal.h"
#include "supervisord/report/journal_file.h"
#include "supervisord/wire/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void check_record(const struct journal_record *record)
{
    uint8_t again[HF_EVENT_BYTES_MAX];
    struct hf_writer w = hf_writer_on(again, sizeof again);

    if (record->kind != JOURNAL_EVENT)
        return;
    event_encode(&record->event, &w);
    if (w.bad || memcmp(again, record->decision - w.len, w.len) != 0)
        abort();
}

static void read_all(const uint8_t *bytes, size_t len)
{
    static struct journal_record record;
    struct journal_reader r;
    struct hf_err err;

    if (journal_read_bytes(&r, bytes, len, &err) != HF_OK)
        return;
    while (journal_read_next(&r, &record, &err) == HF_OK)
        check_record(&record);
    journal_read_close(&r);
}

/* The same bytes with every CRC made right, so that what is behind it is reached. */
static void repair(uint8_t *bytes, size_t len)
{
    size_t at = JOURNAL_HEADER_BYTES;

    while (len >= JOURNAL_RECORD_HEAD && at <= len - JOURNAL_RECORD_HEAD) {
        uint32_t body = (uint32_t)bytes[at] | (uint32_t)bytes[at + 1] << 8 |
                        (uint32_t)bytes[at + 2] << 16 | (uint32_t)bytes[at + 3] << 24;
        uint32_t crc;

        if (body > len - at - JOURNAL_RECORD_HEAD)
            return;
        crc = journal_crc(bytes + at, JOURNAL_RECORD_HEAD + (size_t)body);
        for (unsigned i = 0; i < 4; i++)
            bytes[at + 4 + i] = (uint8_t)(crc >> 8 * i);
        at += JOURNAL_RECORD_HEAD + (size_t)body;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc(len + 1);

    if (copy == NULL)
        return 0;
    read_all(bytes, len);
    if (len > 0)
        memcpy(copy, bytes, len);
    repair(copy, len);
    read_all(copy, len);
    free(copy);
    return 0;
}
