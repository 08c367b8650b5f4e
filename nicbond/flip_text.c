#include "nicbond/flip_text.h"

#include <stdio.h>
#include <string.h>

static void add_words(char out[FLIP_TEXT_MAX], const char *words)
{
    size_t len = strlen(out);

    (void)snprintf(out + len, FLIP_TEXT_MAX - len, "%s%s", len > 0 ? ", " : "", words);
}

static void add(char out[FLIP_TEXT_MAX], const char *what, uint32_t us)
{
    char words[FLIP_TEXT_MAX];

    if (us == 0)
        (void)snprintf(words, sizeof words, "%s at once", what);
    else
        (void)snprintf(words, sizeof words, "%s %u us", what, us);
    add_words(out, words);
}

void flip_text(const struct flip *f, char out[FLIP_TEXT_MAX])
{
    const struct hf_flip *record = &f->record;
    bool is_confirmed = record->confirmed_us != UINT32_MAX;

    out[0] = '\0';
    if (record->cause != HF_NIC_NONE) /* else no NIC was judged: somebody wanted it so */
        add(out, "judged", record->judged_us);
    if (record->ordered_us != UINT32_MAX)
        add(out, "ordered", record->ordered_us);
    else
        add_words(out, f->has_done ? "off already" : "nothing ordered");
    if (!is_confirmed && f->has_ordered && f->has_done)
        add(out, "carried out", flip_us(f, f->done_at));
    if (is_confirmed)
        add(out, "confirmed", record->confirmed_us);
    else
        add_words(out, "not confirmed");
}
