/* LINK: supervisord/config supervisord/model supervisord/base */
/* fuzz_config.c - any bytes as a cluster file: an error with a place in it, or a value whose
 * canonical text gives the same value again. */
#include "supervisord/base/assert.h"
#include "supervisord/config/config.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct work {
    struct hf_config first, second;
    char text[HF_CONFIG_TEXT_MAX + 1];
};

static void must_come_back(struct work *w)
{
    struct hf_err err;
    size_t len = config_print(&w->first, w->text, sizeof w->text);

    HF_ASSERT(len < sizeof w->text);
    HF_ASSERT(config_parse("again", w->text, len, &w->second, &err) == HF_OK);
    HF_ASSERT(hf_digest_equal(&w->first.group.config, &w->second.group.config));
    HF_ASSERT(memcmp(&w->first, &w->second, sizeof w->first) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct work *w = malloc(sizeof *w);
    struct hf_err err;

    if (w == NULL)
        return 0;
    if (config_parse("f", (const char *)bytes, len, &w->first, &err) == HF_OK) {
        must_come_back(w);
    } else {
        HF_ASSERT(err.code == HF_EINVAL);
        HF_ASSERT(strncmp(err.text, "f:", 2) == 0);
        HF_ASSERT(strlen(err.text) > 6);
    }
    free(w);
    return 0;
}
