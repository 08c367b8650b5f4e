/* LINK: nicbond */
/* fuzz_ledger.c - any bytes as nicbond's files: refused, or a state that is written and read the
 * same. */
#include <stdlib.h>
#include <string.h>

#include "nicbond/flips.h"
#include "nicbond/ledger.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void try_ledger(const uint8_t *bytes, size_t len)
{
    struct ledger l, again;
    uint8_t saved[LEDGER_SAVE_BYTES_MAX];
    struct hf_err err;
    size_t torn, saved_len;

    if (ledger_load(&l, bytes, len, &torn, &err) != HF_OK)
        return;
    if (torn > LEDGER_RECORD_BYTES || torn > len)
        abort();
    ledger_check(&l);
    saved_len = ledger_save(&l, saved, sizeof saved);
    if (ledger_load(&again, saved, saved_len, &torn, &err) != HF_OK || torn != 0 ||
        again.epochs_to != l.epochs_to || again.count != l.count ||
        memcmp(again.vfs, l.vfs, sizeof l.vfs) != 0)
        abort();
}

static void try_flips(const uint8_t *bytes, size_t len)
{
    uint8_t file[FLIPS_BYTES] = {0}, copy[FLIPS_COPY_BYTES];
    struct flips before, after;
    size_t at;

    flips_load(&before, bytes, len);
    for (hf_fabric f = 0; f < HF_FABRICS_MAX; f++) {
        struct flips_entry entry;

        memset(&entry, 0, sizeof entry); /* padding, too: it is compared */
        entry.epoch = before.fabric[f].epoch;
        memcpy(entry.pf, "0000:01:00.0", HF_PCI_NAME_MAX);
        flips_copy(bytes, len, f, &entry, copy, &at);
        if (at + sizeof copy > sizeof file)
            abort();
        memcpy(file, bytes, len < sizeof file ? len : sizeof file);
        memcpy(file + at, copy, sizeof copy);
        flips_load(&after, file, sizeof file);
        if (after.is_damaged[f] || memcmp(&after.fabric[f], &entry, sizeof entry) != 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    try_ledger(bytes, len);
    try_flips(bytes, len);
    return 0;
}
